"""Dirichlet predictions: positive parameters, their mean, and draws that follow their law."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
from libraries import read


def test_the_mean_by_hand(library):
    # 8 : 1 : 1, and (1 : 3) averaged with (1 : 1) over members
    assert read(cr.Dirichlet(library.asarray([[8.0, 1.0, 1.0]])).mean().probs) == pytest.approx(
        np.array([[0.8, 0.1, 0.1]])
    )
    both = cr.Dirichlet(library.asarray([[[1.0, 3.0], [5.0, 5.0]]]))
    assert (both.n_members, both.n_classes) == (2, 2)
    mean = both.mean().probs
    assert library.owns(mean)
    assert read(mean).tolist() == [[0.375, 0.625]]


def test_members_first_is_a_view():
    alpha = np.arange(1.0, 13.0).reshape(3, 2, 2)
    dirichlet = cr.Dirichlet(alpha, member_axis=0)
    assert np.shares_memory(dirichlet.alpha, alpha)
    assert dirichlet.alpha.shape == (2, 3, 2)


def test_the_mean_of_extreme_parameters():
    assert cr.Dirichlet([[1e308, 1e308]]).mean().probs.tolist() == [[0.5, 0.5]]
    assert cr.Dirichlet([[1e-300, 3e-300]]).mean().probs == pytest.approx(np.array([[0.25, 0.75]]))


def test_evidence_adds_one(library):
    found = cr.Dirichlet.from_evidence(library.asarray([[3.0, 0.0]]))
    assert library.owns(found.alpha)
    assert read(found.alpha).tolist() == [[4.0, 1.0]]
    # counts are evidence too
    assert read(cr.Dirichlet.from_evidence(library.asarray([[3, 0]])).alpha).tolist() == [[4.0, 1.0]]
    stacked = library.asarray(np.zeros((3, 2, 2)))
    assert len(cr.Dirichlet.from_evidence(stacked, member_axis=0)) == 2


@pytest.mark.parametrize(
    ("alpha", "words"),
    [
        ([[0.0, 1.0]], r"`alpha` must be positive; row 0 holds 0 .*`Dirichlet\.from_evidence`, which adds 1"),
        ([[-1.0, 1.0]], "must be positive; row 0 holds -1"),
        ([[math.nan, 1.0]], "must be finite"),
        ([[math.inf, 1.0]], "must be finite"),
        ([[1.0]], "at least 2 classes"),
        ([1.0, 2.0], r"must have shape \(n, k\) or \(n, m, k\)"),
    ],
)
def test_wrong_parameters(library, alpha, words):
    with pytest.raises(cr.InputError, match=words):
        cr.Dirichlet(library.asarray(alpha))


def test_wrong_evidence():
    with pytest.raises(
        cr.InvalidRowsError, match=r"`evidence` must not be negative; row 1 holds -2 .*activation"
    ):
        cr.Dirichlet.from_evidence([[0.0, 1.0], [1.0, -2.0]])


def test_a_member_axis_needs_members():
    with pytest.raises(
        cr.InputError,
        match=r"`member_axis` needs an axis of members in `alpha`, which has shape \(1, 2\); got 0",
    ):
        cr.Dirichlet([[1.0, 2.0]], member_axis=0)


def test_samples_come_back_in_the_library_and_repeat(library):
    dirichlet = cr.Dirichlet(library.asarray([[2.0, 1.0, 1.0], [0.5, 0.5, 3.0]]))
    drawn = dirichlet.sample(4, rng=7)
    assert library.owns(drawn.probs)
    assert drawn.probs.shape == (2, 4, 3)
    again = cr.Dirichlet(read(dirichlet.alpha)).sample(4, rng=7)
    assert np.array_equal(read(drawn.probs), again.probs)
    assert not np.array_equal(again.probs, cr.Dirichlet(read(dirichlet.alpha)).sample(4, rng=8).probs)


def test_samples_have_the_moments_of_the_law():
    alpha = np.array([3.0, 1.0, 0.5])
    drawn = cr.Dirichlet(alpha[None]).sample(40_000, rng=0).probs[0]
    share, total = alpha / 4.5, 4.5
    variance = share * (1 - share) / (total + 1)
    # four standard errors of the mean; the variance within 5 %
    assert (np.abs(drawn.mean(axis=0) - share) < 4 * np.sqrt(variance / 40_000)).all()
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.05)


def test_samples_of_members_are_draws_of_each():
    drawn = cr.Dirichlet([[[1e6, 1.0], [1.0, 1e6]]], member_axis=1).sample(3, rng=0).probs
    assert drawn.shape == (1, 6, 2)
    assert (drawn[0, :3, 0] > 0.99).all()
    assert (drawn[0, 3:, 0] < 0.01).all()


def test_tiny_and_huge_parameters_do_not_underflow():
    corners = cr.Dirichlet(np.full((1, 3), 1e-300)).sample(50, rng=0).probs
    assert sorted(np.unique(corners)) == [0.0, 1.0]
    assert set(corners[0].argmax(axis=1)) == {0, 1, 2}
    assert cr.Dirichlet(np.full((1, 2), 1e300)).sample(5, rng=0).probs == pytest.approx(
        np.full((1, 5, 2), 0.5)
    )


@pytest.mark.parametrize("m", [0, -1, 1.5, "3", None, True])
def test_wrong_numbers_of_draws(m):
    with pytest.raises(cr.InputError, match="`m` must be an integer of at least 1"):
        cr.Dirichlet([[1.0, 2.0]]).sample(m)


def test_wrong_seed():
    with pytest.raises(cr.InputTypeError, match="`rng` must be None"):
        cr.Dirichlet([[1.0, 2.0]]).sample(2, rng="seed")


def test_weighted_members_by_hand(library):
    # (1 : 3) with weight 1/4, (5 : 5) with weight 3/4
    dirichlet = cr.Dirichlet(
        library.asarray([[[1.0, 3.0], [5.0, 5.0]]]), weights=library.asarray([0.25, 0.75])
    )
    assert read(dirichlet.mean().probs).tolist() == [[0.4375, 0.5625]]
    assert dirichlet.mean_note.startswith("used the weighted mean of the Dirichlets")
    assert "m=2, weighted, k=2" in repr(dirichlet)
    assert read(dirichlet[:1].mean().probs).tolist() == [[0.4375, 0.5625]]
    drawn = dirichlet.sample(2, rng=0)  # 4 draws: one of the first member, three of the second
    assert library.owns(drawn.probs)
    assert (drawn.n_members, drawn.weights) == (4, None)


def test_equal_weights_and_weights_of_0_change_nothing():
    alpha = np.arange(1.0, 19.0).reshape(3, 3, 2)[:2]
    equal = cr.Dirichlet(alpha, weights=np.full(3, 1 / 3))
    assert equal.weights is None
    two = cr.Dirichlet(alpha, weights=[0.5, 0.0, 0.5])
    assert (two.n_members, two.notes) == (2, ("1 member of weight 0 is left out",))
    assert two.alpha.tolist() == alpha[:, [0, 2]].tolist()
    with pytest.raises(cr.InputError, match="`weights` belong to members"):
        cr.Dirichlet(alpha[:, 0], weights=[1.0])
    evidence = cr.Dirichlet.from_evidence(alpha - 1.0, weights=[0.5, 0.25, 0.25])
    assert evidence.weights.tolist() == [0.5, 0.25, 0.25]


def test_draws_follow_the_weights():
    """Members that hardly overlap draw their share: exactly where it is whole, else on average."""
    alpha = np.tile([[900.0, 100.0], [100.0, 900.0]], (400, 1, 1))
    first = cr.Dirichlet(alpha, weights=[1 / 3, 2 / 3]).sample(3, rng=1).probs[:, :, 0] > 0.5
    assert (first.sum(axis=1) == 2).all()  # of 6
    some = cr.Dirichlet(alpha, weights=[0.3, 0.7]).sample(1, rng=1).probs[:, :, 0] > 0.5
    assert set(some.sum(axis=1).tolist()) == {0, 1}  # 0.6 of 2
    assert some.sum(axis=1).mean() == pytest.approx(0.6, abs=0.08)  # 3 standard errors


def test_labels_of_a_weighted_mixture_are_drawn_by_weight():
    """Labels follow the second member, which has nearly all the weight: equal weights would be rejected."""
    rng = np.random.default_rng(3)
    alpha = 20.0 * np.tile([[0.9, 0.1], [0.2, 0.8]], (300, 1, 1))
    labels = (rng.random(300) < 0.8 * 0.95 + 0.1 * 0.05).astype(int)
    kept, equal = (
        cr.predictive_check(predictions, labels, statistics=["log_loss"], n_resamples=199, rng=0)
        for predictions in (cr.Dirichlet(alpha, weights=[0.05, 0.95]), cr.Dirichlet(alpha))
    )
    for check in (kept.independent, kept.bayesian):
        assert check.omnibus_pvalue > 0.05
    assert equal.independent.omnibus_pvalue <= 0.01
    assert np.mean(kept.bayesian.members == 0) == pytest.approx(0.05, abs=0.05)


def test_a_weighted_decomposition_is_that_of_the_mixture():
    """Mean entropy of the drawn distributions, and entropy of the mean, by many draws."""
    dirichlet = cr.Dirichlet([[[6.0, 2.0, 1.0], [1.0, 1.0, 4.0]]], weights=[0.75, 0.25])
    parts = cr.uncertainty(dirichlet)
    draws = dirichlet.sample(20_000, rng=0).probs[0]
    entropies = -(draws * np.log(draws)).sum(axis=1)
    assert parts.aleatoric[0] == pytest.approx(entropies.mean(), abs=0.01)
    mean = draws.mean(axis=0)
    assert parts.total[0] == pytest.approx(-(mean * np.log(mean)).sum(), abs=0.01)
    assert parts.epistemic[0] == pytest.approx(parts.total[0] - parts.aleatoric[0])


def test_gradients_reach_equal_weights():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    weights = torch.tensor([0.5, 0.5], dtype=torch.float64, requires_grad=True)
    alpha = torch.tensor([[[1.0, 3.0], [5.0, 5.0]]], dtype=torch.float64)
    cr.Dirichlet(alpha, weights=weights).mean().probs[0, 0].backward()
    assert weights.grad.tolist() == [0.25, 0.5]
