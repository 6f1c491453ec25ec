"""J25 App. A and D, Figs. 5 to 8: null distributions, errors over predictions and weights, draws from a set.

Fig. 5: predictions uniform on the simplex of three classes, 1000 of them, labels drawn 500 times. Fig. 6: all
predictions equal, anywhere in the simplex; 2000 labels from (0.1, 0.1, 0.8). Fig. 7: three members, the j-th
from a Dirichlet with parameter 11 for class j and 1 for the others, true weights (0.1, 0.1, 0.8). Bandwidths,
and the number of instances in Fig. 7, are not printed.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.credal import contains
from credibly.credal.pictures import simplex_picture
from credibly.evaluation import shown, shown_range
from credibly.hypotests import calibration_test
from credibly.plots import picture
from credibly.predictions import Ensemble, Point
from credibly_studies.j25 import ERRORS
from credibly_studies.judging import holds
from credibly_studies.outcomes import all_of
from credibly_studies.results import Cell, Claim, Design, Drawing, Findings, Outcome, StudyTable, drawn
from credibly_studies.set_draws import sample
from credibly_studies.simplex_maps import SimplexMap, error_over_weights
from credibly_studies.study import Run, Study

Part = tuple[StudyTable, list[Claim], dict[str, Drawing]]

TRUE = (0.1, 0.1, 0.8)
"""The printed f* of Fig. 6 and lambda* of Fig. 7."""

_SIGNED = ("CE_MMD", "CE_k")
"""Errors that may be negative: their squares are mapped."""

_BANDWIDTH = 0.1

_STEPS = 10
"""Points per edge of a map, less one: the true place is one of them."""

_APART = 0.05
"""Rank correlations that differ by less are a tie."""

_LOW = 0.1
"""The share of a map that is called a region of low values."""

_PICTURED = 300
"""Draws in a picture of Fig. 8."""


@dataclasses.dataclass(frozen=True)
class FigureSize:
    """How much is drawn.

    Parameters
    ----------
    n_null : int
        Instances of Fig. 5.
    n_resamples : int
        Label vectors of Fig. 5.
    n_map : int
        Instances of Figs. 6 and 7.
    draws : int
        Draws from the set of Fig. 8.
    """

    n_null: int
    n_resamples: int
    n_map: int
    draws: int


_PRINTED = FigureSize(1000, 500, 2000, 2000)


def _design(size: FigureSize) -> Design:
    return "as printed" if size == _PRINTED else "smaller"


def _null_distributions(size: FigureSize, run: Run) -> Part:
    """Fig. 5: replicates of each error of a calibrated prediction."""
    from scipy.stats import skew  # slow to load, and every command loads this module

    generator = run.generator(5)
    probs = generator.dirichlet(np.ones(3), size=size.n_null)
    labels = (generator.random((size.n_null, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    rows: list[tuple[Cell, ...]] = []
    drawings: dict[str, Drawing] = {}
    summaries: dict[str, tuple[float, float, float]] = {}
    for name, statistic in ERRORS.items():
        test = calibration_test(
            Point(probs), labels, statistics=statistic, n_resamples=size.n_resamples, rng=run.generator(5, 1)
        )
        null = np.asarray(test.null_distribution)
        mean, spread, bend = float(null.mean()), float(null.std(ddof=1)), float(skew(null))
        summaries[name] = (mean / spread, np.sqrt(null.size) * mean / spread, bend)
        rows.append((name, mean, spread, summaries[name][0], bend, float(np.quantile(null, 0.95))))
        drawings[f"fig5-{statistic.name}"] = drawn(picture(test, "null"))
    columns = (
        "error",
        "mean",
        "standard deviation",
        "mean in standard deviations",
        "skewness",
        "95 % quantile",
    )
    table = StudyTable("null", "Fig. 5: null distributions of a calibrated prediction", columns, rows)
    return table, null_claims(summaries, size), drawings


def null_claims(summaries: dict[str, tuple[float, float, float]], size: FigureSize) -> list[Claim]:
    """Judge means (in standard deviations, and in standard errors) and skewness of the null distributions."""
    place, design = "J25 App. A, Fig. 5", _design(size)
    most = 4 * np.sqrt(6 / size.n_resamples)  # of the skewness of as many normal numbers
    above, unbiased = ("CE_2", "CE_KL"), ("CE_MMD", "CE_k")
    words = {name: f"{name} {shown(values[0])} standard deviations" for name, values in summaries.items()}
    return [
        Claim(
            place,
            "means of CE_2 and CE_KL are slightly above zero",
            "slightly above zero",
            "; ".join(words[name] for name in above),
            holds(summaries[name][1] > 4 for name in above),
            "above, and not slightly: their whole distributions are",
            design,
        ),
        Claim(
            place,
            "CE_MMD and CE_k are unbiased",
            "unbiased",
            "; ".join(words[name] for name in unbiased),
            holds(abs(summaries[name][1]) < 4 for name in unbiased),
            "",
            design,
        ),
        Claim(
            place,
            "CE_k is symmetric around zero",
            "symmetric",
            f"skewness {shown(summaries['CE_k'][2])}, of CE_MMD {shown(summaries['CE_MMD'][2])}",
            holds([abs(summaries["CE_k"][2]) < most]),
            "",
            design,
        ),
    ]


def _maps(members: HostArray, labels: HostArray) -> dict[str, SimplexMap]:
    """Return each error over the weights of three members, squared where it may be negative."""
    made = {}
    for name, statistic in ERRORS.items():
        error_map = error_over_weights(
            Ensemble(members, member_axis=1),
            labels,
            statistic=statistic.with_(bandwidth=_BANDWIDTH),
            n_steps=_STEPS,
        )
        if name in _SIGNED:
            error_map = dataclasses.replace(
                error_map, name=f"{error_map.name} squared", values=error_map.values**2
            )
        made[name] = error_map
    return made


def _place_of_truth(simplex: SimplexMap) -> tuple[float, float]:
    """Return the share of the map below the true place, and the way from its minimum to that place."""
    at = int(np.abs(simplex.points - np.array(TRUE)).sum(axis=1).argmin())
    share = float(np.mean(simplex.values < simplex.values[at]))
    return share, float(0.5 * np.abs(simplex.smallest - np.array(TRUE)).sum())


def _smoothness(simplex: SimplexMap) -> float:
    """Return the rank correlation of a map with the distance from the true place: 1 without noise."""
    from scipy.stats import spearmanr

    inner = simplex.points.min(axis=1) > 0  # at the edge CE_KL may be infinite
    way = np.sqrt(((simplex.points - np.array(TRUE)) ** 2).sum(axis=1))
    return float(spearmanr(simplex.values[inner], way[inner]).statistic)


def _agreement(maps: dict[str, SimplexMap]) -> float:
    """Return the mean rank correlation of the maps of different errors."""
    from scipy.stats import spearmanr

    inner = next(iter(maps.values())).points.min(axis=1) > 0  # at the edge CE_KL may be infinite
    values = np.stack([error_map.values[inner] for error_map in maps.values()])
    ranked = spearmanr(values, axis=1).statistic
    return float(np.mean(ranked[np.triu_indices(len(values), 1)]))


def _over_simplices(size: FigureSize, run: Run) -> Part:
    """Figs. 6 and 7: errors over constant predictions, and over the weights of three members."""
    generator = run.generator(6)
    n, truth = size.n_map, np.array(TRUE)
    corners = np.broadcast_to(np.eye(3), (n, 3, 3)).copy()
    same = generator.choice(3, size=n, p=truth)
    members = np.stack([generator.dirichlet(1 + 10 * row, size=n) for row in np.eye(3)], axis=1)
    steps = np.einsum("a,nak->nk", truth, members).cumsum(axis=1)
    mixed = (generator.random((n, 1)) > steps).sum(axis=1)
    figures = {6: _maps(corners, same), 7: _maps(members, mixed)}
    rows: list[tuple[Cell, ...]] = []
    drawings: dict[str, Drawing] = {}
    for figure, maps in figures.items():
        for name, one in maps.items():
            share, way = _place_of_truth(one)
            smallest = ", ".join(f"{value:.1f}" for value in one.smallest)
            rows.append((figure, name, smallest, way, share, _smoothness(one)))
            drawings[f"fig{figure}-{ERRORS[name].name}"] = drawn(picture(one))
    columns = (
        "figure",
        "error",
        "minimum at",
        "way from the minimum to (0.1, 0.1, 0.8)",
        "share of the map below",
        "rank correlation with the way",
    )
    table = StudyTable("maps", "Figs. 6 and 7: errors over predictions and over weights", columns, rows)
    return (
        table,
        map_claims(rows, {figure: _agreement(maps) for figure, maps in figures.items()}, size),
        drawings,
    )


def map_claims(rows: list[tuple[Cell, ...]], agreement: dict[int, float], size: FigureSize) -> list[Claim]:
    """Judge where the truth is in the maps, and how far maps of different errors agree."""
    design = _design(size)
    below = {
        figure: {str(row[1]): float(str(row[4])) for row in rows if row[0] == figure} for figure in (6, 7)
    }

    def low(figure: int, place: str, what: str) -> Claim:
        return Claim(
            place,
            f"{what} is in a region of low values of every error",
            "(0.1, 0.1, 0.8) within a region of low values",
            "; ".join(f"{name} {shown(share)} of the map below" for name, share in below[figure].items()),
            holds(share <= _LOW for share in below[figure].values()),
            "",
            design,
        )

    smooth = {str(row[1]): float(str(row[5])) for row in rows if row[0] == 6}
    gap = min(smooth[name] for name in smooth if name != "CE_k") - smooth["CE_k"]
    return [
        low(6, "J25 App. A, Fig. 6", "the true distribution"),
        Claim(
            "J25 App. A, Fig. 6",
            "around the true distribution CE_k is noisier than the other errors",
            "more noisy behaviour",
            "rank correlation of the map with the distance from the truth: "
            + "; ".join(f"{name} {shown(value)}" for name, value in smooth.items()),
            "cannot tell" if abs(gap) < _APART else holds([gap > 0]),
            "",
            design,
        ),
        low(7, "J25 App. A, Fig. 7", "the true weight vector"),
        Claim(
            "J25 App. A, Fig. 7",
            "over weights the maps of different errors vary more than over predictions",
            "vary more significantly",
            f"mean rank correlation {shown(agreement[6])} over predictions, {shown(agreement[7])} over "
            "weights",
            "cannot tell"
            if abs(agreement[6] - agreement[7]) < _APART
            else holds([agreement[7] < agreement[6]]),
            f"differences below {_APART:g} are a tie",
            design,
        ),
    ]


def _draws(size: FigureSize, run: Run) -> Part:
    """Fig. 8: Dirichlet weights, hit-and-run, and exact uniform draws by rejection."""
    generator = run.generator(8, 0)
    members = Ensemble(generator.dirichlet(np.full(3, 2.0), size=(1, 10)), member_axis=1)
    drawings: dict[str, Drawing] = {}
    by_name: dict[str, HostArray] = {}
    for name in ("dirichlet", "hit_and_run"):
        drawn_from = sample(members, size.draws, method=name, rng=generator)
        by_name[name] = np.asarray(drawn_from.probs)[0]
        some = Ensemble(by_name[name][None, :_PICTURED], member_axis=1)
        drawings[f"fig8-{name}"] = drawn(picture(simplex_picture(some)))
    by_name["rejection (exact)"] = _uniform(members, size.draws, generator)
    centre = by_name["rejection (exact)"].mean(axis=0)
    ways = {name: np.sqrt(((draws - centre) ** 2).sum(axis=1)) for name, draws in by_name.items()}
    exact = ways.pop("rejection (exact)")
    rows: list[tuple[Cell, ...]] = [("rejection (exact)", float(exact.mean()), _interval(exact), None)]
    gaps = {}
    for name, way in ways.items():
        error = float(np.sqrt(way.var(ddof=1) / way.size + exact.var(ddof=1) / exact.size))
        gaps[name] = float((way.mean() - exact.mean()) / error)
        rows.append((name, float(way.mean()), _interval(way), gaps[name]))
    crowded: Outcome = "confirmed" if gaps["dirichlet"] < -3 else "not confirmed"
    uniform: Outcome = "confirmed" if abs(gaps["hit_and_run"]) < 3 else "not confirmed"
    claim = Claim(
        "J25 App. D, Fig. 8",
        "with more than three members, uniform weights are not uniform on the set: they crowd in the middle",
        "they accumulate in the centre; Markov chains can be uniform",
        f"mean way from the centre {shown_range(_interval(ways['dirichlet']))} with weights, "
        f"{shown_range(_interval(ways['hit_and_run']))} with hit-and-run, "
        f"{shown_range(_interval(exact))} exactly",
        all_of(crowded, uniform),
        "",
        _design(size),
    )
    columns = ("draws", "mean way from the centre", "interval", "standard errors from exact")
    return StudyTable("draws", "Fig. 8: draws from one set of ten members", columns, rows), [claim], drawings


def _not_unique() -> list[Claim]:
    """App. B, Example 2: two combinations of the same members, both calibrated, computed exactly."""
    truth = np.eye(2)  # P(Y | x) of x = -1 and x = 1, each with probability 1/2
    members = np.array([[0.0, 1.0], [1.0, 0.0]])  # both predict one class everywhere
    weights = {"one per instance": np.array([[0.0, 1.0], [1.0, 0.0]]), "a half each": np.full((2, 2), 0.5)}
    gaps = {}
    for name, lambdas in weights.items():
        combined = lambdas @ members
        alike = (combined[:, None] == combined[None]).all(axis=2)  # instances with the same prediction
        gaps[name] = float(np.abs(alike @ truth / alike.sum(axis=1, keepdims=True) - combined).max())
    return [
        Claim(
            "J25 App. B, Example 2",
            "several combinations of the same members are calibrated",
            "shown by an example",
            "; ".join(f"weights {name}: largest gap {shown(gap)}" for name, gap in gaps.items()),
            holds(gap == 0 for gap in gaps.values()),
            "exact",
            "as printed",
        )
    ]


def _uniform(members: Ensemble, n: int, generator: np.random.Generator) -> HostArray:
    """Return uniform draws from a set over three classes: those of the simplex that it contains."""
    kept: list[HostArray] = []
    while sum(map(len, kept)) < n:
        draws = generator.dirichlet(np.ones(3), size=n)
        copies = Ensemble(np.repeat(np.asarray(members.probs), n, axis=0), member_axis=1)
        kept.append(draws[np.asarray(contains(copies, Point(draws)))])
    return np.concatenate(kept)[:n]


def _interval(values: list[float] | HostArray) -> tuple[float, float]:
    """Return the mean plus and minus two standard errors."""
    array = np.asarray(values)
    error = float(array.std(ddof=1) / np.sqrt(array.size))
    return float(array.mean()) - 2 * error, float(array.mean()) + 2 * error


def figures(size: FigureSize, run: Run) -> Findings:
    """Return the tables and pictures of Figs. 5 to 8."""
    parts = [part(size, run) for part in (_null_distributions, _over_simplices, _draws)]
    drawings = {name: drawing for _, _, several in parts for name, drawing in several.items()}
    claims = [*(claim for _, several, _ in parts for claim in several), *_not_unique()]
    return Findings([table for table, _, _ in parts], claims, drawings)


FIGURES = Study(
    name="j25-figures",
    title="Null distributions, errors over predictions and over weights, draws from a set",
    reference="J25 App. A and D, Figs. 5-8",
    small=FigureSize(200, 99, 200, 300),
    full=_PRINTED,
    work=figures,
)
