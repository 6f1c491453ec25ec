"""Make docs/studies/what-we-learned.md: every claim of a paper that a study checked, from the results.

python tools/make_learned_page.py          write the page
python tools/make_learned_page.py --check  return 1 where the page is not what the results give
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from credibly_studies import Claim, StudyTable, studies
from credibly_studies.results import claims_table, size_in_words

STUDIES = Path(__file__).resolve().parent.parent / "docs" / "studies"

HEAD = """# What we learned

Every claim of the five papers that a study here checked, with its place, the paper's number and ours. "By its
own numbers" says what the paper's printed numbers make of the claim, "our design" whether our experiment is
the printed one, a smaller one of the same kind or another, "outcome" what our numbers make of it, at the size
named; the pages of the papers say how. This page is made by `tools/make_learned_page.py` from
`docs/studies/results`.
"""


def main(arguments: list[str]) -> int:
    """Write the page, or compare it with the one that is there."""
    page = STUDIES / "what-we-learned.md"
    text = learned(STUDIES / "results")
    if arguments == ["--check"]:
        if page.read_text(encoding="utf-8") == text:
            return 0
        print(f"{page} is not what the results give: run tools/make_learned_page.py", file=sys.stderr)
        return 1
    page.write_text(text, encoding="utf-8")
    return 0


def learned(folder: Path) -> str:
    """Return the page: one table per paper, and the sum of outcomes."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*/result.json")]
    order = list(studies())
    found.sort(key=lambda result: order.index(result["name"]))
    claims = [Claim(**claim) for result in found for claim in result["claims"]]
    counts = Counter(claim.outcome for claim in claims)
    parts = [HEAD, _sum_of(counts), _sources(found)]
    for paper in dict.fromkeys(map(_paper, claims)):
        own = [claim for claim in claims if _paper(claim) == paper]
        parts.append(f"## {paper}\n\n{claims_table(own).markdown()}\n")
    return "\n".join(parts)


def _paper(claim: Claim) -> str:
    """Return the paper's key, which a place begins with: one section per paper."""
    return claim.place[:3]


def _sum_of(counts: Counter[str]) -> str:
    words = ", ".join(
        f"{counts[outcome]} {outcome}" for outcome in ("confirmed", "not confirmed", "cannot tell")
    )
    return f"Of {counts.total()} claims: {words}.\n"


def _sources(found: list[dict[str, Any]]) -> str:
    columns = ("study", "what", "size", "numbers of the size")
    rows = [
        (f"`{one['name']}`", one["reference"], one["size"], size_in_words(one["settings"]["size"]))
        for one in found
    ]
    return StudyTable("sources", "", columns, rows).markdown() + "\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
