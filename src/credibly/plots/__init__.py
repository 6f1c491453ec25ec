"""Results as pictures. ``result.plot()`` draws any result; the functions here draw straight from predictions.

`picture` returns the `Picture` of a result: it says the result in one sentence (``finding``), draws it on any
axes (``draw``) and has its numbers as a ``table()``. `draws` registers pictures of other results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from credibly._arrays.errors import InputError
from credibly.plots import bins, curves, groups, hypotests, raters
from credibly.plots import scores as scores  # their pictures are found by `picture`
from credibly.plots import simplex as simplex
from credibly.plots.bins import worst_first
from credibly.plots.drawing import BLUE, INK, new_axes, new_figure, panels, printable, whole_figure
from credibly.plots.pictures import Mark, Picture, Table, draws, kinds_of, mark, options_of, picture
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
    Settings of `{maker}` and options of the picture.

Returns
-------
Axes
    The axes, their figure in ``.figure``.
"""


_OF_BINS = frozenset({"n_bins", "binning", "closed", "sample_weight"})
"""Settings that ask for the reliability diagram by bins: the isotonic one has none of them."""


def _from_data(name: str, maker: str, drawing: Callable[..., Picture]) -> Callable[..., Axes]:
    """Return a function that makes a result from data and draws it."""

    def draw(
        data: Any, *arguments: Any, ax: Axes | None = None, label: str | None = None, **settings: Any
    ) -> Axes:
        if isinstance(data, Mapping):
            if not data:
                raise InputError(
                    "`data`", "must hold at least one model", "got none", "Pass one by its name."
                )
            for model, predictions in data.items():
                ax = draw(predictions, *arguments, ax=ax, label=model, **settings)
            assert ax is not None
            return ax
        options = {key: settings.pop(key) for key in known & settings.keys()}
        if not isinstance(data, Result):
            # What draws cannot compute: the arrow to what can exists while this runs, by the public surface.
            # tach-ignore(the public surface is a constant of the package)
            import credibly

            binned = drawing is curves.corp and _OF_BINS & settings.keys()
            made_by = "reliability_curve" if binned else maker
            data = attrgetter(made_by)(credibly)(data, *arguments, **settings)
        chosen = bins.reliability if isinstance(data, ReliabilityCurve) else drawing
        return chosen(data, **options).draw(ax, label=label)

    known = set(options_of(drawing))
    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = _HELP.format(maker=maker)
    return draw


reliability = _from_data("reliability", "corp_curve", curves.corp)
reliability.__doc__ = (reliability.__doc__ or "").replace(
    "\n\nParameters",
    "\n\nWith a setting of `credibly.reliability_curve`, such as ``n_bins=15``, it is drawn with bins."
    "\n\nParameters",
    1,
)
risk_coverage = _from_data("risk_coverage", "risk_coverage_curve", curves.risk_coverage)
pit = _from_data("pit", "pit_test", curves.envelope)
coverage = _from_data("coverage", "coverage_curve", curves.envelope)
null = _from_data("null", "calibration_test", hypotests.null)
check = _from_data("check", "predictive_check", hypotests.check_strip)
audit = _from_data("audit", "audit", groups.audit)
disagreement = _from_data("disagreement", "raters.decompose_disagreement", raters.disagreement)
murphy = _from_data("murphy", "selection.murphy_curve", curves.murphy)
spread = _from_data("spread", "hypotests.spread_curve", bins.spread)
loss_map = _from_data("loss_map", "raters.decompose_loss", raters.loss_map)

__all__ = [
    "BLUE",
    "INK",
    "Mark",
    "Picture",
    "Table",
    "audit",
    "check",
    "coverage",
    "disagreement",
    "draws",
    "kinds_of",
    "loss_map",
    "mark",
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
    "worst_first",
]
