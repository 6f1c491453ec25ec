"""The scikit-learn side: its own checks of estimators, pipelines, grid search and scorers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn")

from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import credibly as cr
from credibly.recalibrate.estimators import ArrayRecalibrator, RecalibratedClassifier, scorer
from recalibrations import world


@pytest.mark.slow
def test_a_recalibrated_classifier_meets_the_checks_of_scikit_learn() -> None:
    results = check_estimator(
        RecalibratedClassifier(
            GaussianNB(), cr.recalibrate.VectorScaling(penalty=1.0, weight_penalty=1.0), cv=2
        ),
        on_skip=None,
        on_fail=None,
    )
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed, failed
    assert sum(result["status"] == "passed" for result in results) > 30


def test_arrays_of_probabilities_and_logits() -> None:
    probs, labels = world(600)
    names = np.array(["a", "b", "c"])[labels]
    fitted = cr.recalibrate.TemperatureScaling().fit(probs[:400], labels[:400])
    model = ArrayRecalibrator().fit(probs[:400], names[:400])
    assert np.allclose(model.predict_proba(probs[400:]), fitted.apply(probs[400:]).probs)
    assert set(model.predict(probs[400:])) <= {"a", "b", "c"}
    logits = ArrayRecalibrator(input="logits").fit(np.log(probs[:400]), names[:400])
    assert logits.recalibration_.temperature == pytest.approx(fitted.temperature, rel=1e-9)
    weighted = ArrayRecalibrator("vector+temperature").fit(probs, names, sample_weight=np.ones(600))
    assert weighted.predict_proba(probs).shape == (600, 3)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(cr.InputError, match=r"one column per class of `y` \(2\); got 3"):
        ArrayRecalibrator().fit(probs[labels < 2], labels[labels < 2])
    with pytest.raises(cr.InputError, match="`input` must be one of"):
        ArrayRecalibrator(input="scores").fit(probs, names)


def test_out_of_fold_recalibration_lowers_the_log_loss() -> None:
    X, y = load_digits(return_X_y=True)
    plain = GaussianNB().fit(X[:900], y[:900])
    better = RecalibratedClassifier(GaussianNB()).fit(X[:900], y[:900])
    losses = [float(cr.log_loss(one.predict_proba(X[900:]), y[900:])) for one in (plain, better)]
    assert losses[1] < losses[0] / 2  # naive Bayes is far too sure of itself
    assert np.array_equal(better.predict(X[900:]), plain.predict(X[900:]))


def test_a_fitted_classifier_is_left_as_it_is() -> None:
    X, y = load_digits(return_X_y=True)
    plain = GaussianNB().fit(X[:600], y[:600])
    better = RecalibratedClassifier(plain, cv="prefit").fit(X[600:1200], y[600:1200])
    assert better.estimator_ is plain
    logits = plain.predict_log_proba(X[600:1200])  # many of its probabilities are stored as 0
    fitted = cr.recalibrate.TemperatureScaling().fit(cr.Point.from_logits(logits), y[600:1200])
    assert better.recalibration_.temperature == fitted.temperature


def test_methods_can_be_searched() -> None:
    X, y = load_iris(return_X_y=True)
    model = RecalibratedClassifier(GaussianNB(), cv=3)
    grid = {
        "recalibration": ["temperature", cr.recalibrate.VectorScaling(penalty=1.0, weight_penalty=1.0)],
        "estimator__var_smoothing": [1e-9, 1],
    }
    search = GridSearchCV(model, grid, scoring=scorer("log_loss"), cv=3).fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert len(search.cv_results_["params"]) == 4


def test_scorers_agree_with_the_statistics() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["x", "y", "z"])[y]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, names)
    probs = model.predict_proba(X)
    assert scorer("brier")(model, X, names) == -float(cr.brier(probs, y))
    assert scorer("accuracy")(model, X, names) == model.score(X, names)
    binned = scorer(cr.classwise_ece.with_(n_bins=5))
    assert binned(model, X, names) == -float(cr.classwise_ece(probs, y, n_bins=5))
    assert repr(binned) == "scorer('classwise_ece')"
    assert cross_val_score(model, X, names, scoring=scorer("log_loss")).shape == (5,)
    with pytest.raises(cr.InputError, match="150 of 150 labels are not among them"):
        scorer("brier")(model, X, y)


@pytest.mark.slow
def test_without_scikit_learn_the_error_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import credibly\n"
        "try:\n    import credibly.recalibrate.estimators\n"
        "except credibly.MissingExtraError as error:\n    print(error)\n"
    )
    source = Path(__file__).resolve().parents[3] / "src"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip install credibly[sklearn]" in done.stdout
