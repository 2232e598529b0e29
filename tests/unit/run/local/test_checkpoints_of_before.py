"""Checkpoints that earlier versions made, pickled as users keep them, go on as if nothing had changed.

So do folders with the checkpoints of a run, in each layout that there was.
"""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from outside import Shelf
from sessions import session

import windrow

HERE = Path(__file__).parent / "checkpoints"
STORED = json.loads((HERE / "before_rooms.json").read_text())
FOLDERS = json.loads((HERE / "layout_1.json").read_text())
QUERIES = {
    "join": "SELECT a.k, a.v AS x, b.v AS y FROM a, b WHERE a.k = b.k WINDOW = 5",
    "outer": "SELECT a.k, b.v FROM a LEFT JOIN b ON a.k = b.k AND b.t BETWEEN a.t AND a.t + 3",
    "aggregate": "SELECT k, SUM(v) AS s, MAX(v) AS m FROM a [RANGE 6] GROUP BY k",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 6]",
    "asof": "SELECT a.v, b.v AS w FROM a ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k",
    "best": "SELECT a.v, b.v AS w FROM a LEFT OUTER BESTMATCH JOIN b ON a.v MINDIST b.v"
    " WHERE abs(a.t - b.t) <= 4",
    "count": "SELECT a.v, b.v AS w FROM a [ROWS 3], b [ROWS 3] WHERE a.k = b.k",
}


def batches(keys: int) -> list[pa.Table]:
    return [pa.table({"k": [i % keys], "v": [i * 7 % 5], "t": [i]}) for i in range(30)]


def two_streams() -> windrow.Session:
    return session({"a": batches(3), "b": batches(2)}, time="t", lateness=2)


def rows(result: windrow.Session) -> list[str]:
    return [str(row) for batch in result for row in batch.to_pylist()]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_goes_on_from_a_checkpoint_of_before(name):
    kept = pickle.loads(zlib.decompress(base64.b64decode(STORED[name]["checkpoint"])))
    rest = rows(two_streams().sql(QUERIES[name], on_late="keep", resume=kept))
    whole = rows(two_streams().sql(QUERIES[name], on_late="keep"))
    assert sorted([*STORED[name]["given"], *rest]) == sorted(whole)


def run(name: str, folder: Path) -> list[str]:
    """What a run from the checkpoints in a folder gives, until its streams end."""
    given: list[str] = []
    streams = {
        "a": Shelf([pa.concat_tables(batches(3))]),
        "b": Shelf([pa.concat_tables(batches(2))]),
    }
    made = session(streams, time="t", lateness=2).run(
        QUERIES[name],
        to=windrow.call(lambda batch, _epoch: given.extend(map(str, batch.to_pylist()))),
        checkpoint=folder,
        epoch="1 microsecond",
        on_late="keep",
        dead_letters=str(folder.with_name("late")),
    )
    assert made.wait(60)
    return given


@pytest.mark.parametrize("name", QUERIES)
def test_a_run_goes_on_from_a_folder_of_before(name, tmp_path):
    """Of layout 1, whose chunks were written anew whenever they were merged."""
    kept = tmp_path / "kept"
    kept.mkdir()
    for file, content in FOLDERS[name]["files"].items():
        (kept / file).write_bytes(zlib.decompress(base64.b64decode(content)))
    whole = run(name, tmp_path / "whole" / "state")
    assert sorted([*FOLDERS[name]["given"], *run(name, kept)]) == sorted(whole)
    assert len(FOLDERS[name]["given"]) < len(whole)
