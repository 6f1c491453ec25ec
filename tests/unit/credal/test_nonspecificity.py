"""Non-specificity: masses, gaps over events and random events say the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
from credibly.credal.event_gaps import size_weights
from unit.credal.oracles import (
    every_kind,
    lower_by_loop,
    moebius_by_definition,
    random_belief,
    random_ensemble,
    random_intervals,
    subsets,
)

SIZES = {"hartley": math.log, "dubois_prade": math.log, "koerner": float, "pal": lambda size: 1 / size}


@pytest.mark.parametrize("measure", SIZES)
@pytest.mark.parametrize("kind", ["Point", "Ensemble", "few members", "Intervals", "Belief"])
def test_sums_over_masses_by_brute_force(kind: str, measure: str) -> None:
    credal = every_kind(np.random.default_rng(0), n=5, k=4)[kind]
    masses = moebius_by_definition(lower_by_loop(credal), 4)[:, 1:]
    expected = masses @ np.array([SIZES[measure](len(event)) for event in subsets(4)[1:]])
    assert cr.credal.nonspecificity(credal, measure=measure) == pytest.approx(expected, abs=1e-10)


def test_smets_by_brute_force() -> None:
    belief = random_belief(np.random.default_rng(1), 4, 4)
    events = subsets(4)
    expected = [
        -sum(
            math.log(
                sum(mass for mass, members in zip(row, belief.focal_sets, strict=True) if event <= members)
            )
            for event in events
        )
        for row in belief.masses
    ]
    assert cr.credal.nonspecificity(belief, measure="smets") == pytest.approx(expected)


def test_values_by_hand() -> None:
    # vacuous: all mass on the two classes; a point: all masses on single classes
    vacuous, point = cr.Intervals([[0.0, 0.0]], [[1.0, 1.0]]), cr.Point([[0.3, 0.7]])
    assert cr.credal.nonspecificity(vacuous).tolist() == pytest.approx([math.log(2)])
    assert cr.credal.nonspecificity(point).tolist() == [0.0]
    assert cr.credal.nonspecificity(vacuous, measure="koerner").tolist() == pytest.approx([2.0])
    assert cr.credal.nonspecificity(point, measure="koerner").tolist() == pytest.approx([1.0])
    assert cr.credal.nonspecificity(vacuous, measure="pal").tolist() == pytest.approx([0.5])
    assert cr.credal.nonspecificity(point, measure="pal").tolist() == pytest.approx([1.0])
    assert cr.credal.nonspecificity(point, measure="smets").tolist() == [math.inf]  # no mass on everything
    # vacuous over 3 classes: every non-empty event has commonality 1
    assert cr.credal.nonspecificity(cr.Intervals([[0.0] * 3], [[1.0] * 3]), measure="smets").tolist() == [0.0]


@pytest.mark.parametrize("k", [2, 5, 16])
def test_weights_of_events_by_size(k: int) -> None:
    # The vacuous set has gap |A| / k around the uniform distribution (0 for everything), its generalised
    # Hartley measure is ln k.
    sizes = np.arange(k + 1)
    gaps = np.array([math.comb(k, b) for b in sizes]) * np.where(sizes < k, sizes / k, 0.0)
    assert size_weights(k) @ gaps == pytest.approx(math.log(k), rel=1e-12)


def test_weights_are_the_integral() -> None:
    # w_b = integral of q^b (1 - q)^(k - b) / (q (-ln q)) dq, here by quadrature in t = -ln q
    from scipy.integrate import quad

    for b in (1, 4, 9):
        value, _ = quad(lambda t, b=b: np.exp(-b * t) * (-np.expm1(-t)) ** (10 - b) / t, 0, np.inf)
        assert size_weights(10)[b] == pytest.approx(value, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("make", [random_ensemble, random_intervals])
def test_random_events_agree_within_their_errors(make) -> None:
    rng = np.random.default_rng(2)
    credal = make(rng, 40, 6, 9) if make is random_ensemble else make(rng, 40, 9)
    exact = cr.credal.nonspecificity(credal, n_events=0)
    scores, mean_scores = [], []
    for seed in range(30):
        estimate = cr.credal.nonspecificity_estimate(credal, n_events=512, rng=seed)
        scores.append((estimate.values - exact) / estimate.stderr)
        mean_scores.append((estimate.mean - exact.mean()) / estimate.mean_stderr)
    # Scores follow Student's t with 31 degrees of freedom: variance 31/29. Instances share events, so the 30
    # seeds are what is independent: their mean has standard error 0.19, their spread 0.13.
    assert abs(np.mean(mean_scores)) < 4 * 0.19
    assert 0.6 < np.std(mean_scores) < 1.5
    assert abs(np.mean(scores)) < 4 * 0.19
    assert 0.8 < np.std(scores) < 1.3
    assert estimate.n_events == 512
    assert not estimate.exact


@pytest.mark.slow
def test_control_variates_leave_no_bias() -> None:
    # Slopes fitted on the very events they correct would be off by about 8 standard errors here.
    credal = random_intervals(np.random.default_rng(1), 20, 6)
    exact = cr.credal.nonspecificity(credal).mean()
    means = np.array(
        [cr.credal.nonspecificity_estimate(credal, n_events=64, rng=seed).mean for seed in range(150)]
    )
    assert means.mean() == pytest.approx(exact, abs=4 * means.std() / 150**0.5)


def test_events_are_the_default_beyond_12_classes() -> None:
    rng = np.random.default_rng(3)
    few, many = random_ensemble(rng, 3, 4, 12), random_ensemble(rng, 3, 4, 13)
    assert cr.credal.nonspecificity_estimate(few).exact
    estimate = cr.credal.nonspecificity_estimate(many)
    assert not estimate.exact
    assert "1024 random events" in str(estimate)
    assert cr.credal.nonspecificity_estimate(many, n_events=0).exact
    assert (
        cr.credal.nonspecificity(many).tolist() == cr.credal.nonspecificity(many).tolist()
    )  # the seed is fixed
    assert (abs(estimate.values - cr.credal.nonspecificity(many, n_events=0)) < 5 * estimate.stderr).all()


def test_many_classes() -> None:
    rng = np.random.default_rng(4)
    estimate = cr.credal.nonspecificity_estimate(random_ensemble(rng, 4, 5, 300), rng=0)
    assert np.median(estimate.stderr / estimate.values) < 0.015
    # A vacuous set over k classes has ln k; its gaps are |A| / k exactly, so only the integral over q errs.
    vacuous = cr.Intervals(np.zeros((1, 200)), np.ones((1, 200)))
    found = cr.credal.nonspecificity_estimate(vacuous, rng=0)
    assert found.values[0] == pytest.approx(math.log(200), abs=max(5 * found.stderr[0], 1e-6))
    assert cr.credal.nonspecificity(vacuous, measure="koerner")[0] == pytest.approx(200)


def test_one_distribution_leaves_nothing_open() -> None:
    same = cr.Ensemble(np.tile([0.2, 0.3, 0.5], (2, 4, 1)))
    assert cr.credal.nonspecificity(same) == pytest.approx([0, 0], abs=1e-15)
    assert cr.credal.nonspecificity(same, n_events=64) == pytest.approx([0, 0], abs=1e-15)


def test_dubois_prade_on_a_budget() -> None:
    ensemble = random_ensemble(np.random.default_rng(5), 10, 7, 6)
    budget = cr.credal.focal_budget(ensemble, 10)
    estimate = cr.credal.nonspecificity_estimate(
        ensemble, measure="dubois_prade", budget=budget, negative="clamp"
    )
    masses = cr.credal.mass_function(ensemble, budget=budget, negative="clamp")
    sizes = np.array([len(members) for members in masses.focal_sets])
    assert estimate.values == pytest.approx(masses.masses @ np.log(sizes))
    assert estimate.settings["budget"] == [sorted(members) for members in budget]
    assert "a budget of 10 sets" in estimate.notes[0]
    # Without budget and clamping it is the exact generalised Hartley measure.
    assert cr.credal.nonspecificity(ensemble, measure="dubois_prade") == pytest.approx(
        cr.credal.nonspecificity(ensemble)
    )
    # Single classes only: everything else is on the set of all classes.
    singles = cr.credal.nonspecificity(ensemble, measure="dubois_prade", budget=[{j} for j in range(6)])
    assert singles == pytest.approx((1 - ensemble.probs.min(axis=1).sum(axis=1)) * math.log(6))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"budget": [{0}]}, "exact envelope, without budget.*dubois_prade"),
        ({"negative": "clamp"}, "without budget and clamping"),
        ({"measure": "hartly"}, "Did you mean 'hartley'"),
        ({"n_events": 5}, "at least 64"),
        ({"n_events": -3}, "at least 0"),
    ],
)
def test_bad_settings(settings: dict, words: str) -> None:
    ensemble = cr.Ensemble([[[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]])
    with pytest.raises(cr.CrediblyError, match=words):
        cr.credal.nonspecificity(ensemble, **settings)


def test_smets_of_a_tiny_mass_is_finite() -> None:
    """C25 eq. 9: Q({0}) = 1, Q({1}) = Q({0, 1}) = 8e-20, Q(empty set) = 1; -2 ln 8e-20 = 87.9."""
    belief = cr.Belief([[1.0 - 8e-20, 8e-20]], [{0}, {0, 1}])
    assert cr.credal.nonspecificity(belief, measure="smets") == pytest.approx([-2 * np.log(8e-20)])


def test_smets_refuses_negative_commonalities() -> None:
    ensemble = random_ensemble(np.random.default_rng(6), 50, 3, 4)
    with pytest.raises(cr.UnsupportedError, match=r"must not be negative; the lowest is -0\.\d+.*clamp"):
        cr.credal.nonspecificity(ensemble, measure="smets")
    assert (cr.credal.nonspecificity(ensemble, measure="smets", negative="clamp") >= 0).all()


def test_smets_lists_events() -> None:
    with pytest.raises(cr.InputError, match="at most 16 classes"):
        cr.credal.nonspecificity(cr.Belief([[1.0]], [set(range(17))]), measure="smets")


def test_pal_needs_masses() -> None:
    wide = cr.Point(np.full((1, 17), 1 / 17))
    with pytest.raises(cr.InputError, match="at most 16 classes"):
        cr.credal.nonspecificity(wide, measure="pal")
    belief = cr.Belief([[0.5, 0.5]], [{0}, set(range(17))])
    assert cr.credal.nonspecificity(belief, measure="pal") == pytest.approx([0.5 + 0.5 / 17])
