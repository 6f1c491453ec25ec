"""A linear program in exact arithmetic: the oracle for rays in hulls that are thin in some classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def ray_length(members: np.ndarray, start: np.ndarray, direction: np.ndarray, flat: float = 1e-9) -> float:
    """Largest a with start + a direction in the hull, by the simplex method with fractions (Bland's rule).

    Classes in which the hull is thinner than `flat` of its extent are no constraint; a direction that moves
    in one of them leaves at once. The widest class follows from the others.
    """
    shifted = members - start
    width = np.abs(shifted).max(axis=0)
    widest = int(width.argmax())
    thin = [c for c in range(width.size) if c != widest and width[c] <= flat * width[widest]]
    if width[widest] <= 1e-12 or any(abs(direction[c]) > flat * np.linalg.norm(direction) for c in thin):
        return 0.0
    kept = [c for c in range(width.size) if c != widest and c not in thin]
    table = []
    for place, c in enumerate(kept):
        sign = -1 if direction[c] < 0 else 1
        row = [sign * (Fraction(float(p)) - Fraction(float(start[c]))) for p in members[:, c]]
        artificial = [Fraction(int(place == other)) for other in range(len(kept))]
        table.append([*row, *artificial, sign * Fraction(float(direction[c]))])
    m, r = len(members), len(kept)
    basis = [m + place for place in range(r)]
    if _least(table, basis, [0] * m + [1] * r, m + r) > flat:
        return 0.0
    total = _least(table, basis, [1] * m + [0] * r, m)
    return float(1 / total) if total else np.inf


def _least(table: list[list[Fraction]], basis: list[int], cost: list[int], columns: int) -> Fraction:
    """Pivot to the smallest cost over the first `columns` and return it."""
    reduced = [*map(Fraction, cost), Fraction(0)]
    for row, held in zip(table, basis, strict=True):
        reduced = [a - reduced[held] * b for a, b in zip(reduced, row, strict=True)]
    while (entering := next((j for j in range(columns) if reduced[j] < 0), None)) is not None:
        _, _, leaving = min(
            (row[-1] / row[entering], basis[i], i) for i, row in enumerate(table) if row[entering] > 0
        )
        pivot = table[leaving][entering]
        table[leaving] = [value / pivot for value in table[leaving]]
        for i, row in enumerate(table):
            if i != leaving and row[entering]:
                table[i] = [a - row[entering] * b for a, b in zip(row, table[leaving], strict=True)]
        reduced = [a - reduced[entering] * b for a, b in zip(reduced, table[leaving], strict=True)]
        basis[leaving] = entering
    return -reduced[-1]
