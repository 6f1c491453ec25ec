"""A copy for one computation makes what several statistics ask for once, within memory, until it ends."""

from __future__ import annotations

import numpy as np

import credibly as cr
from credibly.predictions import as_rows
from credibly.predictions.passes import detached, forget, remembering

TWO = np.zeros((1, 2)), np.ones((1, 2))


def test_made_once_by_a_copy_and_anew_by_the_predictions_themselves() -> None:
    made = []

    def make() -> np.ndarray:
        made.append(1)
        return np.zeros(3)

    gaussian = cr.Gaussian(*TWO)
    kept = remembering(gaussian)
    for _ in range(2):
        gaussian.once("key", make)
    assert len(made) == 2
    for _ in range(2):
        kept.once("key", make)
    assert len(made) == 3
    remembering(gaussian).once("key", make)  # the copy of another computation
    kept[:].once("key", make)  # other rows
    assert len(made) == 5
    assert remembering(kept) is kept


def test_what_memory_does_not_hold_is_made_again() -> None:
    made = []
    kept = remembering(cr.Gaussian(*TWO))

    def make(name: str, share: float) -> None:
        kept.once(name, lambda: made.append(name) or np.zeros(int(share * 2**20 / 4 / 8)))

    with cr.memory_limit(2**20):  # a quarter of which is kept
        for name, share in (("first", 0.5), ("huge", 0.6), ("second", 0.5), ("third", 0.1)):
            make(name, share)
        for name in ("first", "huge", "second", "third"):
            make(name, 0.6)
    assert made[4:] == ["huge", "third"]


def test_rows_forget_at_the_end() -> None:
    rows = detached(as_rows(cr.Gaussian(*TWO), np.zeros(1)))
    predictions = rows.example.predictions
    predictions.quantile([0.5])
    assert predictions.memo
    forget(rows)
    assert predictions.memo == {}


def test_quantiles_of_changed_predictions_are_not_those_of_before() -> None:
    mean = np.zeros((1, 2))
    gaussian = cr.Gaussian(mean, np.ones((1, 2)))
    assert remembering(gaussian).quantile([0.5])[0, 0] == 0.0
    mean += 1.0
    assert gaussian.quantile([0.5])[0, 0] == 1.0
    assert remembering(gaussian).quantile([0.5])[0, 0] == 1.0


def test_a_result_remembers_nothing() -> None:
    rng = np.random.default_rng(1)
    gaussian = cr.Gaussian(rng.normal(size=(40, 2)), np.ones((40, 2)))
    for check in (
        cr.predictive_check(gaussian, rng.normal(size=40), n_resamples=9, rng=1),
        cr.evaluate(gaussian, rng.normal(size=40), n_resamples=9, progress=None).check,
    ):
        (rows, *_) = check.simulate_power.args
        assert rows.example.predictions.memo == {}
