"""Rows that belong together in evaluations, comparisons and reports; rows that only look independent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import credibly as cr
from credibly.evaluation.dependence import dependences
from credibly.predictions import as_rows


def alike(n_clusters: int, size: int, correlation: float, seed: int) -> tuple[np.ndarray, ...]:
    """Return calibrated predictions, labels with correlated ranks inside clusters, and ids."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n_clusters), size)
    probs = rng.dirichlet(np.ones(3), size=ids.size)
    shared, own = rng.standard_normal(n_clusters)[ids], rng.standard_normal(ids.size)
    rank = ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
    return probs, (rank[:, None] > probs.cumsum(axis=1)[:, :2]).sum(axis=1), ids


PROBS, LABELS, IDS = alike(40, 25, 0.3, 3)
FEW = {"statistics": ["brier", "confidence_ece", "skce", "kl_ce"], "n_resamples": 199, "progress": None}


@pytest.fixture(scope="module")
def plain() -> cr.Evaluation:
    return cr.evaluate(PROBS, LABELS, **FEW)


@pytest.fixture(scope="module")
def clustered() -> cr.Evaluation:
    return cr.evaluate(PROBS, LABELS, clusters=IDS, **FEW)


@pytest.mark.slow
def test_clusters_take_away_a_false_conflict(plain: cr.Evaluation, clustered: cr.Evaluation) -> None:
    assert plain.headline.word == "conflict"
    assert clustered.headline.word == "no conflict found"
    assert "1000 instances of 40 clusters" in clustered.headline.sentence
    assert clustered.predictions.n_clusters == 40
    assert {test.n_clusters for test in clustered.tests.values()} == {40}
    assert all("in 40 clusters" in verdict.scope for verdict in clustered.verdicts)
    assert clustered.estimates["brier"].n_clusters == 40
    assert clustered.decomposition.calibration.n_clusters == 40
    assert clustered.curves.risk_coverage["confidence"].area.n_clusters == 40
    assert clustered.diagnosis.n_clusters == 40
    assert clustered.recalibration is None  # nothing is to be repaired
    assert "test of kl_ce" in dict(clustered.not_run)


@pytest.mark.slow
def test_bands_are_wider(plain: cr.Evaluation, clustered: cr.Evaluation) -> None:
    """Of the class with the largest share of shared ranks; empty bins are NaN."""
    width = [np.nanmean(np.subtract(*one.curves.per_class[0].band[::-1])) for one in (plain, clustered)]
    assert width[1] > 1.1 * width[0]


def test_without_clusters_the_first_warning_says_what_is_assumed(
    plain: cr.Evaluation, clustered: cr.Evaluation
) -> None:
    assert plain.warnings[0].startswith("P-values and intervals here assume independent rows")
    assert not any("assume independent rows" in warning for warning in clustered.warnings)


@pytest.mark.usefixtures("without_pictures")
def test_a_report_of_clusters(clustered: cr.Evaluation, tmp_path: Path) -> None:
    page = clustered.report(tmp_path / "report.html").read_text()
    assert "40 clusters" in page


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_what_has_no_version_for_clusters_says_so(tmp_path: Path) -> None:
    members = np.stack([PROBS, 0.8 * PROBS + 0.2 / 3], axis=1)
    evaluation = cr.evaluate(cr.Ensemble(members), LABELS, clusters=IDS, groups=IDS % 2, **FEW)
    assert "clusters" in dict(evaluation.not_run)["test of the set with weights"]
    assert evaluation.credal.validity.n_clusters == 40
    assert [answer.statistic for answer in evaluation.credal.answers] == ["witness"]
    assert evaluation.check.bayesian.checks["brier"].n_clusters == 40
    assert evaluation.check.bayesian.groups["0"]["brier"].n_clusters == 20
    assert evaluation.groups["0"]["brier"].n_clusters == 20
    assert "Does the set contain the truth?" in evaluation.report(tmp_path / "report.html").read_text()
    data = cr.Dataset(cr.Ensemble(members), LABELS, clusters=IDS)
    assert cr.credal_test(data, rng=0).n_clusters == 40
    counts = cr.LabelCounts(np.eye(3, dtype=int)[LABELS])
    with pytest.raises(cr.UnsupportedError, match="these come in clusters"):
        cr.validity_test(cr.Dataset(cr.Ensemble(members), counts, clusters=IDS))


def test_models_are_compared_by_clusters() -> None:
    worse = 0.9 * PROBS + 0.1 / 3
    plain = cr.compare({"a": PROBS, "b": worse}, LABELS, n_resamples=200)
    comparison = cr.compare({"a": PROBS, "b": worse}, LABELS, clusters=IDS, n_resamples=200)
    assert comparison.estimates["a"]["brier"].n_clusters == 40
    assert any("40 clusters" in note for note in comparison.notes)
    spread = [np.std(one.ranking.lines.distance_draws[:, 0]) for one in (plain, comparison)]
    assert spread[1] != spread[0]
    assert plain.ranking.lines.distance == pytest.approx(comparison.ranking.lines.distance)


def test_copies_do_not_make_models_differ() -> None:
    """Every row ten times: draws of clusters vary as those of the rows did."""
    few, labels = PROBS[::25], LABELS[::25]
    many, more, ids = (np.repeat(one, 10, axis=0) for one in (few, labels, np.arange(40)))
    alone = cr.rank_models({"a": few, "b": 0.5 * few + 0.5 / 3}, labels, n_resamples=400)
    copied = cr.rank_models({"a": many, "b": 0.5 * many + 0.5 / 3}, more, clusters=ids, n_resamples=400)
    assert copied.lines.distance_draws == pytest.approx(alone.lines.distance_draws)


def test_folds_keep_clusters_whole() -> None:
    from credibly.recalibrate.folds import fold_members

    parts = fold_members(len(IDS), 5, (1, 2), IDS)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(1000))
    held = [set(IDS[part]) for part in parts]
    assert sum(map(len, held)) == len(set.union(*held)) == 40
    with pytest.raises(cr.InputError, match="leave at least one cluster"):
        cr.recalibration_report(PROBS, LABELS, ["temperature"], clusters=IDS % 3)


def test_real_values_in_clusters() -> None:
    rng = np.random.default_rng(0)
    normal = cr.Gaussian(np.zeros(400), np.ones(400))
    evaluation = cr.evaluate(normal, rng.normal(size=400), blocks=20, progress=None, n_resamples=99)
    assert evaluation.tests["quantile_calibration_error"].n_clusters == 20
    assert "400 instances of 20 clusters" in evaluation.headline.sentence


def test_curves_of_real_values_keep_clusters() -> None:
    """Labels that share a shift leave the band of independent rows, not that of clusters."""
    rng = np.random.default_rng(4)
    shift = np.repeat(rng.normal(size=30), 20)
    labels = np.sqrt(0.5) * shift + np.sqrt(0.5) * rng.normal(size=600)
    normal = cr.Gaussian(np.zeros(600), np.ones(600))
    for curve in (cr.pit_test, cr.coverage_curve):
        plain, result = curve(normal, labels, rng=0), curve(normal, labels, blocks=20, rng=0)
        assert result.observed == pytest.approx(plain.observed)
        assert np.mean(result.upper - result.lower) > 1.3 * np.mean(plain.upper - plain.lower)
        assert not result.rejects()
        assert "clusters" in result.hypothesis
    with pytest.raises(cr.UnsupportedError, match="draw no labels"):
        cr.pit_test(
            cr.Gaussian(np.zeros((600, 2)), np.ones((600, 2))), labels, blocks=20, hypothesis="bayesian"
        )


@pytest.mark.slow
def test_few_clusters_cannot_tell() -> None:
    evaluation = cr.evaluate(
        PROBS**3 / (PROBS**3).sum(axis=1, keepdims=True), LABELS, clusters=IDS % 5, **FEW
    )
    assert {verdict.word for verdict in evaluation.verdicts} == {"cannot tell"}
    assert "5 clusters give no p-value below 0.0625" in evaluation.verdicts[0].finding


def test_dependence_is_seen_among_ids_and_not_in_groups_that_are_audited() -> None:
    order = np.random.default_rng(1).permutation(1000)
    data = cr.Dataset(cr.Point(PROBS[order]), LABELS[order], ids=IDS[order])
    (found,) = dependences(as_rows(data))
    assert found.where == "rows with the same id"
    assert found.design_effect > 2
    assert "standard errors should be about 1.9 times as large" in str(found)
    # in order and shuffled, under one name and several: what groups share is for the audit
    for at in (order, np.arange(1000)):
        for groups in (IDS[at], {"store": IDS[at], "half": np.arange(1000)[at] % 2}):
            named = cr.Dataset(cr.Point(PROBS[at]), LABELS[at], groups=groups)
            assert not dependences(as_rows(named))
    assert dependences(as_rows(PROBS, LABELS))


def test_independent_rows_raise_no_alarm() -> None:
    """Independent, also where they are wrong and stand in the order of confidence or of the labels."""
    probs, labels, _ = alike(600, 1, 0.0, 5)
    assert not dependences(as_rows(probs, labels))
    sharper = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    for order in (np.argsort(sharper.max(axis=1)), np.argsort(labels, kind="stable")):
        assert not dependences(as_rows(sharper[order], labels[order]))


def test_series_of_real_values_are_seen() -> None:
    rng = np.random.default_rng(0)
    series = np.convolve(rng.normal(size=520), np.ones(20) / np.sqrt(20), "valid")[:500]
    normal = cr.Gaussian(np.zeros(500), np.ones(500))
    (found,) = dependences(as_rows(normal, series))
    assert found.where == "neighbouring rows"
    assert found.design_effect > 5
    assert not dependences(as_rows(normal, rng.normal(size=500)))


def test_fewer_clusters_than_folds_leave_recalibration_out() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=60)
    clusters = np.arange(60) % 2
    evaluation = cr.evaluate(probs, np.arange(60) % 3, clusters=clusters, n_resamples=99, rng=0)
    assert evaluation.recalibration is None
    asked = cr.evaluate(
        probs, np.arange(60) % 3, clusters=clusters, n_resamples=99, rng=0, recalibrate=["temperature"]
    )
    assert "2 clusters are too few for 5 folds" in dict(asked.not_run)["recalibration"]


def test_a_group_may_lie_in_one_cluster() -> None:
    probs, labels, ids = alike(12, 10, 0.1, seed=3)
    groups = np.where(ids == 0, "first", "others")
    evaluation = cr.evaluate(probs, labels, groups=groups, clusters=ids, statistics=["brier"], rng=0)
    alone, others = evaluation.groups["first"]["brier"], evaluation.groups["others"]["brier"]
    assert (alone.stderr, alone.interval_refusal) == (None, "all rows are of one cluster")
    outside = ids > 0
    estimate = cr.brier(probs[outside], labels[outside], clusters=ids[outside])
    assert (others.value, others.stderr, others.n_clusters) == pytest.approx(
        (estimate.value, estimate.stderr, 11)
    )


def test_groups_of_single_rows_have_no_estimates() -> None:
    groups = np.where(np.arange(1000) < 2, "rare", np.where(np.arange(1000) % 2, "a", "b"))
    evaluation = cr.evaluate(PROBS, LABELS, groups=groups, statistics=["brier"], tests=False, progress=None)
    assert set(evaluation.groups) == {"a", "b"}
    assert dict(evaluation.not_run)["estimates of small groups"] == "group rare has fewer than 5 rows"
