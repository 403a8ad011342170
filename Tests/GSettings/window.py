"""A GTK window whose switch and spin button are bound to settings. Prints them after each change.

A line "flip" on its standard input flips the switch, as a person does.
"""

from __future__ import annotations

import sys
from typing import Any

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gio, GLib, Gtk  # noqa: E402

settings = Gio.Settings.new("org.defaultsd.test")
switch, spin = Gtk.Switch(), Gtk.SpinButton.new_with_range(0, 100, 1)


def show(*_: Any) -> None:
    print(switch.get_active(), spin.get_value_as_int(), flush=True)


def activate(app: Gtk.Application) -> None:
    settings.bind("flag", switch, "active", Gio.SettingsBindFlags.DEFAULT)
    settings.bind("count", spin.get_adjustment(), "value", Gio.SettingsBindFlags.DEFAULT)
    box = Gtk.Box()
    box.append(switch)
    box.append(spin)
    window = Gtk.ApplicationWindow(application=app, title="Settings", child=box)
    window.present()
    switch.connect("notify::active", show)
    spin.connect("value-changed", show)
    show()


def read(*_: Any) -> bool:
    if sys.stdin.readline() != "flip\n":
        app.quit()
        return False
    switch.set_active(not switch.get_active())
    return True


GLib.set_prgname("settings-window")
app = Gtk.Application(application_id="org.defaultsd.window", flags=Gio.ApplicationFlags.NON_UNIQUE)
app.connect("activate", activate)
GLib.io_add_watch(GLib.IOChannel.unix_new(0), 0, GLib.IOCondition.IN | GLib.IOCondition.HUP, read)
app.run()
