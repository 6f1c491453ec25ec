"""What a report says, as text: facts, key numbers, tables, and the command that makes it again."""

from __future__ import annotations

import dataclasses
from pathlib import PurePath
from typing import Any

from credibly._arrays.errors import UnsupportedError
from credibly.evaluation import Evaluation, Part, shown, shown_range, title
from credibly.evaluation.data_warnings import n_dropped
from credibly.plots import Table
from credibly.report.figures import SHOWN_CLASSES
from credibly.report.html_parts import interval_text

_SOURCE_KEYS = frozenset({"path", "digest", "dropped", "notes", "command"})


@dataclasses.dataclass(frozen=True)
class KeyNumber:
    """A number of the first screen: its interval, or the footnote that says why there is none."""

    name: str
    value: str
    interval: str | None
    footnote: int | None
    expected: str | None


def page_title(evaluation: Evaluation) -> str:
    """Return the name of the data."""
    path = evaluation.source.get("path")
    return PurePath(str(path)).name if path else f"{evaluation.predictions.kind} predictions"


def facts(evaluation: Evaluation) -> tuple[tuple[str, str], ...]:
    """Return the header: what was evaluated, against what, with what."""
    seen = evaluation.predictions
    dropped = n_dropped(evaluation.source)
    left_out = f" ({dropped} invalid {'row' if dropped == 1 else 'rows'} dropped)" if dropped else ""
    return (
        ("Data", str(evaluation.source.get("path") or "arrays in memory")),
        ("Predictions", seen.kind),
        ("Instances N", f"{seen.n}{left_out}"),
        ("Members M", str(seen.m)),
        ("Labels", "real numbers") if seen.k is None else ("Classes K", str(seen.k)),
    )


def how_tested(evaluation: Evaluation) -> str:
    """Say in one sentence what stands behind the word of the headline."""
    if not evaluation.tests:
        return "Nothing was tested."
    number = len(evaluation.tests) - ("omnibus" in evaluation.tests)
    tests = "one test" if number == 1 else f"{number} tests"
    return (
        f"{tests[0].upper()}{tests[1:]} on labels drawn {evaluation.settings['n_resamples']} times from the "
        f"predictions; the chance of a false conflict is at most {100 * evaluation.settings['level']:.3g} %."
    )


def seed_text(evaluation: Evaluation) -> str:
    """Return the seed as `rng=` takes it."""
    given = evaluation.settings["rng"]
    return str(given) if given is not None else str(tuple(evaluation.settings["seed"]))


def hypothesis(evaluation: Evaluation) -> str:
    """Return the null hypothesis as a sentence."""
    text = str(evaluation.settings["hypothesis"])
    seen = evaluation.predictions
    whose = "" if seen.kind == "Point" else " (the mean of its set)"
    if seen.k is None:
        whose = " (the mixture of its members)" if seen.m > 1 else ""
    return f"{text[0].upper()}{text[1:]}{whose}."


def key_numbers(evaluation: Evaluation) -> tuple[tuple[KeyNumber, ...], tuple[str, ...]]:
    """Return the numbers and the footnotes that say why some have no interval."""
    reasons: list[str] = []
    limits = {verdict.statistic: verdict.limit for verdict in evaluation.verdicts}
    numbers = []
    parts = (part for part in evaluation.parts.values() if isinstance(part, Part))
    own = {name: one for part in parts for name, one in part.key_numbers.items()}
    for name, estimate in {**own, **evaluation.estimates}.items():
        interval, footnote = None, None
        try:
            interval = shown_range(estimate.interval())
        except UnsupportedError as refused:
            if refused.evidence not in reasons:
                reasons.append(refused.evidence)
            footnote = reasons.index(refused.evidence) + 1
        limit = limits.get(name)
        expected = None if limit is None else shown_range(limit)
        numbers.append(KeyNumber(title(name), shown(estimate.value), interval, footnote, expected))
    return tuple(numbers), tuple(reasons)


def tests_table(evaluation: Evaluation) -> Table | None:
    """Return every test with all that belongs to its verdict, worst first, the omnibus test last."""
    if not evaluation.tests:
        return None
    rows = []
    for verdict in evaluation.verdicts:
        result = evaluation.tests[verdict.statistic or ""]
        rows.append((title(result.statistic_name), *_test_cells(result, verdict.limit), verdict.word))
    omnibus = evaluation.tests.get("omnibus")
    if omnibus is not None:
        word = omnibus.verdict(evaluation.settings["level"])
        name = "All together (−log10 of the smallest p)"
        rows.append((name, *_test_cells(omnibus, omnibus.acceptance_region), word))
    columns = (
        "statistic",
        "observed",
        "acceptance",
        "p",
        "95 % Monte-Carlo interval",
        "tail",
        "adjusted p",
        "effect size",
        "verdict",
    )
    return Table(columns, tuple(rows))


def _test_cells(result: Any, limit: tuple[float, float] | None) -> tuple[str, ...]:
    return (
        shown(result.statistic),
        "" if limit is None else shown_range(limit),
        shown(result.pvalue),
        "" if result.pvalue_interval is None else shown_range(result.pvalue_interval),
        "two-sided" if result.tail == "two-sided" else "upper",
        "" if result.adjusted_pvalue is None else shown(result.adjusted_pvalue),
        shown(result.effect_size),
    )


def decomposition_table(evaluation: Evaluation) -> Table | None:
    """Return the Brier score and its parts."""
    parts = evaluation.decomposition
    if parts is None:
        return None
    named = (
        ("Brier score", parts.loss),
        ("calibration loss, which recalibration could remove", parts.calibration),
        ("refinement loss, which it cannot", parts.refinement),
    )
    rows = tuple((name, shown(part.value), interval_text(part)) for name, part in named)
    return Table(("part", "value", "95 % interval"), rows)


def groups_table(evaluation: Evaluation) -> Table | None:
    """Return the cheap statistics of every group."""
    if not evaluation.groups:
        return None
    names = list(next(iter(evaluation.groups.values())))
    rows = []
    for group, estimates in evaluation.groups.items():
        n = max((estimate.n for estimate in estimates.values()), default=0)
        rows.append((group, str(n), *(shown(estimates[name].value) for name in names)))
    return Table(("group", "instances", *(title(name) for name in names)), tuple(rows))


def class_table(evaluation: Evaluation) -> Table | None:
    """Return the classes with the largest errors."""
    if evaluation.curves is None:
        return None
    errors = evaluation.curves.class_errors
    worst = sorted(range(len(errors)), key=lambda c: -errors[c])[:SHOWN_CLASSES]
    rows = tuple((evaluation.classes[c], shown(float(errors[c]))) for c in worst)
    return Table(("class", "binned calibration error"), rows)


def source_table(evaluation: Evaluation) -> Table:
    """Return where the data came from, with the whole hash and whatever else the reader recorded."""
    rows = [
        ("seed", seed_text(evaluation)),
        ("version", f"credibly {evaluation.settings['version']}"),
        ("predictions", f"{evaluation.predictions.kind}, {evaluation.predictions.dtype}"),
    ]
    rows += [("input hash", str(evaluation.source.get("digest") or "not known: arrays in memory"))]
    rows += [(key, str(value)) for key, value in evaluation.source.items() if key not in _SOURCE_KEYS]
    rows += [
        (key.replace("_", " "), str(evaluation.settings[key])) for key in ("n_bins", "n_resamples", "level")
    ]
    return Table(("setting", "value"), tuple(rows))


def command(evaluation: Evaluation) -> str:
    """Return the command line, or the Python lines, that make the report again."""
    recorded = evaluation.source.get("command")
    if recorded:
        return str(recorded)
    settings = evaluation.settings
    lines = [
        "import credibly as cr",
        "",
        "cr.evaluate(",
        "    predictions,",
        "    labels,",
        f"    statistics={list(settings['statistics'])!r},",
        f"    tests={settings['tests']},",
        f"    n_bins={settings['n_bins']},",
        f"    n_resamples={settings['n_resamples']},",
        f"    rng={seed_text(evaluation)},",
        f"    level={settings['level']},",
        f"    pairwise_rows={settings['pairwise_rows']},",
        ').report("report.html")',
    ]
    return "\n".join(lines)
