"""What only one test knows: beside the shared fields in JSON, in its own type for pictures and readers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import credibly as cr
from credibly.plots.hypotests import witness
from credibly.results.combinations import CombinationDetails
from credibly.results.tests import with_details

rng = np.random.default_rng(0)
MEMBERS = rng.dirichlet(np.ones(3), size=(60, 3))
LABELS = (rng.random((60, 1)) > MEMBERS[:, 0].cumsum(axis=1)).sum(axis=1)

KINDS = [
    CombinationDetails,
    cr.results.CheckDetails,
    cr.results.CredalDetails,
    cr.results.EquivalenceDetails,
    cr.results.ValidityDetails,
    cr.results.WeightsDetails,
    cr.results.WitnessDetails,
]


@pytest.fixture(scope="module")
def plain() -> cr.results.HypotestResult:
    return cr.calibration_test(MEMBERS[:, 0], LABELS, statistics="brier", n_resamples=39, rng=0)


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_of_the_details_hides_one_of_the_test(kind: type) -> None:
    shared = {field.name for field in dataclasses.fields(cr.results.HypotestResult)}
    assert not shared & {field.name for field in dataclasses.fields(kind)}


def test_json_has_the_fields_of_the_details_beside_the_others(plain: cr.results.HypotestResult) -> None:
    record = cr.calibration_test(MEMBERS[:, 0], LABELS, statistics="confidence_gap", margin=0.3).to_dict()
    assert (record["type"], record["details"], record["margin"]) == (
        "HypotestResult",
        "EquivalenceDetails",
        0.3,
    )
    assert record["certificate"]["type"] == "Certificate"
    assert plain.to_dict()["details"] == "Details"
    assert plain.summary() == {
        name: value
        for name, value in plain.to_dict().items()
        if name not in ("null_distribution", "components")
    }


def test_every_test_has_a_sentence(plain: cr.results.HypotestResult) -> None:
    assert plain.sentence() == "No conflict found between the predictions and the labels."
    rejected = dataclasses.replace(plain, pvalue=0.01)
    assert rejected.sentence() == f"The labels contradict the hypothesis that {plain.hypothesis}."
    few = dataclasses.replace(plain, n_resamples=9)  # two sides of 1 / 10
    assert few.sentence() == "Cannot tell: 9 replicates give no p-value below 0.2; 39 are needed."
    with pytest.raises(cr.InputError, match="`level` must lie"):
        plain.sentence(5)


def test_a_test_with_other_details_keeps_its_fields(plain: cr.results.HypotestResult) -> None:
    bound = cr.hypotests.certificate(MEMBERS[:, 0], LABELS)
    result = with_details(plain, cr.results.EquivalenceDetails(0.02, bound), name="another")
    assert (result.name, result.pvalue, result.details.margin) == ("another", plain.pvalue, 0.02)
    assert plain.details == cr.results.Details()


def test_a_picture_names_the_details_that_it_needs(plain: cr.results.HypotestResult) -> None:
    with pytest.raises(
        cr.InputTypeError,
        match=r"`HypotestResult\[WitnessDetails\]`; got HypotestResult\[Details\]",
    ):
        witness(plain)


def test_a_witness_alone_stands_for_the_test_of_a_set() -> None:
    """With clusters there are no replicates to draw."""
    pytest.importorskip("matplotlib")
    result = cr.credal_test(cr.Ensemble(MEMBERS), LABELS, blocks=3, rng=0)
    assert result.plot().get_xlabel() == witness(result.details.validity).xlabel
    with pytest.raises(cr.UnsupportedError, match="the null distribution of `witness`"):
        result.plot(kind="null")
