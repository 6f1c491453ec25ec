"""Result objects: a number with its error, a test with its null, a curve; all JSON-safe."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import is_array, to_host

SCHEMA_VERSION = 1

Tail = Literal["greater", "two-sided"]


def jsonable(value: Any) -> Any:
    """Return `value` in types JSON knows; infinities and NaN become the strings JSON tools expect."""
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isfinite(number):
            return number
        return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")
    if isinstance(value, np.integer):
        return int(value)
    if is_array(value):
        return jsonable(to_host(value).tolist())
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return [jsonable(item) for item in sorted(value, key=str)]  # sets have no order of their own
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return str(value)


class Result:
    """Shared by all results: `to_dict` with the schema version and the type's name."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types."""
        fields = {
            field.name: jsonable(getattr(self, field.name))
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
        }
        return {"schema_version": SCHEMA_VERSION, "type": type(self).__name__, **fields}

    def _repr_html_(self) -> str:
        """Show in a notebook what `print` shows: the fields hold thousands of replicates."""
        return f"<pre>{html.escape(str(self))}</pre>"


def require_level(level: float) -> None:
    """Raise unless `level` is a probability strictly between 0 and 1."""
    if not isinstance(level, (float, int, np.floating)) or not 0 < level < 1:
        raise InputError(
            "`level`", "must lie strictly between 0 and 1", f"got {level!r}", "Write 0.95 for 95 %."
        )


@dataclasses.dataclass(frozen=True)
class Estimate(Result):
    """A number with its standard error.

    Attributes
    ----------
    name : str
        The statistic.
    value : float
        Its value; ``float(estimate)`` gives the same.
    stderr : float or None
        Standard error over instances, None where none can be trusted.
    n : int
        Number of instances.
    settings : mapping
        What the statistic was computed with.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    interval_refusal : str or None
        Why no interval is offered, None where it is.
    interval_method : {"normal", "wilson"}
        ``value +- z stderr``, or Wilson's interval of a share, which holds near 0 and 1 too.
    """

    name: str
    value: float
    stderr: float | None
    n: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    interval_refusal: str | None = None
    interval_method: Literal["normal", "wilson"] = "normal"

    def __float__(self) -> float:
        return self.value

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of `interval_method`, where its coverage was checked by simulation.

        Parameters
        ----------
        level : float
            Coverage.

        Returns
        -------
        tuple of float
            Lower and upper end.

        Raises
        ------
        UnsupportedError
            If no interval of this statistic keeps its coverage; the message names the alternative.
        """
        from scipy.special import ndtri

        require_level(level)
        if self.interval_refusal is not None or self.stderr is None:
            reason = self.interval_refusal or "it has no standard error here"
            raise UnsupportedError(
                f"an interval for `{self.name}`",
                "is only given where its coverage was checked",
                reason,
                "Use more instances, the debiased variant of a binned error, or `calibration_test`, whose "
                "acceptance region is valid for any n.",
            )
        z = float(ndtri((1 + level) / 2))
        if self.interval_method == "wilson":
            return _wilson(self.value, self.n, z)
        return self.value - z * self.stderr, self.value + z * self.stderr

    def __str__(self) -> str:
        error = "" if self.stderr is None else f" ± {self.stderr:.2g}"
        return f"{self.name} {self.value:.6g}{error} (n = {self.n})"


def _wilson(share: float, n: int, z: float) -> tuple[float, float]:
    """Return the shares that a z-test would not reject; Wilson 1927."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclasses.dataclass(frozen=True)
class HypotestResult(Result):
    """A null hypothesis, a statistic and a p-value.

    Attributes
    ----------
    name : str
        The test.
    hypothesis : str
        The null hypothesis in words.
    statistic_name : str
        What was computed.
    statistic : float
        Its value on the observed labels.
    pvalue : float
        Probability, under the hypothesis, of a statistic at least as extreme.
    pvalue_interval : tuple of float or None
        95 % Monte-Carlo interval of the p-value; None where it is not simulated.
    tail : {"greater", "two-sided"}
        Which deviations count as extreme.
    null_distribution : ndarray or None
        The replicates' statistics.
    acceptance_region : tuple of float
        Values the test would not reject at 5 %.
    effect_size : float
        Observed value minus the mean under the hypothesis, in the statistic's own unit.
    z_score : float
        The same in standard deviations of the null.
    n : int
        Number of instances.
    n_resamples : int
        Number of replicates.
    statistic_range : tuple of float or None
        Smallest and largest value the statistic can take, None where unbounded.
    settings : mapping
        What lets the test run again, the seed included.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    adjusted_pvalue : float or None
        Westfall-Young adjustment where several statistics were tested together.
    components : mapping of str to HypotestResult
        Per-statistic results of an omnibus test.
    """

    name: str
    hypothesis: str
    statistic_name: str
    statistic: float
    pvalue: float
    pvalue_interval: tuple[float, float] | None
    tail: Tail
    null_distribution: np.ndarray[Any, Any] | None
    acceptance_region: tuple[float, float]
    effect_size: float
    z_score: float
    n: int
    n_resamples: int
    statistic_range: tuple[float, float] | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    adjusted_pvalue: float | None = None
    components: Mapping[str, HypotestResult] = dataclasses.field(default_factory=dict)

    @property
    def is_beyond_replicates(self) -> bool:
        """Whether the statistic is more extreme than every replicate: no p-value could be smaller."""
        null = self.null_distribution
        if null is None:
            return False
        above = self.statistic > null.max()
        return bool(above or (self.tail == "two-sided" and self.statistic < null.min()))

    @property
    def deciding_pvalue(self) -> float:
        """The p-value behind the verdict: the adjusted one where several statistics were tested together."""
        return self.pvalue if self.adjusted_pvalue is None else self.adjusted_pvalue

    def rejects(self, level: float = 0.05) -> bool:
        """Tell whether the test's own p-value, not adjusted for any other, is at most `level`."""
        require_level(level)
        return self.pvalue <= level

    def verdict(self, level: float = 0.05) -> Literal["conflict", "no conflict found", "cannot tell"]:
        """Return the test's answer in one of three words.

        "conflict" is a rejection by `deciding_pvalue`. "cannot tell" means that a rejection was out of reach:
        no p-value these replicates can give is small enough (also where the statistic lies beyond all of
        them, but an adjusted p-value does not follow), or the acceptance region spans more than half of all
        values the statistic can take. Everything else is "no conflict found".
        """
        require_level(level)
        if self.deciding_pvalue <= level:
            return "conflict"
        sides = 2 if self.tail == "two-sided" else 1
        if self.n_resamples and sides / (self.n_resamples + 1) > level:
            return "cannot tell"
        if self.is_beyond_replicates:
            return "cannot tell"
        if self.statistic_range is not None:
            width = self.acceptance_region[1] - self.acceptance_region[0]
            if width > 0.5 * (self.statistic_range[1] - self.statistic_range[0]):
                return "cannot tell"
        return "no conflict found"

    def __str__(self) -> str:
        low, high = self.acceptance_region
        error = ""
        if self.pvalue_interval is not None:
            error = f" (Monte-Carlo {self.pvalue_interval[0]:.3g} to {self.pvalue_interval[1]:.3g})"
        adjusted = "" if self.adjusted_pvalue is None else f", adjusted {self.adjusted_pvalue:.3g}"
        return (
            f"{self.statistic_name} {self.statistic:.4g}, 95 % acceptance {low:.4g} to {high:.4g}, "
            f"p = {self.pvalue:.3g}{error}{adjusted}: {self.verdict()}"
        )


@dataclasses.dataclass(frozen=True)
class ReliabilityCurve(Result):
    """Predicted probability against observed frequency, bin by bin; empty bins stay empty.

    Attributes
    ----------
    name : str
        What is predicted: ``"top label"`` or a class.
    edges : ndarray (n_bins + 1,)
        Bin edges.
    weight : ndarray (n_bins,)
        Instances (or total weight) per bin.
    predicted, observed : ndarray (n_bins,)
        Mean predicted probability and observed frequency; NaN where the bin is empty.
    band : tuple of ndarray or None
        Lower and upper end, per bin, of what a calibrated model with these predictions shows.
    level : float or None
        Coverage of `band` in each bin.
    n : int
        Number of instances.
    """

    name: str
    edges: np.ndarray[Any, Any]
    weight: np.ndarray[Any, Any]
    predicted: np.ndarray[Any, Any]
    observed: np.ndarray[Any, Any]
    band: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None
    level: float | None
    n: int
