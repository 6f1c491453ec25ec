"""Text tables, wide and long, and tables in memory."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.io.column_names import field_of

WIDE = "p_0,p_1,label\n0.25,0.75,1\n0.5,0.5,0\n1,0,0\n"
PROBS = [[0.25, 0.75], [0.5, 0.5], [1, 0]]


def write(folder: Path, text: str, name: str = "table.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        (WIDE, "comma-separated text with a header, 3 rows of 3 columns"),
        (WIDE.replace(",", "\t"), "tab-separated"),
        (WIDE.replace(",", ";"), "semicolon-separated"),
        (WIDE.replace(",", "|"), "bar-separated"),
        (WIDE.replace(",", " "), "space-separated"),
        (WIDE.replace(",", "  ").replace("\n", " \n"), "space-separated"),
        (WIDE.replace("\n", "\r\n"), "comma-separated"),
        ("\ufeff" + WIDE, "comma-separated"),
        (WIDE.replace("0.5,0.5,0\n", "0.5,0.5,0\n\n"), "comma-separated"),
    ],
)
def test_delimiter_and_header_are_found_and_echoed(text: str, echo: str, tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, text))
    np.testing.assert_array_equal(data.predictions.probs, PROBS)
    assert data.labels.tolist() == [1, 0, 0]
    assert any(echo in note for note in data.notes)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("0.25 0.75 0 1\n0.5 0.25 0.25 0\n0 0 1 2\n", "last"),
        ("1 0.25 0.75 0\n0 0.5 0.25 0.25\n2 0 0 1\n", "first"),
    ],
)
def test_headerless_space_separated_csv_with_a_label(text: str, where: str, tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, text))
    assert data.labels.tolist() == [1, 0, 2]
    np.testing.assert_array_equal(data.predictions.probs, [[0.25, 0.75, 0], [0.5, 0.25, 0.25], [0, 0, 1]])
    assert any("space-separated text with no header" in note for note in data.notes)
    assert any(f"the {where} of 4 columns is read as the label" in note for note in data.notes)


def test_headerless_without_a_label(tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, "0.25 0.75\n0.5 0.5\n"), labels=write(tmp_path, "1\n0\n", "y.csv"))
    assert data.labels.tolist() == [1, 0]
    np.testing.assert_array_equal(data.predictions.probs, [[0.25, 0.75], [0.5, 0.5]])


def test_headerless_columns_of_something_else_are_explained(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match="like logits"):
        cr.load(write(tmp_path, "-1.5 2 0.1\n0.3 -4 1\n"))


def test_the_header_pandas_writes_for_bare_arrays(tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, ",0,1\n0,0.25,0.75\n1,0.5,0.5\n"))
    np.testing.assert_array_equal(data.predictions.probs, [[0.25, 0.75], [0.5, 0.5]])
    assert data.ids.tolist() == [0, 1]
    counted = cr.load(write(tmp_path, "0,1\n0.25,0.75\n0.5,0.5\n"))
    assert len(counted) == 2
    hard = cr.load(write(tmp_path, "0,1\n1,0\n"))
    assert len(hard) == 2  # whole numbers below: the first line is a prediction


def test_class_names_in_columns_and_labels(tmp_path: Path) -> None:
    prefixed = cr.load(write(tmp_path, "p_cat,p_dog,label\n0.25,0.75,dog\n0.5,0.5,cat\n"))
    bare = cr.load(write(tmp_path, "cat,dog,label\n0.25,0.75,dog\n0.5,0.5,cat\n"))
    for found in (prefixed, bare):
        assert found.classes == ("cat", "dog")
        assert found.labels.tolist() == [1, 0]
    assert any("columns cat, dog are read as one class each" in note for note in bare.notes)


def test_classes_numbered_from_one_are_matched_by_number(tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, "p_1,p_2,label\n0.25,0.75,2\n0.5,0.5,1\n"))
    assert data.classes == ("1", "2")
    assert data.labels.tolist() == [1, 0]
    assert any("numbered from 1" in note for note in data.notes)


def test_columns_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, "p_1,label,p_0\n0.75,1,0.25\n0.5,0,0.5\n"))
    np.testing.assert_array_equal(data.predictions.probs, [[0.25, 0.75], [0.5, 0.5]])
    ten = ",".join(f"p_{j}" for j in range(11))
    row = ",".join(str(j / 55) for j in range(11))  # 0 + 1 + ... + 10 = 55
    np.testing.assert_array_equal(
        cr.load(write(tmp_path, f"{ten}\n{row}\n")).predictions.probs, [[j / 55 for j in range(11)]]
    )
    with pytest.raises(cr.InputError, match="number 1 is missing"):
        cr.load(write(tmp_path, "p_0,p_2\n0.5,0.5\n"))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("logit_0,logit_1\n-1,2\n", cr.Point),
        ("alpha_0,alpha_1\n1.5,2\n", cr.Dirichlet),
        ("lower_a,lower_b,upper_b,upper_a\n0.1,0.2,0.9,0.8\n", cr.Intervals),
        ("mean,std,y\n0.5,1,0.25\n", cr.Gaussian),
        ("sample_0,sample_1,sample_2,y\n0.5,1,3,0.25\n", cr.Samples),
        ("q_0.9,q_0.1,y\n3,1,2\n", cr.Quantiles),
        ("count_0,count_1\n3,1\n", cr.LabelCounts),
    ],
)
def test_prefixes_tell_the_kind(text: str, made: type, tmp_path: Path) -> None:
    assert isinstance(cr.load(write(tmp_path, text)).predictions, made)


def test_columns_of_one_class_stay_together(tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, "lower_a,lower_b,upper_b,upper_a\n0.1,0.2,0.9,0.8\n"))
    np.testing.assert_array_equal(data.predictions.upper, [[0.8, 0.9]])
    quantiles = cr.load(write(tmp_path, "q_0.9,q_0.1,y\n3,1,2\n")).predictions
    np.testing.assert_array_equal(quantiles.values, [[1, 3]])
    np.testing.assert_array_equal(quantiles.levels, [0.1, 0.9])


def test_label_counts_beside_probabilities(tmp_path: Path) -> None:
    text = "p_cat,p_dog,count_dog,count_cat\n0.25,0.75,3,1\n"
    data = cr.load(write(tmp_path, text))
    np.testing.assert_array_equal(data.labels.counts, [[1, 3]])


LONG = "id,member,label,p_0,p_1\na,x,1,0.25,0.75\na,z,1,0.5,0.5\nb,x,0,1,0\nb,z,0,0.75,0.25\n"


def test_one_row_per_member(tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, LONG))
    np.testing.assert_array_equal(
        data.predictions.probs, [[[0.25, 0.75], [0.5, 0.5]], [[1, 0], [0.75, 0.25]]]
    )
    assert data.ids.tolist() == ["a", "b"]
    assert data.labels.tolist() == [1, 0]
    assert any("2 members: x, z" in note for note in data.notes)


def test_one_row_per_class(tmp_path: Path) -> None:
    text = "id,class,p,label\n7,cat,0.25,dog\n7,dog,0.75,dog\n9,dog,0.5,cat\n9,cat,0.5,cat\n"
    data = cr.load(write(tmp_path, text))
    assert data.classes == ("cat", "dog")
    np.testing.assert_array_equal(data.predictions.probs, [[0.25, 0.75], [0.5, 0.5]])
    assert data.labels.tolist() == [1, 0]


def test_one_row_per_member_and_class(tmp_path: Path) -> None:
    rows = [
        f"{i},{m},{c},{p}"
        for i, members in enumerate([[[0.25, 0.75], [0.5, 0.5]], [[1, 0], [0.75, 0.25]]])
        for m, probs in enumerate(members)
        for c, p in enumerate(probs)
    ]
    data = cr.load(write(tmp_path, "\n".join(["id,member,class,prob", *rows])))
    np.testing.assert_array_equal(
        data.predictions.probs, [[[0.25, 0.75], [0.5, 0.5]], [[1, 0], [0.75, 0.25]]]
    )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (LONG.replace("b,z,0,0.75,0.25\n", ""), "2 x 2 pairs in 3 rows"),
        (LONG.replace("b,z", "a,z"), "every pair exactly once"),
        (LONG.replace("b,z,0", "b,z,1"), "column 'label' must not differ.*instance 1"),
        (LONG.replace("id,", "row,"), "must have an `id` column"),
        ("id,class,p,q\n1,a,0.5,1\n", "one value column"),
        ("p_0,p_1,label,target\n0.5,0.5,1,1\n", "the table's y must be one column; found label, target"),
        ("p_0,p_1,p_x\n0.5,0.5,0\n", None),
    ],
)
def test_inconsistent_tables_are_refused(text: str, match: str | None, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    if match is None:  # names and numbers mixed: the suffixes are names
        assert cr.load(path).classes == ("0", "1", "x")
        return
    with pytest.raises(cr.InputError, match=match):
        cr.load(path)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (WIDE.replace("0.5,0.5", "0.5,oops"), "line 3, column 'p_1' must be a number; it is 'oops'"),
        (WIDE.replace("0.25,0.75", "0.25,1_0"), "line 2, column 'p_1'"),
        (WIDE.replace("0.5,0.5,0", "0.5,0"), "line 3 must have 3 cells like the first line; it has 2"),
        ("mean;std\n1,250;2,500\n3,750;1,125\n", "Write decimals with a point"),  # or thousands
        ("p_0,p_1\n", "must hold rows below its header"),
        (" \n\n", "it is empty"),
        ('p_0,p_1\n"0.5,0.5\n', "whole table file"),
        ("p_0,p_1\n0.5,\x000.5\n", "is NUL"),
    ],
)
def test_broken_text_is_located(text: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match=match):
        cr.load(write(tmp_path, text))


def test_other_encodings_are_named(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("p_ä,p_b\n0.5,0.5\n".encode("latin-1"))
    with pytest.raises(cr.FileError, match="must be UTF-8 text; byte 2 is 0xe4"):
        cr.load(tmp_path / "latin.csv")


def test_an_empty_cell_is_a_missing_number(tmp_path: Path) -> None:
    path = write(tmp_path, WIDE.replace("0.5,0.5", "0.5,"))
    with pytest.raises(cr.InvalidRowsError, match="row 1 holds nan") as caught:
        cr.load(path)
    assert caught.value.rows == [1]
    assert cr.load(path, drop_invalid=True).labels.tolist() == [1, 0]


def test_a_missing_label_is_a_row_to_drop(tmp_path: Path) -> None:
    path = write(tmp_path, WIDE.replace("0.5,0.5,0", "0.5,0.5,"))
    with pytest.raises(cr.InvalidRowsError, match="`labels` must be present; row 1"):
        cr.load(path)
    assert len(cr.load(path, drop_invalid=True)) == 2


def test_text_columns_are_left_alone_and_noted(tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, "remark,p_0,p_1\nblurred,0.5,0.5\nsharp,1,0\n"))
    assert any("not used: columns remark" in note for note in data.notes)


def test_leading_zeros_are_names(tmp_path: Path) -> None:
    data = cr.load(write(tmp_path, "id,p_0,p_1\n007,0.5,0.5\n008,1,0\n"))
    assert data.ids.tolist() == ["007", "008"]


def test_text_above_the_limit_is_not_parsed(tmp_path: Path) -> None:
    path = write(tmp_path, WIDE + f"0.5{'0' * 60},0.5{'0' * 60},1\n" * 10_000)  # 130 bytes each
    with cr.memory_limit(2**20), pytest.raises(cr.FileError, match=r"at most 1.0 MiB of text.*\.npz"):
        cr.load(path)
    assert len(cr.load(path)) == 10_003


def test_a_long_cell_does_not_widen_every_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # 1000 rows x 4 bytes x 30 000 characters = 120 MB for one cell of 30 kB
    text = "id,p_0,p_1\n" + "x" * 30_000 + ",0.5,0.5\n" + "y,0.5,0.5\n" * 999
    monkeypatch.setattr("credibly.io.limits.load_limit", lambda: 100 * 2**20)
    with pytest.raises(cr.FileError, match="column 'id' must fit"):
        cr.load(write(tmp_path, text))


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("p_cat", ("probs", "cat")),
        ("P_0", ("probs", "0")),
        ("p0", ("probs", "0")),
        ("prob.cat", ("probs", "cat")),
        ("p[3]", ("probs", "3")),
        ("q0.95", ("values", "0.95")),
        ("label_count_2", ("label_counts", "2")),
        ("plane", None),
        ("quality", None),
        ("x", None),
    ],
)
def test_column_names(name: str, field: tuple[str, str] | None) -> None:
    assert field_of(name) == field


# Tables in memory


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_in_memory(library: str) -> None:
    pytest.importorskip("narwhals", reason="tables are read through narwhals")
    module = pytest.importorskip(library)
    columns = {"p_cat": [0.25, 0.5], "p_dog": [0.75, 0.5], "label": ["dog", "cat"], "x_0": [1.5, 2.5]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    data = cr.load(frame)
    np.testing.assert_array_equal(data.predictions.probs, [[0.25, 0.75], [0.5, 0.5]])
    assert data.labels.tolist() == [1, 0]
    assert data.classes == ("cat", "dog")
    np.testing.assert_array_equal(data.features, [[1.5], [2.5]])
    assert data.source.startswith(f"<{library}.")
    changed = dict(columns, label=["cat", "cat"])
    other = module.table(changed) if library == "pyarrow" else module.DataFrame(changed)
    assert cr.load(other).digest != data.digest


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dates_of_a_table_are_text(library: str, tmp_path: Path) -> None:
    pytest.importorskip("narwhals", reason="tables are read through narwhals")
    module = pytest.importorskip(library)
    days = [dt.datetime(2026, 1, 1), None, dt.datetime(2026, 1, 2)]
    columns = {"mean": [0.5, 1.5, 2.5], "std": [1.0, 1.0, 1.0], "y": [0.0, 1.0, 2.0], "day": days}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    assert any("not used: columns day" in note for note in cr.load(frame).notes)
    data = cr.load(frame, clusters="day")
    assert len(set(np.asarray(data.clusters).tolist())) == 3  # two days, and one that is not there
    if library == "pandas":
        frame.to_parquet(tmp_path / "panel.parquet")
        assert (
            len(set(np.asarray(cr.load(tmp_path / "panel.parquet", clusters="day").clusters).tolist())) == 3
        )


def test_the_digest_of_a_table_with_a_labels_file_covers_both(tmp_path: Path) -> None:
    pytest.importorskip("narwhals", reason="tables are read through narwhals")
    pandas = pytest.importorskip("pandas")
    np.save(tmp_path / "y.npy", [0, 1])
    np.save(tmp_path / "z.npy", [1, 1])
    one = pandas.DataFrame({"p_0": [0.25, 0.5], "p_1": [0.75, 0.5]})
    two = pandas.DataFrame({"p_0": [0.75, 0.5], "p_1": [0.25, 0.5]})
    pairs = [(one, "y"), (one, "z"), (two, "y"), (two, "z")]
    assert len({cr.load(frame, labels=tmp_path / f"{name}.npy").digest for frame, name in pairs}) == 4


def test_missing_numbers_in_tables_are_rows(tmp_path: Path) -> None:
    pytest.importorskip("narwhals", reason="tables are read through narwhals")
    polars = pytest.importorskip("polars", reason="needs polars")
    frame = polars.DataFrame({"p_0": [0.25, None], "p_1": [0.75, 0.5], "label": [1, 0]})
    with pytest.raises(cr.InvalidRowsError) as caught:
        cr.load(frame)
    assert caught.value.rows == [1]


def test_annotations_without_ids_are_told_which_columns_make_them_some(tmp_path: Path) -> None:
    predictions = write(tmp_path, "p_cat,p_dog\n0.25,0.75\n0.5,0.5\n", "predictions.csv")
    lines = "text,worker_id,answer\n1,ann,cat\n1,bob,dog\n2,ann,dog\n"
    with pytest.raises(cr.InputError, match="name the columns id, rater and label"):
        cr.load(predictions, labels=write(tmp_path, lines, "annotations.csv"))


def test_what_is_no_table_is_refused() -> None:
    pytest.importorskip("narwhals", reason="tables are read through narwhals")
    with pytest.raises(cr.InputTypeError, match="must be a path or a table"):
        cr.load(3.5)
    with pytest.raises(cr.InputTypeError, match="as_predictions"):
        cr.load(np.eye(2))
