"""The join of which some windows count tuples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from windrow.physical.estimates import estimate_facts
from windrow.physical.explain.algorithm_facts import algorithm_facts, probes, tests
from windrow.physical.explain.facts import (
    Fact,
    Show,
    drop_condition,
    lag_terms,
    plus,
    said,
    stated_windows,
)
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.options import Options
from windrow.physical.partitioning.buckets import HashShares, Partitioning, Single, show_class
from windrow.plan.units import show_ticks
from windrow.plan.windows import CountWindows, OwnWindow


@dataclass(frozen=True)
class CountJoin(MultiJoin):
    """A join of rows that are among the newest of their streams; `graph` has only conditions on time.

    Attributes:
        counts: the windows that count tuples.
    """

    counts: CountWindows = field(kw_only=True)

    error_name = "count-window"
    only_backward = "it handles windows of time, and these count tuples"
    identity_later = ("counts",)
    follows_a_batch = True  # all rows of a batch push one another out
    operator = "windrow.operators.joins.count_join:CountJoinOp"

    def cannot_shed(self, asked: str | None) -> str:  # noqa: ARG002
        """A tuple that is left out would keep another in its window."""
        return f"the windows of {' and '.join(self.aliases)} count tuples"

    def counted_rows(
        self, rates: Sequence[float], different: Callable[[PhysicalNode, str], float]
    ) -> tuple[float, ...]:
        """The newest of each key, of a time, or of their part of all streams."""
        held = []
        for child, rate, window in zip(self.inputs, rates, self.counts.own, strict=True):
            most = math.inf
            if window.rows is not None:
                keys = (different(child, column) for column in window.partition)
                most = math.prod(keys, start=float(window.rows))
            if window.ticks is not None:
                most = min(most, rate * window.ticks)
            if self.counts.within is not None:  # its part of the newest of all streams
                most = min(most, self.counts.within * rate / sum(rates))
            held.append(most)
        return tuple(held)

    def partitioning(self, buckets: int) -> Partitioning:
        """By keys of all inputs that every count window is divided by: its partitions stay whole."""
        counts = self.counts
        if counts.within is not None:
            return Single(
                f"{counts.text or 'WINDOW .. ROWS'} numbers the tuples of all streams together;"
                " [PARTITION BY k ROWS n] after each stream, k a join key, would spread it"
            )
        common = [key for key in self.classes if len(key.inputs) == len(self.inputs)]
        if not common:
            return Single(
                "count windows are kept in one place; an equality between all streams, and"
                " [PARTITION BY k ROWS n] by its columns, would spread them"
            )
        counted = [port for port, window in enumerate(counts.own) if window.rows is not None]
        spread = [
            key for key in common if all(key.columns[i] in counts.own[i].partition for i in counted)
        ]
        if not spread:
            windows = [
                f"{self.aliases[i]} [PARTITION BY {_as_written(common[0].columns[i])} ROWS {window.rows}]"
                for i, window in enumerate(counts.own)
                if i in counted and common[0].columns[i] not in window.partition
            ]
            return Single(
                f"count windows are kept in one place; {' and '.join(windows)} would spread them"
            )
        shared = tuple(self.classes.index(key) for key in spread)
        return HashShares((shared,), (buckets,), (1,) * len(self.inputs))

    def facts(self, options: Options, show: Show) -> list[Fact]:
        """What enters and leaves the windows, and what is kept."""
        time_type, counts = self.time_type, self.counts
        below = max(child.delay for child in self.inputs)
        keys = ", ".join(show_class(key, show) for key in self.classes)
        algorithm, _, why = algorithm_facts(self, options, keys)
        return said(
            algorithm,
            ("how", "a tuple that enters meets those that are in the other streams' windows"),
            why,
            ("windows", _windows(self, counts, time_type)),
            ("times", stated_windows(self.graph, time_type)),
            ("order", "by time, then position in FROM, then all columns from left to right"),
            ("retention", _retention(self, counts, below, time_type)),
            ("state", _state(self, counts, below, time_type)),
            ("probes", probes(self)),
            ("tests", tests(self)),
            (
                "emits",
                "each combination once the watermark has passed its newest tuple; adds no delay",
            ),
            *estimate_facts(self, time_type),
        )


def _as_written(column: str | None) -> str:
    """A key column as a user may write it; one that is computed is for a derived table to name."""
    return "k, computed in a derived table," if column is None or "$" in column else column


def _windows(node: CountJoin, counts: CountWindows, time_type: str) -> list[str]:
    """The windows as the user wrote them, each with its meaning."""
    lines = [
        f"{alias} {window.text}: {_meaning(alias, window, time_type)}"
        for alias, window in zip(node.aliases, counts.own, strict=True)
        if window.rows is not None or window.ticks is not None
    ]
    if counts.within is not None:
        lines.append(
            f"{counts.text}: numbered together, tuples of a combination are at most"
            f" {counts.within} apart"
        )
    return lines


def _meaning(alias: str, window: OwnWindow, time_type: str) -> str:
    if window.ticks is not None:
        return f"the tuples of {alias} until {show_ticks(window.ticks, time_type)} after their time"
    per = f" for each {', '.join(window.partition)}" if window.partition else ""
    return f"the newest {window.rows} of {alias}{per}"


def _retention(node: CountJoin, counts: CountWindows, below: int, time_type: str) -> list[str]:
    watermark = plus("the watermark", -below, time_type)
    lines = []
    for child, alias, window in zip(node.inputs, node.aliases, counts.own, strict=True):
        if window.ticks is not None:
            lines.append(drop_condition(child, alias, window.ticks, below, time_type))
        if window.rows is not None:
            same = f" with the same {', '.join(window.partition)}" if window.partition else ""
            lines.append(f"drop {alias} when {window.rows} newer ones{same} are below {watermark}")
    if counts.within is not None:
        lines.append(
            f"drop any when {counts.within} newer ones of all streams are below {watermark}"
        )
    return lines


def _state(node: CountJoin, counts: CountWindows, below: int, time_type: str) -> list[str]:
    """The most rows of each input that are held after a batch.

    the newest n        watermark                       newest
    ------[=================|===============================]---> time
           numbered            lateness + distance + delay: these wait
    """
    lag = " + ".join(lag_terms(node, below)) or show_ticks(0, time_type)
    lines = []
    for alias, window in zip(node.aliases, counts.own, strict=True):
        waiting = f"rate({alias}) x ({lag}) + one batch"
        if window.rows is not None:
            per = f" for each {', '.join(window.partition)}" if window.partition else ""
            lines.append(f"{alias} <= {window.rows}{per} + {waiting}")
        elif window.ticks is not None:
            alive = f"{show_ticks(window.ticks, time_type)} + {lag}"
            lines.append(f"{alias} <= rate({alias}) x ({alive}) + one batch")
        else:
            lines.append(f"{alias} <= {counts.within} + {waiting}")
    return lines
