"""The five queries of the scheduling experiments by their definition: asked anew at every instant.

And when each scheduling learns that time has passed: from tuples that reach its operator, or any.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

Row = tuple[Any, ...]
Changes = Counter[tuple[str, Row, int]]


def changelog(query, sales, setting, members) -> Changes:
    """What comes and leaves, net per instant, by answering over the alive tuples at each."""
    rows, windows = _rows(sales), setting.windows
    instants = sorted({row[1] for row in rows} | {row[1] + windows[row[0]] + 1 for row in rows})
    changes: Changes = Counter()
    before: Counter[Row] = Counter()
    began = False
    for instant in instants:
        alive = [row for row in rows if row[1] <= instant <= row[1] + windows[row[0]]]
        after, has_input = ANSWERS[query.name](alive, query, setting, set(members.tolist()))
        began = began or has_input
        if not after and began and query.name in WITHOUT_GROUPS:
            after = Counter([(None,)])
        changes.update({("insert", row, instant): n for row, n in (after - before).items()})
        changes.update({("delete", row, instant): n for row, n in (before - after).items()})
        before = after
    return changes


def told_at(query, scheduling, sales, setting, members) -> list[int]:
    """The instants at which the operator at the top learns what time it is."""
    rows, windows = _rows(sales), setting.windows
    if scheduling != "ita":
        return [row[1] for row in rows]
    if query.streams == 1:
        return [row[1] for row in rows if ANSWERS[query.name]([row], query, setting, members)[0]]
    passing = [row for row in rows if query.name == "Q5" or row[4] > _price(setting)]
    return sorted(
        max(a[1], b[1])
        for a, b in _pairs(passing)
        if max(a[1], b[1]) <= min(a[1] + windows[0], b[1] + windows[1])
    )


def _rows(sales) -> list[Row]:
    names = ("stream", "time", "store", "item", "price", "quantity")
    return list(zip(*(getattr(sales, name).tolist() for name in names), strict=True))


WITHOUT_GROUPS = ("Q1", "Q5")
"""Aggregates with one row at every instant from their first input on."""


def _q1(alive, query, setting, members) -> tuple[Counter[Row], bool]:
    quantities = [row[5] for row in alive if row[4] > _price(setting)]
    return Counter([(sum(quantities),)] if quantities else []), bool(quantities)


def _q2(alive, query, setting, members) -> tuple[Counter[Row], bool]:
    return Counter({(row[3],) for row in alive if row[3] in members}), False


def _q3(alive, query, setting, members) -> tuple[Counter[Row], bool]:
    totals: Counter[int] = Counter()
    for row in alive:
        if row[2] in members:
            totals[row[3]] += row[5]
    return Counter(totals.items()), False


def _q4(alive, query, setting, members) -> tuple[Counter[Row], bool]:
    passing = [row for row in alive if row[4] > _price(setting)]
    return Counter((a[3], a[5], b[5]) for a, b in _pairs(passing)), False


def _q5(alive, query, setting, members) -> tuple[Counter[Row], bool]:
    prices = [a[4] for a, _ in _pairs(alive)]
    return Counter([(max(prices),)] if prices else []), bool(prices)


ANSWERS = {"Q1": _q1, "Q2": _q2, "Q3": _q3, "Q4": _q4, "Q5": _q5}


def _pairs(rows):
    return [
        (a, b) for a in rows if a[0] == 0 for b in rows if b[0] == 1 and a[3] == b[3]
    ]  # fmt: skip


def _price(setting) -> int:
    return round(1_000 * (1 - setting.selectivity))
