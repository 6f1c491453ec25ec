"""Pictures of credal sets as data, then as marks on axes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.credal.pictures import simplex_picture
from credibly.plots.sets import HeatDisplay, MassDisplay, SamplesDisplay, SizeDisplay
from credibly.plots.simplex import SimplexDisplay, in_triangle

MEMBERS = np.array([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [1 / 3, 1 / 3, 1 / 3]]])


def test_triangle_holds_members_hull_and_envelope() -> None:
    picture = simplex_picture(MEMBERS, [1])
    assert picture.members.tolist() == MEMBERS[0].tolist()
    assert {tuple(p) for p in picture.hull.round(9)} == {(0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)}
    assert (picture.label, picture.kind, picture.row) == (1, "Ensemble", 0)
    data = SimplexDisplay(picture, class_names=["a", "b", "c"])
    assert data.observed is not None
    assert data.observed.tolist() == [0.0, 1.0, 0.0]  # the second corner
    assert data.area == pytest.approx(0.49)  # a triangle of side 0.7
    # lower 0.1 everywhere and upper 0.8: the same triangle, its corners are reached
    assert data.envelope_area == pytest.approx(0.49)
    assert data.finding == (
        "The set fills 49 % of all distributions; its lower and upper probabilities alone would allow 49 %."
    )
    assert in_triangle(picture.mean) == pytest.approx([0.5, math.sqrt(3) / 6])


def test_envelope_is_wider_than_the_hull() -> None:
    line = SimplexDisplay(simplex_picture(cr.Ensemble([[[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]]])))
    assert line.area == 0.0
    assert len(line.picture.hull) == 2
    two = SimplexDisplay(simplex_picture(cr.Ensemble([[[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]]])))
    assert 0 < two.area < two.envelope_area


@pytest.mark.parametrize(
    "credal",
    [
        cr.Point([[0.2, 0.3, 0.5]]),
        cr.Intervals([[0.1, 0.1, 0.1]], [[0.6, 0.6, 0.6]]),
        cr.Belief([[0.5, 0.5]], [{0}, {0, 1, 2}]),
        cr.Dirichlet([[2.0, 3.0, 4.0]]),
    ],
    ids=lambda credal: type(credal).__name__,
)
def test_every_kind_has_a_triangle(credal: cr.Point) -> None:
    target = cr.LabelCounts([[1, 2, 1]])
    picture = simplex_picture(credal, target, rng=0)
    assert picture.target is not None
    assert picture.target.tolist() == [0.25, 0.5, 0.25]
    ax = SimplexDisplay(picture).draw()
    assert [patch.get_label() for patch in ax.patches] == [
        "within lower and upper probabilities",
        "the set",
    ]
    assert picture.to_dict()["type"] == "SimplexPicture"


def test_marks_of_the_triangle_are_the_data() -> None:
    ax = Figure().add_subplot()
    picture = simplex_picture(MEMBERS, [2])
    assert SimplexDisplay(picture, class_names=["$x$", "b", "c"]).draw(ax) is ax
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert np.array(lines["members"].get_xydata()) == pytest.approx(in_triangle(picture.members))
    assert np.array(lines["observed"].get_xydata())[0] == pytest.approx([0.5, math.sqrt(3) / 2])
    assert ax.texts[0].get_text() == "$x$"
    assert not ax.texts[0].get_parse_math()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: simplex_picture([[0.5, 0.5]]), "must have 3 classes, the corners of a triangle; got 2"),
        (lambda: simplex_picture(MEMBERS, row=1), "`row` must be below 1"),
        (lambda: simplex_picture(MEMBERS, row=-1), "`row` must be an integer of at least 0"),
        (lambda: SimplexDisplay(simplex_picture(MEMBERS), class_names=["a"]), "must be three names"),
        (lambda: MassDisplay(cr.credal.mass_function([[0.5, 0.5]]), class_names=["a"]), "must be 2 names"),
        (lambda: SamplesDisplay([0.5, 0.5]), r"`samples` must have 2 axes; got shape \(2,\)"),
        (lambda: SizeDisplay([0.1, 0.2], [True]), "one entry per instance; got 2 and 1"),
        (lambda: HeatDisplay([0.1, 0.2], [0.1, math.inf]), "must be finite.*hartley"),
        (lambda: HeatDisplay([0.1], [0.1], n_bins=0), "`n_bins` must be a positive integer"),
    ],
)
def test_what_cannot_be_drawn(call, words: str) -> None:
    with pytest.raises(cr.InputError, match=words):
        call()


def test_bars_show_masses_and_what_they_say() -> None:
    belief = cr.Belief([[0.5, 0.2, 0.3]], [{0}, {1, 2}, {0, 1, 2}])
    masses = cr.credal.mass_function(belief)
    data = MassDisplay(masses, limit=2, class_names=["cat", "dog", "cow"])
    assert data.masses == {"{cat}": 0.5, "all": 0.3}
    belief, pignistic, plausibility = data.probabilities
    assert belief == pytest.approx([0.5, 0, 0])
    assert plausibility == pytest.approx([0.8, 0.5, 0.5])
    assert pignistic == pytest.approx([0.6, 0.2, 0.2])  # 0.5 + 0.1, 0.1 + 0.1
    assert data.finding.startswith("Class cat leads with pignistic probability 0.6, between 0.5 and 0.8;")
    ax = MassDisplay(masses, class_names=["cat", "dog", "cow"]).draw()
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels == ["{cat}", "all", "{dog, cow}", "cat", "dog", "cow"]
    spans = ax.collections[0].get_segments()
    assert np.array(spans)[:, :, 1] == pytest.approx(np.array([[0.5, 0.8], [0, 0.5], [0, 0.5]]))


def test_samples_show_their_average() -> None:
    data = SamplesDisplay(MEMBERS[0], observed=2)
    assert data.average == pytest.approx(np.full(3, 1 / 3))
    assert data.finding == "The average puts class 0 first with 0.333; 2 of 4 samples do so."
    ax = SamplesDisplay(MEMBERS[0], observed=2).draw()
    dots = next(line for line in ax.get_lines() if line.get_label() == "samples")
    assert sorted(dots.get_ydata()) == pytest.approx(sorted(MEMBERS.ravel()))
    assert next(line for line in ax.get_lines() if line.get_label() == "observed").get_xdata() == [2]


def test_strips_part_right_from_wrong() -> None:
    data = SizeDisplay([0.1, 0.2, 0.6, 0.3], [True, True, False, True])
    assert list(data.groups) == ["right", "wrong"]
    assert data.medians == pytest.approx((0.2, 0.6))
    assert data.finding == (
        "Right predictions have median size 0.2 (n = 3), wrong predictions have median size 0.6 (n = 1)."
    )
    assert list(SizeDisplay([0.1], [True]).groups) == ["right"]
    ax = SizeDisplay([0.1, 0.2, 0.6, 0.3], [True, True, False, True]).draw()
    assert sorted(ax.get_lines()[0].get_xdata()) == [0.1, 0.2, 0.3]


def test_heat_map_counts_every_instance() -> None:
    ensemble = cr.Ensemble(np.random.default_rng(0).dirichlet(np.ones(4), size=(200, 5)))
    sizes, imprecision = cr.credal.size(ensemble), cr.credal.nonspecificity(ensemble)
    data = HeatDisplay(sizes, imprecision, n_bins=10)
    assert data.cells[0].shape == (10, 10)
    assert data.cells[0].sum() == 200
    assert data.correlation > 0.9
    ax = HeatDisplay(sizes, imprecision, n_bins=10).draw()
    shown = ax.collections[0].get_array()
    assert shown.sum() == 200
    flat = HeatDisplay([0.2, 0.2], [0.1, 0.3])
    assert flat.finding == "One of the two measures is the same for all 2 instances."
