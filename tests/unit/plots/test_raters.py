"""Pictures of several labels per instance: data first, then marks on axes."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots.raters import DebiasingDisplay, DisagreementDisplay, LossMapDisplay, SpreadDisplay


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
    shown = LossMapDisplay({"sharp": sharp, "flat": flat})
    assert list(shown.named) == ["sharp", "flat"]
    assert shown.errors[:, 0, 0].tolist() == [sharp.calibration_error.value, flat.calibration_error.value]
    assert tuple(shown.errors[1, 1, 1:]) == flat.dispersion_error.interval()
    assert shown.finding.startswith("sharp has the smallest epistemic loss; most of it is calibration loss")
    alone = LossMapDisplay(flat)
    assert alone.finding.startswith("Most of the epistemic loss is dispersion loss")
    ax = LossMapDisplay({"sharp": sharp, "flat": flat}).draw()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"sharp", "flat"}
    marks = [line for line in ax.lines if line.get_label() == "flat"]
    assert marks[0].get_xdata()[0] == flat.calibration_error.value
    assert ax.get_xlabel() == "calibration error"


def test_errors_below_zero_stay_on_the_map() -> None:
    parts = cr.raters.decompose_loss([[0.5, 0.5], [0.4, 0.6]], cr.LabelCounts([[3, 1], [0, 4]]), n_bins=1)
    assert parts.calibration_error.value < 0
    ax = LossMapDisplay(parts).draw()
    assert ax.get_xlim()[0] < parts.calibration_error.value


def test_the_disagreement_diagram_shows_filled_bins_and_the_band(data) -> None:
    probs, counts = data
    parts = cr.raters.decompose_disagreement(probs, counts)
    display = DisagreementDisplay(parts, level=0.9)
    shown = display.bins
    filled = parts.bins.count[0] > 0
    assert shown.count.tolist() == parts.bins.count[0][filled].tolist()
    low, _ = parts.bins.band(0.9)
    assert shown.low.tolist() == low[0][filled].tolist()
    assert shown.outside.tolist() == ((shown.observed < shown.low) | (shown.observed > shown.high)).tolist()
    assert shown.outside.any()  # sharper than the truth: raters disagree more than predicted
    assert "more than predicted" in display.finding
    assert "90 % band" in display.finding
    ax = DisagreementDisplay(parts, level=0.9).draw()
    drawn = {line.get_label(): line for line in ax.lines}
    assert drawn["outside its band"].get_ydata().tolist() == shown.observed[shown.outside].tolist()
    assert "90 % sampling band of the raters" in svg(ax.figure)


def test_small_multiples_have_no_words(data) -> None:
    probs, counts = data
    loss, pairs = cr.raters.decompose_loss(probs, counts), cr.raters.decompose_disagreement(probs, counts)
    displays = [
        LossMapDisplay(loss),
        DisagreementDisplay(pairs),
        SpreadDisplay(pairs),
        DebiasingDisplay({20: loss}, loss),
    ]
    for display in displays:
        ax = Figure().add_subplot()
        assert display.draw(ax, small=True) is ax
        assert ax.get_xlabel() == ""
        assert ax.get_legend() is None


def test_predicted_against_observed_spread(data) -> None:
    probs, counts = data
    parts = cr.raters.decompose_disagreement(probs, counts)
    shown = SpreadDisplay(parts, class_names=["a", "b", "$c$"])
    gap = np.abs(parts.per_class_observed.value - parts.per_class_predicted.value)
    assert shown.table().rows[2][0] == "$c$"
    assert f"class {shown.names[int(gap.argmax())]}: " in shown.finding
    assert "$c$" in svg(SpreadDisplay(parts, class_names=["a", "b", "$c$"]).draw().figure)
    with pytest.raises(cr.InputError, match="must name 3 classes; got 2"):
        SpreadDisplay(parts, class_names=["a", "b"])
    pairs_only = cr.raters.rater_statistic(lambda labels: labels[0] == labels[1], order=2, name="same")
    with pytest.raises(cr.InputError, match="must have terms per class"):
        SpreadDisplay(cr.raters.decompose_disagreement(probs, counts, statistic=pairs_only))


def test_debiasing_against_raters(data) -> None:
    probs, counts = data
    whole = cr.raters.decompose_loss(probs, counts)
    few = {m: cr.raters.decompose_loss(probs, counts.subsample(m, rng=m)) for m in (5, 2)}
    shown = DebiasingDisplay(few, whole)
    assert shown.n_raters.tolist() == [2, 5]
    _, low, high, plugin = shown.losses
    assert plugin.tolist() == [few[2].plugin.epistemic.value, few[5].plugin.epistemic.value]
    assert (low[0], high[0]) == few[2].epistemic.interval()
    held = ((low <= whole.epistemic.value) & (whole.epistemic.value <= high)).sum()
    assert f"in {held} of 2 cases; with 2 raters the plug-in gives" in shown.finding
    ax = DebiasingDisplay(few, whole).draw()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "5"]
    with pytest.raises(cr.InputError, match="`by_raters` must hold at least one"):
        DebiasingDisplay({}, whole)


def test_bins_without_a_band_are_refused(data) -> None:
    probs, counts = data
    own = cr.raters.rater_statistic(lambda labels: labels[0] == labels[1], order=2, name="same")
    with pytest.raises(cr.UnsupportedError, match="needs the sampling error of the raters"):
        DisagreementDisplay(cr.raters.decompose_disagreement(probs, counts, statistic=own))
