"""What all our clauses are read with: errors that show how a clause is written."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from windrow.errors import ParseError, Span
from windrow.sql.ranked_parser import RankedParser


class ClauseParser(RankedParser):
    """Spark's parser, with means to read clauses of our own."""

    def _fail(self, reason: str, *examples: str) -> NoReturn:
        """Raises our error at once: sqlglot would take its own for "no table here" after a comma.

        The examples show how such a clause is written.
        """
        token = self._curr or self._prev
        raise ParseError(
            "syntax",
            f"the SQL cannot be read at {token.text!r}",
            reason=reason,
            hint=f"for instance  {',  or  '.join(examples)}",
            span=Span(token.start, token.end + 1),
        )

    def _required(self, node: exp.Expr | None, what: str, usual: str) -> exp.Expr:
        """The node; where there is none, an error that shows how such a clause is written."""
        return self._fail(f"expected {what}", usual) if node is None else node

    def _parse_length(self, usual: str) -> exp.Expr:
        return self._required(self._parse_term(), "a length such as INTERVAL '5' SECONDS", usual)

    def _parse_end_of_window(self, usual: str) -> tuple[exp.Expr, bool]:
        """A length, and whether it leads back in time."""
        length = self._parse_length(usual)
        is_before = bool(self._match_text_seq("PRECEDING"))
        if not is_before and not self._match_text_seq("FOLLOWING"):
            self._fail("expected PRECEDING or FOLLOWING", usual)
        return length, is_before
