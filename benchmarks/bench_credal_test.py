"""Tests of weights against their figures: the default with and without refits, constant weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from harness import Row, best_of

import credibly as cr
from credibly_studies.simulate import MulticlassWorld

N, M, K, RESAMPLES = 400, 10, 5, 99


def rows(threads: int) -> Iterator[Row]:
    """Yield the figures of issue-sized tests; they are meant for two cores."""
    sample = MulticlassWorld("H0,2", n_members=M, n_classes=K).draw(N, rng=3)

    def test(features: Any = sample.features, **settings: Any) -> Callable[[], object]:
        settings = {"n_resamples": RESAMPLES, **settings}
        return lambda: cr.hypotests.weights_test(
            sample.predictions, sample.labels, features=features, rng=0, **settings
        )

    tasks = {
        "the default (4 folds, refits)": (test(), 3.0),
        "the default without features": (test(None), 3.0),
        "4 folds without refits": (test(refit=False), 0.5),
        "4 folds without refits and features": (test(None, refit=False), 0.5),
        "split without refits": (test(split=0.5, refit=False), 0.5),
        "split with refits": (test(split=0.5), 3.0),
        "constant weights, skce": (test(weights="constant"), 0.2),
        "constant weights, log loss": (test(weights="constant", statistics="log_loss"), 0.2),
        "constant weights, classwise ECE (no slope)": (
            test(weights="constant", statistics="classwise_ece"),
            0.2,
        ),
    }
    found = best_of(3, **{name: task for name, (task, _) in tasks.items()})
    for name, (_, limit) in tasks.items():
        seconds = found[name]
        yield Row(
            f"{name}, n = {N}, k = {K}, m = {M}, {RESAMPLES} replicates",
            seconds,
            limit,
            f"the limit, {limit:g} s",
            ">= 1",
            seconds <= limit,
            threads,
        )
