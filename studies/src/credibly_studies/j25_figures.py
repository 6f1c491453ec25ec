"""J25 Figs. 5 to 8: null distributions, errors over predictions and over weights, draws from a set."""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.credal import contains, sample
from credibly.credal.pictures import simplex_picture
from credibly.evaluation import shown, shown_range
from credibly.hypotests import calibration_test
from credibly.plots.hypotests import NullDisplay
from credibly.plots.simplex import SimplexDisplay, SimplexMapDisplay
from credibly.predictions import Ensemble, Point
from credibly.simulate import MulticlassWorld
from credibly.statistics import error_over_simplex, error_over_weights
from credibly_studies.j25 import ERRORS
from credibly_studies.outcomes import Share, all_of, more_than
from credibly_studies.results import Cell, Claim, Drawing, Findings, Outcome, StudyTable, drawn
from credibly_studies.study import Run, Study

Part = tuple[StudyTable, list[Claim], dict[str, Drawing]]

_DELTA = 0.2
_LEVEL = 0.05
_SUPPORTED = 10.0
"""Fewest effective instances behind a value of a map that is averaged."""

_STEPS = 8
"""Points per edge of a map, less one."""

_PICTURED = 300
"""Draws in a picture of Fig. 8."""

_MAPPED = ("brier", "skce", "kde_ce", "kl_ce")


@dataclasses.dataclass(frozen=True)
class FigureSize:
    """How much is drawn.

    Parameters
    ----------
    n : int
        Instances per data set.
    repetitions : int
        Data sets behind a rate.
    draws : int
        Draws from the set of Fig. 8.
    n_resamples : int
        Replicates of a null distribution.
    """

    n: int
    repetitions: int
    draws: int
    n_resamples: int


def _seed(run: Run, figure: int, repetition: int = 0) -> np.random.Generator:
    return run.generator(figure, repetition)


def _null_distributions(size: FigureSize, run: Run) -> Part:
    """Fig. 5: replicates of each error at the truth, and the errors observed inside and outside the set."""
    rows: list[tuple[Cell, ...]] = []
    drawings: dict[str, Drawing] = {}
    inside = MulticlassWorld("H0,2").draw(size.n, rng=_seed(run, 5))
    outside = MulticlassWorld("H1", delta=_DELTA).draw(size.n, rng=_seed(run, 5))
    for name, statistic in ERRORS.items():
        tests = []
        for world in (inside, outside):
            assert world.truth.in_set is not None
            tests.append(
                calibration_test(
                    Point(world.truth.in_set),
                    world.labels,
                    statistics=statistic,
                    n_resamples=size.n_resamples,
                    rng=_seed(run, 5, 1),
                )
            )
        drawings[f"fig5-{statistic.name}"] = drawn(NullDisplay(tests[1]))
        for where, test in zip(("H0,2", f"H1, delta {_DELTA}"), tests, strict=True):
            null = np.asarray(test.null_distribution)
            spread = (float(np.quantile(null, 0.025)), float(np.quantile(null, 0.975)))
            rows.append((name, where, float(np.median(null)), spread, test.statistic, test.pvalue))
    columns = ("error", "labels from", "median of the null", "95 % of the null", "observed", "p")
    table = StudyTable("null", "Fig. 5: null distributions at the point of the set", columns, rows)
    claims = [
        _beyond_its_null(name, float(str(inner[5])), float(str(outer[5])))
        for name, inner, outer in zip(ERRORS, rows[::2], rows[1::2], strict=True)
    ]
    return table, claims, drawings


def _beyond_its_null(name: str, inside: float, outside: float) -> Claim:
    """Judge one error by its p-values in one data set inside and one outside."""
    outcome: Outcome = "cannot tell"  # where chance put the one inside beyond its null
    if inside > _LEVEL:
        outcome = "confirmed" if outside <= _LEVEL else "not confirmed"
    return Claim(
        "J25 Fig. 5",
        f"{name} observed outside the set is beyond its null distribution, and inside it is not",
        "numbers not at hand",
        f"p = {shown(inside)} inside, {shown(outside)} at delta = {_DELTA} (one data set each)",
        outcome,
    )


def _over_predictions(size: FigureSize, run: Run) -> Part:
    """Fig. 6: the local error over the triangle, for a calibrated prediction and for a wrong one."""
    rows: list[tuple[Cell, ...]] = []
    drawings: dict[str, Drawing] = {}
    larger = 0
    for repetition in range(size.repetitions):
        prior = _seed(run, 6, repetition)
        probs = prior.dirichlet(np.ones(3), size=size.n)
        uniforms = prior.random((size.n, 1))
        means = {}
        for name, truth in (("calibrated", probs), ("overconfident", 0.5 * probs + 0.5 / 3)):
            labels = (uniforms > truth.cumsum(axis=1)).sum(axis=1)
            found = error_over_simplex(Point(probs), labels, n_steps=_STEPS)
            assert found.support is not None
            means[name] = float(found.values[found.support >= _SUPPORTED].mean())
            if repetition == 0:
                drawings[f"fig6-{name}"] = drawn(SimplexMapDisplay(found))
                rows.append((name, means[name], float(found.values.max()), float(found.support.min())))
        larger += means["overconfident"] > means["calibrated"]
    columns = ("prediction", "mean error where supported", "largest error", "smallest support")
    share = Share(larger, size.repetitions)
    claim = Claim(
        "J25 Fig. 6",
        "an error over the simplex of predictions shows where a prediction is wrong",
        "numbers not at hand",
        f"mean local error larger than that of a calibrated prediction: {share}",
        more_than(share, 0.5),
    )
    return StudyTable("simplex", "Fig. 6: local error over predictions", columns, rows), [claim], drawings


def _over_weights(size: FigureSize, run: Run) -> Part:
    """Fig. 7: the error over the weights of three members, whose truth has known weights."""
    drawings: dict[str, Drawing] = {}
    ways: dict[str, list[float]] = {name: [] for name in _MAPPED}
    chance: list[float] = []
    world = MulticlassWorld("H0,1", n_members=3, n_classes=3)
    for repetition in range(size.repetitions):
        sample = world.draw(size.n, rng=_seed(run, 7, repetition))
        assert sample.truth.weights is not None
        true = sample.truth.weights[0]
        for name in _MAPPED:
            found = error_over_weights(sample.predictions, sample.labels, statistic=name, n_steps=_STEPS)
            ways[name].append(float(0.5 * np.abs(found.smallest - true).sum()))
            if repetition == 0:
                drawings[f"fig7-{name}"] = drawn(SimplexMapDisplay(found))
        chance.append(float(0.5 * np.abs(found.points - true).sum(axis=1).mean()))
    rows: list[tuple[Cell, ...]] = [
        (name, float(np.mean(found)), _interval(found), float(np.mean(chance)))
        for name, found in ways.items()
    ]
    nearer = {
        name: Share(int(np.sum(np.array(found) < np.array(chance))), size.repetitions)
        for name, found in ways.items()
    }
    claim = Claim(
        "J25 Fig. 7",
        "errors over the simplex of weights are smallest near the true weights",
        "numbers not at hand",
        "; ".join(f"{name} nearer than a weight at random: {share}" for name, share in nearer.items()),
        all_of(*(more_than(share, 0.5) for share in nearer.values())),
        "calibration errors are flat over the weights where proper scores are not: many combinations pass",
    )
    columns = (
        "statistic",
        "way from its minimum to the true weights",
        "interval",
        "way of a weight at random",
    )
    return StudyTable("weights", "Fig. 7: minima over the weights", columns, rows), [claim], drawings


def _draws(size: FigureSize, run: Run) -> Part:
    """Fig. 8: Dirichlet weights, hit-and-run, and exact uniform draws by rejection."""
    generator = _seed(run, 8)
    members = Ensemble(generator.dirichlet(np.full(3, 2.0), size=(1, 10)), member_axis=1)
    drawings: dict[str, Drawing] = {}
    found: dict[str, HostArray] = {}
    for name in ("dirichlet", "hit_and_run"):
        drawn_from = sample(members, size.draws, method=name, rng=generator)
        found[name] = np.asarray(drawn_from.probs)[0]
        some = Ensemble(found[name][None, :_PICTURED], member_axis=1)
        drawings[f"fig8-{name}"] = drawn(SimplexDisplay(simplex_picture(some)))
    found["rejection (exact)"] = _uniform(members, size.draws, generator)
    centre = found["rejection (exact)"].mean(axis=0)
    ways = {name: np.sqrt(((draws - centre) ** 2).sum(axis=1)) for name, draws in found.items()}
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
        "J25 Fig. 8",
        "uniform weights are not uniform on the set: they crowd in the middle; hit-and-run is uniform",
        "numbers not at hand",
        f"mean way from the centre {shown_range(_interval(ways['dirichlet']))} with weights, "
        f"{shown_range(_interval(ways['hit_and_run']))} with hit-and-run, "
        f"{shown_range(_interval(exact))} exactly",
        all_of(crowded, uniform),
    )
    columns = ("draws", "mean way from the centre", "interval", "standard errors from exact")
    return StudyTable("draws", "Fig. 8: draws from one set of ten members", columns, rows), [claim], drawings


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
    parts = [part(size, run) for part in (_null_distributions, _over_predictions, _over_weights, _draws)]
    drawings = {name: drawing for _, _, several in parts for name, drawing in several.items()}
    claims = [claim for _, several, _ in parts for claim in several]
    return Findings([table for table, _, _ in parts], claims, drawings)


FIGURES = Study(
    name="j25-figures",
    title="Null distributions, errors over predictions and over weights, draws from a set",
    reference="J25 Figs. 5-8",
    small=FigureSize(200, 6, 300, 99),
    full=FigureSize(400, 50, 2000, 999),
    work=figures,
)
