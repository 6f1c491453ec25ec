"""Checks before and after recalibration as data, then as marks on axes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import credibly as cr
from credibly_studies.pictures import before_after


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
