"""Exact copies of rows are counted, said first, and can be made one cluster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.evaluation.dependence import copies_warning
from credibly.predictions import as_rows

FEW = {"n_resamples": 99, "rng": 0}


def world(seed: int, n: int = 300, k: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), size=n)
    return probs, (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1)


def doubled(seed: int) -> tuple[np.ndarray, np.ndarray]:
    probs, labels = world(seed, n=150)
    return np.concatenate([probs, probs]), np.concatenate([labels, labels])


def test_copies_are_said_first_and_only_where_there_are_any() -> None:
    evaluation = cr.evaluate(*doubled(0), **FEW)
    assert evaluation.warnings[0].startswith("150 of 300 rows (50%) are exact copies of other rows")
    assert '`clusters="copies"`' in evaluation.warnings[0]
    assert str(evaluation).splitlines()[1] == f"  warning: {evaluation.warnings[0]}"
    assert not copies_warning(as_rows(*world(0)))
    probs, labels = world(1)
    few = np.arange(300) % 295  # five copies are fewer than 3 %
    assert not copies_warning(as_rows(probs[few], labels[few]))
    tenth = np.arange(300) % 270
    assert copies_warning(as_rows(probs[tenth], labels[tenth]))[0].startswith("30 of 300 rows (10%)")


def test_predictions_that_repeat_are_no_copies() -> None:
    rng = np.random.default_rng(2)
    for seed in range(20):
        probs, labels = world(seed, n=1000, k=2)
        assert not copies_warning(as_rows(np.full((1000, 2), 0.5), labels))  # constant
        coarse = np.round(probs[:, 0], 2)  # two digits: most rows share theirs
        drawn = (rng.random(1000) > coarse).astype(int)
        assert not copies_warning(as_rows(np.stack([coarse, 1 - coarse], axis=1), drawn))
        sure = np.round(probs[:, 0] ** 0.05, 3)
        drawn = (rng.random(1000) > sure).astype(int)
        assert not copies_warning(as_rows(np.stack([sure, 1 - sure], axis=1), drawn))
    counts = rng.poisson(1.0, size=500).astype(float)
    assert not copies_warning(as_rows(cr.Gaussian(rng.integers(3, size=500) / 2, np.ones(500)), counts))


def test_copies_of_real_values_and_members() -> None:
    rng = np.random.default_rng(3)
    mean, labels = rng.normal(size=100), rng.normal(size=100)
    twice = np.tile(np.arange(100), 2)
    assert copies_warning(as_rows(cr.Gaussian(mean[twice], np.ones(200)), labels[twice]))
    members = rng.dirichlet(np.ones(3), size=(100, 4))
    classes = rng.integers(3, size=100)
    assert copies_warning(as_rows(cr.Ensemble(members[twice], member_axis=1), classes[twice]))


def test_copies_as_clusters_keep_the_level() -> None:
    plain, apart = [], []
    for seed in range(40):
        probs, labels = doubled(seed)
        settings = {"statistics": "skce", "n_resamples": 99, "rng": seed}
        plain.append(cr.calibration_test(probs, labels, **settings).rejects())
        result = cr.calibration_test(probs, labels, clusters="copies", **settings)
        assert result.n_clusters == 150
        apart.append(result.rejects())
    assert sum(plain) >= 12  # 17 of 40 in one run
    assert sum(apart) <= 6  # 2 are expected, and 7 or more have a probability of .003
    assert not copies_warning(as_rows(*doubled(0), clusters="copies"))
    whole = cr.evaluate(*doubled(0), clusters="copies", **FEW)
    assert whole.predictions.n_clusters == 150
    assert not any("copies" in warning for warning in whole.warnings)
    with pytest.raises(cr.InputError, match="needs labels"):
        as_rows(doubled(0)[0], clusters="copies").cluster_codes()


@pytest.mark.parametrize("chunk_rows", [40, 300])
def test_chunks_find_the_same_copies(chunk_rows: int) -> None:
    probs, labels = doubled(5)
    cut = cr.brier(cr.scan(probs, labels, chunk_rows=chunk_rows), clusters="copies")
    assert cut.n_clusters == 150
    assert cut.stderr == pytest.approx(cr.brier(probs, labels, clusters="copies").stderr)


def test_copies_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from credibly.cli.app import main

    probs, labels = doubled(6)
    np.savez(tmp_path / "a.npz", probs=probs, y=labels)
    arguments = ["evaluate", str(tmp_path / "a.npz"), "--n-resamples", "39"]
    assert main(arguments) == 0
    assert "`--clusters copies`" in capsys.readouterr().err
    assert main([*arguments, "--clusters", "copies", "--json"]) == 0
    assert '"n_clusters": 150' in capsys.readouterr().out
