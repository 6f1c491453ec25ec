"""Parts of the score for right and for wrong predictions, as violins over instances."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import InputTypeError, one_of
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, host_vector
from credibly.plots.style import BLUE, INK, ORANGE, draw_boxes, name_ticks
from credibly.results.scores import PARTS, EpistemicScore, Group
from credibly.selection.standings import Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Part = Literal["distance", "imprecision", "total"]
Scores = Ranking | EpistemicScore | Mapping[str, EpistemicScore]
_TITLES = {"distance": "Distance", "imprecision": "Imprecision", "total": "Score E"}
_BINS = 40


def named_scores(scores: Scores) -> dict[str, EpistemicScore]:
    """Return scores by name; one score goes by its kind, with its average beside it."""
    if isinstance(scores, Ranking):
        return dict(scores.scores)
    if isinstance(scores, EpistemicScore):
        own = {scores.kind: scores}
        return own if scores.average is None else {**own, "its mean": scores.average}
    if isinstance(scores, Mapping) and scores:
        return {str(name): score for name, score in scores.items()}
    raise InputTypeError(
        "`scores`",
        "must be a ranking, a score, or scores by name",
        f"got {type(scores).__name__}",
        "Pass what `rank_models` or `epistemic_score` returned.",
    )


@dataclasses.dataclass(frozen=True)
class ViolinDisplay(Display):
    """Distribution of one part of the score over right and over wrong predictions (C25 Figs. 2, 11, 12).

    Attributes
    ----------
    names : tuple of str
        The models.
    part : str
        Which part.
    edges : ndarray (b + 1,)
        Bins of the values.
    right, wrong : ndarray (m, b)
        Share of right and of wrong predictions per bin.
    right_mean, wrong_mean : ndarray (m,)
        Means; NaN without such predictions.
    n_infinite : int
        Values that no bin can hold.
    """

    size: ClassVar[tuple[float, float]] = (6.4, 3.8)
    key_below: ClassVar[float] = 0.3

    names: tuple[str, ...]
    part: str
    edges: HostArray
    right: HostArray
    wrong: HostArray
    right_mean: HostArray
    wrong_mean: HostArray
    n_infinite: int

    @property
    def finding(self) -> str:
        """The violins in one sentence."""
        higher = int((self.wrong_mean > self.right_mean).sum())
        m = len(self.names)
        who = f"{higher} of {m} models" if m > 1 else (self.names[0] if higher else "no model")
        lost = f" {self.n_infinite} infinite values are not drawn." if self.n_infinite else ""
        return f"{_TITLES[self.part]} is larger for wrong than for right predictions of {who}.{lost}"

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"{_TITLES[self.part]}, right and wrong", "", _TITLES[self.part].lower())

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw right predictions to the left of each model's line and wrong ones to the right."""
        places = np.arange(len(self.names))
        for shares, side, color, label in (
            (self.right, -1.0, BLUE, "right predictions"),
            (self.wrong, 1.0, ORANGE, "wrong predictions"),
        ):
            tallest = np.maximum(shares.max(axis=1, keepdims=True), 1e-12)
            widths = 0.42 * side * shares / tallest
            left = places[:, None] + np.minimum(widths, 0.0)
            right = places[:, None] + np.maximum(widths, 0.0)
            held = shares > 0
            low, high = (
                np.broadcast_to(self.edges[:-1], shares.shape),
                np.broadcast_to(self.edges[1:], shares.shape),
            )
            if held.any():
                draw_boxes(
                    ax,
                    left[held],
                    right[held],
                    low[held],
                    high[held],
                    facecolor=color,
                    linewidth=0,
                    label=label,
                )
        for means, side, marker in ((self.right_mean, -0.12, "o"), (self.wrong_mean, 0.12, "D")):
            ax.plot(
                places + side,
                means,
                linestyle="none",
                marker=marker,
                markersize=4,
                markerfacecolor="none",
                markeredgecolor=INK,
            )
        ax.vlines(places, self.edges[0], self.edges[-1], color=INK, linewidth=0.4)
        name_ticks(ax, self.names)
        ax.set_ylim(self.edges[0], self.edges[-1])

    def table(self) -> Table:
        """Return the means."""
        rows = tuple(
            (name, shown(float(right)), shown(float(wrong)))
            for name, right, wrong in zip(self.names, self.right_mean, self.wrong_mean, strict=True)
        )
        return Table(("model", "mean where right", "mean where wrong"), rows)


def violin_data(scores: Scores, *, part: Part = "distance") -> ViolinDisplay:
    """Return what the violins of right and wrong predictions show.

    Parameters
    ----------
    scores : Ranking, EpistemicScore or mapping of str to EpistemicScore
        The models.
    part : {"distance", "imprecision", "total"}
        Which part of the score.

    Returns
    -------
    ViolinDisplay
        The data; `draw` draws them.
    """
    one_of("`part`", part, PARTS)
    held = named_scores(scores)
    values = {name: host_vector(getattr(score, part), part) for name, score in held.items()}
    finite = np.concatenate([one[np.isfinite(one)] for one in values.values()])
    edges = np.linspace(0.0, 1.02 * float(finite.max(initial=1e-9)), _BINS + 1)
    shares: dict[Group, list[HostArray]] = {"right": [], "wrong": []}
    for name, score in held.items():
        right = host_vector(score.right, "right") > 0
        for group, mask in (("right", right), ("wrong", ~right)):
            counts = np.histogram(values[name][mask & np.isfinite(values[name])], bins=edges)[0]
            shares[group].append(counts / max(1, int(mask.sum())))  # type: ignore[index]
    return ViolinDisplay(
        names=tuple(held),
        part=part,
        edges=edges,
        right=np.array(shares["right"]),
        wrong=np.array(shares["wrong"]),
        right_mean=np.array([score.summary[part]["right"].mean for score in held.values()]),
        wrong_mean=np.array([score.summary[part]["wrong"].mean for score in held.values()]),
        n_infinite=sum(int((~np.isfinite(one)).sum()) for one in values.values()),
    )


@drawing_of(violin_data)
def score_violins(scores: Scores, *, part: Part = "distance", ax: Axes | None = None) -> Axes:
    """Draw one part of the score for right and for wrong predictions."""
    return violin_data(scores, part=part).draw(ax)
