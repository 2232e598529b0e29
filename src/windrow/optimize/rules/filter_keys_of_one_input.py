"""Columns of one input that a join's equalities make equal are compared in a Filter below.

    a.x = b.x AND a.y = b.x   implies   a.x = a.y

A tuple that fails this can join nothing. Where the join keeps such tuples all the same (a side that
an outer or an anti join preserves; a count window, in which it takes a place), the comparison becomes a condition of the join instead of a
Filter. Afterwards each class of equal columns has one column per input, which is what the join
algorithms take as a key.
"""

from __future__ import annotations

from itertools import pairwise

from windrow.plan.exprs import Expr, quote_duckdb, quote_spark
from windrow.plan.keys import Class, classes_of
from windrow.plan.nodes.base import Equality, Node
from windrow.plan.nodes.filter import filtered


def filter_keys_of_one_input(plan: Node) -> Node:
    """Equalities between different inputs only, one column of each per class."""
    return plan.rewrite(_split)


def _split(node: Node) -> Node:
    classes = classes_of(node.key_equalities, node.inputs)
    if all(len(columns) <= 1 for key in classes for columns in key.columns):
        return node
    compared = [
        [same for key in classes for same in _same(key, i)] for i in range(len(node.inputs))
    ]
    equalities = tuple(equality for key in classes for equality in _chain(key))
    kept = tuple(same for i in node.kept_inputs for same in compared[i])
    filters = [() if i in node.kept_inputs else own for i, own in enumerate(compared)]
    below = [filtered(child, tuple(own)) for child, own in zip(node.inputs, filters, strict=True)]
    return node.with_keys(equalities, kept).with_inputs(below)


def _same(key: Class, i: int) -> list[Expr]:
    """The predicates that compare input i's columns of the class with each other."""
    first, *others = key.columns[i] or ("",)
    return [_equal(first, other, null_safe=key.null_safe) for other in others]


def _equal(left: str, right: str, *, null_safe: bool) -> Expr:
    spark, duckdb = ("<=>", "IS NOT DISTINCT FROM") if null_safe else ("=", "=")
    return Expr(
        f"{left} {spark} {right}",
        f"{quote_spark(left)} {spark} {quote_spark(right)}",
        f"{quote_duckdb(left)} {duckdb} {quote_duckdb(right)}",
        (left, right),
        "boolean",
    )


def _chain(key: Class) -> list[Equality]:
    """The equalities of the class over the first column of each input."""
    firsts = [columns[0] for columns in key.columns if columns]
    return [Equality(left, right, key.type, key.null_safe) for left, right in pairwise(firsts)]
