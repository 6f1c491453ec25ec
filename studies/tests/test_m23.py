"""M23 at its small size: worlds and tests are there, conclusions hold, and claims follow the numbers."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly_studies import STUDIES, PowerSize, m23_printed
from credibly_studies.bootstrap import bootstrap_test
from credibly_studies.credal_tests import BootstrappedMean, CredalTest, NeymanPearson, second_half
from credibly_studies.kernel_estimators import linear_skce
from credibly_studies.m23 import (
    ABSOLUTE,
    BINNED,
    CLASSWISE,
    CONFIDENCE,
    ERRORS,
    HL,
    LINEAR,
    credal_test,
    fig1_claims,
    fig2_claims,
    fig3_claims,
    fig4_claims,
    given_weights,
    searched_weights,
)
from credibly_studies.outcomes import larger
from credibly_studies.power import Rates
from credibly_studies.simulate import EnsembleWorld, MulticlassWorld
from helpers.study_rates import Told, cheaper, outcome, studies_of

RESULTS = Path(__file__).resolve().parents[1] / "results"

SEARCHED = [*(searched_weights(name) for name in ERRORS), ABSOLUTE]


def _data(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    points = rng.dirichlet(np.ones(3), size=(n, 3))
    steps = np.einsum("nak,a->nk", points, [0.6, 0.3, 0.1]).cumsum(axis=1)[:, :-1]
    return points, (rng.random((n, 1)) >= steps).sum(axis=1)


@pytest.mark.parametrize(("statistic", "n_bins"), [(None, 5), ("classwise_ece", 10), ("confidence_ece", 10)])
def test_m23_sets_bins_and_replicates(statistic: str | None, n_bins: int) -> None:
    result = credal_test(*_data(), rng=0, **({} if statistic is None else {"statistics": statistic}))
    assert result.n_resamples == 100
    assert result.settings["n_bins"] == n_bins
    assert result.statistic_name == (statistic or "hosmer_lemeshow")
    assert any("Algorithm 1 of M23" in note for note in result.notes)
    assert result.details.weights.shape == (3,)


def test_settings_of_the_caller_win_over_those_of_m23() -> None:
    ten = cr.hosmer_lemeshow.with_(n_bins=10)
    assert credal_test(*_data(), statistics=ten, n_resamples=9, rng=0).settings["n_bins"] == 10
    free = credal_test(*_data(), statistics=linear_skce, n_resamples=9, rng=0)
    assert (free.settings["distance"], free.settings["bandwidth"]) == ("tv", 2.0)


@pytest.mark.slow
def test_replicates_have_new_instances_too() -> None:
    """With many classes an instance drawn twice cancels itself: the classwise error of replicates falls."""
    points = np.random.default_rng(0).dirichlet(np.full(40, 0.1), size=(60, 2))
    labels = points[:, 0].argmax(axis=1)
    settings = {"statistics": "classwise_ece", "n_resamples": 19, "rng": 0}
    printed = credal_test(points, labels, **settings).null_distribution.mean()
    labels_alone = cr.hypotests.weights_test(points, labels, weights="constant", refit=False, **settings)
    assert printed < 0.95 * labels_alone.null_distribution.mean()


def test_a_mean_of_members_is_tested_as_a_point_is() -> None:
    sample = EnsembleWorld("S1", n_members=3, n_classes=3).draw(60, rng=1)
    found = BootstrappedMean(cr.brier, n_resamples=19)(sample, 0)
    mean = cr.Point(np.asarray(sample.predictions.probs).mean(axis=1))
    alone = bootstrap_test(mean, sample.labels, statistics="brier", n_resamples=19, rng=0)
    assert found == alone.pvalue


@pytest.mark.slow
def test_figure_1_has_all_worlds_tests_and_curves() -> None:
    binned = (HL[0], CONFIDENCE[0])  # towards a random corner they see it in every data set
    concluded = [weights(name) for weights in (given_weights, searched_weights) for name in binned]
    # 6 of 6: 0.541 to 1
    fig1 = dataclasses.replace(cheaper("m23-fig1", often=concluded), small=PowerSize(100, 6, 1)).run("small")
    studies = studies_of(fig1)
    assert studies["power"].worlds == studies["costly"].worlds == ("S1", "S2", "S3")
    assert studies["power"].tests == tuple(given_weights(name) for name in ERRORS)
    assert studies["costly"].tests == tuple(SEARCHED)
    assert len(fig1.table("rates").rows) == 3 * (len(ERRORS) + len(SEARCHED))
    curves = fig1.to_dict()["tables"]["curves"]  # the printed figures are curves over the level
    assert {"0.01", "0.05", "0.5", "0.9"} <= set(curves[0])
    assert len(curves) == 3 * (len(ERRORS) + len(SEARCHED))
    rates = Rates.read(curves)
    for name in binned:
        assert rates.of("S3", given_weights(name)).interval[0] > 0.5
        assert rates.of("S3", searched_weights(name)).rate == 1.0
    assert {claim.design for claim in fig1.findings.claims} == {"smaller"}


def test_claims_follow_the_curves() -> None:
    def of(words: str, changed: dict) -> str:
        return outcome(fig1_claims(Told(changed)), words)

    linear = searched_weights(LINEAR)
    assert of("SKCE_ul", {("S1", linear): 0.4}) == "confirmed"  # above the levels up to 0.3
    assert of("SKCE_ul", {("S1", linear): 0.001}) == "not confirmed"
    assert of("SKCE_ul", {}) == "cannot tell"  # on the levels
    assert of("mostly below", {}) == "cannot tell"
    below = {("S1", searched_weights(name)): 0.001 for name in BINNED}
    assert of("mostly below", below) == "confirmed"
    assert of("mostly below", dict.fromkeys(list(below)[:4], 0.6)) == "not confirmed"
    assert of("HL has no high power", {("S2", searched_weights(name)): 0.001 for name in HL}) == "confirmed"
    assert of("HL has no high power", {("S2", searched_weights(name)): 0.9 for name in HL}) == "not confirmed"
    sharp = {(world, searched_weights(name)): 0.9 for world in ("S2", "S3") for name in BINNED}
    assert of("reliable", sharp | below) == "confirmed"
    assert of("reliable", below | {("S3", searched_weights(CLASSWISE[0])): 0.1}) == "not confirmed"
    assert of("easier", {("S3", searched_weights(name)): 0.9 for name in BINNED}) == "confirmed"
    assert of("easier", {}) == "cannot tell"  # ties decide nothing
    best = {("S2", searched_weights(name)): 0.9 for name in (*CONFIDENCE, *CLASSWISE)}
    assert of("best results", best) == "confirmed"
    assert of("best results", {}) == "cannot tell"
    assert of("most measures", sharp | below) == "confirmed"
    assert of("most measures", {}) == "not confirmed"


def test_the_scenarios_are_drawn_with_their_truth() -> None:
    pictures = STUDIES["m23-fig1"].work.pictures  # type: ignore[attr-defined]
    assert list(pictures) == ["setup-s1", "setup-s2", "setup-s3"]
    stars = {}
    for name, draw in pictures.items():
        (line,) = [line for line in draw().axes[0].get_lines() if line.get_label() == "observed"]
        stars[name] = tuple(float(one) for one in line.get_xydata()[0])
    assert len(set(stars.values())) == 3  # in the set, towards the closest corner, towards a random one


def test_claims_of_the_appendix_follow_the_curves() -> None:
    def changed(rate: float, base: float = 0.05) -> Told:
        rates = {("S1, x", searched_weights(name)): rate for name in BINNED}
        return Told(rates | {("S1", searched_weights(name)): base for name in BINNED})

    assert fig2_claims(changed(0.01), "", ", x")[0].outcome == "confirmed"
    assert fig2_claims(changed(0.05), "", ", x")[0].outcome == "cannot tell"
    assert fig2_claims(changed(0.2), "", ", x")[0].outcome == "not confirmed"
    assert fig3_claims(changed(0.05), "", ", x")[0].outcome == "confirmed"
    assert fig3_claims(changed(0.09), "", ", x")[0].outcome == "not confirmed"
    assert fig4_claims(changed(0.01, 0.001), "", ", x")[0].outcome == "confirmed"
    assert fig4_claims(changed(0.9), "", ", x")[0].outcome == "not confirmed"


def test_nothing_is_seen_at_five_per_cent_that_the_curves_show() -> None:
    """M23 Fig. 2 on record: all rates at 5 % are near 0, and all six curves are lower with larger sets."""
    record = json.loads((RESULTS / "m23-fig2" / "result.json").read_text(encoding="utf-8"))
    rates = Rates.read(record["tables"]["curves"])
    tests = [searched_weights(name) for name in BINNED]
    assert all(larger(rates.of("S1", test), rates.of("S1, u = 0.1", test)) == "cannot tell" for test in tests)
    (claim,) = fig2_claims(rates, "", ", u = 0.1")
    assert claim.outcome == "confirmed"


def test_forty_data_sets_do_not_show_that_members_change_nothing() -> None:
    """M23 Fig. 3 on record: at level 0.5 ECE_conf falls from 0.375 to 0.15, and intervals overlap."""
    record = json.loads((RESULTS / "m23-fig3" / "result.json").read_text(encoding="utf-8"))
    rates = Rates.read(record["tables"]["curves"])
    pair = [rates.of(world, searched_weights(CONFIDENCE[0]), 0.5) for world in ("S1", "S1, M = 100")]
    assert [one.rate for one in pair] == [0.375, 0.15]
    assert fig3_claims(rates, "", ", M = 100")[0].outcome == "cannot tell"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "suffix", "m", "k", "u"),
    [
        ("m23-fig2", ", u = 0.1", 10, 10, 0.1),
        ("m23-fig3", ", M = 100", 100, 10, 0.01),
        ("m23-fig4", ", K = 100", 10, 100, 0.01),
    ],
)
def test_appendix(name: str, suffix: str, m: int, k: int, u: float) -> None:
    one = CONFIDENCE[0]  # figure 1 runs the others
    fewer = cheaper(name, often=[given_weights(one)], never=[key for key in SEARCHED if one not in key])
    ran = dataclasses.replace(fewer, small=PowerSize(60, 1, 1)).run("small")
    studies = studies_of(ran)
    assert studies["power"].worlds == ("S1", *(f"{scenario}{suffix}" for scenario in ("S1", "S2", "S3")))
    for world, scenario in zip(studies["power"].worlds[1:], ("S1", "S2", "S3"), strict=True):
        made = EnsembleWorld(scenario, n_members=m, n_classes=k, spread=u)  # type: ignore[arg-type]
        assert studies["power"].settings["worlds"][world] == made.settings()
    claims = [claim for claim in ran.findings.claims if not claim.further]
    assert [claim.place for claim in claims] == [ran.reference, "M23 Sec. 4.1, App. B, Figs. 2-4"]
    assert len(ran.findings.claims) - len(claims) == 4  # what the text says about Fig. 1 alone


def test_a_credal_test_is_told_apart_by_its_settings() -> None:
    first, second = CredalTest("brier", credal_test), CredalTest("brier", credal_test, n_resamples=19)
    assert first.settings() != second.settings()
    others = CredalTest(ERRORS[LINEAR], credal_test), CredalTest(ERRORS[HL[0]], credal_test)
    assert others[0].settings() != others[1].settings()
    assert first.settings() != CredalTest("brier", cr.hypotests.weights_test).settings()
    sample = EnsembleWorld("S1", n_members=3, n_classes=3).draw(30, rng=1)
    assert second(sample, 1) == second(sample, 1)


def test_an_absolute_minimum_is_compared_with_signed_errors() -> None:
    sample = EnsembleWorld("S1", n_members=3, n_classes=3).draw(60, rng=1)
    signed, absolute = (
        CredalTest(linear_skce, credal_test, n_resamples=39, absolute=way)(sample, 1) for way in (False, True)
    )
    assert absolute < signed  # the minimum is negative


def test_the_second_half_has_its_own_truth() -> None:
    sample = MulticlassWorld("H1", delta=0.2, n_members=3).draw(40, rng=1)
    half = second_half(sample)
    np.testing.assert_array_equal(half.truth.probs, sample.truth.probs[20:])
    np.testing.assert_array_equal(half.labels, sample.labels[20:])
    assert len(half) == len(half.features) == 20


def test_nothing_beats_the_likelihood_ratio() -> None:
    world = MulticlassWorld("H1", delta=0.2)
    samples = [world.draw(100, rng=seed) for seed in range(20)]
    best = np.mean([NeymanPearson(99)(sample, 1) <= 0.05 for sample in samples])
    other = np.mean(
        [
            cr.calibration_test(sample.truth.in_set, sample.labels, n_resamples=99, rng=1).pvalue <= 0.05
            for sample in samples
        ]
    )
    assert best > other
    on_boundary = MulticlassWorld("H1", delta=0.0).draw(50, rng=0)
    assert NeymanPearson(19)(on_boundary, 1) == 1.0  # truth and point are one: all ratios are 0


@pytest.mark.parametrize(("n_classes", "most"), [(10, 1.0), (100, 0.9)])
def test_bootstrapped_instances_lower_the_classwise_error(n_classes: int, most: float) -> None:
    sample = EnsembleWorld("S1", n_classes=n_classes).draw(100, rng=0)
    right = cr.Point(sample.truth.probs)
    nulls = {
        resample: test(
            right, sample.labels, statistics=ERRORS["ECE_cwise, B = 10"], n_resamples=99, rng=0
        ).null_distribution.mean()
        for resample, test in (("labels", cr.calibration_test), ("instances", bootstrap_test))
    }
    # why M23's test of sets does not keep its level: of a right prediction, replicates must not look better
    assert nulls["instances"] < most * nulls["labels"]


@pytest.mark.slow
def test_printed_tables_are_judged_with_perfect_predictors() -> None:
    for name in ("m23-printed", "j25-printed"):
        ran = STUDIES[name].run("small")
        assert [table.name for table in ran.findings.tables] == ["printed", "perfect"]
        # no outcome without an experiment: only what perfect predictors are asked about has one
        assert [bool(claim.outcome) for claim in ran.findings.claims].count(True) == 1
        assert all(claim.by_print for claim in ran.findings.claims)
        rows = ran.table("perfect").records()
        many = rows[-1]
        assert many["rejected, instances bootstrapped"] == many["data sets"]  # all perfect ones are rejected


def test_the_explanation_of_classwise_rejections_falls_with_the_perfect_predictors() -> None:
    def of(rejected: int) -> str:
        row = {
            "error": "ECE_cwise",
            "classes": 97,
            "data sets": 6,
            "rejected, instances bootstrapped": rejected,
        }
        return outcome(m23_printed.claims({"perfect": [row]}), "stronger notion")

    assert of(6) == "not confirmed"
    assert of(0) == "cannot tell"
