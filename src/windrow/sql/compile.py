"""The door of this room: SQL text in, a logical query out."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from windrow.errors import WindrowError
from windrow.plan.catalog import Catalog
from windrow.plan.nodes.query import Query
from windrow.plan.nodes.set_operation import SetOperation
from windrow.plan.types import TypeResolver
from windrow.sql.calls import Functions
from windrow.sql.emit_changes import EMIT_CHANGES, emits_changes
from windrow.sql.function_names import name_aggregates
from windrow.sql.grouping import refuse_reserved
from windrow.sql.lower import Lowering
from windrow.sql.parse import parse_query, read_hints
from windrow.sql.refuse import as_query, refuse_functions, refuse_nondeterministic
from windrow.sql.set_operations import shown
from windrow.sql.spans import span_of


def compile_query(
    sql: str,
    catalog: Catalog,
    resolver: TypeResolver,
    functions: Functions = MappingProxyType({}),
) -> Query:
    """The logical query that the text asks for.

    Args:
        sql: the text.
        catalog: the streams and tables by name.
        resolver: who knows the types of expressions.
        functions: the user's functions by name.

    Raises:
        ParseError: the text cannot be read.
        BindError: a name, a type or a window does not fit.
        PlanError: the question cannot be answered as asked.
        UnsupportedError: Windrow does not do this.
    """
    try:
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
    except WindrowError as error:
        error.in_sql(sql)
        raise
    root, keys = relation.node, relation.changelog_keys
    if relation.is_bag:  # equal rows may be different ones: at each instant their numbers count
        root = shown(SetOperation((root,), "changes"))
        keys = root.schema.names
    return Query(root, is_changelog, relation.time_type, sql, hints, keys)
