"""P21 Figs. 6, 7 and 9, Table 4: digits that are corrupted more and more, and models that say they know.

One network, dropout and an ensemble, as trained and with a temperature fitted on images as they are.
"""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np

from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly.hypotests import predictive_check
from credibly.predictions import Ensemble
from credibly.recalibrate import MemberTemperatures, TemperatureScaling
from credibly.results.predictive import PredictiveCheck
from credibly.results.tests import CheckDetails, HypotestResult
from credibly.statistics import accuracy, confidence_ece, log_loss
from credibly_studies.descent import Layers
from credibly_studies.networks import Network, images, trained_network
from credibly_studies.p21 import paper_pvalue
from credibly_studies.p21_corruption_claims import claims, member_claim
from credibly_studies.p21_corruption_tables import Row, failures_picture, tables
from credibly_studies.perceptrons import masks, outputs_of, repeated
from credibly_studies.pictures import before_after
from credibly_studies.results import Drawing, Findings, drawn
from credibly_studies.study import Run, Study

KINDS = ("noise", "blur", "rotation")
SEVERITIES = (1, 2, 3, 4, 5)
STATISTICS = {one.name: one for one in (accuracy, confidence_ece, log_loss)}
MODELS = ("single network", "dropout", "deep ensemble")
LIMITS = (0.05, 20.0)
"""Of the temperatures of members."""

DROPOUT = 0.2


@dataclasses.dataclass(frozen=True)
class CorruptionSize:
    """How large the study is.

    Parameters
    ----------
    images : int
        Test images, each shown as it is and in every corruption.
    severities : tuple of int
        Of 1 to 5.
    seeds : int
        How often all networks are trained.
    members : int
        Networks of the ensemble.
    masks : int
        Masks of dropout, each for all images.
    replicates : int
        Of each check.
    """

    images: int
    severities: tuple[int, ...]
    seeds: int
    members: int
    masks: int
    replicates: int


@dataclasses.dataclass(frozen=True)
class _Task:
    size: CorruptionSize
    seed: Seed
    model: str
    repetition: int


@dataclasses.dataclass(frozen=True)
class Shifted:
    """Images as they are and corrupted.

    Parameters
    ----------
    pixels : ndarray (n, d)
        All images of all groups.
    labels : ndarray (n,)
        Their classes.
    kind : ndarray (n,) of str
        "none" or one of `KINDS`.
    severity : ndarray (n,) of str
        "0" where there is none.
    """

    pixels: HostArray
    labels: HostArray
    kind: HostArray
    severity: HostArray


def corrupted(pixels: HostArray, kind: str, severity: int, generator: np.random.Generator) -> HostArray:
    """Return corrupted images.

    Parameters
    ----------
    pixels : ndarray (n, d)
        Square images between 0 and 1.
    kind : {"noise", "blur", "rotation"}
        Noise of 0.1 per step, a blur of 0.3 pixels per step, or 10 degrees per step.
    severity : int
        Number of steps.
    generator : numpy.random.Generator
        The noise.

    Returns
    -------
    ndarray (n, d)
        Between 0 and 1.
    """
    from scipy import ndimage  # slow to load, and every command loads this module

    one_of("`kind`", kind, KINDS)
    side = round(pixels.shape[1] ** 0.5)
    if side**2 != pixels.shape[1]:
        raise InputError("`pixels`", "must be square images", f"got {pixels.shape[1]} columns", "Crop them.")
    shape = (len(pixels), side, side)
    images = pixels.reshape(shape)
    if kind == "noise":
        changed = images + generator.normal(scale=0.1 * severity, size=shape)
    elif kind == "blur":
        changed = ndimage.gaussian_filter(images, sigma=(0.0, 0.3 * severity, 0.3 * severity))
    else:
        changed = ndimage.rotate(images, 10.0 * severity, axes=(2, 1), reshape=False, order=1)
    return np.clip(changed, 0.0, 1.0).reshape(pixels.shape)


def shifted(size: CorruptionSize, generator: np.random.Generator) -> Shifted:
    """Return test images as they are, and in all corruptions.

    Parameters
    ----------
    size : CorruptionSize
        How many, and which severities.
    generator : numpy.random.Generator
        The noise.

    Returns
    -------
    Shifted
        One group per kind and severity, all of the same images.
    """
    part = images("digits")["test"]
    pixels, labels = part.pixels[: size.images], part.labels[: size.images]
    groups = [("none", 0), *((kind, severity) for kind in KINDS for severity in size.severities)]
    shown = [
        pixels if kind == "none" else corrupted(pixels, kind, severity, generator)
        for kind, severity in groups
    ]
    kinds, severities = (np.repeat([str(group[at]) for group in groups], len(labels)) for at in (0, 1))
    return Shifted(np.concatenate(shown), np.tile(labels, len(groups)), kinds, severities)


def work(size: CorruptionSize, run: Run) -> Findings:
    """Check every model, raw and recalibrated, in all groups."""
    tasks = [_Task(size, run.seed, model, repetition) for repetition in range(size.seeds) for model in MODELS]
    parts = run.map(_model, tasks)
    rows = [row for part in parts for row in part.rows]
    fitted = {
        model: [
            part.temperatures
            for part, task in zip(parts, tasks, strict=True)
            if task.model == model and part.temperatures is not None
        ]
        for model in MODELS
        if model != "single network"
    }
    shown = parts[MODELS.index("deep ensemble")]
    drawings: dict[str, Drawing] = {
        "severity": drawn(failures_picture(rows)),
        "recalibration": drawn(before_after(shown.before, shown.after)),
    }
    return Findings(tables(rows), (*claims(rows), member_claim(fitted)), drawings)


@dataclasses.dataclass(frozen=True)
class _Part:
    rows: list[Row]
    before: PredictiveCheck
    after: PredictiveCheck
    temperatures: HostArray | None


def _model(task: _Task) -> _Part:
    """Check one model trained with one seed, before and after recalibration."""
    size = task.size
    # all models see the same corrupted images
    data = shifted(size, np.random.default_rng([*task.seed, task.repetition, 0]))
    part = images("digits")["validation"]
    layers, kept = _layers(task)
    raw, part_predictions = (_ensemble(layers, pixels, kept) for pixels in (data.pixels, part.pixels))
    scaling = MemberTemperatures(limits=LIMITS) if part_predictions.n_members > 1 else TemperatureScaling()
    with warnings.catch_warnings():  # members at a limit are counted, not warned of
        warnings.filterwarnings("ignore", message=".* end at a limit")
        scaled = scaling.fit(part_predictions, part.labels).apply(raw)
    before, after = (
        predictive_check(
            predictions,
            data.labels,
            statistics=list(STATISTICS),
            n_resamples=size.replicates,
            groups={"shift": data.kind, "severity": data.severity},
            rng=np.random.default_rng([*task.seed, task.repetition, 1]),
        )
        for predictions in (raw, scaled)
    )
    rows = [*_rows(task, "raw", before), *_rows(task, "recalibrated", after)]
    return _Part(rows, before, after, getattr(scaling, "temperatures", None))


def _layers(task: _Task) -> tuple[Layers, tuple[HostArray, ...] | None]:
    """Return trained networks, and the masks that make each copy of one network another member."""
    seed = task.repetition
    if task.model == "deep ensemble":
        return trained_network("digits", Network(members=task.size.members), seed=seed).layers, None
    if task.model == "single network":
        return trained_network("digits", Network(), seed=seed).layers, None
    layers = repeated(trained_network("digits", Network(dropout=DROPOUT), seed=seed).layers, task.size.masks)
    return layers, masks(layers, DROPOUT, np.random.default_rng([*task.seed, task.repetition, 2]))


def _ensemble(layers: Layers, pixels: HostArray, kept: tuple[HostArray, ...] | None) -> Ensemble:
    outputs = outputs_of(layers, pixels, kept)
    return Ensemble.from_logits(np.ascontiguousarray(outputs.swapaxes(0, 1)), member_axis=1)


def _rows(task: _Task, variant: str, check: PredictiveCheck) -> list[Row]:
    return [
        _row(task, variant, hypothesis, group, one)
        for hypothesis, part in check.hypotheses.items()
        for group, checks in part.groups.items()
        for one in checks.values()
    ]


def _row(task: _Task, variant: str, hypothesis: str, group: str, check: HypotestResult[CheckDetails]) -> Row:
    kind, _, severity = group.partition(" / ")
    return Row(
        model=task.model,
        variant=variant,
        repetition=task.repetition,
        hypothesis=hypothesis,
        kind=kind,
        severity=int(severity),
        statistic=check.statistic_name,
        value=check.statistic,
        expected=check.statistic - check.effect_size,
        sharpness=check.details.sharpness,
        pvalue=check.pvalue,
        paper=paper_pvalue(check),
        member=check.pvalue if check.details.member_pvalue is None else check.details.member_pvalue,
    )


CORRUPTION = Study(
    name="p21-corruption",
    title="Digits corrupted step by step: accuracy, calibration error, log loss, and what the model expects",
    reference="P21 Figs. 6, 7 and 9, Table 4",
    small=CorruptionSize(images=200, severities=(2, 5), seeds=1, members=5, masks=10, replicates=99),
    full=CorruptionSize(images=599, severities=SEVERITIES, seeds=5, members=20, masks=50, replicates=999),
    work=work,
    design="another",
)
