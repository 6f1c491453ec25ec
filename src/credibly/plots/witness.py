"""What a witness said about classes and what happened: frequencies beside what the set allows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.plots.display import Display, Words
from credibly.plots.style import BLUE, SKY, VERMILION
from credibly.results.witness import WitnessResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class WitnessDisplay(Display):
    """What the picture of a witness shows, the clearest direction first.

    Attributes
    ----------
    directions : tuple of str
        Class, and whether the witness said it would happen more or less often than the set allows.
    instances : ndarray (d,)
        Instances of which it said so, before it saw their labels.
    lower, upper, observed : ndarray (d,)
        Mean bounds of the class among them, and its frequency.
    scores : ndarray (d,)
        How far the frequency is beyond the bound, in standard deviations.
    pvalue : float
        Of the test.
    told : str
        The clearest direction in words.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 3.4)

    directions: tuple[str, ...]
    instances: HostArray
    lower: HostArray
    upper: HostArray
    observed: HostArray
    scores: HostArray
    pvalue: float
    told: str

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        if not self.told:
            return f"No class happens more or less often than the set allows (p = {self.pvalue:.3g})."
        return f"Where the witness points most clearly {self.told} (p = {self.pvalue:.3g} of the whole test)."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("What the set allows, and what happened", "frequency of the class", "")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw a bar from lower to upper bound per direction, and the frequency."""
        places = np.arange(len(self.directions))[::-1]
        ax.barh(
            places,
            np.maximum(self.upper - self.lower, 0.004),
            left=self.lower,
            height=0.5,
            color=SKY,
            label="what the set allows",
        )
        for beyond, color, marker, label in (
            (self.scores > 0, VERMILION, "D", "observed, beyond the set"),
            (self.scores <= 0, BLUE, "o", "observed, within"),
        ):
            if beyond.any():
                ax.plot(
                    self.observed[beyond],
                    places[beyond],
                    linestyle="none",
                    marker=marker,
                    color=color,
                    label=label,
                )
        ax.set_yticks(
            places, [f"{one} (n = {n})" for one, n in zip(self.directions, self.instances, strict=True)]
        )
        ax.set_xlim(-0.02, 1.02)


def witness_data(
    result: WitnessResult, *, class_names: Sequence[str] | None = None, limit: int = 8
) -> WitnessDisplay:
    """Return what the picture of a witness shows.

    Parameters
    ----------
    result : WitnessResult
        The ``validity`` of ``credibly.credal_test``.
    class_names : sequence of str, optional
        Names of the classes.
    limit : int
        Most directions shown.

    Returns
    -------
    WitnessDisplay
        The data; `draw` draws them.
    """
    shown = result.directions[:limit]
    names = [f"class {one.label}" if class_names is None else str(class_names[one.label]) for one in shown]
    often = ["more often" if one.more else "less often" for one in shown]
    return WitnessDisplay(
        directions=tuple(f"{name}, {how}" for name, how in zip(names, often, strict=True)),
        instances=np.array([one.n for one in shown], dtype=np.int64),
        lower=np.array([one.lower for one in shown]),
        upper=np.array([one.upper for one in shown]),
        observed=np.array([one.observed for one in shown]),
        scores=np.array([one.score for one in shown]),
        pvalue=result.pvalue,
        told=result.where(class_names),
    )


def witness_diagram(
    result: WitnessResult,
    *,
    class_names: Sequence[str] | None = None,
    limit: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """Draw what a witness said about classes, and what happened.

    Parameters
    ----------
    result : WitnessResult
        The ``validity`` of ``credibly.credal_test``.
    class_names : sequence of str, optional
        Names of the classes.
    limit : int
        Most directions shown.
    ax : Axes, optional
        Where to draw; a new figure where not given.

    Returns
    -------
    Axes
        The axes, their figure in ``.figure``.
    """
    return witness_data(result, class_names=class_names, limit=limit).draw(ax)
