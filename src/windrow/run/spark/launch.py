"""A Spark session of our own, for the command line and the demo; others bring theirs."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from windrow.errors import ResourceError

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

Frame: TypeAlias = DataFrame
Running: TypeAlias = StreamingQuery
ClassicSpark: TypeAlias = SparkSession
Spark: TypeAlias = "SparkSession | ConnectSession"
"""PySpark's types under names for the rooms above: they hold such things, and name no pyspark.

A session of Connect has the methods of a classic one, and no type in common with it: users may give
either, and inside it goes by the classic type.
"""

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
FOR_STATE = {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"}
"""What makes micro-batches cheaper, whatever they bring: a task then writes what has changed in its state, one
file, and Spark the whole of it now and then, aside. A checkpoint may go on with or without it."""
FOR_LOCAL_CHECKPOINT = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing"
    ".FileSystemBasedCheckpointFileManager"
}
"""Writes the same files, by the other of Spark's two ways. For a checkpoint on this machine, its usual way
starts a process (readlink) for most of what it asks about a file, where Hadoop's native library is missing:
scores of them in every micro-batch."""
QUIET = "fatal"
"""The log level at which Spark's own output, its workers' included, is kept off the terminal."""
LOGGING = Path(__file__).with_name("log4j2.properties")


def launch(name: str, settings: Mapping[str, str], *, log_level: str = QUIET) -> SparkSession:
    """A session in local mode, unless the settings name another master or a remote."""
    if "spark.remote" not in settings:
        _check_java()
    # Workers must run this very Python: they unpickle our operators.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    for key, value in {**_defaults(log_level), **settings}.items():
        if not (key == "spark.master" and "spark.remote" in settings):
            builder = builder.config(key, value)
    if log_level != QUIET:
        return builder.getOrCreate()
    with _stderr_aside() as aside:
        try:
            session = builder.getOrCreate()
            session.conf.get("spark.sql.session.timeZone")  # reads, and so checks, the settings
        except Exception as error:
            never_ran = "JAVA_GATEWAY_EXITED" in str(error)
            raise ResourceError(
                "spark-does-not-start",
                "Spark did not start",
                reason=(_last_words(aside) if never_ran else "") or reason_of(error),
                hint="check JAVA_HOME and the settings of [spark]",
            ) from error
    return session


@contextmanager
def _stderr_aside() -> Iterator[IO[bytes]]:
    """Lets processes that start inside write their stderr to a file.

    The JVM and its Python workers announce themselves there whatever the log level is; they keep
    the file for as long as they live.
    """
    with tempfile.TemporaryFile() as aside:
        own = os.dup(2)
        try:
            os.dup2(aside.fileno(), 2)
            yield aside
        finally:
            os.dup2(own, 2)
            os.close(own)


def reason_of(error: Exception) -> str:
    """What a Java exception says, without its class and its stack."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(("at ", "... "))]
    return (
        re.sub(r"^(?:: |Caused by: )?(?:[\w.$]+(?:Exception|Error): )*", "", said[-1])
        if said
        else ""
    )


def _last_words(aside: IO[bytes]) -> str:
    aside.seek(0)
    lines = aside.read().decode(errors="replace").strip().splitlines()
    return "\n  ".join(line.strip() for line in lines[-3:])


def _defaults(log_level: str) -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "spark.master": f"local[{cores}]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",  # we show our own
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={LOGGING.as_uri()} -Dwindrow.log.level={log_level}"
        ),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * (cores or 1)),
        # Workers are forked with their modules in them: the first micro-batch is seconds shorter.
        "spark.python.daemon.module": "windrow.run.spark.worker_daemon",
        # Stateful stages in Python run on no other provider.
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        **FOR_STATE,
    }


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not ((home and (Path(home) / "bin" / "java").exists()) or shutil.which("java")):
        raise ResourceError(
            "no-java",
            "there is no Java on this machine",
            reason="Spark needs Java 17 or newer, in JAVA_HOME or on the PATH",
            hint="on Debian  sudo apt-get install -y openjdk-17-jre-headless  or run with --on local",
        )
