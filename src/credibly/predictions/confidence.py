"""Answers with a stated probability of being right; labels say whether they were."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import as_array, as_real, require_rows, require_shares
from credibly._arrays.doors import checked
from credibly._arrays.namespace import Array, as_float64, is_numpy, namespace
from credibly.predictions.base import ClassPredictions
from credibly.predictions.point import Point

OUTCOMES = ("wrong", "right")
"""What the label of an answer can be."""
_RIGHT = {"right", "correct", "true", "yes", "c", "1", "1.0", "pass", "passed"}
_WRONG = {"wrong", "incorrect", "false", "no", "i", "0", "0.0", "fail", "failed"}


@dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)
class Confidence(Point):
    """Answers with the stated probability that each is right; the labels are right or wrong.

    Parameters
    ----------
    stated : array (n,)
        Probabilities from 0 to 1. A confidence below one half stays what it is: nothing is known of other
        answers, so it says nothing about them.

    Attributes
    ----------
    probs : array (n, 2)
        Probabilities of a wrong and of a right answer.

    Notes
    -----
    Labels may be booleans, 0 and 1, or words such as "right" and "incorrect". Accuracy is the share of right
    answers, and confidence is what was stated. For what models write ("85 %", "very likely"), use
    `from_answers`; for repeated answers to each question, `from_samples`.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.confidence_gap(cr.Confidence([0.25, 0.25]), [True, False]))
    -0.25
    """

    def __init__(self, stated: Any) -> None:
        values = as_array(stated, "stated", "For words or percentages use `Confidence.from_answers`.")
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        values = as_real(values, "stated", "(n,)")
        remedy = "For percentages, or answers that may state no number, use `Confidence.from_answers`."
        require_shares(values, "stated", remedy)
        xp = namespace(values)
        values = as_float64(values)
        probs = xp.stack([1.0 - values, values], axis=1)
        self._set(probs=probs, logits=None, notes=(), classes=None, index=None)

    @property
    def stated(self) -> Array:
        """The stated probabilities of a right answer, (n,)."""
        return self.probs[:, 1]

    @classmethod
    @checked
    def from_answers(
        cls,
        answers: Sequence[Any],
        correct: Any,
        *,
        words: Mapping[str, float | None] | None = None,
        scale: float | None = None,
    ) -> Any:
        """Read confidences as models write them: numbers, percentages, and words of your choice.

        Parameters
        ----------
        answers : sequence of str, float or None
            What each answer states: ``0.85``, ``"0.85"``, ``"85%"``, ``85``, or one of `words`.
        correct : sequence of bool (n,)
            Whether each answer is right.
        words : mapping of str to float, optional
            Probabilities of words, such as ``{"likely": 0.7}``; None marks a refusal.
        scale : float, optional
            What plain numbers are out of: 1, 10 or 100. Default: 1 if none exceeds it; 100 if the largest
            is above 10 and none is a fraction below 1. Anything else is refused.

        Returns
        -------
        Dataset
            The rows that state a confidence, with their labels. Its notes count the others by reason.

        Examples
        --------
        >>> import credibly as cr
        >>> data = cr.Confidence.from_answers(
        ...     ["85%", "likely", "I can't say"], [1, 1, 0], words={"likely": 0.7}
        ... )
        >>> data.predictions.stated.tolist(), data.notes[0]
        ([0.85, 0.7], '1 of 3 answers is left out, because it states no confidence: 1 a refusal')
        """
        # tach-ignore(what models write is read by the room above)
        from credibly.io.answers import of_answers

        return of_answers(answers, correct, words, scale)

    @classmethod
    def from_samples(cls, samples: Sequence[Sequence[Any]], answers: Sequence[Any]) -> Any:
        """Take the most frequent of several sampled answers, and its share as the confidence.

        Parameters
        ----------
        samples : sequence of sequences
            The sampled answers to each question; None or "" is a sample without an answer.
        answers : sequence
            The right answer to each question. Answers are compared as text, without case or outer spaces.

        Returns
        -------
        Dataset
            Confidences with labels. A note has the sampling error of these shares, which a few samples leave
            large.

        Examples
        --------
        >>> import credibly as cr
        >>> data = cr.Confidence.from_samples([["4", "4", "5"], ["7", "8", "7"]], ["4", "8"])
        >>> data.predictions.stated.round(2).tolist(), data.labels.tolist()
        ([0.67, 0.67], [1, 0])
        """
        # tach-ignore(what models write is read by the room above)
        from credibly.io.answers import of_samples

        return of_samples(samples, answers)

    def _facts(self) -> str:
        return f"n={len(self)}"


def has_event(predictions: Any) -> bool:
    """Tell whether there are two classes, of which the second is an event; answers have none."""
    two = isinstance(predictions, ClassPredictions) and predictions.n_classes == 2
    return two and not isinstance(predictions, Confidence)


def outcomes_of(labels: Any) -> Array:
    """Return labels right or wrong, in whatever form, as integers 1 and 0; anything else as it is."""
    array = np.asarray(labels) if isinstance(labels, (list, tuple)) else labels
    if not is_numpy(array) or array.ndim != 1:
        return array
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind not in "UO":
        return array
    words = [str(entry).strip().casefold() for entry in array.tolist()]
    codes = np.array([1 if word in _RIGHT else 0 if word in _WRONG else -1 for word in words])
    require_rows(
        (codes, np.array(words)),
        lambda places, _: places < 0,
        name="labels",
        rule="must say whether each answer is right: True and False, 1 and 0, or right and wrong",
        fact=lambda _, word: f"is {str(word)!r}" if word else "is empty",
        remedy="Compare answers with the truth first.",
    )
    return codes
