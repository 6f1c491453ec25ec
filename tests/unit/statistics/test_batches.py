"""Look-ups of many label vectors against single ones."""

from __future__ import annotations

import numpy as np

import credibly as cr
from credibly.predictions import Classes
from credibly.statistics import batches


def test_a_table_is_read_in_tiles(monkeypatch):
    rng = np.random.default_rng(0)
    table, labels = rng.random((30, 4)), rng.integers(0, 4, (11, 30), dtype=np.uint8)
    monkeypatch.setattr(batches, "CACHE_ELEMENTS", 60)
    tiles = list(batches.looked_up(table, labels))
    assert [len(tile) for tile in tiles] == [4, 4, 3]
    by_loop = [[table[i, label] for i, label in enumerate(row)] for row in labels.tolist()]
    assert np.concatenate(tiles).tolist() == by_loop


def test_statistics_of_many_label_vectors_are_those_of_each(monkeypatch):
    rng = np.random.default_rng(1)
    probs, labels = rng.dirichlet(np.ones(4), size=30), rng.integers(0, 4, (11, 30), dtype=np.uint8)
    monkeypatch.setattr(batches, "CACHE_ELEMENTS", 60)
    for statistic in (cr.brier, cr.log_loss, cr.classwise_ece, cr.hosmer_lemeshow):
        together = statistic.bind(probs)(Classes(labels, 4))
        assert np.allclose(together, [float(statistic(probs, row)) for row in labels], rtol=1e-13, atol=0)
