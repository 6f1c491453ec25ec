"""Predictive checks within groups: shared members, adjusted p-values, tables and counts."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from unit.hypotests.predictive.test_predictive_check import BOTH, drawn_by_loop, world

SHIFT = np.array(["blur", "fog"])[np.arange(60) % 2]
SEVERITY = np.arange(60) // 2 % 3


def check(**settings) -> cr.results.PredictiveCheck:
    members, labels = world()
    settings = {"statistics": ["brier", "skce"], "n_resamples": 99, "rng": 3, **settings}
    return cr.predictive_check(members, labels, **settings)


def test_a_group_has_the_labels_and_members_of_the_whole() -> None:
    members, labels = world()
    checked = check(groups=SHIFT, n_resamples=12)
    seed = tuple(checked.settings["seed"])
    for d in range(12):
        shared = drawn_by_loop(members[:, checked.bayesian.members[d]], seed, d)
        mixed = drawn_by_loop(members.mean(axis=1), seed, d)
        for group in ("blur", "fog"):
            rows = np.flatnonzero(group == SHIFT)
            for hypothesis, own in (("bayesian", shared), ("independent", mixed)):
                results = checked.under(hypothesis).groups[group]
                for name in ("brier", "skce"):
                    statistic = cr.statistics.registered()[name]
                    expected = float(statistic(members[rows], own[rows]))
                    assert results[name].null_distribution[d] == pytest.approx(expected, abs=1e-12)
                    observed = float(statistic(members[rows], labels[rows]))
                    assert results[name].statistic == pytest.approx(observed, abs=1e-12)
    assert checked.bayesian.groups["fog"]["brier"].n == 30
    assert checked.bayesian.groups["fog"]["brier"].details.group == "fog"


def test_factors_are_crossed_and_empty_combinations_left_out() -> None:
    keep = ~((SHIFT == "fog") & (SEVERITY == 2))
    members, labels = world()
    groups = {"shift": SHIFT[keep], "severity": SEVERITY[keep]}
    check = cr.predictive_check(members[keep], labels[keep], groups=groups, n_resamples=19, rng=0)
    assert list(check.bayesian.groups) == ["blur / 0", "blur / 1", "blur / 2", "fog / 0", "fog / 1"]
    assert check.factors == {"shift": ("blur", "fog"), "severity": ("0", "1", "2")}


def test_adjusted_pvalues_are_westfall_young_over_all_cells() -> None:
    checked = check(groups=SHIFT)
    for hypothesis in BOTH:
        cells = [one for group in checked.under(hypothesis).groups.values() for one in group.values()]
        values = np.array([[cell.statistic, *cell.null_distribution] for cell in cells])
        pooled = np.array(
            [
                [2 * min((row >= v - 1e-12).sum(), (row <= v + 1e-12).sum()) / 100 for v in row]
                for row in values
            ]
        ).clip(max=1)
        smallest = pooled.min(axis=0)
        for result, own in zip(cells, pooled[:, 0], strict=True):
            assert result.adjusted_pvalue == pytest.approx(np.mean(smallest <= own + 1e-12))


def test_verdicts_of_groups_are_counted() -> None:
    members, labels = world(n=400, m=80)  # ranks of 80 members leave room below 5 %: 2 / 81
    wrong = labels.copy()
    wrong[:100] = members[:100].mean(axis=1).argmin(axis=1)
    groups = np.repeat(["a", "b", "c", "d"], 100)
    checked = cr.predictive_check(members, wrong, statistics=["log_loss"], groups=groups, rng=0)
    for hypothesis in BOTH:
        counts = checked.count_verdicts(0.05, hypothesis)["log_loss"]
        assert counts == {"conflict": 1, "no conflict found": 3, "cannot tell": 0}
        groups_of = checked.under(hypothesis).groups
        adjusted = {name: own["log_loss"].adjusted_pvalue for name, own in groups_of.items()}
        assert adjusted["a"] <= 0.05 < min(adjusted[name] for name in "bcd")
    with pytest.raises(cr.InputError, match="hypothesis"):
        checked.under("both")
    with pytest.raises(cr.UnsupportedError, match="without"):
        check().count_verdicts()


def test_a_group_of_one_row_and_names_of_any_kind() -> None:
    members, labels = world(n=5, m=4)
    check = cr.predictive_check(members, labels, groups=[1.5, 1.5, 2.0, 2.0, 7.0], n_resamples=19, rng=0)
    assert list(check.bayesian.groups) == ["1.5", "2.0", "7.0"]
    assert check.bayesian.groups["7.0"]["accuracy"].n == 1


def test_too_few_replicates_for_so_many_groups_are_told() -> None:
    """Six groups and 99 replicates: labels in one group that no model can have drawn stay above the level."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=600)
    labels = (rng.random((600, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    groups = np.arange(600) % 6
    labels[groups == 0] = probs[groups == 0].argmin(axis=1)

    def smallest(n_resamples: int) -> tuple[float, list[str]]:
        check = cr.predictive_check(
            cr.Point(probs),
            labels,
            statistics=["brier"],
            hypothesis="independent",
            groups=groups,
            n_resamples=n_resamples,
            rng=1,
        )
        own = check.independent.groups.values()
        return min(one["brier"].adjusted_pvalue for one in own), [
            limit for limit in check.limits if "adjusted for 6 statistics and groups" in limit
        ]

    low, told = smallest(99)
    assert low > 0.05
    assert len(told) == 1
    assert "0.12" in told[0]
    assert "use 999 or more" in told[0]
    low, told = smallest(999)
    assert low < 0.05
    assert told == []


def test_clusters_keep_labels_and_draw_signs() -> None:
    """Under "independent" the replicates are those of `calibration_test`, ranked in both tails."""
    members, labels = world()
    ids = np.arange(60) // 3
    checked = check(statistics=["brier", "confidence_ece"], clusters=ids, groups=SHIFT)
    tested = cr.calibration_test(
        members, labels, statistics=["brier", "confidence_ece"], clusters=ids, n_resamples=99, rng=3
    )
    for name, component in tested.components.items():
        result = checked.independent.checks[name]
        assert result.null_distribution == pytest.approx(component.null_distribution)
        assert result.n_clusters == 20
    assert "clusters of rows are independent" in checked.bayesian.hypothesis
    rows = np.flatnonzero(SHIFT == "blur")
    group = checked.bayesian.groups["blur"]["brier"]
    assert group.statistic == pytest.approx(float(cr.brier(members[rows], labels[rows])))
    assert group.n_clusters == len(np.unique(ids[rows]))
    with pytest.raises(cr.UnsupportedError, match="power of a check"):
        checked.power("sharpen")


def test_few_clusters_cannot_tell() -> None:
    checked = check(statistics=["brier"], clusters=np.arange(60) % 4, hypothesis="independent")
    independent = checked.independent
    assert independent.checks["brier"].pvalue >= 2.0**-3  # signs of four clusters and their mirror images
    assert independent.omnibus_pvalue >= 2.0**-3
    assert independent.checks["brier"].verdict() == "cannot tell"


def test_members_of_clusters_are_told_by_sums_of_classes() -> None:
    ids = np.arange(60) // 3
    with pytest.raises(cr.UnsupportedError, match="`skce` of labels that a member drew"):
        check(clusters=ids)
    assert check(clusters=ids, hypothesis="independent").independent.checks["skce"].n_clusters == 20
    normal = cr.Gaussian(np.zeros((60, 2)), np.ones((60, 2)))
    with pytest.raises(cr.UnsupportedError, match="is tested for class predictions; got Gaussian"):
        cr.predictive_check(normal, np.zeros(60), statistics=["picp"], clusters=ids)
