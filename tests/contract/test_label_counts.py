"""Every statistic and test says whether it takes LabelCounts, in the documents and in what it does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import credibly as cr

PAGE = Path(__file__).resolve().parents[2] / "docs" / "theory" / "raters.md"


def documented() -> dict[str, str]:
    """The table "What takes LabelCounts": name to yes or no."""
    section = PAGE.read_text(encoding="utf-8").partition("## What takes LabelCounts")[2]
    return dict(re.findall(r"^\| `(\w+)` \| (yes|no) \|", section, flags=re.MULTILINE))


def takes_counts() -> set[str]:
    return {
        name for name, statistic in cr.statistics.registered().items() if "counts" in statistic.traits.labels
    }


def test_the_table_lists_every_statistic_for_classes_and_every_test() -> None:
    classes = {
        name for name, statistic in cr.statistics.registered().items() if "classes" in statistic.traits.labels
    }
    tests = {name for name in cr.__all__ if name.endswith("_test")}
    assert classes | tests <= set(documented())


@pytest.mark.parametrize(
    "name",
    [name for name, statistic in cr.statistics.registered().items() if "classes" in statistic.traits.labels],
)
def test_the_table_is_what_the_statistic_does(name: str) -> None:
    probs, counts = np.array([[0.7, 0.3], [0.4, 0.6]]), cr.LabelCounts([[2, 1], [0, 3]])
    if documented()[name] == "no":
        with pytest.raises(cr.UnsupportedError, match="got counts"):
            cr.statistics.registered()[name](probs, counts)
        return
    estimate = cr.statistics.registered()[name](probs, counts)
    assert any("label counts: " in note for note in estimate.notes)
    single = cr.statistics.registered()[name](probs, [0, 1])
    assert not any("label counts" in note for note in single.notes)


def test_the_calibration_test_says_that_it_drew_single_labels() -> None:
    counts = cr.LabelCounts([[2, 1], [0, 3]])
    result = cr.calibration_test([[0.7, 0.3], [0.4, 0.6]], counts, n_resamples=9, rng=0)
    assert any("one label per instance was tested" in note for note in result.notes)
    single = cr.calibration_test([[0.7, 0.3], [0.4, 0.6]], counts.draw(rng=0), n_resamples=9)
    assert not any("one label per instance" in note for note in single.notes)
