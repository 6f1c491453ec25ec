"""What people hand over by mistake, or mean well: every door answers in the library's own words."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr

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
    found = cr.load(path, drop_invalid=True)
    np.testing.assert_array_equal(found.predictions.probs[:, 1], np.delete(scores, 3))
    np.testing.assert_array_equal(found.labels, np.delete(BINARY, 3))


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
    found = cr.load(path)
    assert found.classes == classes
    np.testing.assert_array_equal(found.labels, LABELS)


# Labels, groups and clusters


def test_masked_clusters_are_missing_ones() -> None:
    clusters = np.ma.array(np.arange(60) % 6, mask=np.arange(60) == 2)
    with pytest.raises(cr.InputError, match="row 2 has no id"):
        cr.calibration_test(PROBS, LABELS, clusters=clusters, statistics="skce", n_resamples=19)


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
    ],
)
def test_wrong_types_are_answered(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        cr.evaluate(PROBS, LABELS, **settings)


def test_bytes_are_names() -> None:
    found = cr.audit(PROBS, LABELS, groups=np.char.encode(NAMES), n_resamples=19)
    expected = cr.audit(PROBS, LABELS, groups=NAMES, n_resamples=19)
    assert [one.group for one in found.groups] == [one.group for one in expected.groups]


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
    named = [one.name for one in parameters.values() if one.kind is not one.VAR_KEYWORD]
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
