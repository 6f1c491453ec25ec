"""Weights from a small neural network, as in J25; needs the torch extra.

    loss = proper score + gamma * calibration error        (J25 eq. 16)

Brier goes with the L2 error of `kde_ce`, the log loss with `kl_ce`. Full batches, Adam, early stopping on a
part of the instances that are learned on.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, MissingExtraError, one_of
from credibly._arrays.namespace import Array, like, to_host
from credibly._arrays.philox import Seed, Stream
from credibly._arrays.progress import Progress
from credibly.credal.sets import require_positive_number
from credibly.learners.basis import Basis, FittedBasis
from credibly.learners.linear import Learner, Part
from credibly.learners.mixing import mixed
from credibly.learners.points import Points
from credibly.predictions import Classes, Point
from credibly.statistics import Statistic, brier, kde_ce, kl_ce, log_loss

_LEAST_TO_STOP_EARLY = 10


@dataclasses.dataclass(frozen=True)
class NeuralLearner(Learner):
    """A network from features to weights on the members, trained with a proper score and a calibration error.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the hidden layers; J25 uses (16, 16, 16), and (32, 32, 32) on embeddings.
    score : {"brier", "log_loss"}
        The proper score; the calibration error is `kde_ce` or `kl_ce` with it.
    gamma : float
        Weight of the calibration error.
    learning_rate : float
        Of Adam.
    max_epochs : int
        Largest number of steps over all instances.
    patience : int
        Steps without a better validation score after which training stops.
    validation : float
        Share of the instances that are learned on which only decide when to stop.
    device : str, optional
        Where to train: "cpu" or "cuda"; where the predictions are, if not given.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.learners.NeuralLearner(hidden=(32, 32, 32)).gamma
    0.01
    """

    hidden: tuple[int, ...] = (16, 16, 16)
    score: Literal["brier", "log_loss"] = "brier"
    gamma: float = 0.01
    learning_rate: float = 0.01
    max_epochs: int = 300
    patience: int = 30
    validation: float = 0.2
    device: str | None = None
    name: ClassVar[str] = "neural"

    def __post_init__(self) -> None:
        one_of("`score`", self.score, ("brier", "log_loss"))
        for width in self.hidden:
            require_integer(width, "hidden", 1)
        require_integer(self.max_epochs, "max_epochs", 1)
        require_integer(self.patience, "patience", 1)
        require_positive_number(self.learning_rate, "learning_rate", "Use 0.01.")
        if not 0 <= self.gamma < math.inf:
            raise InputError("`gamma`", "must not be negative", f"got {self.gamma!r}", "Use 0.01.")
        if not 0 <= self.validation < 1:
            raise InputError(
                "`validation`", "must be a share below 1", f"got {self.validation!r}", "Use 0.2."
            )


@dataclasses.dataclass(frozen=True)
class FittedNetwork:
    """A trained network: weights for any instances."""

    learner: NeuralLearner
    basis: FittedBasis
    network: Any
    penalty: None = None

    def weights(self, points: Points, features: Array) -> Array:
        """Return weights on the points, (n, a), in the library of the points."""
        torch = _torch()
        with torch.no_grad():
            found = self.network(_inputs(self.basis, features, self.network[0].weight))
        return like(to_host(torch.softmax(found, dim=1)), points.probs)


@dataclasses.dataclass(frozen=True)
class NeuralPartFit:
    """The network of one part at all instances."""

    part: Part
    fitted: FittedNetwork
    points: Points
    features: Array
    notes: tuple[str, ...]

    def weights(self) -> Array:
        """Return the weights at all instances, (n, a)."""
        return self.fitted.weights(self.points, self.features)

    def probs(self) -> Array:
        """Return the combination at all instances, (n, k)."""
        return mixed(self.weights()[None, ...], self.points.probs)[0, ...]


def learn_network(
    learner: NeuralLearner,
    points: Points,
    features: Array,
    labels: Array,
    part: Part,
    seed: Seed,
    progress: Progress | None,
) -> NeuralPartFit:
    """Train the network of one part."""
    torch = _torch()
    where = learner.device or (str(points.probs.device) if _is_tensor(points.probs) else "cpu")
    basis = Basis("raw").fit(features, seed)
    members = torch.tensor(to_host(points.probs), dtype=torch.float64, device=where)
    classes = torch.tensor(to_host(labels).astype(np.int64), device=where)
    generator = np.random.default_rng([*seed, Stream.NETWORKS])
    inputs = _inputs(basis, features, members)
    network = _network(inputs.shape[1], learner.hidden, members.shape[1], generator).to(where)
    order = generator.permutation(part.learn)
    held = round(learner.validation * order.size) if order.size >= _LEAST_TO_STOP_EARLY else 0
    fit_rows, stop_rows = order[held:], order[:held]
    error = _error(learner, to_host(members.mean(dim=1)[torch.as_tensor(fit_rows, device=where)]))
    proper = brier if learner.score == "brier" else log_loss
    k = members.shape[2]

    def loss(rows: Any, parts: tuple[tuple[Statistic, float], ...]) -> Any:
        at = torch.as_tensor(rows, device=where)
        weights = torch.softmax(network(inputs[at]), dim=1)
        point = Point._trusted(torch.einsum("na,nak->nk", weights, members[at]).clamp_min(1e-12))
        batch = Classes(classes[at][None, :], k)
        return sum(factor * one.bind(point)(batch)[0] for one, factor in parts if factor)

    optimiser = torch.optim.Adam(network.parameters(), lr=learner.learning_rate)
    best, best_state, since, epoch = math.inf, copy.deepcopy(network.state_dict()), 0, 0
    for epoch in range(1, learner.max_epochs + 1):
        optimiser.zero_grad()
        found = loss(fit_rows, ((proper, 1.0), (error, learner.gamma)))
        found.backward()
        optimiser.step()
        if held:
            with torch.no_grad():
                score = float(loss(stop_rows, ((proper, 1.0),)))
        else:
            score = float(found.detach())
        if score < best - 1e-6:
            best, best_state, since = score, copy.deepcopy(network.state_dict()), 0
        else:
            since += 1
        if progress is not None:
            progress(epoch, learner.max_epochs)
        if since >= learner.patience:
            break
    network.load_state_dict(best_state)
    note = f"trained {epoch} epochs; {held} of {part.learn.size} instances decided when to stop"
    return NeuralPartFit(part, FittedNetwork(learner, basis, network), points, features, (note, *basis.notes))


def _error(learner: NeuralLearner, mean: np.ndarray[Any, Any]) -> Statistic:
    """Return the calibration error with its bandwidth settled on the mean prediction."""
    chosen: Statistic = kde_ce if learner.score == "brier" else kl_ce.with_(clip=1e-12)
    return chosen.bind(Point._trusted(mean)).statistic


def _network(d: int, hidden: tuple[int, ...], a: int, generator: np.random.Generator) -> Any:
    """Return a perceptron whose first weights depend on the seed alone, whatever torch's own state."""
    torch = _torch()
    layers: list[Any] = []
    for wide, narrow in zip((d, *hidden), (*hidden, a), strict=True):
        layer = torch.nn.Linear(wide, narrow, dtype=torch.float64)
        bound = 1.0 / math.sqrt(max(wide, 1))
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(generator.uniform(-bound, bound, (narrow, wide))))
            layer.bias.copy_(torch.from_numpy(generator.uniform(-bound, bound, narrow)))
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _inputs(basis: FittedBasis, features: Array, reference: Any) -> Any:
    torch = _torch()
    return torch.as_tensor(to_host(basis.columns(features)), dtype=torch.float64, device=reference.device)


def _is_tensor(array: Array) -> bool:
    from credibly._arrays.namespace import is_torch

    return is_torch(array)


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtraError(
            "the neural learner",
            "needs torch",
            "it is not installed",
            "Install it with `pip install credibly[torch]`, or use a light learner.",
        ) from None
    return torch
