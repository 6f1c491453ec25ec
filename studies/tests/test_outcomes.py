"""Outcomes of claims follow from counts: clear, contrary, and too few to tell."""

from __future__ import annotations

import pytest

from credibly_studies.outcomes import (
    Share,
    all_of,
    any_of,
    at_most,
    exceeds,
    height,
    keeps_level,
    larger,
    lower_curves,
    more_than,
    most_of,
    same_curves,
    stays_below,
    those_that_decide,
)
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


def curve(*rates: float, total: int = 200) -> dict[float, Share]:
    """A curve over the levels 0.05, 0.2 and 0.5."""
    return {
        level: Share(round(rate * total), total) for level, rate in zip((0.05, 0.2, 0.5), rates, strict=True)
    }


def test_a_curve_against_its_levels() -> None:
    assert exceeds(curve(0.05, 0.4, 0.5)) == "confirmed"  # 0.33 to 0.47 at 0.2
    assert exceeds(curve(0.0, 0.1, 0.3)) == "not confirmed"
    assert exceeds(curve(0.05, 0.22, 0.5)) == "cannot tell"  # a little above, not for sure
    assert keeps_level(curve(0.05, 0.2, 0.5)) == "confirmed"
    assert keeps_level(curve(0.05, 0.2, 0.65)) == "not confirmed"  # 0.58 to 0.72: more than 0.05 above 0.5
    assert keeps_level(curve(0.05, 0.2, 0.55)) == "cannot tell"
    assert stays_below(curve(0.05, 0.05, 0.2)) == "confirmed"  # at 0.05 nothing can be seen
    assert stays_below(curve(0.2, 0.4, 0.7)) == "not confirmed"
    assert stays_below(curve(0.05, 0.2, 0.5)) == "cannot tell"


def test_curves_against_curves() -> None:
    low, high = curve(0.0, 0.1, 0.3), curve(0.0, 0.1, 0.4)
    assert height(high) == pytest.approx(0.5 / 3)
    assert lower_curves([low] * 6, [high] * 6) == "confirmed"  # 6 of 6: 0.54 to 1
    assert lower_curves([high] * 6, [low] * 6) == "not confirmed"
    assert lower_curves([low] * 3, [high] * 3) == "cannot tell"  # 3 of 3: 0.29 to 1
    assert lower_curves([low] * 6, [low] * 6) == "cannot tell"  # ties decide nothing
    assert same_curves(curve(0.0, 0.1, 0.3, total=2000), curve(0.0, 0.1, 0.31, total=2000)) == "confirmed"
    assert same_curves(low, curve(0.0, 0.1, 0.6)) == "not confirmed"
    # overlapping intervals are no proof that nothing differs: 40 data sets, 0.375 and 0.15
    assert same_curves(curve(0, 0, 0.375, total=40), curve(0, 0, 0.15, total=40)) == "cannot tell"


def test_what_exists_and_what_holds_of_all_that_decide() -> None:
    assert any_of("not confirmed", "confirmed") == "confirmed"
    assert any_of("not confirmed", "not confirmed") == "cannot tell"  # no case denies that there is one
    assert those_that_decide("confirmed", "cannot tell") == "confirmed"
    assert those_that_decide("confirmed", "not confirmed") == "not confirmed"
    assert those_that_decide("cannot tell") == those_that_decide() == "cannot tell"
