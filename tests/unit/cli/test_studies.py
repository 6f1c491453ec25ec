"""`credibly study` without its package: what it says, and that any package can bring studies."""

from __future__ import annotations

import json
import types

import pytest

from credibly.cli import studies
from unit.cli.runs import Command


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[types.SimpleNamespace]:
    """Entry points that the verb finds: none until a test adds one."""
    points: list[types.SimpleNamespace] = []

    def entry_points(*, group: str) -> list[types.SimpleNamespace]:
        assert group == "credibly.studies"
        return points

    monkeypatch.setattr(studies, "entry_points", entry_points)
    return points


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("m23-fig1", "--size", "full")])
def test_without_studies_the_command_that_installs_them_is_named(
    words: tuple[str, ...], credibly: Command, installed: list[types.SimpleNamespace]
) -> None:
    ran = credibly("study", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "credibly: `credibly study` needs the package credibly-studies; it is not installed. "
        "Run `pip install ./studies` in a checkout of credibly.\n"
    )


def test_studies_of_all_packages_are_listed(
    credibly: Command, installed: list[types.SimpleNamespace]
) -> None:
    def study(name: str) -> types.SimpleNamespace:
        return types.SimpleNamespace(entry=lambda: dict.fromkeys(studies.LISTED, name))

    for names in (("first", "second"), ("third",)):
        brought = {name: study(name) for name in names}
        installed.append(types.SimpleNamespace(load=lambda brought=brought: brought))
    ran = credibly("study", "list", "--json")
    assert ran.code == 0, ran.err
    assert [entry["name"] for entry in json.loads(ran.out)["entries"]] == ["first", "second", "third"]
    assert "Did you mean 'third'?" in credibly("study", "thirt").err
