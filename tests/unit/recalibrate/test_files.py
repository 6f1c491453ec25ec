"""Recalibrations that are not there."""

from __future__ import annotations

import pytest

import credibly as cr


def test_a_missing_file_is_called_missing(tmp_path) -> None:
    with pytest.raises(cr.FileError, match="must exist"):
        cr.recalibrate.load(tmp_path / "nothing.json")
