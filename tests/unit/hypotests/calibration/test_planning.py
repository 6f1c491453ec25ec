"""Plans of how many labels are needed keep what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

import credibly as cr

Z, POWER = 1.959963985, 0.841621234  # quantiles of the normal at 97.5 % and 80 %


def drawn(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.minimum((rng.random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1), probs.shape[1] - 1)


@pytest.fixture(scope="module")
def probs() -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(3), size=300)


def test_the_formulas(probs: np.ndarray) -> None:
    c = probs.max(axis=1)
    plan = cr.plan_labels(probs, width=0.05, gap=0.03)
    spread = np.mean(c * (1 - c))
    assert plan.aims["width"] == np.ceil((2 * Z / 0.05) ** 2 * spread)
    moved = [np.clip(c + shift, 0, 1) for shift in (-0.03, 0.03)]
    each = [((Z * spread**0.5 + POWER * np.mean(m * (1 - m)) ** 0.5) / 0.03) ** 2 for m in moved]
    assert plan.aims["gap"] == np.ceil(max(each))
    assert plan.instances == max(plan.aims.values())
    assert plan.confidence == pytest.approx(c.mean())


def test_certain_predictions_need_what_an_exact_bound_needs() -> None:
    plan = cr.plan_labels(np.eye(2), margin=0.02)
    assert plan.aims == {"margin": 149}  # the first n with 0.98^n <= 0.05


def test_the_interval_is_as_narrow_as_planned(probs: np.ndarray) -> None:
    n = cr.plan_labels(probs, width=0.06).instances
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(40):
        rows = probs[rng.integers(0, 300, size=n)]
        low, high = cr.confidence_gap(rows, drawn(rows, rng)).interval()
        widths.append(high - low)
    assert np.mean(widths) == pytest.approx(0.06, rel=0.02)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_gap_is_noticed_as_often_as_planned(sign: int) -> None:
    stated = np.tile([0.7, 0.3], (10, 1))
    n = cr.plan_labels(stated, gap=0.08).instances
    rng = np.random.default_rng(2)
    rejected = 0
    for _ in range(200):
        labels = (rng.random(n) > 0.7 + sign * 0.08).astype(int)
        # the test of the gap is that of the number of right answers, whose distribution is binomial
        rejected += binomial_test(n, n - labels.sum(), 0.7) <= 0.05
    assert 0.72 <= rejected / 200 <= 0.9  # 80 % and more, the larger n of both signs; 2.8 standard errors


def binomial_test(n: int, hits: int, share: float) -> float:
    return min(1.0, 2 * min(bdtr(hits, n, share), bdtrc(hits - 1, n, share)))


def test_a_calibrated_model_is_certified_as_often_as_planned(probs: np.ndarray) -> None:
    n = cr.plan_labels(probs, margin=0.06).instances
    rng = np.random.default_rng(3)
    shown = 0
    for _ in range(200):
        rows = probs[rng.integers(0, 300, size=n)]
        shown += cr.calibration_test(rows, drawn(rows, rng), margin=0.06).rejects()
    assert 0.71 <= shown / 200 <= 0.89  # 80 %, give or take 3 standard errors


def test_the_plan_in_words(probs: np.ndarray) -> None:
    plan = cr.plan_labels(probs)
    assert set(plan.aims) == {"gap", "margin"}
    assert str(plan).startswith(
        f"Label {plan.instances} instances: enough for a test that detects an average gap of"
    )
    assert str(plan).endswith(f"These are only 300: find {plan.instances - 300} more like them.")
    few = cr.plan_labels(probs, width=0.3)
    assert str(few) == (
        f"Label {few.instances} instances: enough for a 95 % interval for the average gap "
        f"that is 30 points wide."
    )


def test_labels_are_not_looked_at_and_chunks_give_the_same(probs: np.ndarray, tmp_path) -> None:
    np.savez(tmp_path / "rows.npz", probs=probs, labels=np.zeros(300, dtype=int))
    here = cr.plan_labels(probs)
    assert cr.plan_labels(cr.load(tmp_path / "rows.npz")).aims == here.aims
    assert cr.plan_labels(cr.scan(tmp_path / "rows.npz", chunk_rows=70)).aims == here.aims


def test_bad_aims(probs: np.ndarray) -> None:
    with pytest.raises(cr.InputError, match="`gap` must lie strictly between 0 and 1; got 2"):
        cr.plan_labels(probs, gap=2)
    with pytest.raises(cr.InputError, match="`power` must lie"):
        cr.plan_labels(probs, power=1)
    together = cr.Dataset(cr.Point(probs), None, clusters=np.arange(300) // 2)
    with pytest.raises(cr.UnsupportedError, match="multiply by the design effect"):
        cr.plan_labels(together)
    with pytest.raises(cr.InputTypeError, match="needs class predictions; got Gaussian"):
        cr.plan_labels(cr.Gaussian(np.zeros(3), np.ones(3)))
