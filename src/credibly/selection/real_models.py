"""Which of several models, by proper scores of the same instances: paired, with ties named.

difference_ab = mean over instances of score_a - score_b

Models of real values may be of different kinds. Where one is given by quantiles, all are scored by their
quantiles at the levels they share; draws beside other kinds are scored by the fair CRPS, which estimates that
of the distribution they were drawn from.   Gneiting and Raftery 2007; Ferro 2014.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from credibly._arrays.errors import CrediblyError, InputError, require
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.philox import Seed
from credibly._arrays.progress import Progress, tell
from credibly._arrays.standard_errors import mean_error
from credibly.predictions import ClassPredictions, Dataset, Point, Predictions, RealPredictions, Rows, Samples
from credibly.predictions.quantiles import at_levels, levels_note, shared_levels
from credibly.results.estimates import Estimate
from credibly.selection.lines import Ranking
from credibly.selection.score import require_same_labels
from credibly.selection.standings import bootstrap_means, clusters_note, standing_by
from credibly.statistics import Statistic, crps
from credibly.statistics.linear import Linear
from credibly.statistics.registry import as_statistic, require_listed

SCORES = ("crps", "interval_score", "gaussian_log_loss")
"""Proper scores by which models are ranked unasked, where all of them have it."""


def rank_real_models(
    models: Mapping[str, Rows],
    statistics: Sequence[str | Statistic] | None,
    n_resamples: int,
    level: float,
    seed: Seed,
    progress: Progress | None,
) -> Ranking:
    """Rank models of real values, or models of classes by the scores that were named."""
    samples = {name: rows.example.predictions for name, rows in models.items()}
    levels = shared_levels([sample for sample in samples.values() if isinstance(sample, RealPredictions)])
    terms = {name: _in_terms(sample[:2], levels) for name, sample in samples.items()}
    notes = [] if levels is None else [levels_note(levels)]
    chosen, left_out = _chosen(statistics, terms, {name: sample[:2] for name, sample in samples.items()})
    notes += left_out
    notes += [
        f"{name}: {sample.mean_note}"
        for name, sample in samples.items()
        if isinstance(sample, ClassPredictions) and not isinstance(sample, Point)
    ]
    scored = {name: _settled(statistic, terms) for name, statistic in chosen.items()}
    notes += list(dict.fromkeys(note for settled in scored.values() for note in settled[1]))
    notes += _quantiles_of_draws(
        samples, [name for name in chosen if levels is not None or name != crps.name]
    )
    values: dict[str, HostArray] = {}
    first: tuple[str, HostArray] | None = None
    for done, (name, rows) in enumerate(models.items(), start=1):
        statistics_of_model = [by_model[name] for by_model, _ in scored.values()]
        parts = list(rows.map(partial(_contributions, statistics_of_model, levels)))
        labels = np.concatenate([part[0] for part in parts])
        first = first or (name, labels)
        require_same_labels(first, (name, labels))
        values[name] = np.concatenate([part[1] for part in parts], axis=1)
        tell(progress, done * n_resamples // len(models), 2 * n_resamples)
    names, (rows_of_first, *_) = tuple(models), models.values()
    codes, n = rows_of_first.cluster_codes(), rows_of_first.n
    notes += clusters_note(models)
    standings = []
    estimates: dict[str, dict[str, Estimate]] = {name: {} for name in names}
    for at, statistic in enumerate(chosen):
        table = np.stack([values[name][at] for name in names], axis=1)
        score = chosen[statistic]
        settings = score.settings()
        for name, column in zip(names, table.T, strict=True):
            mean, error = float(column.mean()), mean_error(column, codes, score.term_size)
            estimates[name][statistic] = Estimate(statistic, mean, n=n, settings=settings, **error)
        draws = bootstrap_means(table, n_resamples, seed, None, codes)
        means = table.mean(axis=0)
        standings.append(standing_by(statistic, names, means, draws, level, n, "smallest", score.term_size))
        tell(progress, n_resamples + n_resamples * (at + 1) // len(chosen), 2 * n_resamples)
    return Ranking(
        names=names,
        standings=tuple(standings),
        level=float(level),
        n=rows_of_first.n,
        estimates=estimates,
        settings={
            "statistics": {name: statistic.settings() for name, statistic in chosen.items()},
            "n_resamples": n_resamples,
            "seed": list(seed),
        },
        notes=tuple(notes),
    )


_BETWEEN = "is best at a value in between"
_NO_SCORES = {
    "picp": _BETWEEN,
    "spread_ratio": _BETWEEN,
    "confidence_gap": _BETWEEN,
    "accuracy": "is best where it is largest",
}


def _in_terms(predictions: Predictions, levels: HostArray | None) -> Predictions:
    return at_levels(predictions, levels) if isinstance(predictions, RealPredictions) else predictions


def _chosen(
    statistics: Sequence[str | Statistic] | None,
    terms: Mapping[str, Predictions],
    samples: Mapping[str, Predictions],
) -> tuple[dict[str, Statistic], list[str]]:
    """Return the scores that all models have; unasked ones that some have not are left out, and said.

    Models are asked as they were given first, and then in the terms that they share.
    """
    require_listed(statistics)
    scores: dict[str, Statistic] = {}
    left_out = []
    real = any(isinstance(sample, RealPredictions) for sample in samples.values())
    remedy = "Use `brier`, `log_loss` or, for ordered classes, `rps`."
    if real:
        remedy = "Use `crps`, `interval_score`, `gaussian_log_loss` or `mae`."
    for choice in SCORES if statistics is None else statistics:
        statistic = as_statistic(choice)
        if statistic.name in _NO_SCORES:
            raise InputError(
                "`statistics`",
                "must be scores for which smaller is better",
                f"{statistic.name!r} {_NO_SCORES[statistic.name]}",
                remedy,
            )
        for name, some in (*samples.items(), *terms.items()):
            try:
                statistic.require_predictions(some)
                bound = statistic.bind(some)
            except CrediblyError as error:
                if statistics is not None:
                    raise
                left_out.append(f"{statistic.name} was left out: {error.subject} of {name} {error.rule}")
                break
            if not (isinstance(bound, Linear) and bound.terms.is_mean):
                raise InputError(
                    "`statistics`",
                    "must be means over instances",
                    f"{statistic.name!r} is not one",
                    remedy,
                )
        else:
            scores[statistic.name] = statistic
    require(scores, "must contain at least one", "Leave it out.", statistics=statistics)
    return scores, left_out


def _quantiles_of_draws(samples: Mapping[str, Predictions], statistics: Sequence[str]) -> list[str]:
    """Note which scores see the quantiles of few draws as they are, where other models have exact ones."""
    draws = {name: sample for name, sample in samples.items() if isinstance(sample, Samples)}
    alike = len(draws) == len(samples) and len({sample.n_draws for sample in draws.values()}) == 1
    seen = [name for name in statistics if name in (crps.name, "interval_score")]
    if not draws or alike or not seen:
        return []
    whose, which = ", ".join(sorted(draws)), " and ".join(seen)
    return [f"{which}: quantiles of the draws represent {whose}; the fewer draws, the larger the score"]


def _settled(
    statistic: Statistic, terms: Mapping[str, Predictions]
) -> tuple[dict[str, Statistic], tuple[str, ...]]:
    """Return the statistic for every model: of draws beside other kinds the fair one, and what to note."""
    whole = dict.fromkeys(terms, statistic)
    draws = {name: predictions for name, predictions in terms.items() if isinstance(predictions, Samples)}
    sizes = {sample.n_draws for sample in draws.values()}
    alike = not draws or (len(draws) == len(terms) and len(sizes) == 1)
    if statistic.name != crps.name or statistic != crps or alike:
        return whole, ()
    fair = {name for name, sample in draws.items() if sample.n_members == 1 and sample.values.shape[-1] > 1}
    notes = []
    if fair:
        whose = ", ".join(sorted(fair))
        notes.append(
            f"crps of {whose} is the fair CRPS, which estimates that of the distribution the draws come from"
        )
    if set(draws) - fair:
        few = ", ".join(sorted(set(draws) - fair))
        notes.append(
            f"crps of {few} is that of the draws themselves, which is larger when there are fewer draws"
        )
    return {**whole, **{name: crps.with_(estimator="fair") for name in fair}}, tuple(notes)


def _contributions(
    statistics: Sequence[Statistic], levels: HostArray | None, chunk: Dataset
) -> tuple[HostArray, HostArray]:
    """Return labels (n,) and the scores (s, n) of one model on some rows."""
    predictions, labels = _in_terms(chunk.predictions, levels), chunk.batch
    rows = []
    for statistic in statistics:
        bound = statistic.bind(predictions)
        assert isinstance(bound, Linear)
        rows.append(to_host(bound.contributions(labels))[0])
    return to_host(labels.values)[0], np.stack(rows)
