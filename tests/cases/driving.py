"""An operator's driver alone, without a scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.driver import OperatorDriver


def step(
    driver: OperatorDriver, batches: Sequence[ChangeBatch | None], before: int, after: int
) -> list[ChangeBatch]:
    """What a micro-batch between two watermarks of the query brings: the late rule, push, advance."""
    return [*driver.push(batches, before), *driver.advance(after), *driver.settle()]
