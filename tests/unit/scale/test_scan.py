"""Rows in chunks give the numbers of all rows at once, wherever they are read."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.errors import FileError, InputError, InputTypeError
from credibly._arrays.order_statistics import order_statistics
from credibly.credal.means import MeasuresTask
from credibly.predictions.passes import leaf_rows, one_pass
from credibly.statistics.over_rows import StatisticsTask

N, M, K = 600, 3, 4
SUMS = [
    cr.accuracy,
    cr.brier,
    cr.log_loss,
    cr.confidence_ece,
    cr.confidence_ece.with_(p=2, debiased=True),
    cr.classwise_ece.with_(binning="equal_mass"),
    cr.classwise_ece.with_(binning="equal_mass", closed="right"),
    cr.top_label_ece,
    cr.hosmer_lemeshow,
    cr.hosmer_lemeshow.with_(grouping="confidence"),
]


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.dirichlet(np.ones(K), size=(N, M)), rng.integers(K, size=N)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", SUMS, ids=[f"{place}-{one.name}" for place, one in enumerate(SUMS)])
@pytest.mark.parametrize("rows", [N, 91, 6])
def test_chunks_give_the_number_of_all_rows(data, statistic, rows) -> None:
    probs, labels = data
    whole = statistic(cr.Ensemble(probs), labels)
    cut = statistic(cr.scan(probs, labels, chunk_rows=rows))
    assert cut.value == pytest.approx(whole.value, rel=1e-12)
    assert (cut.n, cut.settings, cut.notes) == (whole.n, whole.settings, whole.notes)
    if cut.stderr is not None:
        assert cut.stderr == pytest.approx(whole.stderr, rel=1e-10)
        assert cut.interval() == pytest.approx(whole.interval(), rel=1e-10)
    elif whole.stderr is None:
        assert cut.interval_refusal == whole.interval_refusal
    else:
        assert "in memory" in cut.interval_refusal


@pytest.mark.slow
def test_chunks_of_whole_leaves_change_no_bit(monkeypatch, data) -> None:
    probs, labels = data
    monkeypatch.setattr("credibly.predictions.passes._LEAF_ELEMENTS", 2**7)  # leaves of 32 rows of 4 classes
    assert leaf_rows(cr.scan(probs, labels).example) == 32

    def numbers(rows: int) -> list[float]:
        source = cr.scan(probs, labels, chunk_rows=rows)
        tasks = [StatisticsTask.of(SUMS[:4], source), MeasuresTask.of(cr.uncertainty, source)]
        found = [one for part in one_pass(source, tasks) for one in part.values()]
        assert len(found) == 7
        return [number for estimate in found for number in (estimate.value, estimate.stderr)]

    whole = numbers(N)
    for rows in (32, 64, 96, 320):
        assert numbers(rows) == whole
    np.testing.assert_allclose(numbers(50)[::2], whole[::2], rtol=1e-12)


def test_replicates_of_whole_leaves_change_no_bit(monkeypatch, data) -> None:
    probs, labels = data
    monkeypatch.setattr("credibly.predictions.passes._LEAF_ELEMENTS", 2**7)
    found = [
        cr.calibration_test(
            cr.scan(probs, labels, chunk_rows=rows), statistics="brier", n_resamples=19, rng=3
        ).null_distribution
        for rows in (N, 32, 160)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_chunks_end_where_leaves_end_unless_told_otherwise() -> None:
    for shape in ((50_000, 10), (40_000, 7, 3), (3000, 30, 200), (40, 5, 50_000)):
        array = np.full(shape, 1 / shape[-1], dtype=np.float32)
        source = cr.scan(array, np.zeros(shape[0], dtype=int), member_axis=1 if len(shape) == 3 else None)
        leaf = leaf_rows(source.example)
        assert {piece.start % leaf for piece in source.pieces} == {0}


def test_weights_and_counts_come_along(data) -> None:
    probs, labels = data
    weights = np.random.default_rng(0).exponential(size=N)
    weights[:5] = 0
    whole = cr.log_loss(probs, labels, sample_weight=weights)
    cut = cr.log_loss(cr.scan(probs, labels, sample_weight=weights, chunk_rows=77))
    assert cut.value == pytest.approx(whole.value, rel=1e-12)
    assert cut.stderr == pytest.approx(whole.stderr, rel=1e-10)
    counts = cr.LabelCounts(np.random.default_rng(1).multinomial(4, np.full(K, 1 / K), size=N))
    whole = cr.brier(probs, counts)
    cut = cr.brier(cr.scan(probs, counts, chunk_rows=77))
    assert cut.value == pytest.approx(whole.value, rel=1e-12)
    assert cut.notes == whole.notes


@pytest.mark.parametrize("binning", ["equal_width", "equal_mass"])
def test_a_chunk_of_rows_that_do_not_count_changes_nothing(data, binning) -> None:
    probs, labels = data
    weight = np.linspace(0, 2, N)
    weight[200:300] = 0
    source = cr.scan(probs, labels, sample_weight=weight, chunk_rows=100)
    for statistic in (cr.brier, cr.classwise_ece.with_(binning=binning), cr.skce):
        whole = statistic(cr.Ensemble(probs), labels, sample_weight=weight)
        assert statistic(source).value == pytest.approx(whole.value, rel=1e-12)
    counts = cr.LabelCounts(np.eye(K, dtype=int)[labels] + 1)
    parts = cr.raters.decompose_loss(
        cr.scan(probs, counts, sample_weight=weight, chunk_rows=100), binning=binning
    )
    whole = cr.raters.decompose_loss(cr.Ensemble(probs), counts, sample_weight=weight, binning=binning)
    assert parts.calibration.value == pytest.approx(whole.calibration.value, rel=1e-10)


def test_parts_are_rows_one_after_the_other(data) -> None:
    probs, labels = data
    weight = np.linspace(0.5, 2, N)
    cuts = (slice(0, 10), slice(10, 11), slice(11, N))
    source = cr.scan([(probs[rows], labels[rows]) for rows in cuts], chunk_rows=100, groups=np.arange(N) % 2)
    assert source.lengths == (10, 1, *[100] * 5, 89)
    assert float(cr.brier(source)) == pytest.approx(float(cr.brier(cr.Ensemble(probs), labels)), rel=1e-12)
    rows = source.take(np.array([9, 10, 11, 599]))
    assert rows.groups.tolist() == [1, 0, 1, 1]
    assert np.array_equal(rows.observed, labels[[9, 10, 11, 599]])
    weighed = cr.scan([(probs[rows], labels[rows], weight[rows]) for rows in cuts])
    whole = cr.brier(cr.Ensemble(probs), labels, sample_weight=weight)
    assert float(cr.brier(weighed)) == pytest.approx(float(whole), rel=1e-12)


def test_nested_tuples_with_labels_are_numbers() -> None:
    assert cr.scan([(0.2, 0.8), (0.3, 0.7)], [0, 1]).n == 2


def test_infinite_losses_are_counted_over_all_chunks() -> None:
    probs = np.tile([[1.0, 0.0]], (40, 1))
    labels = np.arange(40) % 2
    cut = cr.log_loss(cr.scan(probs, labels, chunk_rows=7))
    whole = cr.log_loss(probs, labels)
    assert cut.value == whole.value == np.inf
    assert cut.notes == whole.notes
    assert "20 of 40" in cut.notes[-1]


@pytest.mark.slow
def test_a_test_draws_the_same_labels_in_any_chunks(data) -> None:
    probs, labels = data
    family = ("confidence_ece", "log_loss", "hosmer_lemeshow", "accuracy")
    whole = cr.calibration_test(probs, labels, statistics=family, n_resamples=49, rng=3)
    for rows in (600, 91, 6):
        cut = cr.calibration_test(
            cr.scan(probs, labels, chunk_rows=rows), statistics=family, n_resamples=49, rng=3
        )
        assert cut.pvalue == whole.pvalue
        for name in family:
            np.testing.assert_allclose(
                cut.components[name].null_distribution, whole.components[name].null_distribution, rtol=1e-12
            )


def test_replicates_go_in_batches_where_memory_is_short(data) -> None:
    probs, labels = data
    whole = cr.calibration_test(probs, labels, statistics="classwise_ece", n_resamples=999, rng=3)
    steps = []
    with cr.memory_limit(2**20):
        cut = cr.calibration_test(
            cr.scan(probs, labels, chunk_rows=200),
            statistics="classwise_ece",
            n_resamples=999,
            rng=3,
            progress=lambda done, total: steps.append(done),
        )
    np.testing.assert_allclose(cut.null_distribution, whole.null_distribution, rtol=1e-12)
    assert steps == sorted(steps)
    assert steps[-1] == 999
    assert len(steps) > 3  # more than one batch over three chunks


def test_pairs_of_instances_meet_although_they_were_cut(data) -> None:
    probs, labels = data
    cut = cr.calibration_test(
        cr.scan(probs, labels, chunk_rows=100), statistics="omnibus", n_resamples=19, rng=0
    )
    whole = cr.calibration_test(cr.Ensemble(probs), labels, statistics="omnibus", n_resamples=19, rng=0)
    assert cut.pvalue == whole.pvalue
    assert float(cr.skce(cr.scan(probs, labels, chunk_rows=100))) == float(
        cr.skce(cr.Ensemble(probs), labels)
    )


def test_files_maps_and_shards(data, tmp_path) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    probs, labels = data
    whole = float(cr.brier(cr.Ensemble(probs), labels))
    for place, rows in enumerate(np.array_split(np.arange(N), 5)):
        cr.save(tmp_path / f"shard{place}.npz", cr.Ensemble(probs[rows]), labels[rows])
        cr.save(tmp_path / f"shard{place}.parquet", cr.Ensemble(probs[rows]), labels[rows])
    for pattern in ("*.npz", "*.parquet"):
        scanned = cr.scan(str(tmp_path / pattern))
        assert len(scanned) == N
        assert float(cr.brier(scanned)) == pytest.approx(whole, rel=1e-12)
    np.save(tmp_path / "members_first.npy", np.ascontiguousarray(probs.transpose(1, 0, 2)))
    np.save(tmp_path / "labels.npy", labels)
    mapped = cr.scan(tmp_path / "members_first.npy", tmp_path / "labels.npy", member_axis=0, chunk_rows=100)
    assert len(mapped.pieces) == 6
    assert float(cr.brier(mapped)) == pytest.approx(whole, rel=1e-12)
    opened = np.load(tmp_path / "members_first.npy", mmap_mode="r")
    assert float(cr.brier(cr.scan(opened, labels, member_axis=0))) == pytest.approx(whole, rel=1e-12)


def test_labels_are_an_array_of_every_file_where_a_word_names_them(data, tmp_path) -> None:
    probs, labels = data
    for place, rows in enumerate(np.array_split(np.arange(N), 2)):
        np.savez(tmp_path / f"{place}.npz", probs=probs[rows, 0], y=0 * labels[rows], second=labels[rows])
    scanned = cr.scan(str(tmp_path / "*.npz"), "second")
    assert float(cr.brier(scanned)) == pytest.approx(float(cr.brier(probs[:, 0], labels)), rel=1e-12)
    with pytest.raises(InputError, match=r"0\.npz.*third|third.*0\.npz|there is no file 'third'"):
        cr.scan(str(tmp_path / "*.npz"), "third")


def test_a_corrupt_shard_is_named_or_left_out_on_purpose(data, tmp_path) -> None:
    probs, labels = data
    for place, rows in enumerate(np.array_split(np.arange(N), 3)):
        cr.save(tmp_path / f"{place}.npz", cr.Point(probs[rows, 0]), labels[rows])
    (tmp_path / "1.npz").write_bytes((tmp_path / "1.npz").read_bytes()[:300])
    with pytest.raises(FileError, match=r"1\.npz"):
        cr.scan(str(tmp_path / "*.npz"))
    kept = cr.scan(str(tmp_path / "*.npz"), skip_bad_shards=True)
    assert len(kept) == 400
    assert kept.notes[0] == "1 of 3 files were left out on request"
    assert "1.npz" in kept.notes[1]
    rows = np.r_[0:200, 400:600]
    assert float(cr.brier(kept)) == pytest.approx(float(cr.brier(probs[rows, 0], labels[rows])), rel=1e-12)


def test_shards_of_other_shape_and_short_labels_are_refused(data, tmp_path) -> None:
    probs, labels = data
    cr.save(tmp_path / "a.npz", cr.Point(probs[:10, 0]), labels[:10])
    cr.save(tmp_path / "b.npz", cr.Point(np.full((5, 2), 0.5)), [0, 1, 0, 1, 0])
    with pytest.raises(InputError, match=r"b\.npz.*must be like the first chunk.*k=4.*got.*k=2"):
        cr.brier(cr.scan([tmp_path / "a.npz", tmp_path / "b.npz"]))
    np.save(tmp_path / "p.npy", probs[:, 0])
    np.save(tmp_path / "y.npy", labels[:-1])
    with pytest.raises(InputError, match=r"y\.npy.*one entry per prediction.*\(600\).*got 599"):
        cr.scan(tmp_path / "p.npy", tmp_path / "y.npy")
    with pytest.raises(InputError, match="one entry per prediction"):
        cr.scan(probs, labels[:-1])


def test_bad_rows_are_found_where_they_are(data) -> None:
    probs, labels = data
    broken = probs[:, 0].copy()
    broken[333] = 7.0
    with pytest.raises(
        InputError, match=r"rows 300 to 399.*row 33 .*row 333 of all.*skip_bad_shards"
    ) as caught:
        cr.brier(cr.scan(broken, labels, chunk_rows=100))
    assert "drop_invalid" not in str(caught.value)  # which `scan` does not have


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda p, y: cr.scan(p), InputError, "labels"),
        (lambda p, y: cr.scan(p, y, chunk_rows=0), InputError, "chunk_rows"),
        (lambda p, y: cr.scan(p, y, engine="ray"), InputTypeError, "engine"),
        (lambda p, y: cr.scan("nothing/*.npz"), FileError, "matches none"),
        (lambda p, y: cr.scan([]), InputError, "predictions"),
        (lambda p, y: cr.brier(cr.scan(p, y), y), InputError, "come with the chunks"),
        (lambda p, y: cr.scan(p[:3], y[:3]), InputError, "member_axis=0"),
        (lambda p, y: cr.scan(p[:0], y[:0]), InputError, "at least one row; got shape"),
        (lambda p, y: cr.scan(np.float64(1), y), InputError, r"at least one row; got shape \(\)"),
        (lambda p, y: cr.scan(cr.scan(p, y)), InputTypeError, "got rows in chunks"),
        (lambda p, y: cr.scan(p, y, sample_weight=0.0 * y), InputError, "all are 0"),
        (lambda p, y: cr.scan([(p, y), (p, y, y + 1)]), InputError, "1 of 2 have it"),
        (lambda p, y: cr.scan([(p, y), (p, y[:9])]), InputError, r"per prediction \(600\); got 9"),
        (lambda p, y: cr.brier(cr.scan([(p, y), (p[:, 0], y)])), InputError, "like the first chunk"),
    ],
)
def test_refused_sources(data, call, error, said) -> None:
    with pytest.raises(error, match=said):
        call(*data)


@pytest.mark.parametrize("collected", [2**22, 40, 0])
def test_order_statistics_are_those_of_a_sort(monkeypatch, collected) -> None:
    monkeypatch.setattr("credibly._arrays.order_statistics._MOST_COLLECTED", collected)
    rng = np.random.default_rng(0)
    for values in (
        rng.random((500, 3)),
        rng.integers(0, 4, (300, 2)) / 4.0,
        rng.normal(size=(200, 1)),
        np.full((10, 1), 0.3),
        1 - 1e-14 * rng.random((400, 2)),
    ):
        ranks = np.unique(rng.integers(0, len(values), 5))
        found = order_statistics(
            lambda use, parts=values: (use(part) for part in np.array_split(parts, 7)),
            ranks,
            values.shape[1],
        )
        np.testing.assert_array_equal(found, np.sort(values, axis=0)[ranks].T)


@pytest.mark.parametrize("binning", ["equal_width", "equal_mass"])
def test_decompositions_over_raters(data, binning) -> None:
    probs, _ = data
    counts = np.random.default_rng(1).multinomial(4, np.full(K, 1 / K), size=N)
    counts[7] = [1, 0, 0, 0]
    label_counts = cr.LabelCounts(counts)
    for decompose, terms in (
        (cr.raters.decompose_loss, ("expected", "epistemic", "calibration", "dispersion")),
        (cr.raters.decompose_disagreement, ("expected", "calibration", "predicted", "observed")),
    ):
        with pytest.warns(UserWarning, match="1 of 600"):
            whole = decompose(probs, label_counts, binning=binning)
        with pytest.warns(UserWarning, match="1 of 600"):
            cut = decompose(cr.scan(probs, label_counts, chunk_rows=91), binning=binning)
        assert (cut.n, cut.n_left_out, cut.notes) == (whole.n, whole.n_left_out, whole.notes)
        for term in terms:
            estimate, other = getattr(cut, term), getattr(whole, term)
            assert estimate.value == pytest.approx(other.value, rel=1e-10, abs=1e-13)
            assert estimate.stderr == pytest.approx(other.stderr, rel=1e-9)
    with pytest.raises(InputTypeError, match="LabelCounts"):
        cr.raters.decompose_loss(cr.scan(probs, np.zeros(N, dtype=int)))


@pytest.mark.parametrize("members", [1, 3])
def test_real_values_in_chunks(members) -> None:
    rng = np.random.default_rng(0)
    shape = (N,) if members == 1 else (N, members)
    gaussian = cr.Gaussian(rng.normal(size=shape), rng.uniform(0.5, 2, size=shape))
    labels = rng.normal(size=N)
    source = cr.scan(gaussian, labels, chunk_rows=91)
    for statistic in (cr.crps, cr.rmse, cr.picp, cr.quantile_calibration_error, cr.gaussian_log_loss):
        whole, cut = statistic(gaussian, labels), statistic(source)
        assert cut.value == pytest.approx(whole.value, rel=1e-12)
        assert cut.stderr == (None if whole.stderr is None else pytest.approx(whole.stderr, rel=1e-10))
    whole = cr.calibration_test(gaussian, labels, statistics=("crps", "picp"), n_resamples=29, rng=2)
    cut = cr.calibration_test(source, statistics=("crps", "picp"), n_resamples=29, rng=2)
    assert cut.pvalue == whole.pvalue
