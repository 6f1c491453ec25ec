"""Instances of one model: distance against imprecision, and both kinds of uncertainty against confidence."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, host_vector, require_kind
from credibly.plots.sizes import rank_correlation
from credibly.plots.style import BLUE, ORANGE, VERMILION
from credibly.results.scores import EpistemicScore

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class ScoreScatterDisplay(Display):
    """Distance against imprecision of single instances (C25 Fig. 8).

    Attributes
    ----------
    distance, imprecision : ndarray (s,)
        The instances drawn; infinite distances are left out.
    right : ndarray (s,)
        Whether the prediction is right.
    n : int
        Number of instances there are.
    correlation : float
        Rank correlation over the instances drawn.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 3.8)

    distance: HostArray
    imprecision: HostArray
    right: HostArray
    n: int
    correlation: float

    @property
    def finding(self) -> str:
        """The points in one sentence."""
        return (
            f"{len(self.distance)} of {self.n} instances: rank correlation of distance and imprecision "
            f"{shown(self.correlation)}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Distance against imprecision", "distance", "imprecision")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw right predictions as dots and wrong ones as crosses."""
        for mask, color, marker, label in (
            (self.right, BLUE, "o", "right predictions"),
            (~self.right, VERMILION, "x", "wrong predictions"),
        ):
            ax.plot(
                self.distance[mask],
                self.imprecision[mask],
                linestyle="none",
                marker=marker,
                markersize=3,
                color=color,
                alpha=0.5,
                label=label,
            )
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=min(0.0, float(self.imprecision.min())))

    def table(self) -> Table:
        """Return mean distance and share of right predictions by quarter of the imprecision."""
        order = np.argsort(self.imprecision, kind="stable")
        rows = tuple(
            (
                f"{shown(float(self.imprecision[part[0]]))} to {shown(float(self.imprecision[part[-1]]))}",
                str(len(part)),
                shown(float(self.distance[part].mean())),
                shown(float(self.right[part].mean())),
            )
            for part in np.array_split(order, 4)
            if part.size
        )
        return Table(("imprecision", "instances", "mean distance", "share right"), rows)


def score_scatter_data(score: EpistemicScore, *, most: int = 1000) -> ScoreScatterDisplay:
    """Return what the scatter of distance against imprecision shows.

    Parameters
    ----------
    score : EpistemicScore
        From ``credibly.epistemic_score``.
    most : int
        Instances drawn at most, evenly spaced.

    Returns
    -------
    ScoreScatterDisplay
        The data; `draw` draws them.
    """
    require_kind(
        score, EpistemicScore, "score", "Pass what `epistemic_score` found, or one of `Ranking.scores`."
    )
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError("`most`", "must be a positive integer", f"got {most!r}", "Use 1000.")
    distance, imprecision = (
        host_vector(score.distance, "distance"),
        host_vector(score.imprecision, "imprecision"),
    )
    right = host_vector(score.right, "right") > 0
    kept = np.flatnonzero(np.isfinite(distance))
    if not kept.size:
        raise InputError("`score`", "must hold a finite distance", "all are infinite", "Look at its labels.")
    rows = kept[np.unique(np.linspace(0, len(kept) - 1, min(most, len(kept))).round().astype(np.int64))]
    return ScoreScatterDisplay(
        distance[rows],
        imprecision[rows],
        right[rows],
        len(distance),
        rank_correlation(distance[rows], imprecision[rows]),
    )


@drawing_of(score_scatter_data)
def score_scatter(score: EpistemicScore, *, most: int = 1000, ax: Axes | None = None) -> Axes:
    """Draw distance against imprecision of single instances."""
    return score_scatter_data(score, most=most).draw(ax)


@dataclasses.dataclass(frozen=True)
class ConfidenceDisplay(Display):
    """Entropy of the mean and imprecision of the set against confidence, bin by bin (C25 Fig. 17).

    Attributes
    ----------
    left, right : ndarray (b,)
        Bins of confidence that hold instances.
    count : ndarray (b,)
        Instances per bin.
    entropy, imprecision : ndarray (b,)
        Means per bin.
    entropy_low, entropy_high, imprecision_low, imprecision_high : ndarray (b,)
        10 and 90 % of the instances.
    measure : str
        What the imprecision is.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 3.8)

    left: HostArray
    right: HostArray
    count: HostArray
    entropy: HostArray
    entropy_low: HostArray
    entropy_high: HostArray
    imprecision: HostArray
    imprecision_low: HostArray
    imprecision_high: HostArray
    measure: str

    @property
    def finding(self) -> str:
        """The bins in one sentence."""
        return (
            f"From the least to the most confident bin, entropy goes from {shown(float(self.entropy[0]))} to "
            f"{shown(float(self.entropy[-1]))} and imprecision from {shown(float(self.imprecision[0]))} to "
            f"{shown(float(self.imprecision[-1]))}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Uncertainty and confidence", "confidence", "mean in the bin")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw means as marks and the middle 80 % of instances as lines."""
        middle, width = 0.5 * (self.left + self.right), 0.12 * (self.right - self.left)
        for sign, value, low, high, color, marker, label in (
            (-1, self.entropy, self.entropy_low, self.entropy_high, ORANGE, "s", "entropy of the mean"),
            (1, self.imprecision, self.imprecision_low, self.imprecision_high, BLUE, "o", self.measure),
        ):
            at = middle + sign * width
            ax.vlines(at, low, high, color=color, linewidth=1.2)
            ax.plot(at, value, linestyle="none", marker=marker, markersize=5, color=color, label=label)
        ax.set_xlim(float(self.left.min()), float(self.right.max()))
        ax.set_ylim(bottom=0)

    def table(self) -> Table:
        """Return the bins, with the middle 80 % of instances beside each mean."""

        def spread(low: HostArray, high: HostArray, i: int) -> str:
            return f"{shown(float(low[i]))} to {shown(float(high[i]))}"

        rows = tuple(
            (
                spread(self.left, self.right, i),
                f"{self.count[i]:g}",
                shown(float(self.entropy[i])),
                spread(self.entropy_low, self.entropy_high, i),
                shown(float(self.imprecision[i])),
                spread(self.imprecision_low, self.imprecision_high, i),
            )
            for i in range(len(self.count))
        )
        return Table(("confidence", "instances", "entropy", "80 %", "imprecision", "80 %"), rows)


def confidence_data(score: EpistemicScore, *, n_bins: int = 10) -> ConfidenceDisplay:
    """Return what the picture of uncertainty against confidence shows.

    Parameters
    ----------
    score : EpistemicScore
        From ``credibly.epistemic_score``.
    n_bins : int
        Number of equal bins between 0 and 1; empty ones are left out.

    Returns
    -------
    ConfidenceDisplay
        The data; `draw` draws them.
    """
    require_kind(
        score, EpistemicScore, "score", "Pass what `epistemic_score` found, or one of `Ranking.scores`."
    )
    if isinstance(n_bins, bool) or not isinstance(n_bins, int) or n_bins < 1:
        raise InputError("`n_bins`", "must be a positive integer", f"got {n_bins!r}", "Use 10.")
    confidence = host_vector(score.confidence, "confidence")
    bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    filled = np.unique(bins)
    columns = {"entropy": score.entropy, "imprecision": score.imprecision}
    found: dict[str, HostArray] = {}
    for name, values in columns.items():
        own = host_vector(values, name)
        found[name] = np.array([own[bins == one].mean() for one in filled])
        for end, share in (("low", 0.1), ("high", 0.9)):
            found[f"{name}_{end}"] = np.array([np.quantile(own[bins == one], share) for one in filled])
    return ConfidenceDisplay(
        left=filled / n_bins,
        right=(filled + 1) / n_bins,
        count=np.array([int((bins == one).sum()) for one in filled]),
        measure=f"imprecision ({score.settings.get('measure', 'of the set')})",
        **found,
    )


@drawing_of(confidence_data)
def confidence_strip(score: EpistemicScore, *, n_bins: int = 10, ax: Axes | None = None) -> Axes:
    """Draw entropy and imprecision against confidence."""
    return confidence_data(score, n_bins=n_bins).draw(ax)
