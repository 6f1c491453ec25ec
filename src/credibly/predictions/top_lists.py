"""Bounds of options of which only the most probable are listed.

Listed options are exact. Of u others, which share the rest r, none exceeds the smallest listed number s:

    c = min(r, s),    max(0, r - (u - 1) c) <= p_j <= c

If other tokens may hold a part of the rest, the options are taken given that one of them is chosen. With L
the sum of the listed options, their total lies between L and L + min(u c, r), and

    p_i / (L + min(u c, r)) <= P(i | an option) <= p_i / L,    0 <= P(j | an option) <= c / (L + c)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import as_array, require_rows, require_shape
from credibly._arrays.errors import require
from credibly._arrays.namespace import HostArray, to_host

_ROUNDING = 1e-3
"""By how much listed probabilities may exceed 1: services compute them in half precision."""
ENOUGH = 0.02
"""Unlisted probability, on average, that hardly widens a set."""
MOSTLY = 0.5
"""Unlisted probability, on average, beyond which finding no conflict says nothing."""


def bounds_of_lists(logprobs: Any, others: Any) -> tuple[HostArray, HostArray, HostArray]:
    """Return lower and upper probabilities (n, k) of options, and what is listed, (n, 4)."""
    logs = to_host(as_array(logprobs, "logprobs", "Give an array (n, k) with NaN for unlisted options."))
    require_shape(logs, "logprobs", "(n, k)")
    logs = logs.astype(np.float64)
    aside = np.zeros(len(logs)) if others is None else to_host(as_array(others, "others")).astype(np.float64)
    require(aside.shape == (len(logs),), "must have shape (n,)", "Give one number per row.", others=aside)
    require_rows(
        (aside,),
        lambda rows: ~((rows >= 0) & (rows <= 1 + _ROUNDING)),
        name="others",
        rule="must lie between 0 and 1",
        fact=lambda value: f"is {value:.6g}",
        remedy="Give the sum of the probabilities of listed tokens that are no option.",
    )
    require_rows(
        (logs,),
        lambda rows: rows > np.log1p(_ROUNDING),
        name="logprobs",
        rule="must be logarithms of probabilities, at most 0",
        fact=lambda row: f"has {np.nanmax(row):.6g}",
        remedy="Give natural logarithms; for probabilities use `numpy.log(probs)`.",
    )
    absent, unlisted = np.isneginf(logs), np.isnan(logs)
    known = np.where(absent | unlisted, 0.0, np.exp(np.where(absent | unlisted, 0.0, logs)))
    listed, u = known.sum(axis=1), unlisted.sum(axis=1)
    require_rows(
        (listed + aside, absent.all(axis=1)),
        lambda total, empty: (total > 1 + _ROUNDING) | empty,
        name="logprobs",
        rule="must be those of one distribution over at least one option",
        fact=lambda total, empty: "has no option" if empty else f"has probabilities that sum to {total:.6g}",
        remedy="Check that each option is listed once.",
    )
    if others is None:
        require_rows(
            (listed, u),
            lambda total, number: (number == 0) & (total < 1 - _ROUNDING),
            name="logprobs",
            rule="must sum to 1 if all options are listed",
            fact=lambda total, number: f"sums to {total:.6g}",
            remedy="Give `others=`, the listed probability of tokens that are no option.",
        )
    rest = np.clip(1.0 - listed - aside, 0.0, 1.0)
    least_listed = np.where(absent | unlisted, np.inf, known).min(axis=1)
    if others is None:
        require_rows(
            (rest, np.maximum(u, 1), least_listed),
            lambda left, number, most: (left > _ROUNDING) & (left > number * most + _ROUNDING),
            name="logprobs",
            rule="must list the most probable options",
            fact=lambda left, number, most: (
                f"leaves {left:.3g} for {number} unlisted, of at most {most:.3g} each"
            ),
            remedy="List the more probable options, or give `others=`.",
        )
    cap = np.minimum(rest, least_listed)
    with np.errstate(invalid="ignore", divide="ignore"):
        if others is None:
            total = np.where(u == 0, listed, np.maximum(listed, 1.0))  # sums off by rounding alone
            exact = known / total[:, None]
            low = np.clip(rest - (u - 1) * cap, 0.0, cap)
            ends = (exact, exact, low, cap)
        else:
            most = listed + np.minimum(u * cap, rest)
            highest = np.where(cap > 0, cap / (listed + cap), 0.0)
            ends = (known / most[:, None], known / listed[:, None], np.zeros(len(logs)), highest)
    lower = np.where(unlisted, ends[2][:, None], np.where(absent, 0.0, ends[0]))
    upper = np.where(unlisted, ends[3][:, None], np.where(absent, 0.0, ends[1]))
    nothing = ~((known > 0).any(axis=1))  # no option is listed: everything is possible
    lower[nothing] = 0.0
    upper[nothing] = np.where(absent[nothing], 0.0, 1.0)
    lower, upper = np.nan_to_num(lower), np.minimum(upper, 1.0)
    middle = np.where(unlisted, -1.0, 0.5 * (lower + upper))  # exact, but for tokens that are no option
    middle[nothing] = 0.0
    listed = np.stack([middle.argmax(axis=1), middle.max(axis=1), u, np.where(u > 0, rest, 0.0)], axis=1)
    listed[nothing, 3] = 1.0
    return lower, upper, listed


def note_of_lists(listed: HostArray) -> str:
    """Say how many rows are complete, how much the others leave open, and how many more would help."""
    u, left = listed[:, 2], listed[:, 3]
    if not left.any():
        return f"all options of all {len(u)} rows are listed"
    empty, more = int((listed[:, 1] == 0).sum()), more_options(listed)
    text = (
        f"{int((u > 0).sum())} of {len(u)} rows list only some of their options and leave "
        f"{100 * float(left.mean()):.2g} % of the probability open: these rows are sets, not points"
    )
    text += f"; {empty} list none, so everything is possible there" if empty else ""
    return (
        text if more is None else f"{text}; listing {more} more would leave at most {100 * ENOUGH:g} % open"
    )


def more_options(listed: HostArray) -> int | None:
    """Return how many more listed options would leave little open; None where little is.

    The t most probable of u unlisted options hold at least t / u of the rest.
    """
    u, left = listed[:, 2], listed[:, 3]
    if float(left.mean()) <= ENOUGH:
        return None
    shares = ((more, np.clip(1.0 - more / np.maximum(u, 1), 0.0, 1.0)) for more in range(1, int(u.max()) + 1))
    return next((more for more, share in shares if float((left * share).mean()) <= ENOUGH), None)


def is_open(listed: HostArray) -> bool:
    """Tell whether lists leave most of the probability open, so that nearly any labels fit."""
    return float(listed[:, 3].mean()) > MOSTLY
