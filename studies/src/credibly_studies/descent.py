"""Training of many networks of one shape at once, as one tensor program in torch on one thread."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from credibly._arrays.namespace import HostArray

Activation = Literal["relu", "elu"]
"""What hidden units do to their sums."""

Layers = tuple[tuple[HostArray, HostArray], ...]
"""Weights (m, wide, narrow) and offsets (m, 1, narrow) of m networks, from the input to the output."""


def first_weights(
    sizes: tuple[int, ...],
    m: int,
    generator: np.random.Generator,
    *,
    precision: Literal["float32", "float64"],
    last: float = 1.0,
) -> list[Any]:
    """Return random weights, and offsets of 0, of m networks.

    Parameters
    ----------
    sizes : tuple of int
        Units of all layers, from the input to the output.
    m : int
        Number of networks.
    generator : numpy.random.Generator
        Where weights come from.
    precision : {"float32", "float64"}
        Of the tensors.
    last : float
        What the weights of the last layer are multiplied by.

    Returns
    -------
    list of (Tensor (m, wide, narrow), Tensor (m, 1, narrow))
        That gradients can be asked of.
    """
    import torch

    kind = getattr(torch, precision)
    layers = []
    for wide, narrow in itertools.pairwise(sizes):
        weight = generator.normal(scale=np.sqrt(2.0 / wide), size=(m, wide, narrow))
        first = torch.tensor(weight, dtype=kind, requires_grad=True)
        layers.append((first, torch.zeros(m, 1, narrow, dtype=kind, requires_grad=True)))
    layers[-1][0].data.mul_(last)
    return layers


def descend(
    layers: list[Any],
    batches: Iterator[tuple[Any, Any]],
    loss: Callable[[Any, Any], Any],
    *,
    learning_rate: float,
    falls_over: int | None = None,
    decay: float = 0.0,
    dropout: float,
    generator: np.random.Generator,
    activation: Activation = "relu",
) -> Layers:
    """Follow Adam, one step per batch, on one thread.

    Parameters
    ----------
    layers : list
        From :func:`first_weights`; they change.
    batches : iterator of (Tensor (m, b, d), Tensor (m, b))
        Inputs and targets of every step, one batch per network.
    loss : callable
        Outputs (m, b, o) and targets (m, b) to one number.
    learning_rate : float
        Of Adam.
    falls_over : int, optional
        Steps in which the learning rate falls to 0 along a cosine; it stays where this is not given.
    decay : float
        Weight decay of Adam.
    dropout : float
        Share of hidden units left out.
    generator : numpy.random.Generator
        Which.
    activation : {"relu", "elu"}
        Of hidden units.

    Returns
    -------
    Layers
        As they ended.
    """
    import torch

    tensors = [tensor for layer in layers for tensor in layer]
    optimiser = torch.optim.Adam(tensors, lr=learning_rate, weight_decay=decay)
    schedule = (
        None if falls_over is None else torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, falls_over)
    )
    bent = {"relu": torch.relu, "elu": torch.nn.functional.elu}[activation]
    precision = layers[0][0].detach().numpy().dtype
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same sums in the same order, whatever the machine
    try:
        for inputs, targets in batches:
            values = inputs
            for place, (weight, offset) in enumerate(layers):
                if place:
                    values = bent(values)
                    if dropout:
                        kept = generator.random(tuple(values.shape), dtype=precision) >= dropout
                        values = values * torch.tensor(kept) / (1.0 - dropout)
                values = torch.baddbmm(offset, values, weight)
            optimiser.zero_grad()
            loss(values, targets).backward()
            optimiser.step()
            if schedule is not None:
                schedule.step()
    finally:
        torch.set_num_threads(threads)
    return tuple((weight.detach().numpy(), offset.detach().numpy()) for weight, offset in layers)
