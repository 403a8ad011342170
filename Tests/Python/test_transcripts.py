"""That the replay of a transcript finds what differs; `.ci/python` replays all of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

from defaultsd.testing import program

PROTOCOL = Path(__file__).parent.parent / "Protocol"
sys.path.insert(0, str(PROTOCOL))
import replay  # noqa: E402


def options() -> argparse.Namespace:
    return argparse.Namespace(program=program("defaultsd"), socket=None, record=False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"new": 6, "old": 5', '"new": 6, "old": 4'),  # another value
        ('"new": 6, "old": 5', '"new": 6'),  # no value
        ('"values": {"c": 4}', '"values": {}'),  # a value too many
        ('"values": {"c": 4}', '"values": {"c": 4.0}'),  # another type
        ('"type": "edited", "cursor": "$cursor2"', '"type": "edited", "cursor": "$cursor1"'),  # another cursor
        ('a< {"request": 9, "type": "synchronized"', 'a< {"request": 8, "type": "synchronized"'),
        ('a< {"request": 12, "type": "bookmark", "cursor": "$cursor5"}\n', ""),  # a message too many
        ('kill\nstart\n', 'a< {"request": 12, "type": "ended"}\nkill\nstart\n'),  # a message too few
    ],
)
def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    monkeypatch.setattr(replay, "TIMEOUT", 1)
    text = (PROTOCOL / "edit.txt").read_text()
    assert old in text
    with pytest.raises((replay.Mismatch, AssertionError)):
        replay.replay(text.replace(old, new, 1), 2, options())


def test_an_answer_before_its_event_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event that an answer covers must come first, while events of other requests may come in any order."""
    messages: list[dict[str, object]] = []
    monkeypatch.setattr(replay.Connection, "receive", lambda self: messages.pop(0))
    event = {"request": 2, "type": "bookmark", "cursor": "00f1e2d3c4b5a697:1"}
    answer = {"request": 3, "type": "edited", "cursor": "00f1e2d3c4b5a697:1"}
    transcript = replay.Transcript("", 2, "", None, False)
    transcript.connections["a"] = object.__new__(replay.Connection)
    messages[:] = [event, answer]
    transcript.receive("a", [event, answer])
    messages[:] = [event, answer]
    transcript.receive("a", [answer, event])
    messages[:] = [answer, event]
    with pytest.raises(replay.Mismatch):
        transcript.receive("a", [event, answer])
