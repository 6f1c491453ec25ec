"""A comparison of models in chunks is that of all rows at once."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from same_numbers import differences

N, M, K = 300, 3, 4
RNG = np.random.default_rng(5)
PROBS = RNG.dirichlet(np.ones(K), size=(N, M))
MEAN = PROBS.mean(axis=1)
LABELS = (RNG.random((N, 1)) > MEAN.cumsum(axis=1)).sum(axis=1)
COUNTS = cr.LabelCounts(RNG.multinomial(5, np.full(K, 1 / K), size=N))
MODELS = {"set": cr.Ensemble(PROBS), "point": cr.Point(RNG.dirichlet(np.ones(K), size=N))}


def cut(labels, chunks: int) -> dict[str, cr.Rows]:
    return {
        name: cr.scan(one, labels, chunk_rows=-(-N // (chunks + place)))  # models need not be cut alike
        for place, (name, one) in enumerate(MODELS.items())
    }


BUDGET = [[0], [1], [2], [3], [0, 1], [2, 3]]
ON_BUDGET = partial(cr.credal.nonspecificity, measure="dubois_prade", budget=BUDGET)


@pytest.mark.parametrize(
    ("labels", "settings", "chunks"),
    [
        (LABELS, {}, 1),
        (LABELS, {}, 7),
        pytest.param(LABELS, {}, 100, marks=pytest.mark.slow),
        (LABELS, {"measure": "credal_size"}, 7),
        (LABELS, {"measure": ON_BUDGET}, 7),
        (COUNTS, {}, 7),
    ],
    ids=["labels, whole", "labels", "labels, cut finely", "size", "budget", "raters"],
)
def test_every_number_is_that_of_all_rows(labels, settings, chunks) -> None:
    whole = cr.compare(MODELS, labels, n_resamples=100, rng=3, **settings)
    comparison = cr.compare(cut(labels, chunks), n_resamples=100, rng=3, **settings)
    assert differences(whole.to_dict(), comparison.to_dict()) == []


@pytest.mark.filterwarnings("ignore:E depends on")
@pytest.mark.parametrize("labels", [LABELS, COUNTS], ids=["labels", "raters"])
def test_a_score_of_chunks_is_that_of_all_rows(labels) -> None:
    whole = cr.epistemic_score(MODELS["set"], labels, measure=ON_BUDGET)
    score = cr.epistemic_score(cr.scan(MODELS["set"], labels, chunk_rows=41), measure=ON_BUDGET)
    assert differences(whole.to_dict(), score.to_dict()) == []
    assert len(score.dependences) == 1
    np.testing.assert_array_equal(score.distance, whole.distance)
    with pytest.raises(UnsupportedError, match="'predictions' in chunks must be a set"):
        cr.epistemic_score(cr.scan(cr.Dirichlet(5 * PROBS), labels))


def test_infinite_distances_are_counted_over_all_chunks() -> None:
    certain = cr.Point(np.tile([1.0, 0.0, 0.0, 0.0], (N, 1)))
    whole = cr.compare({"certain": certain, **MODELS}, LABELS, n_resamples=100)
    models = {"certain": cr.scan(certain, LABELS, chunk_rows=40), **cut(LABELS, 7)}
    comparison = cr.compare(models, n_resamples=100)
    assert comparison.warnings == whole.warnings
    assert any("infinite distance" in warning for warning in comparison.warnings)


def test_what_cannot_be_compared_in_chunks_is_refused() -> None:
    models = cut(LABELS, 7)
    other = LABELS.copy()
    other[17] = (other[17] + 1) % K
    with pytest.raises(InputError, match=r"same labels.*'set' and 'point' differ, first in row 17"):
        cr.compare({**models, "point": cr.scan(MODELS["point"], other)})
    with pytest.raises(InputTypeError, match="all be in chunks, or all in memory"):
        cr.compare({**models, "point": MODELS["point"]})
    with pytest.raises(InputError, match="come with the chunks"):
        cr.compare(models, LABELS)
    with pytest.raises(UnsupportedError, match="Dirichlet becomes one by sampling"):
        cr.compare({"dirichlet": cr.scan(cr.Dirichlet(5 * PROBS), LABELS)})
    with pytest.raises(InputError, match="same instances"):
        cr.compare({**models, "point": cr.scan(MODELS["point"][:10], LABELS[:10])})
