"""Expressions, as the two engines that evaluate them will read them, and room to read deep ones.

Windrow evaluates next to no SQL expressions itself: Spark does on Spark, DuckDB does in process. An
expression is therefore carried as the text for either engine, with the columns it reads. Column
names inside the texts are the flat names of the plan (`a.price` is one quoted name).

Three things are told apart from the text, because Windrow does them itself: calls of the user's
functions, plain comparisons of two columns, which joins test in their own loops, and bands, by
which joins look tuples up.

**Room** (`deep_calls`): a query may have more levels than Python lets functions have. Python counts
a thread's calls and stops at 1,000, of which the caller may have used any number. While a query is
read and planned the limit is higher; the stated limits of queries hold long before it. The limit is
one for all threads, so the first that enters raises it, and the last that leaves puts it back.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from windrow.errors import PlanError, Span
from windrow.plan.functions import UserFunction


@dataclass(frozen=True)
class Expr:
    """One SQL expression over the columns of one relation.

    Attributes:
        text: what the user wrote, for EXPLAIN.
        spark: the expression for Spark's `selectExpr` and `filter`.
        duckdb: the same for DuckDB.
        columns: the flat column names it reads, each once, in order of appearance.
        type: the Spark type of its value.
        calls: the calls of the user's functions in it. DuckDB is given their values: its text
            names each call's column where Spark's has the call.
        comparisons: where it is nothing but comparisons that must all hold, these.
        bands: differences of columns outside of which it is never true.
        is_portable: whether DuckDB gives it the value that the session's engine gives.
        span: where it stands in the SQL; None for what nobody wrote.
    """

    text: str
    spark: str
    duckdb: str
    columns: tuple[str, ...]
    type: str
    calls: tuple[Call, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    bands: tuple[Band, ...] = ()
    is_portable: bool = True
    span: Span | None = field(default=None, compare=False)

    @property
    def is_column(self) -> bool:
        """Whether it only names a column."""
        return len(self.columns) == 1 and self.spark == quote_spark(self.columns[0])

    @property
    def is_call(self) -> bool:
        """Whether it only calls a function of the user's."""
        return len(self.calls) == 1 and self.duckdb == quote_duckdb(self.calls[0].column)

    @property
    def read_by_duckdb(self) -> tuple[str, ...]:
        """The columns that the text for DuckDB names, values of calls among them."""
        names = (*self.columns, *(call.column for call in self.calls))
        return tuple(name for name in names if quote_duckdb(name) in self.duckdb)


@dataclass(frozen=True)
class Call:
    """A call of a user's function; `column` stands for its value in DuckDB's text."""

    function: UserFunction
    arguments: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False)

    @property
    def column(self) -> str:
        """A name that equal calls share and no other has; a `$` marks what no user wrote."""
        return f"${self.function.name}({', '.join(a.duckdb for a in self.arguments)})"


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a column plus a constant, of a Spark type."""

    column: str
    shift: int | float
    type: str


@dataclass(frozen=True)
class Comparison:
    """`left operator right` between numbers or times; the operator one of < <= > >= <>."""

    left: Side
    operator: str
    right: Side


ABOVE, ALWAYS, NEVER = "above", "always", "never"
"""What a band knows of NaN."""


@dataclass(frozen=True)
class Band:
    """`low <= left - right <= high`, which a predicate implies; it need not follow from it.

    Attributes:
        left: a column of numbers or times.
        right: another.
        low: the least difference; None for none. Times differ by ticks.
        high: the greatest; None for none.
        scale: of decimals, the digits behind the point that all four are counted in.
        rounding: of floating-point numbers, how far a sum may be off, relative to what takes part
            in it; None where all are whole numbers.
        constants: of floating-point numbers, the size of the constants that take part.
        nan: of floating-point numbers, which pairs with a NaN the predicate is true for: those by
            its place `ABOVE` all numbers, or, where columns are taken from each other, `ALWAYS`
            or `NEVER`.
    """

    left: str
    right: str
    low: int | float | None
    high: int | float | None
    scale: int = 0
    rounding: float | None = None
    constants: float = 0.0
    nan: str = ABOVE

    @property
    def turned(self) -> Band:
        """The same with the columns exchanged."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return replace(self, left=self.right, right=self.left, low=low, high=high)


@dataclass(frozen=True)
class Named:
    """An expression with the name of the column it makes."""

    name: str
    expr: Expr


_NAME = r"""(?:\w+|"(?:[^"]|"")+"|`(?:[^`]|``)+`)"""
_WHOLE = re.compile(rf"""{_NAME}|\d+\.\d+|'[^'\\]*'""")
_HEAD = re.compile(rf"(?!not\b){_NAME}?\(", re.IGNORECASE)
_TOKENS = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[()]""", re.DOTALL)


def quote_spark(name: str) -> str:
    """A flat column name as Spark reads it."""
    return "`" + name.replace("`", "``") + "`"


def quote_duckdb(name: str) -> str:
    """A flat column name as DuckDB reads it."""
    return '"' + name.replace('"', '""') + '"'


def embedded(text: str) -> str:
    """An expression's text as a part of another one: in a parenthesis, unless nothing can tear it."""
    return text if _WHOLE.fullmatch(text) or _is_one_call(text) else f"({text})"


def _is_one_call(text: str) -> bool:
    """Whether a text is one parenthesis, or one call, from its first letter to its last."""
    if not _HEAD.match(text) or not text.endswith(")"):
        return False
    depth, end = 0, 0
    for token in _TOKENS.finditer(text):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        end = token.end()
        if token[0] == ")" and not depth:
            break
    return not depth and end == len(text)


def column(name: str, type_: str) -> Expr:
    """The expression that names a column."""
    return Expr(name, quote_spark(name), quote_duckdb(name), (name,), type_)


EVENT_TIME = Expr("event time", quote_spark("__time"), quote_duckdb("__time"), (), "bigint")
"""The event time of a row in ticks, which it has beside its columns; projections alone compute it."""


def functions_of(expressions: Iterable[Expr]) -> tuple[UserFunction, ...]:
    """The user's functions that expressions call, each once, those of arguments too."""
    found: dict[UserFunction, None] = {}
    for call in (call for expr in expressions for call in expr.calls):
        found |= dict.fromkeys(functions_of(call.arguments))
        found[call.function] = None
    return tuple(found)


# A quoted name can only be told from the inside of a string literal by reading both. Strings come
# first in each alternation, so that a quote within one never starts a name.
_SPARK = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|(?P<name>`(?:[^`]|``)+`)""", re.S)
_DUCKDB = re.compile(r"""[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|(?P<name>"(?:[^"]|"")+")""", re.S)


def rename(expr: Expr, new_names: Mapping[str, str]) -> Expr:
    """The expression over other column names; `text` stays as the user wrote it."""

    def new(name: str) -> str:
        return new_names.get(name, name)

    calls = tuple(
        replace(call, arguments=tuple(rename(argument, new_names) for argument in call.arguments))
        for call in expr.calls
    )
    values = {old.column: new.column for old, new in zip(expr.calls, calls, strict=True)}
    spark = {quote_spark(old): quote_spark(new) for old, new in new_names.items()}
    duckdb = {quote_duckdb(old): quote_duckdb(new) for old, new in {**new_names, **values}.items()}
    return replace(
        expr,
        spark=_substitute(_SPARK, expr.spark, spark),
        duckdb=_substitute(_DUCKDB, expr.duckdb, duckdb),
        columns=tuple(dict.fromkeys(map(new, expr.columns))),
        calls=calls,
        comparisons=tuple(
            replace(
                own,
                left=replace(own.left, column=new(own.left.column)),
                right=replace(own.right, column=new(own.right.column)),
            )
            for own in expr.comparisons
        ),
        bands=tuple(replace(b, left=new(b.left), right=new(b.right)) for b in expr.bands),
    )


def _substitute(tokens: re.Pattern[str], text: str, quoted: Mapping[str, str]) -> str:
    def one(match: re.Match[str]) -> str:
        found = match["name"]
        return match[0] if found is None else quoted.get(found, found)

    return tokens.sub(one, text)


ROOM = 30_000
"""Calls within calls; the deepest legal query takes about 8,000."""

FEW_LEVELS = 20
"""Operators above one another that fit into what Python allows by itself."""

_lock = threading.Lock()
_state = {"inside": 0, "before": 0}


@contextmanager
def deep_calls() -> Iterator[None]:
    """Lets calls go deeper; what is too deep even so is an error of ours."""
    with _lock:
        if not _state["inside"]:
            _state["before"] = sys.getrecursionlimit()
            sys.setrecursionlimit(max(ROOM, _state["before"]))
        _state["inside"] += 1
    try:
        yield
    except RecursionError:
        raise PlanError(
            "query-too-deep",
            "the query is nested too deeply",
            reason="each parenthesis, function and subquery takes room on the stack",
            hint="compute the inner part in a stream or a query of its own",
        ) from None
    finally:
        with _lock:
            _state["inside"] -= 1
            if not _state["inside"]:
                sys.setrecursionlimit(_state["before"])
