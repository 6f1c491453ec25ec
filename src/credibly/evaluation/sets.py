"""The part of an evaluation about sets: a calibrated combination in them, and the truth itself in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.errors import CrediblyError
from credibly._arrays.namespace import to_host
from credibly.evaluation.verdict import Verdict
from credibly.results.base import Result
from credibly.results.tests import CredalTestResult, LocalDeviations, ValidityResult
from credibly.results.witness import WitnessResult

_LONG = ("weights", "test_rows", "combination")
_PER_ROW = ("log_evalues", "excess")
_PER_INSTANCE = (
    "deviance",
    "pvalues",
    "adjusted_pvalues",
    "nearest",
    "raters",
    "smallest_pvalues",
)
_MOST_LISTED = 100


@dataclasses.dataclass(frozen=True)
class CredalParts(Result):
    """Whether the set holds the truth and a calibrated combination, and where it fails.

    Attributes
    ----------
    validity : WitnessResult
        Whether the distribution of the label given the predictions is in the set: the first question.
    tests : mapping of str to CredalTestResult
        By kind of weights: ``"learned"`` depends on the instance, ``"constant"`` is one vector for all.
    regions : LocalDeviations
        Where in feature space the most flexible combination that was found fails.
    verdicts : tuple of Verdict
        Of the witness, then one per kind of weights; each at the level of the evaluation by itself.
    """

    drawn_as = ("regions",)

    validity: WitnessResult
    tests: Mapping[str, CredalTestResult]
    regions: LocalDeviations
    verdicts: tuple[Verdict, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types; of weights per instance only their means."""
        found = super().to_dict()
        for long in _PER_ROW:
            found["validity"].pop(long)
        found["validity"]["evidence_rows"] = self.validity.evidence_rows().tolist()
        for name, test in self.tests.items():
            found["tests"][name].pop("validity")
            means = np.asarray(test.weights).reshape(-1, len(test.weight_names)).mean(axis=0)
            for long in _LONG:
                found["tests"][name].pop(long)
            found["tests"][name]["mean_weights"] = dict(zip(test.weight_names, means.tolist(), strict=True))
        return found


@dataclasses.dataclass(frozen=True)
class ValidityParts(Result):
    """Whether the distribution of labels of each instance lies in its set.

    Attributes
    ----------
    test : ValidityResult
        Over all instances, and for each.
    verdict : Verdict
        The answer over all instances.
    """

    drawn_as = ("test",)

    test: ValidityResult
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types; of single instances the worst that fail."""
        found = super().to_dict()
        for name in _PER_INSTANCE:
            found["test"].pop(name)
        failing = self.test.failing()
        found["n_failing"] = len(failing)
        found["failing"] = [
            {
                "row": int(row),
                "deviance": _number(self.test.deviance, row),
                "adjusted_pvalue": _number(self.test.adjusted_pvalues, row),
            }
            for row in failing[:_MOST_LISTED]
        ]
        return found


def _number(values: Any, row: int) -> float | str:
    number = float(to_host(values)[row])
    return number if np.isfinite(number) else "Infinity"


def why_not(error: CrediblyError) -> str:
    """Return the reason for which a test of this kind cannot be run here."""
    return f"it {error.rule}, {error.evidence}"
