"""Studies of M23: is there a calibrated combination in the set, with one weight vector for all instances?

The figures' numbers are not at hand. What is known of the set-up beyond the text is from the authors' code:
100 instances, 100 replicates, 1000 data sets, and one of u, m and k changed at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Literal

from credibly.simulate import CalibrationTest, EnsembleWorld
from credibly.simulate.power import Test
from credibly.statistics import Statistic, classwise_ece, confidence_ece, hosmer_lemeshow, skce
from credibly_studies.credal_tests import CredalTest
from credibly_studies.outcomes import all_of, at_most, larger, more_than
from credibly_studies.power import SPOKEN_LEVEL, PowerSize, PowerWork, Rates
from credibly_studies.results import Claim
from credibly_studies.study import Study

ERRORS: dict[str, Statistic] = {
    "SKCE linear": skce.with_(estimator="linear", norm="tv", bandwidth=2.0),
    "SKCE": skce.with_(norm="tv", bandwidth=2.0),
    "HL": hosmer_lemeshow.with_(paper="M23"),
    "confidence ECE": confidence_ece.with_(paper="M23"),
    "classwise ECE": classwise_ece.with_(paper="M23"),
}
"""The paper's kernel exp(-tv / 2) and numbers of bins."""

BOUNDED = ("HL", "confidence ECE", "classwise ECE")
"""Errors that are never below 0."""

_SCENARIOS: tuple[Literal["S1", "S2", "S3"], ...] = ("S1", "S2", "S3")


def given_weights(name: str) -> str:
    """Return the name of the test that is given the weights."""
    return f"true weights, {name}"


def searched_weights(name: str) -> str:
    """Return the name of the paper's test."""
    return f"M23, {name}"


def _given(errors: Mapping[str, Statistic]) -> dict[str, Test]:
    return {given_weights(name): CalibrationTest("truth", one) for name, one in errors.items()}


def _searched(errors: Mapping[str, Statistic]) -> dict[str, Test]:
    return {searched_weights(name): CredalTest(one, paper="M23") for name, one in errors.items()}


def _found(rates: Rates, world: str, tests: Sequence[str]) -> str:
    return "; ".join(f"{test} {rates.of(world, test)}" for test in tests)


def fig1_claims(rates: Rates, place: str = "M23 Fig. 1", suffix: str = "") -> list[Claim]:
    """Return what the figure is about, and what became of it."""
    level = SPOKEN_LEVEL
    inside, nearest, random = (f"{scenario}{suffix}" for scenario in _SCENARIOS)
    known = {test for study in rates.studies.values() for test in study.tests}
    given = [given_weights(name) for name in ERRORS]
    bounded = [searched_weights(name) for name in BOUNDED if searched_weights(name) in known]
    linear, quadratic = searched_weights("SKCE linear"), searched_weights("SKCE")
    claims = [
        Claim(
            place,
            "consistency resampling keeps the level where the weights are known (S1)",
            "number not at hand",
            _found(rates, inside, given),
            all_of(*(at_most(rates.of(inside, test), level) for test in given)),
        )
    ]
    if bounded:
        claims.append(
            Claim(
                place,
                "with HL and ECE the test of sets is conservative (S1)",
                "type I error below the level; number not at hand",
                _found(rates, inside, bounded),
                all_of(*(at_most(rates.of(inside, test), level) for test in bounded)),
                "the observed value is minimised over the weights, those of replicates are not; but "
                "bootstrapped instances lower the classwise ECE of replicates, the more the more classes "
                "there are",
            )
        )
    claims += [
        Claim(
            place,
            "SKCE_ul does not keep the level (S1)",
            "type I error above the level; number not at hand",
            _found(rates, inside, [linear]),
            more_than(rates.of(inside, linear), level),
            "here the signed error is minimised, which can only make the test more conservative",
        ),
        Claim(
            place,
            "the test of sets has power towards a random corner (S3)",
            "number not at hand",
            _found(rates, random, [*bounded, quadratic]),
            all_of(*(more_than(rates.of(random, test), level) for test in (*bounded, quadratic))),
        ),
        Claim(
            place,
            "the test of sets has power towards the closest corner (S2)",
            "number not at hand",
            _found(rates, nearest, [*bounded, quadratic]),
            all_of(*(more_than(rates.of(nearest, test), level) for test in (*bounded, quadratic))),
            "errors that compare whole distributions hardly see that the likeliest class is likelier still: "
            "given the boundary point they do not reject either",
        ),
        Claim(
            place,
            "the quadratic SKCE, off in the authors' code, sees more than SKCE_ul (S3, weights given)",
            "not in the figure",
            _found(rates, random, [given_weights("SKCE"), given_weights("SKCE linear")]),
            larger(rates.of(random, given_weights("SKCE")), rates.of(random, given_weights("SKCE linear"))),
            "all pairs instead of n / 2 of them",
        ),
    ]
    return claims


FIG1 = Study(
    name="m23-fig1",
    title="Level (S1) and power (S2, S3) of five errors with weights given or searched, m = k = 10",
    reference="M23 Fig. 1",
    small=PowerSize(100, 10, 1),
    full=PowerSize(100, 1000, 200),
    work=PowerWork(
        tests=_given(ERRORS),
        worlds={scenario: EnsembleWorld(scenario) for scenario in _SCENARIOS},
        claims=fig1_claims,
        costly=_searched(ERRORS),
    ),
)


def _appendix(
    figure: int,
    title: str,
    *,
    suffix: str,
    n_members: int = 10,
    n_classes: int = 10,
    spread: float = 0.01,
    searched: tuple[str, ...] = tuple(ERRORS),
    costly: int,
) -> Study[PowerSize]:
    """Return the study of one appendix figure: one setting differs from Fig. 1."""
    place = f"M23 Fig. {figure}"
    worlds = {
        f"{scenario}{suffix}": EnsembleWorld(
            scenario, n_members=n_members, n_classes=n_classes, spread=spread
        )
        for scenario in _SCENARIOS
    }
    return Study(
        name=f"m23-fig{figure}",
        title=title,
        reference=place,
        small=PowerSize(100, 4, 1),
        full=PowerSize(100, 300, costly),
        work=PowerWork(
            tests=_given(ERRORS),
            worlds=worlds,
            claims=functools.partial(fig1_claims, place=place, suffix=suffix),
            costly=_searched({name: ERRORS[name] for name in searched}),
        ),
    )


# Which setting is which figure is not at hand. COBYLA in 99 dimensions takes minutes per data set, so with
# 100 members weights are searched for the errors that have a slope.
FIG2 = _appendix(
    2, "As Fig. 1 with members that scatter more, u = 0.1", suffix=", u = 0.1", spread=0.1, costly=40
)
FIG3 = _appendix(
    3,
    "As Fig. 1 with 100 members; weights are searched for the kernel errors only",
    suffix=", m = 100",
    n_members=100,
    searched=("SKCE linear", "SKCE"),
    costly=40,
)
FIG4 = _appendix(4, "As Fig. 1 with 100 classes", suffix=", k = 100", n_classes=100, costly=40)
