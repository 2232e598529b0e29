"""Which predicates DuckDB answers as Spark does, so that a join's worker may ask DuckDB.

On Spark every expression is Spark's to evaluate, but a join tests its predicates where its rows
are: in Python workers. A predicate is tested there if the two engines agree on it; any other is
left to Spark, which tests it on the join's results.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from windrow.sql.function_names import is_volatile

_DIFFER = (exp.Ln, exp.Log, exp.Sqrt, exp.Pow)
"""Functions of doubles that give NaN or NULL in Spark where DuckDB raises."""

_ANYWHERE = (
    exp.Connector,
    exp.Case,
    exp.If,
    exp.Coalesce,
    exp.Abs,
    exp.Length,
    exp.Upper,
    exp.Lower,
)
"""Functions whose values do not depend on the time zone."""


def differs(tree: exp.Expr) -> bool:
    """Whether two evaluations, or two engines, may give a resolved tree two values."""
    return any(isinstance(node, _DIFFER) or is_volatile(node) for node in tree.walk())


def depends_on_settings(
    tree: exp.Expr, types: Mapping[str, str], functions: Mapping[str, object]
) -> bool:
    """Whether the value may depend on the session's time zone, or on whether errors are NULL.

    Args:
        tree: a resolved predicate.
        types: the Spark types of the columns.
        functions: the user's functions by name.
    """
    for node in tree.walk():
        if isinstance(node, exp.Anonymous) and node.name.lower() in functions:
            continue
        if isinstance(node, exp.Func) and not isinstance(node, _ANYWHERE):
            return True
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.IntDiv):
            return True
    reads_time = any("timestamp" in types.get(c.name, "") for c in tree.find_all(exp.Column))
    has_text = any(literal.is_string for literal in tree.find_all(exp.Literal))
    return reads_time and has_text
