"""Ctrl-C: it comes between two steps, the result goes on exactly, and no process dies of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import interrupts
import pyarrow as pa
import pytest
from bags import bag
from taps import LIMIT_S, Tap

from windrow import ResourceError, Session
from windrow.kernels.signals import PutOff

JOIN = "SELECT a.k, note(b.k) AS y FROM a, b WHERE a.k = b.k WINDOW = 20"


@pytest.fixture(autouse=True)
def as_at_a_terminal() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Notes:
    """A function of queries that interrupts the process when its call of some number comes."""

    def __init__(self, *when: int) -> None:
        self.when = when
        self.calls = 0

    def __call__(self, values: pa.Array) -> pa.Array:
        self.calls += 1
        for _ in range(self.when.count(self.calls)):
            signal.raise_signal(signal.SIGINT)
        return values


def joined(notes: Notes, *, as_iterators: bool = False) -> Any:
    session = Session()
    session.function("note", notes, returns="bigint")
    for name in "ab":
        times = range(0, 60, 2)
        batches = [pa.record_batch({"k": [at % 3] * 2, "at": [at] * 2}) for at in times]
        session.stream(name, iter(batches) if as_iterators else batches, time="at")
    return session.sql(JOIN)


@pytest.mark.law
@pytest.mark.parametrize("as_iterators", [False, True])
def test_a_loop_goes_on_after_an_interrupt_without_a_row_lost_or_doubled(as_iterators):
    expected = bag(list(joined(Notes())))
    result = joined(Notes(1, 4, 9), as_iterators=as_iterators)
    got: list[pa.RecordBatch] = []
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            got.extend(result)
    got.extend(result)
    assert bag(got) == expected
    assert result.progress.rows_out == sum(expected.values())


def test_to_arrow_after_an_interrupted_one_gives_all_rows():
    result = joined(Notes(9), as_iterators=True)
    with pytest.raises(KeyboardInterrupt):
        result.to_arrow()
    found = result.to_arrow()
    assert bag(found.to_batches()) == bag(list(joined(Notes())))
    assert result.progress.rows_out == len(found)


def test_a_checkpoint_after_an_interrupt_holds_what_was_not_handed_out():
    result = joined(Notes(5))
    with pytest.raises(KeyboardInterrupt):
        result.to_arrow()
    checkpoint = result.checkpoint()
    session = Session()
    session.function("note", Notes(), returns="bigint")
    for name in "ab":
        table = pa.table(
            {"k": [at % 3 for at in range(0, 60, 2)] * 2, "at": [*range(0, 60, 2)] * 2}
        )
        session.stream(name, [table.sort_by("at")], time="at")
    rest = session.sql(JOIN, resume=checkpoint).to_arrow()
    assert bag(rest.to_batches()) == bag(list(joined(Notes())))


def test_a_second_interrupt_does_not_wait_and_the_result_says_that_it_cannot_go_on():
    result = joined(Notes(4, 4))
    with pytest.raises(KeyboardInterrupt):
        list(result)
    for asked in (list, next, lambda result: result.to_arrow(), lambda result: result.checkpoint()):
        with pytest.raises(ResourceError) as caught:
            asked(result)
    assert str(caught.value) == (
        "ResourceError[query-broken-off]: the query was interrupted in the middle of a step, and cannot "
        "go on\n"
        "  some rows of the step are in its state and some are not\n"
        "  hint: ask again with sql(..), or resume from a checkpoint; after a single Ctrl-C, which "
        "waits for the end of the step, a query can go on"
    )


def test_a_query_that_waits_for_its_streams_is_interrupted_at_once_and_goes_on():
    tap, session = Tap(), Session()
    session.stream("a", tap, time="at", schema=pa.schema([("k", pa.int64()), ("at", pa.int64())]))
    result = session.sql("SELECT k FROM a")

    def interrupt() -> None:
        assert tap.is_asked.wait(LIMIT_S)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        next(result)
    sender.join()
    tap.give(pa.record_batch({"k": [7], "at": [1]}))
    tap.end()
    assert result.to_arrow().to_pydict() == {"k": [7]}


def test_a_handler_of_the_user_is_called_once_and_kept():
    called = []

    def handler(kind: int, frame: object) -> None:
        called.append(kind)

    signal.signal(signal.SIGINT, handler)
    found = joined(Notes(2, 5)).to_arrow()
    assert bag(found.to_batches()) == bag(list(joined(Notes())))
    assert called == [signal.SIGINT] * 2
    assert signal.getsignal(signal.SIGINT) is handler


def test_without_a_handler_of_python_nothing_is_put_off():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with PutOff() as put_off:
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.raise_signal(signal.SIGINT)
    assert not put_off.has_come()


def interrupted_twice(passed: list[str]) -> None:
    with PutOff():  # such as a kernel that is compiled
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        passed.append("inner")
    passed.append("outer")


def test_what_is_put_off_in_a_block_comes_at_its_end():
    passed: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted_twice(passed)
    assert passed == ["inner"]


def test_the_second_interrupt_breaks_through_where_it_may():
    passed: list[str] = []
    with pytest.raises(KeyboardInterrupt), PutOff(breaks_through=True):
        interrupted_twice(passed)
    assert passed == ["inner"]
    with pytest.raises(KeyboardInterrupt), PutOff():
        interrupted_twice(passed)
    assert passed == ["inner", "inner", "outer"]


@pytest.mark.law
@pytest.mark.parametrize("kinds", [list(interrupts.KINDS)[0::2], list(interrupts.KINDS)[1::2]])
def test_interrupts_at_random_moments_kill_no_process_and_cost_no_row(kinds):
    ran = subprocess.run(
        [sys.executable, interrupts.__file__, "1", "3", *kinds],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    for kind, line in zip(kinds, ran.stdout.splitlines(), strict=True):
        assert re.fullmatch(rf"{kind}: right after \d+ interrupts", line), line
