"""All numbers of an evaluation as one table: a row per number, the same columns everywhere.

Estimates and tests are found wherever they stand in the evaluation, so a new part of it is a new set of rows.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from credibly._arrays.errors import MissingExtraError, one_of
from credibly.results.estimates import Estimate
from credibly.results.scores import Spread
from credibly.results.tests import HypotestResult
from credibly.selection.lines import Ranking

LIBRARIES = ("pandas", "polars")


class _Interval:
    """What rows have in common: the ends of an interval, where there is one."""

    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval, where there is one."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclasses.dataclass(frozen=True)
class NumberRow(_Interval):
    """One number.

    Attributes
    ----------
    part : str
        Where it is in the evaluation: ``"estimates"``, ``"groups.b"``, ``"raters.loss"``.
    statistic : str
        What it is.
    value : float
        Its value.
    stderr, low, high : float or None
        Standard error and the ends of the 95 % interval, where there are any.
    n : int
        Number of instances.
    acceptance_low, acceptance_high, pvalue, adjusted_pvalue : float or None
        From its test, if it was tested.
    verdict : str or None
        The test's answer.
    """

    part: str
    statistic: str
    value: float
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    acceptance_low: float | None = None
    acceptance_high: float | None = None
    pvalue: float | None = None
    adjusted_pvalue: float | None = None
    verdict: str | None = None

    @property
    def acceptance_region(self) -> tuple[float, float] | None:
        """The values that its test would accept, if it was tested."""
        low, high = self.acceptance_low, self.acceptance_high
        return None if low is None or high is None else (low, high)


COLUMNS = tuple(field.name for field in dataclasses.fields(NumberRow))


def number_rows(evaluation: Any) -> tuple[NumberRow, ...]:
    """Return every number: estimates with their tests first, then the other parts in their order.

    Parameters
    ----------
    evaluation : Evaluation
        What to list.

    Returns
    -------
    tuple of NumberRow
        One row per number.
    """
    level = evaluation.settings["level"]
    answers: dict[str | None, Any] = {}
    for verdict in evaluation.verdicts:
        answers.setdefault(verdict.statistic, verdict)
    rows = []
    for part, name, number, ends in _numbers(evaluation, "", ""):
        if part != "estimates" and any(number is estimate for estimate in evaluation.estimates.values()):
            continue  # a part may hold what stands among the estimates
        if isinstance(number, Estimate):
            row = _estimate_row(part, number, ends)
            tested = evaluation.tests.get(name) if part == "estimates" else None
            if tested is not None and name in answers and of_one_number(number, tested):
                cells = _test_cells(tested, answers[name].limit, answers[name].word)
                row = dataclasses.replace(row, **cells)
            rows.append(row)
        elif isinstance(number, Spread):
            rows += [_spread_row(part, name, number)] if number.n else []
        elif part != "tests" or not of_one_number(evaluation.estimates.get(name), number):
            cells = _test_cells(number, number.acceptance_region, number.verdict(level))
            rows.append(NumberRow(part, name, number.statistic, n=number.n, **cells))
    return tuple(rows)


def of_one_number(estimate: Estimate | None, test: HypotestResult) -> bool:
    """Tell whether a test may stand beside an estimate: where raters are many, one of them was tested."""
    return estimate is not None and math.isclose(estimate.value, test.statistic, rel_tol=1e-6, abs_tol=1e-9)


@dataclasses.dataclass(frozen=True)
class StandingRow(_Interval):
    """One model by one criterion of a ranking.

    Attributes
    ----------
    criterion : str or float
        A score, or a trade-off.
    model : str
        Its name.
    place_best, place_worst : int
        Best and worst place that these instances allow.
    score, difference : float
        Mean score, and its difference to the first model's.
    low, high : float or None
        Joint interval of the difference; None for the first model.
    distance, imprecision : float or None
        The parts of the score at a trade-off.
    """

    criterion: str | float
    model: str
    place_best: int
    place_worst: int
    score: float
    difference: float
    low: float | None
    high: float | None
    distance: float | None
    imprecision: float | None


def standing_rows(ranking: Ranking) -> tuple[StandingRow, ...]:
    """Return every model by every criterion, in the order it has there.

    Parameters
    ----------
    ranking : Ranking
        What to list.

    Returns
    -------
    tuple of StandingRow
        One row per criterion and model.
    """
    lines, rows = ranking.lines, []
    for standing in ranking.standings:
        for at, model in enumerate(standing.names):
            low, high = (None if math.isnan(end) else end for end in standing.intervals[at].tolist())
            line = ranking.names.index(model)
            row = StandingRow(
                criterion=standing.criterion,
                model=model,
                place_best=int(standing.best_ranks[at]),
                place_worst=int(standing.worst_ranks[at]),
                score=float(standing.scores[at]),
                difference=float(standing.differences[at]),
                low=low,
                high=high,
                distance=None if lines is None else float(lines.distance[line]),
                imprecision=None if lines is None else float(lines.imprecision[line]),
            )
            rows.append(row)
    return tuple(rows)


def frame(rows: Sequence[Any], kind: type[Any], library: str | None = None) -> Any:
    """Return rows of a dataclass as a data frame of `library`, or of the first one that is installed."""
    if library is not None:
        one_of("`library`", library, LIBRARIES)
    installed = [name for name in LIBRARIES if find_spec(name) is not None]
    chosen = library or (installed[0] if installed else LIBRARIES[0])
    if chosen not in installed:
        raise MissingExtraError(
            "a data frame",
            f"needs {chosen}" if library else "needs pandas or polars",
            "it is not installed",
            f"Install it: `pip install {chosen}`, or use `number_rows`.",
        )
    fields = dataclasses.fields(kind)
    columns = {field.name: [getattr(row, field.name) for row in rows] for field in fields}
    words = {field.name: _column_type(str(field.type), columns[field.name]) for field in fields}
    if chosen == "polars":
        kinds = import_module("polars")
        types = {"str": kinds.String, "int": kinds.Int64, "float": kinds.Float64}
        return kinds.DataFrame(columns, schema={name: types[word] for name, word in words.items()})
    made = import_module("pandas").DataFrame(columns)
    return made.astype({name: float for name, word in words.items() if word == "float"})


def _column_type(annotation: str, values: list[Any]) -> str:
    """Return the type of a column: "float | None" is one of float, "str | float" what its first value is."""
    allowed = annotation.split(" | ")
    return next((word for word in allowed if values and type(values[0]).__name__ == word), allowed[0])


Ends = tuple[float, float] | None


def _numbers(
    value: Any, part: str, name: str, ends: Ends = None
) -> Iterator[tuple[str, str, Estimate | HypotestResult | Spread, Ends]]:
    """Yield (part, name, number, interval) of everything below `value`; arrays of numbers are left out.

    The interval is one that stands beside the number, for numbers that have none of their own.
    """
    if isinstance(value, (Estimate, HypotestResult, Spread)):
        yield part, name, value, ends
        return
    items: Any = ()
    if isinstance(value, Mapping):
        items = value.items()
    elif dataclasses.is_dataclass(value):
        items = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    above = f"{part}.{name}" if part and name else part or name
    for key, item in items:
        yield from _numbers(item, above, str(key), _beside(value, str(key)))


def _beside(value: Any, name: str) -> Ends:
    """Return the 95 % interval that stands beside a number, where its ends are known."""
    ends: Ends = getattr(value, f"{name}_interval", None)
    if ends is None or value.level is None or not math.isclose(value.level, 0.95):
        return None
    return ends if all(map(math.isfinite, ends)) else None


def _estimate_row(part: str, estimate: Estimate, ends: Ends) -> NumberRow:
    if ends is None and estimate.interval_refusal is None and estimate.stderr is not None:
        ends = estimate.interval()
    low, high = ends or (None, None)
    return NumberRow(part, estimate.name, estimate.value, estimate.stderr, low, high, estimate.n)


def _spread_row(part: str, group: str, spread: Spread) -> NumberRow:
    """Return the mean of one part of the unified score: "score.all", "score.average.wrong"."""
    above, _, what = part.rpartition(".")
    of = "score.average" if ".average." in above else "score"
    name = "epistemic_score" if what == "total" else f"epistemic_{what}"
    known = spread.stderr == spread.stderr
    return NumberRow(f"{of}.{group}", name, spread.mean, spread.stderr if known else None, n=spread.n)


def _test_cells(result: HypotestResult, limit: tuple[float, float], word: str) -> dict[str, Any]:
    return {
        "acceptance_low": limit[0],
        "acceptance_high": limit[1],
        "pvalue": result.pvalue,
        "adjusted_pvalue": result.adjusted_pvalue,
        "verdict": word,
    }
