"""Networks trained for studies: better than chance, remade from the seed, read from the cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from credibly import InputError
from credibly_studies.networks import MODELS, Network, images, trained_network

QUICK = Network(members=2, hidden=(16,), epochs=5)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CREDIBLY_CACHE", str(tmp_path))
    return tmp_path


def test_parts_are_all_images_each_once() -> None:
    parts = images("digits")
    assert [part.labels.size for part in parts.values()] == [599, 599, 599]
    together = np.concatenate([part.pixels for part in parts.values()])
    from sklearn.datasets import load_digits

    every = load_digits().data / 16.0
    np.testing.assert_array_equal(together[np.lexsort(together.T)], every[np.lexsort(every.T)])


def test_training_learns_and_is_remade_from_its_seed(cache: Path) -> None:
    test = images("digits")["test"]
    first = trained_network("digits", QUICK).probs(test.pixels)
    assert first.shape == (599, 2, 10)
    assert (first.mean(axis=1).argmax(axis=1) == test.labels).mean() > 0.7  # chance: 0.1
    (file,) = cache.iterdir()
    file.unlink()
    np.testing.assert_array_equal(trained_network("digits", QUICK).probs(test.pixels), first)
    other = trained_network("digits", QUICK, seed=1).probs(test.pixels)
    assert np.abs(other - first).max() > 0.01
    assert len(list(cache.iterdir())) == 2


def test_members_and_passes_differ(cache: Path) -> None:
    pixels = images("digits")["test"].pixels[:20]
    dropout = trained_network("digits", Network(dropout=0.5, passes=3, hidden=(16,), epochs=2))
    probs = dropout.probs(pixels)
    assert probs.shape == (20, 3, 10)
    assert np.abs(probs[:, 0] - probs[:, 1]).max() > 0.01
    np.testing.assert_array_equal(dropout.probs(pixels), probs)
    assert np.abs(dropout.probs(pixels, seed=1) - probs).max() > 0.01
    members = trained_network("digits", QUICK).predict(pixels)
    assert np.abs(members.probs[:, 0] - members.probs[:, 1]).max() > 0.01


@pytest.mark.slow
def test_a_member_alone_learns_as_in_company(cache: Path) -> None:
    """Members share a program, not a gradient: their accuracy does not depend on how many there are."""
    test = images("digits")["test"]
    alone = trained_network("digits", Network(hidden=(32,), epochs=20)).probs(test.pixels)
    many = trained_network("digits", Network(members=4, hidden=(32,), epochs=20)).probs(test.pixels)
    hits = (many.argmax(axis=2) == test.labels[:, None]).mean(axis=0)
    assert abs((alone[:, 0].argmax(axis=1) == test.labels).mean() - hits.mean()) < 0.03


def test_models_are_the_four_of_the_papers() -> None:
    made = [(one.members, one.dropout > 0, one.passes) for one in MODELS.values()]
    assert made == [(1, False, 1), (1, True, 10), (1, True, 10), (10, False, 1)]


def test_refusals(cache: Path) -> None:
    with pytest.raises(InputError, match="digits"):
        images("letters")
    with pytest.raises(InputError, match="deep ensemble"):
        trained_network("digits", "deep")
    with pytest.raises(InputError, match="64 columns"):
        trained_network("digits", QUICK).probs(np.zeros((3, 5)))
