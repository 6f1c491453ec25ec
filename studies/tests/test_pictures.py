"""Checks before and after recalibration, and losses by raters: data first, then marks on axes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly_studies.pictures import before_after, debiasing_picture


@pytest.fixture(scope="module")
def check() -> cr.results.PredictiveCheck:
    rng = np.random.default_rng(0)
    members, labels = rng.dirichlet(np.ones(3), size=(90, 4)), rng.integers(0, 3, size=90)
    return cr.predictive_check(members, labels, statistics=["accuracy", "log_loss"], n_resamples=199, rng=0)


def test_before_and_after(check: cr.results.PredictiveCheck) -> None:
    picture = before_after(check, check, "independent")
    assert picture.columns["check"][:2] == ["Accuracy, before", "Accuracy, after"]
    assert picture.columns["observed"][1] == check.independent.checks["accuracy"].statistic
    assert before_after(check, check).title == "Recalibration, bayesian"
    assert len(before_after(check, check).draw().get_yticks()) == 4
    alone = dataclasses.replace(check, bayesian=None)
    assert before_after(check, alone).title == "Recalibration, independent"
    with pytest.raises(cr.InputError, match="common hypothesis"):
        before_after(dataclasses.replace(check, independent=None), alone)
    part = dataclasses.replace(check.bayesian, checks={"accuracy": check.bayesian.checks["accuracy"]})
    with pytest.raises(cr.InputError, match="same statistics"):
        before_after(check, dataclasses.replace(check, bayesian=part))


def test_a_picture_of_another_package_is_found_by_its_kind(check: cr.results.PredictiveCheck) -> None:
    ax = check.plot(kind="before_after", after=check)
    assert ax.get_title(loc="left") == "Recalibration, bayesian"
    assert check.plot().get_title(loc="left") == "What the model expects"  # needs no option
    with pytest.raises(cr.InputTypeError, match=r'`kind="before_after"` needs `after=`'):
        check.plot(kind="before_after")


def test_debiasing_against_raters() -> None:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(3), size=300)
    probs, counts = (
        truth**2 / (truth**2).sum(axis=1, keepdims=True),
        cr.LabelCounts(rng.multinomial(20, truth)),
    )
    whole = cr.raters.decompose_loss(probs, counts)
    few = {m: cr.raters.decompose_loss(probs, counts.subsample(m, rng=m)) for m in (5, 2)}
    picture = debiasing_picture(few, whole)
    raters, _, plugin, low, high = picture.columns.values()
    assert raters == [2, 5]
    assert plugin.tolist() == [few[2].plugin.epistemic.value, few[5].plugin.epistemic.value]
    assert (low[0], high[0]) == few[2].epistemic.interval()
    covered = ((low <= whole.epistemic.value) & (whole.epistemic.value <= high)).sum()
    assert f"in {covered} of 2 cases; with 2 raters the plug-in gives" in picture.finding
    ax = picture.draw()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "5"]
    small = picture.draw(Figure().add_subplot(), small=True)
    assert small.get_xlabel() == ""
    assert small.get_legend() is None
    with pytest.raises(cr.InputError, match="`by_raters` must hold at least one"):
        debiasing_picture({}, whole)
