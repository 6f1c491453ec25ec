"""`credibly test` and `credibly evaluate` for programs: TSV, JSON, notes on stderr, exit codes."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.cli import testing
from credibly.cli.numbers import ESTIMATE_COLUMNS
from credibly.cli.testing import COLUMNS as TEST_COLUMNS
from kinds import REAL_STATISTICS
from unit.cli.runs import FAST, Command, M, N, World


def test_test_is_the_calibration_test(credibly: Command, world: World, overconfident: Path) -> None:
    ran = credibly("test", overconfident, "--seed", 3, *FAST)
    direct = cr.calibration_test(world.overconfident, world.labels, n_resamples=99, rng=3)
    (row,) = ran.rows
    assert ran.code == 0
    assert float(row["value"]) == direct.statistic  # full precision: text reads back as the same number
    assert float(row["pvalue"]) == direct.pvalue
    assert (float(row["acceptance_low"]), float(row["acceptance_high"])) == direct.acceptance_region
    assert (row["verdict"], row["adjusted_pvalue"]) == ("conflict", "")
    assert (row["n"], row["m"], row["n_resamples"]) == (str(N), "1", "99")
    assert "hypothesis: the label of every instance was drawn" in ran.err


def test_columns_are_stable(credibly: Command, calibrated: Path) -> None:
    header = credibly("test", calibrated, *FAST).out.splitlines()[0].split("\t")
    assert header == [
        "statistic",
        "value",
        "acceptance_low",
        "acceptance_high",
        "tail",
        "pvalue",
        "pvalue_interval_low",
        "pvalue_interval_high",
        "adjusted_pvalue",
        "effect_size",
        "n",
        "m",
        "n_resamples",
        "verdict",
    ]
    assert len(header) == len(TEST_COLUMNS) + 2  # two intervals


def test_several_statistics_make_an_omnibus_test(
    credibly: Command, world: World, overconfident: Path
) -> None:
    names = ["brier", "confidence_ece"]
    ran = credibly("test", overconfident, "--statistic", names[0], "--statistic", names[1], *FAST)
    direct = cr.calibration_test(world.overconfident, world.labels, statistics=names, n_resamples=99, rng=0)
    assert [row["statistic"] for row in ran.rows] == [*names, direct.statistic_name]
    assert [float(row["adjusted_pvalue"]) for row in ran.rows[:2]] == [
        direct.components[name].adjusted_pvalue for name in names
    ]
    assert float(ran.rows[2]["pvalue"]) == direct.pvalue


def test_bins_reach_binned_statistics_and_leave_others_alone(
    credibly: Command, world: World, calibrated: Path
) -> None:
    words = ("--statistic", "confidence_ece", "--statistic", "brier", "--n-bins", 5)
    rows = credibly("test", calibrated, *words, *FAST).rows
    assert float(rows[0]["value"]) == float(cr.confidence_ece(world.calibrated, world.labels, n_bins=5))
    assert float(rows[0]["value"]) != float(cr.confidence_ece(world.calibrated, world.labels))
    assert float(rows[1]["value"]) == pytest.approx(
        float(cr.brier(world.calibrated, world.labels)), rel=1e-14
    )


def test_json_of_a_test_is_its_dictionary(credibly: Command, world: World, overconfident: Path) -> None:
    ran = credibly("test", overconfident, "--json", "--quiet", *FAST)
    direct = cr.calibration_test(world.overconfident, world.labels, n_resamples=99, rng=0)
    assert json.loads(ran.out) == direct.to_dict()
    assert ran.err == ""


def test_members_are_counted(credibly: Command, world: World, tmp_path: Path) -> None:
    np.savez(tmp_path / "members.npz", probs=world.members, y=world.labels)
    ran = credibly("test", tmp_path / "members.npz", "--weights", "mean", *FAST)
    assert ran.rows[0]["m"] == str(M)
    assert f"mean of {M} members" in ran.err
    sets = cr.Ensemble(world.members)
    expected = cr.calibration_test(sets, world.labels, statistics="skce", n_resamples=99, rng=0)
    assert float(ran.rows[0]["pvalue"]) == expected.pvalue


def test_members_first_is_told_by_the_labels(credibly: Command, world: World, tmp_path: Path) -> None:
    np.savez(tmp_path / "members.npz", probs=np.moveaxis(world.members, 1, 0), y=world.labels)
    mean = ("--weights", "mean", *FAST)
    ran = credibly("test", tmp_path / "members.npz", *mean)
    assert ran.rows[0]["m"] == str(M)
    assert "as many as there are labels or ids (`--member-axis 0`)" in ran.err
    assert credibly("test", tmp_path / "members.npz", "--member-axis", 0, *mean).rows[0]["m"] == str(M)


def test_labels_from_a_file_of_their_own(credibly: Command, world: World, tmp_path: Path) -> None:
    np.save(tmp_path / "probs.npy", world.calibrated)
    np.save(tmp_path / "labels.npy", world.labels.astype(np.uint8))
    refused = credibly("test", tmp_path / "probs.npy", *FAST)
    assert refused.code == 2
    assert "`--labels FILE`" in refused.err
    assert credibly("test", tmp_path / "probs.npy", "--labels", tmp_path / "labels.npy", *FAST).code == 0


def test_evaluate_prints_every_estimate_with_its_interval(
    credibly: Command, world: World, overconfident: Path
) -> None:
    ran = credibly("evaluate", overconfident, *FAST)
    evaluation = cr.evaluate(world.overconfident, world.labels, n_resamples=99, rng=0)
    assert ran.code == 0
    parts = evaluation.decomposition
    assert parts is not None
    names = list(evaluation.estimates)
    after = names.index("brier") + 1
    names[after:after] = ["calibration_loss", "refinement_loss"]
    assert [row["statistic"] for row in ran.rows] == names
    words = {verdict.statistic: verdict.word for verdict in evaluation.verdicts}
    shown = {
        **evaluation.estimates,
        "calibration_loss": parts.calibration,
        "refinement_loss": parts.refinement,
    }
    for row in ran.rows:
        estimate = shown[row["statistic"]]
        assert float(row["value"]) == estimate.value
        assert row["stderr"] == ("" if estimate.stderr is None else repr(estimate.stderr))
        assert row["verdict"] == words.get(row["statistic"], "")  # the parts are not tested
        if estimate.interval_refusal is None:
            assert (float(row["interval_low"]), float(row["interval_high"])) == estimate.interval(0.95)
        else:
            assert (row["interval_low"], row["interval_high"]) == ("", "")
    assert list(ran.rows[0])[:2] == list(ESTIMATE_COLUMNS[:2])
    values = {row["statistic"]: float(row["value"]) for row in ran.rows}
    assert values["calibration_loss"] + values["refinement_loss"] == pytest.approx(values["brier"])


@pytest.mark.parametrize("flags", [(), ("--quiet",)])
def test_evaluate_says_why_nothing_was_computed(
    flags: tuple[str, ...], credibly: Command, tmp_path: Path
) -> None:
    np.savez(tmp_path / "reals.npz", mean=np.zeros(9), std=np.ones(9), y=np.linspace(-1, 1, 9))
    ran = credibly("evaluate", tmp_path / "reals.npz", "--statistic", "accuracy", *flags, *FAST)
    assert (ran.code, ran.rows) == (0, [])
    why = "it needs class probabilities, got Gaussian"
    assert f"credibly: nothing was computed: every statistic was left out, because {why}." in ran.err
    left_out = [line for line in ran.err.splitlines() if line.startswith("note: not run")]
    assert left_out == ([] if flags else [f"note: not run: accuracy, because {why}"])
    ran = credibly(
        "evaluate", tmp_path / "reals.npz", *("--statistic", "accuracy", "--statistic", "brier"), *FAST
    )
    assert (
        "note: not run: accuracy, brier, each because it needs class probabilities, got Gaussian" in ran.err
    )


def test_real_values_are_evaluated_and_tested(credibly: Command, tmp_path: Path) -> None:
    file = tmp_path / "reals.npz"
    np.savez(file, mean=np.zeros(50), std=np.ones(50), y=3 + np.linspace(-1, 1, 50))
    ran = credibly("evaluate", file, *FAST)
    assert ran.code == 0
    left_out = ("mean_slope", "spread_slope")  # one mean; one spread
    asked = [name for name in REAL_STATISTICS if cr.statistics.registered()[name].in_evaluations]
    names = [name for name in asked if name not in left_out]
    parts = ["miscalibration", "discrimination", "uncertainty"]
    after = names.index("crps") + 1
    assert [row["statistic"] for row in ran.rows] == [*names[:after], *parts, *names[after:]]
    found = {row["statistic"]: row for row in ran.rows}
    values = [float(found[name]["value"]) for name in ("crps", *parts)]
    assert values[0] == pytest.approx(values[1] - values[2] + values[3])
    assert float(found["miscalibration"]["interval_low"]) > 1  # labels are 3 away
    assert {row["verdict"] for name, row in found.items() if name not in parts} == {"conflict"}
    assert "note: Miscalibration costs" in ran.err
    alone = credibly("test", file, *FAST)
    assert [row["statistic"] for row in alone.rows[:2]] == ["skce", "quantile_calibration_error"]
    several = credibly("test", file, "--statistic", "picp", "--statistic", "crps", *FAST)
    assert [row["statistic"] for row in several.rows[:2]] == ["picp", "crps"]
    assert credibly("test", file, "--fail-on", "conflict", *FAST).code == 1


@pytest.mark.slow
def test_evaluate_json_can_be_made_again_from_its_command(
    credibly: Command, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("credibly.evaluation.set_tests.MOST_REFITS", 0)
    logits = np.log(np.moveaxis(world.members, 1, 0))
    logits[2, 7] = np.nan  # so that without --drop-invalid nothing comes out
    np.save(tmp_path / "logits.npy", logits)
    np.save(tmp_path / "labels.npy", world.labels)
    words = ("--labels", tmp_path / "labels.npy", "--kind", "logits", "--member-axis", 0, "--drop-invalid")
    settings = ("--statistic", "confidence_ece", "--seed", 5, "--n-bins", 4, "--margin", 0.1, *FAST)
    result = json.loads(credibly("evaluate", tmp_path / "logits.npy", *words, *settings, "--json").out)
    assert result["type"] == "Evaluation"
    assert list(result["estimates"]) == ["confidence_ece"]
    assert result["predictions"]["n"] == N - 1
    assert result["settings"]["margin"] == 0.1
    command = shlex.split(result["source"]["command"])
    assert command[0] == "credibly"
    assert json.loads(credibly(*command[1:], "--json").out) == result


def test_a_margin_is_a_share(credibly: Command, calibrated: Path) -> None:
    ran = credibly("evaluate", calibrated, "--margin", 2, *FAST)
    assert ran.code == 2
    assert "`--margin` must be at least 0 and below 1; got 2.0" in ran.err


def test_every_note_is_said_once(credibly: Command, overconfident: Path) -> None:
    notes = credibly("evaluate", overconfident, *FAST).err.splitlines()
    assert len(notes) > 1
    assert len(set(notes)) == len(notes)


def test_the_adjusted_pvalue_decides(
    credibly: Command, overconfident: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = testing.calibration_test

    def adjusted(*arguments: Any, **settings: Any) -> cr.results.HypotestResult:
        alone = real(*arguments, **settings)
        assert alone.pvalue <= 0.05
        # beyond all 99 replicates, and still not enough among several statistics
        return dataclasses.replace(alone, adjusted_pvalue=0.06)

    monkeypatch.setattr(testing, "calibration_test", adjusted)
    ran = credibly("test", overconfident, *FAST, "--fail-on", "conflict")
    assert (ran.code, ran.rows[0]["verdict"]) == (0, "cannot tell")


def test_groups_get_rows_of_their_own(credibly: Command, world: World, tmp_path: Path) -> None:
    group = np.array(["a", "b"])[np.arange(N) % 2]
    np.savez(tmp_path / "grouped.npz", probs=world.calibrated, y=world.labels, group=group)
    rows = credibly("evaluate", tmp_path / "grouped.npz", "--statistic", "accuracy", *FAST).rows
    assert [row["group"] for row in rows] == ["", "a", "b"]
    right = world.calibrated.argmax(axis=1) == world.labels
    assert float(rows[1]["value"]) == pytest.approx(right[::2].mean())


def test_quiet_leaves_stderr_empty(credibly: Command, overconfident: Path) -> None:
    loud, quiet = credibly("evaluate", overconfident, *FAST), credibly("evaluate", overconfident, "-q", *FAST)
    assert loud.err
    assert quiet.err == ""
    assert loud.out == quiet.out


@pytest.mark.parametrize("verb", ["evaluate", "test", "report"])
@pytest.mark.parametrize(("name", "code"), [("overconfident", 1), ("calibrated", 0)])
def test_fail_on_conflict(
    verb: str, name: str, code: int, credibly: Command, overconfident: Path, calibrated: Path
) -> None:
    file = {"overconfident": overconfident, "calibrated": calibrated}[name]
    assert credibly(verb, file, *FAST, "--fail-on", "conflict").code == code


def test_a_conflict_alone_is_no_failure(credibly: Command, overconfident: Path) -> None:
    ran = credibly("test", overconfident, *FAST)
    assert (ran.code, ran.rows[0]["verdict"]) == (0, "conflict")


def test_fail_on_takes_nothing_else(credibly: Command, calibrated: Path) -> None:
    ran = credibly("test", calibrated, "--fail-on", "doubt")
    assert ran.code == 2
    assert "--fail-on" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--n-resamples", 0), "`--n-resamples` must be a positive integer"),
        (("--n-bins", -1), "`--n-bins` must be a positive integer"),
        (("--statistic", "confidence_e"), "Did you mean 'confidence_ece'?"),
        (("--member-axis", "x"), "--member-axis"),
        (("--kind", "prob"), "`--kind` must be one of"),
        (("--seed", -1), "Invalid value for '--seed'"),
    ],
)
@pytest.mark.parametrize("verb", ["test", "evaluate"])
def test_bad_settings_are_told_by_their_flags(
    verb: str, words: tuple[object, ...], said: str, credibly: Command, calibrated: Path
) -> None:
    ran = credibly(verb, calibrated, *words)
    assert ran.code == 2
    assert said in ran.err.splitlines()[-1]
    assert ran.out == ""


def test_weights_of_members(credibly: Command, tmp_path: Path) -> None:
    """A table has no place for weights, so they are an option."""
    rng = np.random.default_rng(5)
    members, labels = rng.dirichlet(np.ones(3), size=(40, 2)), rng.integers(3, size=40)
    table = cr.save(tmp_path / "members.csv", cr.Ensemble(members), labels)
    ran = credibly("test", table, "--weights", "mean", "--member-weights", "0.75,0.25", *FAST, "--seed", 3)
    weighted = cr.Ensemble(members, weights=[0.75, 0.25])
    direct = cr.hypotests.weights_test(weighted, labels, weights="mean", n_resamples=99, rng=3)
    assert float(ran.rows[0]["value"]) == pytest.approx(direct.statistic, rel=1e-9)
    assert "weighted mean of 2 members" in ran.err
    wrong = credibly("test", table, "--member-weights", "a,b", *FAST)
    assert wrong.code == 2
    assert "`--member-weights` must be numbers; got 'a,b'" in wrong.err
    short = credibly("test", table, "--member-weights", "1", *FAST)
    assert "must be 2 non-negative numbers summing to 1" in short.err


@pytest.fixture
def churn(tmp_path: Path) -> Path:
    """A model that states 42 % churn where 4 % churn; its confidence is right on average."""
    stated = np.where(np.arange(1000) % 50 < 19, 0.52, 0.36)
    file = tmp_path / "churn.npz"
    labels = (np.arange(1000) % 25 == 7).astype(int)
    np.savez(file, probs=np.stack([1 - stated, stated], axis=1), y=labels)
    return file


@pytest.mark.parametrize("words", [("--margin", 0.02), ("--relative-margin", 0.2)])
@pytest.mark.parametrize("gate", ["conflict", "not-shown"])
@pytest.mark.parametrize("verb", ["test", "evaluate", "report"])
def test_a_model_that_states_ten_times_the_event_fails_the_gate(
    verb: str, gate: str, words: tuple[str, float], credibly: Command, churn: Path
) -> None:
    fast = () if verb == "test" else ("--statistic", "brier", *FAST)
    assert credibly(verb, churn, *words, *fast, "--fail-on", gate).code == 1


def test_what_was_not_shown_fails_where_asked(credibly: Command, calibrated: Path) -> None:
    for verb, fast in (("test", ()), ("evaluate", ("--statistic", "brier", *FAST))):
        gate = (verb, calibrated, *fast, "--fail-on")
        assert credibly(*gate, "conflict", "--margin", 0.001).code == 0  # no conflict, nothing shown
        assert credibly(*gate, "not-shown", "--margin", 0.001).code == 1
        assert credibly(*gate, "not-shown", "--margin", 0.5).code == 0


@pytest.mark.parametrize("verb", ["evaluate", "report"])
def test_a_margin_lets_small_faults_pass(verb: str, credibly: Command, tmp_path: Path) -> None:
    """A model that says 80 % and is right 72 % of the time: 8 points, 95 %: about 6 to 10."""
    right = np.arange(2000) % 25 < 18
    probs = np.where(np.arange(2000)[:, None] % 2 == [[0, 1]], 0.8, 0.2)
    file = tmp_path / "sure.npz"
    np.savez(file, probs=probs, y=np.where(right, np.arange(2000) % 2, 1 - np.arange(2000) % 2))
    words = (verb, file, "--statistic", "brier", *FAST, "--fail-on")
    assert credibly(*words, "conflict").code == 1
    for margin, shown_beyond, shown_within in ((0.02, 1, 0), (0.08, 0, 0), (0.2, 0, 1)):
        assert credibly(*words, "conflict", "--margin", margin).code == shown_beyond
        assert credibly(*words, "not-shown", "--margin", margin).code == 1 - shown_within


def test_a_relative_margin_is_a_share_of_the_stated_event(credibly: Command, churn: Path) -> None:
    ran = credibly("test", churn, "--relative-margin", 0.25)
    assert float(ran.rows[0]["margin"]) == pytest.approx(0.25 * (0.38 * 0.52 + 0.62 * 0.36))


def test_a_relative_margin_is_that_of_the_rarer_class(credibly: Command, tmp_path: Path) -> None:
    table = tmp_path / "first.csv"  # 42 % churn is stated, 4 % churn, and the event is the first column
    rows = [f"0.42,0.58,{'churn' if row % 25 == 0 else 'stay'}" for row in range(500)]
    table.write_text("\n".join(["churn,stay,label", *rows]))
    ran = credibly("test", table, "--relative-margin", 0.5)
    assert float(ran.rows[0]["margin"]) == pytest.approx(0.21)  # of 42 %, not of 58 %


@pytest.mark.parametrize(
    ("verb", "words", "said"),
    [
        ("test", ("--fail-on", "not-shown"), "`--fail-on not-shown` needs a margin; got none"),
        ("evaluate", ("--fail-on", "not-shown"), "Add `--margin 0.02`"),
        ("report", ("--fail-on", "not-shown"), "Add `--margin 0.02`"),
        ("audit", ("--fail-on", "not-shown"), "Add `--margin 0.02`"),
        ("check", ("--fail-on", "not-shown"), "predictive checks have none"),
        ("test", ("--margin", 0.1, "--relative-margin", 0.1), "are alternatives; got both"),
        ("evaluate", ("--relative-margin", 0.2), "needs predictions of two classes; got Point of"),
        ("evaluate", ("--relative-margin", 20), "must be above 0 and below 1; got 20"),
    ],
)
def test_gates_that_have_no_meaning_are_refused(
    verb: str, words: tuple[object, ...], said: str, credibly: Command, calibrated: Path
) -> None:
    ran = credibly(verb, calibrated, *words)
    assert ran.code == 2
    assert said in ran.err


def test_replicates_that_cannot_decide_are_raised(credibly: Command, overconfident: Path) -> None:
    """H28: of 99 replicates and several statistics, a large gap was called "cannot tell"."""
    names = ("brier", "log_loss", "accuracy", "confidence_ece")
    flags = [flag for name in names for flag in ("--statistic", name)]
    ran = credibly("test", overconfident, *flags, "--n-resamples", 99, "--fail-on", "conflict")
    assert ran.code == 1
    assert {row["n_resamples"] for row in ran.rows} == {"159"}  # 2 * 4 / 0.05 - 1
    assert "159 replicates were drawn instead of 99, because fewer cannot show a conflict" in ran.err
