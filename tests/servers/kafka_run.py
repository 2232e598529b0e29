"""A run in a process of its own, to be killed: `python kafka_run.py SERVERS A B OUT CHECKPOINT`.

Kafka -> a window join -> Kafka. It ends with what is there.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

JOIN = "SELECT a.k, a.id AS a_id, b.id AS b_id FROM a, b WHERE a.k = b.k WINDOW = 20"
SCHEMA = "k BIGINT, id BIGINT, ts BIGINT"


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
        process = _started(arguments)
        assert process.stdout is not None
        is_begun = process.stdout.readline() == b"begun\n"
        time.sleep(draw.random() * draw.choice([0.05, 0.2, 0.5]))
        process.kill()
        code = process.wait()
        process.stdout.close()
        assert code in {0, -9}
        if code == 0:
            return begun
        begun += is_begun
    process = _started(arguments)
    process.communicate()
    assert process.returncode == 0
    return begun


def _started(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, __file__, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "NUMBA_OPT": os.environ.get("NUMBA_OPT", "1")},
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
