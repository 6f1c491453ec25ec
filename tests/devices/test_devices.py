"""Everything public runs where its arrays are: the numbers of NumPy, and arrays that come back on the device.

Three places: the second device of the strict array library, whose arrays refuse to meet those of the first;
torch on the host with all that is written for accelerators switched on; CUDA where there is one.
"""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import Any

import array_api_compat
import array_api_strict
import numpy as np
import pytest

import credibly as cr
from credibly._arrays import namespace as namespaces
from credibly.evaluation import set_tests
from devices.cases import CASES, LABELS, LEARNED, LEAVES, MEMBERS, ensemble, facts
from libraries import Library, read
from surface import public_objects

torch = pytest.importorskip("torch", reason="needs the extra torch")
# Hundreds of short ones: together they take as long as all of the statistics' own tests.
pytestmark = pytest.mark.slow

CUDA = torch.cuda.is_available()
PLACES = ("second_device", "torch_as_device", *(("cuda",) if CUDA else ()))

# What takes no arrays of predictions, or only files, settings and results.
ELSEWHERE = {
    "agreement": "annotations, which are counted on the host",
    "as_predictions": "tests/unit/predictions",
    "average": "monitors, which hold numbers",
    "from_posterior_predictive": "reads xarray, which is NumPy",
    "load": "reads files",
    "leaving_raters_out": "annotations, which are counted on the host",
    "memory_limit": "a setting",
    "power_study": "draws its own data",
    "rater_test": "annotations, which are counted on the host",
    "rater_statistic": "a setting of decompose_disagreement",
    "registered": "a list",
    "rights": "a table",
    "save": "writes files",
    "statistic": "`share` and `shares` among the cases",
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Where arrays are made."""
    if request.param == "second_device":
        return Library(request.param, array_api_strict, array_api_strict.Device("device1"))
    if request.param == "cuda":
        return Library(request.param, torch, torch.device("cuda", torch.cuda.current_device()))
    monkeypatch.setattr(namespaces, "_HOST_DEVICES", frozenset())
    return Library(request.param, torch)


def agree(values: Any, other: Any, name: str, tolerance: float) -> None:
    """Raise unless two facts are the same up to rounding."""
    if array_api_compat.is_array_api_obj(other):
        values, other = np.asarray(read(values)), np.asarray(read(other))
        assert values.shape == other.shape, name
        if other.dtype.kind in "fc":
            np.testing.assert_allclose(values, other, rtol=tolerance, atol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(values, other, err_msg=name)
    elif isinstance(other, float):
        # p-values are counts over replicates: one count more or less is far beyond rounding
        close = 1e-12 if "pvalue" in name else tolerance
        assert values == pytest.approx(other, rel=close, abs=close, nan_ok=True), name
    elif isinstance(other, str):
        assert isinstance(values, str), name  # notes show rounded numbers
    else:
        assert values == other, name


@functools.cache
def on_the_host(name: str) -> Any:
    """Return what NumPy gives, which every place is compared with."""
    return CASES[name](np.asarray)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_the_same_there(name: str, place: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    host = on_the_host
    if (name, place.name) == ("evaluate", "second_device"):
        # cases of `weights_test` learn weights there; every replicate of an evaluation would learn its own
        monkeypatch.setattr(set_tests, "MOST_REFITS", 0)
        host = on_the_host.__wrapped__
    here = host(name)
    there = CASES[name](place.asarray)
    if array_api_compat.is_array_api_obj(here):
        assert place.owns(there), f"came back as {type(there)} on {getattr(there, 'device', 'no device')}"
    own, other = dict(facts(there)), dict(facts(here))
    assert own.keys() == other.keys()
    assert other, "nothing was compared"
    for path, value in other.items():
        # where a search for weights stops depends on the last digits of its slopes
        agree(own[path], value, path, 1e-3 if name.startswith(LEARNED) else 1e-11)


@pytest.mark.skipif(CUDA, reason="CUDA is among the places")
def test_cuda() -> None:
    pytest.skip("needs a CUDA device: `test_the_same_there` runs on it where there is one")


def test_nothing_public_is_forgotten() -> None:
    covered = {name.split()[0] for name in CASES} | set(ELSEWHERE)
    taking = {
        one.__name__ if inspect.isfunction(one) else one.name
        for _, one in public_objects(cr)
        if inspect.isfunction(one) or isinstance(one, cr.statistics.Statistic)
    }
    assert taking <= covered, sorted(taking - covered)
    methods = {
        one.__name__
        for _, one in public_objects(cr)
        if inspect.isclass(one)
        and issubclass(one, cr.recalibrate.Recalibration)
        and not inspect.isabstract(one)
    }
    assert methods <= covered, sorted(methods - covered)


ROWS = 120 * len(LABELS)  # more numbers than any rule or replicate sends: 1000 rows of 3 classes, 40 curves
QUICK = [
    name
    for name in CASES
    if not name.startswith(("evaluate", "compare", "inflate", "recalibration_report", "CredalRecalibration"))
    and not name.startswith(("scan", "RunningStatistic", "error_over_weights"))
    and not name.startswith(("calibration_test", "weights_test", "predictive_check"))
    and not name.endswith("weighted")
]
TESTED = [
    "accuracy",
    "confidence_ece",
    "classwise_ece",
    "hosmer_lemeshow",
    "crps",
    "quantile_calibration_error",
]


def _largest_move(name: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the size of the largest array that leaves a device, with many rows of predictions and labels."""
    monkeypatch.setattr(namespaces, "_HOST_DEVICES", frozenset())
    moved = [0]
    leave = torch.Tensor.cpu

    def watched(tensor: Any, *arguments: Any, **settings: Any) -> Any:
        moved.append(tensor.numel())
        return leave(tensor, *arguments, **settings)

    monkeypatch.setattr(torch.Tensor, "cpu", watched)
    many = np.tile(np.arange(len(LABELS)), ROWS // len(LABELS))
    CASES[name](lambda array: torch.tensor(np.asarray(array)[many]))
    return max(moved)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [*QUICK, *(f"calibration_test {name}" for name in TESTED)])
def test_rows_stay_on_the_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums may come to the host; a number per instance only where it is listed, with the reason."""
    leaves = _largest_move(name, monkeypatch) >= ROWS
    assert leaves == (name in LEAVES)


def test_the_reasons_are_documented() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs" / "scale.md").read_text().split())
    assert [reason for reason in dict.fromkeys(LEAVES.values()) if reason not in page] == []


DETERMINED = [
    "log_loss",
    "classwise_ece weighted",
    "hosmer_lemeshow",
    "skce",
    "kde_ce weighted",
    "uncertainty hull",
]


@pytest.mark.parametrize("place", PLACES[1:], indirect=True)  # the strict library has NumPy's one order
@pytest.mark.parametrize(
    "name",
    [*DETERMINED, "calibration_test omnibus", "weights_test boundary", "evaluate counts", "VectorScaling"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_same_bits_in_every_run(name: str, place: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch refuses whatever has no fixed order, so that it runs is the proof."""
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # torch insists on it for products on CUDA
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("error")
    try:
        first, second = (dict(facts(CASES[name](place.asarray))) for _ in range(2))
    finally:
        torch.set_deterministic_debug_mode(before)
    assert first.keys() == second.keys()
    for path, value in first.items():
        if array_api_compat.is_array_api_obj(value):
            np.testing.assert_array_equal(read(value), read(second[path]), err_msg=path)
        else:
            assert value == second[path] or value != value, path


def test_labels_go_where_the_predictions_are(place: Library) -> None:
    with_own = cr.brier(ensemble(place.asarray), place.asarray(LABELS))
    assert float(cr.brier(ensemble(place.asarray), np.asarray(LABELS))) == float(with_own)
    assert place.owns(cr.Ensemble(place.asarray(MEMBERS)).mean().probs)
