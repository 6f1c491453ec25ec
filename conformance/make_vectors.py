"""Write conformance/vectors: inputs, settings and the value of every case, derived by brute force.

    python -m conformance.make_vectors

Inputs come from a seeded generator of the standard library and are rounded to a few digits, so that the files
say exactly what was judged. Values have 12 significant digits.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

from conformance.derive import MEASURES

FOLDER = Path(__file__).parent / "vectors"
DIGITS = 12
Case = dict[str, Any]


def distribution(rng: random.Random, k: int, digits: int = 5, power: float = 1.0) -> list[float]:
    """Return k probabilities of a few digits whose sum is 1 to rounding."""
    weights = [rng.expovariate(1.0) ** power for _ in range(k)]
    whole = [int(10**digits * weight / sum(weights)) for weight in weights]
    whole[rng.randrange(k)] += 10**digits - sum(whole)
    return [one / 10**digits for one in whole]


def label(rng: random.Random, p: list[float]) -> int:
    """Draw a class, by chance from elsewhere than the prediction."""
    return rng.randrange(len(p)) if rng.random() < 0.3 else rng.choices(range(len(p)), p)[0]


def classes(seed: int, n: int, k: int) -> Case:
    """Return probabilities (n, k) and labels of which every class occurs."""
    rng = random.Random(seed)
    probs = [distribution(rng, k, power=1.5) for _ in range(n)]
    labels = [label(rng, p) for p in probs]
    labels[:k] = range(k)
    return {"probs": probs, "labels": labels}


TIES: Case = {  # multiples of 1/8, which lie on the edges of 4 and of 8 bins
    "probs": [
        [0.75, 0.25],
        [0.25, 0.75],
        [0.5, 0.5],
        [0.625, 0.375],
        [0.25, 0.75],
        [0.375, 0.625],
        [0.75, 0.25],
    ],
    "labels": [0, 1, 1, 0, 0, 1, 1],
}
SURE: Case = {  # probabilities of 0 and 1, some of them wrong
    "probs": [[1.0, 0.0], [0.0, 1.0], [0.9375, 0.0625], [1.0, 0.0], [0.3125, 0.6875], [0.0625, 0.9375]],
    "labels": [0, 0, 0, 0, 1, 1],
}


def class_cases(*settings: dict[str, Any], binary: bool = False, sure: bool = True) -> list[Case]:
    """Return cases of class probabilities, with the settings in turn."""
    named = [
        ("two classes", classes(1, 24, 2)),
        ("two classes, rare event", rare(2, 30)),
        ("ties and edges", TIES),
    ]
    if sure:
        named.append(("certain answers", SURE))
    if not binary:
        named += [("three classes", classes(3, 20, 3)), ("five classes", classes(4, 25, 5))]
    chosen = settings or ({},)
    return [case(name, inputs, chosen[at % len(chosen)]) for at, (name, inputs) in enumerate(named)]


def rare(seed: int, n: int) -> Case:
    """Return probabilities of an event that happens in about one row of eight."""
    rng = random.Random(seed)
    events = [round(rng.betavariate(1, 6), 5) for _ in range(n)]
    labels = [int(rng.random() < p) for p in events]
    labels[0], labels[1] = 0, 1
    return {"probs": [[round(1 - p, 5), p] for p in events], "labels": labels}


def members(seed: int, n: int, m: int, k: int) -> Case:
    """Return the distributions of m members."""
    rng = random.Random(seed)
    return {"members": [[distribution(rng, k) for _ in range(m)] for _ in range(n)]}


def gaussian(seed: int, n: int, scale: float = 1.0) -> Case:
    """Return means, standard deviations that differ, and labels."""
    rng = random.Random(seed)
    mean = [round(scale * rng.gauss(0, 1), 4) for _ in range(n)]
    std = [round(scale * rng.uniform(0.4, 2.0), 4) for _ in range(n)]
    return {
        "mean": mean,
        "std": std,
        "labels": [round(m + 1.3 * s * rng.gauss(0, 1), 4) for m, s in zip(mean, std, strict=True)],
    }


def draws(seed: int, n: int, s: int, d: int | None = None) -> Case:
    """Return draws (n, s) and labels (n,); with d numbers at once (n, s, d) and (n, d)."""
    rng = random.Random(seed)

    def number() -> Any:
        level = rng.gauss(0, 1)
        return round(level, 3) if d is None else [round(level + rng.gauss(0, 0.7), 3) for _ in range(d)]

    return {"draws": [[number() for _ in range(s)] for _ in range(n)], "labels": [number() for _ in range(n)]}


def quantiles(seed: int, n: int, levels: list[float]) -> Case:
    """Return rising quantiles of these levels and labels."""
    rng = random.Random(seed)
    rows = [sorted(round(rng.gauss(0, 1.5), 3) for _ in levels) for _ in range(n)]
    return {"quantiles": rows, "levels": levels, "labels": [round(rng.gauss(0, 1.5), 3) for _ in range(n)]}


def intervals(seed: int, n: int) -> Case:
    """Return intervals of different width and labels; the first label is an end of its interval."""
    rng = random.Random(seed)
    middle, half = [rng.gauss(0, 1) for _ in range(n)], [rng.uniform(0.3, 2) for _ in range(n)]
    lower = [round(m - h, 3) for m, h in zip(middle, half, strict=True)]
    upper = [round(m + h, 3) for m, h in zip(middle, half, strict=True)]
    labels = [round(m + rng.gauss(0, 1), 3) for m in middle]
    labels[0] = upper[0]
    return {"lower": lower, "upper": upper, "labels": labels}


def sets(seed: int, n: int, k: int) -> Case:
    """Return prediction sets, one of them empty and one full."""
    rng = random.Random(seed)
    rows = [[int(rng.random() < 0.5) for _ in range(k)] for _ in range(n)]
    rows[0], rows[1] = [0] * k, [1] * k
    return {"sets": rows, "labels": [rng.randrange(k) for _ in range(n)]}


def case(name: str, inputs: Case, settings: dict[str, Any]) -> Case:
    """Return a case without its value."""
    return {"name": name, "settings": settings, "inputs": inputs}


def several(inputs: list[Case], *settings: dict[str, Any]) -> list[Case]:
    """Return a case of each of these inputs, with the settings in turn."""
    chosen = settings or ({},)
    names = ["small", "medium", "larger", "one row more"]
    return [case(names[at], one, chosen[at % len(chosen)]) for at, one in enumerate(inputs)]


def cases() -> dict[str, list[Case]]:
    """Return the cases of every measure, without values."""
    fifteen, four = {"n_bins": 15}, {"n_bins": 4}
    normal = [gaussian(11, 4), gaussian(12, 15), gaussian(13, 40), gaussian(14, 41, scale=10.0)]
    pool = [draws(21, 3, 4), draws(22, 10, 7), draws(23, 12, 20), draws(24, 13, 2)]
    joint = [draws(31, 3, 4, 2), draws(32, 8, 6, 3), draws(33, 6, 10, 5), draws(34, 7, 2, 2)]
    ends = [intervals(41, 6), intervals(42, 15), intervals(43, 30), intervals(44, 31)]
    groups = [members(51, 4, 3, 2), members(52, 10, 5, 3), members(53, 8, 2, 4), members(54, 9, 6, 3)]
    chosen = [sets(61, 5, 3), sets(62, 12, 4), sets(63, 20, 2), sets(64, 21, 6)]
    five = [0.05, 0.25, 0.5, 0.75, 0.95]
    forecast = [quantiles(71, 4, [0.1, 0.5, 0.9]), quantiles(72, 10, five), quantiles(73, 20, five)]
    forecast.append(quantiles(74, 8, [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99]))
    single = [quantiles(81 + at, 6 + 5 * at, [level]) for at, level in enumerate((0.5, 0.9, 0.05, 0.25))]
    grid = {"levels": [j / 10 for j in range(1, 10)]}
    plain = (
        "accuracy",
        "confidence_gap",
        "brier",
        "log_loss",
        "ranked_probability_score",
        "two_bin_error",
        "aurc",
    )
    every = {name: class_cases() for name in (*plain, "augrc")}
    every |= {name: class_cases(sure=False) for name in ("brier_skill", "log_loss_skill", "spiegelhalter_z")}
    every["net_benefit"] = class_cases(
        {"threshold": 0.3}, {"threshold": 0.1}, {"threshold": 0.625}, binary=True
    )
    binned = ("confidence_ece_l2", "confidence_mce", "debiased_squared_ece", "top_label_ece", "classwise_ece")
    every |= {name: class_cases(fifteen, fifteen, four) for name in binned}
    every["confidence_ece"] = class_cases(fifteen, {"n_bins": 10}, four)
    every["event_ece"] = class_cases(fifteen, {"n_bins": 10}, four, binary=True)
    for name in ("confidence_ece", "event_ece"):
        every[name].append(case("ties, closed on the right", TIES, {"n_bins": 4, "closed": "right"}))
    every["event_mce"] = class_cases(fifteen, fifteen, four, binary=True)
    every["event_ece_equal_mass"] = class_cases({"n_bins": 7}, {"n_bins": 5}, {"n_bins": 2}, binary=True)
    every["hosmer_lemeshow"] = class_cases({"n_bins": 4}, {"n_bins": 5}, {"n_bins": 2}, sure=False)
    every |= {name: class_cases(binary=True) for name in ("kolmogorov_smirnov", "kuiper")}
    every["skce"] = class_cases({"bandwidth": 0.5}, {"bandwidth": 0.2})
    entropies = ("total_entropy", "conditional_entropy", "mutual_information", "member_disagreement")
    every |= {name: several(groups) for name in entropies}
    every |= {
        name: several(normal)
        for name in ("crps_normal", "gaussian_log_loss", "rmse", "mae", "mean_squared_z")
    }
    of_level = ("sharpness", "gaussian_coverage", "gaussian_interval_score")
    every |= {name: several(normal, {"level": 0.9}, {"level": 0.5}) for name in of_level}
    every["ence"] = several(normal, {"n_bins": 2}, {"n_bins": 5})
    every["quantile_calibration_error"] = several(normal, grid)
    every |= {name: several(pool) for name in ("crps_draws", "crps_draws_fair")}
    every["pinball_loss"] = several(single)
    every["weighted_interval_score"] = several(forecast)
    every["interval_score"] = several(ends, {"level": 0.9}, {"level": 0.5})
    every |= {name: several(ends) for name in ("interval_coverage", "interval_width")}
    every["hsic"] = several(ends, {"bandwidth": 1.0}, {"bandwidth": 0.5})
    every["energy_score"] = several(joint)
    every["variogram_score"] = several(joint, {"order": 0.5}, {"order": 1.0})
    every |= {name: several(chosen) for name in ("set_coverage", "set_size")}
    return every


def number(value: float) -> float | str:
    """Return a value with 12 significant digits; infinity, which JSON lacks, as text."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else "inf"


def main() -> None:
    """Derive and write."""
    FOLDER.mkdir(exist_ok=True)
    made = cases()
    if set(made) != set(MEASURES):
        raise SystemExit(f"measures without cases, or the other way: {set(made) ^ set(MEASURES)}")
    for name, listed in made.items():
        derived = [
            {**one, "value": number(MEASURES[name](one["inputs"], **one["settings"])), "by": f"derive.{name}"}
            for one in listed
        ]
        text = ",\n".join(json.dumps(one) for one in derived)
        (FOLDER / f"{name}.json").write_text(f'{{"measure": "{name}", "cases": [\n{text}\n]}}\n')
    print(f"{len(made)} measures, {sum(map(len, made.values()))} cases")


if __name__ == "__main__":
    main()
