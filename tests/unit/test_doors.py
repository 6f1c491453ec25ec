"""What people hand over by mistake, or mean well: every door answers in the library's own words."""

from __future__ import annotations

import contextlib
import gzip
import inspect
import io
import json
import shutil
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.cli import main
from credibly.io import remote

RNG = np.random.default_rng(5)
PROBS = RNG.dirichlet([1, 1, 1], size=60)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
TWO = PROBS[:, :2] / PROBS[:, :2].sum(axis=1, keepdims=True)
BINARY = (RNG.random(60) < TWO[:, 1]).astype(int)
MEMBERS = RNG.dirichlet([1, 1, 1], size=(60, 5))
NAMES = np.array(["a", "c"] * 30)


def write_csv(path: Path, **columns: Any) -> str:
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(rows) + "\n")
    return str(path)


# Missing scores


def test_missing_scores_are_dropped_on_request_and_the_advice_can_be_followed(tmp_path: Path) -> None:
    scores = TWO[:, 1].copy()
    scores[3] = np.nan
    path = write_csv(tmp_path / "e.csv", score=scores, label=BINARY)
    with pytest.raises(cr.InvalidRowsError, match=r"row 3 holds nan.*`load\(path, drop_invalid=True\)`"):
        cr.evaluate(path)
    data = cr.load(path, drop_invalid=True)
    np.testing.assert_array_equal(data.predictions.probs[:, 1], np.delete(scores, 3))
    np.testing.assert_array_equal(data.labels, np.delete(BINARY, 3))


# Columns that hold no numbers


@pytest.mark.parametrize("share", [0.3, 0.8])
@pytest.mark.parametrize("gap", ["", "NA", "12.5"])
def test_a_column_of_remarks_with_gaps_or_numbers_keeps_no_file_from_being_read(
    share: float, gap: str, tmp_path: Path
) -> None:
    remarks = [gap if i < share * 60 else f"see {i}" for i in range(60)]
    path = write_csv(tmp_path / "e.csv", score=TWO[:, 1], label=BINARY, remark=remarks)
    np.testing.assert_array_equal(cr.load(path).labels, BINARY)
    assert cr.load(path, groups=["remark"]).groups["remark"].tolist() == remarks


@pytest.mark.parametrize("kind", ["dates", "months", "bins", "categories", "decimals", "gaps"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_frames_may_hold_dates_and_categories(kind: str, library: str) -> None:
    pandas = pytest.importorskip("pandas", reason="needs an extra")
    days = pandas.date_range("2024-01-01", periods=3).repeat(20)
    column = {
        "dates": days,
        "months": days.to_period("D"),
        "bins": pandas.cut(np.arange(60), 3),
        "categories": pandas.Categorical(NAMES),
        "decimals": [Decimal(i % 3) for i in range(60)],
        "gaps": pandas.array([None, 1, 2] * 20, dtype="Int64"),
    }[kind]
    frame = pandas.DataFrame({"p_0": TWO[:, 0], "p_1": TWO[:, 1], "label": BINARY, "day": column})
    if library == "polars":
        frame = pytest.importorskip("polars", reason="needs an extra").from_pandas(frame)
    assert cr.brier(frame).value == cr.brier(TWO, BINARY).value
    audited = cr.audit(cr.load(frame, groups=["day"]), n_resamples=19, min_size=5, rng=0)
    assert audited.attributes == ("day",)
    assert len(audited.groups) > 1


# Names


@pytest.mark.parametrize("letter", ["\x1b", "\ud800", "\u202e"])
def test_group_names_reach_no_page_as_commands(letter: str, tmp_path: Path) -> None:
    groups = np.array([f"a{letter}b", "c"] * 30)
    page = cr.evaluate(MEMBERS, LABELS, groups=groups, n_resamples=19, progress=None).report(
        tmp_path / "x.html"
    )
    assert letter not in page.read_text("utf-8")


@pytest.mark.parametrize(
    "classes", [("'=1", "=1", "b"), ("''=1", "'=1", "=1"), ("a\rb", "a\nb", "b"), ("'a", "a", "@a")]
)
def test_class_names_survive_a_csv(classes: tuple[str, ...], tmp_path: Path) -> None:
    path = cr.save(tmp_path / "c.csv", cr.Point(PROBS), LABELS, classes=classes)
    data = cr.load(path)
    assert data.classes == classes
    np.testing.assert_array_equal(data.labels, LABELS)


# Labels, groups and clusters


def test_masked_clusters_are_missing_ones() -> None:
    clusters = np.ma.array(np.arange(60) % 6, mask=np.arange(60) == 2)
    with pytest.raises(cr.InputError, match="row 2 has no id"):
        cr.calibration_test(PROBS, LABELS, clusters=clusters, statistics="skce", n_resamples=19)


def test_text_of_truth_values_is_read_as_truth_values() -> None:
    words = np.where(BINARY, "TRUE", " False")
    evaluation = cr.evaluate(TWO[:, 1], words, tests=False)
    assert evaluation.estimates["accuracy"].value == cr.accuracy(TWO, BINARY).value
    assert any("text of True and False" in note for note in evaluation.notes)
    with pytest.raises(cr.InputTypeError, match="say whether each prediction was right"):
        cr.accuracy(PROBS, words)


def test_right_and_wrong_are_no_labels_of_three_classes() -> None:
    with pytest.raises(cr.InputTypeError, match="whether each prediction was right"):
        cr.accuracy(PROBS, PROBS.argmax(axis=1) == LABELS)
    assert cr.accuracy(TWO, BINARY.astype(bool)).value == cr.accuracy(TWO, BINARY).value


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"groups": np.array([1, "1"] * 30, dtype=object)}, "all text or all numbers; got 1 and '1'"),
        ({"groups": np.array([b"\xff", b"a"] * 30)}, "not UTF-8"),
        ({"clusters": [[1, 2], [3]] * 30}, "ragged"),
        ({"features": [[1, 2], [3]] * 30}, "ragged"),
        ({"rng": np.array(3)}, r"got array\(3\)"),
        ({"tests": np.ones(2)}, "`tests` must be True or False"),
        ({"statistics": 1.5}, "`statistics` must be a list"),
        ({"source": "file.csv"}, "`source` must be a mapping"),
        ({"progress": "bar"}, "`progress` must be"),
        ({"clusters": np.array([[1], [2, 3]] * 30, dtype=object)}, "rows that hold several values"),
        ({"groups": np.array([(1, 0.5)] * 60, dtype="i8,f8")}, "rows that hold several values"),
        ({"classes": np.array(0.3)}, "`classes` must be a sequence of names"),
    ],
)
def test_wrong_types_are_answered(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        cr.evaluate(PROBS, LABELS, **settings)


@pytest.mark.parametrize("argument", ["clusters", "groups"])
@pytest.mark.parametrize("library", ["pandas", "torch"])
def test_columns_and_tensors_in_rows_are_several_values(argument: str, library: str) -> None:
    module = pytest.importorskip(library)
    rows = np.empty(60, dtype=object)
    rows[:] = [module.Series([1, 2]) if library == "pandas" else module.ones(2) for _ in range(60)]
    with pytest.raises(
        cr.InputTypeError, match=f"`{argument}` must have one name per row; got rows that hold"
    ):
        cr.evaluate(PROBS, LABELS, **{argument: rows})


def _tensor() -> Any:
    return pytest.importorskip("torch").ones(2)


def _counts() -> cr.LabelCounts:
    return cr.LabelCounts(np.ones((60, 3), dtype=int))


def _missing() -> Any:
    return pytest.importorskip("pandas").NA


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: cr.uncertainty(MEMBERS, decomposition=_tensor()), "`decomposition` must be"),
        (lambda: cr.skce(PROBS, LABELS, clusters=_tensor().to_sparse()), "`clusters` must have one name per"),
        (lambda: cr.accuracy(PROBS, _tensor().to_sparse()), "`labels` must be a dense tensor"),
        (lambda: cr.decompose_brier(PROBS, LABELS, binning=_missing()), "`binning` must be one of"),
        (lambda: cr.confidence_ece(PROBS, LABELS, sample_weight=np.str_("x")), "`sample_weight` must hold"),
        (lambda: cr.kl_ce(PROBS, LABELS, clip=_tensor()), "`clip` must be"),
        (lambda: cr.hypotests.joint_test(MEMBERS, PROBS, statistics=np.float16(3)), "`statistics` must be"),
        (lambda: cr.Monitor(hypothesis="nonsense"), "`hypothesis` must be one of"),
        (lambda: cr.kde_ce(PROBS, LABELS, p=_tensor()), "`p` must be"),
        (lambda: cr.Samples(MEMBERS, member_axis=np.ones(2)), "`member_axis` must be 0 or 1"),  # type: ignore[arg-type]
        (
            lambda: cr.hypotests.decompose_crps(cr.Gaussian(TWO[:, 0], TWO[:, 1] + 1), _counts()),
            "counts are about classes; got predictions of a real value",
        ),
        (
            lambda: cr.hypotests.replicate_test(PROBS, LABELS, [(PROBS, LABELS)], statistics=[]),
            "`statistics` must name at least one",
        ),
        (lambda: cr.Monitor.load(np.ones(3)), "`path` must be the path of a file"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_word_or_number_is_answered(call: Callable[[], Any], match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        call()


class _NoArray:
    """What refuses to become an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("not this way")


class _Posterior:
    """An InferenceData or a DataTree: groups by name."""

    posterior_predictive = None


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (_NoArray(), r"got _NoArray, which is no array \(not this way\)"),
        (_Posterior(), "predictions, labels = from_posterior_predictive"),
        (PROBS > 0.2, r"sets of classes. Use `PredictionSets\(sets, claimed=0.9\)`"),
        ((PROBS > 0.2)[:, :, None], "looks like sets of classes"),
        (np.array([[[-1.0], [1.0]]] * 60), r"ends of intervals. Use `PredictionIntervals.from_ends"),
    ],
)
def test_what_is_no_table_of_probabilities_is_told_its_own_name(given: Any, match: str) -> None:
    with pytest.raises(cr.InputTypeError, match=match):
        cr.evaluate(given, LABELS)


def test_missing_labels_are_asked_for(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "p.csv", score=TWO[:, 1], churn=BINARY)
    with pytest.raises(cr.InputTypeError, match=r"got NoneType\. Pass what was observed, or the name of its"):
        cr.evaluate(path)
    assert cr.evaluate(path, "churn", tests=False).estimates["accuracy"].n == 60


def test_bytes_are_names() -> None:
    audited = cr.audit(PROBS, LABELS, groups=np.char.encode(NAMES), n_resamples=19)
    expected = cr.audit(PROBS, LABELS, groups=NAMES, n_resamples=19)
    assert [group.group for group in audited.groups] == [group.group for group in expected.groups]


def test_infinite_tables_are_no_labels() -> None:
    with pytest.raises(cr.InputError, match="hold no classes"):
        cr.evaluate(PROBS, np.full((60, 3), np.inf))


def test_a_classic_netcdf_without_groups(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("scipy.io")
    path = tmp_path / "x.nc"
    path.write_bytes(b"CDF\x01" + bytes(100))
    with pytest.raises(cr.CrediblyError, match="found no arrays"):
        cr.load(path)


def test_a_protocol_that_needs_more_is_an_answer() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(cr.FileError, match="URL that fsspec knows"):
        cr.load("reference://x.npz")


# Decision tables


def test_a_table_of_costs_the_other_way_round_is_caught() -> None:
    costs = np.array([[0, 10], [1, 1]])  # wait: 0 or 10; treat: 1 whatever is true
    found = cr.selection.decision_costs(TWO, BINARY, costs=costs, actions=["wait", "treat"])
    assert "'wait' costs 0 if '0' is true, 10 if '1' is true; 'treat' costs 1 if '0'" in found.notes[-1]
    with pytest.raises(cr.InputError, match=r"'treat' costs 10 if '0' is true.*never better.*`costs.T`"):
        cr.selection.decision_costs(TWO, BINARY, costs=costs.T, actions=["wait", "treat"])
    with pytest.raises(cr.InputError, match=r"got shape \(3, 2\).*`costs.T`"):
        cr.selection.decision_costs(PROBS, LABELS, costs=np.ones((3, 2)))


# Garbage: every exception is one of the library, or Python's about a missing argument


class _Odd:
    """Something that no function expects."""


def _garbage() -> list[Any]:
    return [
        *(np.arange(3), np.array([]), np.array(3.0), np.array(["a", "b"]), np.full((2, 2), np.nan)),
        *(PROBS, LABELS, cr.Point(PROBS), np.ma.array([1, 2], mask=[0, 1]), np.datetime64("2020-01-01")),
        *([1, 2], [[1], [2, 3]], {}, {"a": 1}, set(), (), (1, 2), iter([1])),
        *("", "nonsense", b"x", "\x00", "\ud800", -1, 0, 1, 1.5, 1j, float("nan"), float("inf")),
        *(None, True, _Odd()),
    ]


def _public() -> Iterator[tuple[str, Any]]:
    surface = (Path(__file__).parents[1] / "contract" / "public_surface.txt").read_text().split()
    for name in surface:
        room, _, inner = name.rpartition(".")
        if room in ("results", "learners"):
            continue  # results are made by functions, learners by their authors
        found = getattr(getattr(cr, room) if room else cr, inner)
        if inspect.isclass(found) and issubclass(found, BaseException):
            continue
        if callable(found) and not inspect.isabstract(found):
            yield name, found


@pytest.mark.parametrize(
    ("name", "function"), list(_public()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_garbage_meets_the_librarys_own_errors(
    name: str, function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(sum(map(ord, name)))
    garbage = _garbage()
    parameters = inspect.signature(function).parameters
    named = [
        parameter.name for parameter in parameters.values() if parameter.kind is not parameter.VAR_KEYWORD
    ]
    for wrong in named:
        for chosen in rng.permutation(len(garbage))[:4]:
            given = {"predictions": PROBS, "labels": LABELS, "probs": PROBS, "n_resamples": 19, "obj": PROBS}
            given = {key: value for key, value in given.items() if key in parameters}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(**given | {wrong: garbage[chosen]})
            except cr.CrediblyError:
                continue
            except TypeError as error:
                if "missing" not in str(error):
                    raise


# What people mean well


def test_groups_and_clusters_name_columns_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"p_0": TWO[:, 0], "p_1": TWO[:, 1], "label": BINARY, "region": NAMES})
    frame["site"] = np.arange(60) % 12
    settings: dict[str, Any] = {"n_resamples": 19, "progress": None}
    assert set(cr.evaluate(frame, groups="region", **settings).groups) == {"a", "c"}
    assert set(cr.evaluate(frame, groups=["region"], **settings).groups) == {"a", "c"}
    assert cr.evaluate(frame, clusters="site", **settings).predictions.n_clusters == 12
    with pytest.raises(cr.InputTypeError, match="name a column of a data frame"):
        cr.evaluate(TWO, BINARY, groups="region")
    with pytest.raises(cr.InputError, match="no 'regoin'"):
        cr.evaluate(frame, groups="regoin")


def test_a_column_of_scores_is_a_point() -> None:
    pandas = pytest.importorskip("pandas")
    point = cr.Point(pandas.Series(TWO[:, 1]))
    np.testing.assert_array_equal(point.probs, np.stack([1 - TWO[:, 1], TWO[:, 1]], axis=1))
    assert "probability of class 1" in point.notes[0]


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float64, object])
def test_minus_one_and_one_are_two_classes_in_python_too(dtype: Any) -> None:
    estimate = cr.accuracy(TWO, (2 * BINARY - 1).astype(dtype))
    assert estimate.value == cr.accuracy(TWO, BINARY).value
    assert "labels -1 and 1 are read as class 0 and class 1" in estimate.notes
    with pytest.raises(cr.InputError, match="is -1"):  # unlabelled rows among 0 and 1 remain an error
        cr.accuracy(TWO, np.r_[-1, BINARY[1:]])


def test_columns_named_like_ids(tmp_path: Path) -> None:
    path = write_csv(
        tmp_path / "c.csv", customer_id=np.arange(100, 160), p_0=TWO[:, 0], p_1=TWO[:, 1], y=BINARY
    )
    np.testing.assert_array_equal(cr.load(path).ids, np.arange(100, 160))
    zeros = [f"{one:03d}" for one in range(60)]
    path = write_csv(tmp_path / "z.csv", customer_id=zeros, p_0=TWO[:, 0], p_1=TWO[:, 1], y=BINARY)
    np.testing.assert_array_equal(cr.load(path).ids, zeros)  # '007' is not 7
    # one that repeats names no row, and is no class either
    path = write_csv(
        tmp_path / "d.csv", visit_id=np.arange(60) // 2, no=TWO[:, 0], yes=TWO[:, 1], label=["no", "yes"] * 30
    )
    data = cr.load(path)
    assert data.ids is None
    assert data.classes == ("no", "yes")


def test_one_level_of_mapie() -> None:
    ends = np.stack([-np.ones(9), np.ones(9)], axis=1)[:, :, None]
    made = cr.predictions.PredictionIntervals
    for found in (made.from_ends(ends, 0.9), made(ends[:, 0], ends[:, 1], 0.9)):
        np.testing.assert_array_equal(found.sizes(), np.full(9, 2.0))
    with pytest.raises(cr.InputError, match=r"got shape \(9, 2, 3\)"):
        made.from_ends(np.repeat(ends, 3, axis=2), 0.9)
    assert cr.PredictionSets(np.ones((9, 3, 1), dtype=bool), 0.9).members.shape == (9, 3)


def test_packed_text(tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "a.csv", p_0=TWO[:, 0], p_1=TWO[:, 1], y=BINARY)
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(Path(plain).read_bytes()))
    np.testing.assert_array_equal(cr.load(packed).predictions.probs, cr.load(plain).predictions.probs)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(cr.FileError, match="whole gzip file"):
        cr.load(packed)
    packed.write_bytes(Path(plain).read_bytes())
    with pytest.raises(cr.FileError, match=r"must be gzip-compressed.*Rename it without \.gz"):
        cr.load(packed)


def test_a_workbook_of_excel_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "")
        archive.writestr("xl/workbook.xml", "")
    with pytest.raises(cr.FileError, match=r"it is a zip archive .*Save the sheet of Excel as \.csv"):
        cr.load(tmp_path / "a.xlsx")


def test_a_query_of_polars_is_collected_first() -> None:
    frame = pytest.importorskip("polars").DataFrame({"p_0": TWO[:, 0], "p_1": TWO[:, 1], "y": BINARY})
    with pytest.raises(cr.InputTypeError, match=r"got a LazyFrame\. Call `\.collect\(\)` first"):
        cr.evaluate(frame.lazy())


def test_a_remark_above_the_header_is_named(tmp_path: Path) -> None:
    path = Path(write_csv(tmp_path / "a.csv", p_0=TWO[:, 0], p_1=TWO[:, 1], y=BINARY))
    path.write_text("# made on Monday\n" + path.read_text())
    with pytest.raises(cr.FileError, match=r"line 2 must have 1 cells.*If the first line is a remark"):
        cr.load(path)


def test_percentiles(tmp_path: Path) -> None:
    y = RNG.normal(size=60)
    path = write_csv(tmp_path / "q.csv", P10=y - 1, P50=y, P90=y + 1, y=y)
    predictions = cr.load(path).predictions
    np.testing.assert_allclose(predictions.levels, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(predictions.values[:, 2], y + 1)


@pytest.mark.parametrize("labels", [LABELS, LABELS.tolist()])
def test_groups_are_columns_of_the_frame_also_if_labels_are_given(labels: Any) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({**{f"p_{j}": PROBS[:, j] for j in range(3)}, "region": NAMES})
    expected = cr.evaluate(PROBS, LABELS, groups={"region": NAMES}, n_resamples=19, rng=0, progress=None)
    for given in (labels, pd.Series(labels)):
        evaluation = cr.evaluate(frame, given, groups="region", n_resamples=19, rng=0, progress=None)
        assert evaluation.audit.pvalue == expected.audit.pvalue


def test_bfloat16(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    probs = torch.tensor(PROBS, dtype=torch.bfloat16)
    torch.save({"probs": probs, "y": torch.tensor(LABELS)}, tmp_path / "b.pt")
    data = cr.load(tmp_path / "b.pt")
    np.testing.assert_allclose(data.predictions.probs, PROBS, atol=0.01)  # eight bits of each number
    assert any("bfloat16" in note for note in data.notes)


def test_pixels_are_rows_and_images_are_clusters() -> None:
    images = PROBS.reshape(3, 4, 5, 3)
    estimate = cr.brier(images, LABELS.reshape(3, 4, 5))
    expected = cr.brier(PROBS, LABELS, clusters=np.repeat(np.arange(3), 20))
    assert (estimate.value, estimate.stderr) == (expected.value, expected.stderr)
    assert any(
        "60 pixels of 3 images with 3 classes; each image is one cluster" in note for note in estimate.notes
    )
    with pytest.raises(cr.InputError, match=r"Put the classes last"):
        cr.brier(np.moveaxis(images, -1, 1), LABELS.reshape(3, 4, 5))


def test_files_of_images_are_rows_of_pixels(tmp_path: Path) -> None:
    """Groups and clusters of images are those of their pixels; unlabelled pixels are left out."""
    images, labels = PROBS.reshape(3, 4, 5, 3), LABELS.reshape(3, 4, 5).copy()
    labels[:, 0] = 255
    np.savez(tmp_path / "i.npz", probs=images, y=labels, site=np.array(["a", "b", "b"]))
    data = cr.load(tmp_path / "i.npz", ignore_label=255, groups=["site"])
    kept = labels.ravel() != 255
    np.testing.assert_array_equal(data.predictions.probs, PROBS[kept])
    np.testing.assert_array_equal(data.clusters, np.repeat(np.arange(3), 20)[kept])
    np.testing.assert_array_equal(data.groups["site"], np.repeat(["a", "b", "b"], 20)[kept])
    np.save(tmp_path / "p.npy", images)
    np.save(tmp_path / "y.npy", LABELS.reshape(3, 4, 5))
    lone = cr.load(tmp_path / "p.npy", labels=tmp_path / "y.npy")
    assert (
        "shape (3, 4, 5, 3) is read as 60 pixels of 3 images with 3 classes; each image is one cluster"
        in (lone.notes)
    )
    sites = cr.load(tmp_path / "i.npz", clusters="site", ignore_label=255)
    assert any(note.endswith("60 pixels of 3 images with 3 classes") for note in sites.notes)
    np.testing.assert_array_equal(sites.clusters, np.repeat(["a", "b", "b"], 20)[kept])


def test_several_labels_per_row_are_refused_with_the_call_that_works(tmp_path: Path) -> None:
    probs, marks = RNG.random((60, 4)), RNG.integers(0, 2, (60, 4))
    marks[0], marks[1] = 0, 1
    np.savez(tmp_path / "m.npz", probs=probs, y=marks)
    for source in ((probs, marks), (tmp_path / "m.npz",)):
        with pytest.raises(cr.InputError, match=r"as if each of the 4 columns.*clusters=numpy\.repeat"):
            cr.evaluate(*source)
    shares = probs / probs.sum(axis=1, keepdims=True)
    with pytest.raises(cr.InputError, match=r"one column per rater or several classes of a row.*from_table"):
        cr.accuracy(shares, marks)  # four raters who only ever see two of four classes are improbable
    estimate = cr.brier(probs.ravel(), marks.ravel(), clusters=np.repeat(np.arange(60), 4))
    # both classes of each question: 2 (p - y)^2
    assert estimate.value == pytest.approx(2 * ((probs - marks) ** 2).mean())


def test_a_report_replaces_a_report_and_nothing_else(tmp_path: Path) -> None:
    evaluation = cr.evaluate(PROBS, LABELS, n_resamples=19, progress=None)
    path = tmp_path / "r.html"
    evaluation.report(path)
    evaluation.report(path)
    path.write_text("<html>mine</html>")
    with pytest.raises(cr.FileError, match="already exists"):
        evaluation.report(path)
    assert len(repr(evaluation)) < 120


def test_a_saved_credal_test_is_json() -> None:
    result = cr.credal_test(cr.Ensemble(MEMBERS, member_axis=1), LABELS, n_resamples=19, rng=0)
    json.dumps(result.to_dict(), allow_nan=False)


def test_the_order_of_rows_decides_nothing_about_the_crps() -> None:
    mean = RNG.normal(size=80)
    y = mean + RNG.normal(size=80)
    order = RNG.permutation(80)
    one = cr.hypotests.decompose_crps(cr.Gaussian(mean, np.ones(80)), y)
    other = cr.hypotests.decompose_crps(cr.Gaussian(mean[order], np.ones(80)), y[order])
    np.testing.assert_allclose(one.miscalibration_interval, other.miscalibration_interval, rtol=1e-9)
    np.testing.assert_allclose(one.discrimination_interval, other.discrimination_interval, rtol=1e-9)


def test_a_remote_file_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")

    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return b"1,2\n" * (size // 4)

    monkeypatch.setattr(remote, "open_remote", lambda url: contextlib.nullcontext(Endless()))
    monkeypatch.setattr(remote, "LONGEST", 0.05)
    with pytest.raises(cr.FileError, match="must arrive within 0 seconds"):
        cr.load("https://example.org/x.csv")
    monkeypatch.setattr(remote, "LONGEST", 60.0)
    usage = shutil.disk_usage("/")._replace(free=2**22)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(cr.FileError, match="half of the free disk space"):
        cr.load("https://example.org/x.csv")


@pytest.mark.parametrize("verb", ["test", "check", "plan", "raters", "audit", "compare", "calibrate fit"])
def test_no_verb_is_told_of_a_flag_it_lacks(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_csv(tmp_path / "i.csv", lower=-np.ones(60), upper=np.ones(60), y=RNG.normal(size=60))
    more = {"audit": ["--by", "y"], "compare": [path], "calibrate fit": [str(tmp_path / "c.json")]}
    assert main([*verb.split(), path, *more.get(verb, [])]) == 2
    said = capsys.readouterr().err
    assert "--claimed" not in said or "credibly evaluate FILE --claimed" in said


def test_chunks_of_real_values_are_not_told_to_gather() -> None:
    rows = cr.scan(cr.Gaussian(np.zeros(60), np.ones(60)), RNG.normal(size=60), chunk_rows=20)
    with pytest.raises(cr.CrediblyError) as caught:
        cr.hypotests.decompose_crps(rows)
    assert "gather" not in caught.value.remedy


def test_recalibrated_tables_keep_their_other_columns(tmp_path: Path) -> None:
    columns = {
        "customer_id": [f"c{one}" for one in range(60)],
        "p_0": TWO[:, 0],
        "p_1": TWO[:, 1],
        "label": BINARY,
    }
    path = write_csv(tmp_path / "in.csv", **columns, region=NAMES, age=np.arange(60), group=NAMES)
    fit = ["calibrate", "fit", path, str(tmp_path / "c.json"), "--method", "temperature", "-q"]
    assert main(fit) == 0
    assert main(["calibrate", "apply", str(tmp_path / "c.json"), path, str(tmp_path / "out.csv"), "-q"]) == 0
    data = cr.load(tmp_path / "out.csv", groups=["region", "age", "group"])
    np.testing.assert_array_equal(data.ids, columns["customer_id"])
    np.testing.assert_array_equal(data.groups["region"], NAMES)
    np.testing.assert_array_equal(data.groups["group"], NAMES)
    np.testing.assert_array_equal(data.groups["age"], np.arange(60))


def test_twenty_thousand_columns_are_inspected_in_linear_time(tmp_path: Path) -> None:
    def seconds(k: int) -> float:
        path = tmp_path / f"{k}.csv"
        row = ",".join([f"{1 / k:.12f}"] * k)
        path.write_text(",".join(f"p_{j}" for j in range(k)) + f",label\n{row},0\n{row},1\n")
        start = time.process_time()
        cr.io.inspect(path)
        return time.process_time() - start

    seconds(100)
    assert seconds(20_000) < 30 * seconds(2_000)  # ten times the work; a hundred if quadratic


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: cr.Confidence.from_samples(["445", "787"], ["4", "8"]),
            "`samples of a question` must be a list",
        ),
        (lambda: cr.Confidence.from_samples("445", ["4", "8", "1"]), "`samples` must be a list"),
        (lambda: cr.Confidence.from_samples([["4"], 3.0], ["4", "8"]), "got 3.0"),
        (lambda: cr.Confidence.from_answers("0.5", [1, 0, 1]), "`answers` must be a list"),
        (lambda: cr.Confidence.from_answers([0.5], 1), "`correct` must be a list"),
        (lambda: cr.Confidence.from_answers([0.5], [1], words=np.ones(2)), "`words` must be a mapping"),
        (lambda: cr.Confidence.from_answers([0.5], [1], scale=np.ones(2)), "`scale` must be a number"),
        (
            lambda: cr.LabelCounts.from_table([[1, 2], [0]], n_classes=3),
            r"`table` must have shape \(n, raters\)",
        ),
    ],
)
def test_lists_are_lists(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(cr.CrediblyError, match=words):
        call()


def test_answers_may_be_a_column_with_an_index_of_its_own() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(cr.InputError, match="the first is 'maybe'"):
        cr.Confidence.from_answers(pd.Series(["maybe"], index=[7]), [1])


def test_missing_clusters_of_pandas_are_named() -> None:
    pd = pytest.importorskip("pandas")
    ids = pd.Series([pd.NA, *range(59)], dtype=object)
    with pytest.raises(cr.InputError, match="row 0 has no id"):
        cr.brier(PROBS, LABELS, clusters=ids)


@pytest.mark.parametrize("name", ["recalibration_report", "compare", "crps"])
def test_label_counts_belong_to_classes(name: str) -> None:
    real, counts = cr.Gaussian(np.zeros(60), np.ones(60)), cr.LabelCounts(RNG.integers(1, 4, size=(60, 3)))
    given = {"a": real, "b": real} if name == "compare" else real
    with pytest.raises(cr.UnsupportedError, match="about classes; got predictions of a real value"):
        getattr(cr, name)(given, counts)
