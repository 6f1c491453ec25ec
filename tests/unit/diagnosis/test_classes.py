"""Diagnoses of classes: what is asked of the rules, whatever the worlds of the board."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.diagnosis.choosing import Tried, Weighing, choose
from credibly.diagnosis.screen import Family, screened
from credibly.diagnosis.table import Fault

diagnose_module = sys.modules["credibly.diagnosis.diagnose"]  # the package's `diagnose` is the function


def world(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Right probabilities, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n, k))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return probs, (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)


def powered(probs: np.ndarray, power: float) -> np.ndarray:
    sharp = probs**power
    return np.asarray(sharp / sharp.sum(axis=1, keepdims=True))


# The one test


def test_the_one_test_ranks_the_observation_among_its_replicates() -> None:
    """Rows are exchangeable, so the p-value of row 0 is its rank, whatever the families look like."""
    rng = np.random.default_rng(0)
    pvalues = []
    for _ in range(400):
        shared = rng.normal(size=(40, 1))
        families = [
            Family("a", shared + rng.normal(size=(40, 5))),
            Family("b", rng.exponential(size=(40, 10)), pooled=True),
            Family("c", shared**3, weight=3.0),
        ]
        found = screened(families, others=np.log(rng.random(40)))
        assert found is not None
        pvalues.append(found.pvalue)
    ranks = np.round(40 * np.array(pvalues)).astype(int)
    assert ranks.min() == 1
    assert ranks.max() == 40
    counts = np.bincount(ranks, minlength=41)[1:].reshape(8, 5).sum(axis=1)
    assert ((counts - 50.0) ** 2 / 50.0).sum() < 24.3  # 99.9 % of a chi-square with 7 degrees of freedom


def test_a_rare_event_that_was_rounded_to_0_is_no_conflict() -> None:
    """Events happen where 0.00 is stated, as often as the numbers say that were rounded."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.35, 18, 4000)
        labels = (rng.random(4000) < p).astype(int)
        stated = np.column_stack([1 - p, p]).round(2)
        assert seed or labels[stated[:, 1] == 0].any()
        found.append(cr.diagnose(cr.Point(stated), labels, n_resamples=199, rng=seed).word == "conflict")
    assert sum(found) <= 4  # binomial(20, 0.05): P(more) = 0.003; every one if 0 is taken as impossible


def test_what_cannot_vary_is_not_tested() -> None:
    assert screened([Family("a", np.ones((50, 3)))]) is None
    one = np.vstack([np.full((1, 2), 9.0), np.random.default_rng(1).normal(size=(99, 2))])
    found = screened([Family("still", np.ones((100, 3))), Family("moves", one)], floor=0.125)
    assert found is not None
    assert found.shown == "moves"
    assert found.pvalue == 0.125  # not 0.01: so few clusters cannot show more


# The rule


def tried(gains: dict[str, tuple[int, float]], noise: float = 0.0) -> list[Tried]:
    rng = np.random.default_rng(0)
    base = rng.exponential(size=400)
    found = [Tried(Fault("none", 0, "", "confidence"), None, base, None)]
    for name, (order, gain) in gains.items():
        own = base - gain + noise * rng.normal(size=400)
        found.append(Tried(Fault(name, order, name, "confidence"), None, own, None))
    return found


@pytest.mark.parametrize(
    ("gains", "lead", "everything"),
    [
        ({"small": (1, 0.10), "large": (3, 0.10)}, "small", "small"),
        ({"small": (1, 0.05), "large": (3, 0.10)}, "large", "large"),
        ({"small": (1, 0.0985), "large": (3, 0.10)}, "small", "large"),
        ({"small": (1, -0.1), "large": (3, -0.2)}, "none", "none"),
        ({"one": (1, 0.08), "other": (1, 0.10)}, "other", "other"),
    ],
)
def test_the_smallest_repair_with_enough_of_the_gain_leads(
    gains: dict[str, tuple[int, float]], lead: str, everything: str
) -> None:
    """Without noise in the differences a standard error excuses nothing: 98 % lead, all explains all."""
    first, whole = choose(tried(gains), Weighing(np.ones(400)), (1.5, 1.0))
    assert (first.fault.name, whole.fault.name) == (lead, everything)


def test_a_difference_within_chance_does_not_pay_for_a_larger_repair() -> None:
    gains = {"small": (1, 0.095), "large": (3, 0.10)}
    first, whole = choose(tried(gains, noise=0.2), Weighing(np.ones(400)), (1.5, 1.0))
    assert (first.fault.name, whole.fault.name) == ("small", "small")


def test_standard_errors_allow_for_weights_and_clusters() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=50)
    plain = Weighing(np.ones(50))
    assert plain.stderr(values) == pytest.approx(values.std() / np.sqrt(50))
    twice = Weighing(np.full(50, 2.0), np.arange(50))
    repeated = Weighing(np.ones(100), np.repeat(np.arange(50), 2))
    assert twice.mean(values) == pytest.approx(repeated.mean(np.repeat(values, 2)))
    assert twice.stderr(values) == pytest.approx(repeated.stderr(np.repeat(values, 2)))


# Whole diagnoses


def test_labels_of_several_raters_are_all_counted() -> None:
    probs, _ = world(1500, 3)
    counts = cr.LabelCounts(np.random.default_rng(3).multinomial(4, probs))
    found = cr.diagnose(powered(probs, 2.0), counts, rng=0)
    assert (found.fault, found.direction) == ("temperature", 1)
    said = found.effect
    stated = powered(probs, 2.0)
    top = stated.argmax(axis=1)
    shares = counts.counts / counts.counts.sum(axis=1, keepdims=True)
    assert said.stated == pytest.approx(stated.max(axis=1).mean())
    assert said.observed == pytest.approx(shares[np.arange(1500), top].mean())


def test_rows_that_repeat_are_no_more_evidence_in_clusters() -> None:
    probs, labels = world(60, 3, seed=5)
    many, ids = np.tile(powered(probs, 1.4), (20, 1)), np.tile(np.arange(60), 20)
    alone = cr.diagnose(many, np.tile(labels, 20), rng=0)
    together = cr.diagnose(many, np.tile(labels, 20), clusters=ids, rng=0)
    assert alone.word == "conflict"
    assert together.pvalue > 10 * alone.pvalue
    assert together.n_clusters == 60


def test_sure_answers_in_clusters_are_no_conflict() -> None:
    """Where nothing improbable happened, all clusters lie below what is expected, each by next to nothing."""
    rng = np.random.default_rng(5)
    alarms = 0
    for seed in range(20):
        probs = rng.dirichlet(np.full(3, 0.25), size=1000)
        labels = (rng.random((1000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
        found = cr.diagnose(cr.Point(probs), labels, clusters=np.arange(1000) // 20, n_resamples=99, rng=seed)
        alarms += found.word == "conflict"
    assert alarms <= 4  # of 20 at 5 %: more with a probability of 0.003; without the floor, 13


def test_groups_come_with_the_data() -> None:
    probs, labels = world(3000, 3, seed=2)
    site = np.where(np.arange(3000) % 10 == 0, "a", "b")
    stated = np.where((site == "a")[:, None], powered(probs, 3.0), probs)
    asked = cr.diagnose(stated, labels, groups={"site": site}, rng=0)
    assert asked.fault == "group temperature"
    assert asked.effect.claim.group == ("site", "a")
    assert asked.repair is not None
    assert (asked.repair.method, asked.repair.by) == ("temperature", "site")
    assert abs(asked.effect.remains) < abs(asked.effect.size) / 3


def test_an_order_that_chance_explains_is_not_called_inverted() -> None:
    """What is said has to pass the one test, a confidence that seems to mislead too."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        probs, labels = world(40, 2, seed=100 + seed)
        found = cr.diagnose(probs, labels, rng=int(rng.integers(9)), n_resamples=99)
        assert (found.word == "conflict") == (found.pvalue <= found.level)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        (lambda p, y: (p[:19], y[:19], {}), cr.UnsupportedError, "at least 20 instances"),
        (lambda p, y: (p, y, {"clusters": np.zeros(60)}), cr.UnsupportedError, "60 instances in 1 cluster"),
        (lambda p, y: (cr.PredictionSets(p > 0.3, 0.9), y, {}), cr.InputTypeError, "needs predicted prob"),
        (lambda p, y: (p, y, {"groups": np.zeros(3)}), cr.InputError, "one entry per prediction"),
        (lambda p, y: (p, y, {"level": 2}), cr.InputError, "strictly between 0 and 1"),
    ],
)
def test_bad_input(given: Callable[..., Any], error: type[Exception], match: str) -> None:
    predictions, labels, settings = given(*world(60, 3))
    with pytest.raises(error, match=match):
        cr.diagnose(predictions, labels, **settings)


def test_chunks_give_the_same_diagnosis(tmp_path: Any) -> None:
    probs, labels = world(600, 3)
    np.save(tmp_path / "p.npy", probs)
    np.save(tmp_path / "y.npy", labels)
    chunks = cr.scan(tmp_path / "p.npy", tmp_path / "y.npy", chunk_rows=70)
    assert cr.diagnose(chunks).to_dict() == cr.diagnose(probs, labels).to_dict()


def test_of_very_many_rows_evenly_spaced_ones_are_diagnosed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnose_module, "MOST_DIAGNOSED", 200)
    probs, labels = world(600, 3)
    sites = np.where(np.arange(600) % 2, "a", "b")
    chosen = np.linspace(0, 599, 200).round().astype(int)
    found = cr.diagnose(probs, labels, groups={"site": sites})
    expected = cr.diagnose(probs[chosen], labels[chosen], groups={"site": sites[chosen]})
    assert found.notes == ("200 of 600 instances, evenly spaced, were diagnosed",)
    assert dataclasses.replace(found, notes=()).to_dict() == expected.to_dict()
    assert cr.diagnose(probs, labels, groups=sites).n == 200


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        (np.arange(100), "must have one entry per prediction .600.; got shape .100,."),
        ({"site": np.arange(700)}, "attribute 'site' of `groups` must have one entry per prediction .600."),
        ("site", "`groups` must be a table"),
    ],
)
def test_groups_of_very_many_rows_are_checked(
    groups: Any, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnose_module, "MOST_DIAGNOSED", 200)
    with pytest.raises(cr.CrediblyError, match=match):
        cr.diagnose(*world(600, 3), groups=groups)


def test_groups_of_very_many_rows_may_be_a_column_or_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnose_module, "MOST_DIAGNOSED", 200)
    probs, labels = world(600, 3)
    site, unknown = np.arange(600) // 7 % 3, np.arange(600) // 5 % 2 == 1
    named = np.where(unknown, None, site.astype(object))
    masked, none = (
        cr.diagnose(probs, labels, groups=groups).to_dict()
        for groups in (np.ma.array(site, mask=unknown), named)
    )
    assert masked == none
    column = pytest.importorskip("pandas").Series(site)
    assert (
        cr.diagnose(probs, labels, groups=column).to_dict()
        == cr.diagnose(probs, labels, groups=site).to_dict()
    )


def test_two_folds_tell_the_same_gain_of_many_rows() -> None:
    truth, labels = world(24_000, 3, 5)
    logits = np.log(truth)
    fold_members = diagnose_module.fold_members
    numbers = []

    def counted(n: int, folds: int, *others: Any) -> Any:
        numbers.append(folds)
        return fold_members(n, folds, *others)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(diagnose_module, "fold_members", counted)
        two = cr.diagnose(cr.Point.from_logits(1.3 * logits), labels)
        patched.setattr(diagnose_module, "MANY", 10**6)
        five = cr.diagnose(cr.Point.from_logits(1.3 * logits), labels)
    assert numbers == [2, 5]
    assert two.fault == five.fault == "temperature"
    assert two.repair is not None
    assert five.repair is not None
    assert two.repair.gain == pytest.approx(five.repair.gain, rel=0.02)


def test_a_repair_that_may_help_by_chance_is_not_advised() -> None:
    unclear = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        probs = rng.dirichlet(np.ones(3), size=600)
        labels = (rng.random((600, 1)) > probs.cumsum(axis=1)).sum(axis=1)
        found = cr.diagnose(
            np.tile(probs, (2, 1)), np.tile(labels, 2), rng=seed
        )  # copies: too often in conflict
        low, high = found.effect.interval
        if found.word == "conflict" and low < 0.0 < high:
            unclear += 1
            assert found.repair is None or found.repair.gain > 2.0 * found.repair.stderr
    assert unclear


def test_an_event_that_is_stated_too_often_everywhere_is_not_called_too_extreme() -> None:
    rng = np.random.default_rng(0)
    logit = rng.normal(-4.5, 2.0, size=6000)
    labels = (rng.random(6000) < 1 / (1 + np.exp(-logit))).astype(int)
    stated = 1 / (1 + np.exp(-(0.6 * logit + 2.0)))  # balanced classes: a bias, and a slope beside it
    evaluation = cr.evaluate(np.stack([1 - stated, stated], axis=1), labels, rng=0)
    assert evaluation.diagnosis.repair.method == "platt"
    assert str(evaluation.headline).startswith("Predicts class 1 too often: it says ")


@pytest.mark.parametrize("event", [1, 0])
def test_too_extreme_about_a_rare_event_is_no_bias_whichever_class_it_is(event: int) -> None:
    """At the lower end hardly an event is stated or happens: a sign there tells nothing."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        logit = -4.2 + 0.8 * rng.normal(size=8000)
        happens = rng.random(8000) < 1.0 / (1.0 + np.exp(-logit))
        stated = 1.0 / (1.0 + np.exp(-(-3.7 + 1.7 * (logit + 3.7)) - 0.4))
        probs = np.column_stack([1.0 - stated, stated] if event else [stated, 1.0 - stated])
        found = cr.diagnose(cr.Point(probs), happens.astype(int) if event else 1 - happens, n_resamples=199)
        assert found.fault == "bias+temperature"
        assert found.effect.claim.between is not None
