"""The statistic protocol: plan once, bind to predictions once, evaluate whole batches of label vectors.

plan   = statistic.plan(rows)                 label-free facts of all rows: n, bin edges, bandwidth
bound  = statistic.bind(predictions, plan)    everything that does not depend on labels, of some rows
state  = bound.state(labels)                  sums with the replicates in front; state + state merges rows
values = bound.finish(state)                  (b,)

Observed labels also give a standard error and notes, from sums that are merged in the same way:

sums     = bound.observed_sums(labels)        a state, and what standard error and notes need
estimate = bound.estimate(sums, labels)       value, standard error or why there is none, notes

Rows are always a sequence of datasets, data in memory a sequence of one; `over_rows` is the loop.
"""

from __future__ import annotations

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, Self

import numpy as np

from credibly._arrays.errors import CrediblyError, InputTypeError, UnsupportedError, nearest
from credibly._arrays.namespace import Array, HostArray, namespace, to_host
from credibly._arrays.notes import alternatives
from credibly._arrays.sums import State as State  # part of the protocol; its home is below credal, too
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Counts,
    Labels,
    Predictions,
    Quantiles,
    RealPredictions,
    Reals,
    Rows,
    Samples,
    as_labels,
    as_predictions,
    as_rows,
)
from credibly.predictions.prediction_sets import remedy_without_probs
from credibly.predictions.samples import Pool
from credibly.results.base import Notion, Tail
from credibly.results.estimates import Estimate
from credibly.statistics.batches import stacked

LabelKind = Literal["classes", "counts", "reals"]
_KINDS: dict[type[Any], LabelKind] = {Classes: "classes", Counts: "counts", Reals: "reals"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Traits:
    """What a statistic promises; every promise is tested over the registry.

    Attributes
    ----------
    tail : {"greater", "two-sided"}
        Which values count against a model.
    labels : frozenset of {"classes", "counts", "reals"}
        Label types it takes.
    reduction : {"sum", "pairwise", "smoother", "opaque"}
        How instances combine; all but "opaque" can be merged from chunks of rows.
    differentiable : bool
        Whether values carry gradients with respect to the predictions.
    multiplicities : bool
        Whether integer sample weights equal repeated rows.
    duplicate_invariant : bool
        Whether listing all data twice leaves the value unchanged.
    range : tuple of float or None
        Smallest and largest possible value, infinite if there is no limit; None if both are unknown.
    ordered : bool
        Whether the order of the classes matters; otherwise they may be renamed.
    """

    tail: Tail
    labels: frozenset[LabelKind]
    reduction: Literal["sum", "pairwise", "smoother", "opaque"] = "sum"
    differentiable: bool = False
    multiplicities: bool = True
    duplicate_invariant: bool = True
    range: tuple[float, float] | None = None
    ordered: bool = False


@dataclasses.dataclass(frozen=True)
class Story:
    """What a statistic is called and what its values mean, in words for people.

    Attributes
    ----------
    title : str
        Its name as people write it.
    meaning : str
        One plain sentence of what it measures.
    formula : str
        The formula on one line.
    real_formula : str
        The same for real values, where it looks different.
    above, below : str
        What a value above, or below, what chance explains says about the model. A statistic whose tail is
        "greater" alarms only above.
    notion : {"distribution", "confidence", "classwise"}
        Which kind of calibration it looks at: of the whole distribution, of the most probable class, of each
        class on its own.
    citation : str
        Where it was published, in full.
    aliases : mapping of str to str
        Other names that people ask for, in lower case, each with a remark on how it differs, or "".
    begins_with_name : bool
        Whether the title begins with somebody's name, which keeps its capital inside a sentence.
    """

    title: str
    meaning: str
    formula: str = ""
    real_formula: str = ""
    above: str = "larger than chance explains"
    below: str = "smaller than chance explains"
    notion: Notion = "distribution"
    citation: str = ""
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    begins_with_name: bool = False


@dataclasses.dataclass(frozen=True)
class Plan:
    """Label-free facts about all rows, shared by all parts of them: number of instances and bin edges."""

    n: int
    edges: Array = None


BIASED_UPWARDS = "near calibration this error is biased upwards, and no interval around it can be trusted"
"""Refusal of sums of squares and absolute differences, which are above zero even for a calibrated model."""
GROWS_WITH_N = (
    "it is a test statistic: it grows with n if the model is miscalibrated, so its value is not a "
    "property of the model that an interval could enclose"
)
SECOND_LOOK = "its standard error needs a second pass over all rows"
"""Refusal if the sums do not give the standard error, but a second pass over the rows can compute it."""


class Bound(ABC):
    """A statistic bound to predictions. Subclasses hold what does not depend on labels."""

    term_size: float = 0.0
    """Magnitude of the terms that cancel in the value; rounding errors are relative to it. If 0, because all
    terms have one sign, the value itself sets the scale."""

    rounding: float = 100 * float(np.finfo(np.float64).eps)
    """Bound of the rounding error, in units of these terms over the root of n: values closer than that count
    as equal."""

    refusal: str = "no standard error is known for this statistic"
    """Why there is no standard error."""

    def __init__(self, statistic: Statistic, n: int, notes: tuple[str, ...] = ()) -> None:
        self.statistic, self.n, self.notes = statistic, n, notes

    @abstractmethod
    def state(self, labels: Labels) -> State:
        """Return the sums over the bound rows, one entry per replicate."""

    def finish(self, state: State) -> Array:
        """Turn sums into values, (b,); what is no sum has its values as state."""
        return state["value"]

    def __call__(self, labels: Labels) -> Array:
        """Evaluate a batch of label vectors."""
        return self.finish(self.state(labels))

    def for_replicates(self, observed: Labels, n_resamples: int) -> Bound:
        """Return a bound statistic for `observed` and many further label vectors: itself, or a faster one.

        Values of the observed labels stay as they are, and one function ranks all label vectors.
        """
        return self

    @property
    def shared(self) -> Hashable:
        """A key that is equal for statistics that share work on labels; None if there is nothing to share."""
        return None

    @property
    def is_lean(self) -> bool:
        """Whether many label vectors are summed up without anything of their size."""
        return False

    def states_with(self, others: Sequence[Bound], labels: Labels) -> list[State]:
        """Return the states of this statistic and of others with equal `shared`, common work done once."""
        return [bound.state(labels) for bound in (self, *others)]

    def of_pool(self, pool: Pool, weights: Array | None) -> Bound:
        """Return the statistic of pools of draws and label; its labels are choices from the pools."""
        return EachChoice(self, pool, self.statistic.bind)

    def of_cells(self, predictions: Quantiles) -> Bound:
        """Return the statistic of quantiles; its labels are the cells between them."""
        raise needs_values(self.statistic.name, predictions)

    def observed_sums(self, labels: Labels) -> State:
        """Return the state of one label vector, and what `stderr` and `observed_notes` need besides."""
        return self.state(labels)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error from merged `observed_sums`, and the reason if no interval holds.

        Only the kind of `labels` is used. If the reason is `SECOND_LOOK`, the error follows from the
        `influence` of every row.
        """
        return None, self.refusal

    def influence(self, sums: State, labels: Labels) -> Array:
        """Return each row's influence on the value, (n,); the standard error of their mean is the value's.

        `sums` are over all rows.
        """
        raise NotImplementedError

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return what the predictions expect of the state, and what the labels of every cluster add to it.

        If the state is linear in one-hot labels, the state of pseudo-labels p + s_c (e_y - p) is the first
        plus the sum over clusters of s_c times the second, (number, ...), on the host.
        """
        raise UnsupportedError(
            f"a test of `{self.statistic.name}` with clusters",
            "needs a statistic that is linear or quadratic in the differences between labels and predictions",
            "got one that is neither",
            f"Use {self._others_that_take('clusters')}.",
        )

    def _others_that_take(self, right: str) -> str:
        """Return the names of the statistics that have a right, for a remedy."""
        from credibly.statistics.rights import that_take  # the table is made from all statistics

        if not self.statistic.traits.labels & REAL_LABELS:
            return alternatives(that_take(right, "classes"))
        shared = that_take(right, "Gaussian")
        drawn = [name for name in that_take(right, "draws") if name not in shared]
        return alternatives(shared) + (f"; for draws also {alternatives(drawn)}" if drawn else "")

    def widened_states(self, expected: State, added: State) -> tuple[State, State]:
        """Return merged `wild_sums`, widened: replicates scatter no less than with independent rows."""
        return expected, added

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return the values (b,) of pseudo-labels with these signs (b, clusters), from merged `wild_sums`."""
        raise NotImplementedError

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State | None:
        """Return the state of every cluster, (number, ...) on the host; None if states do not add up.

        Pairs of rows inside a cluster are left out.
        """
        return None

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Return notes about merged `observed_sums`, for example infinite losses."""
        return ()

    def interval_method(self, labels: Labels) -> Literal["normal", "wilson"]:
        """Return which interval `Estimate.interval` computes."""
        return "normal"

    def chi_square(self, sums: State | None = None) -> tuple[float, str] | None:
        """Return degrees of freedom and name of the chi-square that large samples follow, if one is known.

        `sums` are over all rows, if the statistic is bound to a part of them.
        """
        return None

    def estimate(
        self, sums: State, labels: Labels, notes: tuple[str, ...] = (), n: int | None = None
    ) -> Estimate:
        """Return value, standard error and notes from the `observed_sums` of all rows.

        Only the kind of `labels` is used; `notes` are about the rows.
        """
        stderr, refusal = self.stderr(sums, labels)
        counts = (self.statistic.counts_meaning,) if isinstance(labels, Counts) else ()
        all_notes = (*notes, *self.notes, *self.observed_notes(sums), *counts)
        return Estimate(
            name=self.statistic.name,
            value=float(to_host(self.finish(sums))[0]),
            stderr=stderr,
            n=self.n if n is None else n,
            # the bound statistic knows what a rule such as bandwidth="median" became
            settings=self.statistic.settings(),
            notes=tuple(dict.fromkeys(all_notes)),
            interval_refusal=refusal,
            interval_method=self.interval_method(labels),
        )


class EachChoice(Bound):
    """A statistic that knows nothing of pools: bound again for every choice of labels."""

    def __init__(self, inner: Bound, pool: Pool, bind: Callable[[Samples], Bound]) -> None:
        super().__init__(inner.statistic, inner.n, inner.notes)
        self.inner, self.pool, self.bind = inner, pool, bind

    def state(self, labels: Labels) -> State:
        """Return the sums of the chosen labels and the draws they leave, replicates in front."""
        xp, states = namespace(self.pool.values), []
        for choice in xp.astype(labels.values, xp.int64):
            seen = xp.take_along_axis(self.pool.labels, choice[:, None], axis=1)[:, 0]
            states.append(self.bind(self.pool.samples(choice)).state(Reals(seen[None, :], labels.weights)))
        return stacked(states)

    def finish(self, state: State) -> Array:
        """Turn sums into values."""
        return self.inner.finish(state)


class CallSignature:
    """What `inspect.signature` and tab completion see of a statistic: its call, with every setting.

    The class itself keeps the signature of its constructor.
    """

    def __get__(self, statistic: Statistic | None, owner: type[Statistic]) -> inspect.Signature:
        if statistic is None:
            raise AttributeError("__signature__")
        _, *shared, _ = inspect.signature(Statistic.__call__).parameters.values()
        settings = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(statistic, name))
            for name in _settable(owner)
        ]
        return inspect.Signature([*shared, *settings], return_annotation=Estimate)


@dataclasses.dataclass(frozen=True)
class Statistic(ABC):
    """A number computed from predictions and labels. Settings are the fields; instances are frozen.

    Call it, ``brier(predictions, labels)``; change settings with ``with_``; bind it to evaluate many label
    vectors against the same predictions.
    """

    name: ClassVar[str]
    traits: ClassVar[Traits]
    reference: ClassVar[str]
    story: ClassVar[Story]
    counts_meaning: ClassVar[str] = (
        "label counts: every instance counts once, with the shares of its raters in place of a single label"
    )
    """What the value means for LabelCounts, for the notes; statistics that do not take them never say it."""
    term_size: ClassVar[float] = 1.0  # of what a label adds; 0 if that is in units of the labels
    in_evaluations: ClassVar[bool] = True
    """Whether an evaluation computes it where no statistics are named."""
    __signature__ = CallSignature()

    def __call__(
        self,
        predictions: Any,
        labels: Any = None,
        *,
        sample_weight: Any = None,
        clusters: Any = None,
        blocks: int | None = None,
        **settings: Any,
    ) -> Estimate:
        """Compute the statistic.

        Parameters
        ----------
        predictions : Predictions, array or Rows
            (n, k) probabilities, (n, m, k) members, any prediction object, or what `scan` returned.
        labels : array (n,) or LabelCounts
            ...
        sample_weight : array (n,), optional
            ...
        clusters : array (n,) or "copies", optional
            ... The standard error then allows for these clusters, and pairs of rows inside a cluster are left
            out.
        blocks : int, optional
            ...
        **settings
            Override the fields of this statistic for one call.

        Returns
        -------
        Estimate
            Value, standard error if one can be trusted, settings and notes.
        """
        chosen = self.with_(**settings) if settings else self
        rows = as_rows(predictions, labels, sample_weight, clusters=clusters, blocks=blocks)
        estimate: Estimate = _over_rows().estimates_over([chosen], rows)[chosen.name]
        return estimate

    @property
    def identity(self) -> Hashable:
        """What equal statistics have in common: itself, or its address if a setting cannot be hashed."""
        try:
            hash(self)
        except TypeError:
            return id(self)
        return self

    def with_(self, **settings: Any) -> Self:
        """Return the same statistic with other settings.

        Parameters
        ----------
        **settings
            Fields to change.

        Returns
        -------
        Statistic
            A new frozen statistic.
        """
        known = _settable(type(self))
        unknown = [name for name in settings if name not in known]
        for name in unknown:
            remedy = nearest(name, known) if known else "It has none."
            rule = "takes only its own settings"
            raise InputTypeError(f"`{self.name}`", rule, f"got {name!r}", remedy, argument=name)
        try:
            return dataclasses.replace(self, **settings)
        except CrediblyError:
            raise
        except (TypeError, ValueError, RuntimeError) as error:  # a text, None or a tensor, not a number
            got = ", ".join(f"{name}={value!r}" for name, value in settings.items())
            raise InputTypeError(
                f"the settings of `{self.name}`",
                "must be of the types that its documentation lists",
                f"got {got[:200]}",
                f"Its own: `{self._call()}`.",
            ) from error

    def _call(self) -> str:
        """Return the call with the settings it uses where they are not given."""
        settings = "".join(f", {name}={value!r}" for name, value in self.settings().items())
        shared = "sample_weight=None, clusters=None, blocks=None"
        return f"{self.name}(predictions, labels=None, *, {shared}{settings})"

    def documentation(self) -> str:
        """Return the docstring of the function that the statistic is to those who call it."""
        called, described = (
            inspect.getdoc(documented) or "" for documented in (Statistic.__call__, type(self))
        )
        heading = "Parameters\n----------\n"
        shared, _, rest = called.partition(heading)[2].partition("**settings\n")
        returned = rest.partition("\n\n")[2]
        summary, _, below = described.partition("\n\n" + heading)
        settings, _, below = below.partition("\n\n") if below else ("", "", "")
        if not settings:
            summary, _, below = described.partition("\n\nExamples\n")
            below = below and "Examples\n" + below
        arguments = heading + shared.rstrip() + ("\n" + settings if settings else "")
        return "\n\n".join(filter(None, (self._call(), summary, arguments, returned, below)))

    def settings(self) -> dict[str, Any]:
        """Return the fields that users can set, as a dictionary."""
        return {name: getattr(self, name) for name in _settable(type(self))}

    def labels(self, predictions: Predictions, labels: Any, sample_weight: Any = None) -> Labels:
        """Check labels for this statistic and return them as a batch."""
        self.require_predictions(predictions)
        return self.require_labels(as_labels(predictions, labels, sample_weight))

    def require_labels(self, batch: Labels) -> Labels:
        """Raise unless the statistic takes labels of this kind; return them."""
        kind = _KINDS[type(batch)]
        if kind not in self.traits.labels:
            raise UnsupportedError(
                f"`{self.name}`",
                f"takes {' or '.join(sorted(self.traits.labels))}",
                f"got {kind}",
                "Draw or choose one label per instance first.",
                argument="labels",
            )
        return batch

    def require_predictions(self, predictions: Predictions) -> None:
        """Raise unless the statistic is defined for this type of prediction."""
        real, over_classes = "reals" in self.traits.labels, self.traits.labels != REAL_LABELS
        if (over_classes and isinstance(predictions, ClassPredictions)) or (
            real and isinstance(predictions, RealPredictions)
        ):
            return
        kinds = ["real-valued predictions"] * real + ["class probabilities"] * over_classes
        raise InputTypeError(
            f"`{self.name}`",
            f"needs {' or '.join(kinds)}",
            f"got {type(predictions).__name__}",
            remedy_without_probs(predictions, "See `credibly list` for statistics of this kind."),
            argument="predictions",
        )

    def plan(self, predictions: Any) -> Plan:
        """Return the label-free facts of all rows.

        Parameters
        ----------
        predictions : Predictions, array or Rows
            All rows.

        Returns
        -------
        Plan
            What every part of the rows is bound with.
        """
        return self._plan(as_rows(predictions))

    def _plan(self, rows: Rows) -> Plan:
        """Plan over rows; those without labels are enough."""
        return Plan(n=rows.n)

    def bound_at_once(self, rows: Rows) -> tuple[Bound, Labels]:
        """Bind to all rows, of a statistic that is not a sum over them, and return their labels."""
        whole = rows.at_once(f"`{self.name}`")
        return self.bind(whole.predictions), whole.batch

    def bind(self, predictions: Any, plan: Plan | None = None, **settings: Any) -> Bound:
        """Compute all that does not depend on labels.

        Parameters
        ----------
        predictions : Predictions or array
            All rows, or some of them with the plan of all.
        plan : Plan, optional
            Default: made from these predictions.
        **settings
            Override the fields of this statistic.

        Returns
        -------
        Bound
            Call it with labels, or use `state` and `finish` to merge parts.
        """
        chosen = self.with_(**settings) if settings else self
        predictions = as_predictions(predictions)
        chosen.require_predictions(predictions)
        return chosen._bind(predictions, chosen.plan(predictions) if plan is None else plan)

    @abstractmethod
    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        """Bind to checked predictions."""


@cache
def _over_rows() -> Any:
    """Return the module that is written against this one; to import it in every call takes longer."""
    from credibly.statistics import over_rows

    return over_rows


@cache
def _settable(statistic: type[Statistic]) -> tuple[str, ...]:
    """Return the names of the fields that are settings: those without a leading underscore."""
    return tuple(field.name for field in dataclasses.fields(statistic) if not field.name.startswith("_"))


ONE_CLASS: frozenset[LabelKind] = frozenset({"classes"})
CLASS_LABELS: frozenset[LabelKind] = frozenset({"classes", "counts"})
REAL_LABELS: frozenset[LabelKind] = frozenset({"reals"})
ALL_LABELS = CLASS_LABELS | REAL_LABELS


def needs_values(name: str, predictions: Quantiles) -> UnsupportedError:
    """Return the error of a statistic that needs more of a label than the cell it lies in."""
    return UnsupportedError(
        f"a test of `{name}`",
        "needs the values of labels drawn from the predictions, and quantiles say only how often labels "
        "lie between them",
        f"got {predictions.levels.shape[0]} quantiles per instance",
        "Test `picp`, `quantile_calibration_error` or `pit_test`, which need nothing else.",
    )
