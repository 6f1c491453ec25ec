"""Special functions the array API standard lacks, for NumPy and torch; others go through the host."""

from __future__ import annotations

from collections.abc import Callable

import scipy.special

from credibly._arrays.namespace import Array, is_numpy, is_torch, like, namespace, to_host


def _dispatch(name: str, torch_name: str | None = None) -> Callable[..., Array]:
    on_host = getattr(scipy.special, name)

    def function(*arrays: Array) -> Array:
        first = arrays[0]
        if is_numpy(first):
            return on_host(*arrays)
        if is_torch(first):
            import torch

            return getattr(torch.special, torch_name or name)(*arrays)
        return like(on_host(*(to_host(array) for array in arrays)), first)

    function.__name__ = name
    function.__doc__ = f"``scipy.special.{name}`` for arrays of any supported library."
    return function


gammaln = _dispatch("gammaln")
digamma = _dispatch("digamma")
xlogy = _dispatch("xlogy")
ndtr = _dispatch("ndtr")
ndtri = _dispatch("ndtri")


def logsumexp(values: Array, axis: int = -1) -> Array:
    """Log sum exp along `axis`, shifted by the maximum; -inf rows stay -inf."""
    xp = namespace(values)
    top = xp.max(values, axis=axis, keepdims=True)
    shift = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    total = xp.sum(xp.exp(values - shift), axis=axis, keepdims=True)
    positive = total > 0
    log = xp.log(xp.where(positive, total, xp.ones_like(total))) + shift
    return xp.squeeze(xp.where(positive, log, top), axis=axis)


def softmax(values: Array, axis: int = -1) -> Array:
    """exp(z) / sum exp(z) along `axis`, shifted by the maximum."""
    xp = namespace(values)
    top = xp.max(values, axis=axis, keepdims=True)
    # Halves cannot overflow where the difference of huge logits would; exp(-800) is 0 in every precision.
    weights = xp.exp(2.0 * xp.clip(values / 2.0 - top / 2.0, -400.0, 0.0))
    return weights / xp.sum(weights, axis=axis, keepdims=True)
