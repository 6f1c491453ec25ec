"""Ablations of C25's score: other divergences, and other measures of imprecision."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.credal import size
from credibly.evaluation import shown
from credibly.selection import epistemic_score, rank_scores
from credibly_studies import c25
from credibly_studies.c25_claims import CONFIDENCE
from credibly_studies.c25_models import Models
from credibly_studies.c25_set_claims import rank_correlation
from credibly_studies.judging import Interval, above, below, denied, dominance, holds, mean_interval, told
from credibly_studies.outcomes import all_of
from credibly_studies.results import Cell, Claim, StudyTable
from credibly_studies.study import Run

Measured = tuple[float, Interval | None]

ROUNDING = 1e-12
MEASURES = ("hartley", "koerner", "entropy_gap", "credal_size", "u65", "u80")


def measured(values: Any) -> Measured:
    """Return the mean of values over instances with its interval."""
    numbers = np.asarray(to_host(values), dtype=np.float64)
    return float(numbers.mean()), mean_interval(numbers)


def by_divergence(models: Models, draws: int, seed: int) -> tuple[StudyTable, list[Claim]]:
    """Rank by KL, JS and its root, with and without scaled trade-offs."""
    rows: list[tuple[Cell, ...]] = []
    firsts: dict[str, set[str]] = {}
    areas: dict[str, dict[str, float]] = {}
    ratios: dict[str, float] = {}
    by_kl = {name: epistemic_score(model, models.labels, rng=seed) for name, model in models.models.items()}
    settings: tuple[tuple[c25.Divergence, bool], ...] = (
        ("kl", False), ("js", False), ("js", True), ("sqrt_js", False), ("sqrt_js", True)
    )  # fmt: skip
    for divergence, scaled in settings:
        scores = by_kl
        if divergence != "kl":
            scores = {
                name: c25.by_divergence(models.models[name], models.labels, one, divergence)
                for name, one in by_kl.items()
            }
        ranking = rank_scores(scores, n_resamples=draws, rng=seed)
        assert ranking.lines is not None
        scale = c25.scale_of(scores, by_kl) if scaled else 1.0
        label = f"{divergence}, scaled" if scaled else divergence
        firsts[label] = set(ranking.lines.order(scale, points=False)[:2])
        areas[divergence] = {
            name: _area(to_host(score.distance), ~to_host(score.right))
            for name, score in ranking.lines.scores.items()
        }
        distances = ranking.lines.scores["ensemble"].summary["distance"]
        ratios[divergence] = distances["wrong"].mean / distances["right"].mean
        for tradeoff in (0.1, 0.5, 1.0):
            standing = ranking.at(tradeoff * scale)
            listed = ", ".join(f"{name} ({standing.place(name)})" for name in standing.names[:5])
            rows.append((label, tradeoff, scale, listed))
    columns = (
        "distance",
        "trade-off",
        "factor of the trade-off",
        "first five, with the places each can have",
    )
    gaps = [areas["kl"][name] - areas[other][name] for name in areas["kl"] for other in ("js", "sqrt_js")]
    differ = [gap > 0 for gap in gaps if abs(gap) > ROUNDING]
    return StudyTable("divergences", "Rankings by divergence", columns, rows), [
        Claim(
            "C25 F.1, Table 5",
            "without points KL and JS have the same two models first at trade-off 1",
            "",
            "digits, "
            + "; ".join(f"{name}: {' and '.join(sorted(names))}" for name, names in firsts.items()),
            holds(names == firsts["kl"] for names in firsts.values()),
            "The scale of JS is another, so that the same trade-off weighs imprecision more; scaled by the "
            "largest distances the orders come nearer."
            if any(names != firsts["kl"] for names in firsts.values())
            else "",
            further=True,
        ),
        Claim(
            "C25 F.1, Figs. 6 and 7",
            "KL tells right from wrong predictions better than JS",
            "no number",
            "digits, ensemble, area under the curve of distances, wrong against right: "
            f"{shown(areas['kl']['ensemble'])} by KL and {shown(areas['js']['ensemble'])} by JS; mean "
            f"distance of wrong over right {shown(ratios['kl'])} and {shown(ratios['js'])}",
            holds(differ) if differ else "cannot tell",
            "a tie decides nothing: for a label, both are decreasing functions of one number, its upper "
            "probability: they order instances in the same way, and only the scale differs.",
        ),
    ]


def _area(values: HostArray, wrong: HostArray) -> float:
    """Return how often a wrong prediction has the larger value than a right one."""
    return dominance(values[wrong], values[~wrong])[0]


def by_measure(models: Models, draws: int, run: Run) -> tuple[StudyTable, list[Claim]]:
    """Measure imprecision in six ways: how well does each tell wrong from right predictions?"""
    rows: list[tuple[Cell, ...]] = []
    gains: dict[str, Measured] = {}
    correlations: dict[str, dict[str, Measured]] = {"size": {}, "entropy": {}, "imprecision": {}}
    for place, (name, model) in enumerate(models.sets.items()):
        labels, seed = models.labels, run.seed[0]
        scores = {
            measure: epistemic_score(model, labels, measure=measure, rng=seed, dependences=False)  # type: ignore[arg-type]
            for measure in MEASURES
        }
        wrong = ~to_host(scores["hartley"].right)
        values = {measure: to_host(score.imprecision) for measure, score in scores.items()}
        generator = run.generator(place)
        resampled = [generator.integers(len(wrong), size=len(wrong)) for _ in range(draws)]
        areas = {
            measure: np.array(
                [_area(value[rows_], wrong[rows_]) for rows_ in resampled if wrong[rows_].any()]
            )
            for measure, value in values.items()
        }
        for measure, one in values.items():
            low, high = np.quantile(areas[measure], [0.025, 0.975])
            rows.append(
                (name, measure, *measured(one), float(one[~wrong].mean()), float(one[wrong].mean()),
                 _area(one, wrong), (float(low), float(high)))
            )  # fmt: skip
        better = areas["hartley"] - areas["entropy_gap"]
        low, high = np.quantile(better, [0.025, 0.975])
        whole = _area(values["hartley"], wrong) - _area(values["entropy_gap"], wrong)
        gains[name] = whole, (float(low), float(high))
        score = scores["hartley"]
        width = to_host(size(model, rng=run.seed[0]))
        correlations["size"][name] = rank_correlation(width, values["hartley"])
        confidence = to_host(score.confidence)
        correlations["entropy"][name] = rank_correlation(to_host(score.entropy), confidence)
        correlations["imprecision"][name] = rank_correlation(values["hartley"], confidence)
    columns = (
        "model", "measure", "imprecision", "interval", "right", "wrong", "area, wrong against right",
        "area, interval",
    )  # fmt: skip
    return StudyTable("measures", "Imprecision by measure", columns, rows), _measure_claims(
        gains, correlations
    )


def _measure_claims(gains: dict[str, Measured], correlations: dict[str, dict[str, Measured]]) -> list[Claim]:
    def listed(measured_by: dict[str, Measured]) -> str:
        return "; ".join(f"{name} {told(*value)}" for name, value in measured_by.items())

    by_entropy = {name: above(gain[1]) for name, gain in gains.items()}
    alike = [name for name, outcome in by_entropy.items() if outcome != "confirmed"]
    return [
        Claim(
            "C25 F.2, Figs. 9 and 10",
            "NS tells wrong from right predictions better than upper minus lower entropy",
            "no number",
            f"digits, area under the curve, NS minus entropy: {listed(gains)}",
            all_of(*by_entropy.values()),
            "With upper and lower entropies of the set itself, which the published code does not compute, it "
            f"is true for some kinds of sets and not for others: {', '.join(alike)}."
            if alike
            else "",
        ),
        Claim(
            "C25 F.7, Fig. 18",
            "credal set size and NS are directly correlated",
            "heat maps",
            f"digits, rank correlations {listed(correlations['size'])}",
            all_of(*(above(value[1], 0.5) for value in correlations["size"].values())),
        ),
        Claim(
            "C25 F.6, Fig. 17",
            "entropy is closely tied to confidence",
            "heat maps",
            f"digits, rank correlations {listed(correlations['entropy'])}",
            all_of(*(below(value[1], -0.5) for value in correlations["entropy"].values())),
        ),
        Claim(
            *CONFIDENCE,
            "heat maps",
            f"digits, rank correlations {listed(correlations['imprecision'])}",
            denied(all_of(*(below(value[1], -0.5) for value in correlations["imprecision"].values()))),
            "Members agree where they are sure: a confident mean leaves little room for a wide set.",
        ),
    ]
