"""Table 1 of M23 and of J25 by design, on real ensembles: is a combination calibrated, and how good is it?

Weights are searched or learned on the validation part, and tested there; accuracy and calibration errors of
the combinations are those on the test part.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from credibly.hypotests import calibration_test, reliability_curve, weights_test
from credibly.plots import picture
from credibly.results.credal import WeightsDetails
from credibly.results.tests import HypotestResult
from credibly.statistics import accuracy, classwise_ece, confidence_ece, log_loss
from credibly_studies import j25, j25_printed, m23, m23_printed
from credibly_studies.judging import holds
from credibly_studies.networks import DATA_SETS, MODELS
from credibly_studies.neural import NeuralLearner
from credibly_studies.outcomes import Share, larger, more_than
from credibly_studies.real_sets import SNLI, real_set
from credibly_studies.results import Cell, Claim, Findings, Outcome, StudyTable, drawn
from credibly_studies.study import Run, Study, Tables

LEVEL = 0.05


def _j25(score: Literal["brier", "log_loss"], penalty: str) -> NeuralLearner:
    """Return the network of J25 E.2, but for the backbone: here it sees what the members say."""
    return NeuralLearner(
        hidden=(32, 32, 32), score=score, penalty=penalty, learning_rate=1e-4, batch_size=256, max_epochs=200
    )


WAYS: dict[str, Callable[..., HypotestResult[WeightsDetails]]] = {
    "mean, SKCE": functools.partial(weights_test, weights="mean"),
    "M23, confidence ECE": functools.partial(m23.credal_test, statistics="confidence_ece"),
    "M23, classwise ECE": functools.partial(m23.credal_test, statistics="classwise_ece"),
    "J25, CE_2": functools.partial(j25.credal_test, statistics="kde_ce", learner=_j25("brier", "kde_ce")),
    "J25, CE_KL": functools.partial(j25.credal_test, statistics="kl_ce", learner=_j25("log_loss", "kl_ce")),
    "learned (default), SKCE": weights_test,
}
"""How a set is tested, and thereby combined."""

_J25 = ("J25, CE_2", "J25, CE_KL")

_DROPOUT = ("dropout 0.6", "dropout 0.1")

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
    data = real_set(data_set, model, size.rows)
    settings: dict[str, Any] = {"n_resamples": size.n_resamples} if way == LEARNED else {}
    result = WAYS[way](data.validation, data.validation_labels, rng=0, **settings)
    point, labels = result.details.combine(data.test), data.test_labels
    hits = int(np.sum(np.argmax(point.probs, axis=1) == labels))
    return (
        data_set,
        model,
        data.validation.n_members,
        way,
        result.pvalue,
        result.pvalue <= LEVEL,
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


def _count(tables: Tables, way: str, model: str | None = None) -> Share:
    """Return how many sets of several members, or of one model, a test rejects."""
    rows = [
        row
        for row in tables["sets"]
        if row["test"] == way and (row["members"] != 1 if model is None else row["model"] == model)
    ]
    return Share(sum(bool(row["rejected"]) for row in rows), len(rows))


def _sets(share: Share) -> str:
    return f"{share.count} of {share.total} sets"


def _more(share: Share) -> Outcome:
    """Return whether it holds of most sets; without any sets nothing is told."""
    return more_than(share, 0.5) if share.total else "cannot tell"


def _often(shares: Sequence[Share]) -> Outcome:
    """Return whether at least half of the sets are rejected by each test; no if none ever is."""
    if not all(share.total for share in shares):
        return "cannot tell"
    if all(share.rate >= 0.5 for share in shares):
        return "confirmed"
    return "not confirmed" if not any(share.count for share in shares) else "cannot tell"


def _better(
    tables: Tables, column: str, way: str, model: str | None = None, *, upwards: bool = False
) -> Share:
    """Count the sets whose combination by a test is better than the mean."""
    records = tables["sets"]
    pairs = [
        (row[column], mean[column])
        for row in records
        for mean in records
        if row["test"] == way
        and mean["test"] == MEAN
        and (row["data"], row["model"]) == (mean["data"], mean["model"])
        and row["members"] != 1
        and model in (None, row["model"])
    ]
    sign = 1 if upwards else -1
    return Share(sum(sign * value > sign * other for value, other in pairs), len(pairs))


def _smaller(tables: Tables, way: str, first: str, second: str) -> Share:
    """Return on how many data sets one model's mean has a smaller confidence ECE than another's."""
    found = {
        (row["data"], row["model"]): row["confidence ECE"] for row in tables["sets"] if row["test"] == way
    }
    data = sorted({str(name) for name, _ in found})
    pairs = [
        (found[name, first], found[name, second])
        for name in data
        if (name, first) in found and (name, second) in found
    ]
    return Share(sum(value < other for value, other in pairs), len(pairs), "data sets")


def _curve(size: TableSize, run: Run) -> Any:
    """Return a picture of the mean of the last model of the first data set, on the test part."""
    data = real_set(size.data_sets[0], size.models[-1], size.rows)
    return drawn(picture(reliability_curve(data.test, data.test_labels, rng=run.seed)))


_SEARCHED = ("M23, confidence ECE", "M23, classwise ECE")


def m23_table(size: TableSize, run: Run) -> Findings:
    """Return M23's Table 1 by design: the mean, and one weight vector for all instances."""
    table = _table(size, run, (MEAN, *_SEARCHED, LEARNED))
    return Findings((table,), (), {"reliability": _curve(size, run)})


def m23_claims(tables: Tables, size: object = None) -> list[Claim]:
    """Judge M23's claims about real sets by small networks on two sets of digits."""
    rejected = [_count(tables, way) for way in _SEARCHED]
    single, ensembles = (_count(tables, _SEARCHED[0], model) for model in ("single network", "deep ensemble"))
    classwise = _count(tables, _SEARCHED[1])
    weighted = _better(tables, "confidence ECE", _SEARCHED[0], "deep ensemble")
    large, small = (_smaller(tables, MEAN, *pair) for pair in (_DROPOUT, _DROPOUT[::-1]))
    passed = Share(ensembles.total - ensembles.count, ensembles.total)
    return [
        Claim(
            *m23_printed.SINGLE,
            "",
            f"digits and MNIST: ECE_conf rejects {_sets(single)}",
            _more(single),
        ),
        Claim(
            *m23_printed.OFTEN,
            "",
            "digits and MNIST: "
            + "; ".join(f"{way} rejects {_sets(one)}" for way, one in zip(_SEARCHED, rejected, strict=True)),
            _often(rejected),
            "small networks on two sets of digits",
        ),
        Claim(
            *m23_printed.STRONGER,
            "",
            f"digits and MNIST: ECE_cwise rejects {_sets(classwise)}",
            _more(classwise),
        ),
        Claim(
            *m23_printed.RATE,
            "",
            f"digits and MNIST: ECE_conf smaller with 0.6 on {large.count}, with 0.1 on {small.count} of "
            f"{large.total} data sets",
            holds([large.count > small.count]) if large.count != small.count else "cannot tell",
            "on small data the mean of many masks is underconfident",
        ),
        Claim(
            *m23_printed.ENSEMBLES,
            "",
            f"digits and MNIST: ECE_conf does not reject {_sets(passed)}",
            _more(passed),
        ),
        Claim(
            *m23_printed.WEIGHTS,
            "",
            f"digits and MNIST: smaller on the test part for {_sets(weighted)}",
            _more(weighted),
        ),
    ]


def j25_table(size: TableSize, run: Run) -> Findings:
    """Return J25's Table 1 by design: the mean, and weights that depend on the instance."""
    table = _table(size, run, (MEAN, *_J25, LEARNED))
    return Findings((table,), (), {"reliability": _curve(size, run)})


def j25_claims(tables: Tables, size: object = None) -> list[Claim]:
    """Judge J25's claims about real sets by small networks and language models."""
    by_l2, by_kl = (_count(tables, way) for way in _J25)
    accurate = _better(tables, "accuracy", _J25[0], upwards=True)
    dropout = [_count(tables, way, model) for way in _J25 for model in _DROPOUT]
    ensembles = [_count(tables, way, "deep ensemble") for way in _J25]
    counts = [sum(one.count for one in found) for found in (dropout, ensembles)]
    totals = [sum(one.total for one in found) for found in (dropout, ensembles)]
    shares = [Share(count, total) for count, total in zip(counts, totals, strict=True)]
    why = "small networks and language models, not the paper's networks and images"
    return [
        Claim(
            *j25_printed.FEWEST,
            "",
            f"digits, MNIST and SNLI: by CE_KL {_sets(by_kl)}, by CE_2 {_sets(by_l2)}",
            larger(by_l2, by_kl) if by_kl.total else "cannot tell",
            why,
        ),
        Claim(
            *j25_printed.DROPOUT,
            "",
            "digits and MNIST: rejected "
            f"{' against '.join(f'{share.count} of {share.total}' for share in shares)} "
            "(CE_2 and CE_KL, dropout against ensembles)",
            larger(*shares) if all(totals) else "cannot tell",
            why,
        ),
        Claim(
            *j25_printed.ACCURACY,
            "",
            f"digits, MNIST and SNLI: accuracy larger for {_sets(accurate)}",
            _more(accurate),
            why,
        ),
    ]


M23_TABLE1 = Study(
    name="m23-table1",
    title="Digits and MNIST: a network, two with dropout, an ensemble of ten; one weight vector for all",
    reference="M23 Sec. 4.2, Table 1",
    small=TableSize(("digits",), ("single network", "deep ensemble"), 300, 19),
    full=TableSize(DATA_SETS),
    work=m23_table,
    design="another",
    judge=m23_claims,
)

J25_TABLE1 = Study(
    name="j25-table1",
    title="The same networks and five language models on SNLI; weights that depend on the instance",
    reference="J25 Sec. 4.3, Table 1",
    small=TableSize(("digits",), ("single network", "deep ensemble"), 300, 19),
    full=TableSize((*DATA_SETS, SNLI)),
    work=j25_table,
    needs=("data",),
    design="another",
    judge=j25_claims,
)
