"""The studies that have a name: worlds, tests, levels and sizes as data. A new one is one more row."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, Literal

from credibly._arrays.errors import InputError, nearest, one_of
from credibly._arrays.progress import Progress
from credibly._arrays.study_results import PowerStudy
from credibly.simulate.binary import BinaryWorld
from credibly.simulate.calibration import CalibrationTest
from credibly.simulate.ensemble import EnsembleWorld
from credibly.simulate.multiclass import MulticlassWorld
from credibly.simulate.power import Test, power_study
from credibly.simulate.world import World
from credibly.statistics import Statistic, hosmer_lemeshow, skce


@dataclasses.dataclass(frozen=True)
class Size:
    """How large a study is: instances per data set, and data sets per world."""

    n: int
    repetitions: int


@dataclasses.dataclass(frozen=True)
class Study:
    """A power study with a name.

    Parameters
    ----------
    name : str
        What it is called by.
    title : str
        What it shows, in one line.
    figure : str
        The paper's figure it follows.
    tests : mapping of str to callable
        Tests by name; each is called with a sample and a generator.
    worlds : mapping of str to World
        Worlds by name.
    levels : tuple of float
        Levels at which rejections are counted.
    small, full : Size
        Sizes: minutes at most on one core, and for the record.

    Examples
    --------
    >>> from credibly.simulate import studies
    >>> studies()["j25-fig4"].figure
    'J25 Fig. 4'
    """

    name: str
    title: str
    figure: str
    tests: Mapping[str, Test]
    worlds: Mapping[str, World]
    levels: tuple[float, ...]
    small: Size
    full: Size

    def run(
        self,
        size: Literal["small", "full"] = "small",
        *,
        engine: Any = None,
        rng: Any = 0,
        out: str | os.PathLike[str] | None = None,
        progress: Progress | Literal[True] | None = None,
    ) -> PowerStudy:
        """Run the study.

        Parameters
        ----------
        size : {"small", "full"}
            How large.
        engine, rng, out, progress
            As in :func:`power_study`.

        Returns
        -------
        PowerStudy
            Rejection rates with intervals.
        """
        one_of("`size`", size, ("small", "full"))
        chosen = self.small if size == "small" else self.full
        return power_study(
            self.tests,
            self.worlds,
            levels=self.levels,
            repetitions=chosen.repetitions,
            n=chosen.n,
            engine=engine,
            rng=rng,
            out=out,
            progress=progress,
        )


_LEVELS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""All of them are p-values that 199 replicates can give, of one- and two-sided tests alike."""

_M23_ERRORS: dict[str, str | Statistic] = {
    "SKCE linear": skce.with_(estimator="linear"),
    "SKCE": skce,
    "HL": hosmer_lemeshow.with_(n_bins=5),
    "confidence ECE": "confidence_ece",
    "classwise ECE": "classwise_ece",
}
_J25_ERRORS: dict[str, str | Statistic] = {
    "SKCE": "skce",
    "KDE L2": "kde_ce",
    "KDE KL": "kl_ce",
    "Brier": "brier",
}


def _both(errors: Mapping[str, str | Statistic]) -> dict[str, Test]:
    """Test the truth's place in the set and the mean of the members with each error."""
    true = {f"true weights, {name}": CalibrationTest("truth", one) for name, one in errors.items()}
    mean = {f"mean, {name}": CalibrationTest("mean", one) for name, one in errors.items()}
    return {**true, **mean}


_ALL = (
    Study(
        name="m23-fig1",
        title="Level (S1) and power (S2, S3) of five errors given the weights, 10 members and 10 classes",
        figure="M23 Fig. 1",
        tests={f"true weights, {name}": CalibrationTest("truth", one) for name, one in _M23_ERRORS.items()},
        worlds={scenario: EnsembleWorld(scenario) for scenario in ("S1", "S2", "S3")},
        levels=_LEVELS,
        small=Size(100, 20),
        full=Size(100, 1000),
    ),
    Study(
        name="j25-fig3",
        title="Binary worlds: the true weights and the mean of two members, four errors",
        figure="J25 Fig. 3",
        tests=_both(_J25_ERRORS),
        worlds={
            hypothesis: BinaryWorld(hypothesis) for hypothesis in ("H0,1", "H0,2", "H1,1", "H1,2", "H1,3")
        },
        levels=_LEVELS,
        small=Size(200, 20),
        full=Size(400, 1000),
    ),
    Study(
        name="j25-fig4",
        title="Multiclass worlds with the control on the boundary: true weights and mean, four errors",
        figure="J25 Fig. 4",
        tests=_both(_J25_ERRORS),
        worlds={
            "H0,1": MulticlassWorld("H0,1"),
            "H0,2": MulticlassWorld("H0,2"),
            "control, delta 0": MulticlassWorld("H1", delta=0.0),
            "H1, delta 0.01": MulticlassWorld("H1", delta=0.01),
            "H1, delta 0.1": MulticlassWorld("H1", delta=0.1),
            "H1, delta 0.2": MulticlassWorld("H1", delta=0.2),
            "corner per instance, delta 0.1": MulticlassWorld("H1", delta=0.1, corner="instance"),
        },
        levels=_LEVELS,
        small=Size(200, 20),
        full=Size(400, 1000),
    ),
)

STUDIES: dict[str, Study] = {study.name: study for study in _ALL}


def studies() -> dict[str, Study]:
    """Return all studies by name.

    Returns
    -------
    dict of str to Study
        In the order of the papers.

    Examples
    --------
    >>> from credibly.simulate import studies
    >>> list(studies())
    ['m23-fig1', 'j25-fig3', 'j25-fig4']
    """
    return dict(STUDIES)


def as_study(name: str) -> Study:
    """Return a study by name; unknown names are refused with the nearest one."""
    if name not in STUDIES:
        raise InputError("a study", "must have a known name", f"got {name!r}", nearest(name, STUDIES))
    return STUDIES[name]
