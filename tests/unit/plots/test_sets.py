"""Pictures of tests of sets: failing regions, deviances, witnesses; data first, then marks on axes."""

from __future__ import annotations

import io

import numpy as np
import pytest

import credibly as cr
from credibly.plots.groups import regions
from credibly.plots.hypotests import deviances, witness
from pictures import marked


def test_failing_regions() -> None:
    """Forty fair coins; the half with x > 19.5 always shows class 1."""
    probs, x = np.full((40, 1, 2), 0.5), np.arange(40.0)
    labels = np.where(x > 19.5, 1, np.arange(40) % 2)
    result = cr.hypotests.weights_test(
        probs, labels, weights="mean", statistics="brier", n_resamples=19, rng=0
    )
    worst_regions = result.details.regions(probs, labels, space=x)
    picture = regions(worst_regions, class_names=["heads", "tails"])
    assert marked(picture, "adjusted p <= 0.05")[1].tolist() == [1]  # the first of two, at the top
    assert marked(picture, "within chance")[1].tolist() == [0]
    assert picture.finding.startswith(
        "1 of 2 regions deviate by more than chance explains; the worst: where feature 0 > 19.5, class heads "
        "was predicted with 0.5 and observed with 0 (n = 20"
    )
    ax = regions(worst_regions).draw()
    assert [line.get_marker() for line in ax.lines if line.get_marker() != "None"] == ["o", "D"]
    assert ax.get_yticklabels()[0].get_text().startswith("feature 0 > 19.5")
    assert picture.table().columns[:3] == ("regions", "classes", "scores")
    calm = regions(worst_regions, level=1e-9)
    assert calm.finding.startswith("None of 2 regions deviates")


@pytest.mark.slow
def test_deviances_of_single_instances() -> None:
    probs = np.tile([0.9, 0.1], (700, 1))
    counts = np.tile([45, 5], (700, 1))
    counts[3] = [0, 50]
    result = cr.validity_test(probs, counts, n_resamples=99, rng=0)
    picture = deviances(result)
    rows, ranks = picture.columns["rows"], picture.columns["ranks"]
    assert (rows[0], ranks[0]) == (3, 1)
    assert len(rows) <= 500 < result.n
    assert ranks[-1] == 700
    assert "Of 700 instances, 699 have frequencies inside their set, and 1 have" in picture.finding
    assert result.details.largest_explained < result.details.deviance[3]
    ax = deviances(result).draw()
    assert ax.get_ylabel() == "deviance"
    infinite = cr.validity_test([[1.0, 0.0], [0.5, 0.5]], [[1, 1], [1, 1]], n_resamples=19, rng=0)
    deviances(infinite).draw().figure.savefig(io.BytesIO(), format="png")
    assert "infinite" in deviances(infinite).finding


@pytest.mark.slow
def test_a_witness_shows_what_the_set_allows_and_what_happened() -> None:
    rng = np.random.default_rng(0)
    members = rng.dirichlet([4.0, 4.0, 4.0], size=(200, 3))
    labels = np.where(rng.random(200) < 0.8, 2, 0)
    result = cr.hypotests.witness_test(members, labels, rng=0)
    picture = witness(result, class_names=["cat", "dog", "whale"], limit=3)
    table = picture.columns
    assert table["class"][0] == "whale, more often"
    assert table["observed"][0] > table["upper"][0]
    assert (table["standard deviations beyond"] <= table["standard deviations beyond"][0]).all()
    assert "whale occurs more often" in picture.finding
    assert 1 <= len(picture.table().rows) <= 3
    result.plot().figure.savefig(io.BytesIO(), format="png")
    assert cr.hypotests.witness_test(members, labels, rng=0).plot().get_xlabel() == "frequency of the class"
    silent = cr.hypotests.witness_test(np.full((4, 2, 2), 0.5), [0, 1, 0, 1], rng=0)
    assert witness(silent).finding.startswith("No class was found to occur more or less often")
    silent.plot().figure.savefig(io.BytesIO(), format="png")
