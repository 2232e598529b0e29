"""The examples with topics run, as their pages say, and come to the answer that brute force has."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from servers.kafka_topics import committed_messages
from servers.postgres_rows import bag_of

pytestmark = [pytest.mark.services, pytest.mark.slow]

EXAMPLES = Path(__file__).parents[2] / "examples"
BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATENESS = timedelta(seconds=10)
WINDOW = timedelta(minutes=10)


@pytest.fixture
def example(tmp_path):
    """Copies an example, with what stands for places here in place of what stands there."""

    def copied(name, places) -> Path:
        folder = shutil.copytree(EXAMPLES / name, tmp_path / name)
        for job in folder.glob("*.toml"):
            text = job.read_text()
            for there, here in places.items():
                assert there in text
                text = text.replace(there, here)
            job.write_text(text)
        return folder

    return copied


def ran(*command: object) -> None:
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def job_ran(job: Path) -> None:
    ran("-c", "from windrow.cli.main import main; main()", "run", job, "--until-done")


def paid(fill, count: int) -> dict:
    """What each store was paid, just before both streams are complete."""
    made = [(fill["order"](n, BEGIN), fill["payment"](n, BEGIN)) for n in range(count)]
    pairs = [
        (order["store"], payment["amount"], _at(order), _at(payment))
        for order, payment in made
        if payment is not None
    ]
    complete = min(max(_at(order) for order, _ in made), max(own[3] for own in pairs)) - LATENESS
    sums = defaultdict(list)
    for store, amount, ordered, settled in pairs:
        if max(ordered, settled) < complete <= min(ordered, settled) + WINDOW:
            sums[store].append(amount)
    return {(store, len(own), sum(own)): 1 for store, own in sums.items()}


def _at(row) -> datetime:
    return datetime.fromisoformat(row["ts"])


def test_the_dashboard_shows_what_stores_were_paid(broker, postgres_server, table, example):
    topics = [f"{name}-{table.partition('.')[0]}" for name in ("orders", "payments")]
    folder = example(
        "kafka_to_postgres",
        {
            'kafka = "orders"': f'kafka = "{topics[0]}"',
            'kafka = "payments"': f'kafka = "{topics[1]}"',
            "localhost:9092": broker.servers,
            "postgresql://me@localhost:5432/shop": postgres_server.url,
            'table = "dashboard"': f'table = "{table}"',
        },
    )
    fill = runpy.run_path(str(folder / "fill.py"))
    filling = [folder / "fill.py", broker.servers, "--orders", 700, "--topics", *topics]
    ran(*filling)
    job_ran(folder / "dashboard.toml")
    first = paid(fill, 700)
    assert bag_of(postgres_server.url, table) == first
    ran(*filling, "--first", 700)
    job_ran(folder / "dashboard.toml")
    assert bag_of(postgres_server.url, table) == paid(fill, 1400) != first
    # The program, which reads all of it at once.
    own = ["--topics", *topics, "--table", f"{table}_of_program", "--checkpoint", folder / "own"]
    ran(folder / "dashboard.py", broker.servers, postgres_server.url, "--until-done", *own)
    assert bag_of(postgres_server.url, f"{table}_of_program") == paid(fill, 1400)
    assert len(first) == 3


def ordered(fill, count: int) -> dict:
    """What customers have ordered, just before the stream of changes is complete."""
    told = [envelope for _, envelope in fill["envelopes"](0, count)]
    complete = max(own["source"]["ts_ms"] for own in told) - LATENESS // timedelta(milliseconds=1)
    orders, totals = Counter(), Counter()
    for own in told:
        if own["source"]["ts_ms"] < complete:
            for row, sign in ((own["before"], -1), (own["after"], 1)):
                if row is not None:
                    orders[row["customer"]] += sign
                    totals[row["customer"]] += sign * row["amount"]
    return {name: (count, totals[name]) for name, count in orders.items() if count}


def test_customers_follow_the_changes_of_their_orders(broker, example):
    changes, customers = broker.topic("changes", partitions=2), broker.topic("customers")
    folder = example(
        "debezium_in",
        {
            'kafka = "shop.public.orders"': f'kafka = "{changes}"',
            'kafka = "customers"': f'kafka = "{customers}"',
            "localhost:9092": broker.servers,
        },
    )
    fill = runpy.run_path(str(folder / "fill.py"))
    filling = [folder / "fill.py", broker.servers, "--topics", changes, customers, "--orders"]
    for first, count in ((0, 100), (100, 60)):
        ran(*filling, count, "--first", first)
        job_ran(folder / "customers.toml")
        newest = {
            json.loads(own.key())["customer"]: own.value()
            for own in committed_messages(broker, customers)
        }
        shown = {
            name: (row["orders"], row["total"])
            for name, value in newest.items()
            if value is not None
            for row in [json.loads(value)]
        }
        assert shown == ordered(fill, first + count)
        # Those whose every order was canceled are gone.
        assert set(shown) == {"bob", "cem", "dee"}
