"""One row per claim: what several studies say about it is put together, and counts are of claims."""

from __future__ import annotations

import dataclasses

import pytest

from credibly_studies import Claim
from credibly_studies.ledger import checks_table, counted, entries, entries_table, joined
from credibly_studies.results import printed_claim

PLACE, WORDS = "X99 Table 1", "sets are often wrong"
PRINTED = printed_claim(PLACE, WORDS, "9 of 10", "confirmed")
SMALLER = Claim(PLACE, WORDS, "", "5 of 10", "cannot tell", design="smaller")
DIGITS = Claim(PLACE, WORDS, "", "digits: 6 of 6", "confirmed", design="another")
TEXTS = Claim(PLACE, WORDS, "", "texts: 0 of 6", "not confirmed", design="another")
CHECK = Claim("X99 Table 2", "rows add up", "", "all", "confirmed", design="another", further=True)


def test_what_is_about_one_claim_is_one_row() -> None:
    (entry,) = entries([PRINTED, SMALLER, DIGITS])
    assert (entry.by_print, entry.printed, entry.tested) == ("confirmed", "9 of 10", True)
    assert (entry.printed_design, entry.another_design) == ((SMALLER,), (DIGITS,))
    (row,) = entries_table([entry]).rows
    assert row[2:5] == (
        "**confirmed**: 9 of 10",
        "**cannot tell** (smaller): 5 of 10",
        "**confirmed**: digits: 6 of 6",
    )


def test_experiments_that_disagree_decide_nothing() -> None:
    assert joined(["confirmed", "cannot tell"]) == "confirmed"
    assert joined(["confirmed", "not confirmed"]) == "cannot tell"
    assert joined(["cannot tell"]) == "cannot tell"
    assert joined([]) == ""
    (entry,) = entries([DIGITS, TEXTS])
    assert str(entries_table([entry]).rows[0][4]).startswith("**cannot tell**: digits")


def test_the_same_printed_numbers_have_one_verdict() -> None:
    with pytest.raises(ValueError, match="same printed numbers"):
        entries([PRINTED, dataclasses.replace(PRINTED, by_print="cannot tell")])
    with pytest.raises(ValueError, match="or it does not"):
        entries([PRINTED, dataclasses.replace(DIGITS, further=True)])


def test_counts_are_of_claims_that_were_tested() -> None:
    other = dataclasses.replace(PRINTED, statement="only printed", by_print="not confirmed")
    counts = counted(entries([PRINTED, DIGITS, TEXTS, other, CHECK]))
    assert (counts.claims, counts.tested) == (2, 1)  # a printed table is no experiment, a check no claim
    assert counts.by_print == {"confirmed": 1, "not confirmed": 1}
    assert counts.another_design == {"cannot tell": 1}
    assert not counts.printed_design


def test_checks_of_ours_stand_apart() -> None:
    (row,) = checks_table(entries([CHECK])).rows
    assert row[:3] == ("X99 Table 2", "rows add up", "**confirmed**: all")
