"""Sets of distributions: masses, samples, sizes, weights along a feature, where tests of sets fail."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.errors import InputError, require_positive
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import capital
from credibly.evaluation import shown
from credibly.plots.display import (
    BLUE,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    Display,
    Style,
    Words,
    dots,
    draw_boxes,
    host_vector,
    ranges,
    series,
    sorted_dots,
    whole_figure,
)
from credibly.plots.simplex import weights_per_instance
from credibly.results.base import require_level
from credibly.results.combinations import LocalDeviations
from credibly.results.credal import ValidityDetails, WeightsDetails
from credibly.results.tests import HypotestResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_WEIGHTS = 5
_LEVEL = 0.05
_LINE = 64
"""Letters of a region's name that fit beside the picture; the rest goes on in the next line."""


class MassDisplay(Display, kind="masses", of="MassFunction"):  # credal is out of reach of what draws
    """Masses of the heaviest focal sets of one instance, and what they say about every class (C25 Fig. 4).

    Attributes
    ----------
    function : MassFunction
        From `credibly.credal.mass_function`.
    row : int
        Which instance.
    limit : int
        Maximum number of focal sets shown, the heaviest first.
    class_names : sequence of str, optional
        Names of the classes. Default: their indices.
    """

    size = (6.4, 4.4)
    key_below = 0.3  # below the slanted names
    words = Words("Masses and classes", ylabel="mass, probability")

    function: Any
    row: int = 0
    limit: int = 8
    class_names: Sequence[str] | None = None

    def _require(self) -> None:
        count, rows = self.function.n_classes, len(self.function.masses)
        if len(self.names) != count or self.limit < 1:
            raise InputError(
                "`class_names` and `limit`",
                f"must be {count} names and a positive number",
                f"got {len(self.names)} names and limit {self.limit}",
                "Name every class.",
            )
        if not 0 <= self.row < rows:
            raise InputError(
                "`row`", f"must lie between 0 and {rows - 1}", f"got {self.row}", "Count from 0."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes."""
        names = range(self.function.n_classes) if self.class_names is None else self.class_names
        return tuple(map(str, names))

    @functools.cached_property
    def masses(self) -> dict[str, float]:
        """Masses of the sets shown, heaviest first, negative ones included."""
        values = host_vector(self.function.masses, "masses", 2)[self.row]
        heaviest = np.argsort(-np.abs(values), kind="stable")[: self.limit]
        return {self._set_name(self.function.focal_sets[place]): float(values[place]) for place in heaviest}

    def _set_name(self, focal: Any) -> str:
        whole = len(focal) == self.function.n_classes
        return "all" if whole else "{" + ", ".join(self.names[j] for j in sorted(focal)) + "}"

    @functools.cached_property
    def probabilities(self) -> HostArray:
        """Lower, pignistic and upper probability of every class, (3, k)."""
        own = self.function
        found = (own.belief(), own.pignistic().probs, own.plausibility())
        return np.array([host_vector(one, "masses", 2)[self.row] for one in found])

    @property
    def finding(self) -> str:
        """The bars in one sentence."""
        best = int(np.argmax(self.probabilities[1]))
        low, middle, high = map(float, self.probabilities[:, best])
        name, mass = next(iter(self.masses.items()))
        return (
            f"Class {self.names[best]} leads with pignistic probability {shown(middle)}, between "
            f"{shown(low)} and {shown(high)}; the heaviest set is {name} with mass {shown(mass)}."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw bars of the masses, then per class the pignistic bar with its belief interval."""
        belief, pignistic, plausibility = self.probabilities
        masses = np.array(list(self.masses.values()))
        sets, classes = np.arange(len(masses)), len(masses) + 1 + np.arange(len(self.names))
        for places, heights, color, label in (
            (sets, masses, ORANGE, "mass of a set"),
            (classes, pignistic, SKY, "pignistic probability"),
        ):
            style: Style = {"facecolor": color, "edgecolor": INK, "linewidth": 0.5, "label": label}
            low, high = np.minimum(heights, 0.0), np.maximum(heights, 0.0)
            draw_boxes(ax, places - 0.38, places + 0.38, low, high, **style)
        ax.vlines(classes, belief, plausibility, color=BLUE, linewidth=2.0, label="belief to plausibility")
        names = [*self.masses, *self.names]
        ax.set_xticks([*sets, *classes], names, rotation=45, ha="right", parse_math=False)
        ax.set_xlim(-0.7, len(names) + 0.7)
        ax.set_ylim(min(0.0, 1.1 * float(masses.min())), 1.05)

    def _columns(self) -> dict[str, Any]:
        """Return the masses of the sets, then the probabilities of the classes."""
        none, classes = [""] * len(self.masses), [f"class {name}" for name in self.names]
        columns = zip(("belief", "pignistic", "plausibility"), self.probabilities, strict=True)
        return {
            "set or class": [*self.masses, *classes],
            "mass": [*self.masses.values(), *("" for _ in classes)],
            **{name: [*none, *values] for name, values in columns},
        }


class SamplesDisplay(Display):
    """Sampled distributions of one instance with their average (C25 Fig. 3).

    Attributes
    ----------
    samples : array (m, k)
        Distributions of one instance, for example ``ensemble.probs[0]``.
    observed : int, optional
        The observed class.
    """

    size = (5.0, 3.6)
    words = Words("Samples and their average", "class", "probability")

    samples: Any
    observed: int | None = None

    def _require(self) -> None:
        self.values  # noqa: B018 - refuses other shapes

    @functools.cached_property
    def values(self) -> HostArray:
        """The distributions, (m, k)."""
        return host_vector(self.samples, "samples", 2)

    @property
    def average(self) -> HostArray:
        """Their mean, (k,)."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        best = int(np.argmax(self.average))
        votes = int((self.values.argmax(axis=1) == best).sum())
        first = f"The average puts class {best} first with {shown(float(self.average[best]))}"
        return f"{first}; {votes} of {len(self.values)} samples do so."

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one dot per sample and class, the average as steps, the label marked."""
        m, k = self.values.shape
        spread = np.zeros(m) if m == 1 else np.linspace(-0.25, 0.25, m)
        classes = np.arange(k)
        places = classes[None, :] + spread[:, None]
        dots(ax, places.ravel(), self.values.ravel(), "o", SKY, "samples", markersize=3)
        style: Style = {"color": BLUE, "linewidth": 2.2, "label": "average"}
        ax.hlines(self.average, classes - 0.4, classes + 0.4, **style)
        if self.observed is not None:
            dots(ax, [self.observed], [1.0], "*", VERMILION, "observed", markersize=12)
        ax.set_xticks(range(k))
        ax.set_xlim(-0.6, k - 0.4)
        ax.set_ylim(0.0, 1.05)

    def _columns(self) -> dict[str, Any]:
        smallest, largest = self.values.min(axis=0), self.values.max(axis=0)
        classes = range(len(self.average))
        return {"class": classes, "average": self.average, "smallest": smallest, "largest": largest}


class SizeDisplay(Display):
    """Sizes of the sets behind right and wrong predictions.

    Attributes
    ----------
    sizes : array (n,)
        From `credibly.credal.size`.
    right : array (n,) of bool
        Whether the predicted class was the observed one.
    """

    size = (5.0, 2.6)
    words = Words("Size of the sets", "upper minus lower probability")

    sizes: Any
    right: Any

    def _require(self) -> None:
        values, hits = host_vector(self.sizes, "sizes"), host_vector(self.right, "right")
        if values.shape != hits.shape:
            raise InputError(
                "`sizes` and `right`",
                "must have one entry per instance",
                f"got {values.size} and {hits.size}",
                "Use the same predictions for both.",
            )

    @functools.cached_property
    def groups(self) -> dict[str, HostArray]:
        """Sizes by group, of the groups that hold instances."""
        values, hits = host_vector(self.sizes, "sizes"), host_vector(self.right, "right") > 0
        both = {"right": values[hits], "wrong": values[~hits]}
        return {name: own for name, own in both.items() if own.size}

    @property
    def medians(self) -> tuple[float, ...]:
        """Median size per group."""
        return tuple(float(np.median(own)) for own in self.groups.values())

    @property
    def finding(self) -> str:
        """The strips in one sentence."""
        both = zip(self.groups.items(), self.medians, strict=True)
        parts = [
            f"{name} predictions have median size {shown(m)} (n = {len(own)})" for (name, own), m in both
        ]
        text = ", ".join(parts)
        return f"{capital(text)}."

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one strip per group, dots spread by rank, the median as a line."""
        for place, (name, values) in enumerate(self.groups.items()):
            # a low-discrepancy sequence spreads the dots without random numbers
            spread = 0.6 * ((np.arange(len(values)) * 0.6180339887) % 1.0 - 0.5)
            marker, color = ("o", BLUE) if name == "right" else ("D", VERMILION)
            dots(ax, values, place + spread, marker, color, markersize=2, alpha=0.4)
            ax.vlines(self.medians[place], place - 0.36, place + 0.36, color=INK, linewidth=2.0)
        names = [f"{name}\n(n = {len(own)})" for name, own in self.groups.items()]
        ax.set_yticks(range(len(names)), names)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.6, len(names) - 0.4)

    def _columns(self) -> dict[str, Any]:
        counts = [len(own) for own in self.groups.values()]
        return {"predictions": self.groups, "instances": counts, "median size": self.medians}


class HeatDisplay(Display):
    """Instances per cell of credal size and non-specificity.

    Attributes
    ----------
    sizes : array (n,)
        From `credibly.credal.size`.
    nonspecificities : array (n,)
        From `credibly.credal.nonspecificity`.
    n_bins : int
        Cells along each axis.
    """

    size = (5.0, 4.0)
    words = Words("Two measures of imprecision", "credal size", "non-specificity")

    sizes: Any
    nonspecificities: Any
    n_bins: int = 25

    def _require(self) -> None:
        require_positive("`n_bins`", self.n_bins, "Use 25.")
        first, second = self._both
        if first.shape != second.shape or not np.isfinite(first).all() or not np.isfinite(second).all():
            raise InputError(
                "`sizes` and `nonspecificities`",
                "must be finite, one entry per instance",
                f"got {first.size} and {second.size}, {int((~np.isfinite(second)).sum())} of them infinite",
                'Use a measure that stays finite, such as "hartley".',
            )

    @functools.cached_property
    def _both(self) -> tuple[HostArray, HostArray]:
        return host_vector(self.sizes, "sizes"), host_vector(self.nonspecificities, "nonspecificities")

    @functools.cached_property
    def cells(self) -> tuple[HostArray, HostArray, HostArray]:
        """Instances per cell, sizes along the first axis, and the edges of the cells along both."""
        return np.histogram2d(*self._both, bins=self.n_bins)

    @property
    def correlation(self) -> float:
        """Correlation of the ranks of the two measures; NaN where one of them is constant."""
        return rank_correlation(*self._both)

    @property
    def finding(self) -> str:
        """The map in one sentence."""
        n = len(self._both[0])
        if not np.isfinite(self.correlation):
            return f"One of the two measures is the same for all {n} instances."
        ranks = shown(self.correlation)
        return f"Over {n} instances, the rank correlation of size and non-specificity is {ranks}."

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw cells: darker ones hold more instances, empty ones stay blank."""
        counts, *edges = self.cells
        filled = np.ma.masked_equal(counts.T, 0)
        mesh = ax.pcolormesh(*edges, filled, cmap="Blues", vmin=0, rasterized=True)
        bar = whole_figure(ax).colorbar(mesh, ax=ax, shrink=0.8)
        bar.set_label("instances", color=INK, fontsize=8)
        bar.ax.tick_params(colors=INK, labelsize=7)

    def _columns(self) -> dict[str, Any]:
        """Return the filled cells."""
        counts, *edges = self.cells
        rows, columns = np.nonzero(counts)
        sides = [ranges(ends[at], ends[at + 1]) for ends, at in zip(edges, (rows, columns), strict=True)]
        return {"credal size": sides[0], "non-specificity": sides[1], "instances": counts[rows, columns]}


def rank_correlation(first: HostArray, second: HostArray) -> float:
    """Return Spearman's correlation, NaN where one of the two does not vary."""
    ranks = np.stack([_ranks(first), _ranks(second)])
    if np.any(np.ptp(ranks, axis=1) == 0):
        return float("nan")
    return float(np.corrcoef(ranks)[0, 1])


def _ranks(values: HostArray) -> HostArray:
    """Return ranks from 1, ties at their mean, as `scipy.stats`, which takes a second to load, has them."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((counts.cumsum() - (counts - 1) / 2)[places])


class CombinationDisplay(Display, kind="weights", of=HypotestResult[WeightsDetails]):
    """Weights of the heaviest points of the set against a feature.

    Attributes
    ----------
    result : HypotestResult of WeightsDetails
        From `credibly.hypotests.weights_test` or `credibly.credal_test`.
    feature : array (n,)
        One value per instance that the test was given.
    name : str
        Its name.
    limit : int
        Maximum number of series drawn, heaviest first, at most 5.
    """

    size = (5.4, 3.6)

    result: HypotestResult[WeightsDetails]
    feature: Any
    name: str = "feature"
    limit: int = _MOST_WEIGHTS

    def _require(self) -> None:
        if not isinstance(self.limit, int) or not 1 <= self.limit <= _MOST_WEIGHTS:
            must, got = f"must lie between 1 and {_MOST_WEIGHTS}", f"got {self.limit!r}"
            raise InputError("`limit`", must, got, f"Use {_MOST_WEIGHTS}.")
        self.weights  # noqa: B018 - refuses features of other instances

    @functools.cached_property
    def values(self) -> HostArray:
        """The feature, sorted."""
        return np.sort(host_vector(self.feature, "feature"), kind="stable")

    @functools.cached_property
    def weights(self) -> dict[str, HostArray]:
        """Weights in that order by what they weigh, heaviest first."""
        values = host_vector(self.feature, "feature")
        weights = weights_per_instance(self.result, len(values), "feature")
        heaviest = np.argsort(-weights.mean(axis=0), kind="stable")[: self.limit]
        order = np.argsort(values, kind="stable")
        return {self.result.details.weight_names[a]: weights[order, a] for a in heaviest}

    @property
    def hidden(self) -> float:
        """Mean weight of all others together."""
        return float(1.0 - sum(own.mean() for own in self.weights.values()))

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        label, first = next(iter(self.weights.items()))
        rest = (
            (f"; all points that are not drawn have {shown(self.hidden)} together")
            if self.hidden > 0.005
            else ""
        )
        return (
            f"{label} is heaviest with mean weight {shown(float(first.mean()))}, between "
            f"{shown(float(first.min()))} and {shown(float(first.max()))}{rest}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Weights of the combination", self.name, "weight")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one series of marks per point of the set."""
        for place, (label, own) in enumerate(self.weights.items()):
            color, marker, _ = series(place)
            dots(ax, self.values, own, marker, color, label, markersize=2.5, alpha=0.7)
        ax.set_ylim(-0.03, 1.03)

    def _columns(self) -> dict[str, Any]:
        return {self.name: self.values, **self.weights}


class RegionDisplay(Display, kind="regions", of=LocalDeviations):
    """Where in feature space a prediction fails: deviation of every region in standard errors, worst first.

    Attributes
    ----------
    deviations : LocalDeviations
        From ``result.details.regions`` of a test of a set.
    class_names : sequence of str, optional
        Names of the classes. Default: their indices.
    level : float
        Regions with an adjusted p-value of at most this are marked.
    """

    size = (6.4, 4.0)
    words = Words("Deviation by region", "observed - expected, in standard errors")

    deviations: LocalDeviations
    class_names: Sequence[str] | None = None
    level: float = _LEVEL

    def _require(self) -> None:
        require_level(self.level)

    @property
    def classes(self) -> tuple[str, ...]:
        """The class that is farthest off in every region."""
        names = self.class_names
        return tuple(str(c) if names is None else str(names[c]) for c in map(int, self.deviations.classes))

    @property
    def failing(self) -> HostArray:
        """Which regions deviate by more than chance explains."""
        return self.deviations.adjusted_pvalues <= self.level

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own, number = self.deviations, int(self.failing.sum())
        worst = (
            f"where {own.regions[0]}, class {self.classes[0]} was predicted with {shown(own.predicted[0])} "
            f"and observed with {shown(own.observed[0])} (n = {int(own.sizes[0])}, adjusted p = "
            f"{shown(own.adjusted_pvalues[0])})"
        )
        count = len(own.regions)
        if not number:
            return (
                f"None of {count} regions deviates by more than chance explains; the largest deviation: "
                f"{worst}."
            )
        return f"{number} of {count} regions deviate by more than chance explains; the worst: {worst}."

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one line per region from zero to its deviation."""
        own, failing = self.deviations, self.failing
        places = np.arange(len(own.regions))[::-1]
        limit = 1.15 * max(3.0, float(np.abs(own.scores[np.isfinite(own.scores)]).max(initial=0.0)))
        ends = np.clip(own.scores, -limit, limit)
        ax.axvline(0.0, color=INK, linewidth=0.8)
        ax.hlines(places, 0.0, ends, color=np.where(failing, VERMILION, BLUE), linewidth=1.6)
        sorted_dots(ax, ends, places, failing, ("within chance", f"adjusted p <= {self.level:g}"))
        names = [f"{region}: class {c}" for region, c in zip(own.regions, self.classes, strict=True)]
        lines = [textwrap.fill(name, _LINE) for name in names]
        ax.set_yticks(places, [] if small else lines, fontsize=6, parse_math=False)
        ax.set_xlim(-limit, limit)

    def _columns(self) -> dict[str, Any]:
        own = self.deviations
        return {
            "regions": own.regions,
            "classes": self.classes,
            "scores": own.scores,
            "predicted": own.predicted,
            "observed": own.observed,
            "sizes": own.sizes,
            "adjusted pvalues": own.adjusted_pvalues,
        }


class ValidityDisplay(Display, kind="instances", of=HypotestResult[ValidityDetails]):
    """Deviances of single instances, largest first, and how large the largest may be.

    Attributes
    ----------
    result : HypotestResult of ValidityDetails
        From `credibly.validity_test`.
    limit : int
        Maximum number of instances drawn: half of these are the worst, the rest are spread over the others.
    """

    size = (5.0, 3.4)
    words = Words("Labels outside the set", "instances, worst first", "deviance")

    result: HypotestResult[ValidityDetails]
    limit: int = 500

    @functools.cached_property
    def _all(self) -> HostArray:
        return host_vector(self.result.details.deviance, "deviance")

    @functools.cached_property
    def ranks(self) -> HostArray:
        """Place of those drawn among all instances, from 1."""
        places = np.arange(self._all.size)
        if places.size > self.limit:
            head = self.limit // 2
            tail = np.linspace(head, places.size - 1, self.limit - head).astype(int)
            places = np.unique(np.concatenate([places[:head], tail]))
        return places + 1

    @property
    def rows(self) -> HostArray:
        """Instances drawn."""
        return np.asarray(np.argsort(-self._all, kind="stable")[self.ranks - 1])

    @property
    def adjusted_pvalues(self) -> HostArray:
        """Their p-values, adjusted for all instances."""
        return host_vector(self.result.details.adjusted_pvalues, "adjusted_pvalues")[self.rows]

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        n, worst = self.result.n, int(self.rows[0])
        inside, failing = int((self._all <= 1e-6).sum()), len(self.result.details.failing(_LEVEL))
        return (
            f"Of {n} instances, {inside} have frequencies inside their set, and {failing} have deviances "
            f"that chance among {n} does not explain (above {shown(self.result.details.largest_explained)}); "
            f"the largest is {shown(float(self._all[worst]))}, of row {worst}."
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw deviances against their rank, and the limit of the largest."""
        deviance, limit = self._all[self.rows], self.result.details.largest_explained
        finite = np.isfinite(deviance)
        top = 1.12 * max(float(deviance[finite].max(initial=0.0)), limit if np.isfinite(limit) else 0.0, 1.0)
        failing = self.adjusted_pvalues <= _LEVEL
        words = ("explained by chance", f"adjusted p <= {_LEVEL:g}")
        heights = np.where(finite, deviance, top)
        sorted_dots(ax, self.ranks, heights, failing, words, markersize=3, near=SKY)
        if np.isfinite(limit):
            ax.axhline(limit, color=BLUE, linestyle=(0, (5, 2)), label="limit for the largest")
        ax.axhline(0.0, color=INK, linewidth=0.6)
        ax.set_ylim(-0.03 * top, top)

    def _columns(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "deviance": self._all[self.rows],
            "adjusted pvalues": self.adjusted_pvalues,
            "ranks": self.ranks,
        }
