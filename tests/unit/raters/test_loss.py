"""`decompose_loss` against enumeration over raters and pairs of instances, written from D21."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibly as cr
import strategies
from credibly_studies import d21
from libraries import Library

TERMS = ("expected", "epistemic", "irreducible", "calibration", "dispersion", "refinement")


def example(n: int = 40, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), size=n)
    return probs, rng.multinomial(rng.integers(2, 6, size=n), rng.dirichlet(np.ones(k), size=n))


def raters(row: np.ndarray) -> np.ndarray:
    """The labels of the raters of one instance as one-hot rows."""
    return np.eye(len(row))[np.repeat(np.arange(len(row)), row)]


def enumerated(probs: np.ndarray, counts: np.ndarray, weight: np.ndarray, n_bins: int) -> dict[str, float]:
    """All terms by loops over raters, pairs of raters, and pairs of instances in a bin."""
    expected, epistemic, irreducible = [], [], []
    for z, row in zip(probs, counts, strict=True):
        labels = raters(row)
        expected.append(np.mean([((label - z) ** 2).sum() for label in labels]))
        pairs = list(itertools.permutations(labels, 2))
        epistemic.append(np.mean([(a - z) @ (b - z) for a, b in pairs]))
        irreducible.append(np.mean([(a != b).any() for a, b in pairs]))
    deviation = counts / counts.sum(axis=1, keepdims=True) - probs
    calibration = 0.0
    for c in range(probs.shape[1]):
        bins = np.minimum(np.floor(probs[:, c] * n_bins), n_bins - 1)
        for b in range(n_bins):
            inside = np.flatnonzero(bins == b)
            pairs = [
                (weight[i] * weight[j], deviation[i, c] * deviation[j, c])
                for i, j in itertools.permutations(inside, 2)
            ]
            if pairs:
                mean = sum(w * d for w, d in pairs) / sum(w for w, _ in pairs)
                calibration += weight[inside].sum() / weight.sum() * mean
    loss, noise, irreducible_loss = (
        float(np.average(part, weights=weight)) for part in (expected, epistemic, irreducible)
    )
    return {
        "expected": loss,
        "epistemic": noise,
        "irreducible": irreducible_loss,
        "calibration": calibration,
        "dispersion": noise - calibration,
        "refinement": loss - calibration,
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_bins", [1, 4, 15])
def test_all_terms_against_enumeration(n_bins: int, weighted: bool) -> None:
    probs, counts = example()
    weight = np.random.default_rng(1).random(40) * 3 if weighted else None
    parts = cr.raters.decompose_loss(probs, cr.LabelCounts(counts), n_bins=n_bins, sample_weight=weight)
    slow = enumerated(probs, counts, np.ones(40) if weight is None else weight, n_bins)
    for name in TERMS:
        assert getattr(parts, name).value == pytest.approx(slow[name], abs=1e-13), name


def test_by_hand() -> None:
    counts = cr.LabelCounts([[3, 1], [0, 4]])
    parts = cr.raters.decompose_loss([[0.5, 0.5], [0.4, 0.6]], counts, n_bins=1)
    # L: 2 (1/4 of (1/2)^2 ... ) = |e_y - z|^2 is 0.5 for every rater of row 0; 2 * 0.4^2 = 0.32 in row 1
    assert parts.expected.value == pytest.approx((0.5 + 0.32) / 2)
    # IL: 3 of the 6 pairs of row 0 differ, none in row 1
    assert parts.irreducible.value == pytest.approx((0.5 + 0.0) / 2)
    assert parts.epistemic.value == pytest.approx(0.41 - 0.25)
    # deviations of class 0: 0.75 - 0.5 = 0.25 and 0 - 0.4 = -0.4; both classes give the same product
    assert parts.calibration.value == pytest.approx(2 * 0.25 * -0.4)
    assert parts.plugin.calibration.value == pytest.approx(2 * ((0.25 - 0.4) / 2) ** 2)
    assert parts.plugin.epistemic.value == pytest.approx((2 * 0.25**2 + 2 * 0.4**2) / 2)
    assert parts.plugin.irreducible.value == pytest.approx((2 * 0.75 * 0.25 + 0.0) / 2)
    # a negative calibration loss is reported with its sign, and so is its root
    assert parts.calibration_error.value == pytest.approx(-(0.2**0.5))
    assert parts.calibration_error.value < 0
    assert "below zero" in str(parts.calibration_error)
    for term in (parts.calibration, parts.calibration_error):  # two bins that mirror each other
        with pytest.raises(cr.UnsupportedError, match="fewer than 5 non-empty bins contribute"):
            term.interval()


@pytest.mark.slow
@given(strategies.points(n=9), st.integers(0, 2**32 - 1), st.booleans())
def test_identities_hold_exactly(point: cr.Point, seed: int, printed: bool) -> None:
    rng = np.random.default_rng(seed)
    totals = rng.integers(2, 5, size=9)
    counts = rng.multinomial(totals, rng.dirichlet(np.ones(point.n_classes), size=9))
    decompose = d21.decompose_loss if printed else cr.raters.decompose_loss
    parts = decompose(point, cr.LabelCounts(counts), n_bins=5)
    for part in (parts, parts.plugin, parts.per_class):
        value = {name: np.asarray(getattr(part, name).value) for name in TERMS}
        assert np.allclose(value["expected"], value["epistemic"] + value["irreducible"], atol=1e-14)
        assert np.allclose(value["epistemic"], value["calibration"] + value["dispersion"], atol=1e-14)
        assert np.allclose(value["expected"], value["calibration"] + value["refinement"], atol=1e-14)
        assert np.allclose(value["refinement"], value["dispersion"] + value["irreducible"], atol=1e-14)
    for name in TERMS:
        per_class = getattr(parts.per_class, name)
        assert per_class.value.sum() == pytest.approx(getattr(parts, name).value, abs=1e-13)


def test_standard_errors_against_their_definition() -> None:
    """Each term's standard error is that of the mean of its contributions, row left out of its own bin."""
    probs, counts = example(n=30)
    parts = cr.raters.decompose_loss(probs, cr.LabelCounts(counts), n_bins=2)
    n = counts.sum(axis=1, keepdims=True)
    mu = counts / n
    d = mu - probs
    bins = np.minimum((probs * 2).astype(int), 1)
    h = np.zeros_like(probs)
    for i, c in np.ndindex(*probs.shape):
        same = np.flatnonzero(bins[:, c] == bins[i, c])
        others = same[same != i]
        if others.size:
            pairs = [d[a, c] * d[b, c] for a, b in itertools.permutations(same, 2)]
            h[i, c] = 2 * d[i, c] * d[others, c].mean() - np.mean(pairs)
    irreducible = n / (n - 1) * mu * (1 - mu)
    expected = (mu - probs) ** 2 + mu * (1 - mu)
    epistemic = expected - irreducible
    rows = {
        "expected": expected,
        "epistemic": epistemic,
        "irreducible": irreducible,
        "calibration": h,
        "dispersion": epistemic - h,
        "refinement": expected - h,
    }
    # 2 (m / N)^2 sigma^4 / (m (m - 1)): what a cell without any gap would show
    floor = np.zeros((3, 2))
    for c, b in np.ndindex(3, 2):
        array = d[bins[:, c] == b, c]
        floor[c, b] = 2 * (array.size / 30) ** 2 * array.var(ddof=1) ** 2 / (array.size * (array.size - 1))

    def error(values: np.ndarray, of_h: np.ndarray, least: float) -> float:
        lacking = max(0.0, least - of_h.var(ddof=1) / 30) if calibrates else 0.0
        return (values.var(ddof=1) / 30 + lacking) ** 0.5

    for name, values in rows.items():
        calibrates = name in ("calibration", "dispersion", "refinement")
        total = error(values.sum(axis=1), h.sum(axis=1), 1.5 * floor.sum())
        assert getattr(parts, name).stderr == pytest.approx(total, rel=1e-10), name
        for c in range(3):
            array = error(values[:, c], h[:, c], floor[c].sum())
            assert getattr(parts.per_class, name)[c].stderr == pytest.approx(array)
    # h averages to the debiased loss, so the interval is centred where it should be
    assert parts.calibration.value == pytest.approx(h.sum(axis=1).mean(), abs=1e-13)


def test_intervals() -> None:
    probs, counts = example(n=200)
    parts = cr.raters.decompose_loss(probs, cr.LabelCounts(counts))
    low, high = parts.calibration.interval(0.9)
    assert low > 0  # the truth has nothing to do with these predictions
    assert parts.calibration_error.interval(0.9) == pytest.approx((low**0.5, high**0.5))
    assert (high - low) / 2 == pytest.approx(1.6448536 * parts.calibration.stderr)  # z of 95 %
    ends = parts.per_class.dispersion.interval(0.9)
    assert parts.per_class.dispersion[2].interval(0.9) == pytest.approx((ends[0][2], ends[1][2]))


def test_classes_with_few_bins_have_no_interval_of_their_calibration() -> None:
    probs, counts = example(n=200)
    probs = np.stack([np.full(200, 0.3), 0.7 * probs[:, 0], 0.7 * (1 - probs[:, 0])], axis=1)
    calibration = cr.raters.decompose_loss(probs, cr.LabelCounts(counts)).per_class.calibration
    low, high = calibration.interval()
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, False, False]
    assert calibration[1].interval() == pytest.approx((low[1], high[1]))
    with pytest.raises(cr.UnsupportedError, match="fewer than 5 non-empty bins contribute"):
        calibration[0].interval()


def test_weights_are_relative_and_zero_is_absence() -> None:
    probs, counts = example()
    labels = cr.LabelCounts(counts)
    plain = cr.raters.decompose_loss(probs, labels, n_bins=4)
    scaled = cr.raters.decompose_loss(probs, labels, n_bins=4, sample_weight=np.full(40, 7.0))
    weight = np.ones(40)
    weight[5:9] = 0.0
    zero = cr.raters.decompose_loss(probs, labels, n_bins=4, sample_weight=weight)
    kept = np.flatnonzero(weight)
    dropped = cr.raters.decompose_loss(probs[kept], cr.LabelCounts(counts[kept]), n_bins=4)
    for name in TERMS:
        for first, second in ((plain, scaled), (zero, dropped)):
            assert getattr(first, name).value == pytest.approx(getattr(second, name).value, abs=1e-13)
            assert getattr(first, name).stderr == pytest.approx(getattr(second, name).stderr, rel=1e-9)
    assert zero.bins.count.sum() == 3 * 36


def test_every_label_counts_once_with_rater_weights() -> None:
    probs, counts = example()
    labels = cr.LabelCounts(counts)
    parts = cr.raters.decompose_loss(probs, labels, sample_weight=labels.totals)
    single = np.concatenate([np.repeat(np.arange(3), row) for row in counts])
    rows = np.repeat(np.arange(40), counts.sum(axis=1))
    assert parts.expected.value == pytest.approx(float(cr.brier(probs[rows], single)), abs=1e-13)


def test_bins_of_one_instance_add_nothing_to_the_debiased_loss() -> None:
    probs = np.array([[0.05, 0.95], [0.35, 0.65], [0.65, 0.35]])  # each alone in its bin of 10
    parts = cr.raters.decompose_loss(probs, cr.LabelCounts([[2, 1], [0, 3], [1, 2]]), n_bins=10)
    assert parts.calibration.value == 0.0
    assert parts.dispersion.value == parts.epistemic.value
    assert parts.plugin.calibration.value > 0.01
    assert (parts.bins.count <= 1).all()


def test_rows_with_one_rater_are_left_out_and_counted() -> None:
    probs, counts = example()
    counts[3], counts[17] = [1, 0, 0], [0, 0, 1]
    with pytest.warns(UserWarning, match=r"2 of 40 rows have fewer than 2 raters"):
        parts = cr.raters.decompose_loss(probs, cr.LabelCounts(counts), n_bins=4)
    kept = np.setdiff1d(np.arange(40), [3, 17])
    rest = cr.raters.decompose_loss(probs[kept], cr.LabelCounts(counts[kept]), n_bins=4)
    assert (parts.n, parts.n_left_out, rest.n_left_out) == (38, 2, 0)
    assert any("2 of 40 rows" in note for note in parts.notes)
    for name in TERMS:
        assert getattr(parts, name).value == pytest.approx(getattr(rest, name).value, abs=1e-14)
        assert getattr(parts, name).stderr == pytest.approx(getattr(rest, name).stderr)
    # one label is enough for the expected and the calibration loss
    mu = counts / counts.sum(axis=1, keepdims=True)
    loss = (mu - 2 * mu * probs + probs**2).sum(axis=1)
    assert parts.all_rows["expected"].value == pytest.approx(loss.mean())
    assert parts.all_rows["expected"].stderr == pytest.approx(loss.std(ddof=1) / 40**0.5)
    all_calibration = cr.decompose_brier(probs, cr.LabelCounts(counts), n_bins=4).calibration.value
    assert parts.all_rows["calibration"].value == pytest.approx(all_calibration, abs=1e-13)
    assert rest.all_rows["expected"].value == rest.expected.value


def test_one_instance_has_values_but_no_errors() -> None:
    parts = cr.raters.decompose_loss([[0.7, 0.3]], cr.LabelCounts([[2, 1]]))
    assert parts.expected.value == pytest.approx(2 / 3 * 0.18 + 1 / 3 * 0.98)
    assert parts.expected.stderr is None
    with pytest.raises(cr.UnsupportedError, match="one instance has no standard error"):
        parts.expected.interval()
    with pytest.raises(cr.UnsupportedError, match="one instance"):
        parts.per_class.expected.interval()


@pytest.mark.parametrize("name", [name for name in TERMS if name != "expected"])
def test_plug_in_terms_have_no_interval(name: str) -> None:
    probs, counts = example()
    parts = cr.raters.decompose_loss(probs, cr.LabelCounts(counts))
    with pytest.raises(cr.UnsupportedError, match="biased by the noise of few raters"):
        getattr(parts.plugin, name).interval()
    assert parts.plugin.expected.value == parts.expected.value
    parts.plugin.expected.interval()


@pytest.mark.parametrize("binning", ["equal_width", "equal_mass"])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_chunks_give_what_all_rows_give(binning: str, closed: str) -> None:
    probs, counts = example(n=60)
    counts[10:20] = 0
    counts[10:20, 1] = 1  # a whole chunk without pairs of raters
    weight = np.linspace(0.5, 2, 60)
    cuts = [slice(0, 10), slice(10, 20), slice(20, 21), slice(21, 60)]
    settings = {"n_bins": 4, "binning": binning, "closed": closed}
    with pytest.warns(UserWarning, match="10 of 60"):
        whole = cr.raters.decompose_loss(probs, cr.LabelCounts(counts), sample_weight=weight, **settings)
    chunks = [(probs[rows], cr.LabelCounts(counts[rows]), weight[rows]) for rows in cuts]
    with pytest.warns(UserWarning, match="10 of 60"):
        parts = cr.raters.decompose_loss(cr.scan(chunks), **settings)
    for name in TERMS:
        assert getattr(parts, name).value == pytest.approx(getattr(whole, name).value, abs=1e-14)
        assert getattr(parts, name).stderr == pytest.approx(getattr(whole, name).stderr, rel=1e-10)
    assert (parts.n, parts.n_left_out, parts.raters) == (50, 10, whole.raters)
    assert np.array_equal(parts.bins.edges, whole.bins.edges)


def test_tiles_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from credibly.raters import population, two_passes

    probs, counts = example(n=200)
    labels = cr.LabelCounts(counts)
    whole = cr.raters.decompose_loss(probs, labels)
    monkeypatch.setattr(population, "_TILE_ELEMENTS", 40)
    monkeypatch.setattr(two_passes, "_KEPT_ELEMENTS", 0)
    parts = cr.raters.decompose_loss(probs, labels)
    for name in TERMS:
        assert getattr(parts, name).value == pytest.approx(getattr(whole, name).value, abs=1e-14)
        assert getattr(parts, name).stderr == pytest.approx(getattr(whole, name).stderr, rel=1e-10)


@pytest.mark.parametrize("binning", ["equal_width", "equal_mass"])
def test_libraries_agree(library: Library, binning: str) -> None:
    probs, counts = example()
    counts[7] = [0, 1, 0]
    weight = np.linspace(0.5, 2, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        there = cr.raters.decompose_loss(
            cr.Point(library.asarray(probs)),
            cr.LabelCounts(library.asarray(counts)),
            sample_weight=library.asarray(weight),
            binning=binning,
        )
        here = cr.raters.decompose_loss(probs, cr.LabelCounts(counts), sample_weight=weight, binning=binning)
    for name in TERMS:
        assert getattr(there, name).value == pytest.approx(getattr(here, name).value, abs=1e-13)
        assert getattr(there, name).stderr == pytest.approx(getattr(here, name).stderr, rel=1e-9)


def test_a_set_is_represented_by_its_mean_and_the_notes_say_so() -> None:
    rng = np.random.default_rng(3)
    members = cr.Ensemble(rng.dirichlet(np.ones(3), size=(40, 5)))
    _, counts = example()
    parts = cr.raters.decompose_loss(members, cr.LabelCounts(counts))
    mean = cr.raters.decompose_loss(members.mean(), cr.LabelCounts(counts))
    assert parts.expected.value == mean.expected.value
    assert any("mean of 5 members" in note for note in parts.notes)
    assert mean.notes == ()


def test_the_result_is_json() -> None:
    import json

    probs, counts = example()
    text = json.dumps(cr.raters.decompose_loss(probs, cr.LabelCounts(counts)).to_dict(), allow_nan=False)
    record = json.loads(text)
    assert record["type"] == "LossDecomposition"
    assert record["calibration_error"]["squared"]["value"] == record["calibration"]["value"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_bins": 0}, "`n_bins` must be a positive integer"),
        ({"binning": "equal"}, "`binning` must be one of"),
        ({"sample_weight": np.ones(3)}, r"`sample_weight` must have one entry per prediction \(40\); got 3"),
    ],
)
def test_wrong_settings(settings: dict, words: str) -> None:
    probs, counts = example()
    with pytest.raises(cr.InputError, match=words):
        cr.raters.decompose_loss(probs, cr.LabelCounts(counts), **settings)


def test_wrong_inputs() -> None:
    probs, counts = example()
    labels = cr.LabelCounts(counts)
    with pytest.raises(cr.InputError, match="must be counts of raters, not shares"):
        cr.raters.decompose_loss(probs, counts / counts.sum(axis=1, keepdims=True))
    with pytest.raises(cr.InputTypeError, match="Swap them"):
        cr.raters.decompose_loss(labels, probs)
    with pytest.raises(cr.InputError, match="must have 3 classes like the predictions; got 2"):
        cr.raters.decompose_loss(probs, cr.LabelCounts(counts[:, :2] + 1))
    with pytest.raises(cr.InputError, match=r"one entry per prediction \(40\); got 39"):
        cr.raters.decompose_loss(probs, labels[:39])
    with pytest.raises(cr.InputTypeError, match="must be over classes; got Gaussian"):
        cr.raters.decompose_loss(cr.Gaussian(np.zeros(40), np.ones(40)), labels)
    with pytest.raises(cr.UnsupportedError, match=r"at least 2 raters; none of 2.*decompose_brier"):
        cr.raters.decompose_loss([[0.5, 0.5], [0.5, 0.5]], cr.LabelCounts([[1, 0], [0, 1]]))
    with pytest.raises(cr.InputError, match=r"rows 40 to 40 must be like the first chunk.*k=3.*k=2"):
        cr.raters.decompose_loss(cr.scan([(probs, labels), ([[0.5, 0.5]], cr.LabelCounts([[1, 1]]))]))
    parts = cr.raters.decompose_loss(probs, labels)
    with pytest.raises(cr.InputError, match="is that of one class; got slice"):
        parts.per_class.expected[:2]
    with pytest.raises(cr.UnsupportedError, match="needs the sampling error of the raters"):
        parts.bins.band()


@pytest.mark.parametrize("weighted", [False, True])
def test_means_that_few_instances_decide_have_no_interval(weighted: bool) -> None:
    """The rule is that of every other mean: skewness of the (weighted) contributions."""
    from credibly._arrays.standard_errors import mean_error

    def mean_refusal(values: np.ndarray) -> str | None:
        return mean_error(values)["interval_refusal"]

    rng = np.random.default_rng(8)
    seen = set()
    for share in (0.02, 0.3):
        wrong = rng.random(60) < share
        probs = np.where(wrong[:, None], [0.02, 0.98, 0.0], [0.97, 0.02, 0.01])
        counts = rng.multinomial(4, [0.95, 0.03, 0.02], size=60)
        weight = rng.random(60) + 0.5 if weighted else np.ones(60)
        parts = cr.raters.decompose_loss(
            probs, cr.LabelCounts(counts), sample_weight=weight if weighted else None
        )
        mu = counts / 4
        irreducible = 4 / 3 * mu * (1 - mu)
        expected = mu - 2 * mu * probs + probs**2
        for name, values in (("irreducible", irreducible), ("expected", expected)):
            rows = values.sum(axis=1)
            deviation = weight * (rows - np.average(rows, weights=weight))
            assert getattr(parts, name).interval_refusal == mean_refusal(deviation)
            seen.add(mean_refusal(deviation) is None)
            per_class = getattr(parts.per_class, name)
            numbers = weight[:, None] * (values - np.average(values, weights=weight, axis=0))
            refused = [mean_refusal(column) is not None for column in numbers.T]
            if not all(refused):
                low, _ = per_class.interval()
                assert np.isnan(low).tolist() == refused
            assert [per_class[c].interval_refusal is not None for c in range(3)] == refused
    assert seen == {True, False}
