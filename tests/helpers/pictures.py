"""Marks of a picture by name; reports without the drawing, for tests of words, tables and files.

Drawing takes most of the time of a report.
"""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET
from typing import Any

import pytest


def _announced(figure: Any, prefix: str, title: str, finding: str) -> str:
    """Return an empty picture that says what the drawn one would say."""
    from credibly.report import svg

    root = ET.Element("svg")
    svg._announce(root, prefix, title, finding)
    return ET.tostring(root, encoding="unicode")


@functools.cache
def _axes(*size: Any) -> Any:
    from credibly.plots import new_axes

    return new_axes(*size)


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures of a report empty: every figure keeps its place, sentence and table."""
    from credibly.plots import Picture  # here, as all processes of a run load this file, and few need it
    from credibly.report import html_parts

    monkeypatch.setattr(html_parts, "new_axes", _axes)
    monkeypatch.setattr(Picture, "draw", lambda self, ax=None, **given: _axes() if ax is None else ax)
    monkeypatch.setattr(html_parts, "inline_svg", _announced)


def marked(picture: Any, label: str) -> tuple[Any, ...]:
    """Return the data of the one mark with this name in the key."""
    (found,) = [mark for mark in picture.marks if mark.label == label]
    return found.data  # type: ignore[no-any-return]
