"""Upper bounds of calibration errors, and tests that they are within a margin."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.calibration.certificate import average_gaps
from credibly.predictions import Dataset, as_rows

GAP = cr.confidence_ece.with_(n_bins=1)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=400)
    return probs, (rng.random((400, 1)) > probs.cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize(
    ("statistic", "change"),
    [
        (cr.confidence_ece, 1.0),
        (cr.top_label_ece, 1.0),
        (cr.classwise_ece, 2 / 3),
        (cr.smooth_ece, 1.0),
        (cr.ecce, 1.0),
        (cr.ecce.with_(target="classwise", kind="max"), 2 / 3),
    ],
)
def test_the_bound_is_the_error_and_its_deviation(data: tuple, statistic, change: float) -> None:
    certified = cr.hypotests.certificate(*data, statistic=statistic, level=0.9)
    value = float(statistic(*data))
    assert certified.value == pytest.approx(value)
    assert certified.upper == pytest.approx(value + change * math.sqrt(math.log(10) / 800))
    # the p-value is 1 - level exactly at the bound
    assert certified.pvalue(certified.upper) == pytest.approx(0.1)
    assert certified.within(certified.upper + 1e-9)
    assert not certified.within(certified.upper - 1e-9)
    assert certified.pvalue(value) == 1.0


@pytest.mark.parametrize(
    "statistic",
    [
        cr.confidence_ece,
        cr.classwise_ece,
        cr.smooth_ece,
        cr.ecce,
        cr.ecce.with_(target="classwise", kind="max"),
    ],
)
def test_one_label_moves_the_error_by_no_more_than_is_said(data: tuple, statistic) -> None:
    probs, labels = data[0][:30], data[1][:30]
    change = cr.hypotests.certificate(probs, labels, statistic=statistic).largest_change
    for row, other in itertools.product(range(30), range(3)):
        moved = labels.copy()
        moved[row] = other
        assert abs(float(statistic(probs, moved)) - float(statistic(probs, labels))) <= change / 30 + 1e-12


def test_the_mean_gap_has_binomial_bounds(data: tuple) -> None:
    from scipy.stats import binomtest

    probs, labels = data
    certified = cr.hypotests.certificate(probs, labels, statistic=GAP)
    hits, confidence = int((probs.argmax(axis=1) == labels).sum()), probs.max(axis=1).mean()
    sides = [binomtest(hits, 400, alternative=side) for side in ("less", "greater")]
    ends = [
        side.proportion_ci(0.95).high if i == 0 else side.proportion_ci(0.95).low
        for i, side in enumerate(sides)
    ]
    assert certified.upper == pytest.approx(max(abs(end - confidence) for end in ends))
    assert certified.value == pytest.approx(float(GAP(probs, labels)))
    assert certified.pvalue(certified.upper) == pytest.approx(0.05)
    # narrower than the bound of any other error
    assert certified.upper - certified.value < math.sqrt(math.log(20) / 800)


def test_at_the_ends_of_the_scale() -> None:
    right = cr.hypotests.certificate([[0.95, 0.05]] * 20, [0] * 20, statistic=GAP)
    # all right: high is 1, low .05^(1/20) = .8609
    assert right.upper == pytest.approx(0.95 - 0.05 ** (1 / 20))
    assert right.pvalue(0.1) == pytest.approx(0.85**20)  # more than 1 above, so below alone
    wrong = cr.hypotests.certificate([[0.95, 0.05]] * 20, [1] * 20, statistic=GAP)
    assert wrong.upper == pytest.approx(0.95)
    assert wrong.pvalue(0.5) == 1.0


@pytest.mark.slow
def test_binomial_bounds_hold_for_events_of_unlike_probability() -> None:
    """All ways to split a mean among three events between equal shares and as unlike ones as possible."""
    for mean in np.linspace(0.01, 0.99, 50):
        total = 3 * mean
        unlike = np.clip([total, total - 1, total - 2], 0, 1)
        for share in (0.0, 0.3, 0.7, 1.0):
            p = share * mean + (1 - share) * unlike
            missed = 0.0
            for events in itertools.product((0, 1), repeat=3):
                chance = np.prod(np.where(np.array(events) == 1, p, 1 - p))
                # confidence .5 everywhere; the second class is right where the event happens
                certified = cr.hypotests.certificate(
                    [[0.5, 0.5]] * 3, 1 - np.array(events), statistic=GAP, level=0.9
                )
                missed += chance * (abs(mean - 0.5) > certified.upper + 1e-12)
            assert missed <= 0.1 + 1e-12


def test_low_confidence_uses_the_general_bound(data: tuple) -> None:
    certified = cr.hypotests.certificate(*data, statistic=GAP, level=0.5)
    assert certified.upper == pytest.approx(certified.value + math.sqrt(math.log(2) / 800))


def test_chunks_give_the_same(data: tuple, tmp_path) -> None:
    probs, labels = data
    np.savez(tmp_path / "rows.npz", probs=probs, labels=labels)
    rows = cr.scan(tmp_path / "rows.npz", chunk_rows=70)
    for statistic in (GAP, cr.confidence_ece, cr.ecce):
        there = cr.hypotests.certificate(rows, statistic=statistic)
        here = cr.hypotests.certificate(probs, labels, statistic=statistic)
        assert there.upper == pytest.approx(here.upper, abs=1e-12)


@pytest.mark.parametrize("statistic", ["brier", "skce", "truthful_ce", "t_cal", cr.confidence_ece.with_(p=2)])
def test_errors_without_a_known_bound_are_refused(data: tuple, statistic) -> None:
    with pytest.raises(cr.UnsupportedError, match="convex in the labels"):
        cr.hypotests.certificate(*data, statistic=statistic)


def test_counts_are_refused(data: tuple) -> None:
    counts = cr.LabelCounts(np.ones((400, 3), dtype=int))
    with pytest.raises(cr.UnsupportedError, match="takes one unweighted label per instance"):
        cr.hypotests.certificate(data[0], counts)


def test_it_says_itself_in_words(data: tuple) -> None:
    certified = cr.hypotests.certificate(*data)
    assert str(certified) == (
        f"confidence_ece {certified.value:.4g}, at most {certified.upper:.4g} with 95 % confidence (n = 400)"
    )


def test_the_equivalence_test_is_the_certificate_against_a_margin(data: tuple) -> None:
    bound = cr.hypotests.certificate(*data, statistic="confidence_gap")
    wide = cr.calibration_test(*data, margin=bound.upper + 1e-4)
    assert wide.pvalue == bound.pvalue(bound.upper + 1e-4) <= 0.05
    assert wide.rejects()
    assert wide.verdict() == "no conflict found"
    assert wide.details.upper() == pytest.approx(bound.upper)
    assert re.match(r"confidence_gap is within .* points, 95 % sure: it is at most .* points\.", str(wide))
    narrow = cr.calibration_test(*data, margin=bound.upper - 1e-4)
    assert narrow.verdict() == "cannot tell"
    assert narrow.sentence().startswith("Not shown that confidence_gap is within")
    assert narrow.sentence(0.01).endswith(", 99 % sure.")


def test_of_several_errors_all_must_be_within_the_margin(data: tuple) -> None:
    names = ["confidence_gap", "ecce", "confidence_ece"]
    result = cr.calibration_test(*data, statistics=names, margin=0.15)
    alone = {name: cr.calibration_test(*data, statistics=name, margin=0.15).pvalue for name in names}
    assert {name: component.pvalue for name, component in result.components.items()} == alone
    assert (result.pvalue, result.statistic_name) == (alone["confidence_ece"], "confidence_ece")


def test_certain_errors_are_called_small_no_more_often_than_is_said() -> None:
    """At the margin itself, the worst case: 3 standard errors above 5 % are 9.6 % of 300."""
    rng = np.random.default_rng(5)
    stated, wrong = np.tile([0.8, 0.2], (300, 1)), 0
    for _ in range(300):
        labels = (rng.random(300) > 0.75).astype(int)  # right in 75 %, and 80 % are stated
        wrong += cr.calibration_test(stated, labels, margin=0.05).rejects()
    assert 3 <= wrong <= 28  # a test that never rejects would pass the upper limit alone


def test_a_margin_leaves_nothing_to_draw(data: tuple) -> None:
    with pytest.raises(cr.InputError, match="`margin` must be at least 0 and below 1; got 2"):
        cr.calibration_test(*data, margin=2)
    with pytest.raises(cr.UnsupportedError, match="convex in the labels"):
        cr.calibration_test(*data, margin=0.1, statistics="omnibus")


def test_pvalues_of_the_gap_beyond_a_quarter_are_not_claimed(data: tuple) -> None:
    bound = cr.hypotests.certificate(*data, statistic="confidence_gap", level=0.75)
    assert bound.pvalue(bound.upper) == pytest.approx(0.25)
    assert bound.pvalue(bound.upper - 1e-3) == 1.0


def test_a_bound_of_clusters_is_that_of_as_many_rows(data: tuple) -> None:
    probs, labels = data
    twice = np.repeat(np.arange(400), 2)
    rows = cr.Dataset(cr.Point(probs[twice]), labels[twice], clusters=twice)
    for statistic in (cr.confidence_ece, cr.confidence_gap):
        certified = cr.hypotests.certificate(rows, statistic=statistic)
        value = abs(float(statistic(probs, labels)))
        assert certified.upper == pytest.approx(value + math.sqrt(math.log(20) / 800))
    test = cr.calibration_test(rows, margin=0.3, statistics="ecce")
    assert test.details.upper() == pytest.approx(cr.hypotests.certificate(rows, statistic="ecce").upper)


def test_no_data_show_an_error_of_nothing() -> None:
    with pytest.raises(cr.InputError, match="`margin` must be above 0"):
        cr.calibration_test([[0.7, 0.3], [0.4, 0.6]], [0, 1], margin=0.0)


def churn(n: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Return a model that states 42 % churn where 4 % churn, whose confidence is right on average.

    Of 38 % it says 52 %, of the others 36 %: mean 0.421, mean confidence 0.594; right in 0.38 * 0.04 + 0.62 *
    0.96 = 0.610.
    """
    stated = np.where(np.arange(n) % 50 < 19, 0.52, 0.36)
    labels = (np.arange(n) % 25 == 7).astype(int)
    return np.stack([1 - stated, stated], axis=1), labels


def test_two_classes_are_about_the_event() -> None:
    probs, labels = churn()
    assert abs(float(cr.confidence_gap(probs, labels))) < 0.03
    result = cr.calibration_test(probs, labels, margin=0.02)
    assert set(result.components) == {"error of P(class 1)", "confidence_gap"}
    assert result.statistic_name == "error of P(class 1)"
    assert result.statistic == pytest.approx(0.4208 - 0.04)  # 0.38 * 0.52 + 0.62 * 0.36
    assert result.verdict() == "conflict"
    assert re.match(r"error of P\(class 1\) is beyond 2 points, 95 % sure: it is at least 3\d", str(result))
    named = cr.calibration_test(Dataset(cr.Point(probs), labels, classes=("stay", "churn")), margin=0.5)
    assert named.verdict() == "no conflict found"
    assert "error of P(churn)" in named.components
    clustered = cr.calibration_test(probs, labels, margin=0.02, clusters=np.arange(1000) // 2)
    assert clustered.components["error of P(class 1)"].verdict() == "conflict"


def test_lower_bounds_hold_as_often_as_they_say() -> None:
    rng, over = np.random.default_rng(2), 0
    stated = np.tile([0.2, 0.8], (200, 1))
    for _ in range(400):  # the true gap of the event is 10 points
        labels = (rng.random(200) < 0.7).astype(int)
        bound = average_gaps(as_rows(stated, labels))[0]
        assert bound.lower <= bound.value <= bound.upper
        over += bound.lower > 0.1
    assert over <= 25  # at most 2.5 %: 10 and 4.8 standard errors of 3.1
    assert over > 0  # a bound of 0 would never be wrong
    assert cr.hypotests.certificate(stated, labels, statistic="ecce").lower == 0.0


def test_a_margin_alone_is_for_classes() -> None:
    real = cr.Gaussian(np.zeros(20), np.ones(20))
    with pytest.raises(
        cr.InputTypeError, match="a test against a margin needs class predictions; got Gaussian"
    ):
        cr.calibration_test(real, np.zeros(20), margin=0.1)
