"""Members that are drawn labels are one-hot rows: they are tested as draws, and form no set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr


def world(n: int = 60, m: int = 30, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draws (n, m) and labels (n,) of the same distributions."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(0.3 * np.ones(k), size=n)
    every = (rng.random((n, m + 1, 1)) > probs[:, None].cumsum(axis=2)).sum(axis=2).clip(0, k - 1)
    return every[:, 1:], every[:, 0]


def test_every_label_is_pooled_with_its_draws() -> None:
    drawn, labels = world()
    ensemble = cr.Ensemble(np.eye(3)[drawn])
    result = cr.calibration_test(ensemble, labels, statistics="brier", rng=3)
    pool = np.eye(3)[np.concatenate([labels[:, None], drawn], axis=1)].mean(axis=1)
    alone = cr.calibration_test(pool, labels, statistics="brier", rng=3)
    assert result.statistic == pytest.approx(alone.statistic)
    assert result.pvalue == alone.pvalue
    assert any("taken as 30 drawn labels" in note for note in result.notes)
    check = cr.predictive_check(ensemble, labels, statistics=["brier"], rng=3)
    assert check.independent.checks["brier"].pvalue == pytest.approx(
        cr.predictive_check(pool, labels, statistics=["brier"], hypothesis="independent", rng=3)
        .checks["brier"]
        .pvalue
    )
    assert check.m == 30


def test_chunks_and_clusters_are_pooled_alike() -> None:
    drawn, labels = world()
    ensemble = cr.Ensemble(np.eye(3)[drawn])
    pool = np.eye(3)[np.concatenate([labels[:, None], drawn], axis=1)].mean(axis=1)
    clusters = np.arange(60) // 3
    result = cr.calibration_test(ensemble, labels, statistics="brier", clusters=clusters, rng=0)
    assert (
        result.pvalue
        == cr.calibration_test(pool, labels, statistics="brier", clusters=clusters, rng=0).pvalue
    )


@pytest.mark.parametrize("test", [cr.credal_test, cr.hypotests.witness_test, cr.hypotests.weights_test])
def test_drawn_labels_form_no_set(test: object) -> None:
    drawn, labels = world()
    with pytest.raises(cr.UnsupportedError, match="all 30 members are certain of one class, as drawn labels"):
        test(cr.Ensemble(np.eye(3)[drawn]), labels)


def test_an_evaluation_of_drawn_labels_tests_no_set(tmp_path: Path) -> None:
    drawn, labels = world(n=200, m=40)
    labels[0] = next(c for c in range(3) if c not in drawn[0])  # no draw had this class
    evaluation = cr.evaluate(cr.Ensemble(np.eye(3)[drawn]), labels, n_resamples=99, rng=0)
    assert "members are drawn labels" in dict(evaluation.not_run)["test of the set"]
    assert "probability 0" not in str(evaluation)
    evaluation.report(tmp_path / "page.html")


@pytest.mark.parametrize("m", [5, 20])
def test_few_drawn_labels_of_a_right_model_are_no_overconfidence(m: int) -> None:
    # the mean of 5 drawn labels says 68 % where a right model is right 55 % of the time
    drawn, labels = world(n=400, m=m, seed=m)
    assert cr.diagnose(cr.Ensemble(np.eye(3)[drawn]), labels, n_resamples=199).word != "conflict"
    noise = np.random.default_rng(m).integers(3, size=400)
    assert cr.diagnose(cr.Ensemble(np.eye(3)[drawn]), noise, n_resamples=199).word == "conflict"


@pytest.mark.parametrize("m", [20, 50, 200])
def test_reports_of_joint_draws(m: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(m)
    centre = rng.normal(size=150)
    draws = cr.Samples(centre[:, None, None] + rng.normal(size=(150, m, 1)))
    evaluation = cr.evaluate(draws, centre + rng.normal(size=150), n_resamples=99, rng=0)
    evaluation.report(tmp_path / "page.html")


def test_what_counts_as_drawn_labels() -> None:
    drawn, _ = world(n=5, m=4)
    one_hot = np.eye(3)[drawn]
    assert cr.Ensemble(one_hot).holds_drawn_labels
    assert not cr.Ensemble(one_hot, weights=[0.1, 0.2, 0.3, 0.4]).holds_drawn_labels
    assert not cr.Ensemble(0.99 * one_hot + 0.01 / 3).holds_drawn_labels
    # the corners of the simplex are a set that holds everything
    assert not cr.Ensemble(np.tile(np.eye(3), (5, 1, 1))).holds_drawn_labels
