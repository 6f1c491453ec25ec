"""Calibration loss of cells: sum over cells of weight share times squared gap, plug-in and debiased.

A squared mean is too large by the variance of the mean. The debiased value replaces it by the mean over
pairs of different rows, d_i d_j, which has no such bias:

    full    d = mu_i - z_i          the gap between observation and prediction of the row itself
    paper   d = mu_i - zbar         D21 eq. 13: predictions in a cell are taken for equal

A cell with one row has no pairs and adds 0.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.annotators.moments import Pairs
from credibly.statistics import State

Debias = Literal["full", "paper"]


def plugin_loss(state: State) -> HostArray:
    """Return weight share times squared gap, per cell."""
    weight = state["weight"]
    gap = (state["observed"] - state["predicted"]) / np.where(weight > 0, weight, 1.0)
    return np.asarray(weight / state["total"] * gap**2)


def pairs(state: State, debias: Debias = "full") -> Pairs:
    """Return the sums and means over pairs of rows, per cell."""
    weight = state["weight"]
    total = state["observed"] - state["predicted"]
    if debias == "full":
        square = state["square"]
    else:
        centre = state["predicted"] / np.where(weight > 0, weight, 1.0)
        square = state["square_observed"] - 2 * centre * state["observed2"] + centre**2 * state["weight2"]
    several = state["size"] > 1
    number = np.where(several, weight**2 - state["weight2"], 1.0)
    mean = np.where(several, (total**2 - square) / number, 0.0)
    # a cell of two rows has one product, and both rows would share its spread: half of it would be lost
    spread = np.where(state["size"] == 2, math.sqrt(2.0), 1.0)
    return Pairs(total, mean, spread * mean, np.where(several, spread * weight / number, 0.0))


def debiased_loss(state: State, debias: Debias) -> HostArray:
    """Return weight share times the mean of d_i d_j over pairs, per cell."""
    return np.asarray(state["weight"] / state["total"] * pairs(state, debias).mean)


def least_variance(state: State) -> HostArray:
    """Return the variance that the debiased loss of a cell has where its gap is zero.

    There the products d_i d_j have no common first-order part, and a standard error from the rows alone is
    small by chance when the estimated gap is: the interval of a single cell would miss zero in 18 % of
    samples. This variance, 2 (|cell| / N)^2 sigma^4 / (m (m - 1)), is the floor.
    """
    weight, weight2, size = state["weight"], state["weight2"], state["size"]
    several = size > 1
    filled, filled2 = np.where(several, weight, 1.0), np.where(several, weight2, 1.0)
    gap = (state["observed"] - state["predicted"]) / filled
    freedom = np.where(several, size / np.where(several, size - 1.0, 1.0), 0.0)
    sigma2 = np.maximum(state["square"] / filled2 - gap**2, 0.0) * freedom
    pairs_left = np.where(several, filled**2 - weight2, 1.0)
    spread = 2.0 * sigma2**2 * (filled2 / filled**2) * (filled2 / pairs_left)
    return np.asarray(np.where(several, (weight / state["total"]) ** 2 * spread, 0.0))
