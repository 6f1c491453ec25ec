"""Means of measures over chunks are the means of the measures of all rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError

N, M, K = 400, 4, 3


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return rng.dirichlet(np.ones(K), size=(N, M)), rng.integers(K, size=N)


MEASURES = {
    "hull": cr.credal.distance,
    "hartley": cr.credal.nonspecificity,
    "pal": partial(cr.credal.nonspecificity, measure="pal"),
    "size": cr.credal.size,
    "upper": cr.credal.upper_entropy,
}


@pytest.mark.parametrize("rows", [None, N, 91, 7])
def test_means_are_those_of_all_rows(data, rows) -> None:
    probs, labels = data
    whole = cr.Ensemble(probs)
    if rows is None:
        mean = cr.credal.mean_over(probs, MEASURES, labels)
    else:
        mean = cr.credal.mean_over(cr.scan(probs, labels, chunk_rows=rows), MEASURES)
    assert list(mean) == list(MEASURES)
    for name, measure in MEASURES.items():
        arguments = (whole, labels) if name == "hull" else (whole,)
        values = measure(*arguments)
        assert mean[name].value == pytest.approx(values.mean(), rel=1e-12)
        assert mean[name].stderr == pytest.approx(values.std(ddof=1) / np.sqrt(N), rel=1e-9)
        assert mean[name].n == N
    assert mean["pal"].settings == {"measure": "pal"}


def test_a_decomposition_has_one_mean_per_part(data) -> None:
    probs, labels = data
    parts = cr.uncertainty(cr.Ensemble(probs), base=2)
    mean = cr.credal.mean_over(cr.scan(probs, labels, chunk_rows=37), partial(cr.uncertainty, base=2))
    assert list(mean) == ["uncertainty.total", "uncertainty.aleatoric", "uncertainty.epistemic"]
    for name, estimate in mean.items():
        values = getattr(parts, name.partition(".")[2])
        assert estimate.value == pytest.approx(values.mean(), rel=1e-12)
        assert estimate.stderr == pytest.approx(values.std(ddof=1) / np.sqrt(N), rel=1e-9)
        assert estimate.settings == {"base": 2}


def test_a_belief_has_no_aleatoric_part() -> None:
    belief = cr.Belief([[0.5, 0.5], [1.0, 0.0]], [{0}, {0, 1}])
    mean = cr.credal.mean_over(cr.scan(belief, [0, 1], chunk_rows=1), cr.uncertainty)
    assert list(mean) == ["uncertainty.total", "uncertainty.epistemic"]
    # mass 1/2 on both classes: credal size 1/2; all mass on class 0: 0
    assert mean["uncertainty.epistemic"].value == 0.25


def test_weights_and_soft_labels_are_used(data) -> None:
    probs, labels = data
    weights = np.arange(N) % 3.0
    means = cr.credal.mean_over(
        cr.scan(probs, labels, sample_weight=weights, chunk_rows=50), cr.credal.distance
    )
    values = cr.credal.distance(cr.Ensemble(probs), labels)
    mean = np.average(values, weights=weights)
    assert means["distance"].value == pytest.approx(mean, rel=1e-12)
    means = cr.credal.mean_over(probs, cr.credal.size, sample_weight=weights)  # no labels needed
    mean = np.average(cr.credal.size(cr.Ensemble(probs)), weights=weights)
    assert means["size"].value == pytest.approx(mean, rel=1e-12)
    counts = cr.LabelCounts(np.random.default_rng(1).multinomial(4, np.full(K, 1 / K), size=N))
    means = cr.credal.mean_over(cr.scan(probs, counts, chunk_rows=50), cr.credal.distance)
    values = cr.credal.distance(cr.Ensemble(probs), counts)
    assert means["distance"].value == pytest.approx(values.mean(), rel=1e-12)


def test_infinite_distances_are_counted() -> None:
    probs = np.tile([[1.0, 0.0]], (40, 1))
    mean = cr.credal.mean_over(cr.scan(probs, np.arange(40) % 4 // 3, chunk_rows=7), cr.credal.distance)
    estimate = mean["distance"]
    assert estimate.value == np.inf
    assert estimate.stderr is None
    assert estimate.interval_refusal == "the mean is infinite"
    assert "10 of 40 instances have an infinite value" in estimate.notes


def test_functions_of_users_and_closed_forms_of_a_dirichlet(data) -> None:
    probs, labels = data
    mean = cr.credal.mean_over(cr.scan(probs, labels), lambda predictions: predictions.probs.max(axis=(1, 2)))
    assert mean["<lambda>"].value == pytest.approx(probs.max(axis=(1, 2)).mean(), rel=1e-12)
    dirichlet = cr.Dirichlet(1.0 + probs)
    scan = cr.scan(dirichlet, labels, chunk_rows=90)
    mean = cr.credal.mean_over(scan, cr.uncertainty)
    assert mean["uncertainty.epistemic"].value == pytest.approx(
        cr.uncertainty(dirichlet).epistemic.mean(), rel=1e-12
    )
    for measure in (cr.credal.distance, partial(cr.uncertainty, decomposition="credal")):
        with pytest.raises(
            UnsupportedError, match=r"Dirichlet.*how the rows are split.*pass or scan the Ensemble"
        ):
            cr.credal.mean_over(scan, measure)


def test_tensors_give_the_same_means(data) -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs, labels = data
    ensemble = cr.Ensemble(torch.from_numpy(probs))
    measures = {"u": cr.uncertainty, "d": cr.credal.distance}
    mean = cr.credal.mean_over(cr.scan(ensemble, torch.from_numpy(labels), chunk_rows=90), measures)
    whole = cr.credal.mean_over(cr.scan(probs, labels), measures)
    for name, estimate in whole.items():
        assert mean[name].value == pytest.approx(estimate.value, rel=1e-12)
        assert mean[name].stderr == pytest.approx(estimate.stderr, rel=1e-9)


def test_what_is_no_measure_is_refused(data) -> None:
    probs, labels = data
    scan = cr.scan(probs, labels)
    with pytest.raises(InputError, match=r"'upper_probability' must return one number.*shape \(400, 3\)"):
        cr.credal.mean_over(scan, cr.credal.upper_probability)
    with pytest.raises(InputError, match="got float"):
        cr.credal.mean_over(scan, {"size": lambda given: 1.0})
    with pytest.raises(InputTypeError, match="'size' must be a function"):
        cr.credal.mean_over(scan, {"size": 3})
    with pytest.raises(InputTypeError, match=r"'str' must be a function.*got 'uncertainty'"):
        cr.credal.mean_over(scan, "uncertainty")
    with pytest.raises(InputError, match=r"distinct names.*'u.total' is there twice"):
        cr.credal.mean_over(scan, {"u": cr.uncertainty, "u.total": cr.credal.size})
    with pytest.raises(InputError, match=r"'odd' must return numbers.*row 7 has nan \(1 such rows"):
        cr.credal.mean_over(scan, {"odd": lambda given: np.where(np.arange(len(given)) == 7, np.nan, 1.0)})
    with pytest.raises(InputTypeError, match="`labels` must hold numbers; got NoneType"):
        cr.credal.mean_over(probs, cr.credal.distance)
    with pytest.raises(InputError, match="positive sum; all are 0"):
        cr.credal.mean_over(probs, cr.credal.size, sample_weight=np.zeros(N))
    with pytest.raises(InputError, match="come with the chunks"):
        cr.credal.mean_over(scan, cr.credal.size, labels)
    with pytest.raises(InputTypeError, match=r"rows in chunks.*mean_over"):
        cr.credal.size(scan)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_clusters_leave_each_out_once(data, weighted: bool) -> None:
    """The same as of the statistic that is this mean, in chunks that split clusters, too."""
    probs, labels = data
    clusters = np.arange(N) // 7
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=N) if weighted else None
    mean = probs.mean(axis=1)

    def loss(given, labels) -> np.ndarray:
        from credibly.predictions import as_point

        return ((as_point(given)[0].probs - np.eye(3)[labels]) ** 2).sum(axis=1)

    expected = cr.brier(mean, labels, clusters=clusters, sample_weight=weights)
    together = {"clusters": clusters, "sample_weight": weights}
    for rows in ((probs, loss, labels), (cr.scan(probs, labels, chunk_rows=90, **together), loss)):
        extra = together if len(rows) == 3 else {}
        estimate = cr.credal.mean_over(*rows, **extra)["loss"]
        assert estimate.value == pytest.approx(expected.value)
        assert estimate.stderr == pytest.approx(expected.stderr)
        assert estimate.degrees_of_freedom == pytest.approx(expected.degrees_of_freedom)
