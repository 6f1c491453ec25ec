"""Statistics as scorers of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly.predictions import Point
from credibly.statistics import Statistic, as_statistic

Scorer = Callable[[Any, Any, Any], float]


def scorer(statistic: str | Statistic) -> Scorer:
    """Return a statistic as a scikit-learn scorer: larger is better, so errors and losses come negated.

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
    >>> from credibly.recalibration.estimators import scorer
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
                f"{int((~known).sum())} of {len(known)} labels are others",
                "Use folds that hold every class (StratifiedKFold).",
            )
        labels = np.searchsorted(classes, np.asarray(y))
        value = float(self.statistic(probs, labels, sample_weight=sample_weight))
        return value if self.statistic.name == "accuracy" else -value

    def __repr__(self) -> str:
        return f"scorer({self.statistic.name!r})"
