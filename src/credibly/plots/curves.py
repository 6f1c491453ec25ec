"""Curves without bins: isotonic reliability, envelopes, risk against coverage, costs, power, evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.errors import require_positive
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import capital, counted
from credibly.evaluation import shown, title
from credibly.evaluation.comparison_words import in_units
from credibly.evaluation.stages import mean_gap
from credibly.plots.bins import (
    CONFIDENCE,
    COUNTS_DEPTH,
    diagonal,
    hanging_counts,
    reliability_words,
    unit_square,
)
from credibly.plots.drawing import Style, line_style
from credibly.plots.pictures import Picture, as_model, draws, mark, picture, ranges
from credibly.results.curves import (
    DRAWS_REPEAT,
    CorpCurve,
    EnvelopeCurve,
    MurphyCurve,
    ReliabilityCurve,
    RiskCoverageCurve,
)
from credibly.results.monitor import MonitorResult
from credibly.results.power import PowerCurve
from credibly.results.recalibration import RecalibrationReport

_LISTED = np.arange(1, 11) / 10
"""Coverages in the table of a risk-coverage curve, which itself has hundreds of points."""
_FEW_LEVELS = 20
_EVENT = ("Probability against frequency", "probability of the event", "how often it happened")
_WORDS = {
    "pit": ("Labels below quantiles", "level of the quantile", "share of labels below it, minus level"),
    "coverage": ("Coverage of intervals", "stated coverage", "observed coverage"),
}
_GAPS = {
    "confidence_gap": (*CONFIDENCE, "Confidence minus accuracy"),
    "event_gap": (*_EVENT, "Probability minus frequency of the event"),
}


@draws(CorpCurve, "corp")
def corp(curve: CorpCurve) -> Picture:
    """Predicted probability against isotonic recalibration, with consistency and confidence band.

    Where the curve leaves the consistency band, it deviates by more than chance explains at that prediction;
    where the diagonal leaves the confidence band, the predictions are wrong, at the level of the whole
    picture.

    Parameters
    ----------
    curve : CorpCurve
        From `credibly.corp_curve`.
    """
    level = f"{100 * (curve.level or 0):.4g} %"
    ends = np.stack([curve.low, curve.high], axis=1).ravel(), np.repeat(curve.recalibrated, 2)
    marks = [diagonal(1.0, "perfect calibration")]
    columns = {
        "predictions": ranges(curve.low, curve.high),
        "instances": curve.weight,
        "observed": curve.recalibrated,
    }
    middle = (curve.low + curve.high) / 2
    if curve.confidence_band is not None:
        label = f"true curve lies here, {level} sure"
        marks.append(mark("band", "ink", curve.at, *curve.confidence_band, label=label, alpha=0.1))
    if curve.band is not None:
        marks.append(mark("band", "chance", curve.at, *curve.band, label=f"{level} band of chance"))
    for name, band in (("band", curve.band), ("true curve", curve.confidence_band)):
        if band is not None:
            columns[name] = ranges(*(np.interp(middle, curve.at, end) for end in band))
    beyond = np.flatnonzero(curve.beyond)
    if beyond.size:  # broader than the curve, not only of another colour
        style: Style = {"linewidth": 4.0, "solid_capstyle": "round", "small": {"linewidth": 2.5}}
        runs = np.split(beyond, np.flatnonzero(np.diff(beyond) > 1) + 1)
        # a place by itself is a line of no length, which a round end still shows
        marks += [
            mark("line", "far", np.repeat(curve.at[run], 2), np.repeat(curve.values[run], 2), **style)
            for run in runs
        ]
        marks.append(mark("line", "far", [], [], label="outside that band", **style))
    edges = np.linspace(0, 1, len(curve.counts) + 1)
    marks += [
        mark("line", "observed", *ends, label="observed, isotonic"),
        *hanging_counts(edges[:-1], edges[1:], curve.counts),
    ]
    return Picture(
        finding=_corp_finding(curve, level),
        columns=columns,
        marks=marks,
        shared=[diagonal(), mark("line", "observed", *ends, marker=None)],
        **reliability_words(curve),
        **unit_square(COUNTS_DEPTH + 0.03, COUNTS_DEPTH + 0.03),
    )


def _corp_finding(curve: CorpCurve, level: str) -> str:
    score = {"brier": "Brier score", "log_loss": "log loss"}.get(curve.score, curve.score)
    saved = shown(curve.miscalibration.value)
    parts = [f"of a {score} of {shown(curve.loss.value)}, recalibration would remove {saved}"]
    if curve.band is not None and curve.level is not None:
        where = f"the curve stays inside its {level} band of chance"
        longest = widest_departure(curve)
        if longest is not None:
            low, high, side = shown(longest[0]), shown(longest[1]), longest[2]
            what = "confidence" if curve.target is None else "predicted probability"
            at = low if low == high else f"{low} to {high}"
            where = f"at {what} {at} the observed frequency is {side} its {level} band of chance"
        parts.insert(0, where)
    if curve.gap_interval is not None and curve.level is not None:
        start, end = map(shown, curve.gap_interval)
        parts.append(
            f"the mean gap to the curve is {shown(curve.gap)}, and the true mean gap is {start} to "
            f"{end} ({level} sure, if the true curve is increasing)"
        )
    finding = "; ".join(parts)
    return f"{capital(finding)}."


def widest_departure(curve: CorpCurve) -> tuple[float, float, str] | None:
    """Return where the curve is beyond chance: the run with most instances, its ends, and on which side."""
    side = curve.beyond
    if not side.any():
        return None
    ends = np.flatnonzero(np.append(np.diff(side) != 0, True))
    starts = np.append(0, ends[:-1] + 1)
    length = np.where(side[ends] != 0, ends - starts + 1, 0)
    run = int(np.argmax(length))
    return (
        float(curve.at[starts[run]]),
        float(curve.at[ends[run]]),
        "below" if side[ends[run]] < 0 else "above",
    )


@draws(MurphyCurve, "murphy")
def murphy(curve: MurphyCurve) -> Picture:
    """Mean cost of decisions against the threshold above which one acts.

    Parameters
    ----------
    curve : MurphyCurve
        From `credibly.selection.murphy_curve`.
    """
    saved = curve.constant - curve.cost
    best, share = int(saved.argmax()), float((saved > 0).mean())
    some = np.unique(np.linspace(0, len(curve.thresholds) - 1, 11).round().astype(np.int64))
    label = "one prediction for all"
    constant = mark(
        "line", "expected", curve.thresholds, curve.constant, label=label, linewidth=0.9
    )  # of the labels alone, so the same for all models
    return Picture(
        f"Murphy curve, {curve.name}",
        f"Acting on these predictions costs less than one prediction for all at {100 * share:.0f} % of "
        f"the thresholds, and saves most at {shown(float(curve.thresholds[best]))}: "
        f"{shown(float(curve.cost[best]))} instead of {shown(float(curve.constant[best]))}.",
        {
            "threshold": curve.thresholds[some],
            "cost": curve.cost[some],
            "interval": ranges(*(end[some] for end in curve.band)),
            label: curve.constant[some],
        },
        [
            constant,
            mark("band", "chance", curve.thresholds, *curve.band, label=f"{100 * curve.level:.4g} % at each"),
            mark("line", "observed", curve.thresholds, curve.cost, label="these predictions"),
        ],
        "threshold: cost of a false alarm",
        "mean cost",
        size=(5.0, 3.8),
        axes={"xlim": (0, 1), "ylim": (0, None)},
        shared=[constant, mark("line", "observed", curve.thresholds, curve.cost, marker=None)],
    )


@draws(EnvelopeCurve, "envelope")
def envelope(curve: EnvelopeCurve) -> Picture:
    """Shares of labels against levels with a simultaneous envelope: PIT difference-ECDF or coverage curve.

    The difference-ECDF shows shares minus levels, which makes deviations visible that the eye would miss
    along the diagonal.   Saeilynoja, Buerkner and Vehtari 2022.

    Parameters
    ----------
    curve : EnvelopeCurve
        From `credibly.pit_test` or `credibly.coverage_curve`.
    """
    is_pit, levels, outside = curve.name == "pit", curve.levels, curve.outside
    lower, upper, observed = (share - levels * is_pit for share in (curve.lower, curve.upper, curve.observed))
    words, few = _WORDS[curve.name], len(levels) < _FEW_LEVELS
    markers: Style = {"marker": "o" if few else None}
    ends = np.concatenate([[0.0], levels, [1.0]]) if few else levels
    expected = mark("line", "expected", ends, ends * (not is_pit), label="as stated")
    label = f"{100 * curve.coverage:.4g} % envelope of the whole curve"
    around = levels if len(levels) > 1 else levels + np.array([-0.02, 0.02])  # of one interval a short piece
    band = mark(
        "band", "chance", around, *(np.interp(around, levels, end) for end in (lower, upper)), label=label
    )
    marks = [
        band,
        expected,
        mark("line", "observed", levels, observed, label="observed", markersize=4, **markers),
    ]
    if outside.any():
        style: Style = {"label": "outside", "markersize": 4, "small": {"markersize": 3}}
        marks.append(mark("dots", "far", levels[outside], observed[outside], **style))
    return Picture(
        words[0],
        _envelope_finding(curve),
        {"level": levels, "observed": observed, "lower": lower, "upper": upper},
        marks,
        *words[1:],
        size=(5.0, 4.0),
        axes={"xlim": (0, 1)},
        shared=[
            expected,
            mark("line", "observed", levels, observed, **({} if few else {"marker": None})),
            band._replace(label=None),
        ],
    )


def _envelope_finding(curve: EnvelopeCurve) -> str:
    difference = curve.observed - curve.expected
    # the largest of those outside, where there are any
    worst = int(np.argmax(np.abs(difference) + 2.0 * curve.outside))
    than, shifted = "stated", ""
    if not np.array_equal(curve.expected, curve.levels):
        than = f"the {shown(float(curve.expected[worst]))} that right predictions show"
        shifted = f" Here {DRAWS_REPEAT}."
    count, out = len(curve.levels), int(curve.outside.sum())
    band = f"its {100 * curve.coverage:.4g} % envelope"
    where = f"leaves {band} at {out} of {count} levels"
    if not out and curve.pvalue <= 1.0 - curve.coverage:
        where = f"runs along the edge of {band}"
    elif not out:
        where = f"stays inside {band} at all {count} levels"
    place = "at or below the quantile" if curve.name == "pit" else "inside the central interval"
    return (
        f"The curve {where}, p = {shown(curve.pvalue)}; at level {shown(float(curve.levels[worst]))}, "
        f"{shown(float(curve.observed[worst]))} of the labels lie {place}, "
        f"{'more' if difference[worst] > 0 else 'fewer'} than {than}.{shifted}"
    )


@draws(RiskCoverageCurve, "risk_coverage", several=True)
def risk_coverage(curves: RiskCoverageCurve | Mapping[str, RiskCoverageCurve]) -> Picture:
    """The share of wrong answers against the share of instances answered, the surest first.

    Parameters
    ----------
    curves : RiskCoverageCurve or mapping of str to RiskCoverageCurve
        From `credibly.risk_coverage_curve`; several by name, such as different orders for one model. For the
        first, the risk that the predictions state and that of the best order are drawn too.
    """
    named = dict(curves) if isinstance(curves, Mapping) else {curves.by: curves}
    (name, first), *others = named.items()

    def at_half(curve: RiskCoverageCurve, risks: HostArray) -> str:
        return shown(float(np.interp(0.5, curve.coverage, risks)))

    ordered = "".join(f" Ordered by {by}: {at_half(curve, curve.risk)}." for by, curve in others)
    columns: dict[str, Any] = {"coverage": [*map(shown, _LISTED), "area"]}
    marks = [
        mark("band", "chance", first.coverage, 0, first.best, label="best possible order"),
        mark("line", "expected", first.coverage, first.stated, label="what the model expects"),
    ]
    for place, (by, curve) in enumerate(named.items()):
        columns[f"risk by {by}"] = [*np.interp(_LISTED, curve.coverage, curve.risk), curve.area.value]
        style: Style = {"label": f"by {by}", **line_style(place), "marker": None}
        marks.append(mark("line", "observed", curve.coverage, curve.risk, **style))
    for column, risks in (("stated", first.stated), ("best order", first.best)):
        columns[column] = [*np.interp(_LISTED, first.coverage, risks), ""]
    return Picture(
        "Risk against coverage",
        f"Among the surest half by {name}, {at_half(first, first.risk)} of the answers are wrong, against "
        f"{shown(float(first.risk[-1]))} of all answers; the predictions state "
        f"{at_half(first, first.stated)} for that half.{ordered}",
        columns,
        marks,
        "share of instances answered",
        "share of wrong answers",
        size=(5.0, 4.0),
        axes={"xlim": (0, 1), "ylim": (0, None)},
        shared=[
            mark(
                "line",
                "observed",
                curve.coverage,
                curve.risk,
                label=f"by {by}",
                **({"marker": None} if curve.coverage.size > 1 else {}),  # all equally sure: one point
            )
            for by, curve in named.items()
        ],
    )


@draws(PowerCurve, "power")
def power(curve: PowerCurve, hypothesis: str | None = None) -> Picture:
    """How often a check detects a distortion, by its size.

    Parameters
    ----------
    curve : PowerCurve
        From ``check.power()``.
    hypothesis : {"bayesian", "independent"}, optional
        Which hypothesis. Default: the first that was tested.
    """
    chosen = next(iter(curve.power)) if hypothesis is None else hypothesis
    powers = {title(name): powers for name, powers in curve.power[chosen].items()}
    detected = "; ".join(
        f"{title(name)} {_detected(*curve.smallest(name, chosen))}" for name in curve.power[chosen]
    )
    marks = []
    for place, (name, shares) in enumerate(curve.power[chosen].items()):
        style: Style = {"label": title(name), "markersize": 3.5, "linewidth": 1.5, **line_style(place)}
        marks.append(mark("line", "observed", curve.grid, shares, **style))
        ends = np.asarray(curve.interval[chosen][name]).T
        marks.append(mark("band", "chance", curve.grid, *ends, color=style["color"], alpha=0.15))
    dotted: Style = {"linewidth": 0.6, "linestyle": (0, (1, 2))}
    marks += [mark("across", "expected", height, **dotted) for height in (curve.level, curve.wanted)]
    return Picture(
        "What the check would detect",
        f"Detected with power {curve.wanted:g} ({curve.injection}, {chosen}): {detected}.",
        {curve.injection: curve.grid, **powers},
        [*marks, mark("upright", "expected", curve.neutral, **dotted)],
        curve.injection,
        "power",
        axes={"ylim": (-0.02, 1.02)},
    )


def _detected(below: float | None, above: float | None) -> str:
    parts = [f"{shown(below)} or less"] if below is not None else []
    parts += [f"{shown(above)} or more"] if above is not None else []
    return " and ".join(parts) or "nothing on this grid"


def _together(curves: Mapping[str, Any], named: str, columns: list[str] | None = None) -> dict[str, Any]:
    """Return marks, axes and columns of the curves of several models on the same axes."""
    pictures = {name: picture(curve) for name, curve in curves.items()}
    tables = [diagram.columns for diagram in pictures.values()]
    rows = [name for name, diagram in pictures.items() for _ in next(iter(diagram.columns.values()))]
    columns = list(tables[0]) if columns is None else columns
    marks = [
        drawn
        for place, (name, diagram) in enumerate(pictures.items())
        for drawn in as_model(diagram.shared, place, name)
    ]
    last = next(reversed(pictures.values()), None)
    axes = {} if last is None else last.axes if last.shared_axes is None else last.shared_axes
    stacked = {column: [cell for table in tables for cell in table[column]] for column in columns}
    return {"marks": marks, "axes": axes, "columns": {named: rows, **stacked}}


@draws("Comparison[Lines]", "reliability")  # evaluation of models is out of reach of what draws
def model_curves(comparison: Any, most: int = 8) -> Picture:
    """Confidence against accuracy of several models on the same instances; for two classes, of the event.

    Parameters
    ----------
    comparison : Comparison
        From `credibly.compare`.
    most : int
        Maximum number of models to draw, those with the smallest log loss first.
    """
    require_positive("`most`", most, "Use 8.")
    leading = list(comparison.leading())
    gap = "event_gap" if "event_gap" in comparison.standings else "confidence_gap"
    heading, stated, observed, what = _GAPS[gap]
    drawn = leading[:most]
    gaps = [f"{name} {in_units(gap, comparison.estimates[name][gap].value)}" for name in drawn]
    left = len(leading) - len(drawn)
    rest = counted(left, "model with a larger log loss is", "models with a larger log loss are")
    return Picture(
        title=heading,
        finding=f"{what} on average: {', '.join(gaps)}.{f' {rest} not drawn.' if left else ''}",
        xlabel=stated,
        ylabel=observed,
        **_together({name: comparison.curves[name] for name in drawn}, "model"),
    )


@draws(RecalibrationReport, "curves")
def recalibrated_curves(report: RecalibrationReport) -> Picture:
    """What is stated against what is observed, before and after recalibrations.

    Confidence and accuracy; of two classes the probability and the frequency of the second; of real values
    the coverage of central intervals.

    Parameters
    ----------
    report : RecalibrationReport
        From `credibly.recalibration_report`. Quantiles without symmetric levels have no curves.
    """
    curves: dict[str, Any] = {"before": report.curve}
    curves |= {name: method.curve for name, method in report.methods.items()}
    curves = {name: curve for name, curve in curves.items() if curve is not None}
    is_real = report.curve is None or isinstance(report.curve, EnvelopeCurve)
    gaps = {
        name: shown(float(np.abs(curve.difference).mean()) if is_real else mean_gap(curve))
        for name, curve in curves.items()
    }
    before = gaps.pop("before", "unknown")
    after = " and ".join(f"{gap} after {name}" for name, gap in gaps.items())
    stated, observed, what = "confidence", "accuracy", "confidence and accuracy"
    if is_real:
        stated, observed, what = "stated coverage", "observed coverage", "stated and observed coverage"
    elif isinstance(report.curve, ReliabilityCurve) and report.curve.target is not None:
        stated, observed, what = (
            "predicted probability",
            "observed frequency",
            "predicted and observed frequency",
        )
    columns = ["level", "observed"] if is_real else ["bin", "instances", "predicted", "observed"]
    drawn = _together(curves, "curve", columns)
    return Picture(
        "Before and after",
        f"The mean gap between {what} is {before} before recalibration, {after}.",
        drawn["columns"],
        drawn["marks"],
        stated,
        observed,
        axes={**drawn["axes"], "aspect": "equal"},
    )


_HIGHEST = 12.0


@draws(MonitorResult, "evidence")
def evidence(result: MonitorResult) -> Picture:
    """E-value of a monitor over time, on a logarithmic scale.

    Parameters
    ----------
    result : MonitorResult
        From `credibly.Monitor.result`.
    """
    rows = np.array([0, *(row for row, _ in result.trace)], dtype=np.float64)
    logs = np.array([0.0, *(log for _, log in result.trace)])
    bound = math.log10(result.processes / result.level)
    top = min(max(bound + 1.0, float(logs.max()) + 0.5), _HIGHEST)
    bottom = min(-1.0, float(logs.min()) - 0.3)
    cut = f" (cut at {top:g})" * bool(logs.max() > top)
    drawn: Style = {"marker": None, "linewidth": 1.5}
    marks = [
        mark("line", "observed", rows, np.minimum(logs, top), label="e-value", **drawn),
        mark("across", "expected", bound, label=f"alarm at {result.processes / result.level:g}"),
    ]
    if result.alarm and result.alarm_row is not None:
        marks.append(mark("upright", "far", result.alarm_row, label="alarm"))
    if result.since is not None:
        marks.append(mark("upright", "second", result.since, label="onset", linestyle=":"))
    return Picture(
        "Evidence over time",
        result.sentence(),
        {"rows": rows.astype(np.int64), "log10 of the e-value": logs},
        marks,
        "rows with labels",
        f"log10 of the e-value{cut}",
        size=(5.0, 3.8),
        axes={"xlim": (0.0, max(1.0, 1.03 * float(rows[-1]))), "ylim": (bottom, top)},
        key_below=0.22,
    )
