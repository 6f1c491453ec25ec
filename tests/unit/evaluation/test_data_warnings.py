"""What is unusual about the data is said once, in a sentence with numbers."""

from __future__ import annotations

import numpy as np

import credibly as cr


def warnings(probs: np.ndarray, labels: list[int] | np.ndarray, **keywords: object) -> tuple[str, ...]:
    return cr.evaluate(probs, labels, n_resamples=19, statistics=["brier"], **keywords).warnings  # type: ignore[arg-type]


def plain(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(2), size=n), np.arange(n) % 2


def test_nothing_unusual() -> None:
    assert warnings(*plain(200)) == ()


def test_few_instances() -> None:
    assert warnings(*plain(60)) == (
        "There are only 60 instances: expect wide intervals and wide acceptance regions.",
    )


def test_absent_and_rare_classes_are_named() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(4), size=200)
    labels = np.zeros(200, dtype=int)
    labels[:3] = 2
    assert warnings(probs, labels, classes=["a", "b", "c", "d"]) == (
        "2 classes have no instance: b, d.",
        "1 class has fewer than 5 instances: c.",
    )


def test_a_rare_first_class_may_be_the_event() -> None:
    probs = np.random.default_rng(0).dirichlet([1, 9], size=200)
    labels = np.where(np.arange(200) < 20, 0, 1)
    (hint,) = warnings(probs, labels, classes=["fraud", "ok"])
    assert hint.startswith("Sentences are about ok, the second of two classes. If the event is fraud")
    assert hint.endswith("put its column second (for a table, `columns=` gives the order).")
    assert warnings(probs, labels) == ()  # classes without names
    assert warnings(probs[:, ::-1], 1 - labels, classes=["ok", "fraud"]) == ()
    assert warnings(*plain(200), classes=["no", "yes"]) == ()


def test_certainty_and_ties() -> None:
    probs, labels = plain(200)
    probs[:3] = [1.0, 0.0]
    probs[3:5] = 0.5
    certain, ties = warnings(probs, labels)
    assert certain == "3 of 200 instances are predicted with probability exactly 1."
    assert ties.startswith("In 2 of 200 instances several classes share the largest probability; the first")


def test_what_the_reader_of_the_file_said_comes_first() -> None:
    source = {"path": "p.npz", "dropped": 4, "notes": ["labels were uint8"]}
    assert warnings(*plain(200), source=source) == (
        "4 rows were dropped when the data were read.",
        "labels were uint8",
    )
    assert warnings(*plain(200), source={"dropped": [3, 8]})[0].startswith("2 rows were dropped")


def test_infinite_losses_are_counted_under_their_statistic() -> None:
    probs, labels = plain(200)
    probs[0] = [0.0, 1.0]  # its label is 0
    evaluation = cr.evaluate(probs, labels, n_resamples=19)
    assert "Log loss: 1 of 200 instances gave their label probability 0: infinite loss" in evaluation.notes
