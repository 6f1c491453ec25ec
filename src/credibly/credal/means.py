"""Means over instances of measures that have one number per instance, summed up in one pass over the rows."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, as_float64, is_array, to_host
from credibly._arrays.progress import Progress
from credibly._arrays.standard_errors import Moments, mean_error_of_clusters, standard_error_of
from credibly._arrays.sums import State
from credibly.credal.sets import DRAWN_IN_CHUNKS
from credibly.credal.uncertainty import Uncertainty, uncertainty
from credibly.predictions import Dataset, Dirichlet, Rows, as_rows
from credibly.predictions.clusters import Clusters
from credibly.predictions.labels import no_weight
from credibly.predictions.passes import Sums, Task, on_host, one_pass
from credibly.predictions.rows import weights_of_rows
from credibly.results.estimates import Estimate

Measure = Callable[..., Any]

_PARTS = ("total", "aleatoric", "epistemic")


def mean_over(
    rows: Any,
    measures: Measure | Mapping[str, Measure],
    labels: Any = None,
    *,
    sample_weight: Any = None,
    clusters: Any = None,
    blocks: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Estimate]:
    """Return means over instances of measures that give one number per instance.

    Parameters
    ----------
    rows : Rows, Predictions or array
        What `scan` returned, with its labels and weights, or predictions in memory.
    measures : callable or mapping of str to callable
        `uncertainty`, `credal.distance`, `nonspecificity`, `credal.size`, `upper_entropy` or any other
        function of predictions that returns (n,) numbers; a function with a parameter ``labels`` receives
        them too. Set options with ``functools.partial``. Several measures are computed in one pass.
    labels : array (n,) or LabelCounts, optional
        What was observed, for measures that take labels.
    sample_weight : array (n,), optional
        ...
    clusters : array (n,), optional
        ... Standard errors then allow for these clusters.
    blocks : int, optional
        ...
    progress : callable, optional
        Called with (done, total) rows.

    Returns
    -------
    dict of str to Estimate
        Means with standard errors over instances, by name; a decomposition gives one for each part:
        ``"uncertainty.total"``, ``"uncertainty.aleatoric"``, ``"uncertainty.epistemic"``.

    Notes
    -----
    Means are weighted if the rows have weights. A measure is computed on a few thousand rows at a time and
    must not depend on other rows; the draws that represent a `Dirichlet` would, so measures of sets refuse
    it.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs, labels = rng.dirichlet(np.ones(3), size=(500, 4)), rng.integers(3, size=500)
    >>> means = cr.credal.mean_over(cr.scan(probs, labels, chunk_rows=100), cr.credal.distance)
    >>> whole = cr.credal.distance(cr.Ensemble(probs), labels).mean()
    >>> bool(abs(means["distance"].value - whole) < 1e-12)
    True
    """
    rows = as_rows(rows, labels, sample_weight, clusters=clusters, blocks=blocks)
    return one_pass(rows, [MeasuresTask.of(measures, rows)], progress)[0]


@dataclasses.dataclass(frozen=True)
class MeasuresTask(Task):
    """Means of measures, as a part of one pass.

    Attributes
    ----------
    measures : dict of str to callable
        The measures by name.
    labelled : frozenset of str
        Which of them take labels.
    n : int
        Number of all rows.
    clusters : Clusters or None
        Which of them belong together.
    """

    measures: dict[str, Measure]
    labelled: frozenset[str]
    n: int
    clusters: Clusters | None = None

    @classmethod
    def of(cls, measures: Measure | Mapping[str, Measure], rows: Rows) -> MeasuresTask:
        """Check that the measures can be computed leaf by leaf."""
        named = dict(measures) if isinstance(measures, Mapping) else {_name(measures): measures}
        for name, measure in named.items():
            if not callable(measure):
                raise InputTypeError(
                    f"measure {name!r}",
                    "must be a function",
                    f"got {measure!r}",
                    "Pass a function such as `uncertainty`.",
                )
            if isinstance(rows.example.predictions, Dirichlet) and _draws(measure):
                raise UnsupportedError(
                    f"measure {name!r} of a Dirichlet",
                    "needs sets of distributions",
                    DRAWN_IN_CHUNKS,
                    "Draw once, `dirichlet.sample(m)`, and pass or scan the Ensemble.",
                )
        labelled = frozenset(name for name, measure in named.items() if "labels" in _parameters(measure))
        return cls(named, labelled, rows.n, rows.clusters)

    def sums(self, chunk: Dataset) -> Sums:
        """Return powers of every measure's numbers, summed."""
        states: dict[str, State] = {}
        for name, measure in self.measures.items():
            for part, values in _values(name, measure, chunk, name in self.labelled).items():
                state = on_host(Moments.of(as_float64(values)[None, :], chunk.checked_weights))
                if part in states:
                    raise InputError(
                        "measures", "must have distinct names", f"{part!r} is there twice", "Rename one."
                    )
                if np.isnan(state["w1 v1"][0]):
                    raise _not_a_number(name, values, chunk.start)
                states[part] = state
                if self.clusters is not None:
                    states[part].update(self._by_cluster(chunk, to_host(as_float64(values))))
        return Sums(states, tuple(dict.fromkeys(chunk.predictions.notes)))

    def _by_cluster(self, chunk: Dataset, values: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Return weights and weighted numbers of every cluster, (c,)."""
        assert self.clusters is not None
        codes, weight = self.clusters.codes(chunk.clusters), weights_of_rows(chunk)
        kept = np.where(weight > 0, values, 0.0)  # of weight zero, also what is infinite
        return {
            f"clusters {name}": np.bincount(codes, values, minlength=self.clusters.number)
            for name, values in (("weight", weight), ("total", weight * kept))
        }

    def finish(self, total: Sums) -> dict[str, Estimate]:
        """Return the means and their standard errors."""
        return {name: self._estimate(name, state, total.notes) for name, state in total.states.items()}

    def _estimate(self, name: str, state: Any, notes: tuple[str, ...]) -> Estimate:
        measure = self.measures[name if name in self.measures else name.rpartition(".")[0]]
        settings = dict(_parts(measure)[1])
        if state["w1 v0"][0] == 0.0:
            raise no_weight()
        stderr, refusal = standard_error_of(state)
        error: dict[str, Any] = {"stderr": stderr, "interval_refusal": refusal}
        if self.clusters is not None:
            error = mean_error_of_clusters(state["clusters total"], state["clusters weight"], stderr)
        infinite = int(state["infinite"][0])
        if infinite:
            notes = (*notes, f"{infinite} of {self.n} instances have an infinite value")
        return Estimate(name, state.mean, n=self.n, settings=settings, notes=notes, **error)


def _values(name: str, measure: Measure, chunk: Dataset, labelled: bool) -> dict[str, Array]:
    """Return the numbers (n,) of a measure by name; the parts of a decomposition apart."""
    measured = measure(chunk.predictions, chunk.observed) if labelled else measure(chunk.predictions)
    if isinstance(measured, Uncertainty):
        parts = {f"{name}.{part}": getattr(measured, part) for part in _PARTS}
        return {part: values for part, values in parts.items() if values is not None}
    if not is_array(measured) or tuple(measured.shape) != (len(chunk.predictions),):
        raise InputError(
            f"measure {name!r}",
            "must return one number per instance, (n,)",
            f"got shape {tuple(measured.shape)}" if is_array(measured) else f"got {type(measured).__name__}",
            "Reduce the other axes: `lambda predictions: upper_probability(predictions).max(axis=1)`.",
        )
    return {name: measured}


def _not_a_number(name: str, values: Array, start: int) -> InputError:
    rows = np.flatnonzero(~np.isfinite(to_host(values)))
    return InputError(
        f"measure {name!r}",
        "must return numbers",
        f"row {start + int(rows[0])} has {float(to_host(values)[rows[0]])} ({len(rows)} such rows here)",
        "Give these rows a value, or leave them out of the scan.",
    )


def _parts(measure: Measure) -> tuple[Any, dict[str, Any]]:
    """Return a function and the options that `functools.partial` set."""
    return (measure.func, measure.keywords) if isinstance(measure, functools.partial) else (measure, {})


def _name(measure: Measure) -> str:
    function, _ = _parts(measure)
    return str(getattr(function, "__name__", type(function).__name__))


def _parameters(measure: Measure) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(measure).parameters


def _draws(measure: Measure) -> bool:
    """Tell whether a measure draws from a Dirichlet; its own decomposition has a closed form."""
    function, settings = _parts(measure)
    if function is uncertainty:
        return settings.get("decomposition") == "credal"
    return "n_samples" in _parameters(measure)
