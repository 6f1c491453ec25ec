"""One name for one thing: every public function and method says the same words for its parameters.

And what readers stumbled over once does not come back into the sentences that they meet.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import credibly as cr

ROOMS = (
    "credibly",
    *(
        f"credibly.{room}"
        for room in ("credal", "hypotests", "learners", "monitor", "raters", "recalibrate", "results")
    ),
    *(f"credibly.{room}" for room in ("scale", "selection", "statistics")),
    "credibly_studies.simulate",
)
OTHER_WORDS = {
    **dict.fromkeys(("seed", "random_state", "generator", "random"), "rng"),
    **dict.fromkeys(("tol", "atol", "rtol", "eps", "epsilon", "slack", "accuracy"), "tolerance or margin"),
    **dict.fromkeys(("significance", "confidence_level", "conf"), "level"),
    **dict.fromkeys(("y", "y_true", "targets_true", "truths"), "labels"),
    **dict.fromkeys(("bins", "nbins", "num_bins"), "n_bins"),
    **dict.fromkeys(("n_replicates", "n_bootstrap", "replicates", "B"), "n_resamples"),
    **dict.fromkeys(("metric", "metrics"), "statistic or statistics"),
    **dict.fromkeys(("X", "covariates"), "features"),
}
SKLEARN = {"RecalibratedClassifier", "ArrayRecalibrator"}
"""Speak as scikit-learn does: `fit(X, y)`."""
INSIDE = {"Basis", "Bound", "RaterStatistic", "Statistic", "Subsampled"}
"""Protocols that those who add a statistic or a learner write against, where arrays go by position."""
HELD = {"Dataset", "Inflation", "Lesson", "WorldSample"}
"""Values that come back from functions: their fields are no arguments that users type."""


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield what users call: functions, classes that are no results, and methods."""
    seen: set[int] = set()
    for room in ROOMS:
        home = importlib.import_module(room)
        for name in getattr(home, "__all__", ()):
            value = getattr(home, name)
            if id(value) in seen or name in SKLEARN | INSIDE or not callable(value):
                continue
            seen.add(id(value))
            if not inspect.isclass(value):
                yield name, value
                continue
            if issubclass(value, Exception):
                continue
            if not value.__module__.startswith("credibly.results") and name not in HELD:
                yield name, value
            methods = inspect.getmembers(value, lambda one: inspect.isfunction(one) or inspect.ismethod(one))
            yield from ((f"{name}.{text}", one) for text, one in methods if not text.startswith("_"))


CALLABLES = dict(public_callables())


def parameters(name: str) -> dict[str, inspect.Parameter]:
    found = dict(inspect.signature(CALLABLES[name]).parameters)
    found.pop("self", None)
    return found


def test_the_census_sees_the_surface() -> None:
    assert {"brier", "calibration_test", "credal_test", "decompose_loss", "Ensemble"} <= set(CALLABLES)
    assert {"TemperatureScaling.fit", "CredalDetails.combine"} <= set(CALLABLES)


@pytest.mark.parametrize("name", CALLABLES)
def test_words(name: str) -> None:
    arguments = parameters(name)
    for word in arguments:
        assert word not in OTHER_WORDS, f"{word} of {name} is called {OTHER_WORDS.get(word)}"
    if "predictions" in arguments and "labels" in arguments:
        places = list(arguments)
        assert places.index("labels") == places.index("predictions") + 1
        assert arguments["labels"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    if "features" in arguments and "predictions" in arguments:
        assert arguments["features"].kind is inspect.Parameter.KEYWORD_ONLY
    if "rng" in arguments and inspect.isfunction(CALLABLES[name]) and "." not in name:
        assert arguments["rng"].kind is inspect.Parameter.KEYWORD_ONLY


def test_statistics_are_several_and_a_statistic_is_one() -> None:
    """`statistics=` takes a sequence; `statistic=` does not."""
    for name, function in CALLABLES.items():
        if not inspect.isfunction(function):
            continue
        texts = {
            word: str(parameter.annotation)
            for word, parameter in inspect.signature(function).parameters.items()
        }
        assert "Sequence" not in texts.get("statistic", ""), name
        several = texts.get("statistics", "Sequence")
        assert any(word in several for word in ("Sequence", "Iterable", "Mapping")), name


@pytest.mark.parametrize("word", ["seed", "random_state"])
@pytest.mark.parametrize(
    "make",
    [
        cr.recalibrate.AlphaCalibration,
        cr.recalibrate.CredalRecalibration,
        cr.recalibrate.MatrixScaling,
        cr.recalibrate.VectorScaling,
    ],
    ids=lambda make: make.__name__,
)
def test_randomness_is_rng(make: Callable[..., object], word: str) -> None:
    with pytest.raises(TypeError, match="rng="):
        make(**{word: 3})


STUMBLED = {
    r"\bwhere (it is )?not given\b": "Default: ...",
    r"[.;:,] [Oo]f (real values|sets|classes|draws|quantiles|chunks|clusters|`\w+`) (?!and|or)": "for ...",
    r"(?<![Tt]here )(?<!if )\b(is|are) none\b(?! of)": "is not one",
    r"\bis no (set|statistic|Gaussian|praise|surprise)\b": "is not a ...",
    r"\bids of what\b": "ids that say which rows belong together",
    r"\bwhat lets\b": "everything needed to repeat ...",
    r"\b(is|are) to be trusted\b": "can be trusted",
    r"\bexpects? of (itself|themselves|its own|their own)\b": "itself would expect",
    r"\banew\b": "again",
    r"\btake turns\b": "cross-fitting",
    r"\bnobody (can|could) tell\b": "cannot say whether",
    r"\bcannot be told from\b": "statistically tied with",
    r"\bcalled ties\b": "tied",
    r"\bshall\b": "should",
    r"\bfor sure\b": "the data show that",
    r"\b(under|by) the seed\b": "with the seed",
    r"\b(worst|product|one|no|whole) law\b": "distribution",
    r"\bmisses the truth\b": "the truth lies outside",
    r"\bfor whom\b(?!\?)": "for which",
    r"\bmost (instances|groups|rows|attributes|directions) (that|shown|returned)\b": "maximum number of",
    r"\bdefect of\b": "bug in",
    r"\bhappens? (more|less|too) (often|rarely)": "occurs",
    r"\btaken apart\b": "decomposition of",
    r"\bJSON-safe types but\b": "except",
    r"\bmust be said\b": "must be given",
    r"\bSay `": "Use `",
    r"\bPass a list, also\b": "even",
    r"\bplays? no part\b": "is ignored",
    r"\bat birth\b": "when created",
    r"\b(nouns|rooms)\b": "words of those who build this house",
}
"""Patterns of sentences that a native reader stumbled over, and what to write instead."""
ROOT = Path(__file__).resolve().parents[2]
FOR_BUILDERS = {"design.md", "contributing.md", "validity.md"}


def docstrings() -> Iterator[tuple[str, str]]:
    for name, value in CALLABLES.items():
        yield name, inspect.getdoc(value) or ""


def pages() -> Iterator[tuple[str, str]]:
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.html")):
        if "studies" not in path.parts and path.name not in FOR_BUILDERS:
            yield path.name, path.read_text(encoding="utf-8")


def messages() -> Iterator[tuple[str, str]]:
    """Yield what errors, notes, help and findings are made of: literals that are no docstrings."""
    for path in (ROOT / "src" / "credibly").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        quoted = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = (node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in quoted)
        yield path.name, " | ".join(text for text in texts if isinstance(text, str) and " " in text)


@pytest.mark.parametrize(
    "source",
    [docstrings, pages, pytest.param(messages, marks=pytest.mark.slow)],
    ids=lambda one: one.__name__,
)
def test_no_sentence_that_readers_stumbled_over(source: Callable[[], Iterator[tuple[str, str]]]) -> None:
    stumbled = re.compile("|".join(STUMBLED), re.IGNORECASE)
    found = [
        f"{where}: {one[0]!r}"
        for where, text in source()
        for one in stumbled.finditer(re.sub(r"\s+", " ", text))
    ]
    assert found == []


@pytest.mark.parametrize(
    "sentence",
    [
        "What to compare; skce where it is not given.",
        "Log loss; of real values the CRPS.",
        "a Dirichlet is none",
        "is above what this ensemble expects of itself",
        "Say `classes=3`.",
    ],
)
def test_the_patterns_see_what_was_rewritten(sentence: str) -> None:
    assert any(re.search(pattern, sentence, re.IGNORECASE) for pattern in STUMBLED)
