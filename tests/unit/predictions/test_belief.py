"""Belief functions: masses on focal sets, Moebius inversion, pignistic probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibly as cr
import strategies
from libraries import read

SETS = [{0}, {1}, {0, 1}, {0, 1, 2}]


def beliefs_by_loop(masses, sets):
    """Bel(A) = sum of m(B) over listed B within A."""
    values = np.zeros_like(masses)
    for j, a in enumerate(sets):
        for i, b in enumerate(sets):
            if set(b) <= set(a):
                values[:, j] += masses[:, i]
    return values


def test_a_belief_keeps_its_masses(library):
    masses = library.asarray([[0.1, 0.2, 0.3, 0.4]])
    belief = cr.Belief(masses, SETS)
    assert belief.masses is masses
    assert belief.focal_sets == tuple(map(frozenset, SETS))
    assert belief.n_classes == 3
    assert belief.membership.tolist() == [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]]


def test_the_number_of_classes_can_exceed_the_listed_ones():
    belief = cr.Belief([[0.5, 0.5]], [{0}, {1}], n_classes=5)
    assert belief.n_classes == 5
    assert belief.mean().probs.tolist() == [[0.5, 0.5, 0, 0, 0]]
    assert belief[0:1].n_classes == 5


def test_the_pignistic_probability_by_hand(library):
    # class 0: 0.1 + 0.3 / 2 + 0.6 / 3 = 0.45; class 1: 0 + 0.15 + 0.2 = 0.35; class 2: 0.2
    belief = cr.Belief(library.asarray([[0.1, 0.0, 0.3, 0.6]]), SETS)
    probs = belief.pignistic().probs
    assert library.owns(probs)
    assert read(probs) == pytest.approx(np.array([[0.45, 0.35, 0.2]]))
    assert read(belief.mean().probs).tolist() == read(probs).tolist()


@given(strategies.beliefs())
def test_the_pignistic_probability_is_the_loop_over_sets(belief):
    expected = np.zeros((len(belief), belief.n_classes))
    for j, members in enumerate(belief.focal_sets):
        for y in members:
            expected[:, y] += belief.masses[:, j].astype(np.float64) / len(members)
    assert belief.pignistic().probs == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("masses", "sets", "words"),
    [
        ([[1.0]], [set()], r"`focal_sets` must list .*, and none without classes; got \[set\(\)\]"),
        ([[1.0]], [], "`focal_sets` must list at least one set"),
        ([[0.5, 0.5]], [{0, 1}, [1, 0]], r"must be unique; \[0, 1\] is listed 2 times"),
        ([[0.5, 0.5]], [{0}, {-1}], "indices range from -1 to 0"),
        ([[1.0]], [{0}], "with at least 2 classes"),
        ([[1.0]], [{0}, {1}], r"must have one column per focal set \(2\); got shape \(1, 1\)"),
        ([[0.5, 0.2]], [{0}, {1}], r"`masses` rows must sum to 1 .*`Belief\.from_beliefs`"),
        ([[1.2, -0.2]], [{0}, {1}], "`masses` must not be negative"),
        ([[math.nan, 0.5]], [{0}, {1}], "`masses` must be finite"),
        ([0.5, 0.5], [{0}, {1}], r"`masses` must have shape \(n, f\)"),
    ],
)
def test_wrong_masses_and_sets(masses, sets, words):
    with pytest.raises(cr.InputError, match=words):
        cr.Belief(masses, sets)


@pytest.mark.parametrize("sets", [None, 3, [0, 1], ["a", "b"], ["01", "12"], [{0.5}, {1.0}], [{None}, {1}]])
def test_sets_hold_whole_numbers(sets):
    with pytest.raises(cr.InputTypeError, match="`focal_sets` must be a sequence of sets of class indices"):
        cr.Belief([[0.5, 0.5]], sets)


def test_sets_may_hold_the_integers_of_numpy():
    assert cr.Belief([[0.5, 0.5]], [np.array([0]), np.array([0, 1])]).n_classes == 2


@pytest.mark.parametrize("n_classes", ["3", 2.5, True, 1])
def test_wrong_number_of_classes(n_classes):
    with pytest.raises(cr.InputError, match="`n_classes` must be an integer of at least 2"):
        cr.Belief([[0.5, 0.5]], [{0}, {1}], n_classes)


def test_classes_beyond_the_number_of_classes():
    with pytest.raises(cr.InputError, match=r"must hold class indices from 0 to 2.* range from 0 to 5"):
        cr.Belief([[0.5, 0.5]], [{0}, {5}], n_classes=3)


# -- from beliefs


def test_inversion_by_hand(library):
    # m(0) = 0.2, m(1) = 0.3, m(01) = 0.6 - 0.5 = 0.1, the rest 1 - 0.6 = 0.4 to all classes
    belief = cr.Belief.from_beliefs(library.asarray([[0.2, 0.3, 0.6, 1.0]]), SETS)
    assert library.owns(belief.masses)
    assert read(belief.masses) == pytest.approx(np.array([[0.2, 0.3, 0.1, 0.4]]))
    assert belief.notes == ()


def test_the_set_of_all_classes_is_added_where_it_is_missing():
    belief = cr.Belief.from_beliefs([[0.2, 0.3]], [{0}, {1}], n_classes=3)
    assert belief.focal_sets == (frozenset({0}), frozenset({1}), frozenset({0, 1, 2}))
    assert belief.masses == pytest.approx(np.array([[0.2, 0.3, 0.5]]))


def test_inversion_of_a_chain_by_hand():
    # {0} in {0, 1} in {0, 1, 2}: each mass is what its set adds, 0.1, 0.2, 0.3, and 0.4 is left over
    chain = [{0, 1, 2}, {0}, {0, 1}]
    belief = cr.Belief.from_beliefs([[0.6, 0.1, 0.3]], chain, n_classes=4)
    assert belief.masses == pytest.approx(np.array([[0.3, 0.1, 0.2, 0.4]]))


@given(st.data())
def test_inversion_undoes_the_belief(data):
    k = data.draw(st.integers(2, 5))
    sets = data.draw(strategies.focal_sets(k))
    if set(range(k)) not in sets:
        sets = [*sets, set(range(k))]
    masses = data.draw(strategies.simplex((3, len(sets))))
    belief = cr.Belief.from_beliefs(np.minimum(beliefs_by_loop(masses, sets), 1.0), sets, n_classes=k)
    assert belief.masses == pytest.approx(masses, abs=1e-9)


def test_negative_masses_are_refused_or_clamped():
    # m(01) = 0.5 - 0.4 - 0.4 = -0.3
    beliefs = np.array([[0.2, 0.2, 0.5, 1.0], [0.4, 0.4, 0.5, 1.0]])
    with pytest.raises(
        cr.InvalidRowsError, match=r'row 1 gives mass -0\.3 \(1 of 2 rows\).*negative="clamp"'
    ) as caught:
        cr.Belief.from_beliefs(beliefs, SETS)
    assert caught.value.rows == [1]
    belief = cr.Belief.from_beliefs(beliefs, SETS, negative="clamp")
    # 0.4 + 0.4 + 0, the rest 0.2 to all classes: nothing to divide
    assert belief.masses == pytest.approx(np.array([[0.2, 0.2, 0.1, 0.5], [0.4, 0.4, 0.0, 0.2]]))
    assert belief.notes == ("1 negative masses were set to 0 and their rows renormalised",)


def test_clamped_rows_are_renormalised():
    # singletons of 0.6 leave -0.2 to the pair: 0.6, 0.6, 0 -> 0.5, 0.5, 0
    belief = cr.Belief.from_beliefs([[0.6, 0.6, 1.0]], [{0}, {1}, {0, 1}], negative="clamp")
    assert belief.masses.tolist() == [[0.5, 0.5, 0.0]]


def test_rounding_below_zero_is_no_error():
    # m(01) = 0.3 - 0.1 - 0.2 = -2.8e-17
    belief = cr.Belief.from_beliefs([[0.1, 0.2, 0.3, 1.0]], SETS)
    assert belief.masses == pytest.approx(np.array([[0.1, 0.2, 0.0, 0.7]]))
    assert belief.masses.min() == 0.0


def test_the_belief_of_all_classes_is_one_and_another_number_is_noted():
    belief = cr.Belief.from_beliefs([[0.2, 0.3, 0.9], [0.2, 0.3, 1.0]], [{0}, {1}, {0, 1}])
    assert belief.masses == pytest.approx(np.array([[0.2, 0.3, 0.5]] * 2))
    assert belief.notes == ("the belief of all classes is 1 by definition; 1 row gave a different number",)


@pytest.mark.parametrize(
    ("beliefs", "words"),
    [
        ([[1.5, 0.5]], r"`beliefs` must lie between 0 and 1; row 0 ranges from 0\.5 to 1\.5"),
        ([[-0.5, 0.5]], "must lie between 0 and 1"),
        ([[math.nan, 0.5]], "`beliefs` must be finite"),
        ([[0.5]], "one column per focal set"),
    ],
)
def test_wrong_beliefs(beliefs, words):
    with pytest.raises(cr.InputError, match=words):
        cr.Belief.from_beliefs(beliefs, [{0}, {1}])


def test_wrong_word_for_negative():
    with pytest.raises(
        cr.InputError, match=r"`negative` must be one of 'raise', 'clamp'; got 'clip'. Did you mean 'clamp'"
    ):
        cr.Belief.from_beliefs([[0.5, 0.5]], [{0}, {1}], negative="clip")
