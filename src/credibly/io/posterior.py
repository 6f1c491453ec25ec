"""Posterior predictive groups of ArviZ and xarray: every draw is one joint replicate of all labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, nearest
from credibly.predictions import Ensemble, Predictions, as_predictions
from credibly.predictions.convert import MEMBER_DIMENSIONS

PREDICTED, OBSERVED = "posterior_predictive", "observed_data"


def from_posterior_predictive(
    data: Any, variable: str | None = None, *, n_classes: int | None = None
) -> tuple[Predictions, np.ndarray[Any, Any] | None]:
    """Read a posterior predictive group and the observed data that go with it.

    Parameters
    ----------
    data : InferenceData, DataTree, Dataset or DataArray
        With groups ``posterior_predictive`` and perhaps ``observed_data``, or the group itself, or one
        variable of it. Dimensions ``chain``, ``draw``, ``sample`` and ``member`` are members.
    variable : str, optional
        Which variable; needed only if the group has several.
    n_classes : int, optional
        Number of classes; pass it if the whole numbers are classes.

    Returns
    -------
    predictions : Samples, Ensemble
        Real draws (chain, draw, instance) as `Samples` (n, m, 1), drawn classes as an `Ensemble` whose
        members are certain of one class each, class probabilities (chain, draw, instance, class) as an
        `Ensemble`. A member is one draw for all instances, which is what the Bayesian hypothesis of
        `predictive_check` draws.
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
    if group is None:
        group = data
    if hasattr(group, "data_vars"):
        name = _variable(group, variable)
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
    predictions = _classes(chosen, n_classes) if n_classes is not None else as_predictions(chosen)
    labels = None
    if observed is not None and name in getattr(observed, "data_vars", {}):
        labels = np.asarray(observed[name].values)
    return predictions, labels


def _group(data: Any, name: str) -> Any:
    """Return a group by attribute (InferenceData) or key (DataTree, mapping); None where it is absent."""
    if hasattr(data, "data_vars") and not hasattr(data, "children"):
        return None  # a Dataset is a group itself, and its keys are variables
    found = getattr(data, name, None)
    if found is None and (isinstance(data, Mapping) or hasattr(data, "children")):
        found = data.get(name)
    if found is not None and hasattr(found, "to_dataset"):  # a node of a DataTree
        return found.to_dataset()
    return found


def _variable(group: Any, variable: str | None) -> str:
    names = [str(name) for name in group.data_vars]
    if variable is None and len(names) == 1:
        return names[0]
    if variable is None or variable not in names:
        raise InputError(
            "`variable`",
            "must name one variable of the posterior predictive group",
            f"got {variable!r} of {', '.join(names) or 'none'}",
            "Name one." if variable is None else nearest(variable, names),
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
