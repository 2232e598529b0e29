"""The three schedulings as published differ in when an output comes, never in what is said."""

from __future__ import annotations

from random import Random

import pytest
from cases.scheduled_sales import asked_of_windrow, draw_sales, net_changes, outputs_of
from cases.tape import tapes
from hypothesis import given, settings
from twins.scheduling import changelog

from windrow.experiments.sched.queries import SCHEDULINGS, WORKLOAD, favorites, machine_of
from windrow.kernels.published.scheduling import machine as m
from windrow.kernels.published.scheduling.schedule import finish, run


@pytest.mark.parametrize("query", WORKLOAD, ids=lambda query: query.name)
@settings(max_examples=40, deadline=None)
@given(random=tapes(256))
def test_every_scheduling_gives_the_answer_at_every_instant(query, random: Random):
    sales, setting = draw_sales(random, query)
    expected = changelog(query, sales, setting, favorites(query, sales, setting))
    assert asked_of_windrow(query, sales, setting) == expected
    said = {}
    for scheduling in SCHEDULINGS:
        machine = machine_of(query, scheduling, sales, setting)
        run(machine, len(sales))
        finish(machine)
        said[scheduling] = outputs_of(machine)
        assert net_changes(query, said[scheduling]) == expected
        assert is_empty(machine)
    assert len({len(outputs) for outputs in said.values()}) == 1


def is_empty(machine: m.Machine) -> bool:
    """Whether nothing is stored any more, and no queue holds a tuple."""
    numbers = machine.numbers
    stored = [numbers[at] for at in (m.STORED, m.HANDLES, m.DL_SIZE, m.BUFFERED)]
    waiting = (numbers[m.QUEUE_TAIL : m.STORED] - numbers[m.QUEUE_HEAD : m.QUEUE_TAIL]).tolist()
    return not any(stored) and not any(waiting)
