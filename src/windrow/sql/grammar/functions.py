"""Functions by the names they are called by: which aggregate is meant, and what is refused.

The engines' own catalogs say which names are aggregates, functions for OVER, makers of rows and
volatile: `function_catalog.json`, which scripts/function_catalog.py makes from what Spark and DuckDB
say of their functions, and tests compare with the engines. The dialect is Spark's: where it has a name, its word counts, and
DuckDB's for all other names. The user's own functions come before both.
"""

from __future__ import annotations

import json
from collections.abc import Container
from pathlib import Path

from sqlglot import exp

from windrow.plan.aggregates import AGGREGATES
from windrow.plan.functions import FunctionKinds
from windrow.sql.grammar.clauses import AggregateCall, OtherAggregate
from windrow.sql.grammar.spans import called_name, name_call

_FOUND = json.loads(Path(__file__).with_name("function_catalog.json").read_text("utf-8"))


def _kinds(engine: str) -> FunctionKinds:
    found = dict(_FOUND[engine])
    return FunctionKinds(found.pop("version"), **{kind: frozenset(found[kind]) for kind in found})


SPARK, DUCKDB = _kinds("spark"), _kinds("duckdb")

PLAIN_IN_SPARK = frozenset(_FOUND["plain_in_spark"])
"""Names of these in DuckDB that are plain functions in Spark."""


OTHER_AGGREGATES = (SPARK.aggregates | DUCKDB.aggregates - PLAIN_IN_SPARK) - set(AGGREGATES)
"""The names of aggregates that Windrow does not compute, unless one is added later."""

WINDOW_FUNCTIONS = SPARK.windows | DUCKDB.windows - PLAIN_IN_SPARK
ROW_MAKERS = SPARK.row_makers | DUCKDB.row_makers - PLAIN_IN_SPARK

_OF_THE_MOMENT = {"unix_timestamp": 0, "age": 1}
"""Functions that count from the present time when called with so few arguments."""

VOLATILE = (SPARK.volatile | DUCKDB.volatile - PLAIN_IN_SPARK) - set(_OF_THE_MOMENT)

_WORDS_OF_NOW = {"now", "today", "tomorrow", "yesterday"}
"""Texts that Spark reads as a time that moves, where they are cast to one."""


def name_aggregates(tree: exp.Expr, functions: Container[str]) -> exp.Expr:
    """The tree, which is changed, with one node for each aggregate, however it is called.

    A name of the user's `functions` is none.
    """
    _drop_nulls_clauses(tree)
    for node in list(tree.walk()):
        name = called_name(node)
        if not name or name in functions or _is_quantifier(node):
            continue
        called = _named(node, name)
        if called is None:
            continue
        called.meta.update(node.meta)
        name_call(called, name)
        if node.parent is None:
            return called
        node.replace(called)
    return tree


def is_volatile(node: exp.Expr, functions: Container[str] = ()) -> bool:
    """Whether the node calls a function whose value differs between two evaluations of one row."""
    if isinstance(node, exp.Cast):
        text = node.this
        is_time = node.to.is_type(exp.DType.DATE, *exp.DataType.TEMPORAL_TYPES)
        return is_time and text.is_string and text.name.strip().lower() in _WORDS_OF_NOW
    name = called_name(node)
    if not name or (isinstance(node, exp.Anonymous) and name in functions):
        return False
    if name in _OF_THE_MOMENT:
        return len(_arguments(node)) <= _OF_THE_MOMENT[name]
    own = node.sql_name().lower() if isinstance(node, exp.Func) else ""
    return bool(VOLATILE.intersection({name, own}))


def _named(node: exp.Expr, name: str) -> exp.Expr | None:
    """The node of an aggregate's call; None where none is called, or the node is right already.

    One of another schema is none of ours.
    """
    arguments = _arguments(node)
    parts = {"this": arguments[0] if arguments else None, "expressions": arguments[1:]}
    if name in AGGREGATES and not isinstance(node.parent, exp.Dot):
        return AggregateCall(function=AGGREGATES[name].name, **parts)
    is_other = name in AGGREGATES or name in OTHER_AGGREGATES
    if is_other and not isinstance(node, exp.AggFunc):
        return OtherAggregate(**parts)
    return None


def _drop_nulls_clauses(tree: exp.Expr) -> None:
    """Drops IGNORE NULLS and RESPECT NULLS, behind a call or inside it, where they change nothing."""
    for clause in list(tree.find_all(exp.IgnoreNulls, exp.RespectNulls)):
        inside = clause.this.this if isinstance(clause.this, exp.Filter) else clause.this
        for call in (inside, clause.parent):
            known = AGGREGATES.get(called_name(call)) if isinstance(call, exp.Expr) else None
            if known is not None and known.takes_nulls_clause:
                clause.replace(clause.this)
                break


def _is_quantifier(node: exp.Expr) -> bool:
    """Whether it is the ANY of `x LIKE ANY (..)`, and no aggregate."""
    return isinstance(node, exp.Any) and isinstance(node.parent, exp.Like | exp.ILike)


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    if isinstance(node, exp.Any):
        return [node.this.unnest()]
    return [part for part in node.iter_expressions() if not isinstance(part, exp.Identifier)]
