"""The p-value that counts the truth as one more member, with every member left out in turn.

T_j(y) = T(predictions without member j, y),   labels y_j drawn by member j,   the observed labels y

ranks   p = 2 min over both sides of (1 + sum_j P[T_j(y_j) >= T_j(y)]) / (m + 1)
spread  t = mean_j D_j / sqrt((1 + 1/m) var_j D_j + var T_j(y_j)),   D_j = T_j(y) - mean T_j(y_j),   t_{m-1}

If the truth is one of m + 1 exchangeable members, y and y_j stand on the same footing for every j: neither
drew labels for a mean that contains it. With one label vector per member the ranks are those of the
jackknife+, whose level is at most twice the nominal one whatever the statistic and the members are. (A mean
that contains member j fits the labels of j better than those of the truth, by more than chance from about
n = 2 m^2 instances on.) Ranks give no p-value below 2 / (m + 1), so fewer members than `FEW_MEMBERS` are
compared by their spread, which assumes that their values are roughly normal.

Of many members `FEW_MEMBERS` are left out, which is enough for 5 % and costs about as much as the check: the
truth and these are exchangeable given the others, so the guarantee holds. If the labels lie beyond all of
them, ranks can tell no more, and the spread says by how much.

Barber, Candes, Ramdas and Tibshirani, *Predictive inference with the jackknife+*, 2021.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from scipy.special import stdtr

from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    clip,
    like,
    namespace,
    ndtri,
    on_accelerator,
    to_host,
)
from credibly._arrays.philox import Seed, Stream, Uniforms, as_seed
from credibly.hypotests.resampling.choices import Drawn, is_joint
from credibly.hypotests.resampling.loop import Target
from credibly.hypotests.resampling.pvalues import at_least_and_at_most
from credibly.hypotests.resampling.replicates import Drawing, LabelSource, RealReplicates, Replicates
from credibly.hypotests.resampling.requests import Answer, Request
from credibly.hypotests.resampling.wild import Signs
from credibly.predictions import Dataset, Dirichlet, Ensemble, Gaussian, Predictions, Reals, Rows, Samples
from credibly.predictions.ensemble import normalised
from credibly.predictions.passes import remembering
from credibly.predictions.regression import normal_level
from credibly.predictions.without_member import WithoutDraws, WithoutMember, WithoutNormal, of_members
from credibly.statistics.coverage import IntervalCoverage, QuantileCalibrationError

FEW_MEMBERS = 39
"""Fewer members than this give no rank p-value of 5 %, and their spread is used instead. Also how many label
vectors all members draw together, at least one each."""

_FEWEST = 1.5
"""Members by weight below which no spread is known."""

MemberRule = Literal["ranks", "spread"]


@dataclasses.dataclass(frozen=True)
class WithoutOneMember(LabelSource):
    """Labels that one member draws, for predictions without it.

    Attributes
    ----------
    member : int
        The member.
    standard : bool
        Whether labels of normal mixtures are taken as normal scores, z = Phi^-1(F(y)), and predictions as
        standard normal. Coverage stays what it is, and no quantiles of mixtures are needed.
    """

    member: int = 0
    standard: bool = False

    def pose(self, rows: Dataset) -> Dataset:
        """Return the rows with the predictions of all other members."""
        others, labels = _others(rows.predictions, self.member), rows.batch
        seen: Predictions = others
        if self.standard:
            assert isinstance(others, WithoutNormal) and isinstance(labels, Reals)
            levels = others.averaged(normal_level, as_float64(labels.values[0, :]))[None, :]
            labels = dataclasses.replace(labels, values=_normal_score(levels))
            xp, n = others.xp, len(others)
            seen = others.replace_rows(
                mean=xp.zeros(n, dtype=xp.float64, device=others.device),
                std=xp.ones(n, dtype=xp.float64, device=others.device),
            )
            seen._set(weights=None)
        whole = {field.name: getattr(rows, field.name) for field in dataclasses.fields(Dataset) if field.init}
        changed = {"predictions": seen, "labels": labels, "weights": None}
        return _Apart(
            **(whole | changed), drawer=_of_members(rows.predictions, [self.member]), mixture=others
        )

    def view(self, rows: Dataset) -> Hashable:
        """Every member leaves other rows."""
        return "without", self.member, self.standard

    def __call__(self, rows: Dataset) -> Drawing:
        """Return the labels that the member draws for rows that `pose` returned."""
        assert isinstance(rows, _Apart)
        drawer, others = rows.drawer, rows.mixture
        if isinstance(drawer, Gaussian):
            drawn = RealReplicates(drawer, self.seed, first_row=rows.start)
            if not self.standard:
                return drawn
            assert isinstance(others, Gaussian)
            return Drawn(
                lambda reps: Reals(_normal_scores(others, drawn.labels(reps).values)), drawn.on_device
            )
        if isinstance(drawer, Samples):
            return _one_of(drawer, self.seed, rows.start)
        assert isinstance(drawer, (Ensemble, Dirichlet))
        return Replicates(drawer.mean().probs, self.seed, rows.start)


@dataclasses.dataclass(frozen=True, eq=False)
class _Apart(Dataset):
    """Rows whose labels are drawn by a member that their predictions lack."""

    drawer: Predictions | None = None
    mixture: Predictions | None = None


def _normal_scores(predictions: Gaussian, labels: Array) -> Array:
    """Return Phi^-1(F(labels)), (b, n), finite."""
    return _normal_score(predictions._cdf(as_float64(labels)))


def _normal_score(levels: Array) -> Array:
    return ndtri(clip(levels, 2.0**-54, 1.0 - 2.0**-53))


def _others(predictions: Predictions, member: int) -> Predictions:
    """Return the predictions without a member."""
    if isinstance(predictions, Ensemble):
        return remembering(WithoutMember.of(predictions, member))
    if isinstance(predictions, Gaussian):
        return WithoutNormal.of(predictions, member)
    if isinstance(predictions, Samples) and predictions.n_draws > 1:
        return WithoutDraws.of(predictions, member)
    return _of_members(predictions, [at for at in range(predictions.n_members) if at != member])


def _of_members(predictions: Predictions, members: list[int]) -> Predictions:
    """Return the same predictions by some of their members."""
    arrays = {name: of_members(array, members) for name, array in predictions.row_arrays().items()}
    others = predictions.replace_rows(**arrays)
    weights = getattr(predictions, "weights", None)
    if weights is not None:
        others._set(
            weights=None if len(members) == 1 else normalised(of_members(as_float64(weights), members, 0))
        )
    if predictions.memo is not None:
        others._set(memo={})
    return others


def _one_of(draws: Samples, seed: Seed, first_row: int) -> Drawn:
    """Draw each label from the draws (n, 1, s) of a member."""
    values, on_device = as_float64(draws.values)[:, 0, :], on_accelerator(draws.values)
    uniforms, (n, s) = Uniforms(seed, Stream.RESTS), values.shape
    xp = namespace(values)

    def labels(reps: slice) -> Reals:
        uniform = uniforms.draw(reps, slice(first_row, first_row + n), values if on_device else None)
        uniform = uniform if on_device else like(uniform, values)
        chosen = xp.astype(clip(uniform * s, 0.0, s - 1.0), xp.int64)
        return Reals(xp.take_along_axis(values, chosen.T, axis=1).T)

    return Drawn(labels, on_device)


def left_out_sources(predictions: Predictions, seed: Seed, n_resamples: int) -> list[WithoutOneMember]:
    """Return a source of labels per member.

    None for one member, and for joint draws, whose p-value is a rank among the draws already. Of many members
    evenly spaced ones are left out, as many as count for `FEW_MEMBERS` by weight.
    """
    m = predictions.n_members
    if m < 2 or (isinstance(predictions, Samples) and is_joint(predictions)):
        return []
    shares = _shares(predictions)
    members = [at for at in range(m) if shares[at] < 1.0]
    enough = math.ceil(FEW_MEMBERS * len(members) / equal_members(predictions) - 1e-9)
    number = min(len(members), enough, max(n_resamples, 1))
    members = [members[at] for at in np.linspace(0, len(members) - 1, number).round().astype(int)]
    return [
        WithoutOneMember("independent", as_seed([*seed, 1 + at]), None, member=at)
        for at in members
        if shares[at] > 0
    ]


def vectors_per_member(sources: Sequence[WithoutOneMember]) -> int:
    """Return how many label vectors every member draws."""
    return max(1, FEW_MEMBERS // len(sources))


def left_out_requests(
    targets: Sequence[Target], rows: Rows, sources: Sequence[WithoutOneMember]
) -> list[Request]:
    """Return what is asked of labels to know every target without each of the members."""
    if not sources:
        return []
    number = vectors_per_member(sources)
    if rows.example.clusters is not None:
        drawers = np.zeros(number, dtype=np.intp)  # there is one: whoever the predictions lack
        signs = [Signs(source.seed, drawers, source.pose) for source in sources]
        return [Request(targets, rows, signs, number)]
    return [
        Request(
            [target for target in targets if _is_standard(target, rows) is standard],
            rows,
            [dataclasses.replace(source, standard=standard) for source in sources],
            number,
            by_members=True,
        )
        for standard in {_is_standard(target, rows): None for target in targets}
    ]


def left_out_values(
    targets: Sequence[Target], requests: Sequence[Request], answers: Sequence[Answer]
) -> list[list[HostArray]]:
    """Return, for every target, its values without each of the members from the answers to the requests."""
    values = {}
    for request, answer in zip(requests, answers, strict=True):
        for target, line in zip(request.targets, zip(*answer, strict=True), strict=True):
            values[id(target)] = [resampled.values for resampled in line]
    return [values[id(target)] for target in targets] if requests else []


def _is_standard(target: Target, rows: Rows) -> bool:
    coverage = isinstance(target.statistic, (IntervalCoverage, QuantileCalibrationError))
    return coverage and isinstance(rows.example.predictions, Gaussian)


def _shares(predictions: Predictions) -> HostArray:
    weights = getattr(predictions, "weights", None)
    if weights is None:
        return np.full(predictions.n_members, 1.0 / predictions.n_members)
    return np.asarray(to_host(normalised(weights)))


def equal_members(predictions: Predictions) -> float:
    """Return how many members there are: by weight, the number of equal ones, 1 / sum of squares."""
    return float(1.0 / (_shares(predictions) ** 2).sum())


OneMore = tuple[float, MemberRule]
"""A p-value that counts the truth as one more member, and what it compares."""


def one_more_pvalue(
    values: Sequence[HostArray], sources: Sequence[WithoutOneMember], predictions: Predictions
) -> OneMore:
    """Return the p-value of the truth as one more member.

    Parameters
    ----------
    values : sequence of ndarray (1 + r,)
        For every source the value of the observed labels without its member, then those of labels it drew.
    sources : sequence of LeftOut
        The members left out.
    predictions : Predictions
        Some predictions, which tell weights.

    Returns
    -------
    OneMore
        The p-value.
    """
    shares = _shares(predictions)[[source.member for source in sources]]
    shares = shares / shares.sum()
    number = float(f"{1.0 / (shares**2).sum():.12g}")
    table = np.stack(values)
    if number < FEW_MEMBERS:
        spread = _by_spread(table, shares, number)
        if spread is not None:
            return spread, "spread"
    sides = [at_least_and_at_most(float(row[0]), row[1:]) for row in table]
    least = min(float(shares @ [side[at].mean() for side in sides]) for at in (0, 1))
    ranks = min(1.0, 2 * (1 + number * least) / (1 + number))
    spread = _by_spread(table, shares, number) if least == 0.0 else None
    return (ranks, "ranks") if spread is None or spread > ranks else (spread, "spread")


def _by_spread(table: HostArray, shares: HostArray, number: float) -> float | None:
    """Return the p-value of the t-statistic; None if the values have no spread that can be known."""
    if number < _FEWEST or not np.isfinite(table).all():
        return None
    drawn = table[:, 1:]
    deviation = table[:, 0] - drawn.mean(axis=1)
    centre = float(shares @ deviation)
    between = float(shares @ (deviation - centre) ** 2) / (1.0 - 1.0 / number)
    within = float(shares @ drawn.var(axis=1, ddof=1)) if drawn.shape[1] > 1 else 0.0
    variance = (1.0 + 1.0 / number) * between + within
    if not variance > 0:
        return None
    pvalue = float(2.0 * stdtr(number - 1.0, -abs(centre) / variance**0.5))
    return float(f"{pvalue:.12g}")  # sums over chunks differ in their last bits
