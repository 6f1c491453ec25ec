"""What is said about single tests of statistics, sets, raters and groups: rows of the table `sentences`."""

from __future__ import annotations

from collections.abc import Callable

from credibly.evaluation.effect_sentences import Facts, Written
from credibly.results.numbers import percent, percents, shown, shown_range


def of_statistic(write: Callable[[Facts], str]) -> Written:
    """Return what writes the test of a statistic: under which hypothesis, and whether others outweigh it."""

    def written(facts: Facts) -> str:
        name = facts["hypothesis"]
        start = "" if name is None else f"{name.capitalize()} hypothesis: "
        end = ""
        if facts["is_outweighed"]:
            end = " Among all that was tested, chance explains one such deviation: no conflict found."
        return f"{start}{write(facts)}{end}"

    return written


def _value(facts: Facts) -> str:
    return f"{facts['statistic']} {shown(facts['value'])}{facts['whose']}"


def _accepted(facts: Facts) -> str:
    return f"{percent(facts['sure'])} acceptance {shown_range(facts['accepted'])}"


def _beyond(facts: Facts) -> str:
    return (
        f"{_value(facts)} is {'above' if facts['above'] else 'below'} what would be expected if these "
        f"predictions were right ({_accepted(facts)}): {facts['meaning']}."
    )


def _outside(facts: Facts) -> str:
    return (
        f"{_value(facts)}: no conflict found. It lies outside its own {percent(facts['sure'])} acceptance "
        f"region ({shown_range(facts['accepted'])}), but among several statistics one such deviation is not "
        "surprising."
    )


def _inside(facts: Facts) -> str:
    region = shown_range(facts["accepted"])
    anything = f"anything from {region}" if facts["is_bounded_below"] else region
    return f"{_value(facts)}: no conflict found, but this check would accept {anything}."


def _beyond_members(facts: Facts) -> str:
    return (
        f"{_value(facts)}: cannot tell. None of these {facts['n_members']} members explains it "
        f"({_accepted(facts)}), but if they are a sample of more, another might "
        f"(p = {shown(facts['pvalue'])} with the truth as one more member)."
    )


def _beyond_replicates(facts: Facts) -> str:
    return (
        f"{_value(facts)}: cannot tell. It lies beyond all {facts['n_resamples']} replicates "
        f"({_accepted(facts)}), but with so few it could still be chance among {facts['family']} statistics; "
        f"{facts['enough']} are enough."
    )


def _cannot_tell(facts: Facts) -> str:
    return f"{_value(facts)}: cannot tell, because {facts['reason']}."


def _groups(facts: Facts) -> str:
    clearest = "" if facts["worst"] is None else f" Clearest: {facts['worst']}, {facts['words']}."
    return f"{facts['answer']}{clearest}"


# ----------------------------------------------------------------------------------------------------- sets


def _truth_outside(facts: Facts) -> str:
    where = f": {facts['where']}" if facts["where"] else ""
    return f"Given the predictions, the true probabilities lie outside the set{where}."


def _truth_may_be_inside(facts: Facts) -> str:
    return (
        f"No conflict found: labels{facts['whose']} do not show that the true probabilities, given the "
        "predictions, lie outside the set."
    )


def _best(facts: Facts) -> str:
    return f"the best combination in the set ({facts['weights']} weights)"


_MEANS = {
    "learned": "no combination with weights that this learner can represent fits these labels",
    "constant": "no combination with one weight vector for all instances fits these labels",
}


def _no_combination(facts: Facts) -> str:
    return (
        f"{_value(facts)} of {_best(facts)} is beyond what it would show if it were calibrated "
        f"({_accepted(facts)}): {_MEANS[facts['weights']]}."
    )


def _a_combination(facts: Facts) -> str:
    accepted = shown_range(facts["accepted"])
    return f"{_value(facts)}: no conflict found with {_best(facts)}; this check would accept {accepted}."


def _unclear_combination(facts: Facts) -> str:
    accepted = shown_range(facts["accepted"])
    return f"{_value(facts)} of {_best(facts)}: cannot tell, because this check would accept {accepted}."


# --------------------------------------------------------------------------------------------------- raters


def _pairs(facts: Facts) -> str:
    """Say how often two raters disagree, where the model says it, too."""
    if facts.get("pairs") is None:
        return ""
    says, seen = percents(*facts["pairs"])
    return f"It says that two raters disagree {says} of the time; they do {seen} of the time. "


def _what(facts: Facts) -> str:
    return "the predicted probabilities" if facts["is_point"] else "any distribution in the predicted sets"


def _against(facts: Facts) -> str:
    accepted, deviance = shown_range(facts["accepted"]), shown(facts["deviance"])
    evidence = f"evidence against it {shown(facts['value'])}, where chance alone gives {accepted}"
    return f"({evidence}; deviance {deviance})"


def _raters_differ(facts: Facts) -> str:
    failing, n = facts["failing"], facts["n"]
    single = f"{failing} of {n} instances stand out on their own after adjustment"
    if failing < 2:
        single = f"{failing or 'none'} of {n} instances stands out on its own after adjustment"
    return f"{_pairs(facts)}The raters' labels do not fit {_what(facts)} {_against(facts)}; {single}."


def _raters_agree(facts: Facts) -> str:
    return f"{_pairs(facts)}The raters' labels show no conflict with {_what(facts)} {_against(facts)}."


def _raters_unclear(facts: Facts) -> str:
    return f"{_pairs(facts)}Cannot tell whether the raters' labels fit {_what(facts)} {_against(facts)}."


CASES: dict[str, Written] = {
    "beyond its region": of_statistic(_beyond),
    "outside by chance": of_statistic(_outside),
    "inside its region": of_statistic(_inside),
    "beyond the members": of_statistic(_beyond_members),
    "beyond the replicates": of_statistic(_beyond_replicates),
    "statistic cannot tell": of_statistic(_cannot_tell),
    "nothing tested": "No calibration test was run, so this report cannot say whether the predictions are "
    "calibrated: {reason}.",
    "groups": _groups,
    "truth outside the set": _truth_outside,
    "truth may be inside": _truth_may_be_inside,
    "truth cannot be told": "Cannot tell whether the set contains the truth: {reason}.",
    "label impossible in the set": "{outcome}",
    "weights alone reject": "{outcome} A conflict requires both.",
    "witness alone rejects": "Given the predictions, the true probabilities lie outside the set, but some "
    "combination may still be calibrated.",
    "no combination fits": _no_combination,
    "a combination may fit": _a_combination,
    "combination cannot be told": _unclear_combination,
    "raters' labels do not fit": _raters_differ,
    "raters' labels may fit": _raters_agree,
    "raters' labels cannot be told": _raters_unclear,
}
