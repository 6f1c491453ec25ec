"""The section about set predictions: how near the sets are to the labels, and how imprecise they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credibly.evaluation import Evaluation, ScoreParts, shown
from credibly.plots import Table
from credibly.plots.scores import ConfidenceDisplay, ScoreScatterDisplay, ViolinDisplay
from credibly.report.html_parts import MethodNote, ReportFigure, Section, report_figure
from credibly.results.scores import GROUPS, PARTS, EpistemicScore, Spread

METHOD = MethodNote(
    "Unified score",
    "Distance of the label to the nearest distribution of the set, plus the trade-off times how imprecise "
    "the set is. A point has imprecision 0, so its score is its log loss. The score follows the number of "
    "members and the budget of focal sets: compare models at equal ones.",
    "E = -ln upper P(y) + trade-off * sum_A m(A) ln|A|",
    "Manchingal et al., A unified evaluation framework for epistemic predictions, AISTATS 2025.",
)
ANY_METHOD = MethodNote(
    METHOD.name,
    "Distance of the label to the nearest distribution of the set, plus the trade-off times how imprecise "
    "the set is; the head of the page names both. A point has imprecision 0. The score follows the number of "
    "members and the budget of focal sets: compare models at equal ones.",
    "E = min over p in the set of D(label, p) + trade-off * imprecision",
    METHOD.reference,
)
_MARGINS = (0.6, 1.1, 0.1, 0.3)


def score_section(parts: ScoreParts, evaluation: Evaluation) -> Section:
    """Return the section about distance and imprecision."""
    score = parts.score
    rows = {"the set": score}
    if score.average is not None:
        rows["its mean"] = score.average
    both = ("distance", "imprecision")
    return Section(
        anchor="score",
        title="Sets of distributions: near the labels, and how imprecise?",
        finding=_finding(score, parts.n_all),
        tables=(("Mean ± standard deviation over instances", group_table(rows)),),
        figures=(
            *(
                report_figure(
                    ViolinDisplay(score, part),  # type: ignore[arg-type]
                    f"{part.capitalize()} of right and wrong predictions",
                    f"score-{part}",
                    size=(4.4, 4.2),
                    margins=_MARGINS,
                )
                for part in both
            ),
            *_scatter(score),
            report_figure(ConfidenceDisplay(score), "Uncertainty against confidence", "score-confidence"),
        ),
        methods=(METHOD,),
    )


def _scatter(score: EpistemicScore) -> tuple[ReportFigure, ...]:
    if score.n_infinite == score.n:
        return ()  # nothing to draw
    display = ScoreScatterDisplay(score, limit=400)
    return (report_figure(display, "Distance against imprecision", "score-scatter"),)


def group_table(scores: Mapping[str, EpistemicScore]) -> Table:
    """Return mean and standard deviation of every part over all, right and wrong predictions."""
    rows = tuple(
        (name, said, *(cell(score.summary[part][group]) for group in GROUPS))
        for name, score in scores.items()
        for said, part in zip(("distance", "imprecision", "E"), PARTS, strict=True)
    )
    return Table(("prediction", "part", *GROUPS), rows)


def cell(spread: Spread) -> str:
    """Return a mean with its standard deviation as text."""
    if spread.n == 0:
        return "none"
    deviation = "" if spread.std != spread.std else f" ± {shown(spread.std)}"
    return f"{shown(spread.mean)}{deviation}"


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return the choices a score depends on in one sentence."""
    budget = settings.get("budget")
    sets = "all events" if budget is None else f"a budget of {len(budget)} focal sets"
    members = settings.get("members")
    drawn = "" if members is None else f", {members} {'samples' if settings.get('drawn') else 'members'}"
    distance = f"divergence {settings['divergence']}, base {settings['base']}"
    return f"{settings['measure']} on {sets}{drawn}, {distance}"


def _finding(score: EpistemicScore, n_all: int) -> str:
    total, distance, imprecision = (
        score.summary[part]["all"].mean for part in ("total", "distance", "imprecision")
    )
    some = "" if score.n == n_all else f" ({score.n} of {n_all} instances)"
    compared = ""
    if score.average is not None:
        mean = float(score.average)
        compared = f" The mean prediction alone scores {shown(mean)}."
    depends = "".join(f" {one}." for one in score.dependences)
    return (
        f"Score E {shown(total)} at trade-off {score.tradeoff:g}{some}: distance {shown(distance)} plus "
        f"imprecision {shown(imprecision)} ({settings_text(score.settings)}).{compared}{depends}"
    )
