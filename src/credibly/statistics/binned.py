"""Binned calibration errors: how far observed frequencies are from predicted ones, bin by bin.

    error = (sum over cells of |cell| / n * |observed - predicted|^p) ^ (1 / p)

and the largest |observed - predicted| of the cells at p = infinity.
A cell is a bin of confidence (`confidence_ece`), a bin of one class's probability (`classwise_ece`), or a
bin of confidence among the rows with one predicted class (`top_label_ece`).

The Hosmer-Lemeshow statistic is the sum over classes and bins of (observed - expected)^2 / expected, in
counts. M23 eq. 2 writes frequencies and lacks the bin size, so its chi-square p-value is always near 1. The
p-value here comes from resampling; the chi-square with (k - 1) B degrees of freedom is for data the model was
not fitted on, and only where expected counts are not small.

Naeini et al. 2015; Guo et al. 2017; Kull et al. 2019; Kumar et al. 2019 for the debiased squared error;
Hosmer and Lemeshow 1980; Fagerland, Hosmer and Bofin 2008.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import InputError, is_number, one_of, require
from credibly._arrays.namespace import Array, namespace, row_sums
from credibly.statistics.batches import positive
from credibly.statistics.cells import (
    BinnedStatistic,
    Binning,
    bin_index,
    check_target,
    class_cells,
    events_in_bins,
    events_of,
)
from credibly.statistics.events import Events
from credibly.statistics.proper import top_label
from credibly.statistics.protocol import GROWS_WITH_N, ONE_CLASS, Plan, State, Story, Traits

_SMALL = 5.0  # the usual least expected count for the chi-square approximation


@dataclasses.dataclass(frozen=True)
class BinnedError(BinnedStatistic):
    """Base of the binned calibration errors."""

    p: float = 1.0
    debiased: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            is_number(self.p) and self.p >= 1,
            "must be a number of at least 1",
            "Use 1, 2 or `math.inf`.",
            p=self.p,
        )
        one_of("`debiased`", self.debiased, (True, False))
        if self.debiased and self.p != 2:
            raise InputError(
                "`debiased=True`",
                "is known only for the squared error (p=2)",
                f"got p={self.p!r}",
                "Pass `p=2, debiased=True`; the value is then the squared error and may be negative.",
            )
        # edges depend on weights, which only rows have: predictions that are bound alone give equal ones
        promised = dataclasses.replace(type(self).traits, multiplicities=self.binning != "equal_mass")
        if self.debiased:
            # noise takes it below 0, which is no end of the values a calibrated model can show
            promised = dataclasses.replace(promised, duplicate_invariant=False, range=None)
            object.__setattr__(self, "needs", frozenset({"expected", "square"}))
            object.__setattr__(self, "refusal", None)
        object.__setattr__(self, "traits", promised)

    def value(self, sums: State) -> Array:
        """Return (sum |cell| / n |observed - expected|^p)^(1/p), or the debiased squared error."""
        size, gap = sums["size"], sums["observed"] - sums["expected"]
        xp = namespace(gap)
        total = row_sums(size)
        if self.debiased:
            # sum over i != j of d_i d_j / (|cell| - 1), d = event - predicted; a single instance gives 0
            pairs = (gap**2 - sums["square"]) / positive(size - 1.0)
            return row_sums(xp.where(size > 1, pairs, 0.0)) / total
        if self.p == 1:
            return row_sums(xp.abs(gap)) / total
        mean_gap = xp.abs(gap) / positive(size)
        if self.p == math.inf:
            return xp.max(mean_gap, axis=-1)
        return (row_sums(size * mean_gap**self.p) / total) ** (1.0 / self.p)


@dataclasses.dataclass(frozen=True)
class ConfidenceECE(BinnedError):
    """Expected calibration error of the top label: confidence against accuracy in bins of confidence.

    Parameters
    ----------
    n_bins : int
        Number of bins.
    binning : {"equal_width", "equal_mass"}
        Bins of equal width on [0, 1], or of equal numbers of instances (ties stay together).
    closed : {"left", "right"}
        ...
    p : float
        ...
    debiased : bool
        ...

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.confidence_ece([[0.75, 0.25], [0.75, 0.25]], [0, 1]))
    0.25
    """

    name: ClassVar[str] = "confidence_ece"
    reference: ClassVar[str] = "Guo et al. 2017"
    story: ClassVar[Story] = Story(
        title="Confidence ECE",
        meaning="Gap between confidence and accuracy, averaged over bins of confidence.",
        formula="Σ_b |b|/n · |accuracy(b) − confidence(b)|",
        above="stated confidence and observed accuracy differ by more than chance explains",
        notion="confidence",
        citation="Guo et al., On calibration of modern neural networks, ICML 2017.",
        aliases={
            "ece": "the usual one",
            "expected_calibration_error": "the usual one",
            "mce": "with p=math.inf",
            "maximum_calibration_error": "with p=math.inf",
        },
    )

    def binned_values(self, predictions: Any) -> Array:
        """The confidence."""
        return top_label(predictions)[0]

    def terms(self, predictions: Any, plan: Plan) -> Events:
        """Return hits in the bin of the confidence."""
        confidence, predicted = top_label(predictions)
        return Events(confidence, bin_index(confidence, plan.edges, self.closed), self.n_bins, predicted)


@dataclasses.dataclass(frozen=True)
class TopLabelECE(ConfidenceECE):
    """Calibration error of the top label given the predicted class: bins of confidence within each class.

    Parameters
    ----------
    n_bins : int
        Number of bins per predicted class.
    binning : {"equal_width", "equal_mass"}
        Bins of equal width on [0, 1], or of equal numbers of instances over all classes.
    closed : {"left", "right"}
        ...
    p : float
        ...
    debiased : bool
        ...

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.top_label_ece([[0.75, 0.25], [0.25, 0.75]], [0, 1]))
    0.25
    """

    name: ClassVar[str] = "top_label_ece"
    reference: ClassVar[str] = "Gupta and Ramdas 2022"
    story: ClassVar[Story] = Story(
        title="Top-label ECE",
        meaning="Gap between confidence and accuracy within each predicted class, averaged over classes and "
        "bins.",
        formula="Σ_c Σ_b |b,c|/n · |accuracy(b,c) − confidence(b,c)|",
        above="within predicted classes, confidence and accuracy differ by more than chance explains",
        notion="confidence",
        citation="Gupta and Ramdas, Top-label calibration and multiclass-to-binary reductions, ICLR 2022.",
        aliases={"ece": "", "expected_calibration_error": ""},
    )

    def terms(self, predictions: Any, plan: Plan) -> Events:
        """Return hits in the pair of predicted class and bin."""
        confidence, predicted = top_label(predictions)
        xp, bins = namespace(confidence), bin_index(confidence, plan.edges, self.closed)
        cell = xp.astype(predicted, xp.int64) * self.n_bins + xp.astype(bins, xp.int64)
        return Events(confidence, cell, self.n_bins * predictions.n_classes, predicted)


@dataclasses.dataclass(frozen=True)
class ClasswiseECE(BinnedError):
    """Calibration error of every class's probability, averaged over classes.

    Parameters
    ----------
    n_bins : int
        Number of bins per class.
    binning : {"equal_width", "equal_mass"}
        Bins of equal width on [0, 1], or of equal numbers of instances per class.
    closed : {"left", "right"}
        ...
    p : float
        ...
    debiased : bool
        ...
    target : "classwise" or int
        The average over all classes, or the error of one class's probability.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.classwise_ece([[0.75, 0.25], [0.75, 0.25]], [0, 1]))
    0.25
    """

    target: Literal["classwise"] | int = "classwise"
    name: ClassVar[str] = "classwise_ece"
    reference: ClassVar[str] = "Kull et al. 2019"
    story: ClassVar[Story] = Story(
        title="Class-wise ECE",
        meaning="Gap between the probability of a class and its frequency, averaged over bins and classes.",
        formula="1/k Σ_c Σ_b |b|/n · |frequency of c in b − mean p_c in b|",
        above="probabilities of single classes and their frequencies differ by more than chance explains",
        notion="classwise",
        citation="Kull et al., Beyond temperature scaling, NeurIPS 2019.",
        aliases={
            "ece": "",
            "expected_calibration_error": "",
            "ace": 'with binning="equal_mass"',
            "sce": "",
            "cwece": "",
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_target(self, "classwise")

    def binned_values(self, predictions: Any) -> Array:
        """Every class's probability, or that of one class."""
        return events_of(predictions, self.target)[0]

    def terms(self, predictions: Any, plan: Plan) -> Events:
        """Return classes in the pair of class and bin, or one class in its bin."""
        chance, event = events_of(predictions, self.target)
        return events_in_bins(chance, event, bin_index(chance, plan.edges, self.closed), self.n_bins)

    # |cells| of all classes sum to n k, so the average over classes needs no factor of its own.


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
        ...
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
    refusal: ClassVar[str | None] = GROWS_WITH_N
    name: ClassVar[str] = "hosmer_lemeshow"
    traits: ClassVar[Traits] = Traits(
        tail="greater",
        labels=ONE_CLASS,
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

    def binned_values(self, predictions: Any) -> Array:
        """Return the numbers that are binned: all probabilities (n, k), or the confidence (n,)."""
        return predictions.probs if self.grouping == "class" else top_label(predictions)[0]

    def terms(self, predictions: Any, plan: Plan) -> Events:
        """Return classes in the pair of class and bin."""
        bins = bin_index(self.binned_values(predictions), plan.edges, self.closed)
        bins = bins if bins.ndim == 2 else bins[:, None]
        return class_cells(predictions.probs, bins, self.n_bins)

    def value(self, sums: State) -> Array:
        """Return the sum over cells; 0 / 0 counts as 0, a label in a cell that expects none as infinite."""
        observed, expected = sums["observed"], sums["expected"]
        xp = namespace(observed)
        filled = expected > 0
        with np.errstate(over="ignore"):  # a label where 1e-310 is expected: infinite, and meant to be
            term = (observed - expected) ** 2 / positive(expected)
        impossible = xp.any((observed > 0) & ~filled, axis=-1)
        return xp.where(impossible, xp.inf, xp.sum(xp.where(filled, term, 0.0), axis=-1))

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


confidence_ece = ConfidenceECE()
top_label_ece = TopLabelECE()
classwise_ece = ClasswiseECE()
hosmer_lemeshow = HosmerLemeshow()
