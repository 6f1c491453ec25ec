"""The verbs of the program: where each is, what it says of itself, its arguments and its options."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from credibly.calls import options as o
from credibly.calls.options import Option


@dataclasses.dataclass(frozen=True)
class Argument:
    """What is typed without a flag; `ends` are endings of file names that are offered with Tab."""

    name: str
    metavar: str
    help: str
    read: Callable[[str], Any] = str
    many: bool = False
    ends: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Verb:
    """A verb of the program.

    Attributes
    ----------
    home : str
        Module of the command line and function in it; loaded when the verb runs.
    summary : str
        What it does, in one line.
    example : str
        A command that runs.
    options : tuple of Option
        What can be typed, apart from `--json`, `--quiet` and `--help`, which all have.
    first : tuple of str
        Flags that most people need; the help shows them before all others.
    text : str
        More about it.
    arguments : tuple of Argument
        What is typed without a flag.
    """

    home: str
    summary: str
    example: str
    options: tuple[Option, ...]
    first: tuple[str, ...] = ()
    text: str = ""
    arguments: tuple[Argument, ...] = ()

    @property
    def rows(self) -> tuple[Option, ...]:
        """All options."""
        return (*self.options, *o.PRINTED)

    def takes(self, keyword: str) -> bool:
        """Tell whether it has an option of this keyword."""
        return any(row.name == keyword for row in self.rows)


_FORMATS = ", ".join(o.FORMATS)
FILE = Argument(
    "file", "FILE", f"Predictions: {_FORMATS}; a pattern in quotes, a URL, or - for standard input."
)
NEW_FILE = Argument("out", "OUT", "New file; its extension is the format.", Path, ends=o.FILE_ENDINGS)

VERBS = {
    "inspect": Verb(
        "files:inspect_files",
        "Show shapes, kind, axes and problems, and what can be computed.",
        "credibly inspect predictions.npz other.csv",
        (*o.ALONE, o.CLUSTERS, o.BLOCKS, o.CLAIMED, o.WORDS),
        ("--labels", "--kind", "--columns", "--exclude", "--classes", "--json"),
        "Exits with 2 where a file has problems.",
        (Argument("files", "FILE...", "One or more files to inspect.", many=True),),
    ),
    "evaluate": Verb(
        "numbers:evaluate_file",
        "Findings, and all numbers with intervals.",
        "credibly evaluate predictions.npy --labels labels.npy",
        (
            *o.READING,
            *o.STREAMING,
            o.STATISTIC,
            o.MARGIN,
            o.RELATIVE_MARGIN,
            *o.DRAWS,
            o.FAIL_ON,
        ),
        ("--labels", "--by", "--clusters", "--statistic", "--margin", "--json"),
        arguments=(FILE,),
    ),
    "test": Verb(
        "testing:test_file",
        "Test calibration: could chance explain the gap?",
        "credibly test predictions.npz --statistic brier --statistic confidence_ece",
        (
            *o.ROWS,
            *o.STREAMING,
            o.STATISTIC,
            *o.SETS,
            o.TESTED_MARGIN,
            o.RELATIVE_MARGIN,
            o.TEST_RESAMPLES,
            o.N_BINS,
            o.SEED,
            o.FAIL_ON,
        ),
        ("--labels", "--clusters", "--statistic", "--margin", "--fail-on", "--json"),
        "Could the labels have been drawn from the predictions? For credal sets: does the set contain the "
        "true probabilities, and is some combination of its members calibrated? With labels from several "
        "raters: could they come from a distribution in the set, instance by instance? Several statistics "
        "share their replicates and also give one joint p-value, besides their adjusted ones. With "
        "`--margin`: do the data show that the calibration error is smaller than that?",
        (FILE,),
    ),
    "plan": Verb(
        "testing:plan_file",
        "Say how many labels are needed, from predictions alone.",
        "credibly plan predictions.npz --margin 0.02",
        (*o.ALONE, o.DROP_INVALID, *o.AIMS),
        ("--gap", "--margin", "--width", "--power", "--kind", "--json"),
        "Aims: a narrow enough interval for the average gap between confidence and accuracy, a test that "
        "detects a gap, or a certificate that a calibrated model is within a margin. Labels in the file are "
        "ignored. The default is a gap and a margin of 0.02.",
        (FILE,),
    ),
    "check": Verb(
        "predictive_checks:check_file",
        "Posterior predictive checks.",
        "credibly check predictions.npz --statistic accuracy --statistic brier",
        (
            *o.ROWS,
            *o.STREAMING,
            o.STATISTIC,
            o.CHECK_HYPOTHESIS,
            o.CHECK_POWER,
            *o.DRAWS,
            o.FAIL_ON,
        ),
        ("--labels", "--statistic", "--hypothesis", "--power", "--fail-on", "--json"),
        "Would the model itself have expected these statistics? Groups in the file are checked too, with "
        "p-values adjusted for all of them.",
        (FILE,),
    ),
    "audit": Verb(
        "auditing:audit_file",
        "Is it calibrated for everyone? Audit all groups.",
        "credibly audit patients.csv --by age,sex,site",
        (
            o.BY,
            *o.ROWS,
            *o.STREAMING,
            *o.AUDITED,
            o.N_RESAMPLES,
            o.AUDIT_MARGIN,
            o.SEED,
            o.FAIL_ON,
        ),
        ("--by", "--labels", "--clusters", "--depth", "--margin", "--fail-on"),
        "Looks at every group that the attributes form, alone and together, and adjusts p-values for all "
        "groups. On a terminal it shows only the groups that are off and that no other group explains; pipes "
        "and JSON get all groups.",
        (FILE,),
    ),
    "monitor": Verb(
        "monitoring:monitor_file",
        "Is it still right? Watch a growing file.",
        "credibly monitor patients.csv --by age,sex,site --state state.json --fail-on alarm",
        (
            *o.ALONE,
            o.DROP_INVALID,
            o.CLUSTERS,
            o.BY,
            o.CLAIMED,
            o.STATE,
            o.METRICS,
            o.FOLLOW,
            o.EVERY,
            o.LEVEL,
            *o.MONITORED,
            o.OUT.but(help="Also write a page with the evidence over time."),
            o.FORCE,
            o.FAIL_ON_ALARM,
        ),
        ("--state", "--labels", "--clusters", "--follow", "--metrics", "--fail-on"),
        "You may look at any time: while the stated probabilities are right, the probability of ever raising "
        "an alarm is at most `--level`. Append a row when its label is known. Rows whose labels depend on "
        "each other need `--clusters`, and a cluster must be written as a whole.",
        (
            Argument(
                "file", "FILE", f"Predictions with labels, to which rows are appended: {_FORMATS}; or - once."
            ),
        ),
    ),
    "raters": Verb(
        "raters:raters_file",
        "Loss, disagreement, stated ignorance and agreement when there are several raters.",
        "credibly raters rated.npz",
        (*o.ROWS, *o.STREAMING, o.N_BINS, o.RATER_WEIGHTS, o.N_RESAMPLES, o.SEED),
        ("--labels", "--n-raters", "--kind", "--clusters", "--weights", "--json"),
        "Expected loss = epistemic + irreducible; epistemic = calibration + dispersion. Members and "
        "Dirichlets state how ignorant they are, which pairs of labels test; labels with their raters show "
        "agreement.",
        (FILE,),
    ),
    "compare": Verb(
        "comparing:compare_files",
        "Compare models: faults, ranking, ties, paired differences.",
        "credibly compare predictions.npz members.npz",
        (
            *o.ROWS,
            *o.STREAMING,
            o.TRADEOFF,
            o.MEASURE,
            o.STATISTIC,
            o.N_RESAMPLES.but(help="Bootstrap draws of instances.", default=1000),
            o.N_BINS.but(help="Number of bins of the ECE.  [default: 15]", default=None),
            o.SEED,
            o.OUT.but(help="Also write the comparison as an HTML file."),
            o.FORCE,
        ),
        ("--labels", "--clusters", "--statistic", "--tradeoff", "--out", "--json"),
        "The model with the smallest log loss is the one that others' calibration errors are compared with. "
        "Mean score = distance to the labels + trade-off x imprecision; smaller is better. Every set is also "
        "ranked by its mean, as NAME Avg. Real values are ranked by CRPS, interval score and log loss, or by "
        "--statistic; with it, so are classes (--statistic rps for ordered ones).",
        (
            Argument(
                "files",
                "FILE...",
                "Predictions for the same instances: one file, or one pattern in quotes, per model.",
                many=True,
            ),
        ),
    ),
    "report": Verb(
        "reports:report_files",
        "One self-contained HTML file: verdicts, numbers, figures.",
        "credibly report predictions.npz --out report.html",
        (
            *o.READING,
            *o.STREAMING,
            o.OUT,
            o.FORCE,
            o.STATISTIC,
            o.RECALIBRATE,
            o.MARGIN,
            o.RELATIVE_MARGIN,
            *o.DRAWS,
            o.FAIL_ON,
        ),
        ("--labels", "--by", "--clusters", "--margin", "--out", "--fail-on"),
        "For several files with predictions for the same instances, writes their comparison, as `credibly "
        "compare --out` does.",
        (
            Argument(
                "files",
                "FILE...",
                f"Predictions: {_FORMATS}; a pattern in quotes, or a URL. Several: a comparison.",
                many=True,
            ),
        ),
    ),
    "convert": Verb(
        "files:convert_file",
        "Convert predictions and labels to another format.",
        "credibly convert logits.csv predictions.npz --kind logits",
        (*o.ROWS, o.CLAIMED, o.WORDS, o.FORCE),
        ("--labels", "--kind", "--columns", "--classes", "--drop-invalid", "--force"),
        arguments=(FILE, NEW_FILE),
    ),
    "study": Verb(
        "studies:study_named",
        "Rerun the papers' experiments.",
        "credibly study m23-fig1 --size small --out m23",
        (
            o.SIZE,
            o.OUT.but(metavar="DIR", help="Directory for the results; default: NAME-SIZE."),
            o.FORCE,
            o.PROCESSES,
            *o.WORKERS,
            o.SEED,
        ),
        text="Writes tables, figures, a page and JSON. Run it again to continue after an interruption. Needs "
        "the package credibly-studies.",
        arguments=(Argument("name", "NAME|list", "Name of a study, or `list`."),),
    ),
    "list": Verb(
        "catalogue:list_names",
        "Every statistic, test and measure, with its reference.",
        "credibly list --json",
        (),
    ),
    "demo": Verb(
        "reports:demo",
        "Report on bundled real predictions; no download.",
        "credibly demo --out demo-report.html",
        (
            o.MODEL,
            o.OUT.but(help="Where to write.", default=Path("demo-report.html")),
            o.FORCE,
            o.MARGIN,
            *o.DRAWS,
        ),
    ),
    "calibrate fit": Verb(
        "calibrate:fit_file",
        "Fit a recalibration on predictions and labels.",
        "credibly calibrate fit held-out.npz calibration.json --method vector",
        (*o.ROWS, o.BY, o.METHOD, o.SEED, o.FORCE),
        ("--labels", "--method", "--by", "--clusters", "--kind", "--force"),
        "Without --method, the data are diagnosed and the repair that helps is fitted; with --by, the groups "
        "of that attribute may have a repair of their own. With --by and --method, temperature, bias and "
        "platt (for real values shift and scale) are fitted by group; other methods take groups by a step "
        "that follows, such as curve+platt. Features in the file are used by methods that take them.",
        (FILE, Argument("out", "OUT", "New JSON file for the fitted recalibration.", Path)),
    ),
    "calibrate apply": Verb(
        "calibrate:apply_file",
        "Apply a fitted recalibration to other predictions.",
        "credibly calibrate apply calibration.json predictions.npz recalibrated.npz",
        (*o.ROWS, o.BY, o.FORCE),
        ("--labels", "--by", "--kind", "--columns", "--drop-invalid", "--force"),
        "Labels, features, groups, names and all other columns of the file are kept.",
        (
            Argument("recalibration", "CALIBRATION", "File written by `credibly calibrate fit`.", Path),
            FILE,
            NEW_FILE,
        ),
    ),
    "calibrate compare": Verb(
        "calibrate:compare_file",
        "Compare statistics before and after, on held-out folds.",
        "credibly calibrate compare predictions.npz --method temperature --method matrix",
        (
            *o.ROWS,
            o.BY,
            o.METHODS_TRIED,
            o.FOLDS,
            o.STATISTIC,
            *o.DRAWS,
        ),
        ("--labels", "--method", "--statistic", "--by", "--clusters", "--json"),
        "Differences are paired by instance; p-values come from the calibration tests, adjusted for all of "
        "them.",
        (FILE,),
    ),
}
"""Every verb under the words that call it."""

GROUPS = {"calibrate": "Fit, apply and compare recalibrations."}
"""Words that several verbs begin with, and what those do."""
