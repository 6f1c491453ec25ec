"""Studies of M23's simulations: a calibrated combination with one weight vector for all instances?

Section 4.1 and Figs. 1 to 4: 1000 data sets of 100 instances, ten members, ten classes, u = 0.01, 100
replicates, four errors, B = 5 and 10 bins; then u = 0.1 (Fig. 2), M = 100 (Fig. 3), K = 100 (Fig. 4). The
figures are curves over the level, without numbers; what is judged is what the text says about them.
`credal_test` is the paper's Algorithm 1.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credibly._arrays.philox import Stream, Uniforms, takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.credal.pictures import simplex_picture
from credibly.evaluation import shown
from credibly.hypotests.calibration.replicate_test import paired_values
from credibly.hypotests.credal.constant_weights import (
    Minimiser,
    WeightSearch,
    combined,
    constant_finding,
    labels_on_host,
)
from credibly.hypotests.credal.task import SetTask, WeightsTask
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.hypotests.resampling.replicates import Replicates
from credibly.learners.points import DRAWS
from credibly.plots import whole_figure
from credibly.predictions import Classes, Point
from credibly.results.credal import WeightsDetails
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic, classwise_ece, confidence_ece, hosmer_lemeshow
from credibly.statistics.registry import as_statistic
from credibly_studies.credal_tests import CredalTest
from credibly_studies.judging import denied
from credibly_studies.kernel_estimators import linear_skce
from credibly_studies.outcomes import (
    ALIKE,
    Curve,
    all_of,
    exceeds,
    height,
    larger,
    lower_curves,
    more_than,
    most_of,
    same_curves,
    stays_below,
)
from credibly_studies.paper_settings import PAPER_SETTINGS, as_in
from credibly_studies.power import OPEN_LEVEL, SPOKEN_LEVEL, WIDE_LEVEL, PowerSize, PowerWork, Rates, by_rates
from credibly_studies.results import Claim, Design, Outcome
from credibly_studies.simulate import CalibrationTest, EnsembleWorld, World
from credibly_studies.simulate.power import Test
from credibly_studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = (5, 10)

HL = tuple(f"HL, B = {bins}" for bins in BINS)
CONFIDENCE = tuple(f"ECE_conf, B = {bins}" for bins in BINS)
CLASSWISE = tuple(f"ECE_cwise, B = {bins}" for bins in BINS)
BINNED = (*HL, *CONFIDENCE, *CLASSWISE)
LINEAR = "SKCE_ul"

ERRORS: dict[str, Statistic] = {
    LINEAR: as_in("M23", linear_skce),
    **{
        f"{name}, B = {bins}": as_in("M23", one, n_bins=bins)
        for name, one in (
            ("HL", hosmer_lemeshow),
            ("ECE_conf", confidence_ece),
            ("ECE_cwise", classwise_ece),
        )
        for bins in BINS
    },
}

ABSOLUTE = f"M23, |{LINEAR}|"
"""The minimum of the signed error, compared by its absolute value with errors that keep their sign."""

_SHOWN_SEED = 94
"""Of a set in the middle of the simplex."""

HIGH = 0.5
"""A rate above this is called high power."""

HALF_LEVEL = 0.5
"""The level at which half of all data sets would be rejected."""

PRINTED_DATA_SETS = 1000
"""Those with weights given are as many in Fig. 1; a search takes half a second per error and data set."""

_SCENARIOS: tuple[Literal["S1", "S2", "S3"], ...] = ("S1", "S2", "S3")

_BASE: Literal["S1"] = "S1"


@takes_rng
def credal_test(
    predictions: Any,
    labels: Any = None,
    *,
    statistics: str | Statistic = "hosmer_lemeshow",
    n_resamples: int = 100,
    n_draws: int = DRAWS,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> HypotestResult[WeightsDetails]:
    """Test whether a combination with one weight vector is calibrated, by Algorithm 1 of M23.

    The statistic is minimised by one search from the centre (COBYLA up to 30 members) and compared with
    bootstrapped instances labelled by combinations with random known weights.

    Parameters
    ----------
    predictions, labels, n_draws, rng, progress
        As in :func:`credibly.hypotests.weights_test`.
    statistics : str or Statistic
        The one that is minimised; one without settings of its own gets those of the paper.
    n_resamples : int
        Number of replicates.

    Returns
    -------
    HypotestResult of WeightsDetails
        The p-value and the weights that were found.

    Notes
    -----
    M23 rejects where t > q, the (1 - alpha)-quantile of D values; here where (1 + #{values >= t}) / (D + 1)
    <= alpha: at D = 100 and alpha = 5 % that is at most 4 larger values, the printed rule allows 5. The test
    does not hold its level: with bootstrapped instances binned errors of many classes reject a perfect model
    (studies/pages/m23.md).
    """
    chosen = as_statistic(statistics)
    if chosen.name in PAPER_SETTINGS["M23"] and chosen == type(chosen)():  # settings of the caller win
        chosen = as_in("M23", chosen)
    require_resamples(n_resamples)
    report = as_progress(progress)
    sets = SetTask.of(predictions, labels, n_draws, None, None, rng)
    settings = {"paper": "M23", "weights": "constant", "n_draws": n_draws, "seed": list(sets.seed)}
    task = WeightsTask(
        **vars(sets),
        statistics=(chosen,),
        several=False,
        n_resamples=n_resamples,
        settings=settings,
        progress=report,
    )
    search = WeightSearch(task.points.probs, chosen)
    best = search.searched(labels_on_host(task.observed), search.centre, "the centre")
    pairs = _random_pairs(task, search, best)
    report_done = None if report is None else lambda done: report(done, n_resamples + 1)
    values = paired_values([search.statistic], pairs, report_done)
    bound = search.statistic.bind(search.at(best.weights))
    notes = (
        f"{chosen.name} {best.value:.4g} is the smallest found, from {best.start}",
        "Algorithm 1 of M23: one search from the centre; replicates have random weights and instances",
    )
    return constant_finding(task, task.result([bound], values), best, notes)


def _random_pairs(
    task: WeightsTask, search: WeightSearch, best: Minimiser
) -> Iterator[tuple[Point, Classes]]:
    """Yield the observation, then bootstrapped instances with random weights and labels drawn from them."""
    n, a, _ = search.points.shape
    yield search.at(best.weights), labels_on_host(task.observed)
    weights = np.random.default_rng([*task.seed, Stream.WEIGHTS]).dirichlet(np.ones(a), size=task.n_resamples)
    rows_of = Uniforms(task.seed, Stream.ROWS)
    for d in range(task.n_resamples):
        rows = (rows_of.draw(slice(d, d + 1), slice(0, n))[0] * n).astype(np.int64)
        probs = combined(search.points[rows], weights[d])
        yield Point._trusted(probs), Replicates(probs, task.seed).labels(slice(d, d + 1))


def given_weights(name: str) -> str:
    """Return the name of the test that is given the weights."""
    return f"true weights, {name}"


def searched_weights(name: str) -> str:
    """Return the name of the paper's test."""
    return f"M23, {name}"


def _given(errors: Mapping[str, Statistic]) -> dict[str, Test]:
    return {given_weights(name): CalibrationTest("truth", error) for name, error in errors.items()}


def _searched(errors: Mapping[str, Statistic]) -> dict[str, Test]:
    tests: dict[str, Test] = {
        searched_weights(name): CredalTest(error, credal_test) for name, error in errors.items()
    }
    return {**tests, ABSOLUTE: CredalTest(errors[LINEAR], credal_test, absolute=True)}


def _found(rates: Rates, worlds: Sequence[str], tests: Sequence[str], level: float = SPOKEN_LEVEL) -> str:
    named = [(world, test) for world in worlds for test in tests]
    prefix = len(worlds) > 1
    level_words = "" if level == SPOKEN_LEVEL else f"at level {level:g}: "
    return level_words + "; ".join(
        f"{f'{world}, ' if prefix else ''}{test} {rates.of(world, test, level)}" for world, test in named
    )


def _design(rates: Rates, world: str, test: str) -> Design:
    return "as printed" if rates.of(world, test).total >= PRINTED_DATA_SETS else "smaller"


def _reliable(rates: Rates, error: str, inside: str, outside: Sequence[str]) -> Outcome:
    """Return whether the curve keeps its levels in S1, and more than half of S2 and S3 are rejected."""
    test = searched_weights(error)
    level = denied(exceeds(rates.curve(inside, test)))
    return all_of(level, *(more_than(rates.of(world, test), HIGH) for world in outside))


_RELIABLE = (
    f"reliable: the curve of S1 keeps its levels, and at 5 % more than {HIGH:g} of S2 and S3 are rejected"
)

_SIGNED = (
    "the signed error is minimised, which can only make the test conservative; the authors' code "
    "compares the absolute value of that minimum with signed errors, which lifts the curve above the level"
)

LINEAR_CLAIM = "with SKCE_ul the type I error is not bounded by the level (S1)"


def _linear(rates: Rates, world: str) -> tuple[str, Outcome]:
    """Return what was found about SKCE_ul, signed as printed and by its absolute value as in the code."""
    linear = searched_weights(LINEAR)
    evidence = "; ".join(
        f"{world}, {_found(rates, [world], [linear, ABSOLUTE], level)}" for level in (WIDE_LEVEL, HALF_LEVEL)
    )
    return evidence, exceeds(rates.curve(world, linear))


def common_claims(rates: Rates, place: str, suffix: str = "") -> list[Claim]:
    """Return what the text says about Fig. 1, judged in the worlds of one figure."""
    inside, nearest, random = (f"{scenario}{suffix}" for scenario in _SCENARIOS)
    binned = [searched_weights(name) for name in BINNED]
    design = _design(rates, inside, binned[0])
    reliable = {
        name: all_of(*(_reliable(rates, error, inside, (nearest, random)) for error in names))
        for name, names in MEASURES.items()
    }

    def claim(statement: str, printed: str, found: str, outcome: Outcome, why: str = "") -> Claim:
        return Claim(place, statement, printed, found, outcome, why, design)

    return [
        claim(
            "with the other errors the type I error is mostly below the level (S1)",
            "mostly lower than the significance level",
            _found(rates, [inside], binned, OPEN_LEVEL),
            most_of(*(stays_below(rates.curve(inside, test)) for test in binned)),
            "the observed value is minimised and those of replicates are not; but bootstrapped instances "
            "lower the classwise ECE of replicates",
        ),
        claim(
            "HL has no high power towards the closest corner, for either number of bins (S2)",
            "no high power, for different bin sizes",
            _found(rates, [nearest], [searched_weights(name) for name in HL], OPEN_LEVEL),
            all_of(*(stays_below(rates.curve(nearest, searched_weights(name))) for name in HL)),
            "judged by the curve: less power than the level is none",
        ),
        claim(
            "with ECE_conf and ECE_cwise the test is reliable in type I and type II error",
            "reliable in both",
            _found(
                rates,
                [inside, nearest, random],
                [searched_weights(name) for name in (*CONFIDENCE, *CLASSWISE)],
            ),
            all_of(reliable["ECE_conf"], reliable["ECE_cwise"]),
            f"ECE_conf {reliable['ECE_conf']}, ECE_cwise {reliable['ECE_cwise']}; {_RELIABLE}",
        ),
        claim(
            "towards a random corner (S3) it is easier to reject than towards the closest (S2)",
            "somewhat easier",
            _found(rates, [nearest, random], binned),
            lower_curves(
                [rates.curve(nearest, test) for test in binned],
                [rates.curve(random, test) for test in binned],
            ),
        ),
    ]


MEASURES: dict[str, tuple[str, ...]] = {
    LINEAR: (LINEAR,),
    "HL": HL,
    "ECE_conf": CONFIDENCE,
    "ECE_cwise": CLASSWISE,
}
"""The paper's four calibration measures."""


def fig1_claims(rates: Rates) -> list[Claim]:
    """Return what sections 4.1 and 5 say about Fig. 1, and what became of it."""
    place, (inside, nearest, random) = "M23 Sec. 4.1, Fig. 1", _SCENARIOS
    design = _design(rates, inside, searched_weights(LINEAR))
    best = [searched_weights(name) for name in (*CONFIDENCE, *CLASSWISE)]
    others = [searched_weights(name) for name in (LINEAR, *HL)]
    reliable = {
        name: all_of(*(_reliable(rates, error, inside, (nearest, random)) for error in names))
        for name, names in MEASURES.items()
    }
    return [
        Claim(
            place,
            LINEAR_CLAIM,
            "not upper bounded by the significance level",
            *_linear(rates, inside),
            _SIGNED,
            design,
        ),
        *common_claims(rates, place),
        Claim(
            "M23 Sec. 5",
            "the best results are those with the expected calibration errors",
            "the best of all measures",
            _found(rates, [nearest], [*best, *others], OPEN_LEVEL),
            all_of(
                *(
                    larger(rates.of(nearest, one, OPEN_LEVEL), rates.of(nearest, other, OPEN_LEVEL))
                    for one in best
                    for other in others
                )
            ),
            "by power in S2; in S3 all but SKCE_ul reject nearly always",
            design,
        ),
        Claim(
            "M23 Sec. 5",
            "for most measures type I and type II error are both low enough",
            "sufficiently low for most measures",
            "; ".join(f"{name} {one}" for name, one in reliable.items()),
            most_of(*reliable.values()),
            _RELIABLE,
            design,
        ),
    ]


def _s1_curves(rates: Rates, suffix: str) -> tuple[list[Curve], list[Curve]]:
    """Return the curves of S1 as in Fig. 1, and with the changed setting."""
    tests = [searched_weights(name) for name in BINNED]
    return [rates.curve(_BASE, test) for test in tests], [rates.curve(f"S1{suffix}", test) for test in tests]


def _heights(rates: Rates, suffix: str) -> str:
    """Write the mean rejection rate over the levels, as in Fig. 1 and with the changed setting."""
    base, changed = _s1_curves(rates, suffix)
    return "mean rate over the levels up to 0.5: " + "; ".join(
        f"{name} {shown(height(one))} to {shown(height(other))}"
        for name, one, other in zip(BINNED, base, changed, strict=True)
    )


def fig2_claims(rates: Rates, place: str, suffix: str) -> list[Claim]:
    """Larger sets make the tests more conservative."""
    base, changed = _s1_curves(rates, suffix)
    return [
        Claim(
            place,
            "larger sets make most tests more conservative (S1, u = 0.1 against 0.01)",
            "more conservative in most cases",
            _heights(rates, suffix),
            lower_curves(changed, base),
            "judged by the curves: at 5 % all rates are near 0",
            _design(rates, _BASE, searched_weights(BINNED[0])),
        )
    ]


def fig3_claims(rates: Rates, place: str, suffix: str) -> list[Claim]:
    """A hundred members instead of ten change little."""
    base, changed = _s1_curves(rates, suffix)
    return [
        Claim(
            place,
            "the number of members has no significant influence (S1, M = 100 against 10)",
            "no significant influence",
            _heights(rates, suffix),
            all_of(*(same_curves(one, other) for one, other in zip(base, changed, strict=True))),
            f"the same: at no level further apart than {ALIKE:g}; 40 data sets cannot show that, and "
            "above 30 members the search here is another one than COBYLA",
            _design(rates, _BASE, searched_weights(BINNED[0])),
        )
    ]


def fig4_claims(rates: Rates, place: str, suffix: str) -> list[Claim]:
    """With a hundred classes the type I error approaches the level."""
    base, changed = _s1_curves(rates, suffix)
    far = [exceeds(curve) for curve in changed]
    return [
        Claim(
            place,
            "with more classes the type I error approaches the level, and most tests are less "
            "conservative (S1, K = 100 against 10)",
            "approaches the significance level",
            _heights(rates, suffix),
            "not confirmed" if "confirmed" in far else lower_curves(base, changed),
            "with bootstrapped instances ECE_cwise rejects nearly all of S1, even at the true weights",
            _design(rates, _BASE, searched_weights(BINNED[0])),
        )
    ]


def _appendix_claims(
    rates: Rates, own: Callable[[Rates, str, str], list[Claim]], place: str, suffix: str
) -> list[Claim]:
    """Return what App. B says; what the text says about Fig. 1 alone is a check of ours here."""
    inside = f"S1{suffix}"
    linear = Claim(
        "M23 Sec. 4.1, App. B, Figs. 2-4",
        f"{LINEAR_CLAIM}, as in Fig. 1",
        "similar findings",
        *_linear(rates, inside),
        _SIGNED,
        _design(rates, inside, searched_weights(LINEAR)),
    )
    further = [dataclasses.replace(claim, further=True) for claim in common_claims(rates, place, suffix)]
    return [*own(rates, place, suffix), linear, *further]


def draw_scenario(scenario: str) -> Figure:
    """Draw one set and the truth that belongs to it, as on the left of Fig. 1: three classes, ten members."""
    world = EnsembleWorld(scenario, n_classes=3, spread=0.1)  # type: ignore[arg-type]
    sample = world.draw(1, rng=_SHOWN_SEED)
    return whole_figure(simplex_picture(sample.predictions, sample.truth.probs).plot())


FIG1 = Study(
    name="m23-fig1",
    title="Level (S1) and power (S2, S3) of four errors with weights given or searched, m = k = 10",
    reference="M23 Sec. 4.1, Fig. 1",
    small=PowerSize(100, 10, 1),
    full=PowerSize(100, PRINTED_DATA_SETS, 200),
    work=PowerWork(
        tests=_given(ERRORS),
        worlds={scenario: EnsembleWorld(scenario) for scenario in _SCENARIOS},
        costly=_searched(ERRORS),
        pictures={
            f"setup-{scenario.lower()}": functools.partial(draw_scenario, scenario) for scenario in _SCENARIOS
        },
    ),
    judge=by_rates(fig1_claims),
)


def _appendix(
    figure: int,
    title: str,
    own: Callable[[Rates, str, str], list[Claim]],
    suffix: str,
    **changed: float,
) -> Study[PowerSize]:
    """Return the study of one appendix figure: one setting differs from Fig. 1, whose S1 stands beside."""
    place = f"M23 App. B, Fig. {figure}"
    worlds: dict[str, World] = {_BASE: EnsembleWorld(_BASE)}
    worlds |= {
        f"{scenario}{suffix}": EnsembleWorld(scenario, **changed)  # type: ignore[arg-type]
        for scenario in _SCENARIOS
    }
    return Study(
        name=f"m23-fig{figure}",
        title=title,
        reference=place,
        small=PowerSize(100, 4, 1),
        full=PowerSize(100, 300, 40),
        work=PowerWork(
            tests=_given(ERRORS),
            worlds=worlds,
            costly=_searched(ERRORS),
        ),
        judge=by_rates(functools.partial(_appendix_claims, own=own, place=place, suffix=suffix)),
    )


FIG2 = _appendix(2, "As Fig. 1 with members that scatter more, u = 0.1", fig2_claims, ", u = 0.1", spread=0.1)
FIG3 = _appendix(3, "As Fig. 1 with 100 members", fig3_claims, ", M = 100", n_members=100)
FIG4 = _appendix(4, "As Fig. 1 with 100 classes", fig4_claims, ", K = 100", n_classes=100)
