"""What sqlglot cannot read, said in our own words: the place, and what to write there."""

from __future__ import annotations

import difflib
import re

from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.errors import SqlglotError, TokenError

from windrow.errors import ParseError, Span

_KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "DWINDOW", "JOIN", "LEFT", "RIGHT",
    "FULL", "OUTER", "SEMI", "ANTI", "CROSS", "ASOF", "MATCH_CONDITION", "TOLERANCE", "NEAREST", "BESTMATCH", "MINDIST", "WITHIN", "BETWEEN",
    "PRECEDING", "FOLLOWING", "INTERVAL", "RANGE", "EITHER", "EMIT", "CHANGES", "UNION", "EXCEPT",
    "MINUS", "INTERSECT", "DISTINCT", "PARTITION",
)  # fmt: skip
_LEAST_LIKENESS = 0.7

UNFORESEEN = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What sqlglot raises, instead of errors of its own, for calls whose arguments it did not think of."""

UNREADABLE_CALL = "arguments are missing, or are not of the kind that it takes"

_ORDER = (
    "the clauses of a query come in this order:"
    "  SELECT .. FROM .. [RANGE ..] JOIN .. ON .. WHERE .. GROUP BY .. HAVING .. WINDOW .."
)
_UNCLOSED = re.compile(r"Missing (\S+) from (\d+):(\d+)")
_WORD = re.compile(r"\w+")
_EXPECTED = (
    (re.compile(r"Expecting \)"), "write ) where the parenthesis ends"),
    (re.compile(r"Expecting (.+)"), "write {0} there"),
    (re.compile(r"Expected .+ after CAST"), "write the type, for instance  CAST(x AS DOUBLE)"),
    (re.compile(r"Expected .+ after CASE"), "write CASE WHEN .. THEN .. ELSE .. END"),
    (re.compile(r"Expected (.+) after (.+)"), "write {0} after {1}"),
    (
        re.compile(r"The number of provided arguments .* maximum .*\((\d+)\)"),
        "it takes {0} at most",
    ),
)
"""What to write, by what sqlglot says it expected."""


def syntax_error(error: SqlglotError, sql: str) -> ParseError:
    """Our error for one of sqlglot's."""
    if isinstance(error, TokenError):
        return _token_error(error, sql)
    found = error.errors[0] if isinstance(error, SqlglotParseError) and error.errors else {}
    said = str(found.get("description") or "")
    if "start" not in found:
        return unreadable(said)
    span = Span(found["start"], found["end"])
    token, is_last = str(found["token"]), bool(found["is_last"])
    reason, hint = _complaint(said, token, is_last=is_last)
    if hint is _ORDER or said.startswith("Expecting"):
        hint = _misspelled(sql, span) or hint
    return ParseError(
        "syntax",
        f"the SQL cannot be read {'at its end' if is_last and not reason else f'at {token!r}'}",
        reason=reason,
        hint=hint,
    ).at(span)


def unreadable(why: str) -> ParseError:
    """The error of a text that cannot be read, where nobody knows the place."""
    return ParseError("syntax", "the SQL cannot be read", reason=why, hint=_ORDER)


def _complaint(said: str, token: str, *, is_last: bool) -> tuple[str, str]:
    """The reason and the hint for what sqlglot says at a token; the last one when all is read."""
    if said.startswith("Invalid expression / Unexpected token"):
        return "", _ORDER
    if said.startswith("Required keyword"):
        side = "after" if is_last else "before"
        return (
            f"something is missing {side} it",
            f"write a column, a value or a condition {side} {token!r}",
        )
    if said.startswith("Expected table name"):
        return (
            "expected the name of a stream",
            f"write a registered stream, or (SELECT ..) alias, {'after' if is_last else 'before'}"
            f" {token!r}",
        )
    if said == UNREADABLE_CALL:
        return said, f"look up in Spark SQL what {token} takes"
    for pattern, hint in _EXPECTED:
        match = pattern.match(said)
        if match is not None:
            return _lower_first(said), hint.format(*match.groups())
    return _lower_first(said), _ORDER


def _misspelled(sql: str, span: Span) -> str:
    """A hint where the word at the place, or the one before it, is nearly a keyword.

    A misspelled keyword reads as a name, so that the trouble shows at the word behind it.
    """
    before = list(_WORD.finditer(sql, 0, span.start))[-1:]
    here = _WORD.fullmatch(sql, span.start, span.end)
    for match in [*before, *([here] if here else [])]:
        word = match[0].upper()
        near = difflib.get_close_matches(word, _KEYWORDS, n=1, cutoff=_LEAST_LIKENESS)
        if near and word not in _KEYWORDS:
            return f"{match[0]!r} may be meant as {near[0]}"
    return ""


def _token_error(error: TokenError, sql: str) -> ParseError:
    """For text that has no tokens: a quote or a comment that is not closed."""
    unclosed = _UNCLOSED.match(str(error.__cause__ or error))
    if unclosed is None:
        end = error.end or len(sql)
        return ParseError(
            "syntax",
            "the SQL cannot be read to its end",
            hint="close the comment with */, or the quote that was opened last",
        ).at(Span(max(0, end - 1), end))
    quote = unclosed[1]
    line_start = sum(len(line) + 1 for line in sql.split("\n")[: int(unclosed[2]) - 1])
    start = sql.rfind(quote, 0, line_start + int(unclosed[3]) + 1)
    return ParseError(
        "syntax",
        f"the quote {quote} is never closed",
        hint=f"write {quote} once more where the text ends",
    ).at(Span(max(start, 0), max(start, 0) + 1))


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
