"""WHERE and ON: one list of conjuncts, sorted into windows, keys and predicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from windrow.errors import BindError, Span
from windrow.plan.windows import Bound
from windrow.sql.clauses import PairWindow, UniformWindow
from windrow.sql.keys import Condition, bare, equality_of
from windrow.sql.refuse import refuse_expressions
from windrow.sql.scope import Scope
from windrow.sql.spans import span_of
from windrow.sql.time_bounds import TimeConditions


@dataclass(frozen=True)
class Conditions:
    """The conjuncts of one SELECT by what they become.

    Attributes:
        clauses: WINDOW and DWINDOW clauses written among the conjuncts.
        bounds: windows stated as plain conditions on time.
        equalities: join keys.
        predicates: everything else, resolved.
        places: where each bound stands in the SQL, by its text.
    """

    clauses: tuple[exp.Expr, ...]
    bounds: tuple[Bound, ...]
    equalities: tuple[Condition, ...]
    predicates: tuple[exp.Expr, ...]
    places: Mapping[str, Span | None]


def conjuncts(trees: Iterable[exp.Expr]) -> Iterator[exp.Expr]:
    """The parts that AND connects, parentheses taken off."""
    waiting = list(trees)[::-1]
    while waiting:
        tree = bare(waiting.pop())
        if isinstance(tree, exp.And):
            waiting += [tree.expression, tree.this]
        else:
            yield tree


Taker = Callable[[exp.Expr], bool]
"""Takes a resolved conjunct that belongs to a join with a table; says whether it has."""


def take_none(_: exp.Expr) -> bool:
    """Leaves every conjunct."""
    return False


def sort_conditions(
    trees: Sequence[exp.Expr],
    scope: Scope,
    time_type: str,
    sql: str,
    streams: Scope | None = None,
    taken: Taker = take_none,
) -> Conditions:
    """Every conjunct of WHERE and ON in its place.

    Args:
        trees: WHERE and ON.
        scope: what their names mean.
        time_type: the type of event time.
        sql: the text.
        streams: the scope of the window join, where that is another one.
        taken: what joins with tables take.
    """
    streams = streams or scope
    times = TimeConditions(streams, time_type, sql)
    clauses: list[exp.Expr] = []
    bounds: list[Bound] = []
    equalities: list[Condition] = []
    predicates: list[exp.Expr] = []
    places: dict[str, Span | None] = {}
    for conjunct in conjuncts(trees):
        if isinstance(conjunct, PairWindow | UniformWindow):
            clauses.append(conjunct)
            continue
        refuse_misplaced(conjunct)
        resolved = scope.resolve(conjunct)
        if taken(resolved):
            continue
        found = times.bounds(resolved)
        key = equality_of(resolved, streams)
        if found:
            bounds += found
            places |= {bound.text: span_of(conjunct) for bound in found}
        elif key is not None:
            equalities.append(key)
        else:
            predicates.append(resolved)
    return Conditions(tuple(clauses), tuple(bounds), tuple(equalities), tuple(predicates), places)


def sort_filters(
    trees: Sequence[exp.Expr], scope: Scope, taken: Taker = take_none
) -> tuple[tuple[exp.Expr, ...], tuple[exp.Expr, ...]]:
    """WHERE over a join that is not inner: windows, which belong to ON, and predicates, resolved.

    Whatever else it says of times or keys is said of rows that the join has given.
    """
    clauses: list[exp.Expr] = []
    predicates: list[exp.Expr] = []
    for conjunct in conjuncts(trees):
        if isinstance(conjunct, PairWindow | UniformWindow):
            clauses.append(conjunct)
            continue
        refuse_misplaced(conjunct)
        resolved = scope.resolve(conjunct)
        if not taken(resolved):
            predicates.append(resolved)
    return tuple(clauses), tuple(predicates)


def refuse_misplaced(conjunct: exp.Expr) -> None:
    """Refuses windows and aggregates inside a condition, and what Windrow does not run in one."""
    refuse_expressions(conjunct)
    aggregate = conjunct.find(exp.AggFunc)
    if aggregate is not None:
        raise BindError(
            "aggregate-in-where",
            "an aggregate stands in WHERE or ON",
            reason="rows are filtered there before they are grouped",
            hint="write the condition in HAVING",
            span=span_of(aggregate),
        )
