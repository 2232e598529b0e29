"""Renames columns inside an expression's texts, for moving it to the other side of a projection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from windrow.plan.exprs import Band, Comparison, Expr, quote_duckdb, quote_spark

# A quoted name can only be told from the inside of a string literal by reading both. Strings come
# first in each alternation, so that a quote within one never starts a name.
_SPARK = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|(?P<name>`(?:[^`]|``)+`)""", re.S)
_DUCKDB = re.compile(r"""[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|(?P<name>"(?:[^"]|"")+")""", re.S)


def rename(expr: Expr, new_names: Mapping[str, str]) -> Expr:
    """The expression over other column names; `text` stays as the user wrote it."""
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
        columns=tuple(dict.fromkeys(new_names.get(name, name) for name in expr.columns)),
        calls=calls,
        comparisons=tuple(_renamed(comparison, new_names) for comparison in expr.comparisons),
        bands=tuple(_renamed_band(band, new_names) for band in expr.bands),
    )


def _renamed(comparison: Comparison, new_names: Mapping[str, str]) -> Comparison:
    left, right = (
        replace(side, column=new_names.get(side.column, side.column))
        for side in (comparison.left, comparison.right)
    )
    return replace(comparison, left=left, right=right)


def _renamed_band(band: Band, new_names: Mapping[str, str]) -> Band:
    left, right = (new_names.get(name, name) for name in (band.left, band.right))
    return replace(band, left=left, right=right)


def _substitute(tokens: re.Pattern[str], text: str, quoted: Mapping[str, str]) -> str:
    def one(match: re.Match[str]) -> str:
        found = match["name"]
        return match[0] if found is None else quoted.get(found, found)

    return tokens.sub(one, text)
