"""J25 at its small size: worlds and tests are there, conclusions hold, and claims follow the numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from credibly.hypotests.credal import credal_test
from credibly.learners import NeuralLearner
from credibly.results.power import PowerStudy
from credibly_studies import STUDIES, PowerSize, PowerWork, Study, StudyResult
from credibly_studies.credal_tests import CredalTest
from credibly_studies.j25 import CONTROL, ERRORS, LEARNED, fig3_claims, fig4_claims
from credibly_studies.j25_figures import _beyond_its_null
from credibly_studies.power import Rates

pytestmark = pytest.mark.slow

TESTS = {f"{way}, {name}" for way in ("true weights", "mean", "J25", "M23") for name in ERRORS}


def cheaper(name: str) -> Study[PowerSize]:
    """The study with 19 replicates in the tests that learn or search: the least that can reject at 5 %.

    Of the tests that do neither two data sets per world are enough.
    """
    study = dataclasses.replace(STUDIES[name], small=PowerSize(80, 2, 1))
    assert isinstance(study.work, PowerWork)
    costly = {
        key: dataclasses.replace(test, n_resamples=19)
        for key, test in study.work.costly.items()
        if isinstance(test, CredalTest)
    }
    assert costly.keys() == study.work.costly.keys()
    return dataclasses.replace(study, work=dataclasses.replace(study.work, costly=costly))


@pytest.fixture(scope="module")
def few_epochs() -> Iterator[None]:
    """The network of J25 learns for 40 epochs instead of up to 300."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(credal_test.LEARNERS, "neural", NeuralLearner(max_epochs=40))
        yield


@pytest.fixture(scope="module")
def fig3(few_epochs: None) -> StudyResult:
    return cheaper("j25-fig3").run("small")


@pytest.fixture(scope="module")
def fig4(few_epochs: None) -> StudyResult:
    return cheaper("j25-fig4").run("small")


@pytest.fixture(scope="module")
def figures() -> StudyResult:
    return STUDIES["j25-figures"].run("small")


def rates_of(result: StudyResult) -> Rates:
    return Rates({name: one for name, one in result.findings.details.items() if isinstance(one, PowerStudy)})


def changed(rates: Rates, given: dict[tuple[str, str], float]) -> Rates:
    """The same studies with 1000 data sets per world, 5 % rejected unless told otherwise."""
    studies = {}
    for name, study in rates.studies.items():
        rejected = np.full(study.rejected.shape, 50)
        for (world, test), rate in given.items():
            if test in study.tests:
                rejected[study.place(world, test)] = round(1000 * rate)
        studies[name] = dataclasses.replace(study, rejected=rejected, repetitions=1000)
    return Rates(studies)


def test_four_errors_and_three_tests_in_every_world(fig3: StudyResult, fig4: StudyResult) -> None:
    for found, control in ((fig3, CONTROL), (fig4, "control, delta 0")):
        rates = rates_of(found)
        assert {test for study in rates.studies.values() for test in study.tests} > TESTS | {LEARNED}
        for study in rates.studies.values():
            assert study.null[study.worlds.index(control)] is (found is fig4)
            assert {"H0,1", "H0,2"} < set(study.worlds)


def test_binary_conclusions(fig3: StudyResult) -> None:
    rates = rates_of(fig3)
    for name in ("MMD", "KDE L2", "KDE KL"):
        assert rates.of("H1,3", f"mean, {name}").rate == 1.0
        assert rates.of("H1,3", f"J25, {name}").rate == 1.0
    assert rates.of("H1,3", LEARNED).rate == 1.0
    assert rates.of("H0,1", LEARNED).rate == 0.0
    assert "not confirmed" not in {claim.outcome for claim in fig3.findings.claims}


def test_multiclass_conclusions(fig4: StudyResult) -> None:
    rates = rates_of(fig4)
    assert rates.of("H1, delta 0.2", "mean, MMD").rate == 1.0
    for world in ("H0,1", "H0,2", "control, delta 0"):
        assert rates.of(world, "true weights, MMD").rate < 1.0
    assert "distance" in fig4.findings.drawings


def test_claims_follow_the_numbers(fig3: StudyResult, fig4: StudyResult) -> None:
    def outcome(result: StudyResult, words: str, given: dict[tuple[str, str], float]) -> str:
        claims = (fig3_claims if result is fig3 else fig4_claims)(changed(rates_of(result), given))
        (found,) = [claim for claim in claims if words in claim.statement]
        return found.outcome

    assert outcome(fig4, "on the boundary of the set is not rejected", {}) == "confirmed"
    rejected = {("control, delta 0", "J25, MMD"): 0.6}
    assert outcome(fig4, "on the boundary of the set is not rejected", rejected) == "not confirmed"
    assert outcome(fig4, "our default keeps", {("control, delta 0", LEARNED): 0.5}) == "not confirmed"
    assert outcome(fig3, "test of M23 stays below", {("H0,2", "M23, KDE L2"): 0.5}) == "not confirmed"
    assert outcome(fig3, "leaves the band", {}) == "cannot tell"
    assert outcome(fig4, "less reliable", {("H1, delta 0.1", "true weights, MMD"): 0.9}) == "not confirmed"
    assert outcome(fig4, "has power when", {("H1, delta 0.2", LEARNED): 0.01}) == "not confirmed"


def test_null_distributions(figures: StudyResult) -> None:
    rows = figures.table("null").records()
    assert [row["error"] for row in rows] == [name for name in ERRORS for _ in range(2)]
    by_error = {(row["error"], row["labels from"]): row for row in rows}
    unbiased, biased = by_error["MMD", "H0,2"], by_error["KDE L2", "H0,2"]
    low, high = unbiased["95 % of the null"]  # type: ignore[misc]
    assert low < 0 < high  # an unbiased error of a calibrated prediction has both signs
    assert float(biased["median of the null"]) > 0  # type: ignore[arg-type]
    assert float(by_error["MMD", "H1, delta 0.2"]["p"]) <= 0.05  # type: ignore[arg-type]


def test_each_error_is_judged_by_its_own_p_values() -> None:
    assert _beyond_its_null("MMD", 0.5, 0.01).outcome == "confirmed"
    assert _beyond_its_null("MMD", 0.5, 0.06).outcome == "not confirmed"
    assert _beyond_its_null("MMD", 0.01, 0.01).outcome == "cannot tell"


def test_maps_and_draws(figures: StudyResult) -> None:
    calibrated, wrong = figures.table("simplex").records()
    assert float(wrong["mean error where supported"]) > float(calibrated["mean error where supported"])  # type: ignore[arg-type]
    brier = next(row for row in figures.table("weights").records() if row["statistic"] == "brier")
    way, chance = brier["way from its minimum to the true weights"], brier["way of a weight at random"]
    assert float(way) < float(chance)  # type: ignore[arg-type]
    exact, weights, walk = figures.table("draws").records()
    assert float(weights["standard errors from exact"]) < -3  # type: ignore[arg-type]
    assert abs(float(walk["standard errors from exact"])) < 4  # type: ignore[arg-type]
    assert exact["draws"] == "rejection (exact)"
    places = [claim.place for claim in figures.findings.claims]
    assert places == [*["J25 Fig. 5"] * 4, "J25 Fig. 6", "J25 Fig. 7", "J25 Fig. 8"]
    assert {f"fig{number}" for number in (5, 6, 7, 8)} == {name[:4] for name in figures.findings.drawings}
