"""The fit behind alpha-calibration: likelihood of the counts, and heads that give log alpha0."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, namespace, to_host
from credibly.predictions import ClassPredictions, Dirichlet, Ensemble, Point
from credibly.recalibration.counts_likelihood import CountsLikelihood
from credibly.recalibration.fitting import FitData
from credibly.recalibration.heads import forward, n_parameters, train
from credibly.recalibration.optima import minimum
from credibly.recalibration.penalties import fold_members
from credibly.recalibration.scores import IMPOSSIBLE, mean_scores, scores_of

_NO_SPREAD = "raters scatter no more than independent draws from the mean: the best alpha0 is infinite"
_LEAST_LOG = -700.0  # of a positive number in double precision


@dataclasses.dataclass(frozen=True)
class Head:
    """A head on its way: likelihood, weights and standardised features of some instances."""

    likelihood: CountsLikelihood
    share: HostArray
    features: HostArray
    sizes: tuple[int, ...]
    rng: int

    def part(self, rows: HostArray) -> Head:
        """Return the same for some of the instances, whose shares sum to 1 again."""
        share = self.share[rows] / self.share[rows].sum()
        return dataclasses.replace(
            self, likelihood=self.likelihood.take(rows), share=share, features=self.features[rows]
        )

    def loss(self, factors: HostArray, penalty: float) -> tuple[float, HostArray]:
        """Return the penalised loss per instance and its derivative in every log alpha0."""
        value, slope = self.likelihood(factors)
        total = float(self.share @ (penalty * factors**2 - value))
        return total, self.share * (2 * penalty * factors - slope)

    def objective(self, parameters: HostArray, penalty: float) -> tuple[float, HostArray]:
        """Return the loss of a constant or linear head and its gradient."""
        loss, slope = self.loss(forward(self.features, parameters, self.sizes), penalty)
        return loss, np.append(self.features.T @ slope, slope.sum())

    def fit(self, penalty: float) -> tuple[HostArray, dict[str, Any]]:
        """Return the parameters and how the fit ended."""
        if len(self.sizes) > 2:
            held = fold_members(len(self.share), "split", self.rng)[0]
            inside, outside = self.part(np.setdiff1d(np.arange(len(self.share)), held)), self.part(held)
            return train(
                (inside.features, lambda outputs: inside.loss(outputs, penalty)),
                (outside.features, lambda outputs: outside.loss(outputs, penalty)),
                self.sizes,
                self.rng,
            )
        return minimum(
            lambda parameters: self.objective(parameters, penalty),
            np.zeros(n_parameters(self.sizes)),
            lambda parameters: forward(self.features, parameters, self.sizes),
            lambda: f"{_NO_SPREAD}; penalty {penalty:g}",
        )

    def held_out(self, penalty: float, kept: HostArray, held: HostArray) -> float:
        """Return the summed loss of rows that were not fitted."""
        parameters, _ = self.part(kept).fit(penalty)
        part = self.part(held)
        outputs = forward(part.features, parameters, self.sizes)
        return float(self.share[held].sum()) * part.loss(outputs, 0.0)[0]


def likelihood_of(data: FitData) -> tuple[CountsLikelihood, HostArray, HostArray]:
    """Return the likelihood of the rows with weight, their shares, and which rows these are."""
    require_equal_weights(data.predictions)
    counts = to_host(data.counts)
    weight = np.ones(len(counts)) if data.weight is None else to_host(data.weight)
    rows = np.flatnonzero(weight > 0)
    counts, weight = counts[rows] / weight[rows, None], weight[rows]
    if counts.sum(axis=1).max() < 2 - 1e-9:
        raise UnsupportedError(
            "`AlphaCalibration`",
            "needs several labels per instance: a single label is as likely under any alpha0",
            f"all {len(counts)} instances have one",
            "Give LabelCounts with at least two raters for some instances.",
        )
    base = to_host(base_of(data.predictions))[rows]
    base = base[:, None, :] if base.ndim == 2 else base
    return CountsLikelihood(base, counts), weight / weight.sum(), rows


def base_of(predictions: ClassPredictions) -> Array:
    """Return the parameters at alpha0 = 1; stored zeros are read as in `scores_of`."""
    if isinstance(predictions, Dirichlet):
        return as_float64(predictions.alpha)
    assert isinstance(predictions, (Point, Ensemble))
    probs = as_float64(predictions.probs)
    xp = namespace(probs)
    if predictions.logits is None and bool(xp.all(probs > 0)):
        return probs
    logs = xp.clip(scores_of(predictions).values, _LEAST_LOG, None)
    return xp.where(probs > 0, probs, xp.exp(logs))


def log_probabilities(predictions: ClassPredictions) -> Array:
    """Return the log-probabilities of the mean as features."""
    values = scores_of(predictions).values
    weights = predictions.weights if isinstance(predictions, Ensemble) else None
    values = mean_scores(values, weights) if values.ndim == 3 else values
    if scalar(namespace(values).min(values)) < IMPOSSIBLE / 2:
        raise UnsupportedError(
            "log-probabilities as features",
            "must be finite",
            "some logits are -inf",
            "Give features of your own, or finite logits.",
        )
    return values


def require_equal_weights(predictions: ClassPredictions) -> None:
    """Raise for an Ensemble with weights: members of a Dirichlet have none."""
    if isinstance(predictions, Ensemble) and predictions.weights is not None:
        raise UnsupportedError(
            "`AlphaCalibration`",
            "makes a mixture of Dirichlets with equal weights",
            "got an Ensemble with weights",
            "Use `predictions.mean()`, or an Ensemble of equally weighted draws.",
        )
