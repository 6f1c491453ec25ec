"""Several distributions per instance: member order without guessing, weights, means, intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import credibly as cr
import strategies
from libraries import read

FIRST = np.array([[0.9, 0.1], [0.2, 0.8]])
SECOND = np.array([[0.5, 0.5], [0.4, 0.6]])
THIRD = np.array([[0.7, 0.3], [0.0, 1.0]])
MEMBERS_FIRST = np.stack([FIRST, SECOND, THIRD])  # (3, 2, 2)
INSTANCES_FIRST = np.stack([FIRST, SECOND, THIRD], axis=1)  # (2, 3, 2)


def test_members_first_is_kept_as_a_view():
    ensemble = cr.Ensemble(MEMBERS_FIRST, member_axis=0)
    assert np.shares_memory(ensemble.probs, MEMBERS_FIRST)
    assert ensemble.probs.shape == (2, 3, 2)
    assert np.array_equal(ensemble.probs, INSTANCES_FIRST)
    assert (len(ensemble), ensemble.n_members, ensemble.n_classes) == (2, 3, 2)


def test_members_first_tensors_are_views():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    tensor = torch.tensor(MEMBERS_FIRST)
    assert cr.Ensemble(tensor, member_axis=0).probs.data_ptr() == tensor.data_ptr()


def test_both_orders_are_one_ensemble(library):
    ensemble = cr.Ensemble(library.asarray(MEMBERS_FIRST), member_axis=0)
    other = cr.Ensemble(library.asarray(INSTANCES_FIRST))
    assert library.owns(ensemble.probs)
    assert np.array_equal(read(ensemble.probs), read(other.probs))


def test_the_mean_by_hand(library):
    # (0.9 + 0.5 + 0.7) / 3 = 0.7 and (0.2 + 0.4 + 0.0) / 3 = 0.2
    mean = cr.Ensemble(library.asarray(INSTANCES_FIRST)).mean()
    assert library.owns(mean.probs)
    assert read(mean.probs) == pytest.approx(np.array([[0.7, 0.3], [0.2, 0.8]]))


@pytest.mark.parametrize("as_list", [True, False])
def test_the_weighted_mean_by_hand(library, as_list):
    # 0.5 * 0.9 + 0.25 * 0.5 + 0.25 * 0.7 = 0.75; 0.5 * 0.2 + 0.25 * 0.4 = 0.2
    weights = [0.5, 0.25, 0.25] if as_list else library.asarray([0.5, 0.25, 0.25])
    ensemble = cr.Ensemble(library.asarray(INSTANCES_FIRST), weights=weights)
    assert library.owns(ensemble.weights)
    assert read(ensemble.mean().probs) == pytest.approx(np.array([[0.75, 0.25], [0.2, 0.8]]))
    assert ensemble.mean_note == "used the weighted mean of 3 members as the one prediction per instance"
    assert cr.Ensemble(INSTANCES_FIRST).mean_note.startswith("used the mean of 3 members")


@given(strategies.ensembles())
def test_the_mean_is_the_loop_over_members(ensemble):
    n, m, k = ensemble.probs.shape
    weights = np.full(m, 1 / m) if ensemble.weights is None else ensemble.weights
    expected = np.zeros((n, k))
    for j in range(m):
        expected += weights[j] * ensemble.probs[:, j, :].astype(np.float64)
    assert ensemble.mean().probs == pytest.approx(expected, abs=1e-12)


def test_single_precision_members_are_averaged_in_double():
    # 1/3 in single precision is 1/3 + 1e-8; the mean in single precision would round again
    third = np.float32(1 / 3)
    probs = np.array([[[third, 1 - third], [third, 1 - third]]], dtype=np.float32)
    mean = cr.Ensemble(probs).mean().probs
    assert mean.dtype == np.float64
    assert mean[0, 0] == float(third)


def test_weights_keep_their_graph():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    weights = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64, requires_grad=True)
    cr.Ensemble(torch.tensor(INSTANCES_FIRST), weights=weights).mean().probs[0, 0].backward()
    assert weights.grad.tolist() == [0.9, 0.5, 0.7]


def test_single_precision_weights_of_many_members():
    weights = np.full(3000, 1 / 3000, dtype=np.float32)
    probs = np.full((1, 3000, 2), 0.5)
    assert cr.Ensemble(probs, weights=weights, member_axis=1).mean().probs == pytest.approx(
        np.array([[0.5, 0.5]]), abs=1e-6
    )


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([0.5, 0.5], "must be 3 non-negative numbers summing to 1, one per member; got 2 numbers"),
        ([1.5, -0.5, 0.0], r"summing to 1, the smallest -0\.5"),
        ([1.0, 1.0, 1.0], r"summing to 3, the smallest 1\. Give one weight per member, and divide"),
        ([math.nan, 0.5, 0.5], "`weights` must be finite"),
        ([[1.0, 0.0, 0.0]], r"`weights` must have shape \(m,\); got shape \(1, 3\)"),
    ],
)
def test_wrong_weights(weights, words):
    with pytest.raises(cr.InputError, match=words):
        cr.Ensemble(INSTANCES_FIRST, weights=weights)


def test_weights_of_another_library():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(cr.InputTypeError, match="predictions and `weights` must come from one array library"):
        cr.Ensemble(INSTANCES_FIRST, weights=torch.ones(3) / 3)


def test_as_many_members_as_instances_must_be_said():
    square = np.stack([FIRST, SECOND])  # (2, 2, 2)
    for make in (cr.Ensemble, cr.Ensemble.from_logits, cr.Ensemble.from_scores, cr.Dirichlet):
        values = square if make in (cr.Ensemble, cr.Ensemble.from_scores) else square + 1
        with pytest.raises(cr.InputError, match=r"as many members as instances; got shape \(2, 2, 2\)"):
            make(values)
    assert np.array_equal(cr.Ensemble(square, member_axis=0).probs[:, 0], FIRST)
    assert np.array_equal(cr.Ensemble(square, member_axis=1).probs[0], FIRST)


def test_one_member_of_one_instance_needs_no_keyword():
    assert cr.Ensemble([[[0.25, 0.75]]]).n_members == 1


@pytest.mark.parametrize("axis", [2, -1, "0", [0], 0.5])
def test_wrong_member_axis(axis):
    with pytest.raises(cr.InputError, match="`member_axis` must be 0 or 1"):
        cr.Ensemble(INSTANCES_FIRST, member_axis=axis)


def test_a_matrix_is_no_ensemble():
    with pytest.raises(cr.InputError, match=r"must have shape \(n, m, k\); got shape \(2, 2\)"):
        cr.Ensemble(FIRST)


def test_a_bad_member_names_its_instance():
    probs = INSTANCES_FIRST.copy()
    probs[1, 2] = [0.7, 0.7]
    with pytest.raises(cr.InvalidRowsError, match=r"row 1 sums to 1\.4 .*`Ensemble\.from_scores`"):
        cr.Ensemble(probs)
    with pytest.raises(cr.InvalidRowsError, match=r"row 1 sums to 1\.4"):
        cr.Ensemble(np.moveaxis(probs, 1, 0), member_axis=0)


def test_from_logits_and_scores(library):
    logits = library.asarray([[[0.0, math.log(3)], [0.0, 0.0]]])
    # 1 : 3 and 1 : 1
    assert read(cr.Ensemble.from_logits(logits).probs) == pytest.approx(
        np.array([[[0.25, 0.75], [0.5, 0.5]]])
    )
    scores = library.asarray([[[1.0, 3.0], [2.0, 2.0]]])
    weighted = cr.Ensemble.from_scores(scores, weights=[0.5, 0.5])
    assert read(weighted.probs).tolist() == [[[0.25, 0.75], [0.5, 0.5]]]
    # (0.25 + 0.5) / 2
    assert read(weighted.mean().probs).tolist() == [[0.375, 0.625]]
    with pytest.raises(cr.InvalidRowsError, match="row 0 sums to 0"):
        cr.Ensemble.from_scores(library.asarray([[[1.0, 3.0], [0.0, 0.0]]]))


def test_from_members(library):
    members = [library.asarray(FIRST), cr.Point(library.asarray(SECOND)), library.asarray(THIRD)]
    ensemble = cr.Ensemble.from_members(members, weights=[0.5, 0.25, 0.25])
    assert library.owns(ensemble.probs)
    assert np.array_equal(read(ensemble.probs), INSTANCES_FIRST)
    assert cr.Ensemble.from_members(iter([FIRST])).n_members == 1
    # two instances, two members: the order is known, so nothing has to be said
    assert cr.Ensemble.from_members([FIRST, SECOND]).probs[:, 1].tolist() == SECOND.tolist()


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([], r"at least one array, all of one shape \(n, k\); got 0 arrays"),
        ([FIRST, FIRST[:1]], r"got 2 arrays with shapes \[\(1, 2\), \(2, 2\)\]"),
        ([INSTANCES_FIRST], r"shapes \[\(2, 3, 2\)\]"),
        ([FIRST[:, 0]], r"shapes \[\(2,\)\]"),
        (None, "must be a sequence with one array .* got None"),
        ([cr.Ensemble(INSTANCES_FIRST)], "a Ensemble is not an array"),
    ],
)
def test_wrong_members(members, words):
    with pytest.raises(cr.CrediblyError, match=words):
        cr.Ensemble.from_members(members)


def test_members_of_two_libraries():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(
        cr.InputTypeError, match="`members` must come from one array library; got numpy and torch"
    ):
        cr.Ensemble.from_members([FIRST, torch.tensor(SECOND)])


def test_to_intervals_by_hand(library):
    # class 0: 0.5 to 0.9 and 0.0 to 0.4
    intervals = cr.Ensemble(library.asarray(INSTANCES_FIRST)).to_intervals()
    assert library.owns(intervals.lower)
    assert read(intervals.lower).tolist() == [[0.5, 0.1], [0.0, 0.6]]
    assert read(intervals.upper).tolist() == [[0.9, 0.5], [0.4, 1.0]]


@given(strategies.ensembles())
def test_the_intervals_hold_every_member(ensemble):
    intervals = ensemble.to_intervals()
    for j in range(ensemble.n_members):
        assert (intervals.lower <= ensemble.probs[:, j]).all()
        assert (ensemble.probs[:, j] <= intervals.upper).all()
