"""For which class and where the truth lies outside a set: labels and bounds where a witness points.

The witness at a row did not see its label, so frequencies among the rows it points at are not chosen.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.credal.bounds import singleton_bounds
from credibly.credal.sets import CredalSet
from credibly.results.witness import WitnessDirection

Column = tuple[str, int | None, HostArray]
"""What a condition may be about: its name, the class in it, a value per instance."""

_NOTICEABLE = 0.02  # log odds of a bet below which a row is not said to point anywhere
_LEAST_ROWS = 5  # of a direction that is told
_CLEAR_CUT = 0.35  # share of rows inside minus outside of a condition, above which it is told


def directions(
    credal: CredalSet,
    classes: HostArray,
    features: HostArray | None,
    logs: HostArray,
    tested: HostArray,
    labels: HostArray,
) -> tuple[WitnessDirection, ...]:
    """Compare labels with the bounds of the set where the witness points at a class, the clearest first."""
    lower, upper = (to_host(one) for one in singleton_bounds(credal))
    mean = to_host(credal.mean().probs)
    k = mean.shape[1]
    columns: list[Column] = [(f"the mean probability of class {j}", int(j), mean[:, j]) for j in classes]
    columns.append(("the largest mean probability", None, mean.max(axis=1)))
    if features is not None:
        columns += [(f"feature {j}", None, one) for j, one in enumerate(features.T)]
    found = []
    for more in (True, False):
        signed = logs if more else -logs
        pointed = np.where(tested & (signed.max(axis=1) > _NOTICEABLE), signed.argmax(axis=1), -1)
        for j in range(k):
            rows = pointed == j
            count = int(rows.sum())
            if count < _LEAST_ROWS:
                continue
            bound = upper[rows, j] if more else lower[rows, j]
            observed = float((labels[rows] == j).mean())
            gap = observed - float(bound.mean()) if more else float(bound.mean()) - observed
            spread = np.sqrt(max(float((bound * (1 - bound)).sum()), 1e-12)) / count
            width = (f"the width of the set for class {j}", j, upper[:, j] - lower[:, j])
            where, about = _condition([*columns, width], rows)
            found.append(
                WitnessDirection(
                    label=j,
                    more=more,
                    n=count,
                    observed=observed,
                    lower=float(lower[rows, j].mean()),
                    upper=float(upper[rows, j].mean()),
                    score=float(gap / spread),
                    where=where,
                    where_label=about,
                )
            )
    return tuple(sorted(found, key=lambda one: -one.score))


def _condition(columns: list[Column], rows: HostArray) -> tuple[str, int | None]:
    """Return the cut of one column that separates `rows` best and its class, or "" where none does."""
    best, words, about = _CLEAR_CUT, "", None
    if rows.all():
        return words, about
    for name, label, values in columns:
        # values that occur: between huge ones nothing can be interpolated
        for threshold in np.unique(np.quantile(values, np.arange(1, 10) / 10, method="inverted_cdf")):
            above = values > threshold
            if above.all() or not above.any():
                continue
            gain = above[rows].mean() - above[~rows].mean()
            if abs(gain) > best:
                best, about = abs(gain), label
                words = f"{name} is {'above' if gain > 0 else 'at most'} {threshold:.2g}"
                if label is not None and 0 <= threshold < 0.001:  # of a probability 4.6e-05 says nothing more
                    words = f"{name} is {'not ' if gain > 0 else ''}nearly 0"
    return words, about
