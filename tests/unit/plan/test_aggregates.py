"""The registry of aggregates: each under all of its names, and nothing that could not be computed."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import windrow
from windrow import extend
from windrow.plan import aggregates
from windrow.plan.aggregates import AGGREGATES, all_aggregates
from windrow.plan.aggregates.function import AggregateFunction
from windrow.plan.aggregates.sums import COUNT


def test_every_aggregate_of_the_room_is_registered_under_all_of_its_names():
    modules = [path.stem for path in Path(aggregates.__file__).parent.glob("*.py")]
    found = [
        function
        for module in modules
        for function in vars(import_module(f"{aggregates.__name__}.{module}")).values()
        if isinstance(function, AggregateFunction)
    ]
    assert set(found) <= set(all_aggregates())
    assert all(AGGREGATES[name] is each for each in all_aggregates() for name in each.names)


def test_every_accumulator_is_where_its_import_path_says():
    for function in all_aggregates():
        module, name = function.computed.accumulator.split(":")
        assert callable(getattr(import_module(module), name)), function.name


def test_an_aggregate_is_computed_as_one_that_is_computed_itself():
    assert all(each.computed.computed_as is None for each in all_aggregates())


@pytest.mark.parametrize("name", ["Product", "two words", ""])
def test_a_name_is_a_word_in_lower_case(name):
    with pytest.raises(windrow.PlanError, match="cannot be the name of an aggregate") as failure:
        extend.aggregate(replace(COUNT, name=name))
    assert failure.value.condition == "aggregate-name"
    assert name not in AGGREGATES


@pytest.mark.parametrize("change", [{"accumulator": ""}, {"computed_as": COUNT}])
def test_what_nothing_computes_or_two_things_do_is_refused(change):
    with pytest.raises(windrow.PlanError, match="either an accumulator or computed_as") as failure:
        extend.aggregate(replace(COUNT, name="tally", aliases=(), **change))
    assert failure.value.condition == "aggregate-without-accumulator"
    assert "tally" not in AGGREGATES


def test_a_name_that_is_taken_stays_what_it_was():
    with pytest.raises(windrow.PlanError, match="another aggregate 'count' already"):
        extend.aggregate(replace(COUNT, says="something else"))
    assert AGGREGATES["count"] is COUNT
