"""Posterior predictive groups: draws become members, observed data become labels."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import credibly as cr

xarray = pytest.importorskip("xarray", reason="needs the xarray extra")

CHAINS, DRAWS, N = 2, 30, 25


@pytest.fixture
def groups() -> tuple:
    rng = np.random.default_rng(3)
    centre = rng.normal(size=N)
    shift = rng.normal(size=(CHAINS, DRAWS, 1))
    draws = centre + shift + 0.5 * rng.normal(size=(CHAINS, DRAWS, N))
    predicted = xarray.Dataset({"height": (("chain", "draw", "person"), draws)})
    observed = xarray.Dataset({"height": ("person", centre + 0.3 + 0.5 * rng.normal(size=N))})
    return predicted, observed, draws


def test_real_draws_are_joint_replicates_of_the_bayesian_check(groups: tuple) -> None:
    predicted, observed, draws = groups
    given = SimpleNamespace(posterior_predictive=predicted, observed_data=observed)  # as InferenceData
    predictions, labels = cr.from_posterior_predictive(given)
    assert isinstance(predictions, cr.Samples)
    assert predictions.values.shape == (N, CHAINS * DRAWS, 1)
    assert np.array_equal(labels, observed["height"].values)
    check = cr.predictive_check(predictions, labels, statistics=["rmse"], n_resamples=99, rng=0)
    # one of labels and draws is the label of a replicate, for all rows at once, and the others are its draws
    every = np.concatenate([labels[None, :], draws.reshape(-1, N)])
    left = [np.delete(every, j, axis=0).T[:, :, None] for j in range(len(every))]
    expected = np.array([float(cr.rmse(cr.Samples(own), every[j])) for j, own in enumerate(left)])
    null = check.bayesian.checks["rmse"].null_distribution
    assert np.abs(null[:, None] - expected).min(axis=1).max() < 1e-12
    assert len(np.unique(null.round(12))) > 30


@pytest.mark.parametrize("form", ["tree", "dataset", "array", "as_predictions", "mapping"])
def test_every_form_gives_the_same_members(groups: tuple, form: str) -> None:
    predicted, observed, draws = groups
    expected = draws.reshape(-1, N).T[:, :, None]
    labels = observed["height"].values
    if form == "as_predictions":
        found, seen = cr.as_predictions(predicted["height"].transpose("person", "draw", "chain")), None
    else:
        given = {
            "tree": lambda: xarray.DataTree.from_dict(
                {"/posterior_predictive": predicted, "/observed_data": observed}
            ),
            "mapping": lambda: {"posterior_predictive": predicted, "observed_data": observed},
            "dataset": lambda: predicted,
            "array": lambda: predicted["height"],
        }[form]()
        found, seen = cr.from_posterior_predictive(given)
    assert np.array_equal(found.values, expected)
    assert (seen is None) == (form not in ("tree", "mapping"))
    assert seen is None or np.array_equal(seen, labels)


def test_drawn_classes_are_members_that_are_sure() -> None:
    rng = np.random.default_rng(0)
    draws = rng.integers(0, 3, size=(CHAINS, DRAWS, N))
    predicted = xarray.Dataset({"kind": (("chain", "draw", "row"), draws)})
    predictions, labels = cr.from_posterior_predictive(predicted, n_classes=3)
    assert labels is None
    flat = draws.reshape(-1, N)
    assert np.array_equal(np.argmax(predictions.probs, axis=2), flat.T)
    check = cr.predictive_check(predictions, flat[0], statistics=["accuracy"], n_resamples=40, rng=0)
    for d, member in enumerate(check.bayesian.members):
        expected = float(cr.accuracy(predictions, flat[member]))
        assert check.bayesian.checks["accuracy"].null_distribution[d] == pytest.approx(expected)


def test_class_probabilities_are_an_ensemble() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(4), size=(CHAINS, DRAWS, N))
    predicted = xarray.Dataset({"p": (("chain", "draw", "row", "class"), probs)})
    predictions, _ = cr.from_posterior_predictive(predicted)
    assert isinstance(predictions, cr.Ensemble)
    assert np.allclose(predictions.probs, np.moveaxis(probs.reshape(-1, N, 4), 0, 1))


def test_files_of_arviz_are_read(groups: tuple, tmp_path: Path) -> None:
    pytest.importorskip("h5netcdf", reason="needs the xarray extra")
    predicted, observed, draws = groups
    path = tmp_path / "inference.nc"
    xarray.Dataset(attrs={"made_by": "test"}).to_netcdf(path, engine="h5netcdf")
    predicted.to_netcdf(path, mode="a", group="posterior_predictive", engine="h5netcdf")
    observed.to_netcdf(path, mode="a", group="observed_data", engine="h5netcdf")
    data = cr.load(path)
    assert isinstance(data.predictions, cr.Samples)
    assert np.allclose(data.predictions.values[:, :, 0], draws.reshape(-1, N).T)
    assert np.allclose(data.labels, observed["height"].values)
    assert any("joint draw" in note for note in data.notes)


def test_refused() -> None:
    whole = xarray.DataArray(np.zeros((2, 3, 4), dtype=int), dims=("chain", "draw", "row"))
    with pytest.raises(cr.InputTypeError, match="n_classes=k"):
        cr.from_posterior_predictive(whole)
    with pytest.raises(cr.InputError, match="between 0 and 1"):
        cr.from_posterior_predictive(whole + 2, n_classes=2)
    with pytest.raises(cr.InputError, match="whole numbers"):
        cr.from_posterior_predictive(whole.astype(float), n_classes=2)
    several = xarray.Dataset({"a": whole, "b": whole})
    with pytest.raises(cr.InputError, match="got None of a, b"):
        cr.from_posterior_predictive(several)
    with pytest.raises(cr.InputError, match="must name one variable"):
        cr.from_posterior_predictive(several, "c")
    with pytest.raises(cr.InputTypeError, match="got list"):
        cr.from_posterior_predictive([1, 2])
