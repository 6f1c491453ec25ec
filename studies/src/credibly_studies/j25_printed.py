"""J25's Table 1 as printed, and what it says about the claims that rest on it.

Twelve predictors, two errors each: the average of the members and the learned combination, tested with 100
replicates at 5 %.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from credibly.statistics import Statistic, kde_ce, kl_ce
from credibly_studies.judging import holds
from credibly_studies.m23_printed import Perfect, PrintedSize, counted, perfect_table, rejections
from credibly_studies.outcomes import Share
from credibly_studies.results import Cell, Claim, Findings, StudyTable, printed_claim
from credibly_studies.study import Run, Study, Tables


class PrintedTest(NamedTuple):
    """One row of Table 1."""

    data: str
    architecture: str
    predictor: str
    error: str
    accuracy: float
    rejected: bool
    pvalue: float
    value: float
    learned_accuracy: float
    learned_rejected: bool
    learned_pvalue: float
    learned_value: float


_TABLE1 = """
CIFAR-10 ResNet-18 DE KL 0.869 no 1.000 0.259 0.873 no 0.990 0.262
CIFAR-10 ResNet-18 DE L2 0.869 no 0.970 0.125 0.872 no 0.950 0.121
CIFAR-10 ResNet-18 DN(0.2) KL 0.847 no 0.810 0.293 0.848 no 0.780 0.297
CIFAR-10 ResNet-18 DN(0.2) L2 0.847 no 0.800 0.129 0.849 no 0.760 0.295
CIFAR-10 ResNet-18 DN(0.5) KL 0.507 no 0.800 0.330 0.507 no 0.780 0.329
CIFAR-10 ResNet-18 DN(0.5) L2 0.507 no 0.220 0.104 0.507 no 0.350 0.106
CIFAR-10 VGG-19 DE KL 0.900 no 0.530 0.176 0.902 no 0.420 0.166
CIFAR-10 VGG-19 DE L2 0.900 no 0.150 0.079 0.901 no 0.180 0.084
CIFAR-10 VGG-19 DN(0.2) KL 0.903 yes 0.000 0.134 0.903 yes 0.000 0.133
CIFAR-10 VGG-19 DN(0.2) L2 0.903 yes 0.000 0.042 0.903 yes 0.000 0.042
CIFAR-10 VGG-19 DN(0.5) KL 0.899 yes 0.000 0.131 0.896 yes 0.000 0.129
CIFAR-10 VGG-19 DN(0.5) L2 0.899 yes 0.010 0.047 0.896 yes 0.000 0.056
CIFAR-100 ResNet-18 DE KL 0.586 no 1.000 1.200 0.589 no 1.000 1.203
CIFAR-100 ResNet-18 DE L2 0.586 yes 0.000 0.476 0.589 yes 0.000 0.482
CIFAR-100 ResNet-18 DN(0.2) KL 0.264 no 1.000 2.123 0.265 no 1.000 2.126
CIFAR-100 ResNet-18 DN(0.2) L2 0.264 yes 0.000 0.552 0.265 yes 0.000 0.551
CIFAR-100 ResNet-18 DN(0.5) KL 0.352 no 1.000 2.123 0.353 no 1.000 2.136
CIFAR-100 ResNet-18 DN(0.5) L2 0.352 yes 0.000 0.620 0.351 yes 0.030 0.624
CIFAR-100 VGG-19 DE KL 0.647 no 0.510 0.925 0.648 no 0.390 0.927
CIFAR-100 VGG-19 DE L2 0.647 yes 0.000 0.347 0.647 yes 0.000 0.346
CIFAR-100 VGG-19 DN(0.2) KL 0.621 yes 0.030 0.999 0.620 yes 0.000 1.006
CIFAR-100 VGG-19 DN(0.2) L2 0.621 yes 0.020 0.343 0.620 yes 0.020 0.343
CIFAR-100 VGG-19 DN(0.5) KL 0.588 no 0.210 1.282 0.587 no 0.410 1.274
CIFAR-100 VGG-19 DN(0.5) L2 0.588 yes 0.010 0.417 0.587 yes 0.010 0.416
"""


def _read(line: str) -> PrintedTest:
    """Return a row of the table; decisions are yes and no, "-" is no name."""
    cells: list[str | float | bool] = []
    for place, word in enumerate(line.split()):
        if place < 4:
            cells.append("" if word == "-" else word)
        else:
            cells.append(word == "yes" if word in ("yes", "no") else float(word))
    return PrintedTest(*cells)  # type: ignore[arg-type]


TABLE1: tuple[PrintedTest, ...] = tuple(map(_read, _TABLE1.split("\n")[1:-1]))


_NAMES = {"KL": "CE_KL", "L2": "CE_2"}

_ERRORS: dict[str, Statistic] = {
    "CE_2": kde_ce.with_(bandwidth=0.01),
    "CE_KL": kl_ce.with_(bandwidth=0.01, clip=1e-12),
}


def rejected(rows: Iterable[PrintedTest], *, learned: bool = False) -> Share:
    """Return how many of some printed tests reject."""
    rejections = [row.learned_rejected if learned else row.rejected for row in rows]
    return Share(sum(rejections), len(rejections), "rows")


def of(data: str | None = None, error: str | None = None, ensemble: bool | None = None) -> list[PrintedTest]:
    """Return the rows of a data set, an error, or of ensembles and dropout networks."""
    return [
        row
        for row in TABLE1
        if data in (None, row.data)
        and error in (None, row.error)
        and ensemble in (None, row.predictor == "DE")
    ]


def changes() -> dict[str, int]:
    """Count how learned weights change accuracy, error and decision."""
    return {
        "accuracy up": sum(row.learned_accuracy > row.accuracy for row in TABLE1),
        "accuracy equal": sum(row.learned_accuracy == row.accuracy for row in TABLE1),
        "accuracy down": sum(row.learned_accuracy < row.accuracy for row in TABLE1),
        "error up": sum(row.learned_value > row.value for row in TABLE1),
        "decision differs": sum(row.learned_rejected != row.rejected for row in TABLE1),
    }


_PLACE = "J25 Sec. 4.3, Table 1"

FEWEST = (_PLACE, "CE_KL leads to the fewest rejections")
MORE_CLASSES = (_PLACE, "the test rejects more often on CIFAR-100, which has more classes")
DROPOUT = (_PLACE, "dropout networks are less calibrated")
ACCURACY = (_PLACE, "in most cases learned weights raise the accuracy slightly")
"""Place and statement of each claim; the study of real sets asks the same."""


def claims(tables: Tables, size: object = None) -> list[Claim]:
    """Judge the claims of section 4.3 by the printed table, and by tests of perfect predictors."""
    both = [(rejected(rows), rejected(rows, learned=True)) for rows in (of(error="KL"), of(error="L2"))]
    kl, l2 = (f"{counted(one)} and {counted(other)}" for one, other in both)
    ten, hundred = rejected(of("CIFAR-10")), rejected(of("CIFAR-100"))
    by_kl = [rejected(of(data, "KL")) for data in ("CIFAR-10", "CIFAR-100")]
    dropout, ensembles = rejected(of(ensemble=False)), rejected(of(ensemble=True))
    void = rejections(tables, "CE_2", 100)
    change = changes()
    return [
        printed_claim(
            *FEWEST,
            f"the average and the learned weights rejected by CE_KL {kl}, by CE_2 {l2}",
            holds([both[0][0].rate < both[1][0].rate, both[0][1].rate < both[1][1].rate]),
        ),
        Claim(
            *MORE_CLASSES,
            f"CIFAR-10 {counted(ten)}, CIFAR-100 {counted(hundred)} (average of the members); by CE_KL alone "
            f"{counted(by_kl[0])} and {counted(by_kl[1])}",
            f"by CE_2 with 100 classes a perfect predictor is rejected in {void}",
            "not confirmed" if void.rate > 0.5 else "cannot tell",
            "the six rejections by CE_2 on CIFAR-100 are what bootstrapped instances do to a perfect model",
            "another",
            holds([hundred.rate > ten.rate]),
        ),
        printed_claim(
            *DROPOUT,
            f"rejected {counted(dropout)} against {counted(ensembles)} (average of the members)",
            holds([dropout.rate > ensembles.rate]),
            "four of the rejections of dropout and both of ensembles are by CE_2 on CIFAR-100",
        ),
        printed_claim(
            *ACCURACY,
            f"up in {change['accuracy up']}, equal in {change['accuracy equal']}, down in "
            f"{change['accuracy down']} of {len(TABLE1)}; the error is larger in {change['error up']}; "
            f"{change['decision differs']} decisions differ",
            holds([change["accuracy up"] > len(TABLE1) / 2]),
            "half of the cases, not most",
        ),
    ]


def _table() -> StudyTable:
    """Count the printed rows by data set and error."""
    rows: list[tuple[Cell, ...]] = []
    for data in ("CIFAR-10", "CIFAR-100"):
        for error in ("KL", "L2"):
            rows_of_error = of(data, error)
            rows.append(
                (
                    data,
                    _NAMES[error],
                    len(rows_of_error),
                    rejected(rows_of_error).count,
                    rejected(rows_of_error, learned=True).count,
                )
            )
    columns = ("data", "error", "printed rows", "average rejected", "learned weights rejected")
    return StudyTable("printed", "J25 Table 1, counted", columns, rows)


def work(size: PrintedSize, run: Run) -> Findings:
    """Count Table 1, and test perfect predictors with 100 classes."""
    cases = [Perfect(*case) for case in size.cases]
    perfect = perfect_table(cases, _ERRORS, size.repetitions, size.n_resamples, run)
    return Findings((_table(), perfect))


PRINTED = Study(
    name="j25-printed",
    title="Table 1 as printed: what its decisions say, and what a perfect predictor gets",
    reference="J25 Table 1",
    small=PrintedSize((("CE_2", 100, 200, 1.0),), 2, 39),
    full=PrintedSize((("CE_2", 10, 600, 0.3), ("CE_2", 100, 600, 1.0), ("CE_KL", 100, 600, 1.0)), 6),
    work=work,
    judge=claims,
)
