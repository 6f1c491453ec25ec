"""What holds for every method: files, weights, counts, warnings, refusals; and parameters recovered."""

from __future__ import annotations

import functools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.recalibrate.affine import curvature, loss_and_gradient
from credibly.recalibrate.files import METHODS
from libraries import Library, read
from recalibrations import cases, draw, members, rated, world

CASES = cases()
needs_torch = {"neural alpha"}


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest):
    if request.param in needs_torch:
        pytest.importorskip("torch", reason="needs the torch extra")
    method, predictions, labels, features = CASES[request.param]
    return method.unfitted(), predictions, labels, features


@functools.cache
def fitted_to_all(name: str) -> cr.recalibrate.Recalibration:
    kind, predictions, labels, features = CASES[name]
    method = kind.unfitted()
    assert not method.is_fitted
    assert method.fit(predictions, labels, features=features) is method
    return method


@pytest.fixture
def fitted(case, request: pytest.FixtureRequest):
    """The case with its method fitted to all rows, once for all tests that only look at it."""
    return fitted_to_all(request.node.callspec.params["case"]), *case[1:]


def part(values, rows: slice):
    return None if values is None else values[rows]


def test_every_method_has_a_case() -> None:
    assert {method.method for method, *_ in CASES.values()} >= set(METHODS) - {"chain"}


@pytest.mark.slow
def test_fit_converges(fitted) -> None:
    method, predictions, _, _ = fitted
    assert method.convergence.converged
    assert method.convergence.loss_after <= method.convergence.loss_before + 1e-12
    classes = getattr(predictions, "n_classes", None)
    assert (method.n, method.n_classes) == (400, classes)


@pytest.mark.slow
def test_a_saved_one_gives_the_same_bits(fitted, tmp_path: Path) -> None:
    method, predictions, _, features = fitted
    assert method.is_fitted
    path = method.save(tmp_path / "method.json")
    again = cr.recalibrate.load(path)
    assert type(again) is type(method)
    assert again.to_dict() == method.to_dict()
    assert json.loads(path.read_text()) == method.to_dict()
    first, second = (
        one.apply(predictions[300:], features=part(features, slice(300, 400))) for one in (method, again)
    )
    for name in first.row_fields:
        assert np.array_equal(getattr(first, name), getattr(second, name))


def test_it_speaks_scikit_learn() -> None:
    predictions, labels = CASES["temperature"][1:3]
    method = cr.recalibrate.TemperatureScaling().fit(predictions[:300], labels[:300])
    applied = method.apply(predictions[300:])
    transformed = method.transform(predictions[300:])
    assert type(transformed) is type(applied)
    probs = method.predict_proba(predictions[300:])
    assert isinstance(probs, np.ndarray)
    assert probs.shape == (100, 3)
    assert np.array_equal(probs, applied.mean().probs)


def test_the_fit_data_are_recognised_by_their_hash(fitted) -> None:
    method, predictions, _, features = fitted
    with pytest.warns(UserWarning, match="applied to the predictions it was fitted on"):
        same = method.apply(predictions, features=features)
    assert any("fitted on; measurements on them" in note for note in same.notes)
    other = method.apply(predictions[1:], features=part(features, slice(1, 400)))
    assert not any("fitted on; measurements on them" in note for note in other.notes)
    assert any("fitted on 400 instances" in note for note in other.notes)


def test_nothing_is_applied_before_the_fit(case) -> None:
    method, predictions, _, features = case
    with pytest.raises(cr.InputError, match="must be fitted first"):
        method.apply(predictions, features=features)
    with pytest.raises(cr.InputError, match="must be fitted first"):
        method.to_dict()


@pytest.mark.parametrize(
    "case",
    [name for name, case in CASES.items() if isinstance(case[1], cr.predictions.ClassPredictions)],
    indirect=True,
)
def test_the_number_of_classes_is_that_of_the_fit(fitted) -> None:
    method, predictions, _, features = fitted
    other = np.full((4, 5), 0.2)
    given = cr.Ensemble(np.stack([other] * 3), member_axis=0) if predictions.n_members > 1 else other
    with pytest.raises(cr.InputError, match=f"{predictions.n_classes} classes of the fit; got 5"):
        method.apply(given, features=part(features, slice(0, 4)))


def takes_weights(method: cr.recalibrate.Recalibration) -> bool:
    """A network is trained on a random part, folds are drawn of what is listed, the credal test has none."""
    drawn = getattr(method, "head", None) == "neural" or getattr(method, "penalty", None) == "cv"
    return not drawn and method.method != "credal"


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [name for name, (method, *_) in CASES.items() if takes_weights(method)], indirect=True
)
def test_weights_equal_repeated_instances(case) -> None:
    method, predictions, labels, features = case
    rows = np.arange(400)
    weight = np.random.default_rng(2).integers(0, 3, size=400)
    again = np.repeat(rows, weight)
    kept = None if features is None else features[again]
    weighted = method.unfitted().fit(
        predictions, labels, features=features, sample_weight=weight.astype(float)
    )
    repeated = method.unfitted().fit(predictions[again], labels[again], features=kept)
    new = predictions[:5]
    first = weighted.apply(new, features=part(features, slice(0, 5)))
    second = repeated.apply(new, features=part(features, slice(0, 5)))
    for name in first.row_fields:
        assert np.allclose(getattr(first, name), getattr(second, name), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "method",
    [
        cr.recalibrate.TemperatureScaling(),
        cr.recalibrate.VectorScaling(penalty=0.1),
        cr.recalibrate.MatrixScaling(penalty=0.1),
    ],
)
def test_counts_equal_repeated_labels(method: cr.recalibrate.Recalibration) -> None:
    probs, counts = rated(60)
    fitted = method.unfitted().fit(probs, cr.LabelCounts(counts))
    rows, labels = [], []
    for i, row in enumerate(counts):
        for label, times in enumerate(row):
            rows += [i] * times
            labels += [label] * times
    listed = method.unfitted().fit(probs[rows], labels)
    assert np.allclose(fitted.apply(probs[:7]).probs, listed.apply(probs[:7]).probs, atol=1e-7)


def test_member_temperatures_of_counts_equal_repeated_labels() -> None:
    logits, _ = members(60)
    ensemble = cr.Ensemble.from_logits(logits)
    rng = np.random.default_rng(1)
    counts = np.stack([np.bincount(draw(ensemble.mean().probs, rng)[[i]], minlength=3) for i in range(60)])
    counts += rng.multinomial(2, ensemble.mean().probs)
    rows, labels = np.nonzero(counts)
    again = np.repeat(rows, counts[rows, labels])
    temperatures = cr.recalibrate.MemberTemperatures().fit(ensemble, cr.LabelCounts(counts)).temperatures
    listed = cr.recalibrate.MemberTemperatures().fit(ensemble[again], np.repeat(labels, counts[rows, labels]))
    assert np.allclose(temperatures, listed.temperatures, rtol=1e-4)


def test_vector_scaling_recovers_its_parameters() -> None:
    probs, labels = world(20_000, k=3, seed=4)
    weights, intercepts = np.array([0.5, 1.0, 2.0]), np.array([0.5, -0.5, 0.0])
    biased = cr.Point.from_logits((np.log(probs) - intercepts) / weights)
    scaling = cr.recalibrate.VectorScaling(penalty=0.0).fit(biased, labels)
    # D21 eq. 45: the map acts on the logits that were given, so it undoes exactly what was done to them
    assert np.allclose(scaling.weights, weights, atol=0.1)
    assert np.allclose(scaling.intercepts - scaling.intercepts.mean(), intercepts, atol=0.1)
    assert np.abs(scaling.apply(biased[:500]).probs - probs[:500]).mean() < 0.01


@pytest.mark.parametrize("weight_penalty", [0.0, 0.3])
@pytest.mark.parametrize("kind", [cr.recalibrate.VectorScaling, cr.recalibrate.MatrixScaling])
def test_penalties_are_those_of_d21(kind, weight_penalty: float) -> None:
    """D21 eq. 46-48, written out: loss per label, plus both penalties, is least at the fit."""
    rng = np.random.default_rng(2)
    logits, labels = rng.normal([0.5, 0.0, 0.0], size=(120, 3)), rng.integers(0, 3, size=120)
    scaling = kind(penalty=0.7, weight_penalty=weight_penalty).fit(cr.Point.from_logits(logits), labels)

    def printed(weights: np.ndarray, b: np.ndarray) -> float:
        u = logits * weights + b if weights.ndim == 1 else logits @ weights.T + b
        losses = np.log(np.exp(u).sum(axis=1)) - u[np.arange(120), labels]
        if weights.ndim == 1:
            omega = weight_penalty * sum((v - 1) ** 2 for v in weights) / 3
        else:
            omega = weight_penalty * sum(weights[c, d] ** 2 for c in range(3) for d in range(3) if c != d) / 6
        return losses.mean() + omega + 0.7 * sum(v**2 for v in b) / 3

    least = printed(scaling.weights, scaling.intercepts)
    for _ in range(40):
        moved = scaling.weights + 0.01 * rng.normal(size=scaling.weights.shape)
        assert printed(moved, scaling.intercepts + 0.01 * rng.normal(size=3)) > least


def test_members_share_the_map_of_their_own_losses() -> None:
    """One map, fitted as if every member were an instance of its own with its share of the labels."""
    logits, labels = members(200)
    flat = cr.Point.from_logits(logits.reshape(-1, 3))
    for kind in (cr.recalibrate.VectorScaling, cr.recalibrate.MatrixScaling):
        fitted = kind(penalty=0.1).fit(cr.Ensemble.from_logits(logits), labels)
        listed = kind(penalty=0.1).fit(flat, np.repeat(labels, 3))
        assert np.allclose(fitted.weights, listed.weights, atol=1e-6)
        after = fitted.apply(cr.Ensemble.from_logits(logits[1:]))
        assert np.allclose(after.probs.reshape(-1, 3), listed.apply(flat[3:]).probs, atol=1e-6)
    last = cr.recalibrate.VectorScaling(penalty=0.1).fit(
        cr.Ensemble.from_logits(logits, weights=[0.0, 0.0, 1.0]), labels
    )
    alone = cr.recalibrate.VectorScaling(penalty=0.1).fit(cr.Point.from_logits(logits[:, 2]), labels)
    assert np.allclose(last.weights, alone.weights, atol=1e-6)
    dirichlets = cr.Dirichlet(4 * cr.Ensemble.from_logits(logits).probs)
    made = cr.recalibrate.VectorScaling(penalty=0.1).fit(dirichlets, labels).apply(dirichlets[1:])
    assert np.allclose(made.alpha.sum(axis=-1), 4)  # only the means move


def test_the_notes_say_where_there_were_no_logits() -> None:
    probs, labels = world(60)
    scaling = cr.recalibrate.VectorScaling(penalty=0.1).fit(probs, labels)
    assert "acts on log-probabilities" in scaling.apply(probs[1:]).notes[-1]
    logits = cr.Point.from_logits(np.log(probs[1:]) + 3.0)
    assert "log-probabilities" not in scaling.apply(logits).notes[-1]
    # log-probabilities are logits too; others differ from them by a constant, which the weights multiply
    assert np.abs(scaling.apply(logits).probs - scaling.apply(probs[1:]).probs).max() > 1e-3


def test_matrix_scaling_recovers_its_parameters() -> None:
    rng = np.random.default_rng(6)
    given = rng.dirichlet(np.ones(3), size=30_000)
    matrix = np.array([[1.5, 0.3, 0.0], [0.0, 0.8, 0.2], [-0.3, 0.0, 1.2]])
    truth = cr.Point.from_logits(np.log(given) @ matrix.T + [0.3, 0.0, -0.3]).probs
    scaling = cr.recalibrate.MatrixScaling(penalty=0.0).fit(given, draw(truth, rng))
    # rows of W are known up to a common vector, which no probability shows
    centred = scaling.weights - scaling.weights.mean(axis=0)
    assert np.allclose(centred, matrix - matrix.mean(axis=0), atol=0.08)
    assert np.allclose(scaling.intercepts - scaling.intercepts.mean(), [0.3, 0.0, -0.3], atol=0.08)


@pytest.mark.parametrize("unit", [0.01, 1000.0])
def test_member_temperatures_follow_the_unit_of_the_logits(unit: float) -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=(300, 4))
    labels = draw(probs.mean(axis=1), rng)
    plain, other = (
        cr.recalibrate.MemberTemperatures()
        .fit(cr.Ensemble.from_logits(scale * np.log(probs)), labels)
        .temperatures
        for scale in (1.0, unit)
    )
    np.testing.assert_allclose(other / unit, plain, rtol=1e-3)


def test_member_temperatures_are_recovered() -> None:
    logits, labels = members(20_000, m=2, seed=7)
    temperatures = np.array([3.0, 0.5])
    scaling = cr.recalibrate.MemberTemperatures().fit(
        cr.Ensemble.from_logits(logits * temperatures[None, :, None]), labels
    )
    assert np.allclose(scaling.temperatures, temperatures, rtol=0.12)


@pytest.mark.parametrize("matrix", [False, True])
def test_gradient_and_hessian_of_affine_maps(matrix: bool) -> None:
    rng = np.random.default_rng(0)
    z, counts = np.log(rng.dirichlet(np.ones(3), size=9)), rng.integers(0, 4, size=(9, 3)).astype(float)
    shape = (3, 3) if matrix else (3,)
    at = rng.normal(size=int(np.prod(shape)) + 3)

    def split(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return values[:-3].reshape(shape), values[-3:]

    def gradient(values: np.ndarray) -> np.ndarray:
        return np.concatenate([one.ravel() for one in loss_and_gradient(z, counts, *split(values))[1:]])

    steps = 1e-6 * np.eye(at.size)
    losses = [[loss_and_gradient(z, counts, *split(at + s * d))[0] for s in (1, -1)] for d in steps]
    assert np.allclose(gradient(at), [(a - b) / 2e-6 for a, b in losses], atol=1e-8)
    slopes = np.array([(gradient(at + d) - gradient(at - d)) / 2e-6 for d in steps])
    assert np.allclose(curvature(z, counts, *split(at)), slopes, atol=1e-7)


@pytest.mark.parametrize(
    "method", [cr.recalibrate.VectorScaling(penalty=0.0), cr.recalibrate.MatrixScaling(penalty=0.1)]
)
def test_separable_data_diverge_and_are_refused(method: cr.recalibrate.Recalibration) -> None:
    probs, _ = world(200)
    with pytest.raises(cr.UnsupportedError, match="the classes can be separated"):
        method.fit(probs, probs.argmax(axis=1))


def test_data_without_any_loss_diverge_too() -> None:
    sure = np.eye(2)[[0, 1] * 10]  # the loss is 0 at once: no step would be taken
    with pytest.raises(cr.UnsupportedError, match="the classes can be separated"):
        cr.recalibrate.MatrixScaling(penalty=0.1).fit(sure, [0, 1] * 10)


def test_a_saturated_loss_is_left_to_the_other_optimiser() -> None:
    """All curvature is gone where every label has the logit -744; Newton steps would go anywhere."""
    sure, labels = np.eye(2)[[0, 1] * 10], np.array([1, 0] * 10)
    with pytest.warns(UserWarning, match="stored as 0"):
        scaling = cr.recalibrate.VectorScaling(penalty=0.1, weight_penalty=0.1).fit(sure, labels)
    assert scaling.convergence.loss_after < scaling.convergence.loss_before
    assert scaling.convergence.gradient < 1e-5
    with (
        pytest.warns(UserWarning, match="stored as 0"),
        pytest.raises(cr.UnsupportedError, match="the classes can be separated"),
    ):
        cr.recalibrate.MatrixScaling(penalty=0.1).fit(sure, labels)


def test_an_absent_class() -> None:
    probs, _ = world(300)
    labels = draw(probs[:, :2] / probs[:, :2].sum(axis=1, keepdims=True), np.random.default_rng(1))
    assert cr.recalibrate.TemperatureScaling().fit(probs, labels).temperature > 1
    scaling = cr.recalibrate.VectorScaling(penalty=0.1, weight_penalty=0.1).fit(
        probs, labels
    )  # holds every weight
    assert scaling.convergence.converged
    assert scaling.apply(probs[1:]).probs[:, 2].mean() < probs[:, 2].mean() / 2
    for method in (cr.recalibrate.MatrixScaling(penalty=0.1), cr.recalibrate.VectorScaling(penalty=0.1)):
        with pytest.raises(cr.UnsupportedError, match="no label is of class 2"):
            method.fit(probs, labels)


def test_many_classes_take_the_other_optimiser() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(24), size=600)  # 24 * 25 = 600 parameters: L-BFGS
    labels = draw(probs, rng)
    scaling = cr.recalibrate.MatrixScaling(penalty=1.0).fit(probs, labels)
    assert scaling.convergence.converged
    assert "Newton" not in scaling.convergence.message
    with pytest.raises(cr.UnsupportedError, match="diverges"):
        cr.recalibrate.MatrixScaling(penalty=0.0).fit(probs, probs.argmax(axis=1))


def test_penalties_are_chosen_by_held_out_loss() -> None:
    probs, labels = world(150, k=4)
    noisy = cr.Point.from_logits(np.log(probs) + np.random.default_rng(1).normal(size=probs.shape))
    scaling = cr.recalibrate.MatrixScaling(penalties=(1e-4, 0.1, 10.0)).fit(noisy, labels)
    assert scaling.cv_losses.shape == (9,)  # D21: a grid of 3 x 3
    best = divmod(int(np.argmin(scaling.cv_losses)), 3)
    chosen = (scaling.chosen_penalty, scaling.chosen_weight_penalty)
    assert chosen == tuple((1e-4, 0.1, 10.0)[at] for at in best)
    assert scaling.chosen_weight_penalty > 1e-4  # 20 parameters for 150 labels
    fixed = cr.recalibrate.MatrixScaling(penalty=1.0, weight_penalty=10.0).fit(noisy, labels)  # D21's choice
    assert fixed.cv_losses is None
    assert np.abs(fixed.weights - np.diag(np.diag(fixed.weights))).max() < 0.05
    split = cr.recalibrate.MatrixScaling(penalties=(1e-4, 0.1, 10.0), folds="split").fit(noisy, labels)
    assert split.cv_losses.max() < scaling.cv_losses.max()  # one fifth of the labels is held out


def test_a_member_that_says_nothing_is_named(tmp_path: Path) -> None:
    logits, labels = members(400, m=2)
    logits[:, 1] = -logits[:, 0]  # its best temperature is infinite
    with pytest.warns(UserWarning, match="1 of 2 members end at a limit .* still increasing: 1"):
        scaling = cr.recalibrate.MemberTemperatures().fit(cr.Ensemble.from_logits(logits), labels)
    assert scaling.at_limits.tolist() == [1]
    assert "1 of 2 members at a limit" in scaling.apply(cr.Ensemble.from_logits(logits[1:])).notes[-1]
    with pytest.warns(UserWarning, match="0.5 to 2"):
        fitted = cr.recalibrate.MemberTemperatures(limits=(0.5, 2)).fit(
            cr.Ensemble.from_logits(logits), labels
        )
    assert fitted.temperatures[1] == pytest.approx(2.0)
    again = cr.recalibrate.load(fitted.save(tmp_path / "held.json"))
    assert again.limits == (0.5, 2.0)
    near = cr.recalibrate.MemberTemperatures(penalty=1.0).fit(cr.Ensemble.from_logits(logits), labels)
    assert not near.at_limits.size
    logs = np.log(near.temperatures)
    assert np.ptp(logs) < np.ptp(np.log(fitted.temperatures))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "of_two_starts"), [(3, 1.604787), (5, 1.642557)])
def test_member_temperatures_try_several_starts(seed: int, of_two_starts: float) -> None:
    """From the shared temperature and from those of members alone, L-BFGS-B ends higher in these worlds."""
    rng = np.random.default_rng(seed)
    base = 1.5 * rng.normal(size=(600, 1, 10))
    logits = (base + 1.2 * rng.normal(size=(600, 20, 10))) * np.exp(0.5 * rng.normal(size=(1, 20, 1)))
    truth = np.exp(base[:, 0]) / np.exp(base[:, 0]).sum(axis=1, keepdims=True)
    labels = (rng.random((600, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some members end at a limit
        fitted = cr.recalibrate.MemberTemperatures().fit(cr.Ensemble.from_logits(logits), labels)
    assert fitted.convergence.loss_after < of_two_starts - 5e-4


def test_temperatures_of_many_members() -> None:
    """P21 App. G.1: 50 members, 10 classes (and 2000 images); some members end at tau -> 0."""
    rng = np.random.default_rng(0)
    centre = 3 * rng.normal(size=(600, 1, 10))
    labels = draw(cr.Point.from_logits(0.9 * centre[:, 0]).probs, rng)
    ensemble = cr.Ensemble.from_logits(centre + 1.5 * rng.normal(size=(600, 50, 10)))
    with pytest.warns(UserWarning, match="of 50 members end at a limit"):
        scaling = cr.recalibrate.MemberTemperatures(limits=(0.1, 10.0)).fit(ensemble, labels)
    assert scaling.convergence.converged
    assert scaling.convergence.loss_after < scaling.convergence.loss_before


def test_apply_keeps_the_library(library: Library) -> None:
    probs, labels = world(60)
    for method in (cr.recalibrate.VectorScaling(penalty=0.1), cr.recalibrate.MatrixScaling(penalty=0.1)):
        method.fit(cr.Point(library.asarray(probs)), library.asarray(labels))
        after = method.apply(cr.Point(library.asarray(probs[1:])))
        assert library.owns(after.probs)
        same = method.unfitted().fit(probs, labels).apply(probs[1:])
        assert np.allclose(read(after.probs), same.probs, atol=1e-12)
    logits, own = members(400)
    method = cr.recalibrate.MemberTemperatures().fit(
        cr.Ensemble.from_logits(library.asarray(logits)), library.asarray(own)
    )
    after = method.apply(cr.Ensemble.from_logits(library.asarray(logits[1:])))
    assert library.owns(after.probs)
    assert after.probs.shape == (399, 3, 3)


def test_steps_of_a_chain_see_what_the_one_before_made() -> None:
    probs, counts = rated()
    histogram = cr.LabelCounts(counts)
    chain = cr.recalibrate.TemperatureScaling().then(cr.recalibrate.AlphaCalibration()).fit(probs, histogram)
    first = cr.recalibrate.TemperatureScaling().fit(probs, histogram)
    assert chain.steps[0].temperature == first.temperature
    with pytest.warns(UserWarning, match="fitted on"):
        middle = first.apply(probs)
    second = cr.recalibrate.AlphaCalibration().fit(middle, histogram)
    assert np.allclose(chain.apply(probs[1:]).alpha, second.apply(first.apply(probs[1:])).alpha)
    first_of_chain = cr.recalibrate.TemperatureScaling()
    first_of_chain.then(cr.recalibrate.AlphaCalibration()).fit(probs, histogram)
    assert not first_of_chain.is_fitted  # what is given stays as it was
    longer = chain.then(cr.recalibrate.TemperatureScaling())
    assert [step.method for step in longer.steps] == ["temperature", "alpha", "temperature"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: cr.recalibrate.VectorScaling(penalty=-1.0), "`penalty` must be a number of at least 0"),
        (lambda: cr.recalibrate.VectorScaling(penalties=()), "`penalty`"),
        (
            lambda: cr.recalibrate.MatrixScaling(weight_penalty=-1.0),
            "`weight_penalty` must be a number of at least 0",
        ),
        (lambda: cr.recalibrate.MatrixScaling(rng=np.random.default_rng(0)), "`rng` must be an integer"),
        (lambda: cr.recalibrate.MemberTemperatures(limits=(2, 1)), "`limits` must be two increasing"),
        (lambda: cr.recalibrate.MemberTemperatures(penalty="cv"), "`penalty` must be a number"),
        (lambda: cr.recalibrate.CredalRecalibration(rng="x"), "`rng` must be an integer"),
        (lambda: cr.recalibrate.AlphaCalibration(rng=-1), "`rng` must be an integer"),
        (lambda: cr.recalibrate.MatrixScaling(folds=1), "`folds` must be an integer of at least 2"),
        (lambda: cr.recalibrate.AlphaCalibration(head="cubic"), "`head` must be one of"),
        (lambda: cr.recalibrate.AlphaCalibration(hidden=(0,)), "`hidden` must be an integer of at least 1"),
        (lambda: cr.recalibrate.AlphaCalibration(hidden="16"), "`hidden` must be a tuple"),
        (lambda: cr.recalibrate.TemperatureScaling().then("alpha"), "`steps` must be recalibrations"),
        (lambda: cr.recalibrate.Chain(()), "`steps` must contain at least one"),
        (lambda: cr.recalibrate.Chain(("temperature",)), "`steps` must be recalibrations"),
    ],
)
def test_settings_are_checked_at_once(make, said: str) -> None:
    with pytest.raises(cr.CrediblyError, match=said):
        make()


@pytest.mark.parametrize(
    ("method", "predictions", "said"),
    [
        (
            cr.recalibrate.MemberTemperatures(),
            cr.Point(np.full((4, 2), 0.5)),
            "Ensemble predictions; got Point",
        ),
        (
            cr.recalibrate.TemperatureScaling(),
            cr.Intervals([[0.1, 0.2]] * 4, [[0.8, 0.9]] * 4),
            r"predictions.mean\(\)",
        ),
        (
            cr.recalibrate.TemperatureScaling(),
            cr.Gaussian([0.0] * 4, [1.0] * 4),
            "class predictions; got Gaussian",
        ),
        (
            cr.recalibrate.VectorScaling(),
            cr.Point.from_logits([[0.0, -np.inf], [0.0, 1.0], [1.0, 0.0], [0.0, 0.1]]),
            "needs finite logits",
        ),
    ],
)
def test_kinds_that_a_method_does_not_know(method, predictions, said: str) -> None:
    with pytest.raises(cr.CrediblyError, match=said):
        method.fit(predictions, [0, 1, 0, 0])


def test_bad_input() -> None:
    probs, labels = world(10)
    with pytest.raises(cr.InputError, match="uses no features"):
        cr.recalibrate.TemperatureScaling().fit(probs, labels, features=np.ones((10, 1)))
    with pytest.raises(cr.InputError, match="must have one entry per prediction"):
        cr.recalibrate.TemperatureScaling().fit(probs, labels[:9])
    with pytest.raises(cr.InputTypeError, match="Swap them"):
        cr.recalibrate.TemperatureScaling().fit(labels, probs)
    with pytest.raises(cr.InputError, match="must be finite"):
        cr.recalibrate.TemperatureScaling().fit(np.full((2, 2), np.nan), [0, 1])
    with pytest.raises(cr.UnsupportedError, match="one instance"):
        cr.recalibrate.VectorScaling(penalty="cv").fit([[0.6, 0.4]], [1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "other"}, "format"),
        ({"version": 2}, "version 1"),
        ({"method": "temprature"}, "Did you mean 'temperature'"),
        ({"learned": {}}, "written by `save`"),
        ({"settings": {"unknown": 1}}, "written by `save`"),
        ({"n": None, "notes": None}, "written by `save`"),
        ({"n_classes": "3"}, "must be an integer"),
        ({"learned": {"temperature": -1.0}}, "a finite number above 0 as 'temperature'"),
        ({"learned": {"temperature": 0}}, "a finite number above 0 as 'temperature'"),
        ({"learned": {"temperature": float("nan")}}, "a finite number above 0"),
        ({"learned": {"temperature": "2"}}, "a finite number above 0"),
        ({"learned": {"temperature": None}}, "a finite number above 0"),
        ({"learned": {"temperature": [1.0, 2.0]}}, "a finite number above 0"),
    ],
)
def test_damaged_files_are_refused(change: dict, said: str, tmp_path: Path) -> None:
    probs, labels = world(20)
    record = cr.recalibrate.TemperatureScaling().fit(probs, labels).to_dict()
    path = tmp_path / "damaged.json"
    if change.get("learned"):
        change = {"learned": record["learned"] | change["learned"]}
    path.write_text(json.dumps(record | change))
    with pytest.raises(cr.FileError, match=said):
        cr.recalibrate.load(path)


def test_learned_numbers_of_files_are_checked(fitted, tmp_path: Path) -> None:
    record = json.loads(json.dumps(fitted[0].to_dict()))  # a copy, to be damaged
    first = record["settings"]["steps"][0] if record["method"] == "chain" else record
    name = next(name for name, value in first["learned"].items() if value is not None)
    path = tmp_path / "damaged.json"
    for wrong in (float("nan"), [[1.0]] * 7, None, "a"):
        first["learned"][name] = wrong
        path.write_text(json.dumps(record))
        with pytest.raises(cr.FileError):
            cr.recalibrate.load(path)


def test_no_file_and_no_object(tmp_path: Path) -> None:
    with pytest.raises(cr.FileError):
        cr.recalibrate.load(tmp_path / "none.json")
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(cr.FileError, match="must be a JSON object"):
        cr.recalibrate.load(tmp_path / "list.json")
    probs, labels = world(20)
    scaling = cr.recalibrate.TemperatureScaling().fit(probs, labels)
    scaling.save(tmp_path / "one.json")
    with pytest.raises(cr.FileError):
        scaling.save(tmp_path / "one.json")
    scaling.save(tmp_path / "one.json", overwrite=True)


def test_folds_inside_a_fit_keep_clusters_whole() -> None:
    from credibly.recalibrate.folds import fold_members

    ids = np.repeat(["a", "b", "c", "d", "e", "f", "g"], [5, 1, 9, 4, 6, 2, 3])
    parts = fold_members(30, 3, 0, ids)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(30))
    held = [set(ids[part]) for part in parts]
    assert sum(map(len, held)) == len(set.union(*held)) == 7
    assert len(fold_members(30, 5, 0, ids == "a")) == 2  # no more folds than clusters


@pytest.mark.parametrize("method", [cr.recalibrate.MatrixScaling, cr.recalibrate.VectorScaling])
def test_copies_of_rows_do_not_choose_the_penalty(method: type) -> None:
    """Every row five times: with the copies in other folds no penalty is too small; as clusters as before."""
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(40, 4))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = rng.integers(4, size=40)
    many = np.repeat(np.arange(40), 5)
    losses = {}
    for name, how in (("whole", {"clusters": many}), ("apart", {})):
        fitted = method(penalty="cv", folds=4, rng=0).fit(probs[many], labels[many], **how)
        losses[name] = fitted.cv_losses
    assert losses["whole"].min() > losses["apart"].min()
