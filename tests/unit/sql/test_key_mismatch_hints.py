"""The hint about keys of two types casts to the type that loses least."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sessions import session

from windrow.errors import BindError


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("a.whole = b.real", "CAST(a.whole AS DOUBLE) = b.real"),
        ("a.real = b.whole", "a.real = CAST(b.whole AS DOUBLE)"),
        ("a.word = b.whole", "a.word = CAST(b.whole AS STRING)"),
        ("a.whole = b.word", "CAST(a.whole AS STRING) = b.word"),
        ("a.word = b.real", "a.word = CAST(b.real AS STRING)"),
    ],
)
def test_the_hint_never_cuts_a_value_off(condition, hint):
    rows = pa.table({"whole": [1], "real": [1.5], "word": ["x"], "at": [5]})
    made = session(dict.fromkeys(("a", "b"), rows), time="at")
    with pytest.raises(BindError) as error:
        made.sql(f"SELECT a.at FROM a, b WHERE {condition} WINDOW = 1")
    assert str(error.value).splitlines()[-1] == f"  hint: cast one side, for instance  {hint}"
