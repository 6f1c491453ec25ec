"""Run all that the input allows, stage by stage. A new part is one result, one stage here and one field."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import keep_freed_memory, on_accelerator
from credibly._arrays.notes import unsaid
from credibly._arrays.philox import as_seed, takes_rng
from credibly._arrays.progress import StageProgress, stage_progress
from credibly.evaluation.claims import CLAIMS, claims_verdicts
from credibly.evaluation.commands import recorded_call
from credibly.evaluation.dependence import copies_warning, dependences
from credibly.evaluation.headline import DIAGNOSIS, HEADLINE
from credibly.evaluation.ignorance import IGNORANCE
from credibly.evaluation.levels import levels_of, resamples_for
from credibly.evaluation.results import Evaluation
from credibly.evaluation.rows import (
    MOST_ROWS_UNASKED,
    REAL_WIDTH,
    answers_of,
    checked_rows,
    class_names,
    grouped_rows,
    rows_for_pairs,
    subsampled,
    summarise,
)
from credibly.evaluation.set_tests import CREDAL_SETS, VALIDITY_OF_SETS
from credibly.evaluation.stages import CHECK, CURVES, RATERS, REALS, RECALIBRATION, SCORE
from credibly.evaluation.statistics import AUDIT, DECOMPOSITION, ESTIMATES, GROUPS, OMNIBUS, TESTS, choose
from credibly.evaluation.survey import data_warnings, input_limits, surveyed
from credibly.evaluation.words import gated, nothing_tested, title, verdicts
from credibly.evaluation.work import Part, Stage, Work, origin, run_stages, silent, version
from credibly.hypotests.calibration.set_coverage import CLAIM
from credibly.hypotests.resampling.pvalues import CLUSTERED, HYPOTHESIS, require_resamples
from credibly.predictions import (
    ClassPredictions,
    PredictionIntervals,
    PredictionSets,
    RealPredictions,
    Rows,
    one_rater,
)
from credibly.predictions.passes import detached, forget
from credibly.recalibrate import Recalibration
from credibly.results.base import jsonable, require_level, require_margin
from credibly.results.decompositions import CrpsDecomposition
from credibly.results.estimates import Estimate
from credibly.results.numbers import joined
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic

STAGES: tuple[Stage, ...] = (
    CLAIMS,
    ESTIMATES,
    GROUPS,
    DECOMPOSITION,
    RATERS,
    IGNORANCE,
    SCORE,
    TESTS,
    CURVES,
    AUDIT,
    CREDAL_SETS,
    VALIDITY_OF_SETS,
    REALS,
    CHECK,
    DIAGNOSIS,
    RECALIBRATION,
    HEADLINE,
)
"""The parts of an evaluation, cheap ones first; one that needs another stands behind it."""


@takes_rng
def evaluate(
    predictions: Any,
    labels: Any = None,
    *,
    classes: Sequence[str] | None = None,
    groups: Any = None,
    features: Any = None,
    clusters: Any = None,
    blocks: int | None = None,
    tests: bool = True,
    statistics: Sequence[str | Statistic] | None = None,
    n_bins: int = 15,
    n_resamples: int = 999,
    rng: Any = 0,
    level: float = 0.05,
    margin: float = 0.02,
    pairwise_rows: int | None = None,
    progress: StageProgress | bool | None = True,
    source: Mapping[str, Any] | None = None,
    recalibrate: Sequence[str | Recalibration] | None = None,
) -> Evaluation:
    """Compute all that predictions and labels allow, and report it in words.

    Parameters
    ----------
    predictions : Predictions, array, Rows or Dask array
        Predictions of the model. A set of distributions is represented by its mean (a note says so); members
        of real-valued predictions by their mixture. `scan` makes chunks of rows that do not fit into memory.
    labels : array (n,) or LabelCounts
        ...
    classes : sequence of str, optional
        Names of the classes, in order.
    groups : array (n,), mapping of str to array (n,), data frame, or names of columns, optional
        Group of every instance, or several attributes: the cheap statistics are also computed within each
        group, and all groups that the attributes form are audited (see `audit`). Of a data frame or file,
        ``groups="region"`` names a column. `Rows` carry their own.
    features : array (n, d), optional
        Features of the instances, for the weights of a set (default: the members' predictions) and for
        recalibrations that use them. `Rows` carry their own.
    clusters : array (n,), name of a column, or "copies", optional
        ... Standard errors, tests and folds then treat rows of one cluster as dependent; whatever cannot is
        listed in ``not_run``. Data read by `load` bring their own.
    blocks : int, optional
        ...
    tests : bool
        False leaves out everything that resamples or compares pairs of instances.
    statistics : sequence of str or Statistic, optional
        What to compute. Default: all registered statistics. Names use `n_bins`, and single precision where
        pairs of a part of at most 1250 instances are compared; objects keep their settings.
    n_bins : int
        Number of bins of the binned errors and of the curves.
    n_resamples : int
        Number of replicates behind tests and bands. Fewer than can show a conflict are raised, and a note
        says so.
    rng : None, int or Generator
        ... With the same versions and threads it gives the same evaluation, byte by byte.
    level : float
        Level of the tests; the adjusted p-value of each statistic is compared with it.
    margin : float
        A gap between stated and observed shares that does not matter: 0.02 is two points.
    pairwise_rows : int, optional
        Maximum number of instances used by pairwise statistics; larger data are subsampled (a note says so).
        Default: 20 000 for statistics that you name, else 1250, and fewer beyond ten classes.
    progress : True, callable or None
        Called with (stage, done, total). True shows a line on standard error after one second, in a terminal
        or a notebook; None shows nothing.
    source : mapping, optional
        Where the data came from: ``path``, ``digest``, ``dropped``, ``notes``, and ``call``, the record
        of what was asked for, if it was not this call.
    recalibrate : sequence of str or Recalibration, optional
        Recalibrations to compare on folds, see `recalibration_report`. Default: a single temperature, or a
        single scale for real values. An empty list leaves them out.

    Returns
    -------
    Evaluation
        Estimates, tests, curves and verdicts; ``not_run`` lists what could not be run, with the reason.

    Notes
    -----
    The data must not have been used to train or recalibrate the model. One test covers all that predictions
    state (confidence, classes, curves, groups, spreads, and the statistics, whose p-values are adjusted by
    Westfall and Young); a single statistic is in conflict only if this test rejects. It shares the level with
    the tests of sets, members, raters and groups by Holm's rule (``settings["levels"]``), so a right model is
    in conflict in at most `level` of data sets. Too few replicates to reject at these levels are raised, and
    a note says so.

    With chunks, everything that is a sum over instances is computed chunk by chunk and equals the number for
    all rows at once. Statistics over pairs, the unified score and tests of sets load only the rows that they
    would also use in memory.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(1)
    >>> probs = rng.dirichlet(np.ones(3), size=500)
    >>> sharper = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    >>> labels = (rng.random((500, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> evaluation = cr.evaluate(sharper, labels, statistics=["accuracy", "brier"])
    >>> {verdict.statistic: verdict.word for verdict in evaluation.verdicts}
    {'brier': 'conflict', 'accuracy': 'conflict'}
    """
    asked = dict(locals())
    require_level(level)
    require_resamples(n_resamples)
    beside = {"groups": groups, "features": features, "clusters": clusters}
    given_rows = detached(checked_rows(predictions, labels, classes=classes, blocks=blocks, **beside))
    known_classes = given_rows.example.classes
    renamed = classes is not None and set(map(str, classes)) != set(known_classes or ())
    options = class_names(
        given_rows.example.predictions, classes if known_classes is None or renamed else known_classes
    )
    answers = answers_of(given_rows)  # of lists of options, whose mean would be one guess among many
    rows, attributes = grouped_rows(given_rows if answers is None else answers)
    names = options if answers is None else class_names(rows.example.predictions, None)
    drawn_anew: tuple[str, ...] = ()
    if tests:
        n_resamples, drawn_anew = resamples_for(given_rows, n_resamples, level)
    seed = as_seed(rng)
    single, drawn = one_rater(rows, seed)
    most = rows_for_pairs(pairwise_rows, asked=statistics is not None, n_classes=len(names) or REAL_WIDTH)
    asked |= {"n_resamples": n_resamples, "pairwise_rows": most}
    recorded = origin(source or _read_from(rows), recorded_call("evaluate", asked, seed))
    # on a host, where double precision takes twice as long, and for rough answers on a part of the rows
    on_host = not on_accelerator(rows.example.predictions._leading)
    single_precision = on_host and most < rows.n and most <= MOST_ROWS_UNASKED
    chosen, unsuited = choose(rows, statistics, n_bins, tests, single_precision=single_precision)
    work = Work(
        summary=summarise(rows),
        single=single,
        sets=single if answers is None else given_rows,
        classes=names,
        options=options,
        statistics=[subsampled(statistic, rows.n, most, seed) for statistic in chosen],
        tests=tests,
        n_bins=n_bins,
        n_resamples=n_resamples,
        level=level,
        margin=require_margin(margin),
        seed=seed,
        recalibrate=recalibrate,
        source=recorded,
        tell=silent,
        left_out=[*input_limits(rows), *unsuited],
        attributes=attributes,
    )
    survey = surveyed(rows)
    keep_freed_memory()
    with stage_progress(progress) as tell:
        run_stages(STAGES, rows, dataclasses.replace(work, tell=tell or silent))
    forget(rows)
    parts = {stage.part: work.results[stage.part] for stage in STAGES}
    parts |= {name: parts[name] or {} for name in ("groups", "tests")}
    if not tests:
        work.leave_out("resampling tests, consistency bands and pairwise statistics", "tests=False")
    remarks = [
        note for part in parts.values() if isinstance(part, Part) for note in part.remarks(survey.notes)
    ]
    if parts["audit"] is not None:
        remarks += unsaid(parts["audit"].notes, survey.notes, drawn)
    if parts["recalibration"] is not None:
        previewed = parts["recalibration"].n
        remarks += [f"recalibrations: {note}" for note in unsaid(parts["recalibration"].notes, survey.notes)]
        if previewed < rows.n:
            remarks.append(
                f"recalibrations: fitted and tested on {previewed} of {rows.n} instances, drawn at random "
                "with the seed (`recalibration_report` takes all)"
            )
    split = parts["decomposition"]
    if isinstance(split, CrpsDecomposition) and split.n < rows.n:
        remarks.append(
            f"miscalibration, discrimination and uncertainty: computed on {split.n} of {rows.n} instances, "
            "drawn at random with the seed (`hypotests.decompose_crps` takes all)"
        )
    claims = parts["claims"]
    if claims is not None:  # what was tested stands once
        parts["claims"] = dataclasses.replace(claims, tests={})
    read = () if source else recorded.get("notes", ())
    notes = (
        *_notes(survey.notes, parts["estimates"], parts["tests"]),
        *remarks,
        *(drawn if tests else ()),
        *drawn_anew,
    )
    return Evaluation(
        predictions=work.summary,
        classes=names,
        verdicts=(
            gated(verdicts(parts["tests"], work.summary, level), parts["diagnosis"])
            if claims is None
            else claims_verdicts(parts["tests"], claims, level)
        )
        or (nothing_tested(_why_untested(rows, tests)),),
        warnings=(
            *copies_warning(rows),
            *(str(sign) for sign in (dependences(single) if tests else ())),
            *data_warnings(rows, survey, names, recorded, parts["diagnosis"]),
        ),
        notes=tuple(unsaid(notes, read)),
        not_run=tuple(work.left_out),
        settings={
            "version": version(),
            "hypothesis": _hypothesis(work),
            "seed": list(seed),
            "rng": int(rng) if isinstance(rng, (int, np.integer)) else None,
            "n_resamples": int(n_resamples),
            "n_bins": int(n_bins),
            "level": float(level),
            "levels": levels_of(work),
            "margin": float(margin),
            "tests": bool(tests),
            "pairwise_rows": most,
            "statistics": {statistic.name: jsonable(statistic.settings()) for statistic in work.statistics},
            "methods": {
                statistic.name: _method(statistic, isinstance(rows.example.predictions, RealPredictions))
                for statistic in work.statistics
            },
        },
        source=recorded,
        **parts,
    )


def _hypothesis(work: Work) -> str:
    if work.results["claims"] is not None:
        return CLAIM
    return HYPOTHESIS if work.summary.n_clusters is None else CLUSTERED


def _read_from(rows: Rows) -> dict[str, Any] | None:
    """Return where rows came from that were read from a file here."""
    some = rows.example
    if not some.source or rows.loaded() is None:
        return None
    return {"path": some.source, "digest": some.digest, "dropped": some.dropped, "notes": some.notes}


def _notes(
    shared: tuple[str, ...], estimates: Mapping[str, Estimate], results: Mapping[str, HypotestResult]
) -> tuple[str, ...]:
    """Return what concerns all numbers once, then what concerns some of them under their names."""
    titles: dict[str, dict[str, None]] = {}
    numbers: list[tuple[str, Estimate | HypotestResult]] = [*estimates.items(), *results.items()]
    for name, result in numbers:
        for note in unsaid(result.notes, shared) if name != OMNIBUS else ():
            titles.setdefault(note, {})[title(name)] = None
    of_some = [f"{joined(list(names), most=4)}: {note}" for note, names in titles.items()]
    return tuple(dict.fromkeys((*shared, *of_some)))


def _method(statistic: Statistic, real: bool) -> dict[str, str]:
    """Return what a statistic tells of itself, for the method notes of a report."""
    story = statistic.story
    return {
        "name": story.title,
        "meaning": story.meaning,
        "formula": (real and story.real_formula) or story.formula,
        "reference": story.citation or statistic.reference,
    }


def _why_untested(rows: Rows, tests: bool) -> str:
    some = rows.example.predictions
    sets = (PredictionSets, PredictionIntervals)
    if not isinstance(some, (ClassPredictions, RealPredictions, *sets)):
        return f"no statistic of this version applies to {type(some).__name__} predictions"
    return "no statistic was left to test" if tests else "tests were switched off"
