"""Which statistics are of classes and which of real values; some are of both."""

from __future__ import annotations

import credibly as cr

REAL_STATISTICS = tuple(
    name for name, statistic in cr.statistics.registered().items() if "reals" in statistic.traits.labels
)
CLASS_STATISTICS = tuple(
    name for name, statistic in cr.statistics.registered().items() if "classes" in statistic.traits.labels
)
