"""A linear predictor added to log-probabilities: bias, temperature or both, for all rows or by group.

    softmax((1 + s + s_g) z + b + b_g)          z the log-probabilities, g the group of the instance
    minimise  -log likelihood + 1/2 sum ridge * parameter^2

The penalty is a number of nats that does not grow with the data: slopes and intercepts are free if there are
many labels, and a group of few rows stays near the map of all groups (partial pooling). With many classes, or
by group, intercepts whose frequencies show nothing stay at 0.

The members of an ensemble share the map, which maximises the likelihood of their mean: every Newton step sees
labels shared out to members by how likely each makes them (EM).   Platt 1999; Guo et al. 2017.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, softmax, to_host
from credibly.predictions import ClassPredictions
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData, with_scores
from credibly.recalibrate.folds import check_penalty
from credibly.recalibrate.groups import Groups, checked_groups, unseen_note
from credibly.recalibrate.learned import learned, learned_by_group
from credibly.recalibrate.minimum import Convergence, diverging
from credibly.recalibrate.scores import require_finite_logits, scores_of, shares_of

FREE = 1e-10
"""Ridge of what is to be free: it only keeps the Newton step of a flat direction finite."""
PRIOR = 0.5
"""Ridge of intercepts of three classes and more, and of what a group adds: half a nat per unit squared."""
_FIXED = 1e8  # ridge of intercepts that stay at 0
_ABOUT_AS_LARGE = 0.75  # as the largest intercept: told too
_MANY = 10  # classes above which only intercepts that show something are fitted
_ENOUGH, _SHARED, _ROUGH = 1e-6, 1e-10, 1e-3  # nats the last step may gain; by EM; in folds
_STEPS, _HALVINGS = 300, 20
_SEPARATED = 0.01  # nats of all labels together, below which larger parameters would still gain


@dataclasses.dataclass(frozen=True)
class Additive:
    """What was fitted: a slope and intercepts for all rows, and what every group adds to them.

    Attributes
    ----------
    slope : float
        1 + s, the inverse temperature.
    intercepts : ndarray (k,)
        b.
    by_group : dict of str to ndarray (1 + k,), or None
        s_g and b_g.
    """

    slope: float
    intercepts: HostArray
    by_group: Mapping[str, HostArray] | None = None


def fit_additive(
    data: FitData,
    *,
    slope: bool,
    bias: bool,
    groups: Groups | None = None,
    penalty: float | None = None,
    start: Additive | None = None,
    rough: bool = False,
) -> tuple[Additive, Convergence]:
    """Fit the linear predictor by Newton steps.

    Parameters
    ----------
    data : FitData
        Log-probabilities and label counts.
    slope, bias : bool
        What is fitted: the inverse temperature, the intercepts, or both.
    groups : Groups, optional
        Fit the same for every group, as a difference to all.
    penalty : float, optional
        Ridge of the intercepts. Default: free for two classes, else `PRIOR`.
    start : Additive, optional
        A fit to nearly the same rows, from which two or three steps suffice.
    rough : bool
        Whether a thousandth of a nat, over all labels together, may be left to gain: for folds.

    Returns
    -------
    Additive, Convergence
        The map, and how the fit ended.
    """
    problem = _Problem(data, slope, bias, groups)
    whole = None
    if groups is not None and bias:  # what groups show beyond the map of all rows
        near = None if start is None else dataclasses.replace(start, by_group=None)
        whole, plain = fit_additive(data, slope=slope, bias=bias, penalty=penalty, start=near, rough=True)
        start = whole if start is None else start
    fitted, ended = problem.minimise(problem.ridges(penalty, whole), start, rough)
    if whole is not None:
        steps = plain.n_iterations + ended.n_iterations
        ended = dataclasses.replace(ended, loss_before=plain.loss_before, n_iterations=steps)
    return fitted, ended


class _Problem:
    """Loss, gradient and curvature of the penalised likelihood; classes lie along the first axis."""

    def __init__(self, data: FitData, slope: bool, bias: bool, groups: Groups | None) -> None:
        z, y = to_host(data.scores.values), to_host(data.counts)
        self.names: tuple[str, ...] = () if groups is None else groups.names
        self.slope, self.bias, self.k = slope, bias, z.shape[-1]
        # of two intercepts only the difference matters
        self.free = np.array([1]) if self.k == 2 else np.arange(self.k)
        self.width = slope + bias * len(self.free)
        self.members = 1 if z.ndim == 2 else z.shape[1]
        ends = np.array([len(z)])
        if groups is not None:  # rows of a group side by side
            order = np.argsort(groups.codes, kind="stable")
            z, y = z[order], y[order]
            ends = np.cumsum(np.bincount(groups.codes, minlength=len(self.names)))
        bounds = [0, *(self.members * ends)]
        self.parts = [slice(bounds[j], bounds[j + 1]) for j in range(len(ends))]
        self.z = np.ascontiguousarray(np.moveaxis(z, -1, 0)).reshape(self.k, -1)
        self.y = np.ascontiguousarray(y.T)
        if slope:
            remedy = "Use TemperatureScaling without groups, which leaves impossible classes alone."
            require_finite_logits(self.z, "a slope of log-probabilities", remedy)
        self.total = float(self.y.sum())
        if self.members == 1:
            self.weight = self.y.sum(axis=0)
            self.labels, self.constant = self._label_sums(self.y), float(np.vdot(self.y, self.z))
        else:
            shares = shares_of(data.member_weights, self.members)
            with np.errstate(divide="ignore"):
                self.log_shares = np.log(shares)

    def _label_sums(self, y: HostArray) -> HostArray:
        """Return the derivative of the labels' logits in the parameters, summed by group (g, p)."""
        sums = []
        for part in self.parts:
            slope = [np.vdot(y[:, part], self.z[:, part])] if self.slope else []
            sums.append(np.r_[slope, y[self.free, part].sum(axis=1) if self.bias else []])
        return np.array(sums)

    def ridges(self, penalty: float | None, whole: Additive | None) -> HostArray:
        """Return the ridge of every parameter, (1 + g, p): those of all rows first, whose map is `whole`."""
        intercept = penalty if penalty is not None else (FREE if self.k == 2 else PRIOR)
        of_all = np.r_[[FREE] if self.slope else [], np.full(len(self.free) * self.bias, intercept)]
        added = np.full((len(self.names), self.width), PRIOR)
        if self.bias and self.k > _MANY:
            off, spread = self._frequencies(self.z)
            of_all[int(self.slope) :][_quiet(off.sum(axis=0), spread.sum(axis=0))] = _FIXED
        if whole is not None:
            off, spread = self._frequencies(whole.slope * self.z + whole.intercepts[:, None])
            added[:, int(self.slope) :][_quiet(off[:, self.free], spread[:, self.free])] = _FIXED
        return np.vstack([of_all, added])

    def _frequencies(self, logits: HostArray) -> tuple[HostArray, HostArray]:
        """Return by group how far classes are off their predicted numbers, and the variances, (g, k) each."""
        p = softmax(logits.T).T
        y = self.y if self.members == 1 else np.repeat(self.y / self.members, self.members, axis=1)
        weight = y.sum(axis=0)
        off = np.array([p[:, at] @ weight[at] - y[:, at].sum(axis=1) for at in self.parts])
        spread = np.array([(p[:, at] * (1 - p[:, at])) @ weight[at] for at in self.parts])
        return off, spread

    def minimise(self, ridge: HostArray, start: Additive | None, rough: bool) -> tuple[Additive, Convergence]:
        """Take Newton steps, halved until the loss falls, until the next would gain next to nothing."""
        theta = self._begin(start)
        loss, curved, slope = self._moments(theta)
        first, before = loss, loss if start is None else math.nan
        value = loss + 0.5 * float((ridge * theta**2).sum())
        enough = _ROUGH if rough else _ENOUGH if self.members == 1 else _SHARED
        gain, steps = math.inf, 0
        while steps < _STEPS:
            steps += 1
            gradient = np.vstack([slope.sum(axis=0), slope[: len(self.names)]]) + ridge * theta
            step = _arrow_solved(curved, ridge, gradient)
            gain = 0.5 * float((step * gradient).sum())
            if gain < enough:
                theta, value = theta - step, value - gain
                break
            for _ in range(_HALVINGS):
                new = theta - step
                loss, curved, slope = self._moments(new)
                penalised = loss + 0.5 * float((ridge * new**2).sum())
                if penalised <= value + 1e-9:
                    break
                step = 0.5 * step
            theta, value = new, penalised
        loss = value - 0.5 * float((ridge * theta**2).sum())
        if loss < _SEPARATED < first:
            absent = np.flatnonzero(self.y.sum(axis=1) == 0)
            which = ", ".join(map(str, absent[:5]))
            reason = f"no label is of class {which}" if absent.size else "the classes can be separated"
            raise diverging(reason, 2.0 * gain / self.total, float(np.abs(step).max()))
        ended = Convergence(
            gain < enough,
            steps,
            2.0 * gain / self.total,
            before / self.total,
            loss / self.total,
            "Newton steps",
        )
        return self._additive(theta), ended

    def _begin(self, start: Additive | None) -> HostArray:
        theta = np.zeros((1 + len(self.names), self.width))
        if start is None:
            return theta
        columns = np.r_[[0] if self.slope else [], (1 + self.free) if self.bias else []].astype(int)
        theta[0] = np.r_[start.slope - 1.0, start.intercepts][columns]
        for j, name in enumerate(self.names, start=1):
            if start.by_group is not None and name in start.by_group:
                theta[j] = np.asarray(start.by_group[name])[columns]
        return theta

    def _additive(self, theta: HostArray) -> Additive:
        wide = np.zeros((len(theta), 1 + self.k))
        if self.slope:
            wide[:, 0] = theta[:, 0]
        if self.bias:
            wide[:, 1 + self.free] = theta[:, int(self.slope) :]
        by_group = dict(zip(self.names, wide[1:], strict=True)) if self.names else None
        return Additive(1.0 + float(wide[0, 0]), wide[0, 1:], by_group)

    def _moments(self, theta: HostArray) -> tuple[float, HostArray, HostArray]:
        """Return the loss of all labels, and by group curvature (g, p, p) and slope (g, p)."""
        maps = theta[0] + theta[1:] if self.names else theta[:1]
        logits = np.empty_like(self.z)
        for part, row in zip(self.parts, maps, strict=True):
            np.multiply(self.z[:, part], 1.0 + row[0] if self.slope else 1.0, out=logits[:, part])
            if self.bias:
                logits[self.free, part] += row[int(self.slope) :, None]
        top = logits.max(axis=0)
        logits -= top
        p = np.exp(logits)
        mass = p.sum(axis=0)
        p /= mass
        if self.members == 1:
            weight, labels = self.weight, self.labels
            loss = float(weight @ (top + np.log(mass))) - self.constant - float((maps * labels).sum())
        else:
            loss, y = self._shared_out(logits - np.log(mass))
            weight, labels = y.sum(axis=0), self._label_sums(y)
        curved = np.empty((len(self.parts), self.width, self.width))
        slope = np.empty((len(self.parts), self.width))
        for j, part in enumerate(self.parts):
            curved[j], slope[j] = self._curvature(p[:, part], weight[part], self.z[:, part])
        return loss, curved, slope - labels

    def _curvature(self, p: HostArray, weight: HostArray, z: HostArray) -> tuple[HostArray, HostArray]:
        """Return the Hessian, sum w (diag p - p p'), and what is predicted of the sums over labels."""
        curved, predicted = np.empty((self.width, self.width)), np.empty(self.width)
        weighted = p * weight
        at = int(self.slope)
        if self.bias:
            of_classes = weighted[self.free]
            predicted[at:] = of_classes.sum(axis=1)
            curved[at:, at:] = np.diag(predicted[at:]) - of_classes @ p[self.free].T
        if self.slope:
            weighted *= z
            mean = weighted.sum(axis=0)  # of z, times the weight
            predicted[0] = mean.sum()
            centre = np.divide(mean, weight, out=np.zeros_like(mean), where=weight > 0)
            curved[0, 0] = np.vdot(weighted, z) - mean @ centre
            if self.bias:
                cross = weighted[self.free].sum(axis=1) - p[self.free] @ mean
                curved[0, at:] = curved[at:, 0] = cross
        return curved, predicted

    def _shared_out(self, logs: HostArray) -> tuple[float, HostArray]:
        """Return the loss of the mean of members, and labels (k, n m) shared out by their likelihoods."""
        logs = logs.reshape(self.k, -1, self.members) + self.log_shares
        top = logs.max(axis=2, keepdims=True)
        mixed = np.exp(logs - top)
        mass = mixed.sum(axis=2, keepdims=True)
        loss = -float(np.vdot(self.y, (top + np.log(mass))[..., 0]))
        mixed *= self.y[:, :, None] / mass
        return loss, mixed.reshape(self.k, -1)


def _quiet(off: HostArray, spread: HostArray) -> HostArray:
    """Tell which of many frequencies are no further off than the largest of as many would be by chance."""
    shown = np.abs(off) / np.sqrt(spread + 0.25)
    quiet: HostArray = shown < max(math.sqrt(2.0 * math.log(shown.size)), 2.0)
    return quiet


def _arrow_solved(curved: HostArray, ridge: HostArray, gradient: HostArray) -> HostArray:
    """Return the Newton step (1 + g, p); a group's parameters meet others only through those of all rows."""
    whole = curved.sum(axis=0) + np.diag(ridge[0])
    if len(ridge) == 1:
        return np.linalg.solve(whole, gradient[0])[None, :]
    of_groups = curved + ridge[1:, :, None] * np.eye(curved.shape[1])
    # (H_g + R_g)^-1 of H_g and of the slope, one group after the other
    through = np.linalg.solve(of_groups, np.concatenate([curved, gradient[1:, :, None]], axis=2))
    left = whole - (curved @ through[:, :, :-1]).sum(axis=0)
    first = np.linalg.solve(left, gradient[0] - (curved @ through[:, :, -1:])[..., 0].sum(axis=0))
    return np.vstack([first, through[:, :, -1] - through[:, :, :-1] @ first])


def mapped_additively(
    predictions: ClassPredictions, fitted: Additive, groups: Groups | None, zero: float | None
) -> tuple[Array, tuple[str, ...]]:
    """Return the new logits of predictions, and a note on groups that the fit did not see."""
    values = scores_of(predictions, zero).values
    if fitted.by_group is None:
        return values * fitted.slope + like(fitted.intercepts, values), ()
    assert groups is not None
    all_rows = np.r_[fitted.slope, fitted.intercepts]
    table = np.array([all_rows + fitted.by_group.get(name, 0.0) for name in groups.names])
    rows = like(table[groups.codes], values)
    rows = rows if values.ndim == 2 else rows[:, None, :]
    return values * rows[..., :1] + rows[..., 1:], unseen_note(groups, fitted.by_group, "the map")


@dataclasses.dataclass(eq=False)
class AdditiveScaling(Recalibration):
    """What bias and Platt scaling share: settings, fit and map."""

    penalty: float | None = None
    slope: float = learned()
    intercepts: HostArray = learned("k", shown=True)
    by_group: dict[str, Any] | None = learned_by_group("k+1")
    takes_groups: ClassVar[bool] = True
    fits_slope: ClassVar[bool]
    """Whether log-probabilities are also multiplied."""

    def __post_init__(self) -> None:
        if self.penalty is not None:
            check_penalty(self.penalty, (), 2)

    @property
    def _found(self) -> Additive:
        return Additive(self.slope, self.intercepts, self.by_group)

    def describe(self) -> str:
        """Return the largest intercept, one of the other sign that is about as large, and the slope."""
        return self.in_words(None)

    def in_words(self, classes: Sequence[str] | None) -> str:
        """Return `describe` with the classes by their names."""
        centred = self.intercepts - (0.0 if len(self.intercepts) == 2 else self.intercepts.mean())
        worst = int(np.abs(centred).argmax())
        words = f"{self.method} scaling, {centred[worst]:+.3g} to the logit of {self._called(worst, classes)}"
        opposite = int((-np.sign(centred[worst]) * centred).argmax())
        if len(centred) > 2 and abs(centred[opposite]) > _ABOUT_AS_LARGE * abs(centred[worst]):
            words += f" and {centred[opposite]:+.3g} to that of {self._called(opposite, classes)}"
        words += f", slope {self.slope:.3g}" if self.fits_slope else ""
        return (
            words
            if self.by_group is None
            else f"{words}, with a difference for each of {len(self.by_group)} groups"
        )

    def _called(self, place: int, classes: Sequence[str] | None) -> str:
        name = str(place) if classes is None else classes[place]
        return "a right answer" if self.of_answers else f"class {name}" if name.isdigit() else name

    def _fit(self, data: FitData, seen: Any) -> Convergence:
        groups = None if seen is None else Groups.of(seen, len(data.predictions))
        start = None if self._near is None else self._near._found
        fitted, ended = fit_additive(
            data,
            slope=self.fits_slope,
            bias=True,
            groups=groups,
            penalty=self.penalty,
            start=start,
            rough=start is not None,
        )
        self.slope, self.intercepts = fitted.slope, fitted.intercepts
        self.by_group = None if fitted.by_group is None else dict(fitted.by_group)
        return ended

    def _map(self, predictions: ClassPredictions, seen: Any) -> ClassPredictions:
        groups = checked_groups(seen, self.by_group, len(predictions))
        values, notes = mapped_additively(predictions, self._found, groups, self.zero)
        return with_scores(predictions, values, self._note, *notes)


@dataclasses.dataclass(eq=False)
class BiasScaling(AdditiveScaling):
    """Add an intercept per class to the log-probabilities: softmax(log p + b), for all rows or by group.

    Parameters
    ----------
    penalty : float, optional
        Ridge of the intercepts, in nats of all labels together. Default: 1e-10 for two classes, so that
        predicted and observed frequencies agree, and 0.5 for more.

    Attributes
    ----------
    intercepts : ndarray (k,)
        b, set by `fit`; for two classes, the intercept of class 0 is 0.
    by_group : dict of str to ndarray (1 + k,), or None
        What every group adds: 0 for the slope, then the intercepts.
    slope : float
        1.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    Repairs a class that is predicted too often or too rarely. With `groups=`, a group's intercepts are
    shrunk towards those of all rows, by more the fewer labels it has; a group that the fit did not see gets
    the map of all rows, and a note says so. With more than 10 classes, and for more than two classes by
    group, only intercepts of classes whose frequency is off by more than chance explains are fitted.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> churn = rng.beta(1, 9, size=4000)
    >>> labels = (rng.random(4000) < churn).astype(int)
    >>> stated = cr.Point.from_logits(np.column_stack([np.zeros(4000), np.log(churn / (1 - churn)) + 2.0]))
    >>> scaling = cr.recalibrate.BiasScaling().fit(stated[:2000], labels[:2000])
    >>> -2.3 < scaling.intercepts[1] < -1.7
    np.True_
    """

    method: ClassVar[str] = "bias"
    fits_slope: ClassVar[bool] = False


@dataclasses.dataclass(eq=False)
class PlattScaling(AdditiveScaling):
    """Bias and temperature: softmax(a log p + b); for two classes, Platt's sigmoid of the logit.

    Parameters
    ----------
    penalty : float, optional
        Ridge of the intercepts, in nats of all labels together. Default: 1e-10 for two classes, 0.5 for more.

    Attributes
    ----------
    slope : float
        a, set by `fit`; below 1, the predictions were too extreme.
    intercepts : ndarray (k,)
        b; for two classes, the intercept of class 0 is 0.
    by_group : dict of str to ndarray (1 + k,), or None
        What every group adds to the slope and to the intercepts.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    For two classes this is the maximum-likelihood fit of P(event) = sigmoid(a logit(p) + b). Platt, and
    scikit-learn's ``method="sigmoid"`` with him, replace the labels 0 and 1 by 1 / (n_0 + 2) and (n_1 + 1) /
    (n_1 + 2), which pulls both parameters slightly towards 0; scikit-learn also fits probabilities instead of
    logits if the classifier has no decision function. Groups are treated as in `BiasScaling`.

    References
    ----------
    Platt, *Probabilistic outputs for support vector machines*, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> logit = rng.normal(size=4000)
    >>> labels = (rng.random(4000) < 1 / (1 + np.exp(-logit))).astype(int)
    >>> extreme = cr.Point.from_logits(np.column_stack([np.zeros(4000), 2.0 * logit + 1.0]))
    >>> scaling = cr.recalibrate.PlattScaling().fit(extreme[:2000], labels[:2000])
    >>> 0.4 < scaling.slope < 0.6
    True
    """

    method: ClassVar[str] = "platt"
    fits_slope: ClassVar[bool] = True
