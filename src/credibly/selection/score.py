"""The unified score of one model: E = distance + trade-off * imprecision.

A Point's imprecision is 0, so its E is its log loss; a set gains by holding a distribution near the label and
pays for being imprecise.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from credibly._arrays.philox import takes_rng
from credibly.credal.distances import Divergence
from credibly.credal.masses import Negative
from credibly.credal.sets import DIRICHLET_SAMPLES
from credibly.predictions import as_rows
from credibly.results.scores import EpistemicScore
from credibly.selection.imprecision import ScoreMeasure
from credibly.selection.instance_scores import NOTABLE, require_scorable, scored_rows, summed_up
from credibly.selection.settings import Paper, checked_settings


@takes_rng
def epistemic_score(
    predictions: Any,
    labels: Any = None,
    *,
    tradeoff: float = 1.0,
    measure: ScoreMeasure | None = None,
    divergence: Divergence = "kl",
    budget: Sequence[Iterable[int]] | None = None,
    negative: Negative = "keep",
    base: float | None = None,
    paper: Paper | None = None,
    n_samples: int = DIRICHLET_SAMPLES,
    dependences: bool = True,
    rng: Any = 0,
) -> EpistemicScore:
    """Score predictions of any kind by distance to the labels plus imprecision.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions, read as sets by :func:`as_set`.
    labels : array (n,), LabelCounts, Point or array (n, k)
        Class labels, or soft targets; chunks bring theirs.
    tradeoff : float
        Weight of the imprecision, 0 or more; infinite asks for precision alone.
    measure : {"hartley", "dubois_prade", "koerner", "entropy_gap", "credal_size", "u65", "u80"}, optional
        What counts as imprecision: generalised Hartley of the exact envelope (where no budget is given),
        Dubois-Prade on a budget of focal sets (where one is), Koerner's minus 1, upper minus lower entropy,
        mean upper minus lower probability, or what a utility of set-valued answers takes off.
    divergence : {"kl", "js", "sqrt_js"}
        Distance of a label to the nearest distribution of the set.
    budget : sequence of sets of int, optional
        Focal sets the masses are put on, for ``dubois_prade`` and ``koerner``.
    negative : {"keep", "clamp"}
        Whether negative masses stay, for the same two.
    base : float, optional
        Base of the logarithms; natural where not given.
    paper : {"C25"}, optional
        The published pipeline: clamped masses on the budget stand for the set (three sets per class where no
        budget is given), distances are clipped at 1e-10, ``js`` is its root, intervals become 10 samples.
    n_samples : int
        Draws per instance where the predictions are a Dirichlet.
    dependences : bool
        Whether to find out, on up to 500 instances (100 beyond 12 classes), how far E follows the budget and
        the number of members.
    rng : None, int or Generator
        Seed of draws and random events.

    Returns
    -------
    EpistemicScore
        Arrays ``distance``, ``imprecision`` and ``total`` over instances, their means and standard deviations
        all, right and wrong predictions, and the same for the mean prediction in ``average``.

    Warns
    -----
    UserWarning
        Where E changes by more than 1 % with all events instead of the budget, or with half of the members.

    Notes
    -----
    E is a statement about the budget and the number of samples as much as about the model: compare models at
    equal ones. An imprecise model is rewarded at small trade-offs and punished at large ones;
    :func:`rank_models` shows where the order changes. Distances to labels need no vertices: they are -log of
    the upper probability.

    References
    ----------
    C25: Manchingal et al., A unified evaluation framework for epistemic predictions, 2025.

    Examples
    --------
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]])
    >>> score = cr.epistemic_score(ensemble, [0], dependences=False)
    >>> score.distance.round(4), score.imprecision.round(4)  # -ln 0.75; (0.75 - 0.5) ln 2
    (array([0.2877]), array([0.1733]))
    >>> round(float(score.average), 4)  # log loss of the mean: -ln 0.625
    0.47
    """
    settings = checked_settings(
        tradeoff=tradeoff,
        measure=measure,
        divergence=divergence,
        budget=budget,
        negative=negative,
        base=base,
        paper=paper,
        n_samples=n_samples,
        rng=rng,
    )
    rows = as_rows(predictions, labels)
    require_scorable(rows, settings)
    found = summed_up(scored_rows(rows, settings, dependences=dependences))
    for one in found.dependences:
        if abs(one.share) > NOTABLE:
            warnings.warn(str(one), UserWarning, stacklevel=3)
    return found
