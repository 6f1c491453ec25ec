"""Labels that do not belong to the predictions as they are: noisy ones, and columns in another order.

noise   p' = (1 - e) p + e r        r base rates or equal shares, e in [-1, 1): what is likeliest
order   p'_c = p_{s(c)}             s the assignment of columns to labels with the largest likelihood
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import HostArray, like, namespace, to_host
from credibly.predictions import ClassPredictions
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData, with_scores
from credibly.recalibrate.learned import learned, require_saved
from credibly.recalibrate.minimum import Convergence
from credibly.recalibrate.scores import mean_scores, scores_of

MOST_NOISE = 1.0 - 1e-9
"""Largest e: beyond, nothing of the predictions is left."""
LEAST_KEPT = 0.01
"""Share of a probability that is kept at least, however much is taken out."""


def _log_means(data: FitData) -> HostArray:
    """Return the log-probabilities (n, k) of the mean of members."""
    values = data.scores.values
    values = mean_scores(values, data.member_weights) if values.ndim == 3 else values
    return to_host(values)


def _likeliest(weight: HostArray, excess: HostArray) -> tuple[float, int, float]:
    """Return the e that maximises the mean of log(1 + e excess), the steps taken and the slope there."""
    from scipy.optimize import brentq  # slow to load

    def slope(noise: float) -> float:
        return float(weight @ (excess / (1.0 + noise * excess)))

    if slope(0.0) <= 0.0:
        return 0.0, 1, 0.0
    if slope(MOST_NOISE) >= 0.0:
        return MOST_NOISE, 1, 0.0
    noise, ended = brentq(slope, 0.0, MOST_NOISE, xtol=1e-13, full_output=True)
    return float(noise), int(ended.iterations), abs(slope(noise))


def _smoothing(logs: HostArray, counts: HostArray) -> tuple[float, int, float]:
    """Return the e below 0 that takes out equal shares with the least mean loss, the steps, and that loss."""
    from scipy.optimize import minimize_scalar  # slow to load

    probs, total = np.exp(logs), counts.sum(axis=1)
    row, column = np.nonzero(counts)
    weight = counts[row, column]

    def loss(noise: float) -> float:
        mixed = _mixed(probs, noise, 1.0 / probs.shape[1], np)
        return float((total @ np.log(mixed.sum(axis=1)) - weight @ np.log(mixed[row, column])) / total.sum())

    ended = minimize_scalar(loss, bounds=(-1.0, 0.0), method="bounded", options={"xatol": 1e-6})
    return float(ended.x), int(ended.nfev), float(ended.fun)


def _mixed(probs: Any, noise: float, rates: Any, xp: Any) -> Any:
    """Return the mixture; below 0, a part of every probability is kept, and sums are no longer 1."""
    mixed = (1.0 - noise) * probs + noise * rates
    return mixed if noise >= 0.0 else xp.where(mixed > LEAST_KEPT * probs, mixed, LEAST_KEPT * probs)


@dataclasses.dataclass(eq=False)
class NoiseScaling(Recalibration):
    """Mix predictions with base rates or equal shares, as label noise does, or take equal shares out.

    Labels that are partly random ask for (1 - e) p + e r. A network that was trained with label smoothing
    states such a mixture of the truth, so e is negative.

    Attributes
    ----------
    noise : float
        e, set by `fit`: the share of labels that look as if they were drawn without regard to the instance;
        below 0, labels were smoothed by -e / (1 - e) in training.
    base_rates : ndarray (k,)
        r: the frequencies of the classes, half a label added to each so that none is impossible; or the same
        share for every class, if that makes the labels more likely.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    The likelihood is concave in e above 0. Where equal shares are taken out, at least a hundredth of every
    probability is kept. The members of an ensemble share e, which maximises the likelihood of their mean.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=4000)
    >>> labels = (rng.random((4000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> labels = np.where(rng.random(4000) < 0.2, rng.integers(3, size=4000), labels)
    >>> 0.15 < cr.recalibrate.NoiseScaling().fit(probs, labels).noise < 0.25
    True
    """

    noise: float = learned()
    base_rates: HostArray = learned("k", positive=True)
    method: ClassVar[str] = "noise"

    def describe(self) -> str:
        """Return the noise in words."""
        if self.noise < 0.0:
            return f"removing {self.noise / (self.noise - 1.0):.3g} of equal shares, as label smoothing adds"
        equal = np.ptp(self.base_rates) == 0.0
        return f"a mixture with {self.noise:.3g} of {'equal shares' if equal else 'the base rates'}"

    def _require_sound(self) -> None:
        super()._require_sound()
        require_saved(-1.0 <= self.noise < 1.0, "a number of at least -1 and below 1", "noise", self.noise)

    def _fit(self, data: FitData, seen: Any) -> Convergence:
        means, counts = _log_means(data), to_host(data.counts)
        frequency = counts.sum(axis=0) + 0.5
        row, column = np.nonzero(counts)
        weight = counts[row, column] / counts.sum()
        logs = means[row, column]
        before = -float(weight @ logs)
        ends = []
        for rates in (frequency / frequency.sum(), np.full(len(frequency), 1.0 / len(frequency))):
            # only r / p of the observed class matters
            excess = np.expm1(np.minimum(np.log(rates)[column] - logs, 600.0))
            noise, steps, gradient = _likeliest(weight, excess)
            after = before - float(weight @ np.log1p(noise * excess))
            ends.append((after, noise, rates, steps, gradient))
        equal = ends[-1]
        if equal[1] == 0.0:
            noise, steps, after = _smoothing(means, counts)
            if after < before:
                ends.append((after, noise, equal[2], steps, 0.0))
        after, self.noise, self.base_rates, steps, gradient = min(ends, key=lambda end: end[0])
        return Convergence(True, steps, gradient, before, after, "Brent's method on e")

    def _map(self, predictions: ClassPredictions, seen: Any) -> ClassPredictions:
        values = scores_of(predictions, self.zero).values
        xp = namespace(values)
        mixed = _mixed(xp.exp(values), self.noise, like(self.base_rates, values), xp)
        # without noise a class that is too rare for its probability keeps its logit
        logs = xp.log(mixed) if self.noise != 0.0 else values
        return with_scores(predictions, logs, self._note)


@dataclasses.dataclass(eq=False)
class ColumnOrder(Recalibration):
    """Put the columns into the order that makes the labels most likely; nothing else changes.

    Attributes
    ----------
    columns : ndarray (k,)
        Which column of the predictions is the probability of each class, set by `fit`.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    For columns in another order than the labels, as after sorting class names. The likelihood is a sum over
    classes, so the best of all k! orders is an assignment problem. A class without labels gets the column
    that is left.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=500)
    >>> labels = (rng.random((500, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> cr.recalibrate.ColumnOrder().fit(probs[:, [2, 0, 1]], labels).columns.tolist()
    [1, 2, 0]
    """

    columns: HostArray = learned("k", shown=True)
    method: ClassVar[str] = "order"

    def describe(self) -> str:
        """Return the order in words."""
        return self.in_words(None)

    def in_words(self, classes: Sequence[str] | None) -> str:
        """Return `describe` with the classes by their names."""
        moved = np.flatnonzero(self.columns != np.arange(len(self.columns)))
        if len(moved) == 2:
            first, second = (str(place) if classes is None else classes[place] for place in moved.tolist())
            return f"the columns of {first} and {second} exchanged"
        return f"another order of {len(moved)} columns" if len(moved) else "the same order of columns"

    def _require_sound(self) -> None:
        super()._require_sound()
        columns = self.columns.tolist()
        require_saved(sorted(columns) == list(range(len(columns))), "every column once", "columns", columns)
        self.columns = self.columns.astype(int)

    def _fit(self, data: FitData, seen: Any) -> Convergence:
        from scipy.optimize import linear_sum_assignment  # slow to load

        likelihood = to_host(data.counts).T @ _log_means(data)  # of label c by column j
        self.columns = np.asarray(linear_sum_assignment(likelihood, maximize=True)[1])
        total = float(to_host(data.counts).sum())
        rows = np.arange(len(likelihood))
        losses = -np.trace(likelihood) / total, -likelihood[rows, self.columns].sum() / total
        return Convergence(True, 1, 0.0, float(losses[0]), float(losses[1]), "assignment")

    def _map(self, predictions: ClassPredictions, seen: Any) -> ClassPredictions:
        values = scores_of(predictions, self.zero).values
        moved = namespace(values).take(values, like(self.columns, values), axis=-1)
        return with_scores(predictions, moved, self._note)
