"""`calibration_test`: what it reports, that nothing but the seed changes it, and what it refuses."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly._arrays.philox import as_seed
from credibly.hypotests.resampling import loop as resampling
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Dataset, InMemory, one_rater
from kinds import CLASS_STATISTICS
from optional import torch

NAMES = CLASS_STATISTICS


def draw(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    probs = rng.dirichlet(np.ones(4), size=80)
    return probs, draw(probs, rng)


def test_the_result_is_what_the_replicates_say(data: tuple) -> None:
    probs, labels = data
    result = cr.calibration_test(probs, labels, statistics="brier", n_resamples=200, rng=1)
    drawn = Replicates(probs, as_seed(1)).labels(slice(0, 200)).values
    null = np.array([float(cr.brier(probs, row.astype(int))) for row in drawn])
    assert np.allclose(result.null_distribution, null, rtol=1e-13)
    assert result.statistic == pytest.approx(float(cr.brier(probs, labels)), rel=1e-14)
    fewer = min((null >= result.statistic).sum(), (null <= result.statistic).sum())
    assert result.pvalue == min(1, 2 * (1 + fewer) / 201)
    assert result.effect_size == pytest.approx(result.statistic - null.mean())
    assert result.z_score == pytest.approx(result.effect_size / null.std(ddof=1))
    assert result.tail == "two-sided"
    assert (result.n, result.n_resamples) == (80, 200)
    assert result.pvalue_interval[0] <= result.pvalue <= result.pvalue_interval[1]


@pytest.mark.parametrize("name", NAMES)
def test_decision_and_acceptance_region_agree(name: str) -> None:
    rng = np.random.default_rng(3)
    decisions = set()
    for power in (1.0, 1.7, 3.0, 0.4):
        probs = rng.dirichlet(np.ones(3), size=60)
        labels = draw(probs, rng)
        sharp = probs**power / (probs**power).sum(axis=1, keepdims=True)
        result = cr.calibration_test(sharp, labels, statistics=name, n_resamples=99, rng=rng)
        low, high = result.acceptance_region
        assert result.rejects(0.05) == (not low <= result.statistic <= high)
        decisions.add(result.rejects(0.05))
    assert decisions == {True, False} or name == "accuracy"


def test_a_negative_debiased_error_lies_inside_its_region() -> None:
    probs = np.full((50, 2), 0.5)
    statistic = cr.confidence_ece.with_(p=2, debiased=True)
    result = cr.calibration_test(probs, [0, 1] * 25, statistics=statistic, n_resamples=99, rng=0)
    assert result.statistic < 0
    low, high = result.acceptance_region
    assert low <= result.statistic <= high
    assert result.verdict() == "no conflict found"


def other_libraries(probs: np.ndarray, labels: np.ndarray) -> dict:
    device = array_api_strict.Device("device1")
    return {
        "torch": (torch.tensor(probs), torch.tensor(labels)),
        "strict": (array_api_strict.asarray(probs), array_api_strict.asarray(labels)),
        "strict on its second device": (
            array_api_strict.asarray(probs, device=device),
            array_api_strict.asarray(labels, device=device),
        ),
    }


@pytest.mark.slow
def test_the_same_seed_gives_the_same_p_values_in_every_library(data: tuple) -> None:
    settings = {"statistics": NAMES, "n_resamples": 19, "rng": 5}
    few = data[0][:30], data[1][:30]
    tested = cr.calibration_test(*few, **settings)
    for library, arguments in other_libraries(*few).items():
        result = cr.calibration_test(*arguments, **settings)
        assert result.pvalue == tested.pvalue, library
        for name in NAMES:
            assert result.components[name].pvalue == tested.components[name].pvalue, (library, name)
            assert np.allclose(
                result.components[name].null_distribution,
                tested.components[name].null_distribution,
                rtol=1e-10,
            )


@pytest.mark.slow
def test_tiles_and_memory_change_nothing(data: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"statistics": NAMES, "n_resamples": 60, "rng": 5}
    result = cr.calibration_test(*data, **settings)
    sizes: list[int] = []
    original = Replicates.labels

    def spy(self, reps):
        sizes.append(reps.stop - reps.start)
        return original(self, reps)

    monkeypatch.setattr(Replicates, "labels", spy)
    for labels_per_tile in (1, 7 * 80, 59 * 80):
        monkeypatch.setattr(resampling, "_TILE_LABELS", labels_per_tile)
        sizes.clear()
        tiled = cr.calibration_test(*data, **settings)
        assert max(1, labels_per_tile // 80) in sizes  # the tiles really were of this size
        assert tiled.pvalue == result.pvalue
        for name in NAMES:
            mine, whole = tiled.components[name], result.components[name]
            assert np.allclose(mine.null_distribution, whole.null_distribution, rtol=1e-13, atol=1e-15)
            assert mine.pvalue == whole.pvalue


def test_a_small_memory_budget_means_small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    probs, sizes = np.full((4000, 2), 0.5), []
    result = cr.calibration_test(probs, [0, 1] * 2000, n_resamples=30, rng=0)
    with cr.memory_limit(2**20):
        limited = cr.calibration_test(
            probs,
            [0, 1] * 2000,
            n_resamples=30,
            rng=0,
            progress=lambda done, total: sizes.append((done, total)),
        )
    assert limited.pvalue == result.pvalue
    assert np.array_equal(limited.null_distribution, result.null_distribution)
    assert len(sizes) > 3
    assert sizes[-1] == (30, 30)


def test_seeds(data: tuple) -> None:
    def run(rng):
        return cr.calibration_test(*data, n_resamples=20, rng=rng)

    assert np.array_equal(run(7).null_distribution, run(7).null_distribution)
    assert not np.array_equal(run(7).null_distribution, run(8).null_distribution)
    assert not np.array_equal(run(None).null_distribution, run(None).null_distribution)
    generator = np.random.default_rng(7)
    assert not np.array_equal(run(generator).null_distribution, run(generator).null_distribution)
    first = run(None)
    again = run(tuple(first.settings["seed"]))
    assert np.array_equal(first.null_distribution, again.null_distribution)


def test_a_bad_seed_is_refused(data: tuple) -> None:
    for rng in (-1, "seven", 1.5, True):
        with pytest.raises(cr.InputTypeError, match="`rng` must be None, a non-negative int"):
            cr.calibration_test(*data, rng=rng)


def test_weights_apply_to_every_replicate(data: tuple) -> None:
    probs, labels = data
    weight = np.arange(80) % 3
    weighted = cr.calibration_test(
        probs, labels, statistics="brier", sample_weight=weight, n_resamples=50, rng=2
    )
    drawn = Replicates(probs, as_seed(2)).labels(slice(0, 50)).values
    null = [float(cr.brier(probs, row.astype(int), sample_weight=weight)) for row in drawn]
    assert np.allclose(weighted.null_distribution, null)


# Omnibus


def test_components_of_an_omnibus_are_the_single_tests(data: tuple) -> None:
    together = cr.calibration_test(*data, statistics=("brier", "confidence_ece"), n_resamples=99, rng=3)
    for name in ("brier", "confidence_ece"):
        alone = cr.calibration_test(*data, statistics=name, n_resamples=99, rng=3)
        component = together.components[name]
        assert component.pvalue == alone.pvalue
        assert component.adjusted_pvalue >= alone.pvalue
        assert alone.adjusted_pvalue is None
    assert together.pvalue == min(component.adjusted_pvalue for component in together.components.values())
    # the statistic is -log10 of the smallest p-value
    assert together.statistic == pytest.approx(
        -math.log10(min(c.pvalue for c in together.components.values()))
    )
    low, high = together.acceptance_region
    assert together.rejects() == (not low <= together.statistic <= high)


def test_an_omnibus_over_certain_predictions_has_nothing_to_compare() -> None:
    result = cr.calibration_test([[1.0, 0.0]] * 3, [0, 0, 0], statistics=("brier", "accuracy"), rng=0)
    assert result.pvalue == 1.0
    assert math.isnan(result.z_score)
    wrong = cr.calibration_test([[1.0, 0.0]] * 3, [0, 0, 1], statistics=("log_loss", "accuracy"), rng=0)
    assert wrong.pvalue == 1 / 1000
    assert wrong.components["log_loss"].statistic == math.inf


def test_an_omnibus_names_each_statistic_once(data: tuple) -> None:
    with pytest.raises(cr.InputError, match="`statistics` must be distinct"):
        cr.calibration_test(*data, statistics=("brier", "brier"))
    with pytest.raises(cr.InputError, match="must name at least one"):
        cr.calibration_test(*data, statistics=())


# Reference distributions


def test_the_chi_square_of_hosmer_lemeshow_is_named(data: tuple) -> None:
    probs, labels = data
    result = cr.calibration_test(probs, labels, statistics="hosmer_lemeshow", n_resamples=20, rng=0)
    # 15 bins of 4 classes, all filled: 15 * 3 degrees of freedom
    limit = scipy.stats.chi2(45).sf(result.statistic)
    assert any(f"p = {limit:.3g} from the chi-square with 45 degrees" in note for note in result.notes)


def test_a_chi_square_is_of_plain_counts(data: tuple) -> None:
    weighted = cr.calibration_test(
        *data, statistics="hosmer_lemeshow", sample_weight=np.ones(80), n_resamples=20, rng=0
    )
    assert not any("chi-square" in note for note in weighted.notes)


# What is refused


def test_of_several_raters_one_is_tested(data: tuple) -> None:
    """Raters who agree leave no choice; of others the seed chooses, in proportion to their labels."""
    probs, labels = data[0], data[1]
    agreed = cr.LabelCounts(5 * np.eye(4, dtype=int)[labels])
    settings = {"statistics": "skce", "rng": 3}
    result, single = (
        cr.calibration_test(probs, agreed, **settings),
        cr.calibration_test(probs, labels, **settings),
    )
    assert (result.statistic, result.pvalue) == (single.statistic, single.pvalue)
    assert "one label per instance was tested, drawn from its raters with the seed" in result.notes[-1]
    assert result.notes[:-1] == single.notes


def test_the_drawn_rater_depends_on_seed_and_row_alone(tmp_path: Path) -> None:
    counts = np.random.default_rng(0).multinomial(3, [0.2, 0.5, 0.3], size=5000)
    rows = InMemory(Dataset(cr.Point(np.full((5000, 3), 1 / 3)), cr.LabelCounts(counts)))
    drawn = one_rater(rows, (1, 2))[0].example.batch.values[0]
    assert (np.take_along_axis(counts, drawn[:, None], axis=1) > 0).all()
    # given the counts a class is drawn with its share: sums over 5000 rows within 4 standard deviations
    share = counts / 3
    spread = np.sqrt((share * (1 - share)).sum(axis=0))
    assert (np.abs(np.bincount(drawn) - share.sum(axis=0)) < 4 * spread).all()
    later = dataclasses.replace(rows.example.rows(slice(1000, 5000)))
    assert (one_rater(InMemory(later), (1, 2))[0].example.batch.values[0] == drawn[1000:]).all()
    assert (one_rater(rows, (1, 3))[0].example.batch.values[0] != drawn).any()
    path = tmp_path / "rated.npz"
    np.savez(path, probs=np.full((5000, 3), 1 / 3), label_counts=counts)
    chunks = cr.scan(path, chunk_rows=700)
    result = cr.calibration_test(chunks, statistics="brier", n_resamples=19, rng=5)
    whole = cr.calibration_test(rows, statistics="brier", n_resamples=19, rng=5)
    assert result.statistic == pytest.approx(whole.statistic)
    assert result.pvalue == whole.pvalue


@pytest.mark.slow
def test_the_size_with_several_raters() -> None:
    """Calibrated, not valid: raters of one instance share a truth that the prediction averages over."""
    rng = np.random.default_rng(2)
    rejected = 0
    for _ in range(100):
        truth = np.stack([rng.beta(1, 1, size=150)] * 2, axis=1)
        truth[:, 1] = 1 - truth[:, 0]
        counts = cr.LabelCounts(rng.multinomial(10, truth))
        rejected += cr.calibration_test(np.full((150, 2), 0.5), counts, n_resamples=99, rng=rng).rejects(0.05)
    assert rejected <= 12  # binomial(100, 0.05) exceeds 12 with probability 0.001


def test_counts_are_no_predictions() -> None:
    with pytest.raises(
        cr.InputTypeError, match="needs predicted probabilities or distributions; got LabelCounts"
    ):
        cr.calibration_test(cr.LabelCounts([[1, 2]]), [0])


@pytest.mark.parametrize("n_resamples", [0, -1, 2.5, True])
def test_at_least_one_replicate(data: tuple, n_resamples: object) -> None:
    with pytest.raises(cr.InputError, match="`n_resamples` must be"):
        cr.calibration_test(*data, n_resamples=n_resamples)


def test_swapped_arguments_are_recognised(data: tuple) -> None:
    with pytest.raises(cr.InputTypeError, match="Swap them"):
        cr.calibration_test(data[1], data[0])


# What is said


def test_one_replicate_cannot_reject(data: tuple) -> None:
    result = cr.calibration_test(*data, n_resamples=1, rng=0)
    assert result.pvalue in (0.5, 1.0)
    assert result.verdict() == "cannot tell"


def test_a_set_is_tested_through_its_mean(data: tuple) -> None:
    probs, labels = data
    members = np.stack([probs, np.roll(probs, 1, axis=1)], axis=1)
    result = cr.calibration_test(members, labels, n_resamples=50, rng=0)
    mean = cr.calibration_test(members.mean(axis=1), labels, n_resamples=50, rng=0)
    assert result.pvalue == mean.pvalue
    assert result.notes == ("used the mean of 2 members as the one prediction per instance",)


def test_the_result_is_json_safe_also_where_it_is_infinite() -> None:
    result = cr.calibration_test([[1.0, 0.0]] * 3, [0, 1, 0], statistics="log_loss", n_resamples=19, rng=0)
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert record["statistic"] == "Infinity"
    assert record["pvalue"] == 2 / 20  # two-sided: no replicate is infinite
    assert record["settings"]["seed"] == result.settings["seed"]


def test_a_result_runs_again_from_its_own_settings():
    probs = np.array([[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]])
    first = cr.calibration_test(probs, [0, 1, 0], n_resamples=19)
    again = cr.calibration_test(probs, [0, 1, 0], n_resamples=19, rng=first.settings["seed"])
    assert again.pvalue == first.pvalue
    np.testing.assert_array_equal(again.null_distribution, first.null_distribution)


def test_omnibus_by_name_is_the_studied_family():
    probs = np.array([[0.7, 0.3], [0.4, 0.6], [0.9, 0.1], [0.2, 0.8]])
    named = cr.calibration_test(probs, [0, 1, 0, 1], statistics="omnibus", n_resamples=19, rng=0)
    listed = cr.calibration_test(probs, [0, 1, 0, 1], statistics=("skce", "log_loss"), n_resamples=19, rng=0)
    assert list(named.components) == ["skce", "log_loss"]
    assert named.pvalue == listed.pvalue


def test_progress_may_be_true():
    probs = np.array([[0.7, 0.3], [0.4, 0.6]])
    assert cr.calibration_test(probs, [0, 1], n_resamples=19, rng=0, progress=True).n_resamples == 19


def everywhere(probs: np.ndarray, labels: np.ndarray, statistic: str) -> set[float]:
    """P-values on NumPy and torch and with the classes in two other orders."""
    k = probs.shape[1]
    order = np.random.default_rng(5).permutation(k)
    settings = {"statistics": statistic, "n_resamples": 199, "rng": 0}
    return {
        cr.calibration_test(*arguments, **settings).pvalue
        for arguments in (
            (probs, labels),
            (torch.tensor(probs), torch.tensor(labels)),
            (probs[:, ::-1].copy(), k - 1 - labels),
            (probs[:, order], np.argsort(order)[labels]),
        )
    }


@pytest.mark.parametrize(
    ("statistic", "n", "k"),
    [
        ("skce", 40, 200),
        pytest.param("skce", 40, 1000, marks=pytest.mark.slow),
        ("mmd_ce", 40, 200),
        ("classwise_ece", 3000, 3),
    ],
)
def test_equal_predictions_have_one_p_value_everywhere(statistic: str, n: int, k: int) -> None:
    """Values are counts here, and differences of large sums: before, k = 1000 gave .179, .188 and .162."""
    probs = np.full((n, k), 1 / k)
    assert len(everywhere(probs, np.random.default_rng(0).integers(k, size=n), statistic)) == 1


def test_settled_ties_leave_ordinary_p_values_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(4), size=400)
    labels = rng.integers(4, size=400)
    names = ("skce", "kl_ce", "classwise_ece", "hosmer_lemeshow", "brier")

    def pvalues() -> list[float]:
        result = cr.calibration_test(probs, labels, statistics=names, n_resamples=99, rng=1)
        return [component.pvalue for component in result.components.values()]

    settled = pvalues()
    monkeypatch.setattr(resampling, "settled", lambda values, *_: values)
    assert pvalues() == settled
