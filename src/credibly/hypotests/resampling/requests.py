"""What tests ask of drawn labels, answered together: one pass over the labels of the same rows.

A test that draws labels is a generator: it yields requests, receives the values of their targets, and
returns its result. `answered` runs one alone. `answers` takes the requests of several: those over the same
rows draw labels once per source, and equal statistics are bound and summed up once, whoever asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.progress import Progress, share_of
from credibly.hypotests.resampling.loop import Resampled, Target, Wish, at_once, posed
from credibly.hypotests.resampling.parts import in_parts, is_part, pair_by_pair
from credibly.hypotests.resampling.replicates import Draw, LabelSource, rows_at_once
from credibly.predictions import Gaussian, Rows, Samples

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """Targets to evaluate on the observed labels and on all replicates of every source of labels.

    Attributes
    ----------
    targets : sequence of Target
        What is evaluated; they share the replicates.
    rows : Rows
        The rows.
    draws : sequence of callable
        Where labels come from, one per hypothesis.
    n_resamples : int
        Number of replicates; with 0 the observed labels are evaluated alone.
    progress : callable, optional
        Called with (done, total).
    by_members : bool
        Whether members draw labels, so that sums over rows in memory are taken in parts where the members of
        all of them would not fit the memory budget.
    """

    targets: Sequence[Target]
    rows: Rows
    draws: Sequence[Draw]
    n_resamples: int
    progress: Progress | None = None
    by_members: bool = False


Answer = list[list[Resampled]]
"""One list per source of labels, one entry per target."""

Asking = Generator[Sequence[Request], list[Answer], _T]
"""A computation that yields requests, is sent their answers and returns a result."""


def answered(asking: Asking[_T]) -> _T:
    """Run one computation, answering its requests at once."""
    try:
        requests = next(asking)
        while True:
            requests = asking.send(answers(requests))
    except StopIteration as end:
        result: _T = end.value
        return result


def side_by_side(askings: Sequence[Asking[Any]]) -> Asking[list[Any]]:
    """Run computations, their requests asked together; return results, or why there is none."""
    results: dict[int, Any] = {}
    steps: dict[int, Callable[[], Sequence[Request]]] = {
        place: partial(next, asking) for place, asking in enumerate(askings)
    }
    while steps:
        asked: dict[int, Sequence[Request]] = {}
        for place, step in steps.items():
            try:
                asked[place] = step()
            except StopIteration as end:
                results[place] = end.value
            except UnsupportedError as error:
                results[place] = error
        found = iter((yield [one for requests in asked.values() for one in requests]) if asked else [])
        steps = {
            place: partial(askings[place].send, [next(found) for _ in requests])
            for place, requests in asked.items()
        }
    return [results[place] for place in range(len(askings))]


def answers(requests: Sequence[Request]) -> list[Answer]:
    """Answer requests; those over the same rows, with as many replicates, share labels and sums."""
    alike: dict[tuple[int, int], list[Request]] = {}
    for one in requests:
        alike.setdefault((id(one.rows), one.n_resamples), []).append(one)
    found = {id(one): answer for own in alike.values() for one, answer in zip(own, _joint(own), strict=True)}
    return [found[id(one)] for one in requests]


def _joint(requests: Sequence[Request]) -> list[Answer]:
    """Answer requests over the same rows; progress is told to the first of them."""
    sources: list[tuple[Draw, dict[Hashable, Wish]]] = []
    wanted = []
    for one in requests:
        for draw in one.draws:
            wishes = next((own for known, own in sources if _same(known, draw)), None)
            if wishes is None:
                wishes = {}
                sources.append((draw, wishes))
            every = [wishes.setdefault(target.key, Wish(target)) for target in one.targets]
            wanted.append([(wish, wish.add(target)) for wish, target in zip(every, one.targets, strict=True)])
    first = requests[0]
    by_members = any(one.by_members for one in requests)
    asked = [(draw, list(wishes.values())) for draw, wishes in sources]
    _evaluate(asked, first.rows, first.n_resamples, first.progress, by_members)
    read = iter([[wish.found[at] for wish, at in line] for line in wanted])
    return [[next(read) for _ in one.draws] for one in requests]


def _same(one: Draw, other: Draw) -> bool:
    """Tell whether two sources draw the same labels of the same rows."""
    if not (type(one) is LabelSource and type(other) is LabelSource):  # subclasses draw for other rows
        return one is other
    kept = one.members is None is other.members and one.predictions is None is other.predictions
    return one is other or (kept and one.seed == other.seed)


def _evaluate(
    asked: Sequence[tuple[Draw, list[Wish]]],
    rows: Rows,
    n_resamples: int,
    progress: Progress | None,
    by_members: bool,
) -> None:
    """Evaluate everything that sources are asked for."""
    whole = rows.loaded()
    draws, every = zip(*asked, strict=True)
    given = rows.sample.predictions
    # shares of labels at quantiles, which have no statistic of their own, make no tables of mixtures
    tabled = [
        [one for one in own if one.target.statistic or not isinstance(given, Gaussian)] for own in every
    ]
    fits = whole is not None and (
        len(whole) <= rows_at_once(given, max(map(len, tabled)))
        or not (by_members or isinstance(given, (Gaussian, Samples)))
    )
    summed = [[one for one in own if not fits and (one.target.additive or is_part(one))] for own in every]
    rest = [[one for one in own if one not in some] for own, some in zip(every, summed, strict=True)]
    if any(summed):
        parts = [(draw, own) for draw, own in zip(draws, summed, strict=True) if own]
        in_parts(parts, rows, n_resamples, None if any(rest) else progress)
    if whole is None:
        for place, (draw, own) in enumerate(zip(draws, rest, strict=True)):
            assert isinstance(draw, LabelSource)
            pair_by_pair(own, rows, draw, n_resamples, share_of(progress, place, len(draws)))
    elif any(rest):
        left = [(draw, own) for draw, own in zip(draws, rest, strict=True) if own]
        targets = [(draw, [wish.target for wish in own]) for draw, own in left]
        for order, (draw, seen, jobs) in enumerate(posed(targets, whole, n_resamples)):
            drawing = draw(seen) if n_resamples else None
            report = share_of(progress, order, len(left))
            at_once(left[order][1], jobs, seen.batch, drawing, n_resamples, report)
