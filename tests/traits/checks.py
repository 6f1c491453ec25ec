"""What every statistic promises, as functions that raise AssertionError where a promise is broken.

A check whose promise the statistic does not make (no gradient, no duplicate invariance) returns at once.
`CHECKS` maps the names; `SUBJECTS` holds every registered statistic in its default and in other settings.
Statistics of classes are held to their promises on probabilities, those of real values on every form that
real-valued predictions have.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import array_api_strict
import numpy as np

import credibly as cr
from credibly._arrays.namespace import to_host
from credibly.predictions import Classes, Labels, Reals
from credibly.statistics import Statistic
from credibly.statistics.protocol import Story
from optional import torch

N, K, MEMBERS = 63, 4, 3
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "log_loss": [{"clip": 0.05}],
    "confidence_ece": [
        {"p": math.inf},
        {"p": 2},
        {"p": 2, "debiased": True},
        {"binning": "equal_mass", "closed": "right"},
    ],
    "classwise_ece": [
        {"n_bins": 70},
        {"p": 2, "debiased": True},
        {"binning": "equal_mass"},
        {"target": 1, "binning": "equal_mass"},
    ],
    "top_label_ece": [{"n_bins": 4}, {"p": 2, "debiased": True}, {"binning": "equal_mass"}],
    "hosmer_lemeshow": [{"grouping": "confidence", "n_bins": 3}, {"binning": "equal_width"}],
    "skce": [{"kernel": "gaussian"}, {"bandwidth": 0.3}],
    "mmd_ce": [{"label_kernel": tuple(tuple(row) for row in 0.5 * np.eye(K) + 0.5)}],
    "ence": [{"n_bins": 4}],
    "kde_ce": [{"bandwidth": 0.02}, {"p": 1}, {"p": 3.5, "bandwidth": 0.1}],
    "kl_ce": [{"bandwidth": 0.02}, {"clip": 0.05}],
    "smooth_ece": [{"target": "classwise"}, {"bandwidth": 0.1}, {"target": 2}],
    "ecce": [{"kind": "max"}, {"target": "classwise"}, {"kind": "max", "target": 1}],
    "t_cal": [{"most_bins": 4}, {"target": "classwise", "most_bins": 8}, {"target": 1}],
    "truthful_ce": [{"target": 3}],
    "ici": [{"target": "top_label"}, {"span": 0.3}, {"target": 1}],
    "e90": [{"target": 1}],
    "net_benefit": [{"threshold": 0.2, "target": 0}],
    "pinball_loss": [{"level": 0.9}],
    "wis": [{"levels": (0.5, 0.9)}],
    "sharpness": [{"level": 0.5}],
    "hsic": [{"level": 0.5, "bandwidth": 0.3}],
    "picp": [{"level": 0.5}],
    "quantile_calibration_error": [{"levels": 10}, {"levels": (0.1, 0.25, 0.9)}],
    "interval_score": [{"level": 0.5}],
}
PAIRWISE = ("pairwise", "smoother")


def subjects() -> dict[str, Statistic]:
    """Return every registered statistic, and its variants with the settings in the name."""
    found = dict(cr.statistics.registered())
    for name, variants in VARIANTS.items():
        for settings in variants:
            words = " ".join(f"{key}={value}" for key, value in settings.items())
            found[f"{name} {words}"] = cr.statistics.registered()[name].with_(**settings)
    return found


LEVELS = np.arange(1, 20) / 20


@dataclasses.dataclass(frozen=True)
class Form:
    """One form of predictions: how to make them from arrays, and arrays and labels to make them of."""

    name: str
    make: Callable[..., Any]
    arrays: Callable[[int, int], tuple[np.ndarray, ...]]
    members: bool = False

    @property
    def real(self) -> bool:
        """Whether labels are real numbers."""
        return self.name != "point"

    @property
    def draws(self) -> bool:
        """Whether predictions are draws."""
        return self.make is cr.Samples

    @property
    def n(self) -> int:
        """Number of instances: fewer where each of them has draws of its own."""
        return 30 if self.real else N

    def example(self, n: int | None = None, seed: int = 0) -> tuple[Any, np.ndarray]:
        """Return predictions and labels."""
        return self.make(*self.arrays(n or self.n, seed)), self.labels(n, seed)

    def labels(self, n: int | None = None, seed: int = 0) -> np.ndarray:
        """Return labels that follow the predictions only loosely."""
        n = n or self.n
        if not self.real:
            return example(n, seed)[1]
        return 1.4 * np.random.default_rng(100 + seed).normal(size=n) + 0.3

    def vectors(self, count: int, seed: int) -> np.ndarray:
        """Return label vectors (count, n) that do not follow the predictions at all."""
        rng = np.random.default_rng(seed)
        if self.real:
            return 1.5 * rng.normal(size=(count, self.n))
        return rng.integers(0, K, size=(count, self.n)).astype(np.uint8)

    def batch(self, values: Any, weights: Any = None) -> Labels:
        """Return label vectors as a batch."""
        return Reals(values, weights) if self.real else Classes(values, K, weights)


def example(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities (n, K) without ties and labels that follow them only loosely."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(K, 0.8), size=n)
    labels = np.where(rng.random(n) < 0.7, probs.argmax(axis=1), rng.integers(0, K, size=n))
    return probs, labels


def _normals(*shape: int) -> Callable[[int, int], tuple[np.ndarray, ...]]:
    def arrays(n: int, seed: int) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(seed)
        return rng.normal(size=(n, *shape)), rng.uniform(0.5, 1.5, size=(n, *shape))

    return arrays


def _draws(*shape: int) -> Callable[[int, int], tuple[np.ndarray, ...]]:
    return lambda n, seed: (np.random.default_rng(seed).normal(size=(n, *shape)),)


def _quantiles(n: int, seed: int) -> tuple[np.ndarray, ...]:
    draws = np.random.default_rng(seed).normal(size=(n, len(LEVELS)))
    return (np.sort(draws, axis=1),)


def _of_levels(values: Any) -> Any:
    levels = LEVELS.tolist()  # brought to the library of the values
    return cr.Quantiles(values, levels)


POINT = Form("point", cr.Point, lambda n, seed: (example(n, seed)[0],))
REAL_FORMS = (
    Form("gaussian", cr.Gaussian, _normals()),
    Form("gaussian members", cr.Gaussian, _normals(MEMBERS), members=True),
    Form("samples", cr.Samples, _draws(11)),
    Form("samples members", cr.Samples, _draws(MEMBERS, 5), members=True),
    Form("quantiles", _of_levels, _quantiles),
)


def forms(statistic: Statistic) -> Iterator[Form]:
    """Yield the forms of predictions that a statistic takes."""
    if "classes" in statistic.traits.labels:
        yield POINT
    for form in REAL_FORMS if "reals" in statistic.traits.labels else ():
        try:
            statistic.require_predictions(form.example(2)[0])
        except cr.InputTypeError:
            continue
        yield form


def close(first: Any, second: Any, what: str, tolerance: float = 1e-11) -> None:
    """Raise unless two values (or arrays of them) agree to rounding."""
    assert np.allclose(first, second, rtol=tolerance, atol=tolerance), f"{what}: {first} is not {second}"


def row_order(statistic: Statistic) -> None:
    """The order of the instances does not matter."""
    for form in forms(statistic):
        predictions, labels = form.example()
        order = np.random.default_rng(1).permutation(form.n)
        close(
            float(statistic(predictions[order], labels[order])),
            float(statistic(predictions, labels)),
            "row order",
        )


def class_relabelling(statistic: Statistic) -> None:
    """Renaming the classes, in predictions and labels alike, does not matter."""
    if "classes" not in statistic.traits.labels:
        return
    probs, labels = example()
    order = np.array([2, 0, 3, 1])  # new column j holds old class order[j]
    if statistic.traits.ordered:  # only the direction of the order does not matter
        moved = float(statistic(probs[:, order], np.argsort(order)[labels]))
        assert abs(moved - float(statistic(probs, labels))) > 1e-6
        order = np.array([3, 2, 1, 0])
    renamed, moved = np.argsort(order)[labels], statistic
    event = statistic.settings().get("target")
    if isinstance(event, int):  # the event is the same class under its new name
        moved = statistic.with_(target=int(np.argsort(order)[event]))
    close(float(moved(probs[:, order], renamed)), float(statistic(probs, labels)), "class relabelling")


def member_order(statistic: Statistic) -> None:
    """The order of the members does not matter."""
    if "classes" in statistic.traits.labels:
        members = np.stack([example(seed=seed)[0] for seed in range(MEMBERS)], axis=1)
        labels = example()[1]
        value = float(statistic(cr.Ensemble(members), labels))
        close(float(statistic(cr.Ensemble(members[:, [2, 0, 1]]), labels)), value, "member order")
    for form in forms(statistic):
        if form.members:
            arrays, labels = form.arrays(form.n, 0), form.labels()
            value = float(statistic(form.make(*arrays), labels))
            turned = form.make(*(array[:, [2, 0, 1]] for array in arrays))
            close(float(statistic(turned, labels)), value, "member order")


def duplicated_data(statistic: Statistic) -> None:
    """Where declared, listing all data twice does not matter."""
    if not statistic.traits.duplicate_invariant:
        return
    for form, n in itertools.product(forms(statistic), (None, 20, 7)):
        arrays, labels = form.arrays(n or form.n, 0), form.labels(n)
        doubled = form.make(*(np.concatenate([array, array]) for array in arrays))
        twice = float(statistic(doubled, np.concatenate([labels, labels])))
        close(twice, float(statistic(form.make(*arrays), labels)), "duplicated data")


def multiplicities(statistic: Statistic) -> None:
    """Where declared, whole weights equal repeated rows, a weight of zero a missing row."""
    if not statistic.traits.multiplicities:
        return
    for form in forms(statistic):
        weights = np.arange(form.n) % 4
        arrays, labels = form.arrays(form.n, 0), form.labels()
        given = form.make(*arrays)
        copies = form.make(*(array.repeat(weights, axis=0) for array in arrays))
        repeated = float(statistic(copies, labels.repeat(weights)))
        close(float(statistic(given, labels, sample_weight=weights)), repeated, "multiplicities")


def batch_equals_loop(statistic: Statistic) -> None:
    """A batch of label vectors gives what the vectors give one by one, few of them and many."""
    for form, count in itertools.product(forms(statistic), (5, 70)):
        if count > 5 and form.draws and statistic.traits.reduction in PAIRWISE:
            continue  # draws are bound anew to every label vector, so that many are no other case than few
        predictions, batch = form.example()[0], form.vectors(count, 2)
        bound = statistic.bind(predictions)
        rows = batch[:5]
        together = bound(form.batch(batch))[:5]
        close(together, [float(statistic(predictions, row)) for row in rows], "batch and loop")
        if statistic.traits.multiplicities:
            weights = np.random.default_rng(3).random((1, form.n))
            together = bound(form.batch(batch, weights))[:5]
            alone = [float(statistic(predictions, row, sample_weight=weights[0])) for row in rows]
            close(together, alone, "weighted batch and loop")


def chunks_equal_whole(statistic: Statistic) -> None:
    """Plan all, bind chunks, add their states, finish: the same as the whole."""
    if statistic.traits.reduction == "opaque":
        return
    for form, count in itertools.product(forms(statistic), (1, 2, 7)):
        weighted = statistic.traits.multiplicities
        weights = np.random.default_rng(5).random((1, form.n)) if weighted else None
        predictions = form.example()[0]
        labels = form.batch(form.vectors(3, 4), weights)
        plan = statistic.plan(predictions)
        whole = statistic.bind(predictions)(labels)
        borders = np.linspace(0, form.n, count + 1).astype(int)
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
    for form in forms(statistic):
        _same_elsewhere(statistic, form, torch.tensor, "torch")


def same_on_strict(statistic: Statistic) -> None:
    """A strict array library gives the same values, also on its second device, which stays the device."""
    for form, name in itertools.product(forms(statistic), ("CPU_DEVICE", "device1")):
        device = array_api_strict.Device(name)

        def move(array: np.ndarray, device: Any = device) -> Any:
            return array_api_strict.asarray(array, device=device)

        _same_elsewhere(statistic, form, move, f"array_api_strict on {name}")


def _same_elsewhere(statistic: Statistic, form: Form, move: Callable[[np.ndarray], Any], where: str) -> None:
    arrays, labels = form.arrays(form.n, 0), form.labels()
    here, there = form.make(*arrays), form.make(*map(move, arrays))
    close(float(statistic(there, move(labels))), float(statistic(here, labels)), f"{form.name}: {where}")
    batch = form.vectors(3, 6)
    values, leading = statistic.bind(there)(form.batch(move(batch))), there._leading
    assert type(values) is type(leading), f"the values became {type(values)}"
    assert str(values.device) == str(leading.device), f"the values moved to {values.device}"
    assert str(values.dtype).endswith("float64"), f"the values are {values.dtype}"
    close(to_host(values), statistic.bind(here)(form.batch(batch)), f"{form.name}: batch on {where}")


def single_precision(statistic: Statistic) -> None:
    """Single-precision input is summed in double precision: the same as the same numbers in double."""
    for form in forms(statistic):
        single, labels = [array.astype(np.float32) for array in form.arrays(form.n, 0)], form.labels()
        value = float(statistic(form.make(*(array.astype(np.float64) for array in single)), labels))
        close(float(statistic(form.make(*single), labels)), value, "float32")
        there = form.make(*map(torch.tensor, single))
        close(float(statistic(there, torch.tensor(labels))), value, "float32 on torch")


def gradient(statistic: Statistic) -> None:
    """Where declared, values carry the right gradient with respect to the predictions."""
    if not statistic.traits.differentiable:
        return
    for form in forms(statistic):
        arrays, labels = form.arrays(9, 0), form.labels(9)
        twice = np.stack([labels, labels[::-1]])
        batch = form.batch(torch.tensor(twice if form.real else twice.astype(np.uint8)))
        free = [np.log(array) for array in arrays] if not form.real else arrays

        def value(*free: torch.Tensor, form: Form = form, batch: Labels = batch) -> torch.Tensor:
            arguments = free if form.real else (torch.softmax(free[0], dim=1),)
            return statistic.bind(form.make(*arguments))(batch)

        inputs = tuple(torch.tensor(array, requires_grad=True) for array in free)
        assert getattr(value(*inputs), "requires_grad", False), "the graph was cut"
        # along one drawn direction, which a wrong entry changes: all entries would take hundreds of values
        assert torch.autograd.gradcheck(value, inputs, fast_mode=True)


def label_kinds(statistic: Statistic) -> None:
    """Declared label types are taken and others refused."""
    probs, labels = example()
    counts = cr.LabelCounts(np.eye(K, dtype=int)[labels])
    if "counts" in statistic.traits.labels:
        close(float(statistic(probs, counts)), float(statistic(probs, labels)), "one rater per instance")
        return
    for form in forms(statistic):
        try:
            statistic(form.example(N)[0], counts)
        except cr.UnsupportedError:
            continue
        raise AssertionError("label counts were taken although they are not declared")


def declared_range(statistic: Statistic) -> None:
    """Values stay inside the declared range, also where predictions are certain and wrong."""
    low, high = statistic.traits.range or (-math.inf, math.inf)
    for form in forms(statistic):
        cases = [form.example(seed=seed) for seed in range(5)] + [form.example(2)]
        cases += [] if statistic.traits.reduction in PAIRWISE else [form.example(1)]
        if form.real:
            cases += [(form.example()[0], form.labels() + shift) for shift in (-1e3, 1e3)]
        else:
            certain = np.eye(K)[np.arange(N) % K]
            cases += [(certain, (np.arange(N) + shift) % K) for shift in range(K)]
        for predictions, labels in cases:
            value = float(statistic(predictions, labels))
            assert not math.isnan(value)
            assert low - 1e-12 <= value <= high + 1e-12, f"{value} is outside {low} to {high}"


def story(statistic: Statistic) -> None:
    """What people read about it is there, in sentences that can stand where they are put."""
    told = statistic.story
    assert isinstance(told, Story)
    assert told.title
    assert told.meaning.endswith((".", "?"))
    assert told.above
    assert told.formula
    assert told.citation.endswith((".", ")"))
    # "...: the model is right more often than it says."
    for side in (told.above, told.below):
        assert side[0].islower()
        assert not side.endswith(".")
    if statistic.traits.tail == "two-sided":
        assert told.above != told.below
    assert all(alias == alias.lower().replace(" ", "_") for alias in told.aliases)


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
        story,
    )
}
