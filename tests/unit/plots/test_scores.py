"""Pictures of the unified score: what exactly is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import credibly as cr
from credibly import plots
from unit.selection.test_ranking import TOY


@pytest.fixture(scope="module")
def ranking() -> cr.Ranking:
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.ones(3), size=300)
    labels = (rng.random((300, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    members = 0.7 * truth[:, None] + 0.3 * rng.dirichlet(np.ones(3), size=(300, 4))
    models = {"set": cr.Ensemble(members), "point $x$": truth}
    return cr.rank_models(models, labels, stability=True, n_resamples=100)


@pytest.fixture(scope="module")
def score(ranking: cr.Ranking) -> cr.EpistemicScore:
    return ranking.scores["set"]


def test_lines_and_crossings() -> None:
    display = plots.tradeoff_data(TOY, most=3.0)
    assert display.names == TOY.order(3.0)
    assert display.names[0] == "D"
    ends = display.distance + 3.0 * display.imprecision
    assert ends == pytest.approx(TOY.at(3.0).scores)
    assert display.crossings == pytest.approx([one.tradeoff for one in TOY.crossings])
    assert int(display.is_leader.sum()) == 3
    assert (
        display.finding == "Smallest mean score by trade-off: C to 0.0154, B to 0.968, A to 0.987, D beyond."
    )
    ax = display.draw()
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 1.5]
    assert len(drawn) == 4
    assert [text.get_text() for text in ax.texts] == list(display.names)
    styles = {(line.get_color(), str(line.get_linestyle())) for line in drawn}
    assert len(styles) == 4


def test_one_leader_needs_no_crossing(ranking: cr.Ranking) -> None:
    display = plots.tradeoff_data(ranking, points=False)
    assert display.finding == "set has the smallest mean score at every trade-off."
    assert len(display.table().rows) == 1
    with pytest.raises(cr.InputError, match="positive number"):
        plots.tradeoff_data(ranking, most=math.inf)


def test_boxes_hold_quantiles(ranking: cr.Ranking, score: cr.EpistemicScore) -> None:
    display = plots.score_box_data(ranking, tradeoffs=[0.0, 2.0])
    total = score.distance + 2.0 * score.imprecision
    assert display.quantiles[0, 1, 2] == pytest.approx(np.quantile(total, 0.5, method="lower"))
    assert display.quantiles.shape == (2, 2, 5)
    assert "set grows most" in display.finding
    assert len(display.table().rows) == 4
    plots.score_boxes(ranking)
    with pytest.raises(cr.InputError, match="finite and not negative"):
        plots.score_box_data(ranking, tradeoffs=[math.inf])


@pytest.mark.parametrize("part", ["distance", "imprecision", "total"])
def test_violins_split_right_and_wrong(ranking: cr.Ranking, score: cr.EpistemicScore, part: str) -> None:
    display = plots.violin_data(ranking, part=part)
    assert display.names == ("set", "point $x$")
    assert display.right.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert display.wrong.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert display.wrong_mean[0] == pytest.approx(getattr(score, part)[~score.right].mean())
    ax = plots.score_violins(ranking, part=part)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["set", "point $x$"]


def test_violins_without_wrong_predictions_or_with_infinite_ones() -> None:
    sure = cr.epistemic_score([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    display = plots.violin_data(sure)
    assert np.isnan(display.wrong_mean).all()
    assert "of no model" in display.finding
    display.draw()
    lost = plots.violin_data(cr.epistemic_score([[1.0, 0.0], [0.5, 0.5]], [1, 0]))
    assert lost.n_infinite == 1
    assert "1 infinite values are not drawn" in lost.finding
    lost.draw()


def test_bars_are_means(ranking: cr.Ranking, score: cr.EpistemicScore) -> None:
    display = plots.score_bar_data(ranking, group="wrong")
    assert display.total[0] == pytest.approx(score.total[~score.right].mean())
    assert display.table().columns == ("names", "distance", "imprecision", "total")
    plots.score_bars(score)
    both = plots.score_bar_data(score)
    assert both.names == ("Ensemble", "its mean")
    assert both.total[1] == pytest.approx(float(score.average))


def test_scatter_and_confidence(score: cr.EpistemicScore) -> None:
    display = plots.score_scatter_data(score, most=50)
    assert len(display.distance) == 50
    assert display.n == 300
    assert sum(int(row[1]) for row in display.table().rows) == 50
    plots.score_scatter(score)
    strip = plots.confidence_data(score, n_bins=4)
    assert strip.count.sum() == 300
    low = score.confidence < 0.5
    assert strip.left[0] == 0.25
    assert strip.entropy[0] == pytest.approx(score.entropy[low].mean())
    assert strip.imprecision[0] == pytest.approx(score.imprecision[low].mean())
    plots.confidence_strip(score)
    for bad in (0, True, 2.5):
        with pytest.raises(cr.InputError, match="positive integer"):
            plots.confidence_data(score, n_bins=bad)
        with pytest.raises(cr.InputError, match="positive integer"):
            plots.score_scatter_data(score, most=bad)


def test_scores_over_members(ranking: cr.Ranking) -> None:
    display = plots.members_data(ranking.stability)
    assert display.names == ("set",)
    assert display.n_members[0].tolist() == [1, 2, 4]
    assert len(display.table().rows) == 3
    plots.members_curve(ranking.stability["set"])
    none = cr.score_stability([[0.5, 0.5]], [0])
    with pytest.raises(cr.UnsupportedError, match="needs predictions with members"):
        plots.members_data(none)


@pytest.mark.parametrize("given", [None, {}, [1]])
def test_what_is_no_score(given: object) -> None:
    with pytest.raises(cr.InputTypeError, match="a ranking, a score, or scores by name"):
        plots.violin_data(given)


@pytest.mark.parametrize("given", [None, 3, "x"])
@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (plots.tradeoff_lines, "`ranking` must be of type `Ranking`"),
        (plots.score_boxes, "`ranking` must be of type `Ranking`"),
        (plots.score_scatter, "`score` must be of type `EpistemicScore`"),
        (plots.confidence_strip, "`score` must be of type `EpistemicScore`"),
        (plots.members_curve, "`stability` must be of type `ScoreStability`"),
        (plots.rejection_diagrams, "`study` must be of type `PowerStudy`"),
        (plots.distance_diagram, "`study` must be of type `PowerStudy`"),
    ],
)
def test_another_result_is_refused(draw: Callable[[object], object], said: str, given: object) -> None:
    with pytest.raises(cr.InputTypeError, match=said):
        draw(given)


def test_other_libraries_are_drawn() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs = torch.tensor([[[0.6, 0.4], [0.5, 0.5]], [[0.2, 0.8], [0.3, 0.7]]], requires_grad=True)
    score = cr.epistemic_score(cr.Ensemble(probs, member_axis=1), torch.tensor([0, 0]), dependences=False)
    assert plots.violin_data(score).names == ("Ensemble", "its mean")
    plots.score_scatter(score)
