"""The unified score: its parts, its summaries, what it warns about, what it refuses."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

import credibly as cr
from libraries import Library, read
from unit.credal.oracles import KINDS, every_kind, random_ensemble

pytestmark = pytest.mark.filterwarnings("ignore:E depends on")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_a_point_scores_its_log_loss_exactly(rng: np.random.Generator) -> None:
    probs, labels = rng.dirichlet(np.ones(4), size=50), rng.integers(4, size=50)
    for tradeoff in (0.0, 1.0, 7.5, math.inf):
        for measure in ("hartley", "koerner", "entropy_gap", "credal_size", "u65", "u80"):
            score = cr.epistemic_score(probs, labels, tradeoff=tradeoff, measure=measure)
            np.testing.assert_allclose(score.total, -np.log(probs[np.arange(50), labels]), rtol=1e-15)
            assert float(score) == pytest.approx(float(cr.log_loss(probs, labels)), rel=1e-14)
    assert cr.epistemic_score(probs, labels).average is None


def test_a_tied_point_is_precise() -> None:
    # a decision would name both classes; the prediction is still one distribution
    assert cr.epistemic_score([[0.5, 0.5]], [0], measure="u65").imprecision[0] == 0.0


def test_parts_by_hand() -> None:
    ensemble = cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]], [[0.9, 0.1], [0.9, 0.1]]], member_axis=1)
    score = cr.epistemic_score(ensemble, [0, 1], tradeoff=2.0)
    # upper probability of the label: 0.75 and 0.1; m({0, 1}) = 1 - 0.5 - 0.25 = 0.25, times ln 2
    assert score.distance == pytest.approx([-math.log(0.75), -math.log(0.1)])
    assert score.imprecision == pytest.approx([0.25 * math.log(2), 0.0])
    assert score.total == pytest.approx([-math.log(0.75) + 0.5 * math.log(2), -math.log(0.1)])
    assert score.right.tolist() == [True, False]
    assert score.summary["distance"]["wrong"].mean == pytest.approx(-math.log(0.1))
    assert score.summary["imprecision"]["right"].n == 1
    # two values a, b: sample standard deviation |a - b| / sqrt(2)
    a, b = score.total
    assert score.summary["total"]["all"].std == pytest.approx(abs(a - b) / math.sqrt(2))
    assert score.summary["total"]["all"].stderr == pytest.approx(abs(a - b) / 2)
    # the mean of the members is (0.625, 0.375) and (0.9, 0.1)
    assert score.average is not None
    assert score.average.total == pytest.approx([-math.log(0.625), -math.log(0.1)])
    assert score.average.kind == "Point"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_adds_its_credal_measures(kind: str, rng: np.random.Generator) -> None:
    credal = every_kind(rng, n=8, k=4)[kind]
    labels = rng.integers(4, size=8)
    score = cr.epistemic_score(credal, labels, tradeoff=0.7)
    assert score.distance == pytest.approx(cr.credal.distance(credal, labels))
    assert score.imprecision == pytest.approx(cr.credal.nonspecificity(credal), abs=1e-12)
    assert score.total == pytest.approx(score.distance + 0.7 * score.imprecision)
    assert score.kind == type(credal).__name__


def test_alternative_measures(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 30, 3, 4), rng.integers(4, size=30)
    scores = {
        name: cr.epistemic_score(ensemble, labels, measure=name).imprecision
        for name in ("koerner", "entropy_gap", "credal_size", "u65", "u80")
    }
    assert scores["koerner"] == pytest.approx(cr.credal.upper_probability(ensemble).sum(axis=1) - 1)
    gap = cr.credal.upper_entropy(ensemble) - cr.credal.lower_entropy(ensemble)
    assert scores["entropy_gap"] == pytest.approx(gap, abs=1e-9)
    assert scores["credal_size"] == pytest.approx(cr.credal.size(ensemble))
    sizes = cr.credal.decision(ensemble).sum(axis=1)
    assert len(set(sizes.tolist())) > 1
    # a set of two is worth 0.65 or 0.80: it loses 0.35 or 0.20
    assert scores["u65"][sizes == 2] == pytest.approx(0.35)
    assert scores["u80"][sizes == 2] == pytest.approx(0.20)
    assert (scores["u65"][sizes == 1] == 0).all()


def test_tradeoff_zero_and_infinity(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 10, 3, 3), rng.integers(3, size=10)
    assert np.array_equal(
        cr.epistemic_score(ensemble, labels, tradeoff=0.0).total, cr.credal.distance(ensemble, labels)
    )
    endless = cr.epistemic_score(ensemble, labels, tradeoff=math.inf)
    assert np.isposinf(endless.total).all()
    same = cr.Ensemble(np.repeat(ensemble.probs[:, :1], 7, axis=1))  # their mean differs by rounding
    precise = cr.epistemic_score(same, labels, tradeoff=math.inf)
    assert precise.total == pytest.approx(precise.distance)


def test_more_members_never_make_a_smaller_hull(rng: np.random.Generator) -> None:
    probs, labels = rng.dirichlet(np.ones(5), size=(40, 12)), rng.integers(5, size=40)
    scores = [cr.epistemic_score(cr.Ensemble(probs[:, :m]), labels) for m in (1, 2, 4, 8, 12)]
    for few, many in itertools.pairwise(scores):
        assert (many.distance <= few.distance + 1e-12).all()
        assert (many.imprecision >= few.imprecision - 1e-12).all()
    assert scores[0].imprecision == pytest.approx(0.0, abs=1e-12)


def test_infinite_rows_are_counted_not_clipped() -> None:
    score = cr.epistemic_score([[1.0, 0.0], [0.5, 0.5]], [1, 1])
    assert score.n_infinite == 1
    assert float(score) == math.inf
    assert math.isnan(score.summary["distance"]["all"].std)
    assert score.summary["distance"]["right"].n == 0  # argmax of a tie is the first class
    assert any("infinite distance" in note for note in score.notes)


def test_soft_targets(rng: np.random.Generator) -> None:
    ensemble = random_ensemble(rng, 6, 3, 3)
    counts = cr.LabelCounts([[3, 1, 1], [2, 2, 1], [0, 0, 5], [1, 3, 1], [4, 0, 1], [0, 5, 0]])
    score = cr.epistemic_score(ensemble, counts)
    assert score.distance == pytest.approx(cr.credal.distance(ensemble, counts), abs=1e-8)
    predicted = ensemble.mean().probs.argmax(axis=1)
    frequent = [{0}, {0, 1}, {2}, {1}, {0}, {1}]
    assert score.right.tolist() == [p in f for p, f in zip(predicted, frequent, strict=True)]


def test_an_imprecision_of_your_own(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 30, 3, 4), rng.integers(4, size=30)
    budget = [{0}, {1}, {2}, {3}]

    def on_singles(sets: cr.Ensemble) -> np.ndarray:
        return cr.credal.nonspecificity(sets, measure="dubois_prade", budget=budget, negative="clamp")

    score = cr.epistemic_score(ensemble, labels, measure=on_singles)
    assert score.imprecision == pytest.approx(on_singles(ensemble))
    assert score.settings["measure"] == "on_singles"
    assert score.average is not None
    assert (score.average.imprecision == 0).all()  # a point is precise, whatever the measure
    ranking = cr.rank_models({"set": ensemble}, labels, measure=on_singles)
    assert ranking.lines.imprecision[0] == pytest.approx(score.imprecision.mean())


def test_parts_of_your_own(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 12, 3, 4), rng.integers(4, size=12)
    score = cr.epistemic_score(ensemble, labels, tradeoff=2.0, dependences=False)
    found = cr.selection.score_from_parts(ensemble, labels, score.distance, score.imprecision, tradeoff=2.0)
    for name in ("summary", "kind", "n_infinite"):
        assert getattr(found, name) == getattr(score, name)
    for name in ("total", "right", "confidence", "entropy"):
        np.testing.assert_array_equal(getattr(found, name), getattr(score, name))
    with pytest.raises(cr.InputError, match=r"`imprecision` must have one entry per prediction \(12\)"):
        cr.selection.score_from_parts(ensemble, labels, score.distance, score.imprecision[:3])


def test_the_effect_of_members_is_measured(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 60, 6, 4), rng.integers(4, size=60)
    with pytest.warns(UserWarning, match="E depends on the number of members") as told:
        score = cr.epistemic_score(ensemble, labels, tradeoff=3.0)
    assert len(told) == 1
    (members,) = score.dependences
    assert members.score == pytest.approx(float(score))  # fewer than 500 instances: all of them
    halved = cr.Ensemble(ensemble.probs[:, ::2])
    half = cr.epistemic_score(halved, labels, tradeoff=3.0, dependences=False)
    assert members.other_score == pytest.approx(float(half))
    assert members.share == pytest.approx(float(half) / float(score) - 1)
    assert "3 of them" in str(members)


def test_no_warning_where_nothing_depends(rng: np.random.Generator) -> None:
    member = rng.dirichlet(np.ones(3), size=(20, 1))
    same, labels = cr.Ensemble(np.repeat(member, 4, axis=1)), rng.integers(3, size=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = cr.epistemic_score(same, labels)
        cr.epistemic_score(member[:, 0], labels)
    assert score.dependences[0].share == pytest.approx(0.0, abs=1e-12)


def test_settings_say_what_was_done(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 5, 3, 3), [0, 1, 2, 0, 1]
    score = cr.epistemic_score(ensemble, labels, measure="dubois_prade", rng=3)
    assert (score.settings["measure"], score.settings["members"]) == ("dubois_prade", 3)
    light = score.summary_dict()
    assert "distance" not in light
    assert light["summary"]["total"]["all"]["mean"] == float(score)
    assert len(score.to_dict()["distance"]) == 5


def test_all_libraries(library: Library, rng: np.random.Generator) -> None:
    probs, labels = rng.dirichlet(np.ones(4), size=(9, 3)), rng.integers(4, size=9)
    expected = cr.epistemic_score(cr.Ensemble(probs), labels)
    score = cr.epistemic_score(cr.Ensemble(library.asarray(probs)), library.asarray(labels))
    assert library.owns(score.total)
    assert read(score.total) == pytest.approx(expected.total, abs=1e-12)
    assert read(score.right).tolist() == expected.right.tolist()
    assert score.summary["total"]["wrong"].mean == pytest.approx(expected.summary["total"]["wrong"].mean)


def test_tensors_keep_their_graph() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    logits = torch.randn(6, 3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    logits.requires_grad_(True)
    ensemble = cr.Ensemble(torch.softmax(logits, dim=-1))
    score = cr.epistemic_score(ensemble, torch.tensor([0, 1, 2, 3, 0, 1]))
    score.total.sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert float(logits.grad.abs().max()) > 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tradeoff": -1}, "`tradeoff` must be a number of at least 0"),
        ({"tradeoff": float("nan")}, "got nan"),
        ({"tradeoff": True}, "got True"),
        ({"tradeoff": "low"}, "got 'low'"),
        ({"measure": "smets"}, "information content"),
        ({"measure": "pal"}, "is a specificity"),
        ({"measure": "hartly"}, "Did you mean 'hartley'"),
        ({"n_samples": 0}, "`n_samples` must be an integer of at least 1"),
        ({"measure": lambda sets: sets.probs}, "must return one number per set; got shape (4, 3, 3)"),
    ],
)
def test_bad_settings(settings: dict, words: str, rng: np.random.Generator) -> None:
    ensemble = random_ensemble(rng, 4, 3, 3)
    with pytest.raises(cr.CrediblyError) as raised:
        cr.epistemic_score(ensemble, [0, 1, 2, 0], **settings)
    assert words in str(raised.value)


def test_bad_predictions_and_labels(rng: np.random.Generator) -> None:
    ensemble = random_ensemble(rng, 4, 3, 3)
    with pytest.raises(cr.InputError, match="one entry per prediction"):
        cr.epistemic_score(ensemble, [0, 1, 2])
    with pytest.raises(cr.InputTypeError, match="class predictions"):
        cr.epistemic_score(cr.Gaussian([0.0], [1.0]), [0])
    with pytest.raises(cr.InputTypeError, match="must be given in this order"):
        cr.epistemic_score([0, 1, 2, 0], ensemble.probs)
