"""Parts of one evaluation that draw the same labels share the sums over them; nothing else does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.remembered import remembering
from credibly.hypotests.resampling import loop

RNG = np.random.default_rng(3)
MEAN = RNG.normal(size=(40, 2))
REALS = cr.Gaussian(MEAN, np.ones((40, 2)))
NUMBERS = MEAN[:, 0] + RNG.normal(size=40)
PROBS = RNG.dirichlet(np.ones(3), size=(40, 2))
MEMBERS = cr.Ensemble(PROBS, member_axis=1)
CLASSES = RNG.integers(3, size=40)
SHARED = {"n_resamples": 19, "rng": 5}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the passes over labels."""
    passes: list[int] = []
    before = loop.label_tiles

    def counted(*arguments: Any) -> Any:
        passes.append(1)
        return before(*arguments)

    monkeypatch.setattr(loop, "label_tiles", counted)
    return passes


def _parts(seed: int = 5) -> list[Any]:
    drawn = {"n_resamples": 19, "rng": seed}
    return [
        cr.calibration_test(
            REALS, NUMBERS, statistics=["crps", "quantile_calibration_error"], **drawn
        ).to_dict(),
        cr.pit_test(REALS, NUMBERS, **drawn).to_dict(),
        cr.coverage_curve(REALS, NUMBERS, **drawn).to_dict(),
        cr.predictive_check(REALS, NUMBERS, statistics=["crps"], hypothesis="independent", **drawn).to_dict(),
    ]


def test_labels_are_drawn_once_and_numbers_stay(drawn: list[int]) -> None:
    alone = _parts()
    assert len(drawn) == 4
    drawn.clear()
    with remembering():
        assert _parts() == alone
        assert len(drawn) == 1
        _parts(seed=6)
        assert len(drawn) == 2


def test_other_labels_and_hypotheses_have_their_own(drawn: list[int]) -> None:
    asked = {"statistics": ["brier"], **SHARED}
    with remembering():
        rows = cr.predictive_check(MEMBERS, CLASSES, hypothesis="independent", **asked)
        other = cr.predictive_check(MEMBERS, CLASSES[::-1], hypothesis="independent", **asked)
        cr.predictive_check(MEMBERS, CLASSES, hypothesis="bayesian", **asked)
    assert len(drawn) == 3
    assert rows.checks["brier"].statistic != other.checks["brier"].statistic


def test_sums_of_many_cells_are_not_kept(drawn: list[int]) -> None:
    asked = {"statistics": ["quantile_calibration_error"], "n_resamples": 29, "rng": 5}
    with cr.memory_limit(2**20), remembering():  # 30 x 201 sums of 8 bytes are more than a part in 32
        for _ in range(2):
            cr.calibration_test(REALS, NUMBERS, **asked)
    assert len(drawn) == 2
