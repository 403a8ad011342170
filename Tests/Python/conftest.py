"""The fixtures and helpers of several tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from defaultsd import Change, Defaults
from defaultsd.streams import Stream
from defaultsd.testing import Agent

T = TypeVar("T")
DOMAIN = "org.example.player"


@pytest.fixture
def defaults(defaults_agent: Agent) -> Defaults:
    """The preferences of a domain that a running agent serves."""
    return defaults_agent.defaults(DOMAIN)


@pytest.fixture
def no_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty preferences directory without an agent."""
    for name in ("preferences", "run", "system", "managed"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("DEFAULTS_DIRECTORY", str(tmp_path / "preferences"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DEFAULTS_SYSTEM_DIRECTORIES", str(tmp_path / "system"))
    monkeypatch.setenv("DEFAULTS_MANAGED_DIRECTORY", str(tmp_path / "managed"))
    monkeypatch.delenv("DEFAULTSD_SOCKET", raising=False)
    monkeypatch.delenv("DEFAULTS_NO_AGENT", raising=False)
    return tmp_path


def item(stream: Stream[T]) -> T:
    """Return the next item of a stream, which must come soon."""
    found = stream.wait(20)
    assert found is not None, "Nothing has arrived within 20 seconds."
    return found[0]


def changes(stream: Stream[Any]) -> Iterator[Change]:
    """Yield the changes of a stream, in which nothing else may occur."""
    while True:
        event = item(stream)
        assert isinstance(event, Change), event
        yield event


def eventually(condition: Callable[[], bool], timeout: float = 20) -> None:
    """Wait until a condition holds, which must be soon."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "The condition doesn't hold after 20 seconds."
        time.sleep(0.005)
