"""One loop for rows in memory and in chunks: merged standard errors, one binding, the second look."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.standard_errors import Moments, standard_error_of
from credibly.predictions import as_rows
from credibly.statistics.over_rows import estimates_over, gathered

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), size=600)
LABELS = (RNG.random((600, 1)) > PROBS.cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize(("centre", "unit"), [(0.0, 1.0), (1e6, 1e-3), (0.0, 1e120), (0.0, 1e-120)])
def test_merged_moments_keep_the_digits_of_the_values(centre: float, unit: float) -> None:
    """1e6 +- 1e-3: raw squares would lose 18 of 16 digits; 1e120: raw cubes would overflow."""
    values = centre + unit * np.random.default_rng(1).normal(size=3000)
    pieces = [Moments.of(part[None, :], None) for part in np.split(values, [7, 1000, 1001])]
    total = pieces[0] + pieces[1] + pieces[2] + pieces[3]
    found, refusal = standard_error_of(total)
    assert found == pytest.approx(values.std(ddof=1) / 3000**0.5, rel=1e-9)
    assert (refusal is None) == (unit > 1e-12)  # below, all contribute the same


def test_an_infinite_value_is_counted_wherever_it_comes() -> None:
    finite, infinite = (Moments.of(np.array([row]), None) for row in ([1.0, 2.0], [3.0, np.inf]))
    for total in (finite + infinite, infinite + finite):
        assert standard_error_of(total) == (None, "the mean is infinite")


@pytest.mark.parametrize("name", ["confidence_ece", "classwise_ece", "top_label_ece"])
def test_the_debiased_error_of_chunks_has_the_standard_error_of_memory(name: str) -> None:
    """Influence is around the gaps of all rows, so chunks need a second look, and get it."""
    statistic = cr.statistics.registered()[name].with_(n_bins=5, p=2, debiased=True)
    whole = statistic(PROBS, LABELS)
    cut = statistic(cr.scan(PROBS, LABELS, chunk_rows=70))
    assert whole.stderr is not None
    assert cut.stderr == pytest.approx(whole.stderr, rel=1e-12)
    assert cut.interval() == pytest.approx(whole.interval(), rel=1e-12)


def test_all_kinds_of_statistics_come_in_the_order_asked_for() -> None:
    estimate = cr.statistic(lambda predictions, labels: float(len(labels)), tail="two-sided", name="size")
    found = estimates_over([estimate, cr.skce, cr.brier], as_rows(PROBS, LABELS))
    assert list(found) == ["size", "skce", "brier"]
    assert [one.value for one in found.values()] == [
        600.0,
        *(s(PROBS, LABELS).value for s in (cr.skce, cr.brier)),
    ]


def test_rows_in_memory_are_bound_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = type(cr.confidence_ece).terms

    def counted(*arguments: Any) -> Any:
        calls.append(1)
        return real(*arguments)

    monkeypatch.setattr(type(cr.confidence_ece), "terms", counted)
    cr.confidence_ece(PROBS, LABELS, p=2, debiased=True)  # the second look included
    assert len(calls) == 1


def test_what_is_gathered_of_memory_keeps_its_graph() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs = torch.tensor(PROBS, requires_grad=True)
    point, labels = gathered(as_rows(probs, torch.tensor(LABELS)))
    assert point.probs.requires_grad
    assert labels.values.shape == (1, 600)
