"""Run every example that a reader meets: Markdown documents and docstrings.

In a Markdown document the fenced blocks run from top to bottom in one namespace and one empty
working folder:

- ``python`` blocks run; where they hold ``>>>`` prompts their output is compared,
- ``console`` blocks: each line that starts with ``$ credibly`` runs and must exit with 0.

A block right after ``<!-- not run: reason -->`` is left out, and the reason is printed.
Docstrings: every ``>>>`` example of every module, and of the public objects that are no functions.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import inspect
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from surface import modules, public_objects

ROOT = Path(__file__).resolve().parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>\w*)[^`\n]*$")
NOT_RUN = re.compile(r"<!-- not run: (?P<reason>.+?) -->")


@dataclass(frozen=True)
class Block:
    """One fenced block: language, text, line of its first character, reason not to run it."""

    language: str
    text: str
    line: int
    not_run: str | None


def main() -> int:
    """Run all examples; return 1 where one fails or a document is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "documents", nargs="*", type=Path, help="default: README.md, docs/**/*.md, studies/pages/*.md"
    )
    parser.add_argument("--package", help="the package whose docstring examples run")
    arguments = parser.parse_args()
    documents = [document.resolve() for document in arguments.documents]
    if not documents and not arguments.package:
        documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        documents += sorted((ROOT / "studies" / "pages").glob("*.md"))
        arguments.package = "credibly"

    os.environ.setdefault("MPLBACKEND", "agg")
    failed = 0
    for document in documents:
        failed += run_document(document)
    if arguments.package:
        failed += run_docstrings(arguments.package)
    return 1 if failed else 0


def run_document(document: Path) -> int:
    """Run one document's blocks in order; return how many failed."""
    name = document.relative_to(ROOT) if document.is_relative_to(ROOT) else document
    namespace: dict[str, Any] = {"__name__": "__main__"}
    ran = failed = 0
    text = document.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks(text):
            where = f"{name}:{block.line}"
            if block.not_run:
                print(f"{where}: not run, {block.not_run}")
                continue
            if block.language == "python" and ">>>" in block.text:
                failed += _run_doctest(block.text, namespace, where, block.line - 1)
            elif block.language == "python":
                failed += _run_script(block.text, namespace, document, block.line)
            elif block.language == "console":
                failed += _run_commands(block.text, where)
            else:
                continue
            ran += 1
    print(f"{name}: {ran} examples, {failed} failed")
    return failed


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown text."""
    lines = text.splitlines()
    start: int | None = None
    opening: re.Match[str] | None = None
    reason: str | None = None
    for number, line in enumerate(lines, start=1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                opening, start = fence, number + 1
            elif line.strip():
                mark = NOT_RUN.search(line)
                reason = mark["reason"] if mark else None
        elif fence and fence["ticks"] == opening["ticks"] and not fence["language"]:
            assert start is not None
            indent = len(opening["indent"])
            body = "".join(f"{row[indent:]}\n" for row in lines[start - 1 : number - 1])
            yield Block(opening["language"], body, start, reason)
            opening = reason = None


def run_docstrings(package_name: str) -> int:
    """Run the docstring examples of a package; return how many docstrings failed."""
    package = import_module(package_name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for module in modules(package) for test in finder.find(module)]
    found = {test.docstring for test in examples}
    # Statistics are objects, which the finder does not look into.
    parser = doctest.DocTestParser()
    examples += [
        parser.get_doctest(inspect.getdoc(value) or "", {}, name, None, None)
        for name, value in public_objects(package)
        if value.__doc__ not in found
    ]

    tests = [test for test in examples if test.examples]
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        failed = sum(bool(runner.run(test).failed) for test in tests)
    print(f"{package_name}: {len(tests)} docstrings with examples, {failed} failed")
    return failed


def _run_doctest(text: str, namespace: dict[str, Any], where: str, line: int) -> int:
    test = doctest.DocTestParser().get_doctest(text, {}, where, where, line)
    test.globs = namespace  # later blocks see the names of earlier ones
    return int(bool(doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False).failed))


def _run_script(text: str, namespace: dict[str, Any], document: Path, line: int) -> int:
    padded = "\n" * (line - 1) + text  # tracebacks then show the document's own line numbers
    try:
        exec(compile(padded, str(document), "exec"), namespace)
    except Exception:  # noqa: BLE001 - whatever an example raises is a failed example
        traceback.print_exc(file=sys.stdout)
        return 1
    return 0


def _run_commands(text: str, where: str) -> int:
    failed = 0
    command_folder = Path(sys.executable).parent
    for line in text.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if not line.startswith("$ ") or words[:1] != ["credibly"]:
            continue
        command = [str(command_folder / "credibly"), *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{where}: `{line}` exits with {done.returncode}\n{done.stdout}{done.stderr}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
