"""Sets of classes and intervals with a claimed coverage: what they hold on average, and in parts.

    h_i = 1[y_i in C_i],   H0: P(h_i = 1 | size, group, features) = claimed

    marginal   exact binomial
    strata     chi-square over sizes, or groups
    features   sum_i g(x_i) (h_i - claimed), g a ridge regression of h - claimed on features and squares,
               learned on the other folds; replicates learn again

Under H0 the h_i are independent coins whatever the sets are, so replicates are coins too, all of them at
once, and every p-value is exact. Of rows in clusters, h_i - claimed changes its sign cluster by cluster, and
folds keep clusters whole.   Romano, Sesia and Candes 2020;
Angelopoulos and Bates 2021 (size-stratified coverage).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.binomial import accepted_shares, binomial_pvalue
from credibly._arrays.checks import as_real, require_finite
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, require, require_positive
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly._arrays.notes import counted
from credibly._arrays.philox import Seed, Stream, Uniforms, as_seed, takes_rng
from credibly._arrays.standard_errors import ONE_INSTANCE, mean_error
from credibly.hypotests.calibration.lattice import crossed_levels, joined_groups
from credibly.hypotests.resampling.choices import Drawn
from credibly.hypotests.resampling.loop import label_tiles
from credibly.hypotests.resampling.pvalues import pooled_pvalues, require_resamples, result_of, westfall_young
from credibly.hypotests.resampling.wild import sign_tiles
from credibly.predictions import (
    Classes,
    Dataset,
    PredictionIntervals,
    Predictions,
    PredictionSets,
    RealPredictions,
    Reals,
    Rows,
    Samples,
    as_rows,
)
from credibly.predictions.clusters import Clusters, as_names
from credibly.predictions.given import require_unweighted
from credibly.predictions.prediction_sets import require_claimed
from credibly.results.base import Tail
from credibly.results.coverage import SetCoverage, Strata
from credibly.results.estimates import Estimate
from credibly.results.tests import HypotestResult
from credibly.statistics.batches import widening
from credibly.statistics.events import Events
from credibly.statistics.protocol import State
from credibly.statistics.regression import central_interval

_RANGES = {"set_coverage": (0.0, 1.0), "coverage_by_size": (0.0, np.inf), "coverage_by_group": (0.0, np.inf)}
_MANY_DRAWS = 500
"""From here on, intervals between draws hold at most 0.2 points less than they claim."""
_SIZES = 3
"""Equally filled parts that widths of intervals are cut into, as MAPIE does."""
_FOLDS = 5
_PENALTY = 1.0

Search = Callable[[HostArray], HostArray]
"""From coins (b, n), which labels are held, to numbers (b,) that are large where it goes wrong."""

CLAIM = "every set contains its label with the claimed probability, whatever its size, group and features"


@takes_rng
def set_coverage(
    sets: Any,
    labels: Any = None,
    *,
    claimed: float | None = None,
    groups: Any = None,
    features: Any = None,
    n_resamples: int = 999,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
) -> SetCoverage:
    """Test whether prediction sets or intervals contain the share of labels that they claim.

    Parameters
    ----------
    sets : PredictionSets, PredictionIntervals, Gaussian, Samples, Quantiles or Rows
        Sets of classes, or intervals of a real value; for distributions, the central intervals. What `load`
        or `scan` returned, or a path, brings its own labels, groups and features.
    labels : array (n,)
        Observed classes from 0 to k - 1, or real numbers.
    claimed : float, optional
        For distributions: the share of labels that the central intervals should contain.
    groups : array (n,) or mapping of str to array (n,), optional
        Groups to compare; with several attributes, their combinations.
    features : array (n, f), optional
        Numeric features that might show where labels are missed.
    n_resamples : int
        Replicates behind the p-values of strata and features.
    clusters : array (n,), optional
        Ids of clusters of dependent rows (a patient, a day). Replicates then change the signs of whole
        clusters, which is approximate, and folds of features keep clusters whole.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    SetCoverage
        Coverage with an exact binomial p-value (for clusters, one by signs), sizes, and coverage by size,
        group and features.

    Notes
    -----
    The sets must not depend on these labels. Sets that contain more labels than they claim are also a
    conflict. The exact p-value is twice the smaller tail, the one that belongs to Clopper and Pearson's
    interval; `scipy.stats.binomtest` adds up all counts that are at most as probable, so its p-value differs
    a little. Intervals between few draws contain fewer labels than they claim even if the draws are right
    (86 % instead of 90 % with 20 draws), and those of counts contain more, because their ends belong to them;
    a note says so, and `coverage_curve` allows for that.

    References
    ----------
    Romano, Sesia and Candès, *Classification with valid and adaptive coverage*, NeurIPS 2020; Angelopoulos
    and Bates, *A gentle introduction to conformal prediction*, 2021.

    Examples
    --------
    >>> import credibly as cr
    >>> sets = cr.PredictionSets([[True, False], [True, True], [True, True], [False, True]], claimed=0.9)
    >>> found = cr.hypotests.set_coverage(sets, [0, 1, 0, 0], n_resamples=99, rng=0)
    >>> found.coverage.value, found.size.value
    (0.75, 1.5)
    """
    require_resamples(n_resamples)
    if is_array(sets) or isinstance(sets, (tuple, list)):
        raise _states_no_claim(sets)
    rows = as_rows(sets, labels, groups=groups, features=features, clusters=clusters, blocks=blocks)
    return coverage_of(rows, as_seed(rng), n_resamples, claimed=claimed)


def coverage_of(rows: Rows, seed: Seed, n_resamples: int, *, claimed: float | None = None) -> SetCoverage:
    """Return what the sets of rows hold; without replicates no p-value but the exact one."""
    clusters, codes = rows.clusters, rows.cluster_codes()
    some = rows.example.predictions
    claimed = _claim(some, claimed)
    parts = list(rows.map(partial(_facts, claimed)))
    covered, size, score, outside, ends, groups, features = (
        joined_groups([getattr(part, field.name) for part in parts]) for field in dataclasses.fields(_Facts)
    )
    n = covered.size
    real = score is not None
    strata = {"size": _width_parts(size) if real else _numbered(size.astype(np.int64))}
    names_of_groups = _one_group(groups, n)
    if names_of_groups is not None:
        strata["group"] = np.unique(names_of_groups, return_inverse=True)
    hits = Events(np.full(n, claimed), event=np.ones(n, dtype=np.uint8))
    split = {by: hits.split(place, names.size) for by, (names, place) in strata.items()}
    # one part alone is the average
    compared = {f"coverage_by_{by}": hit for by, hit in split.items() if hit.n_parts > 1}
    searches: dict[str, Search] = {}
    if features is not None:
        table, folds = _standardised(features, n), _folds_of(n, seed, codes)
        searches["coverage_by_features"] = partial(_foretold, table, folds, claimed)
    values = _values({"set_coverage": hits} | compared, searches, covered, n_resamples, seed, codes)
    tests = _tests(values, covered, claimed, seed, clusters) if n_resamples else {}
    pvalue = {name: test.pvalue for name, test in tests.items()}
    exact = binomial_pvalue(int(covered.sum()), n, claimed)
    by = {
        name: _strata(name, strata[name][0], hits_of_parts, covered, pvalue.get(f"coverage_by_{name}"))
        for name, hits_of_parts in split.items()
    }
    return SetCoverage(
        kind="intervals" if real else "sets",
        claimed=claimed,
        coverage=_mean("set_coverage", covered.astype(np.float64), "wilson", codes),
        pvalue=exact if codes is None else pvalue.get("set_coverage"),
        size=_mean("interval_width" if real else "set_size", size, "normal", codes),
        score=_mean("interval_score", score, "normal", codes) if score is not None else None,
        empty=float((size == 0).mean()),
        widen=None if outside is None else _widen(outside, claimed),
        by_size=by["size"],
        by_group=by.get("group"),
        features_pvalue=pvalue.get("coverage_by_features"),
        tests=tests,
        n=n,
        n_resamples=int(n_resamples),
        notes=(
            *some.notes,
            *(_notes_of_steps(ends) or _notes_of_draws(some, claimed)),
            *(() if clusters is None else clusters.notes),
        ),
    )


def _widen(outside: HostArray, claimed: float) -> float:
    """Return the conformal quantile of the distances; moved out by it, intervals reach the claim."""
    rank = math.ceil((outside.size + 1) * claimed - 1e-9)
    return float(np.sort(outside)[rank - 1]) if rank <= outside.size else float("inf")


def _notes_of_steps(ends: HostArray | None) -> tuple[str, ...]:
    """Say what intervals between quantiles of counts hold: an end with a probability of its own is inside."""
    number = 0 if ends is None else int(ends.sum())
    if ends is None or number <= math.sqrt(ends.size) / 10.0:
        return ()
    note = (
        f"in {counted(number, 'instance')} the label equals an end of its interval; intervals of counts, "
        "rain and the like contain more labels than they claim even if the distributions are right, so this "
        "test rejects right ones too often; `coverage_curve` and a test of `picp` allow for that"
    )
    return (note,)


def _notes_of_draws(predictions: Predictions, claimed: float) -> tuple[str, ...]:
    """Say what intervals between few draws hold if a label is one more draw: r of s + 1 gaps."""
    if not isinstance(predictions, Samples) or predictions.n_draws >= _MANY_DRAWS:
        return ()
    s = predictions.n_draws
    low, high = (math.ceil(s * (1.0 + sign * claimed) / 2.0 - 1e-9) for sign in (-1, 1))
    usual = (high - max(low, 1)) / (s + 1)
    note = (
        f"intervals between {s} draws contain {100 * usual:.3g} % of the labels, not {100 * claimed:.4g} %, "
        "even if the draws are right, and narrow ones fewer than wide ones, so this test rejects right draws "
        "too often; `coverage_curve` and a test of `picp` allow for that"
    )
    return (note,)


def _claim(predictions: Predictions, claimed: float | None) -> float:
    """Return the coverage that predictions claim, or that is asked of distributions."""
    if isinstance(predictions, (PredictionSets, PredictionIntervals)):
        if claimed is not None and claimed != predictions.claimed:
            raise InputError(
                "`claimed`",
                "must be left out if the sets claim a coverage themselves",
                f"got {claimed!r} beside {predictions.claimed:g}",
                "Leave it out, or make the sets with the other claim.",
            )
        return predictions.claimed
    if isinstance(predictions, RealPredictions):
        return require_claimed(claimed)
    raise _states_no_claim(predictions)


def _states_no_claim(predictions: Any) -> InputTypeError:
    return InputTypeError(
        "`sets`",
        "must be sets or intervals with a claimed coverage, or distributions of a real value",
        f"got {type(predictions).__name__}",
        "Wrap them: `PredictionSets(probs >= threshold, claimed=0.9)` or "
        "`predictions.PredictionIntervals(lower, upper, claimed=0.9)`.",
        argument="sets",
    )


@dataclasses.dataclass(frozen=True)
class _Facts:
    """Facts about some rows: which labels are covered, sizes, interval scores or None, groups and features.

    `outside` is how far labels lie outside their intervals, negative inside.
    `ends` says which labels equal an end of the central interval of a distribution.
    """

    covered: HostArray
    size: HostArray
    score: HostArray | None
    outside: HostArray | None
    ends: HostArray | None
    groups: Any
    features: HostArray | None


def _facts(claimed: float, rows: Dataset) -> _Facts:
    predictions, batch = rows.predictions, rows.batch
    features = rows.features
    arguments = (rows.groups, to_host(features) if is_array(features) else features)
    require_unweighted(batch, "`set_coverage`")
    central = isinstance(predictions, RealPredictions)
    if isinstance(predictions, RealPredictions):
        predictions = PredictionIntervals(*central_interval(predictions, claimed), claimed)
    if isinstance(predictions, PredictionIntervals) and isinstance(batch, Reals):
        beyond, values = to_host(predictions.beyond(batch))[0], to_host(batch.values)[0]
        low, high = to_host(predictions.lower), to_host(predictions.upper)
        ends = (values == low) | (values == high) if central else None
        size, outside = to_host(predictions.sizes()), np.maximum(low - values, values - high)
        return _Facts(beyond == 0, size, size + 2.0 / (1.0 - claimed) * beyond, outside, ends, *arguments)
    if isinstance(predictions, PredictionSets) and isinstance(batch, Classes):
        covered, sizes = to_host(predictions.covers(batch))[0], to_host(predictions.sizes())
        return _Facts(covered, sizes, None, None, None, *arguments)
    raise UnsupportedError(
        "`set_coverage`",
        "takes one label per instance",
        f"got {type(batch).__name__.lower()} beside {type(predictions).__name__}",
        "Draw or choose one label per instance first.",
        argument="labels",
    )


def _one_group(groups: Any, n: int) -> HostArray | None:
    """Return one group per row as text; several attributes are crossed."""
    if groups is None:
        return None
    names = crossed_levels(groups, n) if isinstance(groups, Mapping) else as_names(groups, "groups")
    require(names.shape == (n,), f"must have {n} entries", "Give one per set.", groups=names)
    return names.astype(str)


def _mean(name: str, values: HostArray, method: Any, codes: HostArray | None) -> Estimate:
    n = values.size
    if not np.isfinite(values).all():
        refusal = f"{int(np.isinf(values).sum())} of {n} are infinite"
        return Estimate(name, float("inf"), None, n, {}, (), refusal, method)
    if codes is not None:
        return Estimate(name, float(values.mean()), n=n, **mean_error(values, codes, size=0.0))
    if n < 2:
        return Estimate(name, float(values.mean()), None, n, {}, (), ONE_INSTANCE, method)
    stderr = float(values.std(ddof=1) / np.sqrt(n))
    return Estimate(name, float(values.mean()), stderr, n, interval_method=method)


def _numbered(sizes: HostArray) -> tuple[HostArray, HostArray]:
    """Return the sizes that occur, in order, and which of them every set has."""
    present = np.bincount(sizes) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[sizes]


def _width_parts(width: HostArray) -> tuple[HostArray, HostArray]:
    """Cut widths into equally filled parts; widths that differ by rounding alone stay together."""
    finite = np.isfinite(width)
    largest = float(width[finite].max()) if finite.any() else 1.0
    unit = largest if largest > 0 else 1.0
    cut = np.where(finite, np.round(width / unit, 9), 2.0)  # infinite ones are the widest
    # the first parts are larger by one if n is no multiple, as with MAPIE
    last = [part[-1] for part in np.array_split(np.sort(cut), _SIZES)[:-1] if part.size]
    kept, place = np.unique(np.searchsorted(np.unique(last), cut, side="left"), return_inverse=True)
    ends = [(f"{width[place == at].min():.4g}", f"{width[place == at].max():.4g}") for at in range(kept.size)]
    return np.asarray([low if low == high else f"{low} to {high}" for low, high in ends]), place


def _values(
    sums: dict[str, Events],
    searches: dict[str, Search],
    covered: HostArray,
    n_resamples: int,
    seed: Seed,
    codes: HostArray | None,
) -> dict[str, HostArray]:
    """Return every measure of the observation, then of coins, (1 + b,): all coins in tiles.

    Rows in clusters keep their dependence: what they hold beyond the claim changes its sign by cluster, and
    varies at least as much as coins would in every part.
    """
    claimed = float(sums["set_coverage"].chance[0])
    away = covered - claimed
    measured: dict[str, list[HostArray]] = {name: [] for name in (*sums, *searches)}
    observed = _labels(covered[None, :])

    def see(labels: Classes) -> None:
        for name, terms in sums.items():
            measured[name].append(_value(terms, terms.observed(labels)))
        for name, search in searches.items():
            measured[name].append(search(labels.values.astype(np.float64)))

    if codes is None:
        sums = {name: terms.for_replicates(observed, n_resamples) for name, terms in sums.items()}
        uniforms = Uniforms(seed, Stream.COINS)
        coins = Drawn(lambda reps: _labels(uniforms.below(claimed, reps, covered.size)))
        for _, batch in label_tiles(observed, coins, slice(0, n_resamples)):
            see(batch)
    else:
        see(observed)
        moved = {name: _by_cluster(terms, covered, codes) for name, terms in sums.items()}
        for _, factor in sign_tiles(seed, int(codes.max()) + 1, n_resamples, 32 * covered.size):
            for name, (beyond, wider) in moved.items():
                drawn = _fixed(sums[name])["expected"] + factor @ (beyond * wider)
                measured[name].append(_value(sums[name], drawn))
            for name, search in searches.items():
                measured[name].append(search(claimed + factor[:, codes] * (away * moved["set_coverage"][1])))
    return {name: np.concatenate(parts) for name, parts in measured.items()}


def _labels(coins: HostArray) -> Classes:
    """Return coins (b, n) as labels: 1 says that the label is held."""
    return Classes(coins.view(np.uint8), 2)


def _fixed(hits: Events) -> State:
    """Return size, expected count and its variance in every part, (1, parts)."""
    return hits.fixed(None, frozenset({"expected", "variance"}))


def _value(hits: Events, counts: HostArray) -> HostArray:
    """Return from counts (b, parts) their share or, of several parts, sum (count - expected)^2 / variance."""
    if hits.part is None:
        return counts[:, 0] / hits.n
    sums = _fixed(hits)
    distance: HostArray = ((counts - sums["expected"]) ** 2 / sums["variance"]).sum(axis=1)
    return distance


def _by_cluster(hits: Events, covered: HostArray, codes: HostArray) -> tuple[HostArray, HostArray]:
    """Return how many labels beyond the expected ones every cluster holds, (clusters, parts), and a factor.

    Where hardly a label of a few is missed, these numbers are small and alike: times the factor of their
    part, at least 1, they vary as much as coins would.
    """
    number, size = int(codes.max()) + 1, hits.n_parts
    part = codes if hits.part is None else codes * size + hits.part
    away = hits.beyond(_labels(covered[None, :]))
    beyond = hits.split(part, number * size).per_cell(away[None, ...]).reshape(number, size)
    return beyond, widening(_fixed(hits)["variance"][0], (beyond**2).sum(axis=0))


def _standardised(features: Any, n: int) -> HostArray:
    """Return features (n, f) with mean 0 and spread 1; a constant one stays 0."""
    table = to_host(as_real(features, "features")).astype(np.float64)
    table = table[:, None] if table.ndim == 1 else table
    rows_fit = table.ndim == 2 and table.shape[0] == n
    require(rows_fit, f"must be numbers ({n}, f)", "Give one row per set.", features=table)
    require_finite(table, "features")
    require_positive("the number of features", table.shape[1], "Give at least one column.")
    spread = table.std(axis=0)
    scaled: HostArray = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def _folds_of(n: int, seed: Seed, codes: HostArray | None = None) -> HostArray:
    """Return the fold of every row; rows of a cluster have the same one."""
    number = n if codes is None else int(codes.max()) + 1
    order = np.argsort(Uniforms(seed, Stream.FOLDS).draw(slice(0, 1), slice(0, number))[0])
    folds: HostArray = np.argsort(order) % min(_FOLDS, number)
    return folds if codes is None else folds[codes]


def _foretold(table: HostArray, folds: HostArray, claimed: float, every: HostArray) -> HostArray:
    """Return what ridge regressions on other folds foretell of the excess of coins (b, n)."""
    design = np.concatenate([np.ones((table.shape[0], 1)), table, table**2], axis=1)
    excess = every - claimed
    total: HostArray = np.zeros(every.shape[0])
    for fold in np.unique(folds):
        inside = folds == fold
        train = design[~inside]
        gram = train.T @ train + _PENALTY * np.eye(design.shape[1])
        slopes = np.linalg.solve(gram, train.T @ excess[:, ~inside].T)  # (f, b)
        total += np.sum((design[inside] @ slopes).T * excess[:, inside], axis=1)
    return total


def _tests(
    values: dict[str, HostArray], covered: HostArray, claimed: float, seed: Seed, clusters: Clusters | None
) -> dict[str, HypotestResult]:
    """Return the test of every measure; adjusted p-values hold for all of them together."""
    tails: tuple[Tail, ...] = tuple("two-sided" if name == "set_coverage" else "greater" for name in values)
    _, adjusted, _ = westfall_young(pooled_pvalues(np.stack(list(values.values())), tails))
    made = {}
    for (name, null), tail, together in zip(values.items(), tails, adjusted, strict=True):
        result = result_of(
            null,
            tail,
            _RANGES.get(name),
            name="set_coverage",
            hypothesis=CLAIM if clusters is None else f"{CLAIM}; clusters of rows are independent",
            statistic_name=name,
            n=covered.size,
            settings={"claimed": claimed, "seed": list(seed), "n_resamples": null.size - 1},
            n_clusters=None if clusters is None else clusters.number,
        )
        if name == "set_coverage":
            low, high = result.acceptance_region
            within = (max(0.0, low), min(1.0, high))
            result = dataclasses.replace(result, statistic_range=(0.0, 1.0), acceptance_region=within)
        if name == "set_coverage" and clusters is None:
            pvalue = binomial_pvalue(int(covered.sum()), covered.size, claimed)
            region = accepted_shares(covered.size, claimed)
            result = dataclasses.replace(
                result, pvalue=pvalue, pvalue_interval=None, acceptance_region=region
            )
        made[name] = dataclasses.replace(result, adjusted_pvalue=max(float(together), result.pvalue))
    return made


def _strata(by: str, names: HostArray, hits: Events, covered: HostArray, pvalue: float | None) -> Strata:
    sizes, counts = _fixed(hits)["size"][0], hits.observed(_labels(covered[None, :]))[0]
    return Strata(by, tuple(names.astype(str).tolist()), sizes.astype(np.int64), counts / sizes, pvalue)
