"""Counter-based uniforms: u[d, i] depends on seed, stream, replicate d and instance i only.

Philox 4x64-10 (Salmon et al. 2011). On the host NumPy's own generator is positioned at the counter; on
a device the same integers are computed there, so a seed means the same numbers everywhere and no tile
size, worker count or device can change a p-value.
"""

from __future__ import annotations

import enum
import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np

from credibly._arrays.doors import checked
from credibly._arrays.errors import InputTypeError, Remedy, is_whole
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    Namespace,
    like,
    namespace,
    on_accelerator,
    tiles,
)

_WORDS = 4  # 64-bit outputs per counter value
_PIECES = 16  # 16-bit pieces per counter value
_DOUBLE = 2.0**-53

PHILOX_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
PHILOX_KEYS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
"""What counters are multiplied by in a round, and what is added to the key after it."""

Seed = tuple[int, int]


@enum.unique
class Stream(enum.IntEnum):
    """Independent sequences under one seed: whoever draws something else has a number of its own."""

    PIECES = 0  # of uniforms that choose labels: their first 16 bits
    RESTS = 1  # ... and the rest, where 16 bits do not decide
    ROWS = 2  # bootstrapped rows
    MEMBERS = 3  # which member a replicate comes from
    CHOICES = 4  # raters' labels
    SIGNS = 5  # of wild replicates
    SUBSAMPLE = 6  # rows of a part of large data
    EVENTS = 7  # random events of a non-specificity
    SHIFTS = 8  # ... and shifts of their order
    RATERS = 9  # whose label stands for all of an instance
    FOLDS = 12
    WEIGHTS = 13  # starts of a search for weights
    NETWORKS = 14  # first weights and mini-batches
    MODELS = 16  # rows drawn to compare models
    ORDERS = 17  # of instances that a witness learns from
    MIXTURE = 19  # which draws of several members stand for their mixture
    COINS = 20  # whether a set holds its label
    SECOND_LABELS = 21  # several labels of one instance, from one distribution


def as_seed(rng: Any) -> Seed:
    """Turn what `numpy.random.default_rng` takes into a 128-bit key; a pair of words is a key already."""
    if isinstance(rng, (tuple, list)) and len(rng) == 2 and all(_is_seed(a) and a < 2**64 for a in rng):
        return int(rng[0]), int(rng[1])  # the seed of an earlier result
    if isinstance(rng, np.random.RandomState):
        rng = rng._bit_generator  # which `default_rng` takes in every version of NumPy
    if isinstance(rng, (np.random.Generator, np.random.BitGenerator)):
        words = np.random.default_rng(rng).integers(0, 2**64, size=2, dtype=np.uint64, endpoint=False)
        return int(words[0]), int(words[1])
    if isinstance(rng, np.random.SeedSequence):
        sequence = rng
    elif rng is None or _is_seed(rng):
        sequence = np.random.SeedSequence(None if rng is None else int(rng))
    elif _is_sequence(rng) and len(rng) and all(map(_is_seed, rng)):
        sequence = np.random.SeedSequence([int(word) for word in rng])
    else:
        raise InputTypeError(
            "`rng`",
            "must be None, a non-negative int or several, or a numpy SeedSequence, BitGenerator or Generator",
            f"got {rng!r}",
            Remedy("Use `rng=7`, or `rng=numpy.random.default_rng(7)`.", "Use `rng=7`."),
        )
    state = sequence.generate_state(2, np.uint64)
    return int(state[0]), int(state[1])


def _is_sequence(rng: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(rng, (tuple, list)) or (isinstance(rng, np.ndarray) and rng.ndim == 1)


def _is_seed(value: Any) -> bool:
    return is_whole(value) and value >= 0


P = ParamSpec("P")
T = TypeVar("T")


def takes_rng(function: Callable[P, T]) -> Callable[P, T]:
    """Answer `seed=` and `random_state=`, as other packages call it, with the name that is used here.

    The other arguments meet the one check of their types here as well, so that a call passes one door.
    """
    inside = checked(function)

    @functools.wraps(function)
    def answering(*args: P.args, **settings: P.kwargs) -> T:
        for name in ("seed", "random_state"):
            if name in settings:
                raise InputTypeError(
                    f"`{name}` of `{function.__qualname__.removesuffix('.__init__')}`",
                    "is called `rng` here",
                    f"got {name}={settings[name]!r}",
                    f"Use `rng={settings[name]!r}`.",
                )
        return inside(*args, **settings)

    return answering


def made_with_rng(kind: type[T]) -> type[T]:
    """Answer `seed=` and `random_state=` likewise where a class takes `rng`."""
    kind.__init__ = takes_rng(kind.__init__)  # type: ignore[method-assign]
    return kind


class Uniforms:
    """Uniform numbers on [0, 1) addressed by (replicate, instance).

    Parameters
    ----------
    seed : tuple of int
        The key, from :func:`as_seed`.
    stream : Stream
        Independent sequences under one seed (labels, members, ties) have different numbers.
    """

    def __init__(self, seed: Seed, stream: Stream = Stream.PIECES) -> None:
        self.seed, self.stream = seed, stream
        self._local = threading.local()

    def _generator(self) -> tuple[np.random.Philox, np.random.Generator, Any]:
        """Return this thread's generator: seeking moves its counter, so threads cannot share one."""
        local = self._local
        if not hasattr(local, "bits"):
            local.bits = np.random.Philox(key=np.array(self.seed, dtype=np.uint64))
            local.generator, local.state = np.random.Generator(local.bits), local.bits.state
            local.state["state"]["counter"][:] = (0, 0, self.stream, 0)
            local.state["buffer_pos"] = _WORDS
        return local.bits, local.generator, local.state

    def fill(self, out: np.ndarray[Any, Any], replicate: int, start: int) -> None:
        """Write u[replicate + j, start : start + n] into row j of `out`, (n,) or (r, n), float64."""
        bits, generator, state = self._generator()
        block, lead = divmod(start, _WORDS)
        for number, row in enumerate(np.atleast_2d(out), replicate):
            state["state"]["counter"][:2] = (block, number)
            bits.state = state
            if lead:
                bits.random_raw(lead)
            generator.random(out=row)

    def fill_pieces(self, out: np.ndarray[Any, Any], replicate: int, start: int) -> None:
        """Write the 16-bit integers at the same places into `out`: a quarter of the cost of `fill`."""
        bits, _, state = self._generator()
        block, lead = divmod(start, _PIECES)
        rows = np.atleast_2d(out)
        end = lead + rows.shape[1]
        for number, row in enumerate(rows, replicate):
            state["state"]["counter"][:2] = (block, number)
            bits.state = state
            row[:] = bits.random_raw(-(-end // 4)).astype("<u8", copy=False).view("<u2")[lead:end]

    def below(self, chance: float, replicates: slice, n: int) -> HostArray:
        """Return whether u[replicates, :n] is below a chance, (r, n): `fill`, compared as whole numbers."""
        limit = math.ceil(chance * 2**53) << 11  # a uniform is the first 53 bits of 64
        out = np.empty((replicates.stop - replicates.start, n), dtype=bool)
        bits, _, state = self._generator()
        for number, row in enumerate(out, replicates.start):
            state["state"]["counter"][:2] = (0, number)
            bits.state = state
            for tile in tiles(n, CACHE_ELEMENTS):
                np.less(bits.random_raw(tile.stop - tile.start), limit, out=row[tile])
        return out

    def at(self, replicates: Array, instances: Array) -> Array:
        """Return u at addresses (t,) of 64 bits, all at once, where `fill` would seek one after the other."""
        xp = namespace(instances)
        # NumPy counts before it draws
        words = _philox(xp, self.seed, self.stream, instances // _WORDS + 1, replicates)
        chosen = xp.take_along_axis(words, (instances % _WORDS)[:, None], axis=1)[:, 0]
        return xp.astype(_shift(chosen, 11), xp.float64) * _DOUBLE

    def draw(self, replicates: slice, instances: slice, reference: Array | None = None) -> Array:
        """Return u[replicates, instances] in the library and on the device of `reference`."""
        if reference is not None and on_accelerator(reference):
            raw = _torch_words(self.seed, self.stream, replicates, instances, _WORDS, reference.device)
            lead, n = instances.start % _WORDS, instances.stop - instances.start
            return _shift(raw[:, lead : lead + n], 11).double() * _DOUBLE
        out = np.empty((replicates.stop - replicates.start, instances.stop - instances.start))
        self.fill(out, replicates.start, instances.start)
        return out if reference is None else like(out, reference)


def _torch_words(
    seed: Seed, stream: int, replicates: slice, instances: slice, per_block: int, device: Any
) -> Array:
    """Compute the 64-bit words of all blocks that hold `instances` with integer tensors on `device`."""
    import torch

    first, last = instances.start // per_block, -(-instances.stop // per_block)
    # NumPy increments the counter before it produces a block.
    low = torch.arange(first + 1, last + 1, dtype=torch.int64, device=device)[None, :]
    high = torch.arange(replicates.start, replicates.stop, dtype=torch.int64, device=device)[:, None]
    shape = (replicates.stop - replicates.start, last - first)
    return _philox(namespace(low), seed, stream, low.expand(shape), high.expand(shape)).reshape(shape[0], -1)


def _philox(xp: Namespace, seed: Seed, stream: int, low: Array, high: Array) -> Array:
    """Return the four words of every counter (low, high, stream, 0), on a last axis, as signed integers."""
    half = 2**32 - 1  # masked by it, a shift does not extend the sign
    words = np.array([PHILOX_MULTIPLIERS, seed, PHILOX_KEYS], dtype=np.uint64).view(np.int64)
    constants, keys, steps = like(words.reshape(3, 2, *(1,) * low.ndim), low)
    a_low, a_high = constants & half, constants >> 32 & half
    even, odd = xp.stack([low, xp.full_like(low, int(stream))]), xp.stack([high, xp.zeros_like(high)])
    for _ in range(10):
        b_low, b_high = even & half, even >> 32 & half  # the high words of constants * even, by halves
        middle = a_high * b_low + (a_low * b_low >> 32 & half)
        carry = a_low * b_high + (middle & half)
        above = a_high * b_high + (middle >> 32 & half) + (carry >> 32 & half)
        even, odd = xp.flip(above, axis=0) ^ odd ^ keys, xp.flip(constants * even, axis=0)
        keys = keys + steps
    return xp.stack([even[0, ...], odd[0, ...], even[1, ...], odd[1, ...]], axis=-1)


def torch_pieces(uniforms: Uniforms, replicates: slice, instances: slice, device: Any) -> Array:
    """Compute what `fill_pieces` writes, (replicates, instances), on `device` as 32-bit integers."""
    import torch

    words = _torch_words(uniforms.seed, uniforms.stream, replicates, instances, _PIECES, device)
    pieces = torch.stack(
        [(_shift(words, 16 * j) & 0xFFFF) if j else words & 0xFFFF for j in range(4)], dim=-1
    )
    lead = instances.start % _PIECES
    flat = pieces.reshape(words.shape[0], -1).to(torch.int32)
    return flat[:, lead : lead + instances.stop - instances.start]


def signed_word(word: int) -> int:
    """Reinterpret a 64-bit word as the signed_word integer tensors hold."""
    word &= 2**64 - 1
    return word - 2**64 if word >= 2**63 else word


def _shift(values: Array, by: int) -> Array:
    """Shift right without extending the sign."""
    return (values >> by) & (2 ** (64 - by) - 1)
