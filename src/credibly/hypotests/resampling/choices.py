"""Draws and quantiles as predictions: replicates choose which number is the label, or the cell it lies in.

draws      label and draws are exchangeable: pool them, choose which of the s + 1 numbers is the label
quantiles  the label lies in the cell between two levels with the probability between them

No value is ever made up between or beyond draws and quantiles, so tests are exact for any number of them.
A chosen draw changes places with the label, and the predictions change with the replicate. What a row adds
to a statistic is computed once for every choice, a table (n, s + 1); a replicate then only looks it up.

Drawn classes (an `Ensemble` whose members are all certain) are pooled with their label in the same way. What
is compared is the mean over the whole pool, (m mean + e_y) / (m + 1), which does not change with the choice:

independent  the label is any of the m + 1 classes of its pool
bayesian     all m + 1 label vectors are pooled, and the labels are one of them

Of draws of several members, (n, m, s):

independent  s draws of the mixture: a member is drawn for each, and one of its draws that no other has taken;
             they are pooled with the label. (All m s draws hold as many of each member, the label does not.)
bayesian     member j drew all labels: the label and the s draws of j are pooled, for every j in turn.
             With s = 1 a member is one joint draw of all labels: all m + 1 label vectors are pooled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    like,
    namespace,
    on_accelerator,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.predictions import (
    Classes,
    Dataset,
    Ensemble,
    Labels,
    Point,
    Predictions,
    Quantiles,
    Reals,
    Rows,
    Samples,
    label_dtype,
)
from credibly.predictions.samples import Pool
from credibly.statistics.protocol import Bound, Statistic
from credibly.statistics.real_kernels import cells_of, pooled_with
from credibly.statistics.subsampled import Subsampled

Bind = Callable[[Predictions], Bound]


def as_pools(rows: Dataset, seed: Seed, *, shared: bool, changed: Samples | None = None) -> Dataset:
    """Return rows of draws as pools, and the observed label as the first choice.

    Parameters
    ----------
    rows : Dataset
        Predictions are `Samples`.
    seed : tuple of int
        Key of the counters.
    shared : bool
        Whether one member drew all labels; otherwise several members are replaced by draws of their mixture.
    changed : Samples, optional
        What labels are drawn from instead; the draws of the same rows stay what they are.

    Returns
    -------
    Dataset
        Predictions are a `Pool`, labels the numbers of its columns.
    """
    samples = rows.predictions
    assert isinstance(samples, Samples)
    pool_of_rows = pooled_with(rows, _draws(samples, seed, rows.start, shared))
    if changed is not None:
        pool, xp = pool_of_rows.predictions, samples.xp
        assert isinstance(pool, Pool)
        other = xp.reshape(_draws(changed, seed, rows.start, shared), (len(samples), -1))
        pool._set(moved=xp.concat([pool.values[:, :1], other], axis=1))
    return pool_of_rows


def are_drawn_labels(rows: Rows) -> bool:
    """Tell whether the members of all rows are drawn labels, and each row has one label to pool them with."""
    few = rows.example
    return (
        isinstance(few.predictions, Ensemble)
        and few.predictions.holds_drawn_labels
        and isinstance(few.batch, Classes)
        and all(rows.map(attrgetter("predictions.holds_drawn_labels")))
    )


def with_label_as_member(rows: Dataset) -> Dataset:
    """Return rows of drawn labels whose first member is the label itself."""
    ensemble = rows.predictions
    assert isinstance(ensemble, Ensemble)
    xp = ensemble.xp
    label = xp.astype(_one_hot(rows)[:, None, :], ensemble.probs.dtype)
    pool = object.__new__(_LabelAndDraws)
    pool._set(**vars(ensemble.replace_rows(probs=xp.concat([label, ensemble.probs], axis=1))))
    return _pooled_rows(rows, pool)


class _LabelAndDraws(Ensemble):
    """The label of every instance, then the labels drawn for it."""

    @property
    def mean_note(self) -> str:
        """What `mean` does."""
        return f"used the mean of {self.n_members - 1} drawn labels and of the label as the one prediction"


def with_label_in_mean(rows: Dataset) -> Dataset:
    """Return rows of drawn labels with the mean of all of them, the label included, as prediction."""
    ensemble = rows.predictions
    assert isinstance(ensemble, Ensemble)
    m = ensemble.n_members
    mean = Point._trusted((m * ensemble.mean().probs + _one_hot(rows)) / (m + 1))
    mean._set(notes=ensemble.notes, classes=ensemble.classes)
    return _pooled_rows(rows, mean)


def _one_hot(rows: Dataset) -> Array:
    ensemble, labels = rows.predictions, rows.batch.values[0, :]
    assert isinstance(ensemble, Ensemble)
    xp = namespace(labels)
    classes = xp.arange(ensemble.n_classes, dtype=xp.int64, device=ensemble.device)
    return xp.astype(xp.astype(labels, xp.int64)[:, None] == classes[None, :], xp.float64)


def _pooled_rows(rows: Dataset, predictions: Predictions) -> Dataset:
    return dataclasses.replace(rows, predictions=predictions, labels=rows.batch, weights=None)


def is_stratified(predictions: Predictions) -> bool:
    """Tell whether there are several draws of each of several members."""
    return isinstance(predictions, Samples) and predictions.n_members > 1 and predictions.values.shape[-1] > 1


def _draws(samples: Samples, seed: Seed, first_row: int, shared: bool) -> Array:
    """Return draws (n, s) or (n, m, s): of several members under "independent", s draws of their mixture."""
    draws = as_float64(samples.values)
    xp = namespace(draws)
    if draws.ndim == 2 or shared:
        return draws
    n, m, s = draws.shape
    if m == 1 or s == 1:
        return xp.reshape(draws, (n, -1))
    mixtures = []
    uniforms = Uniforms(seed, Stream.MIXTURE)
    for rows in tiles(n, rows_within_budget(40 * m * s, 0.25)):
        numbers = slice(first_row + rows.start, first_row + rows.stop)
        uniform = uniforms.draw(slice(0, (m + 1) * s), numbers, reference=draws).T
        member = xp.astype(uniform[:, :s] * m, xp.int64)
        # draw t is number t of a random order of its member's draws, so none is taken twice
        order = xp.argsort(xp.reshape(uniform[:, s:], (-1, m, s)), axis=2)
        mixed = xp.take_along_axis(draws[rows, ...], order, axis=2)
        mixtures.append(xp.take_along_axis(mixed, member[:, None, :], axis=1)[:, 0, :])
    return xp.concat(mixtures, axis=0)


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Label vectors that a function returns for replicates."""

    labels: Callable[[slice], Classes | Reals]
    on_device: bool = False


def drawn_choices(pool: Pool, seed: Seed, members: HostArray | None = None, first_row: int = 0) -> Drawn:
    """Choose which number of its pool is the label of every instance, in every replicate.

    Parameters
    ----------
    pool : Pool
        The numbers.
    seed : tuple of int
        Key of the counters.
    members : ndarray (n_resamples,) or None
        The member whose draws are chosen from; of members with one draw each the chosen column itself.
    first_row : int
        Index of row 0 among all instances.

    Returns
    -------
    Drawn
        Numbers of columns.
    """
    reference, (n, p), s = pool.values, pool.values.shape, pool.shape[-1]
    # of what labels are drawn from instead there is no label, only draws
    fewest = 0 if pool.moved is None else 1
    uniforms, on_device = Uniforms(seed, Stream.RESTS), on_accelerator(reference)
    rows = slice(first_row, first_row + n)

    def labels(reps: slice) -> Classes:
        if members is not None and is_joint(pool):
            drawn = np.where(members[reps] < fewest, p - 1, members[reps])
            chosen = np.broadcast_to(drawn[:, None], (reps.stop - reps.start, n))
            return Classes(like(chosen.astype(label_dtype(np, p)), reference), p)
        uniform = uniforms.draw(reps, rows, reference if on_device else None)
        xp = namespace(uniform)
        place = xp.astype(uniform * (s + 1 - fewest), label_dtype(xp, p)) + fewest
        if members is not None:
            shift = (members[reps] * s)[:, None].astype(label_dtype(np, p))
            shift = like(shift, reference) if on_device else shift
            place = xp.where(place > 0, place + shift, place)
        return Classes(place if on_device else like(place, reference), p)

    return Drawn(labels, on_device)


def is_joint(predictions: Any) -> bool:
    """Tell whether every member is one joint draw of all labels."""
    shape = predictions.shape if isinstance(predictions, Pool) else predictions.values.shape[1:]
    return len(shape) == 2 and shape[0] > 1 == shape[1]


def bound_to(bind: Bind, predictions: Predictions, labels: Labels) -> Bound:
    """Bind to predictions; where labels are choices or cells so that it takes these."""
    if isinstance(predictions, Pool):
        return bind(predictions.samples()).of_pool(predictions, labels.weights)
    bound = bind(predictions)
    if isinstance(predictions, Quantiles) and isinstance(labels, Classes):
        return bound.of_cells(predictions)
    return bound


def in_cells(rows: Dataset) -> Dataset:
    """Return rows of quantiles with the cells that labels may lie in, in place of their values."""
    quantiles = rows.predictions
    assert isinstance(quantiles, Quantiles)
    codes = cell_codes(quantiles, rows.batch.values)
    return dataclasses.replace(
        rows, labels=dataclasses.replace(codes, weights=rows.batch.weights), weights=None
    )


def cell_codes(predictions: Quantiles, values: Array) -> Classes:
    """Return the first and the last cell that labels (b, n) may lie in, as first (q + 1) + last.

    They differ where a label equals a quantile: the probability of that value is then on both sides of the
    level, and how it is split is not known.
    """
    table = as_float64(predictions.values)
    xp, size = namespace(table), table.shape[1] + 1
    first, last = cells_of(Reals(values), table)
    code = first * size + last
    return Classes(xp.astype(code, label_dtype(xp, size * size)), size * size)


def drawn_cells(predictions: Quantiles, seed: Seed, first_row: int = 0) -> Drawn:
    """Draw cells between quantiles with the probability between their levels; see `drawn_choices`."""
    reference, on_device = predictions.values, on_accelerator(predictions.values)
    levels = as_float64(predictions.levels)
    levels = levels if on_device else to_host(levels)
    uniforms, size = Uniforms(seed, Stream.RESTS), levels.shape[0] + 1
    rows = slice(first_row, first_row + reference.shape[0])

    def labels(reps: slice) -> Classes:
        uniform = uniforms.draw(reps, rows, reference if on_device else None)
        xp = namespace(uniform)
        cell = xp.searchsorted(levels, xp.reshape(uniform, (-1,)), side="right")
        code = xp.reshape(xp.astype(cell * (size + 1), label_dtype(xp, size * size)), uniform.shape)
        return Classes(code if on_device else like(code, reference), size * size)

    return Drawn(labels, on_device)


def require_drawable(predictions: Predictions, chosen: Sequence[Statistic]) -> None:
    """Raise where a statistic needs more of a label than quantiles say; one row tells."""
    for statistic in chosen if isinstance(predictions, Quantiles) else ():
        whole = statistic.inner if isinstance(statistic, Subsampled) else statistic
        if whole.traits.reduction != "pairwise":  # statistics of pairs look at cells
            require_cells(predictions, whole.bind(predictions[:1]))


def require_cells(predictions: Predictions, bound: Bound) -> None:
    """Raise where a bound statistic needs more of a label than quantiles say."""
    if isinstance(predictions, Quantiles):
        bound.of_cells(predictions)


def drawing_notes(predictions: Predictions, shared: bool = False) -> tuple[str, ...]:
    """Return what is worth knowing about how replicates were made of draws or quantiles."""
    if isinstance(predictions, Quantiles):
        return ("replicates only draw which two quantiles a label lies between, not its value",)
    if isinstance(predictions, Ensemble) and predictions.holds_drawn_labels:
        m = predictions.n_members
        taken = f"members are certain of one class each, so they are taken as {m} drawn labels"
        return (f"{taken}: each label is pooled with its draws, and the mean of the pool is tested",)
    if not isinstance(predictions, Samples):
        return ()
    s = int(predictions.values.shape[-1])
    if is_stratified(predictions) and not shared:
        m = predictions.n_members
        taken = f"{s} draws of the mixture, taken at random from the {m * s} draws of {m} members"
        return (f"each label is compared with {taken}, and the statistic is computed from these draws",)
    if shared and is_joint(predictions):
        return (f"replicates exchange all labels with one of the {predictions.n_members} joint draws",)
    return ("replicates exchange every label with one of its draws: exact for any number of draws",)


def why_no_sides(rows: Rows, statistic: Statistic) -> str | None:
    """Return why labels that equal quantiles rule a kernel error out; None where they are few enough.

    Kernel errors compare residuals 1[y <= Q] - level instance by instance. On which side of its level a label
    lies that equals Q is open, and no choice has the mean 0 for every distribution with an atom at Q: an atom
    of rain at 0 would be rejected always. Far fewer than the square root of n do not matter.
    """
    if not isinstance(rows.example.predictions, Quantiles) or statistic.name != "skce":
        return None
    number = sum(rows.map(_equal_a_quantile))
    if number <= 0.1 * rows.n**0.5:
        return None
    return f"{number} of {rows.n} labels equal a quantile"


def require_sides(rows: Rows, chosen: Sequence[Statistic]) -> None:
    """Raise where kernel errors would need to know on which side of a quantile labels lie that equal it."""
    for statistic in chosen:
        reason = why_no_sides(rows, statistic)
        if reason is not None:
            raise UnsupportedError(
                f"a test of `{statistic.name}` with quantiles",
                "must know on which side of its level every label lies",
                reason,
                "Test `quantile_calibration_error` or `pit_test`, which allow for that.",
            )


def _equal_a_quantile(rows: Dataset) -> int:
    quantiles = rows.predictions
    assert isinstance(quantiles, Quantiles)
    table, labels = to_host(as_float64(quantiles.values)), to_host(as_float64(rows.batch.values))[0]
    return int((table == labels[:, None]).any(axis=1).sum())
