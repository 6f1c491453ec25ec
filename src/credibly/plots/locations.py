"""Test locations as a map: where labels occur more, or less, often than predicted."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.plots.display import BLUE, INK, VERMILION, Display, Style, Words
from credibly.results.base import require_level
from credibly.results.curves import LocatedEstimate
from credibly.results.estimates import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LARGEST = 10.0  # standard errors beyond which marks grow no more
_NAMES = {
    "mean": ("predicted mean", "label"),
    "quantile": ("predicted quantile", "its level (labels at or below it)"),
    "probability": ("predicted probability of the class", "class"),
}


class LocationDisplay(Display, kind="locations", of=LocatedEstimate):
    """What is predicted at every test location, its label, and whether such labels occur too often.

    A triangle points up where there are more labels than predicted and down where there are fewer; it grows
    with the difference in standard errors, and is filled where chance does not explain it.

    Attributes
    ----------
    estimate : LocatedEstimate
        From `credibly.statistics.ucme`.
    level : float
        Probability that all differences of a calibrated model stay within chance (Bonferroni).
    """

    size = (5.4, 4.6)

    estimate: LocatedEstimate
    level: float = 0.95

    def _require(self) -> None:
        require_level(self.level)

    @functools.cached_property
    def beyond(self) -> HostArray:
        """Which locations chance does not explain, one of all locations looked at."""
        return self.estimate.beyond(self.level)

    @property
    def finding(self) -> str:
        """The map in one sentence."""
        number, out = len(self.beyond), int(self.beyond.sum())
        verb = "differs" if out == 1 else "differ"
        clusters = self.estimate.n_clusters
        if clusters is not None and clusters < FEWEST_CLUSTERS:
            return f"{clusters} clusters are too few to tell which locations differ by more than chance."
        said = f"{out} of {number} locations {verb} by more than chance explains"
        return f"{said}; {self.estimate.worst_words()}." if out else f"{said}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Labels at test locations", *_NAMES[self.estimate.predicts])

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw what is predicted at every location, and its difference."""
        own = self.estimate
        x, y, scores = np.array(own.predicted), np.array(own.label), own.scores
        if own.spread:
            spread = np.array(own.spread)
            style: Style = {"color": INK, "alpha": 0.25, "linewidth": 1.0, "zorder": 1}
            ax.vlines(x, x - spread, x + spread, label="predicted mean ± spread", **style)
        area = (0.4 if small else 1.0) * (18 + 16 * np.minimum(np.abs(scores), _LARGEST))
        for more, marker, color, name in ((True, "^", VERMILION, "more"), (False, "v", BLUE, "fewer")):
            for far, face, tail in ((True, color, "labels than predicted"), (False, "none", "within chance")):
                some = (self.beyond == far) & ((scores > 0) == more)
                if some.any():
                    said = f"{name} {tail}" if far else f"{name}, {tail}"
                    marks: Style = {"marker": marker, "edgecolors": color, "facecolors": face, "zorder": 3}
                    ax.scatter(x[some], y[some], s=area[some], linewidths=1.0, label=said, **marks)
        if own.predicts == "probability":
            classes = np.unique(y)
            ax.set_yticks(classes, [f"{one:.0f}" for one in classes])

    def _columns(self) -> dict[str, Any]:
        own, order = self.estimate, np.argsort(-np.abs(self.estimate.scores), kind="stable")
        x, y = _NAMES[own.predicts]
        label = [int(one) for one in own.label] if own.predicts == "probability" else own.label
        columns: dict[str, Any] = {x: own.predicted, y: label}
        if own.spread:
            columns = {x: own.predicted, "predicted spread": own.spread, y: label}
        columns |= {
            "difference": own.difference,
            "standard error": own.difference_stderr,
            "in standard errors": own.scores,
            "beyond chance": self.beyond,
        }
        return {name: [column[at] for at in order] for name, column in columns.items()}
