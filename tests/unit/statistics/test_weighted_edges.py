"""Bins of equal mass count a row as often as its weight says."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.order_statistics import order_statistics

RNG = np.random.default_rng(3)
N = 90
PROBS = RNG.dirichlet(np.ones(3), size=N).round(2) + 0.0
PROBS[:, 2] = 1.0 - PROBS[:, 0] - PROBS[:, 1]
PROBS = np.clip(PROBS, 0.0, 1.0)
LABELS = RNG.integers(3, size=N)
WEIGHTS = np.arange(N) % 4


def test_four_rows_by_hand():
    # two bins of (2 + 2 + 1 + 1) / 2 = 3: rows .6 .6 .7 and .7 .8 .9 with an edge at .7, bins closed on the
    # left: {.6 .6} and {.7 .7 .8 .9}: (|2 - 1.2| + |3 - 3.1|) / 6 = .15
    p, labels = np.array([0.6, 0.7, 0.8, 0.9]), [1, 1, 0, 1]
    probs, weights = np.stack([1 - p, p], axis=1), [2, 2, 1, 1]
    settings = {"n_bins": 2, "binning": "equal_mass"}
    assert float(cr.confidence_ece(probs, labels, sample_weight=weights, **settings)) == pytest.approx(0.15)


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("name", ["confidence_ece", "classwise_ece", "hosmer_lemeshow"])
def test_weights_equal_repeated_rows(name, closed):
    scale = 1.0 if name == "hosmer_lemeshow" else 1 / 3  # which grows with the sum of the weights
    statistic = getattr(cr, name).with_(n_bins=5, binning="equal_mass", closed=closed)
    repeated = float(statistic(PROBS.repeat(WEIGHTS, axis=0), LABELS.repeat(WEIGHTS)))
    assert float(statistic(PROBS, LABELS, sample_weight=WEIGHTS * scale)) == pytest.approx(repeated)
    chunks = cr.scan(PROBS, LABELS, sample_weight=WEIGHTS * scale, chunk_rows=7)
    assert float(statistic(chunks)) == pytest.approx(repeated)


def test_curves_and_losses_of_raters_take_the_same_bins():
    settings = {"n_bins": 5, "binning": "equal_mass"}
    rows, labels = PROBS.repeat(WEIGHTS, axis=0), LABELS.repeat(WEIGHTS)
    curve = cr.reliability_curve(PROBS, LABELS, sample_weight=WEIGHTS, **settings)
    assert curve.edges == pytest.approx(cr.reliability_curve(rows, labels, **settings).edges)
    counts = RNG.multinomial(3, np.full(3, 1 / 3), size=N)
    weighted = cr.raters.decompose_loss(PROBS, cr.LabelCounts(counts), sample_weight=WEIGHTS, **settings)
    repeated = cr.raters.decompose_loss(rows, cr.LabelCounts(counts.repeat(WEIGHTS, axis=0)), **settings)
    assert weighted.plugin.calibration.value == pytest.approx(repeated.plugin.calibration.value)


def test_bins_of_stated_spread_take_weights():
    std = RNG.uniform(0.5, 2.0, size=N).round(1)
    mean, labels = np.zeros(N), RNG.normal(size=N)
    weighted = cr.statistics.ence(cr.Gaussian(mean, std), labels, sample_weight=WEIGHTS, n_bins=6)
    copies = cr.Gaussian(mean.repeat(WEIGHTS), std.repeat(WEIGHTS))
    assert float(weighted) == pytest.approx(
        float(cr.statistics.ence(copies, labels.repeat(WEIGHTS), n_bins=6))
    )


def test_pieces_give_the_edges_of_the_whole():
    values, weights = RNG.normal(size=(400, 2)).round(1), RNG.integers(0, 5, size=400) / 7

    def read(use):
        return [use(values[at : at + 70], weights[at : at + 70]) for at in range(0, 400, 70)]

    ranks = (np.arange(1, 8) / 8 + 1e-12) * weights.sum()
    for column, statistic in enumerate(order_statistics(read, ranks, 2)):
        order = np.argsort(values[:, column], kind="stable")
        at = np.searchsorted(np.cumsum(weights[order]), ranks, side="right")
        assert np.array_equal(statistic, values[order, column][at])
