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

A file with one obvious meaning is read, and a line says how; a file that could mean two things is refused,
with both readings shown; no interpretation that changes a number is silent. `credibly inspect FILE` shows how
a file is read before anything is computed. The same rules apply to files, data frames and Python:
`evaluate(frame, series)`, `evaluate("file.csv")` and `credibly evaluate file.csv` give the same result.

- **Rows with names are joined by name**: ids in files, indexes in pandas. If the ids differ, an error says
  how many. An index that only counts rows (0, 1, 2, ...) is not a name, and never a label.
- **Classes with numbers are matched by number, classes with names by name**, whatever the order of the
  columns.
- **A safety net**: if the accuracy is far below what the model states, and another order of the classes or
  labels that are a few rows off would explain it, the evaluation, the report and the command line say so
  first.
- **Nothing is overwritten by accident**: an output file may never be an input file, and `--force` is needed
  to replace any other; only an earlier report gives way to a new one.
- The Brier score is the sum over all classes. For two classes it is twice what scikit-learn's
  `brier_score_loss` returns.

Formats: .npz, .npy, .csv, .tsv, .json, .jsonl (also .csv.gz), .parquet, .pt, .nc, pandas, polars or
pyarrow tables, `-` for text on standard input, and URLs. Pickles are refused. The options below are also
keywords of `load` and `inspect`.

Every row of this table is a small file that the tests write and read (`tests/unit/io/corpus.py`); this page
is generated from them with `python tools/make_files_page.py`.
"""


def page() -> str:
    """Return the text of the page."""
    sys.path.insert(0, str(ROOT / "tests"))
    from unit.io.corpus import ROWS

    lines = [HEAD]
    for section in dict.fromkeys(row.section for row in ROWS):
        lines += [f"## {section}", "", "| the file contains | option | what happens |", "|---|---|---|"]
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
