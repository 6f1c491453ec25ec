"""Pictures of the unified score: what exactly is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import credibly as cr
from credibly.plots.scores import bars, confidence, instances, tradeoffs, violins
from pictures import marked
from unit.selection.test_ranking import TOY


@pytest.fixture(scope="module")
def ranking() -> cr.selection.Ranking:
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.ones(3), size=300)
    labels = (rng.random((300, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    members = 0.7 * truth[:, None] + 0.3 * rng.dirichlet(np.ones(3), size=(300, 4))
    models = {"set": cr.Ensemble(members), "point $x$": truth}
    return cr.rank_models(models, labels, n_resamples=100)


@pytest.fixture(scope="module")
def score(ranking: cr.selection.Ranking) -> cr.results.EpistemicScore:
    return ranking.lines.scores["set"]


def test_lines_and_crossings() -> None:
    picture = tradeoffs(TOY, most=3.0)
    assert tuple(picture.columns["model"]) == TOY.order(3.0)
    assert picture.columns["model"][0] == "D"
    assert picture.columns["score at 3"] == pytest.approx(TOY.at(3.0).scores)
    others, leaders = (mark.data[0] for mark in picture.marks if mark.form == "dots")
    assert sorted([*others, *leaders]) == pytest.approx(
        sorted(crossing.tradeoff for crossing in TOY.crossings)
    )
    assert len(leaders) == 3
    assert (
        picture.finding == "Smallest mean score by trade-off: C to 0.0154, B to 0.968, A to 0.987, D beyond."
    )
    ax = picture.draw()
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 1.5]
    assert len(drawn) == 4
    assert [text.get_text() for text in ax.texts] == picture.columns["model"]
    styles = {(line.get_color(), str(line.get_linestyle())) for line in drawn}
    assert len(styles) == 4


def test_a_ranking_draws_its_lines_and_how_far_models_are_behind(ranking: cr.selection.Ranking) -> None:
    assert ranking.plot().get_xlabel() == "trade-off"
    apart = ranking.plot(kind="differences", criterion=0.5)
    standing = ranking.at(0.5)
    drawn = [point for line in apart.lines for point in line.get_xdata() if line.get_marker() == "o"]
    assert drawn == pytest.approx(standing.differences)


def test_one_leader_needs_no_crossing(ranking: cr.selection.Ranking) -> None:
    picture = tradeoffs(ranking.lines, points=False)
    assert picture.finding == "set has the smallest mean score at every trade-off."
    assert len(picture.table().rows) == 1
    with pytest.raises(cr.InputError, match="positive number"):
        tradeoffs(ranking.lines, most=math.inf)


@pytest.mark.parametrize("part", ["distance", "imprecision", "total"])
def test_violins_split_right_and_wrong(
    ranking: cr.selection.Ranking, score: cr.results.EpistemicScore, part: str
) -> None:
    picture = violins(ranking.lines, part=part)
    assert picture.columns["model"] == ["set", "point $x$"]
    for group, side in (("right", -1), ("wrong", 1)):
        left, right, *_ = marked(picture, f"{group} predictions")
        for place in range(2):  # widths are shares over the largest share, so the fullest bin is 0.42 wide
            mask = np.abs(left + right - 2 * place) < 0.5
            assert (right - left)[mask].max() == pytest.approx(0.42)
            assert ((left + right)[mask] * side >= 2 * place * side).all()
    assert picture.columns["mean if wrong"][0] == pytest.approx(getattr(score, part)[~score.right].mean())
    ax = picture.draw()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["set", "point $x$"]


def test_violins_without_wrong_predictions_or_with_infinite_ones() -> None:
    sure = violins(cr.epistemic_score([[1.0, 0.0], [0.0, 1.0]], [0, 1]))
    assert np.isnan(sure.columns["mean if wrong"]).all()
    assert "in no model" in sure.finding
    sure.draw()
    lost = violins(cr.epistemic_score([[1.0, 0.0], [0.5, 0.5]], [1, 0]))
    assert "1 infinite values are not drawn" in lost.finding
    lost.draw()


def test_bars_are_means(ranking: cr.selection.Ranking, score: cr.results.EpistemicScore) -> None:
    picture = bars(ranking.lines, group="wrong")
    assert picture.columns["total"][0] == pytest.approx(score.total[~score.right].mean())
    assert picture.table().columns == ("names", "distance", "imprecision", "total")
    both = bars(score)
    both.draw()
    assert both.columns["names"] == ["Ensemble", "its mean"]
    assert both.columns["total"][1] == pytest.approx(float(score.average))


def test_scatter_and_confidence(score: cr.results.EpistemicScore) -> None:
    picture = instances(score, limit=50)
    assert sum(len(mark.data[0]) for mark in picture.marks) == 50
    assert picture.finding.startswith("50 of 300 instances")
    assert sum(picture.columns["instances"]) == 50
    instances(score).draw()
    strip = confidence(score, n_bins=4)
    assert sum(strip.columns["instances"]) == 300
    low = score.confidence < 0.5
    assert strip.axes["xlim"] == (0.25, 1.0)
    assert strip.columns["entropy"][0] == pytest.approx(score.entropy[low].mean())
    assert strip.columns["imprecision"][0] == pytest.approx(score.imprecision[low].mean())
    confidence(score).draw()
    for bad in (0, True, 2.5):
        with pytest.raises(cr.InputError, match="positive integer"):
            confidence(score, n_bins=bad)
        with pytest.raises(cr.InputError, match="positive integer"):
            instances(score, limit=bad)


@pytest.mark.parametrize("given", [None, 3, "x"])
@pytest.mark.parametrize(
    ("drawing", "said"),
    [
        (tradeoffs, "`lines` must be of type `Lines`"),
        (instances, "`score` must be of type `EpistemicScore`"),
        (violins, "`scores` must be of type `EpistemicScore` or `Lines`"),
    ],
)
def test_another_result_is_refused(drawing: Callable[[object], object], said: str, given: object) -> None:
    with pytest.raises(cr.InputTypeError, match=said):
        drawing(given)


def test_no_model_is_refused() -> None:
    with pytest.raises(cr.InputError, match="`scores` must hold at least one result"):
        violins({})
    with pytest.raises(cr.InputTypeError, match=r"`scores` must be of type .*; got int"):
        violins({"a": 3})


def test_other_libraries_are_drawn() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs = torch.tensor([[[0.6, 0.4], [0.5, 0.5]], [[0.2, 0.8], [0.3, 0.7]]], requires_grad=True)
    score = cr.epistemic_score(cr.Ensemble(probs, member_axis=1), torch.tensor([0, 0]), dependences=False)
    assert violins(score).columns["model"] == ["Ensemble", "its mean"]
    instances(score).draw()
