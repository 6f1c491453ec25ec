"""Power grows with the sample and with the distance from calibration, in both directions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import credibly as cr
from kinds import CLASS_STATISTICS
from validity import worlds

pytestmark = pytest.mark.validity

NAMES = CLASS_STATISTICS
REPETITIONS = worlds.repetitions(10, 1000)
MANY = 300 if worlds.FULL else 180  # pairs of instances cost their square
# Smoothing pulls their estimates together, so labels more decided than predicted make these errors smaller,
# and an upper-tailed test cannot notice (studies/pages/omnibus-family.md).
BLIND = {"kde_ce", "kl_ce"}
PARTIAL = {"net_benefit"}  # looks only at rows whose second of three classes reaches one half
SLACK = 3 * np.sqrt(0.5 / REPETITIONS)  # three standard deviations of a difference of two rates


@cache
def rates(n: int, exponent: float) -> dict[str, float]:
    """How often each statistic, and all of them together, reject at 5 % where the truth is p^exponent."""
    rng = np.random.default_rng([n, int(1000 * exponent)])
    rejected = dict.fromkeys((*NAMES, "omnibus"), 0)
    for _ in range(REPETITIONS):
        probs = worlds.predictions(n, 3, rng)
        labels = worlds.draw(worlds.temper(probs, exponent), rng)
        result = cr.calibration_test(probs, labels, statistics=NAMES, n_resamples=99, rng=rng)
        rejected["omnibus"] += result.rejects(0.05)
        for name, component in result.components.items():
            rejected[name] += component.rejects(0.05)
    return {name: count / REPETITIONS for name, count in rejected.items()}


# Overconfident: the truth is flatter; underconfident: it is sharper.
@pytest.mark.parametrize(
    ("mild", "strong"), [(0.6, 0.25), (1.5, 4.0)], ids=["overconfident", "underconfident"]
)
@pytest.mark.parametrize("name", [*NAMES, "omnibus"])
def test_power_grows(name: str, mild: float, strong: float) -> None:
    start, more_data, further = rates(60, mild)[name], rates(MANY, mild)[name], rates(60, strong)[name]
    if name in BLIND and strong > 1:
        assert max(start, more_data, further) < 0.5
        return
    assert more_data > start - SLACK
    assert further > start - SLACK
    assert rates(MANY, strong)[name] > max(0.5 if name in PARTIAL else 0.9, start)


def test_proper_scores_reject_a_model_that_is_too_good() -> None:
    """The lower tail: an underconfident model has a smaller loss than it claims."""
    rng = np.random.default_rng(5)
    probs = worlds.predictions(400, 3, rng)
    labels = worlds.draw(worlds.temper(probs, 3.0), rng)
    for name in ("brier", "log_loss"):
        result = cr.calibration_test(probs, labels, statistics=name, n_resamples=199, rng=rng)
        assert result.rejects(0.05)
        assert result.statistic < result.acceptance_region[0]
