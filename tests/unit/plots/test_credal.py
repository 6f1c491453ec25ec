"""Pictures of credal sets as data, then as marks on axes."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.credal.pictures import simplex_picture
from credibly.plots.simplex import in_triangle, simplex
from pictures import marked

MEMBERS = np.array([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [1 / 3, 1 / 3, 1 / 3]]])


def test_triangle_holds_members_hull_and_envelope() -> None:
    picture = simplex_picture(MEMBERS, [1])
    assert picture.members.tolist() == MEMBERS[0].tolist()
    assert {tuple(p) for p in picture.hull.round(9)} == {(0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)}
    assert (picture.label, picture.kind, picture.row) == (1, "Ensemble", 0)
    data = simplex(picture, class_names=["a", "b", "c"])
    assert marked(data, "observed") == pytest.approx((1.0, 0.0))  # the second corner
    # a triangle of side 0.7: 0.7^2 = 0.49 of the whole; lower 0.1 everywhere and upper 0.8 give the same
    # triangle, its corners are reached
    assert data.finding == (
        "The set fills 49 % of all distributions; its lower and upper probabilities alone would allow 49 %."
    )
    assert in_triangle(picture.mean) == pytest.approx([0.5, math.sqrt(3) / 6])


def test_envelope_is_wider_than_the_hull() -> None:
    line = simplex_picture(cr.Ensemble([[[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]]]))
    assert simplex(line).finding.startswith("The set fills 0 % of all distributions")
    assert len(line.hull) == 2
    two = simplex(simplex_picture(cr.Ensemble([[[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]]])))
    area, envelope = map(float, re.findall(r"([\d.]+) %", two.finding))
    assert 0 < area < envelope


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
    ax = simplex(picture).draw()
    assert [patch.get_label() for patch in ax.patches] == [
        "within lower and upper probabilities",
        "the set",
    ]
    assert picture.to_dict()["type"] == "SimplexPicture"


def test_marks_of_the_triangle_are_the_data() -> None:
    ax = Figure().add_subplot()
    picture = simplex_picture(MEMBERS, [2])
    assert simplex(picture, class_names=["$x$", "b", "c"]).draw(ax) is ax
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
        (lambda: simplex(simplex_picture(MEMBERS), class_names=["a"]), "must be three names"),
    ],
)
def test_what_cannot_be_drawn(call, words: str) -> None:
    with pytest.raises(cr.InputError, match=words):
        call()
