"""Which statistics are of classes and which of real values; some are of both."""

from __future__ import annotations

import credibly as cr

REAL_STATISTICS = tuple(
    name for name, one in cr.statistics.registered().items() if "reals" in one.traits.labels
)
CLASS_STATISTICS = tuple(
    name for name, one in cr.statistics.registered().items() if "classes" in one.traits.labels
)
