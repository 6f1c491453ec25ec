"""Faults of class predictions: what shows them, how repairs are tried, how large they are."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from credibly._arrays.errors import CrediblyError
from credibly._arrays.namespace import HostArray, as_float64, to_host
from credibly._arrays.notes import without_warnings
from credibly._arrays.philox import Seed
from credibly.diagnosis.choosing import Tried, Weighing
from credibly.diagnosis.results import Claim, Effect
from credibly.diagnosis.screen import Family, families_of, indicators, signed_sums
from credibly.diagnosis.table import CLASSES, Fault
from credibly.hypotests.calibration.lattice import Attribute
from credibly.hypotests.resampling.loop import label_tiles
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Classes, Confidence, LabelCounts, Point
from credibly.recalibrate.files import named_recalibration
from credibly.recalibrate.fit_data import FitData, fit_data
from credibly.recalibrate.folds import cross_fitted
from credibly.recalibrate.scores import scores_of

PARTS = 10
"""Parts of the curve that are looked at."""
MOST_SLOPES = 20
"""Classes up to which each has a slope of its own."""
FEWEST = 10
"""Rows of a claim."""
MOST_ATTRIBUTES = 2
"""Attributes whose groups are repaired, those that show most."""
_RARE = 0.15  # an event below this frequency is spoken of by its own probability
_NEVER = -1e4  # log-probability of a class that no label has: any finite number adds nothing
_LATE = 2.0  # the least size of a claim leads if it is beyond as many standard errors


@dataclasses.dataclass(frozen=True, eq=False)
class ClassSubject:
    """Class predictions with labels, in memory and on the host.

    Attributes
    ----------
    point : Point
        One distribution per row.
    labels : ndarray (n,) or LabelCounts
        What was observed.
    tested : ndarray (n,)
        One label per row, drawn where there are several: what the test sees.
    attributes : sequence of Attribute
        What groups are made of.
    weighing : Weighing
        Weights and clusters of the rows.
    """

    point: Point
    labels: Any
    tested: HostArray
    attributes: Sequence[Attribute]
    weighing: Weighing

    def __post_init__(self) -> None:
        scores = scores_of(self.point)
        logs, probs = to_host(scores.values), to_host(as_float64(self.point.probs))
        object.__setattr__(self, "probs", probs)
        object.__setattr__(self, "logs", logs)
        object.__setattr__(self, "meant", np.exp(logs) if scores.is_rounded else probs)
        top = np.ones(len(probs), dtype=np.intp) if self.is_answer else probs.argmax(axis=1)
        object.__setattr__(self, "top", top)
        shares = None
        if isinstance(self.labels, LabelCounts):
            counts = to_host(self.labels.counts).astype(np.float64)
            shares = counts / counts.sum(axis=1, keepdims=True)
        object.__setattr__(self, "shares", shares)

    probs: HostArray = dataclasses.field(init=False)
    meant: HostArray = dataclasses.field(init=False)
    """What the test draws labels from: that a small number was rounded to 0 is no fault of a model."""
    logs: HostArray = dataclasses.field(init=False)
    top: HostArray = dataclasses.field(init=False)
    shares: HostArray | None = dataclasses.field(init=False)

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.probs.shape[1])

    @property
    def is_event(self) -> bool:
        """Whether there are two classes, so that all is about the second."""
        return self.k == 2

    @property
    def is_answer(self) -> bool:
        """Whether the event is a right answer, so that its probability is the confidence."""
        return isinstance(self.point, Confidence)

    @property
    def seen(self) -> HostArray:
        """The probability that is looked at: of the event, or of the most probable class."""
        return self.probs[:, 1] if self.is_event else self.probs.max(axis=1)

    @property
    def loss(self) -> str:
        """What repairs are judged by."""
        return "log loss"

    @property
    def faults(self) -> list[Fault]:
        """The rows of the table that such data allow."""
        left_out = set() if self.attributes else {"groups"}
        left_out |= {"several", "few"} if self.is_event else set()
        left_out |= {"few"} if self.k > MOST_SLOPES else set()
        return [fault for fault in CLASSES if fault.needs not in left_out]

    @property
    def within(self) -> tuple[float, float]:
        """Paired standard errors by which a larger repair must beat a smaller one: for all rows, by group."""
        return 1.5, 1.0

    @property
    def prefers(self) -> dict[str, str]:
        """Faults that are told as another one if both repairs gain the same.

        For a rare event a temperature is nearly a bias, which says more: the event is stated too often. In a
        group that counts where the event is rare there.
        """
        if self.is_answer:
            return {"temperature": "bias", "group temperature": "group bias"}
        preferred = {} if self._event_or_confidence() is None else {"temperature": "bias"}
        if self.is_event and self.attributes:
            fault = next(fault for fault in CLASSES if fault.name == "group temperature")
            rows = self.rows_of(self.largest(fault, None).claim)
            if preferred or float((self.top[rows] == 1).mean()) < _RARE:
                preferred["group temperature"] = "group bias"
        return preferred

    # ------------------------------------------------------------------------------------------ the one test

    def families(self, seed: Seed, n_resamples: int) -> list[Family]:
        """Return sums that show each kind of fault, for the labels and for labels drawn from predictions."""
        shared, of_class, names = self._columns()
        if self.weighing.clusters is None:
            sums = self._drawn(shared, of_class, seed, n_resamples)
        else:
            sums = self._signed(shared, of_class, seed, n_resamples)
        return families_of(names, sums, CLASSES, pooled="curve")

    def _columns(self) -> tuple[list[HostArray], list[HostArray], list[str]]:
        """Return what a label of each class adds: to sums over all classes, (n, s), and to its own, (n, o).

        Names say which family a sum belongs to, those over all classes first, then class by class.
        """
        n = len(self.probs)
        groups = indicators(self.attributes, n).astype(np.float32)
        order = np.argsort(self.seen, kind="stable")
        part = np.empty(n, dtype=np.intp)
        part[order] = np.arange(n) * PARTS // n
        parts = (part[:, None] == np.arange(PARTS)).astype(np.float32)
        names = ["temperature", "temperature", *["curve"] * PARTS]
        names += ["group temperature"] * (2 * groups.shape[1])
        ones, slopes = np.ones((n, 1), dtype=np.float32), 2 < self.k <= MOST_SLOPES
        shared, of_class = [], []
        for c in range(self.k):
            log = np.maximum(self.logs[:, c : c + 1], _NEVER).astype(np.float32)
            hit = (self.top == c)[:, None].astype(np.float32)
            event = np.float32(c == 1) if self.is_event else hit
            shared.append(np.hstack([log, hit, parts * event, groups * log, groups * hit]))
            of_class.append(np.hstack([ones, *([log] if slopes or self.is_event else []), groups]))
        each = ["bias", *(["vector"] if slopes else ["bias+temperature"] if self.is_event else [])]
        each += ["group bias"] * groups.shape[1]
        if self.is_event:  # the first class tells the same as the second
            event_log = (self.logs[:, 1] - self.logs[:, 0])[:, None].astype(np.float32)
            of_class[1] = np.hstack([ones, event_log, groups])
            return [shared[1] - shared[0]], of_class[1:], names + each
        return shared, of_class, names + each * self.k

    def _drawn(
        self, shared: list[HostArray], of_class: list[HostArray], seed: Seed, n_resamples: int
    ) -> HostArray:
        """Return sums of the labels and of drawn ones, (1 + b, components)."""
        weights = self.weighing.weights.astype(np.float32)[:, None]
        first = self.k - len(of_class)
        tables = [np.hstack(both) * weights for both in zip(shared, of_class, strict=True)]
        width, rows = shared[0].shape[1], []
        observed = Classes(self.tested[None], self.k)
        drawing = Replicates(self.meant, seed)
        for _, batch in label_tiles(observed, drawing, slice(0, n_resamples)):
            total, each = 0.0, []
            for c, table in enumerate(tables, start=first):
                sums = (np.asarray(batch.values) == c).astype(np.float32) @ table
                total = total + sums[:, :width].astype(np.float64)
                each.append(sums[:, width:])
            rows.append(np.hstack([total, *each]))
        return np.concatenate(rows).astype(np.float64)

    def _signed(
        self, shared: list[HostArray], of_class: list[HostArray], seed: Seed, n_resamples: int
    ) -> HostArray:
        """Return residual sums, and the same with the signs of clusters changed, (1 + b, components)."""
        weights, first, n = self.weighing.weights[:, None], self.k - len(of_class), len(self.probs)
        total, mean, square = (np.zeros((n, shared[0].shape[1])) for _ in range(3))
        each, chance = [], []
        for c, (all_classes, one_class) in enumerate(zip(shared, of_class, strict=True), start=first):
            p = self.meant[:, c : c + 1]
            residual = weights * ((self.tested == c)[:, None] - p)
            total += residual * all_classes
            mean += p * all_classes
            square += p * all_classes.astype(np.float64) ** 2
            each.append(residual * one_class)
            chance.append((weights**2 * p * (1.0 - p)).T @ one_class.astype(np.float64) ** 2)
        of_shared = (weights**2 * (square - mean**2)).sum(axis=0, keepdims=True)
        assert self.weighing.clusters is not None
        return signed_sums(
            np.hstack([total, *each]),
            np.maximum(np.hstack([of_shared, *chance])[0], 0.0),
            self.weighing.clusters,
            seed,
            n_resamples,
        )

    # ---------------------------------------------------------------------------------------------- repairs

    def tried(self, faults: Sequence[Fault], folds: Sequence[HostArray]) -> Iterator[Tried]:
        """Yield every repair that can be fitted, with its losses on other folds."""
        attributes = self._clearest()
        for fault in faults:
            if not fault.method:
                yield Tried(fault, None, self._losses(self.logs), self.probs)
                continue
            for by in attributes if fault.by_group else (None,):
                logs = self._repaired(fault.method, by, list(folds))
                if logs is not None:
                    name = None if by is None else by.name
                    yield Tried(fault, name, self._losses(logs), np.exp(logs))

    def _repaired(self, name: str, by: Attribute | None, folds: list[HostArray]) -> HostArray | None:
        """Return log-probabilities after a repair that other folds were fitted to; None where none fits."""
        beside = {"groups": None if by is None else by.codes}
        try:
            with without_warnings():  # what a fit says of these data stands in no report
                method = named_recalibration(name)
                _, made = cross_fitted(method, self.point, self.labels, beside, folds, data=self._fit_data)
        except CrediblyError:  # a repair that these data do not allow is none
            return None
        return to_host(scores_of(made).values)

    @functools.cached_property
    def _fit_data(self) -> FitData:
        """What all repairs are fitted to."""
        weights = self.weighing.weights
        data = fit_data(self.point, self.labels, None if (weights == 1.0).all() else weights)
        return dataclasses.replace(data, clusters=self.weighing.clusters)

    def _clearest(self) -> list[Attribute]:
        """Return the attributes whose groups differ most from what is stated, at most two."""
        ranked = []
        for attribute in self.attributes:
            if len(attribute.levels) < 2:
                continue
            z = 0.0
            weights = self.weighing.weights
            for c in range(1 if self.is_event else 0, self.k):
                p = self.probs[:, c]
                sums = np.bincount(attribute.codes, weights * ((self.tested == c) - p), len(attribute.levels))
                spread = (
                    np.bincount(attribute.codes, weights**2 * p * (1.0 - p), len(attribute.levels)) + 0.25
                )
                z = max(z, float((np.abs(sums) / np.sqrt(spread)).max()))
            ranked.append((z, attribute))
        ranked.sort(key=lambda pair: -pair[0])
        return [attribute for _, attribute in ranked[:MOST_ATTRIBUTES]]

    def _losses(self, logs: HostArray) -> HostArray:
        if self.shares is not None:
            return np.asarray(-(self.shares * logs).sum(axis=1))
        return np.asarray(-logs[np.arange(len(logs)), self.labels])

    def base_losses(self) -> HostArray:
        """Return the loss of stating the frequencies of the other rows."""
        counts = self._observed_counts()
        shares = np.eye(self.k)[self.labels] if self.shares is None else self.shares
        others = counts[None, :] - shares + 0.5
        return np.asarray(-(shares * np.log(others / others.sum(axis=1, keepdims=True))).sum(axis=1))

    def _observed_counts(self) -> HostArray:
        if self.shares is not None:
            return np.asarray(self.shares.sum(axis=0))
        return np.bincount(self.labels, minlength=self.k).astype(np.float64)

    def rolled_losses(self, by: int) -> HostArray:
        """Return losses of the predictions against the labels of rows further down."""
        rolled = np.roll(self.tested, by)
        return np.asarray(-self.logs[np.arange(len(rolled)), rolled])

    @property
    def is_inverted(self) -> bool:
        """Whether the surest answers are wrong most often, by more than three standard errors."""
        seen = self.logs[:, 1] - self.logs[:, 0] if self.is_event else self.logs.max(axis=1)
        right = self.tested if self.is_event else (self.tested == self.top)
        right = right.astype(np.float64)
        if np.ptp(seen) < 1e-9 or np.ptp(right) == 0:
            return False
        apart = self.weighing
        centred = (seen - apart.mean(seen)) * (right - apart.mean(right))
        return apart.mean(centred) < -3.0 * apart.stderr(centred)

    # ---------------------------------------------------------------------------------------------- effects

    def largest(self, fault: Fault, by: str | None, probs: HostArray | None = None) -> Effect:
        """Return the largest of all effects that a fault may have, of the predictions or of repaired ones."""
        stated = self.probs if probs is None else probs
        effects = []
        claims = [(claim, self.rows_of(claim)) for claim in self.claims(fault, by, stated)]
        large = [pair for pair in claims if np.count_nonzero(pair[1]) >= FEWEST]
        for claim, keep in large or [max(claims, key=lambda pair: np.count_nonzero(pair[1]))]:
            says, happened = self._compared(stated, claim, keep)
            rows = self.weighing.rows(keep)
            apart = says - happened
            size, error = rows.mean(apart), rows.stderr(apart, event=1.0)
            leads = abs(size) / error if fault.effect == "range" else abs(size) - _LATE * error
            effects.append(
                (leads, rows.mean(says), rows.mean(happened), rows.stderr(apart), claim, int(keep.sum()))
            )
        _, says_mean, share, error, claim, n = max(effects, key=lambda pair: pair[0])
        low, high = _share_interval(share, error, n, float(-ndtri(0.025 / len(effects))))
        return Effect(claim, says_mean, share, says_mean - share, (says_mean - high, says_mean - low), n)

    def remains(self, claim: Claim, probs: HostArray) -> float:
        """Return the size of a claim after a repair, on the same rows."""
        keep = self.rows_of(claim)
        says, happened = self._compared(probs, claim, keep)
        return self.weighing.rows(keep).mean(says - happened)

    def _compared(self, probs: HostArray, claim: Claim, keep: HostArray) -> tuple[HostArray, HostArray]:
        """Return what is stated and what happened, of the rows of a claim."""
        rows = np.flatnonzero(keep)
        column = probs[rows].argmax(axis=1) if claim.label is None else np.full(rows.size, claim.label)
        column = self.top[rows] if self.is_answer else column
        says = probs[rows, column]
        if self.shares is not None:
            return says, self.shares[rows, column]
        return says, (self.labels[rows] == column).astype(np.float64)

    def rows_of(self, claim: Claim) -> HostArray:
        """Return which rows a claim is about."""
        keep = np.ones(len(self.probs), dtype=bool)
        if claim.group is not None:
            attribute = next(attribute for attribute in self.attributes if attribute.name == claim.group[0])
            keep &= attribute.codes == attribute.levels.index(claim.group[1])
        if claim.between is not None:
            confidence = self.seen if self.is_answer else self.probs.max(axis=1)
            seen = confidence if claim.label is None else self.probs[:, claim.label]
            keep &= (seen >= claim.between[0]) & (seen <= claim.between[1])
        return keep

    def claims(self, fault: Fault, by: str | None, stated: HostArray) -> list[Claim]:
        """Return all effects that a fault may have; the largest is reported."""
        event = self.is_event and not self.is_answer
        labels: list[int | None] = [None] if self.is_answer else [1] if event else [*range(self.k)]
        groups: list[tuple[str, str] | None] = [None]
        if fault.by_group:
            groups = [
                (attribute.name, level)
                for attribute in self.attributes
                if by in (None, attribute.name)
                for level in attribute.levels
            ]
        if fault.effect == "confidence":
            event_only = self._event_or_confidence()
            measure = "class" if event_only == 1 else "confidence"
            return [Claim(measure, event_only, group) for group in groups]
        if fault.effect == "class":
            about = "confidence" if self.is_answer else "class"
            return [Claim(about, label, group) for group in groups for label in labels]
        if fault.effect == "ends" and not self.is_event:
            return [*(Claim("class", label) for label in labels), Claim("confidence")]
        label = 1 if event else None
        seen, measure = self.seen, "class" if event else "confidence"
        if fault.effect == "ends":
            low, high = (float(end) for end in np.quantile(seen, [0.1, 0.9]))
            ends = [Claim(measure, label, between=(high, 1.0)), Claim(measure, label, between=(0.0, low))]
            whole = Claim(measure, label)
            return [whole] if self._are_all_off(stated, whole, ends) else ends
        cuts = np.unique(np.quantile(seen, np.linspace(0.0, 1.0, PARTS + 1))).tolist()
        return [
            Claim(measure, label, between=(cuts[a], cuts[b]))
            for a in range(len(cuts) - 1)
            for b in range(a + 1, min(a + 5, len(cuts)))
        ] or [Claim(measure, label)]

    def _are_all_off(self, stated: HostArray, whole: Claim, ends: Sequence[Claim]) -> bool:
        """Tell whether all rows and both ends are clearly off in one direction: a bias, not a tilt."""
        signs = set()
        for claim in (whole, *ends):
            keep = self.rows_of(claim)
            says, happened = self._compared(stated, claim, keep)
            rows = self.weighing.rows(keep)
            size, error = rows.mean(says - happened), rows.stderr(says - happened, event=1.0)
            signs.add(np.sign(size) * (abs(size) > _LATE * error))
        return signs in ({1.0}, {-1.0})

    def _event_or_confidence(self) -> int | None:
        """Return 1 where confidence says nothing of the event, because it is rarely the probable class."""
        rare = self.is_event and float((self.top == 1).mean()) < _RARE
        return 1 if rare else None  # answers are all predicted to be right

    def direction(self, fault: Fault, effect: Effect) -> int:
        """Return 1 for too sure, too often, too high, too extreme, and -1 for the opposite."""
        sign = int(np.sign(effect.size))
        if fault.effect == "ends" and effect.claim.between is not None and effect.claim.between[1] < 1.0:
            return -sign  # too low at the lower end is too extreme
        if fault.effect == "confidence" and effect.claim.measure == "class":
            return -sign  # an event that is stated too rarely, because the model is too sure of the other
        return sign


def _share_interval(share: float, error: float, n: int, z: float) -> tuple[float, float]:
    """Return Wilson's interval of a share whose standard error is given; few events are not symmetric."""
    spread = share * (1.0 - share)
    number = spread / error**2 if spread > 0.0 and error > 0.0 else float(n)
    wide = 1.0 + z * z / number
    middle = (share + 0.5 * z * z / number) / wide
    half = z * np.sqrt(spread / number + 0.25 * (z / number) ** 2) / wide
    return float(middle - half), float(middle + half)
