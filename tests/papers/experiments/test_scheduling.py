"""The three schedulings as published differ in when an output comes, never in what is said."""

from __future__ import annotations

from random import Random

import pytest
from case_share import share_of
from cases.scheduled_sales import asked_of_windrow, draw_sales, net_changes, outputs_of
from cases.tape import tapes
from hypothesis import given, settings
from twins.scheduling import changelog, told_at

from windrow_papers.experiments.sched.queries import (
    FREE,
    SCHEDULINGS,
    WORKLOAD,
    favorites,
    machine_of,
)
from windrow_papers.kernels.scheduling import machine as m
from windrow_papers.kernels.scheduling.schedule import finish, run

pytestmark = pytest.mark.law


@pytest.mark.parametrize("query", WORKLOAD, ids=lambda query: query.name)
@settings(max_examples=share_of(40), deadline=None)
@given(random=tapes(256))
def test_every_scheduling_gives_the_answer_at_every_instant(query, random: Random):
    sales, setting = draw_sales(random, query)
    members = favorites(query, sales, setting)
    expected = changelog(query, sales, setting, members)
    assert asked_of_windrow(query, sales, setting) == expected
    said = {}
    for scheduling in SCHEDULINGS:
        machine = machine_of(query, scheduling, sales, setting)
        run(machine, len(sales))
        if setting.costs == FREE:
            told = told_at(query, scheduling, sales, setting, set(members.tolist()))
            assert_said_when_told(machine, told)
        finish(machine)
        said[scheduling] = outputs_of(machine)
        assert net_changes(query, said[scheduling]) == expected
        assert is_empty(machine)
    assert len({len(outputs) for outputs in said.values()}) == 1


def assert_said_when_told(machine: m.Machine, told: list[int]) -> None:
    """All that is true comes out at the first instant from then on at which time is told."""
    for line in machine.outputs[: machine.numbers[m.OUTPUTS]]:
        assert line[m.MADE_AT] == min(time for time in told if time >= line[m.TRUE_AT])


def is_empty(machine: m.Machine) -> bool:
    """Whether nothing is stored any more, and no queue holds a tuple."""
    numbers = machine.numbers
    stored = [numbers[at] for at in (m.STORED, m.HANDLES, m.DL_SIZE, m.BUFFERED)]
    waiting = (numbers[m.QUEUE_TAIL : m.STORED] - numbers[m.QUEUE_HEAD : m.QUEUE_TAIL]).tolist()
    return not any(stored) and not any(waiting)
