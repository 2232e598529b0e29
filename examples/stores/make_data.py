"""Writes a little data for the jobs of this folder: two stores, one hour, three files each."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

HERE = Path(__file__).parent
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
FILES, ROWS = 3, 200


def main() -> None:
    chance = random.Random(7)
    for store in ("north", "south"):
        folder = HERE / "data" / store
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(FILES):
            table = sales(chance, START + number * timedelta(minutes=20))
            file = folder / f"{number}.{'parquet' if store == 'north' else 'csv'}"
            if store == "north":
                pq.write_table(table, file)
            else:
                pyarrow.csv.write_csv(table, file)
            # Spark streams the oldest file first; written at once, all would be of one age.
            os.utime(file, (number + 1.0, number + 1.0))
    print(f"written to {HERE / 'data'}")


def sales(chance: random.Random, start: datetime) -> pa.Table:
    """Twenty minutes of sales, up to half a minute out of order."""
    times = sorted(chance.uniform(0, 20 * 60) for _ in range(ROWS))
    jitter = [time - chance.uniform(0, 15) for time in times]
    return pa.table(
        {
            "item": [chance.choice(("pear", "fig", "plum", "quince")) for _ in times],
            "price": [chance.randrange(4, 40) / 4 for _ in times],
            "ts": [start + timedelta(seconds=round(max(0, time), 3)) for time in jitter],
        }
    )


if __name__ == "__main__":
    main()
