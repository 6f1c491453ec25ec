"""The predictive check as P21 runs it; functions drawn from members (Figs. 4, 10); the check of one label."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import HostArray, as_float64, is_array, to_host
from credibly._arrays.philox import as_seed, takes_rng
from credibly.evaluation import shown
from credibly.hypotests import predictive_check as library_check
from credibly.hypotests.calibration.pit import rows_with_labels
from credibly.hypotests.predictive.outcomes import has_members
from credibly.plots import Picture, draws, mark
from credibly.plots.drawing import BLUE, ORANGE, SKY, VERMILION, Style
from credibly.plots.pictures import ranges
from credibly.predictions import Gaussian, RealPredictions, Samples, as_labels, as_predictions
from credibly.predictions.passes import without_graph
from credibly.results.base import Result, require_level
from credibly.results.predictive import PredictiveCheck
from credibly.results.tests import CheckDetails, HypotestResult
from credibly.statistics import Statistic
from credibly_studies.paper_settings import as_in

if TYPE_CHECKING:
    pass

_SHADES = (BLUE, ORANGE, SKY, VERMILION)
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))


def predictive_check(
    predictions: Any, labels: Any, *, statistics: Sequence[str | Statistic], **settings: Any
) -> PredictiveCheck:
    """Check statistics with the settings of P21.

    Bins are closed on the right, intervals are those of 95 %, and labels count as strictly below quantiles.
    Eq. 2.3 is printed without the absolute value, without which errors of bins cancel; it is taken here.
    `paper_pvalue`, `is_beyond_replicates` and `is_beyond_quantiles` are the paper's readings of a result.

    Parameters
    ----------
    predictions, labels
        As in :func:`credibly.predictive_check`.
    statistics : sequence of str or Statistic
        Statistics to check.
    **settings
        Everything else that :func:`credibly.predictive_check` takes.

    Returns
    -------
    PredictiveCheck
        Its verdicts are the library's.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> from credibly_studies.p21 import is_beyond_replicates, predictive_check
    >>> given = cr.Gaussian(np.zeros(50), np.ones(50))
    >>> settings = {"statistics": ["picp"], "hypothesis": "independent", "rng": 0}
    >>> is_beyond_replicates(predictive_check(given, np.full(50, 9.0), **settings).checks["picp"])
    True
    """
    return library_check(
        predictions, labels, statistics=[as_in("P21", statistic) for statistic in statistics], **settings
    )


def quantile_error(predictions: Any, labels: Any, *, levels: int = 100) -> float:
    """Return eq. 2.4 as printed: with the level 1, at which F(y) < 1 fails for labels above all draws.

    Parameters
    ----------
    predictions : Samples or array (n, s)
        Draws of every instance.
    labels : array (n,)
        What was observed.
    levels : int
        M: the levels are 1 / M, 2 / M, ..., 1.

    Returns
    -------
    float
        Sum of squared differences; `quantile_calibration_error` with `strict=True` leaves out the level 1,
        which adds nothing for continuous distributions.

    Examples
    --------
    >>> from credibly_studies.p21 import quantile_error
    >>> quantile_error([[0.0, 1.0]], [2.0], levels=2)  # F(y) = 1: below neither 1/2 nor 1
    1.25
    """
    samples = predictions if isinstance(predictions, Samples) else Samples(predictions)
    levels = require_integer(levels, "levels", 1)
    draws = to_host(as_float64(samples.pooled()))
    observed = to_host(as_labels(samples, labels).values)[0]
    shares = (draws <= observed[:, None]).mean(axis=1)
    at = np.arange(1, levels + 1) / levels
    return float(((at - (shares[:, None] < at).mean(axis=0)) ** 2).sum())


def paper_pvalue(result: HypotestResult[CheckDetails]) -> float:
    """Return P21's p: the share of replicates strictly below the observation (its Algorithm 3)."""
    at_least = round(result.details.upper_pvalue * (1 + result.n_resamples)) - 1
    return (result.n_resamples - at_least) / result.n_resamples


def is_beyond_replicates(result: HypotestResult[CheckDetails]) -> bool:
    """Tell whether P21's figures and Table 4 fail a model: its value lies beyond all replicates.

    The paper also words this as p being 0 or 1; a tie with the smallest replicate has p = 0 and is not
    beyond.
    """
    smallest = min(result.details.upper_pvalue, result.details.lower_pvalue)
    return round(smallest * (1 + result.n_resamples)) == 1


def is_beyond_quantiles(result: HypotestResult[CheckDetails]) -> bool:
    """Tell whether P21's Tables 2 and 3 fail a model: beyond the 2.5 % or 97.5 % quantile of replicates."""
    assert result.null_distribution is not None
    low, high = np.quantile(result.null_distribution, [0.025, 0.975], method="inverted_cdf")
    return not low <= result.statistic <= high


@dataclasses.dataclass(frozen=True)
class MemberFunctions(Result):
    """What some members predict along one feature, and the band of all of them together.

    Attributes
    ----------
    x : ndarray (n,)
        The feature, in increasing order.
    members : ndarray (f,)
        Which members are shown.
    centre, low, high : ndarray (n, f)
        Median and central interval of each of these members.
    total_low, total_high : ndarray (n,)
        Central interval of all members together.
    level : float
        Stated coverage of the intervals.
    labels : ndarray (n,) or None
        What was observed.
    """

    x: HostArray
    members: HostArray
    centre: HostArray
    low: HostArray
    high: HostArray
    total_low: HostArray
    total_high: HostArray
    level: float
    labels: HostArray | None


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
    >>> from credibly_studies.p21 import member_functions
    >>> lines = cr.Gaussian([[-1.0, 1.0], [-2.0, 2.0], [-3.0, 3.0]], np.ones((3, 2)))
    >>> member_functions(lines, x=[1.0, 2.0, 3.0], n_functions=2, rng=0).centre.tolist()
    [[-1.0, 1.0], [-2.0, 2.0], [-3.0, 3.0]]
    """
    readable = without_graph(as_predictions(predictions))
    require_level(level)
    if not isinstance(readable, (Gaussian, Samples)) or not has_members(readable):
        raise InputTypeError(
            "`member_functions`",
            "needs real-valued predictions with members, and one weight per member if these have weights",
            f"got {readable!r}",
            "Pass a Gaussian (n, m) or Samples (n, m, s).",
        )
    if isinstance(n_functions, bool) or not isinstance(n_functions, (int, np.integer)) or n_functions < 1:
        raise InputError("`n_functions`", "must be a positive integer", f"got {n_functions!r}", "Try 6.")
    feature = np.asarray(to_host(x) if is_array(x) else x, dtype=np.float64)
    if feature.shape != (len(readable),) or not np.isfinite(feature).all():
        raise InputError(
            "`x`",
            f"must be {len(readable)} finite numbers, one per instance",
            f"got shape {feature.shape}"
            + (" with NaN or infinite values" if feature.shape == (len(readable),) else ""),
            "Give one feature of the same instances.",
        )
    generator = np.random.default_rng(as_seed(rng))
    m = readable.n_members
    weights = readable.shares if isinstance(readable, Gaussian) else None
    shares = None if weights is None else to_host(weights)[0]
    members = np.sort(generator.choice(m, size=min(n_functions, m), replace=False, p=shares))
    order = np.argsort(feature, kind="stable")
    levels = [(1 - level) / 2, (1 + level) / 2, 0.5]
    total = to_host(readable.quantile(levels[:2]))[order]
    quantiles = np.stack(
        [to_host(_member(readable, int(j)).quantile(levels))[order] for j in members], axis=1
    )
    seen = None
    if labels is not None:
        batch = as_labels(readable, labels)
        seen = to_host(batch.values)[0][order]
    return MemberFunctions(
        x=feature[order],
        members=members,
        centre=quantiles[:, :, 2],
        low=quantiles[:, :, 0],
        high=quantiles[:, :, 1],
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


@draws(MemberFunctions, "functions")
def functions_picture(functions: MemberFunctions) -> Picture:
    """Functions drawn from members, with the band of all members together (P21 Figs. 4 and 10).

    Parameters
    ----------
    functions : MemberFunctions
        From `member_functions`.
    """
    x, band = functions.x, (functions.total_low, functions.total_high)
    level, single = f"{100 * functions.level:g} %", float((functions.high - functions.low).mean())
    finding = (
        f"The {level} band of all members is {shown(float((band[1] - band[0]).mean()))} wide on average, the "
        f"band of one member {shown(single)}"
    )
    marks = [mark("band", "chance", x, *band, alpha=0.35, label=f"{level} band of all members")]
    for place in range(functions.centre.shape[1]):
        shade, dashes = _SHADES[place % len(_SHADES)], _DASHES[place % len(_DASHES)]
        for values, width, label in (
            (functions.centre, 1.1, None if place else "members"),
            (functions.low, 0.4, None),
            (functions.high, 0.4, None),
        ):
            style: Style = {"label": label, "color": shade, "linestyle": dashes, "linewidth": width}
            marks.append(mark("line", "observed", x, values[:, place], **style))
    if functions.labels is not None:
        marks.append(mark("dots", "ink", x, functions.labels, marker=".", markersize=2, label="labels"))
        inside = float(np.mean((functions.labels >= band[0]) & (functions.labels <= band[1])))
        finding += f"; the band of all members contains {100 * inside:.3g} % of the labels"
    members = enumerate(functions.members.tolist())
    medians = {f"member {member}": functions.centre[:, at] for at, member in members}
    return Picture(
        "Functions drawn from members",
        f"{finding}.",
        {"feature": x, "band of all": ranges(*band), **medians},
        marks,
        "feature",
        "prediction",
        size=(5.6, 3.8),
    )


def observation_check(predictions: Any, labels: Any = None, *, instance: int = 0) -> HypotestResult:
    """Check whether one label is plausible under its predicted distribution.

    F(y) of a single label is uniform under both hypotheses, whether members are drawn for every label or once
    for all, so one label needs no replicates. The check says little: under the hypothesis it accepts 95 % of
    labels.

    Parameters
    ----------
    predictions : Gaussian, Samples, dense Quantiles or Rows
        Members are represented by their mixture.
    labels : array (n,)
        Observed numbers. Leave out for chunks, which carry their own.
    instance : int
        Which of them.

    Returns
    -------
    HypotestResult
        F(y), and the two-sided p-value 2 min(F(y), 1 - F(y)); for draws, the share of draws at least as
        extreme, counting the label itself.

    References
    ----------
    Gopal, *Why calibration error is wrong given model uncertainty*.

    Examples
    --------
    >>> import credibly as cr
    >>> from credibly_studies.p21 import observation_check
    >>> round(observation_check(cr.Gaussian([0.0], [1.0]), [2.0]).pvalue, 4)
    0.0455
    """
    rows = rows_with_labels(predictions, labels, "`observation_check`")
    at = require_integer(instance, "instance", 0)
    if at >= rows.n:
        raise InputError(
            "`instance`",
            f"must be below the number of instances ({rows.n})",
            f"got {at}",
            "Count from 0.",
        )
    taken = rows.take(np.array([at]))
    one, label = taken.predictions, taken.batch.values[0, ...]
    assert isinstance(one, RealPredictions)
    share = float(to_host(one.cdf(label))[0])
    if isinstance(one, Samples):
        below = float(to_host(one.share_below(as_float64(label)[None, :], strict=True))[0, 0])
        number = one.n_draws
        # rounding keeps counts of equal draws whole
        fewer = round(min(share, 1.0 - below) * number, 9)
        pvalue = min(1.0, 2.0 * (1.0 + fewer) / (1.0 + number))
    else:
        # 1 - F(y) loses every digit in the upper tail; the mirrored prediction has it as its own F
        above = float(to_host(_mirrored(one).cdf(-label))[0]) if isinstance(one, Gaussian) else 1.0 - share
        pvalue = max(2.0 * min(share, above), float(np.finfo(np.float64).tiny))
    return HypotestResult(
        name="observation_check",
        hypothesis="the label was drawn from its predicted distribution",
        statistic_name="predictive CDF",
        statistic=share,
        pvalue=pvalue,
        tail="two-sided",
        acceptance_region=(0.025, 0.975),
        effect_size=share - 0.5,
        z_score=(share - 0.5) * math.sqrt(12.0),
        n=1,
        statistic_range=(0.0, 1.0),
        settings={"instance": at},
        notes=one.notes,
    )


def _mirrored(predictions: Gaussian) -> Gaussian:
    return predictions.replace_rows(mean=-predictions.mean)
