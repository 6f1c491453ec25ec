"""Does a model know what it does not know? Stated against supported ignorance.

With mu and V the mean and the variance that an instance's prediction states for the probabilities of labels,
and y, y' two labels of it:

    stated      mean of sum_a V_a
    supported   mean over pairs of <e_y - mu, e_y' - mu>        unbiased for ||theta - mu||^2
    shares      stated / mean (1 - sum mu^2),    supported / mean over labels of ||e_y - mu||^2

With one label nothing of this is known (`docs/theory/second-labels.md`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.namespace import HostArray, like, to_host
from credibly._arrays.philox import as_seed, takes_rng
from credibly._arrays.standard_errors import mean_error
from credibly.predictions import Point
from credibly.raters.annotators import crossed_error, two_way_mean_pvalue
from credibly.raters.loss import decompose_loss
from credibly.raters.second_labels import pair_products
from credibly.raters.spread_test import (
    STATISTICS,
    Paired,
    checked_statistics,
    labels_per_row,
    tested_mean,
    tested_spread,
)
from credibly.results.estimates import Estimate, Estimates, interval_of
from credibly.results.ignorance import Ignorance, SizeBins, SpreadDetails
from credibly.results.tests import with_details


@takes_rng
def ignorance(
    predictions: Any,
    counts: Any = None,
    *,
    statistics: Sequence[str] = STATISTICS,
    n_bins: int = 5,
    n_resamples: int = 999,
    rng: Any = None,
) -> Ignorance:
    """Compare how ignorant a model says that it is with how ignorant pairs of labels show it to be.

    Parameters
    ----------
    predictions : Ensemble, Dirichlet or SecondOrder
        What is predicted about the distribution of labels of every instance; in a Dataset or as Rows too.
    counts : LabelCounts
        How many labels of each class every instance has. Instances with one label are left out.
    statistics : sequence of str
        What is tested, as `spread_test` takes it.
    n_bins : int
        Bins of stated ignorance, with about equal numbers of instances.
    n_resamples : int
        Number of replicates of the tests.
    rng : None, int or Generator
        ...

    Returns
    -------
    Ignorance
        Both with intervals, by class and by stated size, the test that they fit, and a test of the mean.

    Notes
    -----
    Supported ignorance is the squared distance from the mean to the distribution of labels, so a mean that is
    off counts too: `mean_test` and `mean_part` say whether it is. If `counts` know who gave which label and
    raters differ, standard errors are over instances and raters.

    References
    ----------
    Ahdritz et al., *Provable uncertainty decomposition via higher-order calibration*, ICLR 2025.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> members = cr.Ensemble.from_logits(rng.normal(size=(500, 1, 3)) + rng.normal(size=(500, 10, 3)))
    >>> counts = cr.LabelCounts(rng.multinomial(2, members.mean().probs))  # the truth is the mean
    >>> found = cr.raters.ignorance(members, counts, n_resamples=199, rng=0)
    >>> found.verdict(), found.supported.value < 0.3 * found.stated.value
    ('conflict', True)
    """
    pair = Paired.of(predictions, counts, "`ignorance`")
    n_bins = require_integer(n_bins, "n_bins", 1)
    n_resamples, seed = require_integer(n_resamples, "n_resamples", 1), as_seed(rng)
    law, tallies = pair.law, to_host(pair.counts.counts).astype(np.float64)
    test = tested_spread(pair, checked_statistics(statistics), n_resamples, seed)
    supported = pair_products(law.mean, tallies)  # (n, k)
    total = tallies.sum(axis=1, keepdims=True)
    loss = (tallies * (1.0 - 2.0 * law.mean) / total + law.mean**2).sum(axis=1)
    distances, wide = supported.sum(axis=1), law.variance.sum(axis=1)
    uncertain = (law.mean * (1.0 - law.mean)).sum(axis=1)
    crossed = pair.counts if test.details.crossed_pvalue is not None else None
    mean_test = tested_mean(pair, n_resamples, seed)
    if crossed is not None:
        details = SpreadDetails("", crossed_pvalue=two_way_mean_pvalue(crossed, law.mean))
        mean_test = with_details(mean_test, details)
    settings = {"n_bins": n_bins, "n_resamples": n_resamples, "seed": list(seed)}

    def mean_of(name: str, values: HostArray, pairs: float = 0.0) -> Estimate:
        error = mean_error(values)
        if crossed is not None and pairs:
            error = crossed_error(error, crossed, law.mean, pairs)
        return Estimate(name, float(values.mean()), n=len(values), settings=settings, **error)

    def ratio(name: str, top: HostArray, bottom: HostArray, *, seen: bool) -> Estimate:
        below = float(bottom.mean()) or 1.0
        share = float(top.mean()) / below
        influence = (top - share * bottom) / below
        error = mean_error(influence)
        if crossed is not None and seen:
            error = crossed_error(error, crossed, law.mean, 1.0 / below, -share / below)
        return Estimate(name, share, n=len(top), settings=settings, **error)

    with warnings.catch_warnings():  # of rows that were left out before
        warnings.simplefilter("ignore", UserWarning)
        mean_part = decompose_loss(Point(like(law.mean, pair.counts.counts)), pair.counts).calibration
    return Ignorance(
        stated=mean_of("stated", wide),
        supported=mean_of("supported", distances, 1.0),
        gap=mean_of("gap", distances - wide, 1.0),
        stated_share=ratio("stated_share", wide, uncertain, seen=False),
        supported_share=ratio("supported_share", distances, loss, seen=True),
        mean_part=mean_part,
        per_class_stated=_by_class("stated", law.variance),
        per_class_supported=_by_class("supported", supported),
        by_size=_by_size(wide, distances, n_bins),
        test=test,
        mean_test=mean_test,
        n=len(distances),
        n_left_out=pair.n_left_out,
        labels=labels_per_row(pair.counts),
        settings=settings,
        notes=test.notes,
    )


def _by_class(name: str, values: HostArray) -> Estimates:
    errors = [mean_error(column) for column in values.T]
    refused = np.array([error["interval_refusal"] is not None for error in errors])
    why = next((error["interval_refusal"] for error in errors if error["interval_refusal"]), None)
    stderr = np.array([error["stderr"] or 0.0 for error in errors]) if len(values) > 1 else None
    return Estimates(name, values.mean(axis=0), stderr, len(values), why, refused)


def _by_size(stated: HostArray, supported: HostArray, n_bins: int) -> SizeBins:
    edges = np.unique(np.quantile(stated, np.linspace(0.0, 1.0, n_bins + 1)))
    place = np.clip(np.searchsorted(edges, stated, side="right") - 1, 0, max(edges.size - 2, 0))
    rows = [np.flatnonzero(place == number) for number in range(max(edges.size - 1, 1))]
    rows = [chosen for chosen in rows if chosen.size]
    parts = [
        Estimate("", float(supported[part].mean()), n=part.size, **mean_error(supported[part]))
        for part in rows
    ]
    ends = [interval_of(part) or (np.nan, np.nan) for part in parts]
    low, high = np.array(ends, dtype=np.float64).T
    return SizeBins(
        edges=edges,
        count=np.array([part.size for part in rows]),
        stated=np.array([stated[part].mean() for part in rows]),
        supported=np.array([part.value for part in parts]),
        low=low,
        high=high,
    )
