"""As-of joins: which times match, by which keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from windrow.errors import BindError, Span
from windrow.plan.nodes.asof_join import AsofJoin, AsofMatch
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter
from windrow.sql.bind.keys import add_keys, bare
from windrow.sql.bind.lengths import distance_ticks
from windrow.sql.bind.scope import Scope
from windrow.sql.bind.sources import From
from windrow.sql.grammar.clauses import AsofCondition
from windrow.sql.grammar.spans import span_of, text_of
from windrow.sql.lower.pair_joins import refuse_pair_side, refuse_pair_windows, sort_pair_conditions
from windrow.sql.render.render import Renderer

_MATCHES = {
    ">=": ("backward", False),
    ">": ("backward", True),
    "<=": ("forward", False),
    "<": ("forward", True),
}
"""Direction and strictness by what stands between the left time and the right one."""

_MIRRORED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}


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


def lower_asof(
    select: exp.Select, from_: From, scope: Scope, where: Sequence[exp.Expr], renderer: Renderer
) -> Node:
    """The join of the two sources, their filters below it, and what WHERE says of pairs above."""
    join = from_.paired
    assert join is not None
    refuse_pair_side(join)
    refuse_pair_windows(select, join, scope, renderer.sql)
    match = _Reader(scope, renderer.sql).match(join.args["match_condition"])
    kind = "left" if join.args.get("side") else "inner"
    is_left = kind == "left"
    conditions = sort_pair_conditions(
        join, scope, from_.conditions, where, renderer.sql, is_left_kept=is_left
    )
    inputs, equalities = add_keys(
        conditions.inputs(scope, renderer),
        conditions.keys,
        scope,
        renderer,
        preserved=(0,) if is_left else (),
    )
    left, right = (source.alias for source in scope.sources)
    node: Node = AsofJoin(
        inputs[0], inputs[1], (left, right), match, equalities, kind, span_of(join)
    )
    if conditions.above:
        node = Filter(node, renderer.predicates(node.schema, conditions.above))
    return node


@dataclass(frozen=True)
class _Reader:
    """Reads MATCH_CONDITION over two sources."""

    scope: Scope
    sql: str

    def match(self, condition: AsofCondition) -> AsofMatch:
        """Which right row is the match of a left one."""
        is_mirrored = self._sides(condition) == [1, 0]
        operator = condition.args["operator"]
        tolerance, text = self._tolerance(condition)
        text = f"{text_of(condition, self.sql)}{text}"
        if operator == "NEAREST":
            apart = condition.args.get("apart")
            if apart is not None:
                self._sides(apart)
            return AsofMatch("nearest", apart is not None, tolerance, text)
        direction, is_strict = _MATCHES[_MIRRORED[operator] if is_mirrored else operator]
        return AsofMatch(direction, is_strict, tolerance, text)

    def _tolerance(self, condition: AsofCondition) -> tuple[int | None, str]:
        """How far away a match may be, and the text that says so."""
        written = condition.args.get("tolerance")
        if written is None:
            return None, ""
        ticks = distance_ticks(written, self.scope.sources[0].time_type, self.sql, "tolerance")
        return ticks, f" TOLERANCE {text_of(written, self.sql)}"

    def _sides(self, condition: exp.Expr) -> list[int]:
        """The sources whose times stand before and behind the operator."""
        sides = [self._side(condition.this), self._side(condition.expression)]
        if sorted(sides) != [0, 1]:
            left, right = (source.alias for source in self.scope.sources)
            raise BindError(
                "asof-sides",
                f"{text_of(condition, self.sql)} does not compare {left} and {right}",
                reason="MATCH_CONDITION has the time of one stream on either side",
                hint=f"write {self._time(0)} before the operator and {self._time(1)} behind it",
            ).at(span_of(condition))
        return sides

    def _side(self, tree: exp.Expr) -> int:
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
        raise self._no_time(tree, span_of(tree))

    def _no_time(self, tree: exp.Expr, span: Span | None) -> BindError:
        return BindError(
            "asof-time",
            f"{text_of(tree, self.sql)} is not the event time of a stream",
            reason="rows are matched in the order in which time passes over them",
            hint=f"compare {self._time(0)} and {self._time(1)}; the alias of a derived table alone"
            " stands for the event time of its rows",
        ).at(span)

    def _time(self, number: int) -> str:
        """How to write the event time of a source."""
        source = self.scope.sources[number]
        return source.time or min(source.node.event_times, default=source.alias)
