"""Studies of J25: is there a calibrated combination in the set, with weights that depend on the instance?"""

from __future__ import annotations

from collections.abc import Mapping

from credibly.simulate import BinaryWorld, CalibrationTest, MulticlassWorld
from credibly.simulate.power import Test
from credibly.studies.power import PowerSize, PowerWork
from credibly.studies.study import Study

_ERRORS = {"SKCE": "skce", "KDE L2": "kde_ce", "KDE KL": "kl_ce", "Brier": "brier"}


def _both(errors: Mapping[str, str]) -> dict[str, Test]:
    """Test the truth's place in the set and the mean of the members with each error."""
    true = {f"true weights, {name}": CalibrationTest("truth", one) for name, one in errors.items()}
    mean = {f"mean, {name}": CalibrationTest("mean", one) for name, one in errors.items()}
    return {**true, **mean}


FIG3 = Study(
    name="j25-fig3",
    title="Binary worlds: the true weights and the mean of two members, four errors",
    reference="J25 Fig. 3",
    small=PowerSize(200, 20),
    full=PowerSize(400, 1000),
    work=PowerWork(
        tests=_both(_ERRORS),
        worlds={
            hypothesis: BinaryWorld(hypothesis) for hypothesis in ("H0,1", "H0,2", "H1,1", "H1,2", "H1,3")
        },
    ),
)

FIG4 = Study(
    name="j25-fig4",
    title="Multiclass worlds with the control on the boundary: true weights and mean, four errors",
    reference="J25 Fig. 4",
    small=PowerSize(200, 20),
    full=PowerSize(400, 1000),
    work=PowerWork(
        tests=_both(_ERRORS),
        worlds={
            "H0,1": MulticlassWorld("H0,1"),
            "H0,2": MulticlassWorld("H0,2"),
            "control, delta 0": MulticlassWorld("H1", delta=0.0),
            "H1, delta 0.01": MulticlassWorld("H1", delta=0.01),
            "H1, delta 0.1": MulticlassWorld("H1", delta=0.1),
            "H1, delta 0.2": MulticlassWorld("H1", delta=0.2),
            "corner per instance, delta 0.1": MulticlassWorld("H1", delta=0.1, corner="instance"),
        },
    ),
)
