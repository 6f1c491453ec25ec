"""Power studies among the studies: tests, worlds and levels as data, rejection rates as tables and curves."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

from credibly._arrays.errors import UnsupportedError
from credibly.plots import panels, picture
from credibly_studies.outcomes import Share
from credibly_studies.results import Cell, Claim, Drawing, Findings, StudyTable, drawn
from credibly_studies.simulate.power import PowerStudy, Test, power_study
from credibly_studies.simulate.world import World
from credibly_studies.study import Run

LEVELS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""All of them are p-values that 199 replicates can give, of one- and two-sided tests alike."""

SPOKEN_LEVEL = 0.05

WIDE_LEVEL = 0.2
"""Where a rate far below the level can be told from the level with few data sets."""

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
    claims : callable, optional
        Gives the paper's claims from what was found.
    costly : mapping of str to callable
        Tests that take seconds, such as those that learn: they see the first of the same data sets.
    pictures : mapping of str to callable
        Drawings of the worlds, as the paper has them.
    """

    tests: Mapping[str, Test]
    worlds: Mapping[str, World]
    levels: tuple[float, ...] = LEVELS
    claims: Callable[[Rates], Sequence[Claim]] | None = None
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
        found = power_findings(studies, () if self.claims is None else self.claims(Rates(studies)))
        return dataclasses.replace(found, drawings={**found.drawings, **self.pictures})


@dataclasses.dataclass(frozen=True)
class Rates:
    """Rejection rates of several power studies of the same worlds, found by world and test.

    Parameters
    ----------
    studies : mapping of str to PowerStudy
        By name; each test is in one of them.
    """

    studies: Mapping[str, PowerStudy]

    def of(self, world: str, test: str, level: float = SPOKEN_LEVEL) -> Share:
        """Return how often a test rejects in a world.

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
        known = [study for study in self.studies.values() if test in study.tests]
        study = known[0] if known else next(iter(self.studies.values()))  # which says what it knows
        place = (*study.place(world, test), study.level_place(level))
        return Share(int(study.rejected[place]), study.repetitions)


def _curves(studies: Mapping[str, PowerStudy]) -> StudyTable:
    """Return rejection rates over the levels, one row per world and test: the curves of printed figures."""
    levels = next(iter(studies.values())).levels
    rows: list[tuple[Cell, ...]] = [
        (
            world,
            test,
            study.repetitions,
            *(float(study.rate(world, test, level=float(one))) for one in levels),
        )
        for study in studies.values()
        for world in study.worlds
        for test in study.tests
    ]
    columns = ("world", "test", "repetitions", *(f"{float(one):g}" for one in levels))
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
