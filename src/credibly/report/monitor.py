"""A monitor as one HTML file: the evidence over time, the onset, what changed, and by how much."""

from __future__ import annotations

from credibly.evaluation.numbers import percent
from credibly.plots import Table, picture
from credibly.report.html_parts import MethodNote, filled, report_figure
from credibly.results.monitor import MonitorResult, evidence_text

METHODS = (
    MethodNote(
        "Evidence at any time",
        "Every row is bet on before its label is known. While the stated probabilities are right, no bet "
        "gains on average, whatever was seen before, so the capital ever exceeds 1 / level with a "
        "probability of at most the level. Fixed share moves a little weight between the model and the bets "
        "all the time, so a fault after many good rows is found nearly as fast as one at the start. Labels "
        "that wait together must be independent given the past, except inside clusters. If it depends on "
        "the label whether a label arrives, nothing here holds.",
        "capital ← capital · (w₀ + Σ wₐ Π eₐ),  E[eₐ | past] ≤ 1",
        "Herbster and Warmuth, Tracking the best expert, Machine Learning 1998; Ramdas, Grünwald, Vovk and "
        "Shafer, Game-theoretic statistics and safe anytime-valid inference, Statistical Science 2023; Wang "
        "and Ramdas, False discovery rate control with e-values, JRSS B 2022.",
    ),
    MethodNote(
        "Intervals at all times",
        "Empirical-Bernstein confidence sequences for the mean over all rows so far of what each row has "
        "under its true probabilities. They do not assume that the model is right.",
        "exp(λ Σ (Xᵢ − E[Xᵢ | past]) − ψ(λ) Σ (Xᵢ − x̂ᵢ)²), mixed over λ",
        "Howard, Ramdas, McAuliffe and Sekhon, Time-uniform, nonparametric, nonasymptotic confidence "
        "sequences, Annals of Statistics 2021.",
    ),
)

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
        methods=METHODS,
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
