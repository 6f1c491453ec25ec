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
    """The truth behind labels some of which were replaced by random ones."""
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


def reals(
    centre: Callable[[Any, Any, Any], Any] = lambda m, s, g: m,
    spread: Callable[[Any, Any, Any], Any] = lambda m, s, g: s,
    error: Callable[[np.random.Generator, int], Any] = lambda rng, n: rng.normal(size=n),
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
        if kind == "samples":
            drawn = (predictions.values - stated[0][:, None]) / stated[1][:, None]
            ideal = cr.Samples(m[:, None] + s[:, None] * drawn)
        groups = None if group is None else {"store": group}
        return Draw(predictions, m + s * luck, Truth(m, s, shape, ideal), groups, clusters)

    return make


def _two_humps(rng: np.random.Generator, n: int) -> Any:
    """Draw from two normal humps; mean 0 and variance 1."""
    return 0.8 * rng.choice([-1.0, 1.0], n) + 0.6 * rng.normal(size=n)


def _as_real_kind(kind: str, rng: np.random.Generator, mu: Any, sd: Any) -> Any:
    if kind == "samples":
        return cr.Samples(mu[:, None] + sd[:, None] * rng.normal(size=(len(mu), 40)))
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
    return cr.Gaussian(mu, sd)


def student(df: float) -> Callable[[np.random.Generator, int], Any]:
    """Return errors with heavy tails and variance 1."""
    return lambda rng, n: rng.standard_t(df, n) / np.sqrt(df / (df - 2.0))


# ------------------------------------------------------------------------------------------ the worlds

_T, _B, _BT, _C = ("temperature",), ("bias",), ("bias+temperature",), ("curve",)
_GB, _GT, _GBT = ("group bias", "group bias+temperature"), ("group temperature",), ("group bias+temperature",)
_NOISE = ("label noise",)
_FOUR_BENDS = (
    "Platt's map of P(event) is 8.2 nats short of the truth on 2000 rows, so that a likelihood-ratio test of "
    "four bends has a power of 0.79 at 1 %, which a choice between ten repairs needs"
)

OPEN = [
    World("calibrated k2", 300, classes(2)),
    World("calibrated k2 rare", 2000, classes(2, shape=rare)),
    World("calibrated k5 4 groups", 300, classes(5, share=0.1)),
    World("calibrated k10", 2000, classes(10)),
    World("calibrated k100", 2000, classes(100)),
    World("calibrated k10 4 groups", 20_000, classes(10, share=0.03)),
    World("calibrated k5 3 decimals", 2000, classes(5, decimals=3)),
    World("temperature 1.15 k5", 2000, classes(5, temperature(1.15)), _T, direction=1),
    World("temperature 2 k5", 300, classes(5, temperature(2)), _T, direction=1),
    World("temperature 0.7 k10", 2000, classes(10, temperature(0.7)), _T, direction=-1),
    World("temperature 1.3 k100", 2000, classes(100, temperature(1.3)), _T, direction=1),
    World("temperature 1.5 k2", 2000, classes(2, temperature(1.5)), _T, direction=1),
    World("temperature 4 k5 4 decimals", 2000, classes(5, temperature(4), decimals=4), _T, direction=1),
    World("temperature 4 k5 6 decimals", 20_000, classes(5, temperature(4), decimals=6), _T, direction=1),
    World("bias +3 k2 rare", 2000, classes(2, bias(1, 3), shape=rare), _B, direction=1),
    World("bias +3 k2 rare large", 20_000, classes(2, bias(1, 3), shape=rare), _B, direction=1),
    World("bias -0.7 k2 rare", 2000, classes(2, bias(1, -0.7), shape=rare), _B, direction=-1),
    World("bias +0.5 k2", 2000, classes(2, bias(1, 0.5)), _B, direction=1),
    World("bias +1 class 0 k5", 2000, classes(5, bias(0, 1)), _B, direction=1, where="0"),
    World("bias +1 class 0 k5 small", 300, classes(5, bias(0, 1)), _B, direction=1, where="0"),
    World("bias +0.7 class 3 k10", 20_000, classes(10, bias(3, 0.7)), _B, direction=1, where="3"),
    World("bias +2 class 7 k100", 2000, classes(100, bias(7, 2)), _B, direction=1, where="7"),
    World("bias +0.7 -0.7 k5", 2000, classes(5, biases(0.7, -0.7)), _B),
    World("slope 2 k2 rare", 2000, classes(2, slope(2), shape=rare), _BT, direction=1),
    World("slope 0.6 k2 rare", 20_000, classes(2, slope(0.6), shape=rare), _BT, direction=-1),
    World(
        "bias +1 & temperature 1.5 k5",
        2000,
        classes(5, then(temperature(1.5), bias(0, 1))),
        _BT,
        ("bias", "temperature"),
        direction=1,
    ),
    World(
        "bias +0.5 & temperature 1.5 k10",
        20_000,
        classes(10, then(temperature(1.5), bias(0, 0.5))),
        _BT,
        _T,
        direction=1,
    ),
    World(
        "group 3 % bias +1.5 k2",
        2000,
        classes(2, only(bias(1, 1.5)), share=0.03),
        _GB,
        direction=1,
        where="a",
    ),
    World(
        "group 10 % bias -1.2 k2 rare",
        20_000,
        classes(2, only(bias(1, -1.2)), shape=rare, share=0.1),
        _GB,
        direction=-1,
        where="a",
    ),
    World(
        "group 50 % bias +0.5 k2",
        2000,
        classes(2, only(bias(1, 0.5)), share=0.5),
        _GB,
        direction=1,
        where="a",
    ),
    World(
        "group 10 % temperature 2 k5",
        2000,
        classes(5, only(temperature(2)), share=0.1),
        _GT,
        direction=1,
        where="a",
    ),
    World(
        "group 50 % temperature 1.4 k10",
        2000,
        classes(10, only(temperature(1.4)), share=0.5),
        _GT,
        direction=1,
        where="a",
    ),
    World(
        "group 3 % bias +2 class 0 k5",
        20_000,
        classes(5, only(bias(0, 2)), share=0.03),
        _GB,
        direction=1,
        where="a",
    ),
    World(
        "group 10 % bias +1.5 & temperature 1.4 k2",
        2000,
        classes(2, then(temperature(1.4), only(bias(1, 1.5))), share=0.1),
        _GBT,
        ("group bias", "temperature"),
        direction=1,
    ),
    World("label noise 10 % k5", 2000, classes(5, true=noise(0.1)), _NOISE, _T, direction=1),
    World("label noise 20 % k10", 2000, classes(10, true=noise(0.2)), _NOISE, _T, direction=1),
    World(
        "curve off by 0.18 at 0.35-0.95 k2",
        2000,
        classes(2, true=bump(0.35, 0.95, 0.18)),
        _C,
        ("bias", "bias+temperature"),
        direction=1,
        impossible=_FOUR_BENDS,
    ),
    World(
        "curve off by 0.1 at 0.5-0.85 k2",
        20_000,
        classes(2, true=bump(0.5, 0.85, 0.1)),
        _C,
        ("bias", "bias+temperature"),
        direction=1,
    ),
    World("swapped columns 0, 1 k5", 2000, classes(5, order(1, 0, 2, 3, 4)), ("swapped classes",)),
    World("inverted confidence k5", 2000, classes(5, true=inverted), ("inverted",)),
    World(
        "constant base rates k5",
        2000,
        classes(5, true=same, shape=lambda rng, n, k: constant(0.4, 0.3, 0.15, 0.1, 0.05)(np.zeros(n), None)),
        ("no skill",),
    ),
    World("slope of class 0 x1.6 k5", 20_000, classes(5, slope_of(0, 1.6)), ("vector",), ("bias", *_BT)),
    World("real calibrated", 240, reals(), real=True),
    World("real calibrated 4 groups", 240, reals(share=0.1), real=True),
    World("real calibrated 4 groups large", 2000, reals(share=0.1), real=True),
    World("real shift +0.2", 2000, reals(lambda m, s, g: m + 0.2), ("shift",), direction=1, real=True),
    World("real shift -0.5 small", 300, reals(lambda m, s, g: m - 0.5), ("shift",), direction=-1, real=True),
    World("real scale 0.8", 2000, reals(spread=lambda m, s, g: 0.8 * s), ("scale",), direction=1, real=True),
    World(
        "real scale 1.3 small",
        300,
        reals(spread=lambda m, s, g: 1.3 * s),
        ("scale",),
        direction=-1,
        real=True,
    ),
    World(
        "real shift +0.3 & scale 0.75",
        2000,
        reals(lambda m, s, g: m + 0.3, lambda m, s, g: 0.75 * s),
        ("shift+scale",),
        ("shift", "scale"),
        direction=1,
        real=True,
    ),
    World("real slope 1.1", 2000, reals(lambda m, s, g: 1.1 * m), ("slope",), direction=1, real=True),
    World(
        "real slope 0.8 small",
        300,
        reals(lambda m, s, g: 0.8 * m),
        ("slope",),
        ("slope+scale",),
        direction=-1,
        real=True,
    ),
    World(
        "real spread exponent 1.6",
        2000,
        reals(spread=lambda m, s, g: s**1.6),
        ("spread",),
        direction=1,
        real=True,
    ),
    World("real tails t3", 2000, reals(error=student(3)), ("tails",), ("shape",), direction=1, real=True),
    World("real tails t6", 20_000, reals(error=student(6)), ("tails",), ("shape",), direction=1, real=True),
    World(
        "real group 10 % shift +0.6",
        2000,
        reals(lambda m, s, g: m + 0.6 * (g == "a"), share=0.1),
        ("group shift",),
        direction=1,
        where="a",
        real=True,
    ),
    World(
        "real 8 stores shift +-0.7",
        2000,
        reals(lambda m, s, g: m + 0.7 * (g.astype(int) % 2 * 2 - 1), stores=8),
        ("group shift",),
        real=True,
    ),
    World(
        "real group 10 % scale 0.6",
        2000,
        reals(spread=lambda m, s, g: s * np.where(g == "a", 0.6, 1.0), share=0.1),
        ("group scale",),
        direction=1,
        where="a",
        real=True,
    ),
    World(
        "real group 50 % scale 1.3",
        2000,
        reals(spread=lambda m, s, g: s * np.where(g == "a", 1.3, 1.0), share=0.5),
        ("group scale",),
        direction=-1,
        where="a",
        real=True,
    ),
]

KINDS = ("logits", "ensemble", "dirichlet", "intervals", "belief")
_KINDS = [
    world
    for kind in KINDS
    for world in (
        World(f"{kind}, calibrated k4", 1000, classes(4, true=same, kind=kind)),
        World(f"{kind}, calibrated k3 4 groups", 800, classes(3, true=same, kind=kind, share=0.2)),
        World(
            f"{kind}, temperature 1.5 k4",
            2000,
            classes(4, true=temperature(1 / 1.5), kind=kind),
            _T,
            direction=1,
        ),
        World(
            f"{kind}, bias -1 class 2 k4",
            2000,
            classes(4, true=bias(2, 1), kind=kind),
            _B,
            direction=-1,
            where="2",
        ),
    )
]
_REAL_KINDS = [
    world
    for kind in ("mixture", "members", "samples", "quantiles")
    for world in (
        World(f"real {kind}, calibrated", 1000, reals(kind=kind), real=True),
        World(f"real {kind}, calibrated 4 groups", 1000, reals(kind=kind, share=0.1), real=True),
        World(
            f"real {kind}, shift +0.3",
            2000,
            reals(lambda m, s, g: m + 0.3, kind=kind),
            ("shift",),
            direction=1,
            real=True,
        ),
        World(
            f"real {kind}, scale 0.7",
            2000,
            reals(spread=lambda m, s, g: 0.7 * s, kind=kind),
            ("scale",),
            direction=1,
            real=True,
        ),
        World(
            f"real {kind}, group 20 % shift -0.6",
            2000,
            reals(lambda m, s, g: m - 0.6 * (g == "a"), share=0.2, kind=kind),
            ("group shift",),
            direction=-1,
            where="a",
            real=True,
        ),
    )
]

OWN = [
    *_KINDS,
    # several labels, rows that belong together, weights
    World("5 raters, calibrated k3", 600, classes(3, raters=5)),
    World("5 raters, calibrated k3 4 groups", 600, classes(3, raters=5, share=0.2)),
    World("5 raters, temperature 1.4 k3", 800, classes(3, temperature(1.4), raters=5), _T, direction=1),
    World(
        "5 raters, bias +0.8 class 1 k3", 800, classes(3, bias(1, 0.8), raters=5), _B, direction=1, where="1"
    ),
    World("clusters, calibrated k3", 3000, classes(3, clustered=0.3)),
    World("clusters, calibrated k2 4 groups", 3000, classes(2, clustered=0.3, share=0.2)),
    World("clusters, temperature 1.7 k3", 6000, classes(3, temperature(1.7), clustered=0.3), _T, direction=1),
    World("clusters, bias +1 k2", 6000, classes(2, bias(1, 1), clustered=0.3), _B, direction=1),
    World("weights, calibrated k4", 1500, classes(4, weighted=True)),
    World("weights, calibrated k2 rare 4 groups", 3000, classes(2, shape=rare, weighted=True, share=0.2)),
    World("weights, temperature 1.5 k4", 2000, classes(4, temperature(1.5), weighted=True), _T, direction=1),
    World("weights, bias +0.7 k2", 2000, classes(2, bias(1, 0.7), weighted=True), _B, direction=1),
    # two attributes
    World("two attributes, calibrated k2", 2000, classes(2, share=0.1, second=True)),
    World("two attributes, calibrated k5", 1000, classes(5, share=0.2, second=True)),
    World(
        "two attributes, group 20 % bias +1 k2",
        3000,
        classes(2, only(bias(1, 1)), share=0.2, second=True),
        _GB,
        direction=1,
        where="a",
    ),
    World(
        "two attributes, group 30 % temperature 1.8 k3",
        3000,
        classes(3, only(temperature(1.8)), share=0.3, second=True),
        _GT,
        direction=1,
        where="a",
    ),
    # groups that have no fault of their own
    World("4 groups, temperature 1.4 k3", 2000, classes(3, temperature(1.4), share=0.25), _T, direction=1),
    World("4 groups, bias +0.6 k2", 2000, classes(2, bias(1, 0.6), share=0.4), _B, direction=1),
    World(
        "4 groups, bias -1 class 1 k5", 2000, classes(5, bias(1, -1), share=0.4), _B, direction=-1, where="1"
    ),
    World("4 groups, slope 2 k2 rare", 3000, classes(2, slope(2), shape=rare, share=0.4), _BT, direction=1),
    # two sizes of each fault
    World("temperature 1.25 k3", 3000, classes(3, temperature(1.25)), _T, direction=1),
    World("temperature 3 k3", 500, classes(3, temperature(3)), _T, direction=1),
    World("temperature 0.5 k2", 500, classes(2, temperature(0.5)), _T, direction=-1),
    World("temperature 1.5 k2 rare", 5000, classes(2, temperature(1.5), shape=rare), _T, _BT, direction=1),
    World("temperature 0.7 k2 rare", 5000, classes(2, temperature(0.7), shape=rare), _T, _BT, direction=-1),
    World("temperature 1.5 k100", 5000, classes(100, temperature(1.5)), _T, direction=1),
    World("bias +0.3 k2", 10_000, classes(2, bias(1, 0.3)), _B, direction=1),
    World("bias -2 k2", 500, classes(2, bias(1, -2)), _B, direction=-1),
    World("bias -1 class 2 k3", 1500, classes(3, bias(2, -1)), _B, direction=-1, where="2"),
    World("bias +1 class 0 k10", 3000, classes(10, bias(0, 1)), _B, direction=1, where="0"),
    World("bias +1.5 k2 rare", 2000, classes(2, bias(1, 1.5), shape=rare), _B, direction=1),
    World("bias -1.2 k2 rare", 5000, classes(2, bias(1, -1.2), shape=rare), _B, direction=-1),
    World("slope 1.6 around -1 k2", 5000, classes(2, slope(1.6, -1.0)), _BT, _T, direction=1),
    World("slope 3 k2 rare", 2000, classes(2, slope(3), shape=rare), _BT, direction=1),
    World("slope of class 1 x2 k3", 5000, classes(3, slope_of(1, 2.0)), ("vector",), ("bias", *_BT)),
    World("label noise 10 % k3", 5000, classes(3, true=noise(0.1)), _NOISE, _T, direction=1),
    World("label noise 30 % k10", 2000, classes(10, true=noise(0.3)), _NOISE, _T, direction=1),
    World(
        "label noise 15 % k4 uneven",
        3000,
        classes(4, true=noise(0.15), shape=rare),
        _NOISE,
        (*_T, *_BT),
        direction=1,
    ),
    World("curve off by 0.25 at 0.5-0.9 k2", 5000, classes(2, true=bump(0.5, 0.9, 0.25)), _C, direction=1),
    World(
        "curve off by 0.2 at 0.6-0.95 k5", 5000, classes(5, true=bump(0.6, 0.95, 0.2)), _C, _T, direction=1
    ),
    World(
        "group 10 % bias +1 k2", 5000, classes(2, only(bias(1, 1)), share=0.1), _GB, direction=1, where="a"
    ),
    World(
        "group 25 % bias -2 k2", 1000, classes(2, only(bias(1, -2)), share=0.25), _GB, direction=-1, where="a"
    ),
    World(
        "group 25 % bias +1.5 k2 rare",
        5000,
        classes(2, only(bias(1, 1.5)), shape=rare, share=0.25),
        _GB,
        direction=1,
        where="a",
    ),
    World(
        "group 25 % bias +1.5 class 2 k3",
        2000,
        classes(3, only(bias(2, 1.5)), share=0.25),
        _GB,
        direction=1,
        where="a",
    ),
    World(
        "group 25 % temperature 3 k2",
        2000,
        classes(2, only(temperature(3)), share=0.25),
        _GT,
        direction=1,
        where="a",
    ),
    World(
        "group 25 % temperature 0.5 k10",
        2000,
        classes(10, only(temperature(0.5)), share=0.25),
        _GT,
        direction=-1,
        where="a",
    ),
    # two at once
    World(
        "bias +1 & temperature 2 k3",
        2000,
        classes(3, then(temperature(2), bias(0, 1))),
        _BT,
        ("bias", "temperature"),
        direction=1,
    ),
    World(
        "bias +1 & temperature 0.6 k2",
        3000,
        classes(2, then(temperature(0.6), bias(1, 1))),
        _BT,
        ("bias", "temperature"),
    ),
    World(
        "group 20 % bias +1.5 & temperature 1.5 k3",
        5000,
        classes(3, then(temperature(1.5), only(bias(1, 1.5))), share=0.2),
        _GBT,
        ("group bias", "temperature"),
        direction=1,
    ),
    World(
        "group 30 % bias +1.5 & temperature 2 k2",
        3000,
        classes(2, only(then(temperature(2), bias(1, 1.5))), share=0.3),
        _GBT,
        ("group bias", "group temperature"),
        direction=1,
        where="a",
    ),
    # files of rounded numbers and of votes
    *(
        world
        for decimals in (2, 3, 4)
        for world in (
            World(f"{decimals} decimals, calibrated k3", 1500, classes(3, decimals=decimals)),
            World(
                f"{decimals} decimals, calibrated k2 4 groups", 1500, classes(2, decimals=decimals, share=0.2)
            ),
            World(
                f"{decimals} decimals, temperature 2.5 k5",
                2000,
                classes(5, temperature(2.5), decimals=decimals),
                _T,
                direction=1,
            ),
            World(
                f"{decimals} decimals, bias +1 class 0 k5",
                2000,
                classes(5, bias(0, 1), decimals=decimals),
                _B,
                direction=1,
                where="0",
            ),
        )
    ),
    World("10 votes, calibrated k2", 1000, classes(2, true=same, votes=10)),
    World("10 votes, calibrated k3 4 groups", 1000, classes(3, true=same, votes=10, share=0.2)),
    World(
        "10 votes, half a vote for every class k2",
        2000,
        classes(2, true=lambda logs, g: np.log(10 * np.exp(logs) + 0.5), votes=10),
        (*_T, "label noise"),
        _BT,
        direction=1,
    ),
    World("10 votes, bias +1 k2", 2000, classes(2, bias(1, 1), votes=10), _B, (*_BT, *_C), direction=1),
    # calibrated, other numbers of classes
    World("calibrated k2 rare 4 groups", 500, classes(2, shape=rare, share=0.1)),
    World("calibrated k3 uneven", 500, classes(3, shape=rare)),
    World("calibrated k10 uneven 4 groups", 1000, classes(10, shape=rare, share=0.1)),
    World("calibrated k100 4 groups", 1000, classes(100, share=0.2)),
    # nothing to recalibrate
    World("labels off by a row k5", 2000, classes(5, rolled=1), ("labels off by a row",)),
    World("labels off by a row k2", 2000, classes(2, rolled=-1), ("labels off by a row",)),
    World("labels off by a row k10", 1000, classes(10, rolled=1), ("labels off by a row",)),
    World("inverted k2", 1000, classes(2, true=inverted), ("inverted",)),
    World("inverted k3", 3000, classes(3, true=inverted), ("inverted",)),
    World("noise instead of skill k4", 2000, classes(4, true=constant(0.4, 0.3, 0.2, 0.1)), ("no skill",)),
    World(
        "base rates k2 rare",
        5000,
        classes(2, true=same, shape=lambda rng, n, k: constant(0.95, 0.05)(np.zeros(n), None)),
        ("no skill",),
    ),
    *_REAL_KINDS,
    World("real calibrated clusters", 3000, reals(clustered=0.3), real=True),
    World(
        "real clusters, shift +0.5",
        4000,
        reals(lambda m, s, g: m + 0.5, clustered=0.2),
        ("shift",),
        direction=1,
        real=True,
    ),
    World("real scale 0.9", 5000, reals(spread=lambda m, s, g: 0.9 * s), ("scale",), direction=1, real=True),
    World(
        "real slope 1.3",
        1000,
        reals(lambda m, s, g: 1.3 * m),
        ("slope",),
        ("slope+scale",),
        direction=1,
        real=True,
    ),
    World(
        "real spread exponent 0.4",
        2000,
        reals(spread=lambda m, s, g: s**0.4),
        ("spread",),
        direction=-1,
        real=True,
    ),
    World(
        "real skewed",
        3000,
        reals(error=lambda rng, n: rng.exponential(size=n) - 1.0),
        ("skewed", "shape"),
        real=True,
    ),
    World(
        "real group 20 % shift +0.6 & scale 0.6",
        3000,
        reals(
            lambda m, s, g: m + 0.6 * (g == "a"), lambda m, s, g: s * np.where(g == "a", 0.6, 1.0), share=0.2
        ),
        ("group shift+scale",),
        ("group shift", "group scale"),
        direction=1,
        where="a",
        real=True,
    ),
]

# drawn after the method was settled: other shapes of the truth, other numbers of rows
NEW = [
    World("new calibrated k4 dirichlet", 700, classes(4, shape=dirichlet), fresh=True),
    World("new calibrated k6 heavy 4 groups", 1300, classes(6, shape=heavy, share=0.15), fresh=True),
    World(
        "new temperature 1.4 k4 dirichlet",
        1300,
        classes(4, temperature(1.4), shape=dirichlet),
        _T,
        direction=1,
        fresh=True,
    ),
    World(
        "new temperature 1.6 k6 heavy",
        1300,
        classes(6, temperature(1.6), shape=heavy),
        _T,
        direction=1,
        fresh=True,
    ),
    World("new temperature 0.6 k20", 4000, classes(20, temperature(0.6)), _T, direction=-1, fresh=True),
    World(
        "new bias +1 class 3 k4 dirichlet",
        1300,
        classes(4, bias(3, 1), shape=dirichlet),
        _B,
        direction=1,
        where="3",
        fresh=True,
    ),
    World(
        "new bias -1.5 class 1 k6 heavy",
        1300,
        classes(6, bias(1, -1.5), shape=heavy),
        _B,
        direction=-1,
        where="1",
        fresh=True,
    ),
    World(
        "new bias +0.8 k2 dirichlet",
        800,
        classes(2, bias(1, 0.8), shape=dirichlet),
        _B,
        direction=1,
        fresh=True,
    ),
    World("new bias +1 k2 rare", 7000, classes(2, bias(1, 1), shape=rare), _B, direction=1, fresh=True),
    World(
        "new slope 1.8 around 1 k2 dirichlet",
        3000,
        classes(2, slope(1.8, 1.0), shape=dirichlet),
        _BT,
        _T,
        direction=1,
        fresh=True,
    ),
    World(
        "new bias +1 & temperature 1.7 k6 heavy",
        4000,
        classes(6, then(temperature(1.7), bias(2, 1)), shape=heavy),
        _BT,
        ("bias", "temperature"),
        direction=1,
        fresh=True,
    ),
    World(
        "new group 15 % bias +1.3 k2 dirichlet",
        3000,
        classes(2, only(bias(1, 1.3)), shape=dirichlet, share=0.15),
        _GB,
        direction=1,
        where="a",
        fresh=True,
    ),
    World(
        "new group 30 % bias -1.5 class 0 k4 dirichlet",
        3000,
        classes(4, only(bias(0, -1.5)), shape=dirichlet, share=0.3),
        _GB,
        direction=-1,
        where="a",
        fresh=True,
    ),
    World(
        "new group 30 % temperature 2 k6 heavy",
        3000,
        classes(6, only(temperature(2)), shape=heavy, share=0.3),
        _GT,
        direction=1,
        where="a",
        fresh=True,
    ),
    World(
        "new 4 groups, temperature 1.5 k4 dirichlet",
        1500,
        classes(4, temperature(1.5), shape=dirichlet, share=0.3),
        _T,
        direction=1,
        fresh=True,
    ),
    World(
        "new label noise 15 % k6 heavy",
        4000,
        classes(6, true=noise(0.15), shape=heavy),
        _NOISE,
        _T,
        direction=1,
        fresh=True,
    ),
    World(
        "new curve off by 0.22 at 0.2-0.7 k2",
        5000,
        classes(2, true=bump(0.2, 0.7, 0.22)),
        _C,
        ("bias", *_BT),
        direction=1,
        fresh=True,
    ),
    World(
        "new swapped columns k4 dirichlet",
        600,
        classes(4, order(0, 2, 1, 3), shape=dirichlet),
        ("swapped classes",),
        fresh=True,
    ),
    World(
        "new ensemble, temperature 1.4 k3 dirichlet",
        2500,
        classes(3, true=temperature(1 / 1.4), kind="ensemble", shape=dirichlet),
        _T,
        direction=1,
        fresh=True,
    ),
    World(
        "new clusters, bias +1.2 class 0 k4",
        5000,
        classes(4, bias(0, 1.2), shape=dirichlet, clustered=0.2),
        _B,
        direction=1,
        where="0",
        fresh=True,
    ),
    World(
        "new real shift -0.25",
        1200,
        reals(lambda m, s, g: m - 0.25),
        ("shift",),
        direction=-1,
        real=True,
        fresh=True,
    ),
    World(
        "new real scale 1.25",
        1200,
        reals(spread=lambda m, s, g: 1.25 * s),
        ("scale",),
        direction=-1,
        real=True,
        fresh=True,
    ),
    World(
        "new real group 30 % shift +0.5",
        1500,
        reals(lambda m, s, g: m + 0.5 * (g == "a"), share=0.3),
        ("group shift",),
        direction=1,
        where="a",
        real=True,
        fresh=True,
    ),
    World("new real calibrated 6 stores", 900, reals(stores=6), real=True, fresh=True),
]

WORLDS = [*OPEN, *OWN, *NEW]
