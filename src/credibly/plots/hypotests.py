"""Tests and checks: null distributions, acceptance regions, members, groups."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, one_of
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly.evaluation import shown, shown_range, title
from credibly.plots.display import (
    BLUE,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    Display,
    Style,
    Words,
    dots,
    draw_boxes,
    printable,
    ranges,
    sorted_dots,
)
from credibly.results.predictive import PredictiveCheck
from credibly.results.tests import CheckDetails, HypotestResult
from credibly.results.witness import WitnessDetails, WitnessDirection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BINS = 30
_FURTHEST = 3.0
_SHADES = (BLUE, ORANGE, SKY, VERMILION)
_MOST_LAYERS = 40
_NUMBERED = 12
_FACES = {"conflict": VERMILION, "no conflict found": SKY, "cannot tell": ORANGE}
_HATCHES = {"conflict": "///", "no conflict found": "", "cannot tell": "|||"}  # dots would take 94 kB of SVG
_LEVEL = 0.05


class NullDisplay(Display, kind="null", of=HypotestResult):
    """The replicates of a test, its acceptance region and the observed value.

    Attributes
    ----------
    result : HypotestResult
        A test that kept its replicates.
    acceptance : tuple of float, optional
        Values that are not rejected, at a level other than that of the test.
    """

    size = (5.0, 3.2)

    result: HypotestResult
    acceptance: tuple[float, float] | None = None

    def _require(self) -> None:
        null = self.result.null_distribution
        if null is None or not np.isfinite(null).any():
            raise UnsupportedError(
                f"the null distribution of `{self.result.statistic_name}`",
                "can be drawn only if replicates have finite values",
                "there are none" if null is None else f"all {null.size} are infinite",
                "Use a test that draws replicates, and a statistic that stays finite.",
            )

    @property
    def replicates(self) -> HostArray:
        """All replicates, infinite ones too."""
        null = self.result.null_distribution
        assert null is not None
        return null

    @functools.cached_property
    def histogram(self) -> tuple[HostArray, HostArray]:
        """Replicates per bin, and the edges of the bins."""
        return _histogram(self.replicates[np.isfinite(self.replicates)])

    @property
    def region(self) -> tuple[float, float]:
        """Values that are not rejected."""
        return self.result.acceptance_region if self.acceptance is None else self.acceptance

    @property
    def inside(self) -> bool:
        """Whether the observation lies in the acceptance region."""
        return self.region[0] <= self.result.statistic <= self.region[1]

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        infinite = int((~np.isfinite(self.replicates)).sum())
        count = counted(infinite, "replicate is", "replicates are")
        lost = f" {count} infinite and not drawn." if infinite else ""
        return f"{self._where}.{lost}"

    @property
    def _where(self) -> str:
        where = "inside" if self.inside else "outside"
        return (
            f"{title(self.result.statistic_name)} {shown(self.result.statistic)} lies {where} the acceptance "
            f"region ({shown_range(self.region)}), p = {shown(self.result.pvalue)}"
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(title(self.result.statistic_name))

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw histogram, acceptance region and the observed value."""
        (counts, edges), observed = self.histogram, self.result.statistic
        finite = [value for value in (edges[0], edges[-1], observed) if math.isfinite(value)]
        low, high = min(finite), max(finite)
        margin = 0.06 * (high - low) or 0.5
        left, right = low - margin, high + margin
        style: Style = {"facecolor": SKY, "alpha": 0.6, "edgecolor": BLUE, "linewidth": 0.4}
        draw_boxes(ax, edges[:-1], edges[1:], 0 * counts, counts, label="draws under the hypothesis", **style)
        start, end = max(self.region[0], left), min(self.region[1], right)
        ax.axvspan(start, end, ymin=0, ymax=0.035, color=BLUE, linewidth=0, label="acceptance region")
        top = 1.22 * float(counts.max())
        if math.isfinite(observed):
            color, marker = (BLUE, "o") if self.inside else (VERMILION, "D")
            ax.plot([observed] * 2, [0, 0.92 * top], linestyle=(0, (5, 2)), linewidth=1.4, color=color)
            said, size = f"observed {shown(observed)}", 5 if small else 6
            dots(ax, [observed], [0.92 * top], marker, color, said, markersize=size)
        else:
            ax.annotate("observed: infinite", (0.98, 0.9), xycoords="axes fraction", ha="right", color=INK)
        ax.set_xlim(left, right)
        ax.set_ylim(0, top)
        ax.set_yticks([])
        ax.locator_params(axis="x", nbins=4 if small else 6)
        ax.spines["left"].set_visible(False)

    def _columns(self) -> dict[str, Any]:
        counts, edges = self.histogram
        return {"value": ranges(edges[:-1], edges[1:]), "replicates": counts}


def _histogram(values: HostArray) -> tuple[HostArray, HostArray]:
    """Count in bins no narrower than the steps of a discrete statistic, or gaps would show like a comb."""
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        half = max(abs(low), 1.0) * 0.01
        return np.array([values.size]), np.array([low - half, low + half])
    distinct = np.unique(np.round(values, 12))
    bins = min(_MOST_BINS, max(1, math.ceil(math.sqrt(values.size))))
    if len(distinct) <= 2 * bins:
        step = float(np.diff(distinct).min())
        steps = round((high - low) / step) + 1
        per_bin = math.ceil(steps / bins)
        edges = low - step / 2 + per_bin * step * np.arange(math.ceil(steps / per_bin) + 1)
        return np.histogram(values, edges)[0], edges
    counts, edges = np.histogram(values, bins)
    return counts, edges


class _Strip(Display):
    """One line per statistic, each on the scale of its own acceptance region."""

    size = (6.4, 3.4)
    key_below = 0.2

    @property
    @abc.abstractmethod
    def lines(self) -> dict[str, HypotestResult[CheckDetails]]:
        """What each line is about, and its result."""

    @property
    def places(self) -> HostArray:
        """Observed values on a scale where the acceptance region is -1 to 1; at most 3 away from 0."""
        return np.array([_place(one.statistic, *one.acceptance_region) for one in self.lines.values()])

    @property
    def outside(self) -> HostArray:
        """Whether each observation lies outside."""
        regions = ((one.statistic, one.acceptance_region) for one in self.lines.values())
        return np.array([not low <= value <= high for value, (low, high) in regions])

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        far = [name for name, out in zip(self.lines, self.outside, strict=True) if out]
        total = len(self.lines)
        if not far:
            return f"All {total} observed values lie inside their acceptance regions."
        return (
            f"{len(far)} of {total} observed values lie outside their acceptance regions: {'; '.join(far)}."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw acceptance regions as bars, observed values as marks with their numbers beside."""
        heights = np.arange(len(self.lines))[::-1]
        ax.barh(heights, 2.0, left=-1.0, height=0.5, color=SKY, alpha=0.6, label="acceptance region")
        sorted_dots(ax, self.places, heights, self.outside, ("observed, inside", "observed, outside"))
        ax.set_yticks(heights, list(self.lines), color=INK, fontsize=7 if small else 8, parse_math=False)
        for height, one in zip(heights, self.lines.values(), strict=True):
            numbers = f"{shown(one.statistic)} ({shown_range(one.acceptance_region)})"
            beside: Style = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            style: Style = {"va": "center", "fontsize": 7, "color": INK, "annotation_clip": False, **beside}
            ax.annotate(numbers, (1.0, height), xytext=(4, 0), **style)
        ax.set_xlim(-_FURTHEST - 0.2, _FURTHEST + 0.2)
        ax.set_ylim(-0.6, len(heights) - 0.4)

    def _columns(self) -> dict[str, Any]:
        results = self.lines.values()
        return {
            "check": self.lines,
            "observed": [one.statistic for one in results],
            "acceptance": [one.acceptance_region for one in results],
            "p": [one.deciding_pvalue for one in results],
        }


def _place(value: float, low: float, high: float) -> float:
    """Return a value on the scale where low is -1 and high 1, cut at the edge of the picture."""
    if low <= value <= high and not (math.isfinite(low) and math.isfinite(high) and high > low):
        return 0.0  # a region without ends or without width
    if not (math.isfinite(low) and math.isfinite(high) and high > low and math.isfinite(value)):
        return math.copysign(_FURTHEST, value - (high if value > high else low))
    place = (2 * value - low - high) / (high - low)
    return max(-_FURTHEST, min(_FURTHEST, place))


class CheckDisplay(_Strip, kind="strip", of=PredictiveCheck):
    """What the model expects its statistics to be and what was observed, under both hypotheses.

    Attributes
    ----------
    check : PredictiveCheck
        From `credibly.predictive_check`.
    """

    words = Words("What the model expects", "observed value; the acceptance region is -1 to 1")

    check: PredictiveCheck

    @property
    def lines(self) -> dict[str, HypotestResult[CheckDetails]]:
        """Every statistic under every hypothesis."""
        parts = self.check.hypotheses.values()
        names = self.check.statistics
        return {f"{title(name)}, {part.name}": part.checks[name] for name in names for part in parts}


class BeforeAfterDisplay(_Strip, kind="before_after", of=PredictiveCheck):
    """Checks before and after recalibration (P21 Fig. 9).

    Attributes
    ----------
    before, after : PredictiveCheck
        Checks of the same statistics on the same data.
    hypothesis : {"bayesian", "independent"}, optional
        Which hypothesis. Default: the Bayesian one if both checks tested it.
    """

    before: PredictiveCheck
    after: PredictiveCheck
    hypothesis: str | None = None

    def _require(self) -> None:
        if self.before.statistics != self.after.statistics:
            raise InputError(
                "`before` and `after`",
                "must check the same statistics",
                f"got {self.before.statistics} and {self.after.statistics}",
                "Run both checks with the same `statistics`.",
            )
        if self.hypothesis is None and not self._shared:
            raise InputError(
                "`before` and `after`",
                "must test a common hypothesis",
                f"got {list(self.before.hypotheses)} and {list(self.after.hypotheses)}",
                "Run both checks under one hypothesis.",
            )

    @property
    def _shared(self) -> list[str]:
        return [name for name in self.before.hypotheses if name in self.after.hypotheses]

    @property
    def chosen(self) -> str:
        """The hypothesis shown."""
        return self._shared[0] if self.hypothesis is None else self.hypothesis

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"Recalibration, {self.chosen}", CheckDisplay.words.xlabel)

    @property
    def lines(self) -> dict[str, HypotestResult[CheckDetails]]:
        """Every statistic before and after."""
        return {
            f"{title(name)}, {when}": check.under(self.chosen).checks[name]
            for name in self.before.statistics
            for when, check in (("before", self.before), ("after", self.after))
        }


def _worst(check: PredictiveCheck) -> str:
    """Return the statistic with the smallest p-value."""
    return min(check.checks.values(), key=lambda one: one.deciding_pvalue).statistic_name


class MemberHistogramDisplay(Display, kind="members", of=PredictiveCheck):
    """Replicates of one statistic, stacked by the member that drew them; members in the order of their means.

    Attributes
    ----------
    check : PredictiveCheck
        A check of the Bayesian hypothesis.
    statistic : str, optional
        Which statistic. Default: the one with the smallest p-value.
    """

    size = (5.0, 3.4)

    check: PredictiveCheck
    statistic: str | None = None

    def _require(self) -> None:
        part = self.check.bayesian
        if part is None or part.members is None:
            raise UnsupportedError(
                "replicates by member",
                "exist under the Bayesian hypothesis",
                "it was not tested",
                'Run the check with `hypothesis="bayesian"` or "both".',
            )
        one_of("`statistic`", self.statistic or _worst(self.check), part.checks)
        self.null  # noqa: B018 - refuses replicates that cannot be drawn

    @functools.cached_property
    def null(self) -> NullDisplay:
        """The replicates of all members together."""
        assert self.check.bayesian is not None
        return NullDisplay(self.check.bayesian.checks[self.statistic or _worst(self.check)])

    @functools.cached_property
    def by_member(self) -> dict[int, HostArray]:
        """Finite replicates of every member, the smallest mean first and members without any last."""
        drew, values = self.check.bayesian.members, self.null.replicates  # type: ignore[union-attr]
        assert drew is not None
        own = {j: values[np.isfinite(values) & (drew == j)] for j in range(self.check.m)}
        return dict(sorted(own.items(), key=lambda item: item[1].mean() if item[1].size else np.inf))

    @property
    def means(self) -> HostArray:
        """Mean of the replicates of each member; NaN where it drew none."""
        return np.array([own.mean() if own.size else np.nan for own in self.by_member.values()])

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        drew = self.means[~np.isnan(self.means)]
        reach = f"reach from {shown(float(drew.min()))} to {shown(float(drew.max()))}"
        return f"{self.null._where}; the means of {drew.size} members {reach}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"{self.null.words.title} by member")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw stacked histograms, the mean of every member below, and the observed value."""
        edges, observed = self.null.histogram[1], self.null.result.statistic
        bottom = np.zeros(len(edges) - 1)
        drawn = list(self.by_member.values())
        # neighbours among very many members share a layer: nobody sees 200 of them, and the page stays small
        layers = np.array_split(np.arange(len(drawn)), min(len(drawn), _MOST_LAYERS))
        for place, members in enumerate(layers):
            style: Style = {"facecolor": _SHADES[place % len(_SHADES)], "edgecolor": INK, "linewidth": 0.3}
            top_edges = bottom + np.histogram(np.concatenate([drawn[j] for j in members]), edges)[0]
            held = top_edges > bottom
            if held.any():
                boxes = (edges[:-1][held], edges[1:][held], bottom[held], top_edges[held])
                draw_boxes(ax, *boxes, alpha=0.6, **style)
            bottom = top_edges
        top = 1.15 * float(bottom.max())
        strip = -0.08 * top
        for place, (member, mean) in enumerate(zip(self.by_member, self.means, strict=True)):
            if math.isnan(mean):
                continue
            dots(ax, [mean], [strip], "|", _SHADES[place % len(_SHADES)], markersize=7)
            if len(self.means) <= _NUMBERED:
                ax.annotate(str(member), (mean, 1.6 * strip), ha="center", va="center", fontsize=6, color=INK)
        if math.isfinite(observed):
            style = {
                "marker": "o" if self.null.inside else "D",
                "markevery": [1],
                "linestyle": (0, (5, 2)),
            }
            ax.plot([observed] * 2, [0, 0.95 * top], color=INK, label=f"observed {shown(observed)}", **style)
        dots(ax, [], [], "|", INK, "mean of a member's replicates")
        ax.set_ylim(2.2 * strip, top)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)

    def _columns(self) -> dict[str, Any]:
        sizes = [own.size for own in self.by_member.values()]
        return {"member": self.by_member, "replicates": sizes, "mean": self.means}


class GroupGridDisplay(Display, kind="groups", of=PredictiveCheck):
    """Verdict and p-value of every group, two grouping factors as a grid, one as a column (P21 Figs. 7, 11).

    Attributes
    ----------
    check : PredictiveCheck
        A check with groups.
    statistic : str, optional
        Which statistic. Default: the one with the smallest p-value.
    hypothesis : {"bayesian", "independent"}, optional
        Which hypothesis. Default: the Bayesian one if it was tested.
    level : float
        Level of the verdicts.
    """

    size = (5.6, 4.2)

    check: PredictiveCheck
    statistic: str | None = None
    hypothesis: str | None = None
    level: float = _LEVEL

    def _require(self) -> None:
        one_of("`statistic`", self.statistic or _worst(self.check), self.check.statistics)
        if not self.check.under(self.chosen).groups or len(self.check.factors) > 2:
            raise UnsupportedError(
                "a grid of groups",
                "needs one or two grouping factors",
                f"got {len(self.check.factors)}",
                "Pass `groups=` with one or two factors.",
            )

    @property
    def chosen(self) -> str:
        """The hypothesis shown."""
        return next(iter(self.check.hypotheses)) if self.hypothesis is None else self.hypothesis

    @property
    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the groups along each side."""
        rows, *columns = self.check.factors.values()
        return rows, columns[0] if columns else ("",)

    @functools.cached_property
    def cells(self) -> dict[tuple[int, int], HypotestResult[CheckDetails]]:
        """Results by row and column; a group without instances has none."""
        groups, name = self.check.under(self.chosen).groups, self.statistic or _worst(self.check)
        named = {
            (row, column): f"{first} / {second}" if second else first
            for row, first in enumerate(self.sides[0])
            for column, second in enumerate(self.sides[1])
        }
        return {at: groups[group][name] for at, group in named.items() if group in groups}

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        words = [one.verdict(self.level) for one in self.cells.values()]
        counts = ", ".join(f"{words.count(word)} {word}" for word in _FACES if word in words)
        name = title(self.statistic or _worst(self.check))
        return f"{name} in {len(words)} groups, {self.chosen} hypothesis: {counts}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"{title(self.statistic or _worst(self.check))} by group")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one box per group, its p-value inside; conflicts are hatched as well as coloured."""
        from matplotlib.patches import Rectangle

        named: set[str] = set()
        for (row, column), one in self.cells.items():
            word = one.verdict(self.level)
            style: Style = {
                "facecolor": _FACES[word],
                "hatch": _HATCHES[word],
                "edgecolor": INK,
                "linewidth": 0.3,
            }
            label = None if word in named else word
            ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, alpha=0.45, label=label, **style))
            named.add(word)
            text = shown(one.deciding_pvalue)
            ax.annotate(text, (column, row), ha="center", va="center", fontsize=7, color=INK)
        rows, columns = self.sides
        style = {"fontsize": 6 if small else 7, "color": INK, "parse_math": False}
        ax.set_xticks(range(len(columns)), [printable(name) for name in columns], **style)
        ax.set_yticks(range(len(rows)), [printable(name) for name in rows], **style)
        ax.set_xlim(-0.5, len(columns) - 0.5)
        ax.set_ylim(len(rows) - 0.5, -0.5)

    def _columns(self) -> dict[str, Any]:
        (rows, columns), results = self.sides, self.cells.values()
        return {
            "group": [f"{rows[row]} {columns[column]}".strip() for row, column in self.cells],
            "adjusted p": [one.deciding_pvalue for one in results],
            "sharpness": [one.details.sharpness for one in results],
            "verdict": [one.verdict(self.level) for one in results],
        }


class WitnessDisplay(Display, kind="witness", of=HypotestResult[WitnessDetails]):
    """What a witness predicted about classes and what happened: frequencies next to what the set allows.

    Attributes
    ----------
    result : HypotestResult of WitnessDetails
        From ``credibly.hypotests.witness_test``, or the ``validity`` of ``credibly.credal_test``.
    class_names : sequence of str, optional
        Names of the classes.
    limit : int
        Maximum number of directions shown, the clearest first.
    """

    size = (5.0, 3.4)

    result: HypotestResult[WitnessDetails]
    class_names: Sequence[str] | None = None
    limit: int = 8

    @property
    def directions(self) -> dict[str, WitnessDirection]:
        """What is drawn: a class, and whether it was said to happen more or less often than allowed."""
        found = {}
        for one in self.result.details.directions[: self.limit]:
            found[f"{one.name(self.class_names)}, {'more' if one.more else 'less'} often"] = one
        return found

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        told, pvalue = self.result.details.where(self.class_names), shown(self.result.pvalue)
        if self.result.details.impossible_rows.size:
            return f"{self.result.details.impossible_words()}."
        if not told:
            return f"No class was found to occur more or less often than the set allows (p = {pvalue})."
        return f"Where the witness points most clearly, {told} (p = {pvalue} for the whole test)."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("What the set allows", "frequency of the class")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw a bar from lower to upper bound per direction, and the frequency."""
        drawn = list(self.directions.values())
        places = np.arange(len(drawn))[::-1]
        lower, upper, observed, score = (
            np.array([getattr(one, name) for one in drawn])
            for name in ("lower", "upper", "observed", "score")
        )
        width = np.maximum(upper - lower, 0.004)
        ax.barh(places, width, left=lower, height=0.5, color=SKY, label="what the set allows")
        for beyond, color, marker, label in (
            (score > 0, VERMILION, "D", "observed, beyond the set"),
            (score <= 0, BLUE, "o", "observed, within"),
        ):
            if beyond.any():
                style: Style = {"linestyle": "none", "marker": marker, "color": color}
                ax.plot(observed[beyond], places[beyond], label=label, **style)
        ax.set_yticks(places, [f"{name} (n = {one.n})" for name, one in self.directions.items()])
        ax.set_xlim(-0.02, 1.02)
        room = 0.6 + max(0, 4 - len(drawn)) / 2  # a single bar does not fill the picture
        ax.set_ylim(-room, len(drawn) - 1 + room)

    def _columns(self) -> dict[str, list[Any]]:
        drawn = self.directions
        numbers = {
            name: [getattr(one, field) for one in drawn.values()]
            for name, field in (
                ("instances", "n"),
                ("lower", "lower"),
                ("upper", "upper"),
                ("observed", "observed"),
                ("standard deviations beyond", "score"),
            )
        }
        return {"class": list(drawn), **numbers}
