"""Sampled distributions of one instance with their average."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, host_vector
from credibly.plots.style import BLUE, SKY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class SamplesDisplay(Display):
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

    size: ClassVar[tuple[float, float]] = (5.0, 3.6)

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

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Samples and their average", "class", "probability")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one dot per sample and class, the average as steps, the label marked."""
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

    def table(self) -> Table:
        """Return average and range of every class."""
        spread = zip(self.average, self.samples.min(axis=0), self.samples.max(axis=0), strict=True)
        rows = tuple((str(place), *map(shown, numbers)) for place, numbers in enumerate(spread))
        return Table(("class", "average", "smallest", "largest"), rows)


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


@drawing_of(samples_data)
def samples_strip(samples: Any, *, label: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw sampled distributions of one instance and their average."""
    return samples_data(samples, label=label).draw(ax)
