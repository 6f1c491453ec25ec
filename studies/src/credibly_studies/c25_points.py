"""C25's rows of models that predict one distribution, on CIFAR-10: its public predictions, scored again."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.namespace import HostArray, to_host
from credibly.io import read_json_object
from credibly.plots import picture, whole_figure
from credibly.predictions import Point
from credibly.results.scores import EpistemicScore
from credibly.selection import epistemic_score, rank_models
from credibly.selection.settings import CLIP, Paper
from credibly.selection.standings import Ranking
from credibly.statistics import accuracy, confidence_ece
from credibly_studies.c25_printed import CIFAR10_STORED, JS_POINTS, SCORES
from credibly_studies.inputs import public_arrays, public_data
from credibly_studies.judging import Interval, above, difference_interval, holds, normal_interval, told
from credibly_studies.outcomes import all_of
from credibly_studies.paper_settings import as_in
from credibly_studies.results import Cell, Claim, Findings, StudyTable
from credibly_studies.study import Run, Study

DIGITS = 5.1e-4
"""Half of the last printed digit of means and deviations."""

MODES: dict[str, Paper | None] = {"paper": "C25", "exact": None}
TRADEOFFS = (0.1, 0.5, 1.0)


@dataclasses.dataclass(frozen=True)
class PointsSize:
    """How large the study is.

    Parameters
    ----------
    draws : int
        Bootstrap draws behind the ties of the rankings.
    """

    draws: int


@dataclasses.dataclass(frozen=True)
class Stored:
    """The public predictions, those with corrupt rows without these."""

    models: dict[str, Point]
    labels: dict[str, HostArray]
    corrupt: dict[str, HostArray]
    raw: dict[str, HostArray]
    all_labels: HostArray
    budget: list[set[int]]


def stored() -> Stored:
    """Return what is public: probabilities of four models, labels, the list of focal sets."""
    (labels,) = public_arrays("cifar10/labels.npy")
    held = read_json_object(str(public_data("cifar10", "focal_sets.json")))
    raw = {name: public_arrays(f"cifar10/{file}.npy")[0] for name, file in CIFAR10_STORED.items()}
    models, own, corrupt = {}, {}, {}
    for name, probs in raw.items():
        kept = np.arange(len(probs))
        try:
            models[name] = Point(probs)
        except InvalidRowsError as error:
            corrupt[name] = np.asarray(error.rows)
            kept = np.setdiff1d(kept, corrupt[name])
            models[name] = Point(probs[kept])
        own[name] = labels[kept]
    return Stored(models, own, corrupt, raw, labels, [set(members) for members in held["focal_sets"]])


def as_published(probs: HostArray, labels: HostArray) -> tuple[HostArray, HostArray]:
    """Return distances and hits the way the published code takes them: no row is checked."""
    distance = -np.log(np.clip(probs[np.arange(len(labels)), labels].astype(np.float64), CLIP, None))
    return distance, probs.argmax(axis=1) == labels


def work(size: PointsSize, run: Run) -> Findings:
    """Score the public predictions in both modes and rank them."""
    held = stored()
    scores = {
        (name, mode): epistemic_score(
            model, held.labels[name], paper=paper, budget=held.budget if paper else None, dependences=False
        )
        for name, model in held.models.items()
        for mode, paper in MODES.items()
    }
    whole = {name: model for name, model in held.models.items() if name not in held.corrupt}
    by_kl, by_js = (
        rank_models(
            whole,
            held.all_labels,
            tradeoffs=TRADEOFFS,
            paper="C25",
            budget=held.budget,
            divergence=divergence,
            n_resamples=size.draws,
            rng=run.seed[0],
        )
        for divergence in ("kl", "js")
    )
    rows = [_row(name, mode, score, held) for (name, mode), score in scores.items()]
    columns = (
        "model", "mode", "n", "infinite", "accuracy", "ECE", "printed KL", "KL = E", "interval", "std",
        "right", "right, interval", "wrong", "wrong, interval",
    )  # fmt: skip
    tables = (
        StudyTable("scores", "Points on CIFAR-10: E is the distance, with 95 % intervals", columns, rows),
        _by_divergence(by_kl, by_js),
    )
    drawings = {"violins": lambda: _violins(scores)}
    return Findings(tables, _claims(held, scores, by_kl, by_js), drawings)


def _row(name: str, mode: str, score: EpistemicScore, held: Stored) -> tuple[Cell, ...]:
    point, labels = held.models[name], held.labels[name]
    ece = as_in("C25", confidence_ece) if mode == "paper" else confidence_ece
    spreads = [score.summary["distance"][group] for group in ("all", "right", "wrong")]
    ends = [normal_interval(one.mean, one.stderr) if math.isfinite(one.mean) else None for one in spreads]
    return (
        name, mode, score.n, score.n_infinite, float(accuracy(point, labels)),
        float(ece(point, labels)),
        SCORES["CIFAR-10"][name].distance, spreads[0].mean, ends[0], spreads[0].std,
        spreads[1].mean, ends[1], spreads[2].mean, ends[2],
    )  # fmt: skip


def _by_divergence(by_kl: Ranking, by_js: Ranking) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for divergence, ranking in (("KL", by_kl), ("root of JS", by_js)):
        standing = ranking.at(1.0)
        for place, name in enumerate(standing.names):
            low, high = (float(end) for end in standing.intervals[place])
            printed = JS_POINTS[name] if ranking is by_js else SCORES["CIFAR-10"][name].distance
            rows.append(
                (divergence, name, printed, float(standing.scores[place]), standing.place(name), (low, high))
            )
    columns = ("distance", "model", "printed mean", "mean", "place", "behind the first, interval")
    return StudyTable("ranking", "Order of the points with ties (joint 95 % intervals)", columns, rows)


def _violins(scores: dict[tuple[str, str], EpistemicScore]) -> Any:
    own = {name: score for (name, mode), score in scores.items() if mode == "paper"}
    return whole_figure(picture(own, "violins", part="distance").draw())


def _claims(
    held: Stored, scores: dict[tuple[str, str], EpistemicScore], by_kl: Ranking, by_js: Ranking
) -> list[Claim]:
    claims = []
    for name in held.models:
        printed, score = SCORES["CIFAR-10"][name], scores[name, "paper"]
        parts = {group: score.summary["distance"][group] for group in ("all", "right", "wrong")}
        known = {"all": printed.distance, "right": printed.distance_right, "wrong": printed.distance_wrong}
        agree = [abs(parts["all"].std - printed.distance_std) < DIGITS]
        agree += [abs(parts[group].mean - known[group]) < DIGITS for group in ("all", "right", "wrong")]
        found = f"{parts['all']} of {score.n} rows; right {parts['right']}, wrong {parts['wrong']}"
        claims.append(
            Claim(
                "C25 Tables 1 and 7",
                f"{name} on CIFAR-10: mean and deviation of KL and E, of all, right and wrong predictions",
                f"{printed.distance} ± {printed.distance_std}; {printed.distance_right}, "
                f"{printed.distance_wrong}",
                found,
                holds(agree),
                ""
                if all(agree)
                else f"{len(held.corrupt.get(name, ()))} rows are not distributions and were left out.",
            )
        )
    claims += [_corrupt_claim(name, rows, held) for name, rows in held.corrupt.items()]
    # exact distances of a probability stored as 0 are infinite; clipped ones have means
    wrong_larger = {name: _difference(scores[name, "paper"]) for name in held.models}
    claims.append(
        Claim(
            "C25 F.3, Table 7",
            "Wrong predictions lie further off than right ones, for every point model on CIFAR-10",
            "0.021 and 4.735 for SNN",
            "; ".join(f"{name} {told(value, ends)} more" for name, (value, ends) in wrong_larger.items()),
            all_of(*(above(ends) for _, ends in wrong_larger.values())),
        )
    )
    standing = by_js.at(1.0)
    first, second = standing.names[:2]
    ends = (float(standing.intervals[1][0]), float(standing.intervals[1][1]))
    claims.append(
        Claim(
            "C25 Table 5",
            "By JS SNN is better than DE Avg",
            "0.098 and 0.099",
            f"{first} before {second}, by {told(float(standing.differences[1]), ends)}",
            "confirmed"
            if (first, second) == ("SNN", "DE Avg") and ends[0] > 0
            else "cannot tell"
            if ends[0] <= 0 <= ends[1]
            else "not confirmed",
            "10 000 images do not separate the two; the table has no intervals." if ends[0] <= 0 else "",
        )
    )
    claims.append(
        Claim(
            "C25 Table 5",
            "By KL the points rank DE Avg, DDU, SNN",
            "0.195, 0.309, 0.481",
            ", ".join(f"{name} ({by_kl.at(1.0).place(name)})" for name in by_kl.order(1.0)),
            holds(
                [
                    by_kl.order(1.0) == ("DE Avg", "DDU", "SNN"),
                    all(
                        by_kl.at(1.0).place(name) == str(place)
                        for place, name in enumerate(by_kl.order(1.0), 1)
                    ),
                ]
            ),
        )
    )
    return claims


def _difference(score: EpistemicScore) -> tuple[float, Interval | None]:
    distance, right = to_host(score.distance), to_host(score.right)
    wrong, hit = distance[~right], distance[right]
    return float(wrong.mean() - hit.mean()), difference_interval(wrong, hit)


def _corrupt_claim(name: str, rows: HostArray, held: Stored) -> Claim:
    printed = SCORES["CIFAR-10"][name]
    distance, right = as_published(held.raw[name], held.all_labels)
    agree = [
        abs(distance.mean() - printed.distance) < DIGITS,
        abs(distance.std(ddof=1) - printed.distance_std) < DIGITS,
        abs(distance[right].mean() - printed.distance_right) < DIGITS,
        abs(distance[~right].mean() - printed.distance_wrong) < DIGITS,
    ]
    sums = held.raw[name][rows].sum(axis=1, dtype=np.float64)
    return Claim(
        "C25 Tables 1 and 7",
        f"{name}: the printed row is about predicted distributions",
        f"{printed.distance} ± {printed.distance_std}",
        f"the printed digits come out only with {len(rows)} rows that sum to {sums.min():.0f} to "
        f"{sums.max():.0f} taken as they are: {distance.mean():.3f} ± {distance.std(ddof=1):.3f}",
        holds([not all(agree)]),
        "Without a check of the input, the label of such a row has probability 1 and counts as predicted.",
    )


POINTS = Study(
    name="c25-points",
    title="Averages and single networks on CIFAR-10, paper mode and exact mode side by side",
    reference="C25 Tables 1 to 3, rankings by KL and JS",
    small=PointsSize(200),
    full=PointsSize(2000),
    work=work,
    design="as printed",
    needs=("data",),
)
