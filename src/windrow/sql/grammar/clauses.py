"""The clauses that Windrow adds to SQL: their tree nodes, and the parsers that read them.

The parsers are sqlglot's for Spark with places, ranks and joins of our own, one class over the other.

1. `SpannedParser`: the place of every expression is kept. sqlglot remembers where names and literals
   stand; messages that point at a condition, and Spark text that is what the user wrote, need the place
   of whole expressions as well.
2. Operators in the ranks that Spark gives them; sqlglot gives some of them ranks of other engines:

       * / % DIV  before  + - ||  before  << >>  before  &  before  ^  before  |

3. Joins of two streams by time alone, as clauses of FROM: ASOF JOIN and WINDOW JOIN, written as
   `dialect.py` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError as SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from windrow.errors import ParseError, Span
from windrow.sql.grammar.spans import mark, name_call, span_of
from windrow.sql.grammar.syntax import UNFORESEEN, UNREADABLE_CALL


class StreamWindow(exp.Expression):
    """`[RANGE w]`, `[ROWS n]` or `[PARTITION BY k ROWS n]` after a stream."""

    arg_types: ClassVar = {"kind": True, "this": True, "partition": False}


class UniformWindow(exp.Expression):
    """`WINDOW = w`: one window for every pair of streams."""

    arg_types: ClassVar = {"this": True, "rows": False, "either_way": False}


class PairWindow(exp.Expression):
    """`WINDOW (left, right) = w`, the same with BETWEEN, or `DWINDOW (left, right) = w`."""

    arg_types: ClassVar = {
        **dict.fromkeys(("left", "right"), True),
        **dict.fromkeys(("directed", "this", "first", "last", "rows", "either_way"), False),
    }


class MatchOrder(exp.Expression):
    """`left order right [WITHIN eps]`: one dimension of a bestmatch join."""

    arg_types: ClassVar = {"this": True, "expression": False, "order": True, "within": False}


class AsofCondition(exp.Expression):
    """`left >= right [TOLERANCE w]`: which times an as-of join matches.

    `operator` is >=, >, <=, < or NEAREST; `apart` the `left <> right` that may follow the last.
    """

    arg_types: ClassVar = {
        **dict.fromkeys(("this", "expression", "operator"), True),
        **dict.fromkeys(("apart", "tolerance"), False),
    }


class RangeWindow(exp.Expression):
    """`RANGE BETWEEN first PRECEDING AND last FOLLOWING`: which rows a WINDOW JOIN counts."""

    arg_types: ClassVar = {"first": True, "last": True}


class WindowEnd(exp.Expression):
    """`length PRECEDING` or `length FOLLOWING`: how far an end of a window is, and on which side."""

    arg_types: ClassVar = {"this": True, "is_before": True}


class AggregateCall(exp.Expression, exp.AggFunc):
    """A call of an aggregate that Windrow computes; `function` is its name in the registry.

    `this` is the first argument, or DISTINCT with some or all of them; `expressions` are the others.
    """

    arg_types: ClassVar = {"function": True, "this": False, "expressions": False}

    @property
    def is_distinct(self) -> bool:
        """Whether DISTINCT stands before the arguments."""
        return isinstance(self.this, exp.Distinct)

    @property
    def arguments(self) -> list[exp.Expr]:
        """The arguments, with DISTINCT before them or without."""
        if self.this is None:
            return []
        first = self.this.expressions if self.is_distinct else [self.this]
        return [*first, *self.expressions]


class OtherAggregate(exp.Expression, exp.AggFunc):
    """A call of an aggregate that Windrow does not compute and sqlglot has no node for."""

    arg_types: ClassVar = {"this": False, "expressions": False}


class HintText(exp.Expression):
    """The text between `/*+` and `*/`."""

    arg_types: ClassVar = {"this": True}


WindowClause = UniformWindow | PairWindow


_NO_TOKEN = Token.string("")

_MARKED = (
    "_parse_column", "_parse_function", "_parse_paren", "_parse_unary", "_parse_factor",
    "_parse_term", "_parse_bitwise", "_parse_range", "_parse_comparison", "_parse_equality",
    "_parse_conjunction", "_parse_disjunction", "_parse_expression", "_parse_table", "_parse_join",
    "_parse_lateral", "_parse_group", "_parse_having", "_parse_order", "_parse_limit",
    "_parse_offset", "_parse_qualify", "_parse_with", "_parse_select_query",
)  # fmt: skip
"""What returns a node that has a place, from the inside out: whichever returns a node first knows
the tightest text of it."""


class SpannedParser(SparkParser):
    """Spark's parser; every expression it returns knows the text it was read from.

    Calls of functions know the name that was written, too: sqlglot has one node for many names.
    """

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        token = self._curr
        try:
            node = super()._parse_function_call(*args, **kwargs)
        except UNFORESEEN:
            self.raise_error(UNREADABLE_CALL, token)
            raise
        if node is not None:
            name_call(node, token.text)
        return node

    def raise_error(self, message: str, token: Token = _NO_TOKEN) -> None:
        """Raises sqlglot's error with the offsets of the token added."""
        token = token if token.text else self._curr or self._prev
        try:
            super().raise_error(message, token)
        except SqlglotError as error:
            error.errors[0].update(
                start=token.start, end=token.end + 1, token=token.text, is_last=not self._curr
            )
            raise


def _marking(parse: Callable[..., Any]) -> Callable[..., Any]:
    """A parse method that marks what it returns with the text it has consumed."""

    @wraps(parse)
    def parse_and_mark(self: SpannedParser, *args: Any, **kwargs: Any) -> Any:
        start, index = self._curr.start, self._index
        # `x IS NULL`: the parser has read x, and hands it to the method that goes on from IS.
        begun = span_of(args[0]) if args and isinstance(args[0], exp.Expr) else None
        node = parse(self, *args, **kwargs)
        if isinstance(node, exp.Expr) and self._index > index:
            mark(node, start if begun is None else begun.start, self._prev.end + 1)
        return node

    return parse_and_mark


for _method in _MARKED:
    setattr(SpannedParser, _method, _marking(getattr(SparkParser, _method)))


_LAST_FIRST: tuple[tuple[TokenType, type[exp.Binary]], ...] = (
    (TokenType.PIPE, exp.BitwiseOr),
    (TokenType.CARET, exp.BitwiseXor),
    (TokenType.AMP, exp.BitwiseAnd),
)


def _concatenated(this: exp.Expr, expression: exp.Expr) -> exp.DPipe:
    return exp.DPipe(this=this, expression=expression, safe=True)


class RankedParser(SpannedParser):
    """Spark's parser, with Spark's ranks."""

    BITWISE: ClassVar[dict[TokenType, Any]] = {}
    TERM: ClassVar[dict[TokenType, Any]] = {**SparkParser.TERM, TokenType.DPIPE: _concatenated}

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._parse_ranked(0)

    def _parse_ranked(self, rank: int) -> exp.Expr | None:
        """Operands of one rank, each of operators of the ranks behind it, from left to right."""
        if rank == len(_LAST_FIRST):
            return super()._parse_bitwise()
        token, kind = _LAST_FIRST[rank]
        start = self._curr.start
        this = self._parse_ranked(rank + 1)
        while self._match(token):
            this = self.expression(kind(this=this, expression=self._parse_ranked(rank + 1)))
            mark(this, start, self._prev.end + 1)
        return this


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
        ).at(Span(token.start, token.end + 1))

    def _required(self, node: exp.Expr | None, what: str, usual: str) -> exp.Expr:
        """The node; where there is none, an error that shows how such a clause is written."""
        return self._fail(f"expected {what}", usual) if node is None else node

    def _parse_length(self, usual: str) -> exp.Expr:
        return self._required(self._parse_term(), "a length such as INTERVAL '5' SECONDS", usual)

    def _parse_ends(self, parse: Callable[[str], WindowEnd], usual: str) -> dict[str, WindowEnd]:
        """The two ends behind BETWEEN, each read by `parse`."""
        first = parse(usual)
        if not self._match(TokenType.AND):
            self._fail("expected AND", usual)
        return {"first": first, "last": parse(usual)}

    def _parse_end_of_window(self, usual: str) -> WindowEnd:
        length = self._parse_length(usual)
        is_before = bool(self._match_text_seq("PRECEDING"))
        if not is_before and not self._match_text_seq("FOLLOWING"):
            self._fail("expected PRECEDING or FOLLOWING", usual)
        return WindowEnd(this=length, is_before=is_before)


_ASOF = "l ASOF JOIN r MATCH_CONDITION (l.ts >= r.ts) ON l.k = r.k"
_NEAREST = "MATCH_CONDITION (l.ts NEAREST r.ts AND l.ts <> r.ts)"
_RANGE = (
    "l WINDOW JOIN r ON l.k = r.k RANGE BETWEEN INTERVAL '5' SECONDS PRECEDING"
    " AND INTERVAL '1' SECOND FOLLOWING"
)
_SIDES = {TokenType.LEFT, TokenType.RIGHT, TokenType.FULL}
_OPERATORS = {TokenType.GTE: ">=", TokenType.GT: ">", TokenType.LTE: "<=", TokenType.LT: "<"}


class PairJoinParser(ClauseParser):
    """Spark's parser with joins of two streams by time."""

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
        window = RangeWindow(**self._parse_ends(self._parse_end_of_range, _RANGE))
        mark(window, start, self._prev.end + 1)
        return window

    def _parse_end_of_range(self, usual: str) -> WindowEnd:
        if self._match_text_seq("CURRENT", "ROW"):
            return WindowEnd(this=exp.Literal.number(0), is_before=False)
        if self._curr.text.upper() == "UNBOUNDED":
            self._fail("the range has two ends, or rows would be kept forever", usual)
        return self._parse_end_of_window(usual)
