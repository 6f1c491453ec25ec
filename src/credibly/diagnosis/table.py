"""What can be wrong with a model: one row per fault, with the repair that would show it.

The fault of a model is the smallest repair that helps about as much as the best one. `order` says how small
a repair is; repairs of one order compete by what they gain.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

Needs = Literal["", "groups", "several", "few", "means", "spread", "spreads", "dense", "levels"]


@dataclasses.dataclass(frozen=True)
class Fault:
    """One row of the table.

    Attributes
    ----------
    name : str
        What is wrong; the case of the sentence that says it.
    order : int
        How much a repair may change: a larger one must beat a smaller one by more than chance.
    method : str
        Name of the recalibration that repairs it; "" where none does.
    effect : str
        What is compared: of classes "confidence", "class", "ends", "range" or "event"; of real values
        "mean", "coverage", "slope", "spread", "tail", "skew" or "quantile".
    by_group : bool
        Whether it is a fault of a group, repaired by group.
    needs : {"", "groups", "several", "few", "means", "spread", "spreads", "dense", "levels"}
        What the data must have: groups; more than two classes, or between 3 and 20 of them; for real values
        means that differ, a spread, spreads that differ, a whole distribution, or quantiles of a few levels.
    parts : tuple of str
        The two faults that it joins: `effect` is about the first, and the second is measured without it.
    """

    name: str
    order: int
    method: str
    effect: str
    by_group: bool = False
    needs: Needs = ""
    parts: tuple[str, ...] = ()


NONE = "none"

CLASSES = (
    Fault(NONE, 0, "", "confidence"),
    Fault("swapped classes", 1, "order", "confidence", needs="several"),
    Fault("temperature", 1, "temperature", "confidence"),
    Fault("bias", 1, "bias", "class"),
    Fault("label noise", 1, "noise", "confidence", needs="several"),
    Fault("bias+temperature", 2, "platt", "ends"),
    Fault("group bias", 2, "bias", "class", by_group=True, needs="groups"),
    Fault("group temperature", 2, "temperature", "confidence", by_group=True, needs="groups"),
    Fault("group bias+temperature", 3, "platt", "class", by_group=True, needs="groups"),
    Fault("curve", 3, "curve", "range"),
    Fault("vector", 4, "vector", "class", needs="few"),
)

RESCALING = ("scale", "shift+scale", "linear+scale")
"""Repairs that multiply the stated spread, so there must be one."""

REALS = (
    Fault(NONE, 0, "", "coverage"),
    Fault("shift", 1, "shift", "mean"),
    Fault("scale", 1, "scale", "coverage", needs="spread"),
    Fault("slope", 2, "linear", "slope", needs="means"),
    Fault("shift+scale", 2, "shift+scale", "mean", needs="spread", parts=("shift", "scale")),
    Fault("spread", 2, "spread", "spread", needs="spreads"),
    Fault("tails", 2, "tails", "tail", needs="dense"),
    Fault("group shift", 2, "shift", "mean", by_group=True, needs="groups"),
    Fault("group scale", 2, "scale", "coverage", by_group=True, needs="groups"),
    Fault("slope+scale", 3, "linear+scale", "slope", needs="means", parts=("slope", "scale")),
    Fault("skewed", 3, "skew", "skew", needs="dense"),
    Fault(
        "group shift+scale",
        3,
        "shift+scale",
        "mean",
        by_group=True,
        needs="groups",
        parts=("group shift", "group scale"),
    ),
    Fault("levels", 4, "levels", "quantile", needs="levels"),
    Fault("levels", 4, "relative_levels", "quantile", needs="levels"),
    Fault("shape", 4, "isotonic", "quantile", needs="dense"),
)
