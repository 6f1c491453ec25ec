"""The rows of an evaluation: all of them, checked, and the random part that statistics over pairs see.

A test over pairs costs rows^2 k per replicate. Beyond `pairwise_rows` instances the statistic sees a
part drawn without replacement.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from credibly._arrays.checks import require_one_each
from credibly._arrays.errors import InputError, InputTypeError, require, require_positive
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.philox import Seed, Stream
from credibly.hypotests.calibration.lattice import crossed_levels, joined_groups
from credibly.predictions import (
    Classes,
    Confidence,
    Counts,
    InMemory,
    Intervals,
    OverClasses,
    Predictions,
    RowChoice,
    Rows,
    as_rows,
    rows_up_to,
)
from credibly.predictions.confidence import OUTCOMES
from credibly.predictions.given import require_unweighted
from credibly.results.base import Result
from credibly.scale import scan
from credibly.statistics import Statistic
from credibly.statistics.subsampled import Subsampled, random_rows, smallest_uniforms

MOST_ROWS_ASKED = 20_000
"""Instances that a statistic over pairs sees at most where it is named."""

MOST_ROWS_UNASKED = 1250
"""And where nobody named it, at ten classes: an evaluation then takes seconds, not minutes."""

_CLASSES = 10
_NARROW = 0.005
_OPEN = (
    "unlisted tokens may or may not be options, so the confidence of an answer is known to within {:.2g} "
    "points on average; the possible confidences that fit the labels best are judged"
)
REAL_WIDTH = 60
"""Numbers that a kernel makes of a real label, about, where a class is one of them."""


@dataclasses.dataclass(frozen=True)
class PredictionSummary(Result):
    """What was evaluated.

    Attributes
    ----------
    kind : str
        Type of the predictions.
    n, m : int
        Number of instances and of members (1 if there is no member axis).
    k : int or None
        Number of classes; None for real-valued predictions.
    dtype : str
        Stored precision.
    rated : bool
        Whether labels are counts over raters; tests then see one rater per instance.
    n_clusters : int or None
        Number of independent clusters, if rows belong together.
    weighted : bool
        Whether members have weights.
    """

    kind: str
    n: int
    m: int
    k: int | None
    dtype: str
    rated: bool = False
    n_clusters: int | None = None
    weighted: bool = False

    @property
    def members(self) -> str:
        """How many members there are, in words."""
        return f"{self.m} (weighted)" if self.weighted else str(self.m)

    @property
    def whose(self) -> str:
        """Words behind a tested statistic: "of one rater per instance", where there are several."""
        return " of one rater per instance" if self.rated else ""


def grouped_rows(rows: Rows) -> tuple[Rows, Any]:
    """Return rows with one group each, and the attributes that these are made of.

    Several attributes are crossed, numbers cut at quantiles and rare levels joined, as `audit` does it.
    """
    whole, groups = rows.loaded(), rows.example.groups
    if whole is not None:
        groups = whole.groups
    elif isinstance(groups, Mapping):
        groups = joined_groups(list(rows.map(attrgetter("groups"))))
    if not isinstance(groups, Mapping):
        return rows, None if whole is None else groups
    return rows.with_groups(crossed_levels(groups, rows.n)), groups


def checked_rows(
    predictions: Any, labels: Any, *, classes: Any = None, blocks: int | None = None, **beside: Any
) -> Rows:
    """Check predictions and labels, whatever they come in."""
    if hasattr(predictions, "__dask_graph__"):
        predictions, labels, beside = scan(predictions, labels, **beside), None, {}
    rows = as_rows(predictions, labels, classes=classes, blocks=blocks, **beside)
    require_unweighted(rows.example.batch, "`evaluate`")
    whole = rows.loaded()
    groups = None if whole is None else whole.groups
    features = None if whole is None else whole.features
    if groups is not None and not isinstance(groups, Mapping):
        require_one_each(groups.shape, rows.n, "`groups`")
    if features is not None:
        require_one_each(features.shape[:1], rows.n, "`features`", "row per prediction")
    return rows


def summarise(rows: Rows) -> PredictionSummary:
    """Return type and sizes of the predictions."""
    predictions, clusters = rows.example.predictions, rows.clusters
    return PredictionSummary(
        kind=type(predictions).__name__,
        n=rows.n,
        m=predictions.n_members,
        k=predictions.n_classes if isinstance(predictions, OverClasses) else None,
        dtype=str(predictions._leading.dtype).removeprefix("torch."),
        rated=has_counts(rows),
        n_clusters=None if clusters is None else clusters.levels.size,
        weighted=getattr(predictions, "weights", None) is not None,
    )


def class_names(predictions: Predictions, classes: Sequence[str] | None) -> tuple[str, ...]:
    """Return one name per class; the indices where none were given, nothing for real-valued predictions."""
    if not isinstance(predictions, OverClasses):
        return ()
    k = predictions.n_classes
    if classes is None and isinstance(predictions, Confidence):
        return OUTCOMES
    if classes is None:
        return tuple(str(c) for c in range(k))
    if isinstance(classes, str):
        raise InputTypeError("`classes`", "must be a sequence of names", f"got {classes!r}", "Pass a list.")
    names = tuple(_visible(str(name)) for name in classes)
    remedy = "Give the names in the order of the columns."
    require(len(names) == k, f"must name every class ({k})", remedy, classes=len(names))
    if len(set(names)) < k:
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("`classes`", "must be distinct", f"{twice!r} appears twice", "Rename one of them.")
    return names


def _visible(name: str) -> str:
    """Return a name without characters that are not seen but turn the text around them, as bidi marks do."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in name)


def answers_of(rows: Rows) -> Rows | None:
    """Return the most probable option of each list as an answer that is right or wrong; None without lists.

    Its probability is exact, where the mean of the set is one guess among many. If unlisted tokens may be
    options or not, it lies between bounds, and the place between them that fits the labels best is judged.
    """
    data = rows.loaded()
    predictions = rows.example.predictions
    if data is None or not isinstance(predictions, Intervals) or predictions.listed is None:
        return None
    if not isinstance(data.batch, Classes):
        return None
    listed = to_host(predictions.listed)
    right = (to_host(data.batch.values)[0] == listed[:, 0]).astype(np.int64)
    known = np.flatnonzero(listed[:, 1] > 0)
    if not known.size:
        return None
    low, high = _ends_of_answers(predictions)
    width = float((high - low)[known].mean())
    part = min(1.0, max(0.0, float((right - low)[known].mean()) / width)) if width > 0 else 0.0
    stated = Confidence(np.clip(low + part * (high - low), 0.0, 1.0))
    stated._set(notes=(*predictions.notes, *((_OPEN.format(100 * width),) if width > _NARROW else ())))
    answers = dataclasses.replace(
        data, predictions=stated, labels=right, weights=None, classes=OUTCOMES, classes_ordered=True
    )
    return InMemory(answers if known.size == len(listed) else answers.take(known))


def _ends_of_answers(lists: Intervals) -> tuple[HostArray, HostArray]:
    """Return the lower and the upper probability of the most probable option of each list."""
    first_listed = to_host(lists.listed)[:, 0].astype(np.intp)
    top = (np.arange(len(first_listed)), first_listed)
    return to_host(lists.lower)[top], to_host(lists.upper)[top]


def open_width(rows: Rows) -> float:
    """Return by how much the average confidence may differ from the one that is judged; 0 without lists."""
    predictions = rows.example.predictions
    if not isinstance(predictions, Intervals) or predictions.listed is None or rows.loaded() is None:
        return 0.0
    low, high = _ends_of_answers(predictions)
    return float((high - low)[to_host(predictions.listed)[:, 1] > 0].mean())


def has_counts(rows: Rows) -> bool:
    """Tell whether labels are counts over raters."""
    return isinstance(rows.example.batch, Counts)


def compares_pairs(statistic: Statistic) -> bool:
    """Tell whether a statistic costs n^2."""
    return statistic.traits.reduction in ("pairwise", "smoother")


def rows_for_pairs(wanted: int | None, *, asked: bool, n_classes: int) -> int:
    """Return how many instances a statistic over pairs may see."""
    if wanted is not None:
        require_positive("`pairwise_rows`", wanted, "Try 2500.")
        require(wanted > 1, "must be at least 2", "Try 2500.", pairwise_rows=wanted)
        return int(wanted)
    if asked:
        return MOST_ROWS_ASKED
    # the cost grows with the number of classes too
    return max(2, int(MOST_ROWS_UNASKED * min(1.0, math.sqrt(_CLASSES / n_classes))))


def subsampled(statistic: Statistic, n: int, most: int, seed: Seed) -> Statistic:
    """Return the statistic, on `most` of `n` instances where there are more and it compares pairs."""
    if n <= most or not compares_pairs(statistic):
        return statistic
    return Subsampled(statistic, random_rows(n, most, seed))


def random_part(rows: Rows, most: int, seed: Seed) -> Rows:
    """Return all rows, or of more than `most` a random part."""
    if rows.n <= most:
        return rows
    values, _ = smallest_uniforms(rows.n, most, seed)
    small = partial(rows_up_to, seed, Stream.SUBSAMPLE, float(values.max()))
    return RowChoice(rows, most, small)
