"""What users hold in Python, read as the same thing in a file would be."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import as_pair

N = 300
RNG = np.random.default_rng(7)
PROBS = RNG.dirichlet(np.full(3, 0.15), size=N)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
RIGHT = float((PROBS.argmax(axis=1) == LABELS).mean())
ORDER = RNG.permutation(N)
NAMES = np.array(["cat", "dog", "cow"])


def accuracy(*arguments: object, **settings: object) -> float:
    return float(cr.accuracy(*arguments, **settings))


def test_an_index_in_another_order_is_joined() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    index = [f"row {i}" for i in range(N)]
    frame = pandas.DataFrame(PROBS, index=index)
    labels = pandas.Series(LABELS, index=index).iloc[ORDER]
    by_position = float((PROBS.argmax(axis=1) == LABELS[ORDER]).mean())
    assert by_position < 0.5 < RIGHT  # what was computed before: three classes at random
    estimate = cr.accuracy(frame, labels)
    assert float(estimate) == RIGHT
    assert any("joined with the predictions by their index" in note for note in estimate.notes)
    weights = pandas.Series(np.arange(N, dtype=float), index=index).iloc[ORDER]
    groups = pandas.Series(LABELS, index=index).iloc[ORDER]
    weighted = float(np.average(PROBS.argmax(axis=1) == LABELS, weights=np.arange(N)))
    assert accuracy(frame, labels, sample_weight=weights) == pytest.approx(weighted)
    grouped = cr.evaluate(frame, labels, groups=groups, statistics=["accuracy"], tests=False).groups
    inside = float((PROBS.argmax(axis=1) == LABELS)[LABELS == 1].mean())
    assert grouped["1"]["accuracy"].value == pytest.approx(inside)
    with pytest.raises(cr.InputError, match="299 are in both, 1 only with the predictions, 1 only"):
        cr.accuracy(frame, pandas.Series(LABELS, index=["x", *index[1:]]))


def test_row_numbers_in_another_order_may_mean_two_things() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame, labels = pandas.DataFrame(PROBS), pandas.Series(LABELS)
    with pytest.raises(cr.InputError, match=r"By index: `labels.loc.*by position: `labels.to_numpy"):
        cr.log_loss(frame, labels.iloc[ORDER])
    drawn = pandas.Series(LABELS, index=1000 + ORDER)  # the test part of a larger table
    assert accuracy(frame, drawn) == RIGHT
    assert accuracy(frame.to_numpy(), labels) == RIGHT


def test_integer_columns_and_labelled_arrays_are_read() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    xarray = pytest.importorskip("xarray", reason="needs xarray")
    assert len(cr.load(pandas.DataFrame(PROBS))) == N
    assert accuracy(PROBS, xarray.DataArray(LABELS)) == RIGHT


def test_named_columns_match_names_numbers_and_categories() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame(PROBS, columns=NAMES)
    names = pandas.Series(NAMES[LABELS])
    for labels in (names, names.astype("category"), NAMES[LABELS], NAMES[LABELS].tolist()):
        assert accuracy(frame, labels) == RIGHT
    for columns in ([1, 2, 3], ["1", "2", "3"], ["class_1", "class_2", "class_3"]):
        assert accuracy(pandas.DataFrame(PROBS, columns=columns), LABELS + 1) == RIGHT
    with pytest.raises(cr.InputError, match=r"cat, dog, cow .order of the columns. or cat, cow, dog"):
        cr.accuracy(frame, LABELS)
    evaluation = cr.evaluate(frame, LABELS, classes=NAMES.tolist(), tests=False, statistics=["accuracy"])
    assert evaluation.estimates["accuracy"].value == RIGHT
    assert evaluation.classes == tuple(NAMES)
    assert cr.evaluate(frame, names, tests=False, statistics=["accuracy"]).classes == tuple(NAMES)


@pytest.mark.parametrize(
    "labels",
    [LABELS.astype(float), LABELS[:, None], np.eye(3)[LABELS], LABELS.astype(str), LABELS.tolist()],
    ids=["floats", "one column", "one-hot", "digits", "list"],
)
def test_labels_as_people_keep_them(labels: object) -> None:
    assert accuracy(PROBS, labels) == RIGHT


def test_binary_scores_are_the_probability_of_class_1() -> None:
    scores, labels = PROBS[:, 0] / PROBS[:, :2].sum(axis=1), (LABELS == 0).astype(int)
    both = cr.brier(np.stack([1 - scores, scores], axis=1), labels)
    for given in (scores, scores[:, None]):
        estimate = cr.brier(given, labels.astype(bool))
        assert float(estimate) == float(both)
        assert any("probability of class 1" in note for note in estimate.notes)
    with pytest.raises(cr.InputError, match="like logits or margins"):
        cr.brier(np.log(scores + 1e-9), labels)
    with pytest.raises(cr.InputError, match="like classes or labels"):
        cr.brier(labels, labels)


def test_brier_of_two_classes_says_that_it_is_the_sum() -> None:
    estimate = cr.brier([[0.75, 0.25]], [0])
    assert float(estimate) == 0.125  # .25^2 + .25^2; scikit-learn: .25^2
    assert any("twice scikit-learn's" in note for note in estimate.notes)
    assert not cr.brier([[0.5, 0.25, 0.25]], [0]).notes


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_names_of_features_and_classes_reach_the_report(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    members = 0.7 * PROBS[:, None] + 0.3 * RNG.dirichlet(np.ones(3), size=(N, 3))
    features = pandas.DataFrame(RNG.normal(size=(N, 2)), columns=["age", "weight"])
    evaluation = cr.evaluate(
        members, NAMES[LABELS], classes=NAMES, features=features, statistics=["brier"], n_resamples=19
    )
    assert evaluation.classes == tuple(NAMES)
    regions = evaluation.credal.regions
    assert regions.columns == ("age", "weight")
    assert any("age" in words or "weight" in words for words in regions.regions)
    page = evaluation.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "cow" in page
    assert "feature 0" not in page
    table = {f"m{m}_p_{name}": members[:, m, c] for m in range(3) for c, name in enumerate(NAMES)}
    frame = pandas.DataFrame(table | {"x_age": features["age"], "x_weight": features["weight"]})
    assert cr.load(frame).feature_names == ("age", "weight")


def test_labels_tell_where_the_members_are() -> None:
    members = 0.7 * PROBS[None] + 0.3 * RNG.dirichlet(np.ones(3), size=(5, N))
    right = float((members.mean(axis=0).argmax(axis=1) == LABELS).mean())
    estimate = cr.accuracy(members, LABELS)
    assert float(estimate) == right
    assert any("axis 1 of shape (5, 300, 3) holds the instances" in note for note in estimate.notes)
    assert float(cr.accuracy(list(members), LABELS)) == right
    assert cr.Ensemble(list(members)).n_members == 5
    with pytest.raises(
        cr.InputError,
        match=r"far more members than instances.*`Ensemble\(probs, member_axis=0\)`.*`member_axis=1`",
    ):
        cr.Ensemble(members)
    torch = pytest.importorskip("torch", reason="needs torch")
    assert cr.Ensemble([torch.tensor(member) for member in members]).n_members == 5
    assert float(cr.accuracy(torch.tensor(members), torch.tensor(LABELS))) == right


def test_probabilities_are_no_logits() -> None:
    with pytest.raises(cr.InputError, match=r"must not be probabilities already.*`raw=True`"):
        cr.Point.from_logits(PROBS)
    with pytest.raises(cr.InputError, match="must not be probabilities already"):
        cr.Ensemble.from_logits(PROBS[:, None])
    twice = np.exp(PROBS) / np.exp(PROBS).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(cr.Point.from_logits(PROBS, raw=True).probs, twice)


def test_what_was_read_goes_into_every_function(tmp_path: Path) -> None:
    path = cr.save(tmp_path / "f.csv", cr.Point(PROBS), LABELS, classes=NAMES.tolist())
    data = cr.load(path)
    assert accuracy(data) == accuracy(path) == accuracy(str(path)) == RIGHT
    evaluation = cr.evaluate(path, tests=False, statistics=["accuracy"])
    assert evaluation.classes == tuple(NAMES)
    assert evaluation.source["path"] == str(path)
    fitted = cr.recalibrate.TemperatureScaling().fit(data)
    assert fitted.temperature == cr.recalibrate.TemperatureScaling().fit(PROBS, LABELS).temperature
    assert cr.calibration_test(data, rng=0, n_resamples=49).pvalue == (
        cr.calibration_test(PROBS, LABELS, rng=0, n_resamples=49).pvalue
    )
    predictions, labels = as_pair(data, None)
    assert (len(predictions), labels.tolist()) == (N, LABELS.tolist())
    with pytest.raises(cr.InputError, match="`labels` must be given"):
        cr.recalibrate.TemperatureScaling().fit(PROBS)


def test_models_are_compared_by_id_and_by_class_name(tmp_path: Path) -> None:
    noisy = 0.8 * PROBS + 0.2 / 3
    ids = [f"i{i}" for i in range(N)]
    first = cr.save(tmp_path / "a.npz", cr.Point(PROBS), LABELS, ids=ids, classes=NAMES.tolist())
    turned = noisy[ORDER][:, [2, 0, 1]]
    second = cr.save(
        tmp_path / "b.npz",
        cr.Point(turned),
        np.array([1, 2, 0])[LABELS[ORDER]],
        ids=np.array(ids)[ORDER],
        classes=NAMES[[2, 0, 1]].tolist(),
    )
    comparison = cr.compare({"a": cr.load(first), "b": cr.load(second)}, n_resamples=100)
    straight = cr.compare({"a": PROBS, "b": noisy}, LABELS, n_resamples=100)
    np.testing.assert_allclose(comparison.ranking.lines.distance, straight.ranking.lines.distance)
    assert comparison.estimates["b"]["accuracy"].value == straight.estimates["b"]["accuracy"].value
    other = cr.save(tmp_path / "c.npz", cr.Point(noisy), LABELS, ids=[f"j{i}" for i in range(N)])
    with pytest.raises(cr.InputError, match="0 are in both"):
        cr.compare({"a": cr.load(first), "c": cr.load(other)}, n_resamples=100)


@pytest.mark.parametrize(
    ("probs", "labels", "words"),
    [
        (PROBS[:, [1, 2, 0]], LABELS, "Check the order of the classes first"),
        (PROBS, np.roll(LABELS, 1), "Check the rows first.*labels 1 row later"),
        (PROBS, np.roll(LABELS, -2), "Check the rows first.*labels 2 rows earlier"),
        (PROBS, RNG.permutation(LABELS), None),
        (PROBS, LABELS, None),
        (np.full((N, 3), 1 / 3) + np.array([0.3, -0.1, -0.2]), LABELS, None),
    ],
)
def test_a_reading_that_would_explain_a_poor_accuracy_is_said_first(probs, labels, words) -> None:
    warnings = cr.evaluate(probs, labels, tests=False, statistics=["accuracy"]).warnings
    if words is None:
        assert not any("Check the" in warning for warning in warnings)
        return
    assert re.search(words, warnings[0])
    chunks = cr.evaluate(cr.scan(probs, labels, chunk_rows=64), tests=False, statistics=["accuracy"]).warnings
    assert chunks[0].split(":")[0] == warnings[0].split(":")[0]


# Values that are nothing: a sentence, never a raw error


@pytest.mark.parametrize(
    "call",
    [
        lambda: cr.skce(PROBS, LABELS, bandwidth=None),
        lambda: cr.kl_ce(PROBS, LABELS, clip=None),
        lambda: cr.kde_ce(PROBS, LABELS, p="2"),
        lambda: cr.evaluate(PROBS, LABELS, classes=3),
        lambda: cr.recalibrate.load(None),
        lambda: cr.scan(PROBS, LABELS, sample_weight=1.0),
        lambda: cr.credal.upper_entropy(cr.Ensemble(PROBS[:, None]), tolerance=1e-300),
        lambda: cr.credal.distance(cr.Ensemble(PROBS[:, None]), PROBS, tolerance=1e-16),
        lambda: cr.save("x.npz", cr.Point(PROBS), LABELS, classes=3),
    ],
)
def test_garbage_settings_are_named(call) -> None:
    with pytest.raises(cr.CrediblyError):
        call()


def test_numbers_of_numpy_are_numbers() -> None:
    assert float(cr.confidence_ece(PROBS, LABELS, p=np.int64(2))) == float(
        cr.confidence_ece(PROBS, LABELS, p=2)
    )


@pytest.mark.parametrize("size", [1e308, 1e-320])
def test_weights_of_any_size_are_shares(size: float) -> None:
    for statistic in (cr.log_loss, cr.confidence_ece):
        weighted = float(statistic(PROBS, LABELS, sample_weight=np.full(N, size)))
        assert weighted == pytest.approx(float(statistic(PROBS, LABELS)), rel=1e-9)


def test_a_pair_of_predictions_and_labels_is_no_array() -> None:
    with pytest.raises(cr.InputTypeError, match="must be a rectangular array"):
        cr.evaluate((np.full((4, 2), 0.5), np.zeros(4, dtype=int)))


def test_numpy_labels_of_tensors_and_tensors_as_labels_of_arrays() -> None:
    torch = pytest.importorskip("torch")
    probs, labels = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]), np.array([0, 1, 1])
    tensor = torch.tensor(probs, requires_grad=True)
    value = float(cr.log_loss(probs, labels))
    for given in (labels, labels.astype(np.uint8), labels.astype(bool), labels.astype(float), [0, 1, 1]):
        assert float(cr.log_loss(tensor, given)) == pytest.approx(value)
    assert float(cr.log_loss(probs, torch.tensor(labels))) == pytest.approx(value)
    gaussian = cr.Gaussian(torch.zeros(3), torch.ones(3))
    expected = float(cr.crps(cr.Gaussian(np.zeros(3), np.ones(3)), np.array([0.1, 0.2, -0.3])))
    assert float(cr.crps(gaussian, np.array([0.1, 0.2, -0.3]))) == pytest.approx(expected, rel=1e-6)


def test_two_levels_of_columns_are_one_name() -> None:
    pandas = pytest.importorskip("pandas")
    columns = pandas.MultiIndex.from_product([["probs"], ["cat", "dog"]])
    frame = pandas.DataFrame([[0.8, 0.2], [0.3, 0.7]], columns=columns)
    assert float(cr.accuracy(frame, ["cat", "dog"])) == 1.0
    assert cr.load(frame, labels=["cat", "dog"]).classes == ("cat", "dog")


def test_rows_named_by_several_keys_are_joined() -> None:
    pandas = pytest.importorskip("pandas")
    index = pandas.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["scene", "frame"])
    frame = pandas.DataFrame({"cat": [0.9, 0.1, 0.8], "dog": [0.1, 0.9, 0.2]}, index=index)
    labels = pandas.Series(["cat", "dog", "cat"], index=index).iloc[[2, 0, 1]]
    estimate = cr.accuracy(frame, labels)
    assert float(estimate) == 1.0
    assert any("joined with the predictions by their index" in note for note in estimate.notes)


def test_what_a_pipeline_returns_is_read_by_name() -> None:
    """Classes come sorted by score, in another order for every text."""
    given = [
        [{"label": "dog", "score": 0.7}, {"label": "cat", "score": 0.3}],
        [{"label": "cat", "score": 0.6}, {"label": "dog", "score": 0.4}],
    ]
    estimate = cr.brier(given, ["dog", "cat"])
    assert float(estimate) == pytest.approx((2 * 0.3**2 + 2 * 0.4**2) / 2)
    with pytest.raises(cr.InputError, match="must be class names"):
        cr.brier(given, [0, 1])
    with pytest.raises(cr.InputError, match="top_k=None"):
        cr.brier([given[0], [{"label": "cat", "score": 0.6}, {"label": "cow", "score": 0.4}]], ["dog", "cat"])


def test_scores_of_one_class_by_members() -> None:
    scores = np.array([[0.9, 0.7], [0.2, 0.4], [0.6, 0.6]])
    predictions = cr.as_predictions(scores[..., None])
    assert isinstance(predictions, cr.Ensemble)
    np.testing.assert_allclose(predictions.probs, np.stack([1 - scores, scores], axis=-1))
    with pytest.raises(cr.InvalidRowsError, match=r"(?s)One column per class.*One column per member"):
        cr.evaluate(scores, [1, 0, 1])


def test_confidence_is_not_taken_for_the_probability_of_class_1() -> None:
    confidence, labels = np.linspace(0.51, 0.99, 30), np.arange(30) % 2
    with pytest.raises(cr.InputError, match="look like the confidence in whatever class was predicted"):
        cr.evaluate(confidence, labels)
    assert float(cr.accuracy(confidence, np.ones(30, dtype=int))) == 1.0  # all of one class: it may be that
    confidence[3] = 0.2
    assert cr.accuracy(confidence, labels).n == 30
