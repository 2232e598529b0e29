"""Random numbers that are read off bytes: one draw of Hypothesis gives all that a case needs.

Hypothesis spends more time on a hundred small draws than an operator does on the case that they
make. So it draws bytes, once, and cases are plain functions of a `random.Random`: they cost little,
a seed repeats them elsewhere, and Hypothesis still makes a failing case smaller. Zeros take the
first of every choice, so that choices are listed with the plainest first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

Drawn = TypeVar("Drawn")


class Tape(Random):
    """Reads its numbers off bytes; only zeros come after them."""

    def __init__(self, content: bytes) -> None:
        super().__init__(0)
        self.content = content
        self.position = 0

    def getrandbits(self, k: int) -> int:
        """The next bits, of whole bytes."""
        size = (k + 7) // 8
        start, self.position = self.position, self.position + size
        read = self.content[start : self.position]
        return int.from_bytes(read, "little") & ((1 << k) - 1)

    def random(self) -> float:
        """The next number of [0, 1), in steps that are fine enough to break ties."""
        return self.getrandbits(24) / (1 << 24)

    def __repr__(self) -> str:
        return f"Tape(bytes.fromhex({self.content[: self.position].hex()!r}))"


@functools.cache
def tapes(size: int = 512) -> st.SearchStrategy[Tape]:
    """Tapes of so many bytes, one for each choice among up to 255; to be more than a case takes."""
    return st.binary(min_size=size, max_size=size).map(Tape)


TAPES = tapes()


@st.composite
def drawn(draw: Any, make: Callable[[Random], Drawn], size: int = 512) -> Drawn:
    """What the function makes of a random source, for any source."""
    return make(draw(tapes(size)))
