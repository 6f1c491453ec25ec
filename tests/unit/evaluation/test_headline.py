"""The headline answers the title of a report: what is wrong, by how much, what repairs it, what is left."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import binomtest

import credibly as cr
from credibly._arrays.notes import capital
from credibly.diagnosis.table import CLASSES, REALS
from credibly.evaluation.questions import _by_halves, _credal
from credibly.evaluation.sentences import CASES, REPAIRS
from credibly.evaluation.set_tests import CredalParts
from credibly.evaluation.words import Verdict, gated
from credibly.results.numbers import at_most, frequency, in_points, p_is, points, signed_points, span, times
from credibly.results.witness import WitnessDirection

CHEAP = {"statistics": ["confidence_gap", "confidence_ece", "classwise_ece"], "n_resamples": 99}


def draw(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.minimum((rng.random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1), probs.shape[1] - 1)


def said(n: int, k: int, power: float, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Predictions that are sharper (power above 1) or flatter than the truth, and labels."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(0.6 * np.ones(k), size=n)
    stated = truth**power
    return stated / stated.sum(axis=1, keepdims=True), draw(truth, rng)


def opposite(far: float) -> tuple[np.ndarray, np.ndarray]:
    """Too sure where it is sure, too unsure where it is not: right on average.

    Truths `far` from the base rate 0.75 gain 1 % of its loss for 0.05, 5 % for 0.1.
    """
    rng = np.random.default_rng(4)
    stated = np.where(np.arange(3000) % 2, 0.65 - far, 0.85 + far)
    truth = np.where(np.arange(3000) % 2, 0.75 - far, 0.75 + far)
    labels = (rng.random(3000) > truth).astype(int)
    return np.stack([stated, 1 - stated], axis=1), labels


def bent() -> tuple[cr.Confidence, np.ndarray]:
    """Answers that are too sure where they say more than 80 %, and right as often as stated elsewhere."""
    rng = np.random.default_rng(0)
    stated = rng.uniform(0.3, 1.0, 2000)
    return cr.Confidence(stated), (rng.random(2000) < np.where(stated > 0.8, 0.6, stated)).astype(int)


def members(power: float) -> tuple[cr.Ensemble, np.ndarray]:
    rng = np.random.default_rng(5)
    truth = rng.dirichlet(np.ones(3), size=400)
    near = np.stack([rng.dirichlet(40 * row + 0.2, size=5) for row in truth]) ** power
    return cr.Ensemble(near / near.sum(axis=-1, keepdims=True)), draw(truth, rng)


def dirichlet() -> tuple[cr.Dirichlet, np.ndarray]:
    probs, labels = said(400, 3, 2.0)
    return cr.Dirichlet(20 * probs + 0.1), labels


def belief() -> tuple[cr.Belief, np.ndarray]:
    rng = np.random.default_rng(6)
    truth = rng.dirichlet(np.ones(2), size=300)
    masses = np.concatenate([0.8 * truth, np.full((300, 1), 0.2)], axis=1)
    return cr.Belief(masses, [{0}, {1}, {0, 1}]), draw(truth, rng)


def raters() -> tuple[np.ndarray, cr.LabelCounts]:
    rng = np.random.default_rng(7)
    truth = rng.dirichlet(np.ones(3), size=500)
    stated = truth**2.5
    return stated / stated.sum(axis=1, keepdims=True), cr.LabelCounts(rng.multinomial(5, truth))


def normal(shift: float, spread: float, n: int = 600) -> tuple[cr.Gaussian, np.ndarray]:
    rng = np.random.default_rng(8)
    mean = rng.normal(size=n)
    return cr.Gaussian(mean - shift, np.full(n, spread)), mean + rng.normal(size=n)


def wavy() -> tuple[Any, Any]:
    """A bias that changes its sign with the predicted mean, so that no average shows it."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=600)
    return cr.Gaussian(mean, np.ones(600)), mean + 0.5 * np.sin(4 * mean) + rng.normal(size=600)


def unfocused() -> tuple[cr.Gaussian, np.ndarray]:
    """Uniform PIT, right coverage, never right.   Gneiting et al. 2007."""
    rng = np.random.default_rng(8)
    centre, side = rng.normal(size=600), rng.choice([-1.0, 1.0], size=600)
    return cr.Gaussian(centre + side / 2, np.full(600, 1.118)), centre + rng.normal(size=600)


def churn(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """A model that says about 42 % churn where 4 % churn: its scores are 3.1 too high."""
    rng = np.random.default_rng(0)
    score = rng.normal(-3.5, 1.0, n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    stated = 1 / (1 + np.exp(-score - 3.1))
    return np.stack([1 - stated, stated], axis=1), labels


def of(evaluation: cr.Evaluation, about: str) -> Any:
    """Return the one answer about something."""
    (answer,) = [question for question in evaluation.headline.questions if question.about == about]
    return answer


# ------------------------------------------------------------------------------------------- real values


def test_errors_are_compared_with_the_stated_spread() -> None:
    rng = np.random.default_rng(3)
    std = rng.choice([0.5, 2.0], size=800)
    evaluation = cr.evaluate(cr.Gaussian(np.zeros(800), std), rng.normal(size=800), n_resamples=199)
    assert evaluation.headline.finding.case == "spread"
    assert evaluation.headline.sentence.startswith("Stated spreads vary too much (large ones are too large")
    # errors are 1 at both spreads, which differ by a factor of 4: an exponent of 0, so 2 ** 0
    assert 2.0 ** evaluation.headline.finding.facts["observed"] == pytest.approx(1.0, abs=0.1)
    answer = of(evaluation, "stated")
    assert answer.word == "conflict"
    assert re.match(r"Its errors .* are .* where it states 0\.5 and .* where it states 2 ", answer.sentence)


def test_the_spread_of_few_draws_is_compared_with_what_right_draws_show() -> None:
    """Of ten draws of one distribution the smallest spreads are too small, and the largest too large."""
    rng = np.random.default_rng(3)
    samples, labels = cr.Samples(rng.normal(size=(600, 10))), rng.normal(size=600)
    evaluation = cr.evaluate(samples, labels, n_resamples=199, rng=0)
    (answer,) = [question for question in evaluation.headline.questions if question.about == "stated"]
    assert answer.word == "no conflict found"
    (low, *_, other), (high, *_, last) = evaluation.reals.spread.band
    assert float(evaluation.reals.spread.stated[0]) < low
    expected = f"{low:.3g} to {high:.3g} and {other:.3g} to {last:.3g} are expected because draws are few"
    assert expected in answer.sentence


def test_a_bias_is_repaired_by_a_shift() -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=200)
    gaussian, labels = cr.Gaussian(mean, np.ones(200)), mean + 1.0 + rng.normal(size=200)
    headline = cr.evaluate(gaussian, labels, n_resamples=99, rng=0).headline
    off = float((labels - mean).mean())
    assert headline.sentence.startswith(f"Predictions are too low by {off:.3g} on average (95 %: ")
    assert headline.size == pytest.approx(-off)
    assert headline.remedy == f"A shift of {off:.3g}, fitted on other folds, leaves nothing."
    assert headline.steps[0][1] == 'cr.recalibration_report(predictions, labels, ["shift"])'


def test_a_repair_of_several_parts_has_a_plural() -> None:
    rng = np.random.default_rng(3)
    mean = rng.normal(size=1500)
    labels = mean + 0.8 + 1.6 * rng.normal(size=1500)
    headline = cr.evaluate(cr.Gaussian(mean, np.ones(1500)), labels, n_resamples=199).headline
    assert re.fullmatch(
        r"A shift of [\d.]+ and a scale of [\d.]+, fitted on other folds, leave .*", headline.remedy
    )


def test_a_bias_of_single_draws_has_a_remedy() -> None:
    """They have no spread to scale."""
    rng = np.random.default_rng(0)
    samples, labels = cr.Samples(rng.normal(size=(100, 1))), rng.normal(size=100) + 2.0
    evaluation = cr.evaluate(samples, labels, n_resamples=99, rng=0)
    assert evaluation.headline.word == "conflict"
    assert evaluation.diagnosis.repair.method == "levels"  # one draw is one quantile
    assert f'["{evaluation.diagnosis.repair.method}"]' in evaluation.headline.steps[0][1]


def test_skewed_errors_are_called_so() -> None:
    """Of exponential errors none is below 90 % intervals, and exp(-2.645) = 7 % are above."""
    rng = np.random.default_rng(5)
    gaussian = cr.Gaussian(np.zeros(2000), np.ones(2000))
    headline = cr.evaluate(gaussian, rng.exponential(size=2000) - 1.0, n_resamples=99, rng=0).headline
    assert re.match(
        r"Skewed, with more labels above .*: 0 % of the labels lie below its 90 % .* and [67]\.\d % above",
        headline.sentence,
    )


def test_intervals_of_few_draws_are_compared_with_what_right_draws_show() -> None:
    """The 90 % interval of 10 draws ends at the smallest and the largest: 9 / 11 = 82 % are expected."""
    rng = np.random.default_rng(1)
    narrow = cr.evaluate(cr.Samples(rng.normal(size=(100, 10)) / 2), rng.normal(size=100), rng=0)
    size = 9 / 11 - narrow["picp"].value
    assert narrow.headline.size == pytest.approx(size, abs=0.01)  # 8 points more if 90 % were expected
    assert narrow.headline.sentence.startswith("Intervals are too narrow")
    assert "(82 % are expected, because draws are few" in of(narrow, "coverage").sentence
    wide = cr.evaluate(cr.Samples(1.3 * rng.normal(size=(1500, 10))), rng.normal(size=1500), rng=0).headline
    assert wide.sentence.startswith("Intervals are too wide")  # though 91 % are close to 90 %
    right = cr.evaluate(cr.Samples(rng.normal(size=(600, 10))), rng.normal(size=600), rng=0).headline
    assert right.word == "no conflict found"
    assert re.search("within .* points of what right draws would give, 95 % sure", right.sentence)


def test_a_scale_for_each_group_is_found_where_groups_differ() -> None:
    rng = np.random.default_rng(0)
    groups, labels = np.arange(400) % 2, rng.normal(size=400)
    narrow = cr.Gaussian(np.zeros(400), np.full(400, 0.6))
    alike = cr.evaluate(narrow, labels, groups=groups, n_resamples=99, rng=0)
    assert alike.diagnosis.fault == "scale"
    assert alike.headline.remedy.startswith("A scale of ")
    apart = cr.evaluate(
        narrow, np.where(groups == 1, 0.6, 1.5) * labels, groups=groups, n_resamples=99, rng=0
    )
    assert apart.diagnosis.fault == "group scale"
    assert apart.headline.sentence.startswith(
        "Intervals are too narrow for group 0: its 90 % intervals contain"
    )
    call = 'cr.recalibration_report(predictions, labels, ["scale"], groups=group)'
    assert apart.headline.steps[0][1] == call


def test_equal_draws_state_a_spread_of_zero() -> None:
    rng = np.random.default_rng(0)
    samples = cr.Samples(rng.poisson(0.3, (200, 10)) * 1.0)
    headline = cr.evaluate(samples, rng.poisson(0.3, 200) * 1.0, n_resamples=99, rng=0).headline
    (answer,) = [question for question in headline.questions if question.about == "stated"]
    assert re.match(r"Its errors \(root mean square\) are 0\.\d+ where it states 0 and ", answer.sentence)


def test_no_largest_difference_is_told_where_there_is_none() -> None:
    same = cr.evaluate(cr.Samples(np.zeros((50, 8))), np.zeros(50), n_resamples=99, rng=0)
    (answer,) = [question for question in same.headline.questions if question.about == "where"]
    assert "largest difference" not in answer.sentence


def levels_drawn(density: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """Return numbers in (0, 1) with a density of at most 2."""
    rng = np.random.default_rng(5)
    u, height = rng.uniform(size=(2, 4 * n))
    return u[2 * height < density(u)][:n]


def test_the_headline_names_what_is_off_and_not_what_chance_explains() -> None:
    """All have 90 % intervals with about 90 % of the labels, and medians with about half of them below."""

    def steps(heights: list[float], ends: list[float]) -> np.ndarray:
        return levels_drawn(lambda u: np.array(heights)[np.digitize(abs(2 * u - 1), ends)], 600)

    expected = {
        "tails|shape": steps([1.4, 0.5, 0.3, 2.0], [0.5, 0.9, 0.96]),
        "shape": levels_drawn(lambda u: 1.0 + 0.6 * np.sin(4 * np.pi * (u - 0.5)), 600),
    }
    for faults, u in expected.items():
        labels = np.array([NormalDist().inv_cdf(one) for one in u])
        gaussian = cr.Gaussian(np.zeros(labels.size), np.ones(labels.size))
        evaluation = cr.evaluate(gaussian, labels, n_resamples=199, rng=0)
        assert evaluation.diagnosis.fault in faults.split("|")
        low, high = evaluation.headline.interval
        # a size that chance explains is not what is said
        assert low > 0 or high < 0 or "its repair lowers the held-out loss by" in evaluation.headline.sentence


def test_a_quantile_that_is_not_the_median_is_not_called_so() -> None:
    rng = np.random.default_rng(0)
    # 90 % quantiles of predictions that are 0.5 too low: fewer labels than 90 %, and more than half, below
    quantiles = cr.Quantiles(np.full((400, 1), 1.2816 - 0.5), [0.9])
    headline = cr.evaluate(quantiles, rng.normal(size=400), n_resamples=199, rng=0).headline
    assert re.match(r"The 90 % quantile is too low: \d\d % of the labels lie below it", headline.sentence)


def test_counts_are_compared_with_what_their_ties_let_one_expect() -> None:
    """Central 90 % intervals of whole numbers contain more than 90 % if calibrated: ends belong to them."""
    rng = np.random.default_rng(0)
    draws, labels = np.round(rng.normal(size=(600, 40))), np.round(rng.normal(size=600))
    right = cr.evaluate(cr.Samples(draws), labels, n_resamples=199, rng=0)
    assert right.headline.word == "no conflict found"
    expected = r"Its 90 % intervals contain 9\d % of the labels \(9\d % are expected, because draws are few"
    assert re.match(expected, of(right, "coverage").sentence)
    # five points fewer than calibrated labels would be, though only one below 90 %
    evaluation = cr.evaluate(cr.Samples(draws), np.round(1.2 * rng.normal(size=600)), n_resamples=199, rng=0)
    assert evaluation.headline.word == "conflict"
    assert of(evaluation, "coverage").word == "conflict"


# --------------------------------------------------------------------------------------------- all kinds

WORLDS: dict[str, tuple[Callable[[], tuple[Any, Any]], str, str]] = {
    "overconfident": (lambda: said(1500, 4, 2.0), "conflict", "Overconfident: it says .* points too sure"),
    "underconfident": (lambda: said(1500, 4, 0.5), "conflict", "Underconfident: .* points too unsure"),
    "calibrated": (
        lambda: said(2000, 4, 1, seed=4),
        "no conflict found",
        "No sign of miscalibration in 2000",
    ),
    "too few data": (lambda: said(30, 3, 1.0), "cannot tell", "Too few data to tell: with 30 instances"),
    "bent": (bent, "conflict", "Too high: where it says 79 % to .*, it says 90 %"),
    "binary": (lambda: said(900, 2, 2.0), "conflict", "Overconfident"),
    "churn": (churn, "conflict", "Predicts class 1 too often: it says 41 % .* 9.7 times too often"),
    "100 classes": (lambda: said(800, 100, 1.5), "conflict", "Overconfident"),
    "in parts": (lambda: opposite(0.1), "conflict", "Too extreme about class 1: in the rows where it says"),
    "in parts, of no use": (
        lambda: opposite(0.05),
        "conflict",
        "No better than always stating the base rates, and not calibrated: in the rows where it says least",
    ),
    "ensemble": (lambda: members(1.0), "no conflict found", "No sign of miscalibration in 400"),
    "Dirichlet": (dirichlet, "conflict", "Overconfident"),
    "belief": (belief, "conflict", "Underconfident"),
    "raters": (raters, "conflict", "Overconfident"),
    "too narrow": (lambda: normal(0.0, 0.6), "conflict", "Intervals are too narrow: its 90 % .* too few"),
    "too wide": (lambda: normal(0.0, 1.6), "conflict", "Intervals are too wide: its 90 % .* too many"),
    "biased": (lambda: normal(0.5, 1.0), "conflict", "Predictions are too low by "),
    "reals": (lambda: normal(0.0, 1.0), "no conflict found", "No sign of miscalibration in 600"),
    "unfocused": (
        unfocused,
        "conflict",
        "Too extreme .high predictions are too high and low .* more than chance",
    ),
    "wavy": (wavy, "conflict", "Miscalibrated in a way that no repair here removes: SKCE is .* similar"),
    "few reals": (lambda: normal(0.0, 1.0, 40), "cannot tell", "Too few data to tell: with 40 instances"),
}


@pytest.mark.slow
@pytest.mark.usefixtures("without_learned_weights")
@pytest.mark.parametrize("name", WORLDS)
def test_what_it_says(name: str) -> None:
    make, word, sentence = WORLDS[name]
    predictions, labels = make()
    real = isinstance(predictions, cr.Gaussian)
    evaluation = cr.evaluate(predictions, labels, **({"n_resamples": 199} if real else CHEAP))
    headline = evaluation.headline
    assert headline is not None
    assert headline.word == word
    assert re.match(sentence, headline.sentence), headline.sentence
    assert all(question.sentence and question.question.endswith("?") for question in headline.questions)
    assert str(headline) in evaluation.summary()
    asked = [question.about for question in headline.questions]
    if name in ("too narrow", "reals"):  # which state one spread for all
        (coverage,) = [question for question in headline.questions if question.about == "coverage"]
        assert "wide; without a model, one interval for all labels would be" in coverage.sentence
    first = ["what", *(["repairs"] if word == "conflict" else [])]
    first += ["left"] if evaluation.diagnosis.repair is not None else []
    last = ["coverage", "where"] if real else ["errors"]
    last += (
        ["spread"]
        if (not real and not isinstance(predictions, (np.ndarray, cr.Confidence))) or name == "raters"
        else []
    )
    assert asked == [*(["raters"] * (name == "raters")), *first, *last]


def test_size_interval_and_remedy_are_those_of_the_diagnosis() -> None:
    probs, labels = said(1500, 4, 2.0)
    evaluation = cr.evaluate(probs, labels, **CHEAP)
    headline, effect = evaluation.headline, evaluation.diagnosis.effect
    gap = cr.confidence_gap(probs, labels)
    assert headline.size == effect.size == pytest.approx(gap.value, abs=1e-12)
    assert headline.interval == effect.interval == pytest.approx(gap.interval(), abs=1e-3)
    assert f"{points(gap.value)} too sure ({span(effect.interval, in_points)})" in headline.sentence
    # the repair is fitted to all rows, and what it leaves is measured on rows of other folds
    fitted = cr.recalibrate.TemperatureScaling().fit(probs, labels)
    assert (
        headline.remedy
        == f"{capital(fitted.describe())}, fitted on other folds, leaves {signed_points(effect.remains)}."
    )
    assert abs(effect.remains) < abs(gap.value) / 4
    ((_, command),) = headline.steps
    assert command == 'cr.recalibration_report(predictions, labels, ["temperature"])'


def test_two_classes_are_about_the_event_by_its_name() -> None:
    probs, labels = churn()
    evaluation = cr.evaluate(probs, labels, classes=["stay", "churn"], **CHEAP)
    stated, happened = probs[:, 1].mean(), labels.mean()  # 0.411 and 0.042
    said = f"it says {frequency(stated)} churn; {frequency(happened)} churn"
    said += f", {stated / happened:.1f} times too often"
    assert evaluation.headline.sentence.startswith(
        f"Predicts churn too often: {said} (37 points, 95 %: 36 to 38)"
    )
    assert evaluation.diagnosis.repair.method == "bias"
    assert evaluation.headline.remedy.endswith("leaves 0.0 points.")
    # the same of classes that have numbers
    plain = cr.evaluate(probs, labels, **CHEAP).headline.sentence
    assert "it says 41 % for class 1; 4.2 % are class 1, 9.7 times" in plain


def test_a_small_gap_is_judged_by_the_frequency_of_the_event() -> None:
    """Half a point is a quarter of 2 % and little of 50 %."""
    rng = np.random.default_rng(0)
    n = 40_000
    rare = np.clip(rng.normal(0.02, 0.004, n), 0.005, 0.04)
    often = np.clip(rng.normal(0.5, 0.1, n), 0.1, 0.9)
    expected = {"rare": (rare, rare + 0.006, False), "often": (often, often + 0.008, True)}
    for name, (truth, stated, is_small) in expected.items():
        labels = (rng.random(n) < truth).astype(int)
        headline = cr.evaluate(np.stack([1 - stated, stated], axis=1), labels, **CHEAP).headline
        assert headline.word == "conflict", name
        assert ("Real, but small: less than 2.0 points." in headline.sentence) == is_small, headline.sentence


def test_repairs_are_listed_with_what_they_gain() -> None:
    evaluation = cr.evaluate(*said(1500, 4, 2.0), **CHEAP)
    answer = of(evaluation, "repairs")
    assert (answer.word, answer.case) == ("", "repaired")
    (chosen,) = [one for one in answer.facts["tried"] if one["chosen"]]
    assert (chosen["method"], chosen["gain"]) == ("temperature", evaluation.diagnosis.repair.gain)
    gains = [one["gain"] for one in answer.facts["tried"]]
    assert gains == sorted(gains, reverse=True)
    assert answer.facts["command"] == evaluation.headline.steps[0][1]
    assert answer.sentence.startswith("A temperature is the smallest repair that explains the gain")
    right = cr.evaluate(*said(2000, 4, 1.0, seed=4), **CHEAP)
    assert "repairs" not in [question.about for question in right.headline.questions]


def test_findings_are_data() -> None:
    evaluation = cr.evaluate(*said(1500, 4, 2.0), **CHEAP)
    written = evaluation.to_dict()["headline"]
    assert written["sentence"] == evaluation.headline.sentence
    own = written["finding"]
    assert (own["about"], own["word"], own["case"]) == ("headline", "conflict", "temperature")
    assert own["facts"]["size"] == evaluation.diagnosis.effect.size
    assert [one["sentence"] for one in written["questions"]] == [
        question.sentence for question in evaluation.headline.questions
    ]
    assert evaluation.findings[0] == evaluation.headline.finding
    assert str(evaluation.headline) == f"{evaluation.headline.sentence} {evaluation.headline.remedy}"


def test_every_fault_and_repair_has_words() -> None:
    faults = [one for one in (*CLASSES, *REALS) if one.method]
    assert {fault.name for fault in faults} <= set(CASES)
    assert {fault.method for fault in faults} <= set(REPAIRS)


def test_the_gap_is_below_what_the_headline_says() -> None:
    probs, labels = said(2000, 4, 1.0, seed=4)
    headline = cr.evaluate(probs, labels, **CHEAP).headline
    bound = cr.hypotests.certificate(probs, labels, statistic="confidence_gap")
    assert headline.bound == bound.upper
    assert headline.sentence.endswith(f"the average gap is below {at_most(bound.upper)}, 95 % sure.")
    other = cr.evaluate(probs, labels, level=0.01, **CHEAP).headline
    assert other.bound > headline.bound
    assert other.sentence.endswith("99 % sure.")


def test_intervals_are_within_what_the_headline_says() -> None:
    predictions, labels = normal(0.0, 1.0)
    headline = cr.evaluate(predictions, labels, n_resamples=199).headline
    inside = int((abs(labels - predictions.mean) <= 1.6448536).sum())  # the 95 % quantile of the normal
    low, high = (binomtest(inside, 600, alternative=side).proportion_ci(0.95) for side in ("greater", "less"))
    assert headline.bound == pytest.approx(max(0.9 - low.low, high.high - 0.9))
    assert headline.sentence.endswith(
        f"coverage of its 90 % intervals is within {at_most(headline.bound)} of what they promise, 95 % sure."
    )


def test_too_few_data_come_with_a_plan() -> None:
    probs, labels = said(30, 3, 1.0)
    headline = cr.evaluate(probs, labels, **CHEAP).headline
    wanted = cr.plan_labels(probs, gap=0.02).instances
    number = int(re.search(r"About ([\d ]+) labels", headline.remedy)[1].replace(" ", ""))
    assert abs(number - wanted) <= 0.05 * wanted  # two digits
    assert headline.steps[0][1] == "cr.plan_labels(predictions, gap=0.02)"


def test_bounds_are_rounded_up() -> None:
    assert [at_most(share) for share in (0.0101, 0.011, 0.0994, 0.101)] == [
        *("1.1 points", "1.1 points", "10 points", "11 points")
    ]


def test_a_real_gap_below_the_margin_is_called_small() -> None:
    probs, labels = said(1500, 4, 2.0)
    assert "Real, but small" not in cr.evaluate(probs, labels, **CHEAP).headline.sentence
    assert (
        "Real, but small: less than 40 points."
        in cr.evaluate(probs, labels, margin=0.4, **CHEAP).headline.sentence
    )
    with pytest.raises(cr.InputError, match="`margin` must be at least 0 and below 1; got 2"):
        cr.evaluate(probs, labels, margin=2)


def test_nothing_is_claimed_where_nothing_was_tested() -> None:
    probs, labels = said(300, 3, 2.0)
    headline = cr.evaluate(probs, labels, tests=False).headline
    assert (headline.word, headline.remedy) == ("cannot tell", "")
    assert headline.sentence.startswith("Not tested: it says ")
    real = cr.evaluate(*normal(0.0, 1.0), tests=False).headline
    assert (real.word, real.questions) == ("cannot tell", ())


def test_the_steps_name_the_file() -> None:
    probs, labels = said(1500, 4, 2.0)
    headline = cr.evaluate(probs, labels, source={"path": "my file.npz"}, **CHEAP).headline
    assert (
        headline.steps[0][1] == "credibly calibrate fit 'my file.npz' calibration.json --method temperature"
    )


def test_a_model_that_is_surest_where_it_is_wrong() -> None:
    rng = np.random.default_rng(1)
    sure = rng.uniform(0.5, 1.0, size=800)
    labels = (rng.random(800) < 2 * (sure - 0.5)).astype(int)  # the surer, the more often wrong
    evaluation = cr.evaluate(np.stack([sure, 1 - sure], axis=1), labels, **CHEAP)
    assert (evaluation.headline.word, evaluation.headline.finding.case) == ("conflict", "inverted")
    assert evaluation.headline.sentence.startswith("Its confidence is misleading")
    assert evaluation.headline.steps == ()
    errors = of(evaluation, "errors")
    assert (errors.word, errors.case) == ("no", "misleads")
    assert of(evaluation, "repairs").sentence.startswith("No recalibration does")


def test_what_the_headline_says_of_the_reading_of_data_is_no_warning_besides() -> None:
    probs, labels = said(900, 4, 1.0)
    evaluation = cr.evaluate(probs[:, [1, 0, 3, 2]], labels, **CHEAP)
    assert evaluation.diagnosis.fault == "swapped classes"
    assert evaluation.headline.sentence.startswith("The columns are in another order than the labels")
    assert not [warning for warning in evaluation.warnings if "order of the classes" in warning]


def test_single_statistics_are_in_conflict_only_where_the_one_test_is() -> None:
    """One value among many that is off is explained by chance where the one test does not reject."""
    probs, labels = said(200, 3, 1.0, seed=4)
    evaluation = cr.evaluate(probs, labels, n_resamples=199)
    calm = dataclasses.replace(evaluation.diagnosis, word="no conflict found")
    facts = {
        "statistic": "Brier score",
        "value": 1.0,
        "whose": "",
        "accepted": (0.0, 0.5),
        "sure": 0.95,
        "above": True,
        "meaning": "it is off",
        "hypothesis": None,
        "is_outweighed": False,
    }
    verdict = Verdict("conflict", "brier", "beyond its region", facts, "", "", 1.0, (0.0, 0.5))
    (gate,) = gated([verdict], calm)
    assert gate.word == "no conflict found"
    assert verdict.finding.startswith("Brier score 1 is above what would be expected")
    assert gate.finding.startswith(f"{verdict.finding} Among all that was tested, chance explains")
    loud = dataclasses.replace(calm, word="conflict")
    assert gated([verdict], loud) == (verdict,)


SAME = np.repeat(said(60, 3, 1.0)[0][:, None], 4, axis=1)
ODD: dict[str, tuple[Any, Any, str, dict[str, str]]] = {
    "one instance": (
        np.array([[0.8, 0.2]]),
        np.array([0]),
        "with 1 instance, the average gap could still be up to 75 points",  # 0.8 - 0.05
        {},
    ),
    "certain and right": (
        np.eye(3)[np.arange(60) % 3],
        np.arange(60) % 3,
        # 1 - 0.05^(1/60) = 0.0487
        "certain of every answer, and always right in 60 instances; the average gap is below 4.9 points",
        {"what": "is right 100.0 % of the time: no gap, in 60 rows"},
    ),
    "all wrong": (
        said(60, 3, 1.0)[0],
        said(60, 3, 1.0)[0].argmin(axis=1),
        "Overconfident: it says .* and is right 0 % of the time",
        {"errors": "It gave no right answer on these 60 instances"},
    ),
    "one distribution for all": (
        np.tile([0.5, 0.3, 0.2], (60, 1)),
        np.arange(60) % 3,
        "",
        {"errors": "equally sure of all its answers"},
    ),
    "members that agree": (SAME, said(60, 3, 1.0)[1], "", {"spread": "members all predict the same"}),
    "far below the labels": (
        normal(50.0, 1.0, 40)[0],
        normal(50.0, 1.0, 40)[1],
        "Predictions are too low by 50",
        {},
    ),
    "one real value": (
        cr.Gaussian(np.zeros(1), np.ones(1)),
        np.ones(1),
        "with 1 instance, the coverage of its 90 % intervals could still be off by up to 85 points",
        {},
    ),
    "one real value at the median": (
        cr.Gaussian(np.zeros(1), np.ones(1)),
        np.zeros(1),
        "Too few data to tell: with 1 instance",
        {},
    ),
    "units of 1e-18": (
        cr.Gaussian(1e-18 * normal(1.0, 1.0)[0].mean, np.full(600, 1e-18)),
        1e-18 * normal(1.0, 1.0)[1],
        "Predictions are too low by 9.3e-19 on average",
        {},
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data_get_sensible_sentences(name: str) -> None:
    predictions, labels, sentence, answers = ODD[name]
    options = {"n_resamples": 199} if isinstance(predictions, cr.Gaussian) else CHEAP
    headline = cr.evaluate(predictions, labels, **options).headline
    assert headline is not None
    assert re.search(sentence, headline.sentence), headline.sentence
    found = {question.about: question for question in headline.questions}
    for about, words in answers.items():
        assert re.search(words, found[about].sentence), found[about].sentence
        assert found[about].word == (
            "no conflict found" if headline.word == "no conflict found" else "cannot tell"
        )


def test_a_value_that_cannot_differ_tells_nothing() -> None:
    labels = np.arange(30) % 3
    evaluation = cr.evaluate(np.eye(3)[labels], labels, **CHEAP)
    gap = next(verdict for verdict in evaluation.verdicts if verdict.statistic == "confidence_gap")
    assert gap.finding.endswith("cannot tell, because these predictions allow no other value.")


def test_few_mistakes_are_counted_in_the_surest_half() -> None:
    assert _by_halves(900, 1 / 450, 47 / 900)[1] < 47 / 900  # 1 of 47 mistakes among the surest half
    assert _by_halves(900, 46 / 450, 47 / 900)[0] > 47 / 900
    low, high = _by_halves(900, 23 / 450, 47 / 900)
    assert low < 47 / 900 < high
    assert _by_halves(20, 0.0, 0.05) == (0.0, 1.0)  # one mistake tells nothing


def test_groups_that_are_off_lead_where_nothing_is_found_over_all() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(4), size=300)
    labels = (rng.random((300, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    alone = cr.evaluate(probs, labels, n_resamples=99)
    assert alone.headline.word == "no conflict found"
    evaluation = cr.evaluate(probs, labels, groups=labels % 2, n_resamples=99)
    assert evaluation.headline.word == "conflict"
    # labels 0 and 2 are group 0, so that class 3, of which it says a fifth, never occurs there
    assert re.match(
        r"Predicts class \d too often for group [01]: it says \d\d % for class \d; 0 % are class \d",
        evaluation.headline.sentence,
    )
    assert (
        evaluation.headline.steps[0][1]
        == 'cr.recalibration_report(predictions, labels, ["bias"], groups=group)'
    )
    assert "most clearly off: group " in of(evaluation, "left").sentence


@pytest.mark.parametrize(("score", "says"), [(3.0, "class 1 occurs "), (-0.2, "no single class is off")])
def test_a_class_within_its_bounds_is_not_called_outside(score: float, says: str) -> None:
    """The first screen once said "39.7 %, where the set says at least 39.2 %" of a class that occurs less."""
    direction = WitnessDirection(1, False, 317, 0.397, 0.392, 0.5, score, "")
    tested = cr.hypotests.witness_test(*said(50, 3, 1.0), rng=0)
    details = dataclasses.replace(tested.details, directions=(direction,))
    validity = dataclasses.replace(tested, pvalue=0.01, details=details)
    verdict = Verdict("conflict", "witness", "truth outside the set", {}, "", "", None, None)
    parts = CredalParts(validity, {}, None, (verdict,), np.arange(50), 50)
    sets = SimpleNamespace(example=SimpleNamespace(predictions=None))
    answer = _credal(parts, "?", cast(Any, SimpleNamespace(options=("0", "1", "2"), sets=sets)))
    assert says in answer.sentence
    assert answer.sentence.endswith("(p = 0.01).")


def test_numbers_are_written_in_the_unit_of_their_reader() -> None:
    assert [frequency(one) for one in (0.423, 0.042, 0.0042, 0.984, 1.0, 1 - 1e-9)] == [
        *("42 %", "4.2 %", "0.42 %", "98.4 %", "100 %", "100 %")
    ]
    assert (times(0.42, 0.04), times(0.36, 0.04), times(0.04, 1.0), times(0.5, 0.4), times(0.04, 0.05)) == (
        *("10.5 times".replace("10.5", "ten"), "9.0 times", "25 times", "", ""),
    )
    assert [signed_points(one) for one in (0.004, -0.12, 1e-9, 0.01)] == [
        *("+0.4 points", "-12 points", "0.0 points", "+1.0 point")
    ]


def test_intervals_are_told_in_the_direction_of_the_sentence() -> None:
    assert span((-0.202, 0.123), in_points) == "95 %: -12 to 20"
    assert span((-0.04, -0.02), in_points) == "95 %: 2.0 to 4.0"


def test_a_tiny_pvalue_is_an_inequality() -> None:
    assert (p_is(1.1e-21), p_is(0.004)) == ("p < 0.0001", "p = 0.004")


@pytest.mark.slow
def test_sets_whose_class_is_never_stated_often_enough_are_in_conflict() -> None:
    flat = np.full((400, 3), 1 / 3)
    predictions = cr.Intervals(0.6 * flat, np.minimum(1.2 * flat, 1.0))
    evaluation = cr.evaluate(predictions, np.zeros(400, dtype=int), **CHEAP)
    assert evaluation.headline.word == "conflict"
    assert (
        "class 0 occurs more often than any distribution in the set says" in of(evaluation, "spread").sentence
    )


@pytest.mark.slow
def test_means_and_spreads_that_are_both_off_are_both_in_the_headline() -> None:
    rng = np.random.default_rng(12)
    mean = 3 * rng.normal(size=1500)
    evaluation = cr.evaluate(cr.Gaussian(mean + 0.5, np.full(1500, 0.6)), mean + rng.normal(size=1500), rng=0)
    headline = str(evaluation.headline)
    assert "Predictions are too high by" in headline
    assert "With that put right, its 90 % intervals contain" in headline
    alone = cr.evaluate(cr.Gaussian(mean + 0.5, np.ones(1500)), mean + rng.normal(size=1500), rng=0)
    assert "With that put right" not in str(alone.headline)
