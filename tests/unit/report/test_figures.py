"""Which figure carries the verdict, and how matplotlib's SVG becomes part of a page."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import credibly as cr
from credibly.plots import INK, new_axes
from credibly.report.content import main_figure, method_notes
from credibly.report.svg import inline_svg


@pytest.fixture(scope="module")
def evaluation() -> cr.Evaluation:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=150)
    labels = (rng.random((150, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    return cr.evaluate(probs, labels, n_resamples=39)


def about(evaluation: cr.Evaluation, label: int | None) -> cr.Evaluation:
    """Return the evaluation with a diagnosis of a class, or of the confidence."""
    diagnosis = evaluation.diagnosis
    assert diagnosis is not None
    claim = dataclasses.replace(diagnosis.effect.claim, label=label)
    effect = dataclasses.replace(diagnosis.effect, claim=claim)
    return dataclasses.replace(evaluation, diagnosis=dataclasses.replace(diagnosis, effect=effect))


def test_main_figure_shows_what_the_diagnosis_is_about(evaluation: cr.Evaluation) -> None:
    worst = evaluation.curves.worst_class.name
    label = int(worst.removeprefix("class "))
    of_class = f"Class {label}: predicted probability against frequency"
    for own, title in ((None, "Confidence against accuracy"), (label, of_class)):
        figure = main_figure(about(evaluation, own))
        assert figure is not None
        assert figure.title == title
        assert figure.table.columns == ("predictions", "instances", "observed", "band", "true curve")
        assert sum(float(row[1]) for row in figure.table.rows) == 150


def test_of_two_classes_the_event_is_shown() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(2), size=150)
    labels = (rng.random(150) > probs[:, 0]).astype(int)
    figure = main_figure(cr.evaluate(probs, labels, classes=["stay", "churn"], n_resamples=39))
    assert figure is not None
    assert figure.title == "Class churn: predicted probability against frequency"


def drawing(prefix: str) -> str:
    ax = new_axes(2, 2)
    ax.plot([0, 1], [0, 1], "o", color=INK)
    ax.set_title("<0.123456> & more")
    return inline_svg(ax.figure, prefix, "A <title>", "a finding")  # type: ignore[arg-type]


def test_svg_keeps_text_as_text_and_takes_the_colours_of_the_page() -> None:
    svg = drawing("a")
    assert ">&lt;0.123456&gt; &amp; more</text>" in svg  # numbers in texts keep their digits
    assert INK not in svg
    assert "currentColor" in svg
    assert svg.startswith('<svg viewBox="0 0 144 144" role="img" aria-labelledby="a-title a-finding">')
    assert '<title id="a-title">A &lt;title&gt;</title><desc id="a-finding">a finding</desc>' in svg
    assert not re.search(r"<metadata|<style|xmlns|http:|<!DOCTYPE|\n", svg)


def test_ids_of_two_figures_differ_and_are_the_same_every_time() -> None:
    first, second = drawing("a"), drawing("b")
    ids = [set(re.findall(r' id="([^"]+)"', svg)) for svg in (first, second)]
    assert len(ids[0]) == len(ids[1]) >= 3  # title, finding and at least the clip path
    assert not ids[0] & ids[1]
    assert drawing("a") == first


def test_drawing_leaves_the_settings_of_matplotlib_alone() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    drawing("a")
    assert dict(mpl.rcParams) == before


def test_every_statistic_has_a_method_note() -> None:
    own = {"share": {"name": "share", "meaning": "Share of it.", "formula": "s / n", "reference": "me"}}
    notes = {note.name: note for note in method_notes(own)}
    assert notes["share"].meaning == "Share of it."
    assert "Calibration test" in notes


def test_every_built_in_statistic_is_explained(evaluation: cr.Evaluation) -> None:
    notes = method_notes(evaluation.settings["methods"], evaluation.decomposition)
    assert all(note.meaning for note in notes)
    assert {note.name: note.formula for note in notes}["Brier score"] == "mean of ‖p − e_y‖²"
    assert len(notes) == len(evaluation.estimates) + 5


def test_a_figure_with_given_margins_is_drawn_once() -> None:
    """Wherever a layout is looked for, matplotlib draws everything twice."""
    assert new_axes(2, 2, (0.5, 0.5, 0.1, 0.1)).figure.get_layout_engine() is None
    assert new_axes(2, 2).figure.get_layout_engine() is not None
