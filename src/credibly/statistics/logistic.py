"""Calibration slope and intercept of an event: logistic regression of the label on the predicted logit.

    logit P(y = 1) = a + b logit p,        calibrated: a = 0, b = 1

b < 1: predictions are too extreme, b > 1: not extreme enough. With b = 1 fixed, a is calibration in the
large: below 0 where the event is predicted too often.   Cox 1958; Steyerberg 2019.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.standard_errors import cluster_error
from credibly._arrays.sums import sums_of_rows
from credibly.predictions import ClassPredictions, as_rows
from credibly.predictions.given import require_one_label
from credibly.results.base import Result
from credibly.results.estimates import Estimate
from credibly.statistics.cells import require_class
from credibly.statistics.over_rows import gathered, require_defined
from credibly.statistics.proper import accuracy

_STEPS = 50
_CLOSE = 1e-10
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
    predictions: Any,
    labels: Any = None,
    *,
    target: int | None = None,
    clusters: Any = None,
    blocks: int | None = None,
) -> LogisticCalibration:
    """Fit calibration slope and intercept of the probability of one class.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Predictions of classes; the probability of the event is never exactly 0 or 1.
    labels : array (n,)
        ...
    target : int, optional
        The class that is the event. Default: the second of two classes.
    clusters : array (n,) or "copies", optional
        ... Standard errors then allow for these clusters.
    blocks : int, optional
        ...

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
    require_defined(accuracy, rows)
    predictions = rows.example.predictions
    assert isinstance(predictions, ClassPredictions)
    k = predictions.n_classes
    if target is None and k != 2:
        remedy = "Name one by its index, `target=1`."
        raise InputError("`target`", "must name the class that is the event", f"got {k} classes", remedy)
    event = 1 if target is None else target
    require_class(event, k)
    require_one_label(rows.example.batch, "`logistic_calibration`")
    point, batch = gathered(rows)
    probs = to_host(point.probs).astype(np.float64)
    y = (to_host(batch.values)[0] == event).astype(np.float64)
    p, others = probs[:, event], np.delete(probs, event, axis=1).sum(axis=1)
    certain = int(((p == 0) | (others == 0)).sum())
    if certain:
        raise InputError(
            "predictions",
            "must lie between 0 and 1 to have a logit",
            f"{certain} of {len(p)} rows have a probability of exactly 0 or 1",
            "Mix them with a small share of the uniform distribution first.",
        )
    logit = np.log(p) - np.log(others)
    ones = np.ones_like(logit)
    codes = rows.cluster_codes()
    both = _fitted(np.stack([ones, logit], axis=1), y, 0.0 * logit)
    alone = _fitted(ones[:, None], y, logit)

    def estimate(name: str, fit: _Fit, at: int) -> Estimate:
        return Estimate(
            name, float(fit.coefficients[at]), n=len(y), notes=point.notes, **fit.error(at, codes)
        )

    return LogisticCalibration(
        slope=estimate("calibration_slope", both, 1),
        intercept=estimate("calibration_intercept", both, 0),
        in_the_large=estimate("calibration_in_the_large", alone, 0),
        n=len(y),
        notes=point.notes,
    )


@dataclasses.dataclass(frozen=True)
class _Fit:
    """Coefficients (d,) of the largest likelihood; scores and information of every row."""

    coefficients: HostArray
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
        without = np.where(decides, np.inf, (self.coefficients - step)[:, at])
        return cluster_error(float(self.coefficients[at]), without, sizes, alone)


def _by_cluster(values: HostArray, codes: HostArray) -> HostArray:
    """Sum values (n, ...) over the rows of every cluster, (c, ...)."""
    sums = sums_of_rows(values.reshape(len(values), -1).T, codes, int(codes.max()) + 1)
    return sums.T.reshape(-1, *values.shape[1:])


def _fitted(design: HostArray, y: HostArray, offset: HostArray) -> _Fit:
    """Return coefficients of the largest likelihood, by Newton's steps."""
    coefficients = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        linear = offset + design @ coefficients
        mean = 1.0 / (1.0 + np.exp(-linear))
        information = (design * (mean * (1.0 - mean))[:, None]).T @ design
        if np.abs(linear - offset).max() > _FAR or np.linalg.cond(information) > 1e14:
            break
        step = np.linalg.solve(information, design.T @ (y - mean))
        step /= max(1.0, np.abs(step).max())  # far from the solution whole steps overshoot
        coefficients = coefficients + step
        if np.abs(step).max() < _CLOSE:
            spread = (mean * (1.0 - mean))[:, None, None]
            information = spread * design[:, :, None] * design[:, None, :]
            return _Fit(coefficients, design * (y - mean)[:, None], information)
    raise UnsupportedError(
        "calibration slope and intercept",
        "must have a finite best value",
        "the predictions separate the labels, or are all the same",
        "Use more instances, or `corp_curve`.",
    )
