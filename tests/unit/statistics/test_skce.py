"""Squared kernel calibration error against double loops, by hand, in batches, tiles and libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
import kernel_oracles as oracle
from credibly.predictions import Classes, Counts
from credibly.statistics.kernels import distances, kernel_matrix
from credibly.statistics.pairwise import in_single_precision
from credibly.statistics.protocol import State
from optional import torch


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("kernel", ["exponential", "gaussian"])
def test_double_loop(kernel: str, k: int) -> None:
    probs, labels = oracle.example(13, k)
    value = cr.skce(probs, labels, kernel=kernel, bandwidth=0.4)
    expected = oracle.skce(probs, labels, name=kernel, bandwidth=0.4)
    assert float(value) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_by_hand() -> None:
    # residuals (-.8, .8), (-.8, .8), (-.1, .1); distances 0, .7 sqrt 2, .7 sqrt 2
    near, far = 1.28, 0.16 * math.exp(-0.7 * math.sqrt(2))
    probs, labels = [[0.8, 0.2], [0.8, 0.2], [0.1, 0.9]], [1, 1, 1]
    assert float(cr.skce(probs, labels, bandwidth=1.0)) == pytest.approx((near + 2 * far) / 3, rel=1e-14)


def test_two_instances_are_the_least() -> None:
    # r = (.5, -.5) and (-.5, .5): h = -.5 at distance 0
    assert float(cr.skce([[0.5, 0.5]] * 2, [0, 1])) == pytest.approx(-0.5)
    with pytest.raises(cr.InputError, match="compares pairs of instances; got 1 instance"):
        cr.skce([[0.5, 0.5]], [0])


def test_median_bandwidth_is_reported_and_reproduces_the_value() -> None:
    probs, labels = oracle.example(30, 3)
    value = cr.skce(probs, labels)
    pairs = [oracle.distance(probs[i], probs[j]) for i in range(30) for j in range(i)]
    assert value.settings["bandwidth"] == pytest.approx(np.median(pairs), rel=1e-14)
    assert "is the median euclidean distance of 30 distinct predictions" in value.notes[0]
    again = cr.skce(probs, labels, bandwidth=value.settings["bandwidth"])
    assert float(again) == float(value)


def test_duplicates_do_not_move_the_bandwidth_and_equal_rows_have_one() -> None:
    probs, labels = oracle.example(20, 3)
    once = cr.skce(probs, labels).settings["bandwidth"]
    assert cr.skce(probs.repeat(3, axis=0), labels.repeat(3)).settings["bandwidth"] == once
    same = cr.skce([[0.5, 0.5]] * 4, [0, 1, 1, 1])
    assert same.settings["bandwidth"] == 1.0
    assert "all predictions are equal" in same.notes[0]


@pytest.mark.parametrize("classes", [7, 60])
def test_duplicates_are_at_distance_zero_exactly(classes: int) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(classes), size=5)
    twice = np.concatenate([probs, probs])
    for made in (twice, torch.tensor(twice)):
        gap = np.asarray(distances(made, made))
        assert (gap[:5, 5:].diagonal() == 0).all()
        assert (np.asarray(kernel_matrix(made, made, "exponential", 0.1)).diagonal() == 1).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_of_rows_with_many_entries_keep_their_digits(dtype: type[np.floating]) -> None:
    """Far rows, rows that nearly agree, and rows far from the origin compared with their distance."""
    rng = np.random.default_rng(2)
    right = rng.dirichlet(np.ones(50), size=400)
    left = np.concatenate([right[:3] + 1e-7 * rng.normal(size=(3, 50)), rng.dirichlet(np.ones(50), size=97)])
    for offset in (0.0, 10.0, 100.0, 1e3):
        one, other = ((offset + part).astype(dtype) for part in (left, right))
        gap = one[:, None, :].astype(np.float64) - other.astype(np.float64)
        expected = np.sqrt(np.einsum("ijk,ijk->ij", gap, gap))
        computed = distances(one, other)
        assert computed.dtype == dtype
        np.testing.assert_allclose(computed, expected, rtol=1e-12 if dtype is np.float64 else 1e-6)


def test_distances_where_most_rows_are_near() -> None:
    """A confident model with one frequent class."""
    rows = np.random.default_rng(3).dirichlet(np.r_[1e4, np.ones(49)], size=200)
    gap = rows[:, None, :] - rows
    computed = distances(rows, rows)
    np.testing.assert_allclose(computed, np.sqrt(np.einsum("ijk,ijk->ij", gap, gap)), rtol=1e-12)
    assert distances(rows, rows[:0]).shape == (200, 0)


def test_label_counts_are_mean_residuals() -> None:
    probs, _ = oracle.example(9, 3)
    counts = np.random.default_rng(1).integers(0, 4, size=(9, 3)) + np.eye(3, dtype=int)[[0] * 9]
    expected = oracle.skce(probs, counts / counts.sum(axis=1, keepdims=True), bandwidth=0.5)
    assert float(cr.skce(probs, cr.LabelCounts(counts), bandwidth=0.5)) == pytest.approx(expected, rel=1e-12)


def test_multiplicities_of_single_replicates() -> None:
    probs, _ = oracle.example(8, 3)
    rng = np.random.default_rng(3)
    batch = rng.integers(0, 3, size=(4, 8)).astype(np.uint8)
    weights = rng.integers(0, 3, size=(4, 8)).astype(float)
    bound = cr.skce.bind(probs, bandwidth=0.5)
    for row, weight, value in zip(batch, weights, bound(Classes(batch, 3, weights)), strict=True):
        repeated = weight.astype(int)
        expected = oracle.skce(probs.repeat(repeated, axis=0), row.repeat(repeated), bandwidth=0.5)
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_tiles_equal_whole(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    probs, _ = oracle.example(301, 3)
    rng = np.random.default_rng(4)
    weights = rng.random((1, 301)) if weighted else None
    labels = Classes(rng.integers(0, 3, size=(7, 301)).astype(np.uint8), 3, weights)
    statistic = cr.skce.with_(bandwidth=0.3)
    whole = statistic.bind(probs)(labels)
    from credibly.statistics import pairwise

    with cr.memory_limit(2**20):
        small = statistic.bind(probs)
        assert small._rows_per_tile(301) < 301
        np.testing.assert_allclose(small(labels), whole, rtol=1e-12)
        monkeypatch.setattr(pairwise.PairBound, "_replicates_per_batch", lambda self, columns: 2)
        monkeypatch.setattr(pairwise.PairBound, "_rows_per_tile", lambda self, *given: 50)
        for keep in (True, False):  # either loop order
            monkeypatch.setattr(pairwise.PairBound, "_keeps_tiles", lambda self, keep=keep: keep)
            bound = statistic.bind(probs)
            np.testing.assert_allclose(bound(labels), whole, rtol=1e-12)
            assert len(bound._kept) == (7 if keep else 0)  # ceil(301 / 50)


def test_row_blocks_add_up() -> None:
    probs, _ = oracle.example(53, 3)
    labels = Classes(np.random.default_rng(5).integers(0, 3, size=(4, 53)).astype(np.uint8), 3)
    bound = cr.skce.bind(probs)
    total: State | None = None
    for rows in (slice(0, 1), slice(1, 20), slice(20, 53)):
        part = bound.state(labels, rows=rows)
        total = part if total is None else total + part
    np.testing.assert_allclose(bound.finish(total), bound(labels), rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "laplace"}, "`kernel` must be one of"),
        ({"bandwidth": 0.0}, "`bandwidth` must be positive or 'median'; got 0.0"),
        ({"bandwidth": -1}, "`bandwidth` must be positive"),
        ({"bandwidth": float("nan")}, "`bandwidth` must be positive"),
        ({"bandwidth": "mean"}, "`bandwidth` must be one of 'median'"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(cr.InputError, match=message):
        cr.skce.with_(**settings)


def test_it_needs_a_total_weight_above_one() -> None:
    probs, labels = oracle.example(4, 3)
    with pytest.raises(cr.InputError, match="needs a sum above 1; got a sum of 1"):
        cr.skce(probs, labels, sample_weight=np.full(4, 0.25))


def test_labels_of_some_rows_only_are_refused() -> None:
    probs, labels = oracle.example(6, 3)
    bound = cr.skce.bind(probs)
    with pytest.raises(cr.InputError, match="must cover all 6 bound instances; got 3"):
        bound.state(Classes(labels[None, :3].astype(np.uint8), 3))


def test_corners() -> None:
    probs = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    for labels in ([0, 1, 0, 0], [1, 0, 1, 1]):
        assert math.isfinite(float(cr.skce(probs, labels)))
    # certain and right: every residual is 0
    assert float(cr.skce(probs[:3], [0, 1, 0])) == 0.0


def test_many_classes() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(1000, 0.01), size=12)
    labels = rng.integers(0, 1000, size=12)
    value = float(cr.skce(probs, labels, bandwidth=0.5))
    assert value == pytest.approx(oracle.skce(probs, labels, bandwidth=0.5), rel=1e-11)


def test_single_precision_is_within_its_rounding() -> None:
    probs, labels = oracle.example(200, 5)
    double = float(cr.skce(probs, labels, bandwidth=0.3))
    single = in_single_precision(cr.skce)(probs, labels, bandwidth=0.3)
    assert float(single) == pytest.approx(double, abs=2e-6)  # 16 eps of float32, times the largest term 2
    assert float(single) != double


def test_precision_is_no_setting() -> None:
    single = in_single_precision(cr.skce)
    assert single.settings() == cr.skce.settings()
    assert repr(single) == repr(cr.skce)
    for name in ("precision", "_single"):
        with pytest.raises(cr.InputTypeError, match="takes only its own settings"):
            cr.skce.with_(**{name: True})


def test_torch_precision_flag_comes_back() -> None:
    probs, labels = oracle.example(20, 3)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        in_single_precision(cr.skce)(torch.tensor(probs), torch.tensor(labels))
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_gradients_that_do_not_fit_are_refused() -> None:
    probs = torch.full((600, 2), 0.5, dtype=torch.float64, requires_grad=True)
    with (
        cr.memory_limit(2**20),
        pytest.raises(cr.UnsupportedError, match="the gradient of `skce` keeps about"),
    ):
        cr.skce.bind(cr.Point(probs))


def test_no_interval_of_the_quadratic_estimate() -> None:
    probs, labels = oracle.example(100, 3)
    with pytest.raises(cr.UnsupportedError, match="no normal limit under calibration"):
        cr.skce(probs, labels).interval()


def test_counts_in_batches() -> None:
    probs, _ = oracle.example(7, 3)
    counts = np.random.default_rng(8).integers(1, 5, size=(3, 7, 3))
    values = cr.skce.bind(probs)(Counts(counts))
    for count, value in zip(counts, values, strict=True):
        assert value == pytest.approx(float(cr.skce(probs, cr.LabelCounts(count))), rel=1e-12)
