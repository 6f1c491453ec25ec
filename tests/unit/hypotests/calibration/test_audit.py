"""Audits of groups against double loops, hand-made lattices, and what they refuse."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.calibration import family
from credibly.hypotests.calibration.family import normal_scores, standardised
from credibly.hypotests.calibration.group_scores import middle_ranks
from credibly.hypotests.calibration.lattice import lattice_of
from credibly.hypotests.resampling.replicates import Replicates
from credibly.hypotests.resampling.wild import signs


def world(n: int = 600, shift: float = 0.0, seed: int = 3) -> tuple[Any, Any, dict[str, Any]]:
    """Two classes; where sex is F and site is B, class 1 happens more often than predicted by `shift`."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    groups = {"sex": rng.choice(["F", "M"], n), "site": rng.choice(["A", "B", "C"], n)}
    off = (groups["sex"] == "F") & (groups["site"] == "B")
    labels = (rng.random(n) < np.clip(p + shift * off, 0, 1)).astype(int)
    return np.stack([1 - p, p], axis=1), labels, groups


def every_group(groups: dict[str, Any]) -> dict[str, Any]:
    """All rows, levels, and pairs of levels of two attributes, as masks."""
    sex, site = groups["sex"], groups["site"]
    found = {"all rows": np.ones(len(sex), dtype=bool)}
    found |= {f"sex {one}": sex == one for one in np.unique(sex)}
    found |= {f"site {one}": site == one for one in np.unique(site)}
    for one, other in itertools.product(np.unique(sex), np.unique(site)):
        found[f"sex {one}, site {other}"] = (sex == one) & (site == other)
    return found


def test_effects_and_pvalues_are_those_of_a_double_loop() -> None:
    probs, labels, groups = world(n=200, shift=0.3)
    both = ["confidence", "classes"]
    result = cr.audit(probs, labels, groups=groups, measures=both, n_resamples=39, min_size=1, rng=7)
    seed = tuple(result.settings["seed"])
    drawn = Replicates(probs, seed).labels(slice(0, 39)).values
    masks, top = every_group(groups), probs.argmax(axis=1)
    kinds = {
        "confidence": (probs.max(axis=1), lambda y: y == top),
        "class 1": (probs[:, 1], lambda y: y == 1),
    }
    scores = {}
    for (name, mask), (kind, (q, event)) in itertools.product(masks.items(), kinds.items()):
        values, variance = q[mask], (q * (1 - q))[mask].sum()
        skewness = (q * (1 - q) * (1 - 2 * q))[mask].sum() / variance**1.5
        sums = np.array([event(y)[mask].sum() - values.sum() for y in (labels, *drawn)])
        scores[name, kind] = np.abs(normal_scores(sums / np.sqrt(variance), np.full(40, skewness)))
    order = sorted(scores, key=lambda key: -scores[key][0])
    adjusted, before = {}, 0.0
    for place, key in enumerate(order):
        worst = np.max([scores[other] for other in order[place:]], axis=0)
        before = max(before, np.count_nonzero(worst >= scores[key][0] - 1e-9) / 40)
        adjusted[key] = before
    assert len(result.groups) == 2 * 12  # 1 + 2 + 3 + 6 groups, two measures
    for group in result.groups:
        key = group.group, group.measure
        q, event = kinds[group.measure]
        mask = masks[group.group]
        assert group.n == mask.sum()
        assert group.effect == pytest.approx(event(labels)[mask].mean() - q[mask].mean(), abs=1e-12)
        assert group.pvalue == pytest.approx(np.mean(scores[key] >= scores[key][0] - 1e-9))
        assert group.adjusted_pvalue == pytest.approx(adjusted[key])
    assert result.pvalue == pytest.approx(min(adjusted.values()))


def test_a_group_explains_those_above_and_below_it() -> None:
    probs, labels, groups = world(n=3000, shift=0.3)
    groups = groups | {"day": np.arange(3000) % 3}
    result = cr.audit(probs, labels, groups=groups, depth=3, n_resamples=199, rng=1)
    assert [finding.group for finding in result.findings] == ["sex F, site B"]
    others = {one.group: one.explained_by for one in result.rejected if one not in result.findings}
    assert {"sex F", "site B", "sex F, site B, day 0"} <= set(others)  # two larger ones, one inside
    assert set(others.values()) == {"sex F, site B"}
    assert "sex F, site B" in str(result)
    assert result.verdict() == "conflict"


def test_what_is_off_everywhere_is_told_of_all_rows() -> None:
    probs, labels, groups = world(n=3000)
    sharper = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    both = ["confidence", "classes"]
    result = cr.audit(sharper, labels, groups=groups, measures=both, n_resamples=199, rng=1)
    assert [(finding.group, finding.measure) for finding in result.findings] == [("all rows", "confidence")]
    assert "too sure by" in result.findings[0].words


def test_chunks_and_torch_give_the_same_numbers() -> None:
    torch = pytest.importorskip("torch")
    probs, labels, groups = world(shift=0.2)
    settings: dict[str, Any] = {"n_resamples": 49, "rng": 2}
    once = cr.audit(probs, labels, groups=groups, **settings)
    pieces = cr.audit(cr.scan(probs, labels, chunk_rows=101), groups=groups, **settings)
    tensor = cr.audit(torch.asarray(probs), torch.asarray(labels), groups=groups, **settings)
    for other in (pieces, tensor):
        assert [group.adjusted_pvalue for group in other.groups] == [
            group.adjusted_pvalue for group in once.groups
        ]
        assert [group.effect for group in other.groups] == pytest.approx(
            [group.effect for group in once.groups]
        )


def test_groups_of_files_in_chunks_are_gathered() -> None:
    probs, labels, groups = world(shift=0.2)
    pieces = cr.scan(probs, labels, groups=groups["site"], chunk_rows=200)
    audited = cr.audit(pieces, n_resamples=19, rng=2)
    whole = cr.audit(probs, labels, groups=groups["site"], n_resamples=19, rng=2)
    assert [group.group for group in audited.groups] == [group.group for group in whole.groups]
    assert {group.group for group in audited.groups} == {"all rows", "group A", "group B", "group C"}


def test_dask_arrays_give_the_same_pvalues() -> None:
    dask = pytest.importorskip("dask.array")
    probs, labels, groups = world(shift=0.2)
    rows = cr.scan(dask.from_array(probs, chunks=(250, 2)), labels, engine="serial")
    audited = cr.audit(rows, groups=groups, n_resamples=19, rng=2)
    whole = cr.audit(probs, labels, groups=groups, n_resamples=19, rng=2)
    assert [group.adjusted_pvalue for group in audited.groups] == [
        group.adjusted_pvalue for group in whole.groups
    ]


@pytest.mark.parametrize("n_clusters", [8, 60])
def test_clusters_draw_one_sign_for_all_their_rows(n_clusters: int) -> None:
    probs, labels, groups = world(n=240, shift=0.2)
    clusters = np.arange(240) % n_clusters
    result = cr.audit(
        probs, labels, groups=groups, clusters=clusters, measures=["classes"], n_resamples=29, rng=5
    )
    drawn = signs(tuple(result.settings["seed"]), slice(0, 29), n_clusters)
    residual, criticals = labels - probs[:, 1], []
    for name, mask in every_group(groups).items():
        sums = np.bincount(clusters[mask], weights=residual[mask], minlength=n_clusters)
        seen, predicted = (sums**2).sum(), (probs[mask, 0] * probs[mask, 1]).sum()
        observed = np.abs(sums.sum()) / np.sqrt(max(seen, predicted))
        values = np.concatenate([[observed], np.abs(drawn @ sums) / np.sqrt(seen)])
        (tested,) = (group for group in result.groups if group.group == name)
        assert tested.pvalue == pytest.approx(np.mean(values >= values[0] - 1e-9))
        for end in (tested.low, tested.high):  # where the test of this effect has the score that all share
            apart = sums - np.bincount(clusters[mask], minlength=n_clusters) * end
            if abs(end) < 1:
                criticals.append(np.abs(apart.sum()) / np.sqrt(max((apart**2).sum(), predicted)))
        assert (tested.low <= 0 <= tested.high) == (observed <= max(criticals) + 1e-9)
    assert len(criticals) > 4
    assert criticals == pytest.approx(criticals[:1] * len(criticals), rel=1e-4)
    assert result.n_clusters == n_clusters


def test_an_interval_of_clusters_says_what_the_test_says() -> None:
    """Few unequal clusters: p is at most .05 exactly where the clearest interval leaves out 0."""
    sizes = [5, 6, 7, 9, 12, 15, 18, 22, 28, 35, 44, 54]
    clusters = np.repeat(np.arange(12), sizes)
    told = []
    for seed in range(12):
        probs, labels, groups = world(n=clusters.size, shift=0.35, seed=seed)
        audited = cr.audit(probs, labels, groups=groups, clusters=clusters, n_resamples=99, rng=seed)
        first = audited.groups[0]
        told.append(first.adjusted_pvalue <= 0.05)
        assert told[-1] == (not first.low <= 0 <= first.high)
    assert 0 < sum(told) < 12


DATES = np.datetime64("2020-01-15") + np.arange(0, 1500, 5)


@pytest.mark.parametrize(
    ("values", "unit", "words"),
    [
        (DATES, "year", ("2020", "2021", "2022", "2023", "2024")),
        (DATES.astype(str), "year", ("2020", "2021", "2022", "2023", "2024")),
        (DATES.astype("datetime64[ns]"), "year", ("2020", "2021", "2022", "2023", "2024")),
        (DATES.astype(object), "year", ("2020", "2021", "2022", "2023", "2024")),
        (np.repeat(DATES[:20], 15), "month", ("2020-01", "2020-02", "2020-03", "2020-04")),
        (np.repeat(DATES[:3], 100), "day", ("2020-01-15", "2020-01-20", "2020-01-25")),
    ],
    ids=["dates", "text", "times", "objects", "months", "days"],
)
def test_dates_are_taken_by_year_month_or_day(values: Any, unit: str, words: tuple[str, ...]) -> None:
    lattice = lattice_of({"seen": values}, 300, depth=1, n_quantiles=4, min_size=1)
    assert lattice.names == ("all rows", *(f"seen {word}" for word in words))
    assert lattice.notes[0] == f"seen is taken by {unit}"


@pytest.mark.parametrize("written", ["{}T12:00:00Z", "{} 08:30+02:00", "{}"])
@pytest.mark.parametrize("between", "-/")
def test_dates_among_other_words_are_dates(written: str, between: str) -> None:
    values = [written.format(str(day).replace("-", between)) for day in DATES]
    values[7], values[9] = "unknown", "2021-13-45"
    lattice = lattice_of({"seen": np.array(values)}, 300, depth=1, n_quantiles=4, min_size=5)
    assert lattice.names[1:4] == ("seen 2020", "seen 2021", "seen 2022")
    assert lattice.notes[:2] == (
        "seen is taken by year",
        "2 of 300 entries of seen are not dates, and stay as written",
    )


def test_what_only_looks_like_a_date_stays_text() -> None:
    values = np.array(["2021-13-45", "2021-01-02"] * 10)
    assert lattice_of({"code": values}, 20, depth=1, n_quantiles=4, min_size=1).names[1] == "code 2021-01-02"
    spans = np.repeat(np.arange(20), 5).astype("timedelta64[h]")  # of days, cut as numbers are
    found = lattice_of({"wait": spans}, 100, depth=1, n_quantiles=2, min_size=1)
    assert found.notes == ("wait is split at its quantiles: 0 to 0.375; 0.4167 to 0.7917",)


def test_blocks_and_chunks_bring_their_clusters() -> None:
    probs, labels, groups = world(n=200, shift=0.3)
    ids = np.arange(200) // 10
    settings: dict[str, Any] = {"groups": groups, "n_resamples": 39, "rng": 3}
    audited = cr.audit(probs, labels, clusters=ids, **settings)
    pieces = cr.audit(cr.scan(probs, labels, clusters=ids, chunk_rows=33), **settings)
    blocks = cr.audit(probs, labels, blocks=10, **settings)
    for other in (pieces, blocks):
        assert [group.pvalue for group in other.groups] == [group.pvalue for group in audited.groups]
    assert audited.n_clusters == 20


def test_few_clusters_cannot_tell() -> None:
    probs, labels, groups = world(n=200)
    result = cr.audit(probs, labels, groups=groups, clusters=np.arange(200) % 2, n_resamples=99, rng=0)
    assert result.smallest_pvalue == 0.5  # 2^(1 - 2): a sign and its mirror image
    assert result.pvalue >= 0.5
    assert result.verdict() == "cannot tell"


def test_sets_hold_every_truth_inside_them() -> None:
    probs, _, groups = world(n=900)
    rng = np.random.default_rng(0)
    p = probs[:, 1]
    bounds = np.clip(np.stack([p - 0.1, p + 0.1]), 0, 1)
    sets = cr.Intervals(
        np.stack([1 - bounds[1], bounds[0]], axis=1), np.stack([1 - bounds[0], bounds[1]], axis=1)
    )
    labels = (rng.random(900) < bounds[1]).astype(int)  # the upper end everywhere: still inside
    inside = cr.audit(sets, labels, groups=groups, n_resamples=199, rng=1)
    assert inside.verdict() == "no conflict found"
    assert inside.measures == ("class 1 above", "class 1 below")
    beyond = (rng.random(900) < np.clip(p + 0.3 * (groups["site"] == "A"), 0, 1)).astype(int)
    finding = cr.audit(sets, beyond, groups=groups, n_resamples=199, rng=1).findings[0]
    assert (finding.group, finding.measure) == ("site A", "class 1 above")
    assert finding.expected == pytest.approx(bounds[1][groups["site"] == "A"].mean())
    below = (rng.random(900) < np.clip(p - 0.3 * (groups["site"] == "A"), 0, 1)).astype(int)
    under = cr.audit(sets, below, groups=groups, n_resamples=199, rng=1).findings[0]
    assert (under.group, under.measure) == ("site A", "class 1 below")
    assert under.effect < 0
    assert "at least" in under.words


def test_ensembles_are_sets_where_asked() -> None:
    probs, labels, groups = world(shift=0.4)
    members = np.clip(probs[:, None, :] + np.array([[-0.05, 0.05], [0.05, -0.05]]), 0, 1)
    members /= members.sum(axis=2, keepdims=True)
    mean = cr.audit(members, labels, groups=groups, n_resamples=49, rng=1)
    sets = cr.audit(members, labels, groups=groups, n_resamples=99, hypothesis="set", rng=1)
    assert mean.measures == ("class 1",)
    assert sets.pvalue >= mean.pvalue
    with pytest.raises(cr.UnsupportedError, match="needs predictions that are sets"):
        cr.audit(probs, labels, groups=groups, hypothesis="set")
    with pytest.raises(cr.UnsupportedError, match="joint distribution of a whole cluster"):
        cr.audit(members, labels, groups=groups, hypothesis="set", clusters=np.arange(len(labels)))


def test_real_values_are_measured_by_rank_and_coverage() -> None:
    rng = np.random.default_rng(1)
    n = 800
    site = rng.choice(["A", "B"], n)
    mean = rng.normal(size=n)
    labels = mean + rng.normal(size=n) * np.where(site == "B", 2.0, 1.0)
    settings: dict[str, Any] = {"groups": {"site": site}, "n_resamples": 99, "rng": 0}
    gaussian = cr.audit(cr.Gaussian(mean, np.ones(n)), labels, **settings)
    finding = gaussian.findings[0]
    assert (finding.group, finding.measure, finding.expected) == ("site B", "coverage", pytest.approx(0.9))
    inside = np.abs(labels - mean)[site == "B"] <= 1.6448536269514722  # the 95 % quantile
    assert finding.observed == pytest.approx(inside.mean())
    rank = next(group for group in gaussian.groups if (group.group, group.measure) == ("all rows", "rank"))
    assert rank.observed == pytest.approx(float(np.mean(cr.Gaussian(mean, np.ones(n)).cdf(labels))))
    quantiles = mean[:, None] + np.array([-1.6448536269514722, 0.0, 1.6448536269514722])
    coarse = cr.audit(cr.Quantiles(quantiles, [0.05, 0.5, 0.95]), labels, **settings)
    assert coarse.findings[0].observed == pytest.approx(inside.mean())
    draws = cr.audit(cr.Samples(mean[:, None] + rng.normal(size=(n, 39))), labels, **settings)
    assert draws.findings[0].group == "site B"
    few = cr.audit(cr.Samples(mean[:, None] + rng.normal(size=(n, 3))), labels, **settings)
    assert any("coverage was skipped" in note for note in few.notes)


def test_equal_numbers_of_a_pool_share_their_middle() -> None:
    # 2 lies at place 1.5 / 4, the two 5s fill places 1 to 3 with middle 2 / 4, 9 lies at 3.5 / 4
    assert middle_ranks(np.array([[5.0, 2.0, 9.0, 5.0]])).tolist() == [[0.5, 0.125, 0.875, 0.5]]


def test_normal_scores_are_signed_roots_of_deviances() -> None:
    # a Poisson count of mean 2 with 5 events: z = 3 / sqrt 2, skewness 1 / sqrt 2
    expected = np.sqrt(2 * (5 * np.log(5 / 2) - 3))
    assert normal_scores(np.array([3 / np.sqrt(2)]), np.array([1 / np.sqrt(2)])) == pytest.approx(expected)
    # one event where 0.001 were expected is about as rare as a normal number beyond 3.1
    rare = normal_scores(np.array([0.999 / np.sqrt(0.001)]), np.array([1 / np.sqrt(0.001)]))
    assert 3.0 < rare[0] < 3.5
    z = np.linspace(-9.0, 9.0, 401)
    for skewness in (-0.8, -1e-5, 0.0, 0.3, 5.0):
        scores = normal_scores(z, np.full(401, skewness))
        assert (np.diff(scores) > 0).all()
        assert np.abs(np.diff(scores)).max() < 0.2  # no jump between the branches
        assert normal_scores(-z, np.full(401, -skewness)) == pytest.approx(-scores)  # the mirror image


@pytest.mark.parametrize("score", [2.5, -3.5])
def test_normal_scores_turn_back(score: float) -> None:
    skewness = np.array([0.0, 0.5, -0.8, 30.0])
    standard = standardised(np.array(score), skewness)
    assert normal_scores(standard, skewness) == pytest.approx(np.full(4, score))
    assert standard[0] == pytest.approx(score)


def test_a_label_that_cannot_happen_is_a_conflict() -> None:
    probs = np.tile([1.0, 0.0], (100, 1))
    labels = np.zeros(100, dtype=int)
    assert cr.audit(probs, labels, groups=np.arange(100) % 2, n_resamples=19).pvalue == 1.0
    labels[0] = 1
    audited = cr.audit(probs, labels, groups=np.arange(100) % 2, n_resamples=19)
    assert audited.pvalue == 0.05  # 1 / 20: beyond all replicates


def test_a_lattice_cuts_joins_and_names() -> None:
    age = np.arange(100.0)
    kind = np.array(["a"] * 50 + ["b"] * 47 + ["c", "d", "e"])
    seen = np.array([1.0, np.nan] * 50)
    lattice = lattice_of({"age": age, "kind": kind, "seen": seen}, 100, depth=1, n_quantiles=2, min_size=5)
    sizes = dict(zip(lattice.names, lattice.sizes.tolist(), strict=True))
    assert sizes == {
        "all rows": 100,
        "age 0 to 49": 50,
        "age 50 to 99": 50,
        "kind a": 50,
        "kind b": 47,
        "seen 1": 50,
        "seen missing": 50,
    }
    assert lattice.notes == (
        "age is split at its quantiles: 0 to 49; 50 to 99",
        "kind: 3 levels with fewer than 5 rows are merged: c, d, e",
        "seen: 50 missing entries form a level of their own",
        "1 group with fewer than 5 rows was left out",
    )
    assert (lattice.membership @ np.bincount(lattice.cells)).tolist() == lattice.sizes.tolist()


@pytest.mark.parametrize("values", [["F", "M", ""], [b"F", b"M", b""], ["F", "M", None]])
def test_empty_text_is_missing(values: list[object]) -> None:
    sex = np.array(values * 20, dtype=object if None in values else None)
    lattice = lattice_of({"sex": sex}, 60, depth=1, n_quantiles=2, min_size=5)
    assert lattice.names == ("all rows", "sex F", "sex M", "sex missing")
    one = lattice_of({"sex": sex[:3]}, 3, depth=1, n_quantiles=2, min_size=1)
    assert one.notes == ("sex: 1 missing entry forms a level of its own",)


def test_the_same_rows_are_one_group() -> None:
    lattice = lattice_of(
        {"a": np.repeat(["x", "y"], 50), "b": np.repeat(["u", "v"], 50)},
        100,
        depth=2,
        n_quantiles=4,
        min_size=1,
    )
    assert lattice.names == ("all rows", "a x", "a y", "b u", "b v")  # a x, b u has the rows of a x


def test_frames_bring_their_names_and_order() -> None:
    pandas = pytest.importorskip("pandas")
    probs, labels, groups = world(n=100)
    frame = pandas.DataFrame(groups)
    audited = cr.audit(probs, labels, groups=frame, n_resamples=19, rng=0)
    assert audited.attributes == ("sex", "site")
    names = [f"row {i}" for i in range(100)]
    predicted = pandas.DataFrame(probs, columns=["no", "yes"], index=names)
    shuffled = frame.set_axis(names).iloc[::-1]
    words = np.array(["no", "yes"])[labels]
    result = cr.audit(predicted, words, groups=shuffled, n_resamples=19, rng=0)
    assert [group.effect for group in result.groups] == pytest.approx(
        [group.effect for group in audited.groups]
    )


def test_groups_are_the_rows_of_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    probs, labels, groups = world(n=300, shift=0.4)
    result = cr.audit(probs, labels, groups=groups, n_resamples=99, rng=0)
    table = pandas.DataFrame(result.groups)
    assert table["effect"].tolist() == [group.effect for group in result.groups]
    assert result.to_dict()["type"] == "AuditResult"
    diagnosis = result.groups[0]
    assert diagnosis.low <= diagnosis.effect <= diagnosis.high
    assert 0 < diagnosis.detectable <= 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"groups": None}, "must be given unless the rows include them"),
        ({"groups": "sex"}, "must be a table, a mapping"),
        ({"groups": {}}, "must have at least one attribute"),
        ({"groups": np.zeros(3)}, r"must have one entry per prediction \(100\)"),
        ({"measures": ["rank"]}, "a measure of classes"),
        ({"measures": "confidence"}, "must be a sequence"),
        ({"measures": []}, "must name at least one"),
        ({"clusters": np.zeros(3)}, "must have one id per prediction"),
        ({"clusters": np.arange(100), "blocks": 51}, "must leave at least two blocks"),
        ({"depth": 0}, "depth"),
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, Any], words: str) -> None:
    probs, labels, groups = world(n=100)
    with pytest.raises(cr.CrediblyError, match=words):
        cr.audit(probs, labels, **({"groups": groups} | settings))


def test_weights_are_refused() -> None:
    probs, labels, groups = world(n=100)
    rows = cr.scan(probs, labels, sample_weight=np.ones(100))
    with pytest.raises(cr.UnsupportedError, match="counts every instance once"):
        cr.audit(rows, groups=groups)


def test_no_event_in_clusters_is_no_proof() -> None:
    probs = np.tile([0.985, 0.015], (200, 1))  # 3 events expected, none seen: exp(-3) = 0.05
    settings = {"groups": {"all": np.zeros(200)}, "measures": ["classes"], "rng": 0}
    clustered = cr.audit(probs, np.zeros(200, dtype=int), clusters=np.arange(200) // 10, **settings)
    assert cr.audit(probs, np.zeros(200, dtype=int), **settings).pvalue > 0.05
    assert clustered.pvalue > 0.05  # all sums are -0.15: signs alone would say 2 / 2^20


def test_what_is_off_everywhere_is_not_called_a_group() -> None:
    p = np.random.default_rng(0).random(400)
    labels = (np.random.default_rng(1).random(400) < np.clip(p + 0.2, 0, 1)).astype(int)
    probs, sex = np.stack([1 - p, p], axis=1), np.tile(["F", "M"], 200)
    audited = cr.audit(probs, labels, groups={"sex": sex}, measures=["classes"], rng=0)
    assert [finding.group for finding in audited.findings] == ["all rows"]
    assert audited.headline.startswith("The fault is the same in every group of sex (p =")
    assert cr.audit(probs, labels, groups=sex, rng=0).headline.startswith(
        "The fault is the same in every group (p ="
    )


def test_rows_in_the_order_of_cells_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a device does, done with tensors on the host: labels in order once, then one running sum."""
    torch = pytest.importorskip("torch")
    from credibly.hypotests.calibration import group_scores
    from credibly.statistics import events

    probs, labels, groups = world(n=150, shift=0.2)
    expected = cr.audit(probs, labels, groups=groups, n_resamples=19, min_size=1, rng=3)
    monkeypatch.setattr(group_scores, "on_accelerator", lambda array: True)
    monkeypatch.setattr(events, "on_accelerator", lambda array: True)
    arguments = torch.from_numpy(probs), torch.from_numpy(labels)
    audited = cr.audit(*arguments, groups=groups, n_resamples=19, min_size=1, rng=3)
    assert [group.adjusted_pvalue for group in audited.groups] == [
        group.adjusted_pvalue for group in expected.groups
    ]
    assert [group.effect for group in audited.groups] == pytest.approx(
        [group.effect for group in expected.groups]
    )


@pytest.mark.parametrize(
    "values",
    [[3, 1, 3, 7], [-5, 10**12, -5, 0], [2.5, 0.5, 2.5], ["b", "a", "b"], np.array([250, 3, 250], np.uint8)],
    ids=["small", "wide", "floats", "text", "bytes"],
)
def test_distinct_values_are_those_of_numpy(values: Any) -> None:
    from credibly.hypotests.calibration.lattice import _distinct

    for one in (np.array(values), np.array(values)[:0]):
        expected = np.unique(one, return_index=True, return_inverse=True)
        for array, numbers in zip(_distinct(one), expected, strict=True):
            assert array.tolist() == numbers.reshape(-1).tolist()


def test_two_classes_have_one_measure() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(600)
    labels = (rng.random(600) < p).astype(int)
    site = rng.choice(["A", "B"], size=600)
    probs = np.stack([1 - p, p], axis=1)
    audited = cr.audit(probs, labels, groups={"site": site}, n_resamples=99, rng=0)
    assert audited.measures == ("class 1",)
    both = cr.audit(probs, labels, groups={"site": site}, measures=["confidence"], n_resamples=99, rng=0)
    assert both.measures == ("confidence",)


def test_groups_without_common_rows_never_explain_each_other() -> None:
    """H26: "islands +6.9 points" was explained by "east -1.1 points"."""
    rng = np.random.default_rng(3)
    n = 6000
    p = rng.beta(2, 5, size=n)
    region = rng.choice(["north", "east", "south", "islands"], size=n, p=[0.4, 0.3, 0.25, 0.05])
    off = np.select([region == "islands", region == "east", region == "south"], [0.12, -0.05, 0.04], 0.0)
    labels = (rng.random(n) < np.clip(p + off, 0, 1)).astype(int)
    audited = cr.audit(np.stack([1 - p, p], axis=1), labels, groups={"region": region}, rng=0)
    assert len(audited.rejected) >= 3
    alone = {"region north", "region east", "region south", "region islands"}
    for one in audited.rejected:
        assert not {one.group, one.explained_by} <= alone  # regions share no rows


def test_a_group_that_shares_no_rows_with_a_listed_one_is_listed() -> None:
    lattice = lattice_of({"site": np.repeat(["a", "b"], 50)}, 100, depth=1, n_quantiles=4, min_size=20)
    variance = np.full((1, lattice.n_cells), 10.0)
    a, b = lattice.names.index("site a"), lattice.names.index("site b")
    whole = next(at for at, condition in enumerate(lattice.conditions) if not condition)
    assert family._nearest(0, b, [(0, a)], lattice, variance) is None
    assert family._nearest(0, b, [(0, a), (0, whole)], lattice, variance) == whole


def test_verdicts_at_a_share_of_the_level() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    site = rng.choice(["A", "B", "C"], size=2000)
    labels = (rng.random(2000) < np.where(site == "C", np.clip(p + 0.2, 0, 1), p)).astype(int)
    audited = cr.audit(np.stack([1 - p, p], axis=1), labels, groups={"site": site}, n_resamples=99, rng=0)
    assert audited.pvalue == 0.01  # 1 / 100
    assert audited.judged(0.05) is audited
    assert audited.judged(0.01).verdict() == "conflict"
    stricter = audited.judged(0.009)
    assert stricter.verdict() == "cannot tell"  # 99 replicates give nothing smaller
    assert stricter.rejected == ()
    assert {group.explained_by for group in stricter.groups} == {None}


def test_all_rows_are_not_counted_as_a_group() -> None:
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(np.ones(2), size=300)
    labels = (rng.random(300) > probs[:, 0]).astype(int)
    audited = cr.audit(probs, labels, groups={"site": np.repeat(["a", "b", "c"], 100)}, rng=0)
    assert (audited.n_groups, audited.n_parts) == (4, 3)
    assert "in 3 groups of site" in audited.headline
