"""Groups of an audit as data, then as marks on axes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots.groups import AuditDisplay


@pytest.fixture(scope="module")
def found() -> cr.results.AuditResult:
    rng = np.random.default_rng(1)
    p, site = rng.random(900), rng.choice(["A", "B", "a site with a name that is too long for a label"], 900)
    labels = (rng.random(900) < np.clip(p + 0.4 * (site == "B"), 0, 1)).astype(int)
    return cr.audit(np.stack([1 - p, p], axis=1), labels, groups={"site": site}, n_resamples=99, rng=0)


def test_what_is_off_stands_first(found: cr.results.AuditResult) -> None:
    display = AuditDisplay(found, limit=4)
    assert [one.group for one in display.shown[:2]] == ["site B", "all rows"]  # the second is explained
    assert display.finding == found.headline
    table = display.table()
    assert len(table.rows) == 4
    assert table.rows[0][0] == "site B"
    assert table.rows[1][-1] == "site B"


@pytest.mark.parametrize("small", [False, True])
def test_marks(found: cr.results.AuditResult, small: bool) -> None:
    display = AuditDisplay(found)
    ax = display.draw(Figure().add_subplot(), small=small)
    lines = {line.get_label(): line for line in ax.get_lines()}
    first = display.shown[0]
    assert lines["off"].get_xdata() == pytest.approx([100 * first.effect])
    spans = [line.get_xdata() for line in ax.get_lines() if len(line.get_xdata()) == 2]
    assert any(np.allclose(span, [100 * first.low, 100 * first.high]) for span in spans)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "site B: class 1"
    assert max(map(len, names)) <= 38


def test_a_result_draws_itself(found: cr.results.AuditResult) -> None:
    assert found.plot().get_xlabel() == "observed minus predicted, points"
