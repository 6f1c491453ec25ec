"""Which library an array belongs to, and the moves between library, device and host."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

import credibly as cr
from credibly._arrays.namespace import (
    as_float64,
    beside,
    device,
    is_array,
    is_numpy,
    like,
    namespace,
    to_host,
)
from libraries import read


def test_there_and_back(library):
    array = library.asarray([[0.25, 0.75]])
    host = to_host(array)
    assert type(host) is np.ndarray
    assert host.tolist() == [[0.25, 0.75]]
    back = like(host, array)
    assert library.owns(back)
    assert read(back).tolist() == [[0.25, 0.75]]
    assert is_array(array)
    assert is_numpy(array) == (library.name == "numpy")


def test_as_float64_returns_the_same_object_where_it_can(library):
    array = library.asarray([0.5])
    assert as_float64(array) is array
    assert as_float64(library.asarray([0.5], "float32")).dtype == array.dtype


def test_lists_are_no_arrays():
    assert not is_array([1.0])
    assert not is_array("torch")


def test_mixed_libraries_are_refused():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(
        cr.InputTypeError, match=r"`a` and `b` must come from one array library; got numpy and torch"
    ):
        namespace(np.ones(1), torch.ones(1), what="`a` and `b`")


def test_mixed_devices_are_refused():
    here = array_api_strict.asarray([1.0])
    there = array_api_strict.asarray([1.0], device=array_api_strict.Device("device1"))
    with pytest.raises(cr.InputTypeError, match="predictions and labels must be on one device"):
        namespace(here, there)
    assert device(there) == array_api_strict.Device("device1")


def test_beside_converts_lists_and_refuses_foreign_arrays(library):
    reference = library.asarray([0.5])
    assert library.owns(beside(np.array([1, 2]), [1, 2], reference))
    if library.name == "numpy":
        return
    foreign = np.array([1, 2])
    with pytest.raises(cr.InputTypeError, match="one array library"):
        beside(foreign, foreign, reference)


def test_read_only_memory_can_become_a_tensor():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    fixed = np.ones(2)
    fixed.setflags(write=False)
    tensor = like(fixed, torch.zeros(1))
    tensor += 1  # writing to the tensor must not reach the read-only array
    assert fixed.tolist() == [1.0, 1.0]


def test_leaving_a_graph_and_bfloat16():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    assert to_host(torch.ones(2, requires_grad=True)).tolist() == [1.0, 1.0]
    # 1/3 in bfloat16 is 171 / 512
    assert to_host(torch.tensor([1 / 3], dtype=torch.bfloat16)).tolist() == [171 / 512]
