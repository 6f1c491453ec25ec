"""One row per option: flag, what follows it, help, the keyword of the library, how it is read and completed.

`load`, the recorded command, the command that a report suggests, completion and the words of errors read the
same row. A verb names the rows it has (`verbs.py`); rows that stand in one tuple belong together there.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from credibly._arrays.errors import InputError

FORMATS = ("npz", "npy", "csv", "tsv", "json", "jsonl", "eval", "parquet", "pt", "netCDF")
FILE_ENDINGS = ("npz", "npy", "csv", "tsv", "parquet")
"""Endings of the files that `convert` writes."""
KINDS = (
    "probs",
    "logits",
    "alpha",
    "belief",
    "mass",
    "intervals",
    "gaussian",
    "samples",
    "quantiles",
    "prediction-sets",
    "prediction-intervals",
    "confidence",
    "top-logprobs",
    "counts",
    "raw-logits",
    "length-normalised",
)
MEASURES = ("hartley", "dubois_prade", "koerner", "entropy_gap", "credal_size", "u65", "u80")
METHODS = (
    "temperature, bias, platt (or sigmoid), curve, isotonic, beta, vector, matrix, noise, order, venn_abers, "
    "members, alpha, ignorance, credal; for real values shift, scale, shift+scale, linear, linear+scale, "
    "spread, tails, skew, isotonic, levels, relative_levels, scale_by_features; join "
    "with + to apply one after the other"
)

FILE = "FILE"
"""What completes to names of files."""

Names = Callable[[], Iterable[str]] | str
"""How values complete: a function that lists them, or `FILE`."""


def names(text: str) -> list[str]:
    """Return names that are separated by commas; one with a comma in it stands in quotes."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def numbers(text: str) -> list[float]:
    """Return numbers that are separated by commas."""
    return [float(word) for word in names(text)]


def meanings(text: str) -> dict[str, float | None]:
    """Return words and their probabilities, likely=0.7,no idea=none; a word may mean that there is none."""
    pairs = [word.partition("=") for word in names(text)]
    return {
        word.strip(): None if number.strip().casefold() == "none" else float(number)
        for word, _, number in pairs
    }


_READS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("N", "K", "0|1"), int),
    **dict.fromkeys(("SHARE", "SECONDS", "X"), float),
    "A,B,...": names,
    "X,Y,...": numbers,
}
"""How what follows a flag is read, by what the help calls it; as text, if it is not here."""


def written(value: Any) -> str:
    """Return a value as it is typed."""
    if isinstance(value, dict):
        value = [f"{word}={'none' if number is None else number}" for word, number in value.items()]
    if not isinstance(value, (list, tuple)):
        return str(value)
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()


def listed(room: str, name: str) -> Callable[[], Iterable[str]]:
    """Return what lists the names that a room knows; it is loaded when somebody asks."""

    def known() -> Iterable[str]:
        values: Any = getattr(import_module(f"credibly.{room}"), name)
        return tuple(values() if callable(values) else values)

    return known


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of the command line.

    Attributes
    ----------
    flag : str
        What is typed.
    metavar : str or None
        What follows it; None for a switch.
    help : str
        What it does.
    keyword : str
        The keyword of the library, if it is not called like the flag.
    default : object
        What holds if it is not typed; None if the library decides.
    read : callable, optional
        From what is typed to the value, if what follows the flag does not say it.
    example : str
        A value, for those who typed one that cannot be read.
    choices : tuple of str
        The only values, if there are few.
    known : callable or str, optional
        Values that are offered with Tab.
    many : bool
        Whether it can be typed several times.
    least : int, optional
        The smallest value.
    short : str
        A short form of the flag.
    off : str
        The flag that says the contrary.
    about : str
        Heading in the help.
    """

    flag: str
    metavar: str | None
    help: str
    keyword: str = ""
    default: Any = None
    read: Callable[[str], Any] | None = None
    example: str = ""
    choices: tuple[str, ...] = ()
    known: Names | None = None
    many: bool = False
    least: int | None = None
    short: str = ""
    off: str = ""
    about: str = "Numbers and tests"

    @property
    def name(self) -> str:
        """The keyword of the library."""
        return self.keyword or self.flag[2:].replace("-", "_")

    @property
    def reads(self) -> Callable[[str], Any]:
        """What makes a value of what is typed."""
        return self.read or _READS.get(self.metavar or "", str)

    @property
    def is_switch(self) -> bool:
        """Whether nothing follows the flag."""
        return self.metavar is None

    def value(self, text: str) -> Any:
        """Read what was typed."""
        try:
            return self.reads(text)
        except ValueError:
            raise InputError(
                f"`{self.flag}`", "must be numbers", f"got {text!r}", f"Write `{self.flag} {self.example}`."
            ) from None

    def words(self, value: Any) -> list[str]:
        """Return flag and value as they are typed; nothing where there is no value."""
        if value is None or (value is False and not self.off):
            return []
        if self.is_switch:
            return [self.flag if value else self.off]
        return [word for item in (value if self.many else [value]) for word in (self.flag, written(item))]

    def but(self, **changes: Any) -> Option:
        """Return the option as another verb has it."""
        return dataclasses.replace(self, **changes)


def _choice(flag: str, choices: str, text: str, **more: Any) -> Option:
    return Option(flag, choices, text, choices=tuple(choices.split("|")), **more)


def _under(heading: str, *rows: Option) -> tuple[Option, ...]:
    return tuple(row.but(about=heading) for row in rows)


# ------------------------------------------------------------------------------------------- reading files

ALONE = _under(
    "Reading the file",
    Option(
        "--labels", "FILE|NAME", "File with the labels, or the array or column that holds them.", known=FILE
    ),
    Option(
        "--kind",
        "KIND",
        f"What the numbers are, if the file does not say: {', '.join(KINDS)}.",
        known=lambda: KINDS,
    ),
    Option("--member-axis", "0|1", "Axis of the members: 1 for (n, m, k), 0 for (m, n, k)."),
    Option("--normalise", None, "Rescale rows whose sum differs from 1 (or 100 %) only by rounding."),
    Option("--columns", "A,B,...", "Columns that hold the classes, in order."),
    Option("--exclude", "A,B,...", "Columns to ignore."),
    Option("--ignore-label", "VALUE", "Label value that marks unlabelled rows, such as -1 or 255."),
    Option("--n-raters", "N", "Number of raters behind soft labels."),
    Option("--id", "NAME", "Column or array that names the instances."),
    Option("--classes", "A,B,...", "Names of the classes, in the order of integer labels."),
    Option(
        "--levels",
        "X,Y,...",
        "Levels of quantiles, or of lower and upper bounds.",
        example="0.05,0.95",
    ),
    Option(
        "--member-weights",
        "X,Y,...",
        "Weights of the members; they sum to 1.",
        example="0.5,0.3,0.2",
    ),
)
"""How a file is read whose rows are taken as independent."""
LABELS = ALONE[0]
DROP_INVALID, CLAIMED, WORDS = _under(
    "Reading the file",
    Option("--drop-invalid", None, "Skip invalid rows, and report how many, instead of stopping."),
    Option(
        "--claimed",
        "SHARE",
        "Share of labels that prediction sets, or intervals from lower to upper, claim to contain.",
    ),
    Option(
        "--words",
        "WORD=P,...",
        "Probabilities of words that state a confidence: likely=0.7,doubtful=0.2; `none` marks a refusal.",
        read=meanings,
        example="likely=0.7,doubtful=0.2",
    ),
)
CLUSTERS, BLOCKS, BY = _under(
    "Rows that belong together",
    Option(
        "--clusters",
        "NAME",
        "Column or array that says which rows belong together, such as the patient; `copies`: rows with the "
        "same predictions and label.",
    ),
    Option(
        "--blocks",
        "N",
        "Rows are in time order: blocks of N consecutive rows belong together. With `--clusters store`, "
        "blocks of N consecutive rows of each store.",
    ),
    Option(
        "--by",
        "A,B,...",
        "Columns or arrays with attributes that form groups: age,sex,site.",
        keyword="groups",
    ),
)
ROWS = (*ALONE, DROP_INVALID, CLUSTERS, BLOCKS)
READING = (*ROWS, BY, CLAIMED, WORDS)
"""All that can be said about a file: the keywords of `load`, and blocks of rows."""

CHUNKS = _under(
    "Large files",
    Option(
        "--stream",
        None,
        "Read rows in chunks (always on for patterns and .npy files above the memory limit).",
    ),
    Option("--chunk-rows", "N", "Rows per chunk of an .npy file."),
    Option("--skip-bad-shards", None, "Skip files that cannot be read, and report how many."),
)
WORKERS = _under(
    "Large files",
    _choice("--engine", "local|dask", "Run on this machine or on Dask workers.  [default: local]"),
    Option("--scheduler", "ADDRESS", "Address of the Dask scheduler, with `--engine dask`."),
)
STREAMING = (*CHUNKS, *WORKERS)

# ------------------------------------------------------------------------------------------ what is computed

STATISTIC = Option(
    "--statistic",
    "NAME",
    "Statistic to use; repeat for several (`credibly list`).",
    keyword="statistics",
    many=True,
    known=listed("statistics", "registered"),
)
N_RESAMPLES = Option(
    "--n-resamples",
    "N",
    "Number of replicates for each test; too few to show a conflict are raised.",
    default=999,
)
N_BINS = Option("--n-bins", "N", "Number of bins for binned statistics.", default=15)
SEED = Option(
    "--seed", "N", "Seed; the same seed gives the same p-values.", keyword="rng", default=0, least=0
)
DRAWS = (N_RESAMPLES, N_BINS, SEED)
DEFAULT_MARGIN = 0.02
MARGIN = Option(
    "--margin",
    "SHARE",
    "Gap between stated and observed shares that does not matter: 0.02 is two points.  [default: 0.02]",
)
RELATIVE_MARGIN = Option(
    "--relative-margin",
    "SHARE",
    "For two classes, instead of `--margin`: a share of the stated frequency of the event; 0.2 of an event "
    "that is stated in 5 % is a margin of one point.",
)
METHOD = Option(
    "--method",
    "NAME",
    f"What to fit: {METHODS}. Default: the repair that the report's headline advises.",
    known=listed("recalibrate.files", "NAMED"),
)
METHODS_TRIED = METHOD.but(
    keyword="methods",
    help=f"What to compare; repeat for several: {METHODS}. Default: the repairs that a report tries.",
    many=True,
)
RECALIBRATE = METHOD.but(
    flag="--recalibrate", help=f"Recalibration to try; repeat for several: {METHODS}.", many=True
)
FOLDS = Option("--folds", "N", "Number of folds; each is held out once.", keyword="cv", default=5)

SETS = _under(
    "Tests of credal sets",
    _choice(
        "--method",
        "both|witness|weights",
        "For credal sets: test whether the set contains the truth (witness), search for weights of a "
        "calibrated combination, or both.  [default: weights if an option of weights is given, else both]",
    ),
    _choice(
        "--given",
        "predictions|features",
        "What the witness may use (with `--method witness`); features make the tested claim stronger.  "
        "[default: predictions]",
    ),
    _choice(
        "--weights",
        "learned|constant|mean",
        "For credal sets: which combinations of members to search; `mean` tests only the average.  "
        "[default: learned]",
    ),
    Option(
        "--learner",
        "NAME",
        "Method that learns the weights (with `--weights learned`).",
        known=listed("hypotests.credal.weights_test", "LEARNERS"),
    ),
    Option("--refit", None, "Learn the weights again for every replicate, or not.", off="--no-refit"),
    Option("--split", "SHARE", "Share of the instances used to learn the weights."),
    Option("--cv", "K", "Use K-fold cross-fitting instead of a single `--split`."),
)
TESTED_MARGIN = MARGIN.but(
    help="Test instead whether the error of the (average) prediction is smaller than this: 0.02 is two "
    "points. For two classes, also of the probability of the event."
)
TEST_RESAMPLES = N_RESAMPLES.but(
    help="Number of replicates.  [default: 199 if weights are refitted, else 999]", default=None
)

AIMS = (
    Option("--width", "SHARE", "Width of the interval, end to end: 0.04 is 4 points."),
    Option("--gap", "SHARE", "Average gap that a calibration test should detect."),
    MARGIN.but(help="Margin within which `credibly test` should place a calibrated model."),
    Option("--power", "SHARE", "Probability of reaching the aim.", default=0.8),
)
CHECK_HYPOTHESIS = _choice(
    "--hypothesis",
    "both|bayesian|independent",
    "Hypothesis: one member drew all labels (bayesian), or the mean drew each label (independent).  "
    "[default: both, if there are members]",
)
CHECK_POWER = _choice(
    "--power", "temperature|bias", "Also report the smallest distortion the check would detect."
)
AUDITED = _under(
    "Groups",
    Option("--depth", "N", "Maximum number of attributes that define a group.", default=2),
    Option("--n-quantiles", "N", "Number of parts that numeric attributes are split into.", default=4),
    Option(
        "--min-size",
        "N",
        "Minimum number of rows in a group; rarer levels of an attribute are merged.",
        default=20,
    ),
    _choice(
        "--hypothesis",
        "mean|set",
        "For credal sets: test the mean, or allow any distribution in the set.  [default: set for intervals "
        "and beliefs, else mean]",
    ),
)
AUDIT_MARGIN = MARGIN.but(
    help="Also say which groups are not shown to be within this gap: 0.05 is five points."
)
RATER_WEIGHTS = _choice(
    "--weights", "instances|raters", "Weight each instance equally, or each label.", default="instances"
)
TRADEOFF = Option(
    "--tradeoff",
    "X",
    "Cost of imprecision, 0 to inf; repeat for several.",
    keyword="tradeoffs",
    default=(0.0, 0.1, 0.5, 1.0, 2.0),
    many=True,
)
MEASURE = Option(
    "--measure",
    "NAME",
    f"Imprecision: {', '.join(MEASURES[:-1])} or {MEASURES[-1]}.",
    known=lambda: MEASURES,
)
MODEL = Option(
    "--model",
    "NAME",
    "Which of the bundled models to evaluate.",
    default="forest",
    known=listed("io.bundled", "demo_models"),
)
SIZE = _choice(
    "--size",
    "small|full",
    "Small for a quick check, full to reproduce the published numbers.",
    default="small",
)
PROCESSES = Option("--workers", "N", "Number of processes; does not change the results.", default=1)

# --------------------------------------------------------------------------------------------------- output

OUT, FORCE, FAIL_ON, JSON, QUIET = _under(
    "Output",
    Option("--out", "FILE", "Report file. [default: next to the predictions]", read=Path, known=FILE),
    Option("--force", None, "Replace an existing file.", keyword="overwrite"),
    _choice(
        "--fail-on",
        "conflict|not-shown",
        "Exit with code 1 if there is a conflict (a right model: in at most 5 % of data sets); `not-shown` "
        "also if the data do not show that the error is within the margin you give.",
    ),
    Option("--json", None, "Print everything as JSON."),
    Option("--quiet", None, "Print the result only: no notes, no progress.", short="-q"),
)
PRINTED = (JSON, QUIET)

LEVEL = Option("--level", "SHARE", "Largest probability of ever raising a false alarm.  [default: 0.05]")
MONITORED = (
    _choice(
        "--hypothesis",
        "independent|bayesian|set",
        "What labels are compared with: the (average) prediction, one member that draws all labels, or any "
        "distribution in the set.  [default: set for intervals and beliefs, else independent]",
    ),
)
STATE, METRICS, FOLLOW, EVERY = _under(
    "Watching a file",
    Option(
        "--state",
        "FILE",
        "JSON file with what is known so far. The first run makes it; later runs read only new rows.",
        read=Path,
        known=FILE,
    ),
    Option("--metrics", "FILE", "Also write the numbers as Prometheus text.", read=Path, known=FILE),
    Option(
        "--follow", None, "Keep watching the file until Ctrl-C, or until an alarm with `--fail-on alarm`."
    ),
    Option("--every", "SECONDS", "Seconds between two looks, with `--follow`.", default=5.0),
)
FAIL_ON_ALARM = _choice(
    "--fail-on", "alarm", "Exit with code 1 after an alarm, now or in an earlier run.", about="Output"
)
