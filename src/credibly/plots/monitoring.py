"""The evidence of a monitor over time, with the level of an alarm and the onset."""

from __future__ import annotations

import math

import numpy as np

from credibly.plots.drawing import Style
from credibly.plots.pictures import Picture, draws, mark
from credibly.results.monitor import MonitorResult

_HIGHEST = 12.0


@draws(MonitorResult, "evidence")
def evidence(result: MonitorResult) -> Picture:
    """E-value of a monitor over time, on a logarithmic scale.

    Parameters
    ----------
    result : MonitorResult
        From `credibly.Monitor.result`.
    """
    rows = np.array([0, *(row for row, _ in result.trace)], dtype=np.float64)
    logs = np.array([0.0, *(log for _, log in result.trace)])
    bound = math.log10(result.processes / result.level)
    top = min(max(bound + 1.0, float(logs.max()) + 0.5), _HIGHEST)
    bottom = min(-1.0, float(logs.min()) - 0.3)
    cut = f" (cut at {top:g})" * bool(logs.max() > top)
    drawn: Style = {"marker": None, "linewidth": 1.5}
    marks = [
        mark("line", "observed", rows, np.minimum(logs, top), label="e-value", **drawn),
        mark("across", "expected", bound, label=f"alarm at {result.processes / result.level:g}"),
    ]
    if result.alarm and result.alarm_row is not None:
        marks.append(mark("upright", "far", result.alarm_row, label="alarm"))
    if result.since is not None:
        marks.append(mark("upright", "second", result.since, label="onset", linestyle=":"))
    return Picture(
        "Evidence over time",
        result.sentence(),
        {"rows": rows.astype(np.int64), "log10 of the e-value": logs},
        marks,
        "rows with labels",
        f"log10 of the e-value{cut}",
        size=(5.0, 3.8),
        axes={"xlim": (0.0, max(1.0, 1.03 * float(rows[-1]))), "ylim": (bottom, top)},
        key_below=0.22,
    )
