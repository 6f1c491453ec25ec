"""What every statistic promises, as functions that raise AssertionError where a promise is broken.

A check whose promise the statistic does not make (no gradient, no duplicate invariance) returns at once.
`CHECKS` maps the names; `SUBJECTS` holds every registered statistic in its default and in other settings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import torch

import credibly as cr
from credibly._arrays.namespace import to_host
from credibly.predictions import Classes, as_predictions
from credibly.statistics import Statistic

N, K, MEMBERS = 63, 4, 3
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "log_loss": [{"clip": 0.05}],
    "confidence_ece": [{"p": 2}, {"p": 2, "debiased": True}, {"binning": "equal_mass", "closed": "right"}],
    "classwise_ece": [{"n_bins": 70}, {"p": 2, "debiased": True}, {"binning": "equal_mass"}],
    "top_label_ece": [{"n_bins": 4}, {"p": 2, "debiased": True}, {"binning": "equal_mass"}],
    "hosmer_lemeshow": [{"grouping": "confidence", "n_bins": 3}, {"binning": "equal_width"}],
    "skce": [
        {"estimator": "biased"},
        {"kernel": "gaussian"},
        {"norm": "l1"},
        {"norm": "tv", "bandwidth": 0.3},
    ],
    "mmd_ce": [{"label_kernel": tuple(tuple(row) for row in 0.5 * np.eye(K) + 0.5)}],
    "kde_ce": [{"bandwidth": 0.02}, {"p": 1}, {"p": 3.5, "bandwidth": 0.1}],
    "kl_ce": [{"bandwidth": 0.02}, {"clip": 0.05}],
}
PAIRWISE = ("pairwise", "smoother")


def subjects() -> dict[str, Statistic]:
    """Return every registered statistic, and its variants with the settings in the name."""
    found = dict(cr.registered())
    for name, variants in VARIANTS.items():
        for settings in variants:
            words = " ".join(f"{key}={value}" for key, value in settings.items())
            found[f"{name} {words}"] = cr.registered()[name].with_(**settings)
    return found


def example(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities (n, K) without ties and labels that follow them only loosely."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(K, 0.8), size=n)
    labels = np.where(rng.random(n) < 0.7, probs.argmax(axis=1), rng.integers(0, K, size=n))
    return probs, labels


def close(first: Any, second: Any, what: str, tolerance: float = 1e-11) -> None:
    """Raise unless two values (or arrays of them) agree to rounding."""
    assert np.allclose(first, second, rtol=tolerance, atol=tolerance), f"{what}: {first} is not {second}"


def row_order(statistic: Statistic) -> None:
    """The order of the instances does not matter."""
    probs, labels = example()
    order = np.random.default_rng(1).permutation(N)
    close(float(statistic(probs[order], labels[order])), float(statistic(probs, labels)), "row order")


def class_relabelling(statistic: Statistic) -> None:
    """Renaming the classes, in predictions and labels alike, does not matter."""
    probs, labels = example()
    order = np.array([2, 0, 3, 1])  # new column j holds old class order[j]
    renamed = np.argsort(order)[labels]
    close(float(statistic(probs[:, order], renamed)), float(statistic(probs, labels)), "class relabelling")


def member_order(statistic: Statistic) -> None:
    """The order of the members of an ensemble does not matter."""
    members = np.stack([example(seed=seed)[0] for seed in range(MEMBERS)], axis=1)
    labels = example()[1]
    value = float(statistic(cr.Ensemble(members), labels))
    close(float(statistic(cr.Ensemble(members[:, [2, 0, 1]]), labels)), value, "member order")


def duplicated_data(statistic: Statistic) -> None:
    """Where declared, listing all data twice does not matter."""
    if not statistic.traits.duplicate_invariant:
        return
    for n in (N, 40, 7):
        probs, labels = example(n)
        twice = float(statistic(np.concatenate([probs, probs]), np.concatenate([labels, labels])))
        close(twice, float(statistic(probs, labels)), "duplicated data")


def multiplicities(statistic: Statistic) -> None:
    """Where declared, whole weights equal repeated rows, a weight of zero a missing row."""
    if not statistic.traits.multiplicities:
        return
    probs, labels = example()
    # a rule such as the median bandwidth is settled on the listed rows, whatever their weights
    statistic = statistic.bind(probs).statistic
    weights = np.arange(N) % 4
    repeated = float(statistic(probs.repeat(weights, axis=0), labels.repeat(weights)))
    close(float(statistic(probs, labels, sample_weight=weights)), repeated, "multiplicities")


def batch_equals_loop(statistic: Statistic) -> None:
    """A batch of label vectors gives what the vectors give one by one."""
    probs, _ = example()
    batch = np.random.default_rng(2).integers(0, K, size=(5, N))
    bound = statistic.bind(probs)
    together = bound(Classes(batch.astype(np.uint8), K))
    close(together, [float(statistic(probs, row)) for row in batch], "batch and loop")
    if statistic.traits.multiplicities:
        weights = np.random.default_rng(3).random((1, N))
        together = bound(Classes(batch.astype(np.uint8), K, weights))
        alone = [float(statistic(probs, row, sample_weight=weights[0])) for row in batch]
        close(together, alone, "weighted batch and loop")


def chunks_equal_whole(statistic: Statistic) -> None:
    """Plan all, bind chunks, add their states, finish: the same as the whole."""
    if statistic.traits.reduction == "opaque":
        return
    probs, _ = example()
    batch = np.random.default_rng(4).integers(0, K, size=(3, N)).astype(np.uint8)
    weights = np.random.default_rng(5).random((1, N)) if statistic.traits.multiplicities else None
    labels = Classes(batch, K, weights)
    predictions = as_predictions(probs)
    plan = statistic.plan(predictions)
    whole = statistic.bind(predictions)(labels)
    for count in (1, 2, 7):
        borders = np.linspace(0, N, count + 1).astype(int)
        total = None
        for start, stop in itertools.pairwise(borders):
            rows = slice(int(start), int(stop))
            if statistic.traits.reduction in PAIRWISE:  # a block of rows meets all rows
                bound = statistic.bind(predictions, plan)
                state = bound.state(labels, rows=rows)
            else:
                bound = statistic.bind(predictions[rows], plan)
                state = bound.state(labels.rows(rows))
            total = state if total is None else total + state
        close(bound.finish(total), whole, f"{count} chunks")


def same_on_torch(statistic: Statistic) -> None:
    """NumPy and torch give the same values, and torch stays torch."""
    probs, labels = example()
    given = torch.tensor(probs), torch.tensor(labels)
    close(float(statistic(*given)), float(statistic(probs, labels)), "torch")
    _same_batch(statistic, given[0], torch.tensor)


def same_on_strict(statistic: Statistic) -> None:
    """A strict array library gives the same values, also on its second device, which stays the device."""
    probs, labels = example()
    for name in ("CPU_DEVICE", "device1"):
        device = array_api_strict.Device(name)

        def move(array: np.ndarray, device: Any = device) -> Any:
            return array_api_strict.asarray(array, device=device)

        value = float(statistic(move(probs), move(labels)))
        close(value, float(statistic(probs, labels)), f"array_api_strict on {name}")
        _same_batch(statistic, move(probs), move)


def _same_batch(statistic: Statistic, probs: Any, move: Callable[[np.ndarray], Any]) -> None:
    batch = np.random.default_rng(6).integers(0, K, size=(3, N)).astype(np.uint8)
    values = statistic.bind(probs)(Classes(move(batch), K))
    assert type(values) is type(probs), f"the values became {type(values)}"
    assert str(values.device) == str(probs.device), f"the values moved to {values.device}"
    assert str(values.dtype).endswith("float64"), f"the values are {values.dtype}"
    close(to_host(values), statistic.bind(to_host(probs))(Classes(batch, K)), "batch in another library")


def single_precision(statistic: Statistic) -> None:
    """Single-precision input is summed in double precision: the same as the same numbers in double."""
    probs, labels = example()
    single = probs.astype(np.float32)
    value = float(statistic(single.astype(np.float64), labels))
    close(float(statistic(single, labels)), value, "float32")
    close(float(statistic(torch.tensor(single), torch.tensor(labels))), value, "float32 on torch")


def gradient(statistic: Statistic) -> None:
    """Where declared, values carry the right gradient with respect to the predictions."""
    if not statistic.traits.differentiable:
        return
    probs, labels = example(9)
    batch = Classes(torch.tensor(np.stack([labels, labels[::-1]]).astype(np.uint8)), K)

    def value(logits: torch.Tensor) -> torch.Tensor:
        return statistic.bind(cr.Point(torch.softmax(logits, dim=1)))(batch)

    logits = torch.tensor(np.log(probs), requires_grad=True)
    assert getattr(value(logits), "requires_grad", False), "the graph was cut"
    assert torch.autograd.gradcheck(value, (logits,))


def label_kinds(statistic: Statistic) -> None:
    """Declared label types are taken and others refused."""
    probs, labels = example()
    counts = cr.LabelCounts(np.eye(K, dtype=int)[labels])
    if "counts" in statistic.traits.labels:
        close(float(statistic(probs, counts)), float(statistic(probs, labels)), "one rater per instance")
    else:
        try:
            statistic(probs, counts)
        except cr.UnsupportedError:
            return
        raise AssertionError("label counts were taken although they are not declared")


def declared_range(statistic: Statistic) -> None:
    """Values stay inside the declared range, also where predictions are certain and wrong."""
    low, high = statistic.traits.range or (-math.inf, math.inf)
    certain = np.eye(K)[np.arange(N) % K]
    cases = [example(seed=seed) for seed in range(5)] + [example(2)]
    cases += [] if statistic.traits.reduction in PAIRWISE else [example(1)]
    cases += [(certain, (np.arange(N) + shift) % K) for shift in range(K)]
    for probs, labels in cases:
        value = float(statistic(probs, labels))
        assert not math.isnan(value)
        assert low - 1e-12 <= value <= high + 1e-12, f"{value} is outside {low} to {high}"


CHECKS: dict[str, Callable[[Statistic], None]] = {
    check.__name__: check
    for check in (
        row_order,
        class_relabelling,
        member_order,
        duplicated_data,
        multiplicities,
        batch_equals_loop,
        chunks_equal_whole,
        same_on_torch,
        same_on_strict,
        single_precision,
        gradient,
        label_kinds,
        declared_range,
    )
}
