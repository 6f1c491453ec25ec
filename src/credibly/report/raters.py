"""The section about several labels per instance: whose loss it is, and whether disagreement was predicted."""

from __future__ import annotations

from credibly.evaluation import Evaluation, RaterParts, shown
from credibly.plots import Table
from credibly.plots.raters import DisagreementDisplay, LossMapDisplay
from credibly.report.html_parts import MethodNote, ReportFigure, Section, interval_text, report_figure
from credibly.results.decompositions import LossDecomposition

_MEANINGS = {
    "expected": "expected loss: squared distance to a rater's label",
    "irreducible": "irreducible: raters disagree, no model can help",
    "epistemic": "epistemic: the prediction is not the distribution of labels",
    "calibration": "of that, calibration loss: recalibration could remove it",
    "dispersion": "of that, dispersion loss: the prediction does not tell these instances apart",
}
METHOD = MethodNote(
    "Losses over raters",
    "Several labels per instance tell the loss of the model from the disagreement of the raters. All terms "
    "are corrected for the noise of few raters and few instances, so a small one may be negative. Their "
    "intervals are over instances.",
    "expected = epistemic + irreducible; epistemic = calibration + dispersion",
    "Mimori et al., Diagnostic uncertainty calibration, AISTATS 2021.",
)


def rater_section(parts: RaterParts, evaluation: Evaluation) -> Section:
    """Return the section about losses and disagreement of raters."""
    loss, pairs = parts.loss, parts.disagreement
    rows = tuple(
        (meaning, shown(own.value), interval_text(own), shown(getattr(loss.plugin, name).value))
        for name, meaning in _MEANINGS.items()
        for own in (getattr(loss, name),)
    )
    spread = (
        ("mean predicted disagreement of two raters", pairs.predicted),
        ("mean observed disagreement", pairs.observed),
        ("loss of the predicted disagreement", pairs.expected),
        ("of that, calibration loss", pairs.calibration),
    )
    columns = ("part", "value", "95 % interval")
    disagreement = tuple((name, shown(one.value), interval_text(one)) for name, one in spread)
    losses = "Squared loss over raters; without correction, few raters look like a bad model"
    return Section(
        anchor="raters",
        title="Several labels per instance: whose loss is it?",
        finding=_finding(loss),
        tables=(
            (losses, Table((*columns, "without correction"), rows)),
            ("Disagreement of two raters of one instance", Table(columns, disagreement)),
        ),
        figures=tuple(_figures(parts)),
        methods=(METHOD,),
    )


def _figures(parts: RaterParts) -> list[ReportFigure]:
    found = []
    if parts.loss.calibration.stderr is not None:
        display = LossMapDisplay(parts.loss)
        found.append(report_figure(display, "Where the epistemic loss lies", "loss-map", size=(4.0, 4.0)))
    name = "Predicted against observed disagreement of two raters"
    found.append(report_figure(DisagreementDisplay(parts.disagreement), name, "disagreement"))
    return found


def _finding(loss: LossDecomposition) -> str:
    few, many = (f"{number:g}" for number in loss.raters)
    raters = few if few == many else f"{few} to {many}"
    share = ""
    if loss.expected.value > 0:
        share = f" ({100 * loss.irreducible.value / loss.expected.value:.0f} %)"
    left = f" {loss.n_left_out} instances with one rater are left out." if loss.n_left_out else ""
    return (
        f"{loss.n} instances with {raters} raters each. Of the expected loss {shown(loss.expected.value)}, "
        f"{shown(loss.irreducible.value)}{share} is disagreement between raters, "
        f"{shown(loss.calibration.value)} calibration loss and {shown(loss.dispersion.value)} dispersion "
        f"loss.{left}"
    )
