"""Pictures of predictive checks as data, then as marks on axes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import credibly as cr
from credibly.plots.curves import PowerDisplay
from credibly.plots.hypotests import (
    BeforeAfterDisplay,
    CheckDisplay,
    GroupGridDisplay,
    MemberHistogramDisplay,
)
from credibly.report.svg import svg_text


@pytest.fixture(scope="module")
def check() -> cr.results.PredictiveCheck:
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.ones(3), size=(90, 4))
    labels = rng.integers(0, 3, size=90)
    groups = {"shift": np.arange(90) % 2, "severity": np.arange(90) // 2 % 3}
    return cr.predictive_check(
        members, labels, statistics=["accuracy", "log_loss"], groups=groups, n_resamples=199, rng=0
    )


def test_the_strip_puts_every_value_on_the_scale_of_its_region(check: cr.results.PredictiveCheck) -> None:
    display = CheckDisplay(check)
    assert tuple(display.lines) == (
        "Accuracy, bayesian",
        "Accuracy, independent",
        "Log loss, bayesian",
        "Log loss, independent",
    )
    for place, name, part in zip(
        range(4), ["accuracy"] * 2 + ["log_loss"] * 2, [check.bayesian, check.independent] * 2, strict=True
    ):
        result = part.checks[name]
        low, high = result.acceptance_region
        expected = np.clip((2 * result.statistic - low - high) / (high - low), -3, 3)
        assert display.places[place] == pytest.approx(expected)
        assert display.outside[place] == (not low <= result.statistic <= high)
        assert list(display.lines.values())[place] is result
    ax = CheckDisplay(check).draw()
    bars = [patch for patch in ax.patches if patch.get_width() == 2.0]
    assert len(bars) == 4
    assert len(display.table().rows) == 4
    far = int(display.outside.sum())
    assert display.finding.startswith(f"{far} of 4" if far else "All 4")


def test_regions_without_ends_or_width_still_have_a_place(check: cr.results.PredictiveCheck) -> None:
    result = check.bayesian.checks["accuracy"]
    cases = {
        ((0.0, np.inf), 3.0): 0.0,
        ((1.0, 1.0), 1.0): 0.0,
        ((1.0, 1.0), 2.0): 3.0,
        ((1.0, 1.0), 0.0): -3.0,
        ((0.0, 1.0), np.inf): 3.0,
    }
    for (region, value), place in cases.items():
        changed = dataclasses.replace(result, acceptance_region=region, statistic=value)
        part = dataclasses.replace(check.bayesian, checks={"accuracy": changed})
        display = CheckDisplay(dataclasses.replace(check, bayesian=part, independent=None))
        assert display.places.tolist() == [place]
        display.draw()


def test_before_and_after(check: cr.results.PredictiveCheck) -> None:
    display = BeforeAfterDisplay(check, check, "independent")
    assert list(display.lines)[:2] == ["Accuracy, before", "Accuracy, after"]
    assert display.lines["Accuracy, after"] is check.independent.checks["accuracy"]
    assert BeforeAfterDisplay(check, check).words.title == "Recalibration, bayesian"
    assert len(BeforeAfterDisplay(check, check).draw().get_yticks()) == 4
    alone = dataclasses.replace(check, bayesian=None)
    assert BeforeAfterDisplay(check, alone).words.title == "Recalibration, independent"
    with pytest.raises(cr.InputError, match="common hypothesis"):
        BeforeAfterDisplay(dataclasses.replace(check, independent=None), alone)
    part = dataclasses.replace(check.bayesian, checks={"accuracy": check.bayesian.checks["accuracy"]})
    with pytest.raises(cr.InputError, match="same statistics"):
        BeforeAfterDisplay(check, dataclasses.replace(check, bayesian=part))


def test_replicates_by_member(check: cr.results.PredictiveCheck) -> None:
    display = MemberHistogramDisplay(check, "log_loss")
    result = check.bayesian.checks["log_loss"]
    sizes = [own.size for own in display.by_member.values()]
    assert sum(sizes) == 199
    assert sizes == np.bincount(check.bayesian.members)[list(display.by_member)].tolist()
    assert (np.diff(display.means) >= 0).all()
    for row, member in enumerate(display.by_member):
        own = result.null_distribution[check.bayesian.members == member]
        assert display.means[row] == pytest.approx(own.mean())
    assert "members reach from" in display.finding
    ax = MemberHistogramDisplay(check, "log_loss").draw()
    assert len(ax.patches) == 4  # one shape per member
    assert len(display.table().rows) == 4
    with pytest.raises(cr.UnsupportedError, match="Bayesian hypothesis"):
        MemberHistogramDisplay(dataclasses.replace(check, bayesian=None), "log_loss")
    with pytest.raises(cr.InputError, match="statistic"):
        MemberHistogramDisplay(check, "brier")


@pytest.mark.slow
def test_very_many_members_share_layers() -> None:
    """200 layers were 140 kB of a page that promises to stay under 500."""
    rng = np.random.default_rng(0)
    members = cr.Ensemble(rng.dirichlet(np.ones(3), size=(40, 200)), member_axis=1)
    found = cr.predictive_check(
        members, rng.integers(3, size=40), statistics=["accuracy"], n_resamples=399, rng=0
    )
    display = MemberHistogramDisplay(found)
    ax = display.draw()
    assert len(ax.patches) <= 40
    assert sum(len(patch.get_path().vertices) // 5 for patch in ax.patches) < 400
    assert sum(own.size for own in display.by_member.values()) == 399
    assert len(display.table().rows) == 200


def test_groups_that_cannot_tell_take_few_bytes() -> None:
    rng = np.random.default_rng(0)
    members, labels = rng.dirichlet(np.ones(3), size=(40, 4)), rng.integers(0, 3, size=40)
    found = cr.predictive_check(
        members, labels, statistics=["accuracy"], groups=np.arange(40) % 2, n_resamples=9, rng=0
    )
    ax = GroupGridDisplay(found, "accuracy").draw()
    assert all(patch.get_hatch() for patch in ax.patches)  # nine replicates reject nothing
    assert len(svg_text(ax.figure)) < 40_000  # type: ignore[arg-type]  # dots are 94 kB of circles


def test_the_grid_of_groups(check: cr.results.PredictiveCheck) -> None:
    display = GroupGridDisplay(check, "log_loss", "independent")
    assert display.sides == (("0", "1"), ("0", "1", "2"))
    for row in range(2):
        for column in range(3):
            result = check.independent.groups[f"{row} / {column}"]["log_loss"]
            assert display.cells[row, column] is result
    ax = GroupGridDisplay(check, "log_loss", "independent").draw()
    hatched = sum(bool(patch.get_hatch()) for patch in ax.patches)
    assert hatched == sum(one.verdict() != "no conflict found" for one in display.cells.values())
    assert len(display.table().rows) == 6
    with pytest.raises(cr.UnsupportedError, match="grouping factors"):
        GroupGridDisplay(
            dataclasses.replace(check, factors={}, bayesian=dataclasses.replace(check.bayesian, groups={})),
            "log_loss",
        )


def test_one_factor_is_one_column_and_missing_groups_stay_empty(check: cr.results.PredictiveCheck) -> None:
    members = np.random.default_rng(0).dirichlet(np.ones(2), size=(20, 3))
    one = cr.predictive_check(members, np.zeros(20, int), groups=np.arange(20) % 2, n_resamples=19, rng=0)
    display = GroupGridDisplay(one, "accuracy")
    assert display.sides[1] == ("",)
    two = {"a": np.array([0, 0, 1] * 6 + [0, 0]), "b": np.array([0, 1, 0] * 6 + [0, 1])}
    crossed = cr.predictive_check(members, np.zeros(20, int), groups=two, n_resamples=19, rng=0)
    grid = GroupGridDisplay(crossed, "accuracy")
    assert (1, 1) not in grid.cells
    assert "3 groups" in grid.finding


def test_power_curves(check: cr.results.PredictiveCheck) -> None:
    curve = check.power(grid=[0.2, 1.0, 5.0], n_repeats=20)
    display = PowerDisplay(curve, "independent")
    assert display.table().columns == ("temperature", "Accuracy", "Log loss")
    line = next(one for one in display.draw().lines if one.get_label() == "Log loss")
    assert np.array_equal(line.get_ydata(), curve.power["independent"]["log_loss"])
    assert "Detected with power 0.8" in display.finding
    ax = PowerDisplay(curve).draw()
    assert ax.get_xlabel() == "temperature"
    assert len(display.table().rows) == 3
    silent = dataclasses.replace(curve, wanted=1.5)
    assert "nothing on this grid" in PowerDisplay(silent).finding
