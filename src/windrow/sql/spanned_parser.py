"""sqlglot's Spark parser, with the place of every expression kept.

sqlglot remembers where names and literals stand. Messages that point at a condition, and Spark
text that is what the user wrote, need the place of whole expressions as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token

from windrow.sql.spans import mark, name_call, span_of
from windrow.sql.syntax import UNFORESEEN, UNREADABLE_CALL

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
        except ParseError as error:
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
