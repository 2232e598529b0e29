"""Things by name: added once, found by name, never two of one name."""

from __future__ import annotations

import subprocess
import sys

import pyarrow.compute as pc
import pytest

import windrow
from windrow import extend
from windrow.registry import Registry


def test_things_are_found_by_name_in_the_order_in_which_they_were_added():
    numbers: Registry[int] = Registry("number")
    numbers.add("two", 2)
    numbers.add("one", 1)

    assert numbers["two"] == 2
    assert dict(numbers) == {"two": 2, "one": 1}
    assert list(numbers) == ["two", "one"]
    assert "three" not in numbers
    assert numbers.get("three") is None


def test_adding_the_same_thing_again_changes_nothing():
    numbers: Registry[int] = Registry("number")
    numbers.add("one", 1)

    assert numbers.add("one", 1) == 1
    assert len(numbers) == 1


def test_another_thing_of_the_same_name_is_refused():
    numbers: Registry[int] = Registry("number")
    numbers.add("one", 1)

    with pytest.raises(windrow.PlanError, match="another number 'one' already") as failure:
        numbers.add("one", 11)
    assert failure.value.condition == "name-taken"
    assert "another name" in failure.value.hint


@pytest.mark.parametrize("name", ["mindist", "SUBSET", "youngest"])
def test_an_order_that_windrow_has_by_itself_is_not_added_again(name):
    with pytest.raises(windrow.PlanError, match="another order") as failure:
        extend.order(name, pc.subtract)
    assert failure.value.condition == "name-taken"


@pytest.mark.parametrize("name", ["run", "explain", "demo"])
def test_a_command_that_windrow_has_by_itself_is_not_added_again(name):
    with pytest.raises(windrow.PlanError, match="another command"):
        extend.command(name, "somewhere:app")


def test_a_name_of_the_papers_is_theirs_before_they_are_loaded():
    # In a process of its own: here they may have been loaded already.
    script = """
import windrow
from windrow import extend

try:
    extend.command("cost", "somewhere:app")
except windrow.PlanError as error:
    print(error.condition)
print("gca" in extend.ALGORITHMS)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["name-taken", "True"]


def test_what_is_removed_may_be_added_anew():
    numbers: Registry[int] = Registry("number")
    numbers.add("one", 11)
    numbers.remove("one")
    numbers.remove("two")

    assert numbers.add("one", 1) == 1
