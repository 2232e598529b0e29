"""GROUP BY with parentheses around its keys."""

from __future__ import annotations

import pytest
from sessions import session

from windrow import Session
from windrow.errors import UnsupportedError


def one_stream() -> Session:
    return session({"p": {"k": [1, 1], "v": [2, 3], "at": [5, 5]}}, time="at")


@pytest.mark.parametrize("key", ["(k)", "((p.k))", "(g)"])
def test_parentheses_around_one_key_say_nothing(key):
    answer = one_stream().sql(f"SELECT k AS g, COUNT(*) AS n FROM p [RANGE 1] GROUP BY {key}")
    assert answer.to_arrow().slice(0, 1).to_pylist() == [
        {"g": 1, "n": 2, "_change_type": "insert", "_event_time": 5}
    ]


@pytest.mark.parametrize("keys", ["(k, v)", "()"])
def test_several_or_no_keys_in_parentheses_are_refused_by_name(keys):
    sql = f"SELECT k, v, COUNT(*) AS n FROM p [RANGE 1] GROUP BY {keys}"
    with pytest.raises(UnsupportedError) as error:
        one_stream().sql(sql)
    assert str(error.value) == (
        f"UnsupportedError[unsupported-group-by-tuple]: GROUP BY {keys} is not supported\n"
        f"  1 | {sql}\n"
        f"    | {' ' * sql.index(keys)}{'^' * len(keys)}\n"
        "  hint: write the keys without parentheses: GROUP BY a, b; without keys leave GROUP BY out"
    )
