"""The unified score: models over trade-offs, its parts for right and wrong predictions, instances."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, one_of, require_positive
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import (
    BLUE,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    Display,
    Style,
    Words,
    apart,
    dots,
    draw_boxes,
    host_vector,
    name_ticks,
    ranges,
    series,
    shortened,
)
from credibly.plots.sets import rank_correlation
from credibly.results.scores import GROUPS, PARTS, EpistemicScore, Group
from credibly.selection.standings import Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Part = Literal["distance", "imprecision", "total"]
Scores = Ranking | EpistemicScore | Mapping[str, EpistemicScore]
_TITLES = {"distance": "Distance", "imprecision": "Imprecision", "total": "Score E"}
_BINS, _QUANTILES = 40, (0.05, 0.25, 0.5, 0.75, 0.95)


class TradeoffDisplay(Display, kind="tradeoffs", of=Ranking):
    """Mean score against trade-off, one line per model, with the places where models change order.

    Attributes
    ----------
    ranking : Ranking
        From `credibly.rank_models`; a comparison has it in ``.ranking``.
    most : float, optional
        Largest trade-off shown. Default: beyond the largest one requested and all changes of the leader.
    points : bool
        Whether to show models that predict one distribution.
    """

    size = (6.4, 4.2)
    words = Words("Score against trade-off", "trade-off", "mean score E")

    ranking: Ranking
    most: float | None = None
    points: bool = True

    def _require(self) -> None:
        if not 0 < self.end < math.inf:
            raise InputError("`most`", "must be a positive number", f"got {self.most!r}", "Use 2.")

    @functools.cached_property
    def leaders(self) -> tuple[tuple[float, float, str], ...]:
        """Who is first between which trade-offs."""
        return self.ranking.leaders(points=self.points)

    @property
    def end(self) -> float:
        """Largest trade-off shown."""
        if self.most is not None:
            return float(self.most)
        asked = [one for one in self.ranking.tradeoffs if math.isfinite(one)]
        return float(max([1.0, *asked, *(1.15 * low for low, _, _ in self.leaders if low <= 10)]))

    @functools.cached_property
    def lines(self) -> dict[str, tuple[float, float]]:
        """Where the line of each model starts, and its slope; the best at the largest trade-off first."""
        own = self.ranking
        slopes = own.imprecision
        places = {name: own.names.index(name) for name in own.order(self.end, points=self.points)}
        return {name: (float(own.distance[at]), float(slopes[at])) for name, at in places.items()}

    @property
    def crossings(self) -> HostArray:
        """Where two models change places, (c, 3): trade-off, mean score, whether the first place changes."""
        held = [one for one in self.ranking.crossings if {one.below, one.beyond} <= set(self.lines)]
        changes = {low for low, _, _ in self.leaders[1:]}
        rows = [(one.tradeoff, *self.lines[one.below], one.tradeoff in changes) for one in held]
        return np.array([(at, start + at * slope, leads) for at, start, slope, leads in rows]).reshape(-1, 3)

    @property
    def finding(self) -> str:
        """The lines in one sentence."""
        if len(self.leaders) == 1:
            return f"{self.leaders[0][2]} has the smallest mean score at every trade-off."
        parts = [
            f"{name} {'to ' + shown(high) if math.isfinite(high) else 'beyond'}"
            for _, high, name in self.leaders
        ]
        return f"Smallest mean score by trade-off: {', '.join(parts)}."

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw lines with their names at the end, and crossings as dots; leader changes are filled."""
        most = self.end
        starts, slopes = np.array(list(self.lines.values())).T
        ends = starts + most * slopes
        top = 1.05 * float(ends[np.isfinite(ends)].max(initial=1e-9))
        for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
            color, _, dashes = series(place)
            ax.plot([0, most], [start, end], color=color, linestyle=dashes, linewidth=1.5)
        if not small:
            self._name_lines(ax, ends, top)
        at, scores, leads = self.crossings.T
        for leader, face, edge, size in ((0, "none", INK, 3.5), (1, VERMILION, VERMILION, 6)):
            chosen = (at <= most) & (leads == leader)
            style: Style = {"markeredgecolor": edge, "markeredgewidth": 0.8, "markersize": size}
            dots(ax, at[chosen], scores[chosen], "o", edge, markerfacecolor=face, **style)
        ax.set_xlim(0, most)
        ax.set_ylim(0, top)

    def _name_lines(self, ax: Axes, ends: HostArray, top: float) -> None:
        """Write names beside the ends of lines; those of lines that end together are moved apart."""
        finite = np.flatnonzero(np.isfinite(ends))
        # a thread to the end of its line
        thread: dict[str, Any] = {
            "arrowstyle": "-",
            "linewidth": 0.4,
            "color": INK,
            "shrinkA": 1,
            "relpos": (0, 0.5),
        }
        style: Style = {"fontsize": 8, "color": INK, "va": "center", "parse_math": False}
        names = list(self.lines)
        for place, height in zip(finite.tolist(), apart(ends[finite], 0.05 * top, top), strict=True):
            text, end = shortened(names[place]), (self.end, ends[place])
            at = (1.06 * self.end, height)
            ax.annotate(text, end, xytext=at, annotation_clip=False, arrowprops=thread, **style)

    def _columns(self) -> dict[str, Any]:
        starts, slopes = np.array(list(self.lines.values())).T
        ends = starts + self.end * slopes
        return {
            "model": self.lines,
            "distance": starts,
            "imprecision": slopes,
            f"score at {self.end:g}": ends,
        }


class _ScoresDisplay(Display):
    """A picture of scores by name; one score goes by its kind, with its average beside it."""

    size = (6.4, 3.8)
    key_below = 0.3
    several = True

    scores: Scores

    @property
    def named(self) -> dict[str, EpistemicScore]:
        """The scores by name."""
        if isinstance(self.scores, Ranking):
            return dict(self.scores.scores)
        if isinstance(self.scores, EpistemicScore):
            own = {self.scores.kind: self.scores}
            return own if self.scores.average is None else {**own, "its mean": self.scores.average}
        return {str(name): score for name, score in self.scores.items()}


class ViolinDisplay(_ScoresDisplay, kind="violins", of=(EpistemicScore, Ranking)):
    """Distribution of one part of the score over right and over wrong predictions (C25 Figs. 2, 11, 12).

    Attributes
    ----------
    scores : EpistemicScore, Ranking or mapping of str to EpistemicScore
        The models.
    part : {"distance", "imprecision", "total"}
        Which part of the score.
    """

    scores: Scores
    part: Part = "distance"

    def _require(self) -> None:
        one_of("`part`", self.part, PARTS)

    @functools.cached_property
    def _values(self) -> dict[str, HostArray]:
        return {name: host_vector(getattr(one, self.part), self.part) for name, one in self.named.items()}

    @property
    def edges(self) -> HostArray:
        """Bins of the values."""
        finite = np.concatenate([one[np.isfinite(one)] for one in self._values.values()])
        return np.linspace(0.0, 1.02 * float(finite.max(initial=1e-9)), _BINS + 1)

    def shares(self, group: Group) -> HostArray:
        """Share of right or of wrong predictions per model and bin, (m, b)."""
        found = []
        for name, score in self.named.items():
            mask = (host_vector(score.right, "right") > 0) == (group == "right")
            held = self._values[name][mask & np.isfinite(self._values[name])]
            found.append(np.histogram(held, bins=self.edges)[0] / max(1, int(mask.sum())))
        return np.array(found)

    def means(self, group: Group) -> HostArray:
        """Means over right or over wrong predictions; NaN without any."""
        return np.array([score.summary[self.part][group].mean for score in self.named.values()])

    @property
    def finding(self) -> str:
        """The violins in one sentence."""
        higher, m = int((self.means("wrong") > self.means("right")).sum()), len(self.named)
        who = f"{higher} of {m} models" if m > 1 else (next(iter(self.named)) if higher else "no model")
        infinite = sum(int((~np.isfinite(one)).sum()) for one in self._values.values())
        lost = f" {infinite} infinite values are not drawn." if infinite else ""
        return f"{_TITLES[self.part]} is larger for wrong than for right predictions in {who}.{lost}"

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"{_TITLES[self.part]}, right and wrong", "", _TITLES[self.part].lower())

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw right predictions to the left of each model's line and wrong ones to the right."""
        places, edges = np.arange(len(self.named)), self.edges
        for group, side, color, marker in (("right", -1.0, BLUE, "o"), ("wrong", 1.0, ORANGE, "D")):
            shares = self.shares(group)  # type: ignore[arg-type]
            widths = 0.42 * side * shares / np.maximum(shares.max(axis=1, keepdims=True), 1e-12)
            sides = (places[:, None] + np.minimum(widths, 0.0), places[:, None] + np.maximum(widths, 0.0))
            ends = (np.broadcast_to(one, shares.shape) for one in (edges[:-1], edges[1:]))
            boxes = [one[shares > 0] for one in (*sides, *ends)]
            if boxes[0].size:
                draw_boxes(ax, *boxes, facecolor=color, linewidth=0, label=f"{group} predictions")
            style: Style = {"markersize": 4, "markerfacecolor": "none", "zorder": 3}
            dots(ax, places + 0.12 * side, self.means(group), marker, INK, **style)  # type: ignore[arg-type]
        ax.vlines(places, edges[0], edges[-1], color=INK, linewidth=0.4)
        name_ticks(ax, list(self.named))
        ax.set_ylim(edges[0], edges[-1])

    def _columns(self) -> dict[str, Any]:
        right, wrong = self.means("right"), self.means("wrong")
        return {"model": self.named, "mean if right": right, "mean if wrong": wrong}


class ScoreBarDisplay(_ScoresDisplay, kind="bars", of=(EpistemicScore, Ranking)):
    """Mean distance, imprecision and score per model (C25 Figs. 7, 10).

    Attributes
    ----------
    scores : EpistemicScore, Ranking or mapping of str to EpistemicScore
        The models.
    group : {"all", "right", "wrong"}
        Which predictions.
    """

    scores: Scores
    group: Group = "all"

    def _require(self) -> None:
        one_of("`group`", self.group, GROUPS)

    def means(self, part: str) -> HostArray:
        """Mean of one part per model."""
        return np.array([one.summary[part][self.group].mean for one in self.named.values()])

    @property
    def finding(self) -> str:
        """The bars in one sentence."""
        total = self.means("total")
        best = int(np.argmin(np.where(np.isnan(total), np.inf, total)))
        least = f"{list(self.named)[best]} has the smallest mean score, {shown(float(total[best]))}"
        return f"Over {self.group} predictions {least}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"Means over {self.group} predictions", "", "mean")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw three bars per model."""
        places, tallest = np.arange(len(self.named)), 1e-9
        parts = (
            ("distance", BLUE, "distance"),
            ("imprecision", SKY, "imprecision"),
            ("total", VERMILION, "score E"),
        )
        for shift, (part, color, label) in zip((-0.27, 0.0, 0.27), parts, strict=True):
            values = self.means(part)
            heights = np.where(np.isfinite(values), values, 0.0)
            tallest = max(tallest, float(heights.max()))
            left, style = places + shift - 0.13, {"facecolor": color, "edgecolor": INK, "linewidth": 0.5}
            draw_boxes(ax, left, left + 0.26, 0.0 * heights, heights, label=label, **style)
        name_ticks(ax, list(self.named))
        ax.set_ylim(0, 1.08 * tallest)

    def _columns(self) -> dict[str, Any]:
        return {"names": self.named, **{part: self.means(part) for part in PARTS}}


class ScoreBoxDisplay(Display, kind="boxes", of=Ranking):
    """Boxes of the score over instances, per model and trade-off (C25 Fig. 2).

    Attributes
    ----------
    ranking : Ranking
        From `credibly.rank_models`.
    tradeoffs : sequence of float, optional
        Trade-offs. Default: the finite ones of the ranking.
    """

    size = (6.4, 4.0)
    key_below = 0.3
    words = Words("Scores of instances", "", "score E")

    ranking: Ranking
    tradeoffs: Sequence[float] | None = None

    def _require(self) -> None:
        if not self.asked or min(self.asked) < 0:
            got = f"got {self.tradeoffs!r}"
            raise InputError("`tradeoffs`", "must be finite and not negative", got, "Try [0.1, 1].")

    @property
    def asked(self) -> tuple[float, ...]:
        """The trade-offs."""
        given = self.ranking.tradeoffs if self.tradeoffs is None else self.tradeoffs
        return tuple(float(one) for one in given if math.isfinite(one))

    @functools.cached_property
    def quantiles(self) -> HostArray:
        """5, 25, 50, 75 and 95 % of the instances, (m, t, 5); infinite ones are beyond all."""
        found = []
        for score in self.ranking.scores.values():
            distance, imprecision = (
                host_vector(score.distance, "score"),
                host_vector(score.imprecision, "score"),
            )
            totals = [distance + one * imprecision for one in self.asked]
            found.append([np.quantile(total, _QUANTILES, method="lower") for total in totals])
        return np.array(found)

    @property
    def finding(self) -> str:
        """The boxes in one sentence."""
        medians = self.quantiles[:, :, 2]
        most = int(np.argmax(medians[:, -1] - medians[:, 0]))
        return (
            f"From trade-off {self.asked[0]:g} to {self.asked[-1]:g} the median score of "
            f"{list(self.ranking.scores)[most]} grows most, from {shown(float(medians[most, 0]))} to "
            f"{shown(float(medians[most, -1]))}."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw a group of boxes per model: middle half, median, and lines to 5 and 95 %."""
        m, t, _ = self.quantiles.shape
        width = 0.8 / t
        for place, (tradeoff, shade) in enumerate(zip(self.asked, np.linspace(0.25, 1.0, t), strict=True)):
            left = np.arange(m) - 0.4 + width * (place + 0.1)
            right = left + 0.8 * width
            low, bottom, middle, top, high = self.quantiles[:, place].T
            ax.vlines((left + right) / 2, low, high, color=INK, linewidth=0.6)
            style: Style = {"facecolor": SKY, "alpha": float(shade), "edgecolor": INK, "linewidth": 0.5}
            draw_boxes(ax, left, right, bottom, top, label=f"trade-off {tradeoff:g}", **style)
            ax.hlines(middle, left, right, color=ORANGE, linewidth=1.4)
        name_ticks(ax, list(self.ranking.scores))
        highest = self.quantiles[np.isfinite(self.quantiles)].max(initial=1e-9)
        ax.set_ylim(0, 1.05 * float(highest))

    def _columns(self) -> dict[str, Any]:
        columns = zip(_QUANTILES, self.quantiles.reshape(-1, len(_QUANTILES)).T, strict=True)
        return {
            "model": np.repeat(list(self.ranking.scores), len(self.asked)),
            "trade-off": [f"{one:g}" for one in self.asked] * len(self.ranking.scores),
            **{f"{100 * q:g} %": values for q, values in columns},
        }


class ScoreScatterDisplay(Display, kind="instances", of=EpistemicScore):
    """Distance against imprecision of single instances (C25 Fig. 8); infinite distances are left out.

    Attributes
    ----------
    score : EpistemicScore
        From `credibly.epistemic_score`, or one of ``ranking.scores``.
    limit : int
        Maximum number of instances drawn, evenly spaced.
    """

    size = (5.0, 3.8)
    words = Words("Distance against imprecision", "distance", "imprecision")

    score: EpistemicScore
    limit: int = 1000

    def _require(self) -> None:
        require_positive("`limit`", self.limit, "Use 1000.")
        if not self._rows.size:
            raise InputError(
                "`score`", "must hold a finite distance", "all are infinite", "Look at its labels."
            )

    @functools.cached_property
    def _rows(self) -> HostArray:
        kept = np.flatnonzero(np.isfinite(host_vector(self.score.distance, "distance")))
        spread = np.linspace(0, len(kept) - 1, min(self.limit, len(kept))).round().astype(np.int64)
        return np.asarray(kept[np.unique(spread)])

    @functools.cached_property
    def instances(self) -> tuple[HostArray, HostArray, HostArray]:
        """Distance, imprecision, and whether the prediction is wrong, of the instances drawn."""
        own = self.score
        distance, imprecision, right = (
            host_vector(one, "score")[self._rows] for one in (own.distance, own.imprecision, own.right)
        )
        return distance, imprecision, right == 0

    @property
    def finding(self) -> str:
        """The points in one sentence."""
        distance, imprecision, _ = self.instances
        return (
            f"{len(distance)} of {self.score.n} instances: rank correlation of distance and imprecision "
            f"{shown(rank_correlation(distance, imprecision))}."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw right predictions as dots and wrong ones as crosses."""
        distance, imprecision, wrong = self.instances
        for mask, color, marker, label in (
            (~wrong, BLUE, "o", "right predictions"),
            (wrong, VERMILION, "x", "wrong predictions"),
        ):
            dots(ax, distance[mask], imprecision[mask], marker, color, label, markersize=3, alpha=0.5)
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=min(0.0, float(imprecision.min())))

    def _columns(self) -> dict[str, Any]:
        """Return mean distance and share of right predictions by quarter of the imprecision."""
        distance, imprecision, wrong = self.instances
        order = np.argsort(imprecision, kind="stable")
        parts = [part for part in np.array_split(order, 4) if part.size]
        ends = np.array([imprecision[part[[0, -1]]] for part in parts])
        return {
            "imprecision": ranges(*ends.T),
            "instances": map(len, parts),
            "mean distance": [distance[part].mean() for part in parts],
            "share right": [1.0 - wrong[part].mean() for part in parts],
        }


class ConfidenceDisplay(Display, kind="confidence", of=EpistemicScore):
    """Entropy of the mean and imprecision of the set against confidence, bin by bin (C25 Fig. 17).

    Attributes
    ----------
    score : EpistemicScore
        From `credibly.epistemic_score`, or one of ``ranking.scores``.
    n_bins : int
        Number of equal bins between 0 and 1; empty ones are left out.
    """

    size = (5.0, 3.8)
    words = Words("Uncertainty and confidence", "confidence", "mean in the bin")

    score: EpistemicScore
    n_bins: int = 10

    def _require(self) -> None:
        require_positive("`n_bins`", self.n_bins, "Use 10.")

    @functools.cached_property
    def _bins(self) -> HostArray:
        confidence = host_vector(self.score.confidence, "confidence")
        return np.minimum((confidence * self.n_bins).astype(np.int64), self.n_bins - 1)

    @property
    def left(self) -> HostArray:
        """Left edges of the bins that hold instances."""
        return np.asarray(np.unique(self._bins) / self.n_bins)

    def in_bins(self, name: Literal["entropy", "imprecision"]) -> HostArray:
        """Mean, 10 % and 90 % of the instances in each bin, (3, b)."""
        own = host_vector(getattr(self.score, name), name)
        held = [own[self._bins == one] for one in np.unique(self._bins)]
        return np.array([(one.mean(), *np.quantile(one, (0.1, 0.9))) for one in held]).T

    @property
    def finding(self) -> str:
        """The bins in one sentence."""
        (entropy, *_), (imprecision, *_) = self.in_bins("entropy"), self.in_bins("imprecision")
        return (
            f"From the least to the most confident bin, entropy goes from {shown(float(entropy[0]))} to "
            f"{shown(float(entropy[-1]))} and imprecision from {shown(float(imprecision[0]))} to "
            f"{shown(float(imprecision[-1]))}."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw means as marks and the middle 80 % of instances as lines."""
        width = 1 / self.n_bins
        measure = f"imprecision ({self.score.settings.get('measure', 'of the set')})"
        for sign, (mean, low, high), color, marker, label in (
            (-1, self.in_bins("entropy"), ORANGE, "s", "entropy of the mean"),
            (1, self.in_bins("imprecision"), BLUE, "o", measure),
        ):
            at = self.left + (0.5 + 0.12 * sign) * width
            ax.vlines(at, low, high, color=color, linewidth=1.2)
            dots(ax, at, mean, marker, color, label, markersize=5)
        ax.set_xlim(float(self.left.min()), float(self.left.max()) + width)
        ax.set_ylim(bottom=0)

    def _columns(self) -> dict[str, Any]:
        """Return the bins, with the middle 80 % of instances beside each mean."""
        entropy, imprecision = self.in_bins("entropy"), self.in_bins("imprecision")
        return {
            "confidence": ranges(self.left, self.left + 1 / self.n_bins),
            "instances": np.unique(self._bins, return_counts=True)[1],
            "entropy": entropy[0],
            "80 % of entropy": ranges(*entropy[1:]),
            "imprecision": imprecision[0],
            "80 % of imprecision": ranges(*imprecision[1:]),
        }
