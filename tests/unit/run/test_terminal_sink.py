"""An answer shown on the terminal, epoch by epoch."""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow


def test_changes_are_shown_with_plus_and_minus_epoch_by_epoch(capsys):
    w = windrow.Session()
    w.stream("s", pa.table({"k": ["a", "a"], "t": [0, 5]}), time="t")
    to = windrow.terminal()
    w.run("SELECT k, COUNT(*) AS n FROM s [RANGE 9] GROUP BY k", to=to, until_done=True).wait()
    lines = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if "│" in line]
    shown = [tuple(cell.strip() for cell in line) for line in lines]
    assert shown == [
        ("+", "a", "1", "0"),
        ("-", "a", "1", "5"),
        ("+", "a", "2", "5"),
        ("-", "a", "2", "10"),
        ("+", "a", "1", "10"),
        ("-", "a", "1", "15"),
    ]


def test_of_many_rows_the_first_are_shown_and_the_others_counted(capsys):
    sink = windrow.terminal(rows=3).sink()
    sink.write(4, pa.table({"n": range(1_240)}).to_batches(max_chunksize=100))
    assert capsys.readouterr().out == ""
    sink.commit(4, [None])
    out = capsys.readouterr().out
    assert "epoch 4" in out
    assert out.splitlines()[-1] == "and 1,237 more"
    assert out.count("│") == 2 * 3
    sink.commit(4, [None])
    assert capsys.readouterr().out == ""


def test_an_epoch_without_rows_shows_nothing(capsys):
    sink = windrow.terminal().sink()
    sink.write(0, [])
    sink.commit(0, [None])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("rows", [0, -1, "all", True])
def test_a_number_of_rows_that_is_none_is_refused(rows):
    with pytest.raises(windrow.BindError) as caught:
        windrow.terminal(rows=rows).sink()
    assert caught.value.condition == "bad-count"
