"""Which bin a value falls in: exact edges, closed ends, single precision, ties."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from credibly import InputError
from credibly._arrays.namespace import to_host
from credibly.predictions import Dataset, InMemory, Point
from credibly.statistics.binned import ClasswiseECE
from credibly.statistics.cells import bin_index, check_bins
from optional import torch

LIBRARIES = {"numpy": np, "torch": torch, "strict": array_api_strict}


class FirstColumn(ClasswiseECE):
    """Bins of the probability of the first class alone."""

    def binned_values(self, predictions):
        return predictions.probs[:, 0]


def edges_of(values, n_bins: int, binning: str, closed: str):
    """Edges of bins of these numbers, (n,) or (n, k), as if they were probabilities."""
    columns = values if values.ndim == 2 else values[:, None]
    rows = InMemory(Dataset(Point._trusted(columns), None))
    statistic = ClasswiseECE if values.ndim == 2 else FirstColumn
    return statistic(n_bins=n_bins, binning=binning, closed=closed).plan(rows).edges


def bins(values, n_bins: int, closed: str, library: str = "numpy", dtype=np.float64) -> list[int]:
    host = np.asarray(values, dtype=dtype)
    array = LIBRARIES[library].asarray(host)
    edges = edges_of(array, n_bins, "equal_width", closed)
    return to_host(bin_index(array, edges, closed)).tolist()


@pytest.mark.parametrize("library", LIBRARIES)
def test_values_that_linspace_and_floor_put_one_bin_off(library: str) -> None:
    # np.linspace(0, 1, 11)[3] > 0.3, floor(0.29 * 100) = 28
    assert bins([0.3], 10, "left", library) == [3]
    assert bins([0.3], 10, "right", library) == [2]
    assert bins([0.29], 100, "left", library) == [29]
    assert bins([0.29], 100, "right", library) == [28]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 15, 64, 65, 100, 257])
def test_every_edge_belongs_to_the_bin_that_starts_there_or_ends_there(n_bins: int, dtype) -> None:
    edges = np.arange(n_bins + 1) / n_bins
    # the last bin is closed on the left rule, the first on the right rule
    assert bins(edges, n_bins, "left", dtype=dtype) == [*range(n_bins), n_bins - 1]
    assert bins(edges, n_bins, "right", dtype=dtype) == [0, *range(n_bins)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_bins", [2, 5, 10, 12, 15, 49, 100])
def test_the_number_below_an_edge_belongs_to_the_bin_before(n_bins: int, dtype) -> None:
    # 5 and 15 bins are found by a product, which for 10 bins rounds the number below 0.9 up to 9
    edges = (np.arange(n_bins + 1) / n_bins).astype(dtype)
    below = np.nextafter(edges[1:], dtype(0))
    assert bins(below, n_bins, "left", dtype=dtype) == [*range(n_bins)]
    above = np.nextafter(edges[:-1], dtype(2))
    assert bins(above, n_bins, "right", dtype=dtype) == [*range(n_bins)]


def test_columns_are_binned_as_single_values_are() -> None:
    values = np.random.default_rng(0).random((3000, 12))  # more than one tile
    edges = np.arange(16) / 15
    searched = np.searchsorted(edges[1:-1], values, side="right")
    assert (bin_index(values, edges, "left") == searched).all()


def test_single_precision_compares_with_single_precision_edges() -> None:
    # 0.7 in float32 is 0.699999988, below the double 0.7
    assert float(np.float32(0.7)) < 0.7
    assert bins([0.7], 10, "left", dtype=np.float32) == [7]
    assert bins([0.7], 10, "left", "torch", dtype=np.float32) == [7]


def test_columns_have_their_own_edges() -> None:
    values = np.array([[0.1, 0.9], [0.2, 0.7], [0.3, 0.8], [0.4, 0.6]])
    edges = edges_of(values, 2, "equal_mass", "left")
    # lower halves: {0.1, 0.2} and {0.6, 0.7}
    assert edges.tolist() == [[0.0, 0.3, 1.0], [0.0, 0.8, 1.0]]
    assert bin_index(values, edges, "left").tolist() == [[0, 1], [0, 0], [1, 1], [1, 0]]


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize(("n", "n_bins"), [(4, 4), (12, 3), (10, 4), (7, 3), (100, 15)])
def test_equal_mass_bins_of_distinct_values_differ_by_at_most_one(closed: str, n: int, n_bins: int) -> None:
    values = np.random.default_rng(n).permutation(n) / n
    bins = bin_index(values, edges_of(values, n_bins, "equal_mass", closed), closed)
    sizes = np.bincount(bins, minlength=n_bins)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("closed", ["left", "right"])
def test_equal_mass_bins_keep_ties_together(closed: str) -> None:
    values = np.array([0.6, 0.9, 0.6, 0.6, 0.95, 0.6])
    bins = bin_index(values, edges_of(values, 3, "equal_mass", closed), closed)
    assert len(set(bins[values == 0.6].tolist())) == 1
    assert bins[1] == bins[4] or closed == "right"


def test_more_bins_than_values_leaves_bins_empty() -> None:
    values = np.array([0.2, 0.8])
    bins = bin_index(values, edges_of(values, 5, "equal_mass", "left"), "left")
    assert bins[0] < bins[1]


@pytest.mark.parametrize("n_bins", [0, -3, 2.5, True, "10"])
def test_n_bins_must_be_a_positive_integer(n_bins: object) -> None:
    with pytest.raises(InputError, match=r"`n_bins` must be .*positive"):
        check_bins(n_bins, "equal_width", "left")


def test_binning_and_closed_are_words() -> None:
    with pytest.raises(InputError, match=r"`binning` must be one of .*Did you mean 'equal_mass'"):
        check_bins(10, "equal_mas", "left")
    with pytest.raises(InputError, match=r"`closed` must be one of .*got 'both'"):
        check_bins(10, "equal_mass", "both")
