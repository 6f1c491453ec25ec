"""How much larger would a set have to be to hold the truth?

J25 names this as the step after a rejection: the smallest enlargement that a test no longer rejects.
The witness answers it: quick, without weights, and it never rejects the set of all distributions.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.checks import require_positive_number
from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress, as_progress, tell
from credibly.credal.enlargement import By, enlarged
from credibly.credal.sets import CredalSet, as_set
from credibly.hypotests.credal.witness import witness_test
from credibly.learners.points import DRAWS
from credibly.predictions import Point, as_predictions, cluster_codes, paired
from credibly.results.base import Result, require_level
from credibly.results.tests import HypotestResult, smallest_pvalue
from credibly.results.witness import WitnessDetails

_FIRST = 1 / 32  # the search begins here and doubles: most sets lack little


@dataclasses.dataclass(frozen=True, eq=False)
class Inflation(Result):
    """The smallest enlargement of a set that is not rejected.

    Attributes
    ----------
    radius : float
        0 if the set itself is not rejected; at most 1, where it contains all distributions.
    by : {"vacuous", "ball"}
        What the set is enlarged by.
    level : float
        Level of the tests.
    radii, pvalues : ndarray
        What was tried, in order.
    rejected_radius : float or None
        The largest radius below `radius` that was rejected; None if `radius` is 0.
    test : HypotestResult of WitnessDetails
        The test of the enlarged set.
    n_draws : int
        Number of draws per instance that represent a Dirichlet.
    seed : tuple of int
        Seed of everything.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> members = cr.Ensemble(rng.dirichlet([2.0, 2.0, 2.0], size=(200, 3)))
    >>> found = cr.inflate(members, np.zeros(200, dtype=int), rng=0)
    >>> found.radius > 0.1, found.apply(members[:5]).n_members
    (True, 9)
    >>> found.combine(members[:5])
    Point(n=5, k=3, dtype=float64)
    """

    radius: float
    by: By
    level: float
    radii: HostArray
    pvalues: HostArray
    rejected_radius: float | None
    test: HypotestResult[WitnessDetails]
    n_draws: int
    seed: Seed

    def apply(self, predictions: Any) -> CredalSet:
        """Return predictions of the same model with their sets enlarged by `radius`.

        Parameters
        ----------
        predictions : Predictions or array
            Any instances.

        Returns
        -------
        Point, Ensemble, Intervals or Belief
            The larger sets.
        """
        return enlarged(_as_set(predictions, self.n_draws, self.seed), self.radius, self.by)

    def combine(self, predictions: Any, *, features: Any = None) -> Point:
        """Return the points of the enlarged sets nearest to what the test learned about the labels.

        Parameters
        ----------
        predictions : Predictions or array
            Any instances, before enlargement.
        features : array (n, d), optional
            Their features, if `inflate` was given some.

        Returns
        -------
        Point
            One distribution per instance.
        """
        nearest: Point = self.test.details.combine(self.apply(predictions), features=features)
        return nearest

    def __str__(self) -> str:
        if self.radius == 0:
            return f"radius 0: the set itself is not rejected (p = {self.pvalues[0]:.3g})"
        return (
            f"radius {self.radius:.3g} ({self.by}): p = {self.test.pvalue:.3g}, and "
            f"radius {self.rejected_radius:.3g} is rejected"
        )


@takes_rng
def inflate(
    predictions: Any,
    labels: Any = None,
    *,
    features: Any = None,
    by: By = "vacuous",
    level: float = 0.05,
    resolution: float = 0.01,
    n_draws: int = DRAWS,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> Inflation:
    """Find the smallest enlargement of the sets that the witness test does not reject.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions as sets, on data that the model was not trained on.
    labels : array (n,)
        Observed classes.
    features : array (n, d), optional
        What the witness may use besides the predictions, as in :func:`witness_test`.
    by : {"vacuous", "ball"}
        "vacuous" mixes with the set of all distributions: the radius is its share. "ball" moves every member
        towards each class by `radius` in total variation: for two classes this is the ball around the set,
        for more classes it lies inside that ball; intervals become wider by `radius` on both sides.
    level : float
        Level at which a set counts as rejected.
    resolution : float
        Maximum distance between the returned radius and a rejected one.
    n_draws : int
        ...
    clusters : array (n,), optional
        ... As in :func:`witness_test`.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ... Every radius is tested with the same random orders.
    progress : callable or True, optional
        Called with (done, total) tests, where the total is an upper limit; True writes to standard
        error after one second, if that is a terminal.

    Returns
    -------
    Inflation
        The radius, what was tried, the last test, and ``apply`` and ``combine`` for other instances.

    Notes
    -----
    Radii 1/32, 1/16, ... are tried until one is not rejected, then bisection: the result is a radius that is
    not rejected next to one that is. Not rejected does not mean calibrated: with few instances a small radius
    is enough. The radius was chosen on these data; test the enlarged set on others. Enlarging the hull of m
    members gives a hull of m k members.

    References
    ----------
    Jürgens et al., *A calibration test for evaluating set-based epistemic uncertainty representations*, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> members = rng.dirichlet([8, 1], size=(300, 3))
    >>> labels = (rng.random(300) > 0.5).astype(int)
    >>> found = cr.inflate(members, labels, rng=1)
    >>> bool(0.3 < found.radius < 0.9), found.test.rejects()
    (True, False)
    """
    one_of("`by`", by, ("vacuous", "ball"))
    require_level(level)
    require_positive_number(resolution, "resolution", "Try 0.01.")
    report = as_progress(progress)
    codes = cluster_codes(predictions, clusters, blocks)
    number = None if codes is None else int(codes.max()) + 1
    if number is not None and smallest_pvalue(number) > level:  # nothing is rejected: every set would pass
        raise InputError(
            "`clusters`",
            f"must be enough to reject at level {level:g}",
            f"{number} clusters give no p-value below {smallest_pvalue(number):.2g}",
            "Use data of more clusters.",
        )
    predictions, labels = paired(predictions, labels)
    seed = as_seed(rng)
    credal = _as_set(predictions, n_draws, seed)
    most = int(np.log2(1 / _FIRST)) + 2 + max(1, int(np.ceil(np.log2(1 / resolution))))
    tests: dict[float, HypotestResult[WitnessDetails]] = {}

    def rejects(radius: float) -> bool:
        larger = enlarged(credal, radius, by)
        tests[radius] = witness_test(larger, labels, features=features, clusters=codes, rng=seed)
        tell(report, min(len(tests), most), most)
        return tests[radius].rejects(level)

    low, high = 0.0, 0.0
    while rejects(high):  # which ends at 1, where the set holds every distribution
        low, high = high, min(1.0, max(_FIRST, 2 * high))
    while high - low > resolution:
        middle = (low + high) / 2
        low, high = (middle, high) if rejects(middle) else (low, middle)
    tell(report, most, most)
    return Inflation(
        radius=high,
        by=by,
        level=float(level),
        radii=np.array(list(tests)),
        pvalues=np.array([test.pvalue for test in tests.values()]),
        rejected_radius=low if high > 0 else None,
        test=tests[high],
        n_draws=n_draws,
        seed=seed,
    )


def _as_set(predictions: Any, n_draws: int, seed: Seed) -> CredalSet:
    credal: CredalSet = as_set(as_predictions(predictions), n_samples=n_draws, rng=seed)
    return credal
