"""The table of options: what follows from a row, for every row."""

from __future__ import annotations

from typing import get_type_hints

import pytest

import windrow
from windrow.optimize.options import by_keyword, check_on_spark, checked, with_hints
from windrow.physical.options import HINTS, ROWS, Options, QueryOptions
from windrow.plan.nodes.query import Hint

EXAMPLES = {
    "algorithm": "bew-hash",
    "structure": "hash/ttree",
    "bucket_size": 7,
    "node_size": 7,
    "order": "c, a, b",
    "on_late": "keep",
    "dead_letters": "/data/late",
    "memory": "1 MB",
    "on_memory": "spill",
    "service_rate": "1000 per second",
    "on_service_rate": "shed",
    "shed_strategy": "equal",
    "shed_least": "10%",
    "shed_least_rate": "5 per second",
    "seed": -7,
    "buckets": 3,
    "threads": 2,
    "polling": "round robin",
    "scheduling": "ita",
    "updates": True,
}
NEEDED = {
    "on_memory": {"memory": "1 MB"},
    "on_service_rate": {"service_rate": 5},
    "shed_strategy": {"memory": "1 MB", "on_memory": "shed"},
    "shed_least": {"memory": "1 MB", "on_memory": "shed"},
    "shed_least_rate": {"service_rate": 5, "on_service_rate": "shed"},
    "seed": {"memory": "1 MB", "on_memory": "shed"},
}
"""What must be said beside an option."""


class Nothing:
    """No value that any option could have."""


def test_type_checkers_know_the_options_of_the_table_and_no_others():
    assert get_type_hints(QueryOptions) == get_type_hints(Options)


def test_every_option_has_an_example_here():
    assert list(EXAMPLES) == list(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_keyword_is_taken_and_a_value_that_it_cannot_have_refused(name):
    assert checked(by_keyword({name: EXAMPLES[name]})) == Options(**{name: EXAMPLES[name]})
    with pytest.raises(windrow.PlanError, match=f"{name}|algorithm"):
        checked(by_keyword({name: Nothing()}))


@pytest.mark.parametrize("name", HINTS)
def test_a_hint_says_what_a_keyword_says(name):
    needed = NEEDED.get(name, {})
    hinted = with_hints(Options(**needed), [Hint(name, str(EXAMPLES[name]))])
    assert hinted == Options(**needed, **{name: EXAMPLES[name]})


def test_a_folder_is_no_hint():
    session = windrow.Session()
    with pytest.raises(windrow.BindError, match="there is no hint named 'dead_letters'"):
        session.sql("SELECT /*+ dead_letters(late) */ x FROM s")


@pytest.mark.parametrize("name", ["strategy", "quick"])
def test_what_the_table_does_not_have_is_unknown(name):
    session = windrow.Session()
    with pytest.raises(windrow.PlanError, match=f"there is no option '{name}'"):
        session.sql("SELECT x FROM s", **{name: 1})
    with pytest.raises(windrow.BindError, match=f"there is no hint named '{name}'"):
        session.sql(f"SELECT /*+ {name}(1) */ x FROM s")


@pytest.mark.parametrize("name", ["threads", "polling", "scheduling"])
def test_spark_refuses_what_its_row_says(name):
    with pytest.raises(windrow.UnsupportedError, match=f"{name}.* works only in process"):
        check_on_spark(Options(**{name: EXAMPLES[name]}), ())


def test_spark_takes_every_option_but_those_that_are_of_a_process():
    of_a_process = {"threads", "polling", "scheduling"}
    others = {name: EXAMPLES[name] for name in ROWS if name not in of_a_process}
    check_on_spark(Options(**others), ())


def test_spark_takes_the_other_ways_to_schedule():
    check_on_spark(Options(scheduling="nta"), ())
