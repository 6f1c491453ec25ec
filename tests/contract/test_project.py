"""Facts about the project around the package, which break silently when nobody looks."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import credibly
from credibly._arrays.results import jsonable
from credibly.studies import studies

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGE = ROOT / "src" / "credibly"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def run_tool(name: str, *arguments: str | Path, path: Path) -> subprocess.CompletedProcess[str]:
    """Run tools/NAME in the folder `path`, from which Python can import too."""
    # no bytecode: a test that rewrites a file within a second would be read its first version
    environment = os.environ | {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(ROOT / "tools" / name), *map(str, arguments)]
    return subprocess.run(
        command, cwd=path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


# Version and licence


def test_version_is_written_once() -> None:
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    source = ROOT / PYPROJECT["tool"]["hatch"]["version"]["path"]
    naming = [path for path in PACKAGE.rglob("*.py") if "__version__" in path.read_text(encoding="utf-8")]
    written = {
        path
        for path in naming
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
    }
    assert written == {source}
    assert re.fullmatch(r"\d+\.\d+\.\d+", credibly.__version__)


def test_citation_names_this_version_and_licence() -> None:
    citation = read("CITATION.cff")
    assert f"\nversion: {credibly.__version__}\n" in citation
    assert f"\nlicense: {PYPROJECT['project']['license']}\n" in citation


def test_licence_is_an_spdx_expression_with_its_text() -> None:
    assert PYPROJECT["project"]["license"] == "MIT"
    assert read("LICENSE").startswith("MIT License\n")


# Dependencies


def constraints() -> dict[str, str]:
    lines = [line for line in read("constraints.txt").splitlines() if not line.startswith("#")]
    # Exact, and nothing but names and versions: no URL, no path, no local label such as +cpu.
    pinned = [re.fullmatch(r"([A-Za-z0-9._-]+)==([0-9][A-Za-z0-9.]*)", line) for line in lines]
    bad = [line for line, match in zip(lines, pinned, strict=True) if match is None]
    assert not bad
    return {canonicalize_name(match[1]): match[2] for match in pinned if match}


def requirements() -> list[Requirement]:
    extras = PYPROJECT["project"]["optional-dependencies"].values()
    listed = [*PYPROJECT["project"]["dependencies"], *(line for extra in extras for line in extra)]
    return [Requirement(line) for line in listed if not line.startswith("credibly[")]


def test_constraints_pin_the_tested_torch_and_no_cuda() -> None:
    pins = constraints()
    assert pins["torch"] == "2.13.0"
    assert not [name for name in pins if name.startswith(("nvidia", "cuda", "triton"))]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda requirement: requirement.name)
def test_constraints_satisfy_every_declared_dependency(requirement: Requirement) -> None:
    version = constraints().get(canonicalize_name(requirement.name))
    assert version is not None, f"{requirement.name} is not pinned in constraints.txt"
    assert requirement.specifier.contains(version)


# The wheel


def test_wheel_holds_the_data_the_type_marker_and_the_command(tmp_path: Path) -> None:
    built = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"credibly-{credibly.__version__}-")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        metadata = archive.read(f"credibly-{credibly.__version__}.dist-info/METADATA").decode()
        commands = archive.read(f"credibly-{credibly.__version__}.dist-info/entry_points.txt")
    on_disk = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "credibly/py.typed" in on_disk
    assert {name for name in inside if name.startswith("credibly/")} == on_disk
    assert "\nLicense-Expression: MIT\n" in metadata
    assert b"credibly = credibly.cli:main" in commands


# make


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", read("Makefile"), flags=re.MULTILINE))


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_documented_make_targets_exist(document: str) -> None:
    # In code only: "GNU make and Python" is no target.
    commands = re.findall(r"(?:^ {4}|^step |`)make ([a-z]+)\b", read(document), flags=re.MULTILINE)
    named = set(commands)
    assert "test" in named
    assert named <= make_targets()


def test_demo_installs_less_than_test() -> None:
    rules = dict(re.findall(r"^([a-z]+): (\.venv/\.\w+)", read("Makefile"), flags=re.MULTILINE))
    assert rules["demo"] == ".venv/.core"
    assert rules["test"] == ".venv/.dev"


def test_make_without_a_python_says_what_is_missing(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    done = run("make", "test", "PYTHON=", cwd=tmp_path)
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stderr
    assert "make test PYTHON=" in done.stderr
    assert not (tmp_path / ".venv").exists()


# Import arrows


def rooms() -> set[str]:
    return {f"credibly.{path.parent.name}" for path in PACKAGE.glob("*/__init__.py")}


def arrows() -> dict[str, list[str]]:
    modules = tomllib.loads(read("tach.toml"))["modules"]
    return {module["path"]: module["depends_on"] for module in modules}


def check_arrows(copy: Path) -> subprocess.CompletedProcess[str]:
    return run(Path(sys.executable).with_name("tach"), "check", cwd=copy)


@pytest.fixture
def project_copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "tach.toml", tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "src" / "credibly")
    return tmp_path


def test_every_room_has_arrows_and_every_arrow_a_room() -> None:
    assert set(arrows()) == rooms() | {"credibly"}


def test_credal_and_statistics_do_not_see_each_other() -> None:
    assert "credibly.statistics" not in arrows()["credibly.credal"]
    assert "credibly.credal" not in arrows()["credibly.statistics"]


@pytest.mark.parametrize("room", ["credibly.plots", "credibly.report"])
def test_what_draws_cannot_compute(room: str) -> None:
    assert not {"credibly.statistics", "credibly.hypotests", "credibly.credal"} & set(arrows()[room])


@pytest.mark.slow
def test_all_imports_follow_the_arrows(project_copy: Path) -> None:
    done = check_arrows(project_copy)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_wrong_way_import_is_found_with_file_and_line(project_copy: Path) -> None:
    wrong = project_copy / "src" / "credibly" / "predictions" / "wrong_way.py"
    wrong.write_text("import math\nfrom credibly.statistics import brier\n", encoding="utf-8")
    done = check_arrows(project_copy)
    assert done.returncode == 1
    assert "src/credibly/predictions/wrong_way.py:2" in done.stdout + done.stderr


# Studies of papers


@pytest.mark.slow
def test_the_page_of_claims_is_what_the_results_give() -> None:
    done = run(sys.executable, "tools/make_learned_page.py", "--check")
    assert done.returncode == 0, done.stderr


def test_every_study_has_its_results_on_record_at_full_size() -> None:
    folder = ROOT / "docs" / "studies" / "results"
    recorded = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*/result.json")]
    assert {(one["name"], one["size"]) for one in recorded} == {(name, "full") for name in studies()}
    for one in recorded:  # at the size that the command would run now
        assert one["settings"]["size"] == jsonable(studies()[one["name"]].full), one["name"]


# The tools that continuous integration trusts must be able to say no


@pytest.mark.slow
def test_examples_in_documents_are_really_run(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    good = "```python\nx = 1\n```\n\ntext\n\n```python\n>>> x + 1\n2\n```\n"
    document.write_text(good, encoding="utf-8")
    done = run_tool("run_examples.py", document, path=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{document}: 2 examples, 0 failed\n")

    document.write_text(good + "\n```python\nx / 0\n```\n", encoding="utf-8")
    done = run_tool("run_examples.py", document, path=tmp_path)
    assert done.returncode == 1
    assert f'"{document}", line 13' in done.stdout

    document.write_text(good.replace("\n2\n", "\n3\n"), encoding="utf-8")
    assert run_tool("run_examples.py", document, path=tmp_path).returncode == 1

    document.write_text("```console\n$ credibly no-such-verb\n```\n", encoding="utf-8")
    assert run_tool("run_examples.py", document, path=tmp_path).returncode == 1


def test_an_example_left_out_gives_its_reason(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("<!-- not run: needs a GPU -->\n\n```python\n1 / 0\n```\n", encoding="utf-8")
    done = run_tool("run_examples.py", document, path=tmp_path)
    assert done.returncode == 0
    assert "page.md:4: not run, needs a GPU" in done.stdout


PACKAGE_WITH_ONE_FUNCTION = '''
"""A package."""
__all__ = ["halve"]


def halve(value):
    """Halve a number.

    Parameters
    ----------
    {parameter} : float
        The number.

    Returns
    -------
    float
        Half of it.

    Examples
    --------
    >>> halve(3.0)
    {half}
    """
    return value / 2
'''


@pytest.mark.parametrize(
    ("parameter", "half", "docstrings", "examples"),
    [("value", "1.5", 0, 0), ("values", "1.5", 1, 0), ("value", "1.6", 0, 1)],
)
def test_docstrings_are_validated_and_run(
    parameter: str, half: str, docstrings: int, examples: int, tmp_path: Path
) -> None:
    (tmp_path / "halves").mkdir()
    source = PACKAGE_WITH_ONE_FUNCTION.format(parameter=parameter, half=half)
    (tmp_path / "halves" / "__init__.py").write_text(source, encoding="utf-8")
    done = run_tool("check_docstrings.py", "halves", path=tmp_path)
    assert done.returncode == docstrings, done.stdout + done.stderr
    done = run_tool("run_examples.py", "--package", "halves", path=tmp_path)
    assert done.returncode == examples, done.stdout + done.stderr


PACKAGE_WITH_ONE_STATISTIC = '''
"""A package."""
__all__ = ["half"]


class Half:
    """Half of a number."""

    def __call__(self, value):
        """Halve a number.

        Parameters
        ----------
        value : float
            The number.

        Returns
        -------
        float
            Half of it.
        """
        return value / 2


half = Half()
half.__doc__ = """Half of a number.

>>> 3.0 / 2
1.6
"""
'''


def test_statistics_are_read_although_they_are_objects(tmp_path: Path) -> None:
    (tmp_path / "halves").mkdir()
    source = tmp_path / "halves" / "__init__.py"
    source.write_text(PACKAGE_WITH_ONE_STATISTIC, encoding="utf-8")
    done = run_tool("check_docstrings.py", "halves", path=tmp_path)
    assert done.stdout == "halves.half: EX01 No examples section found\n"
    done = run_tool("run_examples.py", "--package", "halves", path=tmp_path)
    assert (done.returncode, "1 docstrings with examples, 1 failed" in done.stdout) == (1, True)

    undocumented = PACKAGE_WITH_ONE_STATISTIC.replace("        value : float", "        other : float")
    source.write_text(undocumented, encoding="utf-8")
    done = run_tool("check_docstrings.py", "halves", path=tmp_path)
    assert "Half.__call__: PR01 Parameters {'value'} not documented" in done.stdout


@pytest.mark.slow
def test_skipped_tests_are_counted_with_their_reasons(tmp_path: Path) -> None:
    (tmp_path / "test_three.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "@pytest.mark.skip(reason='no chromium on PATH')\n"
        "def test_skipped(): pass\n"
        "def test_bad(): assert 0\n",
        encoding="utf-8",
    )
    run(sys.executable, "-m", "pytest", "-c", "/dev/null", "--junitxml=three.xml", cwd=tmp_path)
    done = run_tool("summarise_tests.py", "three.xml", path=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "1 skipped: no chromium on PATH",
        "tests: 1 passed, 1 failed, 1 skipped",
    ]

    bare = '<testsuite><testcase name="a"><skipped message=""/></testcase></testsuite>'
    (tmp_path / "bare.xml").write_text(bare, encoding="utf-8")
    assert run_tool("summarise_tests.py", "bare.xml", path=tmp_path).returncode == 1


def test_slow_tests_without_the_marker_are_named(tmp_path: Path) -> None:
    def case(name: str, cpu: float, quick: str) -> str:
        facts = f'<property name="cpu" value="{cpu}"/><property name="quick" value="{quick}"/>'
        return f'<testcase classname="a" name="{name}"><properties>{facts}</properties></testcase>'

    fast, marked, dear = case("fast", 0.4, "yes"), case("marked", 3.0, "no"), case("dear", 0.6, "yes")
    (tmp_path / "good.xml").write_text(f"<testsuite>{fast}{marked}</testsuite>", encoding="utf-8")
    done = run_tool("slow_tests.py", "good.xml", path=tmp_path)
    assert done.returncode == 0
    assert done.stdout == "all:   2 tests, 3 s of one core\nquick: 1 tests, 0 s of one core\n"

    (tmp_path / "bad.xml").write_text(f"<testsuite>{fast}{marked}{dear}</testsuite>", encoding="utf-8")
    done = run_tool("slow_tests.py", "bad.xml", path=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[2:] == ["    0.60 s  a::dear should be marked slow"]

    (tmp_path / "none.xml").write_text("<testsuite><testcase name='a'/></testsuite>", encoding="utf-8")
    done = run_tool("slow_tests.py", "none.xml", path=tmp_path)
    assert done.returncode == 1
    assert "does not say what a test cost" in done.stderr
