"""Uncertainty against mistakes and outliers: values of scikit-learn, errors by brute force and simulation."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.selection.detection import _aupr, _auroc

DETECTION = cr.selection.detection


def world(n: int, seed: int, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(0.4 * np.ones(3), size=n)
    if ties:
        probs = np.round(probs, 1)
        probs /= probs.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    return probs, np.minimum(labels, 2)


@pytest.mark.parametrize("ties", [False, True])
def test_values_are_those_of_scikit_learn(ties: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn (extra `sklearn`)")
    probs, labels = world(300, 1, ties)
    detected = DETECTION(probs, labels, rng=0, n_resamples=9)
    wrong = probs.argmax(axis=1) != labels
    two = np.sort(probs, axis=1)[:, -2:]
    measures = {
        "confidence": (1 - two[:, 1]).round(12),  # equal up to rounding is equal
        "margin": (1 - (two[:, 1] - two[:, 0])).round(12),
        "total": np.asarray(cr.uncertainty(probs).total).round(12),
    }
    assert list(detected.scores) == list(measures)
    for name, u in measures.items():
        score = detected.scores[name]
        assert score.auroc.value == pytest.approx(metrics.roc_auc_score(wrong, u), abs=1e-12)
        assert score.aupr.value == pytest.approx(metrics.average_precision_score(wrong, u), abs=1e-12)
        fpr, tpr, _ = metrics.roc_curve(wrong, u, drop_intermediate=False)
        assert score.fpr.value == pytest.approx(fpr[np.argmax(tpr >= 0.95)], abs=1e-12)


def test_the_error_of_the_area_is_delongs() -> None:
    probs, labels = world(80, 2, ties=True)
    score = DETECTION(probs, labels, by="confidence", rng=0, n_resamples=9).scores["confidence"]
    wrong, u = probs.argmax(axis=1) != labels, (1 - probs.max(axis=1)).round(12)
    pairs = (u[wrong][:, None] > u[~wrong]) + 0.5 * (u[wrong][:, None] == u[~wrong])
    delong = pairs.mean(axis=1).var() / wrong.sum() + pairs.mean(axis=0).var() / (~wrong).sum()
    assert score.auroc.stderr == pytest.approx(np.sqrt(delong * 80 / 79))


@pytest.mark.parametrize("kernel", [_auroc, _aupr])
def test_influences_are_derivatives(kernel) -> None:
    """One instance counted once more moves the number by its influence over n, but for O(1 / n^2)."""
    probs, labels = world(4000, 3)
    events, u = probs.argmax(axis=1) != labels, 1 - probs.max(axis=1)
    value, influence = kernel(u, events)
    assert abs(influence.mean()) < 1e-12
    for row in (0, 17, 1234, 3999):
        again = np.append(np.arange(4000), row)
        moved = kernel(u[again], events[again])[0] - value
        assert moved == pytest.approx(influence[row] / 4000, rel=0.01, abs=2e-7)


@pytest.mark.slow
def test_intervals_hold() -> None:
    """95 % of 120 data sets, give or take 3 standard errors; the truth is that of 200 000 instances."""
    probs, labels = world(200_000, 5)
    whole = (probs.argmax(axis=1) != labels, 1 - probs.max(axis=1))
    truth = {"auroc": _auroc(whole[1], whole[0])[0], "aupr": _aupr(whole[1], whole[0])[0]}
    held = dict.fromkeys(truth, 0)
    for seed in range(120):
        score = DETECTION(*world(300, 100 + seed), by="confidence", rng=0, n_resamples=2).scores["confidence"]
        for name in truth:
            low, high = getattr(score, name).interval()
            held[name] += low <= truth[name] <= high
    assert all(0.89 <= count / 120 <= 1.0 for count in held.values()), held


def test_pairs_are_closer_than_they_look() -> None:
    probs, labels = world(400, 6)
    detected = DETECTION(probs, labels, rng=0, n_resamples=99)
    apart = detected.difference("margin", "confidence")
    for name in ("auroc", "aupr", "fpr"):
        first, second = (getattr(detected.scores[one], name) for one in ("margin", "confidence"))
        assert apart[name].value == first.value - second.value
        assert apart[name].stderr < 0.8 * np.hypot(first.stderr, second.stderr)
    other = DETECTION(probs, labels, by="margin", rng=1, n_resamples=99).scores["margin"]
    alone = other.minus(detected.scores["confidence"])["fpr"]
    assert "same seed" in alone.interval_refusal
    with pytest.raises(cr.InputError, match="must be of the same instances"):
        DETECTION(*world(50, 6), by="margin", rng=1).scores["margin"].minus(other)
    with pytest.raises(cr.InputError, match="`first` and `second` must be"):
        detected.difference("margin", "epistemic")


@pytest.mark.parametrize("kind", ["Ensemble", "Dirichlet", "Intervals", "Belief"])
def test_every_kind_has_its_measures(kind: str) -> None:
    rng = np.random.default_rng(7)
    members = rng.dirichlet(np.ones(3), size=(30, 4))
    labels = rng.integers(0, 3, size=30)
    given = {
        "Ensemble": lambda: cr.Ensemble(members),
        "Dirichlet": lambda: cr.Dirichlet(5 * members[:, 0] + 0.1),
        "Intervals": lambda: cr.Intervals(members.min(axis=1), members.max(axis=1)),
        "Belief": lambda: cr.Belief(
            np.concatenate([0.8 * members[:, 0], np.full((30, 1), 0.2)], axis=1), [{0}, {1}, {2}, {0, 1, 2}]
        ),
    }[kind]()
    detected = DETECTION(given, labels, rng=0, n_resamples=9)
    sets = {"epistemic", "upper_entropy", "lower_entropy", "size", "nonspecificity"}
    assert sets <= set(detected.scores)
    assert ("aleatoric" in detected.scores) == (kind != "Belief")
    u = np.asarray(cr.credal.upper_entropy(given, rng=0, tolerance=1e-12)).round(9)
    score = DETECTION(given, labels, by={"mine": u}, rng=0, n_resamples=9).scores["mine"]
    assert score.auroc.value == pytest.approx(detected.scores["upper_entropy"].auroc.value)


def test_outliers_need_no_labels() -> None:
    probs, _ = world(60, 8)
    far = np.arange(60) < 20
    detected = DETECTION(probs, outliers=far, rng=0, n_resamples=19)
    assert (detected.events, detected.n_events, detected.n) == ("outliers", 20, 60)
    assert detected.scores["total"].auroc.value == _auroc(np.asarray(cr.uncertainty(probs).total), far)[0]
    assert str(detected).startswith("outliers: 20 of 60\n  confidence: auroc ")
    assert "auroc_influence" not in detected.to_dict()["scores"]["total"]


def test_rows_in_chunks_give_the_same(tmp_path) -> None:
    probs, labels = world(200, 9)
    np.savez(tmp_path / "rows.npz", probs=probs, labels=labels)
    there = DETECTION(cr.scan(tmp_path / "rows.npz", chunk_rows=33), rng=0, n_resamples=19)
    assert there.to_dict() == DETECTION(probs, labels, rng=0, n_resamples=19).to_dict()


def test_bad_input() -> None:
    probs, labels = world(40, 10)
    with pytest.raises(cr.InputError, match="must include both wrong answers and others"):
        DETECTION(probs, probs.argmax(axis=1))
    with pytest.raises(cr.InputError, match="`outliers` must be true or false"):
        DETECTION(probs, outliers=np.arange(40))
    with pytest.raises(cr.InputError, match="`by` must be one of"):
        DETECTION(probs, labels, by="epistemic")  # a single distribution has none
    with pytest.raises(cr.InputError, match=r"`mine` must hold one number per prediction \(40\)"):
        DETECTION(probs, labels, by={"mine": [1.0]})
    with pytest.raises(cr.InputError, match="`tpr` must be above 0"):
        DETECTION(probs, labels, tpr=0)
    some = probs[:12]
    two_wrong = np.where(np.arange(12) < 2, some.argmin(axis=1), some.argmax(axis=1))
    few = DETECTION(some, two_wrong, rng=0)
    with pytest.raises(cr.UnsupportedError, match="30 events and 30 others; got 2 and 10"):
        few.scores["margin"].auroc.interval()
    known = DETECTION(*world(200, 11), by="margin", rng=0, n_resamples=9).scores["margin"]
    assert known.auroc.has_interval
    with pytest.raises(
        cr.UnsupportedError, match="events lie beyond the threshold; intervals need 5, that is 100 events"
    ):
        known.fpr.interval()


def test_errors_are_those_of_clusters() -> None:
    """Every row twice, as a cluster: the error is that of half as many rows."""
    probs, labels = world(200, 12)
    once = DETECTION(probs, labels, by="confidence", rng=0, n_resamples=9).scores["confidence"]
    twice = np.repeat(np.arange(200), 2)
    rows = cr.Dataset(cr.Point(probs[twice]), labels[twice], clusters=twice)
    score = DETECTION(rows, by="confidence", rng=0, n_resamples=9).scores["confidence"]
    assert score.auroc.value == pytest.approx(once.auroc.value)
    assert score.auroc.stderr == pytest.approx(once.auroc.stderr, rel=0.02)
    assert score.aupr.n_clusters == 200
    assert "come in clusters" in score.fpr.interval_refusal


def test_what_differs_by_rounding_is_tied() -> None:
    """Sets around the uniform distribution share their upper entropy, log k, whichever way it is searched."""
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), size=(60, 4))
    for member in (1, 2):  # the first three members of every second set average to the uniform distribution
        probs[::2, member] = np.roll(probs[::2, 0], member, axis=1)
    outliers = rng.random(60) < 0.5
    u = {
        name: [
            DETECTION(cr.Ensemble(probs[:, order]), outliers=outliers, by=name, rng=0, n_resamples=2).scores[
                name
            ]
            for order in ([0, 1, 2, 3], [3, 2, 1, 0])
        ]
        for name in ("upper_entropy", "total", "confidence")
    }
    assert all(one.auroc.value == other.auroc.value for one, other in u.values())
    assert all(one.aupr.value == other.aupr.value for one, other in u.values())
    assert all(one.fpr.value == other.fpr.value for one, other in u.values())
    exact = cr.credal.upper_entropy(cr.Ensemble(probs), tolerance=1e-12)
    assert np.log(3) - exact[::2].min() < 1e-12
    exact[exact > np.log(3) - 1e-12] = np.log(3)
    pairs = (exact[outliers][:, None] > exact[~outliers]) + 0.5 * (
        exact[outliers][:, None] == exact[~outliers]
    )
    assert u["upper_entropy"][0].auroc.value == pytest.approx(pairs.mean(), abs=1e-12)


def test_beliefs_over_many_classes_have_no_lower_entropy() -> None:
    sets = [*({j} for j in range(17)), set(range(17))]
    masses = np.random.default_rng(0).dirichlet(np.ones(18), size=40)
    labels = np.arange(40) % 17
    result = cr.selection.detection(cr.Belief(masses, sets), labels, n_resamples=9, rng=0)
    assert "upper_entropy" in result.scores
    assert "lower_entropy" not in result.scores
