"""Follows a key in the main thread, which isn't waiting for events at first, and in a thread with a context of its own.

Prints where each handler ran.
"""

from __future__ import annotations

import subprocess
import threading

from gi.repository import Gio, GLib

SCHEMA = "org.defaultsd.test"
ran: list[tuple[str, str]] = []
is_following, is_over = threading.Event(), threading.Event()


def follow(name: str) -> Gio.Settings:
    settings = Gio.Settings.new(SCHEMA)
    settings.connect("changed::count", lambda *_: ran.append((name, threading.current_thread().name)))
    settings.get_value("count")
    return settings


def run_thread() -> None:
    context = GLib.MainContext.new()
    context.push_thread_default()
    settings = follow("other")
    is_following.set()
    while not any(name == "other" for name, _ in ran):
        context.iteration(True)
    is_over.set()
    context.pop_thread_default()
    del settings


threading.current_thread().name = "main thread"
settings = follow("main")
thread = threading.Thread(target=run_thread, name="other thread")
thread.start()
is_following.wait()
subprocess.run(["gsettings", "set", SCHEMA, "count", "5"], check=True)
print("in time" if is_over.wait(20) else "late")
thread.join()
# The other thread has had the change, so the main one would have, too, on a wrong thread.
print("main waits" if all(name != "main" for name, _ in ran) else f"main ran: {ran}")
while not any(name == "main" for name, _ in ran):
    GLib.MainContext.default().iteration(True)
for name, where in sorted(ran):
    print(f"{name}: {where}")
