"""A monitor: batch by batch, labels in any order, state of some dozens of numbers.

Guarantee. If the probability of every label, given all that was known when its bet was made, is what was
stated, P(an alarm ever) <= level. What is averaged, and what is conditional on what:

    one process    rows that wait together are independent given the past: one sequence of bets
    m processes    batch b belongs to process b mod m, which sees labels of its own batches only; the alarm
                   needs one process alone to reach m / level, so batches of different processes may depend
                   on each other
    clusters       one bet per cluster: the mean of what its rows pay
    groups         a process is 1/2 all rows + 1/2 a weighted mean of groups, each with a capital of its own
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credibly import predictions as kinds
from credibly._arrays.errors import FileError, InputError, UnsupportedError, require
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly._arrays.philox import Seed, as_seed
from credibly.io import write_text_atomically
from credibly.monitor.bets import Book, require_like
from credibly.monitor.capital import BLOCK, Capital, Running, from_state, state_of
from credibly.predictions import Dataset, Ensemble, LabelCounts, Predictions, Samples, as_rows
from credibly.predictions.clusters import as_ids
from credibly.results.base import Result, require_level
from credibly.results.monitor import GroupEvidence, MonitorResult, Suspect, Tracked, tracked_name

FORMAT = "credibly monitor 1"
_TILE, _SHORT = 4096, 512
"""Rows that are paid at once: without groups, and with groups, whose evidence is known after each tile."""
_TRACE = 400
_OVERALL, _FIRST, _LATER = 0.5, 0.4, 0.1
_SHOWN, _LEAST = 4, 0.1


@dataclasses.dataclass
class _Process:
    """One sequence of bets on all rows and on the rows of every group; running means; members so far."""

    overall: Capital
    groups: dict[str, Capital]
    running: Running
    posterior: HostArray | None = None
    largest: float = 0.0

    def log(self, weights: Mapping[str, float]) -> float:
        """Return the logarithm of its capital."""
        if not weights:
            return self.overall.log
        rest = 1.0 - _OVERALL - sum(weights.values())  # kept for groups that come later
        held = [math.log(weight) + self._of_group(name) for name, weight in weights.items()]
        return float(logsumexp([math.log(_OVERALL) + self.overall.log, *held, math.log(rest)]))

    def _of_group(self, name: str) -> float:
        return self.groups[name].log if name in self.groups else 0.0


class Monitor:
    """Watch predictions and labels as they arrive; looking at any time keeps the error rate.

    Parameters
    ----------
    level : float
        Largest probability of ever raising an alarm while the predictions are right.
    hypothesis : {"independent", "bayesian", "set"}, optional
        What labels are compared with: the (average) prediction; one member that draws all labels; or any
        distribution in the set. Default: "set" for Intervals and Belief, else "independent".
    processes : int
        Number of interleaved processes, which batches take in turn. Labels of batches that wait at the same
        time may depend on each other if there are at least as many processes as such batches.
    rng : None, int or Generator
        Seed of what is drawn: hulls of Dirichlets, mixtures of draws.

    Notes
    -----
    The guarantee: if the probability of every label, given all that was seen before it, is what was stated,
    an alarm is ever raised with a probability of at most `level`. Labels that wait together (the rows of a
    batch, batches of one process) must be independent given the past, except inside `clusters`. If labels
    arrive only for some cases, and which ones depends on the label, no method has a guarantee.

    Every row costs a bet that is fixed before its label is known. Weights of bets follow *fixed share*, so a
    fault after many good rows is found nearly as fast as one at the start.

    References
    ----------
    Herbster and Warmuth, *Tracking the best expert*, 1998; Ramdas et al., *Game-theoretic statistics and safe
    anytime-valid inference*, 2023; Arnold, Henzi and Ziegel, *Sequentially valid tests for forecast
    calibration*, 2023; Wang and Ramdas, *False discovery rate control with e-values*, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> monitor = cr.Monitor()
    >>> for day in range(30):
    ...     probs = rng.dirichlet(np.ones(3), size=200)
    ...     truth = probs if day < 20 else probs**0.6 / (probs**0.6).sum(axis=1, keepdims=True)
    ...     labels = (rng.random((200, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    ...     monitor.update(probs, labels)
    >>> monitor.alarm
    True
    >>> 3500 < monitor.since < 4700
    True
    >>> monitor.where[0].family
    'temperature'
    """

    def __init__(
        self,
        *,
        level: float = 0.05,
        hypothesis: str | None = None,
        processes: int = 1,
        rng: Any = 0,
    ) -> None:
        require_level(level, remedy="Write 0.05 for one false alarm in twenty monitors.")
        require(
            isinstance(processes, int) and not isinstance(processes, bool) and processes >= 1,
            "must be a whole number, at least 1",
            "Use 1, or the largest number of batches that wait for labels at the same time.",
            processes=processes,
        )
        self.level = float(level)
        self._wanted = hypothesis
        self._number = processes
        self._seed: Seed = as_seed(rng)
        self._book: Book | None = None
        self._classes: tuple[str, ...] | None = None
        self._processes: list[_Process] = []
        self._weights: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self._grouped = False
        self._batches = 0
        self._n = 0
        self._impossible = 0
        self._alarm: dict[str, Any] | None = None
        self._waiting: list[dict[str, Any]] = []
        self._trace: list[list[float]] = []
        self._together = False
        self.positions: dict[str, list[Any]] = {}

    # ---- what comes in

    def update(
        self, predictions: Any, labels: Any = None, *, clusters: Any = None, groups: Any = None
    ) -> None:
        """Take in a batch of predictions with their labels.

        Parameters
        ----------
        predictions : Predictions, array, Dataset, path or data frame
            What was stated before the labels were known.
        labels : array (n,) or LabelCounts, optional
            What was observed; None takes what the data bring.
        clusters : array (n,), optional
            Which rows of the batch belong together: a patient, an image. They may depend on each other in any
            way and count as one bet.
        groups : array (n,) or mapping of str to array, optional
            Groups that are monitored as well, from the first batch on.
        """
        rows = as_rows(predictions, labels, groups=groups, clusters=clusters)
        for chunk in rows.map(_same):
            if chunk.labels is None:
                raise InputError(
                    "`labels`",
                    "must be given with `update`",
                    "got predictions alone",
                    "Use `expect(predictions, ids=...)` now and `observe(ids, labels)` later.",
                )
            groups_of_rows = self._begin(chunk)
            self._pay(self._next(), chunk, groups_of_rows)

    def expect(self, predictions: Any, *, ids: Any, clusters: Any = None, groups: Any = None) -> None:
        """Take in a batch of predictions whose labels come later.

        Parameters
        ----------
        predictions : Predictions or array
            What is stated now.
        ids : array (n,)
            Names of the rows, none of which waits already.
        clusters : array (n,), optional
            Which rows belong together.
        groups : array (n,) or mapping of str to array, optional
            Groups of the rows.
        """
        rows = as_rows(predictions, None, groups=groups, clusters=clusters)
        for chunk in rows.map(_same):
            names = _names(ids, len(chunk))
            times = Counter([*names, *(name for batch in self._waiting for name in batch["ids"])])
            twice = [name for name in names if times[name] > 1]
            if twice:
                raise InputError(
                    "`ids`",
                    "must be new",
                    f"{twice[0]!r} waits already or comes twice",
                    "Give every row its own.",
                )
            groups_of_rows = self._begin(chunk)
            turn = self._next()
            self._waiting.append(
                {
                    "process": turn,
                    "predictions": _written(chunk.predictions),
                    "ids": names,
                    "clusters": None if chunk.clusters is None else _codes(chunk).tolist(),
                    "groups": {name: np.flatnonzero(mask).tolist() for name, mask in groups_of_rows.items()},
                    "labels": [None] * len(chunk),
                    "forgotten": [],
                }
            )

    def observe(self, ids: Any, labels: Any) -> None:
        """Take in labels of rows that wait, in any order.

        Parameters
        ----------
        ids : array (n,)
            Names that `expect` was given.
        labels : array (n,) or LabelCounts
            What was observed.

        Notes
        -----
        Batches are paid as a whole and in the order of their predictions, so it does no harm if labels of one
        kind come sooner than others. A label that never comes holds up its process until `forget`.
        """
        names = _names(ids, None)
        host = to_host(labels.counts) if isinstance(labels, LabelCounts) else labels
        host = to_host(host) if is_array(host) else np.asarray(host)
        place = {
            name: (number, at)
            for number, batch in enumerate(self._waiting)
            for at, name in enumerate(batch["ids"])
            if batch["labels"][at] is None and at not in batch["forgotten"]
        }
        strange = [name for name in names if name not in place]
        if strange or len(names) != len(host) or len(set(names)) < len(names):
            raise InputError(
                "`ids`",
                "must each name one row that waits, with one label per id",
                f"got {strange[0]!r}, which does not"
                if strange
                else f"got {len(names)} ids, {len(host)} labels",
                "Give the ids that `expect` was given, each once.",
            )
        arrived: dict[int, dict[int, Any]] = {}
        for name, value in zip(names, host.tolist(), strict=True):
            number, at = place[name]
            arrived.setdefault(number, {})[at] = value
        for number, values in arrived.items():  # nothing is changed before all labels are checked
            self._rebuilt(self._waiting[number], values)
        for number, values in arrived.items():
            for at, value in values.items():
                self._waiting[number]["labels"][at] = value
        self._pay_whole_batches()

    def forget(self, ids: Any) -> None:
        """Give up waiting for some rows: they count as never predicted.

        Parameters
        ----------
        ids : array (n,)
            Names that `expect` was given. The guarantee holds only if it does not depend on the labels which
            rows are given up.
        """
        names = set(_names(ids, None))
        for batch in self._waiting:
            batch["forgotten"] += [
                at
                for at, name in enumerate(batch["ids"])
                if name in names and batch["labels"][at] is None and at not in batch["forgotten"]
            ]
        self._pay_whole_batches()

    def _pay_whole_batches(self) -> None:
        """Pay the batches of every process in the order of their predictions, up to one that is not whole."""
        held: set[int] = set()
        for batch in list(self._waiting):
            values = {at: value for at, value in enumerate(batch["labels"]) if at not in batch["forgotten"]}
            if None in values.values():
                held.add(batch["process"])
            if batch["process"] in held:
                continue
            self._waiting = [one for one in self._waiting if one is not batch]
            if values:
                masks = {name: np.isin(list(values), rows) for name, rows in batch["groups"].items()}
                inside = {name: mask for name, mask in masks.items() if mask.any()}
                self._pay(batch["process"], self._rebuilt(batch, values), inside)

    # ---- what is known

    @property
    def n(self) -> int:
        """Rows with labels so far."""
        return self._n

    @property
    def evalue(self) -> float:
        """Evidence against the predictions, at most 1 on average if they are right; mean over processes."""
        return math.inf if self._impossible else _exp(self._log())

    @property
    def alarm(self) -> bool:
        """Whether the evidence ever passed the bound of `level`."""
        return self._alarm is not None

    @property
    def since(self) -> int | None:
        """Rows seen before the weight left the model, roughly when the fault began; None while it has not."""
        if self._alarm is not None:
            return self._alarm["since"]  # type: ignore[no-any-return]
        return self._leader.overall.since if self._processes else None

    @property
    def where(self) -> tuple[Suspect, ...]:
        """Which bets hold the weight that left the model, at the alarm or now."""
        if self._book is None or self.since is None:
            return ()
        weights = np.array(self._alarm["weights"]) if self._alarm else self._leader.overall.weights[1:]
        shares = weights / max(float(weights.sum()), 1e-300)
        order = [at for at in np.argsort(-shares, kind="stable")[:_SHOWN].tolist() if shares[at] >= _LEAST]
        bets = self._book.bets
        return tuple(
            Suspect(bets[at].words(self._classes), float(shares[at]), bets[at].family) for at in order
        )

    @property
    def tracked(self) -> tuple[Tracked, ...]:
        """Running means with intervals that hold at all times, in which the model need not be right."""
        rows = sum(one.running.rows for one in self._processes)
        if self._book is None or not rows:
            return ()
        stated, observed, reach = (
            sum(part) / rows
            for part in zip(
                *(
                    (one.running.expected, one.running.observed, one.running.reach(self.level / self._number))
                    for one in self._processes
                ),
                strict=True,
            )
        )
        found = []
        for at, (name, unit) in enumerate(self._book.measures):
            low, high = max(0.0, observed[at] - reach[at]), min(1.0, observed[at] + reach[at])
            numbers = (unit * float(one) for one in (stated[at], observed[at], low, high))
            found.append(Tracked(tracked_name(name, self._classes), *numbers))
        if self._book.n_classes:
            found.insert(0, _gap(found[0]))
        return tuple(found)

    @property
    def groups(self) -> tuple[GroupEvidence, ...]:
        """Evidence by group, the largest first; alarms by e-Benjamini-Hochberg with a rate of `level`."""
        logs = {
            name: float(logsumexp([one._of_group(name) for one in self._processes])) - math.log(self._number)
            for name in self._weights
        }
        scaled = sorted(logs, key=lambda name: -(logs[name] + math.log(self._weights[name])))
        passed = 0
        for rank, name in enumerate(scaled, 1):
            if logs[name] + math.log(self._share(name)) >= -math.log(self.level * rank):
                passed = rank
        return tuple(
            GroupEvidence(name, self._sizes[name], _exp(logs[name]), self._share(name), rank <= passed)
            for rank, name in enumerate(scaled, 1)
        )

    def _share(self, name: str) -> float:
        return self._weights[name] / (1.0 - _OVERALL)

    def result(self) -> MonitorResult:
        """Return all that is known, to be printed, drawn and written.

        Returns
        -------
        MonitorResult
            E-value, alarm, onset, suspects, intervals, groups and the e-value over time.
        """
        waits = sum(len(batch["ids"]) - len(batch["forgotten"]) for batch in self._waiting)
        notes = []
        if self._together:
            notes.append(
                "labels of several batches waited in one process: they must be independent given what was "
                "known when they were predicted; otherwise use more `processes`"
            )
        return MonitorResult(
            level=self.level,
            hypothesis=self._wanted or "independent" if self._book is None else self._book.hypothesis,
            kind="" if self._book is None else self._book.kind,
            n=self._n,
            waiting=waits,
            evalue=self.evalue,
            largest=max((_exp(one.largest) for one in self._processes), default=1.0),
            alarm=self.alarm,
            alarm_row=self._alarm["row"] if self._alarm else None,
            since=self.since,
            where=self.where,
            tracked=self.tracked,
            groups=self.groups,
            impossible=self._impossible,
            processes=self._number,
            trace=tuple((int(row), log / math.log(10.0)) for row, log in self._trace),
            notes=tuple(notes),
        )

    def __repr__(self) -> str:
        return f"Monitor({self.result().sentence()})"

    # ---- state

    def state(self) -> dict[str, Any]:
        """Return all that is needed to go on, in types JSON knows; numbers come back to the last bit.

        Returns
        -------
        dict
            Weights and capitals of all processes, sums, rows that wait.
        """
        return {
            "format": FORMAT,
            "settings": {"level": self.level, "hypothesis": self._wanted, "processes": self._number},
            "seed": list(self._seed),
            "book": None if self._book is None else dataclasses.asdict(self._book),
            "classes": self._classes,
            "processes": [
                {
                    "overall": state_of(one.overall),
                    "groups": {name: state_of(capital) for name, capital in one.groups.items()},
                    "running": state_of(one.running),
                    "posterior": None if one.posterior is None else one.posterior.tolist(),
                    "largest": one.largest,
                }
                for one in self._processes
            ],
            "weights": self._weights,
            "sizes": self._sizes,
            **{name: getattr(self, f"_{name}") for name in _PLAIN},
            "positions": self.positions,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Monitor:
        """Return the monitor whose state this is.

        Parameters
        ----------
        state : mapping
            What `state` returned, also after JSON.

        Returns
        -------
        Monitor
            It goes on to the same numbers.
        """
        if state.get("format") != FORMAT:
            raise InputError(
                "the state", f"must say {FORMAT!r}", f"got {state.get('format')!r}", "Use what `save` wrote."
            )
        made = cls(**state["settings"], rng=tuple(state["seed"]))
        book = state["book"]
        made._book = None if book is None else Book(**{**book, "tilted": tuple(book["tilted"])})
        made._classes = None if state["classes"] is None else tuple(state["classes"])
        made._processes = [
            _Process(
                from_state(Capital, one["overall"]),
                {name: from_state(Capital, capital) for name, capital in one["groups"].items()},
                from_state(Running, one["running"]),
                None if one["posterior"] is None else np.array(one["posterior"]),
                one["largest"],
            )
            for one in state["processes"]
        ]
        made._weights, made._sizes = dict(state["weights"]), dict(state["sizes"])
        for name in _PLAIN:
            setattr(made, f"_{name}", state[name])
        made.positions = dict(state["positions"])
        return made

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state as JSON in one step: a crash leaves the state of before.

        Parameters
        ----------
        path : path
            Where to; an earlier state is replaced.

        Returns
        -------
        Path
            The file written.
        """
        return write_text_atomically(path, json.dumps(self.state()) + "\n", overwrite=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitor:
        """Return the monitor whose state a file holds.

        Parameters
        ----------
        path : path
            What `save` wrote.

        Returns
        -------
        Monitor
            It goes on to the same numbers.
        """
        try:
            state = json.loads(Path(path).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise FileError(
                f"'{path}'", "must be JSON", str(error), "Use what `Monitor.save` wrote."
            ) from error
        if not isinstance(state, dict):
            raise FileError(f"'{path}'", "must hold a state", "it does not", "Use what `Monitor.save` wrote.")
        return cls.from_state(state)

    # ---- inside

    @property
    def _leader(self) -> _Process:
        return max(self._processes, key=lambda one: one.overall.log)

    def _log(self) -> float:
        if not self._processes:
            return 0.0
        return float(logsumexp([one.log(self._weights) for one in self._processes])) - math.log(self._number)

    def _begin(self, chunk: Dataset) -> dict[str, HostArray]:
        """Check rows, choose the bets at the first ones, and return which rows are in every group."""
        if chunk.labels is not None and chunk.batch.weights is not None:
            raise UnsupportedError(
                "a monitor", "counts every row once", "these have sample weights", "Leave out the weights."
            )
        if self._book is None:
            self._book = Book.of(chunk.predictions, self._wanted)
            self._classes = chunk.classes
            self._grouped = chunk.groups is not None
            self._processes = [self._new_process(chunk.predictions) for _ in range(self._number)]
        require_like(chunk.predictions, self._book)
        if self._book.hypothesis == "bayesian" and chunk.clusters is not None:
            raise UnsupportedError(
                '`hypothesis="bayesian"`',
                "makes all rows depend on each other through the member",
                "these come in clusters",
                'Leave out the clusters, or use `hypothesis="independent"`.',
            )
        return self._groups_of(chunk)

    def _new_process(self, predictions: Predictions) -> _Process:
        assert self._book is not None
        posterior = None
        if self._book.hypothesis == "bayesian":
            assert isinstance(predictions, Ensemble)
            weights = predictions.weights
            posterior = np.zeros(predictions.n_members) if weights is None else np.log(to_host(weights))
        return _Process(self._new_capital(), {}, Running.start(len(self._book.measures)), posterior)

    def _new_capital(self) -> Capital:
        assert self._book is not None
        return Capital(np.concatenate([[0.5], 0.5 * self._book.prior]))

    def _groups_of(self, chunk: Dataset) -> dict[str, HostArray]:
        """Return which rows are in every group; new groups get their weight before any of their labels."""
        if chunk.groups is None:
            return {}
        if not self._grouped:
            raise InputError(
                "`groups`",
                "must be given from the first batch on",
                "the first had none",
                "Begin another monitor.",
            )
        columns = chunk.groups if isinstance(chunk.groups, Mapping) else {"": chunk.groups}
        masks = {}
        for name, column in columns.items():
            levels, codes = np.unique(np.asarray(column).astype(str), return_inverse=True)
            for at, level in enumerate(levels.tolist()):
                masks[f"{name}={level}" if name else level] = codes == at
        new = [name for name in masks if name not in self._weights]
        first = not self._weights
        for name in new:
            rank = len(self._weights) + 1
            # 1/2 + 1/6 + ... is at most 1, however many groups come later
            self._weights[name] = _FIRST / len(new) if first else _LATER / (rank * (rank + 1))
            self._sizes[name] = 0
        return masks

    def _next(self) -> int:
        turn = self._batches % self._number
        self._batches += 1
        self._together |= any(batch["process"] == turn for batch in self._waiting)
        return turn

    def _pay(self, turn: int, rows: Dataset, masks: dict[str, HostArray]) -> None:
        """Pay rows with labels, in tiles of whole clusters."""
        assert self._book is not None
        process, prior = self._processes[turn], self._book.prior
        codes = None if rows.clusters is None else _codes(rows)
        if codes is not None:
            order = np.argsort(codes, kind="stable")
            rows, codes = rows.take(order), codes[order]
            masks = {name: mask[order] for name, mask in masks.items()}
        rows.batch  # noqa: B018 - labels are checked before anything is paid
        for tile in _tiles(len(rows), codes, _SHORT if masks else _TILE):
            part = dataclasses.replace(rows.rows(tile), start=self._n)
            paid = self._book.payoffs(part, self._seed, process.posterior)
            own = None if codes is None else codes[tile]
            logs, expected, observed, seen = _by_cluster(own, *paid[:3])
            path = process.overall.pay(logs, prior, self._n + seen)
            process.running.add(expected, observed)
            for name, mask in masks.items():
                inside = mask[tile]
                if inside.any():
                    capital = process.groups.setdefault(name, self._new_capital())
                    some = None if own is None else own[inside]
                    won, _, _, _ = _by_cluster(some, *(one[:, inside] for one in paid[:3]))
                    capital.pay(won, prior, self._n + np.arange(1, won.shape[1] + 1))
                    self._sizes[name] += int(inside.sum())
            self._impossible += int(paid.impossible.sum())
            ends = self._n + seen[np.minimum(np.arange(1, len(path) + 1) * BLOCK, len(seen)) - 1]
            self._n += tile.stop - tile.start
            self._look(process, path, ends)

    def _look(self, process: _Process, path: HostArray, ends: HostArray) -> None:
        """Raise the alarm where a process alone has passed the bound; between tiles only without groups."""
        if self._weights:
            path, ends = np.array([process.log(self._weights)]), np.array([self._n])
        process.largest = max(process.largest, float(path.max()))
        bound = math.log(self._number / self.level)
        if self._alarm is None and (self._impossible or path.max() >= bound):
            at = int(np.argmax(path >= bound)) if path.max() >= bound else len(path) - 1
            weights = process.overall.weights[1:].tolist()
            self._alarm = {"row": int(ends[at]), "since": process.overall.since, "weights": weights}
        if self._number == 1:
            few = [*range(7, len(path) - 1, 8), len(path) - 1]
            self._trace += [[int(ends[at]), float(path[at])] for at in few]
        else:
            self._trace.append([self._n, self._log()])
        while len(self._trace) > _TRACE:
            self._trace = [*self._trace[:-1:2], self._trace[-1]]

    def _rebuilt(self, batch: dict[str, Any], values: dict[int, Any]) -> Dataset:
        """Return the waiting rows that have these labels as a dataset, checked."""
        rows, labels = np.array(list(values)), list(values.values())
        given = _read(batch["predictions"])[rows]
        observed = LabelCounts(np.array(labels)) if isinstance(labels[0], list) else np.array(labels)
        chunk: Dataset = as_rows(given, observed, classes=self._classes).example
        clusters = None if batch["clusters"] is None else np.array(batch["clusters"])[rows]
        chunk = dataclasses.replace(chunk, clusters=clusters)
        chunk.batch  # noqa: B018 - checks the labels
        return chunk


_PLAIN = ("grouped", "batches", "n", "impossible", "alarm", "waiting", "trace", "together")


@dataclasses.dataclass(frozen=True)
class WorkersEvidence(Result):
    """Monitors of several workers together.

    Attributes
    ----------
    evalue : float
        Mean of their e-values.
    alarm : bool
        Whether one of them alone ever reached their number divided by the level.
    n : int
        Rows of all.
    evalues : tuple of float
        Of each.
    """

    evalue: float
    alarm: bool
    n: int
    evalues: tuple[float, ...]


def average(monitors: Sequence[Monitor], *, level: float = 0.05) -> WorkersEvidence:
    """Join monitors that watch parts of the same stream, such as one per worker.

    Parameters
    ----------
    monitors : sequence of Monitor
        All workers, their number fixed before the first label.
    level : float
        Largest probability of ever raising an alarm.

    Returns
    -------
    WorkersEvidence
        The mean e-value, and an alarm that needs no assumption about how the workers depend on each other.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.monitor.average([cr.Monitor(), cr.Monitor()]).evalue
    1.0
    """
    require_level(level, remedy="Write 0.05 for one false alarm in twenty streams.")
    require(len(monitors) > 0, "must name at least one monitor", "Pass a list.", monitors=monitors)
    values = tuple(one.evalue for one in monitors)
    largest = max(math.inf if one.result().impossible else one.result().largest for one in monitors)
    alarm = largest >= len(monitors) * max(one._number for one in monitors) / level
    return WorkersEvidence(float(np.mean(values)), alarm, sum(one.n for one in monitors), values)


def _same(chunk: Dataset) -> Dataset:
    return chunk


def _exp(log: float) -> float:
    return math.exp(min(log, 700.0))


def _codes(rows: Dataset) -> HostArray:
    return np.unique(as_ids(rows.clusters, len(rows)), return_inverse=True)[1]


def _tiles(n: int, codes: HostArray | None, length: int) -> Iterator[slice]:
    """Yield consecutive rows, about `length` at once, whole clusters where there are some."""
    start = 0
    while start < n:
        stop = min(start + length, n)
        if codes is not None:
            stop = int(np.searchsorted(codes, codes[stop - 1], side="right"))
        yield slice(start, stop)
        start = stop


def _by_cluster(
    codes: HostArray | None, logs: HostArray, expected: HostArray, observed: HostArray
) -> tuple[HostArray, HostArray, HostArray, HostArray]:
    """Return the means over clusters of what rows pay and of the measures, and rows up to each cluster."""
    if codes is None:
        return logs, expected, observed, np.arange(1, logs.shape[1] + 1)
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(starts[1:], len(codes))
    sizes = ends - starts

    def mean(values: HostArray) -> HostArray:
        return np.asarray(np.add.reduceat(values, starts, axis=1) / sizes)

    most = np.maximum.reduceat(logs, starts, axis=1)
    paid = np.log(mean(np.exp(logs - np.repeat(most, sizes, axis=1)))) + most
    return paid, mean(expected), mean(observed), ends


def _gap(accuracy: Tracked) -> Tracked:
    """Return confidence minus accuracy, whose stated value is 0, from what is known of the accuracy."""
    gap, low, high = accuracy.gap
    return Tracked("confidence minus accuracy", 0.0, gap, low, high)


def _names(ids: Any, n: int | None) -> list[str]:
    host = to_host(ids) if is_array(ids) else np.asarray(ids)
    return [str(one) for one in as_ids(host, len(host) if n is None else n).tolist()]


def _written(predictions: Predictions) -> dict[str, Any]:
    """Return predictions as JSON knows them: what their type is made of."""
    fields = {}
    for field in dataclasses.fields(predictions):
        if field.init:
            value = getattr(predictions, field.name)
            value = [sorted(one) for one in value] if field.name == "focal_sets" else value
            fields[field.name] = to_host(value).tolist() if is_array(value) else value
    return {"kind": type(predictions).__name__, "fields": fields}


def _read(written: dict[str, Any]) -> Predictions:
    """Return the predictions that `_written` wrote."""
    kind = getattr(kinds, written["kind"])
    fields = {
        name: np.array(one) if isinstance(one, list) and name != "focal_sets" else one
        for name, one in written["fields"].items()
    }
    axes = fields[kind.row_fields[0]].ndim
    if "member_axis" in kind.__dataclass_fields__ and (kind is Samples or axes == kind.axes_with_members):
        fields["member_axis"] = 1
    made: Predictions = kind(**fields)
    return made
