"""Weights that depend on the instance: learned on one part of the data, for labels and replicates of them."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, HostArray, like, namespace, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.hypotests.credal.combinations import FittedLearner
from credibly.hypotests.credal.learners import LinearLearner
from credibly.hypotests.credal.mixing import Columns, fit_weights, mixed
from credibly.hypotests.credal.points import Points

_REFIT_STEPS = 60

LEAST_LEARNED_FROM = 2


class Part(NamedTuple):
    """Which instances weights are learned on and which are tested, as sorted indices."""

    learn: HostArray
    test: HostArray


def random_parts(n: int, split: float | None, cv: int | None, seed: Seed) -> list[Part]:
    """Cut instances at random: one split (`split` is the share to learn on), or `cv` folds."""
    order = np.argsort(Uniforms(seed, Stream.FOLDS).block(slice(0, 1), slice(0, n))[0], kind="stable")
    if cv is None:
        assert split is not None
        learned = min(max(round(split * n), LEAST_LEARNED_FROM), n - 2)
        return [Part(np.sort(order[:learned]), np.sort(order[learned:]))]
    folds = np.array_split(order, cv)
    return [
        Part(np.sort(np.concatenate([f for j, f in enumerate(folds) if j != at])), np.sort(folds[at]))
        for at in range(cv)
    ]


@dataclasses.dataclass(frozen=True)
class PartFit:
    """The fit of one part, and what refits it to other labels."""

    part: Part
    fitted: FittedLearner
    columns: Columns  # of all instances
    points: Points
    penalty: Array  # (p,)
    notes: tuple[str, ...]

    def weights(self) -> Array:
        """Return the weights at all instances, (n, a)."""
        return self.columns.weights(self.fitted.parameters)[0, ...]

    def probs(self) -> Array:
        """Return the combination at all instances, (n, k)."""
        return mixed(self.weights()[None, ...], self.points.probs)[0, ...]

    def refitted(self, labels: Array) -> tuple[Array, int]:
        """Learn from replicates (b, n) and return the combinations at the tested instances, (b, t, k)."""
        xp = namespace(self.points.probs)
        learn, test = (like(rows, self.points.probs) for rows in self.part)
        found = fit_weights(
            self.columns.rows(learn),
            xp.take(self.points.probs, learn, axis=0),
            xp.take(labels, learn, axis=1),
            self.penalty,
            start=self.fitted.parameters,
            max_steps=_REFIT_STEPS,
        )
        weights = self.columns.rows(test).weights(found.parameters)
        return mixed(weights, xp.take(self.points.probs, test, axis=0)), found.n_unfinished


def learn_part(
    learner: LinearLearner, points: Points, features: Array, labels: Array, part: Part, seed: Seed
) -> PartFit:
    """Choose the penalty and learn the weights of one part.

    `points` are those the learner mixes, `labels` (n,) the observed ones.
    """
    xp = namespace(points.probs)
    basis = learner.basis.fit(features, seed)
    rows = like(part.learn, points.probs)
    chosen = xp.take(points.probs, rows, axis=0)
    observed = xp.take(labels, rows, axis=0)[None, :]
    candidates = [value for value in learner.penalties if basis.kept.size or np.isinf(value)] or [np.inf]
    columns, scales = {}, {}
    for flexible in {bool(np.isfinite(value)) for value in candidates}:
        made = basis.columns(features)
        plain = learner.columns(points, made if flexible else made[:, :1])
        scales[flexible] = _root_mean_square(plain)
        columns[flexible] = learner.scaled_columns(points, basis, features, flexible, scales[flexible])
    value = _best_penalty(learner, candidates, columns, chosen, observed, rows)
    flexible = bool(np.isfinite(value))
    penalty = like(learner.penalty(columns[flexible], value), chosen)
    found = fit_weights(columns[flexible].rows(rows), chosen, observed, penalty)
    fitted = FittedLearner(learner, basis, flexible, scales[flexible], found.parameters, value)
    chosen_as = "weights do not depend on features" if np.isinf(value) else f"penalty {value:g} on features"
    notes = [f"{chosen_as}, by cross-validation", *basis.notes]
    if found.n_unfinished:
        notes.append(f"learning stopped after {found.steps} steps before it converged")
    return PartFit(part, fitted, columns[flexible], points, penalty, tuple(notes))


def _root_mean_square(columns: Columns) -> HostArray:
    own = to_host(columns.own)
    scale = np.sqrt((own**2).mean(axis=(0, 1)))
    return np.where(scale > 1e-12, scale, 1.0)


def _best_penalty(
    learner: LinearLearner,
    candidates: list[float],
    columns: dict[bool, Columns],
    points: Array,
    labels: Array,
    rows: Array,
) -> float:
    """Return the penalty with the smallest log loss of held-out folds; folds and penalties in one batch."""
    xp = namespace(points)
    n = points.shape[0]
    folds = min(learner.n_folds, n)
    if len(candidates) == 1 or folds < 2:
        return candidates[0]
    held_out = (
        np.arange(n)[None, :] % folds == np.arange(folds)[:, None]
    )  # every fourth one: the order of instances may mean something
    losses: dict[float, float] = {}
    for flexible, own in columns.items():
        values = [value for value in candidates if np.isfinite(value) == flexible]
        kept = own.rows(rows)
        penalties = np.stack([learner.penalty(kept, value) for value in values])
        found = fit_weights(
            kept,
            points,
            labels,
            like(np.repeat(penalties, folds, axis=0), points),
            counted=like(np.tile(~held_out, (len(values), 1)).astype(np.float64), points),
        )
        mixtures = mixed(kept.weights(found.parameters), points)
        index = xp.broadcast_to(xp.astype(labels, xp.int64)[0, None, :, None], (*mixtures.shape[:2], 1))
        likely = to_host(xp.take_along_axis(mixtures, index, axis=2))[:, :, 0]
        loss = -np.log(np.maximum(likely, 1e-300)) * np.tile(held_out, (len(values), 1))
        losses |= dict(zip(values, loss.sum(axis=1).reshape(len(values), folds).sum(axis=1), strict=True))
    return min(candidates, key=lambda value: losses[value])


def require_enough(n: int, cv: int | None) -> None:
    """Raise unless both parts of every split have instances to learn from and to test."""
    least = 2 * (2 if cv is None else cv)
    if n < least:
        raise InputError(
            "learned weights",
            f"need at least {least} instances, 2 per part",
            f"got {n}",
            'Use fewer folds, or weights="constant", which does not split the data.',
        )
