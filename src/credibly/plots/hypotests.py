"""Tests and checks: null distributions, acceptance regions, members, groups, where a witness points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from credibly._arrays.errors import UnsupportedError, one_of
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly.evaluation import shown, shown_range, title
from credibly.plots.drawing import BLUE, INK, ORANGE, SKY, VERMILION, Style, printable
from credibly.plots.pictures import Mark, Picture, draws, host_vector, mark, near_and_far, ranges
from credibly.results.credal import ValidityDetails
from credibly.results.predictive import PredictiveCheck
from credibly.results.tests import CheckDetails, HypotestResult
from credibly.results.witness import WitnessDetails

_MOST_BINS = 30
_FURTHEST = 3.0
_SHADES = (BLUE, ORANGE, SKY, VERMILION)
_MOST_LAYERS = 40
_NUMBERED = 12
_ROLES = {"conflict": "far", "no conflict found": "chance", "cannot tell": "second"}
_HATCHES = {"conflict": "///", "no conflict found": "", "cannot tell": "|||"}  # dots would take 94 kB of SVG
_LEVEL = 0.05


class CountedReplicates(NamedTuple):
    """The replicates of a test, counted, and where the observed value lies among them."""

    values: HostArray
    counts: HostArray
    edges: HostArray
    region: tuple[float, float]
    inside: bool
    where: str

    @classmethod
    def of(cls, result: HypotestResult, acceptance: tuple[float, float] | None = None) -> CountedReplicates:
        """Count the replicates of a test; `acceptance` is its region at another level."""
        drawn = result.null_distribution
        if drawn is None or not np.isfinite(drawn).any():
            raise UnsupportedError(
                f"the null distribution of `{result.statistic_name}`",
                "can be drawn only if replicates have finite values",
                "there are none" if drawn is None else f"all {drawn.size} are infinite",
                "Use a test that draws replicates, and a statistic that stays finite.",
            )
        region = result.acceptance_region if acceptance is None else acceptance
        inside = region[0] <= result.statistic <= region[1]
        where = (
            f"{title(result.statistic_name)} {shown(result.statistic)} lies "
            f"{'inside' if inside else 'outside'} the acceptance "
            f"region ({shown_range(region)}), p = {shown(result.pvalue)}"
        )
        return cls(drawn, *histogram(drawn[np.isfinite(drawn)]), region, inside, where)


def histogram(values: HostArray) -> tuple[HostArray, HostArray]:
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


@draws(HypotestResult, "null")
def null(result: HypotestResult, acceptance: tuple[float, float] | None = None) -> Picture:
    """The replicates of a test, its acceptance region and the observed value.

    Parameters
    ----------
    result : HypotestResult
        A test that kept its replicates.
    acceptance : tuple of float, optional
        Values that are not rejected, at a level other than that of the test.
    """
    drawn, observed = CountedReplicates.of(result, acceptance), result.statistic
    counts, edges = drawn.counts, drawn.edges
    finite = [value for value in (edges[0], edges[-1], observed) if math.isfinite(value)]
    margin = 0.06 * (max(finite) - min(finite)) or 0.5
    left, right, top = min(finite) - margin, max(finite) + margin, 1.22 * float(counts.max())
    infinite = int((~np.isfinite(drawn.values)).sum())
    lost = f" {counted(infinite, 'replicate is', 'replicates are')} infinite and not drawn."
    region = max(drawn.region[0], left), min(drawn.region[1], right)
    bars: Style = {"label": "draws under the hypothesis", "alpha": 0.6, "edgecolor": BLUE, "linewidth": 0.4}
    marks = [
        mark("boxes", "chance", edges[:-1], edges[1:], 0 * counts, counts, **bars),
        mark("span", "observed", *region, ymin=0, ymax=0.035, label="acceptance region"),
    ]
    if math.isfinite(observed):
        role = "observed" if drawn.inside else "far"
        style: Style = {"label": f"observed {shown(observed)}", "markersize": 6, "small": {"markersize": 5}}
        marks += [
            mark("line", role, [observed] * 2, [0, 0.92 * top], linestyle=(0, (5, 2))),
            mark("dots", role, [observed], [0.92 * top], **style),
        ]
    else:
        place: Style = {"xycoords": "axes fraction", "ha": "right"}
        marks.append(mark("words", "ink", "observed: infinite", (0.98, 0.9), **place))
    return Picture(
        title(result.statistic_name),
        f"{drawn.where}.{lost if infinite else ''}",
        {"value": ranges(edges[:-1], edges[1:]), "replicates": counts},
        marks,
        size=(5.0, 3.2),
        axes={"xlim": (left, right), "ylim": (0, top), "yticks": [], "xparts": 6, "hidden": ("left",)},
        small_axes={"xparts": 4},
    )


def strip(lines: Mapping[str, HypotestResult[CheckDetails]], title: str) -> Picture:
    """Return one line per check, each on the scale of its own acceptance region.

    Parameters
    ----------
    lines : mapping of str to HypotestResult
        What each line is about, and its result.
    title : str
        Title of the picture.

    Returns
    -------
    Picture
        Acceptance regions as bars, observed values as dots with their numbers beside.
    """
    results, heights = list(lines.values()), np.arange(len(lines))[::-1]
    positions = np.array([_place(result.statistic, *result.acceptance_region) for result in results])
    inside = [
        low <= result.statistic <= high for result in results for low, high in [result.acceptance_region]
    ]
    far = [name for name, within in zip(lines, inside, strict=True) if not within]
    finding = f"All {len(results)} observed values lie inside their acceptance regions."
    if far:
        names = "; ".join(far)
        finding = (
            f"{len(far)} of {len(results)} observed values lie outside their acceptance regions: {names}."
        )
    bars: Style = {"label": "acceptance region", "left": -1.0, "height": 0.5, "alpha": 0.6}
    beside: Style = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "xytext": (4, 0)}
    style: Style = {"va": "center", "fontsize": 7, "annotation_clip": False, **beside}
    words = [f"{shown(result.statistic)} ({shown_range(result.acceptance_region)})" for result in results]
    return Picture(
        title,
        finding,
        {
            "check": lines,
            "observed": [result.statistic for result in results],
            "acceptance": [result.acceptance_region for result in results],
            "p": [result.deciding_pvalue for result in results],
        },
        [
            mark("bars", "chance", heights, 2.0, **bars),
            *near_and_far(positions, heights, ~np.array(inside), ("observed, inside", "observed, outside")),
            *(
                mark("words", "ink", text, (1.0, height), **style)
                for text, height in zip(words, heights, strict=True)
            ),
        ],
        "observed value; the acceptance region is -1 to 1",
        size=(6.4, 3.4),
        axes={
            "xlim": (-_FURTHEST - 0.2, _FURTHEST + 0.2),
            "ylim": (-0.6, len(heights) - 0.4),
            "ynames": (heights, list(lines), {"color": INK, "fontsize": 8}),
        },
        key_below=0.2,
    )


def _place(value: float, low: float, high: float) -> float:
    """Return a value on the scale where low is -1 and high 1, cut at the edge of the picture."""
    if low <= value <= high and not (math.isfinite(low) and math.isfinite(high) and high > low):
        return 0.0  # a region without ends or without width
    if not (math.isfinite(low) and math.isfinite(high) and high > low and math.isfinite(value)):
        return math.copysign(_FURTHEST, value - (high if value > high else low))
    place = (2 * value - low - high) / (high - low)
    return max(-_FURTHEST, min(_FURTHEST, place))


@draws(PredictiveCheck, "strip")
def check_strip(check: PredictiveCheck) -> Picture:
    """What the model expects its statistics to be and what was observed, under both hypotheses.

    Parameters
    ----------
    check : PredictiveCheck
        From `credibly.predictive_check`.
    """
    parts, names = check.hypotheses.values(), check.statistics
    lines = {f"{title(name)}, {part.name}": part.checks[name] for name in names for part in parts}
    return strip(lines, "What the model expects")


def _worst(check: PredictiveCheck) -> str:
    """Return the statistic with the smallest p-value."""
    return min(check.checks.values(), key=lambda result: result.deciding_pvalue).statistic_name


@draws(PredictiveCheck, "members")
def check_members(check: PredictiveCheck, statistic: str | None = None) -> Picture:
    """Replicates of one statistic, stacked by the member that drew them; members in the order of their means.

    Parameters
    ----------
    check : PredictiveCheck
        A check of the Bayesian hypothesis.
    statistic : str, optional
        Which statistic. Default: the one with the smallest p-value.
    """
    part = check.bayesian
    if part is None or part.members is None:
        raise UnsupportedError(
            "replicates by member",
            "exist under the Bayesian hypothesis",
            "it was not tested",
            'Run the check with `hypothesis="bayesian"` or "both".',
        )
    chosen = statistic or _worst(check)
    one_of("`statistic`", chosen, part.checks)
    drawn, observed = CountedReplicates.of(part.checks[chosen]), part.checks[chosen].statistic
    finite = np.isfinite(drawn.values)
    by_member = {member: drawn.values[finite & (part.members == member)] for member in range(check.m)}
    means = {member: values.mean() if values.size else math.nan for member, values in by_member.items()}
    order = sorted(by_member, key=lambda member: means[member] if by_member[member].size else math.inf)
    drew = [float(means[member]) for member in order if by_member[member].size]
    marks, top = _layers([by_member[member] for member in order], drawn.edges)
    beneath = -0.08 * top
    for place, member in enumerate(order):
        if not by_member[member].size:
            continue
        style: Style = {"marker": "|", "color": _SHADES[place % len(_SHADES)], "markersize": 7}
        marks.append(mark("dots", "observed", [means[member]], [beneath], **style))
        if len(order) <= _NUMBERED:
            words: Style = {"ha": "center", "va": "center", "fontsize": 6}
            marks.append(mark("words", "ink", str(member), (means[member], 1.6 * beneath), **words))
    if math.isfinite(observed):
        style = {"marker": "o" if drawn.inside else "D", "markevery": [1], "linestyle": (0, (5, 2))}
        label = f"observed {shown(observed)}"
        marks.append(
            mark("line", "ink", [observed] * 2, [0, 0.95 * top], label=label, linewidth=1.5, **style)
        )
    marks.append(mark("dots", "ink", [], [], marker="|", label="mean of a member's replicates"))
    return Picture(
        f"{title(chosen)} by member",
        f"{drawn.where}; the means of {len(drew)} members reach from {shown(min(drew))} to "
        f"{shown(max(drew))}.",
        {
            "member": order,
            "replicates": [by_member[member].size for member in order],
            "mean": [means[member] for member in order],
        },
        marks,
        size=(5.0, 3.4),
        axes={"ylim": (2.2 * beneath, top), "yticks": [], "hidden": ("left",)},
    )


def _layers(members: list[HostArray], edges: HostArray) -> tuple[list[Mark], float]:
    """Return histograms on top of each other, and the height above all of them."""
    bottom, marks = np.zeros(len(edges) - 1), []
    # neighbours among very many members share a layer: nobody sees 200 of them, and the page stays small
    layers = np.array_split(np.arange(len(members)), min(len(members), _MOST_LAYERS))
    for place, layer in enumerate(layers):
        top = bottom + np.histogram(np.concatenate([members[j] for j in layer]), edges)[0]
        filled = top > bottom
        if filled.any():
            style: Style = {"facecolor": _SHADES[place % len(_SHADES)], "edgecolor": INK, "linewidth": 0.3}
            boxes = (edges[:-1][filled], edges[1:][filled], bottom[filled], top[filled])
            marks.append(mark("boxes", "chance", *boxes, alpha=0.6, **style))
        bottom = top
    return marks, 1.15 * float(bottom.max())


@draws(PredictiveCheck, "groups")
def check_groups(
    check: PredictiveCheck, statistic: str | None = None, hypothesis: str | None = None, level: float = _LEVEL
) -> Picture:
    """Verdict and p-value of every group, two grouping factors as a grid, one as a column (P21 Figs. 7, 11).

    Parameters
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
    name = statistic or _worst(check)
    one_of("`statistic`", name, check.statistics)
    chosen = next(iter(check.hypotheses)) if hypothesis is None else hypothesis
    groups = check.under(chosen).groups
    if not groups or len(check.factors) > 2:
        raise UnsupportedError(
            "a grid of groups",
            "needs one or two grouping factors",
            f"got {len(check.factors)}",
            "Pass `groups=` with one or two factors.",
        )
    rows, columns = (*check.factors.values(), ("",))[:2]
    named = {
        (row, column): f"{first} / {second}" if second else first
        for row, first in enumerate(rows)
        for column, second in enumerate(columns)
    }
    # a group without instances has no result
    cells = {at: groups[group][name] for at, group in named.items() if group in groups}
    verdicts = [result.verdict(level) for result in cells.values()]
    marks: list[Mark] = []
    for place, ((row, column), result) in enumerate(cells.items()):
        verdict = verdicts[place]
        style: Style = {"hatch": _HATCHES[verdict], "edgecolor": INK, "linewidth": 0.3, "alpha": 0.45}
        box = ([column - 0.5], [column + 0.5], [row - 0.5], [row + 0.5])
        label = None if verdict in verdicts[:place] else verdict
        marks.append(mark("boxes", _ROLES[verdict], *box, label=label, **style))
        words: Style = {"ha": "center", "va": "center", "fontsize": 7}
        marks.append(mark("words", "ink", shown(result.deciding_pvalue), (column, row), **words))
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in _ROLES if word in verdicts)

    style = {"fontsize": 7, "color": INK}
    return Picture(
        f"{title(name)} by group",
        f"{title(name)} in {len(cells)} groups, {chosen} hypothesis: {counts}.",
        {
            "group": [f"{rows[row]} {columns[column]}".strip() for row, column in cells],
            "adjusted p": [result.deciding_pvalue for result in cells.values()],
            "sharpness": [result.details.sharpness for result in cells.values()],
            "verdict": verdicts,
        },
        marks,
        size=(5.6, 4.2),
        axes={
            "xlim": (-0.5, len(columns) - 0.5),
            "ylim": (len(rows) - 0.5, -0.5),
            "xnames": (range(len(columns)), [printable(name) for name in columns], style),
            "ynames": (range(len(rows)), [printable(name) for name in rows], style),
        },
    )


@draws(HypotestResult[WitnessDetails], "witness")
def witness(
    result: HypotestResult[WitnessDetails], class_names: Sequence[str] | None = None, limit: int = 8
) -> Picture:
    """What a witness predicted about classes and what happened: frequencies next to what the set allows.

    Parameters
    ----------
    result : HypotestResult of WitnessDetails
        From ``credibly.hypotests.witness_test``, or the ``validity`` of ``credibly.credal_test``.
    class_names : sequence of str, optional
        Names of the classes.
    limit : int
        Maximum number of directions shown, the clearest first.
    """
    directions = {
        f"{direction.name(class_names)}, {'more' if direction.more else 'less'} often": direction
        for direction in result.details.directions[:limit]
    }
    where, pvalue = result.details.where(class_names), shown(result.pvalue)
    finding = f"No class was found to occur more or less often than the set allows (p = {pvalue})."
    if result.details.impossible_rows.size:
        finding = f"{result.details.impossible_words()}."
    elif where:
        finding = f"Where the witness points most clearly, {where} (p = {pvalue} for the whole test)."
    heights = np.arange(len(directions))[::-1]
    lower, upper, observed, score = (
        np.array([getattr(direction, name) for direction in directions.values()])
        for name in ("lower", "upper", "observed", "score")
    )
    bars: Style = {"left": lower, "height": 0.5, "label": "what the set allows"}
    labels = ("observed, within", "observed, beyond the set")
    counts = [direction.n for direction in directions.values()]
    names = [f"{name} (n = {n})" for name, n in zip(directions, counts, strict=True)]
    room = 0.6 + max(0, 4 - len(directions)) / 2  # a single bar does not fill the picture
    return Picture(
        "What the set allows",
        finding,
        {
            "class": directions,
            "instances": counts,
            "lower": lower,
            "upper": upper,
            "observed": observed,
            "standard deviations beyond": score,
        },
        [
            mark("bars", "chance", heights, np.maximum(upper - lower, 0.004), **bars),
            *near_and_far(observed, heights, score > 0, labels)[::-1],
        ],
        "frequency of the class",
        size=(5.0, 3.4),
        axes={
            "xlim": (-0.02, 1.02),
            "ylim": (-room, len(directions) - 1 + room),
            "ynames": (heights, names, {}),
        },
    )


@draws(HypotestResult[ValidityDetails], "instances")
def deviances(result: HypotestResult[ValidityDetails], limit: int = 500) -> Picture:
    """Deviances of single instances, largest first, and how large the largest may be.

    Parameters
    ----------
    result : HypotestResult of ValidityDetails
        From `credibly.validity_test`.
    limit : int
        Maximum number of instances drawn: half of these are the worst, the rest are spread over the others.
    """
    every, details = host_vector(result.details.deviance), result.details
    ranks = np.arange(every.size)
    if ranks.size > limit:
        head = limit // 2
        tail = np.linspace(head, ranks.size - 1, limit - head).astype(int)
        ranks = np.unique(np.concatenate([ranks[:head], tail]))
    rows = np.argsort(-every, kind="stable")[ranks]
    deviance, pvalues = every[rows], host_vector(details.adjusted_pvalues)[rows]
    largest = details.largest_explained
    finite = np.isfinite(deviance)
    top = 1.12 * max(float(deviance[finite].max(initial=0.0)), largest if np.isfinite(largest) else 0.0, 1.0)
    labels = ("explained by chance", f"adjusted p <= {_LEVEL:g}")
    marks = near_and_far(ranks + 1, np.where(finite, deviance, top), pvalues <= _LEVEL, labels, markersize=3)
    # thousands of dots that chance explains stay in the background
    marks = [
        part._replace(style={**part.style, "color": SKY}) if part.role == "observed" else part
        for part in marks
    ]
    if np.isfinite(largest):
        style: Style = {"linestyle": (0, (5, 2)), "linewidth": 1.5}
        marks.append(mark("across", "observed", largest, label="limit for the largest", **style))
    inside, failing = int((every <= 1e-6).sum()), len(details.failing(_LEVEL))
    return Picture(
        "Labels outside the set",
        f"Of {result.n} instances, {inside} have frequencies inside their set, and {failing} have deviances "
        f"that chance among {result.n} does not explain (above {shown(largest)}); "
        f"the largest is {shown(float(every[rows[0]]))}, of row {rows[0]}.",
        {"rows": rows, "deviance": deviance, "adjusted pvalues": pvalues, "ranks": ranks + 1},
        [*marks, mark("across", "ink", 0.0)],
        "instances, worst first",
        "deviance",
        size=(5.0, 3.4),
        axes={"ylim": (-0.03 * top, top)},
    )
