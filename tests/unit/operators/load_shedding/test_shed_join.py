"""A join that sheds: exact where all fits, repeatable and within its bounds where not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cases.shed_joins import (
    SPAN,
    WINDOW,
    ahead,
    bytes_held,
    node,
    run,
    shedding,
    streams,
    taken,
)

from windrow.errors import DataError, PlanError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.operators.load_shedding.join import ShedJoinOp
from windrow.operators.load_shedding.structured_join import StructuredShedJoinOp
from windrow.physical.structures import PartSizes
from windrow.schema import MAX_TICK

pytestmark = pytest.mark.slow


@pytest.mark.law
@pytest.mark.parametrize("size", [2, 3])
def test_where_all_fits_the_join_is_exact(size):
    batches = streams(size, rows=50)
    exact, *_ = run(BewJoinOp(node(size)), batches)
    plenty = shedding(memory=10_000, service_rate=10_000)
    found, _, operator = run(ShedJoinOp(replace(node(size), shedding=plenty)), batches, cuts=7)
    assert found == exact
    counted = operator.counters
    assert counted.shed_found == exact.total()
    assert counted.shed_estimated == counted.shed_expected == 1_000 * exact.total()


@pytest.mark.law
@pytest.mark.parametrize("there_is", [{"memory": 70}, {"service_rate": 0.4},
                                      {"memory": 70, "service_rate": 0.4}])  # fmt: skip
def test_the_answer_depends_on_the_tuples_alone(there_is):
    batches = streams()
    made = shedding(**there_is)
    whole, *_ = run(ShedJoinOp(replace(node(), shedding=made)), batches)
    exact, *_ = run(BewJoinOp(node()), batches)
    assert 0 < whole.total() < exact.total()
    assert whole <= exact
    # With every part whole panes come: nothing has to wait from one step to the next.
    assert run(ShedJoinOp(replace(node(), shedding=made)), batches, cuts=25)[0] == whole
    order = np.random.default_rng(9).permutation(len(batches[0]))
    shuffled = [batch.take(order) for batch in batches]
    by_9, *_ = run(ShedJoinOp(replace(node(), shedding=made)), shuffled, cuts=9)
    again, *_ = run(
        ShedJoinOp(replace(node(), shedding=made)),
        batches,
        9,
        lambda: ShedJoinOp(replace(node(), shedding=made)),
    )
    assert again == by_9
    # Where memory is short those that wait take some of it; probes have nothing to do with it.
    assert (by_9 == whole) == ("memory" not in there_is)
    assert run(ShedJoinOp(replace(node(), shedding=shedding(1, **there_is))), batches)[0] != whole


@pytest.mark.law
@pytest.mark.parametrize("there_is", [{"memory": 70}, {"memory": 70, "service_rate": 0.4}])
@pytest.mark.parametrize("pair", [("hash", "buffer"), ("btree", "ttree"), ("ttree", "hash")])
def test_structures_find_the_same_where_much_is_marked_in_them(pair, there_is):
    batches, made = streams(), shedding(**there_is)
    kept_so = replace(node(), algorithm="asymmetric", structures=pair)
    whole, *_ = run(ShedJoinOp(replace(node(), shedding=made)), batches)
    found, most, operator = run(
        StructuredShedJoinOp(replace(kept_so, shedding=made)), batches, cuts=25
    )
    assert found == whole
    assert most <= 70
    assert operator.counters.stored == 0


@pytest.mark.law
def test_no_more_is_held_than_there_is_memory_for():
    _, most, operator = run(
        ShedJoinOp(replace(node(), shedding=shedding(memory=70))), streams(), cuts=25
    )
    assert 60 <= most <= 70
    assert operator.counters.stored == 0


@pytest.mark.parametrize("lead", [1, 5, 15])
def test_what_waits_for_a_stream_behind_is_part_of_the_memory(lead):
    batches = streams()
    exact, *_ = run(BewJoinOp(node()), batches)
    found, most, operator = ahead(
        ShedJoinOp(replace(node(), shedding=shedding(memory=70))), batches, 25, lead
    )
    assert 60 <= most <= 70
    assert operator.counters.stored == 0
    assert Counter() < found < exact
    # As much as ever waits, and the windows: nothing has to go.
    peak = ahead(ShedJoinOp(replace(node(), shedding=shedding())), batches, 25, lead)[1]
    room = ShedJoinOp(replace(node(), shedding=shedding(memory=peak + 36)))
    assert ahead(room, batches, 25, lead)[0] == exact
    assert room.counters.shed_estimated == room.counters.shed_expected == 1_000 * exact.total()


@pytest.mark.law
def test_no_more_probes_than_the_service_rate_allows():
    batches = streams(keys=1)
    operator = ShedJoinOp(replace(node(), shedding=shedding(service_rate=0.5)))
    exact, *_ = run(BewJoinOp(node()), batches)
    found, *_ = run(operator, batches)
    # 1.8 arrivals per tick, of which 0.5 probe.
    assert found.total() / exact.total() == pytest.approx(0.5 / 1.8, rel=0.1)


@pytest.mark.parametrize(
    "there_is",
    [{"memory": 360}, {"service_rate": 3.0}],
)
def test_combinations_are_estimated_where_every_stream_has_a_minimum(there_is):
    batches = streams(rows=1_050, keys=30)
    exact = run(BewJoinOp(node()), batches)[0].total()
    limits = [shedding(seed, 0.34, **there_is) for seed in range(3)]
    runs = [run(ShedJoinOp(replace(node(), shedding=limit)), batches)[2] for limit in limits]
    estimates = [one.counters.shed_estimated / 1_000 for one in runs]
    assert np.mean(estimates) == pytest.approx(exact, rel=0.06)


def test_a_pane_waits_for_the_watermark():
    operator = ShedJoinOp(replace(node(), shedding=shedding(memory=10)))
    assert operator.pane == WINDOW // 8
    assert operator.due() == MAX_TICK
    row = ChangeBatch(pa.record_batch({"a.k": [1], "a.v": [1]}), np.array([25]))
    assert not list(operator.push([row, None]))
    assert operator.due() == 30
    assert not list(operator.advance(29))
    assert operator.buffers()[0].rows == 0
    assert not list(operator.advance(30))
    assert operator.buffers()[0].rows == 1
    # Dropped at 106, when the pane is over in which that is.
    assert operator.due() == 110


@pytest.mark.parametrize("lead", [2, 12])
def test_combinations_are_estimated_though_what_waited_was_thinned(lead):
    batches = streams(rows=1_050, keys=30)
    exact = run(BewJoinOp(node()), batches)[0].total()
    limits = [shedding(seed, 0.34, memory=480) for seed in range(4)]
    runs = [
        ahead(ShedJoinOp(replace(node(), shedding=limit)), batches, 25, lead) for limit in limits
    ]
    figures = [operator.counters for *_, operator in runs]
    estimates = [own.shed_estimated / 1_000 for own in figures]
    assert np.mean(estimates) == pytest.approx(exact, rel=0.1)
    # Recall as it was expected is the one that came about.
    found = np.mean([own.total() for own, *_ in runs]) / exact
    expected = np.mean([own.shed_expected / own.shed_estimated for own in figures])
    assert expected == pytest.approx(found, rel=0.05)


@pytest.mark.parametrize("size", [2, 3])
def test_results_carry_the_draws_and_chances_that_totals_are_estimated_from(size):
    batches = streams(size, rows=65)
    exact = run(BewJoinOp(node(size)), batches)[0].total()
    limit = shedding(3, 0.3, size, memory=35 * size, service_rate=0.4, is_estimated=True)
    operator = ShedJoinOp(replace(node(size), shedding=limit))
    for port, batch in enumerate(batches):
        list(operator.push([batch if at == port else None for at in range(size)]))
    rows = pa.Table.from_batches([one.columns for one in operator.advance(MAX_TICK)])
    rows = rows.filter(pc.field("$chance_0") > 0)
    assert rows.column_names[size:] == [
        name for at in range(size) for name in (f"$draw_{at}", f"$chance_{at}")
    ]
    draws = tuple(rows[f"$draw_{at}"].to_numpy() for at in range(size))
    chances = tuple(rows[f"$chance_{at}"].to_numpy() for at in range(size))
    assert all(own.dtype == np.int64 for own in draws)
    assert all(((own > 0) & (own <= 1)).all() for own in chances)
    assert len(rows) == operator.counters.shed_found < exact
    # No tuple is drawn twice for one part, and one draw has one value.
    values = [set(zip(draws[0].tolist(), rows["a.v"].to_pylist(), strict=True))]
    assert all(len(own) == len({draw for draw, _ in own}) for own in values)
    assert np.sum(1 / np.prod(chances, axis=0)) == pytest.approx(
        operator.counters.shed_estimated / 1_000, rel=0.01
    )


def in_bytes(operator, batches):
    """What is found, and the most bytes held after a step."""
    found, most = Counter(), 0
    for low in range(0, SPAN, 20):
        for port, batch in enumerate(batches):
            part = batch.take(np.flatnonzero((batch.times >= low) & (batch.times < low + 20)))
            list(operator.push([part, None] if port == 0 else [None, part]))
        # What came in the last 35 ticks waits.
        found += taken(operator.advance(low - 15))
        list(operator.settle())
        most = max(most, bytes_held(operator))
    return found, most


@pytest.mark.law
def test_memory_in_bytes_bounds_what_chunks_take():
    operator = ShedJoinOp(replace(node(), shedding=shedding(memory=13_000, is_in_bytes=True)))
    assert 4_500 < in_bytes(operator, streams())[1] <= 13_000


@pytest.mark.law
@pytest.mark.parametrize("pair", [("hash", "ttree"), ("btree", "buffer")])
@pytest.mark.parametrize("memory", [6_000, 30_000])
def test_memory_in_bytes_bounds_what_structures_take(pair, memory):
    limit = shedding(memory=memory, is_in_bytes=True)
    batches = streams(rows=500, keys=20)
    by_index, _ = in_bytes(ShedJoinOp(replace(node(), shedding=limit)), batches)
    own = replace(node(), algorithm="asymmetric", structures=pair, sizes=PartSizes(node=10))
    operator = StructuredShedJoinOp(replace(own, shedding=limit))
    found, most = in_bytes(operator, batches)
    assert found == by_index
    assert found.total() > 0
    assert 0.65 * memory < most <= memory


@pytest.mark.parametrize("pair", [("hash", "ttree"), ("btree", "buffer")])
def test_structures_are_not_made_anew_for_each_pane(pair):
    own = replace(node(), algorithm="asymmetric", structures=pair, sizes=PartSizes(node=10))
    limit = shedding(memory=30_000, is_in_bytes=True)
    operator = StructuredShedJoinOp(replace(own, shedding=limit))
    in_bytes(operator, streams(rows=500, keys=20))
    assert [one.entries > 0 for one in operator._structures] == [True, True]


def test_a_part_in_bytes_that_does_not_hold_a_tuple_of_every_stream_is_refused():
    part = shedding(memory=1_500.0, is_in_bytes=True).part(10)
    batch, _ = streams()
    with pytest.raises(DataError) as caught:
        list(ShedJoinOp(replace(node(), shedding=part)).push([batch, None]))
    assert str(caught.value) == (
        "DataError[too-little-for-rows]: the memory of 1.5 kB is too little for a tuple of each of a, b "
        "in each of 10 buckets\n"
        "  a tuple of 146 B has come, its index included\n"
        "  hint: raise memory to 2.9 kB or more, or set fewer buckets"
    )


def test_what_an_input_never_finds_is_estimated_from_the_others():
    batches = streams()
    exact = run(BewJoinOp(node()), batches)[0].total()
    operator = run(ShedJoinOp(replace(node(), shedding=shedding(service_rate=0.5))), batches)[2]
    counted = operator.counters
    assert counted.shed_estimated / 1_000 == pytest.approx(exact, rel=0.15)
    assert counted.shed_expected / 1_000 == pytest.approx(counted.shed_found, rel=0.15)


@pytest.mark.parametrize("other", [shedding(1, memory=70), shedding(memory=70, panes=4), None])
def test_a_state_that_was_kept_by_other_rules_is_refused(other):
    snapshot = ShedJoinOp(replace(node(), shedding=shedding(memory=70))).snapshot()
    own = replace(node(), shedding=other)
    operator = BewJoinOp(own) if other is None else ShedJoinOp(replace(own, shedding=other))
    with pytest.raises(PlanError, match="checkpoint-of-another-shedding"):
        operator.restore(snapshot)


def test_three_streams_of_which_hardly_anything_is_kept():
    batches = streams(3, rows=75)
    exact, *_ = run(BewJoinOp(node(3)), batches)
    found, most, _ = run(ShedJoinOp(replace(node(3), shedding=shedding(memory=9))), batches, cuts=9)
    assert Counter() < found < exact
    assert most <= 9
