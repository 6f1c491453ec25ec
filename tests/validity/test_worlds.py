"""Where the hypothesis is true, a test that is given the truth's place in the set rejects as its level says.

39 replicates make 5, 10 and 20 % possible p-values of one- and two-sided tests alike.
"""

from __future__ import annotations

import numpy as np
import pytest

from credibly_studies.simulate import (
    BinaryWorld,
    CalibrationTest,
    EnsembleWorld,
    MulticlassWorld,
    World,
    paired_difference,
    power_study,
)
from validity import worlds

pytestmark = pytest.mark.validity

REPETITIONS = worlds.repetitions(18, 4000)
LEVELS = (0.05, 0.1, 0.2)
TRUTH = {
    "Brier": CalibrationTest("truth", "brier", n_resamples=39),
    "SKCE": CalibrationTest("truth", "skce", n_resamples=39),
}
NULL: dict[str, World] = {
    "S1": EnsembleWorld("S1"),
    "S1, spread 0.1": EnsembleWorld("S1", spread=0.1, n_classes=4),
    "S2 on the boundary": EnsembleWorld("S2", spread=0.1, n_classes=4, step=0.0),
    "H0,1": MulticlassWorld("H0,1"),
    "H0,2": MulticlassWorld("H0,2"),
    "H0,2, spread over x": MulticlassWorld("H0,2", spread=(0.05, 2.0)),
    "control": MulticlassWorld("H1", delta=0.0),
    "control by features": MulticlassWorld("H1", delta=0.0, corner="features"),
    "control per instance": MulticlassWorld("H1", delta=0.0, corner="instance"),
    "binary H0,1": BinaryWorld("H0,1"),
    "binary H0,2": BinaryWorld("H0,2"),
}


@pytest.mark.parametrize("name", NULL)
def test_level_given_the_true_weights(name: str) -> None:
    world = NULL[name]
    assert world.null is True
    assert world.draw(200, rng=0).inside.all()
    study = power_study(TRUTH, {name: world}, levels=LEVELS, repetitions=REPETITIONS, n=30, rng=1)
    for place, level in enumerate(LEVELS):
        low, high = worlds.bounds(REPETITIONS, level)
        assert (study.rejected[0, :, place] >= low).all()
        assert (study.rejected[0, :, place] <= high).all()


def test_power_grows_with_the_distance() -> None:
    """At delta 0 the level, then more and more; more than 0.9 at 0.5."""
    distances = (0.0, 0.1, 0.2, 0.5)
    study = power_study(
        {"truth": CalibrationTest("truth", "skce", n_resamples=39)},
        {str(delta): MulticlassWorld("H1", delta=delta) for delta in distances},
        levels=[0.1],
        repetitions=worlds.repetitions(20, 500),
        n=150,
        rng=2,
    )
    rates = study.rates[:, 0, 0]
    assert (np.diff(rates) > -0.1).all()
    assert study.low[0, 0, 0] <= 0.1
    assert rates[-1] > 0.9


def test_the_mean_fails_the_control_that_the_truth_passes() -> None:
    """On the boundary the hypothesis is true, but the mean of the members is not what labels came from."""
    tests = {of: CalibrationTest(of, "skce", n_resamples=39) for of in ("truth", "mean")}
    worlds_ = {"control": MulticlassWorld("H1", delta=0.0)}
    study = power_study(tests, worlds_, levels=[0.1], repetitions=worlds.repetitions(25, 500), n=200, rng=3)
    difference = paired_difference(study, "control", "mean", "truth", level=0.1)
    assert difference.difference > 0.2
    assert difference.pvalue < 0.001
