"""From the values of statistics on replicates to the results of a predictive check.

What a predictive check cannot say with what was stored is refused or put into words. Instances can be grouped
by one factor or by several that are crossed, with p-values adjusted over all groups.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import missing_entries, require_one_each
from credibly._arrays.errors import InputError, UnsupportedError, require
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly.hypotests.predictive.one_more_member import FEW_MEMBERS, OneMore, equal_members
from credibly.hypotests.resampling.choices import is_joint
from credibly.hypotests.resampling.loop import Resampled
from credibly.hypotests.resampling.pvalues import (
    at_least_and_at_most,
    pooled_pvalues,
    require_numbers,
    result_of,
    westfall_young,
)
from credibly.hypotests.resampling.replicates import Hypothesis, LabelSource
from credibly.predictions import (
    ClassPredictions,
    Dataset,
    Dirichlet,
    Ensemble,
    Gaussian,
    InMemory,
    Predictions,
    Quantiles,
    Rows,
    Samples,
)
from credibly.results.predictive import HypothesisCheck
from credibly.results.tests import CheckDetails, HypotestResult, smallest_pvalue
from credibly.statistics import Statistic

MOST_GROUPS = 10_000

_JOINT = " / "

_ONE = "group"


@dataclasses.dataclass(frozen=True)
class Grouping:
    """The groups of rows.

    Attributes
    ----------
    sizes : tuple of (object, int)
        Every group as it stands beside the rows, and its number of rows.
    names : tuple of str
        Names of the groups, in order.
    factors : mapping of str to tuple of str
        Levels of every grouping factor, in order.
    """

    sizes: tuple[tuple[Any, int], ...]
    names: tuple[str, ...]
    factors: Mapping[str, tuple[str, ...]]


def groups_of(rows: Rows) -> tuple[Rows, Grouping | None]:
    """Return rows with one group each, and their groups, counted in one pass; None where they have none.

    Of rows in memory the group is the number of their combination of factors. One group per row stays as it
    is, as chunks bring it.
    """
    whole, levels = rows.loaded(), {}
    if whole is not None and whole.groups is not None and not isinstance(whole.groups, np.ndarray):
        named = whole.groups if isinstance(whole.groups, Mapping) else {_ONE: whole.groups}
        require(named, "must have at least one factor", "Leave it out.", groups=named)
        codes = np.zeros(len(whole), dtype=np.int64)
        for name, values in named.items():
            unique, place = np.unique(_factor(values, str(name), len(whole)), return_inverse=True)
            levels[str(name)] = tuple(str(level) for level in unique.tolist())
            codes = codes * len(unique) + place.reshape(-1)
        rows = InMemory(dataclasses.replace(whole, groups=codes, labels=whole.batch, weights=None))
    if rows.example.groups is None:
        return rows, None
    sizes = group_sizes(rows)
    if len(sizes) > MOST_GROUPS:
        raise InputError(
            "the groups",  # of the argument, or of a file
            f"must be at most {MOST_GROUPS}",
            f"got {len(sizes)}",
            "Use a coarser grouping; perhaps this column identifies single instances.",
        )
    names = tuple(_name(level, levels) if levels else str(level) for level, _ in sizes)
    return rows, Grouping(sizes, names, levels or {_ONE: names})


def group_sizes(chunks: Rows) -> tuple[tuple[Any, int], ...]:
    """Return every group with its number of rows, in order; counting ends beyond `MOST_GROUPS`."""
    counts: Counter[Any] = Counter()
    for counted_groups in chunks.map(_count_groups):
        counts.update(counted_groups)
        if len(counts) > MOST_GROUPS:
            break
    levels = np.unique(np.array(list(counts)))
    return tuple((level, counts[level]) for level in levels.tolist())


def _count_groups(chunk: Dataset) -> dict[Any, int]:
    level_of_row = _factor(chunk.groups, _ONE, len(chunk.predictions))
    levels, counts = np.unique(level_of_row, return_counts=True)
    return dict(zip(levels.tolist(), counts.tolist(), strict=True))


def _factor(values: Any, name: str, n: int) -> HostArray:
    array = to_host(values) if is_array(values) else np.asarray(values)
    require_one_each(array.shape, n, f"group factor {name!r}")
    missing = np.flatnonzero(missing_entries(array))
    if missing.size:
        raise InputError(
            f"group factor {name!r}",
            "must not be missing",
            f"entry {missing[0]} is ({missing.size} of {n})",
            "Give these instances their own group.",
        )
    return array if array.dtype != object else array.astype(str)


def _name(code: int, levels: Mapping[str, tuple[str, ...]]) -> str:
    digits = np.unravel_index(code, [len(level) for level in levels.values()])
    return _JOINT.join(level[place] for level, place in zip(levels.values(), digits, strict=True))


def hypothesis_check(
    source: LabelSource,
    predictions: Predictions,
    chosen: Sequence[Statistic],
    resampled: Sequence[Resampled],
    grouping: Grouping | None,
    settings: dict[str, Any],
    n_clusters: Sequence[int] | None = None,
    one_more: Sequence[OneMore] | None = None,
) -> HypothesisCheck:
    """Return all results under one hypothesis; some `predictions` tell their kind and members.

    `n_clusters` are those of all rows and of each group, where rows belong together; `one_more` are the
    p-values, in the order of `found`, that count the truth as one more member.
    """
    words = hypothesis_words(source.hypothesis, predictions, n_clusters is not None)
    # a replicate of draws changes them, so there is no one distribution of a member's replicates
    members = None if isinstance(predictions, Samples) or _joint_draws(predictions) else source.members
    values = np.stack([tested.values for tested in resampled])
    groups = [None] if grouping is None else [None, *grouping.names]
    pairs = [(group, statistic.name) for group in groups for statistic in chosen]
    for row, (_, name) in zip(values, pairs, strict=True):
        require_numbers(row, name)
    adjusted: list[float | None] = [None] * len(pairs)
    s = len(chosen)
    omnibus, adjusted_alone, _ = westfall_young(pooled_pvalues(values[:s]))
    if s > 1:
        adjusted[:s] = adjusted_alone.tolist()
    if grouping is not None:
        adjusted[s:] = westfall_young(pooled_pvalues(values[s:]))[1].tolist()
    numbers: Sequence[int | None] = [None] * len(groups) if n_clusters is None else n_clusters
    results = []
    for at, (tested, (group, _)) in enumerate(zip(resampled, pairs, strict=True)):
        more = None if one_more is None else one_more[at]
        statistic, number = tested.bound.statistic, numbers[at // s]
        result = result_of(
            tested.values,
            "two-sided",
            statistic.traits.range,
            name="predictive_check",
            hypothesis=words,
            statistic_name=statistic.name,
            n=tested.bound.n,
            statistic_range=statistic.traits.range,
            settings={**settings, **statistic.settings()},
            notes=tested.bound.notes,
            adjusted_pvalue=_reachable(adjusted[at], number),
            n_clusters=number,
            details=_details(tested.values, predictions.n_members, group, more),
        )
        results.append(result)
    whole, *parts = (
        {result.statistic_name: result for result in results[at : at + s]} for at in range(0, len(results), s)
    )
    return HypothesisCheck(
        name=source.hypothesis,
        hypothesis=words,
        checks=whole,
        omnibus_pvalue=_reachable(omnibus, numbers[0]),
        members=members,
        groups={} if grouping is None else dict(zip(grouping.names, parts, strict=True)),
    )


def of_any_member(checks: Sequence[HypothesisCheck]) -> HypothesisCheck:
    """Combine the checks of every member into one of "one of the members drew all labels".

    It is rejected where each of them is, so the largest p-value counts.
    """
    if len(checks) == 1:
        return checks[0]
    first = checks[0]
    return dataclasses.replace(
        first,
        checks={name: _best([check.checks[name] for check in checks]) for name in first.checks},
        omnibus_pvalue=max(check.omnibus_pvalue for check in checks),
        groups={
            group: {name: _best([check.groups[group][name] for check in checks]) for name in results}
            for group, results in first.groups.items()
        },
    )


def _best(results: Sequence[HypotestResult[CheckDetails]]) -> HypotestResult[CheckDetails]:
    """Return the result of the member that fits best."""
    adjusted = [result.adjusted_pvalue for result in results if result.adjusted_pvalue is not None]
    best = max(results, key=lambda result: result.pvalue)
    return dataclasses.replace(best, adjusted_pvalue=max(adjusted, default=None))


def _joint_draws(predictions: Predictions) -> bool:
    """Tell whether every member is one joint draw of all labels."""
    if isinstance(predictions, Ensemble):
        return predictions.holds_drawn_labels
    return isinstance(predictions, Samples) and is_joint(predictions)


def hypothesis_words(hypothesis: Hypothesis, predictions: Predictions, in_clusters: bool = False) -> str:
    """Return the hypothesis as a clause."""
    if in_clusters:
        whose = f"that of one of these {predictions.n_members} members, the same for all"
        base = "its mean prediction" if hypothesis == "independent" else whose
        return f"every row is calibrated given {base}, and clusters of rows are independent"
    if hypothesis == "independent":
        real = not isinstance(predictions, ClassPredictions)
        whose = "predicted distribution" if real else "mean prediction"
        return f"every label was drawn from the {whose} of its instance, independently of the others"
    if predictions.n_members == 1:
        return "the one member drew all labels"
    if _joint_draws(predictions):
        return f"the labels are one more joint draw, like the {predictions.n_members} that are stored"
    return f"one of these {predictions.n_members} members, the same for all instances, drew all labels"


def _details(values: HostArray, n_members: int, group: str | None, one_more: OneMore | None) -> CheckDetails:
    """Return what only a check tells of the values of a statistic, the observation first."""
    null, (member_pvalue, rule) = values[1:], one_more or (None, None)
    upper, lower = (
        (1 + int(np.count_nonzero(side))) / (1 + null.size)
        for side in at_least_and_at_most(float(values[0]), null)
    )
    low, high = np.quantile(null, [0.05, 0.95], method="inverted_cdf")
    return CheckDetails(
        upper_pvalue=upper,
        lower_pvalue=lower,
        direction="above" if upper <= lower else "below",
        sharpness=float(high - low) if np.isfinite([low, high]).any() else float("nan"),
        n_members=n_members,
        member_pvalue=member_pvalue,
        member_rule=rule,
        group=group,
    )


def _reachable(pvalue: Any, n_clusters: int | None) -> Any:
    """Return a p-value, if there is one, that is not below what signs of so many clusters can reach."""
    return pvalue if pvalue is None or n_clusters is None else max(pvalue, smallest_pvalue(n_clusters))


_LEVEL = 0.05


def has_members(predictions: Predictions) -> bool:
    """Tell whether members are stored, so that one can be drawn for all instances."""
    if isinstance(predictions, Gaussian):
        return int(predictions.mean.ndim) == 2 and not predictions.weights_by_row
    if isinstance(predictions, Samples):
        return int(predictions.values.ndim) == 3
    return isinstance(predictions, (Ensemble, Dirichlet))


def require_hypothesis(predictions: Predictions, hypothesis: Hypothesis) -> None:
    """Raise where a hypothesis cannot be tested with these predictions."""
    if hypothesis == "independent" or has_members(predictions):
        return
    if isinstance(predictions, Gaussian) and predictions.weights_by_row:
        raise UnsupportedError(
            "the Bayesian hypothesis",
            "needs one weight per member, because one member states the distribution of all labels",
            f"got {predictions!r}, with weights for each instance",
            'Pass `hypothesis="independent"`, or weights (m,) if these are members of an ensemble.',
        )
    kind = type(predictions).__name__
    single = {
        "Point": "`Ensemble(probs[:, None, :])`",
        "Gaussian": "`Gaussian(mean[:, None], std[:, None])`",
        "Samples": "`Samples(values[:, None, :])`",
    }.get(kind)
    remedy = 'Store the members, or pass `hypothesis="independent"`.'
    if single:
        remedy += f" If it is a single model, say so: {single}."
    raise UnsupportedError(
        "the Bayesian hypothesis",
        "cannot be tested if only averages are stored, because the members are lost",
        f"got {kind} without members",
        remedy,
    )


def limits_of(
    predictions: Predictions, names: Sequence[Hypothesis], n_resamples: int, together: int
) -> tuple[str, ...]:
    """Return what the check cannot say, in words; `together` p-values are adjusted for each other."""
    limits = ["The data must not have been used to train or recalibrate the model."]
    m = predictions.n_members
    if "bayesian" in names and isinstance(predictions, Dirichlet):
        limits.append(
            "A Dirichlet draws a distribution per instance: with one label per instance a member's labels "
            "follow its mean, so concentrations cannot be checked."
        )
    if "bayesian" in names and m == 1:
        limits.append("With one member both hypotheses are the same.")
    elif "bayesian" in names and _joint_draws(predictions):
        if 2 / (m + 1) > _LEVEL:
            limits.append(f"{m} joint draws give no two-sided p-value below {2 / (m + 1):.2g}.")
    elif "bayesian" in names and equal_members(predictions) < FEW_MEMBERS:
        equal = equal_members(predictions)
        weighted = f", which by weight count as {equal:.3g} equal ones" * (abs(equal - m) > 1e-9)
        limits.append(
            f"With {m} members{weighted}, the ranks of members give no p-value below {2 / (equal + 1):.2g}. "
            f"Verdicts under the Bayesian hypothesis therefore compare the distance between labels and "
            f"members with the differences between members, and assume that these are roughly normal."
        )
    if isinstance(predictions, Quantiles):
        limits.append(
            f"Only {predictions.values.shape[1]} quantiles are stored: labels are known only up to the gap "
            f"between them, so only coverage was checked."
        )
    if 2 / (n_resamples + 1) > _LEVEL:
        limits.append(
            f"{n_resamples} replicates give no two-sided p-value below {2 / (n_resamples + 1):.2g}."
        )
    # every row of the replicates has its two extremes, and each may be another replicate's smallest p-value
    elif 2 * together / (n_resamples + 1) > _LEVEL:
        limits.append(
            f"{n_resamples} replicates, adjusted for {together} statistics and groups, may give no "
            f"adjusted p-value below {min(2 * together / (n_resamples + 1), 1):.2g}, however large the "
            f"deviation: use "
            f"{_enough(together)} or more."
        )
    return tuple(limits)


def _enough(together: int) -> int:
    """Return a round number of replicates, less one, that can give adjusted p-values at the level."""
    least = 2 * together / _LEVEL
    return int(-(-least // 1000) * 1000) - 1
