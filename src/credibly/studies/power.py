"""Power studies among the studies: tests, worlds and levels as data, rejection rates as tables and curves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.study_results import PowerStudy
from credibly.plots import distance_data, rejection_diagrams
from credibly.simulate.power import Test, power_study
from credibly.simulate.world import World
from credibly.studies.results import Claim, Drawing, Findings, StudyTable, drawn
from credibly.studies.study import Run

LEVELS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""All of them are p-values that 199 replicates can give, of one- and two-sided tests alike."""

SPOKEN_LEVEL = 0.05

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
    """

    n: int
    repetitions: int


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
    """

    tests: Mapping[str, Test]
    worlds: Mapping[str, World]
    levels: tuple[float, ...] = LEVELS
    claims: Callable[[PowerStudy], Sequence[Claim]] | None = None

    def __call__(self, size: PowerSize, run: Run) -> Findings:
        """Count rejections in all worlds."""
        study = power_study(
            self.tests,
            self.worlds,
            levels=self.levels,
            repetitions=size.repetitions,
            n=size.n,
            engine=run.engine,
            rng=run.seed,
            out=None if run.parts is None else run.parts / "power",
            progress=run.progress,
        )
        return power_findings(study, () if self.claims is None else self.claims(study))


def power_findings(study: PowerStudy, claims: Sequence[Claim] = ()) -> Findings:
    """Return the tables and curves of a power study.

    Parameters
    ----------
    study : PowerStudy
        What was counted.
    claims : sequence of Claim
        What it says about the paper.

    Returns
    -------
    Findings
        Rates near 5 % for people, all levels for programs, curves, and all p-values as details.
    """
    rows = [
        (*(row[name] for name in _COLUMNS[:-1]), (row["low"], row["high"]))  # null: true, false or unknown
        for row in study.table()
    ]
    spoken = float(min(study.levels, key=lambda level: abs(level - SPOKEN_LEVEL)))
    level = _COLUMNS.index("level")
    brief = [row for row in rows if row[level] == spoken]
    tables = (
        StudyTable("rates", f"Rejection rates at level {spoken:g}, 95 % intervals", _COLUMNS, brief),
        StudyTable("rejections", "Rejection rates at all levels", _COLUMNS, rows, on_page=False),
    )
    drawings: dict[str, Drawing] = {"power": lambda: rejection_diagrams(study)}
    try:
        distances = distance_data(study, level=spoken)
    except UnsupportedError:  # no worlds differ in a distance alone
        pass
    else:
        drawings["distance"] = drawn(distances)
    return Findings(tables, tuple(claims), drawings, {"power": study})
