"""A program with GSettings that a test leads by lines on its standard input, and that prints each signal.

client.py SCHEMA [PATH] follows the settings of a schema. A line is a command with arguments that are separated by tabs;
its answer is a line that begins with "=".
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from gi.repository import Gio, GLib

GLib.set_prgname(os.environ.get("PROGRAM_NAME", "test-client"))
source = Gio.SettingsSchemaSource.get_default()
schema = source.lookup(sys.argv[1], True)
settings = Gio.Settings.new_full(schema, None, sys.argv[2] if len(sys.argv) > 2 else None)
loop = GLib.MainLoop()
main_thread = threading.get_ident()


def say(*words: Any) -> None:
    if threading.get_ident() != main_thread:
        words = ("WRONG THREAD", *words)
    print(*words, flush=True)


def text(value: GLib.Variant | None) -> str:
    return "nothing" if value is None else value.print_(False)


def parse(key: str, value: str) -> GLib.Variant:
    return GLib.Variant.parse(schema.get_key(key).get_value_type(), value, None, None)


def run(command: str, *arguments: str) -> Any:
    global settings
    key = arguments[0] if arguments else ""
    if command == "get":
        return text(settings.get_value(key))
    if command == "user":
        return text(settings.get_user_value(key))
    if command == "default":
        return text(settings.get_default_value(key))
    if command == "writable":
        return settings.is_writable(key)
    if command == "set":
        return settings.set_value(key, parse(*arguments))
    if command == "set-many":
        return all(settings.set_value(key, parse(key, str(value))) for value in range(int(arguments[1])))
    if command == "time-set":
        start = time.monotonic()
        settings.set_value(key, parse(*arguments))
        return start
    if command == "last-change":
        return last_change
    if command == "reset":
        return settings.reset(key)
    if command == "delay":
        return settings.delay()
    if command == "apply":
        return settings.apply()
    if command == "sync":
        return Gio.Settings.sync()
    if command == "exit-at-once":
        settings.set_value(key, parse(*arguments))
        os._exit(0)
    if command == "fork":
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            own = settings.get_value(key).print_(False)
            settings.set_value(key, parse(*arguments))
            Gio.Settings.sync()
            # The child has printed its own signal.
            print("child", own, settings.get_value(key).print_(False), flush=True)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if command == "threads":
        return len(os.listdir("/proc/self/task"))
    if command == "open":
        # The other settings stay, as in a program with many windows.
        others.append(Gio.Settings.new_full(source.lookup(key, True), None, arguments[1]))
        return others[-1].get_value(arguments[2]).print_(False)
    if command == "open-many-and-time":
        start = time.monotonic()
        for number in range(int(arguments[2])):
            run("open", key, f"{arguments[1]}{number}/", "count")
        return time.monotonic() - start
    if command == "set-paths-and-exit":
        for number in range(int(arguments[2])):
            Gio.Settings.new_full(source.lookup(key, True), None, f"{arguments[1]}{number}/").set_int("count", number)
        os._exit(0)
    if command == "fork-with-new-files":
        child = os.fork()
        if child == 0:
            # As a daemon does.
            os.closerange(3, 1000)
            files = [os.open("/dev/null", os.O_RDONLY) for _ in range(40)]
            settings.get_value(key)
            os._exit(any(os.readlink(f"/proc/self/fd/{file}") != "/dev/null" for file in files))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if command == "files":
        paths = [f"/proc/self/fd/{file}" for file in os.listdir("/proc/self/fd")]
        return " ".join(os.readlink(path) for path in paths if os.path.lexists(path))
    if command == "sync-in-thread":
        # Two threads that print would mix their lines.
        threading.Thread(target=lambda: (Gio.Settings.sync(), GLib.idle_add(say, "synced"))).start()
        return None
    raise ValueError(command)


others: list[Any] = []


def read(*_: Any) -> bool:
    line = sys.stdin.readline()
    if not line:
        loop.quit()
        return False
    say("=", run(*line.rstrip("\n").split("\t")))
    return True


def handle(_: Any, key: str) -> None:
    global last_change
    last_change = time.monotonic()
    say("changed", key, text(settings.get_value(key)))


last_change = 0.0
settings.connect("changed", handle)
settings.connect("writable-changed", lambda _, key: say("writable", key, settings.is_writable(key)))
# A settings object follows the keys that have been read.
for name in schema.list_keys():
    settings.get_value(name)
say("= ready")
# Standard input must not be buffered, or a second line would wait for the next.
sys.stdin = os.fdopen(0, "r", buffering=1)
channel = GLib.IOChannel.unix_new(0)
GLib.io_add_watch(channel, GLib.PRIORITY_LOW, GLib.IOCondition.IN | GLib.IOCondition.HUP, read)
loop.run()
