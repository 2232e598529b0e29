"""Bestmatch joins: dimensions, candidates, filters of either side, and those of what is best now.

    FROM l [RANGE w] LEFT OUTER BESTMATCH JOIN r [RANGE w] ON ..     the best pairs of those alive
    FROM l BESTMATCH JOIN r ON .. WHERE abs(l.ts - r.ts) <= ..       the best pairs so far

The latter are changelogs. Their candidates are the pairs of a window join, and come, and go, with
it; which of them are best is a search above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from windrow.errors import PlanError
from windrow.plan.exprs import EVENT_TIME, Named
from windrow.plan.nodes.base import Equality, Node
from windrow.plan.nodes.bestmatch_join import JUDGED, MINDIST, BestmatchJoin, BestPairs, Dimension
from windrow.plan.nodes.filter import filtered
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.window_join import CandidateJoin, WindowJoin
from windrow.plan.windows import UNBOUNDED, Bound, WindowGraph
from windrow.sql.bind.conditions import sort_conditions
from windrow.sql.bind.keys import KeyEquality, add_keys, free_name, with_columns
from windrow.sql.bind.match_orders import MatchDimension, OrderReader, distance_limit
from windrow.sql.bind.scope import FromItem, Scope, column_for
from windrow.sql.bind.stream_windows import refuse_count_windows
from windrow.sql.bind.windows import Places, check_contradiction, example_length, read_windows
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import forget, span_of, text_of
from windrow.sql.render.render import Renderer

PLAIN = "plain"
RIGHT = 1


def says_what_is_best_now(join: exp.Join, items: Sequence[exp.Expr]) -> bool:
    """Whether a bestmatch join, of these items of FROM, is a changelog."""
    return not join.args.get("side") or any("stream_window" in item.meta for item in items)


def lower_bestmatch(
    select: exp.Select,
    join: exp.Join,
    scope: Scope,
    conditions: Sequence[exp.Expr],
    filters: Sequence[exp.Expr],
    renderer: Renderer,
) -> Node:
    """The join of the two sources, with computed columns below it, under what filters its pairs.

    `conditions` are those of ON, which decide what is a candidate. What compares the two sides in
    WHERE, the `filters`, decides that, too; what is about one side is asked of the answer, as above
    every join that is not inner.
    """
    _refuse_one_window(scope)
    timed = replace(scope, sources=tuple(map(_with_time, scope.sources)))
    lowering = _Bestmatch(select, join, timed, renderer)
    node = lowering.lower(conditions, filters)
    return renderer.filtered(node, lowering.filters)


def _refuse_one_window(scope: Scope) -> None:
    """Refuses a window of its own for one side of a bestmatch join alone."""
    for one, other in (scope.sources, scope.sources[::-1]):
        if one.range_ticks is not None and other.range_ticks is None:
            raise unsupported(
                "bestmatch-range",
                f"{one.alias} has a window of its own in a bestmatch join, {other.alias} has none",
                f"give both one, {other.alias} {one.range_text} for instance; or none, and bound the"
                " distance in time: WHERE abs(l.ts - r.ts) <= ..",
            ).at(one.span)


def _with_time(source: FromItem) -> FromItem:
    """The source with its event time; a derived table may have a column that holds it."""
    times = source.node.event_times
    return source if source.time or not times else replace(source, time=min(times))


@dataclass
class _Bestmatch:
    select: exp.Select
    join: exp.Join
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

    def lower(
        self, conditions: Sequence[exp.Expr], filters: Sequence[exp.Expr]
    ) -> BestmatchJoin | BestPairs:
        """The join; what WHERE says of one side alone is in `filters` then."""
        self._read_dimensions()
        in_on, in_where = (sort_conditions(trees, self.scope) for trees in (conditions, filters))
        clauses = [*(self.select.args.get("windows") or []), *in_on.clauses, *in_where.clauses]
        refuse_count_windows(
            self.scope,
            clauses,
            "a bestmatch join",
            "bound it in time: WHERE abs(l.ts - r.ts) <= INTERVAL '10' MINUTES",
        )
        windows = read_windows(clauses, self.scope)
        self.bounds += [*windows.bounds, *in_on.bounds, *in_where.bounds]
        self._place(in_on.predicates, in_where.predicates)
        graph = self._time_bound({**windows.places, **in_on.places, **in_where.places})
        side = str(self.join.args["side"] or "").lower()
        kind = f"{side} outer" if side else PLAIN
        keep = self._keeps_unmatched(kind)
        preserved = JUDGED[kind] if keep else ()
        inputs = self._with_conditions(preserved)
        keys = (*in_on.equalities, *in_where.equalities)
        if not side or any(source.range_ticks is not None for source in self.scope.sources):
            return self._best_now(inputs, keys, graph, kind, preserved)
        lo, hi = graph.upper[1][0], graph.upper[0][1]
        inputs, equalities = add_keys(inputs, keys, self.scope, self.renderer, preserved)
        (left, right), dimensions = self._with_dimensions(inputs, lo if lo == hi else None)
        return BestmatchJoin(
            left, right, kind, dimensions, equalities, lo, hi, keep, span_of(self.join)
        )

    def _keeps_unmatched(self, kind: str) -> bool:
        """Whether KEEP UNMATCHED is said, which is about tuples and not about pairs."""
        said = [tree for tree in (self.join, self.select) if "keep_unmatched" in tree.meta]
        if said and kind == PLAIN:
            raise PlanError(
                "keep-unmatched-of-plain",
                "KEEP UNMATCHED has no meaning in a plain BESTMATCH JOIN",
                reason="it looks for the best of all pairs, not for those of each tuple: most tuples"
                " are in none of them, with a candidate or without",
                hint="say whose tuples are kept: LEFT, RIGHT or FULL OUTER BESTMATCH JOIN",
            ).at(span_of(said[0]))
        return bool(said)

    def _read_dimensions(self) -> None:
        reader = OrderReader(self.scope, self.renderer)
        for order in self.join.expressions:
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
        inputs: Sequence[Node],
        conditions: Sequence[KeyEquality],
        graph: WindowGraph,
        kind: str,
        preserved: Sequence[int],
    ) -> BestPairs:
        """The search for the best pairs among those of a window join.

        Where unmatched rows are kept it has each row of a judged side too, as if it had no match:
        to the search it is a pair that is worse than all others of its row.
        """
        inputs = [
            node if source.range_ticks is None else Range(node, source.range_ticks)
            for node, source in zip(inputs, self.scope.sources, strict=True)
        ]
        nodes, equalities = add_keys(inputs, conditions, self.scope, self.renderer, preserved)
        nodes, dimensions = self._with_dimensions(nodes, UNBOUNDED)
        nodes, times = self._with_times(nodes)
        joined = tuple(nodes), graph.streams, equalities, graph, span_of(self.join)
        pairs = WindowJoin(*joined)
        # For the join, which looks for what is near; the search tests limits too.
        limits = self.renderer.predicates(pairs.schema, self._near(dimensions))
        candidates = filtered(pairs, limits)
        if preserved:
            near = tuple(limit for limit in limits if limit.is_portable)
            outer = kind.removesuffix(" outer")
            candidates = CandidateJoin(*joined, predicates=near, kind=outer)
        of_columns = tuple(
            replace(d, is_time=False, eps=None) if d.is_time and d.order == MINDIST else d
            for d in dimensions
        )
        judged = JUDGED.get(kind, ())
        keys = [_keys(equalities, node) for node in nodes]
        groups = tuple(_group(nodes[at], times[at], keys[at], of_columns) for at in judged)
        spread_by: tuple[str, ...] = ()
        if groups:
            spread_by = keys[judged[0]] or (groups[0] if len(groups) == 1 else ())
        return BestPairs(
            candidates,
            kind,
            of_columns,
            groups or ((),),
            spread_by,
            span_of(self.join),
            times if preserved else (),
            spread_else=keys[RIGHT] if preserved and len(groups) > 1 else (),
        )

    def _with_times(self, nodes: Sequence[Node]) -> tuple[list[Node], tuple[str, ...]]:
        """The inputs, and of each the column that has its event time; one is added where none has."""
        timed, names = [], []
        for node, source in zip(nodes, self.scope.sources, strict=True):
            name = source.time or free_name(f"{source.alias}.$time", node.schema)
            names.append(name)
            timed.append(node if source.time else with_columns(node, [Named(name, EVENT_TIME)]))
        return timed, tuple(names)

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
                left, right = column_for(found.left, own.left), column_for(found.right, own.right)
                distance = exp.Abs(this=exp.Sub(this=left, expression=right))
                near.append(exp.LTE(this=distance, expression=exp.Literal.number(digits)))
        for place, limit in self.limits:
            own, found = self.dimensions[place], dimensions[place]
            condition = limit.copy()
            for side, name in ((own.left, found.left), (own.right, found.right)):
                for tree in [tree for tree in condition.walk() if tree == side]:
                    tree.replace(column_for(name, tree))
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
                dimension.constrain(limit, self.scope.sql, strict=strict)
                if dimension.is_band and not dimension.is_exact:
                    self.limits.append((place, predicate))
                return
        raise unsupported(
            "bestmatch-condition",
            f"the condition {text_of(predicate, self.scope.sql)} is not supported in a"
            " bestmatch join",
            "candidates are chosen by abs(l.x - r.x) <= eps, or my_order(l.x, r.x) <= eps, for a"
            " dimension x, by equalities, and by conditions of ON on one side",
        ).at(span_of(predicate))

    def _time_bound(self, places: Places) -> WindowGraph:
        span = span_of(self.join)
        aliases = tuple(source.alias for source in self.scope.sources)
        graph = WindowGraph(aliases, tuple(self.bounds))
        check_contradiction(graph, span, places)
        if max(graph.upper[1][0], graph.upper[0][1]) >= UNBOUNDED:
            left, right = (s.time or f"{s.alias}.ts" for s in self.scope.sources)
            raise PlanError(
                "bestmatch-without-time-bound",
                f"the bestmatch join of {aliases[0]} and {aliases[1]} has no bound on time",
                reason="no pair would ever be known to be the best, and state would grow forever",
                hint=f"add in WHERE: abs({left} - {right}) <= {example_length(self.scope.time_type)}",
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
                node = self.renderer.filtered(node, conditions)
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
        text = " AND ".join(text_of(tree, self.scope.sql) for tree in conditions)
        left, right = sides
        return MatchDimension(
            left, right, "int", "int", is_time=False, text=text, is_condition=True
        )

    def _with_dimensions(
        self, inputs: Sequence[Node], time_eps: int | None
    ) -> tuple[list[Node], tuple[Dimension, ...]]:
        """The inputs with computed dimensions as columns, and the dimensions over columns."""
        added: tuple[list[Named], list[Named]] = ([], [])
        dimensions = []
        for dimension in self.dimensions:
            left, right = (
                self._column(tree, inputs[side], side, added[side])
                for side, tree in enumerate((dimension.left, dimension.right))
            )
            dimensions.append(dimension.over_columns(left, right, time_eps))
        nodes = [with_columns(node, new) for node, new in zip(inputs, added, strict=True)]
        return nodes, tuple(dimensions)

    def _column(self, tree: exp.Expr, node: Node, side: int, added: list[Named]) -> str:
        if isinstance(tree, exp.Column):
            return tree.name
        expr = self.renderer.typed(node.schema, [tree])[0]
        name = free_name(f"{self.scope.sources[side].alias}.$dim{len(added)}", node.schema)
        added.append(Named(name, expr))
        return name


def _group(
    node: Node, time: str, keys: tuple[str, ...], dimensions: Sequence[Dimension]
) -> tuple[str, ...]:
    """The columns by which pairs have the same tuple of an input, or one with the same candidates.

    Tuples of equal time, keys and dimensions meet the same tuples, and match them as well.
    """
    names = set(node.schema.names)
    compared = [name for d in dimensions for name in (d.left, d.right) if name in names]
    return tuple(dict.fromkeys([time, *keys, *compared]))


def _keys(equalities: Sequence[Equality], node: Node) -> tuple[str, ...]:
    names = set(node.schema.names)
    return tuple(name for e in equalities for name in (e.left, e.right) if name in names)
