"""Alpha and kappas equal those of krippendorff and statsmodels (`make_agreement_numbers.py`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import credibly as cr

RECORD = json.loads(Path(__file__).with_name("agreement_numbers.json").read_text())


@pytest.mark.parametrize("world", RECORD["worlds"])
def test_agreement_equals_that_of_other_packages(world: str) -> None:
    record = RECORD["worlds"][world]
    counts = cr.LabelCounts.from_table(record["labels"], n_classes=record["k"], missing=-1)
    result = cr.raters.agreement(counts)
    assert result.krippendorff.value == pytest.approx(record["krippendorff"], abs=1e-9)
    if "fleiss" in record:
        assert result.fleiss.value == pytest.approx(record["fleiss"], abs=1e-9)
    else:
        assert result.fleiss is None
    # gaps: statsmodels' table holds the instances that both labelled, and so do the rows kept here, because
    # an instance with both labels has two
    assert result.cohen[0, 1] == pytest.approx(record["cohen"], abs=1e-9)
