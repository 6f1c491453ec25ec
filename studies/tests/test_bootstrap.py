"""Tests as papers print them: instances are bootstrapped, and their labels are drawn anew."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.philox import Stream, Uniforms, as_seed
from credibly.hypotests.resampling.replicates import Replicates
from credibly_studies.bootstrap import bootstrap_test
from optional import torch

NAMES = ["brier", "skce", "classwise_ece"]


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=80)
    return probs, (rng.random((80, 1)) > probs.cumsum(axis=1)).sum(axis=1)


def test_instances_are_bootstrapped_with_their_labels_drawn_anew(data: tuple) -> None:
    probs, labels = data
    result = bootstrap_test(probs, labels, statistics="classwise_ece", n_resamples=15, rng=4)
    seed = as_seed(4)
    for d in range(15):
        rows = (Uniforms(seed, Stream.ROWS).draw(slice(d, d + 1), slice(0, 80))[0] * 80).astype(int)
        assert len(set(rows.tolist())) < 80  # with replacement
        drawn = Replicates(probs[rows], seed).labels(slice(d, d + 1)).values[0].astype(int)
        assert result.null_distribution[d] == pytest.approx(float(cr.classwise_ece(probs[rows], drawn)))
    assert result.statistic == pytest.approx(float(cr.classwise_ece(probs, labels)))
    assert result.settings["resample"] == "instances"


def test_instances_of_an_ensemble(data: tuple) -> None:
    probs, labels = data
    members = np.stack([probs, probs[:, ::-1]], axis=1)
    result = bootstrap_test(members, labels, statistics="confidence_ece", n_resamples=9, rng=0)
    assert result.null_distribution.shape == (9,)


def test_torch_has_the_same_p_values(data: tuple) -> None:
    settings = {"statistics": NAMES, "n_resamples": 3, "rng": 5}
    few = data[0][:30], data[1][:30]
    result = bootstrap_test(*few, **settings)
    other = bootstrap_test(*map(torch.from_numpy, few), **settings)
    assert other.pvalue == result.pvalue
    for name in NAMES:
        assert other.components[name].pvalue == result.components[name].pvalue
        null = result.components[name].null_distribution
        assert np.allclose(other.components[name].null_distribution, null, rtol=1e-10)


def test_real_values_are_refused() -> None:
    gaussian = cr.Gaussian(np.zeros(9), np.ones(9))
    with pytest.raises(cr.UnsupportedError, match="reproduces results of the papers"):
        bootstrap_test(gaussian, np.zeros(9), statistics="crps")
