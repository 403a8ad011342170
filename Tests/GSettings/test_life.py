#!/usr/bin/env python3
"""Tests a long life: many sessions of programs and agents that are started and killed. Run by `.ci/gsettings`."""

from __future__ import annotations

import os
import random
import signal
import time
import unittest
from pathlib import Path

from world import World, wait_for

SESSIONS = int(os.environ.get("GSETTINGS_SESSIONS", "100"))
SEED = 1000


class LifeTests(World):
    starts_agent = False

    def size(self) -> int:
        return sum(path.stat().st_size for path in Path(self.root).rglob("*") if path.is_file())

    def test_sessions_leave_nothing_and_lose_nothing(self) -> None:
        generator = random.Random(SEED)
        expected: dict[str, int] = {}
        times, sizes = [], []
        for session in range(1, SESSIONS + 1):
            name = f"i{session % 20}"
            path = f"org.defaultsd.test.item:/org/defaultsd/test/life/{name}/"
            start = time.monotonic()
            # The first program of a session starts the agent.
            self.gsettings("set", path, "count", str(session))
            times.append(time.monotonic() - start)
            expected[name] = session
            pid = self.claimed_pid()
            self.assertTrue(pid, f"session {session}")
            if generator.random() < 0.5:
                self.assertEqual(self.gsettings("get", path, "count"), str(session))
            os.kill(pid, generator.choice([signal.SIGKILL, signal.SIGTERM]))
            wait_for(lambda: not Path(f"/proc/{pid}").exists() or self.claimed_pid() != pid, "the end of the agent")
            sizes.append(self.size())
        for name, value in expected.items():
            self.assertEqual(
                self.gsettings("get", f"org.defaultsd.test.item:/org/defaultsd/test/life/{name}/", "count"),
                str(value), f"seed {SEED}")
        quarter = SESSIONS // 4
        # Those that no other program has slowed down.
        first, last = min(times[:quarter]), min(times[-quarter:])
        print(f"{SESSIONS} sessions: {first * 1000:.0f} ms at first, {last * 1000:.0f} ms at last, {sizes[-1]} bytes")
        self.assertLess(last, 2 * first + 0.05)
        # A session's records in the log, and no files.
        self.assertLess(sizes[-1], 200_000 + 2_000 * SESSIONS)
        self.assertLess(len([path for path in Path(self.root).rglob("*") if path.is_file()]), 60)


if __name__ == "__main__":
    unittest.main()
