"""Write docs/rights.md: which statistic takes what, read off the statistics.

python tools/make_rights_page.py           # writes the page
python tools/make_rights_page.py --check   # exit 1 if the page is not what would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

from credibly.statistics import registered
from credibly.statistics.rights import RIGHTS, rights

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rights.md"

HEAD = """# Which statistic takes what

This table says which data every statistic accepts and what it gives. It was made by trying each on a few
rows of every kind of predictions. The same table answers in code, `cr.statistics.rights("brier")`, and
refusals name the statistics that have the right.

- **weights**: `sample_weight=`; **label counts**: several raters per instance, `LabelCounts`.
- **tests**: labels can be drawn for it, so `calibration_test` and `predictive_check` take it; **clusters**:
  also for rows that belong together. Of Gaussian mixtures of several members, `crps`, `mae`,
  `gaussian_log_loss` and `interval_score` cannot be tested with clusters.
- **groups**: `evaluate(groups=)` computes it within every group; **chunks**: rows larger than memory.
- **gradients**: differentiable in the predictions under torch; **interval**: the value has a standard error.

Every statistic runs on NumPy and torch, on the CPU and on CUDA. A statistic that you write as terms and a
value has these rights without further code.
"""


def page() -> str:
    """Return the text of the page."""
    columns = ("statistic", "predictions", *RIGHTS)
    lines = [HEAD, f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name in registered():
        for kind, granted in rights(name).items():
            marks = " | ".join("yes" if granted[right] else "" for right in RIGHTS)
            lines.append(f"| `{name}` | {kind} | {marks} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
