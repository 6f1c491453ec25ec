"""Batches added up give the value of all rows at once, on every library, in any order and in any process."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import credibly as cr
from credibly.statistics import registered
from libraries import Library

RNG = np.random.default_rng(2)
N = 90
PROBS = RNG.dirichlet(np.ones(4), size=N)
LABELS = (RNG.random((N, 1)) > PROBS.cumsum(axis=1)).sum(axis=1)
CUTS = ((0, 1), (1, 40), (40, N))  # a batch of one row among them
NEED_ALL_ROWS = ("augrc",)  # the order of all rows


def sums() -> list[str]:
    """Registered statistics of classes that can be fed in batches."""
    return [
        name
        for name, statistic in registered().items()
        if statistic.traits.reduction == "sum"
        and "classes" in statistic.traits.labels
        and name not in NEED_ALL_ROWS
    ]


def equal_width(name: str) -> cr.statistics.Statistic:
    statistic = registered()[name]
    return statistic.with_(binning="equal_width") if "binning" in statistic.settings() else statistic


@pytest.mark.parametrize("name", sums())
def test_batches_give_the_value_of_all_rows(name: str, library: Library) -> None:
    statistic = equal_width(name)
    running = cr.statistics.RunningStatistic(statistic)
    for start, stop in CUTS:
        running.update(library.asarray(PROBS[start:stop]), library.asarray(LABELS[start:stop]))
    computed = running.compute()
    assert computed.value == pytest.approx(statistic(PROBS, LABELS).value, rel=1e-12)
    assert (computed.name, computed.n, computed.settings) == (name, N, statistic.settings())
    whole = statistic(PROBS, LABELS)
    if whole.stderr is None or "skill" in name:  # the error of a ratio takes a second look at all rows
        assert computed.stderr is None
        with pytest.raises(cr.UnsupportedError):
            computed.interval()
    else:
        assert computed.stderr == pytest.approx(whole.stderr, rel=1e-10)
        assert computed.interval_method == whole.interval_method
        assert computed.interval_refusal == whole.interval_refusal


def test_weights_members_and_counts() -> None:
    weights = RNG.random(N)
    members = RNG.dirichlet(np.ones(4), size=(N, 3))
    counts = RNG.multinomial(5, PROBS)
    running = {name: cr.statistics.RunningStatistic("brier") for name in ("weights", "members", "counts")}
    for start, stop in CUTS:
        rows = slice(start, stop)
        running["weights"].update(PROBS[rows], LABELS[rows], sample_weight=weights[rows])
        running["members"].update(members[rows], LABELS[rows])
        running["counts"].update(PROBS[rows], cr.LabelCounts(counts[rows]))
    whole = {
        "weights": cr.brier(PROBS, LABELS, sample_weight=weights),
        "members": cr.brier(members, LABELS),
        "counts": cr.brier(PROBS, cr.LabelCounts(counts)),
    }
    for name, one in running.items():
        assert one.compute().value == pytest.approx(whole[name].value, rel=1e-12)
    assert running["members"].compute().notes == (
        "used the mean of 3 members as the one prediction per instance",
    )


def test_processes_share_the_work() -> None:
    parts = []
    for start, stop in CUTS:
        part = cr.statistics.RunningStatistic("confidence_ece", n_bins=7)
        part.update(PROBS[start:stop], LABELS[start:stop])
        parts.append(pickle.loads(pickle.dumps(part)))  # noqa: S301 - our own bytes
    merged = parts[2].merge(parts[0]).merge(parts[1])
    assert merged is parts[2]
    assert merged.n == N
    assert merged.compute().value == pytest.approx(
        float(cr.confidence_ece(PROBS, LABELS, n_bins=7)), rel=1e-12
    )
    empty = cr.statistics.RunningStatistic("confidence_ece", n_bins=7)
    assert empty.merge(merged).compute() == merged.compute()
    assert merged.merge(cr.statistics.RunningStatistic("confidence_ece", n_bins=7)).n == N


def test_reset_forgets() -> None:
    running = cr.statistics.RunningStatistic("accuracy")
    running.update(PROBS, 0 * LABELS)
    running.reset()
    running.update(PROBS, LABELS)
    assert running.compute().value == cr.accuracy(PROBS, LABELS).value


def test_no_graph_is_kept() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    running = cr.statistics.RunningStatistic("brier")
    probs = torch.tensor(PROBS, requires_grad=True)
    running.update(probs, torch.tensor(LABELS))
    assert running._kept is not None
    sums, _, first = running._kept
    assert not any(value.requires_grad for value in sums.values())
    assert not first.probs.requires_grad  # type: ignore[attr-defined]


def test_notes_do_not_pile_up() -> None:
    running = cr.statistics.RunningStatistic("brier")
    for batch in range(30):  # every batch has a different number of rows that are off by noise
        probs = np.tile(PROBS[:1], (batch + 1, 1))
        probs[:, 0] += 5e-7
        running.update(probs, np.zeros(batch + 1, dtype=int))
    assert len(running.compute().notes) <= 11


@pytest.mark.parametrize("name", ["skce", "kde_ce"])
def test_pairs_are_refused(name: str) -> None:
    with pytest.raises(cr.UnsupportedError, match="must be a sum over instances to be updated in batches"):
        cr.statistics.RunningStatistic(name)


def test_bins_of_equal_mass_are_refused() -> None:
    with pytest.raises(cr.UnsupportedError, match="needs bins that are known before the data"):
        cr.statistics.RunningStatistic("confidence_ece", binning="equal_mass")
    with pytest.raises(cr.UnsupportedError, match="its bins have equal mass"):
        cr.statistics.RunningStatistic("hosmer_lemeshow")


def test_nothing_to_compute() -> None:
    with pytest.raises(cr.InputError, match="`brier` needs at least one batch; got none"):
        cr.statistics.RunningStatistic("brier").compute()


def test_batches_must_be_alike() -> None:
    running = cr.statistics.RunningStatistic("brier")
    running.update(PROBS, LABELS)
    with pytest.raises(cr.InputError, match=r"must have the same number of classes \(4\); got 2"):
        running.update([[0.5, 0.5]], [0])
    assert running.n == N  # a refused batch leaves no trace
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(cr.CrediblyError, match="batches"):
        running.update(torch.tensor(PROBS), torch.tensor(LABELS))
    with pytest.raises(cr.InputError, match="must be the same to be merged"):
        running.merge(cr.statistics.RunningStatistic("accuracy"))
    with pytest.raises(cr.InputTypeError, match="must be given in this order"):
        running.update(LABELS, PROBS)


def test_it_shows_what_it_is() -> None:
    assert repr(cr.statistics.RunningStatistic("brier")) == "RunningStatistic(Brier(), n=0)"


def test_one_weighted_batch_makes_a_weighted_mean() -> None:
    weights = RNG.random(N)
    weights[: CUTS[1][1]] = 1.0
    running, other = cr.statistics.RunningStatistic("accuracy"), cr.statistics.RunningStatistic("accuracy")
    for start, stop in CUTS[:2]:
        running.update(PROBS[start:stop], LABELS[start:stop])
    start, stop = CUTS[2]
    other.update(PROBS[start:stop], LABELS[start:stop], sample_weight=weights[start:stop])
    computed = running.merge(other).compute()
    whole = cr.accuracy(PROBS, LABELS, sample_weight=weights)
    assert computed.value == pytest.approx(whole.value, rel=1e-12)
    assert computed.stderr == pytest.approx(whole.stderr, rel=1e-10)
    assert computed.interval_method == whole.interval_method == "normal"
