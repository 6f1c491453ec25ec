"""One adapter per package: a few lines per measure that call it as its users do."""

from __future__ import annotations


class NotOffered(Exception):
    """The package has no such setting, or takes no such input."""


def require(offered: bool, what: str = "") -> None:
    """Raise where a package does not offer what a case asks for."""
    if not offered:
        raise NotOffered(what)
