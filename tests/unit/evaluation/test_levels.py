"""One error rate for the first screen: shared levels, raised replicates, and the words of raters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import credibly as cr
from credibly.evaluation.evaluate import evaluate
from credibly.evaluation.results import Evaluation
from credibly.hypotests.resampling.pvalues import level_beside

FEW = ["accuracy", "brier"]


def drawn(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1)


def world(kind: str, seed: int = 0, sharpness: float = 1.0) -> tuple[object, object, dict[str, object]]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(3), size=200)
    labels = drawn(probs, rng)
    stated = probs**sharpness / (probs**sharpness).sum(axis=1, keepdims=True)
    if kind == "groups":
        return stated, labels, {"groups": rng.choice(["a", "b", "c"], size=200)}
    if kind == "ensemble":
        return (
            cr.Ensemble(np.stack([stated, stated**1.1 / (stated**1.1).sum(1, keepdims=True)], 1)),
            labels,
            {},
        )
    if kind == "raters":
        counts = np.stack([rng.multinomial(3, row) for row in probs])
        return stated, cr.LabelCounts(counts), {}
    return stated, labels, {}


def evaluated(kind: str, seed: int = 0, sharpness: float = 1.0, n_resamples: int = 99) -> Evaluation:
    predictions, labels, more = world(kind, seed, sharpness)
    return evaluate(
        predictions, labels, statistics=FEW, n_resamples=n_resamples, recalibrate=[], rng=seed, **more
    )


@pytest.mark.parametrize(
    ("kind", "tests"),
    [
        ("point", {"diagnosis"}),
        ("groups", {"diagnosis", "audit"}),
        ("raters", {"diagnosis", "raters", "validity"}),
    ],
)
def test_every_test_of_the_first_screen_has_a_share(kind: str, tests: set[str]) -> None:
    evaluation = evaluated(kind)
    assert set(evaluation.settings["levels"]) == tests
    assert set(evaluation.settings["levels"].values()) == {0.05 / len(tests)}  # none is rejected
    assert {finding.word for finding in evaluation.findings} <= {"no conflict found", "cannot tell", "yes"}
    assert evaluation.diagnosis is not None
    assert evaluation.diagnosis.level == 0.05 / len(tests)


def test_a_rejected_test_leaves_its_share_to_the_others() -> None:
    evaluation = evaluated("groups", sharpness=4.0)
    assert evaluation.diagnosis is not None
    assert evaluation.audit is not None
    assert evaluation.diagnosis.pvalue == evaluation.audit.pvalue == 0.01  # 1 / 100, at most 0.05 / 2
    assert evaluation.settings["levels"] == {"audit": 0.05, "diagnosis": 0.05}
    assert level_beside([0.01], 0.05) == 0.05


def test_members_that_cannot_be_told_apart_take_no_share() -> None:
    """With two members no p-value of the Bayesian hypothesis is below 2 / 3, whatever the labels are."""
    evaluation = evaluated("ensemble", n_resamples=199)
    assert evaluation.check is not None
    assert evaluation.settings["levels"]["diagnosis"] == 0.025  # beside the set alone


def test_groups_are_judged_at_their_share() -> None:
    """A family-wise p-value between 0.025 and 0.05 is no conflict beside a diagnosis that finds none."""
    evaluation = evaluated("groups")
    assert evaluation.audit is not None
    assert evaluation.audit.level == 0.025
    close = dataclasses.replace(evaluation.audit, pvalue=0.04)
    assert close.verdict(0.05) == "conflict"
    assert close.judged(0.025).verdict() == "no conflict found"


@pytest.mark.parametrize(
    ("kind", "given", "drawn_now"),
    [
        ("point", 9, 19),  # 1 / 0.05 - 1
        ("groups", 9, 39),  # 2 tests
        ("ensemble", 99, 119),  # 3 tests, two-sided: 2 * 3 / 0.05 - 1
        ("point", 99, 99),
    ],
)
def test_replicates_that_cannot_decide_are_raised(kind: str, given: int, drawn_now: int) -> None:
    evaluation = evaluated(kind, n_resamples=given)
    assert evaluation.settings["n_resamples"] == drawn_now
    note = f"{drawn_now} replicates were drawn instead of {given}, because fewer cannot show a conflict"
    assert (note in evaluation.notes) == (given != drawn_now)
    large = evaluated(kind, sharpness=6.0, n_resamples=given)
    assert large.headline is not None
    assert large.headline.word == "conflict"


def test_what_raters_disagree_about_is_never_more_than_all() -> None:
    """Unbiased parts of the loss may be negative; shares are not: no "-1 % ... 101 %"."""
    for seed in range(6):
        evaluation = evaluated("raters", seed)
        (answer,) = [finding for finding in evaluation.findings if finding.about == "raters"]
        assert evaluation.raters is not None
        if evaluation.raters.loss.epistemic.value < 0:
            assert answer.sentence.startswith("Nearly all of the squared loss of")
        assert "-" not in answer.sentence.split("%")[0]
        assert "10" not in answer.sentence.partition("The rest")[2]
    negative = [evaluated("raters", seed).raters for seed in range(6)]
    assert any(one is not None and one.loss.epistemic.value < 0 for one in negative)


def test_a_loss_of_its_own_is_a_conflict() -> None:
    evaluation = evaluated("raters", sharpness=4.0)
    (answer,) = [finding for finding in evaluation.findings if finding.about == "raters"]
    assert answer.word == "conflict"
    assert "is the model's own, more than chance explains. The rest is disagreement" in answer.sentence


def test_confident_mistakes_are_no_conflict_of_their_own() -> None:
    """Whether low confidence marks mistakes has no error rate of its own: the diagnosis decides.

    Seed 208 is one of the 2.5 % of data sets of a right model whose surest answers are wrong more often.
    """
    rng = np.random.default_rng(208)
    stated = 0.6 + 0.001 * rng.random(300)
    labels = (rng.random(300) > stated).astype(int)
    probs = np.stack([stated, 1 - stated], axis=1)
    curve = cr.statistics.risk_coverage_curve(probs, labels)
    assert curve.area.interval()[0] > curve.risk[-1]
    evaluation = cr.evaluate(probs, labels, statistics=FEW, n_resamples=99, recalibrate=[])
    assert evaluation.diagnosis is not None
    assert evaluation.diagnosis.word == "no conflict found"
    assert [finding.word for finding in evaluation.findings if finding.about == "errors"] == ["cannot tell"]
