"""Label histograms: predictions, what raters draw from, and the counts of several raters (D21, Fig. 1)."""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputTypeError
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly.predictions import LabelCounts, Point
from credibly_studies.simulate.functions import draw_members, draw_prior
from credibly_studies.simulate.world import LARGEST, Truth, World, WorldSample, require_number


@dataclasses.dataclass(frozen=True)
class HistogramWorld(World):
    """Several raters per instance; by default the world of D21 Fig. 1, two classes and q uniform on [0, 1].

    Predictions z ~ Dir(a, ..., a). Calibration moves them to c proportional to z^exponent; raters of one
    instance draw from q ~ Dir(agreement c), which they share: the prediction cannot tell instances apart.

    Parameters
    ----------
    exponent : float
        1 for a calibrated model; below 1 the model is overconfident, above 1 underconfident.
    agreement : float or None
        Total parameter of the Dirichlet distribution of q: the smaller, the more instances with one
        prediction differ. None for q = c.
    n_raters : int or tuple of int
        Raters per instance; a pair draws the number uniformly, both ends included.
    n_classes : int
        Number of classes.
    concentration : float
        The parameter a.

    Notes
    -----
    ``truth.probs`` is q. ``WorldSample.given_instance`` is c: the label of one rater, given the prediction,
    which is all that is known of an instance here. So ``inside`` says whether the model is calibrated.

    References
    ----------
    D21: Mimori et al., Diagnostic uncertainty calibration, 2021, section 3.4 and App. B.

    Examples
    --------
    >>> from credibly_studies.simulate import HistogramWorld
    >>> world = HistogramWorld(exponent=0.5, agreement=4.0, n_raters=3)
    >>> sample = world.draw(500, rng=7)
    >>> sample.labels.totals.max()
    np.int64(3)
    >>> {name: round(value, 3) for name, value in world.losses(sample).items()}
    {'irreducible': 0.344, 'epistemic': 0.11, 'calibration': 0.024, 'dispersion': 0.086}
    """

    exponent: float = 1.0
    agreement: float | None = None
    n_raters: int | tuple[int, int] = 2
    n_classes: int = 2
    concentration: float = 1.0

    def __post_init__(self) -> None:
        require_number(self.exponent, "exponent", 0, 1e6, "Use 1 for a calibrated model.")
        if self.agreement is not None:
            require_number(self.agreement, "agreement", 1 / LARGEST, LARGEST, "Use 5.")
        ends = self.n_raters if isinstance(self.n_raters, tuple) else (self.n_raters, self.n_raters)
        if len(ends) != 2:
            raise InputTypeError(
                "`n_raters`", "must be a number or a pair of numbers", f"got {ends!r}", "Use (2, 5)."
            )
        require_integer(ends[0], "n_raters", 1)
        require_integer(ends[1], "n_raters", ends[0])
        require_integer(self.n_classes, "n_classes", 2)
        require_number(self.concentration, "concentration", 0, LARGEST, "Use 1.", positive=True)

    @property
    def name(self) -> str:
        """What differs between such worlds."""
        agreement = "" if self.agreement is None else f", agreement {self.agreement:g}"
        return f"raters, exponent {self.exponent:g}{agreement}"

    @property
    def null(self) -> bool:
        """Whether the model is calibrated."""
        return self.exponent == 1

    def losses(self, sample: WorldSample) -> dict[str, float]:
        """Return what the losses of these predictions are on average over instances and raters.

        Parameters
        ----------
        sample : WorldSample
            A sample of this world.

        Returns
        -------
        dict
            Irreducible, epistemic, calibration and dispersion loss (squared errors, summed over classes);
            epistemic = calibration + dispersion.
        """
        assert isinstance(sample.predictions, Point)
        calibrated = sample.given_instance
        spread = float((calibrated * (1 - calibrated)).sum(axis=1).mean())
        shared = 0.0 if self.agreement is None else 1.0 / (self.agreement + 1.0)
        gap = float(((calibrated - sample.predictions.probs) ** 2).sum(axis=1).mean())
        return {
            "irreducible": (1.0 - shared) * spread,
            "epistemic": gap + shared * spread,
            "calibration": gap,
            "dispersion": shared * spread,
        }

    def _draw(self, n: int, generator: np.random.Generator, seed: Seed) -> WorldSample:
        predicted = draw_prior(n, self.n_classes, self.concentration, generator)
        probs = self._calibrated(predicted)
        if self.agreement is not None:
            # Dir(agreement c) is Dir(k c / u) with u = k / agreement
            probs = draw_members(probs, self.n_classes / self.agreement, 1, generator)[:, 0, :]
        raters = self.n_raters
        if isinstance(raters, tuple):
            totals = generator.integers(raters[0], raters[1], size=n, endpoint=True)
        else:
            totals = np.full(n, raters)
        counts = LabelCounts(generator.multinomial(totals, probs))
        return WorldSample(Point(predicted), counts, predicted, Truth(probs), self)

    def _calibrated(self, predicted: HostArray) -> HostArray:
        with np.errstate(divide="ignore"):
            scores = self.exponent * np.log(predicted) if self.exponent else np.zeros_like(predicted)
        powered = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powered / powered.sum(axis=1, keepdims=True))

    def _average(self, sample: WorldSample) -> HostArray:
        assert isinstance(sample.predictions, Point)
        return self._calibrated(sample.predictions.probs)
