"""Joins of two streams by time: ASOF JOIN and WINDOW JOIN.

Both sort ON and WHERE in the same way, and refuse the same: windows of their streams, since they have a
bound of their own, and what takes rows back right above them. MATCH_CONDITION says which times an as-of
join matches; a WINDOW JOIN gives each left row with aggregates over the right rows in a range of time
around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from windrow.errors import BindError, UnsupportedError
from windrow.plan.exprs import Named, column
from windrow.plan.nodes.asof_join import AsofJoin, AsofMatch
from windrow.plan.nodes.base import Equality, Node
from windrow.plan.nodes.range_aggregate_join import RangeAggregateJoin
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.sql.bind.conditions import conjuncts, refuse_misplaced
from windrow.sql.bind.keys import KeyEquality, add_keys, equality_of, free_name, with_columns
from windrow.sql.bind.lengths import distance_ticks, window_ends
from windrow.sql.bind.scope import Scope
from windrow.sql.bind.select_list import Grouping, Item
from windrow.sql.bind.stream_windows import refuse_count_windows
from windrow.sql.grammar.clauses import AsofCondition, WindowClause
from windrow.sql.grammar.refuse import NAMES, SLUGS, unsupported
from windrow.sql.grammar.spans import bare, span_of, text_of
from windrow.sql.render.render import Renderer

_BOUNDS = {
    "ASOF": "bound the distance in time behind ON: TOLERANCE INTERVAL '10' MINUTES",
    "WINDOW": "its window is RANGE BETWEEN .. AND .., behind ON",
}
"""How each of the joins is bounded in time."""

_MATCHES = {
    ">=": ("backward", False),
    ">": ("backward", True),
    "<=": ("forward", False),
    "<": ("forward", True),
}
"""Direction and strictness by what stands between the left time and the right one."""

_MIRRORED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}


def refuse_above_pair(join: exp.Join, above: str) -> None:
    """Refuses what takes rows back right above such a join; "" for nothing."""
    if above:
        kind = join.args["kind"]
        raise unsupported(
            f"aggregate-of-{SLUGS[kind]}",
            f"{above} right above {NAMES[kind]} is not supported",
            "put the join in a derived table with a window: FROM (SELECT ..) m [RANGE ..]",
        ).at(span_of(join))


def named_times(join: exp.Join, scope: Scope) -> list[exp.Expr]:
    """The columns that MATCH_CONDITION names, for their names to be looked up."""
    condition = join.args.get("match_condition")
    if not isinstance(condition, AsofCondition):
        return []
    trees = [condition.this, condition.expression]
    apart = condition.args.get("apart")
    trees += [apart.this, apart.expression] if apart is not None else []
    return [tree for tree in trees if not _is_alias(tree, scope)]


def _is_alias(tree: exp.Expr, scope: Scope) -> bool:
    """Whether a tree is the alias of a source alone, which stands for its rows' event time."""
    tree = bare(tree)
    if not isinstance(tree, exp.Column) or len(tree.parts) > 1:
        return False
    is_column = any(source.find(tree.name) is not None for source in scope.sources)
    return not is_column and scope.source_named(tree.name) is not None


@dataclass
class PairJoinLowering:
    """Lowers one join of two streams by time, with its ON and the WHERE of its SELECT."""

    select: exp.Select
    join: exp.Join
    on: Sequence[exp.Expr]
    where: Sequence[exp.Expr]
    scope: Scope
    renderer: Renderer
    _keys: list[KeyEquality] = field(default_factory=list)
    _filters: tuple[list[exp.Expr], list[exp.Expr]] = field(default_factory=lambda: ([], []))
    """Per side, what its rows must meet before they join."""
    _above: list[exp.Expr] = field(default_factory=list)
    """What the join's rows must meet."""

    def __post_init__(self) -> None:
        self._sql = self.scope.sql
        self._kind: str = self.join.args["kind"]
        self._side = str(self.join.args.get("side") or "")
        left, right = (source.alias for source in self.scope.sources)
        self._aliases = (left, right)

    def asof(self) -> Node:
        """The as-of join, the filters of its sources below it, and what WHERE says of pairs above."""
        if self._side not in {"", "LEFT"}:
            raise unsupported(
                "asof-kind",
                f"{self._side} ASOF JOIN is not supported",
                "write LEFT ASOF JOIN, with the stream to keep on the left",
            ).at(span_of(self.join))
        self._refuse_windows()
        match = self._match(self.join.args["match_condition"])
        self._sort_conditions(is_left_kept=bool(self._side))
        (left, right), equalities = self._inputs(is_left_kept=bool(self._side))
        kind = "left" if self._side else "inner"
        node = AsofJoin(left, right, self._aliases, match, equalities, kind, span_of(self.join))
        return self.renderer.filtered(node, self._above)

    def window_join(self, items: Sequence[Item]) -> tuple[Node, list[Item]]:
        """The WINDOW JOIN of the two sources, and the items over what it gives."""
        if self._side:
            raise unsupported(
                "window-join-side",
                f"{self._side} WINDOW JOIN is not supported",
                "write WINDOW JOIN: every row of the left stream is in its answer, once",
            ).at(span_of(self.join))
        self._refuse_windows()
        self._sort_conditions(is_left_kept=True)
        if self._above:
            left, right = self._aliases
            raise BindError(
                "where-of-window-join",
                f"{text_of(self._above[0], self._sql)} in WHERE reads {right}",
                reason=f"a WINDOW JOIN gives rows of {left}; those of {right} are counted in them",
                hint=f"say in ON which rows of {right} are counted",
            ).at(span_of(self._above[0]))
        window = self.join.args["match_condition"]
        lo, hi = window_ends(window, self.scope.time_type, self._sql)
        (rows, counted), equalities = self._inputs(is_left_kept=True)
        reading = _Reading(self.select, items, self.scope, self.renderer)
        shown, aggregates = reading.read(counted)
        counted, aggregates = _over_columns(counted, aggregates, self._aliases[1])
        text, span = text_of(window, self._sql), span_of(self.join)
        node = RangeAggregateJoin(
            rows, counted, self._aliases, equalities, lo, hi, aggregates, text, span
        )
        return node, shown

    def _refuse_windows(self) -> None:
        """Refuses windows of streams and of pairs: such a join has a bound of its own."""
        clauses = self.select.args.get("windows") or []
        name, bound = NAMES[self._kind], _BOUNDS[self._kind]
        refuse_count_windows(self.scope, clauses, name, bound)
        for source in self.scope.sources:
            if source.range_ticks is not None:
                raise unsupported(
                    f"{SLUGS[self._kind]}-range",
                    f"{source.range_text} in {name} is not supported",
                    bound,
                ).at(source.span)
        if clauses:
            raise self._window(clauses[0])

    def _window(self, clause: exp.Expr) -> UnsupportedError:
        return unsupported(
            f"{SLUGS[self._kind]}-window",
            f"{text_of(clause, self._sql)} over {NAMES[self._kind]} is not supported",
            _BOUNDS[self._kind],
        ).at(span_of(clause))

    def _sort_conditions(self, *, is_left_kept: bool) -> None:
        """Every conjunct to its place.

        ON says which rows of the right side may match: keys, and conditions on it alone. WHERE says
        what to keep of the join's rows; what it says of the left side can be said of it before. Of
        ON that holds only where no left row is in the answer though nothing matches it.
        """
        for conjunct in conjuncts(self.on):
            refuse_misplaced(conjunct)
            resolved = self.scope.resolve(conjunct)
            key, read = equality_of(resolved, self.scope), self.scope.sources_in(resolved)
            if key is not None:
                self._keys.append(key)
            elif read == {1} or (read == {0} and not is_left_kept):
                self._filters[max(read)].append(resolved)
            else:
                raise self._condition(conjunct, is_of_left=read == {0})
        for conjunct in conjuncts(self.where):
            if isinstance(conjunct, WindowClause):
                raise self._window(conjunct)
            refuse_misplaced(conjunct)
            resolved = self.scope.resolve(conjunct)
            is_of_left = self.scope.sources_in(resolved) <= {0}
            (self._filters[0] if is_of_left else self._above).append(resolved)

    def _condition(self, conjunct: exp.Expr, *, is_of_left: bool) -> UnsupportedError:
        left, right = self._aliases
        hint = f"ON takes equalities of {left} and {right}, and conditions that read only {right}"
        if self._kind == "ASOF":
            hint += "; put other conditions on a pair in WHERE, on times in MATCH_CONDITION"
        if is_of_left:
            hint = f"write it in WHERE: a row of {left} is in the answer though nothing matches it"
        return unsupported(
            f"{SLUGS[self._kind]}-condition",
            f"the condition {text_of(conjunct, self._sql)} is not supported in the ON of"
            f" {NAMES[self._kind]}",
            hint,
        ).at(span_of(conjunct))

    def _inputs(self, *, is_left_kept: bool) -> tuple[list[Node], tuple[Equality, ...]]:
        """The two sources, each below its filters and with its keys, and the equalities of these."""
        nodes = [
            self.renderer.filtered(source.node, own)
            for source, own in zip(self.scope.sources, self._filters, strict=True)
        ]
        kept = (0,) if is_left_kept else ()
        return add_keys(nodes, self._keys, self.scope, self.renderer, preserved=kept)

    # MATCH_CONDITION

    def _match(self, condition: AsofCondition) -> AsofMatch:
        """Which right row is the match of a left one."""
        is_mirrored = self._sides(condition) == [1, 0]
        operator, written = condition.args["operator"], condition.args.get("tolerance")
        tolerance, text = None, text_of(condition, self._sql)
        if written is not None:
            tolerance = distance_ticks(written, self.scope.time_type, self._sql, "tolerance")
            text += f" TOLERANCE {text_of(written, self._sql)}"
        if operator == "NEAREST":
            apart = condition.args.get("apart")
            if apart is not None:
                self._sides(apart)
            return AsofMatch("nearest", apart is not None, tolerance, text)
        direction, is_strict = _MATCHES[_MIRRORED[operator] if is_mirrored else operator]
        return AsofMatch(direction, is_strict, tolerance, text)

    def _sides(self, condition: exp.Expr) -> list[int]:
        """The sources whose times stand before and behind the operator."""
        sides = [self._side_of(condition.this), self._side_of(condition.expression)]
        if sorted(sides) != [0, 1]:
            left, right = self._aliases
            raise BindError(
                "asof-sides",
                f"{text_of(condition, self._sql)} does not compare {left} and {right}",
                reason="MATCH_CONDITION has the time of one stream on either side",
                hint=f"write {self._time(0)} before the operator and {self._time(1)} behind it",
            ).at(span_of(condition))
        return sides

    def _side_of(self, tree: exp.Expr) -> int:
        """The source whose event time a tree is."""
        tree = bare(tree)
        if _is_alias(tree, self.scope):
            found = self.scope.source_named(tree.name)
            assert found is not None
            return found
        resolved = self.scope.resolve(tree)
        for number, source in enumerate(self.scope.sources):
            if isinstance(resolved, exp.Column) and resolved.name in source.node.event_times:
                return number
        raise BindError(
            "asof-time",
            f"{text_of(tree, self._sql)} is not the event time of a stream",
            reason="rows are matched in the order in which time passes over them",
            hint=f"compare {self._time(0)} and {self._time(1)}; the alias of a derived table alone"
            " stands for the event time of its rows",
        ).at(span_of(tree))

    def _time(self, number: int) -> str:
        """How to write the event time of a source."""
        source = self.scope.sources[number]
        return source.time or min(source.node.event_times, default=source.alias)


@dataclass
class _Reading(Grouping):
    """The items of a WINDOW JOIN: columns of the left side, and aggregates of the right one."""

    def read(self, right: Node) -> tuple[list[Item], tuple[Aggregate, ...]]:
        """The items over the join, and its aggregates over the right input."""
        shown = [replace(item, tree=self._item_above(item)) for item in self.items]
        rows, counted = (source.alias for source in self.scope.sources)
        if not self.aggregates:
            raise BindError(
                "window-join-without-aggregate",
                "the WINDOW JOIN is asked for no aggregate",
                reason=f"it says of each row of {rows} what the rows around it add up to",
                hint=f"list one, for instance COUNT(*) or SUM({counted}.x)",
            ).at(span_of(self.select))
        for tree in self.aggregates:
            if 0 in self.scope.sources_in(tree):
                raise BindError(
                    "aggregate-of-left",
                    f"the aggregate {text_of(tree, self.renderer.sql)} reads {rows}",
                    reason=f"it is one of rows of {counted}, the same for all rows of {rows} at one"
                    " time",
                    hint=f"compute with {rows} outside of it: {rows}.x * SUM({counted}.y)",
                ).at(span_of(tree))
        return shown, tuple(self._aggregate(i, right) for i in range(len(self.aggregates)))

    def _plain_column(self, node: exp.Column) -> exp.Expr:
        if self.scope.source_of(node.name) == 0:
            return node
        text = text_of(node, self.renderer.sql)
        rows, counted = (source.alias for source in self.scope.sources)
        raise BindError(
            "not-aggregated",
            f"the column {text} is not inside an aggregate",
            reason=f"there may be many rows of {counted} around one of {rows}",
            hint=f"aggregate it, for instance MAX({text})",
        ).at(span_of(node))


def _over_columns(
    right: Node, aggregates: Sequence[Aggregate], alias: str
) -> tuple[Node, tuple[Aggregate, ...]]:
    """The right input with computed arguments as columns, and the aggregates over columns."""
    added: list[Named] = []
    plain = []
    for each in aggregates:
        argument = each.argument
        if argument is None or argument.is_column:
            plain.append(each)
            continue
        name = next((item.name for item in added if item.expr.spark == argument.spark), None)
        if name is None:
            name = free_name(f"{alias}.$argument{len(added)}", right.schema)
            added.append(Named(name, argument))
        read = replace(column(name, argument.type), text=argument.text, span=argument.span)
        plain.append(replace(each, argument=read))
    return with_columns(right, added), tuple(plain)
