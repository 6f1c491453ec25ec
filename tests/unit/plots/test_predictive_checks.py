"""Pictures of predictive checks as data, then as marks on axes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import credibly as cr
from credibly.plots.curves import power
from credibly.plots.hypotests import check_groups, check_members, check_strip
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
    strip = check_strip(check)
    assert strip.columns["check"] == [
        "Accuracy, bayesian",
        "Accuracy, independent",
        "Log loss, bayesian",
        "Log loss, independent",
    ]
    far, results = dots_of(strip), []
    for place, name, part in zip(
        range(4), ["accuracy"] * 2 + ["log_loss"] * 2, [check.bayesian, check.independent] * 2, strict=True
    ):
        result = part.checks[name]
        low, high = result.acceptance_region
        expected = np.clip((2 * result.statistic - low - high) / (high - low), -3, 3)
        role, at = far[3 - place]
        assert at == pytest.approx(expected)
        assert (role == "far") == (not low <= result.statistic <= high)
        results.append(result)
    assert strip.columns["observed"] == [result.statistic for result in results]
    assert strip.columns["acceptance"] == [result.acceptance_region for result in results]
    ax = strip.draw()
    bars = [patch for patch in ax.patches if patch.get_width() == 2.0]
    assert len(bars) == 4
    assert len(strip.table().rows) == 4
    outside = sum(role == "far" for role, _ in far.values())
    assert strip.finding.startswith(f"{outside} of 4" if outside else "All 4")


def dots_of(strip) -> dict[int, tuple[str, float]]:
    """Return role and place of the observed value of every line, by its height."""
    dots = [mark for mark in strip.marks if mark.form == "dots"]
    return {int(y): (dot.role, float(x)) for dot in dots for x, y in zip(*dot.data, strict=True)}


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
        strip = check_strip(dataclasses.replace(check, bayesian=part, independent=None))
        assert dots_of(strip)[0][1] == place
        strip.draw()


def test_replicates_by_member(check: cr.results.PredictiveCheck) -> None:
    picture = check_members(check, "log_loss")
    result = check.bayesian.checks["log_loss"]
    members, sizes, means = picture.columns.values()
    assert sum(sizes) == 199
    assert sizes == np.bincount(check.bayesian.members)[members].tolist()
    assert (np.diff(means) >= 0).all()
    for member, mean in zip(members, means, strict=True):
        assert mean == pytest.approx(result.null_distribution[check.bayesian.members == member].mean())
    assert "members reach from" in picture.finding
    ax = picture.draw()
    assert len(ax.patches) == 4  # one shape per member
    assert len(picture.table().rows) == 4
    with pytest.raises(cr.UnsupportedError, match="Bayesian hypothesis"):
        check_members(dataclasses.replace(check, bayesian=None), "log_loss")
    with pytest.raises(cr.InputError, match="statistic"):
        check_members(check, "brier")


@pytest.mark.slow
def test_very_many_members_share_layers() -> None:
    """200 layers were 140 kB of a page that promises to stay under 500."""
    rng = np.random.default_rng(0)
    members = cr.Ensemble(rng.dirichlet(np.ones(3), size=(40, 200)), member_axis=1)
    check = cr.predictive_check(
        members, rng.integers(3, size=40), statistics=["accuracy"], n_resamples=399, rng=0
    )
    picture = check_members(check)
    ax = picture.draw()
    assert len(ax.patches) <= 40
    assert sum(len(patch.get_path().vertices) // 5 for patch in ax.patches) < 400
    assert sum(picture.columns["replicates"]) == 399
    assert len(picture.table().rows) == 200


def test_groups_that_cannot_tell_take_few_bytes() -> None:
    rng = np.random.default_rng(0)
    members, labels = rng.dirichlet(np.ones(3), size=(40, 4)), rng.integers(0, 3, size=40)
    check = cr.predictive_check(
        members, labels, statistics=["accuracy"], groups=np.arange(40) % 2, n_resamples=9, rng=0
    )
    ax = check_groups(check, "accuracy").draw()
    assert all(patch.get_hatch() for patch in ax.patches)  # nine replicates reject nothing
    assert len(svg_text(ax.figure)) < 40_000  # type: ignore[arg-type]  # dots are 94 kB of circles


def test_the_grid_of_groups(check: cr.results.PredictiveCheck) -> None:
    grid = check_groups(check, "log_loss", "independent")
    named = [f"{row} / {column}" for row in range(2) for column in range(3)]
    results = [check.independent.groups[name]["log_loss"] for name in named]
    assert grid.columns["group"] == [name.replace(" / ", " ") for name in named]
    assert grid.columns["adjusted p"] == [result.deciding_pvalue for result in results]
    boxes = [mark.data for mark in grid.marks if mark.form == "boxes"]
    assert [(box[2][0], box[0][0]) for box in boxes] == [
        (row - 0.5, column - 0.5) for row in range(2) for column in range(3)
    ]
    ax = grid.draw()
    hatched = sum(bool(patch.get_hatch()) for patch in ax.patches)
    assert hatched == sum(result.verdict() != "no conflict found" for result in results)
    assert len(grid.table().rows) == 6
    with pytest.raises(cr.UnsupportedError, match="grouping factors"):
        check_groups(
            dataclasses.replace(check, factors={}, bayesian=dataclasses.replace(check.bayesian, groups={})),
            "log_loss",
        )


def test_one_factor_is_one_column_and_missing_groups_stay_empty(check: cr.results.PredictiveCheck) -> None:
    members = np.random.default_rng(0).dirichlet(np.ones(2), size=(20, 3))
    checked = cr.predictive_check(members, np.zeros(20, int), groups=np.arange(20) % 2, n_resamples=19, rng=0)
    assert check_groups(checked, "accuracy").columns["group"] == ["0", "1"]
    two = {"a": np.array([0, 0, 1] * 6 + [0, 0]), "b": np.array([0, 1, 0] * 6 + [0, 1])}
    crossed = cr.predictive_check(members, np.zeros(20, int), groups=two, n_resamples=19, rng=0)
    grid = check_groups(crossed, "accuracy")
    assert grid.columns["group"] == ["0 0", "0 1", "1 0"]
    assert "3 groups" in grid.finding


def test_power_curves(check: cr.results.PredictiveCheck) -> None:
    curve = check.power(grid=[0.2, 1.0, 5.0], n_repeats=20)
    picture = power(curve, "independent")
    assert picture.table().columns == ("temperature", "Accuracy", "Log loss")
    line = next(line for line in picture.draw().lines if line.get_label() == "Log loss")
    assert np.array_equal(line.get_ydata(), curve.power["independent"]["log_loss"])
    assert "Detected with power 0.8" in picture.finding
    ax = power(curve).draw()
    assert ax.get_xlabel() == "temperature"
    assert len(picture.table().rows) == 3
    silent = dataclasses.replace(curve, wanted=1.5)
    assert "nothing on this grid" in power(silent).finding
