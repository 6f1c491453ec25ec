"""The binary worlds of J25: members are Gaussian-process paths, truths lie inside their band or outside."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, one_of
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly.predictions import Ensemble
from credibly_studies.simulate.functions import draw_prior, gaussian_process_paths, polynomial_weights
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

_GAPS = {"H1,1": (0.0, 0.02), "H1,2": (0.01, 0.1), "H1,3": (0.1, 0.3)}


@dataclasses.dataclass(frozen=True)
class BinaryWorld(World):
    """The binary worlds of J25.

    x ~ U(x_range); the probability of class 1 that a member gives is a path of a Gaussian process with kernel
    exp(-(x - x')^2 / (2 length_scale^2)), scaled so that its extremes over the range are the member's bounds.

    Parameters
    ----------
    hypothesis : {"H0,1", "H0,2", "H1,1", "H1,2", "H1,3"}
        H0,1: labels from sum_m w_m P_m with one w ~ Dir(1, ..., 1) for all instances. H0,2: w is a polynomial
        in x. H1,1: outside the band of members by one epsilon ~ U(gap). H1,2 and H1,3: by a distance that is
        a path of its own, scaled to `gap`.
    bounds : tuple of (float, float)
        Smallest and largest probability of each member; as many members as intervals. J25 scales paths to
        [0, 1].
    gap : tuple of float or None
        Distances from the set under H1; None for (0, 0.02) under H1,1, (0.01, 0.1) under H1,2 and (0.1, 0.3)
        under H1,3. The paper gives only the first.
    length_scale : float
        Length scale of the Gaussian processes; J25 gives none.
    degree : int
        Degree of the polynomials of H0,2.
    sharpness : float or None
        Sharpness of the weights of H0,2 with more than two members, see :class:`MulticlassWorld`.
    x_range : tuple of float
        Smallest and largest x.

    Notes
    -----
    Defaults are those of J25 App. E.1; 400 instances there. The truth leaves the band on the side with more
    room over all x together; if both sides have the same room, the side is drawn per data set. Members that
    reach 0 and 1 leave no room there: the truth goes as far as it can. Paths are scaled over the whole range,
    not over the instances drawn.

    References
    ----------
    J25: Juergens et al., A calibration test for evaluating set-based epistemic uncertainty representations,
    Machine Learning 2025.

    Examples
    --------
    >>> from credibly_studies.simulate import BinaryWorld
    >>> sample = BinaryWorld("H0,2").draw(100, rng=7)
    >>> sample.truth.weights.shape, bool(sample.inside.all())
    ((100, 2), True)
    >>> BinaryWorld("H1,3", bounds=((0.5, 0.7), (0.6, 0.8))).draw(100, rng=7).distance.min() >= 0.1
    np.True_
    """

    hypothesis: Literal["H0,1", "H0,2", "H1,1", "H1,2", "H1,3"] = "H0,1"
    bounds: tuple[tuple[float, float], ...] = ((0.0, 1.0), (0.0, 1.0))
    gap: tuple[float, float] | None = None
    length_scale: float = 0.7
    degree: int = 2
    sharpness: float | None = None
    x_range: tuple[float, float] = (0.0, 5.0)

    def __post_init__(self) -> None:
        one_of("`hypothesis`", self.hypothesis, ("H0,1", "H0,2", *_GAPS))
        remedy = "Use ((0.0, 1.0), (0.0, 1.0)): one interval of probabilities per member."
        if not isinstance(self.bounds, tuple) or not self.bounds:
            raise InputTypeError(
                "`bounds`", "must be one interval per member", f"got {self.bounds!r}", remedy
            )
        for interval in self.bounds:
            require_interval(interval, "bounds", 0, 1, remedy)
        require_number(self.length_scale, "length_scale", 0, LARGEST, "Use 0.7.", positive=True)
        require_integer(self.degree, "degree", 1)
        if self.sharpness is not None:
            require_number(self.sharpness, "sharpness", 0, LARGEST, "Use 5.", positive=True)
        require_interval(self.x_range, "x_range", -1e12, 1e12, "Use (0.0, 5.0).")
        if self.gap is not None and self.hypothesis not in _GAPS:
            raise InputError(
                "`gap`",
                "is the distance under H1",
                f"got {self.gap!r} under {self.hypothesis}",
                "Leave it out.",
            )
        if self.hypothesis in _GAPS:
            require_interval(self.distances, "gap", 0, 1, "Use (0.0, 0.02).")

    @property
    def distances(self) -> tuple[float, float]:
        """Smallest and largest distance from the set under H1."""
        return _GAPS[self.hypothesis] if self.gap is None else self.gap

    @property
    def name(self) -> str:
        """The hypothesis."""
        return f"J25 binary {self.hypothesis}"

    @property
    def null(self) -> bool:
        """True under H0."""
        return self.hypothesis not in _GAPS

    def _draw(self, n: int, generator: np.random.Generator, seed: Seed) -> WorldSample:
        x = generator.uniform(*self.x_range, size=n)
        m = len(self.bounds)
        low, high = np.array(self.bounds).T
        paths = gaussian_process_paths(x, m + 1, self.x_range, self.length_scale, generator)
        chances = low + (high - low) * paths[:, :m]
        members = _both_classes(chances)
        if self.null:
            if self.hypothesis == "H0,1":
                weights = np.repeat(draw_prior(1, m, 1.0, generator), n, axis=0)
            else:
                weights = polynomial_weights(x, m, self.x_range, self.degree, self.sharpness, generator)
            truth = mixture(weights, members)
        else:
            near, far = self.distances
            share = generator.random() if self.hypothesis == "H1,1" else paths[:, m]
            truth = self._outside(chances, near + (far - near) * share, self._upwards(generator))
        assert truth.probs is not None
        labels = draw_labels(truth.probs, seed)
        return WorldSample(Ensemble(members, member_axis=1), labels, x[:, None], truth, self)

    def _upwards(self, generator: np.random.Generator) -> bool:
        """Return the side with more room, one at random where both have the same."""
        above, below = 1 - max(high for _, high in self.bounds), min(low for low, _ in self.bounds)
        return bool(generator.random() < 0.5) if above == below else above > below

    def _outside(self, chances: HostArray, away: HostArray | float, upwards: bool) -> Truth:
        """Return truths this far from the band, or at 0 or 1 where there is no more room."""
        edge = chances.max(axis=1) if upwards else chances.min(axis=1)
        true = np.minimum(edge + away, 1.0) if upwards else np.maximum(edge - away, 0.0)
        return Truth(_both_classes(true), _both_classes(edge))

    def _average(self, sample: WorldSample) -> HostArray:
        assert sample.truth.probs is not None
        return sample.truth.probs


def _both_classes(chances: HostArray) -> HostArray:
    """Return the distributions of a binary label from the probabilities of class 1."""
    return np.stack([1.0 - chances, chances], axis=-1)
