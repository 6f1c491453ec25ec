"""Losses over raters of rows that belong together."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr

RNG = np.random.default_rng(2)
CODES = np.repeat(np.arange(15), [4, 8, 6, 10, 2, 7, 5, 9, 3, 6, 8, 4, 5, 7, 6])
N = CODES.size
PROBS = RNG.dirichlet(np.ones(3), size=N)
COUNTS = RNG.multinomial(4, PROBS)
SHARES = COUNTS / 4


def test_the_epistemic_loss_has_the_error_of_clusters() -> None:
    parts = cr.raters.decompose_loss(PROBS, cr.LabelCounts(COUNTS), clusters=CODES)
    values = np.sum((SHARES - PROBS) ** 2 - SHARES * (1 - SHARES) / 3, axis=1)
    assert parts.epistemic.value == pytest.approx(values.mean())
    sums = np.bincount(CODES, values - values.mean())
    assert parts.epistemic.stderr == pytest.approx(np.sqrt(15 / 14 * sums @ sums) / N)
    assert parts.epistemic.n_clusters == 15
    assert 0 < parts.epistemic.degrees_of_freedom < 14
    column = (SHARES - PROBS)[:, 0] ** 2 - SHARES[:, 0] * (1 - SHARES[:, 0]) / 3
    sums = np.bincount(CODES, column - column.mean())
    estimate = parts.per_class.epistemic[0]
    assert estimate.stderr == pytest.approx(np.sqrt(15 / 14 * sums @ sums) / N)
    assert estimate.n_clusters == 15


def test_the_calibration_loss_leaves_out_pairs_inside_a_cluster() -> None:
    parts = cr.raters.decompose_loss(PROBS, cr.LabelCounts(COUNTS), n_bins=1, clusters=CODES)
    written = 0.0
    for column in range(3):
        gap = SHARES[:, column] - PROBS[:, column]
        apart = CODES[:, None] != CODES[None, :]
        written += (np.outer(gap, gap) * apart).sum() / apart.sum()
    assert parts.calibration.value == pytest.approx(written)
    assert parts.bins.count.sum() == 3 * N


def test_every_row_its_own_cluster_is_no_cluster() -> None:
    plain = cr.raters.decompose_disagreement(PROBS, cr.LabelCounts(COUNTS))
    alone = cr.raters.decompose_disagreement(PROBS, cr.LabelCounts(COUNTS), clusters=np.arange(N))
    for name in ("expected", "calibration", "refinement", "observed"):
        estimate, other = getattr(plain, name), getattr(alone, name)
        assert other.value == pytest.approx(estimate.value)
        assert other.stderr == pytest.approx(estimate.stderr)
