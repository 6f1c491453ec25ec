"""The section about recalibration in words."""

from __future__ import annotations

import dataclasses

import numpy as np

import credibly as cr
from credibly.report.sections import recalibration_section


def test_a_change_without_interval_says_nothing_about_one() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=60)
    labels = np.minimum((rng.random((60, 1)) > probs.cumsum(axis=1)).sum(axis=1), 2)
    report = cr.recalibration_report(probs, labels, methods=["temperature"], n_resamples=19, rng=0)
    changes = report.methods["temperature"].changes
    told = dataclasses.replace(
        changes["log_loss"],
        difference=cr.results.Estimate("log_loss", -0.1, None, 60, interval_refusal="too few"),
    )
    without = dataclasses.replace(report.methods["temperature"], changes={**changes, "log_loss": told})
    section = recalibration_section(
        dataclasses.replace(report, methods={"temperature": without}),
        cr.evaluate(probs, labels, statistics=["brier"], tests=False),
    )
    assert "temperature moves Log loss from" in section.finding
    assert "interval of the change" not in section.finding
    assert "none" not in section.finding
