"""One table says what every statistic takes: it is read off the statistics, and calls agree with it."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import Classes, Dataset, Reals
from credibly.statistics.linear import Linear, LinearStatistic
from credibly.statistics.protocol import Plan, Story, Traits
from credibly.statistics.real_kernels import pooled_with
from credibly.statistics.regression import REAL_TRAITS
from credibly.statistics.rights import RIGHTS, _examples, rights, that_take
from credibly.statistics.terms import Means

EXAMPLES = _examples()
CASES = [(name, kind) for name in cr.statistics.registered() for kind in rights(name)]
CLUSTERS = np.arange(48) % 8


def test_every_statistic_has_a_row_for_some_kind() -> None:
    assert {name for name, _ in CASES} == set(cr.statistics.registered())
    assert all(tuple(granted) == RIGHTS for name, _ in CASES for granted in rights(name).values())


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_calls_are_accepted_and_refused_as_the_table_says(name: str, kind: str) -> None:
    granted, (predictions, batch) = rights(name)[kind], EXAMPLES[kind]
    labels = batch.values[0]
    statistic = cr.statistics.registered()[name]

    def accepted(**options: object) -> bool:
        try:
            cr.calibration_test(predictions, labels, statistics=name, n_resamples=19, rng=0, **options)
        except cr.UnsupportedError:
            return False
        return True

    assert accepted() is granted["tests"]
    assert accepted(clusters=CLUSTERS) is granted["clusters"]
    weighted = statistic(predictions, labels, sample_weight=np.ones(48))
    assert granted["weights"]
    assert weighted.value == pytest.approx(statistic(predictions, labels).value, rel=1e-9, abs=1e-12)
    assert (statistic(predictions, labels).stderr is not None) is granted["interval"]
    counts = cr.LabelCounts(1 + np.arange(144).reshape(48, 3) % 4)
    if granted["label counts"]:
        assert np.isfinite(statistic(predictions, counts).value)
    elif kind == "classes":
        with pytest.raises(cr.UnsupportedError):
            statistic(predictions, counts)


def test_the_page_is_current() -> None:
    path = Path(__file__).resolve().parents[3] / "tools" / "make_rights_page.py"
    spec = importlib.util.spec_from_file_location("make_rights_page", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run python tools/make_rights_page.py"


def test_a_refusal_names_the_statistics_that_have_the_right() -> None:
    predictions, batch = EXAMPLES["classes"]
    with pytest.raises(cr.UnsupportedError) as refused:
        cr.calibration_test(predictions, batch.values[0], statistics="kl_ce", clusters=CLUSTERS, rng=0)
    named = str(refused.value).rpartition("Use ")[2]
    assert all(name in named for name in that_take("clusters", "classes"))
    assert "kl_ce" not in named


@pytest.mark.parametrize(
    "name", ["rmse", "mae", "crps", "gaussian_log_loss", "interval_score", "picp", "spread_ratio"]
)
def test_what_a_normal_prediction_expects_of_a_loss(name: str) -> None:
    """Mean and variance of the loss of 200 000 labels drawn from the prediction, by brute force."""
    gaussian = cr.Gaussian([1.0, -2.0, 0.3], [0.5, 2.0, 1.0])
    bound = cr.statistics.registered()[name].bind(gaussian)
    assert isinstance(bound, Linear)
    drawn = np.random.default_rng(3).normal(gaussian.mean, gaussian.std, size=(200_000, 3))
    losses = bound.terms.contributions(Reals(drawn))
    mean, variance = (one[:, 0] for one in (bound.terms.mean, bound.terms.variance))
    error = losses.std(axis=0) / np.sqrt(200_000)
    assert np.abs(losses.mean(axis=0) - mean).max() <= 5 * error.max()
    np.testing.assert_allclose(losses.var(axis=0), variance, rtol=0.03)


def test_what_a_mixture_expects_of_squared_errors() -> None:
    gaussian = cr.Gaussian([[0.0, 3.0]], [[1.0, 0.5]], weights=[0.25, 0.75])
    bound = cr.rmse.bind(gaussian)
    assert isinstance(bound, Linear)
    rng = np.random.default_rng(4)
    member = rng.random(200_000) < 0.75
    drawn = np.where(member, rng.normal(3.0, 0.5, 200_000), rng.normal(0.0, 1.0, 200_000))[:, None]
    losses = bound.terms.contributions(Reals(drawn))
    mean, variance = bound.terms.mean, bound.terms.variance
    assert mean[0, 0] == pytest.approx(losses.mean(), rel=0.01)
    assert variance[0, 0] == pytest.approx(losses.var(), rel=0.03)
    assert rights("mae")["Gaussian"]["clusters"]
    mixed = cr.Gaussian(np.zeros((48, 2)), np.ones((48, 2)))
    with pytest.raises(cr.UnsupportedError, match="with clusters"):  # of mixtures its mean is not known
        cr.calibration_test(mixed, np.zeros(48), statistics="mae", clusters=CLUSTERS, rng=0)


class _Signs(Means):
    """Labels above the mean of the draws: terms that say nothing of pools."""

    def __init__(self, predictions: cr.Samples) -> None:
        self.n, self.centre = len(predictions), predictions.expectation()

    @property
    def reference(self) -> np.ndarray:
        return self.centre

    def contributions(self, labels: Reals) -> np.ndarray:
        return (labels.values > self.centre[None, :]).astype(float)


@dataclasses.dataclass(frozen=True)
class _Above(LinearStatistic):
    name: ClassVar[str] = "above"
    reference: ClassVar[str] = "-"
    traits: ClassVar[Traits] = dataclasses.replace(REAL_TRAITS, range=(0.0, 1.0))
    story: ClassVar[Story] = Story("Above", "Share of labels above the mean of their draws.")

    def terms(self, predictions: cr.Samples, plan: Plan) -> _Signs:
        return _Signs(predictions)


def test_own_terms_of_draws_are_made_anew_for_every_choice() -> None:
    """A label that takes the place of a draw changes the mean: the share by hand, choice by choice."""
    draws, seen = np.array([[0.0, 1.0], [4.0, 6.0]]), np.array([2.0, 5.5])
    samples = cr.Samples(draws, member_axis=1)
    pooled = pooled_with(Dataset(samples, seen), draws)
    bound = _Above().bind(samples).of_pool(pooled.predictions, None)
    # 2 > 0.5 and 5.5 > 5; then 0 of (2, 1) and 6 of (4, 5.5); then 1 of (0, 2) and 4 of (5.5, 6)
    assert bound(Classes(np.array([[0, 0], [1, 2], [2, 1]], dtype=np.uint8), 3)).tolist() == [1.0, 0.5, 0.0]
    assert cr.calibration_test(samples, seen, statistics=_Above(), n_resamples=19, rng=0).pvalue > 0.05
