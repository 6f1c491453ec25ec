"""From questions of a log to arrays: options as points or sets, answers with a confidence, repeated answers.

Options with log-probabilities come first, then stated confidences, then samples. What a row does not have is
counted by reason; nothing is divided by its sum unless a note says so.
"""

from __future__ import annotations

import dataclasses
import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError, InputError, Remedy
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import Note, counted
from credibly.io.answers import agreement, agreement_note, comparable, fallback_notes, read_answers, worded
from credibly.io.logs import (
    CONFIDENCE_WORDS,
    CORRECT_WORDS,
    HARNESS,
    JUDGED_WORDS,
    TOKENS,
    Log,
    Question,
    compact,
    names_of_places,
    of_plain,
    spelled,
    verdict_of,
)
from credibly.io.roles import LENGTH, ROLES, Content, ReadOptions
from credibly.predictions.confidence import OUTCOMES, outcomes_of
from credibly.predictions.given import ROUTINE
from credibly.predictions.label_reading import numbers_of

SOURCES = ("measured", "self-reported", "fallback", "missing")
"""Where a confidence comes from."""
CLUSTER_WORDS = ("passage", "passage_id", "story_id", "context_id", "article_id")
"""Fields that say which questions share a text."""
_ENOUGH = 5
"""Questions without two samples that agree from which on the samples are no answers but texts."""


def lay_out(content: Content, read: ReadOptions) -> None:
    """Turn the questions of a log into arrays by their roles, with notes on all that was read."""
    log = _of_table(content, read) if content.log is None else content.log
    if log is None and read.kind == LENGTH:
        raise _no_lengths("it is no log of questions")
    if log is None:
        return
    content.log, content.table, content.arrays = None, None, {}
    _report_broken(log, content, read)
    name = f"a log of {log.program}" if log.program else "a log of questions"
    content.note(Note(ROUTINE, f"read as {name}, {counted(len(log.questions), 'line')}"))
    questions = log.questions
    if log.program == HARNESS and len({str(question.id) for question in questions}) < len(questions):
        for question in questions:  # of several tasks, each of which counts its questions from 0
            question.id = " ".join(map(str, (question.id, *question.fields.values())))
    _require_one_filter(questions)
    members = _members_of(questions)
    if any(question.tokens is not None for question in questions):
        _pick_options(questions, content, read)
    named = read.labels if isinstance(read.labels, str) else ""
    if any(named in question.fields for question in questions):
        _judge_by(named, questions)
    if any(question.logprobs for question in questions):
        kept = _of_options(questions, members, content, read)
    elif any(question.confidence is not None for question in questions):
        kept = _of_confidences(questions, content, read)
    else:
        kept = _of_samples(questions, content)
    if "y" in content.arrays and any(named in question.fields for question in questions):
        content.arrays[named] = content.arrays.pop("y")
    _keep_fields(kept, content, read)
    ids = {str(question.id) for question in questions if question.id is not None}
    content.left_out = frozenset(ids - {str(question.id) for requests in kept for question in requests})


def _judge_by(name: str, questions: list[Question]) -> None:
    """Take the field that the user names as the right option, or as what the answer was judged to be."""
    for question in questions:
        value, has_options = question.fields.get(name), question.logprobs is not None
        question.answer, question.correct = (value, None) if has_options else (None, verdict_of(value))


def _of_table(content: Content, read: ReadOptions) -> Log | None:
    """Return the rows of a table as questions if it holds confidences and whether answers are right."""
    table = content.arrays if content.table is None else content.table
    if read.labels is not None or read.kind not in (None, "confidence"):
        return None
    if content.table is None and len({column.shape for column in table.values()}) != 1:
        return None  # arrays that are more than columns
    names = [name.lower() for name in table if table[name].ndim == 1]
    if not {*CONFIDENCE_WORDS, *JUDGED_WORDS} & set(names) or not set(CORRECT_WORDS) & set(names):
        return None
    columns = [column.tolist() for column in table.values() if column.ndim == 1]
    return Log("", [of_plain(dict(zip(names, row, strict=True)))[0] for row in zip(*columns, strict=True)])


def _report_broken(log: Log, content: Content, read: ReadOptions) -> None:
    """Refuse lines that cannot be read, unless they may be dropped."""
    if not log.broken:
        return
    (place, problem), n = log.broken[0], len(log.broken)
    if not read.drop_invalid:
        leave = "Write the log again, or leave such lines out: `{}`."
        remedy = Remedy(leave.format("load(path, drop_invalid=True)"), leave.format("--drop-invalid"))
        more = f", and {counted(n - 1, 'other line')}" if n > 1 else ""
        raise FileError(place, "must be a whole record", f"{problem}{more}", remedy)
    many = counted(n, "line could not be read and is", "lines could not be read and are")
    content.note(f"{many} left out: {problem}")


def _require_one_filter(questions: list[Question]) -> None:
    """Refuse a log that repeats each question for several filters of the answers."""
    filters = [*map(str, Counter(question.filter for question in questions))]
    if len(filters) > 1:
        remedy = "Split the file by its field `filter`."
        raise InputError("the log", "must be of one filter", f"it holds {', '.join(filters)}", remedy)


def _members_of(questions: list[Question], *, complete: bool = True) -> list[Any] | None:
    """Return what tells repeated requests apart if every question has each, or at most each; else None."""
    names = list(dict.fromkeys(question.member for question in questions))
    if len(names) < 2 or None in names or any(question.id is None for question in questions):
        return None
    ids = Counter(str(question.id) for question in questions)
    pairs = {(str(question.id), question.member) for question in questions}
    expected = len(ids) * len(names) if complete else max(len(pairs), len(ids) + 1)
    return names if len(pairs) == len(questions) == expected else None


# --------------------------------------------------------------------------------------------------- options


def _pick_options(questions: list[Question], content: Content, read: ReadOptions) -> None:
    """Turn listed tokens into options: those that are named, or single letters from A on."""
    names = _option_names(questions) if read.classes is None else [str(name) for name in read.classes]
    spellings: set[str] = set()
    absent, later = 0, 0
    for question in questions:
        later += bool(question.before)
        if question.tokens is None:
            continue
        exists = names[: len(question.options)] if question.options and read.classes is None else names
        place = _readings(question.options, question.answer)[0] if question.options else None
        if place is not None and place < len(exists):  # the text of an option, of which the letter is listed
            question.answer = exists[place]
        sums: dict[str, float] = {}
        for token, share in zip(*question.tokens, strict=True):
            option = spelled(token)
            if option in exists:
                spellings |= {token} if option in sums else set()
                sums[option] = sums.get(option, 0.0) + share
        absent += not sums
        question.options = exists
        question.logprobs = compact([math.log(sums[name]) if sums.get(name) else None for name in exists])
        question.others = max(0.0, min(1.0, sum(question.tokens[1]) - sum(sums.values())))
        question.tokens = None
    if spellings:
        content.note(f"several spellings of an option are added, such as {sorted(spellings)[0]!r}")
    if later:
        content.note(
            f"in {counted(later, 'row')} the answer comes after other tokens; its probabilities are those "
            "given that text, not those of the question alone"
        )
    if absent:
        content.note(f"{counted(absent, 'row')} list no option")


def _option_names(questions: list[Question]) -> list[str]:
    """Return the letters from A on that are options, answers, or listed tokens without a gap."""
    texts = [spelled(str(question.chosen or "")) for question in questions]
    texts += [spelled(str(question.answer)) for question in questions if question.answer is not None]
    letters = [ord(text) - 64 for text in texts if len(text) == 1 and "A" <= text <= "Z"]
    most = max(len(question.options or ()) for question in questions)
    if not letters and not most:
        remedy = Remedy("Give `classes=['yes', 'no']`.", "Give `--classes yes,no`.")
        first = next(filter(None, texts), "")
        rule, evidence = "must be named if answers are no capital letters", f"the first is {first[:40]!r}"
        raise InputError("the options", rule, evidence, remedy)
    seen = {spelled(token) for question in questions if question.tokens for token in question.tokens[0]}
    run = next(at for at in range(27) if chr(65 + at) not in seen)  # a stray I makes no option
    return [chr(65 + at) for at in range(max([most, run, *letters]))]


def _of_options(
    questions: list[Question], members: list[Any] | None, content: Content, read: ReadOptions
) -> list[list[Question]]:
    """Lay out log-probabilities of options, complete or not; return the questions of every row."""
    kept = [question for question in questions if question.logprobs]
    without = len(questions) - len(kept)
    rows = _grouped(kept, None if without else members)
    if without:
        content.note(f"{without} of {len(questions)} rows are left out: they have no log-probabilities")
    m, most = len(rows[0]), max(len(question.logprobs or ()) for question in kept)
    if most == 1 and all(len(question.options or "?") == 1 for question in kept):
        evidence = "each has one, as if only the right answer had been scored"
        remedy = "Log what the model answered, and its log-probability with `correct`."
        raise InputError("the questions", "must have at least two options", evidence, remedy)
    table, others = np.full((len(rows), m, most), -np.inf), np.zeros((len(rows), m))
    has_others, by_tokens = False, 0
    for place, requests in enumerate(rows):
        for at, question in enumerate(requests):
            numbers = question.logprobs or []
            if question.options is not None and len(question.options) != len(numbers):
                subject = f"the log-probabilities of {_named(question, place)}"
                rule, remedy = f"must be one per option ({len(question.options)})", "Write null if unlisted."
                raise InputError(subject, rule, f"got {len(numbers)}", remedy)
            by_tokens += any(isinstance(number, list) for number in numbers)
            table[place, at, : len(numbers)] = [_score(number) for number in numbers]
            has_others |= question.others is not None
            others[place, at] = question.others or 0.0
    if read.kind == LENGTH:
        table = table / _lengths(rows, table)
    _name_options([question for requests in rows for question in requests], most, content)
    differ = Counter(len(requests[0].logprobs or ()) for requests in rows)
    if len(differ) > 1:
        some = ", ".join(f"{count} with {number}" for number, count in sorted(differ.items()))
        content.note(f"questions have differing numbers of options ({some}); absent options are 0")
    _require_logs(table)
    unlisted = np.isnan(table)
    total = np.exp(table).sum(axis=2, where=~unlisted)
    if by_tokens or read.kind == LENGTH:
        how = "divided by their lengths" if read.kind == LENGTH else "not divided by their lengths"
        content.note(f"answers are scored by the sum of the log-probabilities of their tokens, {how}")
    if unlisted.any():
        if m > 1:
            evidence = f"{int(unlisted.any(axis=2).sum())} of {total.size} leave options out"
            remedy = "Evaluate one prompt at a time."
            raise InputError("several lists for each question", "must be complete", evidence, remedy)
        open_rows = ~unlisted.any(axis=2) & (total < 1 - 1e-3)  # the rest belongs to other tokens
        others = np.where(open_rows, 1 - total, others)
        has_others |= bool(open_rows.any())
        content.arrays["top_logprobs"] = table[:, 0]
        content.arrays["others"] = others[:, 0] if has_others else np.full(len(rows), np.nan)
        if has_others:
            content.note("probabilities are those given that one of the options is the answer")
    else:
        if (np.abs(total - 1) > 1e-3).any():
            low, high = (f"{end:.2g}" for end in (total.min(), total.max()))
            ends = "" if low == high else f"; from {low} to {high}"
            content.note(
                f"the probabilities of the options sum to {np.median(total):.2g} (median{ends}) and are "
                "divided by their sum: what follows is given that one of the options is the answer"
            )
        content.arrays["logits"] = table if m > 1 else table[:, 0]
        content.member_axis = 1 if m > 1 else None
    if m > 1:
        summary = ", ".join(str(question.member) for question in rows[0])
        content.note(f"{m} requests per question are read as members: {summary}")
    if any(requests[0].answer is not None for requests in rows):  # else the labels come in another file
        content.arrays["y"] = _labels(rows, content.classes or ())
    content.meta["provenance"] = {"measured": len(rows), "missing": without}
    return rows


def _score(number: Any) -> float:
    total = sum(map(float, number)) if isinstance(number, list) else number
    return math.nan if total is None else float(total)


def _lengths(rows: list[list[Question]], table: HostArray) -> HostArray:
    """Return how long every option is: in tokens where they are known, else in characters of its text."""
    lengths = np.ones(table.shape)
    for place, requests in enumerate(rows):
        for at, question in enumerate(requests):
            for option, number in enumerate(question.logprobs or ()):
                if isinstance(number, list):
                    lengths[place, at, option] = max(1, len(number))
                elif question.lengths is not None:
                    lengths[place, at, option] = question.lengths[option]
                else:
                    raise _no_lengths("the log has neither")
    return lengths


def _no_lengths(evidence: str) -> InputError:
    rule = "needs the tokens or the texts of answers, which give their lengths"
    return InputError(f"kind {LENGTH!r}", rule, evidence, "Leave `kind` out.")


def _require_logs(table: HostArray) -> None:
    bad = np.flatnonzero((table > 1e-3).any(axis=(1, 2)))
    if bad.size:
        number = f"{counted(bad.size, 'row has', 'rows have')} a probability above 1"
        evidence = f"row {bad[0]} has {float(np.nanmax(table[bad[0]])):.6g} ({number})"
        remedy = "Give natural logarithms; for probabilities use the name `probs`."
        raise InputError("`logprobs`", "must be logarithms of probabilities, at most 0", evidence, remedy)


def _name_options(questions: list[Question], most: int, content: Content) -> None:
    """Name the options by their texts if all questions share them, else by letters."""
    texts = {tuple(question.options) for question in questions if question.options is not None}
    names = texts.pop() if len(texts) == 1 else ()
    content.classes = names if len(set(names)) == len(names) == most else tuple(names_of_places(most))


def _labels(rows: list[list[Question]], classes: Sequence[str]) -> HostArray:
    """Return the right option of every question, as an index or as a name if the names are numbers."""
    questions = [requests[0] for requests in rows]
    readings = [_readings(question.options or classes, question.answer) for question in questions]
    by_text, by_number = (
        all(place is not None for place in reading) for reading in zip(*readings, strict=True)
    )
    labels = []
    for row, (question, reading) in enumerate(zip(questions, readings, strict=True)):
        text, number = reading if by_text or not by_number else reading[::-1]
        if text is None and number is None:
            raise _no_option(question, row)
        if None not in reading and text != number and by_text == by_number:
            rule, remedy = "must mean one option", "Write letters from A on instead of numbers."
            evidence = f"{question.answer} is the text of option {text}, and counted from 0 option {number}"
            raise InputError(f"the answer of {_named(question, row)}", rule, evidence, remedy)
        labels.append(number if text is None else text)
    numbers = numbers_of(list(classes))  # with which labels that are numbers would be matched
    codes = np.array(labels)
    return codes if numbers in (None, [*range(len(classes))]) else np.array(classes)[codes]


def _readings(options: Sequence[str], answer: Any) -> tuple[int | None, int | None]:
    """Return the option that an answer is by its text or letter, and by its number, counted from 0."""
    answer = answer[0] if isinstance(answer, (list, tuple)) and len(answer) == 1 else answer
    number = int(answer) if isinstance(answer, float) and answer.is_integer() else answer
    text, options = _composed(number), [_composed(option) for option in options]
    alike = [at for at, option in enumerate(options) if option == text]
    alike = alike or [at for at, option in enumerate(options) if option.casefold() == text.casefold()]
    if not alike and len(text) == 1 and 0 <= ord(text.upper()) - 65 < len(options):
        alike = [ord(text.upper()) - 65]
    place = alike[0] if len(alike) == 1 else None
    is_text = isinstance(number, str) and place is not None
    is_place = not is_text and not isinstance(number, bool) and text.isdigit() and int(text) < len(options)
    return place, int(text) if is_place else None


def _composed(text: Any) -> str:
    """Return a text with one code for a letter and its accent; of "(B)" the letter."""
    composed = unicodedata.normalize("NFC", str(text).strip())
    letter = spelled(composed)
    return letter if len(letter) == 1 and letter.isalpha() else composed


def _named(question: Question, row: int) -> str:
    return f"the question in row {row}" if question.id is None else f"question {question.id}"


def _no_option(question: Question, row: int) -> InputError:
    answer, number = question.answer, len(question.options or question.logprobs or ())
    evidence = "it is missing" if answer is None else f"it is {str(answer)[:40]!r}"
    if isinstance(answer, (list, tuple)) and len(answer) > 1:
        evidence = f"several answers are right: {answer}"
    rule = f"must be one of {number} options: letter, text, or number from 0 to {number - 1}"
    remedy = "Correct the answer, or leave the question out."
    return InputError(f"the answer of {_named(question, row)}", rule, evidence, remedy)


def _grouped(questions: list[Question], members: list[Any] | None) -> list[list[Question]]:
    """Return the requests of every question, in the order of the members."""
    if members is None:
        return [[question] for question in questions]
    rows: dict[str, list[Question]] = {}
    for question in questions:
        rows.setdefault(str(question.id), []).append(question)
    return [
        sorted(requests, key=lambda question: members.index(question.member)) for requests in rows.values()
    ]


# ------------------------------------------------------------------------------------ confidences and samples


def _of_confidences(questions: list[Question], content: Content, read: ReadOptions) -> list[list[Question]]:
    """Lay out stated confidences; return the questions that have one."""
    answers = [question.confidence for question in questions]
    stated, notes = read_answers(answers, read.words)
    notes += _scored_by_tokens(questions, stated, divided=read.kind == LENGTH)
    sources = [_source(question, number) for question, number in zip(questions, stated.tolist(), strict=True)]
    keep = np.array([source in SOURCES[:2] for source in sources])
    judged = np.array([_verdict(question) is not None for question in questions])
    if judged.any() and not judged.all():
        content.note(f"{(~judged).sum()} of {judged.size} answers are left out: they have no verdict")
        keep &= judged
    each = {name: sources.count(name) for name in SOURCES if name in sources}
    content.meta["provenance"] = each
    if not keep.any():
        rule, evidence = "must be measured or self-reported for some rows", f"they are {', '.join(each)}"
        raise InputError("the confidences", rule, evidence, "Ask the model again.")
    parts = ", ".join(f"{count} {name}" for name, count in each.items())
    summary = f"confidence of {len(questions)} rows: {parts}"
    content.note(summary if len(each) > 1 else Note(ROUTINE, summary), *notes)
    if "fallback" in each:
        content.note("rows whose confidence is a fallback are left out: the model did not state it")
    content.note(*fallback_notes(stated[keep & ~worded(answers, read.words)]))
    kept = [question for question, good in zip(questions, keep.tolist(), strict=True) if good]
    content.arrays["stated"] = stated[keep]
    _judge(kept, content)
    return [[question] for question in kept]


def _scored_by_tokens(questions: list[Question], stated: HostArray, *, divided: bool) -> list[str]:
    """Say that answers are scored by their tokens; normalise their probabilities by length if asked."""
    by_tokens = [at for at, question in enumerate(questions) if question.source == TOKENS]
    if divided and len(by_tokens) < len(questions):
        raise _no_lengths(f"{counted(len(questions) - len(by_tokens), 'answer')} came without tokens")
    if not by_tokens:
        return []
    if divided:
        lengths = np.array([(questions[at].lengths or [1])[0] for at in by_tokens])
        stated[by_tokens] = stated[by_tokens] ** (1.0 / lengths)
    how = "" if divided else "not "
    return [
        f"the confidence is the probability of the answer's tokens; it is {how}normalised by their number"
    ]


def _source(question: Question, stated: float) -> str:
    if math.isnan(stated):
        return "missing"
    if question.source in SOURCES:
        return str(question.source)
    known = str(question.source).casefold()
    if "fallback" in known or "default" in known:
        return "fallback"
    return "measured" if "log" in known or "token" in known else "self-reported"


def _judge(questions: list[Question], content: Content) -> None:
    """Take what answers were judged to be: by one judge or by several, or by comparison with the truth."""
    content.classes = OUTCOMES
    judged = [_verdict(question) for question in questions]
    if all(verdict is None for verdict in judged):
        return  # the labels come in another file
    if any(question.correct is None for question in questions):
        content.note("an answer is right if it has the option or, apart from case, the text of the truth")
    judged = [[*verdict.values()] if isinstance(verdict, dict) else verdict for verdict in judged]
    several = [verdict if isinstance(verdict, list) else [verdict] for verdict in judged]
    if any(len(verdicts) != 1 for verdicts in several):
        votes = [outcomes_of([str(verdict) for verdict in verdicts]) for verdicts in several]
        counts = [[(codes == 0).sum(), (codes == 1).sum()] for codes in votes]
        content.arrays["label_counts"] = np.array(counts)
        content.note("the verdicts of several judges are read as counts of raters")
        return
    grades = [verdicts[0] for verdicts in several]
    unclear = [grade for grade in grades if grade is None or (isinstance(grade, float) and 0 < grade < 1)]
    if unclear:
        evidence = f"{counted(len(unclear), 'row has', 'rows have')} {unclear[0]}"
        rule, remedy = "must say whether each answer is right", "Judge these answers, or leave them out."
        raise InputError("`correct`", rule, evidence, remedy)
    content.arrays["y"] = outcomes_of(np.array([str(grade) for grade in grades]))


def _verdict(question: Question) -> Any:
    """Return what an answer was judged to be; without a verdict it is compared with the truth, if known."""
    if question.correct is not None or question.chosen is None or question.answer is None:
        return question.correct
    return _is_right(question, question.chosen)


def _is_right(question: Question, chosen: Any) -> bool:
    """Tell whether a text and a right answer are one option or, without options, the same text."""
    if isinstance(question.answer, (list, tuple)):
        alike = (dataclasses.replace(question, answer=answer) for answer in question.answer)
        return any(_is_right(single, chosen) for single in alike)
    pair = chosen, question.answer
    readings = [_readings(question.options or (), answer) for answer in pair]
    first, second = (number if text is None else text for text, number in readings)
    if first is not None and second is not None:
        return first == second
    return len({_composed(answer).casefold() for answer in pair}) == 1


def _of_samples(questions: list[Question], content: Content) -> list[list[Question]]:
    """Lay out the agreement of repeated answers, in one record or in several."""
    members = _members_of(questions, complete=False)
    rows = _grouped(questions, members)
    if members is not None:
        for requests in rows:
            requests[0].samples = [(question.samples or [question.chosen])[0] for question in requests]
    kept = [requests for requests in rows if not {*(requests[0].samples or ())} <= {None, ""}]
    if not kept:
        rule = "must have log-probabilities, confidences or repeated answers"
        remedy = "Log them: `logprobs`, `confidence`, or several `samples` per question."
        raise InputError("the log", rule, "it has none of them", remedy)
    if len(kept) < len(rows):
        content.note(f"{len(rows) - len(kept)} of {len(rows)} questions are left out: they have no samples")
    samples = [requests[0].samples or [] for requests in kept]
    stated, leaders, ties = agreement(samples)
    if len(kept) >= _ENOUGH and all(
        1 < len(replies) < 1.5 / top for replies, top in zip(samples, stated, strict=True)
    ):
        evidence = f"in all {len(kept)} questions every sample differs from the others"
        raise InputError(
            "the samples", "must be short answers", evidence, "Log the answer that a text ends with."
        )
    content.arrays["stated"], content.classes = stated, OUTCOMES
    judged = [_judged(requests, leader) for requests, leader in zip(kept, leaders, strict=True)]
    first = [requests[0] for requests in kept]
    if not any(judged) and all(question.answer is None for question in first):
        _judge(first, content)
    else:
        right = [
            2 * sum(outcomes_of([str(verdict) for verdict in verdicts])) >= len(verdicts)
            if verdicts
            else _is_right(question, leader)
            for verdicts, question, leader in zip(judged, first, leaders, strict=True)
        ]
        content.arrays["y"] = np.array(right, dtype=np.int64)
    content.note(*agreement_note(stated, [len(replies) for replies in samples], ties))
    content.meta["provenance"] = {"measured": len(kept), "missing": len(rows) - len(kept)}
    return [[question] for question in first]


def _judged(requests: list[Question], leader: str) -> list[Any]:
    """Return the verdicts that the log has on samples that are the most frequent answer."""
    first = requests[0]
    each = isinstance(first.correct, list) and len(first.correct) == len(first.samples or ())
    pairs = (
        zip(first.samples or (), first.correct, strict=True)
        if each
        else ((request.chosen, request.correct) for request in requests)
    )
    return [verdict for text, verdict in pairs if verdict is not None and comparable(text) == leader]


# ----------------------------------------------------------------------------------- what stands beside them


def _keep_fields(rows: list[list[Question]], content: Content, read: ReadOptions) -> None:
    """Keep ids, groups and clusters of the questions."""
    first = [requests[0] for requests in rows]
    ids = [str(question.id) for question in first]
    if first[0].id is not None and len(set(ids)) == len(ids):
        content.arrays["id"], content.id_name = np.array(ids), "id"
    elif len(set(ids)) < len(ids) and first[0].id is not None and read.clusters is None:
        content.arrays["cluster"], content.clusters_found = np.array(ids), True
        content.note(f"{len(ids)} rows are about {len(set(ids))} questions; those of one belong together")
    names = dict.fromkeys(name for question in first for name in question.fields)
    wanted = {*(read.groups or ()), read.clusters}
    has_clusters = read.clusters is not None or content.clusters_found
    for name in (name for name in names if name in wanted or name in CLUSTER_WORDS):
        column = np.array([str(question.fields.get(name, "")) for question in first])
        if not has_clusters and name in CLUSTER_WORDS and 1 < len(set(column.tolist())) < len(column):
            content.arrays["cluster"], content.clusters_found, has_clusters = column, True, True
            content.note(f"questions with the same {name!r} belong together, as clusters")
        elif name in wanted:
            content.arrays[name] = column
    rest = [name for name in names if name not in wanted and name not in ROLES]
    if rest:
        named = ", ".join(rest[:8]) + ", ..." * (len(rest) > 8)
        content.note(Note(ROUTINE, f"fields that can form groups: {named}"))
