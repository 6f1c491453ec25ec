"""What can be computed from predictions and labels: one small file per idea, one row each in the registry."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.statistics.adaptive import t_cal
from credibly.statistics.binned import classwise_ece, confidence_ece, hosmer_lemeshow, top_label_ece
from credibly.statistics.calibration_index import e50, e90, emax, ici
from credibly.statistics.coverage import picp, pit, quantile_calibration_error
from credibly.statistics.crps import crps
from credibly.statistics.decomposition import BrierDecomposition, decompose_brier
from credibly.statistics.joint import energy_score, variogram_score
from credibly.statistics.kde import kde_ce, kl_ce
from credibly.statistics.logistic import LogisticCalibration, logistic_calibration
from credibly.statistics.net_benefit import net_benefit
from credibly.statistics.proper import accuracy, brier, confidence_gap, log_loss, rps, spiegelhalter_z
from credibly.statistics.protocol import Statistic, Traits
from credibly.statistics.quantile_losses import pinball_loss, sharpness, wis
from credibly.statistics.registry import registered, statistic
from credibly.statistics.regression import gaussian_log_loss, interval_score, mae, rmse
from credibly.statistics.rights import rights
from credibly.statistics.risk_coverage import augrc, risk_coverage_curve
from credibly.statistics.running import RunningStatistic
from credibly.statistics.skce import mmd_ce, skce
from credibly.statistics.skill import brier_skill, log_loss_skill
from credibly.statistics.slopes import mean_slope, spread_slope
from credibly.statistics.smooth import smooth_ece
from credibly.statistics.spread import ence, spread_ratio
from credibly.statistics.walks import ecce, truthful_ce
from credibly.statistics.width_dependence import hsic

__all__ = [
    "BrierDecomposition",
    "LogisticCalibration",
    "RunningStatistic",
    "Statistic",
    "Traits",
    "accuracy",
    "augrc",
    "brier",
    "brier_skill",
    "classwise_ece",
    "confidence_ece",
    "confidence_gap",
    "crps",
    "decompose_brier",
    "e50",
    "e90",
    "ecce",
    "emax",
    "ence",
    "energy_score",
    "gaussian_log_loss",
    "hosmer_lemeshow",
    "hsic",
    "ici",
    "interval_score",
    "kde_ce",
    "kl_ce",
    "log_loss",
    "log_loss_skill",
    "logistic_calibration",
    "mae",
    "mean_slope",
    "mmd_ce",
    "net_benefit",
    "picp",
    "pinball_loss",
    "pit",
    "quantile_calibration_error",
    "registered",
    "rights",
    "risk_coverage_curve",
    "rmse",
    "rps",
    "sharpness",
    "skce",
    "smooth_ece",
    "spiegelhalter_z",
    "spread_ratio",
    "spread_slope",
    "statistic",
    "t_cal",
    "top_label_ece",
    "truthful_ce",
    "variogram_score",
    "wis",
]

fill_docstrings(map(globals().get, __all__))
