"""One weight vector for all instances: minimise a statistic over the simplex of weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credibly._arrays.namespace import Array, device, namespace, to_host
from credibly.hypotests.mixing import Columns, fit_weights
from credibly.predictions import Classes
from credibly.statistics import Statistic


class Minimiser(NamedTuple):
    weights: np.ndarray[Any, Any]
    notes: tuple[str, ...]


def minimise_over_weights(points: Array, observed: Classes, statistic: Statistic) -> Minimiser:
    xp = namespace(points)
    n, a, _ = points.shape
    ones = xp.ones((n, 1), dtype=xp.float64, device=device(points))
    columns = Columns(ones, xp.zeros((n, a, 0), dtype=xp.float64, device=device(points)))
    penalty = xp.full((a,), 1e-6, dtype=xp.float64, device=device(points))
    fit = fit_weights(columns, points, observed.values, penalty)
    return Minimiser(to_host(columns.weights(fit.parameters)[0, :, 0]), ("largest likelihood",))
