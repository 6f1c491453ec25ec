"""How a score is made: settings that all compared models share, and what counts as imprecision.

Measures of imprecision are 0 for a point. C25's own pipeline is here so that its tables can be made again:
samples become lower probabilities of a fixed list of focal sets, these become masses; negative ones are set
to 0, what is missing to 1 goes to the set of all classes, and rows are divided by their sum.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, one_of
from credibly._arrays.namespace import Array, as_float64, like, to_host
from credibly._arrays.notes import Note
from credibly._arrays.philox import Seed, as_seed
from credibly.credal import decision, nonspecificity_estimate, size, uncertainty
from credibly.credal.bounds import event_bounds, event_table
from credibly.credal.distances import Divergence
from credibly.credal.entropy import log_base
from credibly.credal.envelope import all_events
from credibly.credal.masses import Negative, clamped, closest_pairs
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set
from credibly.predictions import Belief, Dirichlet, Intervals, Point, Predictions
from credibly.predictions.belief import check_focal_sets
from credibly.selection.standings import require_tradeoff

ScoreMeasure = Literal["hartley", "dubois_prade", "koerner", "entropy_gap", "credal_size", "u65", "u80"]

MEASURES = ("hartley", "dubois_prade", "koerner", "entropy_gap", "credal_size", "u65", "u80")

ON_MASSES = ("dubois_prade", "koerner")
"""Measures that a budget of focal sets means something for."""

_REFUSED = {
    "smets": "is an information content: large for precise predictions, infinite where all classes together "
    "have no mass",
    "pal": "is a specificity: 1 for a point, smaller for larger sets",
}

_DISCOUNTS = {"u65": (1.6, 0.6), "u80": (2.2, 1.2)}


def require_measure(
    measure: str, budget: object, negative: str, paper: str | None = None, *, subject: str = "measure"
) -> None:
    """Raise unless `measure` is 0 for points and grows with the set, and fits the budget."""
    if measure in _REFUSED:
        raise UnsupportedError(
            f'`measure="{measure}"`',
            "cannot be added to a distance",
            f"it {_REFUSED[measure]}",
            'Use "hartley", or look at it alone with `nonspecificity`.',
        )
    one_of(f"`{subject}`", measure, MEASURES)
    if measure not in ON_MASSES and (budget is not None or negative == "clamp" or paper is not None):
        raise InputError(
            f'`measure="{measure}"`',
            "applies to the whole set, not to masses on a budget",
            f"got budget={'None' if budget is None else 'given'}, negative={negative!r}, paper={paper!r}",
            'Use `measure="dubois_prade"` or "koerner" with a budget.',
        )


def imprecision_of(
    credal: CredalSet,
    measure: ScoreMeasure,
    *,
    budget: Sequence[Iterable[int]] | None,
    negative: Negative,
    base: float | None,
    seed: Seed,
) -> tuple[Array, tuple[str, ...]]:
    """Return the imprecision of every set, (n,), and how it was made.

    Logarithmic measures follow `base`; sizes and discounts have no unit. ``u65`` and ``u80`` are what a right
    answer loses by naming all classes that maximality leaves instead of one: 1 - (a x - b x^2), x = 1 / size.
    """
    xp = credal.xp
    if isinstance(credal, Point):
        # also where two classes tie and a decision would name both: a point is precise
        return 0.0 * xp.sum(as_float64(credal.probs), axis=-1), ()
    if measure in ("hartley", "dubois_prade", "koerner"):
        found = nonspecificity_estimate(credal, measure=measure, budget=budget, negative=negative, rng=seed)
        notes = found.notes
        if not found.exact:
            error = f", standard error {found.mean_stderr:.2g}"
            notes = (*notes, Note("sampled", f"{found.n_events} random events", detail=error))
        if measure == "koerner":
            return found.values - 1.0, (*notes, "Koerner's measure is 1 for a point and enters as value - 1")
        return found.values / log_base(base), notes
    if measure == "entropy_gap":
        parts = uncertainty(credal, decomposition="credal", base=base)
        return parts.epistemic, ("imprecision is upper minus lower entropy",)
    if measure == "credal_size":
        return size(credal), ("imprecision is upper minus lower probability, the mean over classes",)
    answers = decision(credal, rule="maximality")
    x = 1.0 / xp.sum(xp.astype(answers, xp.float64), axis=-1)
    a, b = _DISCOUNTS[measure]
    return 1.0 - (a * x - b * x**2), (
        f"imprecision is the discount of {measure} for answering several classes",
    )


Paper = Literal["C25"]


@dataclasses.dataclass(frozen=True)
class ScoreSettings:
    """How a set is made of predictions and measured; the same for all models that are compared."""

    tradeoff: float = 1.0
    measure: ScoreMeasure = "hartley"
    divergence: Divergence = "kl"
    budget: tuple[frozenset[int], ...] | None = None
    negative: Negative = "keep"
    base: float | None = None
    paper: Paper | None = None
    n_samples: int = DIRICHLET_SAMPLES
    seed: Seed = (0, 0)

    def shown(self) -> dict[str, Any]:
        """Return the settings as a result carries them."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if self.budget is not None:
            found["budget"] = [sorted(members) for members in self.budget]
        return {**found, "seed": list(self.seed), "base": "e" if self.base is None else self.base}


def checked_settings(
    *,
    tradeoff: float,
    measure: ScoreMeasure | None,
    divergence: Divergence,
    budget: Sequence[Iterable[int]] | None,
    negative: Negative,
    base: float | None,
    paper: Paper | None,
    n_samples: int,
    rng: Any,
) -> ScoreSettings:
    """Return the settings of a score, or raise where they do not fit each other."""
    one_of("`divergence`", divergence, ("kl", "js", "sqrt_js"))
    one_of("`negative`", negative, ("keep", "clamp"))
    one_of("`paper`", paper, (None, "C25"))
    require_tradeoff(tradeoff)
    log_base(base)
    # the exact envelope, or masses where something asks for masses
    exact = budget is None and negative == "keep" and paper is None
    chosen = measure or ("hartley" if exact else "dubois_prade")
    require_measure(chosen, budget, negative, paper)
    return ScoreSettings(
        float(tradeoff),
        chosen,
        divergence,
        as_budget(budget),
        negative,
        base,
        paper,
        require_integer(n_samples, "n_samples", 1),
        as_seed(rng),
    )


def as_budget(budget: Sequence[Iterable[int]] | None) -> tuple[frozenset[int], ...] | None:
    """Return focal sets as sets; what is not a collection of collections is refused where masses are made."""
    if budget is None:
        return None
    try:
        return tuple(frozenset(members) for members in budget)
    except TypeError:
        raise InputTypeError(
            "`budget`",
            "must be a sequence of sets of class indices",
            f"got {budget!r:.60}",
            "Write `[{0}, {1}, {0, 1}]`, or make one with `focal_budget`.",
        ) from None


CLIP = 1e-10
"""Probabilities below this count as this in the distance."""

SETS_PER_CLASS = 3
"""30 sets for the 10 classes of CIFAR-10 and MNIST, 300 for the 100 of CIFAR-100."""

_FEW_CLASSES = 4  # these have hardly more than three sets per class


def paper_samples(given: Predictions, n_samples: int, seed: Seed) -> tuple[CredalSet, tuple[str, ...]]:
    """Return the set whose members the pipeline starts from, and what it does differently there."""
    if isinstance(given, Intervals):
        return lower_belief(given), (
            (
                "intervals are represented by their lower bounds; the remaining mass "
                "goes to the set of all classes"
            ),
        )
    if isinstance(given, Dirichlet):
        # C25's code draws from alpha divided by its sum, which forgets how sure the model was.
        spread = given.replace_rows(alpha=given.member_means())
        note = f"{n_samples} samples of Dir(alpha / sum(alpha)), not of Dir(alpha), represent every Dirichlet"
        return spread.sample(n_samples, rng=seed), (note,)
    return as_set(given), ()


def lower_belief(given: Intervals) -> Belief:
    """Return masses that are the lower bounds of single classes, with the rest on all of them.

    That is what the numbers printed for CreINN were computed with: the lower probability of an event is the
    sum of its lower bounds, so only single classes have masses, and upper bounds are not used.
    """
    xp, k = given.xp, given.n_classes
    lower = as_float64(given.lower)
    rest = xp.clip(1.0 - xp.sum(lower, axis=-1, keepdims=True), 0.0, None)
    masses = xp.concat([lower, rest], axis=1)
    sets = (*(frozenset({j}) for j in range(k)), frozenset(range(k)))
    return Belief(masses[:1, :], sets, k).replace_rows(masses=masses)


def paper_budget(credal: CredalSet) -> tuple[frozenset[int], ...]:
    """Return as many focal sets per class as C25 has: single classes and the closest pairs; all of a few.

    Like the list of C25 it holds all subsets of its sets, else the printed masses are not an inverse.
    """
    k = credal.n_classes
    if k <= _FEW_CLASSES:
        return tuple(frozenset(np.flatnonzero(row).tolist()) for row in all_events(k)[1:])
    probs = to_host(as_float64(credal.mean().probs))  # the distances of classes are made on the host
    pairs = closest_pairs(probs)[: (SETS_PER_CLASS - 1) * k]
    return (*(frozenset({j}) for j in range(k)), *pairs)


def paper_set(credal: CredalSet, budget: tuple[frozenset[int], ...]) -> CredalSet:
    """Return the belief that the pipeline makes of samples; points and beliefs stay what they are.

    Masses are the printed sum over listed subsets, m(A) = sum_B (-1)^|A - B| lower(B). It inverts the lower
    probability where the list holds all subsets of its sets, as that of CIFAR-10 does, and is kept elsewhere:
    `mass_function` has the inverse on any list.
    """
    if isinstance(credal, Point | Belief):
        return credal
    checked, k = check_focal_sets(budget, credal.n_classes)
    everything = frozenset(range(k))
    sets = tuple(members for members in checked if members != everything)
    table = event_table(list(sets), k)[0] if sets else np.zeros((0, k))
    size = table.sum(axis=1)
    inside = table @ table.T == size[:, None]  # [i, j]: set i is a subset of set j
    signs = np.where(inside, (-1.0) ** (size[None, :] - size[:, None]), 0.0)
    xp, leading = credal.xp, credal._leading
    lower = event_bounds(credal, like(table, leading, dtype=xp.float64), upper=False)
    masses = lower @ like(signs, leading, dtype=xp.float64)
    rest = xp.zeros((len(credal), 1), dtype=xp.float64, device=credal.device)
    masses = clamped(xp.concat([masses, rest], axis=1), len(sets))
    # one row is checked, sets included; the others are valid by construction
    return Belief(masses[:1, :], (*sets, everything), k).replace_rows(masses=masses)


def is_closed(budget: tuple[frozenset[int], ...]) -> bool:
    """Tell whether all subsets of listed sets but the set of all classes are listed."""
    listed = set(budget)
    largest = frozenset().union(*budget)
    return all(
        one - {member} in listed for one in listed if one != largest and len(one) > 1 for member in one
    )
