"""Is the spread of predicted distributions right? An exact test that needs two labels per instance.

If labels are drawn as stated, counts of an instance have law g(c) = E Mult(c; n, theta), theta ~ pi, and
replicates from it make any statistic of predictions and counts an exact test (Ahdritz et al. 2025 call the
hypothesis higher-order calibration).

    pair_gap            mean over instances of the pairs of `second_labels`
    spread_score        mean of the scores in the log of the spread
    third_moments       sum over classes of (sum_i (c_a)_3 / (n)_3 - E theta_a^3)^2 / variance, and so on
    local_spread_score  sum over l of (sum_i k(i, l) z_i)^2 - sum_i k(i, l)^2 z_i^2

z are scores in units of their standard deviation over the replicates and the observation, k a Gaussian kernel
on mean and standard deviation of the prediction, l some of the instances. Several statistics share their
replicates; the smallest of their ranks decides (Westfall and Young 1993).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import UnsupportedError, one_of, require
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.notes import counted
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly.hypotests.resampling.pvalues import omnibus, result_of, settled
from credibly.predictions import LabelCounts, SecondOrder, as_rows, require_independent
from credibly.raters.annotators import rater_test, two_way_pvalue
from credibly.raters.second_labels import LabelLaw, drawn_tiles, moment_gaps, pair_gaps, spread_scores
from credibly.results.base import Tail
from credibly.results.ignorance import SpreadDetails
from credibly.results.tests import HypotestResult, with_details

HYPOTHESIS = (
    "the labels of every instance were drawn from one distribution, which was drawn from the predicted law"
)
MEAN_HYPOTHESIS = "one label of every instance was drawn from its predicted mean"
TAILS: dict[str, Tail] = {
    "pair_gap": "two-sided",
    "spread_score": "two-sided",
    "local_spread_score": "greater",
    "mean_gap": "greater",
    "local_mean_gap": "greater",
    "second_moments": "greater",
    "third_moments": "greater",
    "fourth_moments": "greater",
}
STATISTICS = ("pair_gap", "spread_score", "local_spread_score")
LOCAL = {"local_spread_score": "spread_score", "local_mean_gap": "mean_gap"}
"""Statistics that add the same residuals over pairs of near instances."""
MOMENTS = {"second_moments": 2, "third_moments": 3, "fourth_moments": 4}
RATERS_DIFFER = (
    "raters differ (p = {:.3g}), so labels of different instances depend on each other; a conflict also "
    "requires the gap to be clear with standard errors over instances and raters"
)
_SEVERAL = "needs several labels per instance: with one label every spread around the mean is equally likely"
_ASK = "Ask for a second label of some instances, and pass `LabelCounts`."
_LANDMARKS = 50
_RATER_RESAMPLES = 199


@dataclasses.dataclass(frozen=True)
class Paired:
    """Predictions and counts of the instances with two labels or more."""

    law: LabelLaw
    counts: LabelCounts
    n_left_out: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, predictions: Any, counts: Any, what: str) -> Paired:
        """Check both, and leave out instances with one label."""
        rows = as_rows(predictions, counts)
        require_independent(rows, what)
        data = rows.loaded()
        if data is None:
            evidence = f"these are {rows.n} rows in chunks"
            raise UnsupportedError(what, "needs the rows in memory", evidence, "Load a few thousand of them.")
        second, seen = SecondOrder.of(data.predictions), data.observed
        if not isinstance(seen, LabelCounts):
            raise UnsupportedError(what, _SEVERAL, "got one label per instance", _ASK)
        tallies = to_host(seen.counts)
        if tallies.dtype.kind not in "iu":
            rule = "needs whole numbers of labels"
            raise UnsupportedError(what, rule, "got soft labels", "Pass counts of raters.")
        enough = tallies.sum(axis=1) > 1
        left = int((~enough).sum())
        if left == len(tallies):
            raise UnsupportedError(what, _SEVERAL, f"each of {counted(left, 'instance')} has one", _ASK)
        notes = (*data.predictions.notes, *seen.notes)
        if left:
            phrase = counted(left, "instance with one label is", "instances with one label are")
            notes = (*notes, f"{phrase} left out: one label says nothing about spread")
        kept = np.flatnonzero(enough)
        return cls(LabelLaw.of(second[kept]), seen[kept], left, notes)


@takes_rng
def spread_test(
    predictions: Any,
    counts: Any = None,
    *,
    statistics: Sequence[str] = ("spread_score", "local_spread_score"),
    n_resamples: int = 999,
    rng: Any = None,
) -> HypotestResult[SpreadDetails]:
    """Test whether predicted distributions of labels are spread around their mean as labels show.

    Parameters
    ----------
    predictions : Ensemble, Dirichlet or SecondOrder
        What is predicted about the distribution of labels of every instance; in a Dataset or as Rows too.
    counts : LabelCounts
        How many labels of each class every instance has. Instances with one label are left out.
    statistics : sequence of str
        Any of "spread_score" (too wide or too narrow on average), "local_spread_score" (wrong in a way that
        depends on the prediction), "pair_gap" (what pairs of labels show minus what is stated), and
        "second_moments", "third_moments" and "fourth_moments" (E theta_a^r of every class, on instances with
        r labels).
    n_resamples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    HypotestResult
        The smallest rank decides; `components` has each statistic, `details` the direction.

    Notes
    -----
    Exact for any number of instances and labels if the labels of an instance come from different raters of a
    large pool. If `counts` know who gave which label and raters differ, a conflict also requires the gap to
    be clear with standard errors over instances and raters. A mean that is off moves the score too; test the
    mean first (`ignorance` does both).

    References
    ----------
    Ahdritz et al., *Provable uncertainty decomposition via higher-order calibration*, ICLR 2025.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> belief = cr.Dirichlet(2 * rng.dirichlet(np.ones(3), size=400))
    >>> truth = cr.Dirichlet(8 * belief.mean().probs).sample(1, rng=1).probs[:, 0]
    >>> test = cr.raters.spread_test(
    ...     belief, cr.LabelCounts(rng.multinomial(2, truth)), n_resamples=199, rng=0
    ... )
    >>> test.verdict(), test.details.direction
    ('conflict', 'too wide')
    """
    chosen = checked_statistics(statistics)
    pair = Paired.of(predictions, counts, "`spread_test`")
    return tested_spread(pair, chosen, require_integer(n_resamples, "n_resamples", 1), as_seed(rng))


def checked_statistics(statistics: Sequence[str]) -> tuple[str, ...]:
    """Return names of statistics of the spread, once each."""
    several = isinstance(statistics, Sequence) and not isinstance(statistics, str) and len(statistics) > 0
    require(several, "must be a list of names", "Write ['spread_score'].", statistics=statistics)
    for name in statistics:
        one_of("`statistics`", name, (*STATISTICS, *MOMENTS))
    return tuple(dict.fromkeys(statistics))


def tested_spread(
    pair: Paired, statistics: Sequence[str], n_resamples: int, seed: Seed
) -> HypotestResult[SpreadDetails]:
    """Return the test of the spread, and of raters where they are known."""
    most = labels_per_row(pair.counts)[1]
    for name in statistics:
        if MOMENTS.get(name, 2) > most:
            rule, evidence = f"needs instances with {MOMENTS[name]} labels", f"none has more than {most}"
            raise UnsupportedError(f"{name!r}", rule, evidence, "Ask for further labels, or leave it out.")
    law, tallies = pair.law, to_host(pair.counts.counts)
    wanted = tuple(dict.fromkeys((*statistics, "spread_score")))  # which tells the direction
    values = _replicate_values(law, tallies, wanted, n_resamples, seed)
    direction = "too wide" if values["spread_score"][0] < 0 else "too narrow"
    result = _combined({name: values[name] for name in statistics}, "spread_test", HYPOTHESIS, pair, seed)
    parts = {name: part.deciding_pvalue for name, part in result.components.items()}
    is_local = bool(parts) and min(parts, key=lambda name: parts[name]) == "local_spread_score"
    # where errors go one way, the local score sees them too
    is_local = is_local and min(parts.get(name, 1.0) for name in STATISTICS[:2]) > 0.05
    details, notes = SpreadDetails(direction, is_local), result.notes
    if pair.counts.rater_of is not None:
        raters = rater_test(pair.counts, n_resamples=_RATER_RESAMPLES, rng=seed)
        crossed = None
        if raters.rejects():
            crossed = two_way_pvalue(pair.counts, law.mean, law.variance)
            notes = (*notes, RATERS_DIFFER.format(raters.pvalue))
        details = dataclasses.replace(details, rater_pvalue=raters.pvalue, crossed_pvalue=crossed)
    return with_details(result, details, notes=notes)


def tested_mean(pair: Paired, n_resamples: int, seed: Seed) -> HypotestResult[Any]:
    """Return the test of the mean on one label per instance, which is exact whatever the spread."""
    single = to_host(pair.counts.subsample(1, rng=seed).counts)
    names = ("mean_gap", "local_mean_gap")
    values = _replicate_values(pair.law.of_means(), single, names, n_resamples, seed, near=pair.law)
    return _combined(values, "mean_test", MEAN_HYPOTHESIS, pair, seed)


def _combined(
    values: dict[str, HostArray], test: str, hypothesis: str, pair: Paired, seed: Seed
) -> HypotestResult[Any]:
    n = len(pair.counts)
    settings = {"seed": list(seed), "statistics": list(values), "labels": labels_per_row(pair.counts)}
    settled_values = {name: settled(row, float(np.std(row)), n) for name, row in values.items()}
    shared: dict[str, Any] = {"hypothesis": hypothesis, "n": n, "settings": settings, "notes": pair.notes}
    results = [
        result_of(row, TAILS[name], None, name=test, statistic_name=name, **shared)
        for name, row in settled_values.items()
    ]
    if len(results) == 1:
        return results[0]
    result = omnibus(results, np.stack(list(settled_values.values())), settings)
    return dataclasses.replace(result, name=test)


def labels_per_row(counts: LabelCounts) -> tuple[int, int]:
    """Return the smallest and the largest number of labels."""
    totals = to_host(counts.totals)
    return int(totals.min()), int(totals.max())


def _replicate_values(
    law: LabelLaw,
    counts: HostArray,
    statistics: Sequence[str],
    n_resamples: int,
    seed: Seed,
    *,
    near: LabelLaw | None = None,
) -> dict[str, HostArray]:
    """Return every statistic of the observed counts and of the replicates, (1 + b,)."""
    weights = _nearness(near or law, seed)
    of_all: dict[str, Any] = dict.fromkeys(statistics, 0.0)
    squares: dict[str, Any] = dict.fromkeys(statistics, 0.0)
    for rows, part, drawn in drawn_tiles(law, counts, n_resamples, seed):
        made: dict[str, HostArray] = {}
        for name in statistics:
            plain = LOCAL.get(name, name)
            if plain not in made:
                made[plain] = _residuals(plain, part, drawn)
            terms = made[plain]  # (rows, 1 + b, c)
            if name not in LOCAL:
                of_all[name] = of_all[name] + terms.sum(axis=0)
                continue
            spread = terms.std(axis=1, keepdims=True)
            terms = np.divide(terms, spread, out=np.zeros_like(terms), where=spread > 1e-12)
            of_all[name] = of_all[name] + np.tensordot(weights[rows], terms, axes=(0, 0))
            squares[name] = squares[name] + np.tensordot(
                (weights[rows] ** 2).sum(axis=1), terms**2, axes=(0, 0)
            )
    n = len(counts)
    values = {}
    for name in statistics:
        sums = of_all[name]
        if name in MOMENTS:
            spread = sums.std(axis=0)
            values[name] = ((sums[:, spread > 0] / spread[spread > 0]) ** 2).sum(axis=-1)
        elif name in LOCAL:
            values[name] = ((sums**2).sum(axis=0) - squares[name]).sum(axis=-1) / n
        else:
            values[name] = (sums**2).sum(axis=-1) / n if name == "mean_gap" else sums[:, 0] / n
    return values


def _residuals(name: str, law: LabelLaw, drawn: HostArray) -> HostArray:
    if name == "mean_gap":
        return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True) - law.mean[:, None, :])
    if name in MOMENTS:
        return moment_gaps(law, drawn, MOMENTS[name])
    made = pair_gaps if name == "pair_gap" else spread_scores
    return made(law, drawn)[..., None]


def _nearness(law: LabelLaw, seed: Seed) -> HostArray:
    """Return a Gaussian kernel between all instances and some of them, (n, l)."""
    features = np.concatenate([law.mean, np.sqrt(law.variance)], axis=1)
    n = len(features)
    some = features[np.sort(np.random.default_rng(seed).permutation(n)[:_LANDMARKS])]
    squares = (features**2).sum(axis=1)[:, None] + (some**2).sum(axis=1) - 2.0 * features @ some.T
    squares = np.maximum(squares, 0.0)
    apart = squares[squares > 1e-12]
    # half the median distance, and half of that: products of two kernels are wider than one
    return np.asarray(np.exp(-4.0 * squares / (np.median(apart) if apart.size else 1.0)))
