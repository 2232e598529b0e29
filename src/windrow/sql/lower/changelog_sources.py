"""Which queries are changelogs, by their text, and what joins with one may say of time.

Rows of a changelog have no event time that a window could be measured from: they are there until
they are taken back. So every stream beside one has a window of its own, and windows between two
streams are conditions.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from windrow.plan.catalog import Catalog
from windrow.plan.texts import KIND_NAMES
from windrow.plan.windows import Bound
from windrow.sql.bind.scope import FromItem, Scope
from windrow.sql.bind.select_list import is_aggregate_query
from windrow.sql.bind.sources import From, Reach, find_stream, items_of, with_queries
from windrow.sql.bind.windows import StatedWindows
from windrow.sql.grammar.clauses import PairWindow
from windrow.sql.grammar.refuse import NAMES, as_query, unsupported
from windrow.sql.grammar.spans import span_of
from windrow.sql.lower.bestmatch import says_what_is_best_now
from windrow.sql.lower.set_operations import UNION_ALL, kind_of

JOIN = "a join with a changelog"


def changelogs(sources: Sequence[FromItem]) -> list[FromItem]:
    """The sources whose rows are taken back by what is inside them."""
    return [source for source in sources if source.changelog_keys is not None]


def joins_what_is_alive(from_: From) -> bool:
    """Whether rows join while they are there, not by windows between them.

    So it is where some leave by what is inside their source.
    """
    refuse_join_of_changelog(from_)
    has_several = len(from_.streams) > 1
    return (
        has_several and from_.is_inner and any(source.leaves_by_itself for source in from_.streams)
    )


def refuse_join_of_changelog(from_: From) -> None:
    """Refuses other joins of a changelog than inner ones."""
    found = changelogs(from_.streams)
    if found and len(from_.streams) > 1 and not from_.is_inner:
        raise unsupported(
            "join-of-changelog",
            f"{found[0].alias} is a changelog; {_name(from_)} of it is not supported",
            "write an inner join",
        ).at(found[0].span)


def _name(from_: From) -> str:
    if from_.paired is not None:
        return NAMES[from_.paired.args["kind"]]
    kind = "bestmatch" if from_.bestmatch is not None else KIND_NAMES[from_.kind]
    return f"{'an' if kind == 'anti' else 'a'} {kind} join"


def refuse_windows(clauses: Sequence[exp.Expr], windows: StatedWindows, scope: Scope) -> None:
    """Refuses windows between a changelog and another source, and EITHER WAY."""
    for clause in clauses:
        if not isinstance(clause, PairWindow):
            continue
        names = {clause.args[side].name.lower() for side in ("left", "right")}
        for source in changelogs(scope.sources):
            if source.alias.lower() in names:
                raise unsupported(
                    "window-with-changelog",
                    f"{source.alias} is a changelog, whose rows have no time to measure a window"
                    " from",
                    "leave the window out: its rows join while they are there",
                ).at(span_of(clause))
    if windows.reversed is not None:
        beside = next(source for source in scope.sources if source.leaves_by_itself)
        how = "a changelog" if changelogs([beside]) else "whose rows leave by the windows inside it"
        raise unsupported(
            "either-way-with-changelog",
            f"EITHER WAY beside {beside.alias}, {how}, is not supported",
            "join the streams in a derived table with a window: FROM (SELECT ..) x [RANGE ..]",
        ).at(span_of(next(clause for clause in clauses if clause.args.get("either_way"))))


def between_streams(bounds: Sequence[Bound], scope: Scope) -> tuple[Bound, ...]:
    """The bounds between sources of which neither is a changelog."""
    is_changelog = [source.changelog_keys is not None for source in scope.sources]
    return tuple(b for b in bounds if not (is_changelog[b.left] or is_changelog[b.right]))


def gives_changelog(tree: exp.Expr, named: Reach, catalog: Catalog) -> bool:
    """Whether rows of a query are taken back by what is inside it."""
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
