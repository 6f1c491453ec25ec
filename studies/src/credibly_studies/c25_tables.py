"""C25's printed tables against each other: do scores and rankings follow from the printed means?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from credibly.evaluation import shown
from credibly.plots.scores import TradeoffDisplay
from credibly.selection.ranking import crossings
from credibly.selection.standings import Ranking
from credibly_studies.c25_printed import (
    BY_ENTROPY,
    BY_JS,
    RANKINGS,
    SCORES,
    TOY,
    TOY_RANKINGS,
    PrintedRanking,
)
from credibly_studies.c25_rules import (
    Checked,
    Lines,
    deviations,
    entropy_gap_of_rsnn,
    lines_by_entropy,
    lines_by_js,
    mixtures,
    ranked_order,
    ranked_scores,
    sums_of_scores,
    vertex_rows,
)
from credibly_studies.judging import holds
from credibly_studies.results import Cell, Claim, Findings, StudyTable, drawn
from credibly_studies.study import Run, Study


@dataclasses.dataclass(frozen=True)
class TablesSize:
    """How large the study is.

    Parameters
    ----------
    data : tuple of str
        Data sets whose printed rows are checked.
    """

    data: tuple[str, ...]


def work(size: TablesSize, run: Run) -> Findings:
    """Check every rule over the printed tables."""
    scores = {name: SCORES[name] for name in size.data}
    rules: dict[str, list[Checked]] = {
        "8.2: E is KL + NS": list(sums_of_scores(scores)),
        "8.2: deviation of E fits those of KL and NS": list(deviations(scores)),
        "8.7: right and wrong mix to all": list(mixtures(scores)),
    }
    for table, rankings in RANKINGS.items():
        if _data(table) not in scores:
            continue
        lines = {name: (row.distance, row.imprecision) for name, row in SCORES[_data(table)].items()}
        rules |= _ranked(table, rankings, lines)
    rules |= _ranked("8.9, JS", BY_JS, lines_by_js())
    rules |= _ranked("8.10, entropy", BY_ENTROPY, lines_by_entropy())
    rules |= _ranked("8.1", TOY_RANKINGS, TOY)
    rules["8.8: E is KL + NS, which vertices do not change"] = list(vertex_rows())
    kept = StudyTable(
        "rules",
        "Printed numbers against each other; what rounding explains is no difference",
        ("rule", "numbers", "differ", "largest difference", "where"),
        [_row(rule, found) for rule, found in rules.items()],
    )
    off = [
        (rule, one.where, one.printed, one.expected, one.gap)
        for rule, found in rules.items()
        for one in found
        if one.gap > 0
    ]
    details = StudyTable(
        "differences",
        "Every printed number that does not follow from others",
        ("rule", "where", "printed", "from other printed numbers", "beyond rounding"),
        off,
    )
    return Findings(
        (kept, details), _claims(rules), {"tradeoffs": drawn(TradeoffDisplay(_ranking(), most=1.0))}
    )


def _ranked(table: str, rankings: Iterable[PrintedRanking], lines: Lines) -> dict[str, list[Checked]]:
    """Check scores and order of all rankings of a table."""
    chosen = list(rankings)
    return {
        f"{table}: scores": [one for ranking in chosen for one in ranked_scores(table, ranking, lines)],
        f"{table}: order": [one for ranking in chosen for one in ranked_order(table, ranking, lines)],
    }


def _data(table: str) -> str:
    return table.split(" ", 1)[1].split(",")[0]


def _row(rule: str, found: list[Checked]) -> tuple[Cell, ...]:
    off = [one for one in found if one.gap > 0]
    worst = max(off, key=lambda one: one.gap, default=None)
    return (
        rule,
        len(found),
        len(off),
        None if worst is None else worst.gap,
        "" if worst is None else worst.where,
    )


def _ranking() -> Ranking:
    """Return the lines of the printed means of CIFAR-10; they have no draws, so no intervals."""
    rows = SCORES["CIFAR-10"]
    distance = np.array([row.distance for row in rows.values()])
    imprecision = np.array([row.imprecision for row in rows.values()])
    draws = np.tile(distance, (2, 1)), np.tile(imprecision, (2, 1))
    names = tuple(rows)
    return Ranking(
        names=names,
        is_point=imprecision == 0,
        distance=distance,
        imprecision=imprecision,
        tradeoffs=(1.0,),
        scale=1.0,
        crossings=crossings(names, distance, imprecision, draws, 1.0, 0.95),
        distance_draws=draws[0],
        imprecision_draws=draws[1],
        level=0.95,
        n=10_000,
        scores={},
    )


def _claim(place: str, statement: str, printed: str, found: list[Checked], why: str) -> Claim:
    off = sorted((one for one in found if one.gap > 0), key=lambda one: -one.gap)
    listed = "; ".join(f"{one.where}: {shown(one.printed)}, not {shown(one.expected)}" for one in off[:3])
    told = f"{len(found) - len(off)} of {len(found)} printed numbers agree" + (
        f"; {listed}" if listed else ""
    )
    return Claim(place, statement, printed, told, holds(one.gap == 0 for one in found), why if off else "")


def _claims(rules: Mapping[str, list[Checked]]) -> list[Claim]:
    orders = [one for rule, found in rules.items() if rule.endswith("order") for one in found]
    tables = [table for table in (*RANKINGS, "8.1") if f"{table}: scores" in rules]
    by_kl = [one for table in tables for one in rules[f"{table}: scores"]]
    printed, allowed = entropy_gap_of_rsnn()
    return [
        _claim(
            "C25 Table 1 (thesis 8.2)",
            "E is the sum of KL and NS",
            "CIFAR-10, DE: 0.031 + 0.385, 0.415",
            rules["8.2: E is KL + NS"],
            "Misprints: no data can give these means.",
        ),
        _claim(
            "C25 Table 1 (thesis 8.2)",
            "The deviations of E belong to those of KL and NS",
            "RS-NN on CIFAR-10: 0.407 ± 0.500",
            rules["8.2: deviation of E fits those of KL and NS"],
            "A misprint: thesis Table 8.3 has 1.900 in its place.",
        ),
        _claim(
            "C25, right and wrong predictions (thesis 8.7)",
            "The means of right and wrong predictions are those of the same runs",
            "RS-NN on CIFAR-10: 0.398; right 0.009, wrong 5.562",
            rules["8.7: right and wrong mix to all"],
            "In the rows named, right and wrong were told apart on other predictions, or by another rule, "
            "than those of the printed accuracy.",
        ),
        _claim(
            "C25, scores at ten trade-offs (thesis 8.1, 8.3 to 8.6, 8.9)",
            "Mean scores are KL + trade-off times NS",
            "10 trade-offs",
            by_kl,
            "RS-NN at 0.2 and 0.3 is misprinted in thesis Table 8.4 (8.3 has 0.400 and 0.401).",
        ),
        _claim(
            "C25, rankings (thesis 8.1, 8.4 to 8.6, 8.9, 8.10)",
            "Models are ranked by their mean score",
            "10 trade-offs",
            orders,
            "The order given is not that of the printed means.",
        ),
        _claim(
            "C25, rankings by JS (thesis 8.9)",
            "Mean scores by JS are JS + trade-off times NS",
            "10 trade-offs",
            rules["8.9, JS: scores"],
            "The row of trade-off 1 is not on the lines of the nine others: it was made in another run.",
        ),
        _claim(
            "C25 Table 4 (thesis 8.8)",
            "KL and NS differ with 2k and with k! vertices",
            "LB-BNN: NS 0.564 and 0.033 of right predictions",
            rules["8.8: E is KL + NS, which vertices do not change"],
            "NS is computed from masses, and the vertex nearest to a label is among the 2k: neither can "
            "change with the list of vertices. The rows belong to different masses.",
        ),
        Claim(
            "C25 appendix, entropy instead of NS (thesis 8.10)",
            "Upper minus lower entropy of RS-NN is the largest of all models",
            f"{shown(printed)} bits",
            f"at most {shown(allowed)} bits with the printed NS of RS-NN, 0.009",
            holds([printed <= allowed]),
            "The published code leaves the upper bounds out, so that precise predictions come out as vague.",
        ),
    ]


PRINTED = Study(
    name="c25-printed",
    title="Printed tables against each other: scores, rankings, right and wrong predictions, vertices",
    reference="C25 Tables 1 to 8",
    small=TablesSize(("CIFAR-10",)),
    full=TablesSize(tuple(SCORES)),
    work=work,
)
