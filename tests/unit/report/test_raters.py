"""The section of a report about several labels per instance."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.report.content import key_numbers
from credibly.report.page import render_report
from credibly.report.sections import rater_section


def evaluation(n: int = 200) -> cr.Evaluation:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), size=n)
    counts = cr.LabelCounts(rng.multinomial(rng.integers(2, 7, size=n), probs))
    return cr.evaluate(probs, counts, statistics=["brier"], classes=["a", "<b>", "$c$"])


@pytest.mark.usefixtures("without_pictures")
def test_the_section_says_whose_loss_it_is() -> None:
    evaluated = evaluation()
    section = rater_section(evaluated.raters, evaluated)
    loss = evaluated.raters.loss
    assert section.finding.startswith("200 instances with 2 to 6 raters each.")
    assert f"({100 * loss.irreducible.value / loss.expected.value:.0f} %)" in section.finding
    assert [row[0].partition(":")[0] for row in section.tables[0][1].rows][:3] == [
        "expected loss",
        "irreducible",
        "epistemic",
    ]
    assert len(section.figures) == 2
    page = render_report(evaluated)
    for text in ('id="raters"', "figure-loss-map", "figure-disagreement", "Losses over raters"):
        assert text in page
    assert page == render_report(evaluated)  # byte by byte


def test_what_one_rater_is_tested_for_does_not_stand_beside_the_mean_over_raters() -> None:
    evaluated = evaluation()
    assert evaluated.tests["brier"].statistic != evaluated.estimates["brier"].value
    numbers, _ = key_numbers(evaluated)
    assert [number.expected for number in numbers if number.name == "Brier score"] == [None]
    labels = np.random.default_rng(3).integers(0, 3, size=50)
    single = cr.evaluate(np.full((50, 3), 1 / 3), labels, statistics=["brier"], n_resamples=99)
    assert [one.expected is None for one in key_numbers(single)[0] if one.name == "Brier score"] == [False]


@pytest.mark.usefixtures("without_pictures")
def test_without_raters_there_is_no_section() -> None:
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(np.ones(3), size=40)
    evaluation = cr.evaluate(probs, rng.integers(0, 3, size=40), statistics=["brier"], n_resamples=19)
    assert evaluation.raters is None
    assert 'id="raters"' not in render_report(evaluation)


@pytest.mark.usefixtures("without_pictures")
def test_one_instance_has_no_map() -> None:
    evaluation = cr.evaluate([[0.7, 0.3]], cr.LabelCounts([[2, 1]]), statistics=["brier"])
    section = rater_section(evaluation.raters, evaluation)
    assert len(section.figures) == 1
    assert section.tables[0][1].rows[0][2] == "none: one instance has no standard error"
    assert 'id="raters"' in render_report(evaluation)
