#!/usr/bin/env python3
"""The time from setting a preference until a program has the portal's signal, beside xdg-desktop-portal-gtk.

Run by `.ci/portal --latency`. Also needs xdg-desktop-portal-gtk, dconf-gsettings-backend and gsettings-desktop-schemas.
Each round makes both changes, in turn: ours with the Python package, the other's with GSettings, which writes to dconf.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gi.repository import Gio, GLib
from test_portal import APPEARANCE, BACK, BUS, FRONT, PORTAL, Session, start_display

ROUNDS = 500
INTERFACE = "org.gnome.desktop.interface"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="portal-", ignore_cleanup_errors=True) as root:
        session = Session(Path(root), "gtk")
        try:
            measure(session)
        finally:
            for name in list(session.processes):
                session.kill(name)
            session.agent.close()
            # The service for documents, which xdg-desktop-portal has started, ends with its mount.
            subprocess.run(["fusermount3", "-uz", session.agent.runtime / "doc"], check=False)


def measure(session: Session) -> None:
    session.environment["DISPLAY"] = start_display(session)
    # GSettings and its service have to use the same files.
    os.environ.update(session.environment)
    session.call(BUS, "UpdateActivationEnvironment", "(a{ss})", session.environment)
    session.start(PORTAL, BACK[0])
    session.start("/usr/libexec/xdg-desktop-portal-gtk", "org.freedesktop.impl.portal.desktop.gtk")
    session.start("/usr/libexec/xdg-desktop-portal", FRONT[0])
    seen: dict[tuple[str, str], Any] = {}

    def note(*arguments: Any) -> None:
        namespace, key, value = arguments[5].unpack()
        seen[namespace, key] = value

    session.bus.signal_subscribe(None, FRONT[2], "SettingChanged", FRONT[1], None, 0, note)
    defaults = session.agent.defaults("NSGlobalDomain")
    settings = Gio.Settings.new(INTERFACE)

    def take(setting: tuple[str, str], value: Any, change: Callable[[], None]) -> float:
        begin = time.perf_counter()
        change()
        while seen.get(setting) != value:
            GLib.MainContext.default().iteration(True)
        return (time.perf_counter() - begin) * 1_000

    ours, others = [], []
    for number in range(ROUNDS):
        style, scheme = (("Dark", 1), ("Light", 2))[number % 2]

        def set_style(style: str = style) -> None:
            defaults["AppleInterfaceStyle"] = style

        def set_theme(theme: str = f"theme{number}") -> None:
            settings.set_string("gtk-theme", theme)

        ours.append(take((APPEARANCE, "color-scheme"), scheme, set_style))
        others.append(take((INTERFACE, "gtk-theme"), f"theme{number}", set_theme))
    for name, times in (("defaults-portal", ours), ("xdg-desktop-portal-gtk", others)):
        print(f"{name}: median {statistics.median(times):.2f} ms, p99 {statistics.quantiles(times, n=100)[98]:.2f} ms")
    print(f"ratio of the medians: {statistics.median(ours) / statistics.median(others):.2f}")


if __name__ == "__main__":
    main()
