"""Print the declared minimum of every core dependency as an exact requirement, for `make test-minimum`.

The one list is `dependencies` of pyproject.toml: "numpy>=2.0" becomes "numpy==2.0". Given names
of extras, it prints theirs too.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
TEST_TOOLS = ("array-api-strict", "hypothesis", "pytest", "pytest-xdist")
"""What the tests themselves import; everything else of `dev` is an extra, a checker or a builder of pages."""

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?P<extras>\[[^]]*\])?>=(?P<version>[0-9][0-9.]*)")


def minimum(requirement: str) -> str:
    """Return "name==version" for "name>=version"; every dependency of this project has just that form."""
    found = _REQUIREMENT.fullmatch(requirement)
    if found is None:
        raise SystemExit(f"{PROJECT.name}: {requirement!r} must have the form name>=version")
    return f"{found['name']}{found['extras'] or ''}=={found['version']}"


def main() -> None:
    """Print one requirement per line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", help="extras whose minimum is wanted as well")
    parser.add_argument("--test-tools", action="store_true", help="also what the tests import, any version")
    arguments = parser.parse_args()
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted = list(project["dependencies"])
    for extra in arguments.extras:
        wanted += [text for text in optional[extra] if not text.startswith("credibly[")]
    print(*map(minimum, wanted), sep="\n")
    if arguments.test_tools:
        tools = [one for one in optional["dev"] if re.split("[>=[]", one)[0] in TEST_TOOLS]
        print(*tools, sep="\n")


if __name__ == "__main__":
    main()
