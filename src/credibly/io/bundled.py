"""The predictions that come with the package: real models on handwritten digits."""

from __future__ import annotations

import json
from importlib import resources

from credibly._arrays.errors import one_of
from credibly.io.files import digest_of, read_content
from credibly.predictions import Dataset, Dirichlet, Ensemble, Intervals, Point, Predictions

_MODELS = ("ensemble", "single", "forest", "evidential", "intervals", "dropout", "shift")


def demo_models() -> tuple[str, ...]:
    """Return the names that `demo` takes."""
    return _MODELS


def demo(model: str = "ensemble") -> Dataset:
    """Return bundled predictions for 900 handwritten digits; ``meta`` describes their origin.

    Parameters
    ----------
    model : str
        One of `demo_models`. ``"shift"`` is the ensemble on 750 corrupted digits, grouped by severity.

    Returns
    -------
    Dataset
        Predictions, labels, features, ids and class names.
    """
    one_of("`model`", model, _MODELS)
    with resources.as_file(resources.files("credibly") / "data" / "digits.npz") as path:
        content = read_content(path)
        arrays, digest = content.arrays, digest_of(content)
    shifted = model == "shift"
    front = "shift/" if shifted else ""
    predictions: Predictions
    if model == "evidential":
        predictions = Dirichlet(arrays["evidential/alpha"])
    elif model == "intervals":
        predictions = Intervals(arrays["intervals/lower"], arrays["intervals/upper"])
    else:
        probs = arrays["shift/ensemble/probs" if shifted else f"{model}/probs"]
        predictions = Ensemble(probs, member_axis=1) if probs.ndim == 3 else Point(probs)
    notes = ["groups are the severity of the corruption, 1 to 5"] if shifted else []
    return Dataset(
        predictions,
        arrays[f"{front}y"],
        arrays[f"{front}features"],
        arrays["shift/severity"] if shifted else None,
        arrays[f"{front}id"],
        tuple(arrays["classes"].tolist()),
        json.loads(str(arrays["meta"])),
        (*notes, *predictions.notes),
        f"digits.npz ({model})",
        digest,
    )
