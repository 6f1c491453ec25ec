"""Power studies among the studies: tests, worlds and levels as data, rejection rates as tables and curves."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from credibly._arrays.errors import UnsupportedError
from credibly.plots import panels, picture
from credibly_studies.outcomes import Curve, Share
from credibly_studies.results import Cell, Claim, Drawing, Findings, StudyTable, drawn
from credibly_studies.simulate.power import PowerStudy, Test, power_study
from credibly_studies.simulate.world import World
from credibly_studies.study import Run, Tables

LEVELS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""All of them are p-values that 199 replicates can give, of one- and two-sided tests alike."""

SPOKEN_LEVEL = 0.05

WIDE_LEVEL = 0.2
"""Where a rate far below the level can be told from the level with few data sets."""

OPEN_LEVEL = 0.3
"""Where curves of few data sets lie apart: at 0.05 most tests reject none, or all."""

LARGEST_LEVEL = 0.5
"""Curves are judged up to here: nobody tests at a higher level."""

_COLUMNS = ("world", "null", "test", "level", "n", "repetitions", "rejected", "rate", "interval")


@dataclasses.dataclass(frozen=True)
class PowerSize:
    """How large a power study is.

    Parameters
    ----------
    n : int
        Instances per data set.
    repetitions : int
        Data sets per world.
    costly : int, optional
        Data sets per world for costly tests. Default: as many as for the others.
    """

    n: int
    repetitions: int
    costly: int | None = None


@dataclasses.dataclass(frozen=True)
class PowerWork:
    """The work of a power study.

    Parameters
    ----------
    tests : mapping of str to callable
        Tests by name; each is called with a sample and a generator.
    worlds : mapping of str to World
        Worlds by name.
    levels : tuple of float
        Levels at which rejections are counted.
    costly : mapping of str to callable
        Tests that take seconds, such as those that learn: they see the first of the same data sets.
    pictures : mapping of str to callable
        Drawings of the worlds, as the paper has them.
    """

    tests: Mapping[str, Test]
    worlds: Mapping[str, World]
    levels: tuple[float, ...] = LEVELS
    costly: Mapping[str, Test] = dataclasses.field(default_factory=dict)
    pictures: Mapping[str, Drawing] = dataclasses.field(default_factory=dict)

    def __call__(self, size: PowerSize, run: Run) -> Findings:
        """Count rejections in all worlds."""
        costly = size.repetitions if size.costly is None else size.costly
        several = (("power", self.tests, size.repetitions), ("costly", self.costly, costly))
        studies = {
            name: power_study(
                tests,
                self.worlds,
                levels=self.levels,
                repetitions=repetitions,
                n=size.n,
                engine=run.engine,
                rng=run.seed,
                out=None if run.parts is None else run.parts / name,
                progress=run.progress,
            )
            for name, tests, repetitions in several
            if tests
        }
        findings = power_findings(studies)
        return dataclasses.replace(findings, drawings={**findings.drawings, **self.pictures})


@dataclasses.dataclass(frozen=True)
class Rates:
    """Rejection rates over levels, found by world and test.

    Parameters
    ----------
    curves : mapping of (str, str) to Curve
        Rejections at every level, by world and test.
    """

    curves: Mapping[tuple[str, str], Curve]

    @classmethod
    def read(cls, records: Sequence[Mapping[str, Any]]) -> Rates:
        """Read the rows of the table "curves".

        Parameters
        ----------
        records : sequence of mappings
            As ``result.json`` has them.

        Returns
        -------
        Rates
            Counts of rejections.
        """
        rates = {}
        for row in records:
            total = int(row["repetitions"])
            levels = [name for name in row if name not in ("world", "test", "repetitions")]
            rates[str(row["world"]), str(row["test"])] = {
                float(name): Share(round(float(row[name]) * total), total) for name in levels
            }
        return cls(rates)

    def curve(self, world: str, test: str) -> Curve:
        """Return how often a test rejects in a world, by level, up to the largest that is judged.

        Parameters
        ----------
        world, test : str
            Names.

        Returns
        -------
        mapping of float to Share
            Rejections among data sets.
        """
        curve = self.curves[world, test]
        return {level: share for level, share in curve.items() if level <= LARGEST_LEVEL}

    def of(self, world: str, test: str, level: float = SPOKEN_LEVEL) -> Share:
        """Return how often a test rejects in a world at one level.

        Parameters
        ----------
        world, test : str
            Names.
        level : float
            One of the levels.

        Returns
        -------
        Share
            Rejections among data sets.
        """
        return self.curve(world, test)[level]


def by_rates(claims: Callable[[Rates], Sequence[Claim]]) -> Callable[[Tables, PowerSize], list[Claim]]:
    """Return what judges a power study by the curves of its result."""

    def judge(tables: Tables, size: PowerSize) -> list[Claim]:
        return list(claims(Rates.read(tables["curves"])))

    return judge


def _curves(studies: Mapping[str, PowerStudy]) -> StudyTable:
    """Return rejection rates over the levels, one row per world and test: the curves of printed figures."""
    levels = next(iter(studies.values())).levels
    rows: list[tuple[Cell, ...]] = [
        (
            world,
            test,
            study.repetitions,
            *(float(study.rate(world, test, level=float(level))) for level in levels),
        )
        for study in studies.values()
        for world in study.worlds
        for test in study.tests
    ]
    columns = ("world", "test", "repetitions", *(f"{float(level):g}" for level in levels))
    return StudyTable("curves", "Rejection rates over levels", columns, rows, on_page=False, in_json=True)


def power_findings(given: PowerStudy | Mapping[str, PowerStudy], claims: Sequence[Claim] = ()) -> Findings:
    """Return the tables and curves of power studies of the same worlds.

    Parameters
    ----------
    given : PowerStudy, or mapping of str to PowerStudy
        What was counted, by the name of its figure.
    claims : sequence of Claim
        What it says about the paper.

    Returns
    -------
    Findings
        Rates near 5 % for people, all levels for programs, curves, and all p-values as details.
    """
    studies = {"power": given} if isinstance(given, PowerStudy) else given
    rows = [
        (*(row[name] for name in _COLUMNS[:-1]), (row["low"], row["high"]))  # null: true, false or unknown
        for study in studies.values()
        for row in study.table()
    ]
    first = next(iter(studies.values()))
    spoken = float(min(first.levels, key=lambda level: abs(level - SPOKEN_LEVEL)))
    level = _COLUMNS.index("level")
    brief = [row for row in rows if row[level] == spoken]
    tables = (
        StudyTable("rates", f"Rejection rates at level {spoken:g}, 95 % intervals", _COLUMNS, brief),
        StudyTable("rejections", "Rejection rates at all levels", _COLUMNS, rows, on_page=False),
        _curves(studies),
    )
    drawings: dict[str, Drawing] = {}
    for name, study in studies.items():
        rejections = [picture(study, "rejections", world=world) for world in study.worlds]
        drawings[name] = functools.partial(panels, rejections)
        try:
            distances = picture(study, "distance", level=spoken)
        except UnsupportedError:  # no worlds differ in a distance alone
            continue
        drawings["distance" if name == "power" else f"{name}-distance"] = drawn(distances)
    return Findings(tables, tuple(claims), drawings, dict(studies))
