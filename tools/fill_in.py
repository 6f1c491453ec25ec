r"""Fill in the placeholders of a project that has no home yet: addresses and the maintainer.

    make fill-in REPOSITORY=https://host/owner/credibly DOCUMENTATION=https://docs.host/credibly \
        MAINTAINER="First Last" EMAIL=name@host

Every tracked file that holds a placeholder is rewritten. Files that still hold one are listed, with exit
status 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

PLACEHOLDERS = {
    "repository": "https://example.invalid/OWNER/credibly",
    "documentation": "https://docs.example.invalid/credibly",
    "maintainer": "MAINTAINER",
    "email": "maintainer@example.invalid",
}
HERE = {"tools/fill_in.py", "Makefile"}  # these name the placeholders, or options that are called alike


def main() -> int:
    """Rewrite the files, or list those that wait."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, placeholder in PLACEHOLDERS.items():
        parser.add_argument(f"--{name}", default="", metavar="TEXT", help=f"in place of {placeholder}")
    parser.add_argument("--root", type=Path, default=Path.cwd())
    asked = vars(parser.parse_args())
    values = {
        placeholder: asked[name].rstrip("/") for name, placeholder in PLACEHOLDERS.items() if asked[name]
    }
    waiting = []
    for path in tracked(asked["root"]):
        before = path.read_text(encoding="utf-8")
        after = before
        for placeholder, value in values.items():
            after = after.replace(placeholder, value)
        if after != before:
            path.write_text(after, encoding="utf-8")
        if any(placeholder in after for placeholder in PLACEHOLDERS.values()):
            waiting.append(path.relative_to(asked["root"]).as_posix())
    for name in waiting:
        print(f"{name}: placeholders are left")
    return 1 if waiting else 0


def tracked(root: Path) -> list[Path]:
    """Return the text files that Git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    paths = [root / name for name in listed.stdout.split("\0") if name and name not in HERE]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:4096]]


if __name__ == "__main__":
    sys.exit(main())
