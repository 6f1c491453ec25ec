"""`credibly audit`: groups for which the predictions are off, with p-values that hold for all of them."""

from __future__ import annotations

from credibly.calls.options import AUDITED, N_RESAMPLES, SEED
from credibly.cli.numbers import LEVEL, leave, require_gate
from credibly.cli.output import Output, TextTable, progress, rounded, row_of, stage, with_flags
from credibly.cli.reading import Typed, opened
from credibly.hypotests import audit
from credibly.results.audit import AuditGroup, AuditResult
from credibly.results.base import jsonable

COLUMNS = (
    "group",
    "measure",
    "n",
    "observed",
    "expected",
    "effect",
    "interval",
    "pvalue",
    "adjusted_pvalue",
    "detectable",
    "verdict",
    "explained_by",
)


def audit_file(typed: Typed, output: Output) -> None:
    """Is it calibrated for everyone? Audit all groups."""
    require_gate(typed)
    margin = typed.margin
    with opened(typed.file, typed, output) as data, progress(quiet=output.quiet) as tell:
        whole = data.loaded()
        result = audit(
            *data.arguments,
            groups=None if whole is None else whole.groups,  # chunks bring their own
            **typed.of((*AUDITED, N_RESAMPLES, SEED)),
            level=LEVEL,
            progress=stage(tell, "replicates"),
        )
    open_groups = () if margin is None else result.not_within(margin)
    if output.as_json:
        output.json(result.to_dict() | ({} if margin is None else {"not_within": jsonable(open_groups)}))
    else:
        _show(result, output)
        if margin is not None:
            output.notes([_within(result, open_groups, margin)])
    leave(typed.fail_on, [result.verdict()], shown=not open_groups)


def _within(result: AuditResult, open_groups: tuple[AuditGroup, ...], margin: float) -> str:
    """Say for how many groups the data show that their gap is within the margin."""
    size = f"{100 * margin:g} points"
    if not open_groups:
        return f"all groups are within {size}, 95 % sure"
    most = max(open_groups, key=lambda group: max(-group.low, group.high))
    return (
        f"not shown to be within {size}: {len(open_groups)} of {len(result.groups)} groups and measures; the "
        f"gap of {most.group} could be {100 * max(-most.low, most.high):.1f} points"
    )


def _show(result: AuditResult, output: Output) -> None:
    if output.terminal:
        lines = ((f"{group.group} (n = {group.n})", _group_line(group)) for group in result.findings)
        output.pairs([(result.verdict(), result.headline), *lines])
    else:
        rows = [row_of(COLUMNS, group, interval=(group.low, group.high)) for group in result.groups]
        output.table(TextTable(COLUMNS, rows))
    output.notes(map(with_flags, result.notes))


def _group_line(group: AuditGroup) -> str:
    ends = f"{100 * group.low:+.1f} to {100 * group.high:+.1f} points"
    return f"{group.words} (simultaneous interval {ends}, adjusted p = {rounded(group.adjusted_pvalue)})"
