"""What a predictive check found: per hypothesis, per statistic, per group, and how much it could detect."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from credibly._arrays.errors import UnsupportedError, one_of
from credibly._arrays.namespace import HostArray
from credibly._arrays.progress import Progress
from credibly.results.base import Result, Tested, require_level
from credibly.results.power import PowerCurve
from credibly.results.tests import CheckDetails, HypotestResult, Word


@dataclasses.dataclass(frozen=True)
class HypothesisCheck(Tested, Result):
    """All statistics of a predictive check under one hypothesis, on shared replicates.

    Attributes
    ----------
    name : {"bayesian", "independent"}
        The hypothesis.
    hypothesis : str
        The same in words.
    checks : mapping of str to HypotestResult
        One result per statistic; with several their p-values are adjusted (Westfall-Young).
    omnibus_pvalue : float
        p-value of the smallest p-value of all statistics.
    members : ndarray (n_resamples,) or None
        The member that drew every replicate.
    groups : mapping of str to mapping of str to HypotestResult
        The same within every group, adjusted over all groups and statistics.
    """

    name: Literal["bayesian", "independent"]
    hypothesis: str
    checks: Mapping[str, HypotestResult[CheckDetails]]
    omnibus_pvalue: float
    members: HostArray | None
    groups: Mapping[str, Mapping[str, HypotestResult[CheckDetails]]] = dataclasses.field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types; groups without their replicates."""
        groups = {
            group: {name: check.summary() for name, check in checks.items()}
            for group, checks in self.groups.items()
        }
        return {**Result.to_dict(dataclasses.replace(self, groups={})), "groups": groups}


@dataclasses.dataclass(frozen=True)
class PredictiveCheck(Tested, Result):
    """What the model expects its statistics to be, and what was observed.

    Attributes
    ----------
    bayesian, independent : HypothesisCheck or None
        Results under each hypothesis; None if it was not requested.
    n, m, n_resamples : int
        Instances, members and replicates.
    kind : str
        Type of the predictions.
    factors : mapping of str to tuple of str
        Names of the groups along each grouping factor; empty without groups.
    limits : tuple of str
        What this check cannot say, in words.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    settings : mapping
        Everything needed to repeat the check, including the seed.
    simulate_power : callable or None
        What `power` calls; it keeps the predictions.
    """

    unwritten = ("simulate_power",)

    bayesian: HypothesisCheck | None
    independent: HypothesisCheck | None
    n: int
    m: int
    n_resamples: int
    kind: str
    factors: Mapping[str, tuple[str, ...]]
    limits: tuple[str, ...]
    notes: tuple[str, ...]
    settings: Mapping[str, Any]
    simulate_power: Callable[..., PowerCurve] | None = dataclasses.field(default=None, repr=False)

    @property
    def hypotheses(self) -> dict[str, HypothesisCheck]:
        """What was tested, the Bayesian hypothesis first."""
        checks = {"bayesian": self.bayesian, "independent": self.independent}
        return {name: check for name, check in checks.items() if check is not None}

    @property
    def checks(self) -> Mapping[str, HypotestResult[CheckDetails]]:
        """One result per statistic: under the Bayesian hypothesis if it was tested, else independent."""
        return next(iter(self.hypotheses.values())).checks

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of the statistics."""
        return tuple(self.checks)

    def under(self, hypothesis: str) -> HypothesisCheck:
        """Return the results under one hypothesis.

        Parameters
        ----------
        hypothesis : {"bayesian", "independent"}
            Which one.

        Returns
        -------
        HypothesisCheck
            Its results.
        """
        one_of("`hypothesis`", hypothesis, self.hypotheses)
        return self.hypotheses[hypothesis]

    def count_verdicts(
        self, level: float = 0.05, hypothesis: str | None = None
    ) -> dict[str, dict[Word, int]]:
        """Count the groups by verdict, for every statistic: the summary of P21 Figs. 7 and 11 and Table 4.

        Parameters
        ----------
        level : float
            Level of the adjusted p-values.
        hypothesis : {"bayesian", "independent"}, optional
            Which hypothesis. Default: the Bayesian one if it was tested.

        Returns
        -------
        dict
            Statistic to verdict to number of groups.
        """
        require_level(level)
        groups = self._groups(hypothesis)
        words: tuple[Word, ...] = ("conflict", "no conflict found", "cannot tell")
        counts = {name: dict.fromkeys(words, 0) for name in self.statistics}
        for checks in groups.values():
            for name, check in checks.items():
                counts[name][check.verdict(level)] += 1
        return counts

    def _groups(self, hypothesis: str | None) -> Mapping[str, Mapping[str, HypotestResult[CheckDetails]]]:
        chosen = self.under(hypothesis) if hypothesis else next(iter(self.hypotheses.values()))
        if not chosen.groups:
            raise UnsupportedError(
                "a table of groups", "needs groups", "the check was run without", "Pass `groups=`."
            )
        return chosen.groups

    def power(
        self,
        injection: str | Callable[[Any, float], Any] = "temperature",
        grid: Sequence[float] | None = None,
        *,
        n_repeats: int = 200,
        level: float = 0.05,
        wanted: float = 0.8,
        rng: Any = 0,
        progress: Progress | None = None,
    ) -> PowerCurve:
        """Find the smallest distortion that this check would detect.

        Labels are drawn from distorted predictions under each hypothesis, and the statistics of the
        undistorted predictions are compared with the replicates of this check.

        Parameters
        ----------
        injection : {"temperature", "bias"} or callable
            "temperature": class probabilities to the power 1 / amount, or spread times amount. "bias", for
            real values: shift by amount standard deviations. A function takes predictions and amount and
            returns predictions of the same type and shape.
        grid : sequence of float, optional
            Amounts. Default: a grid around the amount that changes nothing.
        n_repeats : int
            Simulated data sets per amount.
        level : float
            Level of the check.
        wanted : float
            Power at which a distortion counts as detected.
        rng : None, int or Generator
            Seed of the simulated data sets.
        progress : callable, optional
            Called with (done, total) amounts.

        Returns
        -------
        PowerCurve
            Power per hypothesis, statistic and amount; ``.smallest(name)`` is the answer.
        """
        if self.simulate_power is None:
            raise UnsupportedError(
                "the power of a check",
                "needs the predictions",
                "this result does not include them: rows came in chunks or in clusters",
                "Run `predictive_check` again with all rows in memory and without clusters.",
            )
        return self.simulate_power(
            injection, grid, n_repeats=n_repeats, level=level, wanted=wanted, rng=rng, progress=progress
        )

    def summary(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, except predictions, replicates and single members."""
        written = self.to_dict()
        for name in self.hypotheses:
            part = written[name]
            del part["members"]
            part["checks"] = {key: check.summary() for key, check in self.under(name).checks.items()}
        return written

    def __str__(self) -> str:
        lines = [f"Predictive check of {self.kind} (n = {self.n}, m = {self.m})"]
        for check in self.hypotheses.values():
            lines.append(f"  {check.name}: {check.hypothesis}")
            lines += [f"    {check}" for check in check.checks.values()]
        return "\n".join(lines)
