"""Calibration loss of cells: sum over cells of weight share times squared gap, plug-in and debiased.

A squared mean is too large by the variance of the mean. The debiased value replaces it by the mean over
pairs of different rows, d_i d_j, which has no such bias:

    full    d = mu_i - z_i          the gap between observation and prediction of the row itself
    paper   d = mu_i - zbar         D21 eq. 13: predictions in a cell are taken for equal

A cell with one row has no pairs and adds 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from credibly.annotators.moments import HostArray, Pairs
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
    return Pairs(total, mean, np.where(several, weight / number, 0.0))


def debiased_loss(state: State, debias: Debias) -> HostArray:
    """Return weight share times the mean of d_i d_j over pairs, per cell."""
    return np.asarray(state["weight"] / state["total"] * pairs(state, debias).mean)
