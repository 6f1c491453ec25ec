"""J25 at its small size: worlds and tests are there, conclusions hold, and claims follow the numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from credibly_studies import STUDIES, StudyResult
from credibly_studies.credal_tests import NeymanPearson
from credibly_studies.j25 import BEST, CONTROL, ERRORS, LEARNED, credal_test, fig3_claims, fig4_claims
from credibly_studies.j25_figures import FigureSize, map_claims, null_claims
from credibly_studies.outcomes import Share
from credibly_studies.power import Rates
from credibly_studies.simulate import BinaryWorld, MulticlassWorld, World
from helpers.study_rates import Told, cheaper, outcome, studies_of

TESTS = {f"{way}, {name}" for way in ("true weights", "mean", "J25", "M23") for name in ERRORS}


def _data(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    points = rng.dirichlet(np.ones(3), size=(n, 3))
    steps = np.einsum("nak,a->nk", points, [0.6, 0.3, 0.1]).cumsum(axis=1)[:, :-1]
    return points, (rng.random((n, 1)) >= steps).sum(axis=1)


@pytest.mark.slow
def test_j25_uses_a_network_and_kde() -> None:
    assert credal_test(*_data(12), rng=0).n == 6  # too few to stop early
    result = credal_test(*_data(), rng=0)
    assert result.statistic_name == "kde_ce"
    assert result.n_resamples == 100
    assert result.settings["learner"]["name"] == "neural"
    assert tuple(result.settings["learner"]["hidden"]) == (16, 16, 16)
    assert result.settings["split"] == 0.5
    assert any("Algorithm 1 of J25" in note for note in result.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "score"), [("kl_ce", "log_loss"), ("kde_ce", "brier"), ("mmd_ce", "brier")]
)
def test_j25_trains_with_the_error_it_tests(statistic: str, score: str) -> None:
    result = credal_test(*_data(24), statistics=statistic, n_resamples=9, rng=0)
    learner = result.settings["learner"]
    assert learner["score"] == score  # J25 Table 1 and E.2: log loss with CE_KL, Brier with CE_2
    assert list(learner["penalty"]) == [statistic]
    assert result.settings["resample"] == "instances"  # Algorithm 1, line 6
    assert result.n == 12


@pytest.fixture(scope="module")
def fig3() -> StudyResult:
    elsewhere = ["J25, CE_2", "J25, CE_KL", "M23, CE_k"]  # on real sets, and in figure 1 of M23
    return cheaper("j25-fig3", often=[BEST], never=elsewhere).run("small")


@pytest.fixture(scope="module")
def fig4() -> StudyResult:
    papers = [f"{way}, {name}" for way in ("J25", "M23") for name in ERRORS]  # fig3 learns and searches them
    return cheaper("j25-fig4", often=[BEST], never=papers).run("small")


@pytest.fixture(scope="module")
def figures() -> StudyResult:
    return STUDIES["j25-figures"].run("small")


@pytest.mark.slow
def test_four_errors_and_three_tests_in_every_world(fig3: StudyResult, fig4: StudyResult) -> None:
    for found, control in ((fig3, CONTROL), (fig4, "control, delta 0")):
        studies = studies_of(found)
        assert {test for study in studies.values() for test in study.tests} > TESTS | {LEARNED, BEST}
        for study in studies.values():
            assert study.null[study.worlds.index(control)] is (found is fig4)
            assert {"H0,1", "H0,2"} < set(study.worlds)
        assert len(found.to_dict()["tables"]["curves"]) == 6 * sum(
            len(study.tests) for study in studies.values()
        )


def best(world: World, data_sets: int) -> Share:
    """How often the test that knows truth and boundary rejects, in data sets of 400 instances."""
    test = NeymanPearson(99)
    rejected = sum(test(world.draw(400, rng=seed), seed) <= 0.05 for seed in range(data_sets))
    return Share(rejected, data_sets)


@pytest.mark.slow
def test_no_test_has_the_power_that_is_printed_close_to_the_set() -> None:
    """J25 Sec. 4.1: almost zero type II error also in very close distance."""
    # 400 labels, shifted by 0.8 standard errors at most
    assert best(BinaryWorld("H1,1"), 30).interval[1] < 0.5
    assert best(BinaryWorld("H1,2"), 60).interval[0] > 0.8
    assert best(BinaryWorld("H1,3"), 10).rate == 1.0
    assert best(MulticlassWorld("H1", delta=0.01), 30).interval[1] < 0.5
    assert best(MulticlassWorld("H1", delta=0.1), 10).rate == 1.0


@pytest.mark.slow
def test_conclusions(fig3: StudyResult, fig4: StudyResult) -> None:
    binary, many = (Rates.read(found.to_dict()["tables"]["curves"]) for found in (fig3, fig4))
    for rates, names in (
        (binary, ("H1,1", "H1,2", "H1,3")),
        (many, ("H1, delta 0.01", "H1, delta 0.1", "H1, delta 0.2")),
    ):
        counts = [rates.of(world, BEST).count for world in names]
        assert counts[0] == 0  # 3 data sets of 40 instances
        assert counts == sorted(counts)  # power grows with the distance
        assert counts[-1] >= 2
        for world in ("H0,1", "H0,2"):
            assert rates.of(world, BEST).rate == 0.0  # the truth is in the set: its ratio is 1
    assert "distance" in fig4.findings.drawings
    assert all("Fig. 3" in claim.place for claim in fig3.findings.claims)


def test_claims_follow_the_curves() -> None:
    def of(claims: object, words: str, given: dict) -> str:
        return outcome(claims(Told(given)), words)  # type: ignore[operator]

    assert of(fig3_claims, "close to the level", {}) == "confirmed"
    assert of(fig3_claims, "close to the level", {("H0,2", "J25, CE_2"): 0.6}) == "not confirmed"
    assert of(fig3_claims, "overly conservative", {}) == "cannot tell"  # on the levels
    low = {(world, f"M23, {name}"): 0.001 for world in ("H0,1", "H0,2") for name in ERRORS}
    assert of(fig3_claims, "overly conservative", low) == "confirmed"
    assert of(fig3_claims, "overly conservative", low | {("H0,1", "M23, CE_k"): 0.6}) == "not confirmed"
    assert (
        of(fig4_claims, "overly conservative", low | {("H0,1", "M23, CE_k"): 0.6}) == "confirmed"
    )  # but CE_k
    assert of(fig3_claims, "does not keep the level", {}) == "not confirmed"
    high = {("H0,1", "mean, CE_2"): 0.6, ("H0,2", "mean, CE_2"): 0.6}
    assert of(fig3_claims, "does not keep the level", high) == "not confirmed"  # the other errors keep it
    every = {(world, f"mean, {name}"): 0.6 for world in ("H0,1", "H0,2") for name in ERRORS}
    assert of(fig3_claims, "does not keep the level", every) == "confirmed"
    assert of(fig3_claims, "almost no type II error", {}) == "not confirmed"
    seen = {("H1,1", f"{way}, {name}"): 0.99 for way in ("J25", "mean") for name in ERRORS}
    assert of(fig3_claims, "almost no type II error", seen) == "confirmed"
    others = {
        (f"H1, delta {number}", f"J25, {name}"): 0.9
        for number in (0.01, 0.1, 0.2)
        for name in ERRORS
        if name != "CE_k"
    }
    assert of(fig4_claims, "low power", others) == "confirmed"
    assert of(fig4_claims, "low power", {}) == "cannot tell"


def test_ties_decide_nothing() -> None:
    """J25 Fig. 4: where mean, learned weights and M23 all reject everything, none has the most power."""
    ways = [f"{way}, {name}" for way in ("mean", "J25", "M23") for name in ERRORS]
    tied = {(f"H1, delta {number}", test): 1.0 for number in (0.01, 0.1, 0.2) for test in ways}
    for words in ("the mean has the highest power", "more power than the test of M23"):
        assert outcome(fig4_claims(Told(tied)), words) == "cannot tell"
    one = tied | {("H1, delta 0.01", "M23, CE_KL"): 0.5}  # one cell that decides is enough
    assert outcome(fig4_claims(Told(one)), "more power than the test of M23") == "confirmed"


def test_the_records_of_both_figures_are_judged_by_curves() -> None:
    folder = Path(__file__).resolve().parents[1] / "results"
    binary, many = (
        Rates.read(
            json.loads((folder / name / "result.json").read_text(encoding="utf-8"))["tables"]["curves"]
        )
        for name in ("j25-fig3", "j25-fig4")
    )
    assert outcome(fig3_claims(binary), "mean of the members does not keep") == "confirmed"
    conservative = [
        many.of(world, f"M23, {name}", 0.2).count
        for world in ("H0,1", "H0,2")
        for name in ERRORS
        if name != "CE_k"
    ]
    assert sum(conservative) == 10  # of 240
    assert outcome(fig4_claims(many), "overly conservative") == "confirmed"
    assert outcome(fig4_claims(many), "the mean has the highest power") == "cannot tell"


@pytest.mark.slow
def test_figures_as_printed(figures: StudyResult) -> None:
    null = {row["error"]: row for row in figures.table("null").records()}
    assert float(str(null["CE_2"]["mean in standard deviations"])) > 3  # biased
    assert abs(float(str(null["CE_MMD"]["mean in standard deviations"]))) < 0.5  # 99 draws: 5 standard errors
    maps = figures.table("maps").records()
    assert [row["error"] for row in maps] == [*ERRORS, *ERRORS]
    # of 2000 labels about a tenth, a tenth and eight tenths: the constant prediction nearest to them
    assert {row["minimum at"] for row in maps if row["figure"] == 6} == {"0.1, 0.1, 0.8"}
    exact, weights, walk = figures.table("draws").records()
    assert float(str(weights["standard errors from exact"])) < -3
    assert abs(float(str(walk["standard errors from exact"]))) < 4
    assert exact["draws"] == "rejection (exact)"
    places = [claim.place for claim in figures.findings.claims]
    pictured = ("Fig. 5",) * 3 + ("Fig. 6",) * 2 + ("Fig. 7",) * 2
    assert places == [
        *(f"J25 App. A, {one}" for one in pictured),
        "J25 App. D, Fig. 8",
        "J25 App. B, Example 2",
    ]
    assert {f"fig{number}" for number in (5, 6, 7, 8)} == {name[:4] for name in figures.findings.drawings}


def test_figures_are_judged_by_their_numbers() -> None:
    size = FigureSize(1000, 500, 2000, 2000)
    found = {
        "CE_2": (11.0, 240.0, 0.0),
        "CE_KL": (6.0, 130.0, 0.0),
        "CE_MMD": (0.0, 0.3, 0.9),
        "CE_k": (0.0, 0.3, 0.1),
    }
    assert [claim.outcome for claim in null_claims(found, size)] == ["confirmed"] * 3
    found = dict.fromkeys(ERRORS, (0.0, 5.0, 1.0))
    assert [claim.outcome for claim in null_claims(found, size)] == [
        "confirmed",
        "not confirmed",
        "not confirmed",
    ]
    rows = [
        (figure, name, "", 0.0, share, 0.5 if name == "CE_k" else 0.9)
        for figure, share in ((6, 0.0), (7, 0.5))
        for name in ERRORS
    ]
    outcomes = [claim.outcome for claim in map_claims(rows, {6: 0.9, 7: 0.5}, size)]
    assert outcomes == ["confirmed", "confirmed", "not confirmed", "confirmed"]
    alike = [(*row[:5], 0.99) for row in rows]
    # J25 Fig. 7: rank correlations of 1 and 0.997 are a tie
    outcomes = [claim.outcome for claim in map_claims(alike, {6: 1.0, 7: 0.997}, size)]
    assert outcomes == ["confirmed", "cannot tell", "not confirmed", "cannot tell"]
    assert {claim.design for claim in map_claims(rows, {6: 0.9, 7: 0.5}, size)} == {"as printed"}
