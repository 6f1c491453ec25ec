"""Few clusters, groups that are one cluster, and raters with clusters."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import as_rows

FEW = {"n_resamples": 39, "rng": 0}


def drawn(seed: int, n: int = 200, k: int = 2):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), size=n)
    return probs, (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1), rng


def test_two_clusters_of_equal_influence_have_no_interval() -> None:
    for seed in range(60):  # two of them divided by zero
        probs, labels, _ = drawn(seed)
        found = cr.decompose_brier(probs, labels, clusters=np.arange(200) % 2)
        assert found.loss.interval_refusal is not None
        assert np.isfinite(found.loss.value)


def test_the_interval_of_a_pvalue_contains_its_floor() -> None:
    probs, labels, _ = drawn(0)
    clusters = np.arange(200) % 4  # 2 / 2^4 = .125
    for statistics in ("brier", ["brier", "confidence_ece"]):
        result = cr.calibration_test(probs, 1 - labels, statistics=statistics, clusters=clusters, rng=0)
        low, high = result.pvalue_interval
        assert low <= result.pvalue <= high
        assert low >= 0.125


def test_pairs_need_weight_in_two_clusters() -> None:
    probs, labels, _ = drawn(1)
    weights = (np.arange(200) % 4 == 0).astype(float)
    with pytest.raises(cr.CrediblyError, match="positive in 1 of 4"):
        cr.skce(probs, labels, sample_weight=weights, clusters=np.arange(200) % 4)


@pytest.mark.parametrize("k", [2, 3])
def test_raters_in_clusters_are_decomposed_tested_and_evaluated(k: int) -> None:
    probs, _, rng = drawn(2, k=k)
    counts = cr.LabelCounts(np.stack([rng.multinomial(3, row) for row in probs]))
    clusters = np.arange(200) // 10
    parts = cr.decompose_brier(probs, counts, clusters=clusters)
    assert parts.calibration.value + parts.refinement.value == pytest.approx(parts.loss.value)
    assert parts.loss.n_clusters == 20
    assert cr.calibration_test(probs, counts, clusters=clusters, **FEW).n_clusters == 20
    evaluation = cr.evaluate(probs, counts, clusters=clusters, **FEW)
    assert evaluation.raters is not None
    assert "clusters" in dict(evaluation.not_run)["test of the labels' distributions"]


def test_a_group_that_is_one_cluster_cannot_tell() -> None:
    probs, _, rng = drawn(3, n=900)
    store = np.arange(900) % 9
    shifted = np.clip(probs[:, 1] + np.where(store % 2, 0.25, -0.25), 0.0, 1.0)
    labels = (rng.random(900) < shifted).astype(int)
    apart = cr.audit(probs, labels, groups={"store": store.astype(str)}, **FEW)
    assert apart.verdict() == "conflict"
    audited = cr.audit(probs, labels, groups={"store": store.astype(str)}, clusters=store, **FEW)
    named = [group for group in audited.groups if group.conditions]
    assert {one.n_clusters for one in named} == {1}
    assert {one.verdict for one in named} == {"cannot tell"}
    assert audited.verdict() == "cannot tell"
    assert "9 groups are one cluster each" in audited.headline
    whole = cr.evaluate(probs, labels, groups={"store": store.astype(str)}, clusters=store, **FEW)
    assert whole.audit.verdict() == "cannot tell"
    higher = (rng.random(900) < np.clip(probs[:, 1] + 0.3, 0.0, 1.0)).astype(int)
    off = cr.audit(probs, higher, groups={"store": store.astype(str)}, clusters=store, **FEW)
    assert off.verdict() == "conflict"
    assert off.headline.startswith("Off in all rows together (p =")
    assert "9 groups are one cluster each" in off.headline


def test_blocks_of_a_panel_stay_within_their_store() -> None:
    probs, labels, rng = drawn(4, n=300)
    store = rng.permutation(np.repeat(["a", "b", "c"], [140, 150, 10]))
    rows = as_rows(probs, labels, clusters=store, blocks=30)
    codes = rows.cluster_codes()
    # 140 // 30 = 4 blocks, 150 // 30 = 5, and one of the store that is too short
    assert {name: len(set(codes[store == name])) for name in "abc"} == {"a": 4, "b": 5, "c": 1}
    for name in "abc":
        assert (np.diff(codes[store == name]) >= 0).all()
    assert sorted(np.bincount(codes)) == [10, *[30] * 5, *[35] * 4]
    chunks = cr.scan(probs, labels, clusters=store, chunk_rows=70)
    cut = cr.brier(chunks, blocks=30)
    whole = cr.brier(probs, labels, clusters=store, blocks=30)
    assert cut.n_clusters == whole.n_clusters == 10
    assert cut.stderr == pytest.approx(whole.stderr)
