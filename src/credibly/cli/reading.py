"""From the options of a verb to data with labels, and to the command that would do it again."""

from __future__ import annotations

import dataclasses
import glob
import shlex
from pathlib import Path
from typing import Any

from credibly._arrays.errors import InputError
from credibly.cli import options
from credibly.cli.output import Output
from credibly.cli.wording import with_flags
from credibly.io import load
from credibly.predictions import Dataset


@dataclasses.dataclass(frozen=True)
class Meaning:
    """What the numbers of a file are, where it does not say."""

    labels: options.Labels = None
    kind: options.Kind = None
    member_axis: options.MemberAxis = None


@dataclasses.dataclass(frozen=True)
class Manner(Meaning):
    """The same, and what happens to rows that cannot be right."""

    drop_invalid: options.DropInvalid = False

    def of(self, file: str | Path) -> Reading:
        """Return how to read one file in this manner."""
        return Reading(file=str(file), **dataclasses.asdict(self))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading(Manner):
    """How one file is to be read."""

    file: options.PredictionsFile

    def dataset(self, output: Output) -> Dataset:
        """Read the file; what was inferred or left out is noted on stderr."""
        data = load(
            self.file,
            kind=self.kind,
            labels=self.labels,
            member_axis=self.member_axis,
            drop_invalid=self.drop_invalid,
        )
        output.notes(map(with_flags, data.notes))
        return data

    def labelled(self, output: Output) -> Dataset:
        """Read the file and insist on labels."""
        data = self.dataset(output)
        if data.labels is None:
            raise InputError(
                f"'{self.file}'",
                "must come with labels",
                "it holds predictions only",
                "Name their file: `--labels FILE`.",
            )
        return data

    def require_elsewhere(self, target: Path) -> None:
        """Raise if `target` is one of the files that are read: `--force` must not destroy the data."""
        for source in (self.file, *([] if self.labels is None else [self.labels])):
            if any(_same_file(Path(path), target) for path in [source, *glob.glob(source)]):  # noqa: PTH207
                raise InputError(
                    f"'{target}'",
                    "must not be a file that is read",
                    f"it is '{source}'",
                    "Choose another name to write to.",
                )

    def words(self) -> list[str]:
        """Return these options as they are typed."""
        typed = [self.file]
        if self.labels is not None:
            typed += ["--labels", self.labels]
        if self.kind is not None:
            typed += ["--kind", self.kind]
        if self.member_axis is not None:
            typed += ["--member-axis", str(self.member_axis)]
        return [*typed, "--drop-invalid"] if self.drop_invalid else typed


def _same_file(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except (OSError, ValueError):  # one of them is not there, or no name of a file at all
        return False


def command(verb: str, *words: Any) -> str:
    """Return the command line that makes the same numbers again."""
    return shlex.join(["credibly", verb, *map(str, words)])
