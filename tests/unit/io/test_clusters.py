"""Which rows belong together, in files: a role of its own, or a column that is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr

PROBS = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
LABELS = np.arange(60) % 3
PATIENTS = np.array([f"p{row // 5}" for row in range(60)])


@pytest.mark.parametrize("form", ["npz", "csv", "tsv"])
def test_clusters_are_saved_and_read(form: str, tmp_path: Path) -> None:
    path = cr.save(tmp_path / f"a.{form}", cr.Point(PROBS), LABELS, clusters=PATIENTS)
    data = cr.load(path)
    assert data.clusters.tolist() == PATIENTS.tolist()
    assert cr.calibration_test(data, rng=0).n_clusters == 12
    assert cr.brier(path).n_clusters == 12


def test_a_column_is_named(tmp_path: Path) -> None:
    lines = ["case,patient,y,p_0,p_1,p_2"]
    lines += [f"c{i},{PATIENTS[i]},{LABELS[i]},{','.join(map(str, PROBS[i]))}" for i in range(60)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    assert cr.load(path).clusters is None
    assert cr.load(path, clusters="patient").clusters.tolist() == PATIENTS.tolist()
    with pytest.raises(cr.InputError, match="Did you mean 'patient'"):
        cr.load(path, clusters="patients")
    with pytest.raises(cr.InputTypeError, match="must name a column"):
        cr.load(path, clusters=PATIENTS)  # type: ignore[arg-type]


def test_an_array_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, probs=PROBS, y=LABELS, patient=PATIENTS, id=np.arange(60) // 2)
    assert cr.load(path, clusters="patient").clusters.tolist() == PATIENTS.tolist()
    both = cr.load(path, clusters="id")  # ids that repeat
    assert both.clusters.tolist() == both.ids.tolist()
    with pytest.raises(cr.InputError, match="there is no 'patients'"):
        cr.load(path, clusters="patients")


def test_rows_that_are_left_out_take_their_cluster_along(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, probs=PROBS, y=np.where(np.arange(60) < 10, 255, LABELS), cluster=PATIENTS)
    data = cr.load(path, ignore_label=255)
    assert data.clusters.tolist() == PATIENTS[10:].tolist()


def test_chunks_may_split_a_cluster(tmp_path: Path) -> None:
    whole = cr.calibration_test(PROBS, LABELS, statistics=["brier", "skce"], clusters=PATIENTS, rng=3)
    cut = cr.scan(PROBS, LABELS, clusters=PATIENTS, chunk_rows=7)
    assert cr.calibration_test(cut, statistics=["brier", "skce"], rng=3).pvalue == whole.pvalue
    assert cr.brier(cut).stderr == pytest.approx(cr.brier(PROBS, LABELS, clusters=PATIENTS).stderr)
    timed = cr.brier(cr.scan(PROBS, LABELS, chunk_rows=7), blocks=5)
    assert timed.stderr == pytest.approx(cr.brier(PROBS, LABELS, blocks=5).stderr)
    for part in (0, 1):
        rows = slice(32 * part, 32 * part + 32)
        cr.save(tmp_path / f"{part}.npz", cr.Point(PROBS[rows]), LABELS[rows], clusters=PATIENTS[rows])
    files = cr.scan(str(tmp_path / "*.npz"))
    assert cr.brier(files).stderr == pytest.approx(cr.brier(PROBS, LABELS, clusters=PATIENTS).stderr)
    with pytest.raises(cr.InputError, match="come with the chunks"):
        cr.brier(cut, clusters=PATIENTS)


def test_attributes_may_stand_in_the_file_of_the_labels(tmp_path) -> None:
    """They are joined by the same ids as the labels; the file of the predictions comes first."""
    (tmp_path / "pred.csv").write_text("id,p_0,p_1,sex\na,0.7,0.3,F\nb,0.2,0.8,M\nc,0.4,0.6,F\n")
    (tmp_path / "labels.csv").write_text("id,label,age,sex\nc,1,62,X\na,0,31,X\nb,1,45,X\n")
    data = cr.load(tmp_path / "pred.csv", labels=tmp_path / "labels.csv", groups=["age", "sex"])
    assert data.labels.tolist() == [0, 1, 1]
    assert list(data.groups) == ["age", "sex"]
    assert data.groups["age"].tolist() == [31, 45, 62]
    assert data.groups["sex"].tolist() == ["F", "M", "F"]
    with pytest.raises(cr.InputError, match="or of that of the labels; there is no 'ward'"):
        cr.load(tmp_path / "pred.csv", labels=tmp_path / "labels.csv", groups=["ward"])
