"""Comparing models in one call, and the score in an evaluation."""

from __future__ import annotations

import dataclasses
import html
import io
import json
import warnings

import numpy as np
import pytest
from rich.console import Console

import credibly as cr
from credibly.diagnosis import diagnose
from credibly.io.bundled import demo
from credibly.selection.lines import Recommendation
from unit.credal.oracles import random_ensemble


@pytest.fixture(scope="module")
def comparison() -> cr.Comparison:
    names = ("ensemble", "single", "intervals", "dropout")
    return cr.compare(
        {name: demo(name).predictions for name in names}, demo("single").labels, n_resamples=200
    )


def test_numbers_of_single_models_are_their_own(comparison: cr.Comparison) -> None:
    data = demo("ensemble")
    assert list(comparison.estimates) == ["ensemble", "single", "intervals", "dropout"]
    assert comparison.estimates["ensemble"]["accuracy"].value == float(
        cr.accuracy(data.predictions, data.labels)
    )
    assert comparison.estimates["single"]["confidence_ece"].settings["n_bins"] == 15
    assert comparison.models["ensemble"].m == 10
    assert comparison.models["intervals"].kind == "Intervals"
    score = cr.epistemic_score(data.predictions, data.labels, dependences=False)
    assert float(comparison.ranking.lines.scores["ensemble"]) == pytest.approx(float(score))


def test_bins_are_those_asked_for() -> None:
    demo_run = demo("ensemble")
    finer = cr.compare({"e": demo_run.predictions}, demo_run.labels, n_resamples=100, n_bins=20)
    expected = cr.confidence_ece(demo_run.predictions, demo_run.labels, n_bins=20)
    assert finer.estimates["e"]["confidence_ece"].value == pytest.approx(expected.value, rel=1e-12)
    assert finer.settings["n_bins"] == 20
    with pytest.raises(cr.InputError, match="`n_bins` must be a positive integer"):
        cr.compare({"e": demo_run.predictions}, demo_run.labels, n_bins=0)


def test_findings_say_who_leads_and_who_is_tied(comparison: cr.Comparison) -> None:
    first, *others = comparison.ranking.lines.leaders()
    assert others
    (led,) = (finding for finding in comparison.findings if finding.startswith("From trade-off"))
    assert led.startswith(f"From trade-off 0 to {first[1]:.3g}, {first[2]} has the smallest mean score")
    for _, high, name in others[:-1]:
        assert f"to {high:.3g} {name}" in led
    assert led.endswith(f"beyond that, {others[-1][2]}.")
    tied = [finding for finding in comparison.findings if "statistically tied with" in finding]
    standing = comparison.ranking.at(2.0)
    assert standing.tied_with_first
    assert any(f"tied with {standing.names[0]} " in one and " 2" in one for one in tied)
    assert str(comparison).splitlines()[0] == "Comparison of ensemble, single, intervals, dropout (n = 900)"
    assert {recommendation.tradeoff for recommendation in comparison.recommendations.values()} == {0.1, 2.0}


def test_the_first_finding_names_who_is_best() -> None:
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(0.3 * np.ones(3), size=600)
    labels = (rng.random((600, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    sure = truth**3 / (truth**3).sum(axis=1, keepdims=True)  # the same answers, surer
    flat = np.full((600, 3), 1 / 3)

    def first(**models: np.ndarray) -> str:
        return cr.compare(models, labels, n_resamples=200).findings[0]

    assert first(truth=truth, sure=sure) == (
        "truth is best in log loss and calibration gap, and tied for best in accuracy."
    )
    assert first(one=truth, two=truth) == (
        "No difference beyond chance: all 2 models are statistically tied in accuracy, log loss and "
        "calibration gap."
    )
    assert first(sure=sure, flat=flat) == (
        "No model is best in everything; best or tied for best: sure in accuracy; sure in log loss; "
        "flat in calibration gap."
    )
    assert first(one=truth, two=truth, sure=sure) == (
        "one and two are tied for best in log loss and calibration gap, and tied with others in accuracy."
    )
    assert first(truth=truth).startswith(
        "There is one model, truth, and nothing to compare it with: accuracy"
    )


def test_gaps_are_compared_by_their_size() -> None:
    """Five points too often is closer to the labels than nine too rarely, though the number is larger."""
    labels = np.repeat([0, 1], [800, 200])  # the event, class 1, happens 20 % of the time

    def says(share: float) -> np.ndarray:
        return np.tile([share, 1 - share], (1000, 1))

    comparison = cr.compare({"rarely": says(0.89), "often": says(0.75)}, labels, n_resamples=200)
    order = comparison.standings["event_gap"]
    assert order.names == ("often", "rarely")
    np.testing.assert_allclose(order.scores, [0.05, -0.09])
    np.testing.assert_allclose(order.differences, [0.0, 0.04], atol=1e-12)
    low, high = order.intervals[1]
    assert low < 0.04 < high  # |s| is shaken by the labels, s = 0.04 being a sum of both gaps
    gap = comparison.leading()["often"]["Calibration gap (points)"]
    assert gap.value == "5.0 too often"
    assert gap.interval == "2.5 to 7.5"  # 5 +- 1.96 * 100 * sqrt(0.8 * 0.2 / 999)


def _three(k: int, n: int = 2000) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(5)
    truth = rng.dirichlet(np.ones(k), size=n)
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    sure, often = truth**2, truth * np.array([2.0, *np.ones(k - 1)])
    models = {"truth": truth, "sure": sure, "often": often}
    return {name: model / model.sum(axis=1, keepdims=True) for name, model in models.items()}, labels


def test_every_model_that_is_off_is_told_what_is_wrong_and_what_repairs_it() -> None:
    models, labels = _three(3)
    comparison = cr.compare(models, labels, n_resamples=200)
    assert comparison.calibration["truth"].sentence == comparison.calibration["truth"].remedy == ""
    own = {name: one.diagnosis for name, one in comparison.calibration.items()}
    assert {name: None if one is None else one.fault for name, one in own.items()} == {
        "truth": "none",
        "sure": "temperature",
        "often": "bias",
    }
    same = diagnose(models["sure"], labels, rng=0)
    assert own["sure"] is not None
    assert own["sure"].effect == same.effect
    _, sure, often, right, *_ = comparison.findings
    assert sure.startswith("sure: Overconfident: it says")
    assert "Temperature 2" in sure
    assert often.startswith("often: Predicts class 0 too often: it says")
    assert right == "No sign of miscalibration: truth."
    for name in ("sure", "often"):
        error = comparison.calibration[name].errors["classwise_ece"]
        assert error.value == pytest.approx(float(cr.classwise_ece(models[name], labels)))
        assert error.expected < error.limit < error.value
    assert comparison.calibration["truth"].errors["classwise_ece"].value < 1.5 * error.expected


def test_calibration_errors_are_compared_with_those_of_the_best() -> None:
    models, labels = _three(3)
    comparison = cr.compare(models, labels, n_resamples=200)
    assert {difference.than for difference in comparison.differences} == {"truth"}
    by = {(difference.statistic, difference.model): difference for difference in comparison.differences}
    assert set(by) == {
        (name, model)
        for name in ("confidence_ece", "classwise_ece", "smooth_ece", "truthful_ce")
        for model in ("sure", "often")
    }
    assert all(by[name, "sure"].is_clear for name in ("confidence_ece", "smooth_ece", "truthful_ce"))
    said = [
        finding
        for finding in comparison.findings
        if finding.startswith("Calibration errors of sure against truth: ")
    ]
    assert len(said) == 1
    assert "truthful calibration error larger by" in said[0]
    alike = cr.compare({"one": models["truth"], "two": models["truth"]}, labels, n_resamples=200)
    assert {difference.interval for difference in alike.differences} == {(0.0, 0.0)}
    assert (
        "Calibration errors: no model differs beyond chance from one (95 % paired intervals)."
        in alike.findings
    )


def test_two_classes_are_compared_by_the_event() -> None:
    models, labels = _three(2)
    comparison = cr.compare(models, labels, n_resamples=200)
    assert {difference.statistic for difference in comparison.differences} == {
        "classwise_ece",
        "smooth_ece",
        "truthful_ce",
    }
    expected = float(cr.smooth_ece(models["sure"], labels, target="classwise"))
    assert comparison.calibration["sure"].errors["smooth_ece"].value == pytest.approx(expected)
    assert "confidence_gap" not in comparison.estimates["truth"]
    gap = comparison.estimates["often"]["event_gap"]
    assert gap.value == pytest.approx(models["often"][:, 1].mean() - labels.mean())
    assert comparison.leading()["often"]["Calibration gap (points)"].value.endswith("too rarely")
    assert (
        comparison.curves["often"].discrimination
        == cr.corp_curve(models["often"], labels, target=1).discrimination
    )


def test_few_instances_have_no_diagnosis() -> None:
    models, labels = _three(3, n=12)
    comparison = cr.compare(models, labels, n_resamples=100)
    assert all(one.diagnosis is None and not one.errors for one in comparison.calibration.values())
    assert comparison.differences == ()


def test_models_of_real_values_are_diagnosed() -> None:
    rng = np.random.default_rng(4)
    mean = rng.normal(size=800)
    labels = mean + rng.normal(size=800)
    narrow = cr.Gaussian(mean, np.full(800, 0.5))
    comparison = cr.compare(
        {"right": cr.Gaussian(mean, np.ones(800)), "narrow": narrow}, labels, n_resamples=200
    )
    assert comparison.calibration["narrow"].diagnosis.fault == "scale"
    assert comparison.findings[1].startswith("narrow: Intervals are too narrow: its 90 % intervals contain")
    assert comparison.findings[2] == "No sign of miscalibration: right."


def test_places_of_accuracy_are_paired() -> None:
    """Two models that differ in 30 of 2000 instances are told apart; single intervals would overlap."""
    labels = np.zeros(2000, dtype=int)
    good, worse = (np.tile([0.7, 0.3], (2000, 1)) for _ in range(2))
    good[:200], worse[:230] = [0.3, 0.7], [0.3, 0.7]
    comparison = cr.compare({"worse": worse, "good": good}, labels, n_resamples=300)
    order = comparison.standings["accuracy"]
    assert order.names == ("good", "worse")
    assert order.tied_with_first == ()
    assert (
        comparison.estimates["worse"]["accuracy"].interval()[1]
        > comparison.estimates["good"]["accuracy"].interval()[0]
    )
    size, (low, high) = order.behind("worse") or (0.0, (0.0, 0.0))
    assert size == pytest.approx(0.015)
    assert 0 < low < 0.015 < high


def test_places_draw_clusters_whole() -> None:
    """Every row twice: with clusters the intervals are those of single rows, without them too short."""
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.ones(3), size=300)
    labels = (rng.random((300, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    models = {"truth": truth, "other": 0.5 * truth + 0.5 * rng.dirichlet(np.ones(3), size=300)}
    twice = {name: np.repeat(model, 2, axis=0) for name, model in models.items()}
    settings = {"n_resamples": 400, "rng": 0}
    single = cr.compare(models, labels, **settings).standings["log_loss"]
    together = cr.compare(
        twice, np.repeat(labels, 2), clusters=np.repeat(np.arange(300), 2), **settings
    ).standings["log_loss"]
    apart = cr.compare(twice, np.repeat(labels, 2), **settings).standings["log_loss"]
    widths = [float(np.diff(one.intervals[1])[0]) for one in (single, together, apart)]
    assert widths[1] == pytest.approx(widths[0], rel=0.15)
    assert widths[2] == pytest.approx(widths[0] / np.sqrt(2), rel=0.15)


def test_warnings_are_kept_not_issued(comparison: cr.Comparison) -> None:
    assert any("E depends on the number of members" in warning for warning in comparison.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cr.compare({"a": demo("ensemble").predictions}, demo("ensemble").labels, n_resamples=100)


def test_json_is_short_and_the_same_twice(comparison: cr.Comparison) -> None:
    text = json.dumps(comparison.to_dict(), allow_nan=False)
    assert len(text) < 200_000
    again = cr.compare(
        {name: demo(name).predictions for name in comparison.models}, demo("single").labels, n_resamples=200
    )
    assert json.dumps(again.to_dict(), allow_nan=False) == text


def test_raters_are_compared_too() -> None:
    rng = np.random.default_rng(0)
    counts = cr.LabelCounts(rng.multinomial(5, [0.2, 0.3, 0.5], size=40))
    comparison = cr.compare(
        {"set": random_ensemble(rng, 40, 3, 3), "flat": np.full((40, 3), 1 / 3)}, counts, n_resamples=100
    )
    assert np.isfinite(comparison.ranking.lines.distance).all()
    assert "brier" in comparison.estimates["set"]


def test_progress_names_its_stages() -> None:
    told = set()
    cr.compare(
        {"a": [[0.5, 0.5]] * 4},
        [0, 1, 1, 0],
        n_resamples=100,
        progress=lambda stage, done, total: told.add((stage, done == total)),
    )
    assert {("scores", True), ("estimates", True), ("ties", True)} <= told


def test_an_evaluation_scores_sets_and_only_sets() -> None:
    data = demo("intervals")
    evaluation = cr.evaluate(data.predictions, data.labels, tests=False)
    assert evaluation.score is not None
    score = cr.epistemic_score(data.predictions, data.labels)
    assert float(evaluation.score.score) == pytest.approx(float(score))
    assert "distance" not in evaluation.to_dict()["score"]["score"]
    point = cr.evaluate(demo("single").predictions, data.labels, tests=False)
    assert point.score is None


def test_an_evaluation_notes_what_the_score_depends_on() -> None:
    data = demo("evidential")
    evaluation = cr.evaluate(data.predictions, data.labels, tests=False)
    assert any(
        note.startswith("unified score: E depends on the number of members") for note in evaluation.notes
    )
    assert any("100 draws" in note for note in evaluation.notes)


def test_many_classes_are_scored_on_some_instances() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(13), size=(1100, 2))
    evaluation = cr.evaluate(
        cr.Ensemble(probs), rng.integers(13, size=1100), tests=False, statistics=["accuracy"]
    )
    assert evaluation.score is not None
    assert (evaluation.score.score.n, evaluation.score.n_all) == (1000, 1100)
    assert any("1000 evenly spaced of 1100 instances" in note for note in evaluation.notes)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_frame_holds_the_ranking(library: str, comparison: cr.Comparison) -> None:
    pytest.importorskip(library)
    table = comparison.to_frame(library)
    ranking = comparison.ranking
    assert table.shape == (len(ranking.lines.tradeoffs) * len(ranking.names), 10)
    rows = table.to_dict("records") if library == "pandas" else table.to_dicts()
    standing = ranking.at(1.0)
    found = [row for row in rows if row["criterion"] == 1.0]
    assert [row["model"] for row in found] == list(standing.names)
    assert [row["score"] for row in found] == standing.scores.tolist()
    for row in rows:  # E = distance + trade-off x imprecision
        assert row["score"] == pytest.approx(row["distance"] + row["criterion"] * row["imprecision"])


def test_it_renders_where_people_work() -> None:
    bad = "<b>[red]x"
    rng = np.random.default_rng(0)
    models = {bad: rng.dirichlet(np.ones(3), size=(40, 3)), "plain": rng.dirichlet(np.ones(3), size=40)}
    comparison = cr.compare(models, rng.integers(3, size=40), n_resamples=100)
    page = comparison._repr_html_()
    assert "<b>" not in page
    assert all(html.escape(finding) in page for finding in comparison.findings)
    console = Console(width=200, file=io.StringIO())
    console.print(comparison)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert bad in text
    assert "abstaining is allowed" in text


def test_a_recommendation_lists_ties_with_one_and() -> None:
    said = Recommendation("a", 1.0, "why.", ("b", "c", "d"), (0.0, 2.0))
    assert (
        str(said) == "a: why. It is first from trade-off 0 to 2. b, c and d are statistically tied with it."
    )
    assert str(dataclasses.replace(said, tied=("b",))).endswith(" b is statistically tied with it.")
    assert str(dataclasses.replace(said, tied=())).endswith(" to 2.")
