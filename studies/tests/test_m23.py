"""M23 at its small size: worlds and tests are there, conclusions hold, and claims follow the numbers."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.results.power import PowerStudy
from credibly.simulate import EnsembleWorld
from credibly.statistics import brier
from credibly_studies import STUDIES, PowerSize, PowerWork, Study, StudyResult
from credibly_studies.credal_tests import CredalTest
from credibly_studies.m23 import BOUNDED, ERRORS, fig1_claims, given_weights, searched_weights
from credibly_studies.power import Rates

pytestmark = pytest.mark.slow

SEARCHED = [searched_weights(name) for name in ERRORS]


def cheaper(name: str) -> Study[PowerSize]:
    """The study with 19 replicates in the tests that learn or search: the least that can reject at 5 %."""
    study = STUDIES[name]
    assert isinstance(study.work, PowerWork)
    costly = {
        key: dataclasses.replace(test, n_resamples=19)
        for key, test in study.work.costly.items()
        if isinstance(test, CredalTest)
    }
    assert costly.keys() == study.work.costly.keys()
    return dataclasses.replace(study, work=dataclasses.replace(study.work, costly=costly))


@pytest.fixture(scope="module")
def fig1() -> StudyResult:
    return cheaper("m23-fig1").run("small")


def studies_of(result: StudyResult) -> dict[str, PowerStudy]:
    found = {name: one for name, one in result.findings.details.items() if isinstance(one, PowerStudy)}
    assert set(found) == {"power", "costly"}
    return found


def with_rates(result: StudyResult, changed: dict[tuple[str, str], float]) -> Rates:
    """The same study with 1000 data sets per world, 5 % rejected unless told otherwise."""
    studies = {}
    for name, study in studies_of(result).items():
        rejected = np.full(study.rejected.shape, 50)
        for (world, test), rate in changed.items():
            if test in study.tests:
                rejected[study.place(world, test)] = round(1000 * rate)
        studies[name] = dataclasses.replace(study, rejected=rejected, repetitions=1000)
    return Rates(studies)


def test_all_worlds_and_tests_are_there(fig1: StudyResult) -> None:
    studies = studies_of(fig1)
    assert studies["power"].worlds == studies["costly"].worlds == ("S1", "S2", "S3")
    assert studies["power"].tests == tuple(given_weights(name) for name in ERRORS)
    assert studies["costly"].tests == tuple(SEARCHED)
    assert (studies["power"].repetitions, studies["costly"].repetitions) == (10, 1)
    assert len(fig1.table("rates").rows) == 3 * 2 * len(ERRORS)
    assert set(fig1.findings.drawings) >= {"power", "costly"}


def test_conclusions(fig1: StudyResult) -> None:
    rates = Rates(studies_of(fig1))
    for name in ERRORS:  # given the weights the level is kept: 10 data sets, so 0.05 is below no interval
        assert rates.of("S1", given_weights(name)).interval[0] <= 0.05
    for name in BOUNDED:  # towards a random corner binned errors see it in every data set
        assert rates.of("S3", given_weights(name)).interval[0] > 0.5
        assert rates.of("S3", searched_weights(name)).rate == 1.0
        assert rates.of("S1", searched_weights(name)).rate == 0.0
    assert {claim.outcome for claim in fig1.findings.claims} <= {"confirmed", "cannot tell"}


def test_claims_follow_the_numbers(fig1: StudyResult) -> None:
    def outcome(words: str, changed: dict[tuple[str, str], float]) -> str:
        claims = fig1_claims(with_rates(fig1, changed))
        (found,) = [claim for claim in claims if words in claim.statement]
        return found.outcome

    hl, linear = searched_weights("HL"), searched_weights("SKCE linear")
    assert outcome("conservative", {}) == "confirmed"
    assert outcome("conservative", {("S1", hl): 0.3}) == "not confirmed"
    assert outcome("SKCE_ul does not", {("S1", linear): 0.2}) == "confirmed"
    assert outcome("SKCE_ul does not", {("S1", linear): 0.01}) == "not confirmed"
    assert outcome("random corner", {("S3", test): 0.9 for test in SEARCHED}) == "confirmed"
    assert outcome("random corner", {("S3", test): 0.01 for test in SEARCHED}) == "not confirmed"
    assert outcome("where the weights are known", {("S1", given_weights("SKCE")): 0.4}) == "not confirmed"
    assert outcome("quadratic", {("S3", given_weights("SKCE")): 0.9}) == "confirmed"


@pytest.mark.parametrize(
    ("name", "suffix", "m", "k", "u"),
    [
        ("m23-fig2", ", u = 0.1", 10, 10, 0.1),
        ("m23-fig3", ", m = 100", 100, 10, 0.01),
        ("m23-fig4", ", k = 100", 10, 100, 0.01),
    ],
)
def test_appendix(name: str, suffix: str, m: int, k: int, u: float) -> None:
    found = dataclasses.replace(cheaper(name), small=PowerSize(60, 2, 1)).run("small")
    studies = studies_of(found)
    assert studies["power"].worlds == tuple(f"{scenario}{suffix}" for scenario in ("S1", "S2", "S3"))
    for world, scenario in zip(studies["power"].worlds, ("S1", "S2", "S3"), strict=True):
        made = EnsembleWorld(scenario, n_members=m, n_classes=k, spread=u)  # type: ignore[arg-type]
        assert studies["power"].settings["worlds"][world] == made.settings()
    rates = Rates(studies)
    for error in BOUNDED:
        assert rates.of(f"S3{suffix}", given_weights(error)).rate == 1.0
    assert all(claim.place == found.reference for claim in found.findings.claims)
    assert "not confirmed" not in {claim.outcome for claim in found.findings.claims}


def test_a_family_shares_what_was_learned_and_changes_no_p_value() -> None:
    family = (ERRORS["SKCE"], brier)
    samples = [EnsembleWorld("S1", n_members=3, n_classes=3).draw(60, rng=seed) for seed in (1, 2)]
    together = {one.name: CredalTest(one, paper="J25", n_resamples=19, family=family) for one in family}
    first = [together[name](sample, 1) for sample in samples for name in together]
    second = [together[name](samples[1], 2) for name in reversed(together)]  # any order, any seed
    assert first[2:] == second[::-1]
    assert first[:2] == [together[name](samples[0]) for name in together]
    assert len(set(first)) > 1


def test_a_credal_test_is_told_apart_by_its_settings(tmp_path: Path) -> None:
    first, second = CredalTest("brier", paper="M23"), CredalTest("brier", paper="M23", n_resamples=19)
    assert first.settings() != second.settings()
    assert CredalTest(ERRORS["SKCE"]).settings() != CredalTest(ERRORS["SKCE linear"]).settings()
    sample = EnsembleWorld("S1", n_members=3, n_classes=3).draw(30, rng=1)
    assert second(sample, 1) == second(sample, 1)


@pytest.mark.parametrize(("n_classes", "most"), [(10, 1.0), (100, 0.9)])
def test_bootstrapped_instances_lower_the_classwise_error(n_classes: int, most: float) -> None:
    sample = EnsembleWorld("S1", n_classes=n_classes).draw(100, rng=0)
    right = cr.Point(sample.truth.probs)
    nulls = {
        resample: cr.calibration_test(
            right, sample.labels, statistics=ERRORS["classwise ECE"], resample=resample, n_resamples=99, rng=0
        ).null_distribution.mean()
        for resample in ("labels", "instances")
    }
    # why M23's test of sets does not keep its level: of a right prediction, replicates must not look better
    assert nulls["instances"] < most * nulls["labels"]
