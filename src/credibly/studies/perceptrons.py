"""Many small networks trained at once, as one tensor program: all splits of a data set and all members.

Training runs in torch on one thread; what is kept are weights, and predictions are matrix products in NumPy.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from credibly.io.extras import pip, require_module

HostArray = np.ndarray[Any, Any]
Layers = tuple[tuple[HostArray, HostArray], ...]
"""Weights (m, wide, narrow) and offsets (m, 1, narrow) of m networks, from the input to the output."""

Loss = Callable[[Any, Any], Any]
"""Outputs (m, b, o) and targets (m, b), tensors -> loss of each case (m, b)."""


@dataclasses.dataclass(frozen=True)
class Training:
    """How networks are trained.

    Parameters
    ----------
    hidden : tuple of int
        Units of the hidden layers.
    steps, batch : int
        Steps of Adam, and cases that each network sees in one.
    learning_rate : float
        Of Adam, at the first step; it falls to 0 along a cosine.
    dropout : float
        Share of hidden units left out.
    """

    hidden: tuple[int, ...] = (50,)
    steps: int = 1000
    batch: int = 100
    learning_rate: float = 0.01
    dropout: float = 0.0


def fit_perceptrons(
    inputs: HostArray,
    targets: HostArray,
    *,
    members: int,
    outputs: int,
    loss: Loss,
    training: Training,
    generator: np.random.Generator,
) -> Layers:
    """Train networks of one shape, several on each of several data sets of one size.

    Parameters
    ----------
    inputs : ndarray (g, n, d)
        Inputs of g data sets.
    targets : ndarray (g, n)
        What is predicted.
    members : int
        Networks per data set, from different first weights, on different draws of the cases.
    outputs : int
        Units of the last layer.
    loss : callable
        Outputs (m, b, o) and targets (m, b) to the loss of each case.
    training : Training
        How.
    generator : numpy.random.Generator
        First weights, draws of cases and dropout.

    Returns
    -------
    Layers
        Of g * members networks, those of the first data set first.
    """
    torch = require_module("torch", "training networks", pip("studies"))
    groups, n, d = inputs.shape
    m = groups * members
    layers = _first_weights(torch, (d, *training.hidden, outputs), m, generator)
    optimiser = torch.optim.Adam([one for layer in layers for one in layer], lr=training.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, training.steps)
    x = torch.tensor(inputs, dtype=torch.float32)
    y = torch.tensor(targets, dtype=torch.int64 if targets.dtype.kind == "i" else torch.float32)
    group = torch.tensor(np.repeat(np.arange(groups), members))[:, None]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same sums in the same order, whatever the machine
    try:
        for _ in range(training.steps):
            rows = torch.tensor(generator.integers(n, size=(m, training.batch)))
            values = x[group, rows]
            for place, (weight, offset) in enumerate(layers):
                if place:
                    values = torch.relu(values)
                    if training.dropout:
                        kept = generator.random(tuple(values.shape), dtype=np.float32) >= training.dropout
                        values = values * torch.tensor(kept) / (1.0 - training.dropout)
                values = torch.baddbmm(offset, values, weight)
            optimiser.zero_grad()
            # a sum over networks: each has gradients of its own
            loss(values, y[group, rows]).mean(dim=1).sum().backward()
            optimiser.step()
            schedule.step()
    finally:
        torch.set_num_threads(threads)
    return tuple((weight.detach().numpy(), offset.detach().numpy()) for weight, offset in layers)


def outputs_of(layers: Layers, inputs: HostArray, kept: tuple[HostArray, ...] | None = None) -> HostArray:
    """Return the outputs of networks.

    Parameters
    ----------
    layers : Layers
        Of m networks.
    inputs : ndarray (n, d) or (m, n, d)
        The same for all, or of each its own.
    kept : tuple of ndarray (m, 1 or n, units), optional
        What each hidden unit is multiplied by: dropout's masks, see :func:`masks`.

    Returns
    -------
    ndarray (m, n, o)
        In double precision.
    """
    values = np.asarray(inputs, dtype=np.float64)
    for place, (weight, offset) in enumerate(layers):
        if place:
            values = np.maximum(values, 0.0)
            if kept is not None:
                values = values * kept[place - 1]
        values = values @ weight.astype(np.float64) + offset
    return values


def networks_of(layers: Layers, group: int, members: int) -> Layers:
    """Return the networks of one data set.

    Parameters
    ----------
    layers : Layers
        Of all data sets.
    group, members : int
        Which data set, and how many networks each has.

    Returns
    -------
    Layers
        Of `members` networks.
    """
    own = slice(group * members, (group + 1) * members)
    return tuple((weight[own], offset[own]) for weight, offset in layers)


def repeated(layers: Layers, times: int) -> Layers:
    """Return each network several times, for as many masks.

    Parameters
    ----------
    layers : Layers
        Of m networks.
    times : int
        How often.

    Returns
    -------
    Layers
        Of m * times networks.
    """
    return tuple(
        (np.repeat(weight, times, axis=0), np.repeat(offset, times, axis=0)) for weight, offset in layers
    )


def masks(
    layers: Layers, dropout: float, generator: np.random.Generator, rows: int = 1
) -> tuple[HostArray, ...]:
    """Return dropout's masks of all hidden layers.

    Parameters
    ----------
    layers : Layers
        Of m networks.
    dropout : float
        Share of hidden units left out.
    generator : numpy.random.Generator
        Which.
    rows : int
        1 for one mask for all instances, which makes a network that drew a function; or one per instance.

    Returns
    -------
    tuple of ndarray (m, rows, units)
        0, or 1 / (1 - dropout).
    """
    shapes = [(weight.shape[0], rows, weight.shape[2]) for weight, _ in layers[:-1]]
    return tuple((generator.random(shape) >= dropout) / (1.0 - dropout) for shape in shapes)


def _first_weights(torch: Any, sizes: tuple[int, ...], m: int, generator: np.random.Generator) -> list[Any]:
    layers = []
    for wide, narrow in itertools.pairwise(sizes):
        weight = generator.normal(scale=np.sqrt(2.0 / wide), size=(m, wide, narrow))
        first = torch.tensor(weight, dtype=torch.float32, requires_grad=True)
        layers.append((first, torch.zeros(m, 1, narrow, requires_grad=True)))
    # outputs start near 0: a first spread of e^3 would take long to unlearn
    layers[-1][0].data.mul_(0.1)
    return layers
