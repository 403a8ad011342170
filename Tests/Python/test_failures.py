"""Agents that crash, are upgraded, stopped or missing, and programs that race each other."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import DOMAIN, changes, eventually, item

from defaultsd import AgentUnavailableError, Defaults, DefaultsError
from defaultsd.channel import Channel
from defaultsd.connection import Connection, Message, Steps, Timeouts
from defaultsd.plist import encode
from defaultsd.testing import Agent


def pause(agent: Agent) -> None:
    """Stop the agent's process, and wait until the kernel has done so."""
    agent.signal(signal.SIGSTOP)
    stat = Path(f"/proc/{agent.pid}/stat")
    eventually(lambda: ") T " in stat.read_text())


def restart(agent: Agent, number: int) -> None:
    """End the agent with a signal and start the next, or upgrade it.

    This must be called on the main thread, since the agent ends with the thread that started it.
    """
    if number == signal.SIGUSR2:
        agent.signal(number)
        agent.wait_until_ready()
    else:
        agent._end(number)
        agent.start()


def client() -> Defaults:
    """Return preferences with connections and a session of their own."""
    defaults = Defaults(DOMAIN)
    defaults._requests, defaults._disk = Channel(defaults._location), Channel(defaults._location)
    return defaults


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR2])
def test_no_edit_is_lost_or_made_twice(defaults_agent: Agent, defaults: Defaults, number: int) -> None:
    """Threads edit while the agent ends again and again: each edit is in the stream once, and in order."""
    errors: list[BaseException] = []
    made: dict[str, int] = {}
    enough = threading.Event()

    def edit(name: str) -> None:
        own = client()
        try:
            while not enough.is_set():
                own.set(name, made.get(name, 0) + 1)
                made[name] = made.get(name, 0) + 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=edit, args=[f"Thread{index}"]) for index in range(4)]
    with defaults.changes() as stream:
        for thread in threads:
            thread.start()
        chance = random.Random(number)
        # An agent that isn't killed answers for up to a second before it ends.
        for _ in range(8 if number == signal.SIGKILL else 2):
            enough.wait(chance.uniform(0, 0.2))
            restart(defaults_agent, number)
        enough.set()
        for thread in threads:
            thread.join(30)
        assert not errors
        found: dict[str, list[object]] = {name: [] for name in made}
        while any(len(found[name]) < count for name, count in made.items()):
            for one in next(changes(stream)).changes:
                found[one.key].append(one.new)
        assert stream.wait(0) is None
    assert found == {name: list(range(1, count + 1)) for name, count in made.items()}
    assert defaults.dictionary() == made


COUNTER = """
import sys
from defaultsd import Defaults
defaults = Defaults("org.example.player")
for _ in range(int(sys.argv[1])):
    defaults.update("Count", lambda count: (count or 0) + 1)
"""


def test_two_processes_count_to_a_thousand(defaults_agent: Agent, defaults: Defaults) -> None:
    programs = [subprocess.Popen([sys.executable, "-c", COUNTER, "500"]) for _ in range(2)]
    assert [program.wait(100) for program in programs] == [0, 0]
    assert defaults["Count"] == 1_000
    assert len(list(defaults.history())) == 1_000


def test_updates_through_crashes_are_made_once(defaults_agent: Agent, defaults: Defaults) -> None:
    uncertain: list[AgentUnavailableError] = []

    done: list[int] = []
    enough = threading.Event()

    def count() -> None:
        own = client()
        while not enough.is_set():
            try:
                own.update("Count", lambda value: (value or 0) + 1)
                done.append(1)
            except AgentUnavailableError as error:
                uncertain.append(error)

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    chance = random.Random(5)
    for _ in range(8):
        enough.wait(chance.uniform(0, 0.2))
        restart(defaults_agent, signal.SIGKILL)
    enough.set()
    for thread in threads:
        thread.join(30)
    # The agent's log tells whether an edit was made, so no outcome is uncertain.
    assert not uncertain
    assert defaults["Count"] == len(done) > 8


def test_threads_share_an_instance(defaults: Defaults) -> None:
    def work(name: str) -> None:
        for value in range(100):
            defaults.set(name, value)
            assert defaults[name] == value
            if value % 25 == 0:
                defaults.save()
                defaults.update(name, lambda old: old)

    threads = [threading.Thread(target=work, args=[f"Key{index}"]) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert defaults.dictionary() == {f"Key{index}": 99 for index in range(4)}


def test_a_stopped_agent_is_an_error_that_names_it(defaults_agent: Agent, defaults: Defaults) -> None:
    defaults.set("Volume", 1)
    with defaults.changes() as stream:
        pause(defaults_agent)
        start = time.monotonic()
        with pytest.raises(AgentUnavailableError, match=f"kill -CONT {defaults_agent.pid}") as caught:
            defaults.set("Volume", 2)
        assert 4.5 < time.monotonic() - start < 10
        assert "may have been made" in str(caught.value) and caught.value.errno is not None
        defaults_agent.signal(signal.SIGCONT)
        # The edit that was on its way isn't discarded, since no other program has set the key.
        assert [change.changes[0].new for _, change in zip(range(1), changes(stream))] == [2]
        defaults.set("Volume", 3)
        assert next(changes(stream)).changes[0].new == 3
    assert defaults["Volume"] == 3


def test_an_edit_that_arrives_late_is_made(
    defaults_agent: Agent, defaults: Defaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent can't know whether an old edit is still wanted, but the call is still waiting for it."""
    defaults_agent.run("write", DOMAIN, "Volume", "-int", "9")
    answers = []
    original = Connection.answer

    def record(self: Connection, number: int, timeouts: Timeouts) -> Steps[Message]:
        try:
            return (yield from original(self, number, timeouts))
        except DefaultsError as error:
            answers.append(error.code)
            raise

    monkeypatch.setattr(Connection, "answer", record)
    past = time.time_ns() - 10_000_000_000
    monkeypatch.setattr("defaultsd.channel.time.time_ns", lambda: past)
    defaults.set("Volume", 2)
    assert answers == ["late"]
    assert defaults["Volume"] == 2


def test_an_agent_that_was_there_and_is_gone_is_waited_for(defaults_agent: Agent, defaults: Defaults) -> None:
    defaults.set("Volume", 1)
    defaults_agent.kill()
    thread = threading.Thread(target=defaults.set, args=["Volume", 2])
    thread.start()
    defaults_agent.start()
    thread.join(20)
    assert defaults["Volume"] == 2


def test_an_agent_that_stays_away_is_an_error_and_files_are_read(defaults_agent: Agent, defaults: Defaults) -> None:
    defaults.set("Volume", 1)
    defaults_agent.stop()
    start = time.monotonic()
    with pytest.raises(AgentUnavailableError, match="Start one") as caught:
        defaults.set("Volume", 2)
    assert "may have been made" not in str(caught.value)
    assert time.monotonic() - start > 3
    # From now on, nothing waits.
    start = time.monotonic()
    assert defaults["Volume"] == 1
    with pytest.raises(AgentUnavailableError):
        defaults.update("Volume", lambda value: value)
    assert time.monotonic() - start < 8
    defaults_agent.start()
    defaults.set("Volume", 3)
    assert defaults["Volume"] == 3


def test_a_lost_log_makes_an_update_uncertain(
    defaults_agent: Agent, defaults: Defaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to a conditional edit is lost, and the next agent has another log."""
    attempts = 0

    def once(value: object) -> object:
        nonlocal attempts
        attempts += 1
        return attempts

    defaults.update("Count", once)
    channel = defaults._disk
    connection = channel._connection
    assert connection is not None
    original = connection.answer

    def lose(number: int, timeouts: Timeouts) -> Steps[Message]:
        defaults_agent.kill()
        # The log of a directory that isn't the default one is beside the socket.
        for path in defaults_agent.runtime.rglob("*"):
            if path.is_file():
                path.unlink()
        defaults_agent.start()
        return (yield from original(number, timeouts))

    monkeypatch.setattr(connection, "answer", lose)
    with pytest.raises(AgentUnavailableError, match="may have been made"):
        defaults.update("Count", once)
    assert attempts == 2
    assert defaults.update("Count", lambda value: 7) == 7


def test_a_forked_child_edits_for_itself(defaults_agent: Agent, defaults: Defaults) -> None:
    defaults.set("Parent", 1)
    child = os.fork()
    if child == 0:
        try:
            defaults.set("Child", 2)
            defaults.update("Child", lambda value: value * 10)
            os._exit(0)
        except BaseException:
            os._exit(1)
    for value in range(50):
        defaults.set("Parent", value)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert defaults.dictionary() == {"Parent": 49, "Child": 20}


def test_a_refused_message_does_not_end_the_next_call(defaults: Defaults) -> None:
    """A frame that violates the protocol ends the connection; the call raises, and the next one reconnects."""
    defaults.set("Volume", 1)
    channel = defaults._requests
    with pytest.raises(DefaultsError) as caught:
        channel.call(lambda welcome: [{"type": "read", "domain": 5}])
    assert caught.value.code == "protocolViolation"
    assert defaults["Volume"] == 1


def test_another_users_program_at_the_socket_is_not_trusted(no_agent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (no_agent / "run/defaultsd").mkdir(mode=0o700)
    path = no_agent / "run/defaultsd/socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        monkeypatch.setenv("DEFAULTSD_SOCKET", str(path))
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        if os.getuid() == 0:
            # Root is trusted, and the directory's owner is.
            monkeypatch.setattr("defaultsd.connection.struct.unpack", lambda *_: (1, 4711, 4711))
        with pytest.raises(DefaultsError) as caught:
            Defaults(DOMAIN).set("Volume", 1)
        assert caught.value.code in ("agentUnavailable", "directory")


@contextlib.contextmanager
def listening(defaults: Defaults) -> Iterator[socket.socket]:
    """Listen at the default path, without the lock that an agent would hold."""
    path = Path(defaults._location.socket)
    path.parent.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield listener


def test_a_program_that_is_no_agent_is_ignored(no_agent: Path) -> None:
    """It holds no lock, so the files are used after a quarter of a second."""
    defaults = Defaults(DOMAIN)
    with listening(defaults):
        start = time.monotonic()
        assert defaults.read("Volume", 5) == 5
        assert time.monotonic() - start < 3


@pytest.mark.parametrize(
    "answer",
    [
        b"\xff\xff\xff\xff", b"\0\0\0\4none", struct.pack(">I", len(body := encode([1]))) + body,
        struct.pack(">I", len(body := encode({"type": "welcome", "request": 1}))) + body,
    ],
)  # fmt: skip
def test_a_program_that_answers_otherwise_than_an_agent_is_ignored(no_agent: Path, answer: bytes) -> None:
    defaults = Defaults(DOMAIN)
    with listening(defaults) as listener:

        def serve() -> None:
            with listener.accept()[0] as client:
                client.recv(4096)
                client.sendall(answer)
                client.recv(4096)

        thread = threading.Thread(target=serve)
        thread.start()
        assert defaults.read("Volume", 5) == 5
        thread.join()


def test_many_locations_leave_few_descriptors_open(tmp_path: Path) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for number in range(12):
        with tempfile.TemporaryDirectory(prefix="defaultsd-", ignore_cleanup_errors=True) as directory:
            agent = Agent(directory)
            agent.start()
            agent.defaults(DOMAIN).set("a", number)
            agent.close()
    gc.collect()
    # Two connections for each of the eight locations that are kept.
    assert count() - before <= 16


def test_a_stream_follows_through_an_upgrade(defaults_agent: Agent, defaults: Defaults) -> None:
    with defaults.changes() as stream:
        for value in range(5):
            defaults.set("Count", value)
            defaults_agent.signal(signal.SIGUSR2)
            defaults_agent.wait_until_ready()
        assert [change.changes[0].new for _, change in zip(range(5), changes(stream))] == list(range(5))


def test_a_stopped_agent_delays_a_stream(defaults_agent: Agent, defaults: Defaults) -> None:
    with defaults.changes() as stream:
        pause(defaults_agent)
        assert stream.wait(0.2) is None
        defaults_agent.signal(signal.SIGCONT)
        defaults.set("Count", 1)
        assert item(stream)
