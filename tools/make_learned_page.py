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
from credibly_studies.results import Cell, Outcome, claims_table, size_in_words

STUDIES = Path(__file__).resolve().parent.parent / "docs" / "studies"

HEAD = """# What we learned

Every claim of the five papers that a study here checked. Each row quotes where the paper says it and what it
prints. Three columns judge it:

- **by its own numbers**: what the paper's printed numbers make of the claim, where it prints any that decide;
- **our design**: whose experiment "found here" is. *As printed*: the paper's settings and sizes; *smaller*:
  the same with fewer data sets or less training; *another*: other models or data that ask the same question;
  *printed numbers*: no experiment, the paper's own numbers were computed with;
- **outcome**: what "found here" makes of the claim. *Cannot tell* means that the numbers allow either.

Words such as S1, H0,1 or CE_2 are the papers' own; the page of each paper explains them. This page is made by
`tools/make_learned_page.py` from `docs/studies/results`.
"""

PAPERS = {
    "M23": """Mortier et al., *On the calibration of probabilistic classifier sets*; [its studies](m23.md).

- Of its errors only ECE_conf gives a test that keeps the level and has power in both alternatives.
- Bootstrapped instances make ECE_cwise reject perfect predictors with many classes: 20 of the 25 rejections
  of sets that Table 1 prints for it are of such data sets.
- Weights that minimise an error cost accuracy, in print and here.
""",
    "J25": """Juergens et al., *A calibration test for evaluating set-based epistemic uncertainty
representations*; [its studies](j25.md).

- The power that is printed close to the set is more than any test can have: the test that knows truth and
  boundary has less. The printed test rejects on the boundary, where the hypothesis is true.
- In the multiclass worlds the plain mean is calibrated by construction, so a test that learns nothing keeps
  its level there.
- With 100 classes and bootstrapped instances CE_2 rejects perfect predictors. The printed decisions for the
  mean and for learned weights are the same in all 24 rows.
""",
    "C25": """Manchingal et al., *A unified evaluation framework for epistemic predictions*;
[its studies](c25.md).

- Where predictions are public (three kinds of points, RS-NN, EDL) the library gives the printed digits.
- The tables agree with each other but for some misprints, and deny several sentences about who ranks first.
- For labels no vertices are needed: the distance is -ln of the label's plausibility.
""",
    "D21": """Mimori et al., *Diagnostic uncertainty calibration*; [its studies](d21.md).

- Debiased losses behave as printed, and so does the spread of eq. 52's numerals.
- alpha-calibration improves the predicted disagreement once the mean is calibrated; alone it makes
  overconfident predictions worse.
- Table 2 is consistent in itself, and denies that scaling improves the calibration loss everywhere.
""",
    "P21": """Gopal, *Why calibration error is wrong given model uncertainty*; [its studies](p21.md).

- What a model is read as decides: as one function per mask MC dropout passes nearly all checks of its
  calibration error here and most in print, row by row few of them.
- Trust in bad models, the other half of the claim, is in the printed tables and hardly here.
- With few members the check rejects models that are right, unless the truth counts as one more member.
""",
}
"""What heads the claims of each paper: who, where, and what is worth knowing first."""


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
    """Return the page: sums of outcomes, and per paper what is worth knowing and a table of claims."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*/result.json")]
    order = list(studies())
    found.sort(key=lambda result: order.index(result["name"]))
    claims = [Claim(**claim) for result in found for claim in result["claims"]]
    parts = [HEAD, _sums(claims)]
    for key, head in PAPERS.items():
        own = [claim for claim in claims if _paper(claim) == key]
        parts.append(f"## {key}\n\n{head}\n{claims_table(own).markdown()}\n")
    parts.append(f"## Sizes of the studies\n\n{_sources(found)}")
    return "\n".join(parts)


def _paper(claim: Claim) -> str:
    """Return the paper's key, which a place begins with: one section per paper."""
    return claim.place[:3]


def _sums(claims: list[Claim]) -> str:
    """Return how many claims of each paper became what."""
    outcomes: tuple[Outcome, ...] = ("confirmed", "not confirmed", "cannot tell")
    rows: list[tuple[Cell, ...]] = []
    for key in PAPERS:
        counts = Counter(claim.outcome for claim in claims if _paper(claim) == key)
        rows.append((key, *(counts[outcome] for outcome in outcomes), counts.total()))
    counts = Counter(claim.outcome for claim in claims)
    rows.append(("all", *(counts[outcome] for outcome in outcomes), counts.total()))
    return StudyTable("sums", "", ("paper", *outcomes, "claims"), rows).markdown() + "\n"


def _sources(found: list[dict[str, Any]]) -> str:
    columns = ("study", "what", "size", "numbers of the size")
    rows = [
        (f"`{one['name']}`", one["reference"], one["size"], size_in_words(one["settings"]["size"]))
        for one in found
    ]
    return StudyTable("sources", "", columns, rows).markdown() + "\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
