"""Whatever the text, the answer is a plan or one of our errors with its place."""

from __future__ import annotations

import re

import pytest
from case_share import share_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from windrow.errors import WindrowError

pytestmark = pytest.mark.law

QUERIES = (
    "SELECT a . k , lower ( b . name ) AS n FROM a [ RANGE INTERVAL '1' HOUR ] x , b JOIN c ON b . k"
    " = c . k WHERE a . k = b . k AND abs ( a . ts - b . ts ) <= INTERVAL '5' SECONDS WINDOW ( a , b )"
    " = INTERVAL 5 SECONDS AND DWINDOW ( b , c ) = INTERVAL '1' MINUTE",
    "SELECT store , SUM ( price * quantity ) AS s , COUNT ( * ) FROM sales [ RANGE INTERVAL '1' HOUR"
    " ] WHERE price > 4 GROUP BY store HAVING s > 2 AND COUNT ( * ) > 1",
    "SELECT t . x , h . * FROM temperature t LEFT OUTER BESTMATCH JOIN humidity h ON t . ts MINDIST"
    " h . ts WITHIN INTERVAL '10' MINUTES , t . x + 1 MINDIST h . x WHERE abs ( t . x + 1 - h . x )"
    " <= 100 AND t . id = h . id KEEP UNMATCHED",
    "WITH q AS ( SELECT k , x FROM a WHERE x BETWEEN 1 AND 5 ) SELECT /*+ buckets(4) */ q . * , CASE"
    " WHEN b . z > 1 THEN 'yes' ELSE NULL END FROM q , b WHERE q . k <=> b . k AND b . ts <= b . ts"
    " + INTERVAL 1 SECOND WINDOW = INTERVAL 9 SECONDS EMIT CHANGES",
)
WORDS = sorted({word for query in QUERIES for word in re.findall(r"'[^']*'|/\*.*?\*/|\S+", query)})


@st.composite
def broken(draw: st.DrawFn) -> str:
    words = re.findall(r"'[^']*'|/\*.*?\*/|\S+", draw(st.sampled_from(QUERIES)))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(words) - 1))
        change = draw(st.integers(0, 3))
        if change == 0 and len(words) > 1:
            del words[place]
        elif change == 1:
            words.insert(place, draw(st.sampled_from(WORDS)))
        elif change == 2:
            words[place] = draw(st.sampled_from(WORDS))
        else:
            other = draw(st.integers(0, len(words) - 1))
            words[place], words[other] = words[other], words[place]
    return " ".join(words)


def refusal(compiled, sql: str) -> WindrowError | None:
    """Our error, or None for a query that is fine after all; any other exception fails the test."""
    try:
        compiled(sql)
    except WindrowError as error:
        return error
    return None


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(sql=broken())
def test_broken_queries_are_refused_with_our_errors(compiled, sql):
    error = refusal(compiled, sql)
    assume(error is not None)
    assert error.condition
    assert error.span is None or 0 <= error.span.start < error.span.end <= len(sql)
    assert error.hint
    assert "sqlglot" not in str(error)
    assert "Token" not in str(error)


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(sql=st.text(max_size=40))
def test_any_text_is_refused_with_our_errors(compiled, sql):
    error = refusal(compiled, sql)
    assert error is not None
    assert error.condition
    assert error.hint
