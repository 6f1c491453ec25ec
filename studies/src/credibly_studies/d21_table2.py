"""D21 Table 2's design on CIFAR-10H and ChaosNLI-SNLI: raw, sampled, recalibrated, with and without alpha."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from credibly.evaluation import shown
from credibly.plots import Picture, picture
from credibly.predictions import ClassPredictions, LabelCounts
from credibly.raters import decompose_disagreement, decompose_loss
from credibly.recalibrate.comparison import rater_changes
from credibly.results.decompositions import LossDecomposition
from credibly.results.estimates import Estimate
from credibly.statistics import accuracy
from credibly_studies.d21_posterior import posterior_gain
from credibly_studies.d21_printed import ALPHA, DISPERSION, SCALING
from credibly_studies.d21_recalibrated import KINDS, MEANS, predictions_of, recalibrated
from credibly_studies.judging import Interval, below, mean_interval, offered_interval, told
from credibly_studies.outcomes import all_of
from credibly_studies.pictures import intervals_picture
from credibly_studies.results import Cell, Claim, Findings, StudyTable, drawn
from credibly_studies.study import Run, Study

Measured = tuple[float, Interval | None]

N_BINS = 15
CHANGES = ("epistemic_loss", "disagreement_loss", "disagreement_calibration_loss")
TERMS = ("L", "EL", "CL", "DL", "D loss", "D error", "class-wise D loss", "class-wise D error")


@dataclasses.dataclass(frozen=True)
class TableSize:
    """How large the study is.

    Parameters
    ----------
    rows : int
        Instances of each data set, at most.
    folds : int
        Each is recalibrated by a fit on the others.
    raters : int
        Raters per instance that fits see; the paper's had 5.8 on average. All are used to measure.
    """

    rows: int
    folds: int
    raters: int


@dataclasses.dataclass(frozen=True)
class Task:
    """One way to recalibrate the mean of one kind of predictions; all spreads follow from it."""

    data: str
    kind: str
    mean: str
    size: TableSize
    seed: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Row:
    """What one way gives.

    Attributes
    ----------
    task : Task
        Data, predictions and what was done to the mean.
    spread : str
        What was done to the spread.
    accuracy : float
        Share of raters who gave the predicted class.
    estimates : mapping of str to (value, interval)
        Losses over raters; D is the disagreement of two of them.
    by_mean, by_spread : mapping of str to (value, interval)
        Without alpha, changes against the raw predictions; with it, against the same mean without alpha.
    gain : (value, interval)
        What the label of one rater takes off the squared loss for the others.
    warned : tuple of str
        What the fits warned of.
    """

    task: Task
    spread: str
    accuracy: float
    estimates: dict[str, Measured]
    by_mean: dict[str, Measured]
    by_spread: dict[str, Measured]
    gain: Measured
    warned: tuple[str, ...]

    @property
    def method(self) -> str:
        """Its name in the table."""
        return f"{self.task.mean}+{self.spread}" if self.spread else self.task.mean


Rows = dict[tuple[str, str, str], Row]


def run_task(task: Task) -> list[Row]:
    """Recalibrate and measure against the raw predictions."""
    kinds, counts = predictions_of(task.data, task.size.rows)
    predictions = kinds[task.kind]
    results, warned = recalibrated(
        predictions,
        counts.subsample(task.size.raters, rng=task.seed[0]),
        task.mean,
        task.size.folds,
        task.seed,
    )
    rows = []
    for spread, after in results.items():
        gain = posterior_gain(after, counts, rng=task.seed[0])
        rows.append(
            Row(
                task,
                spread,
                float(accuracy(after, counts)),
                measured(after, counts),
                changed(predictions, after, counts) if task.mean != "raw" and not spread else {},
                changed(results[""], after, counts) if spread else {},
                (float(gain.mean()), mean_interval(gain)),
                warned,
            )
        )
    return rows


def measured(predictions: ClassPredictions, counts: LabelCounts) -> dict[str, Measured]:
    """Return losses over raters and the error of predicted disagreement."""
    loss = decompose_loss(predictions, counts, n_bins=N_BINS)
    pairs = decompose_disagreement(predictions, counts, n_bins=N_BINS)
    estimates: tuple[Estimate, ...] = (
        loss.expected, loss.epistemic, loss.calibration, loss.dispersion, pairs.expected,
        pairs.calibration_error,
    )  # fmt: skip
    found = {
        name: (estimate.value, offered_interval(estimate))
        for name, estimate in zip(TERMS, estimates, strict=False)
    }
    classes, error = pairs.class_average, pairs.class_calibration_error
    assert classes is not None and error is not None
    return found | {
        "class-wise D loss": (classes.expected.value, offered_interval(classes.expected)),
        "class-wise D error": (error.value, None),
    }


def changed(before: ClassPredictions, after: ClassPredictions, counts: LabelCounts) -> dict[str, Measured]:
    """Return changes of losses, paired by instance where they are means over instances."""
    return {
        change.name: (change.difference.value, offered_interval(change.difference))
        for change in rater_changes(before, after, counts, N_BINS)
        if change.name in CHANGES
    }


def work(size: TableSize, run: Run) -> Findings:
    """Recalibrate in every way and compare."""
    tasks = [
        Task(data, kind, mean, size, run.seed) for data in KINDS for kind in KINDS[data] for mean in MEANS
    ]
    rows = [row for rows_of_task in run.map(run_task, tasks) for row in rows_of_task]
    by_key = {(row.task.data, row.task.kind, row.method): row for row in rows}
    drawings = {f"disagreement-{data.split('-')[0].lower()}": drawn(_picture(data, rows)) for data in KINDS}
    drawings["losses"] = drawn(_map(size))
    claims = [_alpha_helps(by_key), *(claim for data in KINDS for claim in _claims(data, by_key, size))]
    return Findings((_table(rows), _changes(rows)), claims, drawings)


def _table(rows: list[Row]) -> StudyTable:
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        ends: list[Cell] = []
        for name in TERMS:
            ends += row.estimates[name]
        cells.append(
            (row.task.data, row.task.kind, row.method, row.accuracy, *ends, *row.gain, len(row.warned))
        )
    columns = ["data", "predictions", "method", "accuracy"]
    for name in (*TERMS, "gain by one label"):
        columns += [name, f"{name}, interval"]
    title = "Losses over raters and disagreement (D) after recalibration on other folds"
    return StudyTable("methods", title, (*columns, "fits that warned"), cells)


def _changes(rows: list[Row]) -> StudyTable:
    cells: list[tuple[Cell, ...]] = [
        (row.task.data, row.task.kind, row.method, against, name, *change)
        for row in rows
        for against, changes in (("raw", row.by_mean), ("the same without alpha", row.by_spread))
        for name, change in changes.items()
    ]
    columns = ("data", "predictions", "method", "against", "what", "change", "interval")
    return StudyTable("changes", "Changes by recalibration", columns, cells, on_page=False)


def _picture(data: str, rows: list[Row]) -> Any:
    series: dict[str, dict[str, Measured]] = {kind: {} for kind in KINDS[data]}
    for row in rows:
        if row.task.data == data and row.spread != "alpha":
            series[row.task.kind][row.method.replace(", linear", "")] = row.estimates["D error"]
    return intervals_picture(f"{data}: disagreement", "calibration error of disagreement", series, zero=True)


def _map(size: TableSize) -> Picture:
    parts: dict[str, LossDecomposition] = {}
    for data in KINDS:
        kinds, counts = predictions_of(data, size.rows)
        parts |= {
            f"{data}, {kind}": decompose_loss(one, counts, n_bins=N_BINS) for kind, one in kinds.items()
        }
    return picture(parts)


def _claims(data: str, rows: Rows, size: TableSize) -> list[Claim]:
    return [
        _scaling_calibrates(data, rows),
        _dispersion(data, rows),
        _sampling_helps(data, size),
    ]


def _alpha_helps(rows: Rows) -> Claim:
    """Judge by the squared loss of predicted disagreement, paired by instance, on all data and means."""
    changes_found, outcomes = [], []
    for data, mean in itertools.product(KINDS, MEANS):
        changes = [
            rows[data, kind, f"{mean}+alpha, linear"].by_spread["disagreement_loss"] for kind in KINDS[data]
        ]
        outcomes.append(all_of(*(below(ends) for _, ends in changes)))
        words = ", ".join(
            f"{kind} {told(*change)}" for kind, change in zip(KINDS[data], changes, strict=True)
        )
        changes_found.append(f"{data}, {mean}: {words}")
    return Claim(
        *ALPHA,
        "",
        f"in {outcomes.count('confirmed')} of {len(outcomes)} cases; change of the squared loss: "
        + "; ".join(changes_found),
        all_of(*outcomes),
        "a finite alpha0 can only lower the predicted disagreement, and raw predictions of ChaosNLI have too "
        "little of it"
        if "not confirmed" in outcomes
        else "",
    )


def _scaling_calibrates(data: str, rows: Rows) -> Claim:
    """Judge by the calibration loss, which is what D21 says scaling improves."""
    losses = {
        kind: {mean: rows[data, kind, mean].estimates["CL"] for mean in ("raw", "ts", "vs")}
        for kind in KINDS[data]
    }
    better = [loss[mean][0] < loss["raw"][0] for loss in losses.values() for mean in ("ts", "vs")]
    apart = [_apart(loss[mean][1], loss["raw"][1]) for loss in losses.values() for mean in ("ts", "vs")]
    worse = any(one and not other for one, other in zip(apart, better, strict=True))
    return Claim(
        *SCALING,
        "",
        f"{data}: CL falls in {sum(better)} of {len(better)} cases: "
        + "; ".join(
            f"{kind} " + ", ".join(f"{mean} {shown(one[0])}" for mean, one in loss.items())
            for kind, loss in losses.items()
        ),
        "confirmed" if all(better) and all(apart) else "not confirmed" if worse else "cannot tell",
    )


def _dispersion(data: str, rows: Rows) -> Claim:
    """Judge "not necessarily improved": one case in which scaling does not lower it is enough."""
    losses = {
        (kind, mean): (rows[data, kind, "raw"].estimates["DL"], rows[data, kind, mean].estimates["DL"])
        for kind in KINDS[data]
        for mean in ("ts", "vs")
    }
    larger = [key for key, (raw, own) in losses.items() if _apart(raw[1], own[1]) and own[0] > raw[0]]
    return Claim(
        *DISPERSION,
        "",
        f"{data}: DL is surely larger in {len(larger)} of {len(losses)} cases: "
        + "; ".join(
            f"{kind}, {mean} {shown(raw[0])} to {shown(own[0])}"
            for (kind, mean), (raw, own) in losses.items()
        ),
        "confirmed" if larger else "cannot tell",
    )


def _apart(first: Interval | None, second: Interval | None) -> bool:
    """Tell whether two intervals do not overlap."""
    return first is not None and second is not None and (first[1] < second[0] or second[1] < first[0])


def _sampling_helps(data: str, size: TableSize) -> Claim:
    kinds, counts = predictions_of(data, size.rows)
    one, sampled = KINDS[data][0], KINDS[data][-1]
    changes = changed(kinds[one], kinds[sampled], counts)
    loss, pairs = changes["epistemic_loss"], changes["disagreement_loss"]
    return Claim(
        "D21 Sec. 6, Table 2",
        "sampled predictions have a smaller L than one network",
        "",
        f"{data}, {sampled} against {one}: epistemic loss {told(*loss)}, squared loss of disagreement "
        f"{told(*pairs)}",
        below(loss[1]),
        "of the printed kinds, TTA does and MCDO does not",
        further=True,
    )


TABLE2 = Study(
    name="d21-table2",
    title="CIFAR-10H and ChaosNLI-SNLI: raw and sampled predictions, raw, ts, vs, ms, with and without alpha",
    reference="D21 Table 2, by design",
    small=TableSize(300, 2, 6),
    full=TableSize(10_000, 5, 6),
    work=work,
    design="another",
    needs=("data",),
)
