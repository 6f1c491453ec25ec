"""Recalibrate a set: temperatures of its members, and as much spread between them as the labels ask for.

    z_m -> c + s (z_m / tau_m - c),      c = mean over members of z_m / tau_m

on log-probabilities. s below 1 draws the members together, s above 1 moves them apart. Temperatures are
fitted on one part of the data; on the other part a test looks for the smallest s whose set it does not
reject: the most informative set in which the truth may lie. Where it rejects them all,
`margin` enlarges the set that the temperatures made by the smallest radius of `inflate`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.checks import require_integer, scalar
from credibly._arrays.errors import ONE_RATER, Remedy, UnsupportedError, one_of, require
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, to_host
from credibly._arrays.philox import as_seed, made_with_rng
from credibly.credal.enlargement import enlarged
from credibly.hypotests import inflate, witness_test
from credibly.predictions import ClassPredictions, Ensemble
from credibly.predictions.ensemble import weighted_mean
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData, with_scores
from credibly.recalibrate.learned import learned, recorded
from credibly.recalibrate.members import MemberTemperatures, divided
from credibly.recalibrate.minimum import Convergence
from credibly.recalibrate.scores import mean_scores, require_finite_logits, scores_of, weights_of
from credibly.recalibrate.temperature import TemperatureScaling
from credibly.results.base import require_level

SPREADS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


@made_with_rng
@dataclasses.dataclass(eq=False)
class CredalRecalibration(Recalibration):
    """Temperatures of the members of an ensemble, and the smallest set that the credal test accepts.

    Parameters
    ----------
    temperatures : {"members", "shared"}, optional
        One temperature per member (the default), one for all members, or None for no temperatures.
    spreads : tuple of float
        Factors for the distance between members to try, increasing; 0 gives a single distribution, 1 leaves
        the set as the temperatures made it.
    margin : {"vacuous", "ball"}, optional
        How to enlarge the set if no spread is accepted, see `inflate`; without it such data are refused.
    held_out : float
        Share of the instances used to choose the spread.
    level : float
        Level at which a set counts as rejected.
    rng : int
        Seed of the split and of the tests, see `witness_test`.

    Attributes
    ----------
    member_temperatures : ndarray (m,)
        Set by `fit`.
    spread : float
        The chosen factor.
    pvalues : ndarray
        p-values of the factors that were tried, in the order of `spreads`.
    radius : float
        How far the margin extends; 0 if a spread was accepted.
    convergence : Convergence
        How the fit ended; its steps are the tests.

    Notes
    -----
    Not rejected does not mean calibrated: with few held-out instances a small set is enough. The spread was
    chosen on the data of the fit; test the recalibrated set on others. With a margin, m members in k classes
    become m k members.

    References
    ----------
    Jürgens et al., *A calibration test for evaluating set-based epistemic uncertainty representations*,
    2025.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(400, 1, 2)) + 0.7 * rng.normal(size=(400, 3, 2))
    >>> ensemble = cr.Ensemble.from_logits(logits)
    >>> labels = (rng.random((400, 1)) > ensemble.probs[:, 0].cumsum(axis=1)).sum(axis=1)
    >>> method = cr.recalibrate.CredalRecalibration(temperatures="shared")
    >>> method.fit(ensemble, labels).apply(ensemble[:10])
    Ensemble(n=10, m=3, k=2, dtype=float64, 1 note)
    """

    temperatures: Literal["members", "shared"] | None = "members"
    spreads: tuple[float, ...] = SPREADS
    margin: Literal["vacuous", "ball"] | None = None
    held_out: float = 0.5
    level: float = 0.05
    rng: int = 0
    member_temperatures: HostArray = learned("m", positive=True, shown=True)
    spread: float = learned()
    pvalues: HostArray | None = recorded()
    radius: float = learned()
    method: ClassVar[str] = "credal"
    kinds: ClassVar[tuple[str, ...]] = ("Ensemble",)

    def __post_init__(self) -> None:
        one_of("`temperatures`", self.temperatures, ("members", "shared", None))
        one_of("`margin`", self.margin, ("vacuous", "ball", None))
        require_level(self.level)
        self.rng = require_integer(self.rng, "rng", 0)
        require_level(self.held_out, "`held_out`", "Write 0.5.")
        try:
            values = np.asarray(self.spreads, dtype=np.float64)
        except (TypeError, ValueError):  # no numbers at all
            values = np.empty(0)
        sound = values.ndim == 1 and values.size > 0 and (np.isfinite(values) & (values >= 0)).all()
        require(sound, "must be numbers of at least 0", f"Use {SPREADS!r}.", spreads=self.spreads)
        require((np.diff(values) > 0).all(), "must increase", "Sort them.", spreads=self.spreads)

    def describe(self) -> str:
        """Return spread and temperatures in words."""
        low, high = self.member_temperatures.min(), self.member_temperatures.max()
        margin = f", {self.margin} margin {self.radius:.3g}" if self.radius else ""
        return f"CredalRecalibration, spread {self.spread:g}{margin}, T from {low:.4g} to {high:.4g}"

    def _fit(self, data: FitData, features: Array | None) -> Convergence:
        labels = _single_labels(data)
        require_finite_logits(data.scores.values, "`CredalRecalibration`", "Give finite logits.")
        n, m = len(data.predictions), data.predictions.n_members
        codes, cut = data.clusters, round(n * (1 - self.held_out))
        drawn = np.random.default_rng(as_seed(self.rng))
        if codes is None:
            order = drawn.permutation(n)
        else:  # clusters stay whole
            ranks = drawn.permutation(int(codes.max()) + 1)[codes]
            order = np.argsort(ranks, kind="stable")
            cut = int(np.searchsorted(ranks[order], ranks[order[min(cut, n - 1)]]))
        if not 2 <= cut <= n - 2:
            raise UnsupportedError(
                "`CredalRecalibration`",
                "needs at least two instances to fit and two to test",
                f"got {cut} and {n - cut}",
                "Use more data, or another `held_out`.",
            )
        fitted, tested = np.sort(order[:cut]), np.sort(order[cut:])
        beside = data.predictions._leading
        temperatures = self._temperatures(data.predictions[fitted], like(labels[fitted], beside), m)
        left_out, seen = data.predictions[tested], like(labels[tested], beside)
        together = None if codes is None else codes[tested]
        self.pvalues, spread, radius = self._chosen(left_out, seen, temperatures, together)
        self.member_temperatures, self.spread, self.radius = temperatures, spread, radius
        before, after = (_loss(side, data) for side in (data.predictions, self._map(data.predictions, None)))
        message = f"p = {self.pvalues[-1]:.3g} at spread {spread:g}"
        if radius:
            message = f"no spread is accepted; a {self.margin} margin of {radius:.3g} is"
        return Convergence(True, len(self.pvalues), 0.0, before, after, message)

    def _chosen(
        self, sets: ClassPredictions, labels: Array, temperatures: HostArray, clusters: HostArray | None
    ) -> tuple[HostArray, float, float]:
        """Return the p-values of the spreads tried, the smallest accepted one, and the radius around it."""
        words: dict[str, Any] = {"clusters": clusters, "rng": self.rng}
        pvalues: list[float] = []
        for spread in self.spreads:
            result = witness_test(spread_out(sets, temperatures, spread), labels, **words)
            pvalues.append(result.pvalue)
            if not result.rejects(self.level):
                return np.array(pvalues), float(spread), 0.0
        if self.margin is None:
            raise UnsupportedError(
                "the set",
                f"must contain the truth at a spread up to {self.spreads[-1]:g}",
                f"the test rejects all of {self.spreads!r} (largest p {max(pvalues):.3g})",
                'Give larger `spreads`, or enlarge the set beyond its members with margin="vacuous".',
            )
        grown = inflate(
            spread_out(sets, temperatures, 1.0), labels, by=self.margin, level=self.level, **words
        )
        return np.array(pvalues), 1.0, grown.radius

    def _temperatures(self, predictions: ClassPredictions, labels: Any, m: int) -> HostArray:
        if self.temperatures is None:
            return np.ones(m)
        if self.temperatures == "shared":
            return np.full(m, TemperatureScaling().fit(predictions, labels).temperature)
        fitted = MemberTemperatures().fit(predictions, labels).temperatures
        assert fitted is not None
        return fitted

    def _map(self, predictions: ClassPredictions, features: Array | None) -> ClassPredictions:
        made = spread_out(predictions, self.member_temperatures, self.spread)
        if self.radius:
            assert self.margin is not None and isinstance(made, Ensemble)
            made = enlarged(made, self.radius, self.margin)
        made._set(notes=(*predictions.notes, self._note))
        return made


def spread_out(predictions: ClassPredictions, temperatures: HostArray, spread: float) -> ClassPredictions:
    """Return members with their temperatures, `spread` times as far from their (weighted) centre."""
    values = divided(predictions, temperatures)
    centre = weighted_mean(values, weights_of(predictions))[:, None, :]
    return with_scores(predictions, centre + spread * (values - centre), "moved")


def _single_labels(data: FitData) -> HostArray:
    """Return one class per instance; the credal test is of single labels."""
    counts = to_host(data.counts)
    if data.weight is not None or not np.array_equal(counts.sum(axis=1), np.ones(len(counts))):
        raise UnsupportedError(
            "`CredalRecalibration`",
            "takes one label per instance and no weights, because the credal test uses single labels",
            "got counts or weights",
            Remedy("Draw one rater per instance: `labels = counts.draw(rng=0)`.", ONE_RATER),
        )
    return np.asarray(counts.argmax(axis=1))


def _loss(predictions: ClassPredictions, data: FitData) -> float:
    """Return the log loss per label of the mean."""
    mean = mean_scores(scores_of(predictions).values, weights_of(predictions))
    return -scalar(namespace(mean).mean(namespace(mean).sum(as_float64(data.counts) * mean, axis=-1)))
