"""Pipelines over a tape that is all there, for experiments and walk-throughs (see `runs.py`)."""

from __future__ import annotations

from windrow.kernels.published.levels import CLEAN_EVERY, Plan
from windrow.kernels.published.pipeline_machine import PipelineMachine
from windrow.kernels.published.runs import Run, run
from windrow.kernels.published.tape import Conditions, Numbers, Tape, Trace


def run_nlw(
    tape: Tape,
    conditions: Conditions,
    turns: Numbers,
    *,
    order: tuple[int, ...] | None = None,
    is_path: bool = False,
    trace: Trace | None = None,
) -> Run:
    """NLW-join; the bounds are closed.

    Args:
        tape: the tuples.
        conditions: the bounds and the keys.
        turns: the streams in order of arrival.
        order: the streams from the bottom of the pipeline up; None: as they are numbered.
        is_path: every stated window joins two streams that follow one another in `order`.
        trace: what was done, step by step.
    """
    plan = Plan("nlw", conditions, order or _as_numbered(tape), is_path=is_path)
    return run(PipelineMachine(plan, tape.first, trace), tape, turns)


def run_hw(
    tape: Tape,
    conditions: Conditions,
    turns: Numbers,
    *,
    order: tuple[int, ...] | None = None,
    is_path: bool = False,
    trace: Trace | None = None,
) -> Run:
    """HW-join; the arguments are those of `run_nlw`."""
    plan = Plan("hw", conditions, order or _as_numbered(tape), is_path=is_path)
    return run(PipelineMachine(plan, tape.first, trace), tape, turns)


def run_xjoin(
    tape: Tape,
    conditions: Conditions,
    turns: Numbers,
    *,
    order: tuple[int, ...] | None = None,
    clean_every: int = CLEAN_EVERY,
    trace: Trace | None = None,
) -> Run:
    """The adapted XJoin, which cleans its tables every so many arrivals."""
    plan = Plan("xjoin", conditions, order or _as_numbered(tape), clean_every=clean_every)
    return run(PipelineMachine(plan, tape.first, trace), tape, turns)


def _as_numbered(tape: Tape) -> tuple[int, ...]:
    return tuple(range(len(tape.first) - 1))
