"""What a picture of a world needs: one class's probability over one feature (J25 Fig. 9)."""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import HostArray, as_float64, to_host
from credibly.predictions import Ensemble, LabelCounts
from credibly.results.base import Result
from credibly_studies.simulate.world import WorldSample


@dataclasses.dataclass(frozen=True, eq=False)
class WorldPicture(Result):
    """One class's probability over one feature: what members say, what is true, and with which weights.

    Attributes
    ----------
    name : str
        The world.
    of : int
        The class.
    x : ndarray (n,)
        The feature, increasing.
    members : ndarray (n, m)
        Probability each member gives.
    truth : ndarray (n,)
        Probability with which labels were drawn.
    inside : ndarray (n,) of bool
        Whether the truth is in the set of predictions, decided by a linear program per instance.
    labels : ndarray (n,) of bool
        Whether the class was observed.
    weights : ndarray (n, m) or None
        Weights of the members, if the world drew any.
    """

    name: str
    of: int
    x: HostArray
    members: HostArray
    truth: HostArray
    inside: HostArray
    labels: HostArray
    weights: HostArray | None


def world_picture(sample: WorldSample, *, of: int = 1) -> WorldPicture:
    """Return members, truth and weights of a sample over its one feature.

    Parameters
    ----------
    sample : WorldSample
        A sample from a world with members and one feature.
    of : int
        The class whose probability is shown.

    Returns
    -------
    WorldPicture
        Arrays in the order of the feature.

    Examples
    --------
    >>> from credibly_studies.simulate import BinaryWorld, world_picture
    >>> picture = world_picture(BinaryWorld("H0,2").draw(50, rng=7))
    >>> picture.members.shape, bool(picture.inside.all())
    ((50, 2), True)
    """
    if not isinstance(sample, WorldSample):
        raise InputTypeError(
            "`sample`",
            "must be what a world drew",
            f"got {type(sample).__name__}",
            "Use `world.draw(50)`.",
        )
    if (
        not isinstance(sample.predictions, Ensemble)
        or isinstance(sample.labels, LabelCounts)
        or sample.features.shape[1] != 1
    ):
        raise UnsupportedError(
            "a picture of a world over x",
            "needs members that predict classes, and one feature",
            f"got {sample.world.name!r}",
            "Use a `BinaryWorld` or a `MulticlassWorld`.",
        )
    of, k = require_integer(of, "of", 0), sample.predictions.n_classes
    if of >= k:
        raise InputError("`of`", f"must be a class from 0 to {k - 1}", f"got {of}", "Name another class.")
    assert sample.truth.probs is not None
    order = np.argsort(sample.features[:, 0])
    weights = sample.truth.weights
    return WorldPicture(
        name=sample.world.name,
        of=of,
        x=sample.features[order, 0],
        members=to_host(as_float64(sample.predictions.probs))[order, :, of],
        truth=sample.truth.probs[order, of],
        inside=sample.inside[order],
        labels=sample.labels[order] == of,
        weights=None if weights is None else weights[order],
    )
