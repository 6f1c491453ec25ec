"""Evaluations are made stage by stage; a part says why it is missing, and its numbers are found by name."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.errors import UnknownNameError, UnsupportedError
from credibly.evaluation import Part, Verdict, evaluate
from credibly.evaluation.evaluate import STAGES
from credibly.evaluation.sentences import CASES
from credibly.evaluation.work import NOT_ASKED, Stage, Work
from credibly.hypotests.resampling.loop import Resampled, Target
from credibly.hypotests.resampling.replicates import consistent
from credibly.hypotests.resampling.requests import Asking, Request
from credibly.predictions import Rows
from credibly.report.sections import recalibration_section
from credibly.statistics.protocol import Bound

PROBS = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
LABELS = np.random.default_rng(1).integers(3, size=60)


@pytest.fixture(scope="module")
def evaluation() -> cr.Evaluation:
    return cr.evaluate(PROBS, LABELS, statistics=["brier", "accuracy"], n_resamples=39)


def test_every_stage_fills_a_field_of_its_own() -> None:
    filled = [stage.part for stage in STAGES]
    assert len(set(filled)) == len(filled)
    assert set(filled) <= {field.name for field in dataclasses.fields(cr.Evaluation)}


@dataclasses.dataclass(frozen=True)
class Luck(Part):
    """A part that nobody knows."""

    share: float

    @property
    def answers(self) -> tuple[Verdict, ...]:
        return (Verdict("conflict", "luck", "luck", {"what": "luck"}, "", "", None, None),)

    def remarks(self, shared: tuple[str, ...]) -> tuple[str, ...]:
        return ("luck: it was measured",)


def few(rows: Rows, work: Work) -> str | None:
    return None if rows.n >= 60 else f"{rows.n} instances are too few"


@pytest.mark.parametrize("n", [60, 40])
def test_a_stage_runs_where_it_applies_and_says_why_where_not(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(rows: Rows, work: Work) -> Luck:
        return Luck(work.results["estimates"]["brier"].value / rows.n)  # a stage sees those before it

    stages = tuple(one for one in STAGES if one.part != "raters")
    module = __import__("sys").modules["credibly.evaluation.evaluate"]
    monkeypatch.setattr(module, "STAGES", (*stages, Stage("raters", run, few, "luck")))
    monkeypatch.setitem(CASES, "luck", lambda facts: f"There is {facts['what']}.")
    evaluation = evaluate(PROBS[:n], LABELS[:n], statistics=["brier"], tests=False)
    if n == 60:
        assert evaluation.raters == Luck(evaluation["brier"].value / 60)
        assert evaluation.notes[-1] == "luck: it was measured"
        assert evaluation.answers["raters"][0].finding == "There is luck."
        assert "conflict: There is luck." in evaluation.summary()
        assert "luck" not in dict(evaluation.not_run)
    else:
        assert evaluation.raters is None
        assert dict(evaluation.not_run)["luck"] == "40 instances are too few"


def test_what_nobody_asked_for_is_left_out_without_words(evaluation: cr.Evaluation) -> None:
    assert evaluation.raters is None
    assert NOT_ASKED == ""
    assert all(what and why for what, why in evaluation.not_run)
    assert not any("rater" in what for what, _ in evaluation.not_run)


def test_a_number_is_found_by_its_name(evaluation: cr.Evaluation) -> None:
    assert evaluation["brier"] is evaluation.estimates["brier"]
    assert "brier" in evaluation
    assert "skce" not in evaluation
    assert list(evaluation) == ["brier", "accuracy"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("breir", "got 'breir'. Did you mean 'brier'?"),
        ("ece", "Which one: confidence_ece"),
        ("log_loss", "got 'log_loss'. Known names: accuracy, brier."),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(
    evaluation: cr.Evaluation, name: str, said: str
) -> None:
    with pytest.raises(KeyError, match=re.escape(said)) as caught:
        evaluation[name]
    assert isinstance(caught.value, (UnknownNameError, cr.InputError))
    assert str(caught.value).startswith(f"evaluation[{name!r}] must name a statistic that was computed; ")


def test_a_statistic_that_was_not_run_says_why() -> None:
    untested = cr.evaluate(PROBS, LABELS, statistics=["brier", "skce"], tests=False)
    with pytest.raises(KeyError, match="this one was not, because it compares pairs of instances"):
        untested["skce"]


def test_a_summary_is_short_and_plain(evaluation: cr.Evaluation) -> None:
    heading, first, *rest = evaluation.summary().splitlines()
    assert heading == "Evaluation of Point (n = 60, m = 1, k = 3)"
    assert first == f"  {evaluation.headline.word}: {evaluation.headline}"
    second = evaluation.findings[1]
    assert rest[0] == f"  {second.word}: {second.sentence}"
    low, high = evaluation["brier"].interval()
    assert any(line.startswith("  Brier score 0.") and " (95 %: " in line for line in rest), (low, high)
    assert rest[-1].startswith("  not run: ")
    assert len(rest) == 4  # another finding, two numbers, and what was not run


def test_a_stage_that_asks_for_what_cannot_be_given_gets_its_own_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def bind(predictions: cr.Predictions) -> Bound:
        raise UnsupportedError("luck", "cannot be bound", "these rows", "Try others.")

    def run(rows: Rows, work: Work) -> Asking[None]:
        try:
            yield [Request([Target(bind)], rows, [consistent(work.seed)], work.n_resamples)]
        except UnsupportedError as error:
            work.leave_out("luck", error)

    module = __import__("sys").modules["credibly.evaluation.evaluate"]
    named = {"statistics": ["brier"], "n_resamples": 19, "recalibrate": []}
    alone = evaluate(PROBS, LABELS, **named)
    others = tuple(one for one in STAGES if one.part != "raters")
    monkeypatch.setattr(module, "STAGES", (*others, Stage("raters", run)))
    evaluation = evaluate(PROBS, LABELS, **named)
    assert dict(evaluation.not_run)["luck"] == "luck cannot be bound, these rows"
    assert evaluation.tests["brier"].to_dict() == alone.tests["brier"].to_dict()
    assert evaluation.curves.to_dict() == alone.curves.to_dict()


def test_what_the_tests_refuse_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__("sys").modules["credibly.evaluation.statistics"]
    made = module.omnibus_of

    def refusing(rows: Rows, found: list[Resampled], *rest: object) -> object:
        if any(one.bound.statistic.name == "crps" for one in found):
            raise UnsupportedError("`crps`", "must be finite", "it is not", "Leave it out.")
        return made(rows, found, *rest)

    rng = np.random.default_rng(2)
    gaussian, numbers = cr.Gaussian(rng.normal(size=(40, 2)), np.ones((40, 2))), rng.normal(size=40)
    named = {"statistics": ["crps", "rmse"], "n_resamples": 19, "recalibrate": []}
    both = cr.evaluate(gaussian, numbers, **named)
    monkeypatch.setattr(module, "omnibus_of", refusing)
    evaluation = cr.evaluate(gaussian, numbers, **named)
    assert set(both.check.bayesian.checks) == {"crps", "rmse"}
    assert set(evaluation.tests) == set(evaluation.check.bayesian.checks) == {"rmse"}
    assert dict(evaluation.not_run)["test of crps"] == "it must be finite, it is not"
    assert evaluation.check.bayesian.checks["rmse"].pvalue == both.check.bayesian.checks["rmse"].pvalue


def test_the_preview_of_a_repair_looks_at_a_part_of_large_data(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    logits = 2 * rng.normal(size=(1500, 3))
    labels = (logits + rng.gumbel(size=(1500, 3))).argmax(axis=1)
    overconfident = cr.Point.from_logits(2 * logits)
    groups = np.repeat(["a", "b"], 750)
    whole = cr.evaluate(overconfident, labels, groups=groups, n_resamples=19)
    monkeypatch.setattr("credibly.evaluation.stages.MOST_PREVIEWED", 1000)
    part = cr.evaluate(overconfident, labels, groups=groups, n_resamples=19)
    assert whole.recalibration is not None
    assert part.recalibration is not None
    assert (whole.recalibration.n, part.recalibration.n) == (1500, 1000)
    assert any("fitted and tested on 1000 of 1500 instances" in note for note in part.notes)
    assert part.diagnosis == whole.diagnosis
    assert part.estimates == whole.estimates
    changes = [found.recalibration.methods["temperature"].changes["log_loss"] for found in (whole, part)]
    full, small = (change.difference for change in changes)
    assert abs(small.value - full.value) < 4 * small.stderr
    title = recalibration_section(part.recalibration, part).tables[0][0]
    assert title.endswith("when fitted on these 1000 instances")
    named = cr.evaluate(overconfident, labels, n_resamples=19, recalibrate=["temperature"])
    assert named.recalibration is not None
    assert named.recalibration.n == 1500
