"""Power studies and worlds as data, then as marks on axes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots import panels
from credibly_studies.simulate import (
    BinaryWorld,
    EnsembleWorld,
    HistogramWorld,
    LocationWorld,
    MulticlassWorld,
    PowerStudy,
    power_study,
    world_picture,
)
from credibly_studies.simulate.plots import distance, rejections, weights, world


def by_place(sample, rng) -> float:
    """A p-value that falls with the distance of the world and is the same in all repetitions."""
    return 0.5 - getattr(sample.world, "delta", 0.0)


@pytest.fixture(scope="module")
def study() -> PowerStudy:
    shape = {"n_members": 3, "n_classes": 3}
    worlds = {
        "far": MulticlassWorld("H1", delta=0.45, **shape),
        "control": MulticlassWorld("H1", delta=0.0, **shape),
        "other": MulticlassWorld("H1", delta=0.2, corner="instance", **shape),
        "near": MulticlassWorld("H1", delta=0.2, **shape),
        "S2": EnsembleWorld("S2", n_classes=3),
    }
    tests = {"steps": by_place, "never": lambda sample, rng: 1.0}
    return power_study(tests, worlds, levels=[0.05, 0.3, 0.6], repetitions=4, n=3, rng=1)


def test_power_is_read_from_the_study(study: PowerStudy) -> None:
    data = rejections(study, "near")  # p = 0.3
    rates, low = data.columns["rate"], data.columns["low"]
    np.testing.assert_array_equal(rates, [0, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(low, study.low[3].ravel())
    # 4 of 4: (0.025)^(1/4) = 0.398
    assert low[1] == pytest.approx(0.025**0.25)
    assert "The hypothesis is false" in data.finding
    assert "The hypothesis is true;" in rejections(study, "control").finding
    assert "for some instances or for none" in rejections(study, "other").finding
    assert rejections(study, "far").finding.endswith("'steps': 1 (0.398 to 1).")
    table = data.table()
    assert table.columns == ("test", "level", "rate", "low", "high")
    assert table.rows[1] == ("steps", "0.3", "1", "0.398", "1")
    assert len(table.rows) == 6


def test_power_is_drawn_on_any_axes(study: PowerStudy) -> None:
    own = Figure().add_subplot()
    ax = study.plot(own, world="near")
    assert ax is own
    diagonal, steps, never = ax.get_lines()
    np.testing.assert_array_equal(steps.get_xdata(), study.levels)
    np.testing.assert_array_equal(steps.get_ydata(), [0, 1, 1])
    assert (diagonal.get_linestyle(), never.get_label()) == (":", "never")
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in (steps, never)}
    assert len(looks) == 2
    assert ax.get_legend() is not None
    with pytest.raises(cr.InputError, match="Did you mean 'near'"):
        rejections(study, "nea")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 2, 9])
def test_one_panel_per_world_and_one_key(study: PowerStudy, columns: int) -> None:
    figure = panels([rejections(study, name) for name in study.worlds], columns=columns)
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(study.worlds)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["steps", "never"]
    assert all(ax.get_legend() is None for ax in figure.axes)
    assert sum(ax.get_xlabel() == "level" for ax in figure.axes) == min(columns, 5)
    if columns == 2:  # a row that is not full
        figure.savefig("/dev/null", format="svg")


def test_distances_of_worlds_that_differ_in_nothing_else(study: PowerStudy) -> None:
    data = distance(study, level=0.3)
    # control, near and far
    np.testing.assert_array_equal(data.columns["delta"], [0.0, 0.2, 0.45] * 2)
    np.testing.assert_array_equal(data.columns["rate"], [0, 1, 1, 0, 0, 0])
    assert data.finding == "At delta 0 'steps' rejects most often, 0; at 0.45 'steps' does, 1."
    assert data.table().rows[1][:3] == ("steps", "0.2", "1")
    ax = distance(study, level=0.3).draw()
    assert ax.get_xlabel() == "delta"
    assert len(ax.containers) == 2
    with pytest.raises(
        cr.UnsupportedError, match="needs at least two worlds that differ in this setting alone"
    ):
        distance(study, setting="sharpness", level=0.3)
    with pytest.raises(cr.UnsupportedError, match="got 0 of 5"):
        distance(study, setting="corner", level=0.3)


@pytest.mark.parametrize("hypothesis", ["H0,2", "H1,2"])
def test_a_world_over_x(hypothesis: str) -> None:
    sample = BinaryWorld(hypothesis).draw(40, rng=3)
    picture = world_picture(sample)
    assert (np.diff(picture.x) >= 0).all()
    order = np.argsort(sample.features[:, 0])
    np.testing.assert_array_equal(picture.members, sample.predictions.probs[order, :, 1])
    np.testing.assert_array_equal(picture.truth, sample.truth.probs[order, 1])
    np.testing.assert_array_equal(picture.labels, sample.labels[order] == 1)
    data = world(picture)
    (_, lower, upper) = data.marks[0].data
    np.testing.assert_array_equal(lower, picture.members.min(axis=1))
    np.testing.assert_array_equal(upper, picture.members.max(axis=1))
    inside = 40 if hypothesis == "H0,2" else 0
    assert f"for {inside} of 40 instances" in data.finding
    assert len(data.table().rows) == 10
    first = picture.plot()
    names = [line.get_label() for line in first.get_lines()]
    assert names[:3] == ["member 1", "member 2", "truth"]
    np.testing.assert_array_equal(first.get_lines()[2].get_ydata(), picture.truth)
    ticks = [line for line in first.get_lines() if line.get_marker() == "|"]
    assert sum(line.get_xdata().size for line in ticks) == 40
    first.figure.savefig("/dev/null", format="svg")


def test_weights_over_x() -> None:
    picture = world_picture(BinaryWorld("H0,2").draw(300, rng=4))
    data = weights(picture)
    assert data.finding.startswith("A weight changes by up to 0.9")
    lines = data.draw().get_lines()
    np.testing.assert_array_equal(lines[0].get_ydata(), picture.weights[:, 0])
    assert len(data.table().rows) == 2
    constant = weights(world_picture(MulticlassWorld("H0,1").draw(20, rng=4), of=3))
    assert constant.finding == "The weights are constant."
    assert constant.draw().get_legend() is None  # ten are not named
    with pytest.raises(cr.UnsupportedError, match="needs a world that drew weights"):
        weights(world_picture(BinaryWorld("H1,1").draw(5, rng=4)))


@pytest.mark.parametrize("given", [None, 3, "x"])
def test_another_result_is_refused(given: object) -> None:
    with pytest.raises(cr.InputTypeError, match="`study` must be of type `PowerStudy`"):
        distance(given)


def test_pictures_of_other_worlds_are_refused() -> None:
    for other in (EnsembleWorld(), HistogramWorld(), LocationWorld()):
        with pytest.raises(cr.UnsupportedError, match="needs members that predict classes, and one feature"):
            world_picture(other.draw(4, rng=5))
    with pytest.raises(cr.InputError, match="`of` must be a class from 0 to 1"):
        world_picture(BinaryWorld().draw(4, rng=5), of=2)


def test_pictures_are_made_of_samples_and_drawn_as_pictures() -> None:
    sample = BinaryWorld("H0,2").draw(5, rng=4)
    for draw in (world, weights):
        with pytest.raises(cr.InputTypeError, match=r"must be of type `WorldPicture`; got WorldSample"):
            draw(sample)
    with pytest.raises(cr.InputTypeError, match="`sample` must be what a world drew; got BinaryWorld"):
        world_picture(BinaryWorld())
