"""Ranking over trade-offs: exact crossings, ties by a paired bootstrap, advice."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import credibly as cr
from credibly.plots import picture
from credibly.selection.lines import Lines, crossings
from credibly.selection.standings import bootstrap_means, simultaneous_intervals
from libraries import Library
from unit.credal.oracles import every_kind


def lines_of(
    names: tuple[str, ...], distance: list[float], imprecision: list[float], noise: float = 0.0
) -> Lines:
    """Given lines; draws scatter independently by `noise`."""
    rng = np.random.default_rng(0)
    d, i = np.array(distance), np.array(imprecision)
    draws = (d + noise * rng.normal(size=(400, len(d))), np.tile(i, (400, 1)))
    return Lines(
        names=names,
        is_point=i == 0,
        distance=d,
        imprecision=i,
        tradeoffs=(0.1, 0.5, 2.0),
        crossings=crossings(names, d, i, draws, 0.95),
        distance_draws=draws[0],
        imprecision_draws=draws[1],
        level=0.95,
        n=100,
        scores={},
    )


@pytest.fixture(scope="module")
def world() -> tuple[dict[str, object], np.ndarray]:
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.ones(3), size=500)
    labels = (rng.random((500, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    members = 0.7 * truth[:, None] + 0.3 * rng.dirichlet(np.ones(3), size=(500, 5))
    return {"wide": cr.Ensemble(members), "truth": truth, "uniform": np.full((500, 3), 1 / 3)}, labels


# The four models of C25's worked example: distance, non-specificity, and the order it prints.
TOY = lines_of(("A", "B", "C", "D"), [0.243, 0.031, 0.002, 0.398], [0.166, 0.385, 2.267, 0.009])


def test_the_worked_example_of_c25() -> None:
    assert TOY.order(0.1) == ("B", "C", "A", "D")
    assert TOY.order(0.5) == ("B", "A", "D", "C")
    assert TOY.order(2.0) == ("D", "A", "B", "C")
    # printed: 0.069, 0.228, 0.259, 0.398 at 0.1 and 0.416, 0.575, 0.801, 4.536 at 2; printed by truncation
    # in places, hence a whole unit of the last digit
    assert TOY.at(0.1).scores == pytest.approx([0.069, 0.228, 0.259, 0.398], abs=1e-3)
    assert TOY.at(2.0).scores == pytest.approx([0.416, 0.575, 0.801, 4.536], abs=1e-3)


def test_recommendations_follow_the_questions() -> None:
    crops = TOY.recommend(abstention=True)
    car = TOY.recommend(abstention=False)
    assert (crops.model, crops.tradeoff) == ("B", 0.1)
    assert (car.model, car.tradeoff) == ("D", 2.0)
    assert TOY.recommend(abstention=True, priority="precision").tradeoff == 0.5
    assert TOY.recommend(abstention=False, priority="accuracy").model == "B"
    assert "left undecided" in crops.reason
    assert "must be decided" in str(car)
    # C leads to (0.031 - 0.002) / (2.267 - 0.385), then B to (0.243 - 0.031) / (0.385 - 0.166)
    assert crops.range == pytest.approx((0.029 / 1.882, 0.212 / 0.219))
    assert car.range[1] == math.inf


def test_crossings_are_where_lines_meet() -> None:
    assert len(TOY.crossings) == 6  # nearer models are wider here: all pairs cross once
    for estimate in TOY.crossings:
        below, beyond = TOY.names.index(estimate.below), TOY.names.index(estimate.beyond)
        means = TOY.means(estimate.tradeoff)
        assert means[below] == pytest.approx(means[beyond])
        assert TOY.means(0.999 * estimate.tradeoff)[below] < TOY.means(0.999 * estimate.tradeoff)[beyond]
        assert estimate.interval == pytest.approx(
            (estimate.tradeoff, estimate.tradeoff)
        )  # draws without noise
        order = TOY.order(0.999999 * estimate.tradeoff)
        assert order.index(estimate.below) == estimate.rank - 1
        assert order.index(estimate.beyond) == estimate.rank
    leaders = TOY.leaders()
    assert [name for _, _, name in leaders] == ["C", "B", "A", "D"]
    assert leaders[0][0] == 0.0
    assert [low for low, _, _ in leaders[1:]] == [high for _, high, _ in leaders[:-1]]
    changes = [crossing.tradeoff for crossing in TOY.crossings if crossing.rank == 1]
    assert [low for low, _, _ in leaders[1:]] == pytest.approx(changes)


def test_a_model_that_is_nearer_and_narrower_never_crosses() -> None:
    assert lines_of(("good", "bad"), [0.1, 0.2], [0.1, 0.2]).crossings == ()
    assert lines_of(("one", "same"), [0.1, 0.1], [0.2, 0.2]).crossings == ()


def test_draws_without_a_crossing_count_as_its_ends() -> None:
    noisy = lines_of(("wide", "point"), [0.1, 0.2], [0.1, 0.0], noise=0.3)
    assert noisy.crossings[0].interval[0] == 0.0  # in many draws the wide one is farther
    assert noisy.crossings[0].interval[1] > 2.0


def test_identical_models_tie(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    ranking = cr.rank_models({"a": models["wide"], "b": models["wide"]}, labels, averages=False)
    for tradeoff in (0.0, 1.0, math.inf):
        standing = ranking.at(tradeoff)
        assert standing.best_ranks.tolist() == [1, 1]
        assert standing.worst_ranks.tolist() == [2, 2]
        assert standing.tied_with_first == ("b",)
        assert standing.place("a") == "1 to 2"
    assert ranking.lines.crossings == ()


def test_models_that_differ_are_told_apart(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    ranking = cr.rank_models(models, labels)
    standing = ranking.at(2.0)
    assert ranking.names == ("wide", "wide Avg", "truth", "uniform")
    assert standing.names[0] == "truth"
    assert standing.names[-1] == "uniform"
    assert standing.place("truth") == "1 to 2"  # 500 instances cannot tell it from the average
    assert standing.place("uniform") == "4"
    assert standing.differences[-1] == pytest.approx(
        float(cr.log_loss(models["uniform"], labels)) - float(cr.log_loss(models["truth"], labels))
    )
    low, high = standing.intervals[-1]
    assert 0 < low < standing.differences[-1] < high


def test_intervals_are_those_of_paired_differences(world: tuple[dict[str, object], np.ndarray]) -> None:
    """Two models: the interval is the difference +- its bootstrap deviation times a quantile near 1.96."""
    models, labels = world
    pair = {"truth": models["truth"], "uniform": models["uniform"]}
    standing = cr.rank_models(pair, labels, n_resamples=4000).at(0.0)
    rows = np.arange(500)
    paired = -np.log(pair["uniform"][rows, labels]) + np.log(pair["truth"][rows, labels])
    half = 1.96 * paired.std() / math.sqrt(500)
    assert standing.intervals[1] == pytest.approx([paired.mean() - half, paired.mean() + half], rel=0.05)


def test_simultaneous_intervals_are_wider_than_single_ones() -> None:
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(2000, 8))
    low, high = simultaneous_intervals(np.zeros(8), draws, 0.95)
    alone = simultaneous_intervals(np.zeros(2), draws[:, :2], 0.95)
    assert np.array_equal(low, -high.T)
    assert high[0, 1] > 1.2 * alone[1][0, 1]


def test_trade_off_zero_and_infinity(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    ranking = cr.rank_models(models, labels, tradeoffs=[0, math.inf])
    nearest = {name: np.mean(cr.credal.distance(models[name], labels)) for name in models}
    order = [name for name in ranking.order(0.0) if name in models]
    assert order == sorted(nearest, key=nearest.get)
    endless = ranking.at(math.inf)
    # points first, by their distance; the set, infinitely bad, last
    assert endless.names == ("truth", "wide Avg", "uniform", "wide")
    assert endless.scores[-1] == math.inf
    assert endless.place("wide") == "4"
    assert endless.place("uniform") == "3"
    assert ranking.lines.order(0.0, points=False) == ("wide",)


def test_with_and_without_points(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    ranking = cr.rank_models({**models, "single": cr.Ensemble(models["wide"].probs[:, :2])}, labels)
    assert set(ranking.lines.at(1.0, points=False).names) == {"wide", "single"}
    assert ranking.lines.is_point.tolist() == [False, True, True, True, False, True]
    assert ranking.lines.recommend(abstention=False, points=False).model == "single"
    points = cr.rank_models({"truth": models["truth"]}, labels)
    with pytest.raises(cr.UnsupportedError, match="needs at least one set prediction"):
        points.lines.order(1.0, points=False)


def test_bootstrap_means_are_means_of_drawn_rows() -> None:
    values = np.random.default_rng(0).normal(size=(40, 3))
    means = bootstrap_means(values, 3000, (1, 2))
    assert means.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=0.02)
    assert means.std(axis=0) == pytest.approx(values.std(axis=0) / math.sqrt(40), rel=0.06)
    both = bootstrap_means(np.stack([values[:, 0], 1.0 - values[:, 0]], axis=1), 50, (1, 2))
    assert both.sum(axis=1) == pytest.approx(1.0)  # the same rows for all columns
    values[7, 1] = math.inf
    lost = np.isinf(bootstrap_means(values, 3000, (1, 2))[:, 1]).mean()
    assert lost == pytest.approx(1 - (1 - 1 / 40) ** 40, abs=0.03)  # the share of draws that hold row 7
    with cr.memory_limit(2**20):
        assert bootstrap_means(values, 3000, (1, 2))[:, ::2] == pytest.approx(means[:, ::2], abs=1e-14)


def test_infinite_means_lose_and_tie() -> None:
    sure, half = np.array([[1.0, 0.0]] * 30), np.array([[0.5, 0.5]] * 30)
    labels = np.array([0] * 29 + [1])
    standing = cr.rank_models({"sure": sure, "also": sure, "half": half}, labels).at(1.0)
    assert standing.names[0] == "half"
    assert standing.best_ranks.tolist() == [1, 2, 2]
    assert standing.worst_ranks.tolist() == [1, 3, 3]
    assert np.isnan(standing.intervals[1]).all()


def test_scores_made_in_any_way_are_ranked(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    expected = cr.rank_models(models, labels, n_resamples=200, rng=1)
    ranking = cr.selection.rank_scores(expected.lines.scores, n_resamples=200, rng=1)
    assert json.dumps(ranking.to_dict()) == json.dumps(expected.to_dict())
    few = cr.epistemic_score(models["truth"][:9], labels[:9])
    with pytest.raises(cr.InputError, match="must be of the same instances; got wide: n = 500"):
        cr.selection.rank_scores({**expected.lines.scores, "few": few})
    with pytest.raises(cr.InputError, match="got none"):
        cr.selection.rank_scores({})


def test_every_kind_side_by_side() -> None:
    rng = np.random.default_rng(2)
    models = every_kind(rng, n=20, k=4) | {"dirichlet": cr.Dirichlet(rng.gamma(2.0, size=(20, 4)))}
    ranking = cr.rank_models(models, rng.integers(4, size=20), n_resamples=200)
    assert set(ranking.lines.scores) == set(models)
    assert any("different numbers of members" in note for note in ranking.notes)
    record = json.loads(json.dumps(ranking.to_dict(), allow_nan=False))
    assert [standing["criterion"] for standing in record["standings"]] == list(ranking.lines.tradeoffs)
    assert "distance" not in record["lines"]["scores"]["hull" if "hull" in models else next(iter(models))]
    assert len(str(ranking).splitlines()) == 1 + len(ranking.standings) * (1 + len(ranking.names))


def test_one_seed_one_ranking(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    first, second = (cr.rank_models(models, labels, rng=4) for _ in range(2))
    assert json.dumps(first.to_dict()) == json.dumps(second.to_dict())
    assert not np.array_equal(
        first.lines.distance_draws, cr.rank_models(models, labels, rng=5).lines.distance_draws
    )


def test_other_libraries_rank_alike(library: Library, world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    few = {"wide": models["wide"].probs[:40], "truth": models["truth"][:40]}
    expected = cr.rank_models(few, labels[:40])
    ranking = cr.rank_models(
        {name: library.asarray(probs) for name, probs in few.items()}, library.asarray(labels[:40])
    )
    assert ranking.lines.means(1.0) == pytest.approx(expected.lines.means(1.0))
    assert ranking.at(1.0).names == expected.at(1.0).names


def test_progress_is_told(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    told = []
    cr.rank_models(models, labels, n_resamples=150, progress=lambda done, total: told.append((done, total)))
    scored = [(150 * done // len(models), 300) for done in range(1, len(models) + 1)]
    assert told[: len(models)] == scored  # the bootstrap is the other half
    assert told[-1] == (300, 300)
    assert told == sorted(told)


@pytest.mark.parametrize(
    ("models", "settings", "words"),
    [
        ([], {}, "must be a mapping of names"),
        ({}, {}, "must hold at least one model"),
        ({"a": [[0.5, 0.5]] * 3, "b": [[0.5, 0.5]] * 2}, {}, "'b' has n = 2"),
        ({"a": [[0.5, 0.5]] * 3, "b": [[0.5, 0.25, 0.25]] * 3}, {}, "same instances and classes"),
        ({"a": cr.LabelCounts([[1, 2]] * 3)}, {}, "LabelCounts"),
        ({"a": [[[0.5, 0.5]]] * 3, "a Avg": [[0.5, 0.5]] * 3}, {}, "leave the name 'a Avg'"),
        ({1: [[0.5, 0.5]] * 3, "1": [[0.5, 0.5]] * 3}, {}, "distinct as text"),
        ({"a": [[0.5, 0.5]] * 3}, {"tradeoffs": []}, "at least one number"),
        ({"a": [[0.5, 0.5]] * 3}, {"tradeoffs": 1.0}, "must be a sequence of numbers"),
        ({"a": [[0.5, 0.5]] * 3}, {"tradeoffs": [-1.0]}, "at least 0"),
        ({"a": [[0.5, 0.5]] * 3}, {"n_resamples": 10}, "at least 100"),
        ({"a": [[0.5, 0.5]] * 3}, {"level": 95}, "strictly between 0 and 1"),
        ({"a": [[0.5, 0.5]] * 3}, {"tradeoffs": [1e101]}, "at most 1e+100, or infinite"),
    ],
)
def test_bad_input(models: object, settings: dict, words: str) -> None:
    with pytest.raises(cr.CrediblyError) as raised:
        cr.rank_models(models, [0, 1, 0], **settings)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("answers", "words"),
    [({"abstention": "yes"}, "True or False"), ({"abstention": True, "priority": "speed"}, "`priority`")],
)
def test_bad_answers(answers: dict, words: str) -> None:
    with pytest.raises(cr.InputError, match=words):
        TOY.recommend(**answers)


@pytest.mark.parametrize("tradeoff", [-1, math.nan, "x", None])
def test_bad_trade_offs_of_a_ranking(tradeoff: object) -> None:
    for asked in (TOY.at, TOY.order, TOY.means):
        with pytest.raises(cr.InputError, match="`tradeoff` must be a number of at least 0"):
            asked(tradeoff)


def test_places_are_asked_by_name() -> None:
    with pytest.raises(cr.InputError, match="`name` must be one of the models; got 'E'"):
        TOY.at(1.0).place("E")


def test_huge_trade_offs_keep_ties_and_differences(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    ranking = cr.rank_models({**models, "twin": models["truth"]}, labels)
    standing, precise = ranking.at(1e100), ranking.at(math.inf)
    assert [standing.place(name) for name in ranking.names] == [precise.place(name) for name in ranking.names]
    assert np.isfinite(standing.intervals).all()


def test_one_instance_cannot_tell_models_apart() -> None:
    # the bootstrap of one instance never moves, which is no certainty
    ranking = cr.rank_models({"near": [[0.3, 0.7]], "far": [[0.9, 0.1]], "never": [[1.0, 0.0]]}, [1])
    standing = ranking.at(1.0)
    assert [standing.place(name) for name in ("near", "far", "never")] == ["1 to 2", "1 to 2", "3"]
    assert standing.differences[1] == pytest.approx(math.log(7.0))  # ln 0.7 - ln 0.1
    assert np.isnan(standing.intervals).all()


def test_one_instance_and_one_model() -> None:
    ranking = cr.rank_models({"only": [[0.3, 0.7]]}, [1])
    assert ranking.at(1.0).place("only") == "1"
    assert ranking.lines.leaders() == ((0.0, math.inf, "only"),)
    assert ranking.lines.recommend(abstention=True).range == (0.0, math.inf)


def test_a_kind_of_picture_that_is_unknown_is_told_all_that_are() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(40, 2))
    ranking = cr.rank_models({"a": cr.Ensemble(probs)}, np.arange(40) % 3)
    kinds = "`kind` must be one of 'differences', 'tradeoffs', 'violins', 'bars'; got 'lines'"
    with pytest.raises(cr.InputError, match=kinds):
        ranking.plot(kind="lines")
    with pytest.raises(cr.InputError, match=kinds):
        picture(ranking, "lines")
