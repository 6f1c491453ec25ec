"""Worlds with known faults: what a model states, what is true, and what a diagnosis should say of it.

A world of classes draws probabilities and distorts them, so that either what is stated or what is true
follows from the other. A world of real values draws centres and spreads, and states moved ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import credibly as cr

LEVELS = np.arange(1, 100) / 100
Step = Callable[[Any, Any], Any]
"""Log-probabilities (n, k) and groups (n,) to new log-probabilities."""


@dataclasses.dataclass(frozen=True)
class Draw:
    """One data set of a world.

    Attributes
    ----------
    predictions, labels : object
        As a user would pass them.
    truth : ndarray (n, k) or Truth
        Probabilities of the classes, or the law of a real value.
    groups : dict of str to ndarray (n,), or None
        Attributes of the rows.
    clusters, weights : ndarray (n,) or None
        Which rows belong together, and how much each counts.
    """

    predictions: Any
    labels: Any
    truth: Any
    groups: Mapping[str, Any] | None = None
    clusters: Any = None
    weights: Any = None

    def rows(self) -> cr.Dataset:
        """Return what `diagnose` is given."""
        return cr.Dataset(self.predictions, self.labels, clusters=self.clusters, weights=self.weights)


@dataclasses.dataclass(frozen=True)
class Truth:
    """The law of a real value: a centre, a spread and quantiles of the error at `LEVELS`.

    `ideal` are the predictions that the best repair of few draws would give; None where quantiles say it.
    """

    centre: Any
    spread: Any
    shape: Any
    ideal: Any = None


@dataclasses.dataclass(frozen=True)
class World:
    """A way to draw data, and the right diagnosis.

    Attributes
    ----------
    name : str
        Says what is wrong.
    n : int
        Rows of a data set.
    make : callable
        From a generator and n to a Draw.
    right, half : tuple of str
        Faults that are right, and those that are half of the truth.
    direction : int or None
        1 for too sure, too often, too high, too narrow, too extreme; None where both are right.
    where : str or None
        The class or the level of a group that must be named.
    real : bool
        Whether values are real.
    fresh : bool
        Whether the method was settled before this world was drawn.
    impossible : str
        Why no method can meet the wanted figures here.
    """

    name: str
    n: int
    make: Callable[[np.random.Generator, int], Draw]
    right: tuple[str, ...] = ("none",)
    half: tuple[str, ...] = ()
    direction: int | None = None
    where: str | None = None
    real: bool = False
    fresh: bool = False
    impossible: str = ""

    @property
    def calibrated(self) -> bool:
        """Whether nothing is wrong."""
        return self.right == ("none",)


# --------------------------------------------------------------------------------------------- classes


def normalised(logs: Any) -> Any:
    """Return log-probabilities that sum to 1."""
    top = logs.max(axis=1, keepdims=True)
    return logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True))


def balanced(rng: np.random.Generator, n: int, k: int) -> Any:
    """Return log-probabilities of classes that are equally frequent."""
    if k == 2:
        return normalised(np.stack([np.zeros(n), rng.normal(0.0, 1.5, n)], axis=1))
    return normalised((3.0 if k >= 50 else 1.5) * rng.normal(size=(n, k)))


def rare(rng: np.random.Generator, n: int, k: int) -> Any:
    """Return log-probabilities of an event of 5 %, or of classes whose frequencies fall."""
    if k == 2:
        return normalised(np.stack([np.zeros(n), rng.normal(-3.5, 1.0, n)], axis=1))
    return normalised(1.5 * rng.normal(size=(n, k)) + np.linspace(1.0, -2.0, k))


def dirichlet(rng: np.random.Generator, n: int, k: int) -> Any:
    """Return log-probabilities that are flat on the simplex."""
    return normalised(np.log(rng.dirichlet(np.ones(k), size=n) + 1e-6))


def heavy(rng: np.random.Generator, n: int, k: int) -> Any:
    """Return log-probabilities whose logits have heavy tails."""
    return normalised(rng.standard_t(3, size=(n, k)))


def temperature(t: float) -> Step:
    """Too sure by a factor of the logits."""
    return lambda logs, group: logs * t


def bias(label: int, by: float) -> Step:
    """State one class too often."""
    return lambda logs, group: logs + by * (np.arange(logs.shape[1]) == label)


def biases(*by: float) -> Step:
    """State several classes too often or too rarely."""
    return lambda logs, group: logs + np.pad(np.array(by), (0, logs.shape[1] - len(by)))


def slope(by: float, around: float = -3.5) -> Step:
    """Too extreme about an event, around a logit."""

    def step(logs: Any, group: Any) -> Any:
        logit = logs[:, 1] - logs[:, 0]
        return np.stack([np.zeros(len(logs)), around + by * (logit - around)], axis=1)

    return step


def slope_of(label: int, by: float) -> Step:
    """Multiply the logit of one class."""
    return lambda logs, group: logs * np.where(np.arange(logs.shape[1]) == label, by, 1.0)


def order(*columns: int) -> Step:
    """Put the columns into another order."""
    return lambda logs, group: logs[:, list(columns)]


def then(*steps: Step) -> Step:
    """One distortion after the other."""

    def step(logs: Any, group: Any) -> Any:
        for one in steps:
            logs = normalised(one(logs, group))
        return logs

    return step


def only(step: Step, level: str = "a") -> Step:
    """Distort one group."""
    return lambda logs, group: np.where((group == level)[:, None], normalised(step(logs, group)), logs)


def noise(share: float) -> Step:
    """Mix with equal shares, as labels that are partly random do, or training with label smoothing."""
    return lambda logs, group: np.log((1.0 - share) * np.exp(logs) + share / logs.shape[1])


def bump(low: float, high: float, by: float) -> Step:
    """The truth where P(event), or the confidence, is too high in a range."""

    def step(logs: Any, group: Any) -> Any:
        probs, rows = np.exp(logs), np.arange(len(logs))
        at = np.ones(len(logs), int) if logs.shape[1] == 2 else probs.argmax(axis=1)
        p = probs[rows, at]
        inside = (p > low) & (p < high)
        new = p - by * inside * np.sin(np.pi * np.clip((p - low) / (high - low), 0.0, 1.0))
        return np.log(_with(probs, at, new))

    return step


def flat(low: float, high: float, at: float) -> Step:
    """The truth where the event is equally likely in a range of P(event)."""

    def step(logs: Any, group: Any) -> Any:
        p = np.exp(logs[:, 1])
        p = np.where((p > low) & (p < high), at, p)
        return np.log(np.stack([1.0 - p, p], axis=1))

    return step


def inverted(logs: Any, group: Any) -> Any:
    """The truth where the surest answers are wrong most often."""
    probs, rows = np.exp(logs), np.arange(len(logs))
    if logs.shape[1] == 2:
        return logs[:, ::-1]
    at = probs.argmax(axis=1)
    return np.log(_with(probs, at, np.clip(1.15 - probs[rows, at], 0.05, 0.95)))


def _with(probs: Any, at: Any, new: Any) -> Any:
    """Return probabilities with one of each row replaced, the others in proportion."""
    rows = np.arange(len(probs))
    found = probs * ((1.0 - new) / np.maximum(1.0 - probs[rows, at], 1e-12))[:, None]
    found[rows, at] = new
    return np.maximum(found, 1e-300)


def constant(*shares: float) -> Step:
    """State the same for every row."""
    return lambda logs, group: np.log(np.tile(np.array(shares), (len(logs), 1)))


def same(logs: Any, group: Any) -> Any:
    """No distortion."""
    return logs


def classes(
    k: int,
    stated: Step = same,
    true: Step | None = None,
    shape: Callable[[np.random.Generator, int, int], Any] = balanced,
    share: float | None = None,
    second: bool = False,
    decimals: int | None = None,
    votes: int | None = None,
    kind: str = "point",
    raters: int | None = None,
    clustered: float | None = None,
    weighted: bool = False,
    rolled: int = 0,
) -> Callable[[np.random.Generator, int], Draw]:
    """Return a world of classes.

    Parameters
    ----------
    k : int
        Number of classes.
    stated, true : callable
        From true log-probabilities to stated ones; or, if `true` is given, from stated ones to true ones.
    shape : callable
        How log-probabilities are drawn.
    share : float, optional
        Share of group "a"; three others have the rest.
    second : bool
        Whether a second attribute, of no importance, comes before the first.
    decimals, votes : int, optional
        Round what is stated to decimals, or to a whole number of votes.
    kind : str
        Of prediction.
    raters : int, optional
        Labels per row.
    clustered : float, optional
        Correlation of the labels of 20 rows that belong together.
    weighted : bool
        Whether rows have weights.
    rolled : int
        Rows by which labels are shifted.
    """

    def make(rng: np.random.Generator, n: int) -> Draw:
        logs = shape(rng, n, k)
        group = None if share is None else _grouped(rng, n, share)
        probs = np.exp(normalised(stated(logs, group))) if true is None else np.exp(normalised(logs))
        if votes is not None:
            probs = _voted(probs, votes)
        predictions = _as_kind(kind, rng, probs)
        given = np.asarray(cr.predictions.as_point(predictions)[0].probs)
        with np.errstate(divide="ignore"):
            truth = np.exp(logs if true is None else normalised(true(np.log(given), group)))
        if decimals is not None:
            predictions = cr.Point(_rounded(probs, decimals))
        clusters = None if clustered is None else np.arange(n) // 20
        labels = _drawn(rng, truth, clustered)
        if raters is not None:
            labels = cr.LabelCounts(rng.multinomial(raters, truth / truth.sum(axis=1, keepdims=True)))
        groups = None if group is None else {"region": group}
        if groups is not None and second:
            groups = {"shift": rng.choice(["day", "night", "late"], n), **groups}
        weights = rng.gamma(2.0, 0.5, n) + 0.1 if weighted else None
        if rolled:
            labels = np.roll(labels, rolled)
        return Draw(predictions, labels, truth, groups, clusters, weights)

    return make


def _grouped(rng: np.random.Generator, n: int, share: float) -> Any:
    rest = (1.0 - share) / 3.0
    return rng.choice(np.array(["a", "b", "c", "d"]), n, p=[share, rest, rest, rest])


def _voted(probs: Any, votes: int) -> Any:
    """Return the nearest whole numbers of votes, as shares."""
    whole = np.floor(probs * votes).astype(int)
    left = votes - whole.sum(axis=1)
    rank = np.argsort(np.argsort(-(probs * votes - whole), axis=1), axis=1)
    return (whole + (rank < left[:, None])) / votes


def _rounded(probs: Any, decimals: int) -> Any:
    """Return what a reader makes of a file of rounded numbers."""
    found = np.round(probs, decimals)
    return found / found.sum(axis=1, keepdims=True)


def _drawn(rng: np.random.Generator, truth: Any, clustered: float | None) -> Any:
    """Return labels; the rows of a cluster share a part of their luck."""
    n = len(truth)
    luck = rng.random(n)
    if clustered is not None:
        shared = np.repeat(rng.normal(size=-(-n // 20)), 20)[:n]
        luck = ndtr(np.sqrt(clustered) * shared + np.sqrt(1.0 - clustered) * ndtri(luck))
    return np.minimum((luck[:, None] > truth.cumsum(axis=1)).sum(axis=1), truth.shape[1] - 1)


def _as_kind(kind: str, rng: np.random.Generator, probs: Any) -> Any:
    """Return predictions of a kind whose mean is near the given probabilities."""
    n, k = probs.shape
    if kind == "logits":
        return cr.Point.from_logits(np.log(probs) + rng.normal(size=(n, 1)))
    if kind == "ensemble":  # pairs of members around the mean
        apart = rng.dirichlet(np.ones(k), size=(n, 3)) - 1.0 / k
        room = np.where(apart > 0, (1 - probs)[:, None], probs[:, None]) / np.maximum(np.abs(apart), 1e-12)
        other = np.where(apart < 0, (1 - probs)[:, None], probs[:, None]) / np.maximum(np.abs(apart), 1e-12)
        step = 0.7 * np.minimum(room, other).min(axis=2, keepdims=True) * apart
        return cr.Ensemble(np.concatenate([probs[:, None] + step, probs[:, None] - step], axis=1))
    if kind == "dirichlet":
        return cr.Dirichlet(probs * rng.gamma(4.0, 10.0, (n, 1)) + 1e-9)
    if kind == "intervals":
        width = 0.3 * rng.random((n, 1))
        return cr.Intervals(probs * (1.0 - width), probs + width * (1.0 - probs))
    if kind == "belief":
        share = 0.3 * rng.random((n, 1))
        sets = [{one} for one in range(k)] + [{one, (one + 1) % k} for one in range(k)]
        return cr.Belief(np.hstack([probs * (1.0 - share), probs * share]), sets, k)
    return cr.Point(probs)


# ----------------------------------------------------------------------------------------- real values


def _normal(rng: np.random.Generator, n: int) -> Any:
    return rng.normal(size=n)


def reals(
    centre: Callable[[Any, Any, Any], Any] = lambda m, s, g: m,
    spread: Callable[[Any, Any, Any], Any] = lambda m, s, g: s,
    error: Callable[[np.random.Generator, int], Any] = _normal,
    share: float | None = None,
    stores: int = 0,
    kind: str = "gaussian",
    clustered: float | None = None,
) -> Callable[[np.random.Generator, int], Draw]:
    """Return a world of real values: what is stated follows from true centres, spreads and groups."""
    law = _two_humps if kind == "mixture" else error
    shape = np.quantile(law(np.random.default_rng(5), 400_000), LEVELS)

    def make(rng: np.random.Generator, n: int) -> Draw:
        m, s = 3.0 * rng.normal(size=n), np.exp(0.4 * rng.normal(size=n))
        group = None if share is None else _grouped(rng, n, share)
        if stores:
            group = rng.integers(0, stores, n).astype(str)
        clusters = None if clustered is None else np.arange(n) // 20
        luck = law(rng, n)
        if clustered is not None:
            shared = np.repeat(rng.normal(size=-(-n // 20)), 20)[:n]
            luck = np.sqrt(clustered) * shared + np.sqrt(1.0 - clustered) * luck
        stated = centre(m, s, group), spread(m, s, group)
        predictions, ideal = _as_real_kind(kind, rng, *stated), None
        if isinstance(predictions, cr.Samples):
            drawn = (predictions.values - stated[0][:, None]) / stated[1][:, None]
            drawn = drawn if error is _normal else np.interp(ndtr(drawn), LEVELS, shape)
            ideal = cr.Samples(m[:, None] + s[:, None] * drawn)
        if kind == "rounded":  # no repair knows what was rounded off
            ideal = cr.Gaussian(m + np.round(stated[0]) - stated[0], stated[1])
        groups = None if group is None else {"store": group}
        return Draw(predictions, m + s * luck, Truth(m, s, shape, ideal), groups, clusters)

    return make


def _two_humps(rng: np.random.Generator, n: int) -> Any:
    """Draw from two normal humps; mean 0 and variance 1."""
    return 0.8 * rng.choice([-1.0, 1.0], n) + 0.6 * rng.normal(size=n)


def _as_real_kind(kind: str, rng: np.random.Generator, mu: Any, sd: Any) -> Any:
    if kind in ("samples", "few draws"):
        draws = 40 if kind == "samples" else 10
        return cr.Samples(mu[:, None] + sd[:, None] * rng.normal(size=(len(mu), draws)))
    if kind == "three levels":
        levels = np.array([0.1, 0.5, 0.9])
        return cr.Quantiles(mu[:, None] + sd[:, None] * ndtri(levels), levels)
    if kind == "one level off":
        levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
        return cr.Quantiles(mu[:, None] + sd[:, None] * np.append(ndtri(levels[:-1]), 0.85), levels)
    if kind == "quantiles":
        levels = np.array([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975])
        return cr.Quantiles(mu[:, None] + sd[:, None] * ndtri(levels), levels)
    if kind == "mixture":
        humps = 0.8 * np.array([-1.0, 1.0])
        return cr.Gaussian(mu[:, None] + sd[:, None] * humps, np.repeat(0.6 * sd[:, None], 2, axis=1))
    if kind == "members":  # spread between members is part of the spread
        apart = rng.normal(size=(len(mu), 5))
        apart -= apart.mean(axis=1, keepdims=True)
        apart *= 0.5 / apart.std(axis=1, keepdims=True)
        own = np.repeat(np.sqrt(0.75) * sd[:, None], 5, axis=1)
        return cr.Gaussian(mu[:, None] + sd[:, None] * apart, own)
    return cr.Gaussian(np.round(mu) if kind == "rounded" else mu, sd)


def student(df: float) -> Callable[[np.random.Generator, int], Any]:
    """Return errors with heavy tails and variance 1."""
    return lambda rng, n: rng.standard_t(df, n) / np.sqrt(df / (df - 2.0))


# ------------------------------------------------------------------------------------------ right answers

TEMPERATURE, BIAS, BOTH, CURVE = ("temperature",), ("bias",), ("bias+temperature",), ("curve",)
GROUP_BIAS, GROUP_TEMPERATURE = ("group bias", "group bias+temperature"), ("group temperature",)
GROUP_BOTH, NOISE = ("group bias+temperature",), ("label noise",)
