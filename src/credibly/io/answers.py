"""Answers as models write them: numbers, percentages, words and refusals; several answers to one question."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, Remedy, require, require_type
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly.predictions import Confidence, Dataset, Predictions
from credibly.predictions.confidence import OUTCOMES, outcomes_of

_NUMBER = re.compile(
    r"(?:confidence|probability)?\s*[:=]?\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
    r"\s*(?P<percent>%|percent|per cent)?(?:\s*(?:/|out of)\s*(?P<whole>100?))?\s*\.?",
    re.IGNORECASE,
)
_ANY_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_REFUSAL = re.compile(
    r"\b(?:can(?:no|')t|cannot|unable|won't|refuse|decline|not able|as an ai|sorry|don't know|not sure)\b",
    re.IGNORECASE,
)
_MISSING = {"", "nan", "null", "none", "na", "n/a"}
REASONS = ("missing", "a refusal", "not a number", "several numbers", "outside 0 to 1")
"""Why an answer states no confidence."""
_SAME = 0.05  # share of rows with one number, while others are alike in frequency, that a fallback explains
_FEWEST = 20
_LIKE_A_FALLBACK = "this looks like a fallback, not like the model's confidence"


def of_answers(
    answers: Sequence[Any], correct: Any, words: Mapping[str, float | None] | None, scale: float | None
) -> Dataset:
    """Return the answers that state a confidence, with their labels; see `Confidence.from_answers`."""
    _require_lists(answers=answers, correct=correct)
    labels = outcomes_of(correct)
    require(
        len(labels) == len(answers),
        f"must have one entry per answer ({len(answers)})",
        "Pass answers first, then whether each is right.",
        correct=labels,
    )
    stated, notes = read_answers(answers, words, scale)
    keep = np.isfinite(stated)
    return Dataset(
        Confidence(stated[keep]),
        labels[keep].astype(np.int64),
        classes=OUTCOMES,
        notes=(*notes, *fallback_notes(stated[keep & ~worded(answers, words)])),
        ids=None if keep.all() else np.flatnonzero(keep),
        dropped=int((~keep).sum()),
    )


def of_samples(samples: Sequence[Sequence[Any]], answers: Sequence[Any]) -> Dataset:
    """Return how many samples agree, and whether they are right; see `Confidence.from_samples`."""
    _require_lists(samples=samples, answers=answers)
    for entry in samples:
        _require_lists(**{"samples of a question": entry})
    require(
        len(samples) == len(answers) > 0,
        "must have one list per right answer",
        "Give the samples of each question as one list.",
        samples=np.empty(len(samples)),
    )
    empty = [row for row, entry in enumerate(samples) if not any(comparable(sample) for sample in entry)]
    if empty:
        more = counted(len(empty), "question does", "questions do")
        evidence = f"question {empty[0]} has none ({more} not)"
        rule, remedy = "must have an answer for every question", "Leave out these questions."
        raise InputError("`samples`", rule, evidence, remedy)
    stated, leaders, ties = agreement(samples)
    labels = [leader == comparable(right) for leader, right in zip(leaders, answers, strict=True)]
    notes = agreement_note(stated, [len(replies) for replies in samples], ties)
    return Dataset(Confidence(stated), np.array(labels, dtype=np.int64), classes=OUTCOMES, notes=tuple(notes))


def _require_lists(**lists: Any) -> None:
    """Raise unless all are lists, tuples, arrays or columns: letters of a text are no answers."""
    for name, value in lists.items():
        other = isinstance(value, (str, bytes, Mapping, Predictions)) or hasattr(value, "columns")
        listed = isinstance(value, Iterable) and hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0
        rule = "must be a list, with one entry each"
        require_type(listed and not other, rule, "Put a single one into a list too.", **{name: value})


def comparable(answer: Any) -> str:
    """Return an answer as it is compared with others: without case or outer spaces."""
    return "" if answer is None else " ".join(str(answer).split()).casefold()


def agreement(samples: Sequence[Sequence[Any]]) -> tuple[HostArray, list[str], int]:
    """Return the share of the most frequent answer of every question, these answers, and how many tie."""
    shares, leaders, ties = [], [], 0
    for replies in samples:
        plain = [comparable(entry) for entry in replies]
        counts = {entry: plain.count(entry) for entry in dict.fromkeys(plain) if entry}
        most = max(counts.values())
        first = [entry for entry, count in counts.items() if count == most]
        shares.append(most / len(plain))
        leaders.append(first[0])
        ties += len(first) > 1
    return np.array(shares), leaders, ties


def agreement_note(stated: HostArray, sizes: Sequence[int], ties: int) -> list[str]:
    """Say how many samples agree, and what the sampling error of their shares is."""
    number = np.asarray(sizes, dtype=np.float64)
    errors = np.sqrt(np.maximum(stated * (1 - stated), 0.25 / number) / number)
    each = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    size = f"{100 * float(errors.mean()):.2g} points on average"
    share = f"the confidence is the share of {each} samples that agree with the most frequent answer"
    error = f"its sampling error is {size}, and few samples make the most frequent answer look surer"
    notes = [f"{share}; {error}"]
    if ties:
        notes.append(f"in {counted(ties, 'question')} the first of several equally frequent answers counts")
    return notes


def read_answers(
    answers: Sequence[Any], words: Mapping[str, float | None] | None = None, scale: float | None = None
) -> tuple[HostArray, list[str]]:
    """Return stated confidences, NaN for answers without one, and notes that count these by reason."""
    answers = list(answers)  # columns may be indexed by other things than their place
    known = {str(word).strip().casefold(): value for word, value in (words or {}).items()}
    for word, value in known.items():
        good = value is None or (isinstance(value, (int, float)) and 0 <= value <= 1)
        require(
            good, "must map words to probabilities from 0 to 1, or None", f"Correct {word!r}.", words=value
        )
    values = np.full(len(answers), np.nan)
    bare = np.zeros(len(answers), dtype=bool)
    why: dict[str, list[Any]] = {reason: [] for reason in REASONS}
    used: dict[str, int] = {}
    for row, answer in enumerate(answers):
        value, is_bare, reason = _read(answer, known)
        if reason is not None:
            why[reason].append(answer)
            continue
        values[row], bare[row] = value, is_bare
        if _word(answer) in known:
            used[_word(answer)] = used.get(_word(answer), 0) + 1
    notes = _scaled(values, bare, scale)
    outside = np.isfinite(values) & ((values < 0) | (values > 1))
    why["outside 0 to 1"] += [answers[row] for row in np.flatnonzero(outside).tolist()]
    values[outside] = np.nan
    if used:
        mapped = ", ".join(f"{word!r} as {known[word]:g} ({count})" for word, count in used.items())
        notes.append(f"words are read as you say: {mapped}")
    left = int(np.isnan(values).sum())
    if left == len(values):
        evidence = f"none of {len(values)} can be read; the first is {str(answers[0])[:60]!r}"
        remedy = Remedy("Give `words={'likely': 0.7, ...}`.", "Give `--words likely=0.7,...`.")
        rule = "must be numbers, percentages or words of your choice"
        raise InputError("the confidences", rule, evidence, remedy)
    if left:
        parts = [f"{len(rows)} {_reason(reason, rows)}" for reason, rows in why.items() if rows]
        verb, states = ("is", "it states") if left == 1 else ("are", "they state")
        notes.insert(
            0,
            f"{left} of {len(values)} answers {verb} left out, because {states} no confidence: "
            f"{', '.join(parts)}",
        )
    return values, notes


def worded(answers: Sequence[Any], words: Mapping[str, float | None] | None) -> HostArray:
    """Return which answers are words of the user's choice, whose numbers repeat."""
    known = {str(word).strip().casefold() for word in words or ()}
    return np.array([_word(entry) in known for entry in answers], dtype=bool)


def _word(answer: Any) -> str:
    """Return an answer as a word that the user may have given a probability: 9 for 9.0."""
    is_whole = isinstance(answer, (float, np.floating)) and float(answer).is_integer()
    return str(int(answer) if is_whole else answer).strip().casefold()


def _reason(reason: str, rows: list[Any]) -> str:
    """Name a reason, with the first text that shows it if it is not obvious."""
    example = "" if reason in ("missing", "a refusal") else f" ({str(rows[0])[:40]!r})"
    several = f"{reason.removeprefix('a ')}s" if reason == "a refusal" else reason
    return f"{reason if len(rows) == 1 else several}{example}"


def _read(answer: Any, known: Mapping[str, float | None]) -> tuple[float, bool, str | None]:
    """Return the number of an answer, whether its scale is open, and why there is none."""
    if isinstance(answer, (bool, np.bool_)):
        return math.nan, False, "not a number"
    word = _word(answer)
    if word in known:
        value = known[word]
        return (math.nan, False, "a refusal") if value is None else (float(value), False, None)
    if isinstance(answer, (int, float, np.integer, np.floating)):
        missing = math.isnan(float(answer))
        return float(answer), True, "missing" if missing else None
    text = "" if answer is None else str(answer).strip()
    if text.casefold() in _MISSING:
        return math.nan, False, "missing"
    match = _NUMBER.fullmatch(text)
    if match is not None:
        number = float(match["number"])
        whole = 100.0 if match["percent"] else float(match["whole"] or 1)
        return number / whole, whole == 1, None
    if _REFUSAL.search(text.replace("’", "'")):
        return math.nan, False, "a refusal"
    return math.nan, False, "several numbers" if len(_ANY_NUMBER.findall(text)) > 1 else "not a number"


def _scaled(values: HostArray, bare: HostArray, scale: float | None) -> list[str]:
    """Divide plain numbers by their scale in place; what could be two scales is refused."""
    plain = values[bare]
    if scale is None and plain.size and (plain > 1).any():
        inside = plain[(plain >= 0) & (plain <= 100)]
        largest, fractions = inside.max(initial=0.0), inside[(inside > 0) & (inside < 1)]
        over = float((inside > 2).mean()) if inside.size else 0.0
        if fractions.size and over < 0.05:  # a few slips among probabilities are named as outside
            return []
        if largest <= 10 or fractions.size:
            seen = f"{fractions[0]:g} and {largest:g}" if fractions.size else f"the largest is {largest:g}"
            evidence = f"{seen}: plain numbers may be out of {'1 or 100' if fractions.size else '10 or 100'}"
            remedy = Remedy(
                "Write per cent signs, or say what numbers mean: `scale=10` (`from_answers`) or "
                "`words={'1': 0.1, '2': 0.2, ...}` (`load`).",
                "Write per cent signs, or say what each number means: `--words 1=0.1,2=0.2,...`.",
            )
            raise InputError("the confidences", "must be on one scale", evidence, remedy)
        scale = 100.0
    if scale is not None and scale != 1:
        values[bare] /= scale
        return [f"plain numbers are read as out of {scale:g}"] if bare.any() else []
    return []


def fallback_notes(stated: HostArray) -> list[str]:
    """Name a number that so many rows share that a fallback, and not the model, seems to state it."""
    n = len(stated)
    if n < _FEWEST:
        return []
    numbers, counts = np.unique(np.round(stated, 12), return_counts=True)
    order = np.argsort(-counts)
    if numbers.size <= 2:
        named = " or ".join(f"{numbers[at]:g}" for at in order)
        return [f"all {n} rows state {named}: {_LIKE_A_FALLBACK}"]
    at, rest = order[0], counts[order[1:]]
    usual = float(rest.mean())  # rows per number among the others
    alone = usual < 1.5 or (rest.size >= _FEWEST and counts[at] >= 5 * rest[0] and rest[0] <= 4 * usual)
    if counts[at] >= max(10, _SAME * n) and alone:
        rows = f"{counts[at]} of {n} rows state exactly {numbers[at]:g}"
        return [f"{rows}, and at most {counted(int(rest[0]), 'row')} any other number: {_LIKE_A_FALLBACK}"]
    return []
