"""Power studies: one seed gives one result, whoever does the work and however often it was stopped."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly_studies.simulate import (
    BinaryWorld,
    CalibrationTest,
    HistogramWorld,
    MulticlassWorld,
    PowerStudy,
    World,
    paired_difference,
    power_study,
)

ROOT = Path(__file__).resolve().parents[3]
WORLDS: dict[str, World] = {
    "inside": MulticlassWorld("H0,1", n_members=3, n_classes=3),
    "outside": MulticlassWorld("H1", delta=0.5, n_members=3, n_classes=3),
}
TESTS = {
    "truth": CalibrationTest("truth", "brier", n_resamples=19),
    "mean": CalibrationTest("mean", "brier", n_resamples=19),
}


def small(**changes: Any) -> PowerStudy:
    settings: dict[str, Any] = {"levels": [0.1, 0.5], "repetitions": 12, "n": 20, "rng": 3, **changes}
    return power_study(settings.pop("tests", TESTS), settings.pop("worlds", WORLDS), **settings)


@pytest.fixture(scope="module")
def base() -> np.ndarray:
    """The p-values of `small`."""
    return small().pvalues


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as opened:
        yield opened


class Backwards(Executor):
    """Does the last task first: the order of work must not matter."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Any, Any]] = []

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, function, args))
        if len(self.waiting) == 4:  # two worlds, two blocks
            for one, call, arguments in reversed(self.waiting):
                one.set_result(call(*arguments))
        return future


class Counting:
    """A test that counts its calls; its p-value is a random number."""

    def __init__(self, name: str = "counting") -> None:
        self.name, self.calls = name, 0

    def __call__(self, sample: Any, rng: np.random.Generator) -> float:
        self.calls += 1
        return float(rng.random())


def seen(sample: Any, rng: np.random.Generator, *, scale: float = 1.0) -> float:
    """A number made of the data alone: tests that see the same data agree on it."""
    return float(sample.truth.probs[0, 0] * scale)


@pytest.mark.slow
def test_no_engine_changes_a_number(base: np.ndarray) -> None:
    assert not np.isnan(base).any()
    for engine in ("serial", Backwards(), ThreadPoolExecutor(1), ThreadPoolExecutor(3)):
        np.testing.assert_array_equal(small(engine=engine).pvalues, base)


@pytest.mark.slow
def test_processes_change_no_number(base: np.ndarray, pool: ProcessPoolExecutor) -> None:
    np.testing.assert_array_equal(small(engine=pool).pvalues, base)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the cluster's own
def test_a_real_cluster_changes_no_number(base: np.ndarray) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the dask extra")
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as client:
        pvalues = small(engine=client).pvalues
    np.testing.assert_array_equal(pvalues, base)


def test_equal_worlds_have_equal_data() -> None:
    whole = small(worlds={"w": MulticlassWorld("H1", delta=0, n_members=3)})
    real = small(worlds={"w": MulticlassWorld("H1", delta=0.0, n_members=np.int64(3))})
    np.testing.assert_array_equal(whole.pvalues, real.pvalues)


def test_the_seed_decides(base: np.ndarray) -> None:
    given = small(rng=np.random.SeedSequence(3))
    np.testing.assert_array_equal(given.pvalues, base)
    assert not np.array_equal(small(rng=4).pvalues, base)
    np.testing.assert_array_equal(small(rng=given.settings["seed"]).pvalues, base)


def test_all_tests_see_the_same_data_and_repetitions_differ() -> None:
    study = small(
        tests={"a": seen, "b": functools.partial(seen, scale=1.0), "half": functools.partial(seen, scale=0.5)}
    )
    np.testing.assert_array_equal(study.pvalues[:, 0], study.pvalues[:, 1])
    np.testing.assert_array_equal(study.pvalues[:, 0], 2 * study.pvalues[:, 2])
    assert len(set(study.pvalues[:, 0].ravel())) == 24


def test_tests_draw_numbers_of_their_own() -> None:
    study = small(tests=[Counting("first"), Counting("second")])
    assert len(set(study.pvalues.ravel())) == 2 * 2 * 12


@pytest.mark.slow
def test_what_is_added_changes_nothing_else(base: np.ndarray) -> None:
    more = small(
        tests={"other": seen, **TESTS},
        worlds={"binary": BinaryWorld(), **WORLDS},
        repetitions=17,
        levels=[0.2],
    )
    np.testing.assert_array_equal(more.pvalues[1:, 1:, :12], base)


def test_counts_rates_and_intervals() -> None:
    study = small(tests=[Counting()], levels=[0.05, 0.3, 0.9])
    for w in range(2):
        for place, level in enumerate([0.05, 0.3, 0.9]):
            count = int((study.pvalues[w, 0] <= level).sum())
            exact = scipy.stats.binomtest(count, 12).proportion_ci(0.95, "exact")
            assert study.rejected[w, 0, place] == count
            assert study.rates[w, 0, place] == count / 12
            assert study.low[w, 0, place] == pytest.approx(exact.low, abs=1e-12)
            assert study.high[w, 0, place] == pytest.approx(exact.high, abs=1e-12)
    assert study.rate("outside", "counting", 0.3) == study.rates[1, 0, 1]


def test_a_p_value_on_the_level_is_a_rejection() -> None:
    study = small(tests={"fixed": lambda sample, rng: 60 / 200}, levels=[0.1 + 0.2])
    assert study.rejected.tolist() == [[[12]], [[12]]]
    assert 0.1 + 0.2 > 60 / 200  # another rounding, the same level


def test_table_and_json() -> None:
    study = small()
    rows = study.table()
    assert len(rows) == 2 * 2 * 2
    assert rows[0]["world"] == "inside"
    assert rows[0]["null"] is True
    assert rows[-1]["null"] is False
    assert {"test", "level", "n", "repetitions", "rejected", "rate", "low", "high"} <= set(rows[0])
    for row in rows:
        assert row["rate"] == study.rate(row["world"], row["test"], row["level"]) == row["rejected"] / 12
    text = json.dumps(study.to_dict(), allow_nan=False)
    assert json.loads(text)["settings"]["worlds"]["outside"]["delta"] == 0.5
    assert repr(study) == "PowerStudy(2 worlds, 2 tests, 2 levels, n = 20, 12 repetitions)"


def test_results_of_tests_are_read_by_their_pvalue() -> None:
    def whole(sample: Any, rng: np.random.Generator) -> cr.results.HypotestResult:
        return cr.calibration_test(
            sample.predictions, sample.labels, statistics="brier", n_resamples=19, rng=rng
        )

    assert small(tests={"mean": whole}).pvalues.min() >= 0.05


def test_progress_reaches_the_total() -> None:
    calls: list[tuple[int, int]] = []
    small(progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


# --- on disk


def test_only_what_is_new_is_computed(tmp_path: Path) -> None:
    first = Counting("a")
    before = small(tests=[first], out=tmp_path)
    assert first.calls == 24
    again, other = Counting("a"), Counting("b")
    after = small(tests=[again, other], out=tmp_path, repetitions=20)
    assert again.calls == 2 * 10  # [0, 10) is there; [10, 12) has become [10, 20)
    assert other.calls == 2 * 20
    np.testing.assert_array_equal(after.pvalues[:, 0, :12], before.pvalues[:, 0])
    third = Counting("b")
    small(tests=[third], out=tmp_path, repetitions=20)
    assert third.calls == 0


def test_other_settings_are_another_test(tmp_path: Path) -> None:
    brier = small(tests={"one": CalibrationTest("mean", "brier", 19)}, out=tmp_path)
    loss = small(tests={"one": CalibrationTest("mean", "log_loss", 19)}, out=tmp_path)
    assert not np.array_equal(brier.pvalues, loss.pvalues)
    np.testing.assert_array_equal(
        loss.pvalues, small(tests={"one": CalibrationTest("mean", "log_loss", 19)}).pvalues
    )


def test_no_seed_takes_the_one_on_disk(tmp_path: Path) -> None:
    first = small(out=tmp_path, rng=None)
    again = small(out=tmp_path, rng=None, repetitions=30)
    assert again.settings["seed"] == first.settings["seed"]
    np.testing.assert_array_equal(again.pvalues[:, :, :12], first.pvalues)


@pytest.mark.parametrize("change", [{"rng": 4}, {"n": 21}])
def test_parts_of_another_study_are_refused(change: dict[str, int], tmp_path: Path) -> None:
    small(out=tmp_path)
    with pytest.raises(cr.FileError, match="must be empty or hold an earlier part"):
        small(out=tmp_path, **change)


def test_foreign_and_damaged_files(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "settings.json").write_text("{}")
    with pytest.raises(cr.FileError, match="it holds other files"):
        small(out=foreign)
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(cr.FileError, match="must be a directory"):
        small(out=file)
    good = tmp_path / "good"
    small(out=good)
    part = next(path for path in good.glob("*-0-10.json"))
    part.write_text('{"half": [0.1')
    with pytest.raises(cr.FileError, match=r"must be a whole .* Remove it; it will be computed again"):
        small(out=good)
    for wrong in ('{"short": [0.1]}', '["no", "names"]', json.dumps({"beyond": [2.0] * 10})):
        part.write_text(wrong)
        with pytest.raises(cr.InputError, match="must hold 10 p-values per test"):
            small(out=good)
    (good / "facts.json").write_text("{")
    with pytest.raises(cr.FileError, match=r"facts\.json' must be a whole .* remove this one to begin again"):
        small(out=good)


SCRIPT = """
    import sys, time
    sys.path.insert(0, {source!r})
    from credibly_studies.simulate import CalibrationTest, MulticlassWorld, power_study

    class Slow(CalibrationTest):
        def __call__(self, sample, rng):
            time.sleep({delay})
            return super().__call__(sample, rng)

    study = power_study(
        {{"slow": Slow("mean", "brier", 19)}},
        {{"inside": MulticlassWorld("H0,1"), "outside": MulticlassWorld("H1", delta=0.5)}},
        levels=[0.1], repetitions=40, n=20, rng=5, out={out!r},
    )
    print(study.pvalues.tobytes().hex())
"""


def script(out: Path, delay: float) -> str:
    return textwrap.dedent(SCRIPT.format(source=str(ROOT / "src"), out=str(out), delay=delay))


def here(out: Path) -> str:
    """Run the study in this process, where it takes no time to begin, and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(script(out, 0.0), {"__name__": "__main__"})
    return printed.getvalue()


@pytest.mark.slow
def test_a_killed_study_resumes_to_identical_numbers(tmp_path: Path) -> None:
    out = tmp_path / "killed"
    running = subprocess.Popen([sys.executable, "-c", script(out, 0.02)], stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while len(list(out.glob("*-*-*.json"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
    assert running.returncode == -signal.SIGKILL
    finished = {path.name: path.stat().st_mtime_ns for path in out.glob("*-*-*.json")}
    assert 3 <= len(finished) < 8  # killed in the middle
    assert here(out) == here(tmp_path / "whole")
    assert len(list(out.glob("*-*-*.json"))) == 8
    assert all((out / name).stat().st_mtime_ns == changed for name, changed in finished.items())


# --- what goes wrong


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), None, "0.1", True])
def test_what_is_no_p_value(value: object) -> None:
    with pytest.raises(cr.InputError, match="test 'bad' must return a p-value"):
        small(tests={"bad": lambda sample, rng: value})


def test_an_error_says_where_it_happened() -> None:
    def fails(sample: Any, rng: np.random.Generator) -> float:
        raise ZeroDivisionError("no labels")

    with pytest.raises(ZeroDivisionError) as caught:
        small(tests={"fails": fails})
    assert caught.value.__notes__ == [
        "in test 'fails', world 'J25 multiclass H0,1', repetition 0",
    ]


@pytest.mark.slow
def test_an_error_of_a_worker_says_where_it_happened(pool: ProcessPoolExecutor) -> None:
    unfit = {"truth": CalibrationTest("truth", "brier", 19)}
    worlds = {"raters": HistogramWorld()}
    with pytest.raises(cr.UnsupportedError, match="needs a world of class predictions") as caught:
        small(tests=unfit, worlds=worlds, engine=pool)
    assert "repetition 0" in caught.value.__notes__[0]


def _ends_its_process(sample: Any, rng: np.random.Generator) -> float:
    os._exit(1)


@pytest.mark.slow
def test_what_processes_cannot_do() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(cr.InputTypeError, match=r"must be picklable.*\(no lambda\)"):
            small(tests={"local": lambda sample, rng: 0.5}, engine=pool)
        with pytest.raises(cr.CrediblyError, match="the workers must run until the work is done"):
            small(tests={"ends": _ends_its_process}, engine=pool)


class Paused(Executor):
    """Does the first task only; the others wait until they are cancelled."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if not self.futures:
            try:
                future.set_result(function(*args))
            except cr.InputError as error:
                future.set_exception(error)
        self.futures.append(future)
        return future


def test_what_has_not_begun_is_cancelled() -> None:
    pool = Paused()
    with pytest.raises(cr.InputError):
        small(tests={"bad": lambda sample, rng: 2.0}, engine=pool)
    assert [future.cancelled() for future in pool.futures] == [False, True, True, True]


class Undeclared(MulticlassWorld):
    """Settings outside dataclass fields would not be part of its address."""


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"tests": {}}, "`tests` must not be empty"),
        ({"tests": {"x": 3}}, "`tests` must be callables"),
        ({"tests": "skce"}, "`tests` must be callables; \"'skce'\" is a str"),
        ({"worlds": BinaryWorld}, "`worlds` must be worlds"),
        ({"tests": [seen, seen]}, "`tests` must have distinct names"),
        ({"worlds": []}, "`worlds` must not be empty"),
        ({"worlds": {"x": "S1"}}, "`worlds` must be worlds"),
        ({"worlds": Undeclared()}, "`worlds` must be worlds, that is frozen dataclasses"),
        ({"worlds": [BinaryWorld(), BinaryWorld(degree=3)]}, "`worlds` must have distinct names"),
        ({"levels": []}, "`levels` must not be empty"),
        ({"levels": [0.5, 0.1]}, "`levels` must increase"),
        ({"levels": [0.0]}, "`level` must lie strictly between 0 and 1"),
        ({"levels": [float("nan")]}, "`level` must lie strictly between 0 and 1"),
        ({"repetitions": 0}, "`repetitions` must be an integer of at least 1"),
        ({"n": 1.5}, "`n` must be an integer"),
        ({"engine": "threads"}, '`engine` must be "serial", a concurrent.futures.Executor'),
        ({"out": 7}, "`path` must be a path"),
        ({"progress": "yes"}, "`progress` must be True, False or callable"),
    ],
)
def test_bad_input(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        small(**changes)


def test_unknown_names_and_levels() -> None:
    study = small()
    with pytest.raises(cr.InputError, match="Did you mean 'inside'"):
        study.rate("insid", "truth", 0.1)
    with pytest.raises(cr.InputError, match="`test` must be one of the study's"):
        study.rate("inside", "median", 0.1)
    with pytest.raises(cr.InputError, match=r"`level` must be one of 0\.1, 0\.5"):
        study.rate("inside", "truth", 0.05)


def test_one_repetition_one_instance() -> None:
    study = small(repetitions=1, n=1, tests=[Counting()], worlds=BinaryWorld())
    assert study.pvalues.shape == (1, 1, 1)
    assert (study.low >= 0).all()
    assert (study.high <= 1).all()


# --- pairs


def fake(pvalues: list[list[float]]) -> PowerStudy:
    values = np.array([pvalues])
    return PowerStudy(
        tests=("a", "b"), worlds=("w",), null=(True,), levels=np.array([0.1]), pvalues=values,
        rejected=(values <= 0.1).sum(axis=2)[:, :, None], low=np.zeros((1, 2, 1)), high=np.ones((1, 2, 1)),
        n=5, repetitions=values.shape[2],
    )  # fmt: skip


@pytest.mark.slow
def test_paired_difference() -> None:
    """Of six data sets a rejects five and b two: both 1, only a 4, only b 1, neither 0."""
    study = fake([[0.01, 0.02, 0.03, 0.04, 0.1, 0.9], [0.01, 0.5, 0.5, 0.5, 0.5, 0.05]])
    difference = paired_difference(study, "w", "a", "b", level=0.1)
    assert (difference.both, difference.only_first, difference.only_second, difference.neither) == (
        1,
        4,
        1,
        0,
    )
    assert difference.difference == pytest.approx(0.5)  # 5/6 - 2/6
    assert difference.pvalue == pytest.approx(scipy.stats.binomtest(1, 5).pvalue)  # 2 (1 + 5) / 32 = 0.375
    gaps = np.array([0, 1, 1, 1, 1, -1])
    assert difference.stderr == pytest.approx(gaps.std(ddof=1) / np.sqrt(6))
    same = paired_difference(study, "w", "a", "a", level=0.1)
    assert (same.difference, same.pvalue) == (0.0, 1.0)
