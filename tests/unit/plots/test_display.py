"""Every display draws the same way and has its numbers as a table."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.credal.pictures import simplex_picture
from credibly.plots import BLUE, Display, Table, Words, new_figure, picture, whole_figure
from credibly.plots.curves import ReliabilityDisplay
from credibly.plots.display import _PICTURES
from credibly.plots.hypotests import CheckDisplay, MemberHistogramDisplay, NullDisplay
from credibly.plots.sets import HeatDisplay, MassDisplay, SamplesDisplay, SizeDisplay
from credibly.plots.simplex import SimplexDisplay


class Steps(Display):
    names: tuple[str, ...]
    heights: np.ndarray

    @property
    def finding(self) -> str:
        return "Steps."

    @property
    def words(self) -> Words:
        return Words("Steps", "place", "height")

    def _marks(self, ax, small) -> None:
        ax.plot(self.heights, label="steps")

    def _columns(self):
        return {"names": self.names, "heights": self.heights}


def test_a_display_needs_its_marks_and_words_only() -> None:
    display = Steps(("a", "b", "c"), np.array([1.0, 0.25, 2 / 3]))
    ax = display.draw()
    assert (ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()) == ("Steps", "place", "height")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["steps"]
    own = Figure().add_subplot()
    assert display.draw(own, small=True) is own
    assert own.get_xlabel() == ""
    assert own.get_legend() is None
    expected = Table(("names", "heights"), (("a", "1"), ("b", "0.25"), ("c", "0.667")))
    assert display.table() == expected


def test_a_display_without_marks_cannot_be_made() -> None:
    class Empty(Display):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Empty()


def test_tables_hold_what_is_drawn() -> None:
    probs = np.array([[[0.7, 0.2, 0.1], [0.5, 0.4, 0.1], [0.2, 0.3, 0.5]]])
    ensemble = cr.Ensemble(probs)
    triangle = SimplexDisplay(simplex_picture(ensemble, row=0))
    members = [row for row in triangle.table().rows if row[0] == "member"]
    assert members == [
        ("member", "0.7", "0.2", "0.1"),
        ("member", "0.5", "0.4", "0.1"),
        ("member", "0.2", "0.3", "0.5"),
    ]
    assert SamplesDisplay(probs[0]).table().rows[2] == ("2", "0.233", "0.1", "0.5")
    assert SizeDisplay([0.1, 0.2, 0.4], [True, True, False]).table().rows == (
        ("right", "2", "0.15"),
        ("wrong", "1", "0.4"),
    )
    cells = HeatDisplay([0.1, 0.2, 0.2], [0.0, 1.0, 1.0], n_bins=2).table()
    assert [row[-1] for row in cells.rows] == ["1", "2"]
    masses = MassDisplay(cr.credal.mass_function(ensemble)).table()
    assert sum(float(row[3]) for row in masses.rows if row[0].startswith("class")) == pytest.approx(
        1, abs=2e-3
    )
    curve = ReliabilityDisplay(cr.reliability_curve(probs.mean(axis=1), [0], level=None, n_bins=5))
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
    assert picture(curve).finding == ReliabilityDisplay(curve).finding


def test_of_several_pictures_one_is_the_default() -> None:
    check = cr.predictive_check(PROBS[:, None], LABELS, statistics=["accuracy"], n_resamples=19, rng=0)
    assert type(picture(check)) is CheckDisplay
    assert type(picture(check, "members")) is MemberHistogramDisplay
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
    test = cr.hypotests.weights_test(PROBS[:, None], LABELS, weights="mean", n_resamples=19, rng=0)
    assert type(picture(test)) is NullDisplay  # weights need a feature
    assert test.plot(kind="weights", feature=PROBS[:, 0]).get_xlabel() == "feature"
    with pytest.raises(cr.InputTypeError, match=r'`kind="weights"` needs `feature=`'):
        test.plot(kind="weights")


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


def test_every_display_of_a_result_is_found_by_its_kind() -> None:
    def below(display):
        return [display, *(deeper for one in display.__subclasses__() for deeper in below(one))]

    known = {  # a package beside this one may have loaded pictures of its own
        one: kind
        for kinds in _PICTURES.values()
        for kind, one in kinds.items()
        if one.__module__.startswith("credibly.plots")
    }
    unreachable = {one.__name__ for one in below(Display) if one.__module__.startswith("credibly.plots")} - {
        one.__name__ for one in known
    }
    # bases, and pictures of arrays or of several results, which have names of their own in `credibly.plots`
    assert {"DebiasingDisplay", "HeatDisplay", "SamplesDisplay", "SizeDisplay"} == {
        name for name in unreachable if not name.startswith("_") and name not in ("Display", "BinnedDisplay")
    }
    assert len(known) > 27
    told = (ROOT / "docs" / "choose.md").read_text(encoding="utf-8").partition("## Pictures")[2]
    assert set(known.values()) == set(re.findall(r'`"(\w+)"`', told))
    pages = re.search(r"DISPLAYS = \(([^)]*)\)", (ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    assert {one.__module__.rpartition(".")[2] for one in known} == set(re.findall(r"\w+", pages[1]))


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
    with pytest.raises(cr.UnsupportedError, match="`label` of a NullDisplay"):
        cr.plots.null(PROBS, LABELS, label="a", statistics="brier", n_resamples=19, rng=0)


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
