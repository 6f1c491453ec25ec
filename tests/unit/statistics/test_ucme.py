"""Kernel errors at test locations, against loops written from the formula."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from scipy.stats import norm

import credibly as cr
from credibly.predictions import Classes, Dataset, Reals
from credibly.statistics.locations import LocationBound
from credibly.statistics.real_kernels import with_labels

RNG = np.random.default_rng(2)
N = 30
MEAN, STD = RNG.normal(size=N), RNG.uniform(0.5, 1.5, size=N)
Y = MEAN + STD * RNG.normal(size=N)
UCME = cr.statistics.ucme


def test_several_members_against_a_loop() -> None:
    mean, std = np.stack([MEAN, MEAN + 1], axis=1), np.stack([STD, STD], axis=1)
    bound = UCME.bind(cr.Gaussian(mean, std), locations=3, label_bandwidth=0.7)
    near, total = bound.views.near(Reals(Y[None, :]))[0], 0.0
    for j, target in enumerate(bound.plan.targets):
        spread = np.hypot(0.7, std)
        expected = (0.7 / spread * np.exp(-((mean - target) ** 2) / (2 * spread**2))).mean(axis=1)
        seen = np.exp(-((Y - target) ** 2) / (2 * 0.49)) - expected
        total += float((near[j] * seen).mean()) ** 2 / 3
    found = UCME(cr.Gaussian(mean, std), Y, locations=3, label_bandwidth=0.7).value
    assert found == pytest.approx(total, abs=1e-14)


def test_the_worst_location_is_where_labels_are_off() -> None:
    rng = np.random.default_rng(0)
    mean = rng.uniform(-3, 3, size=2000)
    labels = mean + rng.normal(size=2000) + 1.5 * (mean > 2)
    given = cr.Gaussian(mean, np.ones(2000))
    bound = UCME.bind(given)
    found = UCME(given, labels)
    assert found.predicted[found.worst] > 1.5
    assert found.predicted == tuple(bound.plan.places[:, 0])
    (note,) = [one for one in found.notes if "standard errors" in one]
    assert f"mean {found.predicted[found.worst]:.4g}" in note
    shown = cr.plots.picture(found)
    assert note in shown.finding
    assert shown.table().rows[0][0] == f"{found.predicted[found.worst]:.3g}"
    # the kernel is wide, but far from the corner nothing is beyond chance
    assert max(np.array(found.predicted)[shown.beyond]) > 2
    assert not shown.beyond[np.array(found.predicted) < -1].any()


def test_every_kind_is_tested() -> None:
    levels = np.array([0.1, 0.5, 0.9])
    table = MEAN[:, None] + STD[:, None] * norm.ppf(levels)
    probs = np.random.default_rng(1).dirichlet(np.ones(3), size=N)
    for given, labels in (
        (cr.Gaussian(MEAN + 3, STD), Y),
        (cr.Quantiles(table + 3, levels), Y),
        (cr.Samples(table + 3), Y),
        (probs, probs.argmin(axis=1)),
    ):
        found = cr.calibration_test(given, labels, statistics=UCME, n_resamples=99, rng=0)
        assert found.pvalue == 0.01


def test_bad_input() -> None:
    for wrong in (0, True, 10**6, ((1.0, 2.0),), ((1.0, 2.0), (1.0,)), "many", ()):
        with pytest.raises(cr.CrediblyError, match=r"locations|types that its documentation"):
            UCME.with_(locations=wrong)
    with pytest.raises(cr.InputError, match="must have 3 numbers each"):
        UCME(cr.Gaussian(MEAN, STD), Y, locations=((0.0, 1.0, 2.0, 3.0),))
    with pytest.raises(cr.InputTypeError, match=r"got Samples\. Give only the number of locations"):
        UCME(cr.Samples(np.zeros((3, 2))), [0.0, 1.0, 2.0], locations=((0.0, 1.0, 2.0),))


def test_weights_and_the_order_of_members_choose_the_same_locations() -> None:
    rng = np.random.default_rng(59)
    mean, std, y = rng.normal(size=(59, 3)), rng.uniform(0.5, 2.0, size=(59, 3)), rng.normal(size=59)
    weights = np.arange(59) % 4
    ucme = cr.statistics.ucme
    weighted = float(ucme(cr.Gaussian(mean, std), y, sample_weight=weights))
    copies = cr.Gaussian(mean.repeat(weights, axis=0), std.repeat(weights, axis=0))
    assert weighted == pytest.approx(float(ucme(copies, y.repeat(weights))), rel=1e-9)
    turned = float(ucme(cr.Gaussian(mean[:, ::-1], std[:, ::-1]), y))
    assert turned == pytest.approx(float(ucme(cr.Gaussian(mean, std), y)), rel=1e-9)


def test_locations_against_a_loop() -> None:
    """Two members of weights 1/4 and 3/4: mean, spread, difference and its error at every location."""
    mean, std = np.stack([MEAN, MEAN + 1], axis=1), np.stack([STD, 2 * STD], axis=1)
    given = cr.Gaussian(mean, std, weights=[0.25, 0.75])
    weights = RNG.uniform(0.5, 2.0, size=N)
    settings = {"locations": 4, "label_bandwidth": 0.7}
    near = UCME.bind(given, **settings).views.near(Reals(Y[None, :]))[0]
    found = UCME(given, Y, sample_weight=weights, **settings)
    shares = np.array([0.25, 0.75])
    means = mean @ shares
    spreads = np.sqrt((std**2 + mean**2) @ shares - means**2)
    for j, target in enumerate(found.label):
        row = int(np.argmin(np.abs(means - found.predicted[j])))
        assert found.predicted[j] == pytest.approx(means[row], abs=1e-12)
        assert found.spread[j] == pytest.approx(spreads[row], abs=1e-12)
        seen, variance = 0.0, 0.0
        for i in range(N):
            first, second = (
                sum(
                    share * scale / np.hypot(scale, s) * np.exp(-((m - target) ** 2) / 2 / (scale**2 + s**2))
                    for share, m, s in zip(shares, mean[i], std[i], strict=True)
                )
                for scale in (0.7, 0.7 / np.sqrt(2))
            )
            own = weights[i] * near[j, i]
            seen += own * (np.exp(-((Y[i] - target) ** 2) / (2 * 0.49)) - first)
            variance += own**2 * (second - first**2)
        assert found.difference[j] == pytest.approx(seen / weights.sum(), abs=1e-14)
        assert found.difference_stderr[j] == pytest.approx(np.sqrt(variance) / weights.sum(), abs=1e-14)
    assert found.value == pytest.approx(np.mean(np.square(found.difference)), abs=1e-14)


def test_the_standard_error_is_that_of_labels_drawn_from_the_predictions() -> None:
    levels = np.array([0.1, 0.5, 0.9])
    table = MEAN[:, None] + STD[:, None] * norm.ppf(levels)
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(np.ones(3), size=N)
    reals = [MEAN + STD * rng.normal(size=N) for _ in range(200)]
    classes = [(rng.random((N, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, 2) for _ in range(200)]
    raters = [cr.LabelCounts(rng.multinomial(4, probs)) for _ in range(200)]
    for given, drawn in (
        (cr.Gaussian(MEAN, STD), reals),
        (cr.Quantiles(table, levels), reals),
        (cr.Point(probs), classes),
        (cr.Point(probs), raters),
    ):
        bound = UCME.bind(given, locations=4)
        sums = [bound.observed_sums(UCME.labels(given, labels)) for labels in drawn]
        seen = np.array([bound.witness(one)[0] for one in sums])
        # 200 draws: the standard deviation is known to 1 / sqrt(400) = 5 %
        np.testing.assert_allclose(seen.std(axis=0), bound.witness(sums[0])[1], rtol=0.2)


def test_locations_of_classes_and_quantiles() -> None:
    probs = np.array([[0.7, 0.3], [0.2, 0.8]])
    found = UCME(probs, [0, 0], locations=((0.7, 0.3, 1.0), (0.2, 0.8, 0.0)), bandwidth=1.0)
    assert (found.predicts, found.predicted, found.label, found.spread) == (
        "probability",
        (0.3, 0.2),
        (1.0, 0.0),
        (),
    )
    # class 1 near (0.7, 0.3): (-0.3 - 0.8 exp(-sqrt(0.5))) / 2
    assert found.difference[0] == pytest.approx((-0.3 - 0.8 * np.exp(-np.sqrt(0.5))) / 2, abs=1e-14)
    assert cr.plots.picture(found).table().rows[0][:2] == ("0.2", "0")
    levels = np.array([0.1, 0.5, 0.9])
    table = MEAN[:, None] + STD[:, None] * norm.ppf(levels)
    found = UCME(cr.Quantiles(table, levels), Y + 3, locations=6)
    assert set(found.label) <= set(levels)
    for value, level in zip(found.predicted, found.label, strict=True):
        assert value in table[:, list(levels).index(level)]
    assert "at or below the quantile at" in found.worst_words()
    assert max(found.difference) < 0  # labels are too large: fewer lie below


@pytest.mark.parametrize("kind", ["gaussian", "quantiles", "classes"])
def test_locations_are_drawn_and_written(kind: str) -> None:
    levels = np.array([0.1, 0.5, 0.9])
    probs = np.random.default_rng(1).dirichlet(np.ones(3), size=N)
    given, labels = {
        "gaussian": (cr.Gaussian(MEAN, STD), Y + 2),
        "quantiles": (cr.Quantiles(MEAN[:, None] + STD[:, None] * norm.ppf(levels), levels), Y + 2),
        "classes": (cr.Point(probs), probs.argmin(axis=1)),
    }[kind]
    found = UCME(given, labels)
    assert found == UCME(given, labels)
    written = json.loads(json.dumps(found.to_dict()))
    assert tuple(written["difference"]) == found.difference
    assert tuple(written["difference_stderr"]) == found.difference_stderr
    ax = found.plot()
    marked = sum(
        len(marks.get_offsets()) for marks in ax.collections if marks.get_label()[:4] in ("more", "fewe")
    )
    assert marked == len(found.label) == len(cr.plots.picture(found).table().rows)
    assert ("predicted mean ± spread" in ax.get_legend_handles_labels()[1]) == (kind == "gaussian")


def test_what_the_predictions_rule_out_and_what_chance_explains() -> None:
    sure = np.eye(2)[[0, 0, 1]]
    found = UCME(sure, [1, 0, 1])
    assert np.isinf(found.scores[found.worst])
    assert "which it rules out" in found.worst_words()
    found.plot()
    right = UCME(sure, [0, 0, 1])
    assert right.scores.tolist() == [0.0]  # both rows are one location: classes have no order
    assert cr.plots.picture(right).finding == "0 of 1 locations differ by more than chance explains."
    with pytest.raises(cr.InputError, match="level"):
        found.plot(level=1.0)
    with pytest.raises(cr.InputError, match="must end with a class from 0 to 1; got 2"):
        UCME(sure, [0, 0, 1], locations=((0.5, 0.5, 2.0),))


def test_chunks_have_the_locations_of_all_rows() -> None:
    parts = [(cr.Gaussian(MEAN[some], STD[some]), Y[some]) for some in (slice(0, 11), slice(11, N))]
    whole, found = UCME(cr.Gaussian(MEAN, STD), Y), UCME(cr.scan(parts))
    assert (found.predicted, found.spread, found.label) == (whole.predicted, whole.spread, whole.label)
    np.testing.assert_allclose(found.difference, whole.difference, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.difference_stderr, whole.difference_stderr, rtol=1e-12)


DRAWS = MEAN[:, None] + STD[:, None] * RNG.normal(size=(N, 6))


def test_draws_against_a_loop() -> None:
    """Places are means of the Gaussian kernel over label and draws; a residual leaves the label out."""
    found = UCME(cr.Samples(DRAWS), Y, locations=4)
    w, chances = np.full(6, 1 / 6), np.full(7, 1 / 7)
    pools = np.column_stack([Y, DRAWS])
    width, reach = found.settings["label_bandwidth"], found.settings["bandwidth"]

    def product(a: np.ndarray, u: np.ndarray, b: np.ndarray, v: np.ndarray) -> float:
        return float(u @ np.exp(-((a[:, None] - b) ** 2) / (2 * width**2)) @ v)

    at = np.array([0, 10, 19, 29])  # rows in the order of their draws
    order = np.sort(DRAWS, axis=1)
    located = order[np.lexsort(order.T[::-1])][at]
    total = []
    for draws, label, mean in zip(located, found.label, found.predicted, strict=True):
        assert mean == pytest.approx(draws @ w)
        apart = [
            product(one, chances, one, chances)
            + product(draws, w, draws, w)
            - 2 * product(one, chances, draws, w)
            for one in pools
        ]
        near = np.exp(-np.sqrt(np.maximum(apart, 0)) / reach)
        alike = np.exp(-((pools - label) ** 2) / (2 * width**2))
        total.append(float((near * (alike[:, 0] - alike[:, 1:] @ w)).mean()))
    assert np.array(found.difference) == pytest.approx(np.array(total), abs=1e-12)
    assert found.value == pytest.approx((np.array(total) ** 2).mean(), abs=1e-14)


def test_places_of_draws_are_uncorrelated_with_residuals() -> None:
    """Every number of a pool may be the label: over all of them what a location sees is 0 on average."""
    pools = np.column_stack([Y, DRAWS])
    plan = UCME.plan(cr.Samples(DRAWS))
    seen = []
    for label in range(7):
        given = cr.Samples(np.delete(pools, label, axis=1))
        bound = UCME.bind(given, plan)
        seen.append(bound.state(cr.predictions.as_labels(given, pools[:, label]))["seen"][0])
    assert np.mean(seen, axis=0) == pytest.approx(0.0, abs=1e-12)
    assert np.abs(seen).max() > 0.01


def test_pools_see_what_draws_and_labels_do() -> None:
    """Observed: the value of the draws themselves; replicates: draws that changed places with the label."""
    given = cr.Samples(DRAWS)
    tested = cr.calibration_test(given, Y, statistics=UCME, n_resamples=9, rng=1)
    assert tested.statistic == pytest.approx(float(UCME(given, Y)), rel=1e-9)
    pool = with_labels(Dataset(given, Y)).predictions
    plan = UCME.plan(given)
    pools = LocationBound(UCME, pool, plan, ())
    for choice in (np.zeros(N, dtype=int), np.arange(N) % 7):
        left = cr.Samples(pool.samples(choice).values)
        label = np.take_along_axis(pool.values, choice[:, None], axis=1)[:, 0]
        seen = UCME.bind(left, plan).state(Reals(label[None, :]))["seen"]
        assert pools.state(Classes(choice[None, :], 7))["seen"] == pytest.approx(seen, abs=1e-12)


def test_errors_of_clusters_are_no_smaller_than_those_of_independent_rows() -> None:
    """All clusters have nearly the same two labels, so leaving one out hardly moves anything."""
    y = np.tile([-1.0, 1.0], 20) + 0.01 * np.random.default_rng(0).normal(size=40)
    given, ids = cr.Gaussian(np.zeros(40), np.ones(40)), np.repeat(np.arange(20), 2)
    apart, found = UCME(given, y), UCME(given, y, clusters=ids)
    assert found.n_clusters == 20
    assert found.difference_stderr == pytest.approx(apart.difference_stderr)


def test_draws_in_chunks_and_with_weights_of_rows() -> None:
    given, ucme = cr.Samples(DRAWS), UCME
    rows = cr.scan([(DRAWS[part], Y[part]) for part in (slice(0, 7), slice(7, N))], kind="samples")
    assert ucme(rows).difference == pytest.approx(ucme(given, Y).difference, rel=1e-12)
    tested = [cr.calibration_test(*one, statistics="ucme", rng=1) for one in ((rows,), (given, Y))]
    assert tested[0].pvalue == tested[1].pvalue
    twice = np.arange(N) % 3
    repeated = np.repeat(np.arange(N), twice)
    weighted = ucme(given, Y, sample_weight=twice)
    assert weighted.difference == pytest.approx(ucme(given[repeated], Y[repeated]).difference)


def test_clusters_are_left_out_once_at_every_location() -> None:
    rng = np.random.default_rng(4)
    ids = np.repeat(np.arange(12), 10)
    mean = rng.normal(size=12)[ids]
    labels = mean + 0.8 * rng.normal(size=12)[ids] + 0.6 * rng.normal(size=120)  # a cluster shares most of it
    given = cr.Gaussian(mean, np.ones(120))
    apart, found = UCME(given, labels), UCME(given, labels, clusters=ids)
    assert found.value == pytest.approx(apart.value, rel=1e-12)
    assert found.difference == pytest.approx(apart.difference, rel=1e-12)
    bound = UCME.bind(given)
    batch = cr.predictions.as_labels(given, labels)
    terms = (bound.views.near(batch) * bound.views.residual(batch))[0]  # (j, n)
    for at, error in enumerate(found.difference_stderr):
        without = np.array([terms[at, ids != c].mean() for c in range(12)])
        left_out = np.sqrt(11 / 12 * np.sum((without - found.difference[at]) ** 2))
        assert error == pytest.approx(max(left_out, apart.difference_stderr[at]), rel=1e-9)
    assert found.n_clusters == 12
    assert max(found.difference_degrees) <= 11.0
    assert np.median(np.array(found.difference_stderr) / apart.difference_stderr) > 1.5
    assert [note for note in found.notes if "standard errors" in note] == [found.worst_words()]
    assert json.loads(json.dumps(found.to_dict()))["difference_degrees"] == list(found.difference_degrees)


def test_the_map_of_clusters_names_what_is_wrong_and_too_few_cannot_tell() -> None:
    rng = np.random.default_rng(5)
    mean = rng.normal(size=200)
    given, labels = cr.Gaussian(mean, np.ones(200)), mean + 2.0 + rng.normal(size=200)
    many = UCME(given, labels, clusters=np.arange(200) // 5)
    assert many.beyond().any()
    assert "by more than chance explains;" in cr.plots.picture(many).finding
    few = UCME(given, labels, clusters=np.arange(200) // 40)
    assert not few.beyond().any()
    said = "5 clusters are too few to tell which locations differ by more than chance."
    assert cr.plots.picture(few).finding == said
    test = cr.calibration_test(
        given, labels, statistics="ucme", clusters=np.arange(200) // 5, n_resamples=99, rng=0
    )
    assert test.pvalue == 0.01
    assert test.statistic == pytest.approx(many.value, rel=1e-12)


def test_a_bound_statistic_can_be_sent_away() -> None:
    given = cr.Gaussian(MEAN, STD)
    bound, labels = UCME.bind(given), Reals(Y[None, :])
    here = bound.state(labels)["seen"]
    there = pickle.loads(pickle.dumps(bound))  # noqa: S301 - our own bytes
    assert (there.state(labels)["seen"] == here).all()
