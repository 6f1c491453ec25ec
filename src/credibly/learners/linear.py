"""How weights that depend on the instance are learned: the interface, and the light learners.

A learner says which points of the set it mixes and learns weights on them. The logits of a light one are
linear in columns made of features; `mixing` fits them. H0 of a learned test is "a combination that this
learner can represent is calibrated".
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from credibly._arrays.checks import require_integer, require_positive_number
from credibly._arrays.errors import require, require_type
from credibly._arrays.namespace import Array, HostArray, as_float64, entropy_of_rows, like, namespace, to_host
from credibly._arrays.philox import Seed
from credibly._arrays.progress import Progress
from credibly.credal import boundary
from credibly.learners.basis import Basis, FittedBasis
from credibly.learners.mixing import Columns, fit_weights, likelihoods, mixed
from credibly.learners.points import Points
from credibly.predictions import as_point

PENALTIES = (float("inf"), 10.0, 1.0, 0.1, 0.01, 0.001)
"""Candidates for the penalty of weights that depend on features; inf means weights that do not. With the
smallest, weights can jump from one member to another, as where each is right on its side of a feature."""

_SAME_SCORE = 1e-9  # points whose entropies or probabilities differ by less are extreme alike


_PATIENCE = 2  # smaller penalties that are no better before the search ends

_REFIT_STEPS = 60


class FittedWeights(ABC):
    """What a learner has learned: weights on the points of any instances.

    Attributes
    ----------
    notes : tuple of str
        What the result of a test should say about the fit.
    """

    notes: tuple[str, ...] = ()

    @abstractmethod
    def weights(self, points: Points, features: Array) -> Array:
        """Return the weights on the points of some instances, (n, a): rows are not negative and sum to 1.

        Parameters
        ----------
        points : Points
            What the learner mixes; ``points.probs`` has shape (n, a, k).
        features : array (n, d)
            Features of these instances.

        Returns
        -------
        array (n, a)
            In the array library of the points.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return what is worth keeping of the fit, in JSON-safe types."""
        return {}


@dataclasses.dataclass(frozen=True)
class Lesson:
    """What weights are learned from.

    Attributes
    ----------
    points : Points
        What the learner mixes, at all instances; ``points.probs`` has shape (n, a, k).
    features : array (n, d)
        What weights may depend on, at all instances.
    labels : array (n,)
        Observed classes. Only those of the rows to learn from may be used; the others are tested.
    rng : tuple of int
        Seed of everything random, as ``numpy.random.default_rng`` takes it.
    clusters : ndarray (n,) or None
        Which rows belong together.
    progress : callable or None
        Called with (done, total).
    """

    points: Points
    features: Array
    labels: Array
    rng: Seed
    clusters: HostArray | None = None
    progress: Progress | None = None


@dataclasses.dataclass(frozen=True)
class Learner(ABC):
    """Base of all learners of instance-dependent weights. Settings are the fields; instances are frozen.

    A learner of your own is a frozen dataclass with a `name` and the method `learn`; pass it as ``learner=``
    to :func:`weights_test`.

    Examples
    --------
    >>> import dataclasses
    >>> import numpy as np
    >>> import credibly as cr
    >>> class Chosen(cr.learners.FittedWeights):
    ...     def __init__(self, best):
    ...         self.best = best
    ...
    ...     def weights(self, points, features):
    ...         found = np.zeros(points.probs.shape[:2])
    ...         found[:, self.best] = 1.0
    ...         return found
    >>> @dataclasses.dataclass(frozen=True)
    ... class BestMember(cr.learners.Learner):
    ...     name = "best member"
    ...
    ...     def learn(self, lesson, rows):
    ...         labels = lesson.labels[rows, None, None]
    ...         likely = np.take_along_axis(lesson.points.probs[rows], labels, axis=2)
    ...         return Chosen(np.log(likely[:, :, 0]).sum(axis=0).argmax())
    >>> rng = np.random.default_rng(1)
    >>> members = rng.dirichlet(np.ones(3), size=(200, 4))
    >>> labels = (rng.random((200, 1)) > members[:, 2].cumsum(axis=1)).sum(axis=1)
    >>> found = cr.hypotests.weights_test(members, labels, learner=BestMember(), n_resamples=99, rng=0)
    >>> found.details.weights[0].tolist(), found.verdict()
    ([0.0, 0.0, 1.0, 0.0], 'no conflict found')
    """

    name: ClassVar[str]

    def points(self, points: Points) -> Points:
        """Return what this learner mixes; the given points, if it adds none."""
        return points

    @abstractmethod
    def learn(self, lesson: Lesson, rows: HostArray) -> FittedWeights:
        """Learn weights from the labels of some rows.

        Parameters
        ----------
        lesson : Lesson
            Points, features and labels of all instances.
        rows : ndarray of int
            Instances to learn from.

        Returns
        -------
        FittedWeights
            Weights for any instances.
        """

    def learn_parts(self, lesson: Lesson, parts: Sequence[HostArray]) -> list[FittedWeights]:
        """Learn from several parts, such as all folds but one; override it if that is faster at once."""
        return [self.learn(lesson, rows) for rows in parts]

    def settings(self) -> dict[str, Any]:
        """Return the name and the fields."""
        return {"name": self.name, **dataclasses.asdict(self)}


@dataclasses.dataclass(frozen=True)
class GatingLearner(Learner):
    """Softmax-linear gating on the members: every member has its own weights on the features.

    Parameters
    ----------
    basis : Basis
        Columns made of the features.
    penalties : tuple of float
        Candidates for the penalty of weights on features, chosen by cross-validation of the log loss on the
        learning part, from the largest down until two in a row are no better than the best; ``inf`` means
        weights that do not depend on features.
    constant_penalty : float
        Penalty of all other weights; it keeps the parameters of points without weight finite.
    n_folds : int
        Folds of the cross-validation.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.learners.GatingLearner().name
    'gating'
    """

    basis: Basis = dataclasses.field(default_factory=Basis)
    penalties: tuple[float, ...] = PENALTIES
    constant_penalty: float = 0.005
    n_folds: int = 4
    name: ClassVar[str] = "gating"

    def __post_init__(self) -> None:
        require_type(
            isinstance(self.basis, Basis), "must be a Basis", "Use `Basis('raw')`.", basis=self.basis
        )
        require_integer(self.n_folds, "n_folds", 2)
        require(
            self.penalties and all(value > 0 for value in self.penalties),
            "must be positive numbers",
            "Try (inf, 10.0, 1.0).",
            penalties=self.penalties,
        )
        require_positive_number(self.constant_penalty, "constant_penalty", "Use 0.005.")

    def columns(self, points: Points, values: Array) -> Columns:
        """Return what logits are linear in, from the columns (n, 1 + q) made of features."""
        return Columns(values, points.probs.shape[1])

    def penalty(self, columns: Columns, value: float) -> np.ndarray[Any, Any]:
        """Return the penalty of every parameter, (p,): the constant's own, and one for all features."""
        by_column = np.full((columns.shared.shape[1], columns.n_points), value)
        by_column[0] = self.constant_penalty
        return by_column.reshape(-1)

    def learn(self, lesson: Lesson, rows: HostArray) -> FittedWeights:
        """Choose the penalty by cross-validation on these rows, then learn from all of them."""
        return self.learn_parts(lesson, [rows])[0]

    def learn_parts(self, lesson: Lesson, parts: Sequence[HostArray]) -> list[FittedWeights]:
        """Learn from several parts; the penalties of all are chosen in one batch."""
        points = lesson.points
        xp = namespace(points.probs)
        basis = self.basis.fit(lesson.features)
        used = np.unique(np.concatenate(parts))
        taken = like(used, points.probs)
        together = _Parts(
            xp.take(points.probs, taken, axis=0),
            xp.take(lesson.labels, taken, axis=0)[None, :],
            np.stack([np.isin(used, rows) for rows in parts]),
            None if lesson.clusters is None else lesson.clusters[used],
        )
        candidates = [value for value in self.penalties if basis.kept.size or np.isinf(value)] or [np.inf]
        values = basis.columns(lesson.features)
        columns = {
            flexible: self.columns(points, values if flexible else values[:, :1]).rows(taken)
            for flexible in {bool(np.isfinite(value)) for value in candidates}
        }
        chosen = self._best_penalties(candidates, columns, together)
        return [together.fit(self, basis, columns, part, float(value)) for part, value in enumerate(chosen)]

    def _best_penalties(
        self, candidates: list[float], columns: dict[bool, Columns], parts: _Parts
    ) -> HostArray:
        """Return the penalty of each part with the smallest log loss of held-out folds, all in one batch."""
        count = len(parts.member)
        best = np.full(count, candidates[0])
        if len(candidates) == 1:
            return best
        held_out, owner = parts.folds(self.n_folds)
        least, worse = np.full(count, np.inf), np.zeros(count, dtype=int)
        sizes = parts.member.sum(axis=1)[owner].astype(np.float64)
        before: dict[bool, tuple[HostArray, Array]] = {}
        for value in sorted(candidates, reverse=True):
            # smaller penalties that are no better end the search of a part: weaker ones take long to fit
            now = np.flatnonzero(worse[owner] < _PATIENCE)
            if not now.size:
                break
            flexible = bool(np.isfinite(value))
            kept, start = columns[flexible], None
            if flexible in before:  # each penalty starts where the larger one ended
                problems, ended = before[flexible]
                start = namespace(ended).take(ended, like(np.searchsorted(problems, now), ended), axis=0)
            fitted = fit_weights(
                kept,
                parts.points,
                parts.labels,
                like(self.penalty(kept, value), parts.points),
                start=start,
                counted=like((parts.member[owner] & ~held_out)[now].astype(np.float64), parts.points),
                sizes=like(sizes[now], parts.points),
            )
            before[flexible] = now, fitted.parameters
            logs = np.log(np.maximum(parts.likely(kept, fitted.parameters), 1e-300))
            loss = np.bincount(owner[now], -np.vecdot(logs, held_out[now]), minlength=count)
            searched = np.unique(owner[now])
            better = searched[loss[searched] < least[searched]]
            worse[searched] += 1
            best[better], least[better], worse[better] = value, loss[better], 0
        return best


class _Parts(NamedTuple):
    """Rows that any part uses, and which of them each part has."""

    points: Array  # (n, a, k)
    labels: Array  # (1, n)
    member: HostArray  # (parts, n) of bool
    codes: HostArray | None

    def folds(self, number: int) -> tuple[HostArray, HostArray]:
        """Return the rows that each fold of each part holds out, (folds, n), and whose fold it is."""
        held_out, owner = [], []
        for part, inside in enumerate(self.member):
            rows = np.flatnonzero(inside)
            # every fourth one: the order of instances may mean something; of clusters every fourth one
            codes = np.arange(rows.size)
            if self.codes is not None:
                codes = np.unique(self.codes[rows], return_inverse=True)[1]
            count = min(number, rows.size)
            fold = np.zeros((count, inside.size), dtype=bool)
            fold[:, rows] = codes % count == np.arange(count)[:, None]
            held_out.append(fold)
            owner += [part] * count
        return np.concatenate(held_out), np.array(owner)

    def fit(
        self,
        learner: GatingLearner,
        basis: FittedBasis,
        columns: dict[bool, Columns],
        part: int,
        value: float,
    ) -> LinearFit:
        """Learn from one part with the penalty that was chosen for it."""
        xp, rows = namespace(self.points), like(np.flatnonzero(self.member[part]), self.points)
        flexible = bool(np.isfinite(value))
        kept = columns[flexible].rows(rows)
        fitted = fit_weights(
            kept,
            xp.take(self.points, rows, axis=0),
            xp.take(self.labels, rows, axis=1),
            like(learner.penalty(kept, value), self.points),
        )
        choice = f"penalty {value:g} on features" if flexible else "weights do not depend on features"
        notes = [f"{choice}, by cross-validation", *basis.notes]
        if fitted.n_unfinished:
            notes.append(f"learning stopped after {fitted.steps} steps before it converged")
        return LinearFit(learner, basis, flexible, fitted.parameters, value, tuple(notes))

    def likely(self, columns: Columns, parameters: Array) -> HostArray:
        """Return the probability of each label under every fit, (b, n)."""
        likely = likelihoods(self.points, self.labels)
        return to_host(columns.xp.vecdot(columns.weights(parameters), likely))


@dataclasses.dataclass(frozen=True)
class LinearFit(FittedWeights):
    """A light learner with its parameters, and what refits it to other labels."""

    learner: GatingLearner
    basis: FittedBasis
    uses_features: bool
    parameters: Array  # (1, p)
    penalty: float
    notes: tuple[str, ...] = ()

    def columns(self, points: Points, features: Array) -> Columns:
        """Return what logits are linear in at some instances."""
        values = self.basis.columns(features)
        return self.learner.columns(points, values if self.uses_features else values[:, :1])

    def weights(self, points: Points, features: Array) -> Array:
        """Return weights on the points of the learner, (n, a)."""
        return self.columns(points, features).weights(self.parameters)[0, ...]

    def refitted(
        self, columns: Columns, points: Array, labels: Array, learn: HostArray, test: HostArray
    ) -> tuple[Array, int]:
        """Learn from replicates (b, n) and return the combinations at the tested instances, (b, t, k)."""
        xp = namespace(points)
        learned, tested = (like(rows, points) for rows in (learn, test))
        fitted = fit_weights(
            columns.rows(learned),
            xp.take(points, learned, axis=0),
            xp.take(labels, learned, axis=1),
            like(self.learner.penalty(columns, self.penalty), points),
            start=self.parameters,
            max_steps=_REFIT_STEPS,
        )
        weights = columns.rows(tested).weights(fitted.parameters)
        return mixed(weights, xp.take(points, tested, axis=0)), fitted.n_unfinished

    def to_dict(self) -> dict[str, Any]:
        """Return the penalty that was chosen."""
        return {"penalty": self.penalty}


@dataclasses.dataclass(frozen=True)
class BoundaryLearner(GatingLearner):
    """Gating on the members, on boundary points of the set towards each class, and on its extreme members.

    The ray from the mean prediction towards a class leaves the set at a point that belongs to the set,
    whatever the order of its members. So do the most cautious member (largest entropy), the boldest one, and
    the one that gives a class its largest probability. With these points in the mixture, the learner can
    follow a truth that stays on one side of the set, or with one kind of member. Weights on fixed members
    cannot, because which member that is changes from instance to instance.

    Parameters
    ----------
    basis : Basis
        Columns made of the features.
    penalties : tuple of float
        Candidates for the penalty of weights on features, chosen by cross-validation.
    constant_penalty : float
        Penalty of all other weights.
    n_folds : int
        Folds of the cross-validation.
    max_classes : int
        With more classes than this, the points that belong to a class are left out, except the one towards
        the most probable class.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.learners.BoundaryLearner().name
    'boundary'
    """

    max_classes: int = 20
    name: ClassVar[str] = "boundary"

    def points(self, points: Points) -> Points:
        """Add one boundary point and one member per class, the most cautious and the boldest member."""
        xp = namespace(points.probs)
        classes = range(points.probs.shape[2] if points.probs.shape[2] <= self.max_classes else 0)
        extreme = {
            **{f"boundary towards class {c}": _boundary(points, c) for c in classes},
            "boundary towards the most probable class": _boundary(points, None),
            **_telling_points(as_float64(points.probs), classes),
        }
        probs = xp.concat([as_float64(points.probs), xp.stack(list(extreme.values()), axis=1)], axis=1)
        return dataclasses.replace(points, probs=probs, names=(*points.names, *extreme))


def _boundary(points: Points, towards: int | None) -> Array:
    """Return where rays from the mean leave the sets, (n, k): towards a class, or the most probable one."""
    mean, _ = as_point(points.credal)
    goal = namespace(mean.probs).argmax(mean.probs, axis=1)
    if towards is not None:
        goal = like(np.full(len(mean), towards), points.probs)
    return as_float64(boundary(points.credal, goal))


def _telling_points(probs: Array, classes: Sequence[int]) -> dict[str, Array]:
    """Return points that are extreme among those of their instance, whatever their order, (n, k) each.

    Where several are, their mean: choosing one of them would depend on the order, and count it twice.
    """
    xp = namespace(probs)
    entropy = entropy_of_rows(probs)
    scores = {"the most cautious": entropy, "the boldest": -entropy}
    scores |= {f"the largest in class {c}": probs[:, :, c] for c in classes}
    extreme = {}
    for name, score in scores.items():
        tied = xp.astype(score >= xp.max(score, axis=1, keepdims=True) - _SAME_SCORE, xp.float64)
        extreme[name] = xp.sum(tied[:, :, None] * probs, axis=1) / xp.sum(tied, axis=1, keepdims=True)
    return extreme
