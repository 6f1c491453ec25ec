"""credibly as a metric of Hugging Face evaluate.

    import evaluate

    metric = evaluate.load("examples/credibly_metric")   # this folder, or a copy of it; no network
    metric.add_batch(predictions=probs, references=labels)
    metric.compute(statistics=["confidence_ece", "brier"], n_resamples=999)

Every statistic of `credibly list` can be named. Standard errors are given where a valid one is known, and the
p-value says whether chance explains what was values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate
import numpy as np

import credibly as cr

_DESCRIPTION = "Calibration and proper scores of class probabilities, with standard errors and a p-value."
_INPUTS = """
Args:
    predictions: rows of probabilities, (n, k).
    references: observed classes, (n,).
    statistics: names of statistics, such as "confidence_ece", "brier", "log_loss".
    test: name of the statistic of the calibration test; None for no test.
    n_resamples: label vectors that the test draws.
    rng: seed of the test.
Returns:
    a dictionary with each statistic, its standard error as "<name>_stderr" where one is known, and
    "calibration_p_value".
"""
_CITATION = "Guo et al., On calibration of modern neural networks, ICML 2017."


class CrediblyMetric(evaluate.Metric):
    """Statistics of credibly, collected over batches by evaluate."""

    def _info(self) -> evaluate.MetricInfo:
        features = {
            "predictions": datasets.Sequence(datasets.Value("float64")),
            "references": datasets.Value("int64"),
        }
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(features),
        )

    def _compute(
        self,
        predictions: Sequence[Sequence[float]],
        references: Sequence[int],
        statistics: Sequence[str] = ("confidence_ece", "brier", "log_loss"),
        test: str | None = "confidence_ece",
        n_resamples: int = 999,
        rng: int = 0,
    ) -> dict[str, Any]:
        point, labels = cr.Point(np.asarray(predictions)), np.asarray(references)
        values: dict[str, Any] = {}
        for name in statistics:
            statistic = cr.statistics.registered().get(name)
            if statistic is None:
                raise ValueError(f"no statistic is called {name!r}; `credibly list` has the names")
            estimate = statistic(point, labels)
            values[name] = estimate.value
            if estimate.stderr is not None:
                values[f"{name}_stderr"] = estimate.stderr
        if test is not None:
            result = cr.calibration_test(point, labels, statistics=test, n_resamples=n_resamples, rng=rng)
            values["calibration_p_value"] = result.pvalue
        return values
