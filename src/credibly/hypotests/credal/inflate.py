"""How much larger would a set have to be to hold the truth?

J25 names this as the step after a rejection: the smallest enlargement that a test no longer rejects.
The witness answers it by default: quick, without weights, and it never rejects the set of all distributions.

The smallest radius that a test does not reject: doubling, then bisection, with a quick look first.

Far from the decision a fifth of the replicates tells as much as all of them. They are the first ones of the
whole test, and both ends of what is returned are tested in full.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, one_of
from credibly._arrays.namespace import Array, HostArray
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.credal.enlargement import By, enlarged
from credibly.credal.sets import CredalSet, as_set, require_positive_number
from credibly.hypotests.calibration.calibration_test import require_resamples
from credibly.hypotests.credal.credal_test import together
from credibly.hypotests.credal.weights_test import weights_test
from credibly.hypotests.credal.witness import witness_test
from credibly.learners.basis import set_features
from credibly.learners.linear import GatingLearner, Learner
from credibly.learners.points import DRAWS, points_of
from credibly.predictions import Point, Predictions, as_predictions, cluster_codes, paired
from credibly.results.base import Result, require_level
from credibly.results.combinations import CombinationDetails
from credibly.results.tests import HypotestResult, smallest_pvalue

Method = Literal["both", "witness", "weights"]

_FIRST = 1 / 32  # the search begins here and doubles: most sets lack little

_CLEAR = 4.0  # a quick p-value of so many times the level is not looked at again

Test = Callable[[float, bool], HypotestResult[CombinationDetails]]
"""From a radius, and whether a quick look is enough, to the test."""


class Bracket(NamedTuple):
    """A radius that is not rejected, its test, and one just below it that is (None at radius 0)."""

    radius: float
    result: HypotestResult[CombinationDetails]
    rejected: float | None


def smallest_radius(test: Test, level: float, resolution: float, *, quick: bool) -> Bracket:
    """Find a radius that is not rejected next to one that is.

    Parameters
    ----------
    test : callable
        The test at a radius; its second argument asks for fewer replicates.
    level : float
        Level of the decision.
    resolution : float
        How close the two radii have to be.
    quick : bool
        Whether to look with fewer replicates first.

    Returns
    -------
    Bracket
        Both decisions are those of all replicates.
    """
    whole: set[float] = set()
    rejected: set[float] = set()

    def decide(radius: float, quick: bool) -> HypotestResult[CombinationDetails]:
        if quick:
            found = test(radius, True)
            smallest = (1.0 + 1e-9) / (found.n_resamples + 1)
            if found.pvalue > _CLEAR * level or found.pvalue <= smallest:
                return found
        whole.add(radius)
        return test(radius, False)

    low, high = 0.0, 0.0
    result = decide(0.0, quick)
    while True:
        while result.rejects(level):
            if high == 1.0:
                raise UnsupportedError(
                    "the set of all distributions",
                    "contains a calibrated combination, but the test rejects it",
                    f"p = {result.pvalue:.3g} at radius 1",
                    "These weights cannot represent it: give `features`, or another `learner`.",
                )
            rejected.add(high)
            low, high = high, min(1.0, max(_FIRST, 2 * high))
            result = decide(high, quick)
        while high > 0 and high - low > resolution:
            middle = (low + high) / 2
            found = decide(middle, quick)
            if found.rejects(level):
                rejected.add(middle)
                low = middle
            else:
                high, result = middle, found
        if high not in whole:
            result = decide(high, False)
        elif high > 0 and low not in whole:
            found = decide(low, False)
            if not found.rejects(level):
                rejected.discard(low)
                high, result = low, found
                low = max((radius for radius in rejected if radius < high), default=0.0)
        else:
            return Bracket(high, result, low if high > 0 else None)


_REFITS = 99  # default number of replicates with refits: a radius needs a decision, not a p-value

_QUICK = 5  # a fifth of them for radii far from the decision


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
        What was tried, in order; a radius appears twice if a few replicates were not enough.
    rejected_radius : float or None
        The largest radius below `radius` that was rejected; None if `radius` is 0.
    test : HypotestResult of WitnessDetails, WeightsDetails or CredalDetails
        The test of the enlarged set.
    own_features : bool
        Whether learned weights depend on the log-probabilities of the original set.
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
    >>> found = cr.inflate(members, np.zeros(200, dtype=int), weights="constant", n_resamples=99, rng=0)
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
    test: HypotestResult[CombinationDetails]
    own_features: bool
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
        """Return the combination of the enlarged sets that the test found.

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
        if self.own_features and features is None:
            features = _set_features(_as_set(predictions, self.n_draws, self.seed), self.n_draws, self.seed)
        found: Point = self.test.details.combine(self.apply(predictions), features=features)
        return found

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
    method: Method | None = None,
    by: By = "vacuous",
    level: float = 0.05,
    resolution: float = 0.01,
    n_draws: int = DRAWS,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
    **settings: Any,
) -> Inflation:
    """Find the smallest enlargement of the sets that a test does not reject.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions as sets, on data that the model was not trained on.
    labels : array (n,)
        Observed classes.
    features : array (n, d), optional
        What learned weights may depend on, as in :func:`weights_test`; default: at every radius, the
        log-probabilities of the original set. With ``method="witness"``, what the witness may use, as in
        :func:`witness_test`.
    method : {"witness", "weights", "both"}, optional
        Which test decides: :func:`witness_test`, the default, :func:`weights_test`, the default if one of its
        settings is given, or both: the witness first, and weights only if it rejects.
    by : {"vacuous", "ball"}
        "vacuous" mixes with the set of all distributions: the radius is its share. "ball" moves every member
        towards each class by `radius` in total variation: for two classes this is the ball around the set,
        for more classes it lies inside that ball; intervals become wider by `radius` on both sides.
    level : float
        Level at which a set counts as rejected.
    resolution : float
        Maximum distance between the returned radius and a rejected one.
    n_draws : int
        Number of draws per instance that represent a Dirichlet.
    clusters : array (n,), optional
        Ids that say which rows belong together (a patient, a day), as in :func:`witness_test`.
    blocks : int, optional
        For rows in time order: consecutive rows form clusters of at least this length.
    rng : None, int or Generator
        Seed; every radius is tested with the same split and the same replicates.
    progress : callable or True, optional
        Called with (done, total) tests, where the total is an upper limit; True writes to standard
        error after one second, if that is a terminal.
    **settings
        Settings of :func:`weights_test`: `weights`, `statistics`, `learner`, `refit`, ... Refits use 99
        replicates by default; constant weights are kept in replicates, which is conservative, unless
        ``refit=True``.

    Returns
    -------
    Inflation
        The radius, what was tried, the last test, and ``apply`` and ``combine`` for other instances.

    Notes
    -----
    Radii 1/32, 1/16, ... are tried until one is not rejected, then bisection; with refits, a fifth of the
    replicates decides clear cases, and all of them are used at both ends of the final bracket. P-values of
    learned weights need not fall smoothly with the radius: the result is a radius that is not rejected next
    to one that is. Not rejected does not mean calibrated: with few instances a small radius is enough. The
    radius was chosen on these data; test the enlarged set on others. Enlarging the hull of m members gives a
    hull of m k members.

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
    >>> found = cr.inflate(members, labels, weights="constant", rng=1)
    >>> bool(0.3 < found.radius < 0.9), found.test.rejects()
    (True, False)
    """
    one_of("`by`", by, ("vacuous", "ball"))
    require_level(level)
    require_positive_number(resolution, "resolution", "Try 0.01.")
    report = as_progress(progress)
    codes = cluster_codes(predictions, clusters, blocks)
    predictions, labels = paired(predictions, labels)
    seed = as_seed(rng)
    credal = _as_set(predictions, n_draws, seed)
    method = method or ("weights" if settings else "witness")
    one_of("`method`", method, ("both", "witness", "weights"))
    if method == "witness" and settings:
        raise InputError(
            f"`{next(iter(settings))}`",
            "belongs to tests of weights",
            'got method="witness"',
            "Leave it out.",
        )
    if settings.get("weights") == "constant":
        settings.setdefault("refit", False)  # m k points are mixed at every radius, for every replicate
    learns = method != "witness" and settings.get("weights") in (None, "learned")
    seen = features if method == "witness" else None
    own_features = features is None and learns
    if own_features:  # those of the enlarged set would be k times as many, and others at every radius
        features = _set_features(credal, n_draws, seed)
    looks = 0
    if learns and _refits(settings):
        if settings.get("n_resamples") is None:
            settings["n_resamples"] = _REFITS
        require_resamples(settings["n_resamples"])
        looks = settings["n_resamples"] // _QUICK
    most = 2 * (int(np.log2(32)) + 2 + max(1, int(np.ceil(np.log2(1 / resolution)))))
    tried: list[tuple[float, float]] = []

    def test(radius: float, quick: bool) -> HypotestResult[CombinationDetails]:
        fewer = {"n_resamples": looks} if quick else {}
        larger = enlarged(credal, radius, by)
        found: HypotestResult[CombinationDetails]
        if method != "weights":
            found = witness = witness_test(larger, labels, features=seen, clusters=codes, rng=seed)
        if method == "weights" or (method == "both" and found.rejects(level)):
            found = weights = weights_test(
                larger, labels, features=features, clusters=codes, rng=seed, **(settings | fewer)
            )
            if method == "both":
                found = together(witness, weights)
        if not quick:
            _require_reach(found, level)
        tried.append((radius, found.pvalue))
        if report is not None:
            report(min(len(tried), most), most)
        return found

    found = smallest_radius(test, level, resolution, quick=level * (looks + 1) >= 1)
    if report is not None:
        report(most, most)
    return Inflation(
        radius=found.radius,
        by=by,
        level=float(level),
        radii=np.array([radius for radius, _ in tried]),
        pvalues=np.array([pvalue for _, pvalue in tried]),
        rejected_radius=found.rejected,
        test=found.result,
        own_features=own_features,
        n_draws=n_draws,
        seed=seed,
    )


def _refits(settings: dict[str, Any]) -> bool:
    """Tell whether weights are learned again in every replicate, which is what takes time."""
    learner = settings.get("learner")
    light = not isinstance(learner, Learner) or isinstance(learner, GatingLearner)
    return light and settings.get("refit") is not False


def _require_reach(result: HypotestResult, level: float) -> None:
    """Raise where so few replicates cannot reject anything: every set would pass."""
    if result.n_clusters is not None and smallest_pvalue(result.n_clusters) > level:
        raise InputError(
            "`clusters`",
            f"must be enough to reject at level {level:g}",
            f"{result.n_clusters} clusters give no p-value below {smallest_pvalue(result.n_clusters):.2g}",
            "Use data of more clusters.",
        )
    least = (2 if result.tail == "two-sided" else 1) / (result.n_resamples + 1)
    if result.n_resamples and least > level:
        raise InputError(
            "`n_resamples`",
            f"must be large enough to reject at level {level:g}",
            f"the smallest p-value of {result.n_resamples} replicates is {least:.3g}",
            f"Use at least {round(1 / level) * 2}.",
        )


def _set_features(credal: CredalSet, n_draws: int, seed: Seed) -> Array:
    return set_features(points_of(credal, n_draws, seed).probs)


def _as_set(predictions: Any, n_draws: int, seed: Seed) -> CredalSet:
    given: Predictions = as_predictions(predictions)
    credal: CredalSet = as_set(given, n_samples=n_draws, rng=seed)
    return credal
