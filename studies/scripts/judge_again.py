"""Judge the results on record again by today's rules, without running anything.

python studies/scripts/judge_again.py          write the claims of every study that judges by its tables
python studies/scripts/judge_again.py --check  return 1 if a record was judged by other rules
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from credibly.results.base import jsonable
from credibly_studies import Claim, studies
from credibly_studies.results import claims_table

RESULTS = Path(__file__).resolve().parent.parent / "results"


def main(arguments: list[str]) -> int:
    """Write the claims into ``result.json`` and ``result.md``, or compare them."""
    stale = []
    for name, study in studies().items():
        path = RESULTS / name / "result.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        if study.judge is None:
            continue
        claims = study.designed(study.judge(record["tables"], getattr(study, record["size"])))
        if record["claims"] == jsonable(claims):
            continue
        stale.append(name)
        if arguments != ["--check"]:
            write(path, record, claims)
    if arguments == ["--check"] and stale:
        print(f"judged by other rules: {', '.join(stale)}", file=sys.stderr)
        return 1
    return 0


def write(path: Path, record: dict[str, object], claims: list[Claim]) -> None:
    """Replace the claims of a record; tables and figures stay."""
    path.write_text(json.dumps({**record, "claims": jsonable(claims)}, indent=1) + "\n", encoding="utf-8")
    page = path.with_name("result.md")
    _, mark, tables = page.read_text(encoding="utf-8").partition("\n\n**")
    page.write_text(claims_table(claims).markdown() + mark + tables, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
