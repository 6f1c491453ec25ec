"""Raters are people: do they differ, and what does that do to standard errors?

If raters do not differ, the labels of an instance could have come from its raters in any order, so they are
permuted among them, instance by instance. With e_y the indicator of a label and cbar_i its mean over the
labels of instance i,

    leaning    sum over raters r of ||sum over labels of r of (e_y - cbar_i)||^2 / n_r
    agreement  sum over raters r of (sum over labels of r of (a_y - abar_i))^2 / n_r

need no model and are exact. a_y is the share of the other labels of the instance that equal y, abar_i its
mean over the labels: a careless rater may lean nowhere and agree less often than the others. The smaller
of both ranks decides (Westfall and Young 1993). With two labels a_y is the same for both, so only the
leaning is tested. Labels of raters who differ depend on each other across instances. A mean then has the
variance of two crossed clusterings (Cameron, Gelbach and Miller 2011; raters' share after Owen 2007),

    sum_i A_i^2 + sum_r B_r^2 - sum_ir b_ir^2       A_i, b_ir, B_r: what an instance, a label, a rater adds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import stdtr

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputTypeError, UnsupportedError
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.philox import as_seed, takes_rng
from credibly._arrays.standard_errors import mean_error
from credibly.hypotests.resampling.pvalues import omnibus, result_of, settled
from credibly.predictions import LabelCounts, as_rows
from credibly.raters.second_labels import pair_products
from credibly.results.ignorance import RaterDetails
from credibly.results.tests import HypotestResult, with_details

_KEEP = "Use `LabelCounts.from_annotations(ids, raters, labels, n_classes=k)` or `LabelCounts.from_table`."
HYPOTHESIS = "raters do not differ: the labels of an instance could have come from its raters in any order"


def tallies_of(counts: Any) -> HostArray:
    """Return how many labels of each class every instance has, (n, k), on the host."""
    if not isinstance(counts, LabelCounts):
        evidence = f"got {type(counts).__name__}"
        raise InputTypeError("`counts`", "must be LabelCounts", evidence, "Write `LabelCounts(counts)`.")
    return to_host(counts.counts)


def beside(predictions: Any, counts: Any) -> tuple[Any, HostArray]:
    """Return predictions in memory, and how many labels of each class their instances have."""
    tallies = tallies_of(counts)
    rows = as_rows(predictions, counts)
    data = rows.loaded(rows.n)
    assert data is not None
    data.batch  # noqa: B018 - counts of other instances or classes are refused
    return data.predictions, tallies


def annotations_of(counts: Any, what: str) -> tuple[HostArray, HostArray, tuple[str, ...]]:
    """Return who gave which label, (n, r) with -1 for none, and the names of the raters."""
    tallies_of(counts)
    if counts.rater_of is None or counts.label_of is None or counts.rater_names is None:
        raise UnsupportedError(what, "needs to know who gave which label", "these counts do not", _KEEP)
    return counts.rater_of, counts.label_of, counts.rater_names


@takes_rng
def rater_test(
    counts: LabelCounts, *, n_resamples: int = 999, rng: Any = None
) -> HypotestResult[RaterDetails]:
    """Test whether raters differ: exact, and without a model.

    Parameters
    ----------
    counts : LabelCounts
        From `LabelCounts.from_annotations` or `LabelCounts.from_table`, which keep who gave which label.
    n_resamples : int
        Number of permutations.
    rng : None, int or Generator
        ...

    Returns
    -------
    HypotestResult
        A small p-value says that for the same instances some raters give certain labels more often than
        others do, or agree less often with the rest. `details` says which of the two is clearer, and names
        the clearest rater. Agreement is tested if some instance has three labels or more.

    References
    ----------
    Good, *Permutation, parametric and bootstrap tests of hypotheses*, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(2, size=(100, 3))
    >>> labels[:, 2] = 1  # one rater says "1" always
    >>> test = cr.raters.rater_test(cr.LabelCounts.from_table(labels, n_classes=2), n_resamples=199, rng=0)
    >>> test.verdict(), test.details.rater
    ('conflict', 'rater 2')
    """
    rater, label, names = annotations_of(counts, "`rater_test`")
    n_resamples = require_integer(n_resamples, "n_resamples", 1)
    seed = as_seed(rng)
    several = (rater >= 0).sum(axis=1) > 1
    rater, label = rater[several], label[several]
    here = np.unique(rater[rater >= 0])
    if here.size < 2:
        raise UnsupportedError(
            "`rater_test`",
            "needs instances with two raters or more",
            f"{int(several.sum())} of {several.size} instances have them",
            "Ask a second rater about some instances.",
        )
    k, tallies = counts.n_classes, to_host(counts.counts)[several]
    present = rater >= 0
    row, codes = np.nonzero(present)[0], np.searchsorted(here, rater[present])
    number = np.bincount(codes, minlength=here.size)
    total = tallies.sum(axis=1, keepdims=True)
    expected = np.zeros((here.size, k))
    np.add.at(expected, codes, (tallies / total)[row])
    shares = (tallies - 1) / (total - 1)  # of the other labels, those of the same class
    shares = shares - (tallies * shares).sum(axis=1, keepdims=True) / total

    def leaning_of(labels: HostArray) -> HostArray:
        tally = np.bincount(codes * k + labels, minlength=here.size * k).reshape(-1, k)
        return np.asarray(((tally - expected) ** 2).sum(axis=1) / number)

    def agreement_of(labels: HostArray) -> HostArray:
        return np.asarray(np.bincount(codes, shares[row, labels], minlength=here.size) / np.sqrt(number))

    observed = label[present]
    leaning, agreement = [leaning_of(observed)], [agreement_of(observed)]
    generator = np.random.default_rng(seed)
    for _ in range(n_resamples):
        keys = np.where(present, generator.random(label.shape), 2.0)
        labels = np.take_along_axis(label, keys.argsort(axis=1), axis=1)[present]
        leaning.append(leaning_of(labels))
        agreement.append(agreement_of(labels))
    sums = {"leaning": np.sum(leaning, axis=1)}
    if (total > 2).any():
        sums["agreement"] = np.square(agreement).sum(axis=1)
    settings = {"seed": list(seed), "n_raters": int(here.size)}
    shared: dict[str, Any] = {"hypothesis": HYPOTHESIS, "n": int(several.sum()), "settings": settings}
    sums = {name: settled(values, float(values[0]), codes.size) for name, values in sums.items()}
    results = [
        result_of(values, "greater", (0.0, np.inf), name="rater_test", statistic_name=name, **shared)
        for name, values in sums.items()
    ]
    test = omnibus(results, np.stack(list(sums.values())), settings) if len(results) > 1 else results[0]
    aspect = min(results, key=lambda result: result.pvalue).statistic_name
    clearest = leaning[0].argmax() if aspect == "leaning" else agreement[0].argmin()
    details = RaterDetails(names[here[int(clearest)]], int(here.size), aspect)
    return with_details(test, details, name="rater_test")


def crossed_error(
    error: dict[str, Any], counts: LabelCounts, mean: HostArray, pairs: float, labels: float = 0.0
) -> dict[str, Any]:
    """Return the error of the mean of values (n,) over instances and raters, never below that of instances.

    Parameters
    ----------
    error : dict
        Fields of an Estimate over instances, from `mean_error`.
    counts : LabelCounts
        Labels, with who gave them.
    mean : ndarray (n, k)
        Predicted means.
    pairs, labels : float
        How the mean over pairs of <e_y - mu, e_y' - mu>, and the mean over labels of ||e_y - mu||^2, enter
        the values.

    Returns
    -------
    dict
        The same fields, with Student's t for the number of raters less one.
    """
    rater, label, _ = annotations_of(counts, "standard errors over raters")
    tallies, n = to_host(counts.counts), len(mean)
    row, place = np.nonzero(rater >= 0)
    classes, who = label[row, place], rater[row, place]
    total = tallies.sum(axis=1)[row]
    square = (mean**2).sum(axis=1)[row]
    probability = mean[row, classes]
    others = tallies[row, classes] - 1 - (total - 1) * probability + (total - 1) * square
    others = others - ((tallies * mean).sum(axis=1)[row] - probability)
    added = 2.0 * pairs * others / (total * (total - 1)) + labels * (1 - 2 * probability + square) / total
    centre = added.sum() / n
    added = (added - centre / total) / n
    return _over_raters(error, added, who)


def _over_raters(error: dict[str, Any], added: HostArray, who: HostArray) -> dict[str, Any]:
    """Return an error over instances with the part of raters, from what each label adds to the mean, (t,)."""
    codes = np.unique(who, return_inverse=True)[1]
    by_rater = np.bincount(codes, added)
    number = by_rater.size
    if number < 2 or error["stderr"] is None:
        return error
    between = number / (number - 1) * float(by_rater @ by_rater) - float(added @ added)
    crossed = float(np.sqrt(error["stderr"] ** 2 + max(0.0, between)))
    return error | {"stderr": crossed, "degrees_of_freedom": float(number - 1)}


def two_way_pvalue(counts: LabelCounts, mean: HostArray, variance: HostArray) -> float:
    """Return the p-value of the gap between supported and stated variance, over instances and raters."""
    tallies = to_host(counts.counts).astype(np.float64)
    gaps = (pair_products(mean, tallies) - variance).sum(axis=1)
    error = crossed_error(mean_error(gaps), counts, mean, 1.0)
    return _pvalue(float(gaps.mean()), error, len(gaps))


def two_way_mean_pvalue(counts: LabelCounts, mean: HostArray) -> float:
    """Return the p-value of the mean label over instances and raters, Bonferroni over the classes."""
    rater, label, _ = annotations_of(counts, "standard errors over raters")
    row, place = np.nonzero(rater >= 0)
    tallies = to_host(counts.counts)
    total = tallies.sum(axis=1)
    gaps = tallies / total[:, None] - mean
    pvalues = []
    for a, values in enumerate(gaps.T):
        added = ((label[row, place] == a) - mean[row, a] - values.mean()) / total[row] / len(mean)
        error = _over_raters(mean_error(values), added, rater[row, place])
        pvalues.append(_pvalue(float(values.mean()), error, len(values)))
    return min(1.0, len(pvalues) * min(pvalues))


def _pvalue(value: float, error: dict[str, Any], n: int) -> float:
    if not error["stderr"]:
        return 1.0
    return float(2.0 * stdtr(error.get("degrees_of_freedom") or n - 1.0, -abs(value) / error["stderr"]))


def leaving_raters_out(
    predictions: Any, counts: LabelCounts, function: Callable[[Any, LabelCounts], Any]
) -> dict[str, Any]:
    """Compute something without the labels of each rater in turn.

    Parameters
    ----------
    predictions : Predictions or array
        What was predicted.
    counts : LabelCounts
        From `LabelCounts.from_annotations` or `LabelCounts.from_table`.
    function : callable
        Of predictions and counts, such as `decompose_loss`.

    Returns
    -------
    dict
        What the function returns, by the name of the rater that was left out. Instances that only this rater
        labelled are left out too.

    References
    ----------
    Tukey, *Bias and confidence in not quite large samples*, 1958, for leaving parts out.

    Examples
    --------
    >>> import credibly as cr
    >>> counts = cr.LabelCounts.from_table([[0, 0, 1], [1, 1, 1], [0, 0, 1]], n_classes=2)
    >>> parts = cr.raters.leaving_raters_out([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]], counts, cr.brier)
    >>> {name: round(part.value, 3) for name, part in parts.items()}
    {'rater 0': 0.553, 'rater 1': 0.553, 'rater 2': 0.02}
    """
    _, _, names = annotations_of(counts, "`leaving_raters_out`")
    classes, _ = beside(predictions, counts)
    return {
        name: function(classes[rows], part)
        for name, (rows, part) in zip(names, without_each(counts), strict=True)
        if rows.size
    }


def without_each(counts: LabelCounts) -> Any:
    """Yield rows and counts without the labels of every rater in turn."""
    rater, label, names = annotations_of(counts, "leaving raters out")
    tallies = to_host(counts.counts)
    for place in range(len(names)):
        row, at = np.nonzero(rater == place)
        rest = tallies.copy()
        np.subtract.at(rest, (row, label[row, at]), 1)
        rows = np.flatnonzero(rest.sum(axis=1) > 0)
        yield rows, LabelCounts(rest[rows]) if rows.size else None
