"""When each scheduling produces what, on sales that can be followed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from windrow_papers.experiments.sched.queries import (
    MACHINE,
    Q1,
    Q2,
    Q4,
    Q5,
    SCHEDULINGS,
    Costs,
    Setting,
    count_pairs,
    machine_of,
)
from windrow_papers.experiments.sched.real_time import drive
from windrow_papers.experiments.sched.regulates import equation_1
from windrow_papers.experiments.sched.runs import run_query
from windrow_papers.experiments.sched.sales import Sales, synthetic_sales
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.kernels.scheduling import machine as m
from windrow_papers.kernels.scheduling.schedule import run

pytestmark = pytest.mark.slow

FREE = Costs(0, 0, 0)


def sales_of(*rows: tuple[int, int, int, int, int]) -> Sales:
    """Rows of (stream, time, item, price, quantity)."""
    stream, time, item, price, quantity = (
        np.array(column, np.int64) for column in zip(*rows, strict=True)
    )
    return Sales(stream, time, np.zeros_like(time), item, price, quantity)  # fmt: skip


def ticks(window: int, costs: Costs = FREE) -> Setting:
    """One window, in ticks; a price above 500 passes."""
    return Setting((window / SECOND, window / SECOND), 0.5, costs)


def produced(query, scheduling, sales, setting) -> list[tuple[int, int, int]]:
    """Outputs as (value, true at, made at)."""
    machine = machine_of(query, scheduling, sales, setting)
    run(machine, len(sales))
    outputs = machine.outputs[: machine.numbers[m.OUTPUTS]]
    return [tuple(line) for line in outputs[:, [m.OUT_VALUE, m.TRUE_AT, m.MADE_AT]].tolist()]


# Prices above 500 pass, so do the sales at 0, 1 and 9; the others only tell what time it is.
FIVE = sales_of((0, 0, 0, 900, 6), (0, 1, 0, 900, 9), (0, 5, 0, 100, 2), (0, 7, 0, 100, 2),
                (0, 9, 0, 900, 7))  # fmt: skip
WINDOW = 3
EXPIRED = [(9, 4), (0, 5)]
"""What SUM is once 6, and then 9, has left, and from when on."""


@pytest.mark.parametrize(
    ("scheduling", "made_at"), [("ita", [9, 9]), ("tpa", [5, 5]), ("nta", [5, 5])]
)
def test_ita_learns_of_time_from_what_passes_and_the_others_from_any_tuple(scheduling, made_at):
    outputs = produced(Q1, scheduling, FIVE, ticks(WINDOW))
    late = [(value, true_at, made) for (value, true_at), made in zip(EXPIRED, made_at, strict=True)]
    assert outputs == [(6, 0, 0), (15, 1, 1), *late, (7, 9, 9)]


def test_work_takes_its_time_and_tuples_wait_for_it():
    sales = sales_of((0, 0, 0, 900, 1), (0, 1, 0, 900, 1))
    (first, second) = produced(Q1, "ita", sales, ticks(1_000, Costs(10, 1, 0)))
    # Scan, selection and SUM take the tuple: three runs; it is compared, and its group looked up.
    assert first == (1, 0, 32)
    # The second waits for the first, and is compared with it.
    assert second == (2, 1, 32 + 33)


def test_tpa_probes_only_when_nothing_waits():
    sales = sales_of(*((0, time, 0, 900 if time < 10 else 100, 1) for time in range(0, 300, 2)))
    slow, idle = (run_query(Q1, "tpa", sales, ticks(5, costs)) for costs in (Costs(9, 9, 9), FREE))
    ita = run_query(Q1, "ita", sales, ticks(5, Costs(9, 9, 9)))
    assert idle.work[m.PROBES] > 0
    assert slow.work[m.PROBES] == 2  # after the very last tuple
    assert slow.work[m.RUNS] == ita.work[m.RUNS] + 1


def test_nta_takes_every_tuple_twice_and_keeps_totals_only():
    sales = synthetic_sales(20, streams=1, items=10, seconds=60, seed=1)
    setting = Setting((10.0, 10.0), 0.25)
    nta, tpa = (run_query(Q1, name, sales, setting) for name in ("nta", "tpa"))
    assert nta.stored == 1
    assert nta.stored_by_expire == pytest.approx(200, rel=0.1)
    assert tpa.stored == pytest.approx(50, rel=0.15)
    assert nta.work[m.RUNS] > 1.3 * tpa.work[m.RUNS]


def test_a_buffer_over_two_windows_is_scanned_by_all_but_nta():
    sales = synthetic_sales(20, streams=2, items=200, seconds=60, seed=1)
    setting = Setting((20.0, 10.0), 1.0)
    scanned = {name: run_query(Q5, name, sales, setting).work[m.SCANNED] for name in SCHEDULINGS}
    assert scanned["nta"] == 0
    assert 0 < scanned["ita"] < scanned["tpa"]


def test_an_expired_row_is_replaced_by_its_newest_duplicate():
    sales = sales_of(*((0, time, 0, 900, 1) for time in (0, 1, 2, 3, 10)))
    machine = machine_of(Q2, "tpa", sales, ticks(3))
    run(machine, len(sales))
    outputs = machine.outputs[: machine.numbers[m.OUTPUTS]]
    # The one at 0 stands for all until 4, then the one at 3 does, until 7.
    assert outputs[:, [m.KIND, m.TRUE_AT]].tolist() == [
        [m.CAME, 0], [m.REPLACED, 4], [m.LEFT, 7], [m.CAME, 10],
    ]  # fmt: skip


def test_a_join_with_a_selectivity_gives_so_many_results_per_tuple():
    for query, share in ((Q4, 0.6), (Q5, 0.1)):
        setting = query.setting(scale=0.2)
        items = query.items(20, setting, query.join_selectivity)
        sales = synthetic_sales(20, streams=2, items=items, seconds=600, seed=3)
        ran = run_query(query, "nta", sales, setting)
        came = (ran.outputs[:, m.TRUE_AT] >= ran.steady_from).sum() / 2
        steady = (sales.time >= ran.steady_from).sum()
        assert came / steady == pytest.approx(share * setting.selectivity, rel=0.15)


def test_pairs_are_counted_as_the_join_gives_them():
    sales = synthetic_sales(20, streams=2, items=20, seconds=30, seed=5)
    machine = machine_of(Q5, "ita", sales, Setting((4.0, 2.0), 1.0, MACHINE))
    run(machine, len(sales))
    pairs = int(machine.numbers[m.PAIRS])
    assert count_pairs(machine.tuples, (4 * SECOND, 2 * SECOND)) == pairs
    assert pairs > 100


def test_the_same_steps_are_driven_by_the_real_clock():
    sales = sales_of((0, 0, 0, 900, 6), (0, 2_000, 0, 100, 1), (0, 4_000, 0, 100, 1))
    machines = {name: machine_of(Q1, name, sales, ticks(1_000)) for name in SCHEDULINGS}
    drive(machines, sales)
    counts = {name: int(machine.numbers[m.OUTPUTS]) for name, machine in machines.items()}
    assert counts == {"ita": 1, "tpa": 2, "nta": 2}
    # The 6 leaves at 1,001 us, which the tuple at 2,000 us tells.
    expired = machines["tpa"].outputs[1]
    assert expired[m.TRUE_AT] == 1_001
    assert expired[m.MADE_AT] >= 2_000


def test_equation_1_counts_the_values_of_a_window():
    assert equation_1(26, 0) == 0
    assert equation_1(26, 1) == pytest.approx(1)
    assert equation_1(26, 10_000) == pytest.approx(26)
