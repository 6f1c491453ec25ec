"""Studies of D21: what each must conclude at its small size; seeds, workers, the posterior by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.simulate import HistogramWorld
from credibly_studies import StudyResult, d21_debiasing, d21_modes, d21_recalibrated, studies
from credibly_studies.d21_debiasing import MODELS, DebiasingSize, true_losses, unbiased
from credibly_studies.d21_modes import ModesSize, predicted_disagreement, true_disagreement
from credibly_studies.d21_posterior import posterior_gain, posterior_mean
from credibly_studies.d21_recalibrated import predictions_of, recalibrated


def outcome(result: StudyResult, words: str, place: str = "") -> str:
    found = [one.outcome for one in result.findings.claims if words in one.statement and place in one.place]
    assert len(found) == 1, (words, found)
    return found[0]


@pytest.fixture(scope="module")
def with_data(data_dir: Path) -> Iterator[None]:
    for part in ("cifar10/ddu.npy", "cifar10/cifar10h_counts.npy", "snli/chaosnli_snli.npz"):
        if not (data_dir / part).is_file():
            pytest.skip(f"needs {part} under CREDIBLY_DATA")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CREDIBLY_DATA", str(data_dir))
        yield


@pytest.mark.slow
def test_debiased_losses() -> None:
    result = studies()["d21-fig1"].run()
    assert outcome(result, "The plug-in epistemic loss is too large") == "confirmed"
    assert outcome(result, "The debiased epistemic loss has no bias") == "confirmed"
    assert outcome(result, "nearer to the truth than the plug-in one") == "confirmed"
    rows = {
        (row["model"], row["instances"], row["raters"], row["estimate"]): row["bias"]
        for row in result.table("cells").records()
    }
    for n in (100, 300):
        # an ideal model of Dir(1, 1, 1): irreducible loss 1 - 3 * 2 / 12 = 0.5, over the number of raters
        assert rows["ideal", n, 2, "EL, plug-in"] == pytest.approx(0.25, abs=0.02)
        assert rows["ideal", n, 5, "EL, plug-in"] == pytest.approx(0.1, abs=0.02)


def test_the_truth_of_the_worlds() -> None:
    rng = np.random.default_rng(0)
    assert true_losses(MODELS["ideal"], 2000, rng) == pytest.approx((0.0, 0.0), abs=1e-12)
    # shared / (agreement + 1): 0.5 / 5 = 0.1 of epistemic loss, none of it calibration
    assert true_losses(MODELS["dispersed"], 20_000, rng) == pytest.approx((0.1, 0.0), abs=0.002)
    epistemic, calibration = true_losses(MODELS["overconfident"], 20_000, rng)
    assert 0 < calibration < epistemic
    assert unbiased([(-1.0, 1.0), (0.1, 0.2)]) == "not confirmed"


def test_workers_change_no_number() -> None:
    tiny = dataclasses.replace(
        d21_debiasing.FIG1, small=DebiasingSize((60,), (2,), 3, 1000), name="tiny-debiasing"
    )
    alone = tiny.run(rng=5)
    with ProcessPoolExecutor(2) as pool:
        together = tiny.run(rng=5, engine=pool)
    assert alone.to_dict() == together.to_dict()
    assert alone.to_dict()["tables"] != tiny.run(rng=6).to_dict()["tables"]


@pytest.mark.slow
def test_alpha_in_known_worlds() -> None:
    result = studies()["d21-fig3"].run()
    assert outcome(result, "brings the predicted disagreement nearer") == "confirmed"
    assert outcome(result, "helps whatever the mean prediction is like") == "not confirmed"
    assert outcome(result, "helps in every mode where raters share") == "confirmed"
    assert outcome(result, "never changes the mean") == "confirmed"
    assert outcome(result, "the label of one rater improves") == "confirmed"
    rows = {(row["mode"], row["method"]): row for row in result.table("modes").records()}
    error = "true error of disagreement"
    # alone it makes an overconfident model worse, after the temperature it repairs what is left
    assert rows["overconfident, shared", "alpha"][error] > rows["overconfident, shared", "raw"][error]
    assert rows["overconfident, shared", "temperature+alpha"][error] < 0.05
    assert rows["shared", "alpha"]["alpha0, median"] == pytest.approx(4, rel=0.2)
    assert rows["ideal", "raw"][error] == pytest.approx(0, abs=1e-12)


def test_an_alpha_that_does_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(method: str, predictions: object, counts: object, new: object) -> tuple[object, float]:
        return new, 1.0

    monkeypatch.setattr(d21_modes, "fitted", nothing)
    tiny = dataclasses.replace(d21_modes.FIG3, small=ModesSize(200, 3, 3))
    result = tiny.run()
    assert outcome(result, "brings the predicted disagreement nearer") != "confirmed"
    assert outcome(result, "finds the concentration") == "not confirmed"  # ln 1 is not ln 4


def test_disagreement_by_hand() -> None:
    # 1 - (0.25 + 0.25) = 0.5; with alpha0 = 1, half of it
    assert predicted_disagreement(cr.Point([[0.5, 0.5]])) == pytest.approx([0.5])
    assert predicted_disagreement(cr.Dirichlet([[0.5, 0.5]])) == pytest.approx([0.25])
    world = HistogramWorld(agreement=4.0)
    assert true_disagreement(world, np.array([[0.5, 0.5]])) == pytest.approx([0.4])  # 4 / 5 of 0.5


def test_the_posterior_by_hand() -> None:
    label = np.array([0])
    assert posterior_mean(cr.Point([[0.5, 0.5]]), label) == pytest.approx(np.array([[0.5, 0.5]]))
    # (1 + 1) / (2 + 1)
    assert posterior_mean(cr.Dirichlet([[1.0, 1.0]]), label) == pytest.approx(np.array([[2 / 3, 1 / 3]]))
    # members weighted by what they gave the label: (0.8 * 0.8 + 0.2 * 0.2) / (0.8 + 0.2)
    ensemble = cr.Ensemble([[[0.8, 0.2], [0.2, 0.8]]])
    assert posterior_mean(ensemble, label) == pytest.approx(np.array([[0.68, 0.32]]))
    # Dirichlets (1.6, 0.4) and (0.4, 1.6): weights 0.8 and 0.2 of (2.6 / 3, 0.4 / 3) and (1.4 / 3, 1.6 / 3)
    mixture = cr.Dirichlet([[[1.6, 0.4], [0.4, 1.6]]], member_axis=1)
    first = 0.8 * 2.6 / 3 + 0.2 * 1.4 / 3
    assert posterior_mean(mixture, label) == pytest.approx(np.array([[first, 1 - first]]))


def test_the_gain_by_hand() -> None:
    counts = cr.LabelCounts([[3, 0], [1, 0]])  # the second instance has one rater and is left out
    gain = posterior_gain(cr.Dirichlet([[1.0, 1.0], [1.0, 1.0]]), counts, rng=0)
    # before 2 (1/2)^2 = 1/2, after 2 (1/3)^2 = 2/9
    assert gain == pytest.approx([1 / 2 - 2 / 9])


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.usefixtures("with_data")
def test_table2() -> None:
    result = studies()["d21-table2"].run()
    for mean in ("ts", "vs", "ms"):
        for data in ("CIFAR-10H", "ChaosNLI-SNLI"):
            assert outcome(result, f"alpha-calibration of {mean} predictions", data) == "confirmed"
    # these networks predict too little disagreement already
    assert outcome(result, "alpha-calibration of raw predictions", "ChaosNLI-SNLI") == "not confirmed"
    assert outcome(result, "Temperature, vector and matrix", "ChaosNLI-SNLI") == "confirmed"
    rows = {
        (row["data"], row["predictions"], row["method"]): row for row in result.table("methods").records()
    }
    assert len(rows) == 2 * 3 * 4 * 3
    for (data, kind, method), row in rows.items():
        if "+" in method:  # alpha leaves the mean alone
            without = rows[data, kind, method.split("+")[0]]
            assert (row["L"], row["accuracy"]) == pytest.approx((without["L"], without["accuracy"]))
        assert row["EL"] == pytest.approx(row["CL"] + row["DL"])


def test_alpha_leaves_the_mean_alone(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Table 2 is made of, on raters drawn from a known Dirichlet: see make_golden_data.py."""
    monkeypatch.setenv("CREDIBLY_DATA", str(stand_in))
    kinds, counts = predictions_of("ChaosNLI-SNLI", 150)
    monkeypatch.setattr(d21_recalibrated, "SPREADS", {"": None, "alpha": d21_recalibrated.SPREADS["alpha"]})
    found, _ = recalibrated(kinds["mean of 5"], counts, "ts", 2, (0, 0))
    mean, alpha = found[""], found["alpha"]
    assert isinstance(mean, cr.Point)
    assert isinstance(alpha, cr.Dirichlet)
    np.testing.assert_allclose(alpha.mean().probs, mean.probs, atol=1e-9)
    before, after = (cr.raters.decompose_disagreement(one, counts) for one in (mean, alpha))
    assert after.expected.value < before.expected.value
    # raters share a distribution: 1 - sum p^2 is too large by (alpha0 + 1) / alpha0, alpha0 = 8
    assert before.predicted.value / before.observed.value == pytest.approx(9 / 8, abs=0.1)
    assert after.predicted.value / after.observed.value == pytest.approx(1.0, abs=0.1)


def test_rows_come_back_from_their_folds_in_order(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDIBLY_DATA", str(stand_in))
    monkeypatch.setattr(d21_recalibrated, "SPREADS", {"": None, "alpha": d21_recalibrated.SPREADS["alpha"]})
    kinds, counts = predictions_of("ChaosNLI-SNLI", 40)
    ensemble = kinds["5 networks, sampled"]
    found, _ = recalibrated(ensemble, counts, "raw", 2, (0, 0))
    assert [type(one).__name__ for one in found.values()] == ["Ensemble", "Dirichlet"]
    np.testing.assert_allclose(found[""].probs, ensemble.probs)
    assert len(found["alpha"]) == 40


@pytest.mark.data
@pytest.mark.usefixtures("with_data")
def test_predictions_are_recalibrated_by_other_folds() -> None:
    kinds, counts = predictions_of("ChaosNLI-SNLI", 60)
    ensemble = kinds["5 networks, sampled"]
    for mean in ("raw", "ts", "vs"):
        found, _ = recalibrated(ensemble, counts, mean, 3, (0, 0))
        assert [type(one).__name__ for one in found.values()] == ["Ensemble", "Dirichlet", "Dirichlet"]
        assert all(len(one) == 60 for one in found.values())
    raw, _ = recalibrated(ensemble, counts, "raw", 3, (0, 0))
    assert isinstance(raw[""], cr.Ensemble)
    np.testing.assert_allclose(raw[""].probs, ensemble.probs)  # in the order of the rows


def test_without_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CREDIBLY_DATA", str(tmp_path))
    with pytest.raises(cr.FileError, match="is needed by this study"):
        studies()["d21-table2"].run()
