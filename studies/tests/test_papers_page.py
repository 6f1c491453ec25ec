"""The page "The papers, equation by equation" names studies that exist, and all numbered equations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import credibly as cr
from credibly_studies import studies
from credibly_studies.p21 import quantile_error

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
SECTIONS = {part.partition(":")[0]: part for part in PAGE.split("\n## ")[1:]}
EQUATIONS = {"M23": 12, "J25": 16, "C25": 20, "D21": 53}


def test_studies_of_the_page_exist() -> None:
    assert set(re.findall(r"\b[mjcdp]2[135]-[a-z0-9]+\b", PAGE)) <= set(studies())


@pytest.mark.parametrize("paper", EQUATIONS)
def test_every_equation_has_a_row(paper: str) -> None:
    """Places such as "eq. 24, 25" and "eq. 10 to 12" are read from the first column."""
    found: set[int] = set()
    for row in re.findall(r"^\| ([^|]*)\|", SECTIONS[paper], re.MULTILINE):
        for part in re.findall(r"eq\. ([\d, to]+)", row):
            for low, high in re.findall(r"(\d+)(?: to (\d+))?", part):
                found |= set(range(int(low), int(high or low) + 1))
    assert found >= set(range(1, EQUATIONS[paper] + 1))


def test_the_printed_error_of_quantiles_needs_a_label_per_row() -> None:
    with pytest.raises(cr.InputError):
        quantile_error([[0.0, 1.0], [0.0, 2.0]], [1.0])
    with pytest.raises(cr.InputError, match="levels"):
        quantile_error([[0.0, 1.0]], [1.0], levels=0)
