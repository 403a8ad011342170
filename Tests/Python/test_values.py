"""Values: their types, their limits, and their form in messages."""

from __future__ import annotations

import enum
import math
import plistlib
import random
import struct
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from defaultsd import Defaults, InvalidValueError, Key
from defaultsd.plist import Date, Real32, decode, encode
from defaultsd.testing import Agent
from defaultsd.values import public, stored

UTC = timezone.utc


@pytest.fixture(scope="module")
def shared_agent() -> Iterator[Agent]:
    """An agent for all tests here, since each of them needs only a domain of its own."""
    with tempfile.TemporaryDirectory(prefix="defaultsd-") as directory:
        agent = Agent(directory)
        agent.start()
        yield agent
        agent.close()


@pytest.fixture
def own(shared_agent: Agent) -> Defaults:
    """The preferences of a domain that no other test uses."""
    return shared_agent.defaults(f"org.example.{uuid.uuid4()}")


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for _ in range(depth):
        value = [value]
    return value


def same(first: Any, second: Any) -> bool:
    """Return whether two values are equal in type and bits."""
    # Loops need one frame for each level.
    if isinstance(first, list) and isinstance(second, list):
        for one, other in zip(first, second):
            if not same(one, other):
                return False
        return len(first) == len(second)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and same(list(first.values()), [second[key] for key in first])
    if isinstance(first, float) and isinstance(second, float):
        return struct.pack(">d", first) == struct.pack(">d", second)
    return type(first) is type(second) and bool(first == second)


STORED = {
    "an empty string": "",
    "text beyond ASCII": "grüße 😀",
    "a NUL": "a\0b",
    "control characters": "\x01\x1f\x7f\ufffe\uffff",
    "combining marks": "e" + "\u0301" * 200,
    "a decomposed letter": "e\u0301",
    "a long string": "x" * 1_000_000,
    "true": True,
    "false": False,
    "zero": 0,
    "one": 1,
    "the smallest integer": -(1 << 63),
    "the largest signed integer": (1 << 63) - 1,
    "the largest unsigned integer": (1 << 64) - 1,
    "zeros of both signs": [0.0, -0.0],
    "an infinity": -math.inf,
    "a NaN": math.nan,
    "the smallest real": 5e-324,
    "bytes": bytes(range(256)),
    "a date": datetime(2026, 11, 27, 12, 30, 15, 250_000, tzinfo=UTC),
    "an early date": datetime(1, 1, 1, tzinfo=UTC),
    "an empty list": [],
    "an empty dictionary": {},
    "an empty key": {"": 1},
    "equal values of several types": [1, True, 1.0, "1", b"1"],
    "deep nesting": nested(499),
    "many values": {str(number): [number] for number in range(5_000)},
}


@pytest.mark.parametrize("value", STORED.values(), ids=STORED.keys())
def test_a_value_is_read_as_it_was_set(own: Defaults, value: Any) -> None:
    own.set("key", value)
    assert same(own.read("key"), value)
    own.save()
    assert same(own.read("key"), value)


def test_values_survive_the_agent(defaults_agent: Agent, defaults: Defaults) -> None:
    defaults.edit(STORED)
    defaults_agent.kill()
    defaults_agent.start()
    assert same(defaults.dictionary(), STORED)
    defaults.save()
    defaults_agent.stop()
    defaults_agent.start()
    # XML holds whole seconds only, but a file with a NUL or a deep value becomes binary.
    assert same(defaults.dictionary(), STORED)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, ["'key'", "NoneType", "Remove the key"]),
        ({"a": [1, None]}, ["'key'", "['a'][1]", "NoneType"]),
        (1 << 64, ["'key'", "64 bits"]),
        ({"deep": [-(1 << 63) - 1]}, ["['deep'][0]", "64 bits"]),
        ({1: "x"}, ["'key'", "key of the type int"]),
        ([{"ok": {2.5: 1}}], ["[0]['ok']", "float"]),
        (datetime(2026, 1, 1), ["'key'", "time zone", "timezone.utc"]),
        ((1, 2), ["tuple", "list(value)"]),
        ({"a": {1, 2}}, ["['a']", "set", "sorted(value)"]),
        (plistlib.UID(3), ["UID"]),
        (1j, ["complex"]),
        ("a\ud800b", ["lone surrogate", "bytes"]),
        ({"\udfff": 1}, ["lone surrogate"]),
        (nested(500), ["499 nested"]),
        (nested(100_000), ["499 nested"]),
        ({"e" + "\u0301" * 129: 1}, ["combining marks"]),
    ],
)
def test_a_refusal_names_the_key_and_the_place(own: Defaults, value: Any, words: list[str]) -> None:
    with pytest.raises(InvalidValueError) as caught:
        own.edit({"other": 1, "key": value})
    assert caught.value.code == "invalidValue"
    assert caught.value.remedy is not None
    for word in words:
        assert word in str(caught.value)
    # Nothing was set.
    assert own.dictionary() == {}


def test_a_list_that_contains_itself_is_refused(own: Defaults) -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InvalidValueError):
        own["key"] = value


@pytest.mark.parametrize("key", ["\ud800", "e" + "\u0301" * 129, 5, None])
def test_a_key_that_cannot_be_one_is_refused(own: Defaults, key: Any) -> None:
    with pytest.raises(InvalidValueError):
        own.set(key, 1)
    with pytest.raises(InvalidValueError):
        own.read(key)
    with pytest.raises(InvalidValueError):
        own.remove(key)


def test_values_of_more_than_64_mib_are_refused(own: Defaults) -> None:
    with pytest.raises(InvalidValueError, match="too large"):
        own.set("key", bytes(64 << 20))
    own.set("key", 1)
    assert own["key"] == 1


def test_a_date_that_files_cannot_hold_is_refused(own: Defaults) -> None:
    # In the form of a property list, it is rounded to the year 10000.
    with pytest.raises(InvalidValueError, match="9999"):
        own.set("key", datetime.max.replace(tzinfo=UTC))


def test_equivalent_spellings_are_one_key(own: Defaults) -> None:
    own.set("caf\u00e9", 1)
    assert own["cafe\u0301"] == 1
    assert own.update("cafe\u0301", lambda value: value + 1) == 2
    assert own["caf\u00e9"] == 2
    assert len(own) == 1
    own.remove("cafe\u0301")
    assert "caf\u00e9" not in own


def test_enumerations_are_stored_as_their_plain_values() -> None:
    class Theme(str, enum.Enum):
        DARK = "dark"

    class Level(enum.IntEnum):
        HIGH = 3

    assert [type(stored("key", value)) for value in (Theme.DARK, Level.HIGH)] == [str, int]
    assert stored("key", [Theme.DARK, Level.HIGH]) == ["dark", 3]


def test_a_date_in_another_time_zone_is_read_in_utc(own: Defaults) -> None:
    when = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    own.set("key", when)
    assert own["key"] == when
    assert own["key"].tzinfo == UTC


def test_a_file_with_values_that_no_edit_can_set_is_read(defaults_agent: Agent, defaults: Defaults) -> None:
    values = {"real": Real32(0.1), "late": Date(1e15), "early": Date(-1e15), "none": Date(math.nan)}
    data = encode({**values, "id": plistlib.UID(7)})
    with defaults.changes() as stream:
        (defaults_agent.directory / "org.example.player.plist").write_bytes(data)
        event = stream.wait(20)
    assert event is not None
    assert defaults["real"] == struct.unpack(">f", struct.pack(">f", 0.1))[0]
    assert type(defaults["real"]) is float
    assert defaults["late"] == datetime.max.replace(tzinfo=UTC)
    assert defaults["early"] == datetime.min.replace(tzinfo=UTC)
    assert defaults["id"] == plistlib.UID(7)
    # The condition of the edit has the 32-bit real.
    assert defaults.update("real", lambda value: value * 2) == pytest.approx(0.2)
    assert defaults.update("late", lambda value: value.year) == 9999


def test_the_codec_agrees_with_plistlib() -> None:
    chance = random.Random(7)

    def value(depth: int) -> Any:
        kinds: list[Callable[[], Any]] = [
            lambda: chance.choice(["", "a", "é" * 20, "x" * 300, "😀\0"]),
            lambda: chance.choice([0, 1, 255, 256, -1, 65536, 1 << 40, -(1 << 63), (1 << 64) - 1]),
            lambda: chance.choice([True, False]),
            lambda: chance.uniform(-1e9, 1e9),
            lambda: chance.randbytes(chance.choice([0, 3, 14, 15, 16, 300])),
            lambda: [value(depth - 1) for _ in range(chance.choice([0, 2, 14, 15, 40]))] if depth else [],
            lambda: {str(chance.random()): value(depth - 1) for _ in range(chance.choice([0, 2, 16]))} if depth else {},
        ]
        return chance.choice(kinds)()

    for _ in range(300):
        original = value(3)
        assert same(decode(encode(original)), original)
        assert same(plistlib.loads(encode(original)), original)
        assert same(decode(plistlib.dumps(original, fmt=plistlib.FMT_BINARY)), original)


def test_the_codec_refuses_damaged_data() -> None:
    chance = random.Random(11)
    data = encode({"a": [1, 2.5, "text", b"data", True], "b": {"c": Date(1)}})
    for _ in range(3_000):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            public(decode(bytes(damaged[: chance.randint(0, len(damaged))] if chance.random() < 0.3 else damaged)))
        except (ValueError, TypeError):
            pass


def test_the_codec_refuses_values_that_are_shared_too_often() -> None:
    # Each of 30 arrays has the next one twice.
    objects = [b"\xa2" + bytes([level + 1, level + 1]) for level in range(30)] + [b"\x10\x01"]
    offsets = bytes(8 + 3 * level for level in range(31))
    data = b"bplist00" + b"".join(objects)
    data += offsets + struct.pack(">6xBBQQQ", 1, 1, 31, 0, len(data))
    with pytest.raises(ValueError, match="16 values per byte"):
        decode(data)


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        (int, "5", 5), (int, " 12 ", 12), (int, "5 cm", -1), (int, "abc", -1), (int, 2.0, 2), (int, 2.5, -1),
        (int, True, 1), (int, "1_000", -1), (int, math.inf, -1), (int, [1], -1),
        (float, 3, 3.0), (float, "2.5", 2.5), (float, "0x10", -1.0), (float, "1e3", 1000.0), (float, b"", -1.0),
        (str, 5, "5"), (str, 2.0, "2"), (str, True, "1"), (str, 0.1, "0.1"), (str, b"x", "-"),
        (bool, "YES", True), (bool, "f", False), (bool, 0, False), (bool, 0.5, True), (bool, "2", True),
        (bytes, b"x", b"x"), (bytes, "x", b"-"), (list, [1], [1]), (list, {}, []), (dict, {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_a_typed_key_converts_as_the_swift_library_does(type: Any, value: Any, expected: Any) -> None:
    defaults = {int: -1, float: -1.0, str: "-", bool: False, bytes: b"-", list: [], dict: {}}
    assert same(Key("key", type, default=defaults[type]).read(value), expected)
