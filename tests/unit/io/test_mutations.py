"""Mutated files: a CrediblyError, or a dataset that stands up to a second validation. Never anything else."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import credibly as cr
from credibly import io
from credibly.io.saving import content_of
from credibly.predictions import as_labels
from written_files import written

PROBS = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [1.0, 0.0, 0.0], [0.25, 0.5, 0.25]])
MEMBERS = np.stack([PROBS, PROBS[::-1]], axis=1)
LOWER = PROBS / 2
BESIDE: dict[str, Any] = {
    "features": np.arange(8.0).reshape(4, 2),
    "groups": ["a", "b", "a", "b"],
    "ids": [3, 1, 4, 5],
}
CLASSES = ["cat", "dog", "cow"]
EXAMPLES = 100  # per seed file group; four groups below


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    """Good files of every core format, whose bytes are then changed."""
    folder = tmp_path_factory.mktemp("seeds")
    predictions = {
        "point": cr.Point(PROBS),
        "ensemble": cr.Ensemble(MEMBERS),
        "dirichlet": cr.Dirichlet(PROBS + 1),
        "belief": cr.Belief(PROBS, [{0}, {1, 2}, {0, 1, 2}]),
        "intervals": cr.Intervals(LOWER, LOWER + 0.5),
        "gaussian": cr.Gaussian(PROBS[:, 0], PROBS[:, 0] + 1),
        "quantiles": cr.Quantiles(np.sort(PROBS, axis=1), [0.1, 0.5, 0.9]),
    }
    found: dict[str, list[bytes]] = {}
    for extension in (".npz", ".json", ".csv"):
        for name, prediction in predictions.items():
            if extension == ".csv" and name == "belief":
                continue
            classes = CLASSES if hasattr(prediction, "n_classes") else None
            labels = [0, 1, 0, 2] if classes else [0.5, 1.5, -1.0, 2.0]
            meta = None if extension == ".csv" else {"a": [1, {"b": 2}]}
            path = written(
                folder / f"{name}{extension}", prediction, labels, classes=classes, meta=meta, **BESIDE
            )
            found.setdefault(extension, []).append(path.read_bytes())
    uncompressed = folder / "plain.npz"
    np.savez(uncompressed, probs=PROBS, y=np.array([0, 1, 0, 2]), classes=np.array(CLASSES))
    found[".npz"].append(uncompressed.read_bytes())
    for name, array in {"a": PROBS, "b": MEMBERS, "c": PROBS.astype(np.float32), "d": PROBS.T}.items():
        np.save(folder / f"{name}.npy", array)
        found.setdefault(".npy", []).append((folder / f"{name}.npy").read_bytes())
    found[".csv"].append(b"0.5 0.5\n0.25 0.75\n1 0\n")
    found[".csv"].append(b"id,class,p,label\n7,cat,0.25,dog\n7,dog,0.75,dog\n9,dog,0.5,cat\n9,cat,0.5,cat\n")
    return found


@st.composite
def mutations(draw: st.DrawFn, whole: bytes) -> bytes:
    """Overwrite, insert, delete, repeat or cut: one to four times."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        length = draw(st.integers(1, 16))
        match draw(
            st.sampled_from(["overwrite", "flip", "insert", "delete", "repeat", "cut", "garbage", "digit"])
        ):
            case "overwrite":
                data[at : at + length] = draw(st.binary(min_size=length, max_size=length))
            case "flip" if data:
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "insert":
                data[at:at] = draw(st.binary(min_size=1, max_size=length))
            case "delete":
                del data[at : at + length]
            case "repeat":
                data[at:at] = data[at : at + 50 * length]
            case "cut":
                del data[at:]
            case "garbage" if draw(st.integers(0, 9)) == 0:
                data = bytearray(draw(st.binary(max_size=200)))
            case "digit":
                pool = b'0123456789.,-+eE\n"[]{}: \tnaif'
                data[at : at + 1] = bytes([draw(st.sampled_from(list(pool)))])
            case _:
                pass
    return bytes(data)


def validate_again(data: cr.Dataset) -> None:
    """Everything a dataset promises, asked once more of what came out."""
    predictions = data.predictions
    content = content_of(predictions)
    assert all(np.isfinite(array).all() for array in content.rows.values())
    assert all(len(array) == len(predictions) == len(data) for array in content.rows.values())
    match predictions:
        case cr.Point():
            cr.Point(predictions.probs)
        case cr.Ensemble():
            cr.Ensemble(predictions.probs, weights=content.arrays.get("member_weights"), member_axis=1)
        case cr.Dirichlet():
            cr.Dirichlet(predictions.alpha, member_axis=1 if predictions.alpha.ndim == 3 else None)
        case cr.Belief():
            cr.Belief(predictions.masses, predictions.focal_sets, predictions.n_classes)
        case cr.Intervals():
            cr.Intervals(predictions.lower, predictions.upper)
        case cr.Gaussian():
            cr.Gaussian(predictions.mean, predictions.std)
        case cr.Samples():
            cr.Samples(predictions.values)
        case cr.Quantiles():
            cr.Quantiles(predictions.values, predictions.levels)
        case cr.LabelCounts():
            cr.LabelCounts(predictions.counts)
        case _:
            raise AssertionError(type(predictions))
    if data.labels is not None and not isinstance(predictions, cr.LabelCounts):
        as_labels(predictions, data.labels)
    for beside in (data.features, data.groups, data.ids):
        assert beside is None or len(beside) == len(predictions)
    if data.classes is not None:
        assert len(set(data.classes)) == len(data.classes) == predictions.n_classes
    assert all(isinstance(note, str) for note in data.notes)


def open_both_ways(path: Path) -> str:
    """Load and inspect; return how it ended. Any other exception fails the test."""
    outcome = "refused"
    with contextlib.suppress(cr.CrediblyError):
        validate_again(cr.load(path))
        outcome = "read"
    with contextlib.suppress(cr.CrediblyError):
        validate_again(cr.load(path, drop_invalid=True))
    try:
        inspection = io.inspect(path)
    except cr.FileError:
        assert outcome == "refused"
    else:
        assert (outcome == "read") == (not inspection.problems)
        inspection.to_dict()
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize("extension", [".npz", ".npy", ".csv", ".json"])
def test_mutated_files(extension: str, seeds: dict[str, list[bytes]], tmp_path: Path) -> None:
    path = tmp_path / f"mutated{extension}"
    outcomes = {"read": 0, "refused": 0}

    @settings(
        max_examples=max(EXAMPLES, settings().max_examples),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(seeds[extension]).flatmap(mutations))
    def run(data: bytes) -> None:
        path.write_bytes(data)
        outcomes[open_both_ways(path)] += 1

    run()
    assert sum(outcomes.values()) >= EXAMPLES
    assert outcomes["refused"] > EXAMPLES / 4  # the mutations bite


@pytest.mark.parametrize("extension", [".npz", ".npy", ".csv", ".json"])
def test_every_truncation(extension: str, seeds: dict[str, list[bytes]], tmp_path: Path) -> None:
    path = tmp_path / f"cut{extension}"
    whole = seeds[extension][0]
    for length in range(0, len(whole), max(1, len(whole) // 100)):
        path.write_bytes(whole[:length])
        outcome = open_both_ways(path)
        assert extension == ".csv" or outcome == "refused"  # half a table can be a table


def test_unchanged_seeds_are_read(seeds: dict[str, list[bytes]], tmp_path: Path) -> None:
    for extension, files in seeds.items():
        for data in files:
            (tmp_path / f"seed{extension}").write_bytes(data)
            transposed = extension == ".npy" and data == seeds[".npy"][3]
            assert open_both_ways(tmp_path / f"seed{extension}") == ("refused" if transposed else "read")
