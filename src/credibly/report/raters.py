"""The section about several labels per instance: whose loss it is, and whether disagreement was predicted."""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly._arrays.decompositions import LossDecomposition
from credibly._arrays.results import Estimate
from credibly.evaluation import Evaluation, shown, shown_range
from credibly.plots import disagreement_data, loss_map_data, new_axes
from credibly.report.figures import ReportFigure, Table
from credibly.report.methods import MethodNote
from credibly.report.svg import inline_svg

_MARGINS = (0.6, 0.85, 0.1, 0.3)
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


@dataclasses.dataclass(frozen=True)
class RaterSection:
    """What the section says and shows."""

    finding: str
    losses: Table
    disagreement: Table
    figures: tuple[ReportFigure, ...]


def rater_section(evaluation: Evaluation) -> RaterSection | None:
    """Return the section, or None where there is one label per instance."""
    parts = evaluation.raters
    if parts is None:
        return None
    loss, pairs = parts.loss, parts.disagreement
    rows = tuple(
        (meaning, shown(own.value), _interval(own), shown(getattr(loss.plugin, name).value))
        for name, meaning in _MEANINGS.items()
        for own in (getattr(loss, name),)
    )
    spread = (
        ("mean predicted disagreement of two raters", pairs.predicted),
        ("mean observed disagreement", pairs.observed),
        ("loss of the predicted disagreement", pairs.expected),
        ("of that, calibration loss", pairs.calibration),
    )
    return RaterSection(
        finding=_finding(loss),
        losses=Table(("part", "value", "95 % interval", "without correction"), rows),
        disagreement=Table(
            ("", "value", "95 % interval"),
            tuple((name, shown(one.value), _interval(one)) for name, one in spread),
        ),
        figures=tuple(_figures(evaluation)),
    )


def _figures(evaluation: Evaluation) -> list[ReportFigure]:
    assert evaluation.raters is not None
    loss, pairs = evaluation.raters.loss, evaluation.raters.disagreement
    found = []
    if loss.calibration.stderr is not None:
        display = loss_map_data(loss)
        ax = new_axes(4.0, 4.0, _MARGINS)
        display.draw(ax)
        rows = tuple(
            (name, shown(float(value)), "none" if np.isnan(ends[0]) else shown_range(tuple(ends.tolist())))
            for name, value, ends in (
                ("calibration error", display.calibration[0], display.calibration_interval[0]),
                ("dispersion error", display.dispersion[0], display.dispersion_interval[0]),
            )
        )
        name = "Where the epistemic loss lies"
        svg = inline_svg(ax.get_figure(root=True), "figure-loss-map", name, display.finding)  # type: ignore[arg-type]
        found.append(
            ReportFigure(name, display.finding, svg, Table(("error", "value", "95 % interval"), rows))
        )
    shape = disagreement_data(pairs)
    ax = new_axes(4.4, 4.0, _MARGINS)
    shape.draw(ax)
    bins = tuple(
        (
            f"{shown(float(shape.left[i]))} to {shown(float(shape.right[i]))}",
            f"{shape.count[i]:d}",
            shown(float(shape.predicted[i])),
            shown(float(shape.observed[i])),
            f"{shown(float(shape.low[i]))} to {shown(float(shape.high[i]))}",
            "yes" if shape.outside[i] else "",
        )
        for i in np.arange(len(shape.count))
    )
    name = "Predicted against observed disagreement of two raters"
    svg = inline_svg(ax.get_figure(root=True), "figure-disagreement", name, shape.finding)  # type: ignore[arg-type]
    columns = ("bin", "instances", "predicted", "observed", "band", "outside")
    found.append(ReportFigure(name, shape.finding, svg, Table(columns, bins)))
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


def _interval(estimate: Estimate) -> str:
    if estimate.interval_refusal is not None or estimate.stderr is None:
        return "none"
    return shown_range(estimate.interval())
