"""The board: measurements under labels, from which tables, cases and curves are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from windrow.kernels.tuple_at_a_time.tape import DROPS, KEY_TESTS, PROBES, WINDOW_TESTS
from windrow_papers.experiments.charts import Line
from windrow_papers.experiments.claims import Case
from windrow_papers.experiments.contest import EVERY, Algorithm, Join, Series, agree, measure
from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.experiment import Say
from windrow_papers.experiments.tables import Table, Value, table
from windrow_papers.experiments.workloads.streams import Int64s, Streams

WORK, TOUCHED, TIME = "work", "touched", "time"
"""What contestants are compared by: comparisons and look-ups, tuples looked at, seconds."""

_COLUMNS = (
    "case", "algorithm", "tuples in", "results", "touched/tuple", "look-ups/tuple",
    "window tests/tuple", "key tests/tuple", "drops/tuple", "work/tuple", "us/tuple",
)  # fmt: skip
_BRIEF = ("case", "algorithm", "results", "touched/tuple", "work/tuple", "us/tuple")
_MOST_POINTS = 100
"""A curve in a figure has no more points; neighbors are averaged."""


@dataclass
class Board:
    """Measurements by case and algorithm.

    Attributes:
        say: told what is being measured.
        skipped: the share of each run that fills the windows, left out of averages.
        left_out: cases that could not be measured, and why; the table has a row of each.
    """

    say: Say
    skipped: float = 0.0
    left_out: dict[str, str] = field(default_factory=dict)
    _series: dict[tuple[str, str], Series] = field(default_factory=dict)

    def run(
        self,
        case: str,
        algorithms: Sequence[Algorithm],
        join: Join,
        streams: Streams,
        turns: Int64s,
        *,
        every: int = EVERY,
        mark: int = 0,
    ) -> None:
        """Measures each algorithm over the same tuples in the same order; see `measure`."""
        for algorithm in algorithms:
            self.say(f"{case}: {algorithm.name}, {len(turns):,} tuples")
            series = measure(algorithm, join, streams, turns, every=every, mark=mark)
            self.put(case, algorithm.name, series)

    def put(self, case: str, algorithm: str, series: Series) -> None:
        """Adds a measurement.

        Raises:
            InternalError: another algorithm gave another number of combinations in this case.
        """
        self._series[case, algorithm] = series
        agree(case, {name: one.found for (at, name), one in self._series.items() if at == case})

    def series(self, case: str, algorithm: str) -> Series:
        """A measurement."""
        return self._series[case, algorithm]

    def has(self, case: str) -> bool:
        """Whether a case was measured."""
        return any(measured == case for measured, _ in self._series)

    def figure(self, case: str, algorithm: str, by: str) -> float:
        """A measurement's average per input tuple, windows being full."""
        series = self._series[case, algorithm]
        figures = {WORK: series.work, TOUCHED: series.touched, TIME: series.seconds}[by]
        return series.per_tuple(figures, self.skipped)

    def versus(self, case: str, small: Algorithm, large: Algorithm, by: str) -> Case:
        """Two algorithms in one case, to be decided about."""
        label = f"{small.name} against {large.name}, {case}"
        return Case(label, self.figure(case, small.name, by), self.figure(case, large.name, by))

    def costs(self, case: str, algorithms: Sequence[Algorithm]) -> str:
        """What a unit of work takes each algorithm here, in words: where time and counts part."""
        parts = [
            f"{self._series[case, one.name].cost_s * 1e9:,.0f} ns in {one.name}"
            for one in algorithms
        ]
        return f"a unit of work takes {', '.join(parts)} ({case})"

    def table(self) -> Table:
        """A row per measurement."""
        rows: list[list[Value]] = []
        for (case, name), series in self._series.items():
            counts = [
                series.per_tuple(series.counts[:, number], self.skipped)
                for number in (PROBES, WINDOW_TESTS, KEY_TESTS, DROPS)
            ]
            rows.append(
                [
                    case, name, int(series.inputs.sum()), series.found,
                    self.figure(case, name, TOUCHED), *counts,
                    self.figure(case, name, WORK), self.figure(case, name, TIME) * 1e6,
                ]
            )  # fmt: skip
        nothing = [""] * (len(_COLUMNS) - 2)
        rows += [[case, f"not measured: {why}", *nothing] for case, why in self.left_out.items()]
        return table(_COLUMNS, rows, _BRIEF)

    def leave_out(self, case: str, error: ExperimentError) -> None:
        """Notes, and says, that a case cannot be measured."""
        self.say(f"{case}: not measured: {error.sentence}")
        self.left_out[case] = error.sentence

    @property
    def said_left_out(self) -> str:
        """The cases left out in one phrase; empty for none."""
        return "; ".join(f"{case} ({why})" for case, why in self.left_out.items())

    def series_table(self) -> Table:
        """A row per slice of every measurement."""
        rows: list[list[Value]] = []
        for (case, name), series in self._series.items():
            slices = zip(
                np.cumsum(series.inputs).tolist(),
                (series.touched / series.inputs).tolist(),
                (series.work / series.inputs).tolist(),
                (series.seconds / series.inputs * 1e6).tolist(),
                strict=True,
            )
            rows += [[case, name, *figures] for figures in slices]
        columns = ("case", "algorithm", "tuples in", "touched/tuple", "work/tuple", "us/tuple")
        return table(columns, rows)

    def curve(
        self, case: str, algorithm: Algorithm, by: str = WORK, *, label: str | None = None
    ) -> Line:
        """A figure per input tuple over a run; time in microseconds."""
        series = self._series[case, algorithm.name]
        figures = {WORK: series.work, TOUCHED: series.touched, TIME: series.seconds * 1e6}[by]
        thousands = np.cumsum(series.inputs) / 1_000
        return Line(label or algorithm.name, thousands.tolist(), (figures / series.inputs).tolist())

    def bars(
        self, cases: Sequence[str], algorithm: Algorithm, label: str, by: str, *, is_dashed: bool
    ) -> Line:
        """One figure per case, side by side."""
        factor = 1e6 if by == TIME else 1.0
        heights = [self.figure(case, algorithm.name, by) * factor for case in cases]
        return Line(label, list(range(len(cases))), heights, is_dashed)
