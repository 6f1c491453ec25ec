"""The witness test: valid for every truth in the set, sees what is outside, says where."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly.hypotests.credal import witness
from credibly.hypotests.credal.experts import Bets, _cuts, nearest_to
from credibly.hypotests.credal.witness import _condition, worst_tail
from libraries import Library
from unit.credal.oracles import corners, every_kind


def soft(z: np.ndarray) -> np.ndarray:
    raised = np.exp(z - z.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def members(n: int, m: int, k: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return soft(1.2 * rng.normal(size=(n, 1, k)) + 0.6 * rng.normal(size=(n, m, k)))


def draw(probs: np.ndarray, seed: int = 1) -> np.ndarray:
    steps = probs.cumsum(axis=1)[:, :-1]
    return (np.random.default_rng(seed).random((len(probs), 1)) >= steps).sum(axis=1)


def cautious(probs: np.ndarray) -> np.ndarray:
    entropy = -(probs * np.log(probs)).sum(axis=2)
    return probs[np.arange(len(probs)), entropy.argmax(axis=1)]


def moved(probs: np.ndarray, share: float, label: int = 0) -> np.ndarray:
    """The member with the most of a class, moved towards it: outside the hull."""
    best = probs[np.arange(len(probs)), probs[:, :, label].argmax(axis=1)]
    return (1 - share) * best + share * np.eye(probs.shape[2])[label]


def ask(
    predictions: Any, labels: np.ndarray, features: Any = None, **settings: Any
) -> cr.results.HypotestResult[cr.results.WitnessDetails]:
    return cr.hypotests.witness_test(predictions, labels, features=features, rng=0, **settings)


def as_sets(probs: np.ndarray) -> dict[str, Any]:
    """Sets of several kinds that hold the hull of the members."""
    lower, upper = probs.min(axis=1), probs.max(axis=1)
    k = probs.shape[2]
    everything = 1.0 - lower.sum(axis=1, keepdims=True)
    return {
        "hull": cr.Ensemble(probs, member_axis=1),
        "intervals": cr.Intervals(lower, upper),
        "belief": cr.Belief(np.hstack([lower, everything]), [*({j} for j in range(k)), set(range(k))], k),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hull", "intervals", "belief"])
@pytest.mark.parametrize("rule", ["cautious", "direction"])
def test_truths_inside_are_not_rejected(kind: str, rule: str) -> None:
    count = 0
    for seed in range(3):
        probs = members(80, 4, 3, seed)
        truth = cautious(probs) if rule == "cautious" else moved(probs, 0.0)
        count += ask(as_sets(probs)[kind], draw(truth, 100 + seed)).rejects(0.05)
    assert count <= 2  # 3 tests at 5 %: all of them with probability 0.0001


@pytest.mark.parametrize("kind", ["hull", "intervals"])
def test_a_truth_outside_is_seen_and_told(kind: str) -> None:
    probs = members(400, 4, 3)
    labels = draw(moved(probs, 0.35, label=2))
    answer = ask(as_sets(probs)[kind], labels)
    assert answer.pvalue < 0.001
    assert answer.details.exact_pvalue < 0.01
    assert answer.verdict() == "conflict"
    first = answer.details.directions[0]
    assert (first.label, first.more) == (2, True)
    assert first.observed > first.upper
    assert "whale occurs more often than any distribution in the set" in answer.sentence(
        class_names=["cat", "dog", "whale"]
    )
    assert "class 2 occurs more often" in str(answer)
    rows = answer.details.evidence_rows(10)
    assert (labels[rows] == 2).all()
    assert (np.diff(answer.details.excess[rows]) <= 0).all()


def test_the_condition_of_a_direction_names_its_feature() -> None:
    probs = members(600, 3, 3)
    x = np.random.default_rng(5).normal(size=(600, 2))
    truth = np.where(x[:, 1:] > 0.3, moved(probs, 0.6), probs.mean(axis=1))
    answer = ask(cr.Ensemble(probs, member_axis=1), draw(truth), x)
    assert answer.details.given == "features"
    assert "where feature 1 is above" in answer.sentence()


def test_features_make_the_claim_stronger() -> None:
    # half of the instances are class 0 with 0.9, half with 0.1; the model says 0.5 to all: calibrated, coarse
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 300)
    chance = np.where(x == 0, 0.9, 0.1)
    labels = draw(np.stack([chance, 1 - chance], axis=1))
    low = 0.45 + 0.05 * rng.random(300)
    probs = np.stack([np.stack([low, 1 - low], axis=1), np.tile([0.53, 0.47], (300, 1))], axis=1)
    ensemble = cr.Ensemble(probs, member_axis=1)
    assert not ask(ensemble, labels).rejects(0.05)
    assert ask(ensemble, labels, x).rejects(0.001)


@pytest.mark.parametrize("kind", ["Point", "Ensemble", "Intervals", "Belief"])
def test_the_tail_is_at_least_that_of_every_corner(kind: str) -> None:
    rng = np.random.default_rng(2)
    credal = every_kind(rng, n=12, k=3)[kind]
    v = rng.normal(size=(12, 3))
    points = corners(credal)
    worst = np.array([c[(c @ np.exp(0.8 * row)).argmax()] for c, row in zip(points, v, strict=True)])
    drawn = np.stack([draw(worst, seed) for seed in range(2000)])
    sums = v[np.arange(12), drawn].sum(axis=1)
    for share in (0.9, 0.97):
        labels = drawn[np.argsort(sums)[int(share * 2000)]]
        found = worst_tail(credal, v, labels)
        tail = (sums >= v[np.arange(12), labels].sum() - 1e-12).mean()
        assert 0.5 * (1 + np.vectorize(_erf)(-found.score / np.sqrt(2))) > 0.6 * tail - 0.01
        assert found.smallest <= tail + 0.01


def _erf(value: float) -> float:
    import math

    return math.erf(value)


@pytest.mark.parametrize("kind", ["Ensemble", "Intervals", "Belief"])
def test_the_nearest_point_is_inside_and_near(kind: str) -> None:
    rng = np.random.default_rng(4)
    credal = every_kind(rng, n=8, k=4)[kind]
    g = rng.dirichlet(np.ones(4), size=8)
    found = nearest_to(credal, g)
    assert cr.credal.contains(credal, found, tolerance=1e-6).all()
    missing = (g * np.log(g / found)).sum(axis=1) - cr.credal.distance(credal, g)
    assert missing.max() < 0.02


def test_bets_are_fair_under_the_set_and_add_up() -> None:
    probs = members(6, 3, 4)
    credal = cr.Ensemble(probs, member_axis=1)
    lower, upper = cr.credal.lower_probability(credal), cr.credal.upper_probability(credal)
    bets = Bets.of(lower, upper, probs.mean(axis=1))
    by_label = np.stack([bets.paid(np.full(6, c)) for c in range(4)], axis=1)  # (n, k, j)
    for j in range(by_label.shape[2]):
        assert (probs @ by_label[:, :, j, None]).max() <= 1 + 1e-12
    shares = np.random.default_rng(0).dirichlet(np.ones(by_label.shape[2]))
    assert bets.values(shares) == pytest.approx(by_label @ shares)


def test_a_label_that_no_member_allows() -> None:
    probs = np.zeros((40, 2, 3))
    probs[:, 0], probs[:, 1] = [0.5, 0.5, 0.0], [0.7, 0.3, 0.0]
    labels = np.zeros(40, dtype=int)
    labels[::2] = 1
    labels[-1] = 2
    orders = ask(cr.Ensemble(probs, member_axis=1), labels).details.scores
    assert orders.max() > 30  # impossible wherever it was tested
    assert np.isfinite(orders).all()


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_rows_cannot_tell(n: int) -> None:
    answer = ask(cr.Ensemble(np.full((n, 2, 2), 0.5), member_axis=1), np.zeros(n, dtype=int))
    assert answer.verdict() in ("cannot tell", "no conflict found")
    assert answer.pvalue > 0.05
    if n < 3:
        assert answer.verdict() == "cannot tell"
        assert "too few" in answer.sentence()


def test_every_library_gives_the_same(library: Library) -> None:
    probs = members(60, 3, 3)
    labels = draw(moved(probs, 0.3))
    expected = ask(cr.Ensemble(probs, member_axis=1), labels)
    answer = ask(cr.Ensemble(library.asarray(probs), member_axis=1), library.asarray(labels))
    assert answer.pvalue == pytest.approx(expected.pvalue, rel=1e-6)
    assert library.owns(answer.details.combine(cr.Ensemble(library.asarray(probs), member_axis=1)).probs)


@pytest.mark.parametrize("k", [10, pytest.param(60, marks=pytest.mark.slow)])
def test_many_classes(k: int) -> None:
    probs = members(150, 3, k)
    assert not ask(cr.Ensemble(probs, member_axis=1), draw(cautious(probs))).rejects(0.01)
    assert ask(cr.Ensemble(probs, member_axis=1), draw(moved(probs, 0.3))).rejects(0.01)


def test_dirichlets_and_points() -> None:
    rng = np.random.default_rng(0)
    alpha = 5 * rng.dirichlet(np.ones(3), size=150)
    answer = ask(cr.Dirichlet(alpha), draw(alpha / 5), n_draws=5)
    assert "5 draws" in " ".join(answer.notes)
    assert answer.details.combine(cr.Dirichlet(alpha[:4])).probs.shape == (4, 3)
    point = cr.Point(np.full((300, 2), 0.5))
    wrong = draw(np.broadcast_to([0.8, 0.2], (300, 2)))
    assert ask(point, wrong).rejects(0.01)
    plain = cr.calibration_test(point, wrong, n_resamples=99, rng=0)
    both = cr.credal_test(point, wrong, n_resamples=99, rng=0)
    assert (both.pvalue, both.verdict(), both.details.validity) == (plain.pvalue, plain.verdict(), None)


@pytest.mark.slow
def test_both_methods_are_the_larger_p() -> None:
    probs = members(60, 3, 3)
    labels = draw(cautious(probs))
    ensemble = cr.Ensemble(probs, member_axis=1)
    both = cr.credal_test(ensemble, labels, n_resamples=9, rng=0)
    weights = cr.hypotests.weights_test(ensemble, labels, n_resamples=9, rng=0)
    witness = cr.hypotests.witness_test(ensemble, labels, rng=0)
    assert (both.details.calibration.pvalue, both.details.validity.pvalue) == (weights.pvalue, witness.pvalue)
    assert both.pvalue == max(weights.pvalue, witness.pvalue)
    assert {"validity", "calibration"} <= set(both.to_dict())


@pytest.fixture(scope="module")
def tested() -> cr.results.HypotestResult[cr.results.CredalDetails]:
    probs = members(80, 3, 3)
    return cr.credal_test(cr.Ensemble(probs, member_axis=1), draw(cautious(probs)), n_resamples=19, rng=0)


@pytest.mark.parametrize(
    ("witness", "weights", "outcome", "word", "words"),
    [
        (0.001, 0.01, "both", "conflict", "no combination that"),
        (0.001, 0.5, "witness alone", "cannot tell", "some combination may still be calibrated"),
        (0.5, 0.01, "weights alone", "cannot tell", "No combination that these weights can represent"),
        (0.5, 0.5, "neither", "no conflict found", "No conflict found"),
    ],
)
def test_four_outcomes(
    tested: cr.results.HypotestResult[cr.results.CredalDetails],
    witness: float,
    weights: float,
    outcome: str,
    word: str,
    words: str,
) -> None:
    replace = dataclasses.replace
    details = replace(
        tested.details,
        validity=replace(tested.details.validity, pvalue=witness),
        calibration=replace(tested.details.calibration, pvalue=weights, null_distribution=None),
    )
    result = replace(tested, pvalue=max(witness, weights), details=details)
    assert (result.details.outcome(), result.verdict()) == (outcome, word)
    assert words in result.sentence()
    assert result.rejects(0.05) == (outcome == "both")
    assert words in str(result)


def test_lower_bounds_of_0_make_no_label_impossible() -> None:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.full(3, 0.5), size=60)
    labels = (rng.random((60, 1)) >= truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    around = cr.Intervals(np.maximum(truth - 0.15, 0.0), np.minimum(truth + 0.15, 1.0))
    everything = cr.Belief(np.ones((60, 1)), [{0, 1, 2}], 3)
    for sets in (around, everything, cr.Intervals(np.zeros((60, 3)), np.ones((60, 3)))):
        assert cr.hypotests.witness_test(sets, labels, rng=0).pvalue > 0.2


def test_a_label_that_the_whole_set_rules_out_is_a_conflict_for_every_test() -> None:
    sets = cr.Ensemble(np.tile(np.eye(3)[:2], (40, 1, 1)), member_axis=1)
    labels = np.arange(40) % 2
    labels[3] = 2
    result = cr.hypotests.witness_test(sets, labels, rng=0)
    assert (result.pvalue, result.details.exact_pvalue, result.details.evalue) == (0.0, 0.0, np.inf)


@pytest.mark.slow
def test_impossible_labels_are_counted_and_named() -> None:
    """No combination explains them either, so the hypothesis of the papers falls with the set."""
    probs = members(60, 3, 2)
    sets = cr.Ensemble(np.concatenate([probs, np.zeros((60, 3, 1))], axis=2), member_axis=1)
    labels = draw(probs.mean(axis=1))
    labels[[7, 31]] = 2
    both = cr.credal_test(sets, labels, n_resamples=9, rng=0)
    validity = both.details.validity
    assert validity.details.impossible_rows.tolist() == [7, 31]
    assert (both.verdict(), both.details.outcome(), both.pvalue) == ("conflict", "both", validity.pvalue)
    told = "The labels of 2 of 60 instances (rows 7, 31) have probability 0 under every distribution"
    for question in (both, ask(sets, labels)):
        assert question.sentence().startswith(told)
        assert "may still be calibrated" not in question.sentence()
    labels[31] = 0
    assert "The label of row 7 has probability 0" in ask(sets, labels).sentence()


def test_a_witness_needs_no_replicates_and_says_so() -> None:
    probs = members(30, 2, 3)
    sets, labels = cr.Ensemble(probs, member_axis=1), draw(cautious(probs))
    together = np.arange(30) // 2
    plain = cr.credal_test(sets, labels, clusters=together, rng=0)
    asked = cr.credal_test(sets, labels, clusters=together, n_resamples=99, rng=0)
    assert (asked.pvalue, asked.n_resamples) == (plain.pvalue, 0)
    assert any("draws no replicates" in note for note in asked.notes)
    assert not any("draws no replicates" in note for note in plain.notes)


def test_too_few_instances_for_folds_still_have_a_witness() -> None:
    probs = members(7, 2, 3)
    with pytest.raises(cr.InputError, match=r"got 7. Use `witness_test`, which has no folds"):
        cr.credal_test(cr.Ensemble(probs, member_axis=1), np.zeros(7, dtype=int))
    assert ask(cr.Ensemble(probs, member_axis=1), np.zeros(7, dtype=int)).pvalue > 0


def test_conditions_name_their_classes() -> None:
    probs = members(600, 3, 3)
    large = probs[:, :, 1].mean(axis=1) > 0.35
    truth = np.where(large[:, None], moved(probs, 0.6), probs.mean(axis=1))
    first = ask(cr.Ensemble(probs, member_axis=1), draw(truth)).details.directions[0]
    assert first.where_label is not None
    assert f"class {first.where_label}" in first.where
    assert not set("{}") & set(first.where + first.words())
    names = ["cat", "dog", "whale"]
    condition = first.words(names).split("mostly where ")[1]
    assert names[first.where_label] in condition
    assert "class" not in condition


@pytest.mark.parametrize("limit", [-1, 0, 2.5])
def test_evidence_rows_need_a_number(limit: Any) -> None:
    probs = members(60, 2, 3)
    answer = ask(cr.Ensemble(probs, member_axis=1), draw(cautious(probs)))
    with pytest.raises(cr.InputError, match="`limit` must be an integer of at least 1"):
        answer.details.evidence_rows(limit)


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e308])
def test_huge_features_are_standardised(scale: float) -> None:
    probs = members(150, 3, 3)
    x = np.random.default_rng(5).uniform(-1, 1, size=(150, 2))
    sets, labels = cr.Ensemble(probs, member_axis=1), draw(cautious(probs))
    expected = ask(sets, labels, x)
    columns = np.concatenate([scale * x, np.full((150, 1), 1e306)], axis=1)  # a constant one says nothing
    answer = ask(sets, labels, columns)
    assert answer.pvalue == pytest.approx(expected.pvalue, rel=1e-6)


def test_why_nothing_could_be_found() -> None:
    probs = members(40, 2, 3)
    answer = ask(cr.Ensemble(probs, member_axis=1), draw(cautious(probs)))

    def why_not(smallest: float, n: int = 40) -> str:
        details = dataclasses.replace(answer.details, smallest_pvalue=smallest)
        return dataclasses.replace(answer, n=n, details=details).why_not()

    assert why_not(0.05) == ""
    assert "so wide" in why_not(0.99)
    # 0.2^(n / 40) = 0.05 at n = 40 log 0.05 / log 0.2 = 74.5
    assert "about 75 instances could" in why_not(0.2)
    assert "12 instances are too few" in why_not(0.2, n=12)


def test_names_must_cover_the_classes() -> None:
    rng = np.random.default_rng(0)
    members = rng.dirichlet([4.0, 4.0, 4.0], size=(200, 3))
    result = cr.hypotests.witness_test(members, np.full(200, 2), rng=0)
    assert "class 2 occurs more often" in result.sentence(class_names=["0", "1", "2"])
    with pytest.raises(cr.InputError, match="must name class 2 too"):
        result.sentence(class_names=[])


def test_a_condition_on_tiny_probabilities_is_said_in_words() -> None:
    rng = np.random.default_rng(0)
    tiny = np.where(np.arange(400) % 2, 1e-5, 0.4)
    columns: list[tuple[str, int | None, np.ndarray]] = [
        ("the width of {}", 3, tiny + 1e-7 * rng.random(400))
    ]
    assert _condition(columns, tiny < 0.1) == ("the width of {} is nearly 0", 3)
    own: list[tuple[str, int | None, np.ndarray]] = [("feature 1", None, tiny)]
    assert _condition(own, tiny < 0.1) == ("feature 1 is at most 1e-05", None)


CLUSTERS = np.repeat(np.arange(30), 10)


def clustered_set(sharpness: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Three members; labels of a cluster share a rank, drawn from their mean raised to `sharpness`."""
    rng = np.random.default_rng(8)
    members = rng.dirichlet(np.ones(3), size=(300, 1)) * 0.7 + 0.3 * rng.dirichlet(np.ones(3), size=(300, 3))
    truth = members.mean(axis=1) ** sharpness
    truth /= truth.sum(axis=1, keepdims=True)
    shared, own = rng.standard_normal(30)[CLUSTERS], rng.standard_normal(300)
    rank = scipy.stats.norm.cdf(np.sqrt(0.3) * shared + np.sqrt(0.7) * own)
    return members, (rank[:, None] > truth.cumsum(axis=1)[:, :2]).sum(axis=1)


def test_blocks_hold_whole_clusters() -> None:
    ordered = np.repeat([4, 1, 0, 3, 2, 5], [3, 30, 2, 25, 20, 20])
    cuts = _cuts(100, ordered)
    assert cuts[-1] == 100
    assert all(cut == 100 or ordered[cut - 1] != ordered[cut] for cut in cuts)


def test_the_evalue_of_a_cluster_is_the_mean_over_its_rows() -> None:
    means = witness._cluster_means(np.array([2.0, 4.0, 1.0, 1.0, 0.5]), np.array([0, 0, 2, 2, 5]))
    assert means.tolist() == [3.0, 1.0, 0.5]
    members, labels = clustered_set()
    result = cr.credal_test(cr.Ensemble(members), labels, clusters=CLUSTERS, rng=1)
    assert result.details.calibration is None
    assert result.n_clusters == 30


def test_sums_over_clusters_are_compared_with_student() -> None:
    """Sums (1, 2, 3, 2) over the standard error sqrt(4/3 sum (S - 2)^2) = sqrt(8/3), 3 degrees of freedom."""
    excess, codes = np.array([0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 1.0, 1.0]), np.repeat(np.arange(4), 2)
    tail = witness._of_clusters(witness.WorstTail(9.0, 0.0, excess, 0.1), codes)
    expected = scipy.stats.t.sf(8.0 / np.sqrt(8.0 / 3.0), 3)
    assert scipy.stats.norm.sf(tail.score) == pytest.approx(expected)
    assert tail.smallest == 2.0**-3
    # never below the error of independent rows
    wide = witness._of_clusters(witness.WorstTail(9.0, 0.0, excess, 20.0), codes)
    assert scipy.stats.norm.sf(wide.score) > 0.3


@pytest.mark.slow
def test_clusters_take_a_false_conflict_away_and_leave_a_true_one() -> None:
    members, labels = clustered_set()
    assert not cr.credal_test(cr.Ensemble(members), labels, clusters=CLUSTERS, rng=1).rejects()
    members, labels = clustered_set(4.0)
    assert cr.credal_test(cr.Ensemble(members), labels, clusters=CLUSTERS, rng=1).rejects()
    inflation = cr.inflate(members, labels, clusters=CLUSTERS, resolution=0.2, rng=1)
    assert inflation.radius > 0
    with pytest.raises(cr.InputError, match="4 clusters give no p-value below"):
        cr.inflate(members, labels, clusters=CLUSTERS % 4, rng=1)


def test_weights_of_clusters_are_learned_on_others() -> None:
    members, labels = clustered_set()
    ensemble = cr.Ensemble(members)
    result = cr.hypotests.weights_test(ensemble, labels, clusters=CLUSTERS, n_resamples=99, rng=1)
    assert (result.n_clusters, result.settings["refit"]) == (30, False)
    mean = cr.hypotests.weights_test(
        ensemble, labels, weights="mean", clusters=CLUSTERS, n_resamples=99, rng=1
    )
    alone = cr.calibration_test(
        members.mean(axis=1), labels, statistics="skce", clusters=CLUSTERS, n_resamples=99, rng=1
    )
    assert mean.pvalue == alone.pvalue
    for words in ({"weights": "constant"}, {"weights": "learned", "refit": True}):
        with pytest.raises(cr.UnsupportedError, match="one sign per cluster around weights"):
            cr.hypotests.weights_test(ensemble, labels, clusters=CLUSTERS, **words)


def test_parts_and_penalties_keep_clusters_whole() -> None:
    from credibly.hypotests.credal.learned_weights import random_parts

    parts = random_parts(300, None, 4, (1, 2), CLUSTERS)
    assert np.array_equal(np.sort(np.concatenate([part.test for part in parts])), np.arange(300))
    for part in parts:
        assert not set(CLUSTERS[part.learn]) & set(CLUSTERS[part.test])
    with pytest.raises(cr.InputError, match="need at least 8 clusters"):
        random_parts(300, None, 4, (1, 2), CLUSTERS % 5)
