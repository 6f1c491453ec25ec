"""The unified score: models over trade-offs, its parts for right and wrong predictions, instances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from credibly._arrays.checks import require_positive_number
from credibly._arrays.errors import InputError, one_of, require_positive
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.drawing import BLUE, INK, SKY, VERMILION, Style, apart, line_style, shortened
from credibly.plots.pictures import Mark, Picture, draws, host_vector, mark, ranges, slanted
from credibly.results.scores import GROUPS, PARTS, EpistemicScore, Group
from credibly.selection.lines import Lines

Part = Literal["distance", "imprecision", "total"]
Scores = Lines | EpistemicScore | Mapping[str, EpistemicScore]
_TITLES = {"distance": "Distance", "imprecision": "Imprecision", "total": "Score E"}
_BINS = 40


@draws(Lines, "tradeoffs")
def tradeoffs(lines: Lines, most: float | None = None, points: bool = True) -> Picture:
    """Mean score against trade-off, one line per model, with the places where models change order.

    Parameters
    ----------
    lines : Lines
        A ranking by `credibly.rank_models` has them in ``.lines``, a comparison in ``.ranking.lines``.
    most : float, optional
        Largest trade-off shown. Default: beyond the largest one requested and all changes of the leader.
    points : bool
        Whether to show models that predict one distribution.
    """
    leaders = lines.leaders(points=points)
    if most is None:
        asked = [tradeoff for tradeoff in lines.tradeoffs if math.isfinite(tradeoff)]
        most = max([1.0, *asked, *(1.15 * low for low, _, _ in leaders if low <= 10)])
    require_positive_number(most, "most", "Use 2.")
    names = list(lines.order(most, points=points))  # the best at the largest trade-off first
    at = [lines.names.index(name) for name in names]
    starts, slopes = lines.distance[at], lines.imprecision[at]
    ends = starts + most * slopes
    top = 1.05 * float(ends[np.isfinite(ends)].max(initial=1e-9))
    finding = f"{leaders[0][2]} has the smallest mean score at every trade-off."
    if len(leaders) > 1:
        parts = [
            f"{name} {'to ' + shown(high) if math.isfinite(high) else 'beyond'}" for _, high, name in leaders
        ]
        finding = f"Smallest mean score by trade-off: {', '.join(parts)}."
    marks = []
    for place, pair in enumerate(zip(starts, ends, strict=True)):
        style: Style = {**line_style(place), "marker": None, "linewidth": 1.5}
        marks.append(mark("line", "observed", [0, most], pair, **style))
    return Picture(
        "Score against trade-off",
        finding,
        {"model": names, "distance": starts, "imprecision": slopes, f"score at {most:g}": ends},
        [
            *marks,
            *_names_of_lines(names, ends, float(most), top),
            *_crossings(lines, names, float(most), {low for low, _, _ in leaders[1:]}),
        ],
        "trade-off",
        "mean score E",
        size=(6.4, 4.2),
        axes={"xlim": (0, float(most)), "ylim": (0, top)},
    )


def _names_of_lines(names: list[str], ends: HostArray, most: float, top: float) -> list[Mark]:
    """Return names beside the ends of lines; those of lines that end together are moved apart."""
    finite = np.flatnonzero(np.isfinite(ends))
    # a thread to the end of its line
    thread = {"arrowstyle": "-", "linewidth": 0.4, "color": INK, "shrinkA": 1, "relpos": (0, 0.5)}
    style: Style = {"fontsize": 8, "va": "center", "annotation_clip": False, "arrowprops": thread}
    heights = apart(ends[finite], 0.05 * top, top)
    return [
        mark(
            "words", "ink", shortened(names[place]), (most, ends[place]), small=None,
            xytext=(1.06 * most, height), **style,
        )
        for place, height in zip(finite.tolist(), heights, strict=True)
    ]  # fmt: skip


def _crossings(lines: Lines, names: list[str], most: float, changes: set[float]) -> list[Mark]:
    """Return where two models change places; where the first place changes, the dot is filled."""
    crossings = [crossing for crossing in lines.crossings if {crossing.below, crossing.beyond} <= set(names)]
    where = np.array([crossing.tradeoff for crossing in crossings])
    below = [lines.names.index(crossing.below) for crossing in crossings]
    scores = lines.distance[below] + where * lines.imprecision[below]
    leads = np.array([crossing.tradeoff in changes for crossing in crossings], dtype=bool)
    marks = []
    for role, face, edge, size, some in (
        ("ink", "none", INK, 3.5, ~leads),
        ("far", VERMILION, VERMILION, 6, leads),
    ):
        drawn = (where <= most) & some
        style: Style = {"markeredgecolor": edge, "markeredgewidth": 0.8, "markersize": size, "marker": "o"}
        marks.append(mark("dots", role, where[drawn], scores[drawn], markerfacecolor=face, **style))
    return marks


def _named(scores: Scores) -> dict[str, EpistemicScore]:
    """Return scores by name; one score goes by its kind, with its average beside it."""
    if isinstance(scores, Lines):
        return dict(scores.scores)
    if isinstance(scores, EpistemicScore):
        average = {} if scores.average is None else {"its mean": scores.average}
        return {scores.kind: scores, **average}
    return {str(name): score for name, score in scores.items()}


@draws((EpistemicScore, Lines), "violins", several=True)
def violins(scores: Scores, part: Part = "distance") -> Picture:
    """Distribution of one part of the score over right and over wrong predictions (C25 Figs. 2, 11, 12).

    Parameters
    ----------
    scores : EpistemicScore, Lines or mapping of str to EpistemicScore
        The models.
    part : {"distance", "imprecision", "total"}
        Which part of the score.
    """
    one_of("`part`", part, PARTS)
    named = _named(scores)
    values = {name: host_vector(getattr(score, part)) for name, score in named.items()}
    finite = np.concatenate([numbers[np.isfinite(numbers)] for numbers in values.values()])
    edges = np.linspace(0.0, 1.02 * float(finite.max(initial=1e-9)), _BINS + 1)
    right = {name: host_vector(score.right) > 0 for name, score in named.items()}
    both: tuple[Group, Group] = ("right", "wrong")
    means = {group: np.array([score.summary[part][group].mean for score in named.values()]) for group in both}
    places, marks = np.arange(len(named)), []
    for group, side, role, marker in zip(both, (-1.0, 1.0), ("observed", "second"), ("o", "D"), strict=True):
        rows = []
        for name, numbers in values.items():
            chosen = right[name] == (group == "right")
            inside = numbers[chosen & np.isfinite(numbers)]
            rows.append(np.histogram(inside, bins=edges)[0] / max(1, int(chosen.sum())))
        shares = np.array(rows)
        widths = 0.42 * side * shares / np.maximum(shares.max(axis=1, keepdims=True), 1e-12)
        sides = (places[:, None] + np.minimum(widths, 0.0), places[:, None] + np.maximum(widths, 0.0))
        ends = (np.broadcast_to(end, shares.shape) for end in (edges[:-1], edges[1:]))
        boxes = [box[shares > 0] for box in (*sides, *ends)]
        if boxes[0].size:
            marks.append(mark("boxes", role, *boxes, linewidth=0, label=f"{group} predictions"))
        style: Style = {"marker": marker, "markersize": 4, "markerfacecolor": "none", "zorder": 3}
        marks.append(mark("dots", "ink", places + 0.12 * side, means[group], **style))
    higher = int((means["wrong"] > means["right"]).sum())
    who = f"{higher} of {len(named)} models"
    if len(named) == 1:
        who = next(iter(named)) if higher else "no model"
    infinite = sum(int((~np.isfinite(numbers)).sum()) for numbers in values.values())
    lost = f" {infinite} infinite values are not drawn." if infinite else ""
    return Picture(
        f"{_TITLES[part]}, right and wrong",
        f"{_TITLES[part]} is larger for wrong than for right predictions in {who}.{lost}",
        {"model": named, "mean if right": means["right"], "mean if wrong": means["wrong"]},
        [*marks, mark("vlines", "ink", places, edges[0], edges[-1], linewidth=0.4)],
        ylabel=_TITLES[part].lower(),
        size=(6.4, 3.8),
        axes={**slanted(named), "ylim": (edges[0], edges[-1])},
        key_below=0.3,
    )


@draws((EpistemicScore, Lines), "bars", several=True)
def bars(scores: Scores, group: Group = "all") -> Picture:
    """Mean distance, imprecision and score per model (C25 Figs. 7, 10).

    Parameters
    ----------
    scores : EpistemicScore, Lines or mapping of str to EpistemicScore
        The models.
    group : {"all", "right", "wrong"}
        Which predictions.
    """
    one_of("`group`", group, GROUPS)
    named = _named(scores)
    means = {part: np.array([score.summary[part][group].mean for score in named.values()]) for part in PARTS}
    total = means["total"]
    best = int(np.argmin(np.where(np.isnan(total), np.inf, total)))
    heights = {part: np.where(np.isfinite(height), height, 0.0) for part, height in means.items()}
    marks = []
    for shift, part, color, label in (
        (-0.27, "distance", BLUE, "distance"),
        (0.0, "imprecision", SKY, "imprecision"),
        (0.27, "total", VERMILION, "score E"),
    ):
        left, height = np.arange(len(named)) + shift - 0.13, heights[part]
        style: Style = {"facecolor": color, "edgecolor": INK, "linewidth": 0.5, "label": label}
        marks.append(mark("boxes", "observed", left, left + 0.26, 0.0 * height, height, **style))
    tallest = max(1e-9, *(float(height.max()) for height in heights.values()))
    return Picture(
        f"Means over {group} predictions",
        f"Over {group} predictions {list(named)[best]} has the smallest mean score, "
        f"{shown(float(total[best]))}.",
        {"names": named, **means},
        marks,
        ylabel="mean",
        size=(6.4, 3.8),
        axes={**slanted(named), "ylim": (0, 1.08 * tallest)},
        key_below=0.3,
    )


@draws(EpistemicScore, "instances")
def instances(score: EpistemicScore, limit: int = 1000) -> Picture:
    """Distance against imprecision of single instances (C25 Fig. 8); infinite distances are left out.

    Parameters
    ----------
    score : EpistemicScore
        From `credibly.epistemic_score`, or one of ``lines.scores``.
    limit : int
        Maximum number of instances drawn, evenly spaced.
    """
    require_positive("`limit`", limit, "Use 1000.")
    distance = host_vector(score.distance)
    kept = np.flatnonzero(np.isfinite(distance))
    if not kept.size:
        raise InputError("`score`", "must hold a finite distance", "all are infinite", "Look at its labels.")
    spread = np.linspace(0, len(kept) - 1, min(limit, len(kept))).round().astype(np.int64)
    rows = kept[np.unique(spread)]
    distance, imprecision = distance[rows], host_vector(score.imprecision)[rows]
    wrong = host_vector(score.right)[rows] == 0
    quarters = [part for part in np.array_split(np.argsort(imprecision, kind="stable"), 4) if part.size]
    style: Style = {"markersize": 3, "alpha": 0.5}
    right_marks: Style = {"label": "right predictions", **style}
    wrong_marks: Style = {"label": "wrong predictions", "marker": "x", **style}
    return Picture(
        "Distance against imprecision",
        f"{len(distance)} of {score.n} instances: rank correlation of distance and imprecision "
        f"{shown(rank_correlation(distance, imprecision))}.",
        {
            "imprecision": ranges(*np.array([imprecision[part[[0, -1]]] for part in quarters]).T),
            "instances": map(len, quarters),
            "mean distance": [distance[part].mean() for part in quarters],
            "share right": [1.0 - wrong[part].mean() for part in quarters],
        },
        [
            mark("dots", "observed", distance[~wrong], imprecision[~wrong], **right_marks),
            mark("dots", "far", distance[wrong], imprecision[wrong], **wrong_marks),
        ],
        "distance",
        "imprecision",
        size=(5.0, 3.8),
        axes={"xlim": (0, None), "ylim": (min(0.0, float(imprecision.min())), None)},
    )


def rank_correlation(first: HostArray, second: HostArray) -> float:
    """Return Spearman's correlation, NaN where one of the two does not vary."""
    ranks = np.stack([_ranks(first), _ranks(second)])
    if np.any(np.ptp(ranks, axis=1) == 0):
        return float("nan")
    return float(np.corrcoef(ranks)[0, 1])


def _ranks(values: HostArray) -> HostArray:
    """Return ranks from 1, ties at their mean, as `scipy.stats`, which takes a second to load, has them."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((counts.cumsum() - (counts - 1) / 2)[places])


@draws(EpistemicScore, "confidence")
def confidence(score: EpistemicScore, n_bins: int = 10) -> Picture:
    """Entropy of the mean and imprecision of the set against confidence, bin by bin (C25 Fig. 17).

    Parameters
    ----------
    score : EpistemicScore
        From `credibly.epistemic_score`, or one of ``lines.scores``.
    n_bins : int
        Number of equal bins between 0 and 1; empty ones are left out.
    """
    require_positive("`n_bins`", n_bins, "Use 10.")
    bins = np.minimum((host_vector(score.confidence) * n_bins).astype(np.int64), n_bins - 1)
    filled, counts = np.unique(bins, return_counts=True)
    left, width = filled / n_bins, 1 / n_bins

    def in_bins(values: HostArray) -> HostArray:
        """Return mean, 10 % and 90 % of the instances in each bin, (3, b)."""
        parts = [host_vector(values)[bins == place] for place in filled]
        return np.array([(inside.mean(), *np.quantile(inside, (0.1, 0.9))) for inside in parts]).T

    entropy, imprecision = in_bins(score.entropy), in_bins(score.imprecision)
    measure = f"imprecision ({score.settings.get('measure', 'of the set')})"
    marks = []
    for shift, role, (mean, low, high), label in (
        (-0.12, "second", entropy, "entropy of the mean"),
        (0.12, "observed", imprecision, measure),
    ):
        at = left + (0.5 + shift) * width
        marks += [
            mark("vlines", role, at, low, high, linewidth=1.2),
            mark("dots", role, at, mean, label=label, markersize=5),
        ]
    return Picture(
        "Uncertainty and confidence",
        f"From the least to the most confident bin, entropy goes from {shown(float(entropy[0, 0]))} to "
        f"{shown(float(entropy[0, -1]))} and imprecision from {shown(float(imprecision[0, 0]))} to "
        f"{shown(float(imprecision[0, -1]))}.",
        {
            "confidence": ranges(left, left + width),
            "instances": counts,
            "entropy": entropy[0],
            "80 % of entropy": ranges(*entropy[1:]),
            "imprecision": imprecision[0],
            "80 % of imprecision": ranges(*imprecision[1:]),
        },
        marks,
        "confidence",
        "mean in the bin",
        size=(5.0, 3.8),
        axes={"xlim": (float(left.min()), float(left.max()) + width), "ylim": (0, None)},
    )
