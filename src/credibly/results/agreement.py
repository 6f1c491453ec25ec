"""How far raters agree beyond chance, and who agrees with whom."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from credibly._arrays.errors import UnsupportedError, nearest, require
from credibly._arrays.namespace import HostArray
from credibly.results.base import Result
from credibly.results.estimates import Estimate, Estimates
from credibly.results.ignorance import called


@dataclasses.dataclass(frozen=True, kw_only=True)
class Agreement(Result):
    """Agreement between raters.

    Attributes
    ----------
    krippendorff : Estimate
        Krippendorff's alpha for nominal labels; instances may have different numbers of labels.
    fleiss : Estimate or None
        Fleiss' kappa; None if instances have different numbers of labels.
    fleiss_refusal : str or None
        Why there is no Fleiss' kappa.
    cohen : ndarray (r, r) or None
        Cohen's kappa of every pair of raters on the instances that both labelled; NaN if there are none, or
        if both always gave the same label. None if it is not known who gave which label, or if there are
        more than 100 raters.
    raters : tuple of str or None
        Names of the raters.
    n_labels : ndarray (r,) or None
        How many labels each gave.
    by_rater : Estimates or None
        Of every rater, the mean share of the other raters of the same instance who gave the same label.
    alpha_without : ndarray (r,) or None
        Krippendorff's alpha without each rater.
    confusions : ndarray (r, k, k) or None
        Of every rater, how often the others said the row's class when this one said the column's: every
        label counts once, shared between the other raters of its instance.
    n : int
        Number of instances with two labels or more.
    notes : tuple of str
        What was left out.
    """

    krippendorff: Estimate
    fleiss: Estimate | None
    fleiss_refusal: str | None
    cohen: HostArray | None
    raters: tuple[str, ...] | None
    n_labels: HostArray | None
    by_rater: Estimates | None
    alpha_without: HostArray | None
    confusions: HostArray | None
    n: int
    notes: tuple[str, ...] = ()

    def confusion(self, rater: str) -> HostArray:
        """Return the confusion of one rater with the others, (k, k); rows sum to 1 where the others said it.

        Parameters
        ----------
        rater : str
            Name of the rater.

        Returns
        -------
        ndarray (k, k)
            Share of the rater's labels (columns), given what another rater of the instance said (rows).
        """
        if self.confusions is None or self.raters is None:
            raise UnsupportedError(
                "confusions",
                "need to know who gave which label",
                "these counts do not, or there are too many raters and classes",
                "Use `LabelCounts.from_annotations(ids, raters, labels, n_classes=k)`.",
            )
        require(rater in self.raters, "must be one of the raters", nearest(rater, self.raters), rater=rater)
        table = self.confusions[self.raters.index(rater)]
        total = table.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(table, total, out=np.full_like(table, np.nan), where=total > 0))

    def __str__(self) -> str:
        defined = math.isfinite(self.krippendorff.value)
        lines = [f"{self.krippendorff}" if defined else f"krippendorff: {self.krippendorff.interval_refusal}"]
        if defined:
            lines.append(f"fleiss: {self.fleiss_refusal}" if self.fleiss is None else f"{self.fleiss}")
        if self.raters is not None and self.by_rater is not None and self.alpha_without is not None:
            order = np.argsort(self.by_rater.value, kind="stable")
            low, *_, high = (*order[:1], *order[-1:])
            without = self.alpha_without[low]  # not defined without one of two raters
            beside = f"; alpha without this rater {without:.3f}" if np.isfinite(without) else ""
            lines.append(
                f"{len(self.raters)} raters: agreement with the others from {self.by_rater.value[low]:.2f} "
                f"({called(self.raters[low])}{beside}) to "
                f"{self.by_rater.value[high]:.2f} ({called(self.raters[high])})"
            )
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])
