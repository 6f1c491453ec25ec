"""The tests of sets inside an evaluation: which are run, their words, and what is left out and why."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest

import credibly as cr
from credibly.evaluation import set_tests

FEW = {"statistics": ["brier"], "n_resamples": 39}
FEWER = {**FEW, "n_resamples": 19}  # weights are learned anew for each


def members(n: int = 120, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(3), size=(n, 4))


def drawn(probs: np.ndarray, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1)


@pytest.mark.slow
def test_the_tests_are_those_of_credal_test() -> None:
    sets = cr.Ensemble(members(80))
    labels = drawn(sets.mean().probs)
    evaluation = cr.evaluate(sets, labels, rng=3, **FEWER)
    assert evaluation.credal is not None
    assert "119 replicates were drawn instead of 19, because fewer cannot show a conflict" in evaluation.notes
    # weights are learned and searched again for so many of them
    drawn_again = {weights: test.n_resamples for weights, test in evaluation.credal.tests.items()}
    assert drawn_again == {"learned": 119, "constant": set_tests.MOST_SEARCHES}
    for weights, test in evaluation.credal.tests.items():
        run = (
            cr.credal_test
            if weights == "learned"
            else functools.partial(cr.hypotests.weights_test, weights=weights)
        )
        alone = run(sets, labels, n_resamples=drawn_again[weights], rng=3)
        assert test.pvalue == alone.pvalue
    assert [verdict.statistic for verdict in evaluation.credal.verdicts] == ["witness", *["credal_test"] * 2]
    assert {verdict.word for verdict in evaluation.credal.verdicts} == {"no conflict found"}
    assert "no conflict found with the best combination in the set" in evaluation.credal.verdicts[1].finding
    assert evaluation.credal.validity.pvalue == evaluation.credal.tests["learned"].details.validity.pvalue
    assert "given the predictions, lie outside the set" in evaluation.credal.verdicts[0].finding
    assert evaluation.credal.regions.n == len(evaluation.credal.tests["learned"].details.test_rows)
    assert evaluation.validity is None


@pytest.mark.slow
def test_a_set_without_a_calibrated_combination_is_a_conflict() -> None:
    sets = cr.Ensemble(members(60) * 0.2 + 0.8 * np.eye(3)[0])
    evaluation = cr.evaluate(sets, np.arange(60) % 3, **FEW)
    assert evaluation.credal is not None
    assert {verdict.word for verdict in evaluation.credal.verdicts} == {"conflict"}
    assert "one weight vector for all instances fits" in evaluation.credal.verdicts[2].finding
    assert (
        "Given the predictions, the true probabilities lie outside the set: "
        in evaluation.credal.verdicts[0].finding
    )
    assert evaluation.credal.regions.failing()


@pytest.mark.slow
def test_features_reach_learner_and_regions() -> None:
    sets, features = cr.Ensemble(members()), np.random.default_rng(4).normal(size=(120, 2))
    evaluation = cr.evaluate(sets, drawn(sets.mean().probs), features=features, **FEWER)
    assert evaluation.credal is not None
    assert evaluation.credal.regions.columns == ("feature 0", "feature 1")


def test_features_of_another_length() -> None:
    sets = cr.Ensemble(members())
    with pytest.raises(cr.InputError, match="features"):
        cr.evaluate(sets, drawn(sets.mean().probs), features=np.ones((119, 1)), **FEW)


def test_features_with_gaps_are_a_reason() -> None:
    sets, features = cr.Ensemble(members()), np.ones((120, 1))
    features[3] = np.nan
    evaluation = cr.evaluate(sets, drawn(sets.mean().probs), features=features, **FEW)
    assert evaluation.credal is None
    assert "`features` must be finite, row 3" in dict(evaluation.not_run)["test of the set"]


@pytest.mark.slow
def test_json_keeps_means_of_weights_and_no_rows() -> None:
    sets = cr.Ensemble(members(40))
    record = json.loads(json.dumps(cr.evaluate(sets, drawn(sets.mean().probs), **FEWER).to_dict()))
    learned = record["credal"]["tests"]["learned"]
    assert sum(learned["mean_weights"].values()) == pytest.approx(1.0)
    assert not {"weights", "test_rows", "combination"} & set(learned)
    assert record["credal"]["verdicts"][0]["sentence"]


def test_a_point_is_no_set() -> None:
    probs = members()[:, 0]
    evaluation = cr.evaluate(probs, drawn(probs), **FEW)
    assert evaluation.credal is None
    assert not [name for name, _ in evaluation.not_run if name.startswith("test of the set")]


def test_why_a_set_was_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = cr.Ensemble(members())
    labels = drawn(sets.mean().probs)
    reasons = dict(cr.evaluate(sets, labels, tests=False, **FEW).not_run)
    assert "the mean of the set was evaluated" in reasons["test of the set"]
    monkeypatch.setattr(set_tests, "MOST_REFITS", 1000)
    evaluation = cr.evaluate(sets, labels, **FEW)
    assert evaluation.credal is not None
    assert list(evaluation.credal.tests) == ["constant"]
    assert "run it with `credal_test`" in dict(evaluation.not_run)["test of the set with learned weights"]


def test_a_set_of_many_instances_is_tested_on_a_part_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    probs = members()
    probs[:, :, 0], probs[:, :, 1] = 0.0, probs[:, :, 0] + probs[:, :, 1]  # class 0 is impossible
    labels = np.full(120, 0)
    monkeypatch.setattr(set_tests, "MOST_REFITS", 1000)
    monkeypatch.setattr(set_tests, "MOST_ROWS_UNASKED", 100)
    evaluation = cr.evaluate(cr.Ensemble(probs), labels, **FEW)
    assert evaluation.credal is not None
    assert evaluation.credal.validity.n == 100
    assert evaluation.credal.rows.size == 100
    assert any("100 of 120 instances, drawn at random" in note for note in evaluation.notes)
    # all labels are impossible, so their rows are those that were drawn of all 120
    assert evaluation.credal.validity.details.impossible_rows.tolist() == evaluation.credal.rows.tolist()
    assert evaluation.credal.rows.max() > 100


def test_very_few_instances_are_a_reason_and_no_failure() -> None:
    evaluation = cr.evaluate(cr.Ensemble(members(2)), [0, 1], **FEW)
    assert "need at least" in dict(evaluation.not_run)["test of the set with learned weights"]


@pytest.mark.slow
def test_counts_are_tested_against_the_set_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """On NumPy; `evaluate counts` among the cases of tests/devices has the other array libraries."""
    monkeypatch.setattr(
        set_tests, "MOST_REFITS", 0
    )  # of learned weights, which counts have nothing to do with
    sets = members(30)
    counts = np.random.default_rng(2).multinomial(8, sets.mean(axis=1))
    counts[5] = [8, 0, 0]
    sets[5] = sets[5] * 0.1 + 0.9 * np.eye(3)[2]
    ensemble = cr.Ensemble(sets, member_axis=1)
    few = {**FEW, "n_resamples": 199}  # five tests share the level, and some have two sides
    evaluation = cr.evaluate(ensemble, cr.LabelCounts(counts), **few)
    assert evaluation.credal is not None  # of one label per instance
    assert evaluation.validity is not None
    alone = cr.validity_test(ensemble, cr.LabelCounts(counts), n_resamples=199, rng=0)
    assert evaluation.validity.test.pvalue == alone.pvalue
    assert evaluation.validity.verdict.statistic == "validity_test"
    load = json.loads(json.dumps(evaluation.to_dict()))["validity"]
    assert [entry["row"] for entry in load["failing"]] == [5]
    assert load["n_failing"] == 1
    assert "nearest" not in load["test"]


@pytest.mark.slow
def test_why_counts_were_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = members(7)  # too few to learn weights from
    counts = cr.LabelCounts(np.random.default_rng(2).multinomial(8, sets.mean(axis=1)))
    name = "test of the labels' distributions"
    assert dict(cr.evaluate(sets, counts, tests=False, **FEW).not_run)[name] == "tests=False"
    dirichlet = cr.Dirichlet(1 + 5 * sets[:, 0])
    assert "not a set" in dict(cr.evaluate(dirichlet, counts, **FEW).not_run)[name]
    evaluation = cr.evaluate(sets, counts, **{**FEW, "n_resamples": 3})
    assert evaluation.validity is not None  # too few replicates are no reason: more are drawn
    assert evaluation.validity.test.n_resamples == 199  # the most that raters are drawn again, unasked
    assert "239 replicates were drawn instead of 3, because fewer cannot show a conflict" in evaluation.notes
    monkeypatch.setattr(set_tests, "MOST_RATED", 5)
    assert "use `validity_test`" in dict(cr.evaluate(sets, counts, **FEW).not_run)[name]


def test_words_of_a_validity_conflict() -> None:
    """Of three tests each may have a third of the level: 59 replicates give 1 / 60 = 0.05 / 3."""
    probs = np.tile([0.9, 0.1], (30, 1))
    counts = cr.LabelCounts(np.tile([15, 15], (30, 1)))
    validity = cr.evaluate(probs, counts, **FEW).validity
    assert validity is not None
    assert validity.verdict.word == "conflict"
    # 30 rows of 2 (15 log(.5 / .9) + 15 log(.5 / .1)) = 30.65
    assert float(validity.test.details.deviance.sum()) == pytest.approx(30 * 30 * np.log(0.25 / 0.09))
    assert "The raters' labels do not fit the predicted probabilities (evidence " in validity.verdict.finding
    assert "; deviance 919); " in validity.verdict.finding
    assert validity.verdict.finding.endswith("30 of 30 instances stand out on their own after adjustment.")
    assert "m = 1, 59 replicates" in validity.verdict.sentence


def test_shares_of_the_loss_lie_between_0_and_all_of_it() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(3, 2.0), size=40)
    said = set()
    for seed in range(6):
        counts = cr.LabelCounts(np.random.default_rng(seed).multinomial(5, probs))
        evaluation = cr.evaluate(probs, counts, tests=False, rng=0)
        answer = next(finding for finding in evaluation.findings if finding.about == "raters")
        share = evaluation.raters.loss.epistemic.value / evaluation.raters.loss.expected.value
        said.add("negative" if share < 0 else "positive")
        assert ("Nearly all of the squared loss" in answer.sentence) == (share < 0.005)
        assert "-" not in answer.sentence.split(" %")[0]
        assert "101 %" not in answer.sentence
    assert said == {"negative", "positive"}
