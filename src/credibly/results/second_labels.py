"""Which instances should get another label, and what that is expected to bring."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly.results.base import Result


@dataclasses.dataclass(frozen=True, kw_only=True)
class SecondLabelPlan(Result):
    """Where further labels are expected to help most.

    Attributes
    ----------
    n_labels : ndarray (n,)
        Labels to ask for, by instance.
    order : ndarray (b,)
        Instances in the order in which labels are worth asking for.
    gains : ndarray (b,)
        What each is expected to take off the squared error of the mean.
    raters : tuple of str or None
        Who should give each of them; None if raters were not named.
    gain : float
        Sum of the gains.
    random_gain : float
        What as many labels of instances chosen at random are expected to bring; if there are more labels than
        instances, each gets about the same number.
    possible : float
        What one more label of every instance is expected to bring.
    budget : int
        Labels that could be asked for; `order` is shorter if no instance or rater is left for some.
    notes : tuple of str
        What was left out.
    """

    n_labels: HostArray
    order: HostArray
    gains: HostArray
    raters: tuple[str, ...] | None
    gain: float
    random_gain: float
    possible: float
    budget: int
    notes: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Return what the plan is expected to bring, in words."""
        return (
            f"{len(self.order)} further labels, asked for where they help most, are expected to lower the "
            f"squared error by {self.gain:.3g}; of instances chosen at random they would lower it by "
            f"{self.random_gain:.3g}."
        )

    def by_rater(self) -> Mapping[str, HostArray]:
        """Return the instances that each rater should label."""
        names = self.raters or ()
        return {name: self.order[[rater == name for rater in names]] for name in dict.fromkeys(names)}

    def __str__(self) -> str:
        return "\n".join([self.sentence(), *(f"note: {note}" for note in self.notes)])


@dataclasses.dataclass(frozen=True, kw_only=True)
class EntropySplit(Result):
    """What labels leave open about the split of an entropy, in nats.

    Attributes
    ----------
    total : float
        Mean entropy of the predicted mean.
    aleatoric : tuple of float
        Interval of the mean entropy of the distributions of labels: disagreement that no model can remove.
    epistemic : tuple of float
        Interval of the rest; below 0 if the predicted mean is too sure.
    order : int
        Moments that were used: labels per instance.
    moments : ndarray (order, k)
        Unbiased moments E theta_a^r of the distributions of labels, r = 1 to `order`.
    n, n_left_out : int
        Instances with so many labels, and with fewer.
    level : float
        Joint coverage.
    """

    total: float
    aleatoric: tuple[float, float]
    epistemic: tuple[float, float]
    order: int
    moments: HostArray
    n: int
    n_left_out: int
    level: float

    def __str__(self) -> str:
        (low, high), (least, most) = self.aleatoric, self.epistemic
        return (
            f"Of an entropy of {self.total:.3g} nats, {low:.3g} to {high:.3g} is disagreement between "
            f"raters and {least:.3g} to {most:.3g} the model's own; {counted(self.order, 'label')} per "
            f"instance cannot tell more (n = {self.n}, {100 * self.level:g} %)."
        )
