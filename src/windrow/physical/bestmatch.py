"""The spec of a bestmatch join that says what is best for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.match_algorithms import MATWIN
from windrow.plan.nodes import JUDGED

if TYPE_CHECKING:
    from windrow.physical.specs import KeyClass, Spec
    from windrow.plan.nodes import Dimension
    from windrow.schema import Schema


@dataclass(frozen=True)
class MatwinBestmatch:
    """Outer bestmatch join: windows shifted over both streams in time order.

    Candidates have t(right) - t(left) in [-lo, hi], |left - right| <= eps in every constrained
    dimension, and equal `classes` (two inputs each). Judged are the rows of one input or of both,
    by `kind`: a left row once the watermark is beyond t + hi, a right one beyond t + lo.
    """

    left: Spec
    right: Spec
    dimensions: tuple[Dimension, ...]
    classes: tuple[KeyClass, ...]
    lo: int
    hi: int
    keep: tuple[tuple[str, ...], tuple[str, ...]]
    keep_unmatched: bool
    schema: Schema
    kind: str = "left outer"
    algorithm: str = MATWIN

    @property
    def judged(self) -> tuple[int, ...]:
        """The inputs whose rows have their best pairs kept."""
        return JUDGED[self.kind]

    def wait(self, port: int) -> int:
        """How long after its own time a candidate of a row of the input can lie."""
        return (self.hi, self.lo)[port]
