"""Mass functions: Moebius inverses of lower probabilities, on all events or on a budget of focal sets.

A budget is a short list of sets of classes that masses may be put on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer, scalar
from credibly._arrays.errors import UnsupportedError, one_of, require
from credibly._arrays.namespace import Array, as_float64, like, namespace, to_host
from credibly._arrays.notes import Note
from credibly._arrays.philox import takes_rng
from credibly.credal.bounds import event_bounds, event_table, mass_bounds
from credibly.credal.envelope import all_events, envelope_of, moebius, require_few_classes
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set
from credibly.predictions import Belief, Point
from credibly.predictions.belief import FocalSet, check_focal_sets, clamped, clamped_note
from credibly.results.base import Result

Negative = Literal["keep", "clamp"]

OWN_MASSES = "the masses of the prediction itself"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MassFunction(Result):
    """Masses on sets of classes, one row per instance; they may be negative.

    Attributes
    ----------
    masses : array (n, f)
        Mass of every focal set; rows sum to 1.
    focal_sets : tuple of frozenset of int
        The sets.
    n_classes : int
        Number of classes.
    notes : tuple of str
        How the masses were made: the budget, and how many were negative.
    """

    masses: Array
    focal_sets: tuple[FocalSet, ...]
    n_classes: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.masses.shape[0])

    def __repr__(self) -> str:
        return f"MassFunction(n={len(self)}, f={len(self.focal_sets)}, k={self.n_classes})"

    @property
    def membership(self) -> np.ndarray[Any, Any]:
        """Which class is in which focal set, (f, k) of 0 and 1, on the host."""
        return event_table(self.focal_sets, self.n_classes)[0]

    @property
    def sizes(self) -> np.ndarray[Any, Any]:
        """How many classes each focal set holds, (f,), on the host."""
        return np.asarray(self.membership.sum(axis=1))

    def belief(self, events: Any = None) -> Array:
        """Return the masses inside each event, (n, e). Default: every single class."""
        return self._sum(events, upper=False)

    def plausibility(self, events: Any = None) -> Array:
        """Return the masses that meet each event, (n, e)."""
        return self._sum(events, upper=True)

    def pignistic(self) -> Point:
        """Spread every mass evenly over its set.

        Returns
        -------
        Point
            The pignistic probability; with negative masses it need not be a distribution, which is refused.
        """
        table = self.membership
        spread = like(table / table.sum(axis=1, keepdims=True), self.masses)
        return Point(as_float64(self.masses) @ spread)

    def to_belief(self) -> Belief:
        """Return the masses as a `Belief`.

        Returns
        -------
        Belief
            The predictions; negative masses are refused.
        """
        xp = namespace(self.masses)
        lowest = scalar(xp.min(self.masses))
        if lowest < -1e-6:
            raise UnsupportedError(
                "these masses",
                "must not be negative to be a belief function",
                f"the lowest is {lowest:.6g}",
                'Make them with `negative="clamp"`, which changes the set.',
            )
        return Belief(self.masses, self.focal_sets, self.n_classes)

    def _sum(self, events: Any, *, upper: bool) -> Array:
        table, single = event_table(np.eye(self.n_classes) > 0 if events is None else events, self.n_classes)
        masks = like(table, self.masses, dtype=namespace(self.masses).float64)
        summed = mass_bounds(self.masses, self.membership, masks, upper=upper)
        return summed[:, 0] if single else summed


@takes_rng
def mass_function(
    predictions: Any,
    *,
    budget: Sequence[Iterable[int]] | None = None,
    negative: Negative = "keep",
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> MassFunction:
    """Return the Moebius masses of the lower envelope.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    budget : sequence of sets of int, optional
        The focal sets (sets of classes) that may carry mass, for example from :func:`focal_budget`; the
        remaining mass goes to the set of all classes. Default: all 2^k - 1 sets (at most 16 classes).
    negative : {"keep", "clamp"}
        Whether to keep negative masses, or to set them to 0, give the remainder to the set of all classes and
        divide rows by their sum, as C25 does.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    MassFunction
        Masses with belief, plausibility and pignistic probability.

    Notes
    -----
    Masses on a budget depend on the budget as much as on the model: the same ensemble has different masses on
    other sets. A `Belief` without a budget keeps its own.

    References
    ----------
    C25: Manchingal et al., A unified evaluation framework for epistemic predictions, 2025.

    Examples
    --------
    >>> import credibly as cr
    >>> masses = cr.credal.mass_function(cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]]))
    >>> masses.masses, [sorted(members) for members in masses.focal_sets]
    (array([[0.5 , 0.25, 0.25]]), [[0], [1], [0, 1]])
    >>> masses.plausibility()
    array([[0.75, 0.5 ]])
    """
    one_of("`negative`", negative, ("keep", "clamp"))
    return masses_of(as_set(predictions, n_samples=n_samples, rng=rng), budget, negative)


def masses_of(credal: CredalSet, budget: Sequence[Iterable[int]] | None, negative: Negative) -> MassFunction:
    """Return the masses of a set on all events, on a budget, or its own."""
    k = credal.n_classes
    if budget is None and isinstance(credal, Belief):
        sets = tuple(frozenset(members) for members in credal.focal_sets)
        return MassFunction(as_float64(credal.masses), sets, k, (OWN_MASSES,))
    if budget is None:
        require_few_classes(k, "`mass_function` without `budget`", "Pass `budget=focal_budget(...)`.")
        masses = moebius(envelope_of(credal))[:, 1:]
        sets = tuple(frozenset(np.flatnonzero(row).tolist()) for row in all_events(k)[1:])
        noted = f"masses on all {len(sets)} sets of {k} classes"
    else:
        sets, _ = check_focal_sets(budget, k)
        masses, sets = _invert_on(credal, sets)
        noted = f"masses on a budget of {len(sets)} sets of {k} classes, remainder on all classes"
    xp = namespace(masses)
    below = int(xp.sum(xp.astype(masses < -1e-12, xp.int64)))
    if negative == "clamp":
        masses = clamped(masses, sets.index(frozenset(range(k))))
        return MassFunction(masses, sets, k, (noted, clamped_note(below)))
    kept = Note("negative", "masses are negative", below, masses.shape[0] * masses.shape[1])
    return MassFunction(masses, sets, k, (noted, kept))


def _invert_on(credal: CredalSet, sets: tuple[FocalSet, ...]) -> tuple[Array, tuple[FocalSet, ...]]:
    """m(A) = lower(A) - sum of m(B) over listed B inside A; the rest is on all classes.

    So lower(A) is the sum of m(B) over listed B inside A: one matrix of 0 and 1, whose inverse is made once
    on the host and holds whole numbers.
    """
    k = credal.n_classes
    everything = frozenset(range(k))
    inner = [members for members in sets if members != everything]
    table = event_table(inner, k)[0] if inner else np.zeros((0, k))
    inside = table @ table.T == table.sum(axis=1)[:, None]  # [B, A]: B is a subset of A
    inverse = np.rint(np.linalg.inv(inside.astype(np.float64)))
    xp, leading = credal.xp, credal._leading
    lower = event_bounds(credal, like(table, leading, dtype=xp.float64), upper=False)
    masses = lower @ like(inverse, leading, dtype=xp.float64)
    remainder = 1.0 - xp.sum(masses, axis=1, keepdims=True)
    return xp.concat([masses, remainder], axis=1), (*inner, everything)


@takes_rng
def focal_budget(
    predictions: Any, n_sets: int, *, n_samples: int = DIRICHLET_SAMPLES, rng: Any = None
) -> tuple[FocalSet, ...]:
    """Choose focal sets by clustering classes that are predicted together.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions; their mean distributions show which classes are predicted together.
    n_sets : int
        Size of the budget: at least k + 1, at most k + 1 plus the number of clusters and pairs.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    tuple of frozenset of int
        The k single classes, the set of all classes, then clusters from the tightest to the loosest, then
        the closest pairs that are not clusters.

    Notes
    -----
    The closeness of two classes is the cosine between their columns of mean predictions; clusters are found
    by average linkage. With tied distances the choice depends on the order of the classes.

    References
    ----------
    Manchingal et al., *A unified evaluation framework for epistemic predictions*, 2025.

    Examples
    --------
    >>> import credibly as cr
    >>> point = cr.Point([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]])
    >>> [sorted(members) for members in cr.credal.focal_budget(point, 5)]
    [[0], [1], [2], [0, 1, 2], [0, 1]]
    """
    credal = as_set(predictions, n_samples=n_samples, rng=rng)
    k = credal.n_classes
    n_sets = require_integer(n_sets, "n_sets", 1)
    probs = to_host(as_float64(credal.mean().probs))  # scipy.cluster lives on the host
    listed = [frozenset({j}) for j in range(k)] + [frozenset(range(k))]
    candidates = [*_clusters(probs), *closest_pairs(probs)]
    extra = list(dict.fromkeys(members for members in candidates if 1 < len(members) < k))
    require(
        len(listed) <= n_sets <= len(listed) + len(extra),
        f"must lie between {len(listed)} and {len(listed) + len(extra)} for {k} classes",
        "Single classes and the set of all classes are always part of a budget; "
        "list larger budgets yourself.",
        n_sets=n_sets,
    )
    return tuple(listed + extra[: n_sets - len(listed)])


def _distances(probs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """1 - cosine between the columns; a class that is never predicted is as far as can be."""
    norms = np.sqrt((probs**2).sum(axis=0))
    columns = probs / np.where(norms > 0, norms, 1.0)
    distances = np.clip(1.0 - columns.T @ columns, 0.0, 1.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def _clusters(probs: np.ndarray[Any, Any]) -> list[FocalSet]:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    k = probs.shape[1]
    merges = linkage(squareform(_distances(probs), checks=False), method="average")
    members: list[FocalSet] = [frozenset({j}) for j in range(k)]
    for first, second, *_ in merges:
        members.append(members[int(first)] | members[int(second)])
    return members[k:]


def closest_pairs(probs: np.ndarray[Any, Any]) -> list[FocalSet]:
    """Return all pairs of classes, those most often predicted together first."""
    first, second = np.triu_indices(probs.shape[1], 1)
    order = np.argsort(_distances(probs)[first, second], kind="stable")
    return [frozenset({int(first[i]), int(second[i])}) for i in order]
