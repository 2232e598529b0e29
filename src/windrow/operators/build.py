"""From a stateful spec to the operator that computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.operators.base import Operator
from windrow.physical.algorithms import ASYMMETRIC, BY_NAME, DEFAULT, SWEEP
from windrow.physical.asof import AsofSweep, RangeAggregate
from windrow.physical.match_algorithms import PAGED
from windrow.physical.shedding import Shedding
from windrow.physical.sliding_skyline import SlidingSkyline
from windrow.physical.specs import (
    CountRows,
    ExpireRows,
    OfChanges,
    PairJoinSpec,
    SetOp,
    SlidingAggregate,
    Stateful,
    WJoin,
    takes_back,
)

if TYPE_CHECKING:
    from windrow.operators.partition import Own


def build(spec: Stateful, own: Own | None = None) -> Operator:
    """A new operator, its state empty.

    Args:
        spec: what it computes.
        own: in one bucket of several, which rows it answers for; None: for all that it is given.
    """
    # Imported here so that a worker loads, and compiles, only the kernels of its own operator.
    if isinstance(spec, WJoin):
        return _window_join(spec, own)
    if isinstance(spec, SlidingAggregate):
        if spec.estimated_from:
            from windrow.operators.shedding.estimating_aggregate import (  # noqa: PLC0415
                EstimatingAggregateOp,
            )

            return EstimatingAggregateOp(spec)
        from windrow.operators.sliding_aggregate import SlidingAggregateOp  # noqa: PLC0415

        return SlidingAggregateOp(spec)
    if isinstance(spec, SetOp):
        return _set_operation(spec)
    if isinstance(spec, OfChanges):
        return _of_changes(spec)
    return _of_pairs(spec, own)


def _set_operation(spec: SetOp) -> Operator:
    if spec.hands_on:
        from windrow.operators.hand_on import HandOnOp  # noqa: PLC0415

        return HandOnOp(spec)
    if spec.adds_signs_up:
        from windrow.operators.net_changes import NetChangesOp  # noqa: PLC0415

        return NetChangesOp(spec)
    from windrow.operators.set_operation import SetOperationOp  # noqa: PLC0415

    return SetOperationOp(spec)


def _of_pairs(spec: PairJoinSpec | SlidingSkyline, own: Own | None) -> Operator:
    if isinstance(spec, SlidingSkyline):
        from windrow.operators.sliding_skyline import SlidingSkylineOp  # noqa: PLC0415

        return SlidingSkylineOp(spec)
    if isinstance(spec, RangeAggregate):
        from windrow.operators.range_aggregate import RangeAggregateOp  # noqa: PLC0415

        return RangeAggregateOp(spec)
    if isinstance(spec, AsofSweep):
        from windrow.operators.asof import AsofSweepOp  # noqa: PLC0415

        return AsofSweepOp(spec)
    from windrow.operators.bestmatch import MatwinBestmatchOp  # noqa: PLC0415
    from windrow.operators.cell_routes import OwnCells  # noqa: PLC0415

    assert own is None or isinstance(own, OwnCells)
    if spec.algorithm in PAGED:
        from windrow.operators.published.matwin.operator import (  # noqa: PLC0415
            PagedBestmatchOp,
        )

        return PagedBestmatchOp(spec, own)
    return MatwinBestmatchOp(spec, own)


def _of_changes(spec: OfChanges) -> Operator:
    if isinstance(spec, CountRows) and takes_back(spec.input):
        from windrow.operators.newest_changes import NewestChangesOp  # noqa: PLC0415

        return NewestChangesOp(spec)
    if isinstance(spec, CountRows):
        from windrow.operators.rows_window import CountRowsOp  # noqa: PLC0415

        return CountRowsOp(spec)
    if isinstance(spec, ExpireRows):
        from windrow.operators.expire import ExpireRowsOp  # noqa: PLC0415

        return ExpireRowsOp(spec)
    from windrow.operators.change_feed import ResolveChangesOp  # noqa: PLC0415

    return ResolveChangesOp(spec)


def _window_join(spec: WJoin, own: Own | None) -> Operator:
    if spec.counts is not None:
        from windrow.operators.count_join import CountJoinOp  # noqa: PLC0415

        return CountJoinOp(spec)
    if spec.is_snapshot:
        return _snapshot_join(spec)
    if spec.kind != "inner":
        from windrow.operators.outer_join import OuterJoinOp  # noqa: PLC0415
        from windrow.operators.partition import OwnSlices  # noqa: PLC0415

        assert own is None or isinstance(own, OwnSlices)
        return OuterJoinOp(spec, own)
    if spec.shedding is not None:
        return _shedding_join(spec, spec.shedding)
    if spec.algorithm == DEFAULT:
        from windrow.operators.bew_join import BewJoinOp  # noqa: PLC0415

        return BewJoinOp(spec)
    return _published_join(spec)


def _snapshot_join(spec: WJoin) -> Operator:
    if spec.expires:
        from windrow.operators.expiring_join import ExpiringJoinOp  # noqa: PLC0415

        return ExpiringJoinOp(spec)
    from windrow.operators.snapshot_join import SnapshotJoinOp  # noqa: PLC0415

    return SnapshotJoinOp(spec)


def _published_join(spec: WJoin) -> Operator:
    if BY_NAME[spec.algorithm].kind == SWEEP:
        from windrow.operators.published.sweep import SweepJoinOp  # noqa: PLC0415

        return SweepJoinOp(spec)
    from windrow.operators.published.arrival import ArrivalJoinOp  # noqa: PLC0415

    return ArrivalJoinOp(spec)


def _shedding_join(spec: WJoin, shedding: Shedding) -> Operator:
    if spec.algorithm == ASYMMETRIC:
        from windrow.operators.shedding.structured_join import (  # noqa: PLC0415
            StructuredShedJoinOp,
        )

        return StructuredShedJoinOp(spec, shedding)
    from windrow.operators.shedding.join import ShedJoinOp  # noqa: PLC0415

    return ShedJoinOp(spec, shedding)
