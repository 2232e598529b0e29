"""Changelogs of joins, summed up at every instant, against DuckDB over the tuples alive there."""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb
import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from cases.changelog_queries import (
    ChangelogQuery,
    draw_emit_changes,
    draw_snapshot_join,
)
from cases.tape import drawn
from hypothesis import given, settings
from sessions import session
from twins.changelog import not_net, state_at

EXAMPLES = settings(max_examples=share_of(100), deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def oracle():
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def changelog_of(query: ChangelogQuery, stop_after: int, scheduling: str = "tpa") -> pa.Table:
    """The whole answer, of a run that is stopped after some batches of it, and resumed."""
    result = session(query.streams, time="ts", lateness=query.lateness).sql(
        query.sql, scheduling=scheduling
    )
    given_out = [batch for _, batch in zip(range(stop_after), result, strict=False)]
    if stop_after:
        result = session(query.streams, time="ts", lateness=query.lateness).sql(
            query.sql, scheduling=scheduling, resume=result.checkpoint()
        )
    rest = result.to_arrow()
    assert result.progress.stored == 0, "everything has expired"
    return pa.concat_tables([pa.Table.from_batches(given_out, rest.schema), rest])


def draw_run(random: Random) -> tuple[int, str]:
    """After how many batches of its answer a run is stopped, and how it is scheduled."""
    return random.randrange(3), random.choice(["tpa", "nta", "ita"])


def check(
    query: ChangelogQuery, oracle: duckdb.DuckDBPyConnection, stop_after: int, scheduling: str
) -> None:
    changes = changelog_of(query, stop_after, scheduling)
    assert not not_net(changes)
    for name, batches in query.streams.items():
        oracle.register(f"all_{name}", pa.concat_tables(batches))
        alive = f"getvariable('instant') BETWEEN ts AND ts + {query.windows[name]}"
        oracle.execute(f"CREATE OR REPLACE VIEW {name} AS FROM all_{name} WHERE {alive}")
    for instant in query.instants:
        oracle.execute(f"SET VARIABLE instant = {instant}")
        expected = Counter(oracle.execute(query.plain_sql).fetchall())
        found = bag(state_at(changes, instant))
        assert found == expected, (query.sql, instant)
    last = max(query.instants, default=0)
    assert not state_at(changes, last)


@pytest.mark.law
@EXAMPLES
@given(drawn(lambda random: (draw_emit_changes(random), *draw_run(random))))
def test_emit_changes_gives_every_combination_while_it_is_alive(oracle, case) -> None:
    query, *how = case
    check(query, oracle, *how)


@pytest.mark.law
@EXAMPLES
@given(drawn(lambda random: (draw_snapshot_join(random), *draw_run(random))))
def test_a_join_of_changelogs_is_that_of_their_rows_at_every_instant(oracle, case) -> None:
    query, *how = case
    check(query, oracle, *how)


def test_the_cases_find_much_that_comes_and_goes(oracle) -> None:
    """The laws would hold of queries without answers too."""
    for draw in (draw_emit_changes, draw_snapshot_join):
        sizes = [changelog_of(draw(Random(seed)), 0).num_rows for seed in range(20)]
        assert sum(size > 5 for size in sizes) > 8, draw.__name__
