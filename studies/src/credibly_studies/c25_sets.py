"""C25's rows of set predictions by design: every kind of prediction scored, ranked, right and wrong apart."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

from credibly._arrays.namespace import to_host
from credibly.plots import picture, whole_figure
from credibly.results.scores import EpistemicScore
from credibly.selection import rank_models
from credibly.selection.lines import Crossing, Lines
from credibly.statistics import accuracy, confidence_ece
from credibly_studies import c25
from credibly_studies.c25_models import STANDS_FOR, Models, digits_models, snli_models
from credibly_studies.c25_set_claims import correlations, set_claims
from credibly_studies.judging import mean_interval
from credibly_studies.paper_settings import as_in
from credibly_studies.results import Cell, Findings, StudyTable, drawn
from credibly_studies.study import Run, Study

TRADEOFFS = tuple(round(0.1 * step, 1) for step in range(1, 11))
SPOKEN = (0.1, 0.5, 1.0)
MODES = ("exact", "paper")


@dataclasses.dataclass(frozen=True)
class SetsSize:
    """How large the study is.

    Parameters
    ----------
    rows : int
        Instances, at most.
    draws : int
        Bootstrap draws behind ties and crossings.
    """

    rows: int
    draws: int


@dataclasses.dataclass(frozen=True)
class SetsWork:
    """Score models of every kind in both modes.

    Parameters
    ----------
    data : str
        Name of the data, for claims.
    models : callable
        Gives the models on so many rows.
    """

    data: str
    models: Callable[[int], Models]

    def __call__(self, size: SetsSize, run: Run) -> Findings:
        """Score, rank, and judge what C25 says about right and wrong predictions and about trade-offs."""
        models = self.models(size.rows)
        with warnings.catch_warnings():  # what E depends on is the subject of the ablations
            warnings.simplefilter("ignore", UserWarning)
            lines_by_mode = {mode: _ranked(models, mode, size, run.seed[0]) for mode in MODES}
        tables = (
            _scores(models, lines_by_mode),
            _groups(lines_by_mode),
            _leaders(lines_by_mode),
            _orders(lines_by_mode, SPOKEN, "orders", True),
            _orders(lines_by_mode, TRADEOFFS, "lines_by_mode", False),
            trends(
                {
                    f"{name}, {mode}": score
                    for mode, one in lines_by_mode.items()
                    for name, score in one.scores.items()
                    if score.kind != "Point"
                }
            ),
        )
        drawings = {
            f"tradeoffs-{mode}": drawn(picture(lines, most=1.0)) for mode, lines in lines_by_mode.items()
        }
        drawings["violins"] = lambda: _violins(lines_by_mode["exact"])
        return Findings(tables, set_claims(self.data, models, lines_by_mode), drawings)


def _ranked(models: Models, mode: str, size: SetsSize, seed: int) -> Lines:
    ranked = c25.rank_models if mode == "paper" else rank_models
    ranking = ranked(models.models, models.labels, tradeoffs=TRADEOFFS, n_resamples=size.draws, rng=seed)
    assert ranking.lines is not None
    return ranking.lines


def _scores(models: Models, lines_by_mode: dict[str, Lines]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for name, model in models.models.items():
        for mode, lines in lines_by_mode.items():
            score = lines.scores[name]
            error = as_in("C25", confidence_ece) if mode == "paper" else confidence_ece
            cells: list[Cell] = []
            for part in ("distance", "imprecision", "total"):
                values = to_host(getattr(score, part))
                cells += [float(values.mean()), mean_interval(values)]
            hits, ece = accuracy(model, models.labels), error(model, models.labels)
            average = None if score.average is None else float(score.average)
            rows.append(
                (name, STANDS_FOR[name], mode, score.settings["members"], float(hits), hits.interval(),
                 float(ece), *cells, average)
            )  # fmt: skip
    columns = (
        "model", "for", "mode", "members or draws", "accuracy", "accuracy, interval", "ECE", "distance",
        "distance, interval", "imprecision", "imprecision, interval", "E", "E, interval", "E of the mean",
    )  # fmt: skip
    return StudyTable("scores", "Scores at trade-off 1 with 95 % intervals", columns, rows)


def _groups(lines_by_mode: dict[str, Lines]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for mode, lines in lines_by_mode.items():
        for name, score in lines.scores.items():
            cells: list[Cell] = []
            for part in ("distance", "imprecision", "total"):
                for group in ("right", "wrong"):
                    spread = score.summary[part][group]
                    cells += [spread.mean, spread.stderr]
            rows.append((name, mode, score.summary["total"]["wrong"].n, *cells))
    columns = ["model", "mode", "wrong predictions"]
    for part in ("distance", "imprecision", "E"):
        for group in ("right", "wrong"):
            columns += [f"{part}, {group}", f"{part}, {group}, se"]
    return StudyTable(
        "groups", "Right and wrong predictions, means with standard errors", tuple(columns), rows
    )


def trends(scores: dict[str, EpistemicScore]) -> StudyTable:
    """Return the rank correlations of Fig. 8: all, right and wrong predictions."""
    rows: list[tuple[Cell, ...]] = []
    for name, score in scores.items():
        correlation = correlations(score)
        rows.append((name, *(cell for group in ("all", "right", "wrong") for cell in correlation[group])))
    columns = ("model", "all", "interval", "right", "right, interval", "wrong", "wrong, interval")
    return StudyTable("trends", "Fig. 8: rank correlation of KL and NS", columns, rows)


def _orders(
    lines_by_mode: dict[str, Lines], tradeoffs: tuple[float, ...], name: str, on_page: bool
) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for tradeoff in tradeoffs:
        for mode, lines in lines_by_mode.items():
            for points in (False, True):
                standing = lines.at(tradeoff, points=points)
                listed = ", ".join(f"{name} ({standing.place(name)})" for name in standing.names)
                rows.append((tradeoff, mode, "with points" if points else "sets", listed))
    columns = ("trade-off", "mode", "models", "order, with the places each can have")
    return StudyTable(name, "Rankings; places are joint over all pairs", columns, rows, on_page=on_page)


def _leaders(lines_by_mode: dict[str, Lines]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for mode, lines in lines_by_mode.items():
        for low, high, name in lines.leaders():
            start = _crossing_at(lines, low)
            rows.append((mode, name, low, high, None if start is None else start.interval))
    columns = ("mode", "first", "from", "to", "from, interval")
    return StudyTable("leaders", "Who is first between which trade-offs", columns, rows)


def _crossing_at(lines: Lines, tradeoff: float) -> Crossing | None:
    return next((crossing for crossing in lines.crossings if crossing.tradeoff == tradeoff), None)


def _violins(lines: Lines) -> Any:
    return whole_figure(lines.plot(kind="violins", part="imprecision"))


DIGITS = Study(
    name="c25-digits",
    title="Seven models of every kind on handwritten digits, exact and paper mode side by side",
    reference="C25 Tables 1 to 3, by design",
    small=SetsSize(900, 200),
    full=SetsSize(900, 2000),
    work=SetsWork("digits", digits_models),
    design="another",
)

SNLI = Study(
    name="c25-snli",
    title="A five-member ensemble on SNLI as hull, intervals, belief, Dirichlet and one member",
    reference="C25 Tables 1 to 3, by design",
    small=SetsSize(1000, 200),
    full=SetsSize(4921, 2000),
    work=SetsWork("SNLI", snli_models),
    design="another",
    needs=("data",),
)
