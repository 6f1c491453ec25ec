"""An evaluation of rows in chunks is that of all rows at once: every number, p-value, verdict and note."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.errors import InputError, UnsupportedError
from same_numbers import differences

N, M, K = 150, 3, 4
RNG = np.random.default_rng(5)
PROBS = RNG.dirichlet(np.ones(K), size=(N, M))
MEAN = PROBS.mean(axis=1)
LABELS = (RNG.random((N, 1)) > MEAN.cumsum(axis=1)).sum(axis=1)
COUNTS = cr.LabelCounts(RNG.multinomial(5, np.full(K, 1 / K), size=N))
GROUPS = np.array(["b", "a", "c"])[RNG.integers(3, size=N)]
REALS = RNG.normal(size=N)
FEATURES = RNG.normal(size=(N, 2))

CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "point": (cr.Point(MEAN), LABELS, {"groups": GROUPS, "pairwise_rows": 70}),
    "ensemble": (cr.Ensemble(PROBS), LABELS, {"groups": GROUPS, "features": FEATURES, "pairwise_rows": 50}),
    "all pairs": (cr.Point(MEAN), LABELS, {"statistics": ["skce", "brier"]}),
    "raters": (cr.Ensemble(PROBS), COUNTS, {"tests": False}),
    "no tests": (cr.Ensemble(PROBS), LABELS, {"tests": False}),
    "dirichlet": (cr.Dirichlet(5 * PROBS[:60]), LABELS[:60], {"tests": False}),
    "intervals": (cr.Intervals(0.9 * MEAN, np.minimum(1.0, 0.9 * MEAN + 0.1)), LABELS, {"tests": False}),
    "gaussian": (
        cr.Gaussian(PROBS[:, :, 0], 0.5 + PROBS[:, :, 1]),
        REALS,
        {"groups": GROUPS, "statistics": ["crps", "picp"]},
    ),
    "quantiles": (
        cr.Quantiles(np.sort(PROBS[:, 0], axis=1), np.array([0.1, 0.4, 0.6, 0.9])),
        REALS,
        {"groups": GROUPS},
    ),
    "draws": (cr.Samples(RNG.normal(size=(N, 60))), REALS, {}),
}


@pytest.fixture(scope="module")
def case(request) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    predictions, labels, settings = CASES[request.param]
    whole = cr.evaluate(predictions, labels, n_resamples=19, rng=3, **settings)
    return predictions, labels, settings, whole.to_dict()


CUT = [
    pytest.param(
        name, chunks, marks=[pytest.mark.slow] if chunks == 30 or name in ("ensemble", "draws") else []
    )
    for name in CASES
    # how many chunks there are does not depend on what is in them, so two kinds are cut in several ways
    for chunks in {"point": (1, 7, 30), "quantiles": (1, 7)}.get(name, (7,))
]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "chunks"), CUT, indirect=["case"])
def test_every_number_is_that_of_all_rows(case, chunks) -> None:
    predictions, labels, settings, whole = case
    beside = {name: settings[name] for name in ("groups", "features") if name in settings}
    rest = {name: value for name, value in settings.items() if name not in beside}
    source = cr.scan(predictions, labels, chunk_rows=-(-len(predictions) // chunks), **beside)
    cut = cr.evaluate(source, n_resamples=19, rng=3, **rest)
    assert differences(whole, cut.to_dict()) == []


def test_a_random_part_is_the_same_in_any_chunks(monkeypatch) -> None:
    monkeypatch.setattr("credibly.evaluation.stages.MOST_ORDERED", 60)
    monkeypatch.setattr("credibly.evaluation.stages.MOST_ROWS", 30)
    whole = cr.evaluate(cr.Ensemble(PROBS), LABELS, tests=False)
    cut = cr.evaluate(cr.scan(PROBS, LABELS, chunk_rows=41), tests=False)
    assert whole.curves.risk_coverage["confidence"].n == 60
    assert whole.score.score.n == 30
    assert differences(whole.to_dict(), cut.to_dict()) == []
    assert any("60 of 150 instances, drawn at random" in note for note in cut.notes)


def test_what_needs_all_rows_in_memory_says_so() -> None:
    rows = cr.scan(PROBS, LABELS, chunk_rows=40)
    estimate = cr.statistic(lambda predictions, labels: 0.5, tail="greater", name="own")
    evaluation = cr.evaluate(rows, statistics=["brier", estimate], tests=False)
    assert list(evaluation.estimates) == ["brier"]
    assert "come in chunks" in dict(evaluation.not_run)["own"]
    with pytest.raises(UnsupportedError, match=r"own.*function of all predictions at once"):
        cr.calibration_test(rows, statistics=estimate)
    with pytest.raises(UnsupportedError, match="must be a sum over instances"):
        cr.predictive_check(rows, statistics=["skce"])


def test_recalibrations_of_few_rows_run_and_of_many_say_why_not(monkeypatch) -> None:
    rows = cr.scan(MEAN, LABELS, chunk_rows=40)
    settings = {"tests": False, "n_resamples": 99, "recalibrate": ["temperature"]}
    whole = cr.evaluate(MEAN, LABELS, **settings)
    assert differences(whole.to_dict(), cr.evaluate(rows, **settings).to_dict()) == []
    monkeypatch.setattr("credibly.evaluation.stages.MOST_FITTED", 60)
    assert "rows in memory" in dict(cr.evaluate(rows, **settings).not_run)["recalibration"]


def test_names_of_classes_come_with_the_files(tmp_path) -> None:
    for place, own in enumerate(np.array_split(np.arange(N), 2)):
        cr.save(tmp_path / f"{place}.npz", cr.Point(MEAN[own]), LABELS[own], classes=list("wxyz"))
    assert cr.evaluate(cr.scan(str(tmp_path / "*.npz")), tests=False).classes == ("w", "x", "y", "z")


def test_too_many_groups_are_left_out_of_the_check_as_well() -> None:
    groups = np.arange(N)
    gaussian = cr.Gaussian(PROBS[:, :, 0], PROBS[:, :, 1])
    settings = {"statistics": ["picp"], "n_resamples": 19}
    whole = cr.evaluate(gaussian, REALS, groups=groups, **settings)
    cut = cr.evaluate(cr.scan(gaussian, REALS, groups=groups, chunk_rows=40), **settings)
    assert differences(whole.to_dict(), cut.to_dict()) == []
    assert not cut.groups
    assert not cut.check.bayesian.groups


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda rows: cr.evaluate(rows, LABELS), InputError, "come with the chunks"),
        (lambda rows: cr.evaluate(rows, groups=GROUPS), InputError, "groups.*come with the chunks"),
        (lambda rows: cr.evaluate(rows, features=FEATURES), InputError, "features.*come with the chunks"),
        (lambda rows: cr.predictive_check(rows, LABELS), InputError, "come with the chunks"),
        (lambda rows: cr.predictive_check(rows, groups=GROUPS), InputError, "come with the chunks"),
        (
            lambda rows: cr.predictive_check(rows, n_resamples=9).power(),
            UnsupportedError,
            "in memory",
        ),
        (lambda rows: cr.evaluate(_weighted()), UnsupportedError, "counts every instance once"),
        (lambda rows: cr.predictive_check(_weighted()), UnsupportedError, "counts every instance once"),
        (lambda rows: cr.decompose_brier(_weighted()), UnsupportedError, "counts every instance once"),
        (lambda rows: cr.scan(PROBS, LABELS, groups=GROUPS[:-1]), InputError, "groups.*one entry per"),
        (lambda rows: cr.scan(PROBS, LABELS, features=LABELS), InputError, "features.*one entry per"),
    ],
)
def test_refused(call, error, said) -> None:
    with pytest.raises(error, match=said):
        call(cr.scan(PROBS, LABELS, chunk_rows=40))


def _weighted() -> Any:
    return cr.scan(PROBS, LABELS, sample_weight=np.ones(N))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 5])
def test_very_few_rows(n) -> None:
    whole = cr.evaluate(cr.Ensemble(PROBS[:n]), LABELS[:n], n_resamples=19)
    cut = cr.evaluate(cr.scan(cr.Ensemble(PROBS[:n]), LABELS[:n], chunk_rows=1), n_resamples=19)
    assert differences(whole.to_dict(), cut.to_dict()) == []


@pytest.mark.slow
def test_torch_tensors_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credibly.evaluation.set_tests.MOST_REFITS", 0)
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    arguments = cr.Ensemble(torch.as_tensor(PROBS)), torch.as_tensor(LABELS)
    settings = {"statistics": ["brier", "hosmer_lemeshow", "skce"], "n_resamples": 19, "pairwise_rows": 40}
    whole = cr.evaluate(*arguments, **settings)
    cut = cr.evaluate(cr.scan(*arguments, chunk_rows=40), **settings)
    assert differences(whole.to_dict(), cut.to_dict()) == []
