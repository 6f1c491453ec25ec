"""Scripts inside a page, each allowed by its hash: no other can run, whatever a file names its classes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files


def packaged(name: str) -> str:
    """Return the text of a file of this room."""
    return files("credibly.report").joinpath(name).read_text(encoding="utf-8")


def content_policy(scripts: Sequence[str]) -> str:
    """Return the policy of a page: nothing from outside, its own styles, and exactly these scripts.

    Parameters
    ----------
    scripts : sequence of str
        Text of each script element, as it stands between its tags.

    Returns
    -------
    str
        Value of the Content-Security-Policy.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if not scripts:
        return policy
    hashes = (base64.b64encode(hashlib.sha256(one.encode("utf-8")).digest()).decode() for one in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return f"{policy}; script-src {allowed}"
