"""What recalibration changes: every statistic before and after, paired, with tests and curves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from credibly._arrays.errors import nearest, require
from credibly.results.base import Result
from credibly.results.curves import EnvelopeCurve, ReliabilityCurve
from credibly.results.estimates import Estimate
from credibly.results.tests import HypotestResult


@dataclasses.dataclass(frozen=True)
class Change(Result):
    """One statistic before and after recalibration, on the same instances.

    Attributes
    ----------
    name : str
        The statistic.
    before, after : Estimate
        Its values.
    difference : Estimate
        After minus before, with the standard error of paired instances; if no valid interval for the
        difference is known, `interval` says why.
    test_before, test_after : HypotestResult or None
        The calibration tests of this statistic, with p-values adjusted for all that were tested; None if
        labels are counts over raters, or if the statistic is not a function of single labels.
    """

    name: str
    before: Estimate
    after: Estimate
    difference: Estimate
    test_before: HypotestResult | None = None
    test_after: HypotestResult | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, except the replicates of the tests, which take most space."""
        written = super().to_dict()
        for name in ("test_before", "test_after"):
            if written[name] is not None:
                written[name].pop("null_distribution")
        return written


@dataclasses.dataclass(frozen=True)
class MethodChanges(Result):
    """What one recalibration changed on instances it was not fitted on.

    Attributes
    ----------
    method : str
        Its name.
    description : str
        The parameters of a fit to all data; empty if it failed.
    changes : mapping of str to Change
        Per statistic; empty if the fit failed.
    curve : ReliabilityCurve, EnvelopeCurve or None
        Confidence against accuracy after recalibration; for two classes, the probability of the second
        against its frequency; for real values, the coverage of central intervals.
    failure : str or None
        Why it could not be fitted; None if it could.
    notes : tuple of str
        How the data were interpreted on the way.
    """

    method: str
    description: str
    changes: Mapping[str, Change]
    curve: ReliabilityCurve | EnvelopeCurve | None
    failure: str | None = None
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class RecalibrationReport(Result):
    """Recalibrations side by side, each measured on instances that it was not fitted on.

    Attributes
    ----------
    methods : mapping of str to MethodChanges
        By name, in the order requested.
    curve : ReliabilityCurve, EnvelopeCurve or None
        The same before; None for quantiles without symmetric levels.
    n, n_folds : int
        Instances, and the parts that were held out in turn.
    settings : mapping
        Seed, bins, replicates.
    notes : tuple of str
        What concerns all methods.
    """

    methods: Mapping[str, MethodChanges]
    curve: ReliabilityCurve | EnvelopeCurve | None
    n: int
    n_folds: int
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def best(self, statistic: str | None = None) -> str | None:
        """Return the method with the smallest value of a statistic, or None if none improves it.

        Parameters
        ----------
        statistic : str, optional
            What to compare. Default: log loss, or CRPS for real values.

        Returns
        -------
        str or None
            Name of the method; even a difference within the noise counts, so look at the interval.
        """
        known = {name for method in self.methods.values() for name in method.changes}
        if statistic is None:
            statistic = "crps" if "crps" in known else "log_loss"
        require(
            statistic in known, "must be one of the report", nearest(statistic, known), statistic=statistic
        )
        changes = {
            name: method.changes[statistic].difference.value
            for name, method in self.methods.items()
            if statistic in method.changes
        }
        best = min(changes, key=lambda name: changes[name])
        return best if changes[best] < 0 else None

    def __str__(self) -> str:
        lines = [f"Recalibration, {self.n} instances, {self.n_folds} folds"]
        for name, method in self.methods.items():
            if method.failure is not None:
                lines.append(f"  {name}: not fitted, {method.failure}")
                continue
            lines.append(f"  {name} ({method.description})")
            lines += [
                f"    {change.name} {change.before.value:.4g} -> {change.after.value:.4g}"
                for change in method.changes.values()
            ]
        return "\n".join(lines)
