"""Studies of M23: is there a calibrated combination in the set, with one weight vector for all instances?"""

from __future__ import annotations

from credibly.simulate import CalibrationTest, EnsembleWorld
from credibly.statistics import Statistic, hosmer_lemeshow, skce
from credibly.studies.power import PowerSize, PowerWork
from credibly.studies.study import Study

_ERRORS: dict[str, str | Statistic] = {
    "SKCE linear": skce.with_(estimator="linear"),
    "SKCE": skce,
    "HL": hosmer_lemeshow.with_(n_bins=5),
    "confidence ECE": "confidence_ece",
    "classwise ECE": "classwise_ece",
}

FIG1 = Study(
    name="m23-fig1",
    title="Level (S1) and power (S2, S3) of five errors given the weights, 10 members and 10 classes",
    reference="M23 Fig. 1",
    small=PowerSize(100, 20),
    full=PowerSize(100, 1000),
    work=PowerWork(
        tests={f"true weights, {name}": CalibrationTest("truth", one) for name, one in _ERRORS.items()},
        worlds={scenario: EnsembleWorld(scenario) for scenario in ("S1", "S2", "S3")},
    ),
)
