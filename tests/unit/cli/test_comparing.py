"""`credibly compare` for programs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from unit.cli.runs import Command, World

FEW = ("--n-resamples", 100)


def test_one_row_per_trade_off_and_model(
    credibly: Command, world: World, calibrated: Path, members: Path
) -> None:
    ran = credibly("compare", calibrated, members, "--tradeoff", 0, "--tradeoff", "inf", *FEW)
    assert ran.code == 0
    ranking = cr.rank_models(
        {"calibrated": world.calibrated, "members": world.members}, world.labels, n_resamples=100
    )
    expected = [(0.0, name) for name in ranking.order(0.0)]
    expected += [(float("inf"), name) for name in ranking.order(float("inf"))]
    assert [(float(row["criterion"]), row["model"]) for row in ran.rows] == expected
    first = ranking.at(0.0)
    for at, row in enumerate(ran.rows[:3]):
        assert float(row["score"]) == pytest.approx(first.scores[at])
        assert float(row["interval_low"]) == pytest.approx(first.intervals[at, 0])
        assert int(row["place_worst"]) == first.worst_ranks[at]
    assert "has the smallest mean score" in ran.err


def test_json_is_the_comparison(credibly: Command, calibrated: Path, members: Path) -> None:
    ran = credibly("compare", calibrated, members, "--json", "--measure", "credal_size", *FEW)
    record = json.loads(ran.out)
    assert record["type"] == "Comparison"
    assert record["report"] is None
    assert record["ranking"]["settings"]["measure"] == "credal_size"
    assert record["source"]["command"].startswith("credibly compare ")
    again = record["source"]["command"].split()[1:]
    assert json.loads(credibly(*again, "--json").out)["ranking"] == record["ranking"]


def test_quiet_prints_the_table_only(credibly: Command, calibrated: Path, members: Path) -> None:
    assert credibly("compare", calibrated, members, "--quiet", *FEW).err == ""


@pytest.mark.slow
def test_the_report_is_written_over_reports_only(
    credibly: Command, calibrated: Path, members: Path, tmp_path: Path
) -> None:
    out = tmp_path / "compared.html"
    assert credibly("compare", calibrated, members, "--out", out, *FEW).code == 0
    assert "2 models compared" in out.read_text()
    assert f"credibly compare {calibrated}" in out.read_text()
    before = out.read_text()
    ran = credibly("compare", calibrated, members, "--out", out, *FEW)
    assert (ran.code, out.read_text()) == (0, before)  # a report that was written here
    out.write_text("mine")
    ran = credibly("compare", calibrated, members, "--out", out, *FEW)
    assert (ran.code, out.read_text()) == (2, "mine")
    assert "--force" in ran.err
    assert credibly("compare", calibrated, members, "--out", out, "--force", *FEW).code == 0
    ran = credibly("compare", calibrated, members, "--out", members, "--force", *FEW)
    assert ran.code == 2
    assert "must not be a file that is read" in ran.err


def test_labels_beside_the_predictions(credibly: Command, world: World, tmp_path: Path) -> None:
    for name, probs in (("one", world.calibrated), ("two", world.overconfident)):
        np.save(tmp_path / f"{name}.npy", probs)
    np.save(tmp_path / "y.npy", world.labels)
    files = (tmp_path / "one.npy", tmp_path / "two.npy")
    assert credibly("compare", *files, "--labels", tmp_path / "y.npy", *FEW).code == 0
    ran = credibly("compare", *files, *FEW)
    assert (ran.code, ran.out) == (2, "")
    assert "--labels FILE" in ran.err


def test_one_file_may_hold_the_labels_for_all(
    credibly: Command, world: World, calibrated: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.npz"
    np.savez(bare, probs=world.overconfident)
    assert credibly("compare", bare, calibrated, *FEW).code == 0


def test_files_that_do_not_belong_together(
    credibly: Command, world: World, calibrated: Path, tmp_path: Path
) -> None:
    other, short = tmp_path / "other.npz", tmp_path / "short.npz"
    np.savez(other, probs=world.calibrated, y=(world.labels + 1) % 3)
    np.savez(short, probs=world.calibrated[:50], y=world.labels[:50])
    for file in (other, short):
        ran = credibly("compare", calibrated, file, *FEW)
        assert ran.code == 2
        assert "must have the same labels" in ran.err
    ran = credibly("compare", calibrated, calibrated, *FEW)
    assert (ran.code, ran.out) == (2, "")
    assert "given twice" in ran.err


def test_equal_names_in_two_folders_are_told_apart(
    credibly: Command, world: World, calibrated: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sharp"
    folder.mkdir()
    same = folder / calibrated.name
    np.savez(same, probs=world.overconfident, y=world.labels)
    ran = credibly("compare", calibrated, same, "--tradeoff", 1, *FEW)
    assert {row["model"] for row in ran.rows} == {str(calibrated), str(same)}


def test_dropped_rows_must_agree(credibly: Command, world: World, calibrated: Path, tmp_path: Path) -> None:
    broken = world.overconfident.copy()
    broken[7] *= 3.0
    path = tmp_path / "broken.npz"
    np.savez(path, probs=broken, y=world.labels)
    assert credibly("compare", calibrated, path, *FEW).code == 2
    ran = credibly("compare", calibrated, path, "--drop-invalid", *FEW)
    assert ran.code == 2
    assert "must keep the same rows" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tradeoff", "-1"), "`--tradeoff` must be a number of at least 0"),
        (("--measure", "smets"), "`--measure smets` cannot be added to a distance"),
        (("--measure", "size"), "must be one of"),
        (("--n-resamples", "5"), "at least 100"),
    ],
)
def test_bad_settings(credibly: Command, calibrated: Path, words: tuple[str, ...], said: str) -> None:
    ran = credibly("compare", calibrated, *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_files_with_other_classes(credibly: Command, world: World, calibrated: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.npz"
    np.savez(path, probs=np.full((len(world.labels), 4), 0.25), y=world.labels)
    ran = credibly("compare", calibrated, path, *FEW)
    assert (ran.code, ran.out) == (2, "")
    assert "the models must predict the same instances and classes" in ran.err


def test_real_values_have_no_trade_off(credibly: Command, tmp_path: Path) -> None:
    path = tmp_path / "gaussian.npz"
    np.savez(path, mean=np.zeros(5), std=np.ones(5), y=np.zeros(5))
    assert credibly("compare", path, *FEW).code == 0
    ran = credibly("compare", path, *FEW, "--tradeoff", 3)
    assert ran.code == 2
    assert "the unified score of class predictions" in ran.err


def test_one_seed_gives_the_same_bytes(credibly: Command, calibrated: Path, members: Path) -> None:
    words = ("compare", calibrated, members, "--json", "--n-resamples", 100, "--seed")
    first, again, other = (credibly(*words, seed).out for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize("files", [("named.csv", "plain.npz"), ("plain.npz", "named.csv")])
def test_a_file_with_names_of_classes_is_compared_with_one_without(
    files: tuple[str, str], credibly: Command, world: World, tmp_path: Path
) -> None:
    probs, labels = world.calibrated, world.labels
    np.savez(tmp_path / "plain.npz", probs=probs, y=labels)
    rows = (",".join(map(repr, row)) for row in probs.tolist())
    names = [
        "p_cat,p_dog,p_owl,label",
        *(f"{row},{['cat', 'dog', 'owl'][y]}" for row, y in zip(rows, labels, strict=True)),
    ]
    (tmp_path / "named.csv").write_text("\n".join(names) + "\n")
    ran = credibly("compare", *(tmp_path / file for file in files), "--statistic", "brier", *FEW)
    assert ran.code == 0, ran.err
    assert ran.rows[0]["score"] == ran.rows[1]["score"]
