"""The public surface is what the snapshot lists, is documented with examples that run, and is tested."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import credibly as cr
from surface import ROOMS, public_objects
from traits import test_statistics
from traits.checks import CHECKS, subjects

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = Path(__file__).with_name("public_surface.txt")
PUBLIC = {dotted.removeprefix("credibly."): value for dotted, value in public_objects(cr)}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# Results come back from functions, and protocols are subclassed: their attributes are what a reader needs.
NOT_CALLED_BY_USERS = {
    "SpreadDetails",
    "SizeBins",
    "SecondLabelPlan",
    "RaterDetails",
    "Ignorance",
    "EntropySplit",
    "Agreement",
    "AuditGroup",
    "AuditResult",
    "BrierDecomposition",
    "Certificate",
    "Change",
    "CheckDetails",
    "Comparison",
    "Convergence",
    "CorpCurve",
    "SetCoverage",
    "SpreadCurve",
    "Strata",
    "CredalDetails",
    "CrpsDecomposition",
    "Dataset",
    "DecisionCosts",
    "Details",
    "Detection",
    "DetectionScore",
    "DisagreementDecomposition",
    "EnvelopeCurve",
    "EpistemicScore",
    "EquivalenceDetails",
    "Estimate",
    "Estimates",
    "Evaluation",
    "FittedWeights",
    "HypotestResult",
    "HypothesisCheck",
    "GroupEvidence",
    "Inflation",
    "LabelPlan",
    "Learner",
    "Lesson",
    "LogisticCalibration",
    "LossDecomposition",
    "MassFunction",
    "MethodChanges",
    "MonitorResult",
    "MurphyCurve",
    "NonspecificityEstimate",
    "PowerCurve",
    "PredictiveCheck",
    "Ranking",
    "RaterStatistic",
    "Recalibration",
    "RecalibrationReport",
    "ReliabilityCurve",
    "RiskCoverageCurve",
    "RootEstimate",
    "Statistic",
    "Suspect",
    "Tracked",
    "Traits",
    "Uncertainty",
    "ValidityDetails",
    "WeightsDetails",
    "WorkersEvidence",
    "WitnessDirection",
    "WitnessDetails",
}


def is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def called_by_users() -> list[str]:
    return [
        name
        for name, value in PUBLIC.items()
        if name.rpartition(".")[2] not in NOT_CALLED_BY_USERS and not is_error(value)
    ]


def test_the_surface_is_the_snapshot() -> None:
    """A name that comes or goes is a decision: write it into public_surface.txt and CHANGELOG.md."""
    assert list(PUBLIC) == SNAPSHOT.read_text(encoding="utf-8").split()


def test_the_top_is_short_and_rooms_are_sorted() -> None:
    # nouns, statistics, errors; `audit`, `plan_labels`, `Monitor` and `Confidence` too
    assert len(cr.__all__) <= 74
    for room in ROOMS:
        names = importlib.import_module(f"credibly.{room}").__all__
        assert names == sorted(names)
        assert [name for name in names if name.startswith(f"{room}_")] == []  # cr.credal.contains


def test_the_surface_is_sorted_and_names_things_that_exist() -> None:
    assert cr.__all__ == sorted(set(cr.__all__))
    for name in cr.__all__:
        value = getattr(cr, name)
        assert callable(value)
        assert not isinstance(value, types.ModuleType)


def test_nothing_else_is_public() -> None:
    rooms = {path.parent.name for path in (ROOT / "src" / "credibly").glob("*/__init__.py")}
    public = {name for name in vars(cr) if not name.startswith("_")}
    assert public - set(cr.__all__) <= rooms


def test_checkers_the_table_of_homes_and_all_know_the_same_names() -> None:
    tree = ast.parse((ROOT / "src" / "credibly" / "__init__.py").read_text(encoding="utf-8"))
    (checked,) = [
        node.body for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    ]
    seen = {
        (node.module, name.name)
        for node in checked
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    rooms = {name for home, name in seen if home == "credibly"}
    assert rooms == set(cr._ROOMS)
    seen -= {("credibly", room) for room in rooms}
    assert seen == {(home, name) for home, names in cr._HOMES.items() for name in names}
    assert sorted(name for _, name in seen) == cr.__all__


def test_names_are_listed_before_they_are_loaded() -> None:
    script = "import credibly as cr; print(set(cr.__all__) <= set(dir(cr)), 'plots' in dir(cr))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "True True\n"
    for name in dir(cr):
        assert hasattr(cr, name)


def test_what_is_loaded_late_is_the_thing_itself() -> None:
    assert pickle.loads(pickle.dumps(cr.results.Estimate)) is cr.results.Estimate  # noqa: S301 - written on this line
    assert pickle.loads(pickle.dumps(cr.brier)).name == "brier"  # noqa: S301
    names: dict[str, object] = {}
    exec("from credibly import *", names)
    assert {name: names[name] for name in cr.__all__} == {name: getattr(cr, name) for name in cr.__all__}
    assert "calibration_test" in pydoc.render_doc(cr)


def test_exceptions_to_the_rule_about_examples_are_needed() -> None:
    # the package's own types only, so that a renamed one does not stay on the list
    by_last = {name.rpartition(".")[2]: value for name, value in PUBLIC.items()}
    for name in NOT_CALLED_BY_USERS:
        assert inspect.isclass(by_last[name])
    assert {name for name in cr.__all__ if is_error(getattr(cr, name))} >= {"CrediblyError", "InputError"}


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring(name: str) -> None:
    assert (inspect.getdoc(PUBLIC[name]) or "").strip()


@pytest.mark.parametrize(
    "home",
    [
        "credibly",
        *(f"credibly.{room}" for room in (*ROOMS, "plots", "scale")),
        "credibly_studies.simulate",
    ],
)
def test_every_parameter_of_a_function_is_documented(home: str) -> None:
    """As `help` shows it: some docstrings take what they share from one place."""
    package = importlib.import_module(home)
    functions = [value for name in package.__all__ if inspect.isfunction(value := getattr(package, name))]
    for function in functions:
        docstring = inspect.getdoc(function) or ""
        section = docstring.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
        matches = re.findall(r"^([\w*][\w*, ]*)(?: : .+)?\n    \S", section, re.MULTILINE)
        documented = [name.lstrip("*") for names in matches for name in names.split(", ")]
        assert documented == list(inspect.signature(function).parameters), function.__qualname__
    assert functions or home in {"credibly.learners", "credibly.results"}  # classes only


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name == "inflate" else ()) for name in called_by_users()],
)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docstring = inspect.getdoc(PUBLIC[name]) or ""
    assert "\nExamples\n--------\n" in docstring
    for library in re.findall(r"^>>> (?:import|from) (\w+)", docstring, flags=re.MULTILINE):
        pytest.importorskip(library, reason=f"needs the extra with {library}")
    test = doctest.DocTestParser().get_doctest(docstring, {}, name, None, None)
    assert test.examples
    monkeypatch.chdir(tmp_path)  # some examples write a file
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert not failed, "".join(report)


def test_every_registered_statistic_is_public_and_named_alike() -> None:
    for name in cr.statistics.registered():
        assert name in cr.statistics.__all__


def test_every_registered_statistic_meets_every_trait_check() -> None:
    """What pytest is told to run, not what the code intends: no statistic can be left out unseen."""
    told = {
        mark.args[0]: {one if isinstance(one, str) else one.values[0] for one in mark.args[1]}
        for mark in test_statistics.test_promise.pytestmark
    }
    assert told == {"subject": set(subjects()), "check": set(CHECKS)}
    assert set(cr.statistics.registered()) <= set(subjects())
