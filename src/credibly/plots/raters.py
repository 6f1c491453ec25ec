"""Several labels per instance: disagreement, where the epistemic loss lies, what few raters do to it.

D21 Figures 1, 2a and 2b (Mimori et al. 2021).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly.evaluation import shown
from credibly.plots.curves import BinnedDisplay, Bins, filled_bins, interval_or_nan
from credibly.plots.display import (
    BLUE,
    INK,
    VERMILION,
    Display,
    Style,
    Words,
    diagonal,
    model_line,
    models_on,
    ranges,
)
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import Estimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ARC = "_arc"
"""Label of lines that stand for no model; the key leaves it out."""


class DisagreementDisplay(BinnedDisplay, kind="disagreement", of=DisagreementDecomposition):
    """Predicted against observed disagreement, with the band that follows from the numbers of raters.

    Attributes
    ----------
    parts : DisagreementDecomposition
        From `credibly.raters.decompose_disagreement`, for pairs of raters.
    level : float
        Coverage of the sampling band in each bin.
    """

    words = Words("Disagreement of two raters", "predicted disagreement", "observed disagreement")

    parts: DisagreementDecomposition
    level: float = 0.95

    def _require(self) -> None:
        self.bins  # noqa: B018 - refuses bins without a band

    @functools.cached_property
    def bins(self) -> Bins:
        """The bins that hold instances."""
        own = self.parts.bins
        edges = own.edges if own.edges.ndim == 1 else own.edges[0]
        columns = (own.count, own.predicted, own.observed, *own.band(self.level))
        return filled_bins(edges, *(one[0] for one in columns))

    @property
    def finding(self) -> str:
        """The diagram in one sentence."""
        own = self.bins
        gap = own.observed - own.predicted
        worst = int(np.argmax(own.count * np.abs(gap)))
        side = "more" if gap[worst] > 0 else "less"
        return (
            f"{int(own.outside.sum())} of {len(own.count)} non-empty bins lie outside the "
            f"{100 * self.level:.4g} % band that the number of raters implies; where the weight is "
            f"largest, at predicted {shown(float(own.predicted[worst]))}, raters disagree "
            f"{shown(float(abs(gap[worst])))} {side} than predicted "
            f"({counted(int(own.count[worst]), 'instance')})."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw diagonal, band, points."""
        own = self.bins
        assert own.high is not None
        top = 1.05 * float(max(own.right.max(), own.observed.max(), own.high.max()))
        self._draw_bins(ax, small, top, f"{100 * self.level:.4g} % sampling band of the raters")
        ax.set_xlim(-0.02 * top, top)
        ax.set_ylim(-0.02 * top, top)


class SpreadDisplay(Display, kind="classes", of=DisagreementDecomposition):
    """Mean predicted against mean observed disagreement, class by class.

    Attributes
    ----------
    parts : DisagreementDecomposition
        From `credibly.raters.decompose_disagreement`, with terms per class.
    class_names : sequence of str, optional
        Names of the classes. Default: their indices.
    """

    words = Words("Disagreement by class", "mean predicted disagreement", "mean observed disagreement")

    parts: DisagreementDecomposition
    class_names: Sequence[str] | None = None

    def _require(self) -> None:
        terms = (self.parts.per_class_predicted, self.parts.per_class_observed)
        if any(one is None or one.stderr is None for one in terms):
            raise InputError(
                "`parts`",
                "must have terms per class with standard errors",
                "these have none",
                "Use `decompose_disagreement` on two or more instances, or a statistic with several values.",
            )
        count = len(self._terms[0].value)
        if len(self.names) != count:
            got = f"got {len(self.names)}"
            raise InputError("`class_names`", f"must name {count} classes", got, "Name each once.")

    @property
    def _terms(self) -> tuple[Estimates, Estimates]:
        predicted, observed = self.parts.per_class_predicted, self.parts.per_class_observed
        assert predicted is not None
        assert observed is not None
        return predicted, observed

    @property
    def names(self) -> tuple[str, ...]:
        """The classes."""
        names = range(len(self._terms[0].value)) if self.class_names is None else self.class_names
        return tuple(map(str, names))

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        predicted, observed = (one.value for one in self._terms)
        gap = observed - predicted
        worst = int(np.argmax(np.abs(gap)))
        side = "more" if gap[worst] > 0 else "less"
        return (
            f"The largest difference from the predicted disagreement is about class {self.names[worst]}: "
            f"{shown(float(observed[worst]))} observed, {side} than the "
            f"{shown(float(predicted[worst]))} predicted."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw diagonal, one cross of standard errors per class."""
        predicted, observed = self._terms
        top = 1.15 * float(max(predicted.value.max(), observed.value.max(), 1e-6))
        diagonal(ax, top, "as predicted")
        errors: Style = {"xerr": 1.96 * predicted.stderr, "yerr": 1.96 * observed.stderr, "elinewidth": 0.9}  # type: ignore[operator]
        style: Style = {"linestyle": "none", "marker": "o", "markersize": 4 if small else 5, "color": BLUE}
        label = "a class, with 95 % intervals"
        ax.errorbar(predicted.value, observed.value, label=label, **errors, **style)
        for x, y, name in zip(predicted.value, observed.value, self.names, strict=True):
            # names of classes are the user's: a dollar sign in them does not start a formula
            beside: Style = {"xytext": (4, 3), "textcoords": "offset points"}
            ax.annotate(name, (x, y), fontsize=7, color=INK, parse_math=False, **beside)
        ax.set_xlim(0, top)
        ax.set_ylim(0, top)

    def _columns(self) -> dict[str, Any]:
        predicted, observed = self._terms
        return {
            "names": self.names,
            "predicted": predicted.value,
            "observed": observed.value,
            "predicted error": predicted.stderr,
            "observed error": observed.stderr,
        }


class LossMapDisplay(Display, kind="loss_map", of=LossDecomposition):
    """Calibration error against dispersion error, one point per model, with arcs of equal epistemic loss.

    Attributes
    ----------
    parts : LossDecomposition or mapping of str to LossDecomposition
        One model, or several by name. An error below zero means that its square was estimated below zero.
    """

    size = (4.6, 4.6)
    several = True
    words = Words("Calibration and dispersion", "calibration error", "dispersion error")

    parts: LossDecomposition | Mapping[str, LossDecomposition]

    @property
    def named(self) -> dict[str, LossDecomposition]:
        """The models by name."""
        return dict(self.parts) if isinstance(self.parts, Mapping) else {"model": self.parts}

    @property
    def errors(self) -> HostArray:
        """Calibration and dispersion error with the ends of their intervals, (models, 2, 3)."""
        pairs = ((one.calibration_error, one.dispersion_error) for one in self.named.values())
        return np.array([[(part.value, *interval_or_nan(part)) for part in pair] for pair in pairs])

    @property
    def finding(self) -> str:
        """The map in one sentence."""
        values = self.errors[..., 0]
        squares = values * np.abs(values)
        best = int(np.argmin(squares.sum(axis=1)))
        part = "dispersion" if squares[best, 1] >= squares[best, 0] else "calibration"
        name = list(self.named)[best]
        lead = (
            f"{name} has the smallest epistemic loss; most of it"
            if len(values) > 1
            else "Most of the epistemic loss"
        )
        return (
            f"{lead} is {part} loss (calibration error {shown(float(values[best, 0]))}, "
            f"dispersion error {shown(float(values[best, 1]))})."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw points with intervals, and arcs of equal epistemic loss."""
        self._draw_models(ax, list(self.named))

    def _model(self, ax: Axes, label: str) -> None:
        self._draw_models(ax, [label if len(self.named) == 1 else f"{label}, {name}" for name in self.named])

    def _draw_models(self, ax: Axes, names: Sequence[str]) -> None:
        ends = self.errors[np.isfinite(self.errors)]
        reach = 1.08 * float(max(ends.max(), 1e-6))
        low = min(-0.04 * reach, 1.08 * float(ends.min()))
        if models_on(ax):
            low, reach = min(low, ax.get_xlim()[0]), max(reach, ax.get_xlim()[1])
        for line in [line for line in ax.lines if line.get_label() == _ARC]:
            line.remove()  # those of fewer models do not reach far enough
        angle = np.linspace(0, np.pi / 2, 60)
        style: Style = {"color": INK, "linewidth": 0.6}
        for radius in np.linspace(0, 1.4 * reach, 8)[1:]:
            ax.plot(radius * np.cos(angle), radius * np.sin(angle), alpha=0.2, label=_ARC, **style)
        ax.axhline(0, label=_ARC, **style)
        ax.axvline(0, label=_ARC, **style)
        for name, ((x, *wide), (y, *high)) in zip(names, self.errors, strict=True):
            color = model_line(ax, [x], [y], name, linestyle="none", markersize=6).get_color()
            ax.plot(wide, [y, y], color=color, linewidth=1.2)
            ax.plot([x, x], high, color=color, linewidth=1.2)
        ax.set_xlim(low, reach)
        ax.set_ylim(low, reach)
        ax.set_aspect("equal")

    def _columns(self) -> dict[str, Any]:
        value, low, high = self.errors.reshape(-1, 3).T
        return {
            "model": np.repeat(list(self.named), 2),
            "error": ["calibration error", "dispersion error"] * len(self.named),
            "value": value,
            "95 % interval": ranges(low, high),
        }


class DebiasingDisplay(Display):
    """Plug-in and unbiased epistemic loss against the number of raters.

    Attributes
    ----------
    by_raters : mapping of int to LossDecomposition
        Decompositions of subsampled raters, by their number.
    whole : LossDecomposition
        The decomposition of all raters.
    """

    size = (5.0, 3.8)
    several = True
    words = Words("Debiasing against raters", "raters per instance", "epistemic loss")

    by_raters: Mapping[int, LossDecomposition]
    whole: LossDecomposition

    @property
    def n_raters(self) -> HostArray:
        """Raters kept per instance, few first."""
        return np.array(sorted(self.by_raters))

    @property
    def losses(self) -> HostArray:
        """Unbiased loss, the ends of its 95 % interval, and the plug-in loss, (4, s)."""
        parts = [self.by_raters[number] for number in self.n_raters.tolist()]
        rows = [(one.epistemic.value, *one.epistemic.interval(), one.plugin.epistemic.value) for one in parts]
        return np.array(rows).T

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        reference = self.whole.epistemic.value
        _, low, high, plugin = self.losses
        held = int(((low <= reference) & (reference <= high)).sum())
        return (
            f"The interval of the unbiased loss contains the value of all raters in {held} of {len(low)} "
            f"cases; with {self.n_raters[0]:g} raters the plug-in gives "
            f"{shown(float(plugin[0]))} instead of {shown(reference)} (interval {ranges(low, high)[0]})."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw both losses with the interval, and the value of all raters."""
        raters, (unbiased, low, high, plugin) = self.n_raters, self.losses
        reference = self.whole.epistemic.value
        ax.axhline(reference, color=INK, linestyle=(0, (4, 3)), linewidth=0.9, label="all raters")
        style: Style = {"markersize": 5, "linewidth": 1.2}
        error = np.stack([unbiased - low, high - unbiased])
        ax.errorbar(raters, unbiased, error, color=BLUE, marker="o", label="unbiased, 95 % interval", **style)
        ax.plot(raters, plugin, color=VERMILION, marker="D", label="plug-in", **style)
        ax.set_xscale("log")
        ax.set_xticks(raters, [f"{number:g}" for number in raters])
        ax.minorticks_off()

    def _columns(self) -> dict[str, Any]:
        unbiased, low, high, plugin = self.losses
        return {"n raters": self.n_raters, "unbiased": unbiased, "plugin": plugin, "low": low, "high": high}
