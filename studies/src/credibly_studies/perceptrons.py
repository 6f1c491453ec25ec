"""Many small networks trained at once, as one tensor program: all splits of a data set and all members.

Training runs in torch on one thread; what is kept are weights, and predictions are matrix products in NumPy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly_studies.descent import Activation, Layers, descend, first_weights

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
    decay : float
        Weight decay of Adam.
    activation : {"relu", "elu"}
        Of hidden units.
    """

    hidden: tuple[int, ...] = (50,)
    steps: int = 1000
    batch: int = 100
    learning_rate: float = 0.01
    dropout: float = 0.0
    decay: float = 0.0
    activation: Activation = "relu"


def fit_perceptrons(
    inputs: HostArray,
    targets: HostArray,
    *,
    members: int,
    outputs: int,
    loss: Loss,
    training: Training,
    generator: np.random.Generator,
    levels: bool = False,
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
    levels : bool
        Draw a level for every case of every step: one more input (see :func:`with_levels`), and beside its
        target, which the loss gets as (m, b, 2).

    Returns
    -------
    Layers
        Of g * members networks, those of the first data set first.
    """
    import torch

    groups, n, d = inputs.shape
    m = groups * members
    # outputs start near 0: a first spread of e^3 would take long to unlearn
    layers = first_weights(
        (d + levels, *training.hidden, outputs), m, generator, precision="float32", last=0.1
    )
    x = torch.tensor(inputs, dtype=torch.float32)
    y = torch.tensor(targets, dtype=torch.int64 if targets.dtype.kind == "i" else torch.float32)
    group = torch.tensor(np.repeat(np.arange(groups), members))[:, None]

    def batches() -> Iterator[tuple[Any, Any]]:
        for _ in range(training.steps):
            rows = torch.tensor(generator.integers(n, size=(m, training.batch)))
            inputs_now, targets_now = x[group, rows], y[group, rows]
            if levels:
                drawn = generator.random((m, training.batch), dtype=np.float32)
                inputs_now = torch.cat([inputs_now, torch.tensor(_standard(drawn))[..., None]], dim=-1)
                targets_now = torch.stack([targets_now, torch.tensor(drawn)], dim=-1)
            yield inputs_now, targets_now

    return descend(
        layers,
        batches(),
        # a sum over networks: each has gradients of its own
        lambda values, wanted: loss(values, wanted).mean(dim=1).sum(),
        learning_rate=training.learning_rate,
        falls_over=training.steps,
        decay=training.decay,
        dropout=training.dropout,
        generator=generator,
        activation=training.activation,
    )


def with_levels(inputs: HostArray, levels: HostArray) -> HostArray:
    """Return inputs with levels as one more of them, in units of a uniform level's standard deviation.

    Parameters
    ----------
    inputs : ndarray (..., n, d)
        Inputs.
    levels : ndarray (..., n)
        Between 0 and 1.

    Returns
    -------
    ndarray (..., n, d + 1)
        What a network that was trained with ``levels=True`` takes.
    """
    return np.concatenate([inputs, _standard(levels)[..., None]], axis=-1)


def _standard(levels: HostArray) -> HostArray:
    return np.asarray((levels - 0.5) * np.sqrt(12.0), dtype=levels.dtype)


def outputs_of(
    layers: Layers,
    inputs: HostArray,
    kept: tuple[HostArray, ...] | None = None,
    activation: Activation = "relu",
) -> HostArray:
    """Return the outputs of networks.

    Parameters
    ----------
    layers : Layers
        Of m networks.
    inputs : ndarray (n, d) or (m, n, d)
        The same for all, or of each its own.
    kept : tuple of ndarray (m, 1 or n, units), optional
        What each hidden unit is multiplied by: dropout's masks, see :func:`masks`.
    activation : {"relu", "elu"}
        Of hidden units, as trained.

    Returns
    -------
    ndarray (m, n, o)
        In double precision.
    """
    values = np.asarray(inputs, dtype=np.float64)
    for place, (weight, offset) in enumerate(layers):
        if place:
            values = np.maximum(values, 0.0) + (
                np.expm1(np.minimum(values, 0.0)) if activation == "elu" else 0.0
            )
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
    members_of_group = slice(group * members, (group + 1) * members)
    return tuple((weight[members_of_group], offset[members_of_group]) for weight, offset in layers)


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
