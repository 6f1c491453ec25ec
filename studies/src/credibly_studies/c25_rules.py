"""Rules that tie printed numbers of C25 to each other, checked within what rounding allows."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping

from credibly_studies.c25_printed import BY_ENTROPY, BY_JS, SCORES, TABLE_8, VERTICES, Printed, PrintedRanking

Scores = Mapping[str, Mapping[str, Printed]]
"""Printed rows by data set and model."""

PrintedLines = Mapping[str, tuple[float, float]]
"""Mean distance and mean imprecision by model."""

HALF = 0.5e-3
"""Half of the last printed digit."""

NATS_PER_BIT = math.log(2.0)


@dataclasses.dataclass(frozen=True)
class Checked:
    """One printed number, and what other printed numbers say it must be.

    `gap` is how far it lies outside of what rounding allows; 0 where it agrees.
    """

    where: str
    printed: float
    expected: float
    gap: float


def _compared(where: str, printed: float, expected: float, slack: float) -> Checked:
    gap = abs(printed - expected) - slack
    return Checked(where, printed, expected, gap if gap > 1e-9 else 0.0)


def sums_of_scores(scores: Scores) -> Iterator[Checked]:
    """E = KL + NS at trade-off 1."""
    for data, rows in scores.items():
        for name, row in rows.items():
            where = f"{data}, {name}"
            yield _compared(f"{where}, E", row.score, row.distance + row.imprecision, 3 * HALF)


def mixtures(scores: Scores) -> Iterator[Checked]:
    """The mean over all is that of right and wrong predictions, weighted by the accuracy."""
    for data, rows in scores.items():
        for name, row in rows.items():
            for part in ("distance", "imprecision"):
                right, wrong = (getattr(row, f"{part}_{group}") for group in ("right", "wrong"))
                expected = row.accuracy * right + (1 - row.accuracy) * wrong
                # the accuracy is rounded too, to 0.005 %
                slack = 2 * HALF + 0.5e-4 * abs(wrong - right)
                yield _compared(f"{data}, {name}, {part}", getattr(row, part), expected, slack)


def deviations(scores: Scores) -> Iterator[Checked]:
    """The deviation of a sum lies between difference and sum of the deviations."""
    for data, rows in scores.items():
        for name, row in rows.items():
            least = abs(row.distance_std - row.imprecision_std)
            most = row.distance_std + row.imprecision_std
            nearest = min(max(row.score_std, least), most)
            yield _compared(f"{data}, {name}, std of E", row.score_std, nearest, 3 * HALF)


def tradeoffs(scores: Scores) -> Iterator[Checked]:
    """Table 8: means are KL + trade-off * NS, deviations between difference and sum of those of the parts."""
    for data, rows in scores.items():
        for tradeoff, models in TABLE_8[data].items():
            for name, (mean, std) in models.items():
                row = rows[name]
                where = f"Table 8, {data}, {name} at {tradeoff:g}"
                expected = row.distance + tradeoff * row.imprecision
                yield _compared(where, mean, expected, (2 + tradeoff) * HALF)
                other = tradeoff * row.imprecision_std
                nearest = min(max(std, abs(row.distance_std - other)), row.distance_std + other)
                yield _compared(f"{where}, std", std, nearest, (2 + tradeoff) * HALF)


def ranked_scores(table: str, ranking: PrintedRanking, lines: PrintedLines) -> list[Checked]:
    """Compare printed mean scores with distance + trade-off * imprecision of printed means."""
    checks = []
    for name, score in zip(ranking.models, ranking.scores, strict=True):
        distance, imprecision = lines[name]
        expected = distance + ranking.tradeoff * imprecision
        where = f"Table {table}, {name} at {ranking.tradeoff:g}"
        checks.append(_compared(where, score, expected, (2 + ranking.tradeoff) * HALF))
    return checks


def ranked_order(table: str, ranking: PrintedRanking, lines: PrintedLines) -> list[Checked]:
    """Compare the printed order with that of the same sums: nobody stands before a better one."""
    expected = [d + ranking.tradeoff * i for d, i in (lines[name] for name in ranking.models)]
    checks = []
    for place, (first, second) in enumerate(itertools.pairwise(expected)):
        where = f"Table {table}, places {place + 1} and {place + 2} at {ranking.tradeoff:g}"
        gap = first - second - 2 * (1 + ranking.tradeoff) * HALF
        checks.append(Checked(where, first, second, max(gap, 0.0)))
    return checks


def lines_by_js() -> dict[str, tuple[float, float]]:
    """Return the mean root of JS (its printed score at 0.1 less a tenth of the NS) and the NS, by model."""
    first = BY_JS[0]
    scores = dict(zip(first.models, first.scores, strict=True))
    rows = SCORES["CIFAR-10"]
    return {
        name: (scores[name] - first.tradeoff * rows[name].imprecision, rows[name].imprecision)
        for name in scores
    }


def lines_by_entropy() -> dict[str, tuple[float, float]]:
    """Return KL, and the entropy gap that the printed score at trade-off 1 implies, by model."""
    last = BY_ENTROPY[-1]
    scores = dict(zip(last.models, last.scores, strict=True))
    rows = SCORES["CIFAR-10"]
    return {name: (rows[name].distance, scores[name] - rows[name].distance) for name in scores}


def vertex_rows() -> Iterator[Checked]:
    """Table 4: E = KL + NS; NS does not depend on vertices, nor KL on which of them are listed."""
    for (model, vertices), row in VERTICES.items():
        for place, group in enumerate(("right", "wrong")):
            expected = row.distance[place] + row.imprecision[place]
            where = f"Table 4, {model}, {vertices} vertices, {group}"
            yield _compared(f"{where}, E", row.score[place], expected, 3 * HALF)
    for model in ("LB-BNN", "DE"):
        few, all_of_them = VERTICES[model, "2k"], VERTICES[model, "k!"]
        for part in ("distance", "imprecision"):
            for place, group in enumerate(("right", "wrong")):
                pair = getattr(few, part)[place], getattr(all_of_them, part)[place]
                yield _compared(f"Table 4, {model}, {group}, {part}", *pair, 2 * HALF)


def entropy_gap_of_rsnn() -> tuple[float, float]:
    """Return the entropy gap printed for RS-NN, and the largest that its printed NS allows, in bits.

    Sets with two classes or more hold a mass e of at most NS / ln 2, so two distributions of the set differ
    by e in total variation, and entropies by at most e log2(k - 1) + h(e) (Audenaert 2007), concave in e.
    """
    row = SCORES["CIFAR-10"]["RS-NN"]
    mass = (row.imprecision + HALF) / NATS_PER_BIT
    binary = -(mass * math.log2(mass) + (1 - mass) * math.log2(1 - mass))
    return lines_by_entropy()["RS-NN"][1], mass * math.log2(9) + binary
