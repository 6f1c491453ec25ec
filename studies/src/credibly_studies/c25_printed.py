"""Numbers that C25 prints, as its first author's doctoral thesis prints them again.

S. K. Manchingal, doctoral thesis, Oxford Brookes University, chapter 8, Tables 8.1 to 8.10, read from a
transcription. Its Table 8.2 is C25's Table 1 and its Table 8.8 C25's Table 4; all go by the thesis' numbers.
"""

from __future__ import annotations

import dataclasses

POINTS = ("CNN", "LB-BNN Avg", "DE Avg", "DDU")
"""Models that predict one distribution."""


@dataclasses.dataclass(frozen=True)
class Printed:
    """One row of thesis Table 8.2 with its means of right and wrong predictions (Table 8.7).

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
    found = {}
    for line in text.strip().splitlines():
        name, numbers = line.split("|")
        accuracy, *others = map(float, numbers.split())
        found[name.strip()] = Printed(accuracy / 100, *others)
    return found


# accuracy %, KL, std, NS, std, E, std (Table 8.2); KL right, wrong, NS right, wrong (Table 8.7)
SCORES = {
    "CIFAR-10": _rows("""
LB-BNN     | 89.24  0.243 1.315  0.166 0.398  0.409 1.381  0.009 2.181  0.109 0.637
DE         | 93.77  0.031 0.367  0.385 0.715  0.415 0.805  0.0001 0.489  0.306 1.566
EDL        | 59.13  0.002 0.011  2.267 0.067  2.270 0.066  0.00005 0.0051  2.253 2.288
CreINN     | 88.36  0.058 0.374  0.596 0.812  0.654 0.892  0.003 0.476  0.465 1.590
E-CNN      | 83.5   0.193 0.215  1.609 0.003  1.802 0.215  0.108 0.625  1.609 1.610
RS-NN      | 93.53  0.398 1.895  0.009 0.052  0.407 0.500  0.009 5.562  0.004 0.076
CNN        | 90.25  0.481 1.797  0 0  0.481 1.797  0.021 4.735  0 0
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
CNN        | 98.90  0.043 0.497  0 0  0.043 0.497  0.004 3.484  0 0
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
CNN        | 65.51  2.293 4.199  0 0  2.293 4.199  0.063 6.528  0 0
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
    found = []
    for line in text.strip().replace("\n    |", "|").splitlines():  # long lines go on with a bar
        tradeoff, names, scores = line.split("|")
        models = tuple(name.strip() for name in names.split(","))
        found.append(PrintedRanking(float(tradeoff), models, tuple(map(float, scores.split()))))
    return tuple(found)


RANKINGS = {
    "8.4 CIFAR-10": _rankings("""
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
    "8.5 MNIST": _rankings("""
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
    "8.6 CIFAR-100": _rankings("""
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
    "8.9 CIFAR-10, with points": _rankings("""
0.1 | DE, CreINN, DE Avg, EDL, LB-BNN, DDU, E-CNN, RS-NN, LB-BNN Avg, CNN
    | 0.069 0.117 0.195 0.229 0.259 0.309 0.354 0.399 0.420 0.481
0.2 | DE, CreINN, DE Avg, LB-BNN, DDU, RS-NN, LB-BNN Avg, EDL, CNN, E-CNN
    | 0.108 0.177 0.195 0.276 0.309 0.400 0.420 0.456 0.481 0.515
0.3 | DE, DE Avg, CreINN, LB-BNN, DDU, RS-NN, LB-BNN Avg, CNN, E-CNN, EDL
    | 0.146 0.195 0.237 0.293 0.309 0.401 0.420 0.481 0.676 0.682
0.4 | DE, DE Avg, CreINN, DDU, LB-BNN, RS-NN, LB-BNN Avg, CNN, E-CNN, EDL
    | 0.184 0.195 0.296 0.309 0.309 0.402 0.420 0.481 0.837 0.909
0.5 | DE Avg, DE, DDU, LB-BNN, CreINN, RS-NN, LB-BNN Avg, CNN, E-CNN, EDL
    | 0.195 0.223 0.309 0.326 0.356 0.403 0.420 0.481 0.998 1.136
0.6 | DE Avg, DE, DDU, LB-BNN, RS-NN, CreINN, LB-BNN Avg, CNN, E-CNN, EDL
    | 0.195 0.261 0.309 0.342 0.404 0.415 0.420 0.481 1.159 1.363
0.7 | DE Avg, DE, DDU, LB-BNN, RS-NN, LB-BNN Avg, CreINN, CNN, E-CNN, EDL
    | 0.195 0.300 0.309 0.359 0.405 0.420 0.475 0.481 1.319 1.589
0.8 | DE Avg, DDU, DE, LB-BNN, RS-NN, LB-BNN Avg, CNN, CreINN, E-CNN, EDL
    | 0.195 0.309 0.338 0.376 0.405 0.420 0.481 0.535 1.480 1.816
0.9 | DE Avg, DDU, DE, LB-BNN, RS-NN, LB-BNN Avg, CNN, CreINN, E-CNN, EDL
    | 0.195 0.309 0.377 0.392 0.406 0.420 0.481 0.594 1.641 2.043
1.0 | DE Avg, DDU, RS-NN, LB-BNN, DE, LB-BNN Avg, CNN, CreINN, E-CNN, EDL
    | 0.195 0.309 0.407 0.409 0.415 0.420 0.481 0.654 1.802 2.270
"""),
}
"""By KL and non-specificity: thesis Tables 8.4, 8.5, 8.6 and the KL rows of 8.9, which 8.10 repeats."""

BY_JS = _rankings("""
0.1 | DE, RS-NN, LB-BNN, CNN, DE Avg, DDU, CreINN, LB-BNN Avg, EDL, E-CNN
    | 0.053 0.065 0.095 0.098 0.099 0.109 0.109 0.119 0.238 0.373
0.2 | RS-NN, DE, CNN, DE Avg, DDU, LB-BNN, LB-BNN Avg, CreINN, EDL, E-CNN
    | 0.066 0.091 0.098 0.099 0.109 0.111 0.119 0.169 0.464 0.534
0.3 | RS-NN, CNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, EDL, E-CNN
    | 0.067 0.098 0.099 0.109 0.119 0.128 0.130 0.229 0.691 0.695
0.4 | RS-NN, CNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.068 0.098 0.099 0.109 0.119 0.145 0.168 0.288 0.856 0.918
0.5 | RS-NN, CNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.069 0.098 0.099 0.109 0.119 0.161 0.206 0.348 1.017 1.145
0.6 | RS-NN, CNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.070 0.098 0.099 0.109 0.119 0.178 0.245 0.407 1.178 1.371
0.7 | RS-NN, CNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.071 0.098 0.099 0.109 0.119 0.194 0.283 0.467 1.338 1.598
0.8 | RS-NN, CNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.072 0.098 0.099 0.109 0.119 0.211 0.322 0.527 1.499 1.825
0.9 | RS-NN, CNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.072 0.098 0.099 0.109 0.119 0.228 0.360 0.586 1.660 2.052
1.0 | RS-NN, CNN, DE Avg, DDU, LB-BNN Avg, LB-BNN, DE, CreINN, E-CNN, EDL
    | 0.073 0.098 0.099 0.109 0.119 0.250 0.392 0.681 1.810 2.280
""")
"""By "JS" (its root) and non-specificity on CIFAR-10: thesis Table 8.9."""

BY_ENTROPY = _rankings("""
0.1 | DE Avg, DDU, EDL, DE, CreINN, E-CNN, LB-BNN Avg, CNN, LB-BNN, RS-NN
    | 0.195 0.309 0.316 0.357 0.363 0.410 0.420 0.481 0.563 0.726
0.5 | DE Avg, DDU, LB-BNN Avg, CNN, E-CNN, EDL, CreINN, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 1.277 1.573 1.584 1.661 1.842 2.034
1.0 | DE Avg, DDU, LB-BNN Avg, CNN, E-CNN, CreINN, EDL, DE, LB-BNN, RS-NN
    | 0.195 0.309 0.420 0.481 2.362 3.110 3.144 3.292 3.442 3.671
""")
"""By KL and upper minus lower entropy, in bits, on CIFAR-10: thesis Table 8.10, three of ten rows."""

TOY = {"A": (0.243, 0.166), "B": (0.031, 0.385), "C": (0.002, 2.267), "D": (0.398, 0.009)}
"""KL and non-specificity of the worked example, thesis Table 8.1."""

TOY_RANKINGS = _rankings("""
0.1 | B, C, A, D | 0.069 0.228 0.259 0.398
0.5 | B, A, D, C | 0.223 0.326 0.402 1.136
2.0 | D, A, B, C | 0.416 0.575 0.801 4.536
""")


@dataclasses.dataclass(frozen=True)
class PrintedVertices:
    """One row of thesis Table 8.8 (C25 Table 4): means of right and of wrong predictions, 4 classes."""

    distance: tuple[float, float]
    imprecision: tuple[float, float]
    score: tuple[float, float]


VERTICES = {
    ("LB-BNN", "2k"): PrintedVertices((0.0046, 0.612), (0.564, 0.611), (0.569, 1.225)),
    ("LB-BNN", "k!"): PrintedVertices((0.005, 0.336), (0.033, 0.286), (0.039, 0.365)),
    ("DE", "2k"): PrintedVertices((0.0002, 0.142), (0.058, 0.801), (0.058, 0.944)),
    ("DE", "k!"): PrintedVertices((0.0001, 0.335), (0.080, 0.656), (0.080, 0.991)),
}

CIFAR10_STORED = {"CNN": "snn", "LB-BNN Avg": "lbbnn_avg", "DE Avg": "de_avg", "DDU": "ddu"}
"""The predictions of these models are public; the sets of the others are not."""

JS_POINTS = {"CNN": 0.098, "DE Avg": 0.099, "DDU": 0.109, "LB-BNN Avg": 0.119}
"""Their mean root of JS, thesis Table 8.9."""
