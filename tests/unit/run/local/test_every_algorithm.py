"""One question, asked of every algorithm: by keyword and by hint, in process."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import product
from random import Random

import pyarrow as pa
import pytest
from bags import bag
from sessions import session

from windrow import PlanError, Session
from windrow.physical.algorithms import choices

pytestmark = pytest.mark.slow

NAMES = "abcd"
ISSUED = (
    "bew", "bew-hash", "bew-nested-loop",
    "bew-tuple-at-a-time", "bew-tuple-at-a-time-hash", "bew-tuple-at-a-time-nested-loop", "few", "few-hash", "few-nested-loop",
    "nlw", "hw", "gca", "lca", "closure", "bew-graph", "ripple", "xjoin", "asymmetric",
)  # fmt: skip
HASHED = ("bew-hash", "bew-tuple-at-a-time-hash", "few-hash", "hw", "xjoin")
MULTIWAY = [name for name in choices() if name != "asymmetric"]

SELECT = "SELECT a.n AS an, b.n AS bn, c.n AS cn, d.n AS dn FROM a, b, c, d "
KEYS = "WHERE a.k = b.k AND b.k = c.k AND c.k = d.k "
QUESTIONS = {
    "a uniform clique": f"{SELECT}{KEYS}WINDOW = 6",
    "a path": f"{SELECT}{KEYS}WINDOW (a, b) = 3 AND WINDOW (b, c) = 5 AND WINDOW (c, d) = 2",
    "a directed path": f"{SELECT}{KEYS}DWINDOW (a, b) = 4, DWINDOW (b, c) = 6, DWINDOW (c, d) = 4",
    "either way": f"{SELECT}{KEYS}DWINDOW (a, b) = 4, DWINDOW (b, c) = 6, DWINDOW (c, d) = 4 "
    "EITHER WAY",
    "predicates": f"{SELECT}{KEYS}AND a.n < c.n AND b.n + 1 <> d.n "
    "WINDOW (a, b) = 4 AND WINDOW (a, c) = 6 AND WINDOW (a, d) = 2",
    "a key of two streams": f"{SELECT}WHERE a.k = b.k AND c.n <= d.n "
    "WINDOW (a, b) = 2 AND WINDOW (b, c) = 2 AND WINDOW (c, d) = 1",
}


def rows(name: str) -> list[tuple[int, int, int]]:
    """Rows of (k, n, at), out of order by 3 at most."""
    random = Random(f"rows of {name}")
    times = sorted(random.randrange(40) for _ in range(18))
    times = sorted(times, key=lambda at: at + random.randrange(4))
    return [(random.randrange(2), n, at) for n, at in enumerate(times)]


def table(some: list[tuple[int, int, int]]) -> pa.Table:
    return pa.table({name: list(column) for name, column in zip(("k", "n", "at"), zip(*some, strict=True), strict=True)})  # fmt: skip


def drawn_streams() -> Session:
    return session(
        {
            name: iter([table(rows(name)[start : start + 5]) for start in range(0, 18, 5)])
            for name in NAMES
        },
        time="at",
        lateness=3,
    )


def expected(question: str) -> Counter:
    """Every combination of rows, tested by hand."""
    windows = {
        "a uniform clique": lambda t: max(t) - min(t) <= 6,
        "a path": lambda t: abs(t[0] - t[1]) <= 3 and abs(t[1] - t[2]) <= 5 and abs(t[2] - t[3]) <= 2,
        "a directed path": along,
        "either way": lambda t: along(t) or along([-at for at in t]),
        "predicates": lambda t: abs(t[0] - t[1]) <= 4 and abs(t[0] - t[2]) <= 6 and abs(t[0] - t[3]) <= 2,
        "a key of two streams": lambda t: abs(t[0] - t[1]) <= 2 and abs(t[1] - t[2]) <= 2 and abs(t[2] - t[3]) <= 1,
    }  # fmt: skip
    values = {
        "predicates": lambda k, n: len(set(k)) == 1 and n[0] < n[2] and n[1] + 1 != n[3],
        "a key of two streams": lambda k, n: k[0] == k[1] and n[2] <= n[3],
    }
    holds = values.get(question, lambda k, _: len(set(k)) == 1)
    found = Counter()
    for chosen in product(*map(rows, NAMES)):
        keys, numbers, times = zip(*chosen, strict=True)
        if windows[question](times) and holds(keys, numbers):
            found[numbers] += 1
    return found


def along(times) -> bool:
    a, b, c, d = times
    return 0 <= b - a <= 4 and 0 <= c - b <= 6 and 0 <= d - c <= 4


@pytest.fixture(scope="module")
def answers() -> dict[str, Counter]:
    found = {question: expected(question) for question in QUESTIONS}
    assert all(found.values())
    return found


def test_the_algorithms_are_those_of_the_papers():
    assert sorted(choices()) == sorted(ISSUED)


@pytest.mark.law
@pytest.mark.parametrize("algorithm", MULTIWAY)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_algorithm_gives_the_same_bag(question, algorithm, answers):
    assert bag(drawn_streams().sql(QUESTIONS[question], algorithm=algorithm)) == answers[question]


@pytest.mark.parametrize("algorithm", MULTIWAY)
def test_a_hint_says_the_same_as_a_keyword(algorithm, answers):
    hinted = QUESTIONS["a path"].replace("SELECT", f"SELECT /*+ algorithm({algorithm}) */", 1)
    assert bag(drawn_streams().sql(hinted)) == answers["a path"]
    assert drawn_streams().explain(hinted).replace(f"/*+ algorithm({algorithm}) */ ", "") == (
        drawn_streams().explain(QUESTIONS["a path"], algorithm=algorithm)
    )


@pytest.mark.parametrize("algorithm", choices())
def test_a_query_without_an_equality_is_answered_or_refused(algorithm):
    query = "SELECT a.n AS an, b.n AS bn FROM a, b WHERE a.n < b.n WINDOW = 3"
    if algorithm in HASHED:
        with pytest.raises(PlanError) as caught:
            drawn_streams().sql(query, algorithm=algorithm)
        assert caught.value.condition == "no-key-to-hash"
        return
    wanted = Counter(
        (n, m)
        for (_, n, at), (_, m, then) in product(rows("a"), rows("b"))
        if n < m and abs(at - then) <= 3
    )
    assert wanted
    assert bag(drawn_streams().sql(query, algorithm=algorithm)) == wanted


def test_the_refusal_names_what_to_take_instead():
    with pytest.raises(PlanError) as caught:
        drawn_streams().sql("SELECT a.n FROM a, b WINDOW = 3", algorithm="hw")
    assert str(caught.value) == (
        "PlanError[no-key-to-hash]: the join of a, b has no equality to hash on\n"
        "  1 | SELECT a.n FROM a, b WINDOW = 3\n"
        "    |                 ^^^^\n"
        "  the algorithm hw joins only by hash\n"
        "  hint: use algorithm nlw, or add an equality between the streams"
    )


@pytest.mark.law
def test_one_algorithm_goes_on_where_another_has_stopped(answers):
    # Each of them takes one batch, then hands its state to the next.
    question = QUESTIONS["a path"]
    given, checkpoint, order = Counter(), None, [*MULTIWAY]
    Random(7).shuffle(order)
    for algorithm in order:
        result = drawn_streams().sql(question, algorithm=algorithm, resume=checkpoint)
        batch = next(iter(result), None)
        if batch is None:
            break
        given += bag(batch)
        checkpoint = pickle.loads(pickle.dumps(result.checkpoint()))
    rest = drawn_streams().sql(question, resume=checkpoint)
    assert given + bag(rest) == answers["a path"]


@pytest.mark.parametrize("algorithm", ["nlw", "hw", "xjoin"])
def test_a_pipeline_counts_what_it_keeps_between_its_levels(algorithm):
    result = drawn_streams().sql(QUESTIONS["a uniform clique"], algorithm=algorithm)
    kept = [result.progress.operators["WJoin a, b, c, d"]["intermediate"] for _ in result]
    assert max(kept) > 0
    assert result.progress.operators["WJoin a, b, c, d"]["intermediate"] == 0
