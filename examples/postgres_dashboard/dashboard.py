"""Sales as they come, and a table of PostgreSQL's that has the revenue per store of the last ten minutes.

    python dashboard.py postgresql://me@localhost:5432/sales

Stop it, kill it, start it again: the table is right whenever you look.
"""

from __future__ import annotations

import argparse

import windrow

REVENUE = """
    SELECT store, COUNT(*) AS sales, SUM(price) AS revenue
    FROM sales [RANGE INTERVAL '10' MINUTES]
    GROUP BY store
"""


def main() -> None:
    asked = argparse.ArgumentParser(description="Revenue per store, kept current in PostgreSQL.")
    asked.add_argument("url", help="the database, as postgresql://user@host:5432/database")
    asked.add_argument("--table", default="revenue")
    asked.add_argument("--checkpoint", default="state")
    chosen = asked.parse_args()

    w = windrow.Session()
    # Put windrow.kafka(..) or windrow.files(..) here for sales of your own.
    sales = windrow.generate(
        "store STRING, price DOUBLE, ts TIMESTAMP",
        rate=200,
        distinct={"store": 12},
    )
    w.stream("sales", sales, time="ts", lateness="5 seconds")
    run = w.run(
        REVENUE,
        to=windrow.postgres(chosen.url, table=chosen.table),
        checkpoint=chosen.checkpoint,
        progress="log",
    )
    try:
        run.wait()
    except KeyboardInterrupt:
        run.stop()


if __name__ == "__main__":
    main()
