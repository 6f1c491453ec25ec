"""Parameters that many functions share are described once: `...` in a docstring stands for the words here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

DESCRIPTIONS = {
    "base": "Base of the logarithm. Default: e.",
    "binning": "How the bins are chosen.",
    "blocks": (
        "For rows in time order: consecutive rows form clusters of at least this length.\n"
        "With `clusters` (stores, sensors), consecutive rows of each of them."
    ),
    "closed": "Which end of a bin is included.",
    "clusters": "Ids that say which rows belong together: a patient, an image, a day.",
    "debiased": "With ``p=2``: the unbiased estimate of the squared error, which may be negative.",
    "features": "Features of the instances, for methods that use them.",
    "labels": "Observed labels. Leave out for rows that carry their own.",
    "member_axis": (
        "Where the members are; needed if there are as many of them as instances, because the shape\n"
        "then does not show it."
    ),
    "n_draws": "Number of draws that represent a Dirichlet.",
    "n_resamples": "Number of replicates.",
    "n_samples": "Draws per instance, if the predictions are a Dirichlet.",
    "p": "Exponent; 1 is the usual error, 2 the root mean square, ``math.inf`` the largest gap of a bin.",
    "predictions": "Class predictions, read as sets by :func:`as_set`.",
    "progress": (
        "Called with (done, total); True writes to standard error after one second, if that is a\nterminal."
    ),
    "rng": (
        "Seed of all that is drawn: the same seed gives the same result on every array library, device\n"
        "and chunk size; None takes a new one."
    ),
    "sample_weight": "Non-negative weights of the instances.",
    "span": "Share of the instances used for the local fit at every prediction.",
    "target": (
        "The mean over the classes, the confidence of the predicted class, or the probability of one class."
    ),
}
"""What a parameter is, by its name; a function adds what only it does with it."""

_PLACE = re.compile(r"^ *(\w+) : .*\n( +)\.\.\. ?", re.MULTILINE)


def filled(docstring: str) -> str:
    """Return a docstring in which the words of the table stand in place of every `...` below a parameter."""
    return _PLACE.sub(_described, docstring)


def _described(place: re.Match[str]) -> str:
    words, indent = DESCRIPTIONS.get(place[1]), place[2]
    if words is None:
        return place[0]
    after = "" if place.end() == len(place.string) or place.string[place.end()] == "\n" else f"\n{indent}"
    return (
        place[0][: place.start(2) - place.start() + len(indent)] + words.replace("\n", f"\n{indent}") + after
    )


def fill_docstrings(values: Iterable[Any]) -> None:
    """Fill the docstrings of functions, and of classes with their bases and methods."""
    for value in values:
        bases = value.__mro__ if isinstance(value, type) else (value,)
        for base in bases:
            if getattr(base, "__module__", "").startswith("credibly."):
                members = vars(base).values() if isinstance(base, type) else ()
                for documented in (base, *members):
                    _fill(getattr(documented, "__func__", documented))


def _fill(documented: Any) -> None:
    docstring = getattr(documented, "__doc__", None)
    if isinstance(docstring, str) and " ..." in docstring:
        text = filled(docstring)
        if text != docstring:
            documented.__doc__ = text
