"""C25's score as printed: the published pipeline, other divergences and bases, stability."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
from credibly_studies import c25
from credibly_studies.c25_stability import clamped_on, score_stability
from credibly_studies.c25_stability import members as over_members
from unit.credal.oracles import KINDS, corners, every_kind, js, kl, random_ensemble

pytestmark = pytest.mark.filterwarnings("ignore:E depends on")

DIVERGENCES = {"kl": kl, "js": js, "sqrt_js": lambda t, p: math.sqrt(max(js(t, p), 0.0))}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture(scope="module")
def world() -> tuple[dict[str, object], np.ndarray]:
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.ones(3), size=500)
    labels = (rng.random((500, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    members = 0.7 * truth[:, None] + 0.3 * rng.dirichlet(np.ones(3), size=(500, 5))
    return {"wide": cr.Ensemble(members), "truth": truth, "uniform": np.full((500, 3), 1 / 3)}, labels


@pytest.mark.parametrize("closed", [True, False])
def test_paper_mode_is_the_published_pipeline(closed: bool, rng: np.random.Generator) -> None:
    """Against a loop over focal sets, written from the description of the pipeline."""
    ensemble, labels = random_ensemble(rng, 12, 5, 5), rng.integers(5, size=12)
    budget = [frozenset({j}) for j in range(5)] + [frozenset({0, 1}), frozenset({2, 4}), frozenset({1, 3})]
    if not closed:
        budget.append(frozenset({0, 1, 2}))  # {0, 2} and {1, 2} are not listed
    full = frozenset(range(5))
    score = c25.score(ensemble, labels, budget=budget)
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
    root = c25.score(ensemble, labels, budget=budget, divergence="js")
    assert root.settings["divergence"] == "sqrt_js"
    assert any("root" in note for note in root.notes)


def test_paper_mode_samples_sets(rng: np.random.Generator) -> None:
    labels = rng.integers(3, size=4)
    alpha = rng.gamma(2.0, size=(4, 3)) * 50
    scored = cr.epistemic_score(cr.Dirichlet(alpha), labels, n_samples=40)
    flat = c25.score(cr.Dirichlet(alpha), labels, n_samples=40)
    # alpha divided by its sum has lost all evidence: the set is much larger
    assert flat.summary["imprecision"]["all"].mean > 3 * scored.summary["imprecision"]["all"].mean
    assert flat.settings["members"] == scored.settings["members"] == 40
    lower = np.full((4, 3), 0.2)
    score = c25.score(cr.Intervals(lower, lower + 0.3), labels)
    # masses .2 on single classes and .4 on all: KL = -ln(.2 + .4), NS = .4 ln 3; upper bounds are not used
    assert score.distance == pytest.approx([-math.log(0.6)] * 4)
    assert score.imprecision == pytest.approx([0.4 * math.log(3)] * 4)
    assert any("represented by their lower bounds" in str(note) for note in score.notes)
    assert cr.epistemic_score(cr.Intervals(lower, lower + 0.3), labels).distance == pytest.approx(
        [-math.log(0.5)] * 4
    )
    masses = cr.Belief([[0.5, 0.2, 0.3]] * 4, [{0}, {1, 2}, {0, 1, 2}])
    estimate = c25.score(masses, labels)
    assert estimate.imprecision == pytest.approx([0.2 * math.log(2) + 0.3 * math.log(3)] * 4)


def test_a_budget_of_all_classes_alone_knows_nothing(rng: np.random.Generator) -> None:
    ensemble = random_ensemble(rng, 4, 3, 3)
    score = c25.score(ensemble, [0, 1, 2, 0], budget=[{0, 1, 2}])
    assert score.imprecision == pytest.approx(math.log(3))
    assert score.distance == pytest.approx(0.0)
    clamped = cr.epistemic_score(ensemble, [0, 1, 2, 0], measure=clamped_on([{0, 1, 2}]))
    assert clamped.imprecision == pytest.approx(math.log(3))


def test_the_budget_of_the_paper_mode_has_three_sets_per_class(rng: np.random.Generator) -> None:
    for k, sets in ((2, 3), (3, 7), (4, 15), (5, 15), (10, 30)):
        score = c25.score(random_ensemble(rng, 5, 3, k), [0] * 5)
        assert len(score.settings["budget"]) == sets
        assert not any("not an inverse" in note for note in score.notes)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("kind", KINDS)
def test_labels_by_all_corners(kind: str, divergence: c25.Divergence) -> None:
    rng = np.random.default_rng(0)
    credal = every_kind(rng, n=8, k=4)[kind]
    labels = rng.integers(0, 4, size=8)
    values = [
        [DIVERGENCES[divergence](np.eye(4)[y], np.clip(p, 0, 1)) for p in points]
        for y, points in zip(labels, corners(credal), strict=True)
    ]
    nearest = c25.distance(credal, labels, divergence=divergence)
    assert nearest == pytest.approx([min(row) for row in values], abs=1e-9)


def test_distances_by_hand() -> None:
    ensemble = cr.Ensemble([[[0.5, 0.5], [0.25, 0.75]]])
    # JS of a corner and (q, 1 - q), q = 0.5: 1/2 [ln(2 / 1.5) + 0.5 ln(1 / 1.5) + 0.5 ln 2]
    expected = 0.5 * (math.log(2 / 1.5) + 0.5 * math.log(1 / 1.5) + 0.5 * math.log(2))
    assert c25.distance(ensemble, [0], divergence="js").tolist() == pytest.approx([expected])
    assert c25.distance(ensemble, [0], divergence="sqrt_js") == pytest.approx([math.sqrt(expected)])
    never = cr.Ensemble([[[1.0, 0.0], [1.0, 0.0]]])
    assert c25.distance(never, [1]).tolist() == [math.inf]
    assert c25.distance(never, [1], clip=1e-10).tolist() == pytest.approx([-math.log(1e-10)])
    assert c25.distance(never, [1], divergence="js").tolist() == pytest.approx([math.log(2)])
    with pytest.raises(cr.UnsupportedError, match="`labels` must be classes"):
        c25.distance(ensemble, cr.LabelCounts([[1, 2]]), divergence="js")
    with pytest.raises(cr.InputError, match="`divergence` must be one of"):
        c25.distance(ensemble, [0], divergence="l2")


def test_clipped_rows() -> None:
    clipped = c25.score([[1.0, 0.0], [0.5, 0.5]], [1, 1])
    assert clipped.distance == pytest.approx([-math.log(1e-10), math.log(2)])
    assert (clipped.n_infinite, clipped.average) == (0, None)


def test_other_bases_and_divergences(rng: np.random.Generator) -> None:
    ensemble, labels = random_ensemble(rng, 20, 3, 4), rng.integers(4, size=20)
    natural, bits = c25.score(ensemble, labels), c25.score(ensemble, labels, base=2)
    assert bits.total == pytest.approx(natural.total / math.log(2))
    exact = cr.epistemic_score(ensemble, labels)
    by_js = c25.by_divergence(ensemble, labels, exact, "js")
    assert by_js.distance == pytest.approx(c25.distance(ensemble, labels, divergence="js"))
    assert by_js.imprecision == pytest.approx(exact.imprecision)
    assert by_js.average is not None
    mean = ensemble.mean()
    assert by_js.average.distance == pytest.approx(c25.distance(mean, labels, divergence="js"))
    assert by_js.average.kind == "Point"
    with pytest.raises(cr.InputError, match="`base` must not be 1"):
        c25.score(ensemble, labels, base=1)
    with pytest.raises(cr.InputError, match="class indices from 0 to 3"):
        c25.score(ensemble, labels, budget=[{0}, {9}])


def test_the_scale_of_trade_offs(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    by_kl = {name: cr.epistemic_score(model, labels) for name, model in models.items()}
    by_js = {name: c25.by_divergence(models[name], labels, one, "js") for name, one in by_kl.items()}
    assert c25.scale_of(by_kl, by_kl) == 1.0
    largest = [max(np.max(score.distance) for score in scores.values()) for scores in (by_js, by_kl)]
    assert c25.scale_of(by_js, by_kl) == pytest.approx(largest[0] / largest[1])  # C25 F.1


def test_tensors(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    probs, labels = rng.dirichlet(np.ones(4), size=(9, 3)), rng.integers(4, size=9)
    for divergence in DIVERGENCES:
        estimate = c25.score(cr.Ensemble(torch.tensor(probs)), torch.tensor(labels), divergence=divergence)
        host = c25.score(cr.Ensemble(probs), labels, divergence=divergence)
        assert estimate.total.numpy() == pytest.approx(host.total, abs=1e-12)


def test_the_budget_of_the_paper_mode_is_shared(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    lower = np.full((500, 3), 0.2)
    ranking = c25.rank_models({**models, "box": cr.Intervals(lower, lower + 0.3)}, labels)
    budgets = {str(score.settings["budget"]) for name, score in ranking.lines.scores.items()}
    assert len(budgets) == 1
    assert len(ranking.settings["budget"]) == 7
    # said of predictions that come with masses, never of masses made of members
    made = [score for name, score in ranking.lines.scores.items() if name != "box"]  # lower bounds are masses
    assert not any("of the prediction itself" in note for score in made for note in score.notes)


def test_stability_over_members_and_budgets(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    stability = score_stability(models["wide"], labels)
    assert stability.n_members.tolist() == [1, 2, 4, 5]
    whole = cr.epistemic_score(models["wide"], labels)
    assert stability.by_members[-1] == pytest.approx(float(whole))
    assert stability.members_std[-1] == 0.0
    assert stability.members_std[0] > 0.0
    assert stability.by_budget[stability.budgets.index("all events")] == pytest.approx(float(whole))
    assert stability.by_budget[0] > stability.by_budget[-1]  # singles only overstate what is left open


def test_stability_asks(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    stability = score_stability(
        models["wide"], labels, n_members=[3], budgets={"mine": [{0}, {1}, {2}]}, n_rows=50
    )
    assert (stability.n, stability.budgets, stability.n_members.tolist()) == (50, ("mine",), [3])
    with pytest.raises(cr.InputError, match="numbers from 1 to 5"):
        score_stability(models["wide"], labels, n_members=[6])
    with pytest.raises(cr.InputTypeError, match="`n_members` must be a sequence of numbers; got 3"):
        score_stability(models["wide"], labels, n_members=3)
    with pytest.raises(cr.InputTypeError, match="`budgets` must be a mapping of names"):
        score_stability(models["wide"], labels, budgets=[[{0}]])
    with pytest.raises(cr.InputError, match="needs predictions with members"):
        score_stability(models["truth"], labels, n_members=[2])
    assert score_stability(models["truth"], labels).budgets == ()


def test_stability_follows_its_measure(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    whole = cr.epistemic_score(models["wide"], labels, measure="credal_size")
    stability = score_stability(models["wide"], labels, measure="credal_size")
    assert stability.by_members[-1] == pytest.approx(float(whole), abs=1e-12)


def test_stability_of_infinite_scores() -> None:
    stability = score_stability([[[1.0, 0.0], [0.9, 0.1]]] * 3 + [[[1.0, 0.0]] * 2], [1] * 4)
    assert np.isinf(stability.by_members).all()
    assert np.isnan(stability.members_std).all()


def test_scores_over_members(world: tuple[dict[str, object], np.ndarray]) -> None:
    models, labels = world
    stability = score_stability(models["wide"], labels, n_repeats=2)
    picture = over_members({"wide": stability, "truth": score_stability(models["truth"], labels)})
    assert picture.columns["members"].tolist() == [1, 2, 4, 5]
    assert set(picture.columns["model"]) == {"wide"}
    assert len(picture.table().rows) == 4
    ax = stability.plot()
    over_members(stability).draw(ax, label="again")
    with pytest.raises(cr.UnsupportedError, match="needs predictions with members"):
        over_members(score_stability([[0.5, 0.5]], [0]))
    with pytest.raises(cr.InputTypeError, match="`stability` must be of type `ScoreStability`"):
        over_members(3)
