"""What C25's score depends on beside the model: budget, number of samples, divergence, measure."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Sequence

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.credal import focal_budget
from credibly.evaluation import shown
from credibly.predictions import ClassPredictions, Dirichlet, Ensemble
from credibly.results.scores import EpistemicScore
from credibly.selection import epistemic_score
from credibly_studies import c25
from credibly_studies.c25_claims import SAMPLES
from credibly_studies.c25_measures import by_divergence, by_measure, measured
from credibly_studies.c25_models import Models, digits_models
from credibly_studies.c25_stability import clamped_on, fewer_members
from credibly_studies.judging import above, denied, told
from credibly_studies.outcomes import all_of
from credibly_studies.pictures import intervals_picture
from credibly_studies.results import Cell, Claim, Findings, Outcome, StudyTable, drawn
from credibly_studies.study import Run, Study

MODES = ("exact", "paper")
SINGLES, ALL = "single classes", "all events"


@dataclasses.dataclass(frozen=True)
class AblationsSize:
    """How large the study is.

    Parameters
    ----------
    rows : int
        Instances, at most 900.
    draws : int
        Bootstrap draws behind rankings and areas under the curve.
    members : tuple of int
        Numbers of members.
    samples : tuple of int
        Numbers of draws of the evidential model.
    """

    rows: int
    draws: int
    members: tuple[int, ...]
    samples: tuple[int, ...]


def work(size: AblationsSize, run: Run) -> Findings:
    """Score the same models with other budgets, samples, divergences and measures."""
    models = digits_models(size.rows)
    with warnings.catch_warnings():  # that E depends on these choices is what is measured here
        warnings.simplefilter("ignore", UserWarning)
        budgets, budget_claim = by_budget(models, run.seed[0])
        samples, sample_claims = by_samples(models, size, run.seed[0])
        divergences, divergence_claims = by_divergence(models, size.draws, run.seed[0])
        measures, measure_claims = by_measure(models, size.draws, run)
    picture = {
        mode: {
            f"{row[0]} {row[1]}": (float(row[7]), row[8])  # type: ignore[arg-type]
            for row in samples.rows
            if row[2] == mode
        }
        for mode in ("exact", "paper")
    }
    drawings = {"samples": drawn(intervals_picture("E and number of samples", "mean E", picture))}  # type: ignore[arg-type]
    claims = [budget_claim, *sample_claims, *divergence_claims, *measure_claims]
    return Findings((budgets, samples, divergences, measures), claims, drawings)


def _parts(score: EpistemicScore) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for part in (score.distance, score.imprecision, score.total):
        cells += measured(part)
    return tuple(cells)


def by_budget(models: Models, seed: int) -> tuple[StudyTable, Claim]:
    """Score every set on single classes, on two and three sets per class, and on all events."""
    rows: list[tuple[Cell, ...]] = []
    shorter: dict[str, HostArray] = {}
    factors: dict[str, float] = {}
    for name, model in models.sets.items():
        if name == "belief":
            continue  # it has masses of its own
        k = model.n_classes
        lists = {SINGLES: tuple(frozenset({j}) for j in range(k))}
        lists |= {f"{sets * k} sets": focal_budget(model, sets * k + 1, rng=seed) for sets in (2, 3)}
        scores = {
            listed: epistemic_score(
                model, models.labels, measure=clamped_on(sets), rng=seed, dependences=False
            )
            for listed, sets in lists.items()
        }
        scores[ALL] = epistemic_score(model, models.labels, rng=seed, dependences=False)
        rows += [(name, listed, *_parts(score)) for listed, score in scores.items()]
        listed = f"{3 * k} sets"
        shorter[name] = to_host(scores[listed].total) - to_host(scores[ALL].total)
        factors[name] = float(scores[listed]) / float(scores[ALL])
    columns = (
        "model", "budget", "distance", "distance, interval", "imprecision", "imprecision, interval", "E",
        "E, interval",
    )  # fmt: skip
    changes = {name: measured(change) for name, change in shorter.items()}
    claim = Claim(
        "C25 Sec. 4",
        "E on a budget of three sets per class is that on all events",
        "",
        "digits, E on three sets per class minus E on all events: "
        + "; ".join(
            f"{name} {told(*change)}, {shown(factors[name])} times" for name, change in changes.items()
        ),
        denied(all_of(*(above(change[1]) for change in changes.values()))),
        "what a list leaves out goes to the set of all classes, so every shorter list makes the same set "
        "look vaguer",
        further=True,
    )
    return StudyTable("budgets", "E on budgets of focal sets, trade-off 1", columns, rows), claim


def fewer(model: ClassPredictions, count: int) -> ClassPredictions:
    """Return the first members of an ensemble."""
    assert isinstance(model, Ensemble)
    return fewer_members(model, np.arange(count))


def by_samples(models: Models, size: AblationsSize, seed: int) -> tuple[StudyTable, list[Claim]]:
    """Score ensembles of several sizes, and hulls of several numbers of draws of the Dirichlet."""
    rows: list[tuple[Cell, ...]] = []
    parts = []
    for name in ("ensemble", "dropout", "evidential"):
        model = models.models[name]
        numbers: Sequence[int] = size.samples if isinstance(model, Dirichlet) else size.members
        totals: dict[str, list[HostArray]] = {"exact": [], "paper": []}
        for mode in MODES:
            for number in numbers:
                drawn = model if isinstance(model, Dirichlet) else fewer(model, number)
                score = _scored(mode, drawn, models.labels, number, seed)
                rows.append((name, number, mode, *_parts(score)))
                totals[mode].append(to_host(score.total))
        parts.append(_rises(name, numbers, totals))
    columns = (
        "model", "members or draws", "mode", "distance", "distance, interval", "imprecision",
        "imprecision, interval", "E", "E, interval",
    )  # fmt: skip
    outcome = all_of(*(part for _, part in parts))
    claim = Claim(
        *SAMPLES,
        "",
        "digits, " + "; ".join(words for words, _ in parts),
        outcome,
        ""
        if outcome == "confirmed"
        else "more members widen the set, which also brings it nearer to the labels: which of the two counts "
        "more depends on the members there are",
    )
    return StudyTable("samples", "E with more members or draws, trade-off 1", columns, rows), [claim]


def _scored(mode: str, model: ClassPredictions, labels: HostArray, number: int, seed: int) -> EpistemicScore:
    if mode == "paper":
        return c25.score(model, labels, n_samples=number, rng=seed)
    return epistemic_score(model, labels, n_samples=number, rng=seed, dependences=False)


def _rises(name: str, numbers: Sequence[int], totals: dict[str, list[HostArray]]) -> tuple[str, Outcome]:
    """Return what was found, and whether E rises with every step."""
    changes = {mode: measured(total[-1] - total[0]) for mode, total in totals.items()}
    steady = {
        mode: all(after.mean() >= before.mean() for before, after in itertools.pairwise(total))
        for mode, total in totals.items()
    }
    outcome = all_of(*(above(change[1]) for change in changes.values()))
    evidence = f"{name}, from {numbers[0]} to {numbers[-1]}: " + ", ".join(
        f"{mode} mode {told(*change)}{'' if steady[mode] else ', not at every step'}"
        for mode, change in changes.items()
    )
    return evidence, outcome if outcome != "confirmed" or all(steady.values()) else "cannot tell"


ABLATIONS = Study(
    name="c25-ablations",
    title="What E follows beside the model: budget, number of samples, divergence, imprecision measure",
    reference="C25 appendix: ablations",
    small=AblationsSize(300, 100, (2, 5, 10), (10, 40)),
    full=AblationsSize(900, 2000, (2, 3, 5, 7, 10), (10, 25, 50, 100, 250)),
    work=work,
    design="another",
)
