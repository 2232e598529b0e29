"""A stand-in for the handle that Spark gives a stateful processor: plain dicts per key."""

from __future__ import annotations

from typing import Any


class FakeHandle:
    """State of all keys; `key` is the one being worked on."""

    def __init__(self) -> None:
        self.key: Any = None
        self.values: dict[Any, tuple[Any, ...]] = {}
        self.entries: dict[Any, tuple[Any, ...]] = {}
        self.timers: set[tuple[Any, int]] = set()
        self.reads = 0

    def getValueState(self, name: str, _schema: Any) -> Any:  # noqa: N802
        return _Value(self, name)

    def getMapState(self, name: str, _key: Any, _value: Any) -> Any:  # noqa: N802
        return _Map(self, name)

    def registerTimer(self, millis: int) -> None:  # noqa: N802
        self.timers.add((self.key, millis))

    def deleteTimer(self, millis: int) -> None:  # noqa: N802
        self.timers.discard((self.key, millis))

    def expired(self, watermark: int) -> list[tuple[Any, int]]:
        """The timers that Spark would call for."""
        return sorted(timer for timer in self.timers if timer[1] <= watermark)


class _Value:
    def __init__(self, handle: FakeHandle, name: str) -> None:
        self._handle, self._name = handle, name

    def get(self) -> Any:
        return self._handle.values.get((self._handle.key, self._name))

    def update(self, value: tuple[Any, ...]) -> None:
        self._handle.values[(self._handle.key, self._name)] = value


class _Map:
    def __init__(self, handle: FakeHandle, name: str) -> None:
        self._handle, self._name = handle, name

    def getValue(self, key: tuple[Any, ...]) -> Any:  # noqa: N802
        self._handle.reads += 1
        return self._handle.entries.get((self._handle.key, self._name, key))

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:  # noqa: N802
        self._handle.entries[(self._handle.key, self._name, key)] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:  # noqa: N802
        del self._handle.entries[(self._handle.key, self._name, key)]
