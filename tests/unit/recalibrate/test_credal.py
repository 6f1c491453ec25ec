"""Credal recalibration: a set shrinks to what is needed, grows where the truth is outside, or is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.recalibrate.credal import spread_out
from recalibrations import draw


def tilted(n: int, tilt: float, seed: int = 0) -> tuple[cr.Ensemble, np.ndarray]:
    """Two members half a logit to either side of a centre; the truth is `tilt` times as far from it."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(n, 1, 2))
    apart = np.array([[[0.5, 0.0], [-0.5, 0.0]]])
    truth = cr.Point.from_logits((centre + tilt * apart)[:, 0]).probs
    return cr.Ensemble.from_logits(centre + apart), draw(truth, rng)


def fitted(
    ensemble: cr.Ensemble, labels: np.ndarray, **settings: object
) -> cr.recalibrate.CredalRecalibration:
    words = {"temperatures": None} | settings
    return cr.recalibrate.CredalRecalibration(**words).fit(ensemble, labels)


@pytest.mark.slow
def test_a_set_whose_centre_is_right_shrinks_to_it() -> None:
    recalibration = fitted(*tilted(400, 0.0))
    assert recalibration.spread == 0.0
    assert recalibration.pvalues.size == 1
    ensemble, _ = tilted(50, 0.0, seed=1)
    after = recalibration.apply(ensemble)
    assert np.allclose(after.probs[:, 0], after.probs[:, 1])


@pytest.mark.slow
def test_a_set_grows_until_it_holds_the_truth() -> None:
    recalibration = fitted(*tilted(1500, 2.0))
    assert recalibration.spread in (1.5, 2.0)  # at 2 the truth is a member; 1.5 may pass by chance
    assert (recalibration.pvalues[:-1] <= 0.05).all()
    assert recalibration.pvalues[-1] > 0.05
    ensemble, _ = tilted(50, 0.0, seed=1)
    after = recalibration.apply(ensemble)
    before = np.diff(np.log(ensemble.probs), axis=1)
    gap = np.diff(np.log(after.probs), axis=1)
    # differences between classes grow by the factor
    assert np.allclose(gap[..., 0] - gap[..., 1], recalibration.spread * (before[..., 0] - before[..., 1]))


@pytest.mark.slow
def test_a_set_that_no_spread_can_save_is_refused() -> None:
    ensemble, labels = tilted(240, 6.0)
    with pytest.raises(cr.UnsupportedError, match="at a spread up to 3; the test rejects all"):
        fitted(ensemble, labels)


@pytest.mark.slow
def test_a_failed_fit_leaves_the_one_before() -> None:
    recalibration = fitted(*tilted(400, 0.0))
    with pytest.raises(cr.UnsupportedError, match="rejects all"):
        recalibration.fit(*tilted(240, 6.0))
    assert recalibration.spread == 0.0
    assert recalibration.apply(tilted(5, 0.0, seed=1)[0]).n_members == 2


@pytest.mark.slow
@pytest.mark.parametrize(("margin", "weights"), [("vacuous", (0.25, 0.75)), ("ball", None)])
def test_a_margin_enlarges_what_no_spread_can_save(margin: str, weights: object, tmp_path: Path) -> None:
    ensemble, labels = tilted(1000, 6.0)
    ensemble = cr.Ensemble.from_logits(np.asarray(ensemble.logits), weights=weights)
    recalibration = fitted(ensemble, labels, margin=margin)
    assert recalibration.spread == 1.0
    assert recalibration.radius > 0
    assert (recalibration.pvalues <= 0.05).all()
    new, seen = tilted(200, 6.0, seed=1)
    new = cr.Ensemble.from_logits(np.asarray(new.logits), weights=weights)
    after = recalibration.apply(new)
    assert after.n_members == 4  # two members moved towards two classes
    assert not cr.hypotests.witness_test(after, seen, rng=0).rejects(0.01)
    if margin == "vacuous":  # (1 - r) mean + r uniform
        expected = (1 - recalibration.radius) * new.mean().probs + recalibration.radius / 2
        np.testing.assert_allclose(after.mean().probs, expected, atol=1e-12)
    assert f"{margin} margin" in after.notes[-1]
    again = cr.recalibrate.load(recalibration.save(tmp_path / "set.json"))
    assert np.array_equal(again.apply(new).probs, after.probs)


def test_a_margin_is_not_needed_where_a_spread_is_accepted() -> None:
    recalibration = fitted(*tilted(400, 0.0), margin="vacuous")
    assert recalibration.radius == 0.0
    assert recalibration.apply(tilted(5, 0.0, seed=1)[0]).n_members == 2


def test_temperatures_are_fitted_on_the_other_part() -> None:
    ensemble, labels = tilted(400, 0.0)
    sharper = cr.Ensemble.from_logits(2.0 * np.asarray(ensemble.logits))
    shared = fitted(sharper, labels, temperatures="shared")
    assert np.allclose(shared.member_temperatures, shared.member_temperatures[0])
    assert shared.member_temperatures[0] == pytest.approx(2.0, rel=0.35)
    each = fitted(sharper, labels, temperatures="members", held_out=0.3)
    assert each.member_temperatures.shape == (2,)
    assert each.convergence.loss_after < each.convergence.loss_before


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"spreads": ()}, "`spreads` must be numbers of at least 0"),
        ({"spreads": (1.0, 0.5)}, "`spreads` must increase"),
        ({"spreads": (-1.0,)}, "`spreads` must be numbers"),
        ({"held_out": 1.0}, "`held_out` must lie strictly between"),
        ({"temperatures": "all"}, "`temperatures` must be one of"),
        ({"level": 5}, "`level`"),
        ({"margin": "wide"}, "`margin` must be one of"),
    ],
)
def test_settings_are_checked(settings: dict, said: str) -> None:
    with pytest.raises(cr.CrediblyError, match=said):
        cr.recalibrate.CredalRecalibration(**settings)


def test_what_it_cannot_use() -> None:
    ensemble, labels = tilted(20, 0.0)
    counts = cr.LabelCounts(np.eye(2, dtype=int)[labels] * 2)
    with pytest.raises(cr.UnsupportedError, match="one label per instance and no weights"):
        fitted(ensemble, counts)
    with pytest.raises(cr.UnsupportedError, match="two instances to fit and two to test"):
        fitted(ensemble[:3], labels[:3])
    with pytest.raises(cr.InputError, match="must have the 2 members of the fit"):
        fitted(*tilted(200, 0.0)).apply(cr.Ensemble(np.full((4, 3, 2), 0.5)))
    impossible = np.zeros((20, 3, 2))
    impossible[:, :, 1] = -np.inf
    with pytest.raises(cr.UnsupportedError, match="needs finite logits"):
        fitted(cr.Ensemble.from_logits(impossible), np.zeros(20, dtype=int))


@pytest.mark.parametrize("kind", [cr.Ensemble, cr.Dirichlet])
def test_weighted_members_spread_from_their_weighted_centre(kind: type) -> None:
    members = np.random.default_rng(4).dirichlet(np.ones(3), size=(20, 2))
    weighted = spread_out(kind(members, weights=[2 / 3, 1 / 3]), np.ones(2), 1.5)
    repeated = spread_out(kind(members[:, [0, 0, 1]]), np.ones(3), 1.5)
    np.testing.assert_allclose(weighted._leading, repeated._leading[:, [0, 2]], rtol=1e-9)


def test_a_penalty_counts_members_by_weight() -> None:
    rng = np.random.default_rng(5)
    members = rng.dirichlet(np.ones(3), size=(200, 2))
    labels = np.array([rng.choice(3, p=row) for row in members.mean(axis=1)])
    weighted, repeated = (
        cr.recalibrate.MemberTemperatures(penalty=0.1).fit(predictions, labels).temperatures
        for predictions in (cr.Ensemble(members, weights=[2 / 3, 1 / 3]), cr.Ensemble(members[:, [0, 0, 1]]))
    )
    np.testing.assert_allclose(weighted, repeated[[0, 2]], rtol=1e-3)
