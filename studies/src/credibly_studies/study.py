"""A study with a name: what it needs, how large it is, and the function that does the work."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from credibly._arrays.engines import Engine
from credibly._arrays.errors import one_of
from credibly._arrays.philox import Seed, as_seed
from credibly._arrays.progress import Progress, as_progress
from credibly.evaluation.work import version
from credibly.results.base import jsonable
from credibly.scale.engines import as_engine
from credibly_studies.checkpoints import Checkpoints
from credibly_studies.results import Claim, Design, Findings, StudyResult, size_in_words

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

Tables = Mapping[str, Sequence[Mapping[str, Any]]]
"""Tables by name, one mapping per row, as ``result.json`` has them: intervals are lists."""


@dataclasses.dataclass(frozen=True)
class Run:
    """What the work of a study is given beside its size.

    Parameters
    ----------
    seed : tuple of int
        Where all random numbers come from.
    engine : Engine
        Who does the work.
    parts : Path or None
        Directory for finished parts; what keeps any makes a directory of its own there.
    progress : callable or None
        Called with (done, total).
    """

    seed: Seed
    engine: Engine = dataclasses.field(default_factory=Engine)
    parts: Path | None = None
    progress: Progress | None = None

    def generator(self, *address: int) -> np.random.Generator:
        """Return the generator at an address: the same whoever asks, and in whichever order.

        Parameters
        ----------
        *address : int
            Such as the number of a repetition.

        Returns
        -------
        numpy.random.Generator
            Independent of those at other addresses.
        """
        return np.random.default_rng([*self.seed, *address])

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
        """Return ``function(task)`` for all tasks, in their order, computed by the engine.

        Parameters
        ----------
        function : callable
            Defined at the top of a module, so that processes can be told what to do.
        tasks : sequence
            Picklable.

        Returns
        -------
        list
            One result per task.
        """
        results: dict[int, R] = {}
        for place, result in self.engine.unordered(function, tasks):
            results[place] = result
            if self.progress is not None:
                self.progress(len(results), len(tasks))
        return [results[place] for place in range(len(tasks))]


@dataclasses.dataclass(frozen=True)
class Study(Generic[S]):
    """A study with a name.

    Parameters
    ----------
    name : str
        What it is called by.
    title : str
        What it shows, in one line.
    reference : str
        What of which paper it follows.
    small, full : object
        Its numbers at each size, a frozen dataclass: minutes at most on one core, and for the record.
    work : callable
        ``work(size, run)`` gives `Findings`.
    needs : tuple of str
        What must be there beside the package: "data" for the public data sets.
    design : {"as printed", "smaller", "another"}, optional
        The design of its experiments, for claims that do not say so themselves.
    judge : callable, optional
        ``judge(tables, size)`` gives the claims from the tables as ``result.json`` keeps them, so that a
        result on record can be judged again without being run again.

    Examples
    --------
    >>> from credibly_studies import studies
    >>> studies()["j25-fig4"].reference
    'J25 Sec. 4.2, Fig. 4'
    """

    name: str
    title: str
    reference: str
    small: S
    full: S
    work: Callable[[S, Run], Findings]
    needs: tuple[str, ...] = ()
    design: Design = ""
    judge: Callable[[Tables, S], Sequence[Claim]] | None = None

    def entry(self) -> dict[str, str]:
        """Return what a list of studies says about this one."""
        return {
            "name": self.name,
            "reference": self.reference,
            "needs": ", ".join(self.needs),
            "small": size_in_words(jsonable(self.small)),
            "full": size_in_words(jsonable(self.full)),
            "title": self.title,
        }

    def run(
        self,
        size: Literal["small", "full"] = "small",
        *,
        engine: Any = None,
        rng: Any = 0,
        out: str | os.PathLike[str] | None = None,
        progress: Progress | Literal[True] | None = None,
    ) -> StudyResult:
        """Run the study.

        Parameters
        ----------
        size : {"small", "full"}
            How large.
        engine : None, "serial", concurrent.futures.Executor or distributed.Client
            Who does the work, see :func:`credibly_studies.simulate.power_study`; it changes no number.
        rng : None, int or Generator
            Seed.
        out : path, optional
            Directory that keeps finished parts, where the study has any.
        progress : callable or True, optional
            Called with (done, total); True writes to standard error, where that is a terminal.

        Returns
        -------
        StudyResult
            Tables, claims and drawings.
        """
        one_of("`size`", size, ("small", "full"))
        chosen = self.small if size == "small" else self.full
        run = Run(as_seed(rng), as_engine(engine), None if out is None else Path(out), as_progress(progress))
        settings = {"study": self.name, "version": version(), "seed": run.seed, "size": chosen}
        if out is not None:
            Checkpoints(out).begin(settings)
        result = StudyResult(self.name, self.title, self.reference, size, settings, self.work(chosen, run))
        claims = (
            result.findings.claims if self.judge is None else self.judge(result.to_dict()["tables"], chosen)
        )
        findings = dataclasses.replace(result.findings, claims=self.designed(claims))
        return dataclasses.replace(result, findings=findings)

    def designed(self, claims: Sequence[Claim]) -> list[Claim]:
        """Return claims with the design of the study's experiments.

        Parameters
        ----------
        claims : sequence of Claim
            What was judged.

        Returns
        -------
        list of Claim
            Each with a design, if an experiment decided it.
        """
        made = [
            dataclasses.replace(claim, design=self.design) if claim.outcome and not claim.design else claim
            for claim in claims
        ]
        for one in made:
            if bool(one.outcome) != bool(one.design):
                raise ValueError(f"An outcome needs an experiment, and an experiment an outcome: {one}")
        return made
