"""One line per group, method, model or region, with its interval: audits, claims, differences, regions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from credibly._arrays.binomial import wilson
from credibly._arrays.errors import InputError, nearest
from credibly._arrays.namespace import HostArray
from credibly._arrays.standard_errors import factor
from credibly.evaluation import shown, title
from credibly.plots.drawing import BLUE, VERMILION, Style, printable, shortened
from credibly.plots.pictures import Mark, Picture, draws, listed, mark, near_and_far, ranges
from credibly.results.audit import AuditGroup, AuditResult
from credibly.results.base import require_level
from credibly.results.combinations import LocalDeviations
from credibly.results.coverage import SetCoverage
from credibly.results.estimates import interval_of
from credibly.results.recalibration import RecalibrationReport
from credibly.selection.lines import Ranking

_LONGEST = 38
_LINE = 64
"""Letters of a region's name that fit beside the picture; the rest goes on in the next line."""


def _intervals(ends: Iterable[Any], roles: Iterable[str]) -> list[Mark]:
    """Return one horizontal line per interval, from the top."""
    both = enumerate(zip(ends, roles, strict=True))
    return [mark("line", role, pair, [place, place]) for place, (pair, role) in both]


@draws(AuditResult, "audit")
def audit(result: AuditResult, limit: int = 15) -> Picture:
    """The clearest groups of an audit: effects in points with simultaneous intervals.

    Groups that are off come first, then those that they explain, then the clearest of the others.

    Parameters
    ----------
    result : AuditResult
        From `credibly.audit`.
    limit : int
        Maximum number of groups shown.
    """
    explained = tuple(group for group in result.rejected if group.explained_by is not None)
    others = tuple(group for group in result.groups if group.verdict != "conflict")
    groups = (*result.findings, *explained, *others)[:limit]
    labels = {"far": "off", "second": "explained by another", "observed": "no conflict found"}
    roles = [_audit_role(group) for group in groups]
    effects = np.array([100 * group.effect for group in groups])
    dots = []
    for role in dict.fromkeys(roles):
        at = np.flatnonzero([kind == role for kind in roles])
        dots.append(mark("dots", role, effects[at], at, label=labels[role], markersize=5))
    several = len(result.measures) > 1
    names = [
        shortened(f"{group.group}: {group.measure}" if several else group.group, _LONGEST) for group in groups
    ]
    return Picture(
        "Effect by group",
        result.headline,
        {
            "group": [group.group for group in groups],
            "measure": [group.measure for group in groups],
            "n": [group.n for group in groups],
            "effect": [group.effect for group in groups],
            "interval": [(group.low, group.high) for group in groups],
            "adjusted p": [group.adjusted_pvalue for group in groups],
            "smallest detectable effect": [group.detectable for group in groups],
            "explained by": [group.explained_by or "" for group in groups],
        },
        [
            mark("upright", "expected", 0),
            *_intervals([[100 * group.low, 100 * group.high] for group in groups], roles),
            *dots,
        ],
        "observed minus predicted, points",
        size=(6.4, 4.6),
        axes=listed(names, fontsize=7),
        key_below=0.2,
    )


def _audit_role(group: AuditGroup) -> str:
    if group.verdict != "conflict":
        return "observed"
    return "far" if group.explained_by is None else "second"


@draws(SetCoverage, "claims")
def claims(result: SetCoverage, limit: int = 10) -> Picture:
    """Coverage of sets or intervals: over all instances, by size and by group, with the claimed coverage.

    Parameters
    ----------
    result : SetCoverage
        From `credibly.hypotests.set_coverage` or an evaluation.
    limit : int
        Maximum number of groups shown, those farthest from the claim first.
    """
    claimed, lines = result.claimed, _parts(result, limit)
    names, sizes, shares = (list(column) for column in zip(*lines, strict=True))
    ends = np.array([wilson(share, n, factor(0.95)) for n, share in zip(sizes, shares, strict=True)])
    missed = (claimed < ends[:, 0]) | (claimed > ends[:, 1])
    off, heights = int(missed[1:].sum()), np.arange(len(lines))
    share = f"{100 * result.coverage.value:.1f} %"
    contained = f"{100 * claimed:.4g} % {result.kind} contain {share} of {result.n} labels"
    labels = {"observed": "observed, 95 % interval", "far": "interval excludes the claim"}
    marks = [mark("upright", "expected", claimed, label="claimed")]
    for role, at in (("observed", ~missed), ("far", missed)):
        if at.any():
            marks += [
                mark("hlines", role, heights[at], ends[at, 0], ends[at, 1], linewidth=1.4),
                mark("dots", role, np.array(shares)[at], heights[at], label=labels[role], markersize=5),
            ]
    written = [f"{printable(name)[:_LONGEST]} (n = {n})" for name, n in zip(names, sizes, strict=True)]
    left = max(0.0, min(ends[:, 0].min(), claimed) - 0.03)
    return Picture(
        f"Coverage of {100 * claimed:.4g} % {result.kind}",
        contained + (f"; the intervals of {off} of {len(lines) - 1} parts miss the claim." if off else "."),
        {"part": names, "n": sizes, "held": shares, "interval": [tuple(pair) for pair in ends.tolist()]},
        marks,
        "share of labels covered",
        size=(5.4, 3.8),
        axes={**listed(written, fontsize=7), "xlim": (left, 1.01)},
        key_below=0.26,  # a report draws it low: 0.2 would touch the label of the axis
    )


def _parts(result: SetCoverage, limit: int) -> list[tuple[str, int, float]]:
    """Return name, instances and coverage of all instances, of every size and of the groups farthest off."""
    parts = [("all", result.n, float(result.coverage.value))]
    what = "width" if result.kind == "intervals" else "size"
    for by, strata in ((what, result.by_size), ("group", result.by_group)):
        if strata is None or len(strata.names) < 2:
            continue
        away = np.abs(strata.coverage - result.claimed) * np.sqrt(strata.n)
        chosen = np.argsort(-away, kind="stable")[:limit] if by == "group" else np.arange(len(away))
        parts += [
            (f"{by} {strata.names[at]}", int(strata.n[at]), float(strata.coverage[at])) for at in chosen
        ]
    return parts


@draws(RecalibrationReport, "changes")
def recalibration_changes(report: RecalibrationReport, statistic: str | None = None) -> Picture:
    """How far each method moves one statistic, with the interval of the paired difference.

    Parameters
    ----------
    report : RecalibrationReport
        From `credibly.recalibration_report`.
    statistic : str, optional
        What to compare. Default: log loss, or CRPS for real values.
    """
    known = {name for method in report.methods.values() for name in method.changes}
    chosen = ("crps" if "crps" in known else "log_loss") if statistic is None else statistic
    if chosen not in known:
        rule, got = "must be one of the report", f"got {chosen!r}"
        raise InputError("`statistic`", rule, got, nearest(chosen, known))
    changes = {
        name: method.changes[chosen] for name, method in report.methods.items() if chosen in method.changes
    }
    difference = np.array([change.difference.value for change in changes.values()])
    ends = np.array([interval_of(change.difference) or (np.nan, np.nan) for change in changes.values()])
    best, has_interval = int(np.argmin(difference)), np.isfinite(ends[:, 0])
    name, change = list(changes.items())[best]
    interval = f" (95 % interval of the change {ranges(*ends[best : best + 1].T)[0]})"
    columns = {"methods": list(changes), "after": [change.after.value for change in changes.values()]}
    return Picture(
        f"Change of {title(chosen)}",
        f"{title(chosen)}: {name} changes it from {shown(change.before.value)} to "
        f"{shown(change.after.value)}{interval if has_interval[best] else ''}.",
        xlabel="after minus before",
        **_differences(columns, difference, ends, "with 95 % interval"),
    )


@draws(Ranking, "differences")
def score_differences(ranking: Ranking, criterion: str | float | None = None) -> Picture:
    """How far every model is behind the first, by one score or at one trade-off, with joint intervals.

    Parameters
    ----------
    ranking : Ranking
        From `credibly.rank_models`; a comparison has it in ``.ranking``.
    criterion : str or float, optional
        The score, or the trade-off. Default: the first of the ranking.
    """
    standing = ranking.at(criterion)
    tied = standing.tied_with_first
    rest = f"; {', '.join(tied)} {'are' if len(tied) > 1 else 'is'} statistically tied with it"
    by = standing.criterion
    number = title(by) if isinstance(by, str) else f"mean score at trade-off {by:g}"
    columns, label = {"model": list(standing.names), "score": standing.scores}, f"{100 * standing.level:g} %"
    return Picture(
        f"Behind the first by {number}",
        f"{standing.names[0]} has the smallest {number}{rest if tied else ''}.",
        xlabel="mean score minus the first's",
        **_differences(columns, standing.differences, standing.intervals, f"with {label} joint interval"),
    )


def _differences(
    columns: dict[str, Any], difference: HostArray, ends: HostArray, label: str
) -> dict[str, Any]:
    """Return the parts of a picture with one point per line, its interval, and the line of no difference."""
    low, high = ends.T
    names, heights = next(iter(columns.values())), np.arange(len(difference))
    marks = [mark("upright", "expected", 0), *_intervals(ends, ["observed"] * len(ends))]
    known = np.isfinite(low)
    for at, marker, words in ((known, "o", label), (~known, "D", "without interval")):
        if at.any():
            style: Style = {"marker": marker, "markersize": 5, "label": words}
            marks.append(mark("dots", "observed", difference[at], heights[at], **style))
    columns = {**columns, "difference": difference, "low": low, "high": high}
    return {"columns": columns, "marks": marks, "size": (5.0, 2.8), "axes": listed(names), "key_below": 0.3}


@draws(LocalDeviations, "regions")
def regions(
    deviations: LocalDeviations, class_names: Sequence[str] | None = None, level: float = 0.05
) -> Picture:
    """Where in feature space a prediction fails: deviation of every region in standard errors, worst first.

    Parameters
    ----------
    deviations : LocalDeviations
        From ``result.details.regions`` of a test of a set.
    class_names : sequence of str, optional
        Names of the classes. Default: their indices.
    level : float
        Regions with an adjusted p-value of at most this are marked.
    """
    require_level(level)
    farthest = map(int, deviations.classes)
    classes = [str(c) if class_names is None else str(class_names[c]) for c in farthest]
    failing, scores = deviations.adjusted_pvalues <= level, deviations.scores
    count, number = len(deviations.regions), int(failing.sum())
    worst = (
        f"where {deviations.regions[0]}, class {classes[0]} was predicted with "
        f"{shown(deviations.predicted[0])} and observed with {shown(deviations.observed[0])} "
        f"(n = {int(deviations.sizes[0])}, adjusted p = {shown(deviations.adjusted_pvalues[0])})"
    )
    finding = (
        f"None of {count} regions deviates by more than chance explains; the largest deviation: {worst}."
    )
    if number:
        finding = f"{number} of {count} regions deviate by more than chance explains; the worst: {worst}."
    heights = np.arange(count)[::-1]
    limit = 1.15 * max(3.0, float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0)))
    ends = np.clip(scores, -limit, limit)
    colors = np.where(failing, VERMILION, BLUE)
    names = [
        textwrap.fill(f"{region}: class {c}", _LINE)
        for region, c in zip(deviations.regions, classes, strict=True)
    ]
    return Picture(
        "Deviation by region",
        finding,
        {
            "regions": deviations.regions,
            "classes": classes,
            "scores": scores,
            "predicted": deviations.predicted,
            "observed": deviations.observed,
            "sizes": deviations.sizes,
            "adjusted pvalues": deviations.adjusted_pvalues,
        },
        [
            mark("upright", "ink", 0.0, linewidth=0.8),
            mark("hlines", "observed", heights, 0.0, ends, color=colors, linewidth=1.6),
            *near_and_far(ends, heights, failing, ("within chance", f"adjusted p <= {level:g}")),
        ],
        "observed - expected, in standard errors",
        size=(6.4, 4.0),
        axes={"xlim": (-limit, limit), "ynames": (heights, names, {"fontsize": 6})},
        small_axes={"ynames": (heights, [], {"fontsize": 6})},
    )
