"""Places and statements of C25's claims that more than one study asks about."""

from __future__ import annotations

TREND = ("C25 F.1, Fig. 8", "in general divergence and non-specificity rise together")
WRONG_LARGER = (
    "C25 F.3, Table 7",
    "wrong predictions have larger KL, NS and E than right ones (but for the NS of E-CNN)",
)
REPLACED = (
    "C25 F.1, Table 5",
    "DE is first at low trade-offs; as they grow, a point (DE Avg) takes its place",
)
VAGUE = ("C25 Sec. 6.1, Table 1", "EDL and E-CNN have a high non-specificity for all predictions")
LOWEST_CIFAR10 = ("C25 Sec. 6.1, Table 1", "on CIFAR-10 DE Avg and RS-NN have the lowest E")
TOP_TWO = (
    "C25 F.1, Table 5",
    "without points KL and JS both have RS-NN and DE as the top two",
)
JS_FIRST = ("C25 F.1, Table 5", "by JS RS-NN is first at most trade-offs")
SAMPLES = ("C25 F.5, Fig. 13", "E rises with the number of samples, more so for DE than for LB-BNN")
ENOUGH = ("C25 App. D, Table 4", "2k vertices are sufficient")
BETTER = ("C25 App. D, Table 4", "2k vertices are often even better than all k!")
REDUCES = ("C25 Sec. 6.1, F.3", "for points E reduces to the KL divergence")
CONFIDENCE = ("C25 F.6, Fig. 17", "NS has little correlation with confidence")
