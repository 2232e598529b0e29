"""What a result shows of itself at a prompt and in a notebook."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sessions import session


@pytest.fixture
def result():
    w = session({"s": [pa.table({"k": [1, 2], "<b>": ["x", "y"], "t": [0, 1]})] * 2}, time="t")
    return w.sql("SELECT k, `<b>` FROM s")


def test_a_prompt_shows_columns_and_how_far_it_has_come(result):
    assert repr(result) == "<Result (k: int64, <b>: string); no row yet>"
    next(result)
    assert repr(result) == "<Result (k: int64, <b>: string); 2 rows so far>"
    result.to_arrow()
    assert repr(result) == "<Result (k: int64, <b>: string); answered, 4 rows>"


def test_a_notebook_shows_the_same_with_names_escaped(result):
    shown = result._repr_html_()
    assert "<td>&lt;b&gt;</td><td>string</td>" in shown
    assert "no row yet" in shown
    assert "<b>" not in shown


def test_showing_computes_nothing(result):
    repr(result)
    result._repr_html_()
    assert result.progress.rows_in == 0
    assert result.to_arrow().num_rows == 4
