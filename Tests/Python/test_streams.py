"""Streams of changes and values."""

from __future__ import annotations

import asyncio
import os
import plistlib
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import DOMAIN, changes, eventually, item

from defaultsd import AgentUnavailableError, Change, Condition, Defaults, Event, Gap, InvalidValueError, Snapshot
from defaultsd.streams import Stream
from defaultsd.testing import Agent


def write_foreign(directory: Path, values: dict[str, object], name: str = DOMAIN) -> None:
    """Replace a domain's file as a program that doesn't know of the agent does."""
    new = directory / f"{name}.new"
    new.write_bytes(plistlib.dumps(values))
    os.replace(new, directory / f"{name}.plist")


def resident_memory(pid: int) -> int:
    """Return the memory of a process, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_stream_begins_with_the_statement_with(defaults: Defaults) -> None:
    with defaults.changes() as stream:
        cursor = stream.cursor
        assert cursor is not None
        defaults.set("Volume", 1)
        event = item(stream)
        assert isinstance(event, Change)
        assert event.domain.name == DOMAIN and event.source.kind == "app" and event.source.pid == os.getpid()
        assert (event.changes[0].key, event.changes[0].old, event.changes[0].new) == ("Volume", None, 1)
        assert stream.cursor == event.cursor != cursor
        assert stream.wait(0) is None
    assert next(stream, None) is None


def test_a_stream_has_only_the_keys_that_were_asked_for(defaults: Defaults) -> None:
    with defaults.changes("a*", "b\\?") as stream:
        defaults.edit({"a": 1, "ab": 1, "a*": 1, "b\\?": 1, "bx": 1})
        event = item(stream)
        assert isinstance(event, Change)
        assert {one.key for one in event.changes} == {"a*", "b\\?"}


def test_a_foreign_change_arrives(defaults_agent: Agent, defaults: Defaults) -> None:
    defaults.edit({"a": 1, "b": 1})
    defaults.save()
    with defaults.changes() as stream:
        # A writer that has read the file removes the keys that it leaves out.
        (defaults_agent.directory / f"{DOMAIN}.plist").read_bytes()
        write_foreign(defaults_agent.directory, {"a": 2, "c": 3})
        event = item(stream)
        assert isinstance(event, Change)
        assert event.source.kind == "file" and event.source.pid is None
        assert {one.key: one.new for one in event.changes} == {"a": 2, "b": None, "c": 3}
        assert defaults.dictionary() == {"a": 2, "c": 3}


def test_damage_and_recovery_arrive(defaults_agent: Agent, defaults: Defaults) -> None:
    defaults.set("a", 1)
    defaults.save()
    with defaults.changes() as stream:
        (defaults_agent.directory / f"{DOMAIN}.plist").write_text("<plist>")
        event = item(stream)
        assert isinstance(event, Condition) and event.kind == "damaged" and event.reason
        assert defaults["a"] == 1
        write_foreign(defaults_agent.directory, {"a": 1})
        event = item(stream)
        assert isinstance(event, Condition) and event.kind == "recovered"


def test_ten_thousand_changes_arrive_in_order(defaults_agent: Agent, defaults: Defaults) -> None:
    count = 10_000
    other = defaults_agent.defaults(DOMAIN)

    def write() -> None:
        for number in range(count):
            other.set("Count", number)

    writer = threading.Thread(target=write)
    with defaults.changes("Count") as stream:
        writer.start()
        for number, change in zip(range(count), changes(stream)):
            assert change.changes[0].new == number
            assert change.changes[0].old == (number - 1 if number else None)
        writer.join()
        assert stream.wait(0) is None


def test_a_slow_reader_gets_everything_that_the_log_has(defaults_agent: Agent, defaults: Defaults) -> None:
    with defaults.changes() as stream:
        for number in range(500):
            defaults.edit({"Count": number, "Rest": "x" * 2_000})
        for number, change in zip(range(500), changes(stream)):
            assert {one.key: one.new for one in change.changes}["Count"] == number


def test_a_reader_that_never_reads_costs_no_memory_and_gets_a_gap(
    defaults_agent: Agent, defaults: Defaults
) -> None:
    # The smallest log that the settings allow discards its records soon.
    settings = defaults_agent.defaults("org.defaultsd.agent")
    settings.edit({"LogBytes": 1_000_000, "HistoryBytes": 1_000_000})
    settings.save()
    streams = [defaults.changes() for _ in range(20)]
    for stream in streams:
        stream.__enter__()
    for number in range(200):
        defaults.edit({"Count": number, "Rest": "x" * 20_000})
    before = resident_memory(defaults_agent.pid)
    for number in range(200, 2_000):
        defaults.edit({"Count": number, "Rest": f"{number}" + "x" * 20_000})
    # The log itself has a limit; twenty readers would need 20 × 36 MB.
    assert resident_memory(defaults_agent.pid) - before < 120_000_000
    events: list[Event] = []
    with streams[0] as stream:
        while not (events and isinstance(events[-1], Snapshot)):
            events.append(item(stream))
    gaps = [event for event in events if isinstance(event, Gap)]
    assert len(gaps) == 1 and gaps[0].start != gaps[0].end
    assert isinstance(events[-1], Snapshot) and events[-1].values["Count"] == 1_999
    assert [event.changes[0].new for event in events[:-2] if isinstance(event, Change)] == sorted(
        event.changes[0].new for event in events[:-2] if isinstance(event, Change)
    )
    for stream in streams:
        stream.close()


def test_a_stream_continues_after_a_crash_without_loss(defaults_agent: Agent, defaults: Defaults) -> None:
    with defaults.changes() as stream:
        for round in range(4):
            for number in range(20):
                defaults.set("Count", round * 100 + number)
            defaults_agent.kill()
            if round == 2:
                write_foreign(defaults_agent.directory, {"Count": 219, "Foreign": True})
            defaults_agent.start()
        found: list[object] = []
        while len(found) < 80:
            event = item(stream)
            assert not isinstance(event, Gap)
            if isinstance(event, Change):
                found += [one.new for one in event.changes if one.key == "Count"]
    assert found == [round * 100 + number for round in range(4) for number in range(20)]


def test_a_stream_continues_from_a_cursor(defaults: Defaults) -> None:
    with defaults.changes() as stream:
        for number in range(10):
            defaults.set("Count", number)
        cursor = [change.cursor for _, change in zip(range(5), changes(stream))][-1]
    with defaults.changes(since=cursor) as stream:
        assert [change.changes[0].new for _, change in zip(range(5), changes(stream))] == [5, 6, 7, 8, 9]


def test_a_cursor_of_another_log_gives_a_gap_and_the_values(defaults: Defaults) -> None:
    defaults.set("Count", 3)
    with defaults.changes(since="00f1e2d3c4b5a697:42") as stream:
        gap, snapshot = item(stream), item(stream)
        assert isinstance(gap, Gap) and gap.start == gap.cursor == "00f1e2d3c4b5a697:42"
        assert isinstance(snapshot, Snapshot) and snapshot.values == {"Count": 3}


def test_text_that_is_no_cursor_is_refused(defaults: Defaults) -> None:
    with pytest.raises(InvalidValueError) as caught, defaults.changes(since="yesterday"):
        pass
    assert caught.value.code == "invalidCursor"


def test_values_begin_with_the_current_one(defaults_agent: Agent, defaults: Defaults) -> None:
    values = defaults.values("Volume", 5)
    assert item(values) == 5
    defaults.set("Volume", 7)
    assert item(values) == 7
    defaults.set("Other", 1)
    defaults_agent.defaults("NSGlobalDomain").set("Volume", 1)
    defaults.set("Volume", True)
    assert item(values) is True
    defaults.remove("Volume")
    assert item(values) == 1
    defaults_agent.defaults("NSGlobalDomain").remove("Volume")
    assert item(values) == 5
    write_foreign(defaults_agent.directory, {"Volume": 8})
    assert item(values) == 8
    defaults_agent.kill()
    write_foreign(defaults_agent.directory, {"Volume": 9})
    defaults_agent.start()
    assert item(values) == 9
    defaults_agent.stop()
    defaults_agent.start()
    defaults.set("Volume", 10)
    assert item(values) == 10
    values.close()


def test_a_slow_reader_of_values_gets_the_newest(defaults: Defaults) -> None:
    with defaults.values("Count") as values:
        assert item(values) is None
        for number in range(2_000):
            defaults.edit({"Count": number, "Rest": "x" * 500})
        found = [item(values)]
        while found[-1] != 1_999:
            found.append(item(values))
    assert found == sorted(found) and len(found) < 1_000


def test_a_stream_without_an_agent_says_how_to_start_one(no_agent: Path) -> None:
    with pytest.raises(AgentUnavailableError, match="Start one with `defaultsd --directory "):
        next(Defaults(DOMAIN).changes())


def test_another_thread_ends_a_stream(defaults: Defaults) -> None:
    stream = defaults.changes()
    with stream:
        found: list[object] = []
        reader = threading.Thread(target=lambda: found.extend(stream))
        reader.start()
        defaults.set("Count", 1)
        eventually(lambda: len(found) == 1)
        with pytest.raises(RuntimeError, match="Another thread"):
            next(stream)
        stream.close()
        reader.join(20)
        assert not reader.is_alive()


def test_closing_never_disturbs_the_reader(defaults: Defaults) -> None:
    failed: list[BaseException] = []

    def read(stream: Stream[Event]) -> None:
        try:
            list(stream)
        except BaseException as error:
            failed.append(error)

    for _ in range(300):
        stream = defaults.changes()
        reader = threading.Thread(target=read, args=(stream,))
        reader.start()
        stream.close()
        stream.close()
        reader.join(20)
    assert failed == []


def test_with_loses_no_item_of_a_stream_that_has_begun(defaults: Defaults) -> None:
    with defaults.changes() as stream:
        for number in range(3):
            defaults.set("Count", number)
        item(stream)
        with stream:
            event = item(stream)
            assert isinstance(event, Change) and event.changes[0].new == 1


def test_a_stream_ends_while_it_waits_for_an_agent(defaults_agent: Agent, defaults: Defaults) -> None:
    stream = defaults.changes()
    with stream:
        reader = threading.Thread(target=lambda: list(stream))
        reader.start()
        defaults_agent.stop()
        stream.close()
        reader.join(20)
        assert not reader.is_alive()


def test_short_waits_add_up_while_there_is_no_agent(defaults_agent: Agent, defaults: Defaults) -> None:
    """The delay between attempts to reach an agent goes on over several calls."""
    with defaults.changes() as stream:
        defaults_agent.kill()
        # The delays have grown to half a second.
        assert stream.wait(2) is None
        defaults_agent.start()
        defaults.set("Count", 1)
        found = None
        for _ in range(100):
            found = found or stream.wait(0.05)
        assert found is not None


def test_a_stream_leaves_no_descriptor_open(defaults: Defaults) -> None:
    defaults.set("Count", 0)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with defaults.changes() as stream:
            defaults.set("Count", 1)
            stream.wait(0)
        next(defaults.values("Count"))
    assert len(os.listdir("/proc/self/fd")) == before


def test_asyncio_reads_a_stream(defaults_agent: Agent, defaults: Defaults) -> None:
    async def main() -> list[object]:
        async with defaults.changes() as stream:
            task = asyncio.create_task(follow(stream))
            for number in range(50):
                await asyncio.to_thread(defaults.set, "Count", number)
                if number == 25:
                    await asyncio.to_thread(defaults_agent.kill)
                    await asyncio.to_thread(start)
            return await asyncio.wait_for(task, 20)

    # The agent ends with the thread that has started it.
    def start() -> None:
        restart.set()
        restarted.wait(20)

    async def follow(stream: Stream[Any]) -> list[object]:
        found: list[object] = []
        async for event in stream:
            found.append(event.changes[0].new)
            if found[-1] == 49:
                return found
        return found

    restart, restarted = threading.Event(), threading.Event()
    result: list[object] = []
    worker = threading.Thread(target=lambda: result.extend(asyncio.run(main())))
    worker.start()
    assert restart.wait(20)
    defaults_agent.start()
    restarted.set()
    worker.join(30)
    assert result == list(range(50))


def test_canceling_a_wait_loses_nothing(defaults: Defaults) -> None:
    async def main() -> None:
        async with defaults.changes() as stream:
            found = []
            for number in range(300):
                if number % 3 == 0:
                    await asyncio.to_thread(defaults.set, "Count", number // 3)
                task = asyncio.create_task(anext(stream))
                # Some tasks are canceled before they begin, some while they wait, some when the change is there.
                for _ in range(number % 4):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    found.append((await task).changes[0].new)  # type: ignore[union-attr]
                except asyncio.CancelledError:
                    pass
            while len(found) < 100:
                event = await asyncio.wait_for(anext(stream), 20)
                assert isinstance(event, Change)
                found.append(event.changes[0].new)
            assert found == list(range(100))

    asyncio.run(main())


def test_several_tasks_read_streams_of_their_own(defaults: Defaults) -> None:
    async def first(key: str) -> object:
        async for value in defaults.values(key):
            if value is not None:
                return value
        return None

    async def main() -> None:
        tasks = [asyncio.create_task(first(f"Key{number}")) for number in range(30)]
        await asyncio.to_thread(defaults.edit, {f"Key{number}": number for number in range(30)})
        assert await asyncio.wait_for(asyncio.gather(*tasks), 20) == list(range(30))

    asyncio.run(main())


def test_a_forked_child_is_refused_its_parents_stream(defaults: Defaults) -> None:
    with defaults.changes() as stream:
        child = os.fork()
        if child == 0:
            try:
                next(stream)
            except RuntimeError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        defaults.set("Count", 1)
        assert isinstance(item(stream), Change)
