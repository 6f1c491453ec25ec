"""What all studies share: sizes, seeds, parts, claims, tables for people and programs, inputs made once."""

from __future__ import annotations

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.results.base import jsonable
from credibly_studies import STUDIES, Claim, Findings, Run, Study, StudyTable, studies
from credibly_studies.inputs import cache_folder, public_arrays, public_data, trained
from credibly_studies.results import printed_claim
from credibly_studies.study import Tables


@dataclasses.dataclass(frozen=True)
class Draws:
    n: int


def square(number: int) -> int:
    return number * number


def mean_of_draws(size: Draws, run: Run) -> Findings:
    """A study with everything: random numbers, tasks for the engine, an interval, a claim."""
    mean = float(run.generator(1).random(size.n).mean())
    squares = run.map(square, range(4))
    half = 2 / size.n**0.5
    table = StudyTable(
        "means", "Means", ("n", "mean", "interval"), [(size.n, mean, (mean - half, mean + half))]
    )
    long = StudyTable("squares", "Squares", ("square",), [(square,) for square in squares], on_page=False)
    outcome = "confirmed" if mean - half < 0.5 < mean + half else "not confirmed"
    return Findings((table, long), (Claim("X99 Fig. 1", "the mean is a|half", ".5", f"{mean:.2f}", outcome),))


STUDY = Study(
    "means",
    "Means of uniform numbers",
    "X99 Fig. 1",
    Draws(100),
    Draws(1000),
    mean_of_draws,
    design="as printed",
)


def test_a_result_has_tables_claims_and_settings() -> None:
    result = STUDY.run("full", rng=3)
    assert str(result) == "StudyResult(means, full, 1 of 1 tested claims confirmed)"
    kept = json.loads(json.dumps(result.to_dict()))
    assert kept["settings"]["size"] == {"n": 1000}
    assert list(kept["tables"]) == ["means"]  # the long one has a file of its own
    assert [row["square"] for row in result.table("squares").records()] == [0, 1, 4, 9]
    assert kept["claims"][0]["outcome"] == "confirmed"
    assert result.table("means").intervals == {"interval"}


def test_the_page_has_claims_and_short_tables_with_three_digits() -> None:
    page = STUDY.run(rng=3).markdown()
    assert "the mean is a\\|half" in page  # a bar of the text is no border of the table
    assert "| 100 | 0." in page
    assert " to 0." in page
    assert "square" not in page


def test_no_outcome_without_an_experiment() -> None:
    none = dataclasses.replace(STUDY, design="")
    with pytest.raises(ValueError, match="needs an experiment"):
        none.run()
    by_print = printed_claim("X99 Table 1", "the mean is a half", "0.5", "confirmed")
    assert (by_print.outcome, by_print.design, by_print.by_print) == ("", "", "confirmed")
    assert STUDY.designed([by_print]) == [by_print]
    with pytest.raises(ValueError, match="needs an experiment"):
        STUDY.designed([dataclasses.replace(by_print, design="another")])


def test_a_study_can_judge_its_tables_as_they_are_kept() -> None:
    def judge(tables: Tables, size: Draws) -> list[Claim]:
        (row,) = tables["means"]
        low, high = row["interval"]
        outcome = "confirmed" if low < 0.5 < high else "not confirmed"
        return [Claim("X99 Fig. 1", f"the mean of {size.n} is a half", "", f"{row['mean']:.2f}", outcome)]

    study = dataclasses.replace(STUDY, judge=judge)
    result = study.run("full", rng=3)
    (claim,) = result.findings.claims
    assert (claim.statement, claim.design) == ("the mean of 1000 is a half", "as printed")
    kept = json.loads(json.dumps(result.to_dict()))
    assert kept["claims"] == jsonable(study.designed(judge(kept["tables"], study.full)))


def test_the_seed_alone_decides() -> None:
    record, other = STUDY.run(rng=3).to_dict(), STUDY.run(rng=4).to_dict()
    assert record["tables"]["means"] != other["tables"]["means"]
    with ThreadPoolExecutor(2) as pool:
        assert STUDY.run(rng=3, engine=pool).to_dict() == record


def test_progress_counts_tasks() -> None:
    told: list[tuple[int, int]] = []
    STUDY.run(progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_parts_of_another_run_are_refused(tmp_path: Path) -> None:
    STUDY.run(rng=1, out=tmp_path)
    STUDY.run(rng=1, out=tmp_path)
    with pytest.raises(cr.CrediblyError, match="seed"):
        STUDY.run(rng=2, out=tmp_path)
    with pytest.raises(cr.CrediblyError, match="size"):
        STUDY.run("full", rng=1, out=tmp_path)


def test_a_wrong_size_or_engine_is_refused() -> None:
    with pytest.raises(cr.CrediblyError, match="`size`"):
        STUDY.run("huge")  # type: ignore[arg-type]
    with pytest.raises(cr.CrediblyError, match="`engine`"):
        STUDY.run(engine=3)


def test_arrays_are_made_once_per_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDIBLY_CACHE", str(tmp_path / "cache"))
    made: list[int] = []

    def make() -> dict[str, np.ndarray]:
        made.append(1)
        return {"probs": np.full(3, len(made))}

    first = trained("net", Draws(5), make)
    again = trained("net", Draws(5), make)
    assert len(made) == 1
    np.testing.assert_array_equal(again["probs"], first["probs"])
    assert trained("net", Draws(6), make)["probs"][0] == 2


def ones() -> dict[str, np.ndarray]:
    return {"probs": np.ones(3)}


def never() -> dict[str, np.ndarray]:
    raise AssertionError("must not be trained")


@pytest.mark.parametrize("damage", ["empty", "text", "half", "array", "another"])
def test_damaged_arrays_are_told(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDIBLY_CACHE", str(tmp_path))
    trained("net", Draws(5), ones)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    if damage in ("array", "another"):
        with path.open("wb") as file:
            np.save(file, np.ones(3)) if damage == "array" else np.savez(file, probs=np.ones(3))
    else:
        path.write_bytes({"empty": b"", "text": b"a text", "half": whole[: len(whole) // 2]}[damage])
    with pytest.raises(cr.CrediblyError, match=r"net-\w+\.npz' must .* Remove it, and it is made again"):
        trained("net", Draws(5), never)


def test_a_cache_that_cannot_be_written_is_told_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CREDIBLY_CACHE", str(tmp_path / "file"))
    with pytest.raises(cr.CrediblyError, match=r"file' must be a folder .* Set CREDIBLY_CACHE"):
        trained("net", Draws(5), never)


def test_variables_set_to_nothing_are_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDIBLY_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "credibly" / "studies"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "credibly" / "studies"


def test_arrays_of_public_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDIBLY_DATA", str(tmp_path))
    (tmp_path / "set").mkdir()
    np.savez(tmp_path / "set" / "two.npz", labels=[0, 1], probs=[[1.0], [2.0]])
    np.save(tmp_path / "set" / "one.npy", [3, 4])
    probs, labels = public_arrays("set/two.npz", "probs", "labels")
    assert (probs.tolist(), labels.tolist()) == ([[1.0], [2.0]], [0, 1])
    assert public_arrays("set/one.npy")[0].tolist() == [3, 4]
    with pytest.raises(cr.CrediblyError, match=r"two\.npz' must hold logits; 'logits' is not there"):
        public_arrays("set/two.npz", "logits")
    (tmp_path / "set" / "one.npy").write_bytes(b"")
    with pytest.raises(cr.CrediblyError, match=r"one\.npy' must be a whole"):
        public_arrays("set/one.npy")


def test_absent_data_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDIBLY_DATA", str(tmp_path))
    with pytest.raises(cr.CrediblyError, match=r"labels\.npy' is needed .* not there\. Set CREDIBLY_DATA"):
        public_data("cifar10", "labels.npy")
    monkeypatch.setenv("CREDIBLY_DATA", "")
    with pytest.raises(cr.CrediblyError, match=r"'cifar10/labels.npy' is needed.*names no folder"):
        public_data("cifar10", "labels.npy")
    monkeypatch.delenv("CREDIBLY_DATA")
    with pytest.raises(cr.CrediblyError, match="names no folder"):
        public_data("cifar10", "labels.npy")


@pytest.mark.parametrize("value", [None, ""])
def test_data_are_looked_for_nowhere_but_in_the_folder_that_is_named(
    value: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "labels.npy").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CREDIBLY_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("CREDIBLY_DATA", value)
    with pytest.raises(cr.CrediblyError, match=r"'labels\.npy' is needed .* CREDIBLY_DATA names no folder"):
        public_data("labels.npy")


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_says_what_it_follows_and_how_large_it_is(name: str) -> None:
    study = studies()[name]
    assert study.name == name
    assert study.reference.split()[0] in {"M23", "J25", "C25", "D21", "P21"}
    assert study.title
    assert not study.title.endswith(".")
    assert dataclasses.is_dataclass(study.small)
    assert type(study.small) is type(study.full)
    assert set(study.needs) <= {"data"}
