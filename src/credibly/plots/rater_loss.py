"""Where the epistemic loss lies, and what few raters do to it: D21 Figures 2a and 1 (Mimori et al. 2021)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, shown_range
from credibly.plots.display import Display, Table, Words, drawing_of
from credibly.plots.style import BLUE, INK, ORANGE, SKY, VERMILION
from credibly.results.decompositions import LossDecomposition
from credibly.results.estimates import Estimate, RootEstimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "oDs^vP*X<>"
_COLOURS = (BLUE, VERMILION, ORANGE, SKY, INK)


@dataclasses.dataclass(frozen=True)
class LossMapDisplay(Display):
    """Calibration error against dispersion error, one point per model.

    Attributes
    ----------
    names : tuple of str
        The models.
    calibration, dispersion : ndarray (s,)
        Signed roots; a negative one says that the squared error was estimated below zero.
    calibration_interval, dispersion_interval : ndarray (s, 2)
        95 % intervals of the same; NaN where there is none.
    """

    size: ClassVar[tuple[float, float]] = (4.6, 4.6)

    names: tuple[str, ...]
    calibration: HostArray
    dispersion: HostArray
    calibration_interval: HostArray
    dispersion_interval: HostArray

    @property
    def finding(self) -> str:
        """The map in one sentence."""
        squares = [part * np.abs(part) for part in (self.calibration, self.dispersion)]
        best = int(np.argmin(squares[0] + squares[1]))
        part = "dispersion" if squares[1][best] >= squares[0][best] else "calibration"
        most = "Most of the epistemic loss"
        if len(self.names) > 1:
            most = f"{self.names[best]} has the smallest epistemic loss; most of it"
        return (
            f"{most} is {part} loss (calibration error {shown(float(self.calibration[best]))}, "
            f"dispersion error {shown(float(self.dispersion[best]))})."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Calibration and dispersion", "calibration error", "dispersion error")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw points with intervals, and arcs of equal epistemic loss."""
        ends = np.concatenate([self.calibration_interval.ravel(), self.dispersion_interval.ravel()])
        ends = np.concatenate([ends[np.isfinite(ends)], self.calibration, self.dispersion])
        reach = 1.08 * float(max(ends.max(), 1e-6))
        low = min(-0.04 * reach, 1.08 * float(ends.min()))
        angle = np.linspace(0, np.pi / 2, 60)
        for radius in np.linspace(0, 1.4 * reach, 8)[1:]:
            ax.plot(radius * np.cos(angle), radius * np.sin(angle), color=INK, alpha=0.2, linewidth=0.6)
        ax.axhline(0, color=INK, linewidth=0.6)
        ax.axvline(0, color=INK, linewidth=0.6)
        for place, name in enumerate(self.names):
            x, y = self.calibration[place], self.dispersion[place]
            colour, marker = _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
            ax.plot(self.calibration_interval[place], [y, y], color=colour, linewidth=1.2)
            ax.plot([x, x], self.dispersion_interval[place], color=colour, linewidth=1.2)
            ax.plot([x], [y], linestyle="none", marker=marker, color=colour, markersize=6, label=name)
        ax.set_xlim(low, reach)
        ax.set_ylim(low, reach)
        ax.set_aspect("equal")

    def table(self) -> Table:
        """Return both errors of every model with their intervals."""
        parts = (
            ("calibration error", self.calibration, self.calibration_interval),
            ("dispersion error", self.dispersion, self.dispersion_interval),
        )
        rows = tuple(
            (
                model,
                part,
                shown(float(values[place])),
                "none"
                if np.isnan(ends[place, 0])
                else shown_range((float(ends[place, 0]), float(ends[place, 1]))),
            )
            for place, model in enumerate(self.names)
            for part, values, ends in parts
        )
        return Table(("model", "error", "value", "95 % interval"), rows)


@dataclasses.dataclass(frozen=True)
class DebiasingDisplay(Display):
    """Plug-in and unbiased epistemic loss against the number of raters.

    Attributes
    ----------
    n_raters : ndarray (s,)
        Raters kept per instance.
    unbiased, plugin : ndarray (s,)
        Epistemic losses.
    low, high : ndarray (s,)
        95 % interval of the unbiased one.
    reference : float
        The unbiased loss of all raters.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 3.8)

    n_raters: HostArray
    unbiased: HostArray
    plugin: HostArray
    low: HostArray
    high: HostArray
    reference: float

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        held = int(((self.low <= self.reference) & (self.reference <= self.high)).sum())
        fewest = int(np.argmin(self.n_raters))
        return (
            f"The interval of the unbiased loss holds the value of all raters in {held} of "
            f"{len(self.n_raters)} cases; with {self.n_raters[fewest]:g} raters the plug-in says "
            f"{shown(float(self.plugin[fewest]))} instead of {shown(self.reference)} "
            f"(interval {shown_range((float(self.low[fewest]), float(self.high[fewest])))})."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Debiasing against raters", "raters per instance", "epistemic loss")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw both losses with the interval, and the value of all raters."""
        ax.axhline(self.reference, color=INK, linestyle=(0, (4, 3)), linewidth=0.9, label="all raters")
        ax.errorbar(
            self.n_raters,
            self.unbiased,
            yerr=np.stack([self.unbiased - self.low, self.high - self.unbiased]),
            color=BLUE,
            marker="o",
            markersize=5,
            linewidth=1.2,
            label="unbiased, 95 % interval",
        )
        ax.plot(
            self.n_raters,
            self.plugin,
            color=VERMILION,
            marker="D",
            markersize=5,
            linewidth=1.2,
            label="plug-in",
        )
        ax.set_xscale("log")
        ax.set_xticks(self.n_raters, [f"{number:g}" for number in self.n_raters])
        ax.minorticks_off()


def loss_map_data(parts: LossDecomposition | Mapping[str, LossDecomposition]) -> LossMapDisplay:
    """Return what the calibration-dispersion map shows.

    Parameters
    ----------
    parts : LossDecomposition or mapping of str to LossDecomposition
        One model, or several by name.

    Returns
    -------
    LossMapDisplay
        The data; `draw` draws them.
    """
    given = {"model": parts} if isinstance(parts, LossDecomposition) else dict(parts)
    _require_any(given, "`parts`")
    roots = [(one.calibration_error, one.dispersion_error) for one in given.values()]
    return LossMapDisplay(
        tuple(map(str, given)),
        np.array([first.value for first, _ in roots]),
        np.array([second.value for _, second in roots]),
        np.array([interval_or_nan(first) for first, _ in roots]),
        np.array([interval_or_nan(second) for _, second in roots]),
    )


def interval_or_nan(estimate: Estimate) -> tuple[float, float]:
    """Return the interval; NaN where it is refused."""
    refused = estimate.interval_refusal is not None
    refused |= estimate.stderr is None and not isinstance(estimate, RootEstimate)  # a root has its square's
    return (np.nan, np.nan) if refused else estimate.interval()


def debiasing_data(by_raters: Mapping[int, LossDecomposition], whole: LossDecomposition) -> DebiasingDisplay:
    """Return what the picture of debiasing against the number of raters shows.

    Parameters
    ----------
    by_raters : mapping of int to LossDecomposition
        Decompositions of subsampled raters, by their number.
    whole : LossDecomposition
        The decomposition of all raters.

    Returns
    -------
    DebiasingDisplay
        The data; `draw` draws them.
    """
    _require_any(by_raters, "`by_raters`")
    numbers = sorted(by_raters)
    intervals = np.array([by_raters[number].epistemic.interval() for number in numbers])
    return DebiasingDisplay(
        np.array(numbers),
        np.array([by_raters[number].epistemic.value for number in numbers]),
        np.array([by_raters[number].plugin.epistemic.value for number in numbers]),
        intervals[:, 0],
        intervals[:, 1],
        whole.epistemic.value,
    )


def _require_any(given: Mapping[Any, Any], name: str) -> None:
    if not given:
        raise InputError(name, "must hold at least one decomposition", "got none", "Use `decompose_loss`.")


@drawing_of(loss_map_data)
def loss_map(parts: LossDecomposition | Mapping[str, LossDecomposition], *, ax: Axes | None = None) -> Axes:
    """Draw calibration error against dispersion error, one point per model."""
    return loss_map_data(parts).draw(ax)


@drawing_of(debiasing_data)
def debiasing_curve(
    by_raters: Mapping[int, LossDecomposition], whole: LossDecomposition, *, ax: Axes | None = None
) -> Axes:
    """Draw plug-in and unbiased epistemic loss against the number of raters."""
    return debiasing_data(by_raters, whole).draw(ax)
