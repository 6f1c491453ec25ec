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
    assert cr.epistemic_score(probs, labels, paper="C25").average is None


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


def test_other_bases_and_divergences(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 20, 3, 4), rng.integers(4, size=20)
    natural, bits = cr.epistemic_score(ensemble, labels), cr.epistemic_score(ensemble, labels, base=2)
    assert bits.total == pytest.approx(natural.total / math.log(2))
    js = cr.epistemic_score(ensemble, labels, divergence="js")
    root = cr.epistemic_score(ensemble, labels, divergence="sqrt_js", base=2)
    assert root.distance == pytest.approx(np.sqrt(js.distance / math.log(2)))
    size = cr.epistemic_score(ensemble, labels, measure="credal_size", base=2)
    assert size.imprecision == pytest.approx(cr.credal.size(ensemble))  # a size has no logarithm


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
    clipped = cr.epistemic_score([[1.0, 0.0], [0.5, 0.5]], [1, 1], paper="C25")
    assert clipped.distance == pytest.approx([-math.log(1e-10), math.log(2)])
    assert clipped.n_infinite == 0


def test_soft_targets(rng: np.random.Generator) -> None:
    ensemble = random_ensemble(rng, 6, 3, 3)
    counts = cr.LabelCounts([[3, 1, 1], [2, 2, 1], [0, 0, 5], [1, 3, 1], [4, 0, 1], [0, 5, 0]])
    score = cr.epistemic_score(ensemble, counts)
    assert score.distance == pytest.approx(cr.credal.distance(ensemble, counts), abs=1e-8)
    predicted = ensemble.mean().probs.argmax(axis=1)
    frequent = [{0}, {0, 1}, {2}, {1}, {0}, {1}]
    assert score.right.tolist() == [p in f for p, f in zip(predicted, frequent, strict=True)]


def test_the_effect_of_members_and_budget_is_measured(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 60, 6, 4), rng.integers(4, size=60)
    budget = [{0}, {1}, {2}, {3}]
    with pytest.warns(UserWarning, match="E depends on the") as told:
        score = cr.epistemic_score(ensemble, labels, tradeoff=3.0, budget=budget, negative="clamp")
    assert len(told) == 2
    on_budget, on_members = score.dependences
    assert on_budget.score == pytest.approx(float(score))  # fewer than 500 instances: all of them
    exact = cr.epistemic_score(ensemble, labels, tradeoff=3.0, dependences=False)
    assert on_budget.other_score == pytest.approx(float(exact))
    halved = cr.Ensemble(ensemble.probs[:, ::2])
    half = cr.epistemic_score(
        halved, labels, tradeoff=3.0, budget=budget, negative="clamp", dependences=False
    )
    assert on_members.other_score == pytest.approx(float(half))
    assert on_members.share == pytest.approx(float(half) / float(score) - 1)
    assert "4 focal sets" in str(on_budget)
    assert "3 of them" in str(on_members)


def test_no_warning_where_nothing_depends(rng: np.random.Generator) -> None:
    member = rng.dirichlet(np.ones(3), size=(20, 1))
    same, labels = cr.Ensemble(np.repeat(member, 4, axis=1)), rng.integers(3, size=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = cr.epistemic_score(same, labels)
        cr.epistemic_score(member[:, 0], labels)
    assert score.dependences[0].share == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("closed", [True, False])
def test_paper_mode_is_the_published_pipeline(closed: bool, rng: np.random.Generator) -> None:
    """Against a loop over focal sets, written from the description of the pipeline."""
    ensemble, labels = random_ensemble(rng, 12, 5, 5), rng.integers(5, size=12)
    budget = [frozenset({j}) for j in range(5)] + [frozenset({0, 1}), frozenset({2, 4}), frozenset({1, 3})]
    if not closed:
        budget.append(frozenset({0, 1, 2}))  # {0, 2} and {1, 2} are not listed
    full = frozenset(range(5))
    score = cr.epistemic_score(ensemble, labels, paper="C25", budget=budget)
    for row, (members, label) in enumerate(zip(ensemble.probs, labels, strict=True)):
        lower = {a: min(sum(p[j] for j in a) for p in members) for a in budget}
        masses = {a: max(0.0, sum((-1) ** len(a - b) * lower[b] for b in budget if b <= a)) for a in budget}
        masses[full] = max(0.0, 1.0 - sum(masses.values()))
        total = sum(masses.values())
        plausible = sum(mass for a, mass in masses.items() if label in a) / total
        assert score.distance[row] == pytest.approx(-math.log(max(plausible, 1e-10)), abs=1e-12)
        assert score.imprecision[row] == pytest.approx(
            sum(mass * math.log(len(a)) for a, mass in masses.items()) / total, abs=1e-12
        )
    assert any("not an inverse" in note for note in score.notes) != closed
    root = cr.epistemic_score(ensemble, labels, paper="C25", budget=budget, divergence="js")
    assert root.settings["divergence"] == "sqrt_js"
    assert any("root" in note for note in root.notes)


def test_paper_mode_samples_sets(rng: np.random.Generator) -> None:
    labels = rng.integers(3, size=4)
    alpha = rng.gamma(2.0, size=(4, 3)) * 50
    given = cr.epistemic_score(cr.Dirichlet(alpha), labels, n_samples=40)
    flat = cr.epistemic_score(cr.Dirichlet(alpha), labels, n_samples=40, paper="C25")
    # alpha divided by its sum has lost all evidence: the set is much larger
    assert flat.summary["imprecision"]["all"].mean > 3 * given.summary["imprecision"]["all"].mean
    assert flat.settings["members"] == given.settings["members"] == 40
    lower = np.full((4, 3), 0.2)
    score = cr.epistemic_score(cr.Intervals(lower, lower + 0.3), labels, paper="C25")
    # masses .2 on single classes and .4 on all: KL = -ln(.2 + .4), NS = .4 ln 3; upper bounds are not used
    assert score.distance == pytest.approx([-math.log(0.6)] * 4)
    assert score.imprecision == pytest.approx([0.4 * math.log(3)] * 4)
    assert any("represented by their lower bounds" in str(note) for note in score.notes)
    assert cr.epistemic_score(cr.Intervals(lower, lower + 0.3), labels).distance == pytest.approx(
        [-math.log(0.5)] * 4
    )
    masses = cr.Belief([[0.5, 0.2, 0.3]] * 4, [{0}, {1, 2}, {0, 1, 2}])
    own = cr.epistemic_score(masses, labels, paper="C25")
    assert own.imprecision == pytest.approx([0.2 * math.log(2) + 0.3 * math.log(3)] * 4)


def test_a_budget_of_all_classes_alone_knows_nothing(rng: np.random.Generator) -> None:
    ensemble = random_ensemble(rng, 4, 3, 3)
    for settings in ({"paper": "C25"}, {"negative": "clamp"}):
        score = cr.epistemic_score(ensemble, [0, 1, 2, 0], budget=[{0, 1, 2}], **settings)
        assert score.imprecision == pytest.approx(math.log(3))
    assert cr.epistemic_score(ensemble, [0] * 4, budget=[{0, 1, 2}], paper="C25").distance == pytest.approx(
        0.0
    )


def test_the_budget_of_the_paper_mode_has_three_sets_per_class(rng: np.random.Generator) -> None:
    for k, sets in ((2, 3), (3, 7), (4, 15), (5, 15), (10, 30)):
        score = cr.epistemic_score(random_ensemble(rng, 5, 3, k), [0] * 5, paper="C25")
        assert len(score.settings["budget"]) == sets
        assert not any("not an inverse" in note for note in score.notes)


def test_settings_say_what_was_done(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 5, 3, 3), [0, 1, 2, 0, 1]
    score = cr.epistemic_score(ensemble, labels, budget=[{0}, {1}, {2}, {0, 2}], base=2, rng=3)
    assert score.settings["measure"] == "dubois_prade"
    assert score.settings["budget"] == [[0], [1], [2], [0, 2]]
    assert (score.settings["base"], score.settings["members"]) == (2, 3)
    light = score.summary_dict()
    assert "distance" not in light
    assert light["summary"]["total"]["all"]["mean"] == float(score)
    assert len(score.to_dict()["distance"]) == 5


def test_all_libraries(library: Library, rng: np.random.Generator) -> None:
    probs, labels = rng.dirichlet(np.ones(4), size=(9, 3)), rng.integers(4, size=9)
    expected = cr.epistemic_score(cr.Ensemble(probs), labels)
    found = cr.epistemic_score(cr.Ensemble(library.asarray(probs)), library.asarray(labels))
    assert library.owns(found.total)
    assert read(found.total) == pytest.approx(expected.total, abs=1e-12)
    assert read(found.right).tolist() == expected.right.tolist()
    assert found.summary["total"]["wrong"].mean == pytest.approx(expected.summary["total"]["wrong"].mean)
    paper = cr.epistemic_score(cr.Ensemble(library.asarray(probs)), library.asarray(labels), paper="C25")
    host = cr.epistemic_score(cr.Ensemble(probs), labels, paper="C25")
    assert read(paper.total) == pytest.approx(host.total, abs=1e-12)


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
        ({"measure": "hartley", "budget": [{0}, {1}]}, "not to masses on a budget"),
        ({"measure": "entropy_gap", "paper": "C25"}, "paper='C25'"),
        ({"budget": 5}, "`budget` must be a sequence of sets"),
        ({"budget": [{0}, {9}]}, "class indices from 0 to 2"),
        ({"divergence": "l2"}, "`divergence` must be one of"),
        ({"paper": "M23"}, "`paper` must be one of None, 'C25'"),
        ({"base": 1}, "`base` must not be 1"),
        ({"n_samples": 0}, "`n_samples` must be an integer of at least 1"),
        ({"negative": "drop"}, "`negative` must be one of"),
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
