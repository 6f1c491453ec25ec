"""Pictures of the unified score: what exactly is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import credibly as cr
from credibly.plots.scores import (
    ConfidenceDisplay,
    ScoreBarDisplay,
    ScoreBoxDisplay,
    ScoreScatterDisplay,
    TradeoffDisplay,
    ViolinDisplay,
)
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
    return ranking.scores["set"]


def test_lines_and_crossings() -> None:
    display = TradeoffDisplay(TOY, most=3.0)
    assert tuple(display.lines) == TOY.order(3.0)
    assert next(iter(display.lines)) == "D"
    ends = [start + 3.0 * slope for start, slope in display.lines.values()]
    assert ends == pytest.approx(TOY.at(3.0).scores)
    assert display.crossings[:, 0] == pytest.approx([one.tradeoff for one in TOY.crossings])
    assert int(display.crossings[:, 2].sum()) == 3
    assert (
        display.finding == "Smallest mean score by trade-off: C to 0.0154, B to 0.968, A to 0.987, D beyond."
    )
    ax = display.draw()
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 1.5]
    assert len(drawn) == 4
    assert [text.get_text() for text in ax.texts] == list(display.lines)
    styles = {(line.get_color(), str(line.get_linestyle())) for line in drawn}
    assert len(styles) == 4


def test_one_leader_needs_no_crossing(ranking: cr.selection.Ranking) -> None:
    display = TradeoffDisplay(ranking, points=False)
    assert display.finding == "set has the smallest mean score at every trade-off."
    assert len(display.table().rows) == 1
    with pytest.raises(cr.InputError, match="positive number"):
        TradeoffDisplay(ranking, most=math.inf)


def test_boxes_hold_quantiles(ranking: cr.selection.Ranking, score: cr.results.EpistemicScore) -> None:
    display = ScoreBoxDisplay(ranking, tradeoffs=[0.0, 2.0])
    total = score.distance + 2.0 * score.imprecision
    assert display.quantiles[0, 1, 2] == pytest.approx(np.quantile(total, 0.5, method="lower"))
    assert display.quantiles.shape == (2, 2, 5)
    assert "set grows most" in display.finding
    assert len(display.table().rows) == 4
    ScoreBoxDisplay(ranking).draw()
    with pytest.raises(cr.InputError, match="finite and not negative"):
        ScoreBoxDisplay(ranking, tradeoffs=[math.inf])


@pytest.mark.parametrize("part", ["distance", "imprecision", "total"])
def test_violins_split_right_and_wrong(
    ranking: cr.selection.Ranking, score: cr.results.EpistemicScore, part: str
) -> None:
    display = ViolinDisplay(ranking, part=part)
    assert tuple(display.named) == ("set", "point $x$")
    assert display.shares("right").sum(axis=1) == pytest.approx([1.0, 1.0])
    assert display.shares("wrong").sum(axis=1) == pytest.approx([1.0, 1.0])
    assert display.means("wrong")[0] == pytest.approx(getattr(score, part)[~score.right].mean())
    ax = ViolinDisplay(ranking, part=part).draw()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["set", "point $x$"]


def test_violins_without_wrong_predictions_or_with_infinite_ones() -> None:
    sure = cr.epistemic_score([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    display = ViolinDisplay(sure)
    assert np.isnan(display.means("wrong")).all()
    assert "in no model" in display.finding
    display.draw()
    lost = ViolinDisplay(cr.epistemic_score([[1.0, 0.0], [0.5, 0.5]], [1, 0]))
    assert "1 infinite values are not drawn" in lost.finding
    lost.draw()


def test_bars_are_means(ranking: cr.selection.Ranking, score: cr.results.EpistemicScore) -> None:
    display = ScoreBarDisplay(ranking, group="wrong")
    assert display.means("total")[0] == pytest.approx(score.total[~score.right].mean())
    assert display.table().columns == ("names", "distance", "imprecision", "total")
    ScoreBarDisplay(score).draw()
    both = ScoreBarDisplay(score)
    assert tuple(both.named) == ("Ensemble", "its mean")
    assert both.means("total")[1] == pytest.approx(float(score.average))


def test_scatter_and_confidence(score: cr.results.EpistemicScore) -> None:
    display = ScoreScatterDisplay(score, limit=50)
    assert len(display.instances[0]) == 50
    assert display.finding.startswith("50 of 300 instances")
    assert sum(int(row[1]) for row in display.table().rows) == 50
    ScoreScatterDisplay(score).draw()
    strip = ConfidenceDisplay(score, n_bins=4)
    assert sum(int(row[1]) for row in strip.table().rows) == 300
    low = score.confidence < 0.5
    assert strip.left[0] == 0.25
    assert strip.in_bins("entropy")[0, 0] == pytest.approx(score.entropy[low].mean())
    assert strip.in_bins("imprecision")[0, 0] == pytest.approx(score.imprecision[low].mean())
    ConfidenceDisplay(score).draw()
    for bad in (0, True, 2.5):
        with pytest.raises(cr.InputError, match="positive integer"):
            ConfidenceDisplay(score, n_bins=bad)
        with pytest.raises(cr.InputError, match="positive integer"):
            ScoreScatterDisplay(score, limit=bad)


@pytest.mark.parametrize("given", [None, 3, "x"])
@pytest.mark.parametrize(
    ("display", "said"),
    [
        (TradeoffDisplay, "`ranking` must be of type `Ranking`"),
        (ScoreBoxDisplay, "`ranking` must be of type `Ranking`"),
        (ScoreScatterDisplay, "`score` must be of type `EpistemicScore`"),
        (ViolinDisplay, "`scores` must be of type `EpistemicScore` or `Ranking`"),
    ],
)
def test_another_result_is_refused(display: Callable[[object], object], said: str, given: object) -> None:
    with pytest.raises(cr.InputTypeError, match=said):
        display(given)


def test_no_model_is_refused() -> None:
    with pytest.raises(cr.InputError, match="`scores` must hold at least one result"):
        ViolinDisplay({})
    with pytest.raises(cr.InputTypeError, match=r"`scores` must be of type .*; got int"):
        ViolinDisplay({"a": 3})


def test_other_libraries_are_drawn() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs = torch.tensor([[[0.6, 0.4], [0.5, 0.5]], [[0.2, 0.8], [0.3, 0.7]]], requires_grad=True)
    score = cr.epistemic_score(cr.Ensemble(probs, member_axis=1), torch.tensor([0, 0]), dependences=False)
    assert tuple(ViolinDisplay(score).named) == ("Ensemble", "its mean")
    ScoreScatterDisplay(score).draw()
