"""Facts about the project around the package, which break silently when nobody looks."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import credibly
from costs import dear_first

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGE = ROOT / "src" / "credibly"
STUDIES = tomllib.loads((ROOT / "studies" / "pyproject.toml").read_text(encoding="utf-8"))
STUDIES_PACKAGE = ROOT / "studies" / "src" / "credibly_studies"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def run_tool(name: str, *arguments: str | Path, path: Path) -> subprocess.CompletedProcess[str]:
    """Run tools/NAME in the folder `path`, from which Python can import too."""
    if name == "check_docstrings.py":
        pytest.importorskip("numpydoc", reason="needs numpydoc (extra `dev`)")
    # no bytecode: a test that rewrites a file within a second would be read its first version
    environment = os.environ | {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(ROOT / "tools" / name), *map(str, arguments)]
    return subprocess.run(
        command, cwd=path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


# Version and licence


def test_the_version_is_the_tag_of_the_repository() -> None:
    assert "version" in PYPROJECT["project"]["dynamic"]
    for project in (PYPROJECT, STUDIES):
        assert project["tool"]["hatch"]["version"]["source"] == "vcs"
    assert credibly.__version__ == importlib.metadata.version("credibly")
    assert re.match(r"\d+\.\d+", credibly.__version__)


def test_citation_names_the_licence() -> None:
    assert f"\nlicense: {PYPROJECT['project']['license']}\n" in read("CITATION.cff")


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
    own = [*PYPROJECT["project"]["dependencies"], *STUDIES["project"]["dependencies"]]
    listed = dict.fromkeys([*own, *(line for extra in extras for line in extra)])
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


def test_hooks_use_the_pinned_ruff() -> None:
    assert read(".pre-commit-config.yaml").count(f"ruff=={constraints()['ruff']}]") == 2


# Placeholders


def test_placeholders_are_filled_in_by_one_command(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    held = (
        "pyproject.toml",
        "SECURITY.md",
        "SUPPORT.md",
        ".github/ISSUE_TEMPLATE/config.yml",
    )
    for name in held:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    run("git", "init", "-q", cwd=copy)
    run("git", "add", "-A", cwd=copy)
    waiting = run_tool("fill_in.py", path=copy)
    assert waiting.returncode == 1
    assert {line.split(":")[0] for line in waiting.stdout.splitlines()} == set(held)
    words = (
        "--repository https://host/me/credibly/ --documentation https://docs --maintainer Me --email me@host"
    )
    filled = run_tool("fill_in.py", *words.split(), path=copy)
    assert (filled.returncode, filled.stdout) == (0, "")
    project = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Issues"] == "https://host/me/credibly/issues"
    assert project["maintainers"] == [{"name": "Me", "email": "me@host"}]


def test_an_index_page_has_whole_addresses(tmp_path: Path) -> None:
    _, metadata, _ = build_wheel(ROOT, tmp_path)
    page = metadata.partition("\n\n")[2]
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert len(links) > 20
    assert not [link for link in links if not link.startswith("https://")]


# The wheel


def test_every_verb_is_tried_in_the_built_package() -> None:
    import try_package
    from credibly.calls.verbs import VERBS

    assert {verb for verb in VERBS if not any(call.startswith(verb) for call in try_package.CALLS)} <= {
        "study"
    }


def build_wheel(project: Path, out: Path) -> tuple[set[str], str, str]:
    """Return the names of the files in a project's wheel, its metadata and its entry points."""
    pytest.importorskip("hatchling", reason="needs hatchling (extra `dev`)")
    built = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=project)
    assert built.returncode == 0, built.stderr
    (wheel,) = out.glob("*.whl")
    name = "-".join(wheel.name.split("-")[:2])
    with zipfile.ZipFile(wheel) as archive:
        about = [
            archive.read(f"{name}.dist-info/{part}").decode() for part in ("METADATA", "entry_points.txt")
        ]
        return set(archive.namelist()), about[0], about[1]


def files_of(package: Path) -> set[str]:
    return {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_holds_the_data_the_type_marker_and_the_command(tmp_path: Path) -> None:
    inside, metadata, commands = build_wheel(ROOT, tmp_path)
    assert "credibly/py.typed" in files_of(PACKAGE)
    assert {name for name in inside if ".dist-info/" not in name} == files_of(PACKAGE)
    assert "\nLicense-Expression: MIT\n" in metadata
    assert "credibly = credibly.cli:main" in commands


def test_studies_are_a_wheel_of_their_own_plugged_in_by_an_entry_point(tmp_path: Path) -> None:
    inside, metadata, plugs = build_wheel(ROOT / "studies", tmp_path)
    assert {name for name in inside if ".dist-info/" not in name} == files_of(STUDIES_PACKAGE)
    assert "\nName: credibly-studies\n" in metadata
    assert "[credibly.studies]" in plugs


@pytest.mark.parametrize("package", [PACKAGE, STUDIES_PACKAGE], ids=lambda package: package.name)
def test_installed_code_knows_no_path_beside_the_repository(package: Path) -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert not [path for path, text in sources.items() if "../" in text]


# make


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_documented_make_targets_exist(document: str) -> None:
    # In code only: "GNU make and Python" is no target.
    commands = re.findall(r"(?:^ {4}|^step |`)make ([a-z-]+)\b", read(document), flags=re.MULTILINE)
    named = {*commands, *re.findall(r"^tested ([a-z-]+)", read(document), flags=re.MULTILINE)}
    assert "test" in named
    assert named <= make_targets()


def test_demo_installs_less_than_test() -> None:
    rules = dict(re.findall(r"^([a-z-]+): (\.venv/\.\w+)", read("Makefile"), flags=re.MULTILINE))
    assert rules["demo"] == ".venv/.core"
    assert rules["test"] == ".venv/.dev"


def test_make_without_a_python_says_what_is_missing(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "studies").mkdir()
    for name in ("pyproject.toml", "studies/pyproject.toml", "constraints.txt"):
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
    pytest.importorskip("tach", reason="needs tach (extra `dev`)")
    shutil.copy(ROOT / "tach.toml", tmp_path)
    for package in (PACKAGE, STUDIES_PACKAGE):
        shutil.copytree(package, tmp_path / package.relative_to(ROOT))
    return tmp_path


def test_every_room_has_arrows_and_every_arrow_a_room() -> None:
    assert set(arrows()) == rooms() | {"credibly", "credibly_studies"}


def test_credal_and_statistics_do_not_see_each_other() -> None:
    assert "credibly.statistics" not in arrows()["credibly.credal"]
    assert "credibly.credal" not in arrows()["credibly.statistics"]


@pytest.mark.parametrize("room", ["credibly.plots", "credibly.report"])
def test_what_draws_cannot_compute(room: str) -> None:
    assert not {"credibly.statistics", "credibly.hypotests", "credibly.credal"} & set(arrows()[room])


def test_studies_use_the_library_and_nothing_imports_them() -> None:
    assert set(arrows()["credibly_studies"]) == rooms() - {"credibly.report", "credibly.cli"}
    assert not [room for room, used in arrows().items() if "credibly_studies" in used]


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


@pytest.mark.slow
def test_records_of_results_are_compared(tmp_path: Path) -> None:
    nan = float("nan")
    same = {"f/value": 2.0, "f/curve": [1.0, [2.0, 3.0], nan], "f/left": 2e-15, "f/note": "words"}
    rounded = {"f/value": 2.0 * (1 + 1e-13), "f/left": 1e-15, "f/note": "other words", "f/new": 1.0}
    moved = {
        "f/value": 2.0 * (1 + 1e-9),
        "f/curve": [1.0, [2.0, 4.0], nan],
        "g/short": [1.0],
        "g/none": None,
    }
    records = {
        "before": same | {"g/short": [1.0, 2.0], "g/none": 1.0, "g/reals": 1.0},
        "rounded": same | rounded | {"g/short": [1.0, 2.0], "g/none": 1.0, "g/regression": 1.0},
        "moved": same | moved,
    }
    for name, record in records.items():
        (tmp_path / name).write_text(json.dumps(record), encoding="utf-8")

    words = ("record_results.py", "compare", "before")
    done = run_tool(*words, "rounded", "--rename", "/reals$=/regression", path=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 numbers differ" in done.stdout
    assert "1 texts differ\n  f/note" in done.stdout
    assert "1 paths are new\n  f/new" in done.stdout

    done = run_tool(*words, "moved", path=tmp_path)
    assert done.returncode == 1
    assert "4 numbers differ by more than 1e-12" in done.stdout
    assert "1 paths are missing\n  g/reals" in done.stdout


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


@pytest.mark.slow
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


def test_the_oldest_versions_are_those_that_are_declared(tmp_path: Path) -> None:
    printed = run_tool("minimum_versions.py", "torch", path=tmp_path).stdout.split()
    declared = [
        *PYPROJECT["project"]["dependencies"],
        *PYPROJECT["project"]["optional-dependencies"]["torch"],
    ]
    assert printed == [text.replace(">=", "==") for text in declared]


class Item:
    """What the order of tests is made of."""

    def __init__(self, path: str, marker: str = "") -> None:
        self.path, self.marker = Path(path), marker

    def get_closest_marker(self, name: str) -> bool:
        return name == self.marker


@pytest.mark.parametrize("workers", [1, 2, 3, 50])
def test_every_worker_begins_with_dear_tests(workers: int) -> None:
    items = [
        Item(f"{file}.py", "slow" if file % 4 == 0 and n == 1 else "") for file in range(12) for n in range(3)
    ]
    ordered = dear_first(items, workers)
    assert sorted(map(id, ordered)) == sorted(map(id, items))
    dear = {Path(f"{file}.py") for file in (0, 4, 8)}
    if workers <= 3:
        size = len(items) // workers
        for start in range(0, len(items), size):
            inside = [item.path in dear for item in ordered[start : start + size]]
            assert inside[:3] == [True] * 3
            assert inside == sorted(inside, reverse=True)
    assert dear_first(items[3:9], workers) == items[3:9]  # none is dear


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    specification = importlib.util.spec_from_file_location("machines", ROOT / "tools" / "test_machines.py")
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "machines", module)  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


def test_a_setting_without_effect_is_found(machines: ModuleType) -> None:
    one = machines.Machine("old", "Nehalem", threads=1, workers=1, reduced_numpy=True, plain_torch=True)
    taken = {"kernels": ["Nehalem"], "threads": [1], "dispatched": [], "torch": "DEFAULT"}
    assert machines.without_effect(one, taken) == ""
    for name, other in (
        ("kernels", ["Haswell"]),
        ("threads", [2]),
        ("dispatched", ["AVX2"]),
        ("torch", "AVX2"),
    ):
        assert machines.without_effect(one, taken | {name: other}) != ""


def test_rows_that_ran_apart_stand_in_one_table(
    machines: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "FOLDER", tmp_path)
    first, _, last = machines.MACHINES
    machines.summarise(last, "| last | 9 |", "here")
    machines.summarise(first, "| first | 7 |", "here")
    machines.summarise(last, "| last | 8 |", "here")
    table = (tmp_path / "summary.md").read_text(encoding="utf-8").splitlines()
    assert (table[0], table[-2:]) == ("here", ["| first | 7 |", "| last | 8 |"])


@pytest.mark.slow
def test_skipped_tests_are_counted_with_their_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # most of the time of so short a run
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


@pytest.mark.slow
def test_sizes_of_draws_are_put_between_their_marks(tmp_path: Path) -> None:
    rejections = {"crps": [200, 2, 30, 20], "picp": [200, 0, 8, 9]}  # runs, then at 1, 5 and 10 %
    rows = [
        {"kind": kind, "n": 100, "number": 2, "rejections": rejections} for kind in ("draws", "quantiles")
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- draw sizes: begin -->old<!-- draw sizes: end -->\nafter\n", encoding="utf-8"
    )
    done = run_tool("draw_sizes.py", "--table", "rows.json", "--write", "page.md", path=tmp_path)
    assert done.returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "| 2 | .150 | .040 |" in text  # 30 and 8 of 200
    assert "at 5 % at most 0.150, 2 beyond (crps of 2 draws, n = 100: 0.150;" in text
    assert (text.startswith("before\n<!--"), text.endswith("-->\nafter\n"), "old" in text) == (
        True,
        True,
        False,
    )
    page.write_text("no marks", encoding="utf-8")
    from draw_sizes import written

    with pytest.raises(SystemExit):
        written(page, "new")
