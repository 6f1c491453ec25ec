"""Pairs of many instances: a stated part of the rows, with the labels and replicates of the whole."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.philox import as_seed
from credibly.evaluation.rows import MOST_ROWS_ASKED, MOST_ROWS_UNASKED, rows_for_pairs, subsampled
from credibly.predictions import as_labels
from credibly.statistics.subsampled import Subsampled
from libraries import Library

RNG = np.random.default_rng(11)
N, PART = 300, 40
PROBS = RNG.dirichlet(np.ones(3), size=N)
LABELS = (RNG.random((N, 1)) > PROBS.cumsum(axis=1)).sum(axis=1)


def part_of(statistic: cr.statistics.Statistic, seed: int = 0) -> Subsampled:
    found = subsampled(statistic, N, PART, as_seed(seed))
    assert isinstance(found, Subsampled)
    return found


@pytest.mark.parametrize("name", ["skce", "kde_ce", "kl_ce"])
def test_value_is_that_of_the_part(name: str) -> None:
    whole = cr.statistics.registered()[name]
    part = part_of(whole)
    rows = part.chosen
    assert (rows.size, np.unique(rows).size) == (PART, PART)
    found = part(PROBS, LABELS)
    all_rows = whole(PROBS[rows], LABELS[rows])
    assert found.value == pytest.approx(all_rows.value, rel=1e-12)
    assert found.n == PART
    assert found.settings == {**all_rows.settings, "subsample": PART}
    assert "computed on 40 of 300 instances" in found.notes[-1]


def test_the_same_rows_on_every_library(library: Library) -> None:
    part = part_of(cr.skce)
    predictions = cr.Point(library.asarray(PROBS))
    found = part(predictions, library.asarray(LABELS))
    assert found.value == pytest.approx(part(PROBS, LABELS).value, rel=1e-12)


def test_weights_follow_their_rows() -> None:
    part, weights = part_of(cr.skce), RNG.integers(1, 4, size=N).astype(float)
    estimate = cr.skce(PROBS[part.chosen], LABELS[part.chosen], sample_weight=weights[part.chosen])
    assert part(PROBS, LABELS, sample_weight=weights).value == pytest.approx(estimate.value, rel=1e-12)


def test_the_seed_chooses_the_rows() -> None:
    first, again, other = (part_of(cr.skce, seed).chosen for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_few_rows_and_cheap_statistics_stay_whole() -> None:
    assert subsampled(cr.skce, N, N, as_seed(0)) is cr.skce
    assert subsampled(cr.brier, N, PART, as_seed(0)) is cr.brier


def test_replicates_are_rows_of_the_replicates_of_the_whole() -> None:
    part = part_of(cr.skce)

    def on_part(predictions: cr.Point, labels: np.ndarray) -> float:
        return float(cr.skce(predictions.probs[part.chosen], labels[part.chosen]))

    by_hand = cr.statistic(on_part, tail="greater", name="by hand")
    both = cr.calibration_test(PROBS, LABELS, statistics=[part, by_hand], n_resamples=19, rng=3)
    np.testing.assert_allclose(
        both.components["skce"].null_distribution, both.components["by hand"].null_distribution, rtol=1e-9
    )
    assert both.components["skce"].n == PART


def in_single_precision(evaluation: cr.Evaluation) -> bool:
    return any("with the seed, in single precision" in note for note in evaluation.estimates["skce"].notes)


def test_pairs_of_real_values_are_compared_in_single_precision_with_equal_p_values() -> None:
    rng = np.random.default_rng(2)
    mean = rng.normal(size=N)
    gaussian, labels = cr.Gaussian(mean, np.ones(N)), mean + 1.3 * rng.normal(size=N)
    settings = {"pairwise_rows": PART, "n_resamples": 39, "rng": 5}
    single = cr.evaluate(gaussian, labels, statistics=["skce"], **settings)
    double = cr.evaluate(gaussian, labels, statistics=[cr.skce], **settings)
    assert [in_single_precision(one) for one in (single, double)] == [True, False]
    ours, theirs = single.tests["skce"], double.tests["skce"]
    np.testing.assert_allclose(ours.null_distribution, theirs.null_distribution, rtol=1e-4, atol=1e-7)
    assert ours.pvalue == theirs.pvalue


def test_evaluate_states_the_part_and_runs_again_from_its_settings() -> None:
    evaluation = cr.evaluate(PROBS, LABELS, pairwise_rows=PART, n_resamples=19, rng=5)
    assert evaluation.estimates["skce"].n == evaluation.tests["skce"].n == PART
    assert evaluation.estimates["brier"].n == N
    (note,) = [note for note in evaluation.notes if "computed on 40 of 300 instances" in note]
    assert note.startswith("SKCE, KDE calibration error, KL calibration error: ")
    (verdict,) = [verdict for verdict in evaluation.verdicts if verdict.statistic == "skce"]
    assert verdict.scope.startswith("n = 40,")
    assert in_single_precision(evaluation)
    named = cr.evaluate(PROBS, LABELS, pairwise_rows=PART, statistics=[cr.skce], n_resamples=19, rng=5)
    assert not in_single_precision(named)
    # the same rows and label vectors: values differ by rounding, p-values do not
    ours, theirs = evaluation.tests["skce"], named.tests["skce"]
    np.testing.assert_allclose(ours.null_distribution, theirs.null_distribution, rtol=1e-4, atol=1e-7)
    assert ours.pvalue == theirs.pvalue
    names = list(evaluation.settings["statistics"])
    again = cr.evaluate(
        PROBS,
        LABELS,
        statistics=names,
        pairwise_rows=evaluation.settings["pairwise_rows"],
        n_resamples=19,
        rng=5,
    )
    assert again.to_dict()["tests"] == evaluation.to_dict()["tests"]


def test_how_many_rows() -> None:
    assert rows_for_pairs(None, asked=True, n_classes=10) == MOST_ROWS_ASKED == 20_000
    assert rows_for_pairs(None, asked=False, n_classes=2) == MOST_ROWS_UNASKED
    assert rows_for_pairs(None, asked=False, n_classes=1000) == 125  # 1250 sqrt(10 / 1000)
    assert rows_for_pairs(7, asked=False, n_classes=1000) == 7
    with pytest.raises(cr.InputError, match="`pairwise_rows` must be a positive integer; got 0"):
        cr.evaluate(PROBS, LABELS, pairwise_rows=0)
    with pytest.raises(cr.InputError, match="`pairwise_rows` must be at least 2; got 1"):
        cr.evaluate(PROBS, LABELS, pairwise_rows=1)


def test_labels_of_the_whole_are_asked_for() -> None:
    part = part_of(cr.skce)
    bound = part.bind(PROBS)
    batch = as_labels(cr.Point(PROBS), LABELS)
    assert bound(batch).shape == (1,)
    assert bound.n == PART
