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

import copy
import dataclasses
import json
import math
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, UnsupportedError, one_of, require, require_type
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly._arrays.philox import Seed, as_seed
from credibly.io import read_json_object, write_text_atomically
from credibly.monitor.bets import HYPOTHESES, Book, require_like
from credibly.monitor.capital import Capital
from credibly.monitor.process import OVERALL, Process
from credibly.monitor.waiting import Waiting
from credibly.predictions import Dataset, LabelCounts, as_rows
from credibly.predictions.clusters import as_ids, as_names
from credibly.predictions.given import require_unweighted
from credibly.results.base import jsonable, require_level
from credibly.results.monitor import GroupEvidence, MonitorResult, Suspect, Tracked, tracked_name

FORMAT = "credibly monitor 1"
_KEPT = (
    *("_seed", "_book", "_classes", "_processes", "_weights", "_sizes", "_grouped", "_batches", "_n"),
    *("_impossible", "_alarm", "_trace", "_together", "positions"),
)
"""What the state holds besides the settings."""
_WRITTEN = "Use what `Monitor.save` wrote."
_EXPECTED = "Give the ids that `expect` was given, each once."
_TRACE = 400
_FIRST, _LATER = 0.4, 0.1
"""Weights of the groups of the first batch, and of all that come later."""
_SHOWN, _LEAST = 4, 0.1
_MOST_GROUPS = 1000
_TOGETHER = (
    "labels of several batches waited in one process: they must be independent given what was known when "
    "they were predicted; otherwise use more `processes`"
)


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
        ...

    Notes
    -----
    The guarantee: if the probability of every label, given all that was seen before it, is what was stated,
    an alarm is ever raised with a probability of at most `level`. Labels that wait together (the rows of a
    batch, batches of one process) must be independent given the past, except inside `clusters`. If labels
    arrive only for some cases, and which ones depends on the label, no method has a guarantee.

    Every bet is fixed before the label of its row is known. Weights of bets follow *fixed share*, so a fault
    after many good rows is found nearly as fast as one at the start.

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
        self.level = float(level)
        if hypothesis is not None:
            one_of("`hypothesis`", hypothesis, HYPOTHESES)
        self._wanted = hypothesis
        self._number = require_integer(processes, "processes", 1)
        self._seed: Seed = as_seed(rng)
        self._book: Book | None = None
        self._classes: tuple[str, ...] | None = None
        self._processes: list[Process] = []
        self._weights: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self._grouped = False
        self._batches = 0
        self._n = 0
        self._impossible = 0
        self._alarm: dict[str, Any] | None = None
        self._waiting: list[Waiting] = []
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
            masks = self._begin(chunk)
            self._pay(self._next(), chunk, masks)

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
            times = Counter([*names, *(name for batch in self._waiting for name in batch.ids)])
            twice = [name for name in names if times[name] > 1]
            if twice:
                rule, evidence = "must be new", f"{twice[0]!r} waits already or comes twice"
                raise InputError("`ids`", rule, evidence, "Give every row its own.")
            masks = self._begin(chunk)
            self._waiting.append(Waiting.of(self._next(), chunk, names, masks))

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
        names = _names(ids)
        host = to_host(labels.counts) if isinstance(labels, LabelCounts) else labels
        host = np.atleast_1d(to_host(host) if is_array(host) else np.asarray(host))
        values = dict(zip(names, host.tolist(), strict=False))
        self._require_waiting(names)
        if not len(names) == len(host) == len(values):
            raise InputError(
                "`ids`",
                "must each name one row that waits, with one label per id",
                f"got {len(names)} ids, {len(host)} labels",
                _EXPECTED,
            )
        arrived = [
            (batch, {at: values[name] for name, at in batch.missing.items() if name in values})
            for batch in self._waiting
        ]
        for batch, seen in arrived:  # all labels are checked before one is kept
            if seen:
                batch.rows({**batch.known, **seen}, self._classes)
        for batch, seen in arrived:
            batch.labels = [seen.get(at, label) for at, label in enumerate(batch.labels)]
        self._pay_whole_batches()

    def forget(self, ids: Any) -> None:
        """Give up waiting for some rows: they count as never predicted.

        Parameters
        ----------
        ids : array (n,)
            Names that `expect` was given. The guarantee holds only if it does not depend on the labels which
            rows are given up.
        """
        names = set(_names(ids))
        self._require_waiting(names)
        for batch in self._waiting:
            batch.forgotten += [at for name, at in batch.missing.items() if name in names]
        self._pay_whole_batches()

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
        return self._leader()[1].since if self._processes else None

    @property
    def where(self) -> tuple[Suspect, ...]:
        """Which bets hold the weight that left the model, at the alarm or now, and in which group."""
        if self._book is None or self.since is None:
            return ()
        group, capital = self._leader()
        weights = capital.weights[1:]
        if self._alarm:
            group, weights = self._alarm["group"], np.array(self._alarm["weights"])
        shares = weights / max(float(weights.sum()), 1e-300)
        order = [at for at in np.argsort(-shares, kind="stable")[:_SHOWN].tolist() if shares[at] >= _LEAST]
        bets, place = self._book.bets, f" (group {group})" * (group is not None)
        return tuple(
            Suspect(bets[at].words(self._classes) + place, float(shares[at]), bets[at].family, group)
            for at in order
        )

    @property
    def tracked(self) -> tuple[Tracked, ...]:
        """Running means with intervals that hold at all times, in which the model need not be right."""
        sums = [process.running for process in self._processes]
        rows = sum(running.rows for running in sums)
        if self._book is None or not rows:
            return ()
        stated = sum(running.expected for running in sums) / rows
        observed = sum(running.observed for running in sums) / rows
        reach = sum(running.reach(self.level / self._number) for running in sums) / rows
        parts = np.stack([stated, observed, np.maximum(observed - reach, 0), np.minimum(observed + reach, 1)])
        tracked = [
            Tracked(tracked_name(name, self._classes), *(unit * parts[:, at]).tolist())
            for at, (name, unit) in enumerate(self._book.measures)
        ]
        if self._book.n_classes:
            tracked.insert(0, Tracked("confidence minus accuracy", 0.0, *tracked[0].gap))
        return tuple(tracked)

    @property
    def groups(self) -> tuple[GroupEvidence, ...]:
        """Evidence by group, the largest first; alarms by e-Benjamini-Hochberg with a rate of `level`."""
        shares = {name: weight / (1.0 - OVERALL) for name, weight in self._weights.items()}
        logs = {
            name: float(logsumexp([process.of_group(name) for process in self._processes]))
            - math.log(self._number)
            for name in shares
        }
        ranked = sorted(logs, key=lambda name: -(logs[name] + math.log(shares[name])))
        passed = [
            logs[name] + math.log(shares[name] * rank * self.level) >= 0
            for rank, name in enumerate(ranked, 1)
        ]
        return tuple(
            GroupEvidence(name, self._sizes[name], _exp(logs[name]), shares[name], any(passed[at:]))
            for at, name in enumerate(ranked)
        )

    def result(self) -> MonitorResult:
        """Return all that is known, to be printed, drawn and written.

        Returns
        -------
        MonitorResult
            E-value, alarm, onset, suspects, intervals, groups and the e-value over time.
        """
        return MonitorResult(
            level=self.level,
            hypothesis=self._wanted or "independent" if self._book is None else self._book.hypothesis,
            kind="" if self._book is None else self._book.kind,
            n=self._n,
            waiting=sum(len(batch.seen) for batch in self._waiting),
            evalue=self.evalue,
            largest=max((_exp(process.largest) for process in self._processes), default=1.0),
            alarm=self.alarm,
            alarm_row=self._alarm["row"] if self._alarm else None,
            since=self.since,
            where=self.where,
            tracked=self.tracked,
            groups=self.groups,
            impossible=self._impossible,
            processes=self._number,
            trace=tuple((int(row), log / math.log(10.0)) for row, log in self._trace),
            notes=(_TOGETHER,) * self._together,
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
        settings = {"level": self.level, "hypothesis": self._wanted, "processes": self._number}
        kept = {name.strip("_"): jsonable(getattr(self, name)) for name in _KEPT}
        waiting = [dataclasses.asdict(batch) for batch in self._waiting]  # ends of intervals may be infinite
        return {"format": FORMAT, "settings": settings, **kept, "waiting": waiting}

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
        require_type(isinstance(state, Mapping), "must be a mapping", _WRITTEN, state=state)
        if state.get("format") != FORMAT:
            raise InputError("the state", f"must say {FORMAT!r}", f"got {state.get('format')!r}", _WRITTEN)
        try:
            return cls._of(copy.deepcopy(state))
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                "the state", "must be whole", f"{type(error).__name__}: {error}", _WRITTEN
            ) from error

    @classmethod
    def _of(cls, state: Mapping[str, Any]) -> Monitor:
        made = cls(**state["settings"])
        for name in _KEPT:
            setattr(made, name, state[name.strip("_")])
        made._seed = (state["seed"][0], state["seed"][1])
        if state["book"] is not None:
            made._book = Book(**{**state["book"], "tilted": tuple(state["book"]["tilted"])})
        made._classes = None if state["classes"] is None else tuple(state["classes"])
        made._processes = [Process.read(process) for process in state["processes"]]
        made._waiting = [Waiting(**batch) for batch in state["waiting"]]
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
        state = self.state()
        text = json.dumps({**state, "checksum": _checksum(state)})
        return write_text_atomically(path, text + "\n", overwrite=True)

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
        state = read_json_object(path)
        checksum = state.pop("checksum", None)
        made = cls.from_state(state)
        if checksum != _checksum(state):
            remedy = "Take an earlier copy, or begin another state."
            raise InputError(f"'{path}'", "must be as it was saved", "its checksum does not fit", remedy)
        return made

    # ---- inside

    def _leader(self) -> tuple[str | None, Capital]:
        """Return the capital that has won most, and its group if it is that of one."""
        leaders = [process.leader(self._weights) for process in self._processes]
        return max(leaders, key=lambda leader: leader[0])[1:]

    def _log(self) -> float:
        if not self._processes:
            return 0.0
        return float(logsumexp([process.log(self._weights) for process in self._processes])) - math.log(
            self._number
        )

    def _begin(self, chunk: Dataset) -> dict[str, HostArray]:
        """Check rows, choose the bets at the first ones, and return which rows are in every group."""
        if chunk.labels is not None:
            require_unweighted(chunk.batch, "a monitor")
        if self._book is None:
            self._book = Book.of(chunk.predictions, self._wanted)
            self._classes = chunk.classes
            self._grouped = chunk.groups is not None
            self._processes = [Process.start(self._book, chunk.predictions) for _ in range(self._number)]
        require_like(chunk.predictions, self._book)
        first, now = self._classes, chunk.classes
        if first is not None and now is not None and first != now:
            raise InputError(
                "the classes",
                f"must be those before, in their order: {', '.join(first)}",
                f"got {', '.join(now)}",
                "Put the columns into that order, or begin another monitor.",
            )
        if self._book.hypothesis == "bayesian" and chunk.clusters is not None:
            raise UnsupportedError(
                '`hypothesis="bayesian"`',
                "makes all rows depend on each other through the member",
                "these come in clusters",
                'Leave out the clusters, or use `hypothesis="independent"`.',
            )
        return self._groups_of(chunk)

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
            names = as_ids(column, len(chunk), "groups").astype(str)
            levels, codes = np.unique(names, return_inverse=True)
            require(
                len(levels) <= _MOST_GROUPS,
                f"must be at most {_MOST_GROUPS}",
                "Use a coarser grouping; perhaps this column identifies single instances.",
                groups=len(levels),
            )
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

    def _require_waiting(self, names: Iterable[str]) -> None:
        waiting = {name for batch in self._waiting for name in batch.missing}
        strange = next((name for name in names if name not in waiting), None)
        if strange is not None:
            rule, evidence = "must each name one row that waits", f"got {strange!r}, which does not"
            raise InputError("`ids`", rule, evidence, _EXPECTED)

    def _next(self) -> int:
        turn = self._batches % self._number
        self._batches += 1
        self._together |= any(batch.process == turn for batch in self._waiting)
        return turn

    def _pay(self, turn: int, rows: Dataset, masks: dict[str, HostArray]) -> None:
        """Pay rows with labels, and look after every tile; between tiles only without groups."""
        assert self._book is not None
        rows.batch  # noqa: B018 - labels are checked before anything is paid
        process = self._processes[turn]
        for name, mask in masks.items():
            self._sizes[name] += int(mask.sum())
        for impossible, path, ends in process.pay(self._book, rows, masks, self._seed, self._n):
            self._impossible += impossible
            self._n = int(ends[-1])
            if self._weights:  # groups are paid after all rows of the tile
                self._look(process, np.array([process.log(self._weights)]), ends[-1:])
            else:
                self._look(process, path, ends)

    def _look(self, process: Process, path: HostArray, ends: HostArray) -> None:
        """Raise the alarm where a process alone has passed the bound, and keep the evidence for pictures."""
        process.largest = max(process.largest, float(path.max()))
        passed = path >= math.log(self._number / self.level)
        if self._alarm is None and (self._impossible or passed.any()):
            at = int(np.argmax(passed)) if passed.any() else len(path) - 1
            _, group, capital = process.leader(self._weights)
            weights = capital.weights[1:].tolist()
            self._alarm = {"row": int(ends[at]), "since": capital.since, "weights": weights, "group": group}
        if self._number == 1:
            few = [*range(7, len(path) - 1, 8), len(path) - 1]
            self._trace += [[int(ends[at]), float(path[at])] for at in few]
        else:
            self._trace.append([self._n, self._log()])
        while len(self._trace) > _TRACE:
            self._trace = [*self._trace[:-1:2], self._trace[-1]]

    def _pay_whole_batches(self) -> None:
        """Pay the batches of every process in the order of their predictions, up to one that is not whole."""
        blocked: set[int] = set()
        for batch in list(self._waiting):
            blocked |= {batch.process} if batch.missing else set()
            if batch.process not in blocked:
                self._waiting = [other for other in self._waiting if other is not batch]
                if batch.seen:
                    self._pay(batch.process, batch.rows(batch.seen, self._classes), batch.masks())


def _same(chunk: Dataset) -> Dataset:
    return chunk


def _checksum(state: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(state).encode())


def _exp(log: float) -> float:
    return math.exp(min(log, 700.0))


def _names(ids: Any, n: int | None = None) -> list[str]:
    array = np.atleast_1d(as_names(ids, "ids"))
    return [str(name) for name in as_ids(array, len(array) if n is None else n, "ids").tolist()]
