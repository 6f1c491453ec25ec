"""Predictive checks and curves of rows in chunks are those of all rows at once."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.errors import InputError, UnsupportedError

N, M, K = 600, 3, 4


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.dirichlet(np.ones(K), size=(N, M)), rng.integers(K, size=N), rng.integers(3, size=N)


def same_check(cut: cr.PredictiveCheck, whole: cr.PredictiveCheck) -> None:
    for name, part in whole.hypotheses.items():
        own = cut.under(name)
        assert own.omnibus_pvalue == part.omnibus_pvalue
        assert list(own.groups) == list(part.groups)
        found = {None: part.checks, **part.groups}
        for group, checks in {None: own.checks, **own.groups}.items():
            for statistic, one in checks.items():
                other = found[group][statistic]
                np.testing.assert_allclose(
                    one.null_distribution, other.null_distribution, rtol=1e-12, atol=1e-14
                )
                for field in dataclasses.fields(one):
                    if field.name not in ("null_distribution", "settings"):
                        np.testing.assert_allclose(
                            *(_number(getattr(result, field.name)) for result in (one, other)), rtol=1e-10
                        ) if isinstance(_number(getattr(one, field.name)), float | np.ndarray) else None
                assert (one.pvalue, one.adjusted_pvalue, one.n) == (
                    other.pvalue,
                    other.adjusted_pvalue,
                    other.n,
                )
                assert (one.notes, one.settings) == (other.notes, other.settings)
    assert (cut.n, cut.m, cut.limits, cut.notes, cut.factors) == (
        whole.n,
        whole.m,
        whole.limits,
        whole.notes,
        whole.factors,
    )


def _number(value: object) -> object:
    return value


@pytest.mark.parametrize("rows", [600, 91, 6])
def test_a_check_of_members_and_groups(data, rows) -> None:
    probs, labels, groups = data
    settings = {"statistics": ["accuracy", "confidence_ece", "hosmer_lemeshow"], "n_resamples": 39, "rng": 3}
    whole = cr.predictive_check(cr.Ensemble(probs), labels, groups=groups, **settings)
    cut = cr.predictive_check(cr.scan(probs, labels, groups=groups, chunk_rows=rows), **settings)
    same_check(cut, whole)
