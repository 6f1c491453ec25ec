"""What C25 says about sets as against points, about right and wrong predictions, judged on a ranking."""

from __future__ import annotations

import math

from credibly._arrays.namespace import HostArray, to_host
from credibly.evaluation import shown
from credibly.selection.standings import Ranking
from credibly_studies.c25_models import Models
from credibly_studies.judging import Interval, above, below, dominance, mean_interval, normal_interval, told
from credibly_studies.outcomes import all_of
from credibly_studies.results import Claim

VAGUE = 0.9
"""Share of the largest non-specificity from which on a set says next to nothing."""


def set_claims(data: str, held: Models, rankings: dict[str, Ranking]) -> list[Claim]:
    """Judge what C25 says in both modes."""
    claims = []
    for mode, ranking in rankings.items():
        where = f"{data}, {mode} mode"
        claims += [
            _wrong_is_larger(where, ranking),
            _wide_sets_are_near(where, ranking),
            _low_tradeoffs_like_sets(where, ranking),
            _high_tradeoffs_like_points(where, ranking),
        ]
    return [*claims, _evidential_is_vague(data, held, rankings)]


def _wrong_is_larger(where: str, ranking: Ranking) -> Claim:
    found = {}
    for name, score in ranking.scores.items():
        if score.kind == "Point":
            continue
        right = to_host(score.right)
        for part in ("distance", "imprecision", "total"):
            values = to_host(getattr(score, part))
            found[name, part] = dominance(values[~right], values[right])
    weakest = min(found, key=lambda one: found[one][0])
    return Claim(
        f"C25 F.3, Table 7; {where}",
        "Wrong predictions have larger KL, NS and E than right ones, for every set model but E-CNN",
        "DE on CIFAR-10: NS 0.306 and 1.566",
        "how probable it is that a wrong one has the larger value, at least: "
        f"{weakest[1]} of {weakest[0]}, {told(*found[weakest])}",
        all_of(*(above(ends, 0.5) for _, ends in found.values())),
    )


def _wide_sets_are_near(where: str, ranking: Ranking) -> Claim:
    values = {}
    for name, score in ranking.scores.items():
        if score.kind == "Point":
            continue
        distance, imprecision, right = (
            to_host(array) for array in (score.distance, score.imprecision, score.right)
        )
        values[name] = rank_correlation(distance[~right], imprecision[~right])
    found = "; ".join(f"{name} {told(*one)}" for name, one in values.items())
    return Claim(
        f"C25 F.1, Fig. 8; {where}",
        "Divergence and non-specificity rise together",
        "a positive trend in general",
        f"rank correlations {found}",
        all_of(*(above(ends) for _, ends in values.values())),
        "Among wrong predictions a wider set also reaches nearer to the label."
        if any(ends is None or ends[0] <= 0 for _, ends in values.values())
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


def _against(ranking: Ranking, tradeoff: float, first: str, second: str) -> tuple[float, Interval | None]:
    """Return the mean score of one model minus that of another, with the interval of paired instances."""
    scored = {
        **ranking.scores,
        **{f"{name} Avg": one.average for name, one in ranking.scores.items() if one.average is not None},
    }
    parts = [to_host(scored[name].distance + tradeoff * scored[name].imprecision) for name in (first, second)]
    change = parts[0] - parts[1]
    return float(change.mean()), mean_interval(change)


def _low_tradeoffs_like_sets(where: str, ranking: Ranking) -> Claim:
    first, point = ranking.order(0.1)[0], ranking.order(math.inf)[0]
    value, ends = _against(ranking, 0.1, first, point)
    return Claim(
        f"C25 Tables 2 and 5; {where}",
        "At trade-off 0.1 a set model is first, before every point",
        "DE 0.069, DE Avg 0.195",
        f"{first} first; against the best point, {point}: {told(value, ends)}",
        below(ends) if not ranking.is_point[ranking.names.index(first)] else "not confirmed",
    )


def _high_tradeoffs_like_points(where: str, ranking: Ranking) -> Claim:
    point = ranking.order(math.inf)[0]
    best = ranking.order(1.0, points=False)[0]
    value, ends = _against(ranking, 1.0, point, best)
    return Claim(
        f"C25 Table 5; {where}",
        "At trade-off 1 a point is first, before every set model",
        "DE Avg 0.195, RS-NN 0.407",
        f"{point} against {best}: {told(value, ends)}",
        below(ends),
    )


def _evidential_is_vague(data: str, held: Models, rankings: dict[str, Ranking]) -> Claim:
    largest = math.log(held.models["evidential"].n_classes)
    shares = {}
    for mode, ranking in rankings.items():
        one = ranking.scores["evidential"].summary["imprecision"]["all"]
        shares[mode] = one.mean / largest, normal_interval(one.mean / largest, one.stderr / largest)
    outcome = above(shares["exact"][1], VAGUE)
    return Claim(
        f"C25 section 6.1, Table 1; {data}",
        "Evidential models are highly imprecise whatever they predict",
        "EDL: NS 2.267 of at most 2.303, a share of 0.984",
        f"share of the largest NS: paper mode {told(*shares['paper'])}; draws of its own Dirichlet "
        f"{told(*shares['exact'])}",
        outcome,
        ""
        if outcome == "confirmed"
        else "The published code draws from Dir(alpha / sum alpha), which discards how sure the model was: "
        f"the imprecision is {shown(shares['paper'][0] / shares['exact'][0])} times as large.",
    )
