"""The door of this room: SQL text in, a logical query out."""

from __future__ import annotations

from types import MappingProxyType

from windrow.errors import WindrowError
from windrow.plan.catalog import Catalog
from windrow.plan.nodes import Query
from windrow.plan.types import TypeResolver
from windrow.sql.calls import Functions
from windrow.sql.lower import Lowering
from windrow.sql.parse import parse_query, read_hints
from windrow.sql.refuse import as_select, refuse_nondeterministic


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
        select = as_select(parse_query(sql))
        hints = read_hints(select, sql)
        relation = Lowering(sql, catalog, resolver, functions).relation(select)
        is_changelog = relation.changelog_keys is not None
        if is_changelog:
            refuse_nondeterministic(select)
    except WindrowError as error:
        error.in_sql(sql)
        raise
    return Query(
        relation.node, is_changelog, relation.time_type, sql, hints, relation.changelog_keys
    )
