"""Are labels where the predicted distributions say, over all levels at once?

Under a calibrated prediction with known members F(y) is uniform. Where one member, drawn once, generated all
labels it is not: labels share that member, and the curve wanders. So the envelope is simulated under the
hypothesis and never taken from uniform numbers.   P21; Saeilynoja, Buerkner and Vehtari 2022.

The envelope holds at all levels at once. At every level the curves of the observation and the replicates are
ranked together. A curve is as extreme as its most extreme level, and of curves that tie there the next most
extreme level decides, and so on: with many levels nearly every curve is the most extreme one somewhere, and
the first rank alone would not tell a curve that is extreme everywhere from one that is so by chance. The
share of curves at least as extreme is an exact p-value, and the envelope holds all curves that are not among
the rejected. Myllymaeki et al. 2017 (extreme rank length); Saeilynoja, Buerkner and Vehtari 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputTypeError, UnsupportedError, one_of, require_type
from credibly._arrays.namespace import Array, HostArray, to_host
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.hypotests.predictive.outcomes import require_hypothesis
from credibly.hypotests.resampling.choices import drawing_notes, require_cells
from credibly.hypotests.resampling.loop import Target
from credibly.hypotests.resampling.pvalues import (
    CLUSTERED,
    HYPOTHESIS,
    acceptance_region,
    monte_carlo_pvalue,
    pooled_pvalues,
    require_resamples,
)
from credibly.hypotests.resampling.replicates import Hypothesis, LabelSource
from credibly.hypotests.resampling.requests import Asking, Request, answered
from credibly.hypotests.resampling.wild import Signs
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Predictions,
    RealPredictions,
    Reals,
    Rows,
    Samples,
    as_rows,
)
from credibly.predictions.passes import detached
from credibly.predictions.prediction_sets import remedy_without_probs
from credibly.results.base import require_level
from credibly.results.curves import EnvelopeCurve
from credibly.results.tests import smallest_pvalue
from credibly.statistics import quantile_calibration_error
from credibly.statistics.coverage import central_coverage, ordered_steps
from credibly.statistics.linear import Linear
from credibly.statistics.protocol import Bound, State

_POINT = 0.01
"""Smallest distance from its level at which the share expected of right predictions is reported."""


def envelope(curves: HostArray, level: float) -> tuple[float, HostArray, HostArray]:
    """Return the p-value of the first curve and the lower and upper ends of the envelope.

    Parameters
    ----------
    curves : ndarray (1 + b, l)
        Row 0 is the observation, the others are replicates.
    level : float
        Probability of a replicate among the rejected, at most.

    Returns
    -------
    tuple
        p-value, lower ends (l,), upper ends (l,). A curve that leaves the envelope has a p-value of at most
        `level`; the other way round holds but for ties, where a rejected curve may only touch it.
    """
    pvalues = curve_pvalues(curves)
    kept = curves[pvalues > level]
    return float(pvalues[0]), kept.min(axis=0), kept.max(axis=0)


def curve_pvalues(curves: HostArray) -> HostArray:
    """Return the p-value that every curve would have among all of them, (1 + b,); the largest is 1."""
    pooled = pooled_pvalues(curves.T)
    # whole numbers: equal ranks must compare as equal
    ranks = np.sort(np.rint(pooled * curves.shape[0]).astype(np.int64), axis=0)
    order = np.lexsort(ranks[::-1])  # the last key is the first to decide
    ordered = ranks[:, order]
    last_of_tie = np.append((ordered[:, 1:] != ordered[:, :-1]).any(axis=0), True)
    ends = np.flatnonzero(last_of_tie) + 1
    place = np.searchsorted(ends, np.arange(1, order.size + 1))
    pvalues = np.empty(order.size)
    pvalues[order] = ends[place] / order.size
    return pvalues


SHARED_MEMBER = "one member, drawn once, generated the labels of all instances"


@takes_rng
def pit_test(
    predictions: Any,
    labels: Any = None,
    *,
    levels: int | tuple[float, ...] = 100,
    hypothesis: Hypothesis = "independent",
    level: float = 0.05,
    n_resamples: int = 999,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> EnvelopeCurve:
    """Test the distribution of F(y), the probability integral transform, at all levels at once.

    Parameters
    ----------
    predictions : Gaussian, Samples, Quantiles, class predictions or Rows
        Members are represented by their mixture. Classes are taken in their order: grades, or counts from 0.
    labels : array (n,)
        ...
    levels : int or tuple of float
        M for the levels j / M, or the levels themselves; ignored for `Quantiles`, which have their own.
    hypothesis : {"independent", "bayesian"}
        Whether labels are drawn from the mixture, or all labels of a replicate from one randomly drawn
        member.
    level : float
        Level of the test; 1 minus the coverage of the envelope.
    n_resamples : int
        ...
    clusters : array (n,) or "copies", optional
        ... Replicates then preserve their dependence.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...
    progress : callable or True, optional
        ...

    Returns
    -------
    EnvelopeCurve
        Shares of labels below quantiles, simultaneous envelope and exact p-value. The difference-ECDF is its
        `difference`.

    Notes
    -----
    For `Samples`, every label is exchanged with one of its draws, so the p-value is exact for any number of
    draws. For `Quantiles`, the cell of a label is drawn; with one level this is a binomial test. For several
    members with several draws each, "bayesian" tests every member and returns the one that fits best.
    Labels are not randomised between draws that repeat, as draws of counts do: a label that equals a quantile
    counts as below it, so the curves of label and replicates all lie above the levels. So
    compare the curve with its envelope or with ``expected``, not with the levels.

    For ordered classes, F(y) has steps. Every label is spread evenly over its step, which is the mean over
    all randomised transforms (`pit`), and labels drawn from the predictions give the envelope: exact for any
    number of classes.

    References
    ----------
    Myllymäki et al., *Global envelope tests for spatial processes*, Journal of the Royal Statistical Society
    B 2017; Säilynoja, Bürkner and Vehtari, *Graphical test for discrete uniformity and its applications in
    goodness-of-fit evaluation and multiple sample comparison*, Statistics and Computing 2022; Czado, Gneiting
    and Held, *Predictive model assessment for count data*, Biometrics 2009 (classes).

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(1)
    >>> predictions = cr.Gaussian(np.zeros(200), np.full(200, 0.5))
    >>> cr.pit_test(predictions, rng.normal(size=200), rng=0).pvalue
    0.001
    """
    rows = rows_with_labels(predictions, labels, "`pit_test`", clusters, blocks, classes=True)
    drawn = (level, n_resamples, as_seed(rng), as_progress(progress))
    return answered(asking_shares("pit", rows, *drawn, levels=levels, hypothesis=hypothesis))


@takes_rng
def coverage_curve(
    predictions: Any,
    labels: Any = None,
    *,
    levels: int = 50,
    hypothesis: Hypothesis = "independent",
    level: float = 0.05,
    n_resamples: int = 999,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> EnvelopeCurve:
    """Compare the stated and the observed coverage of central intervals, at all levels at once.

    Parameters
    ----------
    predictions : Gaussian, Samples, Quantiles or Rows
        Members are represented by their mixture.
    labels : array (n,)
        ...
    levels : int
        M for intervals with coverage j / M; `Quantiles` use the intervals between their symmetric levels.
    hypothesis : {"independent", "bayesian"}
        Whether labels are drawn from the mixture, or all labels of a replicate from one randomly drawn
        member.
    level : float
        Level of the test; 1 minus the coverage of the envelope.
    n_resamples : int
        ...
    clusters : array (n,) or "copies", optional
        ... Replicates then preserve their dependence.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...
    progress : callable or True, optional
        ...

    Returns
    -------
    EnvelopeCurve
        Shares of labels inside the intervals, simultaneous envelope and exact p-value.

    References
    ----------
    Kuleshov, Fenner and Ermon, *Accurate uncertainties for deep learning using calibrated regression*,
    ICML 2018; Myllymäki et al., *Global envelope tests for spatial processes*, Journal of the Royal
    Statistical Society B 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(1)
    >>> predictions = cr.Gaussian(np.zeros(200), np.full(200, 0.5))
    >>> curve = cr.coverage_curve(predictions, rng.normal(size=200), levels=10, rng=0)
    >>> round(float(curve.levels[-1]), 2), round(float(curve.observed[-1]), 2)
    (0.9, 0.64)
    """
    rows = rows_with_labels(predictions, labels, "`coverage_curve`", clusters, blocks)
    drawn = (level, n_resamples, as_seed(rng), as_progress(progress))
    return answered(asking_shares("coverage", rows, *drawn, levels=levels, hypothesis=hypothesis))


def asking_shares(
    name: Literal["pit", "coverage"],
    rows: Rows,
    level: float,
    n_resamples: int,
    seed: Seed,
    progress: Progress | None = None,
    *,
    levels: int | tuple[float, ...] | None = None,
    hypothesis: Hypothesis = "independent",
) -> Asking[EnvelopeCurve]:
    """Return the curve of rows; see :func:`pit_test` and :func:`coverage_curve`."""
    one_of("`hypothesis`", hypothesis, ("independent", "bayesian"))
    require_level(level)
    require_resamples(n_resamples)
    share, usual = _SHARES[name]
    bind = partial(share, usual if levels is None else levels)
    few, clusters = rows.example.predictions[:1], rows.clusters
    require_hypothesis(few, hypothesis)
    require_cells(few, bind(few))
    if clusters is not None and hypothesis == "bayesian":
        raise UnsupportedError(
            'hypothesis="bayesian"',
            "would draw the labels of all rows from one member",
            "tests of clustered rows draw no labels",
            'Use hypothesis="independent".',
        )
    words, least = HYPOTHESIS if hypothesis == "independent" else SHARED_MEMBER, 0.0
    sources: list[Any] = list(LabelSource.each(hypothesis, seed, n_resamples, few))
    draws = sources if clusters is None else [Signs(seed)]
    (every,) = yield [Request([Target(bind, finish=_shares)], rows, draws, n_resamples, progress)]
    # of several members, the one whose labels these are most like
    nearest = max((test for (test,) in every), key=lambda test: curve_pvalues(test.values)[0])
    bound, curves = nearest.bound, nearest.values
    assert isinstance(bound, Linear)
    stated = to_host(bound.terms.levels)
    if clusters is None:
        pvalue, lower, upper = envelope(curves, level)
        notes = (*bound.notes, *drawing_notes(few, hypothesis == "bayesian"))
    else:
        assert nearest.expected is not None
        pvalue, lower, upper = _even_band(curves, to_host(bound.shares(nearest.expected))[0], level)
        words, least = CLUSTERED, smallest_pvalue(clusters.number)
        notes = (*bound.notes, *clusters.notes)
    return EnvelopeCurve(
        name=name,
        levels=stated,
        observed=curves[0],
        expected=_expected(curves[1:], stated) if isinstance(few, Samples) else stated,
        lower=np.maximum(lower, 0.0),
        upper=np.minimum(upper, 1.0),
        coverage=1.0 - level,
        pvalue=max(pvalue, least),
        hypothesis=words,
        n=rows.n,
        m=few.n_members,
        n_resamples=n_resamples,
        settings={"hypothesis": hypothesis, "level": level, "seed": list(seed)},
        notes=notes,
    )


def _quantiles(levels: int | tuple[float, ...], predictions: Predictions) -> Linear:
    if isinstance(predictions, ClassPredictions):
        return ordered_steps(predictions, levels)
    bound = quantile_calibration_error.with_(levels=levels).bind(predictions)
    assert isinstance(bound, Linear)
    return bound


_SHARES: dict[str, tuple[Callable[..., Linear], int]] = {
    "pit": (_quantiles, 100),
    "coverage": (central_coverage, 50),
}
"""What binds the shares of a curve, and how many levels it has by default."""


def rows_with_labels(
    predictions: Any,
    labels: Any,
    name: str,
    clusters: Any = None,
    blocks: int | None = None,
    *,
    classes: bool = False,
) -> Rows:
    """Return rows of real-valued predictions, or of classes, with one label observed for each."""
    rows = detached(as_rows(predictions, labels, clusters=clusters, blocks=blocks))
    predictions = rows.example.predictions
    if classes and isinstance(predictions, ClassPredictions):
        single = isinstance(rows.example.batch, Classes)
        require_type(single, "must be one class per instance", "Draw one of them.", labels=rows.example.batch)
        return rows
    if not isinstance(predictions, RealPredictions):
        raise InputTypeError(
            name,
            "needs real-valued predictions",
            f"got {type(predictions).__name__}",
            remedy_without_probs(predictions, "For classes see `calibration_test` and `reliability_curve`."),
        )
    real = isinstance(rows.example.batch, Reals)
    require_type(real, "must be real numbers", "Pass an array (n,).", labels=rows.example.batch)
    return rows


def _shares(bound: Bound, state: State) -> Array:
    assert isinstance(bound, Linear)
    return bound.shares(state)


def _expected(replicates: HostArray, stated: HostArray) -> HostArray:
    """Return the mean shares of replicates where they are clearly not those stated: by a point or more."""
    mean = replicates.mean(axis=0)
    error = replicates.std(axis=0) / math.sqrt(len(replicates))
    return np.where(np.abs(mean - stated) > np.maximum(_POINT, 4.0 * error), mean, stated)


def _even_band(curves: HostArray, centre: HostArray, level: float) -> tuple[float, HostArray, HostArray]:
    """Return the p-value of the largest distance from expected shares, and a band of one width around them.

    Signs of clusters make replicates symmetric, which shares near 0 and 1 are not: ranks level by level, as
    `envelope` takes them, would reject 10 % of calibrated data at 5 %. The largest distance is that of levels
    in the middle.
    """
    distance = np.abs(curves - centre).max(axis=1)
    pvalue, _ = monte_carlo_pvalue(float(distance[0]), distance[1:], "greater")
    _, width = acceptance_region(distance[1:], "greater", (0.0, 1.0), level)
    return pvalue, centre - width, centre + width
