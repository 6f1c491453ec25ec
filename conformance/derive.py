"""Every measure by brute force, as its page in conformance/definitions says it.

Plain Python: lists, loops, the mathematics of the standard library. Nothing here imports NumPy, credibly or
any package that is judged, and nothing is fast. Inputs are the arrays of a case as lists; settings are
keywords.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

Inputs = dict[str, Any]
TIE = 1e-12  # predictions closer than that are equal: means of members differ in their last digits


def mean(values: Iterable[float]) -> float:
    """Return the mean, from a sum that is rounded once."""
    listed = list(values)
    return math.inf if math.inf in listed else math.fsum(listed) / len(listed)


def rows(inputs: Inputs) -> list[tuple[list[float], int]]:
    """Return probabilities and label of every row."""
    return list(zip(inputs["probs"], inputs["labels"], strict=True))


def top(p: Sequence[float]) -> int:
    """Return the most probable class; the lowest index wins ties."""
    return max(range(len(p)), key=lambda c: (p[c], -c))


def answers(inputs: Inputs) -> list[tuple[float, int]]:
    """Return confidence of the answer and whether it is right."""
    return [(p[top(p)], int(top(p) == y)) for p, y in rows(inputs)]


def events(inputs: Inputs, target: int = 1) -> list[tuple[float, int]]:
    """Return the probability of one class and whether the label is that class."""
    return [(p[target], int(y == target)) for p, y in rows(inputs)]


# Scores of class probabilities


def accuracy(inputs: Inputs) -> float:
    return mean(hit for _, hit in answers(inputs))


def confidence_gap(inputs: Inputs) -> float:
    return mean(confidence - hit for confidence, hit in answers(inputs))


def brier(inputs: Inputs) -> float:
    return mean(math.fsum((p[c] - (c == y)) ** 2 for c in range(len(p))) for p, y in rows(inputs))


def log_loss(inputs: Inputs) -> float:
    return mean(-math.log(p[y]) if p[y] > 0 else math.inf for p, y in rows(inputs))


def ranked_probability_score(inputs: Inputs) -> float:
    return mean(
        math.fsum((math.fsum(p[: c + 1]) - (y <= c)) ** 2 for c in range(len(p) - 1)) for p, y in rows(inputs)
    )


def frequencies(inputs: Inputs) -> list[float]:
    """Return the observed share of every class."""
    labels = inputs["labels"]
    return [labels.count(c) / len(labels) for c in range(len(inputs["probs"][0]))]


def brier_skill(inputs: Inputs) -> float:
    constant = dict(inputs, probs=[frequencies(inputs)] * len(inputs["labels"]))
    return 1 - brier(inputs) / brier(constant)


def log_loss_skill(inputs: Inputs) -> float:
    constant = dict(inputs, probs=[frequencies(inputs)] * len(inputs["labels"]))
    return 1 - log_loss(inputs) / log_loss(constant)


def net_benefit(inputs: Inputs, threshold: float, target: int = 1) -> float:
    acted = [hit for p, hit in events(inputs, target) if p >= threshold]
    false_alarms = len(acted) - sum(acted)
    return (sum(acted) - threshold / (1 - threshold) * false_alarms) / len(inputs["labels"])


def spiegelhalter_z(inputs: Inputs) -> float:
    excess, variance = [], []
    for p, y in rows(inputs):
        score = [math.fsum((p[c] - (c == label)) ** 2 for c in range(len(p))) for label in range(len(p))]
        expected = math.fsum(q * s for q, s in zip(p, score, strict=True))
        excess.append(score[y] - expected)
        variance.append(math.fsum(q * (s - expected) ** 2 for q, s in zip(p, score, strict=True)))
    return math.fsum(excess) / math.sqrt(math.fsum(variance))


# Errors by bins


def width_bin(value: float, n_bins: int, closed: str = "left") -> int:
    """Return the bin of equal width: [j/B, (j+1)/B), the last closed; or (j/B, (j+1)/B], the first closed."""
    for j in range(n_bins):
        low, high = float(Fraction(j, n_bins)), float(Fraction(j + 1, n_bins))
        if closed == "left" and low <= value < high:
            return j
        if closed == "right" and (low < value <= high or (j == 0 and value == 0)):
            return j
    return n_bins - 1


def mass_bin(value: float, values: Sequence[float], n_bins: int) -> int:
    """Return the bin of equal mass: edges are the values of rank floor(j n / B), in the bin above."""
    ordered = sorted(values)
    edges = [ordered[j * len(ordered) // n_bins] for j in range(1, n_bins)]
    return sum(value >= edge for edge in edges)


def gaps(pairs: list[tuple[float, int]], bins: Sequence[Any]) -> list[tuple[int, float]]:
    """Return size and |mean event - mean probability| of every bin that holds something."""
    numbers = []
    for b in sorted(set(bins)):
        inside = [pair for pair, at in zip(pairs, bins, strict=True) if at == b]
        numbers.append((len(inside), abs(mean(hit for _, hit in inside) - mean(p for p, _ in inside))))
    return numbers


def binned(pairs: list[tuple[float, int]], bins: Sequence[Any], norm: str = "l1") -> float:
    """Combine the gaps of the bins."""
    sized = gaps(pairs, bins)
    if norm == "max":
        return max(gap for _, gap in sized)
    power = 1 if norm == "l1" else 2
    return math.fsum(size * gap**power for size, gap in sized) / len(pairs)


def of_width(pairs: list[tuple[float, int]], n_bins: int, closed: str = "left", norm: str = "l1") -> float:
    """Combine the gaps of bins of equal width."""
    return binned(pairs, [width_bin(p, n_bins, closed) for p, _ in pairs], norm)


def confidence_ece(inputs: Inputs, n_bins: int, closed: str = "left") -> float:
    return of_width(answers(inputs), n_bins, closed)


def confidence_ece_l2(inputs: Inputs, n_bins: int) -> float:
    return math.sqrt(of_width(answers(inputs), n_bins, norm="l2"))


def confidence_mce(inputs: Inputs, n_bins: int) -> float:
    return of_width(answers(inputs), n_bins, norm="max")


def debiased_squared_ece(inputs: Inputs, n_bins: int) -> float:
    pairs, total = answers(inputs), []
    bins = [width_bin(p, n_bins) for p, _ in pairs]
    for i, (p, hit) in enumerate(pairs):
        for j, (q, other) in enumerate(pairs):
            if i != j and bins[i] == bins[j]:
                total.append((hit - p) * (other - q) / (bins.count(bins[i]) - 1))
    return math.fsum(total) / len(pairs)


def top_label_ece(inputs: Inputs, n_bins: int) -> float:
    cells = [(top(p), width_bin(p[top(p)], n_bins)) for p, _ in rows(inputs)]
    return binned(answers(inputs), cells)


def classwise_ece(inputs: Inputs, n_bins: int) -> float:
    classes = range(len(inputs["probs"][0]))
    return mean(of_width(events(inputs, c), n_bins) for c in classes)


def event_ece(inputs: Inputs, n_bins: int, closed: str = "left", target: int = 1) -> float:
    return of_width(events(inputs, target), n_bins, closed)


def event_mce(inputs: Inputs, n_bins: int, target: int = 1) -> float:
    return of_width(events(inputs, target), n_bins, norm="max")


def event_ece_equal_mass(inputs: Inputs, n_bins: int, target: int = 1) -> float:
    pairs = events(inputs, target)
    values = [p for p, _ in pairs]
    return binned(pairs, [mass_bin(p, values, n_bins) for p in values])


def hosmer_lemeshow(inputs: Inputs, n_bins: int) -> float:
    total = []
    for c in range(len(inputs["probs"][0])):
        pairs = events(inputs, c)
        values = [p for p, _ in pairs]
        bins = [mass_bin(p, values, n_bins) for p in values]
        for b in set(bins):
            inside = [pair for pair, at in zip(pairs, bins, strict=True) if at == b]
            expected = math.fsum(p for p, _ in inside)
            total.append((sum(hit for _, hit in inside) - expected) ** 2 / expected)
    return math.fsum(total)


# Errors without bins


def walk(pairs: list[tuple[float, int]]) -> list[float]:
    """Return the start and the sums of event - probability, read where the next probability is larger."""
    ordered = sorted(pairs)
    steps = [hit - p for p, hit in ordered]
    last = [
        i for i in range(len(ordered)) if i + 1 == len(ordered) or ordered[i + 1][0] > ordered[i][0] + TIE
    ]
    return [0.0] + [math.fsum(steps[: i + 1]) / len(pairs) for i in last]


def kolmogorov_smirnov(inputs: Inputs, target: int = 1) -> float:
    return max(abs(place) for place in walk(events(inputs, target)))


def kuiper(inputs: Inputs, target: int = 1) -> float:
    places = walk(events(inputs, target))
    return max(places) - min(places)


def two_bin_error(inputs: Inputs) -> float:
    numbers = []
    for c in range(len(inputs["probs"][0])):
        pairs = events(inputs, c)
        products = [(h - p) * (g - q) * (1 - abs(p - q)) for p, h in pairs for q, g in pairs]
        numbers.append(math.fsum(products) / len(pairs) ** 2)
    return mean(numbers)


def skce(inputs: Inputs, bandwidth: float) -> float:
    listed, total = rows(inputs), []
    for i, (p, y) in enumerate(listed):
        for j, (q, z) in enumerate(listed):
            if i != j:
                inner = math.fsum(((c == y) - p[c]) * ((c == z) - q[c]) for c in range(len(p)))
                total.append(inner * math.exp(-math.dist(p, q) / bandwidth))
    return math.fsum(total) / (len(listed) * (len(listed) - 1))


# Ranking by confidence


def aurc(inputs: Inputs) -> float:
    pairs, risks = answers(inputs), []
    wrong = [(confidence, 1 - hit) for confidence, hit in pairs]
    tied = [mean(w for other, w in wrong if abs(other - c) <= TIE) for c, _ in wrong]
    ordered = [loss for _, loss in sorted(zip(pairs, tied, strict=True), key=lambda one: -one[0][0])]
    for j in range(1, len(ordered) + 1):
        risks.append(math.fsum(ordered[:j]) / j)
    return mean(risks)


def augrc(inputs: Inputs) -> float:
    total = []
    for confidence, hit in answers(inputs):
        others = [other for other, _ in answers(inputs)]
        lower = sum(other < confidence - TIE for other in others)
        tied = sum(abs(other - confidence) <= TIE for other in others)
        total.append((1 - hit) * (lower + tied / 2) / len(others))
    return mean(total)


# Members of an ensemble


def entropy(p: Sequence[float]) -> float:
    """Return -sum p log p in nats."""
    return -math.fsum(q * math.log(q) for q in p if q > 0)


def average(members: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean distribution."""
    return [mean(column) for column in zip(*members, strict=True)]


def total_entropy(inputs: Inputs) -> float:
    return mean(entropy(average(members)) for members in inputs["members"])


def conditional_entropy(inputs: Inputs) -> float:
    return mean(mean(entropy(p) for p in members) for members in inputs["members"])


def mutual_information(inputs: Inputs) -> float:
    return total_entropy(inputs) - conditional_entropy(inputs)


def member_disagreement(inputs: Inputs) -> float:
    shares = []
    for members in inputs["members"]:
        choices = [top(p) for p in members]
        pairs = [(a, b) for i, a in enumerate(choices) for b in choices[i + 1 :]]
        shares.append(mean(a != b for a, b in pairs))
    return mean(shares)


# Real values


def normals(inputs: Inputs) -> list[tuple[float, float, float]]:
    """Return mean, standard deviation and label of every row."""
    return list(zip(inputs["mean"], inputs["std"], inputs["labels"], strict=True))


def phi(z: float) -> float:
    """Return the normal distribution function."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(level: float) -> float:
    """Return the quantile by bisection."""
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if phi(middle) < level else (low, middle)
    return (low + high) / 2


def simpson(function: Callable[[float], float], low: float, high: float, parts: int = 4000) -> float:
    """Return the integral of a smooth function."""
    width = (high - low) / parts
    inner = [function(low + i * width) * (4 if i % 2 else 2) for i in range(1, parts)]
    return width / 3 * math.fsum([function(low), *inner, function(high)])


def crps_normal(inputs: Inputs) -> float:
    numbers = []
    for mu, sigma, y in normals(inputs):
        z = (y - mu) / sigma  # of (F(t) - 1[t >= y])^2, on both sides of the label
        below = simpson(lambda t: phi(t) ** 2, min(z, 0.0) - 12.0, z)
        above = simpson(lambda t: phi(-t) ** 2, z, max(z, 0.0) + 12.0)
        numbers.append(sigma * (below + above))
    return mean(numbers)


def gaussian_log_loss(inputs: Inputs) -> float:
    return mean(
        0.5 * math.log(2 * math.pi * sigma**2) + (y - mu) ** 2 / (2 * sigma**2)
        for mu, sigma, y in normals(inputs)
    )


def rmse(inputs: Inputs) -> float:
    return math.sqrt(mean((y - mu) ** 2 for mu, _, y in normals(inputs)))


def mae(inputs: Inputs) -> float:
    return mean(abs(y - mu) for mu, _, y in normals(inputs))


def mean_squared_z(inputs: Inputs) -> float:
    return mean(((y - mu) / sigma) ** 2 for mu, sigma, y in normals(inputs))


def sharpness(inputs: Inputs, level: float) -> float:
    return mean(2 * normal_quantile((1 + level) / 2) * sigma for _, sigma, _ in normals(inputs))


def gaussian_coverage(inputs: Inputs, level: float) -> float:
    half = normal_quantile((1 + level) / 2)
    return mean(abs(y - mu) <= half * sigma for mu, sigma, y in normals(inputs))


def gaussian_interval_score(inputs: Inputs, level: float) -> float:
    half = normal_quantile((1 + level) / 2)
    return mean(
        of_interval(mu - half * sigma, mu + half * sigma, y, 1 - level) for mu, sigma, y in normals(inputs)
    )


def ence(inputs: Inputs, n_bins: int) -> float:
    listed = normals(inputs)
    ordered = sorted(sigma for _, sigma, _ in listed)
    edges = [ordered[j * len(ordered) // n_bins] for j in range(1, n_bins)]
    bins = [sum(sigma >= edge for edge in edges) for _, sigma, _ in listed]
    numbers = []
    for b in set(bins):
        inside = [row for row, at in zip(listed, bins, strict=True) if at == b]
        stated = math.sqrt(mean(sigma**2 for _, sigma, _ in inside))
        error = math.sqrt(mean((y - mu) ** 2 for mu, _, y in inside))
        numbers.append(abs(stated - error) / stated)
    return mean(numbers)


def shares_below(inputs: Inputs, levels: Sequence[float]) -> list[float]:
    """Return the share of labels at or below the quantile of each level."""
    listed = normals(inputs)
    return [mean((y - mu) / sigma <= normal_quantile(level) for mu, sigma, y in listed) for level in levels]


def quantile_calibration_error(inputs: Inputs, levels: Sequence[float]) -> float:
    return math.fsum(
        (level - share) ** 2 for level, share in zip(levels, shares_below(inputs, levels), strict=True)
    )


def crps_draws(inputs: Inputs) -> float:
    return mean(
        mean(abs(x - y) for x in draws) - mean(abs(a - b) for a in draws for b in draws) / 2
        for draws, y in zip(inputs["draws"], inputs["labels"], strict=True)
    )


def crps_draws_fair(inputs: Inputs) -> float:
    numbers = []
    for draws, y in zip(inputs["draws"], inputs["labels"], strict=True):
        pairs = [abs(a - b) for i, a in enumerate(draws) for j, b in enumerate(draws) if i != j]
        numbers.append(mean(abs(x - y) for x in draws) - mean(pairs) / 2)
    return mean(numbers)


def pinball(quantile: float, level: float, y: float) -> float:
    """Return the loss of one quantile."""
    return level * (y - quantile) if y >= quantile else (1 - level) * (quantile - y)


def pinball_loss(inputs: Inputs) -> float:
    return mean(
        mean(pinball(q, level, y) for q, level in zip(row, inputs["levels"], strict=True))
        for row, y in zip(inputs["quantiles"], inputs["labels"], strict=True)
    )


def of_interval(low: float, high: float, y: float, alpha: float) -> float:
    """Return width and penalty of one interval."""
    return high - low + 2 / alpha * max(low - y, 0.0) + 2 / alpha * max(y - high, 0.0)


def intervals(inputs: Inputs) -> list[tuple[float, float, float]]:
    """Return both ends and label of every row."""
    return list(zip(inputs["lower"], inputs["upper"], inputs["labels"], strict=True))


def interval_score(inputs: Inputs, level: float) -> float:
    return mean(of_interval(low, high, y, 1 - level) for low, high, y in intervals(inputs))


def interval_coverage(inputs: Inputs) -> float:
    return mean(low <= y <= high for low, high, y in intervals(inputs))


def interval_width(inputs: Inputs) -> float:
    return mean(high - low for low, high, _ in intervals(inputs))


def weighted_interval_score(inputs: Inputs) -> float:
    numbers, levels = [], inputs["levels"]
    number = len(levels) // 2
    for row, y in zip(inputs["quantiles"], inputs["labels"], strict=True):
        total = [abs(y - row[number]) / 2]
        for j in range(number):
            alpha = 2 * levels[j]
            total.append(alpha / 2 * of_interval(row[j], row[-1 - j], y, alpha))
        numbers.append(math.fsum(total) / (number + 0.5))
    return mean(numbers)


def hsic(inputs: Inputs, bandwidth: float = 1.0) -> float:
    listed = intervals(inputs)
    widths, hits = [high - low for low, high, _ in listed], [int(low <= y <= high) for low, high, y in listed]
    spread = math.sqrt(mean((w - mean(widths)) ** 2 for w in widths))
    n, share, total = len(listed), mean(hits), []
    for i in range(n):
        for j in range(n):
            alike = math.exp(-(((widths[i] - widths[j]) / (bandwidth * spread)) ** 2) / 2)
            total.append((hits[i] - share) * (hits[j] - share) * alike)
    return 2 * math.fsum(total) / n**2


def energy_score(inputs: Inputs) -> float:
    return mean(
        mean(math.dist(x, y) for x in draws) - mean(math.dist(a, b) for a in draws for b in draws) / 2
        for draws, y in zip(inputs["draws"], inputs["labels"], strict=True)
    )


def variogram_score(inputs: Inputs, order: float) -> float:
    numbers = []
    for draws, y in zip(inputs["draws"], inputs["labels"], strict=True):
        d = range(len(y))
        numbers.append(
            math.fsum(
                (abs(y[a] - y[b]) ** order - mean(abs(x[a] - x[b]) ** order for x in draws)) ** 2
                for a in d
                for b in d
            )
        )
    return mean(numbers)


# Prediction sets


def set_coverage(inputs: Inputs) -> float:
    return mean(row[y] for row, y in zip(inputs["sets"], inputs["labels"], strict=True))


def set_size(inputs: Inputs) -> float:
    return mean(sum(row) for row in inputs["sets"])


MEASURES: dict[str, Callable[..., float]] = {
    measure.__name__: measure
    for measure in (
        accuracy,
        confidence_gap,
        brier,
        log_loss,
        ranked_probability_score,
        brier_skill,
        log_loss_skill,
        net_benefit,
        spiegelhalter_z,
        confidence_ece,
        confidence_ece_l2,
        confidence_mce,
        debiased_squared_ece,
        top_label_ece,
        classwise_ece,
        event_ece,
        event_mce,
        event_ece_equal_mass,
        hosmer_lemeshow,
        kolmogorov_smirnov,
        kuiper,
        two_bin_error,
        skce,
        aurc,
        augrc,
        total_entropy,
        conditional_entropy,
        mutual_information,
        member_disagreement,
        crps_normal,
        gaussian_log_loss,
        rmse,
        mae,
        mean_squared_z,
        sharpness,
        gaussian_coverage,
        gaussian_interval_score,
        ence,
        quantile_calibration_error,
        crps_draws,
        crps_draws_fair,
        pinball_loss,
        interval_score,
        interval_coverage,
        interval_width,
        weighted_interval_score,
        hsic,
        energy_score,
        variogram_score,
        set_coverage,
        set_size,
    )
}
"""Every measure by name: the name of its page and of its file of vectors."""
