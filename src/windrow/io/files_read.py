"""Which files were read long ago: what an offset keeps of them, so that a new one is told from them.

    {"files": "Fx2..", "series": {"1f0c2a9b": "part-0000000007-00000-1f0c2a9b.csv"}}

Of each file that is still there, eight letters: a hash of 48 bits of its name. Those that were removed are
forgotten, so this grows with the folder, which has to be looked through anyway. The parts of a run in the
folder of a files sink come in the order of their names and are never removed from its log: of all of them,
the last says enough.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from windrow.io.protocol import Json

_HASH_BYTES = 6

NOTHING: Mapping[str, Json] = {"files": "", "series": {}}


class FilesRead:
    """Files that were read.

    Args:
        told: of an offset.

    Examples:
        >>> read = FilesRead(NOTHING)
        >>> read.add("a.csv")
        >>> again = FilesRead(read.told())
        >>> again.has("a.csv"), again.has("b.csv")
        (True, False)
    """

    def __init__(self, told: Json) -> None:
        hashes = base64.b64decode(told["files"])
        begins = range(0, len(hashes), _HASH_BYTES)
        self._hashes = {hashes[at : at + _HASH_BYTES]: None for at in begins}
        self._series: dict[str, str] = dict(told["series"])
        self._hashed: dict[str, bytes] = {}

    def has(self, name: str, series: str | None = None) -> bool:
        """Whether a file was read."""
        if series is not None:
            return name <= self._series.get(series, "")
        return bool(self._hashes) and self._hash(name) in self._hashes

    def add(self, name: str, series: str | None = None) -> None:
        """A file was read, of a run's those before it too."""
        if series is not None:
            self._series[series] = max(name, self._series.get(series, ""))
        else:
            self._hashes[self._hash(name)] = None

    def keep(self, there: Iterable[str]) -> None:
        """Forgets the files that are not there."""
        if self._hashes:
            found = set(map(self._hash, there))
            if not found.issuperset(self._hashes):
                self._hashes = {own: None for own in self._hashes if own in found}

    def told(self) -> Json:
        """What an offset keeps."""
        hashes = base64.b64encode(b"".join(self._hashes))
        return {"files": hashes.decode(), "series": dict(self._series)}

    def _hash(self, name: str) -> bytes:
        if name not in self._hashed:
            self._hashed[name] = blake2b(name.encode(), digest_size=_HASH_BYTES).digest()
        return self._hashed[name]
