"""Studies of J25's simulations: is there a calibrated combination, with weights that depend on the instance?

Sections 4.1 and 4.2, App. E.1, Figs. 3 and 4: 200 data sets of 400 instances, and as many more to learn on;
100 replicates; four errors, one network for each. Data sets here have 800 instances: learned tests learn on
400 and test 400, the others see the second half alone. The figures are curves over the level, without
numbers; what is judged is what the text says about them. `credal_test` is the paper's Algorithm 1.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from credibly._arrays.philox import takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.hypotests import weights_test
from credibly.hypotests.credal.learned_weights import learned_test
from credibly.hypotests.credal.task import SetTask, WeightsTask
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.learners import Learner
from credibly.learners.points import DRAWS
from credibly.plots import whole_figure
from credibly.results.credal import WeightsDetails
from credibly.results.tests import HypotestResult, with_details
from credibly.statistics import Statistic, kde_ce, kl_ce, mmd_ce
from credibly.statistics.registry import as_statistic
from credibly_studies import m23
from credibly_studies.bootstrap import bootstrap_test
from credibly_studies.credal_tests import BootstrappedMean, CredalTest, NeymanPearson, SecondHalf
from credibly_studies.judging import denied
from credibly_studies.kernel_estimators import linear_skce
from credibly_studies.neural import NeuralLearner
from credibly_studies.outcomes import (
    SLACK,
    all_of,
    keeps_level,
    larger,
    more_than,
    stays_below,
    those_that_decide,
)
from credibly_studies.power import SPOKEN_LEVEL, WIDE_LEVEL, PowerSize, PowerWork, Rates, by_rates
from credibly_studies.results import Claim, Design, Outcome
from credibly_studies.simulate import BinaryWorld, CalibrationTest, MulticlassWorld, World, world_picture
from credibly_studies.simulate.power import Test
from credibly_studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ERRORS: dict[str, Statistic] = {
    "CE_2": kde_ce,
    "CE_KL": kl_ce,
    "CE_MMD": mmd_ce,
    "CE_k": linear_skce,
}
"""The paper's four; it prints no bandwidths. CE_k looks at disjoint pairs."""

_LEVELS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Fewer than elsewhere: nine tests share a panel."""

CONTROL = "control, 1e-9 outside"
"""The binary world on the boundary, as near as makes no difference."""

LEARNED = "learned (default), SKCE"

BEST = "Neyman-Pearson, truth and boundary known"

PRINTED_DATA_SETS = 200

_ALMOST_ONE = 0.9


@takes_rng
def credal_test(
    predictions: Any,
    labels: Any = None,
    *,
    features: Any = None,
    statistics: str | Statistic = "kde_ce",
    learner: Learner | None = None,
    split: float = 0.5,
    n_resamples: int = 100,
    n_draws: int = DRAWS,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> HypotestResult[WeightsDetails]:
    """Test whether a combination with learned weights is calibrated, by Algorithm 1 of J25.

    A network learns the weights on one part with the tested error as penalty. On the other part the
    combination is compared with bootstrapped instances whose labels are drawn from it.

    Parameters
    ----------
    predictions, labels, features, n_draws, rng, progress
        As in :func:`credibly.hypotests.weights_test`.
    statistics : str or Statistic
        The one error that is tested.
    learner : Learner, optional
        Learner of the weights. Default: the paper's network for this error.
    split : float
        Share of the instances to learn on.
    n_resamples : int
        Number of replicates.

    Returns
    -------
    HypotestResult of WeightsDetails
        The p-value and the weights that were learned.

    Notes
    -----
    The test does not hold its level: the error of learning is not in the replicates, and bootstrapped
    instances lower `kde_ce` of predictions near corners (studies/pages/j25.md).
    """
    chosen = as_statistic(statistics)
    require_resamples(n_resamples)
    report = as_progress(progress)
    sets = SetTask.of(predictions, labels, n_draws, None, None, rng)
    teacher = _network_for(chosen) if learner is None else learner
    settings = {"paper": "J25", "weights": "learned", "n_draws": n_draws, "seed": list(sets.seed)}
    settings |= {"learner": teacher.settings(), "split": split}
    task = WeightsTask(
        **vars(sets), statistics=(chosen,), several=False, n_resamples=1, settings=settings, progress=report
    )
    learned = learned_test(task, features, teacher, split, None, False)
    combined = learned.details.combine(sets.predictions, features=features)
    rows = learned.details.test_rows
    tested = bootstrap_test(
        combined[rows],
        sets.observed.values[0, rows],
        statistics=chosen,
        n_resamples=n_resamples,
        rng=sets.seed,
        progress=report,
    )
    note = (
        "Algorithm 1 of J25: the error of learning is not in the replicates, whose instances are bootstrapped"
    )
    return with_details(
        tested,
        learned.details,
        name=learned.name,
        hypothesis=learned.hypothesis,
        settings={**settings, **tested.settings},
        notes=tuple(dict.fromkeys((*learned.notes, note, *tested.notes))),
    )


def _network_for(tested: Statistic) -> NeuralLearner:
    """Return the network of one error: its own penalty, and its own proper score (J25 Table 1, App. E)."""
    if not tested.traits.differentiable:  # such as binned errors, which the paper leaves out for that reason
        return NeuralLearner()
    return NeuralLearner(score="log_loss" if tested.name == "kl_ce" else "brier", penalty=tested)


def _cheap(errors: Mapping[str, Statistic]) -> dict[str, Test]:
    true: dict[str, Test] = {
        f"true weights, {name}": SecondHalf(CalibrationTest("truth", error)) for name, error in errors.items()
    }
    mean = {f"mean, {name}": SecondHalf(BootstrappedMean(error)) for name, error in errors.items()}
    labels = SecondHalf(CalibrationTest("mean", mmd_ce))
    return {**true, **mean, "mean, CE_MMD, labels alone": labels, BEST: SecondHalf(NeymanPearson())}


def _costly(errors: Mapping[str, Statistic]) -> dict[str, Test]:
    learned: dict[str, Test] = {LEARNED: CredalTest("skce", weights_test, n_resamples=99)}
    paper: dict[str, Test] = {
        f"J25, {name}": CredalTest(error, credal_test) for name, error in errors.items()
    }
    constant: dict[str, Test] = {
        f"M23, {name}": SecondHalf(CredalTest(error, m23.credal_test)) for name, error in errors.items()
    }
    return {**learned, **paper, **constant}


def _found(rates: Rates, pairs: Sequence[tuple[str, str]], level: float = SPOKEN_LEVEL) -> str:
    level_words = "" if level == SPOKEN_LEVEL else f"at level {level:g}: "
    return level_words + "; ".join(
        f"{world}, {test}: {rates.of(world, test, level)}" for world, test in pairs
    )


def _of(paper: str, errors: Sequence[str] = tuple(ERRORS)) -> list[str]:
    return [f"{paper}, {name}" for name in errors]


_NULLS = ("H0,1", "H0,2")


def _design(rates: Rates) -> Design:
    return "as printed" if rates.of(_NULLS[0], LEARNED).total >= PRINTED_DATA_SETS else "smaller"


def _level_claims(rates: Rates, place: str, conservative: Sequence[str], mean_why: str) -> list[Claim]:
    """Return claims on the worlds where the hypothesis is true, judged by the curves over the level."""
    pairs_of_nulls = [(world, test) for world in _NULLS for test in _of("J25")]
    constant = [(world, test) for world in _NULLS for test in _of("M23", conservative)]
    mean = [(world, test) for world in _NULLS for test in _of("mean")]
    design = _design(rates)
    follow = {pair: keeps_level(rates.curve(*pair)) for pair in pairs_of_nulls}
    far = [", ".join(pair) for pair, one in follow.items() if one == "not confirmed"]
    return [
        Claim(
            place,
            "the type I error of learned weights is close to the level, at most slightly above (H0,1, H0,2)",
            "close to the level, in some cases slightly above",
            _found(rates, pairs_of_nulls, WIDE_LEVEL),
            all_of(*follow.values()),
            (f"surely more than {SLACK:g} above a level: {'; '.join(far)}; " if far else "")
            + "the error of learning is not in the paper's null; bootstrapped instances lower KDE errors of "
            "replicates",
            design,
        ),
        Claim(
            place,
            "the test of M23 is overly conservative, far below the level (H0,1, H0,2)",
            "far lower than the level" if len(conservative) == len(ERRORS) else "for all errors but CE_k",
            _found(rates, constant, WIDE_LEVEL),
            those_that_decide(*(stays_below(rates.curve(*pair)) for pair in constant)),
            "",
            design,
        ),
        Claim(
            place,
            "the mean of the members does not keep the level (H0,1, H0,2)",
            "far higher than the level" if len(conservative) == len(ERRORS) else "no valid test",
            _found(rates, mean),
            those_that_decide(*(denied(keeps_level(rates.curve(*pair))) for pair in mean)),
            mean_why,
            design,
        ),
    ]


def fig3_claims(rates: Rates) -> list[Claim]:
    """Return what the text says about the binary figure, and what became of it."""
    place, design = "J25 Sec. 4.1, Fig. 3", _design(rates)
    near = [("H1,1", test) for test in (*_of("J25"), *_of("mean"))]
    far = [(world, name) for world in ("H1,2", "H1,3") for name in ERRORS]
    return [
        *_level_claims(rates, place, tuple(ERRORS), "with CE_k nothing can be told in H0,1"),
        Claim(
            place,
            "learned weights and the mean have almost no type II error even very close to the set (H1,1)",
            "almost zero type II error also in very close distance",
            _found(rates, [*near, ("H1,1", BEST)]),
            all_of(*(more_than(rates.of(*pair), _ALMOST_ONE) for pair in near)),
            "no test can: at p = 1/2 a distance of 0.02 shifts 400 labels by 0.8 standard errors, and the "
            "likelihood ratio that knows truth and boundary has the rate shown; what a test rejects beyond "
            "it, it rejects on the boundary too, where the hypothesis is true",
            design,
        ),
        Claim(
            place,
            "the test of M23 has a higher type II error than learned weights (H1,2, H1,3)",
            "higher type II error",
            *_more_power(rates, far, "J25", "M23"),
            "ties at 1 decide nothing",
            design,
        ),
    ]


def _more_power(rates: Rates, far: Sequence[tuple[str, str]], one: str, other: str) -> tuple[str, Outcome]:
    """Return what was found, and whether one test rejects more often than another; ties decide nothing."""
    pairs = [[(world, f"{way}, {name}") for way in (one, other)] for world, name in far]
    evidence = _found(rates, [cell for pair in pairs for cell in pair])
    return evidence, those_that_decide(*(larger(*(rates.of(*cell) for cell in pair)) for pair in pairs))


def fig4_claims(rates: Rates) -> list[Claim]:
    """Return what the text says about the multiclass figure, and what became of it."""
    place, design = "J25 Sec. 4.2, Fig. 4", _design(rates)
    others = tuple(name for name in ERRORS if name != "CE_k")
    worlds = ("H1, delta 0.01", "H1, delta 0.1", "H1, delta 0.2")
    far = [(world, name) for world in worlds for name in others]
    exchangeable = (
        "members are exchangeable given p and weights do not depend on them, so the average is calibrated "
        "whatever the weights; only bootstrapped instances can push its test above the level"
    )
    return [
        *_level_claims(rates, place, others, exchangeable),
        Claim(
            place,
            "with CE_k tests have low power",
            "unreliable results and low power",
            _found(rates, [(world, test) for world in worlds for test in _of("J25")]),
            those_that_decide(
                *(
                    larger(rates.of(world, f"J25, {name}"), rates.of(world, "J25, CE_k"))
                    for world, name in far
                )
            ),
            "its linear estimator uses n / 2 pairs; over all pairs (CE_MMD) power is high",
            design,
        ),
        Claim(
            place,
            "the mean has the highest power",
            "highest power",
            *_more_power(rates, far, "mean", "J25"),
            "both reject nearly every data set: ties decide nothing",
            design,
        ),
        Claim(
            "J25 Sec. 1, Sec. 4.2, Fig. 4",
            "except with CE_k, learned weights have more power than the test of M23",
            "higher power",
            *_more_power(rates, far, "J25", "M23"),
            "decided by CE_KL at delta = 0.01, where learned weights also reject the boundary, on which the "
            "hypothesis is true; in the other cells both reject nearly every data set",
            design,
        ),
    ]


_BINARY: dict[str, World] = {
    **{name: BinaryWorld(name) for name in ("H0,1", "H0,2")},
    CONTROL: BinaryWorld("H1,1", gap=(0.0, 1e-9)),
    **{name: BinaryWorld(name) for name in ("H1,1", "H1,2", "H1,3")},
}


def draw_world(name: str) -> Figure:
    """Draw members, truth and labels of a binary world over x, as Fig. 9 does."""
    return whole_figure(world_picture(_BINARY[name].draw(200, rng=7)).plot())


FIG3 = Study(
    name="j25-fig3",
    title="Binary worlds: learned weights, one weight vector, the mean; four errors; the best there is",
    reference="J25 Sec. 4.1, Fig. 3",
    small=PowerSize(80, 3, 1),
    full=PowerSize(800, PRINTED_DATA_SETS, 40),
    work=PowerWork(
        tests=_cheap(ERRORS),
        worlds=_BINARY,
        levels=_LEVELS,
        costly=_costly(ERRORS),
        pictures={
            f"fig9-{name.lower().replace(',', '-')}": functools.partial(draw_world, name)
            for name in _BINARY
            if name != CONTROL
        },
    ),
    judge=by_rates(fig3_claims),
)

_MULTICLASS: dict[str, World] = {
    "H0,1": MulticlassWorld("H0,1"),
    "H0,2": MulticlassWorld("H0,2"),
    "control, delta 0": MulticlassWorld("H1", delta=0.0),
    "H1, delta 0.01": MulticlassWorld("H1", delta=0.01),
    "H1, delta 0.1": MulticlassWorld("H1", delta=0.1),
    "H1, delta 0.2": MulticlassWorld("H1", delta=0.2),
}

FIG4 = Study(
    name="j25-fig4",
    title="Multiclass worlds with the control on the boundary: learned, one weight vector, mean; four errors",
    reference="J25 Sec. 4.2, Fig. 4",
    small=PowerSize(80, 3, 1),
    full=PowerSize(800, PRINTED_DATA_SETS, 40),
    work=PowerWork(tests=_cheap(ERRORS), worlds=_MULTICLASS, levels=_LEVELS, costly=_costly(ERRORS)),
    judge=by_rates(fig4_claims),
)
