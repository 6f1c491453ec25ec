"""Every statistic by name. One row here brings the trait tests, the docs table and `credibly list`.

A user's function becomes a statistic with `statistic`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, nearest, one_of, require_type
from credibly._arrays.namespace import is_array, like, namespace
from credibly._arrays.shared_parameters import fill_docstrings
from credibly.predictions import Classes, Counts, Labels, Predictions
from credibly.results.base import Tail
from credibly.statistics.adaptive import t_cal
from credibly.statistics.binned import classwise_ece, confidence_ece, hosmer_lemeshow, top_label_ece
from credibly.statistics.calibration_index import e50, e90, emax, ici
from credibly.statistics.coverage import picp, quantile_calibration_error
from credibly.statistics.crps import crps
from credibly.statistics.kde import kde_ce, kl_ce
from credibly.statistics.net_benefit import net_benefit
from credibly.statistics.proper import accuracy, brier, confidence_gap, log_loss, rps, spiegelhalter_z
from credibly.statistics.protocol import Bound, LabelKind, Plan, State, Statistic, Story, Traits
from credibly.statistics.quantile_losses import pinball_loss, sharpness, wis
from credibly.statistics.regression import gaussian_log_loss, interval_score, mae, rmse
from credibly.statistics.risk_coverage import augrc
from credibly.statistics.skce import mmd_ce, skce
from credibly.statistics.skill import brier_skill, log_loss_skill
from credibly.statistics.slopes import mean_slope, spread_slope
from credibly.statistics.smooth import smooth_ece
from credibly.statistics.spread import ence, spread_ratio
from credibly.statistics.walks import ecce, truthful_ce
from credibly.statistics.width_dependence import hsic


class UserBound(Bound):
    """Calls the function on every label vector, or once on the batch where that was declared."""

    statistic: UserStatistic

    def __init__(self, statistic: UserStatistic, predictions: Predictions) -> None:
        super().__init__(statistic, len(predictions), predictions.notes)
        self.predictions = predictions

    def state(self, labels: Labels) -> State:
        """Return the values themselves: an opaque function cannot be merged from chunks."""
        if isinstance(labels, Counts) or labels.weights is not None:
            raise InputError(
                f"`{self.statistic.label}`",
                "takes plain labels only",
                "got label counts or weights",
                "Write the weights into the function.",
            )
        function, values = self.statistic.function, labels.values
        if isinstance(labels, Classes):
            xp = namespace(values)
            values = xp.astype(values, xp.int64)  # batches are kept in bytes, where `labels - 1` wraps
        if self.statistic.batched:
            result = function(self.predictions, values)
            shape = tuple(getattr(result, "shape", ()))
            if shape != (len(labels),):
                raise InputError(
                    f"`{self.statistic.label}` (batched)",
                    f"must return one value per label vector, shape ({len(labels)},)",
                    f"got shape {shape}",
                    "Declare `batched=False` if it takes one label vector.",
                )
            return State(value=result if is_array(result) else like(result, values))
        numbers = [self._number(function(self.predictions, values[row, :])) for row in range(len(labels))]
        return State(value=like(np.asarray(numbers), values))

    def _number(self, result: Any) -> float:
        shape = tuple(getattr(result, "shape", ()))
        with suppress(TypeError, ValueError):
            if not shape:
                return float(result)
        raise InputError(
            f"`{self.statistic.label}`",
            "must return one number per label vector",
            f"got an array of shape {shape}" if shape else f"got {result!r}",
            "Reduce over the instances, or declare `batched=True` if it takes labels (b, n).",
        )


@dataclasses.dataclass(frozen=True)
class UserStatistic(Statistic):
    """A function of predictions and labels; made by :func:`statistic`."""

    function: Callable[..., Any]
    label: str
    tail: Tail
    batched: bool
    name: ClassVar[str] = "user"
    reference: ClassVar[str] = "user"
    traits: ClassVar[Traits]
    story: ClassVar[Story]

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.label)
        traits = Traits(
            tail=self.tail,
            labels=frozenset[LabelKind]({"classes", "reals"}),
            reduction="opaque",
            multiplicities=False,
            duplicate_invariant=False,
        )
        object.__setattr__(self, "traits", traits)
        written = inspect.getdoc(self.function) or ""
        story = Story(self.label.replace("_", " "), written.partition("\n")[0])
        object.__setattr__(self, "story", story)

    def settings(self) -> dict[str, Any]:
        """Return the declared facts; a function has no JSON form."""
        return {"function": self.label, "tail": self.tail, "batched": self.batched}

    def require_predictions(self, predictions: Predictions) -> None:
        """Accept every prediction type: the function decides."""

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        return UserBound(self, predictions)


def statistic(
    function: Callable[..., Any], *, tail: Tail, batched: bool = False, name: str | None = None
) -> UserStatistic:
    """Make a statistic from a function, usable wherever a statistic is accepted.

    Parameters
    ----------
    function : callable
        ``T(predictions, labels) -> float``; it receives the prediction object and one label vector (n,). With
        ``batched=True`` it receives labels (b, n) and returns (b,).
    tail : {"greater", "two-sided"}
        Whether only large values count against a model, or small ones too.
    batched : bool
        Whether the function takes whole batches of label vectors.
    name : str, optional
        Name shown in results. Default: the name of the function.

    Returns
    -------
    UserStatistic
        The statistic.

    Examples
    --------
    >>> import credibly as cr
    >>> def top_two(predictions, labels):
    ...     best = predictions.mean().probs.argsort(axis=1)[:, -2:]
    ...     return (best == labels[:, None]).any(axis=1).mean()
    >>> float(cr.statistic(top_two, tail="two-sided")([[0.5, 0.3, 0.2]], [1]))
    1.0
    """
    require_type(callable(function), "must be callable", "Pass `T(predictions, labels)`.", function=function)
    one_of("`tail`", tail, ("greater", "two-sided"))
    label = str(name or getattr(function, "__name__", type(function).__name__))
    return UserStatistic(function, label, tail, batched)


BUILTIN: tuple[Statistic, ...] = (
    accuracy,
    confidence_gap,
    brier,
    log_loss,
    confidence_ece,
    classwise_ece,
    top_label_ece,
    hosmer_lemeshow,
    skce,
    mmd_ce,
    kde_ce,
    kl_ce,
    smooth_ece,
    ecce,
    truthful_ce,
    t_cal,
    ici,
    e50,
    e90,
    emax,
    spiegelhalter_z,
    rps,
    brier_skill,
    log_loss_skill,
    augrc,
    net_benefit,
    picp,
    quantile_calibration_error,
    crps,
    gaussian_log_loss,
    interval_score,
    pinball_loss,
    wis,
    sharpness,
    hsic,
    rmse,
    mae,
    mean_slope,
    spread_ratio,
    spread_slope,
    ence,
)

fill_docstrings((Statistic, *map(type, BUILTIN)))
for _statistic in BUILTIN:
    # `help(cr.brier)` shows a docstring of the object where it has one, and the whole class where it has none
    object.__setattr__(_statistic, "__doc__", _statistic.documentation())

ENTRY_POINTS = "credibly.statistics"

_RANKED = (
    "Use `risk_coverage_curve` to see whether the surest answers are right: its area plays the role of AUROC."
)
_FITTED = "Use `statistics.logistic_calibration`, which fits it with an interval."
_ELSEWHERE = {
    "auroc": _RANKED,
    "auc": _RANKED,
    "roc_auc": _RANKED,
    "aurc": "Use `risk_coverage_curve`, whose `area` it is.",
    "energy_score": "Use `statistics.energy_score`, which takes draws (n, s, d).",
    "variogram_score": "Use `statistics.variogram_score`, which takes draws (n, s, d).",
    **dict.fromkeys(("calibration_slope", "cox_slope", "calibration_in_the_large"), _FITTED),
}
"""Numbers that people ask for by name and that come from a function that is not a statistic."""


@cache
def registered() -> Mapping[str, Statistic]:
    """Return all statistics by name: the built-in ones, then those of installed packages.

    Returns
    -------
    mapping
        Name to statistic, read-only. Other packages register theirs under the entry point group
        ``credibly.statistics``; a name already taken is refused.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.statistics.registered()["brier"] is cr.brier
    True
    """
    statistics = {entry.name: entry for entry in BUILTIN}
    for point in entry_points(group=ENTRY_POINTS):
        loaded = point.load()
        if not isinstance(loaded, Statistic):
            raise InputTypeError(
                f"entry point {point.value!r}",
                "must name a credibly Statistic",
                f"got {type(loaded).__name__}",
                f"Fix or uninstall {point.dist.name if point.dist else 'the package'}.",
            )
        if not hasattr(loaded, "story"):
            raise InputTypeError(
                f"statistic {loaded.name!r} of entry point {point.value!r}",
                "must describe itself",
                "it has no `story`",
                "Give its class `story = Story(title=..., meaning=...)`.",
            )
        if loaded.name in statistics:
            raise InputError(
                f"statistic {loaded.name!r} of entry point {point.value!r}",
                "must have a name of its own",
                "the name is taken",
                "Rename it.",
            )
        statistics[loaded.name] = loaded
    return MappingProxyType(statistics)


def story_of(name: str) -> Story:
    """Return what the statistic of this name tells of itself; of an unregistered one, its name."""
    known = registered()
    return known[name].story if name in known else Story(name.replace("_", " "), "")


def called_here(asked_name: str) -> str | None:
    """Say under which name credibly knows a statistic that people call otherwise; None where none fits."""
    plain_name = asked_name.strip().lower().replace("-", "_").replace(" ", "_")
    known = ((name, entry.story.aliases) for name, entry in registered().items())
    remarks = {name: aliases[plain_name] for name, aliases in known if plain_name in aliases}
    if len(remarks) > 1:
        names = [f"{name} ({remark})" if remark else name for name, remark in remarks.items()]
        return f"Which one: {', '.join(names)}."
    for name, remark in remarks.items():
        return f"The nearest here is {name}, {remark}." if remark else f"{asked_name} is called {name} here."
    return _ELSEWHERE.get(plain_name)


def with_bins(statistic: str | Statistic, n_bins: int) -> Statistic:
    """Return a statistic that is named, with that many bins if it has any; instances as they are."""
    known = as_statistic(statistic)
    return (
        known.with_(n_bins=n_bins) if isinstance(statistic, str) and "n_bins" in known.settings() else known
    )


def require_listed(statistics: Any) -> None:
    """Raise where one statistic, or its name, stands in place of a list."""
    several = not isinstance(statistics, (str, Statistic))
    require_type(several, "must be a sequence", "Pass a list, even for a single item.", statistics=statistics)


def as_statistic(statistic_or_name: Any, *, tail: str | None = None) -> Statistic:
    """Return a statistic from a statistic or a name; functions must say their tail first."""
    if isinstance(statistic_or_name, Statistic):
        return statistic_or_name
    if isinstance(statistic_or_name, str):
        known = registered()
        if statistic_or_name not in known:
            remedy = called_here(statistic_or_name) or nearest(statistic_or_name, known)
            raise InputError("`statistic`", "must be a registered name", f"got {statistic_or_name!r}", remedy)
        return known[statistic_or_name]
    if isinstance(statistic_or_name, Callable):  # type: ignore[arg-type]
        if tail is not None:
            return statistic(statistic_or_name, tail=tail)  # type: ignore[arg-type]
        raise InputTypeError(
            "`statistic`",
            "must declare its tail",
            f"got the plain function {getattr(statistic_or_name, '__name__', statistic_or_name)!r}",
            'Wrap it: `cr.statistic(function, tail="greater")`.',
        )
    remedy = "See `credibly list` for the names."
    raise InputTypeError("`statistic`", "must be a statistic or a name", f"got {statistic_or_name!r}", remedy)
