"""Every statistic by name. One row here brings the trait tests, the docs table and `credibly list`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from credibly._arrays.errors import InputError, InputTypeError, nearest
from credibly.statistics.adaptive import t_cal
from credibly.statistics.binned import classwise_ece, confidence_ece, top_label_ece
from credibly.statistics.coverage import interval_score, picp, quantile_calibration_error
from credibly.statistics.hosmer_lemeshow import hosmer_lemeshow
from credibly.statistics.kde import kde_ce, kl_ce
from credibly.statistics.mmd import mmd_ce
from credibly.statistics.proper import accuracy, brier, log_loss
from credibly.statistics.protocol import Statistic, Story
from credibly.statistics.regression import crps, gaussian_log_loss, mae, rmse
from credibly.statistics.skce import skce
from credibly.statistics.smooth import smooth_ece
from credibly.statistics.spiegelhalter import spiegelhalter_z
from credibly.statistics.user import statistic
from credibly.statistics.walks import ecce, truthful_ce

BUILTIN: tuple[Statistic, ...] = (
    accuracy,
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
    spiegelhalter_z,
    picp,
    quantile_calibration_error,
    crps,
    gaussian_log_loss,
    interval_score,
    rmse,
    mae,
)

for _statistic in BUILTIN:
    # `help(cr.brier)` shows a docstring of the object where it has one, and the whole class where it has none
    object.__setattr__(_statistic, "__doc__", _statistic.documentation())

ENTRY_POINTS = "credibly.statistics"

_RANKED = (
    "Use `risk_coverage_curve` to see whether the surest answers are right: its area plays the part of AUROC."
)
_ELSEWHERE = {
    "auroc": _RANKED,
    "auc": _RANKED,
    "roc_auc": _RANKED,
    "aurc": "Use `risk_coverage_curve`, whose `area` it is.",
}
"""Numbers that people ask for by name and that a function gives which is no statistic."""


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
    found = {entry.name: entry for entry in BUILTIN}
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
                "must tell its story",
                "it has no `story`",
                "Give its class `story = Story(title=..., meaning=...)`.",
            )
        if loaded.name in found:
            raise InputError(
                f"statistic {loaded.name!r} of entry point {point.value!r}",
                "must have a name of its own",
                "the name is taken",
                "Rename it.",
            )
        found[loaded.name] = loaded
    return MappingProxyType(found)


def story_of(name: str) -> Story:
    """Return what the statistic of this name tells of itself; of an unregistered one, its name."""
    known = registered()
    return known[name].story if name in known else Story(name.replace("_", " "), "")


def called_here(given: str) -> str | None:
    """Say under which name credibly knows a statistic that people call otherwise; None where none fits."""
    asked = given.strip().lower().replace("-", "_").replace(" ", "_")
    found = {
        one.name: one.story.aliases[asked] for one in registered().values() if asked in one.story.aliases
    }
    if len(found) > 1:
        told = [f"{name} ({remark})" if remark else name for name, remark in found.items()]
        return f"Which one: {', '.join(told)}."
    for name, remark in found.items():
        return f"The nearest here is {name}, {remark}." if remark else f"{given} is called {name} here."
    return _ELSEWHERE.get(asked)


def as_statistic(given: Any, *, tail: str | None = None) -> Statistic:
    """Return a statistic from a statistic or a name; functions must say their tail first."""
    if isinstance(given, Statistic):
        return given
    if isinstance(given, str):
        known = registered()
        if given not in known:
            remedy = called_here(given) or nearest(given, known)
            raise InputError("`statistic`", "must be a registered name", f"got {given!r}", remedy)
        return known[given]
    if isinstance(given, Callable):  # type: ignore[arg-type]
        if tail is not None:
            return statistic(given, tail=tail)  # type: ignore[arg-type]
        raise InputTypeError(
            "`statistic`",
            "must declare its tail",
            f"got the plain function {getattr(given, '__name__', given)!r}",
            'Wrap it: `cr.statistic(function, tail="greater")`.',
        )
    raise InputTypeError(
        "`statistic`",
        "must be a statistic or a name",
        f"got {given!r}",
        "See `credibly list` for the names.",
    )
