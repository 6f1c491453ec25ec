"""Statistics that people look for by name: cases computed by hand, and the numbers of other packages."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr

S = cr.statistics
RNG = np.random.default_rng(5)
PROBS = RNG.dirichlet(np.ones(3), size=80)
LABELS = (RNG.random((80, 1)) > PROBS.cumsum(axis=1)).sum(axis=1)
MEAN, STD = RNG.normal(size=80), RNG.uniform(0.5, 2, size=80)
Y = MEAN + 1.3 * STD * RNG.normal(size=80)
GAUSSIAN = cr.Gaussian(MEAN, STD)


def test_skill_scores_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="needs the extra sklearn")
    brier, log_loss = metrics.d2_brier_score(LABELS, PROBS), metrics.d2_log_loss_score(LABELS, PROBS)
    assert float(S.brier_skill(PROBS, LABELS)) == pytest.approx(brier, abs=1e-9)
    assert float(S.log_loss_skill(PROBS, LABELS)) == pytest.approx(log_loss, abs=1e-9)


@pytest.mark.parametrize("statistic", [S.brier_skill, S.log_loss_skill], ids=lambda one: one.name)
def test_the_error_of_a_skill_is_that_of_rows_left_out(statistic: cr.statistics.Statistic) -> None:
    n = len(LABELS)
    without = [float(statistic(np.delete(PROBS, i, 0), np.delete(LABELS, i))) for i in range(n)]
    jackknife = math.sqrt((n - 1) / n * np.sum((without - np.mean(without)) ** 2))
    assert statistic(PROBS, LABELS).stderr == pytest.approx(jackknife, rel=0.05)


def test_skill_where_a_constant_has_no_loss() -> None:
    assert float(S.brier_skill([[1.0, 0.0], [1.0, 0.0]], [0, 0])) == 0.0
    found = S.log_loss_skill([[0.9, 0.1], [0.8, 0.2]], [0, 0])
    assert float(found) == -math.inf
    assert found.interval_refusal is not None


def test_pinball_loss_wis_and_crps_agree() -> None:
    levels = (0.1, 0.25, 0.5, 0.75, 0.9)
    quantiles = cr.Quantiles(GAUSSIAN.quantile(list(levels)), levels)
    each = [float(S.pinball_loss(GAUSSIAN, Y, level=level)) for level in levels]
    assert float(S.pinball_loss(GAUSSIAN, Y)) == pytest.approx(float(cr.mae(GAUSSIAN, Y)) / 2, rel=1e-12)
    assert float(S.wis(GAUSSIAN, Y, levels=(0.5, 0.8))) == pytest.approx(2 * np.mean(each), rel=1e-12)
    assert float(S.wis(quantiles, Y)) == pytest.approx(float(cr.crps(quantiles, Y)), rel=1e-12)
    # Bracher et al., equation 1: 1 / (2 + 1/2) (1/2 |y - m| + 0.5/2 IS_50 + 0.2/2 IS_80)
    intervals = [alpha / 2 * float(cr.interval_score(GAUSSIAN, Y, level=1 - alpha)) for alpha in (0.5, 0.2)]
    by_intervals = (float(cr.mae(GAUSSIAN, Y)) / 2 + sum(intervals)) / 2.5
    assert float(S.wis(GAUSSIAN, Y, levels=(0.5, 0.8))) == pytest.approx(by_intervals, rel=1e-12)


def test_wis_needs_pairs_of_levels() -> None:
    with pytest.raises(cr.UnsupportedError, match="needs levels in pairs"):
        S.wis(cr.Quantiles([[0.0, 1.0]], [0.1, 0.5]), [0.0])


def test_expected_pinball_loss_is_that_of_labels_drawn_from_the_predictions() -> None:
    terms = S.pinball_loss.with_(level=0.8).bind(cr.Gaussian([0.0], [2.0])).terms
    grid = 2.0 * np.linspace(-10, 10, 40_001)
    weight = np.exp(-0.5 * (grid / 2.0) ** 2)
    loss = terms.loss(grid[:, None])[:, 0]
    mean = (weight @ loss) / weight.sum()
    assert float(terms.mean[0, 0]) == pytest.approx(mean, rel=1e-6)
    assert float(terms.variance[0, 0]) == pytest.approx(
        (weight @ (loss - mean) ** 2) / weight.sum(), rel=1e-6
    )


def test_sharpness_is_the_mean_width() -> None:
    assert float(S.sharpness(GAUSSIAN, Y)) == pytest.approx(2 * 1.6448536269514722 * STD.mean(), rel=1e-9)
    result = cr.calibration_test(GAUSSIAN, Y, statistics="sharpness", n_resamples=19, rng=0)
    assert result.pvalue == 1.0  # no label changes it
    assert math.isnan(result.z_score)


def test_augrc_orders_by_confidence_and_halves_ties() -> None:
    # confidences .9 .8 .8 .6; the first .8 and the .6 are wrong: (2 / 4 + 1 / 8) / 4
    probs = [[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.6, 0.4]]
    assert float(S.augrc(probs, [0, 1, 1, 1])) == pytest.approx((2 / 4 + 1 / 8) / 4, abs=1e-15)
    assert float(S.augrc(probs, [1, 1, 0, 1])) == pytest.approx(0.5, abs=1e-15)  # all wrong
    weights = [1, 2, 1, 3]
    repeated = [np.repeat(one, weights, axis=0) for one in (np.array(probs), np.array([0, 1, 1, 1]))]
    weighted = S.augrc(probs, [0, 1, 1, 1], sample_weight=weights)
    assert float(weighted) == pytest.approx(float(S.augrc(*repeated)), rel=1e-12)


def test_the_decision_curve_is_net_benefit_at_every_threshold() -> None:
    curve = cr.selection.murphy_curve(PROBS, LABELS, n_points=9)
    single = [float(S.net_benefit(PROBS, LABELS, threshold=t)) for t in curve.thresholds]
    assert curve.net_benefit == pytest.approx(single, abs=1e-12)
    # acting for all: share of events - t / (1 - t) share of the rest
    share = np.mean(LABELS == 1)
    odds = curve.thresholds / (1 - curve.thresholds)
    assert curve.net_benefit_of_all == pytest.approx(share - odds * (1 - share), abs=1e-12)


def test_quantiles_of_the_smooth_gap_surround_their_mean() -> None:
    values = [float(one(PROBS, LABELS, target=1)) for one in (S.e50, S.ici, S.e90, S.emax)]
    assert 0 < values[0] < values[2] <= values[3]
    assert values[1] < values[3]


def test_quantiles_of_the_smooth_gap_are_those_of_the_gaps() -> None:
    gaps, weight = np.array([[0.4, 0.1, 0.3, 0.2]]), np.full(4, 0.25)
    assert S.e50.summary(gaps, weight)[0] == pytest.approx(0.25)  # between the second and the third
    assert S.e90.summary(gaps, weight)[0] == pytest.approx(0.4)
    assert S.emax.summary(gaps, weight)[0] == pytest.approx(0.4)


def test_hsic_is_the_trace_of_centred_kernels() -> None:
    low, high = (GAUSSIAN.quantile([level])[:, 0] for level in (0.05, 0.95))
    width, hit = high - low, (low <= Y) & (high >= Y)
    n = len(Y)
    centre = np.eye(n) - 1 / n
    kernel = np.exp(-0.5 * ((width[:, None] - width) / width.std()) ** 2)
    alike = (hit[:, None] == hit).astype(float)
    trace = np.trace(centre @ kernel @ centre @ alike) / n**2
    assert float(S.hsic(GAUSSIAN, Y)) == pytest.approx(trace, rel=1e-9)
    assert float(S.hsic(cr.Gaussian(MEAN, 0 * STD + 1), Y)) == pytest.approx(0, abs=1e-20)  # all as wide


def test_hsic_finds_coverage_that_depends_on_width() -> None:
    rng = np.random.default_rng(0)
    wrong = cr.Gaussian(np.zeros(300), rng.uniform(0.5, 2, size=300))
    labels = 1.2 * rng.normal(size=300)  # the same spread everywhere
    assert cr.calibration_test(wrong, labels, statistics="hsic", n_resamples=99, rng=0).rejects(0.05)


@pytest.mark.parametrize("settings", [{"kind": "max"}, {"kind": "range"}])
def test_the_walk_of_an_event(settings: dict) -> None:
    order = np.argsort(PROBS[:, 1])
    walk = np.concatenate([[0.0], np.cumsum((LABELS == 1)[order] - PROBS[order, 1]) / 80])
    wanted = np.abs(walk).max() if settings["kind"] == "max" else np.ptp(walk)
    assert float(cr.ecce(PROBS, LABELS, target=1, **settings)) == pytest.approx(wanted, abs=1e-14)


@pytest.mark.parametrize(
    "statistic",
    [cr.ecce, cr.smooth_ece, cr.t_cal, cr.truthful_ce, cr.classwise_ece, S.ici, S.emax],
    ids=lambda one: one.name,
)
def test_the_error_of_an_event_is_that_of_it_against_the_rest(statistic: cr.statistics.Statistic) -> None:
    risk = PROBS[:, 2]
    against = np.stack([1 - risk, risk], axis=1)
    value = float(statistic(PROBS, LABELS, target=2))
    assert value == pytest.approx(float(statistic(against, LABELS == 2, target=1)), rel=1e-9, abs=1e-12)
    with pytest.raises(cr.InputError, match="must be a class from 0 to 2"):
        statistic(PROBS, LABELS, target=3)


def test_a_target_is_a_word_or_a_class() -> None:
    assert cr.ecce.with_(target=np.int64(1)) == cr.ecce.with_(target=1)
    assert type(S.net_benefit.with_(target=np.uint8(2)).settings()["target"]) is int
    with pytest.raises(cr.InputError, match='must be "top_label", "classwise" or the index of a class'):
        cr.ecce.with_(target="each")
    for wrong in (True, 1.5, -1):
        with pytest.raises(cr.InputError, match="must be the index of a class"):
            S.net_benefit.with_(target=wrong)


def test_disagreement_counts_pairs_of_different_members() -> None:
    members = np.array([[[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [[0.2, 0.8], [0.1, 0.9], [0.4, 0.6]]])
    assert cr.credal.disagreement(members[:, :, ::-1]) == pytest.approx([2 / 3, 0])
    weighted = cr.Ensemble(members, weights=[0.5, 0.25, 0.25])
    # different pairs (1, 3) and (2, 3): 2 (1/2 1/4 + 1/4 1/4) of 1 - 3/8
    assert cr.credal.disagreement(weighted)[0] == pytest.approx(2 * (1 / 8 + 1 / 16) / (1 - 3 / 8))
    with pytest.raises(cr.UnsupportedError, match="several members"):
        cr.credal.disagreement(cr.Dirichlet([[1.0, 2.0]]))


def joint(seed: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Draws and labels of two numbers; `share` of the variance of the draws is common to both."""
    rng = np.random.default_rng(seed)
    common, apart = rng.normal(size=(120, 9, 1)), rng.normal(size=(120, 9, 2))
    return math.sqrt(share) * common + math.sqrt(1 - share) * apart, rng.normal(size=(120, 2))


def test_joint_scores_are_those_of_scoringrules() -> None:
    scoringrules = pytest.importorskip("scoringrules", reason="needs the extra dev")
    draws, labels = joint(1, 0.5)
    energy = scoringrules.es_ensemble(labels, draws).mean()
    variogram = scoringrules.vs_ensemble(labels, draws, p=0.5).mean()
    assert float(S.energy_score(draws, labels)) == pytest.approx(energy, rel=1e-9)
    assert float(S.variogram_score(draws, labels)) == pytest.approx(variogram, rel=1e-9)


def test_a_table_of_choices_is_the_score_of_every_exchange() -> None:
    from credibly.statistics.joint import score_table

    draws, labels = joint(2, 0.0)
    for name, score in (("energy_score", S.energy_score), ("variogram_score", S.variogram_score)):
        table = score_table(name, draws, labels)
        exchanged, drawn = draws.copy(), draws[:, 4].copy()
        exchanged[:, 4] = labels
        assert table[:, 5].mean() == pytest.approx(float(score(exchanged, drawn)), rel=1e-12)


def test_wrong_dependence_is_found_by_exchange_and_right_predictions_are_not() -> None:
    wrong = cr.hypotests.joint_test(*joint(3, 0.9), n_resamples=199, rng=0)
    assert wrong.components["variogram_score"].pvalue <= 0.01
    rejected = [
        cr.hypotests.joint_test(*joint(10 + seed, 0.0), n_resamples=39, rng=seed).pvalue <= 0.05
        for seed in range(20)
    ]
    assert sum(rejected) <= 5  # 6 or more of 20 at 5 %: 3 in ten thousand
    with pytest.raises(cr.InputError, match="must hold 2 numbers for each of the 120 instances"):
        cr.hypotests.joint_test(joint(3, 0.9)[0], np.zeros((120, 3)))


def test_joint_scores_refuse_clusters_that_do_not_fit_and_numbers_that_are_too_large() -> None:
    draws, labels = joint(5, 0.0)
    for clusters in ([0] * 4, 3, "abc", [None] * len(labels)):
        with pytest.raises(cr.InputError, match="`clusters` must have"):
            S.energy_score(draws, labels, clusters=clusters)
    with pytest.raises(cr.UnsupportedError, match="must be numbers of this precision"):
        S.energy_score(1e200 * draws, 1e200 * labels)
    with pytest.raises(cr.UnsupportedError, match="Use another unit"):
        cr.hypotests.joint_test(1e120 * draws, 1e120 * labels, order=2.0)


def test_levels_of_intervals_must_differ() -> None:
    with pytest.raises(cr.InputError, match="must be different coverages"):
        S.wis(cr.Gaussian([0.0], [1.0]), [0.5], levels=(0.5, 0.5))
