"""Numbers that C25 prints: Tables 1 to 10, by the paper's own numbering."""

from __future__ import annotations

import dataclasses

POINTS = ("SNN", "LB-BNN Avg", "DE Avg", "DDU")
"""Models that predict one distribution."""

SET_MODELS = ("LB-BNN", "DE", "EDL", "CreINN", "E-CNN", "RS-NN")
"""Models that predict sets, in the order of Table 8."""


@dataclasses.dataclass(frozen=True)
class Printed:
    """One row of Table 1 with its means of right and wrong predictions (Table 7).

    Means and standard deviations over instances at trade-off 1: distance (KL), non-specificity, score.
    """

    accuracy: float
    distance: float
    distance_std: float
    imprecision: float
    imprecision_std: float
    score: float
    score_std: float
    distance_right: float
    distance_wrong: float
    imprecision_right: float
    imprecision_wrong: float


def _rows(text: str) -> dict[str, Printed]:
    rows = {}
    for line in text.strip().splitlines():
        name, numbers = line.split("|")
        accuracy, *others = map(float, numbers.split())
        rows[name.strip()] = Printed(accuracy / 100, *others)
    return rows


# accuracy %, KL, std, NS, std, E, std (Table 1); KL right, wrong, NS right, wrong (Table 7)
SCORES = {
    "CIFAR-10": _rows("""
LB-BNN     | 89.24  0.243 1.315  0.166 0.398  0.409 1.381  0.009 2.181  0.109 0.637
DE         | 93.77  0.031 0.367  0.385 0.715  0.415 0.805  0.0001 0.489  0.306 1.566
EDL        | 59.13  0.002 0.011  2.267 0.067  2.270 0.066  0.00005 0.0051  2.253 2.288
CreINN     | 88.36  0.058 0.374  0.596 0.812  0.654 0.892  0.003 0.476  0.465 1.590
E-CNN      | 83.5   0.193 0.215  1.609 0.003  1.802 0.215  0.108 0.625  1.609 1.610
RS-NN      | 92.99  0.398 1.895  0.009 0.052  0.407 0.500  0.009 5.562  0.004 0.076
SNN        | 90.25  0.481 1.797  0 0  0.481 1.797  0.021 4.735  0 0
LB-BNN Avg | 89.24  0.420 1.520  0 0  0.420 1.520  0.034 3.628  0 0
DE Avg     | 93.77  0.195 0.763  0 0  0.195 0.763  0.050 2.378  0 0
DDU        | 91.34  0.309 1.115  0 0  0.309 1.115  0.031 3.243  0 0
"""),
    "MNIST": _rows("""
LB-BNN     | 99.55  0.002 0.126  0.091 0.380  0.093 0.401  0.00002 0.490  0.083 1.883
DE         | 99.32  0.002 0.072  0.067 0.320  0.070 0.331  0.00005 0.340  0.058 1.503
EDL        | 94.42  0.00007 0.002  2.260 0.054  2.260 0.054  0.00006 0.00062  2.255 2.301
CreINN     | 98.23  0.071 0.609  0.005 0.043  0.077 0.612  0.006 3.720  0.004 0.061
E-CNN      | 99.27  0.037 0.065  1.608 0.004  1.645 0.064  0.032 0.675  1.608 1.607
RS-NN      | 99.71  0.053 0.740  0.001 0.016  0.054 0.741  0.001 6.211  0.0004 0.056
SNN        | 98.90  0.043 0.497  0 0  0.043 0.497  0.004 3.484  0 0
LB-BNN Avg | 99.55  0.016 0.251  0 0  0.016 0.251  0.006 2.295  0 0
DE Avg     | 99.32  0.020 0.198  0 0  0.020 0.198  0.007 1.956  0 0
DDU        | 99.28  0.028 0.336  0 0  0.028 0.336  0.003 3.367  0 0
"""),
    "CIFAR-100": _rows("""
LB-BNN     | 71.34  0.146 0.504  2.348 1.771  2.494 1.781  0.006 0.399  1.790 3.353
DE         | 74.08  0.019 0.245  3.182 1.909  3.201 1.906  0.0001 0.074  2.780 4.331
EDL        | 45.76  0.010 0.192  3.434 1.843  3.445 1.840  0.005 0.015  2.629 4.114
CreINN     | 44.30  0.723 0.646  2.050 1.188  2.774 0.945  0.310 0.857  1.483 2.232
RS-NN      | 71.17  1.518 3.966  0.569 1.164  2.088 4.025  0.042 4.539  0.242 1.239
SNN        | 65.51  2.293 4.199  0 0  2.293 4.199  0.063 6.528  0 0
LB-BNN Avg | 71.34  1.617 2.886  0 0  1.617 2.886  0.167 4.235  0 0
DE Avg     | 74.08  1.062 1.924  0 0  1.062 1.924  0.284 3.285  0 0
DDU        | 73.44  1.180 2.260  0 0  1.180 2.260  0.102 4.161  0 0
"""),
}


@dataclasses.dataclass(frozen=True)
class PrintedRanking:
    """Models from best to worst at one trade-off, with their mean scores."""

    tradeoff: float
    models: tuple[str, ...]
    scores: tuple[float, ...]


def _rankings(text: str) -> tuple[PrintedRanking, ...]:
    rankings = []
    for line in text.strip().replace("\n    |", "|").splitlines():  # long lines go on with a bar
        tradeoff, names, scores = line.split("|")
        models = tuple(name.strip() for name in names.split(","))
        rankings.append(PrintedRanking(float(tradeoff), models, tuple(map(float, scores.split()))))
    return tuple(rankings)


def _tradeoffs(text: str) -> dict[float, dict[str, tuple[float, float]]]:
    tradeoffs = {}
    for line in text.strip().splitlines():
        tradeoff, *cells = line.split("|")
        pairs = {name: cell.split() for name, cell in zip(SET_MODELS, cells, strict=True) if "-" not in cell}
        tradeoffs[float(tradeoff)] = {name: (float(mean), float(std)) for name, (mean, std) in pairs.items()}
    return tradeoffs


RANKINGS = {
    "2 CIFAR-10": _rankings("""
0.1 | DE, CreINN, EDL, LB-BNN, E-CNN, RS-NN | 0.069 0.117 0.229 0.259 0.354 0.399
0.2 | DE, CreINN, LB-BNN, RS-NN, EDL, E-CNN | 0.108 0.177 0.276 0.309 0.456 0.515
0.3 | DE, CreINN, LB-BNN, RS-NN, E-CNN, EDL | 0.146 0.237 0.293 0.309 0.676 0.682
0.4 | DE, CreINN, LB-BNN, RS-NN, E-CNN, EDL | 0.184 0.296 0.309 0.402 0.837 0.909
0.5 | DE, LB-BNN, CreINN, RS-NN, E-CNN, EDL | 0.223 0.326 0.356 0.403 0.998 1.136
0.6 | DE, LB-BNN, RS-NN, CreINN, E-CNN, EDL | 0.261 0.342 0.404 0.415 1.159 1.363
0.7 | DE, LB-BNN, RS-NN, CreINN, E-CNN, EDL | 0.300 0.359 0.405 0.475 1.319 1.589
0.8 | DE, LB-BNN, RS-NN, CreINN, E-CNN, EDL | 0.338 0.376 0.405 0.535 1.480 1.816
0.9 | DE, LB-BNN, RS-NN, CreINN, E-CNN, EDL | 0.377 0.392 0.406 0.594 1.641 2.043
1.0 | RS-NN, LB-BNN, DE, CreINN, E-CNN, EDL | 0.407 0.409 0.415 0.654 1.802 2.270
"""),
    "9 MNIST": _rankings("""
0.1 | DE, LB-BNN, RS-NN, CreINN, E-CNN, EDL | 0.009 0.011 0.053 0.072 0.198 0.226
0.2 | DE, LB-BNN, RS-NN, CreINN, E-CNN, EDL | 0.016 0.020 0.053 0.072 0.359 0.452
0.3 | DE, LB-BNN, RS-NN, CreINN, E-CNN, EDL | 0.023 0.030 0.053 0.073 0.519 0.678
0.4 | DE, LB-BNN, RS-NN, CreINN, E-CNN, EDL | 0.029 0.039 0.053 0.074 0.680 0.904
0.5 | DE, LB-BNN, RS-NN, CreINN, E-CNN, EDL | 0.036 0.048 0.053 0.074 0.841 1.130
0.6 | DE, RS-NN, LB-BNN, CreINN, E-CNN, EDL | 0.043 0.053 0.057 0.075 1.002 1.356
0.7 | DE, RS-NN, LB-BNN, CreINN, E-CNN, EDL | 0.050 0.054 0.066 0.075 1.163 1.582
0.8 | RS-NN, DE, LB-BNN, CreINN, E-CNN, EDL | 0.054 0.056 0.075 0.076 1.324 1.808
0.9 | RS-NN, DE, CreINN, LB-BNN, E-CNN, EDL | 0.054 0.063 0.076 0.084 1.484 2.034
1.0 | RS-NN, DE, CreINN, LB-BNN, E-CNN, EDL | 0.054 0.070 0.077 0.093 1.645 2.260
"""),
    "10 CIFAR-100": _rankings("""
0.1 | DE, EDL, LB-BNN, CreINN, RS-NN | 0.337 0.354 0.381 0.929 1.575
0.2 | LB-BNN, DE, EDL, CreINN, RS-NN | 0.616 0.656 0.697 1.134 1.632
0.3 | LB-BNN, DE, EDL, CreINN, RS-NN | 0.850 0.974 1.041 1.339 1.689
0.4 | LB-BNN, DE, EDL, CreINN, RS-NN | 1.085 1.292 1.384 1.544 1.746
0.5 | LB-BNN, DE, EDL, CreINN, RS-NN | 1.320 1.610 1.727 1.749 1.803
0.6 | LB-BNN, RS-NN, DE, CreINN, EDL | 1.555 1.860 1.928 1.954 2.071
0.7 | LB-BNN, RS-NN, CreINN, DE, EDL | 1.789 1.917 2.159 2.247 2.414
0.8 | RS-NN, LB-BNN, CreINN, DE, EDL | 1.974 2.024 2.364 2.565 2.758
0.9 | RS-NN, LB-BNN, CreINN, DE, EDL | 2.031 2.259 2.569 2.883 3.101
1.0 | RS-NN, LB-BNN, CreINN, DE, EDL | 2.088 2.494 2.774 3.201 3.445
"""),
    "5 CIFAR-10, with points": _rankings("""
0.1 | DE, CreINN, DE Avg, EDL, LB-BNN, DDU, E-CNN, RS-NN, LB-BNN Avg, SNN
    | 0.069 0.117 0.195 0.229 0.259 0.309 0.354 0.399 0.420 0.481
0.2 | DE, CreINN, DE Avg, LB-BNN, DDU, RS-NN, LB-BNN Avg, EDL, SNN, E-CNN
    | 0.108 0.177 0.195 0.276 0.309 0.400 0.420 0.456 0.481 0.515
0.3 | DE, DE Avg, CreINN, LB-BNN, DDU, RS-NN, LB-BNN Avg, SNN, E-CNN, EDL
    | 0.146 0.195 0.237 0.293 0.309 0.401 0.420 0.481 0.676 0.682
0.4 | DE, DE Avg, CreINN, DDU, LB-BNN, RS-NN, LB-BNN Avg, SNN, E-CNN, EDL
    | 0.184 0.195 0.296 0.309 0.309 0.402 0.420 0.481 0.837 0.909
0.5 | DE Avg, DE, DDU, LB-BNN, CreINN, RS-NN, LB-BNN Avg, SNN, E-CNN, EDL
    | 0.195 0.223 0.309 0.326 0.356 0.403 0.420 0.481 0.998 1.136
0.6 | DE Avg, DE, DDU, LB-BNN, RS-NN, CreINN, LB-BNN Avg, SNN, E-CNN, EDL
    | 0.195 0.261 0.309 0.342 0.404 0.415 0.420 0.481 1.159 1.363
0.7 | DE Avg, DE, DDU, LB-BNN, RS-NN, LB-BNN Avg, CreINN, SNN, E-CNN, EDL
    | 0.195 0.300 0.309 0.359 0.405 0.420 0.475 0.481 1.319 1.589
0.8 | DE Avg, DDU, DE, LB-BNN, RS-NN, LB-BNN Avg, SNN, CreINN, E-CNN, EDL
    | 0.195 0.309 0.338 0.376 0.405 0.420 0.481 0.535 1.480 1.816
0.9 | DE Avg, DDU, DE, LB-BNN, RS-NN, LB-BNN Avg, SNN, CreINN, E-CNN, EDL
    | 0.195 0.309 0.377 0.392 0.406 0.420 0.481 0.594 1.641 2.043
1.0 | DE Avg, DDU, RS-NN, LB-BNN, DE, LB-BNN Avg, SNN, CreINN, E-CNN, EDL
    | 0.195 0.309 0.407 0.409 0.415 0.420 0.481 0.654 1.802 2.270
"""),
}
"""By KL and non-specificity: Tables 2, 9, 10 and the KL rows of Table 5, which Table 6 repeats."""

BY_JS = _rankings("""
0.1 | DE, RS-NN, LB-BNN, SNN, DE Avg, DDU, CreINN, LB-BNN Avg, EDL, E-CNN
    | 0.053 0.065 0.095 0.098 0.099 0.109 0.109 0.119 0.238 0.373
0.2 | RS-NN, DE, SNN, DE Avg, DDU, LB-BNN, LB-BNN Avg, CreINN, EDL, E-CNN
    | 0.066 0.091 0.098 0.099 0.109 0.111 0.119 0.169 0.464 0.534
0.3 | RS-NN, SNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, EDL, E-CNN
    | 0.067 0.098 0.099 0.109 0.119 0.128 0.130 0.229 0.691 0.695
0.4 | RS-NN, SNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.068 0.098 0.099 0.109 0.119 0.145 0.168 0.288 0.856 0.918
0.5 | RS-NN, SNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.069 0.098 0.099 0.109 0.119 0.161 0.206 0.348 1.017 1.145
0.6 | RS-NN, SNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.070 0.098 0.099 0.109 0.119 0.178 0.245 0.407 1.178 1.371
0.7 | RS-NN, SNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.071 0.098 0.099 0.109 0.119 0.194 0.283 0.467 1.338 1.598
0.8 | RS-NN, SNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.072 0.098 0.099 0.109 0.119 0.211 0.322 0.527 1.499 1.825
0.9 | RS-NN, SNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.072 0.098 0.099 0.109 0.119 0.228 0.360 0.586 1.660 2.052
1.0 | RS-NN, SNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.073 0.098 0.099 0.109 0.119 0.250 0.392 0.681 1.810 2.280
""")
"""By "JS" (its root) and non-specificity on CIFAR-10: Table 5."""

BY_ENTROPY = _rankings("""
0.1 | DE Avg, DDU, EDL, DE, CreINN, E-CNN, LB-BNN Avg, SNN, LB-BNN, RS-NN
    | 0.195 0.309 0.316 0.357 0.363 0.410 0.420 0.481 0.563 0.726
0.2 | DE Avg, DDU, LB-BNN Avg, SNN, E-CNN, EDL, CreINN, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 0.627 0.631 0.668 0.683 0.883 1.053
0.3 | DE Avg, DDU, LB-BNN Avg, SNN, E-CNN, EDL, CreINN, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 0.844 0.945 0.973 1.009 1.202 1.380
0.4 | DE Avg, DDU, LB-BNN Avg, SNN, E-CNN, EDL, CreINN, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 1.061 1.259 1.279 1.335 1.522 1.707
0.5 | DE Avg, DDU, LB-BNN Avg, SNN, E-CNN, EDL, CreINN, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 1.277 1.573 1.584 1.661 1.842 2.034
0.6 | DE Avg, DDU, LB-BNN Avg, SNN, E-CNN, EDL, CreINN, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 1.494 1.888 1.889 1.987 2.162 2.362
0.7 | DE Avg, DDU, LB-BNN Avg, SNN, E-CNN, CreINN, EDL, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 1.711 2.194 2.202 2.313 2.482 2.689
0.8 | DE Avg, DDU, LB-BNN Avg, SNN, E-CNN, CreINN, EDL, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 1.928 2.499 2.516 2.639 2.802 3.016
0.9 | DE Avg, DDU, LB-BNN Avg, SNN, E-CNN, CreINN, EDL, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 2.145 2.805 2.830 2.965 3.122 3.343
1.0 | DE Avg, DDU, LB-BNN Avg, SNN, E-CNN, CreINN, EDL, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 2.362 3.110 3.144 3.292 3.442 3.671
""")
"""By KL and upper minus lower entropy, in bits, on CIFAR-10: Table 6, rows CU."""

NS_AT_07 = _rankings("""
0.7 | DE Avg, DE, DDU, LB-BNN, RS-NN, LB-BNN Avg, SNN, CreINN, E-CNN, EDL
    | 0.195 0.300 0.309 0.359 0.405 0.420 0.475 0.481 1.319 1.589
""")
"""The NS row of Table 6 that differs from Table 5: two names have changed places over the same scores."""

TABLE_8 = {
    "CIFAR-10": _tradeoffs("""
0.1 | 0.259 1.316 | 0.069 0.375 | 0.229 0.012 | 0.117 0.382 | 0.354 0.215 | 0.399 1.895
0.2 | 0.276 1.319 | 0.108 0.395 | 0.455 0.016 | 0.177 0.407 | 0.515 0.215 | 0.400 1.896
0.3 | 0.293 1.323 | 0.146 0.426 | 0.682 0.022 | 0.237 0.445 | 0.676 0.215 | 0.401 1.896
0.4 | 0.309 1.327 | 0.184 0.467 | 0.909 0.029 | 0.296 0.494 | 0.837 0.215 | 0.402 1.897
0.5 | 0.326 1.334 | 0.223 0.514 | 1.135 0.035 | 0.356 0.550 | 0.998 0.215 | 0.403 1.897
0.6 | 0.342 1.341 | 0.261 0.566 | 1.362 0.042 | 0.415 0.612 | 1.159 0.215 | 0.404 1.898
0.7 | 0.359 1.349 | 0.300 0.622 | 1.588 0.049 | 0.475 0.679 | 1.319 0.215 | 0.405 1.898
0.8 | 0.376 1.359 | 0.338 0.681 | 1.815 0.056 | 0.535 0.748 | 1.480 0.215 | 0.405 1.899
0.9 | 0.392 1.369 | 0.377 0.742 | 2.042 0.063 | 0.594 0.819 | 1.641 0.215 | 0.406 1.899
1.0 | 0.409 1.381 | 0.415 0.805 | 2.268 0.070 | 0.654 0.892 | 1.802 0.215 | 0.407 1.900
"""),
    "MNIST": _tradeoffs("""
0.1 | 0.011 0.132 | 0.009 0.080 | 0.226 0.005 | 0.072 0.609 | 0.198 0.065 | 0.053 0.740
0.2 | 0.020 0.147 | 0.016 0.098 | 0.452 0.011 | 0.072 0.609 | 0.359 0.065 | 0.053 0.740
0.3 | 0.030 0.170 | 0.023 0.123 | 0.678 0.016 | 0.073 0.610 | 0.519 0.065 | 0.053 0.740
0.4 | 0.039 0.198 | 0.029 0.150 | 0.905 0.021 | 0.074 0.610 | 0.680 0.064 | 0.053 0.740
0.5 | 0.048 0.229 | 0.036 0.179 | 1.131 0.027 | 0.074 0.610 | 0.841 0.064 | 0.053 0.740
0.6 | 0.057 0.261 | 0.043 0.208 | 1.357 0.032 | 0.075 0.611 | 1.002 0.064 | 0.053 0.741
0.7 | 0.066 0.295 | 0.050 0.239 | 1.583 0.037 | 0.075 0.611 | 1.163 0.064 | 0.054 0.741
0.8 | 0.075 0.330 | 0.056 0.269 | 1.809 0.043 | 0.076 0.611 | 1.324 0.064 | 0.054 0.741
0.9 | 0.084 0.366 | 0.063 0.300 | 2.035 0.048 | 0.076 0.612 | 1.484 0.064 | 0.054 0.741
1.0 | 0.093 0.401 | 0.070 0.331 | 2.261 0.053 | 0.077 0.612 | 1.645 0.064 | 0.054 0.741
"""),
    "CIFAR-100": _tradeoffs("""
0.1 | 0.381 0.514 | 0.337 0.299 | 0.354 0.257 | 0.929 0.582 | - | 1.575 3.957
0.2 | 0.616 0.580 | 0.656 0.437 | 0.697 0.404 | 1.134 0.536 | - | 1.632 3.951
0.3 | 0.850 0.686 | 0.974 0.605 | 1.041 0.573 | 1.339 0.514 | - | 1.689 3.948
0.4 | 1.085 0.818 | 1.292 0.784 | 1.384 0.749 | 1.544 0.519 | - | 1.746 3.949
0.5 | 1.320 0.964 | 1.610 0.967 | 1.727 0.929 | 1.749 0.550 | - | 1.803 3.953
0.6 | 1.555 1.119 | 1.928 1.153 | 2.071 1.110 | 1.954 0.603 | - | 1.860 3.961
0.7 | 1.789 1.280 | 2.247 1.340 | 2.414 1.291 | 2.159 0.673 | - | 1.917 3.972
0.8 | 2.024 1.444 | 2.565 1.528 | 2.758 1.474 | 2.364 0.756 | - | 1.974 3.986
0.9 | 2.259 1.612 | 2.883 1.717 | 3.101 1.657 | 2.569 0.847 | - | 2.031 4.004
1.0 | 2.494 1.781 | 3.201 1.906 | 3.445 1.840 | 2.774 0.945 | - | 2.088 4.025
"""),
}
"""E at ten trade-offs, mean and standard deviation, by data set, trade-off and model: Table 8."""

TOY = {"A": (0.243, 0.166), "B": (0.031, 0.385), "C": (0.002, 2.267), "D": (0.398, 0.009)}
"""KL and non-specificity of the worked example, Table 3."""

TOY_RANKINGS = _rankings("""
0.1 | B, C, A, D | 0.069 0.228 0.259 0.398
0.5 | B, A, D, C | 0.223 0.326 0.402 1.136
2.0 | D, A, B, C | 0.416 0.575 0.801 4.536
""")


@dataclasses.dataclass(frozen=True)
class PrintedVertices:
    """One row of Table 4: means of right and of wrong predictions, 4 classes."""

    distance: tuple[float, float]
    imprecision: tuple[float, float]
    score: tuple[float, float]


VERTICES = {
    ("LB-BNN", "2k"): PrintedVertices((0.0046, 0.612), (0.564, 0.611), (0.569, 1.225)),
    ("LB-BNN", "k!"): PrintedVertices((0.005, 0.336), (0.033, 0.286), (0.039, 0.365)),
    ("DE", "2k"): PrintedVertices((0.0002, 0.142), (0.058, 0.801), (0.058, 0.944)),
    ("DE", "k!"): PrintedVertices((0.0001, 0.335), (0.080, 0.656), (0.080, 0.991)),
}

CIFAR10_STORED = {"SNN": "snn", "LB-BNN Avg": "lbbnn_avg", "DE Avg": "de_avg", "DDU": "ddu"}
"""Files of the public predictions of points."""

JS_POINTS = {"SNN": 0.098, "DE Avg": 0.099, "DDU": 0.109, "LB-BNN Avg": 0.119}
"""Their mean root of JS, Table 5."""

FIG_13 = {
    "DE": {5: 0.364, 10: 0.475, 15: 0.538, 20: 0.586, 25: 0.616, 30: 0.641},
    "LB-BNN": {50: 0.403, 100: 0.427, 150: 0.439, 200: 0.447, 300: 0.459, 400: 0.467, 500: 0.473},
}
"""Mean E with as many members or samples: the arrays behind Fig. 13, which prints them as boxes."""
