"""`predictive_check`: what it reports, on which replicates, what it concludes, and what it refuses."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.philox import Stream, Uniforms, as_seed
from libraries import Library

FIVE = ("accuracy", "brier", "log_loss", "confidence_ece", "classwise_ece")
BOTH = ("bayesian", "independent")


def draw(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1)


def world(n: int = 60, m: int = 5, k: int = 3, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.ones(k), size=(n, m))
    return members, draw(members[:, m // 2], rng)


def drawn_by_loop(probs: np.ndarray, seed: tuple[int, int], replicate: int) -> np.ndarray:
    """Labels of one replicate: u = (16-bit piece + 53-bit rest) / 2^16, and how many steps it has passed."""
    labels = []
    for i, row in enumerate(probs):
        piece, rest = np.empty(1, dtype=np.uint16), np.empty(1)
        Uniforms(seed, Stream.PIECES).fill_pieces(piece, replicate, i)
        Uniforms(seed, Stream.RESTS).fill(rest, replicate, i)
        uniform = (float(piece[0]) + rest[0]) / 2**16
        labels.append(sum(uniform >= step for step in np.cumsum(row)[:-1]))
    return np.array(labels)


def test_replicates_are_those_of_a_plain_loop_with_the_same_seed() -> None:
    members, labels = world(n=25)
    check = cr.predictive_check(members, labels, statistics=FIVE, n_resamples=12, rng=3)
    seed = as_seed(3)
    chosen = []
    for d in range(12):
        uniform = np.empty(1)
        Uniforms(seed, Stream.MEMBERS).fill(uniform, d, 0)
        chosen.append(int(uniform[0] * 5))
    assert check.bayesian is not None
    assert check.bayesian.members.tolist() == sorted(chosen)
    for d in range(12):
        shared = drawn_by_loop(members[:, check.bayesian.members[d]], seed, d)
        mixed = drawn_by_loop(members.mean(axis=1), seed, d)
        for name in FIVE:
            statistic = cr.statistics.registered()[name]
            for hypothesis, own in (("bayesian", shared), ("independent", mixed)):
                null = check.under(hypothesis).checks[name].null_distribution
                assert null[d] == pytest.approx(float(statistic(members, own)), abs=1e-14)


def test_the_result_is_what_the_replicates_say() -> None:
    members, labels = world()
    check = cr.predictive_check(members, labels, statistics=FIVE, n_resamples=199, rng=1)
    for hypothesis in BOTH:
        for name, result in check.under(hypothesis).checks.items():
            null, value = result.null_distribution, result.statistic
            assert value == pytest.approx(float(cr.statistics.registered()[name](members, labels)), abs=1e-14)
            above, below = (null >= value - 1e-12).sum(), (null <= value + 1e-12).sum()
            assert result.details.upper_pvalue == (1 + above) / 200
            assert result.details.lower_pvalue == (1 + below) / 200
            assert result.pvalue == pytest.approx(min(1, 2 * (1 + min(above, below)) / 200))
            assert result.pvalue_interval[0] <= result.pvalue <= result.pvalue_interval[1]
            assert result.details.direction == ("above" if above <= below else "below")
            ordered = np.sort(null)
            # the smallest values with at least 5 % and 95 % of the replicates at or below
            assert result.details.sharpness == pytest.approx(ordered[189] - ordered[9])
            assert result.effect_size == pytest.approx(value - null.mean())
            low, high = result.acceptance_region
            assert result.rejects() == (not low <= value <= high)
            assert (result.n, result.details.n_members, result.n_resamples) == (60, 5, 199)
            assert result.adjusted_pvalue >= result.pvalue - 0.02
            assert result.hypothesis in str(check)


def test_members_draw_the_replicates_and_both_sides_are_counted() -> None:
    members, labels = world()
    check = cr.predictive_check(members, labels, statistics=["brier"], hypothesis="bayesian", rng=1)
    result = check.checks["brier"]
    assert set(check.bayesian.members.tolist()) == set(range(5))
    above = (result.null_distribution >= result.statistic).sum()
    assert result.details.upper_pvalue == pytest.approx((1 + above) / 1000)


def test_of_several_raters_one_is_checked() -> None:
    members, labels = world()
    k = members.shape[2]
    checked = cr.predictive_check(
        members, cr.LabelCounts(4 * np.eye(k, dtype=int)[labels]), n_resamples=49, rng=1
    )
    single = cr.predictive_check(members, labels, n_resamples=49, rng=1)
    assert {name: check.pvalue for name, check in checked.checks.items()} == {
        name: check.pvalue for name, check in single.checks.items()
    }
    assert "one label per instance was tested" in checked.notes[0]


@pytest.mark.parametrize("name", ["confidence_ece", "classwise_ece", "skce", "brier"])
def test_one_member_is_the_consistency_test(name: str) -> None:
    members, labels = world(m=1)
    check = cr.predictive_check(members, labels, statistics=[name], n_resamples=99, rng=5)
    test = cr.calibration_test(members[:, 0], labels, statistics=name, n_resamples=99, rng=5)
    for hypothesis in BOTH:
        result = check.under(hypothesis).checks[name]
        assert np.allclose(result.null_distribution, test.null_distribution, rtol=0, atol=1e-13)
        if test.tail == "greater":
            assert result.details.upper_pvalue == test.pvalue
        else:
            assert result.pvalue == test.pvalue
    assert "With one member both hypotheses are the same." in check.limits


def test_a_point_is_checked_under_independence_as_one_member_is() -> None:
    members, labels = world(m=1)
    point = cr.predictive_check(members[:, 0], labels, hypothesis="independent", rng=5)
    both = cr.predictive_check(members, labels, rng=5)
    for name, result in point.checks.items():
        assert np.array_equal(result.null_distribution, both.independent.checks[name].null_distribution)
    assert point.bayesian is None


def test_ties_count_as_extreme() -> None:
    members, labels = world()
    constant = cr.statistic(lambda predictions, labels: 0.1 + 0.2, tail="greater", name="constant")
    result = cr.predictive_check(members, labels, statistics=[constant], n_resamples=99, rng=0).checks[
        "constant"
    ]
    assert (result.pvalue, result.details.upper_pvalue, result.details.lower_pvalue) == (1.0, 1.0, 1.0)
    assert result.details.sharpness == 0.0
    sure = np.zeros((20, 2, 2))
    sure[:, :, 0] = 1.0
    result = cr.predictive_check(sure, np.zeros(20, int), statistics=["accuracy"], rng=0).checks["accuracy"]
    assert (result.statistic, result.pvalue) == (1.0, 1.0)


def test_user_statistics_scalar_batched_and_plain_agree() -> None:
    members, labels = world()

    def share(predictions: cr.Ensemble, labels: np.ndarray) -> float:
        assert predictions.n_members >= 4  # all or all but one, never the drawn member
        return float((labels == 0).mean())

    def shares(predictions: cr.Ensemble, labels: np.ndarray) -> np.ndarray:
        return (labels == 0).mean(axis=1)

    check = cr.predictive_check(
        members,
        labels,
        statistics=[
            share,
            cr.statistic(share, tail="greater", name="scalar"),
            cr.statistic(shares, tail="two-sided", batched=True),
        ],
        n_resamples=99,
        rng=2,
    )
    for hypothesis in BOTH:
        plain, scalar, batched = check.under(hypothesis).checks.values()
        assert np.array_equal(plain.null_distribution, scalar.null_distribution)
        assert np.array_equal(plain.null_distribution, batched.null_distribution)
        assert plain.pvalue == scalar.pvalue == batched.pvalue


def test_every_registered_statistic_of_classes_can_be_checked() -> None:
    members, labels = world(n=30)
    names = [
        name for name, statistic in cr.statistics.registered().items() if "classes" in statistic.traits.labels
    ]
    check = cr.predictive_check(members, labels, statistics=names, n_resamples=19, rng=0)
    assert list(check.bayesian.checks) == list(check.independent.checks) == names


def coin(n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Members are sure of one of two sides, in equal parts; what they say of an instance is the same."""
    sides = np.repeat([0.9, 0.1], m // 2)
    members = np.stack([sides, 1 - sides], axis=1)
    return np.tile(members, (n, 1, 1)), (rng.random(n) < 0.1).astype(int)


def test_a_good_model_with_a_large_calibration_error_is_no_conflict() -> None:
    members, labels = coin(400, 50, np.random.default_rng(1))
    check = cr.predictive_check(members, labels, statistics=["classwise_ece"], rng=0)
    result = check.bayesian.checks["classwise_ece"]
    assert result.statistic == pytest.approx(0.4, abs=0.05)  # |0.5 - 0.9|
    assert result.verdict() == "no conflict found"
    assert check.independent.checks["classwise_ece"].verdict() == "conflict"


def test_a_bad_model_without_calibration_error_is_a_conflict() -> None:
    members, _ = coin(400, 50, np.random.default_rng(1))
    labels = np.arange(400) % 2  # half and half, as the mean says and no member does
    check = cr.predictive_check(members, labels, statistics=["classwise_ece"], rng=0)
    result = check.bayesian.checks["classwise_ece"]
    assert result.statistic == pytest.approx(0.0, abs=1e-12)
    assert result.verdict() == "conflict"
    assert result.details.direction == "below"
    assert check.independent.checks["classwise_ece"].details.direction == "below"


def test_chunks_of_rows_change_nothing_but_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    from credibly.hypotests.resampling import requests

    members, labels = world(n=101)
    groups = np.arange(101) % 3
    whole = cr.predictive_check(members, labels, statistics=FIVE, groups=groups, n_resamples=50, rng=9)
    monkeypatch.setattr(requests, "rows_at_once", lambda predictions, n_targets: 17)
    cut = cr.predictive_check(members, labels, statistics=FIVE, groups=groups, n_resamples=50, rng=9)
    for hypothesis in BOTH:
        audited, other = whole.under(hypothesis), cut.under(hypothesis)
        for name in FIVE:
            assert np.allclose(
                audited.checks[name].null_distribution,
                other.checks[name].null_distribution,
                rtol=0,
                atol=1e-13,
            )
            assert audited.checks[name].pvalue == other.checks[name].pvalue
            for group in ("0", "1", "2"):
                assert audited.groups[group][name].pvalue == other.groups[group][name].pvalue


def test_every_array_library_gives_the_same_result(library: Library) -> None:
    members, labels = world(n=30)
    expected = cr.predictive_check(members, labels, statistics=FIVE, groups=labels, n_resamples=40, rng=1)
    check = cr.predictive_check(
        library.asarray(members),
        library.asarray(labels),
        statistics=FIVE,
        groups=library.asarray(labels),
        n_resamples=40,
        rng=1,
    )
    for hypothesis in BOTH:
        for name in FIVE:
            result, other = expected.under(hypothesis).checks[name], check.under(hypothesis).checks[name]
            assert np.allclose(result.null_distribution, other.null_distribution, rtol=0, atol=1e-13)
            assert result.pvalue == other.pvalue
    power = check.power(grid=[0.2, 1.0], n_repeats=10)
    same = expected.power(grid=[0.2, 1.0], n_repeats=10)
    assert power.power["bayesian"]["brier"].tolist() == same.power["bayesian"]["brier"].tolist()


def test_members_first_weights_and_single_precision() -> None:
    members, labels = world()
    weights = [0.0, 0.0, 0.9, 0.1, 0.0]
    weighted = cr.predictive_check(cr.Ensemble(members, weights=weights), labels, rng=0)
    counts = np.bincount(weighted.bayesian.members, minlength=5)
    assert counts[[0, 1, 4]].tolist() == [0, 0, 0]
    assert 850 < counts[2] < 950
    first = cr.Ensemble(np.ascontiguousarray(np.moveaxis(members, 1, 0)), member_axis=0)
    one, other = (cr.predictive_check(given, labels, rng=0) for given in (first, members))
    assert one.bayesian.checks["accuracy"].pvalue == other.bayesian.checks["accuracy"].pvalue
    single = cr.predictive_check(members.astype(np.float32), labels, n_resamples=19, rng=0)
    assert single.n == 60


def test_a_dirichlet_is_checked_by_its_means_and_says_so() -> None:
    rng = np.random.default_rng(2)
    alpha = rng.gamma(2.0, size=(40, 4, 3)) + 0.1
    means = alpha / alpha.sum(axis=2, keepdims=True)
    labels = draw(means.mean(axis=1), rng)
    checked = cr.predictive_check(cr.Dirichlet(alpha), labels, n_resamples=99, rng=0)
    same = cr.predictive_check(means, labels, n_resamples=99, rng=0)
    for hypothesis in BOTH:
        result, other = (check.under(hypothesis).checks["accuracy"] for check in (checked, same))
        assert np.array_equal(result.null_distribution, other.null_distribution)
    assert any("concentrations cannot be checked" in limit for limit in checked.limits)
    flat = cr.predictive_check(cr.Dirichlet(alpha[:, 0]), labels, n_resamples=99, rng=0)
    assert flat.bayesian.checks["accuracy"].pvalue == flat.independent.checks["accuracy"].pvalue


def test_few_members_are_a_limit_in_words() -> None:
    members, labels = world()
    check = cr.predictive_check(members, labels, rng=0)
    assert any("With 5 members" in limit and "0.33" in limit for limit in check.limits)  # 2 / 6
    many = cr.predictive_check(*world(m=40), rng=0)
    assert not any("members" in limit for limit in many.limits)


def test_several_statistics_are_adjusted_by_westfall_young() -> None:
    members, labels = world()
    check = cr.predictive_check(members, labels, statistics=FIVE, n_resamples=199, rng=0)
    for hypothesis in BOTH:
        part = check.under(hypothesis)
        values = np.array([[r.statistic, *r.null_distribution] for r in part.checks.values()])
        pooled = np.array(
            [
                [2 * min((row >= value - 1e-12).sum(), (row <= value + 1e-12).sum()) / 200 for value in row]
                for row in values
            ]
        ).clip(max=1)
        smallest = pooled.min(axis=0)
        for own, result in zip(pooled[:, 0], part.checks.values(), strict=True):
            assert result.adjusted_pvalue == pytest.approx(np.mean(smallest <= own + 1e-12))
        assert part.omnibus_pvalue == pytest.approx(np.mean(smallest <= smallest[0] + 1e-12))
    single = cr.predictive_check(members, labels, statistics="brier", rng=0)
    assert single.checks["brier"].adjusted_pvalue is None


def test_results_are_json_and_can_be_pickled() -> None:
    members, labels = world()
    check = cr.predictive_check(members, labels, groups=labels, n_resamples=19, rng=0)
    record = json.loads(json.dumps(check.to_dict(), allow_nan=False))
    assert record["type"] == "PredictiveCheck"
    assert record["bayesian"]["checks"]["accuracy"]["pvalue"] == check.checks["accuracy"].pvalue
    assert len(record["bayesian"]["checks"]["accuracy"]["null_distribution"]) == 19
    assert "null_distribution" not in record["bayesian"]["groups"]["0"]["accuracy"]
    again = pickle.loads(pickle.dumps(check))  # noqa: S301 - our own bytes
    assert again.power(grid=[1.0], n_repeats=5).power.keys() == {"bayesian", "independent"}


def test_the_seed_alone_decides() -> None:
    members, labels = world()
    check, other = (cr.predictive_check(members, labels, n_resamples=50, rng=11) for _ in range(2))
    assert np.array_equal(
        check.checks["accuracy"].null_distribution, other.checks["accuracy"].null_distribution
    )
    again = cr.predictive_check(members, labels, n_resamples=50, rng=tuple(check.settings["seed"]))
    assert again.checks["accuracy"].pvalue == check.checks["accuracy"].pvalue
    third = cr.predictive_check(members, labels, n_resamples=50, rng=12)
    assert not np.array_equal(
        check.checks["accuracy"].null_distribution, third.checks["accuracy"].null_distribution
    )


def test_progress_reaches_the_end() -> None:
    members, labels = world()
    calls: list[tuple[int, int]] = []
    cr.predictive_check(
        members, labels, statistics=["brier", "skce"], rng=0, progress=lambda *call: calls.append(call)
    )
    assert calls[-1] == (999, 999)
    calls.clear()
    cr.predictive_check(members, labels, rng=0, progress=lambda *call: calls.append(call))
    assert calls[-1] == (999, 999)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


REFUSED = {
    "averages": (lambda p, y: cr.predictive_check(p.mean(axis=1), y), "only averages are stored"),
    "averages, named": (
        lambda p, y: cr.predictive_check(p.mean(axis=1), y, hypothesis="bayesian"),
        "single model",
    ),
    "intervals": (lambda p, y: cr.predictive_check(cr.Ensemble(p).to_intervals(), y), "only averages"),
    "hypothesis": (lambda p, y: cr.predictive_check(p, y, hypothesis="bayes"), "bayesian"),
    "swapped": (lambda p, y: cr.predictive_check(y, p), "Swap them"),
    "no replicates": (lambda p, y: cr.predictive_check(p, y, n_resamples=0), "positive integer"),
    "no statistic": (lambda p, y: cr.predictive_check(p, y, statistics=[]), "at least one"),
    "twice": (lambda p, y: cr.predictive_check(p, y, statistics=["brier", "brier"]), "distinct"),
    "unknown": (lambda p, y: cr.predictive_check(p, y, statistics=["briar"]), "Did you mean 'brier'"),
    "a number": (lambda p, y: cr.predictive_check(p, y, statistics=3), "sequence"),
    "short labels": (lambda p, y: cr.predictive_check(p, y[:-1]), "one entry per prediction"),
    "nan": (lambda p, y: cr.predictive_check(np.where(p > 0.99, p, np.nan), y), "finite"),
    "nan statistic": (
        lambda p, y: cr.predictive_check(p, y, statistics=[lambda a, b: float("nan")]),
        "got NaN",
    ),
    "short groups": (lambda p, y: cr.predictive_check(p, y, groups=y[:-1]), "one entry per prediction"),
    "missing group": (
        lambda p, y: cr.predictive_check(p, y, groups=np.where(y == 0, np.nan, 1.0)),
        "must not be missing",
    ),
    "no factor": (lambda p, y: cr.predictive_check(p, y, groups={}), "at least one factor"),
    "counts as predictions": (
        lambda p, y: cr.predictive_check(cr.LabelCounts(np.eye(3, dtype=int)[y]), y),
        "needs predicted probabilities or distributions",
    ),
    "progress": (lambda p, y: cr.predictive_check(p, y, progress=3), "callable with"),
    "seed": (lambda p, y: cr.predictive_check(p, y, rng=-1), "`rng`"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_inputs(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(cr.CrediblyError, match=message):
        call(*world())


def test_the_refusal_names_a_remedy_that_works() -> None:
    members, labels = world()
    point = cr.Ensemble(members).mean()
    single = cr.Ensemble(point.probs[:, None, :])
    assert cr.predictive_check(single, labels, hypothesis="bayesian", n_resamples=19, rng=0).m == 1


@pytest.mark.parametrize("shape", [(1, 3, 2), (1, 1, 2), (2, 1, 300)])
def test_small_and_odd_sizes(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.ones(shape[2]), size=shape[:2])
    labels = np.zeros(shape[0], dtype=int)
    ensemble = cr.Ensemble(members, member_axis=1)
    check = cr.predictive_check(ensemble, labels, statistics=["accuracy", "brier"], n_resamples=19, rng=0)
    assert all(0 < result.pvalue <= 1 for result in check.checks.values())
    assert check.checks["accuracy"].verdict() == "cannot tell"  # 2 / 20 is the smallest p-value
