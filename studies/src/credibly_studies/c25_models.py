"""Models of every kind of prediction to score: those that come with the package, and an ensemble on SNLI."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.credal import mass_function
from credibly.io.bundled import demo
from credibly.predictions import ClassPredictions, Dirichlet, Ensemble, Point
from credibly_studies.inputs import public_arrays

STANDS_FOR = {
    "ensemble": "DE",
    "dropout": "LB-BNN",
    "evidential": "EDL",
    "intervals": "CreINN",
    "belief": "RS-NN",
    "single": "SNN",
    "forest": "SNN",
}
"""Which kind of model of C25 each of ours stands for."""


@dataclasses.dataclass(frozen=True)
class Models:
    """Models over the same instances, and their labels."""

    models: Mapping[str, ClassPredictions]
    labels: HostArray

    @property
    def sets(self) -> dict[str, ClassPredictions]:
        """Those that are no points."""
        return {name: model for name, model in self.models.items() if not isinstance(model, Point)}


def digits_models(rows: int | None = None) -> Models:
    """Return the bundled models on handwritten digits, on the first rows.

    ``belief`` holds the clamped masses of the ensemble on all single classes and pairs: a random set made of
    the same evidence, as no bundled model predicts masses.
    """
    made = {
        name: demo(name) for name in ("ensemble", "dropout", "evidential", "intervals", "single", "forest")
    }
    first = made["ensemble"]
    chosen = slice(0, rows)
    models: dict[str, ClassPredictions] = {}
    for name, data in made.items():
        assert isinstance(data.predictions, ClassPredictions)
        models[name] = data.predictions[chosen]
    models["belief"] = belief_of(models["ensemble"])
    return Models(models, np.asarray(first.labels)[chosen])


def belief_of(predictions: ClassPredictions) -> ClassPredictions:
    """Return the belief function of clamped masses on single classes and pairs."""
    k = predictions.n_classes
    pairs = [{i, j} for i in range(k) for j in range(i)]
    return mass_function(predictions, budget=[*({j} for j in range(k)), *pairs], negative="clamp").to_belief()


def snli_models(rows: int | None = None) -> Models:
    """Return what can be made of the five members on SNLI: hull, intervals, belief, a Dirichlet, one member.

    The Dirichlet has the mean of the members and the concentration whose spread is theirs, in the mean over
    instances: an evidential model of the same knowledge.
    """
    logits, labels = (
        array[:rows] for array in public_arrays("snli/snli_dev_ensemble.npz", "logits", "labels")
    )
    ensemble = Ensemble.from_logits(logits)
    probs = to_host(ensemble.probs).astype(np.float64)
    mean = probs.mean(axis=1)
    spread = float(probs.var(axis=1, ddof=1).sum(axis=1).mean() / (mean * (1 - mean)).sum(axis=1).mean())
    models: dict[str, ClassPredictions] = {
        "ensemble": ensemble,
        "evidential": Dirichlet(np.clip((1.0 / spread - 1.0) * mean, 1e-12, None)),
        "intervals": ensemble.to_intervals(),
        "belief": belief_of(ensemble),
        "single": Point(probs[:, 0]),
    }
    return Models(models, labels)


def four_classes(models: Models) -> Models:
    """Return the instances of the first four classes, predictions restricted to them and made to sum to 1."""
    rows = np.flatnonzero(models.labels < 4)
    kept: dict[str, ClassPredictions] = {}
    for name, model in models.models.items():
        if isinstance(model, Ensemble):
            kept[name] = Ensemble(_restricted(model.probs, rows))
        elif isinstance(model, Point):
            kept[name] = Point(_restricted(model.probs, rows))
        elif isinstance(model, Dirichlet):
            kept[name] = Dirichlet(to_host(model.alpha)[rows][:, :4])
    return Models(kept, models.labels[rows])


def _restricted(probs: Any, rows: HostArray) -> HostArray:
    part = to_host(probs)[rows][..., :4].astype(np.float64)
    return np.asarray(part / part.sum(axis=-1, keepdims=True))
