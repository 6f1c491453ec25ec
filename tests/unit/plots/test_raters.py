"""Pictures of several labels per instance: data first, then marks on axes."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots.raters import disagreement, loss_map
from pictures import marked


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, cr.LabelCounts]:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(3), size=300)
    sharper = truth**2 / (truth**2).sum(axis=1, keepdims=True)
    return sharper, cr.LabelCounts(rng.multinomial(20, truth))


def svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg")
    return text.getvalue()


def test_the_map_holds_roots_and_their_intervals(data) -> None:
    probs, counts = data
    sharp, flat = (
        cr.raters.decompose_loss(probs, counts),
        cr.raters.decompose_loss(np.full((300, 3), 1 / 3), counts),
    )
    picture = loss_map({"sharp": sharp, "flat": flat})
    table = picture.columns
    assert table["model"].tolist() == ["sharp", "sharp", "flat", "flat"]
    assert table["value"][::2].tolist() == [sharp.calibration_error.value, flat.calibration_error.value]
    low, high = flat.dispersion_error.interval()
    assert table["95 % interval"][3] == f"{low:.3g} to {high:.3g}"
    assert picture.finding.startswith("sharp has the smallest epistemic loss; most of it is calibration loss")
    assert loss_map(flat).finding.startswith("Most of the epistemic loss is dispersion loss")
    ax = picture.draw()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"sharp", "flat"}
    marks = [line for line in ax.lines if line.get_label() == "flat"]
    assert marks[0].get_xdata()[0] == flat.calibration_error.value
    assert ax.get_xlabel() == "calibration error"


def test_axes_grow_with_the_models_on_them(data) -> None:
    probs, counts = data
    near = cr.raters.decompose_loss(probs, counts)
    far = cr.raters.decompose_loss(np.roll(probs, 1, axis=1), counts)
    apart = [near.plot().get_xlim()[1], far.plot().get_xlim()[1]]
    for parts in ((near, far), (far, near)):
        ax = Figure().add_subplot()
        for place, part in enumerate(parts):
            part.plot(ax, label=f"model {place}")
        assert ax.get_xlim()[1] == pytest.approx(max(apart))
        arcs = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 60]
        assert max(arcs) > ax.get_xlim()[1]  # those of the first model reach the last


def test_errors_below_zero_stay_on_the_map() -> None:
    parts = cr.raters.decompose_loss([[0.5, 0.5], [0.4, 0.6]], cr.LabelCounts([[3, 1], [0, 4]]), n_bins=1)
    assert parts.calibration_error.value < 0
    ax = loss_map(parts).draw()
    assert ax.get_xlim()[0] < parts.calibration_error.value


def test_the_disagreement_diagram_shows_filled_bins_and_the_band(data) -> None:
    probs, counts = data
    parts = cr.raters.decompose_disagreement(probs, counts)
    picture = disagreement(parts, level=0.9)
    table, filled = picture.columns, parts.bins.count[0] > 0
    assert table["instances"].tolist() == parts.bins.count[0][filled].tolist()
    low, high = (end[0][filled] for end in parts.bins.band(0.9))
    assert marked(picture, "90 % sampling band of the raters")[2] == pytest.approx(low, abs=0.01)
    assert table["outside"].tolist() == ((table["observed"] < low) | (table["observed"] > high)).tolist()
    assert table["outside"].any()  # sharper than the truth: raters disagree more than predicted
    assert "more than predicted" in picture.finding
    assert "90 % band" in picture.finding
    ax = picture.draw()
    drawn = {line.get_label(): line for line in ax.lines}
    assert drawn["outside its band"].get_ydata().tolist() == table["observed"][table["outside"]].tolist()
    assert "90 % sampling band of the raters" in svg(ax.figure)


def test_small_multiples_have_no_words(data) -> None:
    probs, counts = data
    loss, pairs = cr.raters.decompose_loss(probs, counts), cr.raters.decompose_disagreement(probs, counts)
    for picture in (loss_map(loss), disagreement(pairs)):
        ax = Figure().add_subplot()
        assert picture.draw(ax, small=True) is ax
        assert ax.get_xlabel() == ""
        assert ax.get_legend() is None


def test_bins_without_a_band_are_refused(data) -> None:
    probs, counts = data
    estimate = cr.raters.rater_statistic(lambda labels: labels[0] == labels[1], order=2, name="same")
    with pytest.raises(cr.UnsupportedError, match="needs the sampling error of the raters"):
        disagreement(cr.raters.decompose_disagreement(probs, counts, statistic=estimate))
