"""Set operations on Spark: a batch run gives what one process gives, and what is refused there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bags import bag
from spark_runs import Streams, draw

from windrow.errors import UnsupportedError

QUERIES = {
    "a key that is not shown": "SELECT COUNT(*) AS n FROM x [RANGE 9] GROUP BY k",
    "rows that end, and a changelog": (
        "SELECT k, COUNT(*) AS n FROM (SELECT k, v FROM x [RANGE 4] UNION ALL "
        "SELECT DISTINCT k, v FROM y [RANGE 7]) u GROUP BY k"
    ),
    "types that widen": "SELECT v FROM x [RANGE 5] INTERSECT ALL SELECT v + 0.5 - 0.5 FROM y [RANGE 9]",
    "no window": "SELECT k, v FROM x WHERE v > 3 UNION ALL SELECT k, -v FROM y",
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_a_batch_run_gives_what_one_process_gives(spark: Any, tmp_path: Path, name: str) -> None:
    streams = Streams(tmp_path, {name: draw(seed, 2) for seed, name in enumerate("xy")})
    streams.write_all()
    expected = bag(streams.in_process().sql(QUERIES[name]))
    found = streams.on_spark(spark, is_streaming=False).sql(QUERIES[name], buckets=3).toArrow()
    assert expected
    assert bag(found) == expected


def test_late_rows_below_union_all_cannot_be_kept(spark: Any, tmp_path: Path) -> None:
    streams = Streams(tmp_path, {name: draw(seed, 1) for seed, name in enumerate("xy")})
    streams.write_all()
    query = (
        "SELECT DISTINCT k FROM (SELECT k FROM x [RANGE 4] UNION ALL SELECT k FROM y [RANGE 7]) u"
    )
    session = streams.on_spark(spark, is_streaming=False)
    with pytest.raises(UnsupportedError) as caught:
        session.sql(query, on_late="keep", dead_letters=str(tmp_path / "late"))
    assert str(caught.value).startswith(
        "UnsupportedError[unsupported-late-rows-of-union]: late rows of the UNION ALL of x and y"
        " cannot be kept on Spark\n"
    )
