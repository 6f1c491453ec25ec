"""Files that the verbs read, and the command line as a function that gives code, stdout and stderr."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from credibly.cli import main
from unit.cli.runs import Command, Ran, World, make_world


@pytest.fixture
def credibly(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Ran(code, *capsys.readouterr())

    return run


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
