"""Stated ignorance, further labels and raters against enumeration and slow loops."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.standard_errors import mean_error
from credibly.predictions import SecondOrder
from credibly.predictions.second_order import log_evidence
from credibly.raters.annotators import crossed_error
from credibly.raters.disagreement import four_evidence
from credibly.raters.entropy_split import factorial_moments, order_shares
from credibly.raters.planning import first_gains
from credibly.raters.second_labels import (
    LabelLaw,
    drawn_tiles,
    moment_gaps,
    pair_gaps,
    pair_products,
    spread_scores,
)
from credibly.results.tests import with_details

RNG = np.random.default_rng(0)
LAWS = {
    "members": cr.Ensemble(RNG.dirichlet(np.ones(3), size=(4, 5)), weights=[0.1, 0.2, 0.3, 0.2, 0.2]),
    "Dirichlet": cr.Dirichlet(RNG.gamma(2.0, size=(4, 3)) + 0.1),
    "Dirichlets": cr.Dirichlet(RNG.gamma(2.0, size=(4, 2, 3)) + 0.1, weights=[0.3, 0.7]),
}
COUNTS = np.array([[1, 1, 1], [3, 0, 0], [0, 2, 0], [2, 1, 1]])


def every_count(n: int, k: int = 3) -> np.ndarray:
    return np.array([c for c in itertools.product(range(n + 1), repeat=k) if sum(c) == n])


def chances(predictions: object, row: int, counts: np.ndarray) -> np.ndarray:
    """Probability of each of some counts under the law of one row."""
    law = SecondOrder.of(predictions)[row : row + 1]
    every = law[np.zeros(len(counts), dtype=int)]
    ways = [math.factorial(int(c.sum())) / math.prod(map(math.factorial, c.tolist())) for c in counts]
    evidence = np.exp(log_evidence(every.members, counts.astype(float), law.is_dirichlet))
    return (every.shares * evidence).sum(axis=1) * ways


@pytest.mark.parametrize("kind", LAWS)
def test_what_is_stated_by_enumeration(kind: str) -> None:
    predictions = LAWS[kind]
    law = LabelLaw.of(SecondOrder.of(predictions))
    for row in range(4):
        for n in (2, 4):
            counts = every_count(n)
            p = chances(predictions, row, counts)
            assert p.sum() == pytest.approx(1)
            assert p @ counts == pytest.approx(n * law.mean[row])
            own = law.rows(np.full(len(counts), row))
            drawn = counts[:, None, :].astype(float)
            assert p @ pair_gaps(own, drawn)[:, 0] == pytest.approx(0, abs=1e-12)
            assert p @ spread_scores(own, drawn)[:, 0] == pytest.approx(0, abs=1e-10)
            assert p @ moment_gaps(own, drawn, 2)[:, 0] == pytest.approx(np.zeros(3), abs=1e-12)
    ones = np.eye(3)[None].repeat(4, axis=0)
    assert spread_scores(law, ones) == pytest.approx(np.zeros((4, 3)), abs=1e-12)  # one label says nothing


@pytest.mark.parametrize("kind", LAWS)
def test_the_score_is_the_derivative_of_the_likelihood(kind: str) -> None:
    second = SecondOrder.of(LAWS[kind])
    law, step = LabelLaw.of(second), 1e-5

    def log_likelihood(s: float) -> np.ndarray:
        total = law.members.sum(axis=-1, keepdims=True) if law.is_dirichlet else 1.0
        members = law.mean[:, None] + np.exp(s) * (law.members / total - law.mean[:, None])
        if law.is_dirichlet:
            members = members * total * np.exp(-2 * s)
        return np.log(
            (law.shares * np.exp(log_evidence(members, COUNTS * 1.0, law.is_dirichlet))).sum(axis=1)
        )

    slope = (log_likelihood(step) - log_likelihood(-step)) / (2 * step)
    assert spread_scores(law, COUNTS[:, None] * 1.0)[:, 0] == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("kind", LAWS)
def test_labels_are_drawn_from_the_law(kind: str) -> None:
    law = LabelLaw.of(SecondOrder.of(LAWS[kind]))
    b, counts = 20_000, np.full((4, 3), 1)
    ((_, _, drawn),) = drawn_tiles(law, counts, b, (1, 2))
    assert (drawn.sum(axis=-1) == 3).all()
    for row in range(4):
        for c, p in zip(every_count(3), chances(LAWS[kind], row, every_count(3)), strict=True):
            share = (drawn[row, 1:] == c).all(axis=-1).mean()
            assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / b) + 1e-4  # 120 comparisons


def test_pairs_by_a_loop() -> None:
    mean = np.array([0.5, 0.3, 0.2])
    labels = [0, 0, 2, 1]
    pairs = [(np.eye(3)[a] - mean) * (np.eye(3)[b] - mean) for a, b in itertools.combinations(labels, 2)]
    counts = np.bincount(labels, minlength=3).astype(float)
    assert pair_products(mean, counts) == pytest.approx(np.mean(pairs, axis=0))


def test_given_is_bayes_rule() -> None:
    told = LAWS["members"].given(cr.LabelCounts(COUNTS))
    p = LAWS["members"].probs
    weight = np.array([0.1, 0.2, 0.3, 0.2, 0.2]) * np.prod(p ** COUNTS[:, None, :], axis=-1)
    assert told.shares == pytest.approx(weight / weight.sum(axis=1, keepdims=True))
    again = LAWS["Dirichlets"].given(COUNTS).given(COUNTS)
    assert again.mean().probs == pytest.approx(LAWS["Dirichlets"].given(2 * COUNTS).mean().probs)
    assert LAWS["Dirichlet"].given(COUNTS).alpha == pytest.approx(LAWS["Dirichlet"].alpha + COUNTS)
    with pytest.raises(cr.InputError, match="possible under at least one member"):
        cr.Ensemble([[[1.0, 0.0], [1.0, 0.0]]]).given(cr.LabelCounts([[0, 1]]))
    with pytest.raises(cr.InputTypeError, match="one distribution, or a set without weights"):
        SecondOrder.of(cr.Point([[0.5, 0.5]]))
    with pytest.raises(cr.InputError, match=r"shape \(4, 3\)"):
        LAWS["members"].given(np.ones((4, 2)))


def test_one_label_is_refused_with_the_reason() -> None:
    one = np.eye(3, dtype=int)[[0, 1, 2, 0]]
    for function in (cr.raters.spread_test, cr.raters.ignorance):
        with pytest.raises(cr.UnsupportedError, match="every spread around the mean is equally likely"):
            function(LAWS["members"], cr.LabelCounts(one))
        with pytest.raises(cr.UnsupportedError, match="got one label per instance"):
            function(LAWS["members"], [0, 1, 2, 0])
        with pytest.raises(cr.InputError, match="must have 3 classes like the predictions; got 4"):
            function(LAWS["members"], cr.LabelCounts(np.ones((4, 4), dtype=int)))
    mixed = np.where(np.arange(4)[:, None] < 2, COUNTS, one)
    result = cr.raters.ignorance(LAWS["members"], cr.LabelCounts(mixed), n_resamples=19, rng=0)
    assert (result.n, result.n_left_out) == (2, 2)
    assert any("2 instances with one label are left out" in note for note in result.notes)
    with pytest.raises(cr.InputError, match="`statistics` must be one of"):
        cr.raters.spread_test(LAWS["members"], cr.LabelCounts(COUNTS), statistics=["score"])


def claim(n: int, true_spread: float, seed: int = 0) -> tuple[cr.Dirichlet, cr.LabelCounts]:
    """Dirichlets of concentration 4 whose truth has 4 / true_spread."""
    rng = np.random.default_rng(seed)
    stated = cr.Dirichlet(4 * rng.dirichlet(np.ones(3), size=n) + 1e-3)
    truth = cr.Dirichlet(stated.alpha / true_spread).sample(1, rng=rng).probs[:, 0]
    return stated, cr.LabelCounts(rng.multinomial(3, truth))


@pytest.mark.parametrize(("spread", "direction"), [(0.2, "too wide"), (5.0, "too narrow")])
def test_direction_and_sentence(spread: float, direction: str) -> None:
    stated, counts = claim(600, spread)
    result = cr.raters.ignorance(stated, counts, n_resamples=199, rng=0)
    assert result.verdict() == "conflict"
    assert result.test.details.direction == direction
    low, high = result.gap.interval()
    assert (high < 0) if direction == "too wide" else (low > 0)
    assert result.sentence().startswith(
        f"It says {round(100 * result.stated_share.value)} % of its uncertainty"
    )
    assert "chance does not explain" in result.sentence()
    assert json.loads(json.dumps(result.to_dict()))["type"] == "Ignorance"
    assert result.supported.value == pytest.approx(
        cr.raters.decompose_loss(stated.mean(), counts).epistemic.value
    )
    assert result.per_class_stated.value.sum() == pytest.approx(result.stated.value)
    assert result.by_size.count.sum() == 600


def test_a_mean_that_is_off_is_said() -> None:
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.ones(3), size=800)
    stated = cr.Dirichlet(20 * truth[:, [1, 2, 0]] + 1)
    result = cr.raters.ignorance(stated, cr.LabelCounts(rng.multinomial(2, truth)), n_resamples=99, rng=0)
    assert result.mean_test.verdict() == "conflict"
    assert "repair the mean first" in result.sentence()


def test_gains_are_those_of_the_posterior() -> None:
    for predictions in LAWS.values():
        second = SecondOrder.of(predictions)
        law, expected = LabelLaw.of(second), 0.0
        for label in range(3):
            seen = np.tile(np.eye(3, dtype=int)[label], (4, 1))
            moved = second.given(seen).mean().probs
            expected = expected + law.mean[:, label] * ((moved - law.mean) ** 2).sum(axis=1)
        assert first_gains(law) == pytest.approx(expected)


def test_greedy_is_optimal() -> None:
    belief = cr.Dirichlet([[1.0, 1.0], [0.5, 0.2], [3.0, 2.0]])

    def left(row: int, labels: int) -> float:
        """V A / (A + n) in fractions."""
        a, b = (Fraction(str(one)) for one in belief.alpha[row].tolist())
        total = a + b
        wide = (1 - (a / total) ** 2 - (b / total) ** 2) / (total + 1)
        return float(wide * total / (total + labels))

    best = min(
        sum(left(row, labels) for row, labels in enumerate(split))
        for split in itertools.product(range(6), repeat=3)
        if sum(split) == 5
    )
    plan = cr.raters.plan_second_labels(belief, 5)
    assert sum(left(row, labels) for row, labels in enumerate(plan.n_labels)) == pytest.approx(best)
    assert plan.gain == pytest.approx(sum(left(row, 0) for row in range(3)) - best)


def test_raters_have_limits_and_are_not_asked_twice() -> None:
    counts, _ = cr.LabelCounts.from_annotations([0, 1, 2], ["a", "a", "b"], [0, 1, 1], n_classes=2)
    members = cr.Ensemble(RNG.dirichlet(np.ones(2), size=(3, 4)))
    plan = cr.raters.plan_second_labels(members, 5, counts=counts, raters={"a": 2, "b": 1})
    asked = set(zip(plan.order.tolist(), plan.raters, strict=True))
    assert asked <= {(0, "b"), (1, "b"), (2, "a")}
    assert len(asked) == 2
    assert "plan again" in plan.notes[-1]
    assert set(plan.by_rater()) == {"a", "b"}
    with pytest.raises(cr.UnsupportedError, match="who gave which label"):
        cr.raters.plan_second_labels(members, 1, counts=cr.LabelCounts([[1, 0]] * 3), raters={"a": 1})


@pytest.mark.parametrize("seed", range(12))
def test_raters_give_their_rows_to_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, names = 4, ["a", "b", "c"]
    belief, known = cr.Dirichlet(3 * rng.gamma(1.0, size=(n, 2)) + 0.1), rng.random((n, 3)) < 0.55
    known[~known.any(axis=1), 0] = True
    row, who = np.nonzero(known)
    counts, _ = cr.LabelCounts.from_annotations(
        row, np.array(names)[who], rng.integers(2, size=row.size), n_classes=2
    )
    most, budget = dict(zip(names, rng.integers(1, 3, size=3).tolist(), strict=True)), 4
    total = belief.given(counts).alpha.sum(axis=1)
    wide = SecondOrder.of(belief.given(counts)).variance().sum(axis=1)
    best = 0.0
    pairs = np.argwhere(~known)
    for number in range(1, budget + 1):
        for chosen in itertools.combinations(range(len(pairs)), number):
            rows, asked = pairs[list(chosen)].T
            if all((asked == place).sum() <= most[name] for place, name in enumerate(names)):
                each = np.bincount(rows, minlength=n)
                best = max(best, float((wide * each / (total + each)).sum()))  # V - V A / (A + n)
    plan = cr.raters.plan_second_labels(belief, budget, counts=counts, raters=most)
    assert plan.gain == pytest.approx(best)
    asked = list(zip(plan.order.tolist(), plan.raters, strict=True))
    assert len(set(asked)) == len(asked)
    assert not any(known[row, names.index(name)] for row, name in asked)
    assert all(plan.raters.count(name) <= most[name] for name in names)


def test_labels_at_random_are_as_many_as_those_of_the_plan() -> None:
    belief = cr.Dirichlet([[1.0, 1.0], [1.0, 1.0]])
    # V = 1/6, A = 2: three labels of two alike rows, 1/6 (1/3 + 2/4) however they are spread
    plan = cr.raters.plan_second_labels(belief, 3)
    assert plan.random_gain == pytest.approx(plan.gain) == pytest.approx(5 / 36)
    members = cr.Ensemble(RNG.dirichlet(np.ones(2), size=(3, 4)))
    plan = cr.raters.plan_second_labels(members, 9)
    assert plan.random_gain == pytest.approx(plan.possible) == pytest.approx(plan.gain)
    with pytest.raises(cr.InputError, match="must say how many labels each rater can give"):
        cr.raters.plan_second_labels(belief, 1, raters=["a"])


def test_counts_keep_who_said_what() -> None:
    counts, ids = cr.LabelCounts.from_annotations(
        ["x", "y", "y", "x", "z"], ["b", "a", "b", "a", "a"], [0, 1, 2, 2, 1], n_classes=3
    )
    assert list(ids) == ["x", "y", "z"]
    assert counts.rater_names == ("a", "b")
    said = [
        {(int(r), int(label)) for r, label in zip(*row, strict=True) if r >= 0}
        for row in zip(counts.rater_of, counts.label_of, strict=True)
    ]
    assert said == [{(0, 2), (1, 0)}, {(0, 1), (1, 2)}, {(0, 1)}]
    assert counts[1:2].label_of.tolist() == [[1, 2]]
    assert cr.LabelCounts([[1, 1]]).rater_of is None
    assert cr.LabelCounts.from_table([[0, None], [1, 1]], n_classes=2).rater_of.tolist() == [[0, -1], [0, 1]]


def test_raters_who_differ_widen_errors_and_are_said() -> None:
    rng = np.random.default_rng(2)
    n, raters = 300, 6
    lean = rng.normal(size=raters) * 1.5
    strength = 1.5 * rng.normal(size=(n, 1))
    labels = (rng.random((n, raters)) < 1 / (1 + np.exp(-strength - lean))).astype(int)
    counts = cr.LabelCounts.from_table(labels, n_classes=2)
    test = cr.raters.rater_test(counts, n_resamples=99, rng=0)
    assert test.verdict() == "conflict"
    assert test.details.rater == f"rater {np.abs(labels.mean(axis=0) - labels.mean()).argmax()}"
    numbers = 1 / (1 + np.exp(-strength[:, 0]))
    mean = np.stack([1 - numbers, numbers], axis=1)
    values = pair_products(mean, counts.counts * 1.0).sum(axis=1)
    alone = mean_error(values)
    crossed = crossed_error(alone, counts, mean, 1.0)
    assert crossed["stderr"] > 1.2 * alone["stderr"]
    assert crossed["degrees_of_freedom"] == raters - 1
    result = cr.raters.ignorance(cr.Dirichlet(6 * mean + 0.01), counts, n_resamples=99, rng=0)
    assert "Raters differ" in result.sentence()
    assert "Raters differ" in result.sentence(1e-6)  # the interval allows for them at any level
    assert result.test.deciding_pvalue >= result.test.details.crossed_pvalue
    assert result.mean_test.deciding_pvalue >= result.mean_test.details.crossed_pvalue
    unclear = with_details(result.test, dataclasses.replace(result.test.details, crossed_pvalue=0.2))
    assert unclear.pvalue <= 0.2
    assert [unclear.rejects(level) for level in (0.19, 0.2)] == [False, True]
    assert "spread" not in result.mean_test.sentence()
    same = np.repeat(labels[:, :1], raters, axis=1)
    calm = cr.raters.rater_test(cr.LabelCounts.from_table(same, n_classes=2), n_resamples=99, rng=0)
    assert calm.pvalue == 1.0  # all orders are the same


def test_raters_who_always_agree_show_nothing() -> None:
    counts = cr.LabelCounts.from_table(np.repeat(np.arange(30) % 2, 3).reshape(30, 3), n_classes=2)
    test = cr.raters.rater_test(counts, n_resamples=99, rng=0)
    assert test.sentence() == "Cannot tell: the raters of each instance agree."


def test_raters_that_are_numbers_are_called_raters() -> None:
    rows = np.repeat(np.arange(60), 2)
    labels = np.stack([np.arange(60) % 2, np.ones(60, int)], axis=1).ravel()  # the second says 1 always
    counts, _ = cr.LabelCounts.from_annotations(rows, np.tile([7, 8], 60), labels, n_classes=2)
    assert "most clearly rater " in cr.raters.rater_test(counts, n_resamples=99, rng=0).sentence()
    assert "(rater 7" in str(cr.raters.agreement(counts))


def test_a_careless_rater_who_prefers_no_label_is_found() -> None:
    rng = np.random.default_rng(3)
    truth = np.repeat(rng.integers(3, size=(300, 1)), 4, axis=1)
    labels = np.where(rng.random((300, 4)) < 0.8, truth, rng.integers(3, size=(300, 4)))
    labels[:, 1] = rng.integers(3, size=300)
    test = cr.raters.rater_test(cr.LabelCounts.from_table(labels, n_classes=3), n_resamples=99, rng=0)
    assert test.components["leaning"].pvalue > 0.05
    assert test.verdict() == "conflict"
    assert (test.details.rater, test.details.aspect) == ("rater 1", "agreement")
    assert "agree less with the rest" in test.sentence()
    two = cr.raters.rater_test(cr.LabelCounts.from_table(labels[:, :2], n_classes=3), n_resamples=99, rng=0)
    assert not two.components
    assert "careless takes three labels" in two.sentence()


def test_agreement_of_raters_by_hand() -> None:
    counts = cr.LabelCounts.from_table([[0, 0, 1]], n_classes=2)
    test = cr.raters.rater_test(counts, n_resamples=9, rng=0)
    # shares of the other labels that are equal 1/2, 1/2, 0, mean 1/3: (1/6)^2 + (1/6)^2 + (1/3)^2
    assert test.components["agreement"].statistic == pytest.approx(1 / 6)
    # tallies less expected: (1/3, -1/3) twice and (-2/3, 2/3): 2/9 + 2/9 + 8/9
    assert test.components["leaning"].statistic == pytest.approx(4 / 3)


def test_crossed_errors_by_a_loop() -> None:
    labels = np.array([[0, 1, 1], [0, 0, -1], [1, 1, 0], [0, 1, 0], [1, 1, 1]])
    counts = cr.LabelCounts.from_table(labels, n_classes=2, missing=-1)
    mean = np.tile([0.4, 0.6], (5, 1))
    values = pair_products(mean, counts.counts * 1.0).sum(axis=1)
    cells = np.zeros((5, 3))
    for i, row in enumerate(labels):
        here = [r for r in range(3) if row[r] >= 0]
        for r, s in itertools.permutations(here, 2):
            product = (np.eye(2)[row[r]] - mean[i]) @ (np.eye(2)[row[s]] - mean[i])
            cells[i, r] += 2 * product / (len(here) * (len(here) - 1))
    centre = cells.sum() / 5
    present = labels >= 0
    cells = np.where(present, cells - centre / present.sum(axis=1, keepdims=True), 0.0) / 5
    between = 3 / 2 * (cells.sum(axis=0) ** 2).sum() - (cells**2).sum()
    error = mean_error(values)
    expected = math.sqrt(error["stderr"] ** 2 + max(0.0, between))
    assert crossed_error(error, counts, mean, 1.0)["stderr"] == pytest.approx(expected)


def test_agreement_of_single_raters() -> None:
    counts = cr.LabelCounts.from_table([[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 0]], n_classes=2)
    result = cr.raters.agreement(counts)
    # rater 2 agrees with both others in one of four instances
    assert result.by_rater.value[2] == pytest.approx(1 / 4)
    assert result.alpha_without[2] == pytest.approx(1.0)
    assert result.confusion("rater 2") == pytest.approx(np.array([[0, 1], [1 / 2, 1 / 2]]))
    with pytest.raises(cr.InputError, match="must be one of the raters"):
        result.confusion("rater 9")
    plain = cr.raters.agreement(cr.LabelCounts(counts.counts))
    assert plain.krippendorff.value == result.krippendorff.value
    assert plain.raters is None
    with pytest.raises(cr.UnsupportedError, match="who gave which label"):
        plain.confusion("rater 0")
    with pytest.raises(cr.UnsupportedError, match="two labels or more"):
        cr.raters.agreement(cr.LabelCounts([[1, 0], [0, 1]]))
    with pytest.raises(cr.UnsupportedError, match="whole numbers of labels"):
        cr.raters.agreement(cr.LabelCounts.from_soft([[0.3, 0.7], [0.5, 0.5]], 2))
    same = cr.raters.agreement(cr.LabelCounts([[2, 0], [2, 0]]))
    assert not same.krippendorff.has_interval
    single = cr.raters.agreement(cr.LabelCounts([[2, 1]]))
    assert single.fleiss.stderr is None
    with pytest.raises(cr.InputError, match=r"one entry per prediction \(2\)"):
        cr.raters.leaving_raters_out([[0.5, 0.5]] * 2, counts, cr.brier)


def test_agreement_without_an_error_says_why() -> None:
    alike = cr.raters.agreement(cr.LabelCounts.from_table(np.zeros((10, 3)), n_classes=2))
    assert str(alike).startswith("krippendorff: all labels are of one class")
    assert "nan" not in str(alike)
    perfect = cr.raters.agreement(
        cr.LabelCounts.from_table(np.arange(30).reshape(10, 3) // 3 % 2, n_classes=2)
    )
    assert perfect.krippendorff.value == 1.0
    assert not perfect.krippendorff.has_interval  # 1 to 1 would claim what ten instances cannot show
    rare = np.zeros((200, 3), dtype=int)
    rare[0], rare[1] = 1, [0, 0, 1]
    assert (
        "decide"
        in cr.raters.agreement(cr.LabelCounts.from_table(rare, n_classes=2)).krippendorff.interval_refusal
    )


def test_errors_of_agreement_leave_out_instances_raters_and_labels() -> None:
    rng = np.random.default_rng(4)
    table = (rng.random((12, 4)) < rng.random((12, 1))).astype(float)
    table[rng.random(table.shape) < 0.2] = np.nan
    table[np.isnan(table).sum(axis=1) > 2, :2] = 1.0
    whole = cr.raters.agreement(cr.LabelCounts.from_table(table, n_classes=2)).krippendorff

    def away(cells: np.ndarray) -> float:
        kept = cells[(~np.isnan(cells)).sum(axis=1) > 1]
        return (
            cr.raters.agreement(cr.LabelCounts.from_table(kept, n_classes=2)).krippendorff.value - whole.value
        )

    rows = np.array([away(np.delete(table, row, axis=0)) for row in range(12)])
    raters = np.array([away(np.delete(table, rater, axis=1)) for rater in range(4)])
    labels = 0.0
    for row, rater in np.argwhere(~np.isnan(table)):
        cells = table.copy()
        cells[row, rater] = np.nan
        labels += away(cells) ** 2
    of_rows = 11 / 12 * ((rows - rows.mean()) ** 2).sum()
    of_raters = 3 / 4 * ((raters - raters.mean()) ** 2).sum()
    assert whole.stderr == pytest.approx(math.sqrt(of_rows + max(0.0, of_raters - labels)))
    assert whole.degrees_of_freedom == 3


def test_moments_need_as_many_labels() -> None:
    belief, counts = cr.Dirichlet(np.ones((20, 2))), cr.LabelCounts(np.tile([2, 1], (20, 1)))
    assert cr.raters.spread_test(belief, counts, statistics=["third_moments"], n_resamples=19, rng=0).n == 20
    with pytest.raises(cr.UnsupportedError, match="needs instances with 4 labels; none has more than 3"):
        cr.raters.spread_test(belief, counts, statistics=["fourth_moments"])


def test_four_labels_and_moments_are_unbiased() -> None:
    theta, k = np.array([0.5, 0.3, 0.2]), 5
    counts = every_count(k)
    ways = [math.factorial(k) / math.prod(map(math.factorial, c.tolist())) for c in counts]
    p = np.prod(theta**counts, axis=1) * ways
    disagree, phi = 1 - (theta**2).sum(), 1 - (np.array([0.6, 0.2, 0.2]) ** 2).sum()
    rows = cr.predictions.as_rows(
        cr.Point(np.tile([0.6, 0.2, 0.2], (len(counts), 1))), cr.LabelCounts(counts)
    )
    squared = four_evidence(rows.example).means[1][0]
    assert p @ squared == pytest.approx((disagree - phi) ** 2)
    moments = factorial_moments(counts * 1.0, 4)
    shares = order_shares(counts * 1.0, 3)
    for r in range(4):
        assert p @ moments[r] == pytest.approx(theta ** (r + 1))
        assert p @ shares[r] == pytest.approx([math.comb(3, r) * t**r * (1 - t) ** (3 - r) for t in theta])


def test_four_labels_stand_in_the_decomposition() -> None:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), size=200)
    counts = rng.multinomial(np.where(np.arange(200) < 150, 5, 2), probs)
    four = cr.raters.decompose_disagreement(probs, cr.LabelCounts(counts)).four_labels
    assert four.expected.n == 150
    assert four.expected.value == pytest.approx(four.epistemic.value + four.irreducible.value)
    assert four.epistemic.value == pytest.approx(four.calibration.value + four.dispersion.value)
    few = cr.raters.decompose_disagreement(probs[150:], cr.LabelCounts(counts[150:]))
    assert few.four_labels is None


def test_the_entropy_split_is_an_interval() -> None:
    rng = np.random.default_rng(4)
    p, wide = np.full((20_000, 2), 0.5), []
    truth = rng.beta(2, 2, size=20_000)
    for k in (1, 2, 4):
        events = rng.binomial(k, truth)
        split = cr.raters.entropy_split(p, cr.LabelCounts(np.stack([k - events, events], axis=1)))
        low, high = split.aleatoric
        assert low < 0.5833 < high  # E H of Beta(2, 2) in nats
        wide.append(high - low)
    assert wide[0] == pytest.approx(math.log(2), abs=0.01)  # one label: anything
    assert wide[0] > 5 * wide[1] > 5 * wide[2]
    with pytest.raises(cr.UnsupportedError, match="5 or more"):
        cr.raters.entropy_split(p[:3], cr.LabelCounts([[1, 1]] * 3), order=5)
    with pytest.raises(cr.InputError, match="must have 2 classes like the predictions; got 3"):
        cr.raters.entropy_split(p[:3], cr.LabelCounts([[1, 1, 1]] * 3))


def test_an_evaluation_asks_whether_ignorance_is_honest() -> None:
    stated, counts = claim(300, 0.2)
    evaluation = cr.evaluate(stated, counts, statistics=["brier"], n_resamples=199, rng=0)
    (answer,) = [question for question in evaluation.headline.questions if question.about == "ignorance"]
    assert answer.question == "Is its ignorance honest?"
    assert answer.word == evaluation.ignorance.word == "conflict"
    assert "With a concentration fitted on other folds it says" in answer.sentence
    repaired = evaluation.ignorance.repaired
    assert abs(repaired.gap.value) < 0.5 * abs(evaluation.ignorance.stated.gap.value)
    assert any("Repair the stated ignorance" in text for text, _ in evaluation.headline.steps)
    assert cr.evaluate(stated.mean(), counts, statistics=["brier"], n_resamples=199, rng=0).ignorance is None


def test_a_repair_that_diverges_leaves_the_verdict_of_an_evaluation() -> None:
    rng = np.random.default_rng([888, 35])
    scores = 1.2 * rng.normal(size=(400, 1, 3)) + 0.8 * rng.normal(size=(400, 5, 3))
    members = cr.Ensemble.from_logits(scores, member_axis=1)
    counts = cr.LabelCounts(rng.multinomial(2, members.mean().probs))  # no ignorance at all
    evaluation = cr.evaluate(members, counts, statistics=["brier"], n_resamples=199, rng=35)
    assert evaluation.ignorance.word == "conflict"
    assert evaluation.ignorance.repaired is None
    assert (
        "the best alpha0 is infinite"
        in dict(evaluation.not_run)["repair after the test of the stated ignorance"]
    )


def test_counts_are_asked_for() -> None:
    for function in (cr.raters.agreement, cr.raters.rater_test):
        with pytest.raises(cr.InputTypeError, match="must be LabelCounts; got list"):
            function([[1, 2]])
    with pytest.raises(cr.InputTypeError, match="must be LabelCounts; got list"):
        cr.raters.entropy_split([[0.5, 0.5]], [[1, 2]])
    with pytest.raises(cr.InputTypeError, match="Pass all members"):
        cr.recalibrate.IgnoranceCalibration().fit(cr.Point([[0.5, 0.5]] * 2), cr.LabelCounts([[1, 1]] * 2))


def test_an_evaluation_in_chunks_judges_the_same_rows() -> None:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), size=(120, 4))
    counts = np.array([rng.multinomial(3, row[rng.integers(4)]) for row in probs])
    members, labels = cr.Ensemble(probs, member_axis=1), cr.LabelCounts(counts)
    whole, chunks = (
        cr.evaluate(*rows, rng=0, n_resamples=19).ignorance
        for rows in ((members, labels), (cr.scan(members, labels, chunk_rows=50),))
    )
    assert whole is not None
    assert chunks is not None
    assert chunks.stated.gap.value == pytest.approx(whole.stated.gap.value, rel=1e-9)
    assert chunks.stated.test.pvalue == whole.stated.test.pvalue


def test_two_raters_leave_no_alpha_without_one_of_them() -> None:
    labels = np.array([0, 0, 1, 1, 0, 1, 1, 0])
    counts, _ = cr.LabelCounts.from_annotations(
        np.repeat(np.arange(4), 2), np.tile(["ana", "bo"], 4), labels, n_classes=2
    )
    text = str(cr.raters.agreement(counts))
    assert "(ana) to 0.50 (bo)" in text
    assert "nan" not in text
