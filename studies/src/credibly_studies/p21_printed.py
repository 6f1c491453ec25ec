"""P21 Tables 1 to 4: what the printed numbers say of each other, and of the text around them.

Counts of passed checks under both hypotheses bound from below how many single checks differ: |a - b| of 20.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

from credibly_studies.judging import holds
from credibly_studies.p21_claims import (
    ALWAYS,
    COVERAGE,
    ENERGY,
    GAP_FAILS,
    GAP_PASSES,
    MISTRUST,
    MORE_PASSES,
    NOISE,
    ORDER,
    SEEN_PASSES,
    SHARPER,
    SHIFT,
    TRUST,
    WEAK,
    WORST,
    YACHT,
)
from credibly_studies.p21_shift_printed import beyond
from credibly_studies.results import Claim, Findings, StudyTable, printed_claim
from credibly_studies.study import Run, Study

TABLE_1 = {
    "independent ensemble": ((0.088, 0.002), (1.0, 0.001)),
    "Bayesian ensemble": ((0.034, 0.008), (0.197, 0.396)),
    "MC dropout": ((0.227, 0.057), (0.186, 1.319)),
}
"""p and sharpness of the calibration error, in distribution and in the gap."""


@dataclasses.dataclass(frozen=True)
class Passed:
    """MC dropout on one data set of Tables 2 and 3: passes of 20, Bayesian and (in brackets) independent."""

    picp: tuple[int, int]
    calibration: tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Printed:
    """One row of Tables 2 and 3: means over 20 seeds and passes of 20; (b, i) for MC dropout."""

    mse: float
    picp: float
    picp_passes: tuple[int, ...]
    calibration: float
    calibration_passes: tuple[int, ...]


FLOW, NORMAL, RIDGE, PASSES, SQR = (
    "conditional flow",
    "conditional Gaussian",
    "Bayesian ridge",
    "MC dropout",
    "SQR",
)

TABLES_2_3 = {
    "bostonHousing": {
        FLOW: Printed(0.13, 0.93, (14,), 0.3, (19,)),
        NORMAL: Printed(0.14, 0.93, (17,), 0.4, (19,)),
        RIDGE: Printed(0.28, 0.95, (19,), 0.6, (19,)),
        PASSES: Printed(0.11, 0.50, (2, 0), 3.4, (20, 0)),
        SQR: Printed(0.11, 0.73, (0,), 1.0, (12,)),
    },
    "concrete": {
        FLOW: Printed(0.09, 0.92, (13,), 0.2, (19,)),
        NORMAL: Printed(0.09, 0.91, (13,), 0.4, (16,)),
        RIDGE: Printed(0.40, 0.95, (17,), 0.18, (20,)),
        PASSES: Printed(0.07, 0.69, (18, 0), 1.1, (20, 2)),
        SQR: Printed(0.07, 0.74, (0,), 0.7, (9,)),
    },
    "energy": {
        FLOW: Printed(0.0022, 0.96, (18,), 0.4, (18,)),
        NORMAL: Printed(0.0030, 0.97, (16,), 0.6, (15,)),
        RIDGE: Printed(0.09, 0.89, (7,), 0.5, (16,)),
        PASSES: Printed(0.0026, 0.97, (15, 18), 0.6, (1, 13)),
        SQR: Printed(0.0028, 0.97, (17,), 0.9, (13,)),
    },
    "kin8nm": {
        FLOW: Printed(0.081, 0.952, (20,), 0.11, (12,)),
        NORMAL: Printed(0.071, 0.947, (19,), 0.04, (17,)),
    },
    "naval-propulsion-plant": {
        FLOW: Printed(0.009, 0.98, (0,), 1.6, (0,)),
        NORMAL: Printed(0.012, 0.9995, (0,), 2.5, (0,)),
        RIDGE: Printed(0.055, 1.0, (0,), 8.033, (0,)),
        PASSES: Printed(0.005, 0.98, (1, 0), 1.3, (14, 0)),
        SQR: Printed(0.0052, 0.998, (0,), 1.7, (0,)),
    },
    "power-plant": {
        FLOW: Printed(0.048, 0.952, (19,), 0.05, (14,)),
        NORMAL: Printed(0.048, 0.947, (15,), 0.06, (15,)),
        RIDGE: Printed(0.072, 0.964, (8,), 0.03, (19,)),
        PASSES: Printed(0.046, 0.59, (20, 0), 2.0, (20, 0)),
        SQR: Printed(0.048, 0.93, (10,), 0.2, (5,)),
    },
    "wine-quality-red": {
        FLOW: Printed(0.6, 0.90, (5,), 0.24, (17,)),
        NORMAL: Printed(0.59, 0.95, (17,), 0.4, (12,)),
        RIDGE: Printed(0.63, 0.95, (18,), 0.18, (18,)),
        PASSES: Printed(0.57, 0.36, (0, 0), 4.3, (20, 0)),
        SQR: Printed(0.59, 0.81, (1,), 1.0, (3,)),
    },
    "yacht": {
        FLOW: Printed(0.004, 0.95, (18,), 1.4, (15,)),
        NORMAL: Printed(0.004, 0.99, (20,), 2.0, (12,)),
        RIDGE: Printed(0.35, 0.94, (19,), 0.6, (20,)),
        PASSES: Printed(0.004, 0.96, (8, 19), 2.8, (8, 10)),
    },
}
"""MSE of standardised targets, PICP of 95 % intervals, calibration error of 100 levels. Three rows of
kin8nm and SQR's of yacht are not in the text at hand."""

SEEDS = 20
DROPOUT = {
    "boston": Passed((2, 0), (20, 0)),
    "concrete": Passed((18, 0), (20, 2)),
    "energy": Passed((15, 18), (1, 13)),
    "naval": Passed((1, 0), (14, 0)),
    "power": Passed((20, 0), (20, 0)),
    "wine": Passed((0, 0), (20, 0)),
    "yacht": Passed((8, 19), (8, 10)),
}
"""kin8nm is the eighth data set; its row of MC dropout is not in the text at hand."""

CALIBRATION = {
    "boston": ((0.3, 0.4, 0.6, 1.0), 3.4),
    "concrete": ((0.2, 0.4, 0.18, 0.7), 1.1),
    "power": ((0.05, 0.06, 0.03, 0.2), 2.0),
    "wine": ((0.24, 0.4, 0.18, 1.0), 4.3),
}
"""Calibration error of flow, Gaussian, ridge and SQR, and of MC dropout."""

TABLE_4 = {
    "ECE": {
        "independent": (16, 13, 9, 4, 2),
        "Bayesian": (18, 15, 15, 14, 7),
        "MC dropout": (19, 18, 17, 16, 14),
    },
    "accuracy": {
        "independent": (15, 10, 8, 4, 2),
        "Bayesian": (18, 15, 15, 14, 7),
        "MC dropout": (18, 16, 15, 13, 12),
    },
}
"""Passes of 19 corruptions at severities 1 to 5."""

CORRUPTIONS = 19


@dataclasses.dataclass(frozen=True)
class PrintedSize:
    """How large the study is: it has one size.

    Parameters
    ----------
    tables : int
        Tables that are looked at.
    """

    tables: int


def bounds() -> dict[str, tuple[int, int, int]]:
    """Return, by data set, how many of 40 checks at least differ, mistrust a good and trust a bad model."""
    limits = {}
    for name, row in DROPOUT.items():
        gaps = [bayesian - independent for bayesian, independent in (row.picp, row.calibration)]
        mistrust, trust = (sum(max(sign * gap, 0) for gap in gaps) for sign in (1, -1))
        limits[name] = (mistrust + trust, mistrust, trust)
    return limits


def work(size: PrintedSize, run: Run) -> Findings:
    """Count, and check the sentences."""
    rows = [(name, *row.picp, *row.calibration, *bound) for (name, row), bound in
            zip(DROPOUT.items(), bounds().values(), strict=True)]  # fmt: skip
    columns = (
        "data", "PICP, Bayesian", "PICP, independent", "Calib, Bayesian", "Calib, independent",
        "differ, at least", "mistrust in a good model", "trust in a bad model",
    )  # fmt: skip
    shift = [
        (name, model, *counts, sum(counts)) for name, own in TABLE_4.items() for model, counts in own.items()
    ]
    tables = (
        StudyTable("dropout", "Tables 2 and 3, MC dropout: passes of 20", columns, rows),
        StudyTable(
            "shift",
            "Table 4: passes of 19 corruptions",
            ("check", "model", "severity 1", "2", "3", "4", "5", "of 95"),
            shift,
        ),
    )
    return Findings(tables[: size.tables], _claims(), {})


def agreeing_pairs(tables: Mapping[str, Mapping[str, Printed]], *, dropout: bool) -> tuple[int, int]:
    """Count pairs of models of a data set whose order by error is that by passed checks, and the others.

    By calibration error and by the distance of PICP from 95 %; ties in either count as neither. With dropout,
    the pairs of MC dropout with the others; without, all other pairs.
    """
    agree = differ = 0
    for rows in tables.values():
        for one, other in itertools.combinations(rows, 2):
            if (PASSES in (one, other)) != dropout:
                continue
            first, second = rows[one], rows[other]
            for errors, passes in (
                (
                    (abs(first.picp - NOMINAL), abs(second.picp - NOMINAL)),
                    (first.picp_passes[0], second.picp_passes[0]),
                ),
                (
                    (first.calibration, second.calibration),
                    (first.calibration_passes[0], second.calibration_passes[0]),
                ),
            ):
                order = (errors[1] - errors[0]) * (passes[0] - passes[1])
                agree += order > 1e-12
                differ += order < -1e-12
    return agree, differ


NOMINAL = 0.95


def _claims() -> list[Claim]:
    limits = bounds()
    differ, mistrust, trust = (sum(limit[at] for limit in limits.values()) for at in range(3))
    checks = 2 * SEEDS * len(limits)
    calibration = sum(abs(row.calibration[0] - row.calibration[1]) for row in DROPOUT.values())
    worst = {name: own > max(others) for name, (others, own) in CALIBRATION.items() if name != "boston"}
    apart = {name: TABLES_2_3[name] for name in ("concrete", "power-plant")}
    alone, mixed = (agreeing_pairs(TABLES_2_3, dropout=one) for one in (False, True))
    energy, yacht, wine = (TABLES_2_3[name] for name in ("energy", "yacht", "wine-quality-red"))
    return [
        printed_claim(
            *MISTRUST,
            f"at least {mistrust} of {checks} checks of MC dropout pass under the Bayesian hypothesis only",
            holds([mistrust > 0]),
        ),
        printed_claim(
            *TRUST,
            f"at least {trust} of {checks} pass under the independent hypothesis only (energy, yacht)",
            holds([trust > 0]),
        ),
        printed_claim(
            *ALWAYS,
            f"of MC dropout at least {calibration} of {checks // 2} checks of the calibration error "
            f"({calibration / checks * 2:.0%}) and {differ} of all {checks} ({differ / checks:.0%}) "
            "differ between the hypotheses",
            "cannot tell",
            "lower bounds from counts do not show almost all",
        ),
        printed_claim(
            *ORDER,
            f"{alone[0]} pairs of models agree, {alone[1]} differ; with MC dropout {mixed[0]} and {mixed[1]}",
            holds([alone[0] > 5 * alone[1], mixed[0] <= 2 * mixed[1]]),
        ),
        printed_claim(
            *WORST,
            f"worst in {sum(worst.values())} of {len(worst)} that can be read (kin8nm cannot); passes "
            + ", ".join(f"{DROPOUT[name].calibration[0]} of {SEEDS}" for name in worst),
            holds([*worst.values(), *(DROPOUT[name].calibration[0] == SEEDS for name in worst)]),
        ),
        printed_claim(
            *COVERAGE,
            "; ".join(
                f"{name} {rows[PASSES].picp}, {rows[PASSES].picp_passes[0]} of {SEEDS} passes"
                for name, rows in apart.items()
            ),
            holds(
                rows[PASSES].picp == min(row.picp for row in rows.values())
                and rows[PASSES].picp_passes[0] == max(row.picp_passes[0] for row in rows.values())
                for rows in apart.values()
            ),
        ),
        printed_claim(
            *WEAK,
            f"wine {wine[PASSES].picp}, {wine[PASSES].picp_passes[0]} of {SEEDS} passes (kin8nm cannot "
            "be read)",
            holds([wine[PASSES].picp < 0.5, wine[PASSES].picp_passes[0] == 0]),
        ),
        printed_claim(
            *ENERGY,
            f"{energy[PASSES].calibration} and {energy[SQR].calibration}; "
            f"{energy[PASSES].calibration_passes[0]} and "
            f"{energy[SQR].calibration_passes[0]} of {SEEDS}",
            holds(
                [
                    energy[PASSES].calibration < energy[SQR].calibration,
                    energy[PASSES].calibration_passes[0] < energy[SQR].calibration_passes[0],
                ]
            ),
        ),
        printed_claim(
            *YACHT,
            f"{yacht[PASSES].picp}; {yacht[PASSES].picp_passes[0]} of {SEEDS}, others "
            f"{min(one.picp_passes[0] for name, one in yacht.items() if name != PASSES)} to {SEEDS}",
            holds(
                yacht[PASSES].picp_passes[0] < one.picp_passes[0]
                for name, one in yacht.items()
                if name != PASSES
            ),
        ),
        *_gap_claims(),
        *_shift_claims(),
    ]


def _gap_claims() -> list[Claim]:
    """Return section 4.1 by the numbers of Table 1."""
    passes = {(name, at): TABLE_1[name][at][0] not in (0.0, 1.0) for name in TABLE_1 for at in (0, 1)}
    independent, bayesian, dropout = TABLE_1
    return [
        printed_claim(*GAP_FAILS, f"p {TABLE_1[independent][1][0]}", holds([not passes[independent, 1]])),
        printed_claim(
            *GAP_PASSES,
            f"p {TABLE_1[bayesian][1][0]} and {TABLE_1[dropout][1][0]}",
            holds([passes[bayesian, 1], passes[dropout, 1]]),
        ),
        printed_claim(
            *SEEN_PASSES,
            "p " + ", ".join(str(rows[0][0]) for rows in TABLE_1.values()),
            holds(passes[name, 0] for name in TABLE_1),
        ),
        printed_claim(
            *SHARPER,
            f"{TABLE_1[bayesian][1][1]} and {TABLE_1[dropout][1][1]}",
            holds([TABLE_1[bayesian][1][1] < TABLE_1[dropout][1][1]]),
        ),
    ]


def _shift_claims() -> list[Claim]:
    """Return section 4.2 by the numbers of Table 4 and App. I."""
    ece, accuracy = TABLE_4["ECE"], TABLE_4["accuracy"]
    noises = {name: beyond(name) for name in ("shot noise", "gaussian noise")}
    return [
        printed_claim(
            *MORE_PASSES,
            f"ECE {sum(ece['Bayesian'])} and {sum(ece['independent'])} of 95, accuracy "
            f"{sum(accuracy['Bayesian'])} and {sum(accuracy['independent'])}",
            holds(
                first >= second
                for own in TABLE_4.values()
                for first, second in zip(own["Bayesian"], own["independent"], strict=True)
            ),
            "in print the rows for ECE and accuracy are the same five numbers"
            if ece["Bayesian"] == accuracy["Bayesian"]
            else "",
        ),
        printed_claim(
            *SHIFT,
            f"passes ECE {sum(ece['MC dropout'])}, accuracy {sum(accuracy['MC dropout'])} of 95; at "
            f"severity 5 {ece['MC dropout'][-1]} and {accuracy['MC dropout'][-1]} of {CORRUPTIONS}",
            holds(own["MC dropout"][-1] > CORRUPTIONS / 2 for own in TABLE_4.values()),
        ),
        printed_claim(
            *NOISE,
            "; ".join(
                f"{name}: p of ECE 0.00 or 1.00 for every model from severity {first} on"
                for name, first in noises.items()
            ),
            holds(first <= 3 for first in noises.values()),
            "the networks for CIFAR-10-C are not at hand",
        ),
    ]


PRINTED = Study(
    name="p21-printed",
    title="Tables 1 to 4 against each other and against the text",
    reference="P21 Tables 1 to 4",
    small=PrintedSize(2),
    full=PrintedSize(2),
    work=work,
)
