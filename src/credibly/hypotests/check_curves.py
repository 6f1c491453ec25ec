"""Coverage by level with what the model expects of it, and functions drawn from members.

P21 Figs. 4 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.check_curves import CoverageCurve, MemberFunctions
from credibly._arrays.errors import InputError, InputTypeError, one_of
from credibly._arrays.namespace import is_array, to_host
from credibly._arrays.philox import as_seed
from credibly._arrays.results import require_level
from credibly._arrays.tiles import tiles
from credibly.hypotests.calibration import require_drawable, require_resamples
from credibly.hypotests.limits import has_members, require_hypothesis
from credibly.hypotests.members import LabelSource, drawn_members
from credibly.hypotests.resampling import replicates_per_tile, with_observed, without_graph
from credibly.predictions import (
    Gaussian,
    Predictions,
    RealPredictions,
    Reals,
    Samples,
    as_labels,
    as_predictions,
    require_order,
)
from credibly.statistics.coverage import QuantileErrorBound, quantile_calibration_error

HostArray = np.ndarray[Any, Any]

_LEVELS = tuple(j / 20 for j in range(1, 20))


def coverage_curve(
    predictions: Any,
    labels: Any,
    *,
    hypothesis: Literal["bayesian", "independent"] = "independent",
    levels: Sequence[float] = _LEVELS,
    band_level: float = 0.95,
    n_resamples: int = 999,
    rng: Any = None,
) -> CoverageCurve:
    """Compare the share of labels inside central intervals with their levels and with replicates.

    Parameters
    ----------
    predictions : Gaussian, Samples or Quantiles
        Real-valued predictions; `Quantiles` need the ends of every interval among their levels unless dense.
    labels : array (n,)
        What was observed.
    hypothesis : {"bayesian", "independent"}
        How labels behind the band are drawn, see `predictive_check`.
    levels : sequence of float
        Levels of the intervals, increasing, strictly between 0 and 1.
    band_level : float
        Coverage of the band at each level by itself.
    n_resamples : int
        Replicates behind the band.
    rng : None, int or Generator
        Seed.

    Returns
    -------
    CoverageCurve
        Levels, observed shares and the band.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> labels = np.random.default_rng(0).normal(size=200)
    >>> too_wide = cr.Gaussian(np.zeros(200), np.full(200, 2.0))
    >>> curve = cr.coverage_curve(too_wide, labels, levels=[0.5], rng=0)
    >>> bool(curve.observed[0] > curve.band[1][0])
    True
    """
    one_of("`hypothesis`", hypothesis, ("bayesian", "independent"))
    require_level(band_level)
    require_resamples(n_resamples)
    require_order(predictions, labels)
    given = without_graph(as_predictions(predictions))
    _require_real(given, "`coverage_curve`")
    require_hypothesis(given, hypothesis)
    asked = tuple(float(level) for level in levels)
    if not asked or any(not 0 < level < 1 for level in asked) or list(asked) != sorted(set(asked)):
        raise InputError(
            "`levels`",
            "must be increasing numbers strictly between 0 and 1",
            f"got {levels!r}",
            "Write [0.5, 0.9] for two intervals.",
        )
    observed = as_labels(given, labels)
    assert isinstance(observed, Reals)
    ends = sorted({round(end, 12) for level in asked for end in _ends(level)})
    bound = quantile_calibration_error.with_(levels=tuple(ends)).bind(given)
    assert isinstance(bound, QuantileErrorBound)
    require_drawable(given, [bound])
    seed = as_seed(rng)
    members = drawn_members(given, seed, n_resamples) if hypothesis == "bayesian" else None
    drawing = LabelSource(given, hypothesis, seed, members).part(slice(0, len(given)))
    low, high = ([ends.index(round(_ends(level)[side], 12)) for level in asked] for side in (0, 1))
    shares = []
    for reps in tiles(n_resamples, replicates_per_tile(len(given), drawing)):
        below = to_host(bound.shares(bound.state(with_observed(observed, drawing, reps))))
        shares.append(below[:, high] - below[:, low])
    drawn = np.concatenate(shares)
    half = (1 - band_level) / 2
    lower, upper = np.quantile(drawn[1:], [half, 1 - half], axis=0)
    return CoverageCurve(
        levels=np.array(asked),
        observed=drawn[0],
        band=(lower, upper),
        band_level=float(band_level),
        hypothesis=hypothesis,
        n=len(given),
        n_resamples=int(n_resamples),
    )


def _ends(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def member_functions(
    predictions: Any,
    x: Any,
    labels: Any = None,
    *,
    n_functions: int = 6,
    level: float = 0.9,
    rng: Any = None,
) -> MemberFunctions:
    """Draw members and return what each predicts along a feature, beside the band of all together.

    Parameters
    ----------
    predictions : Gaussian (n, m) or Samples (n, m, s)
        Predictions with members.
    x : array (n,)
        One feature of every instance.
    labels : array (n,), optional
        What was observed.
    n_functions : int
        Members to draw, without replacement.
    level : float
        Probability that the intervals are said to hold.
    rng : None, int or Generator
        Seed.

    Returns
    -------
    MemberFunctions
        Everything in the order of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> lines = cr.Gaussian([[-1.0, 1.0], [-2.0, 2.0]], np.ones((2, 2)))
    >>> cr.member_functions(lines, [1.0, 2.0], n_functions=2, rng=0).centre.tolist()
    [[-1.0, 1.0], [-2.0, 2.0]]
    """
    given = without_graph(as_predictions(predictions))
    _require_real(given, "`member_functions`")
    require_level(level)
    if not has_members(given):
        raise InputTypeError(
            "`member_functions`",
            "needs members",
            f"got {type(given).__name__} without",
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
            + (" with NaN or infinite" if feature.shape == (len(given),) else ""),
            "Give one feature of the same instances.",
        )
    generator = np.random.default_rng(as_seed(rng))
    m = given.n_members
    members = np.sort(generator.choice(m, size=min(n_functions, m), replace=False))
    order = np.argsort(feature, kind="stable")
    levels = [*_ends(level), 0.5]
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


def _member(predictions: Predictions, member: int) -> RealPredictions:
    """Return the predictions of one member."""
    if isinstance(predictions, Gaussian):
        return Gaussian(predictions.mean[:, member], predictions.std[:, member])
    assert isinstance(predictions, Samples)
    return Samples(predictions.values[:, member, :])


def _require_real(predictions: Predictions, what: str) -> None:
    if not isinstance(predictions, RealPredictions):
        raise InputTypeError(
            what, "needs real-valued predictions", f"got {type(predictions).__name__}", "Use Gaussian, say."
        )
