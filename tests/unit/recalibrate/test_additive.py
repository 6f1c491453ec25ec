"""Bias, Platt and temperatures by group: parameters recovered, other packages, pooling, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

import credibly as cr
from credibly.recalibrate.fit_data import fit_data
from credibly.recalibrate.folds import cross_fitted, fold_members
from credibly.recalibrate.scores import scores_of
from recalibrations import draw, members, world

BIAS = np.array([1.0, 0.0, -0.5])


def biased(n: int = 4000, seed: int = 0) -> tuple[cr.Point, np.ndarray]:
    probs, labels = world(n, seed=seed)
    return cr.Point.from_logits(np.log(probs) + BIAS), labels


def event(n: int, slope: float = 1.0, intercept: float = 0.0, seed: int = 0) -> tuple[cr.Point, np.ndarray]:
    """Predictions whose logit is slope * truth + intercept, and labels."""
    rng = np.random.default_rng(seed)
    logit = 1.5 * rng.normal(size=n) - 1.0
    labels = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    return cr.Point.from_logits(np.column_stack([np.zeros(n), slope * logit + intercept])), labels


def test_the_bias_of_the_data_is_recovered() -> None:
    predictions, labels = biased()
    scaling = cr.recalibrate.BiasScaling().fit(predictions, labels)
    # the truth is log p + BIAS - BIAS, up to a constant
    assert np.allclose(scaling.intercepts - scaling.intercepts[1], -(BIAS - BIAS[1]), atol=0.15)
    assert scaling.slope == 1.0
    assert scaling.convergence.converged
    free = cr.recalibrate.BiasScaling(penalty=0.0001).fit(predictions, labels)
    with pytest.warns(UserWarning, match="fitted on"):
        mean = free.apply(predictions).probs.mean(axis=0)
    assert np.allclose(mean, np.bincount(labels) / 4000, atol=1e-6)  # what maximum likelihood equates


def test_it_is_the_penalised_optimum() -> None:
    predictions, labels = biased(300)
    z = log_softmax(predictions.logits, axis=1)

    def loss(theta: np.ndarray) -> float:
        logs = log_softmax((1 + theta[0]) * z + theta[1:], axis=1)
        return -logs[np.arange(300), labels].sum() + 0.5 * 0.5 * (theta[1:] ** 2).sum()

    best = minimize(loss, np.zeros(4), options={"gtol": 1e-6}).x
    scaling = cr.recalibrate.PlattScaling().fit(predictions, labels)
    assert np.allclose([scaling.slope - 1, *scaling.intercepts], best, atol=1e-4)
    assert scaling.convergence.loss_before == pytest.approx(float(cr.log_loss(predictions, labels)))
    with pytest.warns(UserWarning, match="fitted on"):
        after = scaling.apply(predictions)
    assert scaling.convergence.loss_after == pytest.approx(float(cr.log_loss(after, labels)), abs=1e-9)


def test_platt_is_logistic_regression_on_the_logit() -> None:
    linear = pytest.importorskip("sklearn.linear_model", reason="needs scikit-learn")
    predictions, labels = event(2000, 2.0, 1.5)
    x = predictions.logits[:, 1]
    other = linear.LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(x[:, None], labels)
    fitted = cr.recalibrate.PlattScaling().fit(predictions, labels)
    assert fitted.slope == pytest.approx(other.coef_[0, 0], abs=1e-6)
    assert fitted.intercepts.tolist() == [0.0, pytest.approx(other.intercept_[0], abs=1e-6)]


def test_the_sigmoid_of_scikit_learn_differs_by_its_smoothed_labels() -> None:
    calibration = pytest.importorskip("sklearn.calibration", reason="needs scikit-learn")
    predictions, labels = event(2000, 2.0, 1.5)
    other = calibration._SigmoidCalibration().fit(predictions.logits[:, 1], labels)
    # labels 0 and 1 replaced by 1 / (n0 + 2) and (n1 + 1) / (n1 + 2), as counts of both classes
    positive = np.bincount(labels)
    target = np.where(labels == 1, (positive[1] + 1) / (positive[1] + 2), 1 / (positive[0] + 2))
    rows = cr.Point.from_logits(np.repeat(predictions.logits, 2, axis=0))
    weight = np.column_stack([1 - target, target]).ravel()
    fitted = cr.recalibrate.PlattScaling().fit(rows, np.tile([0, 1], 2000), sample_weight=weight)
    assert (fitted.slope, fitted.intercepts[1]) == pytest.approx((-other.a_, -other.b_), abs=1e-4)
    plain = cr.recalibrate.PlattScaling().fit(predictions, labels)
    assert plain.slope == pytest.approx(-other.a_, abs=0.01)


def test_members_share_the_map_that_suits_their_mean() -> None:
    logits, labels = members(300)
    moved = logits + np.array([1.0, 0.0, 0.0])
    z = log_softmax(moved, axis=2)

    def loss(theta: np.ndarray) -> float:
        mean = logsumexp(log_softmax((1 + theta[0]) * z + theta[1:], axis=2), axis=1) - np.log(3)
        return -mean[np.arange(300), labels].sum() + 0.5 * 0.5 * (theta[1:] ** 2).sum()

    best = minimize(loss, np.zeros(4), options={"gtol": 1e-6}).x
    scaling = cr.recalibrate.PlattScaling().fit(cr.Ensemble.from_logits(moved), labels)
    assert np.allclose([scaling.slope - 1, *scaling.intercepts], best, atol=1e-3)


def test_counts_are_repeated_labels() -> None:
    probs, _ = world(100)
    rng = np.random.default_rng(4)
    counts = rng.multinomial(3, probs)
    groups = np.array(["a", "b"])[rng.integers(2, size=100)]
    row, label = np.repeat(np.argwhere(counts), counts[counts > 0], axis=0).T
    for method in (cr.recalibrate.BiasScaling(), cr.recalibrate.PlattScaling()):
        counted = method.unfitted().fit(probs, cr.LabelCounts(counts), groups=groups)
        listed = method.unfitted().fit(probs[row], label, groups=groups[row])
        assert np.allclose(counted.intercepts, listed.intercepts, atol=1e-5)
        assert np.allclose(counted.by_group["a"], listed.by_group["a"], atol=1e-5)


@pytest.mark.parametrize("kind", ["TemperatureScaling", "BiasScaling", "PlattScaling"])
def test_groups_are_pooled(kind: str, tmp_path: Path) -> None:
    """A large group has its own map, a small one is near that of all, an unseen one has it."""
    predictions, labels = event(6000)
    groups = np.array(["big"] * 3000 + ["rest"] * 2990 + ["tiny"] * 10)
    off = {"TemperatureScaling": (2.0, 0.0), "BiasScaling": (1.0, 1.5), "PlattScaling": (2.0, 1.5)}[kind]
    logit = predictions.logits[:, 1]
    logit = np.where(groups == "rest", logit, off[0] * logit + off[1])
    point = cr.Point.from_logits(np.column_stack([np.zeros(6000), logit]))
    method = getattr(cr.recalibrate, kind)().fit(point, labels, groups=groups)
    assert method.fitted_by_group
    wanted = np.array([0.0, 1.0])
    of_groups = [
        method.apply(cr.Point.from_logits(np.column_stack([np.zeros(2), wanted])), groups=[name] * 2)
        for name in ("big", "rest", "tiny", "unheard")
    ]
    big, rest, tiny, unheard = (np.diff(group.logits, axis=1)[:, 0] for group in of_groups)
    assert np.allclose(big, (wanted - off[1]) / off[0], atol=0.15)
    assert np.allclose(rest, wanted, atol=0.15)
    assert np.abs(tiny - unheard).max() < np.abs(big - unheard).max() + 0.3
    assert any(
        "2 instances of 1 group that the fit did not see (unheard)" in note for note in of_groups[3].notes
    )
    assert not any("did not see" in note for one in of_groups[:3] for note in one.notes)
    again = cr.recalibrate.load(method.save(tmp_path / "by_group.json"))
    assert again.to_dict() == method.to_dict()
    same = again.apply(point[1:], groups=groups[1:])
    assert np.array_equal(same.logits, method.apply(point[1:], groups=groups[1:]).logits)


@pytest.mark.parametrize("kind", ["TemperatureScaling", "BiasScaling", "PlattScaling"])
def test_only_what_groups_show_beyond_all_rows_is_theirs(kind: str) -> None:
    predictions, labels = biased(3000)
    groups = np.arange(3000) % 4  # nothing to do with the fault
    fitted = getattr(cr.recalibrate, kind)().fit(predictions, labels, groups=groups)
    ended = fitted.convergence
    assert ended.converged
    assert ended.loss_before == pytest.approx(float(cr.log_loss(predictions, labels)))
    with pytest.warns(UserWarning, match="fitted on"):
        after = fitted.apply(predictions, groups=groups)
    assert ended.loss_after == pytest.approx(float(cr.log_loss(after, labels)), abs=1e-8)
    if kind != "TemperatureScaling":
        added = np.array(list(fitted.by_group.values()))
        assert np.abs(added[:, 1:]).max() < 1e-5
        assert np.abs(added[:, 0]).max() < 0.2


def test_groups_must_be_given_as_in_the_fit() -> None:
    probs, labels = world(100)
    groups = np.arange(100) % 2
    for kind in ("TemperatureScaling", "BiasScaling", "PlattScaling"):
        plain = getattr(cr.recalibrate, kind)().fit(probs, labels)
        grouped = getattr(cr.recalibrate, kind)().fit(probs, labels, groups=groups)
        with pytest.raises(cr.InputError, match="must be given: the fit used some"):
            grouped.apply(probs[:5])
        with pytest.raises(cr.InputError, match="must be left out: the fit used none"):
            plain.apply(probs[:5], groups=groups[:5])
        with pytest.raises(cr.InputError, match="one entry per prediction"):
            grouped.apply(probs[:5], groups=groups[:4])
    with pytest.raises(cr.InputError, match=r"PlattScaling after it \(`VectorScaling\(\).then\(PlattScaling"):
        cr.recalibrate.VectorScaling().fit(probs, labels, groups=groups)
    with pytest.raises(cr.InputError, match="or PlattScaling instead, which take groups"):
        cr.recalibrate.VennAbers().fit(*event(100), groups=groups)


@pytest.mark.parametrize("kind", ["CurveScaling", "IsotonicRecalibration", "BetaScaling", "VectorScaling"])
def test_a_map_of_all_rows_with_a_step_by_group(kind: str) -> None:
    """Groups that are off by a bias each, on top of a curve: nearly all of the loss goes on fresh rows."""
    rng = np.random.default_rng(5)
    n = 12_000
    p, groups = rng.random(n), rng.integers(0, 3, n)
    bent = np.where(p > 0.6, 0.6 + 0.2 * (p - 0.6), p)
    logit = np.log(bent / (1 - bent)) + np.array([-0.8, 0.0, 0.8])[groups]
    truth = 1 / (1 + np.exp(-logit))
    labels = (rng.random(n) < truth).astype(int)
    given, right = (np.column_stack([1 - one, one]) for one in (p, truth))
    old, new = slice(0, n // 2), slice(n // 2, n)
    method = getattr(cr.recalibrate, kind)().then(cr.recalibrate.PlattScaling())
    made = method.fit(given[old], labels[old], groups=groups[old]).apply(given[new], groups=groups[new])
    before, after, best = (float(cr.log_loss(q, labels[new])) for q in (given[new], made, right[new]))
    assert before - after > 0.95 * (before - best)


def test_damaged_groups_are_refused() -> None:
    probs, labels = world(100)
    groups = np.arange(100) % 2
    for kind, name in (("TemperatureScaling", "temperatures"), ("PlattScaling", "by_group")):
        saved = getattr(cr.recalibrate, kind)().fit(probs, labels, groups=groups).to_dict()
        for wrong in ({"0": -1.0}, {"0": [1.0, 2.0]}, "groups"):
            saved["learned"][name] = wrong
            with pytest.raises(cr.InputError, match=f"per group as '{name}'"):
                type(getattr(cr.recalibrate, kind)())._from_dict(saved)


def test_only_classes_that_show_something_are_moved() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(40), size=3000)
    labels = draw(probs, rng)
    moved = np.log(probs)
    moved[:, 7] += 2.0
    scaling = cr.recalibrate.BiasScaling().fit(cr.Point.from_logits(moved), labels)
    assert scaling.intercepts[7] == pytest.approx(-2.0, abs=0.4)
    assert np.abs(np.delete(scaling.intercepts, 7)).max() < 0.5
    assert (np.abs(scaling.intercepts) < 1e-5).sum() >= 35


def test_fits_without_an_optimum_are_refused() -> None:
    probs = np.column_stack([np.linspace(0.9, 0.1, 50), np.linspace(0.1, 0.9, 50)])
    with pytest.raises(cr.UnsupportedError, match="the classes can be separated"):
        cr.recalibrate.PlattScaling().fit(probs, (probs[:, 1] > 0.5).astype(int))
    with pytest.raises(cr.UnsupportedError, match="no label is of class 1"):
        cr.recalibrate.BiasScaling().fit(probs, np.zeros(50, dtype=int))
    with pytest.raises(cr.UnsupportedError, match="needs finite logits"):
        cr.recalibrate.PlattScaling().fit(cr.Point.from_logits([[0.0, -np.inf], [0.0, 1.0]]), [0, 1])
    with pytest.raises(cr.InputError, match="`penalty` must be a number"):
        cr.recalibrate.BiasScaling(penalty=-1.0)


@pytest.mark.parametrize("decimals", [2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_stored_zero_is_half_of_the_last_decimal(decimals: int, dtype: type) -> None:
    step = 10.0**-decimals
    probs = np.array([[1.0, 0.0, 0.0], [1 - 3 * step, 3 * step, 0.0], [0.5, 0.25 + step, 0.25 - step]])
    with pytest.warns(UserWarning, match=f"stored as 0; it is read as {step / 2:.2g}"):
        data = fit_data(probs.astype(dtype), [1, 0, 0])
    assert data.scores.zero == pytest.approx(step / 2)
    assert np.exp(data.scores.values).sum(axis=1) == pytest.approx(1.0)
    assert np.exp(data.scores.values[0]) == pytest.approx(np.array([1, step / 2, step / 2]) / (1 + step))


@pytest.mark.parametrize("decimals", [2, 4])
def test_stored_zeros_are_the_mean_of_what_was_rounded_to_0(decimals: int) -> None:
    r = 10.0**-decimals
    probs = np.repeat([[1.0, 0.0], [1 - r, r], [0.5, 0.5]], [20, 40, 40], axis=0)
    # log(1 + 40 / 20) / log 3 = 1: even density below r / 2, whose mean is r / 4
    assert scores_of(cr.Point(probs)).zero == pytest.approx(r / 4)
    few = scores_of(cr.Point(probs[[*range(20), *range(20, 29), *range(60, 100)]]))  # 9 of them tell nothing
    assert few.zero == pytest.approx(r / 2)
    assert not few.is_rounded


def test_the_mean_of_rounded_zeros_is_near_that_of_the_numbers() -> None:
    p = np.random.default_rng(0).beta(0.35, 18, 20_000)
    rounded = scores_of(cr.Point(np.column_stack([1 - p, p]).round(3)))
    assert rounded.is_rounded
    assert rounded.zero == pytest.approx(p[p < 0.0005].mean(), rel=0.1)


def test_without_decimals_a_zero_is_half_of_the_least_number() -> None:
    third = np.array([[1 / 3, 2 / 3], [1.0, 0.0]])
    assert fit_data(third, [0, 0]).scores.zero == 1 / 6
    tiny = np.array([[1.0, 1e-45], [1.0, 0.0]], dtype=np.float32)  # the smallest number of its type
    assert fit_data(tiny, [0, 0]).scores.zero == pytest.approx(1.4e-45, rel=0.01)
    assert fit_data(np.array([[0.25, 0.75]]), [0]).scores.zero is None


def test_rounded_predictions_have_nearly_the_temperature_of_exact_ones() -> None:
    probs, labels = world(3000, k=10)
    sharp = probs**4 / (probs**4).sum(axis=1, keepdims=True)
    with pytest.warns(UserWarning, match="stored as 0"):
        rounded = cr.recalibrate.TemperatureScaling().fit(cr.Point.from_scores(sharp.round(4)), labels)
    assert 3.0 < rounded.temperature < 4.5  # 4 without rounding; hundreds if zeros are read as 5e-324
    applied = rounded.apply(cr.Point([[1.0] + [0.0] * 9]))  # zeros mean what they meant in the fit
    assert applied.logits[0, 1] == pytest.approx(
        np.log(rounded.zero / (1 + 9 * rounded.zero)) / rounded.temperature
    )


@pytest.mark.parametrize(
    "name", ["temperature", "bias", "platt", "curve", "beta", "vector", "noise", "order"]
)
def test_folds_that_start_at_the_whole_fit_end_where_others_do(name: str) -> None:
    predictions, labels = biased(600)
    groups = np.arange(600) % 3 if name in ("temperature", "bias", "platt") else None
    parts = fold_members(600, 4, 0)
    method = cr.recalibrate.files.named_recalibration(name)
    whole, moved = cross_fitted(method, predictions, labels, {"groups": groups}, parts)
    assert not method.is_fitted
    assert whole.n == 600
    for part in parts:
        kept = np.setdiff1d(np.arange(600), part)
        beside = {} if groups is None else {"groups": groups[kept]}
        alone = method.unfitted().fit(predictions[kept], labels[kept], **beside)
        beside = {} if groups is None else {"groups": groups[part]}
        assert np.allclose(alone.apply(predictions[part], **beside).probs, moved.probs[part], atol=2e-4)


def test_classes_with_names_are_called_by_them() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 9], size=300)
    shifted = probs[:, 1] / (probs[:, 1] + 4 * probs[:, 0])
    labels = (rng.random(300) < shifted).astype(int)
    repair = cr.recalibrate.BiasScaling().fit(probs, labels)
    assert "to the logit of class 1" in repair.describe()
    assert "to the logit of ok" in repair.in_words(["fraud", "ok"])
    assert repair.in_words(["0", "1"]) == repair.describe()
    headline = cr.evaluate(probs, labels, classes=["fraud", "ok"], rng=0).headline
    assert "to the logit of ok" in str(headline)
    chained = cr.recalibrate.BiasScaling().then(cr.recalibrate.TemperatureScaling()).fit(probs, labels)
    assert chained.in_words(["fraud", "ok"]).startswith("bias scaling, ")
    assert "logit of ok; then temperature" in chained.in_words(["fraud", "ok"])


def test_intercepts_of_both_signs_are_told() -> None:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([2, 2, 2], size=3000)
    labels = (rng.random((3000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    moved = cr.Point.from_logits(np.log(probs) + np.array([1.0, 0.0, -1.0]))
    words = cr.recalibrate.BiasScaling().fit(moved, labels).in_words(["low", "middle", "high"])
    assert "to the logit of low and +" in words or "to the logit of high and -" in words
    assert words.split("to that of ")[1] in ("low", "high")
    single = cr.Point.from_logits(
        np.log(probs) + np.array([1.5, 0.0, 0.0])
    )  # about -1, 0.5 and 0.5 around their mean
    assert " and " not in cr.recalibrate.BiasScaling().fit(single, labels).describe()
