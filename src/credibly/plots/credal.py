"""Pictures of one credal prediction: masses with what they say about classes, samples with their average."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import to_host
from credibly.evaluation import shown
from credibly.plots.style import BLUE, INK, ORANGE, SKY, VERMILION, axes_or_new, draw_boxes, dress, key

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HostArray = np.ndarray[Any, Any]


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


def host_vector(values: Any, name: str, axes: int = 1) -> HostArray:
    """Return one array on the host, for drawing."""
    array = np.asarray(to_host(values) if hasattr(values, "shape") else values, dtype=np.float64)
    if array.ndim != axes or 0 in array.shape:
        raise InputError(
            f"`{name}`",
            f"must have {axes} axis" if axes == 1 else f"must have {axes} axes",
            f"got shape {array.shape}",
            "Give one value per instance." if axes == 1 else "Give one row per sample.",
        )
    return array


@dataclasses.dataclass(frozen=True)
class MassDisplay:
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

    def draw(self, ax: Axes) -> Axes:
        """Draw on `ax`: bars of the masses, then per class the pignistic bar with its belief interval."""
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
        dress(ax, xlabel="", ylabel="mass, probability", title="Masses and classes")
        key(ax)
        legend = ax.get_legend()
        assert legend is not None
        legend.set_bbox_to_anchor((0.5, -0.3))  # below the slanted names
        return ax


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


def mass_bars(
    masses: Masses,
    *,
    row: int = 0,
    limit: int = 8,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw masses, belief intervals and pignistic probabilities of one instance.

    Parameters
    ----------
    masses : MassFunction
        From ``credibly.mass_function``.
    row : int
        Which instance.
    limit : int
        Most focal sets shown.
    class_names : sequence of str, optional
        Names of the classes.
    ax : Axes, optional
        Where to draw; a new figure where not given.

    Returns
    -------
    Axes
        The axes, their figure in ``.figure``.
    """
    display = mass_data(masses, row=row, limit=limit, class_names=class_names)
    return display.draw(axes_or_new(ax, 6.4, 4.4))


@dataclasses.dataclass(frozen=True)
class SamplesDisplay:
    """Sampled distributions of one instance with their average (C25 Fig. 3).

    Attributes
    ----------
    samples : ndarray (m, k)
        The distributions.
    average : ndarray (k,)
        Their mean.
    label : int or None
        The observed class.
    """

    samples: HostArray
    average: HostArray
    label: int | None

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        best = int(np.argmax(self.average))
        votes = int((self.samples.argmax(axis=1) == best).sum())
        return (
            f"The average puts class {best} first with {shown(float(self.average[best]))}; "
            f"{votes} of {len(self.samples)} samples do."
        )

    def draw(self, ax: Axes) -> Axes:
        """Draw on `ax`: one dot per sample and class, the average as steps, the label marked."""
        m, k = self.samples.shape
        spread = np.zeros(m) if m == 1 else np.linspace(-0.25, 0.25, m)
        places = np.arange(k)[None, :] + spread[:, None]
        ax.plot(
            places.ravel(),
            self.samples.ravel(),
            linestyle="none",
            marker="o",
            markersize=3,
            color=SKY,
            label="samples",
        )
        ax.hlines(
            self.average, np.arange(k) - 0.4, np.arange(k) + 0.4, color=BLUE, linewidth=2.2, label="average"
        )
        if self.label is not None:
            ax.plot(
                [self.label],
                [1.0],
                linestyle="none",
                marker="*",
                markersize=12,
                color=VERMILION,
                label="observed",
            )
        ax.set_xticks(range(k))
        ax.set_xlim(-0.6, k - 0.4)
        ax.set_ylim(0.0, 1.05)
        dress(ax, xlabel="class", ylabel="probability", title="Samples and their average")
        key(ax)
        return ax


def samples_data(samples: Any, *, label: int | None = None) -> SamplesDisplay:
    """Return what the picture of sampled distributions shows.

    Parameters
    ----------
    samples : array (m, k)
        Distributions of one instance, for example ``credal_sample(...).probs[0]``.
    label : int, optional
        The observed class.

    Returns
    -------
    SamplesDisplay
        The data; `draw` draws them.
    """
    values = host_vector(samples, "samples", 2)
    return SamplesDisplay(values, values.mean(axis=0), label)


def samples_strip(samples: Any, *, label: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw sampled distributions of one instance and their average.

    Parameters
    ----------
    samples : array (m, k)
        Distributions of one instance.
    label : int, optional
        The observed class.
    ax : Axes, optional
        Where to draw; a new figure where not given.

    Returns
    -------
    Axes
        The axes, their figure in ``.figure``.
    """
    return samples_data(samples, label=label).draw(axes_or_new(ax, 5.0, 3.6))
