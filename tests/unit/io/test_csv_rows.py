"""Where rows of CSV end, and which values are NULL: the same however a file is cut."""

from __future__ import annotations

import pyarrow as pa
import pytest
from case_share import share_of
from contracts.source_contract import read_through
from hypothesis import example, given, settings
from hypothesis import strategies as st

import windrow
from windrow.io import Answer
from windrow.io.text_rows import row_ends


def rows_of(folder, ddl, most_rows=1_000, header=True):
    about = windrow.files(str(folder), "csv", ddl, header=header)
    found = read_through(about.source(), most_rows=most_rows)
    return [tuple(row.values()) for row in found.get("0", [])]


def ends_one_by_one(block: bytes) -> list[int]:
    """Where rows end, as Arrow's parser goes through them."""
    ends, state, at = [], "begin", 0
    while at < len(block):
        byte = block[at : at + 1]
        if state == "quoted":
            if byte == b'"' and block[at + 1 : at + 2] == b'"':
                at += 1
            elif byte == b'"':
                state = "value"
        elif byte == b'"' and state == "begin":
            state = "quoted"
        else:
            state = "begin" if byte in (b",", b"\r", b"\n") else "value"
            if byte == b"\n":
                ends.append(at + 1)
        at += 1
    return ends


@pytest.mark.law
@settings(max_examples=share_of(150), deadline=None)
@given(st.lists(st.sampled_from([b'"', b'""', b",", b"\n", b"\r", b"a"]), max_size=16))
@example([b"a", b'"', b"\n", b'"', b"\n", b'"', b"\n"])
def test_rows_end_where_a_reader_of_one_byte_after_the_other_says(parts):
    block = b"".join(parts)
    assert row_ends(block, ord('"'), ord(",")).tolist() == ends_one_by_one(block)


@pytest.mark.law
@settings(max_examples=share_of(15), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ['5" pipe', '"two\nlines"', '"say ""x"""', '""', "", 'a"b"', '"a"b"c', "x"]
        ),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_values_with_quotes_are_the_same_however_a_file_is_cut(tmp_path_factory, values, is_ended):
    folder = tmp_path_factory.mktemp("in")
    text = "\n".join(f"{n},{value}" for n, value in enumerate(values))
    (folder / "a.csv").write_text(f"id,name\n{text}" + "\n" * is_ended)
    whole = rows_of(folder, "id BIGINT, name STRING")
    assert [row[0] for row in whole] == list(range(len(values)))
    for most_rows in (1, 2):
        assert rows_of(folder, "id BIGINT, name STRING", most_rows) == whole


def test_a_quote_within_a_value_is_a_letter(tmp_path):
    (tmp_path / "a.csv").write_text('id,name\n1,5" pipe\n2,"two\nlines"\n3,x\n')
    for most_rows in (1, 1_000):
        assert rows_of(tmp_path, "id BIGINT, name STRING", most_rows) == [
            (1, '5" pipe'),
            (2, "two\nlines"),
            (3, "x"),
        ]


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
@pytest.mark.parametrize(
    ("line", "row"),
    [
        ('1,"a",', (1, "a", None)),
        ('1,"a",""', (1, "a", "")),
        ("1,,", (1, None, None)),
        ('1,"a,",', (1, "a,", None)),
        ("1,5\",", (1, '5"', None)),
    ],
)  # fmt: skip
def test_an_empty_value_at_the_end_of_a_file_is_null(tmp_path, line, row, ending):
    (tmp_path / "a.csv").write_text(f"t,s,u\n{line}{ending}", newline="")
    assert rows_of(tmp_path, "t BIGINT, s STRING, u STRING") == [row]


def test_an_empty_number_at_the_end_of_a_file_is_null(tmp_path):
    (tmp_path / "a.csv").write_text('t,s,f\n1,"a",')
    assert rows_of(tmp_path, "t BIGINT, s STRING, f DOUBLE") == [(1, "a", None)]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [True, False])
def test_of_one_column_an_empty_line_is_null(tmp_path, header, ending):
    lines = [*(["name"] if header else []), "", "a", "", '""', "", ""]
    (tmp_path / "a.csv").write_text("".join(own + ending for own in lines), newline="")
    expected = [(None,), ("a",), (None,), ("",), (None,), (None,)]
    for most_rows in (1, 2, 1_000):
        assert rows_of(tmp_path, "name STRING", most_rows, header=header) == expected


def test_a_file_of_one_column_without_rows_has_none(tmp_path):
    for name, text in (("a", "name"), ("b", "name\n"), ("c", 'name\n"x"')):
        (tmp_path / f"{name}.csv").write_text(text)
    assert rows_of(tmp_path, "name STRING") == [("x",)]


def test_of_several_columns_an_empty_line_is_none(tmp_path):
    (tmp_path / "a.csv").write_text("id,name\n1,x\n\n2,y\n\n")
    assert rows_of(tmp_path, "id BIGINT, name STRING") == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("partition_by", [(), ("k",)])
def test_nulls_of_a_part_of_one_column_come_back(tmp_path, monkeypatch, partition_by):
    monkeypatch.setattr("windrow.io.files_sink.MOST_OF_A_LEVEL", 2)
    names = [None, "", "a", None, None]
    table = pa.table({"name": names, "k": [1, 1, 2, 2, 2]}).select(["name", *partition_by])
    about = windrow.files(str(tmp_path), "csv", partition_by=partition_by, compact_bytes=1 << 20)
    sink = about.sink()
    sink.open("r", Answer(table.schema))
    for epoch in range(4):
        sink.commit(epoch, [sink.write(epoch, table.to_batches())])
    for most_rows in (1, 3, 1_000):
        found = read_through(about.source(), most_rows=most_rows)["0"]
        assert [row["name"] for row in found] == names * 4
