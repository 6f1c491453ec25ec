"""Errors in the words of the command line: Python keywords become flags."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import click
import numpy as np
import pytest

import credibly as cr
from credibly import FileError, InputError, InvalidRowsError, UnsupportedError
from credibly._arrays.errors import ONE_RATER, Remedy
from credibly.calls import VERBS
from credibly.cli import main
from credibly.cli.commands import VerbCommand
from credibly.cli.output import FLAGS, all_rows, sentence, system_sentence


def said(remedy: str, subject: str = "`probs`") -> str:
    return sentence(InputError(subject, "must be so", "it is not", remedy))


@pytest.mark.parametrize(
    ("remedy", "flag"),
    [
        ("Pass `member_axis=0`.", "Pass `--member-axis 0`."),
        ("Replace it with `overwrite=True`.", "Replace it with `--force`."),
        ("Use `kind='logits'`.", "Use `--kind logits`."),
        ('Use `kind="alpha"`, or rename.', "Use `--kind alpha`, or rename."),
        ("Give `statistics=`.", "Give `--statistic`."),
        ('Use `measure="hartley"`.', "Use `--measure hartley`."),
        ("The array `labels` and `cr.load`.", "The array `labels` and `cr.load`."),
        ("Call `labels = counts.draw(rng=0)`.", "Call `labels = counts.draw(rng=0)`."),  # code stays whole
        ("Use `kind=`.", "Use `--kind`."),
        ("Pass `drop_invalid=True`.", "Pass `--drop-invalid`."),
        ("Pass `labels=`.", "Pass `--labels`."),
        ("Pass `labels='y.npy'`.", "Pass `--labels y.npy`."),
        ("Pass `rng=7`.", "Pass `--seed 7`."),
        (
            Remedy("Use `Point.from_logits`.", "They are logits.", "logits"),
            "They are logits. Use `--kind logits`.",
        ),
        (Remedy("Use `Point.from_scores`.", "Repair them."), "Repair them."),
    ],
)
def test_the_remedy_names_the_flag(remedy: str, flag: str) -> None:
    assert said(remedy) == f"`probs` must be so; it is not. {flag}"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["evaluate", "x.npz", "--method", "platt"], "has no option --method; `test`, `calibrate fit`"),
        (
            ["evaluate", "x.npz", "--quite"],
            "`credibly evaluate` has no option --quite. Did you mean --quiet?",
        ),
    ],
)
def test_an_option_of_another_verb_is_named_with_it(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("subject", "flag"),
    [("`n_resamples`", "`--n-resamples`"), ("`n_bins`", "`--n-bins`"), ("`statistic`", "`--statistic`")],
)
def test_the_subject_is_the_flag(subject: str, flag: str) -> None:
    assert said("Try 999.", subject).startswith(f"{flag} must")


def test_every_flag_exists() -> None:
    """A flag that no verb has would send people to nothing."""
    assert FLAGS["rng"] == "--seed"
    assert FLAGS["statistic"] == FLAGS["statistics"] == "--statistic"
    assert set(FLAGS.values()) <= {row.flag for verb in VERBS.values() for row in verb.rows}


@pytest.mark.parametrize("verb", VERBS)
def test_a_remedy_names_a_flag_that_the_verb_has_or_a_verb_that_has_it(verb: str) -> None:
    own = {row.flag for row in VERBS[verb].rows}
    asked = [f"`{keyword}=1`" for keyword in FLAGS] + ["`--drop-invalid`", "`--claimed 0.9`", "`--by COLUMN`"]
    with click.Context(VerbCommand(verb, VERBS[verb])):
        told = said(f"Use {', '.join(asked)}.")
    for words in re.findall(r"`(.*?)`", told.partition("; ")[2]):
        flag = next(word for word in words.split() if word.startswith("--"))
        named = words.partition("--")[0].removeprefix("credibly").strip() or verb
        assert flag in {row.flag for row in VERBS[named].rows}
        assert (named == verb) == (flag in own)


def test_no_message_mixes_a_call_with_a_flag() -> None:
    remedy = Remedy("Draw one rater per instance: `labels = counts.draw(rng=0)`.", ONE_RATER)
    text = sentence(UnsupportedError("`fit`", "takes one label per instance", "got LabelCounts", remedy))
    assert "Choose one rater per instance" in text
    assert "draw(" not in text


def test_labels_themselves_are_no_flag() -> None:
    assert said("Subtract 1.", "`labels`").startswith("`labels` must")


@pytest.mark.parametrize(("bad", "can_go"), [(slice(3, 4), True), (slice(None), False)])
def test_invalid_rows_can_be_left_out_unless_all_are(bad: slice, can_go: bool, tmp_path: Path) -> None:
    probs = np.full((6, 2), 0.5)
    probs[bad] = 0.75
    np.savez(tmp_path / "p.npz", probs=probs, y=np.arange(6) % 2)
    with pytest.raises(InvalidRowsError) as caught:
        cr.load(tmp_path / "p.npz")
    text = sentence(caught.value)
    assert ("To leave these rows out: `--drop-invalid`." in text) == can_go
    assert "from_scores" not in text


def test_one_line_whatever_the_file_is_called() -> None:
    text = sentence(FileError("'a\nb\x1b[2J'", "must exist", "it does not", "Check the name."))
    assert "\n" not in text
    assert "\x1b" not in text


def test_full_disk_and_small_memory() -> None:
    assert "disk is full" in system_sentence(OSError(errno.ENOSPC, "No space left on device"))
    assert "memory" in system_sentence(MemoryError())
    assert system_sentence(PermissionError(errno.EACCES, "Permission denied", "x.html")) == (
        "x.html: Permission denied."
    )


def test_every_row_of_a_complaint_is_listed_up_to_a_hundred() -> None:
    assert all_rows([1, 2, 3, 4, 5]) == ""  # the sentence itself names five
    assert all_rows(list(range(6))) == " All 6 rows: 0, 1, 2, 3, 4, 5."
    many = all_rows(list(range(250)))
    assert many.startswith(" All 250 rows: 0, 1,")
    assert many.endswith(" 98, 99 and 150 more.")
