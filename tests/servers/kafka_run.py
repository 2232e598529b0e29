"""A run in a process of its own, to be killed: `python kafka_run.py SERVERS A B OUT CHECKPOINT`.

Kafka -> a window join -> Kafka. It ends with what is there.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

JOIN = "SELECT a.k, a.id AS a_id, b.id AS b_id FROM a, b WHERE a.k = b.k WINDOW = 20"
SCHEMA = "k BIGINT, id BIGINT, ts BIGINT"
ROWS = 2_400
"""In each of the two topics."""

LONGEST_S = 240.0
"""How long a run may take, kills of its broker included."""


def main(servers: str, left: str, right: str, out: str, checkpoint: str) -> None:
    """Runs to the end of what is there."""
    import windrow
    from windrow.run.local import followed

    # Small batches, so that a run has many epochs.
    followed.FollowedSource.__init__.__kwdefaults__["most_rows"] = 37
    w = windrow.Session()
    for name, topic in (("a", left), ("b", right)):
        w.stream(name, windrow.kafka(topic, servers=servers, schema=SCHEMA), time="ts", lateness=50)
    run = w.run(
        JOIN,
        to=windrow.kafka(out, servers=servers),
        checkpoint=checkpoint,
        epoch="1 millisecond",
        until_done=True,
    )
    print("begun", flush=True)  # noqa: T201
    run.wait()


def run_through(arguments: list[str], kills: int, seed: int) -> int:
    """Runs to the end with so many kills at drawn moments; how many hit a run that had begun."""
    draw = random.Random(seed)
    begun = 0
    for _ in range(kills):
        with started(arguments) as process:
            is_begun = has_begun(process)
            time.sleep(draw.random() * draw.choice([0.05, 0.2, 0.5]))
            process.kill()
            if process.wait() == 0:
                return begun
            assert process.returncode == -signal.SIGKILL
            begun += is_begun
    with started(arguments) as process:
        assert process.wait() == 0
    return begun


@contextmanager
def started(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The run in another process, which is ended, and told of, where it lasts too long."""
    process = subprocess.Popen(
        [sys.executable, __file__, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "NUMBA_OPT": os.environ.get("NUMBA_OPT", "1")},
    )
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    watch = threading.Timer(LONGEST_S, end)
    watch.start()
    try:
        yield process
    finally:
        watch.cancel()
        process.kill()
        process.communicate()
    assert not is_late.is_set(), f"a run of {ROWS} rows has not ended after {LONGEST_S:.0f} s"


def has_begun(process: subprocess.Popen[bytes]) -> bool:
    """Whether the run begins, rather than ending before."""
    assert process.stdout is not None
    return process.stdout.readline() == b"begun\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
