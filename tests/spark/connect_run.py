"""A window join through Spark Connect, batch and streaming; prints both answers as JSON.

Run as a program of its own: a process speaks either Connect or classic Spark.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))

from spark_runs import Run, Streams, bag, draw

from windrow.run.spark.progress import ProgressReader
from windrow.run.spark.query import PROVIDER_SETTING, ROCKSDB

JOIN = "SELECT x.ts, y.ts AS yts, x.k FROM x, y WHERE x.k = y.k WINDOW = 3"


def main(folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config(PROVIDER_SETTING, ROCKSDB)
        .getOrCreate()
    )
    streams = Streams(folder, {name: draw(seed, 2) for seed, name in enumerate("xy")})
    streams.write_all()
    batch = streams.on_spark(spark, is_streaming=False).sql(JOIN).toArrow()
    session, run = streams.on_spark(spark), Run(folder / "run")
    run.finish(session.sql(JOIN))
    reader = ProgressReader(session._plan(JOIN, {})[1])
    answer = {
        "expected": sorted(bag(streams.in_process().sql(JOIN).to_arrow()).elements()),
        "batch": sorted(bag(batch).elements()),
        "streaming": sorted(bag(run.rows(spark)).elements()),
        "progress": [reader.read(report).as_dict() for report in run.reports][-1],
    }
    (folder / "answer.json").write_text(json.dumps(answer))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
