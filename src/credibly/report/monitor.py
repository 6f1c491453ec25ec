"""A monitor as one HTML file: the evidence over time, the onset, what changed, and by how much."""

from __future__ import annotations

from credibly.plots import Table, picture
from credibly.report.html_parts import filled, report_figure
from credibly.results.monitor import MonitorResult, evidence_text
from credibly.results.numbers import percent

AGAIN = """import credibly as cr
cr.Monitor.load("state.json").result().report("monitor.html")"""


def render_monitor(result: MonitorResult) -> str:
    """Return the page of a monitor."""
    tracked = Table.of(
        {
            "mean of": [measure.name for measure in result.tracked],
            "stated": [measure.stated for measure in result.tracked],
            "observed": [measure.observed for measure in result.tracked],
            f"{percent(1 - result.level)} interval": [
                (measure.low, measure.high) for measure in result.tracked
            ],
        }
    )
    groups = Table.of(
        {
            "group": [group.name for group in result.groups],
            "rows": [group.n for group in result.groups],
            "e-value": [evidence_text(group.evalue) for group in result.groups],
            "verdict": ["conflict" if group.alarm else "no conflict found" for group in result.groups],
        }
    )
    suspects = Table.of(
        {
            "what the labels look like": [suspect.words for suspect in result.where],
            "share": [f"{100 * suspect.share:.0f} %" for suspect in result.where],
        }
    )
    facts = [
        ("Rows with labels", str(result.n)),
        ("Waiting for labels", str(result.waiting)),
        ("Predictions", result.kind or "none yet"),
        ("Compared with", _HYPOTHESES.get(result.hypothesis, result.hypothesis)),
        ("Level", percent(result.level)),
    ]
    return filled(
        "monitor.html",
        ("tables.js",),
        result.to_dict(),
        title="Monitor",
        facts=facts,
        verdict=result.verdict(),
        headline=result.sentence(),
        promise=f"While the predictions are right, an alarm is ever raised with a probability of at most "
        f"{percent(result.level)}, however often one looks.",
        notes=result.notes,
        onset=_onset(result),
        figure=report_figure(
            picture(result, "evidence"),
            "Evidence against the predictions",
            "evidence",
            size=(4.4, 3.6),
            margins=(0.55, 0.95, 0.15, 0.3),
        ),
        suspects=suspects,
        tracked=tracked,
        groups=groups,
        methods=(),
        source=Table(("what", "value"), tuple(facts)),
        command=AGAIN,
    )


_HYPOTHESES = {
    "independent": "the prediction, or the mean of its members",
    "bayesian": "one member that draws all labels",
    "set": "any distribution in the set",
}


def _onset(result: MonitorResult) -> str:
    if result.since is not None:
        return f"The weight left the model near row {result.since}."
    return "The weight has not left the model."
