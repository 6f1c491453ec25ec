"""Every display draws the same way and has its numbers as a table."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly import plots
from credibly.credal import simplex_picture
from credibly.plots import (
    Display,
    Table,
    Words,
    heat_data,
    mass_data,
    new_figure,
    reliability_data,
    samples_data,
    simplex_data,
    size_data,
    whole_figure,
)


@dataclasses.dataclass(frozen=True)
class Steps(Display):
    names: tuple[str, ...]
    heights: np.ndarray
    ends: tuple[float, float]

    @property
    def finding(self) -> str:
        return "Steps."

    @property
    def words(self) -> Words:
        return Words("Steps", "place", "height")

    def _marks(self, ax, small) -> None:
        ax.plot(self.heights, label="steps")


def test_a_display_needs_its_marks_and_words_only() -> None:
    display = Steps(("a", "b", "c"), np.array([1.0, 0.25, 2 / 3]), (0.0, 1.0))
    ax = display.draw()
    assert (ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()) == ("Steps", "place", "height")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["steps"]
    own = Figure().add_subplot()
    assert display.draw(own, small=True) is own
    assert own.get_xlabel() == ""
    assert own.get_legend() is None
    # `ends` is no series of the marks: it has another length
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
    triangle = simplex_data(simplex_picture(ensemble, row=0))
    members = [row for row in triangle.table().rows if row[0] == "member"]
    assert members == [
        ("member", "0.7", "0.2", "0.1"),
        ("member", "0.5", "0.4", "0.1"),
        ("member", "0.2", "0.3", "0.5"),
    ]
    assert samples_data(probs[0]).table().rows[2] == ("2", "0.233", "0.1", "0.5")
    assert size_data([0.1, 0.2, 0.4], [True, True, False]).table().rows == (
        ("right", "2", "0.15"),
        ("wrong", "1", "0.4"),
    )
    cells = heat_data([0.1, 0.2, 0.2], [0.0, 1.0, 1.0], n_bins=2).table()
    assert [row[-1] for row in cells.rows] == ["1", "2"]
    masses = mass_data(cr.mass_function(ensemble)).table()
    assert sum(float(row[3]) for row in masses.rows if row[0].startswith("class")) == pytest.approx(
        1, abs=2e-3
    )
    curve = reliability_data(cr.reliability_curve(probs.mean(axis=1), [0], level=None, n_bins=5))
    assert curve.table() == Table(
        ("bin", "instances", "predicted", "observed"), (("0.4 to 0.6", "1", "0.467", "1"),)
    )


def test_every_drawing_takes_the_axes_of_the_caller() -> None:
    drawings = {
        name: inspect.signature(one)
        for name in plots.__all__
        if inspect.isfunction(one := getattr(plots, name)) and not name.endswith("_data")
    }
    on_axes = {name for name, one in drawings.items() if one.return_annotation == "Axes"} - {"new_axes"}
    assert len(on_axes) > 30
    assert [name for name in on_axes if drawings[name].parameters["ax"].default is not None] == []
    # these fill a figure with several axes
    figures = {name for name, one in drawings.items() if one.return_annotation == "Figure"} - {"whole_figure"}
    assert figures == {"classwise_diagrams", "new_figure", "rejection_diagrams", "world_diagram"}


def test_the_whole_figure_of_axes_on_a_part_of_it() -> None:
    figure = new_figure(4, 2)
    left, _ = figure.subfigures(1, 2)
    assert whole_figure(left.subfigures(1, 2)[0].subplots()) is figure
    assert whole_figure(figure.add_subplot()) is figure
