"""Several workers, each with a monitor of its own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from credibly._arrays.errors import require, require_type
from credibly.monitor.monitor import Monitor
from credibly.results.base import Result, require_level


@dataclasses.dataclass(frozen=True)
class WorkersEvidence(Result):
    """Monitors of several workers together.

    Attributes
    ----------
    evalue : float
        Mean of their e-values.
    alarm : bool
        Whether one of them alone ever reached their number divided by the level.
    n : int
        Rows of all.
    evalues : tuple of float
        Of each.
    """

    evalue: float
    alarm: bool
    n: int
    evalues: tuple[float, ...]


def average(monitors: Sequence[Monitor], *, level: float = 0.05) -> WorkersEvidence:
    """Join monitors that watch parts of the same stream, such as one per worker.

    Parameters
    ----------
    monitors : sequence of Monitor
        All workers, their number fixed before the first label.
    level : float
        Largest probability of ever raising an alarm.

    Returns
    -------
    WorkersEvidence
        The mean e-value, and an alarm that needs no assumption about how the workers depend on each other.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.monitor.average([cr.Monitor(), cr.Monitor()]).evalue
    1.0
    """
    require_level(level, remedy="Write 0.05 for one false alarm in twenty streams.")
    listed = isinstance(monitors, Sequence) and all(isinstance(monitor, Monitor) for monitor in monitors)
    require_type(listed, "must be a list of monitors", "Pass the monitors of all workers.", monitors=monitors)
    require(len(monitors) > 0, "must name at least one monitor", "Pass a list.", monitors=monitors)
    values = tuple(monitor.evalue for monitor in monitors)
    results = [monitor.result() for monitor in monitors]
    largest = max(math.inf if result.impossible else result.largest for result in results)
    alarm = largest >= len(monitors) * max(result.processes for result in results) / level
    return WorkersEvidence(float(np.mean(values)), alarm, sum(result.n for result in results), values)
