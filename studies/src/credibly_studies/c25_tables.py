"""C25's printed tables against each other: do scores and rankings follow from the printed means?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from credibly.evaluation import shown
from credibly.plots import picture
from credibly.selection.lines import Lines, crossings
from credibly_studies.c25_claims import (
    BETTER,
    ENOUGH,
    JS_FIRST,
    LOWEST_CIFAR10,
    REPLACED,
    SAMPLES,
    TOP_TWO,
    VAGUE,
    WRONG_LARGER,
)
from credibly_studies.c25_printed import (
    BY_ENTROPY,
    BY_JS,
    FIG_13,
    NS_AT_07,
    POINTS,
    RANKINGS,
    SCORES,
    SET_MODELS,
    TABLE_8,
    TOY,
    TOY_RANKINGS,
    VERTICES,
    Printed,
    PrintedRanking,
)
from credibly_studies.c25_rules import (
    Checked,
    PrintedLines,
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
from credibly_studies.results import Cell, Claim, Findings, StudyTable, drawn, printed_claim
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
    return Findings((kept, details), _claims(rules), {"tradeoffs": drawn(picture(_lines(), most=1.0))})


def _ranked(table: str, rankings: Iterable[PrintedRanking], lines: PrintedLines) -> dict[str, list[Checked]]:
    """Check scores and order of all rankings of a table."""
    chosen = list(rankings)
    return {
        f"{table}: scores": [score for ranking in chosen for score in ranked_scores(table, ranking, lines)],
        f"{table}: order": [one for ranking in chosen for one in ranked_order(table, ranking, lines)],
    }


def _data(table: str) -> str:
    return table.split(" ", 1)[1].split(",")[0]


def _row(rule: str, checked: list[Checked]) -> tuple[Cell, ...]:
    off = [check for check in checked if check.gap > 0]
    worst = max(off, key=lambda check: check.gap, default=None)
    return (
        rule,
        len(checked),
        len(off),
        None if worst is None else worst.gap,
        "" if worst is None else worst.where,
    )


def _lines() -> Lines:
    """Return the lines of the printed means of CIFAR-10; they have no draws, so no intervals."""
    rows = SCORES["CIFAR-10"]
    distance = np.array([row.distance for row in rows.values()])
    imprecision = np.array([row.imprecision for row in rows.values()])
    draws = np.tile(distance, (2, 1)), np.tile(imprecision, (2, 1))
    names = tuple(rows)
    return Lines(
        names=names,
        is_point=imprecision == 0,
        distance=distance,
        imprecision=imprecision,
        tradeoffs=(1.0,),
        crossings=crossings(names, distance, imprecision, draws, 0.95),
        distance_draws=draws[0],
        imprecision_draws=draws[1],
        level=0.95,
        n=10_000,
        scores={},
    )


def _check(place: str, statement: str, checked: list[Checked], why: str) -> Claim:
    """Return a check of ours: does a rule hold among printed numbers?"""
    off = sorted((check for check in checked if check.gap > 0), key=lambda one: -one.gap)
    listed = "; ".join(
        f"{check.where}: {shown(check.printed)}, not {shown(check.expected)}" for check in off[:3]
    )
    evidence = f"{len(checked) - len(off)} of {len(checked)} printed numbers agree" + (
        f"; {listed}" if listed else ""
    )
    claim = printed_claim(
        place, statement, evidence, holds(check.gap == 0 for check in checked), why if off else ""
    )
    return dataclasses.replace(claim, further=True)


def _claims(rules: Mapping[str, list[Checked]]) -> list[Claim]:
    orders = [one for rule, found in rules.items() if rule.endswith("order") for one in found]
    tables = [table for table in (*RANKINGS, "6 CIFAR-10, NS at 0.7", "3") if f"{table}: scores" in rules]
    by_kl = [one for table in tables for one in rules[f"{table}: scores"]]
    printed, allowed = entropy_gap_of_rsnn()
    same = {"DE": FIG_13["DE"][15], "LB-BNN": FIG_13["LB-BNN"][100]}
    rows = SCORES["CIFAR-10"]
    return [
        *_texts(),
        *_vertices(rules["4: E is KL + NS, which vertices do not change"]),
        _check("C25 Table 1", "E is the sum of KL and NS", rules["1: E is KL + NS"], "misprints"),
        _check(
            "C25 Table 1",
            "the deviations of E are consistent with those of KL and NS",
            rules["1: deviation of E fits those of KL and NS"],
            "a misprint: Table 8 has 1.900 instead",
        ),
        _check(
            "C25 Tables 1 and 7",
            "the means of right and wrong predictions are those of the same runs",
            rules["7: right and wrong mix to all"],
            "in the rows named, right and wrong were separated by different predictions, or by a different "
            "rule, from those behind the printed accuracy",
        ),
        _check(
            "C25 Tables 2, 3, 5, 6, 9, 10",
            "mean scores are KL + trade-off times NS",
            by_kl,
            "RS-NN at 0.2 and 0.3 is misprinted in Table 2 (Tables 5, 6 and 8 have 0.400 and 0.401); in "
            "Table 6 at 0.7 the names SNN and CreINN are swapped over the scores 0.475, 0.481",
        ),
        _check(
            "C25 Tables 2, 3, 5, 6, 9, 10",
            "models are ranked by their mean score",
            orders,
            "the order given is not that of the printed means",
        ),
        _check(
            "C25 Table 5",
            "mean scores by JS are JS + trade-off times NS",
            rules["5, JS: scores"],
            "the row of trade-off 1 is not on the lines of the nine others: it was made in another run",
        ),
        _check(
            "C25 Table 8",
            "E at ten trade-offs belongs to the means and deviations of Table 1",
            rules["8: means and deviations at ten trade-offs"],
            "EDL is another run: 2.268 ± 0.070 at 1 where Table 1 has 2.270 ± 0.066",
        ),
        dataclasses.replace(
            printed_claim(
                "C25 F.2, Table 6",
                "the printed credal uncertainty of RS-NN is possible with its printed NS",
                f"{shown(printed)} bits; at most {shown(allowed)} bits with the printed NS of RS-NN, 0.009",
                holds([printed <= allowed]),
                "the published code leaves out the upper bounds, so that precise predictions come out "
                "as vague",
            ),
            further=True,
        ),
        dataclasses.replace(
            printed_claim(
                "C25 Table 1 and Fig. 13",
                "15 members of DE and 100 samples of LB-BNN have the E of Table 1",
                "; ".join(
                    f"{name} {shown(rows[name].score)} in the table, {shown(value)} in the figure"
                    for name, value in same.items()
                ),
                holds(abs(value - rows[name].score) < 0.001 for name, value in same.items()),
                "the figure and the table come from different runs",
            ),
            further=True,
        ),
    ]


def _vertices(checked: list[Checked]) -> list[Claim]:
    """Return App. D's sentence on vertices, by the numbers of Table 4."""
    off = sum(check.gap > 0 for check in checked)
    de, all_of_them = VERTICES["DE", "2k"], VERTICES["DE", "k!"]
    return [
        printed_claim(
            *ENOUGH,
            f"{len(checked) - off} of {len(checked)} numbers agree; LB-BNN: NS "
            f"{VERTICES['LB-BNN', '2k'].imprecision[0]} "
            f"and {VERTICES['LB-BNN', 'k!'].imprecision[0]} of right predictions",
            "cannot tell",
            "NS is computed from masses, and the vertex nearest to a label is among the 2k: neither can "
            "change with the list of vertices, so the rows belong to different masses",
        ),
        printed_claim(
            *BETTER,
            f"DE, wrong predictions: KL {de.distance[1]} and {all_of_them.distance[1]}, E {de.score[1]} and "
            f"{all_of_them.score[1]}",
            holds([de.distance[1] < all_of_them.distance[1], de.score[1] < all_of_them.score[1]]),
        ),
    ]


def _order(rows: Mapping[str, Printed]) -> list[str]:
    return sorted(rows, key=lambda name: rows[name].score)


def _score(row: Printed, group: str) -> float:
    """Return the printed mean E of right or wrong predictions."""
    return float(getattr(row, f"distance_{group}") + getattr(row, f"imprecision_{group}"))


def _lowest() -> list[Claim]:
    """Return section 6.1 on who has the lowest E."""
    claims = []
    for data, names in {
        "CIFAR-10": ("DE Avg", "RS-NN"),
        "MNIST": ("LB-BNN Avg", "RS-NN"),
        "CIFAR-100": ("RS-NN",),
    }.items():
        rows = SCORES[data]
        places = _order(rows)
        lowest = places[: len(names)]
        text = ", ".join(f"{name} {shown(rows[name].score)}" for name in lowest)
        place, statement = LOWEST_CIFAR10
        if data != "CIFAR-10":
            who = f"{' and '.join(names)} {'have' if len(names) > 1 else 'has'}"
            statement = f"on {data} {who} the lowest E"
        claims.append(
            printed_claim(
                place,
                statement,
                f"lowest are {text}; RS-NN, {shown(rows['RS-NN'].score)}, is number "
                f"{places.index('RS-NN') + 1} of {len(places)}",
                holds([set(lowest) == set(names)]),
                "true of sets alone: points have no NS to pay for",
            )
        )
    return claims


def _texts() -> list[Claim]:
    """Return what the text says about its tables, judged by the tables."""
    cifar10 = SCORES["CIFAR-10"]
    sets = {
        data: {name: row for name, row in rows.items() if name not in POINTS} for data, rows in SCORES.items()
    }
    by_kl, by_js = RANKINGS["5 CIFAR-10, with points"], BY_JS
    others = [row.imprecision for name, row in sets["CIFAR-10"].items() if name not in ("EDL", "E-CNN")]
    return [
        *_lowest(),
        printed_claim(
            *VAGUE,
            f"NS of EDL {cifar10['EDL'].imprecision} and of E-CNN {cifar10['E-CNN'].imprecision}, of "
            f"others at most {max(others)}",
            holds(
                cifar10[name].imprecision_right > 1.5 and cifar10[name].imprecision_wrong > 1.5
                for name in ("EDL", "E-CNN")
            ),
        ),
        _lowest_divergence(sets),
        printed_claim(
            "C25 Sec. 6.1, Table 7",
            "RS-NN performs well on E for right predictions",
            "; ".join(f"{data} {shown(_score(rows['RS-NN'], 'right'))}" for data, rows in sets.items())
            + ": the lowest of the sets on all three",
            holds(
                min(rows, key=lambda name: _score(rows[name], "right")) == "RS-NN" for rows in sets.values()
            ),
        ),
        printed_claim(
            "C25 Sec. 6.2, Table 8",
            "the variation of E of EDL and E-CNN is largely unchanged by the trade-off",
            f"deviation from trade-off 0.1 to 1: EDL {TABLE_8['CIFAR-10'][0.1]['EDL'][1]} to "
            f"{TABLE_8['CIFAR-10'][1.0]['EDL'][1]}, E-CNN {TABLE_8['CIFAR-10'][0.1]['E-CNN'][1]} to "
            f"{TABLE_8['CIFAR-10'][1.0]['E-CNN'][1]}",
            holds(
                TABLE_8["CIFAR-10"][1.0][name][1] < 1.5 * TABLE_8["CIFAR-10"][0.1][name][1]
                for name in ("EDL", "E-CNN")
            ),
            "true of E-CNN",
        ),
        _first_by_tradeoff(
            "C25 Sec. 6.3, Table 2", "on CIFAR-10 DE is first at most trade-offs, RS-NN at 1", "2 CIFAR-10"
        ),
        printed_claim(
            *REPLACED,
            "first: "
            + ", ".join(
                f"{one.models[0]} at {one.tradeoff:g}" for one in by_kl if one.tradeoff in (0.1, 0.4, 0.5, 1)
            ),
            holds([by_kl[0].models[0] == "DE", by_kl[-1].models[0] == "DE Avg"]),
        ),
        printed_claim(
            *JS_FIRST,
            f"first at {sum(one.models[0] == 'RS-NN' for one in by_js)} of {len(by_js)} trade-offs",
            holds([sum(one.models[0] == "RS-NN" for one in by_js) > len(by_js) / 2]),
        ),
        _top_two(TOP_TWO, {"RS-NN", "DE"}, {"KL": by_kl, "JS": by_js}),
        _top_two(
            ("C25 F.2, Table 6", "without points DE and RS-NN are ranked best by NS"),
            {"DE", "RS-NN"},
            {"NS": by_kl},
        ),
        _top_two(
            ("C25 F.2, Table 6", "without points DE and E-CNN are ranked best by CU"),
            {"DE", "E-CNN"},
            {"CU": BY_ENTROPY},
        ),
        _wrong_above_right(sets),
        _low_on_wrong(),
        _constant_on_mnist(),
        _first_by_tradeoff(
            "C25 F.4, Tables 8 and 9", "on MNIST DE is best from 0.1 to 0.7, RS-NN beyond", "9 MNIST", 0.7
        ),
        _best_on_cifar100(),
        _tightest_on_cifar100(),
        _samples(),
    ]


def _lowest_divergence(sets: Mapping[str, Mapping[str, Printed]]) -> Claim:
    """Return section 6.1 on EDL: the lowest KL of right and of wrong predictions on all data."""
    below = [
        f"{data}, {group}: {name} {getattr(row, f'distance_{group}'):g} below "
        f"{getattr(rows['EDL'], f'distance_{group}'):g}"
        for data, rows in sets.items()
        for group in ("right", "wrong")
        for name, row in rows.items()
        if getattr(row, f"distance_{group}") < getattr(rows["EDL"], f"distance_{group}")
    ]
    return printed_claim(
        "C25 Sec. 6.1, Table 7",
        "EDL has the lowest KL for right and wrong predictions on all data sets",
        "; ".join(below),
        holds([not below]),
    )


def _first_by_tradeoff(place: str, statement: str, table: str, last: float = 0.9) -> Claim:
    """Return whether DE is first up to one trade-off, and RS-NN beyond it."""
    first = {line.tradeoff: line.models[0] for line in RANKINGS[table]}
    return printed_claim(
        place,
        statement,
        f"DE first at {list(first.values()).count('DE')}, RS-NN at {list(first.values()).count('RS-NN')} of "
        f"{len(first)} trade-offs",
        holds(name == ("DE" if tradeoff <= last else "RS-NN") for tradeoff, name in first.items()),
    )


def _top_two(
    claim: tuple[str, str], pair: set[str], rankings: Mapping[str, Sequence[PrintedRanking]]
) -> Claim:
    """Return whether two models are the first two sets at all trade-offs."""
    counts = {name: sum(set(_sets(one)[:2]) == pair for one in ranking) for name, ranking in rankings.items()}
    return printed_claim(
        *claim,
        "top two " + ", ".join(f"by {name} at {count} of 10 trade-offs" for name, count in counts.items()),
        holds(count == 10 for count in counts.values()),
    )


def _wrong_above_right(sets: Mapping[str, Mapping[str, Printed]]) -> Claim:
    """Return whether wrong predictions have the larger means; E-CNN's NS is excepted in the text."""
    parts = {"KL": "distance", "NS": "imprecision"}
    off = [
        f"{data}, {name}, {label}"
        for data, rows in sets.items()
        for name, row in rows.items()
        for label, part in parts.items()
        if getattr(row, f"{part}_wrong") <= getattr(row, f"{part}_right")
    ]
    return printed_claim(
        *WRONG_LARGER,
        f"larger in all rows but {', '.join(off) or 'none'} (1.608 right, 1.607 wrong)",
        holds(text.endswith("E-CNN, NS") for text in off),
    )


def _low_on_wrong() -> Claim:
    rows = SCORES["CIFAR-10"]
    order = sorted(rows, key=lambda name: _score(rows[name], "wrong"))
    return printed_claim(
        "C25 F.3, Table 7",
        "RS-NN and DE have low E on both right and wrong predictions",
        f"CIFAR-10, wrong: RS-NN {shown(_score(rows['RS-NN'], 'wrong'))}, number "
        f"{order.index('RS-NN') + 1} of "
        f"{len(order)}; DE {shown(_score(rows['DE'], 'wrong'))}, number {order.index('DE') + 1}",
        holds(order.index(name) < len(order) / 2 for name in ("RS-NN", "DE")),
    )


def _constant_on_mnist() -> Claim:
    rows = TABLE_8["MNIST"]
    factors = {name: rows[1.0][name][0] / rows[0.1][name][0] for name in SET_MODELS if name != "E-CNN"}
    return printed_claim(
        "C25 F.4, Fig. 11d, Table 8",
        "on MNIST all models but E-CNN have nearly the same E at all trade-offs",
        "E at 1 over E at 0.1: " + ", ".join(f"{name} {factor:.1f}" for name, factor in factors.items()),
        holds(factor < 1.5 for factor in factors.values()),
    )


def _best_on_cifar100() -> Claim:
    first = [line.models[0] for line in RANKINGS["10 CIFAR-100"]]
    return printed_claim(
        "C25 F.4, Table 10",
        "on CIFAR-100 LB-BNN is best at almost all trade-offs",
        f"at {first.count('LB-BNN')} of 10; DE at {first.count('DE')}, RS-NN at {first.count('RS-NN')}",
        holds([first.count("LB-BNN") >= 9]),
    )


def _tightest_on_cifar100() -> Claim:
    rows = TABLE_8["CIFAR-100"]
    ratios = {
        name: tuple(rows[tradeoff][name][1] / rows[tradeoff][name][0] for tradeoff in (0.1, 1.0))
        for name in SET_MODELS
        if name in rows[0.1]
    }
    return printed_claim(
        "C25 F.4, Table 8",
        "on CIFAR-100 LB-BNN has the tightest deviations relative to its means",
        "deviation over mean at 0.1 and 1: "
        + "; ".join(f"{name} {low:.2f} and {high:.2f}" for name, (low, high) in ratios.items()),
        holds(ratios["LB-BNN"][at] == min(ratio[at] for ratio in ratios.values()) for at in (0, 1)),
    )


def _sets(ranking: PrintedRanking) -> list[str]:
    return [name for name in ranking.models if name not in POINTS]


def _samples() -> Claim:
    """Return the claim about Fig. 13, by the means of the public arrays behind it."""
    rising = {name: np.diff(list(values.values())) for name, values in FIG_13.items()}
    ends = {name: (min(values.values()), max(values.values())) for name, values in FIG_13.items()}
    text = "; ".join(f"{name} {shown(low)} to {shown(high)}" for name, (low, high) in ends.items())
    return printed_claim(
        *SAMPLES,
        f"{text} (means of the public arrays behind the figure)",
        holds(
            [
                *(bool((steps > 0).all()) for steps in rising.values()),
                ends["DE"][1] / ends["DE"][0] > ends["LB-BNN"][1] / ends["LB-BNN"][0],
            ]
        ),
    )


PRINTED = Study(
    name="c25-printed",
    title="Printed tables against each other: scores, rankings, right and wrong predictions, vertices",
    reference="C25 Tables 1 to 10, Fig. 13",
    small=TablesSize(("CIFAR-10",)),
    full=TablesSize(tuple(SCORES)),
    work=work,
)
