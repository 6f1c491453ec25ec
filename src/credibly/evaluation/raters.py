"""The part of an evaluation that several labels per instance allow."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from credibly._arrays.errors import UnsupportedError
from credibly.annotators import decompose_disagreement, decompose_loss
from credibly.evaluation.rows import has_counts
from credibly.predictions import Rows
from credibly.results.base import Result
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition

KEPT_CLASSES = 100
_LONG = ("per_bin", "per_bin_plugin", "per_class_plugin")


@dataclasses.dataclass(frozen=True)
class RaterParts(Result):
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


def rater_parts(rows: Rows, n_bins: int) -> tuple[RaterParts | None, list[tuple[str, str]]]:
    """Return the decompositions where labels are counts over raters, else nothing or the reason."""
    if not has_counts(rows):
        return None, []
    try:
        with warnings.catch_warnings():  # what is left out stands in the notes of the evaluation
            warnings.simplefilter("ignore", UserWarning)
            parts = RaterParts(
                decompose_loss(*rows.arguments, n_bins=n_bins),
                decompose_disagreement(*rows.arguments, n_bins=n_bins),
            )
    except UnsupportedError as error:
        return None, [("decompositions over raters", f"{error.rule}, {error.evidence}")]
    return parts, []
