"""Objects of other libraries, read by the names of what they carry: labelled arrays, those of probly."""

from __future__ import annotations

from typing import Any

from credibly._arrays.checks import as_array
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import namespace
from credibly.predictions import (
    Dirichlet,
    Ensemble,
    Gaussian,
    Intervals,
    Point,
    Predictions,
    Samples,
    as_predictions,
)

_SAMPLE_AXES = ("sample_axis", "sample_dim")

_HELD = ("array", "tensor")

MEMBER_DIMENSIONS = ("chain", "draw", "sample", "member", "members")
"""Names of dimensions of labelled arrays that are read as members."""


def from_foreign(obj: Any, member_axis: int | None) -> Predictions | None:
    """Return predictions of an object that carries them, or None where it carries nothing that is known.

    Parameters
    ----------
    obj : object
        A labelled array, or it has ``alphas``; ``lower_bounds`` and ``upper_bounds``; ``mean`` and ``var``;
        ``array`` or ``tensor`` with a ``sample_axis`` or ``sample_dim``, or as the members of a set;
        ``samples.probabilities``; or ``probabilities``.
    member_axis : {0, 1}, optional
        Where the members are, for objects that do not say it themselves.

    Returns
    -------
    Predictions or None
        The predictions, validated.
    """
    if any(hasattr(obj, name) for name in ("posterior_predictive", "children")):
        raise InputTypeError(
            "predictions",
            "must be an array or a prediction object",
            f"got {type(obj).__name__}, which holds several variables",
            "Read draws and labels first: `predictions, labels = from_posterior_predictive(data)`.",
        )
    if hasattr(obj, "collect_schema"):
        raise InputTypeError(
            "predictions", "must be in memory", f"got a {type(obj).__name__}", "Call `.collect()` first."
        )
    if hasattr(obj, "dims") and hasattr(obj, "transpose"):
        return _from_labelled(obj)
    if hasattr(obj, "alphas"):
        return Dirichlet(obj.alphas, member_axis=member_axis)
    if hasattr(obj, "lower_bounds") and hasattr(obj, "upper_bounds"):
        return Intervals(obj.lower_bounds, obj.upper_bounds)
    if hasattr(obj, "nominal") and hasattr(obj, "radius"):
        raise InputTypeError(
            f"a {type(obj).__name__}",
            "must be a set that has a representation here",
            "it is a ball around a distribution",
            "Enclose it: `Intervals(obj.lower(), obj.upper())`, which is a larger set.",
        )
    if _is_value(obj, "mean") and _is_value(obj, "var"):
        variance = as_array(obj.var, "var")
        return Gaussian(as_array(obj.mean, "mean"), namespace(variance).sqrt(variance), member_axis)
    inner_array = next((getattr(obj, name) for name in _HELD if _is_value(obj, name)), None)
    axis = next((getattr(obj, name) for name in _SAMPLE_AXES if _is_value(obj, name)), None)
    if inner_array is not None and axis is not None:
        members = as_array(getattr(inner_array, "probabilities", inner_array), "probabilities")
        return Ensemble(members, weights=getattr(obj, "weights", None), member_axis=int(axis))
    if inner_array is not None:
        return _probabilities(inner_array, 1 if member_axis is None else member_axis)
    probabilities = getattr(obj, "probabilities", None)
    inner = getattr(getattr(obj, "samples", None), "probabilities", probabilities)
    return None if inner is None else _probabilities(inner, member_axis)


def _is_value(obj: Any, name: str) -> bool:
    """Whether an attribute is there and no method, as the mean of an array is."""
    return hasattr(obj, name) and not callable(getattr(obj, name))


def _probabilities(inner: Any, member_axis: int | None) -> Predictions:
    array = as_array(getattr(inner, "probabilities", inner), "probabilities")
    return as_predictions(array, member_axis=member_axis if array.ndim == 3 else None)


def _from_labelled(obj: Any) -> Predictions:
    """Stack chains and draws of an xarray.DataArray into members, in front of the other dimensions."""
    if hasattr(obj, "data_vars"):
        raise InputTypeError(
            "labelled predictions",
            "must be one variable",
            f"got a {type(obj).__name__} with {', '.join(map(str, obj.data_vars))}",
            "Select one: `dataset[name]`.",
        )
    member_dims = [name for name in MEMBER_DIMENSIONS if name in obj.dims]
    rest = [name for name in obj.dims if name not in member_dims]
    if len(rest) != 2 and not (member_dims and len(rest) == 1):
        raise InputError(
            "labelled predictions",
            "must have two dimensions besides chain and draw (instances, then classes), or one (real draws)",
            f"got dimensions {tuple(obj.dims)}",
            "Select one variable and reduce or rename its dimensions.",
        )
    values = as_array(obj.transpose(*member_dims, *rest).values, "predictions")
    if not member_dims:
        return Point(values)
    members = values.reshape(-1, *values.shape[len(member_dims) :])
    if len(rest) == 2:
        return Ensemble(members, member_axis=0)
    if values.dtype.kind != "f":
        raise InputTypeError(
            "labelled draws",
            "must be real numbers",
            f"got dtype {values.dtype}",
            "For drawn classes use `from_posterior_predictive(data, n_classes=k)`; counts: `.astype(float)`.",
        )
    return Samples(members.T[:, :, None], member_axis=1)  # a member is one joint draw
