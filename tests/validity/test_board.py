"""A small copy of the validity board, and the census: no public test or interval without rows."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly_studies import simulate
from kinds import CLASS_STATISTICS, REAL_STATISTICS
from surface import public_objects
from validity import report
from validity.board import ELSEWHERE, ROWS
from validity.report import Row

SMALL = [row for row in ROWS if row.few and row.truth != "alternative"]
"""What has bounds: a power is only shown."""

CHANCE = ("pvalue", "pvalues", "omnibus_pvalue", "interval", "band")


def record(row: Row, runs: int) -> dict[str, Any]:
    found = [dict(row.run(seed)) for seed in range(runs)]
    values = {name: [one[name] for one in found] for name in found[0]}
    return {"row": row.key, "seeds": list(range(runs)), "seconds": 0.0, "values": values}


@pytest.mark.validity
@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.key)
def test_a_small_copy_is_within_its_bounds(row: Row) -> None:
    runs = min(row.few, 2) if row.truth == "null" else row.few  # two p-values of at most 1 % are beyond
    found = report.lines([row], {row.key: [record(row, runs)]})
    assert found
    for line in found:
        assert not line.verdict, (line.setting, line.values)
        assert row.truth == "interval" or ((line.values > 0) & (line.values <= 1)).all()


def test_rows_have_names_of_their_own() -> None:
    assert len({row.key for row in ROWS}) == len(ROWS)


def test_every_test_is_in_the_small_copy() -> None:
    assert {row.test for row in SMALL} == {row.test for row in ROWS}


def tells_of_chance(result: Any, depth: int = 0) -> bool:
    """Whether a result, or a part of it, has p-values or intervals."""
    if not isinstance(result, type):
        parts = (typing.get_origin(result), *typing.get_args(result))
        return any(tells_of_chance(part, depth) for part in parts if part is not None)
    if any(name in getattr(result, "__dataclass_fields__", {}) or hasattr(result, name) for name in CHANCE):
        return True
    if depth == 3 or not dataclasses.is_dataclass(result):
        return any(tells_of_chance(part, depth) for part in typing.get_args(result))
    hints = typing.get_type_hints(result).values()
    return any(tells_of_chance(part, depth + 1) for part in hints)


def public_tests() -> set[str]:
    return {
        one.__name__
        for _, one in (*public_objects(cr), *public_objects(simulate))
        if inspect.isfunction(one) and tells_of_chance(typing.get_type_hints(one).get("return"))
    }


def test_every_public_test_and_interval_has_rows() -> None:
    found = public_tests()
    assert {"calibration_test", "credal_test", "decompose_loss", "reliability_curve"} <= found
    assert found - {row.test for row in ROWS} == set(ELSEWHERE)


@pytest.mark.parametrize(
    "name",
    [
        "calibration_test",
        "credal_test",
        "weights_test",
        "witness_test",
        "predictive_check",
        "pit_test",
        "inflate",
    ],
)
def test_tests_have_rows_of_both_hypotheses(name: str) -> None:
    assert {row.truth for row in ROWS if row.test == name} == {"null", "alternative"}


def test_every_statistic_has_a_row() -> None:
    """Those of classes and of real values are tested at once; each that labels change must be among them."""
    rows = {row.world: row for row in ROWS if row.test == "calibration_test"}
    assert set(rows["calibrated"].run(0)) == {*CLASS_STATISTICS, "omnibus"}
    tested = {*REAL_STATISTICS, "omnibus"} - {"sharpness"}
    assert set(rows["calibrated Gaussians, n = 100"].run(0)) == tested


@pytest.mark.parametrize("digits", [2, 3, 4, 6])
def test_rounded_predictions_are_in_every_table_of_classes(digits: int) -> None:
    tests = {row.test for row in ROWS if f"rounded to {digits} digits" in row.world}
    assert tests == {"calibration_test", "predictive_check", "weights_test", "witness_test"}


def line(truth: str, values: list[float], **settings: Any) -> report.Line:
    row = Row("calibration_test", "a world", truth, lambda seed: {}, **settings)
    return report.Line(row, "a setting", np.array(values), 0.5)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (line("null", [0.001] * 8 + [0.5] * 92), "size too large at 0.01"),
        (line("null", list(np.arange(1, 101) / 100)), ""),
        (line("null", [0.9] * 200), "size too small at 0.05"),
        (line("null", [0.9] * 200, conservative=True), ""),
        (line("null", [0.9] * 200, conservative=frozenset({"a setting"})), ""),
        (line("alternative", [0.9] * 100), ""),
        (line("interval", [1.0] * 80 + [0.0] * 20), "coverage too low"),
        (line("interval", [1.0] * 400), "coverage too high"),
        (line("interval", [1.0] * 95 + [0.0] * 5 + [np.nan] * 50), ""),
        (line("interval", [np.nan] * 50), ""),
    ],
)
def test_verdicts_follow_from_binomial_bounds(found: report.Line, verdict: str) -> None:
    assert found.verdict == verdict


def test_the_page_marks_what_is_wrong_and_counts_refusals() -> None:
    lines = [line("null", [0.001] * 100), line("interval", [1.0] * 95 + [0.0] * 5 + [np.nan] * 9)]
    page = report.page(lines, ELSEWHERE, 300)
    assert "The seeds of a world are 300 and those that follow." in " ".join(page.split())
    assert "| `calibration_test` | 1 | 2 | **1.000** |  | 0.950 | size too large at 0.01 |" in page
    assert "2 lines; 1 reject too often or hold too rarely, and 0 the other way." in page
    assert "`evaluate`" in page
    heading, tested, held = report.table(lines).splitlines()
    assert heading == ",".join(report.COLUMNS)
    assert tested == "calibration_test,a setting,a world,1.000,1.000,1.000,,,,100,0.5,size too large at 0.01"
    assert held == "calibration_test,a setting,a world,,,,,0.950,9,109,0.5,"


def test_a_row_of_the_page_has_the_range_of_its_lines() -> None:
    lines = [line("null", [0.04] * bad + [0.5] * (100 - bad)) for bad in (2, 4, 8)]
    assert "| `calibration_test` | 1 | 3 | 0.040 (0.020 to 0.080) |  |  |" in report.page(lines, {}, 0)


def test_tasks_of_a_row_are_joined_in_the_order_of_their_seeds() -> None:
    row = ROWS[0]
    tasks = [
        {"seeds": [2], "seconds": 3.0, "values": {"brier": [0.3]}},
        {"seeds": [0, 1], "seconds": 3.0, "values": {"brier": [0.1, 0.2]}},
    ]
    (found,) = report.lines([row], {row.key: tasks})
    assert found.values.tolist() == [0.1, 0.2, 0.3]
    assert found.seconds == 2.0
