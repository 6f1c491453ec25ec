"""Models of real values side by side: paired differences, ties, several kinds, refusals, page and file."""

from __future__ import annotations

import json

import numpy as np
import pytest

import credibly as cr
from credibly.cli import main
from credibly.report.page import render_report

RNG = np.random.default_rng(0)
N = 300
MEAN = RNG.normal(size=N)
LABELS = MEAN + RNG.normal(size=N)
LEVELS = np.arange(1, 20) / 20
RIGHT = cr.Gaussian(MEAN, np.ones(N))
WIDE = cr.Gaussian(MEAN, np.full(N, 2.0))
DRAWS = cr.Samples(MEAN[:, None] + RNG.normal(size=(N, 25)))
TABLE = cr.Quantiles(RIGHT.quantile(LEVELS), LEVELS)


def test_scores_are_means_and_differences_are_paired() -> None:
    ranking = cr.rank_models({"wide": WIDE, "right": RIGHT}, LABELS)
    assert [standing.criterion for standing in ranking.standings] == [
        "crps",
        "interval_score",
        "gaussian_log_loss",
    ]
    for standing in ranking.standings:
        statistic = getattr(cr, standing.criterion)
        assert standing.names == ("right", "wide")
        assert standing.scores == pytest.approx([float(statistic(one, LABELS)) for one in (RIGHT, WIDE)])
        assert standing.tied_with_first == ()
        low, high = standing.intervals[1]
        assert 0 < low < standing.differences[1] < high
    # the interval of a paired difference: its standard error times a bootstrap quantile near 1.96
    crps = cr.statistics.registered()["crps"]
    apart = crps.loss(WIDE)(LABELS[None, :])[0] - crps.loss(RIGHT)(LABELS[None, :])[0]
    half = 0.5 * float(np.diff(ranking.at("crps").intervals[1])[0])
    assert half == pytest.approx(1.96 * apart.std() / np.sqrt(N), rel=0.15)
    assert ranking.estimates["wide"]["crps"].stderr == pytest.approx(float(cr.crps(WIDE, LABELS).stderr))
    own = ranking.at("crps")
    low, high = own.intervals[1]
    assert f"    2: wide {own.scores[1]:.4g}, +{own.differences[1]:.4g} ({low:.4g} to {high:.4g})" in str(
        ranking
    )


def test_one_instance_is_written_in_the_singular() -> None:
    one = {"a": RIGHT[:1], "b": WIDE[:1]}
    assert str(cr.rank_models(one, LABELS[:1])).startswith("2 models on 1 instance, ")
    assert "joint intervals, 1 instance)." in str(cr.compare(one, LABELS[:1]))
    coverage = cr.hypotests.set_coverage(RIGHT[:1], LABELS[:1], claimed=0.9, n_resamples=9)
    assert "% of 1 label," in str(coverage)


def test_equal_models_are_tied_and_the_first_score_decides() -> None:
    ranking = cr.rank_models({"a": RIGHT, "b": RIGHT, "c": WIDE}, LABELS, statistics=["mae", "crps"])
    assert ranking.at().criterion == "mae"
    assert [ranking.at("crps").place(name) for name in "abc"] == ["1 to 2", "1 to 2", "3"]
    assert ranking.at("mae").tied_with_first == ("b", "c")  # all have the same medians
    assert ranking.order("crps")[-1] == "c"


def test_draws_beside_a_gaussian_are_scored_fairly() -> None:
    ranking = cr.rank_models({"right": RIGHT, "draws": DRAWS}, LABELS, statistics=["crps"])
    fair = float(cr.crps(DRAWS, LABELS, estimator="fair"))
    assert ranking.estimates["draws"]["crps"].value == pytest.approx(fair)
    assert any("draws is the fair CRPS" in note for note in ranking.notes)
    alone = cr.rank_models({"one": DRAWS, "two": DRAWS}, LABELS, statistics=["crps"])
    assert alone.estimates["one"]["crps"].value == pytest.approx(float(cr.crps(DRAWS, LABELS)))
    members = cr.Samples(np.asarray(DRAWS.values)[:, None, :])
    both = cr.Samples(np.concatenate([members.values, members.values], axis=1), member_axis=1)
    ranking = cr.rank_models({"right": RIGHT, "members": both}, LABELS, statistics=["crps"])
    assert any("members is that of the draws themselves" in note for note in ranking.notes)


def test_quantiles_bring_all_models_to_their_levels() -> None:
    ranking = cr.rank_models({"right": RIGHT, "table": TABLE, "draws": DRAWS}, LABELS)
    assert ranking.estimates["right"]["crps"].value == pytest.approx(float(cr.crps(TABLE, LABELS)))
    assert ranking.at("crps").tied_with_first == ("table",)
    assert any("quantiles at 19 levels" in note for note in ranking.notes)
    assert any(
        "crps and interval_score: quantiles of the draws represent draws" in note for note in ranking.notes
    )
    assert any("`gaussian_log_loss` of table needs a density" in note for note in ranking.notes)
    assert [standing.criterion for standing in ranking.standings] == ["crps", "interval_score"]


def test_rows_in_chunks_give_the_same_ranking(tmp_path) -> None:
    for name, one in (("right", RIGHT), ("wide", WIDE)):
        np.savez(tmp_path / f"{name}.npz", mean=one.mean, std=one.std, y=LABELS)
    chunks = {name: cr.scan(tmp_path / f"{name}.npz", chunk_rows=70) for name in ("right", "wide")}
    whole = cr.rank_models({"right": RIGHT, "wide": WIDE}, LABELS)
    assert cr.rank_models(chunks).at("crps").scores == pytest.approx(whole.at("crps").scores, rel=1e-12)


@pytest.mark.parametrize(
    ("models", "settings", "match"),
    [
        ({"a": RIGHT, "b": RIGHT[:5]}, {}, "must predict the same instances|5 instances"),
        ({"a": RIGHT}, {"statistics": "crps"}, "must be a sequence"),
        ({"a": RIGHT}, {"statistics": ["picp_"]}, "picp"),
        ({"a": RIGHT}, {"statistics": ["quantile_calibration_error"]}, "must be means over instances"),
        ({"a": RIGHT}, {"statistics": ["picp"]}, "must be scores for which smaller is better"),
        ({"a": RIGHT}, {"statistics": []}, "at least one"),
        (
            {"a": cr.predictions.PredictionIntervals(MEAN - 1, MEAN + 1, claimed=0.9)},
            {},
            "must hold predicted probabilities or distributions; got PredictionIntervals. Such sets state no",
        ),
        ({"a": DRAWS}, {"statistics": ["gaussian_log_loss"]}, "needs a density"),
        ({"a": RIGHT}, {"measure": "hartley"}, "a setting of the unified score"),
        ({"a": RIGHT}, {"tradeoffs": [3.0]}, "a setting of the unified score"),
    ],
)
def test_what_makes_no_sense_is_refused(models, settings, match) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        cr.rank_models(models, LABELS, **settings)


def test_ordered_classes_are_ranked_by_the_scores_that_are_named() -> None:
    rng = np.random.default_rng(9)
    truth = rng.dirichlet(np.ones(4), size=200)
    labels = (rng.random((200, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    members = 0.8 * truth[:, None] + 0.2 * rng.dirichlet(np.ones(4), size=(200, 3))
    models = {"flat": np.full((200, 4), 0.25), "truth": truth, "set": cr.Ensemble(members)}
    comparison = cr.compare(models, labels, statistics=["rps", "log_loss"], n_resamples=200)
    ranking = comparison.ranking
    assert [standing.criterion for standing in ranking.standings] == ["rps", "log_loss"]
    assert ranking.order("rps")[-1] == "flat"
    for name, one in models.items():
        assert comparison.estimates[name]["rps"].value == pytest.approx(cr.statistics.rps(one, labels).value)
        assert comparison.estimates[name]["rps"].stderr == pytest.approx(
            cr.statistics.rps(one, labels).stderr
        )
    assert any(note.startswith("set: ") and "mean" in note for note in comparison.notes)
    chunks = {name: cr.scan(model, labels, chunk_rows=77) for name, model in models.items()}
    assert cr.rank_models(chunks, statistics=["rps"], n_resamples=200).at().scores == pytest.approx(
        ranking.at("rps").scores
    )
    page = render_report(comparison)
    assert "Behind the first by Ranked probability score" in page
    assert "Scores of classes" in page
    assert "real values" not in page
    with pytest.raises(cr.InputError, match=r"'accuracy' is best where it is largest\. Use `brier`"):
        cr.rank_models(models, labels, statistics=["accuracy"])
    with pytest.raises(cr.InputError, match="'skce' is not one"):
        cr.rank_models(models, labels, statistics=["skce"])
    with pytest.raises(cr.InputError, match="for a ranking by proper scores"):
        cr.rank_models(models, labels, statistics=["rps"], tradeoffs=[3.0])
    with pytest.raises(cr.CrediblyError, match="real"):
        cr.rank_models(models, labels, statistics=["crps"])


def test_kinds_and_names_that_do_not_fit_are_refused() -> None:
    probs = RNG.dirichlet(np.ones(2), size=20)
    with pytest.raises(cr.InputTypeError, match="all predict classes, or all real values"):
        cr.rank_models({"a": RIGHT[:20], "b": probs}, np.zeros(20, dtype=int))
    with pytest.raises(cr.InputError, match="must be one of the ranking"):
        cr.rank_models({"a": RIGHT}, LABELS).at("rmse")
    with pytest.raises(cr.InputError, match=r"`criterion` must be one of the ranking; got 0\.5"):
        cr.rank_models({"a": RIGHT}, LABELS).at(0.5)
    with pytest.raises(cr.InputError, match=r"`criterion` must be one of the ranking; got \['crps'\]"):
        cr.rank_models({"a": RIGHT}, LABELS).at(["crps"])  # type: ignore[arg-type]


def test_the_comparison_has_sentences_a_page_and_a_picture() -> None:
    comparison = cr.compare({"right": RIGHT, "wide": WIDE, "draws": DRAWS}, LABELS)
    assert "By CRPS, draws is first" in comparison.findings[0]
    assert "right is statistically tied with it" in comparison.findings[0]
    assert any(text.startswith("By interval score, right is first") for text in comparison.findings[1:])
    assert comparison.findings[1].startswith("wide: Intervals are too wide: ")
    page = render_report(comparison)
    assert "Behind the first by CRPS" in page
    assert json.loads(json.dumps(comparison.to_dict()))["ranking"]["n"] == N
    assert comparison.plot().get_xlabel() == "mean score minus the first's"
    assert "By CRPS" in comparison.summary()
    only = cr.compare({"right": RIGHT}, LABELS)
    assert only.findings[0].endswith(".")


def test_the_rows_of_a_comparison_are_places_by_every_score() -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    comparison = cr.compare({"right": RIGHT, "draws": DRAWS}, LABELS, n_resamples=100)
    assert set(comparison.to_frame()["criterion"]) == {"crps", "interval_score"}


@pytest.mark.slow
def test_the_command_line_compares_files(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("right.npz", mean=MEAN, std=np.ones(N), y=LABELS)
    np.savez("table.npz", quantiles=TABLE.values, levels=LEVELS, y=LABELS)
    assert main(["compare", "right.npz", "table.npz", "--out", "c.html", "--n-resamples", "100"]) == 0
    out = capsys.readouterr()
    assert "crps" in out.out
    assert "trade" not in out.out
    assert (tmp_path / "c.html").read_text().count("right") > 3
    words = ["compare", "right.npz", "table.npz", "--json", "--statistic", "mae", "--n-resamples", "100"]
    assert main(words) == 0
    standings = json.loads(capsys.readouterr().out)["ranking"]["standings"]
    assert [standing["criterion"] for standing in standings] == ["mae"]
    assert main(["compare", "right.npz", "table.npz", "--measure", "hartley"]) == 2


@pytest.mark.parametrize(("draws", "noted"), [(30, False), (8, True)])
def test_quantiles_of_fewer_draws_are_noted(draws: int, noted: bool) -> None:
    """Eight draws have wider scatter in their quantiles than thirty, so interval scores are not alike."""
    rng = np.random.default_rng(0)
    models = {"many": cr.Samples(rng.normal(size=(60, 30))), "few": cr.Samples(rng.normal(size=(60, draws)))}
    ranking = cr.rank_models(models, rng.normal(size=60), n_resamples=100, rng=0)
    assert any("quantiles of the draws represent few, many" in note for note in ranking.notes) is noted
