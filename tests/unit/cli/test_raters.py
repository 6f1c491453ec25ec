"""`credibly raters` for programs: TSV, JSON, notes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from unit.cli.runs import Command


@pytest.fixture
def rated(tmp_path: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), size=60)
    counts = rng.multinomial(rng.integers(1, 6, size=60), probs)
    path = tmp_path / "rated.npz"
    np.savez(path, probs=probs, label_counts=counts, classes=np.array(["a", "b", "c"]))
    return path, probs, counts


def direct(probs: np.ndarray, counts: np.ndarray, **settings) -> tuple:
    labels = cr.LabelCounts(counts)
    if settings.pop("weights", None) == "raters":
        settings["sample_weight"] = labels.totals
    with pytest.warns(UserWarning, match="fewer than 2 raters"):
        return (
            cr.raters.decompose_loss(probs, labels, **settings),
            cr.raters.decompose_disagreement(probs, labels, **settings),
        )


@pytest.mark.parametrize("words", [(), ("--n-bins", 5), ("--weights", "raters")])
def test_numbers_are_those_of_the_library(credibly: Command, rated, words: tuple) -> None:
    path, probs, counts = rated
    settings = {"n_bins": 5} if "--n-bins" in words else {}
    loss, pairs = direct(probs, counts, **settings, weights="raters" if "--weights" in words else None)
    ran = credibly("raters", path, *words)
    assert ran.code == 0
    found = {(row["part"], row["class"], row["term"]): row for row in ran.rows}
    assert float(found["loss", "", "dispersion"]["value"]) == loss.dispersion.value
    assert float(found["loss", "", "epistemic"]["plugin"]) == loss.plugin.epistemic.value
    assert float(found["loss", "", "epistemic"]["interval_low"]) == loss.epistemic.interval()[0]
    assert float(found["loss", "b", "calibration"]["value"]) == loss.per_class.calibration.value[1]
    assert float(found["disagreement", "", "calibration"]["stderr"]) == pairs.calibration.stderr
    assert float(found["loss", "", "calibration_error"]["value"]) == loss.calibration_error.value
    assert "fewer than 2 raters" in ran.err


def test_json_holds_both_decompositions(credibly: Command, rated) -> None:
    path, probs, counts = rated
    loss, _ = direct(probs, counts)
    record = json.loads(credibly("raters", path, "--json").out)
    assert record["type"] == "Annotators"
    assert record["loss"]["expected"]["value"] == loss.expected.value
    assert record["disagreement"]["type"] == "DisagreementDecomposition"


def test_single_labels_are_refused_with_the_way_to_name_counts(credibly: Command, tmp_path: Path) -> None:
    path = tmp_path / "single.npz"
    np.savez(path, probs=np.full((4, 2), 0.5), y=np.array([0, 1, 0, 1]))
    ran = credibly("raters", path)
    assert ran.code == 2
    assert "one label per instance" in ran.err
    assert "--labels label_counts" in ran.err


def test_one_rater_each_is_refused(credibly: Command, tmp_path: Path) -> None:
    path = tmp_path / "ones.npz"
    np.savez(path, probs=np.full((4, 2), 0.5), label_counts=np.eye(2, dtype=int)[[0, 1, 0, 1]])
    ran = credibly("raters", path)
    assert (ran.code, ran.out) == (2, "")
    assert "needs instances with at least 2 raters" in ran.err


def test_members_and_raters_show_ignorance_and_agreement(credibly: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    members = cr.Ensemble.from_logits(rng.normal(size=(80, 1, 3)) + rng.normal(size=(80, 5, 3)))
    labels = (rng.random((80, 4, 1)) > members.mean().probs.cumsum(axis=1)[:, None]).sum(axis=2)
    path = tmp_path / "rated.npz"
    np.savez(path, probs=members.probs, raters=labels.astype(str))
    record = json.loads(credibly("raters", path, "--json", "--n-resamples", 99, "--seed", 1).out)
    counts = cr.LabelCounts.from_table(labels, n_classes=3)
    direct = cr.raters.ignorance(members, counts, n_resamples=99, rng=1)
    assert record["ignorance"]["gap"]["value"] == pytest.approx(direct.gap.value)
    assert record["ignorance"]["test"]["pvalue"] == direct.test.pvalue
    assert record["ignorance"]["sentence"] == direct.sentence()
    alpha = cr.raters.agreement(counts).krippendorff
    assert record["agreement"]["krippendorff"]["value"] == pytest.approx(alpha.value)
    assert record["rater_test"]["pvalue"] == cr.raters.rater_test(counts, n_resamples=99, rng=1).pvalue
    ran = credibly("raters", path, "--n-resamples", 99, "--seed", 1)
    assert "ignorance\t\tsupported_share" in ran.out
    assert "agreement\t\tkrippendorff" in ran.out
    assert direct.sentence() in ran.err
