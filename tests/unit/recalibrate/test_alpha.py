"""Alpha-calibration: the likelihood against its definition, concentrations recovered, the mean untouched."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
from credibly.recalibrate.alpha import CountsLikelihood, rise, rise_slope
from libraries import Library, read
from recalibrations import members, rated


def urn(alpha: np.ndarray, counts: np.ndarray) -> float:
    """Log-probability of labels drawn one by one from Polya's urn, in any fixed order."""
    values, chance = alpha.astype(float).copy(), 0.0
    for label, times in enumerate(counts):
        for _ in range(times):
            chance += math.log(values[label] / values.sum())
            values[label] += 1
    return chance


SHARES = np.array([0.3, 0.7])  # of the members


def test_the_likelihood_is_that_of_polyas_urn() -> None:
    rng = np.random.default_rng(0)
    base, counts = rng.dirichlet(np.ones(3), size=(5, 2)), rng.integers(0, 4, size=(5, 3))
    counts[:, 0] += 1
    factors = rng.normal(size=5)
    value, _ = CountsLikelihood(base, counts.astype(float), SHARES)(factors)
    for i in range(5):
        each = [math.exp(urn(math.exp(factors[i]) * base[i, m], counts[i])) for m in range(2)]
        assert value[i] == pytest.approx(math.log(SHARES @ each), rel=1e-12)


def test_gradients_of_the_likelihood() -> None:
    rng = np.random.default_rng(1)
    base, counts = rng.dirichlet(np.ones(3), size=(6, 2)), rng.integers(0, 4, size=(6, 3)) + 1.0
    likelihood = CountsLikelihood(base, counts, SHARES)
    for factors in (rng.normal(size=6), np.full(6, 8.0), np.full(6, 12.0), np.full(6, -5.0)):
        up, down = likelihood(factors + 1e-3)[0], likelihood(factors - 1e-3)[0]
        assert np.allclose(likelihood(factors)[1], (up - down) / 2e-3, rtol=1e-4, atol=1e-6)


def test_differences_of_gammas_keep_their_digits() -> None:
    y = np.array([1.0, 3.0, 50.0])
    for a in (1e-300, 1e-8, 0.3, 9.9e3, 1.1e4, 1e9, 1e15):
        steps = [math.fsum(math.log(a + j) for j in range(int(n))) for n in y]
        slopes = [math.fsum(a / (a + j) for j in range(int(n))) for n in y]
        assert np.allclose(rise(np.full(3, a), y), steps, rtol=1e-9)
        assert np.allclose(rise_slope(np.full(3, a), y), slopes, rtol=1e-8)


def test_large_concentrations_reach_the_limit() -> None:
    rng = np.random.default_rng(2)
    likelihood = CountsLikelihood(
        rng.dirichlet(np.ones(3), size=(4, 2)), rng.integers(1, 5, size=(4, 3)) * 1.0, SHARES
    )
    assert np.allclose(likelihood(np.full(4, 25.0))[0], likelihood.limit(), atol=1e-8)


def test_part_of_a_likelihood() -> None:
    rng = np.random.default_rng(3)
    base, counts = rng.dirichlet(np.ones(3), size=(8, 2)), rng.integers(0, 3, size=(8, 3)) * 1.0
    counts[:, 1] += 1
    rows, factors = np.array([5, 0, 7]), rng.normal(size=8)
    whole = CountsLikelihood(base, counts, SHARES)
    assert np.allclose(whole.take(rows)(factors[rows]), np.array(whole(factors))[:, rows])


def test_a_scalar_is_recovered() -> None:
    probs, counts = rated(6000, raters=8)
    alpha = cr.recalibrate.AlphaCalibration(penalty=0.0).fit(probs, cr.LabelCounts(counts))
    assert alpha.alpha0(probs[:3]) == pytest.approx([4.0] * 3, rel=0.06)


def test_a_linear_head_is_recovered() -> None:
    rng = np.random.default_rng(4)
    probs, features = rng.dirichlet(np.ones(3), size=6000), rng.normal(size=(6000, 2)) * [1.0, 10.0] + 5.0
    concentration = np.exp(1.0 + 0.8 * (features[:, 0] - 5.0))
    truth = cr.Dirichlet(concentration[:, None] * probs).sample(1, rng=1).probs[:, 0]
    counts = cr.LabelCounts(rng.multinomial(10, truth))
    alpha = cr.recalibrate.AlphaCalibration(penalty=0.0).fit(probs, counts, features=features)
    values = np.log(alpha.alpha0(probs, features=features))
    assert np.abs(values - np.log(concentration)).mean() < 0.1
    with pytest.raises(cr.InputError, match="must be given: the fit used 2"):
        alpha.apply(probs[1:])
    with pytest.raises(cr.InputError, match=r"2 columns of the fit; got shape \(\d+, 1\)"):
        alpha.apply(probs[1:], features=features[1:, :1])


@pytest.mark.slow
def test_a_network_sees_what_a_line_does_not() -> None:
    pytest.importorskip("torch", reason="needs the torch extra")
    rng = np.random.default_rng(5)
    probs, features = rng.dirichlet(np.ones(3), size=600), rng.uniform(-2, 2, size=(600, 1))
    concentration = np.exp(3.0 * np.abs(features[:, 0]) - 2.0)
    truth = cr.Dirichlet(concentration[:, None] * probs).sample(1, rng=1).probs[:, 0]
    counts = cr.LabelCounts(rng.multinomial(20, truth))
    network = cr.recalibrate.AlphaCalibration(head="neural", hidden=(6,)).fit(
        probs, counts, features=features
    )
    line = cr.recalibrate.AlphaCalibration(head="linear").fit(probs, counts, features=features)
    assert network.convergence.loss_after < line.convergence.loss_after - 0.1
    values = np.log(network.alpha0(probs, features=features))
    assert np.corrcoef(values, np.log(concentration))[0, 1] > 0.9


@pytest.mark.parametrize("kind", ["point", "ensemble", "dirichlet", "dirichlets"])
def test_the_mean_and_every_order_1_metric_stay(kind: str) -> None:
    probs, counts = rated(300)
    logits, _ = members(300)
    given = {
        "point": cr.Point(probs),
        "ensemble": cr.Ensemble.from_logits(logits),
        "dirichlet": cr.Dirichlet(3 * probs),
        "dirichlets": cr.Dirichlet(3 * cr.Ensemble.from_logits(logits).probs),
    }[kind]
    histogram = cr.LabelCounts(counts)
    alpha = cr.recalibrate.AlphaCalibration(head="linear").fit(given[:150], histogram[:150])
    after = alpha.apply(given[150:])
    assert isinstance(after, cr.Dirichlet)
    assert np.allclose(after.mean().probs, given[150:].mean().probs, rtol=1e-13)
    labels = histogram[150:].draw(rng=0)
    for name, statistic in cr.statistics.registered().items():
        if "classes" not in statistic.traits.labels:
            continue
        before = float(statistic(given[150:], labels))
        assert float(statistic(after, labels)) == pytest.approx(before, rel=1e-9, abs=1e-12), name
    loss = [cr.raters.decompose_loss(one, histogram[150:]) for one in (given[150:], after)]
    assert loss[0].expected.value == pytest.approx(loss[1].expected.value, rel=1e-12)


def test_it_can_only_lower_the_predicted_disagreement() -> None:
    probs, counts = rated(300)
    histogram = cr.LabelCounts(counts)
    after = cr.recalibrate.AlphaCalibration().fit(probs[:150], histogram[:150]).apply(probs[150:])
    before, now = (cr.raters.decompose_disagreement(one, histogram[150:]) for one in (probs[150:], after))
    assert now.predicted.value < before.predicted.value
    assert abs(now.predicted.value - now.observed.value) < abs(before.predicted.value - before.observed.value)


def test_a_dirichlet_is_scaled_by_a_factor() -> None:
    probs, counts = rated(4000, raters=8)
    dirichlet = cr.Dirichlet(40.0 * probs)  # ten times too concentrated
    alpha = cr.recalibrate.AlphaCalibration(penalty=0.0).fit(dirichlet, cr.LabelCounts(counts))
    assert alpha.alpha0(dirichlet[:2]) == pytest.approx([0.1, 0.1], rel=0.1)
    assert np.allclose(alpha.apply(dirichlet[1:]).alpha / dirichlet[1:].alpha, alpha.alpha0(dirichlet[:1])[0])


def test_members_become_a_mixture_of_dirichlets() -> None:
    logits, _ = members(50)
    ensemble = cr.Ensemble.from_logits(logits)
    counts = cr.LabelCounts(np.random.default_rng(0).multinomial(6, ensemble.mean().probs))
    alpha = cr.recalibrate.AlphaCalibration().fit(ensemble, counts)
    after = alpha.apply(ensemble[1:])
    assert after.alpha.shape == (49, 3, 3)
    # D21 eq. 51: mean over members of a0 / (a0 + 1) (1 - sum z^2)
    a0 = float(alpha.alpha0(ensemble[:1])[0])
    expected = (a0 / (a0 + 1) * (1 - (ensemble.probs[1:] ** 2).sum(axis=-1))).mean()
    value = cr.raters.decompose_disagreement(after, counts[1:]).predicted.value
    assert value == pytest.approx(expected, rel=1e-10)


def test_single_labels_are_refused() -> None:
    probs, counts = rated(20, raters=1)
    with pytest.raises(cr.UnsupportedError, match="several labels per instance"):
        cr.recalibrate.AlphaCalibration().fit(probs, cr.LabelCounts(counts))
    with pytest.raises(cr.UnsupportedError, match="several labels per instance"):
        cr.recalibrate.AlphaCalibration().fit(probs, counts.argmax(axis=1))


def test_raters_who_agree_leave_nothing_to_learn_without_a_penalty() -> None:
    probs = np.tile([[0.5, 0.5]], (50, 1))
    counts = cr.LabelCounts(np.tile([[3, 3]], (50, 1)))  # more even than independent draws
    with pytest.raises(cr.UnsupportedError, match="best alpha0 is infinite"):
        cr.recalibrate.AlphaCalibration(penalty=0.0).fit(probs, counts)
    assert cr.recalibrate.AlphaCalibration().fit(probs, counts).convergence.converged


@pytest.mark.parametrize("kind", [cr.Ensemble, cr.Dirichlet])
def test_weights_of_members_are_repetitions(kind: type) -> None:
    _, counts = rated(40)
    members = np.random.default_rng(2).dirichlet(np.ones(counts.shape[1]), size=(40, 3))
    weighted = kind(members, weights=[0.5, 0.5, 0.0])
    twice = kind(members[:, [0, 0, 1]], weights=[0.25, 0.25, 0.5])
    plain = kind(members[:, :2])
    found = [cr.recalibrate.AlphaCalibration().fit(one, cr.LabelCounts(counts)) for one in (weighted, twice)]
    expected = cr.recalibrate.AlphaCalibration().fit(plain, cr.LabelCounts(counts))
    for one in found:
        assert one.parameters == pytest.approx(expected.parameters, rel=1e-6)
        assert one.convergence.loss_after == pytest.approx(expected.convergence.loss_after, rel=1e-9)
    unequal = kind(members, weights=[0.8, 0.1, 0.1])
    fitted = cr.recalibrate.AlphaCalibration(head="linear").fit(unequal, cr.LabelCounts(counts))
    after = fitted.apply(unequal[:5])
    assert after.weights.tolist() == [0.8, 0.1, 0.1]
    np.testing.assert_allclose(after.mean().probs, unequal[:5].mean().probs, atol=1e-12)


def test_zero_probabilities(recwarn: pytest.WarningsRecorder) -> None:
    probs = np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]], dtype=np.float32)
    alpha = cr.recalibrate.AlphaCalibration().fit(probs, cr.LabelCounts([[3, 1], [2, 2], [0, 4]]))
    assert "stored as 0" in str(recwarn.pop(UserWarning).message)
    after = alpha.apply(probs[:2])
    assert (after.alpha > 0).all()
    # all numbers have two decimals at most, so 0 is read as 0.005
    assert np.allclose(after.mean().probs, [[1 / 1.005, 0.005 / 1.005], [0.5, 0.5]])


def test_libraries(library: Library) -> None:
    probs, counts = rated(40)
    alpha = cr.recalibrate.AlphaCalibration(head="linear").fit(
        cr.Point(library.asarray(probs)), cr.LabelCounts(library.asarray(counts))
    )
    after = alpha.apply(cr.Point(library.asarray(probs[1:])))
    assert library.owns(after.alpha)
    same = cr.recalibrate.AlphaCalibration(head="linear").fit(probs, cr.LabelCounts(counts)).apply(probs[1:])
    assert np.allclose(read(after.alpha), same.alpha, rtol=1e-6)


@pytest.mark.slow
def test_gradients_flow_through_what_is_applied() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs, counts = rated(40)
    alpha = cr.recalibrate.AlphaCalibration(head="linear").fit(probs, cr.LabelCounts(counts))
    logits = torch.tensor(np.log(probs[:4]), requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda z: alpha.apply(cr.Point.from_logits(z)).alpha, (logits,), fast_mode=True
    )


def test_unanimous_raters_have_no_concentration() -> None:
    """Raters who never disagree within an instance are most likely as alpha0 goes to 0, not to infinity."""
    mean = np.full((40, 2), 0.5)
    counts = cr.LabelCounts(np.array([[3, 0], [0, 3]] * 20))
    with pytest.raises(cr.UnsupportedError, match="the raters of every instance agree: the best alpha0 is 0"):
        cr.recalibrate.AlphaCalibration(penalty=0.0).fit(mean, counts)


def by_pass(n: int = 4000, m: int = 3) -> tuple[cr.Ensemble, cr.LabelCounts, np.ndarray]:
    """Passes whose own feature gives their concentration; labels come from one pass of each instance."""
    rng = np.random.default_rng(8)
    passes = rng.dirichlet(np.ones(3), size=(n, m))
    features = rng.normal(size=(n, m, 2))
    alpha0 = np.exp(1.0 + 0.8 * features[..., 0])
    chosen = rng.integers(0, m, n)
    rows = np.arange(n)
    truth = np.stack([rng.dirichlet(a) for a in (alpha0[..., None] * passes)[rows, chosen] + 1e-9])
    return cr.Ensemble(passes, member_axis=1), cr.LabelCounts(rng.multinomial(8, truth)), features


def test_every_pass_has_its_own_concentration() -> None:
    """D21 eq. 51 is about alpha of each pass: the head is found whose features differ by pass."""
    predictions, counts, features = by_pass()
    fitted = cr.recalibrate.AlphaCalibration(penalty=0.0).fit(predictions, counts, features=features)
    alpha0 = fitted.alpha0(predictions, features=features)
    assert alpha0.shape == features.shape[:2]
    slope = np.polyfit(features[..., 0].ravel(), np.log(alpha0).ravel(), 1)[0]
    assert abs(slope - 0.8) < 0.1
    made = fitted.apply(predictions[:50], features=features[:50])
    assert np.allclose(made.alpha.sum(axis=-1), alpha0[:50])
    assert np.allclose(made.alpha / made.alpha.sum(axis=-1, keepdims=True), predictions.probs[:50])


def test_features_by_pass_that_are_equal_are_those_of_the_instance() -> None:
    predictions, counts, features = by_pass(600)
    same = np.repeat(features[:, :1], 3, axis=1)
    one, several = (
        cr.recalibrate.AlphaCalibration().fit(predictions, counts, features=given)
        for given in (features[:, 0], same)
    )
    assert np.allclose(one.parameters, several.parameters, atol=1e-5)
    assert one.convergence.loss_after == pytest.approx(several.convergence.loss_after, abs=1e-9)


def test_members_without_weight_have_no_features_in_the_fit() -> None:
    predictions, counts, features = by_pass(600)
    weighted = cr.Ensemble(predictions.probs, member_axis=1, weights=[0.5, 0.5, 0.0])
    first = cr.Ensemble(predictions.probs[:, :2], member_axis=1)
    all_of_them = cr.recalibrate.AlphaCalibration().fit(weighted, counts, features=features)
    two = cr.recalibrate.AlphaCalibration().fit(first, counts, features=features[:, :2])
    feature = features[:, :2]
    assert np.allclose(
        all_of_them.alpha0(weighted, features=features)[:, :2], two.alpha0(first, features=feature), rtol=1e-3
    )


def test_features_by_pass_need_a_row_per_member() -> None:
    predictions, counts, features = by_pass(60)
    with pytest.raises(cr.InputError, match=r"with a row per member: \(60, 3, d\); got shape \(60, 2, 2\)"):
        cr.recalibrate.AlphaCalibration().fit(predictions, counts, features=features[:, :2])
    fitted = cr.recalibrate.AlphaCalibration().fit(predictions, counts, features=features)
    with pytest.raises(cr.InputError, match=r"must have the 2 columns of the fit; got shape \(60, 3, 1\)"):
        fitted.apply(predictions, features=features[..., :1])
