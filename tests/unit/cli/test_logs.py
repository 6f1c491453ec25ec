"""The verbs of the command line on a log of answers with a confidence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from unit.cli.runs import FAST, Command

N = 240


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Answers that are 10 points too sure, four to a passage."""
    rng = np.random.default_rng(0)
    stated = rng.uniform(0.3, 0.9, N)
    right = rng.random(N) < stated - 0.1
    lines = [
        {"id": row, "passage": row // 4, "confidence": stated[row], "correct": bool(right[row])}
        for row in range(N)
    ]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_models_with_clusters_are_compared(credibly: Command, log: Path) -> None:
    other = log.with_name("other.jsonl")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    answers = [{**line, "confidence": 0.5} for line in lines]
    other.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    ran = credibly("compare", log, other)
    assert ran.code == 0, ran.err
    assert {row["model"] for row in ran.rows} == {"run", "other"}


def test_a_method_is_fitted_and_applied(credibly: Command, log: Path, tmp_path: Path) -> None:
    fitted = credibly("calibrate", "fit", log, tmp_path / "repair.json", "--method", "platt")
    assert fitted.code == 0, fitted.err
    assert credibly("calibrate", "apply", tmp_path / "repair.json", log, tmp_path / "out.npz").code == 0
    repaired = cr.load(tmp_path / "out.npz")
    assert isinstance(repaired.predictions, cr.Confidence)
    assert abs(float(cr.confidence_gap(repaired))) < 1e-3  # the intercept of a fit by likelihood


def test_a_method_of_members_is_refused_with_those_that_fit(credibly: Command, log: Path) -> None:
    ran = credibly("calibrate", "fit", log, log.with_name("repair.json"), "--method", "members")
    assert ran.code == 2
    assert "'temperature', 'bias', 'platt'" in ran.err


def test_the_monitor_and_the_score_do_not_flip_a_low_confidence(log: Path) -> None:
    data = cr.load(log)
    gap, accuracy = float(cr.confidence_gap(data)), float(cr.accuracy(data))
    monitor = cr.Monitor()
    monitor.update(data.predictions, data.labels)
    tracked = {one.name: one for one in monitor.tracked}
    assert tracked["confidence minus accuracy"].observed == pytest.approx(gap)
    assert tracked["accuracy"].observed == pytest.approx(accuracy)
    score = cr.epistemic_score(data.predictions, data.labels)
    assert np.mean(score.right) == pytest.approx(accuracy)


@pytest.mark.slow
def test_one_command_makes_the_report(credibly: Command, log: Path) -> None:
    ran = credibly("report", log, "--out", log.with_suffix(".html"), *FAST)
    assert ran.code == 0, ran.err
    page = log.with_suffix(".html").read_text(encoding="utf-8")
    assert "Overconfident: it says " in page


def test_short_lists_are_repaired_as_answers(credibly: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(4), N)
    labels = np.array([rng.choice(4, p=0.6 * row + 0.1) for row in probs])  # too sure
    lines = []
    for row, label in zip(probs, labels, strict=True):
        known = [float(np.log(p)) if p >= np.sort(row)[2] else None for p in row]
        lines.append({"options": [*"wxyz"], "answer": int(label), "logprobs": known})
    path = tmp_path / "lists.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    fitted = credibly("calibrate", "fit", path, tmp_path / "repair.json", "--method", "platt")
    assert fitted.code == 0, fitted.err
    assert credibly("calibrate", "apply", tmp_path / "repair.json", path, tmp_path / "out.npz").code == 0
    repaired = cr.load(tmp_path / "out.npz")
    assert isinstance(repaired.predictions, cr.Confidence)
    assert np.asarray(repaired.labels).tolist() == (probs.argmax(axis=1) == labels).astype(int).tolist()
    assert abs(float(cr.confidence_gap(repaired))) < 1e-3
    assert credibly("calibrate", "compare", path, "--method", "platt").code == 0


def test_intervals_without_lists_are_not_repaired(credibly: Command, tmp_path: Path) -> None:
    path = tmp_path / "sets.npz"
    np.savez(path, lower=np.full((9, 2), 0.3), upper=np.full((9, 2), 0.7), y=np.arange(9) % 2)
    ran = credibly("calibrate", "fit", path, tmp_path / "repair.json", "--method", "platt")
    assert ran.code == 2
    assert "got Intervals. Use the mean prediction" in ran.err


def test_files_of_one_model_are_evaluated_by_a_column(credibly: Command, log: Path) -> None:
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["subject"] = "law" if line["id"] < 90 else "art"
        del line["passage"]
    for name, part in {"all": lines, "part-1": lines[:90], "part-2": lines[90:]}.items():
        text = "\n".join(map(json.dumps, part))
        log.with_name(f"{name}.jsonl").write_text(text, encoding="utf-8")
    whole = credibly("evaluate", log.with_name("all.jsonl"), "--by", "subject", *FAST)
    parts = credibly("evaluate", log.with_name("part-*.jsonl"), "--by", "subject", *FAST)
    assert parts.code == 0, parts.err
    gaps = [
        {row["group"]: float(row["value"]) for row in ran.rows if row["statistic"] == "confidence_gap"}
        for ran in (whole, parts)
    ]
    assert set(gaps[0]) == {"", "law", "art"}
    assert gaps[1] == pytest.approx(gaps[0])
