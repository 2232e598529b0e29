"""Operators in the ranks that Spark gives them; sqlglot gives some of them ranks of other engines.

* / % DIV  before  + - ||  before  << >>  before  &  before  ^  before  |
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from windrow.sql.spanned_parser import SpannedParser
from windrow.sql.spans import mark

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
