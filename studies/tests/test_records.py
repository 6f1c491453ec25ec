"""The results on record are those of today's studies, and the page of claims is made from them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from credibly.results.base import jsonable
from credibly_studies import studies

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_page_of_claims_is_what_the_results_give() -> None:
    command = [sys.executable, "tools/make_learned_page.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_every_study_has_its_results_on_record_at_full_size() -> None:
    folder = ROOT / "studies" / "results"
    recorded = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*/result.json")]
    assert {(one["name"], one["size"]) for one in recorded} == {(name, "full") for name in studies()}
    for one in recorded:  # at the size that the command would run now
        assert one["settings"]["size"] == jsonable(studies()[one["name"]].full), one["name"]
