"""Credal measures on public predictions: known values, and agreement of ways that must agree.

Origin: a real 5-member ensemble on SNLI (calibration-on-disagreement-data), label histograms of ChaosNLI, and
the 30 focal sets C25 uses on CIFAR-10. The files are read from CREDIBLY_DATA and never shipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr

pytestmark = pytest.mark.data


def needed(data_dir: Path, *parts: str) -> Path:
    path = data_dir.joinpath(*parts)
    if not path.is_file():
        pytest.skip(f"needs {path.name} under CREDIBLY_DATA")
    return path


@pytest.fixture(scope="module")
def snli(data_dir: Path) -> tuple[cr.Ensemble, np.ndarray]:
    with np.load(needed(data_dir, "snli", "snli_dev_ensemble.npz")) as held:
        return cr.Ensemble.from_logits(held["logits"]), held["labels"]


def test_distances_on_snli(snli: tuple[cr.Ensemble, np.ndarray]) -> None:
    ensemble, labels = snli
    # known values that come with the data: point log loss .2246, distance to the hull .1137, accuracy .9226
    assert cr.credal.distance(ensemble, labels).mean() == pytest.approx(0.1137, abs=5e-5)
    assert cr.credal.distance(ensemble.mean(), labels).mean() == pytest.approx(0.2246, abs=5e-5)
    assert float(cr.accuracy(ensemble, labels)) == pytest.approx(0.9226, abs=5e-5)
    assert cr.credal.distance(ensemble.mean(), labels) == pytest.approx(
        -np.log(ensemble.mean().probs[np.arange(len(labels)), labels])
    )
    # maximin and the hull's best case bracket the accuracy of the mean
    best = cr.credal.decision(ensemble, rule="maximality")[np.arange(len(labels)), labels].mean()
    assert best > 0.9226


def test_soft_targets_on_chaosnli(data_dir: Path) -> None:
    with np.load(needed(data_dir, "snli", "chaosnli_snli.npz")) as held:
        ensemble, counts = cr.Ensemble.from_logits(held["logits"]), cr.LabelCounts(held["counts"])
    target = counts.frequencies()
    nearest = cr.credal.distance(ensemble, counts)
    members = np.array([cr.credal.distance(cr.Point(ensemble.probs[:, m]), target) for m in range(5)])
    assert (nearest <= members.min(axis=0) + 1e-9).all()
    assert nearest.mean() < 0.98 * members.min(axis=0).mean()  # the nearest point is inside the hull
    # The nearest distribution of the wider interval set is nearer still.
    assert (cr.credal.distance(ensemble.to_intervals(), counts) <= nearest + 1e-8).all()
    inside = cr.credal.contains(ensemble, counts)
    assert (nearest[inside] < 1e-8).all()
    assert (nearest[~inside] > 0).all()


def test_budget_of_c25(data_dir: Path) -> None:
    record = json.loads(needed(data_dir, "cifar10", "focal_sets.json").read_text())
    budget = [set(members) for members in record["focal_sets"]]
    assert len(budget) == 30
    members = np.stack(
        [np.load(needed(data_dir, "cifar10", f"{name}.npy")) for name in ("snn", "ddu", "de_avg")], axis=1
    )[:500]
    ensemble = cr.Ensemble(members.astype(np.float64) / members.sum(axis=-1, keepdims=True, dtype=np.float64))
    estimate = cr.credal.nonspecificity_estimate(
        ensemble, measure="dubois_prade", budget=budget, negative="clamp"
    )
    exact = cr.credal.nonspecificity(ensemble)
    # Real predictions: most rows have negative masses, and the budget overstates what is left open.
    envelope = cr.credal.mass_function(ensemble)
    assert ((envelope.masses < -1e-12).any(axis=1)).mean() > 0.5
    assert estimate.mean > exact.mean()
    singles = cr.credal.nonspecificity(ensemble, measure="dubois_prade", budget=[{j} for j in range(10)])
    assert singles.mean() > estimate.mean
