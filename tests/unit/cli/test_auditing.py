"""`credibly audit` for programs: all groups as TSV, JSON, exit codes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from unit.cli.runs import FAST, Command


def write(path: Path, shift: float = 0.4, n: int = 400) -> Path:
    """Patients with age, sex and site; women are sick more often than predicted."""
    rng = np.random.default_rng(4)
    p = rng.random(n).round(4)
    sex, age = rng.choice(["F", "M"], n), rng.integers(20, 90, n)
    labels = (rng.random(n) < np.clip(p + shift * (sex == "F"), 0, 1)).astype(int)
    rows = zip(sex, age, np.arange(n) // 4, 1 - p, p, labels, strict=True)
    lines = [f"{s},{a},{c},{q:.4f},{r:.4f},{y}" for s, a, c, q, r, y in rows]
    path.write_text("\n".join(["sex,age,patient,p_0,p_1,y", *lines]) + "\n")
    return path


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    return write(tmp_path / "patients.csv")


def test_numbers_are_those_of_the_library(credibly: Command, patients: Path) -> None:
    ran = credibly("audit", patients, "--by", "age,sex", *FAST, "--seed", 3)
    assert ran.code == 0
    expected = cr.audit(cr.load(patients, groups=["age", "sex"]), n_resamples=99, rng=3)
    assert [row["group"] for row in ran.rows] == [group.group for group in expected.groups]
    for row, result in zip(ran.rows, expected.groups, strict=True):
        assert float(row["effect"]) == result.effect
        assert float(row["interval_low"]) == result.low
        assert float(row["adjusted_pvalue"]) == result.adjusted_pvalue
        assert (row["verdict"], row["explained_by"]) == (result.verdict, result.explained_by or "")
    assert "age is split at its quantiles" in ran.err


def test_a_conflict_fails_where_asked(credibly: Command, patients: Path, tmp_path: Path) -> None:
    words = ("--by", "sex", *FAST, "--fail-on", "conflict", "--quiet")
    assert credibly("audit", patients, *words).code == 1
    assert credibly("audit", write(tmp_path / "calm.csv", shift=0.0), *words).code == 0
    record = json.loads(credibly("audit", patients, *words, "--json").out)
    assert (record["type"], record["verdict"]) == ("AuditResult", "conflict")
    assert record["groups"][0]["group"] == "sex F"


def test_clusters_are_a_column(credibly: Command, patients: Path) -> None:
    ran = credibly("audit", patients, "--by", "sex", "--clusters", "patient", *FAST, "--json")
    assert json.loads(ran.out)["n_clusters"] == 100


def test_groups_of_the_file_need_no_names(credibly: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    probs, path = rng.dirichlet(np.ones(3), 90), tmp_path / "grouped.npz"
    np.savez(path, probs=probs, y=rng.integers(3, size=90), group=np.arange(90) % 2)
    assert {row["group"] for row in credibly("audit", path, *FAST).rows} == {"all rows", "group 0", "group 1"}
    streamed = credibly("audit", path, *FAST, "--stream")
    assert streamed.rows == credibly("audit", path, *FAST).rows


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--by", "sexx"), "`--by` must name columns or arrays of the file"),
        (("--by", "sexx"), "Did you mean 'sex'?"),
        ((), "`--by` must be given unless the rows include them"),
        ((), "Name columns: `--by age,sex`."),
        (("--by", "sex", "--hypothesis", "set"), "needs predictions that are sets"),
    ],
)
def test_what_does_not_fit_is_refused(
    credibly: Command, patients: Path, words: tuple[str, ...], told: str
) -> None:
    ran = credibly("audit", patients, *words, *FAST)
    assert ran.code == 2
    assert told in ran.err


def test_evaluations_and_reports_audit_the_same_groups(
    credibly: Command, patients: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    words = ("--by", "sex,age", "--statistic", "brier", *FAST)
    ran = credibly("report", patients, *words, "--out", page, "--fail-on", "conflict")
    assert ran.code == 1
    assert "Miscalibrated for some groups" in ran.out
    text = page.read_text()
    assert "Does this hold for every group?" in text
    assert "--by sex,age" in text  # the command that makes it again
    rows = credibly("evaluate", patients, *words).rows
    assert {row["group"].partition(" / ")[0] for row in rows} == {"", "F", "M"}  # all, then crossed


def test_files_of_a_pattern_are_audited_as_one(credibly: Command, patients: Path, tmp_path: Path) -> None:
    header, *lines = patients.read_text().splitlines()
    for number, part in enumerate((lines[:150], lines[150:])):
        (tmp_path / f"part{number}.csv").write_text("\n".join([header, *part]) + "\n")
    words = ("--by", "age,sex", "--clusters", "patient", *FAST)
    whole = credibly("audit", patients, *words)
    parts = credibly("audit", tmp_path / "part*.csv", *words)
    assert (parts.code, parts.out) == (0, whole.out)
    assert (
        credibly("audit", patients, "--by", "age,sex", "--clusters", "patient", "--stream", *FAST).out
        == whole.out
    )


def test_what_rows_share_may_be_a_group(credibly: Command, patients: Path) -> None:
    ran = credibly("audit", patients, "--by", "patient", "--clusters", "patient", *FAST)
    assert ran.code == 0
    assert any(row["group"].startswith("patient 0 to") for row in ran.rows)


@pytest.mark.parametrize(
    ("by", "message"),
    [("age,age", "must name each column once; got 'age' twice"), ("y", "'y' holds the labels")],
)
def test_refused_columns(credibly: Command, patients: Path, by: str, message: str) -> None:
    ran = credibly("audit", patients, "--by", by)
    assert ran.code == 2
    assert message in ran.err
