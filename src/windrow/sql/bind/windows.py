"""Window clauses to bounds on two event times, and which graphs of windows are refused.

EITHER WAY is all DWINDOWs as written, or all of them reversed. Between two streams alone both ways
make one window, for each of them holds at distance zero:

    as written     t(b) - t(a) in          [0 ======= w]
    reversed                      [-w ======= 0]
    together                      [-w ================ w]

Over three streams or more they do not: a - b - c and c - b - a leave out b - a - c. Such a join has
two graphs of windows; the windows that have no direction are part of both as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from sqlglot import exp

from windrow.errors import BindError, ParseError, PlanError, Span, nearest
from windrow.plan.texts import listed
from windrow.plan.windows import UNBOUNDED, Bound, WindowGraph
from windrow.sql.bind.lengths import window_ends, window_ticks
from windrow.sql.bind.scope import InnerWindow, Scope
from windrow.sql.grammar.clauses import PairWindow
from windrow.sql.grammar.spans import span_of, text_of

Places = Mapping[str, Span | None]
"""Where each stated bound stands in the SQL, by its text."""


def check_graph(graph: WindowGraph, scope: Scope, span: Span | None, places: Places) -> None:
    """Raises unless every ordered pair has a finite bound and some answer can exist.

    `span` is the place of the whole FROM.
    """
    check_contradiction(graph, span, places)
    for error in _unbounded(graph, scope, places):
        raise _self_join(graph, scope, span) or error.at(span)


def _unbounded(graph: WindowGraph, scope: Scope, places: Places) -> Iterator[PlanError]:
    """What leaves tuples without an end, what says most of it first."""
    if not graph.stated:
        names = " and ".join(source.alias for source in scope.sources)
        length = example_length(scope.time_type)
        yield PlanError(
            "unbounded-state",
            f"the join of {names} has no window",
            reason="without a bound on time, state would grow forever",
            hint=f"add a window at the end, for instance  WINDOW = {length}",
        )
    components = graph.components()
    if len(components) > 1:
        groups = [[scope.sources[i].alias for i in group] for group in components]
        shown = " and ".join("{" + ", ".join(group) + "}" for group in groups)
        yield PlanError(
            "windows-not-connected",
            f"no window connects {shown}",
            reason="without a bound between them, state would grow forever",
            hint=f"add a window, for instance {_example(scope, components[0][-1], components[1][0])}",
        )
    for a, b in graph.unbounded_pairs():
        first, then = scope.sources[a], scope.sources[b]
        add = _example(scope, a, b)
        if first.time and then.time:
            add = f"AND {then.time} <= {first.time} + {example_length(first.time_type)}"
        stated = [
            places.get(bound.text) for bound in graph.stated if {bound.left, bound.right} == {a, b}
        ]
        yield PlanError(
            "unbounded-window",
            f"tuples of {then.alias} may come any time after those of {first.alias}",
            reason=f"every tuple of {first.alias} would be kept forever",
            hint=f"add an upper bound, for instance  {add}",
        ).at(stated[0] if stated else None)


def check_reversed(graph: WindowGraph, span: Span | None, places: Places) -> None:
    """Raises where the reversed windows of EITHER WAY leave no answer.

    Nothing else can be wrong with them alone: a DWINDOW bounds the same pair at both ends whichever
    way it goes, so that they connect and bound what the windows as written do.
    """
    try:
        check_contradiction(graph, span, places)
    except PlanError as error:
        raise PlanError(
            error.condition,
            f"{error.sentence} once the DWINDOWs are reversed",
            reason=error.reason,
            hint="leave EITHER WAY out, or widen one of them",
        ).at(error.span) from error


def check_contradiction(graph: WindowGraph, span: Span | None, places: Places) -> None:
    """Raises where no tuples at all can satisfy the bounds."""
    cycle = negative_cycle(graph)
    if not cycle:
        return
    shown = listed([graph.streams[i] for i in cycle])
    involved = [b.text for b in graph.stated if b.left in cycle and b.right in cycle and b.text]
    raise PlanError(
        "contradicting-windows",
        f"the windows between {shown} contradict each other",
        reason="no tuples can satisfy " + " and ".join(dict.fromkeys(involved)),
        hint="widen one of them, or turn its direction around",
    ).at(places.get(involved[-1]) or span if involved else span)


def _self_join(graph: WindowGraph, scope: Scope, span: Span | None) -> PlanError | None:
    """The error for two aliases of one stream without a window between them, if there are such."""
    for a, left in enumerate(scope.sources):
        for b, right in enumerate(scope.sources[:a]):
            bounded = max(graph.upper[a][b], graph.upper[b][a]) < UNBOUNDED
            if not left.stream or left.stream != right.stream or bounded:
                continue
            return PlanError(
                "self-join-without-window",
                f"{right.alias} and {left.alias} are both {left.stream}, with no window between"
                " them",
                reason="each tuple would meet every other tuple of its own stream, forever",
                hint=f"add {_example(scope, b, a)}",
            ).at(left.span or span)
    return None


def negative_cycle(graph: WindowGraph) -> list[int]:
    """The streams of one cycle of bounds that sums below zero, in FROM order; none: [].

    Bellman-Ford: after as many rounds as there are streams, only a negative cycle still improves.
    """
    size = len(graph.streams)
    edges = [
        (a, b, graph.direct[a][b])
        for a in range(size)
        for b in range(size)
        if a != b and graph.direct[a][b] < UNBOUNDED
    ]
    distance, before = [0] * size, [-1] * size
    improved = -1
    for _ in range(size):
        improved = -1
        for a, b, upper in edges:
            if distance[a] + upper < distance[b]:
                distance[b], before[b], improved = distance[a] + upper, a, b
    if improved < 0:
        return []
    on_cycle = improved
    for _ in range(size):
        on_cycle = before[on_cycle]
    cycle, stream = {on_cycle}, before[on_cycle]
    while stream != on_cycle:
        cycle.add(stream)
        stream = before[stream]
    return sorted(cycle)


def _example(scope: Scope, a: int, b: int) -> str:
    left, right = scope.sources[a], scope.sources[b]
    return f"WINDOW ({left.alias}, {right.alias}) = {example_length(left.time_type)}"


def example_length(time_type: str) -> str:
    """A length of time to show in a hint."""
    return {"bigint": "10", "date": "INTERVAL '7' DAYS"}.get(time_type, "INTERVAL '10' MINUTES")


@dataclass(frozen=True)
class StatedWindows:
    """What the clauses of one SELECT say.

    Attributes:
        bounds: the bounds between pairs.
        uniform: `WINDOW = w`, where it is given.
        places: where each bound stands in the SQL, by its text.
        reversed: the bounds with every DWINDOW the other way round, which do as well (EITHER WAY
            over more than two streams); None where there is no other way.
    """

    bounds: tuple[Bound, ...]
    uniform: InnerWindow | None = None
    places: Mapping[str, Span | None] = field(default_factory=dict)
    reversed: tuple[Bound, ...] | None = None

    @property
    def uniform_ticks(self) -> int | None:
        """The length in `WINDOW = w`, where it is given."""
        return None if self.uniform is None else self.uniform.ticks


def read_windows(clauses: Sequence[exp.Expr], scope: Scope) -> StatedWindows:
    """The bounds of every WINDOW and DWINDOW clause, and of every `[RANGE w]`."""
    bounds: list[Bound] = []
    directed: list[Bound] = []
    uniform: InnerWindow | None = None
    for clause in clauses:
        text = text_of(clause, scope.sql)
        if isinstance(clause, PairWindow):
            bounds.append(_pair_bound(clause, scope))
            if is_directed(clause):
                directed.append(bounds[-1])
            continue
        if uniform is not None:
            raise stated_twice(clause)
        ticks = window_ticks(clause.this, scope.time_type, scope.sql)
        uniform = InnerWindow(ticks, text, span_of(clause))
        pairs = combinations(range(len(scope.sources)), 2)
        bounds += [Bound(a, b, lo=ticks, hi=ticks, text=text) for a, b in pairs]
    places = {text_of(clause, scope.sql): span_of(clause) for clause in clauses}
    bounds += range_bounds(scope)
    if not goes_either_way(clauses):
        return StatedWindows(tuple(bounds), uniform, places)
    together = one_window_both_ways(directed)
    if together is not None:
        others = [bound for bound in bounds if bound not in directed]
        return StatedWindows((together, *others), uniform, places)
    turned = tuple(
        replace(bound, left=bound.right, right=bound.left) if bound in directed else bound
        for bound in bounds
    )
    return StatedWindows(tuple(bounds), uniform, places, turned)


def stated_twice(clause: exp.Expr) -> ParseError:
    """The error of a second `WINDOW = w`."""
    sentence = "WINDOW = .. is stated twice"
    return ParseError("window-twice", sentence, hint="state it once").at(span_of(clause))


def range_bounds(scope: Scope) -> list[Bound]:
    """What `FROM a [RANGE wa], b [RANGE wb]` says of a and b.

    Each is still in its window when the other arrives:

        t(a)                t(a) + wa
         |======= a alive =====|
                t(b)                 t(b) <= t(a) + wa   and likewise   t(a) <= t(b) + wb
                 |===== b alive ====|
    """
    bounds = []
    for (a, left), (b, right) in combinations(enumerate(scope.sources), 2):
        if left.range_ticks is None and right.range_ticks is None:
            continue
        text = ", ".join(
            f"{s.alias} {s.range_text}" for s in (left, right) if s.range_ticks is not None
        )
        lo = UNBOUNDED if right.range_ticks is None else right.range_ticks
        hi = UNBOUNDED if left.range_ticks is None else left.range_ticks
        bounds.append(Bound(a, b, lo=lo, hi=hi, text=text))
    return bounds


def _pair_bound(clause: PairWindow, scope: Scope) -> Bound:
    left, right = _source(clause.args["left"], scope), _source(clause.args["right"], scope)
    if left == right:
        raise BindError(
            "window-of-one-stream",
            f"the window {text_of(clause, scope.sql)} names one stream twice",
            hint="a window lies between two streams; a single stream takes [RANGE ..] in FROM",
        ).at(span_of(clause))
    text = text_of(clause, scope.sql)
    if clause.args.get("first") is not None:
        lo, hi = window_ends(clause, scope.time_type, scope.sql)
        return Bound(left, right, lo=lo, hi=hi, text=text)
    width = window_ticks(clause.this, scope.time_type, scope.sql)
    return Bound(left, right, lo=0 if clause.args["directed"] else width, hi=width, text=text)


def _source(name: exp.Expr, scope: Scope) -> int:
    found = scope.source_named(name.name)
    if found is None:
        refuse_window_of_table(name, scope)
        raise BindError(
            "unknown-stream",
            f"the window names {name.name!r}, which is not in FROM",
            hint=f"there are {nearest(name.name, [source.alias for source in scope.sources])}",
        ).at(span_of(name))
    return found


def refuse_window_of_table(name: exp.Expr, scope: Scope) -> None:
    """Refuses a window that names a table of FROM."""
    if any(table.alias.lower() == name.name.lower() for table in scope.tables):
        raise BindError(
            "window-of-table",
            f"the window names the table {name.name}",
            reason="a table does not move: all its rows are there at every instant",
            hint="leave the window out, or name two streams",
        ).at(span_of(name))


def goes_either_way(clauses: Sequence[exp.Expr]) -> bool:
    """Whether EITHER WAY stands behind the windows.

    Raises:
        ParseError: it turns nothing around, or stands before one that it would turn.
    """
    marked = next((clause for clause in clauses if clause.args.get("either_way")), None)
    if marked is None:
        return False
    directed = [clause for clause in clauses if is_directed(clause)]
    if not directed:
        raise ParseError(
            "either-way-without-dwindow",
            "EITHER WAY follows no DWINDOW",
            reason="it turns directed windows around, and a WINDOW has no direction",
            hint="leave it out, or write DWINDOW (first, then) = length",
        ).at(span_of(marked))
    span = span_of(marked)
    after = [at for at in map(span_of, directed) if at and span and at.start > span.start]
    if after:
        raise ParseError(
            "either-way-before-dwindow",
            "EITHER WAY stands before a DWINDOW",
            reason="it turns all of them around, together",
            hint="write it once, behind the last DWINDOW",
        ).at(after[0])
    return True


def is_directed(clause: exp.Expr) -> bool:
    """Whether a clause is a DWINDOW."""
    return isinstance(clause, PairWindow) and bool(clause.args.get("directed"))


def one_window_both_ways(directed: Sequence[Bound]) -> Bound | None:
    """The window that both ways make together; None where they concern more than two streams."""
    first = directed[0]
    if any({bound.left, bound.right} != {first.left, first.right} for bound in directed):
        return None
    facing = [
        bound if bound.left == first.left else _from_the_other_end(bound) for bound in directed
    ]
    # Where DWINDOWs of one pair face each other, only distance zero meets them all.
    width = max(min(bound.lo for bound in facing), min(bound.hi for bound in facing))
    text = ", ".join(bound.text for bound in directed)
    return Bound(first.left, first.right, lo=width, hi=width, text=text)


def _from_the_other_end(bound: Bound) -> Bound:
    """The same bound, said of t(left) - t(right)."""
    return Bound(bound.right, bound.left, lo=bound.hi, hi=bound.lo, text=bound.text)
