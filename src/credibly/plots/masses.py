"""Masses of one credal prediction, and what they say about every class."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, host_vector
from credibly.plots.style import BLUE, INK, ORANGE, SKY, draw_boxes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Masses(Protocol):
    """What the bars need of a mass function: its sets, and sums of its masses."""

    masses: Any
    focal_sets: Any
    n_classes: int

    def belief(self, events: Any = None) -> Any:
        """Return lower probabilities of the classes, (n, k)."""

    def plausibility(self, events: Any = None) -> Any:
        """Return upper probabilities of the classes, (n, k)."""

    def pignistic(self) -> Any:
        """Return the pignistic probabilities, with ``probs`` (n, k)."""


@dataclasses.dataclass(frozen=True)
class MassDisplay(Display):
    """Masses of the heaviest focal sets, and what they say about every class (C25 Fig. 4).

    Attributes
    ----------
    set_names : tuple of str
        The focal sets shown, heaviest first.
    masses : ndarray (s,)
        Their masses, negative ones included.
    hidden : float
        Absolute mass of the sets not shown.
    class_names : tuple of str
        Names of the classes.
    belief, plausibility, pignistic : ndarray (k,)
        Lower, upper and pignistic probability of every class.
    """

    size: ClassVar[tuple[float, float]] = (6.4, 4.4)
    key_below: ClassVar[float] = 0.3  # below the slanted names

    set_names: tuple[str, ...]
    masses: HostArray
    hidden: float
    class_names: tuple[str, ...]
    belief: HostArray
    plausibility: HostArray
    pignistic: HostArray

    @property
    def finding(self) -> str:
        """The bars in one sentence."""
        best = int(np.argmax(self.pignistic))
        low, middle, high = (float(row[best]) for row in (self.belief, self.pignistic, self.plausibility))
        return (
            f"Class {self.class_names[best]} leads with pignistic probability {shown(middle)}, between "
            f"{shown(low)} and {shown(high)}; the heaviest set is {self.set_names[0]} with mass "
            f"{shown(float(self.masses[0]))}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Masses and classes", ylabel="mass, probability")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw bars of the masses, then per class the pignistic bar with its belief interval."""
        s, k = len(self.masses), len(self.class_names)
        sets, classes = np.arange(s), s + 1 + np.arange(k)
        for places, heights, color, label in (
            (sets, self.masses, ORANGE, "mass of a set"),
            (classes, self.pignistic, SKY, "pignistic probability"),
        ):
            low, high = np.minimum(heights, 0.0), np.maximum(heights, 0.0)
            draw_boxes(
                ax,
                places - 0.38,
                places + 0.38,
                low,
                high,
                facecolor=color,
                edgecolor=INK,
                linewidth=0.5,
                label=label,
            )
        ax.vlines(
            classes, self.belief, self.plausibility, color=BLUE, linewidth=2.0, label="belief to plausibility"
        )
        ax.set_xticks(
            [*sets, *classes], [*self.set_names, *self.class_names], rotation=45, ha="right", parse_math=False
        )
        ax.set_xlim(-0.7, s + k + 0.7)
        ax.set_ylim(min(0.0, 1.1 * float(self.masses.min())), 1.05)

    def table(self) -> Table:
        """Return the masses of the sets, then the probabilities of the classes."""
        sets = [
            (name, shown(mass), "", "", "") for name, mass in zip(self.set_names, self.masses, strict=True)
        ]
        classes = zip(self.class_names, self.belief, self.pignistic, self.plausibility, strict=True)
        rows = [(f"class {name}", "", *map(shown, numbers)) for name, *numbers in classes]
        return Table(("set or class", "mass", "belief", "pignistic", "plausibility"), (*sets, *rows))


def mass_data(
    masses: Masses, *, row: int = 0, limit: int = 8, class_names: Sequence[str] | None = None
) -> MassDisplay:
    """Return what the bars of one instance's masses show.

    Parameters
    ----------
    masses : MassFunction
        From ``credibly.mass_function``.
    row : int
        Which instance.
    limit : int
        Most focal sets shown.
    class_names : sequence of str, optional
        Names of the classes; their numbers where not given.

    Returns
    -------
    MassDisplay
        The data; `draw` draws them.
    """
    names = tuple(map(str, range(masses.n_classes) if class_names is None else class_names))
    if len(names) != masses.n_classes or limit < 1:
        raise InputError(
            "`class_names` and `limit`",
            f"must be {masses.n_classes} names and a positive number",
            f"got {len(names)} names and limit {limit}",
            "Name every class.",
        )
    rows = host_vector(masses.masses, "masses", 2)
    if not 0 <= row < len(rows):
        raise InputError("`row`", f"must lie between 0 and {len(rows) - 1}", f"got {row}", "Count from 0.")
    values = rows[row]
    order = np.argsort(-np.abs(values), kind="stable")[:limit]
    everything = frozenset(range(masses.n_classes))
    sets = [frozenset(masses.focal_sets[place]) for place in order]
    return MassDisplay(
        set_names=tuple(
            "all" if members == everything else "{" + ", ".join(names[j] for j in sorted(members)) + "}"
            for members in sets
        ),
        masses=values[order],
        hidden=float(np.abs(values).sum() - np.abs(values[order]).sum()),
        class_names=names,
        belief=host_vector(masses.belief(), "belief", 2)[row],
        plausibility=host_vector(masses.plausibility(), "plausibility", 2)[row],
        pignistic=host_vector(masses.pignistic().probs, "pignistic", 2)[row],
    )


@drawing_of(mass_data)
def mass_bars(
    masses: Masses,
    *,
    row: int = 0,
    limit: int = 8,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw masses, belief intervals and pignistic probabilities of one instance."""
    display = mass_data(masses, row=row, limit=limit, class_names=class_names)
    return display.draw(ax)
