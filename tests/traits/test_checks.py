"""Deliberately wrong statistics are caught by the check made for their mistake, and a right one by none."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.namespace import as_float64, is_torch, namespace
from credibly.predictions import Counts, Gaussian, Point, Samples, as_point
from credibly.statistics import Statistic, Traits
from credibly.statistics.linear import Linear
from credibly.statistics.proper import ProperScore
from credibly.statistics.protocol import Bound, State, Story
from credibly.statistics.regression import REAL_TRAITS, RealMean
from credibly.statistics.terms import Outcomes
from traits.checks import CHECKS

HONEST = Traits(
    reduction="sum",
    tail="two-sided",
    labels=frozenset({"classes", "counts"}),
    differentiable=True,
    multiplicities=True,
    duplicate_invariant=True,
    range=(0.0, 2.0),
)
TOLD = Story("Right", "It is right.", "1 = 1", citation="This file.")


@dataclasses.dataclass(frozen=True)
class Right(ProperScore):
    """The Brier score once more; every wrong one below changes one thing of it."""

    name: ClassVar[str] = "right"
    traits: ClassVar[Traits] = HONEST
    reference: ClassVar[str] = "-"
    story: ClassVar[Story] = TOLD

    def table(self, probs: Any) -> Any:
        p = as_float64(probs)
        return namespace(p).sum(p * p, axis=-1, keepdims=True) - 2.0 * p + 1.0


class OrderDependent(Right):
    def table(self, probs: Any) -> Any:
        table = super().table(probs)
        xp = namespace(table)
        n = table.shape[0]
        rank = xp.arange(n, dtype=xp.float64, device=table.device) / n
        return table * rank[:, None]


class PrefersTheLastClass(Right):
    def table(self, probs: Any) -> Any:
        table = super().table(probs)
        xp = namespace(table)
        last = xp.arange(table.shape[1], device=table.device) == table.shape[1] - 1
        return xp.where(last[None, :], 0.5 * table, table)


class FirstMemberOnly(Right):
    def _bind(self, predictions: Any, plan: Any) -> Bound:
        if predictions.n_members > 1:
            predictions = Point(predictions.probs[:, 0, :])
        return super()._bind(predictions, plan)


class SumThatClaimsDuplicateInvariance(Right):
    def value(self, sums: State) -> Any:
        return sums["observed"][:, 0] / 60


def bound_as(kind: type[Linear], statistic: Right, predictions: Any, plan: Any) -> Bound:
    return kind(statistic, statistic.terms(as_point(predictions)[0], plan), plan, ())


class _Unweighted(Linear):
    def state(self, labels: Any) -> State:
        return super().state(dataclasses.replace(labels, weights=None))

    def observed_sums(self, labels: Any) -> State:
        return super().observed_sums(dataclasses.replace(labels, weights=None))


class IgnoresWeights(Right):
    def _bind(self, predictions: Any, plan: Any) -> Bound:
        return bound_as(_Unweighted, self, predictions, plan)


class LooksAcrossTheBatch(Right):
    def value(self, sums: State) -> Any:
        value = super().value(sums)
        return 0.5 * value + 0.5 * namespace(value).mean(value)


class _MeanOfMeans(Linear):
    def state(self, labels: Any) -> State:
        state = super().state(labels)
        return State(size=state["size"] ** 0, observed=state["observed"] / state["size"])


class MeanOfChunkMeans(Right):
    def _bind(self, predictions: Any, plan: Any) -> Bound:
        return bound_as(_MeanOfMeans, self, predictions, plan)


class OtherOnTorch(Right):
    def table(self, probs: Any) -> Any:
        return super().table(probs) * (1 + 1e-6 * is_torch(probs))


class LeavesTorch(Right):
    def value(self, sums: State) -> Any:
        value = super().value(sums)
        return np.asarray(value.detach()) if is_torch(value) else value


class NumpyFunctionsInside(Right):
    def table(self, probs: Any) -> Any:
        table = super().table(probs)
        return table + 0 * np.add.reduce(table) if not is_torch(probs) else table


class SinglePrecision(Right):
    def table(self, probs: Any) -> Any:
        xp = namespace(probs)
        squares = xp.sum(probs * probs, axis=-1, keepdims=True)  # in the caller's precision
        return xp.astype(squares, xp.float64) - 2.0 * as_float64(probs) + 1.0


class CutsTheGraph(Right):
    def table(self, probs: Any) -> Any:
        return super().table(probs.detach() if is_torch(probs) else probs)


class HalfTheGradient(Right):
    def table(self, probs: Any) -> Any:
        table = super().table(probs)
        return 0.5 * table + 0.5 * table.detach() if is_torch(probs) else table


class TakesCountsSilently(Right):
    traits: ClassVar[Traits] = dataclasses.replace(HONEST, labels=frozenset({"classes"}))

    def require_labels(self, batch: Any) -> Any:
        return cr.brier.require_labels(batch)


class _FirstRater(Outcomes):
    def contributions(self, labels: Any) -> Any:
        return super().contributions(labels) * (0.5 if isinstance(labels, Counts) else 1.0)


class WrongOnCounts(Right):
    def terms(self, predictions: Any, plan: Any) -> Outcomes:
        return _FirstRater(predictions.probs, lambda: self.table(predictions.probs))


class LeavesItsRange(Right):
    traits: ClassVar[Traits] = dataclasses.replace(HONEST, range=(0.0, 1.0))


@dataclasses.dataclass(frozen=True)
class RightOfReals(RealMean):
    """The mean squared error; every wrong one below changes one thing of it."""

    name: ClassVar[str] = "right of reals"
    traits: ClassVar[Traits] = dataclasses.replace(REAL_TRAITS, differentiable=True)
    reference: ClassVar[str] = "-"
    story: ClassVar[Story] = TOLD

    def loss(self, predictions: Any) -> Any:
        mean = predictions.expectation()
        return lambda labels: (labels - mean) ** 2


class FirstMemberOfReals(RightOfReals):
    def loss(self, predictions: Any) -> Any:
        if isinstance(predictions, Gaussian) and predictions.mean.ndim == 2:
            predictions = Gaussian(predictions.mean[:, 0], predictions.std[:, 0])
        return super().loss(predictions)


class LargeBatchesOfRealsDiffer(RightOfReals):
    def loss(self, predictions: Any) -> Any:
        right = super().loss(predictions)
        return lambda labels: right(labels) * (1.0 if labels.shape[0] < 50 else 1.001)


class WrongForDraws(RightOfReals):
    def loss(self, predictions: Any) -> Any:
        if isinstance(predictions, Samples):
            n = len(predictions)
            rank = namespace(predictions.values).arange(n, device=predictions.device) / n
            right = super().loss(predictions)
            return lambda labels: right(labels) * rank
        return super().loss(predictions)


class GraphOfRealsCut(RightOfReals):
    def loss(self, predictions: Any) -> Any:
        mean = predictions.expectation()
        fixed = mean.detach() if is_torch(mean) else mean
        return lambda labels: (labels - fixed) ** 2


class RealsOutOfRange(RightOfReals):
    traits: ClassVar[Traits] = dataclasses.replace(REAL_TRAITS, differentiable=True, range=(0.0, 100.0))


class SaysNothing(Right):
    story: ClassVar[Story] = Story("", "")


WRONG: dict[type[Statistic], set[str]] = {
    FirstMemberOfReals: {"member_order"},
    LargeBatchesOfRealsDiffer: {"batch_equals_loop"},
    WrongForDraws: {"row_order"},
    GraphOfRealsCut: {"gradient"},
    RealsOutOfRange: {"declared_range"},
    OrderDependent: {"row_order"},
    PrefersTheLastClass: {"class_relabelling"},
    FirstMemberOnly: {"member_order"},
    SumThatClaimsDuplicateInvariance: {"duplicated_data"},
    IgnoresWeights: {"multiplicities"},
    LooksAcrossTheBatch: {"batch_equals_loop"},
    MeanOfChunkMeans: {"chunks_equal_whole"},
    OtherOnTorch: {"same_on_torch"},
    LeavesTorch: {"same_on_torch"},
    NumpyFunctionsInside: {"same_on_strict"},
    SinglePrecision: {"single_precision"},
    CutsTheGraph: {"gradient"},
    HalfTheGradient: {"gradient"},
    TakesCountsSilently: {"label_kinds"},
    WrongOnCounts: {"label_kinds"},
    LeavesItsRange: {"declared_range"},
    SaysNothing: {"story"},
}


def caught(statistic: Statistic) -> set[str]:
    """Return the names of the checks that a statistic fails."""
    found = set()
    for name, check in CHECKS.items():
        try:
            check(statistic)
        except (AssertionError, RuntimeError, TypeError):  # gradcheck raises RuntimeError
            found.add(name)
    return found


@pytest.mark.slow
def test_a_right_statistic_passes_all() -> None:
    assert caught(Right()) == set()
    assert caught(RightOfReals()) == set()


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_a_wrong_statistic_is_caught(wrong: type[Statistic]) -> None:
    assert WRONG[wrong] <= caught(wrong())


def test_every_check_catches_something() -> None:
    assert set().union(*WRONG.values()) == set(CHECKS)


def test_what_is_not_declared_is_not_required() -> None:
    """The same mistakes, honestly declared, pass."""
    modest = dataclasses.replace(HONEST, differentiable=False, multiplicities=False, range=None)
    for wrong, check in (
        (CutsTheGraph, "gradient"),
        (IgnoresWeights, "multiplicities"),
        (LeavesItsRange, "declared_range"),
    ):
        honest = type(wrong.__name__, (wrong,), {"traits": modest})()
        assert check not in caught(honest)
