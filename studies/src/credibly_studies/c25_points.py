"""C25's rows on CIFAR-10 whose predictions are public, scored again: four kinds of points, RS-NN and EDL."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.namespace import HostArray, to_host
from credibly.evaluation import shown
from credibly.io import read_json_object
from credibly.plots import picture, whole_figure
from credibly.predictions import Belief, Dirichlet, Point
from credibly.results.scores import EpistemicScore
from credibly.selection import epistemic_score
from credibly.selection.lines import Ranking
from credibly.statistics import accuracy, confidence_ece
from credibly_studies import c25
from credibly_studies.c25_claims import CONFIDENCE, LOWEST_CIFAR10, REDUCES, VAGUE
from credibly_studies.c25_printed import CIFAR10_STORED, JS_POINTS, SCORES
from credibly_studies.c25_set_claims import LARGE, rank_correlation, trend, wrong_is_larger
from credibly_studies.c25_sets import trends
from credibly_studies.inputs import public_arrays, public_data
from credibly_studies.judging import (
    Interval,
    above,
    below,
    denied,
    holds,
    mean_interval,
    normal_interval,
    told,
)
from credibly_studies.outcomes import all_of
from credibly_studies.paper_settings import as_in
from credibly_studies.results import Cell, Claim, Findings, StudyTable
from credibly_studies.study import Run, Study

DIGITS = 5.1e-4
"""Half of the last printed digit of means and deviations."""

RSNN, EDL = "RS-NN", "EDL"

MODES = ("paper", "exact")
_DIVERGENCES: tuple[c25.Divergence, ...] = ("kl", "js")
TRADEOFFS = (0.1, 0.5, 1.0)


@dataclasses.dataclass(frozen=True)
class PointsSize:
    """How large the study is.

    Parameters
    ----------
    draws : int
        Bootstrap draws behind the ties of the rankings.
    rows : int
        Instances of RS-NN and EDL.
    """

    draws: int
    rows: int = 10_000


@dataclasses.dataclass(frozen=True)
class Stored:
    """The public predictions, those with corrupt rows without these."""

    models: dict[str, Point]
    labels: dict[str, HostArray]
    corrupt: dict[str, HostArray]
    raw: dict[str, HostArray]
    all_labels: HostArray
    budget: list[set[int]]

    def sets(self, rows: int) -> dict[str, Belief | Dirichlet]:
        """Return the public predictions of sets: RS-NN by its masses, EDL by its Dirichlet parameters.

        Negative masses of RS-NN are clamped as C25's code does it: the rest goes to the set of all classes,
        and the masses are normalised.
        """
        (beliefs,), (alpha,) = (
            public_arrays(f"cifar10/{name}.npy") for name in ("rsnn_beliefs", "edl_alpha")
        )
        return {
            RSNN: Belief.from_beliefs(beliefs[:rows], self.budget, n_classes=10, negative="clamp"),
            EDL: Dirichlet(alpha[:rows]),
        }


def stored() -> Stored:
    """Return what is public: probabilities of four models, labels, the list of focal sets."""
    (labels,) = public_arrays("cifar10/labels.npy")
    sets_file = read_json_object(str(public_data("cifar10", "focal_sets.json")))
    raw = {name: public_arrays(f"cifar10/{file}.npy")[0] for name, file in CIFAR10_STORED.items()}
    models, own_sets, corrupt = {}, {}, {}
    for name, probs in raw.items():
        kept = np.arange(len(probs))
        try:
            models[name] = Point(probs)
        except InvalidRowsError as error:
            corrupt[name] = np.asarray(error.rows)
            kept = np.setdiff1d(kept, corrupt[name])
            models[name] = Point(probs[kept])
        own_sets[name] = labels[kept]
    return Stored(
        models, own_sets, corrupt, raw, labels, [set(members) for members in sets_file["focal_sets"]]
    )


def as_published(probs: HostArray, labels: HostArray) -> tuple[HostArray, HostArray]:
    """Return distances and hits the way the published code takes them: no row is checked."""
    distance = -np.log(np.clip(probs[np.arange(len(labels)), labels].astype(np.float64), c25.CLIP, None))
    return distance, probs.argmax(axis=1) == labels


def work(size: PointsSize, run: Run) -> Findings:
    """Score the public predictions in both modes and rank them."""
    files = stored()
    scores = {
        (name, mode): c25.score(model, files.labels[name], budget=files.budget)
        if mode == "paper"
        else epistemic_score(model, files.labels[name], dependences=False)
        for name, model in files.models.items()
        for mode in MODES
    }
    sets = _set_scores(files, size.rows)
    whole = {name: model for name, model in files.models.items() if name not in files.corrupt}
    by_kl, by_js = (
        c25.rank_models(
            whole,
            files.all_labels,
            tradeoffs=TRADEOFFS,
            budget=files.budget,
            divergence=divergence,
            n_resamples=size.draws,
            rng=run.seed[0],
        )
        for divergence in _DIVERGENCES
    )
    rows = [_row(name, mode, score, files) for (name, mode), score in scores.items()]
    columns = (
        "model", "mode", "n", "infinite", "accuracy", "ECE", "printed KL", "KL = E", "interval", "std",
        "right", "right, interval", "wrong", "wrong, interval",
    )  # fmt: skip
    tables = (
        StudyTable("scores", "Points on CIFAR-10: E is the distance, with 95 % intervals", columns, rows),
        _by_divergence(by_kl, by_js),
        _sets_table(sets),
        trends({name: score for name, score in sets.items() if name in (RSNN, EDL)}),
    )
    drawings = {"violins": lambda: _violins(scores)}
    claims = [*_set_claims(sets, files), *_claims(files, scores, by_kl, by_js)]
    return Findings(tables, claims, drawings)


DEFAULT = f"{EDL}, default list"


def _set_scores(files: Stored, rows: int) -> dict[str, EpistemicScore]:
    """Score RS-NN and EDL as in C25; EDL on the paper's focal list, and on the default one."""
    sets, labels = files.sets(rows), files.all_labels[:rows]
    return {
        RSNN: c25.score(sets[RSNN], labels),
        EDL: c25.score(sets[EDL], labels, budget=files.budget),
        DEFAULT: c25.score(sets[EDL], labels),
    }


def _sets_table(sets: dict[str, EpistemicScore]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for name, score in sets.items():
        printed = SCORES["CIFAR-10"].get(name.split(",")[0])
        assert printed is not None
        cells: list[Cell] = []
        for part, known in (
            ("distance", printed.distance),
            ("imprecision", printed.imprecision),
            ("total", printed.score),
        ):
            summary = score.summary[part]
            cells += [
                known,
                summary["all"].mean,
                summary["all"].std,
                summary["right"].mean,
                summary["wrong"].mean,
            ]
        rows.append((name, score.n, *cells))
    columns = ["model", "n"]
    for part in ("KL", "NS", "E"):
        columns += [f"printed {part}", part, f"{part}, std", f"{part}, right", f"{part}, wrong"]
    return StudyTable("sets", "RS-NN and EDL on CIFAR-10, as in C25", tuple(columns), rows)


def _set_claims(sets: dict[str, EpistemicScore], files: Stored) -> list[Claim]:
    """Judge what C25 says about sets by the public predictions of RS-NN and EDL."""
    scores = {name: sets[name] for name in (RSNN, EDL)}
    where = f"{sets[RSNN].n} public predictions of CIFAR-10"
    imprecision, largest = sets[EDL].summary["imprecision"], math.log(10)
    shares: dict[str, tuple[float, Interval]] = {
        group: (estimate.mean / largest, normal_interval(estimate.mean / largest, estimate.stderr / largest))
        for group, estimate in imprecision.items()
    }
    confidence = {
        name: rank_correlation(to_host(score.imprecision), to_host(score.confidence))
        for name, score in scores.items()
    }
    point, _ = as_published(files.raw["DDU"], files.all_labels)
    behind = to_host(sets[RSNN].total) - point[: sets[RSNN].n]
    return [
        _reproduced(RSNN, sets[RSNN], DIGITS + 2e-5),
        _reproduced(EDL, sets[EDL], 2.5e-3),
        Claim(
            "C25 Table 1",
            "the printed digits of EDL need the paper's list of focal sets",
            "",
            f"E {shown_digits(sets[EDL])} with it, {shown_digits(sets[DEFAULT])} with the default list; "
            f"printed {SCORES['CIFAR-10'][EDL].score}",
            holds(
                [
                    abs(float(sets[EDL]) - SCORES["CIFAR-10"][EDL].score)
                    < abs(float(sets[DEFAULT]) - SCORES["CIFAR-10"][EDL].score)
                ]
            ),
            further=True,
        ),
        trend(where, scores),
        wrong_is_larger(where, scores),
        Claim(
            *VAGUE,
            "",
            f"{where}, NS of EDL as a share of the largest: "
            + ", ".join(f"{group} {told(*share)}" for group, share in shares.items()),
            all_of(*(above(shares[group][1], LARGE) for group in ("right", "wrong"))),
            "E-CNN is not public",
        ),
        Claim(
            *LOWEST_CIFAR10,
            "",
            f"{where}: E of RS-NN minus that of DDU {told(float(behind.mean()), mean_interval(behind))}",
            below(mean_interval(behind)),
        ),
        Claim(
            *CONFIDENCE,
            "heat maps",
            f"{where}, rank correlations "
            + "; ".join(f"{name} {told(*value)}" for name, value in confidence.items()),
            denied(all_of(*(below(value[1], -0.5) for value in confidence.values()))),
        ),
    ]


def shown_digits(score: EpistemicScore) -> str:
    """Write a mean with the digits that are printed."""
    return f"{float(score):.3f}"


def _reproduced(name: str, score: EpistemicScore, most: float) -> Claim:
    """Compare means of KL, NS and E, of all, right and wrong predictions, with the printed ones."""
    printed = SCORES["CIFAR-10"][name]
    pairs = [
        (summary.mean, getattr(printed, f"{part}{'' if group == 'all' else f'_{group}'}"))
        for part in ("distance", "imprecision")
        for group, summary in score.summary[part].items()
    ]
    pairs.append((score.summary["total"]["all"].mean, printed.score))
    agree = [abs(number - other) < most for number, other in pairs]
    return Claim(
        "C25 Tables 1 and 7",
        f"{name} on CIFAR-10: the printed digits come out",
        "",
        f"{sum(agree)} of {len(agree)} means; KL {pairs[0][0]:.4f}, NS {pairs[3][0]:.4f}, E "
        f"{pairs[6][0]:.4f} "
        f"(printed {printed.distance}, {printed.imprecision}, {printed.score})",
        holds(agree),
        "" if name == RSNN else "draws differ: equal within their error",
        further=True,
    )


def _row(name: str, mode: str, score: EpistemicScore, files: Stored) -> tuple[Cell, ...]:
    point, labels = files.models[name], files.labels[name]
    ece = as_in("C25", confidence_ece) if mode == "paper" else confidence_ece
    spreads = [score.summary["distance"][group] for group in ("all", "right", "wrong")]
    ends = [
        normal_interval(spread.mean, spread.stderr) if math.isfinite(spread.mean) else None
        for spread in spreads
    ]
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
    scores_of_paper = {name: score for (name, mode), score in scores.items() if mode == "paper"}
    return whole_figure(picture(scores_of_paper, "violins", part="distance").draw())


def _claims(
    files: Stored, scores: dict[tuple[str, str], EpistemicScore], by_kl: Ranking, by_js: Ranking
) -> list[Claim]:
    claims = []
    for name in files.models:
        printed, score = SCORES["CIFAR-10"][name], scores[name, "paper"]
        parts = {group: score.summary["distance"][group] for group in ("all", "right", "wrong")}
        known = {"all": printed.distance, "right": printed.distance_right, "wrong": printed.distance_wrong}
        agree = [abs(parts["all"].std - printed.distance_std) < DIGITS]
        agree += [abs(parts[group].mean - known[group]) < DIGITS for group in ("all", "right", "wrong")]
        evidence = f"{parts['all']} of {score.n} rows; right {parts['right']}, wrong {parts['wrong']}"
        claims.append(
            Claim(
                "C25 Tables 1 and 7",
                f"{name} on CIFAR-10: the printed digits come out",
                "",
                f"{evidence} (printed {printed.distance} ± {printed.distance_std}; {printed.distance_right}, "
                f"{printed.distance_wrong})",
                holds(agree),
                ""
                if all(agree)
                else f"{len(files.corrupt.get(name, ()))} rows are not distributions and were left out",
                further=True,
            )
        )
    claims += [_corrupt_claim(name, rows, files) for name, rows in files.corrupt.items()]
    # exact distances of a probability stored as 0 are infinite; clipped ones have means
    points = {name: scores[name, "paper"] for name in files.models}
    claims.append(wrong_is_larger("points of CIFAR-10", points))
    largest = max(float(np.abs(to_host(point.total - point.distance)).max()) for point in points.values())
    claims.append(
        Claim(
            *REDUCES,
            "stated",
            f"points of CIFAR-10: E and KL of an instance differ by at most {shown(largest)}",
            holds([largest == 0]),
            "exact",
        )
    )
    standing = by_js.at(1.0)
    first, second = standing.names[:2]
    ends = (float(standing.intervals[1][0]), float(standing.intervals[1][1]))
    claims.append(
        Claim(
            "C25 Table 5",
            "by JS SNN is better than DE Avg",
            "",
            f"{first} before {second}, by {told(float(standing.differences[1]), ends)} (printed 0.098 "
            "and 0.099)",
            "confirmed"
            if (first, second) == ("SNN", "DE Avg") and ends[0] > 0
            else "cannot tell"
            if ends[0] <= 0 <= ends[1]
            else "not confirmed",
            "10 000 images do not separate the two; the table has no intervals" if ends[0] <= 0 else "",
            further=True,
        )
    )
    claims.append(
        Claim(
            "C25 Table 5",
            "by KL the points rank DE Avg, DDU, SNN",
            "",
            ", ".join(f"{name} ({by_kl.at(1.0).place(name)})" for name in by_kl.order(1.0))
            + " (printed 0.195, 0.309, 0.481)",
            holds(
                [
                    by_kl.order(1.0) == ("DE Avg", "DDU", "SNN"),
                    all(
                        by_kl.at(1.0).place(name) == str(place)
                        for place, name in enumerate(by_kl.order(1.0), 1)
                    ),
                ]
            ),
            further=True,
        )
    )
    return claims


def _corrupt_claim(name: str, rows: HostArray, files: Stored) -> Claim:
    printed = SCORES["CIFAR-10"][name]
    distance, right = as_published(files.raw[name], files.all_labels)
    agree = [
        abs(distance.mean() - printed.distance) < DIGITS,
        abs(distance.std(ddof=1) - printed.distance_std) < DIGITS,
        abs(distance[right].mean() - printed.distance_right) < DIGITS,
        abs(distance[~right].mean() - printed.distance_wrong) < DIGITS,
    ]
    sums = files.raw[name][rows].sum(axis=1, dtype=np.float64)
    return Claim(
        "C25 Tables 1 and 7",
        f"{name}: the printed row is about predicted distributions",
        "",
        f"printed {printed.distance} ± {printed.distance_std}; these digits come out only with "
        f"{len(rows)} rows that sum to {sums.min():.0f} to "
        f"{sums.max():.0f} taken as they are: {distance.mean():.3f} ± {distance.std(ddof=1):.3f}",
        holds([not all(agree)]),
        "without a check of the input, the label of such a row has probability 1 and counts as predicted",
        further=True,
    )


POINTS = Study(
    name="c25-points",
    title="Averages, single networks, RS-NN and EDL on CIFAR-10: C25's public predictions",
    reference="C25 Tables 1 to 3 and 7, Figs. 8 and 17, rankings by KL and JS",
    small=PointsSize(200, 1000),
    full=PointsSize(2000),
    work=work,
    design="as printed",
    needs=("data",),
)
