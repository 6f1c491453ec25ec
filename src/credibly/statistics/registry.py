"""Every statistic by name. One row here brings the trait tests, the docs table and `credibly list`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from credibly._arrays.errors import InputError, InputTypeError, nearest
from credibly.statistics.binned import classwise_ece, confidence_ece, top_label_ece
from credibly.statistics.coverage import interval_score, picp, quantile_calibration_error
from credibly.statistics.hosmer_lemeshow import hosmer_lemeshow
from credibly.statistics.kde import kde_ce, kl_ce
from credibly.statistics.mmd import mmd_ce
from credibly.statistics.proper import accuracy, brier, log_loss
from credibly.statistics.protocol import Statistic
from credibly.statistics.regression import crps, gaussian_log_loss, mae, rmse
from credibly.statistics.skce import skce
from credibly.statistics.user import statistic

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
    picp,
    quantile_calibration_error,
    crps,
    gaussian_log_loss,
    interval_score,
    rmse,
    mae,
)

ENTRY_POINTS = "credibly.statistics"


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
    >>> cr.registered()["brier"] is cr.brier
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
        if loaded.name in found:
            raise InputError(
                f"statistic {loaded.name!r} of entry point {point.value!r}",
                "must have a name of its own",
                "the name is taken",
                "Rename it.",
            )
        found[loaded.name] = loaded
    return MappingProxyType(found)


def as_statistic(given: Any, *, tail: str | None = None) -> Statistic:
    """Return a statistic from a statistic or a name; functions must say their tail first."""
    if isinstance(given, Statistic):
        return given
    if isinstance(given, str):
        known = registered()
        if given not in known:
            raise InputError(
                "`statistic`", "must be a registered name", f"got {given!r}", nearest(given, known)
            )
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
