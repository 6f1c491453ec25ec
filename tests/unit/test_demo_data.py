"""The shipped demo file: what it must hold, and that its README says what its numbers give."""

import importlib.util
import io
import json
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

DATA = resources.files("credibly") / "data"
SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "make_demo_data.py"
N, K, M, SHIFTED = 900, 10, 10, 750

SHAPES = {
    "y": (N,),
    "id": (N,),
    "classes": (K,),
    "features": (N, 6),
    "ensemble/probs": (N, M, K),
    "single/probs": (N, K),
    "forest/probs": (N, K),
    "evidential/alpha": (N, K),
    "intervals/lower": (N, K),
    "intervals/upper": (N, K),
    "dropout/probs": (N, M, K),
    "shift/y": (SHIFTED,),
    "shift/id": (SHIFTED,),
    "shift/kind": (SHIFTED,),
    "shift/severity": (SHIFTED,),
    "shift/features": (SHIFTED, 6),
    "shift/ensemble/probs": (SHIFTED, M, K),
    "meta": (),
}
PROBS = [name for name in SHAPES if name.endswith("probs")]


@pytest.fixture(scope="module")
def demo():
    content = (DATA / "digits.npz").read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("torch", reason="the demo file is made with torch")
    pytest.importorskip("sklearn", reason="the demo file is made with scikit-learn")
    if not SCRIPT.is_file():
        pytest.skip("examples/ is not beside the tests")
    spec = importlib.util.spec_from_file_location("make_demo_data", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def points(demo):
    """One probability row per instance and model, written from the README's words."""
    alpha, lower, upper = (
        demo[name].astype(float) for name in ("evidential/alpha", "intervals/lower", "intervals/upper")
    )
    fraction = (1 - lower.sum(1)) / (upper - lower).sum(1)
    return {
        "ensemble": demo["ensemble/probs"].astype(float).mean(1),
        "single": demo["single/probs"].astype(float),
        "forest": demo["forest/probs"].astype(float),
        "evidential": alpha / alpha.sum(1)[:, None],
        "intervals": lower + fraction[:, None] * (upper - lower),
        "dropout": demo["dropout/probs"].astype(float).mean(1),
    }


def measure(probs, labels):
    """Accuracy, mean confidence, 15-bin confidence ECE, one instance at a time."""
    cells = {}
    for row, label in zip(probs, labels, strict=True):
        confidence = row.max()
        hit = float(row.argmax() == label)
        cells.setdefault(int(np.ceil(15 * confidence)), []).append((hit, confidence))
    pairs = [pair for cell in cells.values() for pair in cell]
    ece = sum(abs(sum(hit - confidence for hit, confidence in cell)) for cell in cells.values())
    return {
        "accuracy": sum(hit for hit, _ in pairs) / len(pairs),
        "confidence": sum(confidence for _, confidence in pairs) / len(pairs),
        "ece": ece / len(pairs),
    }


def test_file_is_small():
    assert len((DATA / "digits.npz").read_bytes()) < 300_000


def test_keys_and_shapes(demo):
    assert {name: array.shape for name, array in demo.items()} == SHAPES


@pytest.mark.parametrize("name", PROBS)
def test_rows_are_probabilities(demo, name):
    probs = demo[name]
    assert probs.dtype == np.float32
    assert (probs >= 0).all()
    # multiples of a power of two, so float32 adds them without rounding
    assert (probs.sum(-1) == 1).all()


def test_forest_holds_vote_shares(demo):
    votes = demo["forest/probs"] * 128  # 128 trees
    np.testing.assert_array_equal(votes, np.rint(votes))


def test_alpha_is_one_plus_evidence(demo):
    alpha = demo["evidential/alpha"]
    assert np.isfinite(alpha).all()
    assert (alpha >= 1).all()
    assert ((alpha == 1).all(1)).sum() == 2  # no evidence at all, as the README says


def test_intervals_are_reachable(demo):
    lower, upper = demo["intervals/lower"].astype(float), demo["intervals/upper"].astype(float)
    assert (lower >= 0).all()
    assert (lower <= upper).all()
    assert (upper <= 1).all()
    # a bound is attained by a distribution that keeps within the others' bounds
    assert (upper + lower.sum(1, keepdims=True) - lower <= 1).all()
    assert (lower + upper.sum(1, keepdims=True) - upper >= 1).all()


@pytest.mark.parametrize("name", ["ensemble/probs", "dropout/probs", "shift/ensemble/probs"])
def test_members_differ(demo, name):
    members = np.moveaxis(demo[name], 1, 0)
    for first in range(M):
        for second in range(first):
            assert not np.array_equal(members[first], members[second])


def test_labels_are_classes(demo):
    np.testing.assert_array_equal(np.unique(demo["y"]), np.arange(K))
    assert set(demo["shift/y"]) <= set(range(K))
    assert demo["classes"].tolist() == [str(digit) for digit in range(K)]
    assert len(np.unique(demo["id"])) == N


def test_labels_are_those_of_the_source(demo):
    datasets = pytest.importorskip("sklearn.datasets", reason="holds the source data")
    target = datasets.load_digits().target
    np.testing.assert_array_equal(demo["y"], target[demo["id"]])
    np.testing.assert_array_equal(demo["shift/y"], target[demo["shift/id"]])


def test_shift_repeats_test_images_at_each_severity(demo):
    assert set(demo["shift/kind"]) == {"noise", "blur", "rotation"}
    assert set(demo["shift/severity"]) == {1, 2, 3, 4, 5}
    assert set(demo["shift/id"]) <= set(demo["id"])
    for severity in range(1, 6):
        ids = demo["shift/id"][demo["shift/severity"] == severity]
        assert len(np.unique(ids)) == len(ids) == SHIFTED // 5
    kinds = set(zip(demo["shift/id"], demo["shift/kind"], strict=True))
    assert len(kinds) == SHIFTED // 5  # an image has one kind


def test_meta_and_readme_say_what_the_arrays_give(demo):
    measured = {name: measure(probs, demo["y"]) for name, probs in points(demo).items()}
    for severity in range(1, 6):
        at = demo["shift/severity"] == severity
        mean = demo["shift/ensemble/probs"][at].astype(float).mean(1)
        measured[f"shift/ensemble, severity {severity}"] = measure(mean, demo["shift/y"][at])

    meta = json.loads(str(demo["meta"]))
    assert meta["licence"] == "CC BY 4.0"
    assert meta["measured"].keys() == measured.keys()
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for name, values in measured.items():
        assert meta["measured"][name] == pytest.approx(values, abs=6e-5)  # four decimals
        row = " | ".join(f"{value:.4f}" for value in meta["measured"][name].values())
        assert f"| {name} | {row} |" in readme


def test_grid_keeps_the_sum_and_the_floor(script):
    probs = np.array([0.9, 0.1 - 3e-9] + [3e-9 / 8] * 8)
    stored = script.on_grid(probs) * 2**16
    # 0.1 * 65536 = 6553.6 -> 6554; eight at the floor of 1; 65536 - 6554 - 8 = 58974
    np.testing.assert_array_equal(stored, [58974, 6554] + [1] * 8)


def test_evidential_loss_is_the_expected_squared_error_at_the_start(script):
    import torch

    outputs = torch.linspace(-2, 3, 10, dtype=torch.float64)[None]
    alpha = script.concentration(outputs).numpy()[0]
    draws = np.random.default_rng(0).dirichlet(alpha, size=200_000)
    errors = ((np.eye(10)[3] - draws) ** 2).sum(1)
    loss = float(script.evidential_loss(outputs, torch.tensor([3]), 0))  # KL weight 0
    assert loss == pytest.approx(errors.mean(), abs=4 * errors.std() / np.sqrt(len(draws)))


def test_evidential_loss_punishes_evidence_for_other_classes_only(script):
    import torch
    from scipy.special import digamma, gammaln

    outputs = torch.linspace(-2, 3, 10, dtype=torch.float64)[None]
    labels = torch.tensor([3])
    start, full = (float(script.evidential_loss(outputs, labels, epoch)) for epoch in (0, 50))
    alpha = script.concentration(outputs).numpy()[0]
    alpha[3] = 1.0
    # KL(Dir(a) || Dir(1)) = ln G(S) - ln G(10) - sum ln G(a) + sum (a - 1)(psi(a) - psi(S))
    total = alpha.sum()
    divergence = gammaln(total) - gammaln(10) - gammaln(alpha).sum()
    divergence += ((alpha - 1) * (digamma(alpha) - digamma(total))).sum()
    assert full - start == pytest.approx(divergence, rel=1e-9)
