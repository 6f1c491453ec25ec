"""Small files as people keep them: how each is written, and what `load` must make of it.

Every row is one accepted or refused form. `test_corpus.py` reads all; `tools/make_files_page.py` makes
the table of docs/files.md from the same rows.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

N = 40
RNG = np.random.default_rng(2024)


def _world(k: int) -> tuple[Any, Any]:
    probs = np.round(RNG.dirichlet(np.full(k, 0.4), size=N), 4)
    probs[:, -1] = np.round(1 - probs[:, :-1].sum(axis=1), 4)
    probs = np.abs(probs)
    probs /= probs.sum(axis=1, keepdims=True)
    return probs, np.array([RNG.choice(k, p=row) for row in probs])


P3, Y3 = _world(3)
P2, Y2 = _world(2)
P12, Y12 = _world(12)
MEMBERS = 0.6 * P3[:, None] + 0.4 * RNG.dirichlet(np.ones(3), size=(N, 4))
NAMES = np.array(["cat", "dog", "cow"])
IDS = np.array([f"img_{i:03d}" for i in range(N)])
ORDER = RNG.permutation(N)
MEAN, STD = RNG.normal(size=N), 0.5 + RNG.random(N)
REAL = MEAN + STD * RNG.normal(size=N)
RATERS = np.array([[RNG.choice(3, p=row) for _ in range(4)] for row in P3])
COUNTS = np.stack([(c == RATERS).sum(axis=1) for c in range(3)], axis=1)


def hits(probs: Any, labels: Any) -> float:
    """Share of rows whose largest probability is the label's."""
    return float((np.asarray(probs).argmax(axis=1) == np.asarray(labels)).mean())


def agreement(probs: Any, counts: Any) -> float:
    """Mean share of raters who gave the class with the largest probability."""
    rows = np.arange(len(probs))
    return float((counts[rows, np.asarray(probs).argmax(axis=1)] / counts.sum(axis=1)).mean())


def misses(mean: Any) -> float:
    """Mean distance of the expectation from the observation."""
    return float(np.abs(np.asarray(mean) - REAL).mean())


A3, A2, A12 = hits(P3, Y3), hits(P2, Y2), hits(P12, Y12)
ReadOptions = dict[str, Any]
Write = Callable[[Path], tuple[Any, ReadOptions]]


@dataclasses.dataclass(frozen=True)
class Row:
    """One form: what the file holds, how it is written, and the number or the words that must come of it."""

    section: str
    form: str
    write: Write
    number: float | None = None
    note: str = ""
    refused: str = ""
    said: str = ""


ROWS: list[Row] = []


def row(
    section: str,
    form: str,
    write: Write,
    *,
    number: float | None = None,
    note: str = "",
    refused: str = "",
    said: str = "",
) -> None:
    ROWS.append(Row(section, form, write, number, note, refused, said))


def cell(value: Any) -> str:
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def text(columns: dict[str, Any], delimiter: str = ",", order: Any = None) -> str:
    rows = range(N) if order is None else order
    lines = [delimiter.join(columns)]
    length = len(next(iter(columns.values())))
    rows = rows if length == N else range(length)
    lines += [delimiter.join(cell(column[i]) for column in columns.values()) for i in rows]
    return "\n".join(lines) + "\n"


def table(held: dict[str, Any], /, **said: Any) -> Write:
    def write(folder: Path) -> tuple[Any, ReadOptions]:
        (folder / "t.csv").write_text(text(held), encoding="utf-8")
        return folder / "t.csv", said

    return write


def two(columns: dict[str, Any], labels: dict[str, Any], order: Any = None, **said: Any) -> Write:
    def write(folder: Path) -> tuple[Any, ReadOptions]:
        (folder / "p.csv").write_text(text(columns), encoding="utf-8")
        (folder / "l.csv").write_text(text(labels, order=order), encoding="utf-8")
        return folder / "p.csv", {"labels": folder / "l.csv", **said}

    return write


def npz(said: ReadOptions | None = None, **arrays: Any) -> Write:
    def write(folder: Path) -> tuple[Any, ReadOptions]:
        np.savez(folder / "f.npz", **arrays)
        return folder / "f.npz", said or {}

    return write


def npy(array: Any, labels: Any = None, **said: Any) -> Write:
    def write(folder: Path) -> tuple[Any, ReadOptions]:
        np.save(folder / "f.npy", array)
        if labels is not None:
            np.save(folder / "l.npy", labels)
            said["labels"] = folder / "l.npy"
        return folder / "f.npy", said

    return write


def raw(content: str, name: str, **said: Any) -> Write:
    def write(folder: Path) -> tuple[Any, ReadOptions]:
        (folder / name).write_text(content, encoding="utf-8")
        return folder / name, said

    return write


def cols(names: Sequence[str], probs: Any = None) -> dict[str, Any]:
    given = {3: P3, 2: P2, 12: P12}[len(names)] if probs is None else probs
    return {name: given[:, j] for j, name in enumerate(names)}


def shuffled(names: Sequence[str], order: Sequence[int]) -> dict[str, Any]:
    given = cols(names)
    return {names[j]: given[names[j]] for j in order}


TEXT12 = sorted(range(12), key=str)

S = "Columns of class probabilities"
for prefix in ("p_", "prob_", "proba_", "probability_", "p", "prob."):
    names = [f"{prefix}{j}" for j in range(3)]
    row(S, f"`{names[0]}, {names[1]}, {names[2]}, label`", table(cols(names) | {"label": Y3}), number=A3)
row(S, "`p_0, p_1, p_2, gt`", table(cols(["p_0", "p_1", "p_2"]) | {"gt": Y3}), number=A3)
row(
    S,
    "`P(cat), P(dog), P(cow), label` with names as labels",
    table(cols(["P(cat)", "P(dog)", "P(cow)"]) | {"label": NAMES[Y3]}),
    number=A3,
    note="class names",
)
row(S, "`p[0], p[1], p[2], label`", table(cols(["p[0]", "p[1]", "p[2]"]) | {"label": Y3}), number=A3)
for prefix in ("", "p_", "class_", "prob_class", "Class ", "prob_class_", "softmax_"):
    names = [f"{prefix}{j}" for j in range(12)]
    row(
        S,
        f"`{names[0]}, {names[1]}, {names[10]}, {names[11]}, {names[2]}, ...`",
        table(shuffled(names, TEXT12) | {"label": Y12}),
        number=A12,
        note="by their numbers",
    )
row(
    S,
    "`1.0, 2.0, 3.0, label` with labels 1 and 2 only",
    table(cols(["1.0", "2.0", "3.0"]) | {"label": 1.0 + (Y3 > 0)}),
    number=hits(P3, Y3 > 0),
    note="by number",
)
row(
    S,
    "`P(y=1), P(y=0), P(y=2), label`",
    table(shuffled(["P(y=0)", "P(y=1)", "P(y=2)"], [1, 0, 2]) | {"label": Y3}),
    number=A3,
    note="by their numbers",
)
row(
    S,
    "`2, 1, 0, label`",
    table(shuffled(["0", "1", "2"], [2, 1, 0]) | {"label": Y3}),
    number=A3,
    note="by their numbers",
)
row(
    S,
    "`1, 2, 3, label` with labels 1, 2, 3",
    table(cols(["1", "2", "3"]) | {"label": Y3 + 1}),
    number=A3,
    note="by number",
)
row(
    S,
    "`1, 2, 3, label` with labels 0, 1, 2",
    table(cols(["1", "2", "3"]) | {"label": Y3}),
    refused="must be among the classes",
)
row(
    S,
    "`p_1, p_2, p_3, label` with labels 1, 2, 3",
    table(cols(["p_1", "p_2", "p_3"]) | {"label": Y3 + 1}),
    number=A3,
    note="numbered from 1",
)
row(
    S,
    "`class_1, class_2, class_3, label` with labels 1, 2, 3",
    table(cols(["class_1", "class_2", "class_3"]) | {"label": Y3 + 1}),
    number=A3,
    note="by number",
)
row(
    S,
    "`class_1, ..., label` with labels `class_1, ...`",
    table(cols(["class_1", "class_2", "class_3"]) | {"label": [f"class_{j + 1}" for j in Y3]}),
    number=A3,
    note="class names",
)
row(
    S,
    "`p_cat, p_dog, p_cow, label` with names as labels",
    table(cols(["p_cat", "p_dog", "p_cow"]) | {"label": NAMES[Y3]}),
    number=A3,
    note="class names",
)
row(
    S,
    "`p_positive, p_neutral, p_negative, label` with names as labels",
    table(
        cols(["p_positive", "p_neutral", "p_negative"])
        | {"label": np.array(["positive", "neutral", "negative"])[Y3]}
    ),
    number=A3,
    note="class names",
)
row(
    S,
    "`cat_prob, dog_prob, cow_prob, label` with names as labels",
    table(cols(["cat_prob", "dog_prob", "cow_prob"]) | {"label": NAMES[Y3]}),
    number=A3,
    note="class names",
)
row(
    S,
    "`cat, dog, cow, label` with names as labels",
    table(cols(NAMES.tolist()) | {"label": NAMES[Y3]}),
    number=A3,
    note="class names",
)
row(
    S,
    "`cat, dog, cow, label` with integers as labels",
    table(cols(NAMES.tolist()) | {"label": Y3}),
    refused="the order must be given",
)
row(
    S,
    "`cat, dog, cow, label` with integers as labels",
    table(cols(NAMES.tolist()) | {"label": Y3}, classes=NAMES.tolist()),
    number=A3,
    note="label 0 is 'cat'",
    said="--classes cat,dog,cow",
)
row(
    S,
    "`cat, cow, dog, label` with integers as labels (names in alphabetical order)",
    table(cols(["cat", "cow", "dog"]) | {"label": Y3}),
    number=A3,
)
row(
    S,
    "`pos, neg, label` with integers as labels",
    table(cols(["pos", "neg"]) | {"label": Y2}),
    refused="pos, neg .order of the columns. or neg, pos",
)
row(
    S,
    "`pos, neg, label` with integers as labels",
    table(cols(["pos", "neg"]) | {"label": 1 - Y2}, classes=["neg", "pos"]),
    number=A2,
    said="--classes neg,pos",
)
row(
    S,
    "`pos, neg, label` with names as labels",
    table(cols(["pos", "neg"]) | {"label": np.array(["pos", "neg"])[Y2]}),
    number=A2,
)
row(
    S,
    "`p_0, p_2, label`: a number is missing",
    table(cols(["p_0", "p_2"]) | {"label": Y2}),
    refused="number 1 is missing",
)
row(
    S,
    "a numeric column too many: `cat, dog, cow, age`",
    table(cols(NAMES.tolist()) | {"age": 20 + Y3, "label": NAMES[Y3]}),
    refused="without the column 'age' all rows do",
)
row(
    S,
    "a numeric column too many: `cat, dog, cow, age`",
    table(cols(NAMES.tolist()) | {"age": 20 + Y3, "label": NAMES[Y3]}, exclude=["age"]),
    number=A3,
    said="--exclude age",
)
row(
    S,
    "a numeric column too many: `cat, dog, cow, age`",
    table(cols(NAMES.tolist()) | {"age": 20 + Y3, "label": NAMES[Y3]}, columns=NAMES.tolist()),
    number=A3,
    said="--columns cat,dog,cow",
)
row(
    S,
    "`p_0, p_1, p_2, age, label`",
    table(cols(["p_0", "p_1", "p_2"]) | {"age": 20 + Y3, "label": Y3}),
    number=A3,
    note="not used: columns age",
)
row(
    S,
    "a list in a cell: `probs = [0.1, 0.2, 0.7]`",
    raw("id;probs;label\n" + "".join(f"{i};{P3[i].tolist()};{Y3[i]}\n" for i in range(N)), "t.csv"),
    number=A3,
)
row(
    S,
    "rows rounded to two decimals",
    table(cols(["p_0", "p_1", "p_2"], np.round(P3, 2)) | {"label": Y3}),
    refused="rounded to 2 decimals",
)
row(
    S,
    "rows rounded to two decimals",
    table(cols(["p_0", "p_1", "p_2"], np.round(P3, 2)) | {"label": Y3}, normalise=True),
    number=hits(np.round(P3, 2), Y3),
    note="divided by their sums",
    said="--normalise",
)
row(
    S,
    "percentages",
    table(cols(["a", "b", "c"], np.round(100 * P3, 1)) | {"label": np.array(list("abc"))[Y3]}),
    refused="look like percentages",
)
row(
    S,
    "percentages",
    table(
        cols(["a", "b", "c"], np.round(100 * P3, 1)) | {"label": np.array(list("abc"))[Y3]}, normalise=True
    ),
    number=hits(np.round(100 * P3, 1), Y3),
    note="percentages rounded to 1 decimals",
    said="--normalise",
)
row(
    S,
    "rows that sum to anything",
    table(cols(["p_0", "p_1", "p_2"], P3 * 0.7) | {"label": Y3}, normalise=True),
    refused="must sum to 1",
    said="--normalise",
)

S = "Two classes"
P1 = P2[:, 1]
for name in ("score", "y_prob", "y_score", "y_proba", "prob", "p", "probability", "prob_1", "p_1", "p_pos"):
    row(S, f"`y_true, {name}`", table({"y_true": Y2, name: P1}), number=A2, note="probability of class 1")
row(
    S,
    "`y_true, y_pred` with fractions",
    table({"y_true": Y2, "y_pred": P1}),
    number=A2,
    note="probability of class 1",
)
row(
    S,
    "`y_true, y_pred` with classes only",
    table({"y_true": Y2, "y_pred": Y2}),
    refused="must say what it is",
)
row(
    S,
    "`label, confidence`",
    table({"label": Y2, "confidence": P1}),
    refused="confidence in whatever class was predicted",
)
row(
    S,
    "`label, confidence`",
    table({"label": Y2, "confidence": P1}, columns=["confidence"]),
    number=A2,
    said="--columns confidence",
)
row(
    S,
    "`score` and labels -1, 1",
    table({"label": 2 * Y2 - 1, "score": P1}),
    number=A2,
    note="labels -1 and 1",
)
row(
    S,
    "`score` and labels `no`, `yes`",
    table({"label": np.array(["no", "yes"])[Y2], "score": P1}),
    refused="if the classes have no names",
)
row(
    S,
    "`score` and labels `no`, `yes`",
    table({"label": np.array(["no", "yes"])[Y2], "score": P1}, classes=["no", "yes"]),
    number=A2,
    said="--classes no,yes",
)
row(
    S,
    "`score` and labels `True`, `False`",
    table({"label": np.array(["False", "True"])[Y2], "score": P1}),
    number=A2,
    note="text of True and False",
)
row(
    S, "`p_yes` and labels `no`, `yes`", table({"label": np.array(["no", "yes"])[Y2], "p_yes": P1}), number=A2
)
for word in ("churn_probability", "churn_prob", "p_churn"):
    row(
        S, f"`y_true, {word}`", table({"y_true": Y2, word: P1}), number=A2, note="the event is called 'churn'"
    )
row(S, "`y_true, max_prob`", table({"y_true": Y2, "max_prob": P1}), refused="must say what it is")
for word in ("prob_0", "p_neg", "prob_no"):
    row(S, f"`y_true, {word}`", table({"y_true": Y2, word: 1 - P1}), number=A2, note="probability of class 0")
row(
    S,
    "`y_true, p_pos` where label 0 is the positive class",
    table({"y_true": 1 - Y2, "p_pos": P1}, classes=["pos", "neg"]),
    number=A2,
    note="probability of class 0",
    said="--classes pos,neg",
)
row(S, "`-1, 1, label` with labels -1, 1", table(cols(["-1", "1"]) | {"label": 2 * Y2 - 1}), number=A2)
row(S, "`0.0, 1.0, label`", table(cols(["0.0", "1.0"]) | {"label": Y2.astype(float)}), number=A2)
row(S, "array (n,) of scores", npy(P1, Y2), number=A2, note="probability of class 1")
row(S, "array (n, 1) of scores", npy(P1[:, None], Y2), number=A2, note="probability of class 1")
row(S, "npz `probs` (n,), `y`", npz(probs=P1, y=Y2), number=A2)
row(S, "npz `y_score`, `y_true`", npz(y_score=P1, y_true=Y2), number=A2)
row(S, "margins from -3 to 3", npy(6 * P1 - 3, Y2), refused="lie between 0 and 1")

S = "Labels"
PRED = cols(["p_0", "p_1", "p_2"])
row(
    S,
    "file `id, label` in another order",
    two({"id": IDS} | PRED, {"id": IDS, "label": Y3}, ORDER),
    number=A3,
    note="joined with the predictions by 'id'",
)
for word in ("filename", "uid", "image_id", "sample_id"):
    row(
        S,
        f"file `{word}, label` in another order",
        two({word: IDS} | PRED, {word: IDS, "label": Y3}, ORDER),
        number=A3,
        note="joined with the predictions",
    )
for word in ("patient_id", "case"):
    row(
        S,
        f"file `{word}, label` in another order, the same names in both files",
        two({word: IDS} | PRED, {word: IDS, "label": Y3}, ORDER),
        number=A3,
        note=f"joined with the predictions by '{word}'",
    )
row(
    S,
    "file `patient, label` in another order, the same numbers in both files",
    two(
        {"patient": np.arange(100, 100 + N)} | PRED, {"patient": np.arange(100, 100 + N), "label": Y3}, ORDER
    ),
    number=A3,
    note="joined with the predictions by 'patient'",
)
row(
    S,
    "file `case, label` in another order",
    two({"case": IDS} | PRED, {"case": IDS, "label": Y3}, ORDER, id="case"),
    number=A3,
    said="--id case",
)
row(
    S,
    "ids that are not those of the predictions",
    two({"id": IDS} | PRED, {"id": [f"x{i}" for i in range(N)], "label": Y3}),
    refused="0 are in both, 40 only with the predictions, 40 only with the labels",
)
row(
    S,
    "ids of some of the predictions",
    two({"id": IDS} | PRED, {"id": np.r_[IDS[:-2], ["u", "v"]], "label": Y3}),
    refused="38 are in both, 2 only with the predictions, 2 only",
)
row(
    S,
    "npz `id`, `probs` and npz `id`, `y` in another order",
    lambda folder: (
        (np.savez(folder / "a.npz", probs=P3, id=IDS), np.savez(folder / "b.npz", y=Y3[ORDER], id=IDS[ORDER]))
        and (folder / "a.npz", {"labels": folder / "b.npz"})
    ),
    number=A3,
    note="joined",
)
row(
    S,
    "an index of pandas and a column of names",
    two(cols(["p_cat", "p_dog", "p_cow"]), {"": range(N), "diagnosis": NAMES[Y3]}),
    number=A3,
    note="column 'diagnosis' is read as the label",
)
row(S, "an index of pandas and integers", two(PRED, {"": range(N), "target": Y3}), number=A3)
row(
    S,
    "an index of the training table, `312, 17, ...`",
    two({"": range(N)} | PRED, {"": 500 + ORDER, "target": Y3}),
    number=A3,
    note="by position",
)
row(
    S,
    "two indexes with the same numbers in another order",
    two({"": range(N)} | PRED, {"": ORDER, "target": Y3[ORDER]}),
    refused="By index.*by position",
)
row(S, "`index, label`", two(PRED, {"index": range(N), "label": Y3}), number=A3)
row(
    S,
    "one column of any name",
    two(PRED, {"diagnosis": Y3}),
    number=A3,
    note="'diagnosis' is read as the label",
)
row(
    S,
    "one column without a header",
    lambda folder: (
        raw("\n".join(map(str, Y3)) + "\n", "l.csv")(folder) and table(PRED, labels=folder / "l.csv")(folder)
    ),
    number=A3,
)
row(
    S,
    "`diagnosis, age` for two classes",
    two(cols(["p_0", "p_1"]), {"diagnosis": Y2, "age": 40 + ORDER}),
    refused="2 columns .diagnosis, age., which could be counts over raters",
)
row(
    S,
    "`label, age` for two classes",
    two(cols(["p_0", "p_1"]), {"label": Y2, "age": 40 + ORDER}),
    number=A2,
    note="not used: columns age",
)
row(
    S,
    "a column of the file by its own name",
    table(PRED | {"diagnosis": Y3, "age": 40 + ORDER}, labels="diagnosis"),
    number=A3,
    note="labels are the column 'diagnosis'",
    said="--labels diagnosis",
)
row(
    S,
    "two columns that may be the label",
    table(PRED | {"label": Y3, "target": Y3}),
    refused="must be one column",
)
row(
    S,
    "two columns that may be the label",
    table(PRED | {"label": 2 - Y3, "target": Y3}, labels="target"),
    number=A3,
    said="--labels target",
)
row(
    S, "a name that is not there", table(PRED | {"label": Y3}, labels="lable"), refused="Did you mean 'label'"
)
row(
    S,
    "the only vector of integers in an npz",
    npz(probs=P3, digit=Y3),
    number=A3,
    note="the only vector of integers",
)
row(
    S,
    "a vector of integers in an npz beside the classes that were predicted",
    npz(probs=P3, preds=P3.argmax(axis=1), digit=Y3),
    number=A3,
    note="'digit', the only vector of integers",
)
row(
    S,
    "two vectors of integers in an npz",
    npz({"labels": "digit"}, probs=P3, digit=Y3, fold=ORDER % 5),
    number=A3,
    said="--labels digit",
)
for kind, labels, note in (
    ("floats `0.0, 1.0`", Y3.astype(float), "whole numbers"),
    ("(n, 1)", Y3[:, None], "one column"),
    ("one-hot rows", np.eye(3)[Y3], "one-hot"),
    ("one-hot integers", np.eye(3, dtype=int)[Y3], "one-hot"),
    ("text of digits", Y3.astype(str), "text of digits"),
    ("uint8", Y3.astype(np.uint8), ""),
):
    row(S, f"npz labels: {kind}", npz(probs=P3, y=labels), number=A3, note=note)
row(S, "npz labels: booleans", npz(probs=P2, y=Y2.astype(bool)), number=A2)
row(S, "labels with fractions", npz(probs=P3, y=Y3 + 0.5), refused="must be class indices")
row(
    S,
    "labels 1 to 3 for three nameless classes",
    npz(probs=P3, y=np.r_[3, Y3[1:] % 2 + 1]),
    refused="start at 1",
)
MASKED = np.where(np.arange(N) % 5 == 0, -1, Y3)
KEPT = np.arange(N) % 5 != 0
row(S, "-1 for unlabelled", npz(probs=P3, y=MASKED), refused="If -1 means unlabelled")
row(
    S,
    "-1 for unlabelled",
    npz({"ignore_label": -1}, probs=P3, y=MASKED),
    number=hits(P3[KEPT], Y3[KEPT]),
    note="8 of 40 instances are left out",
    said="--ignore-label -1",
)
row(
    S,
    "255 for unlabelled",
    npz({"ignore_label": 255}, probs=P3, y=np.where(KEPT, Y3, 255).astype(np.uint8)),
    number=hits(P3[KEPT], Y3[KEPT]),
    said="--ignore-label 255",
)
row(S, "class names in an npz", npz(probs=P3, y=NAMES[Y3], classes=NAMES), number=A3, note="class names")
row(S, "class names and integers in an npz", npz(probs=P3, y=Y3, classes=NAMES), number=A3)
row(
    S,
    "names without classes",
    npz(probs=P3, y=NAMES[Y3]),
    refused="must be class indices if the classes have no names",
)
row(
    S,
    "a name that is not a class",
    table(cols(NAMES.tolist()) | {"label": np.r_[["eel"], NAMES[Y3[1:]]]}),
    refused="row 0 is 'eel'",
)

S = "Labels of several raters"
LONG = {"id": np.repeat(IDS, 4), "rater": np.tile(list("abcd"), N), "label": RATERS.ravel()}
G3 = agreement(P3, COUNTS)
row(
    S,
    "`id, rater, label`, one line per rater",
    two({"id": IDS[ORDER]} | {name: column[ORDER] for name, column in PRED.items()}, LONG),
    number=G3,
    note="one row per instance and rater",
)
row(
    S,
    "`id, annotator, label`, one line per rater",
    two({"id": IDS} | PRED, {"id": LONG["id"], "annotator": LONG["rater"], "label": LONG["label"]}),
    number=G3,
)
row(
    S,
    "`photo, annotator, diagnosis`, one line per rater",
    two(PRED, {"photo": LONG["id"], "annotator": LONG["rater"], "diagnosis": LONG["label"]}),
    number=G3,
    note="column 'photo' names the instances",
)
row(
    S,
    "`item, rater, label`, one line per rater, beside predictions with the same names as `picture`",
    two(
        {"picture": IDS[ORDER]} | {name: column[ORDER] for name, column in PRED.items()},
        {"item": LONG["id"], "rater": LONG["rater"], "label": LONG["label"]},
    ),
    number=G3,
    note="labels are joined with the predictions by 'item'",
)
row(
    S,
    "`item, rater, label` and no predictions",
    table({"item": LONG["id"], "rater": LONG["rater"], "label": LONG["label"]}),
    refused="must hold predictions",
)
GAP = np.arange(4 * N) % 9 == 0
HELD = np.where(GAP.reshape(N, 4), -1, RATERS)
FEW = np.where(np.arange(4) == np.arange(N)[:, None] % 4, RATERS, -1)
G3_GAP = agreement(P3, np.stack([(c == HELD).sum(axis=1) for c in range(3)], axis=1))
row(
    S,
    "`id, rater, label` with blank labels",
    two({"id": IDS} | PRED, LONG | {"label": np.where(GAP, "", LONG["label"].astype(str))}),
    number=G3_GAP,
)
row(
    S,
    "`id, rater, label` with blank raters",
    two({"id": IDS} | PRED, LONG | {"rater": np.where(GAP, "", LONG["rater"])}),
    refused="column 'rater' must be filled in",
)
row(
    S,
    "`id, rater, label`, a rater with two labels of an instance",
    two({"id": IDS} | PRED, LONG | {"rater": np.where(GAP, "b", LONG["rater"])}),
    refused="must hold one label per instance and rater",
)
row(
    S,
    "columns of any names that hold names of classes, most of them blank",
    two(
        cols(NAMES.tolist()),
        {
            name: np.where(FEW[:, j] < 0, "", NAMES[FEW[:, j]])
            for j, name in enumerate(("ann", "bob", "eve", "joe"))
        },
    ),
    number=agreement(P3, np.stack([(c == FEW).sum(axis=1) for c in range(3)], axis=1)),
    note="one column per rater",
)
row(
    S,
    "`rater_1, ..., rater_4` with numbers",
    two(PRED, {f"rater_{j}": RATERS[:, j] for j in range(4)}),
    number=G3,
    note="labels of raters",
)
row(
    S,
    "`annotator1, ...` with names",
    two(cols(NAMES.tolist()), {f"annotator{j}": NAMES[RATERS[:, j]] for j in range(4)}),
    number=G3,
)
row(
    S,
    "columns of any names that hold classes",
    two(PRED, {name: RATERS[:, j] for j, name in enumerate(("ann", "bob", "eve", "joe"))}),
    number=G3,
    note="one column per rater",
)
row(
    S,
    "as many raters as classes, named as raters",
    two(PRED, {f"rater_{j}": RATERS[:, j] for j in range(3)}),
    number=agreement(P3, np.stack([(RATERS[:, :3] == c).sum(axis=1) for c in range(3)], axis=1)),
)
row(
    S,
    "as many columns as classes, names of neither",
    two(PRED, {"ann": RATERS[:, 0], "bob": RATERS[:, 1], "eve": 1 + RATERS[:, 2] % 2}),
    refused="could be counts over raters, one column per class or one column per rater",
)
row(S, "`count_0, count_1, count_2`", two(PRED, {f"count_{j}": COUNTS[:, j] for j in range(3)}), number=G3)
row(
    S,
    "counts in columns named as the classes",
    two(cols(NAMES.tolist()), {name: COUNTS[:, j] for j, name in reversed(list(enumerate(NAMES)))}),
    number=G3,
    note="one column per class",
)
row(S, "npz `label_counts`", npz(probs=P3, label_counts=COUNTS), number=G3)
row(S, "npz `raters` (n, raters)", npz(probs=P3, raters=RATERS), number=G3, note="4 columns of raters")
row(S, "array (n, k) of counts, always as many raters", npy(P3, COUNTS), number=G3, note="counts over raters")
row(S, "shares of raters (soft labels)", npy(P3, COUNTS / 4), refused="n_raters")
row(
    S,
    "shares of raters (soft labels)",
    npy(P3, COUNTS / 4, n_raters=4),
    number=G3,
    note="counts of 4 raters",
    said="--n-raters 4",
)
row(
    S,
    "shares of another number of raters",
    npy(P3, COUNTS / 4, n_raters=3),
    refused="must be shares of 3 raters",
)

S = "Members of an ensemble"
AM = hits(MEMBERS.mean(axis=1), Y3)
row(S, "npz `probs` (n, m, k), `y`", npz(probs=MEMBERS, y=Y3), number=AM, note="40 instances of 4 members")
row(
    S,
    "npz `probs` (m, n, k), `y`",
    npz(probs=np.moveaxis(MEMBERS, 1, 0), y=Y3),
    number=AM,
    note="4 members of 40 instances",
)
row(
    S,
    "array (m, n, k) with labels",
    npy(np.moveaxis(MEMBERS, 1, 0), Y3),
    number=AM,
    note="as many as there are labels",
)
row(
    S,
    "array (m, n, k) without labels",
    npy(np.moveaxis(MEMBERS, 1, 0)),
    refused="which axis holds the members",
)
row(
    S,
    "`m0_p0, m0_p1, m0_p2, m1_p0, ...`",
    table({f"m{m}_p{c}": MEMBERS[:, m, c] for m in range(4) for c in range(3)} | {"label": Y3}),
    number=AM,
    note="4 members",
)
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
AW = hits((MEMBERS * SHARES[:, None]).sum(axis=1), Y3)
row(
    S,
    "npz `probs` (n, m, k), `member_weights` (m,), `y`",
    npz(probs=MEMBERS, member_weights=SHARES, y=Y3),
    number=AW,
)
row(
    S,
    "npz `probs` (n, m, k), `mixture_weights` (m,), `y`",
    npz(probs=MEMBERS, mixture_weights=SHARES, y=Y3),
    number=AW,
    note="is read as `member_weights`",
)
row(
    S,
    "npz `probs` (n, m, k), `weights` (m,), `y`",
    npz(probs=MEMBERS, weights=SHARES, y=Y3),
    number=AM,
    note="not used: weights",
)
row(
    S,
    "`m0_p0, m0_p1, m0_p2, m1_p0, ...`",
    table(
        {f"m{m}_p{c}": MEMBERS[:, m, c] for m in range(4) for c in range(3)} | {"label": Y3},
        member_weights=SHARES.tolist(),
    ),
    number=AW,
    said="--member-weights 0.4,0.3,0.2,0.1",
)
row(
    S,
    "`p_0, p_1, p_2, label`",
    table({**{f"p_{c}": P3[:, c] for c in range(3)}, "label": Y3}, member_weights=SHARES.tolist()),
    refused="belong to members",
    said="--member-weights 0.4,0.3,0.2,0.1",
)
row(
    S,
    "`member_0_prob_cat, ...`",
    table(
        {f"member_{m}_prob_{NAMES[c]}": MEMBERS[:, m, c] for c in range(3) for m in range(4)}
        | {"label": NAMES[Y3]}
    ),
    number=AM,
    note="4 members",
)
row(
    S,
    "`p0_m0, p0_m1, ...`",
    table({f"p{c}_m{m}": MEMBERS[:, m, c] for c in range(3) for m in range(4)} | {"label": Y3}),
    number=AM,
    note="4 members",
)
row(
    S,
    "`m0_p0, ...` with a column missing",
    table(
        {f"m{m}_p{c}": MEMBERS[:, m, c] for m in range(4) for c in range(3) if (m, c) != (2, 1)}
        | {"label": Y3}
    ),
    refused="for every member and class",
)
PER_MEMBER = {
    "id": np.repeat(IDS, 4),
    **{f"p_{c}": MEMBERS[..., c].ravel() for c in range(3)},
    "label": np.repeat(Y3, 4),
}
for word in ("member", "seed", "model"):
    row(
        S,
        f"`id, {word}, p_0, p_1, p_2, label`, one line per member",
        table(PER_MEMBER | {word: np.tile(range(4), N)}),
        number=AM,
        note="4 members",
    )
row(
    S,
    "`id, p_0, p_1, p_2, label` with several lines per id",
    table(PER_MEMBER),
    number=hits(MEMBERS.reshape(-1, 3), np.repeat(Y3, 4)),
    note="160 rows share 40 ids in 'id'; every row counts as one instance",
)
row(
    S,
    "`id, p_0, p_1, p_2` with several lines per id, and a file `id, label`",
    two({name: PER_MEMBER[name] for name in ("id", "p_0", "p_1", "p_2")}, {"id": IDS, "label": Y3}),
    refused="ids of the predictions must be distinct .* 'img_000' appears 4 times",
)
row(
    S,
    "`item, rater, p_0, p_1, p_2, label`, one line per rater",
    table(
        {"item": LONG["id"], "rater": LONG["rater"], "label": LONG["label"]}
        | {name: np.repeat(column, 4) for name, column in PRED.items()}
    ),
    refused="one row per rater in 'rater'",
)
row(
    S,
    "`id, rater, p_0, p_1, p_2, label`, one line per rater",
    table(PER_MEMBER | {"rater": np.tile(list("abcd"), N)}),
    refused="one row per instance; 160 rows share 40 ids",
)
LINES = {"id": np.repeat(IDS, 3), "class": np.tile(NAMES, N), "p": P3.ravel()}
row(
    S,
    "`id, class, p, label`, one line per class, names as labels",
    table(LINES | {"label": np.repeat(NAMES[Y3], 3)}),
    number=A3,
)
row(
    S,
    "`id, class, p, label`, one line per class, integers as labels",
    table(LINES | {"label": np.repeat(Y3, 3)}),
    refused="have no order",
)

S = "Kinds"
row(S, "npz `logits`, `y`", npz(logits=np.log(P3 + 1e-9), y=Y3), number=A3)
row(S, "array of logits", npy(np.log(P3 + 1e-9), Y3), refused="like logits")
row(S, "array of logits", npy(np.log(P3 + 1e-9), Y3, kind="logits"), number=A3, said="--kind logits")
row(
    S,
    "probabilities that are called logits",
    npy(P3, Y3, kind="logits"),
    refused="must not be probabilities already",
    said="--kind logits",
)
row(
    S,
    "probabilities that are meant as logits",
    npy(P3, Y3, kind="raw-logits"),
    number=A3,
    said="--kind raw-logits",
)
row(
    S,
    "npz `probs` and `logits`",
    npz(probs=P3, logits=np.log(P3 + 1e-9), y=Y3),
    refused="must hold one kind of prediction",
)
row(S, "npz `alpha`, `y`", npz(alpha=1 + 9 * P3, y=Y3), number=A3)
row(S, "npz `softmax`, `targets`", npz(softmax=P3, targets=Y3), number=A3, note="is read as `probs`")
row(S, "npz with a nameless array and labels", npz(arr_0=P3, y=Y3), number=A3, note="all rows sum to 1")
row(S, "transposed array (k, n)", npy(P3.T, Y3), refused="sums along axis 0 are 1")

S = "Intervals of probabilities and belief functions"
LOWER, UPPER = np.clip(P3 - 0.1, 0, 1), np.clip(P3 + 0.1, 0, 1)
FOCAL = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
MASSES = np.concatenate([0.8 * P3, np.full((N, 1), 0.2)], axis=1)
BELIEFS = np.concatenate([0.8 * P3, np.ones((N, 1))], axis=1)
BOUNDS = [f"{end}_{name}" for end in ("lower", "upper") for name in NAMES]
row(S, "npz `lower`, `upper` (n, k), `y`", npz(lower=LOWER, upper=UPPER, y=Y3), number=A3)
row(
    S,
    "`lower_cat, lower_dog, lower_cow, upper_cat, ..., label` with names as labels",
    table(
        cols(BOUNDS[:3], LOWER) | cols(BOUNDS[3:], UPPER) | {"label": NAMES[Y3]},
    ),
    number=A3,
    note="class names",
)
row(S, "npz `lower`, `y`", npz(lower=LOWER, y=Y3), refused="needs the arrays `lower` and `upper`")
row(
    S,
    "npz `lower`, `upper` the wrong way round",
    npz(lower=UPPER, upper=LOWER, y=Y3),
    refused="must not exceed",
)
row(
    S,
    "npz `masses` (n, s), `focal_sets` (s, k) of 0 and 1, `y`",
    npz(masses=MASSES, focal_sets=FOCAL, y=Y3),
    number=A3,
)
row(
    S,
    "npz `beliefs` (n, s), `focal_sets` (s, k), `y`",
    npz(beliefs=BELIEFS, focal_sets=FOCAL, y=Y3),
    number=A3,
)
row(
    S,
    'json, `"masses": [[...], ...], "focal_sets": [[0], [1], [2], [0, 1, 2]], "y": [...]`',
    raw(
        json.dumps({"masses": MASSES.tolist(), "focal_sets": [[0], [1], [2], [0, 1, 2]], "y": Y3.tolist()}),
        "t.json",
    ),
    number=A3,
)
row(S, "npz `masses`, `y`", npz(masses=MASSES, y=Y3), refused="needs the arrays `masses` and `focal_sets`")
row(
    S,
    "npz `masses` that do not sum to 1",
    npz(masses=0.9 * MASSES, focal_sets=FOCAL, y=Y3),
    refused="must sum to 1",
)

S = "Real values"
R = misses(MEAN)
Q = {level: MEAN + STD * z for level, z in ((0.05, -1.645), (0.5, 0.0), (0.95, 1.645))}
for mean, std in (
    ("mean", "std"),
    ("mu", "sigma"),
    ("y_pred", "y_std"),
    ("pred_mean", "pred_std"),
    ("prediction", "sd"),
):
    row(S, f"`{mean}, {std}, y`", table({mean: MEAN, std: STD, "y": REAL}), number=R)
row(
    S,
    "`mean, variance, y`",
    table({"mean": MEAN, "variance": STD**2, "y": REAL}),
    number=R,
    note="root of the variance",
)
row(
    S,
    "`mean, logvar, y`",
    table({"mean": MEAN, "logvar": 2 * np.log(STD), "y": REAL}),
    number=R,
    note="logarithm of the variance",
)
row(
    S,
    "`mu, var, y_true`",
    table({"mu": MEAN, "var": STD**2, "y_true": REAL}),
    number=R,
    note="root of the variance",
)
row(
    S,
    "`lower, upper, y`",
    table({"lower": Q[0.05], "upper": Q[0.95], "y": REAL}),
    refused="claimed=0.9` for intervals .*levels=",
)
row(
    S,
    "`lower, upper, y`",
    table({"lower": Q[0.05], "upper": Q[0.95], "y": REAL}, levels=[0.05, 0.95]),
    number=R,
    note="quantiles at",
    said="--levels 0.05,0.95",
)
PROPHET = {"ds": IDS, "yhat": MEAN, "yhat_lower": Q[0.05], "yhat_upper": Q[0.95], "y": REAL}
row(
    S,
    "`ds, yhat, yhat_lower, yhat_upper, y` (Prophet)",
    table(PROPHET),
    refused="claim to contain 90 %, use `claimed=0.9`",
)
row(
    S,
    "`timestamp, mean, 0.05, 0.5, 0.95, target` (AutoGluon)",
    table(
        {"timestamp": IDS, "mean": MEAN} | {f"{level}": Q[level] for level in Q} | {"target": REAL},
    ),
    number=R,
    note="not used beside quantiles: columns mean",
)
row(
    S,
    "`date, quantile, value, y`, one line per quantile",
    table(
        {
            "date": np.repeat(IDS, 3),
            "quantile": np.tile(list(Q), N),
            "value": np.stack(list(Q.values()), axis=1).ravel(),
            "y": np.repeat(REAL, 3),
        }
    ),
    refused="the column 'quantile' repeats 3 levels, one row each",
)
for names in (
    ("q_0.05", "q_0.5", "q_0.95"),
    ("q05", "q50", "q95"),
    ("q5", "q50", "q95"),
    ("p5", "p50", "p95"),
    ("P05", "P50", "P95"),
    ("0.05", "0.5", "0.95"),
    ("5%", "50%", "95%"),
):
    row(
        S,
        f"`{', '.join(names)}, y`",
        table(dict(zip(names, Q.values(), strict=True)) | {"y": REAL}),
        number=R,
    )
row(
    S,
    "`q1, q2, q3, y`",
    table(dict(zip(("q1", "q2", "q3"), Q.values(), strict=True)) | {"y": REAL}),
    refused="percent or tenths",
)
row(
    S,
    "npz `quantiles`, `levels`, `y`",
    npz(quantiles=np.stack(list(Q.values()), axis=1), levels=np.array(list(Q)), y=REAL),
    number=R,
)
row(
    S,
    "npz `quantiles`, `y`",
    npz({"levels": list(Q)}, quantiles=np.stack(list(Q.values()), axis=1), y=REAL),
    number=R,
    said="--levels 0.05,0.5,0.95",
)
row(
    S,
    "npz `mean`, `std` (m, n), `y`",
    npz(mean=np.stack([MEAN] * 3), std=np.stack([STD] * 3), y=REAL),
    number=R,
    note="3 members of 40 instances",
)
row(
    S,
    "`sample_0, sample_1, ..., y`",
    table({f"sample_{j}": MEAN + d for j, d in enumerate((-1.0, 0.0, 1.0))} | {"y": REAL}),
    number=R,
)

MIXTURE = MEMBERS[:, :, 0] / MEMBERS[:, :, 0].sum(axis=1, keepdims=True)
MEANS = np.stack([MEAN, MEAN - 1, MEAN + 1, MEAN + 2], axis=1)
row(
    S,
    "npz `mean`, `std`, `member_weights` (n, m), `y`",
    npz(mean=MEANS, std=np.ones((N, 4)), member_weights=MIXTURE, y=REAL),
    number=misses((MIXTURE * MEANS).sum(axis=1)),
)
row(
    S,
    "npz `samples` (n, s), `member_weights` (s,), `y`",
    npz(samples=MEANS, member_weights=SHARES, y=REAL),
    refused="cannot be used with draws",
)

S = "Sets and intervals with a claimed coverage"
SETS = P3 >= 0.2
HELD3 = float(SETS[np.arange(N), Y3].mean())
ENDS = {"lower": Q[0.05], "upper": Q[0.95]}
HELD = float(((ENDS["lower"] <= REAL) & (ENDS["upper"] >= REAL)).mean())
IN_SET = ("in_set_cat", "in_set_dog", "in_set_cow")
row(S, "npz `sets` (n, k) of booleans, `claimed`, `y`", npz(sets=SETS, claimed=0.9, y=Y3), number=HELD3)
row(
    S,
    "npz `sets`, `y`",
    npz({"claimed": 0.9}, sets=SETS.astype(np.int64), y=Y3),
    number=HELD3,
    said="--claimed 0.9",
)
row(S, "npz `sets`, `y`", npz(sets=SETS, y=Y3), refused="must say what share of labels")
row(
    S,
    "`in_set_cat, in_set_dog, in_set_cow, claimed, label` of 0 and 1, with names as labels",
    table(cols(IN_SET, SETS.astype(np.int64)) | {"claimed": np.full(N, 0.9), "label": NAMES[Y3]}),
    number=HELD3,
    note="class names",
)
row(
    S,
    "`in_set_cat, in_set_dog, in_set_cow, label` of True and False",
    table(cols(IN_SET, SETS) | {"label": NAMES[Y3]}, claimed=0.9),
    number=HELD3,
    said="--claimed 0.9",
)
PAIRS = np.stack([ENDS["lower"], ENDS["upper"]], axis=-1)[:, :, None]  # as MAPIE returns them
row(
    S,
    "npz of any array (n, 2, 1), `y`",
    npz({"claimed": 0.9}, y_pis=PAIRS, y=REAL),
    number=HELD,
    note="y_pis (40, 2, 1) float64 is read as `lower` and `upper`",
    said="--claimed 0.9",
)
row(S, "npz of any array (n, 2, 1), `y`", npz(y_pis=PAIRS, y=REAL), refused="claim to contain 90 %")
row(
    S,
    "`lower, upper, y`",
    table(ENDS | {"y": REAL}, claimed=0.9),
    number=HELD,
    note="intervals of a real value with a claimed coverage",
    said="--claimed 0.9",
)
row(
    S,
    "`ds, yhat, yhat_lower, yhat_upper, y` (Prophet)",
    table(PROPHET, claimed=0.9),
    number=HELD,
    note="intervals of a real value with a claimed coverage",
    said="--claimed 0.9",
)
row(
    S,
    "`ds, MODEL, MODEL-lo-90, MODEL-hi-90, y` (Nixtla)",
    table({"ds": IDS, "MODEL": MEAN, "MODEL-lo-90": Q[0.05], "MODEL-hi-90": Q[0.95], "y": REAL}, claimed=0.9),
    number=HELD,
    note="intervals of a real value with a claimed coverage",
    said="--claimed 0.9",
)
row(
    S,
    "`lower_90, upper_90, y`",
    table({"lower_90": Q[0.05], "upper_90": Q[0.95], "y": REAL}, claimed=0.9),
    number=HELD,
    note="the columns lower and upper of '90' are read as the ends",
    said="--claimed 0.9",
)
row(
    S,
    "`lower_end, upper_end, claimed, y`",
    table({"lower_end": Q[0.05], "upper_end": Q[0.95], "claimed": np.full(N, 0.9), "y": REAL}),
    number=HELD,
)
row(
    S,
    "`lower, upper, claimed, y` with two claims",
    table(ENDS | {"claimed": np.where(np.arange(N) < 9, 0.8, 0.9), "y": REAL}),
    refused="one number for all instances",
)

S = "Text and JSON"
COMMA = text(PRED | {"label": Y3}, ";").replace(".", ",")
row(
    S,
    "semicolons and decimal commas",
    raw(COMMA, "t.csv"),
    number=A3,
    note="decimals are written with a comma",
)
row(S, "tabs", raw(text(PRED | {"label": Y3}, "\t"), "t.tsv"), number=A3)
row(
    S,
    "no header, blanks, the label last",
    raw("".join(" ".join(map(repr, map(float, P3[i]))) + f" {Y3[i]}\n" for i in range(N)), "t.csv"),
    number=A3,
    note="last of 4 columns is read as the label",
)
row(
    S,
    "jsonl, one object per line",
    raw(
        "".join(json.dumps({"probs": P3[i].tolist(), "label": int(Y3[i])}) + "\n" for i in range(N)),
        "t.jsonl",
    ),
    number=A3,
)
row(
    S,
    "jsonl with one key per class",
    raw(
        "".join(
            json.dumps({"p_cat": P3[i, 0], "p_dog": P3[i, 1], "p_cow": P3[i, 2], "label": str(NAMES[Y3[i]])})
            + "\n"
            for i in range(N)
        ),
        "t.jsonl",
    ),
    number=A3,
)
row(
    S,
    "json: a list of objects",
    raw(
        json.dumps([{"p_0": P3[i, 0], "p_1": P3[i, 1], "p_2": P3[i, 2], "y": int(Y3[i])} for i in range(N)]),
        "t.json",
    ),
    number=A3,
)
row(
    S,
    "json: an object of arrays",
    raw(json.dumps({"probs": P3.tolist(), "y": Y3.tolist()}), "t.json"),
    number=A3,
)
row(
    S,
    "json with a key twice",
    raw('{"probs": [[0.5, 0.5]], "y": [0], "y": [1]}', "t.json"),
    refused="appears twice",
)
row(
    S,
    "a cell that is not a number",
    raw(text(PRED | {"label": Y3}).replace("\n0", "\nx0", 1), "t.csv"),
    refused="must be a number",
)
row(
    S,
    "fewer cells in a line",
    raw(text(PRED | {"label": Y3}) + "0.5,0.5\n", "t.csv"),
    refused="must have 4 cells",
)
row(
    S,
    "a pickle",
    lambda folder: ((folder / "t.pkl").write_bytes(b"\x80\x04."), (folder / "t.pkl", {}))[1],
    refused="pickle",
)


def scored(names: Sequence[str], labels: Any, probs: Any = P3) -> Write:
    """What a text-classification pipeline returns with `top_k=None`: classes sorted by score."""
    entries = [
        [{"label": str(names[j]), "score": float(line[j])} for j in np.argsort(-line)] for line in probs
    ]

    def write(folder: Path) -> tuple[Any, ReadOptions]:
        (folder / "t.json").write_text(json.dumps(entries), encoding="utf-8")
        np.save(folder / "l.npy", labels)
        return folder / "t.json", {"labels": folder / "l.npy"}

    return write


def by_id(entry: Callable[[int], Any], labels: dict[str, Any] | None = None) -> Write:
    """One entry per id in one JSON object; labels in a table of another order."""

    def write(folder: Path) -> tuple[Any, ReadOptions]:
        held = {str(IDS[i]): entry(i) for i in range(N)}
        (folder / "t.json").write_text(json.dumps(held), encoding="utf-8")
        if labels is None:
            return folder / "t.json", {}
        (folder / "l.csv").write_text(text(labels, order=ORDER), encoding="utf-8")
        return folder / "t.json", {"labels": folder / "l.csv"}

    return write


def named_probs(i: int) -> dict[str, float]:
    return {str(name): float(value) for name, value in zip(NAMES, P3[i], strict=True)}


row(
    S,
    'jsonl, `"probs": {"cat": 0.2, "dog": 0.5, "cow": 0.3}` in every line',
    raw(
        "".join(
            json.dumps({"id": str(IDS[i]), "probs": named_probs(i), "label": str(NAMES[Y3[i]])}) + "\n"
            for i in range(N)
        ),
        "t.jsonl",
    ),
    number=A3,
    note="name their classes",
)
row(
    S,
    "jsonl, a class missing in one line",
    raw(
        json.dumps({"probs": {"cat": 0.4, "dog": 0.6}, "label": "cat"})
        + "\n"
        + json.dumps({"probs": {"cat": 1.0}, "label": "cat"}),
        "t.jsonl",
    ),
    refused="must name the classes of the first",
)
row(
    S,
    'output of a pipeline, `[[{"label": "dog", "score": 0.7}, ...], ...]`, and names as labels',
    scored(NAMES.tolist(), NAMES[Y3]),
    number=A3,
    note="name their classes",
)
row(
    S,
    "output of a pipeline with `LABEL_0, LABEL_1, ...` and numbers as labels",
    scored(["LABEL_0", "LABEL_1", "LABEL_2"], Y3),
    number=A3,
    note="by their numbers",
)
row(
    S,
    "output of a pipeline with names of classes and numbers as labels",
    scored(NAMES.tolist(), Y3),
    refused="must be class names",
)
row(
    S,
    'json, `{"img_000": {"probs": [...], "label": 1}, ...}`',
    by_id(lambda i: {"probs": P3[i].tolist(), "label": int(Y3[i])}),
    number=A3,
    note="keys of the file are read as ids",
)
row(
    S,
    'json, `{"img_000": {"cat": 0.2, ...}, ...}` and a table of labels in another order',
    by_id(named_probs, {"id": IDS, "label": NAMES[Y3]}),
    number=A3,
    note="joined with the predictions by 'id'",
)
row(
    S,
    'json, `{"img_000": [0.2, 0.5, 0.3], ...}` and a table of labels in another order',
    by_id(lambda i: P3[i].tolist(), {"id": IDS, "label": Y3}),
    number=A3,
    note="joined with the predictions by 'id'",
)

S = "Members of an ensemble"
for stem, end in (("member_", ""), ("probs_", ""), ("model_", "_probs"), ("seed", "_softmax")):
    row(
        S,
        f"npz: `{stem}0{end}, ..., {stem}3{end}`, one array per member",
        npz(**{f"{stem}{j}{end}": MEMBERS[:, j] for j in range(4)}, y=Y3),
        number=hits(MEMBERS.mean(axis=1), Y3),
        note="4 members of one ensemble",
    )
SCORES = np.clip(P2[:, 1:] + 0.02 * np.arange(5) - 0.04, 0, 1)
row(
    S,
    "npz: `scores` (n, members) of class 1, labels of two classes",
    npz(scores=SCORES, y=Y2),
    number=hits(np.stack([1 - SCORES.mean(axis=1), SCORES.mean(axis=1)], axis=1), Y2),
    note="of class 1 by every member",
)
row(
    S,
    "npz: `scores` (members, n) of class 1, labels of two classes",
    npz(scores=SCORES.T, y=Y2),
    number=hits(np.stack([1 - SCORES.mean(axis=1), SCORES.mean(axis=1)], axis=1), Y2),
    note="5 members of 40 instances",
)
row(
    S,
    "npz: `scores` (n, 5) and no labels",
    npz(scores=SCORES),
    refused="one column per class or one per member",
)
row(
    S,
    "npz: `probs` (n, 5), rows that do not sum to 1, labels of two classes",
    npz(probs=SCORES, y=Y2),
    refused="One column per class.*One column per member",
)

S = "Two classes"
CERTAIN = np.maximum(P2[:, 1], P2[:, 0])
row(
    S,
    "`score, label` where every score is at least 0.5: the confidence of a prediction, it seems",
    table({"score": CERTAIN, "label": Y2}),
    refused="look like the confidence",
)
row(S, "npz: `scores` (n, 2), rows that sum to 1", npz(scores=P2, y=Y2), number=A2, note="all rows sum to 1")

S = "Real values"
MEANS = MEAN[:, None] + np.array([-0.1, 0.0, 0.1])
SPREADS = np.stack([STD, STD, STD], axis=1)
for mean, spread, given in (("mu", "sigma", SPREADS), ("mean", "std", SPREADS), ("mean", "var", SPREADS**2)):
    columns = {f"{mean}_{j}": MEANS[:, j] for j in range(3)}
    columns |= {f"{spread}_{j}": given[:, j] for j in range(3)}
    row(
        S,
        f"`{mean}_0, ..., {spread}_0, ..., y`, one pair of columns per member",
        table(columns | {"y": REAL}),
        number=misses(MEANS.mean(axis=1)),
        note="3 members",
    )
row(
    S,
    "`mu_0, mu_1, mu_2, y` and no spread",
    table({f"mu_{j}": MEANS[:, j] for j in range(3)} | {"y": REAL}),
    refused="needs the arrays `mean` and `std`",
)
DRAWS = MEAN[:, None] + STD[:, None] * np.linspace(-1.5, 1.5, 30)
row(
    S,
    "npz: `samples` (draws, n) and n labels",
    npz(samples=DRAWS.T, y=REAL),
    number=misses(DRAWS.mean(axis=1)),
    note="30 draws of 40 instances",
)

S = "Labels"
row(
    S,
    "ids `001, 002, ...` with the predictions, `1, 2, ...` with the labels, in another order",
    two(
        {"id": np.array([f"{i + 1:03d}" for i in range(N)])} | PRED,
        {"id": np.arange(1, N + 1), "label": Y3},
        order=ORDER,
    ),
    number=A3,
    note="without leading zeros",
)
row(
    S,
    "ids `1, 01, ...`: the same number twice",
    two(
        {"id": np.array(["1", "01", *(f"{i + 1:03d}" for i in range(2, N))])} | PRED,
        {"id": np.arange(1, N + 1), "label": Y3},
    ),
    refused="must be those of the predictions",
)

S = "Members of an ensemble"
row(
    S,
    "npz: `probs_0, probs_2`, a number missing",
    npz(probs_0=MEMBERS[:, 0], probs_2=MEMBERS[:, 2], y=Y3),
    refused="must be numbered without gaps",
)
row(
    S,
    "npz: `probs_0, probs_1, probs_2` of different shapes",
    npz(probs_0=MEMBERS[:, 0], probs_1=MEMBERS[:, 1], probs_2=MEMBERS[:5, 2], y=Y3),
    refused="must be numbered without gaps and have one shape",
)

S = "Text and JSON"
row(
    S,
    "output of a pipeline that names a class twice",
    scored(["cat", "dog", "cat"], NAMES[Y3]),
    refused="appears twice",
)
