"""Random members of a set: Dirichlet weights on what makes it up, or uniform by hit-and-run."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer, require_positive_number
from credibly._arrays.errors import UnsupportedError, one_of
from credibly._arrays.namespace import HostArray, as_float64, like, to_host
from credibly._arrays.philox import as_seed, takes_rng
from credibly.credal.bounds import tight_bounds
from credibly.credal.membership import hull_ray_lengths, on_simplex, ray_lengths
from credibly.credal.sets import DIRICHLET_SAMPLES, as_set
from credibly.predictions import Belief, Ensemble, Intervals, Point

_TINY = 1e-8
_MAX_FACET_DIMENSIONS = 6  # beyond, a hull has too many facets and chords come from linear programs


@takes_rng
def sample(
    predictions: Any,
    n: int,
    *,
    method: Literal["dirichlet", "hit_and_run"] = "dirichlet",
    concentration: float = 1.0,
    n_steps: int = 100,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Ensemble:
    """Draw distributions from each set.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions, read as sets by :func:`as_set`.
    n : int
        Draws per instance.
    method : {"dirichlet", "hit_and_run"}
        ``dirichlet``: mixtures of members with Dirichlet weights; for a belief, each focal set distributes
        its mass with Dirichlet weights. ``hit_and_run``: uniform on the set.
    concentration : float
        Parameter of the Dirichlet weights; 1 draws them uniformly from the simplex of weights.
    n_steps : int
        Steps of each hit-and-run chain; every draw is the end of its own chain.
    n_samples : int
        Number of draws that represent a Dirichlet prediction.
    rng : None, int or Generator
        Seed. Draws are made on the host, so a seed gives the same numbers on every device.

    Returns
    -------
    Ensemble
        Draws, (n instances, n draws, k).

    Notes
    -----
    Uniform weights are not uniform on the hull (J25 App. D): with more members than dimensions the draws
    concentrate in the middle. If members are the corners of a simplex the two agree, and hit-and-run draws
    weights directly.

    References
    ----------
    J25: Juergens et al., A calibration test for evaluating set-based epistemic uncertainty representations,
    2025. Smith, Efficient Monte Carlo procedures for generating points uniformly distributed over bounded
    regions, 1984.

    Examples
    --------
    >>> import credibly as cr
    >>> from credibly_studies.set_draws import sample
    >>> ensemble = cr.Ensemble([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]])
    >>> drawn = sample(ensemble, 4, rng=7)
    >>> drawn
    Ensemble(n=1, m=4, k=3, dtype=float64)
    >>> bool(cr.credal.contains(ensemble, drawn.mean()).all())
    True
    """
    one_of("`method`", method, ("dirichlet", "hit_and_run"))
    n, n_steps = require_integer(n, "n", 1), require_integer(n_steps, "n_steps", 1)
    require_positive_number(concentration, "concentration", "Use 1.")
    seed = as_seed(rng)
    credal = as_set(predictions, n_samples=n_samples, rng=seed)
    generator = np.random.default_rng(seed)
    uniform = method == "hit_and_run"
    if isinstance(credal, Point):
        drawn = np.repeat(to_host(as_float64(credal.probs))[:, None, :], n, axis=1)  # drawn on the host
    elif isinstance(credal, Ensemble):
        members = to_host(on_simplex(credal.probs))  # drawn on the host
        drawn = _mixtures(members, n, concentration, generator)
        if uniform:
            drawn = _walk_hulls(members, drawn, n_steps, generator)
    elif isinstance(credal, Belief):
        drawn = _spread(credal, n, concentration, generator)
        if uniform:
            drawn = _walk_belief(credal, drawn, n_steps, generator)
    elif uniform:
        drawn = _walk_intervals(credal, n, n_steps, generator)
    else:
        raise UnsupportedError(
            '`method="dirichlet"`',
            "mixes members, which intervals do not have",
            "got Intervals",
            'Use `method="hit_and_run"`.',
        )
    return Ensemble(like(np.clip(drawn, 0.0, 1.0), credal._leading), member_axis=1)


def _mixtures(members: HostArray, n: int, concentration: float, generator: np.random.Generator) -> HostArray:
    weights = generator.dirichlet(np.full(members.shape[1], concentration), size=(members.shape[0], n))
    return np.asarray(weights @ members)


def _spread(credal: Belief, n: int, concentration: float, generator: np.random.Generator) -> HostArray:
    """Spread every mass over its set with Dirichlet weights."""
    masses, table = to_host(as_float64(credal.masses)), credal.membership
    drawn = np.zeros((masses.shape[0], n, table.shape[1]))
    for column, row in enumerate(table):
        classes = np.flatnonzero(row)
        weights = generator.dirichlet(np.full(classes.size, concentration), size=(masses.shape[0], n))
        drawn[:, :, classes] += masses[:, column, None, None] * weights
    return drawn


def _walk_hulls(
    members: HostArray, start: HostArray, n_steps: int, generator: np.random.Generator
) -> HostArray:
    """Choose per instance: weights themselves on a simplex, facets in few dimensions, programs in many."""
    drawn = np.empty_like(start)
    for row, (points, begin) in enumerate(zip(members, start, strict=True)):
        middle = points.mean(axis=0)
        _, lengths, axes = np.linalg.svd(points - middle, full_matrices=False)
        rank = int((lengths > 1e-10 * max(lengths[0], 1e-300)).sum())
        distinct = np.unique(points.round(14), axis=0)
        if lengths[0] <= 1e-14:
            drawn[row] = begin
        elif lengths[0] <= _TINY:
            # facets of so small a hull are lost in rounding: its points' own mixtures are inside, and as good
            drawn[row] = generator.dirichlet(np.ones(len(points)), size=begin.shape[0]) @ points
        elif distinct.shape[0] == rank + 1:
            drawn[row] = generator.dirichlet(np.ones(rank + 1), size=begin.shape[0]) @ distinct
        elif rank == 1:
            along = (points - middle) @ axes[0]
            places = generator.uniform(along.min(), along.max(), size=begin.shape[0])
            drawn[row] = middle + places[:, None] * axes[0]
        elif rank <= _MAX_FACET_DIMENSIONS:
            walked = _walk_facets(
                (points - middle) @ axes[:rank].T, (begin - middle) @ axes[:rank].T, n_steps, generator
            )
            drawn[row] = middle + walked @ axes[:rank]
        else:
            drawn[row] = _walk_programs(points, begin, n_steps, generator)
    return drawn


def _walk_facets(
    points: HostArray, start: HostArray, n_steps: int, generator: np.random.Generator
) -> HostArray:
    """Hit-and-run between the facets of a hull: every chord end is the nearest facet crossed."""
    from scipy.spatial import ConvexHull

    scale = np.abs(points).max(axis=0)
    facets = ConvexHull(points / scale).equations  # normal . x + offset <= 0
    normals, offsets = facets[:, :-1], facets[:, -1]
    place = start / scale
    for _ in range(n_steps):
        direction = generator.standard_normal(place.shape)
        room = np.maximum(-(place @ normals.T + offsets), 0.0)
        speed = direction @ normals.T
        place = place + _uniform_on_chord(room, speed, generator)[:, None] * direction
    return np.asarray(place * scale)


def _uniform_on_chord(room: HostArray, speed: HostArray, generator: np.random.Generator) -> HostArray:
    """Return a uniform place between the two walls met, from room (s, f) to each and speed towards it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = room / speed
    ahead = np.where(speed > 1e-14, times, np.inf).min(axis=1)
    behind = np.where(speed < -1e-14, times, -np.inf).max(axis=1)
    return np.asarray(behind + (ahead - behind) * generator.random(room.shape[0]))


def _walk_programs(
    members: HostArray, start: HostArray, n_steps: int, generator: np.random.Generator
) -> HostArray:
    """Hit-and-run with both ends of every chord from linear programs, all chains together."""
    place = start
    shifted = members - members.mean(axis=0)
    chains = np.broadcast_to(members, (start.shape[0], *members.shape))
    for _ in range(n_steps):
        direction = generator.standard_normal((start.shape[0], members.shape[0])) @ shifted
        ahead = hull_ray_lengths(chains, place, direction)
        behind = hull_ray_lengths(chains, place, -direction)
        place = place + (generator.random(ahead.shape) * (ahead + behind) - behind)[:, None] * direction
    return place


def _walk_intervals(credal: Intervals, n: int, n_steps: int, generator: np.random.Generator) -> HostArray:
    """Hit-and-run between the bounds, along directions that keep the sum."""
    lower, upper = (to_host(bound)[:, None, :] for bound in tight_bounds(credal))
    place = np.repeat(to_host(credal.mean().probs)[:, None, :], n, axis=1)
    free = upper - lower > 1e-14
    count = np.maximum(free.sum(axis=-1, keepdims=True), 1)
    for _ in range(n_steps):
        direction = generator.standard_normal(place.shape) * free
        direction -= free * (direction.sum(axis=-1, keepdims=True) / count)
        room = np.concatenate([np.maximum(upper - place, 0.0), np.maximum(place - lower, 0.0)], axis=-1)
        speed = np.concatenate([direction, -direction], axis=-1)
        flat_room, flat_speed = room.reshape(-1, room.shape[-1]), speed.reshape(-1, speed.shape[-1])
        moving = np.abs(flat_speed).max(axis=1) > 1e-14
        step = np.zeros(len(flat_room))
        if moving.any():
            step[moving] = _uniform_on_chord(flat_room[moving], flat_speed[moving], generator)
        place = place + step.reshape(place.shape[:2])[:, :, None] * direction
    return place


def _walk_belief(credal: Belief, start: HostArray, n_steps: int, generator: np.random.Generator) -> HostArray:
    """Hit-and-run along directions that move mass inside focal sets."""
    n, s, k = start.shape
    rows = np.repeat(np.arange(n), s)
    host = Belief(to_host(as_float64(credal.masses)), credal.focal_sets, k)
    chains = host[rows]
    place = start.reshape(n * s, k)
    table = host.membership
    movable = table[table.sum(axis=1) > 1]
    has_mass = chains.masses[:, table.sum(axis=1) > 1] > 0
    for _ in range(n_steps):
        direction = np.zeros_like(place)
        for column, row in enumerate(movable):
            noise = generator.standard_normal(place.shape) * row
            noise -= row * (noise.sum(axis=1, keepdims=True) / row.sum())
            direction += noise * has_mass[:, [column]]
        ahead = ray_lengths(chains, place, direction)
        behind = ray_lengths(chains, place, -direction)
        moving = np.isfinite(ahead) & np.isfinite(behind)
        step = generator.random(n * s) * np.where(moving, ahead + behind, 0.0) - np.where(moving, behind, 0.0)
        place = place + step[:, None] * direction
    return place.reshape(n, s, k)
