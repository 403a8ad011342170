"""Finding the directory and the agent's socket, compared with the command."""

from __future__ import annotations

import json
import os
import plistlib
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from defaultsd import AgentUnavailableError, Defaults, DefaultsError
from defaultsd.location import Location, this_host
from defaultsd.testing import Agent, program
from defaultsd.xxh64 import xxh64


class Place:
    """A home, with a runtime directory, in which an agent is started for each set of variables."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("home/.config", "config", "run", "other", "system", "work"):
            (root / name).mkdir(parents=True, mode=0o700)
        (root / "link").symlink_to(root / "other")
        (root / "same").symlink_to(root / "home/.config")
        self.usual = {"HOME": str(root / "home"), "XDG_RUNTIME_DIR": str(root / "run"), "PATH": os.environ["PATH"]}


@pytest.fixture
def place() -> Iterator[Place]:
    """An empty home in a directory with a short path."""
    with tempfile.TemporaryDirectory(prefix="defaultsd-") as root:
        yield Place(Path(root))


def status(environment: dict[str, str]) -> dict[str, object]:
    """Return the status that the command prints, with an agent that it starts for it."""
    path = Path(environment["XDG_RUNTIME_DIR"]) / "ready"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
        path.unlink(missing_ok=True)
        ready.bind(str(path))
        ready.settimeout(30)
        agent = subprocess.Popen(
            [program("defaultsd"), "--end-with-parent", str(os.getpid())],
            env={**environment, "NOTIFY_SOCKET": str(path)}, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            while b"READY=1" not in ready.recv(4096):
                pass
            shown = subprocess.run(
                [program("defaults"), "status", "--json"], env=environment, check=True, stdout=subprocess.PIPE)
            result: dict[str, object] = json.loads(shown.stdout)
            # The package finds the same agent.
            assert Defaults("org.example.any", environment=environment).read("missing", 3) == 3
            defaults = Defaults("org.example.any", environment=environment)
            defaults.set("found", True)
            connection = defaults._requests._connection
            assert connection is not None and connection.welcome["pid"] == agent.pid
            return result
        finally:
            agent.kill()
            agent.wait()


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"XDG_CONFIG_HOME": "{root}/config"},
        {"XDG_CONFIG_HOME": "relative"},
        {"DEFAULTS_DIRECTORY": "{root}/other"},
        {"DEFAULTS_DIRECTORY": "{root}/other/"},
        {"DEFAULTS_DIRECTORY": "{root}/link"},
        {"DEFAULTS_DIRECTORY": "{root}/home/.config"},
        {"DEFAULTS_DIRECTORY": "{root}/same"},
        {"DEFAULTSD_SOCKET": "{root}/run/named"},
        {"DEFAULTSD_SOCKET": "{root}/run/named", "DEFAULTS_DIRECTORY": "{root}/other"},
        {"DEFAULTS_DIRECTORY": ""},
        {"DEFAULTSD_SOCKET": ""},
    ],
    ids=str,
)
def test_the_socket_is_that_of_the_command(place: Place, variables: dict[str, str]) -> None:
    environment = place.usual | {name: value.format(root=place.root) for name, value in variables.items()}
    found = Location.find(None, environment)
    shown = status(environment)
    assert found.socket == shown["socket"]
    assert os.path.realpath(found.directory) == os.path.realpath(str(shown["directory"]))


def test_the_settings_may_name_another_directory(place: Place) -> None:
    path = place.root / "home/.config/org.defaultsd.agent.plist"
    for value in [str(place.root / "other"), "~/elsewhere"]:
        (place.root / "home/elsewhere").mkdir(exist_ok=True)
        path.write_bytes(plistlib.dumps({"Directory": value}))
        found, shown = Location.find(None, place.usual), status(place.usual)
        assert found.socket == shown["socket"] and found.directory == shown["directory"]
    path.write_text("<plist><dict><key>Directory</key>")
    with pytest.raises(DefaultsError, match="DEFAULTS_DIRECTORY"):
        Location.find(None, place.usual)
    path.write_text("<plist><dict><key>LogLevel</key>")
    assert Location.find(None, place.usual).directory == str(place.root / "home/.config")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DefaultsError, match="regular file.*may name the preferences directory"):
        Location.find(None, place.usual)


def test_an_agent_with_another_runtime_directory_is_found_by_its_lock(defaults_agent: Agent, tmp_path: Path) -> None:
    defaults_agent.defaults("org.example.any").set("found", 1)
    other = defaults_agent.environment | {"XDG_RUNTIME_DIR": str(tmp_path)}
    defaults = Defaults("org.example.any", environment=other)
    assert defaults._location.socket != defaults_agent.defaults("org.example.any")._location.socket
    defaults.set("found", 2)
    assert defaults_agent.defaults("org.example.any")["found"] == 2
    with defaults.changes() as stream:
        defaults.set("found", 3)
        assert stream.wait(20)


def test_a_named_socket_without_an_agent_is_an_error(defaults_agent: Agent, tmp_path: Path) -> None:
    other = defaults_agent.environment | {"DEFAULTSD_SOCKET": str(tmp_path / "none")}
    with pytest.raises(AgentUnavailableError, match="none"):
        Defaults("org.example.any", environment=other).read("key")


def test_a_named_socket_of_another_directory_is_an_error(defaults_agent: Agent, tmp_path: Path) -> None:
    path = defaults_agent.defaults("org.example.any")._location.socket
    other = defaults_agent.environment | {"DEFAULTSD_SOCKET": path, "DEFAULTS_DIRECTORY": str(tmp_path)}
    with pytest.raises(DefaultsError, match="serves") as caught:
        Defaults("org.example.any", environment=other).read("key")
    assert caught.value.code == "agentRefused"


def test_a_socket_in_a_directory_that_others_may_write_to_is_not_used(defaults_agent: Agent) -> None:
    defaults = defaults_agent.defaults("org.example.any")
    directory = Path(defaults._location.socket).parent
    named = defaults_agent.environment | {"DEFAULTSD_SOCKET": defaults._location.socket}
    directory.chmod(0o777)
    assert not defaults._location.may_have_agent()
    with pytest.raises(DefaultsError, match="Other users may write"):
        Defaults("org.example.any", environment=named).read("key")
    directory.chmod(0o700)
    assert defaults._location.may_have_agent()


def test_a_path_that_is_too_long_has_no_agent(no_agent: Path) -> None:
    environment = {**os.environ, "XDG_RUNTIME_DIR": "/" + "x" * 100}
    assert Defaults("org.example.any", environment=environment).read("key", 1) == 1
    environment["DEFAULTSD_SOCKET"] = "/" + "x" * 110
    with pytest.raises(DefaultsError, match="103 bytes"):
        Defaults("org.example.any", environment=environment).read("key")


def test_a_named_directory_must_exist(no_agent: Path) -> None:
    with pytest.raises(DefaultsError, match="missing") as caught:
        Defaults("org.example.any", directory=no_agent / "missing")
    assert (caught.value.code, caught.value.errno) == ("directory", 2)


def test_the_hash_is_xxh64() -> None:
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"a") == 0xD24EC4F1A98C6E5B
    assert xxh64(b"abc") == 0x44BC2CF5AD770999
    assert xxh64(b"The quick brown fox jumps over the lazy dog") == 0x0B242D361FDA71BC


def test_the_hosts_identifier_is_that_of_the_command(defaults_agent: Agent) -> None:
    assert (this_host() or "") == defaults_agent.run("printhostidentifier", check=False).strip()
