"""Models of a real number: a line, a Gaussian network, a flow, simultaneous quantiles, dropout.   P21 App. A.

Every model is fitted to all splits of a data set at once, with every setting of its grid; the setting with
the least loss of the validation parts, a mean over splits, is kept. Inputs and targets are standardised on
the training part of their split, and predictions stay in that unit.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from credibly._arrays.namespace import HostArray
from credibly.predictions import Gaussian, Quantiles, RealPredictions, Samples
from credibly_studies.descent import Layers
from credibly_studies.perceptrons import Loss, Training, fit_perceptrons, masks, outputs_of, with_levels

Arrays = dict[str, HostArray]

ENDS = (0.025, 0.975)  # of the 95 % intervals that P21 has
FLOW_LEVELS = np.sort([*np.arange(1, 100) / 100, *ENDS])
_SMALLEST_LOG_STD, _LARGEST_LOG_STD = -6.0, 3.0


@dataclasses.dataclass(frozen=True)
class Splits:
    """Training, validation and test parts of all splits of a data set.

    Parameters
    ----------
    train_x, valid_x, test_x : ndarray (g, n, d)
        Standardised inputs.
    train_y, valid_y, test_y : ndarray (g, n)
        Standardised targets.
    """

    train_x: HostArray
    train_y: HostArray
    valid_x: HostArray
    valid_y: HostArray
    test_x: HostArray
    test_y: HostArray


@dataclasses.dataclass(frozen=True)
class Network:
    """A model that is a network: what it is trained on, and what it says.

    Parameters
    ----------
    outputs : int
        Units of its last layer.
    loss : callable
        Outputs and targets, tensors, to the loss of each case.
    says : callable
        ``says(layers, inputs, draws, dropout, generator)`` gives arrays (g, n, ...) by name.
    levels : bool
        Whether a level is one more input.
    dropouts : bool
        Whether units are left out.
    """

    outputs: int
    loss: Loss
    says: Callable[[Layers, HostArray, int, float, np.random.Generator], Arrays]
    levels: bool = False
    dropouts: bool = False


@dataclasses.dataclass(frozen=True)
class Grid:
    """Settings of the training to choose from.

    Parameters
    ----------
    rates : tuple of float
        Learning rates of Adam.
    decays : tuple of float
        Weight decays, of models without dropout.
    dropouts : tuple of float
        Rates of dropout, of models that have it.
    """

    rates: tuple[float, ...]
    decays: tuple[float, ...]
    dropouts: tuple[float, ...]


def standardised(x: HostArray, y: HostArray, train: HostArray, test: HostArray) -> Splits:
    """Return splits in units of their training parts; inputs that never change there are left at 0.

    A fifth of what is not tested is kept for validation: of 90 %, as P21 has it, 72 % train and 18 % choose.

    Parameters
    ----------
    x : ndarray (n, d)
        Inputs.
    y : ndarray (n,)
        Targets.
    train, test : ndarray (g, ...) of int
        Rows of both parts of every split, in a random order.

    Returns
    -------
    Splits
        All splits.
    """
    train, valid = np.split(train, [round(0.8 * train.shape[1])], axis=1)
    centre, spread = x[train].mean(axis=1, keepdims=True), x[train].std(axis=1, keepdims=True)
    spread = np.where(spread > 1e-9, spread, 1.0)
    level, scale = y[train].mean(axis=1, keepdims=True), y[train].std(axis=1, keepdims=True)
    parts = [((x[rows] - centre) / spread, (y[rows] - level) / scale) for rows in (train, valid, test)]
    return Splits(*itertools.chain.from_iterable(parts))


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


def pinball_loss(outputs: Any, targets: Any) -> Any:
    """Return the pinball loss of simultaneous quantile regression; targets are (y, level)."""
    below = targets[..., 0] - outputs[..., 0]
    return below * targets[..., 1] - below.clamp(max=0.0)


def squared_loss(outputs: Any, targets: Any) -> Any:
    """Return (y - f)^2."""
    return (targets - outputs[..., 0]) ** 2


def tuned(
    network: Network, splits: Splits, training: Training, grid: Grid, generator: np.random.Generator
) -> tuple[Layers, Training]:
    """Train one network per split with every setting of a grid; keep the setting that validates best.

    Parameters
    ----------
    network : Network
        Which.
    splits : Splits
        Of one data set.
    training : Training
        What is the same for all settings.
    grid : Grid
        Settings.
    generator : numpy.random.Generator
        Random numbers.

    Returns
    -------
    Layers, Training
        Networks of all splits, and the setting.
    """
    decays, dropouts = ((0.0,), grid.dropouts) if network.dropouts else (grid.decays, (0.0,))
    fits: list[tuple[float, int, Layers, Training]] = []
    for rate, decay, dropout in itertools.product(grid.rates, decays, dropouts):
        settings = dataclasses.replace(training, learning_rate=rate, decay=decay, dropout=dropout)
        layers = fit_perceptrons(
            splits.train_x,
            splits.train_y,
            members=1,
            outputs=network.outputs,
            loss=network.loss,
            training=settings,
            generator=generator,
            levels=network.levels,
        )
        fits.append((_validation_loss(network, layers, splits), len(fits), layers, settings))
    _, _, layers, settings = min(fits, key=lambda fit: fit[:2])
    return layers, settings


def _validation_loss(network: Network, layers: Layers, splits: Splits) -> float:
    """Return the mean loss of all validation parts; infinite where training diverged."""
    import torch

    inputs, targets = splits.valid_x, splits.valid_y
    if network.levels:
        levels = np.random.default_rng(0).random((*targets.shape,))  # the same for all settings
        inputs, targets = with_levels(inputs, levels), np.stack([targets, levels], axis=-1)
    loss = float(network.loss(torch.tensor(outputs_of(layers, inputs)), torch.tensor(targets)).mean())
    return loss if np.isfinite(loss) else np.inf


def ridge(splits: Splits) -> Arrays:
    """Return what Bayesian ridge regression says: its weights are averaged over, as printed."""
    from sklearn.linear_model import BayesianRidge

    parts = [
        BayesianRidge().fit(x, y).predict(test, return_std=True)
        for x, y, test in zip(splits.train_x, splits.train_y, splits.test_x, strict=True)
    ]
    return {"mean": np.stack([mean for mean, _ in parts]), "std": np.stack([std for _, std in parts])}


def _normal(
    layers: Layers, inputs: HostArray, draws: int, dropout: float, generator: np.random.Generator
) -> Arrays:
    mean, std = mean_and_std(outputs_of(layers, inputs))
    return {"mean": mean, "std": std}


def _flow(
    layers: Layers, inputs: HostArray, draws: int, dropout: float, generator: np.random.Generator
) -> Arrays:
    return {"quantiles": flow_quantiles(outputs_of(layers, inputs), FLOW_LEVELS)}


def _simultaneous(
    layers: Layers, inputs: HostArray, draws: int, dropout: float, generator: np.random.Generator
) -> Arrays:
    """Draw from every instance's distribution: the network at uniform levels."""
    outputs = [
        outputs_of(layers, with_levels(inputs, generator.random(inputs.shape[:2])))[..., 0]
        for _ in range(draws)
    ]
    return {"draws": np.stack(outputs, axis=-1).astype(np.float32)}


def _passes(
    layers: Layers, inputs: HostArray, draws: int, dropout: float, generator: np.random.Generator
) -> Arrays:
    """Draw masks once for all instances: a member is a network, and its predictions are one function."""
    outputs = [outputs_of(layers, inputs, masks(layers, dropout, generator))[..., 0] for _ in range(draws)]
    return {"passes": np.stack(outputs, axis=-1).astype(np.float32)}


NETWORKS: dict[str, Network] = {
    "conditional Gaussian": Network(2, gaussian_loss, _normal),
    "conditional flow": Network(4, flow_loss, _flow),
    "SQR": Network(1, pinball_loss, _simultaneous, levels=True),
    # the printed intervals, which hold 36 to 69 % of labels on four sets, can have no noise in them
    "MC dropout": Network(1, squared_loss, _passes, dropouts=True),
}

MODELS = ("Bayesian ridge", *NETWORKS)
"""The kinds of models that P21's Tables 2 and 3 compare."""


def predictions(arrays: Arrays) -> RealPredictions:
    """Return what the arrays of one split of a model are."""
    doubles = {name: values.astype(np.float64) for name, values in arrays.items()}
    if "mean" in doubles:
        return Gaussian(doubles["mean"], doubles["std"])
    if "quantiles" in doubles:
        return Quantiles(doubles["quantiles"], FLOW_LEVELS)
    values = doubles["draws"] if "draws" in doubles else doubles["passes"][..., None]
    return Samples(values, member_axis=1)
