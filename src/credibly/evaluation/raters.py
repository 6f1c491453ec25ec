"""The part of an evaluation that several labels per instance allow."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from credibly._arrays.errors import UnsupportedError
from credibly.evaluation.rows import has_counts
from credibly.evaluation.stages import NOT_ASKED, Part, Stage, Work
from credibly.predictions import Rows
from credibly.raters import decompose_disagreement, decompose_loss
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import Estimate

KEPT_CLASSES = 100
_LONG = ("per_bin", "per_bin_plugin", "per_class_plugin")


@dataclasses.dataclass(frozen=True)
class RaterParts(Part):
    """The squared loss and the disagreement between raters, taken apart.

    Attributes
    ----------
    loss : LossDecomposition
        Whose loss it is.
    disagreement : DisagreementDecomposition
        Whether raters disagree as much as predicted.
    """

    drawn_as = ("disagreement",)

    loss: LossDecomposition
    disagreement: DisagreementDecomposition

    @property
    def key_numbers(self) -> Mapping[str, Estimate]:
        """Whose loss it is, and whether disagreement was predicted."""
        return {
            "Irreducible loss": self.loss.irreducible,
            "Calibration loss": self.loss.calibration,
            "Dispersion loss": self.loss.dispersion,
            "Predicted disagreement": self.disagreement.predicted,
            "Observed disagreement": self.disagreement.observed,
        }

    def told(self, shared: Sequence[str]) -> tuple[str, ...]:
        """Return what was left out because too few people rated it."""
        own = dict.fromkeys((*self.loss.notes, *self.disagreement.notes))
        return tuple(f"raters: {note}" for note in own if note not in shared)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types but single bins, and classes where there are very many."""
        found = super().to_dict()
        long = (*_LONG, "per_class") if len(self.loss.per_class.expected.value) > KEPT_CLASSES else _LONG
        for name in long:
            found["loss"].pop(name)
        if "per_class" in long:
            for name in ("per_class", "per_class_predicted", "per_class_observed", "class_bins"):
                found["disagreement"].pop(name)
        return found


def _applies(rows: Rows, work: Work) -> str | None:
    return None if has_counts(rows) else NOT_ASKED


def _run(rows: Rows, work: Work) -> RaterParts | None:
    try:
        with warnings.catch_warnings():  # what is left out stands in the notes of the evaluation
            warnings.simplefilter("ignore", UserWarning)
            return RaterParts(
                decompose_loss(*rows.arguments, n_bins=work.n_bins),
                decompose_disagreement(*rows.arguments, n_bins=work.n_bins),
            )
    except UnsupportedError as error:
        work.leave_out("decompositions over raters", f"{error.rule}, {error.evidence}")
        return None


RATERS = Stage("raters", _run, _applies)
