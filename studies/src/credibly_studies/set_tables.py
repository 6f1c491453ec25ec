"""Table 1 of M23 and of J25 by design, on real ensembles: is a combination calibrated, and how good is it?

Weights are searched or learned on the validation part, and tested there; accuracy and calibration errors of
the combinations are those on the test part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly.hypotests import calibration_test, credal_test, reliability_curve
from credibly.plots.curves import ReliabilityDisplay
from credibly.statistics import accuracy, classwise_ece, confidence_ece, log_loss
from credibly_studies.networks import DATA_SETS, MODELS
from credibly_studies.outcomes import Share, all_of, more_than
from credibly_studies.real_sets import SNLI, real_set
from credibly_studies.results import Cell, Claim, Findings, Outcome, StudyTable, drawn
from credibly_studies.study import Run, Study

LEVEL = 0.05

WAYS: dict[str, dict[str, Any]] = {
    "mean, SKCE": {"weights": "mean"},
    "M23, confidence ECE": {"paper": "M23", "statistics": "confidence_ece"},
    "M23, classwise ECE": {"paper": "M23", "statistics": "classwise_ece"},
    "J25, KDE L2": {"paper": "J25", "statistics": "kde_ce"},
    "J25, KDE KL": {"paper": "J25", "statistics": "kl_ce"},
    "learned (default), SKCE": {"method": "weights"},
}
"""How a set is tested, and thereby combined."""

MEAN, LEARNED = "mean, SKCE", "learned (default), SKCE"

COLUMNS = (
    "data",
    "model",
    "members",
    "test",
    "p",
    "rejected",
    "accuracy",
    "accuracy interval",
    "confidence ECE",
    "classwise ECE",
    "log loss",
    "p of the combination on the test part",
)


@dataclasses.dataclass(frozen=True)
class TableSize:
    """How large a table is.

    Parameters
    ----------
    data_sets : tuple of str
        "digits", "mnist", "snli".
    models : tuple of str
        Which networks for images.
    rows : int
        Instances of the validation part at most, as J25's code takes 1000.
    n_resamples : int
        Replicates of the default test; the papers' have 100.
    """

    data_sets: tuple[str, ...]
    models: tuple[str, ...] = tuple(MODELS)
    rows: int = 1000
    n_resamples: int = 99


def _row(task: tuple[str, str, str, TableSize]) -> tuple[Cell, ...]:
    """Test one set in one way, and judge its combination on the test part."""
    data_set, model, way, size = task
    given = real_set(data_set, model, size.rows)
    settings: dict[str, Any] = {"n_resamples": size.n_resamples} if way == LEARNED else {}
    found = credal_test(given.validation, given.validation_labels, rng=0, **WAYS[way], **settings)
    point, labels = found.combine(given.test), given.test_labels
    hits = int(np.sum(np.argmax(point.probs, axis=1) == labels))
    return (
        data_set,
        model,
        given.validation.n_members,
        way,
        found.pvalue,
        found.pvalue <= LEVEL,
        float(accuracy(point, labels)),
        Share(hits, labels.size).interval,
        float(confidence_ece(point, labels)),
        float(classwise_ece(point, labels)),
        float(log_loss(point, labels)),
        calibration_test(point, labels, rng=0).pvalue,
    )


def _table(size: TableSize, run: Run, ways: Sequence[str]) -> StudyTable:
    models = {name: ("five language models",) if name == SNLI else size.models for name in size.data_sets}
    for data_set in size.data_sets:
        for model in models[data_set]:
            real_set(data_set, model, size.rows)  # trains once, before workers would all do it
    tasks = [
        (data_set, model, way, size)
        for data_set in size.data_sets
        for model in models[data_set]
        for way in ways
    ]
    title = "Tests on the validation part; accuracy and errors of the combination on the test part"
    return StudyTable("sets", title, COLUMNS, run.map(_row, tasks))


def _count(table: StudyTable, way: str) -> Share:
    """Return how many sets of several members a test rejects."""
    rows = [row for row in table.records() if row["test"] == way and row["members"] != 1]
    return Share(sum(bool(row["rejected"]) for row in rows), len(rows))


def _sets(found: Share) -> str:
    return f"{found.count} of {found.total} sets"


def _often(shares: Sequence[Share]) -> Outcome:
    """Return whether at least half of the sets are rejected by each test; no if none ever is."""
    if all(one.rate >= 0.5 for one in shares):
        return "confirmed"
    return "not confirmed" if not any(one.count for one in shares) else "cannot tell"


def _better(table: StudyTable, column: str, way: str) -> tuple[Outcome, str]:
    """Return whether the combination of a test has smaller errors than the mean, set by set."""
    records = table.records()
    pairs = [
        (row[column], mean[column])
        for row in records
        for mean in records
        if row["test"] == way
        and mean["test"] == MEAN
        and (row["data"], row["model"]) == (mean["data"], mean["model"])
        and row["members"] != 1
    ]
    smaller = Share(sum(float(str(one)) < float(str(other)) for one, other in pairs), len(pairs))
    return more_than(smaller, 0.5), f"{column} smaller for {_sets(smaller)}"


def _passes_more(table: StudyTable) -> tuple[Outcome, str]:
    """Return whether learned weights are rejected for fewer sets than the mean, by where they differ."""
    verdicts: dict[tuple[Cell, Cell], dict[Cell, bool]] = {}
    for row in table.records():
        if row["members"] != 1:
            verdicts.setdefault((row["data"], row["model"]), {})[row["test"]] = bool(row["rejected"])
    only_mean = sum(one[MEAN] and not one[LEARNED] for one in verdicts.values())
    only_learned = sum(one[LEARNED] and not one[MEAN] for one in verdicts.values())
    found = (
        f"learned weights reject {_sets(_count(table, LEARNED))}, the mean {_sets(_count(table, MEAN))}; "
        f"{only_mean} rejected by the mean alone, {only_learned} by learned weights alone"
    )
    if only_mean + only_learned == 0:
        return "cannot tell", found
    return more_than(Share(only_mean, only_mean + only_learned), 0.5), found


def _curve(size: TableSize, run: Run) -> Any:
    """Return a picture of the mean of the last model of the first data set, on the test part."""
    given = real_set(size.data_sets[0], size.models[-1], size.rows)
    return drawn(ReliabilityDisplay(reliability_curve(given.test, given.test_labels, rng=run.seed)))


def m23_table(size: TableSize, run: Run) -> Findings:
    """Return M23's Table 1 by design: the mean, and one weight vector for all instances."""
    searched = ("M23, confidence ECE", "M23, classwise ECE")
    table = _table(size, run, (MEAN, *searched, LEARNED))
    rejected = [_count(table, way) for way in searched]
    confidence, words = _better(table, "confidence ECE", searched[0])
    classwise, more_words = _better(table, "classwise ECE", searched[1])
    claims = (
        Claim(
            "M23 Table 1",
            "ensembles of deep networks are often not calibrated",
            "abstract: often; numbers of other data not at hand",
            "; ".join(f"{way} rejects {_sets(one)}" for way, one in zip(searched, rejected, strict=True)),
            _often(rejected),
            "small networks on two sets of digits, not the paper's networks and images",
        ),
        Claim(
            "M23 Table 1",
            "weights that minimise an error on one part of the data make it smaller than the mean on another",
            "number not at hand",
            f"{words}; {more_words}",
            all_of(confidence, classwise),
        ),
    )
    return Findings((table,), claims, {"reliability": _curve(size, run)})


def j25_table(size: TableSize, run: Run) -> Findings:
    """Return J25's Table 1 by design: the mean, and weights that depend on the instance."""
    own = ("J25, KDE L2", "J25, KDE KL")
    table = _table(size, run, (MEAN, *own, LEARNED))
    rejected = [_count(table, way) for way in own]
    outcome, words = _better(table, "log loss", LEARNED)
    fewer, verdicts = _passes_more(table)
    claims = (
        Claim(
            "J25 Table 1",
            "real ensembles are often rejected, with weights that depend on the instance too",
            "numbers of other data not at hand",
            "; ".join(f"{way} rejects {_sets(one)}" for way, one in zip(own, rejected, strict=True)),
            _often(rejected),
        ),
        Claim(
            "J25 Table 1",
            "the set passes more often than its mean: weights that depend on the instance are worth having",
            "number not at hand",
            verdicts,
            fewer,
        ),
        Claim(
            "J25 Table 1",
            "learned weights predict better than the mean on data they were not learned on",
            "number not at hand",
            words,
            outcome,
        ),
    )
    return Findings((table,), claims, {"reliability": _curve(size, run)})


M23_TABLE1 = Study(
    name="m23-table1",
    title="Digits and MNIST: a network, two with dropout, an ensemble of ten; one weight vector for all",
    reference="M23 Table 1",
    small=TableSize(("digits",), ("single network", "deep ensemble"), 300, 19),
    full=TableSize(DATA_SETS),
    work=m23_table,
)

J25_TABLE1 = Study(
    name="j25-table1",
    title="The same networks and five language models on SNLI; weights that depend on the instance",
    reference="J25 Table 1",
    small=TableSize(("digits",), ("single network", "deep ensemble"), 300, 19),
    full=TableSize((*DATA_SETS, SNLI)),
    work=j25_table,
    needs=("data",),
)
