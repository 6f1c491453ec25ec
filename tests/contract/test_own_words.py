"""What is said is decided by data, never by words of a sentence: names like our words change nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.diagnosis import Claim, Effect
from credibly.evaluation.effect_sentences import measured
from credibly.evaluation.questions import effect_facts
from credibly.io.bundled import demo
from credibly.report.comparison import _imprecision

SOURCE = Path(cr.__file__).parent
ROOMS = tuple(
    path.name
    for path in sorted(SOURCE.iterdir())
    if path.is_dir() and path.name not in ("__pycache__", "_arrays", "data", "cli", "io")
)
"""Those that read no files and no commands."""
READERS = ("svg.py", "html_parts.py", "drawing.py", "label_reading.py", "lattice.py", "sources.py")
"""Files that read what others wrote (names of classes, dates, drawings, files), or set words for print."""


def test_a_model_may_be_called_trade_off() -> None:
    data = {"trade-off": demo("ensemble").rows(slice(0, 60)), "single": demo("single").rows(slice(0, 60))}
    models = {name: dataset.predictions for name, dataset in data.items()}
    comparison = cr.compare(models, data["single"].labels, n_resamples=100)
    assert any("trade-off" in one for one in comparison.findings[:-2])  # the name, in other sentences
    assert _imprecision(comparison)["findings"] == comparison.tradeoff_findings
    assert comparison.findings[-len(comparison.tradeoff_findings) :] == comparison.tradeoff_findings
    assert all(
        "at trade-off" in finding.lower() or "From trade-off" in finding
        for finding in comparison.tradeoff_findings
    )


def test_the_best_is_not_found_by_its_words() -> None:
    # the place of a model and the bar of its name are two things
    probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.8, 0.2], [0.3, 0.7]] * 10)
    labels = probs.argmax(axis=1)
    numbers = cr.compare({"best": 1 - probs, "behind": probs}, labels, n_resamples=100).leading()
    assert {model: number["Accuracy"].is_best for model, number in numbers.items()} == {
        "behind": True,
        "best": False,
    }


@pytest.mark.parametrize("name", ["far above", "rank", "confidence"])
def test_an_audit_of_classes_with_names_of_measures(name: str) -> None:
    rng = np.random.default_rng(0)
    probs = np.tile([0.3, 0.3, 0.4], (300, 1))
    groups = np.repeat(["a", "b"], 150)
    labels = np.where(groups == "a", 0, rng.integers(3, size=300))
    data = cr.Dataset(cr.Point(probs), labels, classes=("x", "y", name), groups=groups)
    audited = cr.audit(data, n_resamples=99)
    (one,) = (
        group for group in audited.groups if group.group == "group a" and group.measure == f"class {name}"
    )
    assert one.words.startswith(f"class {name} occurs 40.0 points less often")  # 0 % instead of 40 %


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("3", "it says 30 % for class 3; 20 % are class 3"),
        ("class of 3", "it says 30 % class of 3; 20 % class of 3"),
    ],
)
def test_a_class_is_numbered_because_it_is_a_number(name: str, text: str) -> None:
    effect = Effect(Claim("class", label=0), 0.3, 0.2, 0.1, (0.05, 0.15), 100, None)
    assert measured(effect_facts(effect, [name])).startswith(text)


def test_features_may_be_called_by_each_others_numbers() -> None:
    rng = np.random.default_rng(1)
    sets = cr.Ensemble(rng.dirichlet(np.ones(3), size=(80, 4)))
    labels = rng.integers(3, size=80)
    details = cr.hypotests.witness_test(sets, labels, rng=0).details
    space = rng.normal(size=(80, 2)) * [1.0, 1e-9]
    worst_regions = details.regions(
        sets, labels, space=space, names=("feature 1", "feature 0"), n_resamples=19
    )
    plain = details.regions(sets, labels, space=space, n_resamples=19)
    assert worst_regions.columns == ("feature 1", "feature 0")
    swapped = {"feature 0": "feature 1", "feature 1": "feature 0"}
    for region, other in zip(worst_regions.regions, plain.regions, strict=True):
        assert region == " and ".join(f"{swapped[part[:9]]}{part[9:]}" for part in other.split(" and "))
    with pytest.raises(cr.InputError, match="must name each of the 2 columns"):
        details.regions(sets, labels, space=space, names=("a",), n_resamples=19)


def _searches(tree: ast.AST) -> list[int]:
    """Lines that ask how a text begins or ends, in words of more than a letter, or that search one."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asks = node.func.attr in ("startswith", "endswith", "removeprefix")
            texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
            found += [node.lineno] * (asks and any(isinstance(text, str) and " " in text for text in texts))
            swaps = node.func.attr == "replace" and node.args and isinstance(node.args[0], ast.Constant)
            found += [node.lineno] * bool(swaps and " " in str(node.args[0].value).strip())
        if isinstance(node, ast.Import) and any(name.name == "re" for name in node.names):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_asks_how_its_sentences_begin(room: str) -> None:
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in (SOURCE / room).rglob("*.py")
        if path.name not in READERS
        for line in _searches(ast.parse(path.read_text("utf-8")))
    }
    assert found == set()
