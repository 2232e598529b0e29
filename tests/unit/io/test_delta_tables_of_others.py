"""Tables that others have made, with partitions, constraints and features; and what goes wrong there."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.schema import PrimitiveType

import windrow
from windrow.errors import BindError, DataError, ResourceError
from windrow.io import Answer, Unavailable
from windrow.io import delta_sink as module
from windrow.io.delta_table import on_table

COLUMNS = pa.schema([("k", pa.int64()), ("v", pa.string())])


def opened(path, mode="append", columns=COLUMNS, **about: object):
    sink = windrow.delta(str(path), mode=mode, keys=["k"], **about).sink()
    sink.open("r", Answer(columns))
    return sink


def commit(sink, epoch=0, columns=COLUMNS, **values: list):
    table = pa.table(values, schema=columns)
    sink.commit(epoch, [sink.write(epoch, table.to_batches())])


def rows(path):
    found = pa.table(DeltaTable(str(path)).to_pyarrow_table()).to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


def made(path, columns=COLUMNS, **about: object):
    DeltaTable.create(str(path), columns, **about)
    return path


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_rows_come_into_the_partition_that_they_belong_to(tmp_path, mode):
    place = made(tmp_path / "t", partition_by=["v"])
    sink = opened(place, mode)
    commit(sink, k=[1, 2, 3], v=["a", None, "b/c d%20"])
    commit(sink, 0, k=[9], v=["a"])  # told again: it has the epoch
    commit(sink, 1, k=[4], v=["a"])
    assert rows(place) == [(1, "a"), (2, None), (3, "b/c d%20"), (4, "a")]
    found = DeltaTable(str(place)).to_pyarrow_table(filters=[("v", "=", "a")])
    assert sorted(found["k"].to_pylist()) == [1, 4]
    sink.commit(2, [])
    assert DeltaTable(str(place)).transaction_version("r") == 2


def test_a_partitioned_table_may_have_more_columns_than_the_answer(tmp_path):
    place = made(tmp_path / "t", COLUMNS.append(pa.field("d", pa.date32())), partition_by=["v"])
    commit(opened(place), k=[1], v=["a"])
    assert rows(place) == [(1, "a", None)]


def with_a_check(path):
    made(path)
    DeltaTable(str(path)).alter.add_constraint({"positive": "k > 0"})


def with_not_null(path):
    made(path, pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())]))


def with_an_invariant(path):
    told = json.dumps({"expression": {"expression": "k > 0"}})
    columns = [
        Field("k", PrimitiveType("long"), metadata={"delta.invariants": told}),
        Field("v", PrimitiveType("string")),
    ]
    made(path, Schema(columns))


@pytest.mark.parametrize("mode", ["append", "merge"])
@pytest.mark.parametrize(
    ("make", "bad"), [(with_a_check, -1), (with_not_null, None), (with_an_invariant, -1)]
)
def test_what_a_table_does_not_allow_fails_at_once_and_is_not_in_it(tmp_path, make, bad, mode):
    make(tmp_path / "t")
    sink = opened(tmp_path / "t", mode)
    commit(sink, 0, k=[1], v=["a"])
    with pytest.raises(DataError) as refused:
        commit(sink, 1, k=[2, bad], v=["b", "c"])
    assert refused.value.condition == "delta-constraint"
    assert "1 rows failed" in refused.value.reason
    assert rows(tmp_path / "t") == [(1, "a")]


def with_a_generated_column(path):
    told = {"delta.generationExpression": "k * 2"}
    columns = [Field(name, PrimitiveType(t)) for name, t in (("k", "long"), ("v", "string"))]
    made(path, Schema([*columns, Field("g", PrimitiveType("long"), metadata=told)]))


def with_mapped_columns(path):
    made(path, configuration={"delta.columnMapping.mode": "name"})


def with_features(path):
    made(path)
    log = path / "_delta_log" / f"{0:020d}.json"
    told = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}
    lines = [line for line in log.read_text().splitlines() if "protocol" not in line]
    log.write_text("\n".join([json.dumps({"protocol": told}), *lines]) + "\n")


def for_appending_alone(path):
    made(path, configuration={"delta.appendOnly": "true"})


@pytest.mark.parametrize(
    ("make", "mode", "said"),
    [
        (with_a_generated_column, "append", "its column g is generated"),
        (with_mapped_columns, "append", "is mapped to another name in files"),
        (with_features, "append", "it has the feature rowTracking"),
        (for_appending_alone, "merge", "rows may only be appended to it"),
    ],
)
def test_a_table_that_asks_for_more_is_refused_when_it_is_opened(tmp_path, make, mode, said):
    make(tmp_path / "t")
    with pytest.raises(BindError, match=said) as refused:
        opened(tmp_path / "t", mode)
    assert refused.value.condition == "delta-asks-more"


def test_a_table_for_appending_alone_is_appended_to(tmp_path):
    for_appending_alone(tmp_path / "t")
    commit(opened(tmp_path / "t"), k=[1], v=["a"])
    assert rows(tmp_path / "t") == [(1, "a")]


def test_the_columns_of_a_changelog_are_asked_for_as_well(tmp_path):
    made(tmp_path / "t")
    sink = windrow.delta(str(tmp_path / "t")).sink()
    with pytest.raises(BindError, match="has no column _change_type string") as refused:
        sink.open("r", Answer(COLUMNS, is_changelog=True))
    assert refused.value.condition == "sink-of-other-columns"


KEYED = pa.schema([("a", pa.bool_()), ("b", pa.string()), ("c", pa.int64()), ("v", pa.int64())])


def test_any_of_several_keys_may_be_null(tmp_path):
    sink = windrow.delta(str(tmp_path / "t"), mode="merge", keys=["a", "b", "c"]).sink()
    sink.open("r", Answer(KEYED))
    keys = [(a, b, c) for a in (True, None) for b in ("x", None) for c in (7, None)]
    for epoch in range(2):
        a, b, c = (list(own) for own in zip(*keys, strict=True))
        commit(sink, epoch, KEYED, a=a, b=b, c=c, v=[10 * epoch + n for n in range(8)])
    assert rows(tmp_path / "t") == sorted(((*key, 10 + n) for n, key in enumerate(keys)), key=str)


@pytest.mark.parametrize("kind", [pa.month_day_nano_interval(), pa.duration("us")])
def test_a_column_of_a_type_that_delta_has_not_is_refused(tmp_path, kind):
    with pytest.raises(BindError, match=r"the column i .* cannot be kept") as refused:
        opened(tmp_path / "t", columns=COLUMNS.append(pa.field("i", kind)))
    assert refused.value.condition == "no-delta-type"


def test_a_path_that_is_taken_for_another_one_is_refused(tmp_path):
    with pytest.raises(BindError) as refused:
        opened(tmp_path / "a%20b")
    assert refused.value.condition == "bad-delta-option"
    commit(opened(tmp_path / "a b%"), k=[1], v=["a"])
    assert rows(tmp_path / "a b%") == [(1, "a")]


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_table_elsewhere_is_reached_by_its_own_options_alone(tmp_path, monkeypatch, mode):
    """A file system of this machine stands for one elsewhere."""
    import deltalake.fs

    asked = []

    class Asked(deltalake.fs.DeltaStorageHandler):
        def __init__(self, path, options=None, sizes=None) -> None:
            asked.append(options)
            super().__init__(path, options, sizes)

    monkeypatch.setattr(deltalake.fs, "DeltaStorageHandler", Asked)
    monkeypatch.setattr(module, "is_local", lambda _: False)
    (tmp_path / "t").mkdir()
    sink = opened(tmp_path / "t", mode, storage={"timeout": "10s"})
    for epoch in range(2):
        commit(sink, epoch, k=[epoch], v=["a"])
    assert asked
    assert {json.dumps(own) for own in asked} == {'{"timeout": "10s"}'}
    assert rows(tmp_path / "t") == [(0, "a"), (1, "a")]
    assert list((tmp_path / "t" / "_windrow" / "r").iterdir()) == []


PASSES = [
    OSError("Generic LocalFileSystem error: No space left on device (os error 28)"),
    DeltaError("Failed to parse parquet: External: Generic S3 error: error sending request"),
    CommitFailedError("Commit failed: a concurrent transaction deleted the same data"),
]
STAYS = [
    OSError("Generic LocalFileSystem error: Permission denied (os error 13)"),
    DeltaError("Generic DeltaTable error: type_coercion\ncaused by\nError during planning: ..."),
    CommitFailedError("Unsupported table features required: [RowTracking]"),
    Exception("External error: Schema error: Invalid data type\n   0: <unknown>\n   1: <unknown>"),
]


@pytest.mark.parametrize("error", PASSES)
def test_what_may_pass_is_tried_again(error):
    with pytest.raises(Unavailable) as told, on_table("t", is_opened=True):
        raise error
    assert told.value.condition == "delta-unavailable"


@pytest.mark.parametrize("error", STAYS)
def test_what_does_not_pass_is_said_at_once(error):
    with pytest.raises(ResourceError) as told, on_table("t", is_opened=True):
        raise error
    assert (told.value.condition, type(told.value)) == ("delta-refused", ResourceError)
    assert "unknown" not in told.value.reason


def test_a_mistake_of_our_own_is_not_said_to_be_the_tables():
    with pytest.raises(KeyError), on_table("t", is_opened=True):
        raise KeyError("x")
