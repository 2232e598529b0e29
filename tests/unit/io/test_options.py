"""What is said of files is checked when they are named: of its type, and a value that fits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from contracts.source_contract import read_through

import windrow
from windrow.errors import BindError
from windrow.io import Answer, Connector
from windrow.io.options import check_options


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ({"path": 5}, "a text"),
        ({"path": None}, "a text"),
        ({"path": b"x"}, "a text"),
        ({"path": ""}, "a file, a folder or a pattern"),
        ({"path": "a\0b"}, "a file, a folder or a pattern"),
        ({"format": "orc"}, "one of 'parquet', 'csv', 'json'"),
        ({"format": None}, "one of 'parquet', 'csv', 'json'"),
        ({"schema": 5}, "a text, or None"),
        ({"order": "size"}, "one of 'name', 'time'"),
        ({"order": None}, "one of 'name', 'time'"),
        ({"bad_rows": "drop"}, "one of 'error', 'aside'"),
        ({"bad_rows": True}, "one of 'error', 'aside'"),
        ({"batch_rows": 0}, "a whole number from 1 on"),
        ({"batch_rows": "x"}, "a whole number, or None"),
        ({"batch_rows": 2.5}, "a whole number, or None"),
        ({"batch_rows": True}, "a whole number, or None"),
        ({"batch_bytes": None}, "a whole number"),
        ({"compact_bytes": "1 MB"}, "a whole number, or None"),
        ({"compact_bytes": -1}, "a whole number from 1 on"),
        ({"delimiter": "||"}, "one character of ASCII, such as ; and not a quote"),
        ({"delimiter": ""}, "one character of ASCII, such as ; and not a quote"),
        ({"delimiter": '"'}, "one character of ASCII, such as ; and not a quote"),
        ({"delimiter": "\n"}, "one character of ASCII, such as ; and not a quote"),
        ({"delimiter": "é"}, "one character of ASCII, such as ; and not a quote"),
        ({"delimiter": 5}, "a text"),
        ({"header": "no"}, "True or False"),
        ({"header": 1}, "True or False"),
        ({"encoding": None}, "a text"),
        ({"encoding": "klingon"}, "one that Python knows"),
        ({"encoding": "hex"}, "one that Python knows"),
        ({"encoding": "undefined"}, "one that Python knows"),
        ({"encoding": "a\0"}, "one that Python knows"),
        ({"partition_by": "day"}, "a list, each value a text"),
        ({"partition_by": [1]}, "a list, each value a text"),
        ({"partition_by": None}, "a list, each value a text"),
        ({"storage": "x"}, "a dictionary"),
        ({"storage": {1: 2}}, "a dictionary"),
    ],
)
def test_an_option_that_is_none_is_refused(said, hint):
    with pytest.raises(BindError) as caught:
        windrow.files(**{"path": "x", **said})
    assert caught.value.condition == "bad-files-option"
    assert caught.value.hint == f"it must be {hint}"


def test_the_message_says_what_was_given():
    with pytest.raises(BindError) as caught:
        windrow.files("x", partition_by=[1])
    assert str(caught.value) == (
        "BindError[bad-files-option]: partition_by of files is [1], of type list\n"
        "  hint: it must be a list, each value a text"
    )


@pytest.mark.parametrize("schema", ["", "id", "id BIGINT,", "id WHAT"])
def test_a_schema_that_is_none_is_refused(schema):
    with pytest.raises(BindError, match="bad-schema"):
        windrow.files("x", schema=schema)


def test_files_without_a_header_need_a_schema_to_be_read_and_none_to_be_written(tmp_path):
    about = windrow.files(str(tmp_path), "csv", header=False)
    with pytest.raises(BindError, match="no header names them") as caught:
        about.source()
    assert caught.value.condition == "bad-files-option"
    sink = about.sink()
    rows = pa.table({"n": [1, 2]})
    sink.open("r", Answer(rows.schema))
    sink.commit(0, [sink.write(0, rows.to_batches())])
    source = windrow.files(str(tmp_path), "csv", "n BIGINT", header=False).source()
    assert read_through(source)["0"] == rows.to_pylist()


def test_a_path_of_pathlibs_and_numbers_of_numpys_will_do(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"n": 1}) + "\n")
    about = windrow.files(Path(tmp_path), "json", "n BIGINT", batch_rows=np.int64(5))
    assert about.path == str(tmp_path)
    assert read_through(about.source())["0"] == [{"n": 1}]


@dataclass(frozen=True)
class Anywhere(Connector):
    name = "anywhere"

    at: str
    mode: Literal["a", "b"] = "a"
    rate: float = 1.0
    keys: Sequence[str] | None = None
    distinct: Mapping[str, int] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ({"at": Path("x")}, "a text"),
        ({"mode": "c"}, "one of 'a', 'b'"),
        ({"rate": "1"}, "a number"),
        ({"rate": False}, "a number"),
        ({"keys": "k"}, "a list, each value a text, or None"),
        ({"distinct": {"k": "x"}}, "a dictionary, each value a whole number"),
    ],
)
def test_any_connector_can_have_its_options_checked(said, hint):
    with pytest.raises(BindError) as caught:
        Anywhere(**{"at": "x", **said})
    assert caught.value.condition == "bad-anywhere-option"
    assert caught.value.hint == f"it must be {hint}"


def test_what_is_of_its_type_is_taken():
    taken = Anywhere("x", "b", 5, ("k",), {"k": 3}, {"a": None})
    assert (taken.rate, taken.keys) == (5, ("k",))
    assert Anywhere("x", keys=None, rate=np.float64(2.5)).keys is None
