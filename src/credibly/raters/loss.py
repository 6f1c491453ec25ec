"""Whose loss is it? The squared loss under several labels per instance, taken apart.

With mu the label frequencies of an instance, n its raters, z its prediction, all sums over classes:

    expected      L  = mean sum mu - 2 mu z + z^2
    irreducible   IL = mean sum n / (n - 1) mu (1 - mu)
    epistemic     EL = L - IL
    calibration   CL = sum over classes and bins of |bin| / N (mean mu - mean z)^2, debiased
    dispersion    DL = EL - CL          refinement  RL = L - CL = DL + IL

Mimori et al. 2021 (D21).
"""

from __future__ import annotations

from typing import Any

from credibly._arrays.namespace import as_float64
from credibly.predictions import Dataset, as_point, as_rows
from credibly.raters.levels import PLUGIN_REFUSAL, TermFactors
from credibly.raters.moments import Evidence, instances_last
from credibly.raters.population import Population, ratings
from credibly.raters.two_passes import Binned, summarise
from credibly.results.decompositions import LossDecomposition, LossTerms
from credibly.results.estimates import RootEstimate
from credibly.statistics.cells import Binning, Closed

# Terms as combinations of the means of expected, epistemic and plug-in epistemic loss, and of calibration.
TERMS: TermFactors = {
    "expected": (1, 0, 0, 0),
    "epistemic": (0, 1, 0, 0),
    "irreducible": (1, -1, 0, 0),
    "calibration": (0, 0, 0, 1),
    "dispersion": (0, 1, 0, -1),
    "refinement": (1, 0, 0, -1),
}
PLUGIN_TERMS: TermFactors = {
    **TERMS,
    "epistemic": (0, 0, 1, 0),
    "irreducible": (1, 0, -1, 0),
    "dispersion": (0, 0, 1, -1),
}
MEANS: TermFactors = {name: factors for name, factors in TERMS.items() if name != "calibration"}
PLUGIN_REFUSALS = {name: PLUGIN_REFUSAL for name in PLUGIN_TERMS if name != "expected"}
ALL_ROWS_TERMS: TermFactors = {"expected": (1, 0), "calibration": (0, 1)}


def decompose_loss(
    predictions: Any,
    counts: Any = None,
    *,
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    sample_weight: Any = None,
    clusters: Any = None,
    blocks: int | None = None,
) -> LossDecomposition:
    """Split the squared loss into disagreement between raters, miscalibration and lack of discrimination.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions; a set is represented by its mean (a note says so).
    counts : LabelCounts
        How many raters gave each label (chunks carry their own). Rows with one rater are left out of all
        terms, with a warning.
    n_bins : int
        Bins per class.
    binning : {"equal_width", "equal_mass"}
        ...
    closed : {"left", "right"}
        ...
    sample_weight : array (n,), optional
        Non-negative weights, the same in all terms; with ``counts.totals`` every label counts equally.
    clusters : array (n,) or "copies", optional
        ... Standard errors then allow for these clusters, and pairs of rows inside a cluster are left out.
    blocks : int, optional
        ...

    Returns
    -------
    LossDecomposition
        All terms with standard errors, in total and per class, and the plug-in versions of the totals.

    Notes
    -----
    Expected, epistemic and irreducible loss are unbiased with two or more raters. Calibration and dispersion
    depend on the bins: dispersion also contains miscalibration hidden by wide bins. Unbiased terms may be
    negative. Cost is linear in the number of instances and classes.

    References
    ----------
    Mimori et al., *Diagnostic uncertainty calibration*, AISTATS 2021.

    Examples
    --------
    >>> import credibly as cr
    >>> counts = cr.LabelCounts([[3, 1], [0, 4], [2, 2], [4, 0]])
    >>> parts = cr.raters.decompose_loss([[0.8, 0.2], [0.1, 0.9], [0.5, 0.5], [0.9, 0.1]], counts)
    >>> round(parts.irreducible.value, 6)
    0.291667
    >>> abs(parts.expected.value - parts.epistemic.value - parts.irreducible.value) < 1e-15
    True
    """
    rows = as_rows(predictions, counts, sample_weight, clusters=clusters, blocks=blocks)
    cut = Binned(n_bins, binning, closed)
    population = Population(rows, least=2, mean_noted=True)
    settings = vars(cut)
    summary = summarise(population, loss_evidence, cut, (TERMS, PLUGIN_TERMS), MEANS, settings)
    terms = summary.debiased[0].totals(TERMS)
    all_rows = {name: terms[name] for name in ALL_ROWS_TERMS}
    if population.n_left_out:
        offered = {"expected": ALL_ROWS_TERMS["expected"]}
        every = summarise(population, single_evidence, cut, (ALL_ROWS_TERMS,), offered, settings, least=1)
        all_rows = every.debiased[0].totals(ALL_ROWS_TERMS)
    return LossDecomposition(
        **terms,
        calibration_error=RootEstimate.of(terms["calibration"], "calibration_error"),
        dispersion_error=RootEstimate.of(terms["dispersion"], "dispersion_error"),
        plugin=LossTerms(**summary.plugin.totals(PLUGIN_TERMS, PLUGIN_REFUSALS)),
        per_class=LossTerms(**summary.debiased[1].arrays(TERMS)),
        bins=summary.bins,
        all_rows=all_rows,
        n=population.n,
        n_left_out=population.n_left_out,
        raters=population.raters,
        settings=settings,
        notes=population.notes,
    )


def loss_evidence(tile: Dataset) -> Evidence:
    """Return contributions to expected, epistemic and plug-in epistemic loss, class by class."""
    z = as_float64(instances_last(as_point(tile.predictions)[0].probs))
    mu, raters, weight = ratings(tile)
    spread = mu * (1.0 - mu)
    plugin = (mu - z) ** 2
    return Evidence(z, mu, (plugin + spread, plugin - spread / (raters - 1.0), plugin), weight)


def single_evidence(tile: Dataset) -> Evidence:
    """Return contributions to the expected loss alone, which one rater shows too."""
    z = as_float64(instances_last(as_point(tile.predictions)[0].probs))
    mu, _, weight = ratings(tile)
    return Evidence(z, mu, ((mu - z) ** 2 + mu * (1.0 - mu),), weight)
