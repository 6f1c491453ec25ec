"""Enlarged sets: what they hold by hand, that they grow, and what cannot be enlarged."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.credal.enlargement import enlarged
from libraries import Library, read

POINT = cr.Point([[0.5, 0.3, 0.2]])
SETS = {
    "point": POINT,
    "ensemble": cr.Ensemble([[[0.5, 0.3, 0.2], [0.6, 0.1, 0.3]]], member_axis=1),
    "intervals": cr.Intervals([[0.4, 0.1, 0.1]], [[0.6, 0.3, 0.4]]),
    "belief": cr.Belief([[0.5, 0.2, 0.3]], [{0}, {1, 2}, {0, 1, 2}]),
}


def test_a_point_mixed_with_everything() -> None:
    # 0.9 p, and 0.1 on one class: upper probabilities 0.9 p + 0.1, lower 0.9 p
    found = enlarged(POINT, 0.1, "vacuous")
    assert cr.credal.upper_probability(found)[0] == pytest.approx([0.55, 0.37, 0.28])
    assert cr.credal.lower_probability(found)[0] == pytest.approx([0.45, 0.27, 0.18])


def test_a_point_moved_by_total_variation() -> None:
    predictions = enlarged(POINT, 0.1, "ball")
    assert cr.credal.upper_probability(predictions)[0] == pytest.approx([0.6, 0.4, 0.3])
    apart = 0.5 * np.abs(predictions.probs[0] - POINT.probs).sum(axis=1)
    assert apart == pytest.approx([0.1, 0.1, 0.1])
    far = enlarged(cr.Point([[0.95, 0.05, 0.0]]), 0.1, "ball")  # class 0 is only 0.05 away
    assert far.probs[0, 0] == pytest.approx([1.0, 0.0, 0.0])


def test_bounds_and_masses() -> None:
    wider = enlarged(SETS["intervals"], 0.1, "ball")
    assert cr.credal.upper_probability(wider)[0] == pytest.approx([0.7, 0.4, 0.5])
    mixed = enlarged(SETS["intervals"], 0.5, "vacuous")
    # lower 0.5 * (0.4, 0.1, 0.1); the bounds given are reachable already
    assert mixed.lower[0] == pytest.approx([0.2, 0.05, 0.05])
    belief = enlarged(SETS["belief"], 0.5, "vacuous")
    assert belief.masses[0] == pytest.approx([0.25, 0.1, 0.65])
    without = enlarged(cr.Belief([[0.5, 0.5]], [{0}, {1}], n_classes=3), 0.5, "vacuous")
    assert without.masses[0] == pytest.approx([0.25, 0.25, 0.5])
    assert without.focal_sets[-1] == {0, 1, 2}


@pytest.mark.parametrize("by", ["vacuous", "ball"])
@pytest.mark.parametrize("name", ["point", "ensemble", "intervals", "belief"])
def test_sets_are_nested_up_to_everything(name: str, by: str) -> None:
    credal = SETS[name]
    if (name, by) == ("belief", "ball"):
        with pytest.raises(cr.UnsupportedError, match="a Belief has masses"):
            enlarged(credal, 0.1, by)
        return
    assert enlarged(credal, 0.0, by) is credal
    sizes = [cr.credal.size(enlarged(credal, radius, by))[0] for radius in (0.0, 0.1, 0.3, 1.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == pytest.approx(1.0)
    inner, outer = (enlarged(credal, radius, by) for radius in (0.1, 0.3))
    for corner in cr.credal.vertices(inner)[0]:
        assert cr.credal.contains(outer, corner[None]).all()
    assert cr.credal.contains(inner, credal.mean()).all()


@pytest.mark.parametrize("name", ["point", "ensemble", "intervals", "belief"])
def test_every_library(name: str, library: Library) -> None:
    credal = SETS[name]
    moved = credal.replace_rows(**{f: library.asarray(getattr(credal, f)) for f in credal.row_fields})
    found = cr.credal.upper_probability(enlarged(moved, 0.2, "vacuous"))
    assert library.owns(found)
    assert read(found) == pytest.approx(cr.credal.upper_probability(enlarged(credal, 0.2, "vacuous")))


@pytest.mark.parametrize("radius", [-0.1, 1.1, float("nan"), True, "0.1"])
def test_bad_radius(radius: object) -> None:
    with pytest.raises(cr.InputError, match="`radius` must lie between 0 and 1"):
        enlarged(POINT, radius, "vacuous")  # type: ignore[arg-type]


def test_bad_way() -> None:
    with pytest.raises(cr.InputError, match="`by` must be one of 'vacuous', 'ball'"):
        enlarged(POINT, 0.1, "circle")  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["vacuous", "ball"])
def test_sets_of_everything_are_no_drawn_labels(by: str) -> None:
    members = np.random.default_rng(0).dirichlet(np.ones(3), size=(60, 4))
    predictions = enlarged(cr.Ensemble(members, member_axis=1), 1.0, by)
    assert (predictions.n_members, predictions.holds_drawn_labels) == (3, False)
    assert not cr.credal_test(predictions, np.arange(60) % 3, rng=0).rejects()
