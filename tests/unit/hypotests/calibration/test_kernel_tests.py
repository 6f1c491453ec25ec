"""Kernel tests: wide batches, progress, the largest term."""

from __future__ import annotations

import io

import numpy as np
import pytest

import credibly as cr
import kernel_oracles as oracle
from credibly._arrays.progress import StatusLine, as_progress
from credibly.hypotests.resampling import loop as resampling
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions.passes import without_graph
from credibly.statistics.kernels import largest_term
from optional import torch

FAMILY = ("skce", "kl_ce", "log_loss")


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    probs, _ = oracle.example(60, 3)
    return probs, oracle.drawn(probs, np.random.default_rng(0))


# Resampling


@pytest.mark.parametrize("name", ["skce", "mmd_ce", "kde_ce", "kl_ce"])
def test_null_is_the_statistic_of_every_replicate(name: str, data: tuple) -> None:
    probs, labels = data
    result = cr.calibration_test(probs, labels, statistics=name, n_resamples=12, rng=3)
    replicates = Replicates(probs, tuple(result.settings["seed"])).labels(slice(0, 12)).values
    expected = [float(cr.statistics.registered()[name](probs, row)) for row in replicates]
    np.testing.assert_allclose(result.null_distribution, expected, rtol=1e-11)
    assert result.statistic == pytest.approx(
        float(cr.statistics.registered()[name](probs, labels)), rel=1e-12
    )


def test_omnibus_shares_replicates_and_its_parts_are_the_single_tests(data: tuple) -> None:
    result = cr.calibration_test(*data, statistics=FAMILY, n_resamples=50, rng=5)
    assert list(result.components) == list(FAMILY)
    for name, part in result.components.items():
        alone = cr.calibration_test(*data, statistics=name, n_resamples=50, rng=5)
        np.testing.assert_allclose(part.null_distribution, alone.null_distribution, rtol=1e-12)
        assert part.pvalue == alone.pvalue
        assert part.adjusted_pvalue >= part.pvalue


def test_memory_and_progress_change_nothing(data: tuple) -> None:
    plain = cr.calibration_test(*data, statistics=FAMILY, n_resamples=40, rng=7)
    calls: list[tuple[int, int]] = []
    with cr.memory_limit(2**20):
        again = cr.calibration_test(
            *data, statistics=FAMILY, n_resamples=40, rng=7, progress=lambda *at: calls.append(at)
        )
    assert again.pvalue == plain.pvalue
    assert calls[-1] == (40, 40)
    assert calls == sorted(calls)


def test_progress_comes_between_blocks_of_rows(data: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "_rows_per_report", lambda *given: 20)
    calls: list[tuple[int, int]] = []
    plain = cr.calibration_test(*data, statistics="kde_ce", n_resamples=9, rng=7)
    again = cr.calibration_test(
        *data, statistics="kde_ce", n_resamples=9, rng=7, progress=lambda *at: calls.append(at)
    )
    np.testing.assert_allclose(again.null_distribution, plain.null_distribution, rtol=1e-12)
    assert calls == [(3, 9), (6, 9), (9, 9)]  # 60 rows in blocks of 20


def test_labels_beyond_the_budget_come_in_parts(data: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = cr.calibration_test(*data, statistics="skce", n_resamples=25, rng=1)
    monkeypatch.setattr(resampling, "rows_within_budget", lambda size, share, like: 7)
    again = cr.calibration_test(*data, statistics="skce", n_resamples=25, rng=1)
    np.testing.assert_allclose(again.null_distribution, plain.null_distribution, rtol=1e-12)


def test_rows_between_reports_are_about_half_a_second_of_work() -> None:
    labels = np.zeros((1000, 100_000), dtype=np.uint8)
    # 2 n b k = 2e10 flops for 10 rows: the least, 256, holds
    assert resampling._rows_per_report(1000, 10, labels) == 256
    assert resampling._rows_per_report(10, 2, labels) == 5000


def test_torch_and_numpy_pvalues_agree_and_graphs_are_left_behind(data: tuple) -> None:
    first = cr.calibration_test(*data, statistics=FAMILY, n_resamples=60, rng=2)
    tensors = torch.tensor(data[0], requires_grad=True), torch.tensor(data[1])
    second = cr.calibration_test(*tensors, statistics=FAMILY, n_resamples=60, rng=2)
    assert second.pvalue == first.pvalue
    ensemble = cr.Ensemble(torch.tensor(data[0][:, None, :], requires_grad=True))
    assert not without_graph(ensemble).mean().probs.requires_grad


def test_weights_in_a_kernel_test(data: tuple) -> None:
    probs, labels = data
    weight = np.arange(60) % 3
    result = cr.calibration_test(
        probs, labels, statistics="kde_ce", sample_weight=weight, n_resamples=5, rng=4
    )
    bandwidth = result.settings["bandwidth"]
    drawn = Replicates(probs, tuple(result.settings["seed"])).labels(slice(0, 5)).values
    for row, value in zip(drawn, result.null_distribution, strict=True):
        repeated = cr.kde_ce(probs.repeat(weight, axis=0), row.repeat(weight), bandwidth=bandwidth)
        assert value == pytest.approx(float(repeated), rel=1e-10)


def test_largest_term_of_a_label_kernel_is_reached_by_no_labels() -> None:
    assert largest_term(None) == largest_term(np.eye(4)) == 2.0
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4, 3))
    kernel = features @ features.T
    largest = largest_term(kernel)
    found = []
    for _ in range(2000):
        probs = rng.dirichlet(np.full(4, 0.05), size=2)
        r = np.eye(4)[rng.integers(0, 4, size=2)] - probs
        found.append(abs(r[0] @ kernel @ r[1]))
    assert 0.9 * largest < max(found) <= largest


# The line on a terminal


def test_progress_line_waits_a_second_and_cleans_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("credibly._arrays.progress.time.monotonic", lambda: now[0])
    stream = io.StringIO()
    line = StatusLine(stream).share
    line(1, 10)
    assert stream.getvalue() == ""
    now[0] += 2.0
    line(2, 10)
    assert stream.getvalue() == "\r 20%, 8 s left"  # 2 s for 2 of 10
    line(3, 10)  # at once: not written
    now[0] += 1.0
    line(10, 10)
    assert stream.getvalue().endswith("\r" + " " * 14 + "\r")


def test_progress_true_is_silent_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert as_progress(True) is None
    assert as_progress(None) is None
    assert as_progress(print) is print
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", terminal)
    line = as_progress(True)
    assert line is not None
    line(1, 2)
    assert terminal.getvalue() == ""
