"""Deviances of single instances, largest first, and how large the largest may be."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Words, host_vector
from credibly.plots.style import BLUE, INK, SKY, VERMILION
from credibly.results.tests import ValidityResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVEL = 0.05


@dataclasses.dataclass(frozen=True)
class ValidityDisplay(Display):
    """What the picture of a validity test shows.

    Attributes
    ----------
    rows : ndarray (s,)
        Instances, the largest deviance first; of very many a spread of them.
    deviance : ndarray (s,)
        Their deviances.
    adjusted_pvalues : ndarray (s,)
        Adjusted for all instances.
    ranks : ndarray (s,)
        Place among all instances, from 1.
    n : int
        Number of instances.
    n_inside : int
        Instances whose observed frequencies lie in their set.
    n_failing : int
        Instances with an adjusted p-value of at most 5 %.
    limit : float
        Largest deviance that chance among all instances explains, at 5 %.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 3.4)

    rows: HostArray
    deviance: HostArray
    adjusted_pvalues: HostArray
    ranks: HostArray
    n: int
    n_inside: int
    n_failing: int
    limit: float

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        return (
            f"Of {self.n} instances {self.n_inside} have frequencies inside their set, and {self.n_failing} "
            f"have deviances that chance among {self.n} does not explain (above {shown(self.limit)}); the "
            f"largest is {shown(float(self.deviance[0]))}, of row {int(self.rows[0])}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Labels outside the set", "instances, worst first", "deviance")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw deviances against their rank, and the limit of the largest."""
        finite = np.isfinite(self.deviance)
        top = 1.12 * max(
            float(self.deviance[finite].max(initial=0.0)), self.limit if np.isfinite(self.limit) else 0.0, 1.0
        )
        shown_at = np.where(finite, self.deviance, top)
        failing = self.adjusted_pvalues <= _LEVEL
        for chosen, color, marker, label in (
            (~failing, SKY, "o", "explained by chance"),
            (failing, VERMILION, "D", f"adjusted p <= {_LEVEL:g}"),
        ):
            if chosen.any():
                ax.plot(
                    self.ranks[chosen],
                    shown_at[chosen],
                    linestyle="none",
                    marker=marker,
                    markersize=3,
                    color=color,
                    label=label,
                )
        if np.isfinite(self.limit):
            ax.axhline(self.limit, color=BLUE, linestyle=(0, (5, 2)), label="limit of the largest")
        ax.axhline(0.0, color=INK, linewidth=0.6)
        ax.set_ylim(-0.03 * top, top)


def validity_data(result: ValidityResult, *, limit: int = 500) -> ValidityDisplay:
    """Return what the picture of a validity test shows.

    Parameters
    ----------
    result : ValidityResult
        From ``credibly.validity_test``.
    limit : int
        Most instances drawn: the worst half of that, and a spread over the others.

    Returns
    -------
    ValidityDisplay
        The data; `draw` draws them.
    """
    deviance = host_vector(result.deviance, "deviance")
    adjusted = host_vector(result.adjusted_pvalues, "adjusted_pvalues")
    order = np.argsort(-deviance, kind="stable")
    places = np.arange(order.size)
    if order.size > limit:
        head = limit // 2
        tail = np.linspace(head, order.size - 1, limit - head).astype(int)
        places = np.unique(np.concatenate([places[:head], tail]))
    rows = order[places]
    return ValidityDisplay(
        rows=rows,
        deviance=deviance[rows],
        adjusted_pvalues=adjusted[rows],
        ranks=places + 1,
        n=result.n,
        n_inside=int((deviance <= 1e-6).sum()),
        n_failing=len(result.failing(_LEVEL)),
        limit=result.largest_explained,
    )


def validity_diagram(result: ValidityResult, *, ax: Axes | None = None) -> Axes:
    """Draw the deviances of single instances.

    Parameters
    ----------
    result : ValidityResult
        From ``credibly.validity_test``.
    ax : Axes, optional
        Where to draw; a new figure where not given.

    Returns
    -------
    Axes
        The axes, their figure in ``.figure``.
    """
    return validity_data(result).draw(ax)
