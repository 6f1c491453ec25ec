"""A statistic that these data cannot test is left out with its reason; the rest of the evaluation runs."""

from __future__ import annotations

import numpy as np

import credibly as cr


def test_an_infinite_default_statistic_is_left_out() -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.full(100, 0.05), size=1500)
    labels = (rng.random((1500, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    evaluation = cr.evaluate(probs, labels, n_resamples=39, rng=0)
    assert "infinite" in dict(evaluation.not_run)["test of kl_ce"]
    assert "kl_ce" not in evaluation.tests
    assert {"confidence_ece", "log_loss", "omnibus"} <= set(evaluation.tests)


def test_equal_draws_have_one_infinite_ence() -> None:
    mean = np.random.default_rng(0).normal(size=60)
    labels = mean + np.random.default_rng(1).normal(size=60)
    draws = cr.Samples(np.repeat(mean[:, None], 7, axis=1))
    assert (draws.variance() == 0).all()
    assert float(cr.statistics.ence(draws, labels)) == np.inf
    assert cr.calibration_test(draws, labels, statistics="ence", n_resamples=39, rng=0).statistic == np.inf
    evaluation = cr.evaluate(draws, labels, n_resamples=39, rng=0)
    assert evaluation.estimates["ence"].value == evaluation.tests["ence"].statistic == np.inf
    # draws that equal the labels make no errors: |0 - 0| in every bin
    assert float(cr.statistics.ence(draws, mean)) == 0.0
