"""The clauses that Windrow adds to Spark's SQL, as an extension of sqlglot's Spark parser.

Added, in any case of letters:

    FROM s [RANGE w]                           a window per stream, before or after the alias
    FROM s [ROWS n]                            its newest n tuples
    FROM s [PARTITION BY k, .. ROWS n]         its newest n tuples for each k
    WINDOW = w                                 one window for every pair
    WINDOW = n ROWS                            the same, counted over all streams' tuples
    WINDOW (a, b) = w,  DWINDOW (a, b) = w     one pair; joined by commas or AND
    WINDOW (a, b) BETWEEN x PRECEDING AND y FOLLOWING      also both on one side
    .. EITHER WAY                              all DWINDOWs as written, or all reversed
    l LEFT OUTER BESTMATCH JOIN r ON l.x MINDIST r.x [WITHIN eps], .. [AND condition]
        [KEEP UNMATCHED]
    l [LEFT] ASOF JOIN r MATCH_CONDITION (l.ts >= r.ts) [ON ..] [TOLERANCE w]
        MATCH_CONDITION (l.ts NEAREST r.ts [AND l.ts <> r.ts])
    l WINDOW JOIN r [ON ..] RANGE BETWEEN x PRECEDING AND y FOLLOWING
    .. EMIT CHANGES                            the answer as a changelog
    /*+ name(value), .. */                     options of the query
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.parsers.spark2 import build_as_cast
from sqlglot.tokenizer_core import TokenType

from windrow.errors import Span
from windrow.sql.grammar.clauses import (
    HintText,
    MatchOrder,
    PairJoinParser,
    PairWindow,
    StreamWindow,
    UniformWindow,
)
from windrow.sql.grammar.refuse import window_functions
from windrow.sql.grammar.spans import mark

logging.getLogger("sqlglot").addHandler(logging.NullHandler())
"""What sqlglot remarks on is either refused by us or no trouble: without a handler it would be on the terminal."""

_STREAM_WINDOWS = {"RANGE", "ROWS", "PARTITION BY"}
_TRAILERS = {
    ("EMIT", "CHANGES"), ("KEEP", "UNMATCHED"), ("EITHER", "WAY"), ("BESTMATCH", "JOIN"),
    ("RANGE", "BETWEEN"),
}  # fmt: skip
_ALL_PAIRS = "WINDOW = INTERVAL '5' SECONDS"
_PAIR = "WINDOW (a, b) = INTERVAL '5' SECONDS"
_DIRECTED = "DWINDOW (a, b) = INTERVAL '5' SECONDS"
_BETWEEN = "WINDOW (a, b) BETWEEN INTERVAL '5' SECONDS PRECEDING AND INTERVAL '1' SECOND FOLLOWING"
_PER_STREAM = "s [RANGE INTERVAL '1' HOUR]"
_COUNTED = "s [ROWS 100]"
_BY_KEY = "s [PARTITION BY k ROWS 100]"
_BESTMATCH = "l LEFT OUTER BESTMATCH JOIN r ON l.ts MINDIST r.ts, l.x MINDIST r.x"


def _build_to_timestamp(args: list[exp.Expr], dialect: Dialect) -> exp.Expr:
    """Spark's TIMESTAMP is an instant, which sqlglot calls TIMESTAMPTZ."""
    if len(args) == 1:
        return build_as_cast("timestamptz")(args)
    built: exp.Expr = SparkParser.FUNCTIONS["TO_TIMESTAMP"](args, dialect)
    return built


class WindrowParser(PairJoinParser):
    """Spark's parser with the clauses above."""

    # Spark's ANSI mode, its default, has casts that fail rather than give NULL.
    STRICT_CAST = True

    FUNCTIONS: ClassVar = {
        **SparkParser.FUNCTIONS,
        **{name: build_as_cast(name.lower()) for name in ("TINYINT", "SMALLINT", "BIGINT")},
        "TIMESTAMP": build_as_cast("timestamptz"),
        "TO_TIMESTAMP": _build_to_timestamp,
    }

    QUERY_MODIFIER_PARSERS: ClassVar = {
        **SparkParser.QUERY_MODIFIER_PARSERS,
        TokenType.WINDOW: lambda self: ("windows", self._parse_windows()),
    }

    # Windows of single streams: FROM sales [RANGE INTERVAL '1' HOUR] AS s

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if isinstance(this, exp.Table) and self._at_stream_window():
            this.meta["stream_window"] = self._parse_stream_window()
            return this
        return super()._parse_bracket(this)

    def _parse_subquery(
        self,
        this: exp.Expr | None,
        parse_alias: bool = True,  # noqa: FBT001
    ) -> exp.Subquery | None:
        window = self._parse_stream_window() if this and self._at_stream_window() else None
        subquery = super()._parse_subquery(this, parse_alias)
        if subquery is not None and window is not None:
            subquery.meta["stream_window"] = window
        return subquery

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        table = super()._parse_table(*args, **kwargs)
        if table is not None and self._at_stream_window():
            if "stream_window" in table.meta:
                self._fail("a stream has one window", _PER_STREAM)
            table.meta["stream_window"] = self._parse_stream_window()
            if table.args.get("alias") is None:
                table.set("alias", self._parse_table_alias())
        return table

    def _at_stream_window(self) -> bool:
        return (
            self._curr.token_type == TokenType.L_BRACKET
            and self._next.text.upper() in _STREAM_WINDOWS
        )

    def _parse_stream_window(self) -> StreamWindow:
        start = self._curr.start
        self._advance()
        kind = self._curr.text.upper()
        self._advance()
        partition = self._parse_partition_columns() if kind == "PARTITION BY" else []
        if kind == "RANGE":
            window = StreamWindow(kind=kind, this=self._parse_length(_PER_STREAM))
        else:
            rows = self._required(self._parse_term(), "a number of rows", _COUNTED)
            window = StreamWindow(kind="ROWS", this=rows, partition=partition)
        if not self._match(TokenType.R_BRACKET):
            self._fail("expected ]", _PER_STREAM)
        mark(window, start, self._prev.end + 1)
        return window

    def _parse_partition_columns(self) -> list[exp.Expr]:
        columns = self._parse_csv(self._parse_bitwise)
        if not columns or not self._match_text_seq("ROWS"):
            self._fail("expected columns, then ROWS and their number", _BY_KEY)
        return columns

    def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.TableAlias | None:
        if self._at_trailer():
            return None
        return super()._parse_table_alias(*args, **kwargs)

    def _parse_alias(self, this: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(this, exp.Query) and self._at_trailer():
            return this
        return super()._parse_alias(this, *args, **kwargs)

    def _at_trailer(self) -> bool:
        """Whether words follow that end what stands before, and are no name of it."""
        word = self._curr.text.upper()
        return word == "MATCH_CONDITION" or (word, self._next.text.upper()) in _TRAILERS

    # Windows of pairs: WINDOW (a, b) = w AND DWINDOW (b, c) = w, also among the conjuncts

    def _parse_equality(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self._at_pair_window():
            return self._parse_one_window()
        return super()._parse_equality(*args, **kwargs)

    def _at_pair_window(self) -> bool:
        """Whether `WINDOW (name, name)` or `WINDOW =` follows, not Spark's window(ts, '1 hour')."""
        if self._curr.token_type != TokenType.WINDOW:
            return False
        ahead = self._tokens[self._index + 1 : self._index + 6]
        if ahead and ahead[0].token_type == TokenType.EQ:
            return True
        kinds = [token.token_type for token in ahead]
        return (
            len(kinds) == 5
            and kinds[0] == TokenType.L_PAREN
            and kinds[2] == TokenType.COMMA
            and kinds[4] == TokenType.R_PAREN
        )

    def _parse_windows(self) -> list[exp.Expr]:
        windows = [self._parse_one_window()]
        while self._match(TokenType.COMMA) or self._match(TokenType.AND) or self._at_pair_window():
            windows.append(self._parse_one_window())
        return windows

    def _parse_one_window(self) -> exp.Expr:
        start = self._curr.start
        if not self._match(TokenType.WINDOW):
            self._fail("expected WINDOW or DWINDOW", f"{_PAIR} AND {_DIRECTED}")
        keyword = self._prev.text.upper()
        if self._match(TokenType.EQ):
            if keyword == "DWINDOW":
                self._fail("DWINDOW names its two streams", _DIRECTED)
            window: exp.Expr = UniformWindow(this=self._parse_length(_ALL_PAIRS))
        elif self._match(TokenType.L_PAREN):
            window = self._parse_pair_window(directed=keyword == "DWINDOW")
        elif self._next.token_type == TokenType.ALIAS:
            place = Span(start, self._curr.end + 1)
            raise window_functions("named windows are not supported").at(place)
        else:
            self._fail(
                "expected = or (first stream, second stream) after WINDOW", _ALL_PAIRS, _PAIR
            )
        if self._match_text_seq("ROWS"):
            window.set("rows", True)
        if self._match_text_seq("EITHER", "WAY"):
            window.set("either_way", True)
        mark(window, start, self._prev.end + 1)
        return window

    def _parse_pair_window(self, *, directed: bool) -> PairWindow:
        usual = _DIRECTED if directed else _PAIR
        left = self._required(self._parse_id_var(any_token=False), "the name of a stream", usual)
        if not self._match(TokenType.COMMA):
            self._fail("expected , and a second stream", usual)
        right = self._required(self._parse_id_var(any_token=False), "the name of a stream", usual)
        self._match_r_paren()
        if self._match(TokenType.EQ):
            length = self._parse_length(usual)
            return PairWindow(left=left, right=right, directed=directed, this=length)
        if directed or not self._match(TokenType.BETWEEN):
            self._fail("expected = and a length", *([usual] if directed else [_PAIR, _BETWEEN]))
        ends = self._parse_ends(self._parse_end_of_window, _BETWEEN)
        return PairWindow(left=left, right=right, directed=False, **ends)

    # Bestmatch joins: l LEFT OUTER BESTMATCH JOIN r ON l.x MINDIST r.x WITHIN eps, ..

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        own = self._parse_bestmatch_join() or self._parse_pair_join()
        return own or super()._parse_join(*args, **kwargs)

    def _parse_bestmatch_join(self) -> exp.Join | None:
        start, index = self._curr.start, self._index
        side = self._parse_side()
        self._match(TokenType.OUTER)
        if not self._match_text_seq("BESTMATCH", "JOIN"):
            self._retreat(index)
            return None
        table = self._required(self._parse_table(), "a stream after BESTMATCH JOIN", _BESTMATCH)
        join = exp.Join(this=table, side=side, kind="BESTMATCH")
        if self._match(TokenType.ON):
            join.set("expressions", self._parse_csv(self._parse_match_order))
            if self._match(TokenType.AND):
                join.set("on", self._required(self._parse_conjunction(), "a condition", _BESTMATCH))
        self._match_keep_unmatched(join)
        mark(join, start, self._prev.end + 1)
        return join

    def _parse_match_order(self) -> exp.Expr:
        start = self._curr.start
        left = self._required(
            self._parse_bitwise(), "a dimension such as l.x MINDIST r.x", _BESTMATCH
        )
        order = self._curr.text.upper()
        if self._curr.token_type == TokenType.VAR:
            self._advance()
            right = self._parse_bitwise()
        else:
            order, right = "", None
        within = self._parse_bitwise() if self._match_text_seq("WITHIN") else None
        node = MatchOrder(this=left, expression=right, order=order, within=within)
        mark(node, start, self._prev.end + 1)
        return node

    def _match_keep_unmatched(self, node: exp.Expr) -> None:
        start = self._curr.start
        if self._match_text_seq("KEEP", "UNMATCHED"):
            node.meta["keep_unmatched"] = (start, self._prev.end + 1)

    # The end of a query, and options as a hint

    def _parse_query_modifiers(self, this: Any) -> Any:
        this = super()._parse_query_modifiers(this)
        if isinstance(this, exp.Select):
            self._match_keep_unmatched(this)
        if isinstance(this, exp.Query):
            start = self._curr.start
            if self._match_text_seq("EMIT", "CHANGES"):
                # Parentheses around all of a query do not stay in its tree.
                inner = this.unnest() if isinstance(this, exp.Subquery) else this
                inner.meta["emit_changes"] = (start, self._prev.end + 1)
        return this

    def _parse_hint(self) -> exp.Hint | None:
        if not self._match(TokenType.HINT):
            return None
        text = self._prev.comments[0] if self._prev.comments else ""
        hint = exp.Hint(expressions=[HintText(this=text)])
        mark(hint, self._prev.start, self._prev.end + 1)
        return hint


class Windrow(Spark):
    """Spark's dialect with Windrow's clauses."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens; DWINDOW is a second spelling of the keyword WINDOW.

        In a string a quote is written twice, or behind a backslash, as in Spark from 4.0 on.
        """

        STRING_ESCAPES: ClassVar = [*Spark.Tokenizer.STRING_ESCAPES, "'", '"']

        KEYWORDS: ClassVar = {**Spark.Tokenizer.KEYWORDS, "DWINDOW": TokenType.WINDOW}

    Parser = WindrowParser
