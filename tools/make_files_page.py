"""Write docs/files.md: the table of all forms of files, made from the corpus that the tests read.

python tools/make_files_page.py           # writes the page
python tools/make_files_page.py --check   # exit 1 where the page is not what would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "files.md"

HEAD = """# Your own file

What every user would mean is read, and said in one line; what could mean two things is refused, with both
readings shown; no reading that changes a number is silent. `credibly inspect FILE` shows how a file is read
before anything is computed. The same table of roles serves files, data frames and Python: `evaluate(frame,
series)`, `evaluate("file.csv")` and `credibly evaluate file.csv` read alike.

- **Rows that carry names are joined by them**: ids in files, indexes in pandas; ids that differ are an
  error that counts them. An index that only counts rows (0, 1, 2, ...) is not a name, and never a label.
- **Classes that carry numbers are matched by number, those that carry names by name**, whatever the order
  of the columns.
- **A safety net**: where the accuracy is far below what the model states, and another order of the classes
  or labels a few rows off would explain it, the evaluation, the report and the command line say so first.
- **Nothing you have is overwritten**: no output may be a file that is read, and `--force` is needed to
  replace any other.
- The Brier score is the sum over all classes. For two classes it is twice what scikit-learn's
  `brier_score_loss` returns.

Formats: .npz, .npy, .csv, .tsv, .json, .jsonl, .parquet, .pt, .nc, .zarr, a pandas, polars or pyarrow
table, `-` for text on standard input, and URLs. Pickles are refused. The options below are keywords of
`load` and `inspect`, too.

Every row of this table is a small file that the tests write and read (`tests/unit/io/corpus.py`); this page
is made from them with `python tools/make_files_page.py`.
"""


def page() -> str:
    """Return the text of the page."""
    sys.path.insert(0, str(ROOT / "tests"))
    from unit.io.corpus import ROWS

    lines = [HEAD]
    for section in dict.fromkeys(row.section for row in ROWS):
        lines += [f"## {section}", "", "| the file holds | said | what happens |", "|---|---|---|"]
        for row in (one for one in ROWS if one.section == section):
            said = f"`{row.said}`" if row.said else ""
            words = row.refused.replace(".*", " ... ").replace("\\", "")
            happens = f"**refused**: {words}" if row.refused else f"read; {row.note}" if row.note else "read"
            lines.append(f"| {row.form} | {said} | {happens} |".replace("||", "| |"))
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Write the page, or compare it."""
    wanted = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
