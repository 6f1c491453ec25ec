"""The part of an evaluation that real-valued predictions allow: curves with envelopes."""

from __future__ import annotations

import dataclasses

from credibly._arrays.errors import UnsupportedError
from credibly.evaluation.stages import NOT_ASKED, Part, Stage, Work
from credibly.hypotests import coverage_curve, pit_test
from credibly.predictions import RealPredictions, Rows
from credibly.results.curves import EnvelopeCurve


@dataclasses.dataclass(frozen=True)
class RealParts(Part):
    """Where labels lie in their predicted distributions.

    Attributes
    ----------
    pit : EnvelopeCurve
        Shares of labels at most as large as the quantiles.
    coverage : EnvelopeCurve or None
        Shares of labels inside central intervals; None where quantiles have no symmetric levels.
    """

    drawn_as = ("pit",)

    pit: EnvelopeCurve
    coverage: EnvelopeCurve | None


def _applies(rows: Rows, work: Work) -> str | None:
    return None if work.tests and isinstance(rows.sample.predictions, RealPredictions) else NOT_ASKED


def _run(rows: Rows, work: Work) -> RealParts | None:
    pit = coverage = None
    what = "curves of the probability integral transform and of coverage"
    try:
        pit = pit_test(*rows.arguments, level=work.level, **work.drawn)
        what = "coverage curve"
        coverage = coverage_curve(*rows.arguments, level=work.level, **work.drawn)
    except UnsupportedError as error:
        work.leave_out(what, f"{error.subject} {error.rule}, {error.evidence}")
    work.tell("curves", 1, 1)
    return None if pit is None else RealParts(pit, coverage)


REALS = Stage("reals", _run, _applies)
