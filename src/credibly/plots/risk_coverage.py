"""Risk against coverage: wrong answers among the surest instances, beside the best order there could be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, require_kind
from credibly.plots.style import INK, SKY, line_style
from credibly.results.curves import RiskCoverageCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LISTED = np.arange(1, 11) / 10
"""Coverages in the table; the curve itself has hundreds of points."""


@dataclasses.dataclass(frozen=True)
class RiskCoverageDisplay(Display):
    """What risk-coverage curves show.

    Attributes
    ----------
    names : tuple of str
        One name per curve.
    coverage, risk : tuple of ndarray (p,)
        Share of instances answered and share of wrong answers among them, per curve.
    areas : tuple of float
        Mean risk over all coverages, per curve.
    stated, best : ndarray (p,)
        Of the first curve: risk that the predictions state themselves, and that of the best order.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 4.0)

    names: tuple[str, ...]
    coverage: tuple[HostArray, ...]
    risk: tuple[HostArray, ...]
    areas: tuple[float, ...]
    stated: HostArray
    best: HostArray

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        half, everything = self._at(0.5), float(self.risk[0][-1])
        stated = float(np.interp(0.5, self.coverage[0], self.stated))
        others = "".join(
            f" Ordered by {name}: {shown(self._at(0.5, place))}."
            for place, name in enumerate(self.names)
            if place
        )
        return (
            f"Of the surest half by {self.names[0]}, {shown(half)} of the answers are wrong, of all "
            f"{shown(everything)}; the predictions state {shown(stated)} for that half.{others}"
        )

    def _at(self, coverage: float, place: int = 0) -> float:
        return float(np.interp(coverage, self.coverage[place], self.risk[place]))

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Risk against coverage", "share of instances answered", "share of wrong answers")

    def _marks(self, ax: Axes, small: bool) -> None:
        ax.fill_between(self.coverage[0], 0, self.best, color=SKY, alpha=0.4, linewidth=0, label="best order")
        ax.plot(
            self.coverage[0],
            self.stated,
            linestyle=(0, (4, 3)),
            linewidth=0.8,
            color=INK,
            label="as the predictions state",
        )
        for place, (name, coverage, risk) in enumerate(
            zip(self.names, self.coverage, self.risk, strict=True)
        ):
            style = {**line_style(place), "marker": None}
            ax.plot(coverage, risk, linewidth=1.4, label=f"by {name}", **style)
        ax.set_xlim(0, 1)
        ax.set_ylim(bottom=0)

    def table(self) -> Table:
        """Return risks at every tenth of the instances, and the areas."""
        columns = ("coverage", *(f"risk by {name}" for name in self.names), "stated", "best order")
        series = [
            *zip(self.coverage, self.risk, strict=True),
            (self.coverage[0], self.stated),
            (self.coverage[0], self.best),
        ]
        rows = [(shown(float(at)), *(shown(float(np.interp(at, x, y))) for x, y in series)) for at in _LISTED]
        rows.append(("area", *map(shown, self.areas), "", ""))
        return Table(columns, tuple(rows))


def risk_coverage_data(
    curves: RiskCoverageCurve | Mapping[str, RiskCoverageCurve],
) -> RiskCoverageDisplay:
    """Return what risk-coverage curves show.

    Parameters
    ----------
    curves : RiskCoverageCurve or mapping of str to RiskCoverageCurve
        From :func:`credibly.risk_coverage_curve`; several under their names, such as orders of one model.

    Returns
    -------
    RiskCoverageDisplay
        The data; `draw` draws them.
    """
    named = dict(curves) if isinstance(curves, Mapping) else {getattr(curves, "by", ""): curves}
    if not named:
        raise InputError("`curves`", "must hold at least one curve", "got none", "Pass one by its name.")
    for one in named.values():
        require_kind(one, RiskCoverageCurve, "curves", "Make it with `cr.risk_coverage_curve`.")
    first = next(iter(named.values()))
    return RiskCoverageDisplay(
        names=tuple(named),
        coverage=tuple(one.coverage for one in named.values()),
        risk=tuple(one.risk for one in named.values()),
        areas=tuple(one.area.value for one in named.values()),
        stated=first.stated,
        best=first.best,
    )


@drawing_of(risk_coverage_data)
def risk_coverage_diagram(
    curves: RiskCoverageCurve | Mapping[str, RiskCoverageCurve], *, ax: Axes | None = None
) -> Axes:
    """Draw the share of wrong answers against the share of instances answered, the surest first."""
    return risk_coverage_data(curves).draw(ax)
