"""Outer, semi and anti joins of two inputs by time windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from windrow.physical.explain.facts import Fact, event_time, plus, said
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.partitioning.buckets import Partitioning, Slices
from windrow.plan.nodes.window_join import PRESERVED
from windrow.plan.texts import KIND_NAMES
from windrow.plan.units import show_ticks


@dataclass(frozen=True)
class OuterJoin(MultiJoin):
    """A join of two inputs of which rows come alone: with no match at all, or with one in a semi join.

    Attributes:
        kind: "left", "right" or "full" (outer), "semi" or "anti".
    """

    kind: str = field(kw_only=True)

    error_name = "outer-join"
    only_backward = "it does not keep which tuples have found a match"
    operator = "windrow.operators.joins.outer_join:OuterJoinOp"
    only_forgets_ahead = False  # a row comes alone once it is known that none will meet it
    bucket_keys = ()  # rows with a NULL for a key are spread by their times

    def cannot_shed(self, asked: str | None) -> str:  # noqa: ARG002
        """All rows or none tell which come alone."""
        return f"the join of {' and '.join(self.aliases)} is a {KIND_NAMES[self.kind]} join"

    @property
    def tracked(self) -> tuple[int, ...]:
        """The inputs of which rows come alone."""
        return (0,) if self.kind == "semi" else PRESERVED[self.kind]

    @property
    def gives_pairs(self) -> bool:
        """Whether combinations come, beside rows alone."""
        return self.kind not in {"semi", "anti"}

    @property
    def gives_matched(self) -> bool:
        """Whether the rows that come alone are those that have a match."""
        return self.kind == "semi"

    @property
    def is_by_instant(self) -> bool:
        """Whether a row may be matched at one instant, and not at another."""
        return any(child.has_ends for child in self.inputs)

    @property
    def alive_ticks(self) -> int | None:
        """A row that comes alone lives as long as it would by itself."""
        lengths = [self.inputs[port].alive_ticks for port in self.tracked]
        return max((length for length in lengths if length is not None), default=None)

    def results(self, pairs: float, rates: Sequence[float], alone: Callable[[int], float]) -> float:
        """Combinations, and rows that come alone; of a semi or anti join rows of the first input."""
        if self.kind == "semi":
            return rates[0] - alone(0)
        if self.kind == "anti":
            return alone(0)
        return pairs + sum(map(alone, self.tracked))

    @property
    def own_delay(self) -> int:
        """Rows that come alone wait, each for its own reach."""
        return max([0, *map(self.retention, self.tracked)])

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"{super().title}, {KIND_NAMES[self.kind]}"

    @property
    def about(self) -> str:
        """For checkpoints."""
        return f"{KIND_NAMES[self.kind]} {super().about}"

    def _without_keys(self, buckets: int) -> Partitioning:
        """Slices of time; a row that comes alone is judged in one place, and so is the anchor.

        A full outer join judges the rows of both: both are copied, and each has a home as well, at its
        own time, whatever the windows.
        """
        if self.kind != "full":
            return self._slices(1 if self.kind == "right" else 0, buckets)
        back, on = max(0, self._farthest(1, 0)), max(0, self._farthest(0, 1))
        return Slices(None, max(1, back + on), (back, on), (on, back), buckets)

    def _own_facts(self, below: int) -> list[Fact]:
        """The kind of join, and when its rows that come alone are final."""
        by_instant = ""
        if self.is_by_instant:
            alone = "is matched" if self.kind == "semi" else "is unmatched"
            other = "some match" if self.kind == "semi" else "no match"
            names = " or ".join(self.aliases[port] for port in self.tracked)
            by_instant = f"a tuple of {names} {alone} while {other} of it is alive"
        watermark = plus("watermark", -below, self.time_type)
        lines = []
        for port in self.tracked:
            time = event_time(self.inputs[port], self.aliases[port])
            last = plus(time, self.retention(port), self.time_type)
            lines.append(f"no match of {self.aliases[port]} can follow once {watermark} > {last}")
        return said(*self._kind_facts(), ("by instant", by_instant), ("final", lines))

    def _kind_facts(self) -> list[Fact]:
        return said(("kind", f"{KIND_NAMES[self.kind]}: {self._answer()}"))

    def _own_state(self) -> list[str]:
        """Who has found a match, and by instant when it is alive."""
        what = "the number and the matched times" if self.is_by_instant else "the number"
        return [
            f"{self.aliases[port]}: {what} of each tuple that has a match, dropped with the tuple"
            for port in self.tracked
        ]

    def _emission(self) -> str:
        waits = self.own_delay
        delay = f"adds a delay of {show_ticks(waits, self.time_type)}" if waits else "adds no delay"
        if self.kind == "anti" or (self.kind == "semi" and self.is_by_instant):
            return f"each tuple when it is final; {delay}"
        if self.kind == "semi":
            trails = f"its time may trail the watermark by {show_ticks(waits, self.time_type)}"
            return f"each tuple in the batch of its first match; {trails if waits else delay}"
        pairs = "each combination in the batch of its last tuple"
        if not waits:
            return f"{pairs}, unmatched tuples when final; {delay}"
        late = show_ticks(waits, self.time_type)
        return f"{pairs}; unmatched tuples when final, which may trail the watermark by {late}"

    def _answer(self) -> str:
        """Which rows come."""
        first, second = self.aliases
        if self.kind == "semi":
            return f"each tuple of {first} that one of {second} matches, once"
        if self.kind == "anti":
            return f"each tuple of {first} that none of {second} matches"
        kept = [self.aliases[port] for port in self.tracked]
        other = second if kept == [first] else first
        missing = f"none of {other}" if len(kept) == 1 else "none of the other"
        whose = " and of ".join(kept)
        return f"the pairs, and each tuple of {whose} that {missing} matches, with NULLs"


@dataclass(frozen=True)
class CandidatesJoin(OuterJoin):
    """The pairs, and every row of a preserved input with NULLs as it arrives, matched or not.

    It is below a search for the best pairs of each instant, which knows the candidates of every row
    and takes out those rows that have one.
    """

    operator = "windrow.operators.joins.candidates_join:CandidatesJoinOp"
    own_delay = 0  # no row waits

    def identity(self) -> tuple[object, ...]:
        """Of an outer join, with what it is more."""
        return (*super().identity(), ("at_once", True))

    def _own_facts(self, below: int) -> list[Fact]:  # noqa: ARG002
        return self._kind_facts()

    def _own_state(self) -> list[str]:
        return []

    def _emission(self) -> str:
        pairs = "each combination in the batch of its last tuple"
        return f"{pairs}, each tuple with NULLs in its own; adds no delay"

    def _answer(self) -> str:
        whose = " and of ".join(self.aliases[port] for port in self.tracked)
        return f"the pairs, and each tuple of {whose} with NULLs, for what reads it to judge"
