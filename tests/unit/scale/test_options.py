"""Options of `load` hold for files that are read in chunks, and models in chunks are joined by their ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr

N = 60
RNG = np.random.default_rng(11)
PROBS = RNG.dirichlet(np.full(3, 0.4), size=N)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
IDS = np.array([f"img_{i:02d}" for i in range(N)])
PARTS = np.array_split(np.arange(N), 3)


def written(folder: Path, **columns: np.ndarray) -> str:
    """Three csv files, one row per instance."""
    for number, rows in enumerate(PARTS):
        lines = [",".join(columns)] + [",".join(str(column[i]) for column in columns.values()) for i in rows]
        (folder / f"part_{number}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / "part_*.csv")


def columns_of(probs: np.ndarray) -> dict[str, np.ndarray]:
    return {f"p_{j}": probs[:, j] for j in range(3)}


def test_an_ignored_label_is_left_out_of_every_chunk(tmp_path: Path) -> None:
    labels = np.where(np.arange(N) % 10 == 0, 255, LABELS)
    rows = cr.scan(written(tmp_path, **columns_of(PROBS), label=labels), ignore_label=255)
    kept = labels != 255
    assert rows.n == kept.sum() == 54
    assert float(cr.log_loss(rows)) == pytest.approx(float(cr.log_loss(PROBS[kept], LABELS[kept])))
    assert any("6 rows of 3 files were left out" in note for note in rows.notes)


def test_rounded_rows_are_normalised_in_every_chunk(tmp_path: Path) -> None:
    rounded = np.round(PROBS, 2)
    path = written(tmp_path, **columns_of(rounded), label=LABELS)
    with pytest.raises(cr.CrediblyError, match="rounded to 2 decimals; `normalise=True`"):
        cr.brier(cr.scan(path))
    exact = rounded / rounded.sum(axis=1, keepdims=True)
    estimate = cr.brier(cr.scan(path, normalise=True))
    assert float(estimate) == pytest.approx(float(cr.brier(exact, LABELS)))


def test_columns_are_chosen_in_every_chunk(tmp_path: Path) -> None:
    settings = {"age": RNG.random(N), **columns_of(PROBS), "label": LABELS}
    rows = cr.scan(written(tmp_path, **settings), columns=["p_0", "p_1", "p_2"])
    assert float(cr.accuracy(rows)) == float(cr.accuracy(PROBS, LABELS))
    rows = cr.scan(written(tmp_path, **settings), exclude=["age"])
    assert float(cr.accuracy(rows)) == float(cr.accuracy(PROBS, LABELS))


def test_options_of_files_are_refused_for_arrays() -> None:
    with pytest.raises(cr.InputError, match="`normalise` applies only to files"):
        cr.scan(PROBS, LABELS, normalise=True)


def test_models_in_chunks_are_joined_by_their_ids(tmp_path: Path) -> None:
    other = 0.7 * PROBS + 0.1
    order = np.concatenate([RNG.permutation(np.flatnonzero(c == LABELS)) for c in range(3)])
    first, second = tmp_path / "a", tmp_path / "b"
    for folder, probs, rows in ((first, PROBS, np.argsort(LABELS, kind="stable")), (second, other, order)):
        folder.mkdir()
        written(folder, **columns_of(probs[rows]), label=LABELS[rows], id=IDS[rows])
    models = {name: cr.scan(str(tmp_path / name / "part_*.csv")) for name in ("a", "b")}
    comparison = cr.compare(models, n_resamples=200)
    expected = cr.compare({"a": PROBS, "b": other}, LABELS, n_resamples=200)
    # paired by position the labels would agree as well, and the interval of the difference be much wider
    for name in ("log_loss", "accuracy"):
        np.testing.assert_allclose(
            comparison.standings[name].differences, expected.standings[name].differences, atol=1e-12
        )
        width = np.diff(comparison.standings[name].intervals[1])
        assert width == pytest.approx(np.diff(expected.standings[name].intervals[1]), rel=0.3)
    assert any(
        "joined with those of the first model by their ids" in note
        for note in comparison.warnings + comparison.notes
    )


def test_models_in_chunks_with_other_ids_are_refused(tmp_path: Path) -> None:
    for name, ids in (("a", IDS), ("b", np.char.add("x", IDS))):
        (tmp_path / name).mkdir()
        written(tmp_path / name, **columns_of(PROBS), label=LABELS, id=ids)
    models = {name: cr.scan(str(tmp_path / name / "part_*.csv")) for name in ("a", "b")}
    with pytest.raises(cr.InputError, match="0 are in both, 60 only with the predictions"):
        cr.compare(models, n_resamples=100)


def test_columns_of_the_files_are_clusters_and_groups(tmp_path: Path) -> None:
    sites = np.where(np.arange(N) % 3 == 0, "north", "south")
    files = written(tmp_path, **columns_of(PROBS), label=LABELS, site=sites, patient=np.arange(N) // 7)
    rows = cr.scan(files, groups=["site"], clusters="patient")  # chunks split the patients
    inside = cr.audit(
        PROBS, LABELS, groups={"site": sites}, clusters=np.arange(N) // 7, n_resamples=99, rng=0
    )
    audited = cr.audit(rows, n_resamples=99, rng=0)
    assert [(group.group, group.adjusted_pvalue) for group in audited.groups] == [
        (group.group, group.adjusted_pvalue) for group in inside.groups
    ]
