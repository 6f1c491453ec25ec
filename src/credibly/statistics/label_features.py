"""Labels as vectors: a Gaussian kernel on real labels as an inner product of cosines and sines.

    l(y, y') = exp(-(y - y')^2 / (2 c^2)) = <f(y), f(y')>

f holds the cosines and sines of its Fourier integral. The trapezoidal rule over J frequencies is exact to
rounding once the period is longer than the range of the labels by eight bandwidths, and expectations under
mixtures of normal distributions have a closed form.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    clip,
    is_numpy,
    like,
    namespace,
    tiles,
)
from credibly.predictions.regression import over_members
from credibly.statistics.kernels import as_number

_REACH, _REACH_SINGLE = 8.0, 5.5
"""Bandwidths, and standard normal frequencies, beyond which the Gaussian kernel is 0 to rounding."""
_MOST_NODES = 1024


@dataclasses.dataclass(frozen=True)
class LabelFeatures:
    """The Gaussian kernel on labels as an inner product of `width` numbers.

    Labels outside [low, high] count as if they were at its ends.

    Attributes
    ----------
    bandwidth : float or array
        Standard deviation of the kernel.
    low, high : float
        Range of the labels.
    step : float
        Distance of the frequencies, in units of 1 / bandwidth.
    nodes : int
        Number of frequencies.
    mirrored : bool
        Whether the kernel is g(y - y') + g(y + y') / 2, for ranges around 0.
    """

    bandwidth: Any
    low: float
    high: float
    step: float
    nodes: int
    mirrored: bool = False

    @classmethod
    def over(
        cls, bandwidth: Any, low: float, high: float, *, single: bool, mirrored: bool = False
    ) -> LabelFeatures:
        """Choose frequencies for labels between `low` and `high`."""
        reach = _REACH_SINGLE if single else _REACH
        period = (high - low) / as_number(bandwidth) + reach
        nodes = min(_MOST_NODES, max(1, math.ceil(reach * period / (2.0 * math.pi))))
        # beyond the largest number of frequencies the kernel repeats, and is a kernel still
        step = 2.0 * math.pi / period if nodes < _MOST_NODES else reach / nodes
        return cls(bandwidth, low, high, step, nodes, mirrored)

    @property
    def width(self) -> int:
        """Numbers per label; the constant term is the same for all labels and left out."""
        return 2 * self.nodes

    def _amplitudes(self) -> tuple[HostArray, HostArray]:
        """Return the amplitudes of cosines and of sines."""
        at = self.step * np.arange(1, self.nodes + 1)
        amplitudes: HostArray = np.sqrt(2.0 * self.step / math.sqrt(2.0 * math.pi) * np.exp(-0.5 * at * at))
        if not self.mirrored:
            return amplitudes, amplitudes
        # cos u cos v + sin u sin v = cos(u - v), and with a minus sign cos(u + v), of which half is added
        return amplitudes * math.sqrt(1.5), amplitudes * math.sqrt(0.5)

    def _angle(self, values: Array) -> Array:
        return (values - 0.5 * (self.low + self.high)) * (self.step / self.bandwidth)

    def of(self, values: Array) -> Array:
        """Return f of labels (b, n), (b, width, n)."""
        xp = namespace(values)
        angle = self._angle(clip(as_float64(values), self.low, self.high))
        cosine, sine = xp.cos(angle), xp.sin(angle)
        of_cosines, of_sines = self._amplitudes()
        if not is_numpy(angle):
            both = like(np.concatenate([of_cosines, of_sines]), angle)[None, :, None]
            c, s = cosine[:, None, :], sine[:, None, :]
            while (done := c.shape[1]) < self.nodes:  # up to twice as many multiples of the angle
                more, last_c, last_s = min(done, self.nodes - done), c[:, -1:, :], s[:, -1:, :]
                first_c, first_s = c[:, :more, :], s[:, :more, :]
                c = xp.concat([c, first_c * last_c - first_s * last_s], axis=1)
                s = xp.concat([s, first_s * last_c + first_c * last_s], axis=1)
            return xp.concat([c, s], axis=1) * both
        out = np.empty((angle.shape[0], self.width, angle.shape[1]))
        c, s = cosine, sine
        for j, (of_cosine, of_sine) in enumerate(zip(of_cosines.tolist(), of_sines.tolist(), strict=True)):
            if j:  # the next multiple of the angle, without another cosine
                c, s = c * cosine - s * sine, s * cosine + c * sine
            np.multiply(c, of_cosine, out=out[:, j, :])
            np.multiply(s, of_sine, out=out[:, self.nodes + j, :])
        return out

    def mean_over(self, values: Array) -> Array:
        """Return the mean of f over numbers (n, p), (n, width)."""
        xp, (n, p) = namespace(values), values.shape
        total: Any = 0.0
        for tile in tiles(p, max(1, CACHE_ELEMENTS // (self.width * n))):
            total = total + xp.sum(self.of(values[:, tile].T), axis=0)
        return total.T / p

    def expected(self, mean: Array, std: Array, shares: Array | None = None) -> Array:
        """Return E f under mixtures of normal members (n, m) with shares (1 or n, m), (n, width)."""
        xp = namespace(mean)
        angle = self._angle(mean)[:, :, None]
        spread = (std * (self.step / self.bandwidth))[:, :, None]
        of_cosines, of_sines = self._amplitudes()
        cosines, sines = [], []
        for tile in tiles(self.nodes, max(1, CACHE_ELEMENTS // max(1, angle.shape[0] * angle.shape[1]))):
            at = like(np.arange(tile.start + 1.0, tile.stop + 1.0), mean)
            damped = xp.exp(-0.5 * (at * spread) ** 2)
            cosines.append(like(of_cosines[tile], mean) * over_members(damped * xp.cos(at * angle), shares))
            sines.append(like(of_sines[tile], mean) * over_members(damped * xp.sin(at * angle), shares))
        return xp.concat([*cosines, *sines], axis=1)
