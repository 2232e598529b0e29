"""Iterators that a test opens and closes by hand, and results that are read on the side."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

LIMIT_S = 60
"""How long a test waits for what must happen before it fails; nothing here takes that long."""

_END = object()


class Tap:
    """An iterator that blocks until the test gives it something to give."""

    def __init__(self) -> None:
        self._items: queue.Queue[Any] = queue.Queue()
        self.is_asked = threading.Event()
        self.is_closed = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.is_asked.set()
        item = self._items.get()
        if item is _END:
            raise StopIteration
        if isinstance(item, BaseException):
            raise item
        return item

    def close(self) -> None:
        """What a query does once it has stopped."""
        self.is_closed.set()

    def give(self, *items: Any) -> None:
        """Lets it give items; an error is raised."""
        for item in items:
            self._items.put(item)

    def end(self) -> None:
        """Lets it end."""
        self._items.put(_END)


class Listener:
    """Reads a result on a thread of its own, as a program would that waits for rows."""

    def __init__(self, result: Any) -> None:
        self._heard: queue.Queue[Any] = queue.Queue()
        self._thread = threading.Thread(target=self._listen, args=(result,), daemon=True)
        self._thread.start()

    def _listen(self, result: Any) -> None:
        try:
            for batch in result:
                self._heard.put(batch.to_pylist())
        except BaseException as error:  # noqa: BLE001  # the test raises it again
            self._heard.put(error)
        self._heard.put(_END)

    def next(self) -> Any:
        """The next rows; an error that ended the result is raised."""
        heard = self._heard.get(timeout=LIMIT_S)
        if isinstance(heard, BaseException):
            raise heard
        assert heard is not _END, "the result has ended"
        return heard

    def has_ended(self) -> bool:
        """Waits for the end; rows that still come are an error."""
        heard = self._heard.get(timeout=LIMIT_S)
        self._thread.join(LIMIT_S)
        return heard is _END and not self._thread.is_alive()


def readers() -> dict[str, threading.Thread]:
    """The threads that read streams now, by stream."""
    return {
        thread.name.removeprefix("windrow-"): thread
        for thread in threading.enumerate()
        if thread.name.startswith("windrow-")
    }
