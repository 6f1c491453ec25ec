"""Posterior predictive groups of ArviZ and xarray: every draw is one joint replicate of all labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.checks import sum_tolerance
from credibly._arrays.errors import InputError, InputTypeError, nearest
from credibly.io.foreign import MEMBER_DIMENSIONS
from credibly.predictions import Ensemble, Predictions, Samples, as_predictions

PREDICTED, OBSERVED, POSTERIOR = "posterior_predictive", "observed_data", "posterior"


def from_posterior_predictive(
    data: Any, variable: str | None = None, *, n_classes: int | None = None
) -> tuple[Predictions, np.ndarray[Any, Any] | None]:
    """Read a posterior predictive group and the observed data that go with it.

    Parameters
    ----------
    data : InferenceData, DataTree, Dataset or DataArray
        With groups ``posterior_predictive`` and perhaps ``observed_data``, or the group itself, or one
        variable of it. Without draws of the labels, the group ``posterior`` may state probabilities of the
        observed classes. Dimensions ``chain``, ``draw``, ``sample`` and ``member`` are members.
    variable : str, optional
        Which variable; needed only if the group has several.
    n_classes : int, optional
        Number of classes; pass it if the whole numbers are classes. Default: whole numbers that are all 0 or
        1 are two classes, others are counts.

    Returns
    -------
    predictions : Samples, Ensemble
        Real draws and counts (chain, draw, instance) as `Samples` (n, m, 1); drawn classes as an `Ensemble`
        whose members are certain of one class each, which tests take as draws; class probabilities (chain,
        draw, instance, class) as an `Ensemble`. A member is one draw for all instances, which is what the
        Bayesian hypothesis of `predictive_check` draws.
    labels : ndarray (n,) or None
        The same variable of the observed data.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> import credibly as cr
    >>> draws = xarray.DataArray(np.zeros((2, 50, 9)), dims=("chain", "draw", "row"))
    >>> cr.from_posterior_predictive(draws)[0]
    Samples(n=9, m=100, s=1, dtype=float64)
    """
    group, observed = _group(data, PREDICTED), _group(data, OBSERVED)
    seen = {} if observed is None else _by_name(observed)
    if group is None and _group(data, POSTERIOR) is not None and n_classes is None:
        readings = stated_probabilities(_by_name(_group(data, POSTERIOR)), seen)
        reading = readings[_variable(readings, variable, f"hold probabilities in the group {POSTERIOR!r}")]
        return reading.predictions, reading.labels
    if group is None:
        group = data
    if hasattr(group, "data_vars"):
        name = _variable(_by_name(group), variable, "be one of the posterior predictive group")
        chosen = group[name]
    elif hasattr(group, "dims"):
        name, chosen = variable or str(getattr(group, "name", "") or ""), group
    else:
        raise InputTypeError(
            "posterior predictive draws",
            "must be an InferenceData, a DataTree, a Dataset or a DataArray",
            f"got {type(data).__name__}",
            f"Pass the object that holds the group {PREDICTED!r}.",
        )
    if n_classes is None:
        reading = drawn(name, chosen, seen.get(name))
        return reading.predictions, reading.labels
    labels = None if name not in seen else np.asarray(seen[name].values)
    return _classes(chosen, n_classes), labels


@dataclasses.dataclass(frozen=True)
class Reading:
    """Predictions and labels that one variable holds.

    Attributes
    ----------
    predictions : Predictions
        What it predicts.
    labels : ndarray (n,) or None
        What was observed.
    notes : tuple of str
        How it was read.
    """

    predictions: Predictions
    labels: np.ndarray[Any, Any] | None
    notes: tuple[str, ...]


def drawn(name: str, draws: Any, observed: Any) -> Reading:
    """Read one variable of a posterior predictive group; whole numbers are classes 0 and 1, or counts."""
    labels = None if observed is None else np.asarray(observed.values)
    seen: tuple[str, ...] = () if labels is None else (f"{name!r} of {OBSERVED!r} is read as `y`",)
    cells = [dimension for dimension in draws.dims if dimension not in MEMBER_DIMENSIONS]
    if labels is not None and len(cells) > 1 and labels.shape == tuple(draws.sizes[cell] for cell in cells):
        draws, labels = draws.stack(instance=cells, create_index=False), labels.ravel()
        seen += (f"every cell of {' x '.join(map(str, cells))} is one instance; related cells need clusters",)
    values = np.asarray(draws.values)
    if values.dtype.kind not in "iub":
        predictions = as_predictions(draws)
        kind = "samples" if isinstance(predictions, Samples) else "probs"
        joint = ": a member is one joint draw" if kind == "samples" else ""
        return Reading(predictions, labels, (f"{name!r} of {PREDICTED!r} is read as `{kind}`{joint}", *seen))
    zero_one = [numbers for numbers in (values, labels) if numbers is not None]
    if all(np.isin(numbers, (0, 1)).all() for numbers in zero_one):
        note = f"{name!r} of {PREDICTED!r} holds 0 and 1 only, and is read as drawn labels of two classes"
        whole = None if labels is None else labels.astype(np.int64)
        return Reading(_classes(draws, 2), whole, (note, *seen))
    note = (
        f"{name!r} of {PREDICTED!r} holds whole numbers, and is read as draws of a count; if they are "
        "classes, use `from_posterior_predictive(data, n_classes=k)`"
    )
    real = None if labels is None else labels.astype(np.float64)
    return Reading(as_predictions(draws.astype(np.float64)), real, (note, *seen))


def stated_probabilities(parameters: Mapping[str, Any], observed: Mapping[str, Any]) -> dict[str, Reading]:
    """Return the variables of a posterior that state probabilities of the classes observed."""
    readings = {}
    for name, variable in parameters.items():
        members = [dimension for dimension in MEMBER_DIMENSIONS if dimension in variable.dims]
        rest = [dimension for dimension in variable.dims if dimension not in members]
        values = np.asarray(variable.transpose(*members, *rest).values)
        if not members or len(rest) not in (1, 2) or values.dtype.kind != "f":
            continue
        truth = observed.get(name)
        if truth is None:
            fitting = [
                array for array in observed.values() if array.shape == values.shape[len(members) :][:1]
            ]
            truth = fitting[0] if len(fitting) == 1 else None
        if truth is None:
            continue
        labels = np.asarray(truth.values)
        if labels.dtype.kind not in "iub" or not ((values >= 0) & (values <= 1)).all():
            continue
        if len(rest) == 1:
            if not np.isin(labels, (0, 1)).all():
                continue
            values = np.stack([1.0 - values, values], axis=-1)
        elif np.abs(values.sum(axis=-1) - 1).max() > sum_tolerance(values):
            continue
        predictions = Ensemble(values.reshape(-1, *values.shape[len(members) :]), member_axis=0)
        notes = (
            f"{name!r} of {POSTERIOR!r} is read as probabilities: a member is one draw of the posterior",
            f"{truth.name!r} of {OBSERVED!r} is read as `y`",
        )
        readings[name] = Reading(predictions, labels.astype(np.int64), notes)
    return readings


def _by_name(group: Any) -> dict[str, Any]:
    return {str(name): group[name] for name in getattr(group, "data_vars", {})}


def _group(data: Any, name: str) -> Any:
    """Return a group by attribute (InferenceData) or key (DataTree, mapping); None where it is absent."""
    if hasattr(data, "data_vars") and not hasattr(data, "children"):
        return None  # a Dataset is a group itself, and its keys are variables
    node = getattr(data, name, None)
    if node is None and (isinstance(data, Mapping) or hasattr(data, "children")):
        node = data.get(name)
    if node is not None and hasattr(node, "to_dataset"):  # a node of a DataTree
        return node.to_dataset()
    return node


def _variable(group: Mapping[str, Any], variable: str | None, rule: str) -> str:
    if variable is None and len(group) == 1:
        return next(iter(group))
    if variable is None or variable not in group:
        raise InputError(
            "`variable`",
            f"must {rule}",
            f"got {variable!r} of {', '.join(group) or 'none'}",
            "Name one." if variable is None else nearest(variable, group),
        )
    return variable


def _classes(draws: Any, n_classes: int) -> Ensemble:
    """Return drawn classes (members, instances) as members that are sure of them."""
    members = [name for name in MEMBER_DIMENSIONS if name in draws.dims]
    rest = [name for name in draws.dims if name not in members]
    values = np.asarray(draws.transpose(*members, *rest).values)
    if not members or len(rest) != 1 or values.dtype.kind not in "iub":
        raise InputError(
            "drawn classes",
            "must be whole numbers with one dimension of instances besides chain and draw",
            f"got dimensions {tuple(draws.dims)} and dtype {values.dtype}",
            "Leave out `n_classes` for real draws or class probabilities.",
        )
    flat = values.reshape(-1, values.shape[-1]).astype(np.int64)
    if flat.min() < 0 or flat.max() >= n_classes:
        raise InputError(
            "drawn classes",
            f"must lie between 0 and {n_classes - 1}",
            f"got {flat.min()} to {flat.max()}",
            "Check `n_classes`; labels that start at 1 need 1 subtracted.",
        )
    return Ensemble(np.eye(n_classes)[flat], member_axis=0)
