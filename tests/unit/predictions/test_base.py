"""What all predictions share: length, slicing, repr, notes, frozen fields; tested over every type."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibly as cr
import strategies
from libraries import Library, read

PROBS = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5], [0.0, 1.0]])
ONE_OF_EACH = [
    cr.Point(PROBS),
    cr.Ensemble(np.stack([PROBS, PROBS[::-1], PROBS]), member_axis=0),
    cr.Dirichlet(PROBS + 1),
    cr.Intervals(PROBS / 2, np.minimum(PROBS + 0.5, 1)),
    cr.Belief(PROBS, [{0}, {0, 1}]),
    cr.Gaussian(np.arange(4.0), np.ones(4)),
    cr.Samples(PROBS),
    cr.Quantiles(np.sort(PROBS), [0.1, 0.9]),
    cr.LabelCounts(np.array([[1, 2], [0, 1], [3, 3], [1, 0]])),
]
each = pytest.mark.parametrize("given_one", ONE_OF_EACH, ids=lambda one: type(one).__name__)


@given(strategies.predictions(), st.data())
def test_slices_select_rows_of_every_array(given_one, data):
    rows = data.draw(st.lists(st.integers(-len(given_one), len(given_one) - 1), min_size=1, max_size=9))
    start = data.draw(st.integers(0, len(given_one) - 1))
    for index in (np.array(rows), slice(start, None), slice(None, None, -1)):
        taken = given_one[index]
        assert type(taken) is type(given_one)
        for field in given_one.row_fields:
            expected = getattr(given_one, field)[index]
            assert np.array_equal(getattr(taken, field), expected)
        assert taken.notes == given_one.notes


@given(strategies.class_predictions())
def test_the_mean_of_every_class_prediction_is_a_point(given_one):
    mean = given_one.mean()
    assert len(mean) == len(given_one)
    assert mean.n_classes == given_one.n_classes
    assert mean.probs.min() >= 0
    # the sums are those of the stored numbers, which single precision rounds
    assert mean.probs.sum(axis=1) == pytest.approx(np.ones(len(mean)), abs=2e-6)
    cr.Point(mean.probs)  # and a Point validates it


@given(strategies.predictions())
def test_repr_and_length(given_one):
    text = repr(given_one)
    assert text.startswith(f"{type(given_one).__name__}(n={len(given_one)}")
    assert f"dtype={getattr(given_one, given_one.row_fields[0]).dtype}" in text
    assert len(given_one) == getattr(given_one, given_one.row_fields[0]).shape[0]


@pytest.mark.parametrize(
    ("given_one", "text"),
    [
        (ONE_OF_EACH[0], "Point(n=4, k=2, dtype=float64)"),
        (ONE_OF_EACH[1], "Ensemble(n=4, m=3, k=2, dtype=float64)"),
        (ONE_OF_EACH[2], "Dirichlet(n=4, k=2, dtype=float64)"),
        (ONE_OF_EACH[3], "Intervals(n=4, k=2, dtype=float64)"),
        (ONE_OF_EACH[4], "Belief(n=4, f=2, k=2, dtype=float64)"),
        (ONE_OF_EACH[5], "Gaussian(n=4, m=1, dtype=float64)"),
        (ONE_OF_EACH[6], "Samples(n=4, m=1, s=2, dtype=float64)"),
        (ONE_OF_EACH[7], "Quantiles(n=4, q=2, dtype=float64)"),
        (ONE_OF_EACH[8], "LabelCounts(n=4, k=2, raters 1 to 6, dtype=int64)"),
        (cr.Point([[1 + 5e-7, 0.0]]), "Point(n=1, k=2, dtype=float64, 1 note)"),
    ],
)
def test_repr_by_hand(given_one, text):
    assert repr(given_one) == text


def test_repr_names_the_device_where_it_is_not_the_usual_one(library):
    text = repr(cr.Point(library.asarray([[0.5, 0.5]], "float32")))
    other = {"second_device": "array_api_strict.Device('device1')", "cuda": str(library.device)}
    where = f", device={other[library.name]}" if library.name in other else ""
    assert text == f"Point(n=1, k=2, dtype=float32{where})"


@each
@pytest.mark.parametrize(
    ("index", "chosen"),
    [
        (slice(1, 3), [1, 2]),
        ([0, -1], [0, 3]),
        (np.array([2, 2]), [2, 2]),
        (np.array([True, False, False, True]), [0, 3]),
        ([False, True, False, False], [1]),
    ],
)
def test_selection_by_hand(given_one, index, chosen):
    taken = given_one[index]
    for field in given_one.row_fields:
        assert getattr(taken, field).tolist() == getattr(given_one, field)[chosen].tolist()


def test_selection_on_every_library(library):
    point = cr.Point(library.asarray(PROBS))
    own_mask, own_index = library.asarray([True, False, False, True]), library.asarray([3, 0])
    for index, chosen in [(slice(1, 3), [1, 2]), ([0, -1], [0, 3]), (own_mask, [0, 3]), (own_index, [3, 0])]:
        taken = point[index].probs
        assert library.owns(taken)
        assert read(taken).tolist() == PROBS[chosen].tolist()


def test_slices_are_views():
    point = cr.Point(PROBS)
    assert np.shares_memory(point[1:3].probs, PROBS)


def test_selection_keeps_the_graph():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs = torch.tensor(PROBS, requires_grad=True)
    cr.Point(probs)[[0, 2]].probs[:, 0].sum().backward()
    assert probs.grad[:, 0].tolist() == [1.0, 0.0, 1.0, 0.0]


@each
@pytest.mark.parametrize("index", [0, np.int64(1), None, (0, 1), "a", 1.5])
def test_single_instances_are_refused(given_one, index):
    with pytest.raises(cr.InputTypeError, match=r"selects instances by a slice.*\[i : i \+ 1\]"):
        given_one[index]


@each
@pytest.mark.parametrize(
    "index", [[7], [-5], np.array([0.0]), np.array([[0, 1]]), np.array([True]), ["a"], np.array(1)]
)
def test_selections_out_of_range(given_one, index):
    with pytest.raises(cr.InputError, match="needs a mask of 4 booleans or a vector of indices from -4 to 3"):
        given_one[index]


@each
@pytest.mark.parametrize("index", [slice(9, None), [], np.zeros(4, dtype=bool), np.array([], dtype=int)])
def test_selections_of_nothing(given_one, index):
    with pytest.raises(cr.InputError, match="must select at least one instance; got none of 4"):
        given_one[index]


@each
def test_predictions_are_frozen(given_one):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(given_one, given_one.row_fields[0], 1)


@each
def test_predictions_are_not_read_as_arrays(given_one):
    with pytest.raises(cr.InputTypeError, match=rf"is not an array.*`\.{given_one.row_fields[0]}`"):
        np.asarray(given_one)
    with pytest.raises(cr.InputTypeError, match="is not an array"):
        cr.Point(given_one)


@each
def test_the_number_of_members(given_one):
    assert given_one.n_members == (3 if isinstance(given_one, cr.Ensemble) else 1)


@pytest.mark.parametrize("make", [cr.Point.from_logits, cr.Ensemble.from_logits])
def test_logits_go_along_with_their_rows(make, library: Library) -> None:
    shape = (4, 3) if make == cr.Point.from_logits else (4, 2, 3)
    logits = np.random.default_rng(0).normal(size=shape) * 1000  # probabilities saturate
    made = make(library.asarray(logits))
    assert np.array_equal(read(made.logits), logits)
    assert np.array_equal(read(made[1:3].logits), logits[1:3])
    assert np.array_equal(read(made[[3, 0]].logits), logits[[3, 0]])
    assert made.replace_rows(probs=made.probs).logits is None  # other rows, other logits
    assert type(made)(made.probs, **({"member_axis": 1} if len(shape) == 3 else {})).logits is None


def test_logits_of_members_first_are_put_in_order() -> None:
    logits = np.random.default_rng(0).normal(size=(2, 4, 3))
    assert np.array_equal(cr.Ensemble.from_logits(logits, member_axis=0).logits, np.moveaxis(logits, 0, 1))
