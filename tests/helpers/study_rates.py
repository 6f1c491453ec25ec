"""Power studies of papers with few replicates, and rates that a claim is judged by."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

from credibly_studies import STUDIES, PowerSize, PowerWork, Study, StudyResult
from credibly_studies.credal_tests import BootstrappedMean, CredalTest, SecondHalf
from credibly_studies.outcomes import Share
from credibly_studies.power import LARGEST_LEVEL, Rates
from credibly_studies.power import LEVELS as ALL_LEVELS
from credibly_studies.simulate import PowerStudy, WorldSample

LEVELS = [level for level in ALL_LEVELS if level <= LARGEST_LEVEL]


def cheaper(
    name: str, *, often: Collection[str] | None = None, never: Collection[str] = ()
) -> Study[PowerSize]:
    """The study with 19 replicates in the tests that learn or search: the least that can reject at 5 %.

    Parameters
    ----------
    name : str
        Name of the study.
    often : collection of str, optional
        Tests whose rates a conclusion is drawn from: they see all data sets, the others the first one.
        Default: all tests.
    never : collection of str
        Tests that another study runs in the same way; here their p-value is 1.
    """
    study = STUDIES[name]
    assert isinstance(study.work, PowerWork)
    known = {**study.work.tests, **study.work.costly}
    assert {*(often or ()), *never} <= set(known)

    def changed(key: str, test: Any) -> Any:
        if key in never:
            return Once(test, 1.0)
        return with_few(test) if often is None or key in often else Once(with_few(test))

    tests, costly = (
        {key: changed(key, test) for key, test in given.items()}
        for given in (study.work.tests, study.work.costly)
    )
    return dataclasses.replace(study, work=dataclasses.replace(study.work, tests=tests, costly=costly))


def with_few(test: Any) -> Any:
    if isinstance(test, SecondHalf):
        return SecondHalf(with_few(test.test))
    few = isinstance(test, CredalTest | BootstrappedMean)
    return dataclasses.replace(test, n_resamples=19) if few else test


@dataclasses.dataclass
class Once:
    """A test that is run on the first data set it sees, and gives that p-value for all others."""

    test: Any
    found: float | None = None

    def __call__(self, sample: WorldSample, rng: Any = None) -> float:
        self.found = self.test(sample, rng) if self.found is None else self.found
        assert self.found is not None
        return self.found

    def settings(self) -> dict[str, Any]:
        return {"once": self.test.settings()}


def studies_of(result: StudyResult) -> dict[str, PowerStudy]:
    found = {
        name: detail for name, detail in result.findings.details.items() if isinstance(detail, PowerStudy)
    }
    assert set(found) == {"power", "costly"}
    return found


class Told(Rates):
    """Rates of 1000 data sets at every level: the level itself unless told otherwise.

    What is told is the rate at all levels, or one rate per level.
    """

    def __init__(self, changed: dict[tuple[str, str], float | dict[float, float]]) -> None:
        super().__init__({})
        object.__setattr__(self, "changed", changed)

    def curve(self, world: str, test: str) -> dict[float, Share]:
        value = self.changed.get((world, test))  # type: ignore[attr-defined]
        rates = {level: level if value is None else value for level in LEVELS}
        if isinstance(value, dict):
            rates = value
        return {level: Share(round(1000 * rate), 1000) for level, rate in rates.items()}


def outcome(claims: list, words: str) -> str:
    (found,) = [claim for claim in claims if words in claim.statement]
    return found.outcome or found.by_print
