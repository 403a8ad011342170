"""Reading, editing, the past, and typed keys."""

from __future__ import annotations

import json
import logging
import math
import plistlib
from pathlib import Path

import pytest
from conftest import DOMAIN, item

from defaultsd import ChangedError, Change, Defaults, DefaultsError, InvalidValueError, Key
from defaultsd.testing import Agent


def test_a_mapping_reads_and_edits(defaults: Defaults) -> None:
    assert defaults.read("Volume") is None
    assert defaults.read("Volume", 5) == 5
    with pytest.raises(KeyError):
        defaults["Volume"]
    with pytest.raises(KeyError):
        del defaults["Volume"]
    defaults["Volume"] = 7
    assert defaults["Volume"] == 7 and "Volume" in defaults and list(defaults) == ["Volume"]
    del defaults["Volume"]
    assert "Volume" not in defaults and 5 not in defaults and len(defaults) == 0


def test_several_keys_are_one_change_set(defaults: Defaults) -> None:
    defaults.edit({"a": 1, "b": 2})
    with defaults.changes() as stream:
        defaults.edit({"b": 3, "c": 4}, remove=["a"])
        event = item(stream)
    assert isinstance(event, Change)
    assert {one.key: (one.old, one.new) for one in event.changes} == {"a": (1, None), "b": (2, 3), "c": (None, 4)}


def test_a_saved_edit_is_in_the_file(defaults_agent: Agent, defaults: Defaults) -> None:
    for number in range(5):
        defaults.set("Volume", number)
        defaults.save()
        assert plistlib.loads((defaults_agent.directory / f"{DOMAIN}.plist").read_bytes()) == {"Volume": number}


def test_an_edit_that_cannot_be_saved_raises_and_stays(defaults_agent: Agent, defaults: Defaults) -> None:
    # A directory can't be replaced by a file, not even by root.
    (defaults_agent.directory / f"{DOMAIN}.plist").mkdir()
    defaults.set("Volume", 3)
    with pytest.raises(DefaultsError) as caught:
        defaults.save()
    assert caught.value.code and str(caught.value)
    assert defaults["Volume"] == 3


def test_an_update_gets_the_value_in_effect(defaults: Defaults) -> None:
    assert defaults.update("Count", lambda count: (count or 0) + 1) == 1
    assert defaults.update("Count", lambda count: (count or 0) + 1) == 2
    assert defaults.update("Count", lambda count: None) is None
    assert "Count" not in defaults


def test_an_update_is_called_again_if_another_program_was_faster(defaults_agent: Agent, defaults: Defaults) -> None:
    calls: list[object] = []

    def add(value: object) -> object:
        calls.append(value)
        if len(calls) == 1:
            defaults_agent.run("write", DOMAIN, "List", "-array", "other")
        return [*(value if isinstance(value, list) else []), "own"]

    assert defaults.update("List", add) == ["other", "own"]
    assert calls == [None, ["other"]]


def test_an_error_in_an_update_changes_nothing(defaults: Defaults) -> None:
    defaults.set("Count", 1)
    with pytest.raises(ZeroDivisionError):
        defaults.update("Count", lambda count: count // 0)
    with pytest.raises(InvalidValueError):
        defaults.update("Count", lambda count: {1, 2})
    assert defaults["Count"] == 1


def test_explain_agrees_with_the_command(
    defaults_agent: Agent, defaults: Defaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("defaultsd.layers.this_host", lambda: None)
    host = "11111111-2222-3333-4444-555555555555"
    own = defaults_agent.directory
    (own / "ByHost").mkdir()
    for path, value in {
        own / f"{DOMAIN}.plist": "own",
        own / f"ByHost/{DOMAIN}.{host}.plist": "host",
        own / ".GlobalPreferences.plist": "global",
        own / f"ByHost/.GlobalPreferences.{host}.plist": "global host",
        defaults_agent.system / f"{DOMAIN}.plist": "system",
        defaults_agent.system / ".GlobalPreferences.plist": "system global",
    }.items():
        path.write_bytes(plistlib.dumps({"Volume": value, value: 1}))
    defaults_agent.run("sync")
    for arguments, one in [([], defaults), (["-host", host], defaults_agent.defaults(DOMAIN, host=host))]:
        for key in ["Volume", "system global", "host", "own"]:
            layers = one.explain(key)
            shown = defaults_agent.run(*arguments, "explain", "--json", DOMAIN, key, check=False)
            expected = json.loads(shown)["layers"] if shown else []
            assert [(layer.name, layer.domain.name, layer.domain.host, layer.file, layer.wins, layer.value)
                    for layer in layers] == [
                (layer["layer"], layer["domain"], layer["host"], layer["file"], layer["wins"], layer["value"])
                for layer in expected
            ]  # fmt: skip
            assert one.read(key) == (layers[0].value if layers else None)
    names = [layer.name for layer in defaults_agent.defaults(DOMAIN, host=host).explain("Volume")]
    assert names == [
        "you, this host", "you, any host", "you, this host, all apps", "you, any host, all apps", "system",
        "system, all apps",
    ]  # fmt: skip


def test_the_history_has_all_changes(defaults_agent: Agent, defaults: Defaults) -> None:
    for number in range(250):
        defaults.edit({"Volume" if number % 2 else "Balance": number})
    defaults_agent.run("write", "org.example.other", "Volume", "-int", "3")
    assert [one.changes[0].new for one in defaults.history()] == list(range(249, -1, -1))
    assert [one.changes[0].new for one in defaults.history("Volume", limit=3)] == [249, 247, 245]
    tenth = list(defaults.history(limit=10))[-1]
    assert next(defaults.history(before=tenth.cursor)).changes[0].new == tenth.changes[0].new - 1


def test_an_undo_gives_keys_their_former_values(defaults_agent: Agent, defaults: Defaults) -> None:
    defaults.edit({"a": 1, "b": 1})
    defaults.edit({"a": 2, "b": 2, "c": 2})
    change = next(defaults.history())
    assert isinstance(change, Change)
    defaults.set("b", 3)
    undone = defaults.undo(change)
    assert {one.key: (one.old, one.new) for one in undone} == {"a": (2, 1), "c": (2, None)}
    assert defaults.dictionary() == {"a": 1, "b": 3}
    latest = next(defaults.history())
    assert isinstance(latest, Change) and latest.origin == {"purpose": "undo", "of": change.cursor}
    # The command knows what was undone.
    defaults_agent.run("redo", DOMAIN)
    assert defaults.dictionary() == {"a": 2, "b": 3, "c": 2}


def test_an_undo_takes_equal_values_of_other_types_for_others(defaults: Defaults) -> None:
    defaults.set("a", 0)
    defaults.set("a", 1)
    change = next(defaults.history())
    assert isinstance(change, Change)
    defaults.set("a", True)
    assert defaults.undo(change) == [] and defaults["a"] is True
    defaults.set("b", math.nan)
    assert [one.key for one in defaults.undo()] == ["b"] and "b" not in defaults


def test_undoing_without_a_change_takes_back_the_newest(defaults: Defaults) -> None:
    assert defaults.undo() == []
    defaults.set("a", 1)
    defaults.set("a", 2)
    assert [(one.key, one.new) for one in defaults.undo()] == [("a", 1)]


class Settings:
    volume = Key("Volume", int, default=5)
    name = Key("Name", str)
    tags = Key("Tags", list, default=["new"])

    def __init__(self, defaults: Defaults) -> None:
        self.defaults = defaults


def test_a_typed_key_reads_sets_and_removes(defaults: Defaults) -> None:
    settings = Settings(defaults)
    assert (settings.volume, settings.name, settings.tags) == (5, None, ["new"])
    settings.tags.append("changed")
    assert settings.tags == ["new"]
    settings.volume += 2
    settings.name = "Ada"
    assert defaults.dictionary() == {"Volume": 7, "Name": "Ada"}
    assert Settings.volume.update(defaults, lambda volume: volume * 2) == 14
    settings.name = None
    del settings.volume
    assert defaults.dictionary() == {}


def test_a_value_of_another_type_gives_the_default_and_is_reported_once(
    defaults: Defaults, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(defaults)
    defaults.set("Volume", {"loud": True})
    with caplog.at_level(logging.WARNING, logger="defaultsd"):
        assert settings.volume == 5 and settings.volume == 5
    assert len(caplog.records) == 1
    assert "'Volume' in org.example.player is of the type dict, which can't be read as int" in caplog.text
    assert defaults["Volume"] == {"loud": True}


def test_a_key_of_an_unsupported_type_is_refused() -> None:
    with pytest.raises(TypeError, match="str"):
        Key("Volume", tuple, default=())


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a\0b", "x" * 201, "\ud800"])
def test_a_name_that_no_domain_can_have_is_refused(no_agent: Path, name: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Defaults(name)
    assert caught.value.code == "invalidDomainName"


def test_all_names_of_the_global_domain_are_one(defaults_agent: Agent) -> None:
    defaults_agent.defaults("Apple Global Domain").set("a", 1)
    assert defaults_agent.defaults("NSGlobalDomain")["a"] == 1
    assert defaults_agent.defaults("org.example.any")["a"] == 1


def test_a_host_is_checked(no_agent: Path) -> None:
    with pytest.raises(InvalidValueError, match="this_host"):
        Defaults(DOMAIN, host="../../etc")


def test_an_error_is_unchanged_by_pickling() -> None:
    import pickle

    from defaultsd.errors import make

    error = pickle.loads(pickle.dumps(make("changed", "What.", remedy="Retry.", errno=5)))
    assert isinstance(error, ChangedError)
    assert (error.code, error.what, error.remedy, error.errno, str(error)) == (
        "changed", "What.", "Retry.", 5, "What. Retry.",
    )  # fmt: skip
