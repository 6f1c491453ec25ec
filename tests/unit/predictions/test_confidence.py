"""Answers with a stated confidence: what is read, what is left out, and that nothing is flipped."""

import math

import numpy as np
import pytest

import credibly as cr
from credibly.io.answers import fallback_notes, read_answers


def test_a_confidence_below_one_half_is_not_flipped() -> None:
    stated, right = cr.Confidence([0.2, 0.4, 0.9]), [False, True, True]
    # mean confidence 1.5 / 3 = 0.5, and two of three answers are right
    assert float(cr.confidence_gap(stated, right)) == pytest.approx(0.5 - 2 / 3)
    assert float(cr.accuracy(stated, right)) == pytest.approx(2 / 3)
    # bins of width 0.5: (0.2 + 0.4) / 2 against 1/2, weight 2/3; 0.9 against 1, weight 1/3
    assert float(cr.confidence_ece.with_(n_bins=2)(stated, right)) == pytest.approx(2 / 3 * 0.2 + 0.1 / 3)


def test_the_surest_answers_come_first() -> None:
    curve = cr.risk_coverage_curve(cr.Confidence([0.05, 0.6, 0.9]), [False, True, True])
    assert curve.risk.tolist() == pytest.approx([0.0, 0.0, 1 / 3])  # 0.05 comes last, and is the wrong one


def test_uncertainty_of_an_answer_is_what_confidence_lacks() -> None:
    result = cr.selection.detection(cr.Confidence([0.05, 0.6, 0.9, 0.7]), [False, True, True, False], rng=0)
    assert list(result.scores) == ["confidence"]
    # of 4 pairs (wrong, right), 0.05 is below both right ones and 0.7 below one
    assert float(result.scores["confidence"].auroc) == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    "labels", [[True, False], [1, 0], ["right", "wrong"], ["Correct", "incorrect"], ["C", "I"], [1.0, 0.0]]
)
def test_labels_say_whether_answers_are_right(labels: list[object]) -> None:
    assert float(cr.accuracy(cr.Confidence([0.7, 0.6]), labels)) == 0.5


def test_other_labels_are_refused() -> None:
    with pytest.raises(cr.CrediblyError, match=r"must say whether each answer is right.*row 1 is 'maybe'"):
        cr.accuracy(cr.Confidence([0.7, 0.6]), ["right", "maybe"])


def test_impossible_confidences_are_refused() -> None:
    with pytest.raises(cr.CrediblyError, match="must lie between 0 and 1"):
        cr.Confidence([0.5, 85.0])


def test_every_spelling_is_read_and_every_other_answer_is_counted() -> None:
    answers = [
        "85%",
        "0.85",
        "Confidence: 90 %",
        0.25,
        "likely",
        "I can't say",
        None,
        "50 or 60",
        "1.4",
        "huh",
    ]
    stated, notes = read_answers(answers, {"Likely": 0.7})
    assert stated[:5].tolist() == pytest.approx([0.85, 0.85, 0.9, 0.25, 0.7])
    assert np.isnan(stated[5:]).all()
    assert notes[0] == (
        "5 of 10 answers are left out, because they state no confidence: 1 missing, 1 a refusal, 1 not a "
        "number ('huh'), 1 several numbers ('50 or 60'), 1 outside 0 to 1 ('1.4')"
    )


def test_plain_percentages_are_read_and_said() -> None:
    stated, notes = read_answers([85, 90.5, 100, 5])
    assert stated.tolist() == pytest.approx([0.85, 0.905, 1.0, 0.05])
    assert notes == ["plain numbers are read as out of 100"]


@pytest.mark.parametrize(
    ("answers", "match"), [([7, 8, 9], "out of 10 or 100"), ([0.7, 85, 90], "out of 1 or")]
)
def test_two_scales_are_refused(answers: list[float], match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        read_answers(answers)
    assert read_answers([7, 8], scale=10)[0].tolist() == [0.7, 0.8]


def test_rows_that_are_left_out_take_their_labels_with_them() -> None:
    data = cr.Confidence.from_answers(["90%", "no idea", "40%"], [1, 1, 0])
    assert data.predictions.stated.tolist() == [0.9, 0.4]
    assert data.labels.tolist() == [1, 0]
    assert (data.dropped, data.ids.tolist()) == (1, [0, 2])


def test_a_fallback_constant_is_named() -> None:
    rng = np.random.default_rng(0)
    measured = rng.random(200)
    assert fallback_notes(measured) == []
    assert fallback_notes(np.round(measured, 1)) == []  # what people and models state repeats
    measured[:30] = 0.9
    assert "30 of 200 rows state exactly 0.9" in fallback_notes(measured)[0]
    rounded = np.round(np.random.default_rng(1).uniform(0.3, 1.0, 2000), 2)
    assert fallback_notes(rounded) == []
    rounded[:300] = 0.5
    assert "rows state exactly 0.5, and at most" in fallback_notes(rounded)[0]
    favourites = np.repeat([0.9, 0.8, 0.95], [900, 100, 90])  # what a model likes to say
    assert fallback_notes(np.concatenate([favourites, rounded[300:500]])) == []
    assert "all 40 rows state 0.9 or 0.1" in fallback_notes(np.repeat([0.9, 0.1], [30, 10]))[0]


def test_agreement_of_samples() -> None:
    data = cr.Confidence.from_samples([["Paris", "paris ", "Lyon", None], ["a", "b"]], ["Paris", "b"])
    assert data.predictions.stated.tolist() == [0.5, 0.5]  # an empty sample agrees with nothing
    assert data.labels.tolist() == [1, 0]
    # sqrt(.25 / 4) = 25 points and sqrt(.25 / 2) = 35.4 points, 30.2 on average
    assert "sampling error is 30 points" in data.notes[0]
    assert data.notes[1] == "in 1 question the first of several equally frequent answers counts"


def _world(seed: int, power: float, n: int = 1500) -> tuple[cr.Confidence, np.ndarray]:
    rng = np.random.default_rng(seed)
    stated = rng.uniform(0.2, 0.98, n)
    return cr.Confidence(stated), rng.random(n) < stated**power


@pytest.mark.slow
def test_the_headline_is_the_true_gap() -> None:
    stated, right = _world(1, 1.6)
    evaluation = cr.evaluate(stated, right, rng=0, n_resamples=199)
    effect = evaluation.diagnosis.effect
    assert effect.claim.measure == "confidence"
    assert effect.size == pytest.approx(float(np.asarray(stated.stated).mean() - right.mean()), abs=1e-9)
    assert evaluation.headline.finding.sentence.startswith("Overconfident: it says ")
    assert "class" not in str(evaluation.headline)


@pytest.mark.slow
def test_calibrated_answers_are_left_alone() -> None:
    stated, right = _world(2, 1.0)
    evaluation = cr.evaluate(stated, right, rng=0, n_resamples=199)
    assert evaluation.headline.finding.word == "no conflict found"
    assert not [warning for warning in evaluation.warnings if "class" in warning]


def test_recalibrated_answers_are_answers() -> None:
    stated, right = _world(3, 1.6)
    fresh, observed = _world(4, 1.6)
    made = cr.recalibrate.BiasScaling().fit(stated, right).apply(fresh)
    assert isinstance(made, cr.Confidence)
    # two samples of 1500: standard error of the difference of two shares, below 1.9 points
    assert abs(float(cr.confidence_gap(made, observed))) < 3 * 0.019
    assert math.isclose(float(np.asarray(made.probs).sum()), 1500)


def test_audits_speak_of_confidence() -> None:
    stated, right = _world(5, 1.0)
    group = np.arange(1500) % 3
    wrong = np.where(group == 1, right & (np.arange(1500) % 2 == 0), right)
    audited = cr.audit(stated, wrong, groups=group, rng=0, n_resamples=199)
    assert "too sure" in str(audited)
    assert "class" not in str(audited)


@pytest.mark.slow
def test_models_answer_for_themselves() -> None:
    first, second = _world(6, 1.6), _world(7, 1.0)
    models = {
        name: cr.Dataset(one, right.astype(int))
        for name, (one, right) in zip("ab", (first, second), strict=True)
    }
    comparison = cr.compare(models, rng=0)
    assert float(comparison.estimates["a"]["accuracy"]) == pytest.approx(first[1].mean())
    assert float(comparison.estimates["b"]["accuracy"]) == pytest.approx(second[1].mean())


def test_judges_are_raters() -> None:
    judged = cr.LabelCounts([[0, 3], [2, 1], [3, 0]])  # wrong, right
    assert float(cr.accuracy(cr.Confidence([0.9, 0.6, 0.2]), judged)) == pytest.approx(4 / 9)
