"""Sets of predictions of real models: networks trained here, and five language models on SNLI."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly.predictions import Ensemble
from credibly_studies.inputs import public_arrays
from credibly_studies.networks import images, trained_network

SNLI = "snli"


@dataclasses.dataclass(frozen=True)
class RealSet:
    """What a model predicts for two parts of its data.

    Parameters
    ----------
    validation, test : Ensemble
        Predictions.
    validation_labels, test_labels : ndarray
        What was observed.
    """

    validation: Ensemble
    validation_labels: np.ndarray[Any, Any]
    test: Ensemble
    test_labels: np.ndarray[Any, Any]


def real_set(data_set: str, model: str, rows: int) -> RealSet:
    """Return the predictions of a model, trained here or published.

    Parameters
    ----------
    data_set : str
        One of those of `networks`, or "snli".
    model : str
        One of `MODELS`; not used for SNLI.
    rows : int
        Instances of the validation part at most.

    Returns
    -------
    RealSet
        Two parts; the model was trained on neither.
    """
    if data_set == SNLI:
        (logits, labels), (test_logits, test_labels) = (
            public_arrays(f"snli/snli_{part}_ensemble.npz", "logits", "labels") for part in ("dev", "test")
        )
        chosen = np.random.default_rng(0).permutation(labels.size)[:rows]
        return RealSet(
            Ensemble.from_logits(logits[chosen].astype(float)),
            labels[chosen].astype(np.int64),
            Ensemble.from_logits(test_logits.astype(float)),
            test_labels.astype(np.int64),
        )
    data, network = images(data_set), trained_network(data_set, model)
    validation, test = data["validation"], data["test"]
    return RealSet(
        network.predict(validation.pixels[:rows], seed=0),
        validation.labels[:rows],
        network.predict(test.pixels, seed=1),
        test.labels,
    )
