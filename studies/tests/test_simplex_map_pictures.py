"""Heat maps over the simplex as data, then as marks on axes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots.simplex import in_triangle
from credibly_studies.simplex_maps import SimplexMap, lattice, simplex_map


def made(
    over: str = "weights", values: np.ndarray | None = None, support: np.ndarray | None = None
) -> SimplexMap:
    points = lattice(4)
    return SimplexMap(
        name="brier",
        over=over,
        corners=("a", "b", "c"),
        points=points,
        values=points[:, 0] if values is None else values,
        support=support,
        n=10,
    )


def test_corners_of_the_triangle_and_the_extremes() -> None:
    data = simplex_map(made())
    np.testing.assert_allclose(in_triangle(np.eye(3)), [[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])
    np.testing.assert_allclose(data.marks[-1].data, [0.5, np.sqrt(0.75)])  # the third corner
    assert "smallest at weights (0.00, 0.00, 1.00)" in data.finding
    assert "largest at (1.00, 0.00, 0.00)" in simplex_map(made("predictions")).finding


def test_points_without_instances_or_finite_values_stay_blank() -> None:
    values = lattice(4)[:, 0].copy()
    values[0] = np.inf
    support = np.full(15, 10.0)
    support[-1] = 4.9
    data = simplex_map(made("predictions", values, support))
    np.testing.assert_array_equal(data.columns["Brier score"], values[1:-1])
    assert "2 points without enough instances are left blank" in data.finding
    with pytest.raises(cr.UnsupportedError, match="none of 15 has"):
        simplex_map(made(values=np.full(15, np.inf)))


def test_drawing_marks_what_the_finding_names() -> None:
    ax = made().plot()
    assert [text.get_text() for text in ax.texts] == ["a", "b", "c"]
    mark = ax.lines[-1].get_xydata()[0]
    np.testing.assert_allclose(mark, [0.5, np.sqrt(0.75)])
    own = Figure().add_subplot()
    assert simplex_map(made("predictions")).draw(own) is own
    ax.figure.savefig("/dev/null", format="svg")  # it can be written
