"""Power studies of papers with few replicates, and rates that a claim is judged by."""

from __future__ import annotations

import dataclasses
from typing import Any

from credibly.results.power import PowerStudy
from credibly.simulate import WorldSample
from credibly_studies import STUDIES, PowerSize, PowerWork, Study, StudyResult
from credibly_studies.credal_tests import CredalTest, SecondHalf
from credibly_studies.outcomes import Share
from credibly_studies.power import Rates


def cheaper(name: str, *, once: bool = False) -> Study[PowerSize]:
    """The study with 19 replicates in the tests that learn or search: the least that can reject at 5 %.

    Parameters
    ----------
    name : str
        Name of the study.
    once : bool
        Run those tests in the first world alone, where no conclusion is drawn from their rates.
    """
    study = STUDIES[name]
    assert isinstance(study.work, PowerWork)
    tests, costly = (
        {key: with_few(test) for key, test in given.items()}
        for given in (study.work.tests, study.work.costly)
    )
    if once:
        costly = {key: Once(test) for key, test in costly.items()}
    return dataclasses.replace(study, work=dataclasses.replace(study.work, tests=tests, costly=costly))


def with_few(test: Any) -> Any:
    if isinstance(test, SecondHalf):
        return SecondHalf(with_few(test.test))
    return dataclasses.replace(test, n_resamples=19) if isinstance(test, CredalTest) else test


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
    found = {name: one for name, one in result.findings.details.items() if isinstance(one, PowerStudy)}
    assert set(found) == {"power", "costly"}
    return found


class Told(Rates):
    """Rates of 1000 data sets, 5 % rejected unless told otherwise."""

    def __init__(self, changed: dict[tuple[str, str], float]) -> None:
        super().__init__({})
        object.__setattr__(self, "changed", changed)

    def of(self, world: str, test: str, level: float = 0.05):  # type: ignore[no-untyped-def]
        return Share(round(1000 * self.changed.get((world, test), 0.05)), 1000)  # type: ignore[attr-defined]


def outcome(claims: list, words: str) -> str:
    (found,) = [claim for claim in claims if words in claim.statement]
    return found.outcome
