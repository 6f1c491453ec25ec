"""What a predictive check cannot say with what was stored, refused or put into words."""

from __future__ import annotations

from collections.abc import Sequence

from credibly._arrays.errors import UnsupportedError
from credibly.hypotests.members import Hypothesis
from credibly.predictions import Dirichlet, Ensemble, Gaussian, Predictions, Quantiles, Samples

_LEVEL = 0.05


def has_members(predictions: Predictions) -> bool:
    """Tell whether members are stored, so that one can be drawn for all instances."""
    if isinstance(predictions, Gaussian):
        return int(predictions.mean.ndim) == 2
    if isinstance(predictions, Samples):
        return int(predictions.values.ndim) == 3
    return isinstance(predictions, (Ensemble, Dirichlet))


def require_hypothesis(predictions: Predictions, hypothesis: Hypothesis) -> None:
    """Raise where a hypothesis cannot be tested with these predictions."""
    if hypothesis == "independent" or has_members(predictions):
        return
    kind = type(predictions).__name__
    single = {
        "Point": "`Ensemble(probs[:, None, :])`",
        "Gaussian": "`Gaussian(mean[:, None], std[:, None])`",
        "Samples": "`Samples(values[:, None, :])`",
    }.get(kind)
    remedy = 'Store the members, or pass `hypothesis="independent"`.'
    if single:
        remedy += f" If it is a single model, say so: {single}."
    raise UnsupportedError(
        "the Bayesian hypothesis",
        "cannot be tested where only averages are stored: which member drew the labels is lost",
        f"got {kind} without members",
        remedy,
    )


def limits_of(
    predictions: Predictions,
    names: Sequence[Hypothesis],
    n_resamples: int,
    named: bool,
    excluded: int,
    together: int,
) -> tuple[str, ...]:
    """Return what the check cannot say, in words; `together` p-values are adjusted for each other."""
    limits = ["The data must not have been used to train or recalibrate the model."]
    if named:
        limits = [f"{excluded} rows that had been used before were left out by their names."]
    m = predictions.n_members
    if "bayesian" in names and isinstance(predictions, Dirichlet):
        limits.append(
            "A Dirichlet draws a distribution per instance: with one label per instance a member's labels "
            "are those of its mean, so concentrations do not show."
        )
    if "bayesian" in names and m == 1:
        limits.append("With one member both hypotheses are the same.")
    elif "bayesian" in names and 2 / (m + 1) > _LEVEL:
        limits.append(
            f"The Bayesian hypothesis is about these {m} members. Where they stand for a posterior with "
            f"more, no two-sided p-value below {2 / (m + 1):.2g} is to be trusted: read `member_pvalue`."
        )
    if isinstance(predictions, Quantiles) and not predictions.is_dense:
        limits.append(
            f"Only {predictions.values.shape[1]} quantiles are stored: labels are known up to the gap "
            "between them, and coverage is all that was checked."
        )
    if 2 / (n_resamples + 1) > _LEVEL:
        limits.append(
            f"{n_resamples} replicates give no two-sided p-value below {2 / (n_resamples + 1):.2g}."
        )
    # every row of the replicates has its two extremes, and each may be another replicate's smallest p-value
    elif 2 * together / (n_resamples + 1) > _LEVEL:
        limits.append(
            f"{n_resamples} replicates, adjusted over {together} statistics and groups, may give no adjusted "
            f"p-value below {min(2 * together / (n_resamples + 1), 1):.2g}, however large the deviation: use "
            f"{_enough(together)} or more."
        )
    return tuple(limits)


def _enough(together: int) -> int:
    """Return a round number of replicates, less one, that can give adjusted p-values at the level."""
    least = 2 * together / _LEVEL
    return int(-(-least // 1000) * 1000) - 1
