"""What the page of an evaluation should show: facts, key numbers and tables, made from the evaluation alone.

A table is found by its caption and the names of its columns; every column says which field it shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import credibly as cr
from credibly.evaluation.sentences import REPAIRS
from page_forms import (
    Column,
    between,
    deciding,
    digits,
    ends_of,
    fields,
    if_right,
    interval,
    isotonic,
    pairs,
    percent,
    region,
    spreads,
    stacked,
    table,
    title,
    weights_of,
    wilson,
)
from pages import Card, ShownTable

CARDS_OF_RATERS = {
    "Irreducible loss": "loss.irreducible",
    "Calibration loss": "loss.calibration",
    "Dispersion loss": "loss.dispersion",
    "Predicted disagreement": "disagreement.predicted",
    "Observed disagreement": "disagreement.observed",
}


def expected_cards(evaluation: cr.Evaluation) -> tuple[list[Card], list[str]]:
    """Return the key numbers, each with interval and accepted values, and the reasons for no interval."""
    named = {}
    if evaluation.raters is not None:
        named = {name: one for name, (one,) in fields([evaluation.raters], CARDS_OF_RATERS)}
    named |= {title(name): estimate for name, estimate in evaluation.estimates.items()}
    accepted = {}
    for verdict in evaluation.verdicts:
        value, test = evaluation.estimates.get(verdict.statistic), evaluation.tests.get(verdict.statistic)
        # with several raters the test is of one of them, and so of another number
        if value is not None and test is not None and math.isclose(value.value, test.statistic):
            accepted[title(verdict.statistic)] = (f"accepted {between(verdict.limit)}",)
    reasons: list[str] = []
    cards = []
    for name, estimate in named.items():
        below = f"95 %: {interval(estimate)}"
        if not estimate.has_interval:
            reason = interval(estimate).removeprefix("none: ")
            reasons += [reason] * (reason not in reasons)
            below = f"no interval^{reasons.index(reason) + 1}"
        cards.append(Card(name, digits(estimate.value), (below, *accepted.get(name, ()))))
    return cards, reasons


def expected_facts(evaluation: cr.Evaluation) -> dict[str, str]:
    """Return the sizes in the header of the page."""
    seen = evaluation.predictions
    found = {"Predictions": seen.kind, "Instances N": str(seen.n)}
    found |= {} if seen.n_clusters is None else {"Clusters": str(seen.n_clusters)}
    found |= {"Members M": str(seen.m)} if seen.m > 1 else {}
    return found | ({"Labels": "real numbers"} if seen.k is None else {"Classes K": str(seen.k)})


def expected_tables(evaluation: cr.Evaluation) -> Iterator[ShownTable]:
    """Return all tables that the page must have, but for counts of replicates and the first curve."""
    level = float(evaluation.settings["level"])
    if evaluation.tests:
        yield _tests(evaluation, level)
    if evaluation.diagnosis is not None and evaluation.diagnosis.word == "conflict":
        yield from _repairs(evaluation.diagnosis)
    if evaluation.decomposition is not None:
        yield _decomposition(evaluation.decomposition)
    if evaluation.groups:
        yield _groups(evaluation)
    yield _settings(evaluation)
    if evaluation.curves is not None:
        yield from _classes(evaluation)
        yield from _risk(evaluation.curves.risk_coverage)
    if evaluation.reals is not None:
        yield from _reals(evaluation.reals)
    if evaluation.claims is not None:
        yield from _claims(evaluation.claims)
    if evaluation.credal is not None:
        yield from _credal(evaluation, level)
    if evaluation.check is not None:
        yield from _check(evaluation.check, level)
    if evaluation.audit is not None:
        yield from _audit(evaluation.audit)
    if evaluation.validity is not None:
        yield from _validity(evaluation.validity.test, level)
    if evaluation.score is not None:
        yield from _score(evaluation.score.score)
    if evaluation.raters is not None:
        yield from _raters(evaluation.raters)
    if evaluation.ignorance is not None:
        yield from _ignorance(evaluation)
    if evaluation.recalibration is not None:
        yield from _recalibration(evaluation.recalibration)


def _repairs(diagnosis: Any) -> Iterator[ShownTable]:
    """Return the five best repairs that change anything, and the chosen one."""
    chosen = None if diagnosis.repair is None else (diagnosis.repair.fault, diagnosis.repair.by)
    tried = [repair for repair in diagnosis.repairs if abs(repair.gain) > 1e-9]
    marks = [" (chosen)" if (one.fault, one.by) == chosen else "" for one in tried]
    kept = [(one, mark) for at, (one, mark) in enumerate(zip(tried, marks, strict=True)) if at < 5 or mark]
    names = [REPAIRS[one.method] + ("" if one.by is None else f" by {one.by}") + mark for one, mark in kept]
    if kept and diagnosis.fault not in ("inverted", "labels off by a row"):
        yield table(
            "Gains on rows that a repair was not fitted on",
            ("repair", [name[0].upper() + name[1:] for name in names]),
            (
                "lowers the loss by (95 %)",
                [f"{digits(estimate.gain)} ± {digits(2 * estimate.stderr)}" for estimate, _ in kept],
            ),
        )


def drawn_nulls(evaluation: cr.Evaluation) -> dict[str, Any]:
    """Return the tests whose replicates the page counts in bins, by the caption of the table."""
    tests = {
        f"{title(verdict.statistic)}: replicates under the hypothesis": evaluation.tests[verdict.statistic]
        for verdict in evaluation.verdicts
        if verdict.statistic in evaluation.tests
    }
    if evaluation.credal is not None:
        for name, test in evaluation.credal.tests.items():
            tests[f"The best combination under the hypothesis, {name} weights"] = test
    if evaluation.validity is not None:
        tests["Sum of the raters' evidence under the hypothesis"] = evaluation.validity.test
    return tests


def _word(word: str, evaluation: cr.Evaluation) -> str:
    """Return the verdict of one statistic: a conflict only if the one test of everything finds one."""
    diagnosis = evaluation.diagnosis
    explained = diagnosis is not None and diagnosis.word != "conflict"
    return "no conflict found" if word == "conflict" and explained else word


def _tests(evaluation: cr.Evaluation, level: float) -> ShownTable:
    order = [verdict.statistic for verdict in evaluation.verdicts]
    tests = [evaluation.tests[name] for name in order]
    names, limits = [title(name) for name in order], [verdict.limit for verdict in evaluation.verdicts]
    if "omnibus" in evaluation.tests:
        tests.append(evaluation.tests["omnibus"])
        names.append("All together (−log10 of the smallest p)")
        limits.append(region(tests[-1], level))
    shown = {
        "p": "pvalue",
        "95 % Monte-Carlo interval": "pvalue_interval",
        "tail": lambda one: "two-sided" if one.tail == "two-sided" else "upper",
        "adjusted p": "adjusted_pvalue",
        "effect size": "effect_size",
        "verdict": lambda one: _word(one.verdict(level), evaluation),
    }
    return table(
        f"Worst first; the adjusted p-value decides at level {level}",
        ("statistic", names),
        ("observed", [test.statistic for test in tests]),
        ("acceptance", limits),
        *fields(tests, shown),
    )


def _estimates(caption: str, named: Mapping[str, Any], *more: Column) -> ShownTable:
    """Return estimates under their names, with their intervals."""
    columns = fields(named.values(), {"value": "value", "95 % interval": interval})
    return table(caption, ("part", named), *columns, *more)


def _decomposition(parts: Any) -> ShownTable:
    if hasattr(parts, "refinement"):
        named = {
            "Brier score": parts.loss,
            "calibration loss, which recalibration could remove": parts.calibration,
            "refinement loss, which it cannot": parts.refinement,
        }
        return _estimates("", named)
    rows = {
        "CRPS": (parts.loss, interval(parts.loss)),
        "= miscalibration": (parts.miscalibration, parts.miscalibration_interval),
        "− discrimination": (parts.discrimination, parts.discrimination_interval),
        "+ uncertainty": (parts.uncertainty, interval(parts.uncertainty)),
    }
    values, ends = [one.value for one, _ in rows.values()], [ends for _, ends in rows.values()]
    return table("", ("part", rows), ("value", values), ("95 % interval", ends))


def _groups(evaluation: cr.Evaluation) -> ShownTable:
    groups = list(evaluation.groups.values())
    # a sum that grows with the number of instances is not compared between groups
    names = [name for name in groups[0] if name != "hosmer_lemeshow"]
    return table(
        "Confidence gap and ECE in points of probability" if evaluation.classes else "",
        ("group", evaluation.groups),
        ("instances", [max(one.n for one in group.values()) for group in groups]),
        *((title(name), [_in_group(name, group[name].value) for group in groups]) for name in names),
    )


def _in_group(name: str, value: float) -> str:
    if name == "accuracy":
        return percent(value)
    in_points = ("confidence_gap", "confidence_ece", "classwise_ece", "top_label_ece")
    return f"{100 * value:.1f}" if name in in_points else digits(value)


def _settings(evaluation: cr.Evaluation) -> ShownTable:
    settings, seen = evaluation.settings, evaluation.predictions
    kept = {
        "seed": settings["rng"],
        "version": f"credibly {settings['version']}",
        "predictions": f"{seen.kind}, {seen.dtype}",
        "input hash": "not known: arrays in memory",
        "n bins": settings["n_bins"],
        "n resamples": settings["n_resamples"],
        "level": str(settings["level"]),
    }
    return table("", ("setting", kept), ("value", kept.values()))


# ---------------------------------------------------------------------------------------------------- curves


def _band(observed: Any, band: Any) -> list[Column]:
    if band is None:
        return []
    low, high = band
    outside = (observed < low - 1e-12) | (observed > high + 1e-12)
    return [("band", pairs(low, high)), ("outside", outside)]


def _bins(ends: list[tuple[float, float]], count: Any, predicted: Any, observed: Any) -> list[Column]:
    return [("bin", ends), ("instances", count), ("predicted", predicted), ("observed", observed)]


def _reliability(curve: Any) -> list[Column]:
    """Return the bins of a reliability curve that hold instances."""
    inside = curve.weight > 0
    ends = pairs(curve.edges[:-1][inside], curve.edges[1:][inside])
    count, predicted, observed = (one[inside] for one in (curve.weight, curve.predicted, curve.observed))
    band = None if curve.band is None else [end[inside] for end in curve.band]
    return [*_bins(ends, count, predicted, observed), *_band(observed, band)]


def _about(curve: Any) -> str:
    if curve.name == "top label":
        return "Confidence against accuracy"
    return f"{curve.name[0].upper()}{curve.name[1:]}: predicted probability against frequency"


def first_curves(evaluation: cr.Evaluation) -> list[ShownTable]:
    """Return the curves of which a page of classes has one: the one in which a conflict is seen."""
    curves = evaluation.curves
    if curves is None:
        return []
    without_bins = [table(_about(one), *isotonic(one)) for one in (curves.isotonic, curves.worst_class)]
    return [*without_bins, table(_about(curves.top_label), *_reliability(curves.top_label))]


def _classes(evaluation: cr.Evaluation) -> Iterator[ShownTable]:
    curves, errors = evaluation.curves.per_class, evaluation.curves.class_errors
    for curve, name in zip(curves, evaluation.classes, strict=True):
        assert curve.name == f"class {name}"
        yield table(_about(curve), *_reliability(curve))
    worst = np.argsort(-errors, kind="stable")
    names = [evaluation.classes[c] for c in worst]
    yield table("", ("class", names), ("binned calibration error", errors[worst]))


def _risk(curves: Mapping[str, Any]) -> Iterator[ShownTable]:
    own, at = list(curves.values()), np.arange(1, 11) / 10
    first = own[0]
    yield table(
        "Mean share of wrong answers over all coverages",
        *fields(own, {"ordered by": "by", "area": "area.value"}),
        ("95 % interval", [interval(one.area) for one in own]),
        *fields(own, {"excess area": "excess.value"}),
        ("95 % interval", [interval(one.excess) for one in own]),
        *fields(own, {"area as stated": "stated_area"}),
    )
    risks = {
        f"risk by {name}": [*np.interp(at, curve.coverage, curve.risk), curve.area.value]
        for name, curve in curves.items()
    }
    yield table(
        "Share of wrong answers among the surest instances",
        ("coverage", [*at, "area"]),
        *risks.items(),
        ("stated", [*np.interp(at, first.coverage, first.stated), ""]),
        ("best order", [*np.interp(at, first.coverage, first.best), ""]),
    )


def _reals(parts: Any) -> Iterator[ShownTable]:
    named = {"labels below quantiles (probability integral transform)": parts.pit}
    if parts.coverage is not None:
        named["labels inside central intervals"] = parts.coverage
    apart = {name: one.observed - one.expected for name, one in named.items()}
    worst = {name: int(np.abs(one).argmax()) for name, one in apart.items()}
    shown = {
        "levels": lambda one: len(one.levels),
        "outside": lambda text: int(((text.observed < text.lower) | (text.observed > text.upper)).sum()),
    }
    yield table(
        "Curves over all levels, each with one p-value; not adjusted for each other",
        ("share of", named),
        *fields(named.values(), shown),
        ("largest difference", [apart[name][worst[name]] for name in named]),
        ("at level", [one.levels[worst[name]] for name, one in named.items()]),
        *fields(named.values(), {"p": "pvalue"}),
    )
    yield _levels("Shares of labels below quantiles, minus their levels", parts.pit, parts.pit.levels)
    if parts.coverage is not None:
        yield _levels("Stated against observed coverage", parts.coverage, 0.0)
    spread = parts.spread
    if spread is None or len(spread.stated) < 2:
        return
    # the outermost bins have no end of their own
    left = np.where(spread.left > 0, spread.left, spread.stated)
    right = np.maximum(left, np.where(np.isfinite(spread.right), spread.right, spread.stated))
    ends = pairs(left, right)
    yield table(
        "Stated spread against errors",
        *_bins(ends, spread.weight, spread.stated, spread.observed),
        *_band(spread.observed, spread.band),
    )
    yield table(
        "z-scores by stated spread",
        ("stated spread", ends),
        ("instances", spread.weight),
        ("z", spread.z),
        *_band(spread.z, spread.z_band),
    )


def _levels(caption: str, curve: Any, minus: Any) -> ShownTable:
    shares = {name: getattr(curve, name) - minus for name in ("observed", "lower", "upper")}
    return table(caption, ("level", curve.levels), *shares.items())


# ------------------------------------------------------------------------------------------------------ sets


def _claims(claims: Any) -> Iterator[ShownTable]:
    size = "width" if claims.kind == "intervals" else "size"
    lines = [("all", claims.n, claims.coverage.value)]
    for by, strata in ((size, claims.by_size), ("group", claims.by_group)):
        if strata is not None and len(strata.names) > 1:
            order = list(range(len(strata.names)))
            if by == "group":  # those farthest from the claim, in standard errors, first
                order.sort(key=lambda at: -abs(strata.coverage[at] - claims.claimed) * strata.n[at] ** 0.5)
            lines += [(f"{by} {strata.names[at]}", int(strata.n[at]), strata.coverage[at]) for at in order]
    names, counts, shares = zip(*lines, strict=True)
    ends = [wilson(share, n) for share, n in zip(shares, counts, strict=True)]
    for caption in ("Coverage in parts of the instances", "Observed and claimed coverage"):
        yield table(caption, ("part", names), ("n", counts), ("held", shares), ("interval", ends))


def _credal(evaluation: cr.Evaluation, level: float) -> Iterator[ShownTable]:
    parts, classes = evaluation.credal, evaluation.classes
    directions, often = parts.validity.details.directions[:10], {True: "more often", False: "less often"}
    told = {
        "class": lambda one: classes[one.label],
        "said to happen": lambda one: often[one.more],
        "n": "n",
        "the set allows": lambda text: f"{digits(text.lower)} to {digits(text.upper)}",
        "observed": "observed",
        "standard deviations": "score",
    }
    yield table("What the witness said, and what happened", *fields(directions, told))
    drawn = {
        "class": lambda one: f"{one.name(classes)}, {often[one.more]}",
        "instances": "n",
        "lower": "lower",
        "upper": "upper",
        "observed": "observed",
        "standard deviations beyond": "score",
    }
    if directions:
        yield table("Where the witness points", *fields(directions[:8], drawn))
    weights = {
        "learned": "weights that depend on the instance",
        "constant": "one weight vector for all instances",
    }
    tested = {
        "statistic": lambda one: title(one.statistic_name),
        "value": "statistic",
        "acceptance": lambda one: region(one, level),
        # the witness has a p-value of its own
        "p-value": lambda one: weights_of(one).pvalue,
        "heaviest weights": _heaviest,
    }
    if parts.tests:
        names = [weights[name] for name in parts.tests]
        yield table("Combinations of the set", ("weights", names), *fields(parts.tests.values(), tested))
    regions = parts.regions
    if regions is not None:
        named = [classes[c] for c in regions.classes]
        yield table(
            "Largest local deviations of the combination, by region",
            ("region", regions.regions[:10]),
            ("class", named[:10]),
            ("predicted", regions.predicted[:10]),
            ("observed", regions.observed[:10]),
            ("n", regions.sizes[:10]),
            ("adjusted p", regions.adjusted_pvalues[:10]),
        )
        yield table(
            "Where the combination fails",
            ("regions", regions.regions),
            ("classes", named),
            ("scores", regions.scores),
            ("predicted", regions.predicted),
            ("observed", regions.observed),
            ("sizes", regions.sizes),
            ("adjusted pvalues", regions.adjusted_pvalues),
        )


def _heaviest(test: Any) -> str:
    mean = np.asarray(test.details.weights).reshape(-1, len(test.details.weight_names)).mean(axis=0)
    three = np.argsort(-mean, kind="stable")[:3]
    return ", ".join(f"{test.details.weight_names[at]} {digits(mean[at])}" for at in three)


def _validity(test: Any, level: float) -> Iterator[ShownTable]:
    deviance, adjusted = np.asarray(test.details.deviance), np.asarray(test.details.adjusted_pvalues)
    order = np.argsort(-deviance, kind="stable")
    yield table(
        "Deviance of every instance",
        ("rows", order),
        ("deviance", deviance[order]),
        ("adjusted pvalues", adjusted[order]),
        ("ranks", 1 + np.arange(len(order))),
    )
    failing = [row for row in order if adjusted[row] <= level][:10]
    if failing:
        yield table(
            "Instances that stand out after adjustment, worst first",
            ("row", failing),
            ("raters", [int(test.details.raters[row]) for row in failing]),
            ("deviance", deviance[failing]),
            ("p-value", [test.details.pvalues[row] for row in failing]),
            ("adjusted p", adjusted[failing]),
        )


def _score(score: Any) -> Iterator[ShownTable]:
    mean = {} if score.average is None else {"its mean": score.average}
    yield spreads("Mean ± standard deviation over instances", {"the set": score, **mean})
    for part in ("distance", "imprecision"):
        yield if_right(part, {score.kind: score, **mean})
    distance, imprecision = np.asarray(score.distance), np.asarray(score.imprecision)
    quarters = np.array_split(np.argsort(imprecision, kind="stable"), 4)
    by_quarter = {
        "imprecision": lambda some: (imprecision[some[0]], imprecision[some[-1]]),
        "instances": len,
        "mean distance": lambda some: distance[some].mean(),
        "share right": lambda some: (np.asarray(score.right)[some] > 0).mean(),
    }
    yield table("Distance against imprecision", *fields(quarters, by_quarter))
    tenth = np.minimum((10 * np.asarray(score.confidence)).astype(int), 9)
    bins = np.unique(tenth)
    columns: list[Column] = []
    for name in ("entropy", "imprecision"):
        held = [np.asarray(getattr(score, name))[tenth == one] for one in bins]
        middle = [tuple(np.quantile(one, (0.1, 0.9))) for one in held]
        columns += [(name, [one.mean() for one in held]), (f"80 % of {name}", middle)]
    yield table(
        "Uncertainty against confidence",
        ("confidence", pairs(bins / 10, (bins + 1) / 10)),
        ("instances", [int((tenth == one).sum()) for one in bins]),
        *columns,
    )


# ------------------------------------------------------------- checks, groups, raters, before and after


def _check(check: Any, level: float) -> Iterator[ShownTable]:
    shown = {
        "observed": "statistic",
        "acceptance": lambda one: region(one, level),
        "p": "pvalue",
        "95 % Monte-Carlo interval": "pvalue_interval",
        "adjusted p": "adjusted_pvalue",
        "side": "details.direction",
        "sharpness": "details.sharpness",
        "effect size": "effect_size",
        "p with the truth as one more member": "details.member_pvalue",
        "verdict": lambda one: one.verdict(level),
    }
    lines = {}
    for name, part in check.hypotheses.items():
        said = f"{name.capitalize()}: {part.hypothesis}"
        names = [title(check) for check in part.checks]
        yield table(said, ("statistic", names), *fields(part.checks.values(), shown))
        lines |= {(statistic, name): part.checks[statistic] for statistic in check.statistics}
        if check.factors:
            words = {
                check: [group[check].verdict(level) for group in part.groups.values()]
                for check in part.checks
            }
            counts = {
                word: lambda own, word=word: own.count(word)
                for word in ("conflict", "no conflict found", "cannot tell")
            }
            said = f"Groups by verdict, {name}"
            yield table(said, ("statistic", names), *fields(words.values(), counts))
    order = [(statistic, name) for statistic in check.statistics for name in check.hypotheses]
    yield table(
        "What the model expects, and what was observed",
        ("check", [f"{title(one)}, {name}" for one, name in order]),
        *fields(
            [lines[key] for key in order],
            {"observed": "statistic", "acceptance": lambda one: region(one, level), "p": deciding},
        ),
    )
    part = check.bayesian
    worst = min(part.checks.values(), key=deciding)
    drew = {j: worst.null_distribution[part.members == j] for j in np.unique(part.members)}
    by_mean = sorted(drew, key=lambda j: drew[j].mean())
    yield table(
        "Replicates by the member that drew them",
        ("member", by_mean),
        ("replicates", [drew[j].size for j in by_mean]),
        ("mean", [drew[j].mean() for j in by_mean]),
    )
    if check.factors:
        groups = {group: own[worst.statistic_name] for group, own in part.groups.items()}
        each = {
            "adjusted p": deciding,
            "sharpness": "details.sharpness",
            "verdict": lambda one: one.verdict(level),
        }
        yield table("Predictive checks within groups", ("group", groups), *fields(groups.values(), each))


def _audit(audit: Any) -> Iterator[ShownTable]:
    off = [group for group in audit.groups if group.verdict == "conflict"]
    findings = [one for one in off if one.explained_by is None]
    caption = "Groups that are off and that no other group explains"
    if not findings:
        caption = "The clearest groups; none is off by more than chance explains"
    listed = {
        "group": "group",
        "counted": "measure",
        "instances": "n",
        "observed": lambda one: percent(one.observed),
        "predicted": lambda one: percent(one.expected),
        "difference in points, simultaneous interval": lambda one: (
            f"{100 * one.low:+.1f} to {100 * one.high:+.1f}"
        ),
        "adjusted p": "adjusted_pvalue",
        "smallest detectable difference": lambda one: f"{100 * one.detectable:.1f}",
    }
    yield table(caption, *fields((findings or list(audit.groups))[:12], listed))
    explained = [one for one in off if one.explained_by is not None]
    others = [group for group in audit.groups if group.verdict != "conflict"]
    drawn = {
        "group": "group",
        "measure": "measure",
        "n": "n",
        "effect": lambda one: one.observed - one.expected,
        "interval": lambda one: (one.low, one.high),
        "adjusted p": "adjusted_pvalue",
        "smallest detectable effect": "detectable",
        "explained by": "explained_by",
    }
    yield table("Groups by their effect", *fields([*findings, *explained, *others][:12], drawn))


def _ignorance(evaluation: cr.Evaluation) -> Iterator[ShownTable]:
    ignorance, repaired = evaluation.ignorance.stated, evaluation.ignorance.repaired
    yield _estimates(
        "How ignorant it says that it is, and how ignorant labels show it to be",
        {
            "stated ignorance: variance of the class probabilities": ignorance.stated,
            "supported by pairs of labels": ignorance.supported,
            "of that, a mean that is off": ignorance.mean_part,
            "stated, as a share of the uncertainty": ignorance.stated_share,
            "supported, as a share of the uncertainty": ignorance.supported_share,
        },
    )
    names = {
        "pair_gap": "supported minus stated ignorance",
        "spread_score": "spread score (above 0: stated too narrow)",
        "local_spread_score": "spread score, given the prediction",
    }
    tests = ignorance.test.components
    after = [] if repaired is None else [repaired.test]
    last = ["all three together", "the mean, on one label per instance"]
    last += ["the first and the third, after the repair"] * len(after)
    every = [*tests.values(), ignorance.test, ignorance.mean_test, *after]
    nothing = [""] * len(last)
    yield table(
        "Tests of the spread and of the mean",
        ("what is tested", [*(names[test] for test in tests), *last]),
        ("observed", [*(test.statistic for test in tests.values()), *nothing]),
        ("acceptance", [*(region(test, 0.05) for test in tests.values()), *nothing]),
        ("p", [result.pvalue for result in every]),
        ("adjusted p", [one.deciding_pvalue for one in every]),
    )
    bins = ignorance.by_size
    ends = [end if end[0] == end[0] else "none" for end in pairs(bins.low, bins.high)]
    yield table(
        "Stated against supported ignorance",
        ("instances", bins.count),
        ("stated", bins.stated),
        ("supported", bins.supported),
        ("95 % interval", ends),
    )


def _raters(raters: Any) -> Iterator[ShownTable]:
    loss, both = raters.loss, raters.disagreement
    meanings = {
        "expected loss: squared distance to a rater's label": "expected",
        "irreducible: raters disagree, no model can help": "irreducible",
        "epistemic: the prediction is not the distribution of labels": "epistemic",
        "of that, calibration loss: recalibration could remove it": "calibration",
        "of that, dispersion loss: the prediction does not distinguish these instances": "dispersion",
    }
    yield _estimates(
        "Squared loss over raters; without correction, few raters look like a bad model",
        {meaning: getattr(loss, name) for meaning, name in meanings.items()},
        ("without correction", [getattr(loss.plugin, name).value for name in meanings.values()]),
    )
    yield _estimates(
        "Disagreement of two raters of one instance",
        {
            "mean predicted disagreement of two raters": both.predicted,
            "mean observed disagreement": both.observed,
            "loss of the predicted disagreement": both.expected,
            "of that, calibration loss": both.calibration,
        },
    )
    errors = {"calibration error": loss.calibration_error, "dispersion error": loss.dispersion_error}
    yield table(
        "Where the epistemic loss lies",
        ("model", ["model"] * 2),
        ("error", errors),
        *fields(errors.values(), {"value": "value", "95 % interval": ends_of}),
    )
    bins = both.bins
    inside, edges = bins.count[0] > 0, bins.edges.reshape(-1, bins.edges.shape[-1])[0]
    predicted, observed, error = (
        one[0][inside] for one in (bins.predicted, bins.observed, bins.sampling_error)
    )
    # in each bin what raters would show by chance if the predictions were true, within 0 and 1
    band = [np.clip(predicted + side * 1.959963984540054 * error, 0, 1) for side in (-1, 1)]
    yield table(
        "Predicted against observed disagreement of two raters",
        *_bins(pairs(edges[:-1][inside], edges[1:][inside]), bins.count[0][inside], predicted, observed),
        *_band(observed, band),
    )


def _recalibration(report: Any) -> Iterator[ShownTable]:
    shown = {
        "before": "before.value",
        "after": "after.value",
        "difference": "difference.value",
        "95 % interval": lambda one: interval(one.difference),
        "adjusted p before": lambda one: None if one.test_before is None else deciding(one.test_before),
    }
    for name, one in report.methods.items():
        changes = one.changes.values()
        yield table(
            f"{name}: {one.description} when fitted on all instances",
            ("statistic", map(title, one.changes)),
            *fields(changes, shown),
            (
                "after",
                [None if change.test_after is None else deciding(change.test_after) for change in changes],
            ),
        )
    curves = {"before": report.curve, **{name: method.curve for name, method in report.methods.items()}}
    if hasattr(report.curve, "edges"):
        bins = {name: _reliability(curve)[:4] for name, curve in curves.items()}
        yield stacked("Confidence against accuracy, before and after", "curve", bins)
    elif report.curve is not None:
        levels = {
            name: [("level", curve.levels), ("observed", curve.observed)] for name, curve in curves.items()
        }
        yield stacked("Stated coverage against observed coverage, before and after", "curve", levels)
    known = {name for method in report.methods.values() for name in method.changes}
    first = next(name for name in ("disagreement_calibration_loss", "log_loss", "crps") if name in known)
    own = {name: method.changes[first] for name, method in report.methods.items()}
    moved = {
        "after": "after.value",
        "difference": "difference.value",
        "low": lambda one: ends_of(one.difference)[0],
        "high": lambda one: ends_of(one.difference)[1],
    }
    yield table(f"Change of {title(first)}", ("methods", own), *fields(own.values(), moved))
