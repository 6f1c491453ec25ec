"""A report about real values: the section, the figure that carries the verdict, the methods."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import numpy as np
import pytest

import credibly as cr
from credibly.evaluation import shown_range
from credibly.report.content import decomposition_finding, decomposition_table, how_tested
from credibly.report.page import render_report
from credibly.report.sections import real_section

RNG = np.random.default_rng(1)
GAUSSIAN = cr.Gaussian(RNG.normal(size=(60, 3)), np.ones((60, 3)))


@cache
def evaluation(shift: float) -> cr.Evaluation:
    labels = GAUSSIAN.mean[:, 0] + np.random.default_rng(2).normal(size=60) + shift
    return cr.evaluate(GAUSSIAN, labels, n_resamples=99)


@pytest.mark.usefixtures("without_pictures")
def test_the_page_of_real_values() -> None:
    evaluated = evaluation(2.0)
    page = render_report(evaluated)
    for text in (
        'id="reals"',
        "figure-main",
        "figure-coverage",
        "Interval coverage",
        "Quantile calibration error",
        "Gaussian log loss",
        "Curves with envelopes",
        "Matheson and Winkler",
        "the mixture of its members",
        "Shares of labels below quantiles, minus their levels",
        "Where the loss comes from",
        "Miscalibration costs",
        "CRPS = miscalibration − discrimination + uncertainty",
    ):
        assert text in page
    for text in ("Class by class", "Calibration and refinement loss", "refinement loss, which"):
        assert text not in page
    assert page == render_report(evaluated)  # byte by byte
    assert how_tested(evaluated) == (
        "This screen is tested as a whole, on labels drawn 99 times from the predictions; a model that is "
        "right gets a conflict in at most 5 % of data sets."
    )


@pytest.mark.usefixtures("without_pictures")
def test_the_page_says_what_its_replicates_are() -> None:
    """Labels are drawn from Gaussians only; draws, claims and clusters have replicates of their own."""
    labels, ids = GAUSSIAN.mean[:, 0] + 2.0, np.arange(60) // 3
    ends = labels - 1.0, labels + 1.5
    claims = cr.predictions.PredictionIntervals(*ends, claimed=0.9)
    given = {
        "New labels were drawn 79 times from the predictions themselves.": (GAUSSIAN, None),
        "Labels were exchanged with draws of their own predictions 79 times.": (
            cr.Samples(GAUSSIAN.mean),
            None,
        ),
        "Which labels are covered was drawn 79 times with the claimed probability.": (claims, None),
        "The signs of the residuals were flipped 79 times, cluster by cluster.": (GAUSSIAN, ids),
    }
    for said, (predictions, clusters) in given.items():
        page = render_report(cr.evaluate(predictions, labels, clusters=clusters, n_resamples=79, rng=0))
        assert [one for one in given if one in page] == [said]
        assert "`" not in page.split("Tests of calibration")[0].split('id="numbers"')[1]


def test_the_parts_of_the_crps_stand_in_a_table_with_their_intervals() -> None:
    evaluation = cr.evaluate(GAUSSIAN, GAUSSIAN.mean[:, 0], tests=False)
    parts = evaluation.decomposition
    table = decomposition_table(evaluation)
    assert [row[0] for row in table.rows] == ["CRPS", "= miscalibration", "− discrimination", "+ uncertainty"]
    assert table.rows[1][2] == shown_range(parts.miscalibration_interval)
    assert table.rows[3][2] == shown_range(parts.uncertainty.interval())
    some = dataclasses.replace(evaluation, decomposition=dataclasses.replace(parts, n=50))
    assert decomposition_finding(evaluation).startswith("Miscalibration costs ")
    assert decomposition_finding(some).startswith("On 50 random instances, miscalibration costs ")
    few = cr.evaluate(GAUSSIAN, GAUSSIAN.mean[:, 0], tests=False, clusters=np.arange(60) % 4)
    assert decomposition_table(few).rows[1][2] == "0 or more"  # four clusters say nothing about an upper end
    json.dumps(few.to_dict(), allow_nan=False)


@pytest.mark.slow
def test_the_section_names_what_leaves_its_envelope() -> None:
    far = evaluation(2.0)
    section = real_section(far.reals, far)
    assert "labels below quantiles" in section.finding
    assert "leave the envelope of the hypothesis" in section.finding
    (_, table) = section.tables[0]
    assert [row[0].split(" (")[0] for row in table.rows] == [
        "labels below quantiles",
        "labels inside central intervals",
    ]
    near = evaluation(0.0)
    assert "stay inside" in real_section(near.reals, near).finding


@pytest.mark.usefixtures("without_pictures")
def test_the_section_of_counts_says_what_to_compare_with() -> None:
    rng = np.random.default_rng(3)
    draws = cr.Samples(rng.poisson(1.0, size=(80, 20)).astype(float))
    evaluation = cr.evaluate(draws, rng.poisson(1.0, size=80).astype(float), n_resamples=99)
    section = real_section(evaluation.reals, evaluation)
    assert "stay inside" in section.finding
    assert "Here draws are few or repeat, so even right predictions lie off" in section.finding
    (_, table) = section.tables[0]
    assert all(abs(float(row[3])) < 0.2 for row in table.rows)  # not the 0.37 of labels that equal 0


@pytest.mark.usefixtures("without_pictures")
def test_without_symmetric_quantiles_there_is_no_coverage_figure() -> None:
    quantiles = cr.Quantiles(np.tile([0.0, 1.0], (20, 1)), [0.3, 0.5])
    evaluation = cr.evaluate(quantiles, np.linspace(-1, 2, 20), n_resamples=19)
    section = real_section(evaluation.reals, evaluation)
    assert section.figures == ()
    assert len(section.tables[0][1].rows) == 1
    assert "figure-coverage" not in render_report(evaluation)


@pytest.mark.usefixtures("without_pictures")
def test_classes_have_no_such_section() -> None:
    evaluation = cr.evaluate([[0.7, 0.3]] * 9, [0, 1, 0] * 3, statistics=["brier"], n_resamples=19)
    assert evaluation.reals is None
    assert 'id="reals"' not in render_report(evaluation)


def test_the_title_is_english() -> None:
    sets = cr.predictions.PredictionIntervals([-1.0, -1.0], [1.0, 1.0], claimed=0.9)
    page = render_report(cr.evaluate(sets, [0.0, 2.0], n_resamples=19, rng=0))
    assert "Prediction intervals: how far can these predictions be believed?" in " ".join(page.split())
