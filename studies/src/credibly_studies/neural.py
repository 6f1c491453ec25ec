"""Weights from a neural network, as in J25.

    loss = proper score + gamma * penalty        (J25 eq. 16)

The penalty is the calibration error that will be tested, squared where it can be negative (J25 App. A). The
Brier score goes with the L2 error of `kde_ce`, the log loss with `kl_ce` (J25 Table 1). Adam on batches,
early stopping on a part of the instances that are learned on.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from credibly._arrays.checks import require_integer, require_positive_number
from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import Array, HostArray, is_torch, like, to_host
from credibly._arrays.philox import Stream
from credibly._arrays.progress import Progress, share_of
from credibly.learners.basis import Basis, FittedBasis
from credibly.learners.linear import FittedWeights, Learner, Lesson
from credibly.learners.points import Points
from credibly.predictions import Classes, Point
from credibly.statistics import Statistic, brier, kde_ce, kl_ce, log_loss
from credibly.statistics.kde import KlCe
from credibly.statistics.registry import as_statistic

_LEAST_TO_STOP_EARLY = 10

_LEAST = 1e-12  # probability of a combination during training


@dataclasses.dataclass(frozen=True)
class NeuralLearner(Learner):
    """A network from features to weights on the members, trained with a proper score and a calibration error.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the hidden layers; J25 uses (16, 16, 16), and (32, 32, 32) on embeddings.
    score : {"brier", "log_loss"}
        The proper score.
    penalty : str or Statistic, optional
        The calibration error that is added to it, any differentiable statistic; squared if its values may be
        negative. Default: `kde_ce` with the Brier score and `kl_ce` with the log loss.
    gamma : float
        Weight of the penalty.
    learning_rate : float
        Learning rate of Adam; J25 uses 0.0001 on images.
    batch_size : int, optional
        Instances per step, drawn again in every epoch (J25: 256). Default: all at once. Penalties that
        compare pairs then cost batch_size instead of n per instance.
    max_epochs : int
        Largest number of passes over all instances.
    patience : int
        Passes without a better validation score after which training stops.
    validation : float
        Share of the learning instances that are used only to decide when to stop.
    n_starts : int
        Networks trained from different first weights; the one with the smallest validation score is kept.
    module : torch.nn.Module, optional
        Your own network instead of the perceptron, from standardised features (n, d) to scores (n, members)
        whose softmax are the weights; a copy of it is trained in double precision. Starts after the first
        call ``reset_parameters`` of its layers.
    device : str, optional
        Where to train: "cpu" or "cuda". Default: where the predictions are.

    Examples
    --------
    >>> from credibly_studies.neural import NeuralLearner
    >>> NeuralLearner(hidden=(32, 32, 32), penalty="mmd_ce", batch_size=256).gamma
    0.01
    """

    hidden: tuple[int, ...] = (16, 16, 16)
    score: Literal["brier", "log_loss"] = "brier"
    penalty: str | Statistic | None = None
    gamma: float = 0.01
    learning_rate: float = 0.01
    batch_size: int | None = None
    max_epochs: int = 300
    patience: int = 30
    validation: float = 0.2
    n_starts: int = 1
    module: Any = None
    device: str | None = None
    name: ClassVar[str] = "neural"

    def __post_init__(self) -> None:
        one_of("`score`", self.score, ("brier", "log_loss"))
        for width in self.hidden:
            require_integer(width, "hidden", 1)
        for name in ("max_epochs", "patience", "n_starts"):
            require_integer(getattr(self, name), name, 1)
        if self.batch_size is not None:
            require_integer(self.batch_size, "batch_size", 2)
        require_positive_number(self.learning_rate, "learning_rate", "Use 0.01.")
        if not 0 <= self.gamma < math.inf:
            raise InputError("`gamma`", "must not be negative", f"got {self.gamma!r}", "Use 0.01.")
        if not 0 <= self.validation < 1:
            raise InputError(
                "`validation`", "must be a share below 1", f"got {self.validation!r}", "Use 0.2."
            )
        if not self.error.traits.differentiable:
            raise InputError(
                "`penalty`",
                "must be differentiable",
                f"got `{self.error.name}`",
                "Use `kde_ce`, `kl_ce`, `skce` or `mmd_ce`.",
            )

    @property
    def error(self) -> Statistic:
        """The calibration error in the loss."""
        if self.penalty is None:
            return kde_ce if self.score == "brier" else kl_ce
        return as_statistic(self.penalty)

    def settings(self) -> dict[str, Any]:
        """Return the name and the fields, the penalty with its settings and the module in words."""
        plain = [field.name for field in dataclasses.fields(self) if field.name not in ("penalty", "module")]
        return {
            "name": self.name,
            **{name: getattr(self, name) for name in plain},
            "penalty": {self.error.name: self.error.settings()},
            "module": None if self.module is None else repr(self.module),
        }

    def learn(self, lesson: Lesson, rows: HostArray) -> FittedNetwork:
        """Train the networks on these rows and keep the best."""
        import torch

        where = self.device or (str(lesson.points.probs.device) if is_torch(lesson.points.probs) else "cpu")
        basis = Basis("raw").fit(lesson.features)
        members = torch.tensor(to_host(lesson.points.probs), dtype=torch.float64, device=where)
        classes = torch.tensor(to_host(lesson.labels).astype(np.int64), device=where)
        generator = np.random.default_rng([*lesson.rng, Stream.NETWORKS])
        inputs = _inputs(self, basis, lesson.features, where)
        first = _network(self, inputs.shape[1], members.shape[1], generator, 0)
        order = generator.permutation(rows)
        n_validation = round(self.validation * order.size) if order.size >= _LEAST_TO_STOP_EARLY else 0
        data = _Training(self, inputs, members, classes, order[n_validation:], order[:n_validation])
        runs = []
        for start in range(self.n_starts):
            start_generator = (
                np.random.default_rng([*lesson.rng, Stream.NETWORKS, start]) if start else generator
            )
            network = (
                _network(self, inputs.shape[1], members.shape[1], start_generator, start) if start else first
            )
            progress = share_of(lesson.progress, start, self.n_starts)
            runs.append(_trained(data, network.to(where), start_generator, progress))
        best = min(runs, key=lambda run: run.score)
        note = f"trained {best.epochs} epochs; {n_validation} of {rows.size} instances decided when to stop"
        if self.n_starts > 1:
            note += f"; the best of {self.n_starts} networks was kept"
        return FittedNetwork(self, basis, best.network, where, (note, *basis.notes))


@dataclasses.dataclass(frozen=True)
class FittedNetwork(FittedWeights):
    """A trained network: weights for any instances."""

    learner: NeuralLearner
    basis: FittedBasis
    network: Any
    device: str
    notes: tuple[str, ...] = ()

    def weights(self, points: Points, features: Array) -> Array:
        """Return weights on the points, (n, a), in the library of the points."""
        import torch

        with torch.no_grad():
            weights = self.network(_inputs(self.learner, self.basis, features, self.device))
        return like(to_host(torch.softmax(weights, dim=1)), points.probs)


class _Trained(NamedTuple):
    network: Any
    score: float
    epochs: int


class _Training:
    """What networks of one part are trained on, and their loss."""

    def __init__(
        self,
        learner: NeuralLearner,
        inputs: Any,
        members: Any,
        classes: Any,
        fit_rows: HostArray,
        stop_rows: HostArray,
    ) -> None:
        self.learner, self.inputs, self.members, self.classes = learner, inputs, members, classes
        self.fit_rows, self.stop_rows = fit_rows, stop_rows
        self.proper: Statistic = brier if learner.score == "brier" else log_loss
        chosen = learner.error
        if isinstance(chosen, KlCe) and not chosen.clip:
            chosen = chosen.with_(clip=_LEAST)  # members may give probability 0 on the way
        mean = to_host(members.mean(dim=1))[fit_rows]
        self.error = chosen.bind(Point._trusted(mean)).statistic  # one bandwidth for all batches
        promised = self.error.traits
        # divergences of smoothed frequencies are not negative, though a clip leaves their range open
        below = promised.range is None or promised.range[0] < 0
        self.signed = below and promised.reduction != "smoother"

    def point(self, network: Any, rows: HostArray) -> tuple[Point, Classes]:
        """Return the combination at some rows, and their labels."""
        import torch

        at = torch.as_tensor(rows, device=self.inputs.device)
        weights = torch.softmax(network(self.inputs[at]), dim=1)
        mixed_at = torch.einsum("na,nak->nk", weights, self.members[at]).clamp_min(_LEAST)
        return Point._trusted(mixed_at), Classes(self.classes[at][None, :], self.members.shape[2])

    def loss(self, network: Any, rows: HostArray) -> Any:
        """Return score + gamma * penalty, the penalty squared where it may be negative."""
        point, batch = self.point(network, rows)
        loss = self.proper.bind(point)(batch)[0]
        if not self.learner.gamma:
            return loss
        penalty = self.error.bind(point)(batch)[0]
        return loss + self.learner.gamma * (penalty**2 if self.signed else penalty)

    def score(self, network: Any) -> float:
        """Return the proper score of the rows that decide when to stop."""
        import torch

        with torch.no_grad():
            point, batch = self.point(network, self.stop_rows)
            return float(self.proper.bind(point)(batch)[0])

    def batches(self, generator: np.random.Generator) -> list[HostArray]:
        """Return the rows of each step of an epoch, all at least two."""
        size = self.learner.batch_size
        if size is None or size >= self.fit_rows.size:
            return [self.fit_rows]
        shuffled = generator.permutation(self.fit_rows)
        parts = [shuffled[at : at + size] for at in range(0, shuffled.size, size)]
        if parts[-1].size == 1:  # errors of pairs need two
            parts[-2:] = [np.concatenate(parts[-2:])]
        return parts


def _trained(
    data: _Training, network: Any, generator: np.random.Generator, progress: Progress | None
) -> _Trained:
    """Train one network and return it as it was at its best validation score."""
    import torch

    learner = data.learner
    optimiser = torch.optim.Adam(network.parameters(), lr=learner.learning_rate)
    best, best_state, since, epoch = math.inf, copy.deepcopy(network.state_dict()), 0, 0
    for epoch in range(1, learner.max_epochs + 1):
        total = 0.0
        for rows in data.batches(generator):
            optimiser.zero_grad()
            loss = data.loss(network, rows)
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * rows.size
        score = data.score(network) if data.stop_rows.size else total / data.fit_rows.size
        if score < best - 1e-6:
            best, best_state, since = score, copy.deepcopy(network.state_dict()), 0
        else:
            since += 1
        if progress is not None:
            progress(epoch, learner.max_epochs)
        if since >= learner.patience:
            break
    network.load_state_dict(best_state)
    return _Trained(network, best, epoch)


def _network(learner: NeuralLearner, d: int, a: int, generator: np.random.Generator, start: int) -> Any:
    """Return a network whose first weights depend on the seed alone, whatever torch's own state."""
    import torch

    if learner.module is not None:
        return _own_module(learner.module, d, a, generator, start)
    layers: list[Any] = []
    for wide, narrow in zip((d, *learner.hidden), (*learner.hidden, a), strict=True):
        layer = torch.nn.Linear(wide, narrow, dtype=torch.float64)
        bound = 1.0 / math.sqrt(max(wide, 1))
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(generator.uniform(-bound, bound, (narrow, wide))))
            layer.bias.copy_(torch.from_numpy(generator.uniform(-bound, bound, narrow)))
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _own_module(module: Any, d: int, a: int, generator: np.random.Generator, start: int) -> Any:
    """Return a copy of the caller's module; after the first start with other first weights."""
    import torch

    made = copy.deepcopy(module).to("cpu", torch.float64)
    if start:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(generator.integers(2**31)))
            for layer in made.modules():
                if hasattr(layer, "reset_parameters"):
                    layer.reset_parameters()
    with torch.no_grad():
        shape = tuple(made(torch.zeros((2, d), dtype=torch.float64)).shape)
    if shape != (2, a):
        raise InputError(
            "`module`",
            f"must turn features (n, {d}) into one score per member, (n, {a})",
            f"got shape {shape} for n = 2",
            f"End it with `torch.nn.Linear(..., {a})`.",
        )
    return made


def _inputs(learner: NeuralLearner, basis: FittedBasis, features: Array, where: str) -> Any:
    """Return what the network sees: standardised features, (n, d) for a module, else behind a 1."""
    import torch

    columns = to_host(basis.columns(features))
    if learner.module is not None:
        seen = np.zeros((len(columns), features.shape[1]))  # a constant feature stays 0
        seen[:, basis.kept] = columns[:, 1:]
        columns = seen
    return torch.as_tensor(columns, dtype=torch.float64, device=where)
