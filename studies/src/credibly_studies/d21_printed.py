"""D21 Table 2: what the printed numbers say of each other, and of the text around them.

L = EL + IL,  EL = CE^2 + DE^2,  IL the same for all methods: it belongs to the raters
"""

from __future__ import annotations

import dataclasses

from credibly.evaluation import shown
from credibly_studies.judging import holds
from credibly_studies.results import Claim, Findings, StudyTable, printed_claim
from credibly_studies.study import Run, Study

HALF = 0.5e-4
"""Half of the last printed digit."""

IRREDUCIBLE = 0.2080
"""Of L minus EL, in all rows within their rounding."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of Table 2: order 1, then disagreement, then class-wise disagreement averaged over classes."""

    accuracy: float
    loss: float
    epistemic: float
    calibration_error: float
    dispersion_error: float
    disagreement_loss: float
    disagreement_error: float
    classwise_loss: float
    classwise_error: float


def _rows(text: str) -> dict[tuple[str, str], Row]:
    rows = {}
    for line in text.strip().splitlines():
        name, numbers = line.split("|")
        predicted, calibrated = (part.strip() for part in name.split(","))
        rows[predicted, calibrated] = Row(*map(float, numbers.split()))
    return rows


TABLE_2 = _rows("""
Raw, raw       | 0.9006 0.2515 0.0435 0.0600 0.1998 0.1477 0.0628 0.0153 0.0168
Raw, raw+alpha | 0.9006 0.2515 0.0435 0.0600 0.1998 0.1454 0.0406 0.0151 0.0098
Raw, ts        | 0.9006 0.2509 0.0430 0.0575 0.1992 0.1482 0.0663 0.0153 0.0176
Raw, ts+alpha  | 0.9006 0.2509 0.0430 0.0575 0.1992 0.1445 0.0261 0.0151 0.0085
Raw, vs        | 0.9010 0.2515 0.0435 0.0579 0.2005 0.1489 0.0696 0.0154 0.0177
Raw, vs+alpha  | 0.9010 0.2515 0.0435 0.0579 0.2005 0.1449 0.0318 0.0151 0.0086
MCDO, raw       | 0.8983 0.2517 0.0437 0.0586 0.2008 0.1470 0.0562 0.0152 0.0141
MCDO, raw+alpha | 0.8996 0.2518 0.0438 0.0610 0.2002 0.1450 0.0346 0.0151 0.0091
MCDO, ts        | 0.8986 0.2515 0.0435 0.0579 0.2004 0.1479 0.0635 0.0153 0.0154
MCDO, ts+alpha  | 0.8991 0.2515 0.0435 0.0586 0.2003 0.1442 0.0186 0.0151 0.0080
MCDO, vs        | 0.8997 0.2521 0.0441 0.0589 0.2016 0.1487 0.0664 0.0153 0.0156
MCDO, vs+alpha  | 0.9009 0.2519 0.0439 0.0575 0.2016 0.1446 0.0244 0.0151 0.0078
TTA, raw       | 0.9013 0.2458 0.0378 0.0642 0.1837 0.1441 0.0488 0.0150 0.0130
TTA, raw+alpha | 0.9025 0.2456 0.0376 0.0684 0.1816 0.1428 0.0334 0.0149 0.0094
TTA, ts        | 0.9012 0.2459 0.0379 0.0646 0.1837 0.1448 0.0553 0.0150 0.0143
TTA, ts+alpha  | 0.9011 0.2458 0.0378 0.0632 0.1839 0.1422 0.0197 0.0149 0.0083
TTA, vs        | 0.9031 0.2471 0.0392 0.0671 0.1862 0.1458 0.0598 0.0151 0.0149
TTA, vs+alpha  | 0.9025 0.2470 0.0391 0.0657 0.1864 0.1428 0.0247 0.0149 0.0082
TTA, ms        | 0.9001 0.2489 0.0410 0.0756 0.1878 0.1456 0.0561 0.0151 0.0153
TTA, ms+alpha  | 0.8991 0.2487 0.0407 0.0750 0.1873 0.1431 0.0268 0.0150 0.0087
""")
"""By kind of prediction and calibration."""

ALPHA = (
    "D21 Sec. 6, Table 2, Fig. 2b",
    "alpha-calibration consistently improves loss and calibration error of predicted disagreement",
)
KEEPS_MEAN = (
    "D21 Sec. 5.3, Sec. 6, Table 2",
    "alpha-calibration does not degrade the metrics of the mean of single predictions",
)
SCALING = (
    "D21 Sec. 6, Table 2, Fig. 2a",
    "temperature and vector scaling consistently improve the calibration loss for each kind of prediction",
)
DISPERSION = ("D21 Sec. 6, Table 2", "scaling does not necessarily improve the dispersion loss")
"""Place and statement of claims that other studies ask about, too."""

KINDS = ("Raw", "MCDO", "TTA")
PAIRS = [(kind, name) for kind, name in TABLE_2 if not name.endswith("+alpha")]


@dataclasses.dataclass(frozen=True)
class PrintedSize:
    """How large the study is: it has one size.

    Parameters
    ----------
    rows : int
        Rows of the table.
    """

    rows: int


def work(size: PrintedSize, run: Run) -> Findings:
    """Check the identities of every row, and the sentences about the table."""
    table = [
        (
            *key,
            row.loss - row.epistemic,
            row.epistemic,
            row.calibration_error**2 + row.dispersion_error**2,
            row.epistemic / row.loss,
        )
        for key, row in list(TABLE_2.items())[: size.rows]
    ]
    columns = ("prediction", "calibration", "L - EL", "EL", "CE^2 + DE^2", "EL / L")
    return Findings((StudyTable("rows", "Table 2 against itself", columns, table),), _claims(), {})


def _change(name: str, kind: str, first: str, second: str) -> float:
    return float(getattr(TABLE_2[kind, second], name) - getattr(TABLE_2[kind, first], name))


def _listed(name: str, kind: str, calibrations: tuple[str, ...]) -> str:
    cells = [
        f"{calibration} {getattr(TABLE_2[kind, calibration], name):.4f}"
        for calibration in calibrations
        if (kind, calibration) in TABLE_2
    ]
    return f"{kind}: {', '.join(cells)}"


def _claims() -> list[Claim]:
    raw = TABLE_2["Raw", "raw"]
    sums = {key: abs(row.loss - row.epistemic - IRREDUCIBLE) <= 2.1 * HALF for key, row in TABLE_2.items()}
    parts = {
        key: abs(row.calibration_error**2 + row.dispersion_error**2 - row.epistemic) <= 2 * HALF
        for key, row in TABLE_2.items()
    }
    scaled = {
        (kind, name): _change("calibration_error", kind, "raw", name)
        for kind in KINDS
        for name in ("ts", "vs")
    }
    better = sum(one < 0 for one in scaled.values())
    alpha = {
        (*key, name): _change(name, key[0], key[1], f"{key[1]}+alpha")
        for key in PAIRS
        for name in ("disagreement_loss", "disagreement_error", "classwise_loss", "classwise_error")
    }
    order_1 = {key: _change("epistemic", key[0], key[1], f"{key[1]}+alpha") for key in PAIRS}
    sampled = {kind: TABLE_2[kind, "raw"].epistemic - raw.epistemic for kind in ("MCDO", "TTA")}
    augmented = max(row.loss for key, row in TABLE_2.items() if key[0] == "TTA")
    others = min(row.loss for key, row in TABLE_2.items() if key[0] != "TTA")
    accurate = min(TABLE_2[key].accuracy for key in TABLE_2 if key[0] == "TTA")
    return [
        printed_claim(
            "D21 Sec. 6, Table 2",
            "L and EL of the raw classifier differ by 83 %",
            f"1 - EL / L = {1 - raw.epistemic / raw.loss:.3f}, what no method can reduce",
            holds([round(100 * (1 - raw.epistemic / raw.loss)) == 83]),
        ),
        printed_claim(
            *SCALING,
            f"CE falls in {better} of {len(scaled)} cases: "
            + "; ".join(_listed("calibration_error", kind, ("raw", "ts", "vs")) for kind in KINDS),
            holds(one < 0 for one in scaled.values()),
            "the table contradicts it for MCDO with vs and for TTA with both",
        ),
        printed_claim(
            *DISPERSION,
            "; ".join(_listed("dispersion_error", kind, ("raw", "ts", "vs", "ms")) for kind in KINDS),
            holds([any(_change("dispersion_error", kind, "raw", "vs") > 0 for kind in KINDS)]),
        ),
        printed_claim(
            *KEEPS_MEAN,
            "; ".join(f"{name}: EL changes by {order_1['Raw', name]:+.4f}" for name in ("raw", "ts", "vs")),
            holds(order_1["Raw", name] == 0 for name in ("raw", "ts", "vs")),
        ),
        printed_claim(
            "D21 Sec. 6, Table 2",
            "alpha-calibration slightly improves the metrics of the mean of MCDO and TTA",
            f"EL falls in {sum(one < -1e-9 for key, one in order_1.items() if key[0] != 'Raw')} of 7 cases, "
            f"MCDO raw {order_1['MCDO', 'raw']:+.4f}, ts {order_1['MCDO', 'ts']:+.4f}",
            holds(one < -1e-9 for key, one in order_1.items() if key[0] != "Raw"),
            "members of a mixture are weighted alike with and without alpha: passes differ",
        ),
        printed_claim(
            *ALPHA,
            f"lower in {sum(one < 0 for one in alpha.values())} of {len(alpha)} pairs; CE of disagreement of "
            f"Raw {raw.disagreement_error:.4f} to {TABLE_2['Raw', 'raw+alpha'].disagreement_error:.4f}",
            holds(one < 0 for one in alpha.values()),
        ),
        printed_claim(
            "D21 Sec. 6, Table 2",
            "L and accuracy are roughly linked and show an advantage of TTA",
            f"largest L of TTA {augmented:.4f}, smallest of the others {others:.4f}; smallest accuracy of "
            f"TTA {shown(accurate)}",
            holds([augmented < others]),
            "true of L in every row; the accuracy of ms (0.9001, 0.8991) is below that of Raw",
        ),
        printed_claim(
            "D21 Fig. 2a, Table 2",
            "TTA raises the calibration loss and substantially lowers the dispersion loss",
            f"CE {raw.calibration_error:.4f} to {TABLE_2['TTA', 'raw'].calibration_error:.4f}, DE "
            f"{raw.dispersion_error:.4f} to {TABLE_2['TTA', 'raw'].dispersion_error:.4f}; EL changes by "
            f"{sampled['TTA']:+.4f}, with MCDO by {sampled['MCDO']:+.4f}",
            holds(
                [
                    TABLE_2["TTA", "raw"].calibration_error > raw.calibration_error,
                    TABLE_2["TTA", "raw"].dispersion_error < raw.dispersion_error,
                ]
            ),
        ),
        *(dataclasses.replace(identity, further=True) for identity in _identities(sums, parts)),
    ]


def _identities(sums: dict[tuple[str, str], bool], parts: dict[tuple[str, str], bool]) -> list[Claim]:
    """Return checks of the table against itself."""
    return [
        printed_claim(
            "D21 Table 2, eq. 6",
            "L is EL plus what no method can reduce",
            f"L - EL is {IRREDUCIBLE:.4f} within rounding in {sum(sums.values())} of {len(sums)} rows",
            holds(sums.values()),
        ),
        printed_claim(
            "D21 Table 2",
            "EL is CL + DL, the squares of CE and DE",
            f"within rounding in {sum(parts.values())} of {len(parts)} rows",
            holds(parts.values()),
        ),
    ]


PRINTED = Study(
    name="d21-printed",
    title="Table 2 against itself and against the text",
    reference="D21 Table 2",
    small=PrintedSize(20),
    full=PrintedSize(20),
    work=work,
)
