"""What is done again and again while a run is silent, and no longer than its sink lives."""

from __future__ import annotations

import gc
import threading
import weakref

from windrow.io.kafka_epochs import Reminder


class Counted:
    def __init__(self, most) -> None:
        self.left, self.is_done = most, threading.Event()

    def call(self):
        self.left -= 1
        if self.left <= 0:
            self.is_done.set()


def reminders():
    return [own for own in threading.enumerate() if own.name == "windrow-kafka-reminder"]


def test_it_calls_until_it_is_stopped():
    known, counted = set(reminders()), Counted(3)
    reminder = Reminder(counted.call, 0.001)
    assert counted.is_done.wait(60)
    reminder.stop()
    for thread in set(reminders()) - known:
        thread.join(60)
    assert not set(reminders()) - known


def test_it_does_not_keep_its_object_alive():
    known, counted = set(reminders()), Counted(1)
    reminder = Reminder(counted.call, 0.001)
    assert counted.is_done.wait(60)
    gone = weakref.ref(counted)
    del counted
    for thread in set(reminders()) - known:
        thread.join(60)
    gc.collect()
    assert gone() is None
    reminder.stop()
