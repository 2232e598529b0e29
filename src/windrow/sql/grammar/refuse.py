"""SQL that Windrow knows but does not run: refused by name, with what to write instead."""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp

from windrow.errors import ParseError, Span, UnsupportedError
from windrow.plan.aggregates import AGGREGATES, all_aggregates
from windrow.plan.aggregates.function import DistinctRule
from windrow.sql.grammar.clauses import AggregateCall, WindowClause
from windrow.sql.grammar.functions import ROW_MAKERS, WINDOW_FUNCTIONS, is_volatile
from windrow.sql.grammar.spans import called_name, span_of

_CLAUSES = {
    "order": ("ORDER BY", "a stream has no last row to sort by; sort what you collect"),
    "sort": ("SORT BY", "a stream has no last row to sort by; sort what you collect"),
    "cluster": ("CLUSTER BY", "leave the partitioning to the planner"),
    "distribute": ("DISTRIBUTE BY", "leave the partitioning to the planner"),
    "limit": ("LIMIT", "filter in WHERE, or take the first rows of what you collect"),
    "offset": ("OFFSET", "filter in WHERE, or take the first rows of what you collect"),
    "qualify": ("QUALIFY", "write the condition in WHERE or HAVING"),
    "laterals": ("LATERAL VIEW", "explode the column before registering the stream"),
    "sample": ("TABLESAMPLE", "sample the stream before registering it"),
    "connect": ("CONNECT BY", "write the joins out"),
    "match": ("MATCH_RECOGNIZE", "write the pattern as a window join"),
    "into": ("INTO", "write the result with the session or a job's sink"),
    "exclude": ("EXCEPT in a star", "list the columns"),
}

NAMES = {"ASOF": "an as-of join", "WINDOW": "a WINDOW JOIN"}
"""Joins of two streams by time, by their kind in the tree, as people call them."""

SLUGS = {"ASOF": "asof", "WINDOW": "window-join"}
"""The same, as parts of the names of conditions."""

_WITH_ROWS = (exp.Lateral, exp.From, exp.Join, exp.Table)
"""Where rows belong: what is refused there has errors of its own."""


def unsupported(name: str, sentence: str, hint: str) -> UnsupportedError:
    """The error for a construct; `name` completes the condition `unsupported-..`."""
    return UnsupportedError(f"unsupported-{name}", sentence, hint=hint)


def window_functions(sentence: str) -> UnsupportedError:
    """The error for window functions, in these words."""
    sliding = "write a sliding aggregate: SELECT k, SUM(x) FROM s [RANGE ..] GROUP BY k"
    return unsupported("over", sentence, sliding)


def as_query(tree: exp.Expr) -> exp.Select | exp.SetOperation:
    """The tree as one SELECT, or several with set operations between them; VALUES is refused."""
    while isinstance(tree, exp.Subquery) and tree.is_wrapper:
        tree = tree.this
    if isinstance(tree, exp.Subquery):
        refuse_modifiers(tree)
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise unsupported(
            "statement", "this is not a SELECT over streams", "write SELECT .. FROM a stream"
        ).at(span_of(tree))
    return tree


def refuse_clauses(select: exp.Select) -> None:
    """Refuses the clauses of a SELECT that Windrow does not run, and one that lists no column."""
    if not select.expressions:
        raise ParseError(
            "empty-select-list", "SELECT lists nothing", hint="list columns, or write SELECT *"
        ).at(span_of(select))
    refuse_modifiers(select)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise unsupported(
            "distinct-on", "DISTINCT ON is not supported", "write SELECT DISTINCT, or GROUP BY"
        ).at(span_of(distinct.args["on"]))
    joins = [join.args.get("kind") for join in select.args.get("joins") or []]
    if "keep_unmatched" in select.meta and "BESTMATCH" not in joins:
        raise unsupported(
            "keep-unmatched",
            "KEEP UNMATCHED belongs to a bestmatch join",
            "leave it out: an inner join has no unmatched rows",
        ).at(Span(*select.meta["keep_unmatched"]))


def refuse_modifiers(tree: exp.Expr) -> None:
    """Refuses the clauses around a SELECT, or a set operation, that Windrow does not run."""
    for key, (name, hint) in _CLAUSES.items():
        found = tree.args.get(key)
        if not found:
            continue
        node = found[0] if isinstance(found, list) else found
        span = span_of(node) if isinstance(node, exp.Expr) else None
        slug = name.lower().replace(" ", "-").replace("_", "-")
        raise unsupported(slug, f"{name} is not supported", hint).at(span or span_of(tree))


def counts_rows(node: exp.Expr) -> bool:
    """Whether a part of a query is a count window, or has one."""
    window = node.meta.get("stream_window")
    return bool(node.args.get("rows")) or (window is not None and window.args["kind"] == "ROWS")


def refuse_expressions(tree: exp.Expr) -> None:
    """Refuses what Windrow does not run inside an expression."""
    refuse_subqueries(tree)
    for node in tree.walk():
        if isinstance(node, WindowClause):
            raise ParseError(
                "window-not-a-conjunct",
                "a window stands inside another expression",
                reason="windows hold for the whole query; OR and NOT cannot weaken them",
                hint="connect it to the conditions with AND, or write it at the end",
            ).at(span_of(node))
        if isinstance(node, exp.Window):
            sentence = "window functions with OVER are not supported"
            raise window_functions(sentence).at(span_of(node))
        if isinstance(node, exp.Columns) or (
            isinstance(node, exp.Star) and not _stands_alone(node, tree)
        ):
            raise unsupported(
                "star-in-expression",
                "a star inside an expression is not supported",
                "list the columns; COUNT(*) is supported",
            ).at(span_of(node) or span_of(tree))
        if isinstance(node, exp.UDTF | exp.Explode):
            raise _row_maker(node)


def refuse_subqueries(tree: exp.Expr) -> None:
    """Refuses a subquery inside an expression.

    Asked before names are looked up, too: the subquery has names of its own.
    """
    for node in tree.find_all(exp.Query):
        raise unsupported(
            "subquery",
            "a subquery inside an expression is not supported",
            "put it in FROM as a derived table, with a window",
        ).at(span_of(node))


def refuse_subquery_conditions(tree: exp.Expr) -> None:
    """Refuses a condition with a subquery; of [NOT] EXISTS and [NOT] IN, names the join that says it."""
    for node in tree.find_all(exp.Exists, exp.In):
        if isinstance(node, exp.In) and not node.args.get("query"):
            continue
        is_negated = isinstance(node.parent, exp.Not)
        name = "EXISTS" if isinstance(node, exp.Exists) else "IN"
        kind = "ANTI" if is_negated else "SEMI"
        raise unsupported(
            "subquery",
            f"{'NOT ' if is_negated else ''}{name} over a subquery is not supported",
            f"write FROM a LEFT {kind} JOIN b ON a.k = b.k, with a window between a and b",
        ).at(span_of(node.parent if is_negated else node))
    refuse_subqueries(tree)


def _stands_alone(star: exp.Star, tree: exp.Expr) -> bool:
    """Whether a star is an item of the SELECT list, or COUNT(*)."""
    is_item = star is tree or (star.parent is tree and isinstance(tree, exp.Column))
    return is_item or (
        isinstance(star.parent, AggregateCall)
        and AGGREGATES[star.parent.args["function"]].counts_rows
    )


def refuse_functions(tree: exp.Expr, functions: Container[str]) -> None:
    """Refuses, wherever it stands in a query, a function that is no value of a row.

    The aggregates of the query are named; `functions` are the user's.
    """
    for node in tree.walk():
        if isinstance(node.parent, exp.Window):
            continue  # refused as a whole
        if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            _refuse_nulls_clause(node)
        name = called_name(node)
        is_own = isinstance(node, exp.Anonymous) and name in functions
        if isinstance(node, exp.AggFunc) and name not in WINDOW_FUNCTIONS:
            _refuse_aggregate(node, name.upper())
        elif name in WINDOW_FUNCTIONS and not is_own:
            sentence = f"{name.upper()} stands without OVER, and window functions are not supported"
            raise window_functions(sentence).at(span_of(node))
        elif name in ROW_MAKERS and not is_own and not isinstance(node.parent, _WITH_ROWS):
            raise _row_maker(node)


def _row_maker(node: exp.Expr) -> UnsupportedError:
    return unsupported(
        "table-function",
        "functions that return rows are not supported",
        "apply them before registering the stream",
    ).at(span_of(node))


def _refuse_aggregate(node: exp.AggFunc, name: str) -> None:
    if not isinstance(node, AggregateCall):
        *names, last = (each.name.upper() for each in all_aggregates())
        raise unsupported(
            "aggregate",
            f"the aggregate {name} is not supported",
            f"use {', '.join(names)} or {last}, or compute it from the rows of a window join",
        ).at(span_of(node))
    function, listed = AGGREGATES[node.args["function"]], node.arguments
    if node.this is None or (node.is_distinct and not node.this.expressions):
        raise _nothing_to_aggregate(node, name, "DISTINCT" if node.is_distinct else "")
    if node.is_distinct and function.distinct is DistinctRule.refused:
        raise unsupported(
            f"distinct-{function.name.replace('_', '-')}",
            f"{name}(DISTINCT ..) is not supported",
            function.instead_of_distinct or f"write {name}(..)",
        ).at(span_of(node))
    if isinstance(listed[0], exp.Star) and not function.counts_rows:
        raise _nothing_to_aggregate(node, name, "*")
    if not function.counts_rows and len(listed) != len(function.takes):
        raise _other_number_of_arguments(node, name)


def _refuse_nulls_clause(clause: exp.Expr) -> None:
    """Refuses IGNORE NULLS and RESPECT NULLS of an aggregate; those that take them are past."""
    call = clause.this.this if isinstance(clause.this, exp.Filter) else clause.this
    if isinstance(call, AggregateCall):
        words = "IGNORE NULLS" if isinstance(clause, exp.IgnoreNulls) else "RESPECT NULLS"
        raise unsupported(
            "nulls-clause",
            f"{called_name(call).upper()} .. {words} is not supported",
            "leave it out: aggregates leave NULLs out by themselves",
        ).at(span_of(clause) or span_of(call))


def _nothing_to_aggregate(node: AggregateCall, name: str, inside: str) -> ParseError:
    hint = "COUNT(*) counts rows"
    if inside == "DISTINCT":
        hint = "write what is to be distinct behind DISTINCT, for instance  COUNT(DISTINCT x)"
    return ParseError(
        "aggregate-without-argument", f"{name}({inside}) has nothing to aggregate", hint=hint
    ).at(span_of(node))


def _other_number_of_arguments(node: AggregateCall, name: str) -> ParseError:
    function, count = AGGREGATES[node.args["function"]], len(node.arguments)
    if len(function.takes) == 1:
        return ParseError(
            "aggregate-of-several",
            f"{name} is given several expressions",
            reason="it takes one",
            hint="the greatest of several values of a row is GREATEST(a, b), the least LEAST(a, b)",
        ).at(span_of(node))
    return ParseError(
        "aggregate-arguments",
        f"{name} is given {count} expression{'' if count == 1 else 's'}",
        reason=f"it takes {len(function.takes)}",
        hint=f"write {function.usage}",
    ).at(span_of(node))


def refuse_nondeterministic(tree: exp.Expr, functions: Container[str]) -> None:
    """Refuses functions whose value differs between two evaluations of one row."""
    for node in tree.walk():
        if is_volatile(node, functions):
            what = node.sql("spark") if isinstance(node, exp.Cast) else f"{called_name(node)}()"
            raise nondeterministic(what, span_of(node))


def nondeterministic(what: str, span: Span | None) -> UnsupportedError:
    """The error for a value that differs between two evaluations, in a changelog."""
    return unsupported(
        "nondeterministic",
        f"{what} is not supported in a changelog query",
        "compute it before registering the stream, or use the event time",
    ).at(span)


def refuse_join(join: exp.Join) -> None:
    """Refuses ways to write a join other than by its kind and ON."""
    span = span_of(join)
    method = str(join.args.get("method") or "").upper()
    if method == "NATURAL" or join.args.get("using"):
        raise unsupported(
            "join-using",
            f"{'NATURAL JOIN' if method else 'JOIN .. USING'} is not supported",
            "write the condition: JOIN b ON a.k = b.k",
        ).at(span)
    if method:
        raise unsupported("join", f"{method} JOIN is not supported", "write an inner join").at(span)


def refuse_match(join: exp.Join, above: str) -> None:
    """Refuses dimensions without an order, and what takes rows back.

    `above` names what does so right above the join; "" for nothing.
    """
    span = span_of(join)
    if not join.expressions:
        raise ParseError(
            "bestmatch-without-dimension",
            "a bestmatch join says after ON what to compare",
            hint="for instance  ON l.ts MINDIST r.ts, l.x MINDIST r.x",
        ).at(span)
    if above:
        raise unsupported(
            "aggregate-of-bestmatch",
            f"{above} right above a bestmatch join is not supported",
            "put the join in a derived table with a window: FROM (SELECT ..) m [RANGE ..]; or give both"
            " of its sides windows of their own",
        ).at(span)
    for order in join.expressions:
        if order.args.get("expression") is None:
            sentence = "a dimension has no order"
            raise unsupported("bestmatch-order", sentence, "write l.x MINDIST r.x").at(
                span_of(order)
            )
