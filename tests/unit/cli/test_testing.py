"""`credibly test` on sets and on counts of raters' labels."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.cli import testing
from unit.cli.runs import FAST, Command, M, World, make_world


@pytest.fixture(scope="module")
def world() -> World:
    """Half of the rows: weights are learned here twice, by the command and by the library."""
    return World(*(one[::2] for one in make_world()))


@pytest.fixture
def rated(world: World, tmp_path: Path) -> Path:
    counts = np.random.default_rng(0).multinomial(9, world.calibrated)
    counts[11] = np.eye(3, dtype=int)[world.calibrated[11].argmin()] * 40
    path = tmp_path / "rated.npz"
    np.savez(path, probs=world.calibrated, label_counts=counts)
    return path


@pytest.mark.slow
def test_a_set_gets_the_test_of_sets(credibly: Command, world: World, members: Path) -> None:
    ran = credibly("test", members, "--n-resamples", 19, "--seed", 2)
    expected = cr.credal_test(cr.Ensemble(world.members), world.labels, n_resamples=19, rng=2)
    witness, weights, both = ran.rows
    assert float(both["pvalue"]) == expected.pvalue
    assert float(witness["pvalue"]) == expected.details.validity.pvalue
    assert float(weights["pvalue"]) == expected.details.calibration.pvalue
    assert [row["statistic"] for row in ran.rows] == ["witness", "skce", "both"]
    assert both["m"] == str(M)
    assert f"hypothesis: {expected.hypothesis}" in ran.err
    assert f"hypothesis: {expected.details.validity.hypothesis}" in ran.err
    assert expected.sentence() in ran.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        (("--weights", "constant"), {"weights": "constant"}),
        (("--weights", "mean"), {"weights": "mean"}),
        (("--weights", "mean", "--statistic", "brier"), {"weights": "mean", "statistics": "brier"}),
        (("--learner", "gating", "--no-refit"), {"learner": "gating", "refit": False}),
        (("--method", "weights", "--no-refit"), {"refit": False}),
        (("--split", 0.3, "--no-refit"), {"split": 0.3, "refit": False}),
        (("--cv", 3, "--no-refit"), {"cv": 3, "refit": False}),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_flags_are_settings(
    credibly: Command, world: World, members: Path, flags: tuple[object, ...], settings: dict[str, object]
) -> None:
    ran = credibly("test", members, *flags, "--n-resamples", 19, "--json", "--quiet")
    expected = cr.hypotests.weights_test(
        cr.Ensemble(world.members), world.labels, n_resamples=19, rng=0, **settings
    )
    record = json.loads(ran.out)
    assert record["pvalue"] == expected.pvalue
    assert (record["type"], record["details"]) == ("HypotestResult", "WeightsDetails")


def test_a_witness_by_itself(credibly: Command, world: World, tmp_path: Path) -> None:
    features = np.random.default_rng(5).normal(size=(len(world.labels), 2))
    np.savez(tmp_path / "f.npz", probs=world.members, y=world.labels, features=features)
    expected = cr.hypotests.witness_test(cr.Ensemble(world.members), world.labels, features=features, rng=0)
    ran = credibly("test", tmp_path / "f.npz", "--method", "witness", "--given", "features")
    assert [row["statistic"] for row in ran.rows] == ["witness"]
    assert float(ran.rows[0]["pvalue"]) == expected.pvalue
    asked = credibly("test", tmp_path / "f.npz", "--method", "witness", "--n-resamples", 19)
    assert asked.code == 0
    assert "draws no replicates" in asked.err


def test_a_witness_alone_fails_on_conflict(credibly: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    members = rng.dirichlet([4.0, 4.0, 4.0], size=(200, 3))
    np.savez(tmp_path / "x.npz", probs=members, y=np.where(rng.random(200) < 0.8, 2, 0))
    ran = credibly("test", tmp_path / "x.npz", "--method", "witness", "--fail-on", "conflict")
    assert ran.code == 1
    assert "class 2 occurs more often than any distribution in the set says" in ran.err
    named = credibly("test", tmp_path / "x.npz", "--method", "witness", "--classes", "cat,dog,owl")
    assert "owl occurs more often than any distribution in the set says" in named.err


@pytest.fixture(scope="module")
def tested(world: World) -> cr.results.HypotestResult[cr.results.CredalDetails]:
    return cr.credal_test(cr.Ensemble(world.members), world.labels, n_resamples=39, rng=0)


@pytest.mark.parametrize(
    ("witness", "weights", "words", "code"),
    [
        (0.001, 0.01, ["conflict", "", "conflict"], 1),
        (0.001, 0.5, ["conflict", "", "cannot tell"], 1),
        (0.5, 0.01, ["no conflict found", "", "cannot tell"], 0),
        (0.5, 0.5, ["no conflict found", "", "no conflict found"], 0),
    ],
)
def test_the_exit_code_follows_the_verdicts_that_are_printed(
    credibly: Command,
    tested: cr.results.HypotestResult[cr.results.CredalDetails],
    members: Path,
    monkeypatch: pytest.MonkeyPatch,
    witness: float,
    weights: float,
    words: list[str],
    code: int,
) -> None:
    replace = dataclasses.replace
    details = replace(
        tested.details,
        validity=replace(tested.details.validity, pvalue=witness),
        calibration=replace(tested.details.calibration, pvalue=weights),
    )
    found = replace(tested, pvalue=max(witness, weights), details=details)
    monkeypatch.setattr(testing, "credal_test", lambda *_, **__: found)
    ran = credibly("test", members, "--fail-on", "conflict")
    assert [row["verdict"] for row in ran.rows] == words
    assert ran.code == code == ("conflict" in words)


def test_the_mean_of_chunks_has_the_statistic_of_the_mean_in_memory(
    credibly: Command, members: Path, world: World, tmp_path: Path
) -> None:
    np.save(tmp_path / "probs.npy", world.members)
    np.save(tmp_path / "y.npy", world.labels)
    read = ("--labels", tmp_path / "y.npy", "--weights", "mean", *FAST)
    whole = credibly("test", tmp_path / "probs.npy", *read)
    parts = credibly("test", tmp_path / "probs.npy", "--stream", "--chunk-rows", 30, *read)
    assert whole.rows[0]["statistic"] == parts.rows[0]["statistic"] == "skce"
    assert float(whole.rows[0]["value"]) == pytest.approx(float(parts.rows[0]["value"]), rel=1e-9)


def test_flags_of_sets_are_refused_for_points(credibly: Command, calibrated: Path) -> None:
    ran = credibly("test", calibrated, "--weights", "constant", *FAST)
    assert (ran.code, ran.out) == (2, "")
    assert "`--weights` has no meaning here; the predictions are not sets" in ran.err


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        (("--method", "both", "--learner", "gating"), "`--learner` has no meaning here; the method is both"),
        (("--given", "features"), "`--given` has no meaning here; the method is both"),
        (
            ("--weights", "mean", "--given", "features"),
            "`--given` has no meaning here; the method is weights",
        ),
        (("--method", "witness", "--cv", 3), "`--cv` has no meaning here; a witness has no weights"),
        (("--method", "witness", "--statistic", "brier"), "`--statistic` has no meaning here; a witness"),
    ],
)
def test_flags_of_another_method_are_refused(
    credibly: Command, members: Path, flags: tuple[object, ...], refused: str
) -> None:
    ran = credibly("test", members, *flags)
    assert (ran.code, ran.out) == (2, "")
    assert refused in ran.err


def test_a_plan_needs_no_labels(credibly: Command, world: World, tmp_path: Path) -> None:
    np.save(tmp_path / "alone.npy", world.calibrated)
    ran = credibly("plan", tmp_path / "alone.npy", "--width", 0.05)
    plan = cr.plan_labels(world.calibrated, width=0.05)
    assert ran.rows == [{"aim": "width", "size": "0.05", "instances": str(plan.instances)}]
    assert plan.sentence() in ran.err
    output = credibly("plan", tmp_path / "alone.npy", "--json")
    assert json.loads(output.out)["aims"] == dict(cr.plan_labels(world.calibrated).aims)
    assert "`--gap` must lie strictly" in credibly("plan", tmp_path / "alone.npy", "--gap", 3).err


def test_a_margin_asks_for_the_equivalence_test(credibly: Command, world: World, members: Path) -> None:
    ran = credibly("test", members, "--margin", 0.1, "--statistic", "confidence_gap", "--statistic", "ecce")
    arguments = cr.Ensemble(world.members), world.labels
    expected = cr.calibration_test(*arguments, statistics=["confidence_gap", "ecce"], margin=0.1)
    assert [float(row["pvalue"]) for row in ran.rows] == [
        component.pvalue for component in expected.components.values()
    ]
    assert float(ran.rows[0]["upper"]) == expected.components["confidence_gap"].details.upper()
    assert expected.sentence() in ran.err
    refused = credibly("test", members, "--margin", 0.1, "--weights", "learned")
    assert "`--weights` has no meaning here; `--margin` tests" in refused.err


@pytest.mark.slow
def test_features_of_the_file_are_what_weights_depend_on(
    credibly: Command, world: World, tmp_path: Path
) -> None:
    features = np.random.default_rng(5).normal(size=(len(world.labels), 2))
    np.savez(tmp_path / "f.npz", probs=world.members, y=world.labels, features=features)
    ran = credibly("test", tmp_path / "f.npz", "--no-refit", "--n-resamples", 19)
    sets = cr.Ensemble(world.members)
    expected = cr.hypotests.weights_test(
        sets, world.labels, features=features, refit=False, n_resamples=19, rng=0
    )
    assert float(ran.rows[-1]["pvalue"]) == expected.pvalue  # after those of its folds


def test_counts_get_the_test_of_the_truth(credibly: Command, world: World, rated: Path) -> None:
    ran = credibly("test", rated, *FAST, "--fail-on", "conflict")
    counts = np.load(rated)["label_counts"]
    expected = cr.validity_test(world.calibrated, counts, n_resamples=99, rng=0)
    assert float(ran.rows[0]["pvalue"]) == expected.pvalue
    assert f"hypothesis: {expected.hypothesis}" in ran.err
    assert "instances that stand out after adjustment, worst first: 11" in ran.err
    assert ran.code == int(expected.verdict() == "conflict")
    record = json.loads(credibly("test", rated, *FAST, "--json", "--quiet").out)
    assert record["adjusted_pvalues"][11] == expected.details.adjusted_pvalues[11]


def test_flags_without_meaning_for_counts(credibly: Command, rated: Path) -> None:
    ran = credibly("test", rated, "--refit", *FAST)
    assert (ran.code, ran.out) == (2, "")
    assert "`--refit` has no meaning here; the predictions are not sets. Leave it out." in ran.err


def test_a_named_statistic_tests_one_rater_per_instance(credibly: Command, world: World, rated: Path) -> None:
    ran = credibly("test", rated, "--statistic", "brier", *FAST)
    counts = cr.LabelCounts(np.load(rated)["label_counts"])
    expected = cr.calibration_test(world.calibrated, counts, statistics=["brier"], n_resamples=99, rng=0)
    assert float(ran.rows[0]["pvalue"]) == expected.components["brier"].pvalue
    assert "one label per instance was tested" in ran.err


@pytest.mark.slow
def test_evaluate_says_what_sets_say(credibly: Command, members: Path) -> None:
    record = json.loads(credibly("evaluate", members, "--n-resamples", 19, "--json", "--quiet").out)
    assert list(record["credal"]["tests"]) == ["learned", "constant"]
