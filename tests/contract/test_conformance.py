"""credibly passes every conformance case, and definitions, vectors and adapters are complete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conformance import derive, judge
from conformance.adapters import credibly as ours
from conformance.bridges import BRIDGES

FOLDER = Path(judge.__file__).parent
VECTORS = judge.vectors()


@pytest.mark.parametrize("measure", derive.MEASURES)
def test_ours_agrees_in_every_case(measure: str) -> None:
    verdict = judge.judge("credibly", measure, ours.CALLS[measure], VECTORS[measure], judge.TOLERANCE)
    assert (verdict.verdict, verdict.refused, verdict.reasons) == (judge.AGREE, 0, ())


def test_there_are_thirty_measures_with_pages_and_150_cases() -> None:
    assert len(VECTORS) >= 30
    assert sum(map(len, VECTORS.values())) >= 150
    for folder, ending in (("definitions", "md"), ("vectors", "json")):
        assert {path.stem for path in (FOLDER / folder).glob(f"*.{ending}")} == set(derive.MEASURES)
    assert set(BRIDGES) <= set(derive.MEASURES)


def test_vectors_are_those_that_brute_force_derives() -> None:
    from conformance import make_vectors

    cases = make_vectors.cases()
    for measure in ("brier", "event_ece", "weighted_interval_score", "crps_normal"):
        fresh = [
            {
                **case,
                "value": make_vectors.number(derive.MEASURES[measure](case["inputs"], **case["settings"])),
            }
            for case in cases[measure]
        ]
        recorded = VECTORS[measure]
        assert [case["inputs"] for case in fresh] == [case["inputs"] for case in recorded]
        assert [case["value"] for case in fresh] == pytest.approx(
            [case["value"] for case in recorded], rel=1e-9
        )


def test_another_definition_is_bridged_and_an_error_gets_its_smallest_example() -> None:
    def halved(inputs: dict) -> float:
        return derive.brier(inputs) / 2

    def broken(inputs: dict) -> float:  # wrong where an answer is certain
        return derive.brier(inputs) + (1.0 in [max(row) for row in inputs["probs"]])

    other = judge.judge("theirs", "brier", ("brier", halved), VECTORS["brier"], 1e-9)
    assert (other.verdict, other.bridge) == (judge.OTHER, "half of it")
    wrong = judge.judge("theirs", "brier", ("brier", broken), VECTORS["brier"], 1e-9)
    assert wrong.verdict == judge.WRONG
    assert len(wrong.example["inputs"]["labels"]) == 1  # a single row is enough
    off = judge.judge("theirs", "total_entropy", ("h", lambda _: -1.0), VECTORS["total_entropy"], 1e-9)
    assert (off.verdict, len(off.example["inputs"]["members"])) == (judge.WRONG, 1)
    refused = judge.judge("theirs", "brier", ("brier", json.loads), VECTORS["brier"], 1e-9)
    assert refused.verdict == judge.REFUSED
    assert refused.reasons


def test_brute_force_is_independent() -> None:
    text = (FOLDER / "derive.py").read_text(encoding="utf-8")
    imported = {line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imported <= {"__future__", "math", "collections.abc", "fractions", "typing"}
