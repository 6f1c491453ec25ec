"""How often tests reject in worlds whose truth is known: level where the hypothesis is true, power elsewhere.

Data and test of a repetition are addressed by (seed, world, repetition) and (seed, world, repetition, test):
no number of workers, no order and no interruption changes a p-value, and a test added later changes no other.

Names, keys and random numbers of the parts of a study: the same in every process and in every order.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.binomial import clopper_pearson
from credibly._arrays.checks import require_integer
from credibly._arrays.engines import Engine
from credibly._arrays.errors import InputError, InputTypeError, nearest
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.results.base import Result, jsonable, require_level
from credibly.scale.engines import as_engine
from credibly_studies.checkpoints import Checkpoints
from credibly_studies.simulate.world import World, WorldSample

_ROUNDING = 1e-12  # a level such as 0.1 + 0.2 meets p-values such as 60 / 200


def rejections(pvalues: HostArray, levels: HostArray | float) -> HostArray:
    """Return which p-values are at most their level."""
    return np.asarray(pvalues <= levels + _ROUNDING)


@dataclasses.dataclass(frozen=True, eq=False)
class PowerStudy(Result):
    """How often each test rejects in each world, at each level.

    Attributes
    ----------
    tests, worlds : tuple of str
        Names.
    null : tuple of (bool or None)
        Whether the hypothesis is true in each world; None if that differs between instances.
    levels : ndarray (l,)
        Levels of the tests.
    pvalues : ndarray (worlds, tests, repetitions)
        All p-values; in one world and repetition all tests saw the same data.
    rejected : ndarray (worlds, tests, l) of int
        How many of the p-values are at most the level.
    low, high : ndarray (worlds, tests, l)
        95 % intervals of the rejection probability (Clopper-Pearson).
    n : int
        Instances per data set.
    repetitions : int
        Data sets per world.
    settings : mapping
        Everything needed to repeat the study: the seed, and the settings of worlds and tests.
    """

    tests: tuple[str, ...]
    worlds: tuple[str, ...]
    null: tuple[bool | None, ...]
    levels: HostArray
    pvalues: HostArray
    rejected: HostArray
    low: HostArray
    high: HostArray
    n: int
    repetitions: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def rates(self) -> HostArray:
        """Share of rejections, (worlds, tests, l)."""
        return np.asarray(self.rejected / self.repetitions)

    def place(self, world: str, test: str) -> tuple[int, int]:
        """Return the indices of a world and a test in the arrays.

        Parameters
        ----------
        world, test : str
            Names.

        Returns
        -------
        tuple of int
            Indices into the first two axes.
        """
        for subject, name, known in (("`world`", world, self.worlds), ("`test`", test, self.tests)):
            if name not in known:
                raise InputError(subject, "must be one of the study's", f"got {name!r}", nearest(name, known))
        return self.worlds.index(world), self.tests.index(test)

    def rate(self, world: str, test: str, level: float = 0.05) -> float:
        """Return the share of rejections at one of the study's levels.

        Parameters
        ----------
        world, test : str
            Names.
        level : float
            One of `levels`.

        Returns
        -------
        float
            Rejections over repetitions.
        """
        return float(self.rates[*self.place(world, test), self.level_place(level)])

    def level_place(self, level: float) -> int:
        """Return the index of a level in `levels`.

        Parameters
        ----------
        level : float
            One of `levels`.

        Returns
        -------
        int
            Its index.
        """
        places = np.flatnonzero(np.abs(self.levels - level) <= 1e-12)
        if not places.size:
            text = ", ".join(f"{level:g}" for level in self.levels)
            raise InputError("`level`", f"must be one of {text}", f"got {level!r}", "Run the study with it.")
        return int(places[0])

    def table(self) -> list[dict[str, Any]]:
        """Return one row per world, test and level.

        Returns
        -------
        list of dict
            World, whether the hypothesis is true there, test, level, n, repetitions, rejected, rate and its
            interval; ``pandas.DataFrame(study.table())`` makes a frame of it.
        """
        return [
            {
                "world": world,
                "null": self.null[w],
                "test": test,
                "level": float(level),
                "n": self.n,
                "repetitions": self.repetitions,
                "rejected": int(self.rejected[w, t, place]),
                "rate": float(self.rejected[w, t, place] / self.repetitions),
                "low": float(self.low[w, t, place]),
                "high": float(self.high[w, t, place]),
            }
            for w, world in enumerate(self.worlds)
            for t, test in enumerate(self.tests)
            for place, level in enumerate(self.levels)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, the table with its rates included."""
        return {**super().to_dict(), "table": self.table()}

    def __str__(self) -> str:
        size = f"{len(self.worlds)} worlds, {len(self.tests)} tests, {len(self.levels)} levels"
        return f"PowerStudy({size}, n = {self.n}, {self.repetitions} repetitions)"

    __repr__ = __str__


def address(seed: Seed, *keys: int) -> np.random.SeedSequence:
    """Return the random numbers at these counters."""
    return np.random.SeedSequence(entropy=list(seed), spawn_key=keys)


def key_of(value: Any) -> int:
    """Return 63 bits that depend on a value alone, the same in every process and for 0 and 0.0."""
    text = json.dumps(_with_floats(jsonable(value)), sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") >> 1


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_floats(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_with_floats(entry) for entry in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def describe(test: Any) -> Any:
    """Return what tells a test from others: its settings, or where its code is."""
    if callable(getattr(test, "settings", None)):
        return {type(test).__qualname__: test.settings()}
    if isinstance(test, functools.partial):
        return [describe(test.func), jsonable(test.args), jsonable(test.keywords)]
    if dataclasses.is_dataclass(test) and not isinstance(test, type):
        return {type(test).__qualname__: jsonable(test)}
    owner = test if hasattr(test, "__qualname__") else type(test)
    return f"{owner.__module__}.{owner.__qualname__}"


def by_name(given: Any, what: str) -> dict[str, Any]:
    """Return tests or worlds by name; names that are missing are their own."""
    if isinstance(given, Mapping):
        named = {str(name): value for name, value in given.items()}
    else:
        alone = isinstance(given, str | type) or not isinstance(given, Iterable)
        several = [given] if alone else list(given)
        names = [_own_name(value) for value in several]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                f"`{what}`",
                "must have distinct names",
                f"{twice[0]!r} is the name of {names.count(twice[0])}",
                f"Give a dictionary of names and {what}.",
            )
        named = dict(zip(names, several, strict=True))
    if not named:
        raise InputError(f"`{what}`", "must not be empty", "got none", "Give at least one.")
    return named


def _own_name(value: Any) -> str:
    if isinstance(value, str | type):
        return repr(value)
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or type(value).__name__)


Test = Callable[[WorldSample, np.random.Generator], Any]
"""Called with a sample and a generator; returns a p-value, or a result that has one in `.pvalue`."""

LEVELS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)

_BLOCK = 10  # repetitions per task and per file


@dataclasses.dataclass(frozen=True)
class _Block:
    """Repetitions [start, stop) of one world for some tests: what one worker does at a time."""

    world: World
    start: int
    stop: int
    n: int
    seed: Seed
    tests: tuple[tuple[str, Test], ...]


@takes_rng
def power_study(
    tests: Mapping[str, Test] | Sequence[Test] | Test,
    worlds: Mapping[str, World] | Sequence[World] | World,
    *,
    levels: Sequence[float] = LEVELS,
    repetitions: int = 200,
    n: int = 400,
    engine: Any = None,
    rng: Any = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
) -> PowerStudy:
    """Count how often tests reject in simulated worlds whose truth is known.

    Parameters
    ----------
    tests : mapping of str to callable, or callables
        ``test(sample, rng)`` receives a :class:`WorldSample` and a numpy Generator and returns a p-value, or
        a result with a ``.pvalue``. Default names: their own.
    worlds : mapping of str to World, or worlds
        Where to try them. Default names: their own.
    levels : sequence of float
        Levels at which rejections are counted.
    repetitions : int
        Data sets per world; all tests see the same ones.
    n : int
        Instances per data set.
    engine : None, "serial", concurrent.futures.Executor or distributed.Client
        Where to run, as for `scan`. Default: the current `distributed.Client` if there is one, else this
        process. Worlds and tests must be picklable for other processes.
    rng : None, int or Generator
        Seed. None takes the seed of the study found in `out`.
    out : path, optional
        Directory for finished parts. An interrupted study continues where it stopped, and a study with more
        repetitions, worlds or tests computes only what is new.
    progress : callable or True, optional
        Called with (done, total); True writes to standard error after one second, if that is a terminal.

    Returns
    -------
    PowerStudy
        Rejection rates with binomial intervals, and all p-values.

    Notes
    -----
    The result depends on the seed alone: not on the engine, its number of workers, or an interruption. In
    `out` a test is recognised by its name and its settings, if it has any; after a change inside a plain
    function use another directory.

    Examples
    --------
    >>> from credibly_studies.simulate import CalibrationTest, MulticlassWorld, power_study
    >>> worlds = [MulticlassWorld("H0,1"), MulticlassWorld("H1", delta=0.5)]
    >>> test = CalibrationTest("truth", "skce", n_resamples=39)
    >>> study = power_study({"true weights": test}, worlds, levels=[0.1], repetitions=20, n=100, rng=7)
    >>> study
    PowerStudy(2 worlds, 1 tests, 1 levels, n = 100, 20 repetitions)
    >>> study.rate("J25 multiclass H1, delta 0.5", "true weights", level=0.1) > 0.5
    True
    """
    named_tests, named_worlds = by_name(tests, "tests"), by_name(worlds, "worlds")
    for name, test in named_tests.items():
        if not callable(test):
            raise InputTypeError(
                "`tests`",
                "must be callables",
                f"{name!r} is a {type(test).__name__}",
                "Give `test(sample, rng)`.",
            )
    for name, world in named_worlds.items():
        # its own settings, not those of a base, are what tells it from others
        if not isinstance(world, World) or "__dataclass_fields__" not in vars(type(world)):
            raise InputTypeError(
                "`worlds`",
                "must be worlds, that is frozen dataclasses derived from `credibly_studies.simulate.World`",
                f"{name!r} is a {type(world).__name__}",
                "See `credibly_studies.simulate` for the available ones.",
            )
    heights = _checked_levels(levels)
    repetitions, n = require_integer(repetitions, "repetitions", 1), require_integer(n, "n", 1)
    chosen = as_engine(engine)
    report = as_progress(progress)
    kept = None if out is None else Checkpoints(out)
    seed = _seed_of(rng, kept)
    if kept is not None:
        kept.begin({"version": _version(), "seed": list(seed), "n": n, "block": _BLOCK})
    pvalues = _all_pvalues(named_tests, named_worlds, repetitions, n, seed, chosen, kept, report)
    rejected = rejections(pvalues[:, :, :, None], heights).sum(axis=2)
    intervals = np.array([clopper_pearson(int(count), repetitions) for count in rejected.ravel()])
    low, high = intervals.T.reshape(2, *rejected.shape)
    return PowerStudy(
        tests=tuple(named_tests),
        worlds=tuple(named_worlds),
        null=tuple(world.null for world in named_worlds.values()),
        levels=heights,
        pvalues=pvalues,
        rejected=rejected,
        low=low,
        high=high,
        n=n,
        repetitions=repetitions,
        settings={
            "seed": list(seed),
            "worlds": {name: world.settings() for name, world in named_worlds.items()},
            "tests": {name: describe(test) for name, test in named_tests.items()},
        },
    )


def _all_pvalues(
    tests: Mapping[str, Test],
    worlds: Mapping[str, World],
    repetitions: int,
    n: int,
    seed: Seed,
    engine: Engine,
    kept: Checkpoints | None,
    progress: Progress | None,
) -> np.ndarray[Any, Any]:
    """Return all p-values (worlds, tests, repetitions), from `kept` where they are there."""
    keys = {name: f"{key_of([name, describe(test)]):016x}" for name, test in tests.items()}
    pvalues = np.full((len(worlds), len(tests), repetitions), np.nan)
    tasks: list[_Block] = []
    places: list[tuple[int, str, dict[str, list[float]]]] = []  # world, file, what the file has
    for w, world in enumerate(worlds.values()):
        for start in range(0, repetitions, _BLOCK):
            stop = min(start + _BLOCK, repetitions)
            file = f"{key_of(world.settings()):016x}-{start}-{stop}"
            found = {} if kept is None else _kept_pvalues(kept, file, stop - start)
            missing = []
            for t, (name, test) in enumerate(tests.items()):
                if keys[name] in found:
                    pvalues[w, t, start:stop] = found[keys[name]]
                else:
                    missing.append((name, test))
            if missing:
                tasks.append(_Block(world, start, stop, n, seed, tuple(missing)))
                places.append((w, file, found))
    done = total = len(worlds) * -(-repetitions // _BLOCK)
    done -= len(tasks)
    names = list(tests)
    for place, values in engine.unordered(_run_block, tasks):
        block, (w, file, found) = tasks[place], places[place]
        for name, value in values.items():
            pvalues[w, names.index(name), block.start : block.stop] = value
            found[keys[name]] = value
        if kept is not None:
            kept.write(file, found)
        done += 1
        if progress is not None:
            progress(done, total)
    return pvalues


def _run_block(block: _Block) -> dict[str, list[float]]:
    """Return the p-values of every test of a block."""
    pvalues: dict[str, list[float]] = {name: [] for name, _ in block.tests}
    world_key = key_of(block.world.settings())
    for repetition in range(block.start, block.stop):
        sample = block.world.draw(block.n, rng=address(block.seed, world_key, repetition))
        for name, test in block.tests:
            generator = np.random.default_rng(address(block.seed, world_key, repetition, key_of(name)))
            try:
                pvalues[name].append(_pvalue(test(sample, generator), name))
            except Exception as error:
                error.add_note(f"in test {name!r}, world {block.world.name!r}, repetition {repetition}")
                raise
    return pvalues


def _pvalue(result: Any, name: str) -> float:
    value = getattr(result, "pvalue", result)
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise InputError(
            f"test {name!r}",
            "must return a p-value between 0 and 1, or a result that has one",
            f"got {value!r}",
            "Return `result.pvalue`.",
        )
    return float(value)


def _kept_pvalues(kept: Checkpoints, file: str, count: int) -> dict[str, list[float]]:
    kept_values = kept.read(file)
    if kept_values is None:
        return {}
    if not isinstance(kept_values, dict) or not all(
        _are_pvalues(column, count) for column in kept_values.values()
    ):
        raise InputError(
            f"'{kept.directory / file}.json'",
            f"must hold {count} p-values per test",
            "it does not",
            "Remove it; it will be computed again.",
        )
    return kept_values


def _are_pvalues(values: Any, count: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) == count
        and all(isinstance(pvalue, int | float) and 0 <= pvalue <= 1 for pvalue in values)
    )


def _seed_of(rng: Any, kept: Checkpoints | None) -> Seed:
    if rng is None and kept is not None:
        facts = kept.facts()
        if facts is not None and "seed" in facts:
            return as_seed(facts["seed"])
    return as_seed(rng)


def _checked_levels(levels: Sequence[float]) -> np.ndarray[Any, Any]:
    several = list(levels) if isinstance(levels, Iterable) else [levels]
    if not several:
        raise InputError("`levels`", "must not be empty", "got none", "Use [0.05].")
    for level in several:
        require_level(level)
    heights = np.array(several, dtype=float)
    if (np.diff(heights) <= 0).any():
        raise InputError("`levels`", "must increase", f"got {several!r}", "Sort them, each once.")
    return heights


def _version() -> str:
    # The version is written once, in the package itself, which is loaded when anything here runs.
    # tach-ignore(the version is a constant of the package)
    from credibly import __version__

    return __version__
