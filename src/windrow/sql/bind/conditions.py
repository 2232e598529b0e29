"""WHERE and ON: one list of conjuncts, sorted into windows, keys and predicates.

Plain conditions on time columns are windows, as `b.ts <= a.ts + INTERVAL '5' SECONDS` is. Both
sides of such a comparison are brought to one form, times minus times plus a constant:

    left - right  =  t(p) - t(m) + c        for exactly two sources p and m

    t(p) - t(m) + c <= 0      t(p) - t(m) <= -c       hi = -c
    t(p) - t(m) + c <  0      one tick tighter        hi = -c - 1
    t(p) - t(m) + c >= 0      t(p) - t(m) >= -c       lo =  c
    t(p) - t(m) + c >  0      one tick tighter        lo =  c - 1

Everything that does not fit this form is an ordinary predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from windrow.errors import BindError, Span
from windrow.plan.windows import UNBOUNDED, Bound
from windrow.sql.bind.keys import KeyEquality, equality_of
from windrow.sql.bind.lengths import Length, constant_length, window_ticks
from windrow.sql.bind.scope import Scope
from windrow.sql.grammar.clauses import WindowClause
from windrow.sql.grammar.refuse import refuse_expressions
from windrow.sql.grammar.spans import bare, span_of, text_of


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
    equalities: tuple[KeyEquality, ...]
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


def sort_conditions(
    trees: Sequence[exp.Expr],
    scope: Scope,
    streams: Scope | None = None,
    taken: Taker | None = None,
) -> Conditions:
    """Every conjunct of WHERE and ON in its place.

    `scope` says what their names mean, `streams` is the scope of the window join where that is
    another one, and `taken` are those that joins with tables take.
    """
    streams = streams or scope
    times = TimeConditions(streams)
    clauses: list[exp.Expr] = []
    bounds: list[Bound] = []
    equalities: list[KeyEquality] = []
    predicates: list[exp.Expr] = []
    places: dict[str, Span | None] = {}
    for resolved, span in _resolved(trees, scope, clauses, taken):
        found = times.bounds(resolved)
        key = equality_of(resolved, streams)
        if found:
            bounds += found
            places |= {bound.text: span for bound in found}
        elif key is not None:
            equalities.append(key)
        else:
            predicates.append(resolved)
    return Conditions(tuple(clauses), tuple(bounds), tuple(equalities), tuple(predicates), places)


def sort_filters(
    trees: Sequence[exp.Expr], scope: Scope, taken: Taker
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """WHERE over a join that is not inner: windows, which belong to ON, and predicates, resolved.

    Whatever else it says of times or keys is said of rows that the join has given.
    """
    clauses: list[exp.Expr] = []
    predicates = [resolved for resolved, _ in _resolved(trees, scope, clauses, taken)]
    return clauses, predicates


def _resolved(
    trees: Sequence[exp.Expr], scope: Scope, clauses: list[exp.Expr], taken: Taker | None
) -> Iterator[tuple[exp.Expr, Span | None]]:
    """The conjuncts that are conditions, resolved, and their places; windows go to `clauses`."""
    for conjunct in conjuncts(trees):
        if isinstance(conjunct, WindowClause):
            clauses.append(conjunct)
            continue
        refuse_misplaced(conjunct)
        resolved = scope.resolve(conjunct)
        if taken is None or not taken(resolved):
            yield resolved, span_of(conjunct)


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
        ).at(span_of(aggregate))


_COUNTED = {"bigint", "date"}
"""Time types to which SQL adds bare numbers: BIGINT, and days to a DATE."""

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


@dataclass(frozen=True)
class Linear:
    """A sum of event times (source to factor) and a constant."""

    times: Mapping[int, int] = field(default_factory=dict)
    constant: Length = field(default_factory=Length)

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        """The sum, or with sign -1 the difference."""
        times = dict(self.times)
        for source, factor in other.times.items():
            times[source] = times.get(source, 0) + sign * factor
        kept = {source: factor for source, factor in times.items() if factor}
        return Linear(kept, self.constant.plus(other.constant, sign))


class TimeConditions:
    """Reads the conjuncts of one SELECT for windows."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.time_type, self.sql = scope, scope.time_type, scope.sql

    def bounds(self, condition: exp.Expr) -> tuple[Bound, ...]:
        """The bounds that a resolved conjunct states; none where it is an ordinary predicate."""
        try:
            return self._bounds(condition)
        except BindError as error:
            raise error.at(span_of(condition)) from None

    def _bounds(self, condition: exp.Expr) -> tuple[Bound, ...]:
        text = text_of(condition, self.sql)
        if isinstance(condition, exp.Between):
            return self._between(condition, text)
        if type(condition) in _MIRRORED and isinstance(condition.expression, exp.Abs):
            operator = _MIRRORED[type(condition)]
            return self._distance(condition.expression, operator, condition.this, text)
        if isinstance(condition.this, exp.Abs):
            return self._distance(condition.this, type(condition), condition.expression, text)
        if isinstance(condition, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.EQ):
            bound = self._compare(condition.this, type(condition), condition.expression, text)
            return () if bound is None else (bound,)
        return ()

    def _between(self, condition: exp.Between, text: str) -> tuple[Bound, ...]:
        lower = self._compare(condition.this, exp.GTE, condition.args["low"], text)
        upper = self._compare(condition.this, exp.LTE, condition.args["high"], text)
        if lower is None or upper is None or condition.args.get("symmetric"):
            return ()
        if (lower.left, lower.right) == (upper.left, upper.right):
            return (replace(lower, hi=upper.hi),)
        return lower, upper

    def _distance(
        self, distance: exp.Abs, operator: type[exp.Expr], limit: exp.Expr, text: str
    ) -> tuple[Bound, ...]:
        """`abs(a.ts - b.ts) <= w` (or <): the difference is within w on both sides."""
        difference = self._linear(distance.this)
        if operator not in {exp.LT, exp.LTE} or difference is None:
            return ()
        pair = _pair(difference)
        if pair is None or constant_length(limit) is None or not self._fits(difference.constant):
            return ()
        plus, minus = pair
        width = window_ticks(limit, self.time_type, self.sql) - (operator is exp.LT)
        shift = difference.constant.ticks(self.time_type, text)
        return (Bound(minus, plus, lo=width + shift, hi=width - shift, text=text),)

    def _compare(
        self, left: exp.Expr, operator: type[exp.Expr], right: exp.Expr, text: str
    ) -> Bound | None:
        first, second = self._linear(left), self._linear(right)
        if first is None or second is None:
            return None
        difference = first.plus(second, -1)
        pair = _pair(difference)
        if pair is None or not self._fits(difference.constant):
            return None
        plus, minus = pair
        shift = difference.constant.ticks(self.time_type, text)
        lower: dict[type[exp.Expr], int] = {exp.GTE: shift, exp.GT: shift - 1, exp.EQ: shift}
        upper: dict[type[exp.Expr], int] = {exp.LTE: -shift, exp.LT: -shift - 1, exp.EQ: -shift}
        lo, hi = lower.get(operator, UNBOUNDED), upper.get(operator, UNBOUNDED)
        return Bound(minus, plus, lo=lo, hi=hi, text=text)

    def _linear(self, node: exp.Expr) -> Linear | None:
        if isinstance(node, exp.Paren):
            return self._linear(node.this)
        if isinstance(node, exp.Column):
            source = self.scope.source_of(node.name)
            is_time = self.scope.sources[source].time == node.name
            return Linear({source: 1}) if is_time else None
        if isinstance(node, exp.Neg):
            inner = self._linear(node.this)
            return None if inner is None else Linear().plus(inner, -1)
        if isinstance(node, exp.Add | exp.Sub):
            left, right = self._linear(node.this), self._linear(node.expression)
            if left is None or right is None:
                return None
            return left.plus(right, -1 if isinstance(node, exp.Sub) else 1)
        length = constant_length(node)
        return None if length is None else Linear({}, length)

    def _fits(self, constant: Length) -> bool:
        return not constant.number or self.time_type in _COUNTED


def _pair(difference: Linear) -> tuple[int, int] | None:
    """(p, m) where the times are exactly t(p) - t(m)."""
    if sorted(difference.times.values()) != [-1, 1]:
        return None
    plus = next(source for source, factor in difference.times.items() if factor == 1)
    minus = next(source for source, factor in difference.times.items() if factor == -1)
    return plus, minus
