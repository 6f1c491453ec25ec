"""Requests over the same rows draw labels once and share sums; nothing else does, and no number changes."""

from __future__ import annotations

import dataclasses
import importlib
from collections import Counter
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.errors import UnsupportedError
from credibly._arrays.philox import as_seed
from credibly.hypotests.calibration.calibration_test import asking_tests
from credibly.hypotests.calibration.pit import asking_shares
from credibly.hypotests.predictive.predictive_check import asking_check
from credibly.hypotests.resampling import loop, requests, wild
from credibly.hypotests.resampling.requests import answered, answers, side_by_side
from credibly.predictions import Classes, as_rows
from credibly.predictions.passes import detached
from credibly.statistics.linear import Linear
from credibly.statistics.registry import as_statistic

RNG = np.random.default_rng(3)
MEAN = RNG.normal(size=(40, 2))
REALS = cr.Gaussian(MEAN, np.ones((40, 2)))
NUMBERS = MEAN[:, 0] + RNG.normal(size=40)
PROBS = RNG.dirichlet(np.ones(3), size=(40, 2))
MEMBERS = cr.Ensemble(PROBS, member_axis=1)
CLASSES = RNG.integers(3, size=40)
SHARED = {"n_resamples": 19, "rng": 5}
CRPS, ERROR, BRIER = map(as_statistic, ("crps", "quantile_calibration_error", "brier"))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the passes over labels."""
    importlib.import_module("credibly.diagnosis.diagnose")  # which draws labels of its own, is loaded before
    passes: list[int] = []
    before = loop.label_tiles

    def counted(*arguments: Any, **settings: Any) -> Any:
        passes.append(1)
        return before(*arguments, **settings)

    monkeypatch.setattr(loop, "label_tiles", counted)
    monkeypatch.setattr(requests, "label_tiles", counted)
    return passes


def _askings(rows: Any, seed: int = 5) -> list[Any]:
    shared = (19, as_seed(seed))
    return [
        asking_tests(rows, [CRPS, ERROR], *shared),
        asking_shares("pit", rows, 0.05, *shared),
        asking_shares("coverage", rows, 0.05, *shared),
        asking_check(rows, ["crps"], *shared, hypothesis="independent", grouped=False),
    ]


def _alone() -> list[Any]:
    return [
        cr.calibration_test(
            REALS, NUMBERS, statistics=["crps", "quantile_calibration_error"], **SHARED
        ).to_dict(),
        cr.pit_test(REALS, NUMBERS, **SHARED).to_dict(),
        cr.coverage_curve(REALS, NUMBERS, **SHARED).to_dict(),
        cr.predictive_check(
            REALS, NUMBERS, statistics=["crps"], hypothesis="independent", **SHARED
        ).to_dict(),
    ]


@pytest.mark.parametrize("chunks", [False, True])
def test_labels_are_drawn_once_and_numbers_stay(drawn: list[int], chunks: bool) -> None:
    alone = _alone()
    assert len(drawn) == 4
    drawn.clear()
    rows = cr.scan(REALS, NUMBERS, chunk_rows=40) if chunks else detached(as_rows(REALS, NUMBERS))
    found = answered(side_by_side(_askings(rows)))
    assert len(drawn) == 1
    if not chunks:  # where pairs are left out of notes, and power of the check
        assert [one.to_dict() for one in found] == alone
    for one, other in zip(found, alone, strict=True):
        if "pvalue" in other:
            assert one.pvalue == other["pvalue"]


def test_signs_of_clusters_are_drawn_once_and_numbers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    before = wild.sign_tiles

    def counted(*arguments: Any, **settings: Any) -> Any:
        passes.append(1)
        return before(*arguments, **settings)

    monkeypatch.setattr(wild, "sign_tiles", counted)
    clusters = np.arange(40) // 2
    named = {"statistics": ["brier", "confidence_ece"], **SHARED}
    alone = [
        cr.calibration_test(MEMBERS, CLASSES, clusters=clusters, **named).to_dict(),
        cr.predictive_check(MEMBERS, CLASSES, clusters=clusters, hypothesis="independent", **named).to_dict(),
    ]
    assert len(passes) == 2
    passes.clear()
    rows = detached(as_rows(MEMBERS, CLASSES, clusters=clusters))
    chosen, shared = [BRIER, as_statistic("confidence_ece")], (19, as_seed(5))
    askings = [
        asking_tests(rows, chosen, *shared),
        asking_check(rows, chosen, *shared, hypothesis="independent", grouped=False),
    ]
    found = answered(side_by_side(askings))
    assert len(passes) == 1
    assert [one.to_dict() for one in found] == alone
    passes.clear()
    named = {"statistics": ["brier", "confidence_gap"], "recalibrate": []}
    cr.evaluate(MEMBERS, CLASSES, clusters=clusters, n_resamples=19, progress=None, **named)
    # of the mean for tests, curves and the check, of the drawn members, and of every member that is left out
    assert len(passes) == 2 + MEMBERS.n_members


def test_equal_statistics_are_summed_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: Counter[str] = Counter()
    before = Linear.state

    def counted(self: Linear, labels: Any) -> Any:
        taken[self.statistic.name] += 1
        return before(self, labels)

    monkeypatch.setattr(Linear, "state", counted)
    answered(side_by_side(_askings(detached(as_rows(REALS, NUMBERS)))))
    # the counts below quantiles serve the error, the transform and the coverage
    assert taken == {"crps": 1, "quantile_calibration_error": 1}


def test_other_rows_seeds_and_hypotheses_have_their_own(drawn: list[int]) -> None:
    rows, other = (detached(as_rows(MEMBERS, own)) for own in (CLASSES, CLASSES[::-1]))

    def check(rows: Any, seed: int, hypothesis: Any) -> Any:
        return asking_check(rows, [BRIER], 19, as_seed(seed), hypothesis=hypothesis, grouped=False)

    first, second, *_ = answered(
        side_by_side(
            [
                check(rows, 5, "independent"),
                check(other, 5, "independent"),
                check(rows, 6, "independent"),
                check(rows, 5, "bayesian"),
                check(rows, 5, "independent"),
            ]
        )
    )
    assert len(drawn) == 4 + MEMBERS.n_members  # every member that is left out draws labels of its own
    assert first.checks["brier"].statistic != second.checks["brier"].statistic


def test_a_group_has_sums_of_its_own() -> None:
    groups = np.arange(40) % 2
    rows = detached(as_rows(MEMBERS, CLASSES, groups=groups))
    seed = as_seed(5)
    both = [asking_check(rows, [BRIER], 19, seed, grouped=own) for own in (False, True)]
    plain, grouped = answered(side_by_side(both))
    alone = cr.predictive_check(MEMBERS, CLASSES, statistics=["brier"], groups=groups, **SHARED)
    assert grouped.to_dict() == alone.to_dict()
    without = cr.predictive_check(MEMBERS, CLASSES, statistics=["brier"], **SHARED)
    assert plain.to_dict() == without.to_dict()


def test_side_by_side_returns_the_refusal_of_one_beside_the_result_of_another() -> None:
    given = cr.Quantiles(np.sort(MEAN, axis=1), [0.2, 0.5])  # no symmetric levels
    rows = detached(as_rows(given, NUMBERS))
    drawn = (0.05, 19, as_seed(5))
    curve, refusal = answered(
        side_by_side([asking_shares("pit", rows, *drawn), asking_shares("coverage", rows, *drawn)])
    )
    assert isinstance(refusal, UnsupportedError)
    assert curve.pvalue == cr.pit_test(given, NUMBERS, **SHARED).pvalue


def test_a_statistic_with_a_setting_that_cannot_be_hashed_is_its_own() -> None:
    @dataclasses.dataclass(frozen=True)
    class Scaled(type(BRIER)):
        factors: list[float] = dataclasses.field(default_factory=lambda: [1.0])

    statistic = Scaled()
    assert statistic.identity == id(statistic)
    assert BRIER.identity == BRIER
    result = cr.calibration_test(MEMBERS, CLASSES, statistics=statistic, **SHARED)
    assert result.pvalue == cr.calibration_test(MEMBERS, CLASSES, statistics="brier", **SHARED).pvalue


def test_no_requests_have_no_answers() -> None:
    assert answers([]) == []


def test_an_evaluation_draws_labels_once_per_source(drawn: list[int]) -> None:
    cr.evaluate(REALS, NUMBERS, n_resamples=19, progress=None, recalibrate=[])
    # of the mixture for tests, curves and the check, and of one member each; then every member that is left
    # out, for coverage and for scores
    assert len(drawn) == 2 + 2 * REALS.n_members
    drawn.clear()
    named = {"statistics": ["brier", "confidence_gap"], "recalibrate": []}
    cr.evaluate(MEMBERS, CLASSES, n_resamples=19, progress=None, **named)
    assert len(drawn) == 2 + MEMBERS.n_members


def test_first_tile_of_lean_replicates_has_room_for_its_copy() -> None:
    n, wanted, seen = 10_000, 999, []

    class OnDevice:
        on_device = True

        def labels(self, reps: slice) -> Classes:
            drawn = np.arange(reps.start, reps.stop) % 3
            return Classes(np.broadcast_to(drawn[:, None], (drawn.size, n)).astype(np.uint8), 3)

    observed = Classes(np.full((1, n), 2, dtype=np.uint8), 3)
    with cr.memory_limit(2**21):
        for part, batch in loop.label_tiles(observed, OnDevice(), slice(0, wanted), lean=True):
            seen.append((part, batch.values[:, 0]))
    sizes = [part.stop - part.start for part, _ in seen]
    assert [part.start for part, _ in seen] == np.cumsum([0, *sizes[:-1]]).tolist()
    assert sizes[0] == sizes[1] // 2  # the observed labels and these are copied once
    assert max(sizes) * n <= 0.9 * 2**21
    values = np.concatenate([labels for _, labels in seen])
    np.testing.assert_array_equal(values, [2, *(np.arange(wanted) % 3)])
