"""Method notes: formula and reference of every statistic in a report."""

from __future__ import annotations

from collections.abc import Mapping

from credibly.evaluation import title
from credibly.report.html_parts import MethodNote

_HOSMER_LEMESHOW = (
    "Hosmer and Lemeshow, Goodness of fit tests for the multiple logistic regression model, "
    "Communications in Statistics, 1980; Fagerland, Hosmer and Bofin, Statistics in Medicine, 2008."
)
_PICP = (
    "Khosravi et al., Comprehensive review of neural network-based prediction intervals, IEEE Transactions "
    "on Neural Networks, 2011."
)
_QUANTILES = (
    "Kuleshov, Fenner and Ermon, Accurate uncertainties for deep learning using calibrated regression, "
    "ICML 2018."
)
_CRPS_MEANING = (
    "Distance between the predicted distribution and the label, in the label's unit; smaller is better. Of "
    "quantiles: twice their mean pinball loss."
)
_CRPS = (
    "Matheson and Winkler, Scoring rules for continuous probability distributions, Management Science, 1976; "
    "Grimit et al., Quarterly Journal of the Royal Meteorological Society, 2006."
)
_KDE = (
    "Popordanoska, Sayer and Blaschko, A consistent and differentiable Lp canonical calibration error "
    "estimator, NeurIPS 2022."
)
_KL = (
    "Popordanoska et al., Consistent and asymptotically unbiased estimation of proper calibration errors, "
    "AISTATS 2024."
)
_NOTES = {
    "accuracy": (
        "Share of instances whose most probable class is the label.",
        "mean of 1[argmax p = y]",
        "",
    ),
    "brier": (
        "Mean squared distance between the predicted distribution and the label, 0 to 2; smaller is better.",
        "mean of ‖p − e_y‖²",
        "Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review, 1950.",
    ),
    "log_loss": (
        "Mean negative natural logarithm of the label's probability; infinite where that is 0, not clipped.",
        "mean of −log p_y",
        "Good, Rational decisions, Journal of the Royal Statistical Society B, 1952.",
    ),
    "confidence_ece": (
        "Gap between confidence and accuracy, averaged over bins of confidence.",
        "Σ_b |b|/n · |accuracy(b) − confidence(b)|",
        "Guo et al., On calibration of modern neural networks, ICML 2017.",
    ),
    "classwise_ece": (
        "The same gap for the probability of every class, averaged over classes.",
        "1/k Σ_c Σ_b |b|/n · |frequency of c in b − mean p_c in b|",
        "Kull et al., Beyond temperature scaling, NeurIPS 2019.",
    ),
    "top_label_ece": (
        "Gap between confidence and accuracy within each predicted class, averaged over classes and bins.",
        "Σ_c Σ_b |b,c|/n · |accuracy(b,c) − confidence(b,c)|",
        "Gupta and Ramdas, Top-label calibration and multiclass-to-binary reductions, ICLR 2022.",
    ),
    "hosmer_lemeshow": (
        "Squared differences of observed and expected counts per class and bin of equal mass.",
        "Σ_c Σ_b (observed − expected)² / expected",
        _HOSMER_LEMESHOW,
    ),
    "picp": (
        "Share of labels inside the central interval of the predicted distribution, ends included.",
        "mean of 1[l ≤ y ≤ u]",
        _PICP,
    ),
    "quantile_calibration_error": (
        "Squared differences between levels and shares of labels below their quantiles, summed over levels.",
        "Σ_j (p_j − mean of 1[y ≤ Q(p_j)])²",
        _QUANTILES,
    ),
    "crps": (
        _CRPS_MEANING,
        "mean of E|X − y| − ½ E|X − X′|",
        _CRPS,
    ),
    "gaussian_log_loss": (
        "Mean negative natural logarithm of the density at the label, of the mixture of all members.",
        "mean of −log 1/m Σ_j N(y; μ_j, σ_j²)",
        "Good, Rational decisions, Journal of the Royal Statistical Society B, 1952.",
    ),
    "interval_score": (
        "Mean width of the central interval, plus a penalty for labels outside; smaller is better.",
        "mean of (u − l) + 2/α (l − y)⁺ + 2/α (y − u)⁺",
        "Gneiting and Raftery, Strictly proper scoring rules, prediction, and estimation, JASA 2007.",
    ),
    "rmse": (
        "Root of the mean squared distance between the label and the mean of the predicted distribution.",
        "√(mean of (y − E F)²)",
        "",
    ),
    "mae": (
        "Mean distance between the label and the median of the predicted distribution.",
        "mean of |y − median F|",
        "",
    ),
    "skce": (
        "Do errors of similar predictions point in one direction? Unbiased, so it may be slightly negative.",
        "mean over i ≠ j of k(pᵢ, pⱼ) ⟨e_yᵢ − pᵢ, e_yⱼ − pⱼ⟩",
        "Widmann, Lindsten and Zachariah, Calibration tests in multi-class classification, NeurIPS 2019.",
    ),
    "mmd_ce": (
        "Distance of observed labels to labels drawn from the predictions, with a kernel L on labels.",
        "mean over i ≠ j of k(pᵢ, pⱼ) (e_yᵢ − pᵢ)ᵀ L (e_yⱼ − pⱼ)",
        "Marx, Zalouk and Ermon, Calibration by distribution matching, NeurIPS 2023.",
    ),
    "kde_ce": (
        "Distance of predictions to the frequencies of labels near them, smoothed by a Dirichlet kernel.",
        "(mean over j of ‖m(pⱼ) − pⱼ‖ᵖ)^(1/p), m(pⱼ) = Σᵢ≠ⱼ wⱼᵢ e_yᵢ",
        _KDE,
    ),
    "kl_ce": (
        "The part of the log loss that recalibration could remove, with the same smoothed frequencies m.",
        "mean over j of Σ_c m_c(pⱼ) log(m_c(pⱼ) / pⱼ_c)",
        _KL,
    ),
}

GENERAL = (
    MethodNote(
        "Calibration test",
        "Labels are drawn again and again from the predictions themselves while the predictions stay as they "
        "are (consistency resampling). That is exact for any number of instances. The observed labels count "
        "as one of the draws.",
        "p = (1 + #{replicates at least as extreme}) / (1 + number of replicates)",
        "Bröcker and Smith, Increasing the reliability of reliability diagrams, Weather and Forecasting, "
        "2007; Vaicenavicius et al., Evaluating model calibration in classification, AISTATS 2019.",
    ),
    MethodNote(
        "Acceptance region",
        "The values that the test would not reject. A wide region accepts nearly everything: no conflict "
        "found is then no praise.",
        "",
        "",
    ),
    MethodNote(
        "Adjusted p-value",
        "All statistics share their replicates; the adjusted p-value asks how often the smallest p-value of "
        "all of them would be as small. It decides the verdict, so that one false conflict among all "
        "statistics has at most the probability of the level.",
        "share of replicates whose smallest p ≤ own p",
        "Westfall and Young, Resampling-based multiple testing, Wiley 1993.",
    ),
)
DECOMPOSITION = MethodNote(
    "Calibration and refinement loss",
    "The Brier score split into what recalibration could remove and what it cannot, from bins of every "
    "class's probability; sampling noise of the bins is subtracted, so the calibration loss may be "
    "slightly negative.",
    "Brier = calibration + refinement",
    "Murphy, Journal of Applied Meteorology, 1973; DeGroot and Fienberg, The Statistician, 1983; Kumar, "
    "Liang and Ma, NeurIPS 2019.",
)


def method_notes(
    statistics: Mapping[str, Mapping[str, str]], *, decomposed: bool = True
) -> tuple[MethodNote, ...]:
    """Return the notes of these statistics, then those of the methods that all share.

    A statistic without a note here is described by what it says of itself; `decomposed` tells whether the
    Brier score was taken apart.
    """
    own = []
    for name, given in statistics.items():
        meaning, formula, reference = _NOTES.get(name, (given["meaning"], "", given["reference"]))
        own.append(MethodNote(title(name), meaning, formula, reference))
    return (*own, *GENERAL, DECOMPOSITION) if decomposed else (*own, *GENERAL)
