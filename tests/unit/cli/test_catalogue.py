"""`credibly list` for programs."""

from __future__ import annotations

import json

import credibly as cr
from unit.cli.runs import Command


def test_list_has_one_row_per_registered_statistic(credibly: Command) -> None:
    ran = credibly("list")
    assert (ran.code, ran.err) == (0, "")
    rows = {row["name"]: row for row in ran.rows}
    assert [name for name, row in rows.items() if row["kind"] == "statistic"] == list(cr.registered())
    for name, statistic in cr.registered().items():
        assert rows[name]["tail"] == statistic.traits.tail
        assert rows[name]["labels"] == ", ".join(sorted(statistic.traits.labels))
        assert rows[name]["reference"] == statistic.reference
        assert rows[name]["summary"]


def test_list_has_the_tests_with_their_references(credibly: Command) -> None:
    entries = json.loads(credibly("list", "--json").out)["entries"]
    tests = {entry["name"]: entry for entry in entries if entry["kind"] == "test"}
    assert {name: test["labels"] for name, test in tests.items()} == {
        "calibration_test": ["classes", "reals"],
        "credal_test": ["classes"],
        "predictive_check": ["classes", "reals"],
        "validity_test": ["counts"],
        "pit_test": ["reals"],
        "observation_check": ["reals"],
    }
    assert all(entry["reference"] for entry in tests.values())
    assert "Vaicenavicius et al." in tests["calibration_test"]["reference"]
    assert "Harrison" in tests["validity_test"]["reference"]
    assert tests["calibration_test"]["settings"]["n_resamples"] == 999
