"""Every verb lists its options itself; an option that several have means the same in all of them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import credibly as cr
from credibly.cli.app import GROUPS, VERBS
from credibly.cli.reading import Reading, Replication, Streaming, dask_client

# draws and bins of their own, or flags whose values differ
OWN = {
    "test": {"n_resamples", "method", "weights", "margin"},
    "plan": {"margin", "power"},  # a probability, and a switch of `check`
    "audit": {"clusters", "margin"},  # may name a column of the attributes; about groups
    "raters": {"weights"},
    "compare": {"n_resamples", "n_bins", "out"},
    "report": {"file", "out"},  # several files are compared
    "demo": {"out"},
    "study": {"out"},
    "convert": {"out"},
    "calibrate fit": {"method", "out"},
    "calibrate apply": {"out"},
    "calibrate compare": {"method"},
}


def test_one_option_is_one_thing_in_every_verb() -> None:
    grouped = {f"{group} {name}": one for group, (_, inner) in GROUPS.items() for name, one in inner.items()}
    meanings: dict[str, set[tuple[object, str]]] = {}
    for words, verb in {**VERBS, **grouped}.items():
        for name, one in inspect.signature(verb.function()).parameters.items():
            if name not in OWN.get(words, ()):
                meanings.setdefault(name, set()).add((one.annotation, repr(one.default)))
    files = {"files"}  # `inspect` looks at paths, `compare` takes patterns
    assert {name: found for name, found in meanings.items() if len(found) > 1 and name not in files} == {}
    assert len(meanings["labels"]) == 1


def test_words_make_the_same_values_again() -> None:
    assert Replication(n_resamples=99, n_bins=10, seed=3).words() == [
        *("--n-resamples", "99", "--n-bins", "10", "--seed", "3")
    ]
    assert Reading("p.npz", "y.npy", "logits", 0, drop_invalid=True).words() == [
        *("p.npz", "--labels", "y.npy", "--kind", "logits", "--member-axis", "0", "--drop-invalid")
    ]
    weighted = Reading("p.csv", member_weights="0.5,0.3,0.2").words()
    assert weighted == ["p.csv", "--member-weights", "0.5,0.3,0.2"]
    streaming = Streaming(stream=True, chunk_rows=5, skip_bad_shards=True, engine="dask", scheduler="tcp://x")
    assert streaming.words() == [
        *("--stream", "--chunk-rows", "5", "--skip-bad-shards", "--engine", "dask", "--scheduler", "tcp://x")
    ]


def test_a_reading_takes_its_options_by_their_names() -> None:
    typed = {"file": ["a.csv", "b.csv"], "labels": "y", "clusters": "patient", "seed": 3}
    assert Reading.typed(typed, file="a.csv") == Reading("a.csv", labels="y", clusters="patient")


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
