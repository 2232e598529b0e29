"""Which parts in a folder are committed, and where their rows are: what the files sink keeps, and reads.

    out/
      part-0000000007-00000-1f0c2a9b.parquet      what everybody sees: epoch 7, its first part, the run
      _windrow/
        about.json                                the columns of the folder, its format, its partitions
        epochs/RUN/0000000007-0000000007.json     epoch 7 is committed: its parts
        epochs/RUN/0000000000-0000000006.json     several epochs, once there are many
        merged/RUN/0000000002.json                small parts, merged into a larger one: where each is in it
        parts/RUN/..                              written, and not in place yet

A file in `epochs` is the commit: it is put in place by one rename. Then the parts are renamed into theirs,
which whoever opens the folder next completes. So a part of a committed epoch is in its place, still in
`parts`, or inside another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow.fs as pafs

from windrow.io.file_systems import names_in, put_file, remove_file

FOLDER = "_windrow"
MOST_FILES = 100
"""So many logs of epochs are written together as one."""

MOST_FOLDS = 4
"""So often in a row that may happen while somebody reads them."""

_LOG = re.compile(r"(\d{10,})-(\d{10,})\.json")


@dataclass(frozen=True)
class EpochPart:
    """A part of an epoch.

    Attributes:
        place: where it is seen, in the folder.
        hidden: its name in `parts`, before.
        size: bytes.
        rows: how many.
        header: bytes of its first line, if that has names.
        values: of the columns that its folders say.
    """

    place: str
    hidden: str
    size: int
    rows: int
    header: int = 0
    values: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As sources call it: epochs follow each other, whatever the folders."""
        return self.place.rpartition("/")[2]


@dataclass(frozen=True)
class Epoch:
    """A committed epoch."""

    epoch: int
    time_ns: int
    parts: tuple[EpochPart, ...]


@dataclass(frozen=True)
class Merge:
    """Files that were merged into one.

    Attributes:
        number: how many merges were before it.
        level: how often its rows were merged.
        into: the new file.
        of: the places of the old ones, and by how much places in each are shifted in the new one.
    """

    number: int
    level: int
    into: EpochPart
    of: tuple[tuple[str, int], ...]


class Unmerged:
    """The parts that are in no larger file yet, by where they lie and how often they were merged.

    The log of a run tells it what comes and goes, so that a commit costs what it brings, however many
    epochs there are.

    Args:
        large: bytes from which on a part is left alone.
    """

    def __init__(self, large: int) -> None:
        self.large = large
        self.merges = 0
        self._kinds: dict[tuple[str, int], dict[str, EpochPart]] = {}
        self._grown: dict[tuple[str, int], None] = {}

    def add(self, level: int, part: EpochPart) -> None:
        """A part has come, or a file of so many merges."""
        if part.size < self.large:
            kind = (part.place.rpartition("/")[0], level)
            self._kinds.setdefault(kind, {})[part.place] = part
            self._grown[kind] = None

    def merge(self, merge: Merge) -> None:
        """Parts have become one file."""
        kind = (merge.into.place.rpartition("/")[0], merge.level - 1)
        for place, _ in merge.of:
            self._kinds.get(kind, {}).pop(place, None)
        self.merges += 1
        self.add(merge.level, merge.into)

    def enough(self, most: int) -> tuple[int, list[EpochPart]] | None:
        """Parts of one kind, oldest first, where there are so many or they are large together; their level."""
        for kind in tuple(self._grown):
            parts = list(self._kinds[kind].values())
            is_large = len(parts) > 1 and sum(part.size for part in parts) >= self.large
            if is_large or len(parts) >= max(2, most):
                return kind[1], parts
            del self._grown[kind]
        return None


class EpochLog:
    """The log of a run's epochs in a folder.

    Args:
        system: the file system.
        root: the folder.
        run: whose epochs.
    """

    def __init__(self, system: pafs.FileSystem, root: str, run: str) -> None:
        self._system = system
        self.epochs_at = f"{root}/{FOLDER}/epochs/{run}"
        self.merged_at = f"{root}/{FOLDER}/merged/{run}"
        self.parts_at = f"{root}/{FOLDER}/parts/{run}"
        self._epochs: dict[str, list[Epoch]] = {}
        self._merges: dict[str, Merge] = {}
        self._unmerged: Unmerged | None = None

    def last(self) -> Epoch | None:
        """The last committed epoch."""
        names = self._names()
        return self._read(names[-1])[-1] if names else None

    def epochs(self) -> Iterator[Epoch]:
        """All committed epochs, in order. A file is read once."""
        for name in self._names():
            yield from self._read(name)

    def merges(self) -> list[Merge]:
        """All merges, in order."""
        for name in sorted(names_in(self._system, self.merged_at)):
            if not name.startswith(".") and name not in self._merges:
                told = json.loads(self._content(f"{self.merged_at}/{name}"))
                into, of = EpochPart(**told.pop("into")), tuple(map(tuple, told.pop("of")))
                self._merges[name] = Merge(**told, into=into, of=of)
        return [self._merges[name] for name in sorted(self._merges)]

    def unmerged(self, large: int) -> Unmerged:
        """The parts that are in no larger file yet; all epochs are gone through the first time alone."""
        if self._unmerged is None or self._unmerged.large != large:
            found = Unmerged(large)
            for epoch in self.epochs():
                for part in epoch.parts:
                    found.add(0, part)
            for merge in self.merges():
                found.merge(merge)
            self._unmerged = found
        return self._unmerged

    def commit(self, epoch: Epoch) -> None:
        """Commits an epoch."""
        self._put(_named(epoch.epoch, epoch.epoch), [epoch])
        if self._unmerged is not None:
            for part in epoch.parts:
                self._unmerged.add(0, part)

    def merge(self, merge: Merge) -> None:
        """Says that files are merged."""
        name = f"{merge.number:010d}.json"
        put_file(self._system, f"{self.merged_at}/{name}", _told(asdict(merge)))
        self._merges[name] = merge
        if self._unmerged is not None:
            self._unmerged.merge(merge)

    def fold(self) -> None:
        """Writes many logs together as one: those of the least length first."""
        names = self._names()
        lengths: dict[int, list[str]] = {}
        for name in names:
            lengths.setdefault(len(str(len(self._read(name)) // MOST_FILES)), []).append(name)
        for many in lengths.values():
            if len(many) > MOST_FILES:
                chosen = many[:MOST_FILES]
                at = names.index(chosen[0])
                if names[at : at + MOST_FILES] != chosen:
                    continue
                epochs = [own for name in chosen for own in self._read(name)]
                self._put(_named(epochs[0].epoch, epochs[-1].epoch), epochs)
                for name in chosen:
                    remove_file(self._system, f"{self.epochs_at}/{name}")
                    self._epochs.pop(name, None)
                return

    def _names(self) -> list[str]:
        """The logs in order, without those that others hold."""
        found = []
        for name in names_in(self._system, self.epochs_at):
            match = _LOG.fullmatch(name)
            if match is not None:
                found.append((int(match[1]), -int(match[2]), name))
        kept: list[str] = []
        end = -1
        for _, last, name in sorted(found):
            if -last > end:
                kept.append(name)
                end = -last
        return kept

    def _read(self, name: str) -> list[Epoch]:
        if name not in self._epochs:
            told = json.loads(self._content(f"{self.epochs_at}/{name}"))
            self._epochs[name] = [
                Epoch(
                    own["epoch"], own["time_ns"], tuple(EpochPart(**part) for part in own["parts"])
                )
                for own in told["epochs"]
            ]
        return self._epochs[name]

    def _put(self, name: str, epochs: list[Epoch]) -> None:
        told = _told({"layout": 1, "epochs": [asdict(own) for own in epochs]})
        put_file(self._system, f"{self.epochs_at}/{name}", told)
        self._epochs[name] = epochs

    def _content(self, path: str) -> bytes:
        with self._system.open_input_file(path) as file:
            found: bytes = file.read()
        return found


def _named(first: int, last: int) -> str:
    return f"{first:010d}-{last:010d}.json"


def _told(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Placed:
    """A part of a committed epoch, and the file where its rows are now."""

    part: EpochPart
    time_ns: int
    path: str
    shift: int


class Committed:
    """All that is committed in a folder, by whatever runs.

    Args:
        system: the file system.
        root: the folder.
    """

    def __init__(self, system: pafs.FileSystem, root: str) -> None:
        self._system = system
        self._root = root
        self._logs: dict[str, EpochLog] = {}

    def is_kept(self) -> bool:
        """Whether a sink has written here."""
        found = self._system.get_file_info(f"{self._root}/{FOLDER}/epochs")
        return bool(found.type == pafs.FileType.Directory)

    def about(self) -> dict[str, Any] | None:
        """What the sink has said of the folder."""
        path = f"{self._root}/{FOLDER}/about.json"
        if self._system.get_file_info(path).type != pafs.FileType.File:
            return None
        with self._system.open_input_file(path) as file:
            told: dict[str, Any] = json.loads(file.read())
        return told

    def parts(self) -> list[Placed]:
        """The parts of all epochs, run by run, each with its place."""
        for _ in range(MOST_FOLDS):
            try:
                return self._parts()
            except FileNotFoundError:  # logs were written together as one since they were listed
                continue
        return self._parts()

    def _parts(self) -> list[Placed]:
        found = []
        for run in self._runs():
            log = self._logs.setdefault(run, EpochLog(self._system, self._root, run))
            # In this order: what is committed when it is read is hidden then, or in place already.
            epochs = list(log.epochs())
            moved: dict[str, tuple[str, int]] = {}
            hidden: dict[str, str] = {}
            for merge in log.merges():
                hidden[merge.into.place] = merge.into.hidden
                shifts = dict(merge.of)
                moved.update(
                    (place, (merge.into.place, shift + shifts[at]))
                    for place, (at, shift) in moved.items()
                    if at in shifts
                )
                moved.update((place, (merge.into.place, shift)) for place, shift in merge.of)
            waiting = names_in(self._system, log.parts_at)
            for epoch in epochs:
                for part in epoch.parts:
                    place, shift = moved.get(part.place, (part.place, 0))
                    unmoved = hidden.get(place, part.hidden)
                    path = f"{self._root}/{place}"
                    if unmoved in waiting:
                        path = f"{log.parts_at}/{unmoved}"
                    found.append(Placed(part, epoch.time_ns, path, shift))
        return found

    def _runs(self) -> list[str]:
        below = pafs.FileSelector(f"{self._root}/{FOLDER}/epochs", allow_not_found=True)
        found = self._system.get_file_info(below)
        return sorted(own.base_name for own in found if own.type == pafs.FileType.Directory)
