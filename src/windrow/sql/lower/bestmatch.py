"""Bestmatch joins: dimensions, candidates and what filters either side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from windrow.errors import PlanError, Span
from windrow.plan.exprs import Named
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.best_pairs import BestPairs
from windrow.plan.nodes.bestmatch_join import JUDGED, BestmatchJoin, Dimension
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.window_join import WindowJoin
from windrow.plan.windows import UNBOUNDED, Bound, WindowGraph
from windrow.sql.bind.conditions import sort_conditions
from windrow.sql.bind.keys import Condition, add_keys, free_name, with_columns
from windrow.sql.bind.match_orders import MatchDimension, OrderReader, distance_limit
from windrow.sql.bind.scope import Scope, Source, flat_column
from windrow.sql.bind.stream_windows import refuse_count_windows
from windrow.sql.bind.windows import Places, check_contradiction, example_length, read_windows
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import forget, mark_flat, span_of, text_of
from windrow.sql.lower.best_pairs import (
    PLAIN,
    best_pairs,
    refuse_one_window,
    refuse_unmatched,
    with_times,
    with_windows,
)
from windrow.sql.render.render import Renderer


def lower_bestmatch(
    select: exp.Select,
    join: exp.Join,
    scope: Scope,
    conditions: Sequence[exp.Expr],
    filters: Sequence[exp.Expr],
    renderer: Renderer,
) -> Node:
    """The join of the two sources, with computed columns below it, under what filters its pairs.

    Args:
        select: the SELECT that it stands in.
        join: the join.
        scope: its two sources.
        conditions: those of ON, which decide what is a candidate.
        filters: WHERE. What compares the two sides there decides that, too; what is about one side
            is asked of the answer, as above every join that is not inner.
        renderer: makes expressions.
    """
    refuse_one_window(scope)
    timed = replace(scope, sources=tuple(map(_with_time, scope.sources)))
    return _Bestmatch(timed, renderer).lower(select, join, conditions, filters)


def _flat(name: str, original: exp.Expr) -> exp.Column:
    """A column of the plan in place of what stands in the text."""
    column = flat_column(name)
    mark_flat(column, original)
    return column


def _with_time(source: Source) -> Source:
    """The source with its event time; a derived table may have a column that holds it."""
    times = source.node.event_times
    return source if source.time or not times else replace(source, time=min(times))


@dataclass
class _Bestmatch:
    scope: Scope
    renderer: Renderer
    dimensions: list[MatchDimension] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    predicates: tuple[list[exp.Expr], list[exp.Expr]] = field(default_factory=lambda: ([], []))
    """Per side, the conditions of ON that are about it alone."""
    filters: list[exp.Expr] = field(default_factory=list)
    """Those of WHERE that are about one side alone."""
    limits: list[tuple[int, exp.Expr]] = field(default_factory=list)
    """Conditions on distances that are doubles, each with the place of its dimension."""

    @property
    def time_type(self) -> str:
        return self.scope.sources[0].time_type

    def lower(
        self,
        select: exp.Select,
        join: exp.Join,
        conditions: Sequence[exp.Expr],
        filters: Sequence[exp.Expr],
    ) -> Node:
        """The join, and above it what filters the answer."""
        node = self._lower(select, join, conditions, filters)
        if not self.filters:
            return node
        return Filter(node, self.renderer.predicates(node.schema, self.filters))

    def _lower(
        self,
        select: exp.Select,
        join: exp.Join,
        conditions: Sequence[exp.Expr],
        filters: Sequence[exp.Expr],
    ) -> BestmatchJoin | BestPairs:
        self._read_dimensions(join)
        in_on, in_where = (
            sort_conditions(trees, self.scope, self.time_type, self.renderer.sql)
            for trees in (conditions, filters)
        )
        clauses = [*(select.args.get("windows") or []), *in_on.clauses, *in_where.clauses]
        refuse_count_windows(
            self.scope,
            clauses,
            "a bestmatch join",
            "bound it in time: WHERE abs(l.ts - r.ts) <= INTERVAL '10' MINUTES",
            self.renderer.sql,
        )
        windows = read_windows(clauses, self.scope, self.time_type, self.renderer.sql)
        self.bounds += [*windows.bounds, *in_on.bounds, *in_where.bounds]
        self._place(in_on.predicates, in_where.predicates)
        places = {**windows.places, **in_on.places, **in_where.places}
        graph = self._time_bound(span_of(join), places)
        lo, hi = graph.upper[1][0], graph.upper[0][1]
        keep = "keep_unmatched" in join.meta or "keep_unmatched" in select.meta
        if keep and not join.args["side"]:
            refuse_unmatched(join, select)
        side = str(join.args["side"] or "").lower()
        kind = f"{side} outer" if side else PLAIN
        preserved = JUDGED[kind] if keep else ()
        inputs = self._with_conditions(preserved)
        keys = (*in_on.equalities, *in_where.equalities)
        if not side or any(source.range_ticks is not None for source in self.scope.sources):
            return self._best_now(join, inputs, keys, graph, kind, preserved)
        inputs, equalities = add_keys(inputs, keys, self.scope, self.renderer, preserved)
        inputs, dimensions = self._with_dimensions(inputs, lo, hi)
        return BestmatchJoin(
            inputs[0],
            inputs[1],
            kind,
            dimensions,
            equalities,
            lo,
            hi,
            keep_unmatched=keep,
            span=span_of(join),
        )

    def _read_dimensions(self, join: exp.Join) -> None:
        reader = OrderReader(self.scope, self.renderer, self.time_type)
        for order in join.expressions:
            dimension, bound = reader.read(order)
            self.dimensions.append(dimension)
            if bound is not None:
                self.bounds.append(bound)
            within = order.args.get("within")
            if within is not None and dimension.is_band and not dimension.is_exact:
                limit = exp.LTE(this=dimension.distance(), expression=within.copy())
                self.limits.append((len(self.dimensions) - 1, limit))

    def _best_now(
        self,
        join: exp.Join,
        inputs: Sequence[Node],
        conditions: Sequence[Condition],
        graph: WindowGraph,
        kind: str,
        preserved: Sequence[int],
    ) -> BestPairs:
        """The search for the best pairs among those of a window join.

        Where unmatched rows are kept it has each row of a judged side too, as if it had no match:
        to the search it is a pair that is worse than all others of its row.
        """
        inputs = with_windows(inputs, self.scope)
        nodes, equalities = add_keys(inputs, conditions, self.scope, self.renderer, preserved)
        nodes, dimensions = self._with_dimensions(nodes, UNBOUNDED, UNBOUNDED)
        nodes, times = with_times(nodes, self.scope)
        pairs = WindowJoin(tuple(nodes), graph.streams, equalities, graph, span_of(join))
        # For the join, which looks for what is near; the search tests limits too.
        limits = self.renderer.predicates(pairs.schema, self._near(dimensions))
        filters = Filter(pairs, limits) if limits else None
        if preserved:
            near = tuple(limit for limit in limits if limit.is_portable)
            outer = kind.removesuffix(" outer")
            pairs, filters = replace(pairs, kind=outer, predicates=near, at_once=True), None
        return best_pairs(
            join, kind, pairs, dimensions, filters, times, keep_unmatched=bool(preserved)
        )

    def _near(self, dimensions: Sequence[Dimension]) -> list[exp.Expr]:
        """The limits of distances as conditions on columns.

        Computed dimensions are columns of their own by now: a join looks for columns that are near
        without computing a difference, which whole numbers may not hold. It does so for limits in
        the digits of the columns: 1e3 of whole numbers is 1000, and what 63 bits do not hold none.
        """
        near: list[exp.Expr] = []
        for own, found in zip(self.dimensions, dimensions, strict=True):
            digits = own.limit_in_digits() if own.is_band else None
            if digits is not None:
                left, right = _flat(found.left, own.left), _flat(found.right, own.right)
                distance = exp.Abs(this=exp.Sub(this=left, expression=right))
                near.append(exp.LTE(this=distance, expression=exp.Literal.number(digits)))
        for place, limit in self.limits:
            own, found = self.dimensions[place], dimensions[place]
            condition = limit.copy()
            for side, name in ((own.left, found.left), (own.right, found.right)):
                for tree in [tree for tree in condition.walk() if tree == side]:
                    tree.replace(_flat(name, tree))
                    if not isinstance(tree, exp.Column):
                        forget(condition)
            near.append(condition)
        return near

    def _place(self, in_on: Sequence[exp.Expr], in_where: Sequence[exp.Expr]) -> None:
        """Conditions on one side to where they are asked; those on both constrain a dimension."""
        for trees, is_filter in ((in_on, False), (in_where, True)):
            for predicate in trees:
                read = self.scope.sources_in(predicate)
                if len(read) > 1:
                    self._constrain(predicate)
                elif is_filter:
                    self.filters.append(predicate)
                else:
                    self.predicates[max(read, default=0)].append(predicate)

    def _constrain(self, predicate: exp.Expr) -> None:
        distance, limit, strict = distance_limit(predicate)
        for place, dimension in enumerate(self.dimensions):
            if distance is not None and limit is not None and dimension.measures(distance):
                dimension.constrain(limit, self.renderer.sql, strict=strict)
                if dimension.is_band and not dimension.is_exact:
                    self.limits.append((place, predicate))
                return
        raise unsupported(
            "bestmatch-condition",
            f"the condition {text_of(predicate, self.renderer.sql)} is not supported in a"
            " bestmatch join",
            "candidates are chosen by abs(l.x - r.x) <= eps, or my_order(l.x, r.x) <= eps, for a"
            " dimension x, by equalities, and by conditions of ON on one side",
        ).at(span_of(predicate))

    def _time_bound(self, span: Span | None, places: Places) -> WindowGraph:
        aliases = tuple(source.alias for source in self.scope.sources)
        graph = WindowGraph(aliases, tuple(self.bounds))
        check_contradiction(graph, span, places)
        if max(graph.upper[1][0], graph.upper[0][1]) >= UNBOUNDED:
            left, right = (s.time or f"{s.alias}.ts" for s in self.scope.sources)
            raise PlanError(
                "bestmatch-without-time-bound",
                f"the bestmatch join of {aliases[0]} and {aliases[1]} has no bound on time",
                reason="no pair would ever be known to be the best, and state would grow for ever",
                hint=f"add in WHERE: abs({left} - {right}) <= {example_length(self.time_type)}",
            ).at(span)
        return graph

    def _with_conditions(self, preserved: Sequence[int]) -> list[Node]:
        """The sources without the rows of which ON says that they have no candidate.

        Those of a preserved side stay, to be found without one: what ON says of them becomes a
        dimension in which all pairs are as good, and whose value is NULL where it is not true.
        """
        inputs, kept = [], []
        for side, source in enumerate(self.scope.sources):
            conditions, node = self.predicates[side], source.node
            if conditions and side in preserved:
                kept += conditions
            elif conditions:
                node = Filter(node, self.renderer.predicates(node.schema, conditions))
            inputs.append(node)
        if kept:
            self.dimensions.append(self._condition_dimension(preserved, kept))
        return inputs

    def _condition_dimension(
        self, preserved: Sequence[int], conditions: Sequence[exp.Expr]
    ) -> MatchDimension:
        sides: list[exp.Expr] = []
        for side, source in enumerate(self.scope.sources):
            own = self.predicates[side] if side in preserved else []
            # Refused here where they are no conditions, and not as parts of a CASE.
            self.renderer.predicates(source.node.schema, own)
            zero = exp.Literal.number(0)
            case = exp.Case(ifs=[exp.If(this=exp.and_(*own), true=zero)]) if own else zero
            sides.append(case)
        text = " AND ".join(text_of(tree, self.renderer.sql) for tree in conditions)
        left, right = sides
        return MatchDimension(
            left, right, "int", "int", is_time=False, text=text, is_condition=True
        )

    def _with_dimensions(
        self, inputs: Sequence[Node], lo: int, hi: int
    ) -> tuple[list[Node], tuple[Dimension, ...]]:
        """The inputs with computed dimensions as columns, and the dimensions over columns."""
        added: tuple[list[Named], list[Named]] = ([], [])
        dimensions = []
        for dimension in self.dimensions:
            names = [
                self._column(tree, inputs[side], side, added[side])
                for side, tree in enumerate((dimension.left, dimension.right))
            ]
            time_eps = lo if lo == hi else None
            eps = time_eps if dimension.is_time else dimension.eps
            dimensions.append(
                Dimension(
                    names[0],
                    names[1],
                    dimension.order,
                    eps,
                    dimension.is_time,
                    dimension.function,
                    dimension.text,
                    dimension.span,
                    is_wide=dimension.is_wide,
                    unit=dimension.unit,
                    is_condition=dimension.is_condition,
                )
            )
        nodes = [with_columns(node, new) for node, new in zip(inputs, added, strict=True)]
        return nodes, tuple(dimensions)

    def _column(self, tree: exp.Expr, node: Node, side: int, added: list[Named]) -> str:
        if isinstance(tree, exp.Column):
            return tree.name
        expr = self.renderer.typed(node.schema, [tree])[0]
        name = free_name(f"{self.scope.sources[side].alias}.$dim{len(added)}", node.schema)
        added.append(Named(name, expr))
        return name
