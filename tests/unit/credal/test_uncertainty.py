"""Sizes and decompositions by hand and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
from unit.credal.oracles import entropy, every_kind, random_belief, random_ensemble


def test_entropy_decomposition_of_an_ensemble() -> None:
    ensemble = cr.Ensemble([[[1.0, 0.0], [0.5, 0.5]]], weights=[0.75, 0.25])
    parts = cr.uncertainty(ensemble)
    mean = np.array([0.875, 0.125])  # 0.75 * 1 + 0.25 * 0.5
    assert parts.total == pytest.approx([entropy(mean)])
    assert parts.aleatoric == pytest.approx([0.25 * math.log(2)])
    assert parts.epistemic == pytest.approx([entropy(mean) - 0.25 * math.log(2)])
    assert parts.decomposition == "entropy"
    assert parts.to_dict()["n"] == 1


def test_points_have_no_epistemic_part() -> None:
    for decomposition in ("entropy", "credal"):
        parts = cr.uncertainty([[0.25, 0.75]], decomposition=decomposition, base=2)
        assert (
            parts.total.tolist()
            == parts.aleatoric.tolist()
            == [pytest.approx(entropy(np.array([0.25, 0.75])) / math.log(2))]
        )
        assert parts.epistemic.tolist() == [0.0]


def test_a_stated_confidence_is_a_point() -> None:
    parts = cr.uncertainty(cr.Confidence([0.75, 0.5]), base=2)
    # -(3/4) log2(3/4) - (1/4) log2(1/4) = 2 - (3/4) log2(3)
    assert parts.total == pytest.approx([2.0 - 0.75 * math.log2(3.0), 1.0])
    assert parts.epistemic == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("alpha", [[[2.0, 3.0, 5.0]], [[[2.0, 3.0, 5.0], [0.5, 0.5, 0.5]]]])
def test_dirichlet_in_closed_form_is_the_mean_over_draws(alpha: list) -> None:
    dirichlet = cr.Dirichlet(alpha)
    parts = cr.uncertainty(dirichlet)
    draws = dirichlet.sample(20_000, rng=0).probs[0]
    values = np.array([entropy(p) for p in draws])
    assert parts.aleatoric[0] == pytest.approx(values.mean(), abs=4 * values.std() / len(values) ** 0.5)
    assert parts.total[0] == pytest.approx(entropy(dirichlet.mean().probs[0]))
    assert parts.epistemic[0] == pytest.approx(parts.total[0] - parts.aleatoric[0])


def test_credal_decomposition_is_upper_and_lower_entropy() -> None:
    for credal in every_kind(np.random.default_rng(0)).values():
        parts = cr.uncertainty(credal, decomposition="credal")
        assert parts.total == pytest.approx(cr.credal.upper_entropy(credal))
        assert parts.aleatoric == pytest.approx(cr.credal.lower_entropy(credal))
        assert (parts.epistemic >= 0).all()
    assert cr.uncertainty(every_kind(np.random.default_rng(0))["Intervals"]).decomposition == "credal"


def test_belief_has_its_own() -> None:
    belief = random_belief(np.random.default_rng(1), 5, 4)
    parts = cr.uncertainty(belief)
    assert parts.decomposition == "belief"
    assert parts.total == pytest.approx([entropy(p) for p in belief.pignistic().probs])
    assert parts.epistemic == pytest.approx(cr.credal.size(belief))
    assert parts.aleatoric is None
    assert "do not add up" in parts.notes[0]


def test_size() -> None:
    ensemble = cr.Ensemble([[[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]]])
    assert cr.credal.size(ensemble) == pytest.approx([0.4 / 3])  # (0.2 + 0.2 + 0) / 3
    assert cr.credal.size(ensemble, of="predicted") == pytest.approx([0.2])  # class 0 of the mean
    # The mean (0.45, 0.4, 0.15) puts class 0 first, of width 0.1; class 1 has the largest upper probability.
    split = cr.Ensemble([[[0.5, 0.2, 0.3], [0.4, 0.6, 0.0]]])
    assert cr.credal.size(split, of="predicted") == pytest.approx([0.1])
    for kind, credal in every_kind(np.random.default_rng(2)).items():
        wide = cr.credal.upper_probability(credal) - cr.credal.lower_probability(credal)
        assert cr.credal.size(credal) == pytest.approx(wide.mean(axis=1)), kind


@pytest.mark.parametrize(
    ("decomposition", "words"),
    [("dirichlet", 'is not defined for Ensemble.*"credal"'), ("belief", "is not defined"), ("x", "one of")],
)
def test_wrong_decomposition(decomposition: str, words: str) -> None:
    with pytest.raises(cr.CrediblyError, match=words):
        cr.uncertainty(random_ensemble(np.random.default_rng(3), 2, 3, 3), decomposition=decomposition)


def test_regression_has_none() -> None:
    for call in (
        cr.uncertainty,
        cr.credal.size,
        cr.credal.upper_entropy,
        cr.credal.nonspecificity,
        cr.credal.decision,
    ):
        with pytest.raises(cr.CrediblyError, match="must be class predictions"):
            call(cr.Gaussian([0.0], [1.0]))


def test_bad_size() -> None:
    with pytest.raises(cr.InputError, match="`of` must be one of"):
        cr.credal.size([[0.5, 0.5]], of="top")
