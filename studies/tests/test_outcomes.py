"""Outcomes of claims follow from counts: clear, contrary, and too few to tell."""

from __future__ import annotations

import pytest

from credibly_studies.outcomes import Share, all_of, at_most, larger, more_than, most_of
from credibly_studies.results import Outcome


def test_a_share_and_its_interval() -> None:
    share = Share(0, 100)
    assert share.rate == 0.0
    # Clopper-Pearson for no success: 1 - 0.025^(1/100) = 0.0362
    assert share.interval == (0.0, pytest.approx(1 - 0.025 ** (1 / 100)))
    assert str(Share(5, 10)) == "0.5 (0.187 to 0.813, 10 data sets)"


@pytest.mark.parametrize(
    ("count", "total", "outcome"),
    [
        (10, 400, "confirmed"),  # 0.012 to 0.045
        (40, 400, "not confirmed"),  # 0.072 to 0.134: above 0.05 for sure
        (1, 20, "cannot tell"),  # 0.001 to 0.249: may be far above
    ],
)
def test_keeping_a_level(count: int, total: int, outcome: Outcome) -> None:
    assert at_most(Share(count, total), 0.05) == outcome


@pytest.mark.parametrize(
    ("count", "total", "outcome"),
    [(40, 400, "confirmed"), (2, 400, "not confirmed"), (1, 20, "cannot tell")],
)
def test_exceeding_a_level(count: int, total: int, outcome: Outcome) -> None:
    assert more_than(Share(count, total), 0.05) == outcome


def test_the_larger_of_two() -> None:
    assert larger(Share(90, 100), Share(10, 100)) == "confirmed"
    assert larger(Share(10, 100), Share(90, 100)) == "not confirmed"
    assert larger(Share(9, 10), Share(6, 10)) == "cannot tell"


def test_the_worst_part_counts() -> None:
    assert all_of("confirmed", "confirmed") == "confirmed"
    assert all_of("confirmed", "cannot tell") == "cannot tell"
    assert all_of("cannot tell", "not confirmed", "confirmed") == "not confirmed"
    assert all_of() == "confirmed"


def test_most_parts_count() -> None:
    assert most_of("confirmed", "confirmed", "not confirmed") == "confirmed"
    assert most_of("not confirmed", "not confirmed", "cannot tell") == "not confirmed"
    assert most_of("confirmed", "not confirmed") == "cannot tell"
