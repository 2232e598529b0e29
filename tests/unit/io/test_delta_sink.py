"""A Delta table that takes an answer: what is particular to it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from case_share import share_of
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.errors import BindError, DataError
from windrow.io import Answer
from windrow.io.delta_sink import net_changes

COLUMNS = pa.schema([("k", pa.int64()), ("v", pa.string())])


def changes(*rows: tuple):
    return pa.table(
        {
            "k": pa.array([row[1] for row in rows], pa.int64()),
            "v": pa.array([row[2] for row in rows], pa.string()),
            "_change_type": pa.array([row[0] for row in rows], pa.string()),
            "_event_time": pa.array(range(len(rows)), pa.int64()),
        }
    )


def opened(path, mode="merge", **about: object):
    sink = windrow.delta(str(path), mode=mode, **about).sink()
    sink.open("r", Answer(COLUMNS, is_changelog=True, keys=("k",)))
    return sink


def rows(path):
    found = pa.table(DeltaTable(str(path)).to_pyarrow_table()).to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


def test_a_table_is_kept_current_by_the_sum_of_an_epochs_changes(tmp_path):
    sink = opened(tmp_path / "t")
    first = changes(("insert", 1, "a"), ("insert", 2, "b"), ("delete", 1, "a"), ("insert", 1, "c"))
    sink.commit(0, [sink.write(0, first.to_batches())])
    assert rows(tmp_path / "t") == [(1, "c"), (2, "b")]
    second = changes(
        ("insert", 1, "d"), ("delete", 1, "c"), ("delete", 2, "b"), ("insert", 9, None)
    )
    sink.commit(1, [sink.write(1, second.to_batches())])
    assert rows(tmp_path / "t") == [(1, "d"), (9, None)]


def test_a_key_that_is_null_is_a_key(tmp_path):
    sink = opened(tmp_path / "t")
    sink.commit(0, [sink.write(0, changes(("insert", None, "a"), ("insert", 1, "b")).to_batches())])
    more = changes(("delete", None, "a"), ("insert", None, "z"))
    sink.commit(1, [sink.write(1, more.to_batches())])
    assert rows(tmp_path / "t") == [(1, "b"), (None, "z")]


def test_changes_that_cancel_each_other_are_a_transaction_all_the_same(tmp_path):
    sink = opened(tmp_path / "t")
    sink.commit(0, [sink.write(0, changes(("insert", 1, "a")).to_batches())])
    sink.commit(1, [sink.write(1, changes(("insert", 2, "b"), ("delete", 2, "b")).to_batches())])
    assert rows(tmp_path / "t") == [(1, "a")]
    assert DeltaTable(str(tmp_path / "t")).transaction_version("r") == 1


def test_a_changelog_is_appended_as_it_is(tmp_path):
    sink = opened(tmp_path / "t", mode="append")
    sink.commit(0, [sink.write(0, changes(("insert", 1, "a"), ("delete", 1, "a")).to_batches())])
    assert rows(tmp_path / "t") == [(1, "a", "delete", 1), (1, "a", "insert", 0)]


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.one_of(st.none(), st.sampled_from("xyz"))), max_size=12
    )
)
def test_net_changes_bring_any_answer_to_its_next(steps):
    """Each step gives a key a value or, by None, takes it away; in between, anything may come and go."""
    state, told = {}, []
    for key, value in steps:
        if key in state:
            told.append(("delete", key, state.pop(key)))
        if value is not None:
            state[key] = value
            told.append(("insert", key, value))
    net = net_changes(changes(*told), ["k"], is_changelog=True).to_pylist()
    found = {row["k"]: row["v"] for row in net if not row["_windrow_deleted"]}
    assert found == state
    assert len({row["k"] for row in net}) == len(net)


def test_two_rows_of_one_key_are_refused():
    with pytest.raises(DataError) as caught:
        net_changes(changes(("insert", 1, "a"), ("insert", 1, "b")), ["k"], is_changelog=True)
    assert caught.value.condition == "keys-not-unique"
    with pytest.raises(DataError, match="have the same k"):
        net_changes(changes(("insert", 1, "a"), ("insert", 1, "a")), ["k"], is_changelog=True)


def test_an_answer_without_keys_is_not_merged(tmp_path):
    sink = windrow.delta(str(tmp_path / "t"), mode="merge").sink()
    with pytest.raises(BindError) as caught:
        sink.open("r", Answer(COLUMNS))
    assert caught.value.condition == "no-merge-keys"
    with pytest.raises(BindError, match="the key 'z' is not a column"):
        opened(tmp_path / "t", keys=["z"])


def test_a_mode_that_is_none_is_refused():
    with pytest.raises(BindError) as caught:
        windrow.delta("t", mode="upsert").sink()
    assert caught.value.condition == "bad-delta-option"


def test_a_table_of_other_columns_is_refused(tmp_path):
    sink = opened(tmp_path / "t")
    sink.commit(0, [sink.write(0, changes(("insert", 1, "a")).to_batches())])
    with pytest.raises(BindError) as caught:
        windrow.delta(str(tmp_path / "t")).sink().open("s", Answer(pa.schema([("x", pa.int8())])))
    assert caught.value.condition == "sink-of-other-columns"


def test_a_table_that_cannot_be_read_may_come_back(tmp_path):
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    (tmp_path / "t" / "_delta_log" / f"{0:020d}.json").write_text("nonsense")
    with pytest.raises(windrow.io.Unavailable) as caught:
        opened(tmp_path / "t")
    assert caught.value.condition == "delta-unavailable"
