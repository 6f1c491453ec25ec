"""Turn what users hold into predictions: arrays, tensors, lists, and by way of io files and other objects."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from credibly._arrays.checks import as_array
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import Array, is_array, is_numpy, is_torch, namespace, to_host
from credibly.predictions.base import Predictions
from credibly.predictions.ensemble import Ensemble, is_list_of_members, members_second
from credibly.predictions.label_checks import number_of_axes
from credibly.predictions.label_counts import LabelCounts
from credibly.predictions.label_reading import is_one_hot, numbers_of
from credibly.predictions.point import SCORES, Point, both_classes, both_columns


def as_predictions(obj: Any, *, member_axis: int | None = None) -> Predictions:
    """Return `obj` as predictions.

    Parameters
    ----------
    obj : object
        Predictions (returned unchanged); an array (n, k), read as `Point`, or (n, m, k), read as
        `Ensemble`; a list of these numbers; a list of (n, k) arrays, one per member; scores (n,) or (n, 1)
        for class 1 of two classes; what `load` returned, a path or a data frame, which `load` reads; a
        labelled array (xarray, ArviZ) with dimensions ``chain`` and ``draw``, whose draws become members (for
        real labels: `Samples` with one draw per member); or an object of another library (probly) with
        ``probabilities``, ``alphas``, ``lower_bounds`` and ``upper_bounds``, ``mean`` and ``var``, or draws
        in ``array`` or ``tensor`` with their ``sample_axis`` or ``sample_dim``.
    member_axis : {0, 1}, optional
        ...

    Returns
    -------
    Predictions
        The predictions, validated.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.as_predictions([[0.5, 0.5], [0.1, 0.9]])
    Point(n=2, k=2, dtype=float64)
    """
    if isinstance(obj, Predictions):
        return obj
    from credibly.predictions.dataset import Dataset, named  # a dataset is made with this function
    from credibly.predictions.rows import Rows

    if isinstance(obj, Dataset):
        return obj.predictions
    if is_source(obj):
        data: Dataset = loaded(obj, None, member_axis=member_axis)
        return named(data.predictions, data.classes, data.index)

    if isinstance(obj, Rows):
        raise InputTypeError(
            "predictions",
            "must be in memory here",
            "got rows in chunks",
            "For the mean over instances of a measure use `mean_over(rows, measure)`.",
        )
    is_column = hasattr(obj, "to_numpy") and not hasattr(obj, "dims")  # of a table, with any names
    if not (is_column or is_numpy(obj) or is_torch(obj) or isinstance(obj, (list, tuple))):
        # tach-ignore(objects of other libraries are read by the room above)
        from credibly.io.foreign import from_foreign

        carried = from_foreign(obj, member_axis)
        if carried is not None:
            return carried
    if is_scored(obj):
        return _from_scored(obj)
    if is_list_of_members(obj):
        return Ensemble.from_members(obj)
    array = as_array(obj, "predictions", "Pass an array, or wrap it: `Point`, `Ensemble`, `Dirichlet`, ...")
    if array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1):
        return from_binary_scores(array)
    _require_no_sets(array)
    if array.ndim == 3 and array.shape[2] == 1:
        members = Ensemble(both_columns(array[:, :, 0]), member_axis=member_axis)
        members._set(notes=(SCORES, *members.notes))
        return members
    if array.ndim == 3:
        return Ensemble(array, member_axis=member_axis)
    if array.ndim == 2:
        return Point(members_second(array, "predictions", member_axis, "(n, m, k)", "(n, k)"))
    raise InputError(
        "predictions",
        "must be an (n, k) array of probabilities, an (n, m, k) array of members, or a prediction object",
        f"got shape {tuple(array.shape)}",
        "For binary scores p use `Point(numpy.stack([1 - p, p], axis=-1))`; "
        "for regression `Gaussian`, `Samples` or `Quantiles`; images (b, h, w, k) need labels (b, h, w).",
    )


def _require_no_sets(array: Array) -> None:
    """Raise where an array holds what conformal methods return: sets of classes, or ends of intervals."""
    xp, column = namespace(array), tuple(array.shape[2:]) == (1,)
    if xp.isdtype(array.dtype, "bool") and (column or (array.ndim == 2 and not is_one_hot(array))):
        claim, remedy = "sets of classes", "`PredictionSets(sets, claimed=0.9)`"
    elif column and array.shape[1] == 2 and bool(xp.any((array < 0) | (array > 1))):
        claim, remedy = "ends of intervals", "`PredictionIntervals.from_ends(ends, claimed=0.9)`"
    else:
        return
    raise InputTypeError(
        "predictions",
        "must be probabilities",
        f"shape {tuple(array.shape)} of {array.dtype} looks like {claim}",
        f"Use {remedy}, with the share of labels that they claim to contain.",
    )


def is_scored(obj: Any) -> bool:
    """Tell whether it is a list with a list of {"label": ..., "score": ...} per instance."""
    return isinstance(obj, list) and bool(obj) and all(map(names_its_classes, obj))


def names_its_classes(entry: Any) -> bool:
    """Tell whether it is a list of {"label": ..., "score": ...}, the classes as pipelines return them."""
    return (
        isinstance(entry, list)
        and len(entry) > 1
        and all(isinstance(score, dict) and set(score) == {"label", "score"} for score in entry)
    )


def by_class(entry: list[Any]) -> dict[str, Any]:
    """Return the scores of one instance by class; a class that is named twice is refused."""
    scores = {str(score["label"]): score["score"] for score in entry}
    if len(scores) < len(entry):
        names = [str(score["label"]) for score in entry]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            "predictions", "must name each class once per instance", f"{twice!r} appears twice", "Check them."
        )
    return scores


def _from_scored(obj: list[Any]) -> Point:
    """Return the probabilities of what a pipeline returned, with the names of the classes."""
    rows = [by_class(entry) for entry in obj]
    # an order that nobody would number 0, 1, ...: such labels are refused, not guessed at
    names = tuple(sorted(rows[0], reverse=True))
    numbers = numbers_of(names)
    if numbers is not None:
        names = tuple(names[at] for at in np.argsort(numbers))
    for row, entry in enumerate(rows):
        if set(entry) != set(names):
            raise InputError(
                f"instance {row}",
                f"must name the classes of the first: {', '.join(names[:6])}",
                f"got {', '.join(list(entry)[:6])}",
                "Ask the pipeline for all classes: `top_k=None`.",
            )
    point = Point(np.array([[entry[name] for name in names] for entry in rows]))
    point._set(
        notes=("predictions name their classes, as pipelines return them", *point.notes), classes=names
    )
    return point


def is_source(obj: Any) -> bool:
    """Tell whether `load` has to read it: a path, or a data frame."""
    return not is_numpy(obj) and (isinstance(obj, (str, bytes, os.PathLike)) or is_frame(obj))


def is_frame(obj: Any) -> bool:
    """Tell whether it is a table with named columns of pandas, polars or pyarrow, in memory."""
    known = any(hasattr(obj, name) for name in ("iloc", "column_names", "get_column"))
    return (
        known and hasattr(obj, "columns") and not isinstance(obj, type) and not hasattr(obj, "__dask_graph__")
    )


def column_names(frame: Any) -> list[Any]:
    """Return the names of the columns of a table."""
    return list(getattr(frame, "column_names", frame.columns))


def loaded(source: Any, labels: Any, **options: Any) -> Any:
    """Return the dataset of a path or a data frame; `options` are passed to `load`."""
    # What a user holds is read where files are: the arrow from predictions to io exists while this runs and
    # not while the modules load.
    # tach-ignore(a path or a data frame in place of predictions is read by the room above)
    from credibly.io import load

    return load(source, labels=labels, **options)


def from_binary_scores(scores: Any) -> Point:
    """Return scores (n,) or (n, 1) between 0 and 1 as both columns, with a note; others are refused."""
    point = Point(both_classes(scores))
    point._set(notes=(SCORES, *point.notes))
    return point


def require_no_confidence(scores: Any, labels: Any) -> None:
    """Raise where every score is at least 1/2 and labels are of both classes: confidence, it seems."""
    if not hasattr(labels, "shape") or len(labels.shape) != 1 or not 20 <= len(scores) == len(labels):
        return
    values = to_host(scores).ravel()
    sure = values.dtype.kind == "f" and bool((values >= 0.5).all()) and bool((values < 1).any())
    if sure and len(np.unique(to_host(labels) if is_array(labels) else np.asarray(labels))) > 1:
        raise InputError(
            "the scores",
            "must be the probability of class 1, whatever was predicted",
            f"all {len(values)} are at least 0.5, and the labels are of both classes: they look like the "
            "confidence in whatever class was predicted",
            "Give the probabilities of both classes, (n, 2) or columns `p_0`, `p_1`; a text-classification "
            "pipeline returns them with `top_k=None`.",
        )


def require_order(predictions: Any, labels: Any) -> None:
    """Raise with the right call if predictions and labels were swapped."""
    looks_predicted = number_of_axes(labels) in (2, 3)
    if isinstance(labels, Predictions):
        looks_predicted = not isinstance(labels, LabelCounts)
    looks_observed = isinstance(predictions, LabelCounts) or number_of_axes(predictions) == 1
    if looks_observed and looks_predicted:
        raise InputTypeError(
            "predictions and labels",
            "must be given in this order",
            "the first argument looks like labels and the second like predictions",
            "Swap them: `f(predictions, labels)`.",
        )
