"""What files are refused for, and what is particular to their formats."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import share_of
from contracts.source_contract import in_order, ranges, read_through, taken, through_json
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.errors import BindError, DataError, InternalError, ResourceError
from windrow.io import Answer, Unavailable
from windrow.io.file_systems import on_files
from windrow.io.json_lines import json_lines

DDL = "id BIGINT, name STRING"


def put(folder: Path, name: str, text: str | bytes) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    hidden = folder / f".{name}"
    hidden.write_bytes(text if isinstance(text, bytes) else text.encode())
    return hidden.rename(folder / name)


def ids(source, since=None):
    return [row["id"] for row in in_order(read_through(source, since))]


def reached(source, since=None):
    *_, (_, last) = ranges(source, source.start() if since is None else since, 1_000)
    return last


def test_a_file_that_grows_after_it_was_read_is_an_error(tmp_path):
    file = put(tmp_path, "a.csv", "id,name\n1,x\n")
    about = windrow.files(str(tmp_path), "csv", DDL)
    source = about.source()
    last = reached(source)
    with file.open("a") as more:
        more.write("2,y\n")
    for reader in (source, about.source()):
        with pytest.raises(DataError) as caught:
            reader.latest(through_json(last))
        assert str(caught.value) == (
            f"DataError[file-changed]: {str(file)!r} has changed since it was read, or partly\n"
            "  it had 12 bytes, and now 16; rows that were read cannot be told from those that are new\n"
            "  hint: write each file under a name that begins with a dot, and rename it when it is"
            " complete; put new rows into new files"
        )


def test_a_file_that_is_replaced_by_one_of_its_size_is_an_error(tmp_path):
    file = put(tmp_path, "a.json", '{"id": 1}\n')
    source = windrow.files(str(tmp_path), "json", DDL).source()
    first = next(iter(ranges(source, source.start(), 5)))
    put(tmp_path, "a.json", '{"id": 2}\n')
    os.utime(file, ns=(1, 1))
    with pytest.raises(DataError, match="another time of modification"):
        taken(source, first)


def test_a_file_that_is_gone_before_it_was_read_is_an_error(tmp_path):
    file = put(tmp_path, "a.json", '{"id": 1}\n')
    source = windrow.files(str(tmp_path), "json", DDL).source()
    first = next(iter(ranges(source, source.start(), 5)))
    file.unlink()
    with pytest.raises(DataError, match="is gone, and was not read to its end") as caught:
        taken(source, first)
    assert caught.value.condition == "file-gone"


def test_files_that_were_read_may_be_removed(tmp_path):
    file = put(tmp_path, "a.json", '{"id": 1}\n')
    source = windrow.files(str(tmp_path), "json", DDL).source()
    last = reached(source)
    file.unlink()
    put(tmp_path, "b.json", '{"id": 2}\n')
    assert ids(source, last) == [2]


def test_a_new_file_that_sorts_before_what_was_read_is_an_error_that_says_what_to_do(tmp_path):
    put(tmp_path, "b.json", '{"id": 1}\n')
    about = windrow.files(str(tmp_path), "json", DDL)
    last = reached(about.source())
    put(tmp_path, "a.json", '{"id": 2}\n')
    with pytest.raises(DataError) as caught:
        about.source().latest(last)
    assert str(caught.value) == (
        f"DataError[file-out-of-order]: {str(tmp_path / 'a.json')!r} has come, and sorts before"
        " 'b.json', which was read\n"
        "  rows that were read are not read again, and rows that come in between would be read in"
        " another order after a restart\n"
        '  hint: give new files names that sort behind the others, or take order="time"'
    )


def test_by_time_the_oldest_file_comes_first_and_names_decide_between_those_of_one_time(tmp_path):
    for name, at in (("c", 1), ("a", 3), ("b", 1), ("d", 2)):
        os.utime(put(tmp_path, f"{name}.json", f'{{"id": {ord(name)}}}\n'), ns=(at, at))
    source = windrow.files(str(tmp_path), "json", DDL, order="time").source()
    rows = read_through(source)["0"]
    assert "".join(chr(row["id"]) for row in rows) == "bcda"


def test_by_time_a_file_that_comes_late_with_an_older_time_is_read(tmp_path):
    os.utime(put(tmp_path, "b.json", '{"id": 1}\n'), ns=(10**9, 10**9))
    about = windrow.files(str(tmp_path), "json", DDL, order="time")
    last = reached(about.source())
    os.utime(put(tmp_path, "a.json", '{"id": 2}\n'), ns=(5, 5))
    assert ids(about.source(), last) == [2]


@pytest.mark.law
def test_offsets_stay_small_and_still_tell_what_is_new(tmp_path, monkeypatch):
    monkeypatch.setattr("windrow.io.files_source.MOST_RECENT", 5)
    about = windrow.files(str(tmp_path), "json", DDL)
    source, last, seen = about.source(), None, []
    for number in range(30):
        put(tmp_path, f"{number:02d}.json", f'{{"id": {number}}}\n')
        source = about.source() if number % 4 == 0 else source
        seen += ids(source, last)
        last = through_json(reached_or(source, last))
        assert len(last["0"]["recent"]) <= 5
    assert seen == list(range(30))
    put(tmp_path, "03a.json", '{"id": 99}\n')
    for reader in (source, about.source()):
        with pytest.raises(DataError, match="sorts before"):
            reader.latest(last)


def reached_or(source, since):
    parts = list(ranges(source, source.start() if since is None else since, 1_000))
    return parts[-1][1] if parts else since


def test_ranges_that_do_not_follow_each_other_are_refused(tmp_path):
    for name in "abc":
        put(tmp_path, f"{name}.json", '{"id": 1}\n{"id": 2}\n')
    source = windrow.files(str(tmp_path), "json", DDL).source()
    first, second, *_ = ranges(source, source.start(), 2)
    with pytest.raises(InternalError, match="ends elsewhere"):
        taken(source, (first[0], second[1]))


def test_hidden_files_files_of_other_formats_and_empty_ones_are_passed_over(tmp_path):
    for name in ("_x.csv", ".x.csv", "x.txt", "_hidden/x.csv", "sub/b.csv", "a.csv"):
        put((tmp_path / name).parent, Path(name).name, "id,name\n1,x\n")
    put(tmp_path, "c.csv", "")
    source = windrow.files(str(tmp_path), "csv", DDL).source()
    assert len(ids(source)) == 2
    assert windrow.files(str(tmp_path / "*.csv"), "csv", DDL).source().columns().names == [
        "id",
        "name",
    ]
    assert len(ids(windrow.files(str(tmp_path / "*.csv"), "csv", DDL).source())) == 1
    assert len(ids(windrow.files(str(tmp_path / "x.txt"), "csv", DDL).source())) == 1


def test_a_pattern_that_matches_a_folder_is_refused(tmp_path):
    put(tmp_path / "sub", "b.csv", "id\n1\n")
    source = windrow.files(str(tmp_path / "*"), "csv", DDL).source()
    with pytest.raises(BindError, match="pattern names files") as caught:
        source.latest(source.start())
    assert caught.value.condition == "pattern-of-folder"


def test_a_compression_that_is_not_read_is_refused(tmp_path):
    put(tmp_path, "b.csv.xz", "id\n1\n")
    source = windrow.files(str(tmp_path), "csv", DDL).source()
    with pytest.raises(DataError, match="compressed in a way") as caught:
        source.latest(source.start())
    assert caught.value.condition == "unknown-compression"


def test_columns_that_nobody_has_said_need_a_file(tmp_path):
    with pytest.raises(DataError, match="no-data-files"):
        windrow.files(str(tmp_path), "csv").source().columns()


def test_columns_are_found_in_text_files(tmp_path):
    put(tmp_path, "a.json", '{"id": 1, "name": "x", "ts": "2026-01-01T00:00:00Z"}\n')
    put(tmp_path, "a.csv", "id,name,price\n1,x,2.5\n")
    stamp = pa.timestamp("us", "UTC")
    found = windrow.files(str(tmp_path), "json").source().columns()
    assert found == pa.schema([("id", pa.int64()), ("name", pa.string()), ("ts", stamp)])
    found = windrow.files(str(tmp_path), "csv").source().columns()
    assert found == pa.schema([("id", pa.int64()), ("name", pa.string()), ("price", pa.float64())])


@pytest.mark.parametrize(
    ("format_", "text", "why"),
    [
        ("csv", "id,name\n1,x\nzwei,y\n", "CSV conversion error to int64"),
        ("csv", "id\n1\n", "it has no column 'name'"),
        ("json", '{"id": 1}\n{"id": \n', "JSON parse error"),
        ("json", '{"id":\n 1}\n', "2 lines hold 1 objects"),
        ("parquet", "no parquet", "magic bytes"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_named(tmp_path, format_, text, why):
    file = put(tmp_path, f"a.{format_}", text)
    source = windrow.files(str(tmp_path), format_, DDL).source()
    with pytest.raises(DataError) as caught:
        read_through(source)
    assert caught.value.condition == "unreadable-data"
    assert repr(str(file)) in caught.value.sentence
    assert why in caught.value.reason


def test_a_parquet_file_without_a_column_is_named(tmp_path):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="it has no column 'name'"):
        read_through(windrow.files(str(tmp_path), schema=DDL).source())


def test_bad_rows_are_kept_aside_each_with_its_place(tmp_path):
    lines = [json.dumps({"id": n}) for n in range(100)]
    lines[7], lines[63] = "nonsense", '{"id": "x"}'
    file = put(tmp_path, "a.json", "\n".join(lines))
    source = windrow.files(str(tmp_path), "json", DDL, bad_rows="aside").source()
    assert ids(source) == [n for n in range(100) if n not in (7, 63)]
    aside = source.take_aside()
    assert [own.content for own in aside] == [b"nonsense", b'{"id": "x"}']
    for own in aside:
        name, place = own.offset
        assert name == "a.json"
        assert file.read_bytes()[place:].startswith(own.content)


def test_a_file_of_bad_rows_is_an_error_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("windrow.io.text_rows.MOST_BAD_ROWS", 10)
    put(tmp_path, "a.json", "nonsense\n" * 40)
    source = windrow.files(str(tmp_path), "json", DDL, bad_rows="aside").source()
    with pytest.raises(DataError, match="more than 10 rows are none"):
        read_through(source)


def test_other_delimiters_and_encodings_are_read(tmp_path):
    put(tmp_path, "a.csv", "id;name\r\n1;Übung\r\n2;\r\n".encode("latin-1"))
    about = windrow.files(str(tmp_path), "csv", DDL, delimiter=";", encoding="latin-1")
    assert read_through(about.source(), most_rows=1)["0"] == [
        {"id": 1, "name": "Übung"},
        {"id": 2, "name": None},
    ]
    put(tmp_path / "wide", "a.csv", "id,name\n1,Übung\n".encode("utf-16"))
    about = windrow.files(str(tmp_path / "wide"), "csv", DDL, encoding="utf-16")
    assert read_through(about.source())["0"] == [{"id": 1, "name": "Übung"}]


def test_columns_in_the_names_of_folders_are_read(tmp_path):
    for day in ("2026-01-01", "2026-01-02", "__HIVE_DEFAULT_PARTITION__"):
        put(tmp_path / f"day={day}", "a.json", '{"id": 1}\n')
    rows = read_through(windrow.files(str(tmp_path), "json", "id BIGINT, day DATE").source())["0"]
    assert [str(row["day"]) for row in rows] == ["2026-01-01", "2026-01-02", "None"]


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
            st.one_of(st.none(), st.text(alphabet='a"\n,;\r \\ü', max_size=6)),
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 7),
    st.sampled_from(["csv", "json", "parquet"]),
)
def test_any_rows_come_back_from_a_sink_however_they_are_cut(tmp_path_factory, rows, cut, format_):
    folder = tmp_path_factory.mktemp("out")
    table = pa.table(
        {"id": [r[0] for r in rows], "name": [r[1] for r in rows]},
        pa.schema([("id", pa.int64()), ("name", pa.string())]),
    )
    about = windrow.files(str(folder), format_)
    sink = about.sink()
    sink.open("r", Answer(table.schema))
    for epoch in range(3):
        part = table.slice(epoch * 10, 10)
        sink.commit(epoch, [sink.write(epoch, part.to_batches())])
    assert read_through(about.source(), most_rows=cut)["0"] == table.to_pylist()


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_epochs_without_rows_leave_no_file(tmp_path, format_):
    sink = windrow.files(str(tmp_path), format_).sink()
    table = pa.table({"id": pa.array([], pa.int64())})
    sink.open("r", Answer(table.schema))
    for epoch in range(3):
        sink.commit(epoch, [sink.write(epoch, table.to_batches())])
    assert not list(tmp_path.glob(f"*.{format_}"))


@pytest.mark.law
@settings(max_examples=share_of(50), deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "i": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
                "f": st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
                "s": st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=8)),
                "d": st.one_of(
                    st.none(), st.decimals(-(10**30), 10**30, places=4, allow_nan=False)
                ),
                "t": st.one_of(
                    st.none(),
                    st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),  # noqa: DTZ001
                ),
                "l": st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(0, 9)))),
                "m": st.one_of(st.none(), st.lists(st.decimals(0, 9, places=2), max_size=2)),
            }
        ),
        max_size=5,
    )
)
def test_json_lines_say_what_python_says(rows):
    schema = pa.schema(
        [
            ("i", pa.int64()),
            ("f", pa.float64()),
            ("s", pa.string()),
            ("d", pa.decimal128(38, 4)),
            ("t", pa.timestamp("us", "UTC")),
            ("l", pa.list_(pa.int64())),
            ("m", pa.list_(pa.decimal128(5, 2))),
        ]
    )
    rows = [{**row, "t": row["t"] and row["t"].replace(tzinfo=UTC)} for row in rows]
    lines = json_lines(pa.Table.from_pylist(rows, schema)).decode().split("\n")
    assert lines.pop() == ""

    def shown(row):
        plain = dict(row)
        plain["d"] = None if row["d"] is None else format(row["d"], "f")
        plain["t"] = None if row["t"] is None else row["t"].isoformat(sep=" ")
        plain["m"] = row["m"] and [format(own, ".2f") for own in row["m"]]
        return plain

    found = [json.loads(line) for line in lines]
    for row in found:
        row["d"] = None if row["d"] is None else format(Decimal(row["d"]), "f")
    assert found == [shown(row) for row in rows]


def test_an_address_that_nobody_knows_is_refused():
    with pytest.raises(BindError) as caught:
        windrow.files("nowhere://x").source()
    assert caught.value.condition == "unknown-address"


def test_what_a_sink_cannot_hold_is_refused(tmp_path):
    nested = Answer(pa.schema([("l", pa.list_(pa.int64()))]))
    with pytest.raises(BindError, match="sink-type"):
        windrow.files(str(tmp_path / "out"), "csv").sink().open("r", nested)
    with pytest.raises(BindError) as caught:
        windrow.files(str(tmp_path / "out"), partition_by=["day"]).sink().open("r", nested)
    assert caught.value.condition == "unknown-partition"


def test_a_folder_with_another_answer_is_refused(tmp_path):
    about = windrow.files(str(tmp_path / "out"))
    sink = about.sink()
    sink.open("r", Answer(pa.schema([("n", pa.int64())])))
    sink.commit(0, [sink.write(0, pa.table({"n": [1]}).to_batches())])
    with pytest.raises(BindError) as caught:
        about.sink().open("s", Answer(pa.schema([("n", pa.string())])))
    assert caught.value.condition == "sink-of-other-columns"


def test_a_sink_where_no_folder_can_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((ResourceError, Unavailable)) as caught:
        windrow.files(str(tmp_path / "file" / "out")).sink().open(
            "r", Answer(pa.schema([("n", pa.int64())]))
        )
    assert caught.value.condition in {"files-out-of-reach", "files-unavailable"}


def test_what_may_pass_is_unavailable_and_what_stays_is_not():
    with pytest.raises(Unavailable) as caught, on_files("x", "be written"):
        raise OSError(28, "No space left on device")
    assert str(caught.value) == (
        "Unavailable[files-unavailable]: 'x' cannot be written now\n"
        "  No space left on device\n"
        "  hint: make room on the disk, or check the file system"
    )
    with pytest.raises(ResourceError) as refused, on_files("x", "be written"):
        raise PermissionError(13, "Permission denied")
    assert refused.value.condition == "files-out-of-reach"


def test_parts_that_were_committed_are_put_in_place_by_the_next_process(tmp_path, monkeypatch):
    about = windrow.files(str(tmp_path / "out"), partition_by=["k"])
    answer = Answer(pa.schema([("k", pa.int64()), ("n", pa.int64())]))
    sink = about.sink()
    sink.open("r", answer)
    written = sink.write(0, pa.table({"k": [1, 2, 3], "n": [1, 2, 3]}).to_batches())
    moves = iter([True, False])
    move = type(sink)._place

    def once(self, part):
        if not next(moves):
            raise KeyboardInterrupt
        move(self, part)

    with monkeypatch.context() as patched:
        patched.setattr(type(sink), "_place", once)
        with pytest.raises(KeyboardInterrupt):
            sink.commit(0, [written])
    out = tmp_path / "out"
    assert len(list(out.glob("k=*/*.parquet"))) == 1
    # Whoever reads the log sees the epoch whole, already.
    assert len(ids_of(about)) == 3
    assert about.sink().open("r", answer) == 0
    assert len(list(out.glob("k=*/*.parquet"))) == 3
    assert len(ids_of(about)) == 3


def ids_of(about):
    return [row["n"] for rows in read_through(about.source()).values() for row in rows]


@pytest.mark.law
def test_logs_of_many_epochs_are_few_files_and_merged_parts_are_few_too(tmp_path, monkeypatch):
    monkeypatch.setattr("windrow.io.epoch_log.MOST_FILES", 4)
    monkeypatch.setattr("windrow.io.files_sink.MOST_OF_A_LEVEL", 3)
    about = windrow.files(str(tmp_path / "out"), compact_bytes=1 << 20)
    sink = about.sink()
    sink.open("r", Answer(pa.schema([("n", pa.int64())])))
    source, since, seen = about.source(), None, []
    for n in range(60):
        sink.commit(n, [sink.write(n, pa.table({"n": [n]}).to_batches())])
        if n % 7 == 0:
            source = about.source()
        for part in ranges(source, source.start() if since is None else since, 1_000):
            seen += [
                row["n"] for table in taken(source, part).values() for row in table.to_pylist()
            ]
            since = part[1]
    assert seen == list(range(60))
    assert len(list((tmp_path / "out").glob("*.parquet"))) < 12
    assert sorted(pq.read_table(tmp_path / "out")["n"].to_pylist()) == list(range(60))
    assert len(list((tmp_path / "out" / "_windrow" / "epochs" / "r").iterdir())) < 20
    assert about.sink().open("r", Answer(pa.schema([("n", pa.int64())]))) == 59


def test_a_table_has_no_place_aside_for_what_is_no_row(tmp_path):
    (tmp_path / "t.csv").write_text("k,name\n1,one\nno,two\n")
    about = windrow.files(
        str(tmp_path), format="csv", schema="k BIGINT, name STRING", bad_rows="aside"
    )
    with pytest.raises(DataError, match=r"aside-of-table\]: the table t has 1 records") as refused:
        windrow.Session().table("t", about)
    assert "t.csv" in str(refused.value)
