"""The validity board: every public test and every interval, in worlds whose truth is known.

To add a world, write a function from a seed to predictions and labels, and a row beside those of its test in
`single_rows`, `member_rows`, `group_rows`, `set_rows`, `list_rows`, `interval_rows`, `comparison_rows`,
`cluster_rows`, `ignorance_rows` or `joint_rows`.
`tests/validity/test_board.py` runs a small copy of all rows and fails for public names without one;
`make validity` runs all of them and writes docs/validity.md.
"""

from __future__ import annotations

from validity.cluster_rows import CLUSTER_ROWS
from validity.comparison_rows import COMPARISON_ROWS
from validity.group_rows import GROUP_ROWS
from validity.ignorance_rows import IGNORANCE_ROWS
from validity.interval_rows import INTERVAL_ROWS
from validity.joint_rows import JOINT_ROWS
from validity.list_rows import LIST_ROWS
from validity.member_rows import MEMBER_ROWS
from validity.report import Row
from validity.set_rows import SET_ROWS
from validity.single_rows import SINGLE_ROWS

ROWS: tuple[Row, ...] = (
    *SINGLE_ROWS,
    *MEMBER_ROWS,
    *GROUP_ROWS,
    *SET_ROWS,
    *LIST_ROWS,
    *INTERVAL_ROWS,
    *COMPARISON_ROWS,
    *CLUSTER_ROWS,
    *IGNORANCE_ROWS,
    *JOINT_ROWS,
)

ELSEWHERE = {
    "diagnose": "has a board of its own, docs/headlines.md",
    "evaluate": "runs the tests and intervals above",
    "rank_scores": "has the intervals of `rank_models`, which ranks by it",
    "power_study": "counts rejections as this board does; its intervals are exact binomial ones",
    "paired_difference": "the difference of two such counts, with McNemar's exact test",
}
"""Public names that tell of chance and have no rows of their own, and why."""
