"""C25 Table 4's question: do 2k vertices, k! vertices and the closed form give the same distance?"""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.credal import distance, nonspecificity, vertices
from credibly.evaluation import shown
from credibly.predictions import Belief, Point
from credibly_studies import c25
from credibly_studies.c25_claims import BETTER, ENOUGH
from credibly_studies.c25_models import STANDS_FOR, Models, digits_models, four_classes
from credibly_studies.judging import holds, mean_interval, told
from credibly_studies.pictures import intervals_picture
from credibly_studies.results import Cell, Claim, Findings, StudyTable, drawn
from credibly_studies.study import Run, Study

Distances = dict[str, HostArray]

LEAST = 1e-300
"""Of a probability inside a logarithm; nothing here comes near it."""

SAME = 1e-6
ENSEMBLES = ("ensemble", "dropout", "evidential")


@dataclasses.dataclass(frozen=True)
class VerticesSize:
    """How large the study is.

    Parameters
    ----------
    rows : int
        Digits read; those of the first four classes are used.
    samples : int
        Draws per instance of the evidential model.
    """

    rows: int
    samples: int


def beliefs(models: Models, samples: int, seed: int) -> dict[str, Belief]:
    """Return the sets of C25's pipeline: clamped masses on all events of the four classes."""
    by_name = {}
    for name in ENSEMBLES:
        drawn, _ = c25.samples(models.models[name], samples, (seed, 0))
        made = c25.budget_belief(drawn, c25.default_budget(drawn))
        assert isinstance(made, Belief)
        by_name[name] = made
    return by_name


def nearest_vertex(vertices: HostArray, target: HostArray) -> HostArray:
    """Return the smallest KL of targets (n, k) to vertices (n, v, k)."""
    logs = np.log(np.maximum(vertices, LEAST))
    entropy = np.where(target > 0, target * np.log(np.maximum(target, LEAST)), 0.0).sum(axis=1)
    return np.asarray((entropy[:, None] - (target[:, None] * logs).sum(axis=2)).min(axis=1))


def ways(belief: Belief, target: HostArray, labels: HostArray | None) -> Distances:
    """Return the distance by every way: the last needs no vertices."""
    return {
        "2k vertices": nearest_vertex(to_host(vertices(belief, which="C25")), target),
        "k! vertices": nearest_vertex(to_host(vertices(belief)), target),
        "exact minimum" if labels is None else "closed form": to_host(
            distance(belief, target if labels is None else labels)
        ),
    }


def work(size: VerticesSize, run: Run) -> Findings:
    """Compare the ways on labels and on soft targets."""
    models = four_classes(digits_models(size.rows))
    onehot = np.eye(4)[models.labels]
    soft = models.models["forest"]
    assert isinstance(soft, Point)
    target = to_host(soft.probs).astype(np.float64)
    rows: list[tuple[Cell, ...]] = []
    on_labels, on_soft = {}, {}
    for name, belief in beliefs(models, size.samples, run.seed[0]).items():
        right = to_host(belief.pignistic().probs).argmax(axis=1) == models.labels
        imprecision = to_host(nonspecificity(belief))
        on_labels[name] = ways(belief, onehot, models.labels)
        on_soft[name] = ways(belief, target, None)
        for targets, found in (("labels", on_labels[name]), ("soft targets", on_soft[name])):
            exact = list(found.values())[-1]
            for way, distances in found.items():
                rows.append(
                    (name, STANDS_FOR[name], targets, way, distances.mean(), mean_interval(distances),
                     distances[right].mean(), distances[~right].mean() if (~right).any() else None,
                     imprecision[right].mean(), imprecision[~right].mean() if (~right).any() else None,
                     np.abs(distances - exact).max())
                )  # fmt: skip
    columns = (
        "model", "for", "targets", "way", "distance", "interval", "right", "wrong", "NS, right", "NS, wrong",
        "largest difference of one instance",
    )  # fmt: skip
    title = "Nearest of 2k and of k! vertices, and without vertices, at k = 4"
    table = StudyTable("ways", title, columns, rows)
    series = {
        way: {name: (float(found[way].mean()), mean_interval(found[way])) for name, found in on_soft.items()}
        for way in on_soft["ensemble"]
    }
    picture = intervals_picture("Soft targets", "distance to the set", series)
    return Findings((table,), _claims(on_labels, on_soft, len(onehot)), {"soft": drawn(picture)})


def _claims(on_labels: dict[str, Distances], on_soft: dict[str, Distances], n: int) -> list[Claim]:
    gaps = {name: _largest_gap(distances) for name, distances in on_labels.items()}
    beyond = {
        name: distances["k! vertices"] - distances["exact minimum"] for name, distances in on_soft.items()
    }
    more = {
        name: float((distances["2k vertices"] - distances["k! vertices"]).mean())
        for name, distances in on_soft.items()
    }
    largest = max(gaps.values())
    return [
        Claim(
            *ENOUGH,
            "",
            f"digits 0 to 3: 2k, k! and the closed form agree to {shown(largest)} on {n} instances, "
            f"{len(gaps)} models",
            holds(gap <= SAME for gap in gaps.values()),
        ),
        Claim(
            *BETTER,
            "",
            f"digits 0 to 3: the distance is the same to {shown(largest)}",
            holds(gap > SAME for gap in gaps.values()),
            "the vertex that gives the label its plausibility is among the 2k, and no distribution of "
            "the set gives it more: -ln of the plausibility is the distance, and no vertex is needed",
        ),
        Claim(
            "C25 Sec. 6.1, A.2",
            "the distance of a label to the set is that to its closest vertex",
            "no number",
            f"digits 0 to 3: the closest of k! vertices and the closed form agree to {shown(largest)}",
            holds(gap <= SAME for gap in gaps.values()),
        ),
        Claim(
            "C25 Sec. 5, A.2",
            "the distance of a soft target to the set is that to its closest vertex",
            "",
            "digits 0 to 3, with all k! vertices: "
            + "; ".join(
                f"{name} too large by {told(float(one.mean()), mean_interval(one))}, on "
                f"{(one > SAME).mean():.0%} of instances"
                for name, one in beyond.items()
            )
            + f"; 2k vertices add up to {shown(max(more.values()))} to that",
            holds(bool((gap <= SAME).all()) for gap in beyond.values()),
            "KL is smallest at a vertex for one-hot labels only; label histograms have their nearest "
            "distribution inside",
            further=True,
        ),
    ]


def _largest_gap(distances: Distances) -> float:
    values = np.stack(list(distances.values()))
    return float(np.abs(values - values[-1]).max())


FOUR_CLASSES = Study(
    name="c25-vertices",
    title="2k vertices, k! vertices and the closed form at k = 4: labels and soft targets",
    reference="C25 Table 4",
    small=VerticesSize(300, 20),
    full=VerticesSize(900, 100),
    work=work,
    design="another",
)
