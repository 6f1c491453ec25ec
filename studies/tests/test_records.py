"""The results on record are those of today's studies, and the page of claims is made from them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from credibly.results.base import jsonable
from credibly_studies import Claim, studies
from credibly_studies.ledger import entries

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_pages_are_what_the_results_give() -> None:
    command = [sys.executable, "tools/make_learned_page.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def recorded_claims(paper: str) -> list[Claim]:
    folder = ROOT / "studies" / "results"
    records = [
        json.loads((folder / name / "result.json").read_text(encoding="utf-8"))
        for name in studies()
        if name.startswith(paper.lower())
    ]
    return [Claim(**claim) for record in records for claim in record["claims"]]


@pytest.mark.parametrize("paper", ["M23", "J25", "C25", "D21", "P21"])
def test_the_counts_on_the_page_are_those_of_the_records(paper: str) -> None:
    text = (ROOT / "docs" / "studies" / "what-we-learned.md").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {paper} |")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    claims = [claim for claim in recorded_claims(paper) if not claim.further]
    named = {(claim.place, claim.statement) for claim in claims}
    tested = {(claim.place, claim.statement) for claim in claims if claim.outcome}
    assert cells[1:3] == [str(len(named)), str(len(tested))]
    printed = {(claim.place, claim.statement): claim.by_print for claim in claims if claim.by_print}
    counts = [list(printed.values()).count(name) for name in ("confirmed", "not confirmed", "cannot tell")]
    assert cells[3] == " / ".join(map(str, counts))


def test_the_page_is_short_and_begins_with_five_lessons() -> None:
    text = (ROOT / "docs" / "studies" / "what-we-learned.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 2500
    lessons, counts = text.index("## Five lessons"), text.index("## How many claims hold up")
    assert lessons < counts
    assert text[lessons:counts].count("\n**") == 5
    for paper in ("m23", "j25", "c25", "d21", "p21"):
        assert f"studies/pages/{paper}-claims.md" in text


def test_one_row_per_claim() -> None:
    for paper in ("M23", "J25", "C25", "D21", "P21"):
        rows = entries(recorded_claims(paper))  # refuses two verdicts on the same printed numbers
        assert len({(row.place, row.statement) for row in rows}) == len(rows)
        assert all(row.place.startswith(paper) for row in rows)
        # every row says something, and no outcome stands without an experiment
        assert all(row.by_print or row.tested for row in rows)
    m23 = [row for row in entries(recorded_claims("M23")) if not row.further]
    assert len(m23) <= 21  # what the text says about Fig. 1 alone is not repeated for Figs. 2 to 4


def test_records_are_judged_by_todays_rules() -> None:
    command = [sys.executable, "studies/scripts/judge_again.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_every_study_has_its_results_on_record_at_full_size() -> None:
    folder = ROOT / "studies" / "results"
    recorded = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*/result.json")]
    assert {(one["name"], one["size"]) for one in recorded} == {(name, "full") for name in studies()}
    for one in recorded:  # at the size that the command would run now
        assert one["settings"]["size"] == jsonable(studies()[one["name"]].full), one["name"]
