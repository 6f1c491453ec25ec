"""Two tests on the same data: which rejects more often, judged by the data sets on which they differ."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import bdtr

from credibly.results.base import Result
from credibly_studies.simulate.power import PowerStudy, rejections


@dataclasses.dataclass(frozen=True)
class PairedDifference(Result):
    """How two tests differ in one world.

    Attributes
    ----------
    world, first, second : str
        Names.
    level : float
        Level of both tests.
    both, only_first, only_second, neither : int
        Data sets that these rejected.
    difference : float
        Rejection rate of the first minus that of the second.
    stderr : float
        Its standard error over data sets.
    pvalue : float
        Exact p-value of McNemar's test that both reject equally often; two-sided.
    """

    world: str
    first: str
    second: str
    level: float
    both: int
    only_first: int
    only_second: int
    neither: int
    difference: float
    stderr: float
    pvalue: float


def paired_difference(
    study: PowerStudy, world: str, first: str, second: str, *, level: float = 0.05
) -> PairedDifference:
    """Compare two tests on the data sets both have seen.

    Parameters
    ----------
    study : PowerStudy
        What :func:`power_study` found.
    world : str
        Name of the world.
    first, second : str
        Names of the tests.
    level : float
        One of the study's levels.

    Returns
    -------
    PairedDifference
        Counts of agreements and disagreements, the difference and its p-value.

    Examples
    --------
    >>> from credibly_studies.simulate import CalibrationTest, MulticlassWorld, paired_difference, power_study
    >>> tests = {"truth": CalibrationTest("truth", "brier", 39), "mean": CalibrationTest("mean", "brier", 39)}
    >>> world = {"inside": MulticlassWorld("H0,1")}
    >>> study = power_study(tests, world, levels=[0.1], repetitions=20, n=100, rng=7)
    >>> found = paired_difference(study, "inside", "truth", "mean", level=0.1)
    >>> found.both + found.only_first + found.only_second + found.neither
    20
    """
    height = study.levels[study.level_place(level)]
    rejects = [rejections(study.pvalues[study.place(world, test)], height) for test in (first, second)]
    both, only_first = int((rejects[0] & rejects[1]).sum()), int((rejects[0] & ~rejects[1]).sum())
    only_second = int((~rejects[0] & rejects[1]).sum())
    differ = only_first + only_second
    gaps = rejects[0].astype(float) - rejects[1]
    pvalue = min(1.0, 2.0 * float(bdtr(min(only_first, only_second), differ, 0.5))) if differ else 1.0
    count = study.repetitions
    return PairedDifference(
        world=world,
        first=first,
        second=second,
        level=float(height),
        both=both,
        only_first=only_first,
        only_second=only_second,
        neither=count - both - differ,
        difference=float(gaps.mean()),
        stderr=float(gaps.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan"),
        pvalue=pvalue,
    )
