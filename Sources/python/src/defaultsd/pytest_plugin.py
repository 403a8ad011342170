"""The fixture `defaults_agent`, which pytest finds by itself where this package is installed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

from .testing import Agent


@pytest.fixture
def defaults_agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    """A running agent with an empty directory, which the code under test finds by its environment."""
    # The path of a socket may have only 103 bytes, so pytest's own temporary directory would be too long.
    with tempfile.TemporaryDirectory(prefix="defaultsd-", ignore_cleanup_errors=True) as directory:
        agent = Agent(directory)
        for name in [name for name in os.environ if name.startswith("DEFAULTS") and name != "DEFAULTSD_PROGRAMS"]:
            monkeypatch.delenv(name)
        for name, value in agent.environment.items():
            monkeypatch.setenv(name, value)
        try:
            agent.start()
            yield agent
        finally:
            agent.close()
