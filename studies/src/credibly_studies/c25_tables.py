"""C25's printed tables against each other: do scores and rankings follow from the printed means?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from credibly.evaluation import shown
from credibly.plots import picture
from credibly.selection.ranking import crossings
from credibly.selection.standings import Ranking
from credibly_studies.c25_printed import (
    BY_ENTROPY,
    BY_JS,
    FIG_13,
    NS_AT_07,
    POINTS,
    RANKINGS,
    SCORES,
    TOY,
    TOY_RANKINGS,
    Printed,
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
    tradeoffs,
    vertex_rows,
)
from credibly_studies.judging import holds
from credibly_studies.results import Cell, Claim, Design, Findings, StudyTable, drawn
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
        "1: E is KL + NS": list(sums_of_scores(scores)),
        "1: deviation of E fits those of KL and NS": list(deviations(scores)),
        "7: right and wrong mix to all": list(mixtures(scores)),
    }
    for table, rankings in RANKINGS.items():
        if _data(table) not in scores:
            continue
        lines = {name: (row.distance, row.imprecision) for name, row in SCORES[_data(table)].items()}
        rules |= _ranked(table, rankings, lines)
    rules["8: means and deviations at ten trade-offs"] = list(tradeoffs(scores))
    lines = {name: (row.distance, row.imprecision) for name, row in SCORES["CIFAR-10"].items()}
    rules |= _ranked("6 CIFAR-10, NS at 0.7", NS_AT_07, lines)
    rules |= _ranked("5, JS", BY_JS, lines_by_js())
    rules |= _ranked("6, CU", BY_ENTROPY, lines_by_entropy())
    rules |= _ranked("3", TOY_RANKINGS, TOY)
    rules["4: E is KL + NS, which vertices do not change"] = list(vertex_rows())
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
    return Findings((kept, details), _claims(rules), {"tradeoffs": drawn(picture(_ranking(), most=1.0))})


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
    return Claim(
        place, statement, printed, told, holds(one.gap == 0 for one in found), why if off else "", PRINT
    )


PRINT: Design = "printed numbers"


def _claims(rules: Mapping[str, list[Checked]]) -> list[Claim]:
    orders = [one for rule, found in rules.items() if rule.endswith("order") for one in found]
    tables = [table for table in (*RANKINGS, "6 CIFAR-10, NS at 0.7", "3") if f"{table}: scores" in rules]
    by_kl = [one for table in tables for one in rules[f"{table}: scores"]]
    printed, allowed = entropy_gap_of_rsnn()
    return [
        _claim(
            "C25 Table 1",
            "E is the sum of KL and NS",
            "CIFAR-10, DE: 0.031 + 0.385, 0.415",
            rules["1: E is KL + NS"],
            "Misprints: no data can give these means.",
        ),
        _claim(
            "C25 Table 1",
            "The deviations of E are consistent with those of KL and NS",
            "RS-NN on CIFAR-10: 0.407 ± 0.500",
            rules["1: deviation of E fits those of KL and NS"],
            "A misprint: Table 8 has 1.900 instead.",
        ),
        _claim(
            "C25 Tables 1 and 7",
            "The means of right and wrong predictions are those of the same runs",
            "RS-NN on CIFAR-10: 0.398; right 0.009, wrong 5.562",
            rules["7: right and wrong mix to all"],
            "In the rows named, right and wrong were separated by different predictions, or by a different "
            "rule, from those behind the printed accuracy.",
        ),
        _claim(
            "C25 Tables 2, 3, 5, 6, 9, 10",
            "Mean scores are KL + trade-off times NS",
            "10 trade-offs",
            by_kl,
            "RS-NN at 0.2 and 0.3 is misprinted in Table 2 (Tables 5, 6 and 8 have 0.400 and 0.401); in "
            "Table 6 at 0.7 the names SNN and CreINN are swapped over the scores 0.475, 0.481.",
        ),
        _claim(
            "C25 Tables 2, 3, 5, 6, 9, 10",
            "Models are ranked by their mean score",
            "10 trade-offs",
            orders,
            "The order given is not that of the printed means.",
        ),
        _claim(
            "C25 Table 5",
            "Mean scores by JS are JS + trade-off times NS",
            "10 trade-offs",
            rules["5, JS: scores"],
            "The row of trade-off 1 is not on the lines of the nine others: it was made in another run.",
        ),
        _claim(
            "C25 Table 4",
            "KL and NS differ with 2k and with k! vertices",
            "LB-BNN: NS 0.564 and 0.033 of right predictions",
            rules["4: E is KL + NS, which vertices do not change"],
            "NS is computed from masses, and the vertex nearest to a label is among the 2k: neither can "
            "change with the list of vertices. The rows belong to different masses.",
        ),
        Claim(
            "C25 F.2, Table 6",
            "Upper minus lower entropy of RS-NN is the largest of all models",
            f"{shown(printed)} bits",
            f"at most {shown(allowed)} bits with the printed NS of RS-NN, 0.009",
            holds([printed <= allowed]),
            "The published code leaves out the upper bounds, so that precise predictions come out as vague.",
            PRINT,
        ),
        _claim(
            "C25 Table 8",
            "E at ten trade-offs belongs to the means and deviations of Table 1",
            "three data sets, six models",
            rules["8: means and deviations at ten trade-offs"],
            "EDL is another run: 2.268 ± 0.070 at 1 where Table 1 has 2.270 ± 0.066.",
        ),
        *_texts(),
        *_samples(),
    ]


def _first(rows: Mapping[str, Printed], count: int) -> list[str]:
    return sorted(rows, key=lambda name: rows[name].score)[:count]


def _texts() -> list[Claim]:
    """Return what the text says about its tables, judged by the tables."""
    found = []
    for data, names in {
        "CIFAR-10": ("DE Avg", "RS-NN"),
        "MNIST": ("LB-BNN Avg", "RS-NN"),
        "CIFAR-100": ("RS-NN",),
    }.items():
        rows = SCORES[data]
        lowest = _first(rows, len(names))
        places = sorted(rows, key=lambda name: rows[name].score)
        told = ", ".join(f"{name} {shown(rows[name].score)}" for name in lowest)
        found.append(
            Claim(
                f"C25 section 6.1, Table 1; {data}",
                f"{' and '.join(names)} {'have' if len(names) > 1 else 'has'} the lowest E",
                ", ".join(f"{name} {shown(rows[name].score)}" for name in names),
                f"lowest are {told}; RS-NN is number {places.index('RS-NN') + 1} of {len(places)}",
                holds([set(lowest) == set(names)]),
                "True of sets alone: points have no NS to pay for." if set(lowest) != set(names) else "",
                PRINT,
            )
        )
    without = {
        "KL": [_sets(one)[:2] for one in RANKINGS["5 CIFAR-10, with points"]],
        "JS": [_sets(one)[:2] for one in BY_JS],
    }
    counts = {name: sum(set(pair) == {"RS-NN", "DE"} for pair in pairs) for name, pairs in without.items()}
    found.append(
        Claim(
            "C25 F.1, Table 5",
            "Without points, KL and JS both have RS-NN and DE as the top two",
            "ten trade-offs",
            f"by KL at {counts['KL']} of 10 trade-offs, by JS at {counts['JS']} of 10",
            holds(count == 10 for count in counts.values()),
            "By KL DE is followed by CreINN and then LB-BNN; RS-NN is first at 1, before LB-BNN.",
            PRINT,
        )
    )
    by_cu = [_sets(one) for one in BY_ENTROPY]
    place = [names.index("DE") + 1 for names in by_cu]
    both = [set(names[:2]) == {"DE", "E-CNN"} for names in by_cu]
    found.append(
        Claim(
            "C25 F.2, Table 6",
            "Without points, DE and E-CNN are the best ranked models for CU",
            "ten trade-offs",
            f"top two at {sum(both)} of 10 trade-offs; DE is number {place[0]} of 6 at 0.1, {place[-1]} at 1",
            holds(both),
            "E-CNN is first from 0.2 on, before EDL and CreINN.",
            PRINT,
        )
    )
    first = [one.models[0] for one in RANKINGS["10 CIFAR-100"]]
    found.append(
        Claim(
            "C25 F.4, Table 10",
            "On CIFAR-100 LB-BNN is best at almost all trade-offs",
            "ten trade-offs",
            f"at {first.count('LB-BNN')} of 10; DE at {first.count('DE')}, RS-NN at {first.count('RS-NN')}",
            holds([first.count("LB-BNN") >= 9]),
            "",
            PRINT,
        )
    )
    return found


def _sets(ranking: PrintedRanking) -> list[str]:
    return [name for name in ranking.models if name not in POINTS]


def _samples() -> list[Claim]:
    """Return the claims about Fig. 13 and what it does to Table 1."""
    rising = {name: np.diff(list(values.values())) for name, values in FIG_13.items()}
    ends = {name: (min(values.values()), max(values.values())) for name, values in FIG_13.items()}
    told = "; ".join(f"{name} {shown(low)} to {shown(high)}" for name, (low, high) in ends.items())
    rows = SCORES["CIFAR-10"]
    same = {"DE": FIG_13["DE"][15], "LB-BNN": FIG_13["LB-BNN"][100]}
    return [
        Claim(
            "C25 F.5, Fig. 13",
            "E rises with the number of samples, more so for DE than for LB-BNN",
            "DE 5 to 30 members, LB-BNN 50 to 500 samples",
            told,
            holds(
                [
                    *(bool((steps > 0).all()) for steps in rising.values()),
                    ends["DE"][1] / ends["DE"][0] > ends["LB-BNN"][1] / ends["LB-BNN"][0],
                ]
            ),
            "Means of the public arrays behind the figure.",
            PRINT,
        ),
        Claim(
            "C25 Table 1 and Fig. 13",
            "15 members of DE and 100 samples of LB-BNN have the E of Table 1",
            "; ".join(f"{name} {shown(rows[name].score)}" for name in same),
            "; ".join(f"{name} {shown(value)}" for name, value in same.items()),
            holds(abs(value - rows[name].score) < 0.001 for name, value in same.items()),
            "The figure and the table come from different runs.",
            PRINT,
        ),
    ]


PRINTED = Study(
    name="c25-printed",
    title="Printed tables against each other: scores, rankings, right and wrong predictions, vertices",
    reference="C25 Tables 1 to 10, Fig. 13",
    small=TablesSize(("CIFAR-10",)),
    full=TablesSize(tuple(SCORES)),
    work=work,
)
