"""Logs of language models in every documented format, and the faults that real ones have."""

import json
import math
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr

LETTERS = "ABCD"
PROBS = [[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.6, 0.1], [0.25, 0.4, 0.2, 0.15]]
ANSWERS = [0, 2, 3]


def _lines(tmp_path: Path, records: list[Any], name: str = "run.jsonl") -> Path:
    path = tmp_path / name
    path.write_text(
        "\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n", encoding="utf-8"
    )
    return path


def _harness(at: int, shift: float = 0.0) -> dict[str, Any]:
    pairs = [[str(math.log(p) + shift), "False"] for p in PROBS[at]]
    return {
        "doc_id": at,
        "doc": {"question": "q", "subject": "xyx"[at]},
        "target": str(ANSWERS[at]),
        "arguments": {f"gen_args_{j}": {"arg_0": "q", "arg_1": f" {'ab' * (j + 1)}"} for j in range(4)},
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "filter": "none",
        "acc": 1.0,
    }


def _chat(at: int, listed: int = 4, spelling: str = "{}") -> dict[str, Any]:
    order = sorted(range(4), key=lambda j: -PROBS[at][j])[:listed]
    top = [{"token": spelling.format(LETTERS[j]), "logprob": math.log(PROBS[at][j])} for j in order]
    content = [{**top[0], "top_logprobs": top}]
    message = {"content": LETTERS[order[0]]}
    return {"object": "chat.completion", "choices": [{"message": message, "logprobs": {"content": content}}]}


def _batch(at: int, **more: Any) -> dict[str, Any]:
    body = _chat(at, **more)
    return {"custom_id": f"q{at}", "response": {"status_code": 200, "body": body}, "error": None}


def _inspect_sample(at: int) -> dict[str, Any]:
    return {
        "id": at,
        "epoch": 1,
        "input": "q",
        "choices": ["w", "x", "y", "z"],
        "target": LETTERS[ANSWERS[at]],
        "metadata": {"subject": "xyx"[at]},
        "output": {"choices": _chat(at)["choices"]},
        "scores": {"choice": {"value": "C", "answer": LETTERS[int(np.argmax(PROBS[at]))]}},
    }


def _inspect(version: int = 2) -> dict[str, Any]:
    return {
        "version": version,
        "status": "success",
        "eval": {},
        "samples": [_inspect_sample(at) for at in range(3)],
    }


def _stats(at: int) -> dict[str, Any]:
    values = {"max_prob": [0.9, 0.6, 0.3][at], "exact_match": float(at < 2), "num_references": 4}
    stats = [
        {"name": {"name": name, "split": "test"}, "count": 1, "mean": value} for name, value in values.items()
    ]
    return {"instance_id": f"id{at}", "train_trial_index": 0, "stats": stats}


def test_harness(tmp_path: Path) -> None:
    data = cr.load(_lines(tmp_path, [_harness(at) for at in range(3)]), groups=["subject"])
    assert np.allclose(data.predictions.probs, PROBS)
    assert data.labels.tolist() == ANSWERS
    assert data.groups["subject"].tolist() == ["x", "y", "x"]


def test_mass_outside_the_options_is_said(tmp_path: Path) -> None:
    data = cr.load(_lines(tmp_path, [_harness(at, shift=math.log(0.5)) for at in range(3)]))
    assert np.allclose(data.predictions.probs, PROBS)
    assert any("sum to 0.5 (median) and are divided by their sum" in note for note in data.notes)
    odd = [_harness(0), _harness(1, shift=math.log(1.5)), _harness(2)]
    notes = cr.load(_lines(tmp_path, odd)).notes
    assert any("sum to 1 (median; from 1 to 1.5) and are divided" in note for note in notes)


def test_length_normalisation_is_asked_for_and_said(tmp_path: Path) -> None:
    data = cr.load(_lines(tmp_path, [_harness(at) for at in range(3)]), kind="length-normalised")
    scores = np.log(PROBS[0]) / [2, 4, 6, 8]  # characters of ab, abab, ...
    assert np.allclose(data.predictions.probs[0], np.exp(scores) / np.exp(scores).sum())
    assert any("divided by their lengths" in note for note in data.notes)


def test_answers_scored_by_tokens(tmp_path: Path) -> None:
    record = {
        "options": ["a", "b c"],
        "answer": 1,
        "logprobs": [[math.log(0.25)], [math.log(0.5), math.log(0.5)]],
    }
    plain = cr.load(_lines(tmp_path, [record] * 2))
    assert np.allclose(plain.predictions.probs[0], [0.5, 0.5])  # 0.25 and 0.5 * 0.5
    divided = cr.load(_lines(tmp_path, [record] * 2), kind="length-normalised")
    assert np.allclose(
        divided.predictions.probs[0], [1 / 3, 2 / 3]
    )  # 0.25 and sqrt(0.25), divided by their sum
    assert any("not divided by their lengths" in note for note in plain.notes)


@pytest.mark.parametrize("form", [".json", ".eval"])
def test_inspect(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"run{form}"
    log = _inspect()
    if form == ".json":
        path.write_text(json.dumps(log), encoding="utf-8")
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps({**log, "samples": None}))
            for at, sample in enumerate(log["samples"]):
                archive.writestr(f"samples/{at}_epoch_1.json", json.dumps(sample))
    data = cr.load(path, groups=["subject"])
    assert np.allclose(data.predictions.probs, PROBS)
    assert data.labels.tolist() == ANSWERS


def test_unknown_versions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(_inspect(version=9)), encoding="utf-8")
    with pytest.raises(cr.CrediblyError, match="version 1 or 2; its version is 9"):
        cr.load(path)


def test_a_log_that_has_only_begun_is_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "begun.json"
    path.write_text(json.dumps({"version": 2, "status": "started", "eval": {}}))
    with pytest.raises(cr.FileError, match="must hold questions; it has none"):
        cr.load(path)


def test_options_that_are_no_letters_are_named(tmp_path: Path) -> None:
    records = [{"question": "q", "top_logprobs": {"Yes": -0.1, " No": -3.0}, "answer": "Yes"}] * 2
    with pytest.raises(cr.InputError, match=r"the first is 'Yes'.*classes="):
        cr.load(_lines(tmp_path, records))
    assert cr.load(_lines(tmp_path, records), classes=["Yes", "No"]).labels.tolist() == [0, 0]


def test_helm(tmp_path: Path) -> None:
    path = tmp_path / "per_instance_stats.json"
    path.write_text(json.dumps([_stats(at) for at in range(3)]), encoding="utf-8")
    data = cr.load(path)
    assert data.predictions.stated.tolist() == [0.9, 0.6, 0.3]
    assert data.labels.tolist() == [1, 1, 0]
    assert data.meta["provenance"] == {"measured": 3}


def test_batch_with_labels_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,label\nq2,D\nq0,A\nq1,C\n", encoding="utf-8")
    data = cr.load(
        _lines(tmp_path, [_batch(at) for at in range(3)]), labels=tmp_path / "labels.csv", classes=[*LETTERS]
    )
    assert np.allclose(data.predictions.probs, PROBS)
    assert data.labels.tolist() == ANSWERS


def test_short_lists_are_sets(tmp_path: Path) -> None:
    records = [{**_chat(at, listed=2), "answer": LETTERS[ANSWERS[at]]} for at in range(3)]
    data = cr.load(_lines(tmp_path, records), classes=[*LETTERS])
    low, high = data.predictions.lower, data.predictions.upper
    assert isinstance(data.predictions, cr.Intervals)
    # of 0.5 and 0.3, 0.2 may be on other tokens: 0.5 / (0.8 + 0.2) to 0.5 / 0.8
    assert [low[0, 0], high[0, 0]] == pytest.approx([0.5, 0.625])
    assert (np.array(PROBS) >= low - 1e-12).all()
    assert (np.array(PROBS) <= high + 1e-12).all()


def test_spellings_of_an_option_are_added(tmp_path: Path) -> None:
    record = _chat(0)
    listed = record["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    listed[0]["logprob"] = math.log(0.4)
    record["choices"][0]["logprobs"]["content"][0]["logprob"] = math.log(0.4)
    listed.append({"token": " A", "logprob": math.log(0.1)})
    data = cr.load(_lines(tmp_path, [{**record, "answer": "A"}] * 2))
    assert np.allclose(data.predictions.probs[0], PROBS[0])
    assert any("several spellings of an option are added" in note for note in data.notes)


@pytest.mark.parametrize(
    "listed",
    [
        {"A": math.log(0.5), "B": math.log(0.3), "C": math.log(0.15), "D": math.log(0.05)},
        [math.log(one) for one in PROBS[0]],
        [{"token": LETTERS[j], "logprob": math.log(PROBS[0][j])} for j in range(4)],
        {"tokens": ["A"], "token_logprobs": [math.log(0.5)],
         "top_logprobs": [{LETTERS[j]: math.log(PROBS[0][j]) for j in range(4)}]},
        {"content": _chat(0)["choices"][0]["logprobs"]["content"]},
    ],
)  # fmt: skip
def test_every_way_to_write_log_probabilities(tmp_path: Path, listed: Any) -> None:
    record = {"question": "q", "options": [*LETTERS], "answer": "A", "logprobs": listed}
    assert np.allclose(cr.load(_lines(tmp_path, [record] * 2)).predictions.probs[0], PROBS[0])


def test_differing_numbers_of_options_are_a_mask(tmp_path: Path) -> None:
    records = [
        {
            "question": "ä",
            "options": ["ja", "nein"],
            "answer": "nein",
            "logprobs": [math.log(0.25), math.log(0.75)],
        },
        {
            "question": "b",
            "options": ["x", "y", "z"],
            "answer": 2,
            "logprobs": [math.log(p) for p in (0.5, 0.3, 0.2)],
        },
    ]
    data = cr.load(_lines(tmp_path, records))
    assert np.allclose(data.predictions.probs, [[0.25, 0.75, 0], [0.5, 0.3, 0.2]])
    assert data.labels.tolist() == [1, 2]
    assert any("differing numbers of options (1 with 2, 1 with 3)" in note for note in data.notes)


@pytest.mark.slow
def test_an_evaluation_with_a_mask_is_finite(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    records = []
    for row in range(300):
        probs = rng.dirichlet(np.ones(3 + row % 2))
        answer = int(rng.choice(len(probs), p=probs))
        records.append(
            {"options": list("abcd"[: len(probs)]), "answer": answer, "logprobs": np.log(probs).tolist()}
        )
    evaluation = cr.evaluate(cr.load(_lines(tmp_path, records)), rng=0, n_resamples=99)
    assert evaluation.headline.finding.word == "no conflict found"
    assert math.isfinite(float(evaluation.estimates["log_loss"]))


OPTIONS = {"question": "q", "options": ["x", "y"], "answer": "y"}
NATURAL: list[tuple[dict[str, Any], list[float], int]] = [  # a record, its probabilities, its label
    ({**OPTIONS, "probs": [0.25, 0.75]}, [0.25, 0.75], 1),
    ({**OPTIONS, "probabilities": {"y": 0.75, "x": 0.25}}, [0.25, 0.75], 1),
    ({"prompt": "q", "label": "B", "logprobs": [{"token": t, "logprob": math.log(p)} for t, p in
      (("A", 0.25), ("B", 0.75))]}, [0.25, 0.75], 1),
    ({**OPTIONS, "correct_answer": "x", "logprobs": [math.log(0.25), math.log(0.75)]}, [0.25, 0.75], 0),
    ({"probability": 0.3, "correct": True}, [0.7, 0.3], 1),
    ({"question": "q", "gold": "Paris", "prediction": "paris", "confidence": 0.3}, [0.7, 0.3], 1),
    ({"question": "q", "gold": "Paris", "answer": "Rome", "confidence": 0.3}, [0.7, 0.3], 0),
    ({"question": "q", "logprobs": [math.log(0.5), math.log(0.5)], "correct": False}, [0.75, 0.25], 0),
    ({"question": "q", "answer": "Paris", "response": "Paris", "token_logprobs": [math.log(0.5)] * 2,
      "correct": True}, [0.75, 0.25], 1),
    ({"question": "q", "answer": "Paris", "correct": True, "logprobs": {"content": [
        {"token": "Par", "logprob": math.log(0.5)}, {"token": "is", "logprob": math.log(0.5)}]}},
     [0.75, 0.25], 1),
    ({"choices": {"text": ["x", "y"], "label": ["1", "2"]}, "answerKey": "1",
      "logprobs": [math.log(0.25), math.log(0.75)]}, [0.25, 0.75], 0),
    ({"choices": [{"text": "x", "label": "A"}, {"text": "y", "label": "B"}], "answerKey": "B",
      "probs": [0.25, 0.75]}, [0.25, 0.75], 1),
    ({"options": ["Yes", "No"], "answer": "no", "probs": [0.25, 0.75]}, [0.25, 0.75], 1),
    ({"options": ["true", "false"], "answer": False, "probs": [0.25, 0.75]}, [0.25, 0.75], 1),
    ({"options": ["x", "y"], "answer": "b", "probs": [0.25, 0.75]}, [0.25, 0.75], 1),
    ({"options": ["1", "2", "3"], "answer": "2", "probs": [0.25, 0.5, 0.25]}, [0.25, 0.5, 0.25], 1),
    ({"options": [5, 6], "answer": 6, "probs": [0.25, 0.75]}, [0.25, 0.75], 1),
    ({**OPTIONS, "prediction": "B", "confidence": 0.3}, [0.7, 0.3], 1),
    ({**OPTIONS, "prediction": "A", "confidence": 0.3}, [0.7, 0.3], 0),
    ({"question": "q", "gold": "B", "prediction": "(B)", "confidence": 0.3}, [0.7, 0.3], 1),
    ({"question": "q", "gold": "5", "prediction": ".5", "confidence": 0.3}, [0.7, 0.3], 0),
    ({"question": "q", "answer": "B", "reply": {"answer": "B", "confidence": 0.3}}, [0.7, 0.3], 1),
    ({"reply": {"answer": "B", "confidence": 0.3}, "correct": False}, [0.7, 0.3], 0),
    ({"confidence": "3/10", "correct": True}, [0.7, 0.3], 1),
    ({"choices": {"A": "x", "B": "y"}, "answer": "y", "logprobs": {"A": math.log(0.25), "B": math.log(0.75)}},
     [0.25, 0.75], 1),
    ({"options": ["caf\u00e9", "th\u00e9"], "answer": "cafe\u0301", "probs": ["0.25", "0.75"]},
     [0.25, 0.75], 0),
    ({"question": "q", "answer": ["Paris", "City of Light"], "prediction": "paris", "confidence": 0.3},
     [0.7, 0.3], 1),
    ({"question": "q", "answer": "a", "samples": [{"text": name} for name in ("a", "A", "b", "a")]},
     [0.25, 0.75], 1),
    ({"question": "q", "p_true": 0.3, "label": False}, [0.7, 0.3], 0),
]  # fmt: skip


@pytest.mark.parametrize(("record", "probs", "label"), NATURAL)
def test_records_as_people_write_them(
    tmp_path: Path, record: dict[str, Any], probs: list[float], label: int
) -> None:
    data = cr.load(_lines(tmp_path, [record] * 2))
    kept = data.predictions
    found = kept.lower if isinstance(kept, cr.Intervals) else kept.probs
    assert np.allclose(found, [probs] * 2)
    assert data.labels.tolist() == [label] * 2


def test_the_likelihood_of_an_answer_is_normalised_by_length_if_asked(tmp_path: Path) -> None:
    records = [
        {"question": "q", "logprobs": [math.log(0.5)] * length, "correct": True} for length in (1, 2, 3)
    ]
    path = _lines(tmp_path, records)
    data = cr.load(path)
    assert np.allclose(data.predictions.stated, [0.5, 0.25, 0.125])
    assert any("it is not normalised by their number" in note for note in data.notes)
    assert np.allclose(cr.load(path, kind="length-normalised").predictions.stated, 0.5)
    stated = _lines(tmp_path, [{"confidence": 0.7, "correct": True}] * 2)
    with pytest.raises(cr.CrediblyError, match="which give their lengths; 2 answers came without tokens"):
        cr.load(stated, kind="length-normalised")


def test_the_answer_is_the_letter_beside_which_letters_are_listed(tmp_path: Path) -> None:
    alone = {"logprob": -0.1, "top_logprobs": [{"token": "I", "logprob": -0.1}]}
    chat = _chat(0)
    choice = chat["choices"][0]
    choice["logprobs"]["content"] = [
        {"token": "I", **alone},
        {"token": " say", "logprob": -0.1},
        *choice["logprobs"]["content"],
    ]
    choice["message"]["content"] = "I say A"
    data = cr.load(_lines(tmp_path, [{**chat, "answer": "B"}] * 2))
    assert np.allclose(data.predictions.probs[0], PROBS[0])
    assert any("the answer comes after other tokens" in note for note in data.notes)


def test_labels_of_requests_that_failed_are_left_out(tmp_path: Path) -> None:
    failed = {"custom_id": "q2", "response": None, "error": {"code": "timeout"}}
    labels = tmp_path / "labels.csv"
    labels.write_text("id,answer\nq2,A\nq1,C\nq0,A\n", encoding="utf-8")
    data = cr.load(_lines(tmp_path, [_batch(0), _batch(1), failed]), labels=labels)
    assert data.ids.tolist() == ["q0", "q1"]
    assert data.labels.tolist() == [0, 2]


def test_texts_of_options_are_not_kept(tmp_path: Path) -> None:
    records = [
        {
            "id": at,
            "question": f"question {at}: " + "which of these is it? " * 8,
            "options": [f"option {place} of question {at}" for place in range(4)],
            "answer": f"option {at % 4} of question {at}",
            "logprobs": np.log(PROBS[0]).tolist(),
        }
        for at in range(5000)
    ]
    path = _lines(tmp_path, records)
    tracemalloc.start()
    data = cr.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert data.labels.tolist() == [at % 4 for at in range(5000)]
    assert data.classes == tuple(LETTERS)
    assert peak < 2.0 * path.stat().st_size  # 1.6 with a constant part of 1 MB; 2.5 with all texts


FAULTS: list[tuple[list[Any], str]] = [
    ([{"options": ["a", "b"], "answer": 0, "probs": [1.7, 0.2]}], "line 1.*a probability is 1.7"),
    (
        [
            {
                "doc_id": 0,
                "doc": {},
                "target": 0,
                "arguments": [["q", " a"], ["q", " b"]],
                "filtered_resps": [[-0.1, False]],
                "resps": [[[-0.1, False]]],
            }
        ],
        "it has 1 log-likelihoods for 2 options",
    ),
    ([{"options": ["a", "b"], "answer": 0, "logprobs": [-0.1]}], r"must be one per option \(2\); got 1"),
    ([{"options": ["a", "b"], "answer": 0, "logprobs": [0.7, -2.0]}], "at most 0; row 0 has 0.7"),
    (
        [{**OPTIONS, "answer": "A", "top_logprobs": {"A": 1e9, "B": -1.0}}],
        "a log-probability is 1e\\+09, above 0",
    ),
    ([{"options": ["a", "b"], "answer": [0, 1], "logprobs": [-0.7, -0.7]}], "several answers are right"),
    ([{"options": ["a", "b"], "answer": "c!", "logprobs": [-0.7, -0.7]}], "one of 2 options.*it is 'c!'"),
    ([{"options": ["a", "a"], "answer": "a", "logprobs": [-0.7, -0.7]}], "question in row 0 must.*it is 'a'"),
    (
        [{"options": ["1", "2", "3"], "answer": 2, "probs": [0.2, 0.3, 0.5]}],
        "2 is the text of option 1, and counted from 0 option 2",
    ),
    (
        [
            {"options": ["1", "0"], "answer": 1, "probs": [0.2, 0.8]},
            {"options": ["0", "1"], "answer": 0, "probs": [0.2, 0.8]},
        ],
        "1 is the text of option 0, and counted from 0 option 1|0 is the text of option 0",
    ),
    ([{"options": [], "answer": 0, "logprobs": []}], "must have log-probabilities, confidences or"),
    ([{"options": ["a", "b"], "answer": 2, "probs": [0.2, 0.8]}], "number from 0 to 1; it is '2'"),
    ([{"confidence": 0.7, "correct": "perhaps"}], "must say whether each answer is right"),
    ([{"question": "q", "confidence": "sure", "correct": True}], "must be numbers, percentages or words"),
]


@pytest.mark.parametrize(("records", "match"), FAULTS)
def test_faults_are_named(tmp_path: Path, records: list[Any], match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        cr.load(_lines(tmp_path, records))


def test_one_answer_tells_what_all_numbers_mean(tmp_path: Path) -> None:
    settings = {"options": ["1", "2", "3"], "probs": [0.2, 0.3, 0.5]}
    by_text = cr.load(_lines(tmp_path, [{**settings, "answer": 3}, {**settings, "answer": 1}]))
    assert by_text.labels.tolist() == [2, 0]
    by_place = cr.load(_lines(tmp_path, [{**settings, "answer": 0}, {**settings, "answer": 1}]))
    assert by_place.labels.tolist() == [0, 1]


def test_complete_lists_beside_short_ones_may_leave_a_rest(tmp_path: Path) -> None:
    settings = {"options": ["x", "y"], "answer": "x"}
    records = [
        {**settings, "logprobs": [math.log(0.6), math.log(0.3)]},
        {**settings, "logprobs": [math.log(0.6), None]},
    ]
    kept = cr.load(_lines(tmp_path, records)).predictions
    assert np.allclose(kept.lower, [[0.6 / 0.9, 0.3 / 0.9], [0.6, 0.0]])  # given that an option is chosen


def test_a_question_without_a_prediction_is_counted_wherever_it_stands(tmp_path: Path) -> None:
    settings = {"options": ["x", "y"], "answer": "x"}
    data = cr.load(_lines(tmp_path, [settings, *[{**settings, "probs": [0.3, 0.7]}] * 3, settings]))
    assert len(data) == 3
    assert any("2 of 5 rows are left out" in note for note in data.notes)


def test_answers_without_a_verdict_are_counted(tmp_path: Path) -> None:
    grades = ["CORRECT", "NOT_ATTEMPTED", "INCORRECT"]
    records = [{"question": "q", "confidence": 0.7, "grade": grade} for grade in grades]
    data = cr.load(_lines(tmp_path, records), labels="grade")
    assert data.labels.tolist() == [1, 0]
    assert any("1 of 3 answers" in note and "no verdict" in note for note in data.notes)


def test_repeated_answers_in_records_of_their_own(tmp_path: Path) -> None:
    records = [
        {"id": at // 3, "seed": at % 3, "prediction": "ab"[at % 3 == 0], "answer": "a"} for at in range(6)
    ]
    data = cr.load(_lines(tmp_path, records))
    assert data.predictions.stated.tolist() == pytest.approx([2 / 3] * 2)
    assert data.labels.tolist() == [1, 1]


@pytest.mark.parametrize("form", ["columns", "wrapped", "npz"])
def test_confidences_in_other_files_than_lines(tmp_path: Path, form: str) -> None:
    stated, correct = [0.3, 0.6, 0.9], [True, False, True]
    path = tmp_path / ("run.npz" if form == "npz" else "run.json")
    if form == "npz":
        np.savez(path, confidence=stated, correct=correct)
    elif form == "columns":
        path.write_text(json.dumps({"confidence": stated, "correct": correct}))
    else:
        records = [{"confidence": one, "correct": right} for one, right in zip(stated, correct, strict=True)]
        path.write_text(json.dumps({"model": "m", "results": records}))
    data = cr.load(path)
    assert data.predictions.stated.tolist() == stated
    assert data.labels.tolist() == [1, 0, 1]


def test_a_field_is_named_as_the_verdict(tmp_path: Path) -> None:
    path = _lines(tmp_path, [{"question": "q", "confidence": 0.7, "score": score} for score in (1.0, 0.0)])
    assert cr.load(path).labels is None
    assert cr.load(path, labels="score").labels.tolist() == [1, 0]
    options = [{"options": ["x", "y"], "probs": [0.3, 0.7], "key": name} for name in ("y", "A")]
    assert cr.load(_lines(tmp_path, options), labels="key").labels.tolist() == [1, 0]


def test_a_truncated_line_is_refused_or_left_out_on_request(tmp_path: Path) -> None:
    path = _lines(tmp_path, [{"confidence": 0.7, "correct": True}] * 3)
    path.write_text(path.read_text(encoding="utf-8") + '{"confidence": 0.7, "corr', encoding="utf-8")
    with pytest.raises(cr.CrediblyError, match="line 4"):
        cr.load(path)
    data = cr.load(path, drop_invalid=True)
    assert len(data) == 3
    assert any("1 line could not be read and is left out" in note for note in data.notes)


def test_confidences_keep_their_provenance(tmp_path: Path) -> None:
    kinds = ["measured", "self-reported", "fallback", "missing"]
    records = [
        {
            "confidence": None if at % 4 == 3 else 0.3 + at / 100,
            "correct": at % 3 == 0,
            "provenance": kinds[at % 4],
        }
        for at in range(40)
    ]
    data = cr.load(_lines(tmp_path, records))
    assert len(data) == 20
    assert data.meta["provenance"] == {"measured": 10, "self-reported": 10, "fallback": 10, "missing": 10}
    assert any("are left out: the model did not state it" in note for note in data.notes)


def test_words_are_read_as_the_user_says(tmp_path: Path) -> None:
    path = _lines(tmp_path, [{"confidence": word, "correct": True} for word in ("likely", "no idea", "90%")])
    data = cr.load(path, words={"likely": 0.7, "no idea": None})
    assert data.predictions.stated.tolist() == [0.7, 0.9]
    scale = _lines(tmp_path, [{"confidence": value, "correct": True} for value in (3, 5.0, "4")])
    data = cr.load(scale, words={"3": 0.5, "4": 0.75, "5": 1.0})
    assert data.predictions.stated.tolist() == [0.5, 1.0, 0.75]


@pytest.mark.parametrize("name", ["run.csv", "run.jsonl"])
def test_the_gap_of_a_constant_confidence_is_the_true_one(tmp_path: Path, name: str) -> None:
    right = [at % 9 < 4 for at in range(450)]  # 4 of 9
    path = tmp_path / name
    if name.endswith("csv"):
        lines = ["confidence,correct", *(f"0.6,{one}" for one in right)]
        path.write_text("\n".join(lines), encoding="utf-8")
    else:
        _lines(tmp_path, [{"confidence": 0.6, "correct": one} for one in right], name)
    data = cr.load(path)
    assert float(cr.confidence_gap(data)) == pytest.approx(0.6 - 4 / 9)  # 15.6 points
    assert any("looks like a fallback" in note for note in data.notes)


def test_samples_prompts_and_judges(tmp_path: Path) -> None:
    sampled = cr.load(_lines(tmp_path, [{"question": "q", "samples": ["4", "4", "5"], "answer": "4"}] * 3))
    assert sampled.predictions.stated.tolist() == pytest.approx([2 / 3] * 3)
    own = [{"id": at, "options": [*LETTERS], "answer": ANSWERS[at]} for at in range(3)]
    numbers = [np.log(one).tolist() for one in PROBS]
    prompted = [
        {**own[at], "prompt_id": name, "logprobs": numbers[at]}
        for at in range(3)
        for name in ("short", "long")
    ]
    ensemble = cr.load(_lines(tmp_path, prompted)).predictions
    assert isinstance(ensemble, cr.Ensemble)
    assert ensemble.probs.shape == (3, 2, 4)
    judged = cr.load(_lines(tmp_path, [{"confidence": 0.5, "judges": [True, True, False]}] * 3))
    assert judged.labels.counts.tolist() == [[1, 2]] * 3  # wrong, right


def test_questions_of_one_passage_are_clusters(tmp_path: Path) -> None:
    records = [
        {"passage": f"text {at // 3}", "confidence": 0.4 + at / 100, "correct": at % 2 == 0}
        for at in range(30)
    ]
    data = cr.load(_lines(tmp_path, records))
    assert len(set(data.clusters.tolist())) == 10


def test_what_is_no_log_is_read_as_before(tmp_path: Path) -> None:
    path = _lines(tmp_path, [{"probs": [0.2, 0.8], "label": 1}, {"probs": [0.6, 0.4], "label": 0}])
    assert isinstance(cr.load(path).predictions, cr.Point)
    draws = _lines(tmp_path, [{"samples": [0.1, 0.2, 0.3], "y": 0.2}] * 2, "draws.jsonl")
    assert isinstance(cr.load(draws, kind="samples").predictions, cr.Samples)


def test_unconditional_likelihoods_are_no_options(tmp_path: Path) -> None:
    records = []
    for at in range(3):
        record = {**_harness(at), "acc_mutual_info": 1.0}
        alone = [[str(math.log(0.25)), "False"]] * 4
        record["filtered_resps"] = [*record["filtered_resps"], *alone]
        texts = [entry["arg_1"] for entry in record["arguments"].values()]
        record["arguments"] |= {
            f"gen_args_{4 + j}": {"arg_0": "", "arg_1": text} for j, text in enumerate(texts)
        }
        records.append(record)
    data = cr.load(_lines(tmp_path, records))
    assert np.allclose(data.predictions.probs, PROBS)
    assert data.labels.tolist() == ANSWERS


def test_options_that_stand_in_the_question(tmp_path: Path) -> None:
    records = [
        {
            "doc_id": at,
            "doc": {},
            "target": "won.",
            "arguments": [["Ann", " won."], ["Bea", " won."]],
            "resps": [],
            "filtered_resps": [[math.log(first), False], [math.log(1 - first), False]],
            "acc": acc,
        }
        for at, (first, acc) in enumerate([(0.3, 1.0), (0.3, 0.0), (0.6, 1.0), (0.6, 0.0)])
    ]
    data = cr.load(_lines(tmp_path, records))
    assert np.allclose(data.predictions.probs[:, 0], [0.3, 0.3, 0.6, 0.6])
    assert data.labels.tolist() == [1, 0, 0, 1]  # the preferred one if right, else the other


def test_the_likelihood_of_the_right_answer_alone_is_no_prediction(tmp_path: Path) -> None:
    pair = [[-0.5, True]]
    record = {"doc_id": 0, "doc": {}, "target": " x", "arguments": [["q", " x"]], "resps": [pair]}
    with pytest.raises(
        cr.InputError, match="at least two options; each has one, as if only the right answer"
    ):
        cr.load(_lines(tmp_path, [{**record, "filtered_resps": pair, "acc": 1.0}]))


def _generated(at: int, texts: list[str], filtered: list[Any], right: float) -> dict[str, Any]:
    settings = {"doc_id": at, "doc": {}, "target": "so #### 18", "resps": [texts], "exact_match": right}
    return {**settings, "filtered_resps": filtered, "filter": "extract"}


def test_repeated_texts_count_by_the_answers_that_a_filter_extracts(tmp_path: Path) -> None:
    texts = [f"step {at}" for at in range(4)]
    extracted = ["18", "18", "20", "18"]
    data = cr.load(_lines(tmp_path, [{**_generated(0, texts, [extracted], 1.0), "target": "18"}] * 2))
    assert data.predictions.stated.tolist() == [0.75, 0.75]
    assert data.labels.tolist() == [1, 1]
    graded = [_generated(at, extracted, ["18"], right) for at, right in enumerate((1.0, 0.0))]
    assert cr.load(_lines(tmp_path, graded)).labels.tolist() == [1, 0]  # not the text of the target
    whole = [_generated(at, texts, ["18"], 1.0) for at in range(5)]
    with pytest.raises(cr.InputError, match="in all 5 questions every sample differs from the others"):
        cr.load(_lines(tmp_path, whole))


def test_each_sample_may_have_its_verdict(tmp_path: Path) -> None:
    records = [
        {"question": "q", "samples": ["a", "b", "a"], "correct": [right, not right, right]}
        for right in (True, False)
    ]
    data = cr.load(_lines(tmp_path, records))
    assert data.predictions.stated.tolist() == pytest.approx([2 / 3] * 2)
    assert data.labels.tolist() == [1, 0]


def _graded(tmp_path: Path, samples: list[dict[str, Any]]) -> Path:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**_inspect(), "samples": samples}), encoding="utf-8")
    return path


def test_samples_of_inspect_that_failed_are_counted(tmp_path: Path) -> None:
    failed = {**_inspect_sample(0), "id": 9, "error": {"message": "timeout"}, "output": {"choices": []}}
    del failed["scores"]
    data = cr.load(_graded(tmp_path, [failed, *(_inspect_sample(at) for at in range(3))]))
    assert np.allclose(data.predictions.probs, PROBS)
    assert any("1 of 4 rows" in note for note in data.notes)


def test_tokens_of_shuffled_choices_are_refused(tmp_path: Path) -> None:
    shuffled = {**_inspect_sample(0), "scores": {"choice": {"value": "I", "answer": "C"}}}
    with pytest.raises(cr.CrediblyError, match="different answers, A and C: were choices shuffled"):
        cr.load(_graded(tmp_path, [shuffled]))


def test_the_answer_of_a_long_text_is_the_last_letter_that_was_scored(tmp_path: Path) -> None:
    sample = _inspect_sample(0)
    content = sample["output"]["choices"][0]["logprobs"]["content"]
    early = [{**content[0], "top_logprobs": [{"token": letter, "logprob": -1.5} for letter in LETTERS]}]
    sample["output"] = {"choices": [{"logprobs": {"content": [*early, *content]}}]}
    assert np.allclose(cr.load(_graded(tmp_path, [sample] * 2)).predictions.probs, PROBS[0])


@pytest.mark.parametrize(
    "scores",
    [
        {"both": {"value": {"correct": True, "confidence": 0.3}}},
        {"confidence": {"value": 0.3}, "match": {"value": "C"}},
        {"match": {"value": "C"}, "confidence": {"value": 0.3}},
    ],
)
def test_a_confidence_may_be_a_score(tmp_path: Path, scores: dict[str, Any]) -> None:
    data = cr.load(
        _graded(tmp_path, [{**_inspect_sample(0), "output": {}, "choices": None, "scores": scores}])
    )
    assert data.predictions.stated.tolist() == [0.3]
    assert data.labels.tolist() == [1]


@pytest.mark.parametrize("others", [[], [{"token": "x", "logprob": -3.0}]])
def test_tokens_of_a_text_that_inspect_scored(tmp_path: Path, others: list[Any]) -> None:
    more = {"logprob": math.log(0.5), "top_logprobs": others}
    content = [{"token": token, **more} for token in ("Par", "is")]
    sample = {**_inspect_sample(0), "choices": None, "target": "Paris, France"}
    sample |= {"output": {"choices": [{"logprobs": {"content": content}}]}}
    data = cr.load(_graded(tmp_path, [{**sample, "scores": {"match": {"value": "C", "answer": "Paris"}}}]))
    assert data.predictions.stated.tolist() == pytest.approx([0.25])
    assert data.labels.tolist() == [1]


def test_epochs_need_not_be_complete_and_keep_their_grades(tmp_path: Path) -> None:
    settings = {"output": {}, "choices": None, "target": "Paris"}
    answers = [
        (0, 1, "It is Paris", "C"),
        (0, 2, "It is Paris", "C"),
        (0, 3, "Rome", "I"),
        (1, 1, "Oslo", "I"),
    ]
    samples = [
        {
            **_inspect_sample(0),
            **settings,
            "id": at,
            "epoch": epoch,
            "scores": {"m": {"value": grade, "answer": text}},
        }
        for at, epoch, text, grade in answers
    ]
    data = cr.load(_graded(tmp_path, samples))
    assert data.predictions.stated.tolist() == pytest.approx([2 / 3, 1.0])
    assert data.labels.tolist() == [1, 0]


def _completion(at: int) -> dict[str, Any]:
    top = {f" {letter}": math.log(share) for letter, share in zip(LETTERS, PROBS[at], strict=True)}
    first = max(top, key=lambda token: top[token])
    logprobs = {"tokens": [first], "token_logprobs": [top[first]], "top_logprobs": [top]}
    return {"object": "text_completion", "choices": [{"text": first, "logprobs": logprobs}]}


def _response(at: int) -> dict[str, Any]:
    part = {"type": "output_text", "text": "A", **_chat(at)["choices"][0]}
    message = {"type": "message", "content": [{**part, "logprobs": part["logprobs"]["content"]}]}
    return {"object": "response", "output": [{"type": "reasoning", "summary": []}, message]}


@pytest.mark.parametrize("form", [_completion, _response])
def test_answers_beside_other_responses(tmp_path: Path, form: Any) -> None:
    records = [{"id": at, **form(at), "answer": LETTERS[ANSWERS[at]]} for at in range(3)]
    data = cr.load(_lines(tmp_path, records))
    assert np.allclose(data.predictions.probs, PROBS)
    assert data.labels.tolist() == ANSWERS


def test_the_answer_beside_a_response_may_be_the_text_of_an_option(tmp_path: Path) -> None:
    records = [
        {**_chat(at), "options": [f"{at}{j}" for j in range(4)], "answer": f"{at}{ANSWERS[at]}"}
        for at in range(3)
    ]
    assert cr.load(_lines(tmp_path, records)).labels.tolist() == ANSWERS


def test_a_list_without_its_most_probable_option_is_refused(tmp_path: Path) -> None:
    logs: list[Any] = np.log(PROBS[0]).tolist()
    record = {"options": [*"wxyz"], "answer": "x", "logprobs": [None, *logs[1:]]}
    with pytest.raises(cr.InputError, match=r"leaves 0\.5 for 1 unlisted, of at most 0\.05 each"):
        cr.load(_lines(tmp_path, [record]))


def test_long_lists_of_tokens_take_little_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    records = []
    for _ in range(2000):
        tokens = [*LETTERS, *(f"token{at}" for at in rng.permutation(400)[:16])]
        top = [
            {"token": token, "logprob": -3.1 - 0.001 * at, "bytes": [65]} for at, token in enumerate(tokens)
        ]
        choice = {"message": {"content": "A"}, "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}
        records.append({"object": "chat.completion", "choices": [choice], "answer": "A"})
    cr.load(_lines(tmp_path, records[:1]))  # what is imported then is not counted
    path = _lines(tmp_path, records)
    tracemalloc.start()
    cr.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.35 * path.stat().st_size  # 1.1; 1.6 with an object for every token and number


def test_tasks_in_one_file_count_their_questions_anew(tmp_path: Path) -> None:
    records = [{**_harness(at), "doc": {"subject": subject}} for subject in ("law", "art") for at in range(3)]
    assert cr.load(_lines(tmp_path, records)).clusters is None
    assert len(set(cr.load(_lines(tmp_path, records * 2)).clusters.tolist())) == 6
