"""`inflate`: radius 0 where nothing is rejected, a radius that grows with the shift, and its way there."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr


def world(shift: float, n: int = 200, seed: int = 3) -> tuple[cr.Ensemble, np.ndarray]:
    """Members around a base; labels from their mean, moved towards class 0 by `shift`."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.ones(3), size=n)
    members = np.stack([0.8 * base + 0.2 * rng.dirichlet(np.ones(3), size=n) for _ in range(4)], axis=1)
    truth = (1 - shift) * members.mean(axis=1) + shift * np.eye(3)[0]
    return cr.Ensemble(members, member_axis=1), (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1)


def test_nothing_rejected_is_radius_0() -> None:
    members, labels = world(0.0)
    inflation = cr.inflate(members, labels, rng=1)
    assert (inflation.radius, inflation.rejected_radius) == (0.0, None)
    assert inflation.radii.tolist() == [0.0]
    assert inflation.test.pvalue == cr.hypotests.witness_test(members, labels, rng=1).pvalue
    assert inflation.apply(members) is members
    assert str(inflation).startswith("radius 0: the set itself is not rejected")


@pytest.mark.slow
@pytest.mark.parametrize("by", ["vacuous", "ball"])
def test_the_radius_grows_with_the_shift(by: str) -> None:
    radii = [cr.inflate(*world(shift), by=by, rng=1).radius for shift in (0.0, 0.3, 0.6)]
    assert radii[0] == 0.0
    assert radii == sorted(set(radii))
    # labels moved by a share s lie in the set mixed with everything at s, and with 200 of them not far below
    assert radii[2] > 0.3
    assert radii[2] <= 0.6


@pytest.mark.slow
def test_what_was_tried() -> None:
    members, labels = world(0.5)
    told: list[tuple[int, int]] = []
    inflation = cr.inflate(members, labels, rng=1, resolution=0.02, progress=lambda *done: told.append(done))
    assert inflation.radii[:3].tolist() == [0.0, 1 / 32, 1 / 16]
    assert (inflation.pvalues[inflation.radii >= inflation.radius] > 0.05).all()
    assert inflation.rejected_radius is not None
    assert 0 < inflation.radius - inflation.rejected_radius <= 0.02
    assert inflation.pvalues[inflation.radii.tolist().index(inflation.rejected_radius)] <= 0.05
    assert inflation.test.pvalue == inflation.pvalues[inflation.radii.tolist().index(inflation.radius)]
    assert told[-1][0] == told[-1][1] >= len(inflation.radii)
    again = cr.hypotests.witness_test(inflation.apply(members), labels, rng=1)
    assert again.pvalue == inflation.test.pvalue
    assert inflation.to_dict()["radius"] == inflation.radius
    assert "is rejected" in str(inflation)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["point", "intervals", "belief", "dirichlet"])
def test_every_kind(kind: str) -> None:
    members, labels = world(0.5)
    lower, upper = members.probs.min(axis=1), members.probs.max(axis=1)
    rest = 1 - lower.sum(axis=1, keepdims=True)
    predictions = {
        "point": members.mean(),
        "intervals": cr.Intervals(lower, upper),
        "belief": cr.Belief(np.concatenate([lower, rest], axis=1), [{0}, {1}, {2}, {0, 1, 2}]),
        "dirichlet": cr.Dirichlet(80 * members.mean().probs + 0.1),
    }[kind]
    inflation = cr.inflate(predictions, labels, rng=1, n_draws=4)
    assert 0.05 < inflation.radius < 0.6
    assert not inflation.test.rejects()
    assert len(inflation.apply(predictions)) == len(labels)


@pytest.mark.slow
def test_the_witness_answers() -> None:
    members, labels = world(0.5, n=120)
    inflation = cr.inflate(members, labels, rng=1, resolution=0.1)
    assert isinstance(inflation.test.details, cr.results.WitnessDetails)
    assert 0.05 < inflation.radius < 0.6
    assert inflation.combine(members[:5]).probs.shape == (5, 3)
    assert cr.inflate(*world(0.0), rng=1).radius == 0.0
    # labels against the predictions at every instance: the set of all distributions is never rejected
    side = np.arange(100) % 2
    probs = np.where(side[:, None] == 1, [0.9, 0.1], [0.1, 0.9])
    assert cr.inflate(probs, side, rng=1, resolution=0.2).radius > 0.5


def test_bad_input() -> None:
    members, labels = world(0.0, n=40)
    with pytest.raises(cr.InputError, match="`by` must be one of"):
        cr.inflate(members, labels, by="square")  # type: ignore[arg-type]
    with pytest.raises(cr.InputError, match="`level` must lie"):
        cr.inflate(members, labels, level=5)
    with pytest.raises(cr.InputError, match="`resolution` must be a positive number"):
        cr.inflate(members, labels, resolution=0)
    with pytest.raises(cr.InputTypeError, match="`progress` must be True, False or callable"):
        cr.inflate(members, labels, progress=3)  # type: ignore[arg-type]
    with pytest.raises(cr.InputTypeError, match="class predictions"):
        cr.inflate(cr.Gaussian(np.zeros(4), np.ones(4)), np.zeros(4))
