"""Errors of programs that find no agent, and programs with unusual threads and copies."""

from __future__ import annotations

import concurrent.futures
import contextlib
import copy
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import DOMAIN

from defaultsd import AgentUnavailableError, Defaults, Key
from defaultsd.testing import Agent, program


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime directory that two homes share."""
    for home in ("a", "b"):
        (tmp_path / home / ".config").mkdir(parents=True)
    for name in ("DEFAULTS_DIRECTORY", "DEFAULTSD_SOCKET", "DEFAULTS_NO_AGENT", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DEFAULTS_SYSTEM_DIRECTORIES", "none")
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path


def test_an_agent_of_another_directory_is_named_and_the_advice_works(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(runtime / "a"))
    with _agent(runtime) as pid:
        monkeypatch.setenv("HOME", str(runtime / "b"))
        with pytest.raises(AgentUnavailableError) as caught:
            Defaults(DOMAIN).set("a", 1)
        assert f"No agent serves {runtime}/b/.config: the one at" in caught.value.what
        assert f"(pid {pid}) serves {runtime}/a/.config." in caught.value.what
        assert caught.value.remedy is not None
        command = caught.value.remedy.split("`")[1].split()
        assert command[0] == "defaultsd"
        with _agent(runtime, *command[1:]):
            Defaults(DOMAIN).set("a", 1)
    assert list((runtime / "a/.config").glob("org*")) == []
    assert (runtime / f"b/.config/{DOMAIN}.plist").exists()


def test_an_agent_whose_socket_is_gone_is_named(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(runtime / "a"))
    with _agent(runtime) as pid:
        os.kill(pid, signal.SIGSTOP)
        try:
            (runtime / "run/defaultsd/socket").unlink()
            with pytest.raises(AgentUnavailableError) as caught:
                Defaults(DOMAIN).set("a", 1)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert caught.value.what.startswith(f"An agent (pid {pid}) serves {runtime}/a/.config, but its socket ")
        assert "Start one" not in str(caught.value)


@pytest.mark.parametrize("library", ["gevent", "eventlet"])
def test_calls_and_streams_work_in_green_threads(library: str, defaults_agent: Agent) -> None:
    pytest.importorskip(library)
    patch = "from gevent import monkey, spawn; monkey.patch_all()"
    if library == "eventlet":
        patch = "import eventlet; eventlet.monkey_patch(); from eventlet import spawn"
    code = f"""{patch}
from defaultsd import Defaults
defaults = Defaults({DOMAIN!r})
defaults.set("a", 1)
assert defaults["a"] == 1
with defaults.changes() as changes:
    spawn(lambda: defaults.set("b", 2))
    found = changes.wait(20)
    assert found is not None and found[0].changes[0].key == "b", found
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=defaults_agent.environment, timeout=60, check=True)


def test_copies_and_pickles_of_preferences_work(defaults: Defaults) -> None:
    defaults.set("a", 1)
    key = Key("a", int, default=0)
    for made in (copy.copy(defaults), copy.deepcopy(defaults), pickle.loads(pickle.dumps(defaults))):
        assert made["a"] == 1 and repr(made) == repr(defaults)
    assert copy.deepcopy(key).get(defaults) == pickle.loads(pickle.dumps(key)).get(defaults) == 1
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(defaults.read, "a").result(60) == 1
    with defaults.changes() as changes:
        for call in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="Create one where it is read"):
                call(changes)


@contextlib.contextmanager
def _agent(runtime: Path, *arguments: str) -> Iterator[int]:
    """Run an agent in this process's environment until the end."""
    address = str(runtime / f"ready{len(arguments)}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
        ready.bind(address)
        ready.settimeout(30)
        environment = {**os.environ, "NOTIFY_SOCKET": address}
        with subprocess.Popen([program("defaultsd"), *arguments], env=environment) as process:
            try:
                while b"READY=1" not in ready.recv(4096):
                    pass
                yield process.pid
            finally:
                process.terminate()
