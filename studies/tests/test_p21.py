"""P21's studies at their small size: what they conclude, not their digits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.scale.engines import as_engine
from credibly_studies import Run, StudyResult, StudyTable, p21_printed, p21_uci
from credibly_studies.outcomes import Share, near
from credibly_studies.p21 import is_beyond_quantiles, is_beyond_replicates, paper_pvalue, predictive_check
from credibly_studies.p21_corruption import CORRUPTION, corrupted
from credibly_studies.p21_corruption_claims import shift_claims
from credibly_studies.p21_location import LOCATION, LocationSize, work
from credibly_studies.p21_quadratic import QUADRATIC, QuadraticSize
from credibly_studies.p21_shift_printed import PVALUES, beyond, surely_passed
from credibly_studies.p21_uci import AS_PRINTED, UCI, UciSize, judge, splits_of
from credibly_studies.p21_uci_tables import _brackets, says_nothing
from credibly_studies.regressors import MODELS, predictions, ridge
from credibly_studies.simulate import QuadraticWorld

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("CREDIBLY_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def location() -> StudyResult:
    size = LocationSize(n=200, data_sets=40, replicates=99, members=(5, 25), few_n=40, repetitions=30)
    return dataclasses.replace(LOCATION, small=size).run()


@pytest.fixture(scope="module")
def quadratic(cache: Path) -> StudyResult:
    size = QuadraticSize(
        data_sets=2,
        n_train=1000,
        n=200,
        n_gap=300,
        members=6,
        masks=10,
        hidden=(32, 32),
        steps=250,
        replicates=99,
    )
    return dataclasses.replace(QUADRATIC, small=size).run()


@pytest.fixture(scope="module")
def corruption(cache: Path) -> StudyResult:
    size = dataclasses.replace(CORRUPTION.small, images=150, members=3)
    return dataclasses.replace(CORRUPTION, small=size).run()


@pytest.fixture(scope="module")
def uci(cache: Path, data_dir: Path) -> StudyResult:
    if not (data_dir / "uci" / "yacht").is_dir():
        pytest.skip(f"needs {data_dir}/uci/yacht under CREDIBLY_DATA")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CREDIBLY_DATA", str(data_dir))
        return UCI.run()


def cells(result: StudyResult, table: str, column: str, **where: object) -> list[object]:
    rows = result.table(table).records()
    found = [row[column] for row in rows if all(row[name] == value for name, value in where.items())]
    assert found, where
    return found


def outcomes(result: StudyResult) -> dict[str, str]:
    return {claim.statement: claim.outcome for claim in result.findings.claims}


def test_section_3_1_has_its_four_rows(location: StudyResult) -> None:
    def rejected(data: str, hypothesis: str) -> float:
        return cells(location, "rows", "rejected", data=data, hypothesis=hypothesis)[0]

    # what calibration error mistrusts, and what it trusts
    assert (rejected("theta = 0.5", "bayesian"), rejected("theta = 0.5", "independent")) == (0, 1)
    assert (rejected("theta = 4", "bayesian"), rejected("theta = 4", "independent")) == (1, 1)
    assert rejected("theta ~ N(0, 1)", "bayesian") < 0.2 < rejected("theta ~ N(0, 1)", "independent")
    assert rejected("y ~ N(0, 2)", "independent") < 0.2 < rejected("y ~ N(0, 2)", "bayesian")
    side = "side of the replicates"
    assert cells(location, "rows", side, data="y ~ N(0, 2)", hypothesis="bayesian") == ["below"]
    found = outcomes(location)
    for words in ("mistrust in good models", "trust in bad models", "never uniform", "single observation"):
        (outcome,) = [one for statement, one in found.items() if f" {words}" in statement]
        assert outcome == "confirmed"
    assert sum(claim.further for claim in location.findings.claims) == 3  # no claims of the paper


def test_few_members_reject_means_that_lie_outside_all_of_them(location: StudyResult) -> None:
    def rejected(members: int, case: str) -> float:
        return cells(location, "few-members", "rejected", members=members, **{"labels and rule": case})[0]

    # one of six exchangeable means is the smallest or largest in a third of cases
    assert 0.1 < rejected(5, "new mean") < 0.5
    assert rejected(5, "new mean, member p") <= 0.1  # one more member keeps the level of 5 %
    assert rejected(5, "a member") < 0.15
    assert rejected(25, "new mean") < rejected(5, "new mean")


def test_workers_change_nothing() -> None:
    tiny = LocationSize(n=40, data_sets=10, replicates=39, members=(3,), few_n=20, repetitions=4)
    alone = work(tiny, Run((1, 2)))
    with ThreadPoolExecutor(2) as pool:
        together = work(tiny, Run((1, 2), engine=as_engine(pool)))
    assert [table.rows for table in alone.tables] == [table.rows for table in together.tables]
    assert work(tiny, Run((1, 3))).tables[1].rows != alone.tables[1].rows


def test_the_gap_is_seen_by_members(quadratic: StudyResult) -> None:
    rows = {(row["model"], row["where"]): row for row in quadratic.table("checks").records()}
    assert len(rows) == 6
    regions = ("in distribution", "in the gap")
    ensemble = [rows["Bayesian ensemble", where]["sharpness, median"] for where in regions]
    assert ensemble[1] > 3 * ensemble[0]  # printed: .008 and .396
    alone = rows["independent ensemble", "in the gap"]
    assert alone["sharpness, median"] < ensemble[1] / 3  # printed: .001 and .396
    assert alone["p, median"] > 0.9  # printed: 1.0
    assert rows["MC dropout", "in the gap"]["sharpness, printed"] == 1.319
    assert {claim.design for claim in quadratic.findings.claims} == {"smaller"}


def test_printed_tables_of_checks() -> None:
    result = p21_printed.PRINTED.run()
    assert set(outcomes(result).values()) == {""}  # printed numbers are no experiment
    by_print = {claim.statement: claim.by_print for claim in result.findings.claims}
    open_ = [statement for statement, one in by_print.items() if one != "confirmed"]
    assert len(open_) == 1  # lower bounds of 57 and 76 % do not show "almost always"
    assert by_print[open_[0]] == "cannot tell"
    assert "almost always" in open_[0]
    # App. A, first bullet: without dropout errors and passes order models alike
    assert p21_printed.agreeing_pairs(p21_printed.TABLES_2_3, dropout=False) == (56, 5)
    assert p21_printed.agreeing_pairs(p21_printed.TABLES_2_3, dropout=True) == (22, 26)
    found = p21_printed.bounds()
    assert found["yacht"] == (13, 0, 13)  # PICP 8 (19), Calib 8 (10)
    assert sum(one[2] for one in found.values()) == 28
    assert sum(p21_printed.TABLE_4["ECE"]["Bayesian"]) == 69


def test_printed_pvalues_of_corrupted_images_fit_the_printed_counts() -> None:
    """P21 App. I against Table 4: p-values that are neither 0.00 nor 1.00 are of passed checks."""
    assert len(PVALUES) == 52
    for check, rows in p21_printed.TABLE_4.items():
        for model, counts in rows.items():
            value = {"MC dropout": "dropout"}.get(model, model)
            for severity, passed in enumerate(counts, start=1):
                surely = surely_passed(value, check, severity)
                assert surely <= passed
                assert passed - surely <= 9  # rounded ones, and rows that the text does not have
    assert PVALUES["zoom blur", "Bayesian"]["ECE"] == (0.71, 0.29, 0.55, 0.92, 1.0)
    assert (beyond("shot noise"), beyond("gaussian noise"), beyond("zoom blur")) == (3, 2, 6)


def test_training_data_are_those_behind_the_posterior() -> None:
    world = QuadraticWorld(n_train=30, n_members=4000, noise=0.1)
    x, y = world.training_data(rng=5)
    assert not ((x > -1.5) & (x < 0)).any()
    sample = world.draw(50, rng=5)
    powers = np.stack([np.ones_like(x), x, x**2], axis=1)
    ridge = powers.T @ powers + 0.1**2 * np.eye(3)  # noise 0.1, prior 1
    centre = np.linalg.solve(ridge, powers.T @ y)
    at = sample.features[:, 0]
    expected = np.stack([np.ones_like(at), at, at**2], axis=1) @ centre
    np.testing.assert_allclose(sample.predictions.mean.mean(axis=1), expected, atol=0.02)


def test_corruption_hurts_every_model(corruption: StudyResult) -> None:
    for model in ("single network", "dropout", "deep ensemble"):
        rows = [row for row in corruption.table("values").records() if row["model"] == model]
        raw = [row for row in rows if row["variant"] == "raw"]
        assert [row["severity"] for row in raw] == [0, 2, 5]
        accuracy = [row["Accuracy"] for row in raw]
        assert accuracy[0] > 0.9
        assert accuracy == sorted(accuracy, reverse=True)
        assert raw[0]["Confidence ECE"] < raw[2]["Confidence ECE"]
        assert raw[0]["Log loss"] < raw[2]["Log loss"]
    assert outcomes(corruption)[
        "with severity accuracy falls and the calibration error grows, for every model"
    ] == ("confirmed")


def test_members_expect_more_of_the_errors(corruption: StudyResult) -> None:
    table = corruption.table("severities").records()

    def of(column: str, model: str, hypothesis: str, severity: int) -> float:
        keys = {"model": model, "hypothesis": hypothesis, "severity": severity, "variant": "raw"}
        keys["check"] = "Confidence ECE"
        (row,) = [row for row in table if all(row[name] == value for name, value in keys.items())]
        return row[column]

    for model in ("dropout", "deep ensemble"):
        # one member for all instances: errors vary more, and are larger on average
        assert of("sharpness", model, "bayesian", 5) > of("sharpness", model, "independent", 5)
        assert of("expected", model, "bayesian", 5) > of("expected", model, "independent", 5)
        assert of("fails", model, "bayesian", 5) <= of("fails", model, "independent", 5)
    assert of("expected", "single network", "bayesian", 5) == of(
        "expected", "single network", "independent", 5
    )


def test_a_temperature_lowers_the_log_loss_of_images_as_they_are(corruption: StudyResult) -> None:
    keys = {"model": "dropout", "severity": 0}
    raw, after = (
        cells(corruption, "values", "Log loss", variant=variant, **keys)[0]
        for variant in ("raw", "recalibrated")
    )
    assert after < raw


@pytest.mark.parametrize(("differ", "outcome"), [(2, "cannot tell"), (12, "confirmed")])
def test_corruptions_are_the_cases_of_a_shift(differ: int, outcome: str) -> None:
    """Five trainings see the same corrupted images: two corruptions that differ are two cases, not ten."""
    columns = ("check", "model", "corruption", "severity", "trainings", "passed")
    rows = [
        (check, model, "noise", place, 5, float(place < differ and model != "independent"))
        for check in ("ECE", "accuracy")
        for model in ("independent", "Bayesian", "MC dropout")
        for place in range(15)
    ]
    more, _ = shift_claims(StudyTable("corruptions", "", columns, rows))
    assert more.outcome == outcome


@pytest.mark.parametrize("kind", ["noise", "blur", "rotation"])
def test_corruptions_stay_images_and_grow(kind: str) -> None:
    pixels = np.random.default_rng(0).random((20, 64))
    far = [
        np.abs(corrupted(pixels, kind, severity, np.random.default_rng(1)) - pixels).mean()
        for severity in (1, 3, 5)
    ]
    assert far == sorted(far)
    values = corrupted(pixels, kind, 5, np.random.default_rng(1))
    assert values.shape == (20, 64)
    assert values.min() >= 0
    assert values.max() <= 1


def test_a_blur_mixes_pixels_not_images() -> None:
    pixels = np.zeros((2, 64))
    pixels[0] = 1.0
    assert corrupted(pixels, "blur", 5, np.random.default_rng(0))[1].max() == 0


def test_corruptions_refuse_what_they_cannot_do() -> None:
    with pytest.raises(cr.InputError, match="noise"):
        corrupted(np.zeros((1, 64)), "fog", 1, np.random.default_rng(0))
    with pytest.raises(cr.InputError, match="square"):
        corrupted(np.zeros((1, 60)), "blur", 1, np.random.default_rng(0))


@pytest.mark.data
def test_networks_beat_a_line_on_yachts(uci: StudyResult) -> None:
    rows = uci.table("models").records()
    mse = {row["model"]: row["MSE"] for row in rows}
    assert tuple(mse) == MODELS
    assert all(mse[name] < mse["Bayesian ridge"] / 2 for name in mse if name != "Bayesian ridge")
    assert all(0.5 <= row["PICP"] <= 1 for row in rows)
    printed = {row["model"]: row["PICP passes, printed"] for row in rows}
    assert printed["MC dropout"] == "8 (19)"  # P21 Table 3, yacht
    assert printed["SQR"] is None  # its row is not in the text


@pytest.mark.data
def test_both_rules_agree_but_for_the_number_of_replicates(uci: StudyResult) -> None:
    rows = uci.table("failures").records()
    assert {row["hypothesis"] for row in rows} == {"bayesian", "independent", "both (one member)"}
    # with 99 replicates the 2.5 % quantile is the third smallest, and 2 (1 + 2) / 100 is above 5 %
    gaps = [row["fails, P21"] - row["fails"] for row in rows]
    assert min(gaps) >= 0
    assert np.mean(gaps) < 0.15


# P21 Tables 2 and 3, Bayesian ridge regression: mean squared error and coverage, with printed deviations
RIDGE = {
    "bostonHousing": ((0.28, 0.08), (0.95, 0.03)),
    "concrete": ((0.40, 0.07), (0.95, 0.03)),
    "energy": ((0.09, 0.02), (0.89, 0.04)),
    "power-plant": ((0.072, 0.007), (0.964, 0.007)),
    "wine-quality-red": ((0.63, 0.11), (0.95, 0.02)),
    "yacht": ((0.35, 0.10), (0.94, 0.03)),
}


@pytest.mark.data
@pytest.mark.parametrize("name", RIDGE)
def test_ridge_has_its_printed_row(name: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDIBLY_DATA", str(data_dir))
    splits = splits_of(name, 20)
    arrays = ridge(splits)
    given = [predictions({key: values[at] for key, values in arrays.items()}) for at in range(20)]
    errors = [float(cr.rmse(one, y)) ** 2 for one, y in zip(given, splits.test_y, strict=True)]
    covered = [float(cr.picp(one, y, level=0.95)) for one, y in zip(given, splits.test_y, strict=True)]
    for found, (mean, deviation) in zip((errors, covered), RIDGE[name], strict=True):
        # other splits of the same data: half a deviation is more than two standard errors of 20 of them
        assert np.mean(found) == pytest.approx(mean, abs=deviation / 2)


def test_the_line_of_the_study_is_that_of_least_squares(
    cache: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The study's own tables on a set that is drawn, without the networks, whose training is dear."""
    monkeypatch.setenv("CREDIBLY_DATA", str(stand_in))
    monkeypatch.setattr(p21_uci, "MODELS", ("Bayesian ridge",))
    size = UciSize(("yacht",), splits=2, draws=1, steps=1, replicates=39)
    ran = dataclasses.replace(UCI, small=size).run()
    splits, squares = splits_of("yacht", 2), []
    for x, y, new, labels in zip(splits.train_x, splits.train_y, splits.test_x, splits.test_y, strict=True):
        line = np.linalg.lstsq(np.column_stack([np.ones(222), x]), y, rcond=None)[0]
        squares.append(((labels - np.column_stack([np.ones(31), new]) @ line) ** 2).mean())
    (errors,) = ran.table("models").records()
    assert errors["MSE"] == pytest.approx(np.mean(squares), rel=0.05)  # ridge shrinks a little
    rows = ran.table("failures").records()
    assert {row["hypothesis"] for row in rows} == {"both (one member)"}
    # passes are what does not fail, by the printed rule
    (picp,) = [row for row in rows if row["check"] == "Interval coverage"]
    assert int(errors["PICP passes"]) == round(2 * (1 - picp["fails, P21"]))
    assert min(row["fails, P21"] - row["fails"] for row in rows) >= 0


def test_splits_are_those_of_the_file(any_data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDIBLY_DATA", str(any_data_dir))
    splits = splits_of("yacht", 2)
    # 308 cases, of which 31 are tested: 72, 18 and 10 %
    assert [part.shape[1] for part in (splits.train_x, splits.valid_x, splits.test_x)] == [222, 55, 31]
    assert splits.test_y.shape == (2, 31)
    np.testing.assert_allclose(splits.train_y.mean(axis=1), 0, atol=1e-12)


def test_without_data_the_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDIBLY_DATA", str(tmp_path))
    with pytest.raises(cr.CrediblyError, match="CREDIBLY_DATA"):
        UCI.run()


def model_rows(data: str, **changed: dict) -> list[dict]:
    """Rows of our table as printed, but for what is changed."""
    found = []
    for model, printed in p21_printed.TABLES_2_3[data].items():
        row = {
            "data": data,
            "model": model,
            "MSE": printed.mse,
            "MSE, printed": printed.mse,
            "PICP": printed.picp,
            "PICP, printed": printed.picp,
            "PICP passes": _brackets(printed.picp_passes),
            "calibration error": printed.calibration,
            "calibration passes": _brackets(printed.calibration_passes),
        }
        found.append({**row, **changed.get(model.replace(" ", "_"), {})})
    return found


def judged(rows: list[dict], words: str) -> str:
    (found,) = [one for one in judge({"models": rows}, UCI.full) if words in one.statement]
    return found.outcome


def test_what_is_trained_as_printed_is_judged_as_printed() -> None:
    named = [row for data in ("power-plant", "concrete", "energy", "yacht") for row in model_rows(data)]
    assert judged(named, "mistrust") == "confirmed"
    assert judged(named, " trust in bad") == "confirmed"  # energy and yacht
    assert judged(named, "almost always") == "cannot tell"
    assert judged(named, "on energy") == judged(named, "on yacht") == "confirmed"
    assert judged(named, "worst PICP") == "confirmed"
    assert judged(named, "largest calibration error") == "cannot tell"  # kin8nm and wine are not there


def test_a_data_set_with_overfitted_baselines_says_nothing() -> None:
    overfitted = model_rows("concrete", SQR={"PICP": 0.48, "calibration error": 2.2})
    assert says_nothing({"models": overfitted}) == {"concrete": "SQR"}
    assert judged(overfitted, "worst PICP") == "cannot tell"
    diverged = model_rows("energy", conditional_flow={"MSE": 0.5})
    assert says_nothing({"models": diverged}) == {"energy": "conditional flow"}
    assert judged(diverged, "on energy") == "cannot tell"
    # that no model is trusted wrongly here does not deny that one can be
    assert judged(model_rows("power-plant"), " trust in bad") == "cannot tell"


def test_the_printed_grid_is_a_design_of_its_own() -> None:
    rows = {"models": model_rows("power-plant")}
    assert {one.design for one in judge(rows, UCI.full)} == {"another"}
    assert {one.design for one in judge(rows, AS_PRINTED)} == {"as printed"}
    assert (len(AS_PRINTED.rates), len(AS_PRINTED.decays), AS_PRINTED.epochs) == (3, 4, 2000)
    assert AS_PRINTED.steps_on(1000) == 2000 * 8  # batches of 128
    assert UCI.full.steps_on(1000) == UCI.full.steps


def test_a_value_is_near_a_share_that_holds_it() -> None:
    share = Share(3, 20)  # 0.032 to 0.379
    assert near(share, 0.05) == "confirmed"
    assert near(share, 0.4) == "not confirmed"
    assert near(share, 0.4, error=0.05) == "confirmed"


def test_the_check_has_the_settings_and_rules_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.ones(3), size=(120, 5))
    labels = (rng.random((120, 1)) > members[:, 0].cumsum(axis=1)).sum(axis=1)
    check = predictive_check(members, labels, statistics=["accuracy", "confidence_ece"], rng=0)
    assert check.settings["statistics"]["confidence_ece"]["n_bins"] == cr.confidence_ece.n_bins
    assert check.settings["statistics"]["confidence_ece"]["closed"] == "right"
    for result in check.checks.values():
        null = np.sort(result.null_distribution)
        assert paper_pvalue(result) == (null < result.statistic - 1e-12).sum() / 999
        assert is_beyond_replicates(result) == (not null[0] <= result.statistic <= null[-1])
        # of 999 replicates the 25th and the 975th; decides as the two-sided p-value does
        assert is_beyond_quantiles(result) == (not null[24] <= result.statistic <= null[974])
        assert is_beyond_quantiles(result) == (result.pvalue <= 0.05)
    real = predictive_check(
        cr.Gaussian([0.0] * 9, [1.0] * 9),
        np.zeros(9),
        statistics=["picp", "quantile_calibration_error"],
        hypothesis="independent",
    )
    assert real.settings["statistics"]["picp"]["level"] == 0.95
    assert real.settings["statistics"]["quantile_calibration_error"] == {"levels": 100, "strict": True}
    wrong = predictive_check(members, (labels + 1) % 3, statistics=["log_loss"], rng=0).checks["log_loss"]
    assert paper_pvalue(wrong) == 1.0
    assert is_beyond_replicates(wrong)


def test_a_tie_with_the_smallest_replicate_is_not_beyond() -> None:
    sure = np.zeros((20, 2, 2))
    sure[:, :, 0] = 1.0
    result = predictive_check(sure, np.zeros(20, int), statistics=["accuracy"], rng=0).checks["accuracy"]
    assert (result.statistic, paper_pvalue(result)) == (1.0, 0.0)
    assert not is_beyond_replicates(result)  # within the range of the replicates: P21 Fig. 7
    assert not is_beyond_quantiles(result)
