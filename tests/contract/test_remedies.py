"""Every remedy exists for the function that was called: what it tells to pass, that function takes.

Each public function of predictions and labels is called with input that it must refuse. In the remedy, a
keyword at the start of a piece of code must be a parameter of that function, unless the sentence says who
else takes it; whatever is called in it must be importable.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.scale import Scan
from surface import public_members, public_objects

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), size=20)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
REALS = RNG.normal(size=20)
SQUARE = RNG.dirichlet(np.ones(3), size=(20, 20))

BAD: dict[str, tuple[Any, Any]] = {
    "as many members as instances": (SQUARE, LABELS),
    "as many draws as instances": (cr.Gaussian(REALS, np.ones(20)), REALS[:5]),
    "labels without class names": (PROBS, np.array(["cat", "dog"] * 10)),
    "unlabelled": (PROBS, np.where(LABELS == 2, -1, LABELS)),
    "shares of raters": (PROBS, PROBS),
    "labels one too few": (PROBS, LABELS[:-1]),
    "rows that do not sum to 1": (PROBS * 1.2, LABELS),
    "missing numbers": (np.where(PROBS > 0.8, np.nan, PROBS), LABELS),
    "logits": (np.log(PROBS), LABELS),
    "weights": (cr.scan([(PROBS, LABELS, np.ones(20))]), None),
    "sets with a claim": (cr.PredictionSets(PROBS > 0.2, claimed=0.9), LABELS),
    "real values": (cr.Gaussian(REALS, np.ones(20)), REALS),
    "intervals": (cr.Intervals(PROBS * 0.9, np.minimum(1.0, PROBS * 1.1)), LABELS),
    "counts": (PROBS, cr.LabelCounts(RNG.multinomial(4, PROBS))),
    "no labels": (PROBS, None),
}
PUBLIC = [*public_objects(cr), ("Scan", Scan)]
NAMES = {name.rpartition(".")[2] for name, _ in PUBLIC} | {
    member for _, value in PUBLIC if inspect.isclass(value) for member, _ in public_members(value, cr)
}
ELSEWHERE = {"numpy", "torch", "dask", "tensor", "labels", "probs", "math", "f"}


def functions() -> Iterator[tuple[str, Any]]:
    """Yield the public functions of predictions and labels."""
    for name, value in public_objects(cr):
        if not inspect.isclass(value):
            called = inspect.signature(value).parameters
            if list(called)[:2] == ["predictions", "labels"]:
                yield name, value


FUNCTIONS = dict(functions())


def refusals(name: str) -> Iterator[tuple[str, cr.CrediblyError]]:
    function = FUNCTIONS[name]
    known = inspect.signature(function).parameters
    few = {"n_resamples": 19, "rng": 0, "progress": None, "tests": False}
    settings = {key: value for key, value in few.items() if key in known}
    for what, (predictions, labels) in BAD.items():
        try:
            function(predictions, labels, **settings)
        except cr.CrediblyError as error:
            yield what, error
        except TypeError as error:  # an argument is missing, which is no bad input of this table
            assert "argument" in str(error), what  # noqa: PT017


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_remedy_tells_to_pass_the_function_takes(name: str) -> None:
    known = inspect.signature(FUNCTIONS[name]).parameters
    wrong = []
    for what, error in refusals(name):
        remedy = str(error.remedy)
        for code in re.findall(r"`([^`]*)`", remedy):
            keyword = re.match(r"(\w+)=", code)
            if (
                keyword
                and keyword[1] not in known
                and not re.search(r"`[\w.]+`? (does so|takes?)|\(.*there", remedy)
            ):
                wrong.append((what, remedy))
            for called in re.findall(r"([A-Za-z_][\w.]*)\(", code):
                first, last = called.partition(".")[0], called.rpartition(".")[2]
                if last not in NAMES and first not in ELSEWHERE:
                    wrong.append((what, remedy))
    assert wrong == []


def test_the_table_reaches_most_functions() -> None:
    assert len(FUNCTIONS) > 60
    for name in ("credibly.brier", "credibly.audit", "credibly.evaluate"):
        assert sum(1 for _ in refusals(name)) > 4, name
