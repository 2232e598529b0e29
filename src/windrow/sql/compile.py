"""The door of this room: SQL text in, a logical query out."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from windrow.errors import Span, errors_in
from windrow.plan.catalog import Catalog
from windrow.plan.nodes.query import Query
from windrow.plan.nodes.set_operation import SetOperation
from windrow.plan.types import TypeResolver
from windrow.sql.bind.calls import Functions
from windrow.sql.bind.select_list import refuse_reserved
from windrow.sql.grammar.functions import name_aggregates
from windrow.sql.grammar.parse import parse_query, read_hints
from windrow.sql.grammar.refuse import (
    as_query,
    refuse_functions,
    refuse_nondeterministic,
    unsupported,
)
from windrow.sql.grammar.spans import span_of
from windrow.sql.lower.select import Lowering
from windrow.sql.lower.set_operations import shown

EMIT_CHANGES = "EMIT CHANGES"


def emits_changes(tree: exp.Expr) -> bool:
    """Whether EMIT CHANGES ends the query; inside of it, it is refused."""
    last = [tree]
    while isinstance(last[-1], exp.SetOperation | exp.Subquery):
        end = last[-1]
        last.append(end.expression if isinstance(end, exp.SetOperation) else end.this)
    for query in tree.find_all(exp.Query):
        if "emit_changes" in query.meta and not any(query is end for end in last):
            raise unsupported(
                "emit-changes-inside",
                "EMIT CHANGES stands inside the query",
                "write it at the end: it is the answer of the whole query that it is about",
            ).at(Span(*query.meta["emit_changes"]))
    return any("emit_changes" in query.meta for query in last)


def compile_query(
    sql: str,
    catalog: Catalog,
    resolver: TypeResolver,
    functions: Functions = MappingProxyType({}),
) -> Query:
    """The logical query that the text asks for.

    Raises:
        ParseError: the text cannot be read.
        BindError: a name, a type or a window does not fit.
        PlanError: the question cannot be answered as asked.
        UnsupportedError: Windrow does not do this.
    """
    with errors_in(sql):
        tree = as_query(name_aggregates(parse_query(sql), functions))
        refuse_functions(tree, functions)
        hints = read_hints(tree, sql)
        above = EMIT_CHANGES if emits_changes(tree) else ""
        lowering = Lowering(sql, catalog, resolver, functions)
        relation = lowering.relation(tree, above=above)
        if above and relation.changelog_keys is None:
            relation = replace(relation, changelog_keys=(), is_bag=True)
        is_changelog = relation.changelog_keys is not None
        if is_changelog:
            refuse_nondeterministic(tree, functions)
            lowering.renderer.refuse_volatile()
            refuse_reserved(relation.node.schema.names, span_of(tree))
    root = relation.node
    if relation.is_bag:  # equal rows may be different ones: at each instant their numbers count
        root = shown(SetOperation((root,), "changes"))
    return Query(root, is_changelog, relation.time_type, sql, hints, relation.answer_keys)
