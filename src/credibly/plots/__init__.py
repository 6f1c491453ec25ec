"""Results as pictures. ``result.plot()`` draws any result; the functions here draw straight from predictions.

Every picture is a `Display`: it holds the result it draws, says it in one sentence (``finding``), draws it on
any axes (``draw``) and has its numbers as a ``table()``. `picture` returns the display of a result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from credibly._arrays.errors import InputError
from credibly.plots.curves import ClasswiseDisplay, EnvelopeDisplay, ReliabilityDisplay, RiskCoverageDisplay
from credibly.plots.differences import ScoreDifferencesDisplay
from credibly.plots.display import (
    BLUE,
    INK,
    Display,
    Table,
    Words,
    kinds_of,
    new_axes,
    new_figure,
    panels,
    picture,
    printable,
    whole_figure,
)
from credibly.plots.error_spread import ErrorSpreadDisplay
from credibly.plots.groups import AuditDisplay
from credibly.plots.hypotests import CheckDisplay, NullDisplay
from credibly.plots.isotonic import CorpDisplay, MurphyDisplay
from credibly.plots.raters import DebiasingDisplay, DisagreementDisplay, LossMapDisplay
from credibly.plots.scores import ViolinDisplay
from credibly.plots.sets import HeatDisplay, SamplesDisplay, SizeDisplay
from credibly.results.base import Result
from credibly.results.curves import ReliabilityCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HELP = """Draw what `credibly.{maker}` finds, straight from predictions.

Parameters
----------
data : predictions, result or mapping of str to either
    One model, or several by name on the same axes; a result of `{maker}` is drawn directly.
*arguments
    Further arguments of `{maker}`: the labels first.
ax : Axes, optional
    Where to draw. Default: a new figure.
label : str, optional
    Name of the model. Several models on the same axes get different colours and a legend.
**settings
    Settings of `{maker}` and options of `{display}`.

Returns
-------
Axes
    The axes, their figure in ``.figure``.
"""


_OF_BINS = frozenset({"n_bins", "binning", "closed", "sample_weight"})
"""Settings that ask for the reliability diagram by bins: the isotonic one has none of them."""


def _from_data(name: str, maker: str, display: Callable[..., Display]) -> Callable[..., Axes]:
    """Return a function that makes a result from data and draws it."""

    def draw(
        data: Any, *arguments: Any, ax: Axes | None = None, label: str | None = None, **settings: Any
    ) -> Axes:
        if isinstance(data, Mapping):
            if not data:
                raise InputError(
                    "`data`", "must hold at least one model", "got none", "Pass one by its name."
                )
            for model, one in data.items():
                ax = draw(one, *arguments, ax=ax, label=model, **settings)
            assert ax is not None
            return ax
        options = {key: settings.pop(key) for key in known & settings.keys()}
        if not isinstance(data, Result):
            # What draws cannot compute: the arrow to what can exists while this runs, by the public surface.
            # tach-ignore(the public surface is a constant of the package)
            import credibly

            binned = display is CorpDisplay and _OF_BINS & settings.keys()
            made_by = "reliability_curve" if binned else maker
            data = attrgetter(made_by)(credibly)(data, *arguments, **settings)
        chosen = ReliabilityDisplay if isinstance(data, ReliabilityCurve) else display
        return chosen(data, **options).draw(ax, label=label)

    known = {field.name for field in dataclasses.fields(display)[1:]}  # type: ignore[arg-type]
    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = _HELP.format(maker=maker, display=display.__name__)
    return draw


reliability = _from_data("reliability", "corp_curve", CorpDisplay)
reliability.__doc__ = (reliability.__doc__ or "").replace(
    "\n\nParameters",
    "\n\nWith a setting of `credibly.reliability_curve`, such as ``n_bins=15``, it is drawn with bins."
    "\n\nParameters",
    1,
)
risk_coverage = _from_data("risk_coverage", "risk_coverage_curve", RiskCoverageDisplay)
pit = _from_data("pit", "pit_test", EnvelopeDisplay)
coverage = _from_data("coverage", "coverage_curve", EnvelopeDisplay)
null = _from_data("null", "calibration_test", NullDisplay)
check = _from_data("check", "predictive_check", CheckDisplay)
audit = _from_data("audit", "audit", AuditDisplay)
disagreement = _from_data("disagreement", "raters.decompose_disagreement", DisagreementDisplay)
murphy = _from_data("murphy", "selection.murphy_curve", MurphyDisplay)
spread = _from_data("spread", "hypotests.spread_curve", ErrorSpreadDisplay)
loss_map = _from_data("loss_map", "raters.decompose_loss", LossMapDisplay)

__all__ = [
    "BLUE",
    "INK",
    "ClasswiseDisplay",
    "DebiasingDisplay",
    "Display",
    "HeatDisplay",
    "SamplesDisplay",
    "ScoreDifferencesDisplay",
    "SizeDisplay",
    "Table",
    "ViolinDisplay",
    "Words",
    "audit",
    "check",
    "coverage",
    "disagreement",
    "kinds_of",
    "loss_map",
    "murphy",
    "new_axes",
    "new_figure",
    "null",
    "panels",
    "picture",
    "pit",
    "printable",
    "reliability",
    "risk_coverage",
    "spread",
    "whole_figure",
]
