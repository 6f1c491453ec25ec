"""Runs of a board come in parts, stop in time, and are never of two states of the code."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

import board_runs

TASKS = [(name, [0, 1]) for name in "abcde"]


def doubled(name: str, seeds: list[int]) -> list[dict[str, Any]]:
    return [{"name": name, "seed": seed, "value": 2 * seed} for seed in seeds]


def asked(folder: Path, *arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    board_runs.add_arguments(parser, "x.jsonl", "x.md")
    return parser.parse_args(["--state", str(folder / "one.jsonl"), *arguments])


def test_parts_are_all_tasks_once() -> None:
    parts = [board_runs.part_of(TASKS, f"{at}/3") for at in range(3)]
    assert sorted(task for part in parts for task in part) == TASKS
    assert board_runs.part_of(TASKS, "1/3") == [TASKS[1], TASKS[4]]


def test_results_of_parts_add_up(tmp_path: Path) -> None:
    other = str(tmp_path / "two.jsonl")
    assert board_runs.run_tasks(doubled, TASKS[:2], asked(tmp_path), "code") == 0
    assert board_runs.run_tasks(doubled, TASKS[2:], asked(tmp_path, "--state", other), "code") == 0
    found = list(board_runs.results(asked(tmp_path, "--add", other), "code"))
    assert sorted({result["name"] for result in found}) == list("abcde")
    assert all(result["value"] == 2 * result["seed"] for result in found)
    assert len(found) == 10  # 5 tasks of 2 seeds


def test_no_task_begins_after_the_time(tmp_path: Path) -> None:
    assert board_runs.run_tasks(doubled, TASKS, asked(tmp_path, "--minutes", "0"), "code") == len(TASKS)


def test_results_of_other_code_are_refused(tmp_path: Path) -> None:
    board_runs.run_tasks(doubled, TASKS[:1], asked(tmp_path), "before")
    with pytest.raises(SystemExit, match="results of other code"):
        list(board_runs.results(asked(tmp_path), "after"))
    with pytest.raises(SystemExit, match="does not exist"):
        list(board_runs.results(asked(tmp_path, "--add", str(tmp_path / "nowhere")), "before"))


def test_half_a_line_of_an_interruption_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(json.dumps({"code": "code", "seed": 1}) + '\n{"code": "co')
    assert [result["seed"] for result in board_runs.results(asked(tmp_path), "code")] == [1]


def test_the_digest_changes_with_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_runs, "ROOT", tmp_path)
    (tmp_path / "one.py").write_text("1")
    before = board_runs.digest(["*.py"])
    assert before == board_runs.digest(["*.py", "o*.py"])
    (tmp_path / "one.py").write_text("2")
    assert board_runs.digest(["*.py"]) != before
