"""Kafka to Kafka, killed at drawn moments: the answer is that of a run that was never stopped."""

from __future__ import annotations

import json
import os
import random
from contextlib import suppress
from subprocess import TimeoutExpired

import pytest

from servers.kafka_run import ROWS, has_begun, run_through, started
from servers.kafka_topics import committed_rows, produce

pytestmark = [pytest.mark.services, pytest.mark.law]

KILLS = int(os.environ.get("WINDROW_KILLS", "4"))
"""Of runs; a broker is killed less often, since it takes seconds to start. 100 before a release."""


def joined(rows: int) -> list[tuple[int, int, int]]:
    """The combinations by brute force: equal keys, at most 20 apart."""
    found = []
    for a in range(rows):
        for b in range(max(0, a - 20), min(rows, a + 21)):
            if (a * 7) % 13 == (b * 11) % 13:
                found.append(((a * 7) % 13, a, b))  # noqa: PERF401
    return sorted(found)


@pytest.fixture
def arguments(broker, tmp_path):
    left, right = broker.topic("a", partitions=2), broker.topic("b", partitions=2)
    for topic, factor in ((left, 7), (right, 11)):
        rows = [{"k": (n * factor) % 13, "id": n, "ts": n} for n in range(ROWS)]
        produce(broker, topic, [json.dumps(own).encode() for own in rows], 2)
    out = broker.topic("out", partitions=2)
    return [broker.servers, left, right, out, str(tmp_path / "state")]


def test_a_run_that_is_killed_again_and_again_gives_every_row_once(broker, arguments):
    begun = run_through(arguments, KILLS, seed=KILLS)
    found = committed_rows(broker, arguments[3], 2)
    assert sorted((own["k"], own["a_id"], own["b_id"]) for own in found) == joined(ROWS)
    assert begun > 0, "no kill has hit a run"


def test_a_run_outlives_kills_of_its_broker(broker, arguments):
    draw, crashes = random.Random(KILLS), 0
    with started(arguments) as process:
        assert has_begun(process)
        while crashes < max(1, KILLS // 10):
            with suppress(TimeoutExpired):
                # Not a pause: it is how long the broker lives.
                process.wait(draw.uniform(0.0, 0.5))
                break
            broker.kill()
            broker.start()
            crashes += 1
        assert process.wait() == 0
    found = committed_rows(broker, arguments[3], 2)
    assert sorted((own["k"], own["a_id"], own["b_id"]) for own in found) == joined(ROWS)
    assert crashes > 0, "the run had ended before the broker was killed"
