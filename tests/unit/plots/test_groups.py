"""Groups of an audit, and parts of sets, as data, then as marks on axes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots.groups import audit, claims


@pytest.fixture(scope="module")
def found() -> cr.results.AuditResult:
    rng = np.random.default_rng(1)
    p, site = rng.random(900), rng.choice(["A", "B", "a site with a name that is too long for a label"], 900)
    labels = (rng.random(900) < np.clip(p + 0.4 * (site == "B"), 0, 1)).astype(int)
    return cr.audit(np.stack([1 - p, p], axis=1), labels, groups={"site": site}, n_resamples=99, rng=0)


def test_what_is_off_stands_first(found: cr.results.AuditResult) -> None:
    picture = audit(found, limit=4)
    assert picture.columns["group"][:2] == ["site B", "all rows"]  # the second is explained
    assert picture.finding == found.headline
    table = picture.table()
    assert len(table.rows) == 4
    assert table.rows[0][0] == "site B"
    assert table.rows[1][-1] == "site B"


@pytest.mark.parametrize("small", [False, True])
def test_marks(found: cr.results.AuditResult, small: bool) -> None:
    ax = audit(found).draw(Figure().add_subplot(), small=small)
    lines = {line.get_label(): line for line in ax.get_lines()}
    (first, *_) = found.findings
    assert lines["off"].get_xdata() == pytest.approx([100 * first.effect])
    spans = [line.get_xdata() for line in ax.get_lines() if len(line.get_xdata()) == 2]
    assert any(np.allclose(span, [100 * first.low, 100 * first.high]) for span in spans)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "site B"  # one measure needs no name
    assert max(map(len, names)) <= 38


def test_a_result_draws_itself(found: cr.results.AuditResult) -> None:
    assert found.plot().get_xlabel() == "observed minus predicted, points"


def test_what_sets_hold_in_parts() -> None:
    labels, members = np.zeros(100, dtype=int), np.ones((100, 2), dtype=bool)
    members[:40, 1] = False  # 40 sets of one class, which hold; of 60 of two classes all hold
    members[40:60] = [False, True]  # and 20 of one class that miss
    groups = np.where(np.arange(100) < 60, "a", "b")
    sets = cr.PredictionSets(members, 0.9)
    coverage = cr.hypotests.set_coverage(sets, labels, groups=groups, n_resamples=99, rng=0)
    picture = claims(coverage)
    assert picture.columns["part"] == ["all", "size 1", "size 2", "group a", "group b"]
    assert picture.columns["n"] == [100, 60, 40, 60, 40]
    assert picture.columns["held"] == pytest.approx([0.8, 40 / 60, 1.0, 40 / 60, 1.0])
    # Wilson of 40 of 60: 0.541 to 0.773
    assert picture.columns["interval"][1] == pytest.approx((0.541, 0.773), abs=1e-3)
    assert (
        picture.finding
        == "90 % sets contain 80.0 % of 100 labels; the intervals of 4 of 4 parts miss the claim."
    )
    ax = coverage.plot()
    assert ax.get_xlabel() == "share of labels covered"
    assert [label.get_text() for label in ax.get_yticklabels()][1] == "size 1 (n = 60)"
    lines = {line.get_label(): line.get_xdata() for line in ax.get_lines()}
    assert lines["interval excludes the claim"] == pytest.approx([0.8, 40 / 60, 1.0, 40 / 60, 1.0])
    assert lines["claimed"] == [0.9, 0.9]
