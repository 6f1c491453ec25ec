"""Decisions: what predictions are worth to somebody who acts on them, given what mistakes cost.

With the cost c(a, y) of action a where y is true, a model acts as its probabilities say is cheapest,

    a(x) = argmin over a of sum_y p_y c(a, y)

    cost         mean of c(a(x), y)
    stated       mean of sum_y p_y c(a(x), y)             what the predictions expect to pay
    gap          stated - cost                            0 where decisions are calibrated
    net benefit  min over a of mean c(a, y), minus cost   what is saved against one action for all
    regret       cost - mean of min over a of c(a, y)     what knowing the label would save

Of two classes, acting above a threshold t is right for whoever loses t by a false alarm and 1 - t by a miss.
The Murphy curve is the mean cost by threshold; twice its area is the Brier score of the event, and a model
whose curve is lower everywhere is better for every cost and every proper score.   Ehm et al. 2016; Zhao et
al. 2021; Vickers and Elkin 2006.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import as_real, require_integer
from credibly._arrays.doors import checked
from credibly._arrays.errors import InputError, is_whole, require
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.standard_errors import mean_error, mean_error_of_clusters
from credibly.predictions import ClassPredictions, Dataset, Rows, as_point, as_rows
from credibly.predictions.given import require_classes, require_one_label
from credibly.results.base import Result, require_level
from credibly.results.curves import MurphyCurve
from credibly.results.estimates import Estimate

_ECHOED = 4
"""Actions, and classes, of a table that are told in words."""
FEWEST = 30
"""Instances below which no interval is given: an action that was taken three times tells little."""


@dataclasses.dataclass(frozen=True)
class DecisionCosts(Result):
    """What decisions based on predictions cost.

    Attributes
    ----------
    actions : tuple of str
        The actions.
    chosen : mapping of str to int
        How often each was taken.
    best_fixed : str
        The cheapest action if the same one were taken for all instances.
    cost : Estimate
        Mean cost of the actions taken.
    stated : Estimate
        What the predictions expected them to cost.
    gap : Estimate
        Stated minus actual cost: negative if decisions cost more than the predictions say.
    gap_by_action : mapping of str to Estimate
        The same for the instances for which each action was taken: decision calibration.
    net_benefit : Estimate
        What is saved compared with `best_fixed` for all instances.
    regret : Estimate
        What knowing the label would save.
    n : int
        Number of instances.
    notes : tuple of str
        What was converted on the way.
    """

    actions: tuple[str, ...]
    chosen: Mapping[str, int]
    best_fixed: str
    cost: Estimate
    stated: Estimate
    gap: Estimate
    gap_by_action: Mapping[str, Estimate]
    net_benefit: Estimate
    regret: Estimate
    n: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        more = "more" if self.gap.value < 0 else "less"
        return (
            f"decisions cost {self.cost.value:.4g} per instance (n = {self.n}), {abs(self.gap.value):.4g} "
            f"{more} than the predictions say; they save {self.net_benefit.value:.4g} against "
            f"action '{self.best_fixed}' every time, and knowing the label would save {self.regret.value:.4g}"
        )


@checked
def decision_costs(
    predictions: Any,
    labels: Any = None,
    *,
    costs: Any,
    actions: Sequence[str] | None = None,
    clusters: Any = None,
    blocks: int | None = None,
) -> DecisionCosts:
    """Measure what decisions based on predictions cost, and whether that is what the predictions state.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions; sets are represented by their mean.
    labels : array (n,)
        ...
    costs : array (a, k)
        Cost of every action (rows) when each class is true (columns). Gains are negative costs.
    actions : sequence of str, optional
        Names of the actions. Default: their indices.
    clusters : array (n,) or "copies", optional
        ... Standard errors then allow for these clusters.
    blocks : int, optional
        ...

    Returns
    -------
    DecisionCosts
        Cost, stated cost, their gap (overall and by action), net benefit and regret, each with its error.

    Notes
    -----
    Among equally cheap actions the first one is taken. Net benefit compares with the best single action for
    all instances, which is chosen on the same labels, so net benefit is a little too small. Intervals are
    those of means; they are given from 30 instances on and refused if only a few instances decide.

    References
    ----------
    Zhao, Kim, Sahoo, Ma and Ermon, *Calibrating predictions to decisions*, NeurIPS 2021; Vickers and Elkin,
    *Decision curve analysis*, 2006.

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]]
    >>> treat = [[0, 10], [2, 1]]  # wait: 10 if ill; treat: 2 if healthy, 1 if ill
    >>> found = cr.selection.decision_costs(probs, [0, 0, 1, 1], costs=treat, actions=["wait", "treat"])
    >>> found.chosen["treat"], float(found.cost)  # 0 + 2 + 1 + 1 over 4
    (3, 1.0)
    >>> float(found.net_benefit)  # treating everybody costs (2 + 2 + 1 + 1) / 4 = 1.5
    0.5
    """
    rows = as_rows(predictions, labels, clusters=clusters, blocks=blocks)
    predictions = _some_classes(rows, "decision_costs")
    table = _cost_table(costs, predictions.n_classes)
    names = tuple(map(str, range(len(table)) if actions is None else actions))
    classes = rows.example.classes or tuple(map(str, range(predictions.n_classes)))
    once = len(names) == len(table) == len(set(names))
    rule = f"must name each of the {len(table)} rows of `costs` once"
    require(once, rule, "Name every action once.", actions=list(names))
    read_as = _in_words(table, names, classes)
    _require_orientation(table, names, read_as)
    parts = list(rows.map(lambda chunk: _acted(chunk, table)))
    chosen, expected, truth = (np.concatenate([part[at] for part in parts]) for at in range(3))
    paid = table[:, truth]  # (a, n)
    of_chosen = np.take_along_axis(paid, chosen[None], axis=0)[0]
    fixed = int(paid.mean(axis=1).argmin())
    notes, codes = (*as_point(predictions)[1], read_as), rows.cluster_codes()
    gap = expected - of_chosen
    gap_by_action = {}
    for place, name in enumerate(names):
        taken = chosen == place
        if taken.any():
            codes_of_taken = None if codes is None else codes[taken]
            gap_by_action[name] = _mean("gap", gap[taken], notes, codes_of_taken)
    return DecisionCosts(
        actions=names,
        chosen={name: int((chosen == place).sum()) for place, name in enumerate(names)},
        best_fixed=names[fixed],
        cost=_mean("cost", of_chosen, notes, codes),
        stated=_mean("stated", expected, notes, codes),
        gap=_mean("gap", gap, notes, codes),
        gap_by_action=gap_by_action,
        net_benefit=_mean("net_benefit", paid[fixed] - of_chosen, notes, codes),
        regret=_mean("regret", of_chosen - paid.min(axis=0), notes, codes),
        n=rows.n,
        notes=notes,
    )


def murphy_curve(
    predictions: Any,
    labels: Any = None,
    *,
    target: int = 1,
    n_points: int = 99,
    level: float = 0.95,
    clusters: Any = None,
    blocks: int | None = None,
) -> MurphyCurve:
    """Compute the mean cost of acting on a probability, for every threshold above which one might act.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions, of two classes or of one against the rest.
    labels : array (n,)
        ...
    target : int
        The class that one acts against.
    n_points : int
        Thresholds, evenly spaced between 0 and 1.
    level : float
        Coverage of the interval at each threshold.
    clusters : array (n,) or "copies", optional
        ... Intervals then allow for these clusters.
    blocks : int, optional
        ...

    Returns
    -------
    MurphyCurve
        Costs by threshold with their standard errors, and those of the best constant prediction.

    Notes
    -----
    A false alarm costs t and a miss 1 - t, so that acting above t is cheapest. A curve that is lower
    everywhere is better for all costs; if curves cross, the better model depends on the costs. The decision
    curve of Vickers and Elkin is `net_benefit` of the result.

    References
    ----------
    Ehm, Gneiting, Jordan and Krüger, *Of quantiles and expectiles: consistent scoring functions, Choquet
    representations and forecast rankings*, JRSS B, 2016.

    Examples
    --------
    >>> import credibly as cr
    >>> curve = cr.selection.murphy_curve([[0.2, 0.8], [0.7, 0.3]], [1, 1], n_points=3)
    >>> curve.thresholds, curve.cost  # a miss of the second from 0.5 on: (1 - t) / 2
    (array([0.25, 0.5 , 0.75]), array([0.   , 0.25 , 0.125]))
    """
    require_integer(n_points, "n_points", 1)
    require_level(level)
    rows = as_rows(predictions, labels, clusters=clusters, blocks=blocks)
    sample = _some_classes(rows, "murphy_curve")
    known = is_whole(target) and 0 <= target < sample.n_classes
    rule = f"must be a class from 0 to {sample.n_classes - 1}"
    require(known, rule, "Name the class that one acts against.", target=target)
    parts = list(rows.map(lambda chunk: _event(chunk, target)))
    p, events = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    t = np.arange(1, n_points + 1) / (n_points + 1)
    n = len(p)
    alarms = n - events.sum() - np.searchsorted(np.sort(p[~events]), t, side="right")
    misses = np.searchsorted(np.sort(p[events]), t, side="right")
    cost = (t * alarms + (1 - t) * misses) / n
    square = (t**2 * alarms + (1 - t) ** 2 * misses) / n
    share, codes = events.mean(), rows.cluster_codes()
    stderr = np.sqrt(np.maximum(square - cost**2, 0.0) / max(n - 1, 1))
    of_clusters: dict[str, Any] = {}
    if codes is not None:
        stderr, degrees = _cluster_errors(p, events, codes, t, stderr)
        of_clusters = {"n_clusters": int(codes.max()) + 1, "degrees_of_freedom": degrees}
    return MurphyCurve(
        name=f"class {target}",
        thresholds=t,
        cost=cost,
        stderr=stderr,
        constant=np.minimum(t * (1 - share), (1 - t) * share),
        level=level,
        n=n,
        notes=as_point(sample)[1],
        share=float(share),
        **of_clusters,
    )


def _cluster_errors(
    p: HostArray, events: HostArray, codes: HostArray, t: HostArray, alone: HostArray
) -> tuple[HostArray, HostArray]:
    """Return standard errors of the costs at thresholds (t,) and their degrees of freedom.

    Both are NaN where clusters are too few, or one of them decides.
    """
    sizes = np.bincount(codes)
    errors = np.full((2, len(t)), np.nan)
    for at, threshold in enumerate(t):
        wrong = np.where(events, p <= threshold, p > threshold)
        paid = np.where(events, 1 - threshold, threshold) * wrong
        error = mean_error_of_clusters(np.bincount(codes, paid), sizes, float(alone[at]))
        if error["interval_refusal"] is None:
            errors[:, at] = error["stderr"], error["degrees_of_freedom"]
    return errors[0], errors[1]


def _some_classes(rows: Rows, what: str) -> ClassPredictions:
    """Return some of the predictions; raise unless they are of classes, with one label each."""
    sample = require_classes(rows.example.predictions, f"`{what}`", "Pass class predictions.")
    require_one_label(rows.example.batch, f"`{what}`")
    return sample


def _cost_table(costs: Any, n_classes: int) -> HostArray:
    table = as_real(costs, "costs")
    table = to_host(table).astype(np.float64)
    shaped = table.ndim == 2 and table.shape[1] == n_classes and len(table) > 1
    if not shaped or not np.isfinite(table).all():
        raise InputError(
            "`costs`",
            f"must be finite, with a row per action, at least two, and a column per class ({n_classes})",
            "got NaN or infinity" if shaped else f"got shape {table.shape}",
            "Swap rows and columns: `costs.T`."
            if not shaped and table.ndim == 2 and len(table) == n_classes
            else "Write [[0, 10], [1, 1]]: not acting costs 10 if class 1 is true, acting always costs 1.",
        )
    return table


def _in_words(table: HostArray, actions: Sequence[str], classes: Sequence[str]) -> str:
    """Say how a table is read, so that one given the other way round shows; of a large one the first rows."""
    lines = [
        f"{action!r} costs "
        + ", ".join(
            f"{cost:g} if {name!r} is true" for cost, name in zip(row[:_ECHOED], classes, strict=False)
        )
        + (", ..." if len(row) > _ECHOED else "")
        for action, row in zip(actions[:_ECHOED], table.tolist(), strict=False)
    ]
    return f"costs are read as: {'; '.join(lines)}{'; ...' if len(actions) > _ECHOED else ''}"


def _require_orientation(table: HostArray, actions: Sequence[str], read_as: str) -> None:
    """Raise where an action never pays and would if rows and columns were swapped."""
    worse = _never_pays(table)
    if worse is None or table.shape[0] != table.shape[1] or _never_pays(table.T) is not None:
        return
    raise InputError(
        "`costs`",
        "must have a row per action and a column per class",
        f"{read_as}; so {actions[worse]!r} is never better than another action, and it would be if rows "
        "were classes",
        "Swap rows and columns, `costs.T`, or leave out this action.",
    )


def _never_pays(table: HostArray) -> int | None:
    """Return the first action that another one beats or equals in every class, and beats in some."""
    for at, costs in enumerate(table):
        if ((table <= costs).all(axis=1) & (table < costs).any(axis=1)).any():
            return at
    return None


def _acted(chunk: Dataset, table: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Return chosen actions, the costs that are expected of them, and labels."""
    probs = to_host(as_point(chunk.predictions)[0].probs).astype(np.float64)
    expected = probs @ table.T  # (n, a)
    return expected.argmin(axis=1), expected.min(axis=1), to_host(chunk.batch.values)[0].astype(np.int64)


def _event(chunk: Dataset, target: int) -> tuple[HostArray, HostArray]:
    probs = to_host(as_point(chunk.predictions)[0].probs).astype(np.float64)
    return probs[:, target], to_host(chunk.batch.values)[0] == target


def _mean(name: str, values: HostArray, notes: tuple[str, ...], codes: HostArray | None) -> Estimate:
    n = len(values)
    error = mean_error(values, codes)
    if n < FEWEST:
        error["interval_refusal"] = f"intervals need {FEWEST} instances; got {n}"
    return Estimate(name, float(values.mean()), n=n, notes=notes, **error)
