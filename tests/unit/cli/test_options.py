"""An option is one row of one table: what `load` takes, what is recorded and what verbs offer follow."""

from __future__ import annotations

import inspect
import re
import shlex
from typing import Any

import click
import pytest

import credibly as cr
from credibly.calls import VERBS, Call, Option
from credibly.calls import options as rows
from credibly.cli.commands import VerbCommand
from credibly.cli.reading import Typed, dask_client
from credibly.hypotests.credal.weights_test import LEARNERS
from credibly.io.roles import KIND_NAMES
from credibly.recalibrate.files import NAMED
from credibly.selection.settings import MEASURES

# flags that are about another thing in another verb, and so have rows of their own
OWN = {
    "--margin",
    "--power",
    "--method",
    "--weights",
    "--hypothesis",
    "--n-resamples",
    "--n-bins",
    "--out",
    "--fail-on",
}


def test_one_option_is_one_thing_in_every_verb() -> None:
    meanings: dict[str, set[Option]] = {}
    for verb in VERBS.values():
        for row in verb.rows:
            meanings.setdefault(row.flag, set()).add(row)
    assert {flag for flag, meaning in meanings.items() if len(meaning) > 1} == OWN
    assert len(meanings) > 50


@pytest.mark.parametrize("verb", VERBS)
def test_flags_and_keywords_of_a_verb_are_distinct(verb: str) -> None:
    for names in zip(*((row.flag, row.name) for row in VERBS[verb].rows), strict=True):
        assert len(set(names)) == len(names)


def test_what_is_said_about_a_file_is_what_load_takes() -> None:
    taken = set(inspect.signature(cr.load).parameters) - {"path"}
    assert {row.name for row in rows.READING} == taken | {"blocks"}
    chunks = {row.name for row in (*rows.CHUNKS, *rows.READING)} - {"stream", "blocks"}
    assert chunks <= set(inspect.signature(cr.scan).parameters)


def test_names_are_those_of_the_library() -> None:
    assert rows.KINDS == KIND_NAMES
    assert rows.MEASURES == MEASURES
    named = (
        rows.METHODS.partition("; join")[0]
        .replace("(or sigmoid)", ", sigmoid")
        .replace("; for real values", ",")
    )
    assert {name.strip() for name in named.split(",")} <= set(NAMED)
    known = {row.flag: row.known for verb in VERBS.values() for row in verb.rows if callable(row.known)}
    assert set(known["--learner"]()) == set(LEARNERS)
    assert {"brier", "skce"} <= set(known["--statistic"]())
    assert set(known["--recalibrate"]()) == set(NAMED)


def typed(verb: str, *words: str) -> Typed:
    context = VerbCommand(verb, VERBS[verb]).make_context("credibly", list(words))
    return Typed(verb, VERBS[verb], context.params)


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("report", "p.npz --labels y.npy --kind logits --member-axis 0 --drop-invalid"),
        ("report", "p.csv --classes 'a,b' --columns 'x,\"y,z\"' --exclude a,b --ignore-label -1 --id who"),
        ("report", "p.csv --levels 0.05,0.95 --member-weights 0.5,0.3,0.2 --claimed 0.9 --by age,sex"),
        ("report", "p.csv --clusters copies --blocks 7 --normalise --n-raters 3"),
        ("report", "p.csv --stream --chunk-rows 5 --skip-bad-shards --engine dask --scheduler tcp://x"),
        (
            "report",
            "p.csv --statistic brier --statistic skce --recalibrate vector --margin 0.01 --out r.html",
        ),
        ("compare", "a.npz b.npz --tradeoff 0.0 --tradeoff inf --measure hartley --n-bins 9"),
    ],
)
def test_what_was_typed_is_recorded_and_typed_again(verb: str, words: str) -> None:
    arguments = typed(verb, *shlex.split(words))
    call = Call.of(arguments.call(arguments.files).to_dict())
    again = typed(verb, *shlex.split(call.command())[2:])
    assert again.values == arguments.values
    for word in shlex.split(words):
        assert word in shlex.split(call.command())


def test_numbers_that_are_none_are_refused_with_an_example() -> None:
    with pytest.raises(cr.InputError, match=r"`--levels` must be numbers; got '0.05,x'.*--levels 0.05,0.95"):
        typed("test", "p.npz", "--levels", "0.05,x")


@pytest.mark.parametrize("verb", [verb for verb in VERBS if VERBS[verb].first])
def test_six_options_come_first_and_the_rest_in_groups(verb: str) -> None:
    command = VerbCommand(verb, VERBS[verb])
    text = command.get_help(click.Context(command))
    options = text.partition("\nOptions:\n")[2]
    first, _, others = options.partition("\n\n")
    assert tuple(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", first, re.MULTILINE)) == VERBS[verb].first
    assert len(VERBS[verb].first) == 6
    assert "Reading the file:\n" in others
    listed = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", options, re.MULTILINE)
    assert sorted(listed) == sorted([*(row.flag for row in VERBS[verb].rows), "--help"])


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")

    def silent(*given: Any, **settings: Any) -> Any:
        raise OSError(f"Timed out trying to connect to {given[0]}")

    monkeypatch.setattr(distributed, "Client", silent)
    with (
        pytest.raises(cr.CrediblyError, match=r"'tcp://x:1' must answer; Timed out.*dask scheduler"),
        dask_client("tcp://x:1"),
    ):
        pass
