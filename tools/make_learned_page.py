"""Make docs/studies/what-we-learned.md and the tables of claims in studies/pages from the results on record.

python tools/make_learned_page.py          write the pages
python tools/make_learned_page.py --check  return 1 if a page does not match the results
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from credibly_studies import Claim, StudyTable, studies
from credibly_studies.ledger import OUTCOMES, Counts, Entry, checks_table, counted, entries, entries_table
from credibly_studies.results import Cell, size_in_words

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "studies" / "results"

PAGE = """# What we learned

We ran the experiments of five papers with this library, and read their printed tables against their
sentences. This page has the five lessons that change how you would use a calibration test, and how many
claims of each paper hold up. The claims themselves, one row each, are in the tables linked below.

## Five lessons

**1. Draw new labels, not new instances.** M23 and J25 compare an error with replicates whose instances are
bootstrapped. An instance that is drawn twice falls into the same bin twice, and one that is not drawn
leaves its bin empty; with many classes this makes the error of replicates smaller than that of the data. A
perfect predictor with 97 to 1000 classes is then rejected by the classwise ECE every time (18 of 18), and
by J25's CE_2 with 100 classes as well (6 of 6). Most rejections in the printed tables with that many
classes are of this kind. This library draws labels alone.

**2. A test of a set needs a control on its boundary.** At the distance of 0.02 from the set that J25 calls
very close, the best possible test, which knows the truth and the boundary, rejects about a fifth of the
data sets. A test that rejects nearly all of them also rejects when the truth lies exactly on the boundary,
where the hypothesis is true. So before you believe in power, look at the rejection rate with the truth on
the boundary ([how our default does](LEVEL)).

**3. How an uncertain model is read decides whether its calibration error is a fault.** Read as one function
that is the same for all rows but unknown, an ensemble expects a large calibration error of itself; read row
by row, it expects a small one. P21's example with one unknown mean shows both mistakes: a good model that a
calibration error rejects in all of 1000 data sets, and a bad one that it passes in 95 %. State the reading,
and check the error against what the model expects.

**4. With few raters, correct the bias first; then calibrate the mean; then the spread.** Plug-in losses are
biased by amounts that do not vanish with more instances; D21's estimators remove that bias with two raters
already. Its alpha-calibration improves predicted disagreement if the mean is calibrated. Alone, it makes
overconfident predictions worse, because it can only lower the predicted disagreement.

**5. A score of sets is a trade-off, so report it with its trade-off, its list of sets and its intervals.**
C25's scores come out digit by digit from its public predictions. But who is first depends on the price of
imprecision; a shorter list of focal sets makes the same model look vaguer; and several sentences about who
ranks first are denied by the tables they refer to. For one-hot labels no vertices are needed: the distance
is minus the logarithm of the label's upper probability.

## How many claims hold up

SUMS

The three columns of outcomes count, in this order, claims that are confirmed, claims that are not
confirmed, and claims for which the numbers allow either.

- **The printed numbers** judge a claim by the paper's own tables. They are no experiment: a table can agree
  with a sentence and both can be wrong.
- **The printed design, run here** has the paper's settings, often with fewer data sets or less training.
- **Another design, run here** asks the same question of other models or data. It cannot refute what the
  paper found on its own data, but it says how far the finding carries.

A claim counts as tested only if an experiment here was about it: TESTED of CLAIMS are. Checks of ours that
no sentence of a paper claims, such as whether printed numbers add up, are listed apart and not counted.

Four rules keep the judgement fair. Curves over the level are judged as curves, up to a level of one half,
and not at 5 %, where forty data sets show nothing. Ties decide nothing: if two tests reject every data set,
neither has more power. Means of few runs have Student's intervals. A claim made in general is judged on all
instances, not on a part of them.

## Paper by paper

PAPERS
## What is not at hand

The networks behind the large tables of M23 and J25 and behind P21's corrupted images, D21's blood cells,
and four of C25's ten models are not public; we judge their printed numbers, and ask the question of smaller
models. P21's grid of settings with 2000 epochs takes days, so its UCI study on record is another design;
the data sets whose baselines were not trained to what is printed are named there and say nothing.

Every number on this page is made by `tools/make_learned_page.py` from the records in `studies/results`;
`credibly study list` shows how to run a study again.
"""

PAPERS = {
    "M23": """Mortier et al., *On Calibration of Ensemble-Based Credal Predictors*. One weight vector for
all instances. Of the four errors, ECE_conf alone gives a test that keeps its level and has power against
both alternatives. Larger sets make the test more conservative, as printed. With 100 classes the type I
error does not approach the level: with ECE_cwise it approaches one, because instances are bootstrapped. The
printed curve of SKCE_ul above the level is what the absolute value of a signed minimum gives, which is in
the authors' code and not in the text.""",
    "J25": """Juergens et al., *A calibration test for evaluating set-based epistemic uncertainty
representations*. Weights that depend on the instance. The mean of the members fails in the binary worlds,
as printed, but is calibrated by construction in the multiclass worlds. Learned weights exceed the level by
more than slightly with the KDE errors. M23's test is conservative in the multiclass worlds and, where
weights depend on the instance, not in the binary ones. In Table 1 the decisions for the mean and for the
learned weights are the same in all 24 rows.""",
    "C25": """Manchingal et al., *A unified evaluation framework for epistemic predictions*. One score for
predictions of all kinds. The public predictions of RS-NN and EDL give the printed digits, EDL only with the
paper's list of focal sets. Divergence and non-specificity rise together in general, as printed; among wrong
predictions alone they do not. Non-specificity is closely tied to confidence, against the sentence about
Fig. 17. More than half of the
sentences that its tables can judge are denied by them.""",
    "D21": """Mimori et al., *Diagnostic uncertainty calibration*. Losses over several raters. All
propositions hold in simulations, and so do both panels of Fig. 1. Table 2 adds up in every row, and
contradicts one sentence: temperature and vector scaling improve the calibration loss in three of six
cases.""",
    "P21": """Gopal, *Why calibration error is wrong given model uncertainty*. Posterior predictive checks.
Mistrust in good models and trust in bad ones are both shown, by the example of section 3.1 and by the
printed tables. That calibration errors are almost always wrong to use cannot be told from counts of passed
checks. Briefly trained ensembles agree too much where they saw no data, so they fail where the paper's
pass.""",
}
"""What heads the claims of each paper: who, what, and what is worth knowing first."""


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them with those that are there."""
    stale = []
    for path, text in pages().items():
        if arguments != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path.relative_to(ROOT)))
    if stale:
        print(f"{', '.join(stale)}: run tools/make_learned_page.py", file=sys.stderr)
    return bool(stale)


def pages() -> dict[Path, str]:
    """Return every page that is made from the results, by its path."""
    order = list(studies())
    records = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*/result.json")]
    records.sort(key=lambda result: order.index(result["name"]))
    rows = {
        key: entries(
            Claim(**claim) for result in records if _paper(result) == key for claim in result["claims"]
        )
        for key in PAPERS
    }
    folder = ROOT / "studies" / "pages"
    tables = {
        folder / f"{key.lower()}-claims.md": _claims_page(
            key, row, [record for record in records if _paper(record) == key]
        )
        for key, row in rows.items()
    }
    return {ROOT / "docs" / "studies" / "what-we-learned.md": learned(rows), **tables}


def learned(rows: dict[str, list[Entry]]) -> str:
    """Return the page for readers: lessons, counts, a paragraph and links per paper."""
    counts = {key: counted(row) for key, row in rows.items()}
    listed = "".join(
        f"**{key}.** {text} [Its claims](../../studies/pages/{key.lower()}-claims.md), "
        f"[its studies](../../studies/pages/{key.lower()}.md).\n\n"
        for key, text in PAPERS.items()
    )
    whole = _together(list(counts.values()))
    return (
        PAGE.replace("SUMS", _sums({**counts, "all": whole}))
        .replace("TESTED", str(whole.tested))
        .replace("CLAIMS", str(whole.claims))
        .replace("LEVEL", "../../studies/pages/credal-level.md")
        .replace("PAPERS\n", listed)
    )


def _paper(result: dict[str, Any]) -> str:
    """Return the paper's key, which the name of a study begins with."""
    return str(result["name"]).split("-")[0].upper()


def _together(counts: Sequence[Counts]) -> Counts:
    return Counts(
        sum(count.claims for count in counts),
        sum(count.tested for count in counts),
        *(
            sum((getattr(count, name) for count in counts), Counter())
            for name in ("by_print", "printed_design", "another_design")
        ),
    )


def _sums(counts: dict[str, Counts]) -> str:
    """Return the table of counts: confirmed / not confirmed / cannot tell, by source."""

    def triple(found: Counter[str]) -> str:
        return " / ".join(str(found[outcome]) for outcome in OUTCOMES)

    rows: list[tuple[Cell, ...]] = [
        (
            key,
            count.claims,
            count.tested,
            triple(count.by_print),
            triple(count.printed_design),
            triple(count.another_design),
        )
        for key, count in counts.items()
    ]
    columns = (
        "paper",
        "claims",
        "tested by an experiment",
        "the printed numbers",
        "the printed design, run here",
        "another design, run here",
    )
    return StudyTable("sums", "", columns, rows).markdown()


def _claims_page(key: str, rows: list[Entry], found: list[dict[str, Any]]) -> str:
    """Return the page of one paper's claims, checks of ours, and the studies behind them."""
    claims = [row for row in rows if not row.further]
    checks = [row for row in rows if row.further]
    columns = ("study", "what", "numbers of its size")
    sizes: list[tuple[Cell, ...]] = [
        (
            f"[`{one['name']}`](../results/{one['name']}/result.md)",
            one["reference"],
            size_in_words(one["settings"]["size"]),
        )
        for one in found
    ]
    return f"""# {key}: claim by claim

One row per claim of the paper, by place and in our words. A bold outcome says what each source of evidence
makes of it; "smaller" marks the printed settings with fewer data sets or less training. Terms such as S1,
H0,1 or CE_2 are the paper's own; [the page of its studies]({key.lower()}.md) explains them. Made by
`tools/make_learned_page.py`.

{entries_table(claims).markdown()}

## Our further checks

No sentence of the paper claims these; they are not counted.

{checks_table(checks).markdown()}

## Studies behind this page

{StudyTable("sizes", "", columns, sizes).markdown()}
"""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
