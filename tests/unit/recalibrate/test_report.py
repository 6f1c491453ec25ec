"""Before and after: folds, paired differences, tests, raters, pictures and the section of the report."""

from __future__ import annotations

import json

import numpy as np
import pytest

import credibly as cr
from credibly.plots import picture
from credibly.report.page import render_report
from recalibrations import members, rated, world


@pytest.fixture(scope="module")
def sharp() -> tuple[cr.Point, np.ndarray]:
    probs, labels = world(300)
    return cr.Point.from_logits(3 * np.log(probs)), labels


@pytest.fixture(scope="module")
def report(sharp) -> cr.results.RecalibrationReport:
    return cr.recalibration_report(*sharp, ["temperature", "alpha"], cv=4, n_resamples=39)


def test_every_instance_is_measured_by_a_fit_that_has_not_seen_it(sharp, report) -> None:
    predictions, labels = sharp
    order = np.random.default_rng(cr_seed()).permutation(300)
    probs = np.empty((300, 3))
    for held_out in np.array_split(order, 4):
        kept = np.setdiff1d(np.arange(300), held_out)
        scaling = cr.recalibrate.TemperatureScaling().fit(predictions[kept], labels[kept])
        probs[held_out] = scaling.apply(predictions[np.asarray(held_out)]).probs
    changes = report.methods["temperature"].changes
    assert changes["log_loss"].after.value == pytest.approx(float(cr.log_loss(probs, labels)), rel=1e-12)
    assert changes["skce"].after.value == pytest.approx(float(cr.skce(probs, labels)), rel=1e-9)
    test = cr.calibration_test(
        probs, labels, statistics=[change.before.name for change in changes.values()], n_resamples=39, rng=0
    )
    for name, change in changes.items():
        assert change.before.value == pytest.approx(
            float(cr.statistics.registered()[name](predictions, labels)), rel=1e-12
        )
        assert change.test_after.pvalue == test.components[name].pvalue


def cr_seed() -> tuple[int, int]:
    """The seed that rng=0 stands for."""
    from credibly._arrays.philox import as_seed

    return as_seed(0)


def test_differences_are_paired(sharp, report) -> None:
    change = report.methods["temperature"].changes["log_loss"]
    apart = np.hypot(change.before.stderr, change.after.stderr)
    assert change.difference.stderr < apart
    assert change.difference.interval()[1] < 0
    unchanged = report.methods["temperature"].changes["accuracy"]
    assert (unchanged.difference.value, unchanged.difference.stderr) == (0.0, 0.0)
    binned = report.methods["temperature"].changes["confidence_ece"].difference
    with pytest.raises(cr.UnsupportedError, match="biased"):
        binned.interval()


def test_paired_intervals_cover() -> None:
    """The true change of the Brier score under a fixed map; each data set is one draw of labels."""
    probs, _ = world(400, seed=8)
    before = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    truth = ((probs - before) ** 2).sum(axis=1)  # expected loss of `before` minus that of `probs`
    rng = np.random.default_rng(1)
    missed = 0
    from credibly.recalibrate.comparison import statistic_changes

    for _ in range(200):
        rows = rng.integers(0, 400, size=400)
        labels = (rng.random((400, 1)) > probs[rows].cumsum(axis=1)).sum(axis=1).clip(max=2)
        first, second = cr.Point(before[rows]), cr.Point(probs[rows])
        (change,) = statistic_changes(first, second, labels, [cr.brier], {}, {})
        low, high = change.difference.interval()
        missed += not low <= -truth.mean() <= high
    assert 2 <= missed <= 20  # 10 expected at 95 %; outside with probability below 0.002


def test_what_cannot_be_fitted_is_said(report) -> None:
    assert "several labels per instance" in report.methods["alpha"].failure
    assert not report.methods["alpha"].changes
    assert "not fitted" in str(report)
    assert report.best() == "temperature"
    assert report.best("accuracy") is None
    with pytest.raises(cr.InputError, match="must be one of the report"):
        report.best("logloss")


def test_raters_show_what_alpha_changes() -> None:
    probs, counts = rated(300)
    changes = (
        cr.recalibration_report(
            probs, cr.LabelCounts(counts), ["alpha", "temperature+alpha"], cv=3, n_resamples=19
        )
        .methods["alpha"]
        .changes
    )
    assert changes["log_loss"].difference.value == pytest.approx(0.0, abs=1e-12)
    assert changes["expected_loss"].difference.value == pytest.approx(0.0, abs=1e-12)
    assert changes["disagreement_calibration_loss"].difference.value < 0
    assert changes["disagreement_loss"].difference.interval()[1] < 0
    assert changes["brier"].test_before is None
    root = changes["disagreement_calibration_error"]
    assert root.before.value == pytest.approx(
        cr.raters.decompose_disagreement(probs, cr.LabelCounts(counts)).calibration_error.value
    )
    with pytest.raises(cr.UnsupportedError, match="difference of square roots"):
        root.difference.interval()


def test_ensembles_and_features() -> None:
    logits, labels = members(200)
    ensemble = cr.Ensemble.from_logits(3 * logits)
    report = cr.recalibration_report(ensemble, labels, ["temperature", "members"], n_resamples=19, cv=2)
    assert all(method.failure is None for method in report.methods.values())
    assert report.methods["members"].changes["log_loss"].difference.value < 0
    probs, counts = rated(200)
    features = np.random.default_rng(0).normal(size=(200, 2))
    method = cr.recalibrate.TemperatureScaling().then(cr.recalibrate.AlphaCalibration())
    with_features = cr.recalibration_report(
        probs, cr.LabelCounts(counts), [method], features=features, n_resamples=19, cv=2
    )
    assert "linear in 2 features" in with_features.methods["temperature+alpha"].description


def test_torch_gives_the_same_numbers(sharp) -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    predictions, labels = sharp
    ours = cr.recalibration_report(predictions, labels, ["temperature"], n_resamples=19)
    theirs = cr.recalibration_report(
        cr.Point.from_logits(torch.from_numpy(predictions.logits)),
        torch.from_numpy(labels),
        ["temperature"],
        n_resamples=19,
    )
    for name, change in ours.methods["temperature"].changes.items():
        other = theirs.methods["temperature"].changes[name]
        assert change.after.value == pytest.approx(other.after.value, rel=1e-9, abs=1e-12)
        assert change.test_after.pvalue == other.test_after.pvalue


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"methods": "temperature"}, "must be a sequence"),
        ({"methods": []}, "at least one method"),
        ({"methods": ["temprature"]}, "Did you mean 'temperature'"),
        ({"methods": [3]}, "must be names or recalibrations"),
        ({"methods": ["vector", cr.recalibrate.VectorScaling()]}, "appears twice"),
        ({"cv": 1}, "`cv` must be an integer of at least 2"),
        ({"cv": 200}, "two instances per fold"),
        ({"statistics": "brier"}, "must be a sequence"),
        ({"features": np.ones((2, 1))}, "one row per prediction"),
    ],
)
def test_bad_settings(words: dict, said: str, sharp) -> None:
    with pytest.raises(cr.CrediblyError, match=said):
        cr.recalibration_report(*sharp, **({"methods": ["temperature"], "n_resamples": 9} | words))


def test_results_are_json(report) -> None:
    record = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    change = record["methods"]["temperature"]["changes"]["brier"]
    assert change["before"]["value"] == report.methods["temperature"].changes["brier"].before.value
    assert "null_distribution" not in change["test_before"]


def test_pictures(report) -> None:
    curves = picture(report, "curves")
    assert list(dict.fromkeys(curves.columns["curve"])) == ["before", "temperature"]
    assert "0." in curves.finding
    key = curves.draw().get_legend().get_texts()
    assert [text.get_text() for text in key] == ["before", "filled: outside its band", "temperature"]
    assert {row[0] for row in curves.table().rows} == {"before", "temperature"}
    changes = picture(report, "changes", statistic="brier")
    change = report.methods["temperature"].changes["brier"]
    assert changes.columns["difference"].tolist() == [change.difference.value]
    assert (changes.columns["low"][0], changes.columns["high"][0]) == change.difference.interval()
    ax = changes.draw()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["temperature"]
    without = picture(report, "changes", statistic="confidence_ece")
    assert np.isnan(without.columns["low"]).all()
    assert "interval" not in without.finding
    with pytest.raises(cr.InputError, match="must be one of the report"):
        picture(report, "changes", statistic="speed")


def test_of_two_classes_the_picture_is_about_the_event() -> None:
    rng = np.random.default_rng(0)
    risk = 1 / (1 + np.exp(2 - rng.normal(size=400)))
    y = (rng.random(400) < risk).astype(int)
    stated = risk**0.3  # far too often
    report = cr.recalibration_report(stated, y, ["bias"], n_resamples=0)
    curves = picture(report, "curves")
    assert (curves.xlabel, curves.ylabel) == ("predicted probability", "observed frequency")
    rows = zip(*curves.columns.values(), strict=True)
    before = [dict(zip(curves.columns, row, strict=True)) for row in rows if row[0] == "before"]
    for column, mean in (("predicted", stated.mean()), ("observed", y.mean())):
        assert sum(row["instances"] * row[column] for row in before) / 400 == pytest.approx(mean)


@pytest.mark.slow
def test_the_section_of_the_report(sharp) -> None:
    evaluation = cr.evaluate(
        *sharp, statistics=["log_loss"], n_resamples=39, recalibrate=["temperature", "alpha"]
    )
    page = render_report(evaluation)
    assert "What would recalibration change?" in page
    assert "temperature moves Log loss from" in page
    assert "alpha could not be fitted" in page
    assert tuple(name for name, _ in evaluation.not_run if "alpha" in name) == ("recalibration by alpha",)
    plain = cr.evaluate(*sharp, statistics=["log_loss"], n_resamples=39, recalibrate=[])
    assert plain.recalibration is None
    assert "What would recalibration change?" not in render_report(plain)


def test_evaluate_says_why_there_is_no_recalibration() -> None:
    evaluation = cr.evaluate(
        cr.Intervals([[0.1, 0.2]] * 4, [[0.8, 0.9]] * 4), [0, 1, 0, 1], recalibrate=["vector"], tests=False
    )
    assert ("recalibration", "4 instances are too few for 5 folds") in evaluation.not_run
    probs, labels = world(20)
    with pytest.raises(cr.InputError, match="Did you mean 'vector'"):
        cr.evaluate(probs, labels, recalibrate=["vectr"], tests=False)
    single = cr.LabelCounts(np.eye(3, dtype=int)[labels])  # one rater each: no disagreement to compare
    changes = (
        cr.recalibration_report(probs, single, ["temperature"], n_resamples=9).methods["temperature"].changes
    )
    assert "disagreement_loss" not in changes
