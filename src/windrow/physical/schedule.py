"""When the stateful operators of a query in process take note of time, and why so."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.physical.options import TPA


@dataclass(frozen=True)
class Schedule:
    """How a query in process is scheduled.

    Attributes:
        name: "tpa" or "ita".
        why: what speaks for it.
        rejected: the others, each with what speaks against it.
    """

    name: str = TPA
    why: str = ""
    rejected: tuple[str, ...] = ()
