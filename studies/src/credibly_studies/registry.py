"""The studies that have a name. A new one is one more row."""

from __future__ import annotations

from typing import Any

from credibly_studies import (
    c25_ablations,
    c25_points,
    c25_sets,
    c25_tables,
    c25_vertices,
    d21_debiasing,
    d21_modes,
    d21_numerals,
    d21_printed,
    d21_table2,
    j25,
    j25_figures,
    j25_printed,
    m23,
    m23_printed,
    p21_corruption,
    p21_location,
    p21_printed,
    p21_quadratic,
    p21_uci,
    set_tables,
)
from credibly_studies.study import Study

_ALL: tuple[Study[Any], ...] = (
    m23.FIG1,
    m23.FIG2,
    m23.FIG3,
    m23.FIG4,
    m23_printed.PRINTED,
    set_tables.M23_TABLE1,
    j25.FIG3,
    j25.FIG4,
    j25_figures.FIGURES,
    j25_printed.PRINTED,
    set_tables.J25_TABLE1,
    c25_tables.PRINTED,
    c25_points.POINTS,
    c25_sets.DIGITS,
    c25_sets.SNLI,
    c25_vertices.FOUR_CLASSES,
    c25_ablations.ABLATIONS,
    d21_debiasing.FIG1,
    d21_numerals.FIG3,
    d21_modes.MODES_STUDY,
    d21_printed.PRINTED,
    d21_table2.TABLE2,
    p21_location.LOCATION,
    p21_quadratic.QUADRATIC,
    p21_uci.UCI,
    p21_corruption.CORRUPTION,
    p21_printed.PRINTED,
)

STUDIES: dict[str, Study[Any]] = {study.name: study for study in _ALL}


def studies() -> dict[str, Study[Any]]:
    """Return all studies by name.

    Returns
    -------
    dict of str to Study
        In the order of the papers.

    Examples
    --------
    >>> from credibly_studies import studies
    >>> "m23-fig1" in studies()
    True
    """
    return dict(STUDIES)
