"""Every number on a page is the number of the evaluation that its caption, column and row name.

What a page should show is made from the results alone, in `page_evaluations`, `page_comparisons` and
`page_sentences`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import PredictionIntervals, PredictionSets
from credibly.report.page import render_report
from credibly.results.tests import with_details
from page_comparisons import comparison_tables, lines_table, score_comparison_tables
from page_evaluations import drawn_nulls, expected_cards, expected_facts, expected_tables, first_curves
from page_forms import digits
from page_sentences import comparison_faults, evaluation_faults
from pages import ShownPage, ShownTable

pytestmark = pytest.mark.usefixtures("without_pictures")

N = 60
CLASSES = ("cat", "dog", "owl")
BASIC = ("accuracy", "brier", "log_loss", "confidence_gap", "confidence_ece", "classwise_ece")

# ------------------------------------------------------------------------------------------------ the pages

RNG = np.random.default_rng(0)
MEMBERS = 0.7 * RNG.dirichlet(np.ones(3), size=(N, 1)) + 0.3 * RNG.dirichlet(np.ones(3), size=(N, 4))
PROBS = MEMBERS.mean(axis=1)
SHARP = PROBS**2 / (PROBS**2).sum(axis=1, keepdims=True)
LABELS = np.minimum((RNG.random((N, 1)) > PROBS.cumsum(axis=1)).sum(axis=1), 2)
COUNTS = RNG.multinomial(RNG.integers(2, 6, size=N), PROBS)
LEAST = np.eye(3, dtype=int)[PROBS.argmin(axis=1)]
OUTLIERS = np.where(np.arange(N)[:, None] < 2, 40 * LEAST, COUNTS)
IGNORANCE = RNG.uniform(0.05, 0.3, size=(N, 1))
BELIEF = cr.Belief(np.hstack([(1 - IGNORANCE) * PROBS, IGNORANCE]), [{0}, {1}, {2}, {0, 1, 2}])
MEAN, STD = RNG.normal(size=N), 0.5 + RNG.random(N)
REALS = MEAN + 1.5 * STD * RNG.normal(size=N)
DRAWS = MEAN[:, None] + STD[:, None] * RNG.normal(size=(N, 20))
FEATURES = RNG.normal(size=(N, 2))
SEX = np.where(np.arange(N) % 2, "f", "m")
GROUPS = {"sex": SEX, "site": np.where(np.arange(N) % 3, "south", "north")}
APART = {"groups": SEX, "features": FEATURES}
TRIPLES = np.arange(N) // 3
GAUSSIAN = cr.Gaussian(MEAN, STD)
MEANS = MEAN[:, None] + 0.3 * RNG.normal(size=(N, 3))
LEVELS = [0.05, 0.5, 0.95]

KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "points": (SHARP, LABELS, {"groups": GROUPS, "statistics": [*BASIC, "hosmer_lemeshow"],
                               "recalibrate": ["temperature", "vector"]}),
    "points in clusters": (SHARP, LABELS, {"clusters": TRIPLES, "statistics": BASIC}),
    "points, untested": (SHARP, LABELS, {"tests": False}),
    "points, rated": (SHARP, cr.LabelCounts(COUNTS), {"statistics": ["brier"]}),
    "ensemble": (cr.Ensemble(MEMBERS), LABELS, {"groups": SEX, "statistics": BASIC}),
    "ensemble, rated": (cr.Ensemble(MEMBERS), cr.LabelCounts(COUNTS), {"statistics": ["brier"]}),
    "ensemble, another level": (cr.Ensemble(MEMBERS), cr.LabelCounts(OUTLIERS),
                                {"statistics": ["brier"], "recalibrate": [], "level": 0.2}),
    "Dirichlet": (cr.Dirichlet(20 * PROBS), LABELS, {"statistics": ["brier"]}),
    "intervals": (cr.Intervals(MEMBERS.min(axis=1), MEMBERS.max(axis=1)), LABELS, {"statistics": ["brier"]}),
    "belief functions": (BELIEF, LABELS, {"statistics": ["brier"]}),
    "prediction sets": (PredictionSets(PROBS > 0.2, claimed=0.9), LABELS, APART),
    "Gaussian": (GAUSSIAN, REALS, {"groups": GROUPS}),
    "Gaussian in clusters": (GAUSSIAN, REALS, {"clusters": TRIPLES, "statistics": ["crps", "picp"]}),
    "Gaussian members": (cr.Gaussian(MEANS, np.outer(STD, np.ones(3))), REALS, {"statistics": ["crps"]}),
    "draws": (cr.Samples(DRAWS), REALS, {"statistics": ["crps", "ence"]}),
    "quantiles": (cr.Quantiles(np.quantile(DRAWS, LEVELS, axis=1).T, LEVELS), REALS, {}),
    "prediction intervals": (PredictionIntervals(MEAN - STD, MEAN + STD, claimed=0.7), REALS, APART),
}  # fmt: skip

QUICK = ("points", "prediction sets", "quantiles")
"""What stays out of the slow tests: all of them together take seconds."""

POINTS = {"right": PROBS, "sharp": SHARP, "opposite": SHARP[:, ::-1]}
MODELS: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "points": (POINTS, LABELS, {}),
    "sets": ({**POINTS, "ensemble": cr.Ensemble(MEMBERS), "belief": BELIEF}, LABELS, {}),
    "reals": ({"narrow": GAUSSIAN, "wide": cr.Gaussian(MEAN, 2 * STD), "draws": cr.Samples(DRAWS),
               "far": cr.Gaussian(MEAN + 5, STD)}, REALS, {}),
    "classes by scores": (POINTS, LABELS, {"statistics": ["rps", "brier"]}),
}  # fmt: skip


@cache
def evaluation(kind: str) -> cr.Evaluation:
    predictions, labels, settings = KINDS[kind]
    shared = {"n_resamples": 39, "classes": None if labels is REALS else CLASSES, "progress": None}
    return cr.evaluate(predictions, labels, **{**shared, **settings})


@cache
def comparison(kind: str) -> Any:
    models, labels, settings = MODELS[kind]
    return cr.compare(models, labels, n_resamples=100, progress=None, **settings)


# --------------------------------------------------------------------------------------------- what is wrong


def cell_faults(table: ShownTable, expected: ShownTable) -> list[str]:
    """Compare two tables of the same name, cell by cell."""
    place = f"“{table.caption}” ({', '.join(table.columns[:3])}, …)"
    if len(table.rows) != len(expected.rows):
        return [f"{place}: {len(table.rows)} rows, not {len(expected.rows)}"]
    return [
        f"{place}, row {row[0]}, column {column}: {is_there}, not {should_be}"
        for row, right in zip(table.rows, expected.rows, strict=True)
        for column, is_there, should_be in zip(table.columns, row, right, strict=True)
        if is_there != should_be
    ]


def table_faults(
    page: ShownPage, expected: Iterable[ShownTable], others: Iterable[ShownTable] = ()
) -> list[str]:
    """Compare tables by name: all of `expected` must be there, and no other but `others`."""
    required = {one.name: one for one in expected}
    known = {other.name: other for other in others} | required
    names = [table.name for table in page.tables]
    wrong = [f"{name} is on the page twice" for name in names if names.count(name) > 1]
    wrong += [f"{name} is missing" for name in required if name not in names]
    for one in page.tables:
        wrong += cell_faults(one, known[one.name]) if one.name in known else [f"{one.name} is not known"]
    return wrong


def count_faults(table: ShownTable, replicates: np.ndarray) -> list[str]:
    """Count replicates in the bins that a table names, whose ends are rounded there."""
    finite = replicates[np.isfinite(replicates)]
    bins = [[Decimal(end) for end in text.split(" to ")] for text, _ in table.rows]
    counts = [int(count) for _, count in table.rows]
    wrong = (
        []
        if sum(counts) == finite.size
        else [f"“{table.caption}”: {sum(counts)} of {finite.size} replicates"]
    )
    for (low, high), count in zip(bins, counts, strict=True):
        start, end = float(low), float(high)
        before, after = (0.5000001 * 10.0 ** int(one.as_tuple().exponent) for one in (low, high))
        least = ((finite > start + before) & (finite < end - after)).sum()
        most = ((finite >= start - before) & (finite <= end + after)).sum()
        if not least <= count <= most:
            wrong.append(f"“{table.caption}”, {low} to {high}: {count} replicates, not {least} to {most}")
    return wrong


def wrong_on(page: ShownPage, evaluated: cr.Evaluation, predictions: Any) -> list[str]:
    """Return all that a page says and the evaluation does not."""
    nulls = drawn_nulls(evaluated)
    counted = [table for table in page.tables if table.caption in nulls]
    wrong = [f"“{name}” is missing" for name in nulls if name not in [one.caption for one in counted]]
    for one in counted:
        wrong += count_faults(one, nulls[one.caption].null_distribution)
    wrong += table_faults(page, expected_tables(evaluated), [*first_curves(evaluated), *counted])
    facts = expected_facts(evaluated)
    wrong += [f"{name}: {page.facts.get(name)}, not {said}" for name, said in facts.items()
              if page.facts.get(name) != said]  # fmt: skip
    cards, reasons = expected_cards(evaluated)
    wrong += [f"key number {card}" for card in page.cards if card not in cards]
    wrong += [f"key number {card} is missing" for card in cards if card not in page.cards]
    text = " ".join(sentence.text for sentence in page.sentences)
    for number, reason in enumerate(reasons, start=1):
        footnote = f"^{number} No interval, because {reason.replace('`', '')}."
        wrong += [] if footnote in text else [f"“{footnote}” is missing"]
    *steps, again = page.commands
    settings = evaluated.settings
    for name in ("n_bins", "n_resamples", "rng", "level", "pairwise_rows"):
        wrong += [] if f"{name}={settings[name]}," in again else [f"{name}={settings[name]} is missing"]
    plans = [step for step in steps if "plan" in step]
    wrong += [plan for plan in plans if f"gap={evaluated.headline.margin:g})" not in plan]
    wanted = (
        cr.plan_labels(predictions, gap=evaluated.headline.margin, level=1 - settings["level"])
        if plans
        else None
    )
    return wrong + evaluation_faults(page, evaluated, None if wanted is None else wanted.instances)


def wrong_between(page: ShownPage, given: Any) -> list[str]:
    """Return all that a page says and the comparison does not."""
    ranking = given.ranking
    wrong = (
        [] if page.facts["Instances N"] == str(ranking.n) else [f"Instances N: {page.facts['Instances N']}"]
    )
    if given.by_scores:
        return wrong + table_faults(page, score_comparison_tables(given)) + comparison_faults(page, given)
    expected = list(comparison_tables(given))
    if given.recommendations:
        slider, *_ = page.root.all("input")
        models = ranking.lines
        expected.append(lines_table(models, float(slider.attributes["max"])))
        order = [models.names.index(name) for name in models.order(float(slider.attributes["value"]))]
        lines = [(repr(float(models.distance[at])), repr(float(models.imprecision[at]))) for at in order]
        read = [(one.attributes["data-distance"], one.attributes["data-imprecision"])
                for one in page.root.all("tr") if "data-distance" in one.attributes]  # fmt: skip
        wrong += [] if read == lines else [f"the slider reads {read}, not {lines}"]
    return wrong + table_faults(page, expected) + comparison_faults(page, given)


# ------------------------------------------------------------------------------------------------- the tests


@pytest.mark.parametrize(
    "kind", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in KINDS]
)
def test_the_page_of_an_evaluation_shows_its_numbers(kind: str) -> None:
    evaluated = evaluation(kind)
    assert wrong_on(ShownPage(render_report(evaluated)), evaluated, KINDS[kind][0]) == []


@pytest.mark.parametrize("kind", MODELS)
def test_the_page_of_a_comparison_shows_its_numbers(kind: str) -> None:
    given = comparison(kind)
    assert wrong_between(ShownPage(render_report(given)), given) == []


@pytest.mark.slow
def test_the_pages_have_every_part_and_every_table() -> None:
    """What no page shows is not compared."""
    pages = [evaluation(kind) for kind in KINDS]
    optional = {field.name for field in dataclasses.fields(cr.Evaluation) if field.default is None}
    assert {name for page in pages for name in page.parts} == {
        *optional,
        "curves",
        "decomposition",
        "predictions",
    }
    captions = {table.caption for page in pages for table in expected_tables(page)}
    assert "Groups that are off and that no other group explains" in captions
    assert "The clearest groups; none is off by more than chance explains" in captions
    assert "Instances that stand out after adjustment, worst first" in captions
    leading = next(comparison_tables(comparison("points")))
    assert any("behind by" in one for row in leading.rows for one in row)
    assert any("tied for best" in one for row in leading.rows for one in row)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.12345, "0.123"),
        (0.5, "0.5"),
        (99.96, "100"),
        (12345.6, "12346"),
        (2.5e6, "2.5e+06"),
        (3e-5, "3.0e-05"),
        (-0.0, "0"),
        (-0.00021, "-0.00021"),
        (math.inf, "infinite"),
        (-math.inf, "minus infinite"),
        (math.nan, "not defined"),
    ],
)
def test_numbers_are_written_with_three_digits(value: float, shown: str) -> None:
    assert digits(value) == shown


# ------------------------------------------------------------------------- pages that show something else


def _with_estimates(evaluated: cr.Evaluation, change: Callable[[float], float]) -> cr.Evaluation:
    estimates = {
        name: dataclasses.replace(estimate, value=change(estimate.value))
        for name, estimate in evaluated.estimates.items()
    }
    return dataclasses.replace(evaluated, estimates=estimates)


def _raw_p(evaluated: cr.Evaluation) -> cr.Evaluation:
    tests = {
        name: dataclasses.replace(test, adjusted_pvalue=test.pvalue) for name, test in evaluated.tests.items()
    }
    return dataclasses.replace(evaluated, tests=tests)


def _after_before(evaluated: cr.Evaluation) -> cr.Evaluation:
    methods = {
        name: dataclasses.replace(
            method,
            changes={
                statistic: dataclasses.replace(change, before=change.after, after=change.before)
                for statistic, change in method.changes.items()
            },
        )
        for name, method in evaluated.recalibration.methods.items()
    }
    return dataclasses.replace(
        evaluated, recalibration=dataclasses.replace(evaluated.recalibration, methods=methods)
    )


def _predicted_observed(evaluated: cr.Evaluation) -> cr.Evaluation:
    groups = tuple(
        dataclasses.replace(group, observed=group.expected, expected=group.observed)
        for group in evaluated.audit.groups
    )
    return dataclasses.replace(evaluated, audit=dataclasses.replace(evaluated.audit, groups=groups))


def _uncorrected(evaluated: cr.Evaluation) -> cr.Evaluation:
    loss, names = evaluated.raters.loss, ("expected", "irreducible", "epistemic", "calibration", "dispersion")
    plugin = dataclasses.replace(loss.plugin, **{name: getattr(loss, name) for name in names})
    swapped = {name: getattr(loss.plugin, name) for name in names}
    loss = dataclasses.replace(loss, plugin=plugin, **swapped)
    return dataclasses.replace(evaluated, raters=dataclasses.replace(evaluated.raters, loss=loss))


def _our_p(evaluated: cr.Evaluation) -> cr.Evaluation:
    part = evaluated.check.bayesian
    checks = {
        name: with_details(check, dataclasses.replace(check.details, member_pvalue=check.pvalue))
        for name, check in part.checks.items()
    }
    check = dataclasses.replace(evaluated.check, bayesian=dataclasses.replace(part, checks=checks))
    return dataclasses.replace(evaluated, check=check)


def _inverted_groups(audited: cr.Evaluation) -> cr.Evaluation:
    groups = {
        group: {name: dataclasses.replace(one, value=1 / one.value) for name, one in own.items()}
        for group, own in audited.groups.items()
    }
    return dataclasses.replace(audited, groups=groups)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "breaks", "column"),
    [
        ("points", lambda given: _with_estimates(given, lambda value: 2 * value), "key number"),
        ("points", _raw_p, "column adjusted p"),
        ("points", _after_before, "column before"),
        ("points", _predicted_observed, "column observed"),
        ("points, rated", _uncorrected, "column without correction"),
        ("ensemble", _our_p, "column p with the truth as one more member"),
        ("points", _inverted_groups, "column Confidence gap"),
    ],
    ids=[
        "doubled",
        "raw p",
        "after as before",
        "observed as predicted",
        "uncorrected",
        "p of the check",
        "inverted",
    ],
)
def test_a_page_of_other_numbers_is_noticed(
    kind: str, breaks: Callable[[cr.Evaluation], cr.Evaluation], column: str
) -> None:
    evaluated = evaluation(kind)
    wrong = wrong_on(ShownPage(render_report(breaks(evaluated))), evaluated, KINDS[kind][0])
    assert any(column in one for one in wrong), wrong


def test_the_score_of_another_model_is_noticed() -> None:
    given = comparison("sets")
    lines = given.ranking.lines
    alike = dataclasses.replace(lines, distance=np.full_like(lines.distance, lines.distance[0]))
    broken = dataclasses.replace(given, ranking=dataclasses.replace(given.ranking, lines=alike))
    wrong = wrong_between(ShownPage(render_report(broken)), given)
    assert any("unless the slider" in one and "column mean score" in one for one in wrong), wrong
