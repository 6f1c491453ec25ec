"""Models of a real number: linear, networks, a flow, quantiles, dropout, ensembles.

Every model is fitted to all splits of a data set at once. Inputs and targets are standardised on the training
part of their split, and predictions stay in that unit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from credibly._arrays.namespace import HostArray
from credibly.predictions import Gaussian, Quantiles, RealPredictions
from credibly_studies.descent import Layers
from credibly_studies.perceptrons import (
    Loss,
    Training,
    fit_perceptrons,
    masks,
    networks_of,
    outputs_of,
    repeated,
)

Arrays = dict[str, HostArray]

ENDS = (0.025, 0.975)  # of the 95 % intervals that P21 has
QUANTILE_LEVELS = np.sort([*np.arange(1, 20) / 20, *ENDS])
FLOW_LEVELS = np.sort([*np.arange(1, 100) / 100, *ENDS])
_SMALLEST_LOG_STD, _LARGEST_LOG_STD = -6.0, 3.0


@dataclasses.dataclass(frozen=True)
class Splits:
    """Training and test parts of all splits of a data set.

    Parameters
    ----------
    train_x, test_x : ndarray (g, n, d)
        Standardised inputs.
    train_y, test_y : ndarray (g, n)
        Standardised targets.
    scale : ndarray (g,)
        Standard deviation of each training target, in the unit of the data.
    """

    train_x: HostArray
    train_y: HostArray
    test_x: HostArray
    test_y: HostArray
    scale: HostArray


@dataclasses.dataclass(frozen=True)
class Model:
    """How a model is fitted, and how its arrays are read.

    Parameters
    ----------
    fit : callable
        ``fit(splits, members, training, generator)`` gives arrays (g, n, ...) by name.
    read : callable
        Arrays of one split to predictions.
    """

    fit: Callable[[Splits, int, Training, np.random.Generator], Arrays]
    read: Callable[[Arrays], RealPredictions]


def standardised(x: HostArray, y: HostArray, train: HostArray, test: HostArray) -> Splits:
    """Return splits in units of their training parts; inputs that never change there are left at 0.

    Parameters
    ----------
    x : ndarray (n, d)
        Inputs.
    y : ndarray (n,)
        Targets.
    train, test : ndarray (g, ...) of int
        Rows of both parts of every split.

    Returns
    -------
    Splits
        All splits.
    """
    centre, spread = x[train].mean(axis=1, keepdims=True), x[train].std(axis=1, keepdims=True)
    spread = np.where(spread > 1e-9, spread, 1.0)
    level, scale = y[train].mean(axis=1, keepdims=True), y[train].std(axis=1, keepdims=True)
    return Splits(
        (x[train] - centre) / spread,
        (y[train] - level) / scale,
        (x[test] - centre) / spread,
        (y[test] - level) / scale,
        scale[:, 0],
    )


def gaussian_loss(outputs: Any, targets: Any) -> Any:
    """Return -log N(y; mean, std) without its constant; outputs are mean and log std."""
    log_std = outputs[..., 1].clamp(_SMALLEST_LOG_STD, _LARGEST_LOG_STD)
    return log_std + 0.5 * ((targets - outputs[..., 0]) * (-log_std).exp()) ** 2


def mean_and_std(outputs: HostArray) -> tuple[HostArray, HostArray]:
    """Return what the outputs of a network under `gaussian_loss` say."""
    return outputs[..., 0], np.exp(np.clip(outputs[..., 1], _SMALLEST_LOG_STD, _LARGEST_LOG_STD))


def flow_loss(outputs: Any, targets: Any) -> Any:
    """Return -log density of y = a + b sinh((asinh z + s) / t), z ~ N(0, 1), without its constant.

    Jones and Pewsey 2009: skewness s and tail weight t in closed form. Outputs are a, log b, and what tanh
    turns into s between -1 and 1 and log t between -1/2 and 1/2: z grows like (y - a)^t, and large t
    would make training diverge.
    """
    log_scale = outputs[..., 1].clamp(_SMALLEST_LOG_STD, _LARGEST_LOG_STD)
    skew, log_tail = outputs[..., 2].tanh(), 0.5 * outputs[..., 3].tanh()
    u = (targets - outputs[..., 0]) * (-log_scale).exp()
    # z = sinh v; dz/dy = t cosh(v) / (b sqrt(1 + u^2))
    v = (log_tail.exp() * u.asinh() - skew).clamp(-15.0, 15.0)
    return 0.5 * v.sinh() ** 2 - log_tail - v.cosh().log() + 0.5 * (1.0 + u**2).log() + log_scale


def flow_quantiles(outputs: HostArray, levels: HostArray) -> HostArray:
    """Return quantiles of the flow, (..., levels)."""
    place, log_scale, skew, log_tail = (outputs[..., [at]] for at in range(4))
    scale = np.exp(np.clip(log_scale, _SMALLEST_LOG_STD, _LARGEST_LOG_STD))
    steepness = np.exp(-0.5 * np.tanh(log_tail))
    return np.asarray(place + scale * np.sinh((np.arcsinh(ndtri(levels)) + np.tanh(skew)) * steepness))


def quantile_loss(outputs: Any, targets: Any) -> Any:
    """Return the pinball loss over all levels; outputs are the lowest quantile and logarithms of steps."""
    import torch

    levels = torch.tensor(QUANTILE_LEVELS, dtype=outputs.dtype)
    steps = torch.nn.functional.softplus(outputs[..., 1:] - 2.0)
    below = targets[..., None] - torch.cat([outputs[..., :1], steps], dim=-1).cumsum(dim=-1)
    return torch.maximum(levels * below, (levels - 1.0) * below).sum(dim=-1)


def ordered_quantiles(outputs: HostArray) -> HostArray:
    """Return what the outputs of a network under `quantile_loss` say, (..., levels)."""
    steps = np.logaddexp(0.0, outputs[..., 1:] - 2.0)
    return np.concatenate([outputs[..., :1], steps], axis=-1).cumsum(axis=-1)


def _networks(
    splits: Splits, members: int, outputs: int, loss: Loss, training: Training, generator: np.random.Generator
) -> Layers:
    return fit_perceptrons(
        splits.train_x,
        splits.train_y,
        members=members,
        outputs=outputs,
        loss=loss,
        training=training,
        generator=generator,
    )


def _ensemble(splits: Splits, members: int, training: Training, generator: np.random.Generator) -> Arrays:
    layers = _networks(splits, members, 2, gaussian_loss, training, generator)
    found = [outputs_of(networks_of(layers, at, members), x) for at, x in enumerate(splits.test_x)]
    mean, std = mean_and_std(np.stack(found))
    return {"mean": mean.swapaxes(1, 2), "std": std.swapaxes(1, 2)}


def _single(splits: Splits, members: int, training: Training, generator: np.random.Generator) -> Arrays:
    return _ensemble(splits, 1, training, generator)


def _dropout(splits: Splits, members: int, training: Training, generator: np.random.Generator) -> Arrays:
    """Draw masks once for all instances: a member is a network, and its predictions are one function."""
    rate = 0.1
    layers = _networks(splits, 1, 2, gaussian_loss, dataclasses.replace(training, dropout=rate), generator)
    found = []
    for at, x in enumerate(splits.test_x):
        copies = repeated(networks_of(layers, at, 1), members)
        found.append(outputs_of(copies, x, masks(copies, rate, generator)))
    mean, std = mean_and_std(np.stack(found))
    return {"mean": mean.swapaxes(1, 2), "std": std.swapaxes(1, 2)}


def _flow(splits: Splits, members: int, training: Training, generator: np.random.Generator) -> Arrays:
    layers = _networks(splits, 1, 4, flow_loss, training, generator)
    return {"quantiles": flow_quantiles(outputs_of(layers, splits.test_x), FLOW_LEVELS)}


def _quantile(splits: Splits, members: int, training: Training, generator: np.random.Generator) -> Arrays:
    layers = _networks(splits, 1, len(QUANTILE_LEVELS), quantile_loss, training, generator)
    return {"quantiles": ordered_quantiles(outputs_of(layers, splits.test_x))}


def _ridge(splits: Splits, members: int, training: Training, generator: np.random.Generator) -> Arrays:
    """Fit Bayesian ridge regression, and draw coefficients from its posterior."""
    from sklearn.linear_model import BayesianRidge

    means, stds = [], []
    for x, y, test in zip(splits.train_x, splits.train_y, splits.test_x, strict=True):
        model = BayesianRidge().fit(x, y)
        # a covariance with collinear inputs has eigenvalues a little below 0
        values, vectors = np.linalg.eigh(model.sigma_)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        weights = model.coef_ + generator.normal(size=(members, len(values))) @ root.T
        means.append(test @ weights.T + model.intercept_)
        stds.append(np.full_like(means[-1], 1.0 / math.sqrt(model.alpha_)))
    return {"mean": np.stack(means), "std": np.stack(stds)}


def _as_gaussian(arrays: Arrays) -> RealPredictions:
    return Gaussian(arrays["mean"].astype(np.float64), arrays["std"].astype(np.float64))


def _as_quantiles(levels: HostArray) -> Callable[[Arrays], RealPredictions]:
    return lambda arrays: Quantiles(arrays["quantiles"].astype(np.float64), levels)


MODELS: dict[str, Model] = {
    "Bayesian ridge": Model(_ridge, _as_gaussian),
    "conditional Gaussian": Model(_single, _as_gaussian),
    "conditional flow": Model(_flow, _as_quantiles(FLOW_LEVELS)),
    "quantile regression": Model(_quantile, _as_quantiles(QUANTILE_LEVELS)),
    "MC dropout": Model(_dropout, _as_gaussian),
    "deep ensemble": Model(_ensemble, _as_gaussian),
}
"""The kinds of models that P21's Tables 2 and 3 compare."""
