"""`decompose_disagreement` against enumeration over pairs of raters and over all labels they could give."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import credibly as cr
from credibly.raters.disagreement import pair_moments
from credibly_studies import d21
from libraries import Library
from raters import probability, sets

TERMS = ("expected", "calibration", "refinement")


def example(n: int = 40, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), size=n)
    return probs, rng.multinomial(rng.integers(2, 6, size=n), rng.dirichlet(np.ones(k), size=n))


def fraction(labels: tuple[int, ...], differ) -> float:
    """Fraction of pairs of raters that disagree."""
    return float(np.mean([differ(a, b) for a, b in itertools.combinations(labels, 2)]))


@pytest.mark.parametrize("kind", sets())
def test_expected_disagreement_and_its_variance_by_enumeration(kind: str) -> None:
    predictions = sets()[kind]
    overall = pair_moments(predictions, per_class=False)
    per_class = pair_moments(predictions, per_class=True)
    for raters in (2, 3, 4):
        several = np.array([float(raters), float(raters)])
        for row in range(2):
            chances = {
                labels: probability(predictions, row, labels)
                for labels in itertools.product(range(3), repeat=raters)
            }
            assert sum(chances.values()) == pytest.approx(1)
            cases = [(overall, 0, lambda a, b: a != b)]
            cases += [(per_class, c, lambda a, b, c=c: (a == c) != (b == c)) for c in range(3)]
            for moments, column, differ in cases:
                mean = sum(chance * fraction(labels, differ) for labels, chance in chances.items())
                square = sum(chance * fraction(labels, differ) ** 2 for labels, chance in chances.items())
                assert moments.disagreement[column, row] == pytest.approx(mean, abs=1e-13)
                variance = moments.variance(several)[column, row]
                assert variance == pytest.approx(square - mean**2, abs=1e-13)


def test_closed_forms_of_the_paper() -> None:
    found = sets()
    z = found["point"].probs
    assert pair_moments(found["point"], per_class=False).disagreement[0] == pytest.approx(
        1 - (z**2).sum(axis=1)
    )
    alpha = found["dirichlet"].alpha
    total = alpha.sum(axis=1, keepdims=True)
    mean = alpha / total
    expected = total / (total + 1) * (1 - (mean**2).sum(axis=1, keepdims=True))  # D21 eq. 51
    assert pytest.approx(expected) == pair_moments(found["dirichlet"], per_class=False).disagreement.T
    per_class = total / (total + 1) * 2 * mean * (1 - mean)
    assert pytest.approx(per_class) == pair_moments(found["dirichlet"], per_class=True).disagreement.T


def enumerated(phi: np.ndarray, counts: np.ndarray, differ, n_bins: int) -> dict[str, float]:
    mu = np.array(
        [fraction(tuple(np.repeat(np.arange(len(row)), row)), differ) for row in counts], dtype=float
    )
    expected = float(np.mean(mu * (1 - phi) ** 2 + (1 - mu) * phi**2))
    bins = np.minimum(np.floor(phi * n_bins), n_bins - 1)
    calibration = 0.0
    for b in range(n_bins):
        d = (mu - phi)[bins == b]
        if d.size > 1:
            pairs = np.mean([x * y for x, y in itertools.permutations(d, 2)])
            calibration += d.size / len(phi) * pairs
    return {"expected": expected, "calibration": calibration, "refinement": expected - calibration}


@pytest.mark.parametrize("n_bins", [2, 15])
def test_all_terms_against_enumeration(n_bins: int) -> None:
    probs, counts = example()
    parts = cr.raters.decompose_disagreement(probs, cr.LabelCounts(counts), n_bins=n_bins)
    slow = enumerated(1 - (probs**2).sum(axis=1), counts, lambda a, b: a != b, n_bins)
    for name in TERMS:
        assert getattr(parts, name).value == pytest.approx(slow[name], abs=1e-13)
    per_class = [
        enumerated(2 * z * (1 - z), counts, lambda a, b, c=c: (a == c) != (b == c), n_bins)
        for c, z in enumerate(probs.T)
    ]
    for name in TERMS:
        values = [slow[name] for slow in per_class]
        assert getattr(parts.per_class, name).value == pytest.approx(values, abs=1e-13)
        assert getattr(parts.class_average, name).value == pytest.approx(np.mean(values), abs=1e-13)
    assert parts.predicted.value == pytest.approx((1 - (probs**2).sum(axis=1)).mean())
    loss = cr.raters.decompose_loss(probs, cr.LabelCounts(counts))
    assert parts.observed.value == pytest.approx(loss.irreducible.value, abs=1e-14)
    assert parts.observed.stderr == pytest.approx(loss.irreducible.stderr)
    # a pair that disagrees names two classes
    assert parts.per_class_observed.value.sum() == pytest.approx(2 * parts.observed.value)
    assert parts.per_class_predicted.value.sum() == pytest.approx(2 * parts.predicted.value)


def test_identity_and_roots() -> None:
    probs, counts = example()
    for decompose in (cr.raters.decompose_disagreement, d21.disagreement):
        parts = decompose(probs, cr.LabelCounts(counts))
        for part in (parts, parts.plugin, parts.class_average):
            assert part.expected.value == pytest.approx(
                part.calibration.value + part.refinement.value, abs=1e-14
            )
        value = parts.calibration.value
        assert parts.calibration_error.value == pytest.approx(math.copysign(abs(value) ** 0.5, value))
    with pytest.raises(cr.UnsupportedError, match="biased by the noise"):
        parts.plugin.calibration.interval()


@pytest.mark.slow
def test_the_band_holds_what_raters_of_the_predictions_show() -> None:
    """Labels drawn from the predictions: the bins' means vary as much as the band says."""
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(3), size=60)
    raters = rng.integers(2, 6, size=60)
    observed = []
    for _ in range(150):
        parts = cr.raters.decompose_disagreement(
            probs, cr.LabelCounts(rng.multinomial(raters, probs)), n_bins=5
        )
        observed.append(parts.bins.observed[0])
    filled = parts.bins.count[0] > 0
    spread = np.std(observed, axis=0)[filled]
    # a standard deviation of 150 draws is known to 1 / sqrt(300) = 5.8 %; four times that
    assert spread == pytest.approx(parts.bins.sampling_error[0][filled], rel=0.23)
    low, high = parts.bins.band(0.95)
    inside = (low[0][filled] <= np.array(observed)[:, filled]) & (
        np.array(observed)[:, filled] <= high[0][filled]
    )
    # five bins: 750 means, and the band is that of a normal law
    assert 0.92 < inside.mean() < 0.98


def test_fewer_raters_widen_the_band() -> None:
    probs, _ = example()
    errors = []
    for raters in (2, 20):
        counts = np.full((40, 3), 0)
        counts[:, 0], counts[:, 1] = raters // 2, raters - raters // 2
        bins = cr.raters.decompose_disagreement(probs, cr.LabelCounts(counts), n_bins=1).bins
        errors.append(bins.sampling_error[0, 0])
    assert errors[0] > 2 * errors[1]


@pytest.mark.parametrize("kind", ["point", "ensemble", "dirichlet", "dirichlets"])
def test_libraries_agree(library: Library, kind: str) -> None:
    here = sets()[kind]
    name = "alpha" if isinstance(here, cr.Dirichlet) else "probs"
    values = np.concatenate([getattr(here, name)] * 5)
    counts = np.random.default_rng(6).multinomial(3, np.ones(3) / 3, size=10)
    found = []
    for asarray in (library.asarray, np.asarray):
        parts = cr.raters.decompose_disagreement(type(here)(asarray(values)), cr.LabelCounts(asarray(counts)))
        found.append([getattr(parts, term) for term in (*TERMS, "predicted", "observed")])
    for there, estimate in zip(*found, strict=True):
        assert there.value == pytest.approx(estimate.value, abs=1e-13)
        assert there.stderr == pytest.approx(estimate.stderr, rel=1e-9)


def test_other_sets_are_represented_by_their_mean() -> None:
    intervals = cr.Intervals([[0.2, 0.3], [0.1, 0.5]], [[0.7, 0.8], [0.5, 0.9]])
    counts = cr.LabelCounts([[2, 1], [1, 3]])
    parts = cr.raters.decompose_disagreement(intervals, counts)
    mean = cr.raters.decompose_disagreement(intervals.mean(), counts)
    assert parts.predicted.value == mean.predicted.value
    assert intervals.mean_note in parts.notes
    assert (
        cr.raters.decompose_disagreement(sets()["ensemble"], cr.LabelCounts([[2, 1, 0], [1, 3, 0]])).notes
        == ()
    )


def test_chunks_give_what_all_rows_give() -> None:
    probs, counts = example()
    whole = cr.raters.decompose_disagreement(probs, cr.LabelCounts(counts))
    chunks = [(probs[rows], cr.LabelCounts(counts[rows])) for rows in (slice(0, 7), slice(7, 40))]
    parts = cr.raters.decompose_disagreement(cr.scan(chunks))
    for name in TERMS:
        assert getattr(parts, name).value == pytest.approx(getattr(whole, name).value, abs=1e-14)
        assert getattr(parts, name).stderr == pytest.approx(getattr(whole, name).stderr, rel=1e-10)
    assert parts.bins.sampling_error[0] == pytest.approx(whole.bins.sampling_error[0], nan_ok=True)


def test_soft_labels_that_are_no_counts_define_pairs_too() -> None:
    frequencies = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    counts = cr.LabelCounts.from_soft(frequencies, 4)
    parts = cr.raters.decompose_disagreement([[0.4, 0.3, 0.3], [0.2, 0.2, 0.6]], counts)
    f = np.array(frequencies)
    assert parts.observed.value == pytest.approx(np.mean(4 / 3 * (1 - (f**2).sum(axis=1))))
    assert any("not whole counts" in note for note in parts.notes)
    with pytest.raises(cr.UnsupportedError, match="needs whole numbers of raters"):
        cr.raters.decompose_disagreement(
            [[0.4, 0.3, 0.3], [0.2, 0.2, 0.6]],
            counts,
            statistic=cr.raters.rater_statistic(lambda labels: labels[0] == labels[1], order=2, name="same"),
        )
