"""How much of what a learned combination says about instances is noise it was learned from.

Learned f = truth + error, and the error is independent of what the truth says about held-out instances. So f
is spread out more than the truth, and labels follow only a share of it (regression dilution):

    share = argmax over s in [0, 1] of  sum_i log( s f(x_i)_y + (1 - s) mean(x_i)_y ),    i held out,
          ~ S / (S + E),    S the spread of the truth around the mean prediction, E that of the error.

Replicates drawn from f itself have a truth of spread S + E and again an error of spread E: the share looks
larger in them than it is, and a test finds them better calibrated than the observation. Drawn from
sqrt(share) f + (1 - sqrt(share)) mean, their truth has spread S.
"""

from __future__ import annotations

import math

import numpy as np

from credibly._arrays.namespace import HostArray

_LEAST = 1e-200


def held_out_share(learned: HostArray, mean: HostArray) -> float:
    """Return the share of `learned` in its likeliest mixture with `mean`; both hold f(x_i)_y, (n,)."""
    from scipy.optimize import brentq  # slow to load, and few tests need it

    learned, mean = np.maximum(learned, _LEAST), np.maximum(mean, _LEAST)

    def slope(share: float) -> float:  # falls with the share: the likelihood is concave in it
        return float(((learned - mean) / (share * learned + (1.0 - share) * mean)).sum())

    if slope(1.0) >= 0:
        return 1.0
    if slope(0.0) <= 0:
        return 0.0
    return float(brentq(slope, 0.0, 1.0, xtol=1e-9))


def kept_spread(learned: HostArray, mean: HostArray) -> float:
    """Return the factor that gives deviations of the learned combination from the mean their true spread."""
    return math.sqrt(held_out_share(learned, mean))
