"""What all tests run under, and the one Spark session that all tests of a process share."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from plain_files import use_plain_files

pytest.register_assert_rewrite("contracts.sink_contract", "contracts.source_contract")

# Tests run short queries in many young JVMs: compiling little, collecting simply and seldom, and
# interpreting expressions over a dozen rows takes a third off the processor time of each. Without
# Hadoop's native library, Spark's usual way to write checkpoints starts 80 processes (readlink) per
# micro-batch; the other starts none. Processes that tests start inherit all of it, the folder
# `startup` included.
JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xms1g", "-Xmn400m")
SPARK = {
    "spark.python.daemon.module": "warm_daemon",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming"
    ".checkpointing.FileSystemBasedCheckpointFileManager",
}
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS", " ".join([*JVM, *(f"-D{name}={value}" for name, value in SPARK.items())])
)

# Compiling a kernel makes millions of objects that live as long as it takes. Looking for cycles among
# them every 700 objects is a tenth of its time.
gc.set_threshold(100_000, 20, 10)

# On a machine that has no kernel yet, compiling takes a sixth of the processor time of all tests. With
# fewer optimizations it takes a quarter less, and means the same; such kernels have a cache of their
# own, so that no query ever runs by them.
os.environ.setdefault("NUMBA_OPT", "1")

os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(
        None,
        [
            str(Path(__file__).with_name("startup")),
            str(Path(__file__).parent),  # where Spark's workers find what tests/extension adds
            os.environ.get("PYTHONPATH"),
        ],
    )
)

# A shell starts what runs in the background deaf to Ctrl-C, and all that is started from there. Tests
# that send it, and their processes, hear it as they do in a terminal.
is_deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
if is_deaf and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


WITH_A_JVM = ("/tests/docs/", "/tests/extension/", "/tests/spark/")
"""Where `make test-spark` looks for tests; elsewhere it would miss them."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("spark") and not any(at in str(item.path) for at in WITH_A_JVM):
            raise pytest.UsageError(f"{item.nodeid} needs a JVM: it belongs into tests/spark")


@pytest.fixture(scope="session")
def shared_spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("windrow tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
    )
    for name, value in _settings().items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    use_plain_files(session)
    yield session
    session.stop()


@pytest.fixture
def spark(shared_spark, request):
    """The session of the process, as every test finds it: whatever one sets, the next never sees."""
    partitions = request.node.get_closest_marker("partitions")
    for name, value in _settings(*(partitions.args if partitions else ())).items():
        shared_spark.conf.set(name, value)
    return shared_spark


def _settings(partitions: int = 1) -> dict[str, str]:
    from windrow.run.spark.launch import ROCKSDB
    from windrow.run.spark.query import PARTITIONS_SETTING, PROVIDER_SETTING

    return {
        PARTITIONS_SETTING: str(partitions),
        PROVIDER_SETTING: ROCKSDB,
        "spark.sql.session.timeZone": "UTC",
    }
