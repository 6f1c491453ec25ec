"""The test of the labels' distributions: equal counts projected once against every drawn count projected."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from harness import Row, best_of

import credibly as cr
from credibly.hypotests.credal.validity import draw_counts


def rows(threads: int) -> Iterator[Row]:
    """Yield one row per number of raters."""
    rng = np.random.default_rng(0)
    n, m, k, replicates = 100, 5, 5, 199
    members = rng.dirichlet(np.full(k, 0.5), size=(n, m))
    sets = cr.Ensemble(members, member_axis=1)
    for raters in (2, 5, 50):
        counts = cr.LabelCounts(rng.multinomial(raters, members.mean(axis=1)))
        drawn = draw_counts(
            members.mean(axis=1), np.full(n, raters), (1, 2), slice(0, replicates), 0
        ).reshape(-1, k)
        every = cr.LabelCounts(drawn)
        repeated = sets[np.tile(np.arange(n), replicates)]

        def ours(counts=counts):
            return cr.validity_test(sets, counts, n_resamples=replicates, rng=0)

        def theirs(every=every, repeated=repeated):
            return cr.credal.distance(repeated, every)

        found = best_of(3, ours=ours, theirs=theirs)
        yield Row(
            f"validity_test, n = {n}, m = {m}, k = {k}, {raters} raters, {replicates} replicates",
            found["ours"],
            found["theirs"],
            "a projection per drawn count",
            "reported",
            True,
            threads,
        )
