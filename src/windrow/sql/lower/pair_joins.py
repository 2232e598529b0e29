"""What joins of two streams by time have in common: ON and WHERE, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter
from windrow.sql.bind.conditions import conjuncts, refuse_misplaced
from windrow.sql.bind.keys import Condition, equality_of
from windrow.sql.bind.scope import Scope
from windrow.sql.bind.stream_windows import refuse_count_windows
from windrow.sql.grammar.clauses import PairWindow, UniformWindow
from windrow.sql.grammar.refuse import NAMES, SLUGS, unsupported
from windrow.sql.grammar.spans import span_of, text_of
from windrow.sql.render.render import Renderer


@dataclass
class PairConditions:
    """The conditions of one such join, sorted.

    Attributes:
        keys: the equalities of ON.
        filters: per side, what its rows must meet before they join.
        above: what the join's rows must meet.
    """

    keys: list[Condition] = field(default_factory=list)
    filters: tuple[list[exp.Expr], list[exp.Expr]] = field(default_factory=lambda: ([], []))
    above: list[exp.Expr] = field(default_factory=list)

    def inputs(self, scope: Scope, renderer: Renderer) -> list[Node]:
        """The two sources, each below its filters."""
        nodes = []
        for source, predicates in zip(scope.sources, self.filters, strict=True):
            node = source.node
            if predicates:
                node = Filter(node, renderer.predicates(node.schema, predicates))
            nodes.append(node)
        return nodes


def sort_pair_conditions(
    join: exp.Join,
    scope: Scope,
    on: Sequence[exp.Expr],
    where: Sequence[exp.Expr],
    sql: str,
    *,
    is_left_kept: bool,
) -> PairConditions:
    """Every conjunct in its place.

    ON says which rows of the right side may match: keys, and conditions on it alone. WHERE says
    what to keep of the join's rows; what it says of the left side can be said of it before.

    Args:
        join: the join.
        scope: its two sources.
        on: its ON.
        where: the WHERE of its SELECT.
        sql: the text.
        is_left_kept: whether a left row is in the answer though nothing matches it.
    """
    found = PairConditions()
    for conjunct in conjuncts(on):
        refuse_misplaced(conjunct)
        resolved = scope.resolve(conjunct)
        key, read = equality_of(resolved, scope), scope.sources_in(resolved)
        if key is not None:
            found.keys.append(key)
        elif read == {1} or (read == {0} and not is_left_kept):
            found.filters[max(read)].append(resolved)
        else:
            raise _condition(join, conjunct, scope, sql, is_of_left=read == {0})
    for conjunct in conjuncts(where):
        if isinstance(conjunct, PairWindow | UniformWindow):
            raise _window(join, conjunct, sql)
        refuse_misplaced(conjunct)
        resolved = scope.resolve(conjunct)
        is_of_left = scope.sources_in(resolved) <= {0}
        (found.filters[0] if is_of_left else found.above).append(resolved)
    return found


def _condition(
    join: exp.Join, conjunct: exp.Expr, scope: Scope, sql: str, *, is_of_left: bool
) -> Exception:
    left, right = (source.alias for source in scope.sources)
    hint = f"ON takes equalities of {left} and {right}, and conditions on {right} alone; what else"
    hint += " there is to say of a pair is said in WHERE, of times in MATCH_CONDITION"
    if join.args["kind"] == "WINDOW":
        hint = f"ON takes equalities of {left} and {right}, and conditions on {right} alone"
    if is_of_left:
        hint = f"write it in WHERE: a row of {left} is in the answer though nothing matches it"
    return unsupported(
        f"{SLUGS[join.args['kind']]}-condition",
        f"the condition {text_of(conjunct, sql)} is not supported in the ON of"
        f" {NAMES[join.args['kind']]}",
        hint,
    ).at(span_of(conjunct))


def _window(join: exp.Join, clause: exp.Expr, sql: str) -> Exception:
    return unsupported(
        f"{SLUGS[join.args['kind']]}-window",
        f"{text_of(clause, sql)} over {NAMES[join.args['kind']]} is not supported",
        BOUNDS[join.args["kind"]],
    ).at(span_of(clause))


BOUNDS = {
    "ASOF": "bound the distance in time behind ON: TOLERANCE INTERVAL '10' MINUTES",
    "WINDOW": "its window is RANGE BETWEEN .. AND .., behind ON",
}
"""How each of the joins is bounded in time."""


def refuse_pair_windows(select: exp.Select, join: exp.Join, scope: Scope, sql: str) -> None:
    """Refuses windows of streams and of pairs: such a join has a bound of its own."""
    kind = join.args["kind"]
    clauses = select.args.get("windows") or []
    refuse_count_windows(scope, clauses, NAMES[kind], BOUNDS[kind], sql)
    for source in scope.sources:
        if source.range_ticks is not None:
            raise unsupported(
                f"{SLUGS[kind]}-range",
                f"{source.range_text} in {NAMES[kind]} is not supported",
                BOUNDS[kind],
            ).at(source.span)
    if clauses:
        raise _window(join, clauses[0], sql)


def refuse_pair_side(join: exp.Join) -> None:
    """Refuses RIGHT and FULL."""
    kind, side = join.args["kind"], str(join.args.get("side") or "")
    if side not in {"", "LEFT"}:
        raise unsupported(
            f"{SLUGS[kind]}-kind",
            f"{side} {kind} JOIN is not supported",
            f"write LEFT {kind} JOIN, with the stream to keep on the left",
        ).at(span_of(join))


def refuse_above_pair(join: exp.Join, above: str) -> None:
    """Refuses what takes rows back right above such a join; "" for nothing."""
    if above:
        kind = join.args["kind"]
        raise unsupported(
            f"aggregate-of-{SLUGS[kind]}",
            f"{above} right above {NAMES[kind]} is not supported",
            "put the join in a derived table with a window: FROM (SELECT ..) m [RANGE ..]",
        ).at(span_of(join))
