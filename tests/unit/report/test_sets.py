"""The sections of a report about sets and about several labels per instance."""

from __future__ import annotations

import html

import numpy as np
import pytest

import credibly as cr
from credibly.io import demo
from credibly.report.page import render_report
from credibly.report.sets import credal_section, validity_section

pytestmark = pytest.mark.slow


def members(n: int = 100) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(3), size=(n, 3))


@pytest.mark.usefixtures("without_pictures")
def test_does_the_set_hold_the_truth() -> None:
    labels = np.random.default_rng(1).integers(0, 3, size=100)
    evaluation = cr.evaluate(
        cr.Ensemble(members()), labels, statistics=["brier"], n_resamples=19, classes=["a", "<b>", "$c$"]
    )
    assert evaluation.credal is not None
    section = credal_section(evaluation.credal, evaluation)
    assert section.title == "Does the set contain the truth?"
    assert section.verdicts[0].statistic == "witness"
    assert section.verdicts == evaluation.credal.verdicts
    told, combinations, regions = (table for _, table in section.tables)
    assert [row[0] for row in told.rows] == [
        evaluation.classes[one.label] for one in evaluation.credal.validity.details.directions[:10]
    ]
    assert [row[0] for row in combinations.rows] == [
        "weights that depend on the instance",
        "one weight vector for all instances",
    ]
    learned, constant = evaluation.credal.tests.values()  # the p-value of the first is that of both its tests
    pvalues = [learned.details.calibration.pvalue, constant.pvalue]
    assert [f"{float(row[4]):.3g}" for row in combinations.rows] == [f"{pvalue:.3g}" for pvalue in pvalues]
    assert [row[0] for row in regions.rows] == list(evaluation.credal.regions.regions[:10])
    assert {row[1] for row in regions.rows} <= {"a", "<b>", "$c$"}
    assert len(section.figures) == 4
    page = render_report(evaluation)
    for text in (
        'id="sets"',
        "figure-sets-witness",
        "figure-sets-learned",
        "figure-sets-regions",
        "Test of the set",
    ):
        assert text in page
    assert page == render_report(evaluation)  # byte by byte


@pytest.mark.usefixtures("without_pictures")
def test_is_the_distribution_of_labels_in_the_set() -> None:
    sets = members()
    counts = np.random.default_rng(2).multinomial(20, sets.mean(axis=1))
    counts[7], sets[7] = [20, 0, 0], [0.0, 0.5, 0.5]
    evaluation = cr.evaluate(cr.Ensemble(sets), cr.LabelCounts(counts), statistics=["brier"], n_resamples=39)
    assert evaluation.validity is not None
    section = validity_section(evaluation.validity, evaluation)
    assert section.tables[0][1].rows[0][:3] == ("7", "20", "infinite")
    page = render_report(evaluation)
    for text in ('id="validity"', "figure-validity", "Is the distribution of labels itself in the set?"):
        assert text in page


@pytest.mark.usefixtures("without_pictures")
def test_a_point_with_one_label_has_neither() -> None:
    probs = members()[:, 0]
    evaluation = cr.evaluate(probs, np.arange(100) % 3, statistics=["brier"], n_resamples=19)
    assert evaluation.credal is None
    assert evaluation.validity is None
    page = render_report(evaluation)
    assert 'id="sets"' not in page
    assert 'id="validity"' not in page


@pytest.mark.usefixtures("without_pictures", "without_learned_weights")
def test_the_first_screen_asks_about_the_members() -> None:
    data = demo("ensemble").rows(slice(0, 300))
    evaluation = cr.evaluate(data.predictions, data.labels, n_resamples=39)
    assert evaluation.credal is not None
    assert evaluation.headline is not None
    asked = {question.about: question for question in evaluation.headline.questions}
    assert list(asked) == ["what", "errors", "spread"]
    assert asked["spread"].question == "Is the disagreement of its members believable?"
    assert asked["spread"].word == evaluation.credal.verdicts[0].word
    page = render_report(evaluation)
    for verdict in evaluation.verdicts:  # each is said once
        said = html.escape(verdict.finding).replace(" %", "\N{NO-BREAK SPACE}%")
        assert page.count(f"</strong> {said}") == 1


def test_counts_of_raters_do_not_hide_the_test_that_was_run() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=60)
    evaluation = cr.evaluate(probs, cr.LabelCounts(rng.multinomial(5, probs[::-1])), n_resamples=99)
    assert evaluation.validity is not None
    assert evaluation.headline is not None
    asked = {question.about: question for question in evaluation.headline.questions}
    # whose loss it is comes first; labels have nothing to do with predictions, so no repair is fitted
    assert evaluation.diagnosis is not None
    assert evaluation.diagnosis.fault == "no skill"
    assert list(asked) == ["raters", "what", "repairs", "errors", "spread"]
    assert asked["repairs"].sentence.startswith("None makes it useful: fitted on other folds, ")
    assert "no repair lowers" not in asked["repairs"].sentence  # one does, by more than chance
    assert asked["spread"].question == "Does it predict how people disagree?"
    assert asked["spread"].word == "conflict"
    pairs = "It says that two raters disagree 51 % of the time; they do 53 % of the time."
    assert asked["spread"].sentence == f"{pairs} {evaluation.validity.verdict.finding}"
