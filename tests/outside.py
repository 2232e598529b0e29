"""A source and a sink outside of a run: they outlive it, and break it off where they are told to.

    shelf = Shelf([[(1, 0), (2, 5)], [(1, 3)]], columns)     # two partitions
    tray = Tray()
    with pytest.raises(Killed): run(.., to=tray.breaking_at(3)).wait()
    run(.., to=tray).wait()                                   # goes on

`Killed` is no Exception: nothing in a run takes it for an error that may be told, or tried again. Python
cannot leave a thread as kill -9 does, but nothing that a run does after it reaches outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from windrow.io import Answer, Aside, Json, Offsets, Sink, Source


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Countdown:
    """Kills at the so-many-th touch of something outside; never where `left` is None."""

    left: int | None = None
    touches: int = 0

    def touch(self) -> None:
        self.touches += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed


class Shelf(Source):
    """Rows in partitions, of which some come later.

    Args:
        partitions: tables of the same columns.
        there: how many rows of each are there; None: all.
        countdown: kills.
        poison: offsets, by partition, that are no rows: kept aside.
    """

    def __init__(
        self,
        partitions: Sequence[pa.Table],
        countdown: Countdown | None = None,
        poison: dict[str, set[int]] | None = None,
        most_rows: int = 4,
        is_endless: bool = False,
    ) -> None:
        self._partitions = {str(n): table for n, table in enumerate(partitions)}
        self._countdown = countdown or Countdown()
        self._poison = poison or {}
        self._most_rows = most_rows
        self._is_endless = is_endless
        self._aside: list[Aside] = []
        self.committed: list[Offsets] = []

    def columns(self) -> pa.Schema:
        return self._partitions["0"].schema

    def start(self) -> Offsets:
        return dict.fromkeys(self._partitions, 0)

    def latest(self, since: Offsets, most_rows: int = 4) -> Offsets:
        self._countdown.touch()
        most = min(most_rows, self._most_rows)
        return {
            name: min(len(table), since.get(name, 0) + most)
            for name, table in self._partitions.items()
        }

    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:
        self._countdown.touch()
        bad = self._poison.get(partition, set())
        for at in range(start or 0, end):
            if at in bad:
                self._aside.append(Aside(partition, at, "no row", b"?"))
            else:
                yield from self._partitions[partition].slice(at, 1).to_batches()

    def has_ended(self, offsets: Offsets) -> bool:
        return not self._is_endless and all(
            offsets[name] >= len(table) for name, table in self._partitions.items()
        )

    def commit(self, offsets: Offsets) -> None:
        self._countdown.touch()
        self.committed.append(offsets)

    def take_aside(self) -> list[Aside]:
        found, self._aside = self._aside, []
        return found


@dataclass
class Tray(Sink):
    """Committed rows, epoch by epoch, as what outlives a process would have them."""

    epochs: dict[str, dict[int, list[pa.RecordBatch]]] = field(default_factory=dict)
    countdown: Countdown = field(default_factory=Countdown)
    answer: Answer | None = None

    def __post_init__(self) -> None:
        self._run = ""
        self._written: dict[int, list[pa.RecordBatch]] = {}

    def breaking_at(self, touch: int) -> Tray:
        """The same tray, for a run that is killed."""
        return Tray(self.epochs, Countdown(touch))

    @property
    def rows(self) -> list[pa.RecordBatch]:
        """All that can be seen."""
        return [
            batch
            for own in self.epochs.values()
            for _, batches in sorted(own.items())
            for batch in batches
        ]

    def open(self, run: str, answer: Answer) -> int:
        self.countdown.touch()
        self._run, self.answer = run, answer
        return max(self.epochs.setdefault(run, {}), default=-1)

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        self.countdown.touch()
        self._written[epoch] = list(batches)
        self.countdown.touch()
        return {"epoch": epoch}

    def commit(self, epoch: int, written: Sequence[Json]) -> None:
        self.countdown.touch()
        assert written == [{"epoch": epoch}]
        seen = self.epochs[self._run]
        if epoch not in seen:
            assert epoch > max(seen, default=-1)
            seen[epoch] = self._written.pop(epoch)
        self.countdown.touch()
