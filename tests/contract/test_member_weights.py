"""Members with weights are members that are repeated, in everything public.

Weights 1/2, 1/3 and 1/6 must give the numbers of members a, a, a, b, b, c; weights that differ by row, those
of members that are repeated by row. Where the number of members itself matters, or some are taken at random,
`OTHERWISE` says so; there weights must change the numbers of equal weights, or leave them as they are where
only the hull of the members counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import credibly as cr
from devices import cases
from written_files import written

AGAIN = [0, 0, 0, 1, 1, 2]
WEIGHTS = np.array([3, 2, 1]) / 6
TURNED = np.argsort(np.random.default_rng(4).random((cases.N, 3)), axis=1)
"""Which members have weights 1/2, 1/3 and 1/6 in each row, where these differ by row."""


def ensemble(make: cases.Make, weighted: bool) -> cr.Ensemble:
    probs = cases.MEMBERS if weighted else cases.MEMBERS[:, AGAIN]
    return cr.Ensemble(make(probs), weights=make(WEIGHTS) if weighted else None)


def dirichlet(make: cases.Make, weighted: bool) -> cr.Dirichlet:
    alpha = 8.0 * (cases.MEMBERS if weighted else cases.MEMBERS[:, AGAIN])
    return cr.Dirichlet(make(alpha), weights=make(WEIGHTS) if weighted else None)


def gaussian(make: cases.Make, weighted: bool) -> cr.Gaussian:
    mean, std = (one if weighted else one[:, AGAIN] for one in (cases.MEANS, cases.STDS))
    return cr.Gaussian(make(mean), make(std), weights=make(WEIGHTS) if weighted else None)


def equal_rows(make: cases.Make, weighted: bool) -> cr.Gaussian:
    """The same weights in every row."""
    made = gaussian(make, weighted)
    if not weighted:
        return made
    return cr.Gaussian(made.mean, made.std, weights=make(np.tile(WEIGHTS, (cases.N, 1))))


def by_row(make: cases.Make, weighted: bool) -> cr.Gaussian:
    """Other weights in every row."""
    if not weighted:
        places = np.sort(TURNED[:, AGAIN], axis=1)  # in the order of the members, which draws labels
        mean, std = (np.take_along_axis(one, places, axis=1) for one in (cases.MEANS, cases.STDS))
        return cr.Gaussian(make(mean), make(std))
    weights = np.empty((cases.N, 3))
    np.put_along_axis(weights, TURNED, np.tile(WEIGHTS, (cases.N, 1)), axis=1)
    return cr.Gaussian(make(cases.MEANS), make(cases.STDS), weights=make(weights))


KINDS: dict[str, tuple[Callable[[cases.Make, bool], Any], tuple[str, ...]]] = {
    "ensemble": (ensemble, ("ensemble",)),
    "dirichlet": (dirichlet, ("ensemble",)),
    "gaussian": (gaussian, ("gaussian",)),
    "equal rows": (equal_rows, ("gaussian",)),
    "by row": (by_row, ("gaussian",)),
}
"""What makes the predictions, and which of the makers of the cases it replaces."""

HULL = "a set is the hull of its members: weights are learned, drawn or searched over them"
OTHERS = "pairs of different members: two copies of one are such a pair"
DRAWN = "a Dirichlet becomes a set by draws at random"
ONE_MEMBER = ("predictive_check reals", "member_functions")
"""What draws one member for all rows, and needs one weight of each."""
BY_ROW = ("equal rows", "by row")
LOOSE = {"upper_entropy hull": 1e-6, "MemberTemperatures": 1e-5, "IgnoranceCalibration": 1e-5}
"""Where searches end, as near as they come."""

_LEARNED = r"weights_test (constant|boundary|gating)|witness_test|credal_test|inflate|evaluate"
_OF_SETS = (
    r"(upper_probability|lower_\w+) hull|(size|mass_function|contains|boundary|"
    r"nonspecificity\w*|distance|epistemic_score)\b.* hull|"
    r"rank_models|rank_scores|score_from_parts|compare|detection"
)
OTHERWISE: dict[str, dict[str, str]] = {
    "ensemble": {rf"{_LEARNED}|validity_test|error_over_weights": HULL, "disagreement": OTHERS},
    "dirichlet": {_LEARNED: HULL, _OF_SETS: DRAWN},
    "gaussian": {},
    "equal rows": {},
    "by row": {},
}
"""By kind and the names of cases: what is not the same, and why."""
OF_HULLS = {("ensemble", name) for name in ("weights_test constant", "weights_test gating")}
"""What sees the members alone, whatever their weights."""

PER_MEMBER = re.compile(r"\.(m|weighted)$|member|dependences|weight_names|^result\.details\.weights$")
"""Facts about members themselves: how many there are, and what each of them does."""


class _Made(Exception):
    pass


def _cases_of(target: str) -> Iterator[str]:
    """Yield the cases that begin by making these predictions."""

    def refuse(*_: Any) -> Any:
        raise LookupError

    def found(*_: Any) -> Any:
        raise _Made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, target, found)
        for name, case in cases.every().items():
            try:
                case(refuse)
            except _Made:
                yield name
            except LookupError:
                continue


OF_TARGET = {target: tuple(_cases_of(target)) for target in ("ensemble", "gaussian", "samples")}
EVERY = [(kind, name) for kind, (_, targets) in KINDS.items() for each in targets for name in OF_TARGET[each]]
DEAR = ("evaluate", "recalibration_report", "weights_test constant")


def found(kind: str, name: str, members: Literal["weighted", "repeated", "equal"]) -> dict[str, Any]:
    """Return all numbers of a case, or the error it ends with."""
    make, targets = KINDS[kind]

    def given(library: cases.Make) -> Any:
        made = make(library, members != "repeated")
        return made.replace_rows(weights=None) if members == "equal" else made

    with pytest.MonkeyPatch.context() as patch:
        for target in targets:
            patch.setattr(cases, target, given)
        try:
            result = cases.every()[name](np.asarray)
        except (cr.InputTypeError, cr.UnsupportedError) as error:
            return {"refused": error.rule}
    return {
        where: one
        for where, one in cases.facts(result)
        if not isinstance(one, str) and not PER_MEMBER.search(where) and one is not None
    }


def same(predictions: Any, other: Any, close: float) -> bool:
    """Tell whether two facts agree; what there is per member is repeated first."""
    if not isinstance(predictions, np.ndarray):
        return predictions == other or bool(
            predictions == pytest.approx(other, rel=100 * close, abs=close, nan_ok=True)
        )
    for axis in range(predictions.ndim):
        if predictions.ndim == other.ndim and (predictions.shape[axis], other.shape[axis]) == (
            len(WEIGHTS),
            len(AGAIN),
        ):
            predictions = predictions.take(AGAIN, axis=axis)
    if predictions.shape != other.shape or predictions.dtype.kind not in "fiub":
        return predictions.shape == other.shape and bool((predictions == other).all())
    return bool(np.allclose(predictions, other, rtol=100 * close, atol=close, equal_nan=True))


def differing(own: dict[str, Any], other: dict[str, Any], close: float = 1e-9) -> list[str]:
    """Return the facts that do not agree."""
    return [
        where
        for where in own | other
        if where not in own or where not in other or not same(own[where], other[where], close)
    ]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("kind", "name"),
    [pytest.param(*one, marks=pytest.mark.slow if one[1] in DEAR else ()) for one in EVERY],
)
def test_weights_are_repetitions(kind: str, name: str) -> None:
    weighted = found(kind, name, "weighted")
    assert weighted
    if kind in BY_ROW and name in ONE_MEMBER:
        assert "one weight per member" in weighted["refused"]
        return
    if kind in BY_ROW and name == "evaluate reals":  # whose check of one member for all rows is left out
        others = differing(weighted, found(kind, name, "repeated"))
        assert others
        assert all(where.startswith("result.check") for where in others)
        return
    if "refused" in weighted or not any(re.fullmatch(names, name) for names in OTHERWISE[kind]):
        assert differing(weighted, found(kind, name, "repeated"), LOOSE.get(name, 1e-9)) == []
        return
    assert bool(differing(weighted, found(kind, name, "equal"))) != ((kind, name) in OF_HULLS)
    if re.fullmatch(_LEARNED, name):  # dear, and it is clear that they differ
        return
    assert differing(weighted, found(kind, name, "repeated"))  # else it is no exception, and must go


@pytest.mark.parametrize("kind", OTHERWISE)
def test_every_exception_is_one(kind: str) -> None:
    """A name that stands for no case must go."""
    names = [name for own, name in EVERY if own == kind]
    for pattern in OTHERWISE[kind]:
        assert any(re.fullmatch(pattern, name) for name in names), pattern


EITHER_WAY = [name for name in OF_TARGET["gaussian"] if name not in (*ONE_MEMBER, "evaluate reals")]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", EITHER_WAY)
def test_equal_rows_of_weights_are_one_weight_per_member(name: str) -> None:
    assert differing(found("equal rows", name, "weighted"), found("gaussian", name, "weighted")) == []


FORMATS = {"npz": None, "json": None, "parquet": "pyarrow", "pt": "torch", "nc": "xarray"}
"""By what is needed to write them; .npy, .csv and .tsv have no place for weights."""


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_files_keep_weights(kind: str, ending: str, tmp_path: Path) -> None:
    needed = FORMATS[ending]
    if needed is not None:
        pytest.importorskip(needed)
    given = KINDS[kind][0](np.asarray, True)
    back = cr.load(written(tmp_path / f"weighted.{ending}", given)).predictions
    assert type(back) is type(given)
    np.testing.assert_array_equal(back.weights, given.weights)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", KINDS)
def test_files_without_a_place_for_weights_are_refused(kind: str, tmp_path: Path) -> None:
    given = KINDS[kind][0](np.asarray, True)
    for none in ("csv", "tsv", "npy"):
        with pytest.raises(cr.FileError, match=r"member_weights\. Use \.npz"):
            cr.save(tmp_path / f"weighted.{none}", given)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_have_the_weights_of_all(kind: str) -> None:
    given = KINDS[kind][0](np.asarray, True)
    real = isinstance(given, cr.Gaussian)
    labels, value = (cases.REALS, cr.crps) if real else (cases.LABELS, cr.brier)
    whole = value(given, labels).value
    assert value(cr.scan(given, labels, chunk_rows=10, engine="serial")).value == pytest.approx(whole)
    by_row = given.weights.ndim == 2  # type: ignore[union-attr]
    other = given[20:].replace_rows(weights=None if by_row else given.weights[::-1])  # type: ignore[index]
    parts = [(given[:20], labels[:20]), (other, labels[20:])]
    told = "weights by row" if by_row else r"weights 0\.\d+, "
    with pytest.raises(cr.InputError, match=rf"must be like the first chunk, .*{told}.* got"):
        value(cr.scan(parts, engine="serial"))


def test_weights_beside_files_and_arrays(tmp_path: Path) -> None:
    """A file without a place for weights, an array in chunks and a Dask array are told them."""
    whole = cr.brier(ensemble(np.asarray, True), cases.LABELS).value
    plain = cr.Ensemble(cases.MEMBERS)
    table = cr.save(tmp_path / "members.csv", plain, cases.LABELS)
    data = cr.load(table, member_weights=WEIGHTS.tolist())
    assert cr.brier(data).value == pytest.approx(whole, rel=1e-12)
    array = cr.save(tmp_path / "members.npy", plain, cases.LABELS)
    words: dict[str, Any] = {"member_axis": 1, "member_weights": WEIGHTS.tolist(), "engine": "serial"}
    for source, labels in ((array, tmp_path / "members-labels.npy"), (cases.MEMBERS, cases.LABELS)):
        rows = cr.scan(source, labels, chunk_rows=10, **words)
        assert rows.example.predictions.weights is not None  # type: ignore[attr-defined]
        assert cr.brier(rows).value == pytest.approx(whole, rel=1e-12)
    with pytest.raises(cr.InputError, match="`member_weights` apply to files and arrays"):
        cr.brier(cr.scan(plain, cases.LABELS, member_weights=[0.5, 0.3, 0.2]))
    with pytest.raises(cr.InputError, match="must be 3 non-negative numbers summing to 1"):
        cr.load(table, member_weights=[0.5, 0.5])
    single = cr.save(tmp_path / "single.csv", plain.mean(), cases.LABELS)
    with pytest.raises(cr.InputError, match="`member_weights` belong to members"):
        cr.load(single, member_weights=[1.0])


def test_weights_of_a_dask_array() -> None:
    dask = pytest.importorskip("dask.array")
    whole = cr.brier(ensemble(np.asarray, True), cases.LABELS).value
    members, labels = (
        dask.from_array(values, chunks=(12, *values.shape[1:])) for values in (cases.MEMBERS, cases.LABELS)
    )
    rows = cr.scan(members, labels, member_axis=1, member_weights=WEIGHTS.tolist())
    assert cr.brier(rows).value == pytest.approx(whole, rel=1e-12)
