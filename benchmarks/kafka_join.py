"""Kafka to Kafka, JSON, the 3-way window join, in process: tuples per second, and how long a result takes.

    python -m benchmarks.kafka_join [--tuples 500000] [--rate 20000] [--seconds 15]

A broker of its own is started (`make services` fetches it); it shares the machine with the query.

- **Throughput**: three topics are filled first, with so many tuples each; timed is the run from its call
  until all results are committed in the fourth topic, exactly once, with a checkpoint.
- **Flink**: the same beside it, with one task and with two for each operator, where `make peers` has
  installed it: `benchmarks/peers/flink_kafka_join.py`.
- **Latency**: tuples are produced at a rate; the answer's rows are read by a consumer that sees what is
  committed alone. From the instant at which the youngest tuple of a result was produced to the instant at
  which a process of its own, a consumer with the client's default settings, has read the result.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import windrow
from benchmarks.streaming import JOIN
from benchmarks.workloads import ThreeStreams
from windrow.io.formats.json_text import object_texts

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

SCHEMA = "ts TIMESTAMP, k BIGINT, v DOUBLE"
JVM = ("-Xms512m", "-Xmx1g", "-XX:+UseSerialGC")


def throughput(broker: object, tuples: int, folder: Path) -> dict[str, object]:
    """Fills three topics, then joins them into a fourth."""
    topics = [fill(broker, stream, tuples) for stream in range(3)]
    out = broker.topic("out")  # type: ignore[attr-defined]
    # Compiled before it is timed, as a run that lasts is.
    for checkpoint, warm in (("warm", True), ("state", False)):
        used, began = time.process_time(), time.perf_counter()
        session = joined(broker, topics)
        target = broker.topic("warm") if warm else out  # type: ignore[attr-defined]
        run = session.run(
            JOIN.format(window=5),
            to=windrow.kafka(target, servers=broker.servers),  # type: ignore[attr-defined]
            checkpoint=str(folder / checkpoint),
            until_done=True,
        )
        run.wait()
        seconds, used = time.perf_counter() - began, time.process_time() - used
    return {
        "tuples": 3 * tuples,
        "rows": run.progress.rows_out if run.progress else None,
        "seconds": round(seconds, 2),
        "tuples_per_s": round(3 * tuples / seconds),
        "processor_s": round(used, 2),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def flink(broker: object, tuples: int, parallelism: int) -> dict[str, object] | None:
    """The same by Flink, in a process of its own; None where `make peers` has not installed it."""
    python = ROOT / ".venv-peers" / "flink" / "bin" / "python"
    if not python.exists():
        return None
    topics = [fill(broker, stream, tuples) for stream in range(3)]
    outs = [broker.topic("out") for _ in range(2)]  # type: ignore[attr-defined]
    program = ROOT / "benchmarks" / "peers" / "flink_kafka_join.py"
    ran = subprocess.run(
        [python, program, broker.servers, *topics, *outs, str(parallelism)],  # type: ignore[attr-defined]
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(ran.stdout.splitlines()[-1])
    from servers.kafka_topics import committed_rows  # type: ignore[import-not-found]

    rows = committed_rows(broker, outs[0])
    return {
        "tuples": 3 * tuples,
        "rows": len(rows),
        **told,
        "tuples_per_s": round(3 * tuples / told["seconds"]),
        "parallelism": parallelism,
    }


def latency(broker: object, rate: int, seconds: int, folder: Path) -> dict[str, object]:
    """Produces at a rate in a process of its own, and times the results."""

    servers = broker.servers  # type: ignore[attr-defined]
    topics = [broker.topic("live") for _ in range(3)]  # type: ignore[attr-defined]
    out = broker.topic("results")  # type: ignore[attr-defined]
    run = joined(
        broker, topics, lateness="0 seconds"
    ).run(
        "SELECT a.ts AS a_ts, b.ts AS b_ts, c.ts AS c_ts, a.k AS k FROM a, b, c"
        " WHERE a.k = b.k AND b.k = c.k WINDOW = INTERVAL '1' SECONDS",
        to=windrow.kafka(out, servers=servers),
        checkpoint=str(folder / "live"),
        epoch="10 milliseconds",  # there is always more to read, and rows are seen when an epoch ends
    )
    read = folder / "read"
    watch_command = [
        sys.executable,
        "-m",
        "benchmarks.kafka_join",
        "--watch",
        servers,
        out,
        str(read),
    ]
    watcher = subprocess.Popen(watch_command)
    command = [sys.executable, "-m", "benchmarks.kafka_join", "--produce", servers, *topics]
    subprocess.run([*command, "--rate", str(rate), "--seconds", str(seconds)], check=True)
    time.sleep(5)
    watcher.terminate()
    watcher.wait()
    took = []
    for line in read.read_bytes().splitlines():
        now, _, value = line.partition(b" ")
        row = json.loads(value)
        youngest = max(row["a_ts"], row["b_ts"], row["c_ts"])
        made = np.datetime64(youngest.rstrip("Z"), "us").astype(np.int64) / 1e6
        took.append((made, float(now) - made))
    run.stop()
    begin = min(made for made, _ in took) + seconds / 3  # what compiles comes first
    steady = np.array([lasted for made, lasted in took if made > begin]) * 1000
    shown = {f"p{at}_ms": round(float(np.percentile(steady, at)), 1) for at in (50, 90, 99)}
    return {"rate": rate, "results": len(steady), **shown}


def watch(servers: str, topic: str, place: str) -> None:
    """Writes each committed message with the instant at which it was read, until it is ended."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {
        "bootstrap.servers": servers,
        "group.id": "watch",
        "isolation.level": "read_committed",
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    with Path(place).open("wb", buffering=0) as file:
        while True:
            first = consumer.poll(1)
            if first is None:
                continue
            now = time.time()
            messages = [first, *consumer.consume(10_000, 0)]
            values = [own.value() for own in messages if own.error() is None]
            file.write(b"".join(b"%.6f %s\n" % (now, own) for own in values))


def produce_live(servers: str, topics: list[str], rate: int, seconds: int) -> None:
    """Tuples of the present instant, to three topics in turn, some every millisecond."""
    from confluent_kafka import Producer

    settings = {"linger.ms": 2, "queue.buffering.max.messages": 0}
    producer = Producer({"bootstrap.servers": servers, **settings})
    drawn = np.random.default_rng(5)
    began, sent = time.time(), 0
    while (now := time.time()) < began + seconds:
        due = int((now - began) * rate)
        keys = drawn.integers(0, 20_000, max(0, due - sent)).tolist()
        text = str(np.datetime64(int(now * 1e6), "us"))
        for number, key in enumerate(keys, sent):
            producer.produce(topics[number % 3], f'{{"ts":"{text}Z","k":{key},"v":0.5}}')
        sent = due
        producer.poll(0)
        time.sleep(0.001)
    producer.flush(10)


def joined(broker: object, topics: list[str], lateness: str = "1 second") -> windrow.Session:
    """A session over three topics."""
    session = windrow.Session()
    for name, topic in zip("abc", topics, strict=True):
        place = windrow.kafka(topic, servers=broker.servers, schema=SCHEMA)  # type: ignore[attr-defined]
        session.stream(name, place, time="ts", lateness=lateness)
    return session


def fill(broker: object, stream: int, tuples: int) -> str:
    """A topic with the tuples of a stream."""
    from confluent_kafka import Producer

    topic: str = broker.topic("in")  # type: ignore[attr-defined]
    settings = {"linger.ms": 50, "compression.type": "lz4", "queue.buffering.max.messages": 0}
    producer = Producer({"bootstrap.servers": broker.servers, **settings})  # type: ignore[attr-defined]
    for batch in ThreeStreams(tuples=tuples).batches(stream):
        for text in object_texts(batch).to_pylist():
            producer.produce(topic, text)
    producer.flush(60)
    return topic


def main() -> None:
    """Parses the command line and prints a JSON line for each measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuples", type=int, default=500_000)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--produce", nargs=4)
    parser.add_argument("--watch", nargs=3)
    given = parser.parse_args()
    if given.watch:
        watch(*given.watch)
        return
    if given.produce:
        produce_live(given.produce[0], given.produce[1:], given.rate, given.seconds)
        return
    from servers.kafka import KafkaBroker  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        broker = KafkaBroker(Path(folder) / "broker", JVM)
        broker.start()
        try:
            shown: list[tuple[str, object]] = [
                ("throughput", throughput(broker, given.tuples, Path(folder))),
                *(("flink", flink(broker, given.tuples, cores)) for cores in (1, 2)),
                ("latency", latency(broker, given.rate, given.seconds, Path(folder))),
            ]
            for what, found in shown:
                print(json.dumps({"what": what, **(found or {"missing": "make peers"})}))  # type: ignore[dict-item]
        finally:
            broker.kill()


if __name__ == "__main__":
    main()
