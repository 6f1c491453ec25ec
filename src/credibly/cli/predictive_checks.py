"""`credibly check`: posterior predictive checks, both hypotheses side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from credibly._arrays.errors import InputError
from credibly.cli.numbers import LEVEL, NOT_SHOWN, leave, test_cells
from credibly.cli.output import Output, TextTable, progress, stage, with_flags
from credibly.cli.reading import Typed, opened
from credibly.hypotests import predictive_check
from credibly.hypotests.predictive.outcomes import has_members
from credibly.predictions import Gaussian, Rows
from credibly.results.predictive import PredictiveCheck
from credibly.results.tests import CheckDetails, HypotestResult
from credibly.statistics.registry import with_bins

COLUMNS = (
    "hypothesis",
    "group",
    "statistic",
    "value",
    "acceptance",
    "side",
    "pvalue",
    "pvalue_interval",
    "adjusted_pvalue",
    "member_pvalue",
    "sharpness",
    "effect_size",
    "n",
    "m",
    "n_resamples",
    "verdict",
)
SHOWN = ("hypothesis", "statistic", "value", "acceptance", "side", "pvalue", "adjusted_pvalue", "verdict")


def check_file(typed: Typed, output: Output) -> None:
    """Posterior predictive checks."""
    if typed.fail_on == NOT_SHOWN:
        raise InputError(
            "`--fail-on not-shown`",
            "needs a margin, and predictive checks have none",
            "got it for `check`",
            "Use `credibly test --margin 0.02 --fail-on not-shown`.",
        )
    with opened(typed.file, typed, output) as data:
        check = _checked(data, typed, output)
    curve = None
    if typed.power is not None:
        with progress(quiet=output.quiet) as tell:
            curve = check.power(typed.power, rng=typed.rng, progress=stage(tell, "power"))
    if output.as_json:
        results: dict[str, Any] = check.to_dict()
        output.json(results if curve is None else {**results, "power": curve.to_dict()})
    else:
        rows = [
            test_cells(test, COLUMNS, hypothesis=name, side=test.details.direction, m=test.details.n_members)
            for name, test in _results(check, groups=not output.terminal)
        ]
        output.table(TextTable(COLUMNS, rows), shown=SHOWN)
        if output.terminal and check.factors:
            output.pairs(_group_counts(check), heading="Groups")
        words = [f"{part.name}: {part.hypothesis}" for part in check.hypotheses.values()]
        if curve is not None:
            words += [line.strip() for line in str(curve).splitlines()]
        output.notes(map(with_flags, [*words, *check.limits, *check.notes]))
    leave(typed.fail_on, (test.verdict(LEVEL) for _, test in _results(check, groups=True)))


def _checked(data: Rows, typed: Typed, output: Output) -> PredictiveCheck:
    predictions, asked = data.example.predictions, typed.statistics
    chosen: Any = typed.hypothesis or ("both" if has_members(predictions) else "independent")
    if typed.hypothesis is None and chosen == "independent":
        by_row = isinstance(predictions, Gaussian) and predictions.weights_by_row
        why = "members have other weights in every row" if by_row else "only averages are stored"
        output.notes([f"{why}, so the Bayesian hypothesis cannot be tested"])
    with progress(quiet=output.quiet) as tell:
        return predictive_check(
            *data.arguments,
            **data.also("groups"),
            statistics=asked and [with_bins(name, typed.n_bins) for name in asked],
            hypothesis=chosen,
            n_resamples=typed.n_resamples,
            rng=typed.rng,
            progress=stage(tell, "checks"),
        )


def _results(check: PredictiveCheck, *, groups: bool) -> Iterator[tuple[str, HypotestResult[CheckDetails]]]:
    for name, part in check.hypotheses.items():
        yield from ((name, test) for test in part.checks.values())
        if groups:
            yield from ((name, test) for tests in part.groups.values() for test in tests.values())


def _group_counts(check: PredictiveCheck) -> Iterator[tuple[str, str]]:
    for name in check.hypotheses:
        for statistic, counts in check.count_verdicts(LEVEL, name).items():
            summary = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
            yield f"{name}, {statistic}", summary
