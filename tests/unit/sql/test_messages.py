"""The whole message of every error that a query can be refused with; see messages.txt."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

CASES = re.findall(
    r"^== (.+?)\n(.*?)\n--\n(.*?)\n(?=\n== |\Z)",
    (Path(__file__).parent / "messages.txt").read_text(),
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize(
    ("sql", "message"), [pytest.param(*case[1:], id=case[0]) for case in CASES]
)
def test_the_message_says_what_is_wrong_where_and_what_to_write(refused, sql, message):
    assert str(refused(sql)) == message


def test_every_message_points_into_the_sql(refused):
    for name, sql, _ in CASES:
        if name == "no text":
            continue
        span = refused(sql).span
        assert span is not None, name
        assert 0 <= span.start < span.end <= len(sql), name


def test_every_message_says_what_to_write(refused):
    for name, sql, _ in CASES:
        assert refused(sql).hint, name


def test_an_error_travels_between_processes_with_its_place(refused):
    error = refused("SELECT nothing FROM sales")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert isinstance(error, KeyError)
    assert isinstance(error, ValueError)
