"""Real labels drawn from predictions: right distributions, and no tile, order or device changes one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

import credibly as cr
from credibly._arrays.namespace import to_host
from credibly._arrays.philox import Stream, Uniforms, as_seed
from credibly.hypotests.resampling.replicates import RealReplicates, drawn_members
from optional import torch

SEED = as_seed(3)
RNG = np.random.default_rng(0)
N, M = 37, 4
MEAN, STD = RNG.normal(size=(N, M)), RNG.uniform(0.5, 2.0, size=(N, M))
LEVELS = np.arange(1, 20) / 20
ALL = {
    "gaussian": cr.Gaussian(MEAN[:, 0], STD[:, 0]),
    "gaussian members": cr.Gaussian(MEAN, STD),
    "quantiles": cr.Quantiles(np.sort(RNG.normal(size=(N, 19)), axis=1), LEVELS),
}
kinds = pytest.mark.parametrize("kind", ALL)


def draw(predictions: cr.Gaussian, reps: int, *, shared: bool = False) -> np.ndarray:
    members = drawn_members(predictions, SEED, reps) if shared else None
    return to_host(RealReplicates(predictions, SEED, members=members).labels(slice(0, reps)).values)


@pytest.mark.parametrize("shared", [False, True])
def test_gaussian_labels_against_a_plain_loop(shared: bool) -> None:
    drawn = draw(ALL["gaussian members"], 5, shared=shared)
    uniform, choice = Uniforms(SEED, Stream.RESTS), Uniforms(SEED, Stream.MEMBERS)
    u, c = np.empty(1), np.empty(1)
    for d in range(5):
        for i in range(N):
            uniform.fill(u, d, i)
            choice.fill(c, d, 0 if shared else i)
            member = int(c[0] * M)
            expected = MEAN[i, member] + STD[i, member] * scipy.special.ndtri(u[0])
            assert drawn[d, i] == pytest.approx(expected, rel=1e-14)


def test_tabled_labels_against_a_plain_loop() -> None:
    drawn = draw(ALL["quantiles"], 5)
    uniform, u = Uniforms(SEED, Stream.RESTS), np.empty(1)
    for d in range(5):
        for i in range(N):
            uniform.fill(u, d, i)
            table = ALL["quantiles"].values[i]
            expected = np.interp(u[0], LEVELS, table)
            if u[0] < LEVELS[0]:
                expected = table[0] + (table[1] - table[0]) * np.log(u[0] / LEVELS[0])
            elif u[0] > LEVELS[-1]:
                expected = table[-1] - (table[-1] - table[-2]) * np.log((1 - u[0]) / (1 - LEVELS[-1]))
            assert drawn[d, i] == pytest.approx(expected, rel=1e-12, abs=1e-13)


@kinds
def test_labels_follow_the_mixture(kind: str) -> None:
    """F(y) of labels drawn for one instance is uniform."""
    drawn = draw(ALL[kind], 3000)
    for i in (0, N - 1):
        uniform = ALL[kind][i : i + 1].cdf(drawn[:, i : i + 1])[:, 0]
        assert scipy.stats.kstest(uniform, "uniform").pvalue > 1e-3


def test_a_shared_member_generates_all_labels_of_a_replicate() -> None:
    apart = 1000.0 * np.arange(M)  # members so far from each other that a label tells its member
    given = cr.Gaussian(MEAN + apart, STD)
    shared = np.rint(draw(given, 400, shared=True) / 1000).astype(int)
    assert (shared == shared[:, :1]).all()
    assert np.array_equal(shared[:, 0], drawn_members(given, SEED, 400))
    assert scipy.stats.chisquare(np.bincount(shared[:, 0], minlength=M)).pvalue > 1e-3
    own = np.rint(draw(given, 400) / 1000).astype(int)
    assert scipy.stats.chisquare(np.bincount(own.ravel(), minlength=M)).pvalue > 1e-3
    assert (own != own[:, :1]).any(axis=1).mean() > 0.99


@kinds
@pytest.mark.parametrize("shared", [False, True])
def test_no_tile_changes_a_label(kind: str, shared: bool) -> None:
    given = ALL[kind]
    whole = draw(given, 12, shared=shared)
    members = drawn_members(given, SEED, 12) if shared else None
    replicates = RealReplicates(given, SEED, members=members)
    assert np.array_equal(replicates.labels(slice(5, 9)).values, whole[5:9])
    chunk = RealReplicates(given[20:], SEED, members=members, first_row=20)
    assert np.array_equal(chunk.labels(slice(0, 12)).values, whole[:, 20:])


def test_wide_and_tall_batches_agree() -> None:
    """More labels than one tile holds, in both directions."""
    wide = cr.Gaussian(np.zeros(70_000), np.ones(70_000))
    whole = RealReplicates(wide, SEED).labels(slice(0, 2)).values
    part = RealReplicates(wide[40_000:], SEED, first_row=40_000)
    assert np.array_equal(part.labels(slice(1, 2)).values, whole[1:, 40_000:])


@kinds
def test_torch_draws_the_same_labels(kind: str) -> None:
    given = ALL[kind]
    arrays = {name: torch.tensor(getattr(given, name)) for name in given.row_fields}
    if isinstance(given, cr.Quantiles):
        arrays["levels"] = torch.tensor(LEVELS)
    there = type(given)(**arrays)
    labels = RealReplicates(there, SEED).labels(slice(0, 4)).values
    assert isinstance(labels, torch.Tensor)
    assert np.array_equal(labels.numpy(), draw(given, 4))


@kinds
@pytest.mark.parametrize("shared", [False, True])
def test_the_path_of_devices_draws_the_same_labels(kind: str, shared: bool) -> None:
    """With tensors in place of host arrays, as on a device; here on the processor."""
    given = ALL[kind]
    arrays = {name: torch.tensor(getattr(given, name)) for name in given.row_fields}
    if isinstance(given, cr.Quantiles):
        arrays["levels"] = torch.tensor(LEVELS)
    members = drawn_members(given, SEED, 6) if shared else None
    replicates = RealReplicates(type(given)(**arrays), SEED, members=members)
    replicates.on_device = True
    for name in ("mean", "std", "table", "levels"):
        if hasattr(replicates, name):
            setattr(replicates, name, torch.as_tensor(getattr(replicates, name)))
    labels = replicates.labels(slice(0, 6)).values
    assert isinstance(labels, torch.Tensor)
    assert np.allclose(labels.numpy(), draw(given, 6, shared=shared), rtol=1e-12, atol=1e-12)


def test_a_uniform_number_of_zero_gives_a_finite_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Uniforms, "fill", lambda self, out, replicate, start: out.fill(0.0))
    for given in ALL.values():
        assert np.isfinite(draw(given, 2)).all()
