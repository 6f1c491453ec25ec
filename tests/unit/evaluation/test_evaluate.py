"""`evaluate`: everything the input allows, and the reason for everything it does not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import credibly as cr
from kinds import CLASS_STATISTICS, REAL_STATISTICS
from libraries import Library

UNASKED = {name for name in CLASS_STATISTICS if cr.statistics.registered()[name].in_evaluations}
UNASKED -= {"mmd_ce"}  # which equals skce unless it is given a label kernel


def in_order(names: set[str]) -> list[str]:
    return [name for name in cr.statistics.registered() if name in names]


def world(n: int = 400, k: int = 3, power: float = 1.0, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Labels drawn from Dirichlet rows, and those rows made sharper (power > 1) or flatter."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), size=n)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    said = probs**power
    return said / said.sum(axis=1, keepdims=True), labels


def words(evaluation: cr.Evaluation) -> dict[str | None, str]:
    return {verdict.statistic: verdict.word for verdict in evaluation.verdicts}


@pytest.mark.slow
def test_estimates_are_those_of_the_statistics_themselves() -> None:
    probs, labels = world()
    evaluation = cr.evaluate(probs, labels, n_bins=7, n_resamples=19)
    assert set(evaluation.estimates) == UNASKED
    for name, estimate in evaluation.estimates.items():
        statistic = cr.statistics.registered()[name]
        if "n_bins" in statistic.settings():
            statistic = statistic.with_(n_bins=7)
        assert estimate.value == pytest.approx(statistic(probs, labels).value, rel=1e-12, abs=1e-15)
    assert evaluation.decomposition is not None
    assert evaluation.decomposition.loss.value == pytest.approx(
        evaluation.estimates["brier"].value, abs=1e-12
    )


def test_tests_are_one_omnibus_test_on_shared_replicates() -> None:
    probs, labels = world(power=1.3)
    evaluation = cr.evaluate(probs, labels, n_resamples=99, rng=5)
    together = cr.calibration_test(probs, labels, statistics=in_order(UNASKED), n_resamples=99, rng=5)
    assert list(evaluation.tests) == [*together.components, "omnibus"]
    assert evaluation.tests["omnibus"].pvalue == together.pvalue
    assert not evaluation.tests["omnibus"].components  # they stand beside it, once
    for name, result in together.components.items():
        assert evaluation.tests[name].pvalue == result.pvalue
        assert evaluation.tests[name].adjusted_pvalue == result.adjusted_pvalue


def test_one_statistic_needs_no_omnibus() -> None:
    probs, labels = world()
    evaluation = cr.evaluate(probs, labels, statistics=["brier"], n_resamples=39)
    assert list(evaluation.tests) == ["brier"]
    assert "adjusted" not in evaluation.verdicts[0].sentence


@pytest.mark.slow
def test_overconfidence_is_a_conflict_and_is_named() -> None:
    probs, labels = world(power=3.0)
    evaluation = cr.evaluate(probs, labels, n_resamples=199)
    assert set(words(evaluation).values()) == {"conflict"}
    accuracy = next(verdict for verdict in evaluation.verdicts if verdict.statistic == "accuracy")
    assert "overconfident" in accuracy.finding
    assert accuracy.size == evaluation.tests["accuracy"].effect_size < 0
    probs, labels = world(power=0.4)
    accuracy = next(
        verdict
        for verdict in cr.evaluate(probs, labels, n_resamples=199).verdicts
        if verdict.statistic == "accuracy"
    )
    assert (accuracy.word, "underconfident" in accuracy.finding) == ("conflict", True)


def test_labels_drawn_from_the_predictions_show_no_conflict() -> None:
    probs, labels = world()
    evaluation = cr.evaluate(probs, labels, n_resamples=199)
    assert set(words(evaluation).values()) == {"no conflict found"}


@pytest.mark.parametrize("level", [0.05, 0.2])
def test_verdicts_follow_the_adjusted_pvalue(level: float) -> None:
    probs, labels = world(power=1.25)
    evaluation = cr.evaluate(probs, labels, n_resamples=199, level=level)
    adjusted = {name: evaluation.tests[name].adjusted_pvalue for name in evaluation.estimates}
    for verdict in evaluation.verdicts:
        own = adjusted[verdict.statistic or ""]
        assert own is not None
        assert (verdict.word == "conflict") == (own <= level)
    # min-p: the omnibus test rejects exactly when one of the verdicts is a conflict
    assert evaluation.tests["omnibus"].rejects(level) == ("conflict" in words(evaluation).values())


@pytest.mark.slow
def test_same_seed_same_bytes_other_seed_other_replicates() -> None:
    probs, labels = world()
    first, again, other = (
        json.dumps(cr.evaluate(probs, labels, n_resamples=29, rng=seed).to_dict(), allow_nan=False)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert (
        json.loads(first)["tests"]["brier"]["null_distribution"]
        != (json.loads(other)["tests"]["brier"]["null_distribution"])
    )


@pytest.mark.slow
def test_a_generator_is_asked_once_so_bands_and_tests_share_its_seed() -> None:
    probs, labels = world()
    drawn = cr.evaluate(probs, labels, n_resamples=29, rng=np.random.default_rng(9))
    again = cr.evaluate(probs, labels, n_resamples=29, rng=tuple(drawn.settings["seed"]))
    assert drawn.settings["rng"] is None
    assert drawn.to_dict() == again.to_dict()


def test_to_dict_is_json_with_a_schema_and_values() -> None:
    probs, labels = world()
    probs[0] = np.eye(3)[(labels[0] + 1) % 3]  # the label has probability 0: an infinite log loss
    read = json.loads(json.dumps(cr.evaluate(probs, labels, n_resamples=29).to_dict(), allow_nan=False))
    assert read["schema_version"] == 1
    assert read["type"] == "Evaluation"
    assert read["estimates"]["log_loss"]["value"] == "Infinity"
    assert read["estimates"]["accuracy"]["value"] == pytest.approx(cr.accuracy(probs, labels).value)
    assert read["decomposition"]["calibration"]["value"] is not None
    assert read["settings"]["version"] == cr.__version__
    assert read["verdicts"][0]["sentence"].startswith(read["verdicts"][0]["finding"])


def kinds() -> list[Any]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=(30, 4))
    return [
        cr.Point(probs[:, 0]),
        cr.Ensemble(probs),
        cr.Dirichlet(1 + 5 * probs[:, 0]),
        cr.Intervals(probs.min(axis=1), probs.max(axis=1)),
        cr.Belief(probs[:, 0], [{0}, {1}, {0, 1, 2}]),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("predictions", kinds(), ids=lambda one: type(one).__name__)
def test_every_kind_of_class_prediction(predictions: Any) -> None:
    labels = np.arange(30) % 3
    evaluation = cr.evaluate(predictions, labels, n_resamples=19)
    facts = evaluation.predictions
    assert (facts.kind, facts.n, facts.k) == (type(predictions).__name__, 30, 3)
    assert facts.m == predictions.n_members
    assert set(evaluation.estimates) == set(evaluation.tests) - {"omnibus"} == UNASKED
    names = dict(evaluation.not_run)
    if isinstance(predictions, cr.Point):
        assert "evaluate its members" in names["predictive checks of the Bayesian hypothesis"]
        assert not evaluation.notes or "mean" not in evaluation.notes[0]
    else:
        assert predictions.mean_note in evaluation.notes
        assert evaluation.credal is not None
        assert list(evaluation.credal.tests) == ["learned", "constant"]
        assert not [name for name in names if name.startswith("test of the set")]


def real_kinds() -> list[Any]:
    rng = np.random.default_rng(5)
    levels = np.arange(1, 20) / 20
    return [
        cr.Gaussian(rng.normal(size=40), np.ones(40)),
        cr.Gaussian(rng.normal(size=(40, 3)), np.ones((40, 3))),
        cr.Samples(rng.normal(size=(40, 21))),
        cr.Samples(rng.normal(size=(40, 3, 9))),
        cr.Quantiles(np.sort(rng.normal(size=(40, 19)), axis=1), levels),
    ]


@pytest.mark.parametrize("predictions", real_kinds(), ids=repr)
def test_every_kind_of_real_prediction(predictions: Any) -> None:
    labels = 9.0 + np.random.default_rng(6).normal(size=40)
    evaluation = cr.evaluate(predictions, labels, n_resamples=199)
    expected = {name for name in REAL_STATISTICS if getattr(cr.statistics, name).in_evaluations}
    for what in ("mean", "spread"):
        if f"all instances state the same {what}" in dict(evaluation.not_run).get(f"{what}_slope", ""):
            expected.remove(f"{what}_slope")
    if isinstance(predictions, cr.Quantiles):
        expected -= {"mean_slope", "spread_ratio", "spread_slope", "ence"}
        assert "needs a stated variance" in dict(evaluation.not_run)["ence"]
    if not isinstance(predictions, cr.Gaussian):
        expected -= {"gaussian_log_loss"}
        assert "needs a density" in dict(evaluation.not_run)["gaussian_log_loss"]
    assert set(evaluation.estimates) == expected
    assert "e_y" not in evaluation.settings["methods"]["skce"]["formula"]  # one-hot labels are of classes
    if isinstance(predictions, cr.Quantiles):
        expected = {"picp", "quantile_calibration_error", "skce"}
        assert "needs the values of labels" in dict(evaluation.not_run)["test of interval_score"]
    assert set(evaluation.tests) - {"omnibus"} == expected
    found = words(evaluation)
    for slope in ("mean_slope", "spread_slope"):  # the shift may be the same in units of every spread
        found.pop(slope, None)
    if isinstance(predictions, cr.Samples):  # exchanged with such labels, draws are as wide as labels are far
        found.pop("ence")
    assert set(found.values()) == {"conflict"}  # labels are nine standard deviations off
    assert evaluation.reals is not None
    assert evaluation.reals.pit.pvalue == 1 / 200
    assert evaluation.reals.coverage is not None
    assert evaluation.reals.coverage.pvalue == 1 / 200
    assert evaluation.curves is None
    parts = evaluation.decomposition
    if isinstance(predictions, cr.Quantiles):  # the pinball loss of 19 levels leaves the tails out
        assert 0.98 < parts.loss.value / evaluation["crps"].value < 1.0
    else:
        assert parts.loss.value == pytest.approx(evaluation["crps"].value)
    assert parts.miscalibration_interval[0] > 5  # of labels 9 away, with no spread of means to tell apart
    assert parts.to_dict() == cr.hypotests.decompose_crps(predictions, labels).to_dict()
    assert evaluation.predictions.k is None
    assert "accuracy" not in dict(evaluation.not_run)  # which nobody expects of real values
    with pytest.raises(cr.CrediblyError, match="one entry per prediction"):
        cr.evaluate(predictions, [0.5])


def test_a_few_quantiles_are_tested_by_coverage_only() -> None:
    quantiles = cr.Quantiles(np.tile([-1.0, 0.0, 1.5], (30, 1)), [0.2, 0.5, 0.9])
    evaluation = cr.evaluate(quantiles, np.linspace(3, 4, 30), n_resamples=99)
    assert set(evaluation.estimates) == {"skce", "quantile_calibration_error", "crps", "mae"}
    assert set(evaluation.tests) == {"skce", "quantile_calibration_error", "omnibus"}
    reasons = dict(evaluation.not_run)
    assert "quantiles say only how often labels lie between" in reasons["test of crps"]
    assert "level 0.05" in reasons["picp"]
    assert "need two levels l and 1 - l" in reasons["coverage curve"]
    assert evaluation.decomposition is None
    assert "needs levels at most 0.05 apart" in reasons["parts of the CRPS"]
    assert evaluation.reals is not None
    assert evaluation.reals.coverage is None


def test_the_crps_of_many_rows_is_split_on_a_random_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credibly.evaluation.statistics.MOST_SPLIT", 60)
    rng = np.random.default_rng(8)
    mean = rng.normal(size=90)
    labels, gaussian = mean + rng.normal(size=90), cr.Gaussian(mean, np.full(90, 2.0))
    evaluation = cr.evaluate(gaussian, labels, tests=False, rng=3)
    parts = evaluation.decomposition
    assert parts.n == 60
    note = "miscalibration, discrimination and uncertainty: computed on 60 of 90 instances, drawn at random"
    assert any(text.startswith(note) for text in evaluation.notes)
    assert cr.evaluate(cr.scan(gaussian, labels, chunk_rows=25), tests=False, rng=3).decomposition == parts
    rows = {
        row.statistic: row for row in cr.evaluation.number_rows(evaluation) if row.part == "decomposition"
    }
    assert (rows["miscalibration"].low, rows["miscalibration"].high) == parts.miscalibration_interval
    assert (rows["crps"].n, rows["crps"].value) == (60, parts.loss.value)
    few = cr.evaluate(gaussian, labels, tests=False, clusters=np.arange(90) % 5)
    assert few.decomposition.miscalibration_interval == (0.0, np.inf)
    rows = {row.statistic: row for row in cr.evaluation.number_rows(few) if row.part == "decomposition"}
    assert rows["miscalibration"].high is None  # an interval without an end tells nothing


def test_one_draw_per_instance_is_tested_too() -> None:
    """Label and draw are exchangeable, so a shift shows however few draws there are."""
    rng = np.random.default_rng(7)
    samples, labels = cr.Samples(rng.normal(size=(200, 1))), rng.normal(size=200)
    found = words(cr.evaluate(samples, labels, n_resamples=199))
    assert found["quantile_calibration_error"] == "no conflict found"
    assert found["rmse"] == "cannot tell"  # label and draw are as far from each other as draw and label
    assert cr.evaluate(samples, labels + 2.0, n_resamples=199).tests["omnibus"].pvalue == 1 / 200


def test_real_values_without_tests() -> None:
    evaluation = cr.evaluate(cr.Gaussian([0.0, 1.0], [1.0, 1.0]), [0.5, 1.5], tests=False)
    assert set(evaluation.estimates) == {
        name for name in REAL_STATISTICS if getattr(cr.statistics, name).in_evaluations
    } - {"skce", "spread_slope"}  # pairs; one spread
    assert not evaluation.tests
    assert evaluation.reals is None


def test_real_values_in_groups() -> None:
    predictions = cr.Gaussian(np.zeros(10), np.ones(10))
    evaluation = cr.evaluate(predictions, [0.0] * 5 + [5.0] * 5, groups=list("aaaaabbbbb"), n_resamples=19)
    assert evaluation.groups["a"]["picp"].value == 1.0
    assert evaluation.groups["b"]["picp"].value == 0.0


def test_of_label_counts_one_per_instance_is_tested() -> None:
    probs, labels = world(n=50)
    counts = cr.LabelCounts(3 * np.eye(3, dtype=int)[labels])
    evaluation = cr.evaluate(probs, counts, n_resamples=99, rng=0)
    assert all("of one rater per instance" in verdict.finding for verdict in evaluation.verdicts)
    assert evaluation.estimates["brier"].value == pytest.approx(cr.brier(probs, labels).value)
    single = cr.evaluate(probs, labels, n_resamples=99, rng=0, statistics=list(evaluation.estimates))
    assert {name: test.pvalue for name, test in evaluation.tests.items()} == {
        name: test.pvalue for name, test in single.tests.items()
    }  # all raters of an instance agree
    assert any("one label per instance was tested" in note for note in evaluation.notes)
    assert evaluation.curves is not None
    assert evaluation.curves.top_label.band is None
    reasons = dict(evaluation.not_run)
    assert "not independent within an instance" in reasons["consistency bands"]
    assert "takes classes, and the labels are counts" in reasons["hosmer_lemeshow"]
    assert words(evaluation) == words(single)


def test_without_tests_nothing_is_resampled() -> None:
    probs, labels = world(n=50)
    evaluation = cr.evaluate(probs, labels, tests=False)
    assert not evaluation.tests
    assert evaluation.curves is not None
    assert evaluation.curves.top_label.band is None
    assert words(evaluation) == {None: "cannot tell"}
    assert "tests=False" in dict(evaluation.not_run).values()


def test_progress_tells_cheap_stages_first() -> None:
    probs, labels = world(n=60)
    calls: list[tuple[str, int, int]] = []
    cr.evaluate(
        probs,
        labels,
        groups=labels,
        n_resamples=29,
        progress=lambda stage, done, total: calls.append((stage, done, total)),
    )
    stages = list(dict.fromkeys(stage for stage, _, _ in calls))
    first = ["estimates", "groups", "decomposition", "tests", "curves", "audit of groups"]
    assert stages == [*first, "recalibrations"]
    for stage in stages:
        done, total = [(done, total) for name, done, total in calls if name == stage][-1]
        assert done == total


def test_groups_are_evaluated_apart() -> None:
    probs, labels = world(n=90)
    groups = np.array(["b", "a", "c"] * 30)
    evaluation = cr.evaluate(probs, labels, groups=groups, n_resamples=19)
    assert list(evaluation.groups) == ["a", "b", "c"]
    rows = groups == "a"
    estimate = cr.brier(probs[rows], labels[rows])
    assert evaluation.groups["a"]["brier"].value == pytest.approx(estimate.value, rel=1e-13)
    assert evaluation.groups["a"]["brier"].n == 30
    many = cr.evaluate(probs.repeat(2, axis=0), labels.repeat(2), groups=np.arange(180), n_resamples=19)
    assert not many.groups
    assert "180 groups" in dict(many.not_run)["estimates per group"]


def test_attributes_are_crossed_and_audited() -> None:
    rng = np.random.default_rng(5)
    p = rng.random(900)
    attributes = {"sex": rng.choice(["F", "M"], 900), "age": rng.integers(18, 90, 900)}
    labels = (rng.random(900) < np.clip(p + 0.4 * (attributes["sex"] == "F"), 0, 1)).astype(int)
    probs = np.stack([1 - p, p], axis=1)
    evaluation = cr.evaluate(probs, labels, groups=attributes, statistics=["brier"], n_resamples=99, rng=1)
    assert len(evaluation.groups) == 8  # two sexes, four parts of age
    assert evaluation.audit is not None
    alone = cr.audit(probs, labels, groups=attributes, n_resamples=99, rng=1)
    assert [group.adjusted_pvalue for group in evaluation.audit.groups] == [
        group.adjusted_pvalue for group in alone.groups
    ]
    finding = evaluation.findings[-1]
    assert (finding.about, finding.word) == ("audit", "conflict")
    assert "Clearest: sex F, class 1 occurs" in finding.sentence
    assert any(note.startswith("age is split at its quantiles") for note in evaluation.notes)
    assert evaluation.to_dict()["audit"]["verdict"] == "conflict"
    quick = cr.evaluate(probs, labels, groups=attributes, statistics=["brier"], tests=False)
    assert quick.audit is None


def test_curves_carry_class_names_and_their_errors_average_to_the_classwise_ece() -> None:
    probs, labels = world(n=200)
    evaluation = cr.evaluate(probs, labels, classes=["cat", "dog", "owl"], n_resamples=39)
    assert evaluation.curves is not None
    assert [curve.name for curve in evaluation.curves.per_class] == ["class cat", "class dog", "class owl"]
    assert evaluation.curves.top_label.name == "top label"
    assert evaluation.curves.top_label.level == 0.95
    assert np.mean(evaluation.curves.class_errors) == pytest.approx(
        evaluation.estimates["classwise_ece"].value, abs=1e-12
    )


def test_of_many_classes_the_worst_curves_are_kept_and_the_rest_is_said() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(60), size=100)
    evaluation = cr.evaluate(probs, rng.integers(0, 60, size=100), n_resamples=19)
    assert evaluation.curves is not None
    assert (len(evaluation.curves.per_class), len(evaluation.curves.class_errors)) == (50, 60)
    left_out = set(range(60)) - {int(curve.name.split()[1]) for curve in evaluation.curves.per_class}
    smallest = set(np.argsort(evaluation.curves.class_errors)[:10].tolist())
    assert left_out == smallest
    assert "reliability curves of 10 classes" in dict(evaluation.not_run)


def test_user_statistics_join_the_family() -> None:
    def share_of_zero(predictions: Any, labels: np.ndarray) -> float:
        """Share of the first class."""
        return float((labels == 0).mean())

    probs, labels = world(n=100)
    estimate = cr.statistic(share_of_zero, tail="two-sided")
    evaluation = cr.evaluate(probs, labels, statistics=["brier", estimate], n_resamples=39)
    assert evaluation.tests["share_of_zero"].statistic == (labels == 0).mean()
    assert evaluation.settings["methods"]["share_of_zero"]["meaning"] == "Share of the first class."
    named = cr.statistic(share_of_zero, tail="two-sided", name="omnibus")
    with pytest.raises(cr.InputError, match="must leave the name 'omnibus' free"):
        cr.evaluate(probs, labels, statistics=[named])


def test_objects_keep_their_bins_names_get_those_of_the_evaluation() -> None:
    probs, labels = world(n=100)
    chosen = [cr.confidence_ece.with_(n_bins=4), "classwise_ece"]
    evaluation = cr.evaluate(probs, labels, statistics=chosen, n_bins=6, n_resamples=19)
    assert evaluation.estimates["confidence_ece"].settings["n_bins"] == 4
    assert evaluation.estimates["classwise_ece"].settings["n_bins"] == 6


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"classes": ["a", "b"]}, r"`classes` must name every class \(3\); got 2"),
        ({"classes": ["a", "b", "a"]}, "`classes` must be distinct; 'a' appears twice"),
        ({"classes": "abc"}, "`classes` must be a sequence of names"),
        ({"groups": [1, 2]}, r"`groups` must have one entry per prediction \(400\)"),
        ({"level": 5}, "`level` must lie strictly between 0 and 1"),
        ({"n_resamples": 0}, "`n_resamples` must be a positive integer"),
        ({"statistics": "brier"}, "`statistics` must be a sequence"),
        ({"statistics": ["brier", "brier"]}, "`statistics` must be distinct"),
        ({"statistics": ["breir"]}, "Did you mean 'brier'"),
    ],
)
def test_bad_settings_are_named(keywords: dict[str, Any], message: str) -> None:
    probs, labels = world()
    with pytest.raises(cr.CrediblyError, match=message):
        cr.evaluate(probs, labels, **keywords)


@pytest.mark.slow
def test_every_array_library_gives_the_same_numbers(library: Library) -> None:
    probs, labels = world(n=60)
    keywords: dict[str, Any] = {"n_resamples": 29, "groups": labels}
    here = cr.evaluate(probs, labels, **keywords)
    there = cr.evaluate(library.asarray(probs), library.asarray(labels), **keywords)
    for name, result in here.tests.items():
        assert there.tests[name].pvalue == result.pvalue
    assert there.groups["1"]["brier"].value == pytest.approx(here.groups["1"]["brier"].value)
    assert there.warnings == here.warnings
    assert json.dumps(there.to_dict(), allow_nan=False)


def test_several_labels_per_instance_are_taken_apart() -> None:
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), size=80)
    raters = rng.integers(1, 5, size=80)
    counts = cr.LabelCounts(rng.multinomial(raters, probs))
    evaluation = cr.evaluate(probs, counts, n_bins=7)  # rows with one rater warn nobody twice
    assert evaluation.raters is not None
    with pytest.warns(UserWarning, match="fewer than 2 raters"):
        direct = cr.raters.decompose_loss(probs, counts, n_bins=7)
    assert evaluation.raters.loss.epistemic == direct.epistemic
    assert any("raters: " in note and "fewer than 2 raters" in note for note in evaluation.notes)
    found = evaluation.to_dict()["raters"]
    assert found["loss"]["expected"]["value"] == direct.expected.value
    assert found["disagreement"]["per_class"]["expected"]["value"]


def test_single_labels_have_no_rater_parts() -> None:
    probs, labels = world(n=50)
    assert cr.evaluate(probs, labels, tests=False).raters is None
    ones = cr.LabelCounts(np.eye(3, dtype=int)[labels])
    evaluation = cr.evaluate(probs, ones)
    assert evaluation.raters is None
    assert "at least 2 raters" in dict(evaluation.not_run)["decompositions over raters"]


def test_many_classes_do_not_fill_the_page() -> None:
    rng = np.random.default_rng(6)
    probs = rng.dirichlet(np.ones(101), size=30)
    evaluation = cr.evaluate(probs, cr.LabelCounts(rng.multinomial(4, probs)), statistics=["brier"])
    found = evaluation.to_dict()["raters"]
    assert "per_class" not in found["loss"]
    assert "per_class_predicted" not in found["disagreement"]
    assert evaluation.raters.loss.per_class.expected.value.shape == (101,)


def test_a_statistic_that_repeats_another_or_needs_two_instances_says_so() -> None:
    probs = np.tile([[0.7, 0.3], [0.4, 0.6]], (25, 1))
    labels = np.arange(50) % 2
    evaluation = cr.evaluate(probs, labels, n_resamples=9, rng=0)
    assert "it equals skce" in dict(evaluation.not_run)["mmd_ce"]
    with pytest.raises(KeyError, match=r"it equals skce.*These were computed: accuracy, ") as caught:
        evaluation["mmd_ce"]
    assert "kde_ce'" not in str(caught.value)  # no look-alike is suggested where the reason is known
    asked = cr.evaluate(probs, labels, statistics=["mmd_ce", "brier"], n_resamples=9, rng=0)
    assert set(asked.estimates) == {"mmd_ce", "brier"}
    alone = cr.evaluate(probs[:1], labels[:1], n_resamples=9, rng=0)
    assert "skce" not in alone.estimates
    assert "there is one instance" in dict(alone.not_run)["skce"]
