"""The table of roles: what arrays and columns are, by their names, and which of them make up predictions.

    reader -> `Content`, arrays by name -> `naming.assign_roles`, by role -> `loading.assemble` -> `Dataset`

A new role is a row of `ROLES`, a new kind of prediction a row of `KINDS`; reading, columns of tables and
writing follow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError, InputError, nearest, one_of, require_type
from credibly._arrays.namespace import Array
from credibly.io.limits import load_limit, readable_size
from credibly.predictions import (
    Belief,
    Confidence,
    Dirichlet,
    Ensemble,
    Gaussian,
    Intervals,
    LabelCounts,
    Point,
    PredictionIntervals,
    Predictions,
    PredictionSets,
    Quantiles,
    Samples,
)
from credibly.predictions.convert import from_binary_scores


@dataclasses.dataclass(frozen=True)
class Role:
    """What an array or a column is.

    Attributes
    ----------
    meaning : str
        In words.
    shape : str
        Of the array; n instances, m members, k classes, s sets, draws or levels, d features.
    aliases : tuple of str
        Other names of the array, or of the column of a table; reading one of them is noted.
    columns : tuple of str
        Further names that only a column carries.
    prefixes : tuple of str
        Beginnings of the names of several columns that make up the array: ``p_cat``, ``p[cat]``, ``p0``.
    per : {"instance", "member", "file", "line"}
        What an entry belongs to; "line" marks columns that say which member or class a line is about.
    text : {"never", "labels", "names"}
        Whether a column may hold text; among names, '007' is not 7.
    becomes : str
        The role that it is turned into, with a note, before anything else is asked.
    """

    meaning: str
    shape: str
    aliases: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    per: str = "instance"
    text: str = "never"
    becomes: str = ""

    @property
    def over_classes(self) -> bool:
        """Whether the last axis runs over classes."""
        return self.shape.endswith("k)")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _row(
    meaning: str, shape: str, aliases: str = "", *, columns: str = "", prefixes: str = "", **rest: Any
) -> Role:
    """Return a row of the table, with names as words of a text."""
    return Role(meaning, shape, _words(aliases), _words(columns), _words(prefixes), **rest)


ROW_NUMBERS = ("unnamed: 0", "index", "idx", "level_0")
"""Names of columns that a table counts its rows with: an index, never a label."""
PREDICTED = _words(
    "y_pred pred preds prediction predictions predicted predicted_label predicted_labels predicted_class "
    "pred_label pred_labels pred_class y_hat yhat argmax"
)
"""Names of the classes that a model decided for: never the labels."""
_LABEL_WORDS = (
    "label labels y_true target targets gold true_label ground_truth true_class class_label y_test actual "
    "observed gt truth"
)
_ID_WORDS = (
    "ids uid uuid filename file_name filepath image_id sample_id instance_id example_id row_id item_id "
    "case_id image"
)
_RATER_WORDS = "annotator worker worker_id rater_id annotator_id coder judge"
_PROBS_WORDS = "probabilities probas proba softmax predict_proba pred_probs y_probs"
_SCORE_WORDS = "scores y_prob y_score y_proba y_pred_proba prob_positive p_positive"
_OVER_CLASSES, _BY_MEMBER = "(n, k) or (n, m, k)", "(n,) or (n, m)"

ROLES: dict[str, Role] = {
    # predictions: every kind below says which of these make it up
    "probs": _row("probabilities", _OVER_CLASSES, _PROBS_WORDS, prefixes="p prob probs proba probability"),
    "logits": _row("logits", _OVER_CLASSES, prefixes="logit logits"),
    "alpha": _row(
        "Dirichlet parameters", _OVER_CLASSES, "alphas concentration concentrations", prefixes="alpha"
    ),
    "beliefs": _row("beliefs of focal sets", "(n, s)", "belief"),
    "masses": _row("masses of focal sets", "(n, s)", "mass"),
    "lower": _row("lower bounds", "(n, k)", "lower_bounds", prefixes="lower"),
    "upper": _row("upper bounds", "(n, k)", "upper_bounds", prefixes="upper"),
    "mean": _row("means", _BY_MEMBER, "mu means y_mean pred_mean loc", prefixes="mean mu"),
    "std": _row(
        "standard deviations",
        _BY_MEMBER,
        "sigma stds y_std pred_std sd stddev y_sigma",
        prefixes="std sigma sd",
    ),
    "samples": _row("draws", "(n, s) or (n, m, s)", "draws", prefixes="sample samples draw"),
    "values": _row("quantiles", "(n, s)", "quantiles y_quantiles", prefixes="q quantile"),
    "sets": _row("sets of classes as 0 and 1", "(n, k)", "prediction_sets pred_sets", prefixes="in_set"),
    "lower_end": _row("lower ends of intervals", "(n,)", "interval_low pi_lower pi_low"),
    "upper_end": _row("upper ends of intervals", "(n,)", "interval_high pi_upper pi_high"),
    "counts": _row("label counts", "(n, k)", prefixes="count counts"),
    "stated": _row("stated probability that an answer is right", "(n,)"),
    "top_logprobs": _row("log-probabilities of listed options", "(n, k)"),
    "others": _row("listed probability of other tokens", "(n,)"),
    "focal_sets": _row("focal sets as 0 and 1", "(s, k)", per="file"),
    "levels": _row("levels of the quantiles", "(s,)", "quantile_levels taus quantile_probs", per="file"),
    "claimed": _row(
        "claimed coverage", "(1,)", "claimed_coverage nominal_coverage target_coverage", per="file"
    ),
    # what is turned into one of them
    "score": _row("probability of class 1", "(n,)", _SCORE_WORDS, becomes="probs"),
    "variance": _row(
        "variances", _BY_MEMBER, "var variances y_var pred_var sigma2", prefixes="var variance", becomes="std"
    ),
    "log_variance": _row(
        "logarithms of the variances",
        _BY_MEMBER,
        "logvar log_var logvars",
        prefixes="logvar log_var",
        becomes="std",
    ),
    # beside the predictions
    "y": _row("label", "(n,)", _LABEL_WORDS, text="labels"),
    "label_counts": _row("label counts of raters", "(n, k)", "label_count", prefixes="label_count"),
    "raters": _row(
        "labels of raters",
        "(n, raters)",
        "annotations annotators ratings",
        prefixes="rater annotator coder expert judge",
        becomes="label_counts",
    ),
    "soft_labels": _row(
        "shares of raters", "(n, k)", "soft_label label_distribution", becomes="label_counts"
    ),
    "features": _row("features", "(n, d)", "feature", prefixes="x feature"),
    "id": Role(
        "id",
        "(n,)",
        _words(_ID_WORDS),
        columns=("instance", "item", "document", "doc", "file", *ROW_NUMBERS),
        text="names",
    ),
    "group": _row("group", "(n,)", "groups subgroup", text="names"),
    "cluster": _row("cluster", "(n,)", "clusters cluster_id", text="names"),
    "member_weights": _row(
        "weights of the members",
        "(m,), or (n, m) for Gaussian members",
        "mixture_weights ensemble_weights model_weights",
        per="member",
    ),
    # columns of tables with several lines per instance
    "member": _row("member", "(n,)", columns="draw", per="line", text="names"),
    "class": _row("class", "(n,)", per="line", text="names"),
    "rater": _row("rater", "(n,)", columns=_RATER_WORDS, per="line", text="names"),
}


def require_held(option: str, name: str, columns: Mapping[str, Array], rule: str) -> None:
    """Raise unless what an option names is held; the nearest name that is gets told."""
    if name not in columns:
        raise InputError(f"`{option}`", f"must name {rule}", f"there is no {name!r}", nearest(name, columns))


def described(arrays: dict[str, Array]) -> str:
    """Write 'probs (900, 10) float32, y (900,) int64'."""
    return ", ".join(f"{name} {tuple(array.shape)} {array.dtype}" for name, array in arrays.items())


# Focal sets: lists of class indices in memory, a table of 0 and 1 in files


def membership_of(sets: Any, n_classes: int | None) -> Array:
    """Return focal sets (lists of class indices) as a 0/1 table (f, k), the form files hold."""
    try:
        lists = [[int(member) for member in members] for members in sets]
    except (TypeError, ValueError):
        lists = []
    largest = max((member for members in lists for member in members), default=-1)
    count = largest + 1 if n_classes is None else n_classes
    smallest = min((member for members in lists for member in members), default=0)
    # A class index is a column: an absurd one must not become an absurd table.
    if not lists or smallest < 0 or not largest < count <= 100_000 or len(lists) * count > 10**8:
        raise InputError(
            "`focal_sets`",
            "must be a list of lists of class indices",
            f"got {len(lists)} readable sets with indices from {smallest} to {largest} for {count} classes",
            'Write them like "focal_sets": [[0], [1], [0, 1]].',
        )
    table = np.zeros((len(lists), count), dtype=np.uint8)
    for row, members in zip(table, lists, strict=True):
        row[members] = 1
    return table


def sets_of(table: Array) -> list[frozenset[int]]:
    """Return the focal sets of a 0/1 table (f, k)."""
    if table.ndim != 2 or table.dtype.kind not in "biuf" or not np.isin(table, (0, 1)).all():
        raise InputError(
            "`focal_sets`",
            "must be a table (focal sets, classes) of 0 and 1",
            f"got {described({'focal_sets': table})}",
            "Put a 1 where the class belongs to the set.",
        )
    return [frozenset(np.flatnonzero(row).tolist()) for row in table]


def _of_probs(probs: Array, weights: Array | None = None) -> Predictions:
    if probs.ndim == 3:
        return Ensemble(probs, weights=weights, member_axis=1)
    if probs.ndim == 1 or probs.shape[1:] == (1,):
        return from_binary_scores(probs)
    return Point(probs)


def _of_logits(logits: Array, weights: Array | None = None, *, raw: bool = False) -> Predictions:
    needed = 8 * int(logits.size)
    if isinstance(logits, np.memmap) and needed > load_limit():
        raise FileError(
            "`logits`",
            f"must have probabilities that fit into half of the memory ({readable_size(load_limit())})",
            f"they take {readable_size(needed)}",
            "Save the probabilities themselves as .npy, which stay on disk.",
        )
    if logits.ndim == 3:
        return Ensemble.from_logits(logits, weights=weights, member_axis=1, raw=raw)
    return Point.from_logits(logits, raw=raw)


def _of_alpha(alpha: Array, weights: Array | None = None) -> Predictions:
    return Dirichlet(alpha, member_axis=1 if alpha.ndim == 3 else None, weights=weights)


def _of_gaussian(mean: Array, std: Array, weights: Array | None = None) -> Predictions:
    return Gaussian(mean, std, member_axis=1 if mean.ndim == 2 else None, weights=weights)


def _of_samples(samples: Array) -> Predictions:
    return Samples(samples, member_axis=1)


def _of_beliefs(beliefs: Array, focal_sets: Array) -> Predictions:
    return Belief.from_beliefs(beliefs, sets_of(focal_sets), n_classes=focal_sets.shape[-1])


def _of_masses(masses: Array, focal_sets: Array) -> Predictions:
    return Belief(masses, sets_of(focal_sets), focal_sets.shape[-1])


def _of_sets(sets: Array, claimed: Array) -> Predictions:
    return PredictionSets(sets, _one_claim(claimed))


def _of_lists(logprobs: Array, others: Array) -> Predictions:
    """Return sets of lists of options; NaN in all of `others` says that the options are all there is."""
    return Intervals.from_top_logprobs(logprobs, others=None if np.isnan(others).all() else others)


def _of_ends(lower: Array, upper: Array, claimed: Array) -> Predictions:
    return PredictionIntervals(lower, upper, _one_claim(claimed))


def _one_claim(claimed: Array) -> float:
    """Return the one coverage that a file claims, also where a column repeats it."""
    every = np.unique(np.asarray(claimed, dtype=np.float64))
    if every.size != 1:
        raise InputError(
            "`claimed`",
            "must be one number for all instances",
            f"got {every.size} from {every.min():.6g} to {every.max():.6g}",
            "Save the sets of each claim in a separate file.",
        )
    return float(every[0])


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of prediction.

    Attributes
    ----------
    fields : dict of str to str
        The roles that make it up, the one that names the kind in a file first, and the attributes of the
        predictions that play them.
    make : callable
        Takes the arrays in this order, and returns predictions that checked themselves.
    types : tuple of type
        The predictions that are saved as this kind.
    axes_with_members : int or None
        Of the leading array.
    """

    fields: dict[str, str]
    make: Callable[..., Predictions]
    types: tuple[type[Predictions], ...] = ()
    axes_with_members: int | None = None

    @property
    def leading(self) -> str:
        """The role that names the kind in a file."""
        return next(iter(self.fields))


KINDS: dict[str, Kind] = {
    "probs": Kind({"probs": "probs"}, _of_probs, (Point, Ensemble), axes_with_members=3),
    "logits": Kind({"logits": "logits"}, _of_logits, axes_with_members=3),
    "alpha": Kind({"alpha": "alpha"}, _of_alpha, (Dirichlet,), axes_with_members=3),
    "belief": Kind({"beliefs": "beliefs", "focal_sets": "focal_sets"}, _of_beliefs),
    "mass": Kind({"masses": "masses", "focal_sets": "focal_sets"}, _of_masses, (Belief,)),
    "intervals": Kind({"lower": "lower", "upper": "upper"}, Intervals, (Intervals,)),
    "gaussian": Kind({"mean": "mean", "std": "std"}, _of_gaussian, (Gaussian,), axes_with_members=2),
    "samples": Kind({"samples": "values"}, _of_samples, (Samples,), axes_with_members=3),
    "quantiles": Kind({"values": "values", "levels": "levels"}, Quantiles, (Quantiles,)),
    "prediction-sets": Kind({"sets": "members", "claimed": "claimed"}, _of_sets, (PredictionSets,)),
    "prediction-intervals": Kind(
        {"lower_end": "lower", "upper_end": "upper", "claimed": "claimed"}, _of_ends, (PredictionIntervals,)
    ),
    "confidence": Kind({"stated": "stated"}, Confidence, (Confidence,)),
    "top-logprobs": Kind({"top_logprobs": "top_logprobs", "others": "others"}, _of_lists),
    "counts": Kind({"counts": "counts"}, LabelCounts, (LabelCounts,)),
}

RAW_LOGITS = "raw-logits"
"""Treat rows that look like probabilities as logits."""
LENGTH = "length-normalised"
"""Divide the log-likelihoods of answers in a log by their lengths."""
KIND_NAMES = (*KINDS, RAW_LOGITS, LENGTH)

FIELDS = frozenset(field for kind in KINDS.values() for field in kind.fields)
"""Roles that make up predictions."""
BESIDE = tuple(
    name
    for name, role in ROLES.items()
    if name not in FIELDS and role.per != "line" and role.becomes not in FIELDS
)
"""Roles of arrays that stand beside the predictions."""


@dataclasses.dataclass(frozen=True)
class ReadOptions:
    """What the user says about a file, beside what it says itself; see `load` for the meaning of each."""

    kind: str | None = None
    labels: Any = None
    member_axis: int | None = None
    drop_invalid: bool = False
    normalise: bool = False
    columns: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    ignore_label: Any = None
    n_raters: int | None = None
    id: str | None = None
    classes: Sequence[str] | None = None
    levels: Sequence[float] | None = None
    clusters: str | None = None
    groups: Sequence[str] | None = None
    claimed: float | None = None
    member_weights: Sequence[float] | None = None
    words: Mapping[str, float | None] | None = None

    def __post_init__(self) -> None:
        if self.kind is not None:
            one_of("`kind`", self.kind, KIND_NAMES)
        remedy = "Give ids themselves to the function that computes: `evaluate(data, clusters=ids)`."
        names = isinstance(self.clusters, str | None)
        require_type(names, "must name a column or array of the file", remedy, clusters=self.clusters)
        for name in ("columns", "exclude", "classes", "levels", "groups"):
            value = getattr(self, name)
            listed = isinstance(value, Sequence | None) and not isinstance(value, str)
            require_type(listed, "must be a list", "Write it in brackets.", **{name: value})

    @property
    def of_files_only(self) -> list[str]:
        """The options that were given and mean nothing for arrays."""
        shared = ("kind", "labels", "member_axis", "member_weights")
        names = [field for field in dataclasses.fields(self) if field.name not in shared]
        return [field.name for field in names if getattr(self, field.name) is not field.default]

    @property
    def plain_kind(self) -> str | None:
        """The kind in the table of kinds."""
        return {RAW_LOGITS: "logits", LENGTH: None}.get(self.kind, self.kind)  # type: ignore[arg-type]


@dataclasses.dataclass
class Content:
    """Arrays by name with what is known of the file: as it was read, and, once `kind` is set, by their roles.

    `lone` names the one array whose meaning the file does not say; `headerless` tells that its columns
    have no names either, so that one of them may be the label. `paths` are the files that were read. `table`
    holds the columns of a table until their roles are found, `index` the names of its rows where it is a data
    frame. `named_by` tells who named the classes: "columns", which have an order, "lines", which have none,
    or None where they were named in their order. `label_columns` names the columns of labels with several,
    `label_order` is the order of the classes that the user said, `positive` the class of the only column,
    `clusters_found` whether a column tells which rows belong together. `attributes` are the columns that the
    user names as groups, `rest` those of a table that mean nothing here. `variables` are the arrays of each
    variable of a posterior, with notes, until one of them is chosen; `log` holds the questions of a log until
    they are laid out, and `left_out` has the ids of those that say too little.
    """

    format: str
    arrays: dict[str, Array]
    table: dict[str, Array] | None = None
    index: Any = None
    named_by: str | None = None
    label_columns: tuple[str, ...] | None = None
    label_order: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    meta: dict[str, Any] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    member_axis: int | None = None
    lone: str | None = None
    headerless: bool = False
    kind: str | None = None
    id_name: str | None = None
    positive: str | None = None
    feature_names: tuple[str, ...] | None = None
    clusters_found: bool = False
    source: str = ""
    paths: list[str] = dataclasses.field(default_factory=list)
    attributes: dict[str, Array] = dataclasses.field(default_factory=dict)
    variables: dict[str, tuple[dict[str, Array], tuple[str, ...]]] = dataclasses.field(default_factory=dict)
    rest: dict[str, Array] = dataclasses.field(default_factory=dict)
    log: Any = None
    left_out: frozenset[str] = frozenset()

    @property
    def counts_rows(self) -> bool:
        """Whether the ids are an index, which counts rows and need not name them."""
        return self.id_name is not None and self.id_name.lower() in ROW_NUMBERS

    @property
    def leading(self) -> Array:
        """The array that leads the predictions."""
        return self.arrays[KINDS[str(self.kind)].leading]

    @property
    def n(self) -> int:
        """Number of instances."""
        return int(self.leading.shape[0])

    @property
    def has_members(self) -> bool:
        """Whether the predictions have an axis of members."""
        return bool(self.leading.ndim == KINDS[str(self.kind)].axes_with_members)

    @property
    def rows(self) -> dict[str, Array]:
        """The arrays with an entry per instance."""
        return {
            name: array
            for name, array in self.arrays.items()
            if name in self.attributes
            or ROLES[name].per == "instance"
            or (name == "member_weights" and array.ndim == 2)
        }

    def keep(self, rows: Array) -> None:
        """Keep some instances in every array."""
        self.arrays |= {name: array[rows] for name, array in self.rows.items()}
        self.attributes = {name: array[rows] for name, array in self.attributes.items()}
        self.rest = {name: array[rows] for name, array in self.rest.items() if len(array) == len(rows)}

    def note(self, *notes: str) -> None:
        """Add each note once: rows that are dropped make some things be read again."""
        self.notes += [note for note in dict.fromkeys(notes) if note not in self.notes]

    def set_aside(self, name: str, value: Any) -> bool:
        """Put `classes`, `meta` and `member_axis`, which are not arrays over rows, where they belong."""
        match name, value:
            case "classes", list():
                self.classes = tuple(str(word) for word in value)
            case "meta", dict():
                self.meta = {**self.meta, **{str(key): item for key, item in value.items()}}
            case "member_axis", 0 | 1:
                self.member_axis = int(value)
            case _:
                return False
        return True
