"""A claim is decided by figures, and can come out either way."""

from __future__ import annotations

import pytest

from windrow.errors import InternalError
from windrow_papers.experiments.claims import (
    Case,
    Claim,
    Finding,
    Reading,
    at_least,
    at_most,
    below,
    decide,
    falling,
)

CLAIM = Claim("few below nlw", "nlw's work over few's: above 1")
YES = Reading(2.0, "2.00 x", holds=True)
NO = Reading(0.5, "0.50 x", holds=False)


@pytest.mark.parametrize(("large", "holds"), [(30.0, True), (10.0, False), (9.0, False)])
def test_below_holds_only_if_every_ratio_is_above_one(large, holds):
    reading = below([Case("a", 10.0, 40.0), Case("b", 10.0, large)])
    assert reading.holds is holds
    assert reading.figure == large / 10.0


@pytest.mark.parametrize(("large", "holds"), [(100.0, True), (99.0, False)])
def test_at_least_is_decided_by_the_least_ratio(large, holds):
    reading = at_least(10.0, [Case("a", 10.0, 400.0), Case("b", 10.0, large)])
    assert reading.holds is holds
    assert reading.text.startswith(f"{large / 10:.1f} x (b)" if holds else "9.90 x (b)")


@pytest.mark.parametrize(("large", "holds"), [(15.0, True), (16.0, False)])
def test_at_most_is_decided_by_the_largest_ratio(large, holds):
    assert at_most(1.5, [Case("a", 10.0, 1.0), Case("b", 10.0, large)]).holds is holds


@pytest.mark.parametrize(("last", "holds"), [(15.0, True), (20.0, False), (25.0, False)])
def test_falling_compares_the_last_ratio_with_the_first(last, holds):
    cases = [Case("2 streams", 10.0, 20.0), Case("3", 10.0, 90.0), Case("6", 10.0, last)]
    assert falling(cases).holds is holds


def test_nothing_against_something_is_infinitely_less():
    assert below([Case("a", 0.0, 1.0)]).holds
    assert not below([Case("a", 0.0, 0.0)]).holds


@pytest.mark.parametrize(
    ("counts", "time", "word"),
    [
        (YES, YES, "holds"),
        (YES, None, "holds"),
        (YES, NO, "holds on counts, not on time"),
        (NO, YES, "does not hold, though on time it does"),
        (NO, NO, "does not hold"),
        (NO, None, "does not hold"),
    ],
)
def test_counts_decide_and_time_is_said(counts, time, word):
    (verdict,) = decide([CLAIM], [Finding(counts, time, "by counts", "by time")])
    assert verdict.word == word
    assert verdict.holds is counts.holds
    reasons = {"holds": "", "holds on counts, not on time": "by time"}
    assert verdict.reason == reasons.get(word, "by counts")


def test_both_readings_must_hold_together():
    assert YES.and_also(YES).holds
    assert not YES.and_also(NO).holds
    assert YES.and_also(NO).figure == NO.figure
    assert NO.and_also(YES).figure == NO.figure


def test_a_claim_that_fails_without_a_reason_is_our_mistake():
    for finding in (Finding(NO, reason_on_time="by time"), Finding(YES, NO, reason="by counts")):
        with pytest.raises(InternalError, match="no reason why this does not hold"):
            decide([CLAIM], [finding])


def test_a_claim_left_undecided_is_our_mistake():
    with pytest.raises(InternalError, match="2 claims, 1 of them decided"):
        decide([CLAIM, CLAIM], [Finding(YES)])
