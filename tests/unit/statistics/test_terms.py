"""Sums by part of the rows, third moments and powers: against sums over rows that are written out."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from credibly.predictions import Classes, Reals
from credibly.statistics import events
from credibly.statistics.events import Events
from credibly.statistics.terms import Losses, Outcomes, Terms

N, K, PARTS = 60, 3, 4
RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(K), size=N)
LABELS = RNG.integers(K, size=(5, N)).astype(np.uint8)
PART = RNG.integers(PARTS, size=N)
TABLE = RNG.normal(size=(N, K))
NEEDS = frozenset({"expected", "variance", "third"})


def made(kind: str) -> tuple[Terms, Any]:
    labels: Any = Classes(LABELS, K)
    if kind == "one event":
        return Events(PROBS[:, 1], event=np.ones(N, dtype=np.uint8)), labels
    if kind == "every class":
        return Events(PROBS), labels
    if kind == "cells":
        return Events(PROBS, RNG.integers(5, size=(N, K)), 5), labels
    if kind == "outcomes":
        return Outcomes(PROBS, lambda: TABLE), labels
    law = (PROBS[:, 0], PROBS[:, 1], np.asarray(0.25))
    return Losses(lambda values: values**2, PROBS, lambda: law), Reals(LABELS.astype(np.float64))


KINDS = ("one event", "every class", "cells", "outcomes", "losses")


@pytest.mark.parametrize("kind", KINDS)
def test_sums_by_part_are_those_of_the_rows_of_every_part(kind: str) -> None:
    whole, labels = made(kind)
    split = whole.split(PART, PARTS)
    size = whole.n_cells
    cell = np.broadcast_to(np.arange(size) if whole.cell is None else whole.cell, whole.mean.shape)
    added, mean, variance = whole.added(labels), whole.mean, whole.variance
    own = {"size": np.ones(mean.shape), "expected": mean, "variance": variance, "third": whole.third}
    fixed = {name: values.reshape(PARTS, size) for name, values in split.fixed(None, NEEDS).items()}
    observed = split.observed(labels).reshape(-1, PARTS, size)
    square, cube = (power.reshape(-1, PARTS, size) for power in split.powers(labels))
    for part in range(PARTS):
        for at in range(size):
            inside = (PART[:, None] == part) & (cell == at)
            for name, values in own.items():
                assert fixed[name][part, at] == pytest.approx(np.sum(values[inside]))
            assert observed[:, part, at] == pytest.approx(added[:, inside].sum(axis=1))
            beyond = (added - mean)[:, inside]
            assert square[:, part, at] == pytest.approx((beyond**2).sum(axis=1))
            assert cube[:, part, at] == pytest.approx((beyond**3).sum(axis=1))


@pytest.mark.parametrize("kind", KINDS)
def test_parts_add_up_to_all_rows(kind: str) -> None:
    whole, labels = made(kind)
    split = whole.split(PART, PARTS)
    parts = split.observed(labels).reshape(-1, PARTS, whole.n_cells)
    assert parts.sum(axis=1) == pytest.approx(whole.observed(labels))
    for name, found in whole.fixed(None, NEEDS).items():
        assert split.fixed(None, NEEDS)[name].reshape(PARTS, -1).sum(axis=0) == pytest.approx(found[0])


@pytest.mark.parametrize("kind", ["one event", "every class", "outcomes"])
def test_third_moments_are_those_of_drawn_labels(kind: str) -> None:
    found, _ = made(kind)
    every = np.stack([np.full(N, c, dtype=np.uint8) for c in range(K)])
    beyond = found.added(Classes(every, K)) - found.mean  # (K, n, m)
    assert np.einsum("nk,knm->nm", PROBS, beyond**3) == pytest.approx(found.third)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_count_rows_by_part(kind: str) -> None:
    whole, labels = made(kind)
    weights = RNG.integers(3, size=N).astype(np.float64)
    kept = np.repeat(np.arange(N), weights.astype(int))
    weighted = type(labels)(**{**vars(labels), "weights": weights[None, :]})
    added = whole.added(labels)[:, kept]
    where = np.arange(whole.n_cells) if whole.cell is None else whole.cell
    cell = np.broadcast_to(where, whole.mean.shape)[kept]
    values = whole.split(PART, PARTS).observed(weighted).reshape(-1, PARTS, whole.n_cells)
    for part in range(PARTS):
        for at in range(whole.n_cells):
            inside = (PART[kept][:, None] == part) & (cell == at)
            assert values[:, part, at] == pytest.approx(added[:, inside].sum(axis=1))


@pytest.mark.parametrize("kind", ["one event", "every class"])
@pytest.mark.parametrize("ordered", [True, False])
def test_a_device_counts_the_same(kind: str, ordered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in the order of their parts are counted by one running sum; tensors of the host take that way."""
    torch = pytest.importorskip("torch")
    order = np.argsort(PART, kind="stable") if ordered else np.arange(N)
    monkeypatch.setattr(events, "on_accelerator", lambda array: True)
    probs, part = torch.from_numpy(PROBS[order]), torch.from_numpy(PART[order])
    labels = Classes(torch.from_numpy(LABELS[:, order]), K)
    mask = kind == "one event"
    text = Events(probs[:, 1], event=torch.ones(N, dtype=torch.uint8)) if mask else Events(probs)
    split = text.split(part, PARTS)
    assert (split.ends is not None) is ordered
    expected, on_host = made(kind)
    assert split.observed(labels).numpy() == pytest.approx(expected.split(PART, PARTS).observed(on_host))


def test_many_rows_in_few_cells_are_counted_as_single_rows_are() -> None:
    n = 4 * 2**18
    part, hits = RNG.integers(3, size=n), RNG.integers(2, size=(2, n)).astype(np.uint8)
    split = Events(np.full(n, 0.5), event=np.ones(n, dtype=np.uint8)).split(part, 3)
    plain = split.observed(Classes(hits, 2))
    ready = split.for_replicates(Classes(hits[:1], 2), 99)
    assert "_in_order" in vars(ready)
    assert ready.observed(Classes(hits, 2)).tolist() == plain.tolist()
    assert plain.tolist() == [np.bincount(part, row).tolist() for row in hits]


def counted_together(of_events: list[Events], labels: Classes, monkeypatch: pytest.MonkeyPatch) -> int:
    """Require that sums taken together are those of each alone; return how often labels were looked at."""
    looks = []
    observed = Events.observed

    def watched(terms: Events, labels: Any) -> Any:
        looks.append(terms)
        return observed(terms, labels)

    expected = [observed(terms, labels) for terms in of_events]
    with monkeypatch.context() as patched:
        patched.setattr(Events, "observed", watched)
        first, *others = of_events
        found = first.observed_with(others, labels)
    for sums, plain in zip(found, expected, strict=True):
        np.testing.assert_array_equal(sums, plain)
    return len(looks)


def test_events_of_the_same_labels_are_counted_in_their_common_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    labels = Classes(rng.integers(K, size=(40, N)).astype(np.uint8), K)
    by_width = np.digitize(PROBS, [0.3, 0.6]) + 3 * np.arange(K)
    by_mass = (np.median(PROBS, axis=0) < PROBS) + 2 * np.arange(K)
    classes = [Events(PROBS, by_width, 3 * K), Events(PROBS, by_mass, 2 * K)]
    top, sure = PROBS.argmax(axis=1).astype(np.uint8), PROBS.max(axis=1)
    hits = [
        Events(sure, event=top),
        Events(sure, np.digitize(sure, [0.5, 0.7]), 3, top.copy()),
        Events(sure, top.astype(np.intp), K, top),
    ]
    other = Events(PROBS[:, 0], by_mass[:, 0], 2, np.zeros(N, dtype=np.uint8))
    every = [hits[0], classes[0], hits[1], other, classes[1], hits[2]]
    for together in (classes, hits, every):
        assert len({terms.shared for terms in together}) == 1
        assert counted_together(together, labels, monkeypatch) == 1
    assert counted_together([hits[1], other, hits[2]], labels, monkeypatch) == 2  # of two events
    assert classes[0].split(PART, PARTS).shared is None
    weighted = Classes(labels.values, K, weights=rng.random((1, N)))
    assert counted_together(hits, weighted, monkeypatch) == 3
    assert counted_together(hits, Classes(labels.values[:3], K), monkeypatch) == 3
    own = Events(sure, np.arange(N), N, top)  # every row a cell of its own
    assert counted_together([own, hits[1]], labels, monkeypatch) == 2
    assert counted_together([own, *classes], labels, monkeypatch) == 2
    with monkeypatch.context() as patched:
        patched.setattr(events, "_MOST_ENTRIES", 0)
        assert counted_together([*hits, *classes[::-1]], labels, monkeypatch) == 2


def test_common_cells_are_not_looked_for_where_pairs_of_cells_are_very_many() -> None:
    rows = np.arange(20_000)
    tables = [Events(np.full(20_000, 0.5), rows % size, size, np.ones(20_000)) for size in (9000, 8999)]
    tracemalloc.start()
    try:
        assert events._in_common(tables) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50 * 2**20  # a count of every pair of cells would take 650 MB
