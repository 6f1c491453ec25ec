"""tools/assemble_public_data.py on small originals in the formats of the projects it names."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from golden.shipped import arrays

ROOT = Path(__file__).resolve().parents[2]
STORED = [0, 2, 1]  # entailment, contradiction, neutral, as the project stores them


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "assemble_public_data", ROOT / "tools" / "assemble_public_data.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, spec.name, module)  # dataclasses look their module up
        spec.loader.exec_module(module)
        yield module


@pytest.fixture
def originals(tmp_path: Path, tool: ModuleType) -> Path:
    """Four instances of everything: digits for CIFAR-10, remainders for SNLI, a surface for the UCI sets."""
    folder, digits, remainders = tmp_path / "originals", arrays("digits"), arrays("remainders")

    def path(project: str, file: str) -> Path:
        found = folder / project / file
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    for model in ("cnn_preds_cifar10", "ddu_preds_cifar10", "de_cifar10_averaged_preds"):
        np.save(path(tool.C25, f"CIFAR10/{model}.npy"), digits["mean"][:4].astype(float))
    np.save(path(tool.C25, "CIFAR10/lbbnn_cifar10_bma_averaged_preds.npy"), digits["mean"][0])  # one row
    np.save(path(tool.ERRORS, tool.LABELS), digits["labels"][:4])
    np.save(path(tool.HUMANS, tool.COUNTS), digits["counts"][:4].astype(np.float32))
    for part, front in (("dev", ""), ("test", "test_")):
        for member, name in enumerate(tool.MEMBERS):
            rows = [
                {
                    "uid": f"{part}{row}",
                    "true": STORED[remainders[f"{front}labels"][row]],
                    "logits": remainders[f"{front}logits"][row, member, STORED].tolist(),
                }
                for row in range(4)
            ]
            rows = rows[::-1] if member == 3 else rows  # instances are found by their name, not their place
            text = "".join(json.dumps(row) + "\n" for row in rows)
            path(tool.DISAGREEMENT, f"data/predictions/SNLI_{part}_{name}.json").write_text(text)
    rated = [
        {"uid": uid, "label_count": count, "old_labels": ["neutral", "neutral", "contradiction"]}
        for uid, count in (("test1", [1, 2, 97]), ("dev2", [60, 30, 10]), ("elsewhere", [100, 0, 0]))
    ]
    path(tool.DISAGREEMENT, tool.RATED).write_text("".join(json.dumps(one) + "\n" for one in rated))
    surface = arrays("surface")
    held = {"data": surface["data"], "index_features": surface["features"], "index_target": [6]}
    for split in range(tool.N_SPLITS):
        held |= {f"index_train_{split}": surface["train_0"], f"index_test_{split}": surface["test_0"]}
    for name, values in held.items():
        np.savetxt(path(tool.DROPOUT, f"UCI_Datasets/yacht/data/{name}.txt"), values)
    return folder


def test_what_is_written_is_what_tests_and_studies_read(
    tool: ModuleType, originals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, digits, remainders = tmp_path / "data", arrays("digits"), arrays("remainders")
    assert tool.main([str(originals), str(folder)]) == 1
    np.testing.assert_array_equal(np.load(folder / "cifar10" / "ddu.npy"), digits["mean"][:4])
    np.testing.assert_array_equal(np.load(folder / "cifar10" / "labels.npy"), digits["labels"][:4])
    counts = np.load(folder / "cifar10" / "cifar10h_counts.npy")
    np.testing.assert_array_equal(counts, digits["counts"][:4])
    assert counts.dtype == np.int64
    with np.load(folder / "snli" / "snli_test_ensemble.npz") as held:
        np.testing.assert_array_equal(held["logits"], remainders["test_logits"][:4])
        np.testing.assert_array_equal(held["labels"], remainders["test_labels"][:4])
    with np.load(folder / "snli" / "chaosnli_snli.npz") as held:
        assert held["uid"].tolist() == ["dev2", "test1"]  # in the order of the predictions
        assert held["counts"].tolist() == [[60, 30, 10], [1, 2, 97]]
        assert held["orig_counts"].tolist() == [[0, 2, 1], [0, 2, 1]]
        np.testing.assert_array_equal(held["logits"][0], remainders["logits"][2])
    with np.load(folder / "uci" / "yacht" / "data.npz") as held:
        np.testing.assert_allclose(held["data"], arrays("surface")["data"])
        assert held["data"][:, held["features"]].shape == (308, 6)
        assert int(held["target"]) == 6
        assert {f"{part}_{split}" for part in ("train", "test") for split in range(20)} <= set(held.files)
    said = capsys.readouterr().out
    assert "cifar10/ddu.npy: written, but the array is not what the tests' numbers belong to" in said
    assert "lbbnn_cifar10_bma_averaged_preds.npy must have the shape (None, 10); it has (10,)" in said
    assert not (folder / "cifar10" / "lbbnn_avg.npy").exists()
    assert "UCI_Datasets/kin8nm/data/data.txt is missing (43 in all)" in said
    assert "Write the file yourself" in said  # focal sets


def test_members_of_other_instances_are_refused(tool: ModuleType, originals: Path, tmp_path: Path) -> None:
    path = originals / tool.DISAGREEMENT / "data" / "predictions" / f"SNLI_dev_{tool.MEMBERS[1]}.json"
    path.write_text(path.read_text().replace('"dev0"', '"dev9"'))
    problems = tool.assemble(originals, tmp_path / "data")
    assert any("SNLI_dev are not for the same instances" in problem for problem in problems)
    assert not (tmp_path / "data" / "snli" / "snli_dev_ensemble.npz").exists()


def test_every_file_of_the_layout_is_explained(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main([]) == 0
    said = capsys.readouterr().out
    for target in [source.target for source in tool.SOURCES] + ["cifar10/focal_sets.json"]:
        assert target in said
    assert tool.main(["one"]) == 2
    assert tool.main(["/nowhere/at/all", "there"]) == 2
    listed = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    for source in tool.SOURCES:
        name = source.target.rpartition("/")[2]
        assert name in listed, name
