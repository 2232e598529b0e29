"""Joins of two streams by time alone, as clauses of FROM.

Added, in any case of letters:

    l [LEFT] ASOF JOIN r MATCH_CONDITION (l.ts >= r.ts) [ON ..] [TOLERANCE w]
    MATCH_CONDITION (l.ts NEAREST r.ts [AND l.ts <> r.ts])
    l WINDOW JOIN r [ON ..] RANGE BETWEEN x PRECEDING AND y FOLLOWING
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from windrow.sql.clause_parser import ClauseParser
from windrow.sql.clauses import AsofCondition, RangeWindow
from windrow.sql.spans import mark

_ASOF = "l ASOF JOIN r MATCH_CONDITION (l.ts >= r.ts) ON l.k = r.k"
_NEAREST = "MATCH_CONDITION (l.ts NEAREST r.ts AND l.ts <> r.ts)"
_RANGE = (
    "l WINDOW JOIN r ON l.k = r.k RANGE BETWEEN INTERVAL '5' SECONDS PRECEDING"
    " AND INTERVAL '1' SECOND FOLLOWING"
)
_SIDES = {TokenType.LEFT, TokenType.RIGHT, TokenType.FULL}
_OPERATORS = {
    TokenType.GTE: ">=",
    TokenType.GT: ">",
    TokenType.LTE: "<=",
    TokenType.LT: "<",
}


class PairJoinParser(ClauseParser):
    """Spark's parser with the joins above."""

    def _parse_pair_join(self) -> exp.Join | None:
        """The join of our own that follows; None, and nothing read, where none does."""
        start, index = self._curr.start, self._index
        side = self._parse_side()
        if self._match_text_seq("ASOF"):
            side = side or self._parse_side()
            if self._match(TokenType.JOIN):
                return self._parse_asof_join(start, side)
        elif self._match_text_seq("WINDOW", "JOIN"):
            return self._parse_window_join(start, side)
        self._retreat(index)
        return None

    def _parse_side(self) -> str:
        side = self._prev.text.upper() if self._match_set(_SIDES) else ""
        if side:
            self._match(TokenType.OUTER)
        return side

    def _parse_asof_join(self, start: int, side: str) -> exp.Join:
        table = self._required(self._parse_table(), "a stream after ASOF JOIN", _ASOF)
        join = exp.Join(this=table, side=side, kind="ASOF")
        if not self._match_text_seq("MATCH_CONDITION"):
            self._fail("an as-of join says in MATCH_CONDITION which times match", _ASOF)
        condition = self._parse_match_condition()
        join.set("match_condition", condition)
        if self._match(TokenType.ON):
            join.set("on", self._required(self._parse_disjunction(), "a condition", _ASOF))
        if self._match_text_seq("TOLERANCE"):
            usual = f"{_ASOF} TOLERANCE INTERVAL '5' SECONDS"
            condition.set("tolerance", self._parse_length(usual))
        mark(join, start, self._prev.end + 1)
        return join

    def _parse_match_condition(self) -> AsofCondition:
        if not self._match(TokenType.L_PAREN):
            self._fail("expected ( after MATCH_CONDITION", _ASOF)
        start = self._curr.start
        left = self._required(self._parse_bitwise(), "the time of a stream", _ASOF)
        operator = _OPERATORS.get(self._curr.token_type, self._curr.text.upper())
        if operator not in {*_OPERATORS.values(), "NEAREST"}:
            self._fail("expected >=, >, <=, < or NEAREST", _ASOF, _NEAREST)
        self._advance()
        right = self._required(self._parse_bitwise(), "the time of the other stream", _ASOF)
        condition = AsofCondition(this=left, expression=right, operator=operator)
        if operator == "NEAREST" and self._match(TokenType.AND):
            condition.set("apart", self._parse_apart())
        mark(condition, start, self._prev.end + 1)
        if not self._match(TokenType.R_PAREN):
            self._fail("expected )", _ASOF, _NEAREST)
        return condition

    def _parse_apart(self) -> exp.Expr:
        """`l.ts <> r.ts` behind NEAREST."""
        apart = self._parse_equality()
        if not isinstance(apart, exp.NEQ):
            self._fail("expected that the two times differ", _NEAREST)
        return apart

    def _parse_window_join(self, start: int, side: str) -> exp.Join:
        table = self._required(self._parse_table(), "a stream after WINDOW JOIN", _RANGE)
        join = exp.Join(this=table, side=side, kind="WINDOW")
        if self._match(TokenType.ON):
            join.set("on", self._required(self._parse_disjunction(), "a condition", _RANGE))
        join.set("match_condition", self._parse_range_window())
        mark(join, start, self._prev.end + 1)
        return join

    def _parse_range_window(self) -> RangeWindow:
        start = self._curr.start
        if not self._match_text_seq("RANGE", "BETWEEN"):
            self._fail("a WINDOW JOIN says in RANGE BETWEEN which rows are counted", _RANGE)
        first, is_first_before = self._parse_end_of_range()
        if not self._match(TokenType.AND):
            self._fail("expected AND", _RANGE)
        last, is_last_before = self._parse_end_of_range()
        window = RangeWindow(
            first=first,
            is_first_before=is_first_before,
            last=last,
            is_last_before=is_last_before,
        )
        mark(window, start, self._prev.end + 1)
        return window

    def _parse_end_of_range(self) -> tuple[exp.Expr, bool]:
        """A length, and whether it leads back in time; CURRENT ROW is none."""
        if self._match_text_seq("CURRENT", "ROW"):
            return exp.Literal.number(0), False
        if self._curr.text.upper() == "UNBOUNDED":
            self._fail("the range has two ends, or rows would be kept for ever", _RANGE)
        return self._parse_end_of_window(_RANGE)
