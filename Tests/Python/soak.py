#!/usr/bin/env python3
"""Follows and edits through crashes of the agent, and counts lost, doubled and disordered changes, which must be none.

    PYTHONPATH=Sources/python/src DEFAULTSD_PROGRAMS=… python3 Tests/Python/soak.py [--seconds N] [--seed N]

`defaults-bench soak --only python` runs it. It prints a line of JSON.

Four threads set keys to growing numbers, two count with `update`, and one program writes another file. Three streams
follow: one reads all the time, one in asyncio, and one is closed and continued from its cursor again and again. In the
meantime, the agent is killed, ended, upgraded and stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import plistlib
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from defaultsd import AgentUnavailableError, Change, Defaults, Gap, Snapshot
from defaultsd.channel import Channel
from defaultsd.testing import Agent

DOMAIN, FOREIGN = "org.example.soak", "org.example.foreign"


class Record:
    """The last number that the threads have set, and those that each stream has received, by key."""

    def __init__(self) -> None:
        self.made: dict[str, int] = {}
        self.uncertain = 0
        self.errors: list[str] = []
        self.received: dict[str, dict[str, list[int]]] = {}
        self.gaps = 0
        self.enough = threading.Event()
        self.all_made = threading.Event()

    def add(self, stream: str, event: object) -> None:
        received = self.received.setdefault(stream, {})
        if isinstance(event, (Gap, Snapshot)):
            self.gaps += 1
        elif isinstance(event, Change):
            for one in event.changes:
                received.setdefault(one.key, []).append(one.new)


def client(agent: Agent, domain: str) -> Defaults:
    """Return preferences with connections and a session of their own."""
    defaults = agent.defaults(domain)
    defaults._requests, defaults._disk = Channel(defaults._location), Channel(defaults._location)
    return defaults


def edit(agent: Agent, record: Record, key: str) -> None:
    defaults = client(agent, DOMAIN)
    while not record.enough.is_set():
        number = record.made.get(key, 0) + 1
        try:
            defaults.set(key, number)
        except AgentUnavailableError as error:
            # Only an agent that was stopped for long leaves an edit uncertain. The same value is set again.
            record.uncertain += 1
            if "may have been made" not in str(error):
                record.errors.append(str(error))
            continue
        record.made[key] = number


def count(agent: Agent, record: Record, done: list[int]) -> None:
    defaults = client(agent, DOMAIN)
    while not record.enough.is_set():
        defaults.update("Count", lambda value: (value or 0) + 1)
        done.append(1)


def write(agent: Agent, record: Record) -> None:
    """Replace a file as a program that doesn't know of the agent does; the agent may join quick changes."""
    path = agent.directory / f"{FOREIGN}.plist"
    while not record.enough.is_set():
        number = record.made.get("Foreign", 0) + 1
        path.with_suffix(".new").write_bytes(plistlib.dumps({"Foreign": number}))
        os.replace(path.with_suffix(".new"), path)
        record.made["Foreign"] = number
        record.enough.wait(0.02)


def follow(agent: Agent, record: Record, begun: threading.Event, domain: str) -> None:
    with client(agent, domain).changes() as stream:
        begun.set()
        while not is_complete(record, domain, domain):
            if (found := stream.wait(0.2)) is not None:
                record.add(domain, found[0])


def follow_in_pieces(agent: Agent, record: Record, begun: threading.Event) -> None:
    cursor: str | None = None
    while not is_complete(record, "pieces", DOMAIN):
        try:
            with client(agent, DOMAIN).changes(since=cursor) as stream:
                cursor = cursor or stream.cursor
                begun.set()
                for _ in range(50):
                    if (found := stream.wait(0.2)) is None:
                        break
                    record.add("pieces", found[0])
                    cursor = found[0].cursor
        except AgentUnavailableError:
            # A stream doesn't begin while there is no agent.
            time.sleep(0.05)


def follow_in_asyncio(agent: Agent, record: Record, begun: threading.Event) -> None:
    async def main() -> None:
        async with client(agent, DOMAIN).changes() as stream:
            begun.set()
            while not is_complete(record, "asyncio", DOMAIN):
                try:
                    record.add("asyncio", await asyncio.wait_for(anext(stream), 0.2))
                except asyncio.TimeoutError:
                    pass

    asyncio.run(main())


def is_complete(record: Record, stream: str, domain: str) -> bool:
    received = record.received.get(stream, {})
    keys = [key for key in record.made if (key == "Foreign") == (domain == FOREIGN)]
    return record.all_made.is_set() and all(received.get(key, [0])[-1] == record.made[key] for key in keys)


def disturb(agent: Agent, chance: random.Random, ends: dict[str, int]) -> None:
    """End, upgrade or stop the agent; on the main thread, with which the agent ends."""
    kind = chance.choice(["kill", "kill", "kill", "stop", "upgrade", "pause"])
    ends[kind] = ends.get(kind, 0) + 1
    if kind == "kill":
        agent.kill()
        agent.start()
    elif kind == "stop":
        agent.stop()
        agent.start()
    elif kind == "upgrade":
        agent.signal(signal.SIGUSR2)
        agent.wait_until_ready()
    else:
        agent.signal(signal.SIGSTOP)
        time.sleep(chance.uniform(0, 1))
        agent.signal(signal.SIGCONT)


def main() -> int:
    parser = argparse.ArgumentParser(description="Follows and edits through crashes of the agent.")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    record, chance, ends, done = Record(), random.Random(options.seed), dict[str, int](), list[int]()
    threading.excepthook = lambda failed: record.errors.append(f"A thread failed: {failed.exc_value!r}")
    with tempfile.TemporaryDirectory(prefix="defaultsd-", ignore_cleanup_errors=True) as directory:
        agent = Agent(Path(directory))
        agent.start()
        try:
            threads: list[threading.Thread] = []

            def begin(target: Callable[..., None], *arguments: object) -> None:
                threads.append(threading.Thread(target=target, args=(agent, record, *arguments)))
                threads[-1].start()

            followers: list[tuple[Callable[..., None], list[str]]] = [
                (follow, [DOMAIN]), (follow, [FOREIGN]), (follow_in_pieces, []), (follow_in_asyncio, []),
            ]  # fmt: skip
            for follower, domains in followers:
                begin(follower, begun := threading.Event(), *domains)
                assert begun.wait(30)
            for index in range(4):
                begin(edit, f"Key{index}")
            begin(write)
            for _ in range(2):
                begin(count, done)
            end = time.monotonic() + options.seconds
            while time.monotonic() < end:
                time.sleep(chance.uniform(0, 0.6))
                disturb(agent, chance, ends)
            # Edits go on after the last of the disturbances.
            made = sum(record.made.values())
            while sum(record.made.values()) == made and not record.errors and time.monotonic() < end + 30:
                time.sleep(0.01)
            if sum(record.made.values()) == made:
                record.errors.append("No edit was made after the last disturbance.")
            record.enough.set()
            # The editors end first, and then the followers.
            for thread in threads[len(followers) :] + threads[: len(followers)]:
                if thread is threads[0]:
                    record.all_made.set()
                thread.join(max(1, end + 60 - time.monotonic()))
                if thread.is_alive():
                    record.errors.append(f"{thread.name} hasn't ended.")
            result = {"seed": options.seed, **report(agent, record, len(done), ends)}
        finally:
            agent.close()
    print(json.dumps(result))
    return int(bool(result["lost"] or result["lostForeign"] or result["findings"]))


def report(agent: Agent, record: Record, counted: int, ends: dict[str, int]) -> dict[str, Any]:
    lost = foreign = doubled = disordered = 0
    findings = list(record.errors)
    for stream in [DOMAIN, FOREIGN, "pieces", "asyncio"]:
        received = record.received.get(stream, {})
        for key, count_made in record.made.items():
            if (key == "Foreign") != (stream == FOREIGN):
                continue
            values = received.get(key, [])
            # The agent may join quick changes of a file.
            missing = sorted(set(range(1, count_made + 1)) - set(values)) if key != "Foreign" else []
            if missing:
                findings.append(f"{stream} lacks {key} = {missing[:10]} of {count_made}.")
            lost += len(missing)
            doubled += len(values) - len(set(values))
            disordered += values != sorted(values)
    final = client(agent, DOMAIN).dictionary()
    lost += sum(final.get(key) != last for key, last in record.made.items() if key != "Foreign")
    foreign += client(agent, FOREIGN).read("Foreign") != record.made.get("Foreign")
    counts = {
        "doubled": doubled, "disordered": disordered, "miscounted": final.get("Count", 0) - counted,
        "gaps": record.gaps,
    }  # fmt: skip
    findings += [f"{name}: {number}" for name, number in counts.items() if number]
    return {
        "edits": sum(number for key, number in record.made.items() if key != "Foreign") + counted,
        "foreign": record.made.get("Foreign", 0),
        "lost": lost,
        "lostForeign": foreign,
        "received": sum(len(values) for received in record.received.values() for values in received.values()),
        "uncertain": record.uncertain,
        "ends": ends,
        "findings": findings,
    }


sys.exit(main())
