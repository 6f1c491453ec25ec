"""Is the model calibrated for everyone? All groups that attributes form, with one family-wise p-value.

    S_g = sum over the rows of g of (score - its mean under the hypothesis),  W_g its normal score
    adjusted p of the j-th largest |W| = (1 + #{replicates: max over it and smaller ones >= |W_j|}) / (1 + b)

Labels are drawn from the predictions, all groups see the same labels, and scores of groups whose rows are
calibrated do not depend on the other groups: the step-down adjustment of Westfall and Young (1993) is exact
for any number of groups, whatever they share. W is only the scale on which groups compete; it knows the
skewness of S, so that groups with few rows and rare classes do not use up the error rate.

For clusters the sign of all residuals of a cluster is drawn (wild bootstrap). For sets the count of a class
is compared with its upper and its lower probability; a count is largest, in all groups at once, under the
upper probabilities, so that replicates drawn there bound the tails of every truth in the sets: this is the
witness test with the indicators of groups and classes as fixed witnesses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import Remedy, UnsupportedError, one_of, require, require_type
from credibly._arrays.notes import replicates_note
from credibly._arrays.philox import as_seed, takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.hypotests.calibration.family import (
    Adjusted,
    GroupSums,
    adjusted_pvalues,
    drawn_sums,
    explained_groups,
    standardised,
    wild_sums,
)
from credibly.hypotests.calibration.group_scores import AuditMeasure, Scoring, central_levels
from credibly.hypotests.calibration.lattice import FEWEST_ROWS, QUANTILES, Lattice, joined_groups, lattice_of
from credibly.hypotests.resampling.pvalues import HYPOTHESIS, fewest_resamples, require_resamples
from credibly.predictions import (
    Belief,
    ClassPredictions,
    Confidence,
    Ensemble,
    Intervals,
    Predictions,
    RealPredictions,
    Rows,
    as_rows,
    one_rater,
    require_single,
)
from credibly.predictions.joining import aligned
from credibly.predictions.passes import detached
from credibly.results.audit import WIDE, AuditGroup, AuditResult
from credibly.results.base import require_level
from credibly.results.tests import Word

IN_SETS = "the distribution of every label lies in its predicted set"
CLUSTERED = (
    "every label is calibrated given its prediction; clusters are independent, rows of one need not be"
)
MOST_CLASSES = 20
"""Number of classes that are counted one by one by default; for sets, half as many."""

_POWER_SCORE = 0.8416212335729143  # normal score of a power of 80 %


@takes_rng
def audit(
    predictions: Any,
    labels: Any = None,
    *,
    groups: Any = None,
    depth: int = 2,
    n_quantiles: int = QUANTILES,
    min_size: int = FEWEST_ROWS,
    measures: Sequence[str] | None = None,
    hypothesis: Literal["mean", "set"] | None = None,
    clusters: Any = None,
    blocks: int | None = None,
    level: float = 0.05,
    n_resamples: int = 999,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> AuditResult:
    """Test whether predictions are calibrated in all groups that attributes form.

    Parameters
    ----------
    predictions : Predictions, array, Dataset, path or Rows
        Classes, real values or sets.
    labels : array (n,) or LabelCounts
        ... With several raters the seed draws one label per instance.
    groups : mapping of str to array (n,), data frame, or array (n,)
        Attributes of the instances, such as age, sex and site. Default: the groups of the rows.
    depth : int
        Maximum number of attributes that define a group: 2 looks at all rows together, at every level of
        every attribute and at every pair of levels of different attributes.
    n_quantiles : int
        Number of parts that numeric attributes are split into, with equally many rows in each; whole numbers
        with up to ten values are not split.
    min_size : int
        Levels with fewer rows are merged; groups with fewer rows are skipped.
    measures : sequence of {"confidence", "classes", "rank", "coverage"}, optional
        What is counted. For classes: right answers against the confidence, and every class against its
        probability (default: both; only the confidence if there are more than 20 classes; for two classes
        only the event, that is the second class, because both measures are about it). For real values:
        the mean of F(y) against 1/2, and the share of labels in the central 90 % interval (default: both).
    hypothesis : {"mean", "set"}, optional
        For sets: whether to test the mean prediction, or to allow any distribution in the set.
        Default: "set" for `Intervals` and `Belief`, "mean" for all others.
    clusters : array (n,) or "copies", optional
        ... Rows of one cluster may then depend on each other in any way, and replicates preserve that
        dependence (wild cluster bootstrap). Data read by `load` bring their own. "copies": rows with the same
        predictions and label form one cluster.
    blocks : int, optional
        ...
    level : float
        Level of the verdicts; all intervals hold simultaneously with probability 1 - level.
    n_resamples : int
        ... Fewer than can show a conflict are raised, and a note says so.
    rng : None, int or Generator
        ...
    progress : callable or True, optional
        ...

    Returns
    -------
    AuditResult
        Family-wise p-value; ``.findings`` lists groups that are off and that no other listed group explains,
        ``.groups`` all of them with effects, simultaneous intervals and smallest detectable effects.

    Notes
    -----
    Adjusted p-values are exact under label resampling, for 4 groups and for 5000. With clusters they come
    from a wild bootstrap, which is accurate from about 20 clusters per group on and never gives less than
    2^(1 - C) with C clusters. For sets, the adjustment over groups is exact for every truth in the sets; the
    adjustment over classes and bounds is Bonferroni's.

    Rows are read once for the observation and once, in memory, for all replicates. The main cost is drawing n
    labels per replicate; the number of groups hardly matters as long as there are few cells.

    Which groups are listed is decided greedily: first the clearest one, then those that are still off after
    its deviation has been removed from all groups that share rows with it. This only helps to read the
    result; it changes no p-value.

    References
    ----------
    Westfall and Young, *Resampling-based multiple testing*, 1993. Cameron, Gelbach and Miller,
    *Bootstrap-based improvements for inference with clustered errors*, 2008; Webb, *Reworking wild
    bootstrap-based inference for clustered errors*, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> site = rng.choice(["A", "B", "C", "D"], size=2000)
    >>> truth = np.where(site == "C", np.clip(p + 0.2, 0, 1), p)
    >>> labels = (rng.random(2000) < truth).astype(int)
    >>> found = cr.audit(np.stack([1 - p, p], axis=1), labels, groups={"site": site}, rng=0)
    >>> [one.group for one in found.findings], found.pvalue
    (['site C'], 0.001)
    """
    require_level(level)
    require_resamples(n_resamples)
    require_integer(depth, "depth", 1)
    require_integer(n_quantiles, "n_quantiles", 2)
    require_integer(min_size, "min_size", 1)
    report = as_progress(progress)
    seed = as_seed(rng)
    rows = detached(as_rows(predictions, labels, clusters=clusters, blocks=blocks))
    rows, rater_notes = one_rater(rows, seed)
    require_single(rows.example, "`audit`")
    predictions = rows.example.predictions
    as_sets, together = _tests_sets(predictions, hypothesis), rows.clusters
    if as_sets and together is not None:
        raise UnsupportedError(
            "`clusters` with sets",
            "need the joint distribution of a whole cluster, which sets for single labels do not give",
            'got hypothesis="set"',
            'Use hypothesis="mean", or one row per cluster.',
        )
    table, notes_on_levels = _attributes(rows, groups)
    lattice = lattice_of(table, rows.n, depth=depth, n_quantiles=n_quantiles, min_size=min_size)
    counted, left_out = _measures(predictions, measures, as_sets)
    needed = fewest_resamples(level / (len(counted) if as_sets else 1), sides=1)
    if n_resamples < needed:
        left_out += (replicates_note(needed, n_resamples),)
        n_resamples = needed
    scoring = Scoring(counted, lattice.n_cells, seed, as_sets)
    if together is None:
        source = drawn_sums(rows, lattice, scoring, report)
    else:
        source = wild_sums(rows, lattice, scoring, together, report)
    tested = adjusted_pvalues(source, n_resamples, level, separate=as_sets)
    names = rows.example.classes
    audited = _groups(source, tested, lattice, counted, names, level)
    fixed = [counted[at].named() for at, variance in enumerate(source.variance) if not variance.any()]
    left_out += tuple(f"{name} was skipped: the predictions leave no room for chance" for name in fixed)
    notes = [*predictions.notes, *rater_notes, *notes_on_levels, *lattice.notes, *left_out, *source.notes]
    return AuditResult(
        hypothesis=IN_SETS if as_sets else HYPOTHESIS if together is None else CLUSTERED,
        pvalue=tested.pvalue,
        pvalue_interval=tested.interval,
        level=float(level),
        groups=audited,
        n=rows.n,
        n_groups=len(lattice.conditions),
        n_cells=lattice.n_cells,
        attributes=lattice.attributes,
        measures=tuple(measure.named(names) for measure in counted),
        n_clusters=source.n_clusters,
        n_resamples=int(n_resamples),
        smallest_pvalue=max(source.smallest_pvalue, tested.multiplicity / (1 + n_resamples)),
        settings={
            "depth": depth,
            "n_quantiles": n_quantiles,
            "min_size": min_size,
            "hypothesis": "set" if as_sets else "mean",
            "level": level,
            "seed": list(seed),
        },
        notes=tuple(dict.fromkeys(notes)),
    )


# What was given


def _tests_sets(predictions: Predictions, hypothesis: str | None) -> bool:
    if hypothesis is None:
        return isinstance(predictions, (Intervals, Belief))
    one_of("`hypothesis`", hypothesis, ("mean", "set"))
    if hypothesis == "set" and not isinstance(predictions, (Ensemble, Intervals, Belief)):
        raise UnsupportedError(
            'hypothesis="set"',
            "needs predictions that are sets: Ensemble, Intervals or Belief",
            f"got {type(predictions).__name__}",
            'Use hypothesis="mean".',
        )
    return hypothesis == "set"


def _attributes(rows: Rows, groups: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the attributes of all rows in memory, in the order of the rows."""
    whole = rows.loaded()
    if groups is not None:
        return aligned(groups, None if whole is None else whole.index, "groups")
    remedy = 'Pass `groups={"age": age, "sex": sex}`, or a data frame.'
    require(
        rows.example.groups is not None,
        "must be given unless the rows include them",
        Remedy(remedy, "Name columns: `--by age,sex`."),
        groups=groups,
    )
    if whole is not None:
        return whole.groups, ()
    return joined_groups(list(rows.map(attrgetter("groups")))), ()


def _measures(
    predictions: Predictions, names: Sequence[str] | None, as_sets: bool
) -> tuple[tuple[AuditMeasure, ...], tuple[str, ...]]:
    """Return what is counted, and notes about it."""
    remedy = "Pass a list, even for a single measure."
    require_type(not isinstance(names, str), "must be a sequence", remedy, measures=names)
    real = isinstance(predictions, RealPredictions)
    kinds = ("rank", "coverage") if real else ("confidence", "classes")
    chosen, notes = kinds if names is None else tuple(names), []
    for name in chosen:
        one_of(f"a measure of {'real values' if real else 'classes'}", name, kinds)
    if "coverage" in chosen and central_levels(predictions) is None:
        chosen = tuple(name for name in chosen if name != "coverage")
        notes.append("coverage was left out: no two levels are l and 1 - l")
    k = predictions.n_classes if isinstance(predictions, ClassPredictions) else 0
    if names is None and k > (MOST_CLASSES // 2 if as_sets else MOST_CLASSES):
        chosen = ("confidence",)
        notes.append(
            f"classes were not counted one by one, because there are {k}; request it with `measures`"
        )
    if names is None and k == 2:  # the confidence is about the event too
        chosen = ("confidence",) if isinstance(predictions, Confidence) else ("classes",)
    measures: list[AuditMeasure] = []
    for name in chosen:
        if name == "classes":  # of two the second tells all about the first
            measures += [AuditMeasure("class", label) for label in (range(k) if k > 2 else (1,))]
        else:
            measures.append(AuditMeasure(name))
    if as_sets:
        sides: tuple[Literal["upper", "lower"], ...] = ("upper", "lower")
        measures = [dataclasses.replace(measure, bound=side) for measure in measures for side in sides]
    require(measures, "must name at least one that applies", "Leave it out.", measures=names)
    return tuple(dict.fromkeys(measures)), tuple(notes)


# From numbers to groups


def _groups(
    source: GroupSums,
    tested: Adjusted,
    lattice: Lattice,
    measures: Sequence[AuditMeasure],
    classes: Sequence[str] | None,
    level: float,
) -> tuple[AuditGroup, ...]:
    """Return all groups and measures, the clearest first."""
    size = lattice.sizes
    effect = source.residual / size
    observed = source.score / size
    if np.isfinite(tested.critical):
        sides = tested.critical * np.array([-1.0, 1.0, -1.0, 1.0])[:, None, None]
        shapes = np.stack([source.shape, source.shape, source.skewness, source.skewness])
        *ends, below, above = standardised(sides, shapes)
        low, high = (effect - source.spread * end for end in reversed(ends))
        if source.effects is not None:
            low, high = source.effects(tested.critical)
        deviation = np.where(np.isfinite(source.spread), np.sqrt(source.variance) / size, np.inf)
        detectable = np.minimum(1.0, (np.maximum(-below, above) + _POWER_SCORE) * deviation)
        detectable = np.where(source.variance > 0, detectable, 1.0)
    else:
        low, high = np.full(effect.shape, -1.0), np.full(effect.shape, 1.0)
        detectable = np.ones(effect.shape)
    # of a lower bound it is counted that the event did not happen
    mirrored = np.array([measure.bound == "lower" for measure in measures])[:, None]
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    observed, effect = np.where(mirrored, 1.0 - observed, observed), np.where(mirrored, -effect, effect)
    explained = explained_groups(source, tested, lattice, level)
    numbers = {
        "observed": observed,
        "expected": observed - effect,
        "effect": effect,
        "low": np.clip(low, -1.0, 1.0),
        "high": np.clip(high, -1.0, 1.0),
        "pvalue": tested.alone,
        "adjusted_pvalue": tested.adjusted,
        "detectable": detectable,
    }
    columns = {name: values.ravel().tolist() for name, values in numbers.items()}
    names, sizes, clusters = lattice.names, size.tolist(), source.clusters_of_groups
    audited = []
    for place in np.lexsort((-tested.score.ravel(), tested.adjusted.ravel())).tolist():
        m, g = divmod(place, len(names))
        measured = {name: column[place] for name, column in columns.items()}
        word: Word = "cannot tell" if measured["detectable"] > WIDE else "no conflict found"
        if measured["adjusted_pvalue"] <= level:
            word = "conflict"
        audited.append(
            AuditGroup(
                group=names[g],
                conditions=lattice.conditions[g],
                n=sizes[g],
                measure=measures[m].named(classes),
                bound=measures[m].bound,
                explained_by=explained.get((m, g)),
                verdict=word,
                n_clusters=None if clusters is None else int(clusters[g]),
                **measured,
            )
        )
    return tuple(audited)
