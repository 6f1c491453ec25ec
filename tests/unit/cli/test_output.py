"""Tables for programs and for people."""

from __future__ import annotations

import json
import math

import pytest

from credibly.cli.output import Output, TextTable, exact, printable, rounded

TABLE = TextTable(
    ("name", "value", "interval"),
    [("a", 0.1 + 0.2, (0.25, 1 / 3)), ("b", None, None)],
    frozenset({"interval"}),
)


def test_tsv_has_one_header_two_columns_per_interval_and_full_precision() -> None:
    # 0.1 + 0.2 is 0.30000000000000004 in double precision, and repr is what reads back exactly
    assert TABLE.to_tsv().splitlines() == [
        "name\tvalue\tinterval_low\tinterval_high",
        "a\t0.30000000000000004\t0.25\t0.3333333333333333",
        "b\t\t\t",
    ]


def test_only_keeps_the_named_columns_in_their_order() -> None:
    assert TABLE.only(("interval", "name")).to_tsv().splitlines()[1] == "0.25\t0.3333333333333333\ta"


@pytest.mark.parametrize(
    ("cell", "text"), [(None, ""), (True, "true"), (7, "7"), (math.inf, "inf"), ("a\tb\nc", "a b c")]
)
def test_cells_for_programs(cell: object, text: str) -> None:
    assert exact(cell) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (0.123456, "0.1235"),
        ((-0.0, 0.0), "0 to 0"),
        ((0.011, 0.0623456), "0.011 to 0.06235"),
        (12345, "12345"),
    ],
)
def test_cells_for_people_have_four_digits(cell: object, text: str) -> None:
    assert rounded(cell) == text  # type: ignore[arg-type]


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert printable("red \x1b[31m\nline\x07") == r"red \x1b[31m line\x07"


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    Output().json({"value": math.nan, "limit": math.inf})
    assert json.loads(capsys.readouterr().out) == {"value": "NaN", "limit": "Infinity"}


def test_notes_are_said_once_on_stderr_and_not_at_all_when_quiet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Output().notes(["x", "y", "x"])
    Output(quiet=True).notes(["z"])
    assert capsys.readouterr() == ("", "note: x\nnote: y\n")
