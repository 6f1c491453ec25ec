"""What C25 says about sets as against points, about right and wrong predictions, judged on a ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.evaluation import shown
from credibly.results.scores import EpistemicScore
from credibly.selection.lines import Lines
from credibly_studies.c25_claims import REPLACED, TREND, VAGUE, WRONG_LARGER
from credibly_studies.c25_models import Models
from credibly_studies.judging import Interval, above, below, dominance, mean_interval, normal_interval, told
from credibly_studies.outcomes import all_of
from credibly_studies.results import Claim

LARGE = 0.9
"""Share of the largest non-specificity from which on a set says next to nothing."""


def set_claims(data: str, models: Models, lines_by_mode: dict[str, Lines]) -> list[Claim]:
    """Judge what C25 says in both modes."""
    claims = []
    for mode, lines in lines_by_mode.items():
        where = f"{data}, {mode} mode"
        scores = {name: score for name, score in lines.scores.items() if score.kind != "Point"}
        claims += [wrong_is_larger(where, scores), trend(where, scores), _replaced(where, lines)]
    return [*claims, _evidential_is_vague(data, models, lines_by_mode)]


def wrong_is_larger(where: str, scores: Mapping[str, EpistemicScore]) -> Claim:
    """Judge, for every model, whether wrong predictions have the larger KL, NS and E."""
    differences = {}
    for name, score in scores.items():
        right = to_host(score.right)
        for part in ("distance", "imprecision", "total"):
            values = to_host(getattr(score, part))
            if part == "imprecision" and not values.any():
                continue  # points have none
            differences[name, part] = dominance(values[~right], values[right])
    weakest = min(differences, key=lambda name: differences[name][0])
    return Claim(
        *WRONG_LARGER,
        "",
        f"{where}: how probable it is that a wrong one has the larger value, at least: "
        f"{weakest[1]} of {weakest[0]}, {told(*differences[weakest])}",
        all_of(*(above(ends, 0.5) for _, ends in differences.values())),
    )


def correlations(score: EpistemicScore) -> dict[str, tuple[float, Interval | None]]:
    """Return Spearman's correlation of divergence and non-specificity: all, right and wrong predictions."""
    distance, imprecision, right = (
        to_host(array) for array in (score.distance, score.imprecision, score.right)
    )
    groups = {"all": np.ones_like(right), "right": right, "wrong": ~right}
    return {name: rank_correlation(distance[rows], imprecision[rows]) for name, rows in groups.items()}


def trend(where: str, scores: Mapping[str, EpistemicScore]) -> Claim:
    """Judge "in general" on all predictions; right and wrong ones stand beside."""
    values = {name: correlations(score) for name, score in scores.items()}
    words = "; ".join(
        f"{name} {told(*value['all'])}, right {shown(value['right'][0])}, wrong {shown(value['wrong'][0])}"
        for name, value in values.items()
    )
    return Claim(
        *TREND,
        "a positive trend in general",
        f"{where}, rank correlations: {words}",
        all_of(*(above(value["all"][1]) for value in values.values())),
        "among wrong predictions alone the correlation is negative: there a wider set reaches nearer to the "
        "label"
        if any(value["wrong"][0] < 0 for value in values.values())
        else "",
    )


def rank_correlation(first: HostArray, second: HostArray) -> tuple[float, Interval | None]:
    """Return Spearman's correlation with Fisher's interval (Bonett and Wright 2000)."""
    from scipy.stats import spearmanr

    value = float(spearmanr(first, second).statistic)
    n = len(first)
    if n < 10 or math.isnan(value) or abs(value) >= 1:
        return value, None
    low, high = normal_interval(math.atanh(value), math.sqrt((1 + value * value / 2) / (n - 3)))
    return value, (math.tanh(low), math.tanh(high))


def _against(lines: Lines, tradeoff: float, first: str, second: str) -> tuple[float, Interval | None]:
    """Return the mean score of one model minus that of another, with the interval of paired instances."""
    scored = {
        **lines.scores,
        **{f"{name} Avg": score.average for name, score in lines.scores.items() if score.average is not None},
    }
    parts = [to_host(scored[name].distance + tradeoff * scored[name].imprecision) for name in (first, second)]
    change = parts[0] - parts[1]
    return float(change.mean()), mean_interval(change)


def _replaced(where: str, lines: Lines) -> Claim:
    """Judge whether a set is first at trade-off 0.1 and a point at 1; ties decide nothing."""
    first, point = lines.order(0.1)[0], lines.order(math.inf)[0]
    best = lines.order(1.0, points=False)[0]
    low, high = _against(lines, 0.1, first, point), _against(lines, 1.0, point, best)
    is_set = not lines.is_point[lines.names.index(first)]
    return Claim(
        *REPLACED,
        "",
        f"{where}: at 0.1 {first} first, minus the best point {told(*low)}; at 1 {point} minus the best set, "
        f"{best}, {told(*high)}",
        all_of(below(low[1]) if is_set else "not confirmed", below(high[1])),
    )


def _evidential_is_vague(data: str, models: Models, lines_by_mode: dict[str, Lines]) -> Claim:
    largest = math.log(models.models["evidential"].n_classes)
    shares = {}
    for mode, lines in lines_by_mode.items():
        spread = lines.scores["evidential"].summary["imprecision"]["all"]
        shares[mode] = spread.mean / largest, normal_interval(spread.mean / largest, spread.stderr / largest)
    outcome = above(shares["exact"][1], LARGE)
    return Claim(
        *VAGUE,
        "",
        f"{data}: share of the largest NS of an evidential model: drawn as in C25's code "
        f"{told(*shares['paper'])}; draws of its own Dirichlet {told(*shares['exact'])}",
        outcome,
        ""
        if outcome == "confirmed"
        else "C25's code draws from Dir(alpha / sum alpha), which discards how sure the model was",
    )
