"""Point predictions that every clone holds: numbers of other packages, of loops, and of C25's clipped score.

The counterpart of test_cifar10.py and of the tables in test_score.py, on tests/golden/data: digits, and the
mean of five networks on remainders. make_other_numbers.py recorded what other packages say.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import rel_entr

import credibly as cr
from credibly_studies import c25
from golden.shipped import MODELS, arrays, ensemble, focal_sets

RECORD = json.loads(Path(__file__).with_name("other_numbers.json").read_text(encoding="utf-8"))
# netcal and scikit-learn compute in double precision, torchmetrics in single precision
RELATIVE = {"scikit-learn": 1e-10, "netcal": 1e-10, "torchmetrics": 2e-5}


@pytest.fixture(scope="module")
def digits() -> dict[str, np.ndarray]:
    return arrays("digits")


@pytest.fixture(scope="module")
def distances(digits: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """-log p_y per instance, in double precision."""
    rows, labels = np.arange(len(digits["labels"])), digits["labels"]
    return {name: -np.log(digits[name].astype(float)[rows, labels]) for name in MODELS}


CASES = [(model, name) for model, values in RECORD["values"].items() for name in values]


@pytest.mark.parametrize(("model", "name"), CASES)
def test_numbers_of_other_packages(model: str, name: str, digits: dict[str, np.ndarray]) -> None:
    package, statistic = name.partition(", ")[0].split(" ")
    settings = {"p": 2} if name.endswith("p=2") else {}
    if model == "remainders mean":
        members, labels = ensemble()
        point = members.mean()
    else:
        point, labels = cr.Point(digits[model.removeprefix("digits ")]), digits["labels"]
    found = cr.statistics.registered()[statistic](point, labels, **settings)
    assert float(found) == pytest.approx(RECORD["values"][model][name], rel=RELATIVE[package])


@pytest.mark.parametrize("model", MODELS)
def test_paper_mode_of_c25(
    model: str, digits: dict[str, np.ndarray], distances: dict[str, np.ndarray]
) -> None:
    """Ten bins (a, b] and a probability clipped at 1e-10, by a loop over bins."""
    probs, labels = digits[model].astype(float), digits["labels"]
    confidence, hit = probs.max(axis=1), probs.argmax(axis=1) == labels
    ece = 0.0
    for cell in range(10):
        inside = (confidence > cell / 10) & (confidence <= (cell + 1) / 10)
        if inside.any():
            ece += inside.sum() / len(labels) * abs(hit[inside].mean() - confidence[inside].mean())
    point = cr.Point(digits[model])
    assert float(cr.confidence_ece(point, labels, n_bins=10, closed="right")) == pytest.approx(ece, rel=1e-9)
    clipped = np.minimum(distances[model], -math.log(1e-10))
    for clip, expected in ((0.0, distances[model]), (1e-10, clipped)):
        estimate = cr.log_loss(point, labels, clip=clip)
        assert estimate.value == pytest.approx(expected.mean(), rel=1e-9)
        assert estimate.stderr == pytest.approx(expected.std(ddof=1) / len(labels) ** 0.5, rel=1e-9)
    # two labels of `sharp` have less than 1e-10, none of the others
    assert (float(cr.log_loss(point, labels)) != float(cr.log_loss(point, labels, clip=1e-10))) == (
        model == "sharp"
    )


@pytest.mark.parametrize("model", MODELS)
def test_rows_of_c25s_tables(
    model: str, digits: dict[str, np.ndarray], distances: dict[str, np.ndarray]
) -> None:
    """Distance, imprecision and E of all, right and wrong predictions; JS by SciPy."""
    probs, labels = digits[model].astype(float), digits["labels"]
    clipped, right = np.minimum(distances[model], -math.log(1e-10)), probs.argmax(axis=1) == labels
    score = c25.score(digits[model], labels, budget=focal_sets())
    for group, rows in (("all", slice(None)), ("right", right), ("wrong", ~right)):
        for part in ("distance", "total"):
            found = score.summary[part][group]
            assert found.mean == pytest.approx(clipped[rows].mean(), rel=1e-9)
            assert found.std == pytest.approx(clipped[rows].std(ddof=1), rel=1e-9)
        assert score.summary["imprecision"][group].mean == pytest.approx(0.0, abs=1e-12)
    # sums of float32 are off by 1e-8, whose root would show
    probs /= probs.sum(axis=1, keepdims=True)
    onehot = np.eye(10)[labels]
    middle = (probs + onehot) / 2
    js = (rel_entr(probs, middle) + rel_entr(onehot, middle)).sum(axis=1) / 2
    root = np.sqrt(np.maximum(js, 0.0))  # rounding leaves -1e-17 in place of 0
    by_js = c25.score(probs, labels, budget=focal_sets(), divergence="js")
    assert by_js.summary["total"]["all"].mean == pytest.approx(root.mean(), abs=1e-7)


def test_the_ranking_is_that_of_the_means(
    digits: dict[str, np.ndarray], distances: dict[str, np.ndarray]
) -> None:
    models = {name: digits[name] for name in MODELS}
    ranking = cr.rank_models(models, digits["labels"], n_resamples=200)
    expected = sorted(MODELS, key=lambda name: distances[name].mean())
    assert list(ranking.order(1.0)) == expected == ["mean", "sharp", "smooth"]  # .15, .60, .69
    # a paired difference of almost 4 standard errors is no tie
    gap = distances["sharp"] - distances["mean"]
    assert gap.mean() > 3.5 * gap.std() / len(gap) ** 0.5
    assert ranking.at(1.0).tied_with_first == ()


def test_the_sharp_model_is_in_conflict(digits: dict[str, np.ndarray]) -> None:
    """ECE .051 of 600 rows: replicates drawn by NumPy from the predictions themselves come nowhere near."""
    probs, labels = digits["sharp"].astype(float), digits["labels"]
    rng = np.random.default_rng(0)
    bins, confidence = np.minimum((probs.max(axis=1) * 15).astype(int), 14), probs.max(axis=1)
    drawn = []
    for _ in range(99):
        hit = rng.random(len(labels)) < confidence
        gaps = np.bincount(bins, weights=hit - confidence, minlength=15)
        drawn.append(np.abs(gaps).sum() / len(labels))
    result = cr.calibration_test(digits["sharp"], labels, n_resamples=99, rng=0)
    assert result.pvalue == 0.01  # (1 + 0) / (1 + 99)
    # two samples of 99 from the same law: the means differ by a few of their standard errors at most
    spread = np.hypot(np.std(drawn), np.std(result.null_distribution)) / 99**0.5
    assert abs(result.null_distribution.mean() - np.mean(drawn)) < 5 * spread
    assert max(drawn) < 0.051


def test_corrupt_rows_are_found_and_counted(digits: dict[str, np.ndarray]) -> None:
    probs = digits["mean"].copy()
    rows = [3, 44, 391]
    probs[rows] *= np.array([[2], [10], [5]], dtype=np.float32)
    with pytest.raises(cr.InvalidRowsError, match=r"row 3 sums to 2 \(3 of 600 rows") as found:
        cr.Point(probs)
    assert list(found.value.rows) == rows
    assert len(cr.Point(np.delete(probs, rows, axis=0))) == 597
