"""The multiclass worlds of J25: Dirichlet members, truths inside, outside, and on the boundary (control)."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, UnsupportedError, one_of
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly.predictions import Ensemble
from credibly_studies.simulate.corners import (
    average_over_corners,
    beyond,
    boundary_point,
    closest_corners,
    corners_along,
    draw_with_room,
    redraw_notes,
)
from credibly_studies.simulate.functions import draw_members, draw_prior, polynomial_weights
from credibly_studies.simulate.world import (
    LARGEST,
    Truth,
    World,
    WorldSample,
    draw_labels,
    mixture,
    require_interval,
    require_number,
)

CORNERS = ("dataset", "features", "closest", "instance")

_MOST_PRIORS = 10


@dataclasses.dataclass(frozen=True)
class MulticlassWorld(World):
    """The multiclass worlds of J25.

    x ~ U(x_range), p ~ Dir(a, ..., a) for each instance, members P_m ~ Dir(k p / u(x)).

    Parameters
    ----------
    hypothesis : {"H0,1", "H0,2", "H1"}
        H0,1: labels from sum_m w_m P_m with one w ~ Dir(1, ..., 1) for all instances. H0,2: w is a function
        of x made of random polynomials. H1: labels from (1 - delta) b + delta e_c, b the point where the ray
        from the mean of the members to the corner c leaves the hull.
    delta : float
        Share of the way from the boundary to the corner under H1. **delta = 0 is the control**: the truth is
        on the boundary, so the hypothesis is true, and if a test rejects more often than its level there, its
        power elsewhere means nothing.
    corner : {"dataset", "features", "closest", "instance"}
        Which corner under H1: one drawn per data set; a function of x (the range is cut into k pieces, one
        corner each, in random order); the closest to the mean of the members; or one drawn for each instance.
        The last averages out: given the instance, the truth is inside the hull for many instances.
    n_members, n_classes : int
        Size of the ensemble and number of classes.
    spread : float or tuple of float
        How much members vary, u; several numbers are values at equally spaced x, linear in between.
    prior : {"instance", "dataset"}
        One p for each instance, as in the paper, or one for all instances of a data set.
    prior_concentration : float
        The parameter a.
    degree : int
        Degree of the polynomials of H0,2.
    sharpness : float or None
        None: weights are polynomials scaled to [0, 1] and divided by their sum, as in the paper. A number:
        the softmax of polynomials between 0 and this, whose weights differ more.
    x_range : tuple of float
        Smallest and largest x.

    Notes
    -----
    Defaults are those of J25 App. E.1 and Fig. 4; 400 instances there. Under H0 the plain mean of the members
    is calibrated too, as in :class:`EnsembleWorld`: no test of the mean can exceed its level here.

    References
    ----------
    J25: Juergens et al., A calibration test for evaluating set-based epistemic uncertainty representations,
    Machine Learning 2025.

    Examples
    --------
    >>> from credibly_studies.simulate import MulticlassWorld
    >>> control = MulticlassWorld("H1", delta=0.0, n_members=10, n_classes=5).draw(200, rng=7)
    >>> control.world.null, bool(control.inside.all())
    (True, True)
    >>> outside = MulticlassWorld("H1", delta=0.1, n_members=10, n_classes=5).draw(200, rng=7)
    >>> outside.world.null, bool(outside.inside.any())
    (False, False)
    """

    hypothesis: Literal["H0,1", "H0,2", "H1"] = "H0,1"
    delta: float = 0.0
    corner: Literal["dataset", "features", "closest", "instance"] = "dataset"
    n_members: int = 10
    n_classes: int = 5
    spread: float | tuple[float, ...] = 0.5
    prior: Literal["instance", "dataset"] = "instance"
    prior_concentration: float = 1.0
    degree: int = 2
    sharpness: float | None = None
    x_range: tuple[float, float] = (0.0, 5.0)

    def __post_init__(self) -> None:
        one_of("`hypothesis`", self.hypothesis, ("H0,1", "H0,2", "H1"))
        one_of("`corner`", self.corner, CORNERS)
        require_number(self.delta, "delta", 0, 1, "Use 0.1.")
        if self.delta > 0 and self.hypothesis != "H1":
            raise InputError(
                "`delta`",
                "is the distance under H1",
                f"got {self.delta!r} under {self.hypothesis}",
                "Leave it out.",
            )
        require_integer(self.n_members, "n_members", 1)
        require_integer(self.n_classes, "n_classes", 2)
        require_integer(self.degree, "degree", 1)
        for value in self.spread if isinstance(self.spread, tuple) else (self.spread,):
            require_number(
                value,
                "spread",
                0,
                LARGEST,
                "Use 0.5, or (0.1, 1.0) for a spread that grows with x.",
                positive=True,
            )
        if isinstance(self.spread, tuple) and len(self.spread) < 2:
            raise InputError(
                "`spread`",
                "must be a number or at least two values over x",
                f"got {self.spread!r}",
                "Use 0.5.",
            )
        one_of("`prior`", self.prior, ("instance", "dataset"))
        require_number(self.prior_concentration, "prior_concentration", 0, LARGEST, "Use 1.", positive=True)
        if self.sharpness is not None:
            require_number(self.sharpness, "sharpness", 0, LARGEST, "Use 5.", positive=True)
        require_interval(self.x_range, "x_range", -1e12, 1e12, "Use (0.0, 5.0).")

    @property
    def name(self) -> str:
        """Hypothesis, and what describes it under H1."""
        if self.hypothesis != "H1":
            return f"J25 multiclass {self.hypothesis}"
        corner = "" if self.corner == "dataset" else f", corner by {self.corner}"
        return f"J25 multiclass H1, delta {self.delta:g}{corner}"

    @property
    def null(self) -> bool | None:
        """True for H0 and the control, None where corners are drawn per instance."""
        if self.hypothesis != "H1" or self.delta == 0:
            return True
        return None if self.corner == "instance" else False

    def spread_at(self, x: HostArray) -> HostArray:
        """Return u(x).

        Parameters
        ----------
        x : ndarray (n,)
            Places inside `x_range`.

        Returns
        -------
        ndarray (n,)
            The spread of the members there.
        """
        if not isinstance(self.spread, tuple):
            return np.full(x.shape, float(self.spread))
        return np.asarray(np.interp(x, np.linspace(*self.x_range, len(self.spread)), self.spread))

    def _draw(self, n: int, generator: np.random.Generator, seed: Seed) -> WorldSample:
        x = generator.uniform(*self.x_range, size=n)
        spread = self.spread_at(x)
        notes: tuple[str, ...] = ()
        if self.hypothesis == "H1":
            members, corners, notes = self._members_and_corners(x, spread, generator)
            boundary = boundary_point(members, corners)
            truth = Truth(beyond(boundary, corners, self.delta), boundary)
        else:
            members = draw_members(self._prior(n, generator), spread, self.n_members, generator)
            if self.hypothesis == "H0,1":
                weights = np.repeat(draw_prior(1, self.n_members, 1.0, generator), n, axis=0)
            else:
                weights = polynomial_weights(
                    x, self.n_members, self.x_range, self.degree, self.sharpness, generator
                )
            truth = mixture(weights, members)
        assert truth.probs is not None
        labels = draw_labels(truth.probs, seed)
        predictions = Ensemble(members, member_axis=1)
        return WorldSample(predictions, labels, x[:, None], truth, self, notes)

    def _prior(self, n: int, generator: np.random.Generator) -> HostArray:
        """Draw the means of the members of n instances, (n, k)."""
        several = n if self.prior == "instance" else 1
        drawn = draw_prior(several, self.n_classes, self.prior_concentration, generator)
        return np.asarray(np.broadcast_to(drawn, (n, self.n_classes)))

    def _members_and_corners(
        self, x: HostArray, spread: HostArray, generator: np.random.Generator
    ) -> tuple[HostArray, HostArray, tuple[str, ...]]:
        """Draw members and corners outside their hulls, around another p where one leaves no room."""
        drawn = 1
        while True:
            common = self._prior(1, generator) if self.prior == "dataset" else None
            order = generator.permutation(self.n_classes)

            def draw(rows: HostArray, p: HostArray | None = common) -> HostArray:
                means = self._prior(rows.size, generator) if p is None else np.repeat(p, rows.size, axis=0)
                return draw_members(means, spread[rows], self.n_members, generator)

            def choose(rows: HostArray, members: HostArray, order: HostArray = order) -> HostArray:
                if self.corner == "dataset":
                    return np.full(rows.size, order[0])
                if self.corner == "features":
                    return corners_along(x[rows], self.x_range, order)
                if self.corner == "closest":
                    return closest_corners(members)
                return generator.integers(0, self.n_classes, size=rows.size)

            try:
                members, corners, redrawn = draw_with_room(draw, choose, x.size)
                break
            except UnsupportedError:
                if drawn == _MOST_PRIORS:
                    raise
                drawn += 1
        again = (f"p was drawn {drawn} times: before, it left no room outside the hulls",)
        return members, corners, (*(again if drawn > 1 else ()), *redraw_notes(redrawn))

    def _average(self, sample: WorldSample) -> HostArray:
        assert sample.truth.probs is not None
        if self.hypothesis == "H1" and self.corner == "instance":
            assert isinstance(sample.predictions, Ensemble)
            return average_over_corners(sample.predictions.probs, self.delta)
        return sample.truth.probs
