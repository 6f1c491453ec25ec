"""Statistics of a part of the rows: two that smooth the same predictions estimate frequencies once."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.statistics.pairwise import in_single_precision
from credibly.statistics.smoother import SmootherBound
from credibly.statistics.subsampled import Subsampled

CHOSEN = np.arange(0, 60, 2)


def example() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=60)
    return probs, (rng.random((60, 1)) > probs.cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize(
    ("second", "products"),
    [
        (cr.kl_ce, 1),
        (cr.kl_ce.with_(bandwidth=0.3), 2),  # another kernel
        (in_single_precision(cr.kl_ce), 2),
    ],
)
def test_estimates_are_made_once(
    second: cr.Statistic, products: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    probs, labels = example()
    chosen = [Subsampled(one, CHOSEN) for one in (cr.kde_ce, second)]
    alone = [cr.calibration_test(probs, labels, statistics=[one], n_resamples=19, rng=0) for one in chosen]
    calls = []
    made = SmootherBound.meet

    def counted(self: SmootherBound, *arguments: object) -> object:
        calls.append(self)
        return made(self, *arguments)

    monkeypatch.setattr(SmootherBound, "meet", counted)
    both = cr.calibration_test(probs, labels, statistics=chosen, n_resamples=19, rng=0)
    assert len(calls) == products
    for own, result in zip(alone, both.components.values(), strict=True):
        (expected,) = own.components.values()
        assert result.statistic == expected.statistic
        assert np.array_equal(result.null_distribution, expected.null_distribution)


def test_another_part_shares_nothing() -> None:
    probs, _ = example()
    first = Subsampled(cr.kde_ce, CHOSEN).bind(cr.Point(probs)).shared
    assert Subsampled(cr.kl_ce, CHOSEN + 1).bind(cr.Point(probs)).shared != first
    assert Subsampled(cr.skce, CHOSEN).bind(cr.Point(probs)).shared is None
    assert Subsampled(cr.kl_ce, CHOSEN).bind(cr.Point(probs)).shared == first
