"""Random runs of a bestmatch operator: rows in batches, watermarks and restarts, for any order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from twins.bestmatch import BETTER, EQUAL, WORSE, Rules

from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.algorithms import MATCH_ALGORITHMS, MATWIN, PAGED
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.functions import UserFunction
from windrow.plan.nodes.bestmatch_join import Dimension
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema


def gap(a: int, b: int) -> int | None:
    """A number per pair, NULL for some, below zero for some."""
    return None if a + b == 3 else (a - b) ** 2 - 2


def ratio(a: float, b: float) -> float:
    """A number per pair, NaN and infinite for some."""
    return math.nan if b == 0 else a / b


def both(a: int, b: int, c: int, d: int) -> int | None:
    """Better where both values are less; the product of two orders, so that some pairs are neither."""
    if (a, b) == (c, d):
        return EQUAL
    if a <= c and b <= d:
        return BETTER
    return WORSE if a >= c and b >= d else None


def _functions() -> dict[str, UserFunction]:
    """The same for arrays, as functions that are pickled whole: workers do not have this module."""

    def gaps(a: pa.Array, b: pa.Array) -> pa.Array:
        apart = pc.subtract(a, b)
        numbers = pc.subtract(pc.multiply(apart, apart), 2)
        return pc.if_else(pc.equal(pc.add(a, b), 3), None, numbers)

    def ratios(a: pa.Array, b: pa.Array) -> np.ndarray[Any, Any]:
        left, right = a.to_numpy(), b.to_numpy()
        with np.errstate(all="ignore"):
            return np.where(right == 0, np.nan, left / right)

    def boths(a: pa.Array, b: pa.Array, c: pa.Array, d: pa.Array) -> pa.Array:
        first, second = (np.sign(y.to_numpy() - x.to_numpy()) for x, y in ((a, c), (b, d)))
        return pa.array(np.sign(first + second).astype(np.int8), mask=first * second < 0)

    return {
        "gap": UserFunction("gap", gaps, ("bigint",) * 2, "bigint"),
        "ratio": UserFunction("ratio", ratios, ("double",) * 2, "double"),
        "both": UserFunction("both", boths, ("bigint",) * 2, "tinyint", is_partial_order=True),
    }


FUNCTIONS = _functions()
ORDERS: dict[str, tuple[str, Any]] = {
    "subset": ("array<int>", "subset"),
    "gap": ("bigint", ("number", gap)),
    "ratio": ("double", ("number", ratio)),
    "both": ("bigint", ("partial", both)),
}
"""Orders that look at values: the type that each compares, and the twin's rule."""


@dataclass(frozen=True)
class MatchRun:
    """One join, its rows in arrival order, cut into micro-batches with their watermarks."""

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    key_kinds: tuple[str, ...]
    rules: Rules
    left: tuple[dict[str, Any], ...]
    right: tuple[dict[str, Any], ...]
    batches: tuple[tuple[tuple[int, ...], tuple[int, ...], int, bool], ...]
    """Left rows, right rows (by place), watermark after, and whether to restart then."""
    algorithm: str = MATWIN

    def node(self) -> MatwinBestmatch:
        """The join."""
        fields = [("t", "bigint"), ("id", "bigint")]
        fields += [(f"y{i}", kind) for i, kind in enumerate(self.kinds)]
        fields += [(f"k{i}", kind) for i, kind in enumerate(self.key_kinds)]
        dimensions = [
            Dimension(
                f"l.y{i}",
                f"r.y{i}",
                name,
                None if eps is None else float(eps),
                function=FUNCTIONS.get(name),
            )
            for i, (name, eps) in enumerate(zip(self.names, self.rules.eps, strict=True))
        ]
        if self.rules.time_order is not None:
            time = Dimension("l.t", "r.t", self.rules.time_order, None, is_time=True)
            dimensions.insert(0, time)
        classes = tuple(
            KeyClass((f"l.k{i}", f"r.k{i}"), kind, self.rules.null_safe[i])
            for i, kind in enumerate(self.key_kinds)
        )
        return MatwinBestmatch(
            left=_scan("l", fields),
            right=_scan("r", fields),
            dimensions=tuple(dimensions),
            classes=classes,
            lo=self.rules.lo,
            hi=self.rules.hi,
            keep=(("l.id",), ("r.id",)),
            keep_unmatched=self.rules.keep_unmatched,
            schema=Schema((Field("l.id", "bigint"), Field("r.id", "bigint"))),
            kind=self.rules.kind,
            algorithm=self.algorithm,
        )

    def batch(self, alias: str, places: tuple[int, ...]) -> ChangeBatch | None:
        """Some rows of a side."""
        rows = [(self.left if alias == "l" else self.right)[place] for place in places]
        if not rows:
            return None
        columns = {
            f"{alias}.t": pa.array([row["t"] for row in rows], pa.int64()),
            f"{alias}.id": pa.array([row["id"] for row in rows], pa.int64()),
        }
        for i, kind in enumerate(self.kinds):
            values = [_arrow_value(row["y"][i]) for row in rows]
            columns[f"{alias}.y{i}"] = pa.array(values, arrow_type(kind))
        for i, kind in enumerate(self.key_kinds):
            columns[f"{alias}.k{i}"] = pa.array([row["k"][i] for row in rows], arrow_type(kind))
        times = np.array([row["t"] for row in rows], np.int64)
        return ChangeBatch(pa.RecordBatch.from_pydict(columns), times)


def draw_match_run(
    random: Random,
    *,
    kind: str = "left outer",
    most_rows: int = 16,
    key_kinds: tuple[str, ...] = ("bigint", "string"),
    by_value: bool = False,
) -> MatchRun:
    """A run of a join in up to three dimensions beside time; some of them by value, if told so."""
    names = ["mindist"] * random.randrange(4)
    if by_value:
        names = [random.choice(["mindist", *ORDERS]) for _ in range(random.randrange(1, 4))]
    kinds = tuple(
        ORDERS[name][0]
        if name in ORDERS
        else random.choice(["bigint", "int", "double", "float", "decimal(6,1)"])
        for name in names
    )
    has_limit = {"mindist", "gap", "ratio"}
    eps = tuple(
        random.choice([None, 0, Fraction(3, 2), 3, 5]) if name in has_limit else None
        for name in names
    )
    keyed = tuple(random.choice(key_kinds) for _ in range(random.randrange(3) if key_kinds else 0))
    time_orders = [None, "mindist", "youngest"]
    rules = Rules(
        eps=eps,
        null_safe=tuple(random.random() < 0.5 for _ in keyed),
        lo=random.randrange(-2, 7),
        hi=random.randrange(-2, 7),
        time_order=random.choice(time_orders if names else time_orders[1:]),
        keep_unmatched=random.random() < 0.5,
        kind=kind,
        orders=tuple(ORDERS[name][1] if name in ORDERS else "mindist" for name in names),
    )
    left, right = (_draw_side(random, most_rows, kinds, keyed, names) for _ in "lr")
    batches = draw_schedule(random, left, right)
    algorithm = random.choice([name for name in MATCH_ALGORITHMS if name not in PAGED])
    return MatchRun(kinds, tuple(names), keyed, rules, left, right, batches, algorithm)


def _draw_side(
    random: Random,
    most_rows: int,
    kinds: tuple[str, ...],
    keyed: tuple[str, ...],
    names: list[str],
) -> tuple[dict[str, Any], ...]:
    keys = {"bigint": [None, 1, 2], "string": [None, "", "a", "b"]}
    return tuple(
        {
            "id": place,
            "t": random.randrange(21),
            "y": tuple(
                _draw_value(random, kind, is_plain=name in ORDERS)
                for kind, name in zip(kinds, names, strict=True)
            ),
            "k": tuple(random.choice(keys[kind]) for kind in keyed),
        }
        for place in range(random.randrange(most_rows + 1))
    )


def _draw_value(random: Random, kind: str, *, is_plain: bool) -> Any:
    is_odd = random.random() > 0.85
    if kind == "array<int>":
        elements = [random.choice([None, 0, 1, 2, 3]) for _ in range(random.randrange(5))]
        return None if is_odd else elements
    if kind == "double":
        odd = [None, math.nan, math.inf, -math.inf, -0.0]
        return random.choice(odd) if is_odd else random.randrange(-8, 9) / 4
    if kind == "float":
        # Rounded by what they are subtracted from, and far enough apart to leave 32 bits.
        odd = [None, math.nan, math.inf, -math.inf, -0.0, 2.0**24, 2.0**24 + 2, 3e38, -3e38]
        drawn = random.choice(odd) if is_odd else random.choice([0.5, 0.1, 1.6, -1.4, 2.5, 3.1])
        return None if drawn is None else np.float32(drawn)
    if kind.startswith("decimal"):
        return None if is_odd else Fraction(random.randrange(-8, 9), 10)
    odd = [None] if kind == "int" or is_plain else [None, 2**63 - 1, -(2**63)]
    return random.choice(odd) if is_odd else random.randrange(-4, 5)


def draw_schedule(
    random: Random, left: tuple[dict[str, Any], ...], right: tuple[dict[str, Any], ...]
) -> tuple[tuple[tuple[int, ...], tuple[int, ...], int, bool], ...]:
    """Cuts of both streams into batches: no row is below the watermark as its batch begins."""
    sides = {"l": left, "r": right}
    arrivals = [
        (side, place, row["t"] + random.randrange(7))
        for side, rows in sides.items()
        for place, row in enumerate(rows)
    ]
    arrivals.sort(key=lambda arrival: arrival[2])
    batches, watermark, rest = [], MIN_TICK, arrivals
    while rest:
        size = random.randrange(1, 9)
        now, rest = rest[:size], rest[size:]
        open_times = [sides[side][place]["t"] for side, place, _ in rest]
        if random.random() < 0.5:
            watermark = max(watermark, min(open_times, default=30) - random.randrange(4))
        batches.append(
            (
                tuple(place for side, place, _ in now if side == "l"),
                tuple(place for side, place, _ in now if side == "r"),
                watermark,
                random.random() < 0.5,
            )
        )
    return (*batches, ((), (), MAX_TICK, False))


def _scan(alias: str, fields: list[tuple[str, str]]) -> ScanStream:
    schema = Schema(tuple(Field(f"{alias}.{name}", kind) for name, kind in fields))
    names = tuple(name for name, _ in fields)
    return ScanStream(alias, alias, names, schema, f"{alias}.t", "bigint", 0)


def _arrow_value(value: Any) -> Any:
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return value
