"""Fixed inputs of `tools/record_results.py`: public names, arrays under a seed, places where rows may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

WHERE: dict[str, str] = {
    "main": "cli.main",
    "BinaryWorld": "credibly_studies.simulate.BinaryWorld",
    "CalibrationTest": "credibly_studies.simulate.CalibrationTest",
    "EnsembleWorld": "credibly_studies.simulate.EnsembleWorld",
    "HistogramWorld": "credibly_studies.simulate.HistogramWorld",
    "LocationWorld": "credibly_studies.simulate.LocationWorld",
    "MulticlassWorld": "credibly_studies.simulate.MulticlassWorld",
    "QuadraticWorld": "credibly_studies.simulate.QuadraticWorld",
    "paired_difference": "credibly_studies.simulate.paired_difference",
    "world_picture": "credibly_studies.simulate.world_picture",
    "AlphaCalibration": "recalibrate.AlphaCalibration",
    "Basis": "learners.Basis",
    "BoundaryLearner": "learners.BoundaryLearner",
    "BrierDecomposition": "statistics.BrierDecomposition",
    "Chain": "recalibrate.Chain",
    "Change": "results.Change",
    "BetaScaling": "recalibrate.BetaScaling",
    "BiasScaling": "recalibrate.BiasScaling",
    "ColumnOrder": "recalibrate.ColumnOrder",
    "Convergence": "recalibrate.Convergence",
    "CurveScaling": "recalibrate.CurveScaling",
    "CredalRecalibration": "recalibrate.CredalRecalibration",
    "DisagreementDecomposition": "results.DisagreementDecomposition",
    "EnvelopeCurve": "results.EnvelopeCurve",
    "EpistemicScore": "results.EpistemicScore",
    "Estimate": "results.Estimate",
    "Estimates": "results.Estimates",
    "GatingLearner": "learners.GatingLearner",
    "HypotestResult": "results.HypotestResult",
    "HypothesisCheck": "results.HypothesisCheck",
    "Inflation": "hypotests.Inflation",
    "IsotonicRecalibration": "recalibrate.IsotonicRecalibration",
    "Learner": "learners.Learner",
    "LocationScaling": "recalibrate.LocationScaling",
    "LossDecomposition": "results.LossDecomposition",
    "MassFunction": "credal.MassFunction",
    "MatrixScaling": "recalibrate.MatrixScaling",
    "MemberFunctions": "credibly_studies.p21.MemberFunctions",
    "MemberTemperatures": "recalibrate.MemberTemperatures",
    "MethodChanges": "results.MethodChanges",
    "NoiseScaling": "recalibrate.NoiseScaling",
    "NonspecificityEstimate": "credal.NonspecificityEstimate",
    "PlattScaling": "recalibrate.PlattScaling",
    "PowerCurve": "results.PowerCurve",
    "PowerStudy": "credibly_studies.simulate.PowerStudy",
    "PredictiveCheck": "results.PredictiveCheck",
    "QuantileShift": "recalibrate.QuantileShift",
    "Ranking": "selection.Ranking",
    "RaterStatistic": "raters.RaterStatistic",
    "Recalibration": "recalibrate.Recalibration",
    "RecalibrationReport": "results.RecalibrationReport",
    "ReliabilityCurve": "results.ReliabilityCurve",
    "RiskCoverageCurve": "results.RiskCoverageCurve",
    "RootEstimate": "results.RootEstimate",
    "RunningStatistic": "statistics.RunningStatistic",
    "SimplexMap": "credibly_studies.simplex_maps.SimplexMap",
    "SkewScaling": "recalibrate.SkewScaling",
    "SpreadScaling": "recalibrate.SpreadScaling",
    "Statistic": "statistics.Statistic",
    "TailScaling": "recalibrate.TailScaling",
    "TemperatureScaling": "recalibrate.TemperatureScaling",
    "Traits": "statistics.Traits",
    "Uncertainty": "credal.Uncertainty",
    "VectorScaling": "recalibrate.VectorScaling",
    "VennAbers": "recalibrate.VennAbers",
    "weights_test": "hypotests.weights_test",
    "witness_test": "hypotests.witness_test",
    "augrc": "statistics.augrc",
    "brier_skill": "statistics.brier_skill",
    "certificate": "hypotests.certificate",
    "credal_boundary": "credal.boundary",
    "credal_contains": "credal.contains",
    "credal_decision": "credal.decision",
    "credal_distance": "credal.distance",
    "credal_sample": "credibly_studies.set_draws.sample",
    "credal_set": "credal.as_set",
    "credal_size": "credal.size",
    "credal_vertices": "credal.vertices",
    "decision_costs": "selection.decision_costs",
    "decompose_crps": "hypotests.decompose_crps",
    "decompose_disagreement": "raters.decompose_disagreement",
    "decompose_loss": "raters.decompose_loss",
    "detection": "selection.detection",
    "disagreement": "credal.disagreement",
    "e50": "statistics.e50",
    "e90": "statistics.e90",
    "emax": "statistics.emax",
    "ence": "statistics.ence",
    "energy_score": "statistics.energy_score",
    "error_over_simplex": "credibly_studies.simplex_maps.error_over_simplex",
    "error_over_weights": "credibly_studies.simplex_maps.error_over_weights",
    "focal_budget": "credal.focal_budget",
    "hsic": "statistics.hsic",
    "ici": "statistics.ici",
    "joint_test": "hypotests.joint_test",
    "load_recalibration": "recalibrate.load",
    "log_loss_skill": "statistics.log_loss_skill",
    "logistic_calibration": "statistics.logistic_calibration",
    "lower_entropy": "credal.lower_entropy",
    "lower_probability": "credal.lower_probability",
    "mass_function": "credal.mass_function",
    "mean_over": "credal.mean_over",
    "mean_slope": "statistics.mean_slope",
    "member_functions": "credibly_studies.p21.member_functions",
    "murphy_curve": "selection.murphy_curve",
    "net_benefit": "statistics.net_benefit",
    "nonspecificity": "credal.nonspecificity",
    "nonspecificity_estimate": "credal.nonspecificity_estimate",
    "observation_check": "credibly_studies.p21.observation_check",
    "pinball_loss": "statistics.pinball_loss",
    "power_study": "credibly_studies.simulate.power_study",
    "rater_statistic": "raters.rater_statistic",
    "registered": "statistics.registered",
    "rps": "statistics.rps",
    "set_coverage": "hypotests.set_coverage",
    "sharpness": "statistics.sharpness",
    "spread_curve": "hypotests.spread_curve",
    "spread_ratio": "statistics.spread_ratio",
    "spread_slope": "statistics.spread_slope",
    "upper_entropy": "credal.upper_entropy",
    "upper_probability": "credal.upper_probability",
    "variogram_score": "statistics.variogram_score",
    "wis": "statistics.wis",
}
"""Names that are not at the top of the package; one that moves or is renamed gets its row here."""


class Names:
    """The public names, looked up when a case needs them, and which of them were."""

    def __init__(self) -> None:
        self.reached: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        place = WHERE.get(name, name)
        whole = place if place.startswith("credibly_studies.") else f"credibly.{place}"
        module, _, own = whole.rpartition(".")
        self.reached.add(own)
        return getattr(import_module(module), own)


cr = Names()

N, M, K = 90, 3, 3
LEVELS = (np.arange(1, 20) / 20).tolist()
FOCAL_SETS = [(0,), (1,), (0, 2), (0, 1, 2)]

_rng = np.random.default_rng(20)
MEMBERS = _rng.dirichlet(np.ones(K), size=(N, M))
OTHERS = _rng.dirichlet(np.ones(K), size=(N, M))
MEAN = MEMBERS.mean(axis=1)
MASSES = _rng.dirichlet(np.ones(len(FOCAL_SETS)), size=N)
MEANS, STDS = _rng.normal(size=(N, M)), _rng.uniform(0.5, 1.5, size=(N, M))
DRAWS = _rng.normal(size=(N, M, 40))
COLUMNS: dict[str, np.ndarray] = {
    "classes": (_rng.random((N, 1)) > MEAN.cumsum(axis=1)).sum(axis=1),
    "counts": _rng.multinomial(_rng.integers(2, 6, size=N), MEAN),
    "reals": 1.3 * _rng.normal(size=N),
    "sample_weight": np.arange(N) % 3 + 1.0,
    "groups": np.array(["b", "a", "c"])[_rng.integers(3, size=N)],
    "features": _rng.normal(size=(N, 2)),
}
COLUMNS["events"] = (COLUMNS["classes"] == 1).astype(np.int64)
"""What stands beside the predictions, one entry per row: labels of four kinds, weights, groups, features."""

Make = Callable[[np.ndarray], Any]
"""Turns a NumPy array into one of the library that a place works in."""

CLASS_KINDS: dict[str, Callable[[Make], Any]] = {
    "point": lambda make: cr.Point(make(MEAN)),
    "ensemble": lambda make: cr.Ensemble(make(MEMBERS)),
    "weighted": lambda make: cr.Ensemble(make(MEMBERS), weights=make(np.array([0.5, 0.3, 0.2]))),
    "dirichlet": lambda make: cr.Dirichlet(make(6.0 * MEAN)),
    "dirichlets": lambda make: cr.Dirichlet(make(6.0 * MEMBERS)),
    "intervals": lambda make: cr.Intervals(make(MEMBERS.min(axis=1)), make(MEMBERS.max(axis=1))),
    "belief": lambda make: cr.Belief(make(MASSES), FOCAL_SETS, K),
}
REAL_KINDS: dict[str, Callable[[Make], Any]] = {
    "gaussian": lambda make: cr.Gaussian(make(MEANS[:, 0]), make(STDS[:, 0])),
    "gaussians": lambda make: cr.Gaussian(make(MEANS), make(STDS)),
    "mixtures": lambda make: cr.Gaussian(
        make(MEANS), make(STDS), weights=make(MEMBERS[:, :, 0] / MEMBERS[:, :, 0].sum(axis=1, keepdims=True))
    ),
    "samples": lambda make: cr.Samples(make(DRAWS[:, 0])),
    "member_samples": lambda make: cr.Samples(make(DRAWS)),
    "quantiles": lambda make: cr.Quantiles(make(np.sort(DRAWS[:, 0, : len(LEVELS)], axis=1)), LEVELS),
}
SETS = ("ensemble", "weighted", "dirichlet", "intervals", "belief")
KINDS = {
    **CLASS_KINDS,
    **REAL_KINDS,
    "other": lambda make: cr.Ensemble(make(OTHERS)),
    "event": lambda make: cr.Point(make(np.column_stack([1.0 - MEAN[:, 1], MEAN[:, 1]]))),
}


def as_numpy(values: np.ndarray) -> Any:
    """Return the array itself."""
    return values


def as_torch(values: np.ndarray) -> Any:
    """Return numbers as a tensor on the CPU; words stay where they are."""
    return values if values.dtype.kind == "U" else import_module("torch").from_numpy(values.copy())


def as_dask(values: np.ndarray) -> Any:
    """Return the array in blocks of rows that end where no other place's do."""
    return import_module("dask.array").from_array(values, chunks=(37, *values.shape[1:]))


def column(name: str, make: Make = as_numpy, rows: slice = slice(None)) -> Any:
    """Return labels, weights, groups or features of some rows."""
    values = make(COLUMNS[name][rows])
    return cr.LabelCounts(values) if name == "counts" else values


@dataclasses.dataclass(frozen=True)
class Given:
    """Predictions of one kind with the columns beside them, in no library yet."""

    kind: str
    labels: str | None = None
    beside: tuple[str, ...] = ()

    def columns(self, make: Make, rows: slice = slice(None)) -> dict[str, Any]:
        """Return weights, groups and features by name."""
        return {name: column(name, make, rows) for name in self.beside}


Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional arguments and keywords that hand rows to a public function."""


def in_memory(given: Given, make: Make) -> Call:
    """Hand over predictions, labels and columns as arrays of one library."""
    labels = () if given.labels is None else (column(given.labels, make),)
    return (KINDS[given.kind](make), *labels), given.columns(make)


def in_chunks(given: Given) -> Call:
    """Cut arrays in memory into chunks of rows."""
    arguments, beside = in_memory(given, as_numpy)
    return (cr.scan(*arguments, chunk_rows=41, engine="serial", **beside),), {}


def in_parts(given: Given) -> Call:
    """Hand over pairs of predictions and labels in the order of the rows."""
    (predictions, *labels), beside = in_memory(given, as_numpy)
    cuts = [slice(0, 20), slice(20, 64), slice(64, N)]
    pairs = [(predictions[rows], *(label[rows] for label in labels)) for rows in cuts]
    return (cr.scan(pairs, engine="serial", **beside),), {}


def in_files(given: Given) -> Call:
    """Save shards in the current directory and name them by a pattern."""
    (predictions, *labels), beside = in_memory(given, as_numpy)
    folder = Path("-".join(filter(None, ("shards", given.kind, given.labels, *given.beside))))
    folder.mkdir(exist_ok=True)
    for place, rows in enumerate([slice(0, 50), slice(50, N)]):
        settings = {name: values[rows] for name, values in beside.items()}
        cr.save(
            folder / f"{place}.npz",
            predictions[rows],
            *(label[rows] for label in labels),
            **settings,
            overwrite=True,
        )
    return (cr.scan(f"{folder}/*.npz", engine="serial"),), {}


def in_dask(given: Given) -> Call:
    """Hand over Dask arrays, which only a point and an ensemble can be."""
    values = {"point": MEAN, "ensemble": MEMBERS}[given.kind]
    labels = () if given.labels is None else (as_dask(COLUMNS[given.labels]),)
    return (cr.scan(as_dask(values), *labels, engine="serial", **given.columns(as_dask)),), {}


PLACES: dict[str, Callable[[Given], Call]] = {
    "numpy": lambda given: in_memory(given, as_numpy),
    "torch": lambda given: in_memory(given, as_torch),
    "chunks": in_chunks,
    "parts": in_parts,
    "files": in_files,
    "dask": in_dask,
}
MEMORY = ("numpy", "torch")
ROWS = ("numpy", "torch", "chunks")
EVERYWHERE = tuple(PLACES)
