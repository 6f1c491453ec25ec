"""The command line as a function, and files that the verbs read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unit.cli.runs import World, credibly, few_digits, make_world

__all__ = ["credibly", "few_digits"]


@pytest.fixture(autouse=True)
def _words_alone(without_pictures: None) -> None:
    """Draw no pictures here: what they show is not the command line's business."""


@pytest.fixture(scope="session")
def world() -> World:
    return make_world()


@pytest.fixture
def calibrated(world: World, tmp_path: Path) -> Path:
    path = tmp_path / "calibrated.npz"
    np.savez(path, probs=world.calibrated, y=world.labels)
    return path


@pytest.fixture
def overconfident(world: World, tmp_path: Path) -> Path:
    path = tmp_path / "overconfident.npz"
    np.savez(path, probs=world.overconfident, y=world.labels)
    return path


@pytest.fixture
def members(world: World, tmp_path: Path) -> Path:
    path = tmp_path / "members.npz"
    np.savez(path, probs=world.members, y=world.labels)
    return path
