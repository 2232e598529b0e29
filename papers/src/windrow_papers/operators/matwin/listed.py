"""Grid materialization (section 3.3.3): a list of pages per cell, and rows go where they belong.

    cell (0, 3)   [page][page][pa..]       a row goes into the last page of its cell; if that is full,
    cell (0, 7)   [p...]                   into a new one
    cell (2, 1)   [page][pag.]

A sorted stream fills the last page. In a fuzzy ordered one a row may belong before others of its
cell: it goes into the page where it has its place, and a full page is cut into halves.

A source in grid order needs neither sorting nor merging under standard materialization: the list is
then that of its slab, and every row goes behind the one before.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.operators.bestmatch.pages.page_file import drop_expired

if TYPE_CHECKING:
    from windrow.kernels.epsilon_grid import Int64s
    from windrow.operators.bestmatch.pages.page_file import Page, PageFile

Key = tuple[int, ...]
"""What rows are ordered by: cells, y1, number."""


@dataclass
class _Entry:
    """A page of a list: where it begins in grid order. None is a page not written yet."""

    begin: Key
    page: Page | None


class ListedWindow:
    """The window of one stream as lists of pages, by cell or by slab.

    Args:
        file: where pages are.
        slab: the height of a slab, where lists are by slab; 0: they are by cell.
    """

    def __init__(self, file: PageFile, slab: int = 0) -> None:
        self._file = file
        self._slab = slab
        self._lists: dict[Key, list[_Entry]] = {}
        self._names: list[Key] = []

    @property
    def pages(self) -> list[Page]:
        """All pages: by list, in each in grid order."""
        entries = [entry for name in self._names for entry in self._lists[name]]
        return [entry.page for entry in entries if entry.page is not None]

    def store(self, places: Int64s) -> None:
        """Puts rows, in grid order wherever they are in memory, into their pages."""
        frame = self._file.frames.take()
        page = _OpenPage(self._file, self._file.frames.place(frame))
        for place in places.tolist():
            key = page.key(place)
            # The cell is all of the key but y1 and the number; the slab is read off y1.
            name = (key[-2] // self._slab,) if self._slab else key[:-2]
            if name not in self._lists:
                self._lists[name] = []
                insort(self._names, name)
            page.insert(self._lists[name], key, place)
        page.close()
        self._file.frames.give_back([frame])

    def settle(self, lower: int) -> None:
        """Forgets pages all of whose rows have a y1 below `lower`."""
        kept = {page.slot for page in drop_expired(self._file, self.pages, lower)}
        for name in list(self._names):
            entries = [
                one for one in self._lists[name] if one.page is not None and one.page.slot in kept
            ]
            self._lists[name] = entries
            if not entries:
                del self._lists[name]
                self._names.remove(name)


class _OpenPage:
    """The page in memory that rows are put into; it is written when another one is needed."""

    def __init__(self, file: PageFile, start: int) -> None:
        self._file = file
        self._start = start
        self._count = 0
        self._entry: _Entry | None = None

    def key(self, place: int) -> Key:
        """What the row at a place is ordered by."""
        row = self._file.frames.rows[place].tolist()
        cells = [row[k + 1] // width for k, width in enumerate(self._file.widths.tolist())]
        return (*cells, row[0], row[-1])

    def insert(self, entries: list[_Entry], key: Key, place: int) -> None:
        """Puts a row where it belongs in a list of pages."""
        if not entries:
            entries.append(_Entry(key, None))
        at = max(0, bisect_right(entries, key, key=lambda entry: entry.begin) - 1)
        self._open(entries[at])
        if self._count == self._file.frames.page_rows:
            self._make_room(entries, at, key)
        position = self._position(key)
        rows, end = self._file.frames.rows, self._start + self._count
        rows[position + 1 : end + 1] = rows[position:end]
        rows[position] = rows[place]
        self._count += 1
        assert self._entry is not None, "a row goes into a page"
        self._entry.begin = min(self._entry.begin, key)

    def close(self) -> None:
        """Writes the page, if there is one."""
        if self._entry is not None:
            if self._entry.page is not None:
                self._file.forget([self._entry.page])
            self._entry.page = self._file.write(self._start, self._count)
        self._entry = None

    def _open(self, entry: _Entry) -> None:
        if self._entry is entry:
            return
        self.close()
        self._entry, self._count = entry, 0
        if entry.page is not None:
            self._count = self._file.read(entry.page, self._start) - self._start
            self._file.counts.reads_to_store += 1

    def _make_room(self, entries: list[_Entry], at: int, key: Key) -> None:
        """Opens a page with room for a row: a new last one, or either half of the full one."""
        is_last = at == len(entries) - 1
        if is_last and self._position(key) == self._start + self._count:
            entries.append(_Entry(key, None))
            self._open(entries[-1])
            return
        half = self._start + (self._count + 1) // 2
        upper = _Entry(self.key(half), None)
        upper.page = self._file.write(half, self._start + self._count - half)
        entries.insert(at + 1, upper)
        self._count = half - self._start
        if key > upper.begin:
            self._open(upper)

    def _position(self, key: Key) -> int:
        """Where a row belongs in the page; behind all others, in sorted streams."""
        end = self._start + self._count
        if self._count == 0 or self.key(end - 1) < key:
            return end
        return self._start + bisect_right(range(self._start, end), key, key=self.key)
