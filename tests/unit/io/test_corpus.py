"""Every form of the corpus gives the right number or the right refusal; the table in the docs shows it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import ClassPredictions
from unit.io.corpus import REAL, ROWS, Row, agreement, hits


def number_of(data: cr.Dataset) -> float:
    predictions = data.predictions
    if isinstance(predictions, (cr.PredictionSets, cr.predictions.PredictionIntervals)):
        assert predictions.claimed == 0.9
        return float(np.mean(predictions.covers(data.batch)))
    if not isinstance(predictions, ClassPredictions):
        assert isinstance(predictions, (cr.Gaussian, cr.Samples, cr.Quantiles))
        np.testing.assert_allclose(data.labels, REAL)
        if isinstance(predictions, cr.Quantiles):  # at levels that lie symmetrically
            middle = (predictions.values[:, 0] + predictions.values[:, -1]) / 2
        else:
            middle = predictions.expectation()
        return float(np.abs(np.asarray(middle) - data.labels).mean())
    probs = predictions.mean().probs
    if isinstance(data.labels, cr.LabelCounts):
        return agreement(probs, np.asarray(data.labels.counts))
    return hits(probs, data.labels)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section}: {row.form} {row.said}")
def test_every_form(row: Row, tmp_path: Path) -> None:
    path, said = row.write(tmp_path)
    if row.refused:
        with pytest.raises(cr.CrediblyError, match=f"(?s){row.refused}"):
            cr.load(path, **said)
        return
    data = cr.load(path, **said)
    assert number_of(data) == pytest.approx(row.number, abs=1e-9)
    assert not row.note or any(row.note in note for note in data.notes), data.notes


def test_the_corpus_is_large_and_every_row_says_one_thing() -> None:
    assert len(ROWS) >= 120
    assert all((row.number is None) == bool(row.refused) for row in ROWS)
    assert len({(row.section, row.form, row.said, row.refused) for row in ROWS}) == len(ROWS)


def test_the_page_shows_the_corpus() -> None:
    root = Path(__file__).resolve().parents[3]
    spec = importlib.util.spec_from_file_location("make_files_page", root / "tools" / "make_files_page.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run python tools/make_files_page.py"
