"""Kernel and KDE errors on data that every clone holds: the formulas of make_kernel_numbers.py, run here.

The counterpart of test_kernel_numbers.py. That script uses NumPy and SciPy only.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax

import credibly as cr
from credibly_studies.kernel_estimators import linear_skce
from golden.make_kernel_numbers import BANDWIDTH, CLIP, kde, skce
from golden.shipped import MODELS, arrays

NAMES = (*MODELS, "remainders")


def given(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "remainders":
        held = arrays(name)
        return softmax(held["logits"].astype(float), axis=-1).mean(axis=1), held["labels"]
    held = arrays("digits")
    return held[name].astype(float)[:200], held["labels"][:200]


@pytest.mark.parametrize("name", NAMES)
def test_kernel_errors(name: str) -> None:
    probs, labels = given(name)
    expected = skce(probs, labels)
    for estimator, statistic in (("unbiased", cr.skce), ("linear", linear_skce)):
        value = statistic(probs, labels)
        assert float(value) == pytest.approx(expected[estimator], rel=1e-8, abs=1e-12)
        assert value.settings["bandwidth"] == pytest.approx(expected["median"], rel=1e-9)
    assert float(cr.mmd_ce(probs, labels)) == pytest.approx(expected["unbiased"], rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_smoothed_errors(name: str) -> None:
    probs, labels = given(name)
    expected = kde(probs, labels)
    found = {
        "kde_ce": cr.kde_ce(probs, labels, bandwidth=BANDWIDTH),
        "kde_ce_1": cr.kde_ce(probs, labels, bandwidth=BANDWIDTH, p=1),
        "kl_ce": cr.kl_ce(probs, labels, bandwidth=BANDWIDTH, clip=CLIP),
    }
    for key, value in found.items():
        assert float(value) == pytest.approx(expected[key], rel=1e-8), key


def test_a_double_loop_of_the_kernel_error() -> None:
    """Widmann et al. 2019, pair after pair, for what the matrices above share with the library."""
    probs, labels = given("remainders")
    probs, labels = probs[:40], labels[:40]
    total, bandwidth = 0.0, 0.3
    for i in range(40):
        for j in range(40):
            if i != j:
                kernel = math.exp(-math.dist(probs[i], probs[j]) / bandwidth)
                total += kernel * sum(
                    ((labels[i] == c) - probs[i, c]) * ((labels[j] == c) - probs[j, c]) for c in range(3)
                )
    value = float(cr.skce(probs, labels, bandwidth=bandwidth))
    assert value == pytest.approx(total / (40 * 39), rel=1e-9, abs=1e-13)
