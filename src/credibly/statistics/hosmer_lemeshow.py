"""Hosmer-Lemeshow statistic: sum over classes and bins of (observed - expected)^2 / expected, in counts.

M23 eq. 2 writes frequencies and lacks the bin size, so its chi-square p-value is always near 1; this is the
counts form. Its p-value comes from resampling; the chi-square with (k - 1) B degrees of freedom is for data
the model was not fitted on, and only where expected counts are not small.

Hosmer and Lemeshow 1980; Fagerland, Hosmer and Bofin 2008.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import one_of
from credibly._arrays.namespace import Array, namespace
from credibly.statistics.cells import BinnedStatistic, Binning, bin_index, class_cells
from credibly.statistics.proper import top_label
from credibly.statistics.protocol import LabelKind, Plan, State, Story, Traits
from credibly.statistics.terms import Events

_SMALL = 5.0  # the usual least expected count for the chi-square approximation


_REFUSAL = (
    "it is a test statistic: it grows with n if the model is miscalibrated, so its value is not a "
    "property of the model that an interval could enclose"
)


@dataclasses.dataclass(frozen=True)
class HosmerLemeshow(BinnedStatistic):
    """Sum over classes and bins of (observed - expected)^2 / expected counts.

    Parameters
    ----------
    n_bins : int
        Number of bins.
    binning : {"equal_width", "equal_mass"}
        Bins of equal width on [0, 1], or of equal numbers of instances.
    closed : {"left", "right"}
        Which end of a bin is included.
    grouping : {"class", "confidence"}
        Bins of each class's own probability (M23), or one grouping of the instances by confidence.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.hosmer_lemeshow([[0.75, 0.25], [0.75, 0.25]], [0, 1], n_bins=1))
    0.6666666666666666
    """

    binning: Binning = "equal_mass"
    grouping: Literal["class", "confidence"] = "class"
    refusal: ClassVar[str | None] = _REFUSAL
    name: ClassVar[str] = "hosmer_lemeshow"
    traits: ClassVar[Traits] = Traits(
        tail="greater",
        labels=frozenset[LabelKind]({"classes"}),
        range=(0.0, math.inf),
        multiplicities=False,  # edges depend on weights, which predictions that are bound alone lack
        duplicate_invariant=False,
    )
    reference: ClassVar[str] = "Hosmer and Lemeshow 1980; Fagerland et al. 2008"
    story: ClassVar[Story] = Story(
        title="Hosmer-Lemeshow",
        meaning="Squared differences of observed and expected counts per class and bin of equal mass.",
        formula="Σ_c Σ_b (observed − expected)² / expected",
        above="counts per class and bin differ from the expected counts by more than chance explains",
        notion="classwise",
        citation="Hosmer and Lemeshow, Goodness of fit tests for the multiple logistic regression model, "
        "Communications in Statistics, 1980; Fagerland, Hosmer and Bofin, Statistics in Medicine, 2008.",
        aliases={"hl": "", "hl_test": ""},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("`grouping`", self.grouping, ("class", "confidence"))

    def binned_values(self, probs: Array) -> Array:
        """Return the numbers that are binned: all probabilities (n, k), or the confidence (n,)."""
        return probs if self.grouping == "class" else top_label(probs)[0]

    def terms(self, predictions: Any, plan: Plan) -> Events:
        """Return classes in the pair of class and bin."""
        bins = bin_index(self.binned_values(predictions.probs), plan.edges, self.closed)
        bins = bins if bins.ndim == 2 else bins[:, None]
        return class_cells(predictions.probs, bins, self.n_bins)

    def value(self, sums: State) -> Array:
        """Return the sum over cells; 0 / 0 counts as 0, a label in a cell that expects none as infinite."""
        observed, expected = sums["observed"], sums["expected"]
        xp = namespace(observed)
        filled = expected > 0
        with np.errstate(over="ignore"):  # a label where 1e-310 is expected: infinite, and meant to be
            term = (observed - expected) ** 2 / xp.where(filled, expected, xp.ones_like(expected))
        impossible = xp.any((observed > 0) & ~filled, axis=-1)
        total = xp.sum(xp.where(filled, term, xp.zeros_like(term)), axis=-1)
        return xp.where(impossible, xp.full_like(total, xp.inf), total)

    def size_of_terms(self, n: int, n_cells: int) -> float:
        """Return |observed - expected|, which counts its own rounding error twice: a root of each count."""
        return math.sqrt(n * n_cells)

    def chi_square(self, sums: State) -> tuple[float, str] | None:
        """Return the degrees of freedom of the chi-square that large samples follow, and what it rests on."""
        expected = sums["expected"][0, :]
        xp = namespace(expected)
        k = expected.shape[0] // self.n_bins
        filled = expected > 0
        # The classes' counts add up to n, so one class's worth of the filled cells is not free.
        degrees = float(xp.sum(xp.astype(filled, xp.float64))) * (k - 1) / k
        small = int(xp.sum(xp.astype(filled & (expected < _SMALL), xp.int64)))
        name = f"chi-square with {degrees:.4g} degrees of freedom"
        if small:
            name += f"; unreliable, {small} expected counts are below {_SMALL:g}"
        return degrees, name


hosmer_lemeshow = HosmerLemeshow()
