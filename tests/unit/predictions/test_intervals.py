"""Probability intervals: bounds that leave room for a distribution, tightened on request."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import credibly as cr
import strategies
from libraries import read


def test_intervals_keep_their_arrays(library):
    lower, upper = library.asarray([[0.1, 0.5]]), library.asarray([[0.4, 0.8]])
    intervals = cr.Intervals(lower, upper)
    assert intervals.lower is lower
    assert intervals.upper is upper
    assert intervals.notes == ()
    assert (len(intervals), intervals.n_classes) == (1, 2)


def test_reachable_by_hand(library):
    # class 0: at least 1 - 0.8 = 0.2, at most 1 - 0.5 = 0.5; class 1: at least 1 - 0.4 = 0.6, at most 0.9
    reached = cr.Intervals(library.asarray([[0.1, 0.5]]), library.asarray([[0.4, 0.8]])).reachable()
    assert library.owns(reached.lower)
    assert read(reached.lower) == pytest.approx(np.array([[0.2, 0.6]]))
    assert read(reached.upper) == pytest.approx(np.array([[0.4, 0.8]]))
    # three classes: u_0 = 1 - 0.3 - 0.3 = 0.4; l_0 stays 0
    reached = cr.Intervals(library.asarray([[0.0, 0.3, 0.3]]), library.asarray([[0.9, 0.5, 0.6]])).reachable()
    assert read(reached.lower) == pytest.approx(np.array([[0.0, 0.3, 0.3]]))
    assert read(reached.upper) == pytest.approx(np.array([[0.4, 0.5, 0.6]]))


@given(strategies.intervals())
def test_every_reachable_bound_is_attained(given_one):
    """Put one class at its bound; the others must be able to make up the rest within theirs."""
    tight = given_one.reachable()
    lower, upper = given_one.lower.astype(float), given_one.upper.astype(float)
    assert (tight.lower >= lower - 1e-6).all()
    assert (tight.upper <= upper + 1e-6).all()
    assert (tight.lower <= tight.upper).all()
    assert (tight.lower >= 0).all()
    for y in range(given_one.n_classes):
        rest = [j for j in range(given_one.n_classes) if j != y]
        least, most = lower[:, rest].sum(axis=1), upper[:, rest].sum(axis=1)
        for bound in (tight.lower[:, y], tight.upper[:, y]):
            assert (least - 2e-6 <= 1 - bound).all()
            assert (1 - bound <= most + 2e-6).all()


@given(strategies.intervals())
def test_reachable_changes_nothing_the_second_time(given_one):
    once = given_one.reachable()
    twice = once.reachable()
    assert twice.lower == pytest.approx(once.lower, abs=2e-6)
    assert twice.upper == pytest.approx(once.upper, abs=2e-6)


def test_the_mean_by_hand(library):
    # missing 1 - 0.6 = 0.4 of total width 0.6: share 2/3, so 0.1 + 0.2 and 0.5 + 0.2
    mean = cr.Intervals(library.asarray([[0.1, 0.5]]), library.asarray([[0.4, 0.8]])).mean()
    assert library.owns(mean.probs)
    assert read(mean.probs) == pytest.approx(np.array([[0.3, 0.7]]))
    # a point is its own mean
    assert read(
        cr.Intervals(library.asarray([[0.25, 0.75]]), library.asarray([[0.25, 0.75]])).mean().probs
    ).tolist() == [[0.25, 0.75]]
    # knowing nothing is the uniform distribution
    nothing = cr.Intervals(library.asarray([[0.0, 0.0, 0.0, 0.0]]), library.asarray([[1.0, 1.0, 1.0, 1.0]]))
    assert read(nothing.mean().probs).tolist() == [[0.25] * 4]


@given(strategies.intervals())
def test_the_mean_lies_between_the_bounds(given_one):
    probs = given_one.mean().probs
    assert (probs >= given_one.lower - 1e-6).all()
    assert (probs <= given_one.upper + 1e-6).all()


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (
            [[0.4, 0.8]],
            [[0.1, 0.5]],
            r"`lower` must not exceed `upper`; row 0 has 0\.4 above 0\.1 .*Intervals\(lower, upper\)",
        ),
        ([[0.6, 0.6]], [[0.8, 0.8]], r"room for a distribution.*row 0 has sums 1\.2 and 1\.6"),
        ([[0.1, 0.1]], [[0.2, 0.2]], r"room for a distribution.*row 0 has sums 0\.2 and 0\.4"),
        ([[-0.1, 0.1]], [[0.8, 0.8]], r"`lower` must lie between 0 and 1; row 0 ranges from -0\.1"),
        ([[0.1, 0.1]], [[1.2, 0.8]], r"`upper` must lie between 0 and 1; row 0 ranges from 0\.8 to 1\.2"),
        ([[math.nan, 0.1]], [[0.8, 0.8]], "`lower` must be finite"),
        ([[0.1, 0.1]], [[math.inf, 0.8]], "`upper` must be finite"),
        ([[0.1, 0.1]], [[0.5, 0.5, 0.5]], r"must have the same shape; got \(1, 2\) and \(1, 3\)"),
        ([[0.1]], [[1.0]], "at least 2 classes"),
        ([0.1, 0.1], [0.9, 0.9], r"must have shape \(n, k\)"),
    ],
)
def test_wrong_bounds(library, lower, upper, words):
    with pytest.raises(cr.InputError, match=words):
        cr.Intervals(library.asarray(lower), library.asarray(upper))


def test_bounds_of_two_libraries():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(cr.InputTypeError, match="`lower` and `upper` must come from one array library"):
        cr.Intervals([[0.1, 0.5]], torch.tensor([[0.4, 0.8]]))


def test_noise_is_moved_and_noted(library):
    # below 0, above 1, and turned around by rounding
    lower = library.asarray([[-1e-7, 0.0], [0.5, 0.5 + 1e-9]])
    upper = library.asarray([[1 + 1e-7, 1.0], [0.5, 0.5]])
    intervals = cr.Intervals(lower, upper)
    assert read(intervals.lower).tolist() == [[0.0, 0.0], [0.5, 0.5]]
    assert read(intervals.upper).tolist() == [[1.0, 1.0], [0.5, 0.5]]
    # two entries are touched: (0, 0) on both sides, and (1, 1)
    assert intervals.notes == ("2 bounds were off by at most 1e-6 and moved: 0 <= lower <= upper <= 1",)
    assert read(lower)[0, 0] == -1e-7
    for wrong in ([[-2e-6, 0.5]], [[0.5, 0.5 + 2e-6]]):
        with pytest.raises(cr.InvalidRowsError, match="must"):
            cr.Intervals(library.asarray(wrong), library.asarray([[1.0, 0.5]]))


def test_room_within_the_noise_is_noted():
    tight = [[0.5 + 4e-7, 0.5 + 4e-7]]
    intervals = cr.Intervals(tight, tight)
    assert intervals.notes == (
        "a distribution fits between the bounds only within 8.0e-07; they are used unchanged",
    )
    assert intervals.reachable().lower == pytest.approx(np.array([[0.5, 0.5]]), abs=1e-6)


def test_bounds_of_two_precisions():
    probs = np.array([[0.7, 0.3], [0.2, 0.8]])
    # 0.3 in single precision is above 0.3
    intervals = cr.Intervals(probs.astype(np.float32), probs)
    assert (intervals.lower <= intervals.upper).all()
    assert len(intervals.notes) == 1


def test_reachable_keeps_tiny_lower_bounds():
    # 1 - (1 - 1e-20 + 0) rounds to 0, below the lower bound that was given
    tight = cr.Intervals([[1e-20, 1.0]], [[0.5, 1.0]]).reachable()
    assert tight.lower[0, 0] == 1e-20
    assert tight.upper[0, 0] >= tight.lower[0, 0]
