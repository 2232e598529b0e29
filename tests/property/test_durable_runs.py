"""A run with a checkpoint, killed anywhere, any number of times: its answer is that of one never stopped."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from outside import Countdown, Killed, Shelf, Tray
from sessions import session

import windrow

QUERIES = {
    "window join": "SELECT a.k, a.t AS at, b.t AS bt FROM a, b WHERE a.k = b.k WINDOW = 5",
    "outer join": "SELECT a.k, a.t AS at, b.t AS bt FROM a LEFT JOIN b ON a.k = b.k WINDOW = 4",
    "group by": "SELECT k, COUNT(*) AS n, SUM(t) AS s, MAX(t) AS m FROM a [RANGE 6] GROUP BY k",
    "aggregate over a join": "SELECT a.k, COUNT(*) AS n FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k"
    " GROUP BY a.k",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 4]",
    "except all": "SELECT k FROM a [RANGE 5] EXCEPT ALL SELECT k FROM b [RANGE 3]",
    "count windows": "SELECT a.k, a.t AS at, b.t AS bt FROM a [ROWS 3], b [ROWS 2] WHERE a.k = b.k",
    "as of": "SELECT a.k, a.t AS at, b.t AS bt FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.t >= b.t)"
    " ON a.k = b.k TOLERANCE 6",
    "best pairs": "SELECT a.t AS at, b.t AS bt FROM a LEFT OUTER BESTMATCH JOIN b ON a.k MINDIST b.k"
    " WHERE abs(a.t - b.t) <= 4",
    "selection": "SELECT k, t FROM a WHERE k > 1",
    "median": "SELECT MEDIAN(t) AS m FROM a [RANGE 5]",
}

LATENESS = 3


@st.composite
def streams(draw) -> list[pa.Table]:
    """Rows whose times go on, within the lateness, and with equal ones; in one or two partitions."""
    rows, now = [], 0
    for _ in range(draw(st.integers(0, 24))):
        now += draw(st.integers(0, 2))
        rows.append((draw(st.integers(0, 3)), max(0, now - draw(st.integers(0, LATENESS)))))
    cut = draw(st.integers(0, len(rows))) if draw(st.booleans()) else len(rows)
    return [_table(rows[:cut])] if cut == len(rows) else [_table(rows[::2]), _table(rows[1::2])]


def _table(rows) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [(), ()]
    return pa.table({"k": pa.array(columns[0], pa.int64()), "t": pa.array(columns[1], pa.int64())})


def asked(sql, data, sink, folder, countdown=None):
    shelves = {name: Shelf(tables, countdown) for name, tables in data.items()}
    # Two partitions may be read one ahead of the other by a whole batch.
    w = session(shelves, time="t", lateness=60)
    return w.run(sql, to=sink, checkpoint=folder, epoch="5 milliseconds")


def killed_at(sql, data, tray, folder, touch, *, in_source: bool) -> bool:
    """Whether a run was killed at that touch of its sink or of its sources; else it has ended."""
    countdown = Countdown(touch) if in_source else None
    sink = tray if in_source else tray.breaking_at(touch)
    try:
        return not asked(sql, data, sink, folder, countdown).wait(60)
    except Killed:
        return True
    except windrow.DataError as error:
        # A reader's thread was killed: the query is told by what it raised.
        if not isinstance(error.__cause__, Killed):
            raise
        return True


@pytest.mark.law
@settings(deadline=None, max_examples=share_of(60))
@given(
    st.sampled_from(sorted(QUERIES)),
    streams(),
    streams(),
    st.lists(st.tuples(st.integers(0, 25), st.booleans()), max_size=5),
)
def test_a_run_that_is_killed_anywhere_gives_what_one_never_stopped_gives(name, a, b, kills):
    sql, data, tray = QUERIES[name], {"a": a, "b": b}, Tray()
    whole = session(
        {own: pa.concat_tables(tables) for own, tables in data.items()}, time="t", lateness=60
    ).sql(sql)
    with tempfile.TemporaryDirectory() as folder:
        for touch, in_source in kills:
            if not killed_at(sql, data, tray, folder, touch, in_source=in_source):
                break
        assert asked(sql, data, tray, folder).wait(60)
        assert bag(tray.rows) == bag(whole)
        # Once more: nothing is left to do, and nothing comes twice.
        assert asked(sql, data, tray, folder).wait(60)
        assert bag(tray.rows) == bag(whole)


@pytest.mark.law
@pytest.mark.parametrize("name", sorted(QUERIES))
def test_a_run_killed_at_every_step_of_its_sink_loses_and_doubles_nothing(name, tmp_path):
    sql = QUERIES[name]
    rows = [(n % 3, n // 2) for n in range(16)]
    data = {"a": [_table(rows[::2]), _table(rows[1::2])], "b": [_table(rows[::-1][:7][::-1])]}
    whole = session(
        {own: pa.concat_tables(tables) for own, tables in data.items()}, time="t", lateness=60
    ).sql(sql)
    for touch in range(30):
        tray = Tray()
        was_killed = killed_at(sql, data, tray, tmp_path / str(touch), touch, in_source=False)
        assert asked(sql, data, tray, tmp_path / str(touch)).wait(60)
        assert bag(tray.rows) == bag(whole)
        if not was_killed:
            break
    assert touch > 2


@pytest.mark.law
def test_what_is_no_row_is_kept_aside_once_whenever_a_run_is_killed(tmp_path):
    rows = _table([(n, n) for n in range(30)])
    for touch in range(0, 40, 3):
        place, tray = tmp_path / str(touch), Tray()

        def started(sink, countdown=None, place=place):
            w = session(
                {"a": Shelf([rows], countdown, poison={"0": {3, 17, 29}})}, time="t", lateness=0
            )
            return w.run(
                "SELECT k FROM a",
                to=sink,
                checkpoint=place / "state",
                epoch="5 milliseconds",
                dead_letters=str(place / "aside"),
            )

        with contextlib.suppress(Killed):
            started(tray.breaking_at(touch)).wait(60)
        assert started(tray).wait(60)
        assert bag(tray.rows) == bag([(n,) for n in range(30) if n not in {3, 17, 29}])
        files = sorted((place / "aside" / "a").glob("aside-*.parquet"))
        offsets = [
            row["offset"] for file in files for row in pa.parquet.read_table(file).to_pylist()
        ]
        assert sorted(map(int, offsets)) == [3, 17, 29]


def test_the_folder_of_a_run_holds_no_pickle(tmp_path: Path):
    rows = _table([(n, n) for n in range(30)])
    assert asked(QUERIES["window join"], {"a": [rows], "b": [rows]}, Tray(), tmp_path / "s").wait(
        60
    )
    held = b"".join(file.read_bytes() for file in (tmp_path / "s").iterdir())
    assert b"windrow.operators" not in held
