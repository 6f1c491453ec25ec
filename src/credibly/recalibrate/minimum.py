"""Find a minimum, and tell it from a loss that only creeps towards one at infinity.

Data that can be separated, or a class without labels, leave a loss that falls like exp(-distance): its
gradient is small anywhere far out, but to make it smaller the outputs (logits) must keep moving, by one for
every factor of e. Near a finite minimum they stop.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly.results.base import Result

Objective = Callable[[HostArray], tuple[float, HostArray]]
Outputs = Callable[[HostArray], HostArray]
_COARSE, _FINE = 1e-5, 1e-8  # largest entries of the gradient, between which outputs may move by
_SETTLED = 10 * _FINE  # rounding may end the line search just above
_MOVED = 1.0  # at most this much: a loss that creeps needs log 1000
_FLAT, _CREEPS = 1e-9, 0.05  # the same for Newton steps: gradient, and the last move
STILL, NEARLY_STILL = 1e-6, 1e-3  # a move this small ends the search; beside a warm start
_STEPS, _NEWTON_STEPS = 2000, 60
_SHORTEST = 1e-8
_LEAST_CURVATURE = 1e-30


@dataclasses.dataclass(frozen=True)
class Convergence(Result):
    """How a fit ended.

    Attributes
    ----------
    converged : bool
        Whether the optimality condition holds to the tolerance.
    n_iterations : int
        Steps of the optimiser.
    gradient : float
        Largest entry of the gradient of the objective, per label, at the end.
    loss_before, loss_after : float
        Loss on the data of the fit, as predicted and recalibrated: log loss per label; if the spread is
        fitted (`AlphaCalibration`), the negative log-likelihood of all labels of an instance; for real
        values, the CRPS.
    message : str
        What the optimiser said.
    """

    converged: bool
    n_iterations: int
    gradient: float
    loss_before: float
    loss_after: float
    message: str

    def warn(self, name: str) -> None:
        """Warn where the optimiser stopped early; the attributes keep the state it stopped in."""
        if not self.converged:
            warnings.warn(
                f"{name} did not converge after {self.n_iterations} steps ({self.message}; largest gradient "
                f"{self.gradient:.2g}): its parameters are not the optimum",
                UserWarning,
                stacklevel=3,
            )


class Ended(NamedTuple):
    """How a search for a minimum ended; a fit adds its losses."""

    converged: bool
    n_iterations: int
    gradient: float
    message: str

    def with_losses(self, before: float, after: float) -> Convergence:
        """Return how the fit ended."""
        return Convergence(self.converged, self.n_iterations, self.gradient, before, after, self.message)


def minimum(
    objective: Objective, start: HostArray, outputs: Outputs, reason: Callable[[], str]
) -> tuple[HostArray, Ended]:
    """Minimise with L-BFGS; `reason` says why a fit may diverge."""
    from scipy.optimize import minimize

    def run(begin: HostArray, gradient: float) -> Any:
        options = {"gtol": gradient, "ftol": 0.0, "maxiter": _STEPS, "maxcor": 20, "maxls": 40}
        return minimize(objective, begin, jac=True, method="L-BFGS-B", options=options)

    coarse = run(start, _COARSE)
    fine = run(coarse.x, _FINE)
    moved = float(np.abs(outputs(fine.x) - outputs(coarse.x)).max())
    gradient = float(np.abs(fine.jac).max())
    if moved > _MOVED:
        raise diverging(reason(), gradient, moved)
    steps = int(coarse.nit + fine.nit)
    return fine.x, Ended(gradient < _SETTLED, steps, gradient, str(fine.message))


def newton_minimum(
    objective: Objective,
    hessian: Callable[[HostArray], HostArray],
    start: HostArray,
    outputs: Outputs,
    reason: Callable[[], str],
    still: float = STILL,
) -> tuple[HostArray, Ended]:
    """Minimise a convex function by Newton steps, halved until the loss falls; L-BFGS where none does.

    A step that moves outputs by less than `still` is the last.
    """
    at = start
    loss, gradient = objective(at)
    now = outputs(at)
    moved, step, steepest = np.inf, 0, float(np.abs(gradient).max())
    while step < _NEWTON_STEPS and moved > still:
        step += 1
        change = -_solved(hessian(at), gradient)
        slope = float(gradient @ change)
        share = 1.0
        new = objective(at + change)
        # near the minimum rounding alone may keep the loss from falling
        while not new[0] <= loss + 1e-4 * share * slope + 1e-15 * abs(loss):
            share /= 2
            if share < _SHORTEST:  # a saturated loss has no curvature to go by
                return minimum(objective, at, outputs, reason)
            new = objective(at + share * change)
        at = at + share * change
        loss, gradient = new
        before, now = now, outputs(at)
        moved, steepest = float(np.abs(now - before).max()), float(np.abs(gradient).max())
        if steepest < _FLAT and moved > _CREEPS:
            raise diverging(reason(), steepest, moved)
    if steepest > _COARSE and moved <= still:
        return minimum(objective, at, outputs, reason)
    return at, Ended(steepest < _SETTLED, step, steepest, "Newton steps")


def _solved(hessian: HostArray, gradient: HostArray) -> HostArray:
    """Solve for the step; directions without curvature (a constant added to all logits) are left alone.

    Parameters are measured in units of their own curvature: one that creeps away has little of it left, and
    would be taken for a direction without any.
    """
    unit = np.sqrt(np.maximum(np.diag(hessian), _LEAST_CURVATURE))
    values, vectors = np.linalg.eigh(hessian / unit[:, None] / unit[None, :])
    curved = values > 1e-12
    along = vectors.T @ (gradient / unit)
    step: HostArray = vectors[:, curved] @ (along[curved] / values[curved]) / unit
    return step


def beyond_limits(subject: str, limits: tuple[float, float], evidence: str, remedy: str) -> UnsupportedError:
    """Return the error about a parameter that would leave its limits."""
    return UnsupportedError(subject, f"must lie between {limits[0]:g} and {limits[1]:g}", evidence, remedy)


def diverging(reason: str, gradient: float, moved: float) -> UnsupportedError:
    """Return the error about a fit without a finite optimum."""
    return UnsupportedError(
        "the fit",
        "must have a finite optimum",
        f"it diverges ({reason}): its gradient is {gradient:.1g} and its output still moves by {moved:.3g}",
        "Use a positive penalty, a method with fewer parameters, or more data.",
    )
