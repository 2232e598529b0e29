"""How the stateful operators of a query learn that rows have left their windows, and why so."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.physical.options import TPA


@dataclass(frozen=True)
class Schedule:
    """How a query is scheduled.

    Attributes:
        name: "tpa", "nta" or "ita".
        why: what speaks for it.
        rejected: the others, each with what speaks against it.
    """

    name: str = TPA
    why: str = ""
    rejected: tuple[str, ...] = ()
