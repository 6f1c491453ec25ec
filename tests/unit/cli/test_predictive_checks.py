"""`credibly check` for programs: TSV, JSON, notes, exit codes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from unit.cli.runs import FAST, Command, M, World


@pytest.fixture
def members(world: World, tmp_path: Path) -> Path:
    path = tmp_path / "members.npz"
    n = len(world.labels)
    np.savez(path, probs=world.members, y=world.labels, id=np.arange(n), group=np.arange(n) % 2)
    return path


def test_numbers_are_those_of_the_library(credibly: Command, members: Path, world: World) -> None:
    ran = credibly(
        "check", members, *FAST, "--statistic", "brier", "--statistic", "confidence_ece", "--seed", 4
    )
    assert ran.code == 0
    n = len(world.labels)
    check = cr.predictive_check(
        world.members,
        world.labels,
        statistics=["brier", "confidence_ece"],
        groups=np.arange(n) % 2,
        n_resamples=99,
        rng=4,
    )
    expected = [
        (name, result)
        for name, part in check.hypotheses.items()
        for results in (part.checks, *part.groups.values())
        for result in results.values()
    ]
    assert len(ran.rows) == len(expected) == 2 * 2 * 3
    for row, (name, tested) in zip(ran.rows, expected, strict=True):
        assert (row["hypothesis"], row["group"], row["statistic"]) == (
            name,
            tested.details.group or "",
            tested.statistic_name,
        )
        assert float(row["value"]) == tested.statistic
        assert float(row["pvalue"]) == tested.pvalue
        assert float(row["adjusted_pvalue"]) == tested.adjusted_pvalue
        assert float(row["sharpness"]) == tested.details.sharpness
        assert (row["side"], int(row["m"]), row["verdict"]) == (tested.details.direction, M, tested.verdict())
    assert "one of these 4 members" in ran.err
    assert "must not have been used to train" in ran.err


def test_averages_are_checked_under_independence_and_that_is_said(
    credibly: Command, calibrated: Path
) -> None:
    ran = credibly("check", calibrated, *FAST)
    assert ran.code == 0
    assert {row["hypothesis"] for row in ran.rows} == {"independent"}
    assert "Bayesian hypothesis cannot be tested" in ran.err
    refused = credibly("check", calibrated, *FAST, "--hypothesis", "bayesian")
    assert refused.code == 2
    assert "only averages are stored" in refused.err
    assert "`--hypothesis independent`" in refused.err


def test_a_conflict_sets_the_exit_code_where_asked(credibly: Command, overconfident: Path) -> None:
    words = ("check", overconfident, "--statistic", "log_loss", *FAST)
    assert credibly(*words).code == 0
    assert credibly(*words, "--fail-on", "conflict").code == 1


def test_json_holds_everything(credibly: Command, members: Path) -> None:
    ran = credibly("check", members, *FAST, "--power", "temperature", "--json", "--quiet")
    record = json.loads(ran.out)
    assert ran.err == ""
    assert record["type"] == "PredictiveCheck"
    assert record["power"]["type"] == "PowerCurve"
    assert set(record["bayesian"]["groups"]) == {"0", "1"}
    output = credibly("check", members, *FAST, "--power", "temperature")
    assert "Power of temperature" in output.err
    assert "power 0.8 from" in output.err
    assert "np." not in output.out  # plain numbers, for programs


def test_weights_by_row_are_checked_under_independence(credibly: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    mean, weights = rng.normal(size=(80, 3)), rng.dirichlet(np.ones(3), size=80)
    path = tmp_path / "mixture.npz"
    np.savez(path, mean=mean, std=np.ones((80, 3)), member_weights=weights, y=mean[:, 0])
    ran = credibly("check", path, *FAST)
    assert ran.code == 0, ran.err
    assert {row["hypothesis"] for row in ran.rows} == {"independent"}
    assert "members have other weights in every row, so the Bayesian hypothesis" in ran.err
    refused = credibly("check", path, *FAST, "--hypothesis", "bayesian")
    assert refused.code == 2
    assert "needs one weight per member" in refused.err


def test_regression_files(credibly: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "gaussian.npz"
    mean = rng.normal(size=(80, 5))
    np.savez(path, mean=mean, std=np.ones((80, 5)), y=mean[:, 0] + rng.normal(size=80))
    ran = credibly("check", path, "--kind", "gaussian", *FAST)
    assert ran.code == 0, ran.err
    assert [row["statistic"] for row in ran.rows] == ["picp", "quantile_calibration_error"] * 2
