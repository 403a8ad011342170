"""Reading without an agent."""

from __future__ import annotations

import os
import plistlib
import subprocess
import threading
from pathlib import Path

import pytest
from conftest import DOMAIN

from defaultsd import AgentUnavailableError, Defaults, DefaultsError
from defaultsd.testing import program


def write(path: Path, values: dict[str, object], format: plistlib.PlistFormat = plistlib.FMT_XML) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(plistlib.dumps(values, fmt=format))


def test_all_layers_are_read(no_agent: Path) -> None:
    host = "00000000-1111-2222-3333-444444444444"
    own = no_agent / "preferences"
    write(own / f"{DOMAIN}.plist", {"a": "own", "b": "own"})
    write(own / f"ByHost/{DOMAIN}.{host}.plist", {"a": "host"}, plistlib.FMT_BINARY)
    write(own / ".GlobalPreferences.plist", {"b": "global", "c": "global"}, plistlib.FMT_BINARY)
    write(no_agent / f"system/{DOMAIN}.plist", {"c": "system", "d": "system"})
    defaults = Defaults(DOMAIN, host=host)
    assert defaults.dictionary() == {"a": "host", "b": "own", "c": "global", "d": "system"}
    assert [layer.name for layer in defaults.explain("b")] == ["you, any host", "you, any host, all apps"]
    assert [layer.file for layer in defaults.explain("d")] == [str(no_agent / f"system/{DOMAIN}.plist")]
    shown = subprocess.run([program("defaults"), "read", DOMAIN, "b"], check=True, stdout=subprocess.PIPE, text=True)
    assert shown.stdout == "own\n"


@pytest.mark.skipif(os.getuid() != 0, reason="Only root can write managed files.")
def test_managed_files_count_only_if_root_alone_can_write_them(
    no_agent: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = no_agent / f"managed/{DOMAIN}.plist"
    write(path, {"a": "managed"})
    write(no_agent / f"preferences/{DOMAIN}.plist", {"a": "own"})
    defaults = Defaults(DOMAIN)
    assert defaults["a"] == "managed"
    path.chmod(0o666)
    assert defaults["a"] == "own" and "chmod" in caplog.text


@pytest.mark.parametrize(
    "call",
    [
        lambda defaults: defaults.set("a", 1),
        lambda defaults: defaults.remove("a"),
        lambda defaults: defaults.update("a", lambda value: 1),
        lambda defaults: defaults.save(),
        lambda defaults: next(defaults.history()),
        lambda defaults: next(defaults.values("a")),
    ],
)
def test_what_needs_an_agent_says_how_to_start_it(no_agent: Path, call: object) -> None:
    with pytest.raises(AgentUnavailableError, match="Start one with `defaultsd --directory ") as caught:
        call(Defaults(DOMAIN))  # type: ignore[operator]
    assert caught.value.remedy is not None
    assert list((no_agent / "preferences").iterdir()) == []


def test_files_are_used_if_no_agent_is_wanted(no_agent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULTS_NO_AGENT", "1")
    write(no_agent / f"preferences/{DOMAIN}.plist", {"a": 1})
    defaults = Defaults(DOMAIN)
    assert defaults["a"] == 1
    with pytest.raises(AgentUnavailableError, match="DEFAULTS_NO_AGENT"):
        defaults.set("a", 2)


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"{ a = 1; }", "old-style text.*defaults convert --to xml"),
        (b"<plist><dict>", "isn't a property list"),
        (b"", "isn't a property list"),
        (b"bplist00garbage", "isn't a property list"),
        (plistlib.dumps([1]), "no dictionary"),
        (b"<plist><dict><key>a</key><date>soon</date></dict></plist>", "isn't"),
        (b'<?xml version="1.0" encoding="none"?><plist><dict/></plist>', "isn't"),
        (b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><plist><string>&a;</string></plist>', "isn't"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_an_error(no_agent: Path, contents: bytes, words: str) -> None:
    path = no_agent / f"preferences/{DOMAIN}.plist"
    path.write_bytes(contents)
    with pytest.raises(DefaultsError, match=words) as caught:
        Defaults(DOMAIN).read("a")
    assert caught.value.code == "damaged" and str(path) in str(caught.value)


def test_a_fifo_or_a_directory_in_place_of_a_file_is_an_error(no_agent: Path) -> None:
    path = no_agent / f"preferences/{DOMAIN}.plist"
    os.mkfifo(path)
    with pytest.raises(DefaultsError, match="regular file"):
        Defaults(DOMAIN).read("a")
    path.unlink()
    path.mkdir()
    with pytest.raises(DefaultsError):
        Defaults(DOMAIN).read("a")


def test_a_file_that_is_being_written_is_read_again(no_agent: Path) -> None:
    path = no_agent / f"preferences/{DOMAIN}.plist"
    data = plistlib.dumps({"a": 1})
    path.write_bytes(data[:-20])
    read: list[object] = []
    thread = threading.Thread(target=lambda: read.append(Defaults(DOMAIN).read("a")))
    thread.start()
    path.write_bytes(data)
    thread.join(20)
    assert read == [1]
