"""How far raters agree beyond chance: alpha and kappas, with errors over instances and raters.

With c the counts of the n_i labels of an instance, N_a the labels of class a in all, N their sum:

    Krippendorff   alpha = 1 - (N - 1) sum_i sum_{a != b} c_a c_b / (n_i - 1)  /  sum_{a != b} N_a N_b
    Fleiss         kappa = (P - E) / (1 - E),   P = mean sum c (c - 1) / (n (n - 1)),   E = sum (N_a / N)^2
    Cohen          the same of two raters, E = sum of the products of their own shares

Standard errors leave out each instance, each rater and each label in turn (jackknife): the variance is that
of instances plus that of raters minus that of labels, and not below that of instances.
Krippendorff 2011; Fleiss 1971; Cohen 1960.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, tiles, to_host
from credibly._arrays.notes import counted
from credibly._arrays.standard_errors import mean_error
from credibly.predictions import LabelCounts
from credibly.raters.annotators import annotations_of, tallies_of
from credibly.results.agreement import Agreement
from credibly.results.estimates import Estimate, Estimates

_MOST_PAIRS = 100
_MOST_CELLS = 2_000_000
_TILE_ELEMENTS = 2**22


def agreement(counts: LabelCounts) -> Agreement:
    """Measure how far raters agree beyond chance.

    Parameters
    ----------
    counts : LabelCounts
        From `LabelCounts.from_annotations` or `LabelCounts.from_table` for what concerns single raters;
        alpha and Fleiss' kappa need only counts.

    Returns
    -------
    Agreement
        Krippendorff's alpha, Fleiss' and Cohen's kappa, agreement and confusion of every rater.

    References
    ----------
    Krippendorff, *Computing Krippendorff's alpha-reliability*, 2011. Fleiss, *Measuring nominal scale
    agreement among many raters*, 1971. Cohen, *A coefficient of agreement for nominal scales*, 1960.

    Examples
    --------
    >>> import credibly as cr
    >>> counts = cr.LabelCounts.from_table([[0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 1]], n_classes=2)
    >>> found = cr.raters.agreement(counts)
    >>> round(found.krippendorff.value, 3), round(found.fleiss.value, 3), found.cohen[0, 1]
    (0.389, 0.333, np.float64(1.0))
    """
    tallies = tallies_of(counts).astype(np.float64)
    several = tallies.sum(axis=1) > 1
    if not several.any() or (tallies != np.round(tallies)).any():
        raise UnsupportedError(
            "`agreement`",
            "needs whole numbers of labels, and instances with two labels or more",
            f"{int(several.sum())} of {counted(len(tallies), 'instance')} have as many",
            "Ask a second rater about some instances, and pass counts of raters.",
        )
    notes: tuple[str, ...] = ()
    if not several.all():
        phrase = counted(int((~several).sum()), "instance with one label is", "instances with one label are")
        notes = (f"{phrase} left out",)
    part = counts[np.flatnonzero(several)]
    tallies = tallies[several]
    totals = tallies.sum(axis=1)
    even = bool((totals == totals[0]).all())
    refusal = (
        None if even else f"instances have {totals.min():g} to {totals.max():g} labels, not equal numbers"
    )
    parts: dict[str, Any] = {
        "krippendorff": _estimate("krippendorff", _alpha, _of_alpha, part),
        "fleiss": _estimate("fleiss", _fleiss, _of_fleiss, part) if even else None,
        "fleiss_refusal": refusal,
        "n": len(tallies),
        "notes": notes,
    }
    if part.rater_of is None:
        nothing = ("cohen", "raters", "n_labels", "by_rater", "alpha_without", "confusions")
        return Agreement(**(parts | dict.fromkeys(nothing)))
    return Agreement(**parts, **_of_raters(part))


def _of_alpha(counts: HostArray) -> HostArray:
    """Return what instances with these counts (..., k) add: pairs that disagree, one, labels."""
    total = counts.sum(axis=-1, keepdims=True)
    apart = (total**2 - (counts**2).sum(axis=-1, keepdims=True)) / np.maximum(total - 1.0, 1.0)
    kept = (total > 1).astype(np.float64)  # a single label has no pair
    return np.asarray(np.concatenate([apart, np.ones_like(total), counts], axis=-1) * kept)


def _alpha(sums: HostArray) -> HostArray:
    """Return alpha from sums over instances, (..., 2 + k)."""
    labels = sums[..., 2:]
    number = labels.sum(axis=-1)
    expected = number**2 - (labels**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1.0 - (number - 1.0) * sums[..., 0] / expected)


def _of_fleiss(counts: HostArray) -> HostArray:
    total = counts.sum(axis=-1, keepdims=True)
    pairs = (counts * (counts - 1.0)).sum(axis=-1, keepdims=True) / np.maximum(total * (total - 1.0), 1.0)
    kept = (total > 1).astype(np.float64)
    return np.asarray(np.concatenate([pairs, np.ones_like(total), counts], axis=-1) * kept)


def _fleiss(sums: HostArray) -> HostArray:
    labels = sums[..., 2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = (labels**2).sum(axis=-1) / labels.sum(axis=-1) ** 2
        return np.asarray((sums[..., 0] / sums[..., 1] - chance) / (1.0 - chance))


Combined = Callable[[HostArray], HostArray]


def _estimate(name: str, value: Combined, adds: Combined, counts: LabelCounts) -> Estimate:
    """Return a value of sums with its jackknife error over instances, and over raters if they are known."""
    tallies = to_host(counts.counts).astype(np.float64)
    added = adds(tallies)
    total = added.sum(axis=0)
    whole, n = float(value(total)), len(tallies)
    if not np.isfinite(whole):
        why = "all labels are of one class, so chance agreement is 1"
        return Estimate(name, float("nan"), None, n, interval_refusal=why)
    moved = value(total - added) - whole
    if not np.isfinite(moved).all():
        why = "the value is not defined without some instance"
        return Estimate(name, whole, None, n, interval_refusal=why)
    error = mean_error((1.0 - n) * moved)  # whose spread is that of the jackknife
    if counts.rater_of is None or error["stderr"] is None:
        return Estimate(name, whole, n=n, **error)
    moved = value(np.array(list(_sums_without(counts, added, total, adds)))) - whole
    number = len(moved)
    if number > 1 and np.isfinite(moved).all():
        between = (number - 1) / number * float(((moved - moved.mean()) ** 2).sum())
        crossed = max(0.0, between - _label_variance(tallies, added, total, whole, value, adds))
        error["stderr"] = float(np.sqrt(error["stderr"] ** 2 + crossed))
        error["degrees_of_freedom"] = float(number - 1)
    elif number > 1:
        error["interval_refusal"] = "the value is not defined without some rater"
    return Estimate(name, whole, n=n, **error)


def _label_variance(
    tallies: HostArray, added: HostArray, total: HostArray, whole: float, value: Combined, adds: Combined
) -> float:
    """Return the jackknife variance over single labels."""
    row, label = np.nonzero(tallies)
    variance = 0.0
    for part in tiles(row.size, _TILE_ELEMENTS // tallies.shape[1]):
        rest = tallies[row[part]]
        rest[np.arange(len(rest)), label[part]] -= 1.0
        moved = value(total - added[row[part]] + adds(rest)) - whole
        variance += float((tallies[row[part], label[part]] * moved**2).sum())
    return variance


def _sums_without(counts: LabelCounts, added: HostArray, total: HostArray, adds: Combined) -> Any:
    """Yield the sums over instances without the labels of every rater in turn."""
    rater, label, names = annotations_of(counts, "agreement")
    tallies = to_host(counts.counts).astype(np.float64)
    for place in range(len(names)):
        row, at = np.nonzero(rater == place)
        if row.size:
            rest = tallies[row]
            rest[np.arange(row.size), label[row, at]] -= 1.0
            yield total - added[row].sum(axis=0) + adds(rest).sum(axis=0)


def _of_raters(counts: LabelCounts) -> dict[str, Any]:
    """Return what concerns single raters."""
    rater, label, names = annotations_of(counts, "agreement")
    tallies, k = to_host(counts.counts).astype(np.float64), counts.n_classes
    row, at = np.nonzero(rater >= 0)
    who, labels = rater[row, at], label[row, at]
    here = np.unique(who)
    who = np.searchsorted(here, who)
    others = tallies[row]
    others[np.arange(row.size), labels] -= 1.0
    others /= others.sum(axis=1, keepdims=True)
    same = others[np.arange(row.size), labels]
    errors = [mean_error(same[who == place]) for place in range(here.size)]
    reasons = [error["interval_refusal"] for error in errors]
    added = _of_alpha(tallies)
    kept = here.size * k * k <= _MOST_CELLS
    confusions = np.zeros((here.size, k, k)) if kept else None
    if confusions is not None:
        np.add.at(confusions.transpose(0, 2, 1), (who, labels), others)
    return {
        "cohen": _cohen(rater, label, here, k) if here.size <= _MOST_PAIRS else None,
        "raters": tuple(names[place] for place in here.tolist()),
        "n_labels": np.bincount(who),
        "by_rater": Estimates(
            "agreement with the others",
            np.bincount(who, same) / np.bincount(who),
            np.array([np.nan if error["stderr"] is None else error["stderr"] for error in errors]),
            len(tallies),
            next((why for why in reasons if why), None),
            np.array([why is not None for why in reasons]),
        ),
        "alpha_without": _alpha(np.array(list(_sums_without(counts, added, added.sum(axis=0), _of_alpha)))),
        "confusions": confusions,
    }


def _cohen(rater: HostArray, label: HostArray, here: HostArray, k: int) -> HostArray:
    """Return Cohen's kappa of every pair of raters, (r, r)."""
    n = len(rater)
    table = np.full((here.size, n), -1)
    row, at = np.nonzero(rater >= 0)
    table[np.searchsorted(here, rater[row, at]), row] = label[row, at]
    kappa = np.full((here.size, here.size), np.nan)
    for a in range(here.size):
        for b in range(a, here.size):
            both = (table[a] >= 0) & (table[b] >= 0)
            if both.any():
                first, second = (
                    np.bincount(table[rater][both], minlength=k) / both.sum() for rater in (a, b)
                )
                chance = float(first @ second)
                seen = float((table[a][both] == table[b][both]).mean())
                if chance < 1.0:
                    kappa[a, b] = kappa[b, a] = (seen - chance) / (1.0 - chance)
    return kappa
