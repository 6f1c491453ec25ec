"""Recalibrations from JSON files: what was saved is checked before an object is made of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from credibly._arrays.errors import CrediblyError, FileError, InputError, nearest
from credibly.recalibrate.additive import BiasScaling, PlattScaling
from credibly.recalibrate.affine import MatrixScaling, VectorScaling
from credibly.recalibrate.alpha import AlphaCalibration
from credibly.recalibrate.base import FORMAT, KEPT, VERSION, Recalibration
from credibly.recalibrate.chain import Chain
from credibly.recalibrate.credal import CredalRecalibration
from credibly.recalibrate.curves import BetaScaling, CurveScaling, VennAbers
from credibly.recalibrate.ignorance import IgnoranceCalibration
from credibly.recalibrate.labelling import ColumnOrder, NoiseScaling
from credibly.recalibrate.levels import IsotonicRecalibration, QuantileShift
from credibly.recalibrate.location import NAMES, LocationScaling
from credibly.recalibrate.members import MemberTemperatures
from credibly.recalibrate.spread import SpreadScaling
from credibly.recalibrate.tails import SkewScaling, TailScaling
from credibly.recalibrate.temperature import TemperatureScaling

METHODS: dict[str, type[Recalibration]] = {
    method.method: method
    for method in (
        TemperatureScaling,
        BiasScaling,
        PlattScaling,
        CurveScaling,
        BetaScaling,
        VectorScaling,
        MatrixScaling,
        NoiseScaling,
        ColumnOrder,
        VennAbers,
        MemberTemperatures,
        AlphaCalibration,
        IgnoranceCalibration,
        CredalRecalibration,
        SpreadScaling,
        IsotonicRecalibration,
        QuantileShift,
        LocationScaling,
        TailScaling,
        SkewScaling,
        Chain,
    )
}
NAMED: dict[str, Callable[[], Recalibration]] = {
    **{name: method for name, method in METHODS.items() if name != "chain"},
    **{name: partial(LocationScaling, terms) for name, terms in NAMES.items()},
    "sigmoid": PlattScaling,
    "relative_levels": partial(QuantileShift, relative=True),
    "scale_by_features": partial(SpreadScaling, by="features"),
}
"""What a name stands for, unfitted."""
_CREATE = "Create it with `save` or `credibly calibrate fit`."
_SAME_VERSION = "Use the version of credibly that wrote it, or fit again."
_FIELDS = ("settings", "learned", "convergence", *KEPT, "notes")


def load(path: str | os.PathLike[str]) -> Recalibration:
    """Read a recalibration that `save` wrote.

    Parameters
    ----------
    path : path
        The JSON file.

    Returns
    -------
    Recalibration
        Fitted, ready to `apply`.

    Raises
    ------
    FileError
        If the file cannot be read or does not hold a recalibration.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import credibly as cr
    >>> predictions = cr.Point([[0.7, 0.3], [0.6, 0.4], [0.2, 0.8]])
    >>> scaling = cr.recalibrate.TemperatureScaling().fit(predictions, [0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = scaling.save(pathlib.Path(folder) / "scaling.json")
    ...     cr.recalibrate.load(path).temperature == scaling.temperature
    True
    """
    from credibly.io import read_json_object

    values = read_json_object(path)
    file = f"'{os.fspath(path)}'"
    try:
        return recalibration_from_dict(values)
    except CrediblyError as error:
        raise FileError(file, error.rule, error.evidence, error.remedy) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        rule, evidence = "must be a recalibration written by `save`", f"{type(error).__name__}: {error}"
        raise FileError(file, rule, evidence, "Save it again, or fit again.") from error


def recalibration_from_dict(values: Mapping[str, Any]) -> Recalibration:
    """Return the fitted recalibration that `to_dict` described."""
    for name, sound, rule, remedy in (
        ("format", (FORMAT,), f"must have the format {FORMAT!r}", _CREATE),
        ("version", (VERSION,), f"must have version {VERSION}", _SAME_VERSION),
        ("method", METHODS, "must name its method", nearest(values.get("method"), METHODS)),
    ):
        if values.get(name) not in sound:
            raise InputError("a recalibration", rule, f"got {values.get(name)!r}", remedy)
    for name in _FIELDS:
        if name not in values:
            rule, evidence = f"must hold {', '.join(_FIELDS)}", f"{name!r} is missing"
            raise InputError("a recalibration", rule, evidence, "Fit again.")
    return METHODS[values["method"]]._from_dict(values)


def names_for(predictions: Any) -> list[str]:
    """Return the names of the recalibrations of such predictions."""
    return [name for name in NAMED if NAMED[name]().takes(predictions)]


def named_recalibration(name: str) -> Recalibration:
    """Return an unfitted recalibration by name; ``"temperature+alpha"`` is a chain."""
    if name in NAMED:
        return NAMED[name]()
    steps = []
    for word in name.split("+"):
        if word not in NAMED:
            rule = f"must be names joined by '+' from {', '.join(NAMED)}"
            raise InputError("the name of a recalibration", rule, f"got {name!r}", nearest(word, NAMED))
        steps.append(NAMED[word]())
    return steps[0] if len(steps) == 1 else Chain(tuple(steps))
