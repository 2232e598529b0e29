"""From a stateful spec to the operator that computes it."""

from __future__ import annotations

from windrow.operators.base import Operator
from windrow.physical.specs import SlidingAggregate, Stateful, WJoin


def build(spec: Stateful) -> Operator:
    """A new operator, its state empty."""
    # Imported here so that a worker loads, and compiles, only the kernels of its own operator.
    if isinstance(spec, WJoin) and spec.kind != "inner":
        from windrow.operators.outer_join import OuterJoinOp  # noqa: PLC0415

        return OuterJoinOp(spec)
    if isinstance(spec, WJoin):
        from windrow.operators.bew_join import BewJoinOp  # noqa: PLC0415

        return BewJoinOp(spec)
    if isinstance(spec, SlidingAggregate):
        from windrow.operators.sliding_aggregate import SlidingAggregateOp  # noqa: PLC0415

        return SlidingAggregateOp(spec)
    from windrow.operators.bestmatch import MatwinBestmatchOp  # noqa: PLC0415

    return MatwinBestmatchOp(spec)
