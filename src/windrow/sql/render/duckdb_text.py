"""Expressions for DuckDB with the values that Spark gives them.

sqlglot translates the names of functions. What it leaves to the reader are differences in types and
in corner cases: Spark's `length` is an INT, its `floor` a BIGINT, its casts to integers cut off,
its `dayofweek` starts at 1, its FLOAT beside a whole number or a decimal a DOUBLE. They are written
out here, so that in process and on Spark one query has one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.optimizer.annotate_types import annotate_types

from windrow.errors import BindError, WindrowError
from windrow.plan.exprs import embedded
from windrow.schema import Schema
from windrow.sql.grammar.spans import (
    called_name,
    is_operand,
    is_operator,
    own_span,
    parenthesized,
    span_of,
)
from windrow.sql.grammar.syntax import UNFORESEEN, UNREADABLE_CALL
from windrow.sql.render.numbers import digits_of, note_digits, result_digits

_INTEGERS = {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT}
_SMALL = {exp.DType.TINYINT, exp.DType.SMALLINT}
_INEXACT = {exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL}
_TIMESTAMPS = {exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMP}
_WHOLE_DAYS = {"DAY", "WEEK", "MONTH", "YEAR"}

_INT_FUNCTIONS = (
    exp.Length, exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second, exp.DayOfMonth,
    exp.DayOfYear, exp.Quarter, exp.WeekOfYear, exp.StrPosition, exp.DateDiff, exp.ArraySize,
    exp.BitwiseCount,
)  # fmt: skip
"""Functions that are INT in Spark and BIGINT in DuckDB."""

_COMPARISONS: tuple[type[exp.Binary], ...] = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip

_OTHER_VALUES = {"hash": "spark_hash"}
"""Functions of one name and different values; under a name of their own DuckDB refuses them."""

_FAILURES = (*UNFORESEEN, SqlglotError)

Write = Callable[["SparkValues", Any], str]


def duckdb_text(node: exp.Expr, columns: Schema) -> str:
    """The expression as DuckDB reads it; `columns` are the types of what it reads."""
    types = {f.name: f.type for f in columns.fields}
    copy = parenthesized(node.copy())
    for column in copy.find_all(exp.Column):
        column.type = _tree_of_type(types[column.name])
    generator = SparkValues(dialect=DuckDB(), unsupported_level=ErrorLevel.IGNORE, comments=False)
    generator.types = types
    try:
        note_digits(copy, types)
        return generator.generate(copy, copy=False)
    except WindrowError:
        raise
    except _FAILURES as error:
        raise _unfit_arguments(node) from error


def _unfit_arguments(node: exp.Expr) -> BindError:
    name = called_name(node) or "an expression"
    return BindError(
        "function-arguments",
        f"{name} cannot be computed of what it is given",
        reason=UNREADABLE_CALL,
        hint=f"look up in Spark SQL what {'its functions take' if not called_name(node) else f'{name} takes'}",
    ).at(span_of(node))


@lru_cache(maxsize=1024)
def _tree_of_type(type_: str) -> exp.DataType:
    """The type as sqlglot notes it beside a column; only read there, so that one serves for all."""
    return exp.DataType.build(type_, dialect="spark", udt=True)


def _kind(node: exp.Expr) -> exp.DType | None:
    """The kind of type that a tree has, as far as sqlglot can tell."""
    if node.type is None:
        annotate_types(node, dialect="spark", overwrite_types=False)
    return node.type.this if node.type is not None else None


def _plain(kind: type[exp.Expr]) -> Write:
    """How sqlglot writes a node for DuckDB."""
    known = DuckDBGenerator.TRANSFORMS.get(kind)
    if known is not None:
        return known
    method = getattr(DuckDBGenerator, f"{kind.key}_sql", DuckDBGenerator.function_fallback_sql)
    return lambda self, node: str(method(self, node))


def _cast_to(type_: str, kind: type[exp.Expr]) -> Write:
    write = _plain(kind)
    return lambda self, node: f"CAST({write(self, node)} AS {type_})"


def _divide(self: SparkValues, node: exp.Div) -> str:
    left = self.sql(node, "this")
    if _kind(node.this) is exp.DType.FLOAT:
        left = f"CAST({left} AS DOUBLE)"
    text = f"{left} / {self.sql(node, 'expression')}"
    digits = result_digits(node, self.types)
    return f"CAST({text} AS {digits.sql})" if digits else text


def _with_int_literals(node: exp.Binary) -> exp.Binary:
    """A literal beside a TINYINT or SMALLINT is an INT, where DuckDB would narrow it."""
    for one, other in ((node.this, node.expression), (node.expression, node.this)):
        is_number = isinstance(other, exp.Literal) and not other.is_string
        if is_number and other.name.isdigit() and _kind(one) in _SMALL:
            other.replace(exp.cast(other.copy(), exp.DType.INT))
    return node


def _may_be_single(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether a tree may be a FLOAT: it has one in it, and is a floating-point number."""
    has_one = any(types.get(column.name) == "float" for column in node.find_all(exp.Column)) or any(
        cast.to.this is exp.DType.FLOAT for cast in node.find_all(exp.Cast)
    )
    return has_one and _kind(node) in _INEXACT


def _is_exact(node: exp.Expr, types: Mapping[str, str]) -> bool:
    return _kind(node) in _INTEGERS or digits_of(node, types) is not None


def _in_doubles(self: SparkValues, one: exp.Expr, *others: exp.Expr) -> None:
    """Casts a FLOAT beside a whole number or a decimal, where DuckDB would round that to a FLOAT."""
    if _may_be_single(one, self.types) and any(_is_exact(other, self.types) for other in others):
        one.replace(exp.cast(one.copy(), exp.DType.DOUBLE))


def _both_in_doubles(self: SparkValues, node: exp.Binary) -> exp.Binary:
    one, other = node.this, node.expression
    _in_doubles(self, one, other)
    _in_doubles(self, other, one)
    return node


def _compare(kind: type[exp.Expr]) -> Write:
    write = _plain(kind)
    return lambda self, node: write(self, _both_in_doubles(self, node))


def _between(self: SparkValues, node: exp.Between) -> str:
    _in_doubles(self, node.this, node.args["low"], node.args["high"])
    return _plain(exp.Between)(self, node)


def _in(self: SparkValues, node: exp.In) -> str:
    _in_doubles(self, node.this, *node.expressions)
    return _plain(exp.In)(self, node)


def _exact(self: SparkValues, node: exp.Binary, operator: str) -> str:
    """Decimal arithmetic, with room for all digits before it starts."""
    digits = result_digits(node, self.types)
    if digits is None:
        return self.binary(_both_in_doubles(self, _with_int_literals(node)), operator)
    if isinstance(node, exp.Mod):
        return f"CAST({self.binary(node, operator)} AS {digits.sql})"
    left = digits_of(node.this, self.types)
    scale = left.scale if left is not None else digits.scale
    room = f"CAST({self.sql(node, 'this')} AS DECIMAL({digits.precision}, {scale}))"
    return f"CAST({room} {operator} {self.sql(node, 'expression')} AS {digits.sql})"


def _cast(self: SparkValues, node: exp.Cast) -> str:
    """Casts to integers cut off the fraction; a timestamp becomes its seconds, or its text."""
    target, source = node.to.this, _kind(node.this)
    if target in exp.DataType.TEXT_TYPES and source in _TIMESTAMPS:  # without the zone's offset
        return f"CAST(CAST({self.sql(node, 'this')} AS TIMESTAMP) AS {self.sql(node, 'to')})"
    if target not in _INTEGERS or source not in _INEXACT | _TIMESTAMPS:
        return self.cast_sql(node)
    operand = self.sql(node, "this")
    whole = f"FLOOR(EPOCH({operand}))" if source in _TIMESTAMPS else f"TRUNC({operand})"
    return f"CAST({whole} AS {self.sql(node, 'to')})"


def _like(kind: type[exp.Expr]) -> Write:
    """LIKE: a backslash makes the character behind it mean itself, unless ESCAPE names another."""
    write = _plain(kind)

    def like(self: SparkValues, node: Any) -> str:
        pattern, text = node.expression, write(self, node)
        is_plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
        if (
            is_plain
            or isinstance(pattern, exp.Any | exp.All)
            or isinstance(node.parent, exp.Escape)
        ):
            return text
        return f"{text} ESCAPE '\\'"

    return like


def _rounded(kind: type[exp.Expr]) -> Write:
    """FLOOR and CEIL are BIGINT in Spark, but for decimals and with a scale."""
    write = _plain(kind)

    def rounded(self: SparkValues, node: Any) -> str:
        text = write(self, node)
        digits = digits_of(node.this, self.types)
        if node.args.get("decimals"):
            return text
        if digits is not None and digits.is_decimal:
            return f"CAST({text} AS DECIMAL({digits.precision - digits.scale + 1}, 0))"
        return text if _kind(node.this) is exp.DType.DECIMAL else f"CAST({text} AS BIGINT)"

    return rounded


def _shift(operator: str) -> Write:
    """A DATE plus whole days stays a DATE."""

    def shift(self: SparkValues, node: exp.Binary) -> str:
        text = _exact(self, node, operator)
        interval = node.expression
        unit = (
            interval.text("unit").upper().rstrip("S") if isinstance(interval, exp.Interval) else ""
        )
        stays = unit in _WHOLE_DAYS and _kind(node.this) is exp.DType.DATE
        return f"CAST({text} AS DATE)" if stays else text

    return shift


def _substring(self: SparkValues, node: exp.Substring) -> str:
    """Positions count from 1, and 0 means 1 too."""
    start = node.args.get("start")
    if isinstance(start, exp.Literal) and start.name == "0":
        node.set("start", exp.Literal.number(1))
    return _plain(exp.Substring)(self, node)


def _logarithm(self: SparkValues, node: exp.Log) -> str:
    base, value = node.this, node.expression
    if isinstance(base, exp.Literal) and base.name in {"2", "10"} and value is not None:
        return self.func(f"LOG{base.name}", value)
    return _plain(exp.Log)(self, node)


def _seconds(self: SparkValues, node: exp.StrToUnix) -> str:
    if _kind(node.this) in _TIMESTAMPS:
        return f"CAST(FLOOR(EPOCH({self.sql(node, 'this')})) AS BIGINT)"
    return _plain(exp.StrToUnix)(self, node)


_DAYS_OF_WEEK = {
    "DOW": "DOW FROM {}) + 1", "DAYOFWEEK": "DOW FROM {}) + 1", "DOW_ISO": "ISODOW FROM {})",
    "DAYOFWEEK_ISO": "ISODOW FROM {})",
}  # fmt: skip
"""Days of the week count from Sunday, which is 1; by ISO from Monday, which is 1."""


def _part(part: str, value: str) -> str:
    """EXTRACT: seconds have a fraction, all other parts are INT."""
    if part.upper() in _DAYS_OF_WEEK:
        return f"CAST(EXTRACT({_DAYS_OF_WEEK[part.upper()].format(value)} AS INT)"
    if part.upper() in {"SECOND", "SECONDS"}:
        return f"CAST(EXTRACT(MICROSECOND FROM {value}) / 1000000 AS DECIMAL(8, 6))"
    return f"CAST(EXTRACT({part} FROM {value}) AS INT)"


def _anonymous(self: SparkValues, node: exp.Anonymous) -> str:
    """Functions of Spark that sqlglot passes on by name."""
    name, arguments = node.name.lower(), [self.sql(argument) for argument in node.expressions]
    if name in {"isnull", "isnotnull"} and len(arguments) == 1:
        return f"(({arguments[0]}) IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
    if name == "pmod" and len(arguments) == 2:
        value, divisor = (f"({argument})" for argument in arguments)
        return f"(({value} % {divisor} + {divisor}) % {divisor})"
    if name == "date_part" and isinstance(node.expressions[0], exp.Literal):
        return _part(node.expressions[0].name, arguments[1])
    if name == "weekday" and len(arguments) == 1:
        return f"CAST(ISODOW({arguments[0]}) - 1 AS INT)"
    return self.func(_OTHER_VALUES.get(name, node.name), *node.expressions)


class SparkValues(DuckDBGenerator):
    """DuckDB's generator, with Spark's values and types."""

    types: Mapping[str, str]

    def sql(self, expression: Any, key: str | None = None, comment: bool = True) -> str:  # noqa: FBT001
        """The text of a node; of a function that becomes operators, in a parenthesis beside others."""
        try:
            text = super().sql(expression, key, comment)
        except WindrowError:
            raise
        except _FAILURES as error:
            # A part that the user did not write has no place; what it belongs to may have one.
            is_written = key is None and isinstance(expression, exp.Func) and own_span(expression)
            if not is_written:
                raise
            raise _unfit_arguments(expression) from error
        if key is None and isinstance(expression, exp.Expr) and text:
            is_made = is_operand(expression) and not is_operator(expression)
            return embedded(text) if is_made else text
        return text

    TRANSFORMS: ClassVar = {
        **DuckDBGenerator.TRANSFORMS,
        **{kind: _cast_to("INT", kind) for kind in _INT_FUNCTIONS},
        **{kind: _compare(kind) for kind in _COMPARISONS},
        exp.Between: _between,
        exp.Like: _like(exp.Like),
        exp.ILike: _like(exp.ILike),
        exp.In: _in,
        exp.DayOfWeek: lambda self, node: f"CAST({_plain(exp.DayOfWeek)(self, node)} + 1 AS INT)",
        exp.Extract: lambda self, node: _part(node.name, self.sql(node, "expression")),
        exp.TsOrDsAdd: _cast_to("DATE", exp.TsOrDsAdd),
        exp.IntDiv: _cast_to("BIGINT", exp.IntDiv),
        exp.Sign: _cast_to("DOUBLE", exp.Sign),
        exp.Div: _divide,
        exp.Mul: lambda self, node: _exact(self, node, "*"),
        exp.Mod: lambda self, node: _exact(self, node, "%"),
        exp.MonthsBetween: lambda self, node: f"ROUND({_plain(exp.MonthsBetween)(self, node)}, 8)",
        exp.StrToTime: _cast_to("TIMESTAMPTZ", exp.StrToTime),
        exp.TimestampDiff: lambda self, node: self.func(
            "DATE_SUB", exp.Literal.string(node.text("unit")), node.expression, node.this
        ),
        exp.Format: lambda self, node: self.func("PRINTF", node.this, *node.expressions),
        exp.Cast: _cast,
        exp.Floor: _rounded(exp.Floor),
        exp.Ceil: _rounded(exp.Ceil),
        exp.Add: _shift("+"),
        exp.Sub: _shift("-"),
        exp.Substring: _substring,
        exp.Log: _logarithm,
        exp.StrToUnix: _seconds,
        exp.Anonymous: _anonymous,
    }
