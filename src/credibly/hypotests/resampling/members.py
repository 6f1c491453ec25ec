"""Labels under the two hypotheses of a predictive check: one member for all rows, or the mean of each row.

bayesian      j ~ weights once per replicate, then y_i ~ member j of every instance i
independent   y_i ~ the mean prediction of instance i

Both take the label of instance i in replicate d from the same uniform number, so with one member they
are the same replicates, and those of the consistency test.   P21 section 3.

Of draws and quantiles a replicate chooses the label among its draws, or its cell; see `choices`.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from credibly._arrays.errors import InputTypeError
from credibly._arrays.namespace import Array, HostArray, as_float64, namespace, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.hypotests.resampling.choices import (
    Cells,
    Choices,
    Pool,
    cell_codes,
    in_cells,
    is_joint,
    is_stratified,
    pooled,
)
from credibly.hypotests.resampling.replicates import Drawing, RealReplicates, Replicates
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Dataset,
    Dirichlet,
    Ensemble,
    Predictions,
    Quantiles,
    RealPredictions,
    Samples,
    as_point,
)

Hypothesis = Literal["bayesian", "independent"]


def drawn_members(predictions: Predictions, seed: Seed, n_resamples: int) -> HostArray:
    """Return the member that draws the labels of every replicate, (n_resamples,).

    Replicates are exchangeable, so their order is free. Of classes they come in the order of their members,
    so that each member is set up once.
    """
    uniform: HostArray = Uniforms(seed, Stream.MEMBERS).block(slice(0, n_resamples), slice(0, 1))[:, 0]
    weights = getattr(predictions, "weights", None)
    m = predictions.n_members
    if isinstance(predictions, Samples) and is_joint(predictions):
        return (uniform * (m + 1)).astype(np.intp)  # 0 chooses the labels themselves
    if isinstance(predictions, RealPredictions):
        return (uniform * m).astype(np.intp)
    if weights is None:
        return np.sort((uniform * m).astype(np.intp))
    steps = np.cumsum(to_host(as_float64(weights)))
    return np.sort(np.searchsorted(steps[:-1] / steps[-1], uniform, side="right"))


@dataclasses.dataclass(frozen=True)
class LabelSource:
    """Labels under one hypothesis, of any rows that are asked for.

    Attributes
    ----------
    hypothesis : {"bayesian", "independent"}
        How they are drawn.
    seed : tuple of int
        Key of the counters.
    members : ndarray (n_resamples,) or None
        The member behind every replicate; None under "independent". Of `Samples` with one joint draw per
        member, the draws chosen from the labels (0) and all of them.
    predictions : Predictions, optional
        Whose labels are drawn, all rows; those of the dataset itself where not given.
    """

    hypothesis: Hypothesis
    seed: Seed
    members: HostArray | None
    predictions: Predictions | None = None

    @classmethod
    def under(
        cls,
        hypothesis: Hypothesis,
        seed: Seed,
        n_resamples: int,
        few: Predictions,
        predictions: Predictions | None = None,
    ) -> LabelSource:
        """Draw the members of all replicates; `few` rows tell how many members there are."""
        members = drawn_members(few, seed, n_resamples) if hypothesis == "bayesian" else None
        return cls(hypothesis, seed, members, predictions)

    @classmethod
    def each(
        cls, hypothesis: Hypothesis, seed: Seed, n_resamples: int, few: Predictions
    ) -> list[LabelSource]:
        """Return the sources that a hypothesis is rejected with, all of them: one, or one for each member.

        Several draws of a member tell its labels only together with it, so members are taken one by one.
        """
        if hypothesis == "bayesian" and is_stratified(few):
            every = [np.full(n_resamples, j, dtype=np.intp) for j in range(few.n_members)]
            return [cls(hypothesis, seed, members) for members in every]
        return [cls.under(hypothesis, seed, n_resamples, few)]

    def pose(self, rows: Dataset) -> Dataset:
        """Return the rows as replicates see them: draws pooled with their labels, labels in cells."""
        if isinstance(rows.predictions, Samples):
            changed = self._own(rows) if self.predictions is not None else None
            assert changed is None or isinstance(changed, Samples)
            return pooled(rows, self.seed, shared=self.members is not None, changed=changed)
        return in_cells(rows) if isinstance(rows.predictions, Quantiles) else rows

    def _own(self, rows: Dataset) -> Predictions:
        """Return what the labels of these rows are drawn from."""
        if self.predictions is None:
            return rows.predictions
        whole = len(self.predictions) == len(rows)
        return self.predictions if whole else self.predictions[rows.start : rows.start + len(rows)]

    def __call__(self, rows: Dataset) -> Drawing:
        """Return the labels of rows that `pose` returned; they do not depend on how rows are cut."""
        if isinstance(rows.predictions, Pool):
            return Choices(rows.predictions, self.seed, self.members, rows.start)
        own = self._own(rows)
        if isinstance(own, Quantiles):
            if self.predictions is None:
                return Cells(own, self.seed, rows.start)
            assert isinstance(rows.predictions, Quantiles)
            return _InCells(RealReplicates(own, self.seed, first_row=rows.start), rows.predictions)
        if isinstance(own, RealPredictions):
            shared = self.members is not None
            return RealReplicates(own, self.seed, shared_member=shared, first_row=rows.start)
        assert isinstance(own, ClassPredictions)
        if self.members is None:
            return Replicates(as_point(own)[0].probs, self.seed, rows.start)
        return MemberReplicates(member_probs(own), self.members, self.seed, rows.start)


def consistent(seed: Seed) -> LabelSource:
    """Return labels drawn from what is predicted for their row."""
    return LabelSource("independent", seed, None)


@dataclasses.dataclass(frozen=True)
class _InCells:
    """Labels drawn from other quantiles, as the cells of these that they lie in."""

    drawn: RealReplicates
    predictions: Quantiles

    @property
    def on_device(self) -> bool:
        """Whether labels are made on a device."""
        return self.drawn.on_device

    def labels(self, reps: slice) -> Classes:
        """Return replicates `reps` of all rows."""
        return cell_codes(self.predictions, self.drawn.labels(reps).values)


def member_probs(predictions: ClassPredictions) -> Array:
    """Return what every member predicts, (n, m, k)."""
    if isinstance(predictions, Ensemble):
        return predictions.probs
    if isinstance(predictions, Dirichlet):
        # one label drawn from a distribution that is itself drawn is a label drawn from the mean
        means = predictions.member_means()
        return means if means.ndim == 3 else means[:, None, :]
    raise InputTypeError(
        "members", "are those of an Ensemble or a Dirichlet", f"got {type(predictions).__name__}", "Use one."
    )


class MemberReplicates:
    """Labels y[d, i] ~ probs[i, members[d]]: all instances of a replicate share the member.

    Parameters
    ----------
    probs : array (n, m, k)
        What every member predicts.
    members : ndarray (n_resamples,)
        The member behind every replicate.
    seed : tuple of int
        Key of the counters.
    first_row : int
        Index of row 0 among all instances.
    """

    def __init__(self, probs: Array, members: HostArray, seed: Seed, first_row: int = 0) -> None:
        self.members, self.seed, self.first_row = members, seed, first_row
        self.probs = probs
        self._set_up: tuple[int, Replicates] | None = None
        self.on_device = self._member(int(members[0])).on_device

    def _member(self, member: int) -> Replicates:
        if self._set_up is None or self._set_up[0] != member:
            self._set_up = member, Replicates(self.probs[:, member, :], self.seed, self.first_row)
        return self._set_up[1]

    def labels(self, reps: slice) -> Classes:
        """Return replicates `reps` of all rows."""
        own = self.members[reps]
        ends = [*(np.flatnonzero(np.diff(own)) + 1).tolist(), own.size]
        drawn, begin = [], 0
        for end in ends:  # runs of replicates with one member
            run = slice(reps.start + begin, reps.start + end)
            drawn.append(self._member(int(own[begin])).labels(run).values)
            begin = end
        return Classes(namespace(self.probs).concat(drawn, axis=0), int(self.probs.shape[-1]))
