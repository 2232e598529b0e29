"""The table that the page `docs/how-to/keep-a-table.md` keeps from a changelog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bags import bag
from docs.prose import ROOT, blocks
from spark_runs import Run, Streams, draw, table

SUMS = "SELECT k, SUM(v) AS s FROM x [RANGE 8] GROUP BY k"
LAST = 24


@dataclass
class BatchByBatch(Run):
    """A streaming query whose batches are handed to a function."""

    take: Callable[[Any, int], None] = print

    def start(self, df: Any) -> Any:
        """Starts the query over everything there is."""
        writer = df.writeStream.foreachBatch(self.take)
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        return writer.trigger(availableNow=True).start()


def test_the_table_is_current_also_when_the_last_batch_is_applied_again(
    spark: Any, tmp_path: Path
) -> None:
    page: dict[str, Any] = {}
    for block in blocks(ROOT / "docs" / "how-to" / "keep-a-table.md"):
        if block.language == "python" and block.is_run:
            exec(block.text, page)
    applied: list[int] = []
    keep = page["keep_current"](str(tmp_path / "sums"))

    def take(changes: Any, batch: int) -> None:
        applied.append(batch)
        keep(changes, batch)

    streams = Streams(tmp_path, {"x": [*draw(3, 2), table([(LAST, "end", 0)])]})
    streams.write_all()
    for _ in range(2):
        run = BatchByBatch(tmp_path / "run", take=take)
        run.finish(streams.on_spark(spark).sql(SUMS))
        run.forget_last_commit()
    assert applied == [*range(applied[-1] + 1), applied[-1]]  # the last one twice
    standing: Counter[Any] = Counter()
    for kind, *row, time in bag(streams.in_process().sql(SUMS)).elements():
        if time < LAST:
            standing[tuple(row)] += 1 if kind == "insert" else -1
    expected = {row: n for row, n in standing.items() if n}
    assert len(expected) > 2
    kept = spark.read.parquet(str(tmp_path / "sums" / str(page["versions"](tmp_path / "sums")[-1])))
    assert {(row.k, row.s): row.copies for row in kept.collect()} == expected
