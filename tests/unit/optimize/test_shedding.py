"""Options of shedding become what a window join may hold and do, or are refused with the reason."""

from __future__ import annotations

import pyarrow as pa
import pytest
from golden.catalog import CATALOG

import windrow
from windrow.errors import WindrowError
from windrow.operators.engine.base import build
from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.operators.load_shedding.structured_join import StructuredShedJoinOp
from windrow.optimize.load_shedding.expected import Width, expected_width
from windrow.optimize.options import by_keyword
from windrow.optimize.planner import optimize
from windrow.physical.explain.algorithm_facts import structure_facts
from windrow.physical.load_shedding.limits import Least
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.stateless import ProjectRows
from windrow.physical.nodes.time_join import TimeJoin
from windrow.run.spark.stages import Spread, plan_stage
from windrow.sql.compile import compile_query

JOIN = "SELECT a.x FROM a, b WHERE a.k = b.k WINDOW = INTERVAL 80 SECONDS"
COUNT = (
    "SELECT j.y, COUNT(*) AS n FROM (SELECT a.y FROM a, b WHERE a.k = b.k AND a.x + b.x > 3 "
    "WINDOW = INTERVAL 80 SECONDS) j [RANGE INTERVAL 60 SECONDS] GROUP BY j.y"
)
MEMORY = {"memory": "500 tuples", "on_memory": "shed"}
RATE = {"service_rate": 200, "on_service_rate": "shed"}
SECOND = 1_000_000


def planned(sql: str, **options: object):
    query = compile_query(sql, CATALOG, DuckdbTypes())
    return optimize(query, by_keyword(options)).root


def join_of(node) -> TimeJoin:
    return node if isinstance(node, TimeJoin) else join_of(node.inputs[0])


def _expected(join: TimeJoin) -> list[str]:
    """What EXPLAIN says is expected of a join."""
    return dict(join.facts(by_keyword({}), str)).get("expected", [])


def refusal(sql: str, **options: object) -> str:
    with pytest.raises(WindrowError) as caught:
        planned(sql, **options)
    return str(caught.value)


def test_options_reach_the_join():
    join = join_of(planned(JOIN, **MEMORY, **RATE, seed=7, shed_strategy="equal",
                           shed_least="b = 10%, a = 40", shed_least_rate="1200 per minute"))  # fmt: skip
    shedding = join.shedding
    assert (shedding.memory, shedding.is_in_bytes, shedding.seed) == (500, False, 7)
    assert shedding.service_rate == 200 / SECOND
    assert shedding.strategy == "equal"
    assert shedding.least_windows == (Least(40.0), Least(0.1, is_share=True))
    assert shedding.least_rates == (Least(20 / SECOND),) * 2
    assert not shedding.is_estimated
    assert join.pane == join.delay == 5 * SECOND


def test_hints_reach_the_join_as_keywords_do():
    hints = "memory(500 tuples), on_memory(shed), service_rate(200), on_service_rate(shed), seed(7)"
    hinted = join_of(planned(JOIN.replace("SELECT", f"SELECT /*+ {hints} */")))
    assert hinted.shedding == join_of(planned(JOIN, **MEMORY, **RATE, seed=7)).shedding


def test_a_query_without_these_options_does_not_shed():
    assert not join_of(planned(JOIN)).is_limited
    assert not join_of(planned(JOIN, memory="500 tuples", on_memory="spill")).is_limited


def test_memory_may_spill_while_probes_are_shed():
    shedding = join_of(planned(JOIN, memory="1 MB", on_memory="spill", **RATE)).shedding
    assert shedding.memory is None
    assert shedding.sheds


def test_results_below_an_aggregate_carry_their_draws_up_to_it():
    root = planned(COUNT, **MEMORY)
    join = join_of(root)
    hidden = ("$draw_0", "$chance_0", "$draw_1", "$chance_1")
    assert join.schema.names[-4:] == hidden
    assert join.shedding.is_estimated
    assert join.shedding.least_windows == (Least(0.1, is_share=True),) * 2
    between, node = [], root
    while not isinstance(node, TimeJoin):
        between.append(node)
        node = node.inputs[0]
    above = next(n for n, node in enumerate(between) if isinstance(node, SlidingAggregate))
    assert all(node.schema.names[-4:] == hidden for node in between[above + 1 :])
    assert any(isinstance(node, ProjectRows) for node in between[above + 1 :])
    assert not any(name in hidden for node in between[: above + 1] for name in node.schema.names)


def test_an_aggregate_over_a_join_that_only_fails_is_as_ever():
    join = join_of(planned(COUNT, service_rate=200))
    assert not join.shedding.is_estimated
    assert not any(name.startswith("$") for name in join.schema.names)


FAST = "SELECT fast.x FROM fast, slow WHERE fast.k = slow.k WINDOW = INTERVAL 10 SECONDS"


@pytest.mark.parametrize(
    ("options", "case", "recall"),
    [
        # 1,000 and 10 per second; windows of 10,000 and 100 tuples. Of a pane 625 and 6.25 wait: half of
        # the memory would be theirs. Of the rest 100 are for the slow stream, whose window is kept
        # whole, and 1,268.75 for the fast one.
        ({"memory": "20000 tuples", "on_memory": "shed"}, "nothing is short", 1.0),
        ({"memory": "2000 tuples", "on_memory": "shed"}, "memory is short",
         (1 + 0.126875) / 2),
        ({"service_rate": 505, "on_service_rate": "shed"}, "the processor is short", 0.7475),
        (
            {"memory": "2000 tuples", "on_memory": "shed",
             "service_rate": 500, "on_service_rate": "shed"},
            "processor and memory are short", (490 / 1_000 + 0.126875) / 2,
        ),
    ],
)  # fmt: skip
def test_what_is_expected_follows_the_papers_four_cases(options, case, recall):
    expected = join_of(planned(FAST, **options)).shedding.expected
    assert expected.case == case
    assert expected.recall == pytest.approx(recall, rel=1e-6)


BAND = "SELECT f.x FROM fast f, fast g WHERE abs(f.x - g.x) < 5 WINDOW = INTERVAL 10 SECONDS"


@pytest.mark.parametrize(("sql", "row_bytes"), [(FAST, 40 + 88 + 10), (BAND, 40 + 88 + 5)])
def test_memory_in_bytes_is_as_many_tuples_as_their_types_tell(sql, row_bytes):
    shed = {"on_memory": "shed"}
    tuples = join_of(planned(sql, memory="2000 tuples", **shed))
    counted = join_of(planned(sql, memory=f"{2_000 * row_bytes} B", **shed))
    assert counted.shedding.expected == tuples.shedding.expected
    assert counted.algorithm == "asymmetric"
    assert counted.structures == tuples.structures
    assert counted.estimate == tuples.estimate
    assert f"a tuple is assumed to take {row_bytes} B" in _expected(counted)


def test_texts_are_taken_for_as_long_as_they_often_are():
    sql = "SELECT a.y FROM a, b WHERE a.k = b.k WINDOW = INTERVAL 80 SECONDS"
    join = join_of(planned(sql, **MEMORY))
    assert expected_width(join) == Width(40 + 88 + 5 + 25, is_assumed=True)


def test_plans_are_weighed_for_what_is_left_after_the_allocation():
    whole = join_of(planned(FAST))
    left = join_of(planned(FAST, memory="2000 tuples", on_memory="shed"))
    assert left.estimate.output == pytest.approx(whole.estimate.output * 0.5634375)
    assert left.estimate.plans[0].seconds < whole.estimate.plans[0].seconds
    assert left.structures == ("hash", "ttree")
    assert len(left.estimate.plans) == 16 + 2
    assert {plan.name for plan in left.estimate.plans} >= {"bew-hash", "bew-nested-loop"}


BAND = "SELECT fast.x FROM fast, slow WHERE abs(fast.x - slow.x) < 3 WINDOW = INTERVAL 10 SECONDS"
TWINS = "SELECT f.x FROM fast f, fast g WHERE abs(f.x - g.x) < 3 WINDOW = INTERVAL 10 SECONDS"


@pytest.mark.parametrize(
    ("sql", "options", "structures"),
    [
        # Of 1,000 and 10 per second: what is kept, and what probes it, decide.
        (FAST, {"memory": "20000 tuples", "on_memory": "shed"}, ("hash", "ttree")),
        (FAST, {"service_rate": 2, "on_service_rate": "shed"}, ("hash", "buffer")),
        (FAST, {"service_rate": 0.001, "on_service_rate": "shed"}, ("buffer", "buffer")),
        (BAND, {"memory": "5000 tuples", "on_memory": "shed"}, ("buffer", "ttree")),
        (TWINS, {"memory": "5000 tuples", "on_memory": "shed"}, ("btree", "btree")),
        (TWINS, {"memory": "20 tuples", "on_memory": "shed"}, ("buffer", "buffer")),
        # Without rates, trees where a band is bounded from both sides.
        (BAND.replace("fast", "a").replace("slow", "b"), MEMORY, ("ttree", "ttree")),
        (JOIN, MEMORY, ()),
        # As asked for.
        (FAST, {**MEMORY, "structure": "btree/hash"}, ("btree", "hash")),
        (FAST, {**MEMORY, "algorithm": "bew"}, ()),
        (BAND, {**MEMORY, "algorithm": "bew"}, ()),
    ],
)
def test_structures_are_chosen_for_what_the_allocation_leaves(sql, options, structures):
    assert join_of(planned(sql, **options)).structures == structures


@pytest.mark.parametrize("limit", [MEMORY, {"service_rate": 0.5, "on_service_rate": "shed"}])
def test_streams_about_as_fast_are_ready_for_either_division(limit):
    session = windrow.Session()
    for name, rate in {"a": 1.0, "b": 0.98}.items():
        table = pa.table({"ts": [0, 1], "x": [1, 2]})
        session.stream(name, table, time="ts", rate=rate)
    query = "SELECT a.x FROM a, b WHERE abs(a.x - b.x) < 3 WINDOW = 1000"
    text = session.explain(query, **limit)
    # The slower one is kept, or the other probes; which that is, a running join finds out.
    assert " 0 of 1," in text or " 0 per tick of" in text
    (algorithm,) = (line for line in text.splitlines() if "algorithm" in line)
    assert "Asymmetric" in algorithm
    assert "buffer" not in algorithm


def test_explain_names_the_structures_that_run():
    join = join_of(planned(FAST, memory="2000 tuples", on_memory="shed"))
    facts = dict(structure_facts(join, by_keyword({}), "fast.k = slow.k"))
    assert facts["algorithm"] == ["Asymmetric, hash/ttree"]
    assert facts["why"] == [
        "hash/ttree: each costs least for the tuples that are kept and the arrivals that probe"
    ]
    assert isinstance(build(join), StructuredShedJoinOp)


def test_a_rate_that_is_bound_to_be_exceeded_is_told_beforehand():
    for memory in ({}, {"memory": "100 tuples", "on_memory": "shed"}):
        join = join_of(planned(FAST, service_rate=500, **memory))
        assert _expected(join) == [
            "the query fails: 1,000 per second arrive, more than the service rate of 500 per second "
            "(on_service_rate = fail)"
        ]
    join = join_of(planned(FAST, service_rate=2_000))
    assert _expected(join) == []


def test_a_recall_of_nearly_all_is_not_shown_as_all():
    memory = {"memory": "11360 tuples", "on_memory": "shed"}  # two of 11,362.5 are missing
    join = join_of(planned(FAST, **memory))
    assert _expected(join)[0] == "memory is short: recall 99%"


REFUSED = [
    (JOIN.replace("FROM a, b WHERE", "FROM a LEFT JOIN b ON"), MEMORY, "is a left outer join"),
    ("SELECT a.x FROM a [ROWS 9], b [ROWS 9] WHERE a.k = b.k", MEMORY, "count tuples"),
    (JOIN, {**MEMORY, "algorithm": "few"}, "the algorithm few does not shed"),
    ("SELECT x FROM a WHERE x > 3", MEMORY, "joins no streams by windows"),
    (
        "SELECT j.x FROM (SELECT a.x, a.k, a.ts FROM a, b WHERE a.k = b.k WINDOW = INTERVAL 9 "
        "SECONDS) j, c WHERE j.k = c.k WINDOW = INTERVAL 9 SECONDS",
        MEMORY, "has more than one join",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "options", "why"), REFUSED)
def test_what_does_not_shed_is_refused_with_the_reason(sql, options, why):
    text = refusal(sql, **options)
    assert text.startswith("UnsupportedError[unsupported-shedding]: ")
    assert why in text.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"on_service_rate": "shed"},
            "PlanError[on-service-rate-without-service-rate]: on_service_rate is 'shed', but service_rate is not set\n  without service_rate every tuple probes\n"
            "  hint: set both, for instance service_rate = '1000 per second'",
        ),
        (
            {"memory": "1 MB", "seed": 3},
            "PlanError[nothing-is-shed]: seed is set, but nothing is shed\n"
            "  hint: set on_memory = 'shed' or on_service_rate = 'shed', or leave it out",
        ),
        (
            {**RATE, "shed_least": "10%"},
            "PlanError[nothing-is-shed]: shed_least is set, but nothing is shed\n  hint: set on_memory = 'shed', or leave it out",
        ),
        (
            {**MEMORY, "shed_least": "a = 300, b = 201"},
            "PlanError[shed-least-too-much]: shed_least requires 100.2% of what there is for a, b\n"
            "  every stream gets its minimum before anything else is divided\n"
            "  hint: lower it, or allow more",
        ),
        (
            {**MEMORY, "shed_least": "c = 10%"},
            "PlanError[shed-least-of-other-streams]: shed_least names 'c', which is not a stream of the "
            "join of a, b\n  hint: one of a, b, as the query calls it",
        ),
        (
            {**RATE, "service_rate": "9 per tock"},
            "PlanError[bad-option]: a rate per tock does not fit streams whose time is "
            "timestamp\n  hint: say it per second, for instance '1000 per second'",
        ),
        (
            {**RATE, "service_rate": 0},
            "PlanError[bad-option]: service_rate = 0 is not a rate\n"
            "  hint: from 1e-09 to 1e+18, for instance '1000 per second', or a number per second",
        ),
        (
            {**RATE, "service_rate": 1e308},
            "PlanError[bad-option]: service_rate = 1e+308 is not a rate\n"
            "  hint: from 1e-09 to 1e+18, for instance '1000 per second', or a number per second",
        ),
        (
            {**RATE, "service_rate": 10**5000},
            "PlanError[bad-option]: service_rate = 1e5000 is not a rate\n"
            "  hint: from 1e-09 to 1e+18, for instance '1000 per second', or a number per second",
        ),
        (
            {**MEMORY, "shed_least": 10**400},
            "PlanError[bad-option]: shed_least = 1e400 does not say what each stream gets at least\n"
            "  hint: for instance '100 tuples', '10%', or for single streams 'a = 10%, b = 5%'; "
            "numbers up to 1e+18",
        ),
        (
            {**RATE, "shed_least_rate": "1e400 per second"},
            "PlanError[bad-option]: shed_least_rate = '1e400 per second' does not say what each "
            "stream gets at least\n  hint: for instance '50 per second', '10%', or for single "
            "streams 'a = 10%, b = 5%'; numbers up to 1e+18",
        ),
        (
            {**RATE, "shed_strategy": "best of all"},
            "PlanError[bad-option]: shed_strategy = 'best of all' is not a way to divide memory or "
            "probes\n  hint: one of best, equal, rates, inverse, windows",
        ),
        (
            {**MEMORY, "shed_least": "a lot"},
            "PlanError[bad-option]: shed_least = 'a lot' does not say what each stream gets at "
            "least\n  hint: for instance '100 tuples', '10%', or for single streams 'a = 10%, b = 5%'; "
            "numbers up to 1e+18",
        ),
        (
            {**MEMORY, "seed": 1.5},
            "PlanError[bad-option]: seed = 1.5 is not a seed\n"
            "  hint: a whole number of 64 bits, for instance 7",
        ),
        (
            {**MEMORY, "seed": 2**70},
            "PlanError[bad-option]: seed = 1180591620717411303424 is not a seed\n"
            "  hint: a whole number of 64 bits, for instance 7",
        ),
    ],
)
def test_options_that_say_nothing_are_refused(options, message):
    assert refusal(JOIN, **options) == message


def test_totals_need_something_of_every_stream():
    assert refusal(COUNT, **MEMORY, shed_least="a = 10%") == (
        "PlanError[shed-least-nothing]: shed_least lets b have nothing, but totals are to be estimated\n"
        "  combinations that are never found cannot be counted\n"
        "  hint: leave shed_least out for 10% each, or give every stream some"
    )


def test_totals_need_a_tuple_of_every_stream():
    assert refusal(COUNT, memory="9 tuples", on_memory="shed") == (
        "PlanError[too-little-for-totals]: the memory keeps less than one tuple of some of a, b\n"
        "  totals are estimated from what is kept of every stream\n"
        "  hint: raise memory or shed_least"
    )


def test_totals_need_a_probe_of_every_stream_in_every_pane():
    assert refusal(COUNT, service_rate=0.1, on_service_rate="shed") == (
        "PlanError[too-little-for-totals]: the service rate of 0.1 per second is less than one probe of "
        "each of a, b per 10s\n"
        "  totals are estimated from probes of every stream, eight of each per window or more\n"
        "  hint: raise service_rate to about 0.2 per second, or widen the windows"
    )
    # Windows are of 80 seconds: panes of 10, of 20 where these have eight probes of each, and so on.
    for rate, seconds in ((1.6, 10), (0.8, 20), (0.4, 40), (0.2, 80)):
        made = join_of(planned(COUNT, service_rate=rate, on_service_rate="shed"))
        assert made.pane == seconds * SECOND
        alike = join_of(planned(JOIN, service_rate=rate, on_service_rate="shed"))
        assert alike.pane == 10 * SECOND
    in_two = join_of(planned(COUNT, service_rate=1.6, on_service_rate="shed", buckets=2))
    assert in_two.pane == 20 * SECOND
    # Where it may not be exceeded, nothing is skipped, and nothing has to be estimated.
    assert not join_of(planned(COUNT, service_rate=0.1)).shedding.is_estimated


@pytest.mark.parametrize(
    ("memory", "shown", "enough"),
    [("1 tuples", "1 tuple", "2 tuples"), ("255 B", "255 B", "256 B")],
)
def test_there_must_be_memory_for_a_tuple_of_every_stream(memory, shown, enough):
    assert refusal(JOIN, memory=memory, on_memory="shed") == (
        f"PlanError[too-little-for-streams]: the memory of {shown} is less than one tuple of each of a, b\n"
        "  waiting tuples count towards the memory, and a result needs one of every stream\n"
        f"  hint: raise memory to {enough} or more"
    )
    assert join_of(planned(JOIN, memory=enough, on_memory="shed")).shedding.memory > 1


def test_every_bucket_needs_something_for_every_stream():
    options = {"memory": "128000 B", "on_memory": "shed"}
    query = optimize(compile_query(JOIN, CATALOG, DuckdbTypes()), by_keyword(options))
    join = join_of(query.root)
    assert plan_stage(query, (join,), 0, Spread(500, 4)).node.shedding.parts == 500
    with pytest.raises(WindrowError) as caught:
        plan_stage(query, (join,), 0, Spread(501, 4))
    assert str(caught.value) == (
        "PlanError[too-little-for-buckets]: the memory of 128.0 kB is less than one tuple of each of a, b "
        "in each of 501 buckets\n"
        "  the memory is divided among the buckets of the join\n"
        "  hint: set buckets = 500 or fewer, or memory to 128.3 kB or more"
    )


def test_every_bucket_needs_memory_for_a_tuple_of_every_stream():
    query = optimize(compile_query(JOIN, CATALOG, DuckdbTypes()), by_keyword(MEMORY))
    join = join_of(query.root)
    part = plan_stage(query, (join,), 0, Spread(250, 4)).node
    assert part.shedding.memory == 2
    with pytest.raises(WindrowError) as caught:
        plan_stage(query, (join,), 0, Spread(251, 4))
    assert str(caught.value) == (
        "PlanError[too-little-for-buckets]: the memory of 500 tuples is less than one tuple of each "
        "of a, b in each of 251 buckets\n"
        "  the memory is divided among the buckets of the join\n"
        "  hint: set buckets = 250 or fewer, or memory to 502 tuples or more"
    )


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        (f"SELECT DISTINCT x FROM ({JOIN}) j [RANGE INTERVAL 1 SECOND]", "DISTINCT or a set operation"),
        (f"SELECT COUNT(*) AS n FROM ({COUNT}) c", "an aggregate of an aggregate"),
    ],
)  # fmt: skip
def test_what_is_computed_from_a_part_of_the_rows_is_refused(sql, what):
    assert refusal(sql, **MEMORY) == (
        f"UnsupportedError[unsupported-shedding]: on_memory = 'shed' is set, and the query has {what}\n"
        "  results from a sample come with a confidence interval, which such a query cannot carry\n"
        "  hint: leave one of the two out"
    )
