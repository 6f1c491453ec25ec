"""What several parts of one computation need is made once, kept within memory, and forgotten at the end."""

from __future__ import annotations

import numpy as np

import credibly as cr
from credibly._arrays.remembered import remembered, remembering


def test_made_once_inside_a_block_and_anew_outside() -> None:
    made = []

    def make() -> tuple[np.ndarray]:
        made.append(1)
        return (np.zeros(3),)

    for _ in range(2):
        remembered("key", make)
    assert len(made) == 2
    with remembering():
        for _ in range(2):
            remembered("key", make)
    assert len(made) == 3
    with remembering():
        remembered("key", make)
    assert len(made) == 4


def test_the_oldest_gives_way_and_what_is_too_large_is_not_kept() -> None:
    made = []

    def make(name: str, size: int) -> None:
        remembered(name, lambda: made.append(name) or (np.zeros(size),))

    a_quarter = 2**20 // 4 // 8
    with cr.memory_limit(2**20), remembering():
        make("first", a_quarter // 2)
        make("second", a_quarter // 2)
        make("third", a_quarter // 2)
        make("second", a_quarter // 2)
        make("first", a_quarter // 2)
        assert made == ["first", "second", "third", "first"]
        make("huge", 2 * a_quarter)
        make("huge", 2 * a_quarter)
        assert made[4:] == ["huge", "huge"]


def test_what_is_spare_displaces_nothing_and_goes_first() -> None:
    made = []

    def make(name: str, share: float, spare: bool = False) -> None:
        size = int(share * 2**20 / 4 / 8)
        remembered(name, lambda: made.append(name) or (np.zeros(size),), spare=spare)

    with cr.memory_limit(2**20), remembering():
        make("needed", 0.5)
        make("spare", 0.4, spare=True)
        make("too much", 0.2, spare=True)
        for name in ("needed", "spare", "too much"):
            make(name, 0.2, spare=True)
        assert made == ["needed", "spare", "too much", "too much"]
        make("other", 0.4)
        for name in ("needed", "other", "spare"):
            make(name, 0.2)
        assert made[4:] == ["other", "spare"]


def test_quantiles_of_changed_predictions_are_not_those_of_before() -> None:
    mean = np.zeros((1, 2))
    given = cr.Gaussian(mean, np.ones((1, 2)))
    with remembering():
        assert given.quantile([0.5])[0, 0] == 0.0
    mean += 1.0
    assert given.quantile([0.5])[0, 0] == 1.0
