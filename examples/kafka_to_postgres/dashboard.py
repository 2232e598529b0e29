"""The job of `dashboard.toml` from Python, for a program that does more than that.

    python dashboard.py localhost:9092 postgresql://me@localhost:5432/shop

Stop it, kill it, start it again: the table is right whenever you look.
"""

from __future__ import annotations

import argparse

import windrow

REVENUE = """
    SELECT o.store, COUNT(*) AS paid, SUM(p.amount) AS revenue
    FROM orders o [RANGE INTERVAL '10' MINUTES], payments p [RANGE INTERVAL '10' MINUTES]
    WHERE o.id = p.order_id
    GROUP BY o.store
"""
COLUMNS = {
    "orders": "id BIGINT, store STRING, ts TIMESTAMP",
    "payments": "order_id BIGINT, amount BIGINT, ts TIMESTAMP",
}


def main() -> None:
    asked = argparse.ArgumentParser(
        description="Paid orders per store, kept current in PostgreSQL."
    )
    asked.add_argument("servers", help="the broker, as localhost:9092")
    asked.add_argument("url", help="the database, as postgresql://user@host:5432/database")
    asked.add_argument("--topics", nargs=2, default=["orders", "payments"])
    asked.add_argument("--table", default="dashboard")
    asked.add_argument("--checkpoint", default="state")
    asked.add_argument("--until-done", action="store_true", help="end with what is there")
    chosen = asked.parse_args()

    w = windrow.Session()
    for (name, columns), topic in zip(COLUMNS.items(), chosen.topics, strict=True):
        place = windrow.kafka(topic, servers=chosen.servers, schema=columns)
        w.stream(name, place, time="ts", lateness="10 seconds")
    run = w.run(
        REVENUE,
        to=windrow.postgres(chosen.url, table=chosen.table),
        checkpoint=chosen.checkpoint,
        until_done=chosen.until_done,
        progress="log",
    )
    try:
        run.wait()
    except KeyboardInterrupt:
        run.stop()


if __name__ == "__main__":
    main()
