"""Counter-based uniforms: NumPy's generator and the tensor emulation are one function of the address."""

from __future__ import annotations

import inspect
import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibly as cr
from credibly._arrays import philox
from credibly._arrays.philox import Stream, Uniforms, as_seed, torch_pieces
from libraries import read
from surface import public_objects

WORD = st.integers(0, 2**64 - 1)
SEEDS = st.tuples(WORD, WORD)
STARTS = st.integers(0, 70) | st.integers(2**31 - 5, 2**31 + 5) | st.integers(2**40, 2**40 + 9)
MASK = 2**64 - 1


def block_by_definition(counter, key):
    """Philox 4x64-10 with Python's whole numbers, from Salmon et al. 2011, table 2 and section 3.3."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        first, second = c[0] * 0xD2E7470EE14C6C93, c[2] * 0xCA5A826395121157
        c = [(second >> 64) ^ c[1] ^ k0, second & MASK, (first >> 64) ^ c[3] ^ k1, first & MASK]
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return c


def uniform_by_definition(seed, stream, replicate, instance):
    # four words per counter; NumPy increments the counter before it produces a block
    words = block_by_definition((instance // 4 + 1, replicate, stream, 0), seed)
    return (words[instance % 4] >> 11) * 2.0**-53


def piece_by_definition(seed, stream, replicate, instance):
    words = block_by_definition((instance // 16 + 1, replicate, stream, 0), seed)
    return (words[instance % 16 // 4] >> (16 * (instance % 4))) & 0xFFFF


def on_tensors(uniforms, replicates, instances):
    """What `Uniforms.draw` computes on a device that NumPy cannot reach."""
    raw = philox._torch_words(uniforms.seed, uniforms.stream, replicates, instances, 4, "cpu")
    lead = instances.start % 4
    raw = raw[:, lead : lead + instances.stop - instances.start]
    return (philox._shift(raw, 11).double() * 2.0**-53).numpy()


@given(SEEDS, st.integers(0, 5), st.integers(0, 2**33), STARTS)
def test_uniforms_follow_the_definition(seed, stream, replicate, instance):
    sample = Uniforms(seed, stream).draw(slice(replicate, replicate + 1), slice(instance, instance + 5))
    expected = [uniform_by_definition(seed, stream, replicate, instance + i) for i in range(5)]
    assert sample[0].tolist() == expected


@given(SEEDS, st.integers(0, 5), st.integers(0, 2**33), STARTS)
def test_pieces_follow_the_definition(seed, stream, replicate, instance):
    values = np.empty(19, dtype=np.uint16)
    Uniforms(seed, stream).fill_pieces(values, replicate, instance)
    expected = [piece_by_definition(seed, stream, replicate, instance + i) for i in range(19)]
    assert values.tolist() == expected


@given(SEEDS, st.integers(0, 5), st.integers(0, 2**33), STARTS, st.integers(1, 3), st.integers(1, 40))
def test_tensors_hold_the_same_numbers(seed, stream, replicate, start, b, n):
    pytest.importorskip("torch", reason="needs the torch extra")
    uniforms = Uniforms(seed, stream)
    replicates, instances = slice(replicate, replicate + b), slice(start, start + n)
    expected = uniforms.draw(replicates, instances)
    assert np.array_equal(on_tensors(uniforms, replicates, instances), expected)
    pieces = np.empty((b, n), dtype=np.uint16)
    for row, own in zip(pieces, range(replicate, replicate + b), strict=True):
        uniforms.fill_pieces(row, own, start)
    assert np.array_equal(torch_pieces(uniforms, replicates, instances, "cpu").numpy(), pieces)


@given(st.lists(st.integers(1, 13), min_size=1, max_size=6), st.integers(0, 20))
def test_cuts_do_not_change_the_numbers(lengths, start):
    uniforms = Uniforms(as_seed(7))
    whole = uniforms.draw(slice(2, 5), slice(start, start + sum(lengths)))
    cuts = np.concatenate([[0], np.cumsum(lengths)]) + start
    parts = [uniforms.draw(slice(2, 5), slice(int(a), int(b))) for a, b in itertools.pairwise(cuts)]
    assert np.array_equal(np.concatenate(parts, axis=1), whole)
    rows = [uniforms.draw(slice(r, r + 1), slice(start, start + sum(lengths))) for r in (4, 2, 3)]
    assert np.array_equal(np.concatenate(rows)[[1, 2, 0]], whole)


def test_threads_do_not_share_a_counter():
    uniforms = Uniforms(as_seed(3))
    expected = [uniforms.draw(slice(r, r + 1), slice(0, 500)) for r in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda r: uniforms.draw(slice(r, r + 1), slice(0, 500)), range(40)))
    assert np.array_equal(np.concatenate(found), np.concatenate(expected))


def test_streams_replicates_and_seeds_differ():
    blocks = [
        Uniforms(as_seed(seed), stream).draw(slice(r, r + 1), slice(0, 8))
        for seed, stream, r in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    ]
    assert len(np.unique(np.concatenate(blocks))) == 32


def test_uniforms_look_uniform():
    drawn = Uniforms(as_seed(11)).draw(slice(0, 20), slice(0, 5000))
    assert 0 <= drawn.min() < 1e-4
    assert 1 - 1e-4 < drawn.max() < 1
    # the mean of 100 000 uniforms has standard error sqrt(1/12/1e5) = 0.00091; four of them
    assert abs(drawn.mean() - 0.5) < 0.0037


def test_block_comes_back_in_the_library_of_the_reference(library):
    sample = Uniforms(as_seed(5)).draw(slice(0, 2), slice(3, 8), library.asarray([0.0]))
    assert library.owns(sample)
    assert np.array_equal(read(sample), Uniforms(as_seed(5)).draw(slice(0, 2), slice(3, 8)))


def test_seeds():
    assert as_seed(7) == as_seed(np.int64(7)) == as_seed(np.random.SeedSequence(7))
    assert as_seed(7) != as_seed(8)
    assert as_seed((3, 2**64 - 1)) == (3, 2**64 - 1)
    assert as_seed(None) != as_seed(None)
    # a Generator moves on: two tests with one generator are independent
    generator = np.random.default_rng(1)
    assert as_seed(generator) != as_seed(generator)
    assert as_seed(np.random.default_rng(1)) == as_seed(np.random.default_rng(1))


def test_seeds_are_what_default_rng_takes() -> None:
    assert as_seed([1, 2, 3]) == as_seed((1, 2, 3)) == as_seed(np.array([1, 2, 3]))
    assert as_seed([1, 2, 3]) == as_seed(np.random.SeedSequence([1, 2, 3])) != as_seed([1, 2, 4])
    assert as_seed((2**64, 0)) == as_seed(np.random.SeedSequence([2**64, 0]))
    assert as_seed(np.random.PCG64(1)) == as_seed(np.random.default_rng(1))
    bits = np.random.PCG64(1)
    assert as_seed(bits) != as_seed(bits)  # it moves on, as a Generator does
    assert as_seed(np.random.RandomState(0)) == as_seed(np.random.RandomState(0))


@pytest.mark.parametrize("name", ["seed", "random_state"])
def test_the_names_of_other_packages_are_answered(name: str) -> None:
    with pytest.raises(cr.InputTypeError, match=f"`{name}` of `calibration_test` is called `rng` here"):
        cr.calibration_test([[0.5, 0.5]], [0], **{name: 7})


def test_every_public_function_that_draws_answers_them() -> None:
    drawing = [
        one
        for _, one in public_objects(cr)
        if inspect.isfunction(one) and "rng" in inspect.signature(one).parameters
    ]
    assert len(drawing) > 25
    for one in drawing:
        with pytest.raises(cr.InputTypeError, match="Use `rng=7`"):
            one(seed=7)


@pytest.mark.parametrize(
    "rng",
    [-1, 1.5, "7", True, (1, 2.0), (True, 1), (-1, 1), [], np.array([1.0, 2.0]), object()],
)
def test_wrong_seeds(rng):
    with pytest.raises(cr.InputTypeError, match="`rng` must be None, a non-negative int"):
        as_seed(rng)


@pytest.mark.parametrize("chance", [1e-9, 0.3, 0.9, 1 - 2**-53])
def test_below_a_chance_are_the_uniforms_that_are(chance: float) -> None:
    uniforms, replicates, n = Uniforms((3, 4), Stream.COINS), slice(2, 4), 2**15 + 7
    expected = uniforms.draw(replicates, slice(0, n)) < chance
    assert np.array_equal(uniforms.below(chance, replicates, n), expected)


def test_uniforms_at_addresses_are_those_that_are_filled_in_order() -> None:
    rng = np.random.default_rng(0)
    replicates, instances = rng.integers(2**40, size=50), rng.integers(2**40, size=50)
    uniforms, values = Uniforms((2**64 - 5, 3), Stream.RESTS), np.empty(1)
    found = uniforms.at(replicates, instances)
    for at in range(50):
        uniforms.fill(values, int(replicates[at]), int(instances[at]))
        assert found[at] == values[0]
