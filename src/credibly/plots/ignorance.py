"""Second labels: stated against supported ignorance, what further labels bring, how far raters agree."""

from __future__ import annotations

import numpy as np

from credibly._arrays.notes import counted
from credibly.evaluation import shown
from credibly.plots.drawing import shortened
from credibly.plots.pictures import Picture, draws, mark, ranges
from credibly.results.agreement import Agreement
from credibly.results.ignorance import Ignorance
from credibly.results.second_labels import SecondLabelPlan

_MOST_RATERS = 30


@draws(Ignorance, "ignorance")
def ignorance(found: Ignorance) -> Picture:
    """Supported against stated ignorance of instances that state similar ignorance.

    Parameters
    ----------
    found : Ignorance
        From `credibly.raters.ignorance`.
    """
    bins = found.by_size
    known = np.isfinite(bins.low)
    ends = np.concatenate([bins.stated, bins.supported, bins.high[known], [1e-6]])
    low = min(0.0, float(np.concatenate([bins.supported, bins.low[known]]).min()))
    top = 1.08 * float(ends.max())
    error = np.where(known, [bins.supported - bins.low, bins.high - bins.supported], 0.0)
    outside = known & ((bins.stated < bins.low) | (bins.stated > bins.high))
    return Picture(
        "Ignorance by its size",
        f"In {int(outside.sum())} of {counted(len(bins.count), 'bin')} the stated ignorance lies outside the "
        f"95 % interval of what pairs of labels support; on average {shown(found.stated.value)} is stated "
        f"and {shown(found.supported.value)} supported.",
        {
            "instances": bins.count,
            "stated": bins.stated,
            "supported": bins.supported,
            "95 % interval": ranges(bins.low, bins.high),
        },
        [
            mark("diagonal", "expected", (0, 0), (1, 1), label="honest"),
            mark(
                "errorbar",
                "observed",
                bins.stated,
                bins.supported,
                error,
                label="supported, 95 % interval",
                linestyle="none",
                capsize=2,
            ),
        ],
        "stated ignorance (variance)",
        "supported by pairs of labels",
        axes={"xlim": (0.0, 1.08 * float(bins.stated.max()) or 1.0), "ylim": (1.08 * low, top)},
    )


@draws(SecondLabelPlan, "gains")
def gains(plan: SecondLabelPlan) -> Picture:
    """What the next labels are expected to bring, one after the other, against instances at random.

    Parameters
    ----------
    plan : SecondLabelPlan
        From `credibly.raters.plan_second_labels`.
    """
    number = np.arange(len(plan.order) + 1)
    total = np.concatenate([[0.0], np.cumsum(plan.gains)])
    at_random = plan.random_gain * number / max(len(plan.order), 1)
    return Picture(
        "What further labels are expected to bring",
        plan.sentence(),
        {"labels": number, "by gain": total, "at random": at_random},
        [
            mark("line", "observed", number, total, label="where they help most", marker=None),
            mark("line", "expected", number, at_random, label="at random"),
        ],
        "further labels",
        "squared error taken off",
    )


@draws(Agreement, "raters")
def raters(found: Agreement) -> Picture:
    """How often each rater agrees with the others, lowest first.

    Parameters
    ----------
    found : Agreement
        From `credibly.raters.agreement`.
    """
    if found.by_rater is None or found.raters is None or found.n_labels is None:
        value = found.krippendorff
        low, high = value.interval() if value.has_interval else (value.value, value.value)
        return Picture(
            "Agreement beyond chance",
            f"Krippendorff's alpha is {shown(value.value)}.",
            {"alpha": [value.value], "95 % interval": ranges([low], [high])},
            [
                mark("hlines", "observed", [0], [low], [high]),
                mark("dots", "observed", [value.value], [0]),
            ],
            "Krippendorff's alpha",
            "",
            axes={"yticks": []},
        )
    order = np.argsort(found.by_rater.value, kind="stable")[:_MOST_RATERS]
    parts = [found.by_rater[int(place)] for place in order]
    ends = np.array([part.interval() if part.has_interval else (np.nan, np.nan) for part in parts])
    values, place = np.array([part.value for part in parts]), np.arange(len(parts))
    names = [found.raters[one] for one in order]
    known = np.isfinite(ends[:, 0])
    return Picture(
        "Agreement of each rater with the others",
        f"{names[0]} agrees least with the other raters of the same instances ({shown(float(values[0]))}); "
        f"Krippendorff's alpha is {shown(found.krippendorff.value)}.",
        {
            "rater": names,
            "labels": found.n_labels[order],
            "agreement": values,
            "95 % interval": ranges(ends[:, 0], ends[:, 1]),
        },
        [
            mark("hlines", "observed", place[known], ends[known, 0], ends[known, 1]),
            mark("dots", "observed", values, place),
        ],
        "share of the others who gave the same label",
        "",
        axes={"yticks": place, "yticklabels": [shortened(name) for name in names]},
    )
