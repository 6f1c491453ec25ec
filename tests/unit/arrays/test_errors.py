"""The exception tree: what each error is, that it survives a process boundary, and the words of a remedy."""

from __future__ import annotations

import copy
import pickle

import pytest

import credibly as cr
from credibly._arrays.errors import Remedy, as_problem, nearest, one_of

PARENTS = [
    (cr.InputError, ValueError),
    (cr.InputTypeError, TypeError),
    (cr.FileError, OSError),
    (cr.MissingExtraError, ImportError),
    (cr.UnsupportedError, ValueError),
]
WORDS = ("`file`", "must exist", "got nothing", "Look again.")


@pytest.mark.parametrize(("kind", "builtin"), PARENTS)
def test_each_error_is_ours_and_a_builtin(kind, builtin):
    with pytest.raises(builtin) as caught:
        raise kind(*WORDS)
    assert isinstance(caught.value, cr.CrediblyError)


@pytest.mark.parametrize("kind", [kind for kind, _ in PARENTS])
@pytest.mark.parametrize("clone", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])  # noqa: S301
def test_errors_survive_pickling(kind, clone):
    error = clone(kind(*WORDS))
    assert type(error) is kind
    assert str(error) == "`file` must exist; got nothing. Look again."
    assert (error.subject, error.rule, error.evidence, error.remedy) == WORDS


def test_rows_survive_pickling():
    error = pickle.loads(pickle.dumps(cr.InvalidRowsError(*WORDS, [3, 5])))  # noqa: S301
    assert isinstance(error, cr.InputError)
    assert error.rows == [3, 5]
    assert str(error) == "`file` must exist; got nothing. Look again."


def test_a_file_error_is_not_worded_as_an_errno():
    # OSError("a", "b") alone would print "[Errno a] b"
    assert str(cr.FileError("x.npy", "b", "c", "d")) == "x.npy b; c. d"


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("n_bin", "Did you mean 'n_bins'?"),
        ("zzz", "Known names: binning, n_bins."),
        (3, "Known names: binning, n_bins."),
    ],
)
def test_nearest_word(word, remedy):
    assert nearest(word, ["n_bins", "binning"]) == remedy


def test_one_of_accepts_and_refuses():
    one_of("`tail`", "greater", ("greater", "two-sided"))
    with pytest.raises(
        cr.InputError, match=r"must be one of 'greater', 'two-sided'; got 'grater'. Did you mean"
    ):
        one_of("`tail`", "grater", ("greater", "two-sided"))


@pytest.mark.parametrize(
    ("subject", "argument"),
    [("`level`", "level"), ('`measure="pal"`', "measure"), ("the file", None), ("`a` and `b`", None)],
)
def test_an_error_knows_the_argument_it_is_about(subject: str, argument: str | None) -> None:
    assert cr.InputError(subject, "must be so", "it is not", "Change it.").argument == argument


def test_the_argument_can_be_said_and_survives_a_pickle() -> None:
    with pytest.raises(cr.InputTypeError) as raised:
        cr.brier.with_(n_bin=3)
    assert raised.value.argument == "n_bin"
    again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - written on this line
    assert again.argument == "n_bin"
    assert str(again) == str(raised.value)


def test_a_remedy_keeps_what_it_says_elsewhere() -> None:
    remedy = Remedy("Use `Point.from_logits`.", "They are logits.", "logits")
    again = pickle.loads(pickle.dumps(remedy))  # noqa: S301
    assert (again, again.elsewhere, again.kind) == (remedy, "They are logits.", "logits")
    problem = as_problem(cr.InputError("`probs`", "must be so", "it is not", remedy))
    assert problem == "`probs` must be so; it is not. Use `Point.from_logits`."
    assert problem.elsewhere == "`probs` must be so; it is not. They are logits."
    assert problem.kind == "logits"
