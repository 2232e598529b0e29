r"""The five queries of the 2004 paper's workload, and how each becomes a machine.

    Q1   sales -> select -> SUM                     Q4   sales a -> select \
    Q2   sales -> favorite items -> DISTINCT                                W-Join -> answer
    Q3   sales -> favorite stores -> GROUP BY            sales b -> select /
                                                    Q5   sales a, sales b -> W-Join -> MAX

A join's selectivity is taken as results per tuple that comes to it: that is how a join in the place
of a selection makes the stream above it thinner, and the one reading under which the paper's Q5
stores hundreds of pairs and not millions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow_papers.experiments.sched.sales import PRICES, STORES, Sales
from windrow_papers.experiments.workloads.streams import SECOND, Int64s
from windrow_papers.kernels.scheduling import machine as m

SCHEDULINGS = {"ita": m.ITA, "tpa": m.TPA, "nta": m.NTA}


@dataclass(frozen=True)
class Costs:
    """What work takes on the simulated clock, in microseconds.

    Attributes:
        run_us: an operator that takes a tuple from its queue, or is scheduled to expire.
        touch_us: a look-up, a tuple compared, an operator asked for its clock.
        scan_us: a tuple that a sequential scan goes over.
    """

    run_us: int
    touch_us: int
    scan_us: int

    def slower(self, times: float) -> Costs:
        """The same proportion on a slower machine."""
        return Costs(
            round(self.run_us * times), round(self.touch_us * times), round(self.scan_us * times)
        )

    def by_kind(self) -> list[int]:
        """In the order in which work is counted."""
        costs = {m.RUNS: self.run_us, m.SCANNED: self.scan_us}
        return [costs.get(kind, self.touch_us) for kind in range(m.PROBES + 1)]


MACHINE = Costs(run_us=20, touch_us=10, scan_us=2)
"""About a thousand times what the compiled operators take where these figures were made."""

FREE = Costs(0, 0, 0)


@dataclass(frozen=True)
class Setting:
    """What a query is run with.

    Attributes:
        windows_s: of the first and of the second stream.
        selectivity: of the selection, or of the join with a table.
        costs: of work.
    """

    windows_s: tuple[float, float]
    selectivity: float = 1.0
    costs: Costs = MACHINE

    @property
    def windows(self) -> tuple[int, int]:
        """The windows in ticks."""
        first, second = self.windows_s
        return round(first * SECOND), round(second * SECOND)


@dataclass(frozen=True)
class WorkloadQuery:
    """A query of the workload.

    Attributes:
        name: Q1 to Q5.
        sql: over streams s0 and s1; {w0} and {w1} are the windows in ticks, {p} a price.
        streams: how many it reads.
        leaf: what stands above a scan.
        root: what stands at the top.
        tested: the column that the leaf looks at.
        key: the column that is grouped, told apart or joined by; None: all are of one group.
        value: the column that is summed up, compared or shown.
        windows_s: as in the paper.
        selectivity: of the leaf, as in the paper.
        join_selectivity: results per tuple that comes to the join; 0: there is no join.
    """

    name: str
    sql: str
    streams: int
    leaf: int
    root: int
    tested: str
    key: str | None
    value: str
    windows_s: tuple[float, float] = (600.0, 600.0)
    selectivity: float = 0.25
    join_selectivity: float = 0.0

    def setting(self, *, scale: float = 1.0, selectivity: float | None = None) -> Setting:
        """The paper's windows, or a part of them, and selectivity, or another."""
        first, second = self.windows_s
        share = self.selectivity if selectivity is None else selectivity
        return Setting((first * scale, second * scale), share)

    def items(self, rate_per_s: float, setting: Setting, join_selectivity: float) -> int:
        """How many items there are, so that the join has its selectivity; without one 1,000."""
        if not join_selectivity:
            return 1_000
        alive = rate_per_s * sum(setting.windows_s) / 2
        share = setting.selectivity if self.leaf == m.SELECT else 1.0
        return max(1, round(alive * share / join_selectivity))

    def text(self, setting: Setting) -> str:
        """The query as Windrow reads it, over times that are whole numbers."""
        first, second = setting.windows
        return self.sql.format(w0=first, w1=second, p=_threshold(setting))


Q1 = WorkloadQuery(
    "Q1",
    "SELECT SUM(quantity) AS total FROM s0 [RANGE {w0}] WHERE price > {p}",
    streams=1, leaf=m.SELECT, root=m.GROUP, tested="price", key=None, value="quantity",
)  # fmt: skip
Q2 = WorkloadQuery(
    "Q2",
    "SELECT DISTINCT s.item FROM s0 s [RANGE {w0}], favorite_items f WHERE s.item = f.item",
    streams=1, leaf=m.LOOK_UP, root=m.DISTINCT, tested="item", key="item", value="quantity",
    selectivity=0.1,
)  # fmt: skip
Q3 = WorkloadQuery(
    "Q3",
    "SELECT s.item, SUM(s.quantity) AS total FROM s0 s [RANGE {w0}], favorite_stores f "
    "WHERE s.store = f.store GROUP BY s.item",
    streams=1, leaf=m.LOOK_UP, root=m.GROUP, tested="store", key="item", value="quantity",
    selectivity=0.1,
)  # fmt: skip
Q4 = WorkloadQuery(
    "Q4",
    "SELECT a.item, a.quantity AS qa, b.quantity AS qb FROM s0 a [RANGE {w0}], s1 b [RANGE {w1}] "
    "WHERE a.item = b.item AND a.price > {p} AND b.price > {p} EMIT CHANGES",
    streams=2, leaf=m.SELECT, root=m.ANSWER, tested="price", key="item", value="quantity",
    join_selectivity=0.6,
)  # fmt: skip
Q5 = WorkloadQuery(
    "Q5",
    "SELECT MAX(a.price) AS most FROM s0 a [RANGE {w0}], s1 b [RANGE {w1}] WHERE a.item = b.item",
    streams=2, leaf=m.NOTHING, root=m.MAX, tested="price", key="item", value="price",
    windows_s=(600.0, 300.0), selectivity=1.0, join_selectivity=0.1,
)  # fmt: skip
WORKLOAD = (Q1, Q2, Q3, Q4, Q5)


def _threshold(setting: Setting) -> int:
    return round(PRICES * (1 - setting.selectivity))


def favorites(query: WorkloadQuery, sales: Sales, setting: Setting) -> Int64s:
    """The values of the table that the query looks up: the first ones, so many as it has to be."""
    there = STORES if query.tested == "store" else int(sales.item.max(initial=0)) + 1
    return np.arange(max(1, round(there * setting.selectivity)))


def machine_of(query: WorkloadQuery, scheduling: str, sales: Sales, setting: Setting) -> m.Machine:
    """The query under a scheduling, before its first tuple."""
    tuples = np.zeros((len(sales), m.VALUE + 1), np.int64)
    tuples[:, m.STREAM], tuples[:, m.TIME] = sales.stream, sales.time
    tuples[:, m.TESTED] = getattr(sales, query.tested)
    tuples[:, m.VALUE] = getattr(sales, query.value)
    if query.key is not None:
        tuples[:, m.KEY] = getattr(sales, query.key)
    members = favorites(query, sales, setting)
    passing = tuples[:, m.TESTED] > _threshold(setting) if query.leaf == m.SELECT else slice(None)
    has_join = query.streams > 1
    plan = np.array(
        [
            SCHEDULINGS[scheduling], query.leaf, query.root, has_join, _threshold(setting),
            *setting.windows,
            *setting.costs.by_kind(),
        ],
        np.int64,
    )  # fmt: skip
    pairs = count_pairs(tuples[passing], setting.windows) if has_join else 0
    return m.empty_machine(plan, members, tuples, pairs)


def count_pairs(tuples: Int64s, windows: tuple[int, int]) -> int:
    """How many pairs of equal keys are alive together at some instant.

    A tuple at t with window w of its own meets one at t' with window w' if t - w' <= t' <= t + w.
    """
    first, second = (tuples[tuples[:, m.STREAM] == number] for number in (0, 1))
    if not len(first) or not len(second):
        return 0
    span = int(tuples[:, m.TIME].max()) + max(windows) + 1
    places = np.sort(second[:, m.KEY] * 3 * span + span + second[:, m.TIME])
    base = first[:, m.KEY] * 3 * span + span + first[:, m.TIME]
    reach = np.minimum(windows, span)
    low = np.searchsorted(places, base - reach[1], side="left")
    high = np.searchsorted(places, base + reach[0], side="right")
    return int((high - low).sum())
