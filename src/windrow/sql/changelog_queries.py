"""Which queries are changelogs, by their text: what stands beside one must leave as well."""

from __future__ import annotations

from sqlglot import exp

from windrow.plan.catalog import Catalog
from windrow.sql.best_pairs import says_what_is_best_now
from windrow.sql.grouping import is_aggregate_query
from windrow.sql.refuse import as_query
from windrow.sql.set_operations import UNION_ALL, kind_of
from windrow.sql.sources import find_stream, items_of
from windrow.sql.with_queries import Reach, with_queries


def gives_changelog(tree: exp.Expr, named: Reach, catalog: Catalog) -> bool:
    """Whether rows of a query are taken back by what is inside it.

    Args:
        tree: the query.
        named: the queries of WITH in reach.
        catalog: the streams, of which some are of changes.
    """
    query = as_query(tree)
    reach = with_queries(query, named)
    if isinstance(query, exp.SetOperation):
        sides = (query.this, query.expression)
        return kind_of(query) != UNION_ALL or any(gives_changelog(s, reach, catalog) for s in sides)
    if is_aggregate_query(query) or query.args.get("distinct"):
        return True
    matches = [
        join for join in query.args.get("joins") or [] if join.args.get("kind") == "BESTMATCH"
    ]
    if any(says_what_is_best_now(join, items_of(query)) for join in matches):
        return True
    return any(_is_changelog(item, reach, catalog) for item in items_of(query))


def joins_changelog(select: exp.Select, named: Reach, catalog: Catalog) -> bool:
    """Whether a SELECT joins a changelog with anything."""
    items = items_of(select)
    return len(items) > 1 and any(_is_changelog(item, named, catalog) for item in items)


def _is_changelog(item: exp.Expr, named: Reach, catalog: Catalog) -> bool:
    """Whether an item of FROM is a changelog."""
    if isinstance(item, exp.Subquery):
        return gives_changelog(item.this, named, catalog)
    if not isinstance(item, exp.Table):
        return False
    name = item.name.lower()
    if not item.db and name in named:
        return gives_changelog(named[name].tree, named[name].reach, catalog)
    info = find_stream(catalog, item)
    return info is not None and info.changes is not None
