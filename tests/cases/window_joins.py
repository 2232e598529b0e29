"""Random WINDOW JOINs, and their answers by adding up all rows in each range."""

from __future__ import annotations

from collections import Counter
from random import Random

from twins.range_aggregate import Range, answers

from cases.asof_joins import draw_streams, passes, plain_rows
from cases.base import ARROW_KEY, ARROW_TIME, Bag, Case, length

ENDS = [(0, 0), (3, 0), (0, 2), (4, 5), (6, -2), (-1, 4), (30, 30)]
"""How far before a row its range begins, and how far after it, it ends."""


def draw_window_join(random: Random, *, most_rows: int = 14) -> Case:
    """A WINDOW JOIN over none, one or two keys, with conditions in ON and WHERE."""
    time_type = random.choice(list(ARROW_TIME))
    lo, hi = random.choice(ENDS)
    kinds = [random.choice(list(ARROW_KEY)) for _ in range(random.choice([1, 1, 0, 2]))]
    own = Range(lo, hi, tuple(random.random() < 0.3 for _ in kinds))
    least_right, least_left = random.choice([None, 1]), random.choice([None, 1])
    streams = draw_streams(random, kinds, time_type, most_rows)
    on = [f"l.k{i} {'<=>' if safe else '='} r.k{i}" for i, safe in enumerate(own.null_safe)]
    on += [f"r.v >= {least_right}"] if least_right is not None else []
    sql = (
        "SELECT l.id, COUNT(*) AS n, COUNT(r.v) AS c, SUM(r.v) AS s, AVG(r.v) AS a, MIN(r.v) AS lo,"
        " 2 * MAX(r.v) AS hi, MEDIAN(r.v) AS m FROM l WINDOW JOIN r"
        + (f" ON {' AND '.join(on)}" if on else "")
        + f" RANGE BETWEEN {end(-lo, time_type)} AND {end(hi, time_type)}"
        + (f" WHERE l.v >= {least_left}" if least_left is not None else "")
    )
    left = [row for row in plain_rows(streams[0], kinds) if passes(row, least_left)]
    right = [row for row in plain_rows(streams[1], kinds) if passes(row, least_right)]
    answer: Bag = Counter()
    due = {}
    for row in left:
        found = answers(row, right, own)
        greatest = None if found["max"] is None else 2 * found["max"]
        shown = ("rows", "count", "sum", "avg", "min")
        counted = (row["id"], *(found[name] for name in shown), greatest, found["median"])
        answer[counted] += 1
        due[counted] = row["t"] + max(hi, 0)
    return Case(sql, streams, answer, time_type, due)


def end(units: int, time_type: str) -> str:
    """An end of a range in SQL."""
    if units == 0:
        return "CURRENT ROW"
    return f"{length(abs(units), time_type)} {'PRECEDING' if units < 0 else 'FOLLOWING'}"
