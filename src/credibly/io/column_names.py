"""What the name of a column says: which role and which class it has, and whether it holds text."""

from __future__ import annotations

import re
from typing import Any

from credibly.io.roles import ROLES

PREFIXES = {prefix: name for name, role in ROLES.items() for prefix in role.prefixes}
_NAMED = re.compile(
    rf"(?P<prefix>{'|'.join(sorted(PREFIXES, key=len, reverse=True))})"
    r"(?:[_.: -](?P<suffix>.+)|\[(?P<bracket>.+)\]|\((?:y ?= ?)?(?P<paren>.+)\)"
    r"|(?P<number>\d+(?:\.\d+)?)|(?P<class>class[_ ]?\d+))",
    re.IGNORECASE | re.DOTALL,  # a class may be called by two lines
)
_NAMED_LAST = re.compile(
    r"(?P<class>.+?)[_.: -](?:prob|proba|probability)", re.IGNORECASE
)  # churn_probability; not what says whose probability it is
_NOBODY = re.compile(
    r"(?:y|pred|predicted|prediction|model|net|member|seed|run|fold|draw|m|raw|calibrated|estimated|mean|average"
    r"|max|top|std|class|label|target|output|event|positive|pos|yes|true|\d+(?:\.\d+)?)?[_ -]?\d*",
    re.IGNORECASE,
)
WHOLE = {name: (name, *role.aliases, *role.columns) for name, role in ROLES.items() if role.text != "never"}
"""The words that one column may be called by its role; lower case."""
SINGLE = {
    word: name
    for name in (
        *("mean", "std", "variance", "log_variance", "score", "lower", "upper"),
        *("lower_end", "upper_end", "claimed", "stated"),
    )
    for word in (name, *ROLES[name].aliases)
} | dict.fromkeys((*ROLES["probs"].prefixes, *ROLES["probs"].aliases), "score")
"""Columns that are an array of one number per row; one column of probabilities is that of class 1."""
TEXT_ROLES = frozenset(word for words in WHOLE.values() for word in words)
"""Columns that may hold text; lower case."""
NAMES = TEXT_ROLES - set(WHOLE["y"])
"""Columns that hold names: '007' is not 7 there."""


def field_of(name: str) -> tuple[str, str] | None:
    """Return (field, suffix) of a column such as ``p_cat``, ``cat_prob``, ``q0.9``; None for other names."""
    match = _NAMED.fullmatch(name)
    if match is None:
        match = _NAMED_LAST.fullmatch(name)
        is_class = match is not None and name.lower() not in SINGLE and names_an_event(match["class"])
        return ("probs", match["class"]) if match is not None and is_class else None
    suffix = match["suffix"] or match["bracket"] or match["paren"] or match["number"] or match["class"]
    return PREFIXES[match["prefix"].lower()], suffix


def names_an_event(word: str) -> bool:
    """Tell whether the name of a column of probabilities says what happens: churn, not 1 or mean."""
    return _NOBODY.fullmatch(word) is None


def may_hold_text(name: str) -> bool:
    """Tell whether a column may hold text whatever most of its cells are: labels and names."""
    named = field_of(name)
    return name.lower() in TEXT_ROLES or (named is not None and named[0] == "raters")


def must_hold_numbers(name: str) -> bool:
    """Tell whether text in a column is a mistake: its name says that it holds numbers."""
    return name.lower() in SINGLE or (field_of(name) is not None and not may_hold_text(name))


def listed_names(names: Any) -> str:
    """Return the first names, and how many there are."""
    words = list(names)
    return ", ".join(words[:6]) + (f", ... ({len(words)} in all)" if len(words) > 6 else "")
