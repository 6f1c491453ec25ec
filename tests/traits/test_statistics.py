"""Every registered statistic keeps every promise that it declares."""

from __future__ import annotations

import dataclasses

import pytest

import credibly as cr
from traits.checks import CHECKS, VARIANTS, subjects

SUBJECTS = subjects()

# The strict library checks every call: together as dear as all other checks.
DEAR = ("gradient", "same_on_strict")
# Which check tests which declaration; `tail` is tested by simulation (tests/validity).
TESTED_BY = {
    "reduction": "chunks_equal_whole",
    "labels": "label_kinds",
    "differentiable": "gradient",
    "multiplicities": "multiplicities",
    "duplicate_invariant": "duplicated_data",
    "range": "declared_range",
    "ordered": "class_relabelling",
}


# Other settings of a statistic run the same lines for the most part.
@pytest.mark.parametrize(
    "subject", [pytest.param(one, marks=pytest.mark.slow if " " in one else ()) for one in SUBJECTS]
)
@pytest.mark.parametrize(
    "check", [pytest.param(check, marks=pytest.mark.slow if check in DEAR else ()) for check in CHECKS]
)
def test_promise(check: str, subject: str) -> None:
    CHECKS[check](SUBJECTS[subject])


def test_every_declared_trait_has_a_check() -> None:
    declared = {field.name for field in dataclasses.fields(cr.statistics.Traits)} - {"tail"}
    assert set(TESTED_BY) == declared
    assert set(TESTED_BY.values()) <= set(CHECKS)


def test_variants_are_of_registered_statistics_and_differ_from_the_default() -> None:
    assert set(VARIANTS) <= set(cr.statistics.registered())
    for name, variants in VARIANTS.items():
        for settings in variants:
            assert cr.statistics.registered()[name].with_(**settings) != cr.statistics.registered()[name]


def test_something_is_declared_of_everything() -> None:
    """A check that no statistic asks for would pass without looking."""
    traits = [statistic.traits for statistic in SUBJECTS.values()]
    for name in ("differentiable", "multiplicities", "duplicate_invariant"):
        assert {getattr(trait, name) for trait in traits} == {True, False}, name
