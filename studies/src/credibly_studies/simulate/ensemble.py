"""The worlds of M23: truths inside the hull (S1), towards the closest corner (S2) or a random one (S3)."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import one_of
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly.predictions import Ensemble
from credibly_studies.simulate.corners import (
    average_over_corners,
    beyond,
    boundary_point,
    closest_corners,
    draw_with_room,
    redraw_notes,
)
from credibly_studies.simulate.functions import draw_members, draw_prior
from credibly_studies.simulate.world import (
    LARGEST,
    Truth,
    World,
    WorldSample,
    draw_labels,
    mixture,
    require_number,
)


@dataclasses.dataclass(frozen=True)
class EnsembleWorld(World):
    """The worlds of M23, without features: every instance has a mean of its own.

    p ~ Dir(a, ..., a) per instance, members P_m ~ Dir(k p / u).

    Parameters
    ----------
    scenario : {"S1", "S2", "S3"}
        S1: labels from sum_m w_m P_m with one w ~ Dir(b, ..., b) for all instances. S2: from between the
        boundary of the hull and the corner closest to the mean of the members. S3: the same, towards a corner
        drawn for each instance: labels show only the average over corners, which for a small `step` is inside
        the hull of many instances (see ``WorldSample.inside``).
    n_members, n_classes : int
        Size of the ensemble and number of classes.
    spread : float
        How much members vary: u.
    prior_concentration : float or None
        The parameter a; None for 1 / k as in the paper.
    weight_concentration : float
        The parameter b; 1 is uniform on the simplex, as in the paper.
    step : float or None
        Share of the way from the boundary to the corner; None draws it uniformly from [0, 1] for each
        instance, as in the paper. Labels cannot distinguish this from 0.5.

    Notes
    -----
    Defaults are those of M23 Fig. 1; 100 instances there. The ray towards a corner starts at the mean of the
    members, not at p, which is rarely in the hull. In S1 the plain mean of the members is calibrated too:
    they are exchangeable given p, and w is drawn without looking at them, so the mean truth given the mean of
    the members is that mean.
    Features are the means p, the only description an instance has.

    References
    ----------
    M23: Mortier et al., On Calibration of Ensemble-Based Credal Predictors.

    Examples
    --------
    >>> from credibly_studies.simulate import EnsembleWorld
    >>> sample = EnsembleWorld("S2", n_members=5, n_classes=3).draw(4, rng=7)
    >>> sample.predictions
    Ensemble(n=4, m=5, k=3, dtype=float64)
    >>> sample.inside
    array([False, False, False, False])
    """

    scenario: Literal["S1", "S2", "S3"] = "S1"
    n_members: int = 10
    n_classes: int = 10
    spread: float = 0.01
    prior_concentration: float | None = None
    weight_concentration: float = 1.0
    step: float | None = None

    def __post_init__(self) -> None:
        one_of("`scenario`", self.scenario, ("S1", "S2", "S3"))
        require_integer(self.n_members, "n_members", 1)
        require_integer(self.n_classes, "n_classes", 2)
        require_number(self.spread, "spread", 0, LARGEST, "Use 0.01.", positive=True)
        for name in ("prior_concentration", "weight_concentration"):
            if name != "prior_concentration" or self.prior_concentration is not None:
                require_number(getattr(self, name), name, 0, LARGEST, "Use 1.", positive=True)
        if self.step is not None:
            require_number(self.step, "step", 0, 1, "Use 0.5.")

    @property
    def name(self) -> str:
        """The scenario."""
        return f"M23 {self.scenario}"

    @property
    def null(self) -> bool | None:
        """True for S1 and on the boundary, None for S3, where it differs between instances."""
        if self.scenario == "S1":
            return True
        if self.step == 0:
            return True
        return False if self.scenario == "S2" else None

    def _draw(self, n: int, generator: np.random.Generator, seed: Seed) -> WorldSample:
        concentration = self.prior_concentration or 1.0 / self.n_classes
        prior = np.empty((n, self.n_classes))

        def draw(rows: HostArray) -> HostArray:
            prior[rows] = draw_prior(rows.size, self.n_classes, concentration, generator)
            return draw_members(prior[rows], self.spread, self.n_members, generator)

        def choose(rows: HostArray, members: HostArray) -> HostArray:
            if self.scenario == "S2":
                return closest_corners(members)
            return generator.integers(0, self.n_classes, size=rows.size)

        if self.scenario == "S1":
            members, redrawn = draw(np.arange(n)), 0
            shared = draw_prior(1, self.n_members, self.weight_concentration, generator)
            weights = np.repeat(shared, n, axis=0)
            truth = mixture(weights, members)
        else:
            members, corners, redrawn = draw_with_room(draw, choose, n)
            step = generator.random(n) if self.step is None else self.step
            boundary = boundary_point(members, corners)
            truth = Truth(beyond(boundary, corners, step), boundary)
        assert truth.probs is not None
        labels = draw_labels(truth.probs, seed)
        predictions = Ensemble(members, member_axis=1)
        return WorldSample(predictions, labels, prior, truth, self, redraw_notes(redrawn))

    def _average(self, sample: WorldSample) -> HostArray:
        assert isinstance(sample.predictions, Ensemble)
        assert sample.truth.probs is not None
        if self.scenario == "S1":
            return sample.truth.probs
        members = sample.predictions.probs
        step = 0.5 if self.step is None else self.step  # a uniform share is one half on average
        if self.scenario == "S2":
            assert sample.truth.in_set is not None
            return beyond(sample.truth.in_set, closest_corners(members), step)
        return average_over_corners(members, step)
