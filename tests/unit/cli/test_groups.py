"""Groups of options become parameters of their own, and come back as values."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

from credibly.cli.groups import Replication, flattened
from credibly.cli.output import Output
from credibly.cli.reading import Reading
from credibly.cli.verbs import GROUPS, VERBS


def test_fields_become_parameters_in_their_place() -> None:
    seen = []

    def verb(reading: Reading, *, extra: int = 3, replication: Replication, output: Output) -> None:
        """What it does."""
        seen.append((reading, extra, replication, output))

    flat = flattened(verb)
    parameters = inspect.signature(flat).parameters
    assert list(parameters) == [
        "labels",
        "kind",
        "member_axis",
        "drop_invalid",
        "file",
        "extra",
        "n_bins",
        "seed",
        "n_resamples",
        "as_json",
        "quiet",
    ]
    assert parameters["file"].default is inspect.Parameter.empty
    assert parameters["n_resamples"].default == 999
    assert (flat.__name__, flat.__doc__) == ("verb", "What it does.")
    given = {name: one.default for name, one in parameters.items()} | {"file": Path("x.npz"), "seed": 4}
    flat(**given)
    assert seen == [(Reading(file=Path("x.npz")), 3, Replication(seed=4), Output())]


def test_a_verb_without_groups_is_called_as_it_is() -> None:
    seen = []

    def verb(one: int, two: str = "b") -> None:
        seen.append((one, two))

    flattened(verb)(one=1, two="c")
    assert seen == [(1, "c")]


def test_words_make_the_same_group_again() -> None:
    assert Replication(n_resamples=99, n_bins=10, seed=3).words() == [
        "--n-resamples",
        "99",
        "--n-bins",
        "10",
        "--seed",
        "3",
    ]


def test_no_verb_lists_options_of_a_group() -> None:
    """Each option is written once: verbs name groups, not their fields."""
    groups = (Reading, Replication, Output)
    fields = {field.name for group in groups for field in dataclasses.fields(group)}
    verbs = [verb.function() for verb in VERBS.values()]
    verbs += [verb.function() for _, inner in GROUPS.values() for verb in inner.values()]
    listed = {verb.__name__: fields & set(inspect.signature(verb).parameters) for verb in verbs}
    # numbers of draws of their own, or one field of a group whose others have no meaning there
    assert {name: found for name, found in listed.items() if found} == {
        "test_file": {"n_resamples"},
        "compare_files": {"n_bins", "n_resamples", "seed"},  # bins of a paper where none are given
        "raters_file": {"n_bins"},
        "study_named": {"seed"},
        "fit_file": {"seed"},
        "report_files": {"file"},  # several of them are compared
    }
