"""Every picture says, lists and draws; roles say how marks look; results find their pictures."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.credal.pictures import simplex_picture
from credibly.plots import BLUE, Picture, Table, draws, mark, new_figure, picture, whole_figure
from credibly.plots.bins import reliability
from credibly.plots.pictures import _PICTURES, ROLES
from credibly.plots.simplex import simplex
from credibly.results.base import Result


@dataclasses.dataclass(frozen=True)
class Steps(Result):
    names: tuple[str, ...]
    heights: tuple[float, ...]


@draws(Steps, "steps")
def steps(result: Steps, title: str = "Steps") -> Picture:
    """Draw heights of a result that no room of the library knows."""
    places = list(range(len(result.heights)))
    marks = [
        mark("band", "chance", places, 0.0, 1.0, label="by chance", small=None),
        mark("line", "observed", places, result.heights, label="steps", small={"linewidth": 0.5}),
    ]
    columns = {"names": result.names, "heights": result.heights}
    return Picture(title, "Steps.", columns, marks, "place", "height", shared=marks[1:])


STEPS = Steps(("a", "b", "c"), (1.0, 0.25, 2 / 3))


def test_a_picture_is_a_sentence_a_table_and_marks() -> None:
    drawn = picture(STEPS)
    ax = drawn.draw()
    assert (ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()) == ("Steps", "place", "height")
    assert names_in_key(ax) == ["by chance", "steps"]
    assert ax.lines[0].get_linewidth() == 1.4
    own = Figure().add_subplot()
    assert drawn.draw(own, small=True) is own
    assert own.get_xlabel() == ""
    assert own.get_legend() is None
    assert own.lines[0].get_linewidth() == 0.5
    assert not own.collections  # left out of small multiples
    assert drawn.table() == Table(("names", "heights"), (("a", "1"), ("b", "0.25"), ("c", "0.667")))
    assert drawn.columns == {"names": ["a", "b", "c"], "heights": list(STEPS.heights)}
    assert drawn.finding == drawn.summary == "Steps."


def test_own_pictures_are_found_and_follow_their_roles() -> None:
    assert STEPS.plot(title="Own").get_title(loc="left") == "Own"
    ax = Figure().add_subplot()
    for name in ("one", "two"):
        STEPS.plot(ax, label=name)
    assert names_in_key(ax) == ["one", "two"]
    assert len({line.get_color() for line in ax.lines}) == len({line.get_marker() for line in ax.lines}) == 2
    with pytest.raises(cr.InputTypeError, match="`result` must be of type `Steps`; got int"):
        steps(3)


def test_roles_differ_in_more_than_colour() -> None:
    """Those that are drawn as dots of one kind differ in the marker, lines in the dash."""
    dots = [ROLES[name] for name in ("observed", "far", "second")]
    assert len({role.marker for role in dots}) == len({role.color for role in dots}) == 3
    assert ROLES["expected"].dashes != ROLES["observed"].dashes
    with pytest.raises(cr.InputError, match=r"`role` must be one of 'observed', .*; got 'observd'"):
        mark("line", "observd", [0], [0])
    with pytest.raises(cr.InputError, match=r"`form` must be one of 'line', .*; got 'lines'"):
        mark("lines", "observed", [0], [0])


def test_tables_hold_what_is_drawn() -> None:
    probs = np.array([[[0.7, 0.2, 0.1], [0.5, 0.4, 0.1], [0.2, 0.3, 0.5]]])
    triangle = simplex(simplex_picture(cr.Ensemble(probs), row=0))
    members = [row for row in triangle.table().rows if row[0] == "member"]
    assert members == [
        ("member", "0.7", "0.2", "0.1"),
        ("member", "0.5", "0.4", "0.1"),
        ("member", "0.2", "0.3", "0.5"),
    ]
    curve = reliability(cr.reliability_curve(probs.mean(axis=1), [0], level=None, n_bins=5))
    assert curve.table() == Table(
        ("bin", "instances", "predicted", "observed"), (("0.4 to 0.6", "1", "0.467", "1"),)
    )


ROOT = Path(__file__).resolve().parents[3]
PROBS = np.random.default_rng(0).dirichlet(np.ones(3), size=90)
LABELS = np.arange(90) % 3


def names_in_key(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_result_draws_itself() -> None:
    curve = cr.reliability_curve(PROBS, LABELS, level=None)
    own = Figure().add_subplot()
    assert curve.plot(own) is own
    assert own.get_title(loc="left") == "Confidence against accuracy"
    drawn = next(line for line in own.lines if line.get_label() == "observed")
    np.testing.assert_array_equal(drawn.get_xdata(), curve.predicted[curve.weight > 0])
    assert picture(curve).finding == reliability(curve).finding


def test_of_several_pictures_one_is_the_default() -> None:
    check = cr.predictive_check(PROBS[:, None], LABELS, statistics=["accuracy"], n_resamples=19, rng=0)
    assert picture(check).title == "What the model expects"
    assert picture(check, "members").title == "Accuracy by member"
    result = check.checks["accuracy"]  # more than a test: drawn as one
    assert result.plot().get_title(loc="left") == result.plot(kind="null").get_title(loc="left") == "Accuracy"
    with pytest.raises(
        cr.InputError, match=r"`kind` must be one of 'strip', .*; got 'strips'. Did you mean 'strip'"
    ):
        check.plot(kind="strips")
    with pytest.raises(
        cr.InputError, match=r"options of `kind=\"groups\"` must be one of 'statistic', 'hypo"
    ):
        check.plot(kind="groups", statistik="accuracy")


def test_what_a_picture_needs_is_said() -> None:
    @draws(Steps, "above")
    def above(result: Steps, least: float) -> Picture:
        return Picture("Above", f"{sum(height > least for height in result.heights)} steps.", {}, [])

    try:
        assert picture(STEPS).title == "Steps"  # the other picture needs an option
        assert picture(STEPS, "above", least=0.5).finding == "2 steps."
        with pytest.raises(cr.InputTypeError, match=r'`kind="above"` needs `least=`'):
            STEPS.plot(kind="above")
    finally:
        del _PICTURES["Steps"]["above"]


def test_a_result_without_a_picture_says_so() -> None:
    with pytest.raises(
        cr.UnsupportedError, match=r"a picture of `Estimate` must be known .* ReliabilityCurve"
    ):
        cr.brier(PROBS, LABELS).plot()


def test_wholes_are_drawn_as_one_of_their_parts() -> None:
    evaluation = cr.evaluate(PROBS, LABELS, tests=False)
    assert evaluation.plot().get_ylabel() == "how often it was right"
    assert evaluation.curves.plot().get_ylabel() == "how often it was right"
    reals = cr.evaluate(cr.Gaussian(np.zeros(30), np.ones(30)), np.linspace(-1, 1, 30), n_resamples=19, rng=0)
    assert reals.plot().get_title(loc="left") == "Labels below quantiles"


def test_every_kind_of_picture_is_told_and_documented() -> None:
    known = {  # a package beside this one may have loaded pictures of its own
        make: kind
        for kinds in _PICTURES.values()
        for kind, make in kinds.items()
        if make.__module__.startswith("credibly.plots")
    }
    assert 25 < len(known) <= 34
    told = (ROOT / "docs" / "choose.md").read_text(encoding="utf-8").partition("## Pictures")[2]
    assert set(known.values()) == set(re.findall(r'`"(\w+)"`', told))
    pages = re.search(r"PICTURES = \(([^)]*)\)", (ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    assert {make.__module__.rpartition(".")[2] for make in known} == set(re.findall(r"\w+", pages[1]))
    for make in known:  # options are described
        options = list(inspect.signature(make).parameters)
        assert all(re.search(rf"\b{name}\b.* : ", make.__doc__) for name in options), make


def test_several_models_on_the_same_axes_can_be_told_apart() -> None:
    ax = Figure().add_subplot()
    for power in (1, 3):
        sharp = PROBS**power / (PROBS**power).sum(axis=1, keepdims=True)
        cr.reliability_curve(sharp, LABELS, n_resamples=19, rng=0).plot(ax, label=f"power $_{power}$")
    assert names_in_key(ax) == ["power $_1$", "filled: outside its band", "power $_3$"]
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    looks = {
        (line.get_color(), line.get_marker(), line.get_linestyle())
        for line in ax.lines
        if line.get_label().startswith("power")
    }
    assert len(looks) == 2
    assert len({color for color, _, _ in looks}) == len({marker for _, marker, _ in looks}) == 2
    ax.clear()
    cr.reliability_curve(PROBS, LABELS, level=None).plot(ax, label="_again")
    assert names_in_key(ax) == [" _again"]  # matplotlib hides names that begin with "_"
    assert ax.lines[1].get_color() == BLUE  # cleared axes begin with the first colour


def test_models_straight_from_data() -> None:
    flat = np.full((90, 3), 1 / 3)
    ax = cr.plots.risk_coverage({"model": PROBS, "flat": flat}, LABELS)
    assert names_in_key(ax) == ["model", "flat"]
    curve = cr.risk_coverage_curve(PROBS, LABELS)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), curve.risk)
    alone, drawn = cr.plots.risk_coverage(PROBS, LABELS), cr.plots.risk_coverage(curve)
    assert names_in_key(alone) == names_in_key(drawn) == names_in_key(curve.plot())
    settings = {"levels": 10, "n_resamples": 19, "rng": 0}
    normal = cr.Gaussian(np.zeros(30), np.ones(30))
    ax = cr.plots.pit({"a": normal, "b": normal}, np.linspace(-1, 1, 30), **settings)
    assert names_in_key(ax) == ["as stated", "a", "b"]
    assert len(ax.collections) == 2  # an envelope each
    with pytest.raises(cr.InputError, match="`data` must hold at least one model"):
        cr.plots.reliability({}, LABELS)
    with pytest.raises(
        cr.UnsupportedError,
        match="`label` of the picture 'Brier score'",
    ):
        cr.plots.null(PROBS, LABELS, label="a", statistics="brier", n_resamples=19, rng=0)


def test_a_later_model_is_not_cut_off() -> None:
    event = np.stack([1 - PROBS[:, 0], PROBS[:, 0]], axis=1)
    labels = (PROBS[:, 0] > 0.5).astype(int)
    worst = cr.selection.murphy_curve(event[:, ::-1], labels).cost.max()
    ax = cr.plots.murphy({"right": event, "opposite": event[:, ::-1]}, labels)
    bottom, top = ax.get_ylim()
    assert bottom == 0
    assert top >= worst > cr.plots.murphy(event, labels).get_ylim()[1]


def test_options_of_the_picture_and_settings_of_the_result_go_their_ways() -> None:
    counts = cr.LabelCounts(np.random.default_rng(0).multinomial(5, PROBS))
    ax = cr.plots.disagreement(PROBS, counts, level=0.9, n_bins=4)
    assert "90 % sampling band of the raters" in names_in_key(ax)
    both = cr.plots.loss_map({"a": PROBS, "b": PROBS[:, ::-1]}, counts)
    assert names_in_key(both) == ["a", "b"]
    assert cr.plots.disagreement({"a": PROBS, "b": PROBS}, counts).get_legend() is not None


def test_the_whole_figure_of_axes_on_a_part_of_it() -> None:
    figure = new_figure(4, 2)
    left, _ = figure.subfigures(1, 2)
    assert whole_figure(left.subfigures(1, 2)[0].subplots()) is figure
    assert whole_figure(figure.add_subplot()) is figure


def test_an_evaluation_is_the_picture_of_its_first_part() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
    labels = (np.random.default_rng(1).random((60, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    evaluation = cr.evaluate(probs, labels, tests=False)
    part = next(part for name in evaluation.drawn_as if (part := getattr(evaluation, name)) is not None)
    assert picture(evaluation).finding == picture(part).finding
    assert len(picture(evaluation).table().rows) == len(picture(part).table().rows)
