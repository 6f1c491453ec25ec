"""Reports without the drawing, which takes most of their time, for tests of words, tables and files."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from credibly.plots.display import Display, new_axes
from credibly.report import html_parts, svg

_axes = functools.cache(new_axes)


def _announced(figure: Any, prefix: str, title: str, finding: str) -> str:
    """Return an empty picture that says what the drawn one would say."""
    root = ET.Element("svg")
    svg._announce(root, prefix, title, finding)
    return ET.tostring(root, encoding="unicode")


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures of a report empty: every figure keeps its place, sentence and table."""
    monkeypatch.setattr(html_parts, "new_axes", _axes)
    monkeypatch.setattr(Display, "draw", lambda self, ax=None, **given: _axes() if ax is None else ax)
    monkeypatch.setattr(html_parts, "inline_svg", _announced)
