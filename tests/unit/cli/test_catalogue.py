"""`credibly list` for programs."""

from __future__ import annotations

import inspect
import json
from typing import Any

import credibly as cr
from credibly.cli import catalogue
from surface import public_objects
from unit.cli.runs import Command


def test_list_has_one_row_per_registered_statistic(credibly: Command) -> None:
    ran = credibly("list")
    assert (ran.code, ran.err) == (0, "")
    rows = {row["name"]: row for row in ran.rows}
    assert [name for name, row in rows.items() if row["kind"] == "statistic"] == list(
        cr.statistics.registered()
    )
    for name, statistic in cr.statistics.registered().items():
        assert rows[name]["tail"] == statistic.traits.tail
        assert rows[name]["labels"] == ", ".join(sorted(statistic.traits.labels))
        assert rows[name]["reference"] == statistic.reference
        assert rows[name]["summary"] == statistic.story.meaning


def test_list_has_the_tests_with_their_references(credibly: Command) -> None:
    tests = {entry["name"]: entry for entry in _entries(credibly) if entry["kind"] == "test"}
    assert {name: test["labels"] for name, test in tests.items()} == {
        "calibration_test": ["array (n,)"],
        "credal_test": ["array (n,) or LabelCounts"],
        "joint_test": ["array (n, d)"],
        "pit_test": ["array (n,)"],
        "predictive_check": ["array (n,) or LabelCounts"],
        "rater_test": ["LabelCounts"],
        "replicate_test": ["array (n,)"],
        "spread_test": ["LabelCounts"],
        "validity_test": ["LabelCounts or array (n, k) of int"],
        "weights_test": ["array (n,) or LabelCounts"],
        "witness_test": ["array (n,) or LabelCounts"],
    }
    assert "Vaicenavicius et al." in tests["calibration_test"]["reference"]
    assert "Harrison" in tests["validity_test"]["reference"]
    assert tests["calibration_test"]["settings"]["n_resamples"] == 999


def test_list_has_the_measures_of_sets_scores_and_decompositions(credibly: Command) -> None:
    measures = {entry["name"]: entry for entry in _entries(credibly) if entry["kind"] == "measure"}
    rooms = {
        "upper_entropy": "credal",
        "nonspecificity": "credal",
        "size": "credal",
        "distance": "credal",
        "lower_probability": "credal",
        "uncertainty": "credal",
        "decompose_loss": "raters",
        "decompose_brier": "statistics",
        "epistemic_score": "selection",
        "reliability_curve": "hypotests",
    }
    assert {name: measures[name]["room"] for name in rooms} == rooms
    assert "Meyerowitz" in measures["upper_entropy"]["reference"]
    assert measures["nonspecificity"]["settings"]["measure"] == "hartley"
    assert measures["upper_entropy"]["labels"] == []  # a set has an entropy before anything is observed


def test_every_public_function_that_computes_from_predictions_is_listed_with_a_reference(
    credibly: Command,
) -> None:
    entries = {entry["name"]: entry for entry in _entries(credibly)}
    makers = {
        "load",
        "mean_over",  # of the measures that are listed
        "rank_scores",  # of scores that are listed
        "rater_statistic",
        "rights",  # a table about statistics
        "statistic",
    }
    rooms = set(catalogue.ROOMS)
    functions = {
        one.__name__
        for _, one in public_objects(cr)
        if inspect.isfunction(one) and one.__module__.split(".")[1] in rooms
    }
    assert functions - set(entries) == makers
    assert [name for name, entry in entries.items() if not entry["reference"].strip("- ")] == []
    assert [name for name, entry in entries.items() if not entry["summary"]] == []


def _entries(credibly: Command) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(credibly("list", "--json").out)["entries"]
    return entries
