"""What must hold for every set: order of the measures, relabelling, member order, every array library."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibly as cr
from credibly_studies.set_draws import sample
from libraries import Library, read
from strategies import beliefs, ensembles, intervals, points
from unit.credal.oracles import entropy, every_kind

ROUNDING = 1e-5  # single-precision rows sum to 1 within that
SETS = st.one_of(points(), ensembles(), intervals(), beliefs())


@pytest.mark.slow
@given(SETS)
def test_measures_keep_their_order(credal: Any) -> None:
    k = credal.n_classes
    lower, upper = cr.credal.lower_probability(credal), cr.credal.upper_probability(credal)
    mean = credal.mean().probs
    assert (lower <= mean + ROUNDING).all()
    assert (mean <= upper + ROUNDING).all()
    middle = np.array([entropy(p) for p in mean])
    assert (cr.credal.lower_entropy(credal) <= middle + 10 * ROUNDING).all()
    assert (middle <= cr.credal.upper_entropy(credal) + 10 * ROUNDING).all()
    assert (cr.credal.upper_entropy(credal) <= math.log(k) + 10 * ROUNDING).all()
    hartley = cr.credal.nonspecificity(credal)
    assert (hartley >= -ROUNDING).all()
    assert (hartley <= math.log(k) + ROUNDING).all()
    assert (cr.credal.nonspecificity(credal, measure="koerner") >= 1 - k * ROUNDING).all()
    assert (cr.credal.nonspecificity(credal, measure="pal") <= 1 + ROUNDING).all()
    assert ((cr.credal.size(credal) >= -ROUNDING) & (cr.credal.size(credal) <= 1 + ROUNDING)).all()


@given(SETS, st.data())
def test_distances_keep_their_order(credal: Any, data: st.DataObject) -> None:
    labels = np.array(
        data.draw(st.lists(st.integers(0, credal.n_classes - 1), min_size=len(credal), max_size=len(credal)))
    )
    near = cr.credal.distance(credal, labels)
    middle = cr.credal.distance(credal.mean(), labels)
    scale = 1 + np.where(np.isfinite(middle), middle, 0.0)
    assert (near >= 0).all()
    assert (near <= middle + ROUNDING * np.exp(scale)).all()


@given(SETS)
def test_the_mean_is_inside_and_soft_distances_to_it_vanish(credal: Any) -> None:
    mean = np.asarray(credal.mean().probs, dtype=np.float64)
    mean = np.where(mean < 1e-290, 0.0, mean)  # ratios of the smallest numbers overflow
    mean = mean / mean.sum(axis=1, keepdims=True)
    assert cr.credal.contains(credal, mean, tolerance=ROUNDING).all()
    assert cr.credal.distance(credal, mean) == pytest.approx(np.zeros(len(credal)), abs=10 * ROUNDING)
    edge = cr.credal.boundary(credal, np.zeros(len(credal), dtype=int))
    assert cr.credal.contains(credal, edge / edge.sum(axis=1, keepdims=True), tolerance=10 * ROUNDING).all()


@given(SETS)
def test_decisions_leave_a_class_and_are_nested(credal: Any) -> None:
    maximal, undominated = (
        cr.credal.decision(credal, rule=rule) for rule in ("maximality", "interval_dominance")
    )
    assert maximal.any(axis=1).all()
    assert (maximal <= undominated).all()


@given(SETS)
def test_masses_add_up(credal: Any) -> None:
    masses = cr.credal.mass_function(credal)
    assert masses.masses.sum(axis=1) == pytest.approx(np.ones(len(credal)), abs=ROUNDING)
    clamped = cr.credal.mass_function(credal, negative="clamp")
    assert (clamped.masses >= -1e-12).all()


def relabelled(credal: Any, order: np.ndarray) -> Any:
    """The same prediction with new class j being old class order[j]."""
    if isinstance(credal, cr.Belief):
        place = np.argsort(order)
        return cr.Belief(
            credal.masses, [{int(place[j]) for j in s} for s in credal.focal_sets], credal.n_classes
        )
    fields = [np.asarray(getattr(credal, name))[..., order] for name in credal.row_fields]
    return type(credal)(*fields, **({"member_axis": 1} if isinstance(credal, cr.Ensemble) else {}))


MEASURES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "hartley": lambda s, y, t: cr.credal.nonspecificity(s),
    "pal": lambda s, y, t: cr.credal.nonspecificity(s, measure="pal"),
    "upper entropy": lambda s, y, t: cr.credal.upper_entropy(s, tolerance=1e-10),
    "lower entropy": lambda s, y, t: cr.credal.lower_entropy(s, tolerance=1e-10),
    "size": lambda s, y, t: cr.credal.size(s),
    "to labels": lambda s, y, t: cr.credal.distance(s, y),
    "to targets": lambda s, y, t: cr.credal.distance(s, t),
    "inside": lambda s, y, t: cr.credal.contains(s, t),
    "fraction": lambda s, y, t: cr.credal.boundary(s, y, return_fraction=True)[1],
    "epistemic": lambda s, y, t: cr.uncertainty(s).epistemic,
}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", ["Point", "Ensemble", "few members", "Intervals", "Belief"])
def test_relabelling_and_member_order_change_nothing(kind: str, measure: str) -> None:
    rng = np.random.default_rng(0)
    credal = every_kind(rng, n=10, k=5)[kind]
    labels, target = rng.integers(0, 5, size=10), rng.dirichlet(np.ones(5), size=10)
    expected = MEASURES[measure](credal, labels, target)
    order = rng.permutation(5)
    moved = MEASURES[measure](relabelled(credal, order), np.argsort(order)[labels], target[:, order])
    assert moved == pytest.approx(expected, abs=1e-8)
    if isinstance(credal, cr.Ensemble):
        shuffled = cr.Ensemble(credal.probs[:, rng.permutation(credal.n_members)], member_axis=1)
        assert MEASURES[measure](shuffled, labels, target) == pytest.approx(expected, abs=1e-8)
    if isinstance(credal, cr.Belief):
        columns = rng.permutation(len(credal.focal_sets))
        sets = [credal.focal_sets[j] for j in columns]
        shuffled = cr.Belief(credal.masses[:, columns], sets, 5)
        assert MEASURES[measure](shuffled, labels, target) == pytest.approx(expected, abs=1e-8)


EVERYWHERE: dict[str, Callable[[Any, Any, Any], Any]] = {
    **MEASURES,
    "lower": lambda s, y, t: cr.credal.lower_probability(s),
    "upper of events": lambda s, y, t: cr.credal.upper_probability(s, [{0, 1}, {2}]),
    "masses": lambda s, y, t: cr.credal.mass_function(s).masses,
    "clamped": lambda s, y, t: cr.credal.mass_function(s, budget=[{0}, {1}, {0, 1}], negative="clamp").masses,
    "random events": lambda s, y, t: cr.credal.nonspecificity(s, n_events=64),
    "smets": lambda s, y, t: cr.credal.nonspecificity(s, measure="smets", negative="clamp"),
    "boundary": lambda s, y, t: cr.credal.boundary(s, t),
    "draws": lambda s, y, t: sample(s, 2, method="hit_and_run", n_steps=3, rng=0).probs,
    "maximal": lambda s, y, t: cr.credal.decision(s),
    "corners": lambda s, y, t: cr.credal.vertices(s),
}


@pytest.mark.slow
@pytest.mark.parametrize("measure", EVERYWHERE)
def test_every_library_gives_the_same(measure: str, library: Library) -> None:
    rng = np.random.default_rng(1)
    labels, target = rng.integers(0, 4, size=5), rng.dirichlet(np.ones(4), size=5)
    for kind, credal in every_kind(rng, n=5, k=4).items():
        expected = EVERYWHERE[measure](credal, labels, target)
        arrays = [library.asarray(getattr(credal, name)) for name in credal.row_fields]
        if isinstance(credal, cr.Belief):
            there: Any = cr.Belief(*arrays, credal.focal_sets, 4)
        elif isinstance(credal, cr.Ensemble):
            there = cr.Ensemble(*arrays, member_axis=1)
        else:
            there = type(credal)(*arrays)
        found = EVERYWHERE[measure](there, library.asarray(labels), library.asarray(target))
        assert library.owns(found), kind
        assert read(found) == pytest.approx(expected, abs=1e-9), kind


@pytest.mark.parametrize("measure", EVERYWHERE)
def test_tensors_in_a_graph(measure: str) -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    rng = np.random.default_rng(3)
    labels, target = rng.integers(0, 4, size=5), rng.dirichlet(np.ones(4), size=5)
    for kind, credal in every_kind(rng, n=5, k=4).items():
        arrays = [torch.tensor(getattr(credal, name), requires_grad=True) for name in credal.row_fields]
        extra = (credal.focal_sets, 4) if isinstance(credal, cr.Belief) else ()
        there: Any = (
            cr.Ensemble(*arrays, member_axis=1)
            if isinstance(credal, cr.Ensemble)
            else type(credal)(*arrays, *extra)
        )
        found = EVERYWHERE[measure](there, torch.tensor(labels), torch.tensor(target))
        expected = EVERYWHERE[measure](credal, labels, target)
        assert read(found) == pytest.approx(expected, abs=1e-9), kind


def test_single_precision_is_read_in_double() -> None:
    rng = np.random.default_rng(2)
    ensemble = cr.Ensemble(rng.dirichlet(np.ones(4), size=(5, 3)).astype(np.float32))
    assert cr.credal.nonspecificity(ensemble).dtype == np.float64
    assert cr.credal.distance(ensemble, [0] * 5).dtype == np.float64
    same = cr.Ensemble(ensemble.probs.astype(np.float64))
    assert cr.credal.upper_entropy(ensemble).tolist() == cr.credal.upper_entropy(same).tolist()


def test_corners_of_the_definitions() -> None:
    one_member = cr.Ensemble([[[0.3, 0.7]]])
    point = cr.Point([[0.3, 0.7]])
    for measure in MEASURES.values():
        target = np.array([[0.4, 0.6]])
        assert measure(one_member, [1], target) == pytest.approx(measure(point, [1], target), abs=1e-9)
    one_set = cr.Belief([[1.0]], [{0, 1, 2}])
    vacuous = cr.Intervals(np.zeros((1, 3)), np.ones((1, 3)))
    for name, measure in MEASURES.items():
        if name != "epistemic":  # a belief's own decomposition is another one
            target = np.array([[0.2, 0.3, 0.5]])
            assert measure(one_set, [1], target) == pytest.approx(measure(vacuous, [1], target), abs=1e-9), (
                name
            )
    assert cr.credal.decision(vacuous, rule="maximality").all()
    degenerate = cr.Intervals([[0.2, 0.8]], [[0.2, 0.8]])
    assert cr.credal.nonspecificity(degenerate) == pytest.approx([0.0], abs=1e-15)
    assert cr.credal.upper_entropy(degenerate) == pytest.approx(cr.credal.lower_entropy(degenerate))
