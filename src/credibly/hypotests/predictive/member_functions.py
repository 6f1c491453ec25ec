"""Functions drawn from members, with the band of all of them together.   P21 Figs. 4 and 10."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import is_array, to_host
from credibly._arrays.philox import as_seed, takes_rng
from credibly.hypotests.predictive.outcomes import has_members
from credibly.predictions import (
    Gaussian,
    Samples,
    as_labels,
    as_predictions,
)
from credibly.predictions.passes import without_graph
from credibly.results.base import require_level
from credibly.results.curves import MemberFunctions


@takes_rng
def member_functions(
    predictions: Any,
    labels: Any = None,
    *,
    x: Any,
    n_functions: int = 6,
    level: float = 0.9,
    rng: Any = None,
) -> MemberFunctions:
    """Draw members and return what each predicts along a feature, with the band of all members together.

    Parameters
    ----------
    predictions : Gaussian (n, m) or Samples (n, m, s)
        Predictions with members.
    labels : array (n,), optional
        What was observed.
    x : array (n,)
        One feature of every instance.
    n_functions : int
        Members to draw, without replacement, by weight if they have weights.
    level : float
        Stated coverage of the intervals.
    rng : None, int or Generator
        Seed.

    Returns
    -------
    MemberFunctions
        Everything in the order of `x`.

    References
    ----------
    Gopal, *Why calibration error is wrong given model uncertainty*, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> lines = cr.Gaussian([[-1.0, 1.0], [-2.0, 2.0], [-3.0, 3.0]], np.ones((3, 2)))
    >>> cr.hypotests.member_functions(lines, x=[1.0, 2.0, 3.0], n_functions=2, rng=0).centre.tolist()
    [[-1.0, 1.0], [-2.0, 2.0], [-3.0, 3.0]]
    """
    given = without_graph(as_predictions(predictions))
    require_level(level)
    if not isinstance(given, (Gaussian, Samples)) or not has_members(given):
        raise InputTypeError(
            "`member_functions`",
            "needs real-valued predictions with members, and one weight per member if these have weights",
            f"got {given!r}",
            "Pass a Gaussian (n, m) or Samples (n, m, s).",
        )
    if isinstance(n_functions, bool) or not isinstance(n_functions, (int, np.integer)) or n_functions < 1:
        raise InputError("`n_functions`", "must be a positive integer", f"got {n_functions!r}", "Try 6.")
    feature = np.asarray(to_host(x) if is_array(x) else x, dtype=np.float64)
    if feature.shape != (len(given),) or not np.isfinite(feature).all():
        raise InputError(
            "`x`",
            f"must be {len(given)} finite numbers, one per instance",
            f"got shape {feature.shape}"
            + (" with NaN or infinite values" if feature.shape == (len(given),) else ""),
            "Give one feature of the same instances.",
        )
    generator = np.random.default_rng(as_seed(rng))
    m = given.n_members
    weights = given.shares if isinstance(given, Gaussian) else None
    shares = None if weights is None else to_host(weights)[0]
    members = np.sort(generator.choice(m, size=min(n_functions, m), replace=False, p=shares))
    order = np.argsort(feature, kind="stable")
    levels = [(1 - level) / 2, (1 + level) / 2, 0.5]
    total = to_host(given.quantile(levels[:2]))[order]
    own = np.stack([to_host(_member(given, int(j)).quantile(levels))[order] for j in members], axis=1)
    seen = None
    if labels is not None:
        batch = as_labels(given, labels)
        seen = to_host(batch.values)[0][order]
    return MemberFunctions(
        x=feature[order],
        members=members,
        centre=own[:, :, 2],
        low=own[:, :, 0],
        high=own[:, :, 1],
        total_low=total[:, 0],
        total_high=total[:, 1],
        level=float(level),
        labels=seen,
    )


def _member(predictions: Gaussian | Samples, member: int) -> Gaussian | Samples:
    """Return the predictions of one member."""
    if isinstance(predictions, Gaussian):
        return Gaussian(predictions.mean[:, member], predictions.std[:, member])
    return Samples(predictions.values[:, member, :], member_axis=1)
