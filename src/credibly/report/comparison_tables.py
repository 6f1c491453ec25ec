"""The tables of a comparison report: facts, ranking, places and ties, single models, other choices."""

from __future__ import annotations

import dataclasses
import math

from credibly._arrays.errors import UnsupportedError
from credibly.evaluation import Comparison, joined, shown, shown_range, title
from credibly.evaluation.data_warnings import n_dropped
from credibly.plots import Table
from credibly.report.score import settings_text

_HASH_LENGTH = 16
_MOST_NAMED = 3


@dataclasses.dataclass(frozen=True)
class RankedRow:
    """A model in the table that the slider re-ranks."""

    place: int
    name: str
    kind: str
    is_point: bool
    distance: float
    slope: float
    score: str

    @property
    def exact(self) -> tuple[str, str]:
        """Distance and slope as a script reads them."""
        return tuple("Infinity" if math.isinf(one) else repr(one) for one in (self.distance, self.slope))  # type: ignore[return-value]


def facts(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return the header: what was compared, against what, with what."""
    ranking = comparison.ranking
    first = next(iter(comparison.models.values()))
    digests = comparison.source.get("digests") or []
    hashes = joined([str(one)[:_HASH_LENGTH] for one in digests], _MOST_NAMED)  # whole ones are at the end
    seed = comparison.settings["rng"]
    data = [str(path) for path in comparison.source.get("paths") or ["arrays in memory"]]
    members = [one.m for one in comparison.models.values()]
    dropped = n_dropped(comparison.source)
    left_out = f" ({dropped} invalid {'row' if dropped == 1 else 'rows'} dropped)" if dropped else ""
    return (
        ("Data", joined(data, _MOST_NAMED)),
        ("Instances N", f"{ranking.n}{left_out}"),
        ("Classes K", str(first.k)),
        ("Members M", str(members[0]) if len(set(members)) == 1 else f"{min(members)} to {max(members)}"),
        ("Score", settings_text(ranking.settings)),
        ("Seed", str(seed) if seed is not None else str(tuple(comparison.settings["seed"]))),
        ("Version", f"credibly {comparison.settings['version']}"),
        ("Input hash", hashes or "not known: arrays in memory"),
    )


def ranked(comparison: Comparison, tradeoff: float) -> tuple[RankedRow, ...]:
    """Return the rows of the table that the slider re-ranks, in the order of one trade-off."""
    ranking = comparison.ranking
    means = ranking.means(tradeoff)
    rows = []
    for place, name in enumerate(ranking.order(tradeoff), start=1):
        at = ranking.names.index(name)
        known = comparison.models.get(name)
        rows.append(
            RankedRow(
                place,
                name,
                known.kind if known is not None else "mean of a set",
                bool(ranking.is_point[at]),
                float(ranking.distance[at]),
                float(ranking.imprecision[at] * ranking.scale),
                shown(float(means[at])),
            )
        )
    return tuple(rows)


def standings(comparison: Comparison) -> list[tuple[str, Table]]:
    """Return places, differences to the first and their intervals at every trade-off asked for."""
    ranking = comparison.ranking
    columns = ("model", "place", "mean score", "minus the first", f"{100 * ranking.level:g} % joint interval")
    found = []
    for tradeoff in ranking.tradeoffs:
        standing = ranking.at(tradeoff)
        rows = []
        for at, name in enumerate(standing.names):
            low, high = standing.intervals[at].tolist()
            interval = "none: a mean is infinite" if math.isnan(low) else shown_range((low, high))
            rows.append(
                (
                    name,
                    standing.place(name),
                    shown(float(standing.scores[at])),
                    "" if at == 0 else shown(float(standing.differences[at])),
                    "" if at == 0 else interval,
                )
            )
        found.append((f"Trade-off {tradeoff:g}", Table(columns, tuple(rows))))
    return found


def without_points(comparison: Comparison) -> Table | None:
    """Return the orders of set predictions alone, as C25 prints them."""
    ranking = comparison.ranking
    try:
        orders = [ranking.at(one, points=False) for one in ranking.tradeoffs]
    except UnsupportedError:
        return None
    rows = tuple(
        (
            f"{one.tradeoff:g}",
            ", ".join(
                f"{name} {shown(float(score))}" for name, score in zip(one.names, one.scores, strict=True)
            ),
        )
        for one in orders
    )
    return Table(("trade-off", "set predictions, smallest mean score first"), rows)


def own_numbers(comparison: Comparison) -> Table:
    """Return the cheap statistics of every model."""
    names = list(dict.fromkeys(name for own in comparison.estimates.values() for name in own))
    rows = []
    for model, own in comparison.estimates.items():
        known = comparison.models[model]
        values = (shown(own[name].value) if name in own else "" for name in names)
        rows.append((model, known.kind, str(known.m), *values))
    return Table(("model", "kind", "members", *(title(name) for name in names)), tuple(rows))


def crossings(comparison: Comparison) -> Table | None:
    """Return where models change places."""
    ranking = comparison.ranking
    rows = tuple(
        (shown(one.tradeoff), one.below, one.beyond, str(one.rank), shown_range(one.interval))
        for one in ranking.crossings
    )
    interval = f"{100 * ranking.level:g} % interval"
    return Table(("trade-off", "better below", "better beyond", "place", interval), rows) if rows else None


def alternatives(comparison: Comparison) -> Table | None:
    """Return orders with other measures of imprecision."""
    ranking = comparison.ranking
    rows = tuple(
        (measure.replace("_", " "), f"{tradeoff:g}", ", ".join(order))
        for measure, one in ranking.alternatives.items()
        for tradeoff, order in zip(ranking.tradeoffs, one.orders, strict=True)
    )
    return Table(("imprecision", "trade-off", "order"), rows) if rows else None


def budgets(comparison: Comparison) -> Table | None:
    """Return scores on other budgets."""
    rows = tuple(
        (model, budget, shown(float(score)))
        for model, one in comparison.ranking.stability.items()
        for budget, score in zip(one.budgets, one.by_budget, strict=True)
    )
    return Table(("model", "budget", "mean score"), rows) if rows else None


def source_of(comparison: Comparison) -> Table:
    """Return settings and whole hashes."""
    settings = comparison.settings
    keys = (
        "measure",
        "divergence",
        "base",
        "negative",
        "paper",
        "scaled",
        "n_samples",
        "n_resamples",
        "level",
    )
    rows = [(key.replace("_", " "), str(settings[key])) for key in keys]
    digests = comparison.source.get("digests") or []
    for path, digest in zip(comparison.source.get("paths") or [], digests, strict=True):
        rows.append((f"hash of {path}", str(digest)))
    return Table(("setting", "value"), tuple(rows))


def command_of(comparison: Comparison) -> str:
    """Return the command line, or the Python lines, that make the report again."""
    recorded = comparison.source.get("command")
    if recorded:
        return str(recorded)
    settings = comparison.settings
    seed = settings["rng"] if settings["rng"] is not None else tuple(settings["seed"])
    lines = [
        "import credibly as cr",
        "",
        "cr.compare(",
        "    models,",
        "    labels,",
        f"    tradeoffs=[{', '.join(map(_number, comparison.ranking.tradeoffs))}],",
        f"    measure={settings['measure']!r},",
        f"    divergence={settings['divergence']!r},",
        f"    budget={settings['budget']!r},",
        f"    base={None if settings['base'] == 'e' else settings['base']},",
        f"    scaled={settings['scaled']},",
        f"    alternatives={settings['alternatives']!r},",
        f"    stability={settings['stability']},",
        f"    paper={settings['paper']!r},",
        f"    n_bins={settings['n_bins']},",
        f"    n_resamples={settings['n_resamples']},",
        f"    level={settings['level']},",
        f"    rng={seed},",
        ').report("comparison.html")',
    ]
    return "\n".join(lines)


def _number(value: float) -> str:
    return 'float("inf")' if math.isinf(value) else repr(value)
