"""Diagnosis of real values: which fault is named, in which units, and what few draws or quantiles allow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

import credibly as cr
from credibly.diagnosis import diagnose
from credibly.diagnosis.diagnose import _subject
from credibly.diagnosis.laws import Curve, Law, Shape, settled_cells
from credibly.diagnosis.reals import RealSubject
from credibly.predictions import RealPredictions

N = 1000
RNG = np.random.default_rng(4)
MEAN, SPREAD, ERROR = 3 * RNG.normal(size=N), np.exp(0.4 * RNG.normal(size=N)), RNG.normal(size=N)
LABELS = MEAN + SPREAD * ERROR
GROUPS = np.array(["a", "b", "c", "d"])[np.arange(N) % 4]


def levels_of(q: int) -> np.ndarray:
    return np.arange(1, q + 1) / (q + 1)


def made(kind: str, mean: np.ndarray = MEAN, spread: np.ndarray = SPREAD) -> RealPredictions:
    if kind == "Gaussian":
        return cr.Gaussian(mean, spread)
    if kind == "mixture":  # 0.5^2 * 2 / 3 + 0.913^2 = 1, nearly normal
        means = mean[:, None] + 0.5 * spread[:, None] * np.array([-1.0, 0.0, 1.0])
        return cr.Gaussian(means, 0.913 * spread[:, None] * np.ones(3))
    if kind.startswith("draws"):
        draws = np.random.default_rng(7).normal(size=(len(mean), int(kind.split()[1])))
        return cr.Samples(mean[:, None] + spread[:, None] * draws)
    levels = levels_of(int(kind.split()[1]))
    return cr.Quantiles(mean[:, None] + spread[:, None] * ndtri(levels), levels)


KINDS = ("Gaussian", "mixture", "draws 20", "draws 200", "quantiles 9", "quantiles 99")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fault", "direction", "mean", "spread"),
    [
        ("shift", -1, MEAN - 0.3, SPREAD),
        ("scale", 1, MEAN, 0.7 * SPREAD),
        ("slope", 1, 1.15 * MEAN, SPREAD),
        ("spread", 1, MEAN, SPREAD**1.8),
        ("shift+scale", 1, MEAN + 0.4, 0.7 * SPREAD),
        ("shift+scale", 1, MEAN + 0.4 * SPREAD, 0.7 * SPREAD),
    ],
)
def test_a_fault_is_named_whatever_the_kind(
    kind: str, fault: str, direction: int, mean: np.ndarray, spread: np.ndarray
) -> None:
    found = diagnose(made(kind, mean, spread), LABELS, n_resamples=199)
    assert (found.word, found.fault, found.direction) == ("conflict", fault, direction)
    assert found.repair is not None
    assert abs(found.effect.remains) < 0.3 * abs(found.effect.size)
    assert found.loss == ("quantile loss" if kind.startswith("q") else "log loss")


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_model_is_left_alone(kind: str) -> None:
    found = diagnose(made(kind), LABELS, groups=GROUPS, n_resamples=199)
    assert (found.word, found.fault, found.repairs) == ("no conflict found", "none", ())


@pytest.mark.parametrize("kind", ["Gaussian", "mixture", "draws 50", "quantiles 39"])
@pytest.mark.parametrize("sign", [1, -1])
def test_skewed_errors_are_counted_at_both_ends(kind: str, sign: int) -> None:
    errors = sign * (np.random.default_rng(2).gamma(3.0, size=N) - 3.0) / np.sqrt(3.0)
    labels = MEAN + SPREAD * errors
    found = diagnose(made(kind), labels, n_resamples=199)
    assert (found.fault, found.direction) == ("skewed", -sign)  # positive: too many below
    few, many = sorted((found.effect.stated, found.effect.observed))
    assert few < 0.03 < 0.05 < many
    assert found.effect.size == pytest.approx(found.effect.stated - found.effect.observed)
    assert abs(found.effect.remains) < 0.4 * abs(found.effect.size)
    assert "below the median" in found.repair.description


def test_heavy_tails() -> None:
    labels = MEAN + SPREAD * np.random.default_rng(2).standard_t(3, size=N) / np.sqrt(3.0)
    for kind in ("Gaussian", "mixture", "draws 200"):
        found = diagnose(made(kind), labels, n_resamples=199)
        assert (found.fault, found.direction) == ("tails", 1)
    # no interval of quantiles is wide enough for extremes: 97.5 % of these errors lie in the 98 % interval
    assert diagnose(made("quantiles 99"), labels, n_resamples=199).fault == "shape"
    assert diagnose(made("quantiles 9"), labels, n_resamples=199).fault == "levels"


def test_a_single_quantile_that_is_off() -> None:
    levels = levels_of(9)
    table = MEAN[:, None] + SPREAD[:, None] * ndtri(levels)
    table[:, 8] += 1.2
    found = diagnose(cr.Quantiles(table, levels), LABELS, n_resamples=199)
    assert (found.fault, found.direction, found.repair.method) == ("levels", 1, "levels")
    assert found.effect.claim.level == pytest.approx(0.9)
    assert found.effect.observed == (table[:, 8] >= LABELS).mean()  # of the quantile itself
    assert abs(found.effect.remains) < 0.01


def test_one_quantile_that_is_off_by_a_share_of_the_spread_is_no_scale() -> None:
    levels = np.array([0.1, 0.5, 0.9])
    table = MEAN[:, None] + SPREAD[:, None] * np.array([-0.8, 0.0, ndtri(0.9)])
    found = diagnose(cr.Quantiles(table, levels), LABELS, n_resamples=199)
    assert (found.fault, found.direction, found.effect.claim.level) == ("levels", 1, 0.1)
    assert found.repair is not None
    assert found.repair.method == "relative_levels"


def test_coverage_of_quantiles_is_that_of_the_stated_ones() -> None:
    levels = np.array([0.1, 0.5, 0.9])
    table = MEAN[:, None] + 0.6 * SPREAD[:, None] * ndtri(levels)
    effect = diagnose(cr.Quantiles(table, levels), LABELS, n_resamples=199).effect
    assert effect.claim.level == pytest.approx(0.8)
    assert effect.observed == pytest.approx(((table[:, 0] <= LABELS) & (table[:, 2] >= LABELS)).mean())


@pytest.mark.parametrize("kind", ["Gaussian", "draws 20", "quantiles 9"])
@pytest.mark.parametrize("unit", [1e-18, 1e18])
def test_units_change_nothing_but_the_size(kind: str, unit: float) -> None:
    one = diagnose(made(kind, MEAN + 0.3), LABELS, groups=GROUPS, n_resamples=99)
    other = diagnose(
        made(kind, unit * (MEAN + 0.3), unit * SPREAD), unit * LABELS, groups=GROUPS, n_resamples=99
    )
    assert (one.fault, one.direction, one.pvalue) == (other.fault, other.direction, other.pvalue)
    assert other.effect.size == pytest.approx(unit * one.effect.size, rel=1e-6)
    assert other.repair.gain == pytest.approx(one.repair.gain, rel=1e-5)


def test_few_draws_are_judged_by_what_is_expected_of_them() -> None:
    """The 90 % interval of 20 draws goes from the second to the last but one: 19 of 21 places."""
    found = diagnose(made("draws 20"), LABELS, n_resamples=99)
    assert found.effect.stated == pytest.approx(19 / 21)
    assert abs(found.effect.size) < 0.03
    eight = diagnose(made("draws 8"), LABELS, n_resamples=99)
    assert eight.effect.stated == pytest.approx(7 / 9)  # from the first to the last of eight draws
    shifted = diagnose(made("draws 10", MEAN + 0.5), LABELS, n_resamples=99)
    assert shifted.fault == "shift"  # not also a scale, a slope or tails, which so few draws imitate


def test_draws_that_repeat_are_expected_to_hold_more() -> None:
    """Without ties 37 of 41 places are inside, 90.2 %; equal draws share the middle of their places."""
    rng = np.random.default_rng(0)
    found = diagnose(
        cr.Samples(np.round(rng.normal(size=(600, 40)))), np.round(rng.normal(size=600)), n_resamples=99
    )
    assert found.word == "no conflict found"
    assert found.effect.stated > 37 / 41 + 0.005
    assert abs(found.effect.size) < 0.02


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_very_few_draws_show_a_shift(number: int) -> None:
    found = diagnose(made(f"draws {number}", MEAN + 0.6), LABELS, n_resamples=99)
    assert found.word == "conflict"
    assert found.fault == ("levels" if number == 1 else "shift")
    assert found.direction == 1
    assert found.repair is not None


def test_predictions_without_a_spread() -> None:
    equal = cr.Samples(np.repeat(MEAN[:, None], 10, axis=1))
    found = diagnose(equal, LABELS, groups=GROUPS, n_resamples=99)
    assert (found.fault, found.repair.method, found.loss) == ("levels", "levels", "quantile loss")
    assert not any("scale" in one.method for one in found.repairs)
    perfect = diagnose(equal, MEAN, n_resamples=99)
    assert (perfect.word, perfect.effect.observed) == ("cannot tell", 1.0)
    single = diagnose(cr.Quantiles(MEAN[:, None] + 0.5, [0.5]), LABELS, n_resamples=99)
    assert (single.fault, single.direction) == ("shift", 1)


def test_degenerate_inputs_are_diagnosed() -> None:
    zero, one = np.zeros(N), np.ones(N)
    assert diagnose(cr.Gaussian(zero, one), 2.0 * ERROR, groups=GROUPS, n_resamples=99).fault == "scale"
    assert diagnose(cr.Gaussian(zero, SPREAD), 0.4 + SPREAD * ERROR, n_resamples=99).fault == "shift"
    two = cr.Quantiles(MEAN[:, None] + 0.6 * SPREAD[:, None] * ndtri([0.05, 0.95]), [0.05, 0.95])
    assert diagnose(two, LABELS, n_resamples=99).fault == "scale"
    for kind in ("Gaussian", "draws 8", "quantiles 99"):
        twenty = diagnose(made(kind, MEAN + 3.0)[:20], LABELS[:20], groups=GROUPS[:20], n_resamples=99)
        assert twenty.fault == "shift"
    assert (
        diagnose(made("Gaussian"), LABELS + 0.5, clusters=np.arange(N) // 5, n_resamples=99).fault == "shift"
    )


def test_a_group_is_named_with_its_size() -> None:
    mean = MEAN + 0.8 * (GROUPS == "b")
    for kind in ("Gaussian", "draws 50", "quantiles 9"):
        found = diagnose(made(kind, mean), LABELS, groups={"site": GROUPS}, n_resamples=199)
        assert (found.fault, found.direction, found.repair.by) == ("group shift", 1, "site")
        assert found.effect.claim.group == ("site", "b")
        assert found.effect.interval[0] < 0.8 < found.effect.interval[1]


def test_the_site_farthest_from_the_claim_is_named_also_beside_one_that_is_always_covered() -> None:
    """Labels that are always covered do not vary, but that is no reason to name them first."""
    rng, site = np.random.default_rng(0), np.arange(1500) % 3
    labels = rng.normal(size=1500) * np.array([0.3, 0.85, 1.5])[site]  # 100, 95 and 73 % are within 1.645
    ends = cr.Quantiles(np.tile([-1.645, 1.645], (1500, 1)), levels=[0.05, 0.95])
    found = diagnose(ends, labels, groups={"site": np.array(["a", "b", "c"])[site]}, n_resamples=199)
    assert found.effect.claim.group == ("site", "c")
    assert found.direction == 1


def test_torch_predictions_give_the_same_diagnosis() -> None:
    torch = pytest.importorskip("torch")
    pairs = [
        (cr.Gaussian, MEAN + 0.4, SPREAD),
        (cr.Gaussian, MEAN[:, None] + np.array([0.0, 0.8]), SPREAD[:, None] * np.ones(2)),
        (cr.Samples, MEAN[:, None] + 0.4 + np.random.default_rng(1).normal(size=(N, 20))),
        (cr.Quantiles, MEAN[:, None] + 0.4 + SPREAD[:, None] * ndtri(levels_of(9)), levels_of(9)),
    ]
    for kind, *arrays in pairs:
        here = diagnose(kind(*arrays), LABELS, n_resamples=99)
        there = diagnose(kind(*map(torch.from_numpy, arrays)), torch.from_numpy(LABELS), n_resamples=99)
        assert (here.fault, here.pvalue) == (there.fault, there.pvalue)
        assert here.effect.size == pytest.approx(there.effect.size)


def test_weights_count_like_repeated_rows() -> None:
    weight = np.random.default_rng(0).integers(1, 3, size=N)
    again = np.repeat(np.arange(N), weight)
    given = made("Gaussian", MEAN + 0.3)
    weighted = cr.Dataset(given, LABELS, weights=weight.astype(float))
    effect, repeated = (
        diagnose(weighted, n_resamples=99).effect,
        diagnose(given[again], LABELS[again], n_resamples=99).effect,
    )
    assert effect.size == pytest.approx(repeated.size)


@pytest.mark.parametrize(
    "shape",
    [Shape(), Shape(tails=(3.0, 0.6)), Shape(skew=(0.3, 0.5, 0.8)), Shape(masses=np.arange(1, 11) / 55)],
    ids=["normal", "tails", "skew", "masses"],
)
def test_shapes_are_distributions(shape: Shape) -> None:
    z = np.linspace(-12.0, 40.0, 400_001)
    mass = np.cumsum(np.exp(-shape.losses(z))) * (z[1] - z[0])
    assert mass[-1] == pytest.approx(1.0, abs=3e-3)  # the tails of t(3) are long
    assert np.abs(mass - shape.levels(z)).max() < 3e-3
    levels = np.array([0.03, 0.2, 0.5, 0.9, 0.97])
    assert np.allclose(shape.levels(shape.scores(levels)), levels)


def test_a_curve_is_a_change_of_variable() -> None:
    """z = 2 r below 0 and r / 2 above it, also beyond the knots."""
    curve = Curve.of(np.array([-1.0, 0.0, 2.0]), np.array([-2.0, 0.0, 1.0]))
    assert curve is not None
    z, slope = curve(np.array([-3.0, -0.5, 1.0, 4.0]))
    assert z.tolist() == [-6.0, -1.0, 0.5, 2.0]
    assert np.exp(slope).tolist() == [2.0, 2.0, 0.5, 0.5]
    assert Curve.of(np.zeros(3), np.arange(3.0)) is None


def test_after_a_repair_the_law_is_that_of_the_repaired_predictions() -> None:
    """What is pulled back to the given draws or quantiles is what `apply` would give."""
    for kind in ("mixture", "draws 50", "quantiles 9"):
        rows = cr.Dataset(made(kind, MEAN + 0.5, 0.6 * SPREAD), LABELS)
        subject = _subject(rows, rows, [])
        assert isinstance(subject, RealSubject)
        law = subject._law(np.arange(N), subject.mu - 0.5, subject.sd / 0.6)
        assert isinstance(law, Law)
        right = _subject(cr.Dataset(made(kind), LABELS), rows, [])
        assert np.abs(law.places - right._unrepaired.places).mean() < 0.02


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_labels_that_equal_quantiles_fit_best(factor: float) -> None:
    """An atom at 0 of 60 % in half of the rows and of 20 % in the others, as stated; and labels too large."""
    rng, levels = np.random.default_rng(1), np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    atom = np.where(rng.random(N) < 0.5, 0.6, 0.2)[:, None]
    labels = factor * np.where(rng.random(N) < atom[:, 0], 0.0, rng.exponential(size=N))
    rain = cr.Quantiles(-np.log((1.0 - np.maximum(levels, atom)) / (1.0 - atom)), levels)
    found = diagnose(rain, labels, groups=np.where(atom[:, 0] > 0.5, "a", "b"), n_resamples=199, rng=1)
    assert found.word == ("conflict" if factor > 1 else "no conflict found")


def test_cells_of_labels_that_equal_quantiles_by_hand() -> None:
    """Ten rows, quantiles 0, 0, 1 at levels 0.2, 0.5, 0.9: one label below, seven equal 0, two above."""
    table, levels = np.tile([0.0, 0.0, 1.0], (10, 1)), np.array([0.2, 0.5, 0.9])
    first, last = np.array([0] * 8 + [2, 3]), np.array([0] + [2] * 7 + [2, 3])
    cells = settled_cells(first, last, table, levels, np.ones(10))
    # 2 below the first level, of which one is free; 5 below the second; the others lie above it
    assert np.bincount(cells, minlength=4).tolist() == [2, 3, 4, 1]
    assert cells[[0, 8, 9]].tolist() == [0, 2, 3]


def test_of_two_faults_the_second_is_measured_without_the_first() -> None:
    found = diagnose(made("Gaussian", MEAN + 0.4, 0.7 * SPREAD), LABELS, n_resamples=199)
    assert found.effect.claim.measure == "mean"
    assert found.besides is not None
    assert found.besides.claim.measure == "coverage"
    low, high = found.besides.interval
    # of a normal law, 0.7 * 1.645 standard deviations on both sides hold 75.0 %, so 15 points too few
    assert low < 0.15 < high
    alone = diagnose(made("Gaussian", MEAN, 0.7 * SPREAD), LABELS, n_resamples=199)
    assert alone.fault == "scale"
    assert alone.besides is None
