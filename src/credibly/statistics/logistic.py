"""Calibration slope and intercept of two classes: logistic regression of the label on the predicted logit.

    logit P(y = 1) = a + b logit p,        calibrated: a = 0, b = 1

b < 1: predictions are too extreme, b > 1: not extreme enough. With b = 1 fixed, a is calibration in the
large: below 0 where the second class is predicted too often.   Cox 1958; Steyerberg 2019.

As statistics of whole batches of labels both are means over the classes, each against the others (of two
classes both are the same), and a weak penalty keeps them finite where predictions separate the labels:

    argmax over a, b of mean log likelihood - w (a^2 + (b - 1)^2) / 2,        w = 1e-6
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    is_numpy,
    namespace,
    tiles,
    to_host,
)
from credibly.predictions import Classes, ClassPredictions, Labels, Predictions, Rows, as_point, as_rows
from credibly.results.base import Result
from credibly.results.estimates import Estimate, cluster_error
from credibly.statistics.over_rows import gathered, require_rows
from credibly.statistics.proper import accuracy
from credibly.statistics.protocol import (
    Bound,
    LabelKind,
    Plan,
    State,
    Statistic,
    Story,
    Traits,
    replicates,
)

_STEPS = 50
_CLOSE = 1e-10
_WEIGHT = 1e-6
_ALIKE = 1e-9  # logits that differ by rounding
_NEVER = 1e-12  # probabilities below have this one's logit
_FAR = 30.0  # logits of fitted probabilities that are 0 or 1 in double precision: the classes are separated


@dataclasses.dataclass(frozen=True)
class LogisticCalibration(Result):
    """Slope and intercept of the logistic recalibration of two classes.

    Attributes
    ----------
    slope : Estimate
        1 for calibrated predictions, below 1 if they are too extreme.
    intercept : Estimate
        The intercept that goes with that slope; 0 for calibrated predictions.
    in_the_large : Estimate
        The intercept with the slope fixed at 1: below 0 if the second class is predicted too often.
    n : int
        Number of instances.
    notes : tuple of str
        What was converted on the way.
    """

    slope: Estimate
    intercept: Estimate
    in_the_large: Estimate
    n: int
    notes: tuple[str, ...] = ()


def logistic_calibration(
    predictions: Any, labels: Any = None, *, clusters: Any = None, blocks: int | None = None
) -> LogisticCalibration:
    """Fit calibration slope and intercept of predictions of two classes.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Predictions of two classes, none of them exactly 0 or 1.
    labels : array (n,)
        Observed labels. Leave out for rows that carry their own.
    clusters : array (n,), optional
        Ids that say which rows belong together (a patient, a day); standard errors then allow for these
        clusters.
    blocks : int, optional
        For rows in time order: consecutive rows form clusters of at least this length.

    Returns
    -------
    LogisticCalibration
        Slope, intercept and calibration in the large, with standard errors.

    Notes
    -----
    Standard errors are sandwich estimates, which are also valid if the logistic curve is not the true one.
    With clusters, each one is left out in turn, with one Newton step from the fit to all rows. A slope of 1
    and an intercept of 0 do not mean calibration: a curve that crosses the diagonal twice can have them as
    well. See `corp_curve` for the whole curve.

    References
    ----------
    Cox, *Two further applications of a model for binary regression*, Biometrika, 1958; Steyerberg, *Clinical
    Prediction Models*, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> p = np.repeat([0.2, 0.8], 8)
    >>> labels = [1, 1, 1, 0, 0, 0, 0, 0] + [1, 1, 1, 1, 1, 0, 0, 0]  # shares of 3/8 and 5/8
    >>> found = cr.statistics.logistic_calibration(np.stack([1 - p, p], axis=1), labels)
    >>> round(float(found.slope), 4)  # log(5/3) / log(4)
    0.3685
    """
    rows = as_rows(predictions, labels, clusters=clusters, blocks=blocks)
    require_rows(accuracy, rows)
    given = rows.sample.predictions
    assert isinstance(given, ClassPredictions)
    if given.n_classes != 2:
        raise UnsupportedError(
            "`logistic_calibration`",
            "is for two classes",
            f"got {given.n_classes}",
            "Pass the probabilities of one class and of all others together.",
        )
    if not isinstance(rows.sample.batch, Classes) or rows.sample.batch.weights is not None:
        raise UnsupportedError(
            "`logistic_calibration`",
            "takes one label per instance",
            "got label counts or weights",
            "Draw labels first: `counts.draw(rng=0)`.",
        )
    point, batch = gathered(rows)
    p = to_host(point.probs).astype(np.float64)
    y = to_host(batch.values)[0].astype(np.float64)
    certain = int((p == 0).any(axis=1).sum())
    if certain:
        raise InputError(
            "predictions",
            "must lie between 0 and 1 to have a logit",
            f"{certain} of {len(p)} rows have a probability of exactly 0",
            "Mix them with a small share of the uniform distribution first.",
        )
    logit = np.log(p[:, 1]) - np.log(p[:, 0])
    ones = np.ones_like(logit)
    codes = rows.cluster_codes()
    both = _fitted(np.stack([ones, logit], axis=1), y, 0.0 * logit)
    alone = _fitted(ones[:, None], y, logit)

    def told(name: str, fit: _Fit, at: int) -> Estimate:
        return Estimate(name, float(fit.found[at]), n=len(y), notes=point.notes, **fit.error(at, codes))

    return LogisticCalibration(
        slope=told("calibration_slope", both, 1),
        intercept=told("calibration_intercept", both, 0),
        in_the_large=told("calibration_in_the_large", alone, 0),
        n=len(y),
        notes=point.notes,
    )


@dataclasses.dataclass(frozen=True)
class _Fit:
    """Coefficients (d,) of the largest likelihood; scores and information of every row."""

    found: HostArray
    scores: HostArray
    """(n, d)"""
    information: HostArray
    """(n, d, d)"""

    def error(self, at: int, codes: HostArray | None) -> dict[str, Any]:
        """Return the error of one coefficient, of rows or of clusters, as fields of an Estimate."""
        whole = self.information.sum(axis=0)
        bread = np.linalg.inv(whole)
        alone = float(np.sqrt((bread @ (self.scores.T @ self.scores) @ bread)[at, at]))
        if codes is None:
            return {"stderr": alone}
        sizes = np.bincount(codes).astype(np.float64)
        scores, information = _by_cluster(self.scores, codes), _by_cluster(self.information, codes)
        left = whole - information
        # where all other rows have one prediction, they have no slope: the value without the cluster is none
        decides = np.linalg.cond(left) > 1e12
        left[decides] = whole
        step = np.linalg.solve(left, scores[..., None])[..., 0]
        without = np.where(decides, np.inf, (self.found - step)[:, at])
        return cluster_error(float(self.found[at]), without, sizes, alone)


def _by_cluster(values: HostArray, codes: HostArray) -> HostArray:
    """Sum values (n, ...) over the rows of every cluster, (c, ...)."""
    flat = values.reshape(len(values), -1)
    sums = np.stack([np.bincount(codes, column) for column in flat.T], axis=1)
    return np.asarray(sums.reshape(-1, *values.shape[1:]))


def _fitted(design: HostArray, y: HostArray, offset: HostArray) -> _Fit:
    """Return coefficients of the largest likelihood, by Newton's steps."""
    found = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        linear = offset + design @ found
        mean = 1.0 / (1.0 + np.exp(-linear))
        information = (design * (mean * (1.0 - mean))[:, None]).T @ design
        if np.abs(linear - offset).max() > _FAR or np.linalg.cond(information) > 1e14:
            break
        step = np.linalg.solve(information, design.T @ (y - mean))
        step /= max(1.0, np.abs(step).max())  # far from the solution whole steps overshoot
        found = found + step
        if np.abs(step).max() < _CLOSE:
            spread = (mean * (1.0 - mean))[:, None, None]
            return _Fit(found, design * (y - mean)[:, None], spread * design[:, :, None] * design[:, None, :])
    raise UnsupportedError(
        "calibration slope and intercept",
        "must have a finite best value",
        "the predictions separate the labels, or are all the same",
        "Use more instances, or `corp_curve`.",
    )


@dataclasses.dataclass(frozen=True)
class LogisticStatistic(Statistic):
    """Base of the two: the logits of every class, and what is made of the fitted coefficients."""

    traits: ClassVar[Traits] = Traits(
        reduction="opaque",
        tail="two-sided",
        labels=frozenset[LabelKind]({"classes"}),
        differentiable=False,
        multiplicities=True,
        duplicate_invariant=True,
    )
    reference: ClassVar[str] = "Cox 1958"
    in_evaluations: ClassVar[bool] = False
    slopes: ClassVar[bool] = True
    """Whether slopes are fitted, too."""

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        p = as_float64(point.probs)
        xp = namespace(p)
        others = xp.sum(p, axis=1, keepdims=True) - p
        if p.shape[1] == 2:
            others = xp.flip(p, axis=1)
        logits = xp.log(xp.clip(p, _NEVER, None)) - xp.log(xp.clip(others, _NEVER, None))
        return LogisticBound(self, logits.T, plan, notes)

    def bound_at_once(self, rows: Rows) -> tuple[Bound, Labels]:
        """Bind to all rows, or to the mean predictions of chunks, and return the labels."""
        point, labels = gathered(rows)
        return self.bind(point), labels


class LogisticBound(Bound):
    """Logits (k, n); coefficients of whole batches of label vectors by Newton's steps."""

    statistic: LogisticStatistic
    term_size = 1.0

    def __init__(
        self, statistic: LogisticStatistic, logits: Array, plan: Plan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, plan.n, notes)
        self.logits = logits

    def for_replicates(self, observed: Labels, n_resamples: int) -> Bound:
        """Return itself, with what is worth knowing about the observed labels."""
        self._note(observed)
        return self

    def observed_sums(self, labels: Labels) -> State:
        """Return the state, and note what is worth knowing about the labels."""
        self._note(labels)
        return self.state(labels)

    def _note(self, labels: Labels) -> None:
        self.notes = (*self.notes, *(one for one in self._told(labels) if one not in self.notes))

    def _told(self, labels: Labels) -> tuple[str, ...]:
        """Say where the likelihood has no finite maximum, and in which direction two classes are off."""
        seen, classes = labels.values[0, :], self.logits.shape[0]
        counts = seen >= 0 if labels.weights is None else labels.weights[0, :] > 0
        apart = [
            _is_separated(
                self.logits[c, :], counts & (seen == c), counts & (seen != c), self.statistic.slopes
            )
            for c in range(classes)
        ]
        if any(apart):
            what = (
                "the predictions separate the labels" if self.statistic.slopes else "a class never happened"
            )
            number = "" if classes == 2 else f" for {sum(apart)} of {classes} classes"
            return (f"{what}, so the likelihood has no maximum{number}: a weak penalty decides the number",)
        if classes > 2 or self.statistic.slopes:
            return ()
        events = namespace(seen).astype(labels.values == 1, namespace(seen).float64)
        intercept = float(to_host(self._coefficient(events, self.logits[1, :], labels.weights))[0])
        if abs(intercept) < _ALIKE:
            return ()
        way = "rarely" if intercept > 0 else "often"
        return (f"the second class is predicted too {way}: its intercept is {intercept:.3g}",)

    def state(self, labels: Labels) -> State:
        """Return the values themselves, replicates in tiles that stay in cache."""
        if not is_numpy(labels.values):
            return State(value=self._values(labels))
        step = max(1, CACHE_ELEMENTS // labels.n)
        parts = [self._values(replicates(labels, reps)) for reps in tiles(len(labels), step)]
        return State(value=np.concatenate(parts))

    def _values(self, labels: Labels) -> Array:
        xp = namespace(self.logits)
        found = []
        classes = self.logits.shape[0]
        for c in range(1 if classes == 2 else 0, classes):  # of two classes either has the same
            events = xp.astype(labels.values == c, xp.float64)
            own = self._coefficient(events, self.logits[c, :], labels.weights)
            found.append(own if self.statistic.slopes else xp.abs(own))
        return sum(found[1:], found[0]) / len(found)

    def _coefficient(self, events: Array, x: Array, weights: Array | None) -> Array:
        """Return the slope, or the intercept with a slope of 1, of every label vector, (b, n) -> (b,)."""
        xp = namespace(x)
        share = xp.ones_like(events[:1, :]) if weights is None else as_float64(weights)
        share = share / xp.sum(share, axis=1, keepdims=True)
        a, b = xp.zeros_like(events[:, 0]), xp.ones_like(events[:, 0])
        if self.statistic.slopes and bool(xp.max(x) - xp.min(x) <= _ALIKE):
            return b  # one prediction for all says nothing about slopes
        for _ in range(_STEPS):
            linear = xp.clip(a[:, None] + b[:, None] * x[None, :], -500.0, 500.0)
            mean = 1.0 / (1.0 + xp.exp(-linear))
            residual, spread = share * (events - mean), share * mean * (1.0 - mean)
            ga, haa = xp.sum(residual, axis=1) - _WEIGHT * a, xp.sum(spread, axis=1) + _WEIGHT
            if self.statistic.slopes:
                gb, hab = residual @ x - _WEIGHT * (b - 1.0), spread @ x
                hbb = spread @ (x * x) + _WEIGHT
                determinant = haa * hbb - hab * hab
                to_a, to_b = (hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant
            else:
                to_a, to_b = ga / haa, xp.zeros_like(b)
            largest = xp.maximum(xp.abs(to_a), xp.abs(to_b))
            scale = 1.0 / xp.clip(largest, 1.0, None)  # far from the solution whole steps overshoot
            a, b = a + scale * to_a, b + scale * to_b
            if bool(xp.all(largest < _CLOSE)):
                break
        return b if self.statistic.slopes else a

    def finish(self, state: State) -> Array:
        """Return the values."""
        return state["value"]

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: two classes have an interval in `logistic_calibration`."""
        return None, "it is given by `statistics.logistic_calibration`, for two classes"


def _is_separated(x: Array, event: Array, other: Array, slopes: bool) -> bool:
    """Tell whether some threshold of x, if slopes are fitted, parts the events from the others."""
    xp = namespace(x)
    if not (bool(xp.any(event)) and bool(xp.any(other))):
        return True

    def ends(among: Array) -> tuple[float, float]:
        beyond = xp.full_like(x, xp.inf)
        found = xp.min(xp.where(among, x, beyond)), xp.max(xp.where(among, x, -beyond))
        return float(to_host(found[0])), float(to_host(found[1]))

    (low, high), (other_low, other_high) = ends(event), ends(other)
    if not slopes or max(high, other_high) - min(low, other_low) <= _ALIKE:
        return False
    return low >= other_high or high <= other_low


@dataclasses.dataclass(frozen=True)
class CalibrationSlope(LogisticStatistic):
    """Calibration slope: 1 for calibrated predictions, below 1 if they are too extreme.

    Notes
    -----
    The mean over the slopes of all classes, each against the others; of two classes both are the same, and
    to about five digits the slope of `logistic_calibration`, which has the interval. About ten passes of
    Newton's steps over n k numbers per label vector. Probabilities below 1e-12 have the logit of that one.
    Any deviation but a stretched logit is hardly seen: a curve that crosses the diagonal twice has slope 1.
    If the predictions separate the labels, there is no finite slope; the weak penalty then decides the
    number, and a note says so (`logistic_calibration` refuses).

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> p = np.repeat([0.2, 0.8], 8)
    >>> labels = [1, 1, 1, 0, 0, 0, 0, 0] + [1, 1, 1, 1, 1, 0, 0, 0]  # shares of 3/8 and 5/8
    >>> round(float(cr.statistics.calibration_slope(np.stack([1 - p, p], axis=1), labels)), 4)
    0.3685
    """

    name: ClassVar[str] = "calibration_slope"
    story: ClassVar[Story] = Story(
        title="Calibration slope",
        meaning="Slope of the logistic regression of the label on the predicted logit, class by class.",
        formula="b in logit P(y = c) = a + b logit p_c, the mean over classes c",
        above="its probabilities are not extreme enough",
        below="its probabilities are too extreme",
        notion="classwise",
        citation="Cox, Two further applications of a model for binary regression, Biometrika, 1958.",
        aliases={"cox_slope": ""},
    )


@dataclasses.dataclass(frozen=True)
class CalibrationInTheLarge(LogisticStatistic):
    """Calibration in the large: how far, on the scale of logits, classes are predicted too often or rarely.

    Notes
    -----
    The intercept a of logit P(y = c) = a + logit p, its size averaged over all classes, each against the
    others; of two classes both are the same, and a note says which one is predicted too often. Its interval
    is in `logistic_calibration`. About ten passes of Newton's steps over n k numbers per label vector.
    Probabilities below 1e-12 have the logit of that one. What leaves the number of labels of every class as
    expected is not seen.

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[0.5, 0.5]] * 4  # three of four: log(3)
    >>> round(float(cr.statistics.calibration_in_the_large(probs, [1, 1, 1, 0])), 4)
    1.0986
    """

    name: ClassVar[str] = "calibration_in_the_large"
    traits: ClassVar[Traits] = dataclasses.replace(
        LogisticStatistic.traits, tail="greater", range=(0.0, float("inf"))
    )
    slopes: ClassVar[bool] = False
    story: ClassVar[Story] = Story(
        title="Calibration in the large",
        meaning="Size of the shift of the predicted logits of a class that the labels ask for.",
        formula="|a| in logit P(y = c) = a + logit p_c, the mean over classes c",
        above="some classes are predicted more, or less, often than they happen",
        notion="classwise",
        citation="Steyerberg, Clinical Prediction Models, 2019.",
        aliases={"calibration_intercept": "with the slope fixed at 1"},
    )


calibration_slope = CalibrationSlope()
calibration_in_the_large = CalibrationInTheLarge()
