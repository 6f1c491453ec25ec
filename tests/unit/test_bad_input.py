"""Bad input to every public function of predictions and labels: one clear error, or one clear answer.

Never a wrong number, and never an exception that NumPy or torch raised on the way: every refusal must be one
of the library's own errors, raised with a subject, a rule, the evidence and a remedy.

Each bad input is a test of its own once, for `brier`; every function is one test, which goes through the
same inputs in a loop and must refuse each in the same words. So a broken rule fails under its name, and a
function that skips the checks under its own; the suite need not collect the product of the two.
"""

from __future__ import annotations

import datetime as dt
import fractions
import math
import re

import array_api_strict
import numpy as np
import pytest

import credibly as cr
from kinds import CLASS_STATISTICS

PROBS = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
LABELS = np.array([0, 1, 1, 0])
MEMBERS = np.stack([PROBS] * 3, axis=1)  # (4, 3, 2)


def changed(row, column, value, dtype=np.float64):
    probs = PROBS.astype(dtype)
    probs[row, column] = value
    return probs


def a_test(predictions, labels, **settings):
    return cr.calibration_test(predictions, labels, **{"n_resamples": 9, "rng": 0, **settings})


def an_omnibus_test(predictions, labels, **settings):
    return a_test(predictions, labels, statistics=("brier", "confidence_ece"), **settings)


def a_curve(predictions, labels, **settings):
    return cr.reliability_curve(predictions, labels, **{"n_resamples": 9, "rng": 0, **settings})


def an_evaluation(predictions, labels, **settings):
    return cr.evaluate(predictions, labels, **{"tests": False, **settings})


def a_user_statistic(predictions, labels, **settings):
    mean_label = cr.statistic(
        lambda own, observed: float(observed.sum()), tail="two-sided", name="mean_label"
    )
    return mean_label(predictions, labels, **settings)


STATISTICS = [cr.statistics.registered()[name] for name in CLASS_STATISTICS]
FUNCTIONS = [
    *STATISTICS,
    cr.decompose_brier,
    a_test,
    an_omnibus_test,
    a_curve,
    an_evaluation,
    a_user_statistic,
]
every = pytest.mark.parametrize(
    "function", FUNCTIONS, ids=[getattr(one, "name", None) or one.__name__ for one in FUNCTIONS]
)


def value_of(result):
    """The numbers of any result, to compare two calls."""
    if isinstance(result, cr.results.Estimate):
        return result.value
    if isinstance(result, cr.results.HypotestResult):
        return [result.statistic, result.pvalue]
    if isinstance(result, cr.statistics.BrierDecomposition):
        return [result.loss.value, result.calibration.value, result.refinement.value]
    if isinstance(result, cr.results.ReliabilityCurve):
        return [*result.predicted[result.weight > 0], *result.observed[result.weight > 0]]
    return {name: estimate["value"] for name, estimate in result.to_dict()["estimates"].items()}


# -- predictions

BAD_PREDICTIONS = {
    "NaN": (changed(1, 0, math.nan), r"must be finite; row 1 holds nan \(1 of 4 rows\)"),
    "inf": (changed(1, 0, math.inf), "must be finite; row 1 holds inf"),
    "both infinities": (np.array([[math.inf, -math.inf]] * 4), "must be finite"),
    "negative": (changed(3, 1, -0.1), r"must not be negative; row 3 holds -0\.1.*from_logits"),
    "sum 0.5": (PROBS / 2, r"rows must sum to 1 .*row 0 sums to 0\.5 \(4 of 4 rows"),
    "sum 10": (PROBS * 10.001, r"row 0 sums to 10\.001.*from_scores"),
    "logits": (np.array([[2.0, -1.5]] * 4), "look like logits: use `Point.from_logits`"),
    "positive logits": (np.array([[2.0, 1.5]] * 4), r"row 0 sums to 3\.5"),
    "counts": (np.array([[3, 2]] * 4), "look like counts: use `LabelCounts`"),
    "float32 off by 1e-5": (changed(0, 0, 0.70001, np.float32), r"row 0 sums to 1\.00001"),
    "transposed": (PROBS.T, r"must"),
    "empty list": ([], r"got shape \(0,\)"),
    "no instances": (np.empty((0, 2)), "at least one instance"),
    "no classes": (np.empty((4, 0)), "at least one instance"),
    "one class": (np.ones((4, 1)), "as the softmax of a single column always is"),
    "number": (0.5, r"got shape \(\)"),
    "0-d": (np.array(0.5), r"got shape \(\)"),
    "four axes": (np.full((4, 1, 1, 2), 0.5), r"got shape \(4, 1, 1, 2\)"),
    "objects": (PROBS.astype(object), "must hold numbers; got ndarray with dtype object"),
    "strings": (PROBS.astype(str), "must hold numbers"),
    "a file name": ("probs.npy", "there is no such file"),
    "None": (None, "must hold numbers; got NoneType"),
    "a dictionary": ({"probs": PROBS}, "must hold numbers; got dict"),
    "a generator": ((row for row in PROBS), "must hold numbers; got generator"),
    "a class": (cr.Point, "must hold numbers; got the class Point"),
    "complex": (PROBS.astype(complex), "must hold numbers; .*complex128"),
    "ragged": ([[0.5, 0.5], [1.0], [0.5, 0.5], [0.5, 0.5]], "rectangular array of numbers; got a ragged"),
    "masked": (np.ma.array(PROBS, mask=PROBS > 0.85), "must not be masked; row 3"),
    "dates": (np.full((4, 2), "2020-01-01", dtype="datetime64[D]"), "must hold numbers"),
    "as many members as instances": (np.stack([PROBS] * 4), "as many members as instances"),
}


def assert_refused(words, function, *arguments):
    with pytest.raises(cr.CrediblyError, match=words) as caught:
        function(*arguments)
    error = caught.value
    assert all([error.subject, error.rule, error.evidence, error.remedy])


@pytest.mark.parametrize("case", BAD_PREDICTIONS)
def test_bad_predictions(case):
    predictions, words = BAD_PREDICTIONS[case]
    assert_refused(words, cr.brier, predictions, LABELS)


@every
def test_every_function_refuses_bad_predictions(function):
    for predictions, words in BAD_PREDICTIONS.values():
        assert_refused(words, function, predictions, LABELS)


# -- labels

BAD_LABELS = {
    "label K": ([0, 1, 2, 0], r"must lie between 0 and 1 for 2 classes; row 2 is 2 \(1 of 4 rows\)"),
    "label -1": ([0, 1, -1, 0], "row 2 is -1"),
    "starting at 1": ([1, 2, 2, 1], "start at 1: subtract 1"),
    "fractions of floats": (LABELS + 0.5, "look like real observations"),
    "NaN": (np.array([0, 1, math.nan, 0]), "must be present; row 2 is nan"),
    "a row": (LABELS[None, :], r"got shape \(1, 4\)"),
    "too short": (LABELS[:3], r"one entry per prediction \(4\); got 3"),
    "too long": (np.tile(LABELS, 2), r"one entry per prediction \(4\); got 8"),
    "empty": ([], r"one entry per prediction \(4\); got 0"),
    "a number": (1, r"must have shape \(n,\)"),
    "strings": (["cat", "dog", "cat", "dog"], "if the classes have no names"),
    "bytes": ([b"0", b"1", b"0", b"1"], "map class names to indices"),
    "one string": ("0110", "must hold numbers; got str"),
    "None": (None, "must hold numbers; got NoneType"),
    "a None inside": ([0, None, 1, 0], "must be present; row 1 is nan"),
    "whole numbers beyond 64 bits": ([10**30, 0, 1, 0], "must be class indices"),
    "fractions": ([fractions.Fraction(1, 2)] * 4, "must be class indices"),
    "complex": (LABELS.astype(complex), "must hold numbers"),
    "a dictionary": ({"y": LABELS}, "must hold numbers; got dict"),
    "a generator": ((label for label in LABELS), "must hold numbers; got generator"),
    "a set": ({0, 1}, "must hold numbers; got set"),
    "ragged": ([[0], [1, 1], [0], [1]], "ragged"),
    "masked": (np.ma.array(LABELS, mask=[0, 1, 0, 0]), "must not be masked; row 1"),
    "dates": ([dt.date(2020, 1, 1)] * 4, "must hold numbers"),
    "the largest uint64": (np.array([2**64 - 1, 0, 1, 0], dtype=np.uint64), "stored as unsigned"),
    "predictions": (cr.Point(PROBS), "must be what was observed; got Point"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels(case):
    labels, words = BAD_LABELS[case]
    assert_refused(words, cr.brier, PROBS, labels)


@every
def test_every_function_refuses_bad_labels(function):
    for labels, words in BAD_LABELS.values():
        assert_refused(words, function, PROBS, labels)


SWAPPED = {
    "arrays": (LABELS, PROBS),
    "lists": (LABELS.tolist(), PROBS.tolist()),
    "members": (LABELS.astype(np.uint8), MEMBERS),
    "a Point": (LABELS, cr.Point(PROBS)),
    "counts": (cr.LabelCounts(np.eye(2, dtype=int)[LABELS]), PROBS),
}


@every
def test_swapped_arguments(function):
    for swapped in SWAPPED.values():
        with pytest.raises(cr.InputTypeError, match=r"Swap them: `f\(predictions, labels\)`"):
            function(*swapped)


@every
def test_regression_predictions(function):
    if function in (a_user_statistic, an_evaluation):
        return  # a user's function decides for itself; an evaluation runs what regression allows
    if function in (a_test, cr.skce):
        return  # which takes real values as well
    with pytest.raises(cr.InputTypeError, match="Gaussian"):
        function(cr.Gaussian(np.zeros(4), np.ones(4)), LABELS)


# -- mixed libraries and devices


@every
def test_mixed_libraries(function):
    """Labels go where the predictions are."""
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    assert value_of(function(PROBS, torch.tensor(LABELS))) == value_of(function(PROBS, LABELS))
    values = torch.tensor(PROBS)
    if function is not a_user_statistic:  # a user's function is written for one library
        assert value_of(function(values, LABELS)) == value_of(function(values, torch.tensor(LABELS)))


@every
def test_mixed_devices(function):
    far = array_api_strict.asarray(PROBS, device=array_api_strict.Device("device1"))
    with pytest.raises(cr.InputTypeError, match="must be on one device"):
        function(far, array_api_strict.asarray(LABELS))


@every
def test_tensors_without_values(function):
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    for empty in (torch.tensor(PROBS).to_sparse(), torch.tensor(PROBS, device="meta")):
        with pytest.raises(cr.InputTypeError, match="must be a dense tensor with values"):
            function(empty, torch.tensor(LABELS))


# -- unusual and right: the same answer as the usual form


def as_frame(values):
    return pytest.importorskip("pandas", reason="needs pandas").DataFrame(values)


def as_series(values):
    return pytest.importorskip("pandas", reason="needs pandas").Series(values)


def read_only(values):
    values = values.copy()
    values.setflags(write=False)
    return values


GOOD_PREDICTIONS = {
    "lists": PROBS.tolist(),
    "tuples": tuple(map(tuple, PROBS)),
    "list of arrays": list(PROBS),
    "Fortran order": np.asfortranarray(PROBS),
    "strided": np.repeat(PROBS, 2, axis=0)[::2],
    "reversed twice": PROBS[::-1].copy()[::-1],
    "read-only": read_only(PROBS),
    "big-endian": PROBS.astype(">f8"),
    "masked, nothing masked": np.ma.array(PROBS),
    "a Point": cr.Point(PROBS),
}
GOOD_LABELS = {
    "lists": LABELS.tolist(),
    "tuples": tuple(LABELS),
    "uint8": LABELS.astype(np.uint8),
    "int8": LABELS.astype(np.int8),
    "uint64": LABELS.astype(np.uint64),
    "booleans": LABELS.astype(bool),
    "big-endian": LABELS.astype(">i4"),
    "strided": np.repeat(LABELS, 3)[::3],
    "read-only": read_only(LABELS),
    "numpy integers in a list": list(LABELS),
    "masked, nothing masked": np.ma.array(LABELS),
}


@every
def test_unusual_predictions(function):
    usual = value_of(function(PROBS, LABELS))
    assert {
        case: value_of(function(given, LABELS)) for case, given in GOOD_PREDICTIONS.items()
    } == dict.fromkeys(GOOD_PREDICTIONS, usual)


@every
def test_unusual_labels(function):
    usual = value_of(function(PROBS, LABELS))
    assert {case: value_of(function(PROBS, given)) for case, given in GOOD_LABELS.items()} == dict.fromkeys(
        GOOD_LABELS, usual
    )


@every
def test_tables(function):
    assert value_of(function(as_frame(PROBS), as_series(LABELS))) == value_of(function(PROBS, LABELS))


@every
def test_whole_probabilities(function):
    certain = np.eye(2)[LABELS]
    for dtype in (int, np.uint8, bool):
        assert value_of(function(certain.astype(dtype), LABELS)) == value_of(function(certain, LABELS))


@every
def test_one_instance_and_one_class_in_the_labels(function):
    # the number of classes comes from the predictions, never from the labels
    traits = getattr(function, "traits", None)
    if traits is not None and traits.reduction in ("pairwise", "smoother"):
        with pytest.raises(cr.InputError, match="compares pairs of instances; got 1 instance"):
            function([[0.5, 0.5]], [1])
        results = [function(PROBS, [0, 0, 0, 0])]
    else:
        results = [function([[0.5, 0.5]], [1]), function(PROBS, [0, 0, 0, 0])]
    for result in results:
        values = value_of(result)
        values = list(values.values()) if isinstance(values, dict) else values
        if getattr(function, "name", "").endswith("_skill"):
            assert values == -np.inf  # a constant prediction of the one class has no loss to save
        else:
            assert np.isfinite(values).all()


@every
def test_tensors_in_a_graph(function):
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    usual = function(torch.tensor(PROBS), torch.tensor(LABELS))
    in_graph = function(torch.tensor(PROBS, requires_grad=True), torch.tensor(LABELS))
    assert value_of(in_graph) == value_of(usual)


@every
def test_members_of_one_are_the_point(function):
    expected = value_of(function(PROBS, LABELS))
    assert value_of(function(PROBS[:, None, :], LABELS)) == pytest.approx(expected)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: one.name)
def test_noise_is_accepted_and_noted(statistic):
    noisy = np.array([[1 + 1e-6, 0.0], [0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    clean = np.array([[1.0, 0.0], [0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    result = statistic(noisy, LABELS)
    assert "`probs` rows sum to 1 within 1.0e-06; they are used unchanged" in result.notes
    # an entry of 1 + 1e-6 is no sign of logits: the value moves by no more than the noise
    assert result.value == pytest.approx(statistic(clean, LABELS).value, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: one.name)
def test_other_precisions(statistic):
    dyadic = np.array([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5], [0.875, 0.125]])  # exact in every precision
    expected = statistic(dyadic, LABELS)
    for dtype in (np.float16, np.float32, np.longdouble):
        estimate = statistic(dyadic.astype(dtype), LABELS)
        assert estimate.value == pytest.approx(expected.value, rel=1e-12), dtype
        assert estimate.notes == expected.notes


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: one.name)
def test_many_classes(statistic):
    k, labels = 300, np.array([0, 299, 5, 260])
    probs = np.random.default_rng(0).dirichlet(np.full(k, 0.5), size=4)
    probs[[0, 1], labels[:2]] += 0.5  # the predicted class is the label twice
    probs /= probs.sum(axis=1, keepdims=True)
    # the same with other names of the classes, all of which fit into a byte; of ordered ones in reverse
    order = np.r_[labels, np.setdiff1d(np.arange(k), labels)]
    renamed = (probs[:, order], np.arange(4))
    if statistic.traits.ordered:
        renamed = (probs[:, ::-1], k - 1 - labels)
    assert statistic(probs, labels).value == pytest.approx(statistic(*renamed).value, rel=1e-9)
    with pytest.raises(cr.InputError, match=r"must lie between 0 and 299 for 300 classes; row 1 is 300"):
        statistic(probs, [0, k, 5, 1])


# -- names and settings


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("confidence_ec", "Did you mean 'confidence_ece'?"),
        ("Brier", "Did you mean 'brier'?"),
        ("log-loss", "Did you mean 'log_loss'?"),
        ("zzz", "Known names: accuracy, augrc, brier,"),
        ("", "Known names"),
        (("brier", "log_los"), "Did you mean 'log_loss'?"),
        (("brier", "brier"), "must be distinct"),
        ([], "must name at least one"),
        (5, "must be a statistic or a name; got 5"),
        (np.mean, r"must declare its tail.*cr\.statistic\(function, tail="),
    ],
)
def test_wrong_statistics(name, words):
    with pytest.raises(cr.CrediblyError, match=words.replace("?", r"\?")):
        a_test(PROBS, LABELS, statistics=name)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_bin": 3}, "`confidence_ece` takes only its own settings; got 'n_bin'. Did you mean 'n_bins'?"),
        ({"bins": 3}, "Did you mean 'n_bins'?"),
        ({"n_bins": 0}, "`n_bins` must be a positive integer; got 0"),
        ({"n_bins": 2.5}, "`n_bins` must be a positive integer"),
        ({"n_bins": "3"}, "`n_bins` must be a positive integer"),
        ({"n_bins": True}, "`n_bins` must be a positive integer"),
        ({"binning": "quantile"}, "`binning` must be one of"),
        ({"binning": "equal-width"}, "Did you mean 'equal_width'?"),
        ({"closed": "both"}, "`closed` must be one of"),
        ({"p": 0}, "`p` must be"),
        ({"p": "2"}, "`p` must be"),
        ({"p": None}, "`p` must be"),
        ({"p": math.nan}, "`p` must be"),
        ({"p": -math.inf}, "`p` must be"),
        ({"debiased": True}, "only for the squared error"),
        ({"sample_weights": [1, 1, 1, 1]}, "takes only its own settings; got 'sample_weights'"),
        ({"sample_weight": [1, 1]}, "`sample_weight` must have one entry per prediction (4); got 2"),
        ({"sample_weight": [0, 0, 0, 0]}, "positive sum"),
        ({"sample_weight": [1, -1, 1, 1]}, "non-negative"),
        ({"sample_weight": [1, math.nan, 1, 1]}, "must be finite; row 1"),
    ],
)
def test_wrong_settings_of_a_statistic(settings, words):
    with pytest.raises(cr.CrediblyError, match=re.escape(words)):
        cr.confidence_ece(PROBS, LABELS, **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_resamples": 0}, "`n_resamples` must be a positive integer; got 0"),
        ({"n_resamples": 9.0}, "`n_resamples` must be a positive integer"),
        ({"n_resamples": 10**12}, "`n_resamples` must be at most 10000000; got 1000000000000"),
        ({"rng": -1}, "`rng` must be None, a non-negative int"),
        ({"rng": "seed"}, "`rng` must be None"),
        ({"rng": True}, "`rng` must be None"),
        ({"rng": 1.5}, "`rng` must be None"),
        ({"n_resample": 9}, "unexpected keyword argument 'n_resample'"),
    ],
)
def test_wrong_settings_of_a_test(settings, words):
    expected = TypeError if "keyword" in words else cr.CrediblyError
    with pytest.raises(expected, match=words):
        a_test(PROBS, LABELS, **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"target": 2}, '`target` must be "top_label" or a class from 0 to 1; got 2'),
        ({"target": -1}, "`target` must be"),
        ({"target": "top"}, "`target` must be"),
        ({"target": 1.0}, "`target` must be"),
        ({"level": 95}, "`level` must lie strictly between 0 and 1; got 95"),
        ({"level": "a"}, "`level` must lie strictly between 0 and 1"),
        ({"n_resamples": 0}, "`n_resamples` must be a positive integer"),
        ({"n_bins": 0}, "`n_bins` must be a positive integer"),
    ],
)
def test_wrong_settings_of_a_curve(settings, words):
    with pytest.raises(cr.CrediblyError, match=words):
        a_curve(PROBS, LABELS, **settings)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p, y: cr.confidence_ece(p, y, n_bins=10**9), "at most 10000"),
        (lambda p, y: cr.confidence_ece(p, y, p=2, debiased="no"), "`debiased` must be one of True, False"),
        (lambda p, y: cr.reliability_curve(p, y, target=True), "top_label"),
        (lambda p, y: cr.calibration_test(p, y, progress=3), "`progress` must be True, False or callable"),
    ],
)
def test_settings_of_the_wrong_kind_are_named(call, words):
    with pytest.raises(cr.CrediblyError, match=words):
        call([[0.5, 0.5], [0.2, 0.8]], [0, 1])
