"""Objects of other libraries, read by the names of what they carry; probly's representations among them."""

from __future__ import annotations

from typing import Any

from credibly._arrays.checks import as_array
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import namespace
from credibly.predictions.base import Predictions
from credibly.predictions.dirichlet import Dirichlet
from credibly.predictions.ensemble import Ensemble
from credibly.predictions.intervals import Intervals
from credibly.predictions.point import Point
from credibly.predictions.regression import Gaussian

_SAMPLE_AXES = ("sample_axis", "sample_dim")
_HELD = ("array", "tensor")


def from_foreign(obj: Any, member_axis: int | None) -> Predictions | None:
    """Return predictions of an object that carries them, or None where it carries nothing that is known.

    Parameters
    ----------
    obj : object
        Has ``alphas``; ``lower_bounds`` and ``upper_bounds``; ``mean`` and ``var``; ``array`` or ``tensor``
        with a ``sample_axis`` or ``sample_dim``, or as the members of a set; ``samples.probabilities``; or
        ``probabilities``.
    member_axis : {0, 1}, optional
        Where the members are, for objects that do not say it themselves.

    Returns
    -------
    Predictions or None
        The predictions, validated.
    """
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
        return Gaussian(as_array(obj.mean, "mean"), namespace(variance).sqrt(variance))
    held = next((getattr(obj, name) for name in _HELD if _is_value(obj, name)), None)
    axis = next((getattr(obj, name) for name in _SAMPLE_AXES if _is_value(obj, name)), None)
    if held is not None and axis is not None:
        return _sample(obj, held, int(axis))
    if held is not None:
        return _probabilities(held, 1 if member_axis is None else member_axis)
    inner = getattr(getattr(obj, "samples", None), "probabilities", None)
    if inner is None and hasattr(obj, "probabilities"):
        inner = obj.probabilities
    return None if inner is None else _probabilities(inner, member_axis)


def _is_value(obj: Any, name: str) -> bool:
    """Whether an attribute is there and no method, as the mean of an array is."""
    return hasattr(obj, name) and not callable(getattr(obj, name))


def _sample(obj: Any, held: Any, axis: int) -> Predictions:
    """Read draws of distributions; the object says which axis is theirs."""
    members = as_array(getattr(held, "probabilities", held), "probabilities")
    if members.ndim != 3:
        raise InputError(
            f"a {type(obj).__name__}",
            "must hold draws of (n, k) probabilities",
            f"got shape {tuple(members.shape)}",
            "For draws of real values use `Samples`.",
        )
    if axis not in (0, 1):
        raise InputError(
            f"a {type(obj).__name__}",
            "must have its draws before the classes",
            f"axis {axis} holds them",
            "Move it: `obj.move_sample_axis(0)`.",
        )
    return Ensemble(members, weights=getattr(obj, "weights", None), member_axis=axis)


def _probabilities(inner: Any, member_axis: int | None) -> Predictions:
    array = as_array(getattr(inner, "probabilities", inner), "probabilities")
    if array.ndim == 2:
        return Point(array)
    if array.ndim == 3:
        return Ensemble(array, member_axis=member_axis)
    raise InputError(
        "`probabilities`",
        "must have shape (n, k), or (n, m, k) for members",
        f"got shape {tuple(array.shape)}",
        "Select or reduce the other axes first.",
    )
