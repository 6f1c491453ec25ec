"""Kernel errors at test locations, against loops written from the formula."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import credibly as cr

RNG = np.random.default_rng(2)
N = 30
MEAN, STD = RNG.normal(size=N), RNG.uniform(0.5, 1.5, size=N)
Y = MEAN + STD * RNG.normal(size=N)
UCME = cr.statistics.ucme


def test_several_members_against_a_loop() -> None:
    mean, std = np.stack([MEAN, MEAN + 1], axis=1), np.stack([STD, STD], axis=1)
    bound = UCME.bind(cr.Gaussian(mean, std), locations=3, label_bandwidth=0.7)
    total = 0.0
    for j, target in enumerate(bound.plan.targets):
        spread = np.hypot(0.7, std)
        expected = (0.7 / spread * np.exp(-((mean - target) ** 2) / (2 * spread**2))).mean(axis=1)
        seen = np.exp(-((Y - target) ** 2) / (2 * 0.49)) - expected
        total += float((bound.near[j] * seen).mean()) ** 2 / 3
    found = UCME(cr.Gaussian(mean, std), Y, locations=3, label_bandwidth=0.7).value
    assert found == pytest.approx(total, abs=1e-14)


def test_the_worst_location_is_where_labels_are_off() -> None:
    rng = np.random.default_rng(0)
    mean = rng.uniform(-3, 3, size=2000)
    labels = mean + rng.normal(size=2000) + 1.5 * (mean > 2)
    given = cr.Gaussian(mean, np.ones(2000))
    bound = UCME.bind(given)
    seen, error = bound.witness(bound.observed_sums(UCME.labels(given, labels)))
    worst = int(np.argmax(np.abs(seen / error)))
    assert bound.plan.places[worst, 0] > 1.5
    (note,) = [one for one in UCME(given, labels).notes if "standard errors" in one]
    assert f"mean {bound.plan.places[worst, 0]:.4g}" in note


def test_every_kind_is_tested() -> None:
    levels = np.array([0.1, 0.5, 0.9])
    table = MEAN[:, None] + STD[:, None] * norm.ppf(levels)
    probs = np.random.default_rng(1).dirichlet(np.ones(3), size=N)
    for given, labels in (
        (cr.Gaussian(MEAN + 3, STD), Y),
        (cr.Quantiles(table + 3, levels), Y),
        (probs, probs.argmin(axis=1)),
    ):
        found = cr.calibration_test(given, labels, statistics=UCME, n_resamples=99, rng=0)
        assert found.pvalue == 0.01


def test_bad_input() -> None:
    for wrong in (0, True, 10**6, ((1.0, 2.0),), ((1.0, 2.0), (1.0,)), "many", ()):
        with pytest.raises(cr.CrediblyError, match=r"locations|types that its documentation"):
            UCME.with_(locations=wrong)
    with pytest.raises(cr.InputError, match="must have 3 numbers each"):
        UCME(cr.Gaussian(MEAN, STD), Y, locations=((0.0, 1.0, 2.0, 3.0),))
    with pytest.raises(cr.InputTypeError, match=r"got Samples\. Use `skce`"):
        UCME(cr.Samples(np.zeros((3, 2))), [0.0, 1.0, 2.0])


def test_weights_and_the_order_of_members_choose_the_same_locations() -> None:
    rng = np.random.default_rng(59)
    mean, std, y = rng.normal(size=(59, 3)), rng.uniform(0.5, 2.0, size=(59, 3)), rng.normal(size=59)
    weights = np.arange(59) % 4
    ucme = cr.statistics.ucme
    weighted = float(ucme(cr.Gaussian(mean, std), y, sample_weight=weights))
    copies = cr.Gaussian(mean.repeat(weights, axis=0), std.repeat(weights, axis=0))
    assert weighted == pytest.approx(float(ucme(copies, y.repeat(weights))), rel=1e-9)
    turned = float(ucme(cr.Gaussian(mean[:, ::-1], std[:, ::-1]), y))
    assert turned == pytest.approx(float(ucme(cr.Gaussian(mean, std), y)), rel=1e-9)
