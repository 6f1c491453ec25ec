"""Power studies of papers with few replicates, and rates that a claim is judged by."""

from __future__ import annotations

import dataclasses

from credibly.results.power import PowerStudy
from credibly_studies import STUDIES, PowerSize, PowerWork, Study, StudyResult
from credibly_studies.credal_tests import CredalTest, SecondHalf
from credibly_studies.outcomes import Share
from credibly_studies.power import Rates


def cheaper(name: str) -> Study[PowerSize]:
    """The study with 19 replicates in the tests that learn or search: the least that can reject at 5 %."""
    study = STUDIES[name]
    assert isinstance(study.work, PowerWork)
    costly = {key: with_few(test) for key, test in study.work.costly.items()}
    return dataclasses.replace(study, work=dataclasses.replace(study.work, costly=costly))


def with_few(test: object) -> object:
    if isinstance(test, SecondHalf):
        return SecondHalf(with_few(test.test))  # type: ignore[arg-type]
    assert isinstance(test, CredalTest)
    return dataclasses.replace(test, n_resamples=19)


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
