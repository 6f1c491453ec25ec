"""What users hold becomes predictions: tensors, lists, tables, labelled arrays, other libraries' objects."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import credibly as cr
from credibly.predictions.convert import require_order
from libraries import read

PROBS = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])
MEMBERS_FIRST = np.stack([PROBS, PROBS[::-1], PROBS, PROBS])  # (4, 3, 2)
INSTANCES_FIRST = np.moveaxis(MEMBERS_FIRST, 0, 1)


def test_arrays_by_their_axes(library):
    point = cr.as_predictions(library.asarray(PROBS))
    assert isinstance(point, cr.Point)
    assert library.owns(point.probs)
    ensemble = cr.as_predictions(library.asarray(INSTANCES_FIRST))
    assert isinstance(ensemble, cr.Ensemble)
    turned = cr.as_predictions(library.asarray(MEMBERS_FIRST), member_axis=0)
    assert np.array_equal(read(turned.probs), read(ensemble.probs))


def test_lists_and_tuples():
    assert cr.as_predictions(PROBS.tolist()).probs.tolist() == PROBS.tolist()
    assert cr.as_predictions(tuple(map(tuple, PROBS))).probs.tolist() == PROBS.tolist()
    assert isinstance(cr.as_predictions(INSTANCES_FIRST.tolist()), cr.Ensemble)


def test_predictions_are_returned_as_they_are():
    for given in (cr.Point(PROBS), cr.Gaussian([0.0], [1.0]), cr.LabelCounts([[1, 2]])):
        assert cr.as_predictions(given) is given


@pytest.mark.parametrize("shape", [(), (1, 1, 1, 2)])
def test_other_numbers_of_axes(shape):
    with pytest.raises(
        cr.InputError, match=r"must be an \(n, k\) array of probabilities.*numpy\.stack\(\[1 - p, p\]"
    ):
        cr.as_predictions(np.full(shape, 0.5))


@pytest.mark.parametrize("given", [None, {"probs": PROBS}, object(), cr.Point, lambda: PROBS])
def test_what_holds_no_predictions(given):
    with pytest.raises(
        cr.InputTypeError, match=r"`predictions` must hold numbers; got .* Pass an array, or wrap it"
    ):
        cr.as_predictions(given)


def test_a_member_axis_needs_members():
    with pytest.raises(cr.InputError, match="`member_axis` needs an axis of members in `predictions`"):
        cr.as_predictions(PROBS, member_axis=0)


def test_tables():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    polars = pytest.importorskip("polars", reason="needs polars")
    assert cr.as_predictions(pandas.DataFrame(PROBS)).probs.tolist() == PROBS.tolist()
    assert cr.as_predictions(polars.DataFrame(PROBS)).probs.tolist() == PROBS.tolist()
    # columns that happen to carry the attribute names of other libraries are columns
    named = pandas.DataFrame(PROBS, columns=["alphas", "probabilities"])
    assert isinstance(cr.as_predictions(named), cr.Point)
    with pytest.raises(cr.InputError, match="the column 'b' must say what it is"):
        cr.as_predictions(pandas.DataFrame({"a": ["x"], "b": [1.0]}))


# -- labelled arrays


def test_labelled_arrays_with_chain_and_draw():
    xarray = pytest.importorskip("xarray", reason="needs the xarray extra")
    values = MEMBERS_FIRST.reshape(2, 2, 3, 2)
    array = xarray.DataArray(values, dims=("chain", "draw", "instance", "class"))
    ensemble = cr.as_predictions(array)
    assert np.array_equal(ensemble.probs, INSTANCES_FIRST)
    assert np.shares_memory(ensemble.probs, values)
    # the names decide, not the order
    turned = cr.as_predictions(array.transpose("instance", "draw", "class", "chain"))
    assert np.array_equal(turned.probs, INSTANCES_FIRST)


def test_as_many_draws_as_instances_are_told_apart_by_name():
    xarray = pytest.importorskip("xarray", reason="needs the xarray extra")
    array = xarray.DataArray(MEMBERS_FIRST[:3], dims=("draw", "instance", "class"))
    assert np.array_equal(cr.as_predictions(array).probs, INSTANCES_FIRST[:, :3])


def test_labelled_arrays_without_draws():
    xarray = pytest.importorskip("xarray", reason="needs the xarray extra")
    point = cr.as_predictions(xarray.DataArray(PROBS, dims=("instance", "class")))
    assert isinstance(point, cr.Point)
    assert point.probs.tolist() == PROBS.tolist()


def test_labelled_arrays_with_too_many_dimensions():
    xarray = pytest.importorskip("xarray", reason="needs the xarray extra")
    array = xarray.DataArray(np.full((2, 2, 2, 2), 0.5), dims=("chain", "time", "instance", "class"))
    with pytest.raises(cr.InputError, match=r"two dimensions besides chain and draw.*'time'"):
        cr.as_predictions(array)
    with pytest.raises(cr.InputTypeError, match=r"must be one variable; got a Dataset with p, q"):
        cr.as_predictions(xarray.Dataset({"p": array, "q": array}))


# -- objects of other libraries


def test_objects_with_probabilities(library):
    probs = library.asarray(PROBS)
    for given in (
        SimpleNamespace(probabilities=probs),
        SimpleNamespace(samples=SimpleNamespace(probabilities=probs)),
        SimpleNamespace(probabilities=SimpleNamespace(probabilities=probs)),
    ):
        predictions = cr.as_predictions(given)
        assert isinstance(predictions, cr.Point)
        assert predictions.probs is probs


def test_objects_with_members_keep_the_keyword(library):
    output = SimpleNamespace(samples=SimpleNamespace(probabilities=library.asarray(MEMBERS_FIRST)))
    assert cr.as_predictions(output, member_axis=0).probs.shape == (3, 4, 2)
    assert cr.as_predictions(output).probs.shape == (4, 3, 2)


def test_objects_with_alphas(library):
    predictions = cr.as_predictions(SimpleNamespace(alphas=library.asarray(PROBS + 1)))
    assert isinstance(predictions, cr.Dirichlet)
    stacked = SimpleNamespace(alphas=library.asarray(MEMBERS_FIRST + 1))
    assert cr.as_predictions(stacked, member_axis=0).alpha.shape == (3, 4, 2)


def test_objects_with_bounds(library):
    output = SimpleNamespace(
        lower_bounds=library.asarray(PROBS / 2), upper_bounds=library.asarray(PROBS / 2 + 0.5)
    )
    predictions = cr.as_predictions(output)
    assert isinstance(predictions, cr.Intervals)
    assert predictions.lower is output.lower_bounds


class ArrayLike:
    """As probly's representations: it has an array namespace, and its shape leaves the classes out."""

    def __init__(self, **held):
        self.__dict__ |= held

    def __array_namespace__(self, api_version=None):
        return np

    @property
    def shape(self):
        return (len(PROBS),)


def test_representations_that_look_like_arrays():
    predictions = cr.as_predictions(ArrayLike(probabilities=PROBS))
    assert predictions.probs is PROBS


@pytest.mark.parametrize(("held", "said"), [("array", "sample_axis"), ("tensor", "sample_dim")])
def test_draws_say_which_axis_is_theirs(held, said, library):
    members = library.asarray(MEMBERS_FIRST)
    distributions = ArrayLike(probabilities=members)
    for inner in (members, distributions):
        predictions = cr.as_predictions(ArrayLike(**{held: inner, said: 0}))
        assert isinstance(predictions, cr.Ensemble)
        assert predictions.probs.shape == (3, 4, 2)
    weighted = ArrayLike(**{held: members, said: 0}, weights=library.asarray([0.1, 0.2, 0.3, 0.4]))
    assert read(cr.as_predictions(weighted).weights).tolist() == [0.1, 0.2, 0.3, 0.4]


def test_sets_of_members_hold_them_before_the_classes(library):
    members = library.asarray(np.swapaxes(MEMBERS_FIRST, 0, 1))
    predictions = cr.as_predictions(ArrayLike(array=members))
    assert predictions.probs.shape == (3, 4, 2)


def test_gaussians_have_variances(library):
    given = ArrayLike(mean=library.asarray([0.0, 1.0]), var=library.asarray([4.0, 9.0]))
    predictions = cr.as_predictions(given)
    assert isinstance(predictions, cr.Gaussian)
    assert read(predictions.std).tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (ArrayLike(nominal=PROBS, radius=0.1), r"it is a ball.*`Intervals\(obj.lower\(\), obj.upper\(\)\)`"),
        (
            ArrayLike(array=PROBS, sample_axis=0),
            r"`probs` must have shape \(n, m, k\); got shape \(3, 2\)",
        ),
        (ArrayLike(array=MEMBERS_FIRST, sample_axis=2), "`member_axis` must be 0 or 1; got 2. Move the axis"),
        (ArrayLike(array=np.ones((2, 2, 2, 2)) / 2), r"got shape \(2, 2, 2, 2\)"),
    ],
)
def test_representations_that_cannot_be_read(given, match):
    with pytest.raises(cr.CrediblyError, match=match):
        cr.as_predictions(given)


def test_what_objects_carry_is_validated():
    with pytest.raises(cr.InvalidRowsError, match="rows must sum to 1"):
        cr.as_predictions(SimpleNamespace(probabilities=PROBS * 2))
    with pytest.raises(cr.InputTypeError, match="`probabilities` must hold numbers; got str"):
        cr.as_predictions(SimpleNamespace(probabilities="half"))


# -- the order of arguments

LABELS = np.array([0, 1, 1])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LABELS, PROBS),
        (LABELS.tolist(), PROBS.tolist()),
        (LABELS.astype(float), PROBS),
        (LABELS.astype(bool), PROBS),
        (LABELS, INSTANCES_FIRST),
        (LABELS, cr.Point(PROBS)),
        (LABELS.tolist(), cr.Dirichlet(PROBS + 1)),
        (cr.LabelCounts([[1, 0], [0, 1], [1, 1]]), PROBS),
    ],
)
def test_swapped_arguments(first, second):
    with pytest.raises(
        cr.InputTypeError, match=r"must be given in this order; .*Swap them: `f\(predictions, labels\)`"
    ):
        require_order(first, second)
    require_order(second, first)


def test_swapped_tensors(library):
    with pytest.raises(cr.InputTypeError, match="Swap them"):
        require_order(library.asarray(LABELS), library.asarray(PROBS))
