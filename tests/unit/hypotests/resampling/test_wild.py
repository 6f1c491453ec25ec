"""Wild replicates of clusters against pseudo-labels written out; few clusters; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.resampling.loop import targets_of
from credibly.hypotests.resampling.requests import Request, answers
from credibly.hypotests.resampling.wild import Signs, signs
from credibly.predictions import Classes, Counts, as_rows
from credibly.statistics.terms import Terms

RNG = np.random.default_rng(5)
SIZES = [3, 1, 7, 4, 5, 2, 6, 4, 3, 5, 4, 6, 2, 8]
CODES = np.repeat(np.arange(14), SIZES)
N = CODES.size
PROBS = RNG.dirichlet(np.ones(3), size=N)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
RESIDUAL = np.eye(3)[LABELS] - PROBS
SIGNS = np.concatenate([np.ones((1, 14)), RNG.choice([-1.0, 1.0], size=(6, 14))])


def pseudo(row: np.ndarray) -> np.ndarray:
    return PROBS + row[CODES][:, None] * RESIDUAL


def wild(statistic: object, weights: np.ndarray | None = None) -> np.ndarray:
    bound = statistic.bind(PROBS)  # type: ignore[attr-defined]
    batch = Classes(LABELS[None, :], 3, None if weights is None else weights[None, :])
    return np.asarray(bound.wild_values(*bound.wild_sums(batch, CODES, 14), SIGNS))


@pytest.mark.parametrize(
    "statistic",
    [
        cr.confidence_ece,
        cr.confidence_ece.with_(p=2.0, binning="equal_mass"),
        cr.classwise_ece,
        cr.top_label_ece,
        cr.hosmer_lemeshow,
        cr.smooth_ece,
        cr.ecce,
        cr.truthful_ce,
    ],
    ids=lambda one: one.name,
)
def test_sums_of_residuals_are_those_of_pseudo_labels(statistic: object) -> None:
    """The statistic of labels p + s (e_y - p), taken as shares of raters."""
    bound = statistic.bind(PROBS)  # type: ignore[attr-defined]
    written = [float(bound(Counts(pseudo(row)[None]))[0]) for row in SIGNS]
    assert wild(statistic) == pytest.approx(written, abs=1e-12)


@pytest.mark.parametrize("statistic", [cr.accuracy, cr.brier, cr.log_loss, cr.confidence_gap])
def test_scores_are_linear(statistic: object) -> None:
    """mean over rows of <score of every label, pseudo-label>."""
    every = np.stack(
        [statistic.bind(PROBS).contributions(Classes(np.full((1, N), c), 3))[0] for c in range(3)],  # type: ignore[attr-defined]
        axis=1,
    )
    written = [np.mean(np.sum(every * pseudo(row), axis=1)) for row in SIGNS]
    assert wild(statistic) == pytest.approx(written, abs=1e-12)


def test_kernel_errors_leave_out_pairs_inside_a_cluster() -> None:
    weights = RNG.integers(1, 4, size=N).astype(float)
    bound = cr.skce.bind(PROBS)
    width = bound.statistic.bandwidth
    written = []
    for row in SIGNS:
        residual = pseudo(row) - PROBS
        total = pairs = 0.0
        for i in range(N):
            for j in range(N):
                if CODES[i] != CODES[j]:
                    near = np.exp(-np.linalg.norm(PROBS[i] - PROBS[j]) / width)
                    total += weights[i] * weights[j] * near * residual[i] @ residual[j]
                    pairs += weights[i] * weights[j]
        written.append(total / pairs)
    assert wild(cr.skce, weights) == pytest.approx(written, rel=1e-10)


@pytest.mark.parametrize("real", [False, True])
def test_tiles_of_pairs_change_nothing(real: bool) -> None:
    probs, labels, ids = (np.concatenate([one] * 4) for one in (PROBS, LABELS, CODES[::-1]))
    labels = probs[:, 2] if real else labels
    given = cr.Gaussian(probs[:, 0], 0.1 + probs[:, 1]) if real else cr.Point(probs)
    asked = {"statistics": "skce", "clusters": ids, "rng": 1, "n_resamples": 99}
    whole = cr.calibration_test(given, labels, **asked)
    with cr.memory_limit(2**20):  # 68 rows of 240 at a time
        cut = cr.calibration_test(given, labels, **asked)
    assert cut.statistic == pytest.approx(whole.statistic)
    assert cut.null_distribution == pytest.approx(whole.null_distribution)
    alone = cr.calibration_test(given, labels, statistics="skce", clusters=np.arange(4 * N), rng=1)
    assert alone.statistic == pytest.approx(float(cr.skce(given, labels)))


def test_debiased_errors_leave_out_pairs_inside_a_cluster() -> None:
    """One bin: (sum over pairs of different clusters of d_i d_j) / (n (n - 1))."""
    statistic = cr.confidence_ece.with_(n_bins=1, p=2, debiased=True)
    gap = (PROBS.argmax(axis=1) == LABELS) - PROBS.max(axis=1)
    written = []
    for row in SIGNS:
        moved = row[CODES] * gap
        own = np.bincount(CODES, moved)
        written.append((moved.sum() ** 2 - own @ own) / (N * (N - 1)))
    assert wild(statistic) == pytest.approx(written, abs=1e-12)


def test_a_quantile_error_moves_with_its_counts() -> None:
    normal = cr.Gaussian(np.zeros(N), np.ones(N))
    drawn = RNG.normal(size=N)
    error = cr.quantile_calibration_error
    result = cr.calibration_test(normal, drawn, statistics=error, clusters=CODES, rng=0)
    assert result.statistic == pytest.approx(float(error(normal, drawn)))
    assert result.n_clusters == 14
    inside = cr.calibration_test(normal, drawn, statistics="picp", clusters=CODES, rng=0)
    assert inside.statistic == pytest.approx(float(cr.picp(normal, drawn)))


@pytest.mark.parametrize("number", [6, 40])
def test_signs_have_mean_zero_and_variance_one(number: int) -> None:
    drawn = signs((1, 2), slice(0, 4000), number)
    assert np.unique(drawn).size == (6 if number < 12 else 2)
    assert abs(drawn.mean()) < 5 / np.sqrt(drawn.size)
    assert np.mean(drawn**2) == pytest.approx(1.0, abs=0.02)
    assert np.array_equal(drawn[10:20], signs((1, 2), slice(10, 20), number))


def test_one_label_for_a_whole_cluster_is_no_evidence() -> None:
    """Forty clusters of 25 copies of one row: 1000 rows that say what 40 rows say."""
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), size=40)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    many, same, ids = (np.repeat(one, 25, axis=0) for one in (probs, labels, np.arange(40)))
    assert cr.calibration_test(many, same, statistics="skce", rng=0).rejects()
    assert not cr.calibration_test(many, same, statistics="skce", clusters=ids, rng=0).rejects()


def test_a_wrong_model_is_found_in_clusters() -> None:
    sharper = PROBS**5 / (PROBS**5).sum(axis=1, keepdims=True)
    result = cr.calibration_test(sharper, LABELS, statistics="omnibus", clusters=CODES, rng=0)
    assert result.rejects()
    assert result.n_clusters == 14
    assert "clusters" in result.hypothesis


def test_five_clusters_cannot_tell() -> None:
    """The smallest p-value of signs is 2^(1 - 5) = .0625."""
    certain = np.tile([0.999, 0.0005, 0.0005], (N, 1))
    result = cr.calibration_test(certain, np.ones(N, dtype=int), clusters=CODES % 5, rng=0)
    assert result.pvalue == 0.0625
    assert result.verdict() == "cannot tell"
    assert cr.calibration_test(certain, np.ones(N, dtype=int), clusters=CODES % 6, rng=0).rejects()


def test_ids_may_be_names_in_any_order_and_chunks_may_split_them() -> None:
    names = np.array([f"patient {code}" for code in CODES])
    order = RNG.permutation(N)
    asked = {"statistics": ["brier", "confidence_ece"], "rng": 3}
    whole = cr.calibration_test(PROBS, LABELS, clusters=names, **asked)
    mixed = cr.calibration_test(PROBS[order], LABELS[order], clusters=names[order], **asked)
    assert mixed.pvalue == whole.pvalue
    data = cr.Dataset(cr.Point(PROBS), LABELS, clusters=names)
    assert cr.calibration_test(data, **asked).pvalue == whole.pvalue


def test_blocks_are_consecutive_rows_of_nearly_equal_length() -> None:
    result = cr.calibration_test(PROBS, LABELS, blocks=7, rng=1)
    assert result.n_clusters == N // 7
    same = cr.calibration_test(PROBS, LABELS, clusters=np.arange(N) * (N // 7) // N, rng=1)
    assert result.pvalue == same.pvalue


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"clusters": CODES[1:]}, "one id per prediction"),
        ({"clusters": np.zeros(N)}, "at least two different clusters"),
        ({"clusters": [None, *CODES[1:].tolist()]}, "row 0 has no id"),
        ({"clusters": CODES, "blocks": N}, "at least two blocks"),
        ({"blocks": N}, "at least two blocks"),
        ({"blocks": 2.5}, "whole number"),
        ({"clusters": CODES, "statistics": "kl_ce"}, "linear or quadratic"),
    ],
    ids=str,
)
def test_bad_clusters(given: dict[str, object], match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        cr.calibration_test(PROBS, LABELS, **given)


def test_an_impossible_label_is_refused_by_the_log_loss() -> None:
    probs = PROBS.copy()
    probs[0] = [0.0, 0.5, 0.5]
    labels = LABELS.copy()
    labels[0] = 0
    with pytest.raises(cr.UnsupportedError, match="probability of 0"):
        cr.calibration_test(probs, labels, statistics="log_loss", clusters=CODES)


@pytest.mark.parametrize("statistic", [cr.brier, cr.confidence_ece, cr.hosmer_lemeshow])
def test_a_member_has_residuals_of_its_own(statistic: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statistic of labels p_j + s (e_y - p_j), taken as shares of raters; the observation comes first."""
    monkeypatch.setattr(Terms, "widened_states", lambda self, expected, added: (expected, added))
    other = RNG.dirichlet(np.ones(3), size=N)
    data = cr.Dataset(cr.Ensemble(np.stack([PROBS, other], axis=1)), LABELS, clusters=CODES)
    members, rows = np.array([1, 0, 1]), as_rows(data)
    targets = targets_of([statistic], rows)  # type: ignore[list-item]
    ((((found,),),)) = answers([Request(targets, rows, [Signs((3, 4), members)], 3)])
    bound = statistic.bind(data.predictions)  # type: ignore[attr-defined]
    assert found.values[0] == pytest.approx(float(bound(Classes(LABELS[None, :], 3))[0]))
    for drawn, member, value in zip(signs((3, 4), slice(0, 3), 14), members, found.values[1:], strict=True):
        own = data.predictions.probs[:, member]
        shares = own + drawn[CODES][:, None] * (np.eye(3)[LABELS] - own)
        if statistic is cr.brier:  # shares below 0 count too: every score is linear in them
            table = [bound.contributions(Classes(np.full((1, N), c), 3))[0] for c in range(3)]
            written = float(np.mean(np.sum(np.stack(table, axis=1) * shares, axis=1)))
        else:
            written = float(bound(Counts(shares[None]))[0])
        assert value == pytest.approx(written, abs=1e-12)


def test_no_event_of_a_few_expected_ones_is_no_certainty() -> None:
    """Residuals -p of 40 clusters are alike: signed sums scatter by far less than labels, sum p (1 - p)."""
    p = np.full(200, 0.03)
    bound = cr.accuracy.bind(np.stack([1 - p, p], axis=1))
    batch, codes = Classes(np.zeros((1, 200), dtype=int), 2), np.arange(200) // 5
    expected, added = bound.wild_sums(batch, codes, 40)
    _, wider = bound.widened_states(expected, added)
    assert added["observed"][:, 0] == pytest.approx(np.full(40, 5 * 0.03))
    assert np.sum(wider["observed"] ** 2) == pytest.approx(200 * 0.03 * 0.97)
    batch = Classes(np.repeat(np.arange(40) % 2, 5)[None], 2)  # clusters of one label: more than independent
    expected, added = bound.wild_sums(batch, codes, 40)
    assert bound.widened_states(expected, added)[1]["observed"] == pytest.approx(added["observed"])


def test_walks_scatter_no_less_than_independent_rows_would() -> None:
    p = np.full(200, 0.03)
    bound = cr.ecce.bind(np.stack([1 - p, p], axis=1))
    batch, codes = Classes(np.zeros((1, 200), dtype=int), 2), np.arange(200) // 5
    expected, added = bound.wild_sums(batch, codes, 40)
    wider, _ = bound.widened_states(expected, added)
    for steps, own in zip(wider["steps"], added["codes"], strict=True):
        assert np.sum(np.bincount(own, steps) ** 2) == pytest.approx(200 * 0.03 * 0.97 / 200**2)
