"""Other definitions that packages give the same name, by brute force: words, and the number they lead to.

A bridge explains a package only if it reproduces its number in every case that the package takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from conformance import derive
from conformance.derive import Inputs

Bridge = tuple[str, Callable[..., float]]


def scaled(measure: str, words: str, factor: Callable[[Inputs], float]) -> Bridge:
    """Return the measure times a factor that the inputs say."""
    return words, lambda inputs, **settings: factor(inputs) * derive.MEASURES[measure](inputs, **settings)


def classes_of(inputs: Inputs) -> int:
    """Return the number of classes."""
    return len(inputs["probs"][0])


def clipped(inputs: Inputs, least: float) -> float:
    """Return the log loss of probabilities that are kept away from 0 and 1."""
    kept = [[min(max(q, least), 1 - least) for q in p] for p in inputs["probs"]]
    return derive.mean(-math.log(p[y]) for p, y in zip(kept, inputs["labels"], strict=True))


def clipped_event(inputs: Inputs, least: float) -> float:
    """Return the log loss of an event whose probability is kept away from 0 and 1."""
    kept = [(min(max(p, least), 1 - least), hit) for p, hit in derive.events(inputs)]
    return derive.mean(-math.log(p) if hit else -math.log1p(-p) for p, hit in kept)


def accuracy_by_class(inputs: Inputs) -> float:
    """Return the mean, over classes that occur, of the share of their rows that are answered right."""
    hits: dict[int, list[int]] = {}
    for p, y in derive.rows(inputs):
        hits.setdefault(y, []).append(int(derive.top(p) == y))
    return derive.mean(derive.mean(one) for one in hits.values())


def own_bin(value: float, n_bins: int) -> int:
    """Return the bin of equal width, where exactly 1 has a bin of its own."""
    return n_bins if value == 1 else derive.width_bin(value, n_bins)


def with_own_bin(pairs: list[tuple[float, int]], n_bins: int, norm: str = "l1") -> float:
    """Return a binned error where predictions of exactly 1 have a bin of their own."""
    value = derive.binned(pairs, [own_bin(p, n_bins) for p, _ in pairs], norm)
    return math.sqrt(value) if norm == "l2" else value


def pairs_of(inputs: Inputs, what: str) -> list[tuple[float, int]]:
    """Return answers, or events, or the events of two classes and the answers of more."""
    event = what == "event" or (what == "event of two" and classes_of(inputs) == 2)
    return derive.events(inputs) if event else derive.answers(inputs)


def width_bridges(what: str, norm: str = "l1") -> list[Bridge]:
    """Return other bins of equal width, for an error of answers or of an event."""

    def error(
        inputs: Inputs, n_bins: int, closed: str = "left", *, of: str, fewer: int = 0, **_: Any
    ) -> float:
        value = derive.of_width(pairs_of(inputs, of), n_bins - fewer, closed, norm)
        return math.sqrt(value) if norm == "l2" else value

    def own(inputs: Inputs, n_bins: int, *, of: str, **_: Any) -> float:
        return with_own_bin(pairs_of(inputs, of), n_bins, norm)

    right = {"closed": "right"}
    bridges: list[Bridge] = [
        ("bins closed on the right, (low, high]", lambda i, n_bins, **_: error(i, n_bins, of=what, **right)),
        ("predictions of exactly 1 have a bin of their own", partial(own, of=what)),
        (
            "the number counts edges, one more than bins; bins closed on the right",
            lambda i, n_bins, **_: error(i, n_bins, of=what, fewer=1, **right),
        ),
        (
            "bins closed on the left, [low, high), whatever is asked for",
            lambda i, n_bins, **_: error(i, n_bins, of=what),
        ),
    ]
    if what == "answer":
        bridges += [
            (
                "with two classes, the event's probability instead of the confidence",
                partial(error, of="event of two"),
            ),
            (
                "with two classes, the event's probability, and predictions of exactly 1 in a bin of "
                "their own",
                partial(own, of="event of two"),
            ),
        ]
    return bridges


def interpolated_bins(values: Sequence[float], n_bins: int, side: str) -> list[int]:
    """Return bins whose edges are quantiles, interpolated between the values; equal edges collapse."""
    ordered, edges = sorted(values), set()
    for j in range(1, n_bins):
        place = j / n_bins * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        edges.add(ordered[low] + (place - low) * (ordered[high] - ordered[low]))
    if side == "left":
        return [sum(value >= edge for edge in edges) for value in values]
    return [sum(value > edge for edge in edges) for value in values]


def of_quantiles(inputs: Inputs, n_bins: int, side: str = "left", fewer: int = 0) -> float:
    """Return the error of an event in bins between interpolated quantiles."""
    pairs = derive.events(inputs)
    return derive.binned(pairs, interpolated_bins([p for p, _ in pairs], n_bins - fewer, side))


def least_apart(inputs: Inputs, n_bins: int) -> float:
    """Return the error of an event where the smallest prediction, an edge, has its own bin."""
    pairs = derive.events(inputs)
    values = [p for p, _ in pairs]
    bins = interpolated_bins(values, n_bins - 1, "right")
    return derive.binned(pairs, [-1 if p == min(values) else b for p, b in zip(values, bins, strict=True)])


def of_equal_counts(inputs: Inputs, n_bins: int) -> float:
    """Return the error of an event in bins that differ by at most one row, in order of the predictions."""
    pairs = sorted(derive.events(inputs), key=lambda pair: pair[0])
    size, longer = divmod(len(pairs), n_bins)
    bins = [b for b in range(n_bins) for _ in range(size + (b < longer))]
    return derive.binned(pairs, bins)


def hosmer_lemeshow_of_quantiles(inputs: Inputs, n_bins: int) -> float:
    """Return the statistic of an event in groups between interpolated quantiles, with the variance below."""
    pairs, total = derive.events(inputs), []
    bins = interpolated_bins([p for p, _ in pairs], n_bins, "left")
    for b in set(bins):
        inside = [pair for pair, at in zip(pairs, bins, strict=True) if at == b]
        expected = math.fsum(p for p, _ in inside)
        variance = expected * (1 - expected / len(inside))
        total.append((sum(hit for _, hit in inside) - expected) ** 2 / variance)
    return math.fsum(total)


def top_label(inputs: Inputs, n_bins: int, closed: str = "left", fewer: int = 0) -> float:
    """Return the mean over predicted classes of the error of their answers."""
    numbers = []
    for c in sorted({derive.top(p) for p in inputs["probs"]}):
        kept = [(p, y) for p, y in derive.rows(inputs) if derive.top(p) == c]
        part = {"probs": [p for p, _ in kept], "labels": [y for _, y in kept]}
        numbers.append(derive.of_width(derive.answers(part), n_bins - fewer, closed))
    return derive.mean(numbers)


def unit_of_walk(inputs: Inputs) -> float:
    """Return the standard deviation of the end of the walk."""
    return math.sqrt(math.fsum(p * (1 - p) for p, _ in derive.events(inputs))) / len(inputs["labels"])


def walk_without_start(inputs: Inputs, kind: str) -> float:
    """Return the largest distance from 0, or the range, of the walk after its first step, in its unit."""
    places = derive.walk(derive.events(inputs))[1:]
    size = max(map(abs, places)) if kind == "max" else max(places) - min(places)
    return size / unit_of_walk(inputs)


def ence_of_widths(inputs: Inputs, n_bins: int) -> float:
    """Return the error in bins of equal width between the smallest and the largest spread."""
    listed = derive.normals(inputs)
    low, high = min(s for _, s, _ in listed), max(s for _, s, _ in listed)
    bins = [min(int((s - low) / (high - low) * n_bins), n_bins - 1) for _, s, _ in listed]
    numbers = []
    for b in set(bins):
        inside = [row for row, at in zip(listed, bins, strict=True) if at == b]
        stated = math.sqrt(derive.mean(s**2 for _, s, _ in inside))
        error = math.sqrt(derive.mean((y - mu) ** 2 for mu, _, y in inside))
        numbers.append(abs(stated - error) / stated)
    return derive.mean(numbers)


def wis_of_medians(inputs: Inputs) -> float:
    """Return the weighted interval score with the median where its distance to the label stands."""
    middle = len(inputs["levels"]) // 2
    pairs = [(row[middle], y) for row, y in zip(inputs["quantiles"], inputs["labels"], strict=True)]
    more = derive.mean(median - abs(y - median) for median, y in pairs) / 2
    return derive.weighted_interval_score(inputs) + more / (middle + 0.5)


def distances_to_levels(inputs: Inputs, power: int, number: int = 100) -> float:
    """Return the mean distance of shares below quantiles from `number` levels between 0 and 1."""
    levels = [j / (number - 1) for j in range(number)][1:-1]
    shares = derive.shares_below(inputs, levels)
    total = math.fsum(abs(share - level) ** power for share, level in zip(shares, levels, strict=True))
    return (total / number) ** (1 / power)  # both ends are reached exactly


def hsic_in_labels(inputs: Inputs, **_: Any) -> float:
    """Return the root of the criterion with kernels exp(-d^2) of widths as they are, over (n - 1)^2."""
    listed = derive.intervals(inputs)
    widths, hits = [high - low for low, high, _ in listed], [int(low <= y <= high) for low, high, y in listed]
    n, share, total = len(listed), derive.mean(hits), []
    for i in range(n):
        for j in range(n):
            total.append((hits[i] - share) * (hits[j] - share) * math.exp(-((widths[i] - widths[j]) ** 2)))
    return math.sqrt(max(2 * (1 - math.exp(-1)) * math.fsum(total), 0.0)) / (n - 1)


def mean_over_levels(measure: str) -> Callable[..., float]:
    """Return the mean of a measure over the levels 0.01, ..., 0.99, whatever level is asked for."""

    def value(inputs: Inputs, **_: Any) -> float:
        return derive.mean(derive.MEASURES[measure](inputs, level=j / 100) for j in range(1, 100))

    return value


_BITS = "in bits"
BRIDGES: dict[str, list[Bridge]] = {
    "accuracy": [
        ("mean over the classes that occur, each with its own share (macro average)", accuracy_by_class),
        ("share of wrong answers, 1 minus accuracy", lambda i: 1 - derive.accuracy(i)),
    ],
    "brier": [
        scaled("brier", "half of it", lambda i: 0.5),
        scaled("brier", "half of it for two classes", lambda i: 0.5 if classes_of(i) == 2 else 1.0),
        scaled("brier", "mean over the classes instead of the sum", lambda i: 1 / classes_of(i)),
    ],
    "log_loss": [
        *(
            (f"probabilities are clipped to [{words}, 1 - {words}]", partial(clipped, least=least))
            for words, least in (("2.2e-16", 2.0**-52), ("1e-15", 1e-15), ("1e-12", 1e-12), ("1e-7", 1e-7))
        ),
        ("the event's probability is clipped to [1e-12, 1 - 1e-12]", partial(clipped_event, least=1e-12)),
    ],
    "ranked_probability_score": [
        scaled("ranked_probability_score", "divided by k - 1", lambda i: 1 / (classes_of(i) - 1))
    ],
    "confidence_ece": width_bridges("answer"),
    "confidence_ece_l2": width_bridges("answer", "l2"),
    "confidence_mce": width_bridges("answer", "max"),
    "event_ece": width_bridges("event"),
    "event_mce": width_bridges("event", "max"),
    "top_label_ece": [
        ("every predicted class counts the same", top_label),
        (
            "every predicted class counts the same; the number counts edges; bins closed on the right",
            partial(top_label, closed="right", fewer=1),
        ),
    ],
    "event_ece_equal_mass": [
        ("edges are quantiles interpolated between predictions", of_quantiles),
        (
            "edges are quantiles interpolated between predictions; bins closed on the right",
            partial(of_quantiles, side="right"),
        ),
        (
            "edges are interpolated quantiles; the number counts edges; bins closed on the right",
            partial(of_quantiles, side="right", fewer=1),
        ),
        (
            "edges are interpolated quantiles, one fewer than asked for; the smallest prediction has its "
            "own bin",
            least_apart,
        ),
        ("bins differ by at most one row and split ties", of_equal_counts),
    ],
    "hosmer_lemeshow": [
        ("groups lie between interpolated quantiles of the event's probability", hosmer_lemeshow_of_quantiles)
    ],
    "kolmogorov_smirnov": [
        ("in standard deviations of the walk's end", partial(walk_without_start, kind="max")),
    ],
    "kuiper": [
        (
            "in standard deviations of the walk's end, and the start of the walk does not count",
            partial(walk_without_start, kind="range"),
        ),
    ],
    "skce": [
        (
            "bandwidth in units of the event's probability, whose distances are those of the rows over "
            "the root of 2",
            lambda i, bandwidth: derive.skce(i, bandwidth=bandwidth * math.sqrt(2)),
        )
    ],
    "total_entropy": [scaled("total_entropy", _BITS, lambda i: 1 / math.log(2))],
    "conditional_entropy": [scaled("conditional_entropy", _BITS, lambda i: 1 / math.log(2))],
    "mutual_information": [scaled("mutual_information", _BITS, lambda i: 1 / math.log(2))],
    "rmse": [("not the root: the mean square", lambda i: derive.rmse(i) ** 2)],
    "sharpness": [
        (
            "root of the mean variance, without a level",
            lambda i, **_: math.sqrt(derive.mean(s * s for s in i["std"])),
        )
    ],
    "gaussian_interval_score": [
        ("mean over the levels 0.01, ..., 0.99", mean_over_levels("gaussian_interval_score"))
    ],
    "ence": [("bins of equal width between the smallest and the largest spread", ence_of_widths)],
    "quantile_calibration_error": [
        (
            "root of the mean square over 100 levels from 0 to 1, the ends included",
            lambda i, **_: distances_to_levels(i, 2),
        ),
        (
            "mean distance over 100 levels from 0 to 1, the ends included",
            lambda i, **_: distances_to_levels(i, 1),
        ),
    ],
    "pinball_loss": [scaled("pinball_loss", "twice of it", lambda i: 2.0)],
    "weighted_interval_score": [
        ("half the median itself counts, instead of half its distance to the label", wis_of_medians)
    ],
    "crps_draws": [("the fair estimate, over pairs of different draws", derive.crps_draws_fair)],
    "hsic": [
        ("its root, with kernels exp(-d^2) of widths as they are and of hits, over (n - 1)^2", hsic_in_labels)
    ],
    "variogram_score": [scaled("variogram_score", "every pair of components once", lambda i: 0.5)],
    "set_size": [
        (
            "1 minus the share of classes in the set (efficiency)",
            lambda i: 1 - derive.set_size(i) / len(i["sets"][0]),
        ),
    ],
}
"""Other definitions by measure; a measure that is missing has none that is known."""
