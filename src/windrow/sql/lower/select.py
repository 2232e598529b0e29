"""SELECTs, and set operations between them, to plan nodes.

Scan -> [Range] -> [Filter, Project for keys] -> WindowJoin -> Filter
     -> [TableJoin ..] -> [WindowAggregate -> Filter for HAVING] -> Project
     -> [SetOperation for DISTINCT, UNION, EXCEPT, INTERSECT -> Project]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.errors import PlanError, cover
from windrow.plan.catalog import Catalog
from windrow.plan.exprs import Expr, Named
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.set_operation import SetOperation
from windrow.plan.nodes.window_join import (
    CountWindowJoin,
    OuterWindowJoin,
    SnapshotWindowJoin,
    WindowJoin,
)
from windrow.plan.texts import KIND_NAMES
from windrow.plan.types import TypeResolver
from windrow.plan.windows import CountWindows, WindowGraph
from windrow.schema import Field, Schema
from windrow.sql.bind import stream_windows
from windrow.sql.bind.calls import Functions
from windrow.sql.bind.conditions import Conditions, sort_conditions, sort_filters
from windrow.sql.bind.joins import one_key_each
from windrow.sql.bind.keys import add_keys
from windrow.sql.bind.scope import FromItem, Scope, newest_rows, within_window
from windrow.sql.bind.select_list import (
    Grouping,
    Item,
    is_aggregate_query,
    read_items,
    refuse_reserved,
)
from windrow.sql.bind.sources import (
    From,
    FromReader,
    Reach,
    Relation,
    items_of,
    uniform_window,
    with_queries,
)
from windrow.sql.bind.windows import (
    Places,
    StatedWindows,
    check_contradiction,
    check_graph,
    check_reversed,
    example_length,
    read_windows,
)
from windrow.sql.grammar.parse import MOST_LEVELS, too_deep
from windrow.sql.grammar.refuse import (
    as_query,
    refuse_clauses,
    refuse_expressions,
    refuse_match,
    refuse_subqueries,
    refuse_subquery_conditions,
)
from windrow.sql.grammar.spans import span_of
from windrow.sql.lower import changelog_sources
from windrow.sql.lower.bestmatch import lower_bestmatch, says_what_is_best_now
from windrow.sql.lower.pair_joins import PairJoinLowering, named_times, refuse_above_pair
from windrow.sql.lower.set_operations import UNION_ALL, combined, kind_of, of_all_columns
from windrow.sql.lower.table_joins import TableJoins
from windrow.sql.render.render import Renderer


@dataclass
class Lowering:
    """Lowers the SELECTs of one query."""

    sql: str
    catalog: Catalog
    resolver: TypeResolver
    functions: Functions

    def __post_init__(self) -> None:
        self.renderer = Renderer(self.sql, self.resolver, self.functions)
        self._levels = 0

    def relation(
        self, tree: exp.Expr, alias: str = "", named: Reach | None = None, above: str = ""
    ) -> Relation:
        """The plan of a query; under an alias its columns are named `alias.column`.

        `above` takes rows of the query back when they leave their windows, so that every stream must
        have one; "" where nothing does. `named` are the queries of WITH in reach.
        """
        query = as_query(tree)
        reach = with_queries(query, named or {})
        if self._levels >= MOST_LEVELS:
            raise too_deep(span_of(query))
        self._levels += 1
        if isinstance(query, exp.SetOperation):
            relation = self._set_operation(query, alias, reach, above)
        else:
            relation = self._select(query, alias, reach, above)
        self._levels -= 1
        return relation

    def _set_operation(
        self, tree: exp.SetOperation, alias: str, reach: Reach, above: str
    ) -> Relation:
        kind = kind_of(tree)
        asked = above if kind == UNION_ALL else kind.upper()
        if not asked and changelog_sources.gives_changelog(tree, reach, self.catalog):
            asked = "UNION ALL with a changelog"
        first = self.relation(tree.this, alias, reach, asked)
        second = self.relation(tree.expression, alias, reach, asked)
        combination = combined(tree, kind, (first, second), alias, self.renderer)
        inside = () if asked else (*first.inside, *second.inside)
        return replace(combination, has_ends=bool(asked), inside=inside)

    def _select(self, select: exp.Select, alias: str, reach: Reach, above: str) -> Relation:
        refuse_clauses(select)
        # What takes rows back when they leave their windows: it, or what stands above it.
        if is_aggregate_query(select):
            above = "an aggregate"
        elif select.args.get("distinct"):
            above = "DISTINCT"
        elif not above and changelog_sources.joins_changelog(select, reach, self.catalog):
            # Rows of one source come and go: those of the others have to go as well.
            above = changelog_sources.JOIN
        is_uniform = uniform_window(select) is not None
        reader = FromReader(self.sql, self.catalog, reach, self.relation, above, is_uniform)
        from_ = reader.read(select)
        self._refuse_windows_inside(select, from_, above)
        if above:
            from_ = replace(from_, sources=tuple(map(newest_rows, from_.sources)))
        scope = seen = Scope(from_.sources, self.sql)
        if from_.hidden:
            shown = tuple(source for source in from_.sources if source not in from_.hidden)
            seen = Scope(shown, self.sql, hidden=from_.hidden)
        where = select.args.get("where")
        filters = (where.this,) if where else ()
        in_from = list(from_.conditions)
        if from_.bestmatch is not None:
            changelog_sources.refuse_join_of_changelog(from_)
            # What is best now takes rows back by itself, whatever stands above it.
            is_now = says_what_is_best_now(from_.bestmatch, items_of(select))
            refuse_match(from_.bestmatch, "" if is_now else above)
            in_from += from_.bestmatch.expressions
        if from_.paired is not None:
            changelog_sources.refuse_join_of_changelog(from_)
            refuse_above_pair(from_.paired, above)
            in_from += named_times(from_.paired, scope)
        in_seen = [*from_.filters, *(in_from if from_.kind == "inner" else [])]
        for condition in (*from_.conditions, *from_.filters, *from_.on_tables, *filters):
            refuse_subquery_conditions(condition)
        for expression in select.expressions:
            refuse_subqueries(expression)
        seen.check([*select.expressions, *filters, *in_seen])
        scope.check([*in_from, *from_.on_tables])
        for expression in select.expressions:
            refuse_expressions(expression)
        items = read_items(select, seen)
        block = _Block(select, from_, scope, seen, items, filters, above)
        relation = self._lower(block, alias)
        if select.args.get("distinct"):
            for item in items:
                refuse_reserved([item.name], item.span)
            node = SetOperation((relation.node,), "distinct", span_of(select))
            return of_all_columns(node, alias, relation.time_type)
        return relation

    def _refuse_windows_inside(self, select: exp.Select, from_: From, above: str) -> None:
        """Refuses windows inside of derived tables that would say nothing, or that unclearly."""
        if from_.bestmatch is not None:
            stream_windows.refuse_windows_inside_match(from_.streams)
        if len(from_.streams) > 1:
            if not above:
                stream_windows.refuse_windows_apart(from_.streams)
            return
        clause = uniform_window(select)
        if clause is not None:
            stream_windows.refuse_uniform_window(clause, from_.streams[0], self.sql)

    def _lower(self, block: _Block, alias: str) -> Relation:
        time_type = block.scope.time_type
        is_snapshot = changelog_sources.joins_what_is_alive(block.from_)
        conditions = (*block.from_.conditions, *block.from_.filters, *block.filters)
        if block.from_.bestmatch is not None:
            return self._matched(block, alias)
        if block.from_.paired is not None:
            return Relation(self._project(*self._paired(block), alias), time_type)
        clauses = list(block.select.args.get("windows") or [])
        tables = TableJoins(block.from_, block.select, block.seen, block.filters, self.renderer)
        names, block = block.scope, replace(block, scope=tables.streams)
        if block.from_.kind == "inner":
            sorted_ = sort_conditions(conditions, block.seen, block.scope, tables.take)
            filters = sorted_.predicates
        else:
            # WHERE says what to keep of the join's rows, ON and the windows what these are.
            sorted_ = sort_conditions(block.from_.conditions, names, block.scope, tables.leave)
            trees = (*block.from_.filters, *block.filters)
            in_where, kept = sort_filters(trees, block.seen, tables.take)
            clauses, filters = clauses + in_where, tuple(kept)
        clauses += sorted_.clauses
        grouped = is_aggregate_query(block.select)
        self._refuse_counted(block, clauses)
        counts, timed = stream_windows.count_windows(clauses, block.scope)
        windows = StatedWindows(())
        if not counts:
            scope = block.scope
            bounded = scope if block.from_.is_inner else stream_windows.with_lives(scope)
            windows = read_windows(timed, bounded)
        stream_windows.refuse_windows_of_lives(timed, block.scope)
        if is_snapshot:
            changelog_sources.refuse_windows(timed, windows, block.scope)
        inputs = [source.node for source in block.scope.sources]
        if block.above:
            inputs = self._inputs(block, windows)
        node = self._join(
            tables.below(inputs), block, windows, sorted_, counts, is_snapshot=is_snapshot
        )
        node = tables.above(self.renderer.filtered(node, filters))
        if grouped:
            return self._grouped(node, block, alias)
        root = self._project(node, block.items, alias)
        if not changelog_sources.changelogs(block.scope.sources):
            if block.above:
                return Relation(root, time_type, has_ends=True)
            inside = stream_windows.windows_handed_on(block.scope.sources, windows.uniform)
            return Relation(root, time_type, inside=inside)
        source = block.scope.sources[0]
        is_multiplied = any(not table.is_hidden for table in block.from_.tables)
        keys = None if is_snapshot else _kept_keys(source, block, is_multiplied=is_multiplied)
        has_copies = is_multiplied or source.has_copies
        return Relation(root, time_type, keys or (), is_bag=keys is None, has_copies=has_copies)

    def _matched(self, block: _Block, alias: str) -> Relation:
        """The pairs of a bestmatch join; what is best now is a changelog, and may be grouped."""
        match = block.from_.bestmatch
        assert match is not None
        conditions, filters = block.from_.conditions, block.filters
        node = lower_bestmatch(block.select, match, block.scope, conditions, filters, self.renderer)
        if is_aggregate_query(block.select):
            return self._grouped(node, block, alias)
        is_now = says_what_is_best_now(match, items_of(block.select))
        root = self._project(node, block.items, alias)
        return Relation(root, block.scope.time_type, () if is_now else None, is_bag=is_now)

    def _grouped(self, node: Node, block: _Block, alias: str) -> Relation:
        """The aggregates of a SELECT over the rows of what stands in its FROM."""
        grouping = Grouping(block.select, block.items, block.seen, self.renderer)
        node, items, keys = grouping.lower(node, span_of(block.select.args.get("group")))
        root = self._project(node, items, alias)
        return Relation(root, block.scope.time_type, keys or (), is_bag=keys is None)

    def _paired(self, block: _Block) -> tuple[Node, Sequence[Item]]:
        """The join of two streams by time, and the items over it."""
        join = block.from_.paired
        assert join is not None
        lowering = PairJoinLowering(
            block.select, join, block.from_.conditions, block.filters, block.scope, self.renderer
        )
        if join.args["kind"] == "WINDOW":
            return lowering.window_join(block.items)
        return lowering.asof(), block.items

    def _inputs(self, block: _Block, windows: StatedWindows) -> list[Node]:
        """The sources of what takes rows back, each with its window; one without is refused."""
        inputs: list[Node] = []
        for source in block.scope.sources:
            ticks = windows.uniform_ticks if source.range_ticks is None else source.range_ticks
            if source.leaves_by_itself:
                inputs.append(within_window(source, windows.uniform_ticks))
            elif ticks is None:
                raise _no_window(source, windows, block.above)
            else:
                inputs.append(Range(source.node, ticks))
        return inputs

    def _join(
        self,
        inputs: Sequence[Node],
        block: _Block,
        windows: StatedWindows,
        conditions: Conditions,
        counts: CountWindows | None,
        *,
        is_snapshot: bool,
    ) -> Node:
        if len(inputs) == 1:
            return inputs[0]
        aliases = tuple(source.alias for source in block.scope.sources)
        bounds = changelog_sources.between_streams(windows.bounds, block.scope) + conditions.bounds
        graph = WindowGraph(aliases, bounds)
        places = {**windows.places, **conditions.places}
        if counts is None and not is_snapshot:
            self._check_graph(graph, block, places)
        else:  # something else bounds the state; what is said of times filters
            check_contradiction(graph, block.from_.span, places)
        alternative = None
        if windows.reversed is not None:
            alternative = WindowGraph(aliases, windows.reversed + conditions.bounds)
            check_reversed(alternative, block.from_.span, places)
        keys = conditions.equalities
        predicates: tuple[Expr, ...] = ()
        if block.from_.kind != "inner":
            keys, others = one_key_each(conditions.equalities)
            predicates = self.renderer.predicates(
                block.scope.schema, [*conditions.predicates, *others]
            )
        sealed = counts.sealed if counts else ()
        nodes, equalities = add_keys(inputs, keys, block.scope, self.renderer, sealed)
        joined = tuple(nodes), aliases, equalities, graph, block.from_.span, predicates, alternative
        if counts is not None:
            return CountWindowJoin(*joined, counts=counts)
        if is_snapshot:
            return SnapshotWindowJoin(*joined)
        if block.from_.kind != "inner":
            return OuterWindowJoin(*joined, kind=block.from_.kind)
        return WindowJoin(*joined)

    def _check_graph(self, graph: WindowGraph, block: _Block, places: Places) -> None:
        """Refuses windows that do not bound the join; the error says what WHERE has of one."""
        try:
            check_graph(graph, block.scope, block.from_.span, places)
        except PlanError as error:
            if block.from_.kind == "inner" or error.condition == "contradicting-windows":
                raise
            in_where = sort_conditions(block.filters, block.seen).places
            if not in_where:
                raise
            raise PlanError(
                error.condition,
                error.sentence,
                reason="WHERE filters what the join gives; ON and the WINDOW clause say what matches",
                hint=f"move {' and '.join(in_where)} from WHERE to ON",
            ).at(cover(*in_where.values())) from None

    def _refuse_counted(self, block: _Block, clauses: Sequence[exp.Expr]) -> None:
        """Refuses count windows under what is not an inner join."""
        length = example_length(block.scope.time_type)
        if block.from_.kind != "inner":
            over = f"the {KIND_NAMES[block.from_.kind]} join"
            instead = f"write windows of time, for instance [RANGE {length}] after each stream"
            why = (
                ": a tuple without a match would be final only as it leaves its window, and no"
                " watermark says when that is"
            )
            stream_windows.refuse_count_windows(block.scope, clauses, over, instead, why)
        if block.above:
            instead = "write [ROWS n] after each stream"
            why = ": numbers of all streams together do not say when a tuple leaves"
            stream_windows.refuse_count_windows(block.scope, clauses, block.above, instead, why)

    def _project(self, node: Node, items: Sequence[Item], alias: str) -> Project:
        exprs = self.renderer.typed(node.schema, [item.tree for item in items])
        names = [f"{alias}.{item.name}" if alias else item.name for item in items]
        named = tuple(Named(name, expr) for name, expr in zip(names, exprs, strict=True))
        schema = Schema(tuple(Field(n.name, n.expr.type) for n in named))
        return Project(node, named, schema)


@dataclass(frozen=True)
class _Block:
    """One SELECT with its names resolved.

    `scope` has all sources of FROM, and those of its window join once tables have their places;
    `seen` those that are in reach after it; `filters` is WHERE; `above` is what takes its rows
    back, or "".
    """

    select: exp.Select
    from_: From
    scope: Scope
    seen: Scope
    items: list[Item]
    filters: tuple[exp.Expr, ...]
    above: str


def _kept_keys(source: FromItem, block: _Block, *, is_multiplied: bool) -> tuple[str, ...] | None:
    """The output names of a changelog's keys; None where they do not tell its rows apart.

    Joined with a table, a row may come several times: all columns together tell such rows apart.
    """
    names, items = [], block.items
    for key in source.changelog_keys or ():
        flat = f"{source.alias}.{key}"
        found = [i.name for i in items if isinstance(i.tree, exp.Column) and i.tree.name == flat]
        if not found:
            return None
        names.append(found[0])
    if source.is_bag:
        return None
    return tuple(item.name for item in items) if is_multiplied else tuple(names)


def _no_window(source: FromItem, windows: StatedWindows, above: str) -> PlanError:
    length = example_length(source.time_type)
    reason = f"{above} takes rows back when they leave their window"
    if windows.bounds:
        reason += "; a window between two streams does not say when a row leaves"
    return PlanError(
        "no-window-per-stream",
        f"{source.alias} has no window of its own",
        reason=reason,
        hint=f"add it in FROM: {source.alias} [RANGE {length}]",
    ).at(source.span)
