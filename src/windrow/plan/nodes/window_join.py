"""Joins of any number of inputs, by keys and windows: W-joins, outer, semi and anti joins.

Each is a node of its own over `WindowJoin`, and says what becomes of it:

    WindowJoin            by windows of time; the base of the others
    CountWindowJoin       by windows some of which count tuples
    SnapshotWindowJoin    of what is alive together
    OuterWindowJoin       by windows of time; rows also come alone
    CandidateJoin         the same, judged by what reads it
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from windrow.errors import PlanError, Span
from windrow.plan.exprs import Expr
from windrow.plan.nodes.base import (
    Equality,
    Node,
    Predicates,
    compared_by,
    read_by,
    reads_only,
    without,
)
from windrow.plan.nodes.filter import filtered
from windrow.plan.texts import KIND_NAMES, ColumnTexts, listed, show_equalities, show_predicates
from windrow.plan.windows import CountWindows, WindowGraph
from windrow.schema import Schema

PRESERVED = {
    "inner": (),
    "left": (0,),
    "right": (1,),
    "full": (0, 1),
    "semi": (),
    "anti": (0,),
}
"""Per kind of join, the inputs of which a row is in the answer although nothing matches it."""

_GIVE = "give it one, for instance"


@dataclass(frozen=True)
class WindowJoin(Node):
    """Every combination of one row per input that meets the conditions and the window graph.

    Event time of a result: the greatest of its rows' times; its end: the least of their ends. A row
    that comes alone, from an outer, semi or anti join, has its own.

    Attributes:
        predicates: further conditions, each over two or more inputs; in a join that is not inner,
            every condition of ON that is neither key nor window.
        alternative: windows that do as well as those of `graph` (EITHER WAY).
    """

    inputs: tuple[Node, ...]
    aliases: tuple[str, ...]
    equalities: tuple[Equality, ...]
    graph: WindowGraph
    span: Span | None = None
    predicates: Predicates = ()
    alternative: WindowGraph | None = None

    is_stateful = True
    drops_columns = True
    physical = "windrow.optimize.choose.physical_node:time_join"

    kind = "inner"
    """Which rows come: one of those of `PRESERVED`."""

    name: ClassVar[str] = "WindowJoin"
    """What EXPLAIN calls it."""

    @property
    def spoken(self) -> str:
        """What people call it."""
        return "join"

    @property
    def key_equalities(self) -> tuple[Equality, ...]:
        """The keys."""
        return self.equalities

    @property
    def sealed(self) -> tuple[int, ...]:
        """The inputs that no condition may be tested below: each of their rows takes a place."""
        return ()

    @property
    def preserved(self) -> tuple[int, ...]:
        """The inputs of which a row is in the answer although nothing matches it."""
        return PRESERVED[self.kind]

    @property
    def alone(self) -> tuple[int, ...]:
        """The inputs of which rows come alone, as they are."""
        return self.preserved

    @property
    def schema(self) -> Schema:
        """All columns of all inputs, in order."""
        return Schema(tuple(field for node in self.inputs for field in node.schema.fields))

    @property
    def rows_end(self) -> bool:
        """A combination ends with its first tuple; a row that comes alone, when it does itself."""
        ends = [node.rows_end for node in self.inputs]
        return all(ends[i] for i in self.alone) and any(ends)

    @property
    def alive_ticks(self) -> int | None:
        """A combination ends with the first of its tuples: none outlives the shortest window.

            t(a) |==========|                 [RANGE 10] of a
                   t(b) |=====|               [RANGE 5] of b
                   t(b) |===|                 both: 5 at most

        A row that comes alone lives as long as it would by itself.
        """
        alone = self.alone
        lengths = [self.inputs[at].alive_ticks for at in alone or range(len(self.inputs))]
        known = [length for length in lengths if length is not None]
        return (max if alone else min)(known, default=None)

    @property
    def columns_read(self) -> set[str]:
        """Keys, what conditions read, and all that orders the tuples of a count window."""
        ordering = (name for port in self.sealed for name in self.inputs[port].schema.names)
        return compared_by(self.equalities).union(read_by(self.predicates), ordering)

    # Where conditions are tested.

    @property
    def kept_inputs(self) -> tuple[int, ...]:
        """Those that are preserved, or in which each tuple takes a place in a count window."""
        return (*self.preserved, *self.sealed)

    def may_filter(self, port: int) -> bool:
        """Whether a condition on the answer that reads one input may be tested below, on that input.

        The result of an inner join is every combination that meets all conditions, so that it makes
        no difference when one on a single tuple is tested. In an outer join it moves only into an
        input whose every row of the answer is one of its own: not into the side that NULLs stand for
        where the other, preserved one has no match.

            a LEFT JOIN b WHERE a.x > 1      moves into a
            a LEFT JOIN b WHERE b.x > 1      stays: below, matched rows would become unmatched ones

        On an input with a count window it stays: below, it would change which tuples are the newest.

            a [ROWS 5], b [ROWS 5] WHERE a.x > 1      the newest 5 of a, then those with x > 1
        """
        return set(self.preserved) <= {port} and port not in self.sealed

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """Conditions on a single input are tested before its tuples are stored and probed."""
        inputs: list[Node] = []
        moved: list[Expr] = []
        for port, child in enumerate(self.inputs):
            own = tuple(p for p in predicates if self.may_filter(port) and reads_only(p, child))
            inputs.append(filtered(child, own))
            moved += own
        return self.with_inputs(inputs), without(predicates, moved)

    def absorb_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """Conditions over several inputs are tested as soon as a combination holds those inputs.

        That is before further inputs multiply the combination. What stays above: a condition on which
        the engine of the session and that of the join would not agree (see `sql/render/render.py`), and one
        that reads no column.
        """
        moved = tuple(p for p in predicates if self._belongs_inside(p))
        if not moved:
            return self, predicates
        # The predicates of one place are asked in their order; those inside came from below.
        inside = self.predicates + without(moved, self.predicates)
        return replace(self, predicates=inside), without(predicates, moved)

    def _belongs_inside(self, predicate: Expr) -> bool:
        """Whether it reads several inputs, or one whose count window it may not go below."""
        read = set(predicate.columns)
        ports = [i for i, own in enumerate(self.inputs) if not read.isdisjoint(own.schema.names)]
        is_sealed = not set(ports).isdisjoint(self.sealed)
        return predicate.is_portable and (len(ports) > 1 or is_sealed)

    def with_keys(self, equalities: tuple[Equality, ...], kept: Predicates) -> WindowJoin:
        """Conditions on inputs that are kept are tested by the join."""
        return replace(self, equalities=equalities, predicates=self.predicates + kept)

    def push_own_conditions(self) -> Node:
        """A condition of ON that reads one input is tested below: tuples that fail match nothing.

        Where the join preserves the input, such a tuple is still to be answered for:

            a LEFT JOIN b ON .. AND b.x > 1      moves into b
            a LEFT JOIN b ON .. AND a.x > 1      stays: a tuple of a with x = 1 comes out, unmatched

        So it does where the input has a count window: below, it would change which are the newest.
        """
        inputs: list[Node] = []
        rest = self.predicates
        for port, child in enumerate(self.inputs):
            stays = port in self.kept_inputs
            moved = tuple(p for p in rest if not stays and reads_only(p, child))
            inputs.append(filtered(child, moved))
            rest = without(rest, moved)
        if len(rest) == len(self.predicates):
            return self
        return replace(self, inputs=tuple(inputs), predicates=rest)

    # What cannot be answered.

    def verify_state(self) -> None:
        """Refuses windows that keep tuples for ever, or that no tuples can satisfy."""
        self._verify_windows(self.graph)
        if self.alternative is not None:
            self._verify_windows(self.alternative)

    def _verify_consistent(self, graph: WindowGraph) -> None:
        if graph.is_contradictory:
            raise PlanError(
                "contradicting-windows",
                f"no tuples of {listed(graph.streams)} can satisfy all windows at once",
                reason="together the bounds ask for a time difference below its own lower end",
                hint="widen or drop one of the windows",
            ).at(self.span)

    def _verify_windows(self, graph: WindowGraph) -> None:
        self._verify_consistent(graph)
        for pair in graph.unbounded_pairs():
            first, second = (graph.streams[at] for at in pair)
            raise self._keeps(
                first,
                f"no window says how long after a tuple of {first} one of {second} may come",
                f"add WINDOW ({first}, {second}) = INTERVAL '1' HOUR, or the bound that you mean",
            )

    def _keeps(self, alias: str, reason: str, hint: str) -> PlanError:
        joined = f"the join of {listed(self.aliases)} keeps tuples of {alias} forever"
        return PlanError("unbounded-state", joined, reason=reason, hint=hint).at(self.span)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """Kind, conditions, windows."""
        texts = self._window_texts()
        texts += dict.fromkeys(bound.text for bound in self.graph.stated if bound.text)
        windows = ", ".join(texts)
        conditions = show_equalities(self.equalities, show)
        if self.predicates:
            conditions += f" AND {show_predicates(self.predicates)}"
        return f"{self._begin()} {conditions}{'; ' if windows else ''}{windows}"

    def _begin(self) -> str:
        """How its title begins."""
        return self.name

    def _window_texts(self) -> list[str]:
        """Its windows beside those of `graph`, as the user wrote them."""
        return []


@dataclass(frozen=True)
class CountWindowJoin(WindowJoin):
    """A join of rows that are among the newest of their streams; `graph` has conditions on time alone.

    Attributes:
        counts: the windows that count tuples.
    """

    counts: CountWindows = field(kw_only=True)

    physical = "windrow.optimize.choose.physical_node:count_join"

    @property
    def sealed(self) -> tuple[int, ...]:
        """Those whose window counts tuples."""
        return self.counts.sealed

    def verify_state(self) -> None:
        """Some window says which tuples of each input are there."""
        if self.counts.within is not None:
            return
        for alias, window in zip(self.aliases, self.counts.own, strict=True):
            if window.rows is None and window.ticks is None:
                reason = f"no window says which tuples of {alias} are there"
                raise self._keeps(alias, reason, f"{_GIVE} {alias} [ROWS 100]")

    def _window_texts(self) -> list[str]:
        return self.counts.texts(self.aliases)


@dataclass(frozen=True)
class SnapshotWindowJoin(WindowJoin):
    """A join of what is alive together, some of which is taken back; `graph` has conditions on time alone."""

    name = "SnapshotJoin"
    physical = "windrow.optimize.choose.physical_node:snapshot_join"

    def verify_state(self) -> None:
        """Rows are kept until they end: each must."""
        self._verify_consistent(self.graph)
        for alias, node in zip(self.aliases, self.inputs, strict=True):
            if not node.rows_end:
                reason = f"no window says when a tuple of {alias} leaves"
                raise self._keeps(alias, reason, f"{_GIVE} {alias} [RANGE INTERVAL '1' HOUR]")


@dataclass(frozen=True)
class OuterWindowJoin(WindowJoin):
    """A join of two inputs of which rows also come alone, or only do.

    Attributes:
        kind: "left", "right" or "full" (outer), "semi" or "anti".
    """

    kind: str = field(kw_only=True)

    physical = "windrow.optimize.choose.physical_node:outer_join"

    @property
    def spoken(self) -> str:
        """What people call it."""
        return f"{KIND_NAMES[self.kind]} join"

    @property
    def alone(self) -> tuple[int, ...]:
        """Those that are preserved; of a semi join the first."""
        return (0,) if self.kind == "semi" else self.preserved

    @property
    def schema(self) -> Schema:
        """A semi or anti join has the columns of the first input."""
        return self.inputs[0].schema if self.kind in {"semi", "anti"} else super().schema

    @property
    def begins_at_event_time(self) -> bool:
        """Not: a tuple comes, alone or matched, at instants of its life.

        It is there from each of them on, not from its own time on.
        """
        return False

    def absorb_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """None: a condition above says which of the join's rows to keep, one inside which rows match."""
        return self, predicates

    def _begin(self) -> str:
        return f"{self.name} {KIND_NAMES[self.kind]} on"


@dataclass(frozen=True)
class CandidateJoin(OuterWindowJoin):
    """The pairs, and every row of a preserved input with NULLs as it arrives, matched or not.

    What reads it takes out the latter where the former are there.
    """

    physical = "windrow.optimize.choose.physical_node:candidate_join"
