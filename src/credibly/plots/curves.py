"""Curves: reliability, recalibration, envelopes over levels, risk against coverage, power of a check."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.errors import InputError, require_positive
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import capital, counted
from credibly.evaluation import shown, title
from credibly.evaluation.comparison_words import in_units
from credibly.evaluation.stages import mean_gap
from credibly.plots.display import (
    BLUE,
    COUNTS_DEPTH,
    INK,
    SKY,
    VERMILION,
    Display,
    Style,
    Words,
    diagonal,
    dots,
    draw_boxes,
    hang_counts,
    line_style,
    model_line,
    models_on,
    panels,
    picture,
    ranges,
    sorted_dots,
    unit_square,
)
from credibly.results.curves import DRAWS_REPEAT, EnvelopeCurve, ReliabilityCurve, RiskCoverageCurve
from credibly.results.estimates import Estimate, RootEstimate
from credibly.results.power import PowerCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROUNDING = 1e-12
_LISTED = np.arange(1, 11) / 10
"""Coverages in the table of a risk-coverage curve, which itself has hundreds of points."""


@dataclasses.dataclass(frozen=True)
class Bins:
    """Bins that hold instances: their edges, means, counts (or total weights), and the band of the means."""

    left: HostArray
    right: HostArray
    predicted: HostArray
    observed: HostArray
    count: HostArray
    low: HostArray | None = None
    high: HostArray | None = None

    @property
    def outside(self) -> HostArray:
        """Which bins lie outside their band; none where there is no band."""
        if self.low is None or self.high is None:
            return np.zeros(self.observed.shape, dtype=bool)
        return (self.observed < self.low - _ROUNDING) | (self.observed > self.high + _ROUNDING)


def filled_bins(edges: HostArray, count: HostArray, *columns: HostArray) -> Bins:
    """Return the bins that hold instances; `columns` are predicted, observed and the ends of the band."""
    filled = count > 0
    predicted, observed, *band = (one[filled] for one in columns)
    return Bins(edges[:-1][filled], edges[1:][filled], predicted, observed, count[filled], *band)


class BinnedDisplay(Display):
    """Predicted against observed, bin by bin, with the band of what chance explains in each."""

    @property
    @abc.abstractmethod
    def bins(self) -> Bins:
        """The bins that hold instances."""

    def _draw_bins(self, ax: Axes, small: bool, top: float, band: str) -> None:
        own = self.bins
        diagonal(ax, top, "perfect calibration")
        if own.low is not None and own.high is not None:
            least = 0.006 * top  # a band of no height still has to be seen, within the range of the values
            low = np.minimum(own.low, top - least)
            high = np.maximum(own.high, low + least)
            style: Style = {"facecolor": SKY, "alpha": 0.35, "edgecolor": BLUE, "linewidth": 0.6, "zorder": 1}
            draw_boxes(ax, own.left, own.right, low, high, label=band, **style)
        words = ("observed" if own.low is None else "inside its band", "outside its band")
        size = 4.0 if small else 6.0
        sorted_dots(ax, own.predicted, own.observed, own.outside, words, markersize=size, zorder=3)

    def _model(self, ax: Axes, label: str) -> None:
        """Draw one line per model; marks of bins outside the model's band are filled."""
        own, first = self.bins, not models_on(ax)
        if first:
            diagonal(ax)
        line = model_line(ax, own.predicted, own.observed, label, markerfacecolor="none", zorder=3)
        far, marker, color = own.outside, line.get_marker(), line.get_color()
        if far.any():
            dots(ax, own.predicted[far], own.observed[far], marker, color, markersize=5, zorder=3)
        if own.low is not None and first:
            dots(ax, [], [], "o", INK, "filled: outside its band", markersize=5)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)

    def _columns(self) -> dict[str, Any]:
        own = self.bins
        columns = {
            "bin": ranges(own.left, own.right),
            "instances": own.count,
            "predicted": own.predicted,
            "observed": own.observed,
        }
        if own.low is None or own.high is None:
            return columns
        return {**columns, "band": ranges(own.low, own.high), "outside": own.outside}


def _short(count: float) -> str:
    """Write a number of instances in at most four characters."""
    if count < 1000:
        return f"{count:.3g}"
    return f"{count / 1e3:.2g}k" if count < 99_500 else f"{count / 1e6:.2g}M"


class ReliabilityDisplay(BinnedDisplay, kind="reliability", of=ReliabilityCurve):
    """Predicted probability against observed frequency, with consistency band and counts.

    The band of a bin contains the frequencies of labels drawn from the predictions themselves (Broecker and
    Smith 2007): a point outside its band deviates by more than chance explains in that bin.

    Attributes
    ----------
    curve : ReliabilityCurve
        From `credibly.reliability_curve` or an evaluation.
    """

    curve: ReliabilityCurve

    @functools.cached_property
    def bins(self) -> Bins:
        """The bins that hold instances."""
        own = self.curve
        return filled_bins(own.edges, own.weight, own.predicted, own.observed, *(own.band or ()))

    @property
    def error(self) -> float:
        """Mean gap, weighted by the counts: the binned calibration error."""
        return mean_gap(self.curve)

    @property
    def is_top_label(self) -> bool:
        """Whether confidence and accuracy are shown, not the probability of one class."""
        return self.curve.name == "top label"

    @property
    def finding(self) -> str:
        """The diagram in one sentence."""
        own = self.bins
        gap = np.abs(own.observed - own.predicted)
        worst = int(np.argmax(np.where(own.outside, 2.0, 1.0) * own.count * gap))
        what = "confidence" if self.is_top_label else "predicted probability"
        side = "above" if own.observed[worst] > own.predicted[worst] else "below"
        largest = (
            f"the gap with the largest weight is at {what} {shown(float(own.predicted[worst]))}, where the "
            f"observed frequency is {shown(float(gap[worst]))} {side} it "
            f"({own.count[worst]:g} of {self.curve.n} instances)"
        )
        if own.low is None or self.curve.level is None:
            return f"{capital(largest)}."
        bins, out = len(own.count), int(own.outside.sum())
        chance = (1 - self.curve.level) * bins
        verb = "lies outside its" if out == 1 else "lie outside their"
        return (
            f"{out} of {bins} non-empty bins {verb} {100 * self.curve.level:.4g} % band "
            f"(about {chance:.1f} would by chance); {largest}."
        )

    @property
    def summary(self) -> str:
        """The diagram in a few words, for small multiples."""
        own, error = self.bins, f"Error {shown(self.error)}"
        if own.low is None:
            return f"{error}."
        out = int(own.outside.sum())
        return (
            f"{error}; {out} of {len(own.count)} non-empty bins outside {'its' if out == 1 else 'their'} "
            f"band."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        if self.is_top_label:
            return Words("Confidence against accuracy", "confidence of the model", "how often it was right")
        return Words(self.curve.name, "predicted probability", "observed frequency")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw band, diagonal, points and counts."""
        self._draw_bins(ax, small, 1.0, f"{100 * (self.curve.level or 0):.4g} % band of chance")
        own = self.bins
        hang_counts(ax, own.left, own.right, own.count)
        unit_square(ax, small, COUNTS_DEPTH + (0.03 if small else 0.08))
        if small:
            return
        for x, count in zip((own.left + own.right) / 2, own.count, strict=True):
            ax.text(x, -COUNTS_DEPTH - 0.015, _short(count), ha="center", va="top", fontsize=7.5, color=INK)


@dataclasses.dataclass(frozen=True)
class ClasswiseDisplay:
    """Small reliability diagrams, one per class, the largest error first; equal errors keep their order.

    Attributes
    ----------
    curves : sequence of ReliabilityCurve
        One per class, such as ``evaluation.curves.per_class``.
    limit : int
        Maximum number of panels.
    n_classes : int, optional
        Number of classes. Default: that of the curves.
    """

    curves: Sequence[ReliabilityCurve]
    limit: int = 12
    n_classes: int | None = None

    @functools.cached_property
    def panels(self) -> tuple[ReliabilityDisplay, ...]:
        """The classes shown."""
        if not self.curves or self.limit < 1:
            raise InputError(
                "`curves` and `limit`",
                "must leave at least one class to show",
                f"got {len(self.curves)} curves and limit {self.limit!r}",
                "Give the curves of an evaluation, `evaluation.curves.per_class`.",
            )
        return tuple(sorted(map(ReliabilityDisplay, self.curves), key=lambda one: -one.error)[: self.limit])

    @property
    def finding(self) -> str:
        """The panels in one sentence."""
        worst = self.panels[0]
        hidden = (self.n_classes or len(self.curves)) - len(self.panels)
        others = counted(hidden, "class with a smaller error is", "classes with smaller errors are")
        name = capital(worst.curve.name)
        return (
            f"{name} has the largest error, {shown(worst.error)}{f'; {others} not shown' if hidden else ''}."
        )

    def draw(self, *, columns: int = 4) -> Figure:
        """Draw all panels on a new figure."""
        return panels(self.panels, columns=columns)


class ModelCurvesDisplay(Display, kind="reliability", of="Comparison"):
    """Confidence against accuracy of several models on the same instances.

    Attributes
    ----------
    comparison : Comparison
        From `credibly.compare`.
    most : int
        Maximum number of models to draw, those with the smallest log loss first.
    """

    comparison: Any
    most: int = 8

    @property
    def words(self) -> Words:
        """About the confidence, or about the event of two classes."""
        if "event_gap" in self.comparison.places:
            return Words("Probability against frequency", "probability of the event", "how often it happened")
        return Words("Confidence against accuracy", "confidence of the model", "how often it was right")

    def _require(self) -> None:
        require_positive("`most`", self.most, "Use 8.")

    @property
    def curves(self) -> dict[str, Display]:
        """The diagrams of the models, the smallest log loss first."""
        return {name: picture(self.comparison.curves[name]) for name in self.comparison.leading()}

    @property
    def drawn(self) -> dict[str, Display]:
        """Those that are drawn."""
        return dict(list(self.curves.items())[: self.most])

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        estimates = self.comparison.estimates
        gap = "event_gap" if "event_gap" in self.comparison.places else "confidence_gap"
        gaps = [f"{name} {in_units(gap, estimates[name][gap].value)}" for name in self.drawn]
        left = len(self.curves) - len(self.drawn)
        rest = counted(left, "model with a larger log loss is", "models with a larger log loss are")
        more = f" {rest} not drawn." if left else ""
        what = (
            "Probability minus frequency of the event" if gap == "event_gap" else "Confidence minus accuracy"
        )
        return f"{what} on average: {', '.join(gaps)}.{more}"

    def _marks(self, ax: Axes, small: bool) -> None:
        for name, one in self.drawn.items():
            one._model(ax, name)

    def _columns(self) -> dict[str, Any]:
        tables = {name: one._columns() for name, one in self.drawn.items()}
        first, *_ = tables.values()
        columns: dict[str, Any] = {"model": [name for name, one in tables.items() for _ in _first(one)]}
        for key in first:
            columns[key] = [cell for one in tables.values() for cell in one[key]]
        return columns


def _first(columns: Mapping[str, Iterable[object]]) -> Iterable[object]:
    """Return the first column of a table."""
    return next(iter(columns.values()))


def interval_or_nan(estimate: Estimate) -> tuple[float, float]:
    """Return the interval; NaN where it is refused."""
    refused = estimate.interval_refusal is not None
    refused |= estimate.stderr is None and not isinstance(estimate, RootEstimate)  # a root has its square's
    return (np.nan, np.nan) if refused else estimate.interval()


class EnvelopeDisplay(Display, kind="envelope", of=EnvelopeCurve):
    """Shares of labels against levels with a simultaneous envelope: PIT difference-ECDF or coverage curve.

    The difference-ECDF shows shares minus levels, which makes deviations visible that the eye would miss
    along the diagonal.   Saeilynoja, Buerkner and Vehtari 2022.

    Attributes
    ----------
    curve : EnvelopeCurve
        From `credibly.pit_test` or `credibly.coverage_curve`.
    """

    size = (5.0, 4.0)

    curve: EnvelopeCurve

    @property
    def _is_pit(self) -> bool:
        return self.curve.name == "pit"

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own = self.curve
        apart = own.observed - own.expected
        # the largest of those outside, where there are any
        worst = int(np.argmax(np.abs(apart) + 2.0 * own.outside))
        more = "more" if apart[worst] > 0 else "fewer"
        than, shifted = "stated", ""
        if not np.array_equal(own.expected, own.levels):
            than, shifted = (
                f"the {shown(float(own.expected[worst]))} that right predictions show",
                f" Here {DRAWS_REPEAT}.",
            )
        count, out = len(own.levels), int(own.outside.sum())
        envelope = f"its {100 * own.coverage:.4g} % envelope"
        where = f"leaves {envelope} at {out} of {count} levels"
        if not out and own.pvalue <= 1.0 - own.coverage:
            where = f"runs along the edge of {envelope}"
        elif not out:
            where = f"stays inside {envelope} at all {count} levels"
        place = "at or below the quantile" if self._is_pit else "inside the central interval"
        return (
            f"The curve {where}, p = {shown(own.pvalue)}; at level {shown(float(own.levels[worst]))}, "
            f"{shown(float(own.observed[worst]))} of the labels lie {place}, {more} than {than}.{shifted}"
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        if self._is_pit:
            share = "share of labels below it, minus level"
            return Words("Labels below quantiles", "level of the quantile", share)
        return Words("Coverage of intervals", "stated coverage", "observed coverage")

    def _over_base(self, *shares: HostArray) -> list[HostArray]:
        """Return shares as they are drawn: minus their levels where departures are the point."""
        return [share - self.curve.levels * self._is_pit for share in shares]

    def _marks(self, ax: Axes, small: bool) -> None:
        own = self.curve
        lower, upper, stated, observed = self._over_base(own.lower, own.upper, own.levels, own.observed)
        envelope = f"{100 * own.coverage:.4g} % envelope of the whole curve"
        ax.fill_between(own.levels, lower, upper, color=SKY, alpha=0.4, linewidth=0, label=envelope)
        ax.plot(own.levels, stated, linestyle=(0, (4, 3)), linewidth=0.8, color=INK, label="as stated")
        style: Style = {"marker": "o" if len(own.levels) < 20 else None, "markersize": 4, "label": "observed"}
        ax.plot(own.levels, observed, linewidth=1.4, color=BLUE, **style)
        if own.outside.any():
            x, y, size = own.levels[own.outside], observed[own.outside], 3 if small else 4
            dots(ax, x, y, "D", VERMILION, "outside", markersize=size)
        ax.set_xlim(0, 1)

    def _model(self, ax: Axes, label: str) -> None:
        own = self.curve
        lower, upper, stated, observed = self._over_base(own.lower, own.upper, own.levels, own.observed)
        if not models_on(ax):
            ax.plot(own.levels, stated, linestyle=(0, (4, 3)), linewidth=0.8, color=INK, label="as stated")
        few = {} if len(own.levels) < 20 else {"marker": None}
        line = model_line(ax, own.levels, observed, label, **few)
        ax.fill_between(own.levels, lower, upper, color=line.get_color(), alpha=0.12, linewidth=0)
        ax.set_xlim(0, 1)

    def _columns(self) -> dict[str, Any]:
        own = self.curve
        shares = self._over_base(own.observed, own.lower, own.upper)
        return {"level": own.levels, **dict(zip(("observed", "lower", "upper"), shares, strict=True))}


class RiskCoverageDisplay(Display, kind="risk_coverage", of=RiskCoverageCurve):
    """The share of wrong answers against the share of instances answered, the surest first.

    Attributes
    ----------
    curves : RiskCoverageCurve or mapping of str to RiskCoverageCurve
        From `credibly.risk_coverage_curve`; several by name, such as different orders for one model. For the
        first, the risk that the predictions state and that of the best order are drawn too.
    """

    size = (5.0, 4.0)
    several = True
    words = Words("Risk against coverage", "share of instances answered", "share of wrong answers")

    curves: RiskCoverageCurve | Mapping[str, RiskCoverageCurve]

    @property
    def named(self) -> dict[str, RiskCoverageCurve]:
        """The curves by name."""
        return dict(self.curves) if isinstance(self.curves, Mapping) else {self.curves.by: self.curves}

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        (name, first), *others = self.named.items()
        half, stated = (float(np.interp(0.5, first.coverage, one)) for one in (first.risk, first.stated))
        ordered = (
            f" Ordered by {by}: {shown(float(np.interp(0.5, one.coverage, one.risk)))}." for by, one in others
        )
        return (
            f"Among the surest half by {name}, {shown(half)} of the answers are wrong, against "
            f"{shown(float(first.risk[-1]))} of all answers; the predictions state {shown(stated)} for "
            f"that half."
            f"{''.join(ordered)}"
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        first = next(iter(self.named.values()))
        ax.fill_between(
            first.coverage, 0, first.best, color=SKY, alpha=0.4, linewidth=0, label="best possible order"
        )
        style: Style = {"linestyle": (0, (4, 3)), "linewidth": 0.8, "color": INK}
        ax.plot(first.coverage, first.stated, label="what the model expects", **style)
        for place, (name, one) in enumerate(self.named.items()):
            style = {**line_style(place), "marker": None}
            ax.plot(one.coverage, one.risk, linewidth=1.4, label=f"by {name}", **style)
        ax.set_xlim(0, 1)
        ax.set_ylim(bottom=0)

    def _model(self, ax: Axes, label: str) -> None:
        for name, one in self.named.items():
            said = label if len(self.named) == 1 else f"{label}, by {name}"
            line: Style = {"marker": None} if one.coverage.size > 1 else {}  # all equally sure: one point
            model_line(ax, one.coverage, one.risk, said, **line)
        ax.set_xlim(0, 1)
        ax.set_ylim(bottom=0)

    def _columns(self) -> dict[str, Any]:
        """Return risks at every tenth of the instances, and the areas."""
        first = next(iter(self.named.values()))
        found: dict[str, Any] = {"coverage": [*map(shown, _LISTED), "area"]}
        for name, one in self.named.items():
            found[f"risk by {name}"] = [*np.interp(_LISTED, one.coverage, one.risk), one.area.value]
        for name, values in (("stated", first.stated), ("best order", first.best)):
            found[name] = [*np.interp(_LISTED, first.coverage, values), ""]
        return found


class PowerDisplay(Display, kind="power", of=PowerCurve):
    """How often a check detects a distortion, by its size.

    Attributes
    ----------
    curve : PowerCurve
        From ``check.power()``.
    hypothesis : {"bayesian", "independent"}, optional
        Which hypothesis. Default: the first that was tested.
    """

    curve: PowerCurve
    hypothesis: str | None = None

    @property
    def chosen(self) -> str:
        """The hypothesis shown."""
        return next(iter(self.curve.power)) if self.hypothesis is None else self.hypothesis

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own = self.curve
        names = own.power[self.chosen]
        said = "; ".join(f"{title(name)} {_noticed(*own.smallest(name, self.chosen))}" for name in names)
        return f"Detected with power {own.wanted:g} ({own.injection}, {self.chosen}): {said}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("What the check would detect", self.curve.injection, "power")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one curve per statistic with its interval, the level and the wanted power."""
        own = self.curve
        for place, (name, power) in enumerate(own.power[self.chosen].items()):
            (line,) = ax.plot(own.grid, power, markersize=3.5, label=title(name), **line_style(place))
            ends = np.asarray(own.interval[self.chosen][name]).T
            ax.fill_between(own.grid, *ends, color=line.get_color(), alpha=0.15, linewidth=0)
        style: Style = {"color": INK, "linewidth": 0.6, "linestyle": (0, (1, 2))}
        for height in (own.level, own.wanted):
            ax.axhline(height, **style)
        ax.axvline(own.neutral, **style)
        ax.set_ylim(-0.02, 1.02)

    def _columns(self) -> dict[str, Any]:
        own = self.curve
        powers = {title(name): power for name, power in own.power[self.chosen].items()}
        return {own.injection: own.grid, **powers}


def _noticed(below: float | None, above: float | None) -> str:
    parts = [f"{shown(below)} or less"] if below is not None else []
    parts += [f"{shown(above)} or more"] if above is not None else []
    return " and ".join(parts) or "nothing on this grid"
