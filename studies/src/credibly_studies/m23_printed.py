"""M23's Tables 1 and 2 as printed, and what they say about the claims that rest on them.

Table 1 tests ten predictors of each kind: six data sets, four of them with two networks. "Avg." is the
plain average of the members, the two weighted averages have the weights that minimise ECE_conf or ECE_cwise
on the calibration set; errors and accuracies are those on the test set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from credibly.hypotests import calibration_test
from credibly.predictions import Point
from credibly.statistics import Statistic, classwise_ece, confidence_ece
from credibly_studies.bootstrap import bootstrap_test
from credibly_studies.judging import holds
from credibly_studies.outcomes import Share
from credibly_studies.paper_settings import as_in
from credibly_studies.results import Cell, Claim, Findings, Outcome, StudyTable, printed_claim
from credibly_studies.study import Run, Study, Tables


class PrintedSet(NamedTuple):
    """One row of Table 1; ``""`` where the architecture is not named."""

    data: str
    architecture: str
    predictor: str
    accuracy: float
    confidence: float
    classwise: float
    rejected_confidence: bool
    accuracy_confidence: float
    weighted_confidence: float
    rejected_classwise: bool
    accuracy_classwise: float
    weighted_classwise: float


class PrintedData(NamedTuple):
    """One row of Table 2: classes, and sizes of the three parts."""

    classes: int
    train: int
    calibration: int
    test: int


TABLE2: dict[str, PrintedData] = {
    "CIFAR-10": PrintedData(10, 50000, 4992, 4992),
    "Caltech-101": PrintedData(97, 4338, 2160, 2160),
    "Caltech-256": PrintedData(256, 14890, 7440, 7440),
    "PlantCLEF2015": PrintedData(1000, 91758, 10720, 10720),
    "Bacteria": PrintedData(2659, 10587, 1136, 1136),
    "Proteins": PrintedData(3485, 11830, 5088, 5088),
}

_TABLE1 = """
CIFAR-10 MOB S 0.7804 0.0194 0.0071 yes 0.7804 0.0194 yes 0.7804 0.0071
CIFAR-10 MOB DN(0.1) 0.7740 0.0612 0.0134 yes 0.7726 0.0629 yes 0.7730 0.0137
CIFAR-10 MOB DN(0.6) 0.3039 0.0196 0.0108 no 0.3025 0.0142 yes 0.3007 0.0111
CIFAR-10 MOB DE 0.8329 0.1680 0.0327 no 0.7642 0.0150 yes 0.7668 0.0062
CIFAR-10 VGG S 0.8438 0.0828 0.0183 yes 0.8438 0.0828 yes 0.8438 0.0183
CIFAR-10 VGG DN(0.1) 0.8476 0.0821 0.0183 yes 0.8474 0.0832 yes 0.8462 0.0181
CIFAR-10 VGG DN(0.6) 0.8355 0.0950 0.0202 yes 0.8353 0.0954 yes 0.8351 0.0203
CIFAR-10 VGG DE 0.8754 0.0044 0.0042 no 0.8756 0.0052 no 0.8766 0.0044
Caltech-101 MOB S 0.9477 0.0135 0.0010 yes 0.9477 0.0135 yes 0.9477 0.0010
Caltech-101 MOB DN(0.1) 0.9384 0.0081 0.0010 no 0.9389 0.0087 yes 0.9361 0.0010
Caltech-101 MOB DN(0.6) 0.9338 0.0129 0.0012 no 0.9338 0.0107 yes 0.9324 0.0012
Caltech-101 MOB DE 0.9625 0.0175 0.0009 no 0.9509 0.0076 no 0.9579 0.0009
Caltech-101 VGG S 0.9287 0.0395 0.0013 yes 0.9287 0.0395 yes 0.9287 0.0013
Caltech-101 VGG DN(0.1) 0.9218 0.0192 0.0013 no 0.9204 0.0212 yes 0.9218 0.0014
Caltech-101 VGG DN(0.6) 0.9259 0.0155 0.0015 no 0.9162 0.0062 yes 0.9157 0.0015
Caltech-101 VGG DE 0.9500 0.0231 0.0011 no 0.9329 0.0079 no 0.9306 0.0011
Caltech-256 MOB S 0.7829 0.0638 0.0009 yes 0.7829 0.0638 yes 0.7829 0.0009
Caltech-256 MOB DN(0.1) 0.7820 0.0473 0.0008 yes 0.7816 0.0480 yes 0.7823 0.0008
Caltech-256 MOB DN(0.6) 0.7395 0.0201 0.0009 no 0.7313 0.0085 yes 0.7336 0.0009
Caltech-256 MOB DE 0.8383 0.0358 0.0007 no 0.8082 0.0130 yes 0.8312 0.0006
Caltech-256 VGG S 0.7552 0.0948 0.0011 yes 0.7552 0.0948 yes 0.7552 0.0011
Caltech-256 VGG DN(0.1) 0.7458 0.0645 0.0011 yes 0.7452 0.0663 yes 0.7421 0.0011
Caltech-256 VGG DN(0.6) 0.7427 0.0106 0.0010 no 0.7414 0.0103 yes 0.7421 0.0010
Caltech-256 VGG DE 0.8128 0.0326 0.0007 no 0.7864 0.0104 yes 0.8108 0.0007
PlantCLEF2015 MOB S 0.4842 0.1300 0.0005 yes 0.4842 0.1300 yes 0.4842 0.0005
PlantCLEF2015 MOB DN(0.1) 0.4357 0.0866 0.0005 no 0.4320 0.0920 yes 0.4319 0.0005
PlantCLEF2015 MOB DN(0.6) 0.4382 0.0199 0.0005 no 0.4343 0.0245 yes 0.4348 0.0005
PlantCLEF2015 MOB DE 0.5973 0.0993 0.0004 no 0.5364 0.0171 yes 0.5757 0.0004
PlantCLEF2015 VGG S 0.4085 0.1362 0.0006 yes 0.4085 0.1362 yes 0.4085 0.0006
PlantCLEF2015 VGG DN(0.1) 0.4156 0.1009 0.0006 no 0.4151 0.1020 yes 0.4146 0.0006
PlantCLEF2015 VGG DN(0.6) 0.3927 0.0566 0.0005 no 0.3928 0.0566 yes 0.3894 0.0005
PlantCLEF2015 VGG DE 0.5488 0.1045 0.0004 no 0.4705 0.0197 yes 0.5236 0.0004
Bacteria - S 0.8785 0.0507 0.0002 no 0.8785 0.0507 no 0.8785 0.0002
Bacteria - DN(0.1) 0.8398 0.1504 0.0002 yes 0.8345 0.1508 yes 0.8371 0.0002
Bacteria - DN(0.6) 0.8407 0.2085 0.0002 no 0.7491 0.0829 no 0.7879 0.0002
Bacteria - DE 0.8926 0.1437 0.0002 no 0.8565 0.0642 no 0.9032 0.0001
Proteins - S 0.8001 0.0454 0.0001 yes 0.8001 0.0454 yes 0.8001 0.0001
Proteins - DN(0.1) 0.7909 0.0788 0.0001 yes 0.7895 0.0779 yes 0.7915 0.0001
Proteins - DN(0.6) 0.8117 0.0393 0.0001 yes 0.8033 0.0353 yes 0.8119 0.0001
Proteins - DE 0.8076 0.0764 0.0001 yes 0.7968 0.0528 yes 0.8050 0.0001
"""


def _read(line: str) -> PrintedSet:
    """Return a row of the table; decisions are yes and no, "-" is no name."""
    cells: list[str | float | bool] = []
    for place, word in enumerate(line.split()):
        if place < 3:
            cells.append("" if word == "-" else word)
        else:
            cells.append(word == "yes" if word in ("yes", "no") else float(word))
    return PrintedSet(*cells)  # type: ignore[arg-type]


TABLE1: tuple[PrintedSet, ...] = tuple(map(_read, _TABLE1.split("\n")[1:-1]))
"""As printed, but for the names of data sets in small letters."""


class Perfect(NamedTuple):
    """A perfectly calibrated predictor that Algorithm 1 tests: p ~ Dir(c / k, ..., c / k), labels from p.

    The smaller c, the more accurate: about 0.62 at c = 1, 0.8 at 0.4, 0.93 at 0.12, as printed ones are.
    """

    error: str
    classes: int
    n: int
    concentration: float


_ERRORS: dict[str, Statistic] = {
    "ECE_conf": as_in("M23", confidence_ece),
    "ECE_cwise": as_in("M23", classwise_ece),
}

_LEVEL = 0.05


class _Task(NamedTuple):
    case: Perfect
    statistic: Statistic
    n_resamples: int
    seed: tuple[int, ...]


def _rejects(task: _Task) -> tuple[bool, bool, float]:
    """Test one perfect predictor, instances bootstrapped and labels alone; its accuracy stands behind."""
    generator = np.random.default_rng(task.seed)
    k, n = task.case.classes, task.case.n
    probs = np.maximum(generator.dirichlet(np.full(k, task.case.concentration / k), size=n), 1e-12)
    probs /= probs.sum(axis=1, keepdims=True)
    labels = np.minimum((generator.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1), k - 1)
    seed = int(generator.integers(2**31))
    asked: dict[str, Any] = {"statistics": task.statistic, "n_resamples": task.n_resamples, "rng": seed}
    first, second = (
        bool(test(Point(probs), labels, **asked).pvalue <= _LEVEL)
        for test in (bootstrap_test, calibration_test)
    )
    return first, second, float(probs.max(axis=1).mean())


def perfect_table(
    cases: Sequence[Perfect], errors: dict[str, Statistic], repetitions: int, n_resamples: int, run: Run
) -> StudyTable:
    """Return how often Algorithm 1 rejects a perfect predictor, with and without bootstrapped instances."""
    tasks = [
        _Task(case, errors[case.error], n_resamples, (*run.seed, place, repetition))
        for place, case in enumerate(cases)
        for repetition in range(repetitions)
    ]
    rejections = run.map(_rejects, tasks)
    rows: list[tuple[Cell, ...]] = []
    for place, case in enumerate(cases):
        of_place = rejections[place * repetitions : (place + 1) * repetitions]
        accuracy = float(np.mean([outcome[2] for outcome in of_place]))
        counts = (sum(outcome[way] for outcome in of_place) for way in (0, 1))
        rows.append((*case[:3], accuracy, repetitions, *counts))
    columns = (
        "error",
        "classes",
        "instances",
        "accuracy",
        "data sets",
        "rejected, instances bootstrapped",
        "rejected, labels alone",
    )
    return StudyTable("perfect", "A perfectly calibrated predictor, tested at 5 %", columns, rows)


@dataclasses.dataclass(frozen=True)
class PrintedSize:
    """How many perfect predictors are tested beside the printed tables.

    Parameters
    ----------
    cases : tuple of (str, int, int, float)
        Error, classes, instances and concentration of each predictor.
    repetitions : int
        Data sets per case.
    n_resamples : int
        Replicates; the papers take 100.
    """

    cases: tuple[tuple[str, int, int, float], ...]
    repetitions: int
    n_resamples: int = 100


def rejections(tables: Tables, error: str, least_classes: int) -> Share:
    """Return how many perfect predictors of many classes are rejected with bootstrapped instances."""
    rows = [row for row in tables["perfect"] if row["error"] == error and row["classes"] >= least_classes]
    rejected = sum(row["rejected, instances bootstrapped"] for row in rows)
    return Share(rejected, sum(row["data sets"] for row in rows), "perfect predictors")


def share_of(rows: Iterable[PrintedSet], what: Callable[[PrintedSet], bool]) -> Share:
    """Return in how many rows of Table 1 something holds."""
    values = [what(row) for row in rows]
    return Share(sum(values), len(values), "rows")


def of(*predictors: str) -> list[PrintedSet]:
    """Return the rows of some predictors."""
    return [row for row in TABLE1 if row.predictor in predictors]


SETS = ("DN(0.1)", "DN(0.6)", "DE")


def counted(share: Share) -> str:
    """Write a share of printed rows, which has no interval: they are all there are."""
    return f"{share.count} of {share.total}"


def _more(first: Share, second: Share) -> Outcome:
    return holds([first.rate > second.rate])


TABLE = "M23 Sec. 4.2, Table 1"

SINGLE = (TABLE, "single networks are in general not calibrated")
OFTEN = ("M23 abstract, Sec. 5, Table 1", "sets made of deep networks are often not calibrated")
STRONGER = (
    TABLE,
    "most predictors fail by ECE_cwise, because classwise calibration is a much stronger notion",
)
RATE = (TABLE, "dropout networks are better confidence calibrated with the higher rate")
ENSEMBLES = (TABLE, "deep ensembles appear confidence calibrated for most data sets")
WEIGHTS = (
    TABLE,
    "for deep ensembles ECE_conf of the weighted average is much smaller: plain averaging calibrates less",
)
"""Place and statement of each claim; the study of real sets asks the same."""


def claims(tables: Tables, size: object = None) -> list[Claim]:
    """Judge the claims of section 4.2 by the printed table, and by tests of perfect predictors."""
    single, sets = of("S"), of(*SETS)
    many = [row for row in sets if TABLE2[row.data].classes >= 97]
    small, large, ensembles = of("DN(0.1)"), of("DN(0.6)"), of("DE")
    rejected = {
        name: (
            share_of(rows, lambda row: row.rejected_confidence),
            share_of(rows, lambda row: row.rejected_classwise),
        )
        for name, rows in (
            ("S", single),
            ("sets", sets),
            ("DN(0.1)", small),
            ("DN(0.6)", large),
            ("DE", ensembles),
        )
    }
    smaller_mean = [one.confidence < other.confidence for one, other in zip(large, small, strict=True)]
    better = share_of(ensembles, lambda row: row.weighted_confidence < row.confidence)
    lost = float(np.mean([row.accuracy - row.accuracy_confidence for row in ensembles]))
    void = rejections(tables, "ECE_cwise", 97)
    at_many = share_of(many, lambda row: row.rejected_classwise)
    confidence, classwise = rejected["sets"]
    perfect = f"of perfect predictors with 97 or more classes Algorithm 1 with ECE_cwise rejects {void}"
    empty: Outcome = "not confirmed" if void.rate > 0.5 else "cannot tell"
    return [
        printed_claim(
            *SINGLE,
            f"rejected by ECE_conf {counted(rejected['S'][0])}, by ECE_cwise {counted(rejected['S'][1])}",
            _more(rejected["S"][0], Share(1, 2)),
        ),
        printed_claim(
            *OFTEN,
            f"rejected by ECE_conf {counted(confidence)}, by ECE_cwise {counted(classwise)}",
            holds([confidence.count + classwise.count > len(sets)]),
            f"three of ten by ECE_conf; {counted(at_many)} of the rejections by ECE_cwise have 97 or more "
            "classes, where they say nothing about a model (see the claim on ECE_cwise)",
        ),
        Claim(
            *STRONGER,
            f"sets rejected by ECE_cwise {counted(classwise)}",
            perfect,
            empty,
            "an instance drawn twice falls into the same bins, where its labels cancel, and one that is not "
            "drawn leaves its bins empty: replicates have smaller errors than the data",
            "another",
            holds([classwise.rate > 0.5]),
        ),
        printed_claim(
            *RATE,
            f"rejected with rate 0.1 {counted(rejected['DN(0.1)'][0])}, with 0.6 "
            f"{counted(rejected['DN(0.6)'][0])}; ECE_conf of the mean smaller with 0.6 in "
            f"{sum(smaller_mean)} of {len(smaller_mean)}",
            holds([rejected["DN(0.6)"][0].rate < rejected["DN(0.1)"][0].rate, sum(smaller_mean) > 5]),
        ),
        printed_claim(
            *ENSEMBLES,
            f"rejected by ECE_conf {counted(rejected['DE'][0])}",
            holds([rejected["DE"][0].rate < 0.5]),
        ),
        printed_claim(
            *WEIGHTS,
            f"smaller in {counted(better)}",
            holds([better.rate > 0.5]),
            f"in print accuracy falls by {100 * lost:.1f} points on average: the weights move to few members",
        ),
    ]


def _table(rows: Iterable[PrintedSet]) -> StudyTable:
    """Count the printed rows by predictor."""
    lines: list[tuple[Cell, ...]] = []
    for predictor in ("S", *SETS):
        of_predictor = [row for row in rows if row.predictor == predictor]
        lines.append(
            (
                predictor,
                len(of_predictor),
                sum(row.rejected_confidence for row in of_predictor),
                sum(row.rejected_classwise for row in of_predictor),
                sum(row.weighted_confidence < row.confidence for row in of_predictor),
                sum(row.weighted_classwise < row.classwise for row in of_predictor),
                sum(row.weighted_classwise > row.classwise for row in of_predictor),
                sum(row.accuracy_confidence < row.accuracy for row in of_predictor),
                float(np.mean([row.accuracy_confidence - row.accuracy for row in of_predictor])),
            )
        )
    columns = (
        "predictor",
        "printed rows",
        "rejected by ECE_conf",
        "rejected by ECE_cwise",
        "weights lower ECE_conf",
        "weights lower ECE_cwise",
        "weights raise ECE_cwise",
        "accuracy lower with weights of ECE_conf",
        "mean change of accuracy",
    )
    return StudyTable("printed", "M23 Table 1, counted", columns, lines)


def work(size: PrintedSize, run: Run) -> Findings:
    """Count Table 1, and test perfect predictors of its sizes."""
    cases = [Perfect(*case) for case in size.cases]
    perfect = perfect_table(cases, _ERRORS, size.repetitions, size.n_resamples, run)
    return Findings((_table(TABLE1), perfect))


PRINTED = Study(
    name="m23-printed",
    title="Table 1 as printed: what its decisions say, and what a perfect predictor gets",
    reference="M23 Tables 1-2",
    small=PrintedSize((("ECE_conf", 10, 500, 1.0), ("ECE_cwise", 256, 500, 0.4)), 2, 39),
    full=PrintedSize(
        (  # accuracies as of CIFAR-10, Caltech-101, Caltech-256, PlantCLEF2015; at most 3000 instances
            ("ECE_conf", 10, 4992, 0.4),
            ("ECE_conf", 97, 2160, 0.12),
            ("ECE_cwise", 10, 4992, 0.4),
            ("ECE_cwise", 97, 2160, 0.12),
            ("ECE_cwise", 256, 3000, 0.4),
            ("ECE_cwise", 1000, 2000, 1.7),
        ),
        6,
    ),
    work=work,
    judge=claims,
)
