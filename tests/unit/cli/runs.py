"""What the tests of the command line share: sizes, predictions whose truth is known, what a run gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from credibly.cli import main
from credibly.io import demo

N, M, K = 200, 4, 3
FAST = ("--n-resamples", 99)


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, str]]:
        """The TSV on stdout, one dictionary per row."""
        header, *lines = [line.split("\t") for line in self.out.splitlines()]
        return [dict(zip(header, line, strict=True)) for line in lines]


Command = Callable[..., Ran]


@pytest.fixture
def credibly(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line as a function that gives code, stdout and stderr."""

    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture
def few_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `credibly demo` see 150 of its rows; `make demo` and the browser see all of them."""
    monkeypatch.setattr("credibly.cli.reports.demo_data", lambda model: demo(model).rows(slice(0, 150)))


class World(NamedTuple):
    """Labels drawn from `calibrated`; `overconfident` is the same, sharpened."""

    calibrated: np.ndarray[Any, Any]
    overconfident: np.ndarray[Any, Any]
    members: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]


def make_world() -> World:
    rng = np.random.default_rng(20)
    probs = rng.dirichlet(np.ones(K), size=N)
    labels = (rng.random((N, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    sharp = probs**4
    members = rng.dirichlet(np.ones(K), size=(N, M))
    return World(probs, sharp / sharp.sum(axis=1, keepdims=True), members, labels)
