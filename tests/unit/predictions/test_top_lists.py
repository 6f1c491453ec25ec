"""Lists of the most probable options as sets: bounds against brute force, what is refused, what is said."""

import numpy as np
import pytest

import credibly as cr

N, K = 300, 6


def _listed(probs: np.ndarray, known: int) -> np.ndarray:
    smallest = np.sort(probs, axis=1)[:, [probs.shape[1] - known]]
    return np.where(probs >= smallest, np.log(probs), np.nan)


def _world(seed: int, n: int = N, k: int = K, tilt: float = 0.0) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n, k)) + np.linspace(tilt, -tilt, k)
    probs = np.exp(logits)
    return probs / probs.sum(axis=1, keepdims=True), rng


@pytest.mark.parametrize("known", [1, 2, 5])
def test_the_set_holds_the_distribution_that_was_listed(known: int) -> None:
    probs, _ = _world(1)
    made = cr.Intervals.from_top_logprobs(_listed(probs, known))
    assert (made.lower <= probs + 1e-12).all()
    assert (made.upper >= probs - 1e-12).all()


def test_bounds_are_attained() -> None:
    # rest 0.5 over three, none above 0.3: 0.3 + 0.2 + 0 is largest, and 0.5 - 2 * 0.3 < 0 is no bound
    made = cr.Intervals.from_top_logprobs([[np.log(0.5), np.nan, np.nan, np.nan]])
    assert made.upper[0].tolist() == pytest.approx([0.5, 0.5, 0.5, 0.5])
    made = cr.Intervals.from_top_logprobs([[np.log(0.4), np.log(0.3), np.nan, np.nan]])
    # rest 0.3 over two, none above 0.3: from 0 to 0.3
    assert made.lower[0].tolist() == pytest.approx([0.4, 0.3, 0.0, 0.0])
    assert made.upper[0].tolist() == pytest.approx([0.4, 0.3, 0.3, 0.3])
    made = cr.Intervals.from_top_logprobs([[np.log(0.45), np.log(0.2), np.nan, np.nan]])
    # rest 0.35 over two, none above 0.2: each at least 0.15
    assert made.lower[0].tolist() == pytest.approx([0.45, 0.2, 0.15, 0.15])
    assert (made.reachable().lower == made.lower).all()


def test_options_that_a_question_does_not_have_stay_impossible() -> None:
    made = cr.Intervals.from_top_logprobs(
        [[np.log(0.6), np.nan, -np.inf], [np.log(0.7), np.log(0.3), -np.inf]]
    )
    assert made.upper[:, 2].tolist() == [0.0, 0.0]
    assert made.lower[0].tolist() == pytest.approx([0.6, 0.4, 0.0])  # nothing else can hold the rest


def test_other_tokens_may_hold_a_part_of_the_rest() -> None:
    probs, rng = _world(2)
    shares = 0.8 + 0.2 * rng.random(N)  # of all tokens, these are options
    made = cr.Intervals.from_top_logprobs(_listed(probs * shares[:, None], 3), others=0.5 * (1 - shares))
    assert (made.lower <= probs + 1e-12).all()
    assert (made.upper >= probs - 1e-12).all()


def test_a_row_that_lists_nothing_allows_everything() -> None:
    made = cr.Intervals.from_top_logprobs([[np.nan, np.nan], [np.log(0.9), np.log(0.1)]], others=[0.3, 0.0])
    assert (made.lower[0].tolist(), made.upper[0].tolist()) == ([0.0, 0.0], [1.0, 1.0])
    assert "1 list none, so everything is possible there" in made.notes[0]


@pytest.mark.parametrize(
    ("logprobs", "match"),
    [
        ([[0.2, -1.0]], "at most 0; row 0 has 0.2"),
        ([[np.log(0.8), np.log(0.4)]], "sum to 1.2"),
        ([[np.log(0.4), np.log(0.4)]], "must sum to 1 if all options are listed"),
        ([[-np.inf, -np.inf]], "has no option"),
    ],
)
def test_impossible_lists_are_refused(logprobs: list[list[float]], match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        cr.Intervals.from_top_logprobs(logprobs)


@pytest.mark.slow
def test_the_headline_is_about_the_answer_whose_probability_is_listed() -> None:
    probs, rng = _world(3, tilt=1.0)
    labels = (probs.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1)
    evaluation = cr.evaluate(
        cr.Intervals.from_top_logprobs(_listed(probs, 2)), labels, rng=0, n_resamples=199
    )
    assert evaluation.predictions.kind == "Confidence"
    assert float(evaluation.estimates["confidence_gap"]) == pytest.approx(
        probs.max(axis=1).mean() - (labels == probs.argmax(axis=1)).mean()
    )
    assert evaluation.headline.questions[-1].facts["question"] == "Is the width of its sets believable?"


@pytest.mark.slow
@pytest.mark.parametrize(("tilt", "word"), [(1.0, "no conflict found"), (0.6, "conflict")])
def test_tokens_that_are_no_options_leave_the_confidence_of_an_answer_open(tilt: float, word: str) -> None:
    probs, rng = _world(5, tilt=1.0)
    truth = probs**tilt
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1)
    sets = cr.Intervals.from_top_logprobs(_listed(probs, 2), others=np.zeros(N))
    evaluation = cr.evaluate(sets, labels, rng=0, n_resamples=199)
    assert evaluation.headline.finding.word == word
    assert any("unlisted tokens may or may not be options" in note for note in evaluation.notes)
    width = (sets.upper - sets.lower)[np.arange(N), probs.argmax(axis=1)].mean()
    assert evaluation.headline.bound is not None
    assert (
        evaluation.headline.bound > width > 0.03
    )  # no sentence or gate may promise less than lists leave open


@pytest.mark.slow
def test_lists_that_leave_most_open_cannot_tell() -> None:
    probs = np.full((N, 20), 0.05) + 0.01 * np.eye(20)[np.zeros(N, dtype=int)] - 0.0005
    probs /= probs.sum(axis=1, keepdims=True)
    labels = np.random.default_rng(0).integers(0, 20, N)
    evaluation = cr.evaluate(cr.Intervals.from_top_logprobs(_listed(probs, 1)), labels, rng=0, n_resamples=99)
    last = evaluation.headline.questions[-1]
    assert last.word == "cannot tell"
    assert "more options would leave at most 2 % open" in last.sentence


def test_slices_keep_what_is_listed() -> None:
    probs, _ = _world(4)
    made = cr.Intervals.from_top_logprobs(_listed(probs, 2))
    assert made.listed is not None
    assert np.array_equal(made[10:20].listed, made.listed[10:20])
    assert made.reachable().listed is None
