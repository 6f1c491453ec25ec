"""Numbers that M23 and J25 print, each with its place: reproduced, or shown to be a misprint by arithmetic.

M23: Mortier et al., On Calibration of Ensemble-Based Credal Predictors. J25: Juergens et al., A calibration
test for evaluating set-based epistemic uncertainty representations, Machine Learning 2025. Tables 1 of both
are in `credibly_studies`, row by row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import credibly as cr
from credibly_studies import STUDIES, j25_printed, m23_printed
from credibly_studies.j25 import ERRORS as J25_ERRORS
from credibly_studies.j25_figures import TRUE
from credibly_studies.kernel_estimators import linear_skce
from credibly_studies.neural import NeuralLearner
from credibly_studies.paper_settings import PAPER_SETTINGS
from credibly_studies.simplex_maps import error_over_weights
from credibly_studies.simulate import BinaryWorld, EnsembleWorld, MulticlassWorld

M23 = PAPER_SETTINGS["M23"]


class Row(NamedTuple):
    """A printed number, where it stands, and how it comes out here; `misprint` says what it should be."""

    place: str
    what: str
    printed: Any
    found: Callable[[], Any]
    misprint: Any = None


def default(cls: type, name: str) -> Any:
    return {field.name: field.default for field in dataclasses.fields(cls)}[name]


def rows_of(predictor: str) -> list[m23_printed.PrintedSet]:
    return m23_printed.of(predictor)


def minimum(statistic: str) -> tuple[float, ...]:
    """The constant prediction with the smallest error, for labels with the frequencies of J25 Fig. 6."""
    n = 200
    corners = cr.Ensemble(np.broadcast_to(np.eye(3), (n, 3, 3)).copy(), member_axis=1)
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [20, 20, 160]))
    one = cr.statistics.registered()[statistic].with_(bandwidth=0.1)
    lowest = error_over_weights(corners, labels, statistic=one, n_steps=10)
    return tuple(np.round(lowest.smallest, 1).tolist())


def convolutions(*shapes: tuple[int, int, int]) -> int:
    """Parameters of convolutions (width, channels in, channels out) with biases."""
    return sum(width**2 * one * other + other for width, one, other in shapes)


def vgg(*blocks: tuple[int, int]) -> int:
    """Parameters of a VGG with 1000 classes: blocks of (convolutions, channels), then three dense layers."""
    shapes, before = [], 3
    for count, channels in blocks:
        for _ in range(count):
            shapes.append((3, before, channels))
            before = channels
    dense = ((7 * 7 * 512, 4096), (4096, 4096), (4096, 1000))
    return convolutions(*shapes) + sum(one * other + other for one, other in dense)


VGG16 = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
VGG19 = ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512))


def combination(weights: list[list[float]]) -> list[list[float]]:
    """J25 App. B, example 2: members that always say class 2 and always class 1, at x = -1 and x = 1."""
    members = np.broadcast_to([[0.0, 1.0], [1.0, 0.0]], (2, 2, 2))
    return np.einsum("na,nak->nk", np.array(weights), members).tolist()


def rejected(rows: list[m23_printed.PrintedSet], error: str) -> int:
    return sum(getattr(row, f"rejected_{error}") for row in rows)


TABLE = [
    # settings: what the worlds, modes and studies have by default
    Row("M23 Fig. 1", "instances N", 100, lambda: STUDIES["m23-fig1"].full.n),
    Row("M23 Sec. 4.1", "data sets R", 1000, lambda: STUDIES["m23-fig1"].full.repetitions),
    Row("M23 Fig. 1", "members M", 10, lambda: default(EnsembleWorld, "n_members")),
    Row("M23 Fig. 1", "classes K", 10, lambda: default(EnsembleWorld, "n_classes")),
    Row("M23 Fig. 1", "spread u", 0.01, lambda: default(EnsembleWorld, "spread")),
    Row("M23 Fig. 2", "spread u", 0.1, lambda: STUDIES["m23-fig2"].work.worlds["S1, u = 0.1"].spread),
    Row("M23 Fig. 3", "members M", 100, lambda: STUDIES["m23-fig3"].work.worlds["S1, M = 100"].n_members),
    Row("M23 Fig. 4", "classes K", 100, lambda: STUDIES["m23-fig4"].work.worlds["S1, K = 100"].n_classes),
    Row(
        "M23 Sec. 4.1, S1",
        "parameter of uniform weights",
        1,
        lambda: default(EnsembleWorld, "weight_concentration"),
    ),
    Row(
        "M23 Sec. 4.1",
        "bins B",
        (5, 10),
        lambda: (M23["hosmer_lemeshow"]["n_bins"], M23["confidence_ece"]["n_bins"]),
    ),
    Row("M23 Sec. 4.1", "divisor in exp(-tv / 2)", 2, lambda: M23["linear_skce"]["bandwidth"]),
    Row("J25 Fig. 4", "members M", 10, lambda: default(MulticlassWorld, "n_members")),
    Row("J25 Fig. 4", "classes K", 5, lambda: default(MulticlassWorld, "n_classes")),
    Row("J25 Sec. 4.2", "spread u", 0.5, lambda: default(MulticlassWorld, "spread")),
    Row("J25 E.1", "prior Dir(1, ..., 1)", 1, lambda: default(MulticlassWorld, "prior_concentration")),
    Row("J25 E.1", "degree D", 2, lambda: default(MulticlassWorld, "degree")),
    Row("J25 E.1", "range of x", (0, 5), lambda: default(BinaryWorld, "x_range")),
    Row("J25 E.1", "members scaled to", ((0, 1), (0, 1)), lambda: default(BinaryWorld, "bounds")),
    Row("J25 E.1, H1,1", "epsilon", (0, 0.02), lambda: BinaryWorld("H1,1").distances),
    Row(
        "J25 Sec. 4.2",
        "delta of H1,1 to H1,3",
        (0.01, 0.1, 0.2),
        lambda: tuple(w.delta for w in list(STUDIES["j25-fig4"].work.worlds.values())[3:]),
    ),
    Row("J25 Figs. 3-4", "data sets", 200, lambda: STUDIES["j25-fig4"].full.repetitions),
    Row("J25 E.1", "N_opt + N_val", 400 + 400, lambda: STUDIES["j25-fig4"].full.n),
    Row("J25 Sec. 4", "hidden layers", (16, 16, 16), lambda: default(NeuralLearner, "hidden")),
    Row("J25 Sec. 4", "gamma", 0.01, lambda: default(NeuralLearner, "gamma")),
    Row(
        "J25 Fig. 5",
        "instances N and draws D",
        (1000, 500),
        lambda: (STUDIES["j25-figures"].full.n_null, STUDIES["j25-figures"].full.n_resamples),
    ),
    Row("J25 Fig. 6", "labels N", 2000, lambda: STUDIES["j25-figures"].full.n_map),
    # what can be computed
    *(
        Row("J25 Fig. 6", f"minimum of {name}", TRUE, lambda name=name: minimum(name))
        for name in ("kde_ce", "kl_ce", "mmd_ce")
    ),
    Row(
        "J25 App. B, ex. 2",
        "f_1 of lambda_2",
        [[0.5, 0.5], [0.5, 0.5]],
        lambda: combination([[0.5, 0.5], [0.5, 0.5]]),
    ),
    Row(
        "J25 App. B, ex. 2",
        "f_2 of lambda_1",
        [[1.0, 0.0], [0.0, 1.0]],
        lambda: combination([[0, 1], [1, 0]]),
    ),
    Row("M23 Sec. 4.2", "parameters of VGG16, millions", 138, lambda: round(vgg(*VGG16) / 1e6)),
    Row(
        "J25 Sec. 4.3", "parameters of VGG-19, millions", 138, lambda: round(vgg(*VGG19) / 1e6), misprint=144
    ),
    Row("J25 E.2", "CIFAR-10 images in all", 60000, lambda: 50000 + 5000 + 5000),
    Row("J25 E.2", "CIFAR-100 images in all", 60000 + 5000 + 5000, lambda: 60000, misprint=60000),
    # what the printed tables say
    Row("M23 Table 1", "S rejected by ECE_conf", 9, lambda: rejected(rows_of("S"), "confidence")),
    Row(
        "M23 Table 1",
        "sets rejected by ECE_conf",
        9,
        lambda: rejected(m23_printed.of(*m23_printed.SETS), "confidence"),
    ),
    Row(
        "M23 Table 1",
        "sets rejected by ECE_cwise",
        25,
        lambda: rejected(m23_printed.of(*m23_printed.SETS), "classwise"),
    ),
    Row("M23 Table 1", "DE rejected by ECE_conf", 1, lambda: rejected(rows_of("DE"), "confidence")),
    Row(
        "M23 Table 1",
        "weights lower ECE_conf of DE",
        9,
        lambda: sum(r.weighted_confidence < r.confidence for r in rows_of("DE")),
    ),
    Row("J25 Table 1", "average rejected", 11, lambda: j25_printed.rejected(j25_printed.TABLE1).count),
    Row(
        "J25 Table 1",
        "accuracy up, equal, down",
        (12, 5, 7),
        lambda: tuple(list(j25_printed.changes().values())[:3]),
    ),
]


@pytest.mark.parametrize("row", TABLE, ids=[f"{row.place}: {row.what}" for row in TABLE])
def test_printed(row: Row) -> None:
    found = row.found()
    right = row.printed if row.misprint is None else row.misprint
    np.testing.assert_allclose(np.asarray(found, dtype=float), np.asarray(right, dtype=float), rtol=1e-12)
    assert row.misprint is None or right != row.printed


def test_single_networks_have_one_column_three_times() -> None:
    """M23 Table 1: of one network every weighted average is the network: ten rows, each number again."""
    for row in rows_of("S"):
        assert row.accuracy == row.accuracy_confidence == row.accuracy_classwise
        assert (row.confidence, row.classwise) == (row.weighted_confidence, row.weighted_classwise)


def test_printed_accuracies_are_shares_of_the_printed_test_sets() -> None:
    """M23 Tables 1 and 2: all 120 accuracies are some number of N_test instances, to four digits."""
    for row in m23_printed.TABLE1:
        n = m23_printed.TABLE2[row.data].test
        for accuracy in (row.accuracy, row.accuracy_confidence, row.accuracy_classwise):
            near = round(accuracy * n)
            assert f"{accuracy:.4f}" in {f"{hits / n:.4f}" for hits in (near - 1, near, near + 1)}


def test_j25_decisions_follow_from_p_values_of_a_hundred_replicates() -> None:
    """J25 Table 1: 48 p-values are hundredths, and H0 is rejected exactly where p is below 0.05."""
    for row in j25_printed.TABLE1:
        for pvalue, decision in ((row.pvalue, row.rejected), (row.learned_pvalue, row.learned_rejected)):
            assert round(100 * pvalue) == pytest.approx(100 * pvalue)
            assert decision is (pvalue < 0.05)


def test_one_error_of_learned_weights_is_misprinted() -> None:
    """J25 Table 1, DN(0.2) on CIFAR-10: CE_2 is 0.129 of the average and 0.295 of the learned weights, with p
    0.80 and 0.76 and accuracies 0.847 and 0.849. In the 23 other rows both differ by at most 0.013; 0.295 is
    near the 0.297 of CE_KL in the line above.
    """
    gaps = {row: abs(row.learned_value - row.value) for row in j25_printed.TABLE1}
    worst = max(gaps, key=gaps.__getitem__)
    assert (worst.data, worst.predictor, worst.error, worst.learned_value) == (
        "CIFAR-10",
        "DN(0.2)",
        "L2",
        0.295,
    )
    assert max(gap for row, gap in gaps.items() if row is not worst) <= 0.0131


def test_errors_of_j25_are_the_four_printed() -> None:
    assert list(J25_ERRORS) == ["CE_2", "CE_KL", "CE_MMD", "CE_k"]
    assert J25_ERRORS["CE_k"] == linear_skce  # below eq. 9
