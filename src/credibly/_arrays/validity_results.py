"""The result of a test with one p-value per instance and one over all of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.namespace import to_host
from credibly._arrays.results import HypotestResult, require_level

HostArray = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class ValidityResult(HypotestResult):
    """Whether the distribution of labels lies in the predicted set: of all instances, and of each.

    The fields of :class:`HypotestResult` are those of the test over all instances.

    Attributes
    ----------
    deviance : array (n,)
        Twice the log likelihood that the set lacks: 0 where the observed frequencies lie in it.
    pvalues : array (n,)
        P-value of each instance by itself.
    adjusted_pvalues : array (n,)
        The same against the largest deviance of all instances: the probability of any false rejection among
        them is at most the level.
    nearest : array (n, k)
        The distribution of each set under which the observed labels are most probable.
    raters : array (n,)
        Number of labels per instance.
    smallest_pvalues : array (n,)
        The smallest p-value each instance could have had, about: all its raters agree on the class that the
        set holds least probable.
    largest_explained : float
        The largest deviance of an instance that chance among all of them explains, at 5 %.
    """

    deviance: Any = None
    pvalues: Any = None
    adjusted_pvalues: Any = None
    nearest: Any = None
    raters: Any = None
    smallest_pvalues: Any = None
    largest_explained: float = float("inf")

    def failing(self, level: float = 0.05) -> HostArray:
        """Return the instances whose own distribution of labels is not in the set, worst first.

        Parameters
        ----------
        level : float
            Probability of any false entry in the list, at most.

        Returns
        -------
        ndarray of int
            Rows whose adjusted p-value is at most `level`.
        """
        require_level(level)
        order = np.argsort(-to_host(self.deviance), kind="stable")
        return order[to_host(self.adjusted_pvalues)[order] <= level]
