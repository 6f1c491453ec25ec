"""The headline answers the title of a report: direction, size, whether chance explains it, what helps."""

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
from credibly.evaluation.headline import _credal_answer
from credibly.evaluation.phrases import at_most, points, within
from credibly.evaluation.set_tests import CredalParts
from credibly.evaluation.words import Verdict, p_is
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


def opposite() -> tuple[np.ndarray, np.ndarray]:
    """Too sure where it is sure, too unsure where it is not: right on average."""
    rng = np.random.default_rng(4)
    stated = np.where(np.arange(3000) % 2, 0.6, 0.9)
    truth = np.where(np.arange(3000) % 2, 0.7, 0.8)
    labels = (rng.random(3000) > truth).astype(int)
    return np.stack([stated, 1 - stated], axis=1), labels


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


def test_errors_are_compared_with_the_stated_spread() -> None:
    rng = np.random.default_rng(3)
    std = rng.choice([0.5, 2.0], size=800)
    given = cr.Gaussian(np.zeros(800), std)
    found = cr.evaluate(given, rng.normal(size=800), n_resamples=199).headline
    (answer,) = [one for one in found.questions if one.about == "stated"]
    assert answer.word == "conflict"
    assert re.match(r"Its errors .* are .* where it states 0\.5 and .* where it states 2 ", answer.sentence)


def test_the_spread_of_few_draws_is_compared_with_what_right_draws_show() -> None:
    """Of ten draws of one distribution the smallest spreads are too small, and the largest too large."""
    rng = np.random.default_rng(3)
    given, labels = cr.Samples(rng.normal(size=(600, 10))), rng.normal(size=600)
    found = cr.evaluate(given, labels, n_resamples=199, rng=0)
    (answer,) = [one for one in found.headline.questions if one.about == "stated"]
    assert answer.word == "no conflict found"
    (low, *_, other), (high, *_, last) = found.reals.spread.band
    assert float(found.reals.spread.stated[0]) < low
    expected = f"{low:.3g} to {high:.3g} and {other:.3g} to {last:.3g} are expected because draws are few"
    assert expected in answer.sentence


def test_a_scale_is_no_remedy_for_a_bias() -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=200)
    given, labels = cr.Gaussian(mean, np.ones(200)), mean + 1.0 + rng.normal(size=200)
    found = cr.evaluate(given, labels, n_resamples=99, rng=0).headline
    assert found.sentence.startswith("Biased: its predictions are too low")
    assert found.remedy == "A scale would keep this bias; shifted quantiles can remove it."
    assert found.steps[0][1] == 'cr.recalibration_report(predictions, labels, ["shift"])'
    tried = cr.evaluate(given, labels, n_resamples=99, recalibrate=["scale", "shift"], rng=0).headline
    assert tried.remedy.startswith("Shifts of quantiles by ")


def test_a_bias_of_single_draws_has_a_remedy() -> None:
    """They have no spread to scale."""
    rng = np.random.default_rng(0)
    given, labels = cr.Samples(rng.normal(size=(100, 1))), rng.normal(size=100) + 2.0
    found = cr.evaluate(given, labels, n_resamples=99, rng=0).headline
    assert found.steps[0][1] == 'cr.recalibration_report(predictions, labels, ["shift"])'


def test_a_headline_about_width_tells_a_median_that_is_off_too() -> None:
    """Skewed errors: 63 % of exponential ones are below their mean, and 90 % intervals contain 93 %."""
    rng = np.random.default_rng(5)
    given = cr.Gaussian(np.zeros(2000), np.ones(2000))
    found = cr.evaluate(given, rng.exponential(size=2000) - 1.0, n_resamples=99, rng=0).headline
    assert found.sentence.startswith("Too wide: its 90 % intervals contain 93 %")
    assert re.search(r"And 6\d % of the labels lie below the predicted median\.$", found.sentence)
    assert found.remedy.endswith(", and keep the medians, which shifted quantiles move.")


def test_intervals_of_few_draws_are_compared_with_what_right_draws_show() -> None:
    """The 90 % interval of 10 draws ends at the smallest and the largest: 9 / 11 = 82 % are expected."""
    rng = np.random.default_rng(1)
    narrow = cr.evaluate(cr.Samples(rng.normal(size=(100, 10)) / 2), rng.normal(size=100), rng=0)
    size = 9 / 11 - narrow["picp"].value
    assert narrow.headline.size == pytest.approx(size, abs=0.01)  # 8 points more if 90 % were expected
    assert "(82 % are expected, because draws are few" in narrow.headline.sentence
    wide = cr.evaluate(cr.Samples(1.3 * rng.normal(size=(1500, 10))), rng.normal(size=1500), rng=0).headline
    assert wide.sentence.startswith("Too wide")
    assert "would change the coverage" in wide.remedy  # from 88 % to 82 %, so farther from 90 %
    right = cr.evaluate(cr.Samples(rng.normal(size=(600, 10))), rng.normal(size=600), rng=0).headline
    assert re.search("within .* points of what is expected, 95 % sure", right.sentence)


def test_a_scale_for_each_group_is_tried_where_groups_differ() -> None:
    rng = np.random.default_rng(0)
    groups, labels = np.arange(400) % 2, rng.normal(size=400)
    given = cr.Gaussian(np.zeros(400), np.where(groups == 1, 1.0, 0.4))
    found = cr.evaluate(given, labels, groups=groups, n_resamples=99, rng=0).headline
    assert re.match(r"Scales from .* in 2 groups, fitted on held-out folds, would change", found.remedy)
    call = 'cr.recalibration_report(predictions, labels, ["scale_by_group"], groups=groups)'
    assert found.steps[0][1] == call
    alike = cr.Gaussian(np.zeros(400), np.full(400, 0.6))
    found = cr.evaluate(alike, labels, groups=groups, n_resamples=99, rng=0).headline
    assert found.remedy.startswith("A scale of ")


def test_labels_that_equal_their_median_are_no_bias() -> None:
    """All are at most as large as the median, and none is below it."""
    mean = np.random.default_rng(0).normal(size=100)
    found = cr.evaluate(cr.Gaussian(mean, np.ones(100)), mean, n_resamples=99, rng=0).headline
    assert found.sentence.startswith("Too wide: its 90 % intervals contain 100.0 % of the labels")
    assert " And " not in found.sentence


def test_equal_draws_state_a_spread_of_zero() -> None:
    rng = np.random.default_rng(0)
    given = cr.Samples(rng.poisson(0.3, (200, 10)) * 1.0)
    found = cr.evaluate(given, rng.poisson(0.3, 200) * 1.0, n_resamples=99, rng=0).headline
    (answer,) = [one for one in found.questions if one.about == "stated"]
    assert re.match(r"Its errors \(root mean square\) are 0\.\d+ where it states 0 and ", answer.sentence)


def test_no_largest_difference_is_told_where_there_is_none() -> None:
    same = cr.evaluate(cr.Samples(np.zeros((50, 8))), np.zeros(50), n_resamples=99, rng=0)
    (answer,) = [one for one in same.headline.questions if one.about == "where"]
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

    heavy, wide = steps([1.4, 0.5, 0.3, 2.0], [0.5, 0.9, 0.96]), steps([1.4, 0.7, 0.9], [0.4, 0.9])
    lopsided = levels_drawn(lambda u: 1.0 + 0.6 * np.sin(4 * np.pi * (u - 0.5)), 600)
    many = r"its [2-6]\d % intervals contain \d+ % of the labels, .* too many; more than .* And its 90 %"
    expected = {
        f"Miscalibrated, though not at 90 %: {many}": heavy,
        f"Too wide: {many}": wide,
        r"Miscalibrated, though not at the median: .* the predicted \d+ % quantile, more than": lopsided,
    }
    for said, u in expected.items():
        labels = np.array([NormalDist().inv_cdf(one) for one in u])
        given = cr.Gaussian(np.zeros(labels.size), np.ones(labels.size))
        found = cr.evaluate(given, labels, n_resamples=199, rng=0).headline
        assert found.word == "conflict"
        assert re.match(said, found.sentence), found.sentence


def test_a_quantile_that_is_not_the_median_is_not_called_so() -> None:
    rng = np.random.default_rng(0)
    # 90 % quantiles of predictions that are 0.5 too low: fewer labels than 90 %, and more than half, below
    given = cr.Quantiles(np.full((400, 1), 1.2816 - 0.5), [0.9])
    found = cr.evaluate(given, rng.normal(size=400), n_resamples=199, rng=0).headline
    assert found is not None
    start = (
        r"Biased: its predictions are too low; \d\d % of the labels lie below the predicted 90 % quantile, "
    )
    assert re.match(start, found.sentence), found.sentence


def test_counts_are_compared_with_what_their_ties_let_one_expect() -> None:
    """Central 90 % intervals of whole numbers contain more than 90 % if calibrated: ends belong to them."""
    rng = np.random.default_rng(0)
    draws, labels = np.round(rng.normal(size=(600, 40))), np.round(rng.normal(size=600))
    right = cr.evaluate(cr.Samples(draws), labels, n_resamples=199, rng=0).headline
    assert right is not None
    assert right.word == "no conflict found"
    expected = r"its 90 % intervals contain 9\d % of the labels \(9\d % are expected, because draws are few"
    assert re.search(expected, right.sentence), right.sentence
    # five points fewer than calibrated labels would be, though only one below 90 %
    wide = np.round(1.2 * rng.normal(size=600))
    found = cr.evaluate(cr.Samples(draws), wide, n_resamples=199, rng=0).headline
    assert found is not None
    start = r"Too narrow: its 90 % intervals contain 89 % .* \(9\d % are expected, .*\), .* points too few"
    assert re.match(start, found.sentence), found.sentence


WORLDS: dict[str, tuple[Callable[[], tuple[Any, Any]], str, str]] = {
    "overconfident": (lambda: said(1500, 4, 2.0), "conflict", "Overconfident: it says .* points too sure"),
    "underconfident": (lambda: said(1500, 4, 0.5), "conflict", "Underconfident: .* points too unsure"),
    "calibrated": (
        lambda: said(2000, 4, 1, seed=4),
        "no conflict found",
        "No sign of miscalibration in 2000",
    ),
    "too few data": (lambda: said(30, 3, 1.0), "cannot tell", "Too few data to tell: with 30 instances"),
    "binary": (lambda: said(900, 2, 2.0), "conflict", "Overconfident"),
    "100 classes": (lambda: said(800, 100, 1.5), "conflict", "Overconfident"),
    "in parts": (opposite, "conflict", "Miscalibrated, though not on average: .* too sure .* too unsure"),
    "ensemble": (lambda: members(1.0), "no conflict found", "No sign of miscalibration in 400"),
    "Dirichlet": (dirichlet, "conflict", "Overconfident"),
    "belief": (belief, "conflict", "Underconfident"),
    "raters": (raters, "conflict", "Overconfident"),
    "too narrow": (lambda: normal(0.0, 0.6), "conflict", "Too narrow: its 90 % intervals contain .* too few"),
    "too wide": (lambda: normal(0.0, 1.6), "conflict", "Too wide: its 90 % intervals contain .* too many"),
    "biased": (lambda: normal(0.5, 1.0), "conflict", "Biased: its predictions are too low"),
    "reals": (lambda: normal(0.0, 1.0), "no conflict found", "No sign of miscalibration in 600"),
    "unfocused": (
        unfocused,
        "conflict",
        "Too extreme: high predictions are too high and low .* more than chance",
    ),
    "wavy": (wavy, "conflict", "Miscalibrated, though not on average: its 90 % .* SKCE: similar"),
    "few reals": (lambda: normal(0.0, 1.0, 40), "cannot tell", "Too few data to tell: with 40 instances"),
}


@pytest.mark.slow
@pytest.mark.usefixtures("without_learned_weights")
@pytest.mark.parametrize("name", WORLDS)
def test_what_it_says(name: str) -> None:
    make, word, sentence = WORLDS[name]
    predictions, labels = make()
    real = isinstance(predictions, cr.Gaussian)
    found = cr.evaluate(predictions, labels, **({"n_resamples": 199} if real else CHEAP))
    headline = found.headline
    assert headline is not None
    assert headline.word == word
    assert re.match(sentence, headline.sentence), headline.sentence
    assert str(headline) in found.summary()
    asked = [one.about for one in headline.questions]
    if name in ("too narrow", "reals"):  # which state one spread for all
        (coverage,) = [one for one in headline.questions if one.about == "coverage"]
        assert "wide; without a model, one interval for all labels would be" in coverage.sentence
    assert asked == (
        ["coverage", "where"] if real else [*(["raters"] * (name == "raters")), "confidence", "errors"]
    ) + (["spread"] if (not real and not isinstance(predictions, np.ndarray)) or name == "raters" else [])


def test_size_interval_and_remedy_are_those_of_the_parts() -> None:
    probs, labels = said(1500, 4, 2.0)
    found = cr.evaluate(probs, labels, **CHEAP)
    told = found.headline
    gap = cr.confidence_gap(probs, labels)
    assert told.size == pytest.approx(gap.value, abs=1e-12)
    assert told.interval == pytest.approx(gap.interval(), abs=1e-12)
    assert f"{points(gap.value)} too sure" in told.sentence
    after = found.recalibration.methods["temperature"].changes["confidence_gap"].after.value
    assert told.remedy.endswith(f"would bring this to {points(after)}.")
    assert abs(after) < abs(gap.value) / 4
    ((_, command),) = told.steps
    assert command == 'cr.recalibration_report(predictions, labels, ["temperature"])'


def test_the_gap_is_below_what_the_headline_says() -> None:
    probs, labels = said(2000, 4, 1.0, seed=4)
    told = cr.evaluate(probs, labels, **CHEAP).headline
    bound = cr.hypotests.certificate(probs, labels, statistic="confidence_gap")
    assert told.bound == bound.upper
    assert told.sentence.endswith(f"the average gap is below {at_most(bound.upper)}, 95 % sure.")
    other = cr.evaluate(probs, labels, level=0.01, **CHEAP).headline
    assert other.bound > told.bound
    assert other.sentence.endswith("99 % sure.")


def test_intervals_are_within_what_the_headline_says() -> None:
    given, labels = normal(0.0, 1.0)
    told = cr.evaluate(given, labels, n_resamples=199).headline
    inside = int((abs(labels - given.mean) <= 1.6448536).sum())  # the 95 % quantile of the normal
    low, high = (binomtest(inside, 600, alternative=side).proportion_ci(0.95) for side in ("greater", "less"))
    assert told.bound == pytest.approx(max(0.9 - low.low, high.high - 0.9))
    assert told.sentence.endswith(
        f"their true coverage is within {at_most(told.bound)} of what they promise, 95 % sure."
    )


def test_too_few_data_come_with_a_plan() -> None:
    probs, labels = said(30, 3, 1.0)
    told = cr.evaluate(probs, labels, **CHEAP).headline
    wanted = cr.plan_labels(probs, gap=0.02).instances
    number = int(re.search(r"About ([\d ]+) labels", told.remedy)[1].replace(" ", ""))
    assert abs(number - wanted) <= 0.05 * wanted  # two digits
    assert told.steps[0][1] == "cr.plan_labels(predictions, gap=0.02)"


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
    told = cr.evaluate(probs, labels, tests=False).headline
    assert (told.word, told.remedy) == ("cannot tell", "")
    assert told.sentence.startswith("Not tested: it says ")
    real = cr.evaluate(*normal(0.0, 1.0), tests=False).headline
    assert (real.word, real.questions) == ("cannot tell", ())


def test_the_steps_name_the_file() -> None:
    probs, labels = said(1500, 4, 2.0)
    told = cr.evaluate(probs, labels, source={"path": "my file.npz"}, **CHEAP).headline
    assert told.steps[0][1] == "credibly calibrate fit 'my file.npz' calibration.json --method temperature"


def test_a_model_that_is_surest_where_it_is_wrong() -> None:
    rng = np.random.default_rng(1)
    sure = rng.uniform(0.5, 1.0, size=800)
    labels = (rng.random(800) < 2 * (sure - 0.5)).astype(int)  # the surer, the more often wrong
    found = cr.evaluate(np.stack([sure, 1 - sure], axis=1), labels, **CHEAP)
    errors = next(one for one in found.headline.questions if one.about == "errors")
    assert errors.word == "conflict"
    assert errors.sentence.startswith("The surer it is, the more often it is wrong.")


SAME = np.repeat(said(60, 3, 1.0)[0][:, None], 4, axis=1)
ODD: dict[str, tuple[Any, Any, str, dict[str, str]]] = {
    "one instance": (
        np.array([[0.8, 0.2]]),
        np.array([0]),
        "with 1 instance, the average gap can be as large as 75 points",  # 0.8 - 0.05
        {"confidence": "Chance could explain it", "errors": "no mistake in 1 instance:"},
    ),
    "certain and right": (
        np.eye(3)[np.arange(60) % 3],
        np.arange(60) % 3,
        # 1 - 0.05^(1/60) = 0.0487
        "certain of every answer, and always right; the average gap is below 4.9 points, 95 % sure.",
        {"confidence": "is right 100.0 % of the time: no gap.$"},
    ),
    "all wrong": (
        said(60, 3, 1.0)[0],
        said(60, 3, 1.0)[0].argmin(axis=1),
        "Overconfident: it says .* and is right 0.0 % of the time",
        {"errors": "It gave no right answer in 60 instances"},
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
        "Biased: its predictions are too low; 0.0 % of the labels",
        {},
    ),
    "one real value": (
        cr.Gaussian(np.zeros(1), np.ones(1)),
        np.ones(1),
        "Too few data to tell: with 1 instance, the coverage of its 90 % intervals can be off",
        {"coverage": "", "where": ""},
    ),
    "one real value at the median": (cr.Gaussian(np.zeros(1), np.ones(1)), np.zeros(1), "Too wide", {}),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data_get_sensible_sentences(name: str) -> None:
    predictions, labels, sentence, answers = ODD[name]
    options = {"n_resamples": 199} if isinstance(predictions, cr.Gaussian) else CHEAP
    told = cr.evaluate(predictions, labels, **options).headline
    assert told is not None
    assert re.search(sentence, told.sentence), told.sentence
    found = {one.about: one for one in told.questions}
    for about, words in answers.items():
        assert re.search(words, found[about].sentence), found[about].sentence
        assert found[about].word == (
            "no conflict found" if told.word == "no conflict found" else "cannot tell"
        )


def test_a_value_that_cannot_differ_tells_nothing() -> None:
    labels = np.arange(30) % 3
    found = cr.evaluate(np.eye(3)[labels], labels, **CHEAP)
    gap = next(one for one in found.verdicts if one.statistic == "confidence_gap")
    assert gap.finding.endswith("cannot tell, because these predictions allow no other value.")


def test_few_mistakes_are_counted_in_the_surest_half() -> None:
    from credibly.evaluation.headline import _by_halves

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
    found = cr.evaluate(probs, labels, groups=labels % 2, n_resamples=99)
    assert found.headline.word == "conflict"
    assert found.headline.sentence.startswith(
        "Off for some groups, most clearly for group 0: class 3 occurs "
    )
    assert found.headline.sentence.endswith(alone.headline.sentence[1:])
    assert found.headline.steps[0][1] == "cr.audit(predictions, labels, groups=groups)"


@pytest.mark.parametrize(("score", "says"), [(3.0, "class 1 occurs "), (-0.2, "no single class is off")])
def test_a_class_within_its_bounds_is_not_called_outside(score: float, says: str) -> None:
    """The first screen once said "39.7 %, where the set says at least 39.2 %" of a class that occurs less."""
    direction = WitnessDirection(1, False, 317, 0.397, 0.392, 0.5, score, "")
    tested = cr.hypotests.witness_test(*said(50, 3, 1.0), rng=0)
    details = dataclasses.replace(tested.details, directions=(direction,))
    validity = dataclasses.replace(tested, pvalue=0.01, details=details)
    verdict = Verdict("conflict", "witness", "", "", "", None, None)
    parts = CredalParts(validity, {}, None, (verdict,), np.arange(50), 50)
    answer = _credal_answer(parts, "?", cast(Any, SimpleNamespace(classes=("0", "1", "2"))))
    assert says in answer.sentence
    assert answer.sentence.endswith("(p = 0.01).")


def test_a_gap_on_both_sides_of_zero_names_both_directions() -> None:
    assert within((-0.123, 0.202)) == " (95 %: 12.3 too unsure to 20.2 too sure)"
    assert within((-0.04, -0.02)) == " (95 %: 2.0 to 4.0)"


def test_a_tiny_pvalue_is_an_inequality() -> None:
    assert (p_is(1.1e-21), p_is(0.004)) == ("p < 0.0001", "p = 0.004")


@pytest.mark.slow
def test_sets_that_no_method_recalibrates_get_no_command_that_fails() -> None:
    flat = np.full((400, 3), 1 / 3)
    predictions = cr.Intervals(0.6 * flat, np.minimum(1.2 * flat, 1.0))
    (step,) = cr.evaluate(predictions, np.zeros(400, dtype=int), **CHEAP).headline.steps
    assert step == (
        "Recalibrate the outputs of the model before sets are made from them, then look again.",
        "cr.evaluate(predictions, labels)",
    )
