"""The inner join by time windows that may hold and do less than all of its rows take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from windrow.allocation.loads import Case
from windrow.physical.algorithms import ASYMMETRIC
from windrow.physical.estimates import show_count, show_rate
from windrow.physical.explain.facts import Fact, lag_terms, largest_lateness, said
from windrow.physical.load_shedding.enough import check_enough
from windrow.physical.load_shedding.limits import (
    BEST,
    OF_A_STRUCTURE,
    OF_AN_INDEX,
    OF_ITS_OWN,
    Expected,
    Least,
    Shedding,
    pane_ticks,
)
from windrow.physical.nodes.shapes import fields_of
from windrow.physical.nodes.time_join import TimeJoin
from windrow.plan.units import show_bytes, show_ticks
from windrow.schema import Schema

LEAST_PART = 0.005
"""A smaller part of the answer is not told by its percentage, which would be 0."""

_DIVIDED = {
    BEST: "so that the most results are expected",
    "equal": "as much to each stream",
    "rates": "in proportion to the arrival rates",
    "windows": "in proportion to the windows",
    "inverse": "in inverse proportion to the arrival rates",
}


@dataclass(frozen=True)
class SheddingJoin(TimeJoin):
    """An inner join by time of which a random part of tuples is kept, or probes.

    Where totals are estimated from its results, `schema` ends with `physical.load_shedding.limits.hidden_fields`.

    Attributes:
        shedding: what it may hold and do.
    """

    shedding: Shedding = field(kw_only=True)

    identity_later = ("shedding",)
    alternatives = (ASYMMETRIC,)
    demand = "windrow.run.spark.shed_bucket_demand:ShedDemand.of"
    workload = "windrow.optimize.load_shedding.expected:left_workload"
    is_limited = True
    bucket_keys = ()  # its buckets are told of one another
    can_expire = False  # rows may go before their end
    joins_what_is_alive = False

    @classmethod
    def of(cls, join: TimeJoin, shedding: Shedding, schema: Schema) -> SheddingJoin:
        """A join as far as memory and processor go, with the columns that totals need."""
        return cls(**fields_of(join, TimeJoin) | {"schema": schema}, shedding=shedding)

    @property
    def pane(self) -> int:
        """Ticks of event time for which it decides at once."""
        return pane_ticks(self.shortest, self.shedding.panes)

    @property
    def waiting_ticks(self) -> int:
        """For how many ticks arrivals wait: for their pane to be over, and for late ones."""
        return self.pane + self._below + largest_lateness(self.scans)

    @property
    def sheds(self) -> bool:
        """Unless it fails rather than leave probes out, and holds all."""
        return self.shedding.sheds

    @property
    def is_for_what_is_left(self) -> bool:
        """Once all rates are known."""
        return self.shedding.expected is not None

    @property
    def shed_row_bytes(self) -> int:
        """By its keys and other conditions.

        The windows of two inputs may be kept in structures. Their tuples take as much whether they are
        or not: how they are looked up decides neither who is drawn nor how many.
        """
        indexes = OF_AN_INDEX * (max(1, len(self.classes)) + len(self.predicates))
        return OF_ITS_OWN + (max(indexes, OF_A_STRUCTURE) if len(self.inputs) == 2 else indexes)

    def in_bucket(self, buckets: int) -> SheddingJoin:
        """The same with an equal part of what it may hold and do."""
        part = replace(self, shedding=self.shedding.part(buckets))
        check_enough(part, buckets)
        return part

    @property
    def own_delay(self) -> int:
        """It decides once a pane is over."""
        return self.pane

    @property
    def operator(self) -> str:
        """By backward evaluation, or by structures that follow what is kept."""
        if self.is_in_structures:
            return "windrow.operators.load_shedding.structured_join:StructuredShedJoinOp"
        return "windrow.operators.load_shedding.join:ShedJoinOp"

    # What EXPLAIN says of it: what is shed, how much of it, and what is left of the answer.

    @property
    def probe_limit(self) -> str:
        """By its service rate, where someone has said one."""
        if not self.shedding.service_rate:
            return ""
        beyond = "a random sample does" if self.shedding.may_skip else "the query fails"
        rate = show_rate(self.shedding.service_rate, self.time_type)
        return f"at most {rate} probe; if more arrive, {beyond}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """How little of the answer is expected, and what to raise for more of it."""
        expected, rate = self.shedding.expected, self._too_many
        if rate:
            return (f"{rate}: raise service_rate",)
        if expected is None or not self.shedding.sheds or expected.recall >= 1:
            return ()
        is_told = expected.recall >= LEAST_PART
        part = f"only about {_recall(expected)}" if is_told else "less than 1%"
        raised = {Case.processor: "service_rate", Case.memory: "memory"}
        what = raised.get(Case(expected.case), "memory and service_rate")
        return (f"{part} of the results are expected: raise {what}",)

    def _own_facts(self, below: int) -> list[Fact]:  # noqa: ARG002
        """What is shed, by which rule, and what is expected of it."""
        return said(
            ("sheds", self._what()),
            ("divided", self._divided()),
            ("expected", self._expected()),
            ("on Spark", _on_spark(self.shedding)),
        )

    def _own_limit(self) -> list[str]:
        """The memory that all of it shares, where that is limited."""
        if self.shedding.memory is None:
            return []
        limit = _show_memory(self.shedding)
        return [f"windows and waiting arrivals together <= {limit}, plus the batch being processed"]

    def _own_state(self) -> list[str]:
        lag = " + ".join([self._shown_pane, *lag_terms(self, self._below)])
        waiting = [
            f"arrivals wait until the watermark has passed their pane of {self._length}:",
            f"per stream up to its rate x ({lag}) + one batch",
        ]
        if self.shedding.memory is None:
            return waiting
        marked = "structures hold up to 25% more entries, for expired tuples"
        return [
            *waiting,
            f"waiting arrivals have 1 / {len(self.inputs)} of the memory, and what windows leave;"
            " beyond that a"
            " random sample of them waits",
            *([marked] if self.is_in_structures else []),
        ]

    def _emission(self) -> str:
        over = f"each combination once the pane of its last tuple is over ({self._length})"
        return f"{over}; adds a delay of {self._shown_pane}"

    @property
    def _below(self) -> int:
        """What its watermark trails by."""
        return max(child.delay for child in self.inputs)

    @property
    def _shown_pane(self) -> str:
        return show_ticks(self.pane, self.time_type)

    @property
    def _length(self) -> str:
        """The length of a pane with its unit, where event time has plain numbers too."""
        if self.time_type != "bigint":
            return self._shown_pane
        return f"{self._shown_pane} tick{'' if self.pane == 1 else 's'}"

    def _what(self) -> list[str]:
        lines, shedding = [], self.shedding
        if shedding.memory is not None:
            lines.append(
                "memory: a random sample of each window is kept if all tuples, waiting arrivals"
                f" included, are more than {_show_memory(shedding)}"
            )
        if shedding.service_rate is not None:
            rate = show_rate(shedding.service_rate, self.time_type)
            beyond = (
                "beyond that a random sample of the arrivals probes, and all of them may be kept"
                if shedding.may_skip
                else "beyond that the query fails"
            )
            lines.append(
                f"probes: at most {rate}, and a window's worth or one per stream in a burst; {beyond}"
            )
        lines.append(
            "pane by pane: what is kept goes into its window's structure, whether it probes or not"
            if self.is_in_structures
            else "pane by pane, by backward evaluation"
        )
        if shedding.sheds:
            lines.append(
                f"drawn by a hash of the tuple and of seed {shedding.seed}: the same after a restart,"
                " and in"
                " any order of arrival"
                + (
                    ""
                    if shedding.memory is None
                    else " while all that waits fits beside the windows"
                )
            )
        return lines

    def _divided(self) -> list[str]:
        shedding = self.shedding
        if not shedding.sheds:
            return []
        lines = [f"{_DIVIDED[shedding.strategy]} (shed_strategy = {shedding.strategy})"]
        if shedding.memory is not None:
            kept = self._least(shedding.least_windows, lambda own: f"{own:g} tuples", "memory")
            lines += [f"kept at least: {own}" for own in kept]
        if shedding.service_rate is not None:
            per_tick = partial(show_rate, time_type=self.time_type)
            probing = self._least(shedding.least_rates, per_tick, "service rate")
            lines += [f"probing at least: {own}" for own in probing]
        return lines

    def _least(
        self, least: Sequence[Least], show: Callable[[float], str], of_what: str
    ) -> list[str]:
        """What each stream gets at least, in one line; none where that is nothing."""
        if not any(own.amount for own in least):
            return []
        named = [
            f"{alias} {f'{own.amount:.0%}' if own.is_share else show(own.amount)}"
            for alias, own in zip(self.aliases, least, strict=True)
        ]
        return [", ".join(named) + (f" of the {of_what}" if "%" in named[-1] else "")]

    def _expected(self) -> list[str]:
        shedding, expected = self.shedding, self.shedding.expected
        if too_many := self._too_many:
            return [f"{too_many} (on_service_rate = fail)"]
        if not shedding.sheds:
            return []
        if expected is None:
            return ["not estimated: not all rates are known; progress figures show the recall"]
        lines = [f"{expected.case}: recall {_recall(expected)}"]
        if shedding.is_in_bytes:
            guessed = "; texts and nested values are guessed" if expected.is_width_assumed else ""
            lines.append(f"a tuple is assumed to take {show_bytes(expected.row_bytes)}{guessed}")
        if expected.recall < 1:
            members = enumerate(self.aliases)
            lines += [_of_input(expected, at, alias, self.time_type) for at, alias in members]
            is_decided = self.estimate is not None and self.estimate.is_decisive
            if is_decided and not self.is_in_structures:
                lines.append("look-ups and their order were chosen for these rates and windows")
        return lines

    @property
    def _too_many(self) -> str:
        """That more arrive than may probe, where the query fails then; "" elsewhere."""
        shedding = self.shedding
        allowed = None if shedding.may_skip else shedding.service_rate
        if shedding.expected is None or allowed is None or sum(shedding.expected.rates) <= allowed:
            return ""
        arriving = show_rate(sum(shedding.expected.rates), self.time_type)
        return (
            f"the query fails: {arriving} arrive, more than the service rate of"
            f" {show_rate(allowed, self.time_type)}"
        )


def _show_memory(shedding: Shedding) -> str:
    assert shedding.memory is not None
    if shedding.is_in_bytes:
        return f"{show_bytes(int(shedding.memory))}, each tuple as wide as the widest so far"
    return f"{int(shedding.memory):,} tuples"


def _recall(expected: Expected) -> str:
    """As text; whole only where it is."""
    return "100%" if expected.recall == 1 else f"{min(expected.recall, 0.99):.0%}"


def _of_input(expected: Expected, at: int, alias: str, time_type: str) -> str:
    waiting, waited = expected.waiting[at], expected.waited[at]
    return (
        f"{alias}: {show_rate(expected.probing[at], time_type)} of"
        f" {show_rate(expected.rates[at], time_type)} probe,"
        f" {show_count(expected.kept[at])} of {show_count(expected.windows[at])} tuples are kept"
        + (f", {show_count(waited)} of {show_count(waiting)} wait" if waited < waiting else "")
    )


def _on_spark(shedding: Shedding) -> list[str]:
    lines = []
    totals = "for totals each bucket needs a sample of its own"
    if shedding.memory is not None and shedding.is_estimated and not shedding.fits(0):
        lines.append(f"memory is divided evenly among the buckets: {totals}")
    elif shedding.memory is not None:
        lines += [
            "memory is divided among the buckets by what each would hold, so that a frequent key"
            " has the"
            " room that others leave:",
            "a batch run counts its rows first, while streaming each micro-batch tells all buckets",
        ]
        if shedding.is_estimated:
            lines.append(f"where not all fits it is divided evenly: {totals}")
    if shedding.service_rate is not None:
        lines.append(
            "probes are divided among the buckets pane by pane, by what each is sent: a frequent"
            " key has"
            " those that others leave"
        )
    return [*lines, "the bounds hold for the query"]
