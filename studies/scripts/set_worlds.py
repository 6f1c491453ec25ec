"""Worlds for `set_truths.py`: predictions, and a truth in the set at every row, or outside by a share.

The truth follows rules that depend on the set (its most cautious member, its boldest, the one with most of a
class), gates, its boundary, or lies inside. `WORLDS` were looked at while the witness was made, `LATER` were
written down when it was fixed, `ZEROS` when a review found that it failed where lower probabilities are 0,
and `NEWEST` after that was mended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import credibly as cr
from credibly.hypotests.credal.experts import nearest_to

Array = np.ndarray


class Sample(NamedTuple):
    """Predictions, the truth at every row, features, whether the witness is given these, and its labels.

    Labels are drawn from the truth where a world does not draw its own.
    """

    predictions: Any
    truth: Array
    features: Array | None
    given: str = "predictions"
    labels: Array | None = None


class World(NamedTuple):
    """A name, whether the truth is in the set at every row, the number of rows, and what draws a sample."""

    null: bool
    n: int
    draw: Callable[[np.random.Generator, int], Sample]


def softmax(z: Array) -> Array:
    raised = np.exp(z - z.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def entropy(p: Array) -> Array:
    return -(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1)


def chosen(members: Array, index: Array) -> Array:
    return members[np.arange(len(members)), index]


def mixed(weights: Array, members: Array) -> Array:
    return np.einsum("nm,nmk->nk", weights, members)


def drawn_members(
    rng: np.random.Generator,
    n: int,
    k: int,
    m: int,
    *,
    spread: float = 0.6,
    own: bool = False,
    sharpness: float = 1.0,
) -> tuple[Array, Array]:
    """Return features (n, 2) and members (n, m, k): logits around a centre that depends on the features.

    `own`: every member has a temperature and a bias of its own.
    """
    x = rng.normal(size=(n, 2))
    centre = x @ rng.normal(size=(2, k)) + 0.6 * rng.normal(size=(n, k))
    logits = centre[:, None, :] + spread * rng.normal(size=(n, m, k))
    if own:
        logits = logits * np.exp(0.4 * rng.normal(size=(m, 1))) + 0.5 * rng.normal(size=(m, k))
    return x, softmax(sharpness * logits)


def boundary(members: Array, goal: Array) -> Array:
    return np.asarray(cr.credal.boundary(cr.Ensemble(members, member_axis=1), goal))


Rule = Callable[[np.random.Generator, Array, Array], Array]
RULES: dict[str, Rule] = {
    "cautious": lambda r, x, e: chosen(e, entropy(e).argmax(axis=1)),
    "bold": lambda r, x, e: chosen(e, entropy(e).argmin(axis=1)),
    "direction": lambda r, x, e: chosen(e, e[:, :, 0].argmax(axis=1)),
    "inside": lambda r, x, e: e.mean(axis=1),
    "rough weights": lambda r, x, e: mixed(r.dirichlet(np.full(e.shape[1], 0.3), size=len(e)), e),
    "hard gates": lambda r, x, e: chosen(e, ((x[:, 0] > 0) + 2 * (x[:, 1] > 0)) % e.shape[1]),
    "soft gates": lambda r, x, e: mixed(softmax(2 * x @ r.normal(size=(2, e.shape[1]))), e),
    "constant": lambda r, x, e: mixed(np.tile(r.dirichlet(np.ones(e.shape[1])), (len(e), 1)), e),
    "one member": lambda r, x, e: e[:, 0],
    "ray": lambda r, x, e: boundary(e, np.zeros(len(e), dtype=int)),
    "ray to the top class": lambda r, x, e: boundary(e, e.mean(axis=1).argmax(axis=1)),
}


def hull(rule: str, k: int, m: int, n: int, given: str = "predictions", **how: Any) -> World:
    """Return a world of hulls whose truth follows a rule."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m, **how)
        return Sample(cr.Ensemble(members, member_axis=1), RULES[rule](rng, x, members), x, given)

    return World(True, n, draw)


def example_two(epsilon: float, n: int, given: str) -> World:
    """J25, Appendix B, example 2: constant members of opposite opinion, one of them right at each x."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x = rng.integers(0, 2, size=n)
        members = np.array([[epsilon, 1 - epsilon], [1 - epsilon, epsilon]])
        sets = cr.Ensemble(np.broadcast_to(members, (n, 2, 2)).copy(), member_axis=1)
        return Sample(sets, members[x], 2.0 * x[:, None] - 1.0, given)

    return World(True, n, draw)


def coarse(k: int, m: int, n: int, given: str) -> World:
    """A calibrated model that ignores a feature: its mean is the mean truth given the predictions."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        _, members = drawn_members(rng, n, k, m, spread=0.3)
        sign = rng.choice([-1.0, 1.0], size=n)
        mean = members.mean(axis=1)
        step = 0.6 * np.minimum(mean[:, 0], mean[:, 1])
        truth = mean.copy()
        truth[:, 0] += sign * step
        truth[:, 1] -= sign * step
        return Sample(cr.Ensemble(members, member_axis=1), truth, sign[:, None], given)

    return World(given == "predictions", n, draw)


def as_intervals(members: Array) -> cr.Intervals:
    return cr.Intervals(members.min(axis=1), members.max(axis=1))


def as_belief(members: Array) -> cr.Belief:
    """Masses on single classes, on pairs of neighbours and on everything that lie around the members."""
    k = members.shape[2]
    low = members.min(axis=1)
    rest = 1.0 - low.sum(axis=1, keepdims=True)
    pairs = [{j, (j + 1) % k} for j in range(k)] if k > 2 else []
    shares = np.full((1, len(pairs) + 1), 1.0 / (len(pairs) + 1))
    return cr.Belief(np.hstack([low, rest * shares]), [*({j} for j in range(k)), *pairs, set(range(k))], k)


def other_sets(make: Callable[[Array], Any], where: str, k: int, n: int) -> World:
    """Intervals or beliefs; the truth is at a corner, at the least certain point, or at the mean."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, 4)
        sets = make(members)
        if where == "direction":
            goal = np.tile(np.eye(k)[0], (n, 1))
        elif where == "random corner":
            goal = rng.normal(size=(n, k))
        elif where == "bold corner":
            goal = np.asarray(sets.mean().probs)
        elif where == "cautious":
            return Sample(sets, nearest_to(sets, np.full((n, k), 1.0 / k)), x)
        else:
            return Sample(sets, np.asarray(sets.mean().probs), x)
        return Sample(sets, cr.credal.support(sets, goal, return_maximiser=True)[1], x)

    return World(True, n, draw)


def moved(delta: float, k: int, m: int, n: int, make: Callable[[Array], Any] | None = None) -> World:
    """The truth beyond the boundary of the set, a share `delta` of the way to class 0."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m)
        sets = cr.Ensemble(members, member_axis=1) if make is None else make(members)
        edge = np.asarray(cr.credal.boundary(sets, np.zeros(n, dtype=int)))
        return Sample(sets, (1 - delta) * edge + delta * np.eye(k)[0], x)

    return World(False, n, draw)


def overconfident(power: float, k: int, m: int, n: int) -> World:
    """The truth is the mean of the members with its logits times `power`, below 1: all are too sure."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m)
        return Sample(cr.Ensemble(members, member_axis=1), softmax(power * np.log(members.mean(axis=1))), x)

    return World(False, n, draw)


SHAPES = ((2, 2), (3, 5), (2, 10), (5, 10), (10, 5), (3, 50))  # classes, members

WORLDS: dict[str, World] = {
    **{f"cautious, k={k}, m={m}": hull("cautious", k, m, 400) for k, m in SHAPES},
    **{f"bold, k={k}, m={m}": hull("bold", k, m, 400) for k, m in SHAPES[1:4]},
    **{f"direction, k={k}, m={m}": hull("direction", k, m, 400) for k, m in SHAPES[:5]},
    **{f"{rule}, n=150": hull(rule, 3, 5, 150) for rule in ("cautious", "bold", "direction", "one member")},
    **{f"{rule}, n=2000": hull(rule, 3, 5, 2000) for rule in ("cautious", "direction")},
    "direction, k=10, m=50, n=2000": hull("direction", 10, 50, 2000),
    **{f"{rule}, k=3, m=5": hull(rule, 3, 5, 400) for rule in ("ray", "ray to the top class", "inside")},
    **{
        f"{rule}, own temperature and bias": hull(rule, 3, 5, 400, own=True)
        for rule in ("cautious", "hard gates", "soft gates", "constant", "one member", "rough weights")
    },
    "hard gates, with features": hull("hard gates", 3, 5, 400, given="features", own=True),
    "nearly equal members, direction": hull("direction", 3, 5, 400, spread=0.02),
    "nearly equal members, k=10, n=150": hull("direction", 10, 5, 150, spread=0.02),
    "a single member, k=5": hull("one member", 5, 1, 400),
    **{f"App. B 2, eps={e:g}": example_two(e, 400, "predictions") for e in (0.0, 0.05)},
    **{f"App. B 2, eps={e:g}, features": example_two(e, 400, "features") for e in (0.0, 0.01, 0.05, 0.1)},
    "calibrated but coarse": coarse(3, 5, 400, "predictions"),
    **{
        f"intervals, {where}, k={k}": other_sets(as_intervals, where, k, 400)
        for where, k in (("direction", 3), ("cautious", 5), ("random corner", 3), ("bold corner", 2))
    },
    **{
        f"beliefs, {where}, k={k}": other_sets(as_belief, where, k, 400)
        for where, k in (("direction", 3), ("cautious", 3), ("random corner", 5), ("mean", 4))
    },
}


def between(n: int, k: int, m: int) -> World:
    """The truth is halfway between the two members that disagree most."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m, own=True)
        apart = np.abs(members[:, :, None, :] - members[:, None, :, :]).sum(axis=3).reshape(n, -1)
        first, second = np.divmod(apart.argmax(axis=1), m)
        truth = (chosen(members, first) + chosen(members, second)) / 2
        return Sample(cr.Ensemble(members, member_axis=1), truth, x)

    return World(True, n, draw)


def adversary(n: int, k: int, m: int) -> World:
    """The truth is the member with most of the class that members disagree about most, or least of it."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m)
        at = np.ptp(members, axis=1).argmax(axis=1)
        probs = np.take_along_axis(members, at[:, None, None], axis=2)[:, :, 0]
        index = np.where(x[:, 0] > 0, probs.argmax(axis=1), probs.argmin(axis=1))
        return Sample(cr.Ensemble(members, member_axis=1), chosen(members, index), x, "features")

    return World(True, n, draw)


def rare_classes(n: int, k: int, m: int) -> World:
    """Most of the probability on one class, the others rare; the truth has least of the frequent one."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        logits = rng.normal(size=(n, 1, k)) + 0.5 * rng.normal(size=(n, m, k))
        logits[:, :, 0] += 5.0
        members = softmax(logits)
        truth = chosen(members, members[:, :, 0].argmin(axis=1))
        return Sample(cr.Ensemble(members, member_axis=1), truth, None)

    return World(True, n, draw)


def drifting(n: int, k: int, m: int) -> World:
    """Rows in order of time: the truth moves from the first member to the last, classes take turns."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        time = np.linspace(0.0, 1.0, n)[:, None]
        centre = np.cos(2 * np.pi * (time + np.arange(k) / k)) * 1.5
        members = softmax(centre[:, None, :] + 0.6 * rng.normal(size=(n, m, k)))
        truth = (1 - time) * members[:, 0] + time * members[:, -1]
        return Sample(cr.Ensemble(members, member_axis=1), truth, time, "features")

    return World(True, n, draw)


def certain_members(n: int, k: int, m: int) -> World:
    """Every member is sure of one class, with exact zeros; the truth mixes them by the features."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x = rng.normal(size=(n, 2))
        members = np.eye(k)[rng.integers(0, k, size=(n, m))]
        truth = mixed(softmax(x @ rng.normal(size=(2, m))), members)
        return Sample(cr.Ensemble(members, member_axis=1), truth, x)

    return World(True, n, draw)


def rounded(n: int, k: int, m: int) -> World:
    """Members written with two digits, zeros among them; the truth is the boldest as written."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m, sharpness=2.0)
        written = np.round(members, 2)
        written[:, :, 0] += 1.0 - written.sum(axis=2)
        written = np.maximum(written, 0.0)
        written /= written.sum(axis=2, keepdims=True)
        return Sample(
            cr.Ensemble(written, member_axis=1), chosen(written, entropy(written).argmin(axis=1)), x
        )

    return World(True, n, draw)


def dirichlets(n: int, k: int) -> World:
    """The hull of 20 draws of a Dirichlet; the truth is the draw farthest from its mean."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        alpha = 10 * rng.dirichlet(np.ones(k), size=n) + 0.5
        draws = cr.credal.as_set(cr.Dirichlet(alpha), n_samples=20, rng=int(rng.integers(2**31)))
        members = np.asarray(draws.probs)
        far = np.abs(members - members.mean(axis=1, keepdims=True)).sum(axis=2).argmax(axis=1)
        return Sample(draws, chosen(members, far), None)

    return World(True, n, draw)


def clipped_intervals(n: int, k: int) -> World:
    """Intervals of width 0.3 around the truth, cut at 0 and 1."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        truth = rng.dirichlet(np.full(k, 0.5), size=n)
        return Sample(cr.Intervals(np.maximum(truth - 0.15, 0.0), np.minimum(truth + 0.15, 1.0)), truth, None)

    return World(True, n, draw)


def sparse_beliefs(n: int, where: str) -> World:
    """Masses on a few sets, so that some classes have no mass of their own."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        sets = cr.Belief(rng.dirichlet(np.ones(5), size=n), [{0}, {1}, {0, 1}, {1, 2}, {0, 1, 2}], 3)
        if where == "mean":
            return Sample(sets, np.asarray(sets.mean().probs), None)
        return Sample(sets, cr.credal.support(sets, rng.normal(size=(n, 3)), return_maximiser=True)[1], None)

    return World(True, n, draw)


def vacuous(n: int, k: int) -> World:
    """Every distribution is allowed; the truth is a random one."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        truth = rng.dirichlet(np.full(k, 0.3), size=n)
        return Sample(cr.Intervals(np.zeros((n, k)), np.ones((n, k))), truth, None)

    return World(True, n, draw)


ZEROS: dict[str, World] = {
    "clipped intervals, k=4": clipped_intervals(400, 4),
    "clipped intervals, k=2, n=150": clipped_intervals(150, 2),
    "sparse beliefs, mean": sparse_beliefs(400, "mean"),
    "sparse beliefs, random corner": sparse_beliefs(400, "corner"),
    "vacuous, k=3": vacuous(400, 3),
}
"""Sets whose lower probabilities are exactly 0, added when a review found that the witness failed there."""

LATER: dict[str, World] = {
    "halfway between the two farthest members": between(400, 3, 5),
    "halfway between the two farthest, k=5": between(400, 5, 10),
    "most or least of the disputed class, features": adversary(400, 3, 5),
    "most or least of the disputed class, k=5, features": adversary(150, 5, 5),
    "rare classes": rare_classes(400, 5, 5),
    "rare classes, n=150": rare_classes(150, 10, 3),
    "drift along the rows, features": drifting(400, 3, 5),
    "members that are certain": certain_members(400, 3, 5),
    "members with two digits": rounded(400, 5, 5),
    "hull of Dirichlet draws": dirichlets(400, 3),
    "hull of Dirichlet draws, n=60": dirichlets(60, 4),
    "intervals, random corner, k=10": other_sets(as_intervals, "random corner", 10, 400),
    "beliefs, bold corner, k=3, n=2000": other_sets(as_belief, "bold corner", 3, 2000),
}
"""Drawn after the method was fixed: none of these was looked at while it was made."""

ALTERNATIVES: dict[str, World] = {
    **{
        f"delta={d:g}, k={k}, m={m}": moved(d, k, m, 400)
        for d in (0.05, 0.1, 0.2)
        for k, m in ((3, 5), (2, 10), (5, 10))
    },
    **{
        f"delta=0.1, {name}": moved(0.1, 3, 4, 400, make)
        for name, make in (("intervals", as_intervals), ("beliefs", as_belief))
    },
    **{f"overconfident, k={k}, m={m}": overconfident(0.6, k, m, 400) for k, m in ((3, 5), (2, 10), (5, 10))},
    "overconfident, n=2000": overconfident(0.6, 3, 5, 2000),
    "coarse, given its feature": coarse(3, 5, 400, "features"),
}


def by_hash(values: Array, number: int) -> Array:
    """Return a number below `number` that depends on a row's values and on nothing one could learn."""
    digits = np.floor(values * 1e9).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed_up = np.bitwise_xor.reduce(digits, axis=1)
    mixed_up ^= mixed_up >> np.uint64(29)
    return (mixed_up * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(40)).astype(np.int64) % number


def hashed(n: int, k: int, m: int, *, mixture: bool = False) -> World:
    """The truth is a member, or halfway between two, that a hash of the row chooses; members are draws."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        centre = 10 * rng.dirichlet(np.ones(k), size=(n, 1)) + 0.5
        raw = rng.standard_gamma(np.broadcast_to(centre, (n, m, k)))
        members = raw / raw.sum(axis=2, keepdims=True)
        mean = members.mean(axis=1)
        truth = chosen(members, by_hash(mean, m))
        if mixture:
            truth = (truth + chosen(members, by_hash(mean**2, m))) / 2
        return Sample(cr.Ensemble(members, member_axis=1), truth, None)

    return World(True, n, draw)


def intervals_from_zero(n: int, k: int, goal: str) -> World:
    """Lower bounds of 0 for all classes but the likeliest; the truth is a corner."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        centre = rng.dirichlet(np.ones(k), size=n)
        lower = np.where(centre == centre.max(axis=1, keepdims=True), np.maximum(centre - 0.2, 0.0), 0.0)
        sets = cr.Intervals(lower, np.minimum(centre + 0.2, 1.0))
        wanted = -centre if goal == "rarest" else np.eye(k)[by_hash(centre, k)]
        return Sample(sets, cr.credal.support(sets, wanted, return_maximiser=True)[1], None)

    return World(True, n, draw)


def pairs_alone(n: int, k: int) -> World:
    """Mass on pairs of classes and on none alone; each pair gives all to the class that is rarer so far."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        pairs = [{i, j} for i in range(k) for j in range(i)]
        sets = cr.Belief(rng.dirichlet(np.full(len(pairs), 0.5), size=n), pairs, k)
        wanted = -np.asarray(sets.mean().probs)
        return Sample(sets, cr.credal.support(sets, wanted, return_maximiser=True)[1], None)

    return World(True, n, draw)


def catching_up(n: int, k: int, m: int) -> World:
    """The truth is the member with most of the class that has happened too rarely so far.

    Truths depend on earlier labels: theory covers the e-value in the order of the rows, not random orders.
    """

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m)
        behind, truth, labels = np.zeros(k), np.empty((n, k)), np.empty(n, dtype=int)
        for row, own in enumerate(members):
            truth[row] = own[own[:, behind.argmax()].argmax()]
            labels[row] = (rng.random() >= truth[row].cumsum()[:-1]).sum()
            behind += own.mean(axis=0) - np.eye(k)[labels[row]]
        return Sample(cr.Ensemble(members, member_axis=1), truth, x, labels=labels)

    return World(True, n, draw)


def after_a_witness(n: int, k: int, m: int) -> World:
    """The truth is the member that pays most to a witness learned from the chance of earlier labels.

    Earlier labels come from the mean of other sets; by class and thirds of its probability, what happened too
    often there is what the truth has most of here.
    """

    def draw(rng: np.random.Generator, n: int) -> Sample:
        _, before = drawn_members(rng, n, k, m)
        x, members = drawn_members(rng, n, k, m)
        expected = before.mean(axis=1)
        happened = np.eye(k)[(rng.random((n, 1)) >= expected.cumsum(axis=1)[:, :-1]).sum(axis=1)]
        mean, paid = members.mean(axis=1), np.zeros((n, k))
        for j in range(k):
            cuts = np.quantile(expected[:, j], [1 / 3, 2 / 3])
            cell = np.searchsorted(cuts, expected[:, j])
            excess = np.array([(happened - expected)[cell == c, j].mean() for c in range(3)])
            paid[:, j] = excess[np.searchsorted(cuts, mean[:, j])]
        index = np.einsum("nmk,nk->nm", members, paid).argmax(axis=1)
        return Sample(cr.Ensemble(members, member_axis=1), chosen(members, index), x)

    return World(True, n, draw)


def one_digit(n: int, k: int, m: int) -> World:
    """Members written with one digit, most of them with zeros; the truth is the most cautious as written."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m, sharpness=1.5)
        whole = np.floor(10 * members)  # tenths, the rest to the largest, so that rows sum to 1 exactly
        np.put_along_axis(
            whole,
            members.argmax(axis=2)[..., None],
            np.take_along_axis(whole, members.argmax(axis=2)[..., None], axis=2)
            + (10 - whole.sum(axis=2, keepdims=True)),
            axis=2,
        )
        written = whole / 10
        return Sample(
            cr.Ensemble(written, member_axis=1), chosen(written, entropy(written).argmax(axis=1)), x
        )

    return World(True, n, draw)


def duplicates(n: int, k: int, m: int) -> World:
    """Most members are copies of the first; the truth is the one that has no copy."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, 3)
        copies = members[:, np.append(np.zeros(m - 2, dtype=int), [1, 2])]
        return Sample(cr.Ensemble(copies, member_axis=1), members[:, 2], x)

    return World(True, n, draw)


def half_points(n: int, k: int, m: int, given: str = "predictions") -> World:
    """All members agree at every other row, which is the truth there; elsewhere the largest in a class is."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m)
        members[::2] = members[::2].mean(axis=1, keepdims=True)
        truth = chosen(members, members[:, :, -1].argmax(axis=1))
        return Sample(cr.Ensemble(members, member_axis=1), truth, x, given)

    return World(True, n, draw)


NEWEST: dict[str, World] = {
    "hash: halfway between two Dirichlet draws": hashed(400, 3, 15, mixture=True),
    "hash: one member, k=10, m=50, n=150": hashed(150, 10, 50),
    "hash: one member, k=10, m=50, n=2000": hashed(2000, 10, 50),
    "intervals from 0, corner by a hash": intervals_from_zero(400, 4, "hash"),
    "intervals from 0, most of the rarest, n=2000": intervals_from_zero(2000, 3, "rarest"),
    "beliefs on pairs alone, n=150": pairs_alone(150, 4),
    "beliefs on pairs alone, k=5": pairs_alone(400, 5),
    "catching up along the rows": catching_up(400, 3, 5),
    "after an earlier witness": after_a_witness(400, 3, 5),
    "after an earlier witness, k=5, n=150": after_a_witness(150, 5, 10),
    "members with one digit": one_digit(400, 5, 5),
    "duplicated members": duplicates(400, 3, 8),
    "one point at half of the rows": half_points(400, 3, 5),
    "one point at half of the rows, features, n=2000": half_points(2000, 3, 5, "features"),
}
"""Written down after the method was changed for `ZEROS`; none was looked at while that was done."""


def everything() -> dict[str, World]:
    """Return all worlds by name, those with the truth outside last."""
    return WORLDS | LATER | ZEROS | NEWEST | ALTERNATIVES
