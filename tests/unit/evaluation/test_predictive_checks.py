"""Predictive checks as a stage of `evaluate` and as a section of the report."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

import credibly as cr
from credibly.evaluation.stages import check_verdicts
from credibly.report.page import render_report
from credibly.report.sections import check_section

NAMES = ["accuracy", "brier", "confidence_ece"]


@pytest.fixture(scope="module", autouse=True)
def without_learned_weights() -> Iterator[None]:
    """The sets' own tests have other tests, and would take most of the time here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("credibly.evaluation.set_tests.MOST_REFITS", 0)
        yield


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.ones(3), size=(120, 6))
    labels = (rng.random((120, 1)) > members[:, 0].cumsum(axis=1)).sum(axis=1)
    return members, labels


@pytest.fixture(scope="module")
def evaluation(data: tuple) -> cr.Evaluation:
    return cr.evaluate(*data, statistics=NAMES, groups=np.arange(120) % 2, n_resamples=99, rng=1)


@pytest.mark.slow
def test_the_stage_is_the_check_itself(data: tuple, evaluation: cr.Evaluation) -> None:
    # four tests with two sides share the level: 2 / (0.05 / 4) - 1 replicates at least
    assert "159 replicates were drawn instead of 99, because fewer cannot show a conflict" in evaluation.notes
    check = cr.predictive_check(*data, statistics=NAMES, groups=np.arange(120) % 2, n_resamples=159, rng=1)
    for name in NAMES:
        result, other = evaluation.check.bayesian.checks[name], check.bayesian.checks[name]
        assert np.array_equal(result.null_distribution, other.null_distribution)
        assert result.pvalue == other.pvalue
    assert evaluation.check.independent.groups.keys() == {"0", "1"}


def test_json_holds_the_check_without_its_replicates(evaluation: cr.Evaluation) -> None:
    record = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    own = record["check"]["bayesian"]["checks"]["brier"]
    assert own["pvalue"] == evaluation.check.bayesian.checks["brier"].pvalue
    assert "null_distribution" not in own
    assert "members" not in record["check"]["bayesian"]


def test_verdicts_name_the_hypothesis(evaluation: cr.Evaluation) -> None:
    found = check_verdicts(evaluation.check, evaluation.predictions, 0.05)
    assert len(found) == 6
    assert all(verdict.finding.startswith("Bayesian hypothesis: ") for verdict in found[:3])
    assert all(verdict.finding.startswith("Independent hypothesis: ") for verdict in found[3:])


def test_a_value_that_is_too_good_is_said_in_words() -> None:
    sides = np.repeat([0.9, 0.1], 20)  # 40 members can reject: 2 / 41
    members = np.tile(np.stack([sides, 1 - sides], axis=1), (100, 1, 1))
    result = cr.evaluate(members, np.arange(100) % 2, statistics=["classwise_ece"], n_resamples=99)
    first = check_verdicts(result.check, result.predictions, 0.05)[0]
    assert "below what would be expected if these predictions were right" in first.finding
    assert first.finding.endswith("smaller than chance explains.")


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda p, y: (p.mean(axis=1), y), "these predictions have none"),
        (lambda p, y: (p[:, :1], y), "with one member"),
    ],
)
def test_why_there_is_no_check(data: tuple, make, reason: str) -> None:
    result = cr.evaluate(*make(*data), statistics=["brier"], n_resamples=19)
    assert result.check is None
    assert any("Bayesian" in what and reason in why for what, why in result.not_run)
    assert 'id="checks"' not in render_report(result)
    assert cr.evaluate(*data, statistics=["brier"], tests=False).check is None


@pytest.mark.usefixtures("without_pictures")
def test_the_section_shows_both_hypotheses(evaluation: cr.Evaluation) -> None:
    section = check_section(evaluation.check, evaluation)
    assert [caption.partition(":")[0] for caption, _ in section.tables[:2]] == ["Bayesian", "Independent"]
    rows = section.tables[0][1].rows
    assert [row[0] for row in rows] == ["Accuracy", "Brier score", "Confidence ECE"]
    assert len(section.tables) == 4  # two hypotheses, and their groups by verdict
    assert len(section.figures) == 3
    assert "must not have been used to train or recalibrate" in section.finding
    page = render_report(evaluation)
    assert 'id="checks"' in page
    assert page.count("figure-check-strip") >= 1


def test_statistics_whose_labels_cannot_be_drawn_are_not_checked() -> None:
    rng = np.random.default_rng(0)
    levels = np.linspace(0.05, 0.95, 19)
    quantiles = cr.Quantiles(np.sort(rng.normal(size=(40, 19)), axis=1), levels)
    result = cr.evaluate(quantiles, rng.normal(size=40), n_resamples=19)
    assert "interval_score" not in result.tests  # a cell is drawn, and it needs a value
    assert {"picp", "quantile_calibration_error"} <= set(result.tests)


@pytest.mark.usefixtures("without_pictures")
def test_real_values_are_checked_too() -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(60, 1)) + 0.3 * rng.normal(size=(60, 5))
    gaussian = cr.Gaussian(mean, np.ones((60, 5)))
    result = cr.evaluate(gaussian, mean[:, 0] + rng.normal(size=60), n_resamples=39)
    assert set(result.check.statistics) <= set(cr.statistics.registered())
    assert {"picp", "crps"} <= set(result.check.statistics)
    assert 'id="checks"' in render_report(result)
