"""Method notes: what statistics tell of themselves, and the methods that all of them share."""

from __future__ import annotations

from collections.abc import Mapping

from credibly.report.html_parts import MethodNote

GENERAL = (
    MethodNote(
        "Calibration test",
        "Labels are drawn again and again from the predictions themselves while the predictions stay as they "
        "are (consistency resampling). That is exact for any number of instances. The observed labels count "
        "as one of the draws.",
        "p = (1 + #{replicates at least as extreme}) / (1 + number of replicates)",
        "Bröcker and Smith, Increasing the reliability of reliability diagrams, Weather and Forecasting, "
        "2007; Vaicenavicius et al., Evaluating model calibration in classification, AISTATS 2019.",
    ),
    MethodNote(
        "Acceptance region",
        "The values that the test would not reject. A wide region accepts nearly everything: no conflict "
        "found is then no praise.",
        "",
        "",
    ),
    MethodNote(
        "Adjusted p-value",
        "All statistics share their replicates; the adjusted p-value asks how often the smallest p-value of "
        "all of them would be as small. It decides the verdict, so that one false conflict among all "
        "statistics has at most the probability of the level.",
        "share of replicates whose smallest p ≤ own p",
        "Westfall and Young, Resampling-based multiple testing, Wiley 1993.",
    ),
)
DECOMPOSITION = MethodNote(
    "Calibration and refinement loss",
    "The Brier score split into what recalibration could remove and what it cannot, from bins of every "
    "class's probability; sampling noise of the bins is subtracted, so the calibration loss may be "
    "slightly negative.",
    "Brier = calibration + refinement",
    "Murphy, Journal of Applied Meteorology, 1973; DeGroot and Fienberg, The Statistician, 1983; Kumar, "
    "Liang and Ma, NeurIPS 2019.",
)


def method_notes(
    statistics: Mapping[str, Mapping[str, str]], *, decomposed: bool = True
) -> tuple[MethodNote, ...]:
    """Return what statistics tell of themselves, then the methods that all share.

    `decomposed` tells whether the Brier score was taken apart.
    """
    own = [MethodNote(**told) for told in statistics.values()]
    return (*own, *GENERAL, DECOMPOSITION) if decomposed else (*own, *GENERAL)
