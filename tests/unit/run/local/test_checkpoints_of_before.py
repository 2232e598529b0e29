"""Checkpoints that earlier versions made, pickled as users keep them, go on as if nothing had changed."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from sessions import session

import windrow

STORED = json.loads((Path(__file__).parent / "checkpoints" / "before_rooms.json").read_text())
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


def two_streams() -> windrow.Session:
    return session(
        {
            name: [pa.table({"k": [i % keys], "v": [i * 7 % 5], "t": [i]}) for i in range(30)]
            for name, keys in (("a", 3), ("b", 2))
        },
        time="t",
        lateness=2,
    )


def rows(result: windrow.Session) -> list[str]:
    return [str(row) for batch in result for row in batch.to_pylist()]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_goes_on_from_a_checkpoint_of_before(name):
    kept = pickle.loads(zlib.decompress(base64.b64decode(STORED[name]["checkpoint"])))
    rest = rows(two_streams().sql(QUERIES[name], on_late="keep", resume=kept))
    whole = rows(two_streams().sql(QUERIES[name], on_late="keep"))
    assert sorted([*STORED[name]["given"], *rest]) == sorted(whole)
