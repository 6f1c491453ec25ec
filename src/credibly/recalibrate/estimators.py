"""For scikit-learn: recalibrations as estimators, and statistics as scorers.

Importing this module needs scikit-learn; nothing else here does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, MissingExtraError, one_of
from credibly._arrays.namespace import HostArray
from credibly.predictions import Point
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.files import named_recalibration
from credibly.statistics import Statistic
from credibly.statistics.registry import as_statistic

Scorer = Callable[[Any, Any, Any], float]


def scorer(statistic: str | Statistic) -> Scorer:
    """Return a statistic as a scikit-learn scorer: larger is better, so errors and losses are negated.

    Parameters
    ----------
    statistic : str or Statistic
        What to compute from `predict_proba` and the labels.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, for ``scoring=`` of scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from credibly.recalibrate.estimators import scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> bool((cross_val_score(GaussianNB(), X, y, scoring=scorer("confidence_ece")) < 0).all())
    True
    """
    return StatisticScorer(as_statistic(statistic))


class StatisticScorer:
    """A statistic of `predict_proba` and labels; made by `scorer`."""

    def __init__(self, statistic: Statistic) -> None:
        self.statistic = statistic

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the statistic, negated unless larger is better."""
        probs = Point(np.asarray(estimator.predict_proba(X)))
        classes = np.asarray(estimator.classes_)
        known = np.isin(y, classes)
        if not known.all():
            raise InputError(
                "`y`",
                "must hold classes of the estimator",
                f"{int((~known).sum())} of {len(known)} labels are not among them",
                "Use folds that contain every class (StratifiedKFold).",
            )
        labels = np.searchsorted(classes, np.asarray(y))
        value = float(self.statistic(probs, labels, sample_weight=sample_weight))
        return value if self.statistic.name == "accuracy" else -value

    def __repr__(self) -> str:
        return f"scorer({self.statistic.name!r})"


try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.model_selection import cross_val_predict
    from sklearn.utils import assert_all_finite, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtraError(
        "`credibly.recalibrate.estimators`",
        "needs scikit-learn 1.6 or later",
        str(error),
        "Install it: `pip install credibly[sklearn]`.",
    ) from error

__all__ = ["ArrayRecalibrator", "RecalibratedClassifier", "scorer"]


class _Recalibrated(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What both classifiers do once they are fitted."""

    classes_: HostArray
    recalibration_: Recalibration

    def predict_proba(self, X: Any) -> HostArray:
        """Return recalibrated probabilities.

        Parameters
        ----------
        X : array (n, d)
            What `fit` takes.

        Returns
        -------
        ndarray (n, k)
            One distribution per row.
        """
        check_is_fitted(self)
        # scikit-learn itself predicts on the data of a fit, which is no news there
        made = self.recalibration_._map(self._checked(X), self.recalibration_._used(None, None))
        return np.asarray(made.mean().probs)

    def predict(self, X: Any) -> HostArray:
        """Return the most probable class of every row.

        Parameters
        ----------
        X : array (n, d)
            What `fit` takes.

        Returns
        -------
        ndarray (n,)
            Classes.
        """
        probs = self.predict_proba(X)  # which says so if there was no fit
        return np.asarray(self.classes_[probs.argmax(axis=1)])

    def _checked(self, X: Any) -> Point:
        """Return predictions of rows that were checked."""
        raise NotImplementedError


class ArrayRecalibrator(_Recalibrated):
    """Recalibrate arrays of probabilities or logits, as a scikit-learn classifier.

    Parameters
    ----------
    recalibration : str or Recalibration
        A name (joined by ``+`` to apply one after the other) or an unfitted object; it must return one
        distribution per instance.
    input : {"probs", "logits"}
        What the columns of ``X`` are, one per class in sorted order.

    Attributes
    ----------
    classes_ : ndarray (k,)
        The classes, sorted; one per column of ``X``.
    recalibration_ : Recalibration
        The fitted recalibration.

    Examples
    --------
    >>> import numpy as np
    >>> from credibly.recalibrate.estimators import ArrayRecalibrator
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(500, 2))
    >>> y = np.where(rng.random(500) < 1 / (1 + np.exp(logits[:, 1] - logits[:, 0])), "no", "yes")
    >>> model = ArrayRecalibrator(input="logits").fit(3 * logits, y)
    >>> bool(2.0 < model.recalibration_.temperature < 4.5)
    True
    """

    def __init__(self, recalibration: str | Recalibration = "temperature", *, input: str = "probs") -> None:
        self.recalibration = recalibration
        self.input = input

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ArrayRecalibrator:
        """Fit the recalibration.

        Parameters
        ----------
        X : array (n, k)
            Probabilities or logits.
        y : array (n,)
            Labels of any kind; every column of ``X`` is one of the sorted classes.
        sample_weight : array (n,), optional
            Weights of the instances.

        Returns
        -------
        ArrayRecalibrator
            The object itself.
        """
        one_of("`input`", self.input, ("probs", "logits"))
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) != X.shape[1]:
            rule = f"must have one column per class of `y` ({len(self.classes_)})"
            remedy = (
                "Fit on labels that contain every class, or leave out columns of classes that never occur."
            )
            raise InputError("`X`", rule, f"got {X.shape[1]}", remedy)
        self.recalibration_ = _unfitted(self.recalibration)
        self.recalibration_.fit(self._predictions(X), labels, sample_weight=sample_weight)
        return self

    def _checked(self, X: Any) -> Point:
        return self._predictions(validate_data(self, X, dtype=np.float64, reset=False))

    def _predictions(self, X: HostArray) -> Point:
        return Point.from_logits(X) if self.input == "logits" else Point(X)


class RecalibratedClassifier(MetaEstimatorMixin, _Recalibrated):  # type: ignore[misc]
    """A classifier whose probabilities are recalibrated on data it was not fitted on.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba`.
    recalibration : str or Recalibration
        A name (joined by ``+`` to apply one after the other) or an unfitted object.
    cv : int, cross-validation splitter or "prefit"
        How out-of-fold predictions are made; the classifier itself is then fitted on all data. "prefit" uses
        a classifier that is already fitted; ``X, y`` must then be data it has not seen.

    Attributes
    ----------
    classes_ : ndarray (k,)
        The classes.
    estimator_ : estimator
        The fitted classifier.
    recalibration_ : Recalibration
        The fitted recalibration.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from credibly.recalibrate.estimators import RecalibratedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RecalibratedClassifier(GaussianNB(), cv=3).fit(X, y).predict_proba(X).shape
    (150, 3)
    """

    def __init__(
        self, estimator: Any, recalibration: str | Recalibration = "temperature", *, cv: Any = 5
    ) -> None:
        self.estimator = estimator
        self.recalibration = recalibration
        self.cv = cv

    def fit(self, X: Any, y: Any) -> RecalibratedClassifier:
        """Fit classifier and recalibration.

        Parameters
        ----------
        X : array (n, d)
            What the classifier takes.
        y : array (n,)
            Labels.

        Returns
        -------
        RecalibratedClassifier
            The object itself.
        """
        y = column_or_1d(y, warn=True)
        assert_all_finite(y)
        check_classification_targets(y)
        if isinstance(self.cv, str) and self.cv == "prefit":
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            held_out = _predictions(self.estimator_, lambda method: getattr(self.estimator_, method)(X))
        else:
            held_out = _predictions(
                self.estimator,
                lambda method: cross_val_predict(clone(self.estimator), X, y, cv=self.cv, method=method),
            )
            self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        labels = np.searchsorted(self.classes_, y)
        self.recalibration_ = _unfitted(self.recalibration).fit(held_out, labels)
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def _checked(self, X: Any) -> Point:
        return _predictions(self.estimator_, lambda method: getattr(self.estimator_, method)(X))


def _predictions(estimator: Any, predict: Callable[[str], Any]) -> Point:
    """Return predictions from log-probabilities where they are finite: probabilities saturate."""
    if hasattr(estimator, "predict_log_proba"):
        with np.errstate(divide="ignore"):
            logs = np.asarray(predict("predict_log_proba"), dtype=np.float64)
        if np.isfinite(logs).all():
            return Point.from_logits(logs)
    return Point(np.asarray(predict("predict_proba")))


def _unfitted(recalibration: str | Recalibration) -> Recalibration:
    return named_recalibration(recalibration) if isinstance(recalibration, str) else recalibration.unfitted()
