"""Write docs/files.md: the table of all forms of files, made from the corpus that the tests read.

python tools/make_files_page.py           # writes the page
python tools/make_files_page.py --check   # exit 1 where the page is not what would be written
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import credibly

if TYPE_CHECKING:
    from unit.io.corpus import Row

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "files.md"

HEAD = """# Every form of file that is read

`credibly` reads a file that has one obvious meaning and says how it read it. It refuses a file that could
mean two things and shows both readings. Whenever a guess could change a number, you are told.
To write a file, start with [how to write my file](write-your-file.md); this page is for looking things up.
`credibly inspect FILE` shows how a file is read before anything is computed. Files, data frames and
arrays follow the same rules: `evaluate(frame, series)`, `evaluate("file.csv")` and
`credibly evaluate file.csv` give the same result.

- **Formats**: .npz, .npy, .csv, .tsv, .json, .jsonl (also compressed, .csv.gz), .parquet, .pt, .nc; pandas,
  polars and pyarrow tables; `-` for text on standard input; URLs. Pickles are refused, because
  opening one can run any program. [Logs of language models](language-models.md) have a page of their own.
- **Rows with names are joined by name**: ids in files, indexes in pandas. If the ids differ, an error says
  how many. An index that only counts rows (0, 1, 2, ...) is not a name, and never a label.
- **Classes with numbers are matched by number, classes with names by name**, whatever the order of the
  columns.
- **A safety net**: if the accuracy is far below what the model states, and another order of the classes or
  labels that are a few rows off would explain it, the evaluation, the report and the command line say so
  first.
- **Nothing is overwritten by accident**: an output file may never be an input file, and `--force` is needed
  to replace any other; only an earlier report gives way to a new one.

The tests write and read every form below; the last column shows the note or the message that it gets.
Messages name keywords of `load`; options of the command line have the same names (`ignore_label=-1` is
`--ignore-label -1`). Forms that share a row get the same answer.
"""


def page() -> str:
    """Return the text of the page: every form with the note or the message that its file really gets."""
    sys.path.insert(0, str(ROOT / "tests"))
    from unit.io.corpus import ROWS

    lines = [HEAD]
    for section in dict.fromkeys(row.section for row in ROWS):
        lines += [f"## {section}", "", "| the file contains | what happens |", "|---|---|"]
        alike: dict[tuple[str, str], list[Row]] = {}
        outcomes = {}
        for row in (form for form in ROWS if form.section == section):
            outcomes[row.form, row.said] = outcome(row)
            same = outcomes[row.form, row.said] if row.refused else row.note
            alike.setdefault((row.said, same), []).append(row)
        for (option, _), rows in alike.items():
            forms = "; ".join(row.form for row in rows) + (f", with `{option}`" if option else "")
            lines.append(f"| {forms} | {outcomes[rows[0].form, option]} |")
        lines.append("")
    return "\n".join(lines)


def outcome(row: Row) -> str:
    """Return the note or the message that the file of a row gets."""
    with tempfile.TemporaryDirectory() as folder:
        path, options = row.write(Path(folder))
        try:
            notes = credibly.load(path, **options).notes
        except credibly.CrediblyError as error:
            message = re.sub(r"^'[^']*': ", "", str(error)).replace(f"{folder}/", "")
            message = re.sub(r" To leave these rows out: .*$", "", message)
            text = f"**refused**: {' '.join(message.split())}"
        else:
            note = next((note for note in notes if row.note in note), "") if row.note else ""
            text = f"read; {note}" if note else "read"
    return re.sub(r"([|<])", r"\\\1", text)


def main() -> int:
    """Write the page, or compare it."""
    wanted = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
