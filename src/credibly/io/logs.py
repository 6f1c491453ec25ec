"""Logs of language models: one question after the other, of whichever program wrote them.

Read are samples of lm-evaluation-harness, logs of Inspect (JSON, or `.eval`, a zip of JSON files),
`per_instance_stats.json` of HELM, responses in OpenAI's format (chat, completions, batch), and plain
records such as {"question": ..., "options": [...], "answer": "B", "logprobs": [...]}. Only what is needed of
a line is kept, so that JSON lines can be larger than the memory. `questions` makes arrays of them.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from credibly._arrays.errors import FileError
from credibly.io.roles import Content

_LOOKED_AT = 20
"""Records that are looked at to tell what a file is."""
_SCALARS = (str, int, float, bool)
_LONGEST = 80
"""Characters of a field that can be the name of a group."""
HARNESS = "lm-evaluation-harness"
TOKENS = "tokens"
"""Source of a confidence that is the product of the probabilities of the answer's tokens."""
_TRUTH_WORDS = (
    "correct_answer", "target", "gold", "ideal", "answer_key", "answerKey", "reference", "ground_truth"
)  # fmt: skip
ANSWER_WORDS = (*_TRUTH_WORDS, "answer_index", "answer", "label")
_CHOSEN_WORDS = ("prediction", "predicted", "model_answer", "response", "output")
CORRECT_WORDS = ("correct", "is_correct", "right", "judges")
_NO_VERDICT = {"", "na", "n/a", "nan", "none", "not attempted", "unanswered", "abstained", "refused"}
CONFIDENCE_WORDS = (
    "confidence", "stated_confidence", "verbalized_confidence", "confidence_score", "p_correct", "p_true"
)  # fmt: skip
JUDGED_WORDS = ("probability", "prob")
"""What states a confidence if the record also says whether the answer is right."""
_OPTION_WORDS = ("options", "choices")
_LOGPROB_WORDS = ("logprobs", "log_probs", "top_logprobs", "loglikelihoods")
_PROB_WORDS = ("probs", "probabilities", "option_probs")
_TOKEN_WORDS = ("token_logprobs", "logprob", "answer_logprob")
_ID_WORDS = ("id", "question_id", "doc_id", "custom_id")
_ASKED = {"question", "prompt", "input", *_OPTION_WORDS}
_MEMBER_WORDS = ("prompt_id", "template", "template_id", "temperature", "seed", "member", "run")


@dataclasses.dataclass(slots=True)
class Question:
    """What a log says of one question, as far as it is needed; what it does not say is None.

    `logprobs` has one entry per option: a number, a list of numbers of its tokens, or None where it is not
    listed; `tokens` are first tokens and their probabilities, of which options are picked.
    `answer` is the right option or answer, `correct` what the answer was judged to be, by one judge or
    several. `lengths` are those of the options as text, `member` tells requests for one question apart,
    `others` is the probability of listed tokens that are no option, and `before` how many tokens come before
    the answer.
    """

    id: Any = None
    options: list[str] | None = None
    logprobs: list[Any] | None = None
    tokens: tuple[list[str], Sequence[float]] | None = None
    chosen: str | None = None
    confidence: Any = None
    source: str | None = None
    samples: list[Any] | None = None
    answer: Any = None
    correct: Any = None
    member: Any = None
    lengths: list[int] | None = None
    others: float | None = None
    before: int = 0
    filter: str | None = None
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Log:
    """Questions of a log, and lines that could not be read."""

    program: str
    questions: list[Question]
    broken: list[tuple[str, str]] = dataclasses.field(default_factory=list)


def is_log(records: Iterable[Any]) -> bool:
    """Tell whether one of the first records is that of a log."""
    return any(_reader_of(record) is not None for record in itertools.islice(records, _LOOKED_AT))


def log_content(form: str, path: str, records: Iterator[tuple[str, Any]]) -> Content:
    """Read the records of a log, each with the place where it stands; a broken one comes as an error."""
    head = list(itertools.islice(records, _LOOKED_AT))
    known = next((reader for _, record in head if (reader := _reader_of(record)) is not None), None)
    if not head:
        raise FileError(f"'{path}'", "must hold questions", "it has none", "Check how it was made.")
    if known is None:
        place, record = head[0]
        raise record if isinstance(record, FileError) else _unknown(path, place, record)
    log = Log(known[0], [])
    keys: tuple[str, ...] = ()
    for place, record in itertools.chain(head, records):
        if isinstance(record, FileError):
            log.broken.append((place, record.evidence))
            continue
        same = isinstance(record, dict) and tuple(record) == keys
        reader = known if same else _reader_of(record)
        keys = tuple(record) if isinstance(record, dict) else ()
        if reader is None and not log.program and isinstance(record, dict) and _ASKED & record.keys():
            reader = "", of_plain  # without what was predicted, which is counted
        if reader is None or reader[0] != known[0]:
            problem = f"it holds {_keys_of(record)}, unlike the records before"
            log.broken.append((place, problem))
            continue
        try:
            for question in reader[1](record):
                _forget_texts(question, log.questions[0] if log.questions else question)
                log.questions.append(question)
        except ValueError as error:
            log.broken.append((place, str(error)[:80]))
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            log.broken.append((place, f"{type(error).__name__}: {str(error)[:80]}"))
    if not log.questions:
        raise FileError(log.broken[0][0], "must hold questions", log.broken[0][1], "Check how it was made.")
    return Content(form, {}, table={}, log=log)


def _forget_texts(question: Question, first: Question) -> None:
    """Keep the place of the right option, and not the texts of options that questions do not share."""
    options, answer = question.options, question.answer
    if options is None or question.logprobs is None or options == first.options:
        return
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    alike = [at for at, option in enumerate(options) if option.strip() == str(answer).strip()]
    if len(alike) == 1:
        if not isinstance(answer, str):
            return  # a number that is also a text: which of the two it is, all questions tell
        question.answer = alike[0]
    question.options = _shared(names_of_places(len(options)))


def names_of_places(number: int) -> list[str]:
    """Return letters from A on, or numbers of more than 26 options."""
    return [chr(65 + at) if number <= 26 else str(at) for at in range(number)]


def _reader_of(record: Any) -> tuple[str, Callable[[dict[str, Any]], list[Question]]] | None:
    """Return which program wrote a record, and what reads it; None if it is that of no log."""
    if not isinstance(record, dict):
        return None
    keys = record.keys()
    if "doc_id" in keys and ("resps" in keys or "filtered_resps" in keys):
        return HARNESS, _of_harness
    if "instance_id" in keys and "stats" in keys:
        return "HELM", _of_helm
    if "epoch" in keys and "output" in keys and not keys.isdisjoint(("scores", "messages", "error")):
        return "Inspect", _of_inspect
    body, wrapped = _body(record), "custom_id" in keys and ("response" in keys or "error" in keys)
    kind = str(body.get("object", ""))
    named = kind.startswith(("chat.completion", "text_completion"))
    choices = body.get("choices") or ()
    scored = any(isinstance(entry, dict) and "logprobs" in entry for entry in choices)
    if wrapped or ("choices" in body and (named or scored)) or (kind == "response" and "output" in body):
        return "OpenAI-style responses", _of_response
    if _is_plain(record):
        return "", of_plain
    return ("", lambda nested: of_plain(_flat_record(nested))) if _is_plain(_flat_record(record)) else None


def _flat_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with what the model replied, as in {"reply": {"answer": "B", "confidence": 0.8}}."""
    for reply in record.values():
        if isinstance(reply, dict) and any(word in reply for word in CONFIDENCE_WORDS):
            parts = {("prediction" if word in ANSWER_WORDS else word): part for word, part in reply.items()}
            return {**parts, **record}
    return record


def _is_plain(record: Mapping[str, Any]) -> bool:
    says = any(name in record for name in (*_LOGPROB_WORDS, *CONFIDENCE_WORDS))
    listed = any(name in record for name in _OPTION_WORDS)
    asks = listed or "question" in record
    verdict = any(name in record for name in CORRECT_WORDS)
    judged = verdict or any(name in record for name in ("answer", "correct_answer", "ideal"))
    if listed and any(name in record for name in _PROB_WORDS):
        return True
    if verdict and any(name in record for name in (*JUDGED_WORDS, *_TOKEN_WORDS)):
        return True
    tokens, answer = _first(record, _LOGPROB_WORDS), _first(record, ANSWER_WORDS)
    by_token = isinstance(tokens[0] if isinstance(tokens, list) and tokens else tokens, dict)
    compared = isinstance(answer, str) and isinstance(_first(record, _CHOSEN_WORDS), str)
    judged |= (by_token and answer is not None) or compared
    samples = record.get("samples")
    sampled = isinstance(samples, list) and (asks or "answer" in record)
    repeated = compared and _first(record, _MEMBER_WORDS) is not None
    return (says and (asks or judged)) or sampled or repeated


def _unknown(path: str, place: str, record: Any) -> FileError:
    rule = "must be a log of lm-evaluation-harness, Inspect, HELM, in OpenAI's format, or plain records"
    remedy = 'Write a record per line: {"options": [...], "answer": ..., "logprobs": [...]}.'
    return FileError(place or f"'{path}'", rule, f"it holds {_keys_of(record)}", remedy)


def _keys_of(record: Any) -> str:
    return ", ".join(map(str, list(record)[:8])) if isinstance(record, dict) else type(record).__name__


# ------------------------------------------------------------------------------------------------ programs


def _of_harness(record: dict[str, Any]) -> list[Question]:
    doc = _object(record.get("doc"))
    answers = record.get("filtered_resps") or record["resps"]
    target = record.get("target")
    target = int(target) if isinstance(target, str) and target.isdigit() else target  # written as text
    question = Question(record["doc_id"], answer=target, filter=record.get("filter"), fields=_fields(doc))
    pairs = [_likelihood(entry) for entry in answers] if isinstance(answers, list) else []
    if pairs and all(entry is not None for entry in pairs):
        texts = _continuations(record.get("arguments"))
        if "acc_mutual_info" in record:  # the second half has the options without the question
            pairs, texts = pairs[: len(pairs) // 2], texts[: len(texts) // 2]
        question.logprobs = compact(pairs)
        if len(texts) == len(pairs) == 2 and texts[0] == texts[1] and "acc" in record:
            best = pairs[0] < pairs[1]  # type: ignore[operator]
            question.answer = int(best == bool(record["acc"]))  # the options stand in the questions
            return [question]
        if texts and len(texts) != len(pairs):
            raise ValueError(f"it has {len(pairs)} log-likelihoods for {len(texts)} options")
        if texts:
            question.options = _shared(entry.strip() for entry in texts)
            question.lengths = _shared(map(_length, texts))
        return [question]
    generated, filtered = _flat(record["resps"]), _flat(answers)
    if len(generated) > 1:
        question.samples = filtered if len(filtered) == len(generated) else generated
    question.chosen = str(filtered[0]) if len(filtered) == 1 else None
    question.correct = _first(record, ("exact_match", "acc", "correct"))
    question.confidence = record.get("confidence")
    return [question]


def _object(value: Any) -> dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _likelihood(response: Any) -> float | None:
    """Return the log-likelihood of [["-1.2", "False"]], ["-1.2", "False"] or (-1.2, false)."""
    while isinstance(response, (list, tuple)) and len(response) == 1:
        response = response[0]
    if not isinstance(response, (list, tuple)) or len(response) != 2 or isinstance(response[0], list):
        return None
    if str(response[1]) not in ("True", "False", "true", "false", "0", "1"):
        return None
    return float(response[0])


def _continuations(arguments: Any) -> list[str]:
    """Return the text of every option: the second argument of each request."""
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    texts = []
    for request in requests if isinstance(requests, list) else ():
        parts = list(request.values()) if isinstance(request, dict) else request
        if isinstance(parts, (list, tuple)) and len(parts) > 1 and isinstance(parts[1], str):
            texts.append(parts[1])
    return texts


def _length(text: str) -> int:
    return max(1, len(text.strip()))


def _flat(value: Any) -> list[Any]:
    return [inner for entry in value for inner in _flat(entry)] if isinstance(value, list) else [value]


def _of_helm(record: dict[str, Any]) -> list[Question]:
    stats: dict[str, Any] = {}
    for entry in record["stats"]:
        name = _object(entry["name"]).get("name", entry["name"])
        stats.setdefault(name, entry.get("mean", entry.get("sum")))
    fields = {name: record.get(name) for name in ("perturbation", "train_trial_index")}
    fields["perturbation"] = _object(fields["perturbation"]).get("name", "none")
    passage = {"passage": record["instance_id"]}  # perturbed versions of one instance belong together
    judged = _first(stats, ("exact_match", "quasi_exact_match", "quasi_prefix_exact_match"))
    question = Question(record["instance_id"], correct=judged, fields={**fields, **passage})
    question.confidence, question.source = stats.get("max_prob"), "measured"
    return [question]


_INSPECT_GRADES = {"C": True, "I": False, "N": None}  # no answer is no verdict


def _of_inspect(record: dict[str, Any]) -> list[Question]:
    scores = {name: _object(score) for name, score in _object(record.get("scores")).items()}
    values = {name: score.get("value") for name, score in scores.items()}
    for value in [*values.values()]:
        values |= _object(value)  # of a scorer that gives several values
    named = (name for name in scores if name not in CONFIDENCE_WORDS)
    score = scores.get(next(named, ""), {})
    metadata, more = _object(record.get("metadata")), _object(score.get("metadata"))
    fields = {**_fields(metadata), **_fields(values)} if len(values) > 1 else _fields(metadata)
    question = Question(record["id"], answer=record.get("target"), fields=fields)
    question.correct, question.member = score.get("value"), record.get("epoch")
    if isinstance(question.correct, dict):
        question.correct = _first(question.correct, CORRECT_WORDS)
    if isinstance(question.correct, str):
        question.correct = _INSPECT_GRADES.get(question.correct, question.correct)
    if record.get("choices"):
        question.options = _shared(chr(65 + at) for at in range(len(record["choices"])))
    choices = _object(record.get("output")).get("choices") or [{}]
    answer = score.get("answer") if isinstance(score.get("answer"), str) else None
    question.chosen = answer
    _take_tokens(question, choices[0].get("logprobs"))
    letters = {spelled(text).upper() for text in (question.chosen, answer) if text}
    if len(letters) == 2 and all(len(letter) == 1 for letter in letters):
        answers = " and ".join(sorted(letters))
        raise ValueError(
            f"its tokens and its score have different answers, {answers}: were choices shuffled?"
        )
    question.chosen = answer
    stated = _first({**metadata, **more, **values}, CONFIDENCE_WORDS)
    question.confidence = question.confidence if stated is None else stated
    return [question]


def _body(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the response itself, which a batch wraps in {"custom_id": ..., "response": {"body": ...}}."""
    response = record.get("response")
    if isinstance(response, dict):
        body = response.get("body", response)
        return body if isinstance(body, dict) else {}
    return record


def _of_response(record: dict[str, Any]) -> list[Question]:
    body = _body(record)
    question = Question(record.get("custom_id", record.get("id", body.get("id"))), fields=_fields(record))
    _take_plain(
        question, {name: entry for name, entry in record.items() if body is not record or name != "choices"}
    )
    choices = body.get("choices") or _choices_of(body)
    texts = [(entry.get("message") or {}).get("content", entry.get("text")) for entry in choices]
    if len(choices) > 1:
        question.samples = texts
        return [question]
    if choices:
        _take_tokens(question, choices[0].get("logprobs"))
        question.chosen = question.chosen or texts[0]
    return [question]  # one that failed states nothing, and is counted


def _choices_of(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the texts of a response of OpenAI's newer interface as those of the older one."""
    entries = response.get("output") if response.get("object") == "response" else None
    parts = [part for entry in entries or () for part in entry.get("content") or () if "text" in part]
    return [{"text": part["text"], "logprobs": {"content": part.get("logprobs") or []}} for part in parts]


def _take_tokens(question: Question, logprobs: Any) -> None:
    """Take the tokens listed at the place of the answer: the letter beside which most letters are listed.

    If there is none, that is the first token. The probabilities of all tokens of a text are its confidence if
    nothing is listed beside them, or if the text has several and was judged.
    """
    if not isinstance(logprobs, dict):
        return
    tokens: list[tuple[str, dict[str, float]]] = []
    if isinstance(logprobs.get("content"), list):  # chat
        for entry in logprobs["content"]:
            listed = {top["token"]: float(top["logprob"]) for top in entry.get("top_logprobs") or ()}
            tokens.append((entry["token"], {entry["token"]: float(entry["logprob"]), **listed}))
    elif isinstance(logprobs.get("tokens"), list):  # completions
        tops = logprobs.get("top_logprobs") or [None] * len(logprobs["tokens"])
        for token, number, top in zip(logprobs["tokens"], logprobs["token_logprobs"], tops, strict=False):
            if number is not None:
                tokens.append((token, {token: float(number), **(top or {})}))
    elif isinstance(logprobs.get("top_logprobs"), list) and logprobs["top_logprobs"]:
        first = logprobs["top_logprobs"][0] or {}
        tokens = [("", {str(name): float(number) for name, number in first.items()})]
    if not tokens:
        return
    alone = all(len(listed) == 1 for _, listed in tokens)
    if _is_text(question) and (alone or (len(tokens) > 1 and question.correct is not None)):
        _take_answer(question, [next(iter(listed.values())) for _, listed in tokens])
        return
    letters = {at: _letters(listed) for at, (token, listed) in enumerate(tokens) if len(spelled(token)) == 1}
    answered = {at: listed for at, listed in letters.items() if spelled(tokens[at][0]) == question.chosen}
    letters = dict(reversed(answered.items())) or letters  # a text may name options before it answers
    at = max(letters, key=lambda place: letters[place], default=0)
    question.chosen = tokens[at][0]
    question.tokens = _listed(tokens[at][1].items())
    question.before = at


def _listed(tokens: Iterable[tuple[Any, Any]]) -> tuple[list[str], Sequence[float]]:
    """Return tokens and their probabilities; a text that comes again takes no more memory."""
    logs = {sys.intern(str(token)): float(log) for token, log in tokens}
    _require_below_one(logs.values())
    return _shared(logs), array("d", map(math.exp, logs.values()))


def _letters(listed: Mapping[str, float]) -> int:
    return len({spelled(token) for token in listed if len(spelled(token)) == 1})


def _is_text(question: Question) -> bool:
    """Tell whether a question was answered by a text and not by one of its options."""
    answer = question.answer
    is_place = isinstance(answer, (int, float)) or len(spelled(str(answer or ""))) == 1
    return question.options is None and not is_place and (question.correct is not None or answer is not None)


def _take_answer(question: Question, numbers: Any) -> None:
    """Take the probability of an answer from the log-probabilities of its tokens."""
    logs = [float(number) for number in _flat([numbers])]
    _require_below_one(logs)
    question.confidence, question.source = math.exp(min(0.0, sum(logs))), TOKENS
    question.lengths = [len(logs)]


def _require_below_one(logs: Iterable[float]) -> None:
    if (most := max(logs, default=0.0)) > 1e-3:
        raise ValueError(f"a log-probability is {most:.6g}, above 0")


def spelled(token: str) -> str:
    """Return a token without what stands around an option: " B", "(B)" and "B." are B."""
    return token.strip(" \t\n()[].:,*\"'\u2581\u0120")


def of_plain(record: dict[str, Any]) -> list[Question]:
    """Return the question of a plain record."""
    question = Question(_first(record, _ID_WORDS), fields=_fields(record))
    _take_plain(question, record)
    listed, answer = _first(record, _LOGPROB_WORDS), _first(record, _TOKEN_WORDS)
    if listed is None and question.options is not None:
        listed = _logarithms(_first(record, _PROB_WORDS))
    first = listed[0] if isinstance(listed, list) and listed else None
    if listed is None or (answer is not None and _is_text(question)):
        if answer is not None:
            _take_answer(question, answer)
    elif isinstance(first, (int, float)) and question.correct is not None and _is_text(question):
        _take_answer(question, listed)
    elif isinstance(listed, dict) and {"content", "tokens", "top_logprobs"} & listed.keys():
        _take_tokens(question, listed)
    elif isinstance(listed, dict) and question.options is not None and set(listed) <= set(question.options):
        question.logprobs = [listed.get(name) for name in question.options]
    elif isinstance(listed, dict):
        question.tokens = _listed((name, log) for name, log in listed.items() if log is not None)
    elif isinstance(first, dict) and "token" in first:
        question.tokens = _listed((entry["token"], entry["logprob"]) for entry in listed or ())
    elif isinstance(first, dict):
        _take_tokens(question, {"top_logprobs": listed})
    elif isinstance(listed, list):
        question.logprobs = compact(listed)
    return [question]


def _logarithms(probs: Any) -> Any:
    """Return the logarithms of a list or an object of probabilities."""
    if isinstance(probs, dict):
        return dict(zip(probs, _logarithms([*probs.values()]), strict=True))
    if not isinstance(probs, list):
        return None
    probs = [number if number is None else float(number) for number in probs]
    strange = next((number for number in probs if number is not None and not 0 <= number <= 1 + 1e-3), None)
    if strange is not None:
        raise ValueError(f"a probability is {strange:.6g}")
    return [number if number is None else math.log(number) if number else -math.inf for number in probs]


def _take_plain(question: Question, record: Mapping[str, Any]) -> None:
    """Take what plain records call by its name."""
    options, letters = _first(record, _OPTION_WORDS), None
    if isinstance(options, list) and options and all(isinstance(entry, dict) for entry in options):
        options = {name: [entry.get(name) for entry in options] for name in ("text", "label")}
    if isinstance(options, dict) and isinstance(options.get("text"), list):  # of Hugging Face
        options, letters = options["text"], options.get("label")
    if isinstance(options, (list, dict)) and options and None not in options:
        question.options = _shared(map(str, options))
        question.lengths = _shared(map(_length, question.options))
    if isinstance(record.get("samples"), list):
        question.samples = [_text_of(sample) for sample in record["samples"]]
    question.correct, question.member = _first(record, CORRECT_WORDS), _first(record, _MEMBER_WORDS)
    question.answer, truth = _first(record, ANSWER_WORDS), _first(record, _TRUTH_WORDS)
    letters = [*options.values()] if isinstance(options, dict) else letters
    if isinstance(letters, list) and question.answer in letters:
        question.answer = chr(65 + letters.index(question.answer))
    if isinstance(question.answer, bool) and options is None and question.correct is None:
        question.correct = question.answer
    chosen = _first(record, _CHOSEN_WORDS if truth is None else (*_CHOSEN_WORDS, "answer"))
    question.chosen = chosen if isinstance(chosen, str) else None
    question.correct = verdict_of(question.correct)
    states = CONFIDENCE_WORDS if question.correct is None else (*CONFIDENCE_WORDS, *JUDGED_WORDS)
    question.confidence = _first(record, states)
    question.source = _first(record, ("provenance", "confidence_source"))


def verdict_of(value: Any) -> Any:
    """Return what an answer was judged to be; None if it says that there was no answer to judge."""
    return None if str(value).strip().casefold().replace("_", " ") in _NO_VERDICT else value


def _text_of(sample: Any) -> Any:
    """Return the text of a sample that is an object."""
    return _first(sample, ("answer", "text", "content", "output")) if isinstance(sample, dict) else sample


def _first(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first entry of these names that is there and is not null."""
    return next((record[name] for name in names if record.get(name) is not None), None)


_SHARED: dict[Any, Any] = {}
_MOST_SHARED = 1000


def _shared(values: Iterable[Any]) -> list[Any]:
    """Return a list that equal ones share: a log has one for each of many questions."""
    entries = [*values]
    if len(_SHARED) > _MOST_SHARED:
        _SHARED.clear()
    shared: list[Any] = _SHARED.setdefault((list, *entries), entries)
    return shared


def compact(numbers: list[Any]) -> Any:
    """Return numbers without an object for each, if all are there."""
    return array("d", numbers) if all(isinstance(number, float) for number in numbers) else numbers


_TAKEN = {*ANSWER_WORDS, *CORRECT_WORDS, *CONFIDENCE_WORDS, *JUDGED_WORDS, *_TOKEN_WORDS, *_ID_WORDS}
_TAKEN |= {"question", "prompt", "input", "samples", "object"}


def _fields(doc: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return short fields of a question that can form groups."""
    fields = {
        str(name): value
        for name, value in doc.items()
        if name not in _TAKEN and isinstance(value, _SCALARS) and len(str(value)) <= _LONGEST
    }
    if "passage" in doc:  # the same text is the same passage
        fields["passage"] = zlib.crc32(str(doc["passage"]).encode("utf-8", "replace"))
    shared: dict[str, Any] = _SHARED.setdefault((dict, *fields, *map(str, fields.values())), fields)
    return shared
