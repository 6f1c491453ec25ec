"""Libraries of the extras: a test that touches one is skipped where it is not installed."""

from __future__ import annotations

from typing import Any

import pytest


class Optional:
    """A library that is imported when a test first asks for something in it."""

    def __init__(self, name: str, extra: str) -> None:
        self._name, self._extra = name, extra

    def __getattr__(self, wanted: str) -> Any:
        if wanted.startswith("_"):  # pytest asks every name in a module what it is
            raise AttributeError(wanted)
        return getattr(pytest.importorskip(self._name, reason=f"needs the extra {self._extra}"), wanted)


torch = Optional("torch", "torch")
pandas = Optional("pandas", "dev")
