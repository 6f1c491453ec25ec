"""The table of roles: a name means one thing, and every kind is made of roles that are there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.io.column_names import field_of
from credibly.io.roles import BESIDE, FIELDS, KINDS, ROLES, Content

PROBS = np.full((4, 2), 0.5)


def test_no_name_belongs_to_two_roles() -> None:
    arrays = Counter(word for name, role in ROLES.items() for word in (name, *role.aliases))
    columns = Counter(word for role in ROLES.values() for word in role.prefixes)
    assert max(arrays.values()) == max(columns.values()) == 1
    assert all(word == word.lower() for word in (*arrays, *columns))


def test_kinds_are_made_of_roles_over_instances_and_of_those_of_the_file() -> None:
    assert set(ROLES) >= FIELDS
    assert {name for name in FIELDS if ROLES[name].per == "file"} == {"focal_sets", "levels", "claimed"}
    assert all(ROLES[kind.leading].per == "instance" for kind in KINDS.values())
    leading = [kind.leading for kind in KINDS.values()]
    assert len(set(leading)) == len(leading)
    assert not set(BESIDE) & FIELDS


@pytest.mark.parametrize("name", [name for name, role in ROLES.items() if role.prefixes])
def test_every_prefix_finds_its_role(name: str) -> None:
    for prefix in ROLES[name].prefixes:
        assert field_of(f"{prefix}_0") == (name, "0")


@pytest.mark.parametrize("name", [name for name, role in ROLES.items() if role.aliases and name in BESIDE])
def test_every_alias_beside_the_predictions_is_read_and_noted(name: str, tmp_path: Path) -> None:
    tables = {
        "features": np.ones((4, 2)),
        "label_counts": np.ones((4, 2), int),
        "raters": np.ones((4, 3), int),
        "member_weights": np.array([0.3, 0.7]),
    }
    value = {**tables, "soft_labels": np.full((4, 2), 0.5)}.get(name, np.zeros(4, int))
    for alias in ROLES[name].aliases:
        probs = np.stack([PROBS, PROBS], axis=1) if name == "member_weights" else PROBS
        np.savez(tmp_path / f"{alias}.npz", probs=probs, **{alias: value})
        data = cr.load(tmp_path / f"{alias}.npz", n_raters=2 if name == "soft_labels" else None)
        assert f"array {alias!r} is read as `{name}`" in data.notes
        assert not any("not used" in note for note in data.notes)


def test_only_arrays_over_instances_lose_rows() -> None:
    arrays = {"values": np.arange(6.0).reshape(3, 2), "levels": np.array([0.1, 0.9]), "y": np.arange(3)}
    content = Content("memory", arrays, kind="quantiles")
    content.keep(np.array([True, False, True]))
    assert content.n == len(content.arrays["y"]) == 2
    assert content.arrays["levels"].tolist() == [0.1, 0.9]


@pytest.mark.parametrize("name", ["predictions", "y_pred", "pred_label", "argmax", "idx"])
def test_predicted_classes_and_row_numbers_are_no_labels(name: str, tmp_path: Path) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=3)
    np.savez(tmp_path / "f.npz", probs=probs, **{name: np.array([0, 1, 2])})
    data = cr.load(tmp_path / "f.npz")
    assert data.labels is None
    assert any(f"not used: {name}" in note for note in data.notes)


def test_the_logarithm_of_the_variance_gives_the_standard_deviation(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", mean=np.zeros(2), logvar=np.log([4.0, 9.0]), y=np.zeros(2))
    np.testing.assert_allclose(cr.load(tmp_path / "f.npz").predictions.std, [2.0, 3.0])  # roots
