"""The traps real files hold: each is read with a note, or refused with the keyword and flag that help."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr

RNG = np.random.default_rng(11)
PROBS = RNG.dirichlet(np.ones(4), size=12)
MEMBERS = RNG.dirichlet(np.ones(4), size=(12, 3))
LABELS = np.arange(12) % 4


def save_npy(folder: Path, array: Any, name: str = "array.npy") -> Path:
    np.save(folder / name, array)
    return folder / name


def save_npz(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "file.npz", **arrays)
    return folder / "file.npz"


# Arrays without a name


def test_rows_of_probabilities_are_read_as_such_and_noted(tmp_path: Path) -> None:
    data = cr.load(save_npy(tmp_path, PROBS), labels=LABELS)
    assert isinstance(data.predictions, cr.Point)
    assert any("all rows sum to 1" in note and "`kind='probs'`" in note for note in data.notes)


def test_an_averaged_ensemble_is_told_what_it_lost(tmp_path: Path) -> None:
    inspection = cr.io.inspect(save_npy(tmp_path, MEMBERS.mean(axis=1)))
    assert any("Bayesian predictive check) cannot be run" in note for note in inspection.notes)
    whole = cr.io.inspect(save_npy(tmp_path, MEMBERS, "members.npy"))
    assert not any("cannot be run" in note for note in whole.notes)


@pytest.mark.parametrize(
    ("array", "looks", "remedy"),
    [
        (np.log(PROBS), "like logits", "kind='logits'"),
        (1 + 5 * PROBS, "like Dirichlet parameters", "kind='alpha'"),
        (PROBS * 0.7, "like beliefs of focal sets", "focal_sets"),
        (RNG.integers(0, 9, (12, 4)), "like label counts", "kind='counts'"),
        (PROBS.T, "sums along axis 0 are 1", "last axis"),
        (np.moveaxis(MEMBERS, 2, 1), "sums along axis 1 are 1", "last axis"),
        (np.where(PROBS > 0.3, 5 * PROBS, 0.0), "like evidence or scores", r"alpha = evidence \+ 1"),
        (np.full((3, 4), np.nan), "no entry is finite", "Check how"),
    ],
)
def test_other_numbers_are_explained(array: Any, looks: str, remedy: str, tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match=f"(?s)rows of probabilities.*{looks}.*{remedy}"):
        cr.load(save_npy(tmp_path, array))


@pytest.mark.parametrize(
    ("kind", "array", "made"),
    [
        ("logits", np.log(PROBS), cr.Point),
        ("alpha", 1 + 5 * PROBS, cr.Dirichlet),
        ("samples", RNG.normal(size=(5, 9)), cr.Samples),
        ("counts", RNG.integers(1, 9, (12, 4)), cr.LabelCounts),
        ("probs", MEMBERS, cr.Ensemble),
        ("logits", np.log(MEMBERS), cr.Ensemble),
    ],
)
def test_kind_says_what_a_nameless_array_is(kind: str, array: Any, made: type, tmp_path: Path) -> None:
    assert isinstance(cr.load(save_npy(tmp_path, array), kind=kind).predictions, made)


def test_logits_become_their_softmax(tmp_path: Path) -> None:
    data = cr.load(save_npy(tmp_path, np.log([[1.0, 3.0]])), kind="logits")
    np.testing.assert_allclose(data.predictions.probs, [[0.25, 0.75]], rtol=1e-15)  # 1 : 3


def test_a_kind_of_two_arrays_needs_both_names(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match="kind 'intervals' needs the arrays `lower` and `upper`"):
        cr.load(save_npy(tmp_path, PROBS), kind="intervals")
    with pytest.raises(cr.InputError, match="`upper` is not in the file"):
        cr.load(save_npz(tmp_path, lower=PROBS / 2))


def test_an_unknown_kind_is_corrected(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match=r"`kind` must be one of .*Did you mean 'logits'\?"):
        cr.load(save_npy(tmp_path, PROBS), kind="logit")


def test_one_dimensional_scores_are_the_probability_of_class_1(tmp_path: Path) -> None:
    for scores in (PROBS[:, 0], PROBS[:, :1]):
        data = cr.load(save_npy(tmp_path, scores))
        np.testing.assert_array_equal(
            data.predictions.probs, np.stack([1 - PROBS[:, 0], PROBS[:, 0]], axis=1)
        )
        assert any("probability of class 1" in note for note in data.notes)
    with pytest.raises(
        cr.InputError, match=r"got array \(12,\) float64.*Scores of class 1 lie between 0 and 1"
    ):
        cr.load(save_npy(tmp_path, np.log(PROBS[:, 0])))


# Axes


def test_members_first_is_told_by_the_labels_and_refused_without(tmp_path: Path) -> None:
    path = save_npy(tmp_path, np.moveaxis(MEMBERS, 1, 0))
    loaded = cr.load(path, labels=LABELS)
    np.testing.assert_array_equal(loaded.predictions.probs, MEMBERS)
    assert any("3 members of 12 instances, as many as there are labels" in note for note in loaded.notes)
    with pytest.raises(cr.InputError, match="nothing in the file shows which axis holds the instances"):
        cr.load(path)
    data = cr.load(path, labels=LABELS, member_axis=0)
    np.testing.assert_array_equal(data.predictions.probs, MEMBERS)


def test_instances_first_is_noted(tmp_path: Path) -> None:
    data = cr.load(save_npy(tmp_path, MEMBERS), labels=LABELS)
    assert any("12 instances of 3 members" in note for note in data.notes)


def test_a_square_ensemble_must_say_its_axes(tmp_path: Path) -> None:
    square = RNG.dirichlet(np.ones(3), size=(5, 5))
    path = save_npy(tmp_path, square)
    with pytest.raises(cr.InputError, match="must say which axis holds the members"):
        cr.load(path, labels=[0] * 5)
    np.testing.assert_array_equal(
        cr.load(path, labels=[0] * 5, member_axis=0).predictions.probs, np.moveaxis(square, 0, 1)
    )


@pytest.mark.parametrize("kind", ["alpha", "samples", "logits"])
def test_members_first_of_other_kinds(kind: str, tmp_path: Path) -> None:
    array = RNG.gamma(2.0, size=(3, 12, 4))
    data = cr.load(save_npy(tmp_path, array), kind=kind, member_axis=0)
    assert len(data) == 12
    assert data.predictions.n_members == 3


def test_gaussian_members_first(tmp_path: Path) -> None:
    mean, std = RNG.normal(size=(3, 12)), RNG.gamma(2.0, size=(3, 12))
    path = save_npz(tmp_path, mean=mean, std=std, y=np.zeros(12))
    np.testing.assert_array_equal(cr.load(path).predictions.mean, mean.T)
    with pytest.raises(cr.InputError, match="member_axis=0"):
        cr.load(save_npz(tmp_path, mean=mean, std=std))
    np.testing.assert_array_equal(cr.load(path, member_axis=0).predictions.mean, mean.T)


def test_a_useless_or_wrong_member_axis(tmp_path: Path) -> None:
    data = cr.load(save_npy(tmp_path, PROBS), member_axis=0)
    assert any("`member_axis` is not used" in note for note in data.notes)
    with pytest.raises(cr.InputError, match="`member_axis` must be 0 or 1; got 2"):
        cr.load(save_npy(tmp_path, MEMBERS), member_axis=2)


# Names


def test_two_kinds_in_one_file_must_be_chosen_from(tmp_path: Path) -> None:
    path = save_npz(tmp_path, probs=PROBS, logits=np.log(PROBS))
    with pytest.raises(cr.InputError, match=r"found probs, logits.*kind='probs'.*kind='logits'"):
        cr.load(path)
    assert isinstance(cr.load(path, kind="logits").predictions, cr.Point)


def test_a_kind_the_file_does_not_hold(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match=r"needs the array `alpha`; the file holds `probs`"):
        cr.load(save_npz(tmp_path, probs=PROBS), kind="alpha")


def test_aliases_are_noted_and_two_of_them_refused(tmp_path: Path) -> None:
    data = cr.load(save_npz(tmp_path, Softmax=PROBS, y_true=LABELS, extra=np.zeros(3)))
    np.testing.assert_array_equal(data.labels, LABELS)
    assert "array 'y_true' is read as `y`" in data.notes
    assert any(note.startswith("not used: extra (3,)") for note in data.notes)
    path = save_npz(tmp_path, probs=PROBS, gold=LABELS, target=LABELS)
    with pytest.raises(cr.InputError, match=r"found target and gold.*labels='target'"):
        cr.load(path)
    np.testing.assert_array_equal(cr.load(path, labels="gold").labels, LABELS)


def test_a_file_without_predictions_lists_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match=r"must name its predictions.*a \(2, 2\) float64, b \(2, 2\)"):
        cr.load(save_npz(tmp_path, a=np.eye(2), b=np.eye(2)))


def test_half_of_a_kind_is_not_read_as_probabilities(tmp_path: Path) -> None:
    np.savez(tmp_path / "file.npz", upper=np.full((5, 2), 0.5))
    with pytest.raises(cr.InputError, match=r"must name its predictions.*found upper \(5, 2\)"):
        cr.load(tmp_path / "file.npz")


def test_labels_and_counts_in_one_file(tmp_path: Path) -> None:
    counts = RNG.integers(1, 5, (12, 4))
    path = save_npz(tmp_path, probs=PROBS, y=LABELS, counts=counts)
    data = cr.load(path)
    np.testing.assert_array_equal(data.labels, LABELS)
    assert any("`labels='label_counts'`" in note for note in data.notes)
    np.testing.assert_array_equal(cr.load(path, labels="label_counts").labels.counts, counts)


def test_beliefs_and_masses(tmp_path: Path) -> None:
    sets = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0]])
    beliefs = np.array([[0.2, 0.3, 0.7]])
    predictions = cr.load(save_npz(tmp_path, beliefs=beliefs, focal_sets=sets)).predictions
    # m({0}) = .2, m({1}) = .3, m({0, 1}) = .7 - .2 - .3, the rest 1 - .7 on all three classes
    np.testing.assert_allclose(predictions.masses, [[0.2, 0.3, 0.2, 0.3]], atol=1e-15)
    with pytest.raises(cr.InvalidRowsError, match=r"sums to 1.2.*called `beliefs`"):
        cr.load(save_npz(tmp_path, masses=beliefs, focal_sets=sets))
    with pytest.raises(cr.InputError, match=r"table .focal sets, classes. of 0 and 1"):
        cr.load(save_npz(tmp_path, masses=beliefs, focal_sets=sets * 2))


# Labels


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.float32])
def test_labels_of_any_whole_type_become_int64(dtype: Any, tmp_path: Path) -> None:
    labels = (LABELS % 2).astype(dtype)
    data = cr.load(save_npz(tmp_path, probs=PROBS, y=labels))
    assert data.labels.dtype == np.int64  # uint8 labels wrap when subtracted
    np.testing.assert_array_equal(data.labels, LABELS % 2)
    assert any("float32 whole numbers" in note for note in data.notes) == (dtype is np.float32)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (np.r_[LABELS[:-1].astype(np.uint8), np.uint8(255)], "row 11 is 255"),
        (np.r_[LABELS[:-1], -1], "row 11 is -1"),
        (LABELS + 1, "start at 1"),
        (LABELS + 0.5, "must be class indices; the first that is not one is 0.5"),
        (LABELS[:-1], r"one entry per prediction \(12\); got 11"),
        (np.array(["cat"] * 12), "must be class indices if the classes have no names"),
        (np.array([2**64 - 1] * 12, dtype=np.uint64), "stored as unsigned"),
    ],
)
def test_wrong_labels_are_named(labels: Any, match: str, tmp_path: Path) -> None:
    with pytest.raises((cr.InputError, cr.InputTypeError), match=match):
        cr.load(save_npz(tmp_path, probs=PROBS, y=labels))


def test_label_names_are_matched(tmp_path: Path) -> None:
    names = np.array(["ant", "bee", "cat", "dog"])
    data = cr.load(save_npz(tmp_path, probs=PROBS, y=names[LABELS], classes=names))
    np.testing.assert_array_equal(data.labels, LABELS)
    with pytest.raises(cr.InvalidRowsError, match=r"row 0 is 'eel' \(1 of 12 rows\)") as caught:
        cr.load(save_npz(tmp_path, probs=PROBS, y=np.r_[["eel"], names[LABELS[1:]]], classes=names))
    assert caught.value.rows == [0]


def test_labels_that_name_nothing(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match="no file 'annotator', and the arrays are array"):
        cr.load(save_npy(tmp_path, PROBS), labels="annotator")
    with pytest.raises(cr.FileError, match="no such file"):
        cr.load(save_npy(tmp_path, PROBS), labels=str(tmp_path / "labels.npy"))


# Dropping rows on purpose


def test_drop_invalid_drops_from_every_array_and_counts(tmp_path: Path) -> None:
    probs = PROBS.copy()
    probs[3] *= 2  # sums to 2
    probs[7, 0] = np.nan
    path = save_npz(
        tmp_path,
        probs=probs,
        y=LABELS,
        features=np.arange(24.0).reshape(12, 2),
        id=np.arange(12),
        group=LABELS,
    )
    with pytest.raises(cr.InvalidRowsError, match="drop_invalid=True") as caught:
        cr.load(path)
    assert caught.value.rows == [7]  # finite comes first
    data = cr.load(path, drop_invalid=True)
    kept = [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]
    assert data.dropped == 2
    assert data.ids.tolist() == kept
    np.testing.assert_array_equal(data.predictions.probs, PROBS[kept])
    np.testing.assert_array_equal(data.labels, LABELS[kept])
    np.testing.assert_array_equal(data.groups, LABELS[kept])
    assert data.features[:, 0].tolist() == [2.0 * i for i in kept]
    assert sum("dropped on request" in note for note in data.notes) == 2


def test_drop_invalid_of_labels_and_features(tmp_path: Path) -> None:
    features = np.zeros((12, 1))
    features[2] = np.inf
    y = LABELS.astype(float)
    y[5] = np.nan
    data = cr.load(
        save_npz(tmp_path, probs=PROBS, y=y, features=features, id=np.arange(12)), drop_invalid=True
    )
    assert data.ids.tolist() == [0, 1, 3, 4, 6, 7, 8, 9, 10, 11]


def test_drop_invalid_never_drops_everything_or_the_wrong_axis(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match="none is left"):
        cr.load(save_npz(tmp_path, probs=np.full((3, 2), np.nan)), drop_invalid=True)
    path = save_npz(tmp_path, values=np.zeros((5, 2)), levels=np.array([0.5, np.nan]))
    with pytest.raises(cr.InvalidRowsError, match="`levels` must be finite"):
        cr.load(path, drop_invalid=True)


def test_the_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match=r"array.npy': predictions must"):
        cr.load(save_npy(tmp_path, np.log(PROBS)))


def test_labels_as_many_as_columns_are_not_a_matter_of_members(tmp_path: Path) -> None:
    turned = save_npz(tmp_path, probs=np.full((5, 3), 1 / 3), y=np.array([0, 1, 2]))
    with pytest.raises(cr.InputError, match=r"one entry per prediction \(5\).*look transposed: instances"):
        cr.load(turned)
    members = save_npz(tmp_path, probs=np.full((5, 4, 2), 0.5), y=np.array([0, 1, 1, 0]))
    with pytest.raises(cr.InputError, match="the other `member_axis`"):
        cr.load(members, member_axis=1)


# Files larger than memory


def test_arrays_above_the_budget_stay_on_disk(tmp_path: Path) -> None:
    probs = np.full((150_000, 2), 0.5)  # 2.4 MB
    path = save_npy(tmp_path, probs)
    with cr.memory_limit(2**20):
        data = cr.load(path)
        assert isinstance(data.predictions.probs, np.memmap)
        assert any("remain on disk" in note for note in data.notes)
        probs[149_999] = 2.0
        save_npy(tmp_path, probs)
        with pytest.raises(cr.InvalidRowsError, match="row 149999 sums to 4"):
            cr.load(path)
    assert not isinstance(cr.load(save_npy(tmp_path, probs[:10])).predictions.probs, np.memmap)


def test_memory_maps_are_checked_block_by_block(tmp_path: Path) -> None:
    array = np.lib.format.open_memmap(tmp_path / "big.npy", "w+", np.float32, (2_000_000, 8))
    array[:] = 0.125  # 64 MB
    array.flush()
    del array
    with cr.memory_limit(2**20):
        tracemalloc.start()
        try:
            data = cr.load(tmp_path / "big.npy")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert len(data) == 2_000_000
    assert peak < 2**25  # half of the file; blocks of 2**20 numbers and what is computed from them


@pytest.mark.slow
def test_mapped_logits_are_turned_in_blocks_and_only_where_they_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.lib.format.open_memmap(tmp_path / "logits.npy", "w+", np.float32, (1_000_000, 8))
    array[:, 0] = 2.0  # 32 MB; rows that sum to 1 would be probabilities already
    array.flush()
    del array
    with cr.memory_limit(2**20):
        tracemalloc.start()
        try:
            data = cr.load(tmp_path / "logits.npy", kind="logits")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        np.testing.assert_allclose(data.predictions.probs[-1, 0], np.e**2 / (np.e**2 + 7))
        assert peak < 64e6 + 2**26  # the probabilities in double precision, and blocks of 2**20 numbers
        monkeypatch.setattr("credibly.io.limits.machine_memory", lambda: 100 * 10**6)
        with pytest.raises(cr.FileError, match=r"`logits` must have probabilities that fit.*61.0 MiB"):
            cr.load(tmp_path / "logits.npy", kind="logits")


# Real files


def test_corrupt_rows_of_a_file(any_data_dir: Path) -> None:
    path, labels = any_data_dir / "cifar10" / "lbbnn_avg.npy", any_data_dir / "cifar10" / "labels.npy"
    sums = np.load(path).sum(axis=1, dtype=np.float64)
    n, bad = len(sums), np.flatnonzero(np.abs(sums - 1) > 1e-3).tolist()
    # the published file: 24 of 10000; ours, by golden/shipped.py: 12 of 600
    assert (n, len(bad), bad[0]) in ((10_000, 24, 44), (600, 12, 44))
    said = rf"row 44 sums to {sums[44]:.3g} \({len(bad)} of {n} rows"
    with pytest.raises(cr.InvalidRowsError, match=said) as caught:
        cr.load(path, labels=labels)
    assert caught.value.rows == bad
    data = cr.load(path, labels=labels, drop_invalid=True)
    assert (len(data), data.dropped, len(data.labels)) == (n - len(bad), len(bad), n - len(bad))
    np.testing.assert_array_equal(data.labels, np.delete(np.load(labels), bad))


def test_an_ensemble_of_logits(any_data_dir: Path) -> None:
    path = any_data_dir / "snli" / "snli_dev_ensemble.npz"
    data = cr.load(path)
    with np.load(path) as held:
        logits, labels = held["logits"], held["labels"]
    assert (len(data), data.predictions.n_members, data.predictions.n_classes) == (len(labels), 5, 3)
    powers = np.exp(logits.astype(float))
    mean = (powers / powers.sum(axis=-1, keepdims=True)).mean(axis=1)
    expected = (mean.argmax(axis=1) == labels).mean()
    assert float(cr.accuracy(data.predictions, data.labels)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.data
def test_a_published_ensemble_of_logits(data_dir: Path) -> None:
    data = cr.load(data_dir / "snli" / "snli_dev_ensemble.npz")
    assert (len(data), data.predictions.n_members, data.predictions.n_classes) == (4921, 5, 3)
    # README of the data: accuracy .9226
    assert float(cr.accuracy(data.predictions, data.labels)) == pytest.approx(0.9226, abs=5e-5)


def test_annotations(any_data_dir: Path) -> None:
    data = cr.load(any_data_dir / "snli" / "chaosnli_snli.npz", labels="counts")
    assert isinstance(data.labels, cr.LabelCounts)
    assert set(data.labels.totals.tolist()) == {100}  # 100 annotators
    assert data.classes in (("entailment", "neutral", "contradiction"), ("0", "1", "2"))


def test_no_row_would_be_left_is_no_advice(tmp_path: Path) -> None:
    with pytest.raises(cr.InvalidRowsError, match="rows must sum to 1") as caught:
        cr.load(save_npz(tmp_path, probs=np.full((3, 4), 0.4)))
    assert "drop_invalid" not in str(caught.value)


def test_columns_named_as_groups_are_attributes(tmp_path: Path) -> None:
    text = "sex,age,p_0,p_1,y\nF,31,0.5,0.5,0\nM,44,0.3,0.7,1\nF,59,2.0,0.1,1\n"
    path = tmp_path / "patients.csv"
    path.write_text(text)
    data = cr.load(path, groups=["sex", "age"], drop_invalid=True)
    assert {name: column.tolist() for name, column in data.groups.items()} == {
        "sex": ["F", "M"],
        "age": [31, 44],
    }  # the third row breaks a rule
    assert not any("not used" in note for note in data.notes)
    assert data.rows(slice(1, 2)).groups["sex"].tolist() == ["M"]
    assert data.take(np.array([0])).groups["age"].tolist() == [31]
    with pytest.raises(cr.InputError, match=r"there is no 'sexx'\. Did you mean 'sex'"):
        cr.load(path, groups=["sexx"], drop_invalid=True)
    np.savez(tmp_path / "short.npz", probs=np.full((4, 2), 0.5), y=[0, 1, 0, 1], sex=[0, 1])
    with pytest.raises(cr.InputError, match=r"must have one entry per instance \(4\)"):
        cr.load(tmp_path / "short.npz", groups=["sex"])


# What a reader of annotations meets


def _annotations(folder: Path) -> tuple[Path, Path]:
    names = [f"img{row}" for row in range(12)]
    lines = ["id,cat,dog", *(f"{name},0.25,0.75" for name in names)]
    (folder / "model.csv").write_text("\n".join(lines) + "\n")
    said = [f"{name},{who},{'cat' if who == 'ana' else 'dog'}" for name in names for who in ("ana", "bo")]
    (folder / "said.csv").write_text("\n".join(["id,annotator,label", *said]) + "\n")
    return folder / "model.csv", folder / "said.csv"


def test_raters_keep_their_names(tmp_path: Path) -> None:
    model, said = _annotations(tmp_path)
    data = cr.load(model, labels=said)
    assert data.labels.counts.tolist() == [[1, 1]] * 12
    assert set(cr.raters.agreement(data.labels).raters) == {"ana", "bo"}


LINES = [(f"x{row}", who, "cat" if row % 2 else "dog") for row in range(12) for who in ("ana", "bo")]


def _lines_beside(tmp_path: Path, lines: list[tuple[object, str, str]], **more: object) -> cr.Dataset:
    probs = np.random.default_rng(0).dirichlet(np.ones(2), size=(12, 3))
    np.savez(tmp_path / "model.npz", probs=probs, classes=["cat", "dog"], **more)  # type: ignore[arg-type]
    text = "\n".join(["item,annotator,label", *(",".join(map(str, line)) for line in lines)])
    (tmp_path / "said.csv").write_text(text + "\n")
    return cr.load(tmp_path / "model.npz", labels=tmp_path / "said.csv")


def test_lines_of_raters_in_no_order_need_ids(tmp_path: Path) -> None:
    mixed = [LINES[place] for place in np.random.default_rng(1).permutation(len(LINES))]
    by_rater = sorted(LINES, key=lambda line: line[1])
    expected = [[2 * (row % 2), 2 * (1 - row % 2)] for row in range(12)]
    for lines in (LINES, by_rater):
        assert _lines_beside(tmp_path, lines).labels.counts.tolist() == expected
    with pytest.raises(cr.InputError, match="labelled the instances in different orders"):
        _lines_beside(tmp_path, mixed)
    named = _lines_beside(tmp_path, mixed, id=[f"x{row}" for row in range(12)])
    assert named.labels.counts.tolist() == expected
    numbered = _lines_beside(tmp_path, [(int(name[1:]), who, label) for name, who, label in mixed])
    assert numbered.labels.counts.tolist() == expected
    assert any("by their row numbers" in note for note in numbered.notes)


def test_an_instance_that_a_rater_labelled_twice_is_named(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match="rater 'ana' labelled 'x0' 'dog' and 'cat'"):
        _lines_beside(tmp_path, [*LINES, ("x0", "ana", "cat")])


def test_raters_may_count_named_classes(tmp_path: Path) -> None:
    lines = [(name, who, str(int(label == "dog"))) for name, who, label in LINES]
    expected = [[2 * (row % 2), 2 * (1 - row % 2)] for row in range(12)]
    assert _lines_beside(tmp_path, lines).labels.counts.tolist() == expected


def test_a_rater_is_no_group_of_instances(tmp_path: Path) -> None:
    model, said = _annotations(tmp_path)
    with pytest.raises(cr.InputError, match="'annotator' is in a table with one row per instance and rater"):
        cr.load(model, labels=said, groups=["annotator"])


def test_a_dataset_shows_itself_in_a_line(tmp_path: Path) -> None:
    model, said = _annotations(tmp_path)
    text = repr(cr.load(model, labels=said))
    assert text.startswith("Dataset(Point(n=12, k=2, dtype=float64), labels: LabelCounts(n=12")
    assert "classes: ['cat', 'dog'], ids, source: " in text
    assert repr(cr.load(model)).split(", ")[3] == "labels: none"
