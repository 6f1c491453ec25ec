"""Pictures of predictive checks as data, then as marks on axes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import credibly as cr
from credibly import plots


@pytest.fixture(scope="module")
def check() -> cr.PredictiveCheck:
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.ones(3), size=(90, 4))
    labels = rng.integers(0, 3, size=90)
    groups = {"shift": np.arange(90) % 2, "severity": np.arange(90) // 2 % 3}
    return cr.predictive_check(
        members, labels, statistics=["accuracy", "log_loss"], groups=groups, n_resamples=199, rng=0
    )


def test_the_strip_puts_every_value_on_the_scale_of_its_region(check: cr.PredictiveCheck) -> None:
    display = plots.check_data(check)
    assert display.labels == (
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
        assert display.pvalues[place] == result.adjusted_pvalue
    ax = plots.check_strip(check)
    bars = [patch for patch in ax.patches if patch.get_width() == 2.0]
    assert len(bars) == 4
    assert len(display.table().rows) == 4
    far = int(display.outside.sum())
    assert display.finding.startswith(f"{far} of 4" if far else "All 4")


def test_regions_without_ends_or_width_still_have_a_place(check: cr.PredictiveCheck) -> None:
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
        display = plots.check_data(dataclasses.replace(check, bayesian=part, independent=None))
        assert display.places.tolist() == [place]
        display.draw()


def test_before_and_after(check: cr.PredictiveCheck) -> None:
    display = plots.before_after_data(check, check, "independent")
    assert display.labels[:2] == ("Accuracy, before", "Accuracy, after")
    assert display.observed[0] == display.observed[1]
    assert display.low[0] == check.independent.checks["accuracy"].acceptance_region[0]
    assert plots.before_after_data(check, check).heading == "Recalibration, bayesian"
    assert len(plots.before_after_strip(check, check).get_yticks()) == 4
    alone = dataclasses.replace(check, bayesian=None)
    assert plots.before_after_data(check, alone).heading == "Recalibration, independent"
    with pytest.raises(cr.InputError, match="common hypothesis"):
        plots.before_after_data(dataclasses.replace(check, independent=None), alone)
    part = dataclasses.replace(check.bayesian, checks={"accuracy": check.bayesian.checks["accuracy"]})
    with pytest.raises(cr.InputError, match="same statistics"):
        plots.before_after_data(check, dataclasses.replace(check, bayesian=part))


def test_replicates_by_member(check: cr.PredictiveCheck) -> None:
    display = plots.member_histogram_data(check, "log_loss")
    result = check.bayesian.checks["log_loss"]
    assert display.counts.sum() == 199
    assert display.counts.sum(axis=1).tolist() == result.member_counts[display.members].tolist()
    assert (np.diff(display.means) >= 0).all()
    for row, member in enumerate(display.members):
        own = result.null_distribution[check.bayesian.members == member]
        assert display.means[row] == pytest.approx(own.mean())
    assert "members reach from" in display.finding
    ax = plots.member_histogram(check, "log_loss")
    assert len(ax.patches) == 4  # one shape per member
    assert len(display.table().rows) == 4
    with pytest.raises(cr.UnsupportedError, match="Bayesian hypothesis"):
        plots.member_histogram_data(dataclasses.replace(check, bayesian=None), "log_loss")
    with pytest.raises(cr.InputError, match="statistic"):
        plots.member_histogram_data(check, "brier")


def test_the_grid_of_groups(check: cr.PredictiveCheck) -> None:
    display = plots.group_grid_data(check, "log_loss", "independent")
    assert (display.rows, display.columns) == (("0", "1"), ("0", "1", "2"))
    for row in range(2):
        for column in range(3):
            result = check.independent.groups[f"{row} / {column}"]["log_loss"]
            assert display.pvalues[row, column] == result.adjusted_pvalue
            assert display.sharpness[row, column] == result.sharpness
            assert display.verdicts[row][column] == result.verdict()
    ax = plots.group_grid(check, "log_loss", "independent")
    hatched = sum(bool(patch.get_hatch()) for patch in ax.patches)
    assert hatched == sum(word != "no conflict found" for line in display.verdicts for word in line)
    assert len(display.table().rows) == 6
    with pytest.raises(cr.UnsupportedError, match="grouping factors"):
        plots.group_grid_data(
            dataclasses.replace(check, factors={}, bayesian=dataclasses.replace(check.bayesian, groups={})),
            "log_loss",
        )


def test_one_factor_is_one_column_and_missing_groups_stay_empty(check: cr.PredictiveCheck) -> None:
    members = np.random.default_rng(0).dirichlet(np.ones(2), size=(20, 3))
    one = cr.predictive_check(members, np.zeros(20, int), groups=np.arange(20) % 2, n_resamples=19, rng=0)
    display = plots.group_grid_data(one, "accuracy")
    assert display.columns == ("",)
    two = {"a": np.array([0, 0, 1] * 6 + [0, 0]), "b": np.array([0, 1, 0] * 6 + [0, 1])}
    crossed = cr.predictive_check(members, np.zeros(20, int), groups=two, n_resamples=19, rng=0)
    grid = plots.group_grid_data(crossed, "accuracy")
    assert np.isnan(grid.pvalues[1, 1])
    assert grid.verdicts[1][1] == ""
    assert "3 groups" in grid.finding


def test_power_curves(check: cr.PredictiveCheck) -> None:
    curve = check.power(grid=[0.2, 1.0, 5.0], n_repeats=20)
    display = plots.power_data(curve, "independent")
    assert display.names == ("accuracy", "log_loss")
    assert np.array_equal(display.power[1], curve.power["independent"]["log_loss"])
    assert (display.low <= display.power).all()
    assert (display.power <= display.high).all()
    assert "Noticed with power 0.8" in display.finding
    ax = plots.power_diagram(curve)
    assert ax.get_xlabel() == "temperature"
    assert len(display.table().rows) == 3
    silent = dataclasses.replace(curve, wanted=1.5)
    assert "nothing on this grid" in plots.power_data(silent).finding


def test_functions_of_members() -> None:
    x = np.linspace(-1, 1, 9)
    given = cr.Gaussian(x[:, None] * np.array([-1.0, 1.0]), np.full((9, 2), 0.2))
    functions = cr.member_functions(given, x, labels=x, rng=0)
    display = plots.functions_data(functions)
    inside = np.mean((x >= functions.total_low) & (x <= functions.total_high))
    assert f"holds {100 * inside:.3g} % of the labels" in display.finding
    ax = plots.functions_diagram(functions)
    assert len(ax.lines) == 2 * 3 + 1  # centre and two edges per member, the labels
    assert len(ax.collections) == 1
    assert display.table().columns == ("feature", "band of all", "member 0", "member 1")
    assert "labels" not in plots.functions_data(dataclasses.replace(functions, labels=None)).finding
