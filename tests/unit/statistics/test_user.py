"""Functions of the user as statistics."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from optional import torch

PROBS = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])


def misses(predictions: cr.Point, labels: np.ndarray) -> float:
    return float((predictions.probs.argmax(axis=1) != labels).mean())


def misses_batched(predictions: cr.Point, labels: np.ndarray) -> np.ndarray:
    return (predictions.probs.argmax(axis=1)[None, :] != labels).mean(axis=1)


def test_scalar_and_batched_functions_agree_with_the_built_in_one() -> None:
    for function, batched in ((misses, False), (misses_batched, True)):
        estimate = cr.statistic(function, tail="two-sided", batched=batched, name="error")
        # predicted 0, 1, 1
        assert float(estimate(PROBS, [0, 0, 1])) == pytest.approx(1 / 3)
        test = cr.calibration_test(PROBS, [0, 0, 1], statistics=estimate, n_resamples=50, rng=0)
        built_in = cr.calibration_test(PROBS, [0, 0, 1], statistics="accuracy", n_resamples=50, rng=0)
        assert test.statistic_name == "error"
        assert test.tail == "two-sided"
        assert np.allclose(test.null_distribution, 1 - built_in.null_distribution)
        assert test.pvalue == built_in.pvalue


def test_torch_functions_get_tensors() -> None:
    def hits(predictions, labels):
        assert isinstance(labels, torch.Tensor)
        return (predictions.probs.argmax(dim=1) == labels).double().mean()

    estimate = cr.statistic(hits, tail="two-sided")
    assert float(estimate(torch.tensor(PROBS), torch.tensor([0, 0, 1]))) == pytest.approx(2 / 3)


def test_labels_are_wide_integers_so_that_arithmetic_does_not_wrap() -> None:
    lowest = cr.statistic(lambda predictions, labels: (labels - 1).min(), tail="greater")
    assert float(lowest(PROBS, np.array([0, 1, 1]))) == -1  # in bytes 0 - 1 is 255


def test_the_function_sees_the_whole_prediction() -> None:
    members = np.stack([PROBS, PROBS[:, ::-1], PROBS, PROBS], axis=1)
    count = cr.statistic(lambda predictions, labels: predictions.n_members, tail="greater")
    assert float(count(members, [0, 0, 1])) == 4


def test_real_observations_reach_the_function() -> None:
    bias = cr.statistic(lambda predictions, labels: (labels - predictions.mean).mean(), tail="two-sided")
    gaussian = cr.Gaussian([0.0, 1.0], [1.0, 1.0])
    assert float(bias(gaussian, [0.5, 2.5])) == pytest.approx(1.0)  # (0.5 + 1.5) / 2


@pytest.mark.parametrize(
    ("result", "evidence"),
    [
        (np.zeros(3), r"shape \(3,\)"),
        (np.zeros((1, 1)), r"shape \(1, 1\)"),
        (None, "got None"),
        ("a", "got 'a'"),
    ],
)
def test_a_scalar_function_must_return_one_number(result: object, evidence: str) -> None:
    estimate = cr.statistic(lambda predictions, labels: result, tail="greater", name="own")
    with pytest.raises(cr.InputError, match=f"`own` must return one number per label vector; .*{evidence}"):
        estimate(PROBS, [0, 0, 1])


@pytest.mark.parametrize("result", [np.zeros(2), np.zeros((1, 1)), 0.5, [0.5]])
def test_a_batched_function_must_return_one_value_per_vector(result: object) -> None:
    estimate = cr.statistic(lambda predictions, labels: result, tail="greater", batched=True)
    with pytest.raises(cr.InputError, match=r"must return one value per label vector, shape \(1,\)"):
        estimate(PROBS, [0, 0, 1])


def test_nan_has_no_rank() -> None:
    estimate = cr.statistic(lambda predictions, labels: float("nan"), tail="greater", name="own")
    with pytest.raises(cr.UnsupportedError, match=r"`own` must give a number .* got NaN for 10 of 10"):
        cr.calibration_test(PROBS, [0, 0, 1], statistics=estimate, n_resamples=9)


def test_weights_and_counts_are_refused() -> None:
    estimate = cr.statistic(misses, tail="greater")
    with pytest.raises(cr.InputError, match="`misses` takes plain labels only"):
        estimate(PROBS, [0, 0, 1], sample_weight=[1.0, 1.0, 2.0])
    with pytest.raises(cr.UnsupportedError, match="got counts"):
        estimate(PROBS, cr.LabelCounts(np.ones((3, 2), dtype=int)))


def test_declarations_are_checked() -> None:
    with pytest.raises(cr.InputTypeError, match="`function` must be callable; got 3"):
        cr.statistic(3, tail="greater")
    with pytest.raises(cr.InputError, match="`tail` must be one of 'greater', 'two-sided'"):
        cr.statistic(misses, tail="less")


def test_no_interval() -> None:
    with pytest.raises(cr.UnsupportedError, match="no standard error is known"):
        cr.statistic(misses, tail="greater")(PROBS, [0, 0, 1]).interval()
