"""A run whose answer goes to a sink: when it ends."""

from __future__ import annotations

import threading

import pyarrow as pa
from outside import Shelf, Tray
from sessions import session

from windrow.io import Offsets


class FindsNothingLater(Shelf):
    """Has no rows, and finds that only when it is let."""

    def __init__(self) -> None:
        super().__init__([pa.table({"k": [1], "t": [1]}).slice(1)], is_endless=True)
        self.is_let = threading.Event()

    def latest(self, since: Offsets, most_rows: int = 4) -> Offsets:
        self.is_let.wait()
        return super().latest(since, most_rows)


def test_a_run_ends_though_its_sources_find_nothing_more_after_it_has_begun_to_wait(tmp_path):
    sources = {"a": FindsNothingLater(), "b": FindsNothingLater()}
    w = session(sources, time="t")
    sql = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 5"
    run = w.run(sql, to=Tray(), checkpoint=tmp_path, until_done=True)
    while run.progress.stalled != ("a", "b"):  # it has looked, and waits or is about to
        assert not run.wait(0.001)
    for source in sources.values():
        source.is_let.set()
    assert run.wait(60)
