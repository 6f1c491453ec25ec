"""`credibly calibrate`: what is fitted, applied and compared from files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.cli import main
from credibly.diagnosis import table
from recalibrations import rated, world


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    probs, labels = world(300)
    sharper = probs**2 / (probs**2).sum(axis=1, keepdims=True)
    np.savez(tmp_path / "fit.npz", probs=sharper[:200], y=labels[:200])
    np.savez(tmp_path / "new.npz", probs=sharper[200:], y=labels[200:], group=np.arange(100) % 2)
    means, counts = rated(120)
    features = np.random.default_rng(0).normal(size=(120, 2))
    np.savez(tmp_path / "rated.npz", probs=means, label_counts=counts, features=features)
    np.savez(tmp_path / "separable.npz", probs=sharper, y=sharper.argmax(axis=1))
    np.savez(tmp_path / "few.npz", probs=probs[:30], y=labels[:30])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fit_and_apply_do_what_the_library_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "fit", "fit.npz", "t.json"]) == 0
    printed = capsys.readouterr().out.splitlines()
    fit, new = cr.load("fit.npz"), cr.load("new.npz")
    fitted = cr.recalibrate.TemperatureScaling().fit(fit.predictions, fit.labels)
    assert printed[0] == "t.json"
    assert printed[1].startswith("because\tOverconfident: it says ")
    assert printed[2] == f"fitted\ttemperature {fitted.temperature:.3g}"
    assert "converged\tyes" in printed
    assert main(["calibrate", "apply", "t.json", "new.npz", "out.npz"]) == 0
    made = cr.load("out.npz")
    assert np.array_equal(made.predictions.probs, fitted.apply(new.predictions).probs)
    assert np.array_equal(made.labels, new.labels)
    assert np.array_equal(made.groups, new.groups)
    assert "temperature" in made.meta["recalibration"]


def test_the_data_of_the_fit_are_noticed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["calibrate", "fit", "fit.npz", "t.json", "-q"])
    assert main(["calibrate", "apply", "fit.npz", "t.json", "out.npz"]) == 2
    assert "Swap them: `credibly calibrate apply t.json fit.npz out.npz`" in capsys.readouterr().err
    assert main(["calibrate", "apply", "t.json", "fit.npz", "out.npz"]) == 0
    assert "applied to the predictions it was fitted on" in capsys.readouterr().err


def test_features_of_the_file_are_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "fit", "rated.npz", "a.json", "--method", "temperature+alpha"]) == 0
    assert "linear in 2 features" in capsys.readouterr().out
    assert main(["calibrate", "apply", "a.json", "rated.npz", "out.npz", "-q"]) == 0
    assert isinstance(cr.load("out.npz").predictions, cr.Dirichlet)


def test_the_seed_reaches_the_folds_of_a_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in ("0", "3"):
        words = ["calibrate", "fit", "fit.npz", f"{seed}.json", "--method", "temperature+vector"]
        assert main([*words, "--seed", seed]) == 0
    capsys.readouterr()
    fit = cr.load("fit.npz")
    fitted = (
        cr.recalibrate.TemperatureScaling()
        .then(cr.recalibrate.VectorScaling(rng=3))
        .fit(fit.predictions, fit.labels)
    )
    assert json.loads((folder / "3.json").read_text()) == fitted.to_dict()
    assert (folder / "0.json").read_text() != (folder / "3.json").read_text()
    assert main(["calibrate", "fit", "fit.npz", "x.json", "--seed", "-1"]) == 2
    assert "Invalid value for '--seed'" in capsys.readouterr().err


def test_compare(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["calibrate", "compare", "fit.npz", "--n-resamples", "39", "--method", "temperature"]
    assert main([*words, "--method", "alpha"]) == 0
    printed = capsys.readouterr()
    header, *rows = (line.split("\t") for line in printed.out.splitlines())
    assert header[:5] == ["method", "statistic", "before", "after", "difference"]
    losses = next(row for row in rows if row[1] == "log_loss")
    assert float(losses[3]) < float(losses[2])
    assert float(losses[4]) == pytest.approx(float(losses[3]) - float(losses[2]))
    assert {row[0] for row in rows} == {"temperature"}
    assert "alpha could not be fitted" in printed.err
    assert main([*words, "--json", "--statistic", "brier"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert list(record["methods"]["temperature"]["changes"]) == ["brier"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "fit.npz", "t.json", "--method", "temprature"], "Did you mean 'temperature'"),
        (["fit", "separable.npz", "t.json", "--method", "temperature"], "separable data"),
        (["fit", "few.npz", "t.json"], "must show a fault that a repair mends, if no `--method` is named"),
        (["fit", "fit.npz", "fit.npz", "--force"], "must not be a file that is read"),
        (
            ["fit", "rated.npz", "rated.json", "--method", "members"],
            "for Point predictions must be",
        ),
        (["apply", "fit.npz", "new.npz", "out.npz"], "fit.npz"),
        (["apply", "none.json", "new.npz", "out.npz"], "none.json"),
        (["compare", "fit.npz", "--folds", "1"], "`--folds`"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", *words, "-q"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert said in line


@pytest.mark.slow
def test_a_report_with_recalibration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["report", "new.npz", "--recalibrate", "temperature", "--n-resamples", "39", "--out", "r.html"]
    assert main(words) == 0
    page = (folder / "r.html").read_text()
    assert "What would recalibration change?" in page
    assert "--recalibrate temperature" in page  # the command that makes it again


def test_real_values_are_scaled_by_group_and_in_general(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=300)
    groups = np.where(rng.random(300) < 0.5, "a", "b")
    labels = mean + np.where(groups == "a", 1.0, 3.0) * rng.normal(size=300)
    np.savez("reals.npz", mean=mean, std=np.ones(300), y=labels, group=groups)
    assert main(["calibrate", "fit", "reals.npz", "s.json"]) == 0
    because, *_ = capsys.readouterr().out.splitlines()[1:]
    assert because.startswith("because\tIntervals are too narrow for group b: ")
    assert cr.recalibrate.load("s.json").scales is not None
    assert main(["calibrate", "fit", "reals.npz", "g.json", "--method", "scale", "--by", "group", "-q"]) == 0
    scales = cr.recalibrate.load("g.json").scales
    assert 0.7 < scales["a"] < 1.4 < 2.3 < scales["b"] < 3.8
    assert main(["calibrate", "apply", "g.json", "reals.npz", "out.npz", "-q"]) == 0
    made = cr.load("out.npz").predictions
    assert np.allclose(made.std, np.where(groups == "a", scales["a"], scales["b"]))
    assert main(["calibrate", "fit", "reals.npz", "i.json", "--method", "isotonic", "-q"]) == 0
    assert main(["calibrate", "apply", "i.json", "reals.npz", "quantiles.npz", "-q"]) == 0
    assert type(cr.load("quantiles.npz").predictions).__name__ == "Quantiles"
    capsys.readouterr()
    asked = ["calibrate", "compare", "reals.npz", "--by", "group", "--n-resamples", "19", "--json"]
    assert main(asked) == 0
    tried = [one.method for one in table.REALS if one.method and not one.by_group and one.needs != "levels"]
    grouped = [f"{one.method} by group" for one in table.REALS if one.by_group]
    assert set(json.loads(capsys.readouterr().out)["methods"]) == {*tried, *grouped}
    np.savez("plain.npz", mean=mean, std=np.ones(300), y=labels)
    assert main(["calibrate", "apply", "g.json", "plain.npz", "p.npz"]) == 2
    assert "Name the column that holds the groups with `--by`" in capsys.readouterr().err
    assert main(["calibrate", "fit", "plain.npz", "p.json", "--method", "scale", "-q"]) == 0
    assert main(["calibrate", "apply", "p.json", "reals.npz", "p.npz", "-q"]) == 0  # groups are not asked for
    assert main(["calibrate", "apply", "p.json", "reals.npz", "q.npz", "--by", "group"]) == 2
    assert "the fit used none" in capsys.readouterr().err
    assert main(["calibrate", "fit", "reals.npz", "j.json", "--method", "isotonic", "--by", "group"]) == 2
    assert "uses no groups" in capsys.readouterr().err
    compared = ["calibrate", "compare", "reals.npz", "--method", "isotonic", "--n-resamples", "19"]
    assert main(compared) == 0
    assert "scored by their quantiles at 99 levels" in capsys.readouterr().err


def test_columns_of_any_name_form_groups(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    mean, site, year = rng.normal(size=300), rng.choice(["a", "b"], size=300), rng.integers(1, 3, size=300)
    np.savez("sites.npz", mean=mean, std=np.ones(300), y=mean + rng.normal(size=300), site=site, year=year)
    by = ["--method", "scale", "--by", "site,year", "-q"]
    assert main(["calibrate", "fit", "sites.npz", "g.json", *by]) == 0
    scales = cr.recalibrate.load("g.json").scales
    assert list(scales) == ["a / 1", "a / 2", "b / 1", "b / 2"]
    assert main(["calibrate", "apply", "g.json", "sites.npz", "out.npz", "--by", "site,year", "-q"]) == 0
    expected = [scales[f"{one} / {other}"] for one, other in zip(site, year, strict=True)]
    assert np.allclose(cr.load("out.npz").predictions.std, expected)
    capsys.readouterr()
    assert main(["calibrate", "compare", "sites.npz", *by, "--n-resamples", "19"]) == 0
    assert "scale\tcrps" in capsys.readouterr().out


def test_classes_are_recalibrated_by_group(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = cr.load("new.npz")
    site = np.where(np.arange(100) % 2, "north", "south")
    np.savez("sites.npz", probs=old.predictions.probs, y=old.labels, site=site, group=np.arange(100) % 3)
    for method in ("temperature", "bias", "platt"):
        ask = ["calibrate", "fit", "sites.npz", f"{method}.json", "--method", method]
        assert main([*ask, "--by", "site", "-q"]) == 0
        recalibration = cr.recalibrate.files.named_recalibration(method)
        recalibration.fit(old.predictions, old.labels, groups=site)
        assert cr.recalibrate.load(f"{method}.json").to_dict() == recalibration.to_dict()
        assert (
            main(
                [
                    "calibrate",
                    "apply",
                    f"{method}.json",
                    "sites.npz",
                    "out.npz",
                    "--by",
                    "site",
                    "-q",
                    "--force",
                ]
            )
            == 0
        )
        with pytest.warns(UserWarning, match="fitted on"):
            wanted = recalibration.apply(old.predictions, groups=site)
        assert np.array_equal(cr.load("out.npz").predictions.probs, wanted.probs)
        capsys.readouterr()
        assert main(["calibrate", "apply", f"{method}.json", "fit.npz", "out.npz", "--force"]) == 2
        assert "must be given: the fit used some; got none. Name the column" in capsys.readouterr().err
        # a column that happens to be called `group` changes nothing
        assert main([*ask[:3], "plain.json", *ask[4:], "--force", "-q"]) == 0
        assert not cr.recalibrate.load("plain.json").fitted_by_group
        assert (
            main(["calibrate", "apply", "plain.json", "sites.npz", "out.npz", "--by", "site", "--force"]) == 2
        )
        assert "must be left out: the fit used none" in capsys.readouterr().err


def test_groups_that_would_be_ignored_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (["fit", "new.npz", "v.json"], ["compare", "new.npz"]):
        assert main(["calibrate", *verb, "--method", "vector", "--by", "group"]) == 2
        printed = capsys.readouterr().err
        assert "temperature" in printed
        assert "`--by`" in printed
    assert not Path("v.json").exists()


@pytest.mark.parametrize(
    "method", ["platt", "sigmoid", "isotonic", "beta", "bias", "curve", "noise", "order"]
)
def test_repairs_are_found_by_their_names(
    folder: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    assert main(["calibrate", "fit", "fit.npz", "m.json", "--method", method, "-q"]) == 0
    assert main(["calibrate", "apply", "m.json", "new.npz", "out.npz", "-q"]) == 0
    assert cr.load("out.npz").predictions.n_classes == 3


def test_what_is_applied_to_a_table_becomes_a_table(folder: Path) -> None:
    """It has no place for what was done, which does not keep the predictions out."""
    rows = ["y,mean,std", *(f"{y},0,1" for y in np.random.default_rng(0).normal(size=40).tolist())]
    (folder / "reals.csv").write_text("\n".join(rows))
    assert main(["calibrate", "fit", "reals.csv", "s.json", "--method", "scale", "-q"]) == 0
    assert main(["calibrate", "apply", "s.json", "reals.csv", "out.csv", "-q"]) == 0
    assert np.allclose(cr.load("out.csv").predictions.std, cr.recalibrate.load("s.json").scale)


def test_suggested_commands_take_groups_and_weights_along(folder: Path) -> None:
    rng = np.random.default_rng(0)
    site = np.where(np.arange(400) % 2, "a", "b")
    labels = np.where(site == "a", 1.0, 4.0) * rng.normal(size=400)
    np.savez("m.npz", mean=np.zeros((400, 2)), std=np.ones((400, 2)), y=labels, site=site)
    asked = ["--by", "site", "--member-weights", "0.7,0.3", "--n-resamples", "99"]
    assert main(["report", "m.npz", *asked, "--out", "r.html", "-q"]) == 0
    page = (folder / "r.html").read_text()
    fit = "calibrate fit m.npz calibration.json --member-weights 0.7,0.3 --by site --method scale"
    assert f"credibly {fit}" in page
    assert main([*fit.split(), "-q"]) == 0
    scales = cr.recalibrate.load("calibration.json").scales
    assert 0.8 < scales["a"] < 1.2 < 3.4 < scales["b"] < 4.6


def test_the_repair_of_the_headline_is_fitted_and_true_on_new_data(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Says 42 % where 4 % churn; the report, the fit without a method and new data agree."""
    rng = np.random.default_rng(1)
    for name in ("old", "fresh"):
        z = rng.normal(size=3000)
        churned = rng.random(3000) < 1 / (1 + np.exp(3.6 - z))
        said = 1 / (1 + np.exp(0.4 - z))
        rows = [f"{1 - p:.6f},{p:.6f},{'yes' if y else 'no'}" for p, y in zip(said, churned, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["p_no,p_yes,y", *rows]))
    assert main(["calibrate", "fit", "old.csv", "c.json"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].startswith(
        "because\tPredicts yes too often: it says 42 % yes; 4.0 % yes, eleven times too often"
    )
    assert cr.recalibrate.load("c.json").method == "bias"
    assert cr.evaluate(cr.load("old.csv")).diagnosis.repair.method == "bias"
    assert main(["calibrate", "apply", "c.json", "fresh.csv", "repaired.csv", "-q"]) == 0
    after = cr.load("repaired.csv")
    assert abs(float(np.mean(after.predictions.probs[:, 1])) - float(np.mean(after.labels))) < 0.01


def test_with_by_the_repair_may_be_of_that_attribute_only(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(2)
    n = 4000
    truth, north, odd = rng.beta(2, 2, n), rng.random(n) < 0.1, np.arange(n) % 2
    said = np.where(north, np.clip(truth + 0.3, 0.01, 0.99), truth)
    probs, labels = np.stack([1 - said, said], axis=1), (rng.random(n) < truth).astype(int)
    np.savez("two.npz", probs=probs, y=labels, region=np.where(north, "n", "s"), odd=odd)
    assert main(["calibrate", "fit", "two.npz", "r.json", "--by", "region", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["why"].startswith("Predicts class 1 too often for region n: ")
    assert cr.recalibrate.load("r.json").fitted_by_group
    assert main(["calibrate", "fit", "two.npz", "o.json", "--by", "odd", "-q"]) == 0
    assert not cr.recalibrate.load("o.json").fitted_by_group


def test_compared_unasked_are_the_repairs_of_the_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--n-resamples", "0", "--statistic", "log_loss", "--json"]
    assert main(["calibrate", "compare", "new.npz", "--by", "group", *words]) == 0
    wanted = {f"{one.method} by group" if one.by_group else one.method for one in table.CLASSES if one.method}
    assert set(json.loads(capsys.readouterr().out)["methods"]) == wanted
