"""The settings with which the papers computed their statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credibly.statistics import Statistic
from credibly.statistics.registry import as_statistic

PAPER_SETTINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "C25": {
        "confidence_ece": {"n_bins": 10, "closed": "right"},
        "classwise_ece": {"n_bins": 10, "closed": "right"},
        "log_loss": {"clip": 1e-10},
    },
    "M23": {
        "confidence_ece": {"n_bins": 10},
        "classwise_ece": {"n_bins": 10},
        "hosmer_lemeshow": {"n_bins": 5, "binning": "equal_mass"},
        "linear_skce": {"distance": "tv", "bandwidth": 2.0},
    },
    "P21": {
        "confidence_ece": {"closed": "right"},  # eq. 2.3 leaves the number of bins open
        "picp": {"level": 0.95},  # Table 2: from .025 to .975
        "quantile_calibration_error": {"strict": True},  # eq. 2.4
    },
}
"""By paper, then by statistic; a statistic that is not listed keeps its own settings."""


def as_in(paper: str, statistic: str | Statistic, **settings: Any) -> Statistic:
    """Return a statistic with the settings of a paper, except those given by name.

    Parameters
    ----------
    paper : {"C25", "M23", "P21"}
        The paper.
    statistic : str or Statistic
        The statistic; returned unchanged if the paper has no settings for it.
    **settings
        Fields to change, which win over those of the paper.

    Returns
    -------
    Statistic
        A new frozen statistic.

    Examples
    --------
    >>> from credibly_studies.paper_settings import as_in
    >>> as_in("C25", "confidence_ece", n_bins=20).settings()["closed"]
    'right'
    """
    chosen = as_statistic(statistic)
    return chosen.with_(**{**PAPER_SETTINGS[paper].get(chosen.name, {}), **settings})
