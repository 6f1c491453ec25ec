"""What `save` writes, `load` gives back: bit by bit where the format has types, number by number in text."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.io.saving import content_of
from written_files import written

RNG = np.random.default_rng(5)


def simplex(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    probs = RNG.dirichlet(np.ones(shape[-1]), size=shape[:-1])
    return probs.astype(dtype)


LOWER = np.array([[0.1, 0.2, 0.3], [0.0, 0.5, 0.1]])
PREDICTIONS = {
    "point": cr.Point(simplex(6, 3)),
    "confidence": cr.Confidence(simplex(6, 2)[:, 1]),
    "point float32": cr.Point(simplex(6, 3, dtype=np.float32)),
    "ensemble": cr.Ensemble(simplex(6, 4, 3)),
    "more members than instances": cr.Ensemble(simplex(2, 5, 3)),
    "as many members as instances": cr.Ensemble(simplex(4, 4, 3), member_axis=1),
    "members first": cr.Ensemble(simplex(4, 6, 3), member_axis=0),
    "weighted": cr.Ensemble(simplex(6, 2, 3), weights=[0.25, 0.75]),
    "dirichlet": cr.Dirichlet(RNG.gamma(2.0, size=(6, 3))),
    "dirichlet members": cr.Dirichlet(RNG.gamma(2.0, size=(3, 3, 2)), member_axis=1),
    "belief": cr.Belief(simplex(6, 3), [{0}, {1, 3}, {0, 1}], n_classes=5),
    "intervals": cr.Intervals(LOWER, LOWER + 0.4),
    "gaussian": cr.Gaussian(RNG.normal(size=6), RNG.gamma(2.0, size=6)),
    "gaussian members": cr.Gaussian(RNG.normal(size=(3, 4)), RNG.gamma(2.0, size=(3, 4))),
    "samples": cr.Samples(RNG.normal(size=(6, 7))),
    "samples members": cr.Samples(RNG.normal(size=(2, 3, 7))),
    "quantiles": cr.Quantiles(np.sort(RNG.normal(size=(6, 3)), axis=1), [0.1, 0.5, 0.9]),
    "prediction sets": cr.PredictionSets(RNG.random((6, 3)) < 0.5, 0.8),
    "prediction intervals": cr.predictions.PredictionIntervals(RNG.normal(size=6), np.full(6, np.inf), 0.9),
    "counts": cr.LabelCounts(RNG.integers(1, 9, size=(6, 3))),
}


def labels_for(predictions: Any) -> Any:
    n = len(predictions)
    return np.arange(n) % 2 if hasattr(predictions, "n_classes") else np.linspace(-1, 1, n)


def assert_same(found: Any, wanted: Any, *, dtype: bool = True) -> None:
    assert type(found) is type(wanted)
    for field in dataclasses.fields(wanted):
        left, right = getattr(found, field.name), getattr(wanted, field.name)
        if isinstance(right, np.ndarray):
            np.testing.assert_array_equal(left, right)
            if dtype:
                assert left.dtype == right.dtype
        elif field.name != "notes":
            assert left == right


NEEDED = {".parquet": "pyarrow", ".pt": "torch"}


@pytest.mark.parametrize("extension", [".npz", ".json", ".parquet", ".pt"])
@pytest.mark.parametrize("name", PREDICTIONS)
def test_typed_formats_are_exact(name: str, extension: str, tmp_path: Path) -> None:
    if extension in NEEDED:
        pytest.importorskip(NEEDED[extension], reason="needs an extra")
    predictions = PREDICTIONS[name]
    path = written(tmp_path / f"file{extension}", predictions, labels_for(predictions))
    data = cr.load(path)
    assert_same(data.predictions, predictions)
    np.testing.assert_array_equal(data.labels, labels_for(predictions))
    # Without labels nothing but the file itself can tell the axes.
    alone = cr.load(written(tmp_path / f"alone{extension}", predictions))
    assert_same(alone.predictions, predictions)
    assert alone.labels is None


@pytest.mark.parametrize("name", [name for name in PREDICTIONS if name != "counts"])
def test_netcdf_keeps_numbers_and_axes(name: str, tmp_path: Path) -> None:
    pytest.importorskip("xarray", reason="needs the xarray extra")
    predictions = PREDICTIONS[name]
    data = cr.load(written(tmp_path / "file.nc", predictions, labels_for(predictions)))
    assert_same(data.predictions, predictions, dtype=False)
    np.testing.assert_array_equal(data.labels, labels_for(predictions))


TEXT = [
    name for name in PREDICTIONS if name not in ("weighted", "belief", "samples members", "point float32")
]


@pytest.mark.parametrize("extension", [".csv", ".tsv"])
@pytest.mark.parametrize("name", TEXT)
def test_text_keeps_every_digit(name: str, extension: str, tmp_path: Path) -> None:
    predictions = PREDICTIONS[name]
    path = cr.save(tmp_path / f"table{extension}", predictions, labels_for(predictions))
    data = cr.load(path)
    assert_same(data.predictions, predictions)
    np.testing.assert_array_equal(data.labels, labels_for(predictions))


def test_npy_holds_probabilities_alone(tmp_path: Path) -> None:
    path = cr.save(tmp_path / "probs.npy", PREDICTIONS["point"])
    np.save(tmp_path / "labels.npy", np.arange(6) % 3)
    data = cr.load(path, labels=tmp_path / "labels.npy")
    assert_same(data.predictions, PREDICTIONS["point"])
    np.testing.assert_array_equal(data.labels, np.arange(6) % 3)


COUNTS = cr.LabelCounts(np.arange(18).reshape(6, 3))


@pytest.mark.parametrize("labels", [[0, 1, 2, 0, 1, 2], np.arange(6, dtype=np.uint8) % 3, COUNTS])
@pytest.mark.parametrize("name", ["point float32", "ensemble"])
def test_npy_puts_labels_into_a_second_file(name: str, labels: Any, tmp_path: Path) -> None:
    path = cr.save(tmp_path / "pred.npy", PREDICTIONS[name], labels)
    assert path == tmp_path / "pred.npy"
    assert {entry.name for entry in tmp_path.iterdir()} == {"pred.npy", "pred-labels.npy"}
    data = cr.load(path, labels=tmp_path / "pred-labels.npy")
    assert_same(data.predictions, PREDICTIONS[name])
    if labels is COUNTS:
        np.testing.assert_array_equal(data.labels.counts, COUNTS.counts)
    else:
        np.testing.assert_array_equal(data.labels, labels)


@pytest.mark.parametrize("taken", ["pred.npy", "pred-labels.npy"])
def test_neither_file_of_a_pair_is_replaced_unasked(taken: str, tmp_path: Path) -> None:
    (tmp_path / taken).write_bytes(b"mine")
    with pytest.raises(cr.FileError, match=f"{taken}' must not exist yet"):
        cr.save(tmp_path / "pred.npy", PREDICTIONS["point"], [0] * 6)
    assert [entry.name for entry in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_bytes() == b"mine"
    cr.save(tmp_path / "pred.npy", PREDICTIONS["point"], [0] * 6, overwrite=True)
    assert cr.load(tmp_path / "pred.npy", labels=tmp_path / "pred-labels.npy").labels.tolist() == [0] * 6


@pytest.mark.parametrize(
    "beside",
    [
        {"features": np.zeros((6, 1))},
        {"groups": list("aabbcc")},
        {"ids": list("uvwxyz")},
        {"classes": ["a", "b", "c"]},
        {"meta": {"model": "m"}},
    ],
    ids=lambda beside: next(iter(beside)),
)
def test_a_pair_has_no_place_for_anything_else(beside: dict[str, Any], tmp_path: Path) -> None:
    name = {"groups": "group", "ids": "id"}.get(next(iter(beside)), next(iter(beside)))
    with pytest.raises(cr.FileError, match=f"one array, got probs, {name}. Use .npz"):
        cr.save(tmp_path / "pred.npy", PREDICTIONS["point"], [0] * 6, **beside)
    assert list(tmp_path.iterdir()) == []


def test_a_pair_refuses_counts_that_would_read_as_one_hot_labels(tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match=r"counts of one rater.*Use .npz"):
        cr.save(tmp_path / "pred.npy", PREDICTIONS["point"], cr.LabelCounts(np.eye(3, dtype=int)[[0, 1] * 3]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "match"),
    [("gaussian", "one array, got mean, std"), ("dirichlet", "`alpha` needs to be understood")],
)
def test_npy_refuses_what_it_cannot_hold(name: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match=match):
        cr.save(tmp_path / "file.npy", PREDICTIONS[name])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "match"),
    [("weighted", "member_weights"), ("belief", "focal_sets"), ("samples members", "several members")],
)
def test_csv_refuses_what_it_cannot_hold(name: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match=f"{match}.*Use .npz"):
        cr.save(tmp_path / "file.csv", PREDICTIONS[name])


def test_csv_refuses_float32_rows_that_are_none_as_doubles(tmp_path: Path) -> None:
    # off by 1.5e-6: within 1e-6 + 4 eps sqrt(2) = 1.7e-6 for float32, outside 1e-6 for float64
    probs = np.array([[0.5, 0.5 + 1.5e-6]], dtype=np.float32)
    predictions = cr.Point(probs)
    with pytest.raises(cr.FileError, match="as doubles row 0 sums to"):
        cr.save(tmp_path / "file.csv", predictions)
    assert_same(cr.load(cr.save(tmp_path / "file.npz", predictions)).predictions, predictions)


@pytest.mark.parametrize("extension", [".npz", ".json", ".parquet", ".pt"])
def test_everything_beside_the_predictions(extension: str, tmp_path: Path) -> None:
    if extension in NEEDED:
        pytest.importorskip(NEEDED[extension], reason="needs an extra")
    features = RNG.normal(size=(6, 2))
    meta = {"model": "ä <b>", "epochs": 3, "nested": {"lr": [0.1, 0.2]}}
    path = written(
        tmp_path / f"all{extension}",
        PREDICTIONS["ensemble"],
        cr.LabelCounts(np.arange(18).reshape(6, 3) + 1),
        features=features,
        groups=["a", "b"] * 3,
        ids=np.arange(100, 106),
        classes=("cat", "dog", "ünï"),
        meta=meta,
    )
    data = cr.load(path)
    np.testing.assert_array_equal(data.labels.counts, np.arange(18).reshape(6, 3) + 1)
    np.testing.assert_array_equal(data.features, features)
    assert data.groups.tolist() == ["a", "b"] * 3
    np.testing.assert_array_equal(data.ids, np.arange(100, 106))
    assert data.classes == ("cat", "dog", "ünï")
    assert data.meta == meta
    assert data.source == str(path)
    assert data.dropped == 0


def test_csv_with_everything_a_table_can_hold(tmp_path: Path) -> None:
    features = RNG.normal(size=(6, 2))
    path = cr.save(
        tmp_path / "all.csv",
        PREDICTIONS["ensemble"],
        [0, 1, 2, 0, 1, 2],
        features=features,
        groups=list("aabbcc"),
        ids=[f"image, {i}" for i in range(6)],  # the delimiter inside a cell
        classes=["cat", "dog", "cow"],
    )
    data = cr.load(path)
    assert_same(data.predictions, PREDICTIONS["ensemble"])
    assert data.labels.tolist() == [0, 1, 2, 0, 1, 2]
    np.testing.assert_array_equal(data.features, features)
    assert data.groups.tolist() == list("aabbcc")
    assert data.ids.tolist() == [f"image, {i}" for i in range(6)]
    assert data.classes == ("cat", "dog", "cow")


def test_equal_records_give_equal_bytes_and_digests(tmp_path: Path) -> None:
    first = cr.save(tmp_path / "a.npz", PREDICTIONS["ensemble"], [0] * 6)
    second = cr.save(tmp_path / "b.npz", PREDICTIONS["ensemble"], [0] * 6)
    other = cr.save(tmp_path / "c.npz", PREDICTIONS["ensemble"], [1] * 6)
    assert first.read_bytes() == second.read_bytes()
    assert cr.load(first).digest == cr.load(second).digest != cr.load(other).digest
    assert len(cr.load(first).digest) == 16


def test_digest_covers_the_labels_file(tmp_path: Path) -> None:
    path = cr.save(tmp_path / "probs.npy", PREDICTIONS["point"])
    np.save(tmp_path / "one.npy", np.zeros(6, dtype=int))
    np.save(tmp_path / "two.npy", np.ones(6, dtype=int))
    one, two = (cr.load(path, labels=tmp_path / f"{name}.npy").digest for name in ("one", "two"))
    assert len({one, two, cr.load(path).digest}) == 3


@pytest.mark.parametrize("extension", [".json", ".pt", ".nc", ".zarr", ".txt"])
def test_formats_that_are_only_read(extension: str, tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match=r"must end in one of \.csv, \.npy, \.npz, \.parquet, \.tsv"):
        cr.save(tmp_path / f"file{extension}", PREDICTIONS["point"])
    assert not list(tmp_path.iterdir())


def test_torch_predictions_are_saved_from_their_device(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    predictions = cr.Point(torch.tensor([[0.25, 0.75], [0.5, 0.5]], dtype=torch.float64))
    data = cr.load(cr.save(tmp_path / "file.npz", predictions, torch.tensor([0, 1])))
    np.testing.assert_array_equal(data.predictions.probs, [[0.25, 0.75], [0.5, 0.5]])


def test_save_checks_before_it_writes(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match=r"`y` must have one entry per prediction \(6\); got 5"):
        cr.save(tmp_path / "file.npz", PREDICTIONS["point"], [0] * 5)
    with pytest.raises(cr.InputError, match="`classes` must be 3 different names"):
        cr.save(tmp_path / "file.npz", PREDICTIONS["point"], classes=["a", "b"])
    with pytest.raises(cr.FileError, match=r"must end in one of .*got '.xlsx'"):
        cr.save(tmp_path / "file.xlsx", PREDICTIONS["point"])
    assert list(tmp_path.iterdir()) == []


def test_content_of_covers_every_prediction_type() -> None:
    kinds = {type(predictions) for predictions in PREDICTIONS.values()}
    classes = {
        value
        for value in vars(cr.predictions).values()
        if isinstance(value, type)
        and issubclass(value, cr.predictions.Predictions)
        and value.__name__ not in ("Predictions", "OverClasses", "ClassPredictions", "RealPredictions")
        and value is not cr.predictions.SecondOrder  # it follows from an ensemble or Dirichlets, and labels
    }
    assert kinds == classes  # a new prediction type needs a place in files
    for predictions in PREDICTIONS.values():
        content = content_of(predictions)
        assert content.rows
        assert all(len(array) == len(predictions) for array in content.rows.values())


ATTRIBUTES = {"age": np.array([31, 45, 62, 28]), "site": np.array(["A", "B", "A", "C"])}


@pytest.mark.parametrize("form", [".npz", ".json", ".csv", ".tsv"])
def test_several_attributes_come_back(tmp_path, form: str) -> None:
    probs = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    path = written(tmp_path / f"four{form}", probs, [0, 1, 1, 0], groups=ATTRIBUTES, clusters=[1, 1, 2, 2])
    data = cr.load(path, groups=["site", "age"])
    assert list(data.groups) == ["site", "age"]
    assert data.groups["age"].tolist() == [31, 45, 62, 28]
    assert data.groups["site"].tolist() == ["A", "B", "A", "C"]
    assert data.labels.tolist() == [0, 1, 1, 0]
    assert data.clusters.tolist() == [1, 1, 2, 2]
    assert data.predictions.probs == pytest.approx(probs)


def test_attributes_of_members_stand_beside_every_line(tmp_path) -> None:
    members = np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 2))
    path = cr.save(tmp_path / "four.csv", cr.Ensemble(members), groups={"day": np.array(["2021-03-04"] * 4)})
    assert path.read_text().splitlines()[0].split(",")[:3] == ["id", "member", "day"]


def test_attributes_with_gaps_and_dates_are_text(tmp_path) -> None:
    given = {
        "seen": np.array(["2021-03-04", "2022-05-06"], dtype="datetime64[D]"),
        "ward": np.array([None, "x"]),
    }
    path = cr.save(tmp_path / "two.npz", [[0.7, 0.3], [0.2, 0.8]], [0, 1], groups=given)
    groups = cr.load(path, groups=["seen", "ward"]).groups
    assert groups["seen"].tolist() == ["2021-03-04", "2022-05-06"]
    assert groups["ward"].tolist() == ["", "x"]


def test_an_attribute_has_a_name_of_its_own(tmp_path) -> None:
    with pytest.raises(cr.InputError, match="'label' is read as something"):
        cr.save(tmp_path / "two.npz", [[0.7, 0.3], [0.2, 0.8]], [0, 1], groups={"label": [1, 2]})
    with pytest.raises(cr.InputError, match="attribute 'age' must have one entry per instance"):
        cr.save(tmp_path / "two.npz", [[0.7, 0.3], [0.2, 0.8]], [0, 1], groups={"age": [1, 2, 3]})


@pytest.mark.parametrize("form", ["npz", "csv"])
def test_a_dataset_is_saved_with_all_that_belongs_to_it(tmp_path: Path, form: str) -> None:
    rows = cr.Dataset(
        cr.Point([[0.7, 0.3], [0.2, 0.8]]),
        [0, 1],
        groups={"site": np.array(["u", "v"])},
        ids=np.array(["NA", "b"]),
        clusters=np.array([7, 8]),
        classes=("cat", "dog"),
    )
    data = cr.load(cr.save(tmp_path / f"two.{form}", rows), groups=["site"])
    assert data.labels.tolist() == [0, 1]
    assert data.classes == ("cat", "dog")
    assert (data.groups["site"].tolist(), data.ids.tolist(), data.clusters.tolist()) == (
        ["u", "v"],
        ["NA", "b"],
        [7, 8],
    )
    other = cr.load(cr.save(tmp_path / f"other.{form}", rows, [1, 1]))
    assert other.labels.tolist() == [1, 1]


def test_a_dataset_with_weights_is_refused_because_files_hold_none(tmp_path: Path) -> None:
    rows = cr.Dataset(cr.Point([[0.7, 0.3], [0.2, 0.8]]), [0, 1], weights=np.array([1.0, 2.0]))
    with pytest.raises(cr.InputError, match="`weights` must be left out, because files hold none"):
        cr.save(tmp_path / "two.npz", rows)


@pytest.mark.parametrize("extension", ["csv", "npz"])
def test_whole_numbers_name_the_same_classes_in_every_format(tmp_path: Path, extension: str) -> None:
    probs, classes = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]]), ["2", "1", "0"]
    data = cr.load(cr.save(tmp_path / f"two.{extension}", probs, [2, 0], classes=classes))
    # class 2 is the first column: .7 in row 0; class 0 the last: .1 in row 1
    assert data.predictions.probs[[0, 1], data.labels].tolist() == [0.7, 0.1]


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ({"classes": ["NA", "none"]}, "row 0 is nan"),
        ({"classes": ["1.0", "1"]}, "names read back as something else"),
        ({"classes": ["a\x00b", "c"]}, "character 5 is NUL"),
        ({"classes": ["a\ud800", "c"]}, "letters outside Unicode"),
        ({"groups": {" site": ["u", "v"]}}, "there is no ' site'"),
        ({"groups": {"site": ["01", "1.0"]}}, "some of `site` read back as something else"),
    ],
)
def test_csv_refuses_names_that_it_would_not_give_back(
    beside: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(cr.FileError, match=rf"two\.csv' must be able to hold .*{words}.*Use .npz"):
        cr.save(tmp_path / "two.csv", [[0.7, 0.3], [0.2, 0.8]], [0, 1], **beside)
    assert list(tmp_path.iterdir()) == []


def test_attributes_of_members_come_back_one_per_instance(tmp_path: Path) -> None:
    members, days = simplex(4, 2, 3), {"day": np.array(list("abab")), "age": np.arange(4) / 2}
    data = cr.load(cr.save(tmp_path / "four.csv", cr.Ensemble(members), groups=days), groups=["day", "age"])
    assert {name: column.tolist() for name, column in data.groups.items()} == {
        name: column.tolist() for name, column in days.items()
    }
    np.testing.assert_array_equal(data.predictions.probs, members)
