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
    output = SimpleNamespace(posterior_predictive=predicted, observed_data=observed)  # as InferenceData
    predictions, labels = cr.from_posterior_predictive(output)
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
        predictions, seen = cr.as_predictions(predicted["height"].transpose("person", "draw", "chain")), None
    else:
        given = {
            "tree": lambda: xarray.DataTree.from_dict(
                {"/posterior_predictive": predicted, "/observed_data": observed}
            ),
            "mapping": lambda: {"posterior_predictive": predicted, "observed_data": observed},
            "dataset": lambda: predicted,
            "array": lambda: predicted["height"],
        }[form]()
        predictions, seen = cr.from_posterior_predictive(given)
    assert np.array_equal(predictions.values, expected)
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
    seen = rng.integers(0, 3, size=N)
    check = cr.predictive_check(predictions, seen, statistics=["brier"], n_resamples=40, rng=0)
    # labels and draws are exchangeable: each of them against the mean of all of them
    every = np.eye(3)[np.concatenate([seen[None, :], flat])]
    expected = ((every.mean(axis=0) - every) ** 2).sum(axis=2).mean(axis=1)
    result = check.bayesian.checks["brier"]
    assert result.statistic == pytest.approx(expected[0])
    assert np.abs(result.null_distribution[:, None] - expected).min(axis=1).max() < 1e-12
    assert result.hypothesis == "the labels are one more joint draw, like the 60 that are stored"
    assert result.details.member_pvalue is None


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


def written(path: Path, **groups: dict) -> Path:
    pytest.importorskip("h5netcdf", reason="needs the xarray extra")
    xarray.Dataset(attrs={"made_by": "test"}).to_netcdf(path, engine="h5netcdf")
    for name, variables in groups.items():
        xarray.Dataset(variables).to_netcdf(path, mode="a", group=name, engine="h5netcdf")
    return path


ROWS = ("chain", "draw", "row")


@pytest.mark.parametrize("kind", ["real", "binary", "count", "posterior"])
def test_files_are_evaluated_checked_and_reported(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 80
    centre = rng.normal(size=n)
    prob = 1 / (1 + np.exp(-centre))
    shape = (2, 20, n)
    predicted, seen = {
        "real": (centre + rng.normal(size=shape), centre + rng.normal(size=n)),
        "binary": ((rng.random(shape) < prob).astype(int), (rng.random(n) < prob).astype(int)),
        "count": (rng.poisson(np.exp(centre), size=shape), rng.poisson(np.exp(centre))),
        "posterior": (np.clip(prob + 0.05 * rng.normal(size=shape), 0, 1), (rng.random(n) < prob) * 1),
    }[kind]
    group = "posterior" if kind == "posterior" else "posterior_predictive"
    name = "p" if kind == "posterior" else "y"
    beta = {"beta": (("chain", "draw"), rng.normal(size=(2, 20)))} if kind == "posterior" else {}
    path = written(
        tmp_path / "file.nc",
        **{group: {name: (ROWS, predicted), **beta}, "observed_data": {"y": ("row", seen)}},
    )
    data = cr.load(path)
    members = data.predictions.n_members
    assert isinstance(data.predictions, cr.Ensemble if kind in ("binary", "posterior") else cr.Samples)
    assert (members, len(data.predictions)) == (40, n)
    assert np.allclose(data.labels, seen)
    assert data.notes[0].startswith(f"'{name}' of '{group}'")
    evaluation = cr.evaluate(data, n_resamples=99, rng=0)
    assert evaluation.check is not None
    evaluation.report(tmp_path / "page.html")
    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        predictions, labels = cr.from_posterior_predictive(tree)
    assert type(predictions) is type(data.predictions)
    assert np.array_equal(predictions._leading, data.predictions._leading)
    assert np.array_equal(labels, data.labels)


def test_of_several_variables_the_observed_or_the_named_one_is_read(tmp_path: Path) -> None:
    draws = np.random.default_rng(0).normal(size=(2, 5, 9))
    both = {"a": (ROWS, draws), "b": (ROWS, draws + 1)}
    one = written(tmp_path / "one.nc", posterior_predictive=both, observed_data={"b": ("row", draws[0, 0])})
    assert np.array_equal(cr.load(one).predictions.values[:, 0, 0], draws[0, 0] + 1)
    seen = {"a": ("row", draws[0, 0]), "b": ("row", draws[0, 0])}
    two = written(tmp_path / "two.nc", posterior_predictive=both, observed_data=seen)
    with pytest.raises(cr.InputError, match="got a, b; there are a, b"):
        cr.load(two)
    with pytest.raises(cr.InputError, match="got c; there are a, b"):
        cr.load(two, columns=["c"])
    named = cr.load(two, columns=["a"])
    assert np.array_equal(named.predictions.values[:, 0, 0], draws[0, 0])
    assert named.notes[-1] == "not used: 'b'"
    assert np.array_equal(cr.load(two, exclude=["b"]).predictions.values, named.predictions.values)


def test_a_group_whose_dimension_is_lost_is_a_fault_of_the_file(tmp_path: Path) -> None:
    draws = np.random.default_rng(0).normal(size=(2, 5, 9))
    path = written(
        tmp_path / "lost.nc",
        posterior_predictive={"y": (ROWS, draws)},
        observed_data={"y": xarray.Variable("row", draws[0, 0])},
    )
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "a") as file:
        del file["observed_data/row"]  # the variable still refers to it
    with pytest.raises(cr.FileError, match=r"lost\.nc.*must be a whole netCDF file"):
        cr.load(path)


@pytest.mark.parametrize("whole", [False, True])
def test_observations_with_two_dimensions_are_one_instance_per_cell(whole: bool, tmp_path: Path) -> None:
    """PyMC numbers the dimensions of draws and of observations apart, so only shapes tell."""
    rng = np.random.default_rng(0)
    draws, seen = (
        rng.integers(0, 2, shape) if whole else rng.normal(size=shape) for shape in ((2, 5, 4, 3), (4, 3))
    )
    path = written(
        tmp_path / "two.nc",
        posterior_predictive={"y": (("chain", "draw", "y_dim_2", "y_dim_3"), draws)},
        observed_data={"y": (("y_dim_0", "y_dim_1"), seen)},
    )
    data = cr.load(path)
    assert np.array_equal(data.labels, seen.ravel())
    first = data.predictions.probs[:, 0, 1] if whole else data.predictions.values[:, 0, 0]
    assert np.array_equal(first, draws[0, 0].ravel())
    assert any("every cell of y_dim_2 x y_dim_3 is one instance" in note for note in data.notes)


def test_only_probabilities_of_the_observed_classes_are_read_from_a_posterior() -> None:
    rng = np.random.default_rng(0)
    probs = xarray.DataArray(rng.dirichlet(np.ones(3), size=(2, 5, 9)), dims=(*ROWS, "class"))
    seen = xarray.Dataset({"y": ("row", rng.integers(3, size=9))})
    other = {"mu": (ROWS, rng.normal(size=(2, 5, 9))), "share": (ROWS, rng.random((2, 5, 9)))}
    given = {"posterior": xarray.Dataset({"p": probs, **other}), "observed_data": seen}
    predictions, labels = cr.from_posterior_predictive(given)
    assert np.array_equal(predictions.probs, np.moveaxis(probs.values.reshape(10, 9, 3), 0, 1))
    assert np.array_equal(labels, seen["y"].values)
    with pytest.raises(cr.InputError, match="hold probabilities in the group 'posterior'; got None of none"):
        cr.from_posterior_predictive({"posterior": xarray.Dataset(other), "observed_data": seen})


def test_refused() -> None:
    whole = xarray.DataArray(np.zeros((2, 3, 4), dtype=int), dims=("chain", "draw", "row"))
    with pytest.raises(cr.InputError, match="between 0 and 1"):
        cr.from_posterior_predictive(whole + 2, n_classes=2)
    with pytest.raises(cr.InputError, match="whole numbers"):
        cr.from_posterior_predictive(whole.astype(float), n_classes=2)
    several = xarray.Dataset({"a": whole, "b": whole})
    with pytest.raises(cr.InputError, match="got None of a, b"):
        cr.from_posterior_predictive(several)
    with pytest.raises(cr.InputError, match="must be one of the posterior predictive group"):
        cr.from_posterior_predictive(several, "c")
    with pytest.raises(cr.InputTypeError, match="got list"):
        cr.from_posterior_predictive([1, 2])
