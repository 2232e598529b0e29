"""What the installed DuckDB says of its functions.

A macro is what its definition calls: `geomean(x)` is `exp(avg(ln(x)))`, an aggregate.
"""

from __future__ import annotations

import re
from functools import lru_cache

from windrow.operators.duckdb_engine import connect
from windrow.plan.functions import FunctionKinds

KEYWORDS = frozenset(
    {"current_timestamp", "current_date", "current_time", "localtimestamp", "localtime"}
)
"""Functions that SQL also writes without parentheses; their values are of the moment."""

_CALLED_CONSISTENT = frozenset({"current_localtime", "current_localtimestamp"})
"""Clocks that DuckDB's catalog calls consistent: two queries are given two values."""

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?P<quoted>(?:[^"]|"")+)"(?P<opens>\s*\()? | (?P<word>[^\W\d]\w*)(?P<calls>\s*\()?""",
    re.VERBOSE,
)
_ROW_MAKER = "unnest"


def called(text: str) -> frozenset[str]:
    """The functions that an expression of DuckDB calls, in lower case."""
    names = set()
    for token in _TOKEN.finditer(text):
        if token["opens"]:
            names.add(token["quoted"].lower())
        elif token["word"] and (token["calls"] or token["word"].lower() in KEYWORDS):
            names.add(token["word"].lower())
    return frozenset(names)


@lru_cache(maxsize=1)
def duckdb_kinds() -> FunctionKinds:
    """The kinds of all functions that the installed DuckDB has."""
    import duckdb

    rows = (
        connect()
        .execute(
            "SELECT DISTINCT lower(function_name), function_type, stability, macro_definition"
            " FROM duckdb_functions()"
        )
        .fetchall()
    )
    macros = {
        (name, called(definition))
        for name, type_, _, definition in rows
        if type_ == "macro" and definition
    }
    volatile = {name for name, _, stability, _ in rows if stability not in {None, "CONSISTENT"}}
    return FunctionKinds(
        duckdb.__version__,
        _with_macros({name for name, type_, *_ in rows if type_ == "aggregate"}, macros),
        frozenset(name for name, type_, *_ in rows if type_ == "window"),
        _with_macros({_ROW_MAKER}, macros),
        _with_macros(volatile | KEYWORDS | _CALLED_CONSISTENT, macros),
    )


def _with_macros(names: set[str], macros: set[tuple[str, frozenset[str]]]) -> frozenset[str]:
    """The names, and those of macros that call one, directly or by another macro."""
    found = set(names)
    while True:
        more = {name for name, calls in macros if calls & found} - found
        if not more:
            return frozenset(found)
        found |= more
