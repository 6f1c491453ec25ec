"""Risk-coverage curves as data, then as marks on axes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots.curves import risk_coverage
from pictures import marked

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), size=200)
LABELS = (RNG.random((200, 1)) > PROBS.cumsum(axis=1)).sum(axis=1)
CURVE = cr.risk_coverage_curve(PROBS, LABELS)
OTHER = cr.risk_coverage_curve(PROBS, LABELS, confidence=RNG.random(200), by="chance")


def test_the_data_are_those_of_the_curves() -> None:
    data = risk_coverage({"confidence": CURVE, "chance": OTHER})
    for name, curve in {"confidence": CURVE, "chance": OTHER}.items():
        x, y = marked(data, f"by {name}")
        assert np.array_equal(x, curve.coverage)
        assert np.array_equal(y, curve.risk)
    assert data.table().rows[-1][1:3] == (f"{float(CURVE.area):.3g}", f"{float(OTHER.area):.3g}")
    assert np.array_equal(marked(risk_coverage(CURVE), "by confidence")[1], CURVE.risk)


def test_the_table_has_every_tenth_and_the_areas() -> None:
    table = risk_coverage({"confidence": CURVE, "chance": OTHER}).table()
    assert table.columns == ("coverage", "risk by confidence", "risk by chance", "stated", "best order")
    assert [row[0] for row in table.rows] == [f"{tenth / 10:g}" for tenth in range(1, 11)] + ["area"]
    share = 1 - float(cr.accuracy(PROBS, LABELS))
    assert table.rows[9][1] == table.rows[9][2] == f"{share:.3g}"  # all are answered, in whatever order


def test_the_sentence_compares_the_surest_half_with_all() -> None:
    finding = risk_coverage({"confidence": CURVE, "chance": OTHER}).finding
    half = np.interp(0.5, CURVE.coverage, CURVE.risk)
    assert f"Among the surest half by confidence, {half:.3g} of the answers are wrong" in finding
    assert f"against {CURVE.risk[-1]:.3g} of all answers" in finding
    assert "Ordered by chance: " in finding


def test_lines_lie_on_given_axes() -> None:
    ax = Figure().add_subplot()
    assert risk_coverage({"confidence": CURVE, "chance": OTHER}).draw(ax) is ax
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["best possible order", "what the model expects", "by confidence", "by chance"]
    line = next(line for line in ax.lines if line.get_label() == "by chance")
    assert np.array_equal(line.get_ydata(), OTHER.risk)
    assert risk_coverage(CURVE).draw().get_figure() is not None


def test_other_things_are_refused() -> None:
    with pytest.raises(cr.InputTypeError, match="RiskCoverageCurve"):
        risk_coverage(LABELS)  # type: ignore[arg-type]
    with pytest.raises(cr.InputError, match="at least one"):
        risk_coverage({})
