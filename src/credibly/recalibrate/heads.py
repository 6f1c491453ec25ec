"""Functions of features that give one number per instance: a constant, a linear map or a small network.

A head is a list of layer sizes and one vector of parameters: (0, 1) is a constant, (d, 1) linear, and
(d, 16, 16, 1) a network with two hidden layers of tanh units. Networks are trained with torch and applied
without it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from credibly._arrays.errors import MissingExtraError, require
from credibly._arrays.namespace import Array, HostArray, like, namespace, to_host
from credibly.learners.basis import check_features
from credibly.predictions import Predictions
from credibly.recalibrate.minimum import Ended

Part = tuple[HostArray, Callable[[HostArray], tuple[float, HostArray]]]
"""Features of instances, and what turns the outputs of a head into a loss and its derivative in each."""

_EPOCHS = 2000
_PATIENCE = 100
_RATE = 0.01


def n_parameters(sizes: tuple[int, ...]) -> int:
    """Return how many parameters a head of these layers has."""
    return sum((first + 1) * second for first, second in pairwise(sizes))


def layers(parameters: Array, sizes: tuple[int, ...]) -> list[tuple[Array, Array]]:
    """Return weights and biases of every layer."""
    xp = namespace(parameters)
    pairs, at = [], 0
    for first, second in pairwise(sizes):
        weights = xp.reshape(parameters[at : at + first * second], (first, second))
        at += first * second
        pairs.append((weights, parameters[at : at + second]))
        at += second
    return pairs


def forward(features: Array, parameters: Array, sizes: tuple[int, ...]) -> Array:
    """Return the output (n,) of features (n, d), or (n, m) of (n, m, d)."""
    xp = namespace(features)
    stack = layers(parameters, sizes)
    values = features
    for depth, (weights, biases) in enumerate(stack):
        inner = values @ weights if weights.shape[0] else xp.zeros_like(features[..., :0] @ weights)
        values = inner + biases
        if depth < len(stack) - 1:
            values = xp.tanh(values)
    return values[..., 0]


def features_of_width(features: Any, predictions: Predictions, width: int | None = None) -> Array:
    """Return features (n, d) in the library of the predictions; `width` is that of the fit."""
    array = check_features(features, predictions)
    _require_width(array, width)
    return array


def features_by_pass(features: Any, predictions: Predictions, width: int | None = None) -> Array:
    """Return features (n, d), or (n, m, d) if every member has its own, as `features_of_width` does."""
    shape = tuple(getattr(features, "shape", ()))
    if len(shape) != 3:
        return features_of_width(features, predictions, width)
    n, m, d = len(predictions), predictions.n_members, shape[2]
    rule = f"must be (n, d), or (n, m, d) with a row per member: ({n}, {m}, d)"
    remedy = "Give the features of each pass in the order of the members."
    require(shape[:2] == (n, m), rule, remedy, features=features)
    array: Array = check_features(features.reshape(n, m * d), predictions).reshape(n, m, d)
    _require_width(array, width)
    return array


def _require_width(array: Array, width: int | None) -> None:
    same = width is None or array.shape[-1] == width
    remedy = "Give the same features in the same order."
    require(same, f"must have the {width} columns of the fit", remedy, features=array)


def train(fitted: Part, held_out: Part, sizes: tuple[int, ...], rng: int) -> tuple[HostArray, Ended]:
    """Train with Adam, keep the parameters that were best on the part held out, and say how it ended."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(
            'head="neural"', "needs torch", str(error), "Install it: `pip install credibly[torch]`."
        ) from error
    start = _random_start(sizes, rng)
    parameters = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([parameters], lr=_RATE)
    inputs = torch.tensor(fitted[0], dtype=torch.float64)
    best, best_loss, best_step, gradient, step = start, np.inf, 0, np.inf, 0
    while step < _EPOCHS and step - best_step <= _PATIENCE:
        loss, _ = held_out[1](forward(held_out[0], parameters.detach().numpy(), sizes))
        if loss < best_loss - 1e-7:
            best, best_loss, best_step = parameters.detach().numpy().copy(), loss, step
        outputs = forward(inputs, parameters, sizes)
        _, slope = fitted[1](outputs.detach().numpy())
        optimiser.zero_grad()
        outputs.backward(torch.tensor(slope))
        assert parameters.grad is not None
        gradient = float(parameters.grad.abs().max())
        optimiser.step()
        step += 1
    return best, Ended(step < _EPOCHS, step, gradient, "Adam, stopped by a held-out fifth")


def _random_start(sizes: tuple[int, ...], rng: int) -> HostArray:
    """Return normal weights of variance 1 / inputs and no biases."""
    generator = np.random.default_rng(rng)
    parts = []
    for first, second in pairwise(sizes):
        parts += [generator.normal(size=first * second) / np.sqrt(max(first, 1)), np.zeros(second)]
    return np.concatenate(parts)


def standardised(features: Array, centre: HostArray, scale: HostArray) -> Array:
    """Return features with the mean and spread of the fit taken out."""
    return (features - like(centre, features)) / like(scale, features)


def centre_and_scale(features: Array) -> tuple[HostArray, HostArray]:
    """Return mean and standard deviation of every column; constant columns have scale 1."""
    host = to_host(features)
    over = tuple(range(host.ndim - 1))
    spread = host.std(axis=over)
    return host.mean(axis=over), np.where(spread > 0, spread, 1.0)
