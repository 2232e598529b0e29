from __future__ import annotations

import math

import pytest
from stream_texts import stream
from twins.changelog import instants, not_net, state_at

# 0    5         9     12
# |----|---------|-----|
#      a         a     .
#      a               b       two copies of a, one goes at 9, the other becomes b at 12
LOG = stream("""
    k | _change_type     | _event_time
    a | insert           |  5
    a | insert           |  5
    a | delete           |  9
    a | update_preimage  | 12
    b | update_postimage | 12
""")


def test_a_change_counts_from_its_own_instant_on():
    assert state_at(LOG, 4) == []
    assert state_at(LOG, 5) == [{"k": "a"}, {"k": "a"}]
    assert state_at(LOG, 9) == [{"k": "a"}]
    assert state_at(LOG, 12) == [{"k": "b"}]


def test_a_delete_of_what_never_came_is_found():
    log = [{"k": 1, "_change_type": "delete", "_event_time": 3}]
    with pytest.raises(AssertionError, match="more copies have gone than came"):
        state_at(log, 3)
    assert state_at(log, 2) == []


def test_rows_with_nan_and_lists_are_taken_back_too():
    log = [
        {"v": math.nan, "l": [1, None], "_change_type": "insert", "_event_time": 1},
        {"v": float("nan"), "l": [1, None], "_change_type": "delete", "_event_time": 2},
    ]
    assert len(state_at(log, 1)) == 1
    assert state_at(log, 2) == []


def test_the_instants_are_those_of_the_changes():
    assert instants(LOG) == [5, 9, 12]


def test_a_row_that_comes_and_goes_at_one_instant_is_not_net():
    assert not_net(LOG) == []
    log = stream("""
        k | _change_type | _event_time
        a | insert       | 5
        a | delete       | 5
    """)
    assert not_net(log) == [{"k": "a", "_event_time": 5}]
