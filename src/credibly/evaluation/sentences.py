"""What is said: one table of cases, each with the sentence that is made of its facts.

A case names what was found; its facts are numbers and names. Nothing here decides anything, and nothing
elsewhere writes these sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from credibly._arrays.notes import capital, counted
from credibly.evaluation import coverage_sentences, verdict_sentences
from credibly.evaluation.effect_sentences import Facts, Written, group_of, measured, range_of, rest_of
from credibly.results.ignorance import ignorance_sentence
from credibly.results.numbers import (
    at_most,
    chance_excluded,
    frequencies,
    instances,
    p_is,
    percent,
    percents,
    points,
    shown,
    shown_range,
    signed,
)


def sentence_of(case: str, facts: Facts) -> str:
    """Return the sentence of a case."""
    write = CASES[case]
    return write.format_map(facts) if isinstance(write, str) else write(facts)


def question_of(about: str, case: str, facts: Facts) -> str:
    """Return the question that a finding answers."""
    return QUESTIONS.get(case, QUESTIONS.get(about, "{question}")).format_map(facts)


def remedy_of(facts: Facts) -> str:
    """Return what would help, and how much; nothing where nothing is known to."""
    return REMEDIES[facts["remedy"]](facts) if "remedy" in facts else ""


QUESTIONS = {
    "headline": "How far can these predictions be believed?",
    "what": "What is wrong, and how much?",
    "calm": "Is anything wrong, and how much?",
    "repairs": "What repairs it?",
    "left": "What is left, and for whom?",
    "every group": "Does this hold for every group?",
    "raters": "How much of the loss is the model's own?",
    "ignorance": "Is its ignorance honest?",
    "errors": "Does it know when it is wrong?",
    "coverage": "Do its intervals contain as many labels as they promise?",
    "where": "Where does it fail?",
    "stated": "Are errors as large as it says?",
    **coverage_sentences.QUESTIONS,
}
"""Of a case, or of all cases about the same; else the facts hold the question."""

# ------------------------------------------------------------------------------------------- the headline


def _fault(leads: tuple[str, str], facts: Facts) -> str:
    """Say the fault, what it is measured by, and what else is known about it."""
    about = f" about {facts['label']}" if facts["label"] else ""
    level = "" if facts["level"] is None else percent(facts["level"])
    is_faint = not facts["is_clear"] and facts["pays"]  # the repair shows what no single size does
    is_told = not facts["part"] and not is_faint  # by the evidence
    where = "" if facts["between"] is None or is_told else f" where it says {range_of(facts)}"
    lead = leads[0 if facts["direction"] >= 0 else 1].format(
        c=facts["label"], about=about, g=group_of(facts), where=where, level=level
    )
    joint = " " if facts["measure"] == "mean" else ": "
    evidence = f"{joint}{measured(facts)}"
    if is_faint:
        evidence = (
            f": its repair lowers the held-out loss by {shown(facts['gain'])} (± {shown(facts['error'])})"
        )
    return f"{lead}{evidence}, {chance_excluded(facts)}.{_size(facts)}{_second(facts)}"


def _size(facts: Facts) -> str:
    if facts["is_small"]:
        relative = " of the frequency of the event" if facts["relative"] else ""
        limit = percent(facts["limit"]) if facts["relative"] else points(facts["limit"])
        return f" Real, but small: less than {limit}{relative}."
    return "" if facts["pays"] else " Real, but too small for a repair to show a benefit in these data."


def _second(facts: Facts) -> str:
    besides, second = facts["besides"], facts["second"]
    part = "" if besides is None else f" With that put right{group_of(besides)}, {measured(besides)}."
    return part if second is None else f"{part} Then, smaller{group_of(second)}: {measured(second)}."


_TOO_SURE = ("Overconfident{g}", "Underconfident{g}")
_TOO_OFTEN = ("Predicts {c} too often{g}", "Predicts {c} too rarely{g}")
_TOO_HIGH = ("Predictions are too high{g}", "Predictions are too low{g}")
_TOO_NARROW = ("Intervals are too narrow{g}", "Intervals are too wide{g}")
_TILTED = (
    "Too extreme (high predictions are too high and low ones too low)",
    "Too timid (high predictions are too low and low ones too high)",
)
_OF_LEVEL = ("The {level} quantile is too high", "The {level} quantile is too low")
FAULTS: dict[str, tuple[str, str]] = {
    "temperature": _TOO_SURE,
    "group temperature": _TOO_SURE,
    "sure of the other class": (
        "Too sure that {c} does not happen{g}",
        "Not sure enough that {c} does not happen{g}",
    ),
    "label noise": (
        "Overconfident, as if some labels were noise",
        "Underconfident, as after training with label smoothing",
    ),
    "bias": _TOO_OFTEN,
    "group bias": _TOO_OFTEN,
    "group bias+temperature": _TOO_OFTEN,
    "vector": _TOO_OFTEN,
    "bias+temperature": ("Too extreme{about}", "Too timid{about}"),
    "curve": ("Too high{where}", "Too low{where}"),
    "swapped classes": ("The columns are in another order than the labels",) * 2,
    "shift": _TOO_HIGH,
    "shift+scale": _TOO_HIGH,
    "group shift": _TOO_HIGH,
    "group shift+scale": _TOO_HIGH,
    "scale": _TOO_NARROW,
    "group scale": _TOO_NARROW,
    "slope": _TILTED,
    "slope+scale": _TILTED,
    "spread": (
        "Stated spreads vary too much (large ones are too large and small ones too small)",
        "Stated spreads vary too little (large ones are too small and small ones too large)",
    ),
    "tails": ("Extreme errors are more common than stated", "Extreme errors are rarer than stated"),
    "skewed": (
        "Skewed, with more labels below its intervals than above",
        "Skewed, with more labels above its intervals than below",
    ),
    "levels": _OF_LEVEL,
    "shape": _OF_LEVEL,
}
"""What is wrong in a few words: where the model says too much, and where it says too little."""


def _useless(facts: Facts) -> str:
    start = "No better than always stating the base rates, and not calibrated"
    return f"{start}: {measured(facts)}, {chance_excluded(facts)}."


def _seen(facts: Facts) -> str:
    """Say what a single statistic shows, where no repair explains it."""
    return (
        f"Miscalibrated in a way that no repair here removes: {facts['statistic']} is "
        f"{shown(facts['value'])}, {'above' if facts['above'] else 'below'} what right predictions give "
        f"({shown_range(facts['accepted'])}): {facts['meaning']} ({p_is(facts['pvalue'])})."
    )


def _only_seen(facts: Facts) -> str:
    return f"Miscalibrated in a way that no repair here removes ({p_is(facts['pvalue'])})."


def _calm(facts: Facts) -> str:
    skill = {
        "": "",
        "none": " But it is no better than always stating the base rates.",
        "not shown": " These data do not show that it beats always stating the base rates.",
    }[facts["skill"]]
    return f"No sign of miscalibration in {instances(facts)}{_bound(facts)}.{skill}"


def _certain(facts: Facts) -> str:
    return f"It is certain of every answer, and always right in {instances(facts)}{_bound(facts)}."


def _bound(facts: Facts) -> str:
    if facts["bound"] is None:
        return ""
    most, sure = at_most(facts["bound"]), f"{percent(facts['sure'])} sure"
    if facts["interval_level"] is None:
        return f"; the average gap is below {most}, {sure}"
    right = "what they promise" if facts["as_stated"] else "what right draws would give"
    whose = f"the true coverage of its {percent(facts['interval_level'])} intervals"
    return f"; {whose} is within {most} of {right}, {sure}"


def _too_few(facts: Facts) -> str:
    start = f"Too few data to tell: with {instances(facts)}"
    if facts["bound"] is None:
        return f"{start}, no fault can be told from chance."
    most, sure = at_most(facts["bound"]), f"{percent(facts['sure'])} confidence"
    if facts["interval_level"] is None:
        return f"{start}, the average gap could still be up to {most} ({sure})."
    whose = f"the coverage of its {percent(facts['interval_level'])} intervals"
    return f"{start}, {whose} could still be off by up to {most} ({sure})."


def _untested(facts: Facts) -> str:
    if facts.get("stated") is None:
        return f"Whether the predictions are calibrated was not tested: {facts['reason']}."
    says, right = frequencies(facts["stated"], facts["observed"])
    return (
        f"Not tested: it says {says} and is right {right} of the time; whether chance explains it was not "
        f"tested, because {facts['reason']}."
    )


# --------------------------------------------------------------------------------------------- questions


def _compared(facts: Facts) -> str:
    where = group_of(facts).strip()
    sentence = capital(f"{where}, {measured(facts)}" if where else measured(facts))
    if facts["measure"] == "mean":
        sentence = (
            f"Predictions are too {'high' if facts['size'] > 0 else 'low'}{group_of(facts)} {measured(facts)}"
        )
    return f"{sentence}, in {counted(facts['n'], 'row')}. {_one_test(facts)}"


def _one_test(facts: Facts) -> str:
    return f"One test of everything stated here: {p_is(facts['pvalue'])}."


def _by_a_statistic(facts: Facts) -> str:
    accepted = shown_range(facts["accepted"])
    value = f"{facts['statistic']} is {shown(facts['value'])}; right predictions give {accepted}"
    return f"{value}. {_one_test(facts)}"


def _by(name: str | None) -> str:
    return "" if name is None else f" by {name}"


REPAIRS = {
    "temperature": "a temperature",
    "bias": "a bias of each class",
    "noise": "mixing with the base rates or equal shares, or taking these out",
    "order": "another order of the columns",
    "platt": "a bias and a slope (Platt)",
    "curve": "a smooth curve",
    "vector": "vector scaling",
    "shift": "a shift",
    "scale": "a scale",
    "linear": "a shift and a slope",
    "shift+scale": "a shift and a scale",
    "linear+scale": "a shift, a slope and a scale",
    "spread": "a power of the spread",
    "tails": "heavier or lighter tails",
    "skew": "another shape of each side",
    "levels": "a shift of each quantile",
    "relative_levels": "a shift of each quantile by a share of the distance between the outermost ones",
    "isotonic": "another level of each quantile",
}
"""What repairs are called in sentences."""

OF_PARTS = ("order", "linear", "shift+scale", "linear+scale", "spread")
"""Repairs that are fitted as several things, so that sentences speak of them in the plural."""


def repair_name(facts: Facts) -> str:
    """Return what a repair does, and for which groups apart."""
    method = facts["method"]
    if method == "bias" and facts.get("of_answers"):  # whose only class is a right one
        return f"a shift of the log-odds{_by(facts['by'])}"
    return f"{REPAIRS.get(method, method)}{_by(facts['by'])}"


def _chosen(facts: Facts) -> str:
    gain = f"{shown(facts['gain'])} (± {shown(2 * facts['stderr'])})"
    left = "" if facts["effect"] is None else f" and leaves {rest_of(facts['effect'])}"
    return (
        f"{capital(repair_name(facts))} is the smallest repair that explains the gain: fitted on other "
        f"folds, it lowers the held-out loss by {gain}{left}."
    )


def _no_repair(facts: Facts) -> str:
    return (
        "None: fitted on other folds, no repair lowers the held-out loss by more than chance does. "
        f"{capital(repair_name(facts))} comes closest: the loss changes by {signed(-facts['gain'])} "
        f"(± {shown(2 * facts['stderr'])})."
    )


def _no_use(facts: Facts) -> str:
    return (
        f"None makes it useful: fitted on other folds, {repair_name(facts)} lowers the held-out loss by "
        f"{shown(facts['gain'])} (± {shown(2 * facts['stderr'])}), and it is still no better than always "
        "stating the base rates."
    )


def _left(facts: Facts) -> str:
    sentences = []
    if facts["effect"] is not None:
        sentences.append(f"Where the fault was largest, the repair leaves {rest_of(facts['effect'])}.")
    if facts["second"] is not None:
        second = facts["second"]
        sentences.append(f"Another fault is left{group_of(second)}: {measured(second)}.")
    if facts["worst"] is not None:
        before = "Before the repair" if facts["effect"] is not None else "Of all groups"
        sentences.append(f"{before}, most clearly off: {facts['worst']}, {facts['words']}.")
    elif facts["n_groups"]:
        sentences.append(_every_group(facts))
    return " ".join(sentences)


def _every_group(facts: Facts) -> str:
    return f"No group stands out among {facts['n_groups']}."


def _half(facts: Facts) -> str:
    half, risk = percents(facts["half"], facts["risk"])
    return f"Among its most confident half of answers, {half} are wrong, against {risk} overall."


def _raters(facts: Facts) -> str:
    share, of_loss = facts["share"], f"of the squared loss of {shown(facts['total'])}"
    chance = {
        "conflict": ", more than chance explains",
        "no conflict found": ", no more than chance explains",
        "cannot tell": "",
    }[facts["word"]]
    if share < 0.005:
        return f"Nearly all {of_loss} is disagreement between raters, which no model can remove."
    if share > 0.995:
        return f"Nearly all {of_loss} is the model's own{chance}: raters hardly disagree."
    return (
        f"{100 * share:.0f} % {of_loss} is the model's own{chance}. The rest is disagreement between raters, "
        "which no model can remove."
    )


def _ignorance(facts: Facts) -> str:
    repaired = facts["repaired"]
    if repaired is None:
        return ignorance_sentence(facts)
    fits = {
        "conflict": "still contradict it",
        "no conflict found": "do not contradict that",
        "cannot tell": "cannot tell",
    }[repaired["word"]]
    return (
        f"{ignorance_sentence(facts)} With a concentration fitted on other folds it says "
        f"{percents(repaired['stated'])[0]}, and pairs of labels {fits} ({p_is(repaired['pvalue'])})."
    )


def _outside_sets(facts: Facts) -> str:
    off = f": {facts['where']}" if facts["where"] else " in several classes at once; no single class is off"
    return f"The true probabilities lie outside its sets{off} ({p_is(facts['pvalue'])})."


def _interval_coverage(facts: Facts) -> str:
    coverage = (
        f"its {percents(facts['stated'])[0]} intervals contain {percents(facts['observed'])[0]} of the labels"
    )
    sentence = f"{capital(coverage)}{_tied(facts)} ({p_is(facts['pvalue'])} over intervals of all sizes)."
    if facts["width"] is None:
        return sentence
    return (
        f"{sentence} On average they are {shown(facts['width'])} wide; without a model, one interval for all "
        f"labels would be {shown(facts['label_width'])} wide."
    )


def _tied(facts: Facts) -> str:
    """Say what share is right where it is not the level."""
    if facts["expected"] == facts["stated"]:
        return ""
    return f" ({percents(facts['expected'])[0]} are expected, because draws are few or repeat)"


def _below(facts: Facts) -> str:
    level = facts["stated"]
    named = "median" if abs(level - 0.5) < 1e-9 else f"{shown(100 * level)} % quantile"
    where = "below" if facts["expected"] == level else "at or below"
    sentence = (
        f"{percents(facts['observed'])[0]} of the labels lie {where} the predicted {named}{_tied(facts)}"
    )
    return f"{sentence}{_elsewhere(facts['worst'])} ({p_is(facts['pvalue'])})."


def _elsewhere(worst: Facts | None) -> str:
    if worst is None:
        return ""
    where, more = "below", ""
    if worst["expected"] != worst["stated"]:
        where, more = "at or below", f" instead of {percents(worst['expected'])[0]}"
    return (
        f"; the largest difference is at the {shown(100 * worst['stated'])} % quantile, {where} which "
        f"{percents(worst['observed'])[0]} of the labels lie{more}"
    )


def _errors_by_spread(facts: Facts) -> str:
    ends = [f"{shown(error)} where it states {shown(stated)}" for stated, error in facts["ends"]]
    sentence = f"Its errors (root mean square) are {' and '.join(ends)}"
    if facts["expected"]:
        expected = " and ".join(shown_range(pair) for pair in facts["expected"])
        sentence += f"; {expected} are expected because draws are few"
    over = "" if facts["pvalue"] is None else f" ({p_is(facts['pvalue'])} over all stated spreads)"
    return f"{sentence}{over}."


CASES: dict[str, Written] = {
    **{name: partial(_fault, leads) for name, leads in FAULTS.items()},
    "inverted": "Its confidence is misleading: the more confident it is, the more often it is wrong. No "
    "recalibration makes such confidence useful; look for swapped classes or labels.",
    "labels off by a row": "Labels and predictions are offset by a row: the label of a neighbouring row fits "
    "far better than the row's own. Align them first; no recalibration helps.",
    "no skill": _useless,
    "seen by a statistic": _seen,
    "seen by the test": _only_seen,
    "no sign": _calm,
    "certain": _certain,
    "too few": _too_few,
    "untested": _untested,
    "compared": _compared,
    "calm": _compared,
    "compared by a statistic": _by_a_statistic,
    "compared by the test": _one_test,
    "repaired": _chosen,
    "no repair pays": _no_repair,
    "no repair helps": _no_use,
    "beyond repair": "No recalibration does; the data have to be put right first.",
    "left": _left,
    "every group": _every_group,
    "loss of the model": _raters,
    "stated ignorance": _ignorance,
    "no mistakes": lambda facts: (
        f"It made no mistakes on these {counted(facts['n'], 'instance')}, so there is nothing to detect."
    ),
    "no right answer": lambda facts: (
        f"It gave no right answer on these {counted(facts['n'], 'instance')}, so there is nothing to compare."
    ),
    "equally sure": "It is equally sure of all its answers, so its confidence cannot point to its mistakes.",
    "marks mistakes": lambda facts: f"Low confidence marks its mistakes. {_half(facts)}",
    "misleads": lambda facts: (
        "Its confidence is misleading: the more confident it is, the more often it is wrong. " + _half(facts)
    ),
    "not shown to mark": lambda facts: (
        f"{_half(facts)} These data do not show that low confidence marks its mistakes."
    ),
    "members agree": "Its members all predict the same, so there is no disagreement to judge.",
    "outside sets": _outside_sets,
    "inside sets": "Nothing shows that the true probabilities lie outside its sets, given what it predicts.",
    "lists too short": lambda facts: (
        f"Its lists leave {percent(facts['open'])} of the probability open, so nearly any labels would fit. "
        f"Listing {facts['more']} more options would leave at most {percent(0.02)} open."
    ),
    "intervals": _interval_coverage,
    "quantiles": _below,
    "errors by spread": _errors_by_spread,
    **coverage_sentences.CASES,
    **verdict_sentences.CASES,
}
"""Every case with its sentence."""


def _repair_leaves(facts: Facts) -> str:
    leaves = "leave" if facts["method"] in OF_PARTS else "leaves"
    return f"{capital(facts['repair'])}, fitted on other folds, {leaves} {rest_of(facts)}."


def _more_labels(facts: Facts) -> str:
    return (
        f"About {facts['wanted']} labels would show a gap of {points(facts['margin'])} with a probability of "
        f"{percent(facts['power'])}."
    )


def _repair_gains(facts: Facts) -> str:
    gain = f"{shown(facts['gain'])} (± {shown(facts['error'])})"
    lowers = "lower" if facts["method"] in OF_PARTS else "lowers"
    return f"{capital(facts['repair'])}, fitted on other folds, {lowers} the held-out loss by {gain}."


REMEDIES: dict[str, Callable[[Facts], str]] = {
    "repair": _repair_leaves,
    "repair without a size": _repair_gains,
    "more labels": _more_labels,
    **coverage_sentences.REMEDIES,
}
