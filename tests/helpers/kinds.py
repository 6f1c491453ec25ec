"""Which statistics are of classes and which of real values."""

from __future__ import annotations

import credibly as cr

REAL_STATISTICS = tuple(
    name for name, one in cr.statistics.registered().items() if "reals" in one.traits.labels
)
CLASS_STATISTICS = tuple(name for name in cr.statistics.registered() if name not in REAL_STATISTICS)
