"""A run on Spark to its end, as a program of its own that others kill; its folder is its argument."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from extension.folder import Folder
from extension.growing import QUERIES, session
from pyspark.sql import SparkSession

from windrow.run.spark.launch import ROCKSDB
from windrow.run.spark.query import PROVIDER_SETTING


def main(folder: Path, family: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config(PROVIDER_SETTING, ROCKSDB)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    run = session(folder, spark).run(
        QUERIES[family],
        to=Folder(folder / "out"),
        checkpoint=str(folder / "checkpoint"),
        until_done=True,
    )
    sys.stdout.write("started\n")
    sys.stdout.flush()
    run.wait()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
